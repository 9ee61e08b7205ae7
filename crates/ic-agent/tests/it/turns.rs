//! Turns that come to an answer, and what happens on the way.

use ic_agent::{Diagnostic, SavePoint, TurnError};
use ic_model::{AssistantBlock, Prices, StopReason};
use ic_testkit::{Line, ScriptedModel};
use ic_types::{Json, Provider};

use crate::rig::{Rig, notes};

#[tokio::test(start_paused = true)]
async fn an_answer_without_tools() {
    let mut rig = Rig::new([Line::says("hello").taking(10, 2)]);
    let answer = rig.turn("hi").await.unwrap();
    assert_eq!((answer.text.as_str(), answer.stop), ("hello", StopReason::EndTurn));
    assert_eq!((answer.usage.prompt, answer.usage.completion), (10, 2));
    assert_eq!(rig.history(), ["U: hi", "A: hello"]);
    assert_eq!(rig.kinds(), ["agent_text", "step_finish"]);
    assert_eq!(rig.saves(), [SavePoint::UserMessage, SavePoint::Answer]);
    assert_eq!(*rig.seen.text.lock().unwrap(), "hello");
}

#[tokio::test(start_paused = true)]
async fn tools_are_used_until_there_is_an_answer() {
    let mut rig = Rig::new([
        Line::uses(&[("1", "echo", r#"{"text":"one"}"#)]).taking(5, 1),
        Line::uses(&[("2", "echo", r#"{"text":"two"}"#), ("3", "fail", "{}")]).taking(6, 1),
        Line::says("done").taking(7, 1),
    ]);
    let answer = rig.turn("go").await.unwrap();
    assert_eq!(answer.usage.total(), 21);
    assert_eq!(
        rig.history(),
        ["U: go", "A: use 1", "U: 1=one", "A: use 2 | use 3", "U: 2=two | 3=it failed", "A: done"]
    );
    assert_eq!(rig.ran(), ["echo", "echo", "fail"]);
    assert_eq!(
        rig.kinds(),
        [
            "tool_call",
            "step_finish",
            "tool_call",
            "tool_call",
            "step_finish",
            "agent_text",
            "step_finish"
        ]
    );
    assert_eq!(
        rig.saves(),
        [SavePoint::UserMessage, SavePoint::ToolStep, SavePoint::ToolStep, SavePoint::Answer]
    );
}

#[tokio::test(start_paused = true)]
async fn the_next_message_goes_on_with_the_conversation() {
    let mut rig = Rig::new([Line::says("one"), Line::says("two")]);
    rig.turn("first").await.unwrap();
    rig.turn("second").await.unwrap();
    assert_eq!(rig.history(), ["U: first", "A: one", "U: second", "A: two"]);
    assert_eq!(rig.model.asked().last().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_use_that_cannot_be_is_answered_and_the_turn_goes_on() {
    for (name, input, content) in [
        ("nope", "{}", "There is no tool `nope`; there is: echo, fail, deny,"),
        ("echo", r#"{"text":1}"#, "The input of `echo` does not fit:"),
        ("echo", r#"{"more":"x"}"#, "The input of `echo` does not fit:"),
        ("echo", "[]", "The input of `echo` does not fit: it is not an object."),
        ("echo", "null", "The input of `echo` does not fit: it is not an object."),
    ] {
        let mut rig = Rig::new([Line::uses(&[("1", name, input)]), Line::says("ok")]);
        rig.turn("go").await.unwrap();
        let history = rig.history();
        assert!(history[2].starts_with(&format!("U: 1={content}")), "{}", history[2]);
        assert!(rig.ran().is_empty());
        assert_eq!(history[3], "A: ok");
    }
}

#[tokio::test(start_paused = true)]
async fn one_message_has_only_so_many_uses() {
    let ids: Vec<String> = (0..40).map(|n| n.to_string()).collect();
    let uses: Vec<_> = ids.iter().map(|id| (id.as_str(), "echo", "{}")).collect();
    let mut rig = Rig::new([Line::uses(&uses), Line::says("ok")]);
    // All of them are alike, so the loop would be noticed first.
    let ended = rig.turn("go").await;
    assert!(matches!(ended, Err(TurnError::Loop { .. })));
    let inputs: Vec<String> = ids.iter().map(|id| format!(r#"{{"text":"{id}"}}"#)).collect();
    let uses: Vec<_> =
        ids.iter().zip(&inputs).map(|(id, input)| (id.as_str(), "echo", input.as_str())).collect();
    let mut rig = Rig::new([Line::uses(&uses), Line::says("ok")]);
    rig.turn("go").await.unwrap();
    assert_eq!(rig.ran().len(), 32);
    assert!(rig.history()[2].contains("39=Not run: one message has at most 32 tool uses."));
}

#[tokio::test(start_paused = true)]
async fn two_uses_with_one_id_make_no_sense() {
    let mut rig = Rig::new([Line::uses(&[("1", "echo", "{}"), ("1", "echo", "{}")])]);
    let ended = rig.turn("go").await.unwrap_err();
    assert_eq!(
        ended.to_string(),
        "the provider's answer is not valid: two tool uses have the same id"
    );
    assert!(rig.history().is_empty() && rig.ran().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_is_asked_for_once_more() {
    let empty = || Line::blocks(Vec::new(), StopReason::EndTurn);
    let blank = Line::blocks(vec![AssistantBlock::Text(" \n".into())], StopReason::EndTurn);
    let mut rig = Rig::new([blank, Line::says("there")]);
    assert_eq!(rig.turn("go").await.unwrap().text, "there");
    assert_eq!(rig.history(), ["U: go | (note)", "A: there"]);
    let mut rig = Rig::new([empty(), empty(), Line::says("never")]);
    assert_eq!(rig.turn("go").await, Err(TurnError::EmptyAnswer));
    assert!(rig.history().is_empty());
    let mut rig = Rig::new([Line::uses(&[("1", "echo", "{}")]), empty(), empty()]);
    assert_eq!(rig.turn("go").await, Err(TurnError::EmptyAnswer));
    assert_eq!(rig.history(), ["U: go", "A: use 1", "U: 1=(no output) | (note) | (note)"]);
}

#[tokio::test(start_paused = true)]
async fn what_only_a_provider_understands_is_kept_and_blanks_are_not() {
    let thought =
        || AssistantBlock::Verbatim { provider: Provider::Anthropic, block: Json::from("s") };
    let text = |text: &str| AssistantBlock::Text(text.into());
    let blocks = vec![thought(), text(""), text("a"), text("b")];
    let mut rig = Rig::new([Line::blocks(blocks, StopReason::MaxTokens)]);
    let answer = rig.turn("go").await.unwrap();
    assert_eq!((answer.text.as_str(), answer.stop), ("a\nb", StopReason::MaxTokens));
    assert_eq!(rig.history(), ["U: go", "A: verbatim | a | b"]);
}

#[tokio::test(start_paused = true)]
async fn a_denial_is_explained() {
    let mut rig = Rig::new([Line::uses(&[("1", "deny", "{}")]), Line::says("sorry")]);
    rig.turn("go").await.unwrap();
    assert_eq!(rig.history()[2], "U: 1=thrown | (note)");
    let notes = notes(&rig.agent.history().messages()[2]);
    let told = "Denied: reading `x` is not allowed\nDo not retry what was denied";
    assert!(notes[0].starts_with(told), "{notes:?}");
}

#[tokio::test(start_paused = true)]
async fn what_a_cage_refused_is_observed() {
    let mut rig = Rig::new([Line::uses(&[("1", "violate", "{}")]), Line::says("sorry")]);
    rig.turn("go").await.unwrap();
    let detail = "no network here".to_owned();
    let seen = rig.seen.diagnostics.lock().unwrap();
    assert!(seen.contains(&Diagnostic::ConfinementViolation { detail }));
}

#[tokio::test(start_paused = true)]
async fn a_long_result_is_shortened() {
    let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(5000));
    let model = ScriptedModel::new([Line::uses(&[("1", "echo", &long)]), Line::says("ok")]);
    let mut rig = Rig::with(ic_agent::Limits::OFF, Prices::FREE, model.with_result_bytes_max(1000));
    rig.turn("go").await.unwrap();
    let result = &rig.history()[2];
    assert!(result.len() < 1100 && result.contains("[… 4000 bytes were left out here …]"));
    let tool = "echo".to_owned();
    let seen = rig.seen.diagnostics.lock().unwrap();
    assert!(seen.contains(&Diagnostic::ResultTruncation { tool, bytes: 5000, kept_bytes: 1000 }));
}

#[tokio::test(start_paused = true)]
async fn going_in_circles_is_noticed_and_then_stopped() {
    let same = |id: &str| Line::uses(&[(id, "echo", r#"{"text":"x"}"#)]);
    let mut rig = Rig::new((0..9).map(|n| same(&n.to_string())));
    let ended = rig.turn("go").await;
    assert_eq!(ended, Err(TurnError::Loop { tool: "echo".into(), repeats: 6 }));
    assert_eq!(rig.ran().len(), 6);
    let seen: Vec<Diagnostic> = rig.seen.diagnostics.lock().unwrap().clone();
    let loops: Vec<_> =
        seen.iter().filter(|it| matches!(it, Diagnostic::LoopDetection { .. })).collect();
    let found = |repeats, is_stopped| Diagnostic::LoopDetection {
        tool: "echo".into(),
        repeats,
        is_stopped,
    };
    assert_eq!(loops, [&found(3, false), &found(6, true)]);
    let messages = rig.agent.history().messages();
    assert!(notes(&messages[4]).is_empty());
    assert!(notes(&messages[6])[0].starts_with("You have done the same 3 times"));
    assert!(notes(messages.last().unwrap()).last().unwrap().contains("was cut"));
    // The same uses with other results are no circle.
    let other = |n: u32| Line::uses(&[(&n.to_string(), "echo", &format!(r#"{{"text":"{n}"}}"#))]);
    let mut rig = Rig::new((0..9).map(other).chain([Line::says("ok")]));
    assert!(rig.turn("go").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn what_is_no_message_is_refused_and_changes_nothing() {
    let mut rig = Rig::new([]);
    for message in ["", " \n\t"] {
        assert_eq!(rig.turn(message).await, Err(TurnError::EmptyMessage));
    }
    let long = "x".repeat(ic_agent::agent::MESSAGE_BYTES_MAX + 1);
    assert_eq!(rig.turn(&long).await, Err(TurnError::LongMessage));
    assert!(rig.saves().is_empty() && rig.model.asked().is_empty());
}
