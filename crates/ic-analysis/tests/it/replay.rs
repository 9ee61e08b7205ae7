//! Recorded calls judged by another policy: as if each of them had been made under it, or unknown.

use ic_analysis::Subject;
use ic_analysis::replay::{Answer, Intent, Tally, Unknown};
use ic_policy::{
    Bounds, Effect, Executed, Policy, ResolvedCall, SandboxKind, UnannotatedPath, Why, evaluate,
};
use ic_types::{Json, Object, Role};
use proptest::prelude::*;
use proptest::sample::select;

use crate::diff::{TOOLS, calls};
use crate::world::{
    ANNOTATIONS, any_kind, any_rules, bounds, config, parts, path, policy, resolve,
};

/// Writes the record of a call as the log would.
pub(crate) fn record(call: &ResolvedCall, request: &str, by: &str, verdict: &str) -> Object {
    let mut fields = Object::new();
    fields.insert("kind", "intent");
    fields.insert("server", call.server().as_str());
    fields.insert("tool", call.tool().as_str());
    fields.insert("arguments", Json::Object(call.asked().arguments.clone()));
    fields.insert("resolved", call.resolved_json());
    fields.insert("behind", call.behind_record());
    fields.insert("replayable", true);
    fields.insert("requestId", request);
    fields.insert("rule", "some-rule");
    fields.insert("verdict", verdict);
    fields.insert("decidedBy", by);
    fields.insert("policyHash", "0".repeat(64));
    fields.insert("timestamp", "2026-11-18T00:00:00.000Z");
    // As it would be after it was written and read.
    let text = Json::Object(fields).to_string();
    match Json::parse(text.as_bytes(), ic_types::JsonLimits::ARTIFACT).unwrap() {
        Json::Object(fields) => fields,
        other => panic!("{other}"),
    }
}

fn load(rules: &[String], annotations: usize) -> Policy {
    policy(&format!("[{}]", rules.join(",")), ANNOTATIONS[annotations])
}

proptest! {
    #![proptest_config(config(600))]

    #[test]
    fn a_replayed_call_is_judged_as_if_it_were_made(
        (before, after) in (any_rules(), any_rules()),
        (of_before, of_after) in (0_usize..2, 0_usize..2),
        kind in any_kind(),
        (server, tool, arguments) in select(TOOLS.to_vec()),
        seed in 0_usize..1000,
    ) {
        let (before, after) = (load(&before, of_before), load(&after, of_after));
        let bounds = bounds(kind);
        let subject = Subject { policy: &after, bounds: &bounds };
        for (at, arguments) in calls(arguments, seed).into_iter().enumerate() {
            let exists = at % 3 == 0;
            let [then, now] = [&before, &after]
                .map(|policy| resolve(policy, (server, tool), &arguments, exists));
            let intent = Intent::read(record(&then, "r", "policy", "allow")).unwrap();
            let expected = evaluate(&after, &bounds, now).effect();
            match intent.judge(subject, None) {
                Answer::Decided(outcome) => prop_assert_eq!(
                    outcome.effect, expected, "{}.{} {:?}", server, tool, arguments
                ),
                Answer::Unknown(Unknown::OtherRoles) => prop_assert!(
                    of_before != of_after, "{}.{} {:?}", server, tool, arguments
                ),
                // The policy is about places in a directory of the call.
                Answer::Unknown(Unknown::Disk) => prop_assert!(
                    after.rules().iter().any(|it| it.place().is_some() && it.effect() != Effect::Allow)
                ),
                Answer::Unknown(other) => prop_assert!(false, "{other:?}"),
            }
        }
    }
}

#[test]
fn what_stood_behind_the_values_is_judged_too() {
    let policy = policy(r#"[{"name":"all","if":{},"then":"allow","reason":"r"}]"#, ANNOTATIONS[0]);
    let bounds = bounds(SandboxKind::Session);
    let subject = Subject { policy: &policy, bounds: &bounds };
    let call = |change: &dyn Fn(&mut ic_policy::ResolvedParts)| {
        let mut arguments = Object::new();
        arguments.insert("source", "/d/a");
        arguments.insert("to", "/d/b");
        let resolved = resolve(&policy, ("fs", "move"), &arguments, true);
        let (server, tool) = (resolved.server().clone(), resolved.tool().clone());
        let mut parts = parts(&server, &tool, resolved.roles().to_vec());
        parts.asked = resolved.asked().clone();
        parts.places = policy.annotation(&server, &tool).unwrap().places(&arguments);
        change(&mut parts);
        ResolvedCall::assert_resolved(parts)
    };
    let judge = |call: &ResolvedCall| {
        Intent::read(record(call, "r", "policy", "allow")).unwrap().judge(subject, None)
    };
    let check = |change: &dyn Fn(&mut ic_policy::ResolvedParts), expected: Effect, rule: &str| {
        let call = call(change);
        assert_eq!(evaluate(&policy, &bounds, call.clone()).effect(), expected);
        match judge(&call) {
            Answer::Decided(outcome) => {
                assert_eq!((outcome.effect, outcome.by.name(&policy).as_str()), (expected, rule));
            }
            Answer::Unknown(why) => panic!("{why:?}"),
        }
    };
    check(&|_| {}, Effect::Allow, "all");
    let executed = || Executed { role: Role::WritePath, path: path("/d/b"), why: Why::Pipeline };
    check(&|it| it.executed.push(executed()), Effect::Escalate, "structural-host-executes");
    check(
        &|it| {
            it.unannotated_paths.push(UnannotatedPath {
                argument: "note".to_owned(),
                path: ic_policy::PathValue { path: path("/p"), also: Vec::new(), state: None },
            });
        },
        Effect::Escalate,
        "structural-unannotated-path",
    );
    check(
        &|it| match &mut it.roles[0].values[0] {
            ic_policy::Value::Path(value) => value.also.push(path("/p/link")),
            other => panic!("{other:?}"),
        },
        Effect::Deny,
        "structural-protected-path",
    );
    check(
        &|it| {
            it.invalid.push(ic_policy::InvalidValue {
                place: "to".to_owned(),
                role: Role::WritePath,
                reason: "r".to_owned(),
            });
        },
        Effect::Deny,
        "structural-invalid-value",
    );
}

#[test]
fn what_a_record_cannot_answer_is_unknown() {
    let policy = policy(r#"[{"name":"all","if":{},"then":"allow","reason":"r"}]"#, ANNOTATIONS[0]);
    let bounds = bounds(SandboxKind::Session);
    let subject = Subject { policy: &policy, bounds: &bounds };
    let mut arguments = Object::new();
    arguments.insert("path", "/d/a");
    let call = resolve(&policy, ("fs", "read"), &arguments, true);
    let judge = |change: &dyn Fn(&mut Object)| {
        let mut fields = record(&call, "r", "policy", "allow");
        change(&mut fields);
        Intent::read(fields).map(|it| it.judge(subject, Some(subject)))
    };
    let unknown = |why| Some(Answer::Unknown(why));
    assert!(matches!(judge(&|_| {}), Some(Answer::Decided(_))));
    assert_eq!(judge(&|it| it.insert("replayable", false)), unknown(Unknown::Hidden));
    assert_eq!(judge(&|it| drop(it.remove("resolved"))), unknown(Unknown::Hidden));
    assert_eq!(judge(&|it| drop(it.remove("behind"))), unknown(Unknown::Old));
    // The policy of that day would say something else now, so something else has changed.
    assert_eq!(judge(&|it| it.insert("verdict", "deny")), unknown(Unknown::Surroundings));
    // No policy was asked.
    assert_eq!(judge(&|it| drop(it.remove("policyHash"))), None);
}

#[test]
fn an_approved_call_counts_once_and_as_one_that_asked() {
    let policy = policy(r#"[{"name":"all","if":{},"then":"allow","reason":"r"}]"#, ANNOTATIONS[0]);
    let bounds = bounds(SandboxKind::Session);
    let subject = Subject { policy: &policy, bounds: &bounds };
    let mut arguments = Object::new();
    arguments.insert("path", "/d/a");
    let call = resolve(&policy, ("fs", "read"), &arguments, true);
    let mut tally = Tally::default();
    for (request, by, verdict) in [
        ("1", "policy", "escalate"),
        ("1", "repl", "allow"),
        ("2", "grant", "allow"),
        ("3", "policy", "deny"),
        ("4", "policy", "allow"),
    ] {
        let intent = Intent::read(record(&call, request, by, verdict)).unwrap();
        let answer = intent.judge(subject, None);
        tally.add(intent, answer, Some(&policy));
    }
    assert_eq!((tally.n_calls, tally.n_asked_before, tally.n_saved), (4, 2, 2));
    assert_eq!((tally.n_changed(), tally.n_unknown()), (3, 0));
    assert!((tally.per_hundred(tally.n_saved) - 50.0).abs() < 1e-9);
}

#[test]
fn a_request_that_would_be_denied_is_counted_as_such() {
    let policy = policy(r#"[{"name":"no","if":{},"then":"deny","reason":"r"}]"#, ANNOTATIONS[0]);
    let bounds = bounds(SandboxKind::Session);
    let subject = Subject { policy: &policy, bounds: &bounds };
    let mut arguments = Object::new();
    arguments.insert("path", "/d/a");
    let call = resolve(&policy, ("fs", "read"), &arguments, true);
    let mut tally = Tally::default();
    for (request, verdict) in [("1", "escalate"), ("2", "allow"), ("3", "escalate")] {
        let intent = Intent::read(record(&call, request, "policy", verdict)).unwrap();
        let answer = intent.judge(subject, None);
        tally.add(intent, answer, Some(&policy));
    }
    assert_eq!((tally.n_asked_before, tally.n_saved, tally.n_refused), (2, 0, 2));
    assert_eq!((tally.n_denied, tally.n_added), (3, 0));
}

#[test]
fn a_relative_path_is_judged_again_where_its_base_is_known() {
    let annotated = |base: &str| {
        format!(
            r#"{{"servers":{{"git":{{"tools":[{{"toolName":"add","args":{{"path":["read-path"],"top":["none"],
            "files":{{"roles":["read-path"],"relativeTo":"{base}"}}}}}}]}}}}}}"#
        )
    };
    let rules =
        |then: &str| format!(r#"[{{"name":"all","if":{{}},"then":"{then}","reason":"r"}}]"#);
    let then = policy(&rules("allow"), &annotated("path"));
    let same_base = policy(&rules("deny"), &annotated("path"));
    let other_base = policy(&rules("deny"), &annotated("top"));
    let bounds = bounds(SandboxKind::Session);
    let mut arguments = Object::new();
    arguments.insert("path", "/d");
    let (server, tool) = ("git".parse().unwrap(), "add".parse().unwrap());
    let call = resolve(&then, ("git", "add"), &arguments, true);
    let mut parts = parts(&server, &tool, call.roles().to_vec());
    parts.asked = call.asked().clone();
    parts.asked.arguments.insert("files", Json::Array(vec![Json::from(".")]));
    parts.places = then.annotation(&server, &tool).unwrap().places(&parts.asked.arguments);
    let mut fields = record(&ResolvedCall::assert_resolved(parts), "r", "policy", "allow");
    fields.insert("policyHash", then.hash().to_string());
    let intent = Intent::read(fields).unwrap();
    let effect = |policy, own| answered(&intent, policy, own, &bounds);
    assert_eq!(effect(&then, None), Ok(Effect::Allow));
    assert_eq!(effect(&then, Some(&then)), Ok(Effect::Allow));
    assert_eq!(effect(&same_base, Some(&then)), Ok(Effect::Deny));
    // Without the policy of that day nobody knows what it was relative to.
    assert_eq!(effect(&same_base, None), Err(Unknown::OtherRoles));
    assert_eq!(effect(&other_base, Some(&then)), Err(Unknown::OtherRoles));
}

fn answered(
    intent: &Intent,
    policy: &Policy,
    own: Option<&Policy>,
    bounds: &Bounds,
) -> Result<Effect, Unknown> {
    let subject = |policy| Subject { policy, bounds };
    match intent.judge(subject(policy), own.map(subject)) {
        Answer::Decided(outcome) => Ok(outcome.effect),
        Answer::Unknown(why) => Err(why),
    }
}
