//! Each tool of the git server doing what it is for.

use std::fs;

use serde_json::{Value, json};

use super::bench::Bench;

/// Makes calls one after another; each says all of its parts.
#[track_caller]
fn check(bench: &Bench, calls: &[(&str, Value, &[&str])]) {
    for (tool, arguments, parts) in calls {
        let text = bench.done(tool, arguments.clone());
        for part in *parts {
            assert!(text.contains(part), "{tool} {arguments}: `{part}` is not in `{text}`");
        }
    }
}

#[test]
fn it_shows_what_is_there() {
    let bench = Bench::new();
    bench.ground.write("in/r/a.txt", "one\ntwo\nthree\n");
    bench.ground.write("in/r/new.txt", "new\n");
    let head = bench.head();
    check(
        &bench,
        &[
            ("git_status", json!({}), &["On branch main", "modified:   a.txt", "new.txt"]),
            ("git_status", json!({"includeUntracked": false}), &["modified:   a.txt"]),
            ("git_diff", json!({}), &["+three"]),
            ("git_diff", json!({"nameOnly": true}), &["a.txt"]),
            ("git_diff", json!({"stat": true}), &["1 file changed"]),
            ("git_diff", json!({"staged": true}), &["no differences"]),
            ("git_diff", json!({"includeUntracked": true}), &["+three", "+new", "b/new.txt"]),
            ("git_diff", json!({"source": "HEAD~1", "target": "HEAD"}), &["+two", "dir/b.txt"]),
            ("git_diff", json!({"target": "HEAD~1..HEAD", "paths": ["dir"]}), &["dir/b.txt"]),
            ("git_diff", json!({"target": "HEAD~1", "contextLines": 0}), &["+three"]),
            ("git_log", json!({}), &["first", "second", &head, "+0000"]),
            ("git_log", json!({"oneline": true, "maxCount": 1}), &["second"]),
            (
                "git_log",
                json!({"branch": "HEAD~1..", "stat": true}),
                &["second", "2 files changed"],
            ),
            ("git_log", json!({"filePath": "dir/b.txt", "patch": true}), &["second", "+b"]),
            ("git_log", json!({"grep": "fir", "author": "Ada", "since": "2001-01-01"}), &["first"]),
            ("git_log", json!({"author": "nobody"}), &["no commits"]),
            ("git_show", json!({"object": "HEAD"}), &["second", "+two"]),
            ("git_show", json!({"object": "HEAD", "format": "json"}), &["\"subject\":\"second\""]),
            ("git_show", json!({"object": "HEAD~1", "filePath": "a.txt"}), &["one"]),
            ("git_show", json!({"object": "HEAD", "stat": true}), &["2 files changed"]),
            ("git_blame", json!({"file": "a.txt", "startLine": 2, "endLine": 2}), &["two", "Ada"]),
            ("git_reflog", json!({"maxCount": 5}), &["commit: second"]),
            ("git_reflog", json!({"ref": "main"}), &["commit: second"]),
            ("git_worktree", json!({}), &["[main]", "in/r"]),
            ("git_changelog_analyze", json!({"reviewTypes": ["gaps"]}), &["Ada: second", "Tags"]),
            ("git_wrapup_instructions", json!({"acknowledgement": "y"}), &["git_commit"]),
        ],
    );
}

/// The path is an argument of every tool but one.
#[test]
fn a_wrong_argument_is_named() {
    let bench = Bench::new();
    for (tool, arguments, part) in [
        ("git_status", json!({"pathh": "x"}), "pathh"),
        ("git_status", json!({"path": 1}), "path"),
        ("git_add", json!({}), "files"),
        ("git_add", json!({"files": [["../x"]]}), "files"),
        ("git_log", json!({"maxCount": 0}), "maxCount"),
        ("git_commit", json!({"message": ""}), "message"),
        ("git_log", json!({"showSignature": true}), "signatures are not checked"),
        ("git_show", json!({"object": "nothing"}), "names no revision"),
        ("git_commit", json!({"message": "x", "sign": true}), "signing is not supported"),
        ("git_clean", json!({}), "nothing was deleted"),
        ("git_push", json!({}), "cannot be asked"),
        ("git_pull", json!({}), "cannot be asked"),
        ("git_fetch", json!({}), "cannot be asked"),
        ("git_rebase", json!({"upstream": "HEAD", "interactive": true}), "there is no editor here"),
        ("git_worktree", json!({"mode": "add"}), "`worktreePath` is missing"),
        ("git_worktree", json!({"mode": "move", "worktreePath": "x"}), "`newPath` is missing"),
        (
            "git_worktree",
            json!({"mode": "add", "worktreePath": "x", "branch": "x", "detach": true}),
            "without a branch",
        ),
        (
            "git_worktree",
            json!({"mode": "add", "worktreePath": "x", "branch": "main", "commitish": "HEAD"}),
            "is there already",
        ),
        ("git_stash", json!({"mode": "drop", "stashRef": "HEAD"}), "stash@{0}"),
    ] {
        bench.refused(tool, arguments, &[part]);
    }
}

#[test]
fn it_stages_and_commits() {
    let bench = Bench::new();
    bench.ground.write("in/r/x.txt", "x\n");
    bench.ground.write("in/r/y y.txt", "y\n");
    bench.ground.write("in/r/z.txt", "z\n");
    bench.ground.write("in/r/.gitignore", "ignored\n");
    bench.ground.write("in/r/ignored", "i\n");
    let absolute = bench.ground.text("in/r/y y.txt");
    check(
        &bench,
        &[
            ("git_add", json!({"files": ["x.txt", absolute]}), &["x.txt", "y y.txt"]),
            ("git_commit", json!({"message": "# third\n\nwith a body"}), &["# third"]),
            (
                "git_commit",
                json!({"message": "fourth", "filesToStage": ["z.txt"], "author": {"name": "Bea", "email": "b@example.org"}}),
                &["fourth"],
            ),
            ("git_log", json!({"maxCount": 1}), &["Author: Bea <b@example.org>"]),
            ("git_commit", json!({"message": "fourth, again", "amend": true}), &["fourth, again"]),
            (
                "git_commit",
                json!({"message": "none", "allowEmpty": true, "sign": true, "forceUnsignedOnFailure": true}),
                &["not signed"],
            ),
            ("git_add", json!({"files": ["ignored"], "force": true}), &["ignored"]),
            ("git_reset", json!({"paths": ["ignored"]}), &["unstaged"]),
            ("git_add", json!({"files": ["."], "all": true}), &[".gitignore"]),
            ("git_reset", json!({"mode": "soft", "target": "HEAD~1"}), &["soft"]),
        ],
    );
    bench.refused("git_add", json!({"files": ["ignored"]}), &["ignored"]);
    bench.refused("git_commit", json!({"message": "x", "filesToStage": ["gone"]}), &["gone"]);
    let log = bench.git("in/r", &["log", "--format=%an %ae %s|%b", "-3"]);
    assert!(log.starts_with("Bea b@example.org fourth, again|"), "{log}");
    assert!(
        log.contains("IronCurtain agent agent@ironcurtain.invalid # third|with a body"),
        "{log}"
    );
    bench.refused("git_reset", json!({"mode": "hard"}), &["confirmed"]);
    check(&bench, &[("git_reset", json!({"mode": "hard", "confirmed": true}), &["hard"])]);
    assert_eq!(bench.git("in/r", &["status", "--porcelain"]), "?? ignored\n");
}

#[test]
fn it_makes_switches_renames_and_deletes_branches_and_tags() {
    let bench = Bench::new();
    bench.git("in/r", &["config", "branch.main.description", "mine"]);
    check(
        &bench,
        &[
            (
                "git_branch",
                json!({"operation": "create", "name": "side", "startPoint": "HEAD~1"}),
                &["side"],
            ),
            ("git_branch", json!({}), &["* main", "side"]),
            ("git_branch", json!({"merged": true}), &["side"]),
            ("git_branch", json!({"noMerged": "HEAD~1"}), &["main"]),
            ("git_branch", json!({"operation": "show-current"}), &["main"]),
            ("git_checkout", json!({"target": "side"}), &["side"]),
            ("git_checkout", json!({"target": "new", "createBranch": true}), &["new"]),
            (
                "git_branch",
                json!({"operation": "rename", "name": "new", "newName": "newer"}),
                &["newer"],
            ),
            ("git_branch", json!({"operation": "show-current"}), &["newer"]),
            ("git_checkout", json!({"target": "HEAD~0"}), &["on no branch"]),
            ("git_branch", json!({"operation": "show-current"}), &["no branch"]),
            ("git_checkout", json!({"target": "main"}), &["main"]),
            (
                "git_branch",
                json!({"operation": "delete", "name": "newer"}),
                &["Deleted branch newer"],
            ),
            (
                "git_branch",
                json!({"operation": "delete", "name": "side", "force": true}),
                &["Deleted"],
            ),
            (
                "git_branch",
                json!({"operation": "rename", "name": "main", "newName": "trunk"}),
                &["trunk"],
            ),
            ("git_tag", json!({"mode": "create", "tagName": "v1"}), &["v1"]),
            (
                "git_tag",
                json!({"mode": "create", "tagName": "v2", "message": "two\n", "commit": "HEAD~1"}),
                &["v2"],
            ),
            (
                "git_tag",
                json!({"mode": "create", "tagName": "v1", "force": true, "annotated": true}),
                &["v1"],
            ),
            ("git_tag", json!({}), &["v1", "v2", "two"]),
            ("git_show", json!({"object": "v2"}), &["tag v2", "first"]),
            ("git_tag", json!({"mode": "delete", "tagName": "v1"}), &["Deleted tag 'v1'"]),
        ],
    );
    assert_eq!(bench.git("in/r", &["symbolic-ref", "HEAD"]), "refs/heads/trunk\n");
    assert_eq!(bench.git("in/r", &["config", "branch.trunk.description"]), "mine\n");
    assert_eq!(bench.git("in/r", &["fsck", "--strict", "--no-dangling"]), "");
    bench.refused("git_branch", json!({"operation": "delete", "name": "trunk"}), &["checked out"]);
    bench.refused(
        "git_branch",
        json!({"operation": "delete", "name": "trunk", "force": true}),
        &["checked out"],
    );
    let forced = json!({"operation": "create", "name": "trunk", "force": true, "startPoint": "v2"});
    bench.refused("git_branch", forced, &["checked out"]);
}

#[test]
fn a_branch_of_a_remote_is_followed() {
    let bench = Bench::new();
    bench.git("in/r", &["update-ref", "refs/remotes/origin/far", "HEAD"]);
    bench.git("in/r", &["remote", "add", "origin", "https://example.org/o/r.git"]);
    check(&bench, &[("git_checkout", json!({"target": "far"}), &["follows `origin/far`"])]);
    assert_eq!(bench.git("in/r", &["rev-parse", "--abbrev-ref", "far@{u}"]), "origin/far\n");
}

#[test]
fn it_merges_picks_and_rebases() {
    let bench = Bench::new();
    let commit = |branch: &str, file: &str, text: &str| {
        bench.git("in/r", &["checkout", "-q", branch]);
        bench.ground.write(&format!("in/r/{file}"), text);
        bench.git("in/r", &["add", "-A"]);
        bench.git("in/r", &["commit", "-q", "-m", &format!("{branch}: {file}")]);
    };
    for branch in ["side", "other", "clash"] {
        bench.git("in/r", &["branch", branch]);
    }
    commit("side", "side.txt", "side\n");
    commit("other", "other.txt", "other\n");
    commit("clash", "a.txt", "clash\n");
    commit("main", "a.txt", "main\n");
    check(
        &bench,
        &[
            ("git_merge", json!({"branch": "side", "noFastForward": true}), &["side.txt"]),
            ("git_cherry_pick", json!({"commits": ["other"]}), &["other: other.txt"]),
        ],
    );
    bench.refused("git_merge", json!({"branch": "clash"}), &["CONFLICT", "a.txt"]);
    check(&bench, &[("git_merge", json!({"branch": "clash", "abort": true}), &["undone"])]);
    bench.refused("git_cherry_pick", json!({"commits": ["clash"]}), &["CONFLICT"]);
    check(&bench, &[("git_cherry_pick", json!({"commits": ["clash"], "abort": true}), &[])]);
    bench.refused("git_cherry_pick", json!({"commits": ["clash"]}), &["CONFLICT"]);
    bench.ground.write("in/r/a.txt", "both\n");
    check(
        &bench,
        &[
            ("git_add", json!({"files": ["a.txt"]}), &[]),
            (
                "git_cherry_pick",
                json!({"commits": ["clash"], "continueOperation": true}),
                &["clash"],
            ),
            ("git_checkout", json!({"target": "clash"}), &[]),
        ],
    );
    bench.refused("git_rebase", json!({"upstream": "main~1"}), &["CONFLICT"]);
    check(&bench, &[("git_rebase", json!({"mode": "abort"}), &[])]);
    bench.refused("git_rebase", json!({"upstream": "main~1"}), &["CONFLICT"]);
    bench.ground.write("in/r/a.txt", "again both\n");
    check(
        &bench,
        &[
            ("git_add", json!({"files": ["a.txt"]}), &[]),
            ("git_rebase", json!({"mode": "continue"}), &[]),
            ("git_rebase", json!({"upstream": "main", "branch": "other", "preserve": true}), &[]),
            ("git_merge", json!({"branch": "side", "squash": true}), &[]),
        ],
    );
    bench.refused("git_merge", json!({"branch": "side", "strategy": "octopus"}), &["octopus"]);
    assert_eq!(bench.git("in/r", &["log", "-1", "--format=%s", "clash"]), "clash: a.txt\n");
    assert_eq!(bench.git("in/r", &["fsck", "--strict", "--no-dangling"]), "");
}

#[test]
fn it_puts_aside_cleans_and_brings_back() {
    let bench = Bench::new();
    bench.ground.write("in/r/a.txt", "changed\n");
    bench.ground.write("in/r/new.txt", "new\n");
    bench.ground.write("in/r/junk/x", "x\n");
    check(
        &bench,
        &[
            (
                "git_stash",
                json!({"mode": "push", "message": "--for later", "includeUntracked": true}),
                &["--for later"],
            ),
            ("git_stash", json!({}), &["stash@{0}", "--for later"]),
            ("git_status", json!({}), &["nothing to commit"]),
            ("git_stash", json!({"mode": "apply", "stashRef": "stash@{0}"}), &[]),
            ("git_checkout", json!({"target": "HEAD", "paths": ["a.txt"]}), &[]),
            (
                "git_clean",
                json!({"dryRun": true, "directories": true}),
                &["Would remove junk/", "new.txt"],
            ),
            ("git_clean", json!({"force": true, "directories": true}), &["Removing junk/"]),
            ("git_stash", json!({"mode": "pop"}), &[]),
            ("git_stash", json!({"mode": "push", "keepIndex": true}), &[]),
            ("git_stash", json!({"mode": "drop"}), &["Dropped"]),
            ("git_stash", json!({"mode": "clear"}), &[]),
        ],
    );
    assert_eq!(bench.ground.read("in/r/a.txt"), "one\ntwo\n");
}

/// The lock is git's own: a person's git may be in the middle of it.
#[test]
fn a_config_that_somebody_else_is_changing_is_left_alone() {
    let bench = Bench::new();
    let config = bench.ground.read("in/r/.git/config");
    bench.ground.write("in/r/.git/config.lock", "half");
    for arguments in [
        json!({"mode": "add", "name": "o", "url": "https://example.org/a/b"}),
        json!({"mode": "set-url", "name": "o", "url": "https://example.org/a/b"}),
    ] {
        assert!(bench.call("git_remote", arguments).is_err());
        assert_eq!(bench.ground.read("in/r/.git/config"), config);
        assert_eq!(bench.ground.read("in/r/.git/config.lock"), "half");
    }
    let add = json!({"mode": "add", "name": "o", "url": "https://example.org/a/b"});
    bench.refused("git_remote", add.clone(), &["another program is changing"]);
    fs::remove_file(bench.ground.path("in/r/.git/config.lock")).unwrap();
    bench.done("git_remote", add);
    assert!(!bench.ground.exists("in/r/.git/config.lock"));
}

#[test]
fn remotes_are_changed_by_our_own_hand() {
    let bench = Bench::new();
    let config = bench.ground.read("in/r/.git/config");
    bench.ground.write("in/r/.git/config", format!("; kept\n{config}"));
    let url = "https://example.org/o/r.git";
    check(
        &bench,
        &[
            ("git_remote", json!({}), &["no remotes"]),
            ("git_remote", json!({"mode": "add", "name": "origin", "url": url}), &["origin"]),
            ("git_remote", json!({}), &["origin\thttps://example.org/o/r.git (fetch)"]),
            (
                "git_remote",
                json!({"mode": "set-url", "name": "origin", "url": "git@example.org:o/s.git", "push": true}),
                &["pushurl"],
            ),
            (
                "git_remote",
                json!({"mode": "get-url", "name": "origin", "push": true}),
                &["git@example.org:o/s.git"],
            ),
            ("git_remote", json!({"mode": "rename", "name": "origin", "newName": "up"}), &["up"]),
        ],
    );
    assert_eq!(
        bench.git("in/r", &["config", "remote.up.fetch"]),
        "+refs/heads/*:refs/remotes/up/*\n"
    );
    bench.git("in/r", &["update-ref", "refs/remotes/up/main", "HEAD"]);
    check(&bench, &[("git_remote", json!({"mode": "remove", "name": "up"}), &["removed"])]);
    assert_eq!(bench.git("in/r", &["for-each-ref", "refs/remotes"]), "");
    assert!(bench.ground.read("in/r/.git/config").starts_with("; kept\n"), "comments stay");
    assert!(!bench.ground.exists("in/r/.git/config.lock"));
    for (url, part) in [
        ("ext::sh -c x", "cannot be used"),
        ("file:///etc", "is not a URL"),
        ("/etc", "is not a URL"),
        ("--upload-pack=x", "cannot be used"),
        ("http://example.org/x/y", "cannot be used"),
        ("https://example.org/x/y\n[alias]\nx = !y", "cannot be used"),
    ] {
        bench.refused("git_remote", json!({"mode": "add", "name": "o", "url": url}), &[part]);
    }
    for name in ["-x", "../x", "a/b", "x.lock", "a\"]\n[alias"] {
        bench.refused(
            "git_remote",
            json!({"mode": "add", "name": name, "url": url}),
            &["name of a remote"],
        );
    }
}

#[test]
fn a_repository_is_made_where_there_is_none() {
    let bench = Bench::empty();
    let (first, second) = (bench.ground.dir("in/first"), bench.ground.text("in/second"));
    check(
        &bench,
        &[
            ("git_init", json!({"path": first}), &["first", "`main`"]),
            ("git_init", json!({"path": second, "initialBranch": "trunk"}), &["trunk"]),
        ],
    );
    assert_eq!(bench.git("in/second", &["symbolic-ref", "HEAD"]), "refs/heads/trunk\n");
    assert_eq!(bench.git("in/first", &["fsck", "--strict"]), "");
    bench.refused("git_init", json!({"path": first}), &["has a `.git` already"]);
    bench.refused("git_init", json!({"path": bench.ground.text("in/b"), "bare": true}), &["bare"]);
    let here = bench.ground.dir("in/third");
    check(
        &bench,
        &[
            (
                "git_set_working_dir",
                json!({"path": here, "initializeIfNotPresent": true, "includeMetadata": true}),
                &["third", "On branch main", "no remotes"],
            ),
            ("git_status", json!({"path": "."}), &["No commits yet"]),
        ],
    );
    bench.ground.write("in/third/x", "x\n");
    check(
        &bench,
        &[
            ("git_commit", json!({"path": ".", "message": "x", "filesToStage": ["x"]}), &["x"]),
            ("git_clear_working_dir", json!({"confirm": "y"}), &["forgotten"]),
        ],
    );
    bench.refused("git_status", json!({"path": "."}), &["there is no repository at"]);
    bench.refused(
        "git_set_working_dir",
        json!({"path": bench.ground.text("in")}),
        &["no repository"],
    );
    bench.refused("git_set_working_dir", json!({"path": bench.ground.text("out")}), &["outside"]);
}
