//! The gate as a whole: real connections, a provider that follows a script, and agents that do not behave.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a failure is a failed test, and tests look at files"
)]

mod answers;
mod attacks;
mod book;
mod clients;
mod connections;
mod faults;
mod frames;
mod logins;
mod records;
mod stage;
