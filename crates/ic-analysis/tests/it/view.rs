//! The view of an agent: a table of what single rules do to it, and the law that it never gives more than the
//! decision allows.

use ic_analysis::{AgentView, Inhabitant, NoView, Shown};
use ic_policy::{
    Bounds, Builtin, Containment, Effect, Policy, ResolvedCall, RoleValues, Sandbox, SandboxKind,
    ServerTraits, decisive, explain,
};
use ic_types::{CanonicalPath, Role};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::world::{any_kind, config, parts, policy, value};

const ANNOTATIONS: &str = r#"{"servers":{
    "filesystem":{"tools":[
        {"toolName":"write_file","args":{"path":["write-path"]}},
        {"toolName":"delete_file","args":{"path":["delete-path"]}}]},
    "shell":{"tools":[
        {"toolName":"run_command","args":{"cwd":["read-path","write-path","delete-path"]}}]}}}"#;
const ROLES: [Role; 3] = [Role::ReadPath, Role::WritePath, Role::DeletePath];
const PLACES: [&str; 9] =
    ["/", "/s", "/s/a", "/s/a/b", "/s/a/b/c", "/s/d", "/s/secret", "/t", "/t/in"];
const PATHS: [&str; 16] = [
    "/",
    "/s",
    "/s/x",
    "/s/a",
    "/s/a/x",
    "/s/a/b",
    "/s/a/b/x",
    "/s/a/b/c",
    "/s/a/b/c/x",
    "/s/d",
    "/s/d/x/y",
    "/s/secret",
    "/s/secret/x",
    "/t/x",
    "/t/in/x",
    "/t/key",
];

fn path(text: &str) -> CanonicalPath {
    CanonicalPath::new(text).unwrap()
}

/// A sandbox at `/s`, with something protected in it and in what the settings show.
fn bounds(kind: SandboxKind) -> Bounds {
    let server =
        |containment| ServerTraits { containment, names_files: false, allowed_domains: Vec::new() };
    let servers = [
        ("filesystem", server(Containment::ContainedFilesystem)),
        ("shell", server(Containment::Contained)),
    ];
    Bounds {
        sandbox: Some(Sandbox { path: path("/s"), kind }),
        protected: vec![path("/s/secret"), path("/t/key"), path("/p")],
        home_executes: Vec::new(),
        servers: servers.into_iter().map(|(name, it)| (name.parse().unwrap(), it)).collect(),
    }
}

/// Returns the view under `rules`, as a text: `w` writable, `r` read-only, `-` empty.
fn shown(inhabitant: Inhabitant, kind: SandboxKind, rules: &str) -> String {
    let policy = policy(&format!("[{rules}]"), ANNOTATIONS);
    match AgentView::of(inhabitant, &policy, &bounds(kind), &[path("/t")]) {
        Ok(view) => {
            let word = |(path, shown): (&CanonicalPath, Shown)| match shown {
                Shown::Writable => format!("w:{path}"),
                Shown::ReadOnly => format!("r:{path}"),
                Shown::Empty => format!("-:{path}"),
            };
            view.places().map(word).collect::<Vec<_>>().join(" ")
        }
        Err(error) => error.to_string(),
    }
}

fn rule(effect: &str, conditions: &str) -> String {
    format!(
        r#"{{"name":"it","description":"","principle":"","reason":"","then":"{effect}","if":{{{conditions}}}}}"#
    )
}

fn at(roles: &str, within: &str) -> String {
    format!(r#""paths":{{"roles":[{roles}],"within":"{within}"}}"#)
}

#[track_caller]
fn check(kind: SandboxKind, rules: &[String], expected: &str) {
    let rules = rules.join(",");
    assert_eq!(shown(Inhabitant::Agent, kind, &rules), expected, "{rules}");
    assert_eq!(shown(Inhabitant::Command, kind, &rules), expected, "{rules}");
}

const READ: &str = r#""read-path""#;
const WRITE: &str = r#""write-path""#;
const DELETE: &str = r#""delete-path""#;
/// What is there whatever the rules are.
const BARE: &str = "w:/s -:/s/secret r:/t -:/t/key";

#[test]
fn places_are_shown_as_the_rules_have_it() {
    use SandboxKind::{Session, Workspace};
    check(Workspace, &[], BARE);
    for effect in ["deny", "escalate"] {
        let is = |roles, within| [rule(effect, &at(roles, within))];
        check(Workspace, &is(WRITE, "/s/a"), "w:/s r:/s/a -:/s/secret r:/t -:/t/key");
        check(Workspace, &is(DELETE, "/s/a"), "w:/s r:/s/a -:/s/secret r:/t -:/t/key");
        check(Session, &is(READ, "/s/a"), "w:/s -:/s/a -:/s/secret r:/t -:/t/key");
        check(Session, &is(WRITE, "/s"), "r:/s -:/s/secret r:/t -:/t/key");
        // The settings are a person's word as well; a rule about that very place is a later one.
        check(Session, &is(READ, "/t/in"), "w:/s -:/s/secret r:/t -:/t/in -:/t/key");
    }
    // A general rule changes nothing in a session's own sandbox, nor does one that asks in a workspace.
    check(Session, &[rule("deny", &at(WRITE, "/"))], BARE);
    check(Workspace, &[rule("escalate", &at(WRITE, "/"))], BARE);
    check(Workspace, &[rule("deny", &at(WRITE, "/"))], "r:/s -:/s/secret r:/t -:/t/key");
    // What an earlier rule opens is open; in an empty place nothing is.
    let inner = [rule("allow", &at(WRITE, "/s/a/b")), rule("deny", &at(WRITE, "/s/a"))];
    check(Workspace, &inner, "w:/s r:/s/a w:/s/a/b -:/s/secret r:/t -:/t/key");
    let inner = [rule("allow", &at(READ, "/s/a/b")), rule("deny", &at(READ, "/s/a"))];
    check(Workspace, &inner, "w:/s -:/s/a -:/s/secret r:/t -:/t/key");
    // What a rule closes for another server is that server's business; the place can only not be moved away.
    let other = format!(r#""server":["mail"],{}"#, at(READ, "/s/a"));
    check(Workspace, &[rule("deny", &other)], "w:/s w:/s/a -:/s/secret r:/t -:/t/key");
}

#[test]
fn a_policy_that_no_view_can_follow_is_refused_with_the_rule() {
    let refused = |inhabitant, effect, conditions: &str| {
        shown(inhabitant, SandboxKind::Workspace, &rule(effect, conditions))
    };
    let by_tool = format!(r#""tool":["delete_file"],{}"#, at(DELETE, "/s/a"));
    let listed = format!(
        r#"{},"lists":[{{"roles":[{WRITE}],"allowed":["/s/a/x"],"matchType":"identifiers"}}]"#,
        at(WRITE, "/s/a")
    );
    for inhabitant in [Inhabitant::Agent, Inhabitant::Command] {
        for (effect, conditions, part) in [
            ("escalate", by_tool.as_str(), "the rule `it` depends on a tool"),
            ("deny", r#""tool":["write_file"]"#, "the rule `it` depends on a tool"),
            ("deny", listed.as_str(), "the rule `it` depends on a list"),
            ("deny", r#""roles":["read-path"]"#, "the rule `it` does not let the agent read `/s`"),
        ] {
            let said = refused(inhabitant, effect, conditions);
            assert!(said.contains(part), "{conditions}: {said}");
        }
        // A rule about a tool that no file server has, or that changes nothing in the workspace.
        assert_eq!(refused(inhabitant, "deny", r#""tool":["git_push"]"#), BARE);
        assert_eq!(refused(inhabitant, "escalate", r#""tool":["delete_file"]"#), BARE);
    }
    // Each command is judged by itself, and what an agent starts is not.
    let asks = format!(r#""server":["shell"],"tool":["run_command"],{}"#, at(WRITE, "/s"));
    assert_eq!(refused(Inhabitant::Command, "escalate", &asks), BARE);
    let said = refused(Inhabitant::Agent, "escalate", &asks);
    assert!(said.contains("the rule `it` depends on a tool"), "{said}");
}

#[test]
fn there_is_no_view_without_a_sandbox_or_of_one_that_is_protected() {
    let policy = policy("[]", ANNOTATIONS);
    let mut bounds = bounds(SandboxKind::Workspace);
    bounds.protected.push(path("/s"));
    let view = AgentView::of(Inhabitant::Agent, &policy, &bounds, &[]);
    assert_eq!(view, Err(NoView::Protected { sandbox: path("/s") }));
    bounds.sandbox = None;
    let view = AgentView::of(Inhabitant::Agent, &policy, &bounds, &[]);
    assert_eq!(view, Err(NoView::NoSandbox));
}

#[test]
fn the_built_in_policies_have_views() {
    let bounds = bounds(SandboxKind::Workspace);
    let locate = |text: &str| {
        let text = text.replace('~', "/h").replace("${SANDBOX}", "/s");
        CanonicalPath::new(text).map_err(|error| error.to_string())
    };
    for builtin in ["default", "coding", "readonly"].map(|it| Builtin::by_name(it).unwrap()) {
        let policy = Policy::load(&builtin.sources(), &locate).unwrap();
        let view = AgentView::of(Inhabitant::Agent, &policy, &bounds, &[]).unwrap();
        let expected = match builtin.name() {
            "readonly" => Shown::ReadOnly,
            _ => Shown::Writable,
        };
        assert_eq!(view.at(&path("/s/x")), Some(expected), "{}", builtin.name());
        assert_eq!(view.at(&path("/h/x")), None);
    }
}

/// A command may run above a place that its view keeps closed, and is judged by everything else.
#[test]
fn commands_are_judged_by_what_their_view_does_not_keep() {
    let by_tool = format!(r#""server":["shell"],"tool":["run_command"],{}"#, at(WRITE, "/s/a"));
    for (conditions, cwd, (kept, not_kept)) in [
        (at(WRITE, "/s/a"), "/s", (Effect::Allow, Effect::Deny)),
        (at(READ, "/s/a/b"), "/s/a", (Effect::Allow, Effect::Deny)),
        (at(WRITE, "/s/a"), "/s/a", (Effect::Deny, Effect::Deny)),
        (at(WRITE, "/s/a"), "/s/a/x", (Effect::Deny, Effect::Deny)),
        (at(WRITE, "/t"), "/s/secret", (Effect::Deny, Effect::Deny)),
        (by_tool, "/s", (Effect::Deny, Effect::Deny)),
    ] {
        let policy = policy(&format!("[{}]", rule("deny", &conditions)), ANNOTATIONS);
        for (names_files, expected) in [(true, kept), (false, not_kept)] {
            let mut bounds = bounds(SandboxKind::Workspace);
            bounds.servers.values_mut().for_each(|it| it.names_files = names_files);
            let entry = |role| RoleValues { role, values: vec![value(role, cwd, true)] };
            let names = ("shell".parse().unwrap(), "run_command".parse().unwrap());
            let roles = ROLES.map(entry).to_vec();
            let call = ResolvedCall::assert_resolved(parts(&names.0, &names.1, roles));
            let findings = explain(&policy, &bounds, &call);
            let effect = decisive(&findings).unwrap().effect;
            assert_eq!(effect, expected, "{conditions} {cwd} {names_files}: {findings:?}");
        }
    }
}

fn any_rule() -> impl Strategy<Value = String> {
    let servers = subsequence(vec!["filesystem", "shell", "mail"], 1..3);
    let tools = subsequence(vec!["write_file", "run_command", "git_push"], 1..3);
    let roles = || subsequence(ROLES.to_vec(), 1..4);
    let effect = select(vec!["allow", "deny", "escalate"]);
    (
        prop::option::weighted(0.2, servers),
        prop::option::weighted(0.1, tools),
        prop::option::weighted(0.3, roles()),
        prop::option::weighted(0.8, (roles(), select(PLACES.to_vec()))),
        effect,
    )
        .prop_map(|(servers, tools, roles, paths, effect)| {
            let names = |roles: &[Role]| roles.iter().map(|it| it.as_str()).collect::<Vec<_>>();
            let mut parts = Vec::new();
            parts.extend(servers.map(|it| format!(r#""server":{it:?}"#)));
            parts.extend(tools.map(|it| format!(r#""tool":{it:?}"#)));
            parts.extend(roles.map(|it| format!(r#""roles":{:?}"#, names(&it))));
            parts.extend(paths.map(|(roles, within)| {
                format!(r#""paths":{{"roles":{:?},"within":{within:?}}}"#, names(&roles))
            }));
            rule(effect, &parts.join(","))
        })
}

proptest! {
    #![proptest_config(config(3000))]

    /// What a program in the cage can do, the file server could have done without asking.
    #[test]
    fn the_view_never_gives_more_than_the_decision_allows(
        rules in prop::collection::vec(any_rule(), 0..6),
        kind in any_kind(),
        is_agent in any::<bool>(),
    ) {
        let policy = policy(&format!("[{}]", rules.join(",")), ANNOTATIONS);
        let bounds = bounds(kind);
        let (inhabitant, servers): (_, &[&str]) = match is_agent {
            true => (Inhabitant::Agent, &["filesystem", "shell"]),
            false => (Inhabitant::Command, &["filesystem"]),
        };
        let Ok(view) = AgentView::of(inhabitant, &policy, &bounds, &[]) else { return Ok(()) };
        for (text, role) in PATHS.iter().flat_map(|text| ROLES.map(|role| (text, role))) {
            let at = path(text);
            if !view.lets(role, &at) {
                continue;
            }
            prop_assert!(at.is_within(&path("/s")), "{text} is elsewhere");
            // The place of a mount is there.
            let is_place = view.places().any(|(place, _)| *place == at);
            for (server, exists) in servers.iter().flat_map(|it| [(it, true), (it, is_place)]) {
                let value = value(role, text, exists);
                let roles = vec![RoleValues { role, values: vec![value] }];
                // What a command does to one file; the call itself is about all that is beneath its directory.
                let tool = if *server == "shell" { "any" } else { "write_file" };
                let names = (server.parse().unwrap(), tool.parse().unwrap());
                let call = ResolvedCall::assert_resolved(parts(&names.0, &names.1, roles));
                let findings = explain(&policy, &bounds, &call);
                let effect = decisive(&findings).unwrap().effect;
                prop_assert_eq!(effect, Effect::Allow, "{} of {} by {}", role, text, server);
            }
        }
    }
}
