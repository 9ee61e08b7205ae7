//! Turns that are cut: by a person, by the model, by whatever; and what is kept of them.

use ic_agent::{SavePoint, TurnError};
use ic_model::{ModelError, Usage};
use ic_testkit::Line;
use tokio_util::sync::CancellationToken;

use crate::rig::{Rig, notes};

fn echo(id: &str) -> Line {
    Line::uses(&[(id, "echo", &format!(r#"{{"text":"{id}"}}"#))])
}

const CUT: &str =
    "Cut before it finished; what it had done until then is done. Check before you go on.";
const NOT_RUN: &str = "Not run: the turn was cut before it.";

#[tokio::test(start_paused = true)]
async fn cancelled_before_it_began() {
    let mut rig = Rig::new([Line::says("never")]);
    rig.cancel.cancel();
    assert_eq!(rig.turn("go").await, Err(TurnError::Cancelled));
    assert!(rig.history().is_empty() && rig.model.asked().is_empty());
    assert_eq!(rig.saves(), [SavePoint::UserMessage, SavePoint::Cut]);
}

#[tokio::test(start_paused = true)]
async fn cancelled_while_the_model_speaks() {
    let mut rig = Rig::new([Line::says("earlier"), Line::Hangs("half a".into())]);
    rig.turn("first").await.unwrap();
    let before = rig.history();
    assert_eq!(rig.cancelled_turn("go").await, Err(TurnError::Cancelled));
    assert_eq!(rig.history(), before, "no step had finished");
}

/// The provider counted it before anybody cancelled, and so do we.
#[tokio::test(start_paused = true)]
async fn what_was_counted_before_a_cancel_counts() {
    let counted = Usage { prompt: 900, completion: 7, cached: 300, cache_written: 0 };
    let mut rig = Rig::new([Line::Counts(counted)]);
    assert_eq!(rig.cancelled_turn("go").await, Err(TurnError::Cancelled));
    let spent = rig.agent.meter().snapshot();
    assert_eq!(spent.usage, counted);
    assert!(rig.history().is_empty(), "no step had finished");
}

#[tokio::test(start_paused = true)]
async fn cancelled_while_the_model_speaks_after_a_step() {
    let mut rig = Rig::new([echo("1"), Line::Hangs("half a".into())]);
    assert_eq!(rig.cancelled_turn("go").await, Err(TurnError::Cancelled));
    assert_eq!(rig.history(), ["U: go", "A: use 1", "U: 1=1 | (note)"]);
    let messages = rig.agent.history().messages();
    assert_eq!(
        notes(&messages[2]),
        [
            "The previous turn was cut before it was answered: the turn was cancelled. Its steps above happened."
        ]
    );
    // The next turn goes on from there.
    rig.cancel = CancellationToken::new();
    rig.model.push([Line::says("ok")]);
    rig.turn("go on").await.unwrap();
    assert_eq!(rig.history()[2..], ["U: 1=1 | (note) | go on", "A: ok"]);
}

#[tokio::test(start_paused = true)]
async fn cancelled_while_the_first_tool_runs() {
    let mut rig = Rig::new([Line::uses(&[("1", "hang", "{}"), ("2", "echo", "{}")])]);
    assert_eq!(rig.cancelled_turn("go").await, Err(TurnError::Cancelled));
    assert_eq!(rig.ran(), ["hang"]);
    assert!(rig.history().is_empty(), "no step had finished");
    assert_eq!(rig.saves().last(), Some(&SavePoint::Cut));
}

#[tokio::test(start_paused = true)]
async fn cancelled_while_a_later_tool_runs() {
    let uses = [("1", "quiet", "{}"), ("2", "hang", "{}"), ("3", "echo", "{}")];
    let mut rig = Rig::new([Line::uses(&uses)]);
    assert_eq!(rig.cancelled_turn("go").await, Err(TurnError::Cancelled));
    let results = format!("U: 1=(no output) | 2={CUT} | 3={NOT_RUN} | (note)");
    assert_eq!(rig.history(), ["U: go", "A: use 1 | use 2 | use 3", &results]);
    assert_eq!(rig.ran(), ["quiet", "hang"]);
}

#[tokio::test(start_paused = true)]
async fn cancelled_in_a_later_step() {
    let mut rig = Rig::new([echo("1"), Line::uses(&[("2", "hang", "{}")])]);
    assert_eq!(rig.cancelled_turn("go").await, Err(TurnError::Cancelled));
    let result = format!("U: 2={CUT} | (note)");
    assert_eq!(rig.history(), ["U: go", "A: use 1", "U: 1=1", "A: use 2", &result]);
}

#[tokio::test(start_paused = true)]
async fn cancelled_between_two_tools() {
    let mut rig = Rig::new([Line::uses(&[("1", "stop", "{}"), ("2", "echo", "{}")])]);
    assert_eq!(rig.turn("go").await, Err(TurnError::Cancelled));
    let results = format!("U: 1=stopped | 2={NOT_RUN} | (note)");
    assert_eq!(rig.history(), ["U: go", "A: use 1 | use 2", &results]);
}

#[tokio::test(start_paused = true)]
async fn cancelled_between_two_steps() {
    let mut rig = Rig::new([Line::uses(&[("1", "stop", "{}")]), Line::says("never")]);
    assert_eq!(rig.turn("go").await, Err(TurnError::Cancelled));
    assert_eq!(rig.history(), ["U: go", "A: use 1", "U: 1=stopped | (note)"]);
    assert_eq!(rig.model.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_finishes_when_it_is_cancelled_has_finished() {
    let mut rig = Rig::new([Line::uses(&[("1", "late", "{}")])]);
    assert_eq!(rig.cancelled_turn("go").await, Err(TurnError::Cancelled));
    assert_eq!(rig.history(), ["U: go", "A: use 1", "U: 1=late | (note)"]);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_tool_that_does_not_end() {
    let mut rig = Rig::new([echo("1"), Line::uses(&[("2", "stubborn", "{}")])]);
    let began = tokio::time::Instant::now();
    assert_eq!(rig.cancelled_turn("go").await, Err(TurnError::Cancelled));
    assert_eq!(began.elapsed().as_secs(), 5);
    assert!(rig.history()[4].contains(CUT));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_fails_at_once_leaves_no_trace() {
    for error in [
        ModelError::ContextExceeded,
        ModelError::Overloaded,
        ModelError::Network("reset".into()),
        ModelError::RateLimited { retry_after: None },
    ] {
        let mut rig = Rig::new([Line::Fails(error.clone())]);
        assert_eq!(rig.turn("go").await, Err(TurnError::Model(error)));
        assert!(rig.history().is_empty());
        assert_eq!(rig.saves(), [SavePoint::UserMessage, SavePoint::Cut]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_fails_later_leaves_the_steps() {
    let mut rig = Rig::new([echo("1"), echo("2"), Line::Fails(ModelError::ContextExceeded)]);
    let ended = rig.turn("go").await.unwrap_err();
    assert_eq!(ended.to_string(), "Context window exceeded. Please start a new session.");
    assert_eq!(rig.history(), ["U: go", "A: use 1", "U: 1=1", "A: use 2", "U: 2=2 | (note)"]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_dropped_leaves_a_conversation() {
    let mut rig = Rig::new([echo("1"), Line::Hangs(String::new())]);
    {
        let turn = rig.agent.turn("go", &rig.seen, &rig.cancel);
        tokio::select! {
            _ = turn => panic!("it hangs"),
            () = rig.model.is_hanging() => {}
        }
    }
    assert_eq!(rig.history(), ["U: go", "A: use 1", "U: 1=1"]);
    rig.model.push([Line::says("ok")]);
    rig.turn("again").await.unwrap();
    assert_eq!(rig.history()[2..], ["U: 1=1 | again", "A: ok"]);
}
