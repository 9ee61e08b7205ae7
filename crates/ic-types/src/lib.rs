//! The nouns of `IronCurtain`: names, ids, paths, hosts, providers, secrets, roles, JSON, calls.
//!
//! Outside text becomes one of these types at the edge, or an error; behind the edge nothing is
//! checked twice. The crate does no I/O, reads no clock and knows no policy.
//!
//! Reading order: [`name`], [`path`], [`host`], [`role`], [`json`], [`call`]; then the smaller
//! [`session`], [`provider`], [`secret`], [`time`], [`digest`], [`sse`], [`mod@visible`], [`chain()`]
//! and [`locked`].
//!
//! # Invariants
//!
//! - A value of a type here satisfies the type's `Invariant:` line, however it was made; serde goes
//!   through the same constructors.
//! - Nothing here opens a file, a socket or a [`Secret`].
//!
//! # Example
//!
//! ```
//! use ic_types::{Host, Json, JsonLimits, ServerName};
//!
//! let server: ServerName = "filesystem".parse()?;
//! assert!("file/system".parse::<ServerName>().is_err());
//!
//! let host: Host = "Docs.Example.com.".parse()?;
//! assert_eq!(host.to_string(), "docs.example.com");
//!
//! let twice = Json::parse(br#"{"path": "a", "path": "b"}"#, JsonLimits::CALL);
//! assert!(twice.is_err(), "a parser that keeps one of two keys disagrees with one that keeps the other");
//! # assert_eq!(server.as_str(), "filesystem");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod call;
mod chain;
mod counted;
pub mod digest;
pub mod host;
pub mod json;
mod lock;
pub mod name;
mod nearest;
pub mod path;
pub mod provider;
pub mod role;
pub mod secret;
pub mod session;
pub mod sse;
pub mod time;
pub mod variable;
pub mod visible;

pub use call::ToolCall;
pub use chain::chain;
pub use counted::counted;
pub use digest::Digest;
pub use host::{Host, InvalidHost};
pub use json::{Json, JsonError, JsonLimits, Number, Object};
pub use lock::locked;
pub use name::{InvalidName, ServerName, ToolName};
pub use nearest::{distance, nearest};
pub use path::{AbsolutePath, CanonicalPath, InvalidPath};
pub use provider::{ModelId, Provider};
pub use role::{Category, Role, UnknownRole};
pub use secret::Secret;
pub use session::{EscalationId, SessionId, SessionName};
pub use time::Timestamp;
pub use visible::{letter_by_letter, visible, visible_line};
