//! Many calls at once: their ids, their limit, their order, and that they can be taken back.

use std::io::Write as _;

use ic_testkit::Proxy;
use serde_json::{Value, json};

use super::{Rig, rig};

const INVALID_REQUEST: i64 = -32_600;

/// Begins a slow call and waits until the server has it.
#[track_caller]
fn begin(proxy: &mut Proxy, server: &str, name: &str) -> String {
    let id = proxy.ask_call(&format!("{server}__slow"), &json!({"name": name}));
    began(proxy, name);
    id
}

#[track_caller]
fn began(proxy: &mut Proxy, name: &str) {
    proxy.notification("notifications/message", &format!("began {name}."));
}

fn cancel(proxy: &mut Proxy, id: &Value) {
    proxy.notify("notifications/cancelled", &json!({"requestId": id, "reason": "changed my mind"}));
}

impl Rig {
    /// Lets slow calls be answered, without a call.
    pub(super) fn release(&self, server: &str, names: &[&str]) {
        let mut fifo = std::fs::OpenOptions::new()
            .write(true)
            .open(self.place.path(server).join("release"))
            .unwrap();
        for name in names {
            writeln!(fifo, "{name}").unwrap();
        }
    }
}

/// An answer under an id that is taken would be read as the answer to the other call.
#[test]
fn an_id_in_flight_cannot_be_used_again() {
    let rig = rig();
    let mut proxy = rig.start();
    let slow = |id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"rec__slow","arguments":{{"name":{id:?}}}}}}}"#
        )
    };
    proxy.send_line(&slow("77"));
    proxy.notification("notifications/message", "began 77.");
    for method in ["tools/call", "tools/list", "ping", "initialize", "made/up"] {
        proxy.send_line(&format!(
            r#"{{"jsonrpc":"2.0","id":77,"method":"{method}","params":{{"name":"rec__echo"}}}}"#
        ));
        let (code, message) = proxy.answer("null").error();
        assert_eq!(
            (code, &*message),
            (INVALID_REQUEST, "the id 77 belongs to a request that still runs")
        );
    }
    // The text is another id.
    proxy.send_line(r#"{"jsonrpc":"2.0","id":"77","method":"ping"}"#);
    assert_eq!(proxy.answer("\"77\"").result(), json!({}));
    rig.release("rec", &["77"]);
    assert_eq!(proxy.answer("77").good(), "released 77");
    // Once it is answered, the id is free.
    for _ in 0..3 {
        proxy.send_line(
            r#"{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"rec__rich"}}"#,
        );
        proxy.answer("77").result();
    }
    rig.check_unharmed(&mut proxy, "ids");
    proxy.finish();
}

#[test]
fn more_calls_than_the_limit_are_refused_and_never_passed_on() {
    let rig = rig();
    let mut proxy = rig.start();
    let names: Vec<String> = (0..256).map(|n| format!("n{n}")).collect();
    let ids: Vec<String> =
        names.iter().map(|name| proxy.ask_call("rec__slow", &json!({"name": name}))).collect();
    rig.wait_for_calls("rec", 256);
    for tool in ["rec__echo", "rec__slow", "rec__forbidden", "nobody__x"] {
        let (code, message) = proxy.call(tool, &json!({"name": "beyond"})).error();
        assert_eq!((code, &*message), (INVALID_REQUEST, "more than 256 requests run at once"));
    }
    let (code, _) = proxy.request("tools/list", &json!({})).error();
    assert_eq!(code, INVALID_REQUEST);
    assert_eq!(proxy.request("ping", &json!({})).result(), json!({}));
    assert_eq!(rig.received().len(), 256, "not one more");
    assert_eq!(rig.intents("deny").len(), 5);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    rig.release("rec", &names);
    for (id, name) in ids.iter().zip(names) {
        assert_eq!(proxy.answer(id).good(), format!("released {name}"));
    }
    rig.check_unharmed(&mut proxy, "the crowd");
    proxy.finish();
}

#[test]
fn a_cancelled_call_ends_at_the_backend_and_is_not_answered() {
    let rig = rig();
    let mut proxy = rig.start();
    let id = begin(&mut proxy, "rec", "x");
    let received: Value =
        serde_json::from_str(rig.lines("rec", "received").last().unwrap()).unwrap();
    cancel(&mut proxy, &json!(id.parse::<u64>().unwrap()));
    // Under the id that the backend knows, and that is none of the client's.
    let expected = format!("cancelled {} x", received["id"]);
    proxy.notification("notifications/message", &expected);
    rig.check_unharmed(&mut proxy, "cancelling");
    assert!(proxy.unread().iter().all(|it| it.method().is_some()), "it was answered");
    let records = rig.records();
    let outcome =
        records.iter().find(|it| it["kind"] == "outcome" && it["tool"] == "slow").unwrap();
    assert_eq!(outcome["reason"], "cancelled by the client");
    proxy.finish();
}

/// What cannot be cancelled is not, and nothing else is harmed by it.
#[test]
fn cancelling_what_does_not_run_changes_nothing() {
    let rig = rig();
    let mut proxy = rig.start();
    let finished = proxy.ask_call("rec__echo", &json!({"value": 0}));
    proxy.answer(&finished).good();
    let running = begin(&mut proxy, "rec", "running");
    let finished: u64 = finished.parse().unwrap();
    let running_number: u64 = running.parse().unwrap();
    for id in [
        json!(1),                          // `initialize`
        json!(finished),                   // has been answered
        json!(12345),                      // never was
        json!(running_number.to_string()), // another type than the one that runs
        json!(null),
        json!({}),
        json!([running_number]),
        json!(1.5),
        json!("x".repeat(300)),
    ] {
        cancel(&mut proxy, &id);
    }
    proxy.notify("notifications/cancelled", &json!({}));
    proxy.send_line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#);
    rig.check_unharmed(&mut proxy, "cancelling");
    rig.release("rec", &["running"]);
    assert_eq!(proxy.answer(&running).good(), "released running");
    // Twice, and once more when it is over.
    let twice = begin(&mut proxy, "rec", "twice");
    for _ in 0..3 {
        cancel(&mut proxy, &json!(twice.parse::<u64>().unwrap()));
    }
    proxy.notification("notifications/message", "cancelled");
    rig.check_unharmed(&mut proxy, "cancelling twice");
    let cancelled =
        rig.lines("rec", "received").iter().filter(|it| it.contains("cancelled")).count();
    assert_eq!(cancelled, 1, "the backend was told once, and of nothing else");
    proxy.finish();
}

#[test]
fn a_serial_server_gets_calls_in_order_and_one_at_a_time() {
    let rig = rig().recorder("one").with("one", "serial", json!(true));
    let mut proxy = rig.start();
    let first = begin(&mut proxy, "one", "a");
    let others: Vec<String> = ["b", "c", "d"]
        .iter()
        .map(|name| proxy.ask_call("one__slow", &json!({"name": name})))
        .collect();
    // Others do not wait for it.
    for n in 0..20 {
        rig.check_unharmed(&mut proxy, &format!("waiting {n}"));
    }
    let n_slow =
        || rig.lines("one", "received").iter().filter(|it| it.contains("\"slow\"")).count();
    assert_eq!(n_slow(), 1, "the second one was sent before the first was answered");
    rig.release("one", &["a"]);
    assert_eq!(proxy.answer(&first).good(), "released a");
    for (n_before, (id, name)) in others.iter().zip(["b", "c", "d"]).enumerate() {
        began(&mut proxy, name);
        assert_eq!(n_slow(), n_before + 2);
        rig.release("one", &[name]);
        assert_eq!(proxy.answer(id).good(), format!("released {name}"));
    }
    proxy.finish();
}

/// A call that is taken back while it waits in line does not let the next one pass those before it.
#[test]
fn cancelling_a_waiting_call_keeps_the_line_in_order() {
    let rig = rig().recorder("one").with("one", "serial", json!(true));
    let mut proxy = rig.start();
    let first = begin(&mut proxy, "one", "a");
    let [second, third, fourth] =
        ["b", "c", "d"].map(|name| proxy.ask_call("one__slow", &json!({"name": name})));
    for id in [second, third] {
        cancel(&mut proxy, &json!(id.parse::<u64>().unwrap()));
    }
    for n in 0..20 {
        rig.check_unharmed(&mut proxy, &format!("waiting {n}"));
    }
    let slow = |it: &String| it.contains("\"slow\"");
    assert_eq!(rig.lines("one", "received").iter().filter(|it| slow(it)).count(), 1);
    rig.release("one", &["a"]);
    assert_eq!(proxy.answer(&first).good(), "released a");
    began(&mut proxy, "d");
    rig.release("one", &["d"]);
    assert_eq!(proxy.answer(&fourth).good(), "released d");
    let received = rig.lines("one", "received");
    assert!(!received.iter().any(|it| it.contains("\"b\"") || it.contains("\"c\"")));
    proxy.finish();
}

/// Answers that come in another order than the questions find their way.
#[test]
fn answers_out_of_order_reach_their_own_requests() {
    let rig = rig();
    let mut proxy = rig.start();
    let names: Vec<String> = (0..40).map(|n| format!("n{n}")).collect();
    let ids: Vec<String> =
        names.iter().map(|name| proxy.ask_call("rec__slow", &json!({"name": name}))).collect();
    rig.wait_for_calls("rec", 40);
    for (id, name) in ids.iter().zip(&names).rev() {
        rig.release("rec", &[name]);
        assert_eq!(proxy.answer(id).good(), format!("released {name}"));
    }
    proxy.finish();
}
