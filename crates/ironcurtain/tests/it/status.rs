//! `ironcurtain status`: what runs, what waits and what was refused.

use ic_testkit::Proxy;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::approvals::world::Rig;

#[test]
fn nothing_goes_on() {
    let rig = Rig::new();
    assert_snapshot!(rig.run(&["status"]).stdout, @"
    No approver is connected: calls that need approval are denied, unless their session waits or has a terminal.
    No session runs.
    No approval request is waiting.
    No call was refused in the last hour.
    In the last 24 hours: no calls yet.
    ");
    let status: Value = serde_json::from_str(&rig.run(&["status", "--json"]).stdout).unwrap();
    let expected = json!({
        "approverConnected": false, "listener": null, "sessions": [], "requests": [], "refused": [],
        "economy": "last 24 hours: no calls yet",
    });
    assert_eq!(status, expected);
}

#[test]
fn sessions_requests_and_refusals_are_shown() {
    let rig = Rig::new();
    let work = rig.session("work");
    let _asked = work.ask("/d/a\x1b[2J.txt", "hello");
    let mut proxy = Proxy::start(&rig.place, &["--session", "client"]);
    proxy.initialize();
    let key = rig.place.path("home/.ironcurtain/keys/audit.key");
    proxy.call("filesystem__read_text_file", &json!({"path": key})).bad();
    let stage = crate::listener::listener(&rig);
    let shown = rig.run(&["status"]);
    assert_eq!(shown.code, 0);
    for expected in [
        "An approver is connected: the listener (process ",
        "2 sessions run:\n",
        "  work: claude-code: interactive; ",
        ", 1 waiting\n",
        "1 request waits:\n",
        "#1 work: write_file \"/d/a\\u001b[2J.txt\" (filesystem); expires in 9 min ",
        "1 call was refused in the last hour:\n",
        " client: filesystem.read_text_file: ",
    ] {
        assert!(shown.stdout.contains(expected), "{expected:?} is not in {}", shown.stdout);
    }
    assert!(shown.stdout.lines().count() < 24, "{}", shown.stdout);
    let status: Value = serde_json::from_str(&rig.run(&["status", "--json"]).stdout).unwrap();
    assert_eq!(status["approverConnected"], true);
    assert!(status["listener"]["pid"].is_u64(), "{status}");
    assert_eq!(status["sessions"][1]["name"], "client");
    assert_eq!(status["sessions"][1]["policy"], "built-in `default`");
    assert_eq!(status["requests"][0]["number"], 1);
    assert_eq!(status["refused"][0]["tool"], "read_text_file");
    drop(stage);
}
