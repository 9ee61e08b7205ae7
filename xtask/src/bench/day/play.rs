//! Plays the script: each task by its agent, with the person at the desk, and every result looked at.
//!
//! Nothing is counted here.

use std::path::Path;

use anyhow::{Context as _, ensure};
use ic_testkit::provider::{KEY, Reply, Said};
use ic_testkit::{Proxy, ScriptedProvider};

use super::person::{Habit, Person, Question};
use super::script::{Agent, Call, DAY, Kind, Places, Task};
use super::world::World;

/// The model of the built-in agent, which a scripted provider plays.
const MODEL: &str = "claude-sonnet-4-6";
/// What a script of the built-in agent begins with: each result has to contain a part.
const PRELUDE: &str = "const check = (answer, part) => {\n  const text = typeof answer === 'string' ? \
    answer : JSON.stringify(answer);\n  if (!text.includes(part)) throw new Error(text);\n};\n";

/// A day that was played.
#[derive(Debug)]
pub(super) struct Played {
    pub(super) world: World,
    /// What each call was about.
    pub(super) calls: Vec<Kind>,
    pub(super) questions: Vec<Question>,
}

/// Plays the day.
pub(super) fn play(binary: &Path, habit: Habit) -> anyhow::Result<Played> {
    let mut world = World::new(binary)?;
    let provider = ScriptedProvider::start([]);
    world.place.set_variable("ANTHROPIC_BASE_URL", provider.url());
    world.place.set_variable("ANTHROPIC_API_KEY", KEY);
    let places = world.places();
    let person = Person::sit(&world.place, binary, habit)?;
    let arguments = ["--workspace", &places.repository, "--policy", "coding", "--session", "day"];
    let mut client = Proxy::start(&world.place, &arguments);
    client.initialize();
    let mut calls = Vec::new();
    for task in &DAY {
        match task.agent {
            Agent::Client => by_client(&mut client, task, &places),
            Agent::BuiltIn => by_built_in(&world, &provider, task, &places),
        }
        .with_context(|| format!("task: {}", task.title))?;
        let made = task.steps.iter().flat_map(|step| step.calls(&places)).flatten();
        calls.extend(made.map(|call| call.kind));
    }
    client.finish();
    Ok(Played { world, calls, questions: person.leave()? })
}

fn by_client(client: &mut Proxy, task: &Task, places: &Places) -> anyhow::Result<()> {
    for together in task.steps.iter().flat_map(|step| step.calls(places)) {
        let name = |call: &Call| format!("{}__{}", call.server, call.tool);
        let ids: Vec<String> =
            together.iter().map(|it| client.ask_call(&name(it), &it.arguments)).collect();
        for (call, id) in together.iter().zip(ids) {
            let answer = client.answer(&id);
            let is_good = answer.result().get("isError").is_none_or(|it| it != true)
                && answer.line.contains(call.says);
            ensure!(is_good, "{} {}: {}", name(call), call.arguments, answer.line);
        }
    }
    Ok(())
}

/// Lets the built-in agent do a task: each step is a script that its model writes.
fn by_built_in(
    world: &World,
    provider: &ScriptedProvider,
    task: &Task,
    places: &Places,
) -> anyhow::Result<()> {
    let scripts = task.steps.iter().enumerate().map(|(at, step)| {
        let calls: String = step.calls(places).iter().flatten().map(line).collect();
        // The sum stands in no script, only in what came of it.
        format!("{PRELUDE}{calls}'done ' + (4000 + {at})")
    });
    provider.push(scripts.map(|script| Reply::Says(Said::code(&[&script]))));
    provider.push([Reply::Says(Said::text("All of it is done."))]);
    let words = ["start", "--model", MODEL, "--workspace", &places.repository];
    let words = [&words[..], &["--policy", "coding", task.title]].concat();
    let output = world.place.run(words);
    ensure!(output.code == 0, "it ended with {}: {}", output.code, output.stderr);
    let last = provider.requests().pop().context("no request came to the provider")?;
    let told = last.body.to_string();
    for at in 0..task.steps.len() {
        ensure!(told.contains(&format!("done {}", 4000 + at)), "step {at} failed: {told}");
    }
    Ok(())
}

/// Returns the line of a script that makes a call.
fn line(call: &Call) -> String {
    let Call { server, tool, arguments, says, .. } = call;
    format!("check({server}.{tool}({arguments}), '{says}');\n")
}
