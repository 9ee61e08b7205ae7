//! Where the values of a list come from, as a constitution says it: a tool that returns them, or words.
//!
//! What the values are is not known here; nobody is asked for them.

use ic_types::{Digest, Json, JsonLimits, Object, ServerName, ToolName};

use crate::artifact::pretty;
use crate::parse::definition_of;

/// A sentence that says where the values of a list come from.
#[derive(Clone, Debug, PartialEq)]
pub struct ListDefinition {
    /// The name of the list, without its `@`.
    pub name: String,
    /// Where its values come from.
    pub source: ListSource,
    /// The line, counted from 1.
    pub line: usize,
    /// The sentence as written, without the mark at its end.
    pub text: String,
}

/// Where the values of a list come from.
#[derive(Clone, Debug, PartialEq)]
pub enum ListSource {
    /// One call of a tool, whose result holds them.
    Tool {
        /// The server.
        server: ServerName,
        /// The tool.
        tool: ToolName,
        /// The arguments of the call.
        arguments: Object,
        /// The key under which the values stand; without one, all of the result is values.
        field: Option<String>,
    },
    /// Words, for which a model finds the values.
    Words {
        /// The words.
        words: String,
        /// The server that knows them; without one, the model itself does.
        server: Option<ServerName>,
    },
}

/// A list of a compiled policy: what its values are, and where they come from.
#[derive(Clone, Debug, PartialEq)]
pub struct DefinedList {
    /// Its name.
    pub name: String,
    /// What kind of values it has, as `matchType` says it.
    pub kind: String,
    /// Where they come from; `None` if people write them.
    pub definition: Option<ListDefinition>,
}

/// Reads the lists that a compiled-policy.json defines; `None` if it is not one.
pub fn defined_lists(bytes: &[u8]) -> Option<Vec<DefinedList>> {
    let Json::Object(file) = Json::parse(bytes, JsonLimits::ARTIFACT).ok()? else { return None };
    match file.get("listDefinitions") {
        Some(Json::Array(all)) => all.iter().map(defined_list).collect(),
        Some(_) => None,
        None => Some(Vec::new()),
    }
}

/// Returns the sentences that say where the values of the lists of a compiled-policy.json come from.
pub fn sentences(bytes: &[u8]) -> Vec<String> {
    let lists = defined_lists(bytes).unwrap_or_default();
    let sentence = |it: &DefinedList| {
        let ListDefinition { name, source, text, .. } = it.definition.as_ref()?;
        let described = match source {
            ListSource::Words { words, server: None } => format!("@{name} means {words}"),
            ListSource::Words { words, server: Some(server) } => {
                format!("@{name} means {words}, found with {server}")
            }
            ListSource::Tool { .. } => String::new(),
        };
        let is_same = |text: &&String| definition_of(text).is_some_and(|it| it.source == *source);
        let found = [text.clone(), described].iter().find(is_same).cloned();
        found.map(|text| format!("{text}."))
    };
    lists.iter().filter_map(sentence).collect()
}

/// Values that were found for a list.
#[derive(Clone, Copy, Debug)]
pub struct FoundList<'a> {
    /// The list.
    pub list: &'a DefinedList,
    /// Its values.
    pub values: &'a [String],
}

/// Writes dynamic-lists.json with values that were found at a time; other lists, and what people added and
/// removed, stay as they were. `None` if the file that is there cannot be read.
pub fn refreshed(before: Option<&[u8]>, found: &[FoundList<'_>], at: &str) -> Option<String> {
    let mut file = match before {
        Some(bytes) => object(Json::parse(bytes, JsonLimits::ARTIFACT).ok()?)?,
        None => Object::new(),
    };
    let mut lists = file.remove("lists").map_or(Some(Object::new()), object)?;
    for FoundList { list, values } in found {
        let mut entry = lists.remove(&list.name).map_or(Some(Object::new()), object)?;
        let text = list.definition.as_ref().map_or("", |it| it.text.as_str());
        entry.insert("values", values.iter().map(|it| Json::from(it.as_str())).collect::<Vec<_>>());
        for key in ["manualAdditions", "manualRemovals"] {
            if entry.get(key).is_none() {
                entry.insert(key, Vec::<Json>::new());
            }
        }
        entry.insert("resolvedAt", at);
        entry.insert("inputHash", Digest::of(text.as_bytes()).to_string());
        lists.insert(list.name.as_str(), Json::Object(entry));
    }
    file.insert("generatedAt", at);
    file.insert("lists", Json::Object(lists));
    Some(pretty(&Json::Object(file)))
}

fn object(json: Json) -> Option<Object> {
    match json {
        Json::Object(object) => Some(object),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => None,
    }
}

fn defined_list(json: &Json) -> Option<DefinedList> {
    let Json::Object(list) = json else { return None };
    let text = |key: &str| list.get(key).and_then(Json::as_str).map(str::to_owned);
    let (name, kind) = (text("name")?, text("type")?);
    let principle = text("principle").unwrap_or_default();
    let written = definition_of(&principle).filter(|it| it.name == name);
    // Other compilers say in words what they asked their model for.
    let definition = written.or_else(|| {
        let is_asked = matches!(list.get("requiresMcp"), Some(Json::Bool(true)));
        let server = text("mcpServerHint").filter(|_| is_asked);
        let server = match server {
            Some(name) => Some(name.parse::<ServerName>().ok()?),
            // It needs a server, and does not say which.
            None if is_asked => return None,
            None => None,
        };
        let words = text("generationPrompt")?;
        let source = ListSource::Words { words, server };
        Some(ListDefinition { name: name.clone(), source, line: 0, text: principle })
    });
    Some(DefinedList { name, kind, definition })
}
