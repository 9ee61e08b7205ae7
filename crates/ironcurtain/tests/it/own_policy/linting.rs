//! `policy lint`: each mistake is found, with its file, its rule and what to do.

use serde_json::Value;

use super::policy;
use crate::place;

#[test]
fn each_mistake_is_found_with_its_place() {
    let place = place();
    place.dir("docs/inner");
    let docs = place.path("docs");
    let rules = format!(
        r#"{{"rules":[
        {{"name":"a","if":{{"server":["filesytem"]}},"then":"deny","reason":"r"}},
        {{"name":"b","if":{{"server":["filesystem"],"tool":["raed_file"]}},"then":"deny","reason":"r"}},
        {{"name":"c","if":{{"server":["fetch"],"roles":["read-path"]}},"then":"allow","reason":"r"}},
        {{"name":"d","if":{{"domains":{{"roles":["fetch-url"],"allowed":["https://x.example"]}}}},"then":"deny","reason":"r"}},
        {{"name":"e","if":{{"domains":{{"roles":["fetch-url"],"allowed":["ssh://y.example"]}}}},"then":"allow","reason":"r"}},
        {{"name":"f","if":{{"paths":{{"roles":["read-path"],"within":"/no/such/dir"}}}},"then":"allow","reason":"r"}},
        {{"name":"g","if":{{"paths":{{"roles":["read-path"],"within":"{0}"}}}},"then":"allow","reason":"r"}},
        {{"name":"h","if":{{"paths":{{"roles":["read-path"],"within":"{0}/inner"}}}},"then":"deny","reason":"r"}},
        {{"name":"i","if":{{"domains":{{"roles":["fetch-url"],"allowed":["@gone"]}}}},"then":"allow","reason":"r"}},
        {{"name":"j","if":{{"paths":{{"roles":["read-path"],"within":"~/.ssh"}}}},"then":"allow","reason":"r"}},
        {{"name":"k","if":{{"server":["filesystem"],"paths":{{"roles":["write-path"],"within":"{0}"}}}},"then":"allow","reason":"r"}}]}}"#,
        docs.display()
    );
    place.write("own/compiled-policy.json", rules);
    place.write(
        "own/additions.json",
        r#"{"version":1,"additions":[{"then":"deny","server":"gti"},{"then":"deny","server":"git"},
            {"then":"allow","server":"git","within":"/no/such/dir"}]}"#,
    );
    let output = policy(&place, &["lint", "own", "--json"]);
    assert_eq!(output.code, 1, "{output:?}");
    let found: Vec<Value> = serde_json::from_str(&output.stdout).unwrap();
    let text = |it: &Value, key: &str| it[key].as_str().unwrap().to_owned();
    let has = |place: &str, rule: &str, problem: &str| {
        let is_it = |it: &&Value| {
            text(it, "place") == place
                && text(it, "rule") == rule
                && text(it, "problem").contains(problem)
                && !text(it, "remedy").is_empty()
        };
        assert!(found.iter().any(|it| is_it(&it)), "{place} {rule} {problem}: {found:#?}");
    };
    has("rules[0].if.server", "a", "there is no server `filesytem`");
    has("rules[1].if.tool", "b", "there is no tool `raed_file` of filesystem");
    has("rules[2].if.roles", "c", "has the role read-path");
    has("rules[3].if.domains.allowed", "d", "holds for https alone");
    has("rules[4].if.domains.allowed", "e", "is written as a URL, and matches nothing");
    has("rules[5].if.paths.within", "f", "does not exist");
    has("rules[7]", "h", "never holds: `g` before it");
    has("rules[8].if.domains.allowed", "", "the list `gone` is absent");
    has("rules[9].if.paths.within", "j", "protected");
    has("additions[0]", "never gti", "there is no server `gti`");
    has("additions[2]", "allow git in /no/such/dir", "does not exist");
    has("additions[2]", "allow git in /no/such/dir", "has no effect");
    assert!(
        !found.iter().any(|it| ["g", "k", "never git"].contains(&it["rule"].as_str().unwrap()))
    );
    assert_eq!(found.len(), 12, "{found:#?}");
    let people = policy(&place, &["lint", "own"]);
    assert_eq!(people.code, 1);
    assert!(
        people.stdout.contains("correct the name; the servers are fetch, filesystem, git, shell"),
        "{people:?}"
    );
    assert!(people.stdout.ends_with("12 findings\n"), "{people:?}");
}

#[test]
fn a_policy_that_cannot_be_loaded_is_a_finding() {
    let place = place();
    place.write(
        "own/compiled-policy.json",
        r#"{"rules":[{"name":"a","if":{"domains":{"roles":["fetch-url"],"allowed":["https://docs.rs/std"]}},"then":"allow","reason":"r"}]}"#,
    );
    let output = policy(&place, &["lint", "own", "--json"]);
    assert_eq!(output.code, 1, "{output:?}");
    let found: Vec<Value> = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(found[0]["level"], "error");
    assert!(
        found[0]["problem"].as_str().unwrap().contains("rules[0].if.domains.allowed[0]"),
        "{found:?}"
    );
}

#[test]
fn the_built_in_policies_have_no_findings() {
    let place = place();
    place.dir("home/Downloads");
    place.dir("home/Documents");
    for name in ["default", "coding", "readonly"] {
        let output = policy(&place, &["lint", name]);
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
        assert_eq!(output.stdout, format!("no findings (built-in `{name}`)\n"));
    }
}
