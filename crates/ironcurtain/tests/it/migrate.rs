//! Homes of the other program: recognised, left alone, and migrated from.

use std::fs;

use insta::assert_snapshot;

use crate::place;

#[test]
fn a_foreign_home_is_refused_with_the_remedies_and_left_alone() {
    let place = place();
    let path = place.write("home/.ironcurtain/config.json", r#"{"apiKey":"sk-theirs"}"#);
    for words in [
        &["config", "set", "budget.maxSteps", "5"][..],
        &["config", "unset", "apiKey"],
        &["config", "list"],
        &["config", "get", "apiKey"],
    ] {
        let output = place.run(words);
        assert_eq!(output.code, 1, "{output:?}");
        assert_eq!(
            output.stderr.replace(place.root().to_str().unwrap(), ""),
            "error: `/home/.ironcurtain` was made by another IronCurtain program (its config.json \
             has no `version`), and is left as it is\n\n\
             hint: set IRONCURTAIN_HOME to another directory; `ironcurtain migrate` then copies \
             constitution, policies and keys there. If you wrote this config.json yourself for this \
             program, add `\"version\": 1` to it\n"
        );
    }
    assert_eq!(fs::read_to_string(path).unwrap(), r#"{"apiKey":"sk-theirs"}"#);
    assert_eq!(fs::read_dir(place.path("home/.ironcurtain")).unwrap().count(), 1);
    let check =
        place.run(["policy", "check", "filesystem", "read_file", r#"{"path":"~/Documents/x"}"#]);
    assert_eq!(check.code, 0, "its policy can be asked: {check:?}");
    assert!(check.stderr.contains("no setting is taken from it"), "{check:?}");
}

#[test]
fn a_foreign_home_is_migrated_from() {
    let place = place();
    place.write("home/.ironcurtain/config.json", r#"{"anthropicApiKey":"sk-theirs","signal":{}}"#);
    place.write("home/.ironcurtain/constitution-user.md", "Be nice.");
    place.write(
        "home/.ironcurtain/generated/compiled-policy.json",
        r#"{"rules":[{"name":"theirs","if":{},"then":"allow","reason":"r"}]}"#,
    );
    place.write(
        "home/.ironcurtain/generated/tool-annotations.json",
        r#"{"servers":{"s":{"tools":[{"toolName":"t","args":{}}]}}}"#,
    );
    let migrate = |place: &ic_testkit::Place| {
        let output = place.run(["migrate"]);
        let text = format!("{}{}--- exit {}", output.stdout, output.stderr, output.code);
        text.replace(place.root().to_str().unwrap(), "[ROOT]")
    };
    assert_snapshot!(migrate(&place), @"
    error: cannot migrate `[ROOT]/home/.ironcurtain` into itself

    hint: set IRONCURTAIN_HOME to the directory to copy to
    --- exit 1
    ");
    let home = place.path("home/mine").to_str().unwrap().to_owned();
    let place = place.with_variable("IRONCURTAIN_HOME", &home);
    assert_snapshot!(migrate(&place), @"
    copied constitution.md to [ROOT]/home/mine
    copied generated/compiled-policy.json to [ROOT]/home/mine
    copied generated/tool-annotations.json to [ROOT]/home/mine
    copied apiKey (the key, not shown) to [ROOT]/home/mine
    left   signal of config.json
    The copied policy is not in force yet: `ironcurtain policy use generated` shows what it changes, and asks.
    --- exit 0
    ");
    assert_eq!(place.run(["config", "get", "apiKey"]).stdout, "<set>\n");
    let check = place.run(["policy", "check", "--policy", "generated", "s", "t", "{}"]);
    assert!(check.code == 0 && check.stdout.contains("rule: theirs"), "{check:?}");
    let check = place.run(["policy", "check", "s", "t", "{}"]);
    assert!(check.code == 4, "nobody was shown what it allows: {check:?}");
    assert_snapshot!(migrate(&place), @"
    error: `[ROOT]/home/mine` has a constitution already

    hint: nothing is overwritten; remove it first, or migrate into another home
    --- exit 1
    ");
    let output = place.run(["migrate", "--from", "home/mine"]);
    assert!(output.code == 1 && output.stderr.contains("cannot migrate"), "{output:?}");
    let output = place.run(["migrate", "--from", "nowhere"]);
    assert!(output.code == 1 && output.stderr.contains("there is no such directory"), "{output:?}");
}
