//! What is said of a policy as a whole, compared with what its decision says call by call.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests: a failure is a failed test"
)]
#![expect(
    clippy::type_complexity,
    reason = "tables of calls are read better as they are than behind names"
)]

mod builtin;
mod diff;
mod english;
mod laws;
mod mutations;
mod properties;
mod replay;
mod report;
mod suggest;
mod view;
mod world;
