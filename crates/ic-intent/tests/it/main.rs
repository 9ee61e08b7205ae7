//! What a message asks for, as a table, and what no message may do.

#![expect(
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "tests: a failure is a failed test"
)]

mod keys;
mod messages;
mod table;
