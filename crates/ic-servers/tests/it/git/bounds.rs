//! Where the git server works, how long and how loud it may be, and whose turn it is.

use std::fs;
use std::thread;

use ic_servers::filesystem::Rights;
use ic_servers::tools::Cancel;
use serde_json::json;

use super::bench::{Bench, told};

#[test]
fn nothing_outside_of_the_view_is_a_repository() {
    let bench = Bench::new();
    bench.git("out", &["init", "-q", "other"]);
    let before = bench.ground.names("out/other");
    let outside = bench.ground.text("out/other");
    for path in [outside.as_str(), "/", "/etc", &bench.ground.text("out"), "relative"] {
        for (tool, arguments) in [
            ("git_status", json!({"path": path})),
            ("git_add", json!({"path": path, "files": ["."]})),
            ("git_init", json!({"path": path})),
            ("git_init", json!({"path": format!("{path}/new")})),
            ("git_set_working_dir", json!({"path": path, "initializeIfNotPresent": true})),
        ] {
            bench.refused(tool, arguments, &["`"]);
        }
    }
    // Neither is what is above the path, nor a bare one within.
    let dir = bench.ground.text("in/r/dir");
    bench.refused("git_status", json!({"path": dir}), &["there is no repository at"]);
    bench.git("in/r", &["init", "-q", "--bare", "bare"]);
    let bare = bench.ground.text("in/r/bare");
    bench.refused("git_log", json!({"path": bare}), &["there is no repository at"]);
    let link = bench.ground.link("in/link", bench.ground.path("in/r"));
    bench.refused("git_status", json!({"path": link}), &["symbolic link"]);
    assert_eq!(bench.ground.names("out/other"), before);
    fs::remove_dir_all(bench.ground.path("out/other")).unwrap();
    bench.check_untouched("outside");
}

#[test]
fn rights_and_what_is_left_out_are_kept() {
    let bench = Bench::new();
    let reader = Bench::open(&bench.ground, &[("in", Rights::READ)], &[]);
    let path = bench.ground.text("in/r");
    let call = |tool: &str, mut arguments: serde_json::Value| {
        arguments["path"] = json!(path);
        told(&reader, tool, arguments, &Cancel::new())
    };
    assert!(call("git_status", json!({})).is_ok());
    assert!(call("git_diff", json!({"includeUntracked": true})).is_ok());
    for (tool, arguments) in [
        ("git_add", json!({"files": ["."]})),
        ("git_commit", json!({"message": "x"})),
        ("git_branch", json!({"operation": "create", "name": "x"})),
        ("git_branch", json!({"operation": "delete", "name": "x"})),
        ("git_tag", json!({"mode": "create", "tagName": "x"})),
        ("git_stash", json!({"mode": "push"})),
        ("git_stash", json!({"mode": "clear"})),
        ("git_clean", json!({"force": true})),
        ("git_reset", json!({})),
        ("git_checkout", json!({"target": "HEAD"})),
        ("git_merge", json!({"branch": "main"})),
        ("git_rebase", json!({"upstream": "main"})),
        ("git_cherry_pick", json!({"commits": ["main"]})),
        ("git_remote", json!({"mode": "add", "name": "o", "url": "https://example.org/a/b"})),
        ("git_remote", json!({"mode": "remove", "name": "o"})),
        ("git_init", json!({})),
    ] {
        let text = call(tool, arguments).expect_err(tool);
        assert!(text.contains("without the right to"), "{tool}: {text}");
    }
    bench.ground.write("in/r/keys/id", "x");
    let careful = Bench::open(&bench.ground, &[("in", Rights::ALL)], &["in/r/keys"]);
    let text = told(&careful, "git_status", json!({"path": path}), &Cancel::new());
    assert!(text.is_err_and(|text| text.contains("something protected lies in it")));
}

#[test]
fn loud_output_is_cut_with_a_note() {
    let bench = Bench::new();
    let line = "a line that is there many times, and says nothing\n";
    bench.ground.write("in/r/a.txt", line.repeat(40_000));
    let text = bench.done("git_diff", json!({}));
    assert!(text.len() < 600 << 10 && text.contains("… (cut after 512 KiB"), "{}", text.len());
    // What changes something goes on to its end.
    for n in 0..300 {
        let name = format!("in/r/many/{n}-{}", "x".repeat(200));
        bench.ground.write(&name, "x");
    }
    bench.done("git_add", json!({"files": ["."]}));
    assert_eq!(bench.git("in/r", &["ls-files", "many"]).lines().count(), 300);
}

#[test]
fn a_call_that_nobody_wants_is_ended() {
    let bench = Bench::new();
    // A file without end keeps git busy for as long as it is let.
    let fifo = bench.ground.path("in/r/.git/info/exclude");
    fs::remove_file(&fifo).ok();
    let cancel = Cancel::new();
    cancel.cancel();
    let path = bench.ground.text("in/r");
    let text = told(&bench.server, "git_log", json!({"path": path}), &cancel);
    assert!(text.is_err_and(|text| text.contains("cancelled")));
    // Cancelled while it runs: a pattern that takes for ever.
    let long = "a".repeat(400);
    let parent = bench.head();
    let tree = bench.git("in/r", &["rev-parse", "HEAD^{tree}"]);
    let mut tip = parent;
    for n in 0..20 {
        let message = format!("{n} {long}");
        let words = ["commit-tree", tree.trim(), "-p", &tip, "-m", &message];
        tip = bench.git("in/r", &words).trim().to_owned();
    }
    bench.git("in/r", &["update-ref", "refs/heads/main", &tip]);
    let cancel = Cancel::new();
    let slow = json!({"path": path, "grep": r"\(a*\)*\(a*\)*\(a*\)*\1\2\3b"});
    thread::scope(|scope| {
        let calling = scope.spawn(|| told(&bench.server, "git_log", slow, &cancel));
        // Until its private directory is there, it has not begun.
        let tmp = bench.ground.path("tmp");
        let has_begun = || {
            let scratch = fs::read_dir(&tmp).unwrap().next().unwrap().unwrap().path();
            fs::read_dir(scratch).unwrap().next().is_some()
        };
        while !has_begun() && !calling.is_finished() {
            thread::yield_now();
        }
        cancel.cancel();
        let text = calling.join().unwrap().expect_err("it was cancelled");
        assert!(text.contains("cancelled"), "{text}");
    });
}

#[test]
fn those_who_change_a_repository_take_turns() {
    let bench = Bench::new();
    thread::scope(|scope| {
        for n in 0..6 {
            let bench = &bench;
            scope.spawn(move || {
                let name = format!("f{n}.txt");
                bench.ground.write(&format!("in/r/{name}"), "x\n");
                let arguments = json!({"message": name, "filesToStage": [name]});
                bench.done("git_commit", arguments);
                bench.done("git_status", json!({}));
            });
        }
    });
    assert_eq!(bench.git("in/r", &["rev-list", "--count", "HEAD"]), "8\n");
    assert_eq!(bench.git("in/r", &["status", "--porcelain"]), "");
}

#[test]
fn nothing_of_ours_is_left() {
    let bench = Bench::new();
    bench.done("git_status", json!({}));
    bench.refused("git_show", json!({"object": "nothing"}), &["names no revision"]);
    let scratch = bench.ground.names("tmp");
    assert_eq!(bench.ground.names(&format!("tmp/{}", scratch[0])), Vec::<String>::new());
    drop(bench.server);
    assert_eq!(bench.ground.names("tmp"), Vec::<String>::new());
}
