//! `ironcurtain proxy` under attack: a hostile client before it, hostile servers behind it.
//!
//! Client, proxy and servers are real processes; the servers are the scripts in `tests/servers`.
//! Nothing waits for a while: tests wait for a message or for the end of a process, with a deadline.

mod besides_tools;
mod breaker;
mod code_mode;
mod edited;
mod everything;
mod fidelity;
mod first_use;
mod heavy;
mod hostile_client;
mod hostile_results;
mod hostile_server;
mod identity;
mod in_flight;
mod lifecycle;
mod lists;
mod logging;
mod malformed;
mod records;
mod revisions;
mod secrets;
mod sockets;
mod stalled;
mod uris;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use ic_testkit::proxy::{DEADLINE, Message, Reads, audit_log, records};
use ic_testkit::{Place, Proxy};
use serde_json::{Map, Value, json};

use crate::{alone, place};

/// The tools of the scripted servers, with the role of each argument.
const TOOLS: [(&str, &[(&str, &str)]); 18] = [
    ("echo", &[("value", "none")]),
    ("add", &[("a", "none"), ("b", "none")]),
    ("slow", &[("name", "none")]),
    ("release", &[("name", "none")]),
    ("steps", &[("n", "none")]),
    ("read", &[("path", "read-path")]),
    ("rich", &[]),
    ("fail", &[]),
    ("process", &[]),
    ("forbidden", &[]),
    ("ask", &[]),
    ("do", &[("what", "none"), ("all_your_files", "none")]),
    ("later", &[]),
    ("deep", &[]),
    ("exploding", &[("what", "none")]),
    ("backtracking", &[("what", "none")]),
    ("tagged", &[]),
    ("escaped", &[]),
];

/// All that a server is ever sent, besides answers.
const SENT: [&str; 6] = [
    "initialize",
    "logging/setLevel",
    "notifications/initialized",
    "notifications/cancelled",
    "tools/list",
    "tools/call",
];

/// A place with servers, and a policy that knows their tools.
struct Rig {
    place: Place,
    servers: Map<String, Value>,
}

/// A rig with a server `rec`, which writes down what it receives.
fn rig() -> Rig {
    Rig::at(place()).recorder("rec")
}

impl Rig {
    fn at(place: Place) -> Self {
        Self { place, servers: Map::new() }
    }

    /// Adds a server that behaves and writes down what it receives.
    fn recorder(self, name: &str) -> Self {
        self.server(name, "recorder.py", &[])
    }

    /// Lets the recorder look into the log as well, which no cage shows, and somebody agree to that.
    fn with_sight_of_the_log(mut self) -> Self {
        let logs = self.place.path("home/.ironcurtain/sessions/*/audit.jsonl");
        let logs = [logs.to_str().unwrap().to_owned()];
        self = self.server("rec", "recorder.py", &logs).with("rec", "sandbox", json!(false));
        self.arguments();
        self.trust("rec");
        self
    }

    /// Lets a script agree to what a server is; returns what was shown.
    #[track_caller]
    fn trust(&self, server: &str) -> String {
        let file = self.place.path("servers.json");
        let words = ["servers", "trust", server, "--yes", "--servers", file.to_str().unwrap()];
        assert_ne!(self.place.run(words).code, 0, "nobody agreed");
        self.place.let_scripts_answer();
        let trusted = self.place.run(words);
        assert_eq!(trusted.code, 0, "{trusted:?}");
        trusted.stdout
    }

    /// Adds a server that does not behave.
    fn hostile(self, name: &str, words: &[&str]) -> Self {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        self.server(name, "hostile.py", &words)
    }

    fn server(mut self, name: &str, script: &str, words: &[String]) -> Self {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers");
        let (script, directory) = (scripts.join(script), self.place.dir(name));
        let mut arguments = vec!["-S".to_owned(), "-B".to_owned()];
        arguments.push(script.to_str().unwrap().to_owned());
        arguments.push(directory.to_str().unwrap().to_owned());
        arguments.extend_from_slice(words);
        let marker = self.place.root();
        let cage = json!({"filesystem": {"allowRead": [scripts], "allowWrite": [directory]}});
        let entry = json!({"command": python(), "args": arguments, "sandbox": cage,
            "env": {"TEST_PLACE": marker.to_str().unwrap()}});
        self.servers.insert(name.to_owned(), entry);
        self
    }

    /// Changes a server's entry in the servers file.
    fn with(mut self, server: &str, key: &str, value: Value) -> Self {
        self.servers[server][key] = value;
        self
    }

    /// Writes the policy and the servers file, and returns the proxy's arguments.
    fn arguments(&self) -> Vec<String> {
        let rule = |name: &str, condition: Value, then: &str| json!({"name": name, "if": condition, "then": then, "reason": format!("rule {name}")});
        let allowed = self.place.dir("allowed");
        let free: Vec<&str> = TOOLS
            .iter()
            .map(|(tool, _)| *tool)
            .filter(|tool| !["read", "forbidden", "ask"].contains(tool))
            .collect();
        let compiled = json!({"rules": [
            rule("no", json!({"tool": ["forbidden"]}), "deny"),
            rule("a-person", json!({"tool": ["ask"]}), "escalate"),
            rule("reads", json!({"paths": {"roles": ["read-path"], "within": allowed}}), "allow"),
            rule("free", json!({"tool": free}), "allow"),
        ]});
        let tools: Vec<Value> = TOOLS
            .iter()
            .map(|(tool, arguments)| {
                let roles: Map<String, Value> = arguments
                    .iter()
                    .map(|(name, role)| ((*name).to_owned(), json!([role])))
                    .collect();
                json!({"toolName": tool, "args": roles})
            })
            .collect();
        let servers: Map<String, Value> =
            self.servers.keys().map(|name| (name.clone(), json!({"tools": tools}))).collect();
        // Another proxy of the same place may be reading them, so what stands is left alone.
        let write = |name: &str, text: String| match std::fs::read_to_string(self.place.path(name))
        {
            Ok(known) if known == text => self.place.path(name),
            _ => self.place.write(name, text),
        };
        write("policy/compiled-policy.json", compiled.to_string());
        write("policy/tool-annotations.json", json!({"servers": servers}).to_string());
        let file = write("servers.json", alone(Value::from(self.servers.clone())).to_string());
        let policy = self.place.path("policy");
        ["--policy", policy.to_str().unwrap(), "--servers", file.to_str().unwrap()]
            .map(str::to_owned)
            .to_vec()
    }

    /// Starts a proxy to which nothing was said yet.
    fn start_silent(&self, reads: Reads) -> Proxy {
        let arguments = self.arguments();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Proxy::start_reading(&self.place, &arguments, reads)
    }

    /// Starts a proxy and begins the conversation.
    fn start(&self) -> Proxy {
        let mut proxy = self.start_silent(Reads::Everything);
        proxy.initialize();
        proxy
    }

    /// Returns the lines of a file of a server, none if it was never started.
    fn lines(&self, server: &str, file: &str) -> Vec<String> {
        let path = self.place.path(server).join(file);
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Returns the `params` of each call that the recorder received.
    fn received(&self) -> Vec<Value> {
        let lines = self.lines("rec", "received");
        let messages = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
        messages
            .filter(|it| it["method"] == "tools/call")
            .map(|mut it| it["params"].take())
            .collect()
    }

    /// Waits until a recorder has received so many calls.
    #[track_caller]
    fn wait_for_calls(&self, server: &str, n_calls: usize) {
        let is_call = |line: &&String| line.contains("\"tools/call\"");
        until("the calls arrive", || {
            self.lines(server, "received").iter().filter(is_call).count() == n_calls
        });
    }

    /// Returns what each call of a hostile server was about.
    fn calls(&self, server: &str) -> Vec<String> {
        self.lines(server, "calls")
    }

    /// Returns how often a server was started.
    fn n_starts(&self, server: &str) -> usize {
        self.lines(server, "starts").len()
    }

    fn records(&self) -> Vec<Value> {
        records(&self.place)
    }

    /// Returns the records of calls with this verdict.
    fn intents(&self, verdict: &str) -> Vec<Value> {
        let mut records = self.records();
        records.retain(|it| it["kind"] == "intent" && it["verdict"] == verdict);
        records
    }

    /// Checks that the proxy serves as if nothing had happened, and that no call came through that
    /// was not recorded as allowed.
    #[track_caller]
    fn check_unharmed(&self, proxy: &mut Proxy, after: &str) {
        check_serves(proxy, after);
        self.check_received();
    }

    /// Checks that the recorder received the calls that are recorded as allowed, and no others.
    #[track_caller]
    fn check_received(&self) {
        let mut received: Vec<(Value, Value)> = self
            .received()
            .into_iter()
            .map(|mut it| (it["name"].take(), it["arguments"].take()))
            .collect();
        let of_rec = self.intents("allow").into_iter().filter(|it| it["server"] == "rec");
        let mut recorded: Vec<(Value, Value)> =
            of_rec.map(|mut it| (it["tool"].take(), it["arguments"].take())).collect();
        // Calls run side by side, so neither order is that of the other.
        let by_text = |call: &(Value, Value)| call.1.to_string();
        received.sort_by_key(by_text);
        recorded.sort_by_key(by_text);
        assert_eq!(received, recorded, "what was received is not what is recorded as allowed");
        for line in self.lines("rec", "received") {
            assert!(line.starts_with("{\"jsonrpc\":\"2.0\","), "not our own serialisation: {line}");
            let message: Value = serde_json::from_str(&line).unwrap();
            let method = message["method"].as_str().unwrap();
            assert!(SENT.contains(&method), "no server is sent this: {line}");
        }
    }
}

/// Checks that the proxy serves as if nothing had happened.
#[track_caller]
fn check_serves(proxy: &mut Proxy, after: &str) {
    assert_eq!(proxy.request("ping", &json!({})).result(), json!({}), "after {after}");
    let text = proxy.call("rec__echo", &json!({"value": after})).good();
    assert_eq!(text, json!({"value": after}).to_string());
}

/// Waits until something has happened that nobody tells us.
#[track_caller]
pub(crate) fn until(what: &str, mut has_happened: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !has_happened() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// Returns how long something takes.
fn took(it: impl FnOnce()) -> Duration {
    let began = Instant::now();
    it();
    began.elapsed()
}

/// Checks that the same work took about as long as before.
///
/// Whoever waits for somebody else takes a hundred times as long; another load of the machine does not.
#[track_caller]
fn check_not_slower(before: Duration, meanwhile: Duration) {
    let most = before * 20 + Duration::from_secs(2);
    assert!(meanwhile < most, "{before:?} before, then {meanwhile:?}");
}

/// Returns an interpreter that servers can be started with; they have no `PATH` of the user's.
pub(crate) fn python() -> PathBuf {
    let usual = Path::new("/usr/bin/python3");
    if usual.exists() {
        return usual.to_owned();
    }
    let output = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output()
        .expect("these tests need python3 to play the servers");
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

/// Returns the names of the tools that are listed.
#[track_caller]
fn listed(proxy: &mut Proxy) -> Vec<String> {
    let result = proxy.request("tools/list", &json!({})).result();
    of_servers(&result).iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Returns the listed tools without the one that is ours and no server's, which has to be the last.
#[track_caller]
fn of_servers(result: &Value) -> Vec<Value> {
    let mut tools = result["tools"].as_array().unwrap().clone();
    assert_eq!(tools.pop().unwrap()["name"], "ironcurtain__request_approval");
    tools
}

/// Lets the tool `do` of the hostile server `bad` do something.
#[track_caller]
fn provoke(proxy: &mut Proxy, what: &str) -> Message {
    proxy.call("bad__do", &json!({"what": what}))
}

/// Returns the rule that refused a call.
#[track_caller]
fn rule_of(answer: &Message) -> String {
    let result = answer.result();
    result["structuredContent"]["ironcurtain"]["rule"].as_str().unwrap_or("none").to_owned()
}
