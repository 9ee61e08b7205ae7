//! `servers review` at a terminal: one table, a tool, an argument, and back.

use serde_json::{Value, json};

use super::Rig;

/// A rig whose server `plain` has three tools that nobody has confirmed.
fn rig() -> Rig {
    let rig = Rig::new().scripted();
    let tool = |name: &str, description: &str, arguments: &[&str]| {
        let properties: serde_json::Map<String, Value> =
            arguments.iter().map(|it| ((*it).to_owned(), json!({"type": "string"}))).collect();
        json!({"name": name, "description": description,
            "inputSchema": {"type": "object", "properties": properties}})
    };
    rig.says(
        "plain",
        &json!({"tools": [
            tool("read_note", "Reads a note.", &["path"]),
            tool("remove", "Removes a note.", &["file_id"]),
            tool("write_note", "Writes a note.", &["path", "text"]),
        ]}),
    );
    rig.configure(&json!({"plain": rig.entry("plain")}));
    assert_eq!(rig.run(&["trust", "plain", "--yes"]).code, 0);
    rig
}

/// Returns what is written of a tool: the roles of its arguments, and whether it is a draft.
fn written(rig: &Rig, tool: &str) -> (String, bool) {
    let path = rig.place.path("home/.ironcurtain/servers/plain/annotations.json");
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let tools = file["tools"].as_array().unwrap();
    let tool = tools.iter().find(|it| it["toolName"] == tool).unwrap();
    (tool["args"].to_string(), tool["draft"] == true)
}

const WIDE: &str = r#"{"path":["read-path","write-path","delete-path"]}"#;

#[test]
fn a_tool_is_looked_at_changed_and_confirmed_and_the_rest_stays_as_it_was() {
    let rig = rig();
    // Enter alone does nothing; back leads back; a word that is not a role is refused.
    let answers =
        ["\\n", "9\\n", "3\\n", "b\\n", "3\\n", "1\\n", "owner\\n", "4\\n", "c\\n", "q\\n"];
    let seen = rig.at_terminal(&answers, &["review", "plain"]);
    assert_eq!(seen.code, 1, "{}", seen.stdout);
    for line in [
        "  1  read_note   guessed  path     a path that is read\n",
        "  2  remove      guessed  file_id  data (not a path or an address)\n",
        "  3  write_note  guessed  path     a path that is read, written or deleted\n",
        "                          text     data (not a path or an address)\n",
        "type `a`, the number of a tool, or `q`, and then Enter\n",
        "plain.write_note\n  the server says: Writes a note.\n",
        "  4  a path that is read and written\n",
        "  1  path: a path that is read and written\n",
        "  3  write_note  confirmed  path     a path that is read and written\n",
        "plain: 1 confirmed; 2 not confirmed, so calls to them need approval\n",
    ] {
        assert!(seen.stdout.contains(line), "{line:?} is not in\n{}", seen.stdout);
    }
    let confirmed = r#"{"path":["read-path","write-path"],"text":["none"]}"#;
    assert_eq!(written(&rig, "write_note"), (confirmed.to_owned(), false));
    // What was only offered is not what calls are judged by.
    assert_eq!(written(&rig, "read_note"), (WIDE.to_owned(), true));

    let seen = rig.at_terminal(&["a\\n"], &["review", "plain"]);
    assert_eq!(seen.code, 0, "{}", seen.stdout);
    assert!(!seen.stdout.contains("write_note"), "it is confirmed: {}", seen.stdout);
    assert_eq!(written(&rig, "read_note"), (r#"{"path":["read-path"]}"#.to_owned(), false));
    assert_eq!(written(&rig, "remove"), (r#"{"file_id":["none"]}"#.to_owned(), false));
    assert_eq!(written(&rig, "write_note"), (confirmed.to_owned(), false));
}

#[test]
fn who_leaves_has_confirmed_nothing() {
    let rig = rig();
    for answers in
        [&["q\\n"][..], &["\\x04"], &["1\\n", "b\\n", "q\\n"], &["1\\n", "\\x04", "q\\n"]]
    {
        let seen = rig.at_terminal(answers, &["review", "plain"]);
        assert_eq!(seen.code, 1, "{answers:?}: {}", seen.stdout);
        assert!(seen.stdout.contains("plain: 0 confirmed; 3 not confirmed"), "{}", seen.stdout);
        assert_eq!(written(&rig, "read_note"), (WIDE.to_owned(), true));
    }
    let killed = rig.at_terminal(&["\\x03"], &["review", "plain"]);
    assert_ne!(killed.code, 0, "{}", killed.stdout);
    assert_eq!(written(&rig, "read_note"), (WIDE.to_owned(), true));
}

/// What somebody says of an argument with `--set` counts before what would be offered.
#[test]
fn what_is_set_is_what_is_confirmed() {
    let rig = rig();
    let set = "--set=read_note.path=read-path,write-path,delete-path";
    let reviewed = rig.run(&["review", "plain", "--yes", set]);
    assert_eq!(reviewed.code, 0, "{reviewed:?}");
    assert_eq!(written(&rig, "read_note"), (WIDE.to_owned(), false));
}
