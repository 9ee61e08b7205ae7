//! Every policy can be written in plain English, and what is written means the same, by comparison.

use ic_analysis::{Comparison, Subject};
use ic_constitution::artifact::{Origin, compiled_policy};
use ic_constitution::english::{self, Asked, Compared, English, Given};
use ic_constitution::{Tool, compile, parse};
use ic_policy::artifact::Source;
use ic_policy::{ArgumentAnnotation, Bounds, Builtin, Policy, PolicySources, SandboxKind};
use ic_types::Role;
use proptest::prelude::*;

use crate::builtin;
use crate::world::{self, ANNOTATIONS, any_kind, any_rules, config, policy};

fn tools(policy: &Policy) -> Vec<Tool> {
    let tool = |(server, tool, annotation): (&_, &_, &ic_policy::Annotation)| {
        let arguments = annotation.arguments().iter();
        let roles = arguments.flat_map(ArgumentAnnotation::possible_roles).collect();
        Tool { server: Clone::clone(server), tool: Clone::clone(tool), roles }
    };
    policy.annotations().map(tool).collect()
}

/// Compiles `text` and loads it in the place of `policy`.
#[track_caller]
fn compiled(text: &str, tools: &[Tool], load: &dyn Fn(&str) -> Policy) -> Option<Policy> {
    let constitution = parse(text).unwrap_or_else(|faults| panic!("{text}\n{faults}"));
    // Places that cannot be put in order are a fault, after which more is kept.
    let compiled = compile(&constitution, tools).ok()?;
    let origin = Origin { constitution: text, generated_at: "t", tools };
    Some(load(&compiled_policy(&compiled, origin)))
}

fn compare(before: &Policy, after: Option<&Policy>, bounds: &[Bounds]) -> Compared {
    let Some(after) = after else { return Compared::Differs(Role::all().collect()) };
    let mut roles = Vec::new();
    for bounds in bounds {
        let [before, after] = [before, after].map(|policy| Subject { policy, bounds });
        let changes = Comparison::new(before, after).changes().unwrap();
        if changes.is_empty() {
            continue;
        }
        roles.extend(changes.iter().filter_map(|it| match &it.part {
            ic_analysis::diff::Part::Values { role, .. } => *role,
            ic_analysis::diff::Part::NoValues(role) => Some(*role),
            ic_analysis::diff::Part::Call => None,
        }));
        // What changes for a call as a whole is not about a role.
        if roles.is_empty() {
            roles.extend(Role::all());
        }
    }
    if roles.is_empty() { Compared::Same } else { Compared::Differs(roles) }
}

#[track_caller]
fn written(
    policy: &Policy,
    file: &str,
    bounds: &[Bounds],
    load: &dyn Fn(&str) -> Policy,
) -> English {
    let rules = Given::read(file.as_bytes()).unwrap();
    let tools = tools(policy);
    let asked = Asked { title: "Policy", rules: &rules, added: &[], tools: &tools };
    let mut same = |text: &str| compare(policy, compiled(text, &tools, load).as_ref(), bounds);
    let english = english::write(asked, &mut same);
    let english = english.unwrap_or_else(|| panic!("nothing means the same as {file}"));
    assert_eq!(same(&english.text), Compared::Same, "{file}\n{}", english.text);
    english
}

#[test]
fn the_built_in_policies_are_plain_sentences_and_nothing_else() {
    for builtin in Builtin::ALL {
        let policy = builtin::load(builtin);
        let load = |file: &str| {
            let compiled = Source { file: "compiled-policy.json", bytes: file.as_bytes() };
            let sources = PolicySources { compiled, ..builtin.sources() };
            Policy::load(&sources, &builtin::locate).unwrap()
        };
        let bounds: Vec<Bounds> = [SandboxKind::Session, SandboxKind::Workspace]
            .into_iter()
            .map(|kind| {
                let mut bounds = builtin::bounds();
                if let Some(sandbox) = &mut bounds.sandbox {
                    sandbox.kind = kind;
                }
                bounds
            })
            .collect();
        let file = String::from_utf8_lossy(builtin.sources().compiled.bytes).into_owned();
        let english = written(&policy, &file, &bounds, &load);
        assert_eq!(english.kept, [] as [&str; 0], "{}\n{}", builtin.name(), english.text);
    }
}

/// The built-in policies were written by hand before they were compiled from sentences.
#[test]
fn the_built_in_policies_judge_as_those_that_were_written_by_hand() {
    let by_hand = [
        include_str!("handwritten/default.json"),
        include_str!("handwritten/coding.json"),
        include_str!("handwritten/readonly.json"),
    ];
    for (builtin, by_hand) in Builtin::ALL.into_iter().zip(by_hand) {
        let compiled = Source { file: "compiled-policy.json", bytes: by_hand.as_bytes() };
        let sources = PolicySources { compiled, ..builtin.sources() };
        let by_hand = Policy::load(&sources, &builtin::locate).unwrap();
        let bounds = [SandboxKind::Session, SandboxKind::Workspace].map(|kind| {
            let mut bounds = builtin::bounds();
            bounds.sandbox.as_mut().unwrap().kind = kind;
            bounds
        });
        let same = compare(&by_hand, Some(&builtin::load(builtin)), &bounds);
        assert_eq!(same, Compared::Same, "{}", builtin.name());
    }
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn the_english_of_a_policy_compiles_to_an_equivalent_one(rules in any_rules(), kind in any_kind()) {
        let load = |file: &str| world::policy_file(file, ANNOTATIONS[0]);
        let rules = format!("[{}]", rules.join(","));
        let file = format!(r#"{{"rules":{rules}}}"#);
        let english = written(&policy(&rules, ANNOTATIONS[0]), &file, &[world::bounds(kind)], &load);
        prop_assert!(english.text.contains("Everything else"));
    }
}

/// Rules as people write them, the special before the general: nothing has to be kept.
#[test]
fn rules_as_people_write_them_are_sentences() {
    for (rules, sentences) in [
        (
            r#"[{"name":"a","if":{"server":["fs"],"paths":{"roles":["read-path"],"within":"/d/a"}},"then":"allow","reason":"Notes may be read"},
                {"name":"b","if":{"paths":{"roles":["read-path"],"within":"/"}},"then":"escalate","reason":"r"},
                {"name":"c","if":{"domains":{"roles":["fetch-url"],"allowed":["b.example","*.c.example"]},"server":["x"]},"then":"allow","reason":"r"},
                {"name":"d","if":{"roles":["fetch-url"]},"then":"deny","reason":"r"},
                {"name":"e","if":{},"then":"escalate","reason":"r"}]"#,
            &[
                "The agent may read files in /d/a with fs because notes may be read.",
                "Ask before reading files anywhere else because r.",
                "The agent may fetch pages from b.example and *.c.example with x because r.",
                "The agent must never fetch pages anywhere else because r.",
                "Everything else is for a person to decide because r.",
            ][..],
        ),
        (
            r#"[{"name":"a","if":{"paths":{"roles":["write-path"],"within":"/d/a"},"server":["fs"]},"then":"allow","reason":""},
                {"name":"b","if":{"roles":["write-path"],"server":["git"]},"then":"escalate","reason":""}]"#,
            &[
                "The agent may write files in /d/a with fs.",
                "Ask before writing files with git.",
                "Everything else is refused.",
            ],
        ),
    ] {
        let file = format!(r#"{{"rules":{rules}}}"#);
        let load = |file: &str| world::policy_file(file, ANNOTATIONS[0]);
        let bounds = [SandboxKind::Session, SandboxKind::Workspace].map(world::bounds);
        let english = written(&policy(rules, ANNOTATIONS[0]), &file, &bounds, &load);
        let lines: Vec<&str> = english.text.lines().skip(2).collect();
        assert_eq!(lines, sentences);
    }
}

/// A rule that no sentence can say stays in its place.
#[test]
fn what_has_no_plain_form_is_named_and_kept() {
    let rules = r#"[{"name":"joined","if":{"paths":{"roles":["read-path"],"within":"/d"},"lists":[{"roles":["email-address"],"allowed":["eve@x.example"],"matchType":"emails"}]},"then":"deny","reason":"r"},
        {"name":"open","if":{"server":["fs"],"roles":["write-path"],"paths":{"roles":["write-path"],"within":"/d/a"}},"then":"allow","reason":"r"},
        {"name":"shut","if":{"roles":["write-path"]},"then":"deny","reason":"r"}]"#;
    let file = format!(r#"{{"rules":{rules}}}"#);
    let load = |file: &str| world::policy_file(file, ANNOTATIONS[0]);
    let bounds = [SandboxKind::Session, SandboxKind::Workspace].map(world::bounds);
    let english = written(&policy(rules, ANNOTATIONS[0]), &file, &bounds, &load);
    assert_eq!(english.kept, ["joined", "shut"], "{}", english.text);
    assert!(english.text.contains("The agent may write files in /d/a with fs"), "{}", english.text);
}

/// The name of a directory may read like a restriction, or hold what a heading cannot.
#[test]
fn the_title_of_a_policy_is_never_read_as_a_sentence() {
    let rules = r#"[{"name":"a","if":{"paths":{"roles":["read-path"],"within":"/d/a"},"server":["fs"]},"then":"allow","reason":""}]"#;
    let policy = policy(rules, ANNOTATIONS[0]);
    let given = Given::read(format!(r#"{{"rules":{rules}}}"#).as_bytes()).unwrap();
    let tools = tools(&policy);
    for (title, expected) in [
        ("/p/never delete files, in plain English", "# Policy\n"),
        ("/p/<!-- a", "# /p/!-- a\n"),
        ("/p/a\n\nThe agent may delete files.", "# /p/aThe agent may delete files.\n"),
        ("/p/mine, in plain English", "# /p/mine, in plain English\n"),
    ] {
        let asked = Asked { title, rules: &given, added: &[], tools: &tools };
        let english = english::write(asked, &mut |text| match parse(text) {
            Ok(_) => Compared::Same,
            Err(_) => Compared::Differs(Role::all().collect()),
        });
        let text = english.unwrap().text;
        assert!(text.starts_with(expected), "{title}: {text}");
    }
}

/// What is done anywhere else in the workspace `/s` (decision 43): `fs` and `git` are contained, `x` is not.
#[test]
fn anywhere_else_leaves_the_workspace_to_contained_servers_alone() {
    let load = |file: &str| world::policy_file(file, ANNOTATIONS[0]);
    let bounds = world::bounds(SandboxKind::Workspace);
    let rows = [
        ("The agent may read files anywhere else with x.", "x", "allow"),
        ("The agent may read files anywhere else with x.", "fs", "allow"),
        ("The agent must never read files anywhere else.", "x", "deny"),
        ("The agent must never read files anywhere else.", "fs", "allow"),
        ("Ask before reading files anywhere else.", "x", "escalate"),
        ("Ask before reading files anywhere else.", "git", "allow"),
        ("The agent must never read files anywhere.", "fs", "deny"),
    ];
    for (text, server, expected) in rows {
        let tools = tools(&policy("[]", ANNOTATIONS[0]));
        let policy = compiled(text, &tools, &load).unwrap();
        let values = vec![world::value(Role::ReadPath, "/s/a", true)];
        let roles = vec![ic_policy::RoleValues { role: Role::ReadPath, values }];
        let parts = world::parts(&server.parse().unwrap(), &"look".parse().unwrap(), roles);
        let call = ic_policy::ResolvedCall::assert_resolved(parts);
        let verdict = ic_policy::evaluate(&policy, &bounds, call);
        assert_eq!(verdict.effect().as_str(), expected, "{text} {server}");
    }
}

/// A list about branches says nothing of paths and remotes, which are many.
#[test]
fn remotes_and_branches_are_compared_with_what_asks_about_neither() {
    let default = builtin::load(Builtin::Default);
    let load = |file: &str| {
        let compiled = Source { file: "compiled-policy.json", bytes: file.as_bytes() };
        let sources = PolicySources { compiled, ..Builtin::Default.sources() };
        Policy::load(&sources, &builtin::locate).unwrap()
    };
    let text = "The agent may deal with remotes at github.com.\n\
                The agent may only name branches called dev.\n\
                The agent may read and write files in ~/code.\n\
                The agent may commit in ~/code.\n";
    let after = compiled(text, &tools(&default), &load).unwrap();
    let bounds = builtin::bounds();
    let subject = |policy| Subject { policy, bounds: &bounds };
    let changes = Comparison::new(subject(&default), subject(&after)).changes().unwrap();
    let is_opened =
        |role: Role| changes.iter().any(|it| it.does.contains(&role) && it.is_widening());
    assert!(is_opened(Role::GitRemoteUrl) && is_opened(Role::WritePath));
    let closes_calls =
        |it: &ic_analysis::Change| it.part == ic_analysis::diff::Part::Call && !it.is_widening();
    assert!(changes.iter().any(closes_calls), "a branch that is not named is refused");
}

/// What is said to have no effect has none: without the sentence, no call is judged otherwise.
mod idle {
    use super::*;

    const SENTENCES: [&str; 20] = [
        "The agent may read files in /d.",
        "The agent may read files in /d/a.",
        "The agent may read files anywhere else.",
        "The agent may read and write files in /s/a.",
        "Ask before reading files in /d.",
        "Ask before reading files anywhere else.",
        "Ask before deleting files in /d/a with git.",
        "The agent must never read files in /d/a.",
        "The agent must never delete files.",
        "The agent must never delete files anywhere else.",
        "The agent may delete files in /d.",
        "The agent may read files in /d with x.",
        "Ask before reading files with x.",
        "The agent must never write files in the sandbox.",
        "The agent may send mail to eve@x.example with x.",
        "The agent must never send mail anywhere else.",
        "The agent may deal with remotes at b.example with git.",
        "Ask before dealing with remotes at *.b.example.",
        "The agent may use edit of x.",
        "Everything else is for a person to decide.",
    ];

    proptest! {
        #![proptest_config(config(60))]

        #[test]
        fn a_sentence_without_effect_can_be_taken_out(
            chosen in proptest::sample::subsequence((0..SENTENCES.len()).collect::<Vec<_>>(), 2..7),
            kind in any_kind(),
        ) {
            let load = |file: &str| world::policy_file(file, ANNOTATIONS[0]);
            let tools = tools(&policy("[]", ANNOTATIONS[0]));
            let bounds = [world::bounds(kind)];
            let text = |left_out: Option<usize>| {
                let line = |(at, it): (usize, &usize)| if left_out == Some(at + 1) { "" } else { SENTENCES[*it] };
                chosen.iter().enumerate().map(line).collect::<Vec<_>>().join("\n\n")
            };
            let lines = |at: usize| 2 * at - 1;
            let all = text(None);
            let Ok(found) = compile(&parse(&all).unwrap(), &tools) else { return Ok(()) };
            let before = compiled(&all, &tools, &load).unwrap();
            for at in 1..=chosen.len() {
                let is_about = |it: &&ic_constitution::Note| it.line == lines(at) && it.text.contains("has no effect");
                let Some(note) = found.notes.iter().find(is_about) else { continue };
                let after = compiled(&text(Some(at)), &tools, &load);
                prop_assert_eq!(compare(&before, after.as_ref(), &bounds), Compared::Same, "{}\n{}", all, note.text);
            }
        }
    }
}
