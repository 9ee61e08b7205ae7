//! `ironcurtain servers import`: the MCP servers of other clients, shown, and added on request.
//!
//! ```text
//! a client's file ─▶ read, whatever its format ─▶ servers ─▶ secrets become references ─▶ shown, or added
//! ```
//!
//! The files are read and never changed. A secret in one of them is neither printed nor copied: the entry
//! refers to a variable, and the person is told which.

mod choice;
mod clients;
mod entry;
mod far;
pub(in crate::commands) mod formats;
mod headers;
mod left_out;
mod places;
mod references;
pub(super) mod secrets;
mod shown;

use std::path::{Path, PathBuf};

use ic_home::Environment;
use ic_types::ServerName;

use super::load;
use super::plan::Plan;
use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::Failure;
use crate::files;
use crate::screen::{Screen, visible};

use choice::Chosen;
use clients::{CLIENTS, Client};
use entry::{Found, Line};
use places::{Origin, Reach};
use references::Machine;

/// The most servers that are read; more than anybody has, and few enough to be looked at.
const SERVERS_MAX: usize = 200;

/// Show the MCP servers of other clients, and add those that you name
///
/// Reads the configuration of Claude Desktop, Claude Code, Cursor, VS Code, Codex, Goose and `OpenCode`,
/// yours and that of the project in the current directory. Without a name it only shows what is there;
/// with names, these servers are added as `servers add` would, those on other machines by their `https`
/// address and with their headers. The files stay as they are: take out of them what was added. Secrets
/// are not copied: the entry refers to a variable instead, and says which.
#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// Servers to add
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Add every server that can be, but for those that are switched off or come with a project
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Look at one client only: `claude-desktop`, `claude-code`, `cursor`, `vscode`, `codex`, `goose`,
    /// `opencode`
    #[arg(long, value_name = "CLIENT")]
    client: Option<String>,
    /// Look at this file only, which is one of the named client's
    #[arg(long, value_name = "FILE", requires = "client")]
    file: Option<PathBuf>,
    /// Look only at what Claude Code keeps for this directory
    #[arg(long, value_name = "DIR")]
    project: Option<String>,
    /// Host that what is added may connect to (can be repeated)
    #[arg(long, value_name = "HOST")]
    allow_domain: Vec<String>,
    /// File or directory that the cage of what is added shows (can be repeated)
    #[arg(long, value_name = "PATH")]
    allow_read: Vec<String>,
    /// File or directory that what is added may write, too (can be repeated)
    #[arg(long, value_name = "PATH")]
    allow_write: Vec<String>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(
    args: &ImportArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let found = find(args, environment, screen)?;
    let known = load(None, environment)?;
    let is_known = |name: &str| known.get(name).is_some();
    if args.names.is_empty() && !args.all {
        shown::show(&found, is_known, args.json, screen)?;
        return Ok(Exit::Success);
    }
    let chosen = match args.all {
        true => choice::all(found, args.file.is_some(), is_known),
        false => Chosen { servers: choice::by_name(&args.names, found)?, refused: Vec::new() },
    };
    let mut has_failed = !chosen.refused.is_empty();
    for failure in chosen.refused {
        screen.warning(&failure.to_string());
    }
    let home = home(environment)?;
    for found in chosen.servers {
        let name = found.name.clone();
        let told = shown::told(&found);
        if found.origin.reach == Reach::Project {
            screen.notice(&format!("{} is {}", visible(&name), shown::origin(&found.origin)));
        }
        let plan = found.plan(args);
        let added = plan.and_then(|plan| plan.add(&home, environment, screen));
        match added {
            Ok(()) => screen.lines(&told)?,
            // Of several, the others are added all the same.
            Err(failure) if args.all || 1 < args.names.len() => {
                screen.warning(&format!("{name}: {failure}"));
                has_failed = true;
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(if has_failed { Exit::Failed } else { Exit::Success })
}

/// Reads the files of the clients.
fn find(
    args: &ImportArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Vec<Found>, Failure> {
    let clients: Vec<&'static Client> = match &args.client {
        None => CLIENTS.iter().collect(),
        Some(name) => {
            let Some(client) = CLIENTS.iter().find(|client| client.name == name) else {
                let names: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
                return Err(Failure::usage(format!("there is no client `{}`", visible(name)))
                    .with_hint(format!("there are {}", names.join(", "))));
            };
            vec![client]
        }
    };
    let user = environment.home()?;
    let is_set = |name: &str| !environment.server_variables([name.to_owned()]).is_empty();
    let machine = Machine { home: user.as_path().to_str(), is_set: &is_set };
    let mut found = Vec::new();
    for client in clients {
        let origins = match &args.file {
            Some(file) => {
                let file = environment.absolute(file)?.as_path().to_owned();
                // A project's file stays a project's, whoever names it.
                let mut known = places::of(client, user.as_path(), environment).into_iter();
                let known = known.find(|it| it.file == file).map(|it| it.reach);
                let reach = known.unwrap_or(Reach::Own);
                vec![Origin { client: client.name, file, reach, project: None }]
            }
            None => places::of(client, user.as_path(), environment),
        };
        for origin in origins {
            let read = match &args.file {
                Some(_) => Some(files::read(&origin.file)?),
                None => files::read_if_present(&origin.file).unwrap_or_else(|failure| {
                    screen.warning(&failure.to_string());
                    None
                }),
            };
            let Some(bytes) = read else { continue };
            match client.read(&origin, &bytes, machine) {
                Ok(mut servers) => {
                    servers.retain(|it| args.names.is_empty() || args.names.contains(&it.name));
                    take(servers, &origin, &mut found, screen);
                }
                Err(why) => {
                    screen.warning(&format!("`{}` cannot be read: {why}", origin.file.display()));
                }
            }
        }
    }
    if let Some(project) = &args.project {
        found.retain(|it| it.origin.project.as_ref() == Some(project));
    }
    Ok(found)
}

/// Adds the servers of one file, as many as people look at.
fn take(servers: Vec<Found>, origin: &Origin, found: &mut Vec<Found>, screen: &mut Screen) {
    let (n_all, room) = (servers.len(), SERVERS_MAX.saturating_sub(found.len()));
    found.extend(servers.into_iter().take(room));
    if room < n_all {
        screen.warning(&format!(
            "`{}` has {n_all} servers, of which {} are left out: at most {SERVERS_MAX} are read in all; \
             `--file` with a shorter file reads the others",
            visible(&origin.file.display().to_string()),
            n_all - room
        ));
    }
}

impl Found {
    fn plan(self, args: &ImportArgs) -> Result<Plan, Failure> {
        let name = self.name.parse::<ServerName>();
        let name = name.map_err(|error| Failure::usage(visible(&error.to_string())))?;
        super::refuse_reserved(&name)?;
        let client = self.origin.client;
        let Line { command, env, directory, far } = self.line.map_err(|why| {
            Failure::config(format!("the server `{name}` of {client} cannot be added: {why}"))
        })?;
        Ok(Plan {
            name,
            command,
            from: None,
            directory,
            far,
            env,
            allow_domain: args.allow_domain.clone(),
            allow_read: args.allow_read.clone(),
            allow_write: args.allow_write.clone(),
            is_contained: false,
            description: Some(format!("imported from {client}")),
            is_serial: false,
        })
    }
}

/// Returns a file's name, for a message.
fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.display().to_string()).unwrap_or_default()
}
