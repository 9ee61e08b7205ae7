//! The same guard where there is no workspace: in Downloads under `default`, in a user's directory that
//! is given as the sandbox, and at a root that does not exist yet.

use std::path::Path;

use ic_testkit::attack::world::World;
use ic_testkit::attack::{SERVED, through_the_proxy};
use serde_json::json;

use super::settings::append;
use super::{Attack, Call, Step, git, make, write};

const BINARY: &str = env!("CARGO_BIN_EXE_ironcurtain");

fn project(world: &mut World) {
    world.add_project("proj", &[]);
}

/// The attacks below, and whether each runs the canary.
const KINDS: [(&str, bool); 4] =
    [("the config", true), ("listed names", false), ("a shape", true), ("a pointer", true)];

/// The calls of an attack on the user's project in `base`.
fn attack(world: &World, base: &str, kind: &str) -> Vec<Call> {
    let at = |name: &str| format!("{base}/{name}");
    let config = world.canary.config("elsewhere");
    match kind {
        "the config" => vec![write(&at("proj/.git/config"), &config)],
        "listed names" => {
            let names = [".envrc", ".vscode/settings.json", ".mcp.json", "src/.npmrc"];
            let script = world.canary.script("elsewhere");
            names.map(|name| write(&at(&format!("proj/{name}")), &script)).to_vec()
        }
        "a shape" => vec![
            make(&at("d/objects")),
            make(&at("d/refs")),
            write(&at("d/HEAD"), "ref: refs/heads/main\n"),
            write(&at("d/config"), &world.canary.shape_config("elsewhere")),
        ],
        _ => vec![
            make(&at("k/objects")),
            make(&at("k/refs")),
            write(&at("k/config"), &config),
            write(&at("proj/.git/commondir"), "../../k\n"),
        ],
    }
}

const STEPS: [Step; 1] = [Step { at: "proj", words: &["status"], input: "" }];

#[test]
fn downloads_are_guarded_under_the_default_policy() {
    let mut all = Vec::new();
    for (kind, runs) in KINDS {
        let calls = |world: &World| attack(world, world.workspace().to_str().unwrap(), kind);
        let attack = Attack { prepare: &project, calls: &calls, steps: &STEPS, runs };
        let world = || World::empty(Path::new(BINARY), "home/Downloads");
        let flags = |_: &World| ["--policy", "default"].map(str::to_owned).to_vec();
        let found = attack.found_with(&world, &flags);
        all.extend(found.into_iter().map(|it| format!("{kind}: {it}")));
    }
    assert!(all.is_empty(), "{all:#?}");
}

/// The user's own configuration names a file there, in whatever directory the user works.
#[test]
fn what_the_users_configuration_names_in_downloads_is_guarded() {
    let prepare = |world: &mut World| {
        project(world);
        append(world, "home/.gitconfig", "[include]\n\tpath = ~/Downloads/more\n");
    };
    let calls = |world: &World| {
        let path = world.workspace().join("more").to_str().unwrap().to_owned();
        vec![write(&path, &world.canary.config("included"))]
    };
    let attack = Attack { prepare: &prepare, calls: &calls, steps: &STEPS, runs: true };
    let world = || World::empty(Path::new(BINARY), "home/Downloads");
    let flags = |_: &World| ["--policy", "default"].map(str::to_owned).to_vec();
    let found = attack.found_with(&world, &flags);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_directory_of_the_users_that_is_given_as_the_sandbox_is_guarded() {
    let mut all = Vec::new();
    for policy in ["default", "coding"] {
        for (kind, runs) in KINDS {
            let calls = |world: &World| attack(world, ".", kind);
            let attack = Attack { prepare: &project, calls: &calls, steps: &STEPS, runs };
            let flags = |world: &World| {
                let sandbox = world.workspace().to_str().unwrap().to_owned();
                ["--policy", policy, "--sandbox", &sandbox].map(str::to_owned).to_vec()
            };
            let found = attack.found_with(&super::world, &flags);
            all.extend(found.into_iter().map(|it| format!("{policy}, {kind}: {it}")));
        }
    }
    assert!(all.is_empty(), "{all:#?}");
}

/// A link that stands for `~/Downloads` would open whatever it leads to.
#[test]
fn a_root_that_does_not_exist_is_not_made_a_link() {
    for (target, victim) in [(".", "home/notes.txt"), ("../outside", "outside/notes.txt")] {
        let mut world = World::empty(Path::new(BINARY), "work");
        world.add_project("", &[]);
        let top = world.workspace();
        let user = &world.user;
        user.git_well(&top, &["checkout", "--quiet", "-b", "linked"]);
        std::os::unix::fs::symlink(target, top.join("l")).unwrap();
        user.git_well(&top, &["add", "l"]);
        user.git_well(&top, &["commit", "--quiet", "--message", "a link"]);
        let downloads = world.place.path("home/Downloads").to_str().unwrap().to_owned();
        let moved = json!({"source": "l", "destination": downloads});
        // The link is the user's own; another one that leads out would be asked about.
        let calls = [
            git("git__git_checkout", json!({"target": "linked"})),
            super::call("filesystem__move_file", moved),
            write(&format!("{downloads}/notes.txt"), "the agent's\n"),
        ];
        let flags = ["--policy", "default", "--sandbox", top.to_str().unwrap()];
        let answers = through_the_proxy(&world, &flags, &calls);
        assert_eq!(answers[0], SERVED, "a link of the user's may be checked out");
        assert_ne!(answers[1], SERVED, "{target}: {answers:?}");
        // Another session would take the link for what the rule means.
        let answers = through_the_proxy(&world, &flags, &calls[2..]);
        let text = std::fs::read_to_string(world.place.path(victim)).unwrap();
        assert_eq!(text, "mine\n", "{target}: {answers:?}");
        assert!(!Path::new(&downloads).is_symlink(), "{target}: {answers:?}");
        // The control: made by hand, the link leads there.
        std::fs::remove_dir_all(&downloads).ok();
        std::os::unix::fs::symlink(target, &downloads).unwrap();
        std::fs::write(Path::new(&downloads).join("notes.txt"), "changed\n").unwrap();
        assert_eq!(std::fs::read_to_string(world.place.path(victim)).unwrap(), "changed\n");
    }
}

/// Making, moving and removing the entry of a root is for a person.
#[test]
fn a_root_is_not_moved_or_removed() {
    let mut world = World::empty(Path::new(BINARY), "home/Downloads");
    project(&mut world);
    let downloads = world.workspace().to_str().unwrap().to_owned();
    let beside = world.place.path("home/Downloads/proj").to_str().unwrap().to_owned();
    let calls = [
        super::shift(&downloads, &format!("{downloads}2")),
        super::shift(&downloads, "mine"),
        super::delete(&downloads),
        super::shift(&beside, &downloads),
    ];
    let answers = through_the_proxy(&world, &["--policy", "default"], &calls);
    assert!(answers.iter().all(|it| it != SERVED), "{answers:?}");
    assert!(world.workspace().join("proj/README.md").is_file());
}

/// Where a rule's directory led is remembered when its policy is first used, also if it was not there.
#[test]
fn a_root_that_became_a_link_is_an_error_until_it_is_confirmed() {
    let place = ic_testkit::Place::new(BINARY);
    let start = || place.run(["start", "--policy", "default", "list the files"]);
    let first = start();
    assert_eq!(first.code, 0, "{}", first.stderr);
    let target = place.dir("home/elsewhere");
    place.link("home/Downloads", &target);
    let refused = start();
    assert_ne!(refused.code, 0, "{}", refused.stderr);
    for part in ["`~/Downloads`", "is a link to", target.to_str().unwrap(), "policy confirm"] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    // Another policy that names no such directory is not concerned.
    assert_eq!(place.run(["start", "--policy", "coding", "list the files"]).code, 0);
    // Opening another directory is for a person to agree to.
    let words = ["policy", "confirm", "--policy", "default", "--yes"];
    let unasked = place.run(["policy", "confirm", "--policy", "default"]);
    assert_eq!((unasked.code, place.run(words).code), (1, 1), "{}", unasked.stderr);
    assert_ne!(start().code, 0);
    place.let_scripts_answer();
    let confirmed = place.run(words);
    assert_eq!(confirmed.code, 0, "{}", confirmed.stderr);
    assert!(confirmed.stdout.contains("~/Downloads is "), "{}", confirmed.stdout);
    let last = start();
    assert_eq!(last.code, 0, "{}", last.stderr);
    // A link that leads somewhere else later is noticed too.
    std::fs::remove_file(place.path("home/Downloads")).unwrap();
    place.link("home/Downloads", place.dir("home/third"));
    assert_ne!(start().code, 0);
}
