//! Finds what a `$ref` leads to, within the schema and nowhere else.
//!
//! Nothing is fetched, and anchors and `$id`s are not looked for.

use std::borrow::Cow;

use ic_types::Json;

use super::{Compiler, Origin};
use crate::fault::FaultReason;
use crate::rules::NodeId;

/// How many keys may be looked at to follow all `$ref`s of a schema.
pub(super) const N_LOOKUPS_MAX: usize = 5_000_000;

impl<'a> Compiler<'a> {
    /// Returns the number of the subschema that `text` leads to.
    pub(super) fn reference(&mut self, text: &'a str) -> Result<NodeId, FaultReason> {
        let fragment = text.strip_prefix('#').ok_or_else(|| FaultReason::external(text))?;
        let pointer = decode_percent(fragment).ok_or_else(|| FaultReason::unresolved(text))?;
        let mut json = self.root;
        if !pointer.is_empty() {
            // What does not begin with a slash is the name of an anchor.
            let steps = pointer.strip_prefix('/').ok_or_else(|| FaultReason::external(text))?;
            for step in steps.split('/') {
                json = self.step(json, step)?.ok_or_else(|| FaultReason::unresolved(text))?;
            }
        }
        self.child(json, Origin::Reference(text))
    }

    fn step(&mut self, json: &'a Json, step: &str) -> Result<Option<&'a Json>, FaultReason> {
        let n_keys = match json {
            Json::Object(object) => object.len(),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => 1,
        };
        let left = self.n_lookups_left.checked_sub(n_keys);
        self.n_lookups_left = left.ok_or(FaultReason::TooManyReferences)?;
        Ok(match json {
            Json::Object(object) => unescape(step).and_then(|key| object.get(&key)),
            Json::Array(items) => index(step).and_then(|index| items.get(index)),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
        })
    }
}

/// Reads the `~0` and `~1` of a JSON pointer.
fn unescape(step: &str) -> Option<Cow<'_, str>> {
    if !step.contains('~') {
        return Some(step.into());
    }
    let mut parts = step.split('~');
    let mut key = parts.next()?.to_owned();
    for part in parts {
        let (sign, rest) = match part.strip_prefix('0') {
            Some(rest) => ('~', rest),
            None => ('/', part.strip_prefix('1')?),
        };
        key.push(sign);
        key.push_str(rest);
    }
    Some(key.into())
}

fn index(step: &str) -> Option<usize> {
    let is_plain =
        step.bytes().all(|b| b.is_ascii_digit()) && (step == "0" || !step.starts_with('0'));
    if is_plain { step.parse().ok() } else { None }
}

/// Reads the `%20` of a URL's fragment.
fn decode_percent(fragment: &str) -> Option<Cow<'_, str>> {
    if !fragment.contains('%') {
        return Some(fragment.into());
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => hex(rest.next()?)? * 16 + hex(rest.next()?)?,
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok().map(Cow::from)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_as_pointers_and_fragments_write_them() {
        assert_eq!(unescape("a~1b~0c~01").as_deref(), Some("a/b~c~1"));
        assert_eq!(unescape("a~2"), None);
        assert_eq!(unescape("a~"), None);
        assert_eq!(decode_percent("/a%20b%C3%A9").as_deref(), Some("/a bé"));
        for bad in ["%", "%2", "%zz", "%ff"] {
            assert_eq!(decode_percent(bad), None, "{bad}");
        }
        assert_eq!(index("10"), Some(10));
        assert_eq!(index("0"), Some(0));
        for bad in ["", "01", "-1", "+1", "a", "99999999999999999999"] {
            assert_eq!(index(bad), None, "{bad}");
        }
    }
}
