//! Where the user's own rules are stronger than the sandbox: random policies and calls around a sandbox
//! and a workspace, judged by the decision and by the naive reference; and the cases by name.

use ic_policy::{Sandbox, SandboxKind, Standing, evaluate};
use ic_types::Role;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::laws::load;
use crate::reference::{self, RefCall, RefPlace, RefRule};
use crate::world::{bounds, parts, path, summary};

/// The sandbox of these tests, with something above it, beside it, and with a similar name.
const SANDBOX: &str = "/h/w";
const PROTECTED: &str = "/h/w/keys";

const ROLES: [Role; 6] = [
    Role::ReadPath,
    Role::WritePath,
    Role::DeletePath,
    Role::WriteHistory,
    Role::DeleteHistory,
    Role::GithubOwner,
];
const PLACES: [&str; 10] = [
    "/",
    "/h",
    "/h/w",
    "/h/w/src",
    "/h/w/src/gen",
    "/h/w/src/gen/deep",
    "/h/w/doc",
    "/h/w2",
    "/h/other",
    "/h/other/in",
];
const VALUES: [&str; 13] = [
    "/h",
    "/h/w",
    "/h/w/a",
    "/h/w/src",
    "/h/w/src/a",
    "/h/w/src/gen",
    "/h/w/src/gen/deep/a",
    "/h/w/doc",
    "/h/w/doc/a",
    "/h/w2/a",
    "/h/other",
    "/h/other/in/a",
    "/h/w/keys/a",
];

fn path_roles() -> impl Strategy<Value = Vec<Role>> {
    subsequence(ROLES.get(..5).unwrap_or_default().to_vec(), 1..=5)
}

fn any_rule() -> impl Strategy<Value = RefRule> {
    let servers = prop::option::weighted(0.2, subsequence(vec!["fs", "git", "x"], 1..3));
    let tools = prop::option::weighted(0.2, subsequence(vec!["t", "run_command"], 1..2));
    let paths = prop::option::weighted(0.75, (path_roles(), select(PLACES.to_vec())));
    let roles = prop::option::weighted(0.3, path_roles());
    let list = (
        prop_oneof![Just(vec![Role::GithubOwner]), path_roles()],
        subsequence(vec!["acme", "bob", "/h/w/src", "/h/w"], 1..4),
        Just("identifiers"),
    );
    let lists = prop_oneof![5 => Just(Vec::new()), 1 => prop::collection::vec(list, 1..2)];
    let domains = prop::option::weighted(0.03, (path_roles(), Just(vec!["*"])));
    (0..3_usize, servers, tools, roles, paths, domains, lists).prop_map(
        |(effect, servers, tools, roles, paths, domains, lists)| RefRule {
            name: String::new(),
            effect,
            servers,
            tools,
            roles,
            paths,
            domains,
            lists,
        },
    )
}

fn any_rules() -> impl Strategy<Value = Vec<RefRule>> {
    prop::collection::vec(any_rule(), 0..8).prop_map(|mut rules| {
        for (position, rule) in rules.iter_mut().enumerate() {
            rule.name = format!("r{position}");
        }
        rules
    })
}

fn any_call() -> impl Strategy<Value = RefCall> {
    let values = |role: Role| {
        let choices = match role {
            Role::GithubOwner => vec!["acme", "bob", "carol"],
            _ => VALUES.to_vec(),
        };
        prop::collection::vec(select(choices), 0..4).prop_map(move |values| (role, values))
    };
    let roles = subsequence(ROLES.to_vec(), 1..4).prop_shuffle();
    let roles = roles.prop_flat_map(move |roles| roles.into_iter().map(values).collect::<Vec<_>>());
    let servers = select(vec!["fs", "fs", "git", "git", "x"]);
    (servers, select(vec!["t", "t", "run_command"]), roles, prop::bool::weighted(0.1))
        .prop_map(|(server, tool, roles, is_draft)| RefCall { server, tool, roles, is_draft })
}

/// Judges a call by the decision.
fn judge(kind: SandboxKind, rules: &[RefRule], call: &RefCall) -> String {
    let mut bounds = bounds(kind);
    bounds.sandbox = Some(Sandbox { path: path(SANDBOX), kind });
    bounds.protected = vec![path(PROTECTED)];
    let roles: Vec<(Role, &[&str])> =
        call.roles.iter().map(|(role, values)| (*role, values.as_slice())).collect();
    let mut parts = parts(call.server, call.tool, &roles);
    if call.is_draft {
        parts.standing = Standing::Draft;
    }
    let call = ic_policy::ResolvedCall::assert_resolved(parts);
    summary(&evaluate(&load(rules), &bounds, call))
}

fn kinds() -> impl Strategy<Value = (SandboxKind, RefPlace)> {
    let place = |is_workspace| RefPlace { sandbox: SANDBOX, is_workspace, protected: &[PROTECTED] };
    prop_oneof![
        Just((SandboxKind::Session, place(false))),
        Just((SandboxKind::Workspace, place(true))),
    ]
}

/// Returns the usual number of cases, unless `PROPTEST_CASES` asks for more.
fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { cases: config.cases.max(4000), ..config }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_decision_agrees_with_the_naive_reference_around_a_sandbox(
        (kind, place) in kinds(),
        rules in any_rules(),
        call in any_call(),
    ) {
        prop_assert_eq!(judge(kind, &rules, &call), reference::judge(&place, &rules, &call));
    }
}

/// Writes one rule about a place; `then` is 0 to allow, 1 to escalate, 2 to deny.
fn within(name: &str, then: usize, roles: &[Role], place: &'static str) -> RefRule {
    let paths = Some((roles.to_vec(), place));
    RefRule { paths, ..everywhere(name, then, None) }
}

/// Writes one rule that names no place.
fn everywhere(name: &str, effect: usize, roles: Option<&[Role]>) -> RefRule {
    RefRule {
        name: name.to_owned(),
        effect,
        servers: None,
        tools: None,
        roles: roles.map(<[Role]>::to_vec),
        paths: None,
        domains: None,
        lists: Vec::new(),
    }
}

const CHANGES: [Role; 3] = [Role::ReadPath, Role::WritePath, Role::DeletePath];

/// Checks what the decision says of a call with one role and these values, and that the reference
/// says the same.
#[track_caller]
fn check(
    rules: &[RefRule],
    kind: SandboxKind,
    (server, tool): (&'static str, &'static str),
    (role, values): (Role, &[&'static str]),
    expected: &str,
) {
    let roles = vec![(role, values.to_vec())];
    let call = RefCall { server, tool, roles, is_draft: false };
    let is_workspace = kind.is_used_by_host();
    let place = RefPlace { sandbox: SANDBOX, is_workspace, protected: &[PROTECTED] };
    assert_eq!(judge(kind, rules, &call), expected, "{kind:?} {call:?}");
    assert_eq!(reference::judge(&place, rules, &call), expected, "reference, {kind:?} {call:?}");
}

#[test]
fn a_rule_that_denies_holds_in_a_workspace_and_not_in_a_sandbox_of_the_session() {
    let readonly = [
        everywhere("read", 0, Some(&[Role::ReadPath])),
        everywhere("no-writes", 2, Some(&[Role::WritePath, Role::DeletePath])),
    ];
    for (server, role) in
        [("fs", Role::WritePath), ("git", Role::WritePath), ("fs", Role::DeletePath)]
    {
        let (call, values) = ((server, "t"), (role, &["/h/w/a"][..]));
        check(&readonly, SandboxKind::Session, call, values, "allow by structural-sandbox-allow");
        for kind in [SandboxKind::Workspace, SandboxKind::Filled] {
            check(&readonly, kind, call, values, "deny by no-writes");
        }
    }
    let read = (Role::ReadPath, &["/h/w/a"][..]);
    check(
        &readonly,
        SandboxKind::Workspace,
        ("fs", "t"),
        read,
        "allow by structural-sandbox-allow",
    );
    // What no rule speaks of is free where the agent is free.
    let history = (Role::WriteHistory, &["/h/w"][..]);
    let free = "allow by structural-sandbox-allow";
    check(&readonly, SandboxKind::Workspace, ("git", "t"), history, free);
}

#[test]
fn a_rule_about_a_place_in_the_sandbox_holds_there_and_a_general_one_does_not() {
    let free = "allow by structural-sandbox-allow";
    for kind in [SandboxKind::Session, SandboxKind::Workspace] {
        let writes = |rules: &[RefRule], value: &'static str, expected: &str| {
            check(rules, kind, ("fs", "t"), (Role::WritePath, &[value]), expected);
            check(rules, kind, ("git", "t"), (Role::WritePath, &[value]), expected);
        };
        let never = [within("never-src", 2, &CHANGES, "/h/w/src")];
        writes(&never, "/h/w/src/a", "deny by never-src");
        writes(&never, "/h/w/src", "deny by never-src");
        writes(&never, "/h/w/a", free);
        let ask = [within("ask-src", 1, &CHANGES, "/h/w/src")];
        writes(&ask, "/h/w/src/a", "escalate by ask-src (write-path)");
        let here = [within("ask-here", 1, &CHANGES, "/h/w")];
        writes(&here, "/h/w/a", "escalate by ask-here (write-path)");
        for place in ["/", "/h"] {
            writes(&[within("ask-all", 1, &CHANGES, place)], "/h/w/a", free);
        }
        // The first rule that would settle the value decides, also whether it counts.
        let excepted =
            [within("gen", 0, &CHANGES, "/h/w/src/gen"), within("never", 2, &CHANGES, "/h/w/src")];
        writes(&excepted, "/h/w/src/gen/a", free);
        writes(&excepted, "/h/w/src/a", "deny by never");
    }
    let all = [within("deny-all", 2, &CHANGES, "/")];
    let write = (Role::WritePath, &["/h/w/a"][..]);
    check(&all, SandboxKind::Session, ("fs", "t"), write, free);
    check(&all, SandboxKind::Workspace, ("fs", "t"), write, "deny by deny-all");
}

#[test]
fn what_is_free_stays_free_beside_a_value_that_is_not() {
    let ask = [within("ask-src", 1, &CHANGES, "/h/w/src")];
    let both = (Role::ReadPath, &["/h/w/a", "/h/w/src/a"][..]);
    let kind = SandboxKind::Workspace;
    check(&ask, kind, ("fs", "t"), both, "escalate by ask-src (read-path)");
    // Of any other contained server all values of the role are then for the rules.
    check(&ask, kind, ("git", "t"), both, "deny by default-deny");
}

#[test]
fn removing_a_directory_is_judged_by_the_places_beneath_it() {
    let free = "allow by structural-sandbox-allow";
    for kind in [SandboxKind::Session, SandboxKind::Workspace] {
        let never = [within("never", 2, &CHANGES, "/h/w/src/gen")];
        for (value, expected) in [
            ("/h/w/src", "deny by never"),
            ("/h/w/src/gen", "deny by never"),
            ("/h/w/doc", free),
            ("/h/w/src/a", free),
        ] {
            check(&never, kind, ("fs", "t"), (Role::DeletePath, &[value]), expected);
        }
        // Only what is removed is taken along; writing beside the place is writing beside it.
        check(&never, kind, ("fs", "t"), (Role::WritePath, &["/h/w/src"]), free);
        check(&never, kind, ("fs", "run_command"), (Role::WritePath, &["/h/w"]), "deny by never");
        check(&never, kind, ("fs", "run_command"), (Role::ReadPath, &["/h/w"]), "deny by never");
        // An allow rule before it does not help: what is beneath goes along.
        let after = [
            within("mine", 0, &CHANGES, "/h/w/src"),
            within("ask", 1, &CHANGES, "/h/w/src/gen/deep"),
        ];
        let deletes = (Role::DeletePath, &["/h/w/src/gen"][..]);
        check(&after, kind, ("fs", "t"), deletes, "escalate by ask (delete-path)");
        // A rule about reading says nothing about removing.
        let unread = [within("unread", 2, &[Role::ReadPath], "/h/w/src/gen")];
        check(&unread, kind, ("fs", "t"), (Role::DeletePath, &["/h/w/src"]), free);
    }
    // Outside the sandbox too.
    let rules = [within("never", 2, &CHANGES, "/h/other/in"), within("open", 0, &CHANGES, "/h")];
    let deletes = (Role::DeletePath, &["/h/other"][..]);
    check(&rules, SandboxKind::Session, ("fs", "t"), deletes, "deny by never");
}

/// The index must not take a rule for settled by an earlier one that does not cover its own root.
#[test]
fn a_later_rule_about_the_same_place_is_asked_about_the_place_itself() {
    let rules = [
        within("open", 0, &CHANGES, "/h/w/doc"),
        within("never", 2, &CHANGES, "/h/w/doc"),
        everywhere("rest", 0, None),
    ];
    for (kind, server) in [(SandboxKind::Session, "fs"), (SandboxKind::Workspace, "x")] {
        let deletes = (Role::DeletePath, &["/h/w/doc"][..]);
        check(&rules, kind, (server, "t"), deletes, "deny by never");
    }
}
