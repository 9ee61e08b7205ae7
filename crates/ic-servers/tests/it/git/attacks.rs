//! What an agent can plant in a repository it may write: each would leave something if it ran.

use std::fs;

use serde_json::{Value, json};

use super::bench::{Bench, arm};

/// Everything that an ordinary session does with a repository; what comes of it does not matter.
fn exercise(bench: &Bench) -> Vec<String> {
    bench.ground.write("in/r/a.txt", "changed\n");
    bench.ground.write("in/r/added.txt", "added\n");
    let calls: &[(&str, Value)] = &[
        ("git_status", json!({})),
        ("git_diff", json!({})),
        ("git_diff", json!({"target": "HEAD~1", "includeUntracked": true})),
        ("git_log", json!({"patch": true})),
        ("git_show", json!({"object": "HEAD"})),
        ("git_show", json!({"object": "HEAD", "filePath": "a.txt"})),
        ("git_blame", json!({"file": "a.txt"})),
        ("git_add", json!({"files": ["."]})),
        ("git_diff", json!({"staged": true})),
        ("git_commit", json!({"message": "third"})),
        ("git_tag", json!({"mode": "create", "tagName": "t", "message": "m"})),
        ("git_branch", json!({"operation": "create", "name": "side", "startPoint": "HEAD~1"})),
        ("git_branch", json!({"all": true})),
        ("git_checkout", json!({"target": "side"})),
        ("git_merge", json!({"branch": "main", "noFastForward": true})),
        ("git_rebase", json!({"upstream": "HEAD~1"})),
        ("git_checkout", json!({"target": "HEAD~1", "paths": ["a.txt"]})),
        ("git_stash", json!({"mode": "push", "includeUntracked": true})),
        ("git_stash", json!({"mode": "pop"})),
        ("git_reset", json!({"mode": "hard", "confirmed": true})),
        ("git_checkout", json!({"target": "main"})),
        ("git_cherry_pick", json!({"commits": ["side"]})),
        ("git_clean", json!({"force": true, "directories": true, "ignored": true})),
        ("git_reflog", json!({})),
        ("git_remote", json!({"mode": "add", "name": "o", "url": "https://example.org/a/b"})),
        ("git_branch", json!({"operation": "delete", "name": "side", "force": true})),
    ];
    let told = calls.iter().map(|(tool, arguments)| match bench.call(tool, arguments.clone()) {
        Ok(text) => format!("{tool}: {text}"),
        Err(text) => format!("{tool} failed: {text}"),
    });
    told.collect()
}

/// Checks that a repository with this in its config is refused by every tool, and that nothing runs.
#[track_caller]
fn check_config(planted: impl Fn(&Bench, &str) -> String) {
    let bench = Bench::new();
    let trap = bench.trap("trap");
    let config = bench.ground.read("in/r/.git/config");
    let planted = planted(&bench, &trap);
    bench.ground.write("in/r/.git/config", format!("{config}{planted}\n"));
    bench.ground.write("in/r/.gitattributes", "* filter=x diff=x merge=x\n");
    for told in exercise(&bench) {
        assert!(told.contains("structural-git-config"), "{planted}: {told}");
    }
    bench.check_untouched(&planted);
}

#[test]
fn a_config_that_runs_or_redirects_is_refused_by_every_tool() {
    check_config(|_, trap| format!("[core]\n\tfsmonitor = {trap}"));
    check_config(|_, trap| format!("[CORE]\n\tFsMonitor = {trap}"));
    check_config(|bench, _| format!("[core]\n\thooksPath = {}", bench.ground.dir("in/hooks")));
    check_config(|bench, _| format!("[core]\n\tworktree = {}", bench.ground.text("out")));
    check_config(|_, trap| format!("[core]\n\tsshCommand = {trap}"));
    check_config(|_, trap| format!("[core]\n\tpager = {trap}"));
    check_config(|_, trap| format!("[core]\n\teditor = {trap}"));
    check_config(|_, trap| format!("[filter \"x\"]\n\tclean = {trap}"));
    check_config(|_, trap| format!("[filter \"x\"]\n\tsmudge = {trap}"));
    check_config(|_, trap| format!("[filter.x]\n\tprocess = {trap}"));
    check_config(|_, trap| format!("[diff]\n\texternal = {trap}"));
    check_config(|_, trap| format!("[diff \"x\"]\n\ttextconv = {trap}"));
    check_config(|_, trap| format!("[diff \"x\"]\n\tcommand = {trap}"));
    check_config(|_, trap| format!("[merge \"x\"]\n\tdriver = {trap}"));
    check_config(|_, trap| format!("[gpg]\n\tprogram = {trap}\n[commit]\n\tgpgSign = true"));
    check_config(|_, trap| format!("[gpg \"ssh\"]\n\tprogram = {trap}"));
    check_config(|_, trap| format!("[alias]\n\tstatus = !{trap}"));
    check_config(|_, trap| format!("[credential]\n\thelper = !{trap}"));
    check_config(|_, trap| format!("[sequence]\n\teditor = {trap}"));
    check_config(|_, trap| format!("[submodule \"x\"]\n\tupdate = !{trap}"));
    check_config(|_, trap| format!("[remote \"o\"]\n\tuploadpack = {trap}"));
    check_config(|bench, trap| {
        let path = bench.ground.write("in/more", format!("[core]\n\tfsmonitor = {trap}\n"));
        format!("[include]\n\tpath = {path}")
    });
    check_config(|bench, trap| {
        let path = bench.ground.write("in/more", format!("[core]\n\tfsmonitor = {trap}\n"));
        format!("[includeIf \"gitdir:/\"]\n\tpath = {path}")
    });
    check_config(|_, _| "[extensions]\n\tworktreeConfig = true".to_owned());
    check_config(|_, _| "[extensions]\n\trefStorage = files".to_owned());
    // What we might read differently than git does.
    check_config(|_, trap| format!("[core]\n\tfsmonitor = {trap}\u{b}"));
    check_config(|_, _| "[core".to_owned());
}

/// Checks that a repository with something planted is used, and that nothing of it runs.
#[track_caller]
fn check_passed_over(what: &str, plant: impl Fn(&Bench, &str)) {
    let bench = Bench::new();
    let trap = bench.trap("trap");
    plant(&bench, &trap);
    let told = exercise(&bench);
    assert!(told.iter().any(|told| told.starts_with("git_commit: ")), "{what}: {told:#?}");
    bench.check_untouched(what);
}

#[test]
fn hooks_and_attributes_run_nothing() {
    const HOOKS: [&str; 16] = [
        "applypatch-msg",
        "commit-msg",
        "fsmonitor-watchman",
        "post-checkout",
        "post-commit",
        "post-index-change",
        "post-merge",
        "post-rewrite",
        "pre-applypatch",
        "pre-auto-gc",
        "pre-commit",
        "pre-merge-commit",
        "pre-rebase",
        "prepare-commit-msg",
        "reference-transaction",
        "post-update",
    ];
    check_passed_over("hooks", |bench, trap| {
        for hook in HOOKS {
            fs::create_dir_all(bench.ground.path("in/r/.git/hooks")).unwrap();
            fs::copy(trap, bench.ground.path(format!("in/r/.git/hooks/{hook}"))).unwrap();
        }
    });
    check_passed_over("attributes", |bench, _| {
        let text = "* filter=x diff=x merge=x text working-tree-encoding=UTF-8 ident\n";
        bench.ground.write("in/r/.gitattributes", text);
        bench.ground.write("in/r/.git/info/attributes", text);
    });
    check_passed_over("the config of a working tree", |bench, trap| {
        let text = format!("[core]\n\tfsmonitor = {trap}\n");
        bench.ground.write("in/r/.git/config.worktree", text);
    });
    check_passed_over("files of the user", |bench, trap| {
        let text = format!("[core]\n\tfsmonitor = {trap}\n");
        bench.ground.write("in/r/.gitconfig", &text);
        bench.ground.write("in/r/.config/git/config", text);
    });
    check_passed_over("programs with names like git's", |bench, trap| {
        for name in ["git", "git-status", "git-merge-ort", "sh", "ssh", "gpg"] {
            fs::copy(trap, bench.ground.path(format!("in/r/{name}"))).unwrap();
        }
    });
}

#[test]
fn submodules_are_not_entered() {
    check_passed_over("submodules", |bench, trap| {
        bench.git("in/r", &["init", "-q", "sub"]);
        bench.ground.write("in/r/sub/x", "x\n");
        bench.git("in/r/sub", &["add", "-A"]);
        bench.git("in/r/sub", &["commit", "-q", "-m", "sub"]);
        let text = "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n";
        bench.ground.write("in/r/.gitmodules", text);
        bench.git("in/r", &["-c", "advice.addEmbeddedRepo=false", "add", "sub", ".gitmodules"]);
        bench.git("in/r", &["commit", "-q", "-m", "with a submodule"]);
        bench.ground.write("in/r/sub/x", "changed\n");
        bench.git("in/r/sub", &["config", "core.fsmonitor", trap]);
        let hooks = bench.ground.dir("in/r/sub/.git/hooks");
        fs::copy(trap, format!("{hooks}/post-checkout")).unwrap();
    });
    let bench = Bench::new();
    bench.git(
        "in/r",
        &["update-index", "--add", "--cacheinfo", &format!("160000,{},sub", bench.head())],
    );
    bench.refused("git_stash", json!({"mode": "push"}), &["submodules"]);
}

/// What leads elsewhere, and how it is planted.
type Lead = (&'static str, fn(&Bench));

#[test]
fn a_git_directory_that_leads_elsewhere_is_refused() {
    let lead: &[Lead] = &[
        ("a link", |bench| {
            fs::rename(bench.ground.path("in/r/.git"), bench.ground.path("in/real")).unwrap();
            bench.ground.link("in/r/.git", bench.ground.path("in/real"));
        }),
        ("a file", |bench| {
            fs::rename(bench.ground.path("in/r/.git"), bench.ground.path("in/real")).unwrap();
            bench.ground.write("in/r/.git", format!("gitdir: {}\n", bench.ground.text("in/real")));
        }),
        ("a common part", |bench| {
            bench.ground.write("in/r/.git/commondir", bench.ground.text("in/real"));
        }),
        ("objects", |bench| {
            let objects = bench.ground.text("out");
            bench.ground.write("in/r/.git/objects/info/alternates", objects);
        }),
        ("objects by a link", |bench| {
            fs::rename(bench.ground.path("in/r/.git/objects"), bench.ground.path("in/o")).unwrap();
            bench.ground.link("in/r/.git/objects", bench.ground.path("in/o"));
        }),
        ("refs by a link", |bench| {
            fs::rename(bench.ground.path("in/r/.git/refs"), bench.ground.path("in/o")).unwrap();
            bench.ground.link("in/r/.git/refs", bench.ground.path("in/o"));
        }),
        ("branches by a link", |bench| {
            fs::rename(bench.ground.path("in/r/.git/refs/heads"), bench.ground.path("in/o"))
                .unwrap();
            bench.ground.link("in/r/.git/refs/heads", bench.ground.path("in/o"));
        }),
        ("logs by a link", |bench| {
            fs::rename(bench.ground.path("in/r/.git/logs"), bench.ground.path("in/o")).unwrap();
            bench.ground.link("in/r/.git/logs", bench.ground.path("out"));
        }),
        ("an index by a link", |bench| {
            fs::rename(bench.ground.path("in/r/.git/index"), bench.ground.path("in/o")).unwrap();
            bench.ground.link("in/r/.git/index", bench.ground.path("in/o"));
        }),
        ("a config by a link", |bench| {
            fs::rename(bench.ground.path("in/r/.git/config"), bench.ground.path("in/o")).unwrap();
            bench.ground.link("in/r/.git/config", bench.ground.path("in/o"));
        }),
    ];
    for (what, lead) in lead {
        let bench = Bench::new();
        lead(&bench);
        for told in exercise(&bench) {
            assert!(told.contains("structural-git-config"), "{what}: {told}");
        }
        bench.check_untouched(what);
    }
}

#[test]
fn what_is_under_way_runs_nothing() {
    for (file, text) in [
        ("git-rebase-todo", "exec touch CAUGHT\n"),
        ("git-rebase-todo", "x touch CAUGHT\n"),
        ("git-rebase-todo", "pick HEAD\n  exec touch CAUGHT\n"),
        ("strategy", "x/y\n"),
        ("gpg_sign_opt", "-Skey\n"),
        ("strategy_opts", "--x\n"),
    ] {
        let bench = Bench::new();
        bench.git("in/r", &["branch", "side", "HEAD~1"]);
        bench.git("in/r", &["checkout", "-q", "side"]);
        bench.ground.write("in/r/a.txt", "clash\n");
        bench.git("in/r", &["commit", "-q", "-a", "-m", "clash"]);
        bench.refused("git_rebase", json!({"upstream": "main"}), &["CONFLICT"]);
        let caught = bench.ground.text("out/caught");
        let text = text.replace("CAUGHT", &caught);
        bench.ground.write(&format!("in/r/.git/rebase-merge/{file}"), text);
        bench.ground.write("in/r/git-merge-x/y", format!("#!/bin/sh\ntouch {caught}\n"));
        arm(&bench.ground.text("in/r/git-merge-x/y"));
        bench.done("git_add", json!({"files": ["a.txt"]}));
        for mode in ["continue", "skip", "abort"] {
            bench.refused("git_rebase", json!({"mode": mode}), &["structural-git-config", file]);
        }
        bench.check_untouched(file);
    }
}

#[test]
fn names_like_options_are_names() {
    let bench = Bench::new();
    let head = bench.head();
    for name in ["--output=caught", "--upload-pack=x", "-d", "--exec=touch", "--help"] {
        // As another program could make them.
        let file = format!("in/r/.git/refs/heads/{name}");
        bench.ground.write(&file, format!("{head}\n"));
        for (tool, arguments) in [
            ("git_log", json!({"branch": name, "maxCount": 1})),
            ("git_show", json!({"object": name, "stat": true})),
            ("git_diff", json!({"target": name})),
            ("git_diff", json!({"source": "HEAD~1", "target": name})),
            ("git_merge", json!({"branch": name})),
            ("git_reset", json!({"target": name})),
        ] {
            let told = bench.call(tool, arguments.clone());
            // They name a commit, as any other name does.
            let is_found = told.as_ref().is_ok_and(|text| !text.contains("usage:"));
            assert!(is_found, "{tool} {arguments}: {told:?}");
        }
        for (tool, arguments) in [
            ("git_branch", json!({"operation": "create", "name": name})),
            ("git_branch", json!({"operation": "delete", "name": name})),
            ("git_branch", json!({"operation": "rename", "name": "main", "newName": name})),
            ("git_tag", json!({"mode": "create", "tagName": name})),
            ("git_tag", json!({"mode": "delete", "tagName": name})),
            ("git_checkout", json!({"target": name, "createBranch": true})),
            ("git_rebase", json!({"upstream": "HEAD", "branch": name})),
            ("git_reflog", json!({"ref": name})),
        ] {
            bench.refused(tool, arguments, &["cannot be the name of a branch"]);
        }
        for (tool, arguments) in [
            ("git_add", json!({"files": [name]})),
            ("git_blame", json!({"file": name})),
            ("git_checkout", json!({"target": "HEAD", "paths": [name]})),
        ] {
            let text = bench.call(tool, arguments).expect_err("no such file");
            assert!(!text.contains("usage:"), "{tool}: {text}");
        }
        bench.done("git_stash", json!({"message": name}));
        bench.done("git_log", json!({"author": name, "grep": name, "since": name}));
        fs::remove_file(bench.ground.path(file)).unwrap();
    }
    bench.check_untouched("options");
    assert_eq!(bench.ground.names("in/r"), [".git", "a.txt", "dir"]);
    assert_eq!(bench.head(), head);
}

#[test]
fn files_are_those_of_the_repository_and_patterns_are_names() {
    let bench = Bench::new();
    bench.ground.write("in/beside.txt", "beside\n");
    let outside = bench.ground.text("out/secret.txt");
    let beside = bench.ground.text("in/beside.txt");
    for file in ["../beside.txt", "dir/../../beside.txt", &outside, &beside, ".git/config", ""] {
        for (tool, arguments) in [
            ("git_add", json!({"files": ["a.txt", file]})),
            ("git_commit", json!({"message": "x", "filesToStage": [file]})),
            ("git_diff", json!({"paths": [file]})),
            ("git_checkout", json!({"target": "HEAD", "paths": [file]})),
            ("git_reset", json!({"paths": [file]})),
        ] {
            bench.refused(tool, arguments, &["`"]);
        }
    }
    bench.ground.write("in/r/a.txt", "changed\n");
    for pattern in
        [":(top)", ":/", ":/a.txt", ":!x", ":(exclude)x", "*", "a.*", ":(glob)**", "a.txt\n*"]
    {
        let told = bench.call("git_add", json!({"files": [pattern]}));
        assert!(told.is_err(), "{pattern}: {told:?}");
    }
    assert_eq!(bench.git("in/r", &["diff", "--cached", "--name-only"]), "");
    // A link is kept as a link, and nothing behind one is staged.
    bench.ground.link("in/r/link", bench.ground.path("out"));
    bench.refused("git_add", json!({"files": ["link/secret.txt"]}), &["symbolic link"]);
    bench.ground.write("in/r/line\nbreak", "x\n");
    bench.done("git_add", json!({"files": ["link", "line\nbreak"]}));
    assert!(bench.git("in/r", &["diff", "--cached"]).contains("new file mode 120000"));
    bench.check_untouched("files");
}
