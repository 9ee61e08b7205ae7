//! The log, through the crate's public door: written, broken in every way, and checked.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "tests: a failure is a failed test"
)]

mod crash;
mod faults;
mod ground;
mod records;
mod tampering;
