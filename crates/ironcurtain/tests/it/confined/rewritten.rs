//! Servers that the agent could rewrite, and views that it could lead elsewhere.

use std::fs;

use ic_testkit::Proxy;
use serde_json::{Value, json};

use super::{Rig, hidden, script};
use crate::proxy::until;

/// A server in the workspace that leaves a mark when it is started.
fn marking(rig: &Rig) -> String {
    let mark = format!("open('{}', 'w').close()\n", rig.place.path("mark").display());
    let peeker = fs::read_to_string(script("servers/peeker.py")).unwrap();
    let (head, tail) = peeker.split_once("import json\n").unwrap();
    format!("{head}import json\n{mark}{tail}")
}

fn session(rig: &Rig) -> Proxy {
    let workspace = rig.place.dir("ws");
    let mut proxy = rig.start_in(&["--workspace", workspace.to_str().unwrap()]);
    proxy.initialize();
    proxy
}

/// Checks that a server with this entry is not started, and that the answer names `path` and the remedy.
#[track_caller]
fn check_refused(rig: Rig, entry: &Value, path: &str) -> Rig {
    let mut rig = rig;
    rig.servers.insert("peeker".to_owned(), entry.clone());
    let mut proxy = session(&rig);
    let answer = proxy.call("peeker__environment", &json!({}));
    let text = answer.bad();
    assert!(text.contains(&rig.text(path)), "{entry}: {text}");
    assert!(text.contains("where the agent may write"), "{entry}: {text}");
    assert!(text.contains("ironcurtain servers add peeker --from DIR"), "{entry}: {text}");
    proxy.finish();
    assert!(!rig.place.path("mark").exists(), "{entry}: it was started");
    rig
}

/// The agent rewrites a server that a person trusted; its line is the same, and nothing would hold it.
#[test]
fn a_trusted_server_whose_script_the_agent_rewrote_is_not_started() {
    let rig = Rig::new().by_place("ws");
    rig.place.dir("ws");
    let elsewhere =
        rig.place.write("elsewhere/server.py", fs::read(script("servers/peeker.py")).unwrap());
    let entry =
        |path: &str| json!({"command": "python3", "args": ["-S", "-B", path], "sandbox": false});
    let mut rig = rig;
    rig.servers.insert("peeker".to_owned(), entry(elsewhere.to_str().unwrap()));
    // The control: where the agent does not write, it is started.
    drop(session(&rig));
    rig.trust("peeker");
    let mut proxy = session(&rig);
    proxy.call("peeker__environment", &json!({})).good();
    proxy.finish();
    // It moves to the workspace, is trusted there, and is rewritten.
    rig.place.write("ws/server.py", fs::read(script("servers/peeker.py")).unwrap());
    rig.servers.insert("peeker".to_owned(), entry(&rig.text("ws/server.py")));
    drop(session(&rig));
    rig.trust("peeker");
    let mut proxy = session(&rig);
    let write = json!({"path": rig.text("ws/server.py"), "content": marking(&rig)});
    proxy.call("filesystem__write_file", &write).good();
    proxy.finish();
    check_refused(
        rig,
        &entry(&elsewhere.to_str().unwrap().replace("elsewhere", "ws")),
        "ws/server.py",
    );
}

#[test]
fn whatever_a_server_runs_must_not_lie_where_the_agent_writes() {
    let rig = Rig::new().by_place("open");
    let marking = marking(&rig);
    rig.place.write("ws/server.py", &marking);
    rig.place.write("ws/package/__main__.py", &marking);
    rig.place.write("open/server.py", &marking);
    rig.place.link("linked.py", rig.place.path("ws/server.py"));
    rig.place.write("other/server.py", &marking);
    rig.place.link("ws/other", rig.place.path("other"));
    let plain = script("servers/peeker.py");
    let plain = plain.to_str().unwrap();
    let seen = json!({"filesystem": {"allowRead": [plain]}});
    let mut rig = rig;
    for (words, more, path) in [
        (vec![rig.text("ws/server.py")], json!({}), "ws/server.py"),
        (vec![rig.text("linked.py")], json!({}), "ws/server.py"),
        (vec![rig.text("ws/other/server.py")], json!({}), "ws/other"),
        (vec![rig.text("ws/package")], json!({}), "ws/package"),
        (vec!["${WORKSPACE}/later.py".to_owned()], json!({}), "ws/later.py"),
        // An allow rule lets the agent write there.
        (vec![rig.text("open/server.py")], json!({}), "open/server.py"),
        (vec!["-m".to_owned(), "server".to_owned()], json!({"cwd": "${WORKSPACE}"}), "ws"),
        (
            vec![plain.to_owned(), format!("--config={}", rig.text("ws/server.py"))],
            json!({}),
            "ws/server.py",
        ),
        (
            vec![plain.to_owned()],
            json!({"env": {"PYTHONPATH": "${WORKSPACE}/package"}}),
            "ws/package",
        ),
    ] {
        let mut entry = json!({"command": "python3", "args": words, "sandbox": seen});
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        rig = check_refused(rig, &entry, path);
    }
    // Data of the workspace is no reason.
    let entry = json!({"command": "python3", "sandbox": seen,
        "args": ["-S", "-B", plain, "${WORKSPACE}", "--db=${WORKSPACE}/x.db", "${SANDBOX}/package"]});
    rig.servers.insert("peeker".to_owned(), entry);
    let mut proxy = session(&rig);
    proxy.call("peeker__environment", &json!({})).good();
    proxy.finish();
}

/// A shell that is handed a text runs what the text says, and goes where it says.
#[test]
fn whatever_a_text_of_a_shell_runs_must_not_lie_where_the_agent_writes() {
    let mut rig = Rig::new().by_place("open");
    let marking = marking(&rig);
    rig.place.write("ws/server.py", &marking);
    rig.place.write("ws/run", format!("#!/usr/bin/env python3\n{marking}"));
    let plain = script("servers/peeker.py");
    let plain = plain.to_str().unwrap().to_owned();
    let seen = json!({"filesystem": {"allowRead": [plain]}});
    let entry = |text: &str| json!({"command": "sh", "args": ["-c", text], "sandbox": seen});
    for (text, path) in [
        ("cd ${WORKSPACE} && exec python3 server.py", "ws"),
        ("exec python3 ${WORKSPACE}/later", "ws/later"),
        ("exec ${WORKSPACE}/run", "ws/run"),
        ("PYTHONPATH=${WORKSPACE} exec python3 -m server", "ws"),
    ] {
        rig = check_refused(rig, &entry(text), path);
    }
    rig.servers.insert("peeker".to_owned(), entry("exec python3 \"$(cat)\""));
    let mut proxy = session(&rig);
    let answer = proxy.call("peeker__environment", &json!({})).bad();
    assert!(answer.contains("only a shell knows what the text"), "{answer}");
    proxy.finish();
    // The control: a text that runs nothing of the agent's, and hands its data over.
    let text = format!("exec python3 -S -B {plain} ${{WORKSPACE}}");
    rig.servers.insert("peeker".to_owned(), entry(&text));
    let mut proxy = session(&rig);
    proxy.call("peeker__environment", &json!({})).good();
    proxy.finish();
}

/// The agent puts a link in the place of a directory that the entry of a server names.
#[test]
fn a_directory_that_became_a_link_is_not_shown() {
    for key in ["allowWrite", "allowRead"] {
        for (rung, rig) in Rig::on_every_rung() {
            // Such a server is not started on Landlock alone: `planted.rs`.
            if (rung, key) == ("landlock", "allowWrite") {
                continue;
            }
            check_swapped(rung, rig, key);
        }
    }
}

fn check_swapped(rung: &str, rig: Rig, key: &str) {
    rig.place.write("ws/data/inside", "inside");
    rig.place.write("outside/canary", "canary");
    let rig = rig.peeker(&json!({"sandbox": {"filesystem": {key: ["${WORKSPACE}/data"]}}}));
    let mut proxy = session(&rig);
    let mut peek = |path: &str| {
        let answer = proxy.call("peeker__peek", &json!({"where": hidden(&rig.text(path))}));
        (answer.result()["isError"] == json!(false), answer.text())
    };
    // The control: what the entry names is shown, and what it does not name is not.
    assert_eq!(peek("ws/data/inside"), (true, "inside".to_owned()), "{rung} {key}");
    assert!(!peek("outside/canary").0, "{rung} {key}");
    fs::rename(rig.place.path("ws/data"), rig.place.path("ws/moved")).unwrap();
    rig.place.link("ws/data", rig.place.path("outside"));
    // It ends, and is started again once its pause is over. Each call differs, for the circuit breaker.
    proxy.call("peeker__end", &json!({}));
    let mut n_tries = 0;
    until("another start", || {
        n_tries += 1;
        let path = format!("{}{}", rig.text("outside/canary"), "/".repeat(n_tries));
        let answer = proxy.call("peeker__peek", &json!({"where": hidden(&path)}));
        assert_ne!(answer.text(), "canary", "{rung} {key}");
        !answer.text().contains("(exit status: 0)")
    });
    for path in ["outside/canary", "ws/data/canary", "ws/data"] {
        let answer = proxy.call("peeker__peek", &json!({"where": hidden(&rig.text(path))}));
        assert!(
            !answer.text().contains("canary\n") && answer.text() != "canary",
            "{rung} {key}: {}",
            answer.text()
        );
        let text = answer.bad();
        assert!(
            text.contains(&rig.text("ws/data")) && text.contains("is a link"),
            "{rung} {key}: {text}"
        );
    }
    proxy.finish();
}
