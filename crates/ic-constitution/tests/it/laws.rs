//! Laws that hold for every constitution, tried on random ones; the rules agree with the second opinion.

use std::collections::HashMap;

use ic_constitution::english::{self, Compared, Given};
use ic_constitution::{Compiled, artifact, compile, parse};
use ic_policy::artifact::Source;
use ic_policy::{
    Bounds, Containment, Destination, Effect, PathValue, Policy, PolicySources, ResolvedCall,
    ResolvedParts, RoleValues, Sandbox, SandboxKind, Scheme, ServerTraits, Standing, UrlValue,
    Value, evaluate,
};
use ic_types::{CanonicalPath, Category, Object, Role, ToolCall};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::reference::{self, Asked, HOME, LIST, SANDBOX, Said, Where};

const DIRECTORIES: [&str; 8] =
    ["~/a", "~/a/b", "~/a/b/c", "~/d", "/srv", "/srv/x", "${SANDBOX}", "${SANDBOX}/x"];
const HOSTS: [&str; 11] = [
    "a.example",
    "a.example:8443",
    "*.a.example:8443",
    "*.a.example",
    "b.a.example",
    "*",
    "local",
    "10.0.0.1",
    "@list",
    "https://a.example",
    "c.example",
];
const FILES: [&str; 10] = [
    "/home/u/a/f",
    "/home/u/a/b/f",
    "/home/u/a/b/c/f",
    "/home/u/d/f",
    "/home/u/f",
    "/srv/f",
    "/srv/x/f",
    "/home/u/a/s/f",
    "/home/u/a/s/x/f",
    "/home/u/ab/f",
];
const URLS: [&str; 12] = [
    "https://a.example",
    "http://a.example",
    "https://b.a.example",
    "https://c.example",
    "https://xa.example",
    "https://10.0.0.1",
    "http://10.0.0.2",
    "https://localhost",
    "https://d.example:8443",
    "https://a.example:8443",
    "https://b.a.example:8443",
    "http://10.0.0.2:8443",
];
const SERVERS: [(&str, &str); 6] = [
    ("filesystem", "read_file"),
    ("filesystem", "other"),
    ("git", "git_log"),
    ("fetch", "http_fetch"),
    ("mail", "attach"),
    ("mail", "other"),
];

fn any_with() -> impl Strategy<Value = Option<(&'static str, Option<&'static str>)>> {
    let with = select(SERVERS.to_vec()).prop_flat_map(|(server, tool)| {
        prop_oneof![Just((server, None)), Just((server, Some(tool)))]
    });
    prop::option::weighted(0.3, with)
}

fn any_place(places: &'static [&'static str], is_file: bool) -> impl Strategy<Value = Where> {
    let at = subsequence(places.to_vec(), 1..3).prop_map(Where::At);
    let unnamed = if is_file { Where::Unnamed } else { Where::Unsaid };
    prop_oneof![6 => at, 1 => Just(Where::Unsaid), 1 => Just(Where::Anywhere), 2 => Just(Where::Else), 1 => Just(unnamed)]
}

fn any_said() -> impl Strategy<Value = Said> {
    let files = subsequence(vec!["read", "write", "delete", "commit", "rewrite"], 1..3);
    let hosts = subsequence(vec!["fetch", "remote"], 1..3);
    let verbs = prop_oneof![
        3 => (files, any_place(&DIRECTORIES, true)),
        2 => (hosts, any_place(&HOSTS, false)),
        1 => Just((vec!["use"], Where::Unsaid)),
    ];
    (0..3_u8, verbs, any_with(), any::<bool>()).prop_map(|(effect, (verbs, place), with, only)| {
        let is_use = verbs == ["use"];
        let with = if is_use { with.map_or(Some(("mail", Some("attach"))), Some) } else { with };
        // A *may* names the tool that it lets be used.
        let with = match with {
            Some((server, None)) if is_use && effect == 0 => Some((server, Some("other"))),
            with => with,
        };
        let only = only && effect == 0 && matches!(place, Where::At(_));
        Said { effect, verbs, place, with, only }
    })
}

fn any_constitution() -> impl Strategy<Value = (Vec<Said>, u8)> {
    (prop::collection::vec(any_said(), 0..7), 1..3_u8)
}

fn calls() -> Vec<Asked> {
    let mut calls = Vec::new();
    for (server, tool) in SERVERS {
        for verb in ["read", "write", "delete", "commit", "rewrite"] {
            calls.extend(FILES.iter().map(|it| Asked { server, tool, verb, value: Some(it) }));
            calls.push(Asked { server, tool, verb, value: None });
        }
        for verb in ["fetch", "remote"] {
            calls.extend(URLS.iter().map(|it| Asked { server, tool, verb, value: Some(it) }));
        }
        calls.push(Asked { server, tool, verb: "fetch", value: None });
    }
    calls
}

fn written(all: &[Said], default: u8) -> String {
    let rest = if default == 1 { "is for a person to decide" } else { "is refused" };
    let lines: Vec<String> = all.iter().map(|it| format!("- {}", reference::text(it))).collect();
    format!("# Mine\n\n{}\n\nEverything else {rest}.\n", lines.join("\n"))
}

/// Compiles a constitution; `None` if its places cannot be put in order.
fn compiled(text: &str) -> Option<Compiled> {
    let constitution = parse(text).unwrap_or_else(|faults| panic!("{text}\n{faults}"));
    match compile(&constitution, &[]) {
        Ok(compiled) => Some(compiled),
        Err(faults) => {
            assert!(faults.to_string().contains("may be the same"), "{text}\n{faults}");
            None
        }
    }
}

fn origin(text: &str) -> artifact::Origin<'_> {
    artifact::Origin { constitution: text, generated_at: "2026-01-01T00:00:00.000Z", tools: &[] }
}

fn load(text: &str, compiled: &Compiled) -> Policy {
    let rules = artifact::compiled_policy(compiled, origin(text));
    let list: Vec<String> = LIST.iter().map(|it| format!("\"{it}\"")).collect();
    let lists = format!(r#"{{"lists":{{"list":{{"values":[{}]}}}}}}"#, list.join(","));
    let sources = PolicySources {
        compiled: Source { file: "compiled-policy.json", bytes: rules.as_bytes() },
        annotations: Source { file: "tool-annotations.json", bytes: br#"{"servers":{}}"# },
        lists: Some(Source { file: "dynamic-lists.json", bytes: lists.as_bytes() }),
    };
    let locate = |text: &str| {
        let text = text.replacen('~', HOME, 1).replacen("${SANDBOX}", SANDBOX, 1);
        CanonicalPath::new(text).map_err(|error| error.to_string())
    };
    Policy::load(&sources, &locate).unwrap_or_else(|error| panic!("{text}\n{rules}\n{error}"))
}

fn role_of(verb: &str) -> Role {
    match verb {
        "read" => Role::ReadPath,
        "write" => Role::WritePath,
        "delete" => Role::DeletePath,
        "commit" => Role::WriteHistory,
        "rewrite" => Role::DeleteHistory,
        "fetch" => Role::FetchUrl,
        _ => Role::GitRemoteUrl,
    }
}

fn value_of(role: Role, text: &str) -> Value {
    if role.category() == Category::Path {
        let path = CanonicalPath::new(text).unwrap();
        return Value::Path(PathValue { path, also: Vec::new(), state: None });
    }
    let (scheme, authority) = text.split_once("://").unwrap();
    let scheme = if scheme == "http" { Scheme::Http } else { Scheme::Https };
    let there = Destination::parse_authority(authority).unwrap();
    let destination = Destination { scheme: Some(scheme), ..there };
    Value::Url(UrlValue { text: text.to_owned(), destination })
}

/// Judges a call by the rules alone: nothing is contained, and nothing protected.
fn judged(policy: &Policy, asked: &Asked) -> u8 {
    judged_in(policy, asked, None)
}

/// Judges a call where the server for files and that for git are contained in a sandbox.
fn judged_in(policy: &Policy, asked: &Asked, kind: Option<SandboxKind>) -> u8 {
    let role = role_of(asked.verb);
    let values = asked.value.iter().map(|text| value_of(role, text)).collect();
    let call = ResolvedCall::assert_resolved(ResolvedParts {
        asked: ToolCall {
            server: asked.server.parse().unwrap(),
            tool: asked.tool.parse().unwrap(),
            arguments: Object::new(),
        },
        sent: Object::new(),
        standing: Standing::Annotated,
        roles: vec![RoleValues { role, values }],
        invalid: Vec::new(),
        unknown_arguments: Vec::new(),
        unannotated_paths: Vec::new(),
        executed: Vec::new(),
        places: Vec::new(),
        push: None,
    });
    let held = |name: &str, containment| {
        let traits = ServerTraits { containment, names_files: false, allowed_domains: Vec::new() };
        (name.parse().unwrap(), traits)
    };
    let servers =
        [held("filesystem", Containment::ContainedFilesystem), held("git", Containment::Contained)];
    let path = CanonicalPath::new(SANDBOX).unwrap();
    let bounds = Bounds {
        sandbox: kind.map(|kind| Sandbox { path, kind }),
        protected: Vec::new(),
        home_executes: Vec::new(),
        servers: if kind.is_some() { HashMap::from(servers) } else { HashMap::new() },
    };
    match evaluate(policy, &bounds, call).effect() {
        Effect::Allow => 0,
        Effect::Escalate => 1,
        Effect::Deny => 2,
    }
}

/// Returns the usual number of cases, unless `PROPTEST_CASES` asks for more.
fn config(cases: u32) -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    ProptestConfig { cases: if config.cases == 256 { cases } else { config.cases }, ..config }
}

/// Every pair of a sentence about a place and one about *anywhere else*, each with a server or without.
#[test]
fn anywhere_else_holds_and_opens_nothing_at_a_place_that_another_sentence_restricts() {
    const WITH: [Option<(&str, Option<&str>)>; 5] = [
        None,
        Some(("git", None)),
        Some(("git", Some("git_log"))),
        Some(("mail", None)),
        Some(("mail", Some("attach"))),
    ];
    let kinds = [("read", "~/a", "/home/u/a/f"), ("fetch", "a.example", "https://a.example")];
    for ((verb, place, value), here, rest) in
        kinds.into_iter().flat_map(|kind| (0..9_u8).map(move |it| (kind, it / 3, it % 3)))
    {
        for (with, of_rest) in WITH.iter().flat_map(|it| WITH.iter().map(move |rest| (*it, *rest)))
        {
            let said =
                |effect, place, with| Said { effect, verbs: vec![verb], place, with, only: false };
            let all = [said(here, Where::At(vec![place]), with), said(rest, Where::Else, of_rest)];
            let text = written(&all, 2);
            let policy = load(&text, &compiled(&text).unwrap());
            for (server, tool) in SERVERS {
                let asked = Asked { server, tool, verb, value: Some(value) };
                let got = judged(&policy, &asked);
                assert_eq!(Some(got), reference::judge(&all, 2, &asked), "{asked:?}\n{text}");
                let is_named = |with: Option<(&str, Option<&str>)>| {
                    with.is_none_or(|(of, it)| of == server && it.is_none_or(|it| it == tool))
                };
                assert!(here == 0 || got != 0, "opened: {asked:?}\n{text}");
                if rest != 0 && is_named(of_rest) && !is_named(with) {
                    assert_eq!(got, rest, "does not hold: {asked:?}\n{text}");
                }
            }
        }
    }
}

/// Writes the compiled policy of a text in English again; what it then says is the same.
#[track_caller]
fn english_of(text: &str) -> String {
    let before = compiled(text).unwrap();
    let file = artifact::compiled_policy(&before, origin(text));
    let policy = load(text, &before);
    let mut compare = |english: &str| {
        let after = load(english, &compiled(english).unwrap());
        let differing = calls().into_iter().filter(|it| judged(&after, it) != judged(&policy, it));
        let roles: Vec<Role> = differing.map(|asked| role_of(asked.verb)).collect();
        if roles.is_empty() { Compared::Same } else { Compared::Differs(roles) }
    };
    let rules = Given::read(file.as_bytes()).unwrap();
    let asked = english::Asked { title: "Mine", rules: &rules, added: &[], tools: &[] };
    let english = english::write(asked, &mut compare).unwrap();
    assert_eq!(english.kept, [] as [String; 0], "{}", english.text);
    english.text
}

#[test]
fn what_was_written_as_anywhere_else_is_printed_so() {
    for (text, expected) in [
        (
            "The agent must never read files in ~/a with mail. The agent may read files anywhere else.",
            "The agent must never read files in ~/a with mail.\nThe agent may read files anywhere else.",
        ),
        (
            "Ask before reading files in ~/a. The agent may read files anywhere else.",
            "Ask before reading files in ~/a.\nThe agent may read files anywhere else.",
        ),
        // Here it would leave out a directory that is open for the other servers.
        (
            "Ask before reading files in ~/a with mail. The agent may read files anywhere.",
            "Ask before reading files in ~/a with mail.\nThe agent may read files anywhere.",
        ),
    ] {
        let english = english_of(text);
        assert_eq!(english, format!("# Mine\n\n{expected}\nEverything else is refused.\n"));
    }
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn rules_agree_with_the_sentences((all, default) in any_constitution()) {
        let text = written(&all, default);
        let Some(compiled) = compiled(&text) else { return Ok(()) };
        let policy = load(&text, &compiled);
        for asked in calls() {
            if let Some(expected) = reference::judge(&all, default, &asked) {
                let got = judged(&policy, &asked);
                prop_assert_eq!(got, expected, "{:?}\n{}\n{}", asked, text,
                    artifact::compiled_policy(&compiled, origin(&text)));
            }
        }
    }
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn the_order_of_sentences_means_nothing(
        (all, shuffled, default) in any_constitution().prop_flat_map(|(all, default)| {
            (Just(all.clone()), Just(all).prop_shuffle(), Just(default))
        }),
    ) {
        let (text, other) = (written(&all, default), written(&shuffled, default));
        let rules = |text: &str| compiled(text).map(|it| {
            let plain = |rule: ic_constitution::Rule| ic_constitution::Rule {
                description: String::new(), reason: String::new(), line: None, ..rule
            };
            it.rules.into_iter().map(plain).collect::<Vec<_>>()
        });
        prop_assert_eq!(rules(&text), rules(&other), "{}\n{}", text, other);
    }

    #[test]
    fn the_english_of_a_compiled_policy_compiles_to_an_equivalent_one((all, default) in any_constitution()) {
        let text = written(&all, default);
        let Some(before) = compiled(&text) else { return Ok(()) };
        let file = artifact::compiled_policy(&before, origin(&text));
        let policy = load(&text, &before);
        let expected: Vec<u8> = calls().iter().map(|asked| judged(&policy, asked)).collect();
        let mut compare = |english: &str| {
            let after = compile(&parse(english).unwrap_or_else(|faults| panic!("{english}\n{faults}")), &[]);
            let Ok(after) = after else { return Compared::Differs(Role::all().collect()) };
            let after = load(english, &after);
            let differing = calls().into_iter().zip(&expected).filter(|(asked, was)| judged(&after, asked) != **was);
            let roles: Vec<Role> = differing.map(|(asked, _)| role_of(asked.verb)).collect();
            if roles.is_empty() { Compared::Same } else { Compared::Differs(roles) }
        };
        let rules = Given::read(file.as_bytes()).unwrap();
        let asked = english::Asked { title: "Mine", rules: &rules, added: &[], tools: &[] };
        let english = english::write(asked, &mut compare);
        prop_assert!(english.is_some(), "{}", text);
    }

    #[test]
    fn a_never_only_narrows_and_a_may_only_widens(
        (all, default) in any_constitution(),
        more in any_said(),
    ) {
        let more = Said { only: false, ..more };
        let after: Vec<Said> = all.iter().cloned().chain([more.clone()]).collect();
        let (text, longer) = (written(&all, default), written(&after, default));
        let (Some(before), Some(then)) = (compiled(&text), compiled(&longer)) else { return Ok(()) };
        let (before, then) = (load(&text, &before), load(&longer, &then));
        for asked in calls() {
            let (was, is) = (judged(&before, &asked), judged(&then, &asked));
            // Where containment frees it, no sentence says it.
            let is_said = reference::judge(&all, default, &asked).is_some()
                && reference::judge(&after, default, &asked).is_some();
            match more.effect {
                0 if is_said => prop_assert!(is <= was, "{:?} {} -> {}\n{}", asked, was, is, longer),
                2 if is_said => prop_assert!(was <= is, "{:?} {} -> {}\n{}", asked, was, is, longer),
                _ => {}
            }
        }
    }

    #[test]
    fn a_restriction_never_frees_the_sandbox((all, default) in any_constitution(), more in any_said()) {
        let more = Said { only: false, effect: more.effect.max(1), ..more };
        let after: Vec<Said> = all.iter().cloned().chain([more.clone()]).collect();
        let (text, longer) = (written(&all, default), written(&after, default));
        let (Some(before), Some(then)) = (compiled(&text), compiled(&longer)) else { return Ok(()) };
        let (before, then) = (load(&text, &before), load(&longer, &then));
        for asked in calls().into_iter().filter(|it| it.value.is_some_and(|it| it.starts_with(SANDBOX))) {
            for kind in [SandboxKind::Workspace, SandboxKind::Session] {
                // An *ask* that names a server is an exception to a *never* that does not, and asks no more in
                // a sandbox than that says.
                if judged(&then, &asked) < judged(&before, &asked) {
                    continue;
                }
                // A denial of a directory above leaves the session's own sandbox free, whatever asks there.
                if (kind, more.effect) == (SandboxKind::Session, 2) {
                    continue;
                }
                let was = judged_in(&before, &asked, Some(kind));
                let is = judged_in(&then, &asked, Some(kind));
                prop_assert!(was.min(1) <= is.min(1), "{:?} {:?} {} -> {}\n{}", asked, kind, was, is, longer);
            }
        }
    }

    #[test]
    fn no_may_covers_a_server_that_it_does_not_name(mut all in prop::collection::vec(any_said(), 1..6)) {
        for said in &mut all {
            if said.with.is_some_and(|(server, _)| server == "mail") {
                said.with = Some(("git", None));
            }
            if said.verbs == ["use"] {
                said.with = Some(("git", Some("git_log")));
            }
        }
        let text = written(&all, 2);
        let Some(compiled) = compiled(&text) else { return Ok(()) };
        let policy = load(&text, &compiled);
        for asked in calls().into_iter().filter(|it| it.server == "mail") {
            prop_assert!(judged(&policy, &asked) != 0, "{:?}\n{}", asked, text);
        }
    }
}
