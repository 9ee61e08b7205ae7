//! What a schema says, once it is read: nodes that refer to each other by number.
//!
//! Holds, and neither reads nor checks. A node for a value of one kind has no say about other kinds.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ic_types::{Json, Number, Object};

use crate::number::{Decimal, Divisor};
use crate::pattern::Pattern;

/// All nodes of a schema; the first is for the object of arguments.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) nodes: Vec<Node>,
}

/// The number of a node.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct NodeId(pub(crate) usize);

/// One schema.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) types: TypeSet,
    /// `enum` and `const`: the value is in each of them.
    pub(crate) choices: Vec<Choices>,
    pub(crate) number: Option<Box<NumberRules>>,
    pub(crate) text: Option<Box<TextRules>>,
    pub(crate) array: Option<Box<ArrayRules>>,
    pub(crate) object: Option<Box<ObjectRules>>,
    pub(crate) logic: Option<Box<Logic>>,
}

/// A set of the names that `type` knows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct TypeSet(u8);

/// The values of an `enum`.
#[derive(Debug)]
pub(crate) struct Choices {
    pub(crate) texts: HashSet<Box<str>>,
    /// The forms of all that are no texts.
    pub(crate) others: HashSet<Box<str>>,
    /// What these are, so that most values need no form.
    pub(crate) other_types: TypeSet,
    /// The sentence's end: what the value is not.
    pub(crate) complaint: String,
}

#[derive(Debug)]
pub(crate) struct NumberRules {
    pub(crate) bounds: Vec<Bound>,
    pub(crate) multiple_of: Option<(Divisor, Number)>,
}

#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) side: Side,
    pub(crate) limit: Number,
}

/// On which side of a limit a number has to be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Side {
    AtLeast,
    Above,
    AtMost,
    Below,
}

/// How many there may be, both ends included.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Span {
    pub(crate) least: u64,
    pub(crate) most: u64,
}

#[derive(Debug)]
pub(crate) struct TextRules {
    /// In characters.
    pub(crate) length: Span,
    pub(crate) pattern: Option<Arc<Pattern>>,
}

#[derive(Debug)]
pub(crate) struct ArrayRules {
    pub(crate) size: Span,
    pub(crate) prefix: Vec<NodeId>,
    pub(crate) rest: Option<NodeId>,
    pub(crate) contains: Option<Contains>,
    pub(crate) is_unique: bool,
}

#[derive(Debug)]
pub(crate) struct Contains {
    pub(crate) node: NodeId,
    pub(crate) times: Span,
}

#[derive(Debug)]
pub(crate) struct ObjectRules {
    pub(crate) size: Span,
    /// Every key that `properties` or `required` names.
    pub(crate) keys: HashMap<Arc<str>, Key>,
    /// The keys of `properties`, in their order.
    pub(crate) known: Vec<Arc<str>>,
    /// The keys of `required`, in their order and each once.
    pub(crate) required: Vec<Arc<str>>,
    pub(crate) patterns: Vec<KeyPattern>,
    pub(crate) additional: Additional,
    pub(crate) names: Option<NodeId>,
    pub(crate) dependencies: Vec<Dependency>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) node: Option<NodeId>,
    pub(crate) is_required: bool,
}

/// One entry of `patternProperties`.
#[derive(Debug)]
pub(crate) struct KeyPattern {
    /// None if it cannot be checked: then every key might be meant, and none is held to the node.
    pub(crate) pattern: Option<Arc<Pattern>>,
    pub(crate) node: NodeId,
}

/// What holds for keys that nothing else names.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Additional {
    Free,
    Refused,
    Held(NodeId),
}

/// What has to hold if a key is there.
#[derive(Debug)]
pub(crate) struct Dependency {
    pub(crate) key: Box<str>,
    pub(crate) required: Vec<Box<str>>,
    pub(crate) node: Option<NodeId>,
}

/// The schemas that are asked about the same value.
#[derive(Debug)]
pub(crate) struct Logic {
    /// `$ref` and `allOf`.
    pub(crate) all: Vec<NodeId>,
    /// `anyOf`; empty if there is none.
    pub(crate) any: Vec<NodeId>,
    /// `oneOf`; empty if there is none.
    pub(crate) one: Vec<NodeId>,
    pub(crate) not: Option<NodeId>,
    pub(crate) condition: Option<Condition>,
}

#[derive(Debug)]
pub(crate) struct Condition {
    pub(crate) test: NodeId,
    pub(crate) then: Option<NodeId>,
    pub(crate) otherwise: Option<NodeId>,
}

/// A value that is checked: part of the arguments, all of them, or the name of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum View<'a> {
    Null,
    Bool(bool),
    Number(&'a Number),
    Text(&'a str),
    Array(&'a [Json]),
    Object(&'a Object),
}

// === impl Node ===

impl Node {
    /// Makes a node that has nothing to say but `types`.
    pub(crate) const fn of_types(types: TypeSet) -> Self {
        Self {
            types,
            choices: Vec::new(),
            number: None,
            text: None,
            array: None,
            object: None,
            logic: None,
        }
    }

    /// Returns the nodes that are asked about the same value as this one.
    pub(crate) fn in_place(&self) -> Vec<NodeId> {
        let mut ids = Vec::new();
        if let Some(logic) = &self.logic {
            ids.extend(logic.all.iter().chain(&logic.any).chain(&logic.one).copied());
            ids.extend(logic.not);
            if let Some(Condition { test, then, otherwise }) = &logic.condition {
                ids.push(*test);
                ids.extend(then.iter().chain(otherwise));
            }
        }
        if let Some(object) = &self.object {
            ids.extend(object.dependencies.iter().filter_map(|dependency| dependency.node));
        }
        ids
    }
}

// === impl TypeSet ===

impl TypeSet {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const ANY: Self = Self(0b111_1111);
    const TEXT: Self = Self(1);
    const OBJECT: Self = Self(1 << 1);
    const ARRAY: Self = Self(1 << 2);
    const BOOL: Self = Self(1 << 3);
    const NUMBER: Self = Self(1 << 4);
    const INTEGER: Self = Self(1 << 5);
    const NULL: Self = Self(1 << 6);

    /// The names, the words for a sentence, and what is meant.
    const NAMES: [(&'static str, &'static str, Self); 7] = [
        ("string", "a string", Self::TEXT),
        ("object", "an object", Self::OBJECT),
        ("array", "an array", Self::ARRAY),
        ("boolean", "true or false", Self::BOOL),
        ("number", "a number", Self::NUMBER),
        ("integer", "a whole number", Self::INTEGER),
        ("null", "null", Self::NULL),
    ];

    /// Returns the set that has only what `name` names.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, ..)| *known == name).map(|(.., set)| *set)
    }

    /// Returns the set that has what either of the two has.
    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the names that a value has, where every number is only a `number`.
    pub(crate) const fn kind_of(value: View<'_>) -> Self {
        match value {
            View::Text(_) => Self::TEXT,
            View::Object(_) => Self::OBJECT,
            View::Array(_) => Self::ARRAY,
            View::Bool(_) => Self::BOOL,
            View::Number(_) => Self::NUMBER,
            View::Null => Self::NULL,
        }
    }

    /// Returns whether the two have something in common.
    pub(crate) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns whether `value` is something of the set.
    pub(crate) fn has(self, value: View<'_>) -> bool {
        if self.meets(Self::kind_of(value)) {
            return true;
        }
        match value {
            View::Number(number) => self.meets(Self::INTEGER) && Decimal::of(number).is_whole(),
            View::Null | View::Bool(_) | View::Text(_) | View::Array(_) | View::Object(_) => false,
        }
    }

    /// Names the set in a sentence.
    pub(crate) fn words(self) -> String {
        let words =
            Self::NAMES.iter().filter(|(.., set)| self.meets(*set)).map(|(_, words, _)| *words);
        words.collect::<Vec<_>>().join(" or ")
    }
}

// === impl Span ===

impl Span {
    pub(crate) const ANY: Self = Self { least: 0, most: u64::MAX };

    /// Returns whether everything is within.
    pub(crate) fn is_any(self) -> bool {
        self == Self::ANY
    }
}

// === impl View ===

impl<'a> View<'a> {
    pub(crate) fn of(value: &'a Json) -> Self {
        match value {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => Self::Number(number),
            Json::String(text) => Self::Text(text),
            Json::Array(items) => Self::Array(items),
            Json::Object(object) => Self::Object(object),
        }
    }
}
