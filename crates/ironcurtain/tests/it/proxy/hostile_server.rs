//! Servers that hang, crash, flood and lie: their own calls fail, and nobody else's.

use std::time::{Duration, Instant};

use ic_testkit::Proxy;
use ic_testkit::proxy::{DEADLINE, Process, Reads};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Rig, check_serves, listed, provoke, rig, rule_of, until};

/// A rig with the server `rec`, which behaves, and `bad`, which does not.
fn with_bad(mode: &str) -> Rig {
    rig().hostile("bad", &[mode])
}

/// Calls `bad` until it serves again; it must, before the deadline.
#[track_caller]
fn recovers(proxy: &mut Proxy) {
    let deadline = Instant::now() + DEADLINE;
    for n in 0.. {
        let answer = provoke(proxy, &format!("recover-{n}"));
        if answer.text() == "fine" {
            return;
        }
        assert!(answer.bad().contains("is not available"), "{}", answer.line);
        assert!(Instant::now() < deadline, "{}", answer.line);
    }
}

#[test]
fn a_server_that_never_answers_holds_up_nobody_else() {
    let rig = with_bad("silent");
    let mut proxy = rig.start();
    let list = proxy.ask("tools/list", &json!({}));
    let call = proxy.ask_call("bad__do", &json!({"what": "x"}));
    for n in 0..10 {
        rig.check_unharmed(&mut proxy, &format!("silence {n}"));
    }
    assert!(rig.n_starts("bad") <= 1, "it was started once, for both");
    assert!(proxy.unread().is_empty(), "{list} and {call} wait");
    proxy.signal(Signal::TERM);
    assert_eq!(proxy.end_within(Duration::from_secs(5)), 0);
}

#[test]
fn a_server_that_ends_at_once_is_explained_to_the_model_in_our_words_and_to_a_person_in_its_own() {
    let rig = with_bad("exit");
    let mut proxy = rig.start();
    let text = provoke(&mut proxy, "x").bad();
    for part in ["the server `bad` is not available", "exit status: 3"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(!text.contains("flux capacitor"), "a stranger spoke to the model: {text}");
    assert_eq!(listed(&mut proxy).len(), 11, "the others are listed");
    rig.check_unharmed(&mut proxy, "its end");
    proxy.finish();
    let notices = proxy.all_stderr();
    assert!(notices.contains("flux capacitor") && !notices.contains('\u{1b}'), "{notices}");
    let is_end = |it: &&Value| it["arguments"]["event"] == "server-down";
    let down = rig.records().iter().find(is_end).map(ToString::to_string).unwrap();
    assert!(down.contains("flux capacitor"), "{down}");
}

#[test]
fn a_call_that_a_crash_interrupts_is_not_sent_again() {
    let rig = with_bad("plain");
    let mut proxy = rig.start();
    let answer = provoke(&mut proxy, "crash");
    let text = answer.bad();
    assert!(text.contains("whether the call was carried out is not known"), "{text}");
    assert!(text.contains("it was not sent again"), "{text}");
    rig.check_unharmed(&mut proxy, "the crash");
    recovers(&mut proxy);
    assert_eq!(rig.n_starts("bad"), 2);
    assert_eq!(rig.calls("bad").iter().filter(|it| *it == "crash").count(), 1);
    let down: Vec<Value> =
        rig.records().into_iter().filter(|it| it["arguments"]["event"] == "server-down").collect();
    assert!(down[0].to_string().contains("segmentation fault of sorts"), "{down:?}");
    proxy.finish();
}

/// Each restart waits longer than the one before.
#[test]
fn a_server_that_crashes_again_and_again_is_not_started_in_a_hurry() {
    let rig = with_bad("plain");
    let mut proxy = rig.start();
    let begun = Instant::now();
    let mut n_crashes = 0;
    while n_crashes < 3 {
        let text = provoke(&mut proxy, "crash").bad();
        assert!(text.contains("not known") || text.contains("next try in"), "{text}");
        n_crashes += usize::from(text.contains("not known"));
        assert!(begun.elapsed() < DEADLINE);
    }
    // 250 ms, then 500 ms.
    assert!(Duration::from_millis(700) < begun.elapsed(), "{:?}", begun.elapsed());
    assert_eq!(rig.n_starts("bad"), 3);
    rig.check_unharmed(&mut proxy, "crashes");
    proxy.finish();
}

/// It has closed its output and listens to no signal: until it is gone there is no second one.
#[test]
fn a_server_that_will_not_go_is_not_started_twice() {
    // In a cage it would not know the number that we know it by.
    let rig = with_bad("closes-stdout").with("bad", "sandbox", json!(false));
    rig.arguments();
    rig.trust("bad");
    let n_before = rig.n_starts("bad");
    let mut proxy = rig.start();
    assert_eq!(provoke(&mut proxy, "x").good(), "fine");
    let first = Process::hold(rig.lines("bad", "starts").pop().unwrap().parse().unwrap());
    assert!(provoke(&mut proxy, "close").bad().contains("the server ended"));
    let ids: Vec<String> =
        (0..20).map(|n| proxy.ask_call("bad__do", &json!({"what": format!("n{n}")}))).collect();
    for id in &ids {
        let text = proxy.answer(id).text();
        assert!(text == "fine" || text.contains("is not available"), "{text}");
    }
    recovers(&mut proxy);
    assert!(first.is_gone_within(DEADLINE));
    // The second one runs and is known to run; nobody starts a third.
    for n in 0..20 {
        assert_eq!(provoke(&mut proxy, &format!("m{n}")).good(), "fine");
    }
    assert_eq!(rig.n_starts("bad") - n_before, 2);
    proxy.finish();
}

#[test]
fn a_server_that_closes_its_ears_is_not_waited_for() {
    let rig = with_bad("plain");
    let mut proxy = rig.start();
    assert_eq!(provoke(&mut proxy, "close-ears").good(), "fine");
    let text = provoke(&mut proxy, "x").bad();
    assert!(text.contains("closed its standard input") && text.contains("not known"), "{text}");
    rig.check_unharmed(&mut proxy, "deafness");
    recovers(&mut proxy);
    proxy.finish();
}

/// Lines that are no messages, and answers that are none: the call is answered by its own answer.
#[test]
fn noise_and_forged_answers_change_nothing() {
    let rig = with_bad("garbage");
    let mut proxy = rig.start();
    for what in
        ["garbage", "wrong-id", "text-id", "twice", "early", "batch", "progress-nobody-asked-for"]
    {
        assert_eq!(provoke(&mut proxy, what).good(), "fine", "{what}");
        for n in 0..3 {
            assert_eq!(provoke(&mut proxy, &format!("{what}-{n}")).good(), "fine", "after {what}");
        }
        rig.check_unharmed(&mut proxy, what);
    }
    assert!(proxy.unread().is_empty(), "the client heard of it");
    assert_eq!(rig.n_starts("bad"), 1);
    proxy.finish();
}

/// What ends a connection, and how the call that was under way is told.
#[test]
fn a_server_that_breaks_the_protocol_is_ended() {
    for (what, why) in [
        ("garbage-for-ever", "kept sending text that is not a protocol message"),
        ("line-without-end", "a line that is too long"),
        ("long-line", "a line that is too long"),
        ("notification-flood", "a flood of unrequested messages"),
        ("request-flood", "a flood of unrequested messages"),
        ("fat-requests", "a flood of unrequested messages"),
        ("fat-notifications", "a flood of unrequested messages"),
    ] {
        let rig = with_bad("plain");
        let mut proxy = rig.start();
        rig.check_unharmed(&mut proxy, "nothing");
        let text = provoke(&mut proxy, what).bad();
        assert!(text.contains(why) && text.contains("not known"), "{what}: {text}");
        rig.check_unharmed(&mut proxy, what);
        recovers(&mut proxy);
        let peak = proxy.process().peak_mib();
        assert!(peak < 160, "{what}: {peak} MiB");
        proxy.finish();
    }
}

/// The server asks; neither the client nor a person hears of it.
#[test]
fn a_server_may_ask_for_the_roots_and_for_nothing_else() {
    let rig = with_bad("plain");
    let mut proxy = rig.start();
    for (what, method) in [
        ("ask-sampling", "sampling/createMessage"),
        ("ask-elicitation", "elicitation/create"),
        ("ask-tool", "tools/call"),
        ("ask-deed", "ironcurtain/deed"),
        ("drowned-question", "elicitation/create"),
    ] {
        let told: Value = serde_json::from_str(&provoke(&mut proxy, what).good()).unwrap();
        assert_eq!(told["error"]["code"], -32601, "{method}: {told}");
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("servers may not "), "{method}: {message}");
        rig.check_unharmed(&mut proxy, what);
    }
    // It is recorded beside what is going on; talk does not drown a question.
    let requests = [
        "sampling/createMessage",
        "elicitation/create",
        "tools/call",
        "ironcurtain/deed",
        "elicitation/create",
    ];
    until("each question is recorded", || {
        let denied = rig.intents("deny").into_iter();
        let recorded: Vec<Value> = denied.map(|mut it| it["arguments"]["request"].take()).collect();
        recorded == requests
    });
    let told: Value = serde_json::from_str(&provoke(&mut proxy, "ask-roots").good()).unwrap();
    let roots: Vec<&str> = told["result"]["roots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["uri"].as_str().unwrap())
        .collect();
    let [sandbox, allowed] = roots[..] else { panic!("{roots:?}") };
    assert!(sandbox.starts_with("file:///") && sandbox.ends_with("/sandbox"), "{sandbox}");
    assert_eq!(allowed, format!("file://{}", rig.place.path("allowed").display()));
    let told: Value = serde_json::from_str(&provoke(&mut proxy, "ask-ping").good()).unwrap();
    assert_eq!(told["result"], json!({}));
    assert!(proxy.unread().is_empty(), "the client was asked");
    proxy.finish();
}

#[test]
fn a_list_of_tools_without_end_is_no_list() {
    for (mode, why) in [
        ("many-tools", "it answered `tools/list` with an error"),
        ("endless-pages", "it lists more than"),
        ("fat-tools", "it lists more than"),
        ("slow-schemas", "reading the schemas of its tools takes too long"),
        ("unknown-version", "protocol revision that IronCurtain does not support"),
    ] {
        let rig = with_bad(mode);
        let mut proxy = rig.start();
        assert_eq!(listed(&mut proxy).len(), 11, "{mode}: the others are listed");
        let text = provoke(&mut proxy, "x").bad();
        assert!(text.contains(why), "{mode}: {text}");
        rig.check_unharmed(&mut proxy, mode);
        assert!(rig.calls("bad").is_empty());
        proxy.finish();
        let lock = std::fs::read(rig.place.path("home/.ironcurtain/servers.lock.json")).unwrap();
        assert!(lock.len() < 1 << 20, "{mode}: {} bytes were recorded", lock.len());
    }
}

#[test]
fn odd_tools_are_left_out_and_the_others_are_served() {
    let rig = with_bad("odd-tools");
    let mut proxy = rig.start();
    let names = listed(&mut proxy);
    let of_bad: Vec<&str> =
        names.iter().filter(|it| it.starts_with("bad__")).map(String::as_str).collect();
    let [up, backtracking, done, exploding, pattern] = of_bad[..] else { panic!("{of_bad:?}") };
    assert!(up.starts_with("bad_____up_"), "{up}");
    let expected = ["bad__backtracking", "bad__do", "bad__exploding", "bad__pattern"];
    assert_eq!([backtracking, done, exploding, pattern], expected);
    assert_eq!(provoke(&mut proxy, "x").good(), "fine");
    // A schema that doubles sixty times, and a pattern that takes for ever in other engines.
    for tool in [exploding, backtracking] {
        let what = "a".repeat(10_000) + "!";
        let text = proxy.call(tool, &json!({"what": what})).bad();
        assert!(text.starts_with("INVALID ARGUMENTS: "), "{tool}: {text}");
    }
    for name in ["bad__loop", "bad__far", "bad__two", "bad__text", "bad__array", "bad__has space"] {
        assert_eq!(
            rule_of(&proxy.call(name, &json!({"what": "x"}))),
            "structural-unknown-tool",
            "{name}"
        );
    }
    let result = proxy.request("tools/list", &json!({})).result();
    assert!(!result.to_string().contains("the second of that name"));
    rig.check_unharmed(&mut proxy, "odd tools");
    assert_eq!(rig.calls("bad"), ["x"]);
    proxy.finish();
}

/// What is recorded of it must be readable again, or no server would ever start.
#[test]
fn a_tool_as_deep_as_a_message_may_be_locks_nobody_out() {
    let rig = with_bad("deep-tool");
    let mut proxy = rig.start();
    listed(&mut proxy);
    rig.check_unharmed(&mut proxy, "a deep tool");
    proxy.finish();
    let mut proxy = rig.start();
    assert_eq!(provoke(&mut proxy, "x").good(), "fine");
    rig.check_unharmed(&mut proxy, "a second start");
    proxy.finish();
}

/// Nobody reads our standard error; what we say there must not hold us up.
#[test]
fn notices_that_nobody_reads_hold_up_nobody() {
    let rig = with_bad("many-unusable-tools");
    let mut proxy = rig.start_silent(Reads::NotStderr);
    proxy.initialize();
    assert_eq!(listed(&mut proxy).len(), 12);
    for n in 0..20 {
        rig.check_unharmed(&mut proxy, &format!("notices {n}"));
    }
    proxy.signal(Signal::TERM);
    assert_eq!(proxy.end_within(Duration::from_secs(5)), 0);
}

#[test]
fn a_server_that_does_not_read_holds_up_nobody_else() {
    let rig = with_bad("deaf");
    let mut proxy = rig.start();
    // A hundred times what a pipe holds.
    let value = "x".repeat(100 << 10);
    let ids: Vec<String> = (0..64)
        .map(|n| proxy.ask_call("bad__do", &json!({"what": format!("{n}{value}")})))
        .collect();
    for n in 0..10 {
        check_serves(&mut proxy, &format!("deafness {n}"));
    }
    for id in ids {
        proxy.notify("notifications/cancelled", &json!({"requestId": id.parse::<u64>().unwrap()}));
    }
    check_serves(&mut proxy, "cancelling");
    assert!(rig.calls("bad").is_empty());
    proxy.signal(Signal::TERM);
    assert_eq!(proxy.end_within(Duration::from_secs(5)), 0);
}

/// It says that its tools have changed, and then never lists them. Others' news are heard all the same.
#[test]
fn a_server_that_stops_listing_holds_up_nobodys_news() {
    let rig = with_bad("plain").hostile("other", &["plain"]);
    let mut proxy = rig.start();
    assert_eq!(listed(&mut proxy).len(), 13);
    assert_eq!(provoke(&mut proxy, "list-no-more").good(), "fine");
    assert_eq!(proxy.call("other__do", &json!({"what": "add-tool"})).good(), "fine");
    let told = proxy.call("other__do", &json!({"what": "ask-sampling"})).good();
    assert!(told.contains("-32601"), "{told}");
    let is_sampling = |it: &Value| it["arguments"]["request"] == "sampling/createMessage";
    until("its request is recorded", || rig.intents("deny").iter().any(is_sampling));
    rig.check_unharmed(&mut proxy, "the list");
    proxy.finish();
}

/// One server fills its standard error; the records about another one are not lost in it.
#[test]
fn a_flood_of_words_drowns_nobody_elses_news() {
    let rig = with_bad("flood-stderr").hostile("other", &["plain"]);
    let mut proxy = rig.start();
    assert_eq!(provoke(&mut proxy, "x").good(), "fine");
    for _ in 0..15 {
        for what in ["ask-sampling", "ask-elicitation", "ask-tool"] {
            let told = proxy.call("other__do", &json!({"what": what})).good();
            assert!(told.contains("-32601"), "{told}");
        }
    }
    rig.check_unharmed(&mut proxy, "the flood");
    until("each request of the other server is recorded", || rig.intents("deny").len() == 45);
    let is_up = |it: &Value| it["arguments"]["event"] == "server-up";
    until("all of them are up", || rig.records().into_iter().filter(is_up).count() == 3);
    proxy.finish();
    let log = rig.place.sessions().remove(0).join("session.log");
    assert!(std::fs::metadata(log).unwrap().len() <= 16 << 20);
}

#[test]
fn nothing_of_a_server_that_was_ended_is_left() {
    let rig = with_bad("stubborn");
    let mut proxy = rig.start();
    assert_eq!(provoke(&mut proxy, "x").good(), "fine");
    let marker = format!("TEST_PLACE={}", rig.place.root().display());
    let processes = Process::with_environment(&marker);
    assert!(4 <= processes.len(), "a guard, a server, a child and a daemon: {processes:?}");
    assert!(provoke(&mut proxy, "garbage-for-ever").bad().contains("kept sending"));
    for process in &processes {
        assert!(process.is_gone_within(DEADLINE), "{process:?}");
    }
    rig.check_unharmed(&mut proxy, "its end");
    proxy.finish();
}
