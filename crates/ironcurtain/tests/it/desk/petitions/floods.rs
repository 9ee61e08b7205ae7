//! Much of it: a person is asked a few questions, and everybody else is served as before.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::super::deny;
use super::{World, answers, may_ask, sampling, script};
use crate::proxy::until;

#[test]
fn a_thousand_questions_are_four_questions() {
    let mut world = World::new(&may_ask());
    let mut proxy = world.start();
    let many: Vec<Value> =
        (0..900).map(|n| sampling(&json!(n), &format!("question {n}"))).collect();
    let id = script(&mut proxy, &many, 200);
    let questions = world.desk.questions(4);
    let came = answers(&mut proxy, &id);
    assert!(came.iter().all(|it| it["error"]["code"] == -32000), "{came:?}");
    // The call is over, and so are its questions.
    world.desk.questions(0);
    drop(questions);
    proxy.request("ping", &json!({}));
    assert!(proxy.unread().is_empty());
    proxy.finish();
    world.desk.check_log();
}

#[test]
fn ten_within_a_minute_are_asked() {
    let mut world = World::new(&may_ask());
    let mut proxy = world.start();
    for n in 0..10 {
        let id = script(&mut proxy, &[sampling(&json!(n), &format!("question {n}"))], 1);
        deny(&world.desk.question());
        answers(&mut proxy, &id);
    }
    let id = script(&mut proxy, &[sampling(&json!(10), "one more")], 1);
    let error = answers(&mut proxy, &id)[0]["error"].take();
    assert!(error["message"].as_str().unwrap().contains("ask 10 within"), "{error}");
    assert!(world.desk.pending().is_empty());
    proxy.finish();
}

/// A server that ends itself and is started again is the same server.
#[test]
fn a_server_that_starts_anew_has_asked_as_often_as_before() {
    let mut world = World::new(&may_ask());
    let mut proxy = world.start();
    let with_tools = |n: usize| {
        let mut message = sampling(&json!(n), "x");
        message["params"]["tools"] = json!([]);
        message
    };
    for n in 0..10 {
        let id = script(&mut proxy, &[with_tools(n)], 1);
        assert_eq!(answers(&mut proxy, &id)[0]["error"]["code"], -32602);
    }
    let dies = proxy.ask_call("asker__script", &json!({"die": true}));
    proxy.answer(&dies).bad();
    until("it runs again", || {
        let id = script(&mut proxy, &[], 0);
        let answer = proxy.answer(&id);
        answer.result()["isError"] != json!(true)
    });
    let id = script(&mut proxy, &[sampling(&json!("q"), "x")], 1);
    let error = answers(&mut proxy, &id)[0]["error"].take();
    assert!(error["message"].as_str().unwrap().contains("ask 10 within"), "{error}");
    assert!(world.desk.pending().is_empty());
    proxy.finish();
}

/// It does not wear the person down with one variation after the other.
#[test]
fn after_a_no_nothing_more_is_asked_for_that_call() {
    let mut world = World::new(&may_ask());
    let mut proxy = world.start();
    let holds = script(&mut proxy, &[sampling(&json!("q"), "one")], 2);
    deny(&world.desk.question());
    until("it is told", || world.received().iter().any(|it| it["id"] == "q"));
    let id = script(&mut proxy, &[sampling(&json!("r"), "another")], 0);
    answers(&mut proxy, &id);
    let came = answers(&mut proxy, &holds);
    let message = came[1]["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("the user denied") && message.contains("while that call runs"),
        "{came:?}"
    );
    assert!(world.desk.pending().is_empty());
    // With the call that is over.
    let id = script(&mut proxy, &[sampling(&json!("s"), "a third")], 1);
    deny(&world.desk.question());
    answers(&mut proxy, &id);
    proxy.finish();
    world.desk.check_log();
}

#[test]
fn one_id_is_one_question_and_a_giant_is_none() {
    let mut world = World::new(&may_ask());
    let mut proxy = world.start();
    let twins = [
        sampling(&json!("q"), "one"),
        sampling(&json!("q"), "two"),
        sampling(&json!("r"), "three"),
    ];
    let id = script(&mut proxy, &twins, 2);
    let questions = world.desk.questions(2);
    let shown: HashSet<String> = questions
        .iter()
        .map(|it| it.request().arguments.get("messages").unwrap().to_string())
        .collect();
    assert!(!shown.iter().any(|it| it.contains("two")), "{shown:?}");
    questions.iter().for_each(deny);
    assert_eq!(answers(&mut proxy, &id).len(), 2);
    let giant = sampling(&json!("g"), &"x".repeat(1_100_000));
    let id = script(&mut proxy, &[giant], 1);
    let error = answers(&mut proxy, &id)[0]["error"].take();
    assert!(error["message"].as_str().unwrap().contains("more than 1048576 bytes"), "{error}");
    assert!(world.desk.pending().is_empty());
    proxy.finish();
    world.desk.check_log();
}
