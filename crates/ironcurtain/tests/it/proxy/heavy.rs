//! Calls with very many values: answered in time that grows with their number, while others are served.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ic_testkit::git_host::git;
use ic_testkit::proxy::Reads;
use ic_testkit::{Caller, Proxy};
use serde_json::{Value, json};

use super::{Rig, rig};
use crate::place;

/// What a call with this many paths is about.
fn paths(rig: &Rig, n: usize) -> Value {
    let directory = rig.place.path("workspace/a/b/c");
    let paths: Vec<String> = (0..n).map(|at| format!("{}/f{at}", directory.display())).collect();
    json!({ "value": paths })
}

/// Starts a proxy on a socket for which the value of `echo` is paths in a workspace, with these roles.
fn start(rig: &Rig, roles: &[&str], then: &str) -> Proxy {
    let mut arguments = rig.arguments();
    let tools = json!([{"toolName": "echo", "args": {"value": roles}}]);
    rig.place.write(
        "policy/tool-annotations.json",
        json!({"servers": {"rec": {"tools": tools}}}).to_string(),
    );
    let rule = json!({"name": "all", "if": {}, "then": then, "reason": "r"});
    rig.place.write("policy/compiled-policy.json", json!({"rules": [rule]}).to_string());
    let (socket, workspace) = (rig.place.path("sockets/proxy.sock"), rig.place.dir("workspace"));
    rig.place.dir("workspace/a/b/c/.git/hooks");
    for (flag, path) in [("--socket", socket), ("--workspace", workspace)] {
        arguments.extend([flag.to_owned(), path.to_str().unwrap().to_owned()]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Proxy::start_reading(&rig.place, &arguments, Reads::Everything)
}

/// Ten times as many values take about ten times as long, whatever is said of them.
#[test]
fn time_grows_with_the_number_of_values_and_not_with_its_square() {
    for (roles, then) in [
        (&["read-path"] as &[&str], "deny"),
        (&["read-path"], "escalate"),
        (&["delete-path"], "escalate"),
        (&["write-path"], "allow"),
        (&["none"], "deny"),
    ] {
        let rig = rig();
        let proxy = start(&rig, roles, then);
        let mut client = Caller::begin(&rig.place.path("sockets/proxy.sock"), "client");
        let mut took = |n: usize| {
            let began = Instant::now();
            client.call("rec__echo", &paths(&rig, n));
            began.elapsed()
        };
        took(1);
        let (few, many) = ((0..3).map(|_| took(999)).min().unwrap(), took(9_999));
        let most = few.max(Duration::from_millis(20)) * 30;
        assert!(many < most, "{roles:?} {then}: {few:?} for 999, {many:?} for 9,999");
        drop(proxy);
    }
}

/// Whoever asks for much is not served instead of everybody else.
#[test]
fn others_are_answered_while_a_call_with_very_many_values_is_judged() {
    let rig = rig();
    let _proxy = start(&rig, &["delete-path"], "deny");
    let socket = rig.place.path("sockets/proxy.sock");
    let (mut busy, mut other) = (Caller::begin(&socket, "busy"), Caller::begin(&socket, "other"));
    busy.call("rec__echo", &paths(&rig, 1));
    let (call, worst, n_pings) = busy_while_pinged(&mut other, 5, || {
        busy.call("rec__echo", &paths(&rig, 9_999));
    });
    assert!(worst < call / 2 + Duration::from_millis(20), "a ping took {worst:?}, a call {call:?}");
    assert!(10 < n_pings, "{n_pings}");
}

/// How long a call is worked on depends on a repository's configuration, and nobody else waits for it.
#[test]
fn others_are_answered_while_a_push_to_very_many_urls_is_judged() {
    let place = place();
    let repository = place.dir("workspace");
    git(&repository, &["init", "-q", "-b", "main", "."]);
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b.example"];
    git(&repository, &[&identity[..], &["commit", "-qm", "first", "--allow-empty"]].concat());
    let config = repository.join(".git/config");
    let mut text = std::fs::read_to_string(&config).unwrap();
    text.push_str("[remote \"origin\"]\n");
    text.extend((0..1_500).map(|at| format!("\turl = https://h{at}.example/o/r\n")));
    let rewrite =
        |at| format!("[url \"https://g{at}.example/\"]\n\tinsteadOf = https://h{at}.example/\n");
    text.extend((0..5_000).map(rewrite));
    std::fs::write(config, text).unwrap();
    let (socket, workspace) = (place.path("sockets/proxy.sock"), place.path("workspace"));
    let words = ["--policy", "coding", "--workspace", workspace.to_str().unwrap(), "--socket"];
    let words = [&words[..], &[socket.to_str().unwrap()]].concat();
    let _proxy = Proxy::start_reading(&place, &words, Reads::Everything);
    let (mut busy, mut other) = (Caller::begin(&socket, "busy"), Caller::begin(&socket, "other"));
    let mut at = 0;
    let (call, worst, n_pings) = busy_while_pinged(&mut other, 3, || {
        // Each is another call, or the circuit breaker would speak up.
        at += 1;
        let path = format!("{}{}", workspace.display(), "/.".repeat(at));
        let push = json!({"path": path, "remote": "origin", "branch": "main"});
        let answer = busy.call("git__git_push", &push).bad();
        assert!(answer.contains("ESCALATION REQUIRED"), "{answer:.400}");
    });
    assert!(worst < call / 2 + Duration::from_millis(20), "a ping took {worst:?}, a call {call:?}");
    assert!(10 < n_pings, "{n_pings}");
}

/// Makes a call so many times, while another client sends one `ping` after the other.
///
/// Returns what a call took, the longest wait for a `ping`, and how many there were.
fn busy_while_pinged(
    other: &mut Caller,
    n_calls: u32,
    mut call: impl FnMut() + Send,
) -> (Duration, Duration, usize) {
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let calling = scope.spawn(|| {
            let began = Instant::now();
            (0..n_calls).for_each(|_| call());
            is_done.store(true, Ordering::Release);
            began.elapsed() / n_calls
        });
        let (mut worst, mut n_pings) = (Duration::ZERO, 0);
        while !is_done.load(Ordering::Acquire) {
            if calling.is_finished() {
                break;
            }
            let began = Instant::now();
            other.request("ping", &json!({}));
            worst = worst.max(began.elapsed());
            n_pings += 1;
        }
        (calling.join().unwrap(), worst, n_pings)
    })
}
