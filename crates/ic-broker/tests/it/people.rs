//! Calls about which a person is asked.

use std::sync::Arc;
use std::time::Duration;

use ic_backend::testing::Reaction;
use ic_broker::broker::Reply;
use ic_escalation::{DeskError, Outcome, Question};
use ic_policy::Decision;
use ic_types::{Digest, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::world::{Parts, TOOLS, World, approve, asked, result, said, text};

/// How a call that was raised is recorded up to its answer.
const RAISED: [&str; 2] = ["intent escalate", "escalation raised"];

#[tokio::test]
async fn an_approval_of_the_very_question_forwards_the_call_once() {
    let world = World::approving();
    world.says("done");
    assert_eq!(world.text("ask", "{}").await, "done");
    assert_eq!((world.desk.n_asked(), world.server.made().len()), (1, 1));
    let story = [&RAISED[..], &["escalation answered", "intent allow", "outcome"]].concat();
    assert_eq!(world.story(), story);
    let records = world.records();
    assert_eq!(records[3]["decidedBy"], "cli");
}

/// A desk that approves anything has approved nothing: the digest is compared, and the asking ends.
#[tokio::test]
async fn an_approval_of_something_else_is_asked_again_three_times_at_most() {
    let world = World::of(Parts::new(|question| {
        let at = question.request().created_at;
        Ok(Some(said(Decision::Approved, Digest::of(b"anything"), at)))
    }));
    world.says("done");
    let told = world.text("ask", "{}").await;
    assert!(told.starts_with("ESCALATION DENIED: the target of the call kept changing"), "{told}");
    assert_eq!((world.desk.n_asked(), world.server.made().len()), (3, 0));
}

#[tokio::test]
async fn what_a_desk_brings_back_is_not_taken_on_trust() {
    type Script = fn(&Question) -> Result<Option<Outcome>, DeskError>;
    let cases: [(Script, &str); 6] = [
        (
            |question| {
                let late = question.request().expires_at.unix_ms() + 1;
                let late = Timestamp::from_unix_ms(late);
                Ok(Some(said(Decision::Approved, question.digest(), late)))
            },
            "ESCALATION EXPIRED: the answer came too late",
        ),
        (
            |question| {
                let at = question.request().created_at;
                Ok(Some(said(Decision::Denied, Digest::of(b"anything"), at)))
            },
            "ESCALATION DENIED: the user denied it",
        ),
        (|_| Ok(Some(Outcome::Expired)), "ESCALATION EXPIRED: no answer within 300 s"),
        (|_| Ok(Some(Outcome::Closed)), "ESCALATION EXPIRED: the session ended before"),
        (
            |_| Err(DeskError::Full { max: 3 }),
            "ESCALATION DENIED: approval could not be requested: 3 approval requests",
        ),
        (
            |_| Err(DeskError::Closed),
            "ESCALATION DENIED: approval could not be requested: the desk is closed",
        ),
    ];
    for (script, expected) in cases {
        let world = World::of(Parts::new(script));
        world.says("done");
        let told = world.text("ask", "{}").await;
        assert!(told.starts_with(expected), "{told}");
        assert_eq!(world.server.made(), [], "{expected}");
    }
}

/// Whoever leaves for a moment still finds the question; when nobody comes back, the agent is told.
#[tokio::test(start_paused = true)]
async fn a_question_is_given_up_once_nobody_has_been_there_for_a_while() {
    let attended: &[bool] = &[true, false, false, true, false];
    let world = World::of(Parts { attended: Some(attended), ..Parts::new(|_| Ok(None)) });
    let since = tokio::time::Instant::now();
    let told = world.text("ask", "{}").await;
    assert!(told.starts_with("ESCALATION EXPIRED: the approver left before"), "{told}");
    // Two absences, somebody came back, and then twelve.
    assert_eq!(since.elapsed().as_secs(), 5 * (2 + 1 + 12));
    assert_eq!((world.desk.n_withdrawn(), world.server.made().len()), (1, 0));
    for attended in [Some(&[true][..]), None] {
        let world = World::of(Parts { attended, ..Parts::new(|_| Ok(None)) });
        let asking = tokio::time::timeout(Duration::from_hours(1), world.text("ask", "{}"));
        assert!(asking.await.is_err(), "somebody is there, or may come");
    }
}

#[tokio::test]
async fn without_anybody_there_nobody_is_asked() {
    for is_there in [false, true] {
        let world = World::of(Parts {
            attended: Some(if is_there { &[true] } else { &[false] }),
            ..Parts::new(|question| Ok(Some(approve(question))))
        });
        world.says("done");
        let told = world.text("ask", "{}").await;
        assert_eq!(told == "done", is_there, "{told}");
        assert_eq!(world.desk.n_asked(), usize::from(is_there));
        if !is_there {
            assert!(told.starts_with("ESCALATION REQUIRED: a person decides"), "{told}");
            assert_eq!(world.story(), ["intent escalate", "escalation notAsked"]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_no_stands_for_a_minute() {
    let world = World::of(Parts::new(|question| {
        let at = question.request().created_at;
        Ok(Some(said(Decision::Denied, question.digest(), at)))
    }));
    assert!(world.text("ask", r#"{"n":1}"#).await.contains("the user denied it"));
    let told = world.text("ask", r#"{"n":1}"#).await;
    assert!(told.contains("less than a minute ago"), "{told}");
    assert_eq!(world.desk.n_asked(), 1);
    // Another call is another question.
    world.text("ask", r#"{"n":2}"#).await;
    assert_eq!(world.desk.n_asked(), 2);
    tokio::time::sleep(Duration::from_secs(61)).await;
    world.clock.pass(Duration::from_secs(61));
    world.text("ask", r#"{"n":1}"#).await;
    assert_eq!(world.desk.n_asked(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_person_is_asked_thirty_times_in_a_minute_and_no_more() {
    let world = World::approving();
    for n in 0..40 {
        world.says("done");
        let told = world.text("ask", &format!(r#"{{"n":{n}}}"#)).await;
        assert_eq!(told == "done", n < 30, "{n}: {told}");
    }
    assert_eq!(world.desk.n_asked(), 30);
    tokio::time::sleep(Duration::from_secs(61)).await;
    world.says("done");
    assert_eq!(world.text("ask", r#"{"n":100}"#).await, "done");
}

/// Runs a call until its question stands, then does `then`, and returns what the call came to.
async fn while_asked(world: &World, cancel: &CancellationToken, then: impl FnOnce()) -> Reply {
    let calling = world.broker.call(asked("ask", "{}"), world.flight_until("ask", cancel));
    let acting = async {
        world.desk.raised.notified().await;
        then();
    };
    tokio::join!(calling, acting).0
}

#[tokio::test]
async fn a_call_that_is_taken_back_withdraws_its_question() {
    let world = World::of(Parts::new(|_| Ok(None)));
    world.says("done");
    let cancel = CancellationToken::new();
    let reply = while_asked(&world, &cancel, || cancel.cancel()).await;
    assert!(matches!(reply, Reply::Nothing));
    assert_eq!((world.desk.n_withdrawn(), world.server.made().len()), (1, 0));
    assert_eq!(world.story(), [&RAISED[..], &["escalation withdrawn"]].concat());
}

#[tokio::test]
async fn an_answer_that_comes_later_counts_for_what_stands_there() {
    for decision in [Decision::Approved, Decision::Denied] {
        let world = World::of(Parts::new(|_| Ok(None)));
        world.says("done");
        let answer = || world.desk.answer(decision);
        let reply = while_asked(&world, &CancellationToken::new(), answer).await;
        assert_eq!(text(&reply) == "done", decision == Decision::Approved, "{reply:?}");
    }
}

/// The person approved a call to the server that was there, and to the tool as it was.
#[tokio::test]
async fn what_changed_while_a_person_was_asked_is_asked_about_again() {
    type Change = fn(&World);
    let changes: [(&str, Change); 2] = [
        ("another server", |world| world.server.become_another()),
        ("another schema", |world| {
            let other = r#"{"name":"ask","inputSchema":{"type":"object"},"description":"!"}"#;
            world.server.list(&[TOOLS[0], other]).unwrap();
        }),
    ];
    for (name, change) in changes {
        let world = Arc::new(World::of(Parts::new(|_| Ok(None))));
        world.says("done");
        let calling = tokio::spawn({
            let world = Arc::clone(&world);
            async move { world.text("ask", "{}").await }
        });
        world.desk.raised.notified().await;
        change(&world);
        world.desk.answer(Decision::Approved);
        world.desk.raised.notified().await;
        assert_eq!(world.server.made(), [], "{name}");
        world.desk.answer(Decision::Denied);
        assert!(calling.await.unwrap().starts_with("ESCALATION DENIED: "), "{name}");
        assert!(world.story().contains(&"escalation changed".to_owned()), "{name}");
    }
}

#[tokio::test]
async fn a_tool_that_is_gone_when_the_answer_comes_is_not_called() {
    let world = World::of(Parts::new(|_| Ok(None)));
    world.says("done");
    let reply = while_asked(&world, &CancellationToken::new(), || {
        world.server.list(&[TOOLS[0]]).unwrap();
        world.desk.answer(Decision::Approved);
    })
    .await;
    assert!(text(&reply).starts_with("DENIED: "), "{reply:?}");
    assert_eq!(world.server.made(), []);
}

/// Whoever approved it looked at the world of a while ago.
#[tokio::test]
async fn an_approval_that_has_become_old_forwards_nothing() {
    let world = World::of(Parts::new(|_| Ok(None)));
    world.says("done");
    let reply = while_asked(&world, &CancellationToken::new(), || {
        world.clock.pass(Duration::from_secs(5 * 60 + 11));
        world.desk.answer(Decision::Approved);
    })
    .await;
    assert!(text(&reply).starts_with("ESCALATION EXPIRED: "), "{reply:?}");
    assert_eq!(world.server.made(), []);
}

#[tokio::test]
async fn an_approval_within_its_grace_still_forwards() {
    let world = World::of(Parts::new(|_| Ok(None)));
    world.says("done");
    let reply = while_asked(&world, &CancellationToken::new(), || {
        world.clock.pass(Duration::from_secs(5 * 60 + 9));
        world.desk.answer(Decision::Approved);
    })
    .await;
    assert_eq!(text(&reply), "done");
}

/// A call that waits for a person holds up no other.
#[tokio::test]
async fn others_are_served_while_a_person_is_asked() {
    let world = Arc::new(World::of(Parts::new(|_| Ok(None))));
    let waiting = tokio::spawn({
        let world = Arc::clone(&world);
        async move { world.text("ask", "{}").await }
    });
    world.desk.raised.notified().await;
    world.says("free");
    assert_eq!(world.text("free", "{}").await, "free");
    world.server.then(Reaction::Answers(Ok(result("asked"))));
    world.desk.answer(Decision::Approved);
    assert_eq!(waiting.await.unwrap(), "asked");
}

#[tokio::test]
async fn a_log_that_closes_while_a_person_is_asked_lets_nothing_through() {
    let world = World::of(Parts::new(|_| Ok(None)));
    world.says("done");
    let reply = while_asked(&world, &CancellationToken::new(), || {
        world.log.close().unwrap();
        world.desk.answer(Decision::Approved);
    })
    .await;
    assert!(matches!(reply, Reply::Error(_)), "{reply:?}");
    assert_eq!(world.server.made(), []);
}
