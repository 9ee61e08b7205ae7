//! `ironcurtain servers list`: every configured server, and what is known of it.
//!
//! No server is started; what would hold them is found out with a child of our own.

use std::path::PathBuf;
use std::sync::Arc;

use ic_confine::Confinement;
use ic_home::{Clock as _, Environment, Home, SystemClock, config};
use ic_inventory::PetitionKind;
use ic_inventory::pins::{Pin, Pins, PinsFile, Standing};
use ic_inventory::servers_file::{BuiltinServer, ServerConfig, ServersFile, Start};
use ic_opening::Holding;
use ic_opening::policy::{NoSandbox, Wanted};
use ic_policy::{Containment, SandboxKind};
use ic_types::{Json, Object, ServerName};

use super::drafts::{self, Drafts};
use super::{load, runs_here, what};
use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::Failure;
use crate::judge;
use crate::screen::{Screen, visible};
use crate::trial::Trial;

/// Show the configured servers
///
/// For each: whether it is trusted as it is started now, whether the policy counts on it being held
/// inside the sandbox, what would confine it, and `race: possible` if what it sees holds a directory
/// that the agent can write to and more, so that a link put there in time could lead it elsewhere.
/// No server is started.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Servers file; without it that of the IronCurtain home, or the built-in servers
    #[arg(long, value_name = "FILE")]
    servers: Option<PathBuf>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// What is said about one server.
struct Row<'a> {
    name: &'a ServerName,
    config: &'a ServerConfig,
    identity: Trust,
    held: Held,
    is_racy: bool,
    /// How many of its tools nobody has reviewed.
    n_drafts: usize,
    /// How many of its tools were never trusted, so that no session uses them.
    n_withheld: usize,
}

/// What would hold a server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Held {
    By(Confinement),
    /// Nothing can, so it would not be started.
    Refused,
}

/// What is known of how a server is started.
enum Trust {
    /// It is part of this program.
    Ours,
    /// It was never started.
    New,
    /// It is started as it was when it was trusted.
    Trusted { since: String, n_tools: usize },
    /// It is started in another way.
    Changed { since: String },
}

/// Runs the command.
pub(crate) fn run(
    args: &ListArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let servers = load(args.servers.as_deref(), environment)?;
    let home = home(environment)?;
    let file = PinsFile::of(&home);
    let pins = file.read()?;
    home.prepare()?;
    let trial = Trial::new_in(&home.root())?;
    let wanted = Wanted {
        policy: None,
        sandbox: Some((environment.absolute(&trial.sandbox())?, SandboxKind::Session)),
        protected: Vec::new(),
        servers: args.servers.clone(),
    };
    let holding = trial.holding(&home, environment)?;
    let loaded = judge::load(&wanted, NoSandbox::None, environment, screen)?;
    let judge = Arc::new(loaded.judge);
    let mut rows = Vec::new();
    for (name, config) in servers.iter() {
        let recipe = trial.recipe((name, config), &judge, &holding, environment)?;
        let (n_drafts, n_withheld) = match config.start {
            Start::Builtin(_) => (0, 0),
            Start::Command(_) | Start::Url(_) => unreviewed(name, pins.get(name), &home),
        };
        rows.push(Row {
            name,
            config,
            identity: Trust::of(name, config, (&file, &pins)),
            held: Held::of(config, &holding),
            is_racy: recipe.is_racy(),
            n_drafts,
            n_withheld,
        });
    }
    if args.json {
        let all = rows.iter().map(|row| Json::Object(row.to_object())).collect();
        screen.json(&Json::Array(all).to_string())?;
    } else {
        print(&rows, screen)?;
        for name in off(&servers) {
            screen.folded(&format!(
                "{name}  off; `ironcurtain servers restore {name}` switches it on again"
            ))?;
        }
        if !rows.is_empty() {
            screen.line("")?;
            screen.line(&in_force(&holding))?;
        }
    }
    Ok(Exit::Success)
}

/// Returns the built-in servers that are switched off.
fn off(servers: &ServersFile) -> impl Iterator<Item = &'static str> {
    let names = BuiltinServer::ALL.into_iter().map(BuiltinServer::as_str);
    names.filter(|name| servers.get(name).is_none())
}

fn print(rows: &[Row<'_>], screen: &mut Screen) -> Result<(), Failure> {
    if rows.is_empty() {
        return screen.line("no server is configured");
    }
    let cells: Vec<_> = rows.iter().map(Row::cells).collect();
    let mut widths = [0; 5];
    for row in &cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for (row, cells) in rows.iter().zip(&cells) {
        let [name, identity, contained, confined, race, what] = cells;
        let [name_width, identity_width, contained_width, confined_width, race_width] = widths;
        screen.folded(&format!(
            "{name:name_width$}  {identity:identity_width$}  {contained:contained_width$}  \
             {confined:confined_width$}  {race:race_width$}  {what}"
        ))?;
        for line in row.notes() {
            screen.folded(&format!("{:name_width$}  {line}", ""))?;
        }
    }
    Ok(())
}

/// Says what holds servers here.
fn in_force(holding: &Holding) -> String {
    match (holding.mode, holding.confinement) {
        (config::Confinement::Enforce, Confinement::None) => {
            "MCP servers cannot be confined on this machine, so none is started; `ironcurtain doctor` \
             says what to do."
                .to_owned()
        }
        _ => format!("In a session: {}.", holding.header()),
    }
}

impl Held {
    fn of(config: &ServerConfig, holding: &Holding) -> Self {
        match (holding.mode, holding.of(config)) {
            (config::Confinement::Enforce, Confinement::None) if config.is_to_be_confined => {
                Self::Refused
            }
            (_, confinement) => Self::By(confinement),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::By(Confinement::None) => "none",
            Self::By(Confinement::Cage(rung)) => rung.as_str(),
            Self::Refused => "refused",
        }
    }
}

impl Row<'_> {
    fn cells(&self) -> [String; 6] {
        let (confined, race) = match runs_here(&self.config.start) {
            true => (format!("confined: {}", self.held.name()), self.race()),
            false => ("on another machine".to_owned(), ""),
        };
        [
            self.name.to_string(),
            self.identity.shown(),
            if self.is_contained() { "contained" } else { "not contained" }.to_owned(),
            confined,
            race.to_owned(),
            what(&self.config.start),
        ]
    }

    /// Returns what does not fit into a cell.
    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.config.description.iter().map(|it| visible(it)).collect();
        for (kind, whom) in [
            (PetitionKind::Sampling, "the client's model"),
            (PetitionKind::Elicitation, "you, through the client"),
        ] {
            if self.config.asks.allow(kind) {
                notes.push(format!("may send requests to {whom}, if you approve each one"));
            }
        }
        if 0 < self.n_drafts {
            // More than the tools that are counted above: methods such as reading a resource are reviewed too.
            let what = match self.n_drafts {
                1 => "1 tool or method".to_owned(),
                n => format!("{n} tools and methods"),
            };
            notes.push(format!(
                "{what} not reviewed, so calls need approval; `ironcurtain servers review {}`",
                self.name
            ));
        }
        if 0 < self.n_withheld {
            notes.push(format!(
                "{} withheld, since nobody trusted what the server says of it; `ironcurtain servers trust {}` \
                 says why",
                tools(self.n_withheld),
                self.name
            ));
        }
        if matches!(self.identity, Trust::Changed { .. }) {
            notes.push(format!(
                "its command or its files have changed since it was trusted, so it is withheld; \
                 `ironcurtain servers trust {}` shows what differs",
                self.name
            ));
        }
        notes
    }

    fn is_contained(&self) -> bool {
        match self.config.containment {
            Containment::Loose => false,
            Containment::Contained | Containment::ContainedFilesystem => true,
        }
    }

    fn race(&self) -> &'static str {
        if self.is_racy { "race: possible" } else { "" }
    }

    fn to_object(&self) -> Object {
        let runs_here = runs_here(&self.config.start);
        let mut row = Object::new();
        row.insert("name", self.name.as_str());
        match &self.config.start {
            Start::Builtin(builtin) => row.insert("builtin", builtin.as_str()),
            Start::Command(line) => {
                let words = std::iter::once(&line.program).chain(&line.arguments);
                row.insert("command", words.map(|it| Json::from(it.as_str())).collect::<Vec<_>>());
            }
            Start::Url(remote) => {
                row.insert("url", remote.url.as_str());
                let names = remote.headers.keys().map(|it| Json::from(it.as_str()));
                row.insert("headers", names.collect::<Vec<_>>());
            }
        }
        let description = self.config.description.as_deref();
        row.insert("description", description.map_or(Json::Null, Json::from));
        row.insert("available", true);
        self.identity.write(&mut row);
        row.insert("contained", self.is_contained());
        let held = Json::from(self.held.name());
        row.insert("confinement", if runs_here { held } else { Json::Null });
        let race = if self.is_racy { "possible" } else { "none" };
        row.insert("race", if runs_here { Json::from(race) } else { Json::Null });
        row
    }
}

impl Trust {
    fn of(name: &ServerName, config: &ServerConfig, (file, pins): (&PinsFile, &Pins)) -> Self {
        if matches!(config.start, Start::Builtin(_)) {
            return Self::Ours;
        }
        let (since, n_tools) = match pins.get(name) {
            Some(pin) => (pin.at.clone(), pin.tools.len()),
            None => (String::new(), 0),
        };
        // A package that cannot be looked at is not what it was.
        let standing = match file.identity(config, SystemClock.now()) {
            Ok((identity, _)) => pins.of_start(name, &identity),
            Err(_) => Standing::Changed,
        };
        match standing {
            Standing::New => Self::New,
            Standing::Trusted => Self::Trusted { since, n_tools },
            Standing::Changed => Self::Changed { since },
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Ours => "built in".to_owned(),
            Self::New => "new".to_owned(),
            Self::Trusted { since, n_tools } => {
                format!("trusted since {} ({})", visible(since), tools(*n_tools))
            }
            Self::Changed { since } => format!("changed (trusted {})", visible(since)),
        }
    }

    fn write(&self, row: &mut Object) {
        let (word, since, n_tools) = match self {
            Self::Ours => ("ours", None, None),
            Self::New => ("new", None, None),
            Self::Trusted { since, n_tools } => ("trusted", Some(since), Some(*n_tools)),
            Self::Changed { since } => ("changed", Some(since), None),
        };
        row.insert("identity", word);
        if let Some(since) = since {
            row.insert("trustedAt", since.as_str());
        }
        if let Some(n_tools) = n_tools {
            row.insert("pinnedTools", n_tools as u64);
        }
    }
}

/// Counts the tools of a server that nobody has reviewed, and those that were never trusted.
fn unreviewed(name: &ServerName, pin: Option<&Pin>, home: &Home) -> (usize, usize) {
    let Ok(drafts) = Drafts::read(name, home) else { return (0, 0) };
    let n_drafts = drafts.tools().iter().filter(|tool| drafts::is_draft(tool)).count();
    let n_withheld = pin.map_or(0, |pin| drafts::not_pinned(&drafts, pin).count());
    (n_drafts.saturating_sub(n_withheld), n_withheld)
}

/// Counts tools in words.
pub(in crate::commands) fn tools(n: usize) -> String {
    match n {
        1 => "1 tool".to_owned(),
        n => format!("{n} tools"),
    }
}
