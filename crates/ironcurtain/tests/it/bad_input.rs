//! Bad input: a clear error with file and key, exit 1 or 2, never a panic.

use ic_testkit::Place;

use crate::{json_lines, place};

const TOOLS: &str =
    r#"{"servers":{"s":{"tools":[{"toolName":"t","args":{"path":["read-path"]}}]}}}"#;
const RULES: &str = r#"{"rules":[{"name":"all","if":{},"then":"allow","reason":"r"}]}"#;

fn with_policy(compiled: &[u8], tools: &[u8]) -> Place {
    let place = place();
    place.write("policy/compiled-policy.json", compiled);
    place.write("policy/tool-annotations.json", tools);
    place
}

/// Runs `policy check` on the place's policy and expects it to fail with these words.
#[track_caller]
fn fails(place: &Place, flags: &[&str], code: i32, words: &[&str]) {
    let mut arguments = vec!["policy", "check", "--policy", "policy"];
    arguments.extend(flags);
    arguments.extend(["s", "t", "{}"]);
    let output = place.run(&arguments);
    assert_eq!((output.code, output.stdout.as_str()), (code, ""), "{output:?}");
    assert!(output.stderr.starts_with("error: "), "{output:?}");
    assert!(!output.stderr.contains("panicked"), "{output:?}");
    for word in words {
        assert!(output.stderr.contains(word), "no {word:?} in {output:?}");
    }
}

#[test]
fn policy_files_that_cannot_be_used_are_named() {
    let huge = format!(r#"{{"rules":[],"x":"{}"}}"#, "x".repeat(1 << 20));
    let deep = "[".repeat(1 << 20);
    for (bytes, words) in [
        (&b""[..], &["compiled-policy.json", "empty"][..]),
        (b"\x7fELF\x02\x01\x01\x00", &["compiled-policy.json", "expected a value"]),
        (b"{\"rules\":[{\"name\":\"a\"", &["compiled-policy.json", "unexpected end"]),
        (b"{\"rules\":5}", &["compiled-policy.json", "rules:"]),
        (b"{\"rules\":[],\"extra\":1}", &["compiled-policy.json", "extra", "unknown field"]),
        (b"{\"rules\":[],\"rules\":[]}", &["duplicate key `rules`"]),
        (huge.as_bytes(), &["compiled-policy.json", "unknown field `x`"]),
        (deep.as_bytes(), &["nest deeper"]),
    ] {
        fails(&with_policy(bytes, TOOLS.as_bytes()), &[], 1, words);
    }
    fails(
        &with_policy(RULES.as_bytes(), b"{\"servers\":[]}"),
        &[],
        1,
        &["tool-annotations.json", "servers"],
    );
    let lists = with_policy(RULES.as_bytes(), TOOLS.as_bytes());
    lists.write("policy/dynamic-lists.json", "{\"lists\":");
    fails(&lists, &[], 1, &["dynamic-lists.json", "unexpected end"]);
}

#[test]
fn missing_files_and_unknown_policies_are_named() {
    let nothing = place();
    fails(&nothing, &[], 1, &["there is no policy `policy`", "hint: The policies are default"]);
    nothing.dir("policy");
    fails(&nothing, &[], 1, &["policy/compiled-policy.json` does not exist", "hint:"]);
    nothing.write("policy/compiled-policy.json", RULES);
    nothing.dir("policy/tool-annotations.json");
    fails(&nothing, &[], 1, &["tool-annotations.json` is not a regular file"]);
    let good = with_policy(RULES.as_bytes(), TOOLS.as_bytes());
    fails(&good, &["--servers", "gone.json"], 1, &["gone.json` does not exist"]);
}

#[test]
fn a_pipe_in_place_of_a_file_does_not_make_us_wait() {
    let place = with_policy(RULES.as_bytes(), TOOLS.as_bytes());
    let made =
        std::process::Command::new("mkfifo").arg(place.path("policy/dynamic-lists.json")).status();
    assert!(made.unwrap().success());
    fails(&place, &[], 1, &["dynamic-lists.json` is not a regular file"]);
}

#[test]
fn servers_files_that_cannot_be_used_are_named() {
    let place = with_policy(RULES.as_bytes(), TOOLS.as_bytes());
    for (text, words) in [
        ("", &["servers.json", "empty"][..]),
        ("[]", &["servers.json"]),
        (r#"{"a":{}}"#, &["servers.json", "a:", "expected either `builtin`"]),
        (r#"{"a":{"builtin":"bash"}}"#, &["a.builtin", "unknown variant `bash`"]),
        (r#"{"a":{"builtin":"git","command":"x"}}"#, &["a:", "expected either"]),
        (r#"{"a":{"builtin":"git","args":[]}}"#, &["a:", "expected either"]),
        (r#"{"a":{"command":""}}"#, &["a.command", "empty"]),
        (r#"{"a":{"command":"x","args":"y"}}"#, &["a.args"]),
        (r#"{"a":{"url":"http://x.example"}}"#, &["a.url", "https"]),
        (r#"{"a b":{"builtin":"git"}}"#, &["`a b` is not a valid server name"]),
        (r#"{"a":{"builtin":"git","allowedDomain":[]}}"#, &["a.allowedDomain", "unknown field"]),
        (
            r#"{"a":{"builtin":"git","allowedDomains":["a b"]}}"#,
            &["a.allowedDomains", "not a valid domain pattern"],
        ),
        (r#"{"a":{"command":"x","sandbox":true}}"#, &["a.sandbox", "`false` or an object"]),
        (r#"{"a":{"url":"https://x.example","contained":true}}"#, &["a.contained", "not confined"]),
        (r#"{"a":{"url":"https://x.example","sandbox":{}}}"#, &["a.sandbox", "another machine"]),
        (
            r#"{"a":{"command":"x","sandbox":false,"contained":true}}"#,
            &["a.contained", "not confined"],
        ),
        (
            r#"{"a":{"command":"x","sandbox":{"network":{"allowedDomains":["*."]}}}}"#,
            &["a.sandbox.network.allowedDomains"],
        ),
        (r#"{"a":{"builtin":"git"},"a":{"builtin":"git"}}"#, &["duplicate key `a`"]),
    ] {
        place.write("servers.json", text);
        fails(&place, &["--servers", "servers.json"], 1, words);
    }
}

#[test]
fn wrong_command_lines_exit_with_2() {
    let place = place();
    for words in [
        &["policy", "check"][..],
        &["policy", "check", "s"],
        &["policy", "check", "s", "t", "{"],
        &["policy", "check", "s", "t", "[]"],
        &["policy", "check", "s", "t", r#"{"a":1,"a":2}"#],
        &["policy", "check", "--workspace", "s", "t", "{}"],
        &["policy", "check", "--requests", "-", "s", "t", "{}"],
        &["policy", "explain", "a b", "t", "{}"],
        &["policy"],
        &["nonsense"],
        &[],
        &["completions", "nosuchshell"],
        &["man", "policy", "nonsense"],
    ] {
        let output = place.run(words);
        assert_eq!(output.code, 2, "{words:?} {output:?}");
        assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "{words:?} {output:?}");
    }
}

#[test]
fn what_was_typed_is_shown_escaped() {
    let output = place().run(["\u{1b}]0;title\u{7}", "\u{202e}x"]);
    assert_eq!(output.code, 2);
    assert!(!output.stderr.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{output:?}");
}

#[test]
fn a_home_that_is_unset_or_relative_is_an_error() {
    for (value, words) in
        [("", "HOME is not set"), ("relative", "HOME is `relative`: it is not absolute")]
    {
        let output = place().with_variable("HOME", value).run(["policy", "check", "s", "t", "{}"]);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.stderr.contains(words), "{output:?}");
    }
}

#[test]
fn names_that_can_be_nobodys_are_unknown_tools() {
    let place = place();
    for (server, tool) in
        [("a b", "t"), ("s", "t t"), ("", "t"), ("s", ""), ("../x", "t"), ("a__b", "t")]
    {
        let output = place.run(["policy", "check", "--json", server, tool, "{}"]);
        assert_eq!(output.code, 4, "{output:?}");
        assert_eq!(json_lines(&output)[0]["rule"], "structural-unknown-tool");
    }
}

#[test]
fn a_bad_line_of_a_batch_is_denied_in_its_place() {
    let place = with_policy(RULES.as_bytes(), TOOLS.as_bytes());
    let lines = [
        r#"{"server":"s","tool":"t","arguments":{}}"#,
        "not json",
        "",
        r#"{"server":"s","tool":"t"}"#,
        r#"{"server":"s","tool":5,"arguments":{}}"#,
        r#"{"server":"s","tool":"t","arguments":[]}"#,
        r#"{"server":"s","tool":"t","arguments":{"path":"/a","path":"/b"}}"#,
        "5",
        r#"{"server":"s","tool":"t","arguments":{"path":"/a"},"id":7}"#,
    ];
    let output = place.run_with_input(
        ["policy", "check", "--policy", "policy", "--requests", "-"],
        lines.join("\n").as_bytes(),
    );
    assert_eq!(output.code, 1, "{output:?}");
    let rules: Vec<String> =
        json_lines(&output).iter().map(|a| a["rule"].as_str().unwrap().to_owned()).collect();
    let invalid = "structural-invalid-request";
    assert_eq!(rules, ["all", invalid, invalid, invalid, invalid, invalid, invalid, "all"]);
    assert!(output.stderr.contains("warning: request 2 cannot be read"), "{}", output.stderr);
}

#[test]
fn a_line_without_end_is_not_kept() {
    let place = with_policy(RULES.as_bytes(), TOOLS.as_bytes());
    let mut input = vec![b'x'; 40 << 20];
    input.extend(b"\n{\"server\":\"s\",\"tool\":\"t\",\"arguments\":{}}\n");
    let output =
        place.run_with_input(["policy", "check", "--policy", "policy", "--requests", "-"], &input);
    let answers = json_lines(&output);
    assert_eq!(answers.len(), 2, "{}", output.stderr);
    assert!(answers[0]["reason"].as_str().unwrap().contains("longer than"), "{answers:?}");
    assert_eq!(answers[1]["decision"], "allow");
}

#[test]
fn a_missing_file_of_requests_is_named() {
    let output = place().run(["policy", "check", "--requests", "gone.jsonl"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("cannot read `gone.jsonl`"), "{output:?}");
}
