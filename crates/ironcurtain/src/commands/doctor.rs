//! `ironcurtain doctor`: really tries what everything else rests on, and says what to do where it fails.
//!
//! Nothing of the user's is changed: whatever is tried is tried in a directory that is made for the
//! moment. Servers that are not ours are started if somebody trusted them, in their cages, and no tool of
//! theirs is called.

mod cages;
mod children;
mod gate;
mod home;
mod kernel;
mod models;
mod record;
mod scripts;
mod settings;
mod whole;

use ic_home::{Environment, Home};
use serde::Serialize;

use crate::commands::Exit;
use crate::commands::config;
use crate::error::Failure;
use crate::screen::{Screen, visible};
use crate::trial::Trial;

/// Try everything that IronCurtain needs, and print a remedy for what fails
///
/// Writes and removes a file in the home, loads configuration, policy and servers, runs the policy's
/// scenarios, checks the last audit log, writes one, cages a child that tries to get out, starts and
/// ends others, the built-in servers and those that you trust, runs a script, lets a client make calls
/// through a proxy, sends a request through the model gate to a provider on this machine, looks at what the
/// system can do, and asks each provider that there is a key for which models it has, which costs nothing. Nothing of yours is changed, and no server on another machine is
/// connected to.
/// Exits with 0 if nothing failed and with 1 if something did.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Print a JSON array of `{"check", "status", "detail", "remedy"}`
    #[arg(long)]
    json: bool,
}

/// How one thing came out.
#[derive(Debug, Serialize)]
struct Check {
    /// What is checked.
    #[serde(rename = "check")]
    name: String,
    status: Status,
    /// What was tried, and what came of it.
    detail: String,
    /// What to do about it.
    remedy: Option<String>,
}

/// How well a thing does.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    /// It works.
    Ok,
    /// It works, but not as it should; or nobody could try.
    Warning,
    /// It does not work.
    Failed,
    /// Nothing needs it yet.
    Info,
}

/// What the checks share.
struct Patient<'a> {
    environment: &'a Environment,
    home: Home,
    /// What is at the home.
    state: HomeState,
    /// Where things are tried, if there is a place.
    trial: Option<Trial>,
}

/// What is found where the home should be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum HomeState {
    /// Nothing yet.
    Absent,
    /// A home that can be used.
    Usable,
    /// Something that can be read at best.
    Unusable,
}

/// Runs the command.
pub(crate) fn run(
    args: &DoctorArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let checks = examine(environment, screen)?;
    if args.json {
        screen.json(&serde_json::to_string(&checks).unwrap_or_default())?;
    } else {
        print(&checks, screen)?;
    }
    let has_failed = checks.iter().any(|check| check.status == Status::Failed);
    Ok(if has_failed { Exit::Failed } else { Exit::Success })
}

fn examine(environment: &Environment, screen: &mut Screen) -> Result<Vec<Check>, Failure> {
    let mut checks = Vec::new();
    let home = config::home(environment)?;
    let (state, trial) = home::check(&home, &mut checks);
    let patient = Patient { environment, home, state, trial };
    let settings = settings::check(&patient, &mut checks);
    record::check(&patient, &mut checks);
    let holding = cages::check(&patient, &mut checks);
    children::check(&patient, &settings, holding.as_ref(), &mut checks, screen);
    scripts::check(&patient, holding.as_ref(), &mut checks);
    whole::check(&patient, holding.as_ref(), &mut checks);
    gate::check(&patient, &mut checks);
    kernel::check(&patient, &mut checks);
    models::check(&patient, &mut checks);
    Ok(checks)
}

fn print(checks: &[Check], screen: &mut Screen) -> Result<(), Failure> {
    let width = checks.iter().map(|check| check.name.chars().count()).max().unwrap_or(0);
    for Check { name, status, detail, remedy } in checks {
        let (name, detail) = (visible(name), visible(detail));
        screen.folded(&format!("{:<7}  {name:width$}  {detail}", status.as_str()))?;
        if let Some(remedy) = remedy {
            screen.folded(&format!("{:7}  {:width$}  remedy: {}", "", "", visible(remedy)))?;
        }
    }
    let count = |status| checks.iter().filter(|check| check.status == status).count();
    let (n_failed, n_warnings) = (count(Status::Failed), count(Status::Warning));
    let n_checks = checks.len() - count(Status::Info);
    screen.line("")?;
    screen.line(&format!("{n_checks} checks: {n_failed} failed, {n_warnings} with a warning"))
}

impl Status {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "failed",
            Self::Info => "info",
        }
    }
}

impl Check {
    fn ok(name: impl Into<String>, detail: impl Into<String>) -> Self {
        let (name, detail) = (name.into(), detail.into());
        Self { name, status: Status::Ok, detail, remedy: None }
    }

    fn info(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { status: Status::Info, ..Self::ok(name, detail) }
    }

    fn warning(
        name: impl Into<String>,
        detail: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { status: Status::Warning, remedy: Some(remedy.into()), ..Self::ok(name, detail) }
    }

    fn failed(
        name: impl Into<String>,
        detail: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { status: Status::Failed, ..Self::warning(name, detail, remedy) }
    }

    /// A failure as it would be shown; `remedy` is for one that has no hint.
    fn of_failure(name: impl Into<String>, failure: &Failure, remedy: &str) -> Self {
        let message = failure.to_string();
        let detail = std::iter::once(message.as_str())
            .chain(failure.details().iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join("; ");
        Self::failed(name, detail, failure.hint().unwrap_or(remedy))
    }

    /// Something that could not be tried because of what failed before.
    fn not_tried(name: impl Into<String>, why: &str) -> Self {
        Self::warning(name, format!("not tried: {why}"), "fix what failed above first")
    }
}
