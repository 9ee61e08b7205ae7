//! Wrong configurations: every mistake is found, with the file, the key and what is allowed.

use std::fs;

use ic_home::config::{ConfigError, ConfigFile, KeyName, update};
use ic_types::{Json, JsonLimits};
use proptest::prelude::*;
use tempfile::tempdir;

use crate::{environment, home, load, names};

/// Loads a file and returns what is wrong with it, a line each.
fn mistakes(file: &str) -> Vec<String> {
    match load(file, &[], &[]) {
        Ok(_) => vec![],
        Err(ConfigError::Faults(faults)) => faults.iter().map(ToString::to_string).collect(),
        Err(error) => {
            let source = std::error::Error::source(&error).map(|it| format!(": {it}"));
            vec![format!("{error}{}", source.unwrap_or_default())]
        }
    }
}

#[test]
fn every_mistake_is_named_and_not_just_the_first() {
    let file = r#"{
        "version": 1, "agentModel": "x", "escalationTimeoutSeconds": 0, "confinement": "maybe",
        "budget": {"maxSteps": "many", "colour": 1}, "session": [], "budget.maxSteps": 3,
        "mitm": {"upstreams": {"API.x.example": {"url": "https://x.example"}, "y.example": {"uri": 1}}}
    }"#;
    assert_eq!(
        mistakes(file),
        [
            "/h/config.json: `agentModel`: there is no such key; did you mean `agentModelId`?",
            "/h/config.json: `budget.colour`: there is no such key; `ironcurtain config list` shows all",
            "/h/config.json: `session`: it holds other keys, so it has to be an object",
            "/h/config.json: `budget.maxSteps`: there is no such key; write it as objects within objects",
            "/h/config.json: `mitm.upstreams.API.x.example`: `API.x.example` is not a valid entry of \
             `mitm.upstreams.<host>`: write it as `api.x.example`",
            "/h/config.json: `escalationTimeoutSeconds`: found `0`; \
             allowed is a whole number from 1 to 86400",
            "/h/config.json: `confinement`: found `\"maybe\"`; allowed is one of `enforce`, `warn`, `off`",
            "/h/config.json: `budget.maxSteps`: found `\"many\"`; \
             allowed is a whole number from 1 to 1000000, or `null` for no limit",
            "/h/config.json: `mitm.upstreams.y.example`: there is no key `uri` in it; allowed is an \
             object with `url`, an `https:` URL without user, query or fragment, or an `http:` one of \
             this machine or a private network, and perhaps `caFile`, a path that is absolute or \
             begins with `~/`",
        ]
    );
}

#[test]
fn documents_that_are_none_are_refused_with_the_place() {
    for (file, expected) in [
        ("", "`/h/config.json` is not valid JSON: unexpected end at line 1, column 1"),
        (" \n", "`/h/config.json` is not valid JSON: unexpected end at line 2, column 1"),
        (
            r#"{"version":1,"apiKey":"#,
            "`/h/config.json` is not valid JSON: unexpected end at line 1, column 23",
        ),
        (
            r#"{"version":1,}"#,
            "`/h/config.json` is not valid JSON: expected a string at line 1, column 14",
        ),
        (
            r#"{"version":1,"confinement":"off","confinement":"enforce"}"#,
            "`/h/config.json` is not valid JSON: duplicate key `confinement` at line 1, column 34",
        ),
        (
            "{\"version\":1,\n\"budget\":{\"maxSteps\":1,\"maxSteps\":2}}",
            "`/h/config.json` is not valid JSON: duplicate key `maxSteps` at line 2, column 24",
        ),
        ("[{}]", "`/h/config.json` is not a JSON object"),
        ("some text", "`/h/config.json` is not a configuration file"),
        ("42", "`/h/config.json` is not a configuration file"),
        (
            r#"{"version":2}"#,
            "`/h/config.json` has the version 2, and this program reads version 1",
        ),
        (
            r#"{"version":"1"}"#,
            "`/h/config.json` has the version \"1\", and this program reads version 1",
        ),
    ] {
        assert_eq!(mistakes(file), [expected], "{file}");
    }
}

/// Checks which values a key takes and which it does not.
#[track_caller]
fn check(key: &str, good: &[&str], bad: &[&str]) {
    let key = KeyName::parse(key).unwrap();
    let check = |text: &&str| {
        let json = Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap();
        key.key().kind.check(&json, &environment(&[]))
    };
    for good in good {
        assert_eq!(check(good), Ok(()), "{key} {good}");
    }
    for bad in bad {
        let reason = check(bad).err().unwrap_or_default();
        assert!(reason.contains("; allowed is "), "{key} took {bad}: {reason}");
    }
}

#[test]
fn numbers_and_switches_have_their_range_and_type() {
    check(
        "escalationTimeoutSeconds",
        &["1", "86400"],
        &["0", "86401", "-1", "1.5", "1e2", "null", "\"60\"", "true", "99999999999999999999"],
    );
    check("session.maxSessions", &["1"], &["0", "null"]);
    check("session.autoSave", &["true", "false"], &["1", "\"true\"", "null"]);
    check("budget.maxTotalTokens", &["1", "null"], &["0", "-5", "1.0", "\"\""]);
    check("budget.warnPercent", &["1", "100", "null"], &["0", "101"]);
    let costs = ["0", "-1", "1e9", "1e999", "\"5\""];
    check("budget.maxEstimatedCostUsd", &["0.000001", "1e3", "null"], &costs);
    check("agent.cpus", &["0.5", "2"], &["0", "null", "1e9"]);
}

#[test]
fn texts_and_lists_have_their_form() {
    check("audit.maxMiB", &["1", "1048576"], &["0", "1048577", "1.5", "null"]);
    check("audit.sync", &[r#""each""#], &[r#""Each""#, r#""""#, "1", "null"]);
    check("confinement", &[r#""off""#], &["false", r#""none""#]);
    let models = [r#""""#, r#""acme:x""#, r#""a b""#, "1"];
    check("agentModelId", &[r#""claude""#, r#""openai:gpt""#], &models);
    check("apiKey", &[r#""sk-1""#], &[r#""""#, r#""a b""#, r#""a\n""#, "1", "null"]);
    let paths = [r#""/a""#, r#"["a"]"#, r#"[""]"#, r#"["~user"]"#, "[1]", r#"["/a\u0000"]"#];
    check("protectedPaths", &["[]", r#"["/"]"#, r#"["~"]"#, r#"["~/a"]"#], &paths);
    let commands = [
        r#""""#,
        "[]",
        r#"[""]"#,
        r#""./tell""#,
        r#""bin/tell""#,
        r#""~ada/tell""#,
        "1",
        "[1]",
        r#"["tell", 1]"#,
        r#"["tell", "\u0000"]"#,
    ];
    let words =
        [r#""tell""#, r#""/usr/bin/tell""#, r#""~/tell""#, r#"["tell", "", "a b"]"#, "null"];
    check("notify.command", &words, &commands);
    check("agent.backend", &[r#""docker""#, r#""cage""#], &[r#""podman""#, "null", r#""""#]);
    check("agent.default", &[r#""codex""#], &[r#""emacs""#, r#""""#]);
    check("docker.baseImage", &[r#""ghcr.io/x/y@sha256:0""#], &[r#""-v""#, r#""a b""#, r#""""#]);
    check("docker.packages", &["[]", r#"["g++"]"#], &[r#"["-y"]"#, r#"["a b"]"#, r#""git""#]);
    let many = format!(r#"{{"version":1,"protectedPaths":[{}]}}"#, vec![r#""/x""#; 1025].join(","));
    assert!(mistakes(&many)[0].contains("it has 1025 items"));
    let long = format!(r#"{{"version":1,"confinement":"{}"}}"#, "x".repeat(1000));
    assert!(mistakes(&long)[0].len() < 250, "a long value is shortened");
}

#[test]
fn no_address_sends_a_key_over_the_internet_in_the_clear() {
    check(
        "baseUrls.openaiCompatible",
        &[
            r#""https://api.example/v1""#,
            r#""http://localhost:11434""#,
            r#""http://127.0.0.1""#,
            r#""http://[::1]:8080""#,
            r#""http://192.168.1.5:1234/v1""#,
            r#""http://nas.local""#,
            r#""http://ollama:11434""#,
        ],
        &[
            r#""http://api.example""#,
            r#""http://8.8.8.8""#,
            r#""http://[2001:4860:4860::8888]/""#,
            r#""ftp://x.example""#,
            r#""file:///etc""#,
            r#""x.example""#,
            r#""""#,
            "null",
            r#""https://u:p@x.example""#,
            r#""https://x.example?k=1""#,
            r#""https://x.example#f""#,
        ],
    );
}

#[test]
fn a_change_keeps_the_rest_and_leaves_no_empty_objects() {
    let place = tempdir().unwrap();
    let home = home(&place.path().join("home"));
    let set = |key: &str, value: &str| {
        let value = Json::parse(value.as_bytes(), JsonLimits::CALL).unwrap();
        update::set(&home, &environment(&[]), vec![(KeyName::parse(key).unwrap(), value)])
    };
    assert_eq!(update::unset(&home, "apiKey").unwrap(), update::Unset::Absent);
    assert!(!home.root().exists(), "there was nothing to take away, so nothing was made");
    assert!(set("budget.maxSteps", "0").is_err());
    assert!(!home.root().exists(), "a wrong value leaves no trace");

    set("budget.maxSteps", "5").unwrap();
    set("budget.maxEstimatedCostUsd", "1.50").unwrap();
    set("mitm.upstreams.api.openai.com", r#"{"url":"https://x.example"}"#).unwrap();
    let expected = "{\n  \"version\": 1,\n  \"budget\": {\n    \"maxSteps\": 5,\n    \
         \"maxEstimatedCostUsd\": 1.50\n  },\n  \"mitm\": {\n    \"upstreams\": {\n      \
         \"api.openai.com\": {\n        \"url\": \"https://x.example\"\n      }\n    }\n  }\n}\n";
    assert_eq!(fs::read_to_string(home.config()).unwrap(), expected, "numbers stay as written");
    for key in ["mitm.upstreams.api.openai.com", "budget.maxSteps", "budget.maxEstimatedCostUsd"] {
        assert_eq!(update::unset(&home, key).unwrap(), update::Unset::Removed);
        assert_eq!(update::unset(&home, key).unwrap(), update::Unset::Absent);
    }
    assert_eq!(fs::read_to_string(home.config()).unwrap(), "{\n  \"version\": 1\n}\n");
    assert_eq!(update::unset(&home, "version").unwrap(), update::Unset::Absent, "it has to stay");
    assert!(!names(home.root()).iter().any(|name| name.contains("tmp")));
}

#[test]
fn a_file_with_mistakes_is_changed_only_by_taking_them_away() {
    let place = tempdir().unwrap();
    let home = home(&place.path().join("home"));
    home.prepare().unwrap();
    let broken = r#"{"version":1,"colour":"red","a.b":1,"budget":{"maxSteps":-1}}"#;
    fs::write(home.config(), broken).unwrap();
    let steps = || vec![(KeyName::parse("budget.maxSteps").unwrap(), Json::from(1_u64))];
    assert!(update::set(&home, &environment(&[]), steps()).is_err());
    assert_eq!(fs::read_to_string(home.config()).unwrap(), broken);
    for key in ["colour", "a.b"] {
        assert_eq!(update::unset(&home, key).unwrap(), update::Unset::Removed);
    }
    update::set(&home, &environment(&[]), steps()).unwrap();
    let file = ConfigFile::read(&home).unwrap();
    assert_eq!(file.faults(&environment(&[])), []);

    fs::write(home.config(), r#"{"version":1,"bud"#).unwrap();
    assert!(update::set(&home, &environment(&[]), steps()).is_err());
    assert!(update::unset(&home, "budget.maxSteps").is_err());
    assert_eq!(fs::read_to_string(home.config()).unwrap(), r#"{"version":1,"bud"#);
}

proptest! {
    /// Whatever a file holds, it is refused or read, and never a reason to panic.
    #[test]
    fn no_file_is_a_reason_to_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(file) = ConfigFile::parse("/h/config.json".into(), &bytes) {
            file.faults(&environment(&[]));
        }
    }

    /// The same, with files that look more like ours.
    #[test]
    fn no_document_is_a_reason_to_panic(
        key in "[a-zA-Z.<>]{0,20}",
        group in prop_oneof![Just("budget"), Just("mitm"), Just("docker"), Just("session")],
        value in prop_oneof![Just("1"), Just("null"), Just("{}"), Just("[[]]"), Just("\"x\"")],
    ) {
        for text in [
            format!(r#"{{"version":1,"{group}":{{"{key}":{value}}}}}"#),
            format!(r#"{{"version":1,"{group}":{value}}}"#),
            format!(r#"{{"version":1,"mitm":{{"upstreams":{{"{key}":{value}}}}}}}"#),
        ] {
            mistakes(&text);
        }
    }

}

proptest! {
    // Each case waits for the disk several times.
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// What is set is in force, and what is unset leaves the file as it was.
    #[test]
    fn setting_and_unsetting_are_each_others_undoing(steps in 1_u64..1_000_000) {
        let place = tempdir().unwrap();
        let home = home(&place.path().join("home"));
        let name = || KeyName::parse("budget.maxSteps").unwrap();
        let timeout = KeyName::parse("escalationTimeoutSeconds").unwrap();
        update::set(&home, &environment(&[]), vec![(timeout, Json::from(9_u64))]).unwrap();
        let before = fs::read(home.config()).unwrap();
        update::set(&home, &environment(&[]), vec![(name(), Json::from(steps))]).unwrap();
        let text = fs::read_to_string(home.config()).unwrap();
        prop_assert_eq!(load(&text, &[], &[]).unwrap().budget.steps_max, Some(steps));
        update::unset(&home, "budget.maxSteps").unwrap();
        prop_assert_eq!(fs::read(home.config()).unwrap(), before);
    }
}
