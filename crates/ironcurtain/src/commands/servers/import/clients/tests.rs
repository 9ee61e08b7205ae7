//! Every client's own way of writing servers, with entries as people have them.

use std::path::PathBuf;

use super::*;
use crate::commands::servers::import::entry::Line;
use crate::commands::servers::import::places::Reach;

/// Reads a file on a machine where only `IS_SET` is set.
fn read(client: &str, file: &str) -> Vec<Found> {
    let client = CLIENTS.iter().find(|it| it.name == client).unwrap();
    let file_name = PathBuf::from("/x/file");
    let origin = Origin { client: client.name, file: file_name, reach: Reach::Own, project: None };
    let machine = Machine { home: Some("/home/ada"), is_set: &|name| name == "IS_SET" };
    client.read(&origin, file.as_bytes(), machine).unwrap()
}

/// Writes a server as the tests expect it: what starts it, what it is given, and where it runs.
fn written(line: &Line) -> String {
    if let Some(far) = &line.far {
        let headers: Vec<String> = far.headers.iter().map(|(k, v)| format!("{k}: {v}")).collect();
        return format!("{} [{}]", far.url, headers.join(", "));
    }
    let env: Vec<String> = line.env.iter().map(|(k, v)| format!("{k}={v}")).collect();
    let directory = line.directory.as_ref().map(|it| format!(" in {it}")).unwrap_or_default();
    format!("{} [{}]{directory}", line.command.join(" "), env.join(" "))
}

#[track_caller]
fn check(client: &str, file: &str, expected: &[(&str, &str)]) {
    let shown: Vec<(String, String)> = read(client, file)
        .into_iter()
        .map(|it| {
            let line = it.line.as_ref().map_or_else(Clone::clone, written);
            (it.name, line)
        })
        .collect();
    let expected: Vec<(String, String)> =
        expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    assert_eq!(shown, expected);
}

/// Returns the notes of the only server of a file.
fn notes(client: &str, file: &str) -> String {
    let found = read(client, file);
    assert_eq!(found.len(), 1);
    found.first().unwrap().notes.join("\n")
}

/// Returns the names of the servers that are switched off.
fn off(client: &str, file: &str) -> Vec<String> {
    read(client, file).into_iter().filter(|it| it.is_off).map(|it| it.name).collect()
}

#[test]
fn every_client_is_read_in_its_own_way() {
    let usual = r#"{"mcpServers":{"a":{"command":"npx","args":["-y","x"],"env":{"B":"c"}},
        "us":{"command":"/usr/bin/ironcurtain","args":["proxy"]},"web":{"url":"https://a.example"}}}"#;
    for client in ["claude-desktop", "claude-code", "cursor"] {
        check(client, usual, &[("a", "npx -y x [B=c]"), ("web", "https://a.example []")]);
    }
    check(
        "vscode",
        "{ // a comment\n \"servers\": {\"a\": {\"type\": \"stdio\", \"command\": \"x\",}} /* more */ }",
        &[("a", "x []")],
    );
    check("vscode", r#"{"editor.x":1,"mcp":{"servers":{"a":{"command":"x"}}}}"#, &[("a", "x []")]);
    check(
        "opencode",
        r#"{"mcp":{"a":{"type":"local","command":["npx","x"],"environment":{"B":"c"}},
            "r":{"type":"remote","url":"https://a.example"}}}"#,
        &[("a", "npx x [B=c]"), ("r", "https://a.example []")],
    );
}

/// It fills in nothing: what looks like a reference is for the server, which finds it in its variables.
#[test]
fn claude_desktop_leaves_references_to_servers() {
    let file = r#"{"globalShortcut":"","mcpServers":{
        "files":{"command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","/home/ada/Desktop"]},
        "remote":{"command":"npx","args":["mcp-remote","https://a.example/sse","--header",
            "Authorization:${AUTH_HEADER}"],"env":{"AUTH_HEADER":"Bearer hunter2"}},
        "github":{"command":"docker","args":["run","-i","--rm","-e","GITHUB_PERSONAL_ACCESS_TOKEN",
            "ghcr.io/github/github-mcp-server"],"env":{"GITHUB_PERSONAL_ACCESS_TOKEN":"hunter2"}},
        "mail":{"command":"uvx","args":["mail","--port",993],"env":{"OPENAI_API_KEY":"hunter2","TLS":true}}}}"#;
    check(
        "claude-desktop",
        file,
        &[
            ("files", "npx -y @modelcontextprotocol/server-filesystem /home/ada/Desktop []"),
            (
                "remote",
                "npx mcp-remote https://a.example/sse --header Authorization:${ENV:AUTH_HEADER} \
                 [AUTH_HEADER=${ENV:AUTH_HEADER}]",
            ),
            (
                "github",
                "docker run -i --rm -e GITHUB_PERSONAL_ACCESS_TOKEN ghcr.io/github/github-mcp-server \
                 [GITHUB_PERSONAL_ACCESS_TOKEN=${ENV:GITHUB_PERSONAL_ACCESS_TOKEN}]",
            ),
            ("mail", "uvx mail --port 993 [OPENAI_API_KEY=${ENV:MAIL_OPENAI_API_KEY} TLS=true]"),
        ],
    );
}

#[test]
fn claude_code_has_servers_for_all_directories_and_for_one() {
    let file = r#"{"numStartups":7,"mcpServers":{
        "db":{"type":"stdio","command":"${NODE:-node}","args":["/opt/db.js","--url","${DB_URL:-sqlite}",
            "--root","${CLAUDE_PROJECT_DIR:-.}","--port",8080,"--quiet",true],
            "env":{"CACHE_DIR":"${HOME}/c","DB_PASSWORD":"${IS_SET:-hunter2}"},"timeout":60000},
        "api":{"type":"http","url":"${API_BASE_URL:-https://a.example}/mcp","headers":
            {"Authorization":"Bearer ${API_KEY}"},"oauth":{"clientId":"x"}}},
      "projects":{"/p":{"allowedTools":[],"mcpServers":{"db":{"command":"y"},"gone":{"command":"z"}},
        "disabledMcpServers":["gone"]},"/q":{}}}"#;
    check(
        "claude-code",
        file,
        &[
            (
                "db",
                "node /opt/db.js --url sqlite --root ${SANDBOX} --port 8080 --quiet true \
                 [CACHE_DIR=${HOME}/c DB_PASSWORD=${ENV:IS_SET}]",
            ),
            ("api", "https://a.example/mcp [Authorization: Bearer ${ENV:API_KEY}]"),
            ("db", "y []"),
            ("gone", "z []"),
        ],
    );
    assert_eq!(off("claude-code", file), ["gone"]);
    let found = read("claude-code", file);
    let projects: Vec<_> = found.iter().map(|it| it.origin.project.as_deref()).collect();
    assert_eq!(projects, [None, None, Some("/p"), Some("/p")]);
    let said: Vec<String> = found.iter().flat_map(|it| it.notes.clone()).collect();
    let said = said.join("\n");
    for part in
        ["`timeout` not taken over", "`oauth` not taken over", "`${SANDBOX}`", "its default"]
    {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[test]
fn cursor_and_vs_code_fill_in_places_and_what_they_ask_for() {
    let entry = r#"{"type":"stdio","command":"${userHome}/bin/x","args":["--root","${workspaceFolder}",
        "--token=${input:my-token}"],"env":{"A_TOKEN":"${env:OTHER}","LEVEL":3,"DEBUG":true,"K":"${input:k}"},
        "cwd":"/srv/x","envFile":"${workspaceFolder}/.env","dev":{"watch":"**"}}"#;
    let expected = "/home/ada/bin/x --root ${SANDBOX} --token=${ENV:A_MY_TOKEN} \
                    [A_TOKEN=${ENV:OTHER} LEVEL=3 DEBUG=true K=${ENV:A_K}] in /srv/x";
    let vscode = format!(
        r#"{{"inputs":[{{"type":"promptString","id":"my-token","description":"T","password":true}}],
            "servers":{{"a":{entry}}}}}"#
    );
    check("vscode", &vscode, &[("a", expected)]);
    let cursor = format!(r#"{{"mcpServers":{{"a":{entry}}}}}"#);
    check("cursor", &cursor, &[("a", expected)]);
    for said in [notes("vscode", &vscode), notes("cursor", &cursor)] {
        for part in ["`envFile` not taken over", "`dev` not taken over", "--allow-read"] {
            assert!(said.contains(part), "{part} in {said}");
        }
    }
    // Where an agent writes, no server runs.
    let file = r#"{"servers":{"a":{"command":"x","cwd":"${workspaceFolder}/server"}}}"#;
    check("vscode", file, &[("a", "x []")]);
    assert!(notes("vscode", file).contains("a directory of its own"), "{}", notes("vscode", file));
    for (cwd, expected) in [
        ("~/x", "x [] in ${HOME}/x"),
        ("server", "x []"),
        (
            "${input:x}",
            "its directory refers to what vscode would fill in, and that has to be written out; \
                        do so with `servers add`",
        ),
    ] {
        let file = format!(r#"{{"servers":{{"a":{{"command":"x","cwd":"{cwd}"}}}}}}"#);
        check("vscode", &file, &[("a", expected)]);
    }
    let file = r#"{"mcpServers":{"a":{"command":"x","disabled":true},"b":{"command":"x","disabled":false},
        "c":{"command":"x","enabled":"no"}}}"#;
    assert_eq!(off("cursor", file), ["a", "c"]);
}

#[test]
fn codex_passes_variables_on() {
    let file = "model = \"x\"\n[mcp_servers.a]\ncommand = \"uvx\"\nargs = [\n  'y', '--port', 8080,\n]\n\
        cwd = \"/srv\"\nenv_vars = [\"A_TOKEN\", { name = \"REGION\", source = \"local\" }, \"B\"]\n\
        startup_timeout_sec = 20\ntool_timeout_sec = 60.5\nenabled = false\nenabled_tools = [\"x\"]\n\
        [mcp_servers.a.env]\nB = \"c\"\n[other]\nz = 1979-05-27\n";
    check(
        "codex",
        file,
        &[("a", "uvx y --port 8080 [B=c A_TOKEN=${ENV:A_TOKEN} REGION=${ENV:REGION}] in /srv")],
    );
    assert_eq!(off("codex", file), ["a"]);
    let said = notes("codex", file);
    for part in ["`tool_timeout_sec`", "`startup_timeout_sec`", "`enabled_tools` not taken over"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    check(
        "codex",
        "[mcp_servers.a]\ncommand = \"x\"\nenv_vars = [{ name = \"A\", source = \"remote\" }]\n",
        &[("a", "one of its variables has an invalid name")],
    );
}

#[test]
fn goose_keeps_secrets_elsewhere_and_has_parts_of_its_own() {
    let file = "GOOSE_MODE: auto\nextensions:\n  developer:\n    type: builtin\n    enabled: true\n    \
        name: developer\n  todo:\n    type: platform\n    enabled: true\n  a:\n    enabled: true\n    \
        type: stdio\n    name: A\n    description: ''\n    cmd: npx\n    args:\n      - -y\n      - \"x y\"\n      \
        - --port\n      - 8080\n      - --ratio\n      - 1.10\n      - true\n    envs:\n      B: c\n      N: 3\n    \
        env_keys:\n      - A_TOKEN\n      - B\n    timeout: 300\n    bundled: null\n    available_tools: []\n  \
        off:\n    enabled: false\n    type: stdio\n    cmd: x\n    args: []\n  web:\n    enabled: true\n    \
        type: streamable_http\n    uri: https://a.example/mcp\n    headers:\n      Authorization: Bearer $A_TOKEN\n    \
        env_keys: [A_TOKEN]\n";
    check(
        "goose",
        file,
        &[
            ("a", "npx -y x y --port 8080 --ratio 1.10 true [B=c N=3 A_TOKEN=${ENV:A_TOKEN}]"),
            ("off", "x []"),
            ("web", "https://a.example/mcp [Authorization: Bearer ${ENV:A_TOKEN}]"),
        ],
    );
    assert_eq!(off("goose", file), ["off"]);
    let found = read("goose", file);
    let of = |name: &str| found.iter().find(|it| it.name == name).unwrap();
    assert_eq!(of("a").notes.len(), 1, "{:?}", of("a").notes);
    assert_eq!(of("web").notes, Vec::<String>::new());
}

#[test]
fn opencode_fills_in_variables_and_files() {
    let file = r#"{"$schema":"x","mcp":{
        "a":{"type":"local","command":["npx","-y","x","--port",8080,"--key={env:A_KEY}"],"enabled":false,
            "environment":{"TOKEN":"{file:~/.secrets/my token}","L":"${X}"},"timeout":5000},
        "r":{"type":"remote","url":"https://a.example/mcp","oauth":false,
            "headers":{"Authorization":"Bearer {env:A_TOKEN}"},"enabled":true},
        "e":{"type":"remote","url":"https://{env:HOST}/mcp"},
        "j":{"enabled":false}}}"#;
    check(
        "opencode",
        file,
        &[
            ("a", "npx -y x --port 8080 --key=${ENV:A_KEY} [TOKEN=${ENV:A_MY_TOKEN} L=${ENV:X}]"),
            ("r", "https://a.example/mcp [Authorization: Bearer ${ENV:A_TOKEN}]"),
            (
                "e",
                "its address holds a secret, or what may be one, or refers to one, and an address stands in \
                 the entry as it is; if the server takes the secret in a header, add it with `servers add \
                 NAME --url URL --header 'NAME: ${ENV:…}'`, and if there is none in it, with `servers add \
                 NAME --url URL`",
            ),
            ("j", "it has no command"),
        ],
    );
    assert_eq!(off("opencode", file), ["a", "j"]);
}

/// Each in its own spelling; the same entry comes of it, and no secret with it.
#[test]
fn servers_by_address_are_read_without_their_secrets() {
    let sse = "it speaks the older transport with two endpoints (`sse`), which is not spoken here; \
               most such servers have a streamable HTTP address as well";
    let at = "https://a.example/mcp";
    let kept =
        "https://a.example/mcp [Authorization: Bearer ${ENV:FAR_AUTHORIZATION}, X-Team: blue]";
    let named = "https://a.example/mcp [Authorization: Bearer ${ENV:A_TOKEN}]";
    let headers = r#"{"Authorization":"Bearer hunter2","X-Team":"blue"}"#;
    for (client, key) in
        [("claude-code", "mcpServers"), ("cursor", "mcpServers"), ("vscode", "servers")]
    {
        check(
            client,
            &format!(
                r#"{{"{key}":{{"far":{{"type":"http","url":"{at}","headers":{headers}}},
                    "named":{{"url":"{at}","headers":{{"Authorization":"Bearer ${{env:A_TOKEN}}"}}}},
                    "old":{{"type":"sse","url":"{at}"}}}}}}"#
            ),
            &[("far", kept), ("named", named), ("old", sse)],
        );
    }
    check(
        "codex",
        &format!(
            "[mcp_servers.far]\nurl = \"{at}\"\nhttp_headers = {{ Authorization = \"Bearer hunter2\", \
             X-Team = \"blue\" }}\n[mcp_servers.named]\nurl = \"{at}\"\nbearer_token_env_var = \
             \"A_TOKEN\"\n[mcp_servers.more]\nurl = \"{at}\"\nenv_http_headers = {{ X-Key = \"K\" }}\n"
        ),
        &[("far", kept), ("more", "https://a.example/mcp [X-Key: ${ENV:K}]"), ("named", named)],
    );
    check(
        "goose",
        &format!(
            "extensions:\n  far:\n    type: streamable_http\n    uri: {at}\n    headers:\n      \
             Authorization: Bearer hunter2\n      X-Team: blue\n  old:\n    type: sse\n    uri: {at}\n"
        ),
        &[("far", kept), ("old", sse)],
    );
    check(
        "opencode",
        &format!(
            r#"{{"mcp":{{"far":{{"type":"remote","url":"{at}","headers":{headers}}},"named":{{"type":"remote",
                "url":"{at}","headers":{{"Authorization":"Bearer {{env:A_TOKEN}}"}}}}}}}}"#
        ),
        &[("far", kept), ("named", named)],
    );
}

#[test]
fn a_variable_whose_name_is_none_makes_no_entry() {
    let why = "one of its variables has an invalid name";
    for entry in [
        r#"{"command":"x","env":{"A\u001b[2J_TOKEN":"hunter2"}}"#,
        r#"{"command":"x","env":{"A B":"c"}}"#,
        r#"{"command":"x","env":{"":"c"}}"#,
    ] {
        check("cursor", &format!(r#"{{"mcpServers":{{"a":{entry}}}}}"#), &[("a", why)]);
    }
    for line in ["bearer_token_env_var = \"A\\u001b[2J\"", "env_http_headers = { X = \"a}b\" }"] {
        let file = format!("[mcp_servers.a]\nurl = \"https://a.example/mcp\"\n{line}\n");
        check("codex", &file, &[("a", why)]);
    }
    let file = "[mcp_servers.a]\ncommand = \"x\"\nenv_vars = [\"A}B\"]\n";
    check("codex", file, &[("a", why)]);
}

/// No part of an entry is dropped because another one cannot be read.
#[test]
fn an_entry_that_is_not_understood_is_an_error() {
    for (entry, why) in [
        ("7", "it is not a valid entry"),
        (r#"{"command":7}"#, "its `command` is not text"),
        (
            r#"{"command":"x","args":["a",{"b":1}]}"#,
            "its `args` holds something that is not a string",
        ),
        (r#"{"command":"x","args":["a",null]}"#, "its `args` holds something that is not a string"),
        (r#"{"command":"x","args":[["a"]]}"#, "its `args` holds something that is not a string"),
        (r#"{"command":"x","args":"-y z"}"#, "its `args` is not a list of strings"),
        (r#"{"command":"x","env":["A=b"]}"#, "its `env` is not an object of names and values"),
        (r#"{"command":"x","env":{"A":{"b":1}}}"#, "its `env` holds something that is not text"),
        (r#"{"command":"x","cwd":7}"#, "its `cwd` is not text"),
        (r#"{"command":"x","args":["${A"]}"#, "a `${` of it has no end"),
        (
            r#"{"url":"https://a.example","headers":["A: b"]}"#,
            "its `headers` is not an object of names and values",
        ),
        ("{}", "it has no command"),
    ] {
        check("cursor", &format!(r#"{{"mcpServers":{{"a":{entry}}}}}"#), &[("a", why)]);
    }
    check(
        "opencode",
        r#"{"mcp":{"a":{"command":"npx x"}}}"#,
        &[("a", "its `command` is not a list of strings")],
    );
    check(
        "goose",
        "extensions:\n  a:\n    type: inline_python\n    code: x\n",
        &[("a", "it has no command")],
    );
}

#[test]
fn a_file_that_is_broken_is_an_error_and_no_panic() {
    for client in &CLIENTS {
        let file = PathBuf::from("/x/file");
        let origin = Origin { client: client.name, file, reach: Reach::Own, project: None };
        let machine = Machine { home: None, is_set: &|_| false };
        let read = client.read(&origin, b"{\"mcpServers\": [", machine);
        assert!(read.is_err(), "{}", client.name);
    }
    check("cursor", r#"{"mcpServers":[1],"projects":7}"#, &[]);
}
