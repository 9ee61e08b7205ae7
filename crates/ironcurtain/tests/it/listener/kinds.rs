//! Sessions of different kinds at one listener: a conversation's task, and a proxy with its client.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ic_escalation::Registry;
use ic_testkit::Proxy;
use ic_testkit::agents::CLAUDE_CODE;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::listener;
use crate::agents::{self, says};
use crate::approvals::world::{BINARY, Rig};
use crate::clients::Packages;
use crate::proxy::until;
use crate::repl::in_tmux::Tmux;
use crate::repl::world::{document, rig};

/// How soon a session that was killed is gone from the screen.
const GONE: Duration = Duration::from_secs(2);

#[test]
fn sessions_of_all_kinds_ask_are_answered_and_vanish() {
    let rig = rig();
    let stage = listener(&rig);
    let task = format!("write \"text\" to {}", document(&rig, "a.txt"));
    let words = ["start", "--workspace", "work", "--name", "task", &task];
    let mut start = rig.place.command(words).spawn().unwrap();
    stage.asked_alone(1).expect("task");
    let mut proxy = Proxy::start(&rig.place, &["--session", "client"]);
    proxy.initialize();
    let path = document(&rig, "b.txt");
    let id = proxy.ask_call("filesystem__write_file", &json!({"path": path, "content": "more"}));
    stage.expect("2 requests wait").expect("2 sessions run");
    // Both at once, each from where it is shown.
    stage.type_in("y").expect("#1 was accepted by `task`.").asked_alone(2);
    stage.type_in("y").expect("#2 was accepted by `client`.");
    proxy.answer(&id).good();
    assert_eq!(start.wait().unwrap().code(), Some(0));
    assert_eq!(std::fs::read_to_string(document(&rig, "a.txt")).unwrap(), "text");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "more");
    // Killed while it asks: the session and its request are gone.
    let path = document(&rig, "c.txt");
    proxy.ask_call("filesystem__write_file", &json!({"path": path, "content": "x"}));
    stage.asked_alone(3).expect("1 session runs");
    let killed = Instant::now();
    let pid = Pid::from_raw(proxy.process().id()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    stage.expect("nothing waits · 0 sessions run");
    assert!(killed.elapsed() < GONE, "{:?}", killed.elapsed());
    assert!(!std::path::Path::new(&path).exists());
}

/// A built-in task, a proxy with a real client, and a real agent in its cage ask at once; each is answered,
/// asks again, and is gone within two seconds of being killed.
#[test]
fn a_task_a_real_client_and_a_real_agent_are_answered_in_tmux_and_vanish() {
    let (Some(packages), Some(stage)) = (Packages::find(), agents::Stage::set(&CLAUDE_CODE, []))
    else {
        return;
    };
    let agents::Stage { provider, place, row } = stage;
    let rig = Rig::at(place);
    rig.place.dir("home/Documents");
    let at = |name: &str| document(&rig, name);
    let call = |id: &str, name: &str| {
        let input = json!({"path": at(name), "content": "by the agent"});
        row.calls(id, "filesystem__write_file", input)
    };
    provider.push([call("toolu_1", "agent-1"), call("toolu_2", "agent-2"), says("Done.")]);
    let task = |name: &str| {
        let task = format!("write \"text\" to {}", at(name));
        let words = ["start", "--model", "offline", "--workspace", "work", "--name", name, &task];
        rig.place.command(words).spawn().unwrap()
    };
    let client = |name: &str| {
        Command::new(packages.node())
            .arg(packages.module("inspector/clients/launcher/build/index.js"))
            .args(["--cli", "-q", "--format", "json", BINARY, "proxy", "--wait"])
            .args(["--method", "tools/call", "--tool-name", "filesystem__write_file"])
            .args(["--tool-arg", &format!("path={}", at(name)), "content=by-the-client"])
            .env("HOME", rig.place.path("home"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let Some(tmux) = Tmux::run_in(&rig, (140, 40), &format!("{BINARY} listen")) else { return };
    tmux.expect("nothing waits · 0 sessions run");
    let agent = ["start", "--agent", "claude-code", "--workspace", "work", "--name", "agent"];
    let mut agent = rig.place.command([&agent[..], &["Write both."]].concat()).spawn().unwrap();
    let (mut first, mut second) = (task("task-1"), client("client-1"));
    tmux.expect("3 requests wait · 3 sessions run");
    // By their numbers: the agent asks again as soon as it has its first answer.
    for number in 1..=3 {
        tmux.expect(&format!("── Request #{number} ")).expect("y approve · n deny").type_in("y");
        tmux.expect(&format!("Escalation approved. #{number} was accepted"));
    }
    assert_eq!(first.wait().unwrap().code(), Some(0));
    assert_eq!(second.wait().unwrap().code(), Some(0));
    for (name, text) in
        [("task-1", "text"), ("client-1", "by-the-client"), ("agent-1", "by the agent")]
    {
        until(name, || std::fs::read_to_string(at(name)).is_ok_and(|it| it == text));
    }
    let (mut first, mut second) = (task("task-2"), client("client-2"));
    tmux.expect("3 requests wait · 3 sessions run");
    let sessions = Registry::of(&rig.home).live().unwrap().sessions;
    let mut kinds: Vec<&str> = sessions.iter().map(|it| it.kind.as_str()).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["agent", "built-in", "proxy"]);
    let killed = Instant::now();
    for session in &sessions {
        let pid = Pid::from_raw(i32::try_from(session.process.pid).unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
    }
    tmux.expect("nothing waits · 0 sessions run");
    assert!(killed.elapsed() < GONE, "{:?}", killed.elapsed());
    for child in [&mut first, &mut second, &mut agent] {
        child.wait().unwrap();
    }
    for name in ["task-2", "client-2", "agent-2"] {
        assert!(!std::path::Path::new(&at(name)).exists(), "{name}");
    }
}
