//! `servers import`: what other clients have is shown and added, and no secret is printed or copied.

use ic_testkit::Place;
use serde_json::{Value, json};

use crate::place;

const SECRETS: [&str; 4] =
    ["hunter2-in-a-variable", "hunter2-in-an-argument", "hunter2-in-goose", "hunter2-in-a-header"];

/// A server in a word: it lives in the argument of an interpreter.
pub(super) const INLINE: &str = "import sys, json\n\
    for line in sys.stdin:\n\
    \x20m = json.loads(line)\n\
    \x20if 'id' not in m: continue\n\
    \x20r = {'protocolVersion': '2025-11-25', 'capabilities': {}, 'serverInfo': {'name': 'i', 'version': '1'}} \
    if m['method'] == 'initialize' else {'tools': [{'name': 't', 'inputSchema': {'type': 'object'}}]}\n\
    \x20print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': r}), flush=True)";

fn with_clients() -> Place {
    let place = place();
    let inline = json!({"command": "python3", "args": ["-S", "-c", INLINE, "--api-key", SECRETS[1]],
        "env": {"SERVICE_TOKEN": SECRETS[0], "LEVEL": "3"}});
    place.write(
        "home/.cursor/mcp.json",
        json!({"mcpServers": {"inline": inline, "ironcurtain": {"command": "ironcurtain", "args": ["proxy"]},
            "bad__name": {"command": "x"}, "far": {"url": "https://a.example/mcp", "headers": {"Authorization": format!("Bearer {}", SECRETS[3])}},
            "old": {"type": "sse", "url": "https://a.example/sse"},
            "secret": {"url": format!("https://a.example/mcp?token={}", SECRETS[3])}}})
        .to_string(),
    );
    place.write(
        "home/.config/goose/config.yaml",
        format!("extensions:\n  g:\n    type: stdio\n    cmd: python3\n    args: [-V]\n    envs:\n      A_KEY: {}\n", SECRETS[2]),
    );
    place.write(
        "home/.codex/config.toml",
        "[mcp_servers.c]\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\n",
    );
    place.write("home/.config/Claude/claude_desktop_config.json", "{ broken");
    place
}

#[track_caller]
fn check_no_secret(text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

#[test]
fn servers_of_other_clients_are_shown_without_their_secrets() {
    let place = with_clients();
    let shown = place.run(["servers", "import"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    check_no_secret(&shown.stdout);
    check_no_secret(&shown.stderr);
    for part in [
        "FAR_AUTHORIZATION",
        "far: https://a.example/mcp (cursor)",
        "g: python3 -V (goose)",
        "c: npx -y x (codex)",
        "A_KEY",
        "SERVICE_TOKEN",
    ] {
        assert!(shown.stdout.contains(part), "{part} in {}", shown.stdout);
    }
    assert!(
        shown.stderr.contains("claude_desktop_config.json"),
        "a broken file is named: {}",
        shown.stderr
    );
    assert!(!shown.stdout.contains("ironcurtain: "), "the proxy itself is no server behind it");
    let rows = place.run(["servers", "import", "--json", "--client", "cursor"]);
    let rows: Vec<Value> = serde_json::from_str(&rows.stdout).unwrap();
    let problem = |name: &str| {
        let row = rows.iter().find(|row| row["name"] == name).unwrap();
        row["problem"].as_str().unwrap_or("none").to_owned()
    };
    assert_eq!(problem("inline"), "none");
    assert_ne!(problem("bad__name"), "none");
    assert_eq!(problem("far"), "none");
    assert!(problem("old").contains("older transport"), "{}", problem("old"));
    assert!(problem("secret").contains("holds a secret"), "{}", problem("secret"));
    assert!(!place.path("home/.ironcurtain/mcp-servers.json").exists(), "nothing was added");
}

/// A person looks at it too.
#[test]
fn what_others_wrote_is_escaped_in_json() {
    let place = place();
    let name = "a\u{202e}b\u{9b}2J\u{200b}";
    let servers = json!({"mcpServers": {name: {"command": "x", "args": []}}});
    place.write("home/.cursor/mcp.json", servers.to_string());
    let shown = place.run(["servers", "import", "--json"]);
    assert!(!shown.stdout.contains(['\u{202e}', '\u{9b}', '\u{200b}']), "{shown:?}");
    assert!(shown.stdout.contains("a\\u202eb\\u009b2J\\u200b"), "{shown:?}");
    assert_eq!(serde_json::from_str::<Value>(&shown.stdout).unwrap()[0]["name"], name);
}

/// Where secrets stand in other people's files, and nobody says that they are.
#[test]
fn secrets_in_unlikely_places_are_neither_printed_nor_copied() {
    let place = place();
    let secret = "hunter2hunter2hunter2";
    let entry = |args: Value| json!({"command": "python3", "args": args});
    let inline = |more: &str| entry(json!(["-S", "-c", INLINE, "--header", more]));
    place.write(
        "home/.cursor/mcp.json",
        json!({"mcpServers": {
            "path": {"url": format!("https://a.example/s/{secret}/mcp")},
            "query": {"url": format!("https://a.example/mcp?q={secret}")},
            "words": inline("Authorization:hunter2"),
            "remote": entry(json!(["-V", format!("https://a.example/s/{secret}")])),
            "docker": entry(json!(["-e", "A_TOKEN=hunter2"])),
            "odd": {"command": "x", "env": {"\u{1b}]0;owned\u{7}_TOKEN": "hunter2"}}}})
        .to_string(),
    );
    place.write("home/.codex/config.toml", "[mcp_servers.c]\ntoken = \"hunter2\nx = 1\n");
    for words in [&["servers", "import"][..], &["servers", "import", "--json"][..]] {
        let shown = place.run(words);
        for text in [&shown.stdout, &shown.stderr] {
            assert!(!text.contains("hunter2") && !text.contains(['\u{1b}', '\u{7}']), "{shown:?}");
        }
        assert!(shown.stderr.contains("at line 2"), "{shown:?}");
        assert!(shown.stdout.contains("holds a secret"), "{shown:?}");
        assert!(shown.stdout.contains("Authorization:${ENV:WORDS_ARG_5}"), "{shown:?}");
        assert!(shown.stdout.contains("A_TOKEN=${ENV:DOCKER_ARG_2}"), "{shown:?}");
        assert!(shown.stdout.contains("has an invalid name"), "{shown:?}");
    }
    for name in ["path", "query", "odd"] {
        let refused = place.run(["servers", "import", name]);
        assert_ne!(refused.code, 0, "{refused:?}");
        assert!(!format!("{refused:?}").contains("hunter2"), "{refused:?}");
    }
    let words = ["servers", "import", "words"];
    let added = place.command(words).env("WORDS_ARG_5", "hunter2").output().unwrap();
    assert!(added.status.success(), "{added:?}");
    let file = place.path("home/.ironcurtain/mcp-servers.json");
    let file = std::fs::read_to_string(file).unwrap();
    assert!(
        file.contains("Authorization:${ENV:WORDS_ARG_5}") && !file.contains("hunter2"),
        "{file}"
    );
}

#[test]
fn an_imported_server_refers_to_secrets_and_does_not_hold_them() {
    let place = with_clients();
    place.write("home/.cursor/mcp.json.bak", "untouched");
    let before = std::fs::read(place.path("home/.cursor/mcp.json")).unwrap();
    let added = place
        .command(["servers", "import", "inline"])
        .env("SERVICE_TOKEN", SECRETS[0])
        .env("INLINE_ARG_5", SECRETS[1])
        .output()
        .unwrap();
    let (stdout, stderr) =
        (String::from_utf8(added.stdout).unwrap(), String::from_utf8(added.stderr).unwrap());
    assert!(added.status.success(), "{stdout} {stderr}");
    check_no_secret(&stdout);
    check_no_secret(&stderr);
    assert!(
        stdout.contains("set SERVICE_TOKEN") && stdout.contains("set INLINE_ARG_5"),
        "{stdout}"
    );
    let home = place.path("home/.ironcurtain");
    let file = std::fs::read_to_string(home.join("mcp-servers.json")).unwrap();
    check_no_secret(&file);
    check_no_secret(&std::fs::read_to_string(home.join("servers.lock.json")).unwrap());
    let entry: Value = serde_json::from_str(&file).unwrap();
    assert_eq!(
        entry["inline"]["env"],
        json!({"SERVICE_TOKEN": "${ENV:SERVICE_TOKEN}", "LEVEL": "3"})
    );
    assert_eq!(
        std::fs::read(place.path("home/.cursor/mcp.json")).unwrap(),
        before,
        "it is only read"
    );
    let unknown = place.run(["servers", "import", "nobody"]);
    assert_eq!(unknown.code, 2, "{unknown:?}");
}

/// A file that nobody wrote by hand: what is shown stays short, and what was left out is said.
#[test]
fn a_file_with_very_many_servers_is_shown_in_part() {
    let place = place();
    let servers: serde_json::Map<String, Value> =
        (0..20_000).map(|n| (format!("s{n:05}"), json!({"command": "x"}))).collect();
    place.write("home/.cursor/mcp.json", json!({"mcpServers": servers}).to_string());
    let shown = place.run(["servers", "import"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.len() < 64 << 10, "{} bytes", shown.stdout.len());
    assert!(
        shown.stderr.contains("has 20000 servers, of which 19800 are left out"),
        "{}",
        shown.stderr
    );
    let json = place.run(["servers", "import", "--json"]);
    let rows: Vec<Value> = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(rows.len(), 200);
    // One that is named is found, wherever it stands.
    let named = place.run(["servers", "import", "s19999"]);
    assert!(named.code == 1 && !named.stderr.contains("no client has"), "{named:?}");
}
