//! `ironcurtain start TASK` in a pipe: the offline model does what it was asked, under policy.
//!
//! Nothing waits for a while: tests wait for a line, a question or the end of a process.

mod auto;
mod ends;
pub(crate) mod people;
mod rows;
mod scripted;
mod secrets;
mod seen;
pub(crate) mod started;
mod wanted;

use ic_testkit::{Output, Place};

use crate::place;

/// A place with a directory `work` in it, for an agent to work in.
pub(crate) struct Desk {
    pub(crate) place: Place,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self::at(place())
    }

    pub(crate) fn at(place: Place) -> Self {
        place.dir("work");
        place.dir("home/Documents");
        Self { place }
    }

    fn with(self, files: &[(&str, &str)]) -> Self {
        for (name, text) in files {
            self.place.write(name, text);
        }
        self
    }

    /// Starts a task in `work`.
    fn start(&self, task: &str) -> Output {
        self.start_with(&["--workspace", "work"], task)
    }

    fn start_with(&self, arguments: &[&str], task: &str) -> Output {
        self.place.run([&["start"], arguments, &[task]].concat())
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.place.path(name)).ok()
    }

    /// Returns how many sessions there are.
    fn n_sessions(&self) -> usize {
        self.place.sessions().len()
    }

    /// Checks that all logs are whole.
    #[track_caller]
    pub(crate) fn check_log(&self) {
        let verified = self.place.run(["audit", "verify"]);
        assert_eq!(verified.code, 0, "{verified:?}");
    }

    /// Checks that no session of this home is listed as one that runs.
    #[track_caller]
    pub(crate) fn check_nobody_listed(&self) {
        let listed = std::fs::read_dir(self.place.path("home/.ironcurtain/registry")).unwrap();
        let names = listed.map(|it| it.unwrap().file_name().into_string().unwrap());
        assert_eq!(names.filter(|it| it.starts_with("session-")).count(), 0);
    }
}

/// Checks that a task was answered, and returns the answer.
#[track_caller]
fn answered(output: &Output) -> &str {
    assert_eq!(output.code, 0, "{output:?}");
    &output.stdout
}
