//! Resources, prompts and completions: calls like any other.

use std::path::{Path, PathBuf};

use ic_testkit::proxy::{Message, records};
use ic_testkit::{Caller, Place, Proxy};
use serde_json::{Map, Value, json};

use super::{python, until};
use crate::{alone, place};

/// A place with servers that have more than tools, and a policy that knows it.
pub(super) struct Rig {
    place: Place,
    servers: Map<String, Value>,
}

impl Rig {
    /// A rig with a server `a`, which lists these URIs; see `shelf.py` for what else may stand there.
    pub(super) fn new(uris: &[&str]) -> Self {
        Self { place: place(), servers: Map::new() }.server("a", uris)
    }

    pub(super) fn server(mut self, name: &str, uris: &[&str]) -> Self {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers");
        let directory = self.place.dir(name);
        let mut arguments = vec!["-S".to_owned(), "-B".to_owned()];
        arguments.push(scripts.join("shelf.py").to_str().unwrap().to_owned());
        arguments.push(directory.to_str().unwrap().to_owned());
        arguments.extend(uris.iter().map(|&uri| uri.to_owned()));
        let allowed = self.place.dir("allowed");
        let cage =
            json!({"filesystem": {"allowRead": [scripts, allowed], "allowWrite": [directory]}});
        let entry = json!({"command": python(), "args": arguments, "sandbox": cage});
        self.servers.insert(name.to_owned(), entry);
        self
    }

    /// Starts a proxy with a policy whose annotations name these methods, and begins the conversation.
    pub(super) fn start(&self, methods: &[&str]) -> Proxy {
        let mut proxy = self.start_silent(methods);
        proxy.initialize();
        proxy
    }

    pub(super) fn start_silent(&self, methods: &[&str]) -> Proxy {
        let tool = |name: &str| json!({"toolName": name, "args": {}});
        let mut tools = vec![tool("touch"), tool("grow")];
        tools.extend(methods.iter().map(|&method| {
            let arguments: &[&str] = match method {
                "resources/read" | "resources/subscribe" => &["uri"],
                "prompts/get" => &["name", "arguments"],
                _ => &["ref", "argument", "context"],
            };
            let roles: Map<String, Value> =
                arguments.iter().map(|it| ((*it).to_owned(), json!(["none"]))).collect();
            json!({"toolName": method, "args": roles})
        }));
        let servers: Map<String, Value> =
            self.servers.keys().map(|name| (name.clone(), json!({"tools": tools}))).collect();
        let annotations = json!({"servers": servers}).to_string();
        self.place.write("policy/tool-annotations.json", annotations);
        let rule = |name: &str, condition: Value, then: &str| json!({"name": name, "if": condition, "then": then, "reason": format!("rule {name}")});
        let within = self.place.dir("allowed");
        let compiled = json!({"rules": [
            rule("reads", json!({"paths": {"roles": ["read-path"], "within": within}}), "allow"),
            rule("web", json!({"roles": ["fetch-url"]}), "escalate"),
            rule("other-paths", json!({"roles": ["read-path"]}), "deny"),
            rule("a-person", json!({"tool": ["completion/complete"]}), "escalate"),
            rule("rest", json!({}), "allow"),
        ]});
        self.place.write("policy/compiled-policy.json", compiled.to_string());
        let file =
            self.place.write("servers.json", alone(Value::from(self.servers.clone())).to_string());
        let policy = self.place.path("policy");
        let words = ["--policy", policy.to_str().unwrap(), "--servers", file.to_str().unwrap()];
        Proxy::start(&self.place, &words)
    }

    /// Returns the parameters of each request of `method` that the server `name` received.
    pub(super) fn received(&self, name: &str, method: &str) -> Vec<Value> {
        let path = self.place.path(name).join("received");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let messages = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        messages.filter(|it| it["method"] == method).map(|mut it| it["params"].take()).collect()
    }

    /// Lets a server answer a method that it holds.
    pub(super) fn release(&self, name: &str, method: &str) {
        std::fs::write(self.place.path(name).join("release"), format!("{method}\n")).unwrap();
    }

    fn file(&self, name: &str) -> String {
        format!("file://{}", self.place.path(name).display())
    }
}

const READING: [&str; 1] = ["resources/read"];
const METHOD_NOT_FOUND: i64 = -32_601;
const INVALID_PARAMS: i64 = -32_602;

pub(super) fn read(proxy: &mut Proxy, uri: &str) -> Message {
    proxy.request("resources/read", &json!({"uri": uri}))
}

/// Returns the rule that refused a call.
#[track_caller]
fn rule(answer: &Message) -> String {
    let json = answer.json();
    let rule = json.pointer("/error/data/ironcurtain/rule").and_then(Value::as_str);
    rule.unwrap_or_else(|| panic!("not refused: {json}")).to_owned()
}

/// Whoever only asks who we are opens no session, and is told what there is all the same.
#[test]
fn what_is_served_is_discovered_without_a_session() {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let still = json!({"listChanged": false});
    let resources = json!({"listChanged": false, "subscribe": false});
    for (methods, capabilities) in [
        (&[] as &[&str], json!({"tools": still})),
        (&["resources/read"], json!({"tools": still, "resources": resources})),
        (
            &["resources/read", "resources/subscribe", "prompts/get", "completion/complete"],
            json!({"tools": still, "resources": resources, "prompts": still, "completions": {}}),
        ),
    ] {
        let rig = Rig::new(&["demo://x"]);
        let mut proxy = rig.start_silent(methods);
        let params = json!({"_meta": meta});
        let before = proxy.request("server/discover", &params).result();
        assert_eq!(before["capabilities"], capabilities, "{methods:?}");
        assert!(!rig.place.path("home/.ironcurtain/sessions").exists(), "no session was needed");
        // What was named is there, and with a session nothing else is said.
        if methods.contains(&"resources/read") {
            let listed = proxy.request("resources/list", &params).result();
            assert_eq!(listed["resources"][0]["uri"], "demo://x");
        }
        if methods.contains(&"prompts/get") {
            assert!(proxy.request("prompts/list", &params).result()["prompts"].is_array());
        }
        assert_eq!(proxy.request("server/discover", &params).result(), before);
        proxy.finish();
    }
}

/// A `file:` URI is a path, in every spelling, whatever the annotation says of it.
#[test]
fn a_resource_that_is_a_file_is_judged_as_one() {
    let rig = Rig::new(&["demo://x"]);
    rig.place.write("home/.ssh/id_ed25519", "secret");
    rig.place.write("allowed/note.txt", "a note");
    rig.place.link("allowed/link", rig.place.path("home/.ssh"));
    let mut proxy = rig.start(&READING);
    let key = rig.place.path("home/.ssh/id_ed25519").display().to_string();
    for uri in [
        rig.file("home/.ssh/id_ed25519"),
        rig.file("allowed/link/id_ed25519"),
        rig.file("allowed/../home/.ssh/id_ed25519"),
        rig.file("home/.ssh/id_ed25519").replace("file://", "file://localhost"),
        rig.file("home/.ssh/id_ed25519").replace(".ssh", "%2essh"),
        format!("file:{key}"),
        key.clone(),
    ] {
        assert_eq!(rule(&read(&mut proxy, &uri)), "structural-protected-path", "{uri}");
    }
    for uri in [
        "file:relative",
        "file://elsewhere/etc/passwd",
        "file:///a%00b",
        "file:///%zz",
        "FILE:///a",
    ] {
        assert_eq!(rule(&read(&mut proxy, uri)), "structural-invalid-value", "{uri}");
    }
    assert_eq!(rule(&read(&mut proxy, "file:///etc/hostname")), "other-paths");
    assert_eq!(rule(&read(&mut proxy, "https://a.example/x")), "web");
    assert_eq!(rig.received("a", "resources/read"), [] as [Value; 0], "nothing came through");
    // What is allowed is sent as it was judged.
    let note = read(&mut proxy, &rig.file("allowed/./deep/../note.txt"));
    let canonical = std::fs::canonicalize(rig.place.path("allowed/note.txt")).unwrap();
    let sent = format!("file://{}", canonical.display());
    assert_eq!(note.result()["contents"][0]["text"], format!("read {sent}"));
    assert_eq!(rig.received("a", "resources/read"), [json!({"uri": sent})]);
    // Nobody but us says what a URI names.
    let mut params = json!({"uri": rig.file("home/.ssh/id_ed25519"), "scheme": "other"});
    assert_eq!(rule(&proxy.request("resources/read", &params)), "structural-protected-path");
    params["name"] = json!("a__resources/read");
    let through_a_tool = json!({"name": "a__resources/read", "arguments":
        {"uri": rig.file("home/.ssh/id_ed25519"), "scheme": "other"}});
    let answer = proxy.request("tools/call", &through_a_tool);
    assert!(answer.bad().starts_with("DENIED: "), "{}", answer.text());
    proxy.finish();
    let verified = rig.place.run(["audit", "verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    let intents = records(&rig.place).into_iter().filter(|it| it["tool"] == "resources/read");
    assert_eq!(intents.filter(|it| it["kind"] == "intent").count(), 17);
}

#[test]
fn what_no_annotation_names_is_not_offered() {
    let rig = Rig::new(&["demo://x"]);
    let mut proxy = rig.start(&[]);
    for (method, params) in [
        ("resources/read", json!({"uri": "demo://x"})),
        ("resources/subscribe", json!({"uri": "demo://x"})),
        ("prompts/get", json!({"name": "a__p"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "a__p"}, "argument": {}}),
        ),
        ("resources/unsubscribe", json!({"uri": "demo://x"})),
        ("tasks/list", json!({})),
    ] {
        assert_eq!(proxy.request(method, &params).error().0, METHOD_NOT_FOUND, "{method}");
    }
    for (method, member) in [
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ] {
        assert_eq!(proxy.request(method, &json!({})).result()[member], json!([]), "{method}");
        assert_eq!(rig.received("a", method), [] as [Value; 0], "nobody is asked: {method}");
    }
    proxy.finish();
}

#[test]
fn lists_are_put_together_and_names_say_whose_they_are() {
    let rig = Rig::new(&["demo://1", "demo://both"]).server("b", &["demo://2", "demo://both"]);
    let mut proxy = rig.start(&["resources/read", "prompts/get", "completion/complete"]);
    let listed = |proxy: &mut Proxy, method: &str, member: &str, key: &str| -> Vec<String> {
        let result = proxy.request(method, &json!({})).result();
        let entries = result[member].as_array().unwrap().clone();
        entries.iter().map(|it| it[key].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        listed(&mut proxy, "resources/list", "resources", "uri"),
        ["demo://1", "demo://both", "demo://2", "demo://both"]
    );
    assert_eq!(listed(&mut proxy, "prompts/list", "prompts", "name"), ["a__p", "b__p"]);
    let of = |answer: Message| answer.result()["contents"][0]["text"].as_str().unwrap().to_owned();
    assert_eq!(of(read(&mut proxy, "demo://2")), "read demo://2");
    assert_eq!(rig.received("b", "resources/read").len(), 1);
    // By its template.
    assert_eq!(of(read(&mut proxy, "shelf://2/7")), "read shelf://2/7");
    assert_eq!(rig.received("b", "resources/read").len(), 2);
    // A server cannot pass for another one.
    for uri in ["demo://both", "demo://nobody"] {
        let (_, message) = read(&mut proxy, uri).error();
        assert!(message.contains("no server, or more than one"), "{uri}: {message}");
    }
    let prompt = proxy.request("prompts/get", &json!({"name": "b__p", "arguments": {"x": "1"}}));
    assert_eq!(prompt.result()["messages"][0]["content"]["text"], "p");
    let sent = rig.received("b", "prompts/get");
    assert_eq!(sent, [json!({"name": "p", "arguments": {"x": "1"}})]);
    // Without a desk nobody can be asked.
    let complete = json!({"ref": {"type": "ref/prompt", "name": "a__p"}, "argument": {"name": "x", "value": ""}});
    let (_, message) = proxy.request("completion/complete", &complete).error();
    assert!(message.starts_with("ESCALATION REQUIRED: "), "{message}");
    assert_eq!(rig.received("a", "completion/complete"), [] as [Value; 0]);
    proxy.finish();
}

/// Starts a proxy with these methods for several clients.
fn shared(rig: &Rig, methods: &[&str]) -> (Proxy, PathBuf) {
    let mut first = rig.start(methods);
    first.finish();
    let socket = rig.place.path("sockets/s");
    let words = [
        "--policy".to_owned(),
        rig.place.path("policy").display().to_string(),
        "--servers".to_owned(),
        rig.place.path("servers.json").display().to_string(),
        "--socket".to_owned(),
        socket.display().to_string(),
    ];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    (Proxy::start(&rig.place, &words), socket)
}

/// The server hears that a resource is not followed any more when the last client has gone, by a request or
/// by its end; a client ends nobody else's subscription, and none that it does not have.
#[test]
fn a_subscription_ends_for_the_server_with_its_last_client() {
    let rig = Rig::new(&["demo://1", "demo://2"]);
    let (_proxy, socket) = shared(&rig, &["resources/read", "resources/subscribe"]);
    let [mut ada, mut bob, mut eve] = ["ada", "bob", "eve"].map(|it| Caller::begin(&socket, it));
    let ended = || rig.received("a", "resources/unsubscribe");
    let (one, two) = (json!({"uri": "demo://1"}), json!({"uri": "demo://2"}));
    for client in [&mut ada, &mut bob] {
        assert_eq!(client.request("resources/subscribe", &one).result(), json!({}));
    }
    bob.request("resources/subscribe", &two).result();
    assert_eq!(eve.request("resources/unsubscribe", &one).result(), json!({}));
    assert_eq!(ada.request("resources/unsubscribe", &one).result(), json!({}));
    // The server answers in order, so it would have heard by now.
    eve.call("a__touch", &json!({})).good();
    assert_eq!(ended(), [] as [Value; 0], "bob follows it still");
    bob.notification("notifications/resources/updated", "demo://1");
    eve.request("ping", &json!({}));
    ada.request("ping", &json!({}));
    let heard = ada.unread();
    assert!(
        heard.iter().all(|it| it.method() != Some("notifications/resources/updated")),
        "{heard:?}"
    );
    assert_eq!(bob.request("resources/unsubscribe", &one).result(), json!({}));
    until("the server hears of it", || ended() == [one.clone()]);
    drop(bob);
    until("the server hears of the other", || ended() == [one.clone(), two.clone()]);
    assert_eq!(eve.request("resources/unsubscribe", &json!({})).error().0, INVALID_PARAMS);
    let events = records(&rig.place);
    let events = events.iter().filter(|it| it["arguments"]["event"] == "unsubscribed");
    assert_eq!(events.count(), 2, "what a client ended is recorded");
}

/// What discovery does not offer in a revision is not served in it.
#[test]
fn the_newest_revision_has_no_subscriptions() {
    let rig = Rig::new(&["demo://1"]);
    let mut proxy = rig.start_silent(&["resources/read", "resources/subscribe"]);
    let envelope = |capabilities: bool| {
        let mut meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
        if capabilities {
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        json!({"_meta": meta, "uri": "demo://1"})
    };
    let discovered = proxy.request("server/discover", &envelope(true)).result();
    assert_eq!(discovered["capabilities"]["resources"]["subscribe"], false, "{discovered}");
    assert_eq!(proxy.request("server/discover", &envelope(false)).error().0, INVALID_PARAMS);
    proxy.request("resources/read", &envelope(true)).result();
    for method in ["resources/subscribe", "resources/unsubscribe"] {
        assert_eq!(proxy.request(method, &envelope(true)).error().0, METHOD_NOT_FOUND, "{method}");
    }
    assert_eq!(rig.received("a", "resources/subscribe"), [] as [Value; 0]);
    proxy.finish();
}

#[test]
fn only_who_subscribed_hears_of_a_resource() {
    let rig = Rig::new(&["demo://1"]);
    let (_proxy, socket) = shared(&rig, &["resources/read", "resources/subscribe"]);
    let (mut ada, mut bob) = (Caller::begin(&socket, "ada"), Caller::begin(&socket, "bob"));
    ada.request("resources/subscribe", &json!({"uri": "demo://1"})).result();
    bob.call("a__touch", &json!({})).good();
    ada.notification("notifications/resources/updated", "demo://1");
    bob.request("ping", &json!({}));
    let heard = bob.unread();
    assert!(
        heard.iter().all(|it| it.method() != Some("notifications/resources/updated")),
        "{heard:?}"
    );
    until("it is recorded", || {
        records(&rig.place).iter().any(|it| it["tool"] == "resources/subscribe")
    });
}
