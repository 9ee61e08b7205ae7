//! What keeps a person from being buried in questions, and an approval from being used late.

use std::path::Path;
use std::time::Duration;

use ic_confine::{Confinement, Launcher};
use ic_policy::Decision;
use serde_json::json;

use super::scripted::{Rig, Spec, answered};

/// How many questions a session may ask in a minute.
const QUESTIONS_MAX: usize = 30;
const TOO_MANY: &str = "ESCALATION DENIED: this session made 30 approval requests within a minute";

fn deny_all() -> Spec {
    Spec::new(|question| {
        let at = question.request().created_at;
        Ok(Some(answered(Decision::Denied, question.digest(), at)))
    })
}

/// Each call is another one, and is taken back as soon as somebody could see it.
#[tokio::test]
async fn questions_that_are_asked_and_taken_back_are_not_without_end() {
    let mut rig = Rig::of(Spec::new(|_| Ok(None))).await;
    for n in 0..QUESTIONS_MAX {
        let id = rig.ask(&format!("{n}")).await;
        rig.desk.raised.notified().await;
        rig.cancel(id).await;
    }
    for n in 0..3 {
        let text = rig.write(&format!("more{n}")).await;
        assert!(text.starts_with(TOO_MANY), "{text}");
    }
    assert_eq!(rig.n_asked(), QUESTIONS_MAX);
    let events = rig.end().await;
    assert_eq!(events.iter().filter(|it| *it == "notAsked").count(), 3, "{events:?}");
}

/// More other calls than the circuit breaker remembers do not bring a no back as a question.
#[tokio::test]
async fn a_no_is_not_pushed_out_by_other_calls() {
    let mut rig = Rig::of(deny_all()).await;
    let text = rig.write("a").await;
    assert!(text.starts_with("ESCALATION DENIED: the user denied it"), "{text}");
    for n in 0..4200 {
        let text = rig.write(&format!("other{n}")).await;
        assert!(text.starts_with("ESCALATION DENIED: "), "{text}");
    }
    let text = rig.write("a").await;
    assert!(text.starts_with("ESCALATION DENIED: the user denied this call"), "{text}");
    assert_eq!(rig.n_asked(), QUESTIONS_MAX);
    rig.end().await;
}

#[tokio::test]
async fn another_spelling_of_what_was_denied_is_the_same_question() {
    let mut rig = Rig::of(deny_all()).await;
    rig.write("a").await;
    std::os::unix::fs::symlink("a", rig.link.at("work/link")).unwrap();
    for spelling in ["./a", "b/../a", "//a", "link"] {
        let text = rig.write(spelling).await;
        assert!(text.starts_with("ESCALATION DENIED: the user denied this call"), "{text}");
    }
    rig.write("b").await;
    assert_eq!(rig.n_asked(), 2, "another file is another question");
    rig.end().await;
}

/// A server that takes calls one by one does not come to an end with another one meanwhile.
#[tokio::test]
async fn an_approved_call_does_not_wait_for_its_turn_for_ever() {
    let mut spec = Spec::new(|_| Ok(None));
    (spec.timeout, spec.grace) = (Duration::from_secs(2), Duration::ZERO);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers/recorder.py");
    let directory = tempfile::tempdir().unwrap();
    let cage = json!({"filesystem": {
        "allowRead": [script.parent()], "allowWrite": [directory.path()]}});
    spec.servers = json!({"rec": {"command": crate::proxy::python(), "serial": true,
        "sandbox": cage, "args": ["-S", "-B", script, directory.path()]}});
    // Without one, nobody would start what nobody trusts.
    let place = tempfile::tempdir().unwrap();
    let launcher = Launcher::at(env!("CARGO_BIN_EXE_ironcurtain"));
    spec.confinement = Confinement::Cage(launcher.strongest(place.path()).await.expect("a cage"));
    let mut rig = Rig::of(spec).await;
    let asked = rig.link.call("rec__fail", &json!({})).await;
    rig.desk.raised.notified().await;
    let slow = rig.link.call("rec__slow", &json!({"name": "first"})).await;
    // It runs, and nobody lets it end.
    while !rig.link.hear_any().await.to_string().contains("began first.") {}
    rig.desk.approve_late();
    let answer = rig.link.hear().await;
    assert_eq!(answer["id"], asked);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("ESCALATION EXPIRED: it was approved, but"), "{text}");
    let received = std::fs::read_to_string(directory.path().join("received")).unwrap();
    assert!(received.contains("slow") && !received.contains("fail"), "{received}");
    rig.cancel(slow).await;
    assert_eq!(rig.end().await, ["raised", "answered", "expired"]);
}

#[tokio::test]
async fn a_client_hears_that_a_person_is_asked() {
    let mut rig = Rig::of(Spec::new(|_| Ok(None))).await;
    let id = rig.ask("a").await;
    let told = rig.link.hear_any().await;
    assert_eq!(told["method"], "notifications/progress", "{told}");
    assert_eq!(told["params"]["progressToken"], id);
    let message = told["params"]["message"].as_str().unwrap();
    assert!(message.starts_with("waiting for approval until 2"), "{message}");
    assert!(0.0 < told["params"]["progress"].as_f64().unwrap());
    rig.cancel(id).await;
    rig.end().await;
}
