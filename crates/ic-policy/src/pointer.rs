//! Where in a call's arguments a value stands: a name, or a JSON pointer with `*` for array items.
//!
//! Finds values; what they mean is the annotation's business.

use ic_types::{Json, Object};

/// A place in the arguments of a call.
///
/// Invariant: one place has one text, so two pointers to the same place are equal.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Pointer {
    /// The argument's name, or the pointer as it is written.
    text: String,
    /// The name of the argument that the pointer leads into.
    argument: String,
    /// The steps below it.
    steps: Vec<Step>,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Step {
    Key(String),
    EachItem,
}

/// A pointer whose text is wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum InvalidPointer {
    /// The argument's name is empty.
    #[error("the argument's name is empty")]
    Empty,
    /// A pointer cannot begin with `*`.
    #[error("a pointer begins with an argument's name, not with `*`")]
    StartsWithStar,
    /// An escape is neither `~0` nor `~1`.
    #[error("`~` in a pointer is written `~0`, and `/` is written `~1`")]
    Escape,
}

/// The arguments do not have the shape that the pointer needs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ShapeMismatch;

impl Pointer {
    /// Reads an argument's name, or a pointer if it begins with `/`.
    pub fn parse(text: &str) -> Result<Self, InvalidPointer> {
        let Some(rest) = text.strip_prefix('/') else {
            return match text {
                "" => Err(InvalidPointer::Empty),
                name => {
                    Ok(Self { text: text.to_owned(), argument: name.to_owned(), steps: Vec::new() })
                }
            };
        };
        let mut steps = rest.split('/').map(Step::parse);
        let argument = match steps.next() {
            Some(Ok(Step::Key(name))) if !name.is_empty() => name,
            Some(Ok(Step::EachItem)) => return Err(InvalidPointer::StartsWithStar),
            Some(Err(error)) => return Err(error),
            Some(Ok(Step::Key(_))) | None => return Err(InvalidPointer::Empty),
        };
        let steps: Vec<Step> = steps.collect::<Result<_, _>>()?;
        // INVARIANT: `/path` is `path`. A name that begins with `/` can only be written as a pointer.
        let text = match steps.is_empty() && !argument.starts_with('/') {
            true => argument.clone(),
            false => text.to_owned(),
        };
        Ok(Self { text, argument, steps })
    }

    /// Returns the argument's name, or the pointer as it is written if it leads further.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the name of the argument that the pointer names or leads into.
    pub fn argument(&self) -> &str {
        &self.argument
    }

    /// Returns the values at this place; none where something on the way is absent or `null`.
    pub fn find<'a>(&self, arguments: &'a Object) -> Result<Vec<&'a Json>, ShapeMismatch> {
        let mut found: Vec<&Json> = arguments.get(&self.argument).into_iter().collect();
        for step in &self.steps {
            let mut next = Vec::new();
            for value in found {
                match (step, value) {
                    (_, Json::Null) => {}
                    (Step::Key(key), Json::Object(object)) => next.extend(object.get(key)),
                    (Step::EachItem, Json::Array(items)) => next.extend(items),
                    (Step::Key(_) | Step::EachItem, _) => return Err(ShapeMismatch),
                }
            }
            found = next;
        }
        Ok(found)
    }

    /// Returns the values at this place, to replace them by what was judged.
    pub fn find_mut<'a>(
        &self,
        arguments: &'a mut Object,
    ) -> Result<Vec<&'a mut Json>, ShapeMismatch> {
        let mut found: Vec<&mut Json> = arguments.get_mut(&self.argument).into_iter().collect();
        for step in &self.steps {
            let mut next = Vec::new();
            for value in found {
                match (step, value) {
                    (_, Json::Null) => {}
                    (Step::Key(key), Json::Object(object)) => next.extend(object.get_mut(key)),
                    (Step::EachItem, Json::Array(items)) => next.extend(items.iter_mut()),
                    (Step::Key(_) | Step::EachItem, _) => return Err(ShapeMismatch),
                }
            }
            found = next;
        }
        Ok(found)
    }
}

impl Step {
    fn parse(text: &str) -> Result<Self, InvalidPointer> {
        if text == "*" {
            return Ok(Self::EachItem);
        }
        let mut key = String::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            key.push(match c {
                '~' => match chars.next() {
                    Some('0') => '~',
                    Some('1') => '/',
                    Some(_) | None => return Err(InvalidPointer::Escape),
                },
                c => c,
            });
        }
        Ok(Self::Key(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ic_types::JsonLimits;

    fn arguments(text: &str) -> Object {
        match Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap() {
            Json::Object(object) => object,
            other => panic!("{other}"),
        }
    }

    #[track_caller]
    fn check(pointer: &str, text: &str, expected: &[&str]) {
        let mut object = arguments(text);
        let pointer = Pointer::parse(pointer).unwrap();
        let found: Vec<String> =
            pointer.find(&object).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
        let found: Vec<String> =
            pointer.find_mut(&mut object).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn finds_names_and_nested_values() {
        check("path", r#"{"path":"a"}"#, &[r#""a""#]);
        check(
            "/edits/*/path",
            r#"{"edits":[{"path":"a"},{"path":"b"},{}]}"#,
            &[r#""a""#, r#""b""#],
        );
        check("/a~1b/c~0d", r#"{"a/b":{"c~d":1}}"#, &["1"]);
        check("/x/*/*", r#"{"x":[[1,2],[3]]}"#, &["1", "2", "3"]);
        check("/x/y", r#"{"x":null}"#, &[]);
        check("/x/y", "{}", &[]);
        check("a/b", r#"{"a/b":1}"#, &["1"]);
    }

    #[test]
    fn another_shape_is_not_an_absence() {
        for (pointer, text) in [
            ("/edits/*/path", r#"{"edits":{"path":"a"}}"#),
            ("/edits/*/path", r#"{"edits":["a"]}"#),
            ("/x/y", r#"{"x":[{"y":1}]}"#),
            ("/x/y", r#"{"x":"~/.ssh"}"#),
        ] {
            let mut object = arguments(text);
            let pointer = Pointer::parse(pointer).unwrap();
            assert_eq!(pointer.find(&object), Err(ShapeMismatch), "{text}");
            assert!(pointer.find_mut(&mut object).is_err(), "{text}");
        }
    }

    #[test]
    fn a_pointer_with_one_part_is_the_plain_name() {
        let parse = |text| Pointer::parse(text).unwrap();
        for (pointer, name) in [("/path", "path"), ("/a~1b", "a/b"), ("/c~0d", "c~d")] {
            assert_eq!(parse(pointer), parse(name));
            assert_eq!(parse(pointer).as_str(), name);
        }
        assert_ne!(parse("/~1x"), parse("/x"));
        assert_ne!(parse("/x/*"), parse("/x"));
    }

    #[test]
    fn refuses_bad_pointers() {
        for bad in ["", "/", "/*", "/*/a", "/a/~2", "/a/~", "//a"] {
            assert!(Pointer::parse(bad).is_err(), "accepted {bad:?}");
        }
    }
}
