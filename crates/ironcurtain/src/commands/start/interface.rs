//! `start --pty`: an agent's own interface at the person's terminal.
//!
//! How it is drawn and typed at is known in `terminal::agent_screen`, and how it runs in `ic_session`.

use std::io::{self, Write};
use std::os::fd::OwnedFd;

use ic_adapter::Adapter;
use ic_escalation::{Message, is_anybody_there};
use ic_home::{Clock as _, Environment, Home, SystemClock};
use ic_session::{
    AgentSession, Attended as _, Conversation as _, Seat, SessionError, SessionHandle as _,
    Showing, Shown, link,
};
use ic_types::visible;
use tokio::net::UnixStream;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::{Attendance, failed, name_continuing, resume, summarise};
use crate::agents;
use crate::attached::client::{Client, no_terminal, terminal};
use crate::attached::holding::first_visitor;
use crate::attached::{Door, Held, Line, Told, Visitor};
use crate::commands::Exit;
use crate::error::Failure;
use crate::screen::Screen;
use crate::signals::Signals;
use crate::terminal::{AgentScreen, Framing, Recording, Seen};

/// The exit code of a program that SIGTERM ended.
const TERMINATED: u8 = 128 + 15;

/// The exit code of what failed.
const FAILED: u8 = 1;

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

/// What is shown.
#[derive(Debug)]
pub(super) struct Interface<'a> {
    pub(super) adapter: &'static dyn Adapter,
    /// What holds the agent, for people.
    pub(super) place: &'static str,
    pub(super) task: Option<&'a str>,
    /// The file in which it is recorded, if it is.
    pub(super) recording: Option<OwnedFd>,
}

/// Starts the process that holds the session, and shows it at this terminal.
pub(super) fn begin(
    held: Held,
    environment: &Environment,
    runtime: &Runtime,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    runtime.block_on(async {
        // Before anything is made.
        let terminal = terminal(environment).ok_or_else(no_terminal)?;
        let holder = held.start(environment)?;
        Client::begin(terminal, holder, screen).await
    })
}

/// Shows the interface to its end at the terminals that come, ends the session, and says what it did.
pub(super) async fn attend(
    session: &AgentSession,
    shown: Interface<'_>,
    (line, seat, attendance): (UnixStream, Seat, Attendance),
    mut signals: Signals,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    if !is_anybody_there(&attendance.home).unwrap_or(false) {
        screen.notice(
            "no other approver is connected: requests wait in the row at the bottom, and Ctrl-] decides",
        );
    }
    let first = match come_in(session, line, &attendance.home).await {
        Ok((first, door)) => (first, door, seat),
        Err(failure) => {
            session.close().await.ok();
            return Err(failure);
        }
    };
    let adapter = shown.adapter;
    let shown = show(session, shown, first, (&attendance, &mut signals)).await;
    let (ended, seen, cut) = match shown {
        Ok(shown) => shown,
        Err(failure) => {
            session.close().await.ok();
            return Err(failure);
        }
    };
    let said: Box<dyn Write> = match &seen.line {
        Some(line) => Box::new(Said { line: line.clone(), begun: Vec::new() }),
        None => Box::new(io::sink()),
    };
    // Whoever is at the terminal hears the rest through their client.
    let mut screen = Screen::new(Box::new(io::sink()), said);
    let is_cut = cut.is_cancelled();
    let exit = report(session, adapter, (ended, &seen, is_cut), attendance, &mut screen).await;
    let code = match exit {
        Ok(code) => code,
        Err(failure) => {
            screen.failure(&failure);
            FAILED
        }
    };
    if let Some(line) = &seen.line {
        line.tell(&Told::Ended(code));
    }
    Ok(Exit::Agent(code))
}

/// Lets the first terminal in, and opens the door for others.
async fn come_in(
    session: &AgentSession,
    line: UnixStream,
    home: &Home,
) -> Result<(Visitor, Door), Failure> {
    let door = Door::open(&home.interface(&session.info().id)).await.map_err(|source| {
        Failure::environment("cannot let terminals come to the session").with_source(source)
    })?;
    Ok((first_visitor(line).await?, door))
}

/// How the interface ended, what was seen of it, and what cut it, if anything did.
type Ended = (Result<Shown, SessionError>, Seen, CancellationToken);

async fn show(
    session: &AgentSession,
    shown: Interface<'_>,
    first: (Visitor, Door, Seat),
    (attendance, signals): (&Attendance, &mut Signals),
) -> Result<Ended, Failure> {
    let Interface { adapter, place, task, recording } = shown;
    let (drawn, agent_end) = link();
    let questions = session.questions().at_interface();
    let framing = Framing {
        news: session.news(),
        questions: &questions,
        always: attendance.surroundings.always.clone(),
        usual: format!(
            "{} in {place} · Ctrl-] decides requests · Ctrl-\\ d leaves, twice ends",
            adapter.title()
        ),
        recording: recording.map(|file| Recording::new(file, |text| session.redacted(text))),
        sent: Box::new(|sent| session.note_sent(sent, SystemClock.now())),
    };
    let agent_screen = AgentScreen::open(first, framing, drawn)?;
    let cut = CancellationToken::new();
    let variables = [("TERM", "xterm-256color".to_owned()), ("COLORTERM", "truecolor".to_owned())];
    let showing = Showing { task, size: agent_screen.agent_size(), terminal: &variables };
    if let Some(task) = task {
        // The task is an argument of the command line, which is the person's own.
        session.note_typed(&Message::typed(task, SystemClock.now()));
    }
    let work = session.show(showing, agent_end, &cut);
    let (ended, seen) = Box::pin(agent_screen.watch(work, signals, cut.clone())).await;
    if !seen.dropped.is_empty() {
        session.record_dropped(&seen.dropped.to_string());
    }
    Ok((ended, seen, cut))
}

/// Ends the session, says what it did, and returns the exit code.
async fn report(
    session: &AgentSession,
    adapter: &'static dyn Adapter,
    (ended, seen, is_cut): (Result<Shown, SessionError>, &Seen, bool),
    attendance: Attendance,
    screen: &mut Screen,
) -> Result<u8, Failure> {
    let Attendance { home, sessions_max, record, .. } = attendance;
    let closed = session.close().await;
    for notice in &seen.notices {
        screen.notice(notice);
    }
    if !seen.dropped.is_empty() {
        screen.notice(&format!(
            "the agent sent its terminal what is not passed on: {}",
            seen.dropped
        ));
    }
    let code = ended.map_err(failed).map(|shown| {
        tell_end(&shown, adapter, (seen, is_cut), screen);
        if seen.was_signalled { TERMINATED } else { shown.code }
    });
    summarise((session.news(), &session.info().id), &record, screen);
    name_continuing(session, screen);
    resume::make_room(&home, sessions_max, screen);
    closed.map_err(failed)?;
    code
}

fn tell_end(
    shown: &Shown,
    adapter: &'static dyn Adapter,
    (seen, is_cut): (&Seen, bool),
    screen: &mut Screen,
) {
    if shown.is_without_tools && !is_cut {
        screen.warning(
            "the agent never connected to IronCurtain's MCP server, so it had no tools that reach \
             outside its workspace",
        );
    }
    if shown.code != 0 && !is_cut {
        screen.notice(&format!("{} ended with code {}", adapter.title(), shown.code));
        for row in seen.last.iter().rev().take(LAST_ROWS_MAX).rev() {
            screen.notice(&format!("  {}", visible(row)));
        }
    }
    if let Some(reason) = &shown.reason {
        screen.warning(&visible(reason));
    }
}

/// What is said to the person at a terminal that was let go, line by line.
struct Said {
    line: Line,
    begun: Vec<u8>,
}

impl Write for Said {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.extend_from_slice(bytes);
        while let Some(at) = self.begun.iter().position(|byte| *byte == b'\n') {
            let rest = self.begun.split_off(at + 1);
            let line = std::mem::replace(&mut self.begun, rest);
            let line = String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned();
            self.line.tell(&Told::Said(line));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
