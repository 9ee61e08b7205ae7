//! Classes that a review found: calls side by side, shapes by way of the index, directories that move above
//! a name, settings without a repository, working trees that hide among packages.

use ic_testkit::Proxy;
use ic_testkit::attack::world::{HABITS, World};
use serde_json::{Value, json};

use super::settings::append;
use super::{Attack, Step, delete, git, make, shift, write};

const GLOBAL: &str = "home/.gitconfig";

/// Two calls, each of which is free, are made at once, and would make a repository together.
#[test]
fn calls_side_by_side_do_not_make_a_repository_together() {
    const N_TRIES: usize = 24;
    let mut world = super::world();
    world.add_project("", &[]);
    let config = world.canary.shape_config("together");
    for nth in 0..N_TRIES {
        world.write(&format!("s{nth}/objects/x"), "");
        world.write(&format!("s{nth}/config"), &config);
    }
    let workspace = world.workspace();
    let flags = ["--policy", "coding", "--workspace", workspace.to_str().unwrap()];
    let mut proxy = Proxy::start(&world.place, &flags);
    proxy.initialize();
    for nth in 0..N_TRIES {
        let at = |name: &str| format!("s{nth}/{name}");
        let head = json!({"path": at("HEAD"), "content": "ref: refs/heads/main\n"});
        let refs = json!({"path": at("refs")});
        let ids = [
            proxy.ask_call("filesystem__write_file", &head),
            proxy.ask_call("filesystem__create_directory", &refs),
        ];
        let is_good = |answer: Value| answer.pointer("/result/isError") != Some(&json!(true));
        let n_served = ids.iter().filter(|id| is_good(proxy.answer(id).json())).count();
        assert_eq!(n_served, 1, "{nth}");
        let [head, refs] = ["HEAD", "refs"].map(|name| workspace.join(at(name)).exists());
        assert!(!(head && refs), "{nth}");
        world.user.look_in(&workspace.join(format!("s{nth}")));
    }
    proxy.finish();
    assert_eq!(world.canary.heard(), None);
    // The control: both parts, and the user's git obeys.
    world.write("s0/HEAD", "ref: refs/heads/main\n");
    world.write("s0/refs/x", "");
    world.user.look_in(&workspace.join("s0"));
    assert!(world.canary.heard().is_some(), "the control is silent");
}

/// Each part is staged and taken away again; the index has all of them in the end.
#[test]
fn a_shape_is_not_gathered_in_the_index() {
    let calls = |world: &World| {
        let config = world.canary.shape_config("index");
        let parts = [
            ("d/HEAD", "ref: refs/heads/main\n"),
            ("d/objects/x", "x"),
            ("d/config", config.as_str()),
            ("d/refs/x", "x"),
        ];
        let mut calls = vec![make("d")];
        for (path, text) in parts {
            let (directory, _) = path.rsplit_once('/').unwrap();
            calls.extend([make(directory), write(path, text)]);
            calls.push(git("git__git_add", json!({"files": [path], "force": true})));
            calls.push(delete(path));
            if directory != "d" {
                calls.push(shift(directory, &format!("gone-{}", directory.replace('/', "-"))));
            }
        }
        calls
    };
    let project = |world: &mut World| world.add_project("", &[]);
    let steps = [super::step(&["restore", "."]), Step { at: "d", words: &["status"], input: "" }];
    let attack = Attack { prepare: &project, calls: &calls, steps: &steps, runs: true };
    attack.check("by the user's restore");
    let calls = |world: &World| {
        let mut calls = calls(world);
        let target = json!({"target": "HEAD", "paths": ["d"]});
        calls.push(git("git__git_checkout", target));
        calls
    };
    let attack = Attack { prepare: &project, calls: &calls, steps: &steps, runs: true };
    attack.check("by checkout");
}

/// One part is in a commit, on another branch or in a stash, the others are on the disk, and the user's own
/// git brings them together.
#[test]
fn a_shape_is_not_completed_by_the_users_git() {
    let head = || write("d/HEAD", "ref: refs/heads/main\n");
    let add = || git("git__git_add", json!({"files": ["."]}));
    let commit = || git("git__git_commit", json!({"message": "one"}));
    let rest = |world: &World| {
        let config = world.canary.shape_config("completed");
        vec![write("d/config", &config), make("d/objects"), make("d/refs")]
    };
    let project = |world: &mut World| world.add_project("", &[]);
    let below = || Step { at: "d", words: &["status"], input: "" };
    let committed = |world: &World| {
        let mut calls = vec![make("d"), head(), add(), commit(), delete("d/HEAD")];
        calls.extend(rest(world));
        calls
    };
    for words in [&["restore", "."][..], &["checkout", "."], &["reset", "--hard"], &["stash"]] {
        let steps = [super::step(words), below()];
        let attack = Attack { prepare: &project, calls: &committed, steps: &steps, runs: true };
        attack.check(&format!("committed, then {words:?}"));
    }
    let stashed = |world: &World| {
        let push = json!({"action": "push", "includeUntracked": true});
        let mut calls = vec![make("d"), head(), git("git__git_stash", push)];
        calls.extend([make("d")]);
        calls.extend(rest(world));
        calls
    };
    let steps = [super::step(&["stash", "pop"]), below()];
    Attack { prepare: &project, calls: &stashed, steps: &steps, runs: true }.check("stashed");
}

/// A directory that was filled elsewhere comes to stand above what a setting names.
#[test]
fn a_directory_is_not_moved_above_a_configured_name() {
    for name in ["a/b/run.sh", "a/run.sh"] {
        let prepare = |world: &mut World| {
            world.add_project("", &[]);
            append(world, GLOBAL, &format!("[alias]\n\tx = !sh {name}\n"));
        };
        let calls = |world: &World| {
            let aside = name.replacen('a', "k", 1);
            let (directory, _) = aside.rsplit_once('/').unwrap();
            let script = world.canary.script("moved");
            vec![make(directory), write(&aside, &script), shift("k", "a")]
        };
        Attack { prepare: &prepare, calls: &calls, steps: &[], runs: true }.check(name);
    }
}

/// Aliases of the user's run wherever the user is.
#[test]
fn settings_of_the_user_count_without_a_repository() {
    for (setting, path) in [
        ("[alias]\n\tx = !sh run.sh\n", "run.sh"),
        ("[alias]\n\tx = !sh ./tools/run.sh\n", "tools/run.sh"),
    ] {
        let prepare = |world: &mut World| {
            world.write("tools/.keep", "");
            append(world, GLOBAL, setting);
        };
        let calls = |world: &World| vec![write(path, &world.canary.script("alone"))];
        Attack { prepare: &prepare, calls: &calls, steps: &[], runs: true }.check(setting);
    }
}

/// A working tree of the user's that lies in a directory of packages is a working tree.
#[test]
fn a_working_tree_among_packages_is_guarded_as_any_other() {
    for at in ["node_modules/pkg", "vendor/pkg", "target/x"] {
        let prepare = |world: &mut World| {
            world.add_project("", &[]);
            world.add_project(at, &[HABITS[0], HABITS[2]]);
        };
        let words: &[&str] = &["commit", "--allow-empty", "-m", "mine"];
        for name in [".githooks/pre-commit", "tools/fsm.sh"] {
            let calls = |world: &World| {
                vec![write(&format!("{at}/{name}"), &world.canary.script("packages"))]
            };
            let steps = [Step { at, words, input: "" }];
            let attack = Attack { prepare: &prepare, calls: &calls, steps: &steps, runs: true };
            attack.check(&format!("{at}, {name}"));
        }
    }
}

/// Words of git's own commands are not programs: an alias for them makes nothing ask.
#[test]
fn an_alias_for_a_command_of_git_s_makes_nothing_ask() {
    let mut world = super::world();
    world.add_project("", &[]);
    append(&world, GLOBAL, "[alias]\n\tlg = !git log src\n\tl = log --oneline tools docs\n");
    append(
        &world,
        GLOBAL,
        "\tunstage = reset HEAD --\n\tgone = \"!git branch | xargs git branch -D\"\n",
    );
    world.write("docs/a.md", "mine\n");
    let flags = super::coding(&world);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let calls = [
        write("src/a.rs", "// new\n"),
        write("tools/x.sh", "# new\n"),
        write("docs/a.md", "new\n"),
    ];
    let answers = super::through_the_proxy(&world, &flags, &calls);
    assert!(answers.iter().all(|it| it == super::SERVED), "{answers:#?}");
}

/// A listed file of the user's that is in no commit is staged, and would go with what is put aside.
#[test]
fn a_listed_file_in_no_commit_is_not_staged_and_taken_away() {
    let prepare = |world: &mut World| {
        world.add_project("", &[]);
        world.write(".mcp.json", "{}\n");
        world.write("src/new.rs", "// mine\n");
    };
    let add = || git("git__git_add", json!({"files": ["."], "all": true}));
    let stash = |_: &World| vec![add(), git("git__git_stash", json!({"mode": "push"}))];
    Attack { prepare: &prepare, calls: &stash, steps: &[], runs: false }.check("stash");
    let hard = json!({"mode": "hard", "target": "HEAD", "confirmed": true});
    let reset = |_: &World| vec![add(), git("git__git_reset", hard.clone())];
    Attack { prepare: &prepare, calls: &reset, steps: &[], runs: false }.check("reset");
}
