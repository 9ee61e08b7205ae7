//! Configurations of clients are changed in one place, and stay as they were everywhere else.

use serde_json::json;

use super::*;

fn entry(path: &'static [&'static str], keys: &Value) -> Want {
    Want::Entry { path, keys: keys.as_object().unwrap().clone() }
}

/// Puts an entry in and takes it out again: in between the file says it, afterwards it is as before.
#[track_caller]
fn check(format: Format, path: &'static [&'static str], before: &str) -> String {
    let wants = [entry(path, &json!({"command": "/bin/ic", "args": ["proxy", "-x"], "on": true}))];
    let after = with(before, format, &wants).unwrap();
    let read = parse(format, after.as_bytes()).unwrap();
    assert_eq!(at(&read, path).unwrap()["args"], json!(["proxy", "-x"]), "{after}");
    assert_eq!(with(&after, format, &wants), Ok(after.clone()), "twice is once");
    let again = without(&after, format, &wants).unwrap();
    let trimmed = |text: &str| text.trim_end().to_owned();
    let was_empty = matches!(before.split_whitespace().collect::<String>().as_str(), "" | "{}");
    match was_empty {
        true => assert!(is_empty(&again, format), "{again}"),
        false => assert_eq!(trimmed(&again), trimmed(before), "{after}"),
    }
    after
}

#[test]
fn an_entry_goes_in_and_out_of_json_and_leaves_the_rest() {
    for before in [
        "",
        "{}",
        "{\n}\n",
        "{\"a\": 1}",
        "{ \"a\": 1, \"b\": [1, 2] }\n",
        "{\n  // ours\n  \"a\": 1 // one\n  /* end */\n}\n",
        "{\n\t\"mcpServers\": {\n\t\t\"x\": { \"command\": \"y\" }, // kept\n\t},\n}\n",
        "{\n    \"z\": \"// no comment, \\\" }\",\n    \"mcpServers\": {\n        \"x\": {\"command\": \"y\"}\n    }\n}\n",
        "{\"mcpServers\": {\"x\": {\"command\": \"y\"}}, \"t\": null}",
        "\u{feff}{\r\n  \"a\": 1\r\n}\r\n",
    ] {
        let after = check(Format::Json, &["mcpServers", "ironcurtain"], before);
        for comment in ["// ours", "// one", "/* end */", "// kept"] {
            assert_eq!(after.contains(comment), before.contains(comment), "{comment}: {after}");
        }
    }
}

#[test]
fn an_entry_goes_in_and_out_of_toml_and_leaves_the_rest() {
    for before in [
        "",
        "model = \"x\" # mine\n",
        "# top\n[mcp_servers.other] # theirs\ncommand = \"y\"\n\n[features]\na = true\n",
        "[mcp_servers]\n[mcp_servers.other]\ncommand = \"y\"\n",
        "mcp_servers.other.command = \"y\"\n\n[features]\na = 1\n",
        "# mine\n",
        "[features]\na = 1 # mine\n\n# [off]\n# b = 2\n# top",
    ] {
        let after = check(Format::Toml, &["mcp_servers", "ironcurtain"], before);
        assert!(after.starts_with(before), "it is at the end: {after}");
    }
}

/// What follows our table stays where it is, also if somebody wrote it later.
#[test]
fn comments_around_our_table_stay() {
    let path: &'static [&'static str] = &["mcp_servers", "ironcurtain"];
    let wants = [entry(path, &json!({"command": "x"}))];
    let before =
        "# one\n\n[mcp_servers.ironcurtain] # ours\ncommand = \"x\"\n\n# two\n[a]\nb = 1\n";
    let after = without(before, Format::Toml, &wants);
    assert_eq!(after.as_deref(), Ok("# one\n\n# two\n[a]\nb = 1\n"));
}

#[test]
fn an_entry_goes_in_and_out_of_yaml_and_leaves_the_rest() {
    for before in [
        "",
        "GOOSE_MODEL: x # mine\n",
        "extensions:\n  other:\n    type: stdio # theirs\n    args: [a]\nGOOSE_MODEL: x\n",
        "# top\nextensions: # all\n    other:\n        type: stdio\n\n# end\nx: 1\n",
        "x: 1\nextensions:\n  a: {type: platform}\n  b: {type: platform}\n",
    ] {
        let after = check(Format::Yaml, &["extensions", "ironcurtain"], before);
        for comment in ["# mine", "# top", "# theirs", "# all", "# end"] {
            assert_eq!(after.contains(comment), before.contains(comment), "{comment}: {after}");
        }
    }
}

#[test]
fn an_entry_that_is_there_keeps_what_is_not_ours() {
    let wants = |path| [entry(path, &json!({"command": "new", "args": ["proxy"]}))];
    for (format, path, before, expected) in [
        (
            Format::Json,
            &["mcpServers", "ironcurtain"] as &'static [&'static str],
            "{\n  \"mcpServers\": {\n    \"ironcurtain\": {\"command\": \"old\", \"env\": {\"A\": \"1\"}} // c\n  }\n}\n",
            "{\n  \"mcpServers\": {\n    \"ironcurtain\": {\"command\": \"new\", \"env\": {\"A\": \"1\"}, \"args\": [\"proxy\"]} // c\n  }\n}\n",
        ),
        (
            Format::Toml,
            &["mcp_servers", "ironcurtain"],
            "[mcp_servers.ironcurtain]\ncommand = \"old\" # c\nstartup_timeout_sec = 9\n",
            "[mcp_servers.ironcurtain]\ncommand = \"new\" # c\nstartup_timeout_sec = 9\nargs = [\"proxy\"]\n",
        ),
        (
            Format::Yaml,
            &["extensions", "ironcurtain"],
            "extensions:\n  ironcurtain:\n    command: old\n    bundled: true\n  b: {}\n",
            "extensions:\n  ironcurtain:\n    command: new\n    bundled: true\n    args: [proxy]\n  b: {}\n",
        ),
    ] {
        assert_eq!(with(before, format, &wants(path)).as_deref(), Ok(expected));
    }
}

#[test]
fn settings_of_the_user_stay_and_a_list_keeps_its_items() {
    let wants = [
        Want::Item { path: &["permissions", "allow"], value: json!("ours") },
        Want::Setting { path: &["env", "A"], value: json!("1") },
        Want::Setting { path: &["env", "B"], value: json!("2") },
    ];
    let before = "{\n  \"permissions\": {\n    \"allow\": [\n      \"x\" // why\n    ]\n  },\n  \"env\": {\"A\": \"9\"}\n}\n";
    let after = with(before, Format::Json, &wants).unwrap();
    let read = parse(Format::Json, after.as_bytes()).unwrap();
    assert_eq!(read["permissions"]["allow"], json!(["x", "ours"]), "{after}");
    assert_eq!(read["env"], json!({"A": "9", "B": "2"}), "{after}");
    assert!(after.contains("// why"), "{after}");
    assert_eq!(kept(before, Format::Json, &wants), [("env.A".to_owned(), json!("9"), json!("1"))]);
    assert_eq!(without(&after, Format::Json, &wants).as_deref(), Ok(before));
}

#[test]
fn what_cannot_be_changed_safely_is_refused() {
    for (format, path, text) in [
        (Format::Json, &["mcpServers", "ironcurtain"] as &'static [&'static str], "[]"),
        (Format::Json, &["mcpServers", "ironcurtain"], "{\"mcpServers\": 1}"),
        (Format::Json, &["mcpServers", "ironcurtain"], "{\"mcpServers\": {}, \"mcpServers\": {}}"),
        (Format::Json, &["mcpServers", "ironcurtain"], "{\"a\": 1"),
        (Format::Toml, &["mcp_servers", "ironcurtain"], "mcp_servers = 1\n"),
        (Format::Toml, &["mcp_servers", "ironcurtain"], "a = \n"),
        (Format::Yaml, &["extensions", "ironcurtain"], "extensions: {a: {type: x}}\n"),
        (Format::Yaml, &["extensions", "ironcurtain"], "extensions: []\n"),
        (Format::Yaml, &["extensions", "ironcurtain"], "\"extensions\":\n  a: {}\n"),
        (Format::Yaml, &["extensions", "ironcurtain"], "text: |\n  x\nextensions:\n- a\n"),
    ] {
        let wants = [entry(path, &json!({"command": "x"}))];
        assert!(with(text, format, &wants).is_err(), "{text}");
    }
}
