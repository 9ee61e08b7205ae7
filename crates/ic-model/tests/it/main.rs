//! The offline model with a real JavaScript engine and servers that live in it, and clients of providers.

#![expect(clippy::panic, clippy::unwrap_used, reason = "tests: a failure is a failed test")]

mod answers;
mod clients;
mod engine;
mod recorded;
mod safety;
mod secure;
