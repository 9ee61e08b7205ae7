//! Policy files that are wrong: refused, with file, place and reason.

use ic_policy::artifact::Source;
use ic_policy::{Policy, PolicySources, Scenarios, artifact};
use ic_types::CanonicalPath;

const NO_TOOLS: &str = r#"{"servers":{}}"#;
const NO_RULES: &str = r#"{"rules":[]}"#;

fn load(compiled: &[u8], annotations: &[u8], lists: Option<&[u8]>) -> Result<Policy, String> {
    let sources = PolicySources {
        compiled: Source { file: "compiled-policy.json", bytes: compiled },
        annotations: Source { file: "tool-annotations.json", bytes: annotations },
        lists: lists.map(|bytes| Source { file: "dynamic-lists.json", bytes }),
    };
    let locate = |text: &str| CanonicalPath::new(text).map_err(|error| error.to_string());
    Policy::load(&sources, &locate).map_err(|error| error.to_string())
}

#[track_caller]
fn refuses_rules(compiled: &str, expected: &str) {
    let error = load(compiled.as_bytes(), NO_TOOLS.as_bytes(), None).unwrap_err();
    assert!(error.starts_with("compiled-policy.json: ") && error.contains(expected), "{error}");
}

#[track_caller]
fn refuses_tool(tool: &str, expected: &str) {
    let annotations = format!(r#"{{"servers":{{"s":{{"tools":[{tool}]}}}}}}"#);
    let error = load(NO_RULES.as_bytes(), annotations.as_bytes(), None).unwrap_err();
    assert!(error.starts_with("tool-annotations.json: ") && error.contains(expected), "{error}");
}

fn rule(inside: &str) -> String {
    format!(r#"{{"rules":[{{"name":"r","if":{{}},"then":"allow","reason":"x"}},{{{inside}}}]}}"#)
}

#[test]
fn files_that_are_no_json_are_refused() {
    for (bytes, expected) in [
        (&b""[..], "the file is empty"),
        (b" \n\t", "the file is empty"),
        (b"\x00\x01\x02", "expected a value at line 1, column 1"),
        (b"{\"rules\": [", "unexpected end at line 1, column 12"),
        (b"{\"rules\":[]}{\"rules\":[]}", "expected the end of the document"),
        (b"{\"rules\":[],\"rules\":[]}", "duplicate key `rules`"),
        (b"[]", "expected an object"),
        (b"null", "expected an object"),
        (b"\xff\xfe{}", "expected a value"),
    ] {
        refuses_rules(&String::from_utf8_lossy(bytes), expected.split('\u{fffd}').next().unwrap());
        let error = load(bytes, NO_TOOLS.as_bytes(), None).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    refuses_rules(&deep, "nest deeper than 64");
}

#[test]
fn rules_with_mistakes_are_refused_with_their_place() {
    refuses_rules(r#"{"rule":[]}"#, "unknown field `rule`");
    refuses_rules("{}", "missing field `rules`");
    refuses_rules(r#"{"rules":{}}"#, "rules: invalid type: map");
    refuses_rules(
        &rule(r#""name":"","if":{},"then":"allow","reason":"x""#),
        "rules[1].name: a rule needs a name",
    );
    refuses_rules(
        &rule(r#""name":"b","then":"allow","reason":"x""#),
        "rules[1]: missing field `if`",
    );
    refuses_rules(
        &rule(r#""name":"b","if":{},"then":"permit","reason":"x""#),
        "rules[1].then: unknown variant `permit`",
    );
    refuses_rules(
        &rule(r#""name":"b","if":{},"then":"allow","reason":5"#),
        "rules[1].reason: invalid type",
    );
    refuses_rules(
        &rule(r#""name":"b","if":{"path":{}},"then":"allow","reason":"x""#),
        "rules[1].if.path: unknown field `path`",
    );
    refuses_rules(
        &rule(r#""name":"b","if":{"roles":["read"]},"then":"allow","reason":"x""#),
        "rules[1].if.roles[0]: `read` is no role",
    );
    refuses_rules(
        &rule(
            r#""name":"b","if":{"paths":{"roles":["read-path"],"within":"d"}},"then":"allow","reason":"x""#,
        ),
        "rules[1].if.paths.within: it is not absolute",
    );
    refuses_rules(
        &rule(
            r#""name":"b","if":{"domains":{"roles":["fetch-url"],"allowed":["a.example","a b"]}},"then":"allow","reason":"x""#,
        ),
        "rules[1].if.domains.allowed[1]: `a b` is no domain pattern",
    );
    refuses_rules(
        &rule(
            r#""name":"b","if":{"lists":[{"roles":["github-owner"],"allowed":[],"matchType":"globs"}]},"then":"allow","reason":"x""#,
        ),
        "rules[1].if.lists[0].matchType: unknown variant `globs`",
    );
}

#[test]
fn annotations_with_mistakes_are_refused_with_their_place() {
    refuses_tool(r#"{"args":{}}"#, "servers.s.tools[0]: missing field `toolName`");
    refuses_tool(
        r#"{"toolName":"a b","args":{}}"#,
        "servers.s.tools[0].toolName: `a b` is no tool name",
    );
    refuses_tool(
        r#"{"toolName":"t","serverName":"other","args":{}}"#,
        "servers.s.tools[0].serverName: the tool stands under",
    );
    refuses_tool(r#"{"toolName":"t","args":{"a":["read"]}}"#, "`read` is no role");
    refuses_tool(r#"{"toolName":"t","args":{"a":"read-path"}}"#, "servers.s.tools[0].args.a");
    refuses_tool(
        r#"{"toolName":"t","args":{"a":{"default":["none"]}}}"#,
        "expected either `roles`, or `default` and `when`",
    );
    refuses_tool(
        r#"{"toolName":"t","args":{"a":{"default":["none"],"when":[{"condition":{"arg":"b"},"roles":["none"]}]}}}"#,
        "a condition has exactly one of `equals`, `in` and `is`",
    );
    refuses_tool(
        r#"{"toolName":"t","args":{"a":{"default":["none"],"when":[{"condition":{"arg":"b","equals":1,"is":"absent"},"roles":["none"]}]}}}"#,
        "a condition has exactly one of",
    );
    refuses_tool(
        r#"{"toolName":"t","args":{"/*/a":["none"]}}"#,
        "args./*/a: a pointer begins with an argument's name",
    );
    refuses_tool(
        r#"{"toolName":"t","args":{"a":{"roles":["read-path"],"relativeTo":"b"}}}"#,
        ".args.a.relativeTo: `b` is no annotated argument",
    );
    refuses_tool(
        r#"{"toolName":"t","args":{"a":{"roles":["read-path"],"relativeTo":"a"}}}"#,
        ".args.a.relativeTo: `a` is no annotated argument that stands by itself",
    );
    refuses_tool(
        r#"{"toolName":"t","args":{}},{"toolName":"t","args":{}}"#,
        "servers.s.tools[1]: the tool `t` is annotated twice",
    );
    let bad_server =
        load(NO_RULES.as_bytes(), br#"{"servers":{"a__b":{"tools":[]}}}"#, None).unwrap_err();
    assert!(bad_server.contains("servers: `a__b` is no server name"), "{bad_server}");
}

#[test]
fn lists_and_scenarios_with_mistakes_are_refused() {
    let lists =
        load(NO_RULES.as_bytes(), NO_TOOLS.as_bytes(), Some(br#"{"lists":{"a":{"values":[5]}}}"#))
            .unwrap_err();
    assert!(lists.starts_with("dynamic-lists.json: lists.a.values[0]: "), "{lists}");
    let scenarios = |text: &str| {
        let source = Source { file: "test-scenarios.json", bytes: text.as_bytes() };
        artifact::read::<Scenarios>(source).unwrap_err().to_string()
    };
    let missing = scenarios(r#"{"scenarios":[{"description":"x"}]}"#);
    assert!(missing.starts_with("test-scenarios.json: scenarios[0]: missing field"), "{missing}");
    let expected = scenarios(
        r#"{"scenarios":[{"description":"x","request":{"serverName":"s","toolName":"t","arguments":{}},"expectedDecision":"maybe","source":"handwritten"}]}"#,
    );
    assert!(
        expected.contains("scenarios[0].expectedDecision: unknown variant `maybe`"),
        "{expected}"
    );
}

#[test]
fn lists_that_are_absent_and_names_that_repeat_are_warned_of() {
    let compiled = r#"{"rules":[
        {"name":"a","if":{"domains":{"roles":["fetch-url"],"allowed":["@x","@x"]}},"then":"allow","reason":"r"},
        {"name":"a","if":{},"then":"deny","reason":"r"}],
        "listDefinitions":[{"name":"y","type":"domains","principle":"p","generationPrompt":"g","requiresMcp":false}]}"#;
    let policy = load(compiled.as_bytes(), NO_TOOLS.as_bytes(), None).unwrap();
    let warnings = policy.warnings().join("\n");
    assert_eq!(policy.warnings().len(), 3, "{warnings}");
    assert!(warnings.contains("the list `x` is absent and counts as empty"), "{warnings}");
    assert!(warnings.contains("the list `y` is absent"), "{warnings}");
    assert!(warnings.contains("rules[1].name: another rule is called `a` too"), "{warnings}");
}

#[test]
fn every_byte_of_a_policy_is_in_its_hash() {
    let hash = |compiled: &str, lists: Option<&[u8]>| {
        load(compiled.as_bytes(), NO_TOOLS.as_bytes(), lists).unwrap().hash()
    };
    assert_ne!(hash(NO_RULES, None), hash(r#"{"rules":[] }"#, None));
    assert_ne!(hash(NO_RULES, None), hash(NO_RULES, Some(br#"{"lists":{}}"#)));
    let with_tools = load(NO_RULES.as_bytes(), br#"{"servers":{} }"#, None).unwrap().hash();
    assert_ne!(hash(NO_RULES, None), with_tools);
}
