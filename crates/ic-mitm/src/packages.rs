//! The door to package registries: `npm`, `pip` and `cargo` in a cage reach theirs through it, to read packages.
//!
//! ```text
//! cage ─ CONNECT ─▶ tunnel ─▶ wanted: host and path ─▶ a package? ─▶ may the host be asked? (once a session)
//!                                └─ 403                                 └─▶ recorded ─▶ upstream ─▶ the registry
//! ```
//!
//! What is sent is written by us: a path of names and versions, and fixed headers. No credential, no query, no
//! body and no other method passes. What comes back is passed on as it is, and never looked at; it runs in the
//! cage that asked for it. A name can carry something to a registry all the same: so a person is asked first, and
//! every name is recorded.

mod door;
mod ledger;
mod passing;
mod refused;
mod wanted;

pub use door::{Answer, Asking, Packages, PackagesError, PackagesSpec, Permission};
pub use ledger::{AskedPackage, AuditPackages, PackageEnded, PackageLedger};
pub use passing::Passing;
pub use refused::NotPassed;
pub use wanted::{Form, REGISTRY_HOSTS, RegistryHost, Wanted};
