//! Why a schema cannot be used, and where in it.
//!
//! Says nothing about arguments; see [`crate::violation`] for these.

use crate::text::Cut;

/// A schema that cannot be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("at {}: {reason}", root_or_pointer(.place))]
pub struct SchemaFault {
    place: String,
    reason: FaultReason,
}

/// Why a schema cannot be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum FaultReason {
    /// The root does not describe an object.
    #[error("the schema of a tool's arguments has to describe an object")]
    NotForAnObject,
    /// The document holds too many values.
    #[error("the schema holds more than {0} values")]
    TooManyValues(usize),
    /// The document nests too deep.
    #[error("the schema nests deeper than {0}")]
    TooDeep(usize),
    /// The texts in the document are too long.
    #[error("the texts in the schema are longer than {0} bytes")]
    TooLong(usize),
    /// Finding what the `$ref`s lead to takes too long.
    #[error("the schema has too many `$ref`s")]
    TooManyReferences,
    /// There are too many patterns, or they are too large together.
    #[error("the schema has too many patterns, or too large ones")]
    TooManyPatterns,
    /// A keyword has a value that it cannot have.
    #[error("`{keyword}` is not {expected}")]
    WrongType {
        /// The keyword.
        keyword: &'static str,
        /// What its value should be, in words.
        expected: &'static str,
    },
    /// A keyword restricts, and we do not know how to.
    #[error("`{0}` is not supported, and without it too much would pass")]
    Unsupported(&'static str),
    /// A `$ref` leads out of the schema, or to an anchor.
    #[error("`$ref` leads out of this schema: `{0}`")]
    External(String),
    /// A `$ref` leads nowhere.
    #[error("`$ref` leads nowhere: `{0}`")]
    Unresolved(String),
    /// A schema is applied to a value because it is applied to that value.
    #[error("the schema refers to itself without end")]
    Circular,
}

impl SchemaFault {
    pub(crate) const fn new(place: String, reason: FaultReason) -> Self {
        Self { place, reason }
    }

    /// Returns where in the schema the fault is, as a JSON pointer; the root is empty.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Returns what is wrong there.
    pub fn reason(&self) -> &FaultReason {
        &self.reason
    }
}

impl FaultReason {
    /// Says that `keyword` should be what `expected` says.
    pub(crate) const fn wrong(keyword: &'static str, expected: &'static str) -> Self {
        Self::WrongType { keyword, expected }
    }

    /// Says that the `$ref` with this `text` leads out of the schema.
    pub(crate) fn external(text: &str) -> Self {
        Self::External(Cut::PLACE.of(text))
    }

    /// Says that the `$ref` with this `text` leads nowhere.
    pub(crate) fn unresolved(text: &str) -> Self {
        Self::Unresolved(Cut::PLACE.of(text))
    }
}

/// Names a place in a schema.
pub(crate) fn root_or_pointer(place: &str) -> String {
    match place {
        "" => "the root".to_owned(),
        place => format!("`{place}`"),
    }
}
