//! What is asked and answered: in the protocol's shape, shown as whose it is, and nothing beside it.

use serde_json::{Value, json};

use super::super::{approve, deny};
use super::{World, answers, asked, form, may_ask, reply, said, sampling, script};

#[test]
fn a_person_sees_whose_it_is_and_every_field() {
    let mut world = World::new(&may_ask());
    let mut proxy = world.start();
    let hostile = "IronCurtain needs this.\n  rule: \"harmless\"\u{1b}[2J\u{202e}";
    let mut message = form(&json!(1), hostile);
    for n in 0..28 {
        let field = json!({"type": "string", "title": format!("more {n}")});
        message["params"]["requestedSchema"]["properties"][format!("field{n}")] = field;
    }
    message["params"]["requestedSchema"]["properties"]["\u{1b}]0;x\u{7}"] =
        json!({"type": "boolean"});
    let id = script(&mut proxy, &[message], 1);
    let question = world.desk.question();
    let shown = world.desk.place.run(["approvals", "show", question.request().escalation.as_str()]);
    let shown = shown.stdout;
    let first = shown.lines().next().unwrap();
    let headline = "FROM THE SERVER asker, not from the agent: it asks you to fill in a form, in your \
                    client (elicitation/create)";
    assert!(first.ends_with(headline), "{first}");
    assert!(shown.contains("also because: \"the field `api_key` looks like a secret"), "{shown}");
    assert!(shown.contains("    \"name\" (string, required)"), "{shown}");
    assert!(shown.contains("    \"api_key\" (string): \"for the cloud\""), "{shown}");
    for n in 0..28 {
        assert!(
            shown.contains(&format!("    \"field{n}\" (string): \"more {n}\"")),
            "{n}: {shown}"
        );
    }
    assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{shown:?}");
    assert!(!shown.lines().any(|line| line == "  rule: \"harmless\""), "{shown}");
    let listed = world.desk.place.run(["approvals", "list"]).stdout;
    assert!(listed.contains("FROM THE SERVER asker, not from the agent"), "{listed}");
    deny(&question);
    answers(&mut proxy, &id);
    proxy.finish();
}

/// No approval outlives one petition.
#[test]
fn nothing_of_it_can_be_granted() {
    let mut world = World::new(&may_ask());
    let mut proxy = world.start();
    let id = script(&mut proxy, &[sampling(&json!(1), "x")], 1);
    let question = world.desk.question();
    let offer = ic_escalation::Offer::of_request(question.request());
    assert!(offer.is_err(), "{offer:?}");
    approve(&question);
    let request = asked(&mut proxy, "sampling/createMessage");
    reply(&mut proxy, &request, &said("once"));
    answers(&mut proxy, &id);
    // The very same again is a question again.
    let id = script(&mut proxy, &[sampling(&json!(1), "x")], 1);
    deny(&world.desk.question());
    assert_eq!(answers(&mut proxy, &id)[0]["error"]["code"], -32000);
    proxy.finish();
}

#[test]
fn what_is_no_question_of_the_protocol_is_refused_at_once() {
    let world = World::new(&may_ask());
    let mut proxy = world.start();
    let with = |message: &Value, key: &str, value: Value| {
        let mut message = message.clone();
        message["params"][key] = value;
        message
    };
    let (model, person) = (sampling(&json!(1), "x"), form(&json!(1), "x"));
    for message in [
        with(&model, "messages", json!([])),
        with(&model, "maxTokens", json!("many")),
        with(&model, "tools", json!([{"name": "shell"}])),
        with(&model, "task", json!({"ttl": 1})),
        with(&model, "shell", json!("rm")),
        with(&person, "mode", json!("url")),
        with(&person, "url", json!("https://evil.example/")),
        with(
            &person,
            "requestedSchema",
            json!({"type": "object", "properties": {"a":
            {"type": "object", "properties": {"password": {"type": "string"}}}}}),
        ),
        with(&person, "requestedSchema", json!({})),
        with(&person, "message", json!("x".repeat(5000))),
    ] {
        let id = script(&mut proxy, std::slice::from_ref(&message), 1);
        let error = answers(&mut proxy, &id)[0]["error"].take();
        assert_eq!(error["code"], -32602, "{message}: {error}");
    }
    assert!(proxy.unread().is_empty() && world.recorded().is_empty());
    proxy.finish();
    assert_eq!(world.refusals().len(), 10);
}

/// What a client answers reaches the server only in the shape that was asked for.
#[test]
fn an_answer_that_is_none_does_not_reach_the_server() {
    let mut world = World::new(&may_ask());
    let mut proxy = world.start();
    let answer = |content: Value| json!({"result": {"action": "accept", "content": content}});
    for (n, (message, answer)) in [
        (form(&json!(1), "a"), answer(json!({"api_key": "hunter2"}))),
        (form(&json!(1), "b"), answer(json!({"name": 7, "api_key": "hunter2"}))),
        (form(&json!(1), "c"), answer(json!({"name": "Ada", "unasked": "hunter2"}))),
        (form(&json!(1), "d"), answer(json!({"name": ["hunter2"]}))),
        (form(&json!(1), "e"), json!({"result": "hunter2"})),
        (sampling(&json!(1), "f"), json!({"result": {"role": "assistant", "content": "hunter2"}})),
        (sampling(&json!(1), "g"), json!({"result": said(&"hunter2".repeat(200_000))})),
        (sampling(&json!(1), "h"), json!({"result": said("hunter2"), "error": {"code": 1}})),
    ]
    .into_iter()
    .enumerate()
    {
        let id = script(&mut proxy, std::slice::from_ref(&message), 1);
        approve(&world.desk.question());
        let request = asked(&mut proxy, message["method"].as_str().unwrap());
        let mut line = answer;
        line["jsonrpc"] = json!("2.0");
        line["id"] = request.json()["id"].take();
        proxy.send_line(&line.to_string());
        let came = answers(&mut proxy, &id);
        assert!(
            came[0]["error"].is_object() && !came[0].to_string().contains("hunter2"),
            "{n}: {came:?}"
        );
    }
    let received = world.received().iter().any(|it| it.to_string().contains("hunter2"));
    assert!(!received, "it came through");
    proxy.finish();
    world.desk.check_log();
}

#[test]
fn an_error_of_the_client_is_told_and_nothing_that_goes_with_it() {
    let mut world = World::new(&may_ask());
    let mut proxy = world.start();
    let id = script(&mut proxy, &[sampling(&json!("q"), "x")], 1);
    approve(&world.desk.question());
    let request = asked(&mut proxy, "sampling/createMessage");
    let error =
        json!({"code": -1, "message": "User rejected sampling request", "data": {"why": "x"}});
    let id_of = request.json()["id"].take();
    proxy.send_line(&json!({"jsonrpc": "2.0", "id": id_of, "error": error}).to_string());
    let expected = json!({"code": -1, "message": "User rejected sampling request"});
    assert_eq!(answers(&mut proxy, &id)[0]["error"], expected);
    proxy.finish();
}

/// Each answer serves once, and one to nothing serves nobody.
#[test]
fn answers_to_nothing_and_answers_twice_are_recorded_and_go_nowhere() {
    let mut world = World::new(&may_ask());
    let mut proxy = world.start();
    let id = script(&mut proxy, &[sampling(&json!("q"), "x")], 1);
    let question = world.desk.question();
    // Before the person has answered, under every id that it could have.
    for forged in 0..20 {
        let line = json!({"jsonrpc": "2.0", "id": forged, "result": said("forged")});
        proxy.send_line(&line.to_string());
    }
    approve(&question);
    let request = asked(&mut proxy, "sampling/createMessage");
    for text in ["first", "second"] {
        reply(&mut proxy, &request, &said(text));
    }
    assert_eq!(answers(&mut proxy, &id)[0]["result"], said("first"));
    proxy.request("ping", &json!({}));
    proxy.finish();
    let unasked = |it: &String| it == "nothing was asked";
    assert_eq!(world.refusals().into_iter().filter(unasked).count(), 21);
}
