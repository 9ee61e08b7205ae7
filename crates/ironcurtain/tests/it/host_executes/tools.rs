//! Every tool of the git server: it leaves the working tree as it is, or asks about what it would bring.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use ic_testkit::Proxy;
use ic_testkit::attack::world::World;
use serde_json::{Value, json};

use super::{Attack, Call, git};

/// What a call does that would bring listed names if it could.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Does {
    /// It is served, and the tree stays as it is.
    Nothing,
    /// It is asked about.
    Asks,
}

/// Each tool, with arguments by which it would change as much as it can.
fn table() -> Vec<(&'static str, Value, Does)> {
    use Does::{Asks, Nothing};
    let create = |name: &str| json!({"operation": "create", "name": name, "startPoint": "evil"});
    let hard = json!({"mode": "hard", "target": "evil", "confirmed": true});
    let clean = json!({"force": true, "directories": true, "ignored": true});
    let add = json!({"mode": "add", "worktreePath": "tree2", "commitish": "evil", "detach": true});
    let url = "https://a.invalid/x";
    vec![
        ("git_blame", json!({"file": "README.md"}), Nothing),
        ("git_changelog_analyze", json!({"reviewTypes": ["features"]}), Nothing),
        ("git_diff", json!({"target": "evil"}), Nothing),
        ("git_log", json!({}), Nothing),
        ("git_reflog", json!({}), Nothing),
        ("git_show", json!({"object": "evil"}), Nothing),
        ("git_status", json!({}), Nothing),
        ("git_wrapup_instructions", json!({"acknowledgement": "yes"}), Nothing),
        ("git_set_working_dir", json!({}), Nothing),
        ("git_clear_working_dir", json!({"confirm": "yes"}), Nothing),
        ("git_remote", json!({"mode": "list"}), Nothing),
        ("git_tag", json!({"mode": "create", "tagName": "t", "commit": "evil"}), Nothing),
        ("git_branch", create("copy"), Nothing),
        ("git_branch", json!({"operation": "rename", "name": "copy", "newName": "own"}), Nothing),
        ("git_branch", json!({"operation": "delete", "name": "own", "force": true}), Nothing),
        ("git_checkout", json!({"target": "evil"}), Asks),
        ("git_checkout", json!({"target": "evil", "force": true}), Asks),
        ("git_checkout", json!({"target": "evil", "paths": ["."]}), Asks),
        ("git_checkout", json!({"target": "side", "createBranch": true}), Nothing),
        ("git_cherry_pick", json!({"commits": ["evil"]}), Asks),
        ("git_clean", clean, Asks),
        ("git_clone", json!({"url": url, "localPath": "cloned"}), Asks),
        ("git_fetch", json!({"remote": "o"}), Asks),
        ("git_pull", json!({"remote": "o", "branch": "main"}), Asks),
        ("git_push", json!({"remote": "o", "branch": "main"}), Asks),
        ("git_merge", json!({"branch": "evil"}), Asks),
        ("git_merge", json!({"branch": "evil", "squash": true}), Asks),
        ("git_rebase", json!({"upstream": "evil"}), Asks),
        ("git_rebase", json!({"upstream": "main", "branch": "evil"}), Asks),
        ("git_reset", hard, Asks),
        ("git_reset", json!({"mode": "merge", "target": "evil"}), Asks),
        ("git_reset", json!({"mode": "keep", "target": "evil"}), Asks),
        // The index alone, from which the user's `git restore .` brings them.
        ("git_reset", json!({"mode": "mixed", "target": "evil"}), Asks),
        ("git_stash", json!({"mode": "pop"}), Asks),
        ("git_stash", json!({"mode": "apply"}), Asks),
        ("git_stash", json!({"mode": "list"}), Nothing),
        ("git_worktree", add, Asks),
        ("git_worktree", json!({"mode": "list"}), Nothing),
        ("git_init", json!({"path": "fresh"}), Nothing),
        ("git_add", json!({"files": ["README.md"]}), Nothing),
        ("git_commit", json!({"message": "m", "allowEmpty": true}), Nothing),
    ]
}

fn prepare(world: &mut World) {
    world.add_project("", &[]);
    let script = world.canary.script("tool");
    let listed =
        [(".envrc", script.as_str()), (".vscode/tasks.json", &script), ("src/b.rs", "//\n")];
    world.add_branch("", "evil", &listed);
    let top = world.workspace();
    world.user.git_well(&top, &["checkout", "--quiet", "evil", "--", ".envrc"]);
    world.user.git_well(&top, &["stash", "--quiet"]);
    world.user.git_well(&top, &["remote", "add", "o", "https://a.invalid/x"]);
    world.write("junk/.mcp.json", "{}\n");
}

/// Returns all files but git's own.
fn files(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut files, mut directories) = (BTreeMap::new(), vec![world.workspace()]);
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true if path.file_name().is_some_and(|it| it == ".git") => {}
                true => directories.push(path),
                false => {
                    let bytes = std::fs::read(&path).unwrap_or_default();
                    files.insert(path, bytes);
                }
            }
        }
    }
    files
}

#[test]
fn every_git_tool_leaves_the_tree_alone_or_asks() {
    let mut world = super::world();
    prepare(&mut world);
    let workspace = world.workspace();
    let flags = ["--policy", "coding", "--workspace", workspace.to_str().unwrap()];
    let mut proxy = Proxy::start(&world.place, &flags);
    proxy.initialize();
    let listed = proxy.request("tools/list", &json!({})).result();
    let listed: BTreeSet<String> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["name"].as_str()?.strip_prefix("git__").map(str::to_owned))
        .collect();
    let tried: BTreeSet<String> = table().iter().map(|(tool, ..)| (*tool).to_owned()).collect();
    assert_eq!(tried, listed, "a tool is not in the table");
    let before = files(&world);
    for (tool, mut arguments, does) in table() {
        if arguments.get("path").is_none()
            && !["git_clone", "git_clear_working_dir", "git_wrapup_instructions"].contains(&tool)
        {
            arguments["path"] = json!(".");
        }
        let answer = proxy.call(&format!("git__{tool}"), &arguments).json();
        let is_bad = answer.pointer("/result/isError") == Some(&json!(true));
        let text = answer.pointer("/result/content/0/text").and_then(Value::as_str);
        let is_asked = is_bad && text.is_some_and(|it| it.contains("ESCALATION REQUIRED"));
        let expected = if is_asked { Does::Asks } else { Does::Nothing };
        assert!(does == expected && is_bad == is_asked, "{tool} {arguments}: {answer}");
        assert!(files(&world) == before, "{tool} {arguments} changed the tree: {answer}");
    }
    proxy.finish();
}

/// A branch that has no commits yet gets its first one from a tool, and with it a history.
#[test]
fn a_branch_without_commits_gets_no_files_by_way_of_its_first_commit() {
    let prepare = |world: &mut World| {
        prepare(world);
        let top = world.workspace();
        world.user.git_well(&top, &["checkout", "--quiet", "--orphan", "new"]);
        world.user.git_well(&top, &["rm", "--quiet", "-r", "--force", "."]);
    };
    let create = json!({"operation": "create", "name": "new", "startPoint": "evil"});
    let rename = json!({"operation": "rename", "name": "evil", "newName": "new"});
    let hard = json!({"mode": "hard", "target": "HEAD", "confirmed": true});
    let back = json!({"target": "new", "force": true});
    let some = json!({"target": "new", "paths": [".envrc"]});
    for first in [create, rename] {
        for (tool, then) in
            [("git__git_reset", &hard), ("git__git_checkout", &back), ("git__git_checkout", &some)]
        {
            let calls = |_: &World| -> Vec<Call> {
                vec![git("git__git_branch", first.clone()), git(tool, then.clone())]
            };
            let attack = Attack { prepare: &prepare, calls: &calls, steps: &[], runs: false };
            attack.check(&format!("{first}, {tool} {then}"));
        }
    }
    let merge = |_: &World| vec![git("git__git_merge", json!({"branch": "evil"}))];
    Attack { prepare: &prepare, calls: &merge, steps: &[], runs: false }.check("merge");
}
