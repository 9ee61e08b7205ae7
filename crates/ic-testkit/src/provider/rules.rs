//! What providers take: the rules of their published types, written down as assertions.
//!
//! Each format has a file that names the types it mirrors. A rule says which keys an object has to have
//! and which it may have, and what stands under each; everything else is refused, as the providers refuse
//! it, or ignore it, which is worse. Beyond the types there are the rules that are published in words:
//! which block may follow which, how many marks for a cache there may be, and that what was signed comes
//! back unaltered. Of the types, only what we send is described. Nothing is answered here.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use serde_json::{Map, Value};

use super::frames::Format;

/// Returns what a real provider would not take of a request.
pub fn check(format: Format, path: &str, body: &Value) -> Vec<String> {
    let mut rules = Rules { faults: Vec::new() };
    if !body.is_object() {
        return vec!["the body is not an object".to_owned()];
    }
    match format {
        Format::Anthropic => rules.anthropic(body),
        Format::Responses => rules.responses(body),
        Format::Chat => rules.chat(body),
        Format::Gemini => rules.gemini(path, body),
    }
    rules.faults
}

/// A key, and what has to stand under it.
type Field = (&'static str, Is);

/// What was found so far.
struct Rules {
    faults: Vec<String>,
}

impl Rules {
    fn require(&mut self, is_so: bool, what: impl FnOnce() -> String) {
        if !is_so {
            self.faults.push(what());
        }
    }

    /// Checks that an object has these keys with these types, perhaps those, and no other.
    fn fields(&mut self, of: &Value, at: &str, needed: &[Field], further: &[Field]) {
        let Some(object) = of.as_object() else {
            self.require(false, || format!("{at}: should be an object, is {of}"));
            return;
        };
        for (key, _) in needed {
            self.require(object.contains_key(*key), || format!("{at}.{key}: Field required"));
        }
        for (key, value) in object {
            match needed.iter().chain(further).find(|(known, _)| known == key) {
                Some((_, is)) => self.require(is.holds(value), || {
                    format!("{at}.{key}: should be {is:?}, is {value}")
                }),
                None => {
                    self.require(false, || format!("{at}.{key}: Extra inputs are not permitted"));
                }
            }
        }
    }
}

/// What a value has to be.
#[derive(Clone, Copy, Debug)]
enum Is {
    /// This word.
    Just(&'static str),
    Text,
    /// Text that is not blank.
    Words,
    WordsOrNull,
    /// Letters, digits, `_` and `-`, at most so many.
    Name(usize),
    /// Text of 1 to 64 characters.
    CallId,
    /// Text that is a JSON object.
    JsonText,
    /// A signature that was given here.
    Signature,
    /// A thought that was encrypted here.
    Sealed,
    Positive,
    Bool,
    True,
    False,
    /// A list with something in it.
    List,
    /// A list with nothing in it.
    Empty,
    Object,
    /// A schema of an object.
    Schema,
}

impl Is {
    fn holds(self, value: &Value) -> bool {
        let text = value.as_str();
        let is_words = text.is_some_and(|it| !it.trim().is_empty());
        match self {
            Self::Just(word) => text == Some(word),
            Self::Text => text.is_some(),
            Self::Words => is_words,
            Self::WordsOrNull => is_words || value.is_null(),
            Self::Name(len_max) => text.is_some_and(|it| {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
                !it.is_empty() && it.len() <= len_max && it.chars().all(is_plain)
            }),
            Self::CallId => text.is_some_and(|it| (1..=64).contains(&it.chars().count())),
            Self::JsonText => {
                text.is_some_and(|it| serde_json::from_str::<Map<String, Value>>(it).is_ok())
            }
            Self::Signature => text.is_some_and(|it| it.starts_with("sig") && it.ends_with("==")),
            Self::Sealed => text.is_some_and(|it| it.starts_with("gAAAA") && it.ends_with("==")),
            Self::Positive => value.as_u64().is_some_and(|it| 0 < it),
            Self::Bool => value.is_boolean(),
            Self::True => *value == Value::Bool(true),
            Self::False => *value == Value::Bool(false),
            Self::List => value.as_array().is_some_and(|it| !it.is_empty()),
            Self::Empty => value.as_array().is_some_and(Vec::is_empty),
            Self::Object => value.is_object(),
            Self::Schema => value.get("type").and_then(Value::as_str) == Some("object"),
        }
    }
}

/// Returns the text under `key`.
fn word<'a>(of: &'a Value, key: &str) -> &'a str {
    of.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the items under `key`.
fn list<'a>(of: &'a Value, key: &str) -> &'a [Value] {
    of.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
