//! Constitutions, through the crate's public door: tables, laws, and a second opinion.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests: a failure is a failed test")]

mod commentary;
mod compiled;
mod fuzz;
mod grammar;
mod laws;
mod reference;
mod table;
