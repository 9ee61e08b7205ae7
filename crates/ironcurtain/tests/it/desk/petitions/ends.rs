//! A petition ends with its server, its client and its call, and takes its question along.

use ic_testkit::{Caller, Proxy};
use rustix::process::Signal;
use serde_json::json;

use super::super::approve;
use super::{World, answers, asked, form, may_ask, reply, said, sampling, script};
use crate::proxy::until;

#[test]
fn what_a_server_takes_back_is_asked_no_more() {
    let mut world = World::new(&may_ask());
    let mut proxy = world.start();
    let take_back = json!({"method": "notifications/cancelled", "params": {"requestId": "q"}});
    // While a person is asked: nobody hears of it, and the server gets no answer.
    let id = script(&mut proxy, &[sampling(&json!("q"), "x"), take_back.clone()], 0);
    assert!(answers(&mut proxy, &id).is_empty());
    world.desk.questions(0);
    until("it is recorded", || {
        world.desk.events("escalation").last().is_some_and(|it| it == "withdrawn")
            || world.desk.events("escalation").is_empty()
    });
    // While the client is asked: it is told.
    let id = script(&mut proxy, &[sampling(&json!("q"), "y")], 1);
    approve(&world.desk.question());
    let request = asked(&mut proxy, "sampling/createMessage");
    let other = script(&mut proxy, &[take_back], 0);
    answers(&mut proxy, &other);
    let told = proxy.notification("notifications/cancelled", "requestId").json();
    assert_eq!(told["params"]["requestId"], request.json()["id"]);
    // An answer comes too late, and goes nowhere.
    reply(&mut proxy, &request, &said("late"));
    proxy.request("ping", &json!({}));
    let number: u64 = id.parse().unwrap();
    proxy.notify("notifications/cancelled", &json!({"requestId": number}));
    proxy.finish();
    assert!(!world.received().iter().any(|it| it.to_string().contains("late")));
    world.desk.check_log();
}

#[test]
fn a_call_that_is_over_has_no_questions() {
    let mut world = World::new(&may_ask());
    let mut proxy = world.start();
    // It asks after it has answered.
    let late = json!({"send": [sampling(&json!("q"), "x")], "late": true});
    assert_eq!(proxy.call("asker__script", &late).good(), "answered first");
    until("it is refused", || {
        world.refusals().iter().any(|it| it.contains("no client waits for a call"))
    });
    assert!(world.desk.pending().is_empty());
    // It answers while a person is asked, or while the client is.
    let id = script(&mut proxy, &[sampling(&json!("r"), "x")], 0);
    answers(&mut proxy, &id);
    world.desk.questions(0);
    // The client takes the call back.
    let id = script(&mut proxy, &[form(&json!("s"), "x")], 1);
    world.desk.question();
    let number: u64 = id.parse().unwrap();
    proxy.notify("notifications/cancelled", &json!({"requestId": number}));
    world.desk.questions(0);
    until("the server is told", || {
        world.received().iter().any(|it| it["id"] == "s" && it["error"]["code"] == -32000)
    });
    assert!(!proxy.unread().iter().any(|it| it.method().is_some()));
    proxy.finish();
    world.desk.check_log();
}

#[test]
fn a_server_that_dies_takes_its_questions_along() {
    let mut world = World::new(&may_ask());
    let mut proxy = world.start();
    let id = script(&mut proxy, &[sampling(&json!("q"), "x")], 1);
    world.desk.question();
    let dies = proxy.ask_call("asker__script", &json!({"die": true}));
    proxy.answer(&dies).bad();
    proxy.answer(&id).bad();
    world.desk.questions(0);
    // And what the client was asked.
    until("it runs again", || {
        let id = script(&mut proxy, &[], 0);
        let answer = proxy.answer(&id);
        answer.result()["isError"] != json!(true)
    });
    let id = script(&mut proxy, &[sampling(&json!("q"), "y")], 1);
    approve(&world.desk.question());
    let request = asked(&mut proxy, "sampling/createMessage");
    let dies = proxy.ask_call("asker__script", &json!({"die": true}));
    proxy.answer(&dies).bad();
    proxy.answer(&id).bad();
    let told = proxy.notification("notifications/cancelled", "requestId").json();
    assert_eq!(told["params"]["requestId"], request.json()["id"]);
    proxy.finish();
    world.desk.check_log();
}

#[test]
fn a_client_that_goes_takes_its_questions_along() {
    let mut world = World::new(&may_ask());
    let mut proxy = world.start();
    script(&mut proxy, &[sampling(&json!("q"), "x")], 1);
    world.desk.question();
    proxy.close();
    world.desk.questions(0);
    assert_eq!(proxy.end(), 0, "{}", proxy.stderr());
    assert!(world.desk.files().is_empty(), "{:?}", world.desk.files());
    world.desk.check_log();
}

#[test]
fn a_client_that_vanishes_while_it_is_asked_leaves_nothing() {
    let mut world = World::new(&may_ask());
    let socket = world.desk.place.path("sockets/proxy.sock");
    let mut arguments: Vec<&str> = world.arguments.iter().map(String::as_str).collect();
    arguments.extend(["--socket", socket.to_str().unwrap()]);
    let mut proxy = Proxy::start(&world.desk.place, &arguments);
    let capabilities = json!({"sampling": {}, "elicitation": {}});
    let mut leaving = Caller::begin_as(&socket, "leaving", &capabilities);
    let call = json!({"send": [sampling(&json!("q"), "x")], "wait": 1});
    leaving.ask_call("asker__script", &call);
    approve(&world.desk.question());
    leaving.notification("sampling/createMessage", "");
    drop(leaving);
    until("the server is told", || {
        world.received().iter().any(|it| it["id"] == "q" && it["error"]["code"] == -32000)
    });
    proxy.signal(Signal::TERM);
    assert_eq!(proxy.end(), 0, "{}", proxy.stderr());
    let outcome = world.recorded().pop().unwrap();
    assert_eq!(outcome["kind"], "outcome");
    world.desk.check_log();
}
