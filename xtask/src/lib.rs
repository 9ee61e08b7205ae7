//! Tools for those who work on `IronCurtain`: the house rules as checks, and the benchmarks.
//!
//! Nothing here is part of the product, and no product crate may use it.
//!
//! Reading order: [`tidy`], [`mod@bench`] and [`soak`]; what these two measure with is in [`peer`]
//! (a client), [`echo`] (a server) and [`ground`] (a place). [`attack`] plays random agents, and [`fuzz`] tries mutated inputs. [`provider`] is for
//! people to try models with. [`pictures`] makes the README's pictures (at a `terminal`), [`mod@reference`] the pages of
//! docs/reference, and [`site`] a site of all documents. [`dist`] makes what people download, and
//! [`budget`] keeps it small.

#![expect(
    clippy::disallowed_methods,
    reason = "a developer's tool reads the repository and starts cargo; the product never runs it"
)]

pub mod attack;
pub mod bench;
pub mod budget;
pub mod dist;
pub mod echo;
pub mod fuzz;
pub mod ground;
mod markdown;
pub mod peer;
pub mod pictures;
pub mod policies;
pub mod provider;
pub mod reference;
pub mod site;
pub mod soak;
mod terminal;
pub mod tidy;
