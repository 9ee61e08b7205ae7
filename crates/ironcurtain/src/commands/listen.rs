//! `ironcurtain escalation-listener`: one place for the approval requests of all sessions.
//!
//! ```text
//! full screen  ─┐                    ┌─ Watcher: sessions and requests, as `approvals watch` sees them
//! --plain      ─┼─ one at a time, ───┤
//! --json       ─┘  and an approver   └─ Banner: the dialog that a conversation has too
//! ```

mod economy;
mod full;
pub(crate) mod instance;

use std::io::{self, IsTerminal as _};

use ic_escalation::Presence;
use ic_home::Environment;
use ic_policy::DecidedBy;

pub(crate) use self::full::summary;
use self::instance::Instance;
use super::approvals::stats::{self, LastDay};
use super::approvals::watch::desk::Desk;
use super::approvals::watch::{Format, Watcher, follow};
use super::approvals::{At, unusable};
use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::Failure;
use crate::own_policy::always::Always;
use crate::person::{Scripts, is_shown_at_terminal};
use crate::screen::Screen;
use crate::signals::stop_on_signals;
use crate::terminal::{FullScreen, Paint, Tty};

/// Answer the approval requests of all sessions on one screen
///
/// Shows the running sessions, the requests that wait with their countdowns, and how earlier ones ended.
/// As long as it runs you are an approver: sessions ask you instead of denying at once. The keys are those
/// of a session: `y` approve, `n` deny, `g` approve and grant, `a` always, `d` details; `?` lists the
/// others, and commands such as `/approve 3` and `/deny all`. One listener runs at a time.
///
/// After `kill -9` the terminal may stay as it was; `reset` or `stty sane` help.
#[derive(Debug, clap::Args)]
pub(crate) struct ListenArgs {
    /// Print line by line instead of drawing a screen, such as for a screen reader
    #[arg(long, conflicts_with = "json")]
    plain: bool,
    /// Print each event as a line of JSON; answers nothing, and makes you an approver only if
    /// `approvals.scripted` is true
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(
    args: &ListenArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = home(environment)?;
    home.prepare()?;
    let is_approver = match args.json {
        true => Scripts::of(&home, environment)? == Scripts::MayAnswer,
        false => true,
    };
    // SECURITY: what is typed is an answer to what was shown, so both have to be at one terminal.
    let is_at_terminal = io::stdin().is_terminal() && is_shown_at_terminal();
    if !args.json && !is_at_terminal {
        return Err(Failure::environment("there is no terminal to answer at").with_hint(
            "run it at a terminal; `--json` prints events for programs, and `ironcurtain approvals \
             list` shows what waits",
        ));
    }
    let _instance = is_approver.then(|| Instance::claim(&home)).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| Failure::environment("cannot start").with_source(source))?;
    let ended = runtime.block_on(async {
        // Before anybody counts on us, so that being asked to end never leaves a seat behind.
        let stop = stop_on_signals()?;
        let seat = is_approver.then(|| Presence::take(&home)).transpose();
        let seat = seat.map_err(|error| unusable(&error))?;
        let always = Always::new(environment, "listener");
        let keys = Tty::find().filter(|it| !args.plain && it.takes_keys(environment));
        let listened = match (args.json, keys) {
            (true, _) => {
                let watcher = Watcher::new(&home, Format::Json, At::Prompt).telling_sessions();
                follow(&home, watcher, None, &stop, screen).await
            }
            (false, None) => {
                let watcher = Watcher::new(&home, Format::Lines, At::Dialog).telling_sessions();
                let LastDay { line, complaints } = stats::of_last_day(&home)?;
                for why in &complaints {
                    screen.warning(why);
                }
                screen.folded(&format!("In the {line}."))?;
                let desk = Desk::open(&home, always, DecidedBy::Listener)?;
                follow(&home, watcher, Some(desk), &stop, screen).await
            }
            (false, Some(terminal)) => {
                let paint = Paint::of_stderr(environment);
                let full = FullScreen::take(terminal, paint, always, screen)?;
                full::listen(&home, full, &stop).await
            }
        };
        drop(seat);
        listened
    });
    // A thread that still listens must not keep us.
    runtime.shutdown_background();
    ended.map(|()| Exit::Success)
}
