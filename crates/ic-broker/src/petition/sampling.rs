//! `sampling/createMessage`: what a server writes for a model, and what the model wrote.
//!
//! No tools go along, and nothing of what the client has from other servers: a server is to get the
//! answer to what it wrote, and nothing else.

use ic_types::{Json, Object};

use super::{unexpected, wrong};

/// How many messages one petition may hold.
const MESSAGES_MAX: usize = 256;

/// Reads the parameters, and keeps what is passed on.
pub(super) fn read(params: Object) -> Result<Object, String> {
    let mut kept = Object::new();
    for (key, value) in params.into_entries() {
        match (key.as_str(), value) {
            // A client may leave it out of account, and other servers' words are not lent.
            ("_meta" | "includeContext", _) => {}
            ("messages", Json::Array(messages)) => kept.insert(key, read_messages(messages)?),
            ("maxTokens", value @ Json::Number(_)) if is_count(&value) => kept.insert(key, value),
            ("temperature", value @ Json::Number(_))
            | ("systemPrompt", value @ Json::String(_))
            | ("modelPreferences" | "metadata", value @ Json::Object(_)) => kept.insert(key, value),
            ("stopSequences", Json::Array(texts))
                if texts.iter().all(|text| text.as_str().is_some()) =>
            {
                kept.insert(key, texts);
            }
            ("tools" | "toolChoice", _) => {
                return Err("tools for the client's model are not passed on".to_owned());
            }
            ("task", _) => return Err("tasks are not offered".to_owned()),
            (
                "messages" | "maxTokens" | "temperature" | "systemPrompt" | "stopSequences"
                | "modelPreferences" | "metadata",
                _,
            ) => return Err(wrong(&key)),
            _ => return Err(unexpected(&key)),
        }
    }
    match ["messages", "maxTokens"].into_iter().find(|key| kept.get(key).is_none()) {
        Some(missing) => Err(wrong(missing)),
        None => Ok(kept),
    }
}

/// Reads what the client's model is said to have written, and keeps what is passed on.
pub(super) fn answer(result: Object) -> Result<Object, String> {
    let mut kept = Object::new();
    for (key, value) in result.into_entries() {
        match (key.as_str(), value) {
            ("role", value) if is_role(&value) => kept.insert(key, value),
            ("content", Json::Object(part)) => kept.insert(key, read_part(part)?),
            ("content", Json::Array(parts)) => match <[Json; 1]>::try_from(parts) {
                Ok([Json::Object(part)]) => kept.insert(key, read_part(part)?),
                _ => return Err("`content` is not one part".to_owned()),
            },
            ("model" | "stopReason", value @ Json::String(_)) => kept.insert(key, value),
            ("role" | "content" | "model" | "stopReason", _) => return Err(wrong(&key)),
            // Whatever else stands there is between the client and us.
            _ => {}
        }
    }
    match ["role", "content", "model"].into_iter().find(|key| kept.get(key).is_none()) {
        Some(missing) => Err(wrong(missing)),
        None => Ok(kept),
    }
}

fn read_messages(messages: Vec<Json>) -> Result<Vec<Json>, String> {
    if messages.is_empty() || MESSAGES_MAX < messages.len() {
        return Err(format!("`messages` are between 1 and {MESSAGES_MAX}"));
    }
    let read = |message: Json| {
        let Json::Object(mut message) = message else { return Err(wrong("messages")) };
        let role = message.remove("role").filter(is_role).ok_or_else(|| wrong("role"))?;
        let Some(Json::Object(part)) = message.remove("content") else {
            return Err("`content` of a message is not one part".to_owned());
        };
        let mut kept = Object::new();
        kept.insert("role", role);
        kept.insert("content", read_part(part)?);
        Ok(Json::Object(kept))
    };
    messages.into_iter().map(read).collect()
}

/// Reads a part of a message: a text, a picture or a sound.
fn read_part(mut part: Object) -> Result<Object, String> {
    let kind = part.remove("type");
    let members: &[&str] = match kind.as_ref().and_then(Json::as_str) {
        Some("text") => &["text"],
        Some("image" | "audio") => &["data", "mimeType"],
        _ => return Err("a part is neither text nor a picture nor a sound".to_owned()),
    };
    let mut kept = Object::new();
    kept.insert("type", kind.unwrap_or(Json::Null));
    for member in members {
        match part.remove(member) {
            Some(value @ Json::String(_)) => kept.insert(*member, value),
            _ => return Err(wrong(member)),
        }
    }
    Ok(kept)
}

fn is_role(value: &Json) -> bool {
    matches!(value.as_str(), Some("user" | "assistant"))
}

fn is_count(value: &Json) -> bool {
    matches!(value, Json::Number(number) if number.as_str().parse::<u32>().is_ok_and(|it| 0 < it))
}

#[cfg(test)]
mod tests {
    use ic_types::JsonLimits;

    use super::*;

    fn object(text: &str) -> Object {
        match Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap() {
            Json::Object(object) => object,
            other => panic!("no object: {other}"),
        }
    }

    #[test]
    fn only_what_a_person_is_shown_is_asked() {
        let asked = r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi","_meta":{"x":1}},
            "x":1}],"maxTokens":9,"systemPrompt":"s","includeContext":"allServers","_meta":{"a":1}}"#;
        let kept = r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":9,"systemPrompt":"s"}"#;
        assert_eq!(Json::Object(read(object(asked)).unwrap()).to_string(), kept);
        for refused in [
            r"{}",
            r#"{"messages":[],"maxTokens":9}"#,
            r#"{"messages":[{"role":"system","content":{"type":"text","text":"hi"}}],"maxTokens":9}"#,
            r#"{"messages":[{"role":"user","content":"hi"}],"maxTokens":9}"#,
            r#"{"messages":[{"role":"user","content":{"type":"tool_result","content":[]}}],"maxTokens":9}"#,
            r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":0}"#,
            r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":9,"tools":[]}"#,
            r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":9,"task":{}}"#,
            r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":9,"odd":1}"#,
        ] {
            assert!(read(object(refused)).is_err(), "{refused}");
        }
    }

    #[test]
    fn only_what_a_model_wrote_goes_back() {
        let said = r#"{"role":"assistant","content":[{"type":"text","text":"hi"}],"model":"m","stopReason":"endTurn","_meta":{"secret":1},"extra":2}"#;
        let kept = r#"{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m","stopReason":"endTurn"}"#;
        assert_eq!(Json::Object(answer(object(said)).unwrap()).to_string(), kept);
        for refused in [
            r"{}",
            r#"{"role":"assistant","content":{"type":"text","text":"hi"}}"#,
            r#"{"role":"assistant","content":{"type":"text"},"model":"m"}"#,
            r#"{"role":"assistant","content":[],"model":"m"}"#,
            r#"{"role":"assistant","content":{"type":"tool_use","id":"1","name":"x","input":{}},"model":"m"}"#,
            r#"{"role":"tool","content":{"type":"text","text":"hi"},"model":"m"}"#,
            r#"{"role":"assistant","content":{"type":"text","text":"hi"},"model":7}"#,
        ] {
            assert!(answer(object(refused)).is_err(), "{refused}");
        }
    }
}
