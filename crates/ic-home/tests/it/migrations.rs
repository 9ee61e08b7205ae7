//! Migrating: what is copied, what is left, what is refused; the source is only read.

use std::fs;
use std::path::Path;

use ic_home::config::{ConfigFile, Layers};
use ic_home::migrate::{MigrateError, Report, migrate};
use ic_home::{Config, Home};
use ic_types::AbsolutePath;
use tempfile::{TempDir, tempdir};

use crate::{environment, home, mode, names};

/// A home of the other program.
fn foreign() -> TempDir {
    let place = tempdir().unwrap();
    let from = place.path().join("from");
    fs::create_dir_all(from.join("generated")).unwrap();
    fs::create_dir_all(from.join("sessions/s1")).unwrap();
    let write = |name: &str, text: &str| fs::write(from.join(name), text).unwrap();
    write(
        "config.json",
        r#"{"anthropicApiKey":"sk-a","googleApiKey":"","openaiApiKey":"sk-o","agentModelId":"x"}"#,
    );
    write("constitution.md", "base");
    write("constitution-user.md", "mine");
    write("generated/compiled-policy.json", r#"{"rules":[]}"#);
    write("generated/tool-annotations.json", r#"{"servers":{}}"#);
    write("generated/llm-interactions.jsonl", "{}");
    place
}

fn run(place: &Path) -> Result<Report, MigrateError> {
    let from = AbsolutePath::new(place.join("from")).unwrap();
    migrate(&from, &home(&place.join("to")), &environment(&[]))
}

fn config(home: &Home) -> Config {
    let file = ConfigFile::read(home).unwrap();
    Config::load(&Layers { flags: &[], environment: &environment(&[]), file: &file }).unwrap()
}

#[test]
fn constitution_policies_and_keys_are_copied_and_the_rest_is_named() {
    let place = foreign();
    let report = run(place.path()).unwrap();
    let root = place.path().to_str().unwrap();
    let copied: Vec<String> = report.copied.iter().map(|it| it.replace(root, "")).collect();
    assert_eq!(
        copied,
        [
            "constitution.md to /to",
            "generated/compiled-policy.json to /to",
            "generated/tool-annotations.json to /to",
            "apiKey (the key, not shown) to /to",
            "openaiApiKey (the key, not shown) to /to",
        ]
    );
    assert_eq!(
        report.left,
        ["agentModelId of config.json", "sessions", "generated/llm-interactions.jsonl"]
    );

    let to = home(&place.path().join("to"));
    assert_eq!(fs::read_to_string(to.constitution()).unwrap(), "base\n\nmine");
    assert_eq!(names(to.generated()), ["compiled-policy.json", "tool-annotations.json"]);
    assert_eq!(
        (mode(to.constitution()), mode(to.generated()), mode(to.config())),
        (0o600, 0o700, 0o600)
    );
    let config = config(&to);
    let keys = &config.api_keys;
    assert!(keys.anthropic.is_some() && keys.openai.is_some() && keys.google.is_none());
    assert_eq!(config.agent_model.to_string(), "anthropic:claude-sonnet-4-6");
    assert_eq!(names(place.path().join("from")).len(), 5, "the source is as it was");
}

#[test]
fn nothing_is_overwritten_and_a_second_time_says_so() {
    let place = foreign();
    run(place.path()).unwrap();
    let before = fs::read(place.path().join("to/constitution.md")).unwrap();
    let error = run(place.path()).unwrap_err().to_string();
    assert!(error.ends_with("/to` has a constitution already"), "{error}");
    assert_eq!(fs::read(place.path().join("to/constitution.md")).unwrap(), before);

    let to = place.path().join("to");
    fs::remove_file(to.join("constitution.md")).unwrap();
    let error = run(place.path()).unwrap_err().to_string();
    assert!(error.ends_with("has generated/compiled-policy.json already"), "{error}");
    fs::remove_dir_all(to.join("generated")).unwrap();
    let error = run(place.path()).unwrap_err().to_string();
    assert!(error.ends_with("has the key apiKey already"), "{error}");
    assert!(!to.join("constitution.md").exists(), "all or nothing");
}

#[test]
fn what_cannot_be_migrated_is_refused_and_leaves_no_trace() {
    let check = |change: &dyn Fn(&Path), expected: &str| {
        let place = foreign();
        change(place.path());
        let before = place.path().join("to").exists();
        let error = run(place.path()).unwrap_err().to_string();
        let error = error.replace(place.path().to_str().unwrap(), "");
        assert_eq!(error, expected);
        assert_eq!(place.path().join("to").exists(), before, "{expected}");
    };
    let write = |name: &'static str, text: &'static str| {
        move |place: &Path| {
            fs::create_dir_all(place.join(name).parent().unwrap()).unwrap();
            fs::write(place.join(name), text).unwrap();
        }
    };
    let no = "`/from` is not a home of the TypeScript IronCurtain: ";
    check(
        &write("from/config.json", r#"{"version":1}"#),
        &format!("{no}its config.json has a `version`, so it belongs to this program"),
    );
    check(&write("from/config.json", "[]"), &format!("{no}its config.json is not a JSON object"));
    check(
        &|place| fs::remove_file(place.join("from/config.json")).unwrap(),
        &format!("{no}it has no config.json"),
    );
    check(
        &|place| fs::remove_dir_all(place.join("from")).unwrap(),
        &format!("{no}there is no such directory"),
    );
    check(&write("from/config.json", "{"), "`/from/config.json` is not valid JSON");
    check(
        &write("from/generated/dynamic-lists.json", "{"),
        "`/from/generated/dynamic-lists.json` is not valid JSON",
    );
    check(
        &write("to/config.json", "{}"),
        "`/to` was made by another IronCurtain program (its config.json has no `version`), and is left as it is",
    );
}

#[test]
fn a_home_is_not_migrated_into_itself() {
    let place = foreign();
    let from = AbsolutePath::new(place.path().join("from")).unwrap();
    std::os::unix::fs::symlink("from", place.path().join("link")).unwrap();
    for to in ["from", "from/inner", "link", "link/a/b"] {
        let error = migrate(&from, &home(&place.path().join(to)), &environment(&[])).unwrap_err();
        assert!(matches!(error, MigrateError::Same { .. }), "{to}: {error}");
    }
}

#[test]
fn a_migration_that_fails_half_way_takes_back_what_it_made() {
    let place = foreign();
    let wrong = r#"{"apiKey":"not a key"}"#;
    fs::write(place.path().join("from/config.json"), wrong).unwrap();
    assert!(run(place.path()).is_err());
    let to = place.path().join("to");
    assert!(!to.join("constitution.md").exists() && !to.join("config.json").exists());
    assert_eq!(names(to.join("generated")), [] as [&str; 0]);
    fs::write(place.path().join("from/config.json"), r#"{"apiKey":"sk-a"}"#).unwrap();
    run(place.path()).unwrap();
}
