//! What comes to another place than where it was judged: by a directory that git takes for renamed, by a
//! remote in the workspace, by a link into packages, with a directory that is moved, by two sessions at once.

use std::thread;

use ic_testkit::Proxy;
use ic_testkit::attack::calls::Call;
use ic_testkit::attack::world::World;
use serde_json::{Value, json};

use super::settings::append;
use super::{Attack, Step, delete, git, make, shift, step, write};

/// A project with a directory of packages.
fn with_packages(world: &mut World) {
    world.add_project("", &[]);
    for name in ["a", "b"] {
        world.write(&format!("vendor/p/{name}.c"), &format!("int {name};\n").repeat(20));
    }
    let top = world.workspace();
    world.user.git_well(&top, &["add", "--all"]);
    world.user.git_well(&top, &["commit", "--quiet", "--message", "packages"]);
}

fn checkout(target: &str, is_new: bool) -> Call {
    git("git__git_checkout", json!({"target": target, "createBranch": is_new}))
}

fn commit_all() -> [Call; 2] {
    [git("git__git_add", json!({"files": ["."]})), git("git__git_commit", json!({"message": "m"}))]
}

/// One branch adds a listed name to the packages, where that is free, and the other moves the directory.
fn both_sides(world: &World, is_moved_first: bool) -> Vec<Call> {
    let script = world.canary.script("renamed");
    let adds = [checkout("f", true), write("vendor/p/.envrc", &script)];
    let moves = [checkout("m", true), shift("vendor/p", "pp")];
    let (first, second) = if is_moved_first { (moves, adds) } else { (adds, moves) };
    let mut calls = first.to_vec();
    calls.extend(commit_all());
    calls.push(checkout("main", false));
    calls.extend(second);
    calls.extend(commit_all());
    calls
}

#[test]
fn by_a_directory_that_git_takes_for_renamed() {
    let ways: [&[Step]; 4] = [
        &[step(&["checkout", "-f", "m"]), step(&["merge", "-m", "x", "f"])],
        &[step(&["checkout", "-f", "m"]), step(&["cherry-pick", "f"])],
        &[step(&["checkout", "-f", "f"]), step(&["rebase", "m"])],
        &[step(&["checkout", "-f", "m"]), step(&["pull", "--no-rebase", "--no-edit", ".", "f"])],
    ];
    for (n, steps) in ways.iter().enumerate() {
        for is_moved_first in [false, true] {
            eprintln!("way {n}, moved first: {is_moved_first}");
            let calls = |world: &World| both_sides(world, is_moved_first);
            let attack = Attack { prepare: &with_packages, calls: &calls, steps, runs: false };
            attack.check(&format!("{n}, moved first: {is_moved_first}"));
        }
    }
}

/// The listed name is put aside, the directory is moved, and the user brings it back.
#[test]
fn by_what_was_put_aside_before_a_directory_was_moved() {
    let calls = |world: &World| {
        let mut calls = vec![
            write("vendor/p/.envrc", &world.canary.script("aside")),
            git("git__git_add", json!({"files": ["vendor/p/.envrc"]})),
            git("git__git_stash", json!({"mode": "push"})),
            shift("vendor/p", "pp"),
        ];
        calls.extend(commit_all());
        calls
    };
    let steps = [step(&["stash", "pop"])];
    Attack { prepare: &with_packages, calls: &calls, steps: &steps, runs: false }.check("aside");
}

/// What people do with packages and directories every day asks nothing; a listed name among the packages is
/// free where it lies, and asks when it is taken into the repository.
#[test]
fn packages_are_committed_and_directories_renamed_without_a_question() {
    let mut world = super::world();
    with_packages(&mut world);
    let mut proxy = start(&world);
    let mut calls = vec![
        make("vendor/q"),
        make("lib"),
        write("vendor/q/q.c", "int q;\n"),
        write("lib/x.c", "x\n"),
    ];
    calls.extend(commit_all());
    calls.push(checkout("other", true));
    calls.extend([shift("lib", "library"), shift("vendor/q", "vendor/r"), delete("vendor/p/a.c")]);
    calls.extend(commit_all());
    calls.extend([checkout("main", false), write("vendor/q/q.c", "int r;\n")]);
    calls.extend(commit_all());
    calls.extend([make("vendor/q/.vscode"), write("vendor/q/.vscode/settings.json", "{}\n")]);
    for call in calls {
        let answer = proxy.call(call.tool, &call.arguments);
        assert!(is_good(&answer.json()), "{call}: {}", answer.text());
    }
    for call in [
        git("git__git_add", json!({"files": ["."]})),
        git("git__git_commit", json!({"message": "m", "filesToStage": ["vendor"]})),
        git("git__git_stash", json!({"mode": "push", "includeUntracked": true})),
    ] {
        let answer = proxy.call(call.tool, &call.arguments);
        assert!(!is_good(&answer.json()), "{call}: {}", answer.text());
    }
    proxy.finish();
}

/// The user pulls from a repository in the workspace, and the pulling one names a program.
#[test]
fn by_a_remote_in_the_workspace() {
    let prepare = |world: &mut World| {
        world.add_project("up", &[]);
        let top = world.workspace();
        world.write("up/tools/ed.sh", "exit 1\n");
        world.user.git_well(&top.join("up"), &["add", "--all"]);
        world.user.git_well(&top.join("up"), &["commit", "--quiet", "--message", "tools"]);
        world.user.git_well(&top, &["clone", "--quiet", "up", "main"]);
        append(world, "work/main/.git/config", "[core]\n\tfsmonitor = sh tools/ed.sh\n");
    };
    let calls = |world: &World| {
        let add = json!({"path": "up", "files": ["."]});
        vec![
            write("up/tools/ed.sh", &world.canary.script("pulled")),
            git("git__git_add", add),
            git("git__git_commit", json!({"path": "up", "message": "m"})),
        ]
    };
    let at = "main";
    let steps = [
        Step { at, words: &["pull", "--quiet"], input: "" },
        Step { at, words: &["status"], input: "" },
    ];
    Attack { prepare: &prepare, calls: &calls, steps: &steps, runs: true }.check("pulled");
}

/// A link leads into packages, where names are free; the user finds them where the link is.
#[test]
fn by_a_link_into_packages() {
    let prepare = |world: &mut World| {
        world.add_project("", &[]);
        world.write("node_modules/theme/index.js", "1\n");
        world.place.link("work/site", "node_modules/theme");
    };
    let mut world = super::world();
    prepare(&mut world);
    let mut proxy = start(&world);
    for (path, is_free) in
        [("site/.envrc", false), ("site/index.js", true), ("node_modules/theme/.npmrc", true)]
    {
        let call = write(path, "a=b\n");
        let answer = proxy.call(call.tool, &call.arguments);
        assert_eq!(is_good(&answer.json()), is_free, "{path}: {}", answer.text());
    }
    proxy.finish();
}

/// A setting names a file in a directory that only the shell knows; it comes with a directory.
#[test]
fn by_a_directory_that_is_moved_to_where_a_pattern_looks() {
    let prepare = |world: &mut World| {
        world.add_project("r", &[]);
        append(world, "work/r/.git/config", "[core]\n\tfsmonitor = sh $(printf %s l i b)/fs.sh\n");
    };
    let calls = |world: &World| {
        let script = world.canary.script("moved");
        vec![make("stage"), write("stage/fs.sh", &script), shift("stage", "r/lib")]
    };
    let steps = [Step { at: "r", words: &["status"], input: "" }];
    Attack { prepare: &prepare, calls: &calls, steps: &steps, runs: true }.check("moved");
}

/// One session moves a directory while another writes into it: what is judged apart is done apart.
#[test]
fn two_sessions_on_one_workspace_change_files_one_after_the_other() {
    let mut world = super::world();
    world.add_project("", &[]);
    let [mut one, mut other] = [0, 1].map(|_| start(&world));
    for n in 0..20 {
        for call in [make(&format!("vendor/d{n}")), write(&format!("vendor/d{n}/k"), "k\n")] {
            assert!(is_good(&one.call(call.tool, &call.arguments).json()), "{call}");
        }
        let moved = shift(&format!("vendor/d{n}"), &format!("p{n}"));
        let written = write(&format!("vendor/d{n}/.envrc"), "a=b\n");
        thread::scope(|scope| {
            scope.spawn(|| one.call(moved.tool, &moved.arguments));
            scope.spawn(|| other.call(written.tool, &written.arguments));
        });
        let arrived = world.workspace().join(format!("p{n}/.envrc"));
        assert!(!arrived.exists(), "pair {n}: a listed name came along unasked");
    }
    one.finish();
    other.finish();
}

fn start(world: &World) -> Proxy {
    let flags = super::coding(world);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut proxy = Proxy::start(&world.place, &flags);
    proxy.initialize();
    proxy
}

fn is_good(answer: &Value) -> bool {
    answer.get("result").is_some() && answer.pointer("/result/isError") != Some(&json!(true))
}
