//! `ironcurtain audit tail`: the newest records, and those that come.

use ic_audit::read::{Filter, Records};
use ic_home::Environment;
use ic_home::watch::Watch;

use crate::commands::Exit;
use crate::commands::audit::{FilterArgs, find, row, show};
use crate::error::Failure;
use crate::screen::Screen;
use crate::terminal::Paint;

/// Show the newest records of a log
#[derive(Debug, clap::Args)]
pub(crate) struct TailArgs {
    /// Session by id or a beginning of it, or a file; the newest session's log if left out
    #[arg(value_name = "SESSION|FILE")]
    log: Option<String>,
    #[command(flatten)]
    filter: FilterArgs,
    /// How many records to begin with
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    lines: usize,
    /// Go on showing records as they are written, until interrupted
    #[arg(short, long)]
    follow: bool,
    /// Print each record as a line of JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(
    args: TailArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let TailArgs { log, filter, lines, follow, json } = args;
    let found = find::one(log.as_deref(), environment)?;
    let filter = Filter::from(filter);
    // Before anything is read, so that nothing is written unseen in between.
    let watch = match follow {
        true => Some(Watch::on(&found.files.log)?),
        false => None,
    };
    let mut records = show::records(&found)?;
    for record in show::last(records.by_ref(), &filter, lines)? {
        print(&record, json, screen)?;
    }
    let Some(mut watch) = watch else { return Ok(Exit::Success) };
    loop {
        show_new(&found, &mut records, &filter, json, screen)?;
        screen.out().flush().map_err(Failure::output)?;
        watch.wait()?;
    }
}

fn show_new(
    found: &find::Found,
    records: &mut Records,
    filter: &Filter,
    json: bool,
    screen: &mut Screen,
) -> Result<(), Failure> {
    for record in records {
        let record = record.map_err(|error| show::unreadable(found, error))?;
        if filter.wants(&record) {
            print(&record, json, screen)?;
        }
    }
    Ok(())
}

fn print(record: &ic_audit::read::Record, json: bool, screen: &mut Screen) -> Result<(), Failure> {
    if json { screen.json(&record.line) } else { screen.line(&row(record, Paint::Plain)) }
}
