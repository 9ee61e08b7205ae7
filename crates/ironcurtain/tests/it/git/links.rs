//! Links that lead git astray, through the proxy: in a workspace, and where a tree is made beside others' files.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ic_testkit::Proxy;
use ic_testkit::git_host::git as real_git;
use serde_json::json;

use super::trees::{bad, git, good, make, write_strict_policy};
use super::write_policy;
use crate::confined::places_on_every_rung;

/// What an agent would have git write.
const WORDS: &str = "[core]\n\tfsmonitor = touch caught; false\n";

#[test]
fn a_link_in_a_workspace_does_not_become_the_config() {
    for (rung, place, _kept) in places_on_every_rung() {
        let policy = write_strict_policy(&place);
        let workspace = place.dir("work");
        let repo = workspace.join("repo");
        make(&repo);
        symlink("config", repo.join("l")).unwrap();
        let config = std::fs::read(repo.join(".git/config")).unwrap();
        let [workspace, top] = [&workspace, &repo].map(|path| path.to_str().unwrap().to_owned());
        let mut proxy = Proxy::start(&place, &["--policy", &policy, "--workspace", &workspace]);
        proxy.initialize();
        let message = format!("{top}/.git/COMMIT_EDITMSG");
        std::fs::remove_file(&message).unwrap();
        let moved = json!({"source": format!("{top}/l"), "destination": message});
        let asked = proxy.call("filesystem__move_file", &moved).bad();
        assert!(asked.contains("ESCALATION REQUIRED"), "{rung}: {asked}");
        // However it came there.
        symlink("config", &message).unwrap();
        let commit = json!({"message": WORDS, "allowEmpty": true});
        bad(&mut proxy, &top, "git_commit", commit.clone(), "could lead elsewhere");
        bad(&mut proxy, &format!("{top}-tree"), "git_commit", commit.clone(), "lead elsewhere");
        std::fs::remove_file(&message).unwrap();
        good(&mut proxy, &top, "git_commit", commit, "fsmonitor");
        proxy.finish();
        assert_eq!(std::fs::read(repo.join(".git/config")).unwrap(), config, "{rung}");
    }
}

/// Swaps `file` for a link to `target` and back, until it is dropped.
struct Swapping<'a>(&'a AtomicBool);

impl<'a> Swapping<'a> {
    fn begin<'s>(
        scope: &'s std::thread::Scope<'s, '_>,
        is_over: &'a AtomicBool,
        [file, next, target]: [&'s Path; 3],
    ) -> Self
    where
        'a: 's,
    {
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                symlink(target, next).unwrap();
                std::fs::rename(next, file).unwrap();
                std::fs::write(next, "x\n").unwrap();
                std::fs::rename(next, file).unwrap();
            }
        });
        Self(is_over)
    }
}

impl Drop for Swapping<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Where mounts can be told that links lead nowhere, git follows none that comes after the check, not
/// even within the tree.
#[test]
fn a_link_that_is_swapped_in_while_git_runs_leads_nowhere() {
    for (rung, place, _kept) in places_on_every_rung() {
        if rung != "namespaces" {
            continue;
        }
        let policy = write_strict_policy(&place);
        let workspace = place.dir("work");
        let repo = workspace.join("repo");
        make(&repo);
        let [message, next, victim] =
            [".git/COMMIT_EDITMSG", "next", ".envrc"].map(|name| repo.join(name));
        std::fs::write(&victim, "# mine\n").unwrap();
        let [workspace, top] = [&workspace, &repo].map(|path| path.to_str().unwrap().to_owned());
        let mut proxy = Proxy::start(&place, &["--policy", &policy, "--workspace", &workspace]);
        proxy.initialize();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _swapping = Swapping::begin(scope, &is_over, [&message, &next, &victim]);
            let mut was_there = false;
            for number in 0..1000 {
                let commit = json!({"message": format!("caught {number}"), "allowEmpty": true});
                let told = git(&mut proxy, &top, "git_commit", commit).text();
                was_there = told.contains("Too many levels of symbolic links");
                let left = std::fs::read_to_string(&victim).unwrap();
                assert_eq!(left, "# mine\n", "git wrote through a link: {told}");
                if was_there {
                    break;
                }
            }
            assert!(was_there, "git never came upon the link");
        });
        proxy.finish();
    }
}

#[test]
fn a_tree_that_is_made_beside_others_files_writes_none_of_them() {
    for (rung, place, _kept) in places_on_every_rung() {
        let policy = write_policy(&place);
        let outside = place.dir("outside");
        let repo = outside.join("repo");
        make(&repo);
        place.write("outside/.bashrc", "# mine\n");
        let log = repo.join(".git/logs/refs/heads/new");
        symlink("../../../../../.bashrc", &log).unwrap();
        let top = repo.to_str().unwrap();
        let mut proxy = Proxy::start(&place, &["--policy", &policy]);
        proxy.initialize();
        let new = outside.join("new");
        let add = json!({"mode": "add", "worktreePath": new.to_str().unwrap(), "branch": "new"});
        bad(&mut proxy, top, "git_worktree", add.clone(), "lead elsewhere");
        let gone = outside.join("gone");
        bad(&mut proxy, gone.to_str().unwrap(), "git_worktree", json!({}), "");
        assert!(!new.is_dir() && !gone.is_dir(), "{rung}");
        std::fs::remove_file(&log).unwrap();
        good(&mut proxy, top, "git_worktree", add, "on the new branch `new`");
        proxy.finish();
        assert_eq!(std::fs::read_to_string(outside.join(".bashrc")).unwrap(), "# mine\n", "{rung}");
        assert_eq!(real_git(&new, &["status", "--short"]), "", "{rung}");
    }
}

/// A tree in the sandbox whose repository is elsewhere is served by a process of its own, and only as
/// far as both were judged.
#[test]
fn a_tree_and_its_repository_apart_are_served_as_they_were_judged() {
    for (rung, place, _kept) in places_on_every_rung() {
        let policy = write_policy(&place);
        let outside = place.dir("outside");
        let repo = outside.join("repo");
        make(&repo);
        let top = repo.to_str().unwrap();
        let tools = ["git_worktree", "git_status"];
        let rules = json!({"rules": [
            {"name": "open", "if": {"tool": tools}, "then": "allow", "reason": "a test"},
            {"name": "no", "if": {}, "then": "deny", "reason": "a test"},
        ]});
        place.write("policy/compiled-policy.json", rules.to_string());
        let mut proxy = Proxy::start(&place, &["--policy", &policy]);
        proxy.initialize();
        proxy.call("filesystem__create_directory", &json!({"path": "mine"})).good();
        good(&mut proxy, "mine", "git_init", json!({}), "empty repository");
        let listed = git(&mut proxy, "mine", "git_worktree", json!({})).good();
        let sandbox = listed.split("/mine  ").next().unwrap().to_owned();
        let tree = format!("{sandbox}/tree");
        let add = json!({"mode": "add", "worktreePath": tree, "branch": "b"});
        good(&mut proxy, top, "git_worktree", add, "on the new branch `b`");
        good(&mut proxy, "tree", "git_status", json!({}), "nothing to commit");
        bad(&mut proxy, "tree", "git_log", json!({}), "DENIED");
        // Set while nobody can tell whose it is, and then meant.
        let moved = |from: &str, to: &str| json!({"source": from, "destination": to});
        proxy.call("filesystem__move_file", &moved("tree/.git", "kept")).good();
        good(&mut proxy, "tree", "git_set_working_dir", json!({"validateGitRepo": false}), "tree");
        proxy.call("filesystem__move_file", &moved("kept", "tree/.git")).good();
        let told = proxy.call("git__git_log", &json!({})).bad();
        assert!(!told.contains("theirs"), "{rung}: {told}");
        proxy.finish();
    }
}
