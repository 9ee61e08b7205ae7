//! Servers and surroundings that want to be trusted without anybody noticing.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{BINARY, Rig, echo, sum};

/// What drives a terminal, turns text around, or is not seen.
const EVIL: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}evil\u{200b}\u{e0041}\r";

/// Returns whether nothing in `text` drives a terminal or hides.
fn is_harmless(text: &str) -> bool {
    let is_evil = |c: char| c != '\n' && (c.is_control() || EVIL.contains(c) && !c.is_ascii());
    !text.chars().any(is_evil)
}

#[test]
fn what_a_server_says_cannot_drive_the_terminal_or_hide() {
    let rig = Rig::new().scripted();
    let mut poisoned = echo(EVIL);
    poisoned["title"] = json!(EVIL);
    poisoned["inputSchema"]["properties"] = json!({EVIL: {"description": EVIL, "pattern": EVIL}});
    poisoned[EVIL] = json!(EVIL);
    let nameless = json!({"name": EVIL, "inputSchema": {}});
    let tools = json!([poisoned, nameless]);
    rig.says("plain", &json!({"name": EVIL, "version": EVIL, "stderr": EVIL, "tools": tools}));
    rig.says("dies", &json!({"stderr": EVIL, "exit": 1}));
    let mut entry = rig.entry("plain");
    entry["description"] = json!(EVIL);
    entry["args"].as_array_mut().unwrap().push(json!(EVIL));
    rig.configure(&json!({"plain": entry, "dies": rig.entry("dies")}));
    for words in [
        &["list"][..],
        &["test", "plain"],
        &["test", "dies"],
        &["trust", "dies", "--yes"],
        &["trust", "plain", "--yes"],
        &["trust", EVIL],
        &["test", EVIL],
    ] {
        let output = rig.run(words);
        assert!(
            is_harmless(&output.stdout) && is_harmless(&output.stderr),
            "{words:?}: {output:?}"
        );
    }
    let shown = rig.run(&["test", "plain"]).stdout;
    assert!(shown.contains("\\u{1b}[2J") && shown.contains("\\u{202e}"), "{shown}");
    // The same at a terminal: what the server says there is what the terminal gets.
    rig.says("plain", &json!({"name": EVIL, "version": EVIL, "tools": [sum()]}));
    let at_terminal = rig.at_terminal(&["n\\n"], &["trust", "plain"]);
    assert!(is_harmless(&at_terminal.stdout), "{at_terminal:?}");
    let place = rig.place;
    let doctor = place.run(["doctor"]);
    assert!(is_harmless(&doctor.stdout) && is_harmless(&doctor.stderr), "{doctor:?}");
}

#[test]
fn text_that_nobody_sees_is_flagged_and_is_not_trusted_by_itself() {
    let rig = Rig::new();
    rig.says("plain", &json!({"tools": [echo("Gives\u{e0041}\u{e0042} back."), sum()]}));
    let test = rig.run(&["test"]);
    assert!(
        test.stdout.contains(
            "echo: withheld: what the server says of it holds the invisible character U+E0041"
        ),
        "{test:?}"
    );
    assert!(!test.stdout.contains("sum: withheld"), "{test:?}");
    let trust = rig.at_terminal(&["y\\n", "n\\n"], &["trust", "plain"]);
    assert!(
        trust.stdout.contains("HIDDEN TEXT: ") && trust.stdout.contains("\\u{e0041}"),
        "{trust:?}"
    );
    assert!(trust.stdout.contains("1 with invisible text that a model would read"), "{trust:?}");
}

/// A rig whose server was trusted, and is started in another way now.
fn changed() -> Rig {
    let rig = Rig::new().scripted();
    assert_eq!(rig.run(&["trust", "plain", "--yes"]).code, 0);
    let unset = rig.place.run(["config", "unset", "approvals.scripted"]);
    assert_eq!(unset.code, 0, "{unset:?}");
    fs::remove_file(rig.marker("plain")).unwrap();
    let mut entry = rig.entry("plain");
    entry["args"].as_array_mut().unwrap().insert(0, json!("-u"));
    rig.configure(&json!({"plain": entry}));
    assert_eq!(rig.identity("plain"), "changed");
    rig
}

#[test]
fn a_changed_command_is_not_started_before_a_person_agreed() {
    let rig = changed();
    let before = rig.pins();
    assert_eq!(rig.run(&["list"]).code, 0);
    let test = rig.run(&["test"]);
    assert!(test.code == 1 && test.stdout.contains("it is withheld"), "{test:?}");
    let doctor = rig.place.run(["doctor"]);
    assert_eq!(doctor.code, 0, "{doctor:?}");
    assert_eq!(rig.run(&["trust", "plain"]).code, 1, "without a terminal");
    assert_eq!(rig.run(&["trust", "plain", "--yes"]).code, 1, "scripts may not answer");
    for (answer, code) in [("n\\n", 1), ("\\n", 1), ("\\x04", 1), ("yess\\n", 1), ("\\x03", 130)] {
        let trust = rig.at_terminal(&[answer], &["trust", "plain"]);
        assert_eq!(trust.code, code, "{answer}: {trust:?}");
        assert!(!trust.stdout.contains("Trust this?"), "{trust:?}");
    }
    assert!(!rig.was_started("plain"));
    assert_eq!(rig.pins(), before);
    let trust = rig.at_terminal(&["Y\\n", "y\\n"], &["trust", "plain"]);
    assert_eq!(trust.code, 0, "{trust:?}");
    assert!(rig.was_started("plain"));
    assert_eq!(rig.identity("plain"), "trusted");
}

#[test]
fn a_no_or_an_interruption_at_the_last_question_records_nothing() {
    let rig = changed();
    let before = rig.pins();
    for (answer, code) in [("n\\n", 1), ("\\x04", 1), ("\\x03", 130)] {
        let trust = rig.at_terminal(&["y\\n", answer], &["trust", "plain"]);
        assert_eq!(trust.code, code, "{answer}: {trust:?}");
        assert!(trust.stdout.contains("Trust this? [y/N] "), "{trust:?}");
        assert_eq!(rig.pins(), before, "{answer}");
        assert_eq!(rig.left_behind(), [] as [String; 0], "{answer}");
    }
}

#[test]
fn what_was_typed_before_the_question_is_no_answer() {
    let rig = Rig::new().scripted();
    assert_eq!(rig.run(&["trust", "plain", "--yes"]).code, 0);
    let before = rig.pins();
    let go = rig.place.path("marks/go");
    // The server answers only when the early words were typed.
    rig.says("plain", &json!({"tools": [echo("Other.")], "wait": go}));
    let early = ["--early", "y\\ny\\n", go.to_str().unwrap(), "\\x04"];
    let trust = rig.at_terminal(&early, &["trust", "plain"]);
    assert!(trust.stdout.contains("Trust this? [y/N] "), "{trust:?}");
    assert_eq!((trust.code, rig.pins()), (1, before), "{trust:?}");
}

#[test]
fn nobody_is_asked_about_what_the_terminal_did_not_show() {
    let rig = Rig::new();
    let command = format!("exec {BINARY} servers trust plain > shown < /dev/null");
    let trust = rig.in_terminal(&["y\\n", "n\\n"], &["sh", "-c", &command]);
    assert_eq!(trust.code, 1, "{trust:?}");
    for text in ["+ command: python3", "+ Gives back.", "tools: 2 new, 0 changed, 0 gone"] {
        assert!(trust.stdout.contains(text), "{text}: {trust:?}");
    }
    let shown = fs::read_to_string(rig.place.path("shown")).unwrap();
    assert!(shown.contains("+ Gives back.") && !shown.contains("[y/N]"), "{shown}");
}

#[test]
fn without_a_terminal_trust_is_refused_unless_scripts_may_answer() {
    let rig = Rig::new();
    let refused = rig.run(&["trust", "plain"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("cannot ask you whether to trust `plain`"), "{refused:?}");
    // What somebody pipes in is no answer.
    let piped = rig.place.run_with_input(["servers", "trust", "plain"], b"y\ny\n");
    assert_eq!(piped.code, 1, "{piped:?}");
    for at_terminal in [false, true] {
        let words = ["trust", "plain", "--yes"];
        let yes = if at_terminal { rig.at_terminal(&[], &words) } else { rig.run(&words) };
        assert_eq!(yes.code, 1, "{yes:?}");
        let said = format!("{}{}", yes.stdout, yes.stderr);
        assert!(said.contains("`approvals.scripted` is false"), "{said}");
    }
    assert!(!rig.was_started("plain"));
    let rig = rig.scripted();
    assert_eq!(rig.run(&["trust", "plain"]).code, 1, "scripts have to say so");
    assert!(!rig.was_started("plain"));
    let trusted = rig.run(&["trust", "plain", "--yes"]);
    assert_eq!(trusted.code, 0, "{trusted:?}");
    assert!(trusted.stdout.contains("+ Gives back."), "it is shown all the same: {trusted:?}");
    assert_eq!(rig.identity("plain"), "trusted");
}

#[test]
fn a_broken_file_of_identities_is_named_and_nothing_is_started() {
    let rig = Rig::new().scripted();
    for (text, reason) in [
        ("", "is not valid JSON"),
        ("{", "is not valid JSON"),
        ("\0", "is not valid JSON"),
        (r#"{"version":1,"version":1,"servers":{}}"#, "is not valid JSON"),
        ("[]", "was not written by IronCurtain, or is damaged"),
        ("{}", "was not written by IronCurtain, or is damaged"),
        (r#"{"version":2,"servers":{}}"#, "was not written by IronCurtain, or is damaged"),
        (
            r#"{"version":1,"servers":{"plain":{}}}"#,
            "was not written by IronCurtain, or is damaged",
        ),
        (
            r#"{"version":1,"servers":{"plain":{"identity":{},"tools":[]}}}"#,
            "was not written by IronCurtain, or is damaged",
        ),
    ] {
        rig.place.write("home/.ironcurtain/servers.lock.json", text);
        for words in [&["list"][..], &["test"], &["trust", "plain", "--yes"]] {
            let output = rig.run(words);
            assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{text}: {output:?}");
            let is_clear = output.stderr.contains("servers.lock.json` ")
                && output.stderr.contains(reason)
                && output.stderr.contains("hint: ");
            assert!(is_clear, "{text}: {output:?}");
        }
        assert_eq!(rig.pins().unwrap(), text, "it is left as it is");
    }
    fs::remove_file(rig.place.path("home/.ironcurtain/servers.lock.json")).unwrap();
    rig.place.link("home/.ironcurtain/servers.lock.json", "../../elsewhere");
    let linked = rig.run(&["test"]);
    assert!(linked.code == 1 && linked.stderr.contains("is a link"), "{linked:?}");
    assert!(!rig.was_started("plain"));
}

#[test]
fn many_who_trust_at_once_lose_nothing() {
    let rig = Rig::new().scripted();
    let names: Vec<String> = (0..8).map(|n| format!("s{n}")).collect();
    let mut servers = json!({});
    for name in &names {
        rig.says(name, &json!({"tools": [sum()]}));
        servers[name] = rig.entry(name);
    }
    rig.configure(&servers);
    std::thread::scope(|scope| {
        for name in &names {
            scope.spawn(|| {
                let trust = rig.run(&["trust", name, "--yes"]);
                assert_eq!(trust.code, 0, "{trust:?}");
            });
        }
    });
    let rows: Vec<Value> = serde_json::from_str(&rig.run(&["list", "--json"]).stdout).unwrap();
    let trusted: Vec<&Value> = rows.iter().filter(|row| row["identity"] == "trusted").collect();
    assert_eq!(trusted.len(), names.len(), "{rows:?}");
    assert!(trusted.iter().all(|row| row["pinnedTools"] == 1));
    assert_eq!(rig.left_behind(), [] as [String; 0]);
}

#[test]
fn a_server_is_ended_after_it_was_looked_at() {
    let rig = Rig::new().scripted();
    assert_eq!(rig.run(&["test"]).code, 0);
    assert_eq!(rig.run(&["trust", "plain", "--yes"]).code, 0);
    let started = fs::read_to_string(rig.marker("plain")).unwrap();
    assert_eq!(started.lines().count(), 2);
    // In its cage it does not know the number that we know it by.
    let script = rig.place.path("plain.py");
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let runs = processes.filter(|process| {
        let words = fs::read(process.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains(script.to_str().unwrap())
    });
    assert_eq!(runs.collect::<Vec<_>>(), [] as [PathBuf; 0], "it still runs");
}

/// What is offered under our own name is taken for ours.
#[test]
fn no_server_has_our_name() {
    let place = crate::place();
    let output = place.run(["servers", "add", "ironcurtain", "--", "true"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("is reserved for IronCurtain itself"), "{output:?}");
    let entry = serde_json::json!({"ironcurtain": {"command": "/opt/other"}, "good": {"command": "/opt/good"}});
    place.write("home/.cursor/mcp.json", serde_json::json!({"mcpServers": entry}).to_string());
    let output = place.run(["servers", "import"]);
    let refused = "not to be added: the name `ironcurtain` is reserved for IronCurtain itself";
    assert_eq!(output.stdout.matches(refused).count(), 1, "{output:?}");
    assert_eq!(output.stdout.matches("not to be added").count(), 1, "{output:?}");
    let output = place.run(["servers", "import", "ironcurtain"]);
    assert_ne!(output.code, 0, "{output:?}");
    assert!(!place.path("home/.ironcurtain/mcp-servers.json").exists(), "nothing was added");
    place.write("home/.ironcurtain/mcp-servers.json", entry.to_string());
    let output = place.run(["servers", "list"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("reserved for IronCurtain itself"), "{output:?}");
}
