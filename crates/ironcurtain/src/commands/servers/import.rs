//! `ironcurtain servers import`: the MCP servers of other clients, shown, and added on request.
//!
//! ```text
//! a client's file ─▶ read, whatever its format ─▶ servers ─▶ secrets become references ─▶ shown, or added
//! ```
//!
//! The files are read and never changed. A secret in one of them is neither printed nor copied: the entry
//! refers to a variable, and the person is told which.

mod clients;
mod far;
mod formats;
mod headers;
mod secrets;

use std::path::{Path, PathBuf};

use ic_home::Environment;
use ic_types::ServerName;
use serde::Serialize;

use super::add::Plan;
use super::{load, shown_word};
use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::Failure;
use crate::files;
use crate::screen::{Screen, visible};

use clients::{CLIENTS, Client, Found, Line};

/// Show the MCP servers of other clients, and add those that you name
///
/// Reads the configuration of Claude Desktop, Claude Code, Cursor, VS Code, Codex, Goose and `OpenCode`.
/// Without a name it only shows what is there; with names, these servers are added as `servers add`
/// would, those on other machines by their `https` address and with their headers. Secrets are not
/// copied: the entry refers to a variable instead, and says which.
#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// Servers to add
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Add every server that can be
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Look at one client only: `claude-desktop`, `claude-code`, `cursor`, `vscode`, `codex`, `goose`,
    /// `opencode`
    #[arg(long, value_name = "CLIENT")]
    client: Option<String>,
    /// Look at this file, which is one of the named client's
    #[arg(long, value_name = "FILE", requires = "client")]
    file: Option<PathBuf>,
    /// Host that what is added may connect to (can be repeated)
    #[arg(long, value_name = "HOST")]
    allow_domain: Vec<String>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// What is said of a server that was found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    name: String,
    client: &'static str,
    file: String,
    command: String,
    /// The variables that have to be set, because they stand for secrets.
    secrets: Vec<String>,
    /// Why it cannot be added, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
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
        let rows: Vec<Row> = found.iter().map(|found| found.row(is_known(&found.name))).collect();
        show(&rows, args.json, screen)?;
        return Ok(Exit::Success);
    }
    let chosen = match args.all {
        true => found.into_iter().filter(|it| !is_known(&it.name) && it.line.is_ok()).collect(),
        false => chosen(&args.names, found)?,
    };
    let home = home(environment)?;
    let mut has_failed = false;
    for found in chosen {
        let (name, secrets) = (found.name.clone(), found.secrets.clone());
        let plan = found.plan(args.allow_domain.clone());
        let added = plan.and_then(|plan| plan.add(&home, environment, screen));
        match added {
            Ok(()) => {
                for variable in secrets {
                    screen.line(&format!(
                        "{}: set {} in the environment that `ironcurtain` is started \
                         with; it stands for a secret, which was not copied",
                        visible(&name),
                        visible(&variable)
                    ))?;
                }
            }
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
    let clients: Vec<&Client> = match &args.client {
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
    let mut found = Vec::new();
    for client in clients {
        let paths: Vec<PathBuf> = match &args.file {
            Some(file) => vec![environment.absolute(file)?.as_path().to_owned()],
            None => client.paths.iter().map(|path| user.as_path().join(path)).collect(),
        };
        for path in paths {
            let bytes = match (files::read_if_present(&path)?, &args.file) {
                (Some(bytes), _) => bytes,
                (None, None) => continue,
                (None, Some(_)) => files::read(&path)?,
            };
            match client.read(&path, &bytes) {
                Ok(servers) => found.extend(servers),
                Err(why) => {
                    screen.warning(&format!("`{}` cannot be read: {why}", path.display()));
                }
            }
        }
    }
    Ok(found)
}

fn chosen(names: &[String], found: Vec<Found>) -> Result<Vec<Found>, Failure> {
    let mut rest: Vec<Option<Found>> = found.into_iter().map(Some).collect();
    let mut chosen = Vec::new();
    for name in names {
        let place = rest.iter_mut().find(|it| it.as_ref().is_some_and(|it| it.name == *name));
        match place.and_then(Option::take) {
            Some(found) => chosen.push(found),
            None => {
                return Err(Failure::usage(format!("no client has a server `{}`", visible(name)))
                    .with_hint("`ironcurtain servers import` shows those that there are"));
            }
        }
    }
    Ok(chosen)
}

fn show(rows: &[Row], json: bool, screen: &mut Screen) -> Result<(), Failure> {
    if json {
        return screen.json(&serde_json::to_string(rows).unwrap_or_default());
    }
    if rows.is_empty() {
        return screen.line("no client has a server that could be imported");
    }
    for row in rows {
        let mut lines = vec![format!("{}: {} ({})", visible(&row.name), row.command, row.client)];
        if !row.secrets.is_empty() {
            let secrets = visible(&row.secrets.join(", "));
            lines.push(format!("  secrets, as variables to be set: {secrets}"));
        }
        if let Some(problem) = &row.problem {
            lines.push(format!("  not to be added: {}", visible(problem)));
        }
        screen.lines(&lines)?;
    }
    screen.notice("`ironcurtain servers import NAME…` adds those that you name");
    Ok(())
}

impl Found {
    fn row(&self, is_known: bool) -> Row {
        let problem = match (&self.line, self.name.parse::<ServerName>()) {
            _ if is_known => Some("there is a server of that name".to_owned()),
            (_, Err(error)) => Some(error.to_string()),
            (Err(why), _) => Some(why.clone()),
            (Ok(_), Ok(_)) => None,
        };
        let command = match &self.line {
            Ok(Line { far: Some(far), .. }) => shown_word(&far.url),
            Ok(line) => {
                line.command.iter().map(|word| shown_word(word)).collect::<Vec<_>>().join(" ")
            }
            Err(_) => "(no command)".to_owned(),
        };
        let (name, file) = (self.name.clone(), self.file.display().to_string());
        Row { name, client: self.client, file, command, secrets: self.secrets.clone(), problem }
    }

    fn plan(self, allow_domain: Vec<String>) -> Result<Plan, Failure> {
        let name: ServerName = self.name.parse().map_err(|error| {
            Failure::usage(format!("`{}` is no name for a server", visible(&self.name)))
                .with_source(error)
        })?;
        let Line { command, env, far } = self.line.map_err(|why| {
            Failure::config(format!(
                "the server `{name}` of {} cannot be added: {why}",
                self.client
            ))
        })?;
        Ok(Plan {
            name,
            command,
            far,
            env,
            allow_domain,
            allow_read: Vec::new(),
            allow_write: Vec::new(),
            is_contained: false,
            description: Some(format!("imported from {}", self.client)),
            is_serial: false,
        })
    }
}

/// Returns a file's name, for a message.
fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.display().to_string()).unwrap_or_default()
}
