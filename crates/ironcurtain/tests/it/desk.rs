//! Calls that wait for a person: the real proxy asks, and this process answers as a person's programs
//! do, with the library that they use.
//!
//! The policy is the built-in one, under which Documents is read, and changing it needs a person; the
//! servers are confined. Nothing waits for a while: tests wait for a question, a message or an end.

mod answers;
mod called;
mod callers;
mod ends;
mod forgeries;
mod grants;
mod limits;
mod many;
mod nobody;
mod own_rules;
mod petitions;
mod plans;
mod scripted;
mod suggesting;

use std::path::PathBuf;

use ic_escalation::{Board, Pending, Presence, Receipt, Registry, Reply};
use ic_home::{Clock as _, Home, SystemClock};
use ic_policy::{DecidedBy, Decision};
use ic_testkit::proxy::{Message, records};
use ic_testkit::{Place, Proxy};
use ic_types::AbsolutePath;
use serde_json::{Value, json};

use crate::place;
use crate::proxy::until;

/// A place with a home, and somebody at the desk.
struct Desk {
    place: Place,
    home: Home,
    board: Board,
    presence: Option<Presence>,
}

impl Desk {
    /// A desk at which somebody is.
    fn new() -> Self {
        let mut desk = Self::empty();
        desk.presence = Some(Presence::take(&desk.home).unwrap());
        desk
    }

    /// A desk at which nobody is.
    fn empty() -> Self {
        Self::at(place())
    }

    fn at(place: Place) -> Self {
        place.dir("home/Documents");
        let home = Home::new(AbsolutePath::new(place.path("home/.ironcurtain")).unwrap());
        home.prepare().unwrap();
        Self { place, home, board: Board::default(), presence: None }
    }

    fn timeout(self, seconds: u64) -> Self {
        let words = ["config", "set", "escalationTimeoutSeconds", &seconds.to_string()];
        assert_eq!(self.place.run(words).code, 0);
        self
    }

    fn start(&self) -> Proxy {
        self.start_with(&[])
    }

    fn start_with(&self, arguments: &[&str]) -> Proxy {
        let mut proxy = Proxy::start(&self.place, arguments);
        proxy.initialize();
        proxy
    }

    /// Returns a path in Documents.
    fn path(&self, name: &str) -> String {
        self.place.path("home/Documents").join(name).to_str().unwrap().to_owned()
    }

    fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path(name)).ok()
    }

    fn write_call(&self, name: &str, content: &str) -> Value {
        json!({"path": self.path(name), "content": content})
    }

    /// Asks for a file in Documents to be written, which needs a person.
    fn ask_write(&self, proxy: &mut Proxy, name: &str, content: &str) -> String {
        proxy.ask_call("filesystem__write_file", &self.write_call(name, content))
    }

    /// Returns the questions that wait, in order.
    fn pending(&mut self) -> Vec<Pending> {
        let live = Registry::of(&self.home).live().unwrap();
        assert!(live.unreadable.is_empty(), "{:?}", live.unreadable);
        let waiters = self.board.look(&live.sessions, SystemClock.now());
        assert!(waiters.unreadable.is_empty(), "{:?}", waiters.unreadable);
        waiters.pending
    }

    /// Waits until so many questions wait.
    #[track_caller]
    fn questions(&mut self, n_questions: usize) -> Vec<Pending> {
        let mut pending = Vec::new();
        until(&format!("{n_questions} questions"), || {
            pending = self.pending();
            pending.len() == n_questions
        });
        pending
    }

    /// Waits until one question waits.
    #[track_caller]
    fn question(&mut self) -> Pending {
        self.questions(1).remove(0)
    }

    /// Returns the directory with the questions of the only session.
    fn directory(&self) -> PathBuf {
        self.place.sessions().remove(0).join("escalations")
    }

    /// Returns the names of the files in it.
    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory()).unwrap();
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Returns the records of a kind, as what happened and who decided.
    fn events(&self, kind: &str) -> Vec<String> {
        let of_kind = records(&self.place).into_iter().filter(|it| it["kind"] == kind);
        let event = |it: Value| {
            let name = it["arguments"]["event"].as_str().unwrap().to_owned();
            match it["decidedBy"].as_str() {
                Some(by) => format!("{name} by {by}"),
                None => name,
            }
        };
        of_kind.map(event).collect()
    }

    /// Returns the records of calls, as their verdict and who decided.
    fn intents(&self) -> Vec<String> {
        let of_kind = records(&self.place).into_iter().filter(|it| it["kind"] == "intent");
        let text = |it: &Value, key: &str| it[key].as_str().unwrap_or("nobody").to_owned();
        of_kind
            .map(|it| format!("{} by {}", text(&it, "verdict"), text(&it, "decidedBy")))
            .collect()
    }

    #[track_caller]
    fn check_log(&self) {
        let verified = self.place.run(["audit", "verify"]);
        assert_eq!(verified.code, 0, "{verified:?}");
    }
}

#[track_caller]
fn approve(question: &Pending) {
    answer(question, &Reply::Approve(None), Receipt::Accepted(Decision::Approved));
}

#[track_caller]
fn deny(question: &Pending) {
    answer(question, &Reply::Deny, Receipt::Accepted(Decision::Denied));
}

#[track_caller]
fn answer(question: &Pending, reply: &Reply, expected: Receipt) {
    let told = question.answer(reply, DecidedBy::Cli, SystemClock.now()).unwrap();
    assert_eq!(told.receipt, expected);
}

/// Returns what a refusal says to programs.
#[track_caller]
fn details(answer: &Message) -> Value {
    answer.result()["structuredContent"]["ironcurtain"].clone()
}
