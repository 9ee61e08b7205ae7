//! Reads a schema: a queue of subschemas, each of which becomes a node.
//!
//! There is no recursion: neither a deep schema nor a long chain of `$ref`s reaches the stack. A
//! subschema is read once, however often it is referred to, and one that nothing leads to is not
//! read at all. Does not look at arguments.

mod array;
mod cycle;
mod keywords;
mod logic;
mod object;
mod reference;
mod scalar;
mod size;

use std::collections::HashMap;
use std::ptr;
use std::sync::Arc;

use ic_types::{Json, Object};

use crate::fault::{FaultReason, SchemaFault, root_or_pointer};
use crate::pattern::{Pattern, Patterns};
use crate::rules::{Node, NodeId, Rules, TypeSet};
use crate::text::Cut;
use keywords::Keywords;

/// How many notes are kept; whoever reads them has seen enough.
const N_NOTES_MAX: usize = 50;

/// Reads `schema`, and returns its rules and what of it will not be checked.
pub(crate) fn compile(schema: &Json) -> Result<(Rules, Vec<String>), SchemaFault> {
    let at_root = |reason| SchemaFault::new(String::new(), reason);
    size::check(schema).map_err(at_root)?;
    let Json::Object(root) = schema else {
        return Err(at_root(FaultReason::NotForAnObject));
    };
    check_root_type(root).map_err(at_root)?;
    let mut compiler = Compiler::new(schema);
    while let Some(source) = compiler.sources.get(compiler.nodes.len()).copied() {
        match compiler.node(source) {
            Ok(node) => compiler.nodes.push(node),
            Err(reason) => return Err(SchemaFault::new(compiler.place(compiler.here()), reason)),
        }
    }
    if let Some(id) = cycle::find(&compiler.nodes) {
        return Err(SchemaFault::new(compiler.place(id), FaultReason::Circular));
    }
    Ok((Rules { nodes: compiler.nodes }, compiler.notes))
}

/// The arguments of a tool are an object; a root without a `type` leaves that open.
fn check_root_type(root: &Object) -> Result<(), FaultReason> {
    let is_object = |json: &Json| json.as_str() == Some("object");
    match root.get("type") {
        None => Ok(()),
        Some(Json::Array(types)) if types.iter().any(is_object) => Ok(()),
        Some(json) if is_object(json) => Ok(()),
        Some(_) => Err(FaultReason::NotForAnObject),
    }
}

struct Compiler<'a> {
    root: &'a Json,
    /// The subschemas that were found, by number; those that have no node yet are the queue.
    sources: Vec<Source<'a>>,
    nodes: Vec<Node>,
    /// The numbers of subschemas, by where they are in memory.
    ids: HashMap<*const Json, NodeId>,
    n_lookups_left: usize,
    patterns: Patterns,
    notes: Vec<String>,
}

/// A subschema and where it was found.
#[derive(Clone, Copy)]
struct Source<'a> {
    json: &'a Json,
    origin: Origin<'a>,
}

/// Where a subschema was found.
#[derive(Clone, Copy)]
enum Origin<'a> {
    Root,
    Keyword(NodeId, &'static str),
    Key(NodeId, &'static str, &'a str),
    Item(NodeId, &'static str, usize),
    /// By a `$ref` with this text.
    Reference(&'a str),
}

impl<'a> Compiler<'a> {
    fn new(root: &'a Json) -> Self {
        Self {
            root,
            // The root as the schema of all arguments is a node of its own, for it may have fewer
            // keys than the root as a place that a `$ref` leads to.
            sources: vec![Source { json: root, origin: Origin::Root }],
            nodes: Vec::new(),
            ids: HashMap::new(),
            n_lookups_left: reference::N_LOOKUPS_MAX,
            patterns: Patterns::new(),
            notes: Vec::new(),
        }
    }

    /// Returns the number of the node that is being made.
    fn here(&self) -> NodeId {
        NodeId(self.nodes.len())
    }

    fn node(&mut self, source: Source<'a>) -> Result<Node, FaultReason> {
        let object = match source.json {
            Json::Bool(true) => return Ok(Node::of_types(TypeSet::ANY)),
            Json::Bool(false) => return Ok(Node::of_types(TypeSet::NONE)),
            Json::Object(object) => object,
            Json::Null | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                return Err(FaultReason::wrong("$ref", "the place of a schema"));
            }
        };
        let keywords = Keywords::new(object);
        keywords.refuse_unsupported()?;
        let is_root = matches!(source.origin, Origin::Root);
        if !ptr::eq(source.json, self.root) && keywords.moves_base() {
            self.note("`$id`", "each `$ref` is looked up from the root all the same");
        }
        Ok(Node {
            types: scalar::types(keywords)?,
            choices: scalar::choices(keywords)?,
            number: scalar::number(keywords)?,
            text: self.text_rules(keywords)?,
            array: self.array_rules(keywords)?,
            object: self.object_rules(keywords, is_root)?,
            logic: self.logic(keywords)?,
        })
    }

    /// Returns the number of the subschema `json`, which is read later.
    fn child(&mut self, json: &'a Json, origin: Origin<'a>) -> Result<NodeId, FaultReason> {
        if !matches!(json, Json::Object(_) | Json::Bool(_)) {
            return Err(match origin {
                Origin::Root => FaultReason::NotForAnObject,
                Origin::Reference(_) => FaultReason::wrong("$ref", "the place of a schema"),
                Origin::Keyword(_, keyword) => FaultReason::wrong(keyword, keywords::SCHEMA),
                Origin::Key(_, keyword, _) => FaultReason::wrong(keyword, keywords::SCHEMAS_BY_KEY),
                Origin::Item(_, keyword, _) => FaultReason::wrong(keyword, keywords::SCHEMAS),
            });
        }
        let next = NodeId(self.sources.len());
        let id = *self.ids.entry(ptr::from_ref(json)).or_insert(next);
        if id == next {
            self.sources.push(Source { json, origin });
        }
        Ok(id)
    }

    /// Returns the number of the subschema under `keyword`, if there is one.
    fn child_under(
        &mut self,
        keywords: Keywords<'a>,
        keyword: &'static str,
    ) -> Result<Option<NodeId>, FaultReason> {
        let origin = Origin::Keyword(self.here(), keyword);
        keywords.get(keyword).map(|json| self.child(json, origin)).transpose()
    }

    /// Returns the numbers of the subschemas in the array `items` under `keyword`.
    fn children(
        &mut self,
        keyword: &'static str,
        items: &'a [Json],
    ) -> Result<Vec<NodeId>, FaultReason> {
        let here = self.here();
        let numbered = items.iter().enumerate();
        numbered.map(|(index, json)| self.child(json, Origin::Item(here, keyword, index))).collect()
    }

    /// Compiles a pattern under `keyword`; none, and a note, if it cannot be checked.
    fn pattern(
        &mut self,
        keyword: &'static str,
        text: &str,
    ) -> Result<Option<Arc<Pattern>>, FaultReason> {
        match self.patterns.compile(text)? {
            Ok(pattern) => Ok(Some(pattern)),
            Err(reason) => {
                let what = format!("`{keyword}` with `{}`", Cut::PLACE.of(text));
                self.note(&what, &format!("it is not checked: {reason}"));
                Ok(None)
            }
        }
    }

    fn note(&mut self, what: &str, sentence: &str) {
        if self.notes.len() < N_NOTES_MAX {
            let place = root_or_pointer(&self.place(self.here()));
            self.notes.push(format!("{what} at {place}: {sentence}"));
        } else if self.notes.len() == N_NOTES_MAX {
            self.notes.push("there is more of this kind".to_owned());
        }
    }

    /// Returns where in the schema a node comes from.
    fn place(&self, id: NodeId) -> String {
        let mut steps = Vec::new();
        let mut next = Some(id);
        // The chain of parents goes up in the document, and cannot be longer than it is deep.
        while let Some(source) = next.and_then(|id| self.sources.get(id.0)) {
            next = match source.origin {
                Origin::Root => None,
                Origin::Keyword(parent, keyword) => {
                    steps.push(format!("/{keyword}"));
                    Some(parent)
                }
                Origin::Key(parent, keyword, key) => {
                    steps.push(format!("/{keyword}/{}", Cut::KEY.of(key)));
                    Some(parent)
                }
                Origin::Item(parent, keyword, index) => {
                    steps.push(format!("/{keyword}/{index}"));
                    Some(parent)
                }
                Origin::Reference(text) => {
                    steps.push(Cut::PLACE.of(text.trim_start_matches('#')));
                    None
                }
            };
        }
        steps.reverse();
        Cut::PLACE.ours(steps.concat())
    }
}
