//! Redirects: each is a call of its own, judged and recorded, or nothing happens.

use ic_testkit::{Says, Web};
use serde_json::{Value, json};

use super::{Rig, allow, fetch, fetch_with};

#[test]
fn each_hop_is_judged_and_recorded_as_a_call_of_its_own() {
    let other = Web::start(|_| vec![("/end", Says::page("text/plain", "arrived"))]);
    let end = other.url("/end");
    let web = Web::start(move |port| {
        vec![
            ("/start", Says::redirect("/middle")),
            ("/middle", Says::redirect(&format!("http://127.0.0.1:{port}/last"))),
            ("/last", Says::redirect(&end)),
        ]
    });
    let rig = Rig::naming(&[&web, &other]);
    let mut proxy = rig.start(&[]);
    let headers = json!({"X-Key": "for the first host"});
    let page =
        fetch_with(&mut proxy, &json!({"url": web.url("/start"), "headers": headers})).unwrap();
    assert!(page.contains(&other.url("/end")) && page.ends_with("\n\narrived"), "{page}");
    proxy.finish();
    let url = |it: &Value| it["arguments"]["url"].as_str().unwrap().to_owned();
    let intents = rig.records("intent");
    let urls: Vec<String> = intents.iter().map(url).collect();
    let expected = [web.url("/start"), web.url("/middle"), web.url("/last"), other.url("/end")];
    assert_eq!(urls, expected);
    assert!(intents.iter().all(|it| it["verdict"] == "allow" && it["rule"] == "named"));
    let outcomes = rig.records("outcome");
    assert_eq!(outcomes.len(), 4);
    for (outcome, next) in outcomes.iter().zip(&intents[1..]) {
        let reason = outcome["reason"].as_str().unwrap();
        assert!(reason.contains("redirected to") && reason.contains(&url(next)), "{reason}");
        assert!(reason.contains(next["requestId"].as_str().unwrap()), "{reason}");
    }
    // What was said to the first host is said to it alone.
    assert!(web.asked().iter().all(|head| head.contains("X-Key: for the first host\r\n")));
    assert!(other.asked().iter().all(|head| !head.contains("X-Key")), "{:?}", other.asked());
    assert_eq!(rig.place.run(["audit", "verify"]).code, 0);
}

/// Wherever a page sends us, the policy is asked, and addresses that nobody named are not reached.
#[test]
fn a_redirect_opens_no_way_that_was_closed() {
    let secret = Web::start(|_| vec![("/secret", Says::page("text/plain", "the secret"))]);
    let port = secret.port();
    for (location, rule, part) in [
        (format!("http://127.0.0.1:{port}/secret"), "default-deny", "DENIED"),
        (format!("http://localhost:{port}/secret"), "default-deny", "DENIED"),
        (format!("http://[::1]:{port}/secret"), "default-deny", "DENIED"),
        (format!("http://0x7f000001:{port}/secret"), "default-deny", "DENIED"),
        (format!("http://2130706433:{port}/secret"), "default-deny", "DENIED"),
        ("http://169.254.169.254/latest/meta-data/".to_owned(), "default-deny", "DENIED"),
        ("http://10.0.0.1/".to_owned(), "default-deny", "DENIED"),
        ("http://evil.example/".to_owned(), "default-deny", "DENIED"),
        ("file:///etc/passwd".to_owned(), "structural-invalid-value", "DENIED"),
        ("ftp://127.0.0.1/".to_owned(), "structural-invalid-value", "DENIED"),
        ("javascript:alert(1)".to_owned(), "structural-invalid-value", "DENIED"),
        (format!("http://user:pw@127.0.0.1:{port}/secret"), "structural-invalid-value", "DENIED"),
        ("gopher://127.0.0.1:70/_x".to_owned(), "structural-invalid-value", "DENIED"),
    ] {
        let to = location.clone();
        let web = Web::start(move |_| vec![("/", Says::redirect(&to))]);
        let rig = Rig::naming(&[&web]);
        let mut proxy = rig.start(&[]);
        let refused = fetch(&mut proxy, &web.url("/")).expect_err(&location);
        assert!(refused.starts_with(part), "{location}: {refused}");
        proxy.finish();
        let intents = rig.records("intent");
        assert_eq!(intents.len(), 2, "{location}: {intents:?}");
        assert_eq!(intents[1]["verdict"], "deny", "{location}");
        assert_eq!(intents[1]["rule"], rule, "{location}: {}", intents[1]);
        assert_eq!(rig.connections().len(), 1, "{location}");
    }
    assert_eq!(secret.paths().len(), 0);
}

/// What a rule lets through is still not reached if it leads to this machine or a metadata service.
#[test]
fn a_redirect_that_the_policy_allows_reaches_no_address_that_nobody_named() {
    let secret = Web::start(|_| vec![("/secret", Says::page("text/plain", "the secret"))]);
    for location in [
        format!("http://127.0.0.1:{}/secret", secret.port()),
        format!("http://localhost:{}/secret", secret.port()),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://[fd00:ec2::254]/".to_owned(),
        "http://[::ffff:169.254.169.254]/".to_owned(),
    ] {
        let to = location.clone();
        let web = Web::start(move |_| vec![("/", Says::redirect(&to))]);
        let named = format!("127.0.0.1:{}", web.port());
        let rig = Rig::with_rules(&json!([allow(&[&named]), super::anything()]));
        let mut proxy = rig.start(&[]);
        let refused = fetch(&mut proxy, &web.url("/")).expect_err(&location);
        assert!(refused.contains("IronCurtain refused"), "{location}: {refused}");
        proxy.finish();
        assert_eq!(rig.connections().len(), 1, "{location}");
        let refused = rig.records("egress").into_iter().filter(|it| it["verdict"] == "deny");
        assert_eq!(refused.count(), 1, "{location}");
    }
    assert_eq!(secret.paths().len(), 0);
}

#[test]
fn a_circle_of_redirects_ends() {
    let web = Web::start(|_| vec![("/round", Says::redirect("/round"))]);
    let rig = Rig::naming(&[&web]);
    let mut proxy = rig.start(&[]);
    let refused = fetch(&mut proxy, &web.url("/round")).unwrap_err();
    assert!(refused.contains("5 redirects already"), "{refused}");
    proxy.finish();
    assert_eq!(web.paths().len(), 6, "the page itself, and five hops");
    let last = rig.records("intent").pop().unwrap();
    assert_eq!((&last["verdict"], &last["rule"]), (&json!("deny"), &json!("structural-redirect")));
}

/// An agent that goes in circles is stopped before it asks the first host once more, whether the page
/// behind the redirect is the same each time or is not to be had.
#[test]
fn the_same_page_behind_a_redirect_is_stopped_as_any_other() {
    for (to, n_times) in [("/end", 20), ("http://evil.example/", 5)] {
        let web = Web::start(move |_| {
            vec![("/start", Says::redirect(to)), ("/end", Says::page("text/plain", "same"))]
        });
        let rig = Rig::naming(&[&web]);
        let mut proxy = rig.start(&[]);
        for _ in 0..n_times {
            let came = fetch(&mut proxy, &web.url("/start")).unwrap_or_else(|refused| refused);
            assert!(!came.contains("CIRCUIT BREAKER"), "{to}: {came}");
        }
        let asked = web.paths().len();
        for _ in 0..3 {
            let refused = fetch(&mut proxy, &web.url("/start")).unwrap_err();
            assert!(refused.starts_with("CIRCUIT BREAKER: "), "{to}: {refused}");
        }
        assert_eq!(web.paths().len(), asked, "{to}: nobody is asked any more");
        proxy.finish();
    }
}

/// The redirect is always the same one; what it leads to is not.
#[test]
fn a_page_that_changes_behind_a_redirect_is_not_stopped() {
    let web = Web::start(|_| vec![("/start", Says::redirect("/end")), ("/end", Says::Count)]);
    let rig = Rig::naming(&[&web]);
    let mut proxy = rig.start(&[]);
    for number in 1..=25 {
        let page = fetch(&mut proxy, &web.url("/start")).unwrap();
        assert!(page.ends_with(&format!("\n\n{}", 2 * number)), "{page}");
    }
    proxy.finish();
}

/// The first host was allowed by the policy; the second needs a person, who is asked about it alone.
#[test]
fn a_hop_that_needs_a_person_asks_one() {
    let other = Web::start(|_| vec![("/end", Says::page("text/plain", "arrived"))]);
    let end = other.url("/end");
    let web = Web::start(move |_| vec![("/", Says::redirect(&end))]);
    let host = |web: &Web| format!("127.0.0.1:{}", web.port());
    let mut asks = allow(&[&host(&other)]);
    asks["name"] = json!("asks");
    asks["then"] = json!("escalate");
    for decision in ["approve", "deny"] {
        let rig = Rig::with_rules(&json!([allow(&[&host(&web)]), asks]));
        rig.place.write(
            "home/.ironcurtain/config.json",
            json!({"version": 1, "approvals": {"scripted": true}}).to_string(),
        );
        let reached = other.paths().len();
        let mut proxy = rig.start(&["--wait"]);
        let id = proxy.ask_call("fetch__http_fetch", &json!({"url": web.url("/")}));
        let question = waiting(&rig);
        assert_eq!(question["arguments"]["url"], other.url("/end"));
        assert_eq!(other.paths().len(), reached, "nobody was asked yet");
        let question_id = question["escalationId"].as_str().unwrap();
        let answered = rig.place.run(["approvals", decision, question_id]);
        assert_eq!(answered.code, 0, "{answered:?}");
        let answer = proxy.answer(&id);
        match decision {
            "approve" => assert!(answer.good().ends_with("arrived")),
            _ => assert!(answer.bad().starts_with("ESCALATION DENIED")),
        }
        proxy.finish();
        let n_reached = usize::from(decision == "approve");
        assert_eq!(other.paths().len() - reached, n_reached, "{decision}");
        let verdicts: Vec<Value> =
            rig.records("intent").iter().map(|it| it["verdict"].clone()).collect();
        assert_eq!(verdicts[..2], [json!("allow"), json!("escalate")], "{decision}");
    }
}

/// A person can say yes to a host that the servers file leaves out, but not to what it cuts off.
#[test]
fn an_approval_does_not_connect_a_server_that_is_cut_off() {
    let web = Web::start(|_| vec![("/", Says::page("text/plain", "reached"))]);
    let rig = Rig::naming(&[&web]);
    let entry = json!({"builtin": "fetch", "sandbox": {"network": false}});
    rig.place.write("servers.json", json!({ "fetch": entry }).to_string());
    let config = json!({"version": 1, "approvals": {"scripted": true}});
    rig.place.write("home/.ironcurtain/config.json", config.to_string());
    let mut proxy = rig.start(&["--wait"]);
    let id = proxy.ask_call("fetch__http_fetch", &json!({"url": web.url("/")}));
    let question = waiting(&rig);
    let question_id = question["escalationId"].as_str().unwrap();
    assert_eq!(rig.place.run(["approvals", "approve", question_id]).code, 0);
    let refused = proxy.answer(&id).bad();
    assert!(refused.contains("no host to reach"), "{refused}");
    proxy.finish();
    assert_eq!(web.paths().len(), 0);
}

/// Waits until one question stands, and returns it.
fn waiting(rig: &Rig) -> Value {
    let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while std::time::Instant::now() < deadline {
        let listed = rig.place.run(["approvals", "list", "--json"]);
        let questions: Vec<Value> = serde_json::from_str(&listed.stdout).unwrap_or_default();
        if let Some(question) = questions.into_iter().next() {
            return question;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("nobody asks");
}
