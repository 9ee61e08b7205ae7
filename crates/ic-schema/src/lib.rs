//! The arguments of a call against the schema of its tool: bounded, local, and pure.
//!
//! The schema comes from a server that may be hostile, and the arguments from an agent that nobody
//! trusts. So whatever they say costs a bounded amount of work, and what could not be checked to the
//! end counts as wrong. Nothing is fetched: a `$ref` that leads out of the schema is refused.
//!
//! ```text
//! inputSchema ──Schema::compile──▶ Schema ──check(arguments)──▶ Ok | Violation, a sentence
//!                     └──────────▶ SchemaFault: the tool cannot be offered
//! ```
//!
//! Reading order: [`mod@schema`] (the door), `rules` (what a schema says, once it is read), `compile`
//! (how it is read), `check` (how arguments are held against it), `number`, `pattern` and `form`
//! (exact numbers, ECMAScript patterns, equality), `fuel` (the limits), [`fault`] and [`violation`]
//! (what comes out).
//!
//! # Invariants
//!
//! - Reading a schema takes time in proportion to its size, whose limits are named; its `$ref`s
//!   cannot lead in a circle that never gets on in the arguments.
//! - A check takes no more than its fuel, and no deeper a stack than its depth; beyond, it fails.
//! - A call is never let through because a check gave up.
//!
//! # What is read otherwise than JSON Schema says
//!
//! The official test suite holds apart from this; `tests/it/suite.rs` counts where it does not. Nothing is let
//! through that the suite refuses.
//!
//! - A root that names its keys and says nothing about further ones, neither by
//!   `additionalProperties` nor through other schemas, has no further keys. Everywhere else a schema
//!   means what it says.
//! - `format` and everything else that describes is not checked, and neither is an unknown keyword.
//! - `$ref` is looked up from the root, whatever `$id` says, and what stands beside it counts, as it
//!   does since draft 2019-09. `$anchor` cannot be referred to.
//! - `unevaluatedProperties`, `unevaluatedItems`, `$dynamicRef` and `$recursiveRef` are refused.
//! - A `pattern` that needs look-around or back-references is not checked; [`Schema::notes`] says so.
//! - Numbers are compared as they are written, and not as doubles.
//!
//! # Example
//!
//! ```
//! use ic_schema::Schema;
//! use ic_types::{Json, JsonLimits, Object};
//!
//! let text = br#"{"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}"#;
//! let schema = Schema::compile(&Json::parse(text, JsonLimits::CALL)?)?;
//!
//! let mut arguments = Object::new();
//! assert_eq!(schema.check(&arguments).unwrap_err().to_string(), "`path` is missing");
//! arguments.insert("path", "notes.md");
//! assert!(schema.check(&arguments).is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod compile;
pub mod fault;
mod form;
mod fuel;
mod number;
mod pattern;
mod rules;
pub mod schema;
mod text;
pub mod violation;

pub use fault::{FaultReason, SchemaFault};
pub use schema::Schema;
pub use violation::Violation;
