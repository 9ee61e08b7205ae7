//! Random calls of an agent, and plans that it follows: single calls among the tools, and recipes.
//!
//! A recipe is a row of calls that together would win; its calls are mixed with others.

use serde_json::{Value, json};

use super::dice::Dice;
use super::names;
use super::world::{Tree, World};

/// How many calls a sequence has at most.
pub const CALLS_MAX: usize = 30;

/// One call of an agent.
#[derive(Clone, Debug)]
pub struct Call {
    /// The tool, as the proxy offers it.
    pub tool: &'static str,
    /// Its arguments; paths are relative to the workspace.
    pub arguments: Value,
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.tool, self.arguments)
    }
}

fn call(tool: &'static str, arguments: Value) -> Call {
    Call { tool, arguments }
}

/// Draws a sequence.
pub fn sequence(dice: &mut Dice, world: &World) -> Vec<Call> {
    let n_calls = dice.between(4, CALLS_MAX);
    let mut rows: Vec<Vec<Call>> = (0..dice.between(1, 3)).map(|_| recipe(dice, world)).collect();
    let mut calls = Vec::new();
    while calls.len() < n_calls {
        let next = dice.below(rows.len() + 1);
        match rows.get_mut(next).filter(|row| !row.is_empty()) {
            Some(row) => calls.push(row.remove(0)),
            None if dice.chance(45) => calls.push(file_call(dice, world)),
            None => calls.push(git_call(dice, world)),
        }
    }
    calls
}

// === files ===

fn write(dice: &mut Dice, world: &World, path: &str) -> Call {
    let content = names::content(dice, path, &world.canary);
    call("filesystem__write_file", json!({"path": path, "content": content}))
}

fn make(path: &str) -> Call {
    call("filesystem__create_directory", json!({"path": path}))
}

fn shift(source: &str, destination: &str) -> Call {
    call("filesystem__move_file", json!({"source": source, "destination": destination}))
}

fn path(dice: &mut Dice, world: &World) -> String {
    let drawn = names::path(dice);
    match world.links.as_slice() {
        links @ [_, ..] if dice.chance(10) => {
            let link = dice.pick(links);
            let last = drawn.rsplit('/').next().unwrap_or_default();
            format!("{link}/{last}")
        }
        _ => drawn,
    }
}

fn file_call(dice: &mut Dice, world: &World) -> Call {
    let at = path(dice, world);
    match dice.below(10) {
        0..4 => write(dice, world, &at),
        4..5 => {
            let new = world.canary.script("edited");
            let edits = json!([{"oldText": "# keep", "newText": new}]);
            call("filesystem__edit_file", json!({"path": at, "edits": edits}))
        }
        5..7 => make(&at),
        7..9 => shift(&at, &path(dice, world)),
        _ => call("filesystem__delete_file", json!({"path": at})),
    }
}

// === git ===

fn repository(dice: &mut Dice, world: &World) -> String {
    if dice.chance(12) {
        return (*dice.pick(&["d", "sub", "k", "new", "tree", "b", "."])).to_owned();
    }
    let is_wanted = if dice.chance(85) { |it: &&Tree| it.is_plain } else { |_: &&Tree| true };
    let trees: Vec<&Tree> = world.trees.iter().filter(is_wanted).collect();
    match trees.as_slice() {
        [] => ".".to_owned(),
        trees => match dice.pick(trees).at.as_str() {
            "" => ".".to_owned(),
            at => at.to_owned(),
        },
    }
}

fn revision(dice: &mut Dice) -> String {
    let branch = *dice.pick(&["b0", "b1", "b0", "b1", "b0", "b1", "b2", "main", "HEAD", "own"]);
    let back = *dice.pick(&["", "", "", "", "~1", "^", "~2"]);
    format!("{branch}{back}")
}

fn git_call(dice: &mut Dice, world: &World) -> Call {
    let at = repository(dice, world);
    let (tool, mut arguments) = match dice.below(28) {
        0..4 => checkout(dice),
        4..7 => reset(dice),
        7..10 => merge(dice),
        10..13 => ("git__git_cherry_pick", pick(dice)),
        13..15 => ("git__git_rebase", rebase(dice)),
        15..18 => ("git__git_stash", stash(dice)),
        18..21 => ("git__git_worktree", worktree(dice)),
        21 => ("git__git_branch", branch(dice)),
        22 => ("git__git_init", json!({"bare": dice.chance(50)})),
        23 => (
            "git__git_clean",
            json!({"force": true, "directories": dice.chance(50), "ignored": dice.chance(50)}),
        ),
        24 => ("git__git_add", add(dice)),
        25 => {
            let commit =
                json!({"message": "by the agent", "allowEmpty": true, "amend": dice.chance(20)});
            ("git__git_commit", commit)
        }
        26 => ("git__git_remote", remote(dice)),
        _ => {
            ("git__git_tag", json!({"mode": "create", "tagName": "own", "commit": revision(dice)}))
        }
    };
    if let Some(arguments) = arguments.as_object_mut() {
        arguments.insert("path".to_owned(), json!(at));
    }
    call(tool, arguments)
}

fn checkout(dice: &mut Dice) -> (&'static str, Value) {
    let mut arguments = json!({"target": revision(dice), "force": dice.chance(40)});
    if let Some(arguments) = arguments.as_object_mut() {
        if dice.chance(15) {
            arguments.insert("createBranch".to_owned(), json!(true));
            arguments.insert("target".to_owned(), json!("own"));
        } else if dice.chance(30) {
            arguments.insert("paths".to_owned(), json!([names::in_a_commit(dice)]));
        }
    }
    ("git__git_checkout", arguments)
}

fn reset(dice: &mut Dice) -> (&'static str, Value) {
    let mode = *dice.pick(&["hard", "hard", "mixed", "soft", "merge", "keep"]);
    ("git__git_reset", json!({"mode": mode, "target": revision(dice), "confirmed": true}))
}

fn merge(dice: &mut Dice) -> (&'static str, Value) {
    let mut arguments = json!({"branch": revision(dice), "noFastForward": dice.chance(30),
        "squash": dice.chance(30), "abort": dice.chance(5)});
    if dice.chance(20) {
        let strategy = *dice.pick(&["ours", "ort", "subtree"]);
        if let Some(arguments) = arguments.as_object_mut() {
            arguments.insert("strategy".to_owned(), json!(strategy));
        }
    }
    ("git__git_merge", arguments)
}

fn pick(dice: &mut Dice) -> Value {
    let commits: Vec<String> = (0..dice.between(1, 2)).map(|_| revision(dice)).collect();
    json!({"commits": commits, "noCommit": dice.chance(40),
        "continueOperation": dice.chance(5), "abort": dice.chance(5)})
}

fn rebase(dice: &mut Dice) -> Value {
    match dice.below(8) {
        0 => json!({"mode": "continue"}),
        1 => json!({"mode": "skip"}),
        2 => json!({"mode": "abort"}),
        3..5 => json!({"upstream": revision(dice), "onto": revision(dice)}),
        5 => json!({"upstream": "main", "branch": dice.pick(&["b0", "b1", "b2"])}),
        _ => json!({"upstream": revision(dice)}),
    }
}

fn stash(dice: &mut Dice) -> Value {
    let mode = *dice.pick(&["push", "push", "pop", "apply", "drop"]);
    match mode {
        "push" => {
            json!({"mode": mode, "includeUntracked": dice.chance(50), "keepIndex": dice.chance(20)})
        }
        _ => json!({"mode": mode}),
    }
}

fn worktree(dice: &mut Dice) -> Value {
    let at = *dice
        .pick(&["tree2", "d/tree", "d", ".vscode", "k", ".git/x", "tools", "sub/tree", "objects"]);
    match dice.below(8) {
        0 => json!({"mode": "remove", "worktreePath": at, "force": true}),
        1 => {
            json!({"mode": "move", "worktreePath": at, "newPath": dice.pick(&["d", "k", "sub", "t3"])})
        }
        2 => json!({"mode": "add", "worktreePath": at, "branch": "fresh"}),
        3 => json!({"mode": "prune"}),
        _ => {
            json!({"mode": "add", "worktreePath": at, "commitish": revision(dice), "detach": true})
        }
    }
}

fn branch(dice: &mut Dice) -> Value {
    match dice.below(4) {
        0 => json!({"operation": "rename", "name": "b0", "newName": "own"}),
        1 => json!({"operation": "delete", "name": dice.pick(&["b1", "own"]), "force": true}),
        _ => {
            let name = *dice.pick(&["own", "main", "b1", "config"]);
            json!({"operation": "create", "name": name, "startPoint": revision(dice), "force": dice.chance(50)})
        }
    }
}

fn add(dice: &mut Dice) -> Value {
    match dice.chance(60) {
        true => json!({"files": ["."], "all": true, "force": dice.chance(30)}),
        false => json!({"files": [names::in_a_commit(dice)], "force": true}),
    }
}

fn remote(dice: &mut Dice) -> Value {
    match dice.chance(50) {
        true => json!({"mode": "add", "name": "origin", "url": "./d"}),
        false => json!({"mode": "list"}),
    }
}

// === recipes ===

/// Draws a row of calls that together would win if nobody looked.
fn recipe(dice: &mut Dice, world: &World) -> Vec<Call> {
    match dice.below(8) {
        0..2 => shape_by_files(dice, world),
        2 => bare_then_files(dice, world),
        3 => common_directory(dice, world),
        4 => directory_that_moves(dice, world),
        5 => named_by_the_user(dice, world),
        6 => history_then_tree(dice, world),
        _ => stash_there_and_back(dice, world),
    }
}

fn shape_by_files(dice: &mut Dice, world: &World) -> Vec<Call> {
    let base = *dice.pick(&["d/", "", "sub/", "d/e/", "src/"]);
    let mut calls = Vec::new();
    let mut first = vec![make("k")];
    if !base.is_empty() {
        first.push(make(base.trim_end_matches('/')));
    }
    let parts = ["HEAD", "config", "objects", "refs", "commondir"];
    for part in parts.get(..if dice.chance(20) { 5 } else { 4 }).unwrap_or_default() {
        let at = format!("{base}{part}");
        match *part {
            "objects" | "refs" => calls.push(make(&at)),
            _ if dice.chance(25) => {
                let aside = format!("k/{part}");
                calls.extend([write(dice, world, &aside), shift(&aside, &at)]);
            }
            _ => calls.push(write(dice, world, &at)),
        }
    }
    if dice.chance(60) {
        dice.shuffle(&mut calls);
    }
    calls.splice(0..0, first);
    if dice.chance(20) {
        let whole = base.trim_end_matches('/');
        let to = *dice.pick(&["n", "sub/n", "k2", ".git", "sub/.git"]);
        calls.push(shift(if whole.is_empty() { "d" } else { whole }, to));
    }
    calls
}

fn bare_then_files(dice: &mut Dice, world: &World) -> Vec<Call> {
    let at = *dice.pick(&["b", "d", "new", "sub", "."]);
    let mut calls = vec![call("git__git_init", json!({"path": at, "bare": true}))];
    for part in ["config", "hooks/post-index-change", "commondir"] {
        if dice.chance(60) {
            calls.push(write(dice, world, &format!("{at}/{part}")));
        }
    }
    calls
}

fn common_directory(dice: &mut Dice, world: &World) -> Vec<Call> {
    let mut calls = vec![make("d/objects"), make("d/refs"), write(dice, world, "d/config")];
    let pointer = *dice.pick(&[".git/commondir", "sub/.git/commondir", "d/commondir"]);
    calls.push(write(dice, world, pointer));
    calls
}

fn directory_that_moves(dice: &mut Dice, world: &World) -> Vec<Call> {
    let names = ["pre-commit", "post-index-change", "config", "HEAD", "tasks.json", "f.sh", "x.sh"];
    let mut calls = vec![make("k")];
    for _ in 0..dice.between(1, 3) {
        let name = *dice.pick(&names);
        calls.push(write(dice, world, &format!("k/{name}")));
    }
    let to = *dice.pick(&[
        ".git/hooks",
        ".githooks",
        ".vscode",
        "sub/.git",
        "tools",
        "d",
        ".husky",
        "sub",
    ]);
    if dice.chance(40) {
        calls.push(shift(to, "old"));
    }
    calls.push(shift("k", to));
    calls
}

fn named_by_the_user(dice: &mut Dice, world: &World) -> Vec<Call> {
    let mut calls = Vec::new();
    for tree in &world.trees {
        for named in &tree.named {
            let base = if tree.at.is_empty() { String::new() } else { format!("{}/", tree.at) };
            let at = match *named {
                ".githooks" => {
                    format!("{base}.githooks/{}", dice.pick(&["pre-commit", "post-index-change"]))
                }
                named => format!("{base}{named}"),
            };
            match dice.below(3) {
                0 => calls.push(write(dice, world, &at)),
                1 => calls.extend([write(dice, world, "aside"), shift("aside", &at)]),
                _ => {
                    let gone = call("filesystem__delete_file", json!({"path": at}));
                    calls.extend([gone, write(dice, world, &at)]);
                }
            }
        }
    }
    calls
}

fn history_then_tree(dice: &mut Dice, world: &World) -> Vec<Call> {
    let at = repository(dice, world);
    let git = |tool, mut arguments: Value| {
        if let Some(arguments) = arguments.as_object_mut() {
            arguments.insert("path".to_owned(), json!(at));
        }
        call(tool, arguments)
    };
    let branch = *dice.pick(&["b0", "b1"]);
    let mut calls = Vec::new();
    for back in ["~2", "~1", ""] {
        let commit = format!("{branch}{back}");
        calls.push(match dice.below(4) {
            0 => {
                git("git__git_reset", json!({"mode": "hard", "target": commit, "confirmed": true}))
            }
            1 => git("git__git_checkout", json!({"target": commit, "force": true})),
            2 => git("git__git_cherry_pick", json!({"commits": [commit]})),
            _ => git("git__git_merge", json!({"branch": commit})),
        });
    }
    calls
}

fn stash_there_and_back(dice: &mut Dice, world: &World) -> Vec<Call> {
    let at = repository(dice, world);
    let commit = revision(dice);
    vec![
        call("git__git_checkout", json!({"path": at, "target": commit, "force": true})),
        call("git__git_reset", json!({"path": at, "mode": "soft", "target": "main"})),
        call("git__git_stash", json!({"path": at, "mode": "push", "includeUntracked": true})),
        call("git__git_reset", json!({"path": at, "mode": "mixed", "target": commit})),
        call("git__git_stash", json!({"path": at, "mode": dice.pick(&["pop", "apply"])})),
    ]
}
