//! Agents of others as values: which program, which files and words it is started with, and what its
//! output means.
//!
//! ```text
//! Adapter::setup(stage)  ─▶ files to be shown to the agent, files of its new home
//! Adapter::turn(stage)   ─▶ arguments, environment, standard input of one turn
//! Adapter::read(line)    ─▶ Said: text as it comes, and how the turn ended
//! ```
//!
//! Nothing here reads a disk, starts a process or knows a real key; all of it can be tested by tables.
//! How the programs behave was tried with the pinned versions; a newer one may differ.
//!
//! # Invariants
//!
//! - What a person typed is never part of an argument: it travels on standard input.
//! - What is read of an agent's output decides nothing but what a person is shown.

pub mod claude_code;
pub mod codex;
pub mod fault;
pub mod goose;
pub mod opencode;
pub mod orientation;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use ic_types::Provider;

pub use claude_code::ClaudeCode;
pub use codex::Codex;
pub use fault::{Fault, FaultKind};
pub use goose::Goose;
pub use opencode::OpenCode;

/// The name under which every agent knows our MCP server.
pub const MCP_SERVER: &str = "ironcurtain";
/// All agents that are known.
pub const ALL: [&dyn Adapter; 4] = [&ClaudeCode, &Codex, &OpenCode, &Goose];

/// How one kind of agent is run.
pub trait Adapter: fmt::Debug + Send + Sync {
    /// Returns the name by which people choose it, such as `claude-code`.
    fn name(&self) -> &'static str;

    /// Returns the name that its makers gave it.
    fn title(&self) -> &'static str;

    /// Returns where its program comes from.
    fn package(&self) -> Package;

    /// Returns the providers whose models it can use, the usual one first.
    fn providers(&self) -> &'static [Provider];

    /// Returns the files that it needs before its first turn.
    fn setup(&self, stage: &Stage<'_>) -> Vec<SetupFile>;

    /// Returns how one turn is run; a turn goes on with the conversation in its home, if there is one.
    fn turn(&self, stage: &Stage<'_>, message: &str) -> TurnCommand;

    /// Returns whether its own interface was tried at a terminal of ours.
    fn has_interface(&self) -> bool {
        false
    }

    /// Returns how its own interface is run at a terminal, with a task to begin with if there is one; `None` if it
    /// [has none](Self::has_interface).
    fn interface(&self, _stage: &Stage<'_>, _task: Option<&str>) -> Option<InterfaceCommand> {
        None
    }

    /// Reads a line of its standard output.
    fn read(&self, line: &str) -> Vec<Said>;

    /// Returns whether it complains that it has no conversation to go on with; then the turn is begun anew.
    fn has_no_conversation(&self, _complaint: &str) -> bool {
        false
    }
}

/// The package of the npm registry that holds an agent's program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Package {
    /// Its name, for this kind of machine.
    pub name: &'static str,
    /// The version that the adapter was tried with.
    pub version: &'static str,
    /// The program in it.
    pub program: &'static str,
}

/// Where a turn takes place, as the agent sees it.
#[derive(Clone, Copy, Debug)]
pub struct Stage<'a> {
    /// The directory in which it is free.
    pub workspace: &'a str,
    /// Its home.
    pub home: &'a str,
    /// The directory of the files that it is shown.
    pub shown: &'a str,
    /// The program that speaks MCP for it, and its arguments.
    pub bridge: &'a [String],
    /// The provider behind the model gate.
    pub provider: Provider,
    /// The model, if a person chose one.
    pub model: Option<&'a str>,
    /// The key that works at the model gate alone.
    pub fake_key: &'a str,
    /// How long a call may take, which includes the time for a person's answer.
    pub call_max: Duration,
    /// What the agent is told about where it is.
    pub orientation: &'a str,
    /// Whether there was a turn before, for agents that have to be told.
    pub goes_on: bool,
}

/// A file that an agent needs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SetupFile {
    /// Where it belongs.
    pub place: SetupPlace,
    /// Its path there.
    pub path: &'static str,
    /// What is in it.
    pub text: String,
}

/// Where a file of an agent belongs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SetupPlace {
    /// Among the files that it is shown, and cannot change.
    Shown,
    /// In its home when that is made; from then on it is the agent's.
    NewHome,
}

/// An agent's own interface, at a terminal.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct InterfaceCommand {
    /// The arguments of its program.
    pub arguments: Vec<String>,
    /// Its environment, besides what every program in its cage gets.
    pub environment: Vec<(&'static str, String)>,
}

/// One turn of an agent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TurnCommand {
    /// The arguments of its program.
    pub arguments: Vec<String>,
    /// Variables besides those that lead to the model gate.
    pub environment: Vec<(&'static str, String)>,
    /// What it reads from its standard input.
    pub input: String,
}

/// Something that an agent's output says.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// Text for the person.
    Text(String),
    /// A piece of a text for the person, which goes on until something else is said.
    Piece {
        /// The message that it belongs to.
        of: String,
        /// What is added to it.
        text: String,
    },
    /// It uses a tool of its own; ours are seen when they are called.
    UsesTool(String),
    /// Something went wrong; unless more is said, the turn has no answer, however it ends.
    Failed(Fault),
    /// The turn has ended.
    Ended(TurnEnd),
}

/// How a turn ended, as the agent says.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnEnd {
    /// The answer, if it is another than what was said last; or why there is none.
    pub outcome: Result<Option<String>, Fault>,
    /// What it says it used.
    pub usage: Option<Reported>,
}

/// What an agent says it used; what counts is what the model gate measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reported {
    /// Tokens that the models were given.
    pub prompt: u64,
    /// Tokens that they answered.
    pub completion: u64,
    /// Dollars, if it says so.
    pub cost_usd: Option<f64>,
}

/// Finds the agent of that name.
pub fn find(name: &str) -> Option<&'static dyn Adapter> {
    ALL.into_iter().find(|it| it.name() == name)
}

/// Returns the names of all agents.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|it| it.name()).collect()
}

impl SetupFile {
    fn shown(path: &'static str, text: String) -> Self {
        Self { place: SetupPlace::Shown, path, text }
    }

    fn in_new_home(path: &'static str, text: String) -> Self {
        Self { place: SetupPlace::NewHome, path, text }
    }
}

impl Stage<'_> {
    /// Returns where a shown file is.
    fn shown_file(&self, name: &str) -> String {
        Path::new(self.shown).join(name).display().to_string()
    }
}
