//! Recorded calls: judged by another policy, and rules that are proposed for what was approved.

use ic_policy::artifact::Source;
use ic_policy::{Builtin, Policy, record};
use ic_testkit::{Place, Proxy};
use ic_types::{CanonicalPath, Json, JsonLimits, Object};
use serde_json::{Value, json};

use super::parsed;
use crate::place;

/// Makes 1,000 calls of many kinds, and returns them as `policy check` reads them.
fn mixed_calls(place: &Place) -> Vec<Value> {
    let home = place.path("home").to_str().unwrap().to_owned();
    let call = |server: &str, tool: &str, arguments: Value| json!({"server": server, "tool": tool, "arguments": arguments});
    let one = |at: usize| {
        let file = |directory: &str| format!("{home}/{directory}/f{at}.txt");
        match at % 10 {
            0 => call("filesystem", "read_file", json!({"path": file("Documents")})),
            1 => call("filesystem", "read_file", json!({"path": format!("/etc/f{at}")})),
            2 => {
                call("filesystem", "write_file", json!({"path": file("Downloads"), "content": "x"}))
            }
            3 => call("filesystem", "write_file", json!({"path": file("other"), "content": "x"})),
            4 => call("filesystem", "read_file", json!({"path": file(".ssh")})),
            5 => call("filesystem", "delete_file", json!({"path": file("Downloads")})),
            6 => call("filesystem", "list_directory", json!({"path": format!("{home}/d{at}")})),
            7 => call(
                "filesystem",
                "write_file",
                json!({"path": format!("{home}/p{at}/.envrc"), "content": "x"}),
            ),
            8 => call("fetch", "http_fetch", json!({"url": format!("https://h{at}.example/")})),
            _ => call(
                "filesystem",
                "move_file",
                json!({"source": file("Documents"), "destination": file("Downloads")}),
            ),
        }
    };
    (0..1000).map(one).collect()
}

#[test]
fn replaying_a_session_equals_calling_each_of_its_calls() {
    let place = place();
    for directory in ["Documents", "Downloads", "other"] {
        place.dir(format!("home/{directory}"));
    }
    let calls = mixed_calls(&place);
    let mut proxy = Proxy::start(&place, &["--session", "mixed"]);
    proxy.initialize();
    for call in &calls {
        let (server, tool) = (call["server"].as_str().unwrap(), call["tool"].as_str().unwrap());
        drop(proxy.call(&format!("{server}__{tool}"), &call["arguments"]));
    }
    proxy.finish();
    let replay = |words: &[&str]| {
        let words: Vec<&str> =
            ["policy", "replay", "--json", "mixed"].iter().chain(words).copied().collect();
        let output = place.run(words);
        assert_eq!(output.code, 0, "{output:?}");
        parsed(&output.stdout)
    };
    let own = replay(&[]);
    assert_eq!(
        (&own["calls"], &own["changed"], &own["unknown"]),
        (&json!(1000), &json!(0), &json!(0)),
        "{own}"
    );
    let other = replay(&["--policy", "readonly"]);
    assert_eq!((&other["calls"], &other["unknown"]), (&json!(1000), &json!(0)), "{other}");

    let requests: String = calls.iter().map(|it| format!("{it}\n")).collect();
    let sandbox = place.sessions().pop().unwrap().join("sandbox");
    let check = |policy: &str| {
        let words = [
            "policy",
            "check",
            "--policy",
            policy,
            "--sandbox",
            sandbox.to_str().unwrap(),
            "--requests",
            "-",
        ];
        let output = place.run_with_input(words, requests.as_bytes());
        assert_eq!(output.code, 0, "{}", output.stderr);
        let decisions =
            output.stdout.lines().map(|it| parsed(it)["decision"].as_str().unwrap().to_owned());
        decisions.collect::<Vec<String>>()
    };
    let (before, after) = (check("default"), check("readonly"));
    let n_changed = before.iter().zip(&after).filter(|(one, other)| one != other).count();
    assert!(0 < n_changed && other["changed"] == json!(n_changed), "{n_changed}: {other}");
    for group in other["changes"].as_array().unwrap() {
        let is_one = |(at, call): &(usize, &Value)| {
            call["tool"] == group["tool"]
                && group["before"] == json!(before[*at])
                && group["after"] == json!(after[*at])
        };
        assert!(calls.iter().enumerate().any(|it| is_one(&it)), "{group}");
    }

    let diff = place.run(["policy", "diff", "--exit-code", "session:mixed", "default"]);
    assert_eq!(diff.code, 0, "{}", diff.stdout);
    let diff = place.run(["policy", "diff", "--exit-code", "session:mixed", "readonly"]);
    assert_eq!(diff.code, 1, "{}", diff.stdout);
    assert!(diff.stdout.starts_with("From the policy of session `mixed` to"), "{}", diff.stdout);
}

/// Writes the log of a session in which calls were asked about and answered.
struct Log {
    policy: Policy,
    lines: Vec<String>,
}

impl Log {
    fn new(place: &Place) -> Self {
        let locate = |text: &str| {
            CanonicalPath::new(text.replace('~', "/h").replace("${SANDBOX}", "/s"))
                .map_err(|it| it.to_string())
        };
        let sources = Builtin::Default.sources();
        let _: Source<'_> = sources.compiled;
        let policy = Policy::load(&sources, &locate).unwrap();
        let sandbox = place.path("home/.ironcurtain/sessions/none/sandbox");
        let opened = json!({"kind": "session", "arguments": {"event": "opened", "sandbox": sandbox, "sandboxKind": "session"}});
        Self { policy, lines: vec![opened.to_string()] }
    }

    fn call(
        &mut self,
        (server, tool): (&str, &str),
        arguments: &Value,
        resolved: &Value,
        answer: &str,
    ) {
        let object: Object =
            match Json::parse(arguments.to_string().as_bytes(), JsonLimits::CALL).unwrap() {
                Json::Object(object) => object,
                other => panic!("{other}"),
            };
        let annotation =
            self.policy.annotation(&server.parse().unwrap(), &tool.parse().unwrap()).unwrap();
        let meaning = record::meaning(&annotation.places(&object));
        let request = format!("r-{}", self.lines.len());
        let common = json!({
            "server": server, "tool": tool, "requestId": request, "timestamp": "2026-11-18T00:00:00.000Z",
            "policyHash": "0".repeat(64), "rule": "r", "arguments": arguments, "resolved": resolved,
            "behind": {"roles": meaning}, "replayable": true, "kind": "intent",
        });
        let with = |pairs: &[(&str, &str)]| {
            let mut record = common.clone();
            for (key, value) in pairs {
                record[*key] = json!(value);
            }
            record.to_string()
        };
        match answer {
            "allowed" => self.lines.push(with(&[("verdict", "allow"), ("decidedBy", "policy")])),
            "approved" | "granted" => {
                let by = if answer == "granted" { "grant" } else { "listener" };
                self.lines.push(with(&[("verdict", "escalate"), ("decidedBy", "policy")]));
                self.lines.push(with(&[("verdict", "allow"), ("decidedBy", by)]));
            }
            _ => {
                self.lines.push(with(&[("verdict", "escalate"), ("decidedBy", "policy")]));
                self.lines.push(with(&[
                    ("kind", "escalation"),
                    ("verdict", "deny"),
                    ("decidedBy", "listener"),
                ]));
            }
        }
    }

    fn read(&mut self, path: &str, answer: &str) {
        let resolved = json!({"read-path": [{"path": path, "kind": "file"}]});
        self.call(("filesystem", "read_file"), &json!({"path": path}), &resolved, answer);
    }

    fn write(&mut self, path: &str, answer: &str) {
        let resolved = json!({"write-path": [{"path": path}]});
        self.call(
            ("filesystem", "write_file"),
            &json!({"path": path, "content": "x"}),
            &resolved,
            answer,
        );
    }

    fn fetch(&mut self, host: &str, page: usize, answer: &str) {
        let url = format!("https://{host}/{page}");
        let resolved = json!({"fetch-url": [{"url": url, "destination": host}]});
        self.call(("fetch", "http_fetch"), &json!({"url": url}), &resolved, answer);
    }
}

/// 500 calls, 60 of them approved, by an agent that also tries to be proposed more than it should get.
#[test]
fn what_was_approved_is_proposed_and_nothing_more() {
    let place = place();
    let directory = |name: &str| place.dir(format!("home/{name}")).to_str().unwrap().to_owned();
    let [notes, refused, single, hidden] =
        ["notes", "refused", "single", ".config/app"].map(directory);
    let spread = directory("spread");
    let home = place.path("home").to_str().unwrap().to_owned();
    let mut log = Log::new(&place);
    for at in 0..10 {
        log.read(&format!("{notes}/n{at}.md"), "approved");
        log.fetch("docs.example", at, "approved");
        log.read(&format!("{single}/same.txt"), "approved");
        // One directory each, to be offered the one above them.
        log.read(&format!("{spread}/d{at}/f.txt"), "approved");
    }
    for at in 0..5 {
        log.read(&format!("{home}/h{at}.txt"), "approved");
        log.read(&format!("{hidden}/c{at}"), "approved");
        log.read(&format!("{refused}/f{at}"), "approved");
        log.write(&format!("{notes}/p{at}/.envrc"), "approved");
    }
    log.read(&format!("{refused}/secret/key"), "refused");
    for at in 0..20 {
        log.read(&format!("{spread}/granted/f{at}"), "granted");
    }
    for at in 0..419 {
        log.read(&format!("{home}/Documents/a{at}"), "allowed");
    }
    let text: String = log.lines.iter().map(|it| format!("{it}\n")).collect();
    place.write("session/audit.jsonl", text);
    let log = place.path("session/audit.jsonl").to_str().unwrap().to_owned();
    let output = place.run(["policy", "suggest", "--json", &log]);
    assert_eq!(output.code, 0, "{output:?}");
    let found = parsed(&output.stdout);
    let commands: Vec<&str> = found["proposals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["command"].as_str().unwrap())
        .collect();
    assert_eq!(
        commands,
        [
            "ironcurtain policy allow fetch.http_fetch --to fetch --host https://docs.example",
            "ironcurtain policy allow filesystem.read_file --to read --in ~/notes",
        ],
        "{found}"
    );
    check_sentences(&found);
    for proposal in found["proposals"].as_array().unwrap() {
        assert_eq!(proposal["requestsSaved"], 10, "{proposal}");
        assert!(!proposal["allows"].as_array().unwrap().is_empty(), "{proposal}");
    }
    let not: Vec<&str> = found["notProposed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["what"].as_str().unwrap())
        .collect();
    for what in ["~/single", "~/refused", "~/.config/app", "in ~,"] {
        assert!(not.iter().any(|it| it.contains(what)), "{what}: {found}");
    }
    assert_eq!(found["alwaysAsked"], 5, "{found}");
    let shown = place.run(["policy", "suggest", &log]).stdout;
    assert!(shown.contains("would have saved 10 approval requests"), "{shown}");
}

#[track_caller]
fn check_sentences(found: &Value) {
    let sentences: Vec<&Value> =
        found["proposals"].as_array().unwrap().iter().map(|it| &it["sentence"]).collect();
    assert_eq!(
        sentences,
        [
            "The agent may fetch pages from https://docs.example with http_fetch of fetch.",
            "The agent may read files in ~/notes with read_file of filesystem.",
        ]
    );
}

/// The record of the answer and that of the call are about one call.
#[test]
fn an_approved_call_is_counted_once_before_a_change() {
    let place = place();
    let notes = place.dir("home/notes").to_str().unwrap().to_owned();
    let mut log = Log::new(&place);
    for at in 0..3 {
        log.read(&format!("{notes}/n{at}.md"), "approved");
    }
    log.read(&format!("{notes}/n3.md"), "refused");
    let text: String = log.lines.iter().map(|it| format!("{it}\n")).collect();
    place.write("home/.ironcurtain/sessions/20261118T000000Z-aaaaaa/audit.jsonl", text);
    let words = ["policy", "allow", "filesystem", "--to", "read", "--in", "~/notes", "--dry-run"];
    let output = place.run(words);
    assert_eq!(output.code, 0, "{output:?}");
    let expected = "recorded calls: 4 of 4 would be judged differently\n";
    assert!(output.stdout.contains(expected), "{}", output.stdout);
    assert!(!output.stdout.contains("times)"), "{}", output.stdout);
}

/// What cannot be read is not left out in silence: the counts would look complete.
#[test]
fn lines_that_are_no_records_are_counted() {
    let place = place();
    let text = "\u{0}junk\n{\"a\":1}\n{\"kind\":\"intent\",\"server\":7}\n{\"kind\":\"result\"}\n";
    let file = place.write("broken.jsonl", text);
    let output = place.run(["policy", "replay", file.to_str().unwrap()]);
    assert_eq!(output.code, 0, "{output:?}");
    let expected = "3 lines of the logs cannot be read, and calls in them are not counted";
    assert!(output.stderr.contains(expected), "{output:?}");
}
