//! Two policies compared, and every call of a small world judged by both: the same calls must differ.

use ic_analysis::diff::{Change, Part, Region};
use ic_analysis::{Class, Comparison, Subject};
use ic_policy::{Bounds, Effect, Policy, ResolvedCall, SandboxKind, evaluate};
use ic_types::{Json, Object, Role};
use proptest::prelude::*;
use proptest::sample::select;

use crate::world::{
    ANNOTATIONS, any_kind, any_rules, bounds, config, json, policy, resolve, values_of,
};

/// Tools and their arguments, each with a role whose values to try.
pub(crate) const TOOLS: [(&str, &str, &[(&str, Role)]); 12] = [
    ("fs", "read", &[("path", Role::ReadPath), ("more", Role::ReadPath)]),
    ("fs", "move", &[("source", Role::ReadPath), ("to", Role::WritePath)]),
    ("fs", "list_allowed_directories", &[("path", Role::ReadPath)]),
    ("git", "add", &[("path", Role::ReadPath), ("files", Role::ReadPath)]),
    ("git", "git_clean", &[("path", Role::DeletePath)]),
    ("git", "push", &[("path", Role::ReadPath), ("remote", Role::GitRemoteUrl)]),
    ("x", "fetch", &[("url", Role::FetchUrl), ("note", Role::EmailBody)]),
    (
        "x",
        "mail",
        &[("to", Role::EmailAddress), ("file", Role::ReadPath), ("owner", Role::GithubOwner)],
    ),
    ("x", "say", &[("to", Role::EmailAddress), ("text", Role::EmailBody)]),
    ("x", "run_command", &[("cwd", Role::ReadPath)]),
    ("x", "proxy", &[("host", Role::ProxyDomain), ("owner", Role::GithubOwner)]),
    ("x", "edit", &[("path", Role::ReadPath), ("mode", Role::None)]),
];

/// Returns what an argument can be: absent, one text, or two.
fn options(role: Role, n_arguments: usize, seed: usize) -> Vec<Option<Json>> {
    if role == Role::None {
        let modes = r#"{"m":["look","other",true,false,"",null]}"#;
        let Some(Json::Array(modes)) = json(modes).get("m").cloned() else { panic!() };
        return modes.into_iter().map(Some).chain([None]).collect();
    }
    let texts = values_of(role);
    let n = texts.len();
    let kept = if n_arguments == 3 { 5 } else { n };
    let text = |at: usize| Json::from(texts[(at + seed) % n]);
    let mut found = vec![None];
    found.extend((0..kept).map(|at| Some(text(at))));
    found.extend((0..kept / 2).map(|at| Some(Json::Array(vec![text(at), text(5 * at + 1)]))));
    found
}

pub(crate) fn calls(arguments: &[(&str, Role)], seed: usize) -> Vec<Object> {
    let mut calls = vec![Object::new()];
    for (at, (name, role)) in arguments.iter().enumerate() {
        let options = options(*role, arguments.len(), seed / (at + 1));
        let more = |call: &Object| {
            let with = |value: &Option<Json>| {
                let mut call = call.clone();
                if let Some(value) = value {
                    call.insert(*name, value.clone());
                }
                call
            };
            options.iter().map(with).collect::<Vec<Object>>()
        };
        calls = calls.iter().flat_map(more).collect();
    }
    calls
}

struct Sides<'a> {
    policies: [&'a Policy; 2],
    bounds: &'a Bounds,
}

impl Sides<'_> {
    fn judge(&self, names: (&str, &str), call: &Object, exists: bool) -> [Effect; 2] {
        self.policies.map(|policy| {
            evaluate(policy, self.bounds, resolve(policy, names, call, exists)).effect()
        })
    }

    fn resolved(&self, names: (&str, &str), call: &Object, exists: bool) -> [ResolvedCall; 2] {
        self.policies.map(|policy| resolve(policy, names, call, exists))
    }
}

/// Returns whether a change says that this call comes out differently, and why.
fn is_told(change: &Change, calls: &[ResolvedCall; 2], comparison: &Comparison<'_>) -> bool {
    match &change.part {
        Part::Call => true,
        Part::NoValues(role) => calls
            .iter()
            .any(|call| call.roles().iter().any(|it| it.role == *role && it.values.is_empty())),
        Part::Values { argument, .. } => {
            let known: Vec<&Class> =
                change.regions.iter().filter_map(|it| it.class.as_ref()).collect();
            // An argument that one of them does not know counts whatever its value is.
            let is_unknown =
                calls.iter().any(|call| call.asked().arguments.get(argument).is_some())
                    && matches!(&change.part, Part::Values { role: None, .. });
            let values = calls.iter().flat_map(ResolvedCall::roles).flat_map(|it| &it.values);
            is_unknown
                || values.map(|it| comparison.space().class(it)).any(|it| known.contains(&&it))
        }
    }
}

fn check_example(sides: &Sides<'_>, change: &Change, region: &Region) -> Result<(), TestCaseError> {
    let names = (change.server.as_str(), change.tool.as_str());
    let wanted = [change.before, change.after];
    let judged = [true, false].map(|exists| sides.judge(names, &region.example, exists));
    prop_assert!(
        judged.contains(&wanted),
        "{names:?} {:?}: {wanted:?} but {judged:?}",
        region.example
    );
    Ok(())
}

fn any_policy() -> impl Strategy<Value = (Vec<String>, usize)> {
    (any_rules(), prop_oneof![3 => Just(0_usize), 1 => Just(1_usize)])
}

/// The second policy is another one, or the first with one rule changed.
fn any_pair() -> impl Strategy<Value = ((Vec<String>, usize), (Vec<String>, usize))> {
    let near = (any_policy(), any_rules(), any::<prop::sample::Index>(), 0_usize..3).prop_map(
        |((rules, annotations), other, at, how)| {
            let mut changed = rules.clone();
            let at = at.index(changed.len() + 1);
            match (how, other.into_iter().next()) {
                (0, Some(rule)) => changed.insert(at, rule.replace("\"r0\"", "\"new\"")),
                _ if at < changed.len() => drop(changed.remove(at)),
                _ => {}
            }
            ((rules, annotations), (changed, annotations))
        },
    );
    prop_oneof![1 => (any_policy(), any_policy()), 2 => near]
}

fn load((rules, annotations): &(Vec<String>, usize)) -> Policy {
    policy(&format!("[{}]", rules.join(",")), ANNOTATIONS[*annotations])
}

proptest! {
    #![proptest_config(config(700))]

    #[test]
    fn a_comparison_finds_every_call_that_differs_and_no_other(
        (one, other) in any_pair(),
        kind in any_kind(),
        (server, tool, arguments) in select(TOOLS.to_vec()),
        seed in 0_usize..1000,
    ) {
        let (before, after, bounds) = (load(&one), load(&other), bounds(kind));
        let subject = |policy| Subject { policy, bounds: &bounds };
        let comparison = Comparison::new(subject(&before), subject(&after));
        let changes = comparison.changes().unwrap();
        let sides = Sides { policies: [&before, &after], bounds: &bounds };
        for change in &changes {
            prop_assert!(change.before != change.after && !change.regions.is_empty());
            for region in &change.regions {
                check_example(&sides, change, region)?;
            }
        }
        let names = (server, tool);
        let of_tool: Vec<&Change> = changes
            .iter()
            .filter(|it| it.server.as_str() == server && it.tool.as_str() == tool)
            .collect();
        for (at, call) in calls(arguments, seed).into_iter().enumerate() {
            let exists = at % 3 == 0;
            let [before, after] = sides.judge(names, &call, exists);
            let resolved = sides.resolved(names, &call, exists);
            // A greater change of the same values implies a smaller one beside other values.
            let implies = |it: &Change| match before < after {
                true => it.before <= before && it.after == after,
                false => it.before == before && it.after <= after,
            };
            let is_told =
                of_tool.iter().any(|it| implies(it) && is_told(it, &resolved, &comparison));
            prop_assert!(
                before == after || is_told,
                "{names:?} {call:?} is {before} and then {after}: {:?}",
                of_tool.iter().map(|it| (&it.part, it.before, it.after)).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn a_policy_does_not_differ_from_itself(one in any_policy(), kind in any_kind()) {
        let (before, after, bounds) = (load(&one), load(&one), bounds(kind));
        let subject = |policy| Subject { policy, bounds: &bounds };
        let changes = Comparison::new(subject(&before), subject(&after)).changes().unwrap();
        prop_assert!(changes.is_empty(), "{changes:?}");
    }
}

#[test]
fn a_stricter_rule_only_narrows() {
    let rules = r#"{"name":"all","if":{},"then":"allow","reason":"r"}"#;
    let first = r#"{"name":"no","if":{"paths":{"roles":["read-path"],"within":"/d/a"}},"then":"deny","reason":"r"},"#;
    let (before, after) = (
        policy(&format!("[{rules}]"), ANNOTATIONS[0]),
        policy(&format!("[{first}{rules}]"), ANNOTATIONS[0]),
    );
    let bounds = bounds(SandboxKind::Session);
    let subject = |policy| Subject { policy, bounds: &bounds };
    let changes = Comparison::new(subject(&before), subject(&after)).changes().unwrap();
    let is_plain = |it: &Change| it.tool.as_str() == "read" && it.before == Effect::Allow;
    assert!(changes.iter().any(is_plain), "{changes:?}");
    for change in &changes {
        assert!(!change.is_widening(), "{change:?}");
        assert_eq!(change.after, Effect::Deny, "{change:?}");
    }
    let back = Comparison::new(subject(&after), subject(&before)).changes().unwrap();
    assert_eq!(back.len(), changes.len());
    assert!(back.iter().all(Change::is_widening));
}

/// A rule that is about no resource of a tool still restricts what its calls say beside them.
#[test]
fn a_list_of_a_rule_that_speaks_beside_resources_is_looked_at() {
    let allow = r#"{"name":"all","if":{},"then":"allow","reason":"r"}"#;
    let deny = r#"{"name":"no","if":{"roles":["email-address"],"lists":[{"roles":["github-owner"],"allowed":["acme"],"matchType":"identifiers"}]},"then":"deny","reason":"r"},"#;
    let (before, after) = (
        policy(&format!("[{deny}{allow}]"), ANNOTATIONS[0]),
        policy(&format!("[{allow}]"), ANNOTATIONS[0]),
    );
    let bounds = bounds(SandboxKind::Session);
    let subject = |policy| Subject { policy, bounds: &bounds };
    let changes = Comparison::new(subject(&before), subject(&after)).changes().unwrap();
    assert!(!changes.is_empty());
    for change in &changes {
        assert_eq!((change.tool.as_str(), change.is_widening()), ("mail", true), "{change:?}");
    }
}
