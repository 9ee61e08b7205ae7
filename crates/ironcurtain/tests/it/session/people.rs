//! Calls of a session that need a person: who answers, how, and when nobody does.

use std::time::Duration;

use ic_agent::Dimension;
use ic_escalation::{Pending, Receipt, Reply};
use ic_home::{Clock as _, SystemClock};
use ic_policy::{DecidedBy, Decision};
use ic_session::{BuiltIn, Conversation as _, ResolveError, Seat, SessionHandle as _, Wait};

use super::model::{Scripted, run};
use super::world::{Ears, Options, USUAL, World, never};

const APPROVE: Reply = Reply::Approve(None);

/// Sends a message whose script asks; `act` gets what waits, once it does.
async fn asked(
    session: &BuiltIn,
    ears: &mut Ears,
    act: impl AsyncFnOnce(Pending, &mut Ears),
) -> String {
    let (answer, ()) = tokio::join!(session.send_message("write", never()), async {
        ears.until(|word| word == "escalation_raised").await;
        let mut pending = session.pending_escalations();
        assert_eq!(pending.len(), 1);
        act(pending.remove(0), ears).await;
    });
    answer.unwrap()
}

#[tokio::test]
async fn the_person_who_runs_the_session_approves_and_denies() {
    let world = World::new().await;
    for (reply, decision, told, event) in [
        (APPROVE, Decision::Approved, "Escalation approved.", "escalation_resolved approved"),
        (Reply::Deny, Decision::Denied, "Escalation denied.", "escalation_resolved denied"),
    ] {
        let model = Scripted::new([run(&world.writes(told, "text"))]);
        let (session, mut ears) = world.open(&model, USUAL).await;
        asked(&session, &mut ears, async |pending, ears| {
            assert_eq!(pending.request().tool.as_str(), "write_file");
            let resolved = session.resolve_escalation(&pending, &reply).unwrap();
            assert_eq!(resolved.receipt, Receipt::Accepted(decision));
            assert_eq!(resolved.to_string(), told);
            let heard = ears.until(|word| word.starts_with("filesystem.write_file")).await;
            assert_eq!(heard[0], event);
        })
        .await;
        let is_approved = decision == Decision::Approved;
        assert_eq!(world.document(told).exists(), is_approved);
        let result = model.last_prompt().pop().unwrap();
        match is_approved {
            true => assert_eq!(result, "result: written"),
            false => assert!(result.contains("the user denied it"), "{result}"),
        }
        let tally = session.news().tally();
        assert_eq!((tally.approvals, tally.unanswered), (u64::from(is_approved), 0));
        session.close().await.unwrap();
        let log = world.home.session(&session.info().id).join("audit.jsonl");
        assert!(std::fs::read_to_string(log).unwrap().contains(r#""decidedBy":"repl""#));
    }
    world.check_nothing_left();
}

/// Returns how much of its time the turn has used, in milliseconds.
fn time_used(session: &BuiltIn) -> u64 {
    let spent = session.budget().spent;
    spent.iter().find(|it| it.dimension == Dimension::Time).unwrap().used
}

#[tokio::test]
async fn the_time_in_which_a_person_thinks_is_none_of_the_turn() {
    let world = World::new().await;
    let model = Scripted::new([run(&world.writes("a.txt", "a"))]);
    let timeout = Duration::from_secs(1);
    let (session, mut ears) = world.open(&model, Options { timeout, ..USUAL }).await;
    asked(&session, &mut ears, async |_, ears| {
        let before = time_used(&session);
        ears.until(|word| word == "escalation_expired").await;
        let used = Duration::from_millis(time_used(&session) - before);
        assert!(used < timeout / 2, "{used:?} were counted while a person could think");
    })
    .await;
    session.close().await.unwrap();
}

#[tokio::test]
async fn what_does_not_wait_any_more_is_not_answered() {
    let world = World::new().await;
    let model = Scripted::new([run(&world.writes("a.txt", "a"))]);
    let (session, mut ears) = world.open(&model, USUAL).await;
    let mut asked_about = None;
    asked(&session, &mut ears, async |pending, _| {
        session.resolve_escalation(&pending, &Reply::Deny).unwrap();
        asked_about = Some(pending);
    })
    .await;
    let pending = asked_about.unwrap();
    assert!(session.pending_escalations().is_empty());
    let error = session.resolve_escalation(&pending, &APPROVE).unwrap_err();
    let text = format!("No pending escalation with ID: {}", pending.request().escalation);
    assert_eq!(error.to_string(), text);
    assert!(!world.document("a.txt").exists());
    session.close().await.unwrap();
    let error = session.resolve_escalation(&pending, &APPROVE).unwrap_err();
    assert!(matches!(error, ResolveError::NotPending(_)), "{error:?}");
}

#[tokio::test]
async fn somebody_elsewhere_may_be_quicker() {
    let world = World::new().await;
    let model = Scripted::new([run(&world.writes("a.txt", "a"))]);
    let (session, mut ears) = world.open(&model, USUAL).await;
    asked(&session, &mut ears, async |pending, ears| {
        let elsewhere = world.pending_elsewhere().remove(0);
        assert_eq!(elsewhere.request().escalation, pending.request().escalation);
        let told = elsewhere.answer(&APPROVE, DecidedBy::Cli, SystemClock.now()).unwrap();
        assert_eq!(told.receipt, Receipt::Accepted(Decision::Approved));
        // Whether the session has taken the answer yet or not, there is no second one.
        match session.resolve_escalation(&pending, &Reply::Deny) {
            Ok(told) => assert_eq!(told.receipt, Receipt::AnsweredAlready),
            Err(error) => assert!(matches!(error, ResolveError::NotPending(_)), "{error:?}"),
        }
        ears.until(|word| word == "escalation_resolved approved").await;
    })
    .await;
    assert!(world.document("a.txt").exists());
    session.close().await.unwrap();
}

#[tokio::test]
async fn a_question_that_nobody_answers_expires() {
    let world = World::new().await;
    let model = Scripted::new([run(&world.writes("a.txt", "a"))]);
    let timeout = Duration::from_secs(1);
    let (session, mut ears) = world.open(&model, Options { timeout, ..USUAL }).await;
    let mut asked_about = None;
    asked(&session, &mut ears, async |pending, ears| {
        let heard = ears.until(|word| word == "escalation_expired").await;
        assert_eq!(heard, ["escalation_expired"]);
        asked_about = Some(pending);
    })
    .await;
    let error = session.resolve_escalation(&asked_about.unwrap(), &APPROVE).unwrap_err();
    assert!(error.to_string().starts_with("No pending escalation with ID: "), "{error}");
    assert!(!world.document("a.txt").exists());
    assert_eq!(session.news().tally().unanswered, 1);
    session.close().await.unwrap();
}

#[tokio::test]
async fn where_nobody_is_nobody_is_asked() {
    let world = World::new().await;
    let model = Scripted::new([run(&world.writes("a.txt", "a"))]);
    let wait = Wait::WhileAttended;
    let (session, mut ears) = world.open(&model, Options { wait, ..USUAL }).await;
    session.send_message("write", never()).await.unwrap();
    let heard = ears.rest();
    assert!(!heard.iter().any(|it| it.starts_with("escalation")), "{heard:?}");
    assert!(heard.contains(&"filesystem.write_file refused".to_owned()), "{heard:?}");
    assert_eq!(session.news().tally().unanswered, 1);
    assert!(!world.document("a.txt").exists());
    session.close().await.unwrap();
}

#[tokio::test]
async fn whoever_sits_at_the_terminal_of_a_session_is_asked_by_that_session_only() {
    let world = World::new().await;
    let options = Options { wait: Wait::WhileAttended, ..USUAL };
    let seat = Seat::default();
    let model = Scripted::new([run(&world.writes("a.txt", "a")), run(&world.writes("b.txt", "b"))]);
    let (session, mut ears) = world.open_at(&model, options, &seat.at_terminal()).await;
    let elsewhere = Scripted::new([run(&world.writes("c.txt", "c"))]);
    let (other, mut others_ears) = world.open(&elsewhere, options).await;
    asked(&session, &mut ears, async |pending, _| {
        // Nobody sees what the other session would ask, so it does not wait.
        other.send_message("write", never()).await.unwrap();
        // Whoever has left is asked nothing more, and can answer elsewhere.
        drop(seat);
        session.resolve_escalation(&pending, &APPROVE).unwrap();
    })
    .await;
    assert!(!others_ears.rest().iter().any(|it| it.starts_with("escalation")));
    assert!(!ears.rest().contains(&"escalation_raised".to_owned()));
    let unanswered = |session: &BuiltIn| session.news().tally().unanswered;
    assert_eq!((unanswered(&session), unanswered(&other)), (1, 1));
    let is_there = ["a.txt", "b.txt", "c.txt"].map(|name| world.document(name).exists());
    assert_eq!(is_there, [true, false, false]);
    session.close().await.unwrap();
    other.close().await.unwrap();
}

/// Lets `time` pass for everything in this process that waits.
async fn let_pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// More than a script may take.
const LONG: Duration = Duration::from_secs(150);

#[tokio::test]
async fn the_time_in_which_a_person_thinks_is_not_the_scripts() {
    let world = World::new().await;
    let model = Scripted::new([run(&world.writes("a.txt", "a"))]);
    let (session, mut ears) = world.open(&model, USUAL).await;
    asked(&session, &mut ears, async |pending, _| {
        let_pass(LONG).await;
        session.resolve_escalation(&pending, &APPROVE).unwrap();
    })
    .await;
    assert_eq!(model.last_prompt().pop().unwrap(), "result: written");
    session.close().await.unwrap();
}

/// The opposite, so that the test above cannot pass by itself.
#[tokio::test]
async fn a_script_that_takes_too_long_without_a_person_is_stopped() {
    let world = World::new().await;
    let code = "filesystem.list_directory({path: '.'}); while (true) {}";
    let model = Scripted::new([run(code)]);
    let (session, mut ears) = world.open(&model, USUAL).await;
    let (answer, ()) = tokio::join!(session.send_message("work", never()), async {
        ears.until(|word| word == "filesystem.list_directory done").await;
        let_pass(LONG).await;
    });
    assert_eq!(answer.unwrap(), "done");
    let result = model.last_prompt().pop().unwrap();
    assert_eq!(result, "error: The script took too long and was stopped.");
    session.close().await.unwrap();
}
