//! The offline model with a real JavaScript engine and servers that live in it.

mod answers;
mod engine;
mod safety;
