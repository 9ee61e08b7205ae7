//! `ironcurtain start` without a task: a conversation, at a terminal or line by line.

use std::path::PathBuf;
use std::sync::Arc;

use ic_audit::Redactor;
use ic_home::{Clock as _, Environment, SystemClock};
use ic_model::Cost;
use ic_opening::Opened;
use ic_session::{Attended, Tally};
use ic_terminal::{Command, Named};
use ic_types::Timestamp;
use tokio_util::sync::CancellationToken;

use super::{Showing, failed, name_continuing, report};
use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::Failure;
use crate::ledger::{Ledger, Since};
use crate::own_policy::always::Always;
use crate::screen::Screen;
use crate::signals::Signals;
use crate::terminal::{Left, Lines, Next, Onlooker, Paint, Repl, Scene, Setting, Total, Tty};

/// What a conversation is given besides its session.
pub(super) struct Surroundings {
    history: PathBuf,
    redactor: Arc<Redactor>,
    sandbox: PathBuf,
    home: Option<PathBuf>,
    log: PathBuf,
    record: PathBuf,
    paint: Paint,
    pub(super) always: Always,
    began: Timestamp,
}

impl Surroundings {
    pub(super) fn of(opened: &Opened, environment: &Environment) -> Result<Self, Failure> {
        Ok(Self {
            history: home(environment)?.history(),
            redactor: Arc::clone(&opened.redactor),
            sandbox: PathBuf::from(&opened.sandbox),
            home: environment.home().ok().map(|it| it.as_path().to_owned()),
            log: opened.ground.directory.log(),
            record: opened.ground.directory.audit().log,
            paint: Paint::of_stderr(environment),
            always: Always::new(environment, "repl"),
            began: SystemClock.now(),
        })
    }
}

/// Holds a conversation to its end, and ends the session.
pub(super) async fn hold(
    session: &dyn Attended,
    surroundings: Surroundings,
    terminal: Option<Tty>,
    mut signals: Signals,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let held = match terminal {
        Some(terminal) => at_terminal(session, &surroundings, terminal, &mut signals, screen).await,
        None => in_pipe(session, surroundings.paint, &mut signals, screen).await,
    };
    let closed = session.close().await;
    let total = held.as_ref().map(|(_, total)| *total).unwrap_or_default();
    summarise(session, total, &surroundings, screen);
    let (exit, _) = held?;
    closed.map_err(failed)?;
    Ok(exit)
}

async fn at_terminal(
    session: &dyn Attended,
    surroundings: &Surroundings,
    terminal: Tty,
    signals: &mut Signals,
    screen: &mut Screen,
) -> Result<(Exit, Total), Failure> {
    let scene = Scene { session, news: session.news(), questions: session.questions() };
    let setting = Setting {
        history: surroundings.history.clone(),
        redactor: Arc::clone(&surroundings.redactor),
        sandbox: surroundings.sandbox.clone(),
        home: surroundings.home.clone(),
        log: surroundings.log.clone(),
        paint: surroundings.paint,
        always: Some(surroundings.always.clone()),
    };
    let (left, total) = Repl::new(scene, setting, terminal, screen)?.run(signals).await?;
    Ok(match left {
        Left::Quit => (Exit::Success, total),
        Left::Signalled => (Exit::Cancelled, total),
    })
}

/// Takes the lines of standard input one after the other; the exit code is that of the last message.
async fn in_pipe(
    session: &dyn Attended,
    paint: Paint,
    signals: &mut Signals,
    screen: &mut Screen,
) -> Result<(Exit, Total), Failure> {
    let mut lines = Lines::of_stdin();
    let (mut exit, mut total) = (Exit::Success, Total::default());
    loop {
        let next = tokio::select! {
            next = lines.next() => next,
            () = signals.any() => return Ok((Exit::Cancelled, total)),
        };
        let message = match next {
            Next::Message(message) => message,
            Next::TooLong => return Err(Failure::config("a line of standard input is too long")),
            Next::End => return Ok((exit, total)),
        };
        match Named::of(&message) {
            Named::Command(Command::Quit) => return Ok((exit, total)),
            Named::Command(command) => told(command, session, screen),
            Named::Mistake(why) => screen.warning(&why),
            Named::Message if message.trim().is_empty() => {}
            Named::Message => {
                let n_before = session.news().tally().unanswered;
                let cancel = CancellationToken::new();
                let sending = session.send_message(&message, cancel.clone());
                let ended = {
                    let scene = (session.news(), session.questions());
                    let mut onlooker = Onlooker::nobody(scene, paint, screen);
                    onlooker.watch(sending, signals, &cancel).await
                };
                total.add(&session.budget());
                let n_unanswered = session.news().tally().unanswered.saturating_sub(n_before);
                exit = match report(ended, n_unanswered, Showing::ToBePrinted, screen) {
                    Ok(Exit::Cancelled) => return Ok((Exit::Cancelled, total)),
                    Ok(exit) => exit,
                    Err(failure) if failure.is_broken_pipe() => return Err(failure),
                    Err(failure) => {
                        screen.failure(&failure);
                        Exit::Failed
                    }
                };
            }
        }
    }
}

/// Does what a command asks for that needs no person.
fn told(command: Command, session: &dyn Attended, screen: &mut Screen) {
    match command {
        Command::Budget => {
            for spent in session.budget().spent {
                screen.notice(&spent.to_string());
            }
        }
        Command::History => {
            for turn in session.history() {
                screen.notice(&format!("{}. {}", turn.turn_number, turn.user_message));
            }
        }
        Command::Approve(_) | Command::Grant(_) | Command::Deny(_) | Command::Pending => {
            screen.notice("No escalation pending.");
        }
        Command::Logs => {
            let n_events = session.diagnostics().len();
            screen.notice(&match n_events {
                0 => "(no diagnostic events yet)".to_owned(),
                _ => format!("{n_events} diagnostic events"),
            });
        }
        Command::Save => match session.save() {
            Ok(()) => screen.notice("the conversation is saved"),
            Err(error) => screen.failure(&failed(error)),
        },
        Command::Help | Command::Quit => {
            screen.notice(
                "each line is a message; /quit ends the session, and so does the end of the input",
            );
        }
    }
}

/// Says what the session did.
fn summarise(
    session: &dyn Attended,
    total: Total,
    surroundings: &Surroundings,
    screen: &mut Screen,
) {
    let tally: Tally = session.news().tally();
    let info = session.info();
    let elapsed_ms = SystemClock.now().unix_ms().saturating_sub(surroundings.began.unix_ms());
    let ledger = Ledger::read(&surroundings.record, Since::TheLastOpening).unwrap_or_default();
    let turns = if info.turn_count == 1 { "turn" } else { "turns" };
    screen.notice(&format!(
        "{tally}, {}; {} {turns}, {} tokens, {}, {} s",
        ledger.files(),
        info.turn_count,
        total.tokens,
        Cost::from_billionths(total.cost_billionths),
        elapsed_ms / 1000,
    ));
    screen.notice(&format!(
        "`ironcurtain audit show {}` shows the record; log: {}",
        info.id,
        surroundings.log.display()
    ));
    name_continuing(session, screen);
}
