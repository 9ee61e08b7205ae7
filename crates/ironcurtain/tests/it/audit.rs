//! `ironcurtain audit`, on logs that the library wrote.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use ic_audit::{AuditKey, AuditLog, Entry, Kind, LogFiles, LogOptions, Redactor, SyncMode};
use ic_home::clock::SystemClock;
use ic_policy::{DecidedBy, Effect};
use ic_testkit::proxy::audit_log;
use ic_testkit::{Place, Proxy};
use ic_types::{Json, JsonLimits, Object};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::approvals::world::Rig;
use crate::place;

pub(crate) const SESSION: &str = "2026-11-15-10-00-00-000-abcd";

fn directory(place: &Place, session: &str) -> PathBuf {
    place.dir(format!("home/.ironcurtain/sessions/{session}"))
}

fn open(place: &Place, session: &str) -> AuditLog {
    let directory = directory(place, session);
    let key = place.path("home/.ironcurtain/keys/audit.key");
    place.dir("home/.ironcurtain/keys");
    let options = LogOptions {
        session: session.parse().unwrap(),
        key: AuditKey::read_or_create(&key).unwrap(),
        redactor: Arc::new(Redactor::new([])),
        clock: Arc::new(SystemClock),
        sync: SyncMode::Group,
        bytes_max: ic_audit::BYTES_MAX,
    };
    let files = LogFiles {
        log: directory.join("audit.jsonl"),
        head: directory.join("audit.head"),
        heads: None,
    };
    let mut opening = Object::new();
    opening.insert("event", "opened");
    AuditLog::open(files, options, opening).unwrap()
}

fn call(verdict: Effect, tool: &str, argument: &str) -> Entry {
    let mut arguments = Object::new();
    arguments.insert("path", argument);
    Entry {
        request_id: Some(format!("r-{tool}")),
        server: Some("filesystem".parse().unwrap()),
        tool: Some(tool.parse().unwrap()),
        arguments: Some(Json::Object(arguments)),
        verdict: Some(verdict),
        rule: Some(Arc::from("a-rule")),
        ..Entry::new(Kind::Intent)
    }
}

/// Writes a log with a few calls and closes it; returns its path.
pub(crate) fn write(place: &Place, session: &str) -> PathBuf {
    let log = open(place, session);
    log.note(call(Effect::Allow, "read_file", "a")).unwrap();
    log.note(call(Effect::Deny, "write_file", "=HYPERLINK(\"x\")\u{1b}[31m\u{202e}")).unwrap();
    log.close().unwrap();
    directory(place, session).join("audit.jsonl")
}

/// Makes times neutral.
fn neutral(text: &str) -> String {
    text.lines()
        .map(|line| {
            match line.split_once("  20").and_then(|(seq, rest)| {
                let (_time, after) = rest.split_once('Z')?;
                Some(format!("{seq}  [TIME]{after}"))
            }) {
                Some(neutral) => neutral,
                None => line.to_owned(),
            }
        })
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn records_are_shown_and_filtered() {
    let place = place();
    write(&place, SESSION);
    let show = |words: &[&str]| {
        let output = place.run(["audit", "show"].iter().chain(words));
        assert_eq!(output.code, 0, "{output:?}");
        neutral(&output.stdout)
    };
    assert_snapshot!(show(&[]), @r#"
    0  [TIME]  session     {"event":"opened"}
    1  [TIME]  allow       filesystem.read_file          {"path":"a"}  a-rule
    2  [TIME]  deny        filesystem.write_file         {"path":"=HYPERLINK(\"x\")\u001b[31m\u{202e}"}  a-rule
    3  [TIME]  session     {"event":"closed","records":3}
    "#);
    assert_snapshot!(show(&["2026", "--verdict", "deny"]), @r#"     2  [TIME]  deny        filesystem.write_file         {"path":"=HYPERLINK(\"x\")\u001b[31m\u{202e}"}  a-rule"#);
    assert_eq!(show(&[SESSION, "--limit", "1"]).lines().count(), 1);
    assert_eq!(show(&["--until", "2020"]), "");
    let json = place.run(["audit", "show", "--json", "--kind", "intent"]);
    let records: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(records.as_array().unwrap().len(), 2);
    assert_eq!(
        serde_json::from_str::<Value>(
            &place.run(["audit", "show", "--json", "--tool", "x"]).stdout
        )
        .unwrap(),
        Value::Array(Vec::new())
    );
}

/// A call is one line, whatever was recorded of it: what it was about, who approved it, what came of it.
#[test]
fn the_records_of_a_call_are_one_line() {
    let place = place();
    let log = open(&place, SESSION);
    let resolved = |json: &str| Some(Json::parse(json.as_bytes(), JsonLimits::CALL).unwrap());
    let write = resolved(r#"{"write-path":[{"path":"/d/a.txt","kind":"file"}]}"#);
    let fetch = resolved(
        r#"{"fetch-url":[{"url":"https://docs.rs/x","destination":"docs.rs"}],"branch-name":["main"]}"#,
    );
    let asked = Entry { resolved: write, ..call(Effect::Escalate, "write_file", "a.txt") };
    let fetched = Entry { resolved: fetch, ..call(Effect::Allow, "http_fetch", "x") };
    let outcome = |tool: &str, ms: u64| Entry {
        request_id: Some(format!("r-{tool}")),
        server: Some("filesystem".parse().unwrap()),
        tool: Some(tool.parse().unwrap()),
        duration_ms: Some(ms),
        result_bytes: Some(12),
        ..Entry::new(Kind::Outcome)
    };
    let approved = Entry {
        verdict: Some(Effect::Allow),
        decided_by: Some(DecidedBy::Cli),
        ..call(Effect::Allow, "write_file", "a.txt")
    };
    for entry in [asked, fetched, outcome("http_fetch", 30), approved, outcome("write_file", 4)] {
        log.note(entry).unwrap();
    }
    log.close().unwrap();
    let shown = place.run(["audit", "show"]);
    assert_snapshot!(neutral(&shown.stdout), @r#"
    0  [TIME]  session     {"event":"opened"}
    1  [TIME]  allow       filesystem.write_file         /d/a.txt  a-rule; approved by cli; 4 ms, 12 bytes
    2  [TIME]  allow       filesystem.http_fetch         main, https://docs.rs/x  a-rule; 30 ms, 12 bytes
    6  [TIME]  session     {"event":"closed","records":6}
    "#);
    let one = place.run(["audit", "show", "--verdict", "escalate"]).stdout;
    assert!(one.lines().count() == 1 && one.contains("4 ms, 12 bytes"), "{one}");
    assert!(!shown.stdout.contains('\u{1b}'), "no colours in a pipe");
    let json = place.run(["audit", "show", "--json"]).stdout;
    assert_eq!(
        serde_json::from_str::<Vec<Value>>(&json).unwrap().len(),
        7,
        "each record by itself"
    );
}

#[test]
fn what_an_agent_wrote_is_shown_escaped_and_is_no_formula() {
    let rig = Rig::new();
    let place = &rig.place;
    write(place, SESSION);
    for words in [
        &["audit", "show"][..],
        &["audit", "show", "--json"],
        &["audit", "tail"],
        &["audit", "tail", "--json"],
    ] {
        let output = place.run(words);
        assert!(!output.stdout.contains(['\u{1b}', '\u{202e}']), "{words:?}");
    }
    for format in ["csv", "jsonl"] {
        let seen = rig.at_terminal(&["audit", "export", "--format", format]).end().stdout;
        assert!(seen.contains("HYPERLINK"), "{format}: {seen}");
        assert!(!seen.contains(['\u{1b}', '\u{202e}']), "{format}: {seen}");
    }
    let csv = place.run(["audit", "export", "--format", "csv"]).stdout;
    assert!(csv.starts_with("seq,timestamp,sessionId,kind"), "{csv}");
    assert!(csv.contains("\"{\"\"path\"\":"), "{csv}");
    let jsonl = place.run(["audit", "export"]).stdout;
    let log = fs::read_to_string(directory(place, SESSION).join("audit.jsonl")).unwrap();
    assert_eq!(jsonl, log, "into a file it is what it was");
}

#[test]
fn an_intact_log_verifies_and_a_changed_one_names_the_place() {
    let place = place();
    let log = write(&place, SESSION);
    let verify = |words: &[&str]| place.run(["audit", "verify"].iter().chain(words));
    let good = verify(&[]);
    assert_eq!(
        (good.code, good.stdout.as_str()),
        (0, format!("{SESSION}: 4 records: intact\n").as_str())
    );
    let genuine = fs::read_to_string(&log).unwrap();
    fs::write(&log, genuine.replace("\"deny\"", "\"allow\"")).unwrap();
    let bad = verify(&[SESSION]);
    assert_eq!(bad.code, 1);
    assert!(bad.stdout.contains("line 3 is not as it was written"), "{bad:?}");
    let lines: Vec<&str> = genuine.lines().collect();
    fs::write(&log, format!("{}\n{}\n", lines[0], lines[1])).unwrap();
    let json = verify(&["--json"]);
    let outcome: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(outcome[0]["condition"], "tampered");
    assert_eq!(outcome[0]["detail"], "truncated at 2: there were at least 4 records");
    fs::write(&log, &genuine).unwrap();
    fs::remove_file(directory(&place, SESSION).join("audit.head")).unwrap();
    let no_head = verify(&[log.to_str().unwrap()]);
    assert_eq!(no_head.code, 1);
    assert!(no_head.stdout.contains("cannot be excluded"), "{no_head:?}");
}

#[test]
fn a_log_under_another_sessions_name_is_found() {
    let place = place();
    let log = write(&place, SESSION);
    let other = directory(&place, "2026-11-15-11-00-00-000-efgh");
    fs::copy(&log, other.join("audit.jsonl")).unwrap();
    fs::copy(log.with_file_name("audit.head"), other.join("audit.head")).unwrap();
    let output = place.run(["audit", "verify"]);
    assert_eq!(output.code, 1);
    assert!(output.stdout.contains("2026-11-15-11-00-00-000-efgh: 0 records: the log does not begin with this session's key"), "{output:?}");
}

#[test]
fn a_crash_is_repaired_for_a_session_and_left_alone_in_a_file() {
    let place = place();
    let path = write(&place, SESSION);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend(b"{\"arguments\":{\"half");
    fs::write(&path, &bytes).unwrap();
    let as_file = place.run(["audit", "verify", path.to_str().unwrap()]);
    assert_eq!(as_file.code, 0, "{as_file:?}");
    assert!(as_file.stdout.contains("19 bytes of an unfinished one"), "{as_file:?}");
    assert_eq!(fs::read(&path).unwrap(), bytes);
    let as_session = place.run(["audit", "verify", SESSION]);
    assert_eq!(as_session.code, 0, "{as_session:?}");
    assert!(as_session.stdout.contains("repaired and recorded"), "{as_session:?}");
    assert_eq!(place.run(["audit", "verify"]).stdout, format!("{SESSION}: 5 records: intact\n"));
}

#[test]
fn a_log_that_is_being_written_is_not_called_crashed() {
    let place = place();
    let log = open(&place, SESSION);
    for _ in 0..50 {
        log.note(call(Effect::Allow, "read_file", "a")).unwrap();
        let output = place.run(["audit", "verify"]);
        assert_eq!(output.code, 0, "{output:?}");
        assert!(output.stdout.contains("intact"), "{output:?}");
    }
    log.close().unwrap();
}

#[test]
fn tail_follows_what_is_written() {
    let place = place();
    let log = open(&place, SESSION);
    let mut child = Command::new(env!("CARGO_BIN_EXE_ironcurtain"))
        .args(["audit", "tail", "--follow", "--json", "--kind", "intent"])
        .env_clear()
        .env("HOME", place.path("home"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for tool in ["one", "two", "three"] {
        log.note(call(Effect::Allow, tool, "a")).unwrap();
        let record: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(record["tool"], tool);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    log.close().unwrap();
}

#[test]
fn what_cannot_be_found_is_named() {
    let place = place();
    for (words, code, expected) in [
        (&["audit", "show"][..], 1, "there is no audit log"),
        (&["audit", "show", "2026"], 1, "no session with an audit log is called `2026`"),
        (&["audit", "show", "./gone.jsonl"], 1, "gone.jsonl"),
        (&["audit", "show", "--kind", "nonsense"], 2, "nonsense"),
    ] {
        let output = place.run(words);
        assert_eq!(output.code, code, "{output:?}");
        assert!(output.stderr.contains(expected), "{output:?}");
    }
    assert_eq!(place.run(["audit", "verify"]).stdout, "there is no audit log yet\n");
    let unreadable = place.run(["audit", "verify", "./gone.jsonl"]);
    assert!(unreadable.code == 1 && unreadable.stdout.contains("audit.key"), "{unreadable:?}");
    write(&place, SESSION);
    write(&place, "2026-11-15-10-00-00-000-abce");
    let output = place.run(["audit", "show", "2026-11-15"]);
    assert!(
        output.code == 1 && output.stderr.contains("2 sessions begin with `2026-11-15`"),
        "{output:?}"
    );
}

#[test]
fn a_log_that_is_gone_does_not_vanish_and_hides_no_other() {
    let place = place();
    let gone = write(&place, SESSION);
    write(&place, "2026-11-15-12-00-00-000-next");
    fs::remove_file(gone).unwrap();
    let output = place.run(["audit", "verify"]);
    assert_eq!(output.code, 1);
    assert!(output.stdout.contains("cannot read the audit log"), "{output:?}");
    assert!(
        output.stdout.contains("2026-11-15-12-00-00-000-next: 4 records: intact"),
        "{output:?}"
    );
}

/// An older log that somebody puts back fits its head; the copy of the head, elsewhere, does not.
#[test]
fn a_log_that_is_rolled_back_with_its_head_is_found_out() {
    let place = place();
    let mut proxy = Proxy::start(&place, &["--session", "kept"]);
    proxy.initialize();
    proxy.finish();
    let directory = place.sessions().pop().unwrap();
    let (log, head) = (directory.join("audit.jsonl"), directory.join("audit.head"));
    let older = (fs::read(&log).unwrap(), fs::read(&head).unwrap());
    let mut proxy = Proxy::start(&place, &["--session", "kept"]);
    proxy.initialize();
    proxy.finish();
    let verified = place.run(["audit", "verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    fs::write(&log, &older.0).unwrap();
    fs::write(&head, &older.1).unwrap();
    let verified = place.run(["audit", "verify"]);
    assert_eq!(verified.code, 1, "{verified:?}");
    assert!(verified.stdout.contains("an older log was put back"), "{verified:?}");
}

/// A session that was killed has no last record, and neither has a log whose end was cut off.
#[test]
fn a_log_without_its_last_record_is_said_to_be_cut_or_killed() {
    let place = place();
    let mut proxy = Proxy::start(&place, &[]);
    proxy.initialize();
    let running = place.run(["audit", "verify"]);
    assert!(running.stdout.contains("a session is still writing it"), "{running:?}");
    proxy.kill();
    let verified = place.run(["audit", "verify"]);
    // What was not committed yet is put right, and that is said as well.
    let is_said = ["the session was killed, or", "repaired and recorded"];
    assert!(is_said.iter().any(|it| verified.stdout.contains(it)), "{verified:?}");
    assert_eq!(verified.code, 0, "{verified:?}");
}

/// The limit of the configuration is the one that holds.
#[test]
fn a_log_grows_no_longer_than_the_configuration_says() {
    let place = place();
    assert_eq!(place.run(["config", "set", "audit.maxMiB", "1"]).code, 0);
    let mut proxy = Proxy::start(&place, &[]);
    proxy.initialize();
    let work = json!({"path": "."});
    proxy.call("filesystem__list_directory", &work).good();
    // Each refused call is kept with its beginning.
    let long = "x".repeat(60 << 10);
    for n in 0..40 {
        proxy.request(
            "tools/call",
            &json!({"name": "none", "arguments": {"a": format!("{n}{long}")}}),
        );
    }
    let log = audit_log(&place);
    let bytes = fs::metadata(&log).unwrap().len();
    assert!(bytes < (1 << 20) + (64 << 10), "{bytes} bytes");
    let stopped = proxy
        .request("tools/call", &json!({"name": "filesystem__list_directory", "arguments": work}));
    assert!(stopped.line.contains("audit.maxMiB"), "{}", stopped.line);
    proxy.finish();
    let text = fs::read_to_string(&log).unwrap();
    assert!(text.contains("\"refusedNotWritten\""), "the count is written down");
    let verified = place.run(["audit", "verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
}

/// A mistyped time would otherwise be a filter that lets nothing, or everything, through.
#[test]
fn a_text_that_is_not_a_time_is_refused() {
    let place = place();
    open(&place, "2026-11-15-00-00-00-000-aaaa");
    for option in ["--since", "--until"] {
        for text in [
            "yesterday",
            "tomorrow",
            "2026-13-45",
            "2026-1",
            "2026-11-15T25",
            "",
            "2026-11-15 10:30",
        ] {
            let output = place.run(["audit", "show", option, text]);
            assert_eq!(output.code, 2, "{text}: {output:?}");
            assert!(output.stderr.contains("2026-11-15T10:30"), "{text}: {output:?}");
        }
        for text in [
            "2026-11-15",
            "2026-11-15T10",
            "2026-11-15T10:30",
            "2026-11-15T10:30:00",
            "2026-11-15T10:30:00+02:00",
        ] {
            let output = place.run(["audit", "show", option, text]);
            assert_ne!(output.code, 2, "{text}: {output:?}");
        }
    }
}
