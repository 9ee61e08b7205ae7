//! Links between a name and its program: each one counts, and each directory on the way.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use ic_testkit::attack::world::World;
use ic_testkit::attack::{SERVED, through_the_proxy};
use serde_json::json;

use super::settings::append;
use super::{Attack, Call, git, shift, write};

const GLOBAL: &str = "home/.gitconfig";

/// Makes links in the workspace and commits them.
fn link(world: &World, links: &[(&str, &str)]) {
    for (at, target) in links {
        let path = world.workspace().join(at);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::remove_file(&path).ok();
        symlink(target, path).unwrap();
    }
}

fn commit(world: &World) {
    let top = world.workspace();
    world.user.git_well(&top, &["add", "--all", "--force"]);
    world.user.git_well(&top, &["commit", "--quiet", "--no-verify", "--message", "more"]);
}

/// Makes a stranger's branch in which `gone` is taken away and `links` are made, beside a program.
fn evil(world: &World, gone: &str, links: &[(&str, &str)], program: &str) {
    let top = world.workspace();
    let git = |words: &[&str]| world.user.git_well(&top, words);
    git(&["checkout", "--quiet", "-b", "evil", "main"]);
    git(&["rm", "--quiet", "-r", "--force", "--ignore-unmatch", "--", gone]);
    link(world, links);
    world.place.write(Path::new("work").join(program), world.canary.script("chain"));
    git(&["add", "--all", "--force"]);
    git(&["update-index", "--chmod=+x", program]);
    git(&["commit", "--quiet", "--no-verify", "--message", "evil"]);
    git(&["checkout", "--quiet", "--force", "main"]);
}

/// Tries what a stranger's branch brings by each of three tools; the user then commits.
#[track_caller]
fn check(name: &str, prepare: &dyn Fn(&mut World)) {
    // Another branch, which changes none of it, is free.
    let mut world = super::world();
    prepare(&mut world);
    world.add_branch("", "good", &[("src/good.rs", "// mine\n")]);
    let flags = super::coding(&world);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let merge = [git("git__git_merge", json!({"branch": "good"}))];
    assert_eq!(through_the_proxy(&world, &flags, &merge), [SERVED], "{name}");
    for (tool, arguments) in [
        ("git__git_merge", json!({"branch": "evil"})),
        ("git__git_checkout", json!({"target": "evil"})),
        ("git__git_reset", json!({"mode": "hard", "target": "evil", "confirmed": true})),
    ] {
        let calls = |_: &World| vec![git(tool, arguments.clone())];
        let attack = Attack { prepare, calls: &calls, steps: &[], runs: true };
        attack.check(&format!("{name}, {tool}"));
    }
}

#[test]
fn a_link_between_a_hook_and_its_program_is_not_replaced() {
    check("hook", &|world: &mut World| {
        world.add_project("", &[]);
        world.write("tools/r", "#!/bin/sh\nexit 0\n");
        link(world, &[("tools/pc", "r")]);
        commit(world);
        evil(world, "tools/pc", &[("tools/pc", "../evil")], "evil");
        link(world, &[(".git/hooks/pre-commit", "../../tools/pc")]);
    });
}

/// A link in the directory of hooks leads to a file that is called like no hook.
#[test]
fn what_links_in_a_directory_of_hooks_lead_to_is_not_written() {
    for (file, setting) in
        [(".git/config", ".githooks"), (GLOBAL, ".githooks"), (GLOBAL, "~/hooks")]
    {
        let prepare = |world: &mut World| {
            world.add_project("", &[]);
            let script = world.workspace().join("scripts/pc.sh");
            world.write("scripts/pc.sh", "#!/bin/sh\nexit 0\n");
            std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
            link(world, &[(".githooks/pre-commit", "../scripts/pc.sh")]);
            world.place.dir("home/hooks");
            world.place.link("home/hooks/pre-commit", &script);
            let file = if file == GLOBAL { file.to_owned() } else { format!("work/{file}") };
            append(world, &file, &format!("[core]\n\thooksPath = {setting}\n"));
        };
        let calls = |world: &World| vec![write("scripts/pc.sh", &world.canary.script("hooks"))];
        let attack = Attack { prepare: &prepare, calls: &calls, steps: &[], runs: true };
        attack.check(&format!("{setting} in {file}"));
    }
}

#[test]
fn a_link_between_a_setting_and_its_program_is_not_replaced() {
    check("setting", &|world: &mut World| {
        world.add_project("", &[]);
        world.write("real/pre-commit", "#!/bin/sh\nexit 0\n");
        link(world, &[("hooks", "between"), ("between", "real")]);
        commit(world);
        evil(world, "between", &[("between", "e")], "e/pre-commit");
        append(world, GLOBAL, "[core]\n\thooksPath = hooks\n");
    });
}

#[test]
fn a_directory_above_a_configured_name_is_not_replaced_by_a_link() {
    check("directory", &|world: &mut World| {
        world.add_project("", &[]);
        evil(world, "a", &[("a", "e")], "e/b/hooks/pre-commit");
        append(world, GLOBAL, "[core]\n\thooksPath = a/b/hooks\n");
    });
    // Its name is another one, and a link of the home leads above it.
    check("tree above", &|world: &mut World| {
        world.add_project("", &[]);
        world.write("dots/git/own/pre-push", "#!/bin/sh\nexit 0\n");
        commit(world);
        evil(world, "dots", &[("dots", "e")], "e/git/own/pre-commit");
        world.place.link("home/settings", world.workspace().join("dots"));
        append(world, GLOBAL, "[core]\n\thooksPath = ~/settings/git/own\n");
    });
}

/// What a name of the home leads to, also beneath a directory, is written by nobody and moved nowhere.
#[test]
fn what_links_of_the_home_lead_to_is_not_changed() {
    let homes =
        ["home/bin/foo", "home/.local/bin/foo", "home/.config/fish/functions/foo", "home/.profile"];
    for at in homes {
        let prepare = |world: &mut World| {
            world.add_project("", &[]);
            link(world, &[("tools/foo", "x.sh")]);
            commit(world);
            evil(world, "tools/foo", &[("tools/foo", "../evil")], "evil");
            world.place.link(at, world.workspace().join("tools/foo"));
        };
        let written = |world: &World| vec![write("tools/x.sh", &world.canary.script("home"))];
        let moved =
            |world: &World| vec![write("y", &world.canary.script("home")), shift("y", "tools/foo")];
        let merged = |_: &World| vec![git("git__git_merge", json!({"branch": "evil"}))];
        for calls in [&written as &dyn Fn(&World) -> Vec<Call>, &moved, &merged] {
            let mut world = super::world();
            prepare(&mut world);
            let flags = super::coding(&world);
            let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            let program = world.place.path(at);
            let before = std::fs::read(&program).unwrap();
            let answers = through_the_proxy(&world, &flags, &calls(&world));
            assert_ne!(answers.last().unwrap(), SERVED, "{at}: {answers:?}");
            assert_eq!(std::fs::read(&program).unwrap(), before, "{at}: {answers:?}");
            // The control: done by somebody who does not look, it is what the user runs.
            for call in calls(&world) {
                ic_testkit::attack::careless::obey(&world, &call);
            }
            let run = std::process::Command::new("/bin/sh").arg(&program).status();
            assert!(run.is_ok() && world.canary.heard().is_some(), "{at}: the control is silent");
        }
    }
}
