//! `ironcurtain attach`: comes to an agent's interface that runs without a terminal, or at another one.
//!
//! How a terminal is handed over is known in `attached`.

use ic_client::socket::connect;
use ic_escalation::{Registry, SessionEntry};
use ic_home::{Environment, Home};
use ic_store::Sessions;
use tokio::net::UnixStream;

use crate::attached::Wish;
use crate::attached::client::{Client, no_terminal, terminal};
use crate::commands::config::home;
use crate::commands::{Exit, runtime};
use crate::error::Failure;
use crate::screen::{Screen, visible};

/// Come back to an agent's interface that runs without a terminal
///
/// `start --pty` goes on without a terminal after Ctrl-\ and d, and when its terminal is closed or lost.
/// This shows it again as it is now, at a terminal of any size. As long as it is shown you are an approver
/// of its session. One terminal at a time; requests are answered there as ever, and Ctrl-\ d leaves again.
///
/// After `kill -9` the terminal may stay as it was; `reset` or `stty sane` help.
#[derive(Debug, clap::Args)]
pub(crate) struct AttachArgs {
    /// The session, by id, name or the beginning of one of them; without it, the only one there is
    #[arg(value_name = "S")]
    session: Option<String>,
    /// Take it over from the terminal at which it is shown now
    #[arg(long, conflicts_with = "watch")]
    take: bool,
    /// Only look on: nothing that you type reaches the agent, and you are no approver
    #[arg(long)]
    watch: bool,
}

/// Runs the command.
pub(crate) fn run(
    args: &AttachArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = home(environment)?;
    let wish = match (args.take, args.watch) {
        (true, _) => Wish::Take,
        (false, true) => Wish::Watch,
        (false, false) => Wish::Attach,
    };
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let line = find(args.session.as_deref(), &home)?;
        let terminal = terminal(environment).ok_or_else(no_terminal)?;
        Client::attach(terminal, line, wish, screen).await
    });
    runtime.shutdown_background();
    ended
}

/// Connects to the session that is meant.
fn find(session: Option<&str>, home: &Home) -> Result<UnixStream, Failure> {
    if let Some(text) = session {
        let metadata = Sessions::of(home).find(text)?;
        return connect(&home.interface(&metadata.id)).map_err(|_| {
            Failure::environment(format!("the session `{}` shows no interface", metadata.name))
                .with_hint("`start --pty` shows one; `ironcurtain status` says what runs")
        });
    }
    let mut found: Vec<(SessionEntry, UnixStream)> = Vec::new();
    for entry in Registry::of(home).live()?.sessions {
        if let Ok(line) = connect(&home.interface(&entry.session)) {
            found.push((entry, line));
        }
    }
    if 1 < found.len() {
        let names = found.iter().map(|(it, _)| format!("{} ({})", it.name, visible(&it.label)));
        return Err(Failure::usage("several sessions show an interface")
            .with_details(names.collect())
            .with_hint("name one of them: `ironcurtain attach NAME`"));
    }
    let none = || {
        Failure::environment("no session shows an interface")
            .with_hint("`ironcurtain start --pty --agent claude-code` begins one")
    };
    found.pop().map(|(_, line)| line).ok_or_else(none)
}
