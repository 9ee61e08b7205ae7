//! `ironcurtain audit show`: the records of a log.

use std::collections::VecDeque;

use ic_audit::read::{Filter, Record, Records};
use ic_home::Environment;

use crate::commands::Exit;
use crate::commands::audit::rows::{Joiner, Row};
use crate::commands::audit::{FilterArgs, find};
use crate::error::Failure;
use crate::screen::{Screen, columns, fold, visible};
use crate::spent::ByModel;
use crate::terminal::Paint;

/// Show the calls of a log, one line each, and what else was recorded
///
/// A line has the verdict, what was called, on which path or address, the rule, who approved it, and
/// what came of it; `--json` has every record as it was written. The requests, tokens and cost of each model
/// follow at the end.
///
/// This does not check whether the log is genuine; `audit verify` does.
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
    let all = records.map(|record| record.map_err(|error| unreadable(&found, error)));
    if !args.json {
        print_calls(all, &filter, args.limit, Paint::of_stdout(environment), screen)?;
        return Ok(Exit::Success);
    }
    let wanted = all.filter(|record| record.as_ref().map_or(true, |r| filter.wants(r)));
    match args.limit {
        Some(limit) => {
            let mut last = VecDeque::new();
            for record in wanted {
                last.push_back(record?);
                if limit < last.len() {
                    last.pop_front();
                }
            }
            print_json(last.into_iter().map(Ok), screen)?;
        }
        None => print_json(wanted, screen)?,
    }
    Ok(Exit::Success)
}

/// Prints a line for each call, and for each record that belongs to none.
fn print_calls(
    records: impl Iterator<Item = Result<Record, Failure>>,
    filter: &Filter,
    limit: Option<usize>,
    paint: Paint,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let mut joiner = Joiner::default();
    let mut kept = VecDeque::new();
    let columns = columns(std::io::stdout());
    let mut take = |row: Row, screen: &mut Screen| match limit {
        None => print(&row, paint, columns, screen),
        Some(limit) => {
            kept.push_back(row);
            if limit < kept.len() {
                kept.pop_front();
            }
            Ok(())
        }
    };
    let mut models = ByModel::default();
    for record in records {
        let record = record?;
        if filter.wants(&record) {
            models.take(&record);
        }
        for row in joiner.take(&record, filter) {
            take(row, screen)?;
        }
    }
    for row in joiner.finish() {
        take(row, screen)?;
    }
    kept.iter().try_for_each(|row| print(row, paint, columns, screen))?;
    let mut lines = models.lines().peekable();
    if lines.peek().is_some() {
        screen.line("Models:")?;
    }
    lines.try_for_each(|line| screen.line(&format!("  {}", visible(&line))))
}

/// Prints a row; on a terminal that is too narrow for it, it goes on in the next one.
fn print(
    row: &Row,
    paint: Paint,
    columns: Option<usize>,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let plain = row.line(Paint::Plain);
    let mut folded = fold(&[plain], columns).into_iter();
    let first = folded.next().unwrap_or_default();
    screen.line(&row.painted(&first, paint))?;
    folded.try_for_each(|rest| screen.line(&rest))
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
) -> Result<VecDeque<Record>, Failure> {
    let mut last = VecDeque::new();
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

fn print_json(
    records: impl Iterator<Item = Result<Record, Failure>>,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let mut before = "[";
    for record in records {
        screen.json(&format!("{before}{}", record?.line))?;
        before = ",";
    }
    screen.line(if before == "[" { "[]" } else { "]" })
}
