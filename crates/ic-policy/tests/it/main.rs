//! The decision, through the crate's public door: tables, laws, and a second opinion.

mod artifacts;
mod builtin;
mod decision;
mod laws;
mod reference;
mod settle;
mod world;
