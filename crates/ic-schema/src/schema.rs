//! A tool's schema: read once, asked often.
//!
//! Knows neither how a schema is read nor how it is asked; it only holds what is between the two.

use ic_types::{Json, Object};

use crate::check;
use crate::compile;
use crate::fault::SchemaFault;
use crate::rules::Rules;
use crate::violation::Violation;

/// A schema for the arguments of a tool, ready to be asked.
///
/// Invariant: no schema in it leads back to itself without getting on in the arguments.
#[derive(Debug)]
pub struct Schema {
    rules: Rules,
    notes: Vec<String>,
}

impl Schema {
    /// Reads `schema`, or says where and why it cannot be used.
    pub fn compile(schema: &Json) -> Result<Self, SchemaFault> {
        let (rules, notes) = compile::compile(schema)?;
        Ok(Self { rules, notes })
    }

    /// Returns what the schema says and is not checked, though the schema can be used.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Holds `arguments` against the schema.
    ///
    /// The violation is the first in the order of the arguments; what is missing from an object
    /// comes after what is in it.
    pub fn check(&self, arguments: &Object) -> Result<(), Violation> {
        check::check(&self.rules, arguments)
    }
}
