//! `elicitation/create`: a form that a server wrote, and what a person filled in.
//!
//! A form is flat, as the protocol demands, so that each thing that is asked for can be named. An address
//! to which a person is to go is refused. Which answer is given is the person's business, at the client.

use ic_schema::Schema;
use ic_types::{Json, Object, ServerName};

use super::{unexpected, wrong};

/// The longest message over a form, in characters.
const MESSAGE_CHARS_MAX: usize = 4096;
/// How many fields a form may have; each is shown.
const FIELDS_MAX: usize = 32;
/// The longest name of a field, in characters.
const FIELD_CHARS_MAX: usize = 64;

/// What the answer to a form has to fit.
#[derive(Debug)]
pub(super) struct Form(Schema);

/// Reads the parameters, and keeps what is passed on, with the server named in the message.
pub(super) fn read(params: Object, server: &ServerName) -> Result<(Object, Form), String> {
    let (mut message, mut schema) = (None, None);
    for (key, value) in params.into_entries() {
        match (key.as_str(), value) {
            ("_meta", _) => {}
            ("mode", Json::String(mode)) if mode == "form" => {}
            ("mode" | "url" | "elicitationId", _) => {
                return Err("a person is sent to no address that a server names; only forms are \
                            passed on"
                    .to_owned());
            }
            ("message", Json::String(text)) if text.chars().count() <= MESSAGE_CHARS_MAX => {
                // SECURITY: the client takes it for our own question, and would show it as one.
                message = Some(format!("[from the server `{server}`] {text}"));
            }
            ("message", _) => {
                return Err(format!(
                    "`message` is no text of {MESSAGE_CHARS_MAX} characters or less"
                ));
            }
            ("requestedSchema", Json::Object(object)) => schema = Some(object),
            ("task", _) => return Err("tasks are not offered".to_owned()),
            ("requestedSchema", _) => return Err(wrong(&key)),
            _ => return Err(unexpected(&key)),
        }
    }
    let message = message.ok_or_else(|| wrong("message"))?;
    let schema = schema.ok_or_else(|| wrong("requestedSchema"))?;
    check_form(&schema)?;
    let schema = Json::Object(schema);
    let compiled =
        Schema::compile(&schema).map_err(|fault| format!("`requestedSchema`: {fault}"))?;
    let mut kept = Object::new();
    kept.insert("message", message);
    kept.insert("requestedSchema", schema);
    Ok((kept, Form(compiled)))
}

/// Checks that a schema describes a flat form.
fn check_form(schema: &Object) -> Result<(), String> {
    for (key, value) in schema.iter() {
        match (key, value) {
            ("type", value) if value.as_str() == Some("object") => {}
            ("properties", Json::Object(_))
            | ("additionalProperties", Json::Bool(false))
            | ("required", Json::Array(_))
            | ("$schema" | "title" | "description", Json::String(_)) => {}
            _ => return Err(format!("`requestedSchema`: {}", unexpected(key))),
        }
    }
    let (Some(_), Some(Json::Object(fields))) = (schema.get("type"), schema.get("properties"))
    else {
        return Err("`requestedSchema` is no object with `properties`".to_owned());
    };
    if fields.is_empty() || FIELDS_MAX < fields.len() {
        return Err(format!("a form has between 1 and {FIELDS_MAX} fields"));
    }
    for (name, field) in fields.iter() {
        if name.is_empty() || FIELD_CHARS_MAX < name.chars().count() {
            return Err(format!("the name of a field has 1 to {FIELD_CHARS_MAX} characters"));
        }
        if !is_flat(field) {
            let name = name.escape_debug();
            return Err(format!("the field `{name}` is nothing that a form can ask for"));
        }
    }
    Ok(())
}

/// Returns whether a field is a text, a number, a yes or no, or a choice.
fn is_flat(field: &Json) -> bool {
    let Json::Object(field) = field else { return false };
    let kind = field.get("type").and_then(Json::as_str).unwrap_or_default();
    let known = |key: &str, value: &Json| match (kind, key, value) {
        (_, "default", _)
        | (_, "type" | "title" | "description", Json::String(_))
        | ("string", "format" | "pattern", Json::String(_))
        | ("string", "minLength" | "maxLength", Json::Number(_))
        | ("number" | "integer", "minimum" | "maximum", Json::Number(_))
        | ("array", "minItems" | "maxItems", Json::Number(_)) => true,
        ("string", "enum" | "enumNames", Json::Array(texts)) => {
            texts.iter().all(|text| text.as_str().is_some())
        }
        ("string", "oneOf", Json::Array(choices)) => choices.iter().all(is_choice),
        ("array", "items", Json::Object(items)) => is_choices(items),
        _ => false,
    };
    let is_kind = match kind {
        "string" | "number" | "integer" | "boolean" => true,
        "array" => field.get("items").is_some(),
        _ => false,
    };
    is_kind && field.iter().all(|(key, value)| known(key, value))
}

/// Returns whether the items of a list are texts to choose from.
fn is_choices(items: &Object) -> bool {
    let known = |key: &str, value: &Json| match (key, value) {
        ("type", value) => value.as_str() == Some("string"),
        ("enum", Json::Array(texts)) => texts.iter().all(|text| text.as_str().is_some()),
        ("anyOf" | "oneOf", Json::Array(choices)) => choices.iter().all(is_choice),
        _ => false,
    };
    items.iter().all(|(key, value)| known(key, value))
        && ["enum", "anyOf", "oneOf"].into_iter().any(|key| items.get(key).is_some())
}

fn is_choice(choice: &Json) -> bool {
    let Json::Object(choice) = choice else { return false };
    choice.get("const").and_then(Json::as_str).is_some()
        && choice.iter().all(|(key, it)| matches!(key, "const" | "title") && it.as_str().is_some())
}

impl Form {
    /// Reads what a person is said to have answered, and keeps what is passed on.
    pub(super) fn answer(&self, mut result: Object) -> Result<Object, String> {
        let action = result.remove("action");
        let mut kept = Object::new();
        match action.as_ref().and_then(Json::as_str) {
            Some("accept") => {}
            Some(no @ ("decline" | "cancel")) => {
                // Whatever was typed before that is nobody's business.
                kept.insert("action", no);
                return Ok(kept);
            }
            _ => return Err(wrong("action")),
        }
        let content = match result.remove("content") {
            None => Object::new(),
            Some(Json::Object(content)) => content,
            Some(_) => return Err(wrong("content")),
        };
        self.0.check(&content).map_err(|fault| format!("it does not fit the form: {fault}"))?;
        kept.insert("action", "accept");
        kept.insert("content", content);
        Ok(kept)
    }
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

    fn asked(schema: &str) -> Result<(Object, Form), String> {
        let params = format!(r#"{{"message":"who?","requestedSchema":{schema},"mode":"form"}}"#);
        read(object(&params), &"s".parse().unwrap())
    }

    const FORM: &str = r#"{"type":"object","properties":{"name":{"type":"string","minLength":2},
        "age":{"type":"integer","minimum":0},"pets":{"type":"array","items":{"anyOf":[{"const":"cat",
        "title":"Cat"}]}},"hero":{"type":"string","oneOf":[{"const":"a","title":"A"}]}},"required":["name"]}"#;

    #[test]
    fn a_form_is_flat_and_says_whose_it_is() {
        let (kept, _) = asked(FORM).unwrap();
        assert_eq!(kept.get("message").unwrap().as_str(), Some("[from the server `s`] who?"));
        assert_eq!(kept.keys().collect::<Vec<_>>(), ["message", "requestedSchema"]);
        let field = |field: &str| format!(r#"{{"type":"object","properties":{{"x":{field}}}}}"#);
        let many: Vec<String> = (0..33).map(|n| format!(r#""f{n}":{{"type":"string"}}"#)).collect();
        for refused in [
            "{}".to_owned(),
            r#"{"type":"object"}"#.to_owned(),
            r#"{"type":"object","properties":{}}"#.to_owned(),
            r#"{"type":"array","properties":{"x":{"type":"string"}}}"#.to_owned(),
            r#"{"type":"object","properties":{"x":{"type":"string"}},"allOf":[]}"#.to_owned(),
            r#"{"type":"object","properties":{"x":{"type":"string"}},"$defs":{}}"#.to_owned(),
            format!(r#"{{"type":"object","properties":{{{}}}}}"#, many.join(",")),
            field(r#"{"type":"object","properties":{"password":{"type":"string"}}}"#),
            field(r#"{"type":"array","items":{"type":"string"}}"#),
            field(r#"{"type":"array","items":{"type":"object","enum":["a"]}}"#),
            field(r##"{"type":"string","$ref":"#"}"##),
            field(r#"{"type":["string","null"]}"#),
            field(r#"{"type":"string","anyOf":[{"type":"string"}]}"#),
            field(r#"{"title":"anything"}"#),
            field("true"),
        ] {
            assert!(asked(&refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn nobody_is_sent_to_an_address() {
        for params in [
            r#"{"mode":"url","message":"log in","url":"https://evil.example/","elicitationId":"e"}"#,
            r#"{"message":"m","url":"https://evil.example/","requestedSchema":{}}"#,
        ] {
            let refused = read(object(params), &"s".parse().unwrap()).unwrap_err();
            assert!(refused.contains("no address"), "{refused}");
        }
    }

    #[test]
    fn an_answer_fits_the_form_or_is_none() {
        let (_, form) = asked(FORM).unwrap();
        let answer = |text: &str| form.answer(object(text)).map(|it| Json::Object(it).to_string());
        let good =
            r#"{"action":"accept","content":{"name":"Ada","age":36,"pets":["cat"],"hero":"a"}}"#;
        assert_eq!(answer(good).as_deref(), Ok(good));
        for (said, kept) in [
            (r#"{"action":"decline","content":{"name":"typed"}}"#, r#"{"action":"decline"}"#),
            (r#"{"action":"cancel","_meta":{}}"#, r#"{"action":"cancel"}"#),
        ] {
            assert_eq!(answer(said).as_deref(), Ok(kept));
        }
        for refused in [
            "{}",
            r#"{"action":"maybe"}"#,
            r#"{"action":"accept"}"#,
            r#"{"action":"accept","content":[]}"#,
            r#"{"action":"accept","content":{"age":1}}"#,
            r#"{"action":"accept","content":{"name":"A"}}"#,
            r#"{"action":"accept","content":{"name":7}}"#,
            r#"{"action":"accept","content":{"name":"Ada","age":-1}}"#,
            r#"{"action":"accept","content":{"name":"Ada","pets":["dog"]}}"#,
            r#"{"action":"accept","content":{"name":"Ada","hero":"b"}}"#,
            r#"{"action":"accept","content":{"name":"Ada","more":"unasked"}}"#,
        ] {
            assert!(answer(refused).is_err(), "{refused}");
        }
    }
}
