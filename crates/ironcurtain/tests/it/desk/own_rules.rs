//! Places in a workspace that a rule asks about: asked, and done once it is approved.

use serde_json::json;

use super::{Desk, approve, deny};
use crate::own_rules::{EVERY_ROLE, policy, rule};

/// Starts a proxy in a workspace in which a rule asks about `secret`.
fn start(desk: &Desk) -> (ic_testkit::Proxy, String) {
    desk.place.write("work/secret/key.txt", "the key");
    desk.place.write("work/deep/secret/key.txt", "another key");
    let work = desk.place.path("work").to_str().unwrap().to_owned();
    let rules = json!([
        rule("ask-secret", "escalate", &EVERY_ROLE, &format!("{work}/secret")),
        rule("ask-deep", "escalate", &EVERY_ROLE, &format!("{work}/deep/secret")),
    ]);
    let policy = policy(&desk.place, &rules);
    (desk.start_with(&["--policy", &policy, "--workspace", &work]), work)
}

#[test]
fn what_is_approved_in_a_closed_place_is_served() {
    let mut desk = Desk::new();
    let (mut proxy, work) = start(&desk);
    let file = |name: &str| format!("{work}/{name}");
    for (tool, arguments, part) in [
        ("read_text_file", json!({"path": file("secret/key.txt")}), "the key"),
        ("write_file", json!({"path": file("secret/new.txt"), "content": "x"}), "new.txt"),
        ("list_directory", json!({"path": file("secret")}), "[FILE] new.txt"),
        ("delete_file", json!({"path": file("secret/new.txt")}), "new.txt"),
    ] {
        let id = proxy.ask_call(&format!("filesystem__{tool}"), &arguments);
        let question = desk.question();
        assert_eq!(question.request().rule, "ask-secret", "{tool}");
        approve(&question);
        let said = proxy.answer(&id).good();
        assert!(said.contains(part), "{tool}: {said}");
    }
    let listed = proxy.call("filesystem__list_directory", &json!({"path": work})).good();
    assert!(!listed.contains("secret") && listed.contains("closed by the policy"), "{listed}");
    proxy.finish();
    desk.check_log();
}

#[test]
fn moving_a_directory_above_a_closed_place_asks_and_is_done_once_approved() {
    let mut desk = Desk::new();
    let (mut proxy, work) = start(&desk);
    let arguments =
        json!({"source": format!("{work}/deep"), "destination": format!("{work}/away")});
    let id = proxy.ask_call("filesystem__move_file", &arguments);
    let question = desk.question();
    assert_eq!(question.request().rule, "ask-deep");
    deny(&question);
    proxy.answer(&id).bad();
    assert!(desk.place.path("work/deep/secret/key.txt").exists());
    let arguments =
        json!({"source": format!("{work}/deep"), "destination": format!("{work}/gone")});
    let id = proxy.ask_call("filesystem__move_file", &arguments);
    approve(&desk.question());
    proxy.answer(&id).good();
    assert!(desk.place.path("work/gone/secret/key.txt").exists());
    proxy.finish();
}
