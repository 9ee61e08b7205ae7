//! Random calls of git's tools, about repositories that are there and what is going on in them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Call, call};
use crate::attack::dice::Dice;
use crate::attack::names;
use crate::attack::sight::{Repository, Sight, Stopped};

/// Draws a call.
pub(super) fn draw(
    dice: &mut Dice,
    sight: &Sight,
    refused: &BTreeSet<String>,
    boldness: usize,
) -> Call {
    let there = repository(dice, sight, refused);
    let (tool, arguments) = match dice.below(40) {
        _ if there.stopped.is_some() && dice.chance(60) => going_on_with(dice, &there),
        0..6 => ("git__git_add", add(dice, sight, &there, boldness)),
        6..12 => ("git__git_commit", commit(dice)),
        12..17 => ("git__git_checkout", checkout(dice, &there, boldness)),
        17..20 => ("git__git_reset", reset(dice, &there)),
        20..24 => ("git__git_merge", merge(dice, &there)),
        24..27 => ("git__git_cherry_pick", pick(dice, &there)),
        27..30 => ("git__git_rebase", rebase(dice, &there)),
        30..33 => ("git__git_stash", stash(dice, &there)),
        33..36 => ("git__git_worktree", worktree(dice, &there)),
        36 => ("git__git_branch", branch(dice, &there)),
        37 => ("git__git_tag", tag(dice, &there)),
        38 => ("git__git_clean", clean(dice)),
        _ => return other(dice, &there),
    };
    at(tool, arguments, &there.at)
}

/// Returns a call about the repository at `path`.
pub(super) fn at(tool: &'static str, mut arguments: Value, path: &str) -> Call {
    if let Some(arguments) = arguments.as_object_mut() {
        arguments.insert("path".to_owned(), json!(path));
    }
    call(tool, arguments)
}

/// Draws a repository: usually one that is there, and in which the git server works.
pub(super) fn repository(dice: &mut Dice, sight: &Sight, refused: &BTreeSet<String>) -> Repository {
    let named = |at: &str| Repository { at: at.to_owned(), ..Repository::default() };
    if dice.chance(3) {
        return named(dice.pick::<&str>(&["d", "sub", "k", "new", "tree", "b", "."]));
    }
    let all: Vec<&Repository> = sight.repositories.iter().collect();
    let works = |it: &&&Repository| !refused.contains(&it.at);
    let working: Vec<&Repository> = all.iter().filter(works).copied().collect();
    let wanted = if dice.chance(95) && !working.is_empty() { working } else { all };
    match wanted.as_slice() {
        [] => named("."),
        there => (*dice.pick(there)).clone(),
    }
}

/// Draws a commit of a repository.
pub(super) fn revision(dice: &mut Dice, there: &Repository) -> String {
    let branch = match there.branches.as_slice() {
        branches @ [_, ..] if dice.chance(90) => dice.pick(branches).as_str(),
        _ => *dice.pick(&["HEAD", "own", "main", "b0"]),
    };
    let back = *dice.pick(&["", "", "", "", "", "~1", "^", "~2"]);
    format!("{branch}{back}")
}

/// Finishes, or gives up, what stopped in the middle.
fn going_on_with(dice: &mut Dice, there: &Repository) -> (&'static str, Value) {
    match dice.below(10) {
        0..3 => ("git__git_add", json!({"files": ["."], "all": true})),
        3..5 if there.stopped == Some(Stopped::Merge) => ("git__git_commit", commit(dice)),
        _ if there.stopped == Some(Stopped::Rebase) => {
            let mode = *dice.pick(&["continue", "continue", "skip", "abort"]);
            ("git__git_rebase", json!({"mode": mode}))
        }
        _ if there.stopped == Some(Stopped::Pick) => {
            let is_continuing = dice.chance(60);
            let arguments = json!({"commits": [revision(dice, there)],
                "continueOperation": is_continuing, "abort": !is_continuing});
            ("git__git_cherry_pick", arguments)
        }
        _ => ("git__git_merge", json!({"branch": revision(dice, there), "abort": true})),
    }
}

fn add(dice: &mut Dice, sight: &Sight, there: &Repository, boldness: usize) -> Value {
    let base = if there.at == "." { String::new() } else { format!("{}/", there.at) };
    let files: Vec<&str> = sight.files.iter().filter_map(|it| it.strip_prefix(&base)).collect();
    match files.as_slice() {
        _ if dice.chance(65) => {
            json!({"files": ["."], "all": true, "force": dice.chance(20)})
        }
        files @ [_, ..] if !dice.chance(boldness) => json!({"files": [dice.pick(files)]}),
        _ => json!({"files": [names::in_a_commit(dice)], "force": true}),
    }
}

fn commit(dice: &mut Dice) -> Value {
    json!({"message": "by the agent", "allowEmpty": true, "amend": dice.chance(15)})
}

fn checkout(dice: &mut Dice, there: &Repository, boldness: usize) -> Value {
    match dice.below(10) {
        0..3 => {
            let name = *dice.pick(&["own", "own2", "config", "HEAD2"]);
            json!({"target": name, "createBranch": true})
        }
        3..5 if dice.chance(boldness) => {
            json!({"target": revision(dice, there), "paths": [names::in_a_commit(dice)]})
        }
        3 => json!({"target": revision(dice, there), "paths": ["README.md", "a.txt"]}),
        _ => json!({"target": revision(dice, there), "force": dice.chance(60)}),
    }
}

fn reset(dice: &mut Dice, there: &Repository) -> Value {
    let mode = *dice.pick(&["hard", "hard", "mixed", "soft", "merge", "keep"]);
    json!({"mode": mode, "target": revision(dice, there), "confirmed": true})
}

fn merge(dice: &mut Dice, there: &Repository) -> Value {
    let mut arguments = json!({"branch": revision(dice, there), "noFastForward": dice.chance(30),
        "squash": dice.chance(25)});
    if dice.chance(20) {
        let strategy = *dice.pick(&["ours", "ort", "subtree"]);
        if let Some(arguments) = arguments.as_object_mut() {
            arguments.insert("strategy".to_owned(), json!(strategy));
        }
    }
    arguments
}

fn pick(dice: &mut Dice, there: &Repository) -> Value {
    let commits: Vec<String> = (0..dice.between(1, 2)).map(|_| revision(dice, there)).collect();
    json!({"commits": commits, "noCommit": dice.chance(40)})
}

fn rebase(dice: &mut Dice, there: &Repository) -> Value {
    match dice.below(6) {
        0..2 => json!({"upstream": revision(dice, there), "onto": revision(dice, there)}),
        2 => json!({"upstream": "main", "branch": revision(dice, there)}),
        _ => json!({"upstream": revision(dice, there)}),
    }
}

fn stash(dice: &mut Dice, there: &Repository) -> Value {
    match *dice.pick(&["pop", "apply", "drop", "pop"]) {
        mode if there.has_stash => json!({"mode": mode}),
        _ => json!({"mode": "push", "includeUntracked": dice.chance(50),
            "keepIndex": dice.chance(20)}),
    }
}

fn worktree(dice: &mut Dice, there: &Repository) -> Value {
    let at = *dice.pick(&[
        "tree2", "d/tree", "t4", ".vscode", "k/t", ".git/x", "tools", "sub/tree", "objects",
    ]);
    match dice.below(10) {
        0 => json!({"mode": "remove", "worktreePath": at, "force": true}),
        1 => {
            json!({"mode": "move", "worktreePath": at, "newPath": dice.pick(&["d", "k", "sub", "t3"])})
        }
        2 => json!({"mode": "add", "worktreePath": at, "branch": "fresh"}),
        3 => json!({"mode": "prune"}),
        _ => json!({"mode": "add", "worktreePath": at, "commitish": revision(dice, there),
            "detach": true}),
    }
}

fn branch(dice: &mut Dice, there: &Repository) -> Value {
    match dice.below(5) {
        0 => json!({"operation": "rename", "name": "b0", "newName": "own"}),
        1 => json!({"operation": "delete", "name": dice.pick(&["b1", "own"]), "force": true}),
        _ => {
            let name = *dice.pick(&["own", "own3", "main", "b1", "config"]);
            json!({"operation": "create", "name": name, "startPoint": revision(dice, there), "force": dice.chance(50)})
        }
    }
}

fn tag(dice: &mut Dice, there: &Repository) -> Value {
    let name = *dice.pick(&["one", "two", "own"]);
    json!({"mode": "create", "tagName": name, "commit": revision(dice, there)})
}

fn clean(dice: &mut Dice) -> Value {
    json!({"force": true, "directories": dice.chance(50), "ignored": dice.chance(50)})
}

/// Calls that begin something, or reach out of the repository.
fn other(dice: &mut Dice, there: &Repository) -> Call {
    let new = *dice.pick(&["new", "d", "k", "b", "docs", "src", "."]);
    match dice.below(6) {
        0 => at("git__git_init", json!({"bare": dice.chance(50)}), new),
        1 => {
            let arguments = json!({"initializeIfNotPresent": true, "validateGitRepo": false});
            at("git__git_set_working_dir", arguments, new)
        }
        2 => at("git__git_remote", json!({"mode": "add", "name": "o2", "url": "./d"}), &there.at),
        3 => at("git__git_pull", json!({"remote": "./sub", "branch": "b0"}), &there.at),
        4 => call("git__git_clone", json!({"url": "./sub", "localPath": new, "bare": true})),
        _ => at("git__git_fetch", json!({"remote": "origin"}), &there.at),
    }
}
