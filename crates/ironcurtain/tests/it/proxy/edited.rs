//! Files that are edited while a proxy runs: its session stays what it was when it was opened, and what
//! changed is withheld from the next one until a person agreed.

use serde_json::{Value, json};

use super::{Rig, check_serves, listed, provoke, rig, rule_of, until};

/// Edits what somebody could edit to have a stranger's program run, or to be allowed everything.
fn edit(rig: &Rig) {
    let path = rig.place.path("servers.json");
    let mut servers: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let elsewhere = rig.place.dir("elsewhere");
    // It would write down its start in another place.
    let mut changed = servers["bad"].clone();
    changed["args"][3] = json!(elsewhere);
    changed["sandbox"]["filesystem"]["allowWrite"] = json!([elsewhere]);
    servers["bad"] = changed;
    let mut stranger = servers["bad"].clone();
    let strange = rig.place.dir("strange");
    stranger["args"][3] = json!(strange);
    stranger["sandbox"]["filesystem"]["allowWrite"] = json!([strange]);
    let mut naked = stranger.clone();
    naked["args"][3] = json!(rig.place.dir("naked"));
    naked["sandbox"] = json!(false);
    servers["stranger"] = stranger;
    servers["naked"] = naked;
    servers.as_object_mut().unwrap().remove("rec");
    rig.place.write("servers.json", servers.to_string());
    let rules = json!({"rules": [{"name": "all", "if": {}, "then": "allow", "reason": "edited"}]});
    rig.place.write("policy/compiled-policy.json", rules.to_string());
}

#[test]
fn files_that_are_edited_while_a_proxy_runs_change_nothing_for_it() {
    let rig = rig().hostile("bad", &["plain"]);
    let mut proxy = rig.start();
    let before = listed(&mut proxy);
    assert_eq!(provoke(&mut proxy, "x").good(), "fine");
    let n_starts = rig.n_starts("bad");
    // No call of an agent edits them: they are nobody's business.
    for name in ["servers.json", "policy/compiled-policy.json", "policy/tool-annotations.json"] {
        let answer = proxy.call("rec__read", &json!({"path": rig.place.path(name)}));
        assert_eq!(rule_of(&answer), "structural-protected-path", "{name}");
    }
    edit(&rig);
    assert_eq!(listed(&mut proxy), before, "nothing came and nothing went");
    // The policy is the one that it was.
    assert_eq!(rule_of(&proxy.call("rec__forbidden", &json!({}))), "no");
    assert!(rule_of(&proxy.call("rec__ask", &json!({}))).contains("a-person"));
    assert_eq!(
        rule_of(&proxy.call("stranger__do", &json!({"what": "x"}))),
        "structural-unknown-tool"
    );
    // A server that died is started as it was trusted to be.
    provoke(&mut proxy, "crash").bad();
    until("it is started again", || provoke(&mut proxy, "y").result()["isError"] != json!(true));
    assert!(n_starts < rig.n_starts("bad"));
    for name in ["elsewhere", "strange", "naked"] {
        assert_eq!(rig.n_starts(name), 0, "{name}");
    }
    check_serves(&mut proxy, "the edit");
    proxy.finish();
}

#[test]
fn what_was_edited_is_withheld_from_the_next_session_until_a_person_agreed() {
    let rig = rig().hostile("bad", &["plain"]);
    let arguments = rig.arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let start = || {
        let mut proxy = ic_testkit::Proxy::start(&rig.place, &arguments);
        proxy.initialize();
        proxy
    };
    let mut proxy = start();
    assert_eq!(provoke(&mut proxy, "x").good(), "fine");
    edit(&rig);
    proxy.finish();
    let mut proxy = start();
    assert!(!listed(&mut proxy).iter().any(|it| it.starts_with("bad__")), "it is listed");
    let text = provoke(&mut proxy, "x").bad();
    assert!(text.contains("how it is started has changed since it was trusted"), "{text}");
    assert_eq!(rig.n_starts("elsewhere"), 0, "it was started");
    // What came with the file is of no use either: nobody has said what its tools mean.
    assert_eq!(
        rule_of(&proxy.call("stranger__do", &json!({"what": "x"}))),
        "structural-unknown-tool"
    );
    assert!(rig.calls("strange").is_empty());
    // It was started in its cage, and is recorded; what would have no cage was not.
    assert_eq!((rig.n_starts("strange"), rig.n_starts("naked")), (1, 0));
    proxy.finish();
    // Shown and agreed to, it is served.
    let shown = rig.trust("bad");
    assert!(shown.contains("elsewhere"), "{shown}");
    let mut proxy = start();
    assert_eq!(provoke(&mut proxy, "x").good(), "fine");
    proxy.finish();
}
