//! `ironcurtain mcp-server`: one of the built-in MCP servers, on standard input and output.
//!
//! The proxy starts these, confined; any other MCP client can, too. No policy is asked here: what a
//! server may touch is what it is given on the command line.

mod fetch;
mod shell;

use std::io;
use std::os::fd::AsFd as _;
use std::path::PathBuf;

use ic_home::Environment;
use ic_servers::filesystem::Hands;
use ic_servers::{Ended, Filesystem, Git, Tools, View, serve};

use crate::commands::Exit;
use crate::error::Failure;
use crate::screen::Screen;
use fetch::FetchArgs;
use shell::ShellArgs;

/// Run one of the built-in MCP servers on standard input and output
///
/// The server ends when its input ends. It asks no policy: what it may touch is what the command
/// line says.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum McpServerCommand {
    Filesystem(FilesystemArgs),
    Git(GitArgs),
    Fetch(FetchArgs),
    #[command(hide = true)]
    Shell(ShellArgs),
}

/// Serve files in some directories
///
/// Nothing outside of the directories is read or changed, wherever a link leads.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(crate) struct FilesystemArgs {
    /// Directory that can be read and changed; links are followed as long as they stay in one
    #[arg(value_name = "DIR", group = "what")]
    directories: Vec<PathBuf>,
    /// Directories with rights, what is left out of them, and what is done about links, as JSON
    ///
    /// For example `{"directories":[{"path":"/a","rights":["read","write","delete"]}],
    /// "leaveOut":["/a/.git"],"only":null,"links":"refuse"}`; `only` can be a list of paths with
    /// rights, beyond which nothing is reached, and `links` is `refuse` or `follow`.
    #[arg(long, value_name = "JSON", group = "what")]
    view: Option<String>,
    /// Change nothing, but ask the client to do it with the request `ironcurtain/deed`
    #[arg(long, requires = "view")]
    ask_for_changes: bool,
}

/// Serve git repositories in some directories
///
/// Runs the `git` program without the configuration of the system, the user or the repository: no
/// hook, filter or other program that a repository names is run. Another machine is reached only for a
/// client that lends what it takes, as the proxy does.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(crate) struct GitArgs {
    /// Directory with repositories, or one itself; links are followed as long as they stay in one
    #[arg(value_name = "DIR", group = "what")]
    directories: Vec<PathBuf>,
    /// Directories with rights, as for the filesystem server, as JSON
    #[arg(long, value_name = "JSON", group = "what")]
    view: Option<String>,
}

/// Runs the command.
pub(crate) fn run(
    command: McpServerCommand,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    match command {
        McpServerCommand::Filesystem(args) => {
            let hands = if args.ask_for_changes { Hands::Asking } else { Hands::Own };
            let view = view(args.view.as_deref(), &args.directories, environment)?;
            talk(&Filesystem::open(&view, hands)?, screen)
        }
        McpServerCommand::Git(args) => {
            let view = view(args.view.as_deref(), &args.directories, environment)?;
            talk(&Git::open(&view, environment.temporary()?.as_path())?, screen)
        }
        McpServerCommand::Fetch(args) => talk(&fetch::open(&args, environment)?, screen),
        McpServerCommand::Shell(args) => talk(&shell::open(&args)?, screen),
    }
}

fn view(
    view: Option<&str>,
    directories: &[PathBuf],
    environment: &Environment,
) -> Result<View, Failure> {
    if let Some(view) = view {
        return Ok(View::parse(view)?);
    }
    let absolute = directories.iter().map(|directory| environment.absolute(directory));
    Ok(View::of_directories(&absolute.collect::<Result<Vec<_>, _>>()?)?)
}

/// Serves until one of the streams ends.
fn talk(server: &dyn Tools, screen: &mut Screen) -> Result<Exit, Failure> {
    screen.out().flush().map_err(Failure::output)?;
    // The screen holds the lock on standard output for as long as the program runs, and the server
    // answers from several threads: so it writes to the descriptor itself, which has no lock.
    let (input, output) = (io::stdin(), io::stdout());
    match serve(server, input.as_fd(), output.as_fd())? {
        // A client that goes away in either order is done with us.
        Ended::InputClosed | Ended::OutputClosed => Ok(Exit::Success),
    }
}
