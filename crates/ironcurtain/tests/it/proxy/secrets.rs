//! Secrets in arguments are not written down, and our own keys go nowhere.

use ic_testkit::Place;
use ic_testkit::proxy::Process;
use serde_json::{Value, json};

use super::{Rig, audit_log, check_serves, place, provoke, rig};

/// A key of ours, by the variable that it comes in.
const KEY: &str = "sk-test-0123456789abcdefghijklmnopqrstuv";

fn with_key() -> Place {
    place().with_variable("OPENAI_API_KEY", KEY)
}

/// Checks that the key stands in no file of ours but the pins of what a server says of itself.
#[track_caller]
fn check_no_file_holds_the_key(rig: &Rig) {
    let files = rig.place.files("home/.ironcurtain");
    for (path, text) in &files {
        // The entry in the lock is how the server is started, which the user wrote.
        let is_lock = path.ends_with("servers.lock.json");
        assert!(is_lock || !text.contains(KEY), "{} holds the key", path.display());
    }
    assert!(2 < files.len());
}

#[test]
fn secrets_in_arguments_are_not_written_down() {
    let rig = rig();
    let mut proxy = rig.start();
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let key = format!("sk-ant-api03-{}", "Zz9_".repeat(24));
    for value in [
        json!(token),
        json!({"nested": [{"deep": format!("curl -H 'Authorization: Bearer {token}'")}]}),
        json!({"password": "correct horse battery staple"}),
        json!({ key.clone(): 1 }),
        json!(format!("{{\"k\":\"{key}\"}}")),
    ] {
        let answer = proxy.call("rec__echo", &json!({"value": value}));
        assert_eq!(answer.result()["structuredContent"]["value"], value, "it arrives as it is");
    }
    proxy.call(&token, &json!({"password": "correct horse battery staple"}));
    proxy.request(&token, &json!({}));
    proxy.finish();
    let log = std::fs::read_to_string(audit_log(&rig.place)).unwrap();
    for secret in [&*token, &*key, "correct horse battery staple"] {
        assert!(!log.contains(secret), "{secret} stands in the log");
    }
    assert!(log.contains("<redacted:"));
}

/// A server that has our key from somewhere says it in every way there is.
#[test]
fn our_own_key_is_masked_wherever_a_server_says_it() {
    let rig = Rig::at(with_key()).recorder("rec").hostile("bad", &["plain", KEY]);
    let mut proxy = rig.start();
    for value in [json!(KEY), json!({KEY: [KEY]}), json!(format!("a{KEY}b"))] {
        let answer = proxy.call("rec__echo", &json!({"value": value}));
        assert!(!answer.line.contains(KEY), "{}", answer.line);
        answer.good();
    }
    let params = json!({"name": "bad__do", "arguments": {"what": "tell-words"}, "_meta": {"progressToken": 1}});
    let answer = proxy.request("tools/call", &params);
    assert!(answer.good().starts_with("it is <redacted:"), "{}", answer.line);
    let answer = provoke(&mut proxy, "fail-with-words");
    assert!(answer.error().1.starts_with("it is <redacted:"), "{}", answer.line);
    assert!(!answer.line.contains(KEY), "{}", answer.line);
    // Its last words explain why it is not there.
    for what in ["crash-with-words", "x"] {
        let answer = provoke(&mut proxy, what);
        assert!(!answer.line.contains(KEY), "{}", answer.line);
    }
    check_serves(&mut proxy, "keys");
    let heard = proxy.unread();
    assert!(heard.iter().any(|it| it.method() == Some("notifications/progress")), "{heard:?}");
    assert!(heard.iter().any(|it| it.method() == Some("notifications/message")), "{heard:?}");
    for message in heard {
        assert!(!message.line.contains(KEY), "{}", message.line);
    }
    proxy.finish();
    let notices = proxy.all_stderr();
    assert!(notices.contains("<redacted:") && !notices.contains(KEY), "{notices}");
    check_no_file_holds_the_key(&rig);
}

#[test]
fn our_own_key_is_masked_in_what_a_server_says_of_its_tools() {
    let rig = Rig::at(with_key()).hostile("bad", &["boastful", KEY]);
    let mut proxy = rig.start();
    let list = proxy.request("tools/list", &json!({}));
    assert!(list.line.contains("Knows <redacted:"), "{}", list.line);
    assert!(!list.line.contains(KEY), "{}", list.line);
    proxy.finish();
    check_no_file_holds_the_key(&rig);
}

#[test]
fn our_own_key_reaches_no_process() {
    let rig = Rig::at(with_key().with_variable("OTHER_SECRET", "not-for-servers")).recorder("rec");
    let mut proxy = rig.start();
    let told: Value = serde_json::from_str(&proxy.call("rec__process", &json!({})).good()).unwrap();
    let mut names: Vec<&String> = told["environment"].as_object().unwrap().keys().collect();
    names.retain(|name| !["LC_CTYPE"].contains(&name.as_str()));
    names.sort();
    assert_eq!(names, ["HOME", "LANG", "PATH", "TEST_PLACE", "TMPDIR", "TZ"]);
    let marker = format!("TEST_PLACE={}", rig.place.root().display());
    let processes = Process::with_environment(&marker);
    assert!(2 <= processes.len(), "the server and its guard");
    for process in processes.iter().chain([proxy.process()]) {
        assert!(!process.environment().contains(KEY), "{process:?}");
    }
    for process in &processes {
        assert!(!process.environment().contains("not-for-servers"), "{process:?}");
    }
    proxy.finish();
    check_no_file_holds_the_key(&rig);
}

/// A key that the servers file asks for by name is not handed out either.
#[test]
fn a_servers_file_cannot_ask_for_our_key() {
    let rig = Rig::at(with_key().with_variable("FOR_THE_SERVER", "yours"))
        .recorder("rec")
        .recorder("asks");
    let rig = rig.with("asks", "env", json!({"KEY": "${ENV:OPENAI_API_KEY}"}));
    let rig = rig.with("rec", "env", json!({"GIVEN": "${ENV:FOR_THE_SERVER}"}));
    let mut proxy = rig.start();
    let text = proxy.call("asks__process", &json!({})).bad();
    assert!(text.contains("a key that was removed"), "{text}");
    assert_eq!(rig.n_starts("asks"), 0);
    let told: Value = serde_json::from_str(&proxy.call("rec__process", &json!({})).good()).unwrap();
    assert_eq!(told["environment"]["GIVEN"], "yours");
    proxy.finish();
}
