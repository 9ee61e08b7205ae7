//! Yes, no, and what was asked about is not what it was.

use serde_json::json;

use super::{Desk, approve, deny, details};

#[test]
fn what_a_person_approves_is_done_and_nothing_else() {
    let mut desk = Desk::new();
    desk.place.write("home/Documents/old.txt", "old");
    desk.place.write("home/Documents/gone.txt", "gone");
    let mut proxy = desk.start();
    let calls = [
        ("write_file", desk.write_call("new.txt", "new")),
        (
            "move_file",
            json!({"source": desk.path("old.txt"), "destination": desk.path("moved.txt")}),
        ),
        ("delete_file", json!({"path": desk.path("gone.txt")})),
    ];
    for (tool, arguments) in calls {
        let id = proxy.ask_call(&format!("filesystem__{tool}"), &arguments);
        let question = desk.question();
        assert_eq!(question.request().tool.as_str(), tool);
        approve(&question);
        proxy.answer(&id).good();
    }
    assert_eq!(desk.read("new.txt").unwrap(), "new");
    assert_eq!(desk.read("moved.txt").unwrap(), "old");
    assert_eq!((desk.read("old.txt"), desk.read("gone.txt")), (None, None));
    // One approval is one call: the next one is asked about, though it is the same.
    let id = desk.ask_write(&mut proxy, "new.txt", "new");
    deny(&desk.question());
    proxy.answer(&id).bad();
    proxy.finish();
    assert_eq!(desk.events("escalation")[..2], ["raised", "answered by cli"]);
    let intents = ["escalate by policy", "allow by cli"];
    assert_eq!(desk.intents()[..6], [intents, intents, intents].concat());
    desk.check_log();
}

#[test]
fn the_record_names_the_question_and_the_answer() {
    let mut desk = Desk::new();
    let mut proxy = desk.start();
    let id = desk.ask_write(&mut proxy, "a.txt", "a");
    let question = desk.question();
    approve(&question);
    proxy.answer(&id).good();
    proxy.finish();
    let records = ic_testkit::proxy::records(&desk.place);
    let of_kind = |kind: &str| records.iter().filter(|it| it["kind"] == kind).collect::<Vec<_>>();
    let (asked, call) = (of_kind("escalation"), of_kind("intent")[0]);
    let request = question.request();
    assert_eq!(
        asked[0]["arguments"],
        json!({"event": "raised", "escalationId": request.escalation.as_str(),
            "digest": request.digest.to_string(), "expiresAt": request.expires_at.to_string()})
    );
    assert_eq!(
        asked[1]["arguments"],
        json!({"event": "answered", "escalationId": request.escalation.as_str(),
            "decision": "approved"})
    );
    assert_eq!(asked[0]["verdict"], "escalate");
    assert_eq!(asked[1]["verdict"], "allow");
    assert!(asked[1]["durationMs"].is_u64());
    for record in asked {
        assert_eq!(record["requestId"], call["requestId"]);
        assert_eq!((&record["server"], &record["tool"]), (&call["server"], &call["tool"]));
    }
}

#[test]
fn what_a_person_denies_is_not_done_and_not_asked_again() {
    let mut desk = Desk::new();
    let mut proxy = desk.start();
    let id = desk.ask_write(&mut proxy, "a.txt", "a");
    deny(&desk.question());
    let answer = proxy.answer(&id);
    assert!(answer.bad().starts_with("ESCALATION DENIED: the user denied it"), "{}", answer.line);
    assert_eq!(details(&answer)["decision"], "deny");
    assert_eq!(details(&answer)["retryUseful"], false);
    let again = proxy.call("filesystem__write_file", &desk.write_call("a.txt", "a"));
    let text = again.bad();
    assert!(text.starts_with("ESCALATION DENIED: the user denied this call"), "{text}");
    // Another call is another question.
    let id = desk.ask_write(&mut proxy, "a.txt", "b");
    approve(&desk.question());
    proxy.answer(&id).good();
    assert_eq!(desk.read("a.txt").unwrap(), "b");
    proxy.finish();
    let expected = ["raised", "answered by cli", "notAsked", "raised", "answered by cli"];
    assert_eq!(desk.events("escalation"), expected);
}

#[test]
fn a_file_that_changes_after_the_question_is_asked_about_again() {
    let mut desk = Desk::new();
    desk.place.write("home/Documents/a.txt", "as it was shown");
    let mut proxy = desk.start();
    let id = desk.ask_write(&mut proxy, "a.txt", "new");
    let first = desk.question();
    desk.place.write("home/Documents/a.txt", "something that nobody was shown");
    approve(&first);
    let second = desk.question();
    assert_ne!(first.request().digest, second.request().digest);
    assert_ne!(first.request().escalation, second.request().escalation);
    assert_eq!(desk.read("a.txt").unwrap(), "something that nobody was shown");
    approve(&second);
    proxy.answer(&id).good();
    assert_eq!(desk.read("a.txt").unwrap(), "new");
    proxy.finish();
    let expected = ["raised", "answered by cli", "changed", "raised", "answered by cli"];
    assert_eq!(desk.events("escalation"), expected);
    desk.check_log();
}

/// The file is the same, and so is the call; but the host would run it now.
#[test]
fn a_question_whose_reason_got_worse_is_asked_again() {
    let mut desk = Desk::new();
    desk.place.write("home/Documents/notes.txt", "as it was shown");
    desk.place.dir("work");
    let workspace = desk.place.path("work").to_str().unwrap().to_owned();
    let mut proxy = desk.start_with(&["--workspace", &workspace]);
    let id = desk.ask_write(&mut proxy, "notes.txt", "export EVIL=1");
    let first = desk.question();
    assert_ne!(&*first.request().rule, "structural-host-executes");
    desk.place.link("work/.envrc", desk.path("notes.txt"));
    approve(&first);
    let second = desk.question();
    assert_eq!(&*second.request().rule, "structural-host-executes");
    deny(&second);
    proxy.answer(&id).bad();
    assert_eq!(desk.read("notes.txt").unwrap(), "as it was shown");
    proxy.finish();
}

#[test]
fn a_call_that_changes_each_time_is_refused_in_the_end() {
    let mut desk = Desk::new();
    let mut proxy = desk.start();
    let id = desk.ask_write(&mut proxy, "a.txt", "new");
    for n in 0..3 {
        let question = desk.question();
        desk.place.write("home/Documents/a.txt", format!("{n} {}", "x".repeat(n)));
        approve(&question);
    }
    let text = proxy.answer(&id).bad();
    assert!(text.starts_with("ESCALATION DENIED: the target of the call kept changing"), "{text}");
    assert_eq!(desk.read("a.txt").unwrap(), "2 xx");
    proxy.finish();
    desk.check_log();
}

/// The answer comes to a call that the policy denies by now: no person overrides that.
#[test]
fn what_has_come_to_be_denied_is_denied_though_it_was_approved() {
    let mut desk = Desk::new();
    let secret = desk.place.write("home/.ssh/authorized_keys", "mine");
    let mut proxy = desk.start();
    let id = desk.ask_write(&mut proxy, "a.txt", "theirs");
    let question = desk.question();
    desk.place.link("home/Documents/a.txt", &secret);
    approve(&question);
    let answer = proxy.answer(&id);
    assert!(answer.bad().starts_with("DENIED: "), "{}", answer.line);
    assert_eq!(details(&answer)["rule"], "structural-protected-path");
    assert_eq!(std::fs::read_to_string(secret).unwrap(), "mine");
    proxy.finish();
    assert_eq!(desk.intents(), ["escalate by policy", "deny by policy"]);
}

/// Nothing is left to ask: where the path leads by now, everybody may write.
#[test]
fn what_has_come_to_be_allowed_is_done() {
    let mut desk = Desk::new();
    desk.place.dir("home/Documents/d");
    let free = desk.place.dir("home/Downloads");
    let mut proxy = desk.start();
    let id = desk.ask_write(&mut proxy, "d/a.txt", "a");
    let question = desk.question();
    std::fs::remove_dir(desk.path("d")).unwrap();
    desk.place.link("home/Documents/d", &free);
    approve(&question);
    proxy.answer(&id).good();
    assert_eq!(std::fs::read_to_string(free.join("a.txt")).unwrap(), "a");
    proxy.finish();
    assert_eq!(desk.intents(), ["escalate by policy", "allow by policy"]);
}
