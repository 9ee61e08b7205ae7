//! Which policies there are, how one is put in force by `config set`, and what is said of wrong names.

use serde_json::Value;

use super::{change, changed, policy, read_file, scripted};
use crate::place;

#[test]
fn the_policies_are_listed_and_a_wrong_name_says_which_there_are() {
    let place = scripted();
    change(&place, &["new", "mine"]);
    let listed = changed(&place, &["list"]).stdout;
    assert_eq!(
        listed,
        "* default  (built in, in force)\n  coding  (built in)\n  readonly  (built in)\n  mine\n"
    );
    change(&place, &["use", "mine", "--yes"]);
    let rows: Vec<Value> =
        serde_json::from_str(&changed(&place, &["list", "--json"]).stdout).unwrap();
    let in_force: Vec<&str> = rows
        .iter()
        .filter(|it| it["inForce"] == true)
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!((in_force, rows.len()), (vec!["mine"], 4));
    for (name, says) in [
        ("mnie", "The policies are default, coding, readonly, mine;"),
        ("codign", "did you mean `coding`?"),
    ] {
        let output = policy(&place, &["use", name, "--yes"]);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.stderr.contains(says), "{output:?}");
    }
}

#[test]
fn config_set_puts_no_policy_in_force_unasked() {
    let place = place();
    let set = |policy: &str| place.run(["config", "set", "policy", policy, "--yes"]);
    let refused = set("readonly");
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("`approvals.scripted` is false"), "{refused:?}");
    assert_eq!(place.run(["config", "get", "policy"]).stdout, "default\n");
    place.let_scripts_answer();
    // What does not exist would break every session.
    let unknown = set("nosuch");
    assert!(unknown.code == 1 && unknown.stderr.contains("there is no policy"), "{unknown:?}");
    assert_eq!(read_file(&place, "~/x"), "escalate");
    assert_eq!(set("readonly").code, 0);
    assert_eq!(place.run(["config", "get", "policy"]).stdout, "readonly\n");
    assert_eq!(read_file(&place, "~/x"), "allow");
    let log = std::fs::read_to_string(place.path("home/.ironcurtain/logs/policy-changes.jsonl"));
    assert_eq!(log.unwrap().lines().count(), 1, "it is noted like any other change");
}

#[test]
fn directories_of_built_in_rules_that_are_missing_are_only_notes() {
    let place = place();
    change(&place, &["new", "mine"]);
    for name in ["default", "mine"] {
        let output = changed(&place, &["lint", name]);
        assert!(
            output.stdout.contains("note: ") && output.stdout.contains("Downloads"),
            "{output:?}"
        );
        assert!(output.stdout.contains("no findings"), "{output:?}");
    }
    // A directory that somebody wrote down is not.
    let rules = r#"{"rules":[{"name":"a","if":{"paths":{"roles":["read-path"],"within":"/no/such"}},
        "then":"allow","reason":"r"}]}"#;
    place.write("own/compiled-policy.json", rules);
    assert_eq!(policy(&place, &["lint", "own"]).code, 1);
    // What cannot be found has a name in its first line.
    let output = policy(&place, &["lint", "nosuch"]);
    assert!(output.code == 1 && output.stdout.starts_with("error: nosuch\n"), "{output:?}");
}

#[test]
fn a_check_of_what_cannot_be_meant_says_what_may_be() {
    let place = place();
    for (words, says) in [
        (
            ["filesytem", "read_file", "{}"],
            "there is no server `filesytem`; did you mean `filesystem`?",
        ),
        (
            ["filesystem", "raed_file", "{}"],
            "there is no tool `raed_file`; did you mean `read_file`?",
        ),
        (["filesystem", "read_file", r#"{"path":"a.txt"}"#], "add `--sandbox .`"),
    ] {
        let output = policy(&place, &[&["check"], &words[..]].concat());
        assert_eq!(output.code, 4, "{output:?}");
        assert!(output.stderr.contains(says), "{output:?}");
    }
}
