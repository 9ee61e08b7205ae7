//! Somebody at another terminal, who is asked and answers there.

use ic_testkit::Place;
use serde_json::Value;

/// A person who may answer with a command.
pub(super) struct Person<'a>(&'a Place);

impl<'a> Person<'a> {
    pub(super) fn of(place: &'a Place) -> Self {
        place.let_scripts_answer();
        Self(place)
    }

    /// Returns what is asked now.
    pub(super) fn questions(&self) -> Vec<Value> {
        let listed = self.0.run(["approvals", "list", "--json"]);
        assert_eq!(listed.code, 0, "{listed:?}");
        serde_json::from_str(&listed.stdout).unwrap()
    }

    pub(super) fn answer(&self, word: &str, question: &Value) {
        let id = question["escalationId"].as_str().unwrap();
        let answered = self.0.run(["approvals", word, id]);
        assert_eq!(answered.code, 0, "{answered:?}");
    }
}
