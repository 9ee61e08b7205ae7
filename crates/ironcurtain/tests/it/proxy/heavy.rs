//! Calls with very many values: answered in time that grows with their number, while others are served.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ic_testkit::proxy::Reads;
use ic_testkit::{Caller, Proxy};
use serde_json::{Value, json};

use super::{Rig, rig};

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
    let is_done = AtomicBool::new(false);
    let (call, worst, n_pings) = std::thread::scope(|scope| {
        let calling = scope.spawn(|| {
            let began = Instant::now();
            for _ in 0..5 {
                busy.call("rec__echo", &paths(&rig, 9_999));
            }
            is_done.store(true, Ordering::Release);
            began.elapsed() / 5
        });
        let (mut worst, mut n_pings) = (Duration::ZERO, 0);
        while !is_done.load(Ordering::Acquire) {
            let began = Instant::now();
            other.request("ping", &json!({}));
            worst = worst.max(began.elapsed());
            n_pings += 1;
        }
        (calling.join().unwrap(), worst, n_pings)
    });
    assert!(worst < call / 2 + Duration::from_millis(20), "a ping took {worst:?}, a call {call:?}");
    assert!(10 < n_pings, "{n_pings}");
}
