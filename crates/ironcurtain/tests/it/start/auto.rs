//! The auto-approver: what the task itself asks for goes ahead without a question, if that is switched on.

use ic_testkit::provider::{Format, KEY, Reply, Said};
use ic_testkit::{Output, ScriptedProvider};
use serde_json::Value;

use super::Desk;
use crate::place;

impl Desk {
    fn set(&self, key: &str, value: &str) {
        let output = self.place.run(["config", "set", key, value]);
        assert_eq!(output.code, 0, "{output:?}");
    }

    fn document(&self) -> String {
        self.place.path("home/Documents/a.txt").display().to_string()
    }

    fn log(&self) -> Vec<Value> {
        let session = self.place.sessions().pop().unwrap();
        let log = std::fs::read_to_string(session.join("audit.jsonl")).unwrap();
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn events<'a>(log: &'a [Value], name: &str) -> Vec<&'a Value> {
    log.iter().filter(|it| it["arguments"]["event"] == name).collect()
}

fn is_approved(output: &Output) -> bool {
    output.stderr.contains("approved automatically")
}

#[test]
fn it_is_off_until_it_is_switched_on() {
    let desk = Desk::new();
    let task = format!("write \"text\" to {}", desk.document());
    let output = desk.start(&task);
    assert_eq!((output.code, is_approved(&output)), (3, false), "{output:?}");
    assert_eq!(desk.read("home/Documents/a.txt"), None);
    // The message is noted all the same.
    let session = desk.place.sessions().pop().unwrap();
    let noted = std::fs::read_to_string(session.join("user-context.json")).unwrap();
    let noted: Value = serde_json::from_str(&noted).unwrap();
    assert_eq!((&noted["message"], &noted["source"]), (&Value::from(task), &Value::from("typed")));
    assert!(noted["at"].is_string());
}

#[test]
fn a_literal_request_needs_no_question_and_no_model() {
    let desk = Desk::new();
    desk.set("autoApprove.literal", "true");
    let task = format!("write \"text\" to {}", desk.document());
    let output = desk.start(&task);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stderr.contains("auto-approver: on (literal requests only)"), "{output:?}");
    assert!(
        output
            .stderr
            .contains("approved automatically (literal): filesystem.write_file, because you wrote"),
        "{output:?}"
    );
    assert_eq!(desk.read("home/Documents/a.txt").as_deref(), Some("text"));
    let log = desk.log();
    let answered = events(&log, "answered");
    assert_eq!(answered.len(), 1);
    assert_eq!(answered[0]["decidedBy"], "auto");
    assert_eq!(answered[0]["arguments"]["words"], task);
    assert!(log.iter().any(|it| it["kind"] == "intent" && it["decidedBy"] == "auto"));
    desk.check_log();
}

#[test]
fn anything_more_in_the_message_asks() {
    let desk = Desk::new();
    desk.set("autoApprove.literal", "true");
    let document = desk.document();
    for task in [
        format!("please write \"text\" to {document}"),
        format!("write \"text\" to {document} and show {document}"),
        format!("write \"text\" to {document}\n") + "show it",
    ] {
        let output = desk.start(&task);
        assert!(!is_approved(&output), "{output:?}");
        assert_eq!(desk.read("home/Documents/a.txt"), None, "{task}");
        let log = desk.log();
        // The offline model may not understand it either, and then there is no call.
        let asked = events(&log, "notAutoApproved");
        assert!(asked.iter().all(|it| it["reason"].is_string()), "{log:?}");
    }
}

/// What comes down a pipe was written by nobody that we know.
#[test]
fn a_pipe_is_nobodys_own_words() {
    let desk = Desk::new();
    desk.set("autoApprove.literal", "true");
    let task = format!("write \"text\" to {}\n", desk.document());
    let output = desk.place.run_with_input(["start", "--workspace", "work"], task.as_bytes());
    assert!(!is_approved(&output), "{output:?}");
    assert_eq!(desk.read("home/Documents/a.txt"), None);
}

fn with_model(answer: &str) -> (Desk, ScriptedProvider) {
    let provider = ScriptedProvider::start([Reply::Says(Said::text(answer))]);
    let place = place()
        .with_variable("ANTHROPIC_BASE_URL", &provider.url())
        .with_variable("ANTHROPIC_API_KEY", KEY);
    let desk = Desk::at(place).with(&[("home/Documents/a.txt", "old")]);
    desk.set("autoApprove.enabled", "true");
    desk.set("fastModelId", "anthropic:claude-sonnet-4-6");
    (desk, provider)
}

#[test]
fn the_fast_model_has_the_last_word_and_only_yes_is_one() {
    for (answer, is_yes) in [("ASKED", true), ("UNSURE", false), ("Yes, go on", false)] {
        let (desk, provider) = with_model(answer);
        let task = format!("delete the file {}", desk.document());
        let output = desk.start_with(&["--workspace", "work", "--model", "offline"], &task);
        assert_eq!(is_approved(&output), is_yes, "{answer}: {output:?}");
        assert_eq!(desk.read("home/Documents/a.txt").is_none(), is_yes, "{answer}");
        let requests = provider.requests();
        assert_eq!(requests.len(), 1);
        assert_eq!(requests[0].format, Format::Anthropic);
        assert!(requests[0].body.get("tools").is_none(), "{requests:?}");
        desk.check_log();
    }
}

#[test]
fn what_the_code_doubts_never_reaches_the_model() {
    let (desk, provider) = with_model("ASKED");
    let task = format!("delete the file {}; no, wait", desk.document());
    let output = desk.start_with(&["--workspace", "work", "--model", "offline"], &task);
    assert!(!is_approved(&output), "{output:?}");
    assert_eq!(provider.requests().len(), 0);
    assert_eq!(desk.read("home/Documents/a.txt").as_deref(), Some("old"));
}
