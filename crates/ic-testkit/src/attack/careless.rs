//! The same calls without anybody who looks: files written as told, and git run as told.
//!
//! The control of the whole test. If the canary stays silent here, its silence elsewhere says nothing.

#![expect(clippy::disallowed_methods, reason = "test support: it writes in the test's own place")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::calls::Call;
use super::world::World;

/// Does what the call says, as far as that goes; returns whether it went.
pub fn obey(world: &World, call: &Call) -> bool {
    let text = |name: &str| call.arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let at = |name: &str| world.workspace().join(text(name));
    // The server that is not ours names files absolutely, and a join leaves those as they are.
    match call.tool.replace("helper__", "filesystem__").as_str() {
        "filesystem__write_file" => fs::write(at("path"), text("content")).is_ok(),
        "filesystem__edit_file" => edit(&at("path"), call),
        "filesystem__create_directory" => fs::create_dir_all(at("path")).is_ok(),
        "filesystem__move_file" => fs::rename(at("source"), at("destination")).is_ok(),
        "filesystem__delete_file" => fs::remove_file(at("path")).is_ok(),
        "filesystem__make_link" => std::os::unix::fs::symlink(text("target"), at("path")).is_ok(),
        _ => git(world, call, &at("path")),
    }
}

fn edit(path: &PathBuf, call: &Call) -> bool {
    let new = call.arguments.pointer("/edits/0/newText").and_then(Value::as_str);
    match (fs::read_to_string(path), new) {
        (Ok(text), Some(new)) => fs::write(path, text.replacen("# keep", new, 1)).is_ok(),
        _ => false,
    }
}

fn git(world: &World, call: &Call, directory: &Path) -> bool {
    let words = words(call);
    if words.is_empty() || fs::create_dir_all(directory).is_err() {
        return false;
    }
    // Its own hooks and programs are off, as the server has them; what the user runs later counts.
    let mut all = vec!["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];
    all.extend(words.iter().map(String::as_str));
    world.user.git(directory, &all).is_good
}

/// Returns the command line of git that the call stands for; nothing for what only looks.
fn words(call: &Call) -> Vec<String> {
    let text = |name: &str| call.arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let is = |name: &str| call.arguments.get(name) == Some(&Value::Bool(true));
    let list = |name: &str| {
        let items = call.arguments.get(name).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    };
    let row = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    match call.tool {
        "git__git_init" if is("bare") => row(&["init", "--bare", "."]),
        "git__git_init" => row(&["init", "."]),
        "git__git_checkout" if is("createBranch") => row(&["checkout", "-b", text("target")]),
        "git__git_checkout" => {
            let paths = list("paths");
            let mut words = row(&["checkout", "-f", text("target")]);
            if !paths.is_empty() {
                words = row(&["checkout", text("target"), "--"]);
                words.extend(paths);
            }
            words
        }
        "git__git_reset" => row(&["reset", &format!("--{}", text("mode")), text("target")]),
        "git__git_merge" if is("squash") => row(&["merge", "--squash", text("branch")]),
        "git__git_merge" => match text("strategy") {
            "" => row(&["merge", "-m", "m", text("branch")]),
            strategy => row(&["merge", "-m", "m", "-s", strategy, text("branch")]),
        },
        "git__git_cherry_pick" if is("continueOperation") => {
            row(&["-c", "core.editor=true", "cherry-pick", "--continue"])
        }
        "git__git_cherry_pick" => {
            let mut words = row(&["cherry-pick"]);
            words.extend(is("noCommit").then(|| "-n".to_owned()));
            match text("strategy") {
                "" => {}
                strategy => words.push(format!("--strategy={strategy}")),
            }
            [words, list("commits")].concat()
        }
        "git__git_rebase" => match text("upstream") {
            "" => row(&["-c", "core.editor=true", "rebase", &format!("--{}", text("mode"))]),
            upstream => row(&["rebase", upstream]),
        },
        "git__git_stash" if is("includeUntracked") => row(&["stash", "push", "-u"]),
        "git__git_stash" => row(&["stash", text("mode")]),
        "git__git_worktree" if text("mode") == "add" => match text("commitish") {
            "" => row(&["worktree", "add", "-b", text("branch"), text("worktreePath")]),
            commitish => row(&["worktree", "add", "--detach", text("worktreePath"), commitish]),
        },
        "git__git_branch" => match text("operation") {
            "create" if is("force") => row(&["branch", "-f", text("name"), text("startPoint")]),
            "create" => row(&["branch", text("name"), text("startPoint")]),
            "rename" => row(&["branch", "-m", text("name"), text("newName")]),
            _ => Vec::new(),
        },
        "git__git_add" => match list("files").as_slice() {
            [] => Vec::new(),
            [all] if all == "." => row(&["add", "-A"]),
            files => [row(&["add", "--force", "--"]), files.to_vec()].concat(),
        },
        "git__git_commit" => row(&["commit", "--allow-empty", "-m", text("message")]),
        "git__git_clean" => row(&["clean", "-f", "-d"]),
        _ => Vec::new(),
    }
}
