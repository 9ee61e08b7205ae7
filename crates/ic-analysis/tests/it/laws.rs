//! Random policies, and all calls of a small world: the table must say of each what the decision says.

use std::collections::HashSet;

use ic_analysis::{Asked, By, Class, Subject, Table};
use ic_policy::{ResolvedCall, RoleValues, SandboxKind, Standing, evaluate};
use ic_types::{Object, Role, ServerName, ToolName};
use proptest::prelude::*;
use proptest::sample::select;

use crate::world::{self, ANNOTATIONS, any_kind, any_rules, bounds, config, parts, policy};

/// Tools, and the roles that a call of them may have.
const TOOLS: [(&str, &str, &[Role]); 11] = [
    ("fs", "read", &[Role::ReadPath]),
    ("fs", "move", &[Role::ReadPath, Role::DeletePath, Role::WritePath]),
    ("fs", "list_allowed_directories", &[Role::ReadPath]),
    ("git", "add", &[Role::ReadPath, Role::WriteHistory]),
    ("git", "git_clean", &[Role::ReadPath, Role::DeletePath]),
    ("git", "push", &[Role::ReadPath, Role::GitRemoteUrl]),
    ("x", "fetch", &[Role::FetchUrl, Role::None]),
    ("x", "mail", &[Role::EmailAddress, Role::ReadPath, Role::GithubOwner]),
    ("x", "say", &[Role::EmailAddress, Role::EmailBody]),
    ("x", "run_command", &[Role::ReadPath, Role::WritePath]),
    ("x", "proxy", &[Role::ProxyDomain, Role::GithubOwner]),
];

/// Returns no values, each single one, and some pairs; three roles get fewer.
fn values(role: Role, n_roles: usize, seed: usize) -> Vec<RoleValues> {
    let texts = if role == Role::None { Vec::new() } else { world::values_of(role) };
    let n = texts.len();
    let kept = match n_roles {
        3 => 6,
        _ => n,
    };
    let value = |at: usize| world::value(role, texts[at % n], (at + seed).is_multiple_of(2));
    let mut found = vec![Vec::new()];
    found.extend((0..kept.min(n)).map(|at| vec![value(at + seed)]));
    found.extend((0..kept.min(n) / 2).map(|at| vec![value(at + seed), value(3 * at + seed / 7)]));
    found.into_iter().map(|values| RoleValues { role, values }).collect()
}

/// Returns all calls of a tool, each as its roles and values.
fn calls(roles: &[Role], seed: usize) -> Vec<Vec<RoleValues>> {
    let mut calls: Vec<Vec<RoleValues>> = vec![Vec::new()];
    for (at, role) in roles.iter().enumerate() {
        let options = values(*role, roles.len(), seed / (at + 1));
        let more = |call: &Vec<RoleValues>| {
            let with = |it: &RoleValues| call.iter().chain([it]).cloned().collect();
            options.iter().map(with).collect::<Vec<Vec<RoleValues>>>()
        };
        calls = calls.iter().flat_map(more).collect();
    }
    calls
}

proptest! {
    #![proptest_config(config(1500))]

    #[test]
    fn the_table_says_of_every_call_what_the_decision_says(
        rules in any_rules(),
        kind in any_kind(),
        (server, tool, roles) in select(TOOLS.to_vec()),
        seed in 0_usize..1000,
    ) {
        let policy = policy(&format!("[{}]", rules.join(",")), ANNOTATIONS[0]);
        let bounds = bounds(kind);
        let table = Table::new(Subject { policy: &policy, bounds: &bounds }, &Asked::default());
        let (server, tool): (ServerName, ToolName) = (server.parse().unwrap(), tool.parse().unwrap());
        let is_draft = policy.annotation(&server, &tool).unwrap().is_draft();
        // Only a call without arguments asks for the list of directories alone.
        let mut arguments = Object::new();
        arguments.insert("path", "/x");
        let space = table.space();
        let known: Vec<(Role, HashSet<Class>)> = roles
            .iter()
            .map(|role| (*role, space.examples(*role).map(|it| space.class(&it.value)).collect()))
            .collect();
        for call in calls(roles, seed) {
            for (entry, (role, known)) in call.iter().zip(&known) {
                for value in &entry.values {
                    prop_assert!(known.contains(&space.class(value)), "no example: {role} {value:?}");
                }
            }
            let predicted = table.predict((&server, &tool), &call, &arguments).unwrap();
            let mut parts = parts(&server, &tool, call.clone());
            parts.asked.arguments = arguments.clone();
            parts.standing = if is_draft { Standing::Draft } else { Standing::Annotated };
            let verdict = evaluate(&policy, &bounds, ResolvedCall::assert_resolved(parts));
            prop_assert_eq!(
                predicted, verdict.effect(),
                "{} by {}: {}.{} {:?}", verdict.effect(), verdict.rule(), server, tool, call
            );
        }
    }
}

#[test]
fn a_rule_has_a_say_beneath_an_invariant_that_decides() {
    let rule = r#"[{"name":"hooks","if":{"paths":{"roles":["write-path"],"within":"/e/.git"}},"then":"allow","reason":"r"}]"#;
    let (policy, bounds) = (policy(rule, ANNOTATIONS[0]), bounds(SandboxKind::Session));
    let table = Table::new(Subject { policy: &policy, bounds: &bounds }, &Asked::default());
    let lines = table.lines().unwrap();
    let by_rule = |by: By| by == By::Rule(0);
    assert!(!lines.iter().any(|it| by_rule(it.outcome.by)), "the host executes what is there");
    assert_eq!(table.heard().unwrap(), [0].into());
}
