//! Turns that are cut: cancelled, or dropped by whoever waited for them.

use std::time::Duration;

use ic_session::{Conversation as _, SessionError, SessionHandle as _, Status};
use tokio_util::sync::CancellationToken;

use super::model::{Scripted, Step, run, say};
use super::world::{Ears, USUAL, World, never};

const CUT: &str = "error: Cut before it finished; what it had done until then is done. Check before \
    you go on.";
const NOTE: &str = "note: The previous turn was cut before it was answered: the turn was cancelled. \
    Its steps above happened.";

/// How a turn is cut.
#[derive(Clone, Copy, Debug)]
enum How {
    Cancelled,
    Dropped,
}

/// Sends a message, and cuts it at the event that `at` is; returns when the session is ready again.
async fn cut(
    how: How,
    session: &ic_session::BuiltIn,
    ears: &mut Ears,
    at: &str,
) -> Option<SessionError> {
    let cancel = CancellationToken::new();
    let mut sending = session.send_message("work", cancel.clone());
    let error = tokio::select! {
        ended = &mut sending => panic!("{how:?}: {ended:?}"),
        _ = ears.until(|word| word.starts_with(at)) => match how {
            How::Cancelled => {
                cancel.cancel();
                Some(sending.await.unwrap_err())
            }
            How::Dropped => {
                drop(sending);
                None
            }
        },
    };
    ears.status("ready").await;
    assert_eq!(session.info().status, Status::Ready);
    error
}

#[tokio::test]
async fn without_a_finished_step_the_history_is_as_it_was() {
    let world = World::new().await;
    for how in [How::Cancelled, How::Dropped] {
        let model = Scripted::new([say("hi"), Step::Hang]);
        let (session, mut ears) = world.open(&model, USUAL).await;
        session.send_message("hello", never()).await.unwrap();
        ears.rest();
        let error = cut(how, &session, &mut ears, "text I was about").await;
        if let Some(error) = error {
            assert_eq!(error.code(), "MESSAGE_FAILED");
            assert_eq!(error.to_string(), "the turn was cancelled");
        }
        session.send_message("something else", never()).await.unwrap();
        assert_eq!(
            model.last_prompt(),
            ["person: hello", "model: hi", "person: something else"],
            "{how:?}"
        );
        assert_eq!(session.history().len(), 2);
        session.close().await.unwrap();
    }
}

#[tokio::test]
async fn finished_steps_are_kept_with_a_note() {
    let world = World::new().await;
    for how in [How::Cancelled, How::Dropped] {
        let model = Scripted::new([
            run("filesystem.write_file({path: 'kept.txt', content: 'kept'}); 'wrote it'"),
            Step::Hang,
        ]);
        let (session, mut ears) = world.open(&model, USUAL).await;
        cut(how, &session, &mut ears, "text I was about").await;
        session.send_message("go on", never()).await.unwrap();
        let expected =
            ["person: work", "model uses execute_code", "result: wrote it", NOTE, "person: go on"];
        assert_eq!(model.last_prompt(), expected, "{how:?}");
        let sandbox = world.home.session(&session.info().id).join("sandbox");
        assert_eq!(std::fs::read_to_string(sandbox.join("kept.txt")).unwrap(), "kept");
        session.close().await.unwrap();
    }
}

/// The script has done something already, and would go on for ever.
#[tokio::test]
async fn a_script_that_is_cut_has_done_what_it_did() {
    let world = World::new().await;
    let code = "filesystem.write_file({path: 'done.txt', content: 'done'}); while (true) {}";
    for how in [How::Cancelled, How::Dropped] {
        let model = Scripted::new([run("'first'"), run(code)]);
        let (session, mut ears) = world.open(&model, USUAL).await;
        cut(how, &session, &mut ears, "filesystem.write_file done").await;
        let diagnostics: Vec<_> = session.diagnostics().iter().map(super::world::kind).collect();
        let expected = ["tool_call", "step_finish", "tool_call", "step_finish"];
        assert_eq!(diagnostics, expected, "{how:?}");
        session.send_message("go on", never()).await.unwrap();
        let expected = [
            "person: work",
            "model uses execute_code",
            "result: first",
            "model uses execute_code",
            CUT,
            NOTE,
            "person: go on",
        ];
        assert_eq!(model.last_prompt(), expected, "{how:?}");
        session.close().await.unwrap();
        let records = world.records(&session);
        assert!(records.iter().any(|it| it.starts_with("outcome")), "{records:?}");
    }
    world.check_nothing_left();
}

/// What it did before it was cut must not be forgotten because it was the first.
#[tokio::test]
async fn a_first_script_that_is_cut_leaves_the_history_as_it_was() {
    let world = World::new().await;
    let model = Scripted::new([run("console.log('on'); while (true) {}")]);
    let (session, mut ears) = world.open(&model, USUAL).await;
    cut(How::Cancelled, &session, &mut ears, "diagnostic tool_call").await;
    session.send_message("go on", never()).await.unwrap();
    assert_eq!(model.last_prompt(), ["person: go on"]);
    session.close().await.unwrap();
}

#[tokio::test]
async fn a_question_of_a_cut_turn_is_withdrawn() {
    let world = World::new().await;
    for how in [How::Cancelled, How::Dropped] {
        let model = Scripted::new([run(&world.writes("a.txt", "a"))]);
        let (session, mut ears) = world.open(&model, USUAL).await;
        cut(how, &session, &mut ears, "escalation_raised").await;
        // It may take as long as the call needs to end.
        crate::proxy::until("the question is gone", || session.pending_escalations().is_empty());
        assert!(!world.document("a.txt").exists());
        assert_eq!(session.send_message("go on", never()).await.unwrap(), "done");
        session.close().await.unwrap();
        let records = world.records(&session);
        assert!(records.contains(&"escalation withdrawn".to_owned()), "{how:?}: {records:?}");
    }
    world.check_nothing_left();
}

#[tokio::test]
async fn a_turn_that_nobody_began_to_wait_for_never_was() {
    let world = World::new().await;
    let model = Scripted::new([]);
    let (session, mut ears) = world.open(&model, USUAL).await;
    drop(session.send_message("never", never()));
    assert_eq!((session.info().status, model.n_prompts()), (Status::Ready, 0));
    // Cancelled before it begins, it does nothing.
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let error = session.send_message("never", cancelled).await.unwrap_err();
    assert_eq!((error.code(), model.n_prompts()), ("MESSAGE_FAILED", 0));
    ears.until(|word| word == "budget").await;
    let soon = tokio::time::timeout(Duration::from_secs(30), session.close());
    soon.await.unwrap().unwrap();
}
