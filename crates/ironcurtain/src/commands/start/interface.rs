//! `start --pty`: an agent's own interface at the person's terminal.
//!
//! How it is drawn and typed at is known in `terminal::agent_screen`, and how it runs in `ic_session`.

use ic_adapter::Adapter;
use ic_escalation::is_anybody_there;
use ic_session::{AgentSession, Attended as _, SessionHandle as _, Showing, link};
use ic_types::visible;
use tokio_util::sync::CancellationToken;

use super::{Attendance, failed, name_continuing, resume, summarise};
use crate::agents;
use crate::commands::Exit;
use crate::error::Failure;
use crate::screen::Screen;
use crate::signals::Signals;
use crate::terminal::{AgentScreen, Framing};

/// The exit code of a program that SIGTERM ended.
const TERMINATED: u8 = 128 + 15;

/// How much of the agent's last screen is shown if it failed.
const LAST_ROWS_MAX: usize = 20;

/// Returns the agent whose interface is to be shown; `adapter` is the one that was named or goes on.
pub(super) fn adapter(
    adapter: Option<&'static dyn Adapter>,
    is_named: bool,
    default_agent: &str,
) -> Result<&'static dyn Adapter, Failure> {
    let none = || Failure::usage("PTY mode needs an agent of its own: use --agent claude-code.");
    let adapter = match adapter {
        Some(adapter) => adapter,
        // The built-in agent has no interface of its own.
        None if is_named || default_agent == super::AGENT => return Err(none()),
        None => agents::adapter(default_agent)?,
    };
    if !adapter.has_interface() {
        let name = adapter.name();
        return Err(Failure::usage(format!("Agent {name} does not support PTY mode."))
            .with_hint("leave `--pty` out to talk with it here"));
    }
    Ok(adapter)
}

/// Says that there is nothing to draw on.
pub(super) fn no_terminal() -> Failure {
    Failure::environment("PTY mode needs a terminal to draw on")
        .with_hint("leave `--pty` out where input or output is a pipe")
}

/// Says that only our cage has a terminal for an agent.
pub(super) fn no_container() -> Failure {
    Failure::usage("PTY mode does not work in containers")
        .with_hint("leave `--backend docker` out, or add `--backend cage`")
}

/// Shows the interface to its end, ends the session, and says what it did.
pub(super) async fn attend(
    session: &AgentSession,
    (adapter, task): (&'static dyn Adapter, Option<&str>),
    attendance: Attendance,
    mut signals: Signals,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let Attendance { terminal, surroundings, home, sessions_max, record } = attendance;
    let Some(terminal) = terminal else {
        session.close().await.ok();
        return Err(no_terminal());
    };
    if !is_anybody_there(&home).unwrap_or(false) {
        screen.notice(
            "no other approver is connected: requests wait in the row at the bottom, and Ctrl-] decides",
        );
    }
    let (drawn, agent_end) = link();
    let framing = Framing {
        news: session.news(),
        questions: session.questions(),
        always: surroundings.always,
        usual: format!(
            "{} in a cage · Ctrl-] decides requests · Ctrl-\\ twice ends",
            adapter.title()
        ),
    };
    let agent_screen = AgentScreen::take(terminal, framing, drawn, screen)?;
    let cut = CancellationToken::new();
    let variables = [("TERM", "xterm-256color".to_owned()), ("COLORTERM", "truecolor".to_owned())];
    let showing = Showing { task, size: agent_screen.agent_size(), terminal: &variables };
    let work = session.show(showing, agent_end, &cut);
    let watched = Box::pin(agent_screen.watch(work, &mut signals, cut.clone())).await;
    if let Ok((_, seen)) = &watched
        && !seen.dropped.is_empty()
    {
        session.record_dropped(&seen.dropped.to_string());
    }
    let closed = session.close().await;
    let (ended, seen) = watched?;
    for notice in &seen.notices {
        screen.notice(notice);
    }
    if !seen.dropped.is_empty() {
        screen.notice(&format!(
            "the agent sent its terminal what is not passed on: {}",
            seen.dropped
        ));
    }
    let exit = match ended {
        Ok(shown) => {
            if shown.is_without_tools && !cut.is_cancelled() {
                screen.warning(
                    "the agent never connected to IronCurtain's MCP server, so it had no tools that reach \
                     outside its workspace",
                );
            }
            if shown.code != 0 && !cut.is_cancelled() {
                screen.notice(&format!("{} ended with code {}", adapter.title(), shown.code));
                for row in seen.last.iter().rev().take(LAST_ROWS_MAX).rev() {
                    screen.notice(&format!("  {}", visible(row)));
                }
            }
            if let Some(reason) = &shown.reason {
                screen.warning(&visible(reason));
            }
            Ok(if seen.was_signalled { Exit::Agent(TERMINATED) } else { Exit::Agent(shown.code) })
        }
        Err(error) => Err(failed(error)),
    };
    summarise((session.news(), &session.info().id), &record, screen);
    name_continuing(session, screen);
    resume::make_room(&home, sessions_max, screen);
    closed.map_err(failed)?;
    exit
}
