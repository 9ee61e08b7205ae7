//! The line of the banner that says what is free: it never claims more than the policy gives.

use serde_json::{Value, json};

use super::{change, judged, scripted};
use ic_testkit::{Place, Proxy};

/// Returns the line of the banner that says what is free.
pub(super) fn outline(place: &Place, flags: &[&str]) -> String {
    let mut proxy = Proxy::start(place, flags);
    proxy.initialize();
    proxy.finish();
    let stderr = proxy.all_stderr();
    let line = stderr.lines().find(|line| line.contains("out of reach: "));
    line.unwrap_or_else(|| panic!("{stderr}")).to_owned()
}

/// Returns what is said under one heading.
#[track_caller]
fn under<'a>(line: &'a str, heading: &str) -> &'a str {
    let start = line.find(&format!("{heading}: ")).unwrap_or_else(|| panic!("{line}"));
    let rest = line.get(start + heading.len() + 2..).unwrap();
    rest.split("; ").next().unwrap()
}

/// Asks the policy about a call; without a sandbox.
fn check(place: &Place, tool: &str, arguments: &Value) -> String {
    let (server, tool) = tool.split_once('.').unwrap();
    judged(place, server, tool, &arguments.to_string()).0
}

#[test]
fn an_always_for_one_tool_names_that_tool() {
    let place = scripted();
    place.dir("home/letters");
    change(
        &place,
        &["allow", "filesystem.read_text_file", "--to", "read", "--in", "~/letters", "--yes"],
    );
    let line = outline(&place, &[]);
    let free = under(&line, "free");
    assert!(free.contains("read in ~/letters (filesystem.read_text_file)"), "{line}");
    let file = json!({"path": "~/letters/a"});
    assert_eq!(check(&place, "filesystem.read_text_file", &file), "allow");
    assert_eq!(check(&place, "filesystem.read_file", &file), "escalate");
    // Four tools are too many to name, and are not the server either.
    for tool in ["read_file", "get_file_info", "list_directory"] {
        let name = format!("filesystem.{tool}");
        change(&place, &["allow", &name, "--to", "read", "--in", "~/letters", "--yes"]);
    }
    let line = outline(&place, &[]);
    assert!(line.contains("read in ~/letters (4 tools of filesystem)"), "{line}");
}

#[test]
fn files_that_tools_run_are_an_exception_to_everything() {
    let place = scripted();
    let work = place.dir("work").to_str().unwrap().to_owned();
    let except = ", except changes to files that your tools run (such as .envrc)";
    let line = outline(&place, &["--workspace", &work]);
    assert!(under(&line, "free").starts_with("everything in the workspace, "), "{line}");
    assert!(under(&line, "free").ends_with(except), "{line}");
    // A session's own sandbox has no such exception; other places do.
    let line = outline(&place, &[]);
    let except =
        ", except changes outside the sandbox to files that your tools run (such as .envrc)";
    assert!(under(&line, "free").ends_with(except), "{line}");
    let line = outline(&place, &["--policy", "readonly", "--workspace", &work]);
    assert_eq!(under(&line, "free"), "read anywhere");
}

#[test]
fn what_one_server_may_do_names_it() {
    let place = scripted();
    change(&place, &["allow", "filesystem", "--to", "read", "--in", "~/notes", "--yes"]);
    change(&place, &["allow", "filesystem", "--to", "read,write", "--in", "~/notes/out", "--yes"]);
    let line = outline(&place, &[]);
    let free = under(&line, "free");
    assert!(free.contains("read in ~/notes (filesystem)"), "{line}");
    // What holds around a place is not said of it again.
    assert!(free.contains(", write in ~/notes/out (filesystem)"), "{line}");
    assert_eq!(check(&place, "git.git_status", &json!({"path": "~/notes"})), "escalate");
    // Where every server may, none is named.
    change(&place, &["allow", "git", "--to", "read", "--in", "~/notes", "--yes"]);
    let line = outline(&place, &[]);
    assert!(under(&line, "free").contains("read in ~/notes, "), "{line}");
}

#[test]
fn a_server_that_is_off_frees_nothing() {
    let place = scripted();
    change(&place, &["allow", "filesystem", "--to", "read", "--in", "~/notes", "--yes"]);
    place.write("home/.ironcurtain/mcp-servers.json", r#"{"filesystem":null}"#);
    let line = outline(&place, &[]);
    assert!(!line.contains("~/notes") && !line.contains("filesystem"), "{line}");
    // What git does is said all the same.
    assert!(
        under(&line, "free").starts_with("everything in the sandbox, read, write and commit in"),
        "{line}"
    );
    place.write("home/.ironcurtain/mcp-servers.json", r#"{"filesystem":null,"git":null}"#);
    let line = outline(&place, &[]);
    assert_eq!(under(&line, "free"), "run commands in the sandbox", "{line}");
    let none = r#"{"filesystem":null,"git":null,"shell":null}"#;
    place.write("home/.ironcurtain/mcp-servers.json", none);
    let line = outline(&place, &[]);
    assert!(!line.contains("free: ") && line.contains("asks: everything else; "), "{line}");
}

/// Commands are said of apart where they are not what everything else is; files are said of without them.
#[test]
fn commands_are_said_of_where_they_differ() {
    let place = scripted();
    let work = place.dir("work").to_str().unwrap().to_owned();
    let flags = ["--workspace", work.as_str()];
    let run = "run commands in the workspace";
    let line = outline(&place, &flags);
    assert!(under(&line, "free").starts_with("everything in the workspace"), "{line}");
    assert!(!line.contains(run), "{line}");
    change(&place, &["never", "shell.run_command"]);
    let line = outline(&place, &flags);
    assert!(under(&line, "free").starts_with("everything in the workspace"), "{line}");
    assert!(under(&line, "refused").contains(run), "{line}");
    let call = json!({"command": "ls", "cwd": work});
    assert_eq!(check(&place, "shell.run_command", &call), "deny");
    place.write("home/.ironcurtain/mcp-servers.json", r#"{"shell":null}"#);
    let line = outline(&place, &flags);
    assert!(!line.contains(run), "{line}");
}

#[test]
fn a_verb_that_is_never_allowed_is_not_free_anywhere() {
    let place = scripted();
    let work = place.dir("work").to_str().unwrap().to_owned();
    change(&place, &["never", "--to", "delete"]);
    let line = outline(&place, &["--workspace", &work]);
    assert!(
        under(&line, "free")
            .starts_with("read, write, commit and rewrite history in the workspace, "),
        "{line}"
    );
    // A command could delete, so none runs.
    let refused = "run commands in the workspace, delete anywhere";
    assert_eq!(under(&line, "refused"), refused, "{line}");
    // In a session's own sandbox a general rule changes nothing, and the line says that too.
    let line = outline(&place, &[]);
    assert!(under(&line, "free").starts_with("everything in the sandbox, "), "{line}");
    assert_eq!(under(&line, "refused"), "delete anywhere else", "{line}");
}

/// Servers of others: what they may do is said by their names, with or without a place.
#[test]
fn servers_of_others_are_counted_in() {
    let place = scripted();
    place.write("home/.ironcurtain/mcp-servers.json", r#"{"mail":{"command":"true"}}"#);
    change(&place, &["new", "mine"]);
    change(&place, &["use", "mine", "--yes"]);
    let annotations = r#"{"servers":{"mail":{"tools":[
        {"toolName":"attach","args":{"path":["read-path"]}},
        {"toolName":"send","args":{"text":["none"]}},
        {"toolName":"drop","draft":true,"args":{"path":["read-path"]}}]}}}"#;
    place.write("home/.ironcurtain/policies/mine/tool-annotations.json", annotations);
    let line = outline(&place, &[]);
    // It is not contained, so the sandbox is not free for it.
    assert!(under(&line, "free").contains("in the sandbox (filesystem"), "{line}");
    change(&place, &["allow", "mail.send", "--yes"]);
    change(&place, &["allow", "mail", "--to", "read", "--in", "~/notes", "--yes"]);
    let line = outline(&place, &[]);
    let free = under(&line, "free");
    assert!(free.contains("tools of mail without a place"), "{line}");
    // A draft asks whatever rules say.
    assert!(free.contains("read in ~/notes (mail.attach)"), "{line}");
}
