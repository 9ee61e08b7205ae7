//! What servers ask of clients: refused, or asked about, passed on once, answered, and taken back.
//!
//! The server is `tests/servers/asking.py`, which does what each call tells it to; the client's side and
//! the person are played here.

mod ends;
mod floods;
mod forms;
mod public;
mod whom;

use std::path::Path;

use ic_testkit::Proxy;
use ic_testkit::proxy::{Message, records};
use serde_json::{Value, json};

use super::{Desk, approve, deny};
use crate::proxy::python;

/// A desk, and arguments for a proxy with servers that ask.
struct World {
    desk: Desk,
    arguments: Vec<String>,
}

/// What the entry of a server that may ask holds besides.
fn may_ask() -> Value {
    json!({"allowSampling": true, "allowElicitation": true})
}

impl World {
    /// A world with a server `asker`, in whose entry `more` stands.
    fn new(more: &Value) -> Self {
        Self::at(Desk::new(), more)
    }

    fn at(desk: Desk, more: &Value) -> Self {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers");
        let directory = desk.place.dir("asker");
        let cage = json!({"filesystem": {"allowRead": [scripts], "allowWrite": [directory]}});
        let mut entry = json!({"command": python(), "sandbox": cage, "args":
            ["-S", "-B", scripts.join("asking.py"), directory]});
        for (key, value) in more.as_object().unwrap() {
            entry[key] = value.clone();
        }
        let servers = json!({"asker": entry});
        let names = ["send", "wait", "late", "die", "change", "later", "mute"];
        let roles: Value =
            names.into_iter().map(|name| (name.to_owned(), json!(["none"]))).collect();
        let annotations = json!({"servers": {"asker": {"tools": [
            {"toolName": "script", "args": roles}]}}});
        // It lets everything through, and what a server asks for itself all the same not.
        let rules =
            json!({"rules": [{"name": "all", "if": {}, "then": "allow", "reason": "free"}]});
        desk.place.write("policy/compiled-policy.json", rules.to_string());
        desk.place.write("policy/tool-annotations.json", annotations.to_string());
        let file = desk.place.write("servers.json", servers.to_string());
        let policy = desk.place.path("policy");
        let words = ["--policy", policy.to_str().unwrap(), "--servers", file.to_str().unwrap()];
        let arguments = words.map(str::to_owned).to_vec();
        Self { desk, arguments }
    }

    /// Starts a proxy whose client says that it can be asked both.
    fn start(&self) -> Proxy {
        self.start_as(&json!({"sampling": {}, "elicitation": {}}))
    }

    fn start_as(&self, capabilities: &Value) -> Proxy {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let mut proxy = Proxy::start(&self.desk.place, &arguments);
        proxy.request(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
                "clientInfo": {"name": "test", "version": "1"}}),
        );
        proxy.notify("notifications/initialized", &json!({}));
        proxy
    }

    /// Returns what the server received.
    fn received(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.desk.place.path("asker/received"));
        let text = text.unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the records about what the server itself asked, as kind, verdict, rule and reason.
    fn recorded(&self) -> Vec<Value> {
        let of_it = |it: &Value| {
            matches!(it["tool"].as_str(), Some("sampling/createMessage" | "elicitation/create"))
        };
        records(&self.desk.place).into_iter().filter(of_it).collect()
    }

    /// Returns why what servers asked for was refused without a question, as far as recorded.
    fn refusals(&self) -> Vec<String> {
        let refused = records(&self.desk.place)
            .into_iter()
            .filter(|it| it["kind"] == "intent" && it["rule"] == "structural-unknown-method");
        refused.map(|it| it["reason"].as_str().unwrap().to_owned()).collect()
    }
}

/// A request for an answer of the model.
fn sampling(id: &Value, text: &str) -> Value {
    json!({"id": id, "method": "sampling/createMessage", "params": {"maxTokens": 9, "messages":
        [{"role": "user", "content": {"type": "text", "text": text}}]}})
}

/// A request for an answer of the person.
fn form(id: &Value, text: &str) -> Value {
    json!({"id": id, "method": "elicitation/create", "params": {"message": text, "requestedSchema":
        {"type": "object", "properties": {"name": {"type": "string"}, "api_key": {"type": "string",
            "description": "for the cloud"}}, "required": ["name"]}}})
}

/// Tells the server to send these, and to wait for so many answers.
fn script(proxy: &mut Proxy, send: &[Value], wait: usize) -> String {
    proxy.ask_call("asker__script", &json!({"send": send, "wait": wait}))
}

/// Returns the answers that the server got, once it has them all.
#[track_caller]
fn answers(proxy: &mut Proxy, id: &str) -> Vec<Value> {
    serde_json::from_str(&proxy.answer(id).good()).unwrap()
}

/// Waits until the client is asked.
#[track_caller]
fn asked(proxy: &mut Proxy, method: &str) -> Message {
    proxy.notification(method, "")
}

/// Answers as the client.
#[track_caller]
fn reply(proxy: &mut Proxy, asked: &Message, result: &Value) {
    let id = asked.json()["id"].take();
    proxy.send_line(&json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string());
}

fn said(text: &str) -> Value {
    json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": text}})
}

#[test]
fn what_a_person_approves_is_asked_and_answered() {
    let mut world = World::new(&may_ask());
    let mut proxy = world.start();
    let id = script(&mut proxy, &[sampling(&json!("q"), "what is it?")], 1);
    let question = world.desk.question();
    assert_eq!(question.request().rule, "structural-server-request");
    // Nothing has left yet, and what is asked about is recorded.
    assert!(proxy.unread().is_empty());
    approve(&question);
    let request = asked(&mut proxy, "sampling/createMessage");
    let params = sampling(&json!("q"), "what is it?")["params"].take();
    let sent = request.json()["params"].take();
    assert_eq!(sent["systemPrompt"], "[from the server `asker`] It wrote what follows.");
    assert_eq!(
        (&sent["messages"], &sent["maxTokens"]),
        (&params["messages"], &params["maxTokens"])
    );
    let mut model = said("a pipe");
    model["_meta"] = json!({"client": "secret"});
    reply(&mut proxy, &request, &model);
    let expected = json!([{"jsonrpc": "2.0", "id": "q", "result": said("a pipe")}]);
    let mut came = Value::from(answers(&mut proxy, &id));
    // In the order in which the client wrote it; what it is must be the same.
    assert_eq!(came[0]["result"].take(), expected[0]["result"]);

    let id = script(&mut proxy, &[form(&json!(7), "who are you?")], 1);
    approve(&world.desk.question());
    let request = asked(&mut proxy, "elicitation/create");
    let sent = request.json()["params"].take();
    assert_eq!(sent["message"], "[from the server `asker`] who are you?");
    let filled = json!({"action": "accept", "content": {"name": "Ada"}});
    reply(&mut proxy, &request, &filled);
    assert_eq!(answers(&mut proxy, &id)[0]["result"], filled);
    proxy.finish();

    let kinds: Vec<String> = world
        .recorded()
        .iter()
        .map(|it| format!("{} {}", it["kind"].as_str().unwrap(), it["verdict"]))
        .collect();
    let each = [
        "intent \"escalate\"",
        "escalation \"escalate\"",
        "escalation \"allow\"",
        "intent \"allow\"",
        "outcome null",
    ];
    assert_eq!(kinds, [each, each].concat());
    for record in world.recorded() {
        assert_eq!(record["server"], "asker");
        if record["kind"] == "outcome" {
            // What a person types could be found out from its digest by trying.
            let has_digest = record["tool"] == "sampling/createMessage";
            assert_eq!(record["resultDigest"].is_string(), has_digest, "{record}");
            assert!(record["resultBytes"].is_number());
        }
    }
    // Only what its entry allows was announced to it.
    let capabilities = &world.received()[0]["params"]["capabilities"];
    let roots = json!({"listChanged": false});
    assert_eq!(*capabilities, json!({"roots": roots, "sampling": {}, "elicitation": {}}));
    world.desk.check_log();
}

#[test]
fn a_server_whose_entry_does_not_say_so_asks_nobody() {
    for (more, announced) in [
        (json!({}), json!({"roots": {"listChanged": false}})),
        (json!({"allowSampling": true}), json!({"roots": {"listChanged": false}, "sampling": {}})),
        (
            json!({"allowElicitation": true, "allowSampling": false}),
            json!({"roots": {"listChanged": false}, "elicitation": {}}),
        ),
    ] {
        let mut world = World::new(&more);
        let mut proxy = world.start();
        for (message, key) in [
            (sampling(&json!(1), "x"), "allowSampling"),
            (form(&json!(2), "x"), "allowElicitation"),
        ] {
            if more[key] == json!(true) {
                continue;
            }
            let id = script(&mut proxy, &[message], 1);
            assert_eq!(answers(&mut proxy, &id)[0]["error"]["code"], -32601);
        }
        assert_eq!(world.received()[0]["params"]["capabilities"], announced);
        assert!(world.desk.pending().is_empty() && world.recorded().is_empty());
        assert!(proxy.unread().is_empty());
        proxy.finish();
    }
}

#[test]
fn a_no_is_told_to_the_server_and_the_client_hears_nothing() {
    let mut world = World::new(&may_ask());
    let mut proxy = world.start();
    let id = script(&mut proxy, &[form(&json!(1), "x")], 1);
    deny(&world.desk.question());
    let error = answers(&mut proxy, &id)[0]["error"].take();
    assert_eq!(error["code"], -32000);
    assert!(
        error["message"].as_str().unwrap().starts_with("ESCALATION DENIED: the user denied it")
    );
    // What was denied is not asked again.
    let id = script(&mut proxy, &[form(&json!(2), "x")], 1);
    let error = answers(&mut proxy, &id)[0]["error"].take();
    assert!(error["message"].as_str().unwrap().contains("is not asked again"), "{error}");
    assert!(proxy.unread().is_empty());
    proxy.finish();
    world.desk.check_log();
}

#[test]
fn without_anybody_or_in_vain_it_is_refused() {
    let world = World::at(Desk::empty(), &may_ask());
    let mut proxy = world.start();
    let id = script(&mut proxy, &[sampling(&json!(1), "x")], 1);
    let error = answers(&mut proxy, &id)[0]["error"].take();
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("ESCALATION REQUIRED: "), "{message}");
    assert!(message.ends_with("(no escalation handler)."), "{message}");
    assert!(proxy.unread().is_empty());
    proxy.finish();

    let world = World::at(Desk::new().timeout(1), &may_ask());
    let mut proxy = world.start();
    let id = script(&mut proxy, &[sampling(&json!(1), "x")], 1);
    let error = answers(&mut proxy, &id)[0]["error"].take();
    assert!(error["message"].as_str().unwrap().starts_with("ESCALATION EXPIRED: "), "{error}");
    assert!(proxy.unread().is_empty());
    proxy.finish();
}
