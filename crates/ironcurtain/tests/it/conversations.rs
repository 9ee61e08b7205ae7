//! Conversations through the real binary: resumed, listed, removed, killed, without room.

mod commands;
mod disks;
mod killed;
mod resumed;

use ic_testkit::{Output, Place};
use serde_json::Value;

use crate::place;

/// A place, and what is kept of the sessions in it.
struct Shelf {
    place: Place,
}

impl Shelf {
    fn new() -> Self {
        Self { place: place() }
    }

    fn run(&self, words: &[&str]) -> Output {
        self.place.run(words)
    }

    /// Runs a command that has to succeed, and returns what it prints.
    #[track_caller]
    fn ok(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert_eq!(output.code, 0, "{words:?}: {output:?}");
        output.stdout
    }

    /// Runs a command that has to fail, and returns what it says.
    #[track_caller]
    fn refused(&self, words: &[&str], code: i32) -> String {
        let output = self.run(words);
        assert_eq!(output.code, code, "{words:?}: {output:?}");
        output.stderr
    }

    /// Returns the list of sessions.
    #[track_caller]
    fn list(&self) -> Vec<Value> {
        serde_json::from_str(&self.ok(&["sessions", "list", "--json"])).unwrap()
    }

    /// Returns what is kept of a session.
    #[track_caller]
    fn export(&self, session: &str) -> Value {
        serde_json::from_str(&self.ok(&["sessions", "export", session])).unwrap()
    }

    /// Returns the messages of a session, as they are written.
    #[track_caller]
    fn messages(&self, session: &str) -> Vec<String> {
        let export = self.export(session);
        export["messages"].as_array().unwrap().iter().map(Value::to_string).collect()
    }

    fn names(&self) -> Vec<String> {
        self.list().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    }
}
