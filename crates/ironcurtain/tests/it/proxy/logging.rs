//! How much servers log: as much as any client wants, and no client hears more than it asked for.

use std::path::Path;

use ic_testkit::{Caller, Place, Proxy};
use serde_json::{Value, json};

use super::{python, until};
use crate::{alone, place};

const LEVEL: &str = "io.modelcontextprotocol/logLevel";
const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// A proxy on a socket, with a server that says nothing until it was told how much.
struct Talk {
    place: Place,
    _proxy: Proxy,
}

impl Talk {
    fn with(word: &str) -> Self {
        let place = place();
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers");
        let directory = place.dir("talker");
        let words = ["-S", "-B", scripts.join("talker.py").to_str().unwrap()]
            .map(str::to_owned)
            .into_iter()
            .chain([directory.to_str().unwrap().to_owned(), word.to_owned()]);
        let cage = json!({"filesystem": {"allowRead": [scripts], "allowWrite": [directory]}});
        let entry =
            json!({"command": python(), "args": words.collect::<Vec<_>>(), "sandbox": cage});
        place.write("servers.json", alone(json!({"t": entry})).to_string());
        let tools = json!([{"toolName": "say", "args": {"word": ["none"]}},
            {"toolName": "die", "args": {}}]);
        place.write(
            "policy/tool-annotations.json",
            json!({"servers": {"t": {"tools": tools}}}).to_string(),
        );
        let rule = json!({"name": "all", "if": {}, "then": "allow", "reason": "a test"});
        place.write("policy/compiled-policy.json", json!({"rules": [rule]}).to_string());
        let path = |name: &str| place.path(name).to_str().unwrap().to_owned();
        let words = [
            ("--policy", path("policy")),
            ("--servers", path("servers.json")),
            ("--socket", path("sockets/s")),
        ];
        let words: Vec<&str> = words.iter().flat_map(|(key, value)| [*key, value]).collect();
        let proxy = Proxy::start(&place, &words);
        Self { place, _proxy: proxy }
    }

    fn client(&self, name: &str) -> Caller {
        Caller::begin(&self.place.path("sockets/s"), name)
    }

    /// Returns each request that the server received.
    fn received(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.place.path("talker/received")).unwrap_or_default();
        let messages = text.lines().map(|line| serde_json::from_str(line).unwrap());
        messages.filter(|it: &Value| it.get("id").is_some()).collect()
    }

    /// Returns the levels that the server was told.
    fn told(&self) -> Vec<String> {
        let received = self.received().into_iter();
        let levels = received.filter(|it| it["method"] == "logging/setLevel");
        levels.map(|it| it["params"]["level"].as_str().unwrap().to_owned()).collect()
    }
}

#[track_caller]
fn set(client: &mut Caller, level: &str) {
    assert_eq!(client.request("logging/setLevel", &json!({"level": level})).result(), json!({}));
}

/// Lets the server say a word at every level that it was told; returns how many that were.
#[track_caller]
fn say(client: &mut Caller, word: &str) -> String {
    client.call("t__say", &json!({"word": word})).good()
}

/// Checks that the client has heard the word at these levels.
#[track_caller]
fn check_heard(client: &mut Caller, word: &str, expected: &[&str]) {
    // It comes last, and everybody wants to hear it.
    let last = client.notification("notifications/message", &format!("emergency {word}."));
    let mut heard: Vec<String> = client.unread().into_iter().map(|it| it.line).collect();
    heard.push(last.line);
    let levels: Vec<&str> = LEVELS
        .into_iter()
        .filter(|level| heard.iter().any(|it| it.contains(&format!("{level} {word}."))))
        .collect();
    assert_eq!(levels, expected, "{word}");
}

#[test]
fn a_server_hears_the_lowest_level_that_any_client_wants() {
    let talk = Talk::with("");
    let (mut ada, mut bob) = (talk.client("ada"), talk.client("bob"));
    // Nobody has said anything, so the server is as it would be without us.
    assert_eq!(say(&mut ada, "first"), "said 0");
    assert_eq!(talk.told(), [] as [&str; 0]);
    // Whoever has set none hears warnings.
    set(&mut ada, "error");
    assert_eq!(say(&mut ada, "second"), "said 5");
    check_heard(&mut ada, "second", &LEVELS[4..]);
    check_heard(&mut bob, "second", &LEVELS[3..]);
    set(&mut bob, "debug");
    assert_eq!(say(&mut ada, "third"), "said 8");
    check_heard(&mut ada, "third", &LEVELS[4..]);
    check_heard(&mut bob, "third", &LEVELS);
    assert_eq!(talk.told(), ["warning", "debug"]);
    // What nobody wants any more is not said any more.
    drop(bob);
    until("the server hears that nobody wants it", || talk.told() == ["warning", "debug", "error"]);
    assert_eq!(say(&mut ada, "fourth"), "said 4");
    // What does not change is not said again.
    set(&mut ada, "error");
    say(&mut ada, "fifth");
    assert_eq!(talk.told().len(), 3);
}

#[test]
fn a_server_that_starts_hears_it_before_it_is_called() {
    let talk = Talk::with("");
    let mut ada = talk.client("ada");
    set(&mut ada, "notice");
    assert_eq!(say(&mut ada, "first"), "said 6");
    ada.call("t__die", &json!({})).bad();
    until("it is there again", || {
        let answer = ada.call("t__say", &json!({"word": "again"})).result();
        // Nothing is lost while it starts: the first call that it gets finds the level set.
        assert_ne!(answer["content"][0]["text"], "said 0");
        answer["content"][0]["text"] == "said 6"
    });
    assert_eq!(talk.told(), ["notice", "notice"]);
}

/// In the newest revision each request says it, and a server that is told nothing has to be silent.
#[test]
fn a_server_of_the_newest_revision_hears_it_with_each_request() {
    let talk = Talk::with("modern");
    let mut ada = talk.client("ada");
    assert_eq!(say(&mut ada, "first"), "said 5");
    check_heard(&mut ada, "first", &LEVELS[3..]);
    set(&mut ada, "debug");
    assert_eq!(say(&mut ada, "second"), "said 8");
    check_heard(&mut ada, "second", &LEVELS);
    let calls = talk.received().into_iter().filter(|it| it["method"] == "tools/call");
    let levels: Vec<Value> = calls.map(|mut it| it["params"]["_meta"][LEVEL].take()).collect();
    assert_eq!(levels, ["warning", "debug"]);
    assert_eq!(talk.told(), [] as [&str; 0], "there is no such request any more");
}
