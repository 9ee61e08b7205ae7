//! Files that count for nothing by themselves, and get a meaning: by a repository or a working tree that is
//! made around or beside them, by a value that leads to them in a way that only a shell or git knows, by
//! commits that no branch has.

use ic_testkit::attack::calls::Call;
use ic_testkit::attack::world::World;
use serde_json::json;

use super::settings::append;
use super::{Attack, Step, git, make, shift, step, write};

fn in_tree(at: &'static str, words: &'static [&'static str]) -> Step {
    Step { at, words, input: "" }
}

/// A project whose user has this in the configuration; `CONFIG` of a repository, or the user's own.
fn project(file: &'static str, config: &'static str) -> impl Fn(&mut World) {
    move |world: &mut World| {
        world.add_project("", &[]);
        for name in ["tools/x", "sub/a.txt", "o/deep/k", "o/tools/x"] {
            world.write(name, "exit 1\n");
        }
        let top = world.workspace();
        world.user.git_well(&top, &["add", "--all"]);
        world.user.git_well(&top, &["commit", "--quiet", "--message", "tools"]);
        append(world, file, config);
    }
}

const OWN: &str = "work/.git/config";
const USERS: &str = "home/.gitconfig";

#[test]
fn by_a_repository_or_a_working_tree_that_is_made_around_or_beside_them() {
    let init = |path: &str| git("git__git_init", json!({"path": path}));
    let around = |world: &World| {
        let script = world.canary.script("around");
        vec![make("new/tools"), write("new/tools/x", &script), init("new")]
    };
    let users = project(USERS, "[core]\n\tfsmonitor = sh tools/x\n");
    let steps = [in_tree("new", &["status"])];
    Attack { prepare: &users, calls: &around, steps: &steps, runs: true }.check("around");
    let beside = |world: &World| {
        vec![make("d"), write("d/x.sh", &world.canary.script("beside")), init("d/new")]
    };
    let users = project(USERS, "[core]\n\tfsmonitor = sh ../x.sh\n");
    let steps = [in_tree("d/new", &["status"])];
    Attack { prepare: &users, calls: &beside, steps: &steps, runs: true }.check("beside");
    let tree = |world: &World| {
        let add =
            json!({"mode": "add", "worktreePath": "d/wt", "commitish": "HEAD", "detach": true});
        vec![
            make("d"),
            write("d/x.sh", &world.canary.script("tree")),
            git("git__git_worktree", add),
        ]
    };
    let steps = [in_tree("d/wt", &["status"])];
    for file in [USERS, OWN] {
        let prepare = project(file, "[core]\n\tfsmonitor = sh ../x.sh\n");
        Attack { prepare: &prepare, calls: &tree, steps: &steps, runs: true }.check("tree");
    }
}

#[test]
fn by_a_value_that_only_a_shell_or_git_understands() {
    let calls = |world: &World| vec![write("tools/x", &world.canary.script("open"))];
    let steps = [step(&["status"])];
    for config in [
        "[core]\n\tfsmonitor = sh ${HOME%/*}/work/tools/x\n",
        "[core]\n\tfsmonitor = sh $(dirname ~)/work/tools/x\n",
        "[core]\n\tfsmonitor = \"D=..; sh $HOME/$D/work/tools/x\"\n",
        "[core]\n\tfsmonitor = sh -c \\\"$(echo c2ggdG9vbHMveAo= | base64 -d)\\\"\n",
        "[core]\n\tfsmonitor = cd ~/.. && sh work/tools/x\n",
    ] {
        let prepare = project(OWN, config);
        Attack { prepare: &prepare, calls: &calls, steps: &steps, runs: true }.check(config);
    }
}

#[test]
fn by_a_tree_that_is_elsewhere_than_its_repository() {
    let prepare = |world: &mut World| {
        project(OWN, "")(world);
        world.add_project("cfg", &[]);
        append(
            world,
            "work/cfg/.git/config",
            "[core]\n\tworktree = ../..\n\tfsmonitor = sh tools/x\n",
        );
    };
    let calls = |world: &World| vec![write("tools/x", &world.canary.script("elsewhere"))];
    let steps = [in_tree("cfg", &["status"])];
    Attack { prepare: &prepare, calls: &calls, steps: &steps, runs: true }.check("elsewhere");
}

#[test]
fn by_a_directory_that_a_path_leaves_again() {
    let prepare = |world: &mut World| {
        project(OWN, "[core]\n\tfsmonitor = sh sub/../tools/x\n")(world);
        world.place.link("work/l", "o/deep");
    };
    let calls = |world: &World| {
        let script = world.canary.script("left");
        vec![write("o/tools/x", &script), shift("sub", "sub2"), shift("l", "sub")]
    };
    let steps = [step(&["status"])];
    Attack { prepare: &prepare, calls: &calls, steps: &steps, runs: true }.check("left");
}

/// The commit that moves the directory is on no branch when the name is added.
#[test]
fn by_a_commit_that_no_branch_has() {
    let prepare = |world: &mut World| {
        project(OWN, "")(world);
        for name in ["a", "b"] {
            world.write(&format!("vendor/p/{name}.c"), &format!("int {name};\n").repeat(20));
        }
        let top = world.workspace();
        world.user.git_well(&top, &["add", "--all"]);
        world.user.git_well(&top, &["commit", "--quiet", "--message", "packages"]);
    };
    let all = || {
        [
            git("git__git_add", json!({"files": ["."]})),
            git("git__git_commit", json!({"message": "m"})),
        ]
    };
    let back = || {
        let back = json!({"mode": "hard", "target": "HEAD~1", "confirmed": true});
        git("git__git_reset", back)
    };
    let adds = |world: &World| write("vendor/p/.envrc", &world.canary.script("lost"));
    let moved_first = |world: &World| {
        let mut calls: Vec<Call> = vec![shift("vendor/p", "pp")];
        calls.extend(all());
        calls.extend([back(), adds(world)]);
        calls.extend(all());
        calls
    };
    let added_first = |world: &World| {
        let mut calls: Vec<Call> = vec![adds(world)];
        calls.extend(all());
        calls.extend([back(), shift("vendor/p", "pp")]);
        calls.extend(all());
        calls
    };
    let steps = [step(&["merge", "-m", "x", "HEAD@{2}"])];
    Attack { prepare: &prepare, calls: &moved_first, steps: &steps, runs: false }.check("moved");
    Attack { prepare: &prepare, calls: &added_first, steps: &steps, runs: false }.check("added");
}
