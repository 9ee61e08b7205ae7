//! `ironcurtain servers add`: the command line of a server, read; adding it is the business of `plan`.

use std::path::PathBuf;

use ic_home::Environment;
use ic_types::ServerName;

use super::plan::{Far, Plan};
use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::Failure;
use crate::screen::{Screen, visible};

/// Add an MCP server, in a cage of its own
///
/// `npx PACKAGE …` and `uvx PACKAGE …` are installed once, in a cage that reaches the package index alone,
/// with exact versions and their integrity, and run from there; no script of a package is run by that. Any
/// other command is taken as it is; with `--from DIR` that directory is copied and the command runs from the
/// copy, which no agent can change. The
/// server is then started in its cage and its tools are listed; what their arguments mean is guessed,
/// and every call needs approval until you confirm it with `servers review`. `${SANDBOX}`, `${WORKSPACE}`,
/// `${HOME}` and `${ENV:NAME}` in the command and in `--env` are filled in by each session, and so is
/// `${DATA}`, a directory in which the server keeps what is to outlive a session. A server whose command
/// names `${SANDBOX}` may write there. With `--url` it is a server on another machine, which is connected
/// to instead.
#[derive(Debug, clap::Args)]
pub(crate) struct AddArgs {
    /// What to call it: its tools are offered as `NAME__tool`
    name: String,
    /// Variable in its environment; without a value, the one that `ironcurtain` is started with
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// Host that it may connect to (can be repeated)
    #[arg(long, value_name = "HOST")]
    allow_domain: Vec<String>,
    /// File or directory that its cage shows (can be repeated)
    #[arg(long, value_name = "PATH")]
    allow_read: Vec<String>,
    /// File or directory that it may write, too (can be repeated)
    #[arg(long, value_name = "PATH")]
    allow_write: Vec<String>,
    /// Let it write in the sandbox; calls that stay there need no approval once its tools are reviewed
    #[arg(long)]
    contained: bool,
    /// Address of a server on another machine, in the place of a command
    #[arg(
        long,
        value_name = "URL",
        conflicts_with_all = ["env", "allow_read", "allow_write", "contained"]
    )]
    url: Option<String>,
    /// Header for each request to it, with `${ENV:NAME}` for what is secret (can be repeated)
    #[arg(long, value_name = "NAME: VALUE", requires = "url")]
    header: Vec<String>,
    /// Directory that is copied, and that the server is run from; for one that lies where an agent works
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    from: Option<PathBuf>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Its calls run one after another
    #[arg(long)]
    serial: bool,
    /// The command that starts it
    #[arg(
        last = true,
        required_unless_present = "url",
        conflicts_with = "url",
        value_name = "COMMAND"
    )]
    command: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(
    args: AddArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let name = args.name.parse::<ServerName>();
    let name = name.map_err(|error| Failure::usage(visible(&error.to_string())))?;
    super::refuse_reserved(&name)?;
    let env = args.env.iter().map(|text| variable(text)).collect::<Result<_, _>>()?;
    let headers = args.header.iter().map(|text| header(text)).collect::<Result<_, _>>()?;
    let plan = Plan {
        name,
        command: args.command,
        from: args.from,
        directory: None,
        far: args.url.map(|url| Far { url, headers }),
        env,
        allow_domain: args.allow_domain,
        allow_read: args.allow_read,
        allow_write: args.allow_write,
        is_contained: args.contained,
        description: args.description,
        is_serial: args.serial,
    };
    plan.add(&home(environment)?, environment, screen)?;
    Ok(Exit::Success)
}

/// Reads `NAME=VALUE`, or `NAME`, which stands for the variable of that name.
fn variable(text: &str) -> Result<(String, String), Failure> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, value.to_owned()),
        None => (text, format!("${{ENV:{text}}}")),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match !name.is_empty() && name.chars().all(is_name) {
        true => Ok((name.to_owned(), value)),
        false => Err(Failure::usage(format!("`{}` is not a valid variable name", visible(name)))),
    }
}

/// Reads `NAME: VALUE`; a mistake is told of without the value.
fn header(text: &str) -> Result<(String, String), Failure> {
    let (name, value) = text.split_once(':').ok_or_else(|| {
        Failure::usage("a header is written as `NAME: VALUE`")
            .with_hint("`--header 'Authorization: Bearer ${ENV:TOKEN}'`")
    })?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}
