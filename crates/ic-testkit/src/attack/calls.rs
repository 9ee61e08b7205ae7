//! Random calls of an agent, and plans that it follows: single calls among the tools, and recipes.
//!
//! An agent looks at its workspace before each call, so that most of its calls get somewhere: half of
//! what it does builds up state, and the rest goes for names that matter.

mod git;
mod recipes;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::dice::Dice;
use super::names;
use super::sight::Sight;
use super::world::World;

/// How many calls a sequence has at most.
pub const CALLS_MAX: usize = 30;

/// In how many of a hundred cases the next call is one of a plan.
const PLANNED: usize = 65;

/// One call of an agent.
#[derive(Clone, Debug)]
pub struct Call {
    /// The tool, as the proxy offers it.
    pub tool: &'static str,
    /// Its arguments; paths are relative to the workspace.
    pub arguments: Value,
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.tool, self.arguments)
    }
}

fn call(tool: &'static str, arguments: Value) -> Call {
    Call { tool, arguments }
}

impl Call {
    /// Returns the same call in a world with another root.
    #[must_use]
    pub fn moved(&self, from: &str, to: &str) -> Self {
        Self { tool: self.tool, arguments: replaced(&self.arguments, from, to) }
    }

    /// Returns the same call of files, made to the server that is not ours; others stay as they are.
    fn by_the_helper(self, world: &World) -> Self {
        let tool = match self.tool {
            "filesystem__write_file" => "helper__write_file",
            "filesystem__edit_file" => "helper__edit_file",
            "filesystem__create_directory" => "helper__create_directory",
            "filesystem__move_file" => "helper__move_file",
            "filesystem__delete_file" => "helper__delete_file",
            _ => return self,
        };
        let mut arguments = self.arguments;
        for name in ["path", "source", "destination"] {
            if let Some(path) = arguments.get_mut(name) {
                let absolute = world.workspace().join(path.as_str().unwrap_or_default());
                *path = json!(absolute);
            }
        }
        Self { tool, arguments }
    }
}

fn replaced(value: &Value, from: &str, to: &str) -> Value {
    match value {
        Value::String(text) => json!(text.replace(from, to)),
        Value::Array(items) => items.iter().map(|item| replaced(item, from, to)).collect(),
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, it)| (key.clone(), replaced(it, from, to)));
            Value::Object(entries.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// An agent, who draws one call after the other.
#[derive(Debug)]
pub struct Agent {
    dice: Dice,
    n_left: usize,
    /// In how many of a hundred cases a path is one of the names that matter.
    boldness: usize,
    /// In how many of a hundred cases a call of files is made to the server that is not ours.
    helper: usize,
    /// Repositories in which the git server does not work, for what the user has configured.
    refused: BTreeSet<String>,
    rows: Vec<Vec<Call>>,
}

impl Agent {
    /// The agent of `dice`, who uses the server that is not ours if there is one.
    pub fn new(mut dice: Dice, world: &World, has_helper: bool) -> Self {
        let sight = Sight::of(&world.workspace());
        let n_left = dice.between(10, CALLS_MAX);
        let boldness = *dice.pick(&[10, 20, 35, 60]);
        let n_rows = dice.between(1, 3);
        let trees = world.trees.iter().filter(|tree| !tree.is_plain);
        let guessed = trees.map(|tree| match tree.at.as_str() {
            "" => ".".to_owned(),
            at => at.to_owned(),
        });
        let refused = if dice.chance(60) { guessed.collect() } else { BTreeSet::new() };
        let mut draw = || recipes::draw(&mut dice, world, &sight, &refused);
        let rows = (0..n_rows).map(|_| draw()).collect();
        let helper = if has_helper { 50 } else { 0 };
        Self { dice, n_left, boldness, helper, refused, rows }
    }

    /// Takes note of an answer.
    pub fn learn(&mut self, call: &Call, answer: &str) {
        let path = call.arguments.get("path").and_then(Value::as_str);
        if let Some(path) = path.filter(|_| answer.contains("structural-git-config")) {
            self.refused.insert(path.to_owned());
        }
    }

    /// Draws the next call, if there is one more.
    pub fn next(&mut self, world: &World) -> Option<Call> {
        self.n_left = self.n_left.checked_sub(1)?;
        let Self { dice, boldness, refused, rows, .. } = self;
        let has_helper = 0 < self.helper;
        rows.retain(|row| !row.is_empty());
        let planned = match rows.len() {
            1.. if dice.chance(PLANNED) => {
                let row = dice.below(rows.len());
                rows.get_mut(row).map(|row| row.remove(0))
            }
            _ => None,
        };
        let next = planned.unwrap_or_else(|| {
            let sight = Sight::of(&world.workspace());
            let has_git = sight.repositories.iter().any(|it| !refused.contains(&it.at));
            match dice.chance(if has_git { 45 } else { 85 }) {
                true if has_helper && dice.chance(10) => link_call(dice, world, &sight, *boldness),
                true => file_call(dice, world, &sight, *boldness),
                false => git::draw(dice, &sight, refused, *boldness),
            }
        });
        Some(if dice.chance(self.helper) { next.by_the_helper(world) } else { next })
    }
}

fn write(dice: &mut Dice, world: &World, path: &str) -> Call {
    let content = names::content(dice, path, &world.canary);
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

fn edit(world: &World, path: &str) -> Call {
    let edits = json!([{"oldText": "# keep", "newText": world.canary.script("edited")}]);
    call("filesystem__edit_file", json!({"path": path, "edits": edits}))
}

/// Draws a path: one that matters, or a name without a meaning in a directory that is there.
fn path(dice: &mut Dice, world: &World, sight: &Sight, boldness: usize) -> String {
    if !dice.chance(boldness) {
        let name = names::neutral(dice);
        return match sight.directories.as_slice() {
            directories @ [_, ..] if dice.chance(70) => {
                format!("{}/{name}", dice.pick(directories))
            }
            _ => name.to_owned(),
        };
    }
    let drawn = names::path(dice);
    match world.links.as_slice() {
        links @ [_, ..] if dice.chance(10) => {
            let link = dice.pick(links);
            let last = drawn.rsplit('/').next().unwrap_or_default();
            format!("{link}/{last}")
        }
        _ => drawn,
    }
}

/// Draws something that is there, unless there is nothing, or the agent is bold.
fn existing(dice: &mut Dice, world: &World, there: &[String], boldness: usize) -> String {
    match there {
        [_, ..] if !dice.chance(boldness / 2) => dice.pick(there).clone(),
        _ => path(dice, world, &Sight::default(), boldness),
    }
}

fn file_call(dice: &mut Dice, world: &World, sight: &Sight, boldness: usize) -> Call {
    let at = path(dice, world, sight, boldness);
    match dice.below(20) {
        0..7 => write(dice, world, &at),
        7..10 => edit(world, &existing(dice, world, &sight.files, boldness)),
        10..13 => make(&at),
        13..15 => shift(&existing(dice, world, &sight.directories, boldness), &at),
        15..18 => shift(&existing(dice, world, &sight.files, boldness), &at),
        _ => delete(&existing(dice, world, &sight.files, boldness)),
    }
}

/// Draws a link of the server that is not ours; the built-in one makes none.
fn link_call(dice: &mut Dice, world: &World, sight: &Sight, boldness: usize) -> Call {
    let at = path(dice, world, sight, boldness);
    let target = match dice.chance(50) {
        true => existing(dice, world, &sight.directories, 30),
        false => (*dice.pick(&["../outside", ".git/hooks", "..", "d", "tools"])).to_owned(),
    };
    call("helper__make_link", json!({"path": world.workspace().join(at), "target": target}))
}
