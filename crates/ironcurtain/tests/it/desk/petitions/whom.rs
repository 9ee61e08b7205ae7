//! Whom a server asks: the one client for which it works, if that one said that it can be asked.

use ic_testkit::proxy::Reads;
use ic_testkit::{Caller, Proxy};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::super::{Desk, approve};
use super::{World, answers, form, may_ask, said, sampling, script};
use crate::proxy::until;

#[test]
fn a_client_that_did_not_say_so_is_not_asked() {
    for (capabilities, message) in [
        (json!({}), sampling(&json!(1), "x")),
        (json!({"sampling": {}}), form(&json!(1), "x")),
        (json!({"elicitation": {"url": {}}}), form(&json!(1), "x")),
        (json!({"sampling": true, "roots": {}}), sampling(&json!(1), "x")),
    ] {
        let mut world = World::new(&may_ask());
        let mut proxy = world.start_as(&capabilities);
        let id = script(&mut proxy, &[message], 1);
        let error = answers(&mut proxy, &id)[0]["error"].take();
        assert!(
            error["message"].as_str().unwrap().contains("has not said that it supports"),
            "{error}"
        );
        assert!(world.desk.pending().is_empty() && proxy.unread().is_empty());
        proxy.finish();
    }
}

/// In that revision a server asks with a result, and no request goes to a client.
#[test]
fn a_client_of_the_newest_revision_is_not_asked() {
    let world = World::new(&may_ask());
    let arguments: Vec<&str> = world.arguments.iter().map(String::as_str).collect();
    let mut proxy = Proxy::start_reading(&world.desk.place, &arguments, Reads::Everything);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"sampling": {}, "elicitation": {}}});
    let call = json!({"name": "asker__script", "_meta": meta,
        "arguments": {"send": [sampling(&json!(1), "x")], "wait": 1}});
    let id = proxy.ask("tools/call", &call);
    let error = answers(&mut proxy, &id)[0]["error"].take();
    assert_eq!(error["code"], -32000);
    assert!(proxy.unread().is_empty());
    proxy.finish();
}

/// Starts a proxy for two clients on one socket, both of whom can be asked.
fn shared(world: &World) -> (Proxy, [Caller; 2]) {
    let socket = world.desk.place.path("sockets/proxy.sock");
    let mut arguments: Vec<&str> = world.arguments.iter().map(String::as_str).collect();
    arguments.extend(["--socket", socket.to_str().unwrap()]);
    let proxy = Proxy::start(&world.desk.place, &arguments);
    let begin = |name| Caller::begin_as(&socket, name, &json!({"sampling": {}}));
    (proxy, ["ada", "bob"].map(begin))
}

#[test]
fn of_several_clients_the_one_whose_call_it_is_is_asked_or_nobody() {
    let mut world = World::new(&may_ask());
    let (mut proxy, [mut ada, mut bob]) = shared(&world);
    let ask = |text: &str| json!({"send": [sampling(&json!(text), text)], "wait": 1});
    // Both have a call at the server, so it could be about either.
    let id = ada.ask_call("asker__script", &ask("first"));
    let question = world.desk.question();
    let of_both = bob
        .ask_call("asker__script", &json!({"send": [sampling(&json!("both"), "both")], "wait": 1}));
    // The server counts answers for its oldest call.
    let came: Vec<Value> = serde_json::from_str(&ada.answer(&id).good()).unwrap();
    let error = &came[0]["error"];
    assert!(error["message"].as_str().unwrap().contains("several clients"), "{came:?}");
    // With its call the question of the first one is over, and the call of the other one still runs.
    drop(question);
    world.desk.questions(0);
    let other = bob.ask_call("asker__script", &ask("second"));
    let question = world.desk.question();
    assert_eq!(question.request().client.as_deref(), Some("bob"));
    approve(&question);
    let request = bob.notification("sampling/createMessage", "second");
    let line = json!({"jsonrpc": "2.0", "id": request.json()["id"], "result": said("to bob")});
    bob.send_line(&line.to_string());
    let came: Vec<Value> = serde_json::from_str(&bob.answer(&of_both).good()).unwrap();
    let mut results: Vec<String> = came.iter().map(Value::to_string).collect();
    results.sort();
    assert!(!results.is_empty());
    assert!(ada.unread().iter().all(|it| it.method() != Some("sampling/createMessage")));
    drop((ada, bob, other));
    proxy.signal(Signal::TERM);
    assert_eq!(proxy.end(), 0, "{}", proxy.stderr());
    world.desk.check_log();
}

/// The server need not heed that a call was taken back, and may ask for it afterwards.
#[test]
fn what_a_client_took_back_is_asked_of_no_other_client() {
    for has_left in [false, true] {
        let mut world = World::new(&may_ask());
        let (mut proxy, [mut ada, mut bob]) = shared(&world);
        // Ada's call runs; what Bob told the server is asked once he has taken his call back.
        let holds = ada.ask_call("asker__script", &json!({"mute": true}));
        let secret = json!({"later": [sampling(&json!("q"), "what Bob said")], "mute": true});
        let of_bob = bob.ask_call("asker__script", &secret);
        until("both have come", || {
            world.received().iter().filter(|it| it["method"] == "tools/call").count() == 2
        });
        if has_left {
            drop(bob);
        } else {
            let number: u64 = of_bob.parse().unwrap();
            bob.notify("notifications/cancelled", &json!({"requestId": number}));
        }
        // The server, and whoever reads the log, hear what happened and what helps.
        let says_so =
            |said: &str| said.contains("took back a call") && said.contains("started anew");
        until("it is refused", || {
            let received = world.received();
            let told = received.iter().find(|it| it["id"] == "q").map(|it| it["error"].clone());
            told.is_some_and(|it| {
                assert_eq!(it["code"], -32000);
                says_so(it["message"].as_str().unwrap())
            })
        });
        until("it is recorded", || world.refusals().iter().any(|it| says_so(it)));
        assert!(world.desk.pending().is_empty() && world.recorded().is_empty());
        drop((ada, holds));
        proxy.signal(Signal::TERM);
        assert_eq!(proxy.end(), 0, "{}", proxy.stderr());
        world.desk.check_log();
    }
}

/// The built-in agent and scripts are no clients that could be asked.
#[test]
fn in_a_session_of_our_own_there_is_nobody_to_ask() {
    let world = World::at(Desk::empty(), &may_ask());
    let ask = sampling(&json!(1), "x");
    let text = format!("asker.script({{send: [{ask}], wait: 1}})");
    let file = world.desk.place.write("ask.ts", text);
    let servers = std::fs::read_to_string(world.desk.place.path("servers.json")).unwrap();
    world.desk.place.write("home/.ironcurtain/mcp-servers.json", servers);
    let policy = world.desk.place.path("policy");
    let words = ["run", "--policy", policy.to_str().unwrap(), file.to_str().unwrap()];
    let ran = world.desk.place.run(words);
    assert!(ran.stdout.contains("no client waits for a call"), "{ran:?}");
}

/// It has changed while a call runs: nothing of it is trusted, and it has no other way to speak either.
#[test]
fn a_server_of_which_nothing_is_trusted_asks_nobody() {
    let mut world = World::new(&may_ask());
    let mut proxy = world.start();
    proxy.request("tools/list", &json!({}));
    let later = json!({"later": [sampling(&json!("q"), "x")], "wait": 1});
    let first = proxy.ask_call("asker__script", &later);
    // The first must have come before the tool changes: a call of a changed tool is refused.
    until("the first has come", || world.received().iter().any(|it| it["method"] == "tools/call"));
    let other = proxy.ask_call("asker__script", &json!({"change": true, "wait": 1}));
    proxy.notification("notifications/tools/list_changed", "");
    let take_back = |proxy: &mut Proxy, id: &str| {
        let number: u64 = id.parse().unwrap();
        proxy.notify("notifications/cancelled", &json!({"requestId": number}));
    };
    take_back(&mut proxy, &other);
    until("it is refused", || {
        world.received().iter().any(|it| it["id"] == "q" && it["error"]["code"] == -32000)
    });
    assert!(world.refusals().iter().any(|it| it.contains("not trusted")), "{:?}", world.refusals());
    assert!(world.desk.pending().is_empty() && world.recorded().is_empty());
    // Which of the two calls the server takes the answer for is its own affair; the end waits for neither.
    take_back(&mut proxy, &first);
    proxy.close();
    assert_eq!(proxy.end(), 0, "{}", proxy.stderr());
}
