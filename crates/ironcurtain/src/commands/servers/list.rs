//! `ironcurtain servers list`: every configured server, and what is known of it.
//!
//! Nothing is started.

use std::path::PathBuf;

use ic_broker::pins::{Identity, Pins, PinsFile, Standing};
use ic_broker::servers_file::{ServerConfig, Start};
use ic_home::Environment;
use ic_policy::Containment;
use ic_types::{Json, Object, ServerName};

use super::{NOT_YET, is_there, load, what};
use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::Failure;
use crate::screen::{Screen, visible};

/// Show the configured servers
///
/// For each: whether it is trusted as it is started now, whether the policy counts on it being held
/// inside the sandbox, what confines it, and `race: possible` if what it sees holds a directory that
/// the agent can write to and more, so that a link put there in time could lead it elsewhere.
/// Nothing is started.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Servers file; without it that of the `IronCurtain` home, or the built-in servers
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
    let pins = PinsFile::of(&home(environment)?).read()?;
    let rows: Vec<Row<'_>> = servers
        .iter()
        .map(|(name, config)| Row { name, config, identity: Trust::of(name, config, &pins) })
        .collect();
    if args.json {
        let rows = rows.iter().map(|row| Json::Object(row.to_object())).collect();
        screen.line(&Json::Array(rows).to_string())?;
    } else {
        print(&rows, screen)?;
    }
    Ok(Exit::Success)
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
        screen.line(&format!(
            "{name:name_width$}  {identity:identity_width$}  {contained:contained_width$}  \
             {confined:confined_width$}  {race:race_width$}  {what}"
        ))?;
        for line in row.notes() {
            screen.line(&format!("{:name_width$}  {line}", ""))?;
        }
    }
    screen.line("")?;
    screen.line(
        "confined: none, whatever `sandbox` in the servers file and `confinement` say: there are no \
         cages yet,",
    )?;
    screen.line("and MCP servers run with all of your rights.")
}

impl Row<'_> {
    fn cells(&self) -> [String; 6] {
        let is_there = is_there(&self.config.start);
        let (confined, race, is_not_yet) = match is_there {
            true => ("confined: none", self.race(), String::new()),
            false => ("", "", format!(" ({NOT_YET})")),
        };
        [
            self.name.to_string(),
            self.identity.shown(),
            if self.is_contained() { "contained" } else { "not contained" }.to_owned(),
            confined.to_owned(),
            race.to_owned(),
            format!("{}{is_not_yet}", what(&self.config.start)),
        ]
    }

    /// Returns what does not fit into a cell.
    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.config.description.iter().map(|it| visible(it)).collect();
        if matches!(self.identity, Trust::Changed { .. }) {
            notes.push(format!(
                "started in another way than it was when it was trusted, so it is withheld; \
                 `ironcurtain servers trust {}` shows the difference",
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

    /// Our own open everything beneath a handle; whoever is not confined sees all there is.
    fn race(&self) -> &'static str {
        match self.config.start {
            Start::Builtin(_) => "race: none",
            Start::Command(_) | Start::Url(_) => "race: possible",
        }
    }

    fn to_object(&self) -> Object {
        let is_there = is_there(&self.config.start);
        let mut row = Object::new();
        row.insert("name", self.name.as_str());
        match &self.config.start {
            Start::Builtin(builtin) => row.insert("builtin", builtin.as_str()),
            Start::Command(line) => {
                let words = std::iter::once(&line.program).chain(&line.arguments);
                row.insert("command", words.map(|it| Json::from(it.as_str())).collect::<Vec<_>>());
            }
            Start::Url(url) => row.insert("url", url.as_str()),
        }
        let description = self.config.description.as_deref();
        row.insert("description", description.map_or(Json::Null, Json::from));
        row.insert("available", is_there);
        if !is_there {
            row.insert("reason", NOT_YET);
        }
        self.identity.write(&mut row);
        row.insert("contained", self.is_contained());
        row.insert("confinement", if is_there { Json::from("none") } else { Json::Null });
        let race = self.race().trim_start_matches("race: ");
        row.insert("race", if is_there { Json::from(race) } else { Json::Null });
        row
    }
}

impl Trust {
    fn of(name: &ServerName, config: &ServerConfig, pins: &Pins) -> Self {
        if matches!(config.start, Start::Builtin(_)) {
            return Self::Ours;
        }
        let (since, n_tools) = match pins.get(name) {
            Some(pin) => (pin.at.clone(), pin.tools.len()),
            None => (String::new(), 0),
        };
        match pins.of_start(name, &Identity::of(config)) {
            Standing::New => Self::New,
            Standing::Trusted => Self::Trusted { since, n_tools },
            Standing::Changed => Self::Changed { since },
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Ours => "ours".to_owned(),
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

/// Counts tools in words.
pub(super) fn tools(n: usize) -> String {
    match n {
        1 => "1 tool".to_owned(),
        n => format!("{n} tools"),
    }
}
