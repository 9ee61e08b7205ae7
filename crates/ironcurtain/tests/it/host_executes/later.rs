//! Configuration that is elsewhere, or comes later: repositories around and beside, variables, and what
//! the user sets up while a session is under way.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use ic_testkit::Proxy;
use ic_testkit::attack::world::World;
use serde_json::{Value, json};

use super::settings::append;

/// Writes what the agent would, and returns whether that was served.
fn is_served(proxy: &mut Proxy, path: &str, content: &str) -> bool {
    let answer = proxy.call("filesystem__write_file", &json!({"path": path, "content": content}));
    let answer = answer.json();
    answer.pointer("/result/isError").unwrap_or(&Value::Null) != &json!(true)
        && answer.get("result").is_some()
}

fn start(world: &World) -> Proxy {
    let workspace = world.workspace();
    let flags = ["--policy", "coding", "--workspace", workspace.to_str().unwrap()];
    let mut proxy = Proxy::start(&world.place, &flags);
    proxy.initialize();
    proxy
}

/// Makes a hook that can be run and does nothing.
fn hook(world: &World, relative: &str) {
    let path = world.place.write(relative, "#!/bin/sh\nexit 0\n");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Sets things up, once before the session and once while it is under way; then the agent writes `path`.
#[track_caller]
fn check(
    name: &str,
    world: &dyn Fn() -> World,
    set_up: &dyn Fn(&World),
    path: &str,
    live: &dyn Fn(&World),
) {
    for is_later in [false, true] {
        let world = world();
        if !is_later {
            set_up(&world);
        }
        let mut proxy = start(&world);
        assert!(is_served(&mut proxy, "notes.txt", "free\n"), "{name}: nothing is free");
        if is_later {
            set_up(&world);
        }
        let script = world.canary.script(name);
        let served = is_served(&mut proxy, path, &script);
        proxy.finish();
        live(&world);
        assert_eq!(world.canary.heard(), None, "{name}, later: {is_later}, served: {served}");
        assert!(!served, "{name}, later: {is_later}");
        // The control: what the agent wanted is what the user's git runs.
        let file = world.workspace().join(path);
        std::fs::write(&file, script).unwrap();
        live(&world);
        assert!(world.canary.heard().is_some(), "{name}: the control is silent");
    }
}

fn commit(at: &'static str) -> impl Fn(&World) {
    move |world: &World| {
        let top = world.place.path(at);
        world.user.git(&top, &["commit", "--allow-empty", "-m", "mine"]);
    }
}

fn project() -> World {
    let mut world = super::world();
    world.add_project("", &[]);
    hook(&world, "work/later/pre-commit");
    world
}

#[test]
fn a_setting_that_the_user_makes_during_the_session_counts() {
    let set = |world: &World| {
        world.user.git_well(&world.workspace(), &["config", "core.hooksPath", "later"]);
    };
    check("own", &project, &set, "later/pre-commit", &commit("work"));
    let set = |world: &World| append(world, "home/.gitconfig", "[core]\n\thooksPath = later\n");
    check("user", &project, &set, "later/pre-commit", &commit("work"));
    let set = |world: &World| {
        world.place.write("home/.config/git/config", "[core]\n\thooksPath = later\n");
    };
    check("xdg", &project, &set, "later/pre-commit", &commit("work"));
}

#[test]
fn a_repository_beside_or_around_names_files_of_the_workspace() {
    let beside = || {
        let mut world = project();
        world.add_project("sub/deep", &[]);
        world
    };
    let set = |world: &World| {
        let top = world.workspace().join("sub/deep");
        world.user.git_well(&top, &["config", "core.hooksPath", "../../later"]);
    };
    check("beside", &beside, &set, "later/pre-commit", &commit("work/sub/deep"));
    let new = |world: &World| {
        let top = world.workspace().join("fresh");
        std::fs::create_dir_all(&top).unwrap();
        world.user.git_well(&top, &["init", "--quiet"]);
        world.user.git_well(&top, &["config", "core.hooksPath", "../later"]);
    };
    check("new", &project, &new, "later/pre-commit", &commit("work/fresh"));
    let around = || {
        let world = World::empty(Path::new(env!("CARGO_BIN_EXE_ironcurtain")), "around/in/work");
        let top = world.place.path("around");
        world.user.git_well(&top, &["init", "--quiet"]);
        hook(&world, "around/in/work/later/pre-commit");
        world
    };
    let set = |world: &World| {
        let top = world.place.path("around");
        world.user.git_well(&top, &["config", "core.hooksPath", "in/work/later"]);
    };
    check("around", &around, &set, "later/pre-commit", &commit("around"));
}

/// A linked working tree in the workspace obeys the repository elsewhere, and one elsewhere its own part.
#[test]
fn linked_working_trees_and_submodules_obey_configuration_elsewhere() {
    let tree = || {
        let world = super::world();
        let main = world.place.dir("outside/main");
        let git = |words: &[&str]| world.user.git_well(&main, words);
        git(&["init", "--quiet"]);
        git(&["commit", "--quiet", "--allow-empty", "--message", "first"]);
        let to = world.workspace().join("tree");
        git(&["worktree", "add", "--quiet", to.to_str().unwrap()]);
        hook(&world, "work/tree/later/pre-commit");
        world
    };
    let set = |world: &World| {
        let main = world.place.path("outside/main");
        world.user.git_well(&main, &["config", "core.hooksPath", "later"]);
    };
    check("tree", &tree, &set, "tree/later/pre-commit", &commit("work/tree"));
    let elsewhere = || {
        let world = project();
        let top = world.workspace();
        let to = world.place.path("outside/tree");
        let git = |words: &[&str]| world.user.git_well(&top, words);
        git(&["config", "extensions.worktreeConfig", "true"]);
        git(&["worktree", "add", "--quiet", to.to_str().unwrap()]);
        world
    };
    let set = |world: &World| {
        let tree = world.place.path("outside/tree");
        let hooks = world.workspace().join("later");
        let words = ["config", "--worktree", "core.hooksPath", hooks.to_str().unwrap()];
        world.user.git_well(&tree, &words);
    };
    check("elsewhere", &elsewhere, &set, "later/pre-commit", &commit("outside/tree"));
}

/// A link that the user makes in the home.
#[test]
fn a_link_in_the_home_counts_from_when_it_is_made() {
    for name in ["home/.profile", "home/bin/foo"] {
        let world = || {
            let world = project();
            world.place.dir("home/bin");
            world
        };
        let set =
            |world: &World| world.place.link(name, world.workspace().join("later/pre-commit"));
        let live = |world: &World| {
            let program = world.place.path(name);
            std::process::Command::new("/bin/sh").arg(program).status().unwrap();
        };
        check(name, &world, &set, "later/pre-commit", &live);
    }
}

/// Variables of the environment in which the program is started.
#[test]
fn configuration_that_variables_name_counts() {
    const HOOKS: &str = "[core]\n\thooksPath = later\n";
    let kinds: [(&str, &[(&str, &str)]); 5] = [
        ("global", &[("GIT_CONFIG_GLOBAL", "ROOT/elsewhere/global")]),
        ("system", &[("GIT_CONFIG_SYSTEM", "ROOT/elsewhere/global")]),
        ("xdg", &[("XDG_CONFIG_HOME", "ROOT/elsewhere/xdg")]),
        (
            "count",
            &[
                ("GIT_CONFIG_COUNT", "1"),
                ("GIT_CONFIG_KEY_0", "core.hooksPath"),
                ("GIT_CONFIG_VALUE_0", "later"),
            ],
        ),
        ("editor", &[("GIT_EDITOR", "sh later/pre-commit")]),
    ];
    for (name, variables) in kinds {
        let mut world = project();
        world.place.write("elsewhere/global", HOOKS);
        world.place.write("elsewhere/xdg/git/config", HOOKS);
        let root = world.place.root().to_str().unwrap().to_owned();
        let variables: Vec<(String, String)> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.replace("ROOT", &root)))
            .collect();
        for (name, value) in &variables {
            world.place.set_variable(name, value);
        }
        let live = |world: &World| {
            let mut command = std::process::Command::new("git");
            command.args(["-c", "user.name=A", "-c", "user.email=a@a", "commit", "--allow-empty"]);
            command.env_clear().env("HOME", world.place.path("home")).env("PATH", "/usr/bin:/bin");
            command.envs(variables.clone()).current_dir(world.workspace()).output().unwrap();
        };
        let mut proxy = start(&world);
        let script = world.canary.script(name);
        assert!(!is_served(&mut proxy, "later/pre-commit", &script), "{name}");
        assert!(is_served(&mut proxy, "notes.txt", "free\n"), "{name}: nothing is free");
        proxy.finish();
        live(&world);
        assert_eq!(world.canary.heard(), None, "{name}");
        std::fs::write(world.workspace().join("later/pre-commit"), script).unwrap();
        live(&world);
        assert!(world.canary.heard().is_some(), "{name}: the control is silent");
    }
    // The file itself, where it lies in the workspace.
    let mut world = project();
    let file = world.workspace().join("dots/gitconfig").to_str().unwrap().to_owned();
    world.place.write("work/dots/gitconfig", "[user]\n\tname = A\n");
    world.place.set_variable("GIT_CONFIG_GLOBAL", &file);
    let mut proxy = start(&world);
    assert!(!is_served(&mut proxy, "dots/gitconfig", &world.canary.config("global")));
    proxy.finish();
}
