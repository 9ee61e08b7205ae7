//! Directories that a branch has elsewhere, and links that it has under other names: git carries along what is new.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use ic_testkit::Proxy;
use ic_testkit::attack::calls::Call;
use ic_testkit::attack::world::World;
use serde_json::json;

use super::carried::{
    ONE, PLANTED, SAMPLE, TWO, Trick, Words, add, commit, commit_of_user, switch, user,
};
use super::{coding, git, make, shift, world, write};

/// What must not come to the top of a tree.
const MODULE: &str = "src/argparse.py";

/// A branch `dev` of the user's has the files of `old` in `new`.
fn renamed(world: &World, old: &str, new: &str) {
    for (name, text) in [("README.md", ONE), ("b.md", TWO)] {
        world.write(&format!("{old}/{name}"), text);
    }
    commit_of_user(world);
    user(world, &["checkout", "-q", "-b", "dev"]);
    fs::create_dir_all(world.workspace().join(new)).unwrap();
    for name in ["README.md", "b.md"] {
        let to = Path::new(new).join(if new.is_empty() {
            "moved.".to_owned() + name
        } else {
            name.into()
        });
        user(world, &["mv", &format!("{old}/{name}"), to.to_str().unwrap()]);
    }
    user(world, &["commit", "-q", "-m", "moved"]);
    user(world, &["checkout", "-q", "main"]);
}

const MERGE: Words = &["-c", "merge.directoryRenames=true", "merge", "-m", "x", "main"];
const TO_DEV: &[Words] = &[&["checkout", "-q", "-f", "dev"], MERGE];
/// As git does it by itself: it stops, and the user goes on.
const BY_DEFAULT: &[Words] = &[
    &["checkout", "-q", "-f", "dev"],
    &["merge", "-m", "x", "main"],
    &["commit", "-a", "-m", "x"],
];

#[test]
fn a_new_file_in_a_directory_that_a_branch_has_elsewhere() {
    for (old, new, file, arrives) in [
        ("ci", ".github", "ci/workflows/b.yml", ".github/workflows/b.yml"),
        ("cargo", ".cargo", "cargo/config.toml", ".cargo/config.toml"),
        ("yarn", ".yarn", "yarn/releases/y.cjs", ".yarn/releases/y.cjs"),
        ("g", ".gitea", "g/workflows/b.yml", ".gitea/workflows/b.yml"),
        ("a/m", ".config", "a/m/mise/x", ".config/mise/x"),
        ("src", "", MODULE, "argparse.py"),
    ] {
        let (directory, _) = file.rsplit_once('/').unwrap();
        let beside = format!("{old}/n.txt");
        let calls = vec![
            make(directory),
            write(file, PLANTED),
            write(&beside, "n\n"),
            add(&["."]),
            commit(),
        ];
        for steps in [TO_DEV, BY_DEFAULT] {
            let prepare = |world: &World| renamed(world, old, new);
            let (prepare, calls) = (&prepare, calls.clone());
            Trick { prepare, calls, steps, file: arrives }.check(file);
        }
    }
}

fn with_sources(world: &World) {
    for (name, text) in [("src/m.md", ONE), ("src/n.md", TWO)] {
        world.write(name, text);
    }
    commit_of_user(world);
}

/// The agent moves the files of `src` to the top, on a branch of its own.
fn moved_by_agent(from: &str) -> Vec<Call> {
    let side = json!({"operation": "create", "name": "side", "startPoint": from});
    let moves = [shift("src/m.md", "m.md"), shift("src/n.md", "n.md")];
    [
        vec![git("git__git_branch", side), switch("side")],
        moves.to_vec(),
        saved(),
        vec![switch("main")],
    ]
    .concat()
}

fn saved() -> Vec<Call> {
    vec![add(&["."]), commit()]
}

const FROM_SIDE: &[Words] = &[&["checkout", "-q", "-f", "main"], &["merge", "-m", "x", "side"]];
const POPPED: &[Words] = &[&["checkout", "-q", "-f", "side"], &["stash", "pop"]];
const WAYS: [(&str, &[Words]); 3] = [
    ("merged", FROM_SIDE),
    ("rebased", &[&["checkout", "-q", "-f", "main"], &["rebase", "side"]]),
    ("picked", &[&["checkout", "-q", "-f", "side"], &["cherry-pick", "main"]]),
];

#[test]
fn both_branches_are_the_agent_s() {
    let (prepare, file): (super::carried::Prepare<'_>, _) = (&with_sources, "argparse.py");
    let new = || vec![write(MODULE, PLANTED)];
    for (name, steps) in WAYS {
        let calls = [moved_by_agent("main"), new(), saved()].concat();
        Trick { prepare, calls, steps, file }.check(name);
        // The other way round: the file was there first.
        let calls = [new(), saved(), moved_by_agent("main~1")].concat();
        Trick { prepare, calls, steps, file }.check(&format!("{name}, the file first"));
    }
    let aside = git("git__git_stash", json!({"mode": "push"}));
    let calls = [moved_by_agent("main"), new(), vec![add(&["."]), aside]].concat();
    Trick { prepare, calls, steps: POPPED, file }.check("put aside");
    // A directory that is only made after the branches parted, and a copy that stays.
    let early = [write("src2.txt", "x\n"), make("late"), write("late/a.md", SAMPLE)];
    let main =
        [early.to_vec(), saved(), vec![write("late/argparse.py", PLANTED)], saved()].concat();
    let side = json!({"operation": "create", "name": "side", "startPoint": "main"});
    let side = [git("git__git_branch", side), switch("side"), write("a.md", SAMPLE)];
    let calls = [side.to_vec(), saved(), vec![switch("main")], main].concat();
    let steps: &[Words] = &[&["checkout", "-q", "-f", "side"], &["cherry-pick", "main"]];
    Trick { prepare, calls, steps, file }.check("made after the branches parted");
}

/// Renamed directories in which nothing would count ask nothing, and neither do others.
#[test]
fn other_new_files_ask_nothing() {
    for (old, new, file) in [
        ("src", "lib", MODULE),
        ("docs", "", MODULE),
        ("src", "", "src/mine.py"),
        ("cargo", "rust", "cargo/config.toml"),
        ("ci", "build", "ci/workflows/b.yml"),
    ] {
        let world = started();
        world.write("src/keep.txt", "k\n");
        renamed(&world, old, new);
        let (directory, _) = file.rsplit_once('/').unwrap();
        let calls = [make(directory), write(file, "new\n"), add(&["."]), commit()];
        assert_eq!(asked(&world, &calls), [""; 0], "{old} to {new}: {file}");
    }
    // A tag from before a directory was made, with a file at the top that is gone.
    let world = started();
    world.write("setup.cfg", SAMPLE);
    commit_of_user(&world);
    user(&world, &["tag", "v1"]);
    user(&world, &["rm", "-q", "setup.cfg"]);
    with_sources(&world);
    let calls = [write("src/types.py", "t = 1\n"), add(&["."]), commit()];
    assert_eq!(asked(&world, &calls), [""; 0]);
}

fn started() -> World {
    let world = world();
    user(&world, &["init", "-q", "-b", "main"]);
    world.write("README.md", "r\n");
    commit_of_user(&world);
    world
}

fn start(world: &World) -> Proxy {
    let flags = coding(world);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut proxy = Proxy::start(&world.place, &flags);
    proxy.initialize();
    proxy
}

/// Makes the calls, and returns those that were not served.
fn asked(world: &World, calls: &[Call]) -> Vec<String> {
    let mut proxy = start(world);
    let asked = calls.iter().filter_map(|call| {
        let answer = proxy.call(call.tool, &call.arguments).json();
        let is_error = answer.pointer("/result/isError") == Some(&json!(true));
        is_error.then(|| format!("{call}: {answer}"))
    });
    let asked = asked.collect();
    proxy.finish();
    asked
}

fn link(world: &World, path: &str, target: &str) {
    let path = world.workspace().join(path);
    if path.is_symlink() {
        fs::remove_file(&path).unwrap();
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(target, path).unwrap();
}

/// A link: what `dev` of the user's renamed, how the agent turns it, what the user does, and where it is then.
struct Turned<'a> {
    prepare: &'a dyn Fn(&World),
    link: (&'a str, &'a str),
    is_aside: bool,
    steps: &'a [Words],
    arrives: &'a str,
}

impl Turned<'_> {
    /// Where nobody looks, the link comes to lead there; through the proxy the agent is asked.
    fn check(&self, name: &str) {
        let (path, target) = self.link;
        let last = if self.is_aside { &["stash"][..] } else { &["commit", "-q", "-m", "x"] };
        for is_looked_at in [false, true] {
            let world = started();
            (self.prepare)(&world);
            // Made by the shell, or by a server: they make links, ours do not.
            link(&world, path, target);
            if is_looked_at {
                let last = if self.is_aside {
                    git("git__git_stash", json!({"mode": "push"}))
                } else {
                    commit()
                };
                let asked = asked(&world, &[add(&["."]), last]);
                assert!(!asked.is_empty(), "{name}: nothing was asked");
                user(&world, &["reset", "-q"]);
                fs::remove_file(world.workspace().join(path)).unwrap();
            } else {
                user(&world, &["add", "-A"]);
                user(&world, last);
            }
            for step in self.steps {
                world.user.git(&world.workspace(), step);
            }
            let led = fs::read_link(world.workspace().join(self.arrives)).ok();
            let is_there = led.as_deref() == Some(Path::new(target));
            assert_eq!(is_there, !is_looked_at, "{name}: {led:?}");
        }
    }
}

#[test]
fn a_link_that_a_branch_has_under_a_name_that_counts() {
    let renamed = |from: &'static str, to: &'static str| {
        move |world: &World| {
            link(world, from, "conf/usual");
            commit_of_user(world);
            user(world, &["checkout", "-q", "-b", "dev"]);
            user(world, &["mv", from, to]);
            user(world, &["commit", "-q", "-m", "moved"]);
            user(world, &["checkout", "-q", "main"]);
        }
    };
    let steps: [(&str, &[Words], bool); 5] = [
        ("merged there", TO_DEV, false),
        ("merged here", &[&["merge", "-m", "x", "dev"]], false),
        ("rebased", &[&["rebase", "dev"]], false),
        ("picked", &[&["checkout", "-q", "-f", "dev"], &["cherry-pick", "main"]], false),
        ("put aside", &[&["checkout", "-q", "-f", "dev"], &["stash", "pop"]], true),
    ];
    let link = ("sample.exrc", "conf/evil");
    for (name, steps, is_aside) in steps {
        let prepare = renamed("sample.exrc", ".exrc");
        Turned { prepare: &prepare, link, is_aside, steps, arrives: ".exrc" }.check(name);
    }
    // What leads to a name that counts, and does not count itself.
    let prepare = renamed("settings", ".config");
    let link = ("settings", "evil");
    let (is_aside, steps, arrives) = (false, TO_DEV, ".config");
    Turned { prepare: &prepare, link, is_aside, steps, arrives }.check("a directory");
}

#[test]
fn a_link_that_leads_out_from_where_it_is_carried() {
    let prepare = |world: &World| {
        for (name, text) in [("deep/er/a.md", ONE), ("deep/er/b.md", TWO)] {
            world.write(name, text);
        }
        commit_of_user(world);
        user(world, &["checkout", "-q", "-b", "dev"]);
        for name in ["a.md", "b.md"] {
            user(world, &["mv", &format!("deep/er/{name}"), name]);
        }
        user(world, &["commit", "-q", "-m", "moved"]);
        user(world, &["checkout", "-q", "main"]);
    };
    let (link, arrives, is_aside) = (("deep/er/build", "../docs"), "build", false);
    Turned { prepare: &prepare, link, is_aside, steps: TO_DEV, arrives }.check("carried");
    // One that stays within from there is free.
    let world = started();
    prepare(&world);
    self::link(&world, "deep/er/build", "docs");
    assert_eq!(asked(&world, &saved()), [""; 0]);
}
