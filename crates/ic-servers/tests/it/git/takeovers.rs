//! Trees that git takes over: what the host executes is said beforehand, and done once it is agreed to.

use ic_servers::git::TAKEOVER;
use ic_servers::tools::{Caller, Cancel, Tools as _};
use ic_types::{Json, JsonLimits, Object};
use serde_json::{Value, json};

use super::bench::Bench;
use crate::ground::object;

/// What came of a call: done, refused, or the names that somebody has to agree to, with their digest.
enum Came {
    Done,
    Failed(String),
    Asked(Vec<String>, String),
}

fn call(bench: &Bench, tool: &str, mut arguments: Value, agreed: Option<&str>) -> Came {
    let top = bench.ground.text("in/r");
    if arguments.get("path").is_none() {
        arguments["path"] = json!(top);
    }
    let base = bench.git("in/r", &["rev-parse", "base"]).trim().to_owned();
    let mut terms = json!({"bases": {top.clone(): base}, "named": [format!("{top}/.githooks")]});
    if let Some(agreed) = agreed {
        terms["agreed"] = json!(agreed);
    }
    let mut meta = Object::new();
    let text = terms.to_string();
    meta.insert(TAKEOVER, Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap());
    let cancel = Cancel::new();
    let caller = Caller::silent(&cancel).with_meta(&meta);
    let result = bench.server.call(tool, &object(arguments), caller).unwrap();
    let is_error = result.is_error();
    let result: Value =
        serde_json::from_str(&Json::Object(result.into_object()).to_string()).unwrap();
    let takeover = &result["structuredContent"][TAKEOVER];
    match (takeover["digest"].as_str(), is_error) {
        (Some(digest), true) => {
            let paths = takeover["paths"].as_array().unwrap().iter();
            let names = paths.map(|it| it.as_str().unwrap().replace(&format!("{top}/"), ""));
            Came::Asked(names.collect(), digest.to_owned())
        }
        (_, true) => Came::Failed(result["content"][0]["text"].as_str().unwrap().to_owned()),
        (_, false) => Came::Done,
    }
}

/// A repository with a base, a harmless branch, one with host-executes names, and a stash of such.
fn ground() -> Bench {
    let bench = Bench::new();
    let git = |words: &[&str]| bench.git("in/r", words);
    bench.ground.write("in/r/.gitattributes", "*.txt text\n");
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "attributes"]);
    git(&["branch", "base"]);
    git(&["checkout", "-q", "-b", "plain"]);
    bench.ground.write("in/r/plain.txt", "plain\n");
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "plain"]);
    git(&["checkout", "-q", "-b", "evil", "base"]);
    bench.ground.write("in/r/.envrc", "evil\n");
    bench.ground.write("in/r/.githooks/pre-commit", "evil\n");
    bench.ground.write("in/r/sub/.vscode/tasks.json", "evil\n");
    for name in ["HEAD", "objects/x", "refs/x", "config"] {
        bench.ground.write(&format!("in/r/shape/{name}"), "evil\n");
    }
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "evil"]);
    git(&["checkout", "-q", "main"]);
    bench.ground.write("in/r/.mcp.json", "evil\n");
    bench.ground.write("in/r/.gitattributes", "evil\n");
    git(&["stash", "push", "-q", "-u"]);
    bench
}

const EVIL: [&str; 6] = [
    ".envrc",
    ".githooks/pre-commit",
    "shape/HEAD",
    "shape/config",
    "shape/objects/x",
    "sub/.vscode/tasks.json",
];

#[test]
fn what_the_host_executes_is_said_before_git_changes_it() {
    for (tool, arguments) in [
        ("git_checkout", json!({"target": "evil"})),
        ("git_checkout", json!({"target": "evil", "force": true})),
        ("git_checkout", json!({"target": "evil~0"})),
        ("git_checkout", json!({"target": "evil", "paths": ["."]})),
        // One that stays as it is, and others that do not.
        ("git_checkout", json!({"target": "evil", "paths": ["a.txt", "."]})),
        ("git_reset", json!({"target": "evil", "mode": "hard", "confirmed": true})),
        ("git_reset", json!({"target": "evil", "mode": "soft"})),
        ("git_reset", json!({"target": "evil", "mode": "mixed"})),
        ("git_reset", json!({"target": "evil", "mode": "keep"})),
        ("git_reset", json!({"target": "evil", "mode": "merge"})),
        ("git_merge", json!({"branch": "evil"})),
        ("git_merge", json!({"branch": "evil", "noFastForward": true})),
        ("git_merge", json!({"branch": "evil", "squash": true})),
        ("git_cherry_pick", json!({"commits": ["evil"]})),
        ("git_cherry_pick", json!({"commits": ["evil"], "noCommit": true})),
        ("git_rebase", json!({"upstream": "evil"})),
        ("git_rebase", json!({"upstream": "base", "branch": "evil"})),
    ] {
        let bench = ground();
        let before = bench.git("in/r", &["rev-parse", "HEAD"]);
        let Came::Asked(names, digest) = call(&bench, tool, arguments.clone(), None) else {
            panic!("{tool} {arguments}: nobody is asked");
        };
        for name in EVIL {
            assert!(names.iter().any(|it| it == name), "{tool} {arguments}: {name} in {names:?}");
        }
        assert_eq!(bench.git("in/r", &["rev-parse", "HEAD"]), before, "{tool} {arguments}");
        assert_eq!(bench.git("in/r", &["status", "--porcelain"]), "", "{tool} {arguments}");
        assert!(!bench.ground.path("in/r/.envrc").exists());
        // What was agreed to is something else.
        let other = call(&bench, tool, arguments.clone(), Some("00"));
        assert!(matches!(other, Came::Asked(..)), "{tool} {arguments}");
        match call(&bench, tool, arguments.clone(), Some(&digest)) {
            Came::Done => {}
            Came::Failed(text) => panic!("{tool} {arguments}: {text}"),
            Came::Asked(..) => panic!("{tool} {arguments} asks again"),
        }
    }
}

#[test]
fn what_was_put_aside_and_a_new_tree_are_looked_at_too() {
    let bench = ground();
    for mode in ["apply", "pop"] {
        let arguments = json!({"mode": mode});
        let Came::Asked(names, _) = call(&bench, "git_stash", arguments, None) else {
            panic!("{mode}: nobody is asked");
        };
        assert_eq!(names, [".gitattributes", ".mcp.json"], "{mode}");
    }
    let tree = bench.ground.text("in/t");
    let arguments = json!({"mode": "add", "worktreePath": tree, "branch": "evil"});
    let Came::Asked(names, _) = call(&bench, "git_worktree", arguments, None) else {
        panic!("a new tree: nobody is asked");
    };
    assert!(names.iter().any(|it| it.ends_with("in/t/.envrc")), "{names:?}");
    assert!(!bench.ground.path("in/t").exists(), "nothing is left of it");
    let arguments = json!({"mode": "add", "worktreePath": tree, "branch": "plain"});
    assert!(matches!(call(&bench, "git_worktree", arguments, None), Came::Done));
}

#[test]
fn what_counts_and_is_not_tracked_is_not_removed_unasked() {
    let bench = ground();
    bench.ground.write("in/r/.envrc", "mine\n");
    bench.ground.write("in/r/junk", "x\n");
    let arguments = json!({"force": true});
    assert!(matches!(call(&bench, "git_clean", arguments, None), Came::Asked(..)));
    let arguments = json!({"mode": "push", "includeUntracked": true});
    assert!(matches!(call(&bench, "git_stash", arguments, None), Came::Asked(..)));
    assert!(bench.ground.path("in/r/.envrc").exists());
    std::fs::remove_file(bench.ground.path("in/r/.envrc")).unwrap();
    assert!(matches!(call(&bench, "git_clean", json!({"force": true}), None), Came::Done));
}

#[test]
fn ordinary_work_is_done_at_once() {
    let bench = ground();
    for (tool, arguments) in [
        ("git_checkout", json!({"target": "plain"})),
        ("git_checkout", json!({"target": "main"})),
        ("git_merge", json!({"branch": "plain", "noFastForward": true})),
        ("git_reset", json!({"target": "HEAD~1", "mode": "hard", "confirmed": true})),
        ("git_cherry_pick", json!({"commits": ["plain"]})),
        ("git_rebase", json!({"upstream": "base"})),
        // Back to what was there before the session: nothing changes.
        ("git_checkout", json!({"target": "base", "paths": [".gitattributes"]})),
        ("git_checkout", json!({"target": "new", "createBranch": true})),
    ] {
        match call(&bench, tool, arguments.clone(), None) {
            Came::Done => {}
            Came::Failed(text) => panic!("{tool} {arguments}: {text}"),
            Came::Asked(names, _) => panic!("{tool} {arguments} asks about {names:?}"),
        }
    }
}

#[test]
fn what_is_under_way_goes_on_only_with_what_was_agreed_to() {
    let bench = ground();
    let git = |words: &[&str]| bench.git("in/r", words);
    // A conflict in an ordinary file, and a name that counts in a step that is still to come.
    git(&["checkout", "-q", "-b", "steps", "base"]);
    bench.ground.write("in/r/a.txt", "theirs\n");
    git(&["commit", "-q", "-a", "-m", "one"]);
    bench.ground.write("in/r/.envrc", "evil\n");
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "two"]);
    git(&["checkout", "-q", "main"]);
    bench.ground.write("in/r/a.txt", "ours\n");
    git(&["commit", "-q", "-a", "-m", "ours"]);
    // Begun by the user, who then leaves it to the agent.
    let status = std::process::Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b", "rebase", "main", "steps"])
        .current_dir(bench.ground.path("in/r"))
        .env("GIT_EDITOR", "true")
        .output()
        .unwrap();
    assert!(!status.status.success());
    bench.ground.write("in/r/a.txt", "both\n");
    git(&["add", "a.txt"]);
    let came = call(&bench, "git_rebase", json!({"mode": "continue"}), None);
    let Came::Asked(names, digest) = came else { panic!("nobody is asked") };
    assert_eq!(names, [".envrc"]);
    assert!(!bench.ground.path("in/r/.envrc").exists());
    let came = call(&bench, "git_rebase", json!({"mode": "continue"}), Some(&digest));
    match came {
        Came::Done => assert!(bench.ground.path("in/r/.envrc").exists()),
        Came::Failed(text) => panic!("{text}"),
        Came::Asked(..) => panic!("asks again"),
    }
}
