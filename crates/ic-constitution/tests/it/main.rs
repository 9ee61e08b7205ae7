//! Constitutions, through the crate's public door: tables, laws, and a second opinion.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests: a failure is a failed test"
)]

mod commentary;
mod compiled;
mod grammar;
mod laws;
mod reference;
mod table;
