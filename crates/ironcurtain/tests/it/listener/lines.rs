//! `--plain` and `--json`: line by line.

use std::io::{BufRead as _, BufReader};

use ic_escalation::is_anybody_there;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::approvals::world::Rig;

#[test]
fn plain_lines_tell_sessions_and_take_answers() {
    let rig = Rig::new();
    let mut terminal = rig.at_terminal(&["listen", "--plain"]);
    terminal.expect("You are an approver");
    assert!(is_anybody_there(&rig.home).unwrap());
    let work = rig.session("work");
    terminal.expect("session work started: claude-code: interactive");
    let first = work.ask("/d/a.txt", "hello");
    terminal.expect("#1 work: filesystem wants to call write_file").expect("(then Enter)");
    terminal.type_in("y\n").expect("Escalation approved.");
    assert_eq!(rig.summary(first), "Approved by listener");
    let second = work.ask("/d/b.txt", "hello");
    terminal.expect("(then Enter)").type_in("/deny 2\n").expect("Escalation denied.");
    assert_eq!(rig.summary(second), "Denied by listener");
    rig.close(work);
    terminal.expect("session work ended").type_in("/quit\n");
    let ended = terminal.end();
    assert_eq!(ended.code, 0);
    assert!(!ended.stdout.contains("\x1b[?1049h"), "no screen of its own");
}

#[test]
fn json_events_answer_nothing() {
    let rig = Rig::new();
    let mut child = rig.place.command(["listen", "--json"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut event = move || -> Value {
        serde_json::from_str(&lines.next().expect("an event").unwrap()).unwrap()
    };
    let work = rig.session("work");
    let started = event();
    assert_eq!(
        (&started["event"], &started["session"]),
        (&"session-started".into(), &"work".into())
    );
    assert!(!is_anybody_there(&rig.home).unwrap(), "who only listens does not answer");
    let asked = work.ask("/d/a.txt", "hello");
    let told = event();
    assert_eq!((&told["event"], &told["number"]), (&"asked".into(), &1.into()));
    rig.answer_elsewhere(&asked, &ic_escalation::Reply::Deny);
    let ended = event();
    assert_eq!((&ended["event"], &ended["ending"]), (&"ended".into(), &"denied".into()));
    rig.close(work);
    assert_eq!(event()["event"], "session-ended");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
