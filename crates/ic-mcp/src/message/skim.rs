//! What can be told of a line that is not a message: which request it answers.
//!
//! The caller that waits for that answer learns at once that none will come. Nothing else is believed of such a
//! line, and it need not be valid: members of the outermost object are told apart by brackets and quotes.

use ic_types::{Json, JsonLimits};

use super::Id;

/// What the id may cost; each of its bytes may be written as an escape.
const ID: JsonLimits = JsonLimits { bytes_max: 6 * Id::LEN_MAX + 2, depth_max: 1, values_max: 1 };
/// What a key may cost; it is not kept.
const KEY: JsonLimits = JsonLimits { bytes_max: 64 << 10, ..ID };

/// Returns the id of a response in `line`, if there is exactly one and no `method` beside it.
pub fn answered_id(line: &[u8]) -> Option<Id> {
    let mut rest = line.trim_ascii().strip_prefix(b"{")?.strip_suffix(b"}")?;
    let mut id = None;
    while !rest.trim_ascii().is_empty() {
        let (member, after) = until(rest, b',')?;
        // A comma leads to another member.
        rest = match after {
            Some(after) if after.trim_ascii().is_empty() => return None,
            Some(after) => after,
            None => &[],
        };
        let (key, value) = until(member, b':')?;
        let Ok(Json::String(key)) = Json::parse(key.trim_ascii(), KEY) else { return None };
        match key.as_str() {
            "method" => return None,
            "id" => {
                let value = Json::parse(value?.trim_ascii(), ID).ok()?;
                if id.replace(Id::of_json(value).ok()?).is_some() {
                    return None;
                }
            }
            _ => {}
        }
    }
    id
}

/// Splits at the first `mark` that is in no string and in no brackets; `None` if those do not add up.
fn until(bytes: &[u8], mark: u8) -> Option<(&[u8], Option<&[u8]>)> {
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            byte if *byte == mark && depth == 0 => {
                return Some((bytes.get(..at)?, bytes.get(at + 1..)));
            }
            _ => {}
        }
    }
    (depth == 0 && !in_string).then_some((bytes, None))
}
