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
    let words: Vec<&str> = line.split(' ').collect();
    check_words(&words, expected);
}

/// The same, word by word; `?` if it cannot be told.
#[track_caller]
fn check_words(words: &[&str], expected: Option<&str>) {
    let line = words.join(" ");
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
        .dir("/home/ada/ws")
        .file("/home/ada/ws/x.py", "")
        .link("/home/ada/free", "/free")
        .dir("/private");
    let mut words: Vec<&str> = words.to_vec();
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
        Err(LaunchFault::Untold { .. }) => Some("?".to_owned()),
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

/// What a shell is handed as a text is read as the shell reads it.
#[test]
fn what_a_text_of_the_shell_runs_is_found() {
    for (text, found) in [
        ("cd /ws && ./x", "/ws"),
        ("cd /ws&&./x", "/ws"),
        ("cd '/ws/project'; make", "/ws/project"),
        ("(cd -P /ws; exec ./x)", "/ws"),
        ("cd / && cd ws && ./x", "/ws"),
        ("/ws/run", "/ws/run"),
        ("exec /ws/run", "/ws/run"),
        ("nice -n 5 /ws/run", "/ws/run"),
        ("true;/ws/run", "/ws/run"),
        ("true|/ws/run", "/ws/run"),
        ("x=$(/ws/run)", "/ws/run"),
        ("x=`/ws/run`", "/ws/run"),
        ("python3 /ws/run", "/ws/run"),
        ("python3 /ws/server.js", "/ws/server.js"),
        (". /ws/env", "/ws/env"),
        ("source /ws/env; true", "/ws/env"),
        ("sh </ws/run", "/ws/run"),
        ("cat /ws/run | sh", "/ws/run"),
        ("if true; then /ws/run; fi", "/ws/run"),
        ("eval 'cd /ws; ./x'", "/ws"),
        ("bash -c 'cd /ws; ./x'", "/ws"),
        ("env A=1 bash -lc 'exec /ws/run'", "/ws/run"),
        ("python3 -c 'import runpy; runpy.run_path(\"/ws/run.py\")'", "/ws/run.py"),
        ("PATH=/ws:$PATH server", "/ws"),
        ("export PATH=/ws/data:$PATH; server", "/ws/data"),
        ("D=/ws; cd $D && ./x", "/ws"),
        ("D=/ws; ${D}/run", "/ws/run"),
        ("$HOME/free/run", "/free/run"),
        ("${HOME}/free/run", "/free/run"),
        ("~/free/run", "/free/run"),
        ("\"$HOME\"/free/run", "/free/run"),
        ("$PLACE/run", "/ws/run"),
        ("cd $PLACE; ./run", "/ws"),
        ("${NOWHERE}/ws/run", "/ws/run"),
        ("${X:-/ws/run}", "?"),
        ("server --config /ws/notes", "/ws/notes"),
        ("cat /ws/$1 | server", "/ws"),
    ] {
        for shell in [&["sh", "-c"][..], &["/bin/bash", "-euc"], &["env", "-i", "zsh", "-c"]] {
            let words: Vec<&str> =
                ["PLACE=/ws"].into_iter().chain(shell.iter().copied()).chain([text]).collect();
            // A variable of the child that holds the directory itself is looked at before.
            check_words(&words, Some(found));
        }
    }
}

/// Where only the shell knows what is run, it may be the agent's.
#[test]
fn a_text_that_cannot_be_told_is_refused() {
    for text in [
        "$(cat /opt/name)",
        "`cat /opt/name`/run",
        "eval \"$(cat)\"",
        "read X; $X",
        "read X; sh $X",
        "read X; . $X",
        "for f in /opt/*; do $f; done",
        "for f in /opt/*; do sh $f; done",
        "cd $(cat /opt/name) && ./x",
        "cd \"$(cat)\"; sh run.sh",
        "X=$(cat); bash -c \"$X\"",
        "X=a; X=b; $X/run",
        "${X%/*}/run",
        "./run*",
        "sh -c \"$1\"",
        "read X; server \"/$X\"",
    ] {
        check_words(&["sh", "-c", text], Some("?"));
    }
}

/// A message, data, and the usual ways to start a server are no reason.
#[test]
fn texts_that_run_nothing_of_the_agent_s_are_free() {
    for words in [
        &["sh", "-c", "exec node /opt/server.js /ws"][..],
        &["sh", "-c", "cd /opt && exec node server.js /ws"],
        &["sh", "-c", "cd /opt && ./run --root /ws/data"],
        &["sh", "-c", "exec \"$@\"", "sh", "node", "/opt/server.js", "/ws"],
        &["bash", "-lc", "D=/opt; $D/run"],
        &["sh", "-c", "notify-send IronCurtain \"$(jq -r .summary)\""],
        &["sh", "-c", "curl -s -d \"$(cat)\" https://ntfy.example.com/me"],
        &["sh", "-c", "cat >> ~/waiting.jsonl; printf '\\a'"],
        &["sh", "-c", "echo \"$X waits\" | wall"],
        &["sh", "-c", "if [ -n \"$DISPLAY\" ]; then notify-send x; fi"],
        &["sh", "-c", "tmux display-message \"$(jq -r '.summary | .[0:80]')\""],
        &["python3", "-c", "import json, sys; print(json.load(sys.stdin)['summary'])"],
        &["python3", "-c", "import server; server.main()", "/ws"],
        &["node", "-e", "require('/opt/server.js')"],
        &["notify-send", "a call waits; see /ws"],
        &["awk", "{print $1}", "/ws/x.db"],
        &["/opt/server", "--filter", "a | b (c) > 3"],
    ] {
        check_words(words, None);
    }
}

/// In another language each file and directory of the agent's that is named counts.
#[test]
fn what_code_names_is_found() {
    for (words, found) in [
        (&["python3", "-c", "import sys; sys.path.insert(0, '/ws'); import x"][..], "/ws"),
        (&["python3", "-Bc", "exec(open('/ws/notes').read())"], "/ws/notes"),
        (&["python3", "-cimport runpy;runpy.run_path('/ws/run.py')"], "/ws/run.py"),
        (&["node", "-e", "require('/ws/server.js')"], "/ws/server.js"),
        (&["node", "--eval=require(\"/ws/project\")"], "/ws/project"),
        (&["node", "-e", "require(process.env.HOME + '/free/x.py')"], "/free/x.py"),
        (
            &[
                "python3",
                "-c",
                "from pathlib import Path as P; exec((P.home()/'free'/'x').read_text())",
            ],
            "/free",
        ),
        (&["perl", "-e", "do \"$ENV{HOME}/free/x.py\""], "/free/x.py"),
        (&["perl", "-ne", "system '/ws/server.js'"], "/ws/server.js"),
        (&["ruby", "-e", "load '/ws/notes'"], "/ws/notes"),
        (&["php", "-r", "include '/ws/notes';"], "/ws/notes"),
        (&["awk", "BEGIN{system(\"/ws/server.js\")}"], "/ws/server.js"),
        (&["su", "ada", "-c", "cd /ws && ./x"], "/ws"),
        (&["script", "-qc", "cd /ws && ./x", "/dev/null"], "/ws"),
        (&["sh", "-c", "exec \"$@\"", "sh", "/ws/run"], "/ws/run"),
        (&["sh", "-c", "eval \"$1\"", "sh", "cd /ws; ./x"], "/ws"),
        (&["sh", "-c", "exec \"$0\" \"$@\"", "node", "/ws/run"], "/ws/run"),
    ] {
        check_words(words, Some(found));
    }
}
