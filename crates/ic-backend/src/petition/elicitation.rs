//! `elicitation/create`: a form that a server wrote, and what a person filled in.
//!
//! A form is flat, as the protocol demands, so that each thing that is asked for can be named. An address
//! to which a person is to go is refused. Which answer is given is the person's business, at the client.

use ic_schema::Schema;
use ic_types::{Json, Object, ServerName};

use super::words::Words;
use super::{label, unexpected, wrong};

/// The longest message over a form, in characters.
const MESSAGE_CHARS_MAX: usize = 2000;
/// The longest of its other texts, in characters.
const TEXT_CHARS_MAX: usize = 256;
/// All its texts together, in characters; each is shown.
const FORM_CHARS_MAX: usize = 8000;
/// How many fields a form may have; each is shown.
const FIELDS_MAX: usize = 32;
/// The longest name of a field, in characters.
const FIELD_CHARS_MAX: usize = 64;
/// How many choices a field may have.
const CHOICES_MAX: usize = 64;

/// What the answer to a form has to fit.
#[derive(Debug)]
pub(super) struct Form(Schema);

/// Reads the parameters, and keeps what is passed on, with the server named in the message.
pub(super) fn read(params: Object, server: &ServerName) -> Result<(Object, Form), String> {
    let (mut message, mut schema) = (None, None);
    let mut words = Words::new(FORM_CHARS_MAX);
    for (key, value) in params.into_entries() {
        match (key.as_str(), value) {
            ("_meta", _) => {}
            ("mode", Json::String(mode)) if mode == "form" => {}
            ("mode" | "url" | "elicitationId", _) => {
                return Err(
                    "servers may not send the user to an address; only forms are passed on"
                        .to_owned(),
                );
            }
            ("message", Json::String(text)) => {
                let shown = words.admit_shown(&text, MESSAGE_CHARS_MAX);
                shown.map_err(|why| format!("`message`: {why}"))?;
                // SECURITY: the client takes it for our own question, and would show it as one.
                message = Some(format!("{} {text}", label(server)));
            }
            ("requestedSchema", Json::Object(object)) => schema = Some(object),
            ("task", _) => return Err("tasks are not offered".to_owned()),
            ("message" | "requestedSchema", _) => return Err(wrong(&key)),
            _ => return Err(unexpected(&key)),
        }
    }
    let message = message.ok_or_else(|| wrong("message"))?;
    let schema = schema.ok_or_else(|| wrong("requestedSchema"))?;
    check_form(&schema, &mut words).map_err(|why| format!("`requestedSchema`: {why}"))?;
    let schema = Json::Object(schema);
    let compiled =
        Schema::compile(&schema).map_err(|fault| format!("`requestedSchema`: {fault}"))?;
    let mut kept = Object::new();
    kept.insert("message", message);
    kept.insert("requestedSchema", schema);
    Ok((kept, Form(compiled)))
}

/// Checks that a schema describes a flat form.
fn check_form(schema: &Object, words: &mut Words) -> Result<(), String> {
    for (key, value) in schema.iter() {
        match (key, value) {
            ("type", value) if value.as_str() == Some("object") => {}
            ("properties", Json::Object(_)) | ("additionalProperties", Json::Bool(false)) => {}
            ("required", Json::Array(names)) => check_texts(names, words)?,
            ("$schema" | "title" | "description", Json::String(text)) => {
                words.admit_shown(text, TEXT_CHARS_MAX)?;
            }
            _ => return Err(unexpected(key)),
        }
    }
    let (Some(_), Some(Json::Object(fields))) = (schema.get("type"), schema.get("properties"))
    else {
        return Err("it is not an object with `properties`".to_owned());
    };
    if fields.is_empty() || FIELDS_MAX < fields.len() {
        return Err(format!("a form has between 1 and {FIELDS_MAX} fields"));
    }
    for (name, field) in fields.iter() {
        if name.is_empty() {
            return Err("a field has no name".to_owned());
        }
        words.admit_shown(name, FIELD_CHARS_MAX)?;
        let Json::Object(field) = field else { return Err(wrong("properties")) };
        check_field(field, words).map_err(|why| format!("the field `{name}`: {why}"))?;
    }
    Ok(())
}

/// Checks that a field is a text, a number, a yes or no, or a choice, and all of it can be shown.
fn check_field(field: &Object, words: &mut Words) -> Result<(), String> {
    let kind = field.get("type").and_then(Json::as_str).unwrap_or_default();
    let is_kind = match kind {
        "string" | "number" | "integer" | "boolean" => true,
        "array" => field.get("items").is_some(),
        _ => false,
    };
    if !is_kind {
        return Err("it is nothing that a form can ask for".to_owned());
    }
    for (key, value) in field.iter() {
        match (kind, key, value) {
            (_, "type", _)
            | ("string", "minLength" | "maxLength", Json::Number(_))
            | ("number" | "integer", "minimum" | "maximum" | "default", Json::Number(_))
            | ("boolean", "default", Json::Bool(_))
            | ("array", "minItems" | "maxItems", Json::Number(_)) => {}
            (_, "title" | "description", Json::String(text))
            | ("string", "default", Json::String(text)) => {
                words.admit_shown(text, TEXT_CHARS_MAX)?;
            }
            ("string", "format", Json::String(format))
                if matches!(format.as_str(), "email" | "uri" | "date" | "date-time") => {}
            ("string", "enum" | "enumNames", Json::Array(texts))
            | ("array", "default", Json::Array(texts)) => check_texts(texts, words)?,
            ("string", "oneOf", Json::Array(choices)) => check_choices(choices, words)?,
            ("array", "items", Json::Object(items)) => check_items(items, words)?,
            _ => return Err(unexpected(key)),
        }
    }
    let n_of = |key: &str| match field.get(key) {
        Some(Json::Array(texts)) => Some(texts.len()),
        _ => None,
    };
    match n_of("enumNames").is_none_or(|n_names| n_of("enum") == Some(n_names)) {
        true => Ok(()),
        // A person would be shown one thing and send another.
        false => Err("`enumNames` are not as many as `enum`".to_owned()),
    }
}

/// Checks that the items of a list are texts to choose from.
fn check_items(items: &Object, words: &mut Words) -> Result<(), String> {
    for (key, value) in items.iter() {
        match (key, value) {
            ("type", value) if value.as_str() == Some("string") => {}
            ("enum", Json::Array(texts)) => check_texts(texts, words)?,
            ("anyOf" | "oneOf", Json::Array(choices)) => check_choices(choices, words)?,
            _ => return Err(unexpected(key)),
        }
    }
    match ["enum", "anyOf", "oneOf"].into_iter().any(|key| items.get(key).is_some()) {
        true => Ok(()),
        false => Err("it is a list of anything".to_owned()),
    }
}

fn check_choices(choices: &[Json], words: &mut Words) -> Result<(), String> {
    check_number(choices)?;
    for choice in choices {
        let Json::Object(choice) = choice else { return Err(wrong("oneOf")) };
        if choice.get("const").is_none() {
            return Err(wrong("const"));
        }
        for (key, value) in choice.iter() {
            match (key, value) {
                ("const" | "title", Json::String(text)) => {
                    words.admit_shown(text, TEXT_CHARS_MAX)?;
                }
                _ => return Err(unexpected(key)),
            }
        }
    }
    Ok(())
}

fn check_texts(texts: &[Json], words: &mut Words) -> Result<(), String> {
    check_number(texts)?;
    for text in texts {
        let text = text.as_str().ok_or("a choice is not text")?;
        words.admit_shown(text, TEXT_CHARS_MAX)?;
    }
    Ok(())
}

fn check_number(choices: &[Json]) -> Result<(), String> {
    match choices.len() {
        0..=CHOICES_MAX => Ok(()),
        _ => Err(format!("there are more than {CHOICES_MAX} choices")),
    }
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
    use super::super::tests::object;
    use super::*;

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
        let long: Vec<String> = (0..40).map(|n| format!(r#""{n}{}""#, "x".repeat(250))).collect();
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
            // What costs more to check than to send.
            field(r#"{"type":"string","pattern":"a"}"#),
            field(r#"{"type":"string","format":"regex"}"#),
            // What is not shown, or is shown as something else.
            field(r#"{"type":"integer","default":{"nested":{"deep":[1]}}}"#),
            field(r#"{"type":"boolean","default":"yes"}"#),
            field(r#"{"type":"array","items":{"enum":["a"]},"default":[["a"]]}"#),
            field(r#"{"type":"string","enum":["a","b"],"enumNames":["A"]}"#),
            field(r#"{"type":"string","enumNames":["A"]}"#),
            field(r#"{"type":"string","oneOf":[{"const":"a","description":"more"}]}"#),
            field(r#"{"type":"string","title":"a\u001b[2Kb"}"#),
            field(r#"{"type":"string","description":"a\u202eb"}"#),
            field(r#"{"type":"string","default":"a\rb"}"#),
            field(r#"{"type":"string","enum":["a\u0007"]}"#),
            field(r#"{"type":"string","enum":["a"],"enumNames":["a\u200b"]}"#),
            field(r#"{"type":"string","oneOf":[{"const":"a","title":"a\u0000"}]}"#),
            field(r#"{"type":"array","items":{"anyOf":[{"const":"\u009b"}]}}"#),
            r#"{"type":"object","properties":{"a\u001b]0;x":{"type":"string"}}}"#.to_owned(),
            r#"{"type":"object","title":"\u202e","properties":{"x":{"type":"string"}}}"#.to_owned(),
            // What nobody would read.
            field(&format!(r#"{{"type":"string","title":"{}"}}"#, "x".repeat(257))),
            field(&format!(r#"{{"type":"string","enum":[{}]}}"#, [r#""a""#; 65].join(","))),
            field(&format!(r#"{{"type":"string","enum":[{}]}}"#, long.join(","))),
        ] {
            assert!(asked(&refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn a_message_leaves_the_label_where_it_is() {
        for message in [r"x\u001b[2K\r[IronCurtain] confirm", r"\b\b\b", r"a\n\n\n\nb", r"\u202ex"]
        {
            let params = format!(r#"{{"message":"{message}","requestedSchema":{FORM}}}"#);
            assert!(read(object(&params), &"s".parse().unwrap()).is_err(), "{message}");
        }
    }

    #[test]
    fn nobody_is_sent_to_an_address() {
        for params in [
            r#"{"mode":"url","message":"log in","url":"https://evil.example/","elicitationId":"e"}"#,
            r#"{"message":"m","url":"https://evil.example/","requestedSchema":{}}"#,
        ] {
            let refused = read(object(params), &"s".parse().unwrap()).unwrap_err();
            assert!(refused.contains("to an address"), "{refused}");
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
