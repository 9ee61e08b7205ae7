//! The official TypeScript SDK's own server for streamable HTTP, as a server on another machine.

use std::io::{BufRead as _, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};

use ic_testkit::web::Identity;
use ic_testkit::{Place, Proxy};
use serde_json::{Value, json};

use crate::clients::Packages;
use crate::{alone, place};

/// No test leaves a server behind, also if it fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A server that runs, and a place that believes its certificate.
pub(crate) struct Official {
    pub(crate) place: Place,
    pub(crate) port: String,
    lines: Lines<BufReader<ChildStdout>>,
    _running: Running,
}

impl Official {
    pub(crate) fn start(packages: &Packages) -> Self {
        let identity = Identity::new();
        let place = place();
        let certificate = place.write("certificate.pem", &identity.certificate);
        let key = place.write("key.pem", &identity.key);
        let authority = place.write("authority.pem", &identity.authority);
        let place = place.with_variable("SSL_CERT_FILE", authority.to_str().unwrap());
        let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/clients/typescript_server.mjs");
        let mut child = Command::new(packages.0.join("bin/node"))
            .args([&script, &certificate, &key])
            .env("PACKAGES", &packages.0)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let running = Running(child);
        let port = lines.next().unwrap().unwrap();
        Self { place, port, lines, _running: running }
    }

    /// Writes a policy that lets everything through, and an entry with `more` in it; returns the
    /// arguments of a proxy.
    pub(crate) fn configure(&self, more: &Value) -> Vec<String> {
        let Self { place, port, .. } = self;
        let mut entry = json!({"url": format!("https://localhost:{port}/mcp"),
            "allowedDomains": [format!("localhost:{port}")]});
        for (key, value) in more.as_object().unwrap() {
            entry[key] = value.clone();
        }
        place.write("servers.json", alone(json!({"far": entry})).to_string());
        let tool = |name: &str| json!({"toolName": name, "args": {"text": ["none"]}});
        let tools =
            ["echo", "steps", "wait", "sample", "elicit", "cut", "murmur", "hush"].map(tool);
        place.write(
            "policy/tool-annotations.json",
            json!({"servers": {"far": {"tools": tools}}}).to_string(),
        );
        let rule = json!({"name": "all", "if": {}, "then": "allow", "reason": "a test"});
        place.write("policy/compiled-policy.json", json!({"rules": [rule]}).to_string());
        let path = |name: &str| place.path(name).display().to_string();
        place.dir("sandbox");
        let (policy, sandbox, servers) = (path("policy"), path("sandbox"), path("servers.json"));
        ["--policy", &policy, "--sandbox", &sandbox, "--servers", &servers]
            .map(str::to_owned)
            .into()
    }
}

#[test]
fn the_server_of_the_typescript_sdk_is_talked_to() {
    let Some(packages) = Packages::find() else { return };
    let mut official = Official::start(&packages);
    let words = official.configure(&json!({}));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (place, lines) = (&official.place, &mut official.lines);
    let mut proxy = Proxy::start(place, &words);
    proxy.initialize();

    assert_eq!(proxy.call("far__echo", &json!({"text": "grüße 😀"})).good(), "grüße 😀");
    let id = proxy.ask(
        "tools/call",
        &json!({"name": "far__steps", "arguments": {"text": "x"},
        "_meta": {"progressToken": "mine"}}),
    );
    proxy.notification("notifications/progress", "\"mine\"");
    assert_eq!(proxy.answer(&id).good(), "stepped x");

    let id = proxy.ask_call("far__wait", &json!({"text": "long"}));
    // That somebody listens may be said at any time.
    let said = |lines: &mut Lines<BufReader<ChildStdout>>| {
        lines.map(Result::unwrap).find(|it| !it.starts_with("listens")).unwrap()
    };
    assert_eq!(said(lines), "waits");
    let number: u64 = id.parse().unwrap();
    proxy.notify("notifications/cancelled", &json!({"requestId": number}));
    assert_eq!(said(lines), "was cancelled");
    proxy.finish();
    assert_eq!(said(lines), "session ended");
    let verified = place.run(["audit", "verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
}

/// Streams of both kinds that end in the middle go on where they were, with the event ids of a real server.
#[test]
fn streams_of_the_typescript_sdk_are_resumed_where_they_ended() {
    let Some(packages) = Packages::find() else { return };
    let mut official = Official::start(&packages);
    let words = official.configure(&json!({}));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (place, lines) = (&official.place, &mut official.lines);
    let mut proxy = Proxy::start(place, &words);
    proxy.initialize();
    let mut said = || lines.next().unwrap().unwrap();

    // What belongs to no request.
    assert_eq!(proxy.call("far__echo", &json!({"text": "x"})).good(), "x");
    assert_eq!(said(), "listens after nothing");
    proxy.call("far__murmur", &json!({"text": "first words"})).good();
    proxy.notification("notifications/message", "first words");
    proxy.call("far__hush", &json!({"text": "last words"})).good();
    proxy.notification("notifications/message", "last words");
    let listens = said();
    assert!(listens.starts_with("listens after event-"), "{listens}");

    // The answer to a request.
    let answer = proxy.call("far__cut", &json!({"text": "grüße"}));
    assert_eq!(answer.good(), "heard after all: grüße");
    proxy.finish();
    let rest: Vec<String> =
        lines.map(Result::unwrap).take_while(|it| it != "session ended").collect();
    assert_eq!(rest.iter().filter(|it| *it == "cut").count(), 1, "nothing is sent twice: {rest:?}");
    let resumed = rest.iter().filter(|it| it.starts_with("listens after event-")).count();
    assert_eq!(resumed, 1, "{rest:?}");
}
