//! Plain English to a policy, by code.
//!
//! A constitution is English. Sentences of the plain form become rules here, always the same ones, without
//! a model: [`parse()`] reads them by the table in [`grammar`], and names every line that it does not
//! understand with the nearest sentence that it would.
//!
//! # Invariants
//!
//! - Pure: no I/O, no clock, no model; the same text gives the same bytes.
//! - Every word of a statement is understood, or the constitution is refused; nothing is dropped.

pub mod artifact;
pub mod compile;
pub mod document;
pub mod english;
pub mod fault;
pub mod grammar;
pub mod list;
pub mod parse;
pub mod scenario;
pub mod sentence;
pub mod word;

pub use compile::{Compiled, Note, Rule, Tool, compile};
pub use fault::{Fault, Faults};
pub use grammar::Verb;
pub use list::{DefinedList, FoundList, ListDefinition, ListSource, defined_lists, refreshed};
pub use parse::{Constitution, Free, Kept, Stated, parse, proposed, stated};
pub use sentence::{Deed, Directory, HostPlace, NamePlace, Place, Sentence, With};
