//! Calls that lead to other calls: each is judged and recorded by itself.

use ic_backend::backend::Next;
use ic_backend::testing::Reaction;

use crate::world::{World, object};

fn next(arguments: &str) -> Next {
    Next {
        arguments: object(arguments),
        brought: None,
        because: "it led on".to_owned(),
        rule: "structural-led",
        refusal: None,
        too_many: |n| format!("{n} were enough"),
    }
}

#[tokio::test]
async fn a_call_that_leads_to_another_is_two_calls() {
    let world = World::new();
    world.server.then(Reaction::LeadsTo(next(r#"{"n":2}"#)));
    world.says("there");
    assert_eq!(world.text("free", r#"{"n":1}"#).await, "there");
    let sent: Vec<_> = world.server.made().into_iter().map(|it| it.sent).collect();
    assert_eq!(sent, [r#"{"n":1}"#, r#"{"n":2}"#]);
    assert_eq!(world.story(), ["intent allow", "outcome", "intent allow", "outcome"]);
    let records = world.records();
    let told = records[1]["reason"].as_str().unwrap();
    let id = records[2]["requestId"].as_str().unwrap();
    assert_eq!(told, format!("it led on, which is the request {id}"));
}

#[tokio::test]
async fn where_a_call_leads_is_judged_whatever_was_said_of_the_first() {
    let world = World::new();
    world.server.then(Reaction::LeadsTo(next(r#"{"n":"no number"}"#)));
    let said = world.text("free", r#"{"n":1}"#).await;
    assert!(said.starts_with("INVALID ARGUMENTS: "), "{said}");
    assert_eq!(world.server.made().len(), 1);
    assert_eq!(world.story(), ["intent allow", "outcome", "intent deny"]);
}

#[tokio::test]
async fn what_is_never_followed_is_refused_before_the_policy_is_asked() {
    let world = World::new();
    let refusal = Some("not there".to_owned());
    world.server.then(Reaction::LeadsTo(Next { refusal, ..next(r#"{"n":2}"#) }));
    let said = world.text("free", r#"{"n":1}"#).await;
    assert_eq!(said, "DENIED: not there");
    assert_eq!(world.records()[2]["rule"], "structural-led");
    assert_eq!(world.server.made().len(), 1);
}

#[tokio::test]
async fn it_leads_five_times_and_no_further() {
    let world = World::new();
    for n in 0..10 {
        world.server.then(Reaction::LeadsTo(next(&format!(r#"{{"n":{n}}}"#))));
    }
    assert_eq!(world.text("free", r#"{"n":100}"#).await, "DENIED: 5 were enough");
    assert_eq!(world.server.made().len(), 6);
}

/// A page that changes behind a redirect is progress; one that does not is no progress.
#[tokio::test]
async fn the_whole_way_is_what_a_call_came_to() {
    let world = World::new();
    for n in 0..20 {
        world.server.then(Reaction::LeadsTo(next(&format!(r#"{{"n":{n}}}"#))));
        world.says("the same");
        assert_eq!(world.text("free", r#"{"n":100}"#).await, "the same");
    }
    assert!(world.text("free", r#"{"n":100}"#).await.starts_with("CIRCUIT BREAKER: "));
}
