//! The desk through its public door: real files, real processes, and time that can be stopped.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "tests: a failure is a failed test"
)]

mod answers;
mod displays;
mod earlier;
mod grants;
mod laws;
mod messages;
mod offers;
mod presences;
mod processes;
mod registries;
mod requests;
mod responses;
mod scale;
mod waiting;
mod world;
