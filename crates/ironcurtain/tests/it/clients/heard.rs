//! What a host and the proxy said to each other, written down by a program between them.
//!
//! It tells what a host did of its own accord: whether it asked for progress, and took a call back. What
//! became of a call is in the log, not here.

use std::path::PathBuf;

use ic_testkit::Place;
use serde_json::Value;

use super::{Way, script};
use crate::proxy::python;

/// The book of one host.
pub(super) struct Heard(PathBuf);

/// How one call went, as its host saw it.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// What the host wants progress to be called, if it wants to hear of any.
    token: Option<Value>,
    /// What it heard of progress before the answer.
    pub(super) progress: Vec<Value>,
    /// The answer, if it did not take the call back before.
    pub(super) result: Option<Value>,
    /// The host took the call back before it had an answer.
    pub(super) is_taken_back: bool,
}

impl Heard {
    pub(super) fn in_place(place: &Place) -> Self {
        Self(place.path("heard.jsonl"))
    }

    /// Returns what a host has to start to be heard on its way to the proxy.
    pub(super) fn command(&self, way: &Way) -> Vec<String> {
        let program =
            [&python(), &script("overhear.py"), &self.0].map(|it| it.display().to_string());
        program.into_iter().chain(way.command.iter().cloned()).collect()
    }

    /// Returns how the last call of `tool` went.
    #[track_caller]
    pub(super) fn course(&self, tool: &str) -> Course {
        let text = std::fs::read_to_string(&self.0).unwrap();
        let said: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let is_call = |it: &Value| it["message"]["params"]["name"] == tool;
        let at = said.iter().rposition(is_call);
        let at = at.unwrap_or_else(|| panic!("{tool} was not called: {text}"));
        let request = &said[at]["message"];
        let token = request["params"]["_meta"].get("progressToken").cloned();
        let mut course = Course { token, ..Course::default() };
        for it in &said[at + 1..] {
            course.hear(it["from"] == "client", &it["message"], &request["id"]);
        }
        course
    }
}

impl Course {
    fn hear(&mut self, is_client: bool, message: &Value, id: &Value) {
        let params = &message["params"];
        if self.result.is_some() || self.is_taken_back {
            return;
        }
        match message["method"].as_str() {
            Some("notifications/cancelled") if is_client => {
                self.is_taken_back = params["requestId"] == *id;
            }
            Some("notifications/progress")
                if self.token.as_ref() == Some(&params["progressToken"]) =>
            {
                self.progress.push(params.clone());
            }
            None if !is_client && message["id"] == *id => {
                self.result = Some(message["result"].clone());
            }
            _ => {}
        }
    }

    /// Returns how far the call was each time the host heard of it.
    pub(super) fn steps(&self) -> Vec<f64> {
        self.progress.iter().filter_map(|it| it["progress"].as_f64()).collect()
    }
}
