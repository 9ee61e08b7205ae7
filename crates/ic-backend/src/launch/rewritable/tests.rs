//! Tables of command lines: which the agent could rewrite, and which only get data from it.

use std::collections::HashMap;
use std::time::Duration;

use ic_confine::Hold;
use ic_policy::{Bounds, Policy, PolicySources, Sandbox, SandboxKind, artifact::Source};
use ic_testkit::MemoryDisk;

use super::*;

fn policy() -> Policy {
    let compiled = r#"{"generatedAt":"x","constitutionHash":"x","inputHash":"x","rules":[
        {"name":"w","description":"","principle":"","reason":"","then":"allow",
         "if":{"server":["filesystem"],"paths":{"roles":["write-path"],"within":"/free"}}},
        {"name":"r","description":"","principle":"","reason":"","then":"allow",
         "if":{"paths":{"roles":["read-path"],"within":"/read"}}}]}"#;
    let source = |file, text: &'static str| Source { file, bytes: text.as_bytes() };
    let sources = PolicySources {
        compiled: source("p", compiled),
        annotations: source("a", r#"{"generatedAt":"x","servers":{}}"#),
        lists: None,
    };
    Policy::load(&sources, &|text| CanonicalPath::new(text).map_err(|it| it.to_string())).unwrap()
}

/// Checks a command line in `/ws`, with variables before it as a shell would take them, and `cd DIR` too.
#[track_caller]
fn check_line(line: &str, expected: Option<&str>) {
    let disk = MemoryDisk::new()
        .dir("/ws/data")
        .dir("/ws/project")
        .file("/ws/server.js", "")
        .file("/ws/notes", "")
        .file("/ws/x.db", "")
        .dir("/free")
        .file("/free/x.py", "")
        .dir("/read")
        .file("/read/x.py", "")
        .file("/opt/server.js", "")
        .link("/opt/linked.js", "/ws/server.js")
        .link("/ws/out", "/opt")
        .dir("/private");
    let mut words: Vec<&str> = line.split(' ').collect();
    let mut directory = None;
    if words.first() == Some(&"cd") {
        directory = Some(PathBuf::from(words.remove(1)));
        words.remove(0);
    }
    let mut environment: Vec<(OsString, OsString)> = Vec::new();
    while let Some((name, value)) = words.first().and_then(|it| it.split_once('=')) {
        environment.push((name.into(), value.into()));
        words.remove(0);
    }
    let spec = ChildSpec {
        program: words.remove(0).into(),
        arguments: words.into_iter().map(OsString::from).collect(),
        environment,
        directory: Some(directory.unwrap_or_else(|| "/private".into())),
        grace: Duration::ZERO,
        hold: Hold::Free,
    };
    let bounds = Bounds {
        sandbox: Some(Sandbox {
            path: CanonicalPath::new("/ws").unwrap(),
            kind: SandboxKind::Workspace,
        }),
        protected: vec![CanonicalPath::new("/free/.ironcurtain").unwrap()],
        home_executes: Vec::new(),
        servers: HashMap::new(),
    };
    let policy = policy();
    let places = AgentPlaces::of(&policy, &bounds);
    let home = AbsolutePath::new("/home/ada").unwrap();
    let name: ServerName = "x".parse().unwrap();
    let found = match check(&name, &spec, (&home, Path::new("/private")), &places, &disk) {
        Ok(()) => None,
        Err(LaunchFault::Rewritable { path, .. }) => Some(path.to_string()),
        Err(other) => panic!("{line}: {other}"),
    };
    assert_eq!(found.as_deref(), expected, "{line}");
}

#[test]
fn what_the_agent_could_rewrite_is_found() {
    for (line, path) in [
        ("/ws/server.js", "/ws/server.js"),
        ("/ws/not-there-yet", "/ws/not-there-yet"),
        ("cd /ws/project python3 -m server", "/ws/project"),
        ("node /ws/server.js", "/ws/server.js"),
        ("node /opt/linked.js", "/ws/server.js"),
        ("node /ws/out/server.js", "/ws/out"),
        ("node /ws/data/../../opt/server.js", "/ws/data"),
        ("node ../ws/server.js", "/ws/server.js"),
        ("node /ws/project", "/ws/project"),
        ("node /ws/later", "/ws/later"),
        ("node --inspect /ws/project", "/ws/project"),
        ("node -r /ws/project /opt/server.js", "/ws/project"),
        ("node --require=/ws/server.js /opt/server.js", "/ws/server.js"),
        ("node --import file:///ws/server.js /opt/server.js", "/ws/server.js"),
        ("python3.11 -B /ws/project", "/ws/project"),
        ("/opt/server --config=/ws/notes", "/ws/notes"),
        ("/opt/server --config /ws/not-yet.json", "/ws/not-yet.json"),
        ("/opt/server -c/ws/notes", "/ws/notes"),
        ("/opt/server @/ws/notes", "/ws/notes"),
        ("/opt/server /free/x.py", "/free/x.py"),
        ("sh -c exec\tnode\t/ws/server.js", "/ws/server.js"),
        ("env A=1 node /ws/project", "/ws/project"),
        ("uv --directory /ws/project run server.py", "/ws/project"),
        ("uv --directory=/ws/project run server.py", "/ws/project"),
        ("npm --prefix /ws/project start", "/ws/project"),
        ("npx /ws/project", "/ws/project"),
        ("PYTHONPATH=/opt:/ws/data python3 -m server", "/ws/data"),
        ("NODE_PATH=/ws/data node /opt/server.js", "/ws/data"),
        ("LD_PRELOAD=/ws/notes /opt/server", "/ws/notes"),
        ("SETTINGS=/ws/notes /opt/server", "/ws/notes"),
    ] {
        check_line(line, Some(path));
    }
}

#[test]
fn data_of_the_agent_is_no_reason() {
    for line in [
        "node /opt/server.js /ws",
        "node --inspect /opt/server.js /ws/data",
        "python3 -B /opt/server.js --dir /ws/data",
        "python3 -m mcp_server_git --repository /ws/project",
        "npx -y some-server /ws",
        "uv run some-server /ws/data",
        "/opt/server /ws",
        "/opt/server --root=/ws/data",
        "/opt/server --db /ws/x.db",
        "/opt/server --db /ws/new.sqlite",
        "/opt/server --out /ws/new",
        "/opt/server /read/x.py",
        "/opt/server /free/.ironcurtain/x.py",
        "ROOT=/ws/data /opt/server",
        "STORE=/ws/memory.jsonl /opt/server",
    ] {
        check_line(line, None);
    }
}
