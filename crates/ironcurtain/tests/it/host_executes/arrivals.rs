//! Names that the host executes, and that git tools bring from the commits of strangers.

use ic_testkit::attack::calls::Call;
use ic_testkit::attack::world::World;
use serde_json::{Value, json};

use super::{Attack, git, step};

/// A project with a stranger's branch `evil` that holds listed names.
fn prepare(world: &mut World) {
    world.add_project("", &[]);
    let script = world.canary.script("arrived");
    let attributes = format!("# {}\n*.txt filter=g\n", world.canary.mark());
    let listed = [
        (".envrc", script.as_str()),
        (".vscode/tasks.json", &script),
        (".gitattributes", &attributes),
        (".githooks/post-index-change", &script),
        ("tools/g.sh", &script),
        ("src/b.rs", "// a feature\n"),
        ("--abort", "a file like any other\n"),
    ];
    world.add_branch("", "evil", &listed);
}

/// A call that brings them, and where they then are.
#[track_caller]
fn check(tool: &'static str, arguments: &Value) {
    let calls = |_: &World| vec![git(tool, arguments.clone())];
    let attack = Attack { prepare: &prepare, calls: &calls, steps: &[], runs: false };
    attack.check(&format!("{tool} {arguments}"));
}

#[test]
fn by_checkout() {
    check("git__git_checkout", &json!({"target": "evil"}));
    check("git__git_checkout", &json!({"target": "evil", "paths": ["."]}));
    check("git__git_checkout", &json!({"target": "evil", "paths": [".envrc"]}));
    // A file that stays as it is does not hide the others.
    check("git__git_checkout", &json!({"target": "evil", "paths": ["README.md", "."]}));
    // A path is no option, whatever it is called.
    check("git__git_checkout", &json!({"target": "evil", "paths": ["./--abort", "."]}));
}

#[test]
fn by_reset() {
    check("git__git_reset", &json!({"mode": "hard", "target": "evil", "confirmed": true}));
    check("git__git_reset", &json!({"mode": "keep", "target": "evil"}));
    check("git__git_reset", &json!({"mode": "merge", "target": "evil"}));
}

/// Only the index changes; `git restore .` then writes what is in it.
#[test]
fn by_reset_of_the_index_and_the_users_restore() {
    check("git__git_reset", &json!({"mode": "mixed", "target": "evil"}));
}

#[test]
fn by_merge() {
    check("git__git_merge", &json!({"branch": "evil"}));
    check("git__git_merge", &json!({"branch": "evil", "squash": true}));
    check("git__git_merge", &json!({"branch": "evil", "noFastForward": true}));
}

#[test]
fn by_cherry_pick() {
    check("git__git_cherry_pick", &json!({"commits": ["evil"]}));
    check("git__git_cherry_pick", &json!({"commits": ["evil"], "noCommit": true}));
}

#[test]
fn by_rebase() {
    check("git__git_rebase", &json!({"upstream": "evil"}));
    // The branch is checked out first.
    let calls =
        |_: &World| vec![git("git__git_rebase", json!({"upstream": "main", "branch": "evil"}))];
    let control = |_: &World| vec![git("git__git_checkout", json!({"target": "evil"}))];
    Attack { prepare: &prepare, calls: &control, steps: &[], runs: false }.control(super::world());
    check_only_through_the_proxy(&calls);
}

/// The commits that a rebase has left to do are done by the user's `git rebase --continue`.
#[test]
fn by_what_a_rebase_has_left_to_do() {
    let prepare = |world: &mut World| {
        prepare(world);
        let top = world.workspace();
        let git = |words: &[&str]| world.user.git_well(&top, words);
        // `side` conflicts with `main` first, and brings the listed names afterwards.
        git(&["checkout", "--quiet", "-b", "side", "main"]);
        world.write("README.md", "theirs\n");
        git(&["commit", "--quiet", "--all", "--message", "conflict"]);
        git(&["cherry-pick", "evil"]);
        git(&["checkout", "--quiet", "-B", "main", "main~1"]);
        world.write("README.md", "mine\n");
        git(&["commit", "--quiet", "--all", "--message", "mine"]);
    };
    let calls = |_: &World| {
        vec![
            git("git__git_branch", json!({"operation": "create", "name": "own"})),
            git("git__git_rebase", json!({"upstream": "main", "branch": "side"})),
        ]
    };
    let control = |world: &World| {
        world.user.git(&world.workspace(), &["checkout", "--quiet", "side"]);
        vec![git("git__git_rebase", json!({"upstream": "main"}))]
    };
    let steps = [step(&["add", "README.md"]), step(&["rebase", "--continue"])];
    Attack { prepare: &prepare, calls: &control, steps: &steps, runs: false }
        .control(super::world());
    let world = Attack { prepare: &prepare, calls: &calls, steps: &steps, runs: false };
    let found = world.only_through_the_proxy();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn by_stash() {
    let prepare = |world: &mut World| {
        prepare(world);
        let top = world.workspace();
        let git = |words: &[&str]| world.user.git_well(&top, words);
        git(&["checkout", "--quiet", "evil", "--", ".envrc", ".vscode"]);
        git(&["stash", "--quiet"]);
    };
    for mode in ["apply", "pop"] {
        let calls = |_: &World| vec![git("git__git_stash", json!({"mode": mode}))];
        Attack { prepare: &prepare, calls: &calls, steps: &[], runs: false }.check(mode);
    }
}

#[test]
fn by_a_new_working_tree() {
    let add =
        |at: &str| json!({"mode": "add", "worktreePath": at, "commitish": "evil", "detach": true});
    check("git__git_worktree", &add("tree2"));
}

/// A stranger's attributes send the user's files through a program that the user's own settings name.
#[test]
fn attributes_that_name_a_filter_of_the_users() {
    let prepare = |world: &mut World| {
        prepare(world);
        global(world, "[filter \"g\"]\n\tclean = ./tools/g.sh\n");
    };
    for (tool, arguments) in [
        ("git__git_merge", json!({"branch": "evil"})),
        ("git__git_checkout", json!({"target": "evil"})),
        ("git__git_cherry_pick", json!({"commits": ["evil"]})),
    ] {
        let calls = |_: &World| vec![git(tool, arguments.clone())];
        let change = |world: &mut World| {
            prepare(world);
            world.write("new.txt", "mine\n");
        };
        Attack { prepare: &change, calls: &calls, steps: &[], runs: true }.check(tool);
    }
}

/// Hooks in the tree, where the user's settings for all repositories name their directory.
#[test]
fn hooks_that_the_users_settings_for_all_repositories_name() {
    let prepare = |world: &mut World| {
        world.add_project("", &[]);
        let hook = world.canary.script("hook");
        world.add_branch("", "evil", &[(".githooks/pre-commit", &hook)]);
        world.trees[0].named.push(".githooks");
        global(world, "[core]\n\thooksPath = .githooks\n");
        world.write("new.txt", "mine\n");
    };
    for (tool, arguments) in [
        ("git__git_merge", json!({"branch": "evil"})),
        ("git__git_reset", json!({"mode": "hard", "target": "evil", "confirmed": true})),
    ] {
        let calls = |_: &World| vec![git(tool, arguments.clone())];
        Attack { prepare: &prepare, calls: &calls, steps: &[], runs: true }.check(tool);
    }
}

/// The configuration of the repository around names hooks in one that lies in it, whose own is clean.
#[test]
fn hooks_of_the_repository_around() {
    let prepare = |world: &mut World| {
        world.add_project("", &[]);
        world.add_project("sub", &[]);
        let hook = world.canary.script("around");
        world.add_branch("sub", "evil", &[("checks/pre-commit", &hook)]);
        world.trees[0].named.push("sub/checks");
        let top = world.workspace();
        world.user.git_well(&top, &["config", "core.hooksPath", "sub/checks"]);
        world.write("new.txt", "mine\n");
    };
    for (tool, arguments) in [
        ("git__git_checkout", json!({"path": "sub", "target": "evil"})),
        ("git__git_merge", json!({"path": "sub", "branch": "evil"})),
    ] {
        let calls = |_: &World| vec![git(tool, arguments.clone())];
        Attack { prepare: &prepare, calls: &calls, steps: &[], runs: true }.check(tool);
    }
}

fn global(world: &World, text: &str) {
    let path = world.place.path("home/.gitconfig");
    let mut config = std::fs::read_to_string(&path).unwrap();
    config.push_str(text);
    std::fs::write(path, config).unwrap();
}

#[track_caller]
fn check_only_through_the_proxy(calls: &dyn Fn(&World) -> Vec<Call>) {
    let found =
        Attack { prepare: &prepare, calls, steps: &[], runs: false }.only_through_the_proxy();
    assert!(found.is_empty(), "{found:#?}");
}

/// The user's file is in no commit; once the agent has committed it, another commit takes it away.
#[test]
fn an_untracked_file_is_not_taken_away_by_way_of_a_commit() {
    let prepare = |world: &mut World| {
        world.add_project("", &[]);
        world.write(".npmrc", "registry=https://npm.example/\n");
    };
    for (tool, arguments) in [
        ("git__git_checkout", json!({"target": "main~1"})),
        ("git__git_checkout", json!({"target": "main~1", "force": true})),
        ("git__git_reset", json!({"mode": "hard", "target": "main~1", "confirmed": true})),
    ] {
        let calls = |_: &World| {
            vec![
                git("git__git_add", json!({"files": ["."], "all": true})),
                git("git__git_commit", json!({"message": "all of it"})),
                git(tool, arguments.clone()),
            ]
        };
        let attack = Attack { prepare: &prepare, calls: &calls, steps: &[], runs: false };
        attack.check(&format!("{tool} {arguments}"));
    }
}
