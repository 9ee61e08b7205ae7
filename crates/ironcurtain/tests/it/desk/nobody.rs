//! Nobody is at the desk.

use ic_escalation::Presence;

use super::{Desk, approve, details};

#[test]
fn without_anybody_a_call_is_denied_at_once_and_says_how_to_be_there() {
    let mut desk = Desk::empty();
    let mut proxy = desk.start();
    let answer = proxy.call("filesystem__write_file", &desk.write_call("a.txt", "a"));
    let text = answer.bad();
    assert!(text.starts_with("ESCALATION REQUIRED: "), "{text}");
    assert!(text.ends_with(". Action denied (no escalation handler)."), "{text}");
    assert_eq!(details(&answer)["decision"], "escalate");
    let next_step = details(&answer)["nextStep"].to_string();
    for words in ["ironcurtain listen", "--wait"] {
        assert!(next_step.contains(words), "{next_step}");
        assert!(proxy.stderr().contains(words), "{}", proxy.stderr());
    }
    assert!(proxy.stderr().contains("approvals: no approver is connected"), "{}", proxy.stderr());
    assert_eq!(desk.pending().len(), 0);
    // From the moment that somebody comes, they are asked; and when they leave, nobody is.
    let presence = Presence::take(&desk.home).unwrap();
    let id = desk.ask_write(&mut proxy, "b.txt", "b");
    approve(&desk.question());
    proxy.answer(&id).good();
    drop(presence);
    let answer = proxy.call("filesystem__write_file", &desk.write_call("c.txt", "c"));
    assert!(answer.bad().starts_with("ESCALATION REQUIRED: "), "{}", answer.line);
    proxy.finish();
    assert_eq!((desk.read("a.txt"), desk.read("c.txt")), (None, None));
    assert_eq!(desk.read("b.txt").unwrap(), "b");
    let expected = ["notAsked", "raised", "answered by cli", "notAsked"];
    assert_eq!(desk.events("escalation"), expected);
    desk.check_log();
}

#[test]
fn with_wait_a_call_waits_for_whoever_comes() {
    let mut desk = Desk::empty();
    let mut proxy = desk.start_with(&["--wait"]);
    let id = desk.ask_write(&mut proxy, "a.txt", "a");
    let question = desk.question();
    assert_eq!(desk.read("a.txt"), None);
    approve(&question);
    proxy.answer(&id).good();
    assert_eq!(desk.read("a.txt").unwrap(), "a");
    assert!(proxy.stderr().contains("wait until you answer"), "{}", proxy.stderr());
    proxy.finish();
}

#[test]
fn somebody_who_is_there_is_named_in_the_header() {
    let desk = Desk::new();
    let mut proxy = desk.start();
    proxy.finish();
    let stderr = proxy.all_stderr();
    assert!(stderr.contains("approvals: an approver is connected"), "{stderr}");
}
