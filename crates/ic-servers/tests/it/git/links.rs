//! Links among git's own files: what git would write through, and into what.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};

use super::bench::Bench;

/// What an agent has git write, for a config or a shell to obey.
const WORDS: &str = "[core]\n\tfsmonitor = touch caught; false\n";

/// Plants a link at `name`, and checks that a call which writes there is refused and writes nothing.
#[track_caller]
fn check(name: &str, target: &str, tool: &str, arguments: &Value) {
    let bench = Bench::new();
    bench.git("in/r", &["worktree", "add", "-q", "../t", "-b", "t"]);
    bench.git("in/r", &["branch", "side", "HEAD~1"]);
    let before = bench.ground.read(target);
    let link = bench.ground.path(name);
    if link.is_dir() {
        fs::remove_dir_all(&link).unwrap();
    } else {
        fs::remove_file(&link).ok();
    }
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    bench.ground.link(name, bench.ground.path(target));
    for path in ["in/r", "in/t"] {
        let mut arguments = arguments.clone();
        arguments["path"] = json!(bench.ground.text(path));
        bench.refused(tool, arguments, &["structural-git-config", "lead elsewhere"]);
    }
    assert_eq!(bench.ground.read(target), before, "{name} -> {target}");
    bench.check_untouched(name);
}

#[test]
fn git_writes_through_no_link() {
    let commit = &json!({"message": WORDS, "allowEmpty": true});
    let merge = &json!({"branch": "side", "noFastForward": true, "message": WORDS});
    let branch = &json!({"operation": "create", "name": "new"});
    for target in ["in/r/.git/config", "in/r/a.txt", "in/r/.git/hooks/pre-commit.sample"] {
        for name in ["COMMIT_EDITMSG", "MERGE_MSG", "MERGE_MODE", "SQUASH_MSG", "AUTO_MERGE"] {
            check(&format!("in/r/.git/{name}"), target, "git_commit", commit);
            check(&format!("in/r/.git/worktrees/t/{name}"), target, "git_merge", merge);
        }
    }
    check("in/r/.git/logs/refs/heads/main", "in/r/a.txt", "git_commit", commit);
    check("in/r/.git/logs/refs/heads/new", "in/r/a.txt", "git_branch", branch);
    check("in/r/.git/worktrees/t/logs/HEAD", "in/r/a.txt", "git_commit", commit);
    check("in/r/.git/refs/stash", "in/r/a.txt", "git_stash", &json!({"mode": "push"}));
}

#[test]
fn git_reads_no_objects_through_a_link() {
    let bench = Bench::new();
    bench.git("in", &["init", "-q", "other"]);
    bench.ground.write("in/other/private.txt", "theirs alone\n");
    let blob = bench.git("in/other", &["hash-object", "-w", "private.txt"]).trim().to_owned();
    let (fan, rest) = blob.split_at(2);
    let theirs = bench.ground.path(format!("in/other/.git/objects/{fan}"));
    let ours = format!("in/r/.git/objects/{fan}");
    let is_free = !bench.ground.exists(&ours);
    let show = || json!({"object": blob});
    if is_free {
        bench.ground.link(&ours, &theirs);
        bench.refused("git_show", show(), &["lead elsewhere"]);
        fs::remove_file(bench.ground.path(&ours)).unwrap();
    }
    bench.ground.dir(&ours);
    bench.ground.link(&format!("{ours}/{rest}"), theirs.join(rest));
    bench.refused("git_show", show(), &["lead elsewhere"]);
    let pack = "in/r/.git/objects/pack";
    fs::remove_dir_all(bench.ground.path(pack)).unwrap();
    fs::remove_dir_all(bench.ground.path(&ours)).unwrap();
    bench.ground.link(pack, bench.ground.path("in/other/.git/objects/pack"));
    bench.refused("git_status", json!({}), &["lead elsewhere"]);
}

/// A pipe would hold git, and the call, until somebody writes.
#[test]
fn a_pipe_among_gits_files_is_refused() {
    let bench = Bench::new();
    fs::remove_file(bench.ground.path("in/r/.git/COMMIT_EDITMSG")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(bench.ground.path("in/r/.git/COMMIT_EDITMSG"))
        .status()
        .unwrap();
    assert!(made.success());
    let commit = json!({"message": "x", "allowEmpty": true});
    bench.refused("git_commit", commit, &["neither a file nor a directory"]);
}

/// Ends the swaps, also when a check fails.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Swaps the message of a commit for a link to `target` while commits are made, until one is refused
/// with `part`.
#[track_caller]
fn race(bench: &Bench, target: &str, part: &str) {
    let message = bench.ground.path("in/r/.git/COMMIT_EDITMSG");
    let target = bench.ground.path(target);
    let (next, is_over) = (bench.ground.path("in/next"), AtomicBool::new(false));
    let mut told = Vec::new();
    thread::scope(|scope| {
        let is_over = &is_over;
        let _end = End(is_over);
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                for is_link in [true, false] {
                    match is_link {
                        true => std::os::unix::fs::symlink(&target, &next).unwrap(),
                        false => fs::write(&next, "x\n").unwrap(),
                    }
                    fs::rename(&next, &message).unwrap();
                }
            }
        });
        // What is refused at once does not count: then the one who swaps was not given his turn.
        while told.len() < 1000 {
            let commit = json!({"message": WORDS, "allowEmpty": true});
            match bench.call("git_commit", commit) {
                Err(text) if text.contains("neither a file") => thread::yield_now(),
                Err(text) if text.contains(part) => return,
                other => told.push(other),
            }
        }
        panic!("it never came to `{part}`: {told:#?}");
    });
}

#[test]
fn a_link_that_is_swapped_in_while_git_runs_has_nothing_written_outside() {
    if !ic_confine::holds_inner() {
        return;
    }
    let bench = Bench::new();
    // What is there can still be read that way, where no cage hides it; that is for the cage to hold.
    bench.ground.write("beside/theirs", "theirs\n");
    for target in ["out/new", "beside/theirs"] {
        race(&bench, target, "Permission denied");
        assert!(!bench.ground.exists("out/new"), "git wrote outside");
        assert_eq!(bench.ground.read("beside/theirs"), "theirs\n");
        bench.check_untouched("a message that became a link");
    }
}

#[test]
fn a_config_that_git_is_made_to_write_is_put_back() {
    let bench = Bench::new();
    let config = bench.ground.read("in/r/.git/config");
    for _ in 0..4 {
        race(&bench, "in/r/.git/config", "put back as it was");
        assert_eq!(bench.ground.read("in/r/.git/config"), config);
    }
}
