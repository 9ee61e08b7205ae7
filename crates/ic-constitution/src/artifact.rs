//! The files of a compiled policy, as bytes: always the same ones for the same constitution.
//!
//! Opens no file and reads no clock; the time that is written is handed in.

use ic_types::{Digest, Json, Object, Role};

use crate::compile::{Compiled, Condition, Rule, Tool};
use crate::list::{ListDefinition, ListSource};
use crate::scenario::Scenario;

/// What is written besides the rules.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The text of the constitution.
    pub constitution: &'a str,
    /// When the files were made.
    pub generated_at: &'a str,
    /// The tools that were known.
    pub tools: &'a [Tool],
}

/// Counted up when the same constitution may come to other rules.
const COMPILER: &str = "plain-1";

/// Writes `compiled-policy.json`.
pub fn compiled_policy(compiled: &Compiled, origin: Origin<'_>) -> String {
    let mut file = header(origin);
    file.insert("rules", all_rules(compiled));
    let lists = list_definitions(&compiled.rules, &compiled.lists);
    if !lists.is_empty() {
        file.insert("listDefinitions", lists);
    }
    pretty(&Json::Object(file))
}

/// Returns the rules in their order, with those that are kept as they are in their places.
fn all_rules(compiled: &Compiled) -> Vec<Json> {
    let kept = |is_after: bool| {
        let here = compiled.kept.iter().filter(move |it| it.is_after == is_after);
        here.map(|it| it.rule.clone())
    };
    // What no sentence covers comes last, whatever else there is.
    let is_rest = |rule: &&Rule| rule.is_for_everything_else();
    let sentences = compiled.rules.iter().filter(|it| !is_rest(it)).map(rule);
    let rest = compiled.rules.iter().filter(is_rest).map(rule);
    kept(false).chain(sentences).chain(kept(true)).chain(rest).collect()
}

/// Writes `test-scenarios.json`: what people wrote, as it is, and what comes from the sentences.
pub fn test_scenarios(handwritten: &[Json], scenarios: &[Scenario], origin: Origin<'_>) -> String {
    let mut file = header(origin);
    let scenario = |it: &Scenario| {
        let mut request = Object::new();
        request.insert("serverName", it.server.as_str());
        request.insert("toolName", it.tool.as_str());
        request.insert("arguments", Json::Object(it.arguments.clone()));
        let mut scenario = Object::new();
        scenario.insert("description", it.description.as_str());
        scenario.insert("request", Json::Object(request));
        scenario.insert("expectedDecision", it.expected.as_str());
        scenario.insert("reasoning", it.reasoning.as_str());
        scenario.insert("source", "generated");
        Json::Object(scenario)
    };
    let all = handwritten.iter().cloned().chain(scenarios.iter().map(scenario));
    file.insert("scenarios", all.collect::<Vec<_>>());
    pretty(&Json::Object(file))
}

/// Returns whether the rules use something that only this program knows.
pub fn needs_this_program(compiled: &Compiled) -> bool {
    let is_ours = |rule: &Rule| match &rule.condition {
        Condition::Within(path) => path.starts_with("${SANDBOX}"),
        Condition::Elsewhere | Condition::Unsaid(_) => true,
        Condition::Hosts(all) => all.iter().any(|it| it.starts_with('=') || it.ends_with(":*")),
        Condition::Nothing | Condition::Names(_) => false,
    };
    let is_kept = |text: &str| text.contains("${SANDBOX}") || text.contains("leavesSandbox");
    let keeps = compiled.kept.iter().any(|it| is_kept(&it.rule.to_string()));
    keeps || compiled.rules.iter().any(is_ours)
}

fn header(origin: Origin<'_>) -> Object {
    let tools: Vec<String> =
        origin.tools.iter().map(|it| format!("{}.{} {:?}", it.server, it.tool, it.roles)).collect();
    let parts = [COMPILER.as_bytes(), origin.constitution.as_bytes()];
    let parts = parts.into_iter().chain(tools.iter().map(String::as_bytes));
    let mut file = Object::new();
    file.insert("generatedAt", origin.generated_at);
    file.insert("constitutionHash", Digest::of(origin.constitution.as_bytes()).to_string());
    file.insert("inputHash", Digest::of_parts(parts).to_string());
    file
}

fn texts<'a>(all: impl IntoIterator<Item = &'a str>) -> Vec<Json> {
    all.into_iter().map(Json::from).collect()
}

fn role_names(roles: &[Role]) -> Vec<Json> {
    texts(roles.iter().map(|role| role.as_str()))
}

/// Writes that values of these roles lie in a directory, and whether the sandbox is left alone.
fn paths(roles: Option<&[Role]>, within: &str, leaves_sandbox: bool) -> Json {
    let mut paths = Object::new();
    paths.insert("roles", role_names(roles.unwrap_or_default()));
    paths.insert("within", within);
    if leaves_sandbox {
        paths.insert("leavesSandbox", true);
    }
    Json::Object(paths)
}

fn rule(rule: &Rule) -> Json {
    let mut condition = Object::new();
    let roles = rule.roles.as_deref();
    if let Some(servers) = &rule.servers {
        condition.insert("server", texts(servers.iter().map(String::as_str)));
    }
    if let Some(tool) = &rule.tool {
        condition.insert("tool", texts([tool.as_str()]));
    }
    let named = |key: &str, texts: Vec<Json>| {
        let mut part = Object::new();
        part.insert("roles", role_names(roles.unwrap_or_default()));
        part.insert(key, texts);
        part
    };
    match &rule.condition {
        Condition::Nothing => {
            if let Some(roles) = roles {
                condition.insert("roles", role_names(roles));
            }
        }
        Condition::Within(path) => condition.insert("paths", paths(roles, path, false)),
        Condition::Elsewhere => condition.insert("paths", paths(roles, "/", true)),
        Condition::Unsaid(path) => condition.insert("paths", paths(roles, path, true)),
        Condition::Hosts(all) => {
            let mut all = all.iter();
            if let Some(first) = all.next() {
                condition
                    .insert("domains", Json::Object(named("allowed", texts([first.as_str()]))));
            }
            let lists: Vec<Json> = all
                .map(|it| {
                    let mut list = named("allowed", texts([it.as_str()]));
                    list.insert("matchType", "domains");
                    Json::Object(list)
                })
                .collect();
            if !lists.is_empty() {
                condition.insert("lists", lists);
            }
        }
        Condition::Names(all) => {
            // For a call as a whole, a role without a list is a condition too.
            let is_listed = |role: &Role| all.iter().any(|(it, _)| it == role);
            if let Some(roles) = roles.filter(|roles| !roles.iter().any(is_listed)) {
                condition.insert("roles", role_names(roles));
            }
            let lists: Vec<Json> = all
                .iter()
                .map(|(role, names)| {
                    let mut list = Object::new();
                    list.insert("roles", role_names(&[*role]));
                    list.insert("allowed", texts(names.iter().map(String::as_str)));
                    list.insert("matchType", match_type(*role));
                    Json::Object(list)
                })
                .collect();
            condition.insert("lists", lists);
        }
    }
    let mut object = Object::new();
    object.insert("name", rule.name.as_str());
    object.insert("description", rule.description.as_str());
    object.insert("principle", rule.principle.as_str());
    object.insert("if", Json::Object(condition));
    object.insert("then", rule.effect.as_str());
    object.insert("reason", rule.reason.as_str());
    Json::Object(object)
}

fn match_type(role: Role) -> &'static str {
    match role {
        Role::EmailAddress => "emails",
        _ => "identifiers",
    }
}

/// Returns the lists that rules name: their names, their kinds, and a sentence about each.
pub(crate) fn named_lists(rules: &[Rule]) -> Vec<(String, &'static str, String)> {
    let mut found: Vec<(String, &'static str, String)> = Vec::new();
    let mut note = |text: &str, kind: &'static str, rule: &Rule| {
        if let Some(name) = text.trim_start_matches('=').strip_prefix('@')
            && !found.iter().any(|(known, ..)| known == name)
        {
            found.push((name.to_owned(), kind, rule.principle.clone()));
        }
    };
    for rule in rules {
        match &rule.condition {
            Condition::Nothing
            | Condition::Within(_)
            | Condition::Elsewhere
            | Condition::Unsaid(_) => {}
            Condition::Hosts(all) => all.iter().for_each(|it| note(it, "domains", rule)),
            Condition::Names(all) => {
                for (role, names) in all {
                    for name in names {
                        note(name, match_type(*role), rule);
                    }
                }
            }
        }
    }
    found.sort();
    found
}

/// Says what the lists are that rules name, and where their values come from.
fn list_definitions(rules: &[Rule], lists: &[ListDefinition]) -> Vec<Json> {
    let definition = |(name, kind, principle): (String, &'static str, String)| {
        let mut object = Object::new();
        let defined = lists.iter().find(|it| it.name == name);
        object.insert("name", name);
        object.insert("type", kind);
        object.insert("principle", defined.map_or(principle, |it| it.text.clone()));
        if let Some(ListDefinition { source, text, .. }) = defined {
            let (words, server) = match source {
                ListSource::Tool { server, .. } => (text, Some(server)),
                ListSource::Words { words, server } => (words, server.as_ref()),
            };
            object.insert("generationPrompt", words.as_str());
            object.insert("requiresMcp", server.is_some());
            if let Some(server) = server {
                object.insert("mcpServerHint", server.as_str());
            }
        }
        Json::Object(object)
    };
    named_lists(rules).into_iter().map(definition).collect()
}

/// Writes JSON for people: two spaces, and short things on one line.
pub(crate) fn pretty(json: &Json) -> String {
    let mut out = String::new();
    write(json, 0, &mut out);
    out.push('\n');
    out
}

fn write(json: &Json, depth: usize, out: &mut String) {
    const LINE_MAX: usize = 100;
    let compact = json.to_string();
    let is_short =
        compact.len() + 2 * depth <= LINE_MAX && 2 <= depth && !compact.contains("\"description\"");
    let pad = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    match json {
        Json::Object(object) if !object.is_empty() && !is_short => {
            out.push('{');
            for (position, (key, value)) in object.iter().enumerate() {
                out.push_str(if position == 0 { "" } else { "," });
                pad(out, depth + 1);
                out.push_str(&Json::from(key).to_string());
                out.push_str(": ");
                write(value, depth + 1, out);
            }
            pad(out, depth);
            out.push('}');
        }
        Json::Array(items) if !items.is_empty() && !is_short => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                out.push_str(if position == 0 { "" } else { "," });
                pad(out, depth + 1);
                write(item, depth + 1, out);
            }
            pad(out, depth);
            out.push(']');
        }
        _ => out.push_str(&compact),
    }
}
