//! What a person typed, word for word, needs no question: that very call, once.

use ic_backend::backend::Next;
use ic_backend::testing::Reaction;
use ic_escalation::DeskError;
use ic_types::ToolCall;

use crate::world::{Parts, World, asked, object, text};

fn call(tool: &str, arguments: &str) -> ToolCall {
    let (server, tool) = ("s".parse().unwrap(), tool.parse().unwrap());
    ToolCall { server, tool, arguments: object(arguments) }
}

fn world() -> World {
    World::of(Parts::new(|_| Err(DeskError::Closed)))
}

#[tokio::test]
async fn what_a_person_typed_is_made_without_a_question() {
    let world = world();
    world.says("done");
    let flight = world.flight("ask").dangerously_typed(&call("ask", r#"{"n":1}"#));
    let reply = world.broker.call(asked("ask", r#"{"n":1}"#), flight).await;
    assert_eq!(text(&reply), "done");
    assert_eq!(world.desk.n_asked(), 0);
    assert_eq!(world.records()[2]["decidedBy"], "user");
}

#[tokio::test]
async fn it_answers_for_that_very_call_and_for_no_other() {
    for typed in [call("ask", r#"{"n":2}"#), call("ask", "{}"), call("free", r#"{"n":1}"#)] {
        let world = world();
        world.says("done");
        let flight = world.flight("ask").dangerously_typed(&typed);
        let reply = world.broker.call(asked("ask", r#"{"n":1}"#), flight).await;
        assert!(text(&reply).starts_with("ESCALATION DENIED: "), "{reply:?}");
        assert_eq!(world.server.made(), []);
    }
}

#[tokio::test]
async fn what_is_denied_stays_denied() {
    let world = world();
    let flight = world.flight("never").dangerously_typed(&call("never", "{}"));
    let reply = world.broker.call(asked("never", "{}"), flight).await;
    assert!(text(&reply).starts_with("DENIED: "), "{reply:?}");
}

#[tokio::test]
async fn where_the_call_leads_is_not_what_was_typed() {
    let world = world();
    world.server.then(Reaction::LeadsTo(Next {
        arguments: object(r#"{"n":2}"#),
        brought: None,
        because: "it led on".to_owned(),
        rule: "structural-led",
        refusal: None,
        too_many: |n| n.to_string(),
    }));
    world.says("done");
    let flight = world.flight("ask").dangerously_typed(&call("ask", r#"{"n":1}"#));
    let reply = world.broker.call(asked("ask", r#"{"n":1}"#), flight).await;
    assert!(text(&reply).starts_with("ESCALATION DENIED: "), "{reply:?}");
    assert_eq!((world.server.made().len(), world.desk.n_asked()), (1, 1));
}
