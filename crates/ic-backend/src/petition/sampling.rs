//! `sampling/createMessage`: what a server writes for a model, and what the model wrote.
//!
//! No tools go along, and nothing of what the client has from other servers: a server is to get the
//! answer to what it wrote, and nothing else.

use ic_types::{Json, Object, ServerName};

use super::words::Words;
use super::{label, unexpected, wrong};

/// How many messages one petition may hold.
const MESSAGES_MAX: usize = 32;
/// How long all that a server writes for a model may be, in characters; each of them is shown.
const TEXT_CHARS_MAX: usize = 2000;
/// How many texts may end an answer, and how many models may be preferred.
const TEXTS_MAX: usize = 8;

/// Reads the parameters, and keeps what is passed on, with the server named before all else.
pub(super) fn read(params: Object, server: &ServerName) -> Result<Object, String> {
    let (mut kept, mut words) = (Object::new(), Words::new(TEXT_CHARS_MAX));
    // SECURITY: the client's model, and whoever looks at its prompt, would take it for their user's.
    kept.insert("systemPrompt", format!("{} It wrote what follows.", label(server)));
    for (key, value) in params.into_entries() {
        match (key.as_str(), value) {
            // A client may leave them out of account; other servers' words are not lent, and what a
            // provider would make of its `metadata` nobody could be shown.
            ("_meta" | "includeContext" | "metadata", _) => {}
            ("messages", Json::Array(messages)) => {
                kept.insert(key, read_messages(messages, &mut words)?);
            }
            ("maxTokens", value @ Json::Number(_)) if is_count(&value) => kept.insert(key, value),
            ("temperature", value @ Json::Number(_)) => kept.insert(key, value),
            ("systemPrompt", Json::String(text)) => {
                words.admit(&text).map_err(|why| format!("`{key}`: {why}"))?;
                kept.insert(key, format!("{} {text}", label(server)));
            }
            ("modelPreferences", Json::Object(preferences)) => {
                kept.insert(key, read_preferences(preferences, &mut words)?);
            }
            ("stopSequences", Json::Array(texts)) => {
                let texts = texts.into_iter().map(|text| read_text(Some(text), &mut words));
                kept.insert(key, few(texts.collect::<Result<_, _>>()?)?);
            }
            ("tools" | "toolChoice", _) => {
                return Err("tools for the client's model are not passed on".to_owned());
            }
            ("task", _) => return Err("tasks are not offered".to_owned()),
            (
                "messages" | "maxTokens" | "temperature" | "systemPrompt" | "stopSequences"
                | "modelPreferences",
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

/// Reads which model a server would like: names, and how much three things matter.
fn read_preferences(preferences: Object, words: &mut Words) -> Result<Object, String> {
    let mut kept = Object::new();
    for (key, value) in preferences.into_entries() {
        match (key.as_str(), value) {
            ("hints", Json::Array(hints)) => {
                let read = |hint: Json| {
                    let Json::Object(mut hint) = hint else { return Err(wrong("hints")) };
                    let mut kept = Object::new();
                    kept.insert("name", read_text(hint.remove("name"), words)?);
                    Ok(Json::Object(kept))
                };
                kept.insert(key, few(hints.into_iter().map(read).collect::<Result<_, _>>()?)?);
            }
            (
                "costPriority" | "speedPriority" | "intelligencePriority",
                value @ Json::Number(_),
            ) => kept.insert(key, value),
            _ => return Err(format!("`modelPreferences`: {}", unexpected(&key))),
        }
    }
    Ok(kept)
}

fn read_text(text: Option<Json>, words: &mut Words) -> Result<Json, String> {
    match text {
        Some(Json::String(text)) => words.admit(&text).map(|()| Json::String(text)),
        _ => Err("text is missing where it is needed".to_owned()),
    }
}

fn few(texts: Vec<Json>) -> Result<Vec<Json>, String> {
    match texts.len() {
        0..=TEXTS_MAX => Ok(texts),
        _ => Err(format!("there are more than {TEXTS_MAX} of what there should be few of")),
    }
}

fn read_messages(messages: Vec<Json>, words: &mut Words) -> Result<Vec<Json>, String> {
    if messages.is_empty() || MESSAGES_MAX < messages.len() {
        return Err(format!("`messages` are between 1 and {MESSAGES_MAX}"));
    }
    let read = |message: Json| {
        let Json::Object(mut message) = message else { return Err(wrong("messages")) };
        let role = message.remove("role").filter(is_role).ok_or_else(|| wrong("role"))?;
        let Some(Json::Object(part)) = message.remove("content") else {
            return Err("`content` of a message is not one part".to_owned());
        };
        if part.get("type").and_then(Json::as_str) != Some("text") {
            return Err("pictures and sounds cannot be shown in an approval request".to_owned());
        }
        let part = read_part(part)?;
        let said = part.get("text").and_then(Json::as_str).unwrap_or_default();
        words.admit(said).map_err(|why| format!("`messages`: {why}"))?;
        let mut kept = Object::new();
        kept.insert("role", role);
        kept.insert("content", part);
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
    use super::super::tests::object;
    use super::*;

    #[test]
    fn only_what_a_person_is_shown_is_asked() {
        let asked = r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi","_meta":{"x":1}},
            "x":1}],"maxTokens":9,"systemPrompt":"s","includeContext":"allServers","_meta":{"a":1}}"#;
        let kept = r#"{"systemPrompt":"[from the server `x`] s","messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":9}"#;
        let read = |text: &str| read(object(text), &"x".parse().unwrap());
        let kept_of = |text: &str| Json::Object(read(text).unwrap()).to_string();
        assert_eq!(kept_of(asked), kept);
        let with = |more: &str| {
            format!(
                r#"{{"messages":[{{"role":"user","content":{{"type":"text","text":"hi"}}}}],"maxTokens":9,{more}}}"#
            )
        };
        let preferred =
            r#""modelPreferences":{"hints":[{"name":"m","url":"x"}],"costPriority":0.3}"#;
        let asked =
            with(&format!(r#""metadata":{{"tools":[{{"type":"web_search"}}]}},{preferred}"#));
        let kept = r#"{"systemPrompt":"[from the server `x`] It wrote what follows.","messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":9,"modelPreferences":{"hints":[{"name":"m"}],"costPriority":0.3}}"#;
        assert_eq!(kept_of(&asked), kept);
        for more in [
            r#""modelPreferences":{"tools":[]}"#.to_owned(),
            r#""modelPreferences":{"hints":[{"id":"m"}]}"#.to_owned(),
            r#""modelPreferences":{"costPriority":{"x":1}}"#.to_owned(),
            r#""stopSequences":[{"x":1}]"#.to_owned(),
            format!(r#""stopSequences":[{}]"#, [r#""a""#; 9].join(",")),
            format!(r#""systemPrompt":"{}""#, "x".repeat(2001)),
            r#""systemPrompt":"\u001b[2K""#.to_owned(),
        ] {
            assert!(read(&with(&more)).is_err(), "{more}");
        }
        // Each is short, and all of them are not.
        let many = vec![
            format!(
                r#"{{"role":"user","content":{{"type":"text","text":"{}"}}}}"#,
                "x".repeat(999)
            );
            3
        ];
        let asked = |n: usize| format!(r#"{{"messages":[{}],"maxTokens":9}}"#, many[..n].join(","));
        assert!(read(&asked(2)).is_ok() && read(&asked(3)).is_err());
        for refused in [
            r"{}",
            r#"{"messages":[],"maxTokens":9}"#,
            r#"{"messages":[{"role":"system","content":{"type":"text","text":"hi"}}],"maxTokens":9}"#,
            r#"{"messages":[{"role":"user","content":"hi"}],"maxTokens":9}"#,
            r#"{"messages":[{"role":"user","content":{"type":"image","data":"aGk=","mimeType":"image/png"}}],"maxTokens":9}"#,
            r#"{"messages":[{"role":"user","content":{"type":"audio","data":"aGk=","mimeType":"audio/wav"}}],"maxTokens":9}"#,
            r#"{"messages":[{"role":"user","content":{"type":"text","text":"a\u001b[2Kb"}}],"maxTokens":9}"#,
            r#"{"messages":[{"role":"user","content":{"type":"tool_result","content":[]}}],"maxTokens":9}"#,
            r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":0}"#,
            r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":9,"tools":[]}"#,
            r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":9,"task":{}}"#,
            r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":9,"odd":1}"#,
        ] {
            assert!(read(refused).is_err(), "{refused}");
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
