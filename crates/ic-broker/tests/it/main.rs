//! The kernel against fakes: no process is started, nothing is asked of a person, and time is handed in.

#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests: a failure is a failed test"
)]

mod calls;
mod next;
mod people;
mod plans;
mod typed;
mod world;
