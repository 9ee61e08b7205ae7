//! Real agents, as people install them, with the proxy as their only source of tools; a scripted
//! provider is the model behind them.
//!
//! Each is set up as `docs/clients.md` says, in a home of its own, and reaches nothing but the
//! provider. What it is told to do goes over both ways in: a proxy that it starts, and a socket.

mod changing;
pub(crate) mod guide;
mod setup;
mod stage;

use std::time::Duration;

use serde_json::{Value, json};

use super::{Packages, SLOW, Way};
use ic_testkit::Caller;
use setup::Agent;
use stage::Stage;

/// As long as the guide says, so that a person has time to answer.
const LONG: Duration = Duration::from_mins(10);

/// With these words each of them tells its model that it gave up a call.
const GIVEN_UP: &str = "timed out";

#[test]
fn claude_code_works_through_the_proxy() {
    works(Agent::ClaudeCode);
}

#[test]
fn codex_works_through_the_proxy() {
    works(Agent::Codex);
}

#[test]
fn opencode_works_through_the_proxy() {
    works(Agent::OpenCode);
}

#[test]
fn claude_code_gives_up_what_takes_too_long() {
    gives_up(Agent::ClaudeCode);
}

#[test]
fn codex_gives_up_what_takes_too_long() {
    gives_up(Agent::Codex);
}

#[test]
fn opencode_gives_up_what_takes_too_long() {
    gives_up(Agent::OpenCode);
}

#[test]
fn claude_code_takes_its_question_along() {
    vanishes(Agent::ClaudeCode);
}

#[test]
fn codex_takes_its_question_along() {
    vanishes(Agent::Codex);
}

#[test]
fn opencode_takes_its_question_along() {
    vanishes(Agent::OpenCode);
}

/// Our servers and public ones are called, one call is denied, a person says yes to one and no to another,
/// one tells how far it is: the model hears each answer.
fn works(agent: Agent) {
    let Some(packages) = Packages::find() else { return };
    for (name, open) in Way::each() {
        let Some(stage) = Stage::set(agent, &packages, name) else { return };
        let way = open(&stage.place);
        let (note, key) = (stage.path("sandbox/note.txt"), stage.path("home/.ssh/id_ed25519"));
        let steps = [
            ("filesystem__read_text_file", json!({"path": note}), "a note"),
            ("everything__get-sum", json!({"a": 2, "b": 3}), "The sum of 2 and 3 is 5."),
            ("public__read_text_file", json!({"path": key}), "is protected"),
            ("filesystem__list_directory", json!({"path": stage.path("elsewhere")}), "found.txt"),
            (
                "public__list_directory",
                json!({"path": stage.path("elsewhere")}),
                "the user denied it",
            ),
            ("git__git_status", json!({"path": stage.path("sandbox")}), "untracked"),
            ("memory__read_graph", json!({}), "entities"),
            (SLOW, json!({"duration": 0.3, "steps": 3}), "Long running operation completed"),
        ];
        let provider = stage.provider(steps.iter().map(|(tool, input, _)| (*tool, input)));
        let mut running = stage.start(&provider, &way, LONG);
        for (server, word) in [("filesystem", "approve"), ("public", "deny")] {
            let asked = running.question();
            assert_eq!(asked["server"], server, "{stage}: {asked}");
            stage.person().answer(word, &asked);
        }
        running.finish();
        way.end();

        stage.check_heard_by_the_model(&provider, &steps);
        stage.check_has_no_tools_of_its_own(&provider);
        let asking = stage.heard().course("filesystem__list_directory");
        let words = asking.progress.first().map(|it| it["message"].to_string());
        assert!(words.is_some_and(|it| it.contains("waiting for approval")), "{stage}: {asking:?}");
        let slow = stage.heard().course(SLOW);
        assert_eq!(slow.steps(), [1.0, 2.0, 3.0], "{stage}: {slow:?}");
        let expected = [
            "filesystem read_text_file allow policy",
            "everything get-sum allow policy",
            "public read_text_file deny policy",
            "filesystem list_directory escalate policy",
            "filesystem list_directory allow cli",
            "public list_directory escalate policy",
            "git git_status allow policy",
            "memory read_graph allow policy",
            "everything trigger-long-running-operation allow policy",
        ];
        assert_eq!(stage.intents(), expected, "{stage}");
        stage.check_log();
    }
}

/// A server that is too slow and a person who does not answer: the agent takes both calls back, nothing
/// of them goes on behind its back, and its next call is served.
fn gives_up(agent: Agent) {
    let Some(packages) = Packages::find() else { return };
    for (name, open) in Way::each() {
        let Some(stage) = Stage::set(agent, &packages, name) else { return };
        let way = open(&stage.place);
        let steps = [
            (SLOW, json!({"duration": 300, "steps": 1}), GIVEN_UP),
            ("public__list_directory", json!({"path": stage.path("elsewhere")}), GIVEN_UP),
            ("everything__get-sum", json!({"a": 2, "b": 3}), "The sum of 2 and 3 is 5."),
        ];
        let provider = stage.provider(steps.iter().map(|(tool, input, _)| (*tool, input)));
        let mut running = stage.start(&provider, &way, agent.call_max_at_least());
        let asked = running.question();
        assert_eq!(asked["tool"], "list_directory", "{stage}: {asked}");
        stage.until_withdrawn();
        running.finish();
        way.end();

        stage.check_heard_by_the_model(&provider, &steps);
        for tool in [SLOW, "public__list_directory"] {
            let course = stage.heard().course(tool);
            assert!(course.is_taken_back, "{stage}: {tool}: {course:?}");
        }
        let is_slow = |it: &Value| it["tool"] == "trigger-long-running-operation";
        let outcome = stage.records("outcome").into_iter().find(is_slow);
        let reason = outcome.as_ref().and_then(|it| it["reason"].as_str()).unwrap_or_default();
        assert!(reason.contains("cancelled"), "{stage}: {outcome:?}");
        let expected = [
            "everything trigger-long-running-operation allow policy",
            "public list_directory escalate policy",
            "everything get-sum allow policy",
        ];
        assert_eq!(stage.intents(), expected, "{stage}: nothing was sent after it");
        stage.check_log();
    }
}

/// An agent that is killed while a person is asked takes the question along; others on its socket go on.
fn vanishes(agent: Agent) {
    let Some(packages) = Packages::find() else { return };
    for (name, open) in Way::each() {
        let Some(stage) = Stage::set(agent, &packages, name) else { return };
        let way = open(&stage.place);
        let other =
            way.proxy.is_some().then(|| Caller::begin(&super::socket(&stage.place), "other"));
        let steps = [
            ("everything__echo", json!({"message": "still here"})),
            ("public__list_directory", json!({"path": stage.path("elsewhere")})),
        ];
        let provider = stage.provider(steps.iter().map(|(tool, input)| (*tool, input)));
        let mut running = stage.start(&provider, &way, LONG);
        running.question();
        let last = provider.requests().pop().unwrap().body.to_string();
        assert!(last.contains("Echo: still here"), "{stage}: {last}");
        running.kill();
        stage.until_withdrawn();
        if let Some(mut other) = other {
            let note = json!({"path": stage.path("sandbox/note.txt")});
            assert_eq!(other.call("public__read_text_file", &note).good(), "a note\n", "{stage}");
        }
        way.end();
        stage.check_log();
    }
}
