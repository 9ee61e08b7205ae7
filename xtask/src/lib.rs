//! Tools for those who work on `IronCurtain`: the house rules as checks, and the benchmarks.
//!
//! Nothing here is part of the product, and no product crate may use it.
//!
//! Reading order: [`tidy`], then [`mod@bench`].

#![expect(
    clippy::disallowed_methods,
    reason = "a developer's tool reads the repository and starts cargo; the product never runs it"
)]

pub mod bench;
pub mod tidy;
