//! Directories that become a module of Python's own by what they are called; and workspaces whose own parents are
//! called like directories of packages, which makes nothing in them free.
//!
//! Each trick is played twice: where nobody looks the canary has to run, and through the proxy it must not.

use std::path::Path;
use std::process::{Command, Stdio};

use ic_testkit::attack::calls::Call;
use ic_testkit::attack::world::World;
use ic_testkit::attack::{SERVED, careless, through_the_proxy};
use serde_json::json;

use super::{coding, git, make, shift, world, write};

/// The user's command, which loads `argparse` and `json`.
const JSON_TOOL: &str = "python3 -m json.tool x.json";
const HOSTILE: &str = "import os\nos.system(\"CANARY\")\n";

fn project(mut world: World) -> World {
    world.add_project("", &[]);
    world.write("x.json", "{}\n");
    world
}

fn served(world: &World, calls: &[Call]) -> Vec<bool> {
    let flags = coding(world);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    through_the_proxy(world, &flags, calls).iter().map(|it| it == SERVED).collect()
}

/// Returns whether something of the agent's runs when the user types `shell`.
fn runs(world: &World, calls: &[Call], (shell, is_looked_at): (&str, bool)) -> bool {
    match is_looked_at {
        true => drop(served(world, calls)),
        false => assert!(calls.iter().all(|call| careless::obey(world, call))),
    }
    let mut command = Command::new("sh");
    command.args(["-c", shell]).current_dir(world.workspace()).stdin(Stdio::null());
    command.env("HOME", world.place.path("home")).output().unwrap();
    world.canary.heard().is_some()
}

#[track_caller]
fn check(name: &str, make: &dyn Fn() -> World, calls: &dyn Fn(&World) -> Vec<Call>, shell: &str) {
    for is_looked_at in [false, true] {
        let world = make();
        let calls = calls(&world);
        let ran = runs(&world, &calls, (shell, is_looked_at));
        assert_eq!(ran, !is_looked_at, "{name}, looked at: {is_looked_at}");
    }
}

fn hostile(world: &World, path: &str) -> Call {
    write(path, &HOSTILE.replace("CANARY", &world.canary.command("module")))
}

#[test]
fn by_a_directory_that_is_moved_onto_a_name_of_python_s() {
    let new = || project(world());
    let package = |world: &World| vec![make("pkg"), hostile(world, "pkg/__init__.py")];
    let to = |name: &'static str| {
        move |world: &World| [package(world), vec![shift("pkg", name)]].concat()
    };
    check("moved", &new, &to("argparse"), JSON_TOOL);
    check("another name", &new, &to("json"), JSON_TOOL);
    let deep = |world: &World| {
        vec![make("a/b"), hostile(world, "a/b/__init__.py"), shift("a/b", "argparse")]
    };
    check("from deeper", &new, &deep, JSON_TOOL);
    let main = |world: &World| {
        let made =
            vec![make("pkg"), write("pkg/__init__.py", ""), hostile(world, "pkg/__main__.py")];
        [made, vec![shift("pkg", "pip")]].concat()
    };
    check("a package that is run", &new, &main, "python3 -m pip --version");
    let twice = |world: &World| [to("other")(world), vec![shift("other", "argparse")]].concat();
    check("in two steps", &new, &twice, JSON_TOOL);
}

/// A link that git brings, under such a name, to a directory of the agent's.
#[test]
fn by_a_link_under_a_name_of_python_s() {
    let new = || {
        let world = project(world());
        for words in [&["checkout", "-q", "-b", "dev"][..], &["checkout", "-q", "main"]] {
            if words.contains(&"main") {
                std::os::unix::fs::symlink("pkg", world.workspace().join("argparse")).unwrap();
                let said = world.user.git(&world.workspace(), &["add", "-A"]);
                assert!(said.is_good);
                let said = world.user.git(&world.workspace(), &["commit", "-q", "-m", "link"]);
                assert!(said.is_good);
            }
            assert!(world.user.git(&world.workspace(), words).is_good);
        }
        world
    };
    let calls = |world: &World| {
        let checkout = git("git__git_checkout", json!({"target": "dev"}));
        vec![checkout, make("pkg"), hostile(world, "pkg/__init__.py")]
    };
    check("by git", &new, &calls, JSON_TOOL);
}

/// The control: directories that are moved elsewhere, or hold no package, are free.
#[test]
fn other_directories_are_moved_freely() {
    let world = project(world());
    for n in 0..80 {
        world.write(&format!("lib/p{n}/__init__.py"), "");
    }
    world.write("lib/__init__.py", "");
    world.write("docs/index.html", "");
    world.write("src/json/__init__.py", "");
    let calls = [
        shift("lib", "library"),
        shift("library", "src/argparse"),
        shift("docs", "html"),
        shift("src/json", "src/email"),
        make("test"),
    ];
    assert_eq!(served(&world, &calls), [true; 5]);
}

/// How the directories above a workspace are called is the user's business.
#[test]
fn a_workspace_beneath_a_directory_that_is_called_like_packages_is_guarded() {
    let workspaces =
        ["vendor/work", "target/work", "node_modules/a/work", ".venv/work", "vendor/node_modules"];
    for at in workspaces {
        let new = move || {
            let binary = Path::new(env!("CARGO_BIN_EXE_ironcurtain"));
            project(World::empty(binary, at))
        };
        let module = |world: &World| vec![hostile(world, "argparse.py")];
        check(&format!("{at}: a module"), &new, &module, JSON_TOOL);
        let package = |world: &World| {
            vec![make("pkg"), hostile(world, "pkg/__init__.py"), shift("pkg", "argparse")]
        };
        check(&format!("{at}: a directory"), &new, &package, JSON_TOOL);
        let asks = [write(".envrc", "x\n"), write("sub/.envrc", "x\n"), write("-x", "")];
        assert_eq!(served(&new(), &asks), [false; 3], "{at}");
        // Packages of the workspace itself are free, and so is ordinary work.
        let free = [
            make("node_modules/x"),
            write("node_modules/x/.npmrc", "x\n"),
            write("a.txt", "x\n"),
            make("src"),
            write("src/argparse.py", "x\n"),
        ];
        assert_eq!(served(&new(), &free), [true; 5], "{at}");
    }
}
