//! `ironcurtain proxy`: an MCP server in front of MCP servers, with a policy in between.
//!
//! Standard output belongs to the protocol; whatever a person should know goes to standard error.
//! One call's way through the house is in `ic_broker`.

mod open;
mod witness;

use std::io::IsTerminal as _;
use std::path::PathBuf;

use ic_broker::client::{Ended, serve};
use ic_broker::stdio;
use ic_home::Environment;
use ic_policy::SandboxKind;
use ic_session::Wait;
use ic_types::{AbsolutePath, SessionName};

use crate::commands::Exit;
use crate::error::Failure;
use crate::judge::Wanted;
use crate::opening::check_directory;
use crate::screen::Screen;
use crate::signals::stop_on_signals;

use open::Opener;

/// Serve MCP on standard input and output, with a policy between the client and its servers
///
/// Every call is judged, recorded, and forwarded or refused. Tools are offered as `server__tool`.
/// What the client does with tools of its own, such as a shell, is not seen and not judged: turn
/// those off in the client.
#[derive(Debug, clap::Args)]
pub(crate) struct ProxyArgs {
    /// Policy in force: `default`, `coding`, `readonly`, or a directory
    ///
    /// Without it, the policy of the `IronCurtain` home, or the built-in `default` if there is none.
    #[arg(long, value_name = "NAME|DIR")]
    policy: Option<PathBuf>,
    /// Directory in which the agent is free; without it, one that is made for the session
    #[arg(long, value_name = "DIR", conflicts_with = "workspace")]
    sandbox: Option<PathBuf>,
    /// Directory of your own to work in, where changing what the host runs later needs a person
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Servers file; without it that of the `IronCurtain` home, or the built-in servers
    #[arg(long, value_name = "FILE")]
    servers: Option<PathBuf>,
    /// Name of the session; one of that name that is not running is continued
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Let calls that need a person wait for an answer even if nobody is there to give one
    ///
    /// Without it such a call is denied at once, unless somebody is at a desk, for example with
    /// `ironcurtain approvals watch --desk`. A call waits as long as `escalationTimeoutSeconds` says.
    #[arg(long)]
    wait: bool,
}

/// Runs the command.
pub(crate) fn run(
    args: &ProxyArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let name = match &args.session {
        Some(name) => {
            Some(SessionName::of(name).map_err(|error| Failure::usage(error.to_string()))?)
        }
        None => None,
    };
    let wanted = Wanted {
        policy: args.policy.clone(),
        sandbox: args.sandbox(environment)?,
        protected: Vec::new(),
        servers: args.servers.clone(),
    };
    // A mistake in the policy or the servers file is to show now, and not with the first call.
    wanted.check(environment)?;
    if std::io::stdin().is_terminal() {
        screen.notice("waiting for an MCP client on standard input; Ctrl-D ends it");
    }
    // One thread: what takes time is done by servers, and handing a call from thread to thread costs
    // more than judging it.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| Failure::environment("cannot start").with_source(source))?;
    let ended = runtime.block_on(async {
        let (reader, writer) = (stdio::reader(), stdio::writer());
        let stream = |source| {
            Failure::environment("cannot use standard input and output").with_source(source)
        };
        let (reader, writer) = (reader.map_err(stream)?, writer.map_err(stream)?);
        let stop = stop_on_signals()?;
        let wait = if args.wait { Wait::ForAnybody } else { Wait::WhileAttended };
        let mut desk = None;
        let wanted = Some((wanted, name));
        let opener = Opener { wanted, wait, desk: &mut desk, environment, screen };
        let ended = serve(reader, writer, opener, &stop).await;
        if let Some(desk) = desk {
            // Before the servers end, which takes a while: nobody should answer what nobody asks.
            desk.close().await;
        }
        match ended {
            Ended::Done(None) => Ok(Exit::Success),
            Ended::Done(Some(broker)) => {
                broker.close().await?;
                Ok(Exit::Success)
            }
            Ended::NotOpened(failure) => Err(failure),
        }
    });
    // A thread that waits for a terminal's next line must not keep us.
    runtime.shutdown_background();
    ended
}

impl ProxyArgs {
    /// Returns the directory in which the agent is to be free, if the user names one.
    fn sandbox(
        &self,
        environment: &Environment,
    ) -> Result<Option<(AbsolutePath, SandboxKind)>, Failure> {
        let (what, path, kind) = match (&self.sandbox, &self.workspace) {
            (Some(path), _) => ("sandbox", path, SandboxKind::Session),
            (None, Some(path)) => ("workspace", path, SandboxKind::Workspace),
            (None, None) => return Ok(None),
        };
        let path = environment.absolute(path)?;
        check_directory(what, &path, environment)?;
        Ok(Some((path, kind)))
    }
}
