//! The arguments of a call, held against the schema of its tool and then read one by one.
//!
//! Whoever calls may have validated them before; that is not relied on.

use ic_schema::Schema;
use ic_types::{Json, Object};

use super::fault::Fault;

/// The arguments of one call.
///
/// Invariant: they are what the schema of the tool says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arguments<'a>(&'a Object);

impl<'a> Arguments<'a> {
    pub(super) fn new(schema: &Schema, object: &'a Object) -> Result<Self, Fault> {
        match schema.check(object) {
            Ok(()) => Ok(Self(object)),
            Err(violation) => Err(Fault::Arguments(violation.to_string())),
        }
    }

    /// Returns no arguments, for tools that need none.
    pub(super) fn none() -> Arguments<'static> {
        static NONE: Object = Object::new();
        Arguments(&NONE)
    }

    pub(super) fn text(self, name: &str) -> Option<&'a str> {
        self.0.get(name).and_then(Json::as_str)
    }

    /// Returns a text that the schema demands.
    pub(super) fn needed(self, name: &'static str) -> Result<&'a str, Fault> {
        self.text(name).ok_or_else(|| Fault::Arguments(format!("`{name}` is missing")))
    }

    /// Returns whether something is wanted; it is not if nothing is said.
    pub(super) fn flag(self, name: &str) -> bool {
        self.0.get(name) == Some(&Json::Bool(true))
    }

    /// Returns whether something is wanted; it is if nothing is said.
    pub(super) fn flag_unless_said(self, name: &str) -> bool {
        self.0.get(name) != Some(&Json::Bool(false))
    }

    pub(super) fn whole(self, name: &str) -> Option<u64> {
        match self.0.get(name) {
            // The schema says that it is whole; also 5.0 and 5e0 are five.
            Some(Json::Number(number)) => number.as_str().parse().ok().or_else(|| {
                let number: f64 = number.as_str().parse().ok()?;
                format!("{number:.0}").parse().ok()
            }),
            _ => None,
        }
    }

    /// Returns a list of texts; an absent one is empty.
    pub(super) fn texts(self, name: &str) -> Vec<&'a str> {
        match self.0.get(name) {
            Some(Json::Array(items)) => items.iter().filter_map(Json::as_str).collect(),
            _ => Vec::new(),
        }
    }

    pub(super) fn object(self, name: &str) -> Option<Arguments<'a>> {
        match self.0.get(name) {
            Some(Json::Object(object)) => Some(Arguments(object)),
            _ => None,
        }
    }
}
