//! `ironcurtain proxy`: an MCP server in front of MCP servers, with a policy in between.
//!
//! Standard output belongs to the protocol, unless clients come to a socket; whatever a person should
//! know goes to standard error.
//! One call's way through the house is in `ic_broker`.

mod clients;
mod open;
mod witness;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;

use ic_client::client::{Ended, serve};
use ic_client::socket::{Socket, SocketError};
use ic_client::stdio;
use ic_home::{Environment, Home};
use ic_judge::method::CallMethod;
use ic_opening::policy::{Wanted, refuse_path_in_sandbox};
use ic_opening::workspace::check_directory;
use ic_policy::SandboxKind;
use ic_session::{ProxySession, SessionError, SessionHandle as _, Wait};
use ic_types::{AbsolutePath, SessionName};

use crate::commands::Exit;
use crate::error::Failure;
use crate::screen::Screen;
use crate::signals::stop_on_signals;

use open::Opener;

/// Serve MCP on standard input and output, with a policy between the client and its servers
///
/// Every call is judged, recorded, and forwarded or refused. Tools are offered as `server__tool`.
/// IronCurtain neither sees nor judges the client's own tools, such as a shell: turn them off in
/// the client.
#[derive(Debug, clap::Args)]
pub(crate) struct ProxyArgs {
    /// Serve any number of clients on this Unix socket instead, until a signal ends it
    ///
    /// All of them share one session. Only your own user can connect. The socket may not lie in the
    /// sandbox; the directory is made if it is missing, and may not be one that others can write.
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Policy in force: `default`, `coding`, `readonly`, one of your own by name, or a directory
    ///
    /// Without it, the one that `ironcurtain policy use` chose, or the built-in `default`.
    #[arg(long, value_name = "NAME|DIR")]
    pub(crate) policy: Option<PathBuf>,
    /// Directory in which the agent is free; without it, one that is made for the session
    #[arg(long, value_name = "DIR", conflicts_with = "workspace")]
    sandbox: Option<PathBuf>,
    /// Directory of your own to work in; changing files that your tools run needs approval
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Servers file; without it that of the IronCurtain home, or the built-in servers
    #[arg(long, value_name = "FILE")]
    servers: Option<PathBuf>,
    /// Name of the session; one of that name that is not running is continued
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Let calls that need approval wait for an answer even if no approver is connected
    ///
    /// Without it such a call is denied at once, unless an approver is connected, for example with
    /// `ironcurtain listen`. A call waits up to `escalationTimeoutSeconds`.
    #[arg(long)]
    wait: bool,
    /// Offer one tool that runs TypeScript, in which all tools are functions, instead of each tool
    ///
    /// `ironcurtain__run_script` runs it without network and files; `help()` in it lists the tools. Every
    /// call is judged as ever, and the list of tools takes far less of the model's context.
    #[arg(long)]
    code_mode: bool,
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
    let socket = match &args.socket {
        Some(path) => Some(environment.absolute(path)?),
        None => None,
    };
    let wanted = Wanted {
        policy: args.policy.clone(),
        sandbox: args.sandbox(environment)?,
        // No call removes or replaces the way in.
        protected: socket.iter().cloned().collect(),
        servers: args.servers.clone(),
    };
    // A mistake in the policy or the servers file is to show now, and not with the first call.
    let offered: Arc<[CallMethod]> = wanted.check(environment)?.into();
    if let Some(path) = &socket {
        // Where the sandboxes are that are made for sessions, and the one that the user names.
        let sessions = Home::new(environment.ironcurtain_home()?).sessions();
        let sessions = environment.absolute(&sessions)?;
        let named = wanted.sandbox.as_ref().map(|(sandbox, _)| sandbox);
        for sandbox in std::iter::once(&sessions).chain(named) {
            refuse_path_in_sandbox("socket", path, sandbox)?;
        }
    }
    if socket.is_none() && std::io::stdin().is_terminal() {
        screen.notice("waiting for an MCP client on standard input; Ctrl-D ends it");
    }
    // One thread: what takes time is done by servers, and handing a call from thread to thread costs
    // more than judging it.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| Failure::environment("cannot start").with_source(source))?;
    let ended = runtime.block_on(async {
        let stop = stop_on_signals()?;
        let wait = if args.wait { Wait::ForAnybody } else { Wait::WhileAttended };
        let mut at_end = None;
        let code_mode = open::CodeMode::of(args.code_mode);
        let wanted = Some((wanted, name));
        let opener =
            Opener { wanted, offered, wait, code_mode, at_end: &mut at_end, environment, screen };
        let ended = match &socket {
            None => {
                let (reader, writer) = streams()?;
                serve(reader, writer, opener, &stop).await
            }
            Some(path) => {
                let socket = Socket::bind(path.as_path()).await.map_err(no_socket)?;
                let shown = path.as_path().display();
                opener.screen.notice(&format!("MCP clients are served on {shown}; Ctrl-C ends it"));
                clients::serve_all(socket, opener, &stop).await
            }
        };
        end(ended, at_end).await
    });
    // A thread that waits for a terminal's next line must not keep us.
    runtime.shutdown_background();
    ended
}

/// Ends the session that was opened, if one was.
async fn end(ended: Ended<Failure>, at_end: Option<ProxySession>) -> Result<Exit, Failure> {
    if let Some(session) = at_end {
        session.close().await.map_err(closing_failed)?;
    }
    match ended {
        Ended::Done(_) => Ok(Exit::Success),
        Ended::NotOpened(failure) => Err(failure),
    }
}

fn closing_failed(error: SessionError) -> Failure {
    match error {
        SessionError::CloseFailed(error) => error.into(),
        error => Failure::environment(error.to_string()),
    }
}

fn streams() -> Result<(stdio::Reader, stdio::Writer), Failure> {
    let failed =
        |source| Failure::environment("cannot use standard input and output").with_source(source);
    Ok((stdio::reader().map_err(failed)?, stdio::writer().map_err(failed)?))
}

pub(crate) fn no_socket(error: SocketError) -> Failure {
    let hint = match &error {
        SocketError::NoName(_) => "name a file, for example `~/.ironcurtain/proxy.sock`",
        SocketError::Shared(_) => "name one in a directory of your own",
        SocketError::Taken(_) => "name another one, or remove what is there",
        SocketError::InUse(_) => "connect to that one, or name another socket",
        SocketError::Directory { .. } | SocketError::Locked(_) | SocketError::System { .. } => {
            "name one in a directory that is yours to write"
        }
    };
    let failure = Failure::environment(error.to_string()).with_hint(hint);
    match error {
        SocketError::Directory { source, .. } | SocketError::System { source, .. } => {
            failure.with_source(source)
        }
        _ => failure,
    }
}

impl ProxyArgs {
    /// Checks that a client can start the proxy with these options, from whatever directory it is in.
    pub(crate) fn check_for_client(&self) -> Result<(), Failure> {
        if self.socket.is_some() {
            return Err(Failure::usage("a client that starts the proxy does not need `--socket`")
                .with_hint("leave `--socket` out"));
        }
        // A policy may be a name; one of several parts is a path.
        let policy = self.policy.as_ref().filter(|it| 1 < it.components().count());
        let paths = [&self.sandbox, &self.workspace, &self.servers].map(Option::as_ref);
        match paths.into_iter().chain([policy]).flatten().find(|it| !it.is_absolute()) {
            None => Ok(()),
            Some(path) => Err(Failure::usage(format!("`{}` is not absolute", path.display()))
                .with_hint(
                    "the client starts the proxy in a directory of its own: write the whole path",
                )),
        }
    }

    /// Returns the directory in which the agent is to be free, if the user names one.
    fn sandbox(
        &self,
        environment: &Environment,
    ) -> Result<Option<(AbsolutePath, SandboxKind)>, Failure> {
        let (what, path, kind) = match (&self.sandbox, &self.workspace) {
            // Nothing in our own home can be named here, so it is somebody's directory either way.
            (Some(path), _) => ("sandbox", path, SandboxKind::Workspace),
            (None, Some(path)) => ("workspace", path, SandboxKind::Workspace),
            (None, None) => return Ok(None),
        };
        let path = environment.absolute_as_typed(path)?;
        check_directory(what, &path, environment)?;
        Ok(Some((path, kind)))
    }
}
