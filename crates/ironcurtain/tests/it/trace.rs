//! `--log` and `IRONCURTAIN_LOG`: what the program says about its own work, and what never stands there.

use std::os::unix::fs::PermissionsExt as _;

use ic_testkit::Place;
use serde_json::Value;

use crate::place;

/// A key that the environment holds, and that a tool's name repeats.
const KEY: &str = "sk-ant-api03-not-a-real-key-0123456789abcdefghijklmnop";

fn session(place: &Place, arguments: &[&str]) -> ic_testkit::place::Output {
    let messages = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"filesystem__write_file","arguments":{"path":"a.txt","content":"SECRET-CONTENT"}}}"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{"name":"no\u001b[31m{KEY}","arguments":{{}}}}}}"#),
    ];
    let words = arguments.iter().copied().chain(["proxy"]);
    place.run_with_input(words, (messages.join("\n") + "\n").as_bytes())
}

#[test]
fn what_is_done_is_written_to_the_file_and_nothing_of_it_elsewhere() {
    let mut place = place().with_variable("IRONCURTAIN_LOG", "debug");
    place.set_variable("ANTHROPIC_API_KEY", KEY);
    let log = place.path("trace.jsonl");
    let output = session(&place, &["--log", log.to_str().unwrap(), "--log-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    // Standard output is the protocol's alone.
    for line in output.stdout.lines() {
        assert!(line.starts_with(r#"{"jsonrpc":"2.0""#), "{line}");
    }
    let text = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<Value> = text.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let said = |message: &str| lines.iter().find(|it| it["message"] == message);
    assert!(said("opened").is_some() && said("closed").is_some(), "{text}");
    let judged = said("judged").unwrap();
    assert_eq!(judged["verdict"], "allow");
    assert_eq!(judged["span"]["tool"], "filesystem__write_file");
    assert!(judged["span"]["session"].as_str().unwrap().starts_with("20"), "{judged}");
    assert!(said("forwarded").is_some() && said("refused").is_some(), "{text}");
    for never in [KEY, "SECRET-CONTENT", "\u{1b}"] {
        assert!(!text.contains(never), "{never:?} in {text}");
    }
    // Nobody else can read it, and what comes later stands behind it.
    assert_eq!(std::fs::metadata(&log).unwrap().permissions().mode() & 0o077, 0);
    let _output = session(&place, &["--log", log.to_str().unwrap()]);
    assert!(std::fs::read_to_string(&log).unwrap().starts_with(&text));
}

#[test]
fn without_a_file_it_goes_to_standard_error_and_unasked_nowhere() {
    let place = place();
    let quiet = session(&place, &[]);
    assert!(!quiet.stderr.contains("ic_session"), "{}", quiet.stderr);
    let place = place.with_variable("IRONCURTAIN_LOG", "ic_session=info");
    let told = session(&place, &[]);
    assert!(told.stderr.contains("INFO ic_session::ground: opened"), "{}", told.stderr);
    assert!(!told.stderr.contains("ic_broker"), "{}", told.stderr);
    assert!(!told.stderr.contains('\u{1b}'), "{}", told.stderr);
}

#[test]
fn a_filter_that_makes_no_sense_is_refused_and_says_what_would() {
    let place = place().with_variable("IRONCURTAIN_LOG", "ic_broker=loud");
    let output = session(&place, &[]);
    assert_eq!(output.code, 2, "{}", output.stderr);
    assert!(output.stderr.contains("IRONCURTAIN_LOG"), "{}", output.stderr);
}
