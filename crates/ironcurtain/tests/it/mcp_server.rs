//! `ironcurtain mcp-server`: the real binary, spoken to as any MCP client would.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{json_lines, place};

/// Makes the lines of some calls, numbered from 0.
fn calls(calls: &[(&str, Value)]) -> String {
    let lines = calls.iter().enumerate().map(|(id, (tool, arguments))| {
        let params = json!({"name": tool, "arguments": arguments});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the text of each answer, in the order of the calls.
fn texts(output: &ic_testkit::Output) -> Vec<String> {
    let mut answers = json_lines(output);
    answers.sort_by_key(|answer| answer["id"].as_u64());
    let text = |answer: &Value| answer["result"]["content"][0]["text"].as_str().map(str::to_owned);
    answers.iter().map(|answer| text(answer).unwrap()).collect()
}

#[test]
fn files_in_the_named_directories_are_served() {
    let place = place();
    place.write("a/f.txt", "text of f");
    place.write("b/g.txt", "text of g");
    place.write("c/h.txt", "outside");
    let input = calls(&[
        ("read_file", json!({"path": "f.txt"})),
        ("read_file", json!({"path": place.path("b/g.txt")})),
        ("read_file", json!({"path": place.path("c/h.txt")})),
        ("list_allowed_directories", json!({})),
    ]);
    let output = place.run_with_input(["mcp-server", "filesystem", "a", "./b/"], input.as_bytes());
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    let root = place.root();
    let texts: Vec<String> =
        texts(&output).iter().map(|text| text.replace(root.to_str().unwrap(), "[ROOT]")).collect();
    assert_snapshot!(texts.join("\n---\n"), @"
    text of f
    ---
    text of g
    ---
    `[ROOT]/c/h.txt` is outside of the directories that can be reached; `list_allowed_directories` names them
    ---
    Allowed directories:
    [ROOT]/a (read, write, delete)
    [ROOT]/b (read, write, delete)
    ");
}

#[test]
fn a_view_says_what_may_be_done() {
    let place = place();
    let file = place.write("a/f.txt", "text");
    place.write("a/.git/config", "x");
    let view = json!({
        "directories": [{"path": place.path("a"), "rights": ["read"]}],
        "leaveOut": [place.path("a/.git")],
        "only": null,
        "links": "refuse",
    });
    let input = calls(&[
        ("read_file", json!({"path": file})),
        ("write_file", json!({"path": file, "content": "gone"})),
        ("read_file", json!({"path": place.path("a/.git/config")})),
    ]);
    let arguments = ["mcp-server", "filesystem", "--view", &view.to_string()];
    let output = place.run_with_input(arguments, input.as_bytes());
    let texts = texts(&output);
    assert_eq!(texts[0], "text");
    assert!(texts[1].contains("without the right to write"), "{}", texts[1]);
    assert!(texts[2].contains("is protected"), "{}", texts[2]);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "text");
}

#[test]
fn answers_come_whole_although_the_program_holds_the_lock_on_its_output() {
    let place = place();
    let file = place.write("a/f.txt", "x".repeat(100_000));
    let call = ("read_file", json!({"path": file}));
    let input = calls(&vec![call; 100]);
    let output = place.run_with_input(["mcp-server", "filesystem", "a"], input.as_bytes());
    assert_eq!(output.code, 0);
    assert!(texts(&output).iter().all(|text| text.len() == 100_000));
    assert_eq!(texts(&output).len(), 100);
}

#[test]
fn what_cannot_be_served_is_said_on_standard_error() {
    let place = place();
    place.write("f.txt", "x");
    let shape = r#"{"directories":[],"leaveOut":[],"only":null}"#;
    for (arguments, part) in [
        (&["filesystem"][..], "required arguments were not provided"),
        (&["filesystem", "gone"], "is not a directory"),
        (&["filesystem", "f.txt"], "is not a directory"),
        (&["filesystem", "--view", "{"], "the view is not valid JSON"),
        (&["filesystem", "--view", shape], "missing field `links`"),
        (&["filesystem", "--view", "{}", "."], "cannot be used with"),
        (&["git"], "required arguments were not provided"),
        (&["git", "gone"], "is not a directory"),
        (&["git", "--view", "{"], "the view is not valid JSON"),
        (&["fetch", "--allow", "*x"], "is not a valid domain pattern"),
        (&["fetch", "--proxy", "1", "--allow", "x.example"], "cannot be used with"),
        (&["mail"], "unrecognized subcommand"),
    ] {
        let output = place.run([&["mcp-server"], arguments].concat());
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(output.stderr.contains(part), "{arguments:?}: {}", output.stderr);
    }
}

#[test]
fn the_help_names_the_servers() {
    assert_snapshot!(place().run(["mcp-server", "--help"]).stdout, @"
    Run one of the built-in MCP servers on standard input and output

    Usage: ironcurtain mcp-server <COMMAND>

    Commands:
      filesystem  Serve files in some directories
      git         Serve git repositories in some directories
      fetch       Serve pages of the web
      help        Print this message or the help of the given subcommand(s)

    Options:
      -h, --help  Print help
    ");
}
