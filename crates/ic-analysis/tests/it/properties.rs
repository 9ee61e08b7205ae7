//! For each property a policy that breaks it, with a call that the decision confirms.

use ic_analysis::Subject;
use ic_analysis::property::{self, Finding, Level, NotVerified, Property};
use ic_policy::{Bounds, Effect, Policy, SandboxKind, evaluate};
use ic_types::CanonicalPath;

use crate::world::{ANNOTATIONS, bounds, policy, resolve};

fn locate(text: &str) -> Result<CanonicalPath, String> {
    CanonicalPath::new(text).map_err(|error| error.to_string())
}

fn verify(policy: &Policy, bounds: &Bounds, properties: &[Property]) -> Vec<Finding> {
    let subject = Subject { policy, bounds };
    property::verify(subject, properties, &|text| locate(text).ok()).unwrap()
}

/// Asks the decision about the example of a finding.
fn judged(finding: &Finding, policy: &Policy, bounds: &Bounds) -> Vec<Effect> {
    let example = &finding.example;
    let names = (example.server.as_str(), example.tool.as_str());
    let judge = |exists| {
        evaluate(policy, bounds, resolve(policy, names, &example.arguments, exists)).effect()
    };
    vec![judge(true), judge(false)]
}

/// Checks which properties rules break, and that the decision confirms each example.
#[track_caller]
fn check(rules: &str, properties: &str, expected: &[(&str, &str, &str)]) {
    let (policy, bounds) = (policy(rules, ANNOTATIONS[0]), bounds(SandboxKind::Session));
    let own = property::read(properties, &locate).unwrap();
    let mut found = verify(&policy, &bounds, &own.own);
    let unused = own.accept(&mut found);
    assert!(unused.is_empty(), "{unused:?}");
    let mut failed: Vec<(&str, &str, &str)> = Vec::new();
    for finding in found.iter().filter(|it| it.level == Level::Failed) {
        failed.push((&finding.property, &finding.rule, &finding.tools[0]));
        let effects = judged(finding, &policy, &bounds);
        assert!(effects.contains(&finding.example.effect), "{finding:?}: {effects:?}");
    }
    assert_eq!(failed, expected, "{found:#?}");
}

const ASK_ALL: &str = r#"{"name":"ask","if":{},"then":"escalate","reason":"r"}"#;

#[test]
fn a_policy_that_always_asks_breaks_nothing() {
    check(&format!("[{ASK_ALL}]"), "", &[]);
}

#[test]
fn changes_outside_the_sandbox_need_approval() {
    let rule =
        r#"{"name":"all","if":{"roles":["delete-path","read-path"]},"then":"allow","reason":"r"}"#;
    let read = r#"{"name":"edit","if":{"tool":["edit"]},"then":"allow","reason":"r"}"#;
    check(
        &format!("[{rule},{read},{ASK_ALL}]"),
        "",
        &[("changes-need-approval", "all", "fs.move"), ("changes-need-approval", "edit", "x.edit")],
    );
}

#[test]
fn a_rule_that_names_its_place_grants_an_exception() {
    let rules = format!(
        r#"[{{"name":"d","if":{{"server":["x"],"paths":{{"roles":["read-path","write-path"],"within":"/d"}}}},"then":"allow","reason":"r"}},{ASK_ALL}]"#
    );
    let (policy, bounds) = (policy(&rules, ANNOTATIONS[0]), bounds(SandboxKind::Session));
    let found = verify(&policy, &bounds, &[]);
    let shown: Vec<_> =
        found.iter().map(|it| (it.level, it.property.as_str(), it.rule.as_str())).collect();
    assert_eq!(shown, [(Level::Granted, "changes-need-approval", "d")]);
}

#[test]
fn a_rule_behind_a_wider_one_is_shadowed() {
    let first = r#"{"name":"first","if":{"paths":{"roles":["read-path"],"within":"/d"}},"then":"escalate","reason":"r"}"#;
    let second = r#"{"name":"second","if":{"server":["fs"],"paths":{"roles":["read-path"],"within":"/d/a"}},"then":"deny","reason":"r"}"#;
    check(
        &format!("[{first},{second},{ASK_ALL}]"),
        "",
        &[("no-shadowed-rule (second)", "first", "fs.list_allowed_directories")],
    );
    check(&format!("[{second},{first},{ASK_ALL}]"), "", &[]);
}

#[test]
fn a_rule_allows_no_more_than_its_sentence_names() {
    let rule = |sentence: &str, within: &str| {
        format!(
            r#"[{{"name":"read","principle":"{sentence}","if":{{"paths":{{"roles":["read-path"],"within":"{within}"}}}},"then":"allow","reason":"r"}},{ASK_ALL}]"#
        )
    };
    let broken = [("within-its-sentence", "read", "fs.list_allowed_directories")];
    check(&rule("The agent may read files in `/d/a`.", "/d"), "", &broken);
    check(&rule("The agent may read files in `/d`.", "/d"), "", &[]);
    check(&rule("The agent may read files in the Docs directory.", "/d"), "", &broken);
    check(&rule("The agent may read files in the Docs directory.", "/d/docs"), "", &[]);
    let hosts = |allowed: &str| {
        format!(
            r#"[{{"name":"web","principle":"It may fetch from b.example.","if":{{"domains":{{"roles":["fetch-url"],"allowed":["{allowed}"]}}}},"then":"allow","reason":"r"}},{ASK_ALL}]"#
        )
    };
    let text = ("no-text-to-the-network", "web", "x.fetch");
    check(&hosts("*.b.example"), "", &[text]);
    check(&hosts("*.example"), "", &[text, ("within-its-sentence", "web", "x.fetch")]);
}

#[test]
fn text_goes_without_approval_only_to_recipients_that_are_named() {
    let web = |allowed: &str| {
        format!(
            r#"[{{"name":"web","if":{{"domains":{{"roles":["fetch-url"],"allowed":[{allowed}]}}}},"then":"allow","reason":"r"}},{ASK_ALL}]"#
        )
    };
    let text = ("no-text-to-the-network", "web", "x.fetch");
    check(&web(r#""b.example""#), "", &[]);
    check(&web(r#""https://b.example","c.example""#), "", &[]);
    check(&web(r#""b.example","*.c.example""#), "", &[text]);
    check(&web(r#""*""#), "", &[("changes-need-approval", "web", "x.fetch"), text]);
    let mail =
        r#"[{"name":"mail","if":{"server":["x"],"tool":["say"]},"then":"allow","reason":"r"}]"#;
    let (policy, bounds) = (policy(mail, ANNOTATIONS[0]), bounds(SandboxKind::Session));
    let found = verify(&policy, &bounds, &[]);
    assert!(found.iter().all(|it| it.level == Level::Failed), "{found:?}");
}

#[test]
fn a_finding_is_accepted_for_the_rule_that_is_named_and_no_other() {
    let web = |name: &str, host: &str| {
        format!(
            r#"{{"name":"{name}","if":{{"domains":{{"roles":["fetch-url"],"allowed":["{host}"]}}}},"then":"allow","reason":"r"}}"#
        )
    };
    let rules = format!("[{},{},{ASK_ALL}]", web("one", "*.b.example"), web("two", "*.c.example"));
    let accept =
        "[[accept]]\nproperty = \"no-text-to-the-network\"\nrule = \"one\"\nbecause = \"ours\"";
    check(&rules, accept, &[("no-text-to-the-network", "two", "x.fetch")]);
    let (policy, bounds) = (policy(&rules, ANNOTATIONS[0]), bounds(SandboxKind::Session));
    let mut found = verify(&policy, &bounds, &[]);
    let stale = accept.replace("\"one\"", "\"gone\"");
    let stale = property::read(&stale, &locate).unwrap();
    assert_eq!(stale.accept(&mut found).len(), 1);
    assert!(found.iter().all(|it| it.level != Level::Accepted), "{found:?}");
}

#[test]
fn an_argument_called_like_a_path_has_to_be_judged_as_one() {
    let annotations =
        r#"{"servers":{"x":{"tools":[{"toolName":"open","args":{"file_path":["none"]}}]}}}"#;
    let (policy, bounds) =
        (policy(&format!("[{ASK_ALL}]"), annotations), bounds(SandboxKind::Session));
    let found = verify(&policy, &bounds, &[]);
    let shown: Vec<_> = found
        .iter()
        .map(|it| (it.property.as_str(), it.tools[0].as_str(), it.example.effect))
        .collect();
    assert_eq!(shown, [("protected-paths", "x.open", Effect::Escalate)]);
    assert_eq!(found[0].example.arguments.get("file_path").and_then(|it| it.as_str()), Some("/p"));
}

#[test]
fn the_users_own_properties_are_checked() {
    let rules = format!(
        r#"[{{"name":"d","if":{{"paths":{{"roles":["read-path"],"within":"/d"}}}},"then":"allow","reason":"r"}},{ASK_ALL}]"#
    );
    let never = "[[never]]\nname = \"closed\"\nroles = [\"read-path\"]\nwithin = [\"/d/a\"]\nservers = [\"git\"]\ntools = [\"add\"]";
    check(&rules, never, &[("closed", "d", "git.add")]);
    let never = "[[never]]\nroles = [\"read-path\"]\nwithin = [\"/p\"]";
    check(&rules, never, &[]);
    let ask = "[[always-ask]]\nroles = [\"read-path\"]\noutside = [\"/s\", \"/d/a\"]\nservers = [\"fs\"]\ntools = [\"read\"]";
    check(&rules, ask, &[("always-ask[0]", "d", "fs.read")]);
    let ask = "[[always-ask]]\nroles = [\"read-path\"]\noutside = [\"/s\", \"/d\"]";
    check(&rules, ask, &[]);
    let allowed = "[[allowed]]\nroles = [\"read-path\"]\nwithin = [\"/d\"]";
    check(&rules, allowed, &[]);
    let allowed =
        "[[allowed]]\nroles = [\"fetch-url\"]\nhosts = [\"c.example\"]\nbecause = \"of docs\"";
    check(&rules, allowed, &[("allowed[0]", "ask", "x.fetch")]);
}

#[test]
fn a_file_of_properties_is_refused_with_the_place_of_the_mistake() {
    for (text, expected) in [
        ("[[never]]\nroles = [\"read-paths\"]", "read-paths"),
        ("[[never]]\nwithin = [\"x\"]", "never[0].within: it is not absolute"),
        (
            "[[never]]\nwithin = [\"/d/a*\"]",
            "never[0].within: `/d/a*`: a directory is named as a whole",
        ),
        ("[[never]]\noutside = [\"/d/{a,b}\"]", "patterns are not possible"),
        ("[[sometimes]]", "sometimes"),
        ("[[never]]\nplaces = []", "places"),
        ("[[allowed]]\nroles = []", "allowed[0].roles: it is empty"),
        ("[[never]]\nwithin = [\"/d\"]\nhosts = [\"x.example\"]", "never[0].hosts: "),
        ("[[never]]\nhosts = [\"a b\"]", "never[0].hosts: "),
        ("[[accept]]\nproperty = \"never[0]\"\nrule = \"r\"", "accept[0].property: "),
        ("[[accept]]\nproperty = \"protected-paths\"", "rule"),
    ] {
        let error = property::read(text, &locate).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

/// A property that is about nothing would hold whatever the policy says.
#[test]
fn a_property_that_is_about_no_call_is_refused() {
    let all = r#"[{"name":"all","if":{},"then":"allow","reason":"r"}]"#;
    let (policy, bounds) = (policy(all, ANNOTATIONS[0]), bounds(SandboxKind::Session));
    let verified = |text: &str| {
        let own = property::read(text, &locate).unwrap().own;
        let subject = Subject { policy: &policy, bounds: &bounds };
        property::verify(subject, &own, &|text| locate(text).ok())
    };
    for (text, expected) in [
        (
            "[[never]]\nservers = [\"gitt\"]",
            "there is no server `gitt` that the policy knows; did you mean `git`?",
        ),
        (
            "[[never]]\nname = \"typo\"\ntools = [\"pushh\"]",
            "property `typo`: there is no tool `pushh` that the policy knows; did you mean `push`?",
        ),
        ("[[never]]\ntools = [\"git.pushh\"]", "did you mean `git.push`?"),
        ("[[never]]\ntools = [\"fs.push\"]", "there is no tool `fs.push`"),
        ("[[never]]\nservers = [\"fs\"]\ntools = [\"push\"]", "there is no tool `push`"),
        ("[[never]]\nservers = [\"fs\"]\nroles = [\"fetch-url\"]", "no call is meant by it"),
        ("[[always-ask]]\ntools = [\"read\"]\nhosts = [\"b.example\"]", "no call is meant by it"),
        ("[[allowed]]\ntools = [\"move\"]\nroles = [\"read-path\"]", "nothing worse"),
    ] {
        match verified(text) {
            Err(NotVerified::Property(error)) => {
                assert!(error.to_string().contains(expected), "{text}: {error}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    for tool in ["push", "git.push"] {
        let found = verified(&format!("[[never]]\nname = \"mine\"\ntools = [\"{tool}\"]")).unwrap();
        let mine: Vec<_> = found.iter().filter(|it| it.property == "mine").collect();
        assert!(!mine.is_empty() && mine.iter().all(|it| it.tools == ["git.push"]), "{mine:?}");
    }
}

#[test]
fn a_thing_is_not_allowed_and_asked_about_at_once() {
    // Committing is allowed, but each commit reads, which asks.
    let rules = format!(
        r#"[{{"name":"d","if":{{"paths":{{"roles":["write-history"],"within":"/d"}}}},"then":"allow","reason":"r"}},{ASK_ALL}]"#
    );
    let thing = "servers = [\"git\"]\nroles = [\"write-history\"]\nwithin = [\"/d\"]";
    check(&rules, &format!("[[always-ask]]\n{thing}"), &[]);
    check(&rules, &format!("[[allowed]]\n{thing}"), &[("allowed[0]", "ask", "git.add")]);
    let rules = format!(
        r#"[{{"name":"d","if":{{"paths":{{"roles":["write-history","read-path"],"within":"/d"}}}},"then":"allow","reason":"r"}},{ASK_ALL}]"#
    );
    check(&rules, &format!("[[always-ask]]\n{thing}"), &[("always-ask[0]", "d", "git.add")]);
    check(&rules, &format!("[[allowed]]\n{thing}"), &[]);
}

#[test]
fn a_property_about_a_host_means_every_port_and_no_text_that_looks_like_it() {
    let rules = format!(
        r#"[{{"name":"port","if":{{"domains":{{"roles":["fetch-url"],"allowed":["c.example:8080"]}}}},"then":"allow","reason":"r"}},{ASK_ALL}]"#
    );
    let never = "[[always-ask]]\nname = \"no\"\nhosts = [\"c.example\"]";
    check(&rules, never, &[("no", "port", "x.fetch")]);
    check(&rules, "[[always-ask]]\nhosts = [\"c.example:443\"]", &[]);
    // A mail whose address or body is the name of a host does not call that host.
    let mail = format!(
        r#"[{{"name":"mail","if":{{"server":["x"],"tool":["say"]}},"then":"allow","reason":"r"}},{ASK_ALL}]"#
    );
    let (policy, bounds) = (policy(&mail, ANNOTATIONS[0]), bounds(SandboxKind::Session));
    let own = property::read(never, &locate).unwrap();
    let found = verify(&policy, &bounds, &own.own);
    assert!(found.iter().all(|it| it.property != "no"), "{found:#?}");
}

/// An address is not a resource, so no rule is asked about it alone.
#[test]
fn the_rule_behind_a_finding_about_an_address_is_named() {
    let mail =
        r#"[{"name":"mail","if":{"server":["x"],"tool":["say"]},"then":"allow","reason":"r"}]"#;
    let (policy, bounds) = (policy(mail, ANNOTATIONS[0]), bounds(SandboxKind::Session));
    let found = verify(&policy, &bounds, &[]);
    assert!(!found.is_empty());
    for finding in found {
        assert_eq!((finding.rule.as_str(), finding.tools[0].as_str()), ("mail", "x.say"));
    }
}
