//! `ironcurtain audit show`: the records of a log.

use ic_audit::read::{Filter, Record, Records};
use ic_home::Environment;

use crate::commands::Exit;
use crate::commands::audit::{FilterArgs, find, row};
use crate::error::Failure;
use crate::screen::Screen;

/// Show the records of a log
///
/// Shows what stands there; whether it is genuine is said by `audit verify`.
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// Session by id or a beginning of it, or a file; the newest session's log if left out
    #[arg(value_name = "SESSION|FILE")]
    log: Option<String>,
    #[command(flatten)]
    filter: FilterArgs,
    /// Show no more than this many, the newest
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print the records as a JSON array
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(
    args: ShowArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let found = find::one(args.log.as_deref(), environment)?;
    let records = records(&found)?;
    let filter = Filter::from(args.filter);
    match (args.limit, args.json) {
        (Some(limit), json) => {
            let last = last(records, &filter, limit)?;
            print(last.into_iter().map(Ok), json, screen)?;
        }
        (None, json) => {
            let wanted = records.map(|record| record.map_err(|error| unreadable(&found, error)));
            let wanted = wanted.filter(|record| record.as_ref().map_or(true, |r| filter.wants(r)));
            print(wanted, json, screen)?;
        }
    }
    Ok(Exit::Success)
}

/// Opens a log to read it.
pub(super) fn records(found: &find::Found) -> Result<Records, Failure> {
    let log = &found.files.log;
    Records::open(log).map_err(|source| {
        Failure::config(format!("cannot read the audit log `{}`", log.display()))
            .with_source(source)
    })
}

/// Says which log it was that could not be read.
pub(super) fn unreadable(found: &find::Found, error: ic_audit::read::ReadError) -> Failure {
    let log = found.files.log.display();
    Failure::config(format!("the audit log `{log}` cannot be shown"))
        .with_source(error)
        .with_hint("`ironcurtain audit verify` says what happened to it")
}

/// Returns the last `n` records that are wanted.
pub(super) fn last(
    records: impl Iterator<Item = Result<Record, ic_audit::read::ReadError>>,
    filter: &Filter,
    n: usize,
) -> Result<std::collections::VecDeque<Record>, Failure> {
    let mut last = std::collections::VecDeque::new();
    for record in records {
        let record = record
            .map_err(|error| Failure::config("the audit log cannot be shown").with_source(error))?;
        if filter.wants(&record) {
            last.push_back(record);
        }
        if n < last.len() {
            last.pop_front();
        }
    }
    Ok(last)
}

fn print(
    records: impl Iterator<Item = Result<Record, Failure>>,
    json: bool,
    screen: &mut Screen,
) -> Result<(), Failure> {
    if !json {
        for record in records {
            screen.line(&row(&record?))?;
        }
        return Ok(());
    }
    let mut before = "[";
    for record in records {
        screen.json(&format!("{before}{}", record?.line))?;
        before = ",";
    }
    screen.line(if before == "[" { "[]" } else { "]" })
}
