//! What is proposed after many approvals, and what is not, whatever an agent tries.

use ic_analysis::Subject;
use ic_analysis::replay::Intent;
use ic_analysis::suggest::{Against, Answered, Candidates, Place, candidates};
use ic_policy::{Policy, SandboxKind};
use ic_types::Object;

use crate::replay::record;
use crate::world::{ANNOTATIONS, bounds, path, policy, resolve};

const ASK_ALL: &str = r#"[{"name":"ask","if":{},"then":"escalate","reason":"r"}]"#;

fn answered(policy: &Policy, answers: &[(&str, &str, &[(&str, &str)], bool)]) -> Vec<Answered> {
    let one = |(at, (server, tool, arguments, is_approved)): (
        usize,
        &(&str, &str, &[(&str, &str)], bool),
    )| {
        let mut object = Object::new();
        for (name, value) in *arguments {
            object.insert(*name, *value);
        }
        let call = resolve(policy, (server, tool), &object, true);
        let intent = Intent::read(record(&call, &at.to_string(), "repl", "allow")).unwrap();
        let sandbox = bounds(SandboxKind::Session).sandbox;
        Answered { intent, is_approved: *is_approved, sandbox }
    };
    answers.iter().enumerate().map(one).collect()
}

fn found(
    rules: &str,
    n_added: usize,
    answers: &[(&str, &str, &[(&str, &str)], bool)],
) -> Candidates {
    let policy = policy(rules, ANNOTATIONS[0]);
    let bounds = bounds(SandboxKind::Session);
    let all = answered(&policy, answers);
    candidates(&all, Subject { policy: &policy, bounds: &bounds }, n_added)
}

#[track_caller]
fn check(
    answers: &[(&str, &str, &[(&str, &str)], bool)],
    expected: &[(&str, Place, Option<Against>)],
) {
    let found = found(ASK_ALL, 0, answers);
    let shown: Vec<_> =
        found.all.iter().map(|it| (it.server.as_str(), it.place.clone(), it.against)).collect();
    assert_eq!(shown, expected);
}

fn read(file: &str) -> (&'static str, &'static str, [(&'static str, String); 1], bool) {
    ("fs", "read", [("path", file.to_owned())], true)
}

#[track_caller]
fn check_reads(files: &[&str], expected: &[(&str, Place, Option<Against>)]) {
    let reads: Vec<_> = files.iter().map(|file| read(file)).collect();
    let arguments: Vec<[(&str, &str); 1]> =
        reads.iter().map(|(_, _, [(name, value)], _)| [(*name, value.as_str())]).collect();
    let answers: Vec<(&str, &str, &[(&str, &str)], bool)> =
        arguments.iter().map(|it| ("fs", "read", it.as_slice(), true)).collect();
    check(&answers, expected);
}

fn directory(text: &str) -> Place {
    Place::Directory(path(text))
}

#[test]
fn a_directory_is_proposed_that_holds_what_was_approved_and_none_above_it() {
    check_reads(&["/d/a/1", "/d/a/2", "/d/a/3"], &[("fs", directory("/d/a"), None)]);
    // Spread over many directories, to be offered the one above them.
    check_reads(&["/d/a/1", "/d/b/2", "/d/c/3", "/d/e/4", "/d/f/5"], &[]);
    check_reads(&["/d/a/1", "/d/a/2"], &[]);
    check_reads(&["/d/a/1"; 20], &[("fs", directory("/d/a"), Some(Against::OneFile))]);
}

#[test]
fn a_host_is_proposed_as_it_was_approved() {
    let fetch = |url| [("url", url)];
    let [one, two, three] =
        ["https://c.example/1", "https://c.example/2", "https://c.example/3"].map(fetch);
    let [plain, other] = ["http://c.example/3", "https://b.example/1"].map(fetch);
    check(
        &[
            ("x", "fetch", &one, true),
            ("x", "fetch", &two, true),
            ("x", "fetch", &three, true),
            ("x", "fetch", &other, true),
            ("x", "fetch", &plain, true),
            ("x", "fetch", &plain, true),
            ("x", "fetch", &plain, true),
        ],
        &[("x", Place::Host("https://c.example".to_owned()), None)],
    );
}

#[test]
fn what_was_refused_removed_or_asked_for_is_not_proposed() {
    let [one, two, three] = ["/d/a/1", "/d/a/2", "/d/a/3"].map(|file| [("path", file)]);
    let reads = [
        ("fs", "read", one.as_slice(), true),
        ("fs", "read", two.as_slice(), true),
        ("fs", "read", three.as_slice(), true),
    ];
    let deeper = [("path", "/d/a/secret/4")];
    let refused: Vec<_> =
        reads.into_iter().chain([("fs", "read", deeper.as_slice(), false)]).collect();
    check(&refused, &[("fs", directory("/d/a"), Some(Against::Refused))]);
    // An addition of the user's own asks.
    let found = found(ASK_ALL, 1, &reads);
    assert_eq!(found.all[0].against, Some(Against::AskedFor));
    let [one, two, three] = [("/d/a/1", "/d/a/x"), ("/d/a/2", "/d/a/y"), ("/d/a/3", "/d/a/z")]
        .map(|(source, to)| [("source", source), ("to", to)]);
    check(
        &[("fs", "move", &one, true), ("fs", "move", &two, true), ("fs", "move", &three, true)],
        &[("fs", directory("/d/a"), Some(Against::Removes))],
    );
}

#[test]
fn what_an_invariant_asks_about_is_never_proposed() {
    let calls = ["/f/.git/1", "/f/.git/2", "/f/.git/3", "/f/.git/4"]
        .map(|file| [("path", file), ("mode", "other")]);
    let answers: Vec<_> = calls.iter().map(|it| ("x", "edit", it.as_slice(), true)).collect();
    let found = found(ASK_ALL, 0, &answers);
    assert!(found.all.is_empty(), "{found:?}");
    assert_eq!(found.n_structural, 4);
}
