//! The agent with a scripted model and a table of tools.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests: a failure is a failed test"
)]

mod budgets;
mod cuts;
mod laws;
mod offline;
mod rig;
mod turns;
