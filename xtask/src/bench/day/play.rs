//! Plays the script: each task by its agent, with the person at the desk, and every result looked at.
//!
//! Nothing is counted here.

use std::path::Path;

use anyhow::{Context as _, ensure};
use ic_testkit::agents::Row;
use ic_testkit::provider::{KEY, Reply, Said};
use ic_testkit::{Proxy, ScriptedProvider};
use serde_json::Value;

use super::person::{Habit, Person, Question};
use super::script::{Agent, Call, DAY, Kind, Places, Task};
use super::world::World;

/// The model of the built-in agent, which a scripted provider plays.
const MODEL: &str = "claude-sonnet-4-6";
/// What a script of the built-in agent begins with: each result has to contain a part.
const PRELUDE: &str = "const check = (answer, part) => {\n  const text = typeof answer === 'string' ? \
    answer : JSON.stringify(answer);\n  if (!text.includes(part)) throw new Error(text);\n};\n";

/// What a real agent says at the end of a task.
const DONE: &str = "All of it is done.";

/// A day that was played.
#[derive(Debug)]
pub(super) struct Played {
    pub(super) world: World,
    /// What each call was about.
    pub(super) calls: Vec<Kind>,
    /// How many of them were commands that a real agent ran with its own shell, which nobody judges one by one.
    pub(super) n_in_cages: usize,
    pub(super) questions: Vec<Question>,
}

/// Plays the day.
pub(super) fn play(binary: &Path, habit: Habit) -> anyhow::Result<Played> {
    let (models, provider) =
        (ScriptedProvider::start_for_stranger([]), ScriptedProvider::start([]));
    let mut world = World::new(binary, &models.url())?;
    for key in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"] {
        world.place.set_variable(key, KEY);
    }
    let places = world.places();
    let person = Person::sit(&world.place, binary, habit)?;
    let arguments = ["--workspace", &places.repository, "--policy", "coding", "--session", "day"];
    let mut client = Proxy::start(&world.place, &arguments);
    client.initialize();
    let (mut calls, mut n_in_cages) = (Vec::new(), 0);
    for task in &DAY {
        let made = || task.steps.iter().flat_map(|step| step.calls(&places)).flatten();
        match task.agent {
            Agent::Client => by_client(&mut client, task, &places),
            Agent::BuiltIn => by_built_in(&world, &provider, task, &places),
            Agent::Real(row) => {
                n_in_cages += made().filter(is_in_cage).count();
                by_real_agent(&world, &models, (row, task), &made().collect::<Vec<_>>())
            }
        }
        .with_context(|| format!("task: {}", task.title))?;
        calls.extend(made().map(|call| call.kind));
    }
    client.finish();
    Ok(Played { world, calls, n_in_cages, questions: person.leave()? })
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
    provider.push([Reply::Says(Said::text(DONE))]);
    let words = ["start", "--model", MODEL, "--workspace", &places.repository];
    let words = [&words[..], &["--policy", "coding", task.title]].concat();
    let output = world.place.command(words).env("ANTHROPIC_BASE_URL", provider.url()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "it ended with {}: {said}", output.status);
    let last = provider.requests().pop().context("no request came to the provider")?;
    let told = last.body.to_string();
    for at in 0..task.steps.len() {
        ensure!(told.contains(&format!("done {}", 4000 + at)), "step {at} failed: {told}");
    }
    Ok(())
}

/// Lets a real agent do a task: its model wants one call after the other, commands by the agent's own shell.
fn by_real_agent(
    world: &World,
    models: &ScriptedProvider,
    (row, task): (&Row, &Task),
    calls: &[Call],
) -> anyhow::Result<()> {
    let replies = calls.iter().enumerate().map(|(at, call)| {
        let id = format!("toolu_{at}");
        if let Some(command) = command(call) {
            return row.runs(&id, &format!("{command}; echo \"exit code $?\""));
        }
        let name = format!("{}__{}", call.server, call.tool);
        row.calls(&id, &name, call.arguments.clone())
    });
    models.push(replies);
    models.push([Reply::Says(Said::text(DONE))]);
    let place = ["start", "--agent", row.agent, "--workspace", &world.places().repository];
    let words = [&place, row.options, &["--policy", "coding", task.title]].concat();
    let output = world.place.run(words);
    let told = models.requests().pop().context("no request came to the provider")?;
    let told = told.body.to_string();
    ensure!(
        output.code == 0 && output.stdout.trim() == DONE && models.left() == 0,
        "it ended with {}: {}\n{}\n{told}",
        output.code,
        output.stdout,
        output.stderr
    );
    for wanted in ["exit code 0", "exit code 1", "documented"] {
        let n_wanted = calls.iter().filter(|it| it.says == wanted).count();
        let n_said = told.matches(wanted).count();
        ensure!(n_wanted <= n_said, "{n_said} of {n_wanted} calls said `{wanted}`: {told}");
    }
    ensure!(output.stderr.contains(", 0 refused"), "a call was refused: {}", output.stderr);
    Ok(())
}

/// Whether a real agent makes the call with its own shell.
fn is_in_cage(call: &Call) -> bool {
    command(call).is_some()
}

fn command(call: &Call) -> Option<&str> {
    call.arguments.get("command").and_then(Value::as_str).filter(|_| call.server == "shell")
}

/// Returns the line of a script that makes a call.
fn line(call: &Call) -> String {
    let Call { server, tool, arguments, says, .. } = call;
    format!("check({server}.{tool}({arguments}), '{says}');\n")
}
