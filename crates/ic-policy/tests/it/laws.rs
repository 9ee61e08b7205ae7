//! Laws that hold for every policy and every call, tried on thousands of random ones.

use ic_policy::{Policy, SandboxKind, Verdict, evaluate};
use ic_types::Role;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::reference::{self, EFFECTS, RefCall, RefPlace, RefRule};
use crate::world::{SANDBOX, bounds, call, policy, summary};

const ROLES: [Role; 7] = [
    Role::ReadPath,
    Role::WritePath,
    Role::FetchUrl,
    Role::GitRemoteUrl,
    Role::GithubOwner,
    Role::GithubRepo,
    Role::EmailAddress,
];
const DIRECTORIES: [&str; 6] = ["/", "/s", "/s/a", "/d", "/d/a", "/e"];
const PATTERNS: [&str; 5] = ["*", "*.b.example", "a.b.example", "b.example", "c.example"];
const NAMES: [&str; 4] = ["acme", "Bob", "eve@x.example", "ünal@x.example"];

fn values_of(role: Role) -> Vec<&'static str> {
    match role {
        Role::ReadPath | Role::WritePath => vec!["/s/a", "/s/a/b", "/d", "/d/a/b", "/e", "/f"],
        Role::FetchUrl | Role::GitRemoteUrl => {
            vec![
                "https://a.b.example",
                "https://b.example",
                "https://c.example",
                "https://localhost",
            ]
        }
        _ => vec!["acme", "bob", "eve@x.example", "ÜNAL@x.example", "b.example", "carol"],
    }
}

fn roles() -> impl Strategy<Value = Vec<Role>> {
    subsequence(ROLES.to_vec(), 1..4)
}

fn any_rule() -> impl Strategy<Value = RefRule> {
    let servers = prop::option::weighted(0.4, subsequence(vec!["fs", "git", "x"], 0..3));
    let tools = prop::option::weighted(0.3, subsequence(vec!["t", "u"], 0..3));
    let paths = prop::option::weighted(0.3, (roles(), select(DIRECTORIES.to_vec())));
    let domains = prop::option::weighted(0.2, (roles(), subsequence(PATTERNS.to_vec(), 0..3)));
    let list = prop_oneof![
        (roles(), subsequence(NAMES.to_vec(), 0..3), select(vec!["identifiers", "emails"])),
        (roles(), subsequence(PATTERNS.to_vec(), 0..3), Just("domains")),
    ];
    let lists = prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(list, 1..3)];
    (0..3_usize, servers, tools, prop::option::weighted(0.4, roles()), paths, domains, lists)
        .prop_map(|(effect, servers, tools, roles, paths, domains, lists)| RefRule {
            name: String::new(),
            effect,
            servers,
            tools,
            roles,
            paths,
            domains,
            lists,
        })
}

fn any_rules() -> impl Strategy<Value = Vec<RefRule>> {
    prop::collection::vec(any_rule(), 0..10).prop_map(|mut rules| {
        for (position, rule) in rules.iter_mut().enumerate() {
            rule.name = format!("r{position}");
        }
        rules
    })
}

fn values(role: Role) -> impl Strategy<Value = (Role, Vec<&'static str>)> {
    prop::collection::vec(select(values_of(role)), 0..4).prop_map(move |values| (role, values))
}

fn any_call() -> impl Strategy<Value = RefCall> {
    let roles = subsequence(ROLES.to_vec(), 0..4).prop_shuffle();
    let with_values =
        roles.prop_flat_map(|roles| roles.into_iter().map(values).collect::<Vec<_>>());
    (select(vec!["fs", "git", "x"]), select(vec!["t", "u"]), with_values)
        .prop_map(|(server, tool, roles)| RefCall { server, tool, roles, is_draft: false })
}

pub(crate) fn load(rules: &[RefRule]) -> Policy {
    let names = |roles: &[Role]| roles.iter().map(|role| role.as_str()).collect::<Vec<_>>();
    let texts: Vec<String> = rules
        .iter()
        .map(|rule| {
            let mut parts = Vec::new();
            if let Some(servers) = &rule.servers {
                parts.push(format!(r#""server":{servers:?}"#));
            }
            if let Some(tools) = &rule.tools {
                parts.push(format!(r#""tool":{tools:?}"#));
            }
            if let Some(roles) = &rule.roles {
                parts.push(format!(r#""roles":{:?}"#, names(roles)));
            }
            if let Some((roles, within)) = &rule.paths {
                parts
                    .push(format!(r#""paths":{{"roles":{:?},"within":{within:?}}}"#, names(roles)));
            }
            if let Some((roles, allowed)) = &rule.domains {
                parts.push(format!(
                    r#""domains":{{"roles":{:?},"allowed":{allowed:?}}}"#,
                    names(roles)
                ));
            }
            let lists: Vec<String> = rule
                .lists
                .iter()
                .map(|(roles, allowed, kind)| {
                    format!(
                        r#"{{"roles":{:?},"allowed":{allowed:?},"matchType":{kind:?}}}"#,
                        names(roles)
                    )
                })
                .collect();
            if !lists.is_empty() {
                parts.push(format!(r#""lists":[{}]"#, lists.join(",")));
            }
            let (name, then) = (&rule.name, EFFECTS[rule.effect]);
            format!(
                r#"{{"name":"{name}","if":{{{}}},"then":"{then}","reason":"r"}}"#,
                parts.join(",")
            )
        })
        .collect();
    policy(&format!("[{}]", texts.join(",")), "{}")
}

fn verdict(policy: &Policy, ref_call: &RefCall) -> Verdict {
    let roles: Vec<(Role, &[&str])> =
        ref_call.roles.iter().map(|(role, values)| (*role, values.as_slice())).collect();
    evaluate(policy, &bounds(SandboxKind::Session), call(ref_call.server, ref_call.tool, &roles))
}

fn has_resource(call: &RefCall) -> bool {
    call.roles.iter().any(|(role, _)| role.is_resource())
}

fn is_in_lists(rules: &[RefRule], role: Role) -> bool {
    rules.iter().any(|rule| rule.lists.iter().any(|(roles, ..)| roles.contains(&role)))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 3000,
        max_global_rejects: 100_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_index_agrees_with_a_walk_over_all_rules(rules in any_rules(), call in any_call()) {
        let place = RefPlace { sandbox: SANDBOX, is_workspace: false, protected: &[] };
        let expected = reference::judge(&place, &rules, &call);
        prop_assert_eq!(summary(&verdict(&load(&rules), &call)), expected);
    }

    #[test]
    fn one_more_value_never_loosens(
        rules in any_rules(),
        call in any_call(),
        at in any::<prop::sample::Index>(),
        which in any::<prop::sample::Index>(),
    ) {
        prop_assume!(has_resource(&call));
        let policy = load(&rules);
        let before = verdict(&policy, &call).effect();
        let mut more = call;
        let role_at = at.index(more.roles.len());
        let (role, values) = &mut more.roles[role_at];
        prop_assume!(!values.is_empty());
        let choices = values_of(*role);
        values.push(choices[which.index(choices.len())]);
        prop_assert!(before <= verdict(&policy, &more).effect(), "{more:?}");
    }

    #[test]
    fn one_more_role_never_loosens(rules in any_rules(), call in any_call(), extra in select(ROLES.to_vec()).prop_flat_map(values)) {
        prop_assume!(has_resource(&call));
        prop_assume!(!is_in_lists(&rules, extra.0));
        prop_assume!(call.roles.iter().all(|(role, _)| *role != extra.0));
        let policy = load(&rules);
        let before = verdict(&policy, &call).effect();
        let mut more = call;
        more.roles.push(extra);
        prop_assert!(before <= verdict(&policy, &more).effect(), "{more:?}");
    }

    #[test]
    fn removing_an_allow_rule_never_loosens(rules in any_rules(), call in any_call(), at in any::<prop::sample::Index>()) {
        prop_assume!(has_resource(&call));
        prop_assume!(!rules.is_empty());
        let position = at.index(rules.len());
        prop_assume!(rules[position].effect == 0);
        let before = verdict(&load(&rules), &call).effect();
        let mut fewer = rules;
        fewer.remove(position);
        prop_assert!(before <= verdict(&load(&fewer), &call).effect());
    }

    #[test]
    fn the_order_of_values_does_not_matter(rules in any_rules(), call in any_call(), seed in any::<u64>()) {
        let policy = load(&rules);
        let before = summary(&verdict(&policy, &call));
        let mut turned = call;
        for (_, values) in &mut turned.roles {
            let n = values.len().max(1);
            values.rotate_left(usize::try_from(seed).unwrap_or(0) % n);
            if seed % 2 == 0 {
                values.reverse();
            }
        }
        prop_assert_eq!(summary(&verdict(&policy, &turned)), before);
    }
}
