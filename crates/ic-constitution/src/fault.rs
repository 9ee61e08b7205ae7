//! What is wrong with a constitution: where, which words, why, and the nearest plain sentence.
//!
//! Says nothing about policies that are odd though they can be compiled; those are notes of the compiler.

use std::fmt;

/// A mistake in a constitution.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Fault {
    /// The line, counted from 1.
    pub line: usize,
    /// The first character that it is about, counted from 1.
    pub column: usize,
    /// The words that it is about, as written.
    pub words: String,
    /// Why they cannot be used.
    pub problem: String,
    /// What could be written instead, one sentence each; all of them are plain.
    pub offers: Vec<String>,
}

/// All mistakes of a constitution, in the order of their lines.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Faults(pub Vec<Fault>);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, words, problem, offers } = self;
        write!(f, "line {line}, column {column}: `{}`: {problem}", words.escape_debug())?;
        for (position, offer) in offers.iter().enumerate() {
            write!(f, "\n  {} {offer}", if position == 0 { "perhaps:" } else { "and:" })?;
        }
        Ok(())
    }
}
