//! The public everything server with and without the proxy: feature by feature the same, except for the
//! rows of a table in `docs/mcp.md`, each of which must be a difference that there is.

mod direct;

use std::collections::BTreeSet;
use std::process::Command;

use base64::Engine as _;
use ic_testkit::proxy::Message;
use ic_testkit::{Place, Proxy};
use serde_json::{Map, Value, json};

use crate::clients::Packages;
use crate::{alone, place};
use direct::Direct;

/// The table of what differs, as people read it.
const DOCUMENT: &str = include_str!("../../../../../docs/mcp.md");
const HEADING: &str = "## The everything server, question by question";

/// What the tools of the server are called with.
fn questions(tool: &str) -> Option<Vec<Value>> {
    let gzip = |output: &str| json!({"name": "a.txt.gz", "data": "data:text/plain,abc", "outputType": output});
    Some(match tool {
        "echo" => vec![json!({"message": "grüße"}), json!({})],
        "get-annotated-message" => ["error", "success", "debug"]
            .map(|kind| json!({"messageType": kind, "includeImage": true}))
            .to_vec(),
        "get-env" | "get-roots-list" | "get-tiny-image" => vec![json!({})],
        "get-resource-links" => vec![json!({"count": 3}), json!({})],
        "get-resource-reference" => {
            ["Text", "Blob"].map(|kind| json!({"resourceType": kind, "resourceId": 7})).to_vec()
        }
        "get-structured-content" => vec![json!({"location": "Chicago"})],
        "get-sum" => vec![json!({"a": 1, "b": 2.5})],
        "gzip-file-as-resource" => vec![gzip("resource"), gzip("resourceLink")],
        "trigger-long-running-operation" => vec![json!({"duration": 0.1, "steps": 2})],
        // Each begins what the second one ends.
        "toggle-simulated-logging" | "toggle-subscriber-updates" => vec![json!({}), json!({})],
        _ => return None,
    })
}

/// The server by itself, and once more behind a proxy that allows everything.
struct Twice {
    direct: Direct,
    proxy: Proxy,
    /// The differences that people are told of, and those that there are.
    told: BTreeSet<String>,
    seen: BTreeSet<String>,
    /// Those that people are not told of, with the answers.
    untold: Vec<String>,
}

impl Twice {
    fn start(packages: &Packages, place: &Place) -> (Self, Value, Value) {
        let server =
            packages.0.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
        let node = packages.0.join("bin/node");
        let (mut direct, introduction) =
            Direct::start(Command::new(&node).arg(&server).arg("stdio"));
        let entry = json!({"command": node, "args": [server, "stdio"],
            "sandbox": {"filesystem": {"allowRead": [packages.0]}}});
        place.write("servers.json", alone(json!({"everything": entry})).to_string());
        let tools = direct.request("tools/list", &json!({}))["result"]["tools"].clone();
        write_policy(place, tools.as_array().unwrap());
        let path = |name: &str| place.path(name).to_str().unwrap().to_owned();
        let mut proxy =
            Proxy::start(place, &["--policy", &path("policy"), "--servers", &path("servers.json")]);
        let introduced = proxy.initialize().result();
        let twice = Self { direct, proxy, told: told(), seen: BTreeSet::new(), untold: Vec::new() };
        (twice, introduction, introduced)
    }

    /// Compares two parts of answers; a difference has to stand in the table, under this name.
    #[track_caller]
    fn same(&mut self, what: &str, direct: &Value, behind: &Value) {
        let (direct, behind) = (neutral(direct), neutral(behind));
        if direct == behind {
            return;
        }
        if !self.seen.insert(what.to_owned()) || self.told.contains(what) {
            return;
        }
        self.untold.push(format!("`{what}`\n  without {direct}\n  through {behind}"));
    }

    /// Asks both the same, and compares all of the answers.
    #[track_caller]
    fn ask(&mut self, what: &str, method: &str, params: &Value) -> Value {
        let direct = self.direct.request(method, params);
        let behind = self.proxy.request(method, &prefixed(params.clone())).json();
        self.same(what, &part(&direct), &part(&behind));
        direct
    }

    /// Compares the members of two objects, each under its own name.
    #[track_caller]
    fn members(&mut self, what: &str, direct: &Value, behind: &Value) {
        let keys = |it: &Value| it.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
        for key in keys(direct).union(&keys(behind)) {
            self.same(&format!("{what}{key}"), &direct[key], &behind[key]);
        }
    }
}

/// Returns what the table says is different.
fn told() -> BTreeSet<String> {
    let (_, section) = DOCUMENT.split_once(HEADING).expect("the section with the table");
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let rows: Vec<(&str, &str)> = rows.collect();
    for (what, rest) in &rows {
        let cells: Vec<&str> = rest.trim_end_matches('|').split('|').map(str::trim).collect();
        assert!(
            cells.len() == 2 && cells.iter().all(|it| !it.is_empty()),
            "`{what}` has no reason"
        );
    }
    rows.into_iter().map(|(what, _)| what.to_owned()).collect()
}

/// Returns the answer to a request: its result, or its error.
fn part(answer: &Value) -> Value {
    answer.get("result").unwrap_or(&answer["error"]).clone()
}

/// Puts the server's name before the names of tools and prompts.
fn prefixed(mut params: Value) -> Value {
    for pointer in ["/name", "/ref/name"] {
        if let Some(Value::String(name)) = params.pointer_mut(pointer) {
            *name = format!("everything__{name}");
        }
    }
    params
}

/// Returns an answer without what differs by design: the prefixes of names, and the time of day.
fn neutral(value: &Value) -> Value {
    let mut value = value.clone();
    unpack(&mut value);
    let text = without_times(&value.to_string().replace("everything__", ""));
    serde_json::from_str(&text).unwrap()
}

/// Writes out what is packed, so that a time in it is found.
fn unpack(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let packed = value.as_str().filter(|_| key == "blob");
                let bytes = packed.and_then(|it| base64::prelude::BASE64_STANDARD.decode(it).ok());
                match bytes.and_then(|it| String::from_utf8(it).ok()) {
                    Some(text) => *value = Value::String(text),
                    None => unpack(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(unpack),
        _ => {}
    }
}

/// Puts `TIME` in the place of each `created at 1:23:45 PM`.
fn without_times(text: &str) -> String {
    const BEFORE: &str = "created at ";
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, time)) = rest.split_once(BEFORE) {
        out += before;
        out += BEFORE;
        let parts = time.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
        let written = time.strip_suffix(parts).unwrap();
        let lengths: Vec<usize> = written.split(':').map(str::len).collect();
        if let [1 | 2, 2, 2] = lengths.as_slice() {
            out += "TIME";
            let half = parts.trim_start_matches([' ', '\u{202f}']);
            rest = half.strip_prefix("AM").or_else(|| half.strip_prefix("PM")).unwrap_or(parts);
        } else {
            rest = time;
        }
    }
    out + rest
}

#[test]
fn times_are_taken_out_and_nothing_else_is() {
    for (text, expected) in [
        ("created at 1:23:45 PM.", "created at TIME."),
        ("created at 11:23:45\u{202f}AM\"", "created at TIME\""),
        ("created at 23:00:01\\n", "created at TIME\\n"),
        ("created at 1:2 and at 1:23:45 PM", "created at 1:2 and at 1:23:45 PM"),
        ("what a format that is", "what a format that is"),
    ] {
        assert_eq!(without_times(text), expected);
    }
}

fn write_policy(place: &Place, tools: &[Value]) {
    let annotation = |tool: &Value| {
        let properties = tool["inputSchema"]["properties"].as_object();
        let names = properties.into_iter().flat_map(|it| it.keys());
        let roles: Map<String, Value> = names.map(|it| (it.clone(), json!(["none"]))).collect();
        json!({"toolName": tool["name"], "args": roles})
    };
    let mut annotations: Vec<Value> = tools.iter().map(annotation).collect();
    for (method, arguments) in [
        ("resources/read", json!({"uri": ["none"]})),
        ("resources/subscribe", json!({"uri": ["none"]})),
        ("prompts/get", json!({"name": ["none"], "arguments": ["none"]})),
        (
            "completion/complete",
            json!({"ref": ["none"], "argument": ["none"], "context": ["none"]}),
        ),
    ] {
        annotations.push(json!({"toolName": method, "args": arguments}));
    }
    let annotations = json!({"servers": {"everything": {"tools": annotations}}});
    place.write("policy/tool-annotations.json", annotations.to_string());
    let rule = json!({"name": "all", "if": {}, "then": "allow", "reason": "a test"});
    place.write("policy/compiled-policy.json", json!({"rules": [rule]}).to_string());
}

#[test]
fn the_everything_server_gives_the_same_answers_behind_the_proxy() {
    let Some(packages) = Packages::find() else { return };
    let place = place();
    let (mut twice, introduction, introduced) = Twice::start(&packages, &place);
    for key in ["protocolVersion", "serverInfo", "instructions"] {
        twice.same(&format!("initialize {key}"), &introduction[key], &introduced[key]);
    }
    let capabilities = |it: &Value| it["capabilities"].clone();
    let (direct, behind) = (capabilities(&introduction), capabilities(&introduced));
    twice.members("initialize capabilities.", &direct, &behind);
    twice.ask("ping", "ping", &json!({}));
    let tools = compare_tools(&mut twice);
    compare_calls(&mut twice, &tools);
    compare_resources_and_prompts(&mut twice);
    compare_progress_and_cancellation(&mut twice);
    compare_news(&mut twice);
    compare_refusals(&mut twice);
    let untold = twice.untold.join("\n");
    assert_eq!(untold, "", "docs/mcp.md does not say that this differs");
    let stale: Vec<&String> = twice.told.difference(&twice.seen).collect();
    assert_eq!(stale, [] as [&String; 0], "docs/mcp.md names differences that there are not");
    twice.proxy.finish();
    let told = twice.proxy.all_stderr();
    assert!(told.contains("it needs tasks, which are not offered"), "{told}");
}

/// Compares the tools; returns those that both have.
fn compare_tools(twice: &mut Twice) -> Vec<String> {
    let direct = twice.direct.request("tools/list", &json!({}));
    let behind = twice.proxy.request("tools/list", &json!({})).json();
    let tools = |answer: &Value| answer["result"]["tools"].as_array().unwrap().clone();
    let name = |tool: &Value| tool["name"].as_str().unwrap().replace("everything__", "");
    let (listed, offered) = (tools(&direct), super::of_servers(&behind["result"]));
    let mut both = Vec::new();
    for tool in &listed {
        let Some(twin) = offered.iter().find(|it| name(it) == name(tool)) else {
            twice.same(&format!("tools/list {}", name(tool)), tool, &Value::Null);
            continue;
        };
        let keys = |it: &Value| it.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
        for key in keys(tool).union(&keys(twin)) {
            twice.same(&format!("tools/list *.{key}"), &tool[key], &twin[key]);
        }
        both.push(name(tool));
    }
    assert_eq!(both.len(), offered.len(), "nothing is added");
    let order = |tools: &[Value]| {
        let names = tools.iter().map(name).filter(|it| both.contains(it));
        json!(names.collect::<Vec<_>>())
    };
    twice.same("tools/list order", &order(&listed), &order(&offered));
    both
}

fn compare_calls(twice: &mut Twice, tools: &[String]) {
    for tool in tools {
        let questions = questions(tool)
            .unwrap_or_else(|| panic!("nobody knows what `{tool}` is to be called with"));
        for arguments in questions {
            let what = match arguments.as_object().unwrap().is_empty() && tool == "echo" {
                true => "tools/call with wrong arguments".to_owned(),
                false => format!("tools/call {tool}"),
            };
            twice.ask(&what, "tools/call", &json!({"name": tool, "arguments": arguments}));
        }
    }
}

fn compare_resources_and_prompts(twice: &mut Twice) {
    let resources = twice.ask("resources/list", "resources/list", &json!({}));
    let templates = twice.ask("templates", "resources/templates/list", &json!({}));
    let prompts = twice.ask("prompts/list", "prompts/list", &json!({}));
    let listed =
        |answer: &Value, member: &str| answer["result"][member].as_array().unwrap().clone();
    let resources = listed(&resources, "resources");
    assert!(resources.iter().any(|it| it["name"] == "a.txt.gz"), "what a call made is there");
    for resource in resources {
        twice.ask("resources/read", "resources/read", &json!({"uri": resource["uri"]}));
    }
    for template in listed(&templates, "resourceTemplates") {
        let template = template["uriTemplate"].as_str().unwrap();
        let uri = template.replace("{resourceId}", "7");
        assert_ne!(uri, template, "there is something to fill in");
        twice.ask("resources/read", "resources/read", &json!({"uri": uri}));
        for value in ["", "7", "x"] {
            let params = json!({"ref": {"type": "ref/resource", "uri": template},
                "argument": {"name": "resourceId", "value": value}});
            twice.ask("completion/complete", "completion/complete", &params);
        }
    }
    for prompt in listed(&prompts, "prompts") {
        let arguments: Map<String, Value> = prompt["arguments"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|it| (it["name"].as_str().unwrap().to_owned(), json!("1")))
            .collect();
        let name = &prompt["name"];
        twice.ask("prompts/get", "prompts/get", &json!({"name": name, "arguments": arguments}));
        for argument in arguments.keys() {
            for value in ["", "E", "1"] {
                let params = json!({"ref": {"type": "ref/prompt", "name": name},
                    "argument": {"name": argument, "value": value},
                    "context": {"arguments": {"department": "Engineering"}}});
                twice.ask("completion/complete", "completion/complete", &params);
            }
        }
    }
}

/// Asks one of both for something that takes a while, takes it back, and waits for what came after it.
fn progress_of(mut ask: impl FnMut(&str, f64) -> (Vec<Value>, Value)) -> Value {
    let (progress, result) = ask("p", 0.2);
    assert_eq!(progress.len(), 4);
    json!({"progress": progress, "result": result})
}

fn compare_progress_and_cancellation(twice: &mut Twice) {
    let params = |name: &str, token: &str, duration: f64| json!({"name": name, "arguments": {"duration": duration, "steps": 4}, "_meta": {"progressToken": token}});
    let tool = "trigger-long-running-operation";
    let direct = progress_of(|token, duration| {
        let answer = twice.direct.request("tools/call", &params(tool, token, duration));
        (params_of(&twice.direct.unread(), "notifications/progress"), part(&answer))
    });
    let offered = format!("everything__{tool}");
    let behind = progress_of(|token, duration| {
        let answer = twice.proxy.request("tools/call", &params(&offered, token, duration)).json();
        let heard: Vec<Value> = twice.proxy.unread().iter().map(Message::json).collect();
        (params_of(&heard, "notifications/progress"), part(&answer))
    });
    twice.same("notifications/progress", &direct, &behind);
    // What is taken back is never answered, also not once it would have been done.
    let id = twice.direct.send_request("tools/call", &params(tool, "a", 0.4));
    twice.direct.hear("notifications/progress");
    let cancelled = |id: u64| json!({"requestId": id, "reason": "a test"});
    twice.direct.notify("notifications/cancelled", &cancelled(id));
    twice.direct.request("tools/call", &params(tool, "b", 1.0));
    assert!(!twice.direct.unread().iter().any(|it| it["id"] == id), "it was taken back");
    let id = twice.proxy.ask("tools/call", &params(&offered, "a", 0.4));
    twice.proxy.notification("notifications/progress", "");
    twice.proxy.notify("notifications/cancelled", &cancelled(id.parse().unwrap()));
    twice.proxy.request("tools/call", &params(&offered, "b", 1.0)).result();
    assert!(!twice.proxy.unread().iter().any(|it| it.answers(&id)), "it was taken back");
}

fn params_of(heard: &[Value], method: &str) -> Vec<Value> {
    let meant = heard.iter().filter(|it| it["method"] == method);
    meant.map(|it| it["params"].clone()).collect()
}

/// Compares what the server says of its own accord.
fn compare_news(twice: &mut Twice) {
    let uri = "demo://resource/dynamic/text/1";
    twice.ask("resources/subscribe", "resources/subscribe", &json!({"uri": uri}));
    let toggle = |twice: &mut Twice, tool: &str| {
        let params = json!({"name": tool, "arguments": {}});
        twice.ask(&format!("tools/call {tool}"), "tools/call", &params);
    };
    toggle(twice, "toggle-subscriber-updates");
    let updated = "notifications/resources/updated";
    let direct = twice.direct.hear(updated);
    let behind = twice.proxy.notification(updated, "").json();
    twice.same(updated, &direct["params"], &behind["params"]);
    toggle(twice, "toggle-subscriber-updates");
    twice.ask("logging/setLevel", "logging/setLevel", &json!({"level": "debug"}));
    twice.direct.unread();
    twice.proxy.unread();
    toggle(twice, "toggle-simulated-logging");
    let direct = twice.direct.hear("-level message");
    let behind = twice.proxy.notification("notifications/message", "-level message").json();
    toggle(twice, "toggle-simulated-logging");
    // Which message it is, the server draws by lot; each says of itself what it is.
    let checked = |message: &Value| {
        let params = &message["params"];
        let (level, data) = (params["level"].as_str().unwrap(), params["data"].as_str().unwrap());
        assert!(data.to_lowercase().starts_with(level), "{message}");
    };
    checked(&direct);
    checked(&behind);
    twice.same(
        "notifications/message logger",
        &direct["params"]["logger"],
        &behind["params"]["logger"],
    );
}

/// Compares how both refuse what they refuse.
fn compare_refusals(twice: &mut Twice) {
    for (what, method, params) in [
        ("resources/read unknown", "resources/read", json!({"uri": "demo://resource/none"})),
        ("prompts/get unknown", "prompts/get", json!({"name": "none", "arguments": {}})),
        ("tools/call unknown", "tools/call", json!({"name": "none", "arguments": {}})),
        ("tools/list with a cursor", "tools/list", json!({"cursor": "none"})),
        ("logging/setLevel unknown", "logging/setLevel", json!({"level": "loud"})),
        ("resources/unsubscribe", "resources/unsubscribe", json!({"uri": "demo://resource/none"})),
        ("tasks/list", "tasks/list", json!({})),
        ("an unknown method", "none/such", json!({})),
    ] {
        twice.ask(what, method, &params);
    }
}
