//! `ironcurtain audit export`: a log for other programs.

use ic_audit::read::{Filter, Record};
use ic_home::Environment;

use crate::commands::Exit;
use crate::commands::audit::{FilterArgs, find, show};
use crate::error::Failure;
use crate::screen::Screen;

/// Export the records of a log
#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    /// Session by id or a beginning of it, or a file; the newest session's log if left out
    #[arg(value_name = "SESSION|FILE")]
    log: Option<String>,
    #[command(flatten)]
    filter: FilterArgs,
    /// Format to write
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
enum Format {
    /// One record per line, as it stands in the log
    Jsonl,
    /// A table with a heading, for spreadsheets
    Csv,
}

const COLUMNS: [&str; 19] = [
    "seq",
    "timestamp",
    "sessionId",
    "kind",
    "requestId",
    "server",
    "tool",
    "arguments",
    "resolved",
    "verdict",
    "rule",
    "reason",
    "policyHash",
    "decidedBy",
    "durationMs",
    "resultDigest",
    "resultBytes",
    "confined",
    "replayable",
];

/// Runs the command.
pub(crate) fn run(
    args: ExportArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let found = find::one(args.log.as_deref(), environment)?;
    let filter = Filter::from(args.filter);
    if args.format == Format::Csv {
        screen.line(&COLUMNS.join(","))?;
    }
    for record in show::records(&found)? {
        let record = record.map_err(|error| show::unreadable(&found, error))?;
        if !filter.wants(&record) {
            continue;
        }
        match args.format {
            Format::Jsonl => screen.strangers_line(&record.line)?,
            Format::Csv => screen.strangers_line(&csv_row(&record))?,
        }
    }
    Ok(Exit::Success)
}

fn csv_row(record: &Record) -> String {
    let cells: Vec<String> = COLUMNS.iter().map(|column| csv_cell(&record.cell(column))).collect();
    cells.join(",")
}

/// Quotes a cell where it must be, and keeps a spreadsheet from taking it for a formula.
fn csv_cell(text: &str) -> String {
    // SECURITY: an agent chooses these texts, and a person opens them in a program that calculates.
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    if text.contains([',', '"', '\n', '\r']) || !guard.is_empty() {
        format!("\"{guard}{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::csv_cell;

    #[test]
    fn cells_are_quoted_and_never_formulas() {
        for (text, expected) in [
            ("plain", "plain"),
            ("", ""),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=HYPERLINK(1)", "\"'=HYPERLINK(1)\""),
            ("-1+1", "\"'-1+1\""),
            ("@x", "\"'@x\""),
        ] {
            assert_eq!(csv_cell(text), expected);
        }
    }
}
