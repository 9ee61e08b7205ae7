//! What an agent does every day in a workspace under `coding`: none of it needs approval.
//!
//! Nobody is there to approve anything, so a call that asks fails the test.

use std::path::Path;

use ic_testkit::Proxy;
use ic_testkit::attack::world::World;
use serde_json::{Value, json};

use super::settings::append;

/// How many files one `git_add` takes in.
const N_FILES: usize = 2_000;

/// A project as people have them: with settings of their editor, CI and attributes, and some branches.
fn project() -> World {
    let world = super::world();
    for (name, text) in [
        ("README.md", "# A project\n"),
        ("Makefile", "all:\n\tcargo build\n"),
        ("package.json", "{\"name\": \"a\"}\n"),
        ("Cargo.toml", "[package]\nname = \"a\"\n"),
        ("build.rs", "fn main() {}\n"),
        ("conftest.py", "import pytest\n"),
        ("src/lib.rs", "pub fn one() {}\n"),
        (".gitignore", "*.log\n"),
        (".gitattributes", "*.rs text\n"),
        (".github/workflows/ci.yml", "on: push\n"),
        (".vscode/settings.json", "{}\n"),
    ] {
        world.write(name, text);
    }
    let git = |words: &[&str]| world.user.git_well(&world.workspace(), words);
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "first"]);
    for branch in ["feature", "topic", "picked"] {
        git(&["checkout", "-q", "-b", branch, "main"]);
        world.write(&format!("src/{branch}.rs"), "pub fn two() {}\n");
        git(&["add", "-A"]);
        git(&["commit", "-q", "-m", branch]);
    }
    git(&["checkout", "-q", "main"]);
    for number in 0..N_FILES {
        world.write(&format!("many/{}/{number}.txt", number % 40), "x\n");
    }
    world
}

/// A call on files.
fn file(tool: &str, arguments: Value) -> (String, Value) {
    (format!("filesystem__{tool}"), arguments)
}

/// A call on the repository at the top.
fn git(tool: &str, arguments: Value) -> (String, Value) {
    git_in(".", tool, arguments)
}

fn git_in(path: &str, tool: &str, mut arguments: Value) -> (String, Value) {
    arguments["path"] = json!(path);
    (format!("git__git_{tool}"), arguments)
}

fn write(path: &str) -> (String, Value) {
    file("write_file", json!({"path": path, "content": "new\n"}))
}

fn edit(path: &str, old: &str, new: &str) -> (String, Value) {
    file("edit_file", json!({"path": path, "edits": [{"oldText": old, "newText": new}]}))
}

fn shift(source: &str, destination: &str) -> (String, Value) {
    file("move_file", json!({"source": source, "destination": destination}))
}

fn files() -> Vec<(String, Value)> {
    vec![
        write("README.md"),
        edit("Makefile", "cargo build", "cargo test"),
        edit("package.json", "\"a\"", "\"b\""),
        edit("Cargo.toml", "\"a\"", "\"b\""),
        edit("build.rs", "{}", "{ println!(); }"),
        edit("conftest.py", "import pytest", "import pytest, os"),
        write("src/main.rs"),
        edit("src/lib.rs", "one", "uno"),
        file("create_directory", json!({"path": "docs"})),
        write("docs/head"),
        write("docs/config"),
        file("create_directory", json!({"path": "objects"})),
        write("objects/cube.obj"),
        file("create_directory", json!({"path": "data/refs"})),
        write("data/refs/list.txt"),
        file("create_directory", json!({"path": "scripts"})),
        write("scripts/deploy.sh"),
        file("create_directory", json!({"path": "hooks"})),
        write("hooks/useState.ts"),
        write(".env.example"),
        write(".gitignore"),
        file("create_directory", json!({"path": ".github/ISSUE_TEMPLATE"})),
        write(".github/ISSUE_TEMPLATE/bug.md"),
        write(".github/CODEOWNERS"),
        file("create_directory", json!({"path": "a/b/c"})),
        shift("a", "z"),
        shift("docs", "manual"),
        shift("hooks/useState.ts", "src/useState.ts"),
        file("delete_file", json!({"path": "src/useState.ts"})),
        file("read_text_file", json!({"path": ".github/workflows/ci.yml"})),
        file("directory_tree", json!({"path": "src"})),
    ]
}

fn history() -> Vec<(String, Value)> {
    vec![
        git("status", json!({})),
        git("diff", json!({})),
        git("add", json!({"files": ["src/main.rs", "README.md"]})),
        git("commit", json!({"message": "by the agent"})),
        git("add", json!({"files": ["."], "all": true})),
        git("commit", json!({"message": "everything"})),
        git("log", json!({"maxCount": 3, "patch": true})),
        git("show", json!({"object": "HEAD"})),
        git("branch", json!({"operation": "create", "name": "work"})),
        git("branch", json!({})),
        git("checkout", json!({"target": "work"})),
        write("src/work.rs"),
        git("commit", json!({"message": "work", "filesToStage": ["src/work.rs"]})),
        git("checkout", json!({"target": "main"})),
        git("merge", json!({"branch": "feature", "noFastForward": true})),
        git("merge", json!({"branch": "work"})),
        git("cherry_pick", json!({"commits": ["picked"]})),
        git("checkout", json!({"target": "topic"})),
        git("rebase", json!({"upstream": "main"})),
        git("checkout", json!({"target": "main"})),
        write("README.md"),
        write("src/untracked.rs"),
        git("stash", json!({"mode": "push", "includeUntracked": true})),
        git("stash", json!({"mode": "list"})),
        git("stash", json!({"mode": "pop"})),
        git("checkout", json!({"target": "main", "paths": ["README.md"]})),
        git("tag", json!({"mode": "create", "tagName": "v1"})),
        git("tag", json!({})),
        git("reset", json!({"mode": "mixed", "target": "HEAD"})),
        git("reset", json!({"mode": "soft", "target": "HEAD~1"})),
        git("commit", json!({"message": "once more", "allowEmpty": true})),
        git("reset", json!({"mode": "hard", "target": "HEAD", "confirmed": true})),
    ]
}

fn around() -> Vec<(String, Value)> {
    let add = json!({"mode": "add", "worktreePath": "trees/one", "branch": "one"});
    vec![
        git("worktree", add),
        write("trees/one/src/one.rs"),
        git_in("trees/one", "commit", json!({"message": "one", "filesToStage": ["src/one.rs"]})),
        git_in("trees/one", "checkout", json!({"target": "feature"})),
        git("worktree", json!({})),
        git_in("trees/one", "checkout", json!({"target": "one"})),
        git("clean", json!({"dryRun": true})),
        git("clean", json!({"force": true})),
        write("junk.tmp"),
        file("delete_file", json!({"path": "junk.tmp"})),
        git("blame", json!({"file": "README.md"})),
        git("reflog", json!({})),
        git("remote", json!({})),
        git("branch", json!({"operation": "delete", "name": "work"})),
        git("checkout", json!({"target": "next", "createBranch": true})),
        git("checkout", json!({"target": "feature"})),
        git("checkout", json!({"target": "main"})),
        git("set_working_dir", json!({})),
        git_in("playground", "init", json!({})),
        write("playground/a.txt"),
        git_in("playground", "commit", json!({"message": "a", "filesToStage": ["a.txt"]})),
        git_in("playground", "status", json!({})),
    ]
}

#[test]
fn everyday_calls_need_no_approval() {
    let world = project();
    let calls = [files(), history(), around()].concat();
    assert!(60 <= calls.len(), "{} calls", calls.len());
    let asked = ask(&world, &calls);
    assert!(asked.is_empty(), "{} of {}:\n{}", asked.len(), calls.len(), asked.join("\n"));
    let tracked = world.user.git_well(&world.workspace(), &["ls-files", "many"]);
    assert_eq!(tracked.lines().count(), N_FILES);
    assert!(!Path::new(&world.canary.mark()).exists());
}

/// Settings that people have make no ordinary name ask, whatever program they run.
#[test]
fn settings_that_people_have_make_no_ordinary_name_ask() {
    let world = project();
    let settings = "[diff \"json\"]\n\ttextconv = python3 -m json.tool\n\
                    [filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\trequired = true\n\
                    [credential]\n\thelper = !gh auth git-credential\n\
                    [core]\n\tpager = delta --line-numbers\n\
                    [difftool \"meld\"]\n\tcmd = meld \"$LOCAL\" \"$REMOTE\"\n\
                    [alias]\n\tserve = !python3 -m http.server\n\tlg = !git log src\n\
                    \tlint = !npm run lint\n\tbuild = !make all\n\
                    \tedit = \"!vim $(git diff --name-only)\"\n\
                    \tgone = \"!git branch -vv | awk '{print $1}' | xargs git branch -D\"\n\
                    \tpick = \"!git branch | fzf | xargs -I {} git checkout {}\"\n\
                    \teach = \"!f(){ for x in $(git ls-files); do echo $x; done; }; f\"\n";
    append(&world, "home/.gitconfig", settings);
    let names = ["README.md", "package.json", "Makefile", "conftest.py", "scripts/x.sh"];
    let mut calls: Vec<_> = names
        .into_iter()
        .chain(["src/refs/r.c", "src/objects/o.c"])
        .flat_map(|name| {
            let directory = name.rsplit_once('/').map(|(directory, _)| directory);
            let made = directory.map(|it| file("create_directory", json!({"path": it})));
            made.into_iter().chain([write(name)])
        })
        .collect();
    calls.push(file("create_directory", json!({"path": "docs"})));
    calls.push(git("add", json!({"files": ["src", "README.md"]})));
    let asked = ask(&world, &calls);
    assert!(asked.is_empty(), "{} of {}:\n{}", asked.len(), calls.len(), asked.join("\n"));
}

/// A working tree is taken away again, although settings would name things in it.
#[test]
fn a_working_tree_is_removed_whatever_settings_would_name_in_it() {
    let world = super::world();
    world.write("README.md", "# A project\n");
    let git_of_user = |words: &[&str]| world.user.git_well(&world.workspace(), words);
    git_of_user(&["init", "-q", "-b", "main"]);
    git_of_user(&["add", "-A"]);
    git_of_user(&["commit", "-q", "-m", "first"]);
    let settings =
        "[core]\n\teditor = sh tools/e.sh\n[diff \"x\"]\n\ttextconv = python3 -m json.tool\n";
    append(&world, "home/.gitconfig", settings);
    let calls = [
        git("worktree", json!({"mode": "add", "worktreePath": "tree", "branch": "tree"})),
        write("tree/new.txt"),
        git("worktree", json!({"mode": "remove", "worktreePath": "tree", "force": true})),
    ];
    let asked = ask(&world, &calls);
    assert!(asked.is_empty(), "{asked:?}");
}

/// Where no tool reads them, listed names are names: beneath dependencies, and CI below the top.
#[test]
fn listed_names_are_free_where_no_tool_reads_them() {
    let world = project();
    let calls = [
        write("node_modules/x/.npmrc"),
        write("node_modules/x/.vscode/settings.json"),
        write("vendor/y/.gitattributes"),
        write("target/debug/.cargo/config.toml"),
        write(".venv/lib/python3/site-packages/z/.pylintrc"),
        write("examples/z/.github/workflows/ci.yml"),
        write("examples/z/.gitlab-ci.yml"),
        write("docs/Jenkinsfile"),
    ];
    let directories = calls.iter().map(|(_, arguments)| {
        let (directory, _) = arguments["path"].as_str().unwrap().rsplit_once('/').unwrap();
        file("create_directory", json!({"path": directory}))
    });
    let calls: Vec<_> = directories.chain(calls.clone()).collect();
    let asked = ask(&world, &calls);
    assert!(asked.is_empty(), "{} of {}:\n{}", asked.len(), calls.len(), asked.join("\n"));
}

/// Makes the calls, and returns those that were not served.
fn ask(world: &World, calls: &[(String, Value)]) -> Vec<String> {
    let workspace = world.workspace();
    let workspace = workspace.to_str().unwrap();
    let mut proxy = Proxy::start(&world.place, &["--policy", "coding", "--workspace", workspace]);
    proxy.initialize();
    let mut asked = Vec::new();
    for (number, (tool, arguments)) in calls.iter().enumerate() {
        let message = proxy.call(tool, arguments);
        if message.result().get("isError") == Some(&json!(true)) {
            asked.push(format!("{number}: {tool} {arguments}: {}", message.text()));
        }
    }
    proxy.finish();
    asked
}
