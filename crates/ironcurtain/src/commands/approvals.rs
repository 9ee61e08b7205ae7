//! `ironcurtain approvals`: what waits for a person, and the person's answer.
//!
//! What is answered is what was read and shown by the same command: the answer carries its digest.
//! No call is judged or forwarded here; that is for the session that asks.

mod answer;
mod change;
mod list;
mod show;
pub(crate) mod stats;
pub(crate) mod watch;

pub(crate) use list::rows;

use std::error::Error;
use std::str::FromStr;

use ic_escalation::display::{self, View};
use ic_escalation::{Board, Pending, Registry, SessionEntry, Waiters};
use ic_home::{Clock as _, Environment, Home, SystemClock};
use ic_types::{EscalationId, Timestamp};

use crate::commands::Exit;
use crate::error::{Failure, chain};
use crate::person::{Person, Scripts};
use crate::screen::Screen;

/// Show pending approval requests and answer them
#[derive(Debug, clap::Subcommand)]
pub(crate) enum ApprovalsCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Approve(answer::ApproveArgs),
    Deny(answer::DenyArgs),
    Watch(watch::WatchArgs),
    Stats(stats::StatsArgs),
}

/// Runs `command`.
pub(crate) fn run(
    command: ApprovalsCommand,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    match command {
        ApprovalsCommand::List(args) => list::run(&args, environment, screen),
        ApprovalsCommand::Show(args) => show::run(&args, environment, screen),
        ApprovalsCommand::Approve(args) => answer::approve(&args, environment, screen),
        ApprovalsCommand::Deny(args) => answer::deny(&args, environment, screen),
        ApprovalsCommand::Watch(args) => watch::run(&args, environment, screen),
        ApprovalsCommand::Stats(args) => stats::run(&args, environment, screen),
    }
}

/// The longest number that is one; whatever is longer is an id.
const NUMBER_DIGITS_MAX: usize = 9;

/// How a person names a question.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Target {
    /// By its place in the list.
    Number(u64),
    /// By its id.
    Id(EscalationId),
}

impl FromStr for Target {
    type Err = <EscalationId as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix('#').unwrap_or(text);
        let is_number =
            digits.len() <= NUMBER_DIGITS_MAX && digits.bytes().all(|byte| byte.is_ascii_digit());
        match digits.parse() {
            Ok(number) if is_number => Ok(Self::Number(number)),
            Ok(_) | Err(_) => text.parse().map(Self::Id),
        }
    }
}

/// What waits at one moment.
struct Sight {
    sessions: Vec<SessionEntry>,
    waiters: Waiters,
    at: Timestamp,
}

impl Sight {
    /// Looks at all running sessions; what cannot be read is said to be there.
    fn take(home: &Home, screen: &mut Screen) -> Result<Self, Failure> {
        let live = Registry::of(home).live()?;
        let at = SystemClock.now();
        let waiters = Board::default().look(&live.sessions, at);
        for error in &live.unreadable {
            screen.warning(&chain(error));
        }
        for error in &waiters.unreadable {
            screen.warning(&chain(error));
        }
        Ok(Self { sessions: live.sessions, waiters, at })
    }

    /// Finds the question that is meant.
    fn find(&self, target: &Target) -> Result<&Pending, Failure> {
        let pending = &self.waiters.pending;
        let named = match target {
            Target::Number(number) => pending.iter().find(|it| it.number() == *number),
            Target::Id(id) => pending.iter().find(|it| it.request().escalation == *id),
        };
        named.ok_or_else(|| {
            let message = match target {
                Target::Number(_) if pending.is_empty() => NOTHING.to_owned(),
                Target::Number(number) => format!("No pending escalation with ID: #{number}"),
                Target::Id(id) => {
                    let ending = Board::ending(&self.sessions, id);
                    let ending = ending.map_or_else(String::new, |it| format!(" (it was {it})"));
                    format!("No pending escalation with ID: {id}{ending}")
                }
            };
            Failure::environment(message).with_hint(
                "`ironcurtain approvals list` shows pending \
                                                     requests",
            )
        })
    }
}

/// Who decided, in a record, where that was a person.
pub(crate) const PEOPLE: [&str; 4] = ["repl", "listener", "cli", "pty"];

/// What is said when nothing waits.
pub(crate) const NOTHING: &str = "No escalation pending.";

/// Where a question is shown, and so how more of it is seen.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum At {
    /// At a shell's prompt.
    Prompt,
    /// Where somebody answers with keys, one question at a time.
    Dialog,
}

/// Shows a question with its number, whoever asks, and the change that it would make.
pub(crate) fn lines(pending: &Pending, view: View, at: At, now: Timestamp) -> Vec<String> {
    let request = pending.request();
    let change = change::of(request);
    let change = change.as_ref().map(change::Change::to_shown);
    let show = |view| display::show(request, view, change, now).into_iter();
    let (number, session) = (pending.number(), pending.session());
    let mut rest = show(view);
    let first = rest.next().unwrap_or_default();
    let mut lines = vec![format!("#{number} {session}: {first}")];
    lines.extend(rest);
    lines.push(format!("  id: {}", request.escalation));
    if view == View::Short && !show(View::Full).eq(show(View::Short)) {
        let command = match at {
            At::Prompt => format!("ironcurtain approvals show {} --full", request.escalation),
            At::Dialog => "d".to_owned(),
        };
        lines.push(format!("  shortened: `{command}` shows all of it"));
    }
    lines
}

/// Finds whoever is to answer `what`; where scripts may answer, nobody is asked.
pub(super) fn person(
    what: &str,
    is_agreed: bool,
    home: &Home,
    environment: &Environment,
) -> Result<Person, Failure> {
    if Scripts::of(home, environment)? == Scripts::MayAnswer {
        return Ok(Person::Scripted);
    }
    Person::find(what, is_agreed, Scripts::MayNotAnswer).map_err(|failure| {
        failure.with_hint(
            "run this at a terminal, or allow scripts to answer with `ironcurtain config set \
             approvals.scripted true`",
        )
    })
}

/// Says what kept an answer, a grant or a seat from being written.
pub(crate) fn unusable(error: &dyn Error) -> Failure {
    Failure::environment(chain(error))
}
