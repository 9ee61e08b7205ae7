//! Policy files that are wrong: refused, with file, place and reason.

use ic_policy::artifact::Source;
use ic_policy::{Policy, PolicySources, Scenarios, artifact};
use ic_types::{CanonicalPath, Json, JsonLimits, Role};

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
        "rules[1].if.roles[0]: `read` is not a role",
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
        "rules[1].if.domains.allowed[1]: `a b` is not a valid domain pattern",
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
        "servers.s.tools[0].toolName: `a b` is not a valid tool name",
    );
    refuses_tool(
        r#"{"toolName":"t","serverName":"other","args":{}}"#,
        "servers.s.tools[0].serverName: the tool is listed under",
    );
    refuses_tool(r#"{"toolName":"t","args":{"a":["read"]}}"#, "`read` is not a role");
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
        ".args.a.relativeTo: `b` is not an annotated top-level argument",
    );
    refuses_tool(
        r#"{"toolName":"t","args":{"a":{"roles":["read-path"],"relativeTo":"a"}}}"#,
        ".args.a.relativeTo: `a` is not an annotated top-level argument",
    );
    refuses_tool(
        r#"{"toolName":"t","args":{}},{"toolName":"t","args":{}}"#,
        "servers.s.tools[1]: the tool `t` is annotated twice",
    );
    let bad_server =
        load(NO_RULES.as_bytes(), br#"{"servers":{"a__b":{"tools":[]}}}"#, None).unwrap_err();
    assert!(bad_server.contains("servers: `a__b` is not a valid server name"), "{bad_server}");
}

#[test]
fn one_place_annotated_under_two_spellings_is_refused() {
    refuses_tool(
        r#"{"toolName":"t","args":{"path":["none"],"/path":["read-path"]}}"#,
        "servers.s.tools[0].args./path: the place `path` is annotated twice",
    );
    refuses_tool(
        r#"{"toolName":"t","args":{"/a~1b":["none"],"a/b":["read-path"]}}"#,
        "servers.s.tools[0].args.a/b: the place `a/b` is annotated twice",
    );
    refuses_tool(
        r#"{"toolName":"t","args":{"/e/*/path":["none"],"/e/*/path":["read-path"]}}"#,
        "duplicate key `/e/*/path`",
    );
    let apart = r#"{"servers":{"s":{"tools":[{"toolName":"t","args":{"a":["none"],"/a/b":["none"],"/a/*":["none"]}}]}}}"#;
    load(NO_RULES.as_bytes(), apart.as_bytes(), None).unwrap();
}

#[test]
fn a_condition_on_an_argument_that_is_not_annotated_is_refused() {
    let tool = |arg: &str| {
        format!(
            r#"{{"toolName":"t","args":{{"/x/y":["none"],"mode":["none"],"a":{{"default":["none"],
            "when":[{{"condition":{{"arg":"mode","equals":1}},"roles":["none"]}},
                    {{"condition":{{"arg":"{arg}","equals":1}},"roles":["none"]}}]}}}}}}"#
        )
    };
    for arg in ["other", "/mode", "/x/y", "Mode", ""] {
        refuses_tool(
            &tool(arg),
            &format!(
                "servers.s.tools[0].args.a.when[1].condition.arg: `{arg}` is not the plain name"
            ),
        );
    }
    for arg in ["mode", "x", "a"] {
        let annotations = format!(r#"{{"servers":{{"s":{{"tools":[{}]}}}}}}"#, tool(arg));
        load(NO_RULES.as_bytes(), annotations.as_bytes(), None).unwrap();
    }
}

#[test]
fn a_pattern_with_a_path_is_refused_where_nothing_has_a_repository() {
    let domains = |roles: &str, pattern: &str| {
        rule(&format!(
            r#""name":"b","if":{{"domains":{{"roles":[{roles}],"allowed":["{pattern}"]}}}},"then":"allow","reason":"x""#
        ))
    };
    let lists = |roles: &str, pattern: &str| {
        rule(&format!(
            r#""name":"b","if":{{"lists":[{{"roles":[{roles}],"allowed":["{pattern}"],"matchType":"domains"}}]}},"then":"allow","reason":"x""#
        ))
    };
    let reason = "`https://a.example/path` has a path, which only a condition on `git-remote-url`";
    refuses_rules(
        &domains(r#""fetch-url""#, "https://a.example/path"),
        &format!("rules[1].if.domains.allowed[0]: {reason}"),
    );
    refuses_rules(
        &lists(r#""fetch-url","proxy-domain""#, "https://a.example/path"),
        &format!("rules[1].if.lists[0].allowed[0]: {reason}"),
    );
    for good in [
        domains(r#""fetch-url","git-remote-url""#, "https://a.example/path"),
        domains(r#""fetch-url""#, "https://a.example/"),
        lists(r#""git-remote-url""#, "a.example/o/r"),
    ] {
        load(good.as_bytes(), NO_TOOLS.as_bytes(), None).unwrap();
    }
}

#[test]
fn a_rule_cannot_take_the_name_of_a_decision_without_a_rule() {
    for name in ["default-deny", "structural-sandbox-allow", "structural-mine"] {
        refuses_rules(
            &rule(&format!(r#""name":"{name}","if":{{}},"then":"allow","reason":"x""#)),
            &format!("rules[1].name: `{name}` is a name of decisions without a rule"),
        );
    }
    let near = rule(r#""name":"default-deny-all","if":{},"then":"deny","reason":"x""#);
    load(near.as_bytes(), NO_TOOLS.as_bytes(), None).unwrap();
}

#[test]
fn a_bad_value_of_a_list_is_reported_in_the_list() {
    let compiled = rule(
        r#""name":"b","if":{"domains":{"roles":["fetch-url"],"allowed":["ok.example","@sites"]}},"then":"allow","reason":"x""#,
    );
    for (list, expected) in [
        (
            r#"{"values":["a.example","a b"]}"#,
            "dynamic-lists.json: lists.sites.values[1]: `a b` is not a valid domain pattern",
        ),
        (
            r#"{"values":["a.example"],"manualAdditions":["*x"]}"#,
            "dynamic-lists.json: lists.sites.manualAdditions[0]: `*x` is not a valid domain pattern",
        ),
        (
            r#"{"values":["a.example/o/r"]}"#,
            "dynamic-lists.json: lists.sites.values[0]: `a.example/o/r` has a path",
        ),
    ] {
        let lists = format!(r#"{{"lists":{{"sites":{list}}}}}"#);
        let error = load(compiled.as_bytes(), NO_TOOLS.as_bytes(), Some(lists.as_bytes()));
        let error = error.unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn rules_that_never_hold_are_warned_of() {
    #[track_caller]
    fn check(condition: &str, expected: &[&str]) {
        let compiled =
            rule(&format!(r#""name":"b","if":{{{condition}}},"then":"allow","reason":"x""#));
        let policy = load(compiled.as_bytes(), NO_TOOLS.as_bytes(), None).unwrap();
        let expected: Vec<String> = expected
            .iter()
            .map(|text| {
                format!("compiled-policy.json: rules[1].if.{text}, so the rule never holds")
            })
            .collect();
        assert_eq!(policy.warnings(), expected, "{condition}");
    }
    check(r#""roles":[]"#, &["roles: it is empty"]);
    check(r#""server":[],"tool":[]"#, &["server: it is empty", "tool: it is empty"]);
    check(
        r#""paths":{"roles":["fetch-url","none"],"within":"/"}"#,
        &["paths.roles: none of these roles is about paths"],
    );
    check(
        r#""domains":{"roles":["read-path"],"allowed":["*"]}"#,
        &["domains.roles: none of these roles is about anything but paths"],
    );
    check(r#""paths":{"roles":["fetch-url","read-path"],"within":"/"}"#, &[]);
    check(r#""domains":{"roles":["read-path","proxy-domain"],"allowed":["*"]}"#, &[]);
    check(r#""roles":["read-path"],"server":["s"],"tool":["t"]"#, &[]);
}

#[test]
fn a_schema_with_very_many_keys_is_read_with_its_numbers_as_written() {
    let keys: Vec<String> = (0..100_000).map(|n| format!("\"k{n}\":1.0")).collect();
    let annotations = format!(
        r#"{{"servers":{{"s":{{"tools":[{{"toolName":"t","args":{{}},"inputSchema":{{{}}}}}]}}}}}}"#,
        keys.join(",")
    );
    let policy = load(NO_RULES.as_bytes(), annotations.as_bytes(), None).unwrap();
    let tool = policy.annotation(&"s".parse().unwrap(), &"t".parse().unwrap()).unwrap();
    let schema = tool.input_schema().unwrap().to_string();
    assert!(schema.starts_with(r#"{"k0":1.0,"k1":1.0,"#), "{}", schema.len());
}

/// Returns the role of `a` in a call with these `arguments`, where `x` must meet `condition`.
#[track_caller]
fn role_under(condition: &str, arguments: &str) -> Role {
    let annotations = format!(
        r#"{{"servers":{{"s":{{"tools":[{{"toolName":"t","args":{{"x":["none"],
        "a":{{"default":["delete-path"],"when":[{{"condition":{{"arg":"x",{condition}}},"roles":["read-path"]}}]}}}}}}]}}}}}}"#
    );
    let policy = load(NO_RULES.as_bytes(), annotations.as_bytes(), None).unwrap();
    let tool = policy.annotation(&"s".parse().unwrap(), &"t".parse().unwrap()).unwrap();
    let Json::Object(arguments) = Json::parse(arguments.as_bytes(), JsonLimits::CALL).unwrap()
    else {
        panic!("{arguments}");
    };
    tool.arguments()[1].roles(&arguments)[0]
}

#[test]
fn conditions_compare_values_as_a_server_would() {
    for (condition, arguments, holds) in [
        (r#""equals":1"#, r#"{"x":1.00000000000000001}"#, true),
        (r#""equals":1"#, r#"{"x":1.0}"#, true),
        (r#""equals":1"#, r#"{"x":"1"}"#, false),
        (r#""equals":1"#, r#"{"x":true}"#, false),
        (r#""equals":9007199254740993"#, r#"{"x":9007199254740993}"#, true),
        (r#""in":[2,1e400]"#, r#"{"x":1e400}"#, true),
        (r#""equals":{"p":1,"q":[2]}"#, r#"{"x":{"q":[2.0],"p":1}}"#, true),
        (r#""equals":{"p":1,"q":[2]}"#, r#"{"x":{"p":1}}"#, false),
        (r#""equals":{"p":1}"#, r#"{"x":{"p":1,"q":[2]}}"#, false),
        (r#""is":"falsy""#, r#"{"x":1e-400}"#, true),
        (r#""is":"truthy""#, r#"{"x":1e-400}"#, false),
        (r#""is":"truthy""#, r#"{"x":1e-300}"#, true),
    ] {
        let expected = if holds { Role::ReadPath } else { Role::DeletePath };
        assert_eq!(role_under(condition, arguments), expected, "{condition} {arguments}");
    }
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

/// Where rules let an agent write: every allow rule counts, whatever else it asks for.
#[test]
fn directories_that_rules_let_write_are_found() {
    let tools = r#"{"servers":{
        "files":{"tools":[{"toolName":"write","serverName":"files","args":{"path":["write-path"]}},
                          {"toolName":"read","serverName":"files","args":{"path":["read-path"]}}]}}}"#;
    let written = |condition: &str, then: &str, anywhere: &[&str]| {
        let rules = format!(
            r#"{{"rules":[{{"name":"r","if":{condition},"then":"{then}","reason":"x"}}]}}"#
        );
        let policy = load(rules.as_bytes(), tools.as_bytes(), None).unwrap();
        let all = policy.written_directories(anywhere);
        all.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let within = |roles: &str| format!(r#"{{"paths":{{"roles":{roles},"within":"/d"}}}}"#);
    for role in ["write-path", "delete-path", "write-history", "delete-history"] {
        assert_eq!(
            written(&within(&format!(r#"["read-path","{role}"]"#)), "allow", &[]),
            ["/d"],
            "{role}"
        );
    }
    assert_eq!(written(&within(r#"["read-path"]"#), "allow", &["files"]), [""; 0]);
    assert_eq!(written(&within(r#"["write-path"]"#), "escalate", &["files"]), [""; 0]);
    for (condition, anywhere, expected) in [
        ("{}", &["files"][..], &["/"][..]),
        ("{}", &["others"], &[]),
        ("{}", &[], &[]),
        (r#"{"server":["files"],"tool":["write"]}"#, &["files"], &["/"]),
        (r#"{"server":["files"],"tool":["read"]}"#, &["files"], &[]),
        (r#"{"server":["others"]}"#, &["files"], &[]),
        (r#"{"roles":["read-path"]}"#, &["files"], &[]),
        (r#"{"roles":["write-path"]}"#, &["files"], &["/"]),
    ] {
        assert_eq!(written(condition, "allow", anywhere), expected, "{condition} {anywhere:?}");
    }
}
