//! Files that the configuration of the user's own repository names: an agent does not rewrite them.

use ic_testkit::attack::calls::Call;
use ic_testkit::attack::world::{HABITS, Habit, World};

use super::{Attack, Step, delete, shift, step, write};

/// What the user does that runs the program of a habit, if nothing ordinary does.
fn steps(habit: Habit) -> Vec<Step> {
    match habit.config {
        it if it.contains("sequence") => {
            vec![step(&["commit", "-am", "mine"]), step(&["rebase", "-i", "HEAD~1"])]
        }
        it if it.contains("editor") => vec![step(&["commit", "--allow-empty"])],
        it if it.contains("driver") => {
            vec![step(&["commit", "-am", "mine"]), step(&["merge", "side"])]
        }
        it if it.contains("credential") => {
            let input = "protocol=https\nhost=a.invalid\n\n";
            vec![Step { at: "", words: &["credential", "fill"], input }]
        }
        it if it.contains("sshCommand") => vec![step(&["ls-remote", "ssh://a.invalid/x"])],
        _ => Vec::new(),
    }
}

fn prepare(world: &mut World, habit: Habit) {
    world.add_project("", &[]);
    let top = world.workspace();
    let git = |words: &[&str]| world.user.git_well(&top, words);
    git(&["checkout", "--quiet", "-b", "side"]);
    world.write("a.txt", "theirs\n");
    git(&["commit", "--quiet", "--all", "--message", "side"]);
    git(&["checkout", "--quiet", "main"]);
    world.write("a.txt", "mine\n");
    world.write("new.txt", "mine\n");
    world.trees[0].named.push(habit.named);
    let config = top.join(".git/config");
    let mut text = std::fs::read_to_string(&config).unwrap();
    text.push_str(habit.config);
    std::fs::write(config, text).unwrap();
}

/// What is written to the file that a habit names.
fn path_and_text(world: &World, habit: Habit) -> (String, String) {
    match habit.named {
        ".githooks" => (".githooks/pre-commit".to_owned(), world.canary.script("hook")),
        ".gitconfig" => (".gitconfig".to_owned(), world.canary.config("included")),
        "tools/attributes" => {
            (habit.named.to_owned(), format!("# {}\n* filter=f\n", world.canary.mark()))
        }
        named => (named.to_owned(), world.canary.script(named)),
    }
}

#[test]
fn programs_and_files_that_the_configuration_names_are_not_rewritten() {
    let mut all = Vec::new();
    for habit in HABITS {
        eprintln!("{:?}", habit.config);
        let prepare = |world: &mut World| prepare(world, habit);
        let calls = |world: &World| {
            let (path, text) = path_and_text(world, habit);
            vec![write(&path, &text)]
        };
        let runs = habit.named != "tools/attributes";
        let steps = steps(habit);
        let found = Attack { prepare: &prepare, calls: &calls, steps: &steps, runs }.found();
        all.extend(found.into_iter().map(|it| format!("{:?}: {it}", habit.config)));
    }
    assert!(all.is_empty(), "{all:#?}");
}

/// Replaced as a whole, moved with their directory, or taken away.
#[test]
fn nor_are_they_replaced_or_moved() {
    let mut all = Vec::new();
    for habit in [HABITS[0], HABITS[2], HABITS[3]] {
        let prepare = |world: &mut World| {
            prepare(world, habit);
            // A stranger's file that can be run already lies in the workspace, as one of an archive does.
            let (path, text) = path_and_text(world, habit);
            let name = path.rsplit('/').next().unwrap();
            world.add_branch("", "other", &[(&format!("k/{name}"), &text)]);
            world.user.git_well(&world.workspace(), &["checkout", "--quiet", "other", "--", "k"]);
        };
        let replaced = |world: &World| {
            let (path, _) = path_and_text(world, habit);
            let (_, name) = path.rsplit_once('/').unwrap();
            vec![delete(&path), shift(&format!("k/{name}"), &path)]
        };
        let moved = |world: &World| {
            let (path, _) = path_and_text(world, habit);
            let (directory, _) = path.rsplit_once('/').unwrap();
            vec![shift(directory, "old"), shift("k", directory)]
        };
        for calls in [&replaced as &dyn Fn(&World) -> Vec<Call>, &moved] {
            let found = Attack { prepare: &prepare, calls, steps: &[], runs: true }.found();
            all.extend(found.into_iter().map(|it| format!("{:?}: {it}", habit.config)));
        }
    }
    assert!(all.is_empty(), "{all:#?}");
}
