//! The model gate: agents that are not ours reach their provider through it, and never hold the key.
//!
//! ```text
//!     in the cage, without network      │            in the trusted process
//!  agent, with a fake key ─ CONNECT ────┼─▶ tunnel ─ TLS of our authority ─▶ exchange
//!                                       │      path ─▶ Route, credential ─▶ Admission, body ─▶ CheckedBody
//!                                       │      ledger ─▶ key ─▶ upstream ─▶ the provider
//!  agent ◀──────────────────────────────┼───── relay: mask, meter ◀──────────────┘
//! ```
//!
//! Reading order: [`provider`] (what is known of each, as data), [`path`], [`credential`] and [`body`]
//! (what is judged), [`refusal`] (how a no is said), [`key`] and [`mask`] (where the real key goes, and
//! where it does not), [`login`] (an agent's own login
//! instead of a key), [`meter`] and [`account`] (what it took), [`ledger`] (what is written down),
//! [`authority`] and [`leaves`] (who we are to the agent), [`detour`] and [`upstream`] (the way to the
//! provider), [`headers`], `exchange` and [`relay`] (one request), [`gate`] and [`tunnel`] (the service),
//! [`packages`] (the door to package registries), [`surroundings`] (how an agent finds it), [`trial`] (the whole way, tried), [`limits`].
//!
//! # Invariants
//!
//! - The real key is put only into a request that has an `Admission`, on its way to the provider that
//!   was configured; only `key` looks at it.
//! - What is sent on is written by us from what was understood; no byte of an agent is passed on unread.
//! - A request is recorded before it is sent.
//! - A refusal is never a status that agents answer with another try, and never silence.
//! - Every wait, buffer and table has an end.
//!
//! # What it does not promise
//!
//! What an agent says to the model, and the model to the agent, is not judged: whoever has the provider's
//! account can read it there.

pub mod account;
pub mod authority;
pub mod body;
pub mod credential;
pub mod detour;
mod exchange;
pub mod gate;
pub mod headers;
pub mod key;
pub mod leaves;
pub mod ledger;
pub mod limits;
pub mod login;
pub mod mask;
pub mod meter;
pub mod packages;
pub mod path;
pub mod provider;
pub mod refusal;
pub mod relay;
pub mod surroundings;
pub mod trial;
pub mod tunnel;
pub mod upstream;

pub use account::{Account, Budget, Earlier, Spent};
pub use authority::{Authority, AuthorityError};
pub use credential::FakeKey;
pub use gate::{Before, Gate, GateError, GateSpec, Pay};
pub use key::RealKey;
pub use ledger::{Asked, AuditLedger, Ended, Ledger, LedgerError, Refused};
pub use limits::Limits;
pub use login::{Login, LoginError, LoginSource};
pub use packages::{Packages, PackagesError, PackagesSpec};
pub use refusal::Refusal;
pub use surroundings::Surroundings;
pub use tunnel::{Accept, Closed, Listener, Stream};
pub use upstream::{Place, Upstream, UpstreamError};
