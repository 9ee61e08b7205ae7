//! The inspector's command line, which makes one call each time it is started.

use std::process::{Child, Command, Output, Stdio};

use ic_testkit::Place;
use ic_testkit::proxy::records;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::heard::Heard;
use super::person::Person;
use super::{Packages, SLOW, Way, place_with_servers};
use crate::proxy::until;

#[test]
fn the_inspector_lists_and_calls_through_the_proxy() {
    let Some(packages) = Packages::find() else { return };
    for (name, open) in Way::each() {
        let place = place_with_servers(&packages);
        let way = open(&place);
        let inspector = Inspector { packages: &packages, place: &place, way: &way, name };
        inspector.lists();
        inspector.gets_each_answer();
        inspector.is_told_what_a_person_says();
        inspector.hears_of_progress();
        inspector.is_interrupted();
        way.end();
        let verified = place.run(["audit", "verify"]);
        assert_eq!(verified.code, 0, "{name}: {verified:?}");
    }
}

struct Inspector<'a> {
    packages: &'a Packages,
    place: &'a Place,
    way: &'a Way,
    name: &'a str,
}

impl Inspector<'_> {
    fn lists(&self) {
        let (code, listed) = ended(self.start(&["--method", "tools/list"]));
        assert_eq!(code, Some(0), "{}: {listed}", self.name);
        assert!(listed.contains("filesystem__read_text_file"), "{}: {listed}", self.name);
    }

    fn gets_each_answer(&self) {
        let path = |name: &str| json!({"path": self.place.path(name)});
        let note = path("sandbox/note.txt");
        // A result that is an error has a code of its own, and is no failure of the call.
        for (tool, arguments, code, expected) in [
            ("filesystem__read_text_file", note.clone(), 0, "a note"),
            ("public__read_text_file", note, 0, "a note"),
            ("everything__echo", json!({"message": "hi"}), 0, "Echo: hi"),
            ("public__read_text_file", path("home/.ssh/id_ed25519"), 5, "DENIED: "),
            ("git__git_status", path("sandbox"), 0, "note.txt"),
            ("memory__read_graph", json!({}), 0, "entities"),
        ] {
            let (status, answer) = ended(self.call(tool, &arguments));
            assert_eq!(status, Some(code), "{}: {tool}: {answer}", self.name);
            assert!(answer.contains(expected), "{}: {tool}: {answer}", self.name);
        }
    }

    fn is_told_what_a_person_says(&self) {
        let person = Person::of(self.place);
        let arguments = json!({"path": self.place.path("elsewhere")});
        for (tool, word, code, expected) in [
            ("filesystem__list_directory", "approve", 0, "found.txt"),
            ("public__list_directory", "deny", 5, "ESCALATION DENIED: "),
        ] {
            let child = self.call(tool, &arguments);
            until("a person is asked", || !person.questions().is_empty());
            person.answer(word, &person.questions().pop().unwrap());
            let (status, answer) = ended(child);
            assert_eq!(status, Some(code), "{}: {tool}: {answer}", self.name);
            assert!(answer.contains(expected), "{}: {tool}: {answer}", self.name);
        }
    }

    /// By itself it does not ask for progress, and then hears of none.
    fn hears_of_progress(&self) {
        let quick = json!({"duration": 0.3, "steps": 3}).to_string();
        let call = ["--method", "tools/call", "--tool-name", SLOW, "--tool-args-json", &quick];
        for (more, expected) in [
            (&[][..], &[][..]),
            (&["--tool-metadata", "progressToken=inspector"], &[1.0, 2.0, 3.0]),
        ] {
            let (code, answer) = ended(self.start(&[&call[..], more].concat()));
            assert_eq!(code, Some(0), "{}: {answer}", self.name);
            assert!(answer.contains("Long running operation completed"), "{}: {answer}", self.name);
            let course = Heard::in_place(self.place).course(SLOW);
            assert_eq!(course.steps(), expected, "{}: {course:?}", self.name);
        }
    }

    /// It has no way to take a call back but to be interrupted, with which its call ends too.
    fn is_interrupted(&self) {
        let child = self.call(SLOW, &json!({"duration": 300, "steps": 300}));
        let of_slow = |kind: &str| {
            let is_it =
                |it: &Value| it["tool"] == "trigger-long-running-operation" && it["kind"] == kind;
            records(self.place).into_iter().filter(is_it).collect::<Vec<Value>>()
        };
        until("the call runs", || of_slow("intent").len() == 3);
        let pid = Pid::from_child(&child);
        kill_process(pid, Signal::INT).unwrap();
        ended(child);
        until("the call has ended", || of_slow("outcome").len() == 3);
        let last = of_slow("outcome").pop().unwrap();
        let reason = last["reason"].as_str().unwrap_or_default();
        assert!(reason.contains("cancelled"), "{}: {last}", self.name);
    }

    fn call(&self, tool: &str, arguments: &Value) -> Child {
        let arguments = arguments.to_string();
        self.start(&["--method", "tools/call", "--tool-name", tool, "--tool-args-json", &arguments])
    }

    fn start(&self, arguments: &[&str]) -> Child {
        Command::new(self.packages.node())
            .arg(self.packages.module("inspector/clients/launcher/build/index.js"))
            .args(["--cli", "-q", "--format", "json"])
            .args(Heard::in_place(self.place).command(self.way))
            .args(arguments)
            .env("HOME", self.place.path("home"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }
}

/// Returns the code with which the inspector ended, and what it wrote.
fn ended(child: Child) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (status.code(), text(&stdout) + &text(&stderr))
}
