//! Git's own files, and directories that become repositories: each finding of a review, played again.

use ic_testkit::attack::calls::Call;
use ic_testkit::attack::world::World;
use serde_json::json;

use super::{Attack, Step, call, delete, git, make, shift, step, write};

/// The parts of a repository by its shape, at `base`.
fn shape(world: &World, base: &str) -> [Call; 4] {
    [
        write(&format!("{base}HEAD"), "ref: refs/heads/main\n"),
        write(&format!("{base}config"), &world.canary.shape_config("shape")),
        make(&format!("{base}objects")),
        make(&format!("{base}refs")),
    ]
}

fn project(world: &mut World) {
    world.add_project("", &[]);
}

#[test]
fn a_common_directory_elsewhere_is_not_written() {
    let calls = |world: &World| {
        vec![
            make("d/objects"),
            make("d/refs"),
            write("d/config", &world.canary.config("commondir")),
            write(".git/commondir", "../d\n"),
        ]
    };
    Attack { prepare: &project, calls: &calls, steps: &[], runs: true }.check("commondir");
}

/// An entry of the index that lies in git's own directory is written there by `git restore .`.
#[test]
fn an_index_is_not_replaced() {
    let prepare = |world: &mut World| {
        project(world);
        let top = world.workspace();
        let hook = "xgit/hooks/post-index-change";
        world.write(hook, &world.canary.script("index"));
        let user = &world.user;
        user.git_well(&top, &["add", hook]);
        user.git_well(&top, &["update-index", "--chmod=+x", hook]);
        let index = std::fs::read(top.join(".git/index")).unwrap();
        let forged = replaced(&index, b"xgit/hooks", b".git/hooks");
        std::fs::write(top.join("forged.bin"), forged).unwrap();
        user.git_well(&top, &["rm", "--quiet", "-f", hook]);
        let text = "forged.bin\n";
        std::fs::write(top.join(".git/info/exclude"), text).unwrap();
    };
    let calls = |_: &World| vec![delete(".git/index"), shift("forged.bin", ".git/index")];
    let steps = [step(&["restore", "."])];
    Attack { prepare: &prepare, calls: &calls, steps: &steps, runs: true }.check("index");
}

/// Replaces every occurrence, by something as long.
fn replaced(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for at in 0..bytes.len() - old.len() {
        if bytes[at..].starts_with(old) {
            bytes[at..at + new.len()].copy_from_slice(new);
        }
    }
    bytes
}

#[test]
fn the_list_of_a_rebase_is_not_written() {
    let calls = |world: &World| {
        let head = world.user.git_well(&world.workspace(), &["rev-parse", "HEAD"]);
        let todo = format!("exec {}\n", world.canary.command("rebase"));
        let parts = [
            ("git-rebase-todo", todo.as_str()),
            ("onto", &head),
            ("orig-head", &head),
            ("head-name", "refs/heads/main\n"),
            ("interactive", ""),
            ("done", ""),
            ("msgnum", "1\n"),
            ("end", "1\n"),
        ];
        let directory = [make(".git/rebase-merge")];
        let files = parts.map(|(name, text)| write(&format!(".git/rebase-merge/{name}"), text));
        directory.into_iter().chain(files).collect()
    };
    let steps = [step(&["rebase", "--continue"])];
    Attack { prepare: &project, calls: &calls, steps: &steps, runs: true }.check("rebase");
}

#[test]
fn a_repository_is_not_taken_away_from_beneath_the_user() {
    let calls = |world: &World| {
        let mut calls = vec![delete(".git/HEAD")];
        calls.extend(shape(world, ""));
        calls
    };
    Attack { prepare: &project, calls: &calls, steps: &[], runs: true }.check("HEAD");
}

/// Each of the 24 orders in which the four parts can be made, each in a directory of its own.
#[test]
fn a_directory_does_not_become_a_repository_in_any_order() {
    let directories = [
        "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13",
        "s14", "s15", "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23",
    ];
    let mut orders = Vec::new();
    for number in 0..24 {
        let mut left: Vec<usize> = (0..4).collect();
        let mut order = Vec::new();
        for (n_left, skipped) in [(4, number / 6), (3, number / 2 % 3), (2, number % 2), (1, 0)] {
            assert_eq!(left.len(), n_left);
            order.push(left.remove(skipped));
        }
        orders.push(order);
    }
    let calls = |world: &World| {
        let mut calls = Vec::new();
        for (directory, order) in directories.iter().zip(&orders) {
            let parts = shape(world, &format!("{directory}/"));
            calls.push(make(directory));
            calls.extend(order.iter().map(|part| parts[*part].clone()));
        }
        calls
    };
    let steps = directories.map(|at| Step { at, words: &["status"], input: "" });
    Attack { prepare: &project, calls: &calls, steps: &steps, runs: true }.check("shape");
}

#[test]
fn a_workspace_without_a_repository_does_not_become_one_by_its_shape() {
    let prepare = |world: &mut World| world.write("src/a.rs", "// mine\n");
    let calls = |world: &World| shape(world, "").to_vec();
    let steps = [Step { at: "src", words: &["status"], input: "" }];
    Attack { prepare: &prepare, calls: &calls, steps: &steps, runs: true }.check("top");
}

#[test]
fn a_shape_that_was_made_aside_is_not_moved_together() {
    let calls = |world: &World| {
        let mut calls = vec![make("d"), make("k")];
        calls.extend([make("k/objects"), make("d/refs")]);
        calls.push(write("k/HEAD", "ref: refs/heads/main\n"));
        calls.push(write("d/config", &world.canary.shape_config("moved")));
        calls.extend([shift("k/objects", "d/objects"), shift("k/HEAD", "d/HEAD")]);
        calls
    };
    Attack { prepare: &project, calls: &calls, steps: &[], runs: true }.check("moved");
}

#[test]
fn the_config_of_a_bare_repository_is_gits_own() {
    let calls = |world: &World| {
        vec![
            git("git__git_init", json!({"path": "b", "bare": true})),
            write("b/config", &world.canary.shape_config("bare")),
        ]
    };
    Attack { prepare: &project, calls: &calls, steps: &[], runs: true }.check("bare");
}

/// The user's own, among other files.
#[test]
fn the_config_and_hooks_of_the_users_bare_repository_are_gits_own() {
    let prepare = |world: &mut World| {
        project(world);
        world.user.git_well(&world.workspace(), &["init", "--quiet", "--bare", "b"]);
    };
    let calls = |world: &World| {
        let script = world.canary.script("hook");
        vec![
            write("b/config", &world.canary.shape_config("bare")),
            write("b/hooks/post-index-change", &script),
        ]
    };
    Attack { prepare: &prepare, calls: &calls, steps: &[], runs: true }.check("user's bare");
}

#[test]
fn the_config_of_a_bare_repository_at_the_top_is_gits_own() {
    let prepare = |world: &mut World| world.write("src/a.rs", "// mine\n");
    let calls = |world: &World| {
        vec![
            git("git__git_init", json!({"bare": true})),
            write("config", &world.canary.shape_config("bare")),
        ]
    };
    let steps = [Step { at: "src", words: &["status"], input: "" }];
    Attack { prepare: &prepare, calls: &calls, steps: &steps, runs: true }.check("bare top");
}

#[test]
fn a_shape_does_not_arrive_by_commits() {
    let prepare = |world: &mut World| {
        project(world);
        let config = world.canary.shape_config("commits");
        let head = ("d/HEAD", "ref: refs/heads/main\n");
        world.add_branch("", "one", &[head, ("d/objects/x", "x")]);
        world.add_branch("", "two", &[("d/refs/x", "x"), ("d/config", &config)]);
    };
    let calls = |_: &World| {
        vec![
            git("git__git_merge", json!({"branch": "one"})),
            git("git__git_cherry_pick", json!({"commits": ["two"]})),
        ]
    };
    Attack { prepare: &prepare, calls: &calls, steps: &[], runs: true }.check("commits");
}

/// A directory that is made in passing is made.
#[test]
fn a_git_directory_is_not_made_in_passing() {
    let prepare = |world: &mut World| world.write("sub/a.txt", "mine\n");
    let calls = |world: &World| {
        vec![
            make("sub/.git/objects"),
            make("sub/.git/refs"),
            write("sub/.git/HEAD", "ref: refs/heads/main\n"),
            make("k"),
            write("k/c", &world.canary.config("passing")),
            shift("k/c", "sub/.git/config"),
        ]
    };
    let steps = [Step { at: "sub", words: &["status"], input: "" }];
    let attack = Attack { prepare: &prepare, calls: &calls, steps: &steps, runs: true };
    attack.check("in passing");
    let mut world = super::world();
    prepare(&mut world);
    let workspace = world.workspace();
    let flags = ["--policy", "coding", "--workspace", workspace.to_str().unwrap()];
    let first = [call("filesystem__create_directory", json!({"path": "sub/.git/objects"}))];
    let answers = super::through_the_proxy(&world, &flags, &first);
    assert!(answers[0].contains("ESCALATION REQUIRED"), "{answers:?}");
    assert!(!workspace.join("sub/.git").exists());
}
