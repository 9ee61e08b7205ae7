//! For each property a policy that breaks it, with a call that the decision confirms.

use ic_analysis::Subject;
use ic_analysis::property::{self, Finding, Level, Property};
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
