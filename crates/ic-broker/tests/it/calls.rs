//! One call, from what was asked to what is answered and recorded.

use std::sync::Arc;
use std::time::Duration;

use ic_backend::backend::NoPlan;
use ic_backend::testing::Reaction;
use ic_broker::broker::Reply;
use ic_mcp::{RpcError, code};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::world::{KEY, World, asked, json_of, result, text};

#[tokio::test]
async fn what_is_allowed_is_recorded_made_and_recorded_again() {
    let world = World::new();
    world.says("done");
    assert_eq!(world.text("free", r#"{"n":1}"#).await, "done");
    let made = world.server.made();
    assert_eq!(made.len(), 1);
    assert_eq!((made[0].tool.as_str(), made[0].sent.as_str()), ("free", r#"{"n":1}"#));
    assert_eq!(world.story(), ["intent allow", "outcome"]);
    let records = world.records();
    assert_eq!(records[0]["requestId"], records[1]["requestId"]);
    assert_eq!(records[0]["requestId"], json!(made[0].request_id));
    assert_eq!(records[0]["confined"], "namespaces");
    assert_eq!(records[0]["decidedBy"], "policy");
}

/// Nothing that is not allowed gets as far as a plan.
#[tokio::test]
async fn what_is_not_allowed_reaches_no_server() {
    for (tool, arguments, expected, story) in [
        ("never", "{}", "DENIED: it is forbidden", &["intent deny"][..]),
        ("strange", "{}", "DENIED: ", &["intent deny"]),
        ("free", r#"{"n":"x"}"#, "INVALID ARGUMENTS: ", &["intent deny"]),
        ("free", r#"{"m":1}"#, "INVALID ARGUMENTS: ", &["intent deny"]),
        ("absent", "{}", "DENIED: the server `s` has no tool", &["intent deny"]),
    ] {
        let world = World::new();
        world.says("done");
        let said = world.text(tool, arguments).await;
        let is_as_expected = said.starts_with(expected) || said.starts_with("DENIED: there is no");
        assert!(is_as_expected, "{tool} {arguments}: {said}");
        assert_eq!(world.server.made(), [], "{tool}");
        assert_eq!(world.story(), story, "{tool}");
    }
}

#[tokio::test]
async fn a_name_of_no_server_is_refused_and_recorded() {
    let world = World::new();
    for name in ["", "s", "s_free", "t__free", "S__free", "s__", "s__free ", "free"] {
        let mut call = asked("free", "{}");
        name.clone_into(&mut call.name);
        let reply = world.broker.call(call, world.flight("free")).await;
        assert!(text(&reply).starts_with("DENIED: "), "{name}: {}", text(&reply));
    }
    assert_eq!(world.server.made(), []);
    assert_eq!(world.story(), ["intent deny"; 8]);
    // There is no field for a name that is none, so it stands among the arguments.
    assert_eq!(world.records()[3]["arguments"]["name"], "t__free");
}

#[tokio::test]
async fn a_server_that_cannot_be_met_is_said_to() {
    let world = World::new();
    world.server.fail("it does not start");
    let said = world.text("free", "{}").await;
    assert!(said.contains("not available: it does not start"), "{said}");
    assert_eq!(world.story(), ["intent deny"]);
    assert_eq!(world.records()[0]["rule"], "server-unavailable");
}

/// Each way in which nobody serves a call has its own words and its own rule.
#[tokio::test]
async fn a_call_that_nobody_serves_says_why() {
    type Why = fn() -> NoPlan;
    let cases: [(Why, &str, &str); 3] = [
        (|| NoPlan::Unseen("it is elsewhere".to_owned()), "CONFINEMENT: it is", "confinement-view"),
        (|| NoPlan::Unavailable("it died".to_owned()), "DENIED: it died", "server-unavailable"),
        (
            || NoPlan::Withheld("it changed".to_owned()),
            "DENIED: the tool `free` of the server `s` is withheld: it changed",
            "structural-identity-changed",
        ),
    ];
    for (why, expected, rule) in cases {
        let world = World::new();
        world.server.then(Reaction::HasNoPlan(why));
        let said = world.text("free", "{}").await;
        assert!(said.starts_with(expected), "{said}");
        assert_eq!(world.records()[0]["rule"], rule);
        assert_eq!((world.server.made().len(), world.story().len()), (0, 1));
    }
}

#[tokio::test]
async fn a_call_that_is_taken_back_before_it_is_served_leaves_a_record_and_no_answer() {
    let world = World::new();
    world.server.then(Reaction::HasNoPlan(|| NoPlan::Cancelled));
    assert!(matches!(world.call("free", "{}").await, Reply::Nothing));
    assert_eq!(world.records()[0]["rule"], "cancelled");
}

/// What cannot be written down is not forwarded, and what was started for it is let go of.
#[tokio::test]
async fn a_log_that_is_closed_lets_nothing_through() {
    let world = World::new();
    world.says("done");
    world.log.close().unwrap();
    let reply = world.call("free", "{}").await;
    assert!(matches!(&reply, Reply::Error(error) if error.code == code::INTERNAL_ERROR));
    assert!(text(&reply).contains("is closed"), "{}", text(&reply));
    assert_eq!(world.server.made(), []);
    assert_eq!(world.server.n_given_up(), 1);
    assert!(world.told.all()[0].contains("is closed"));
    // A denial cannot be written down either.
    assert!(matches!(world.call("never", "{}").await, Reply::Error(_)));
}

#[tokio::test]
async fn a_server_that_dies_leaves_it_open_whether_the_call_was_made() {
    let world = World::new();
    world.server.then(Reaction::Dies("it was killed"));
    let said = world.text("free", "{}").await;
    assert!(said.starts_with("FAILED: it was killed; whether the call was carried out"), "{said}");
    assert_eq!(world.server.made().len(), 1, "it is not sent again");
    assert!(world.records()[1]["reason"].as_str().unwrap().contains("was not sent again"));
}

#[tokio::test(start_paused = true)]
async fn a_call_under_way_that_is_taken_back_ends_at_once() {
    let world = World::new();
    world.server.then(Reaction::IsSilent);
    let cancel = CancellationToken::new();
    let calling = world.broker.call(asked("free", "{}"), world.flight_until("free", &cancel));
    let taking_back = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    };
    let (reply, ()) = tokio::join!(calling, taking_back);
    assert!(matches!(reply, Reply::Nothing));
    assert_eq!(world.records()[1]["reason"], "cancelled by the client");
}

#[tokio::test]
async fn an_error_of_a_server_is_passed_on_within_limits() {
    let world = World::new();
    let long = "x".repeat(20 << 10);
    let error = RpcError { code: -5, message: long, data: Some(json_of(r#"{"a":1}"#)) };
    world.server.then(Reaction::Answers(Err(error)));
    let Reply::Error(error) = world.call("free", "{}").await else { panic!("no error") };
    assert_eq!((error.code, error.message.len()), (-5, 16 << 10));
    assert_eq!(error.data.map(|it| it.to_string()).as_deref(), Some(r#"{"a":1}"#));
    let data = json_of(&format!("[\"{}\"]", "x".repeat(2 << 20)));
    let error = RpcError { code: 1, message: "m".to_owned(), data: Some(data) };
    world.server.then(Reaction::Answers(Err(error)));
    let Reply::Error(error) = world.call("free", "{}").await else { panic!("no error") };
    assert_eq!((error.message.as_str(), error.data), ("m", None), "too much of it is left out");
}

/// It would make a client send the person to an address of the server's choice.
#[tokio::test]
async fn an_error_that_sends_a_person_elsewhere_is_not_passed_on() {
    let world = World::new();
    let data = json_of(r#"{"elicitations":[{"url":"https://evil.example/"}]}"#);
    let (code, message) = (code::URL_ELICITATION_REQUIRED, "go there".to_owned());
    world.server.then(Reaction::Answers(Err(RpcError { code, message, data: Some(data) })));
    let said = world.text("free", "{}").await;
    assert!(said.starts_with("FAILED: ") && !said.contains("evil.example"), "{said}");
}

#[tokio::test]
async fn our_keys_are_in_no_answer_and_in_no_record() {
    let error = |text: &str| RpcError {
        code: 1,
        message: text.to_owned(),
        data: Some(json_of(&json!({ "said": text }).to_string())),
    };
    let spoken = format!("the key is {KEY}.");
    for reaction in [
        Reaction::Answers(Ok(result(&spoken))),
        Reaction::Answers(Err(error(&spoken))),
        Reaction::Dies("sk-ant-REDACTED"),
    ] {
        let world = World::new();
        world.server.then(reaction);
        let reply = format!("{:?}", world.call("free", "{}").await);
        assert!(!reply.contains(KEY), "{reply}");
        let records = format!("{:?}", world.records());
        assert!(!records.contains(KEY), "{records}");
    }
}

#[tokio::test]
async fn what_travels_with_a_call_is_passed_on() {
    let world = World::new();
    world.says("done");
    let mut call = asked("free", "{}");
    call.meta.insert("traceparent", "00-1-2-01");
    world.broker.call(call, world.flight("free")).await;
    assert_eq!(world.server.made()[0].meta, r#"{"traceparent":"00-1-2-01"}"#);
}

#[tokio::test]
async fn the_same_call_with_the_same_result_is_made_twenty_times_and_then_refused() {
    let world = World::new();
    for _ in 0..20 {
        world.says("the same");
        assert_eq!(world.text("free", r#"{"n":1}"#).await, "the same");
    }
    world.says("the same");
    let said = world.text("free", r#"{"n":1}"#).await;
    assert!(said.starts_with("CIRCUIT BREAKER: "), "{said}");
    // Another call is none of it, and time heals.
    assert_eq!(world.text("free", r#"{"n":2}"#).await, "the same");
    world.clock.pass(Duration::from_secs(61));
    world.says("the same");
    assert_eq!(world.text("free", r#"{"n":1}"#).await, "the same");
}

#[tokio::test]
async fn results_that_differ_are_progress() {
    let world = World::new();
    for n in 0..50 {
        world.says(&n.to_string());
        assert_eq!(world.text("free", "{}").await, n.to_string());
    }
}

#[tokio::test]
async fn the_same_denial_is_said_five_times_and_then_in_other_words() {
    let world = World::new();
    for _ in 0..5 {
        assert!(world.text("never", "{}").await.starts_with("DENIED: it is forbidden"));
    }
    assert!(world.text("never", "{}").await.starts_with("CIRCUIT BREAKER: "));
}

#[tokio::test(start_paused = true)]
async fn calls_run_side_by_side_and_each_has_its_own_record() {
    let world = Arc::new(World::new());
    for n in (0..8).rev() {
        let pause = Duration::from_secs(n);
        world.server.then(Reaction::AnswersAfter(pause, Ok(result(&n.to_string()))));
    }
    let calls = (0..8).map(|n| {
        let world = Arc::clone(&world);
        tokio::spawn(async move { world.text("free", &format!(r#"{{"n":{n}}}"#)).await })
    });
    let mut said = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        said.push(call.await.unwrap());
    }
    assert_eq!(said, ["7", "6", "5", "4", "3", "2", "1", "0"]);
    let mut ids: Vec<_> = world.server.made().into_iter().map(|it| it.request_id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 8);
    assert_eq!(world.story().iter().filter(|it| *it == "outcome").count(), 8);
}

#[tokio::test]
async fn a_session_that_has_ended_has_its_last_record_whoever_holds_the_log() {
    let world = World::new();
    world.says("done");
    world.call("free", "{}").await;
    let also = Arc::clone(&world.log);
    world.broker.close().await;
    world.log.close().unwrap();
    assert_eq!(world.story().last().map(String::as_str), Some("session closed"));
    // Once more changes nothing, whoever closes it.
    also.close().unwrap();
    assert_eq!(world.story().iter().filter(|it| *it == "session closed").count(), 1);
}

#[tokio::test]
async fn tools_are_offered_under_the_name_of_their_server() {
    let world = World::new();
    let listed = world.broker.list_by_server().await;
    let names: Vec<_> = listed.iter().map(|it| it.name.as_str()).collect();
    let plan = "ironcurtain__request_approval";
    assert_eq!(names, ["s__ask", "s__free", "s__never", "s__strange", plan]);
    world.server.list(&[r#"{"name":"other","inputSchema":{"type":"object"}}"#]).unwrap();
    let listed = world.broker.list_tools().await;
    let tools: Vec<serde_json::Value> = serde_json::from_str(listed.text()).unwrap();
    assert_eq!(tools.len(), 2, "{tools:?}");
    assert_eq!((&tools[0]["name"], &tools[1]["name"]), (&"s__other".into(), &plan.into()));
    // The same list is given again until the tools are others.
    assert!(Arc::ptr_eq(&listed, &world.broker.list_tools().await));
    world.server.list(&[r#"{"name":"next","inputSchema":{"type":"object"}}"#]).unwrap();
    let next = world.broker.list_tools().await;
    assert!(
        next.text().contains("s__next") && !next.text().contains("s__other"),
        "{}",
        next.text()
    );
    let said = world.text("free", "{}").await;
    assert!(said.starts_with("DENIED: there is no tool `s__free`"), "{said}");
}
