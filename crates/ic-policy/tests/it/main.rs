//! The decision, through the crate's public door: tables, laws, and a second opinion.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests: a failure is a failed test"
)]

mod additions;
mod artifacts;
mod builtin;
mod containment;
mod decision;
mod fuzz;
mod laws;
mod reference;
mod settle;
mod world;
