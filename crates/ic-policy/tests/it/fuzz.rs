//! Mutated policy files: a file that is loaded is loaded alike however it is spelled, and one that is not
//! names its file.

use ic_fuzz::{Outcome, Target};
use ic_policy::artifact::Source;
use ic_policy::{Policy, PolicySources};
use ic_types::{CanonicalPath, Json, JsonLimits};

/// An input is a compiled policy, this line, and annotations; then perhaps the line again, and lists.
const BETWEEN: &str = "\n--\n";

#[test]
fn fuzz_policy_files() {
    let rule = r#"{"name":"r","if":{"server":["s"],"tool":["t"],"roles":["read-path"],"paths":{"roles":["read-path"],"within":"/a"}},"then":"allow","reason":"x"}"#;
    let hosts = r#"{"name":"h","if":{"domains":{"roles":["fetch-url"],"allowed":["*.a.example","https://b.example","@sites"]}},"then":"escalate","reason":"x"}"#;
    let lists = r#"{"name":"l","if":{"lists":[{"roles":["email-address"],"allowed":["@known"],"matchType":"emails"}]},"then":"deny","reason":"x"}"#;
    let tools = r#"{"servers":{"s":{"inputHash":"x","tools":[{"toolName":"t","serverName":"s","comment":"c","args":{"path":["read-path"],"mode":{"default":["none"],"when":[{"condition":{"arg":"mode","equals":"write"},"roles":["write-path"]}]}}}]}}}"#;
    let known = r#"{"lists":{"known":{"values":["me@b.example"],"manualAdditions":[],"manualRemovals":[]},"sites":{"values":["a.example"]}}}"#;
    Target::new("policy-files")
        .seeds([
            format!(
                r#"{{"generatedAt":"x","rules":[{rule},{hosts}]}}{BETWEEN}{tools}{BETWEEN}{known}"#
            ),
            format!(r#"{{"rules":[{lists}]}}{BETWEEN}{{"servers":{{}}}}{BETWEEN}{known}"#),
            format!(r#"{{"rules":[{rule}]}}{BETWEEN}{tools}"#),
        ])
        .words([
            "\"roles\":",
            "\"paths\":",
            "\"within\":",
            "\"domains\":",
            "\"allowed\":",
            "\"lists\":",
            "\"matchType\":",
            "\"then\":\"allow\"",
            "\"then\":\"deny\"",
            "\"escalate\"",
            "\"if\":{}",
            "\"server\":",
            "\"tool\":",
            "\"sideEffects\":",
            "\"read-path\"",
            "\"write-path\"",
            "\"fetch-url\"",
            "\"none\"",
            "\"@known\"",
            "\"*\"",
            "\"/\"",
            "\"~\"",
            "\"${SANDBOX}\"",
            "\"..\"",
            "\"\"",
            "[]",
            "{}",
            "null",
            "\"args\":",
            "\"condition\":",
            "\"default\":",
            "\"a.*\"",
            "\"*.*.x\"",
            "\u{e9}",
            "\\u0061",
            ",",
        ])
        .runs(2500)
        .run(check);
}

fn check(bytes: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(bytes) else { return Outcome::refused("no text") };
    let files: Vec<&str> = text.split(BETWEEN).collect();
    let loaded = load(&files);
    // The same files, written by us: other spaces, other escapes, the same meaning.
    let ours: Option<Vec<String>> = files
        .iter()
        .map(|file| {
            Json::parse(file.as_bytes(), JsonLimits::ARTIFACT).ok().map(|json| json.to_string())
        })
        .collect();
    if let Some(ours) = ours {
        let again = load(&ours.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(loaded, again, "how a file is spelled makes a difference");
    }
    match loaded {
        Ok(policy) => Outcome::accepted(policy.matches(" Rule ").count().min(4)),
        Err(why) => {
            let names = ["compiled-policy.json", "tool-annotations.json", "dynamic-lists.json"];
            assert!(names.iter().any(|name| why.starts_with(name)), "it names no file: {why}");
            let kind: Vec<&str> = why.split('`').step_by(2).collect();
            // Places have numbers in them, and each number would be a kind of its own.
            let kind: String =
                kind.concat().chars().filter(|it| it.is_alphabetic()).take(80).collect();
            Outcome::refused(kind)
        }
    }
}

/// Loads files; a policy comes back as its rules and annotations, written out.
fn load(files: &[&str]) -> Result<String, String> {
    let source = |n: usize, file| files.get(n).map(|text| Source { file, bytes: text.as_bytes() });
    let none = Source { file: "tool-annotations.json", bytes: b"" };
    let sources = PolicySources {
        compiled: source(0, "compiled-policy.json").unwrap_or(none),
        annotations: source(1, "tool-annotations.json").unwrap_or(none),
        lists: source(2, "dynamic-lists.json"),
    };
    let locate = |text: &str| CanonicalPath::new(text).map_err(|error| error.to_string());
    let policy =
        Policy::load(&sources, &locate).map_err(|error| without_place(&error.to_string()))?;
    let mut annotations: Vec<String> = policy.annotations().map(|it| format!("{it:?}")).collect();
    annotations.sort();
    let rules: Vec<String> = policy.rules().iter().map(|it| in_order(&format!("{it:?}"))).collect();
    Ok(format!("{rules:?}\n{annotations:?}"))
}

/// Tables of hosts are written in any order, so the words of a rule are put in one.
fn in_order(rule: &str) -> String {
    let mut words: Vec<&str> = rule.split([' ', ',', '{', '}', '[', ']', '(', ')']).collect();
    words.sort_unstable();
    words.join(" ")
}

/// Lines and columns are those of the spelling.
fn without_place(error: &str) -> String {
    error.split(" at line ").next().unwrap_or_default().to_owned()
}
