//! Places that rules of the caller are about: which files a call names before anything is done.

use ic_servers::git::TAKEOVER;
use ic_servers::tools::{Caller, Cancel, Tools as _};
use ic_types::{Json, JsonLimits, Object};
use serde_json::{Value, json};

use super::bench::Bench;
use crate::ground::object;

/// Makes a call while rules are about places; returns what it names, or what it says.
fn call(
    bench: &Bench,
    (tool, mut arguments): (&str, Value),
    ruled: &[(&str, &str)],
) -> Result<String, Vec<String>> {
    let top = bench.ground.text("in/r");
    arguments["path"] = match arguments["path"].as_str() {
        Some(path) => json!(bench.ground.text(path)),
        None => json!(top),
    };
    let ruled: Vec<Value> = ruled
        .iter()
        .map(|(role, path)| json!({"role": role, "path": bench.ground.text(path)}))
        .collect();
    let base = bench.git("in/r", &["rev-parse", "base"]).trim().to_owned();
    let terms = json!({"bases": {top.clone(): base}, "ruled": ruled}).to_string();
    let mut meta = Object::new();
    meta.insert(TAKEOVER, Json::parse(terms.as_bytes(), JsonLimits::CALL).unwrap());
    let cancel = Cancel::new();
    let caller = Caller::silent(&cancel).with_meta(&meta);
    let result = bench.server.call(tool, &object(arguments.clone()), caller).unwrap();
    let result: Value =
        serde_json::from_str(&Json::Object(result.into_object()).to_string()).unwrap();
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    match result["structuredContent"][TAKEOVER]["ruled"].as_array() {
        None => Ok(text),
        Some(ruled) => Err(ruled
            .iter()
            .map(|it| {
                let path = it["path"].as_str().unwrap().replace(&format!("{top}/"), "");
                format!("{} {path}", it["role"].as_str().unwrap())
            })
            .collect()),
    }
}

/// `older` has `was`, which is `s/key` in `main`, and in between, at `base`, there is neither; `room` has a
/// file at `s`; `mixed` changes `s/key`; there is a linked tree at `base`.
fn ground() -> Bench {
    let bench = Bench::new();
    let git = |words: &[&str]| bench.git("in/r", words);
    let commit = |files: &[(&str, &str)]| {
        for (name, text) in files {
            bench.ground.write(&format!("in/r/{name}"), text);
        }
        git(&["add", "-A", "-f"]);
        git(&["commit", "-q", "-m", "more"]);
    };
    commit(&[("was", "the key\n")]);
    git(&["tag", "older"]);
    git(&["rm", "-q", "was"]);
    commit(&[("same", "shared\n"), ("--stat", "x\n"), ("none", "")]);
    git(&["branch", "base"]);
    commit(&[("s/key", "the key\n"), ("s/shared", "shared\n"), ("s/empty", "")]);
    git(&["checkout", "-q", "-b", "room", "base"]);
    commit(&[("s", "a file\n")]);
    git(&["checkout", "-q", "-b", "mixed", "main"]);
    commit(&[("s/key", "another key\n"), ("free", "free\n")]);
    git(&["checkout", "-q", "main"]);
    git(&["worktree", "add", "-q", "../wt", "-b", "linked", "base"]);
    bench
}

#[test]
fn contents_at_a_closed_place_are_named_whatever_they_are_called() {
    let bench = ground();
    let tree = bench.git("in/r", &["rev-parse", "main:s"]).trim().to_owned();
    let blob = bench.git("in/r", &["rev-parse", "main:s/key"]).trim().to_owned();
    let closed = [("read-path", "in/r/s/key")];
    for arguments in [
        ("git_show", json!({"object": "main", "filePath": "s/key"})),
        ("git_show", json!({"object": tree, "filePath": "key"})),
        ("git_show", json!({"object": "main:s", "filePath": "key"})),
        ("git_show", json!({"object": blob})),
        ("git_show", json!({"path": "in/wt", "object": "main", "filePath": "s/key"})),
        ("git_show", json!({"object": "older", "filePath": "was"})),
        ("git_show", json!({"object": "older"})),
        ("git_show", json!({"object": "base"})),
        ("git_show", json!({"object": "main"})),
        ("git_diff", json!({"source": "base", "target": "main"})),
        ("git_diff", json!({"source": "base", "target": "main", "paths": ["./--stat", "s"]})),
        ("git_diff", json!({"source": "older", "target": "main", "paths": ["was"]})),
        ("git_diff", json!({"source": "base..main"})),
        ("git_log", json!({"patch": true})),
        ("git_log", json!({"branch": "base", "patch": true})),
        ("git_log", json!({"patch": true, "filePath": "s"})),
        ("git_blame", json!({"file": "s/key"})),
        ("git_checkout", json!({"target": "older", "paths": ["was"]})),
        ("git_checkout", json!({"path": "in/wt", "target": "main", "paths": ["s"]})),
        ("git_merge", json!({"path": "in/wt", "branch": "main"})),
        ("git_cherry_pick", json!({"path": "in/wt", "commits": ["main"]})),
    ] {
        let named = call(&bench, arguments.clone(), &closed);
        let named = named.expect_err(&format!("{arguments:?}"));
        assert_eq!(named, ["read-path s/key"], "{arguments:?}");
    }
    assert_eq!(bench.git("in/r", &["status", "--porcelain"]), "");
    assert_eq!(bench.git("in/wt", &["status", "--porcelain"]), "");
}

#[test]
fn what_is_not_closed_is_told_and_brought_at_once() {
    let bench = ground();
    let closed = [("read-path", "in/r/s/key"), ("read-path", "in/r/s/shared")];
    for arguments in [
        ("git_status", json!({})),
        ("git_log", json!({"stat": true})),
        ("git_diff", json!({"source": "base", "target": "main", "stat": true})),
        ("git_diff", json!({"source": "main", "target": "mixed", "paths": ["free"]})),
        ("git_show", json!({"object": "main", "stat": true})),
        ("git_show", json!({"object": "main", "filePath": "s"})),
        // The user had the same at an open place.
        ("git_show", json!({"object": "main", "filePath": "same"})),
        ("git_show", json!({"object": "main", "filePath": "none"})),
        ("git_blame", json!({"file": "same"})),
        // A closed file that comes to its own place is not told.
        ("git_checkout", json!({"target": "mixed"})),
        ("git_checkout", json!({"target": "main"})),
        ("git_merge", json!({"branch": "mixed", "noFastForward": true})),
        ("git_reset", json!({"target": "HEAD~1", "mode": "hard", "confirmed": true})),
        ("git_cherry_pick", json!({"commits": ["mixed"]})),
    ] {
        let said = call(&bench, arguments.clone(), &closed);
        assert!(said.is_ok(), "{arguments:?}: {said:?}");
    }
    // Each of them did what it was asked.
    assert_eq!(bench.ground.read("in/r/s/key"), "another key\n");
}

#[test]
fn what_lies_beneath_a_file_that_comes_is_named() {
    for (tool, arguments) in [
        ("git_checkout", json!({"target": "room"})),
        ("git_checkout", json!({"target": "room", "force": true})),
        ("git_checkout", json!({"target": "room", "paths": ["s"]})),
        ("git_reset", json!({"target": "room", "mode": "hard", "confirmed": true})),
        ("git_reset", json!({"target": "room", "mode": "keep"})),
    ] {
        let bench = ground();
        // It is in no commit, and nobody can bring it back.
        bench.ground.write("in/r/s/mine", "mine\n");
        for (role, place) in [("delete-path", "in/r/s/mine"), ("write-path", "in/r/s/mine")] {
            let named = call(&bench, (tool, arguments.clone()), &[(role, place)]);
            let named = named.expect_err(&format!("{tool} {arguments}"));
            assert_eq!(named, [format!("{role} s/mine")], "{tool} {arguments}");
        }
        assert_eq!(bench.ground.read("in/r/s/mine"), "mine\n");
        // A rule about something else is none about this.
        let free = call(&bench, (tool, arguments.clone()), &[("delete-path", "in/r/sm/mine")]);
        assert!(free.is_ok(), "{tool} {arguments}: {free:?}");
    }
}

#[test]
fn cleaning_names_just_the_files_that_go() {
    for (flags, named) in [
        (json!({}), &["junk"][..]),
        (json!({"directories": true}), &["junk", "new/inner"]),
        (json!({"ignored": true}), &["ignored", "junk"]),
        (json!({"ignored": true, "directories": true}), &["ignored", "junk", "new/inner"]),
    ] {
        let bench = ground();
        bench.ground.write("in/r/.git/info/exclude", "ignored\n");
        for name in ["junk", "ignored", "new/inner"] {
            bench.ground.write(&format!("in/r/{name}"), "x\n");
        }
        let mut arguments = json!({"force": true});
        for (name, value) in flags.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        let said = call(&bench, ("git_clean", arguments.clone()), &[("delete-path", "in/r")]);
        let expected: Vec<String> = named.iter().map(|it| format!("delete-path {it}")).collect();
        assert_eq!(said, Err(expected), "{flags}");
        call(&bench, ("git_clean", arguments), &[]).unwrap();
        for name in ["junk", "ignored", "new/inner"] {
            let is_gone = !bench.ground.path(format!("in/r/{name}")).exists();
            assert_eq!(is_gone, named.contains(&name), "{flags} {name}");
        }
    }
}
