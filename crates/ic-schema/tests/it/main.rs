//! Arguments against schemas, through the crate's public door: tables, attacks, and a second opinion.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests: a failure is a failed test"
)]

mod arguments;
mod builtin;
mod differential;
mod faults;
mod fuzz;
mod hostile;
mod keywords;
mod suite;
mod world;
