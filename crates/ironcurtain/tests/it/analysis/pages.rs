//! What a person reads before they agree: all of it, and examples that can be pasted.

use serde_json::json;

use super::parsed;
use crate::own_rules::{policy, rule};
use crate::place;

/// Splits a line as a shell does, as far as these lines need it.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut is_quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words
}

#[test]
fn an_example_can_be_pasted_behind_a_check() {
    let place = place();
    let mut n_in_sandbox = 0;
    for (one, other) in [("default", "readonly"), ("readonly", "coding"), ("coding", "default")] {
        let output = place.run(["policy", "diff", "--all", one, other]);
        assert_eq!(output.code, 0, "{output:?}");
        let lines: Vec<&str> = output.stdout.lines().collect();
        for pair in lines.windows(2) {
            let Some(call) = pair[1].strip_prefix("    example: ") else { continue };
            let code = match pair[0].rsplit_once(" -> ").unwrap().1 {
                "allowed" => 0,
                "needs approval" => 3,
                _ => 4,
            };
            let call = words(call);
            n_in_sandbox += usize::from(call.contains(&"--sandbox".to_owned()));
            let check = ["policy", "check", "--policy", other].into_iter().map(str::to_owned);
            let checked = place.run(check.chain(call));
            assert_eq!(checked.code, code, "{pair:?}: {checked:?}");
        }
    }
    assert!(0 < n_in_sandbox, "some of them are about the sandbox");
}

/// More lines than there is room for, and more places than a line has room for.
#[test]
fn everything_that_is_opened_is_shown_before_it_is_agreed_to() {
    let place = place();
    place.let_scripts_answer();
    let tools = [
        "read_file",
        "read_text_file",
        "read_media_file",
        "read_multiple_files",
        "list_directory",
        "list_directory_with_sizes",
        "directory_tree",
        "search_files",
        "get_file_info",
        "write_file",
        "create_directory",
        "delete_file",
        "edit_file",
    ];
    let mut rules = Vec::new();
    for (at, tool) in tools.iter().enumerate() {
        let mut one = rule(
            &format!("r{at}"),
            "allow",
            &["read-path", "write-path", "delete-path"],
            &format!("/only-{at}"),
        );
        one["if"]["tool"] = json!([tool]);
        rules.push(one);
    }
    for at in 0..9 {
        rules.push(rule(&format!("w{at}"), "allow", &["write-history"], &format!("/many-{at}")));
        rules.push(rule(&format!("v{at}"), "allow", &["read-path"], &format!("/many-{at}")));
    }
    rules.push(rule("rest", "escalate", &["read-path", "write-path", "delete-path"], "/"));
    let policy = policy(&place, &json!(rules));
    let shown = place.run(["policy", "use", &policy, "--yes"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    let opened = shown.stdout.split("Lets more through:").nth(1).unwrap();
    let opened = opened.split("Lets less through:").next().unwrap();
    let diff = place.run(["policy", "diff", "default", &policy]);
    let json = parsed(&place.run(["policy", "diff", "--json", "default", &policy]).stdout);
    let places: Vec<String> = json
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["direction"] == "widening")
        .flat_map(|it| it["places"].as_array().unwrap().clone())
        .map(|it| it.as_str().unwrap().to_owned())
        .collect();
    let named = (0..tools.len()).map(|at| format!("/only-{at}"));
    for named in named.chain((0..9).map(|at| format!("/many-{at}"))) {
        assert!(opened.contains(&named), "{named}: {opened}");
        assert!(diff.stdout.contains(&named), "{named}: {}", diff.stdout);
        assert!(places.iter().any(|it| it.contains(&named)), "{named}: {places:?}");
    }
    assert!(!opened.contains(" more"), "{opened}");
}

#[test]
fn a_newly_free_commit_is_called_one() {
    let output = place().run(["policy", "diff", "coding", "default"]);
    let line = output.stdout.lines().find(|it| it.contains("git.git_commit")).unwrap();
    let expected = "  commit, branch or tag in ~/Downloads, with ";
    assert!(line.starts_with(expected) && line.ends_with("needs approval -> allowed"), "{line}");
    let edits = output.stdout.lines().filter(|it| it.contains("filesystem.edit_file"));
    for line in edits.filter(|it| it.starts_with("  read ")) {
        assert!(line.contains("filesystem.edit_file (only with dryRun=true)"), "{line}");
    }
}

#[test]
fn a_mistyped_property_is_an_error() {
    let place = place();
    let file =
        place.write("properties.toml", "never = [{ name = \"typo\", servers = [\"filesytem\"] }]");
    let words = ["policy", "verify", "--policy", "default", "--properties", file.to_str().unwrap()];
    let output = place.run(words);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("did you mean `filesystem`?"), "{}", output.stderr);
    place.write(
        "properties.toml",
        "never = [{ name = \"named\", tools = [\"filesystem.read_file\"], within = [\"~/Documents\"] }]",
    );
    let output = place.run(words);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stdout.contains("failed: named\n"), "{}", output.stdout);
}

#[test]
fn a_tool_that_some_calls_can_still_use_is_not_called_unusable() {
    let output = place().run(["policy", "never", "--to", "delete", "--dry-run"]);
    assert_eq!(output.code, 0, "{output:?}");
    let line = output.stdout.lines().find(|it| it.starts_with("Can no longer be used "));
    let line = line.unwrap_or_else(|| panic!("{}", output.stdout));
    assert!(line.contains("filesystem.delete_file") && !line.contains("git_worktree"), "{line}");
}

#[test]
fn the_table_names_every_place() {
    let place = place();
    let output = place.run(["policy", "verify", "--table", "--json", "--policy", "default"]);
    let found = parsed(&output.stdout);
    for line in found.as_array().unwrap() {
        let values = line["values"].as_str().unwrap();
        assert!(!values.ends_with(" more"), "{line}");
        for place in line["places"].as_array().unwrap() {
            assert!(values.contains(place.as_str().unwrap()), "{line}");
        }
    }
}

#[test]
fn an_unnoticed_mistake_comes_with_a_scenario_that_would_notice_it() {
    let place = place();
    let rules = [
        rule("read", "allow", &["read-path"], "/free"),
        rule("rest", "escalate", &["read-path", "write-path"], "/"),
    ];
    let policy = policy(&place, &json!(rules));
    place.write("policy/test-scenarios.json", r#"{"scenarios":[]}"#);
    let test =
        |place: &ic_testkit::Place| place.run(["policy", "test", "--mutate", "--policy", &policy]);
    let output = test(&place);
    assert_eq!(output.code, 1, "{output:?}");
    let scenario = output.stdout.lines().last().unwrap().trim();
    let n_unnoticed = |text: &str| text.lines().filter(|it| it.starts_with("UNNOTICED")).count();
    place.write("policy/test-scenarios.json", format!(r#"{{"scenarios":[{scenario}]}}"#));
    let better = test(&place);
    assert!(n_unnoticed(&better.stdout) < n_unnoticed(&output.stdout), "{scenario}\n{better:?}");
}
