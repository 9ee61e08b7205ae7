//! MCP on the wire: JSON-RPC messages, their ids, lines of bounded length, protocol revisions.
//!
//! Both sides of the broker and the built-in servers speak through these types. There is no
//! transport here, no method is interpreted, and nothing is forwarded.
//!
//! # Invariants
//!
//! - A message is read by the strict parser of `ic-types`, once; a line that could be read in two
//!   ways is refused.
//! - What is written is our own serialisation on one line: no text can end a line early.
//! - A line longer than its limit is never held in memory.

mod line;
mod message;
pub mod meta;
mod version;

pub use line::{Line, Lines};
pub use message::{
    Id, Message, MessageFault, Notification, Outcome, Request, Response, RpcError, answered_id,
    code, error_line, notification_line, request_line, result_line,
};
pub use version::{ProtocolVersion, UnknownVersion};
