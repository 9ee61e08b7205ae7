//! Plans: calls that are approved together before they are made, and what such an approval covers.

use std::time::Duration;

use ic_broker::broker::{Asked, REQUEST_APPROVAL, Reply};
use ic_policy::Decision;
use ic_types::{Digest, Object};
use serde_json::{Value, json};

use crate::world::{Parts, World, object, said, text};

/// Asks about these calls: each a tool's name and its arguments.
async fn plan(world: &World, calls: &[(&str, Value)]) -> String {
    let calls: Vec<Value> =
        calls.iter().map(|(tool, it)| json!({"tool": tool, "arguments": it})).collect();
    text(&raw(world, &json!({"calls": calls})).await)
}

async fn raw(world: &World, arguments: &Value) -> Reply {
    let arguments = object(&arguments.to_string());
    let asked = Asked { name: REQUEST_APPROVAL.to_owned(), arguments, meta: Object::new() };
    world.broker.call(asked, world.flight("ask")).await
}

#[tokio::test]
async fn each_planned_call_is_made_once_without_another_question() {
    let world = World::approving();
    let told = plan(
        &world,
        &[("s__ask", json!({"n": 1})), ("s.ask", json!({"n": 2})), ("s__free", json!({}))],
    )
    .await;
    assert!(told.starts_with("APPROVED: the 2 calls"), "{told}");
    assert_eq!((world.desk.n_asked(), world.server.made().len()), (1, 0));
    for n in [2, 1] {
        world.says("done");
        assert_eq!(world.text("ask", &format!(r#"{{"n":{n}}}"#)).await, "done");
    }
    assert_eq!((world.desk.n_asked(), world.server.made().len()), (1, 2));
    // The same once more, and another one, are asked about.
    for n in [1, 3] {
        world.says("done");
        world.text("ask", &format!(r#"{{"n":{n}}}"#)).await;
    }
    assert_eq!(world.desk.n_asked(), 3);
    let records = world.records();
    let planned = records.iter().filter(|it| it["arguments"]["event"] == "planned");
    assert_eq!(planned.count(), 2);
    let by_plan = |it: &&Value| it["kind"] == "intent" && it["decidedBy"] == "plan";
    assert_eq!(records.iter().filter(by_plan).count(), 2);
}

/// What stands twice in a plan may be made twice.
#[tokio::test]
async fn a_call_that_stands_twice_is_made_twice() {
    let world = World::approving();
    plan(&world, &[("s__ask", json!({"n": 1})), ("s__ask", json!({"n": 1}))]).await;
    for n_asked in [1, 1, 2] {
        world.says("done");
        world.text("ask", r#"{"n":1}"#).await;
        assert_eq!(world.desk.n_asked(), n_asked);
    }
}

#[tokio::test]
async fn a_plan_is_refused_for_the_call_that_cannot_be_in_it() {
    let world = World::approving();
    let many: Vec<_> = (0..21).map(|n| ("s__ask", json!({"n": n}))).collect();
    let one = ("s__ask", json!({"n": 1}));
    for (calls, expected) in [
        (vec![one.clone(), ("s__never", json!({}))], "DENIED: call 2 of the plan: it is forbidden"),
        (vec![("s__strange", json!({}))], "DENIED: call 1 of the plan: no annotation"),
        (vec![("s__missing", json!({}))], "DENIED: call 1 of the plan: "),
        (vec![("s__ask", json!({"n": "x"}))], "INVALID ARGUMENTS: call 1 of the plan: "),
        (vec![(REQUEST_APPROVAL, json!({"calls": []}))], "DENIED: call 1 of the plan: "),
        (many, "INVALID ARGUMENTS: "),
        (vec![], "INVALID ARGUMENTS: "),
    ] {
        let told = plan(&world, &calls).await;
        assert!(told.starts_with(expected), "{told}");
    }
    // An agent has no words of its own, beside the calls or in them.
    for arguments in [
        json!({"calls": [{"tool": "s__ask", "arguments": {}}], "why": "it is harmless"}),
        json!({"calls": [{"tool": "s__ask", "arguments": {}, "why": "it is harmless"}]}),
        json!({"calls": [{"tool": "s__ask"}]}),
        json!({"calls": {"tool": "s__ask", "arguments": {}}}),
    ] {
        let told = text(&raw(&world, &arguments).await);
        assert!(told.starts_with("INVALID ARGUMENTS: "), "{told}");
    }
    assert_eq!((world.desk.n_asked(), world.server.made().len()), (0, 0));
    assert!(world.story().iter().all(|it| it == "intent deny"), "{:?}", world.story());
}

#[tokio::test]
async fn a_plan_of_free_calls_asks_nobody() {
    let world = World::approving();
    let told = plan(&world, &[("s__free", json!({"n": 1}))]).await;
    assert_eq!(told, "None of these calls needs approval: make them.");
    assert_eq!((world.desk.n_asked(), world.story()), (0, vec!["intent allow".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn an_approval_ends_after_ten_minutes() {
    for (seconds, n_asked) in [(600, 1), (601, 2)] {
        let world = World::approving();
        plan(&world, &[("s__ask", json!({"n": 1}))]).await;
        world.clock.pass(Duration::from_secs(seconds));
        world.says("done");
        world.text("ask", r#"{"n":1}"#).await;
        assert_eq!(world.desk.n_asked(), n_asked, "{seconds}");
    }
}

/// A no, an answer to something else, and a desk where nobody is approve nothing.
#[tokio::test]
async fn without_a_yes_to_these_very_calls_each_is_asked_about() {
    let denying = |question: &ic_escalation::Question| {
        Ok(Some(said(Decision::Denied, question.digest(), question.request().created_at)))
    };
    let other = |question: &ic_escalation::Question| {
        let at = question.request().created_at;
        Ok(Some(said(Decision::Approved, Digest::of(b"anything"), at)))
    };
    for world in [World::of(Parts::new(denying)), World::of(Parts::new(other))] {
        let told = plan(&world, &[("s__ask", json!({"n": 1}))]).await;
        assert!(told.starts_with("ESCALATION DENIED: "), "{told}");
        let n_asked = world.desk.n_asked();
        world.text("ask", r#"{"n":1}"#).await;
        assert!(n_asked < world.desk.n_asked() && world.server.made().is_empty());
        assert!(world.records().iter().all(|it| it["decidedBy"] != "plan"));
    }
}

/// The question shows what the calls are, resolved and judged by us, and why each needs approval.
#[tokio::test]
async fn the_question_has_the_calls_and_nothing_else() {
    let world = World::of(Parts::new(|question| {
        let request = question.request();
        assert_eq!(
            (request.server.as_str(), request.rule.as_str()),
            ("ironcurtain", "structural-plan")
        );
        let shown = serde_json::to_string(&request.to_json().to_string()).unwrap();
        assert!(shown.contains("a person decides"), "{shown}");
        assert!(ic_escalation::Offer::of_request(request).is_err(), "nothing may be granted");
        Ok(None)
    }));
    let calls = [("s__free", json!({})), ("s__ask", json!({"n": 7}))];
    let mut asking = Box::pin(plan(&world, &calls));
    tokio::select! {
        told = &mut asking => panic!("{told}"),
        () = world.desk.raised.notified() => {}
    }
    world.desk.answer(Decision::Approved);
    assert!(asking.await.starts_with("APPROVED: the 1 call that needs approval"));
}

/// It is listed beside the tools of servers, and no server's tool can take its name.
#[tokio::test]
async fn it_is_offered_like_a_tool() {
    let world = World::new();
    let tools = world.broker.list_by_server().await;
    let last = tools.last().unwrap();
    assert_eq!((last.server.as_str(), last.name.as_str()), ("ironcurtain", REQUEST_APPROVAL));
    assert!(world.broker.list_tools().await.text().contains(REQUEST_APPROVAL));
}
