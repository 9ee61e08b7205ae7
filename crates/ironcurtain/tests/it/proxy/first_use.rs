//! Servers are started when they are used: what was recorded of one that ran before is offered without it.

use std::path::Path;

use ic_testkit::proxy::Message;
use serde_json::{Value, json};

use super::{Rig, listed, provoke, rig, rule_of};

/// A rig whose servers `rec` and `bad` were started and recorded by an earlier session.
fn known() -> Rig {
    let rig = rig().hostile("bad", &["plain"]);
    let mut proxy = rig.start();
    assert_eq!(listed(&mut proxy).len(), 12);
    proxy.finish();
    assert_eq!((rig.n_starts("rec"), rig.n_starts("bad")), (1, 1), "new ones are started");
    rig
}

#[test]
fn a_list_starts_no_server_that_ran_before_and_a_call_starts_its_own() {
    let rig = known();
    let mut proxy = rig.start();
    assert_eq!(listed(&mut proxy).len(), 12, "from what was recorded");
    assert_eq!(proxy.call("rec__forbidden", &json!({})).bad(), "DENIED: rule no");
    let unfit = proxy.call("rec__add", &json!({"a": "x", "b": 1}));
    assert!(unfit.bad().starts_with("INVALID ARGUMENTS: "), "{}", unfit.line);
    assert_eq!((rig.n_starts("rec"), rig.n_starts("bad")), (1, 1), "nothing had to be sent");
    assert_eq!(provoke(&mut proxy, "x").good(), "fine");
    assert_eq!(listed(&mut proxy).len(), 12);
    assert_eq!((rig.n_starts("rec"), rig.n_starts("bad")), (1, 2), "the other one is not used");
    assert!(
        proxy.unread().is_empty(),
        "the list is what it was, so nobody is told that it changed"
    );
    proxy.finish();
}

/// The first call of a session needs no list before it.
#[test]
fn a_call_finds_its_tool_in_what_was_recorded() {
    let rig = known();
    let mut proxy = rig.start();
    assert_eq!(provoke(&mut proxy, "x").good(), "fine");
    assert_eq!((rig.n_starts("rec"), rig.n_starts("bad")), (1, 2));
    proxy.finish();
}

/// What a client set before the server ran is what the server hears first.
#[test]
fn a_level_that_was_set_before_the_start_reaches_the_server() {
    let rig = known();
    let mut proxy = rig.start();
    proxy.request("logging/setLevel", &json!({"level": "debug"})).result();
    assert_eq!(rig.n_starts("rec"), 1, "a level starts nothing");
    proxy.call("rec__rich", &json!({})).result();
    let lines = rig.lines("rec", "received");
    let of_this_start = lines.iter().rposition(|it| it.contains("\"initialize\"")).unwrap();
    let heard = &lines[of_this_start..];
    let place = |method: &str| heard.iter().position(|it| it.contains(method)).unwrap();
    assert!(place("\"logging/setLevel\"") < place("\"tools/call\""), "{heard:?}");
    assert!(heard.iter().any(|it| it.contains("\"debug\"")), "{heard:?}");
    proxy.finish();
}

#[track_caller]
fn withheld(answer: &Message, why: &str) {
    assert_eq!(rule_of(answer), "structural-identity-changed", "{}", answer.line);
    let text = answer.bad();
    assert!(text.contains(why) && text.contains("ironcurtain servers trust bad"), "{text}");
}

/// The call that started it is answered with why, nothing reaches the tool, and clients list again.
#[test]
fn a_server_that_says_something_else_once_it_runs_is_sent_nothing() {
    let tool = |name: &str, description: &str| {
        json!({"name": name, "description": description,
            "inputSchema": {"type": "object", "properties": {"what": {"type": "string"}}}})
    };
    for (says, why) in [
        (
            json!([tool("do", "Send files."), tool("later", "Later.")]),
            "has changed since it was trusted",
        ),
        (json!([tool("later", "Later.")]), "the server does not list it any more"),
    ] {
        let rig = rig().hostile("bad", &["wordy"]);
        let say = |tools: &Value| rig.place.write("bad/tools", tools.to_string());
        say(&json!([tool("do", "Does."), tool("later", "Later.")]));
        let mut proxy = rig.start();
        assert_eq!(listed(&mut proxy).len(), 13);
        proxy.finish();
        say(&says);
        let mut proxy = rig.start();
        assert!(listed(&mut proxy).contains(&"bad__do".to_owned()), "as it was recorded");
        withheld(&provoke(&mut proxy, "x"), why);
        proxy.notification("notifications/tools/list_changed", "");
        let names = listed(&mut proxy);
        assert!(!names.contains(&"bad__do".to_owned()), "{names:?}");
        assert!(names.contains(&"bad__later".to_owned()), "{names:?}");
        assert_eq!(rig.calls("bad"), [""; 0], "it came through");
        rig.check_unharmed(&mut proxy, why);
        proxy.finish();
    }
}

/// Its tools are there, and each call says what is wrong; no list waits for it.
#[test]
fn a_server_that_cannot_be_started_any_more_is_an_error_of_the_call() {
    let rig = rig();
    let program = rig.place.dir("program").join("python3");
    std::fs::copy(super::python(), &program).unwrap();
    let mut rig = rig.hostile("bad", &["plain"]).with("bad", "command", json!(program));
    let shown = json!([program, Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers")]);
    rig.servers["bad"]["sandbox"]["filesystem"]["allowRead"] = shown;
    let mut proxy = rig.start();
    assert_eq!(provoke(&mut proxy, "x").good(), "fine");
    proxy.finish();
    std::fs::remove_file(&program).unwrap();
    let mut proxy = rig.start();
    assert!(listed(&mut proxy).contains(&"bad__do".to_owned()));
    let answer = provoke(&mut proxy, "x");
    assert_eq!(rule_of(&answer), "server-unavailable", "{}", answer.line);
    rig.check_unharmed(&mut proxy, "a program that is gone");
    proxy.finish();
}

/// A record that no running server could have made is not offered from; the server itself is asked.
#[test]
fn a_record_beyond_what_a_server_may_list_is_not_used() {
    let rig = known();
    let path = rig.place.path("home/.ironcurtain/servers.lock.json");
    let mut lock: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let tools = lock["servers"]["bad"]["tools"].as_object_mut().unwrap();
    for n in 0..1000 {
        let name = format!("more-{n}");
        tools.insert(name.clone(), json!({"name": name, "inputSchema": {"type": "object"}}));
    }
    // One under another name than its own, and one that cannot be used.
    std::fs::write(&path, lock.to_string()).unwrap();
    let mut proxy = rig.start();
    assert_eq!(listed(&mut proxy).len(), 12, "what the server says");
    assert_eq!((rig.n_starts("rec"), rig.n_starts("bad")), (1, 2));
    proxy.finish();

    let tools = lock["servers"]["bad"]["tools"].as_object_mut().unwrap();
    tools.retain(|name, _| name == "do");
    tools.insert("x".to_owned(), json!({"name": "y", "inputSchema": {"type": "object"}}));
    tools.insert("z".to_owned(), json!({"name": "z"}));
    std::fs::write(&path, lock.to_string()).unwrap();
    let mut proxy = rig.start();
    assert_eq!(listed(&mut proxy).len(), 12, "neither is offered");
    assert_eq!(rig.n_starts("bad"), 2);
    proxy.finish();
}

/// `servers trust` in another terminal counts for a session that runs, whether the server does or not.
#[test]
fn what_is_trusted_meanwhile_counts() {
    let rig = known();
    let mut proxy = rig.start();
    assert_eq!(listed(&mut proxy).len(), 12);
    let path = rig.place.path("home/.ironcurtain/servers.lock.json");
    let mut lock: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    lock["servers"]["bad"]["tools"]["do"]["description"] = json!("Something else.");
    std::fs::write(&path, lock.to_string()).unwrap();
    let result = proxy.request("tools/list", &json!({})).result();
    assert!(result.to_string().contains("Something else."), "{result}");
    lock["servers"].as_object_mut().unwrap().remove("bad");
    std::fs::write(&path, lock.to_string()).unwrap();
    assert_eq!(listed(&mut proxy).len(), 12, "it is new again, so it is asked");
    assert_eq!(rig.n_starts("bad"), 2);
    proxy.finish();
}
