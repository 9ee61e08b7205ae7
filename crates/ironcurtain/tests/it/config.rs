//! `ironcurtain config`: what people see, exit codes, and who wins.

use std::fs;

use ic_testkit::{Output, Place};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::place;

/// Prints an output and how it ended, with the place's own path made neutral.
fn seen(place: &Place, output: &Output) -> String {
    let root = place.root();
    let neutral = |text: &str| text.replace(root.to_str().unwrap(), "[ROOT]");
    let stderr = match neutral(&output.stderr) {
        text if text.is_empty() => text,
        text => format!("--- stderr\n{text}"),
    };
    format!("{}{stderr}--- exit {}", neutral(&output.stdout), output.code)
}

fn run(place: &Place, words: &[&str]) -> String {
    seen(place, &place.run([&["config"], words].concat()))
}

#[test]
fn reading_makes_nothing() {
    let place = place();
    let before = fs::read_dir(place.path("home")).unwrap().count();
    for words in [
        &["list"][..],
        &["list", "--json"],
        &["get", "apiKey"],
        &["explain", "budget.maxSteps"],
        &["path"],
        &["schema"],
        &["unset", "budget.maxSteps"],
    ] {
        let output = place.run([&["config"], words].concat());
        assert_eq!(output.code, 0, "{output:?}");
    }
    assert_eq!(fs::read_dir(place.path("home")).unwrap().count(), before);
    assert_snapshot!(run(&place, &["path"]), @"
    [ROOT]/home/.ironcurtain/config.json
    --- exit 0
    ");
}

#[test]
fn a_value_is_set_shown_explained_and_unset() {
    let place = place();
    assert_snapshot!(run(&place, &["get", "budget.maxSteps"]), @"
    200
    --- exit 0
    ");
    assert_snapshot!(run(&place, &["set", "budget.maxSteps", "7"]), @"--- exit 0");
    assert_snapshot!(run(&place, &["get", "budget.maxSteps"]), @"
    7
    --- exit 0
    ");
    assert_snapshot!(run(&place, &["explain", "budget.maxSteps"]), @"
    budget.maxSteps: 7
      steps that one turn may take
      allowed: a whole number from 1 to 1000000, or `null` for no limit
     - flag: <not set>
     - environment: no variable
    => file: [ROOT]/home/.ironcurtain/config.json: 7
     - default: 200
    --- exit 0
    ");
    assert_snapshot!(run(&place, &["unset", "budget.maxSteps"]), @"--- exit 0");
    assert_snapshot!(run(&place, &["unset", "budget.maxSteps"]), @"
    --- stderr
    warning: `budget.maxSteps` was not set in the file
    --- exit 0
    ");
    let text = fs::read_to_string(place.path("home/.ironcurtain/config.json")).unwrap();
    assert_eq!(text, "{\n  \"version\": 1\n}\n");
}

#[test]
fn text_needs_no_quotes_and_everything_else_is_json() {
    let place = place();
    for (key, value, expected) in [
        ("agentModelId", "openai:gpt-9", "openai:gpt-9\n"),
        ("agentModelId", "\"google:flash\"", "google:flash\n"),
        ("agentModelId", "123", "123\n"),
        ("session.autoSave", "false", "false\n"),
        ("budget.maxEstimatedCostUsd", "null", "null\n"),
        ("protectedPaths", "[\"/x y\",\"~/z\"]", "[\"/x y\",\"~/z\"]\n"),
        (
            "mitm.upstreams.api.openai.com",
            "{\"url\":\"https://g.example\"}",
            "{\"url\":\"https://g.example\"}\n",
        ),
    ] {
        let set = place.run(["config", "set", key, value]);
        assert_eq!((set.code, set.stderr.as_str()), (0, ""), "{key} {value}");
        assert_eq!(place.run(["config", "get", key]).stdout, expected, "{key}");
    }
    assert_eq!(place.run(["config", "get", "mitm.upstreams.x.example"]).stdout, "null\n");
    let set =
        place.run_with_input(["config", "set", "docker.baseImage", "-"], b"debian:trixie\r\n");
    assert_eq!(set.code, 0, "{set:?}");
    assert_eq!(place.run(["config", "get", "docker.baseImage"]).stdout, "debian:trixie\n");
}

#[test]
fn mistakes_of_the_command_line_exit_with_2_and_say_what_to_do() {
    let place = place();
    assert_snapshot!(run(&place, &["get", "budget.maxstep"]), @"
    --- stderr
    error: there is no key `budget.maxstep`

    hint: did you mean `budget.maxSteps`?
    --- exit 2
    ");
    assert_snapshot!(run(&place, &["explain", "session"]), @"
    --- stderr
    error: `session` is a group of keys: session.autoSave, session.maxSessions
    --- exit 2
    ");
    assert_snapshot!(run(&place, &["unset", "colour"]), @"
    --- stderr
    error: there is no key `colour`

    hint: `ironcurtain config list` shows all keys
    --- exit 2
    ");
    assert_snapshot!(run(&place, &["set", "escalationTimeoutSeconds", "0"]), @"
    --- stderr
    error: `escalationTimeoutSeconds` is not changed: found `0`; allowed is a whole number from 1 to 86400
    --- exit 2
    ");
    assert_snapshot!(run(&place, &["set", "protectedPaths", "/x"]), @"
    --- stderr
    error: the value for `protectedPaths` is not valid JSON; allowed is a list of up to 1024 paths, absolute or beginning with `~/`: expected a value at line 1, column 1
    --- exit 2
    ");
    assert!(!place.path("home/.ironcurtain").exists(), "none of them made a home");
}

#[test]
fn every_mistake_of_a_file_is_shown_with_its_place() {
    let place = place();
    place.write(
        "home/.ironcurtain/config.json",
        r#"{"version":1,"colour":"\u001b[31mred","confinement":"no","budget":{"maxSteps":0}}"#,
    );
    assert_snapshot!(run(&place, &["list"]), @"
    --- stderr
    error: the configuration is wrong in 3 places
      [ROOT]/home/.ironcurtain/config.json: `colour`: there is no such key; `ironcurtain config list` shows all
      [ROOT]/home/.ironcurtain/config.json: `confinement`: found `\"no\"`; allowed is one of `enforce`, `warn`, `off`
      [ROOT]/home/.ironcurtain/config.json: `budget.maxSteps`: found `0`; allowed is a whole number from 1 to 1000000, or `null` for no limit

    hint: `ironcurtain config explain KEY` says what a key may hold
    --- exit 1
    ");
    assert_snapshot!(run(&place, &["unset", "colour"]), @"
    --- stderr
    warning: [ROOT]/home/.ironcurtain/config.json: `confinement`: found `\"no\"`; allowed is one of `enforce`, `warn`, `off`
    warning: [ROOT]/home/.ironcurtain/config.json: `budget.maxSteps`: found `0`; allowed is a whole number from 1 to 1000000, or `null` for no limit
    --- exit 0
    ");
    place.write("home/.ironcurtain/config.json", r#"{"version":1,"apiKey":"sk-half"#);
    assert_snapshot!(run(&place, &["set", "budget.maxSteps", "3"]), @"
    --- stderr
    error: `[ROOT]/home/.ironcurtain/config.json` is not valid JSON: unexpected end at line 1, column 31

    hint: correct the file; IronCurtain never guesses what it means
    --- exit 1
    ");
    assert_snapshot!(run(&place, &["get", "budget.maxSteps"]), @"
    --- stderr
    error: `[ROOT]/home/.ironcurtain/config.json` is not valid JSON: unexpected end at line 1, column 31

    hint: correct the file; IronCurtain never guesses what it means
    --- exit 1
    ");
}

#[test]
fn the_list_in_json_has_every_key_and_no_secret() {
    let place = place().with_variable("OPENAI_API_KEY", "sk-from-environment");
    place.write("home/.ironcurtain/config.json", r#"{"version":1,"apiKey":"sk-from-file"}"#);
    let output = place.run(["config", "list", "--json"]);
    assert!(!output.stdout.contains("sk-from"), "{output:?}");
    let rows: Vec<Value> = serde_json::from_str(&output.stdout).unwrap();
    let row = |key: &str| rows.iter().find(|row| row["key"] == key).cloned().unwrap();
    assert_eq!(rows.len(), ic_home::config::KEYS.len());
    assert_eq!(
        row("apiKey"),
        json!({"key": "apiKey", "value": "<set>", "origin": "file", "description": "key for Anthropic"})
    );
    assert_eq!(
        row("openaiApiKey"),
        json!({"key": "openaiApiKey", "value": "<set>", "origin": "environment", "variable": "OPENAI_API_KEY", "description": "key for OpenAI"})
    );
    assert_eq!(row("googleApiKey")["value"], "<not set>");
    assert_eq!(row("session.maxSessions")["value"], 50);
    assert_eq!(row("agent.budget.maxTotalTokens")["value"], Value::Null);
    // What nothing reads yet says so, here and where it is explained.
    for key in ic_home::config::KEYS {
        let is_marked = row(key.name).get("unused") == Some(&json!(true));
        assert_eq!(is_marked, !key.is_used, "{}", key.name);
    }
    assert!(row("policyModelId")["unused"] == true && row("agentModelId")["unused"].is_null());
    let explained = place.run(["config", "explain", "policyModelId"]).stdout;
    assert!(explained.contains("not used by this version"), "{explained}");
    let list = place.run(["config", "list"]).stdout;
    let marked = list.lines().filter(|line| line.ends_with("  not used by this version"));
    let n_unused = ic_home::config::KEYS.iter().filter(|key| !key.is_used).count();
    assert_eq!(marked.count(), n_unused, "{list}");
    assert!(!list.contains("sk-from") && list.contains("(environment OPENAI_API_KEY)"), "{list}");
    assert_eq!(place.run(["config", "get", "apiKey"]).stdout, "<set>\n");
    assert_eq!(place.run(["config", "get", "googleApiKey"]).stdout, "<not set>\n");
}

#[test]
fn every_key_can_be_set_and_is_explained() {
    let place = place();
    for key in ic_home::config::KEYS {
        let (name, value) = match key.name {
            "agent.apiKeys.<agent>" => ("agent.apiKeys.goose".to_owned(), "sk-1"),
            "agent.login.<agent>" => ("agent.login.codex".to_owned(), "sk-1"),
            "mitm.upstreams.<host>" => {
                ("mitm.upstreams.x.example".to_owned(), "{\"url\":\"https://y.example/\"}")
            }
            "mitm.allowKeys.<provider>" => ("mitm.allowKeys.google".to_owned(), "[\"a\"]"),
            name => (name.to_owned(), sample(key.kind)),
        };
        let before = place.run(["config", "explain", &name]);
        assert_eq!(before.code, 0, "{before:?}");
        assert!(before.stdout.contains("=> default:"), "{before:?}");
        if name == "approvals.scripted" {
            place.let_scripts_answer();
        } else {
            let words = ["config", "set", "--yes", &name, "-"];
            let set = place.run_with_input(words, value.as_bytes());
            assert_eq!((set.code, set.stderr.as_str()), (0, ""), "{name}");
        }
        let after = place.run(["config", "explain", &name]).stdout;
        assert!(after.contains("=> file: "), "{after}");
        assert!(!after.contains("sk-1"), "{after}");
        assert_ne!(after, before.stdout, "{name}");
    }
    let output = place.run(["config", "list"]);
    assert_eq!(output.stdout.matches("(file)").count(), ic_home::config::KEYS.len(), "{output:?}");
}

/// A value that is no default.
fn sample(kind: ic_home::config::Kind) -> &'static str {
    use ic_home::config::Kind;
    match kind {
        Kind::Switch => "true",
        Kind::Whole { .. } | Kind::WholeOrOff { .. } => "77",
        Kind::Decimal { .. } | Kind::DecimalOrOff { .. } => "1.25",
        Kind::Choice(words) => words.last().unwrap(),
        Kind::Model => "openai:x",
        Kind::Secret => "sk-1",
        Kind::Url => "https://x.example/",
        Kind::Paths => "[\"/x\"]",
        Kind::Policy => "readonly",
        Kind::Command => "[\"tell\", \"x\"]",
        Kind::Image => "debian:trixie",
        Kind::Packages => "[\"git\"]",
        Kind::Registries => "[\"npm\"]",
        Kind::Upstream | Kind::RequestKeys => panic!("a map"),
    }
}

/// An agent that can run programs on the host must not be able to take its own questions away.
#[test]
fn a_change_that_lets_more_happen_unasked_is_refused_in_a_pipe() {
    let place = place();
    place.configure("protectedPaths", json!(["/x", "/y"]));
    place.configure("policy", "readonly");
    let file = place.path("home/.ironcurtain/config.json");
    let before = fs::read(&file).unwrap();
    for words in [
        &["set", "approvals.scripted", "true"][..],
        &["set", "confinement", "warn"],
        &["set", "confinement", "off"],
        &["set", "protectedPaths", r#"["/x"]"#],
        &["unset", "protectedPaths"],
        &["set", "policy", "default"],
        &["set", "agent.registries", r#"["npm"]"#],
        &["unset", "policy"],
    ] {
        for (more, says) in
            [(None, "there is no terminal"), (Some("--yes"), "`--yes` would decide")]
        {
            let output = place.run(["config"].iter().chain(words).copied().chain(more));
            assert_eq!(output.code, 1, "{words:?}: {output:?}");
            assert!(output.stderr.contains(says), "{words:?}: {output:?}");
            assert!(fs::read(&file).unwrap() == before, "{words:?}");
        }
    }
    // What lets less happen is free, and so is what changes nothing.
    for words in [
        &["set", "protectedPaths", r#"["/y", "/x", "/z"]"#][..],
        &["set", "approvals.scripted", "false"],
        &["set", "confinement", "enforce"],
        &["unset", "confinement"],
    ] {
        let output = place.run(["config"].iter().chain(words).copied());
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{words:?}");
    }
    // Where scripts may answer, by the user's own hand, `--yes` counts, and nothing else does.
    place.let_scripts_answer();
    assert_eq!(place.run(["config", "set", "confinement", "off"]).code, 1);
    assert_eq!(place.run(["config", "set", "confinement", "off", "--yes"]).code, 0);
    assert_eq!(place.run(["config", "set", "confinement", "warn"]).code, 0);
    assert_eq!(place.run(["config", "unset", "policy", "--yes"]).code, 0);
    assert_eq!(place.run(["config", "get", "policy"]).stdout, "default\n");
}

#[test]
fn the_environment_wins_and_set_says_so() {
    let place = place().with_variable("OPENAI_BASE_URL", "https://variable.example");
    assert_snapshot!(run(&place, &["set", "baseUrls.openai", "https://file.example"]), @"
    --- stderr
    warning: OPENAI_BASE_URL is set, and overrides the file
    --- exit 0
    ");
    assert_snapshot!(run(&place, &["explain", "baseUrls.openai"]), @"
    baseUrls.openai: https://variable.example
      where OpenAI is, if not at its own address
      allowed: an `https:` URL without user, query or fragment, or an `http:` one of this machine or a private network
     - flag: <not set>
    => environment: OPENAI_BASE_URL: https://variable.example
     - file: [ROOT]/home/.ironcurtain/config.json: https://file.example
     - default: none
    --- exit 0
    ");
    let place = place.with_variable("OPENAI_BASE_URL", "http://public.example");
    assert_snapshot!(run(&place, &["list"]), @"
    --- stderr
    error: the configuration is wrong in 1 place
      the variable OPENAI_BASE_URL: `baseUrls.openai`: found `\"http://public.example\"`; allowed is an `https:` URL without user, query or fragment, or an `http:` one of this machine or a private network

    hint: `ironcurtain config explain KEY` says what a key may hold
    --- exit 1
    ");
}

#[test]
fn protected_paths_of_the_configuration_are_denied_by_the_policy() {
    let place = place();
    let check = |path: &str| {
        let call = format!("{{\"path\":\"{path}\"}}");
        let output = place.run(["policy", "check", "--json", "filesystem", "read_file", &call]);
        let answer: Value = serde_json::from_str(&output.stdout).unwrap_or_default();
        (output.code, answer["rule"].as_str().unwrap_or_default().to_owned())
    };
    let open = (0, "allow-reading-files-in-documents-with-filesystem-git".to_owned());
    let closed = (4, "structural-protected-path".to_owned());
    assert_eq!(check("~/Documents/diary/1.md"), open);
    // Neither path exists: what is not there yet is protected too.
    let set =
        place.run(["config", "set", "protectedPaths", r#"["~/Documents/diary", "/srv/none"]"#]);
    assert_eq!(set.code, 0, "{set:?}");
    assert_eq!(check("~/Documents/diary/1.md"), closed);
    assert_eq!(check("~/Documents/diary"), closed);
    assert_eq!(check("/srv/none/x"), closed);
    assert_eq!(check("~/Documents/diary-of-others.md"), open);
    // Opening them again is for the user to confirm.
    assert_eq!(place.run(["config", "unset", "protectedPaths"]).code, 1);
    assert_eq!(check("~/Documents/diary/1.md"), closed);
    place.let_scripts_answer();
    assert_eq!(place.run(["config", "unset", "protectedPaths", "--yes"]).code, 0);
    assert_eq!(check("~/Documents/diary/1.md"), open);

    place.write("home/.ironcurtain/config.json", r#"{"version":1,"protectedPaths":["#);
    let broken = place.run(["policy", "check", "filesystem", "read_file", r#"{"path":"~/x"}"#]);
    assert_eq!(
        (broken.code, broken.stdout.as_str()),
        (1, ""),
        "no verdict without the whole truth"
    );
    assert!(broken.stderr.contains("config.json` is not valid JSON"), "{broken:?}");
    place.write("home/.ironcurtain/config.json", "");
    assert_eq!(
        check("~/Documents/diary/1.md").0,
        1,
        "an empty file is what is left of one of ours"
    );
}

#[test]
fn the_help_is_complete() {
    let place = place();
    for words in [
        &["config"][..],
        &["config", "list"],
        &["config", "get"],
        &["config", "set"],
        &["config", "unset"],
        &["config", "path"],
        &["config", "schema"],
        &["config", "explain"],
        &["migrate"],
    ] {
        let output = place.run([words, &["--help"]].concat());
        assert!(output.code == 0 && output.stdout.contains("Usage: ironcurtain"), "{output:?}");
        let page = place.run([&["man"], words].concat());
        assert!(page.code == 0 && page.stdout.contains(".TH"), "{page:?}");
    }
    let schema: Value = serde_json::from_str(&place.run(["config", "schema"]).stdout).unwrap();
    assert_eq!(schema["additionalProperties"], false);
}
