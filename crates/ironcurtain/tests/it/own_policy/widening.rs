//! Everything that can make the policy in force let more through: nothing of it counts without a person.
//!
//! Each way is tried where no terminal is: it has to refuse, with `--yes` too while `approvals.scripted` is
//! false, and leave everything as it was. Where scripts may answer it works, and is written down.

use std::path::PathBuf;

use ic_testkit::Place;
use serde_json::{Value, json};

use crate::{alone, place};

/// A way to change what the policy in force lets through.
struct Way {
    name: &'static str,
    /// Brings the place into a state in which it would widen.
    prepare: fn(&Place),
    words: &'static [&'static str],
    /// What stands in the log of policy changes afterwards, if the way is one that is written there.
    noted: Option<&'static str>,
}

fn nothing(_: &Place) {}

fn constitution(place: &Place) {
    let text = "The agent may read files in ~/notes.\nThe agent may read files in /srv.\n";
    place.write("home/.ironcurtain/constitution.md", text);
}

/// A policy of the user's own is in force.
fn own(place: &Place) {
    place.write(
        "home/.ironcurtain/policies/mine/compiled-policy.json",
        json!({"rules": [{"name": "rest", "if": {}, "then": "deny", "reason": "r"}]}).to_string(),
    );
    place.configure("policy", "mine");
    constitution(place);
    // Another spelling of the directory of the policy in force.
    place.link("spelled", place.path("home/.ironcurtain/policies"));
}

/// The user has said something that denies.
fn denied(place: &Place) {
    own(place);
    let additions = json!({"version": 1, "additions": [{"then": "deny", "within": "~/notes"}]});
    place.write("home/.ironcurtain/policies/mine/additions.json", additions.to_string());
}

/// A directory that the policy opens has become a link.
fn moved(place: &Place) {
    assert_eq!(place.run(["start", "--policy", "default", "list the files"]).code, 0);
    place.link("home/Downloads", place.dir("home/elsewhere"));
}

/// A server has tools that nobody has looked at.
fn server(place: &Place) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/plain.py");
    let script = place.write("plain.py", std::fs::read(script).unwrap());
    let said = json!({"name": "plain", "version": "1.0", "marker": place.path("marks/started"),
        "tools": [{"name": "read_note", "inputSchema": {"type": "object",
            "properties": {"path": {"type": "string"}}}}]});
    let said = place.write("plain.json", said.to_string());
    let marks = place.dir("marks");
    let entry = json!({"plain": {"command": "python3", "args": [script, said],
        "sandbox": {"filesystem": {"allowRead": [script, said], "allowWrite": [marks]}}}});
    place.write("home/.ironcurtain/mcp-servers.json", alone(entry).to_string());
}

/// The server is trusted, so that its tools can be reviewed.
fn trusted(place: &Place) {
    server(place);
    place.let_scripts_answer();
    assert_eq!(place.run(["servers", "trust", "plain", "--yes"]).code, 0);
    place.configure("approvals.scripted", false);
}

const WAYS: [Way; 12] = [
    Way { name: "use", prepare: nothing, words: &["policy", "use", "coding"], noted: Some("use") },
    Way {
        name: "config set",
        prepare: nothing,
        words: &["config", "set", "policy", "coding"],
        noted: Some("use"),
    },
    Way {
        name: "config unset",
        prepare: own,
        words: &["config", "unset", "policy"],
        noted: Some("use"),
    },
    Way { name: "compile", prepare: constitution, words: &["compile-policy"], noted: Some("use") },
    Way {
        name: "compile into the policy in force",
        prepare: own,
        words: &["compile-policy", "--output", "home/.ironcurtain/policies/mine"],
        noted: Some("use"),
    },
    Way {
        name: "compile into the policy in force, spelled otherwise",
        prepare: own,
        words: &["compile-policy", "--output", "spelled/mine"],
        noted: Some("use"),
    },
    Way {
        name: "allow",
        prepare: nothing,
        words: &["policy", "allow", "filesystem", "--to", "read", "--in", "~/notes"],
        noted: Some("add"),
    },
    Way {
        name: "ask, beside a policy that denies",
        prepare: own,
        words: &["policy", "ask", "filesystem", "--to", "read", "--in", "~/notes"],
        noted: None,
    },
    Way {
        name: "take a never back",
        prepare: denied,
        words: &["policy", "never", "--in", "~/notes", "--remove"],
        noted: Some("remove"),
    },
    Way {
        name: "confirm",
        prepare: moved,
        words: &["policy", "confirm", "--policy", "default"],
        noted: Some("confirm"),
    },
    Way { name: "trust", prepare: server, words: &["servers", "trust", "plain"], noted: None },
    Way {
        name: "review",
        prepare: trusted,
        words: &["servers", "review", "plain"],
        noted: Some("review"),
    },
];

/// Returns everything in the home that decides what is let through.
fn deciding(place: &Place) -> Vec<(PathBuf, String)> {
    if !place.path("home/.ironcurtain").exists() {
        return Vec::new();
    }
    let mut files = place.files("home/.ironcurtain");
    let decides = |path: &PathBuf| {
        let text = path.to_string_lossy().into_owned();
        let parts = ["/policies/", "/generated/", "/servers/", "roots.json", "config.json"];
        let is_passing = text.contains(".compiling") || text.contains(".lock");
        parts.iter().any(|it| text.contains(it)) && !is_passing
    };
    files.retain(|(path, _)| decides(path));
    files
}

fn log(place: &Place) -> Vec<Value> {
    let path = place.path("home/.ironcurtain/logs/policy-changes.jsonl");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn nothing_widens_the_policy_in_force_without_a_person() {
    for Way { name, prepare, words, noted } in WAYS {
        let place = place();
        place.dir("home/notes");
        prepare(&place);
        let (before, n_noted) = (deciding(&place), log(&place).len());
        let agreed = [words, &["--yes"]].concat();
        for words in [words, &agreed] {
            let output = place.run(words);
            assert_eq!(output.code, 1, "{name}: {output:?}");
            assert_eq!(deciding(&place), before, "{name}: {words:?}");
        }
        assert_eq!(log(&place).len(), n_noted, "{name}");

        place.let_scripts_answer();
        let before = deciding(&place);
        let output = place.run(&agreed);
        let Some(noted) = noted else { continue };
        assert_eq!(output.code, 0, "{name}: {output:?}");
        assert_ne!(deciding(&place), before, "{name}");
        let log = log(&place);
        let last = log.last().unwrap();
        assert_eq!(last["change"], noted, "{name}: {last}");
        let how = "confirmed by a script, as approvals.scripted allows";
        assert_eq!(last["agreed"], how, "{name}: {last}");
    }
}

/// What is copied, or added as a draft, is not in force by that.
#[test]
fn what_is_taken_over_from_elsewhere_is_not_in_force() {
    let place = place();
    let rules = json!({"rules": [{"name": "all", "if": {}, "then": "allow", "reason": "r"}]});
    place.write("old/config.json", "{}");
    place.write("old/generated/compiled-policy.json", rules.to_string());
    let annotations = json!({"servers": {}}).to_string();
    place.write("old/generated/tool-annotations.json", annotations);
    let check = || {
        let call = r#"{"path":"/etc/hostname"}"#;
        place.run(["policy", "check", "filesystem", "read_file", call]).code
    };
    assert_eq!(check(), 3);
    let migrated = place.run(["migrate", "--from", "old"]);
    assert_eq!(migrated.code, 0, "{migrated:?}");
    assert_eq!(check(), 3, "{migrated:?}");
    let used = place.run(["policy", "use", "generated"]);
    assert_eq!(used.code, 1, "{used:?}");
    assert_eq!(check(), 3);
}
