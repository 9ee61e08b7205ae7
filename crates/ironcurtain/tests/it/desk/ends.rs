//! A question that ends without an answer: too late, taken back, or with the session.

use std::os::unix::fs::PermissionsExt as _;

use ic_escalation::{Receipt, Registry, Reply};
use ic_home::{Clock as _, SystemClock};
use ic_policy::DecidedBy;
use ic_testkit::Proxy;
use serde_json::json;

use super::{Desk, answer, approve};

const APPROVE: Reply = Reply::Approve(None);

#[test]
fn a_question_that_nobody_answers_expires() {
    let mut desk = Desk::new().timeout(1);
    let mut proxy = desk.start();
    let id = desk.ask_write(&mut proxy, "a.txt", "a");
    let question = desk.question();
    let reply = proxy.answer(&id);
    let text = reply.bad();
    assert!(text.starts_with("ESCALATION EXPIRED: no answer within 1 s"), "{text}");
    answer(&question, &APPROVE, Receipt::Expired);
    // Nobody said no, so it may be asked again.
    let id = desk.ask_write(&mut proxy, "a.txt", "a");
    approve(&desk.question());
    proxy.answer(&id).good();
    proxy.finish();
    let expected = ["raised", "expired", "raised", "answered by cli"];
    assert_eq!(desk.events("escalation"), expected);
    desk.check_log();
}

#[test]
fn a_call_that_is_taken_back_takes_its_question_back() {
    let mut desk = Desk::new();
    let mut proxy = desk.start();
    let id = desk.ask_write(&mut proxy, "a.txt", "a");
    let question = desk.question();
    let number: u64 = id.parse().unwrap();
    proxy.notify("notifications/cancelled", &json!({"requestId": number}));
    desk.questions(0);
    answer(&question, &APPROVE, Receipt::Expired);
    check_serves(&desk, &mut proxy);
    assert!(proxy.unread().is_empty(), "it was answered");
    proxy.finish();
    assert_eq!(desk.read("a.txt"), None);
    assert_eq!(desk.events("escalation"), ["raised", "withdrawn"]);
}

#[test]
fn a_client_that_goes_away_takes_its_questions_back() {
    let mut desk = Desk::new();
    let mut proxy = desk.start();
    for name in ["a", "b", "c"] {
        desk.ask_write(&mut proxy, name, name);
    }
    let questions = desk.questions(3);
    proxy.finish();
    for question in questions {
        answer(&question, &APPROVE, Receipt::Ended);
    }
    check_nothing_left(&desk, 3);
}

#[test]
fn a_proxy_that_is_told_to_end_takes_its_questions_back() {
    let mut desk = Desk::new();
    let mut proxy = desk.start();
    desk.ask_write(&mut proxy, "a", "a");
    let question = desk.question();
    proxy.signal(rustix::process::Signal::TERM);
    assert_eq!(proxy.end(), 0, "{}", proxy.stderr());
    answer(&question, &APPROVE, Receipt::Ended);
    check_nothing_left(&desk, 1);
}

/// Checks that a session that has ended left no question, no entry, and nothing done.
#[track_caller]
fn check_nothing_left(desk: &Desk, n_questions: usize) {
    assert_eq!(desk.files(), Vec::<String>::new());
    assert!(Registry::of(&desk.home).live().unwrap().sessions.is_empty());
    let entries = std::fs::read_dir(desk.home.registry()).unwrap();
    let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|it| it.starts_with("session-")).count(), 0);
    assert_eq!(std::fs::read_dir(desk.place.path("home/Documents")).unwrap().count(), 0);
    let withdrawn = desk.events("escalation").into_iter().filter(|it| it == "withdrawn");
    assert_eq!(withdrawn.count(), n_questions);
    desk.check_log();
}

#[test]
fn a_proxy_that_is_killed_leaves_questions_that_nobody_sees_and_no_answer_revives() {
    let mut desk = Desk::new();
    let mut proxy = desk.start_with(&["--session", "work"]);
    desk.ask_write(&mut proxy, "a.txt", "a");
    let question = desk.question();
    proxy.kill();
    assert_eq!(desk.pending().len(), 0, "the session does not run");
    // Somebody who has it on the screen answers all the same.
    question.answer(&APPROVE, DecidedBy::Cli, SystemClock.now()).unwrap();
    let mut proxy = desk.start_with(&["--session", "work"]);
    check_serves(&desk, &mut proxy);
    assert_eq!(desk.files(), Vec::<String>::new(), "what was left is gone");
    assert_eq!(desk.read("a.txt"), None);
    // What was asked before is asked anew.
    let id = desk.ask_write(&mut proxy, "a.txt", "a");
    let again = desk.question();
    assert_ne!(again.request().digest, question.request().digest);
    approve(&again);
    proxy.answer(&id).good();
    proxy.finish();
    desk.check_log();
}

/// A second proxy of the same session is refused before it touches the questions of the first.
#[test]
fn a_session_that_runs_keeps_its_questions() {
    let mut desk = Desk::new();
    let mut proxy = desk.start_with(&["--session", "work"]);
    let id = desk.ask_write(&mut proxy, "a.txt", "a");
    let question = desk.question();
    let mut other = Proxy::start(&desk.place, &["--session", "work"]);
    let (_, message) = other
        .request(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "other", "version": "1"}}),
        )
        .error();
    assert!(message.contains("is running already"), "{message}");
    assert_eq!(other.end(), 1);
    approve(&question);
    proxy.answer(&id).good();
    proxy.finish();
}

#[test]
fn only_the_user_sees_the_questions() {
    let mut desk = Desk::new();
    let mut proxy = desk.start();
    desk.ask_write(&mut proxy, "a.txt", "a");
    desk.question();
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let directory = desk.directory();
    assert_eq!(mode(&directory), 0o700);
    for name in desk.files() {
        assert_eq!(mode(&directory.join(&name)), 0o600, "{name}");
    }
    let grants = directory.parent().unwrap().join("grants.json");
    assert_eq!(mode(&grants), 0o600);
    proxy.finish();
}

/// Nothing of a waiting call counts as time that it took, and it holds up nobody.
#[test]
fn a_call_that_waits_holds_up_no_other_not_even_at_a_server_that_takes_them_one_by_one() {
    let mut desk = Desk::new();
    let servers = json!({"filesystem": {"builtin": "filesystem", "serial": true}});
    let servers = desk.place.write("servers.json", servers.to_string());
    let mut proxy = desk.start_with(&["--servers", servers.to_str().unwrap()]);
    let first = desk.ask_write(&mut proxy, "a.txt", "a");
    let second = desk.ask_write(&mut proxy, "b.txt", "b");
    check_serves(&desk, &mut proxy);
    let questions = desk.questions(2);
    check_serves(&desk, &mut proxy);
    for (question, id) in questions.iter().zip([&first, &second]).rev() {
        approve(question);
        proxy.answer(id).good();
    }
    assert_eq!(
        (desk.read("a.txt").unwrap(), desk.read("b.txt").unwrap()),
        ("a".into(), "b".into())
    );
    proxy.finish();
}

#[track_caller]
fn check_serves(desk: &Desk, proxy: &mut Proxy) {
    let list = json!({"path": desk.place.path("home/Documents")});
    proxy.call("filesystem__list_directory", &list).good();
}
