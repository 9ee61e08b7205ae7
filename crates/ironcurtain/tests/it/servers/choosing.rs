//! `servers import`: whose files are looked at, and which of the servers in them are meant.

use ic_testkit::Place;
use serde_json::{Value, json};

use super::importing::INLINE;
use crate::place;

/// An entry of a server that works, told from others by its last word.
fn entry(last: &str) -> Value {
    json!({"command": "python3", "args": ["-S", "-c", INLINE, last]})
}

/// Returns the servers that were added, with the last word of each.
fn added(place: &Place) -> Vec<(String, String)> {
    let Ok(bytes) = std::fs::read(place.path("home/.ironcurtain/mcp-servers.json")) else {
        return Vec::new();
    };
    let file: Value = serde_json::from_slice(&bytes).unwrap();
    let entries = file.as_object().unwrap().iter();
    let last = |entry: &Value| Some(entry["args"].as_array()?.last()?.as_str()?.to_owned());
    let ours = entries.filter_map(|(name, entry)| Some((name.clone(), last(entry)?)));
    ours.collect()
}

#[track_caller]
fn check_added(place: &Place, expected: &[(&str, &str)]) {
    let expected: Vec<_> =
        expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    assert_eq!(added(place), expected);
}

fn rows(place: &Place, words: &[&str]) -> Vec<Value> {
    let shown = place.run([&["servers", "import", "--json"], words].concat());
    assert_eq!(shown.code, 0, "{shown:?}");
    serde_json::from_str(&shown.stdout).unwrap()
}

#[test]
fn all_leaves_out_what_is_switched_off_and_what_comes_with_a_project() {
    let place = place();
    let mut off = entry("off");
    off["disabled"] = json!(true);
    place.write(
        "home/.cursor/mcp.json",
        json!({"mcpServers": {"on": entry("on"), "off": off}}).to_string(),
    );
    place.write("work/.mcp.json", json!({"mcpServers": {"planted": entry("planted")}}).to_string());
    place.write(
        "work/.cursor/mcp.json",
        json!({"mcpServers": {"planted2": entry("2")}}).to_string(),
    );
    place.write("work/.vscode/mcp.json", json!({"servers": {"planted3": entry("3")}}).to_string());
    place.write("work/opencode.json", json!({"mcp": {"planted4": {"command": ["x"]}}}).to_string());
    place.write("work/.codex/config.toml", "[mcp_servers.planted5]\ncommand = \"x\"\n");
    place.dir("work/.git");
    place.dir("work/deep");
    // The directory above the repository is nobody's project here.
    place.write(".mcp.json", json!({"mcpServers": {"above": entry("above")}}).to_string());
    let shown = place.run_in("work/deep", ["servers", "import"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    assert!(shown.stdout.contains("switched off there"), "{}", shown.stdout);
    assert_eq!(shown.stdout.matches("comes with the project").count(), 5, "{}", shown.stdout);
    for n in ["planted", "planted2", "planted3", "planted4", "planted5"] {
        assert!(shown.stdout.contains(&format!("{n}: ")), "{}", shown.stdout);
    }
    assert!(!shown.stdout.contains("above: "), "{}", shown.stdout);

    let all = place.run_in("work/deep", ["servers", "import", "--all"]);
    assert_eq!(all.code, 0, "{all:?}");
    check_added(&place, &[("on", "on")]);
    let off = place.run_in("work/deep", ["servers", "import", "off"]);
    assert_eq!(off.code, 0, "by its name it is added: {off:?}");
    let named = place.run_in("work/deep", ["servers", "import", "planted"]);
    assert_eq!(named.code, 0, "{named:?}");
    assert!(named.stderr.contains("comes with the project"), "{named:?}");
    let file = ["servers", "import", "--all", "--client", "cursor", "--file", ".cursor/mcp.json"];
    let asked_for = place.run_in("work", file);
    assert_eq!(asked_for.code, 0, "{asked_for:?}");
    check_added(&place, &[("on", "on"), ("off", "off"), ("planted", "planted"), ("planted2", "2")]);
}

#[test]
fn between_two_servers_of_one_name_that_differ_a_person_chooses() {
    let place = place();
    let file = |servers: Value| json!({"mcpServers": servers}).to_string();
    place.write(
        "home/.cursor/mcp.json",
        file(json!({"db": entry("cursor"), "same": entry("same"), "only": entry("only")})),
    );
    place.write(
        "home/.claude.json",
        json!({"mcpServers": {"same": entry("same"), "app": entry("everywhere")}, "projects": {
            "/p": {"mcpServers": {"db": entry("p"), "app": entry("p")}},
            "/q": {"mcpServers": {"db": entry("q")}}}})
        .to_string(),
    );
    place.write("work/.mcp.json", file(json!({"only": entry("evil")})));
    let run = |words: &[&str]| place.run_in("work", [&["servers", "import"], words].concat());

    for name in ["db", "only"] {
        let refused = run(&[name]);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.stderr.contains("they differ"), "{refused:?}");
        assert!(refused.stderr.contains("--client cursor --file"), "{refused:?}");
    }
    assert!(run(&["db"]).stderr.contains("--project '/q'"), "{:?}", run(&["db"]));
    check_added(&place, &[]);
    let all = run(&["--all"]);
    assert_eq!(all.code, 1, "{all:?}");
    assert!(all.stderr.contains("3 servers are called `db`"), "{all:?}");
    check_added(&place, &[("same", "same"), ("app", "everywhere"), ("only", "only")]);
    assert!(all.stdout.contains("there is another one: `--client claude-code"), "{all:?}");
    for (words, expected) in [
        (&["db", "--client", "cursor"][..], "cursor"),
        (&["db", "--project", "/q"], "q"),
        (&["app", "--project", "/p"], "p"),
    ] {
        let name = words.first().unwrap();
        let _removed = place.run(["servers", "remove", name, "--yes"]);
        let chosen = run(words);
        assert_eq!(chosen.code, 0, "{chosen:?}");
        let is = added(&place).into_iter().find(|(it, _)| it == name).unwrap();
        assert_eq!(is.1, expected, "{words:?}");
    }
}

#[test]
fn files_are_looked_for_where_the_clients_look() {
    let place = place();
    let usual = |name: &str| json!({"mcpServers": {name: {"command": "x"}}}).to_string();
    let toml = |name: &str| format!("[mcp_servers.{name}]\ncommand = \"x\"\n");
    let opencode = |name: &str| json!({"mcp": {name: {"command": ["x"]}}}).to_string();
    place.write("home/.claude.json", usual("not-this"));
    place.write("home/.codex/config.toml", toml("not-this"));
    place.write("home/.config/opencode/opencode.json", opencode("not-this"));
    place.write("c/.claude.json", usual("code"));
    place.write("d/config.toml", toml("codex"));
    place.write("e/opencode/opencode.jsonc", opencode("open"));
    place.write("e/Claude/claude_desktop_config.json", usual("desktop"));
    place.write(
        "e/goose/config.yaml",
        "extensions:\n  goose:\n    type: stdio\n    cmd: x\n    args: []\n",
    );
    let servers = |name: &str| json!({"servers": {name: {"command": "x"}}}).to_string();
    place.write("e/Code/User/mcp.json", servers("code1"));
    place.write("e/Code/User/profiles/1a2b/mcp.json", servers("code2"));
    place.write(
        "e/Code/User/settings.json",
        json!({"mcp": {"servers": {"code3": {"command": "x"}}}}).to_string(),
    );
    place.write("e/VSCodium/User/mcp.json", servers("code4"));
    place.write("f.json", opencode("open2"));
    let path = |name: &str| place.path(name).display().to_string();
    let shown = place
        .command(["servers", "import", "--json"])
        .envs([
            ("CLAUDE_CONFIG_DIR", path("c")),
            ("CODEX_HOME", path("d")),
            ("XDG_CONFIG_HOME", path("e")),
            ("OPENCODE_CONFIG", path("f.json")),
        ])
        .output()
        .unwrap();
    let rows: Vec<Value> = serde_json::from_slice(&shown.stdout).unwrap();
    let mut names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["code", "code1", "code2", "code3", "code4", "codex", "desktop", "goose", "open", "open2"]
    );
    assert!(rows.iter().all(|row| row["ofProject"] == false), "{rows:?}");
}

/// The two that no test can run; their entries are as they write them.
#[test]
fn servers_of_goose_and_claude_desktop_are_added() {
    let place = place();
    let script = serde_json::to_string(INLINE).unwrap();
    place.write(
        "home/.config/goose/config.yaml",
        format!(
            "GOOSE_PROVIDER: anthropic\nextensions:\n  developer:\n    enabled: true\n    type: platform\n    \
             name: developer\n    description: ''\n    bundled: true\n  mine:\n    enabled: true\n    \
             type: stdio\n    name: Mine\n    description: ''\n    cmd: python3\n    args:\n    - -S\n    \
             - -c\n    - {script}\n    - --port\n    - 8080\n    envs:\n      LEVEL: 3\n    env_keys:\n    \
             - A_TOKEN\n    timeout: 300\n    bundled: null\n    available_tools: []\n"
        ),
    );
    place.write(
        "home/.config/Claude/claude_desktop_config.json",
        json!({"mcpServers": {"desk": {"command": "python3", "args": ["-S", "-c", INLINE,
            "Authorization:${AUTH}"], "env": {"AUTH": "Bearer hunter2"}}}})
        .to_string(),
    );
    let imported = place
        .command(["servers", "import", "mine", "desk"])
        .envs([("A_TOKEN", "t"), ("AUTH", "a")])
        .output()
        .unwrap();
    let said = String::from_utf8(imported.stdout).unwrap();
    assert!(imported.status.success(), "{said} {:?}", String::from_utf8(imported.stderr));
    assert!(said.contains("set A_TOKEN in") && said.contains("`timeout` not taken over"), "{said}");
    let bytes = std::fs::read(place.path("home/.ironcurtain/mcp-servers.json")).unwrap();
    let file: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(file["mine"]["args"].as_array().unwrap()[3..], ["--port", "8080"]);
    assert_eq!(file["mine"]["env"], json!({"LEVEL": "3", "A_TOKEN": "${ENV:A_TOKEN}"}));
    assert_eq!(file["desk"]["args"][3], "Authorization:${ENV:AUTH}");
    assert_eq!(file["desk"]["env"], json!({"AUTH": "${ENV:AUTH}"}));
}

/// Whoever made the directory wrote these, and may be waiting for somebody to look.
#[test]
fn a_projects_files_drive_no_terminal_and_hold_nothing_up() {
    let place = place();
    let made = std::process::Command::new("mkfifo").arg(place.path(".mcp.json")).status().unwrap();
    assert!(made.success());
    place.link(".vscode/mcp.json", "/dev/zero");
    place.write("home/.ssh/id_ed25519", "PRIVATE hunter2");
    place.link("opencode.json", place.path("home/.ssh/id_ed25519"));
    place.write(
        ".cursor/mcp.json",
        json!({"mcpServers": {"a\u{1b}[2J": {"command": "x\u{1b}]0;y\u{7}", "cwd": "/a\u{1b}[8m",
            "odd\u{1b}[1m": 1, "env": {"A": "\u{1b}[3m\u{202e}b"}, "args": ["${input:\u{1b}[4m}"]}},
            "projects": {"/p\u{1b}[5m": {"mcpServers": {"b": {"command": "x"}, "c": {"url":
            "https://a.example/", "headers": {"X\u{1b}": "${input:\u{1b}[6m}"}}}}}})
        .to_string(),
    );
    let shown = place.run(["servers", "import"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    for text in [&shown.stdout, &shown.stderr] {
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
    assert!(shown.stdout.contains("runs in"), "{shown:?}");
    for file in [".mcp.json", ".vscode/mcp.json", "opencode.json"] {
        assert!(shown.stderr.contains(file), "{file} in {}", shown.stderr);
    }
    let rows = rows(&place, &[]);
    assert!(rows.iter().all(|row| row["ofProject"] == true), "{rows:?}");
}

/// A project could name what is in the environment of whoever opens it, and an address to send it to.
#[test]
fn a_projects_file_gets_no_variable_of_the_user_by_its_name() {
    let place = place();
    let mut near = entry("--key=${MY_SECRET}");
    near["env"] = json!({"X": "${MY_SECRET}", "A_TOKEN": "${env:MY_SECRET}"});
    let far = json!({"url": "https://a.example/", "headers": {"X": "${MY_SECRET}"}});
    let servers = json!({"near": near, "far": far});
    place.write(".mcp.json", json!({"mcpServers": servers}).to_string());
    place.write(
        ".codex/config.toml",
        "[mcp_servers.codex]\ncommand = \"x\"\nenv_vars = [\"MY_SECRET\"]\n\
         [mcp_servers.codex2]\nurl = \"https://a.example/\"\nbearer_token_env_var = \"MY_SECRET\"\n",
    );
    let shown = place.run(["servers", "import", "--json"]);
    assert_eq!(shown.stdout.matches("ENV:MY_SECRET").count(), 0, "{}", shown.stdout);
    for name in ["NEAR", "FAR", "CODEX", "CODEX2"] {
        let own = format!("${{ENV:IMPORTED_{name}_MY_SECRET}}");
        assert!(shown.stdout.contains(&own), "{own} in {}", shown.stdout);
    }
    let words = ["servers", "import", "near"];
    // Nor one that its author could have meant by both names.
    for name in ["MY_SECRET", "NEAR_MY_SECRET"] {
        let refused = place.command(words).env(name, "hunter2").output().unwrap();
        assert!(!refused.status.success(), "{refused:?}");
    }
    let given = place.command(words).env("IMPORTED_NEAR_MY_SECRET", "x").output().unwrap();
    assert!(given.status.success(), "{given:?}");
    // A project's file stays one, whoever names it.
    let named = ["servers", "import", "--json", "--client", "claude-code", "--file", ".mcp.json"];
    let named = place.run(named).stdout;
    assert!(!named.contains("ENV:MY_SECRET") && named.contains("\"ofProject\":true"), "{named}");
}

/// The person is told which variable has to be set: the one that is set already.
#[test]
fn references_and_the_directory_come_along_and_what_does_not_is_said() {
    let place = place();
    let run_in = place.dir("server");
    place.write(
        "home/.config/Code/User/mcp.json",
        json!({"inputs": [{"type": "promptString", "id": "key", "password": true}], "servers": {"a": {
            "type": "stdio", "command": "python3", "args": ["-S", "-c", INLINE, "--key", "${input:key}", 8080],
            "env": {"A_TOKEN": "${env:OTHER}", "ROOT": "${workspaceFolder}/x", "OPENAI_API_KEY": "hunter2"},
            "cwd": run_in, "envFile": ".env"}}})
        .to_string(),
    );
    let refused = place.run(["servers", "import", "a"]);
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(refused.stderr.contains("is not set in IronCurtain's environment"), "{refused:?}");
    let words = ["servers", "import", "a", "--allow-read", run_in.to_str().unwrap()];
    let imported = place
        .command(words)
        .envs([("OTHER", "o"), ("A_KEY", "k"), ("A_OPENAI_API_KEY", "p")])
        .output()
        .unwrap();
    let said = String::from_utf8(imported.stdout).unwrap();
    assert!(imported.status.success(), "{said} {:?}", String::from_utf8(imported.stderr));
    for part in [
        "set OTHER in",
        "set A_KEY in",
        "asks for as `key`",
        "set A_OPENAI_API_KEY in",
        "`envFile` not taken over",
        "written as `${SANDBOX}`",
        "vscode still starts it by itself",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let bytes = std::fs::read(place.path("home/.ironcurtain/mcp-servers.json")).unwrap();
    let file: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(
        file["a"]["env"],
        json!({"A_TOKEN": "${ENV:OTHER}", "ROOT": "${SANDBOX}/x",
            "OPENAI_API_KEY": "${ENV:A_OPENAI_API_KEY}"})
    );
    assert_eq!(file["a"]["args"].as_array().unwrap()[3..], ["--key", "${ENV:A_KEY}", "8080"]);
    assert_eq!(file["a"]["cwd"], json!(run_in));
}
