//! What a policy lets through, what another one changes, and what its scenarios notice: by the real binary.

mod pages;
mod recorded;

use serde_json::{Value, json};

use crate::own_rules::{policy, rule};
use crate::place;

pub(crate) fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn every_property_holds_for_the_built_in_policies() {
    for name in ["default", "coding", "readonly"] {
        let output = place().run(["policy", "verify", "--policy", name]);
        assert_eq!(output.code, 0, "{}", output.stdout);
        let last = output.stdout.lines().last().unwrap();
        assert_eq!(last, format!("all properties hold (built-in `{name}`)"));
    }
}

#[test]
fn an_example_of_a_broken_property_is_confirmed_by_a_check() {
    let place = place();
    let rules = [
        rule("write", "allow", &["write-path"], "/"),
        rule("rest", "escalate", &["read-path"], "/"),
    ];
    let policy = policy(&place, &json!(rules));
    let output = place.run(["policy", "verify", "--json", "--policy", &policy]);
    assert_eq!(output.code, 1, "{}", output.stdout);
    let found = parsed(&output.stdout);
    let finding = found
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["property"] == "changes-need-approval")
        .unwrap();
    assert_eq!((&finding["level"], &finding["rule"]), (&json!("failed"), &json!("write")));
    let example = &finding["example"];
    assert_eq!(example["decision"], "allow");
    let (server, tool) = (example["server"].as_str().unwrap(), example["tool"].as_str().unwrap());
    let arguments = example["arguments"].to_string();
    let check = place.run(["policy", "check", "--policy", &policy, server, tool, &arguments]);
    assert_eq!(check.code, 0, "{}", check.stdout);
}

#[test]
fn a_property_of_the_users_own_is_read_from_a_file() {
    let place = place();
    place.write("properties.toml", "[[always-ask]]\nname = \"downloads\"\nroles = [\"write-path\"]\nwithin = [\"~/Downloads\"]\n");
    let file = place.path("properties.toml");
    let words = ["policy", "verify", "--policy", "default", "--properties", file.to_str().unwrap()];
    let output = place.run(words);
    assert_eq!(output.code, 1, "{}", output.stdout);
    assert!(output.stdout.contains("failed: downloads\n"), "{}", output.stdout);
    assert!(
        output.stdout.contains(
            "rule: allow-reading-files-and-writing-files-in-downloads-with-filesystem-git\n"
        ),
        "{}",
        output.stdout
    );
    place.write("properties.toml", "[[always-ask]]\nwithout = []\n");
    let output = place.run(words);
    assert_eq!(output.code, 1, "{}", output.stderr);
    assert!(output.stderr.contains("without"), "{}", output.stderr);
}

#[test]
fn a_policy_does_not_differ_from_itself_and_others_do() {
    let place = place();
    let same = place.run(["policy", "diff", "--exit-code", "default", "default"]);
    assert_eq!((same.code, same.stdout.lines().count()), (0, 1), "{}", same.stdout);
    let words = ["policy", "diff", "--exit-code", "--json", "default", "readonly"];
    let output = place.run(words);
    assert_eq!(output.code, 1, "{}", output.stderr);
    let changes = parsed(&output.stdout);
    let changes = changes.as_array().unwrap();
    assert!(changes.iter().any(|it| it["direction"] == "widening" && it["role"] == "read-path"));
    assert!(changes.iter().any(|it| it["direction"] == "narrowing" && it["role"] == "write-path"));
    for change in changes {
        let example = &change["example"];
        // On this disk too: the examples name nothing that is there.
        assert_eq!(example["decision"], change["after"], "{change}");
    }
}

#[test]
fn the_scenarios_of_the_built_in_policies_notice_mistakes() {
    for name in ["default", "coding", "readonly"] {
        let output = place().run(["policy", "test", "--mutate", "--json", "--policy", name]);
        let report = parsed(&output.stdout);
        let number = |key: &str| report[key].as_u64().unwrap();
        let effective = number("mutants") - number("equivalent") - number("refused");
        assert!(95 * effective <= 100 * number("noticed"), "{name}: {}", output.stdout);
        assert_eq!(output.code == 0, report["unnoticed"].as_array().unwrap().is_empty());
    }
}

#[test]
fn a_wider_policy_is_shown_and_noted_before_it_is_in_force() {
    let place = place();
    place.let_scripts_answer();
    let output = place.run(["policy", "use", "coding", "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    for expected in ["Lets more through:\n  read in /usr, with ", "Lets less through:\n"] {
        assert!(output.stdout.contains(expected), "{}", output.stdout);
    }
    let log = place.path("home/.ironcurtain/logs/policy-changes.jsonl");
    let log = std::fs::read_to_string(log).unwrap();
    let noted = parsed(log.lines().last().unwrap());
    assert_eq!((&noted["change"], &noted["by"]), (&json!("use"), &json!("policy use")));
    assert!(!noted["widenings"].as_array().unwrap().is_empty(), "{noted}");
    assert!(!noted["narrowings"].as_array().unwrap().is_empty(), "{noted}");
    // Taking the key away brings another policy into force, which is for a person to agree to.
    assert_eq!(place.run(["config", "set", "approvals.scripted", "false"]).code, 0);
    let output = place.run(["config", "unset", "policy"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert_eq!(place.run(["config", "get", "policy"]).stdout, "coding\n");
}

#[test]
fn an_addition_shows_all_that_it_lets_through() {
    let place = place();
    place.dir("home/notes");
    let words = ["policy", "allow", "filesystem", "--to", "read", "--in", "~/notes", "--dry-run"];
    let output = place.run(words);
    assert_eq!(output.code, 0, "{output:?}");
    let expected = "Lets more through:\n  read in ~/notes, with 9 tools of filesystem and filesystem.edit_file (only with dryRun=true): needs approval -> allowed\n";
    assert!(output.stdout.contains(expected), "{}", output.stdout);
}
