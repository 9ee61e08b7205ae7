//! How a session stands, and every way in which it says no.

use std::time::Duration;

use ic_agent::Limits;
use ic_model::{Cost, ModelError, Prices};
use ic_session::{Conversation, SessionError, SessionHandle as _, SessionKind, Status};
use ic_types::Provider;
use tokio_util::sync::CancellationToken;

use super::model::{Scripted, Step, run, say};
use super::world::{Options, USUAL, World, never};

#[track_caller]
fn check(error: &SessionError, code: &str, text: &str) {
    assert_eq!((error.code(), error.to_string().as_str()), (code, text));
}

/// Sends a message that is to fail.
async fn fails(session: &dyn Conversation, message: &str) -> SessionError {
    session.send_message(message, never()).await.unwrap_err()
}

#[tokio::test]
async fn a_session_goes_from_ready_to_processing_and_back_and_is_closed_once() {
    let world = World::new().await;
    let model = Scripted::new([Step::Hang]);
    let (session, mut ears) = world.open(&model, USUAL).await;
    assert_eq!(ears.rest(), ["status ready"], "it was initializing until it was there");
    let info = session.info();
    assert_eq!((info.status, info.turn_count, info.kind), (Status::Ready, 0, SessionKind::BuiltIn));
    assert!(info.name.as_str().starts_with("test-"), "{}", info.name);

    let cancel = CancellationToken::new();
    let (ended, ()) = tokio::join!(session.send_message("think", cancel.clone()), async {
        ears.until(|word| word.starts_with("text")).await;
        assert_eq!(session.info().status, Status::Processing);
        let text = "Session is not ready to accept messages (current status: processing)";
        check(&fails(&session, "and this?").await, "SESSION_NOT_READY", text);
        assert_eq!(model.n_prompts(), 1, "nobody else was asked");
        cancel.cancel();
    });
    check(&ended.unwrap_err(), "MESSAGE_FAILED", "the turn was cancelled");
    assert_eq!(session.info().status, Status::Ready);
    assert_eq!(session.send_message("again", never()).await.unwrap(), "done");
    let again = session.info();
    assert_eq!((again.status, again.turn_count), (Status::Ready, 1));
    assert_eq!((again.id, again.created_at), (info.id, info.created_at));

    session.close().await.unwrap();
    assert_eq!(session.info().status, Status::Closed);
    check(&fails(&session, "more?").await, "SESSION_CLOSED", "Session has been closed");
    assert_eq!(session.info().turn_count, 1, "what was answered stays");
    session.close().await.unwrap();
    let stood: Vec<_> = ears.rest().into_iter().filter(|it| it.starts_with("status")).collect();
    let expected =
        ["status ready", "status processing", "status ready", "status closed"].map(str::to_owned);
    assert_eq!(stood, expected);
}

#[tokio::test]
async fn a_message_without_an_answer_leaves_the_session_ready() {
    let world = World::new().await;
    let model = Scripted::new([]);
    let (session, _ears) = world.open(&model, USUAL).await;
    for (message, text) in [
        ("", "the message is empty"),
        (" \n\t", "the message is empty"),
        (&*"x".repeat((1 << 20) + 1), "the message is longer than 1048576 bytes"),
    ] {
        check(&fails(&session, message).await, "MESSAGE_FAILED", text);
        assert_eq!(session.info().status, Status::Ready);
    }
    assert_eq!(model.n_prompts(), 0);

    let retry_after = Some(Duration::from_secs(7));
    for (error, text) in [
        (ModelError::NoKey(Provider::Anthropic), "there is no key for `anthropic`"),
        (
            ModelError::BadKey { provider: Provider::OpenAi, origin: "a test".to_owned() },
            "`openai` does not accept the key",
        ),
        (ModelError::ContextExceeded, "Context window exceeded. Please start a new session."),
        (ModelError::Overloaded, "the provider is overloaded"),
        (
            ModelError::RateLimited { retry_after },
            "the provider limits the rate of requests, try again in 7 s",
        ),
        (ModelError::Refused("no".into()), "the model declined to answer: no"),
        (ModelError::Network("gone".into()), "the connection to the provider failed: gone"),
        (ModelError::Protocol("eh".into()), "the provider's answer is not valid: eh"),
    ] {
        model.then([Step::Fail(error)]);
        check(&fails(&session, "hello").await, "MESSAGE_FAILED", text);
        assert_eq!(session.info().status, Status::Ready);
    }
    model.then([say(""), say("")]);
    check(&fails(&session, "hello").await, "MESSAGE_FAILED", "the model's answer is empty");
    // Nothing of all that is in the way of the next message.
    session.send_message("hello", never()).await.unwrap();
    assert_eq!(model.last_prompt(), ["person: hello"]);
    assert_eq!(session.history().len(), 1);
    session.close().await.unwrap();
}

#[tokio::test]
async fn a_model_that_goes_in_circles_is_stopped() {
    let world = World::new().await;
    let model = Scripted::new(std::iter::repeat_n(run("1 + 1"), 100));
    let (session, _ears) = world.open(&model, USUAL).await;
    let error = fails(&session, "go round").await;
    assert_eq!(error.code(), "MESSAGE_FAILED");
    let text = error.to_string();
    assert!(text.starts_with("the model used `execute_code` "), "{text}");
    assert!(text.ends_with(" times in a row with the same result"), "{text}");
    assert_eq!(session.info().status, Status::Ready);
    session.close().await.unwrap();
}

#[tokio::test]
async fn every_dimension_of_the_budget_ends_the_turn() {
    let world = World::new().await;
    let prices = Prices { completion: Cost::from_billionths(1_000_000_000), ..Prices::FREE };
    let dollars = |dollars| Some(Cost::from_dollars(dollars));
    let off = Limits::OFF;
    for (limits, step, text) in [
        (Limits { tokens_max: Some(15), ..off }, run("1"), "tokens: 15 of 15"),
        (Limits { steps_max: Some(1), ..off }, run("1"), "steps: 1 of 1"),
        (Limits { cost_max: dollars(5.0), ..off }, run("1"), "cost: $5.0000 of $5.0000"),
        (
            Limits { duration_max: Some(Duration::from_millis(1)), ..off },
            Step::Hang,
            "time: 0 s of 0 s",
        ),
        // In the middle of a script, too.
        (
            Limits { duration_max: Some(Duration::from_secs(1)), ..off },
            run("while (true) {}"),
            "time: 1 s of 1 s",
        ),
    ] {
        let model = Scripted::new([step]);
        let (session, _ears) = world.open(&model, Options { limits, prices, ..USUAL }).await;
        let error = fails(&session, "work").await;
        let text = format!("the budget of this turn is used up ({text})");
        check(&error, "BUDGET_EXHAUSTED", &text);
        assert_eq!(session.info().status, Status::Ready);
        let last = session.diagnostics().into_iter().map(|it| super::world::kind(&it));
        assert!(last.into_iter().any(|it| it == "budget_exhausted"));
        // Each turn has a budget of its own.
        if limits.duration_max.is_none() {
            let answer = session.send_message("again", never()).await;
            assert_eq!(answer.unwrap(), "done");
        }
        session.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_record_that_cannot_be_ended_is_said() {
    let world = World::new().await;
    let (session, _ears) = world.open(&Scripted::new([]), USUAL).await;
    std::fs::remove_file(world.home.session(&session.info().id).join("audit.jsonl")).unwrap();
    let text = "the record of the session could not be ended";
    let error = session.close().await.unwrap_err();
    assert!(matches!(error, SessionError::CloseFailed(_)), "{error:?}");
    check(&error, "SESSION_CLOSED", text);
    assert_eq!(session.info().status, Status::Closed);
    session.close().await.unwrap();
    assert_eq!(super::processes(), Vec::<String>::new());
}

/// A bug in a model must not leave a session that is busy for ever.
#[tokio::test]
async fn a_turn_that_panics_closes_the_session() {
    let world = World::new().await;
    let model = Scripted::new([Step::Panic]);
    let (session, mut ears) = world.open(&model, USUAL).await;
    check(&fails(&session, "break").await, "SESSION_CLOSED", "Session has been closed");
    assert_eq!(session.info().status, Status::Closed);
    check(&fails(&session, "again").await, "SESSION_CLOSED", "Session has been closed");
    session.close().await.unwrap();
    assert_eq!(ears.rest(), ["status ready", "status processing", "status closed"]);
    world.check_nothing_left();
}
