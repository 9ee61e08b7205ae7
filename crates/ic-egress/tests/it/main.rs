//! Cages with real sockets on loopback, a scripted resolver and a ledger that can be read.
//!
//! The door of a cage stands at the first synthetic address, so that the first name that is asked
//! for leads to it; servers stand at other loopback addresses, at the same port.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests: a failure is a failed test"
)]

mod bounds;
mod dns;
mod hello;
mod port;
mod proxy;
mod scene;
