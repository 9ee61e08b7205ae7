//! What the host executes later, attacked through the real proxy and tried with the user's real git.
//!
//! Nobody is there to approve anything. Each attack is tried twice: without anybody who looks, where it
//! has to work, and through the proxy, where nothing of the agent's may run and no file elsewhere change.

mod ahead;
mod alike;
mod arrivals;
mod carried;
mod chains;
mod classes;
mod committed;
mod elsewhere;
mod everyday;
mod generated;
mod history;
mod hooks;
mod later;
mod looked_for;
mod meanings;
mod modules;
mod moved;
mod named;
mod opened;
mod outward;
mod renamed;
mod replayed;
mod reviewed;
mod settings;
mod tools;
mod variables;

use std::path::Path;

use ic_testkit::attack::calls::Call;
use ic_testkit::attack::user::User;
use ic_testkit::attack::watch::Watch;
use ic_testkit::attack::world::World;
use ic_testkit::attack::{SERVED, careless, live, through_the_proxy};
use serde_json::{Value, json};

/// The other way in which people have git take directories for repositories.
const EXPLICIT: &[&str] = &["-c", "safe.bareRepository=explicit"];

fn world() -> World {
    World::empty(Path::new(env!("CARGO_BIN_EXE_ironcurtain")), "work")
}

/// Flags for a workspace under `coding`.
fn coding(world: &World) -> Vec<String> {
    let workspace = world.workspace().to_str().unwrap().to_owned();
    ["--policy", "coding", "--workspace", &workspace].map(str::to_owned).to_vec()
}

/// One thing that the user does beside what is ordinary: where, the words, and what is typed.
struct Step {
    at: &'static str,
    words: &'static [&'static str],
    input: &'static str,
}

const fn step(words: &'static [&'static str]) -> Step {
    Step { at: "", words, input: "" }
}

/// An attack.
struct Attack<'a> {
    /// Makes the user's world; with nothing else in it than this.
    prepare: &'a dyn Fn(&mut World),
    /// What the agent does.
    calls: &'a dyn Fn(&World) -> Vec<Call>,
    /// What the user does, before what is ordinary.
    steps: &'a [Step],
    /// Whether the control has to run the canary, or only to put a file where the host would run it.
    runs: bool,
}

impl Attack<'_> {
    /// Tries the attack in a workspace under `coding`.
    #[track_caller]
    fn check(&self, name: &str) {
        let found = self.found();
        assert!(found.is_empty(), "{name}: {found:#?}");
    }

    /// Returns what the attack does in a workspace under `coding`.
    #[track_caller]
    fn found(&self) -> Vec<String> {
        self.found_with(&world, &coding)
    }

    /// Returns what the attack does in such a world, with such flags.
    #[track_caller]
    fn found_with(
        &self,
        world: &dyn Fn() -> World,
        flags: &dyn Fn(&World) -> Vec<String>,
    ) -> Vec<String> {
        self.control(world());
        self.through_the_proxy(world(), flags)
    }

    /// Returns what the attack does in a workspace under `coding`; its control is elsewhere.
    fn only_through_the_proxy(&self) -> Vec<String> {
        self.through_the_proxy(world(), &coding)
    }

    fn through_the_proxy(
        &self,
        mut world: World,
        flags: &dyn Fn(&World) -> Vec<String>,
    ) -> Vec<String> {
        (self.prepare)(&mut world);
        let watch = Watch::begin(&world);
        let flags = flags(&world);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let calls = (self.calls)(&world);
        let answers = through_the_proxy(&world, &flags, &calls);
        let mut found = watch.before_the_user(&world);
        for user in [world.user.with_options(EXPLICIT), world.user.clone()] {
            self.live(&world, &user);
        }
        found.extend(watch.after_the_user(&world));
        if answers.iter().all(|it| it == SERVED) {
            found.push("every call was served".to_owned());
        }
        if !found.is_empty() {
            let shown = calls.iter().zip(&answers);
            found.extend(shown.map(|(call, answer)| format!("{call}: {answer}")));
        }
        found
    }

    /// Tries the attack where nobody looks; there it has to work.
    #[track_caller]
    fn control(&self, mut world: World) {
        (self.prepare)(&mut world);
        let watch = Watch::begin(&world);
        assert_eq!(watch.before_the_user(&world), [""; 0], "the world is broken before the attack");
        for call in (self.calls)(&world) {
            careless::obey(&world, &call);
        }
        let mut found = watch.before_the_user(&world);
        self.live(&world, &world.user);
        found.extend(watch.after_the_user(&world));
        assert!(!found.is_empty(), "the attack does not work even if nobody looks");
        assert!(!self.runs || world.canary.heard().is_some(), "nothing ran: {found:#?}");
    }

    fn live(&self, world: &World, user: &User) {
        for step in self.steps {
            let directory = world.workspace().join(step.at);
            if directory.is_dir() {
                user.git_with_input(&directory, step.words, step.input.as_bytes());
            }
        }
        live(world, user);
    }
}

fn call(tool: &'static str, arguments: Value) -> Call {
    Call { tool, arguments }
}

fn write(path: &str, content: &str) -> Call {
    call("filesystem__write_file", json!({"path": path, "content": content}))
}

fn make(path: &str) -> Call {
    call("filesystem__create_directory", json!({"path": path}))
}

fn shift(source: &str, destination: &str) -> Call {
    call("filesystem__move_file", json!({"source": source, "destination": destination}))
}

fn delete(path: &str) -> Call {
    call("filesystem__delete_file", json!({"path": path}))
}

fn git(tool: &'static str, mut arguments: Value) -> Call {
    if arguments.get("path").is_none() {
        arguments["path"] = json!(".");
    }
    call(tool, arguments)
}
