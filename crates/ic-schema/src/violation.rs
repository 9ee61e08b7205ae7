//! What is wrong with the arguments, in a sentence that a model can act on, and where.
//!
//! Does not decide whether something is wrong.

use std::fmt;

use crate::text::Cut;

/// The arguments do not fit the schema, or could not be checked to the end.
///
/// What the call and the schema put into the sentence is cut short and holds no control characters.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct Violation(Box<str>);

/// A place in the arguments, as a list from the inside out that lives on the stack.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place<'a> {
    Root,
    Key(&'a Self, &'a str),
    Item(&'a Self, usize),
}

impl Violation {
    pub(crate) fn new(sentence: String) -> Self {
        Self(sentence.into())
    }
}

/// A name for an argument, a JSON pointer for what is deeper, and both in backticks.
impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("the object of arguments"),
            // A name that looks like a pointer is written as one.
            Self::Key(Self::Root, name) if !name.starts_with('/') => {
                write!(f, "`{}`", Cut::KEY.of(name))
            }
            Self::Key(..) | Self::Item(..) => write!(f, "`{}`", Cut::PLACE.ours(self.pointer())),
        }
    }
}

impl<'a> Place<'a> {
    fn pointer(&self) -> String {
        let mut steps = Vec::new();
        let mut place = *self;
        loop {
            place = match place {
                Place::Root => break,
                Place::Key(parent, key) => {
                    steps.push(Cut::KEY.of(&key.replace('~', "~0").replace('/', "~1")));
                    *parent
                }
                Place::Item(parent, index) => {
                    steps.push(index.to_string());
                    *parent
                }
            };
        }
        steps.iter().rev().fold(String::new(), |text, step| text + "/" + step)
    }

    /// Returns the place of the entry `key` in the object at this place.
    pub(crate) const fn key(&'a self, key: &'a str) -> Self {
        Self::Key(self, key)
    }

    /// Returns the place of an item of the array at this place.
    pub(crate) const fn item(&'a self, index: usize) -> Self {
        Self::Item(self, index)
    }

    /// Returns whether this is the object of all arguments.
    pub(crate) const fn is_root(&self) -> bool {
        matches!(self, Self::Root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_have_names_and_what_is_deeper_has_pointers() {
        let edits = Place::Root.key("edits");
        let first = edits.item(0);
        assert_eq!(edits.to_string(), "`edits`");
        assert_eq!(first.to_string(), "`/edits/0`");
        assert_eq!(first.key("old~/Text").to_string(), "`/edits/0/old~0~1Text`");
        assert_eq!(Place::Root.key("/edits/0").to_string(), "`/~1edits~10`");
        assert_eq!(Place::Root.key("a/b").to_string(), "`a/b`");
    }

    #[test]
    fn places_are_cut() {
        let key = "k".repeat(10_000);
        assert!(Place::Root.key(&key).key(&key).key(&key).to_string().chars().count() < 170);
    }
}
