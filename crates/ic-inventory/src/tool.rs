//! One tool of a server as the server lists it: checked, compiled once, ready to be offered.
//!
//! What a server lists is untrusted text. Whether a tool was seen before is the business of
//! [`pins`](crate::pins), and whether it may be called that of the policy.

use std::sync::OnceLock;

use ic_schema::Schema;
use ic_types::{Digest, Json, Object, ServerName, ToolName};

/// The longest name under which a tool is offered; clients put a prefix of their own before it, and
/// providers take 64 characters.
const OFFERED_LEN_MAX: usize = 46;
/// How many digits of a hash keep shortened names apart.
const SUFFIX_LEN: usize = 8;

/// A tool as its server lists it.
#[derive(Debug)]
pub struct Tool {
    /// Its name on the server.
    pub name: ToolName,
    /// The schema of its arguments.
    pub schema: Schema,
    /// Everything that the server says of it; not to be changed, since its hash is remembered.
    pub listed: Object,
    hash: OnceLock<Digest>,
}

/// A tool that cannot be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the tool `{}` cannot be used: {reason}", .name.escape_debug())]
pub struct UnusableTool {
    name: String,
    reason: String,
}

impl Tool {
    /// Reads one entry of a server's list.
    pub fn read(listed: Json) -> Result<Self, UnusableTool> {
        let unusable = |name: &str, reason: String| {
            let name = name.chars().take(128).collect();
            Err(UnusableTool { name, reason })
        };
        let Json::Object(listed) = listed else {
            return unusable("", "the entry is not an object".to_owned());
        };
        let Some(name) = listed.get("name").and_then(Json::as_str) else {
            return unusable("", "it has no name".to_owned());
        };
        let tool = match name.parse::<ToolName>() {
            Ok(tool) => tool,
            Err(error) => return unusable(name, error.to_string()),
        };
        if needs_tasks(&listed) {
            return unusable(name, "it needs tasks, which are not offered".to_owned());
        }
        let schema = match listed.get("inputSchema") {
            Some(schema) => Schema::compile(schema),
            None => return unusable(name, "it has no input schema".to_owned()),
        };
        match schema {
            Ok(schema) => Ok(Self { name: tool, schema, listed, hash: OnceLock::new() }),
            Err(fault) => unusable(name, format!("its input schema: {fault}")),
        }
    }

    /// Returns the hash of everything that the server says of the tool.
    pub fn hash(&self) -> Digest {
        *self.hash.get_or_init(|| hash(&self.listed))
    }

    /// Returns what the schema of the arguments says and is not checked.
    pub fn schema_notes(&self) -> &[String] {
        self.schema.notes()
    }

    /// Returns a sentence about hidden characters in what the server says, if there are any.
    ///
    /// Text that a person does not see and a model reads is how tools are poisoned.
    pub fn hidden_text(&self) -> Option<String> {
        let hidden = hidden_in_object(&self.listed)?;
        Some(format!(
            "what the server says of it holds the invisible character U+{:04X}",
            hidden as u32
        ))
    }

    /// Returns the entry that is offered to clients.
    pub fn offered(&self, offered_name: &str) -> Object {
        let mut offered = self.listed.clone();
        offered.insert("name", offered_name);
        // Says how the tool runs as a task, which we do not offer.
        offered.remove("execution");
        if let Some(schema) = offered.remove("outputSchema").and_then(with_refusals) {
            offered.insert("outputSchema", schema);
        }
        offered
    }
}

/// Returns whether a tool runs as a task and in no other way.
fn needs_tasks(listed: &Object) -> bool {
    let Some(Json::Object(execution)) = listed.get("execution") else { return false };
    execution.get("taskSupport").and_then(Json::as_str) == Some("required")
}

/// Makes an output schema that our refusals fit too.
///
/// Some clients hold the structured part of *every* result against it, and would throw a refusal away
/// with the text in it. A schema that cannot stand inside another one is not offered at all.
fn with_refusals(schema: Json) -> Option<Json> {
    let Json::Object(mut schema) = schema else { return None };
    let mut offered = Object::new();
    offered.insert("type", "object");
    for key in ["$schema", "$defs", "definitions"] {
        if let Some(value) = schema.remove(key) {
            offered.insert(key, value);
        }
    }
    schema.remove("$id");
    let schema = Json::Object(schema);
    if !can_stand_inside(&schema) || !offered.iter().all(|(_, value)| can_stand_inside(value)) {
        return None;
    }
    let mut refusal = Object::new();
    refusal.insert("required", vec![Json::from("ironcurtain")]);
    offered.insert("anyOf", vec![schema, Json::Object(refusal)]);
    Some(Json::Object(offered))
}

/// Returns whether a schema means the same inside another one that took its definitions.
fn can_stand_inside(schema: &Json) -> bool {
    match schema {
        Json::Object(object) => object.iter().all(|(key, value)| match key {
            "$ref" => value.as_str().is_some_and(|reference| {
                reference.starts_with("#/$defs/") || reference.starts_with("#/definitions/")
            }),
            "$id" | "id" | "$anchor" | "$dynamicRef" | "$dynamicAnchor" | "$recursiveRef" => {
                // `id` is also a common name of a property, and then no text stands under it.
                value.as_str().is_none()
            }
            _ => can_stand_inside(value),
        }),
        Json::Array(items) => items.iter().all(can_stand_inside),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => true,
    }
}

/// Returns the hash of what a server says of a tool.
pub(crate) fn hash(listed: &Object) -> Digest {
    let mut text = String::new();
    Json::write_canonical_object(&mut text, listed);
    Digest::of(text.as_bytes())
}

/// Returns the name under which a tool is offered: `server__tool`.
///
/// What is too long, or holds characters that providers refuse, is cut or replaced, and a hash of the
/// whole name keeps it apart from others.
pub fn offered_name(server: &ServerName, tool: &ToolName) -> String {
    let whole = format!("{server}__{tool}");
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if whole.len() <= OFFERED_LEN_MAX && whole.chars().all(plain) {
        return whole;
    }
    let hash = Digest::of(whole.as_bytes()).to_string();
    let suffix = hash.get(..SUFFIX_LEN).unwrap_or_default();
    let kept: String = whole
        .chars()
        .map(|c| if plain(c) { c } else { '_' })
        .take(OFFERED_LEN_MAX - SUFFIX_LEN - 1)
        .collect();
    format!("{kept}_{suffix}")
}

/// Finds a character in the texts and keys of `json` that a person would not see.
fn hidden_in(json: &Json) -> Option<char> {
    match json {
        Json::String(text) => text.chars().find(|c| is_hidden(*c)),
        Json::Array(items) => items.iter().find_map(hidden_in),
        Json::Object(object) => hidden_in_object(object),
        Json::Null | Json::Bool(_) | Json::Number(_) => None,
    }
}

fn hidden_in_object(object: &Object) -> Option<char> {
    let in_key = |key: &str| key.chars().find(|c| is_hidden(*c));
    object.iter().find_map(|(key, value)| in_key(key).or_else(|| hidden_in(value)))
}

/// Returns whether a person would not see `c`, or would see what comes after it turned around.
fn is_hidden(c: char) -> bool {
    if c.is_control() {
        return !matches!(c, '\t' | '\n' | '\r');
    }
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{2028}' | '\u{2029}' | '\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{2800}' | '\u{ffa0}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}'
        | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{3164}' | '\u{115f}' | '\u{1160}'
        | '\u{e0000}'..='\u{e0fff}' | '\u{fff9}'..='\u{fffb}'
        // Further variation selectors can carry bytes; the one that emoji use is not among them.
        | '\u{fe00}'..='\u{fe0e}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use ic_types::JsonLimits;

    fn tool(line: &str) -> Result<Tool, String> {
        Tool::read(Json::parse(line.as_bytes(), JsonLimits::CALL).unwrap())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn offered_names_fit_and_stay_apart() {
        let name = |server: &str, tool: &str| {
            offered_name(&server.parse().unwrap(), &tool.parse().unwrap())
        };
        assert_eq!(name("filesystem", "read_file"), "filesystem__read_file");
        assert_eq!(name("s", &"t".repeat(43)), format!("s__{}", "t".repeat(43)));
        let long = name("s", &"t".repeat(44));
        assert_eq!(long.len(), 46);
        assert_ne!(long, name("s", &"t".repeat(45)), "they differ behind the cut");
        let odd = name("s", "a.b");
        assert!(odd.starts_with("s__a_b_"), "{odd}");
        assert_ne!(odd, name("s", "a:b"));
        let longest = name(&"s".repeat(32), &"t".repeat(128));
        assert!(longest.starts_with(&format!("{}__", "s".repeat(32))) && longest.len() == 46);
    }

    #[test]
    fn what_is_no_tool_is_not_one() {
        for (line, reason) in [
            ("7", "the entry is not an object"),
            ("{}", "it has no name"),
            (r#"{"name":7}"#, "it has no name"),
            (r#"{"name":"a b","inputSchema":{}}"#, "only `A-Z`"),
            (r#"{"name":"","inputSchema":{}}"#, "it is empty"),
            (r#"{"name":"a"}"#, "it has no input schema"),
            (r#"{"name":"a","inputSchema":7}"#, "its input schema: "),
            (
                r#"{"name":"a","inputSchema":{},"execution":{"taskSupport":"required"}}"#,
                "it needs tasks, which are not offered",
            ),
            (r#"{"name":"a","inputSchema":{"$ref":"http://x/y"}}"#, "its input schema: "),
        ] {
            let error = tool(line).err().unwrap_or_default();
            assert!(error.contains(reason), "{line}: {error}");
        }
    }

    #[test]
    fn a_tool_that_may_run_as_a_task_is_one() {
        for support in ["optional", "forbidden", "new"] {
            let execution = format!(r#"{{"taskSupport":"{support}"}}"#);
            let line = format!(r#"{{"name":"a","inputSchema":{{}},"execution":{execution}}}"#);
            assert_eq!(tool(&line).unwrap().offered("s__a").get("execution"), None, "{support}");
        }
    }

    #[test]
    fn the_hash_covers_every_word_and_no_order() {
        let a = tool(r#"{"name":"a","description":"d","inputSchema":{"type":"object"}}"#).unwrap();
        let same =
            tool(r#"{"inputSchema":{"type":"object"},"description":"d","name":"a"}"#).unwrap();
        assert_eq!(a.hash(), same.hash());
        for other in [
            r#"{"name":"a","description":"d ","inputSchema":{"type":"object"}}"#,
            r#"{"name":"a","description":"d","inputSchema":{"type":"object","properties":{}}}"#,
            r#"{"name":"a","description":"d","inputSchema":{"type":"object"},"title":"t"}"#,
        ] {
            assert_ne!(a.hash(), tool(other).unwrap().hash(), "{other}");
        }
    }

    #[test]
    fn an_output_schema_also_admits_refusals_or_is_not_offered() {
        let offered = |schema: &str| {
            let line = format!(r#"{{"name":"a","inputSchema":{{}},"outputSchema":{schema}}}"#);
            let offered = tool(&line).unwrap().offered("s__a");
            offered.get("outputSchema").map(ToString::to_string)
        };
        assert_eq!(
            offered(
                r##"{"type":"object","properties":{"x":{"$ref":"#/$defs/x"}},"$defs":{"x":{}}}"##
            )
            .as_deref(),
            Some(
                r##"{"type":"object","$defs":{"x":{}},"anyOf":[{"type":"object","properties":{"x":{"$ref":"#/$defs/x"}}},{"required":["ironcurtain"]}]}"##
            )
        );
        assert_eq!(offered(r##"{"properties":{"x":{"$ref":"#"}}}"##), None);
        assert_eq!(offered(r#"{"$defs":{"x":{"$anchor":"y"}}}"#), None);
        assert!(offered(r#"{"properties":{"id":{"type":"string"}}}"#).is_some());
    }

    #[test]
    fn invisible_text_is_found_and_emoji_are_not() {
        let with = |text: &str| {
            let line = format!(r#"{{"name":"a","description":"{text}","inputSchema":{{}}}}"#);
            tool(&line).unwrap().hidden_text().is_some()
        };
        for hidden in [
            "a\u{e0041}b",
            "a\u{200b}b",
            "a\u{202e}b",
            "\u{feff}",
            "\u{2066}x",
            "\u{fe01}",
            "a\\u001b[8mb",
            "\\u0000",
            "\u{7f}",
            "\u{85}",
            "a\u{ad}b",
            "\u{206a}",
            "\u{ffa0}",
        ] {
            assert!(with(hidden), "{hidden:?}");
        }
        for plain in ["plain", "⚠\u{fe0f} careful", "👩\u{200d}💻", "日本", "a\\n\\r\\tb", "naïve"]
        {
            assert!(!with(plain), "{plain:?}");
        }
    }
}
