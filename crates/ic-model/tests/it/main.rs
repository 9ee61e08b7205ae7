//! The offline model with a real JavaScript engine and servers that live in it.

#![expect(clippy::panic, clippy::unwrap_used, reason = "tests: a failure is a failed test")]

mod answers;
mod engine;
mod safety;
