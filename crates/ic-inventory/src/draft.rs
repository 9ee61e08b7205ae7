//! What the arguments of a tool may mean, guessed from their names and schemas, without a model.
//!
//! A guess is a draft: every call over it needs a person at least, until somebody has confirmed it. So
//! it may be too wide, and never too narrow: what looks like a path may be read, written and deleted, and
//! an argument whose schema we cannot follow to its end is taken for a path as a whole, so that a call with
//! anything but a text in it is denied. What a name says is in `names`. Nothing is asked or written here.

pub mod doubts;
pub(crate) mod names;
pub mod observed;

use ic_types::{Json, Object};

use names::Looks;

/// How deep into an argument we look.
const DEPTH_MAX: usize = 8;
/// How many schemas of one tool we look at.
const SCHEMAS_MAX: usize = 10_000;
/// What may be done to whatever looks like a path.
pub const PATH_ROLES: [&str; 3] = ["read-path", "write-path", "delete-path"];
/// The formats of texts that are URLs.
const URL_FORMATS: [&str; 4] = ["uri", "url", "uri-reference", "iri"];
/// Keys that hold further schemas for the same value.
const PARTS: [&str; 3] = ["anyOf", "oneOf", "allOf"];
const BRANCHES: [&str; 3] = ["if", "then", "else"];

impl Looks {
    fn roles(self) -> &'static [&'static str] {
        match self {
            Self::Path => &PATH_ROLES,
            Self::Url => &["fetch-url"],
            Self::Nothing => &["none"],
        }
    }
}

/// What was found of the arguments of a tool.
#[derive(Debug, Default)]
struct Found<'a> {
    /// Each place that has a meaning of its own, with its roles.
    args: Object,
    /// The texts that are taken for data.
    texts: Vec<Text<'a>>,
}

/// A place where a text can stand that looks like neither a path nor a URL.
#[derive(Clone, Debug)]
struct Text<'a> {
    place: String,
    /// The key under which it stands; that of the list, if it is in one.
    name: &'a str,
    description: Option<&'a str>,
    /// Whether the schema lists all values that it can have.
    is_choice: bool,
    /// Whether an object can stand there whose keys the schema does not name.
    is_open: bool,
}

/// Drafts the annotation of a tool that its server lists in this way.
pub fn annotation(server: &str, name: &str, listed: &Object) -> Object {
    let mut annotation = Object::new();
    annotation.insert("toolName", name);
    annotation.insert("serverName", server);
    annotation.insert("comment", "drafted from names and schemas; not confirmed yet");
    annotation.insert("args", found(listed).args);
    annotation.insert("draft", true);
    annotation
}

/// Looks through all arguments of a tool.
fn found(listed: &Object) -> Found<'_> {
    let mut found = Found::default();
    if let Some(root @ Json::Object(schema)) = listed.get("inputSchema") {
        let mut walk = Walk::new(schema);
        // Arguments that we cannot find are not named, and a call with one is denied.
        let parts = walk.parts(root);
        for (argument, schema) in parts.iter().flat_map(|part| properties(part)) {
            for (place, looks) in walk.argument(argument, schema) {
                // What stands in several branches is taken for a path if one of them says so.
                if looks == Looks::Path || found.args.get(&place).is_none() {
                    let roles: Vec<Json> = looks.roles().iter().map(|it| Json::from(*it)).collect();
                    found.args.insert(place, roles);
                }
            }
        }
        found.texts = walk.texts;
    }
    found
}

/// A way through the schema of one tool.
#[derive(Debug)]
struct Walk<'a> {
    /// The schema to which references are relative.
    root: &'a Object,
    /// How many more schemas are looked at.
    schemas_left: usize,
    /// Whether something of the argument at hand cannot be followed or named.
    is_unknown: bool,
    /// Whether the argument at hand holds things of its own kind.
    is_recursive: bool,
    /// The texts that look like nothing, so far.
    texts: Vec<Text<'a>>,
}

/// How a place in a schema was reached.
#[derive(Clone, Debug, Default)]
struct Trail {
    depth: usize,
    /// The references that lead to the schema in which it lies.
    references: Vec<String>,
    /// Whether it lies in something whose name says that it is a path.
    is_in_path: bool,
}

/// One of the schemas that are about the same value, and the references that lead to it.
type Part<'a> = (&'a Object, Vec<String>);

impl<'a> Walk<'a> {
    fn new(root: &'a Object) -> Self {
        let (is_unknown, is_recursive, texts) = (false, false, Vec::new());
        Self { root, schemas_left: SCHEMAS_MAX, is_unknown, is_recursive, texts }
    }

    /// Drafts one argument of a tool.
    fn argument(&mut self, argument: &'a str, schema: &'a Json) -> Vec<(String, Looks)> {
        (self.is_unknown, self.is_recursive) = (false, false);
        let mut found = Vec::new();
        let looks = self.look((argument, argument), schema, false);
        if looks == Looks::Nothing {
            let pointer = format!("/{}", escaped(argument));
            self.look_inside((&pointer, argument), schema, &Trail::default(), &mut found);
        }
        // SECURITY: what is behind a reference that we do not know, or deeper than we look, may be a path;
        // and a place that repeats itself for ever has no pointer.
        if self.is_unknown || (self.is_recursive && !found.is_empty()) {
            return vec![(argument.to_owned(), Looks::Path)];
        }
        if found.is_empty() {
            found.push((argument.to_owned(), looks));
        }
        found
    }

    /// Finds texts that look like something inside of objects and lists.
    fn look_inside(
        &mut self,
        (pointer, name): (&str, &'a str),
        schema: &'a Json,
        trail: &Trail,
        found: &mut Vec<(String, Looks)>,
    ) {
        let parts = self.parts_beyond(schema, &trail.references);
        let is_nested = |(part, _): &Part<'_>| {
            properties(part).next().is_some() || items(part).chain(unnamed(part)).next().is_some()
        };
        if trail.depth >= DEPTH_MAX {
            self.is_unknown |= parts.iter().any(is_nested);
            return;
        }
        let is_in_path = trail.is_in_path || names::of_name(name) == Looks::Path;
        for (part, references) in parts {
            let trail = Trail { depth: trail.depth + 1, references, is_in_path };
            for (key, schema) in properties(part) {
                let pointer = format!("{pointer}/{}", escaped(key));
                match self.look((&pointer, key), schema, is_in_path) {
                    Looks::Nothing => self.look_inside((&pointer, key), schema, &trail, found),
                    looks => found.push((pointer, looks)),
                }
            }
            for schema in items(part) {
                self.look_inside((&format!("{pointer}/*"), name), schema, &trail, found);
            }
            // The keys of these are the caller's, so what is found behind one has no pointer.
            for schema in unnamed(part) {
                let mut inside = Vec::new();
                let looks = self.look((pointer, name), schema, is_in_path);
                self.look_inside((pointer, ""), schema, &trail, &mut inside);
                self.is_unknown |= looks != Looks::Nothing || !inside.is_empty();
            }
        }
    }

    /// Says what a value looks like by its name and schema; only texts and lists of them look like anything.
    fn look(
        &mut self,
        (place, name): (&str, &'a str),
        schema: &'a Json,
        is_in_path: bool,
    ) -> Looks {
        let parts = self.parts(schema);
        if !parts.is_empty() && !parts.iter().any(|part| self.holds_text(part, 0)) {
            if parts.iter().any(|part| is_open(part)) {
                self.note((place, name), &parts);
            }
            return Looks::Nothing;
        }
        let said = |key: &str| parts.iter().find_map(|part| part.get(key)?.as_str());
        if said("format").is_some_and(|format| URL_FORMATS.contains(&format)) {
            return Looks::Url;
        }
        let values = parts.iter().flat_map(|part| names::of_values(part));
        let looks = names::of_argument(name, said("description"), is_in_path, values);
        if looks == Looks::Nothing {
            self.note((place, name), &parts);
        }
        looks
    }

    /// Remembers a text that looks like nothing.
    fn note(&mut self, (place, name): (&str, &'a str), parts: &[&'a Object]) {
        let described = parts.iter().filter_map(|part| part.get("description")?.as_str());
        let description = described.max_by_key(|it| it.len());
        let is_choice = !parts.is_empty() && self.is_choice(parts, 0);
        let is_open = parts.iter().any(|part| is_open(part));
        self.texts.push(Text { place: place.to_owned(), name, description, is_choice, is_open });
    }

    /// Returns whether every text that may stand there is listed in the schema.
    fn is_choice(&mut self, parts: &[&'a Object], depth: usize) -> bool {
        depth < DEPTH_MAX
            && parts.iter().all(|part| {
                let is_listed = part.get("enum").is_some() || part.get("const").is_some();
                if is_listed || !(is_open(part) || self.holds_text(part, 0)) {
                    return true;
                }
                let items: Vec<&'a Json> = items(part).collect();
                !items.is_empty()
                    && items.into_iter().all(|schema| {
                        let parts = self.parts(schema);
                        !parts.is_empty() && self.is_choice(&parts, depth + 1)
                    })
            })
    }

    /// Returns whether a text, or a list of texts, may stand there by this part of a schema.
    fn holds_text(&mut self, part: &'a Object, depth: usize) -> bool {
        let is_text = |value: &Json| value.as_str().is_some();
        match part.get("enum") {
            Some(Json::Array(values)) => return values.iter().any(is_text),
            _ if part.get("const").is_some() => return part.get("const").is_some_and(is_text),
            _ => {}
        }
        let is = |kind: &Json, name: &str| kind.as_str() == Some(name);
        let names_type = |name: &str| match part.get("type") {
            Some(Json::Array(kinds)) => kinds.iter().any(|kind| is(kind, name)),
            Some(kind) => is(kind, name),
            // Nothing is said, so anything may stand there; other parts may say something.
            None => ![&PARTS[..], &BRANCHES, &["$ref"]]
                .concat()
                .iter()
                .any(|key| part.get(key).is_some()),
        };
        if names_type("string") {
            return true;
        }
        if !names_type("array") || depth >= DEPTH_MAX {
            return names_type("array");
        }
        let items: Vec<&'a Json> = items(part).collect();
        items.is_empty()
            || items.into_iter().any(|schema| {
                let parts = self.parts(schema);
                parts.is_empty() || parts.into_iter().any(|part| self.holds_text(part, depth + 1))
            })
    }

    /// Returns everything that is said of one value: the schema, its alternatives, and what it refers to.
    fn parts(&mut self, schema: &'a Json) -> Vec<&'a Object> {
        let is_recursive = self.is_recursive;
        let parts = self.parts_beyond(schema, &[]);
        self.is_recursive = is_recursive;
        parts.into_iter().map(|(part, _)| part).collect()
    }

    /// Does the same for a schema that lies in others, which it may refer to again.
    fn parts_beyond(&mut self, schema: &'a Json, references: &[String]) -> Vec<Part<'a>> {
        let mut parts = Vec::new();
        self.flatten(schema, references, &mut Vec::new(), &mut parts);
        parts
    }

    fn flatten(
        &mut self,
        schema: &'a Json,
        references: &[String],
        seen: &mut Vec<&'a str>,
        parts: &mut Vec<Part<'a>>,
    ) {
        let Json::Object(schema) = schema else { return };
        let Some(left) = self.schemas_left.checked_sub(1) else {
            self.is_unknown = true;
            return;
        };
        self.schemas_left = left;
        parts.push((schema, references.to_vec()));
        if let Some(reference) = schema.get("$ref").or_else(|| schema.get("$dynamicRef")) {
            let reference = reference.as_str().unwrap_or_default();
            match self.referred(reference) {
                _ if seen.contains(&reference) => {}
                _ if references.iter().any(|it| it == reference) => self.is_recursive = true,
                Some(schema) => {
                    seen.push(reference);
                    let further = [references, &[reference.to_owned()]].concat();
                    self.flatten(schema, &further, seen, parts);
                }
                None => self.is_unknown = true,
            }
        }
        let several = PARTS.into_iter().filter_map(|key| match schema.get(key) {
            Some(Json::Array(schemas)) => Some(schemas.as_slice()),
            _ => None,
        });
        let single = BRANCHES.into_iter().filter_map(|key| schema.get(key));
        for schema in several.flatten().chain(single) {
            self.flatten(schema, references, seen, parts);
        }
    }

    /// Finds what a reference into the same schema leads to; no other document is ever looked at.
    fn referred(&self, reference: &str) -> Option<&'a Json> {
        let steps = reference.strip_prefix("#/")?;
        if steps.contains('%') {
            return None;
        }
        let mut steps = steps.split('/').map(|step| step.replace("~1", "/").replace("~0", "~"));
        let mut found = self.root.get(&steps.next()?)?;
        for step in steps {
            found = match found {
                Json::Object(object) => object.get(&step)?,
                Json::Array(items) => items.get(step.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        matches!(found, Json::Object(_) | Json::Bool(_)).then_some(found)
    }
}

/// Returns whether a part of a schema is about an object whose keys it does not name.
fn is_open(part: &Object) -> bool {
    part.get("type").and_then(Json::as_str) == Some("object")
        && properties(part).next().is_none()
        && unnamed(part).next().is_none()
        && !matches!(part.get("additionalProperties"), Some(Json::Bool(false)))
}

fn properties(part: &Object) -> impl Iterator<Item = (&str, &Json)> {
    let properties = match part.get("properties") {
        Some(Json::Object(properties)) => Some(properties),
        _ => None,
    };
    properties.into_iter().flat_map(Object::iter)
}

/// Returns the schemas of the items of a list.
fn items(part: &Object) -> impl Iterator<Item = &Json> {
    let several = ["items", "prefixItems"].into_iter().filter_map(|key| match part.get(key) {
        Some(Json::Array(schemas)) => Some(schemas.as_slice()),
        _ => None,
    });
    let single = part.get("items").filter(|it| !matches!(it, Json::Array(_)));
    several.flatten().chain(single)
}

/// Returns the schemas of entries whose keys the schema does not name.
fn unnamed(part: &Object) -> impl Iterator<Item = &Json> {
    let by_pattern = match part.get("patternProperties") {
        Some(Json::Object(patterns)) => Some(patterns),
        _ => None,
    };
    // Of `additionalProperties: true` nothing is said, and nothing can be guessed.
    let others = part.get("additionalProperties").filter(|it| matches!(it, Json::Object(_)));
    by_pattern.into_iter().flat_map(Object::iter).map(|(_, schema)| schema).chain(others)
}

/// Writes a key as part of a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Returns the name of an annotated tool.
pub fn name_of(tool: &Object) -> &str {
    tool.get("toolName").and_then(Json::as_str).unwrap_or_default()
}

/// Returns whether nobody has confirmed what is said of a tool.
pub fn is_draft(tool: &Object) -> bool {
    matches!(tool.get("draft"), Some(Json::Bool(true)))
}

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod tests;
