//! JSON as agents write it: parsed once, strictly, and written again from what was judged.
//!
//! Two parsers that disagree about a document are a hole: one judges, the other acts. So there is
//! one parser here for everything that is untrusted. It refuses duplicate keys, lone surrogates and
//! whatever RFC 8259 does not allow, holds size and depth to limits, keeps the order of keys and
//! keeps numbers as they were written.
//!
//! It does not validate against a schema.

mod de;
mod parse;
mod write;

use std::fmt;

pub use de::ShapeError;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as written.
    Number(Number),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(Object),
}

/// A number as it was written; compared as the double that most programs make of it.
///
/// Numbers that differ only beyond a double's reach are equal, since a server that reads doubles
/// takes them for the same. The canonical form, of which digests are made, keeps them apart.
///
/// Invariant: matches the number grammar of RFC 8259.
#[derive(Clone, Debug)]
pub struct Number(Box<str>);

/// An object that keeps the order of its keys; compared without regard to it.
///
/// Invariant: no key occurs twice.
#[derive(Clone, Debug, Default)]
pub struct Object(Vec<(String, Json)>);

/// What a document may cost.
#[derive(Clone, Copy, Debug)]
pub struct JsonLimits {
    /// The longest document in bytes.
    pub bytes_max: usize,
    /// How deep arrays and objects may nest.
    pub depth_max: usize,
    /// How many values there may be; each takes many times the memory that it takes in the text.
    pub values_max: usize,
}

/// A document that was refused, and where.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{fault} at line {line}, column {column}")]
pub struct JsonError {
    fault: JsonFault,
    line: usize,
    column: usize,
}

/// Why a document was refused.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum JsonFault {
    /// The document is longer than the limit.
    #[error("the document is longer than {0} bytes")]
    TooLong(usize),
    /// Arrays and objects nest deeper than the limit.
    #[error("arrays and objects nest deeper than {0}")]
    TooDeep(usize),
    /// There are more values than the limit.
    #[error("there are more than {0} values")]
    TooMany(usize),
    /// The document ends too early.
    #[error("unexpected end")]
    End,
    /// Something else was expected here.
    #[error("expected {0}")]
    Expected(&'static str),
    /// A key occurs twice in one object.
    #[error("duplicate key `{}`", shortened(.0))]
    DuplicateKey(String),
    /// The bytes are no UTF-8.
    #[error("invalid UTF-8")]
    Utf8,
    /// An escape stands for half a character.
    #[error("lone surrogate in a string")]
    LoneSurrogate,
}

/// Keeps the beginning of a key, in a form that can be shown.
fn shortened(key: &str) -> String {
    const CHARS_MAX: usize = 64;
    key.chars().take(CHARS_MAX).flat_map(char::escape_debug).collect()
}

impl JsonLimits {
    /// The limits of one call.
    pub const CALL: Self = Self { bytes_max: 16 << 20, depth_max: 64, values_max: 200_000 };
    /// The limits of a policy file.
    pub const ARTIFACT: Self = Self { bytes_max: 64 << 20, depth_max: 64, values_max: 8 << 20 };
}

impl Json {
    /// Parses `bytes`, all of them.
    pub fn parse(bytes: &[u8], limits: JsonLimits) -> Result<Self, JsonError> {
        parse::document(bytes, limits)
    }

    /// Returns the text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Array(_) | Self::Object(_) => None,
        }
    }

    /// Writes the value with sorted keys and numbers in one form, as RFC 8785 says.
    ///
    /// A number that no double holds exactly is written as it stands, so that two values with the
    /// same canonical form are never sent as different numbers.
    pub fn to_canonical(&self) -> String {
        let mut out = String::new();
        self.write_canonical(&mut out);
        out
    }

    /// Writes the canonical form at the end of `out`.
    pub fn write_canonical(&self, out: &mut String) {
        write::canonical(out, self);
    }

    /// Writes compact JSON at the end of `out`.
    pub fn write(&self, out: &mut String) {
        write::compact(out, self);
    }

    /// Writes `object` as compact JSON at the end of `out`.
    pub fn write_object(out: &mut String, object: &Object) {
        write::compact_object(out, object);
    }

    /// Writes the canonical form of `object` at the end of `out`.
    pub fn write_canonical_object(out: &mut String, object: &Object) {
        write::canonical_object(out, object);
    }

    /// Writes `text` as a JSON string at the end of `out`.
    pub fn write_text(out: &mut String, text: &str) {
        write::string(out, text);
    }
}

/// Writes compact JSON that parses back to the same value.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        self.write(&mut out);
        f.write_str(&out)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u64> for Json {
    fn from(number: u64) -> Self {
        Self::Number(Number(number.to_string().into()))
    }
}

impl From<i64> for Json {
    fn from(number: i64) -> Self {
        Self::Number(Number(number.to_string().into()))
    }
}

impl Number {
    /// Returns the number as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the number is zero, or so small that a double cannot tell it from zero.
    pub fn is_zero(&self) -> bool {
        self.to_double() == Some(0.0)
    }

    /// Returns the nearest double, which is infinite for a number beyond all doubles.
    fn to_double(&self) -> Option<f64> {
        self.0.parse().ok()
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        // Equal values have equal doubles, so exact values need no comparison of their own.
        self.0 == other.0 || self.to_double().is_some() && self.to_double() == other.to_double()
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.sorted() == other.sorted()
    }
}

impl Object {
    /// Makes an empty object.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Returns the value under `key`.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns the value under `key`, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Json> {
        self.0.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Puts `value` under `key`, in place of what was there.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Json>) {
        let (key, value) = (key.into(), value.into());
        match self.get_mut(&key) {
            Some(slot) => *slot = value,
            None => self.0.push((key, value)),
        }
    }

    /// Takes out the value under `key`.
    pub fn remove(&mut self, key: &str) -> Option<Json> {
        let at = self.0.iter().position(|(name, _)| name == key)?;
        Some(self.0.remove(at).1)
    }

    /// Returns keys and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Takes the object apart, in order.
    pub fn into_entries(self) -> impl Iterator<Item = (String, Json)> {
        self.0.into_iter()
    }

    /// Returns the keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.as_str())
    }

    /// Returns the entries in an order that depends on the keys alone.
    fn sorted(&self) -> Vec<(&str, &Json)> {
        let mut entries: Vec<_> = self.iter().collect();
        entries.sort_unstable_by_key(|(key, _)| *key);
        entries
    }

    /// Returns how many keys there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Object> for Json {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl From<Vec<Json>> for Json {
    fn from(items: Vec<Json>) -> Self {
        Self::Array(items)
    }
}

#[cfg(test)]
mod tests;
