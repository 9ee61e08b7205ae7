//! Calls that wait for a person who is elsewhere.

use ic_escalation::{Board, Pending, Presence, Registry, Reply};
use ic_home::{Clock as _, Home, SystemClock};
use ic_policy::DecidedBy;
use ic_types::AbsolutePath;
use rustix::process::Signal;

use super::Desk;
use super::started::Started;
use crate::proxy::until;

impl Desk {
    fn home(&self) -> Home {
        let home = Home::new(AbsolutePath::new(self.place.path("home/.ironcurtain")).unwrap());
        home.prepare().unwrap();
        home
    }

    /// Starts a task that writes a document, which needs a person.
    fn start_writing(&self, arguments: &[&str]) -> Started {
        let path = self.place.path("home/Documents/a.txt");
        let task = format!("write \"approved\" to {}", path.display());
        Started::new(&self.place, &[&["start"], arguments, &[&task]].concat())
    }

    /// Waits for the only question.
    pub(crate) fn question(&self) -> Pending {
        let home = self.home();
        let mut pending = Vec::new();
        until("a question", || {
            let sessions = Registry::of(&home).live().unwrap().sessions;
            pending = Board::default().look(&sessions, SystemClock.now()).pending;
            pending.len() == 1
        });
        pending.remove(0)
    }
}

pub(crate) fn answer(pending: &Pending, reply: &Reply) {
    pending.answer(reply, DecidedBy::Cli, SystemClock.now()).unwrap();
}

#[test]
fn a_task_that_waits_is_answered_from_elsewhere() {
    for (reply, code, is_written, said) in [
        (Reply::Approve(None), 0, true, "✓ approved filesystem.write_file"),
        (Reply::Deny, 0, false, "✗ refused  filesystem.write_file"),
    ] {
        let desk = Desk::new();
        let mut started = desk.start_writing(&["--wait"]);
        let line = started.expect("A call is waiting for approval; ");
        let question = desk.question();
        let id = &question.request().escalation;
        assert!(line.contains(&format!("`ironcurtain approvals show {id}` shows it")), "{line}");
        answer(&question, &reply);
        let output = started.end();
        assert_eq!(output.code, code, "{output:?}");
        assert!(output.stderr.contains(said), "{output:?}");
        assert_eq!(desk.read("home/Documents/a.txt").is_some(), is_written);
        desk.check_log();
        desk.check_nobody_listed();
    }
}

#[test]
fn somebody_at_a_desk_is_waited_for() {
    let desk = Desk::new();
    let presence = Presence::take(&desk.home()).unwrap();
    let started = desk.start_writing(&[]);
    answer(&desk.question(), &Reply::Approve(None));
    let output = started.end();
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stderr.contains("approvals: an approver is connected"), "{output:?}");
    assert_eq!(desk.read("home/Documents/a.txt").unwrap(), "approved");
    drop(presence);
}

#[test]
fn a_question_that_nobody_answers_in_time_is_three() {
    let desk = Desk::new();
    assert_eq!(desk.place.run(["config", "set", "escalationTimeoutSeconds", "1"]).code, 0);
    let output = desk.start_writing(&["--wait"]).end();
    assert_eq!(output.code, 3, "{output:?}");
    assert!(output.stdout.contains("ESCALATION EXPIRED: no answer within 1 s"), "{output:?}");
    assert_eq!(desk.read("home/Documents/a.txt"), None);
    desk.check_log();
}

#[test]
fn a_task_that_is_interrupted_takes_its_question_back() {
    let desk = Desk::new();
    let started = desk.start_writing(&["--wait"]);
    let question = desk.question();
    started.send(Signal::INT);
    let output = started.end();
    assert_eq!(output.code, 130, "{output:?}");
    let told = question.answer(&Reply::Approve(None), DecidedBy::Cli, SystemClock.now()).unwrap();
    assert_eq!(told.receipt, ic_escalation::Receipt::Ended);
    assert_eq!(desk.read("home/Documents/a.txt"), None);
    desk.check_log();
    desk.check_nobody_listed();
}
