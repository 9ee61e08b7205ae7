//! The built-in servers, through the crate's public door: real files, real pipes.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests: a failure is a failed test"
)]

mod attacks;
mod catalog;
mod changing;
mod deeds;
mod disks;
mod fuzz;
mod git;
mod ground;
mod large;
mod looking;
mod protocol;
mod reading;
mod serving;
mod swap;
mod views;
