//! `ironcurtain audit`: what was recorded, and whether it still is.

mod export;
pub(crate) mod find;
mod rows;
mod show;
mod tail;
mod verify;

use ic_audit::read::{Filter, Record};
use ic_home::Environment;
use ic_types::Timestamp;

use crate::commands::Exit;
use crate::error::Failure;
use crate::screen::Screen;
use crate::terminal::Paint;

/// Show, follow, verify and export the audit log
#[derive(Debug, clap::Subcommand)]
pub(crate) enum AuditCommand {
    Show(show::ShowArgs),
    Tail(tail::TailArgs),
    Verify(verify::VerifyArgs),
    Export(export::ExportArgs),
}

/// Which records are wanted
#[derive(Debug, clap::Args)]
struct FilterArgs {
    /// Only records of this kind: intent, outcome, escalation, grant, session, egress, llm
    #[arg(long, value_parser = kinds())]
    kind: Option<String>,
    /// Only calls of this server
    #[arg(long)]
    server: Option<String>,
    /// Only calls of this tool
    #[arg(long)]
    tool: Option<String>,
    /// Only calls with this verdict
    #[arg(long, value_parser = ["allow", "escalate", "deny"])]
    verdict: Option<String>,
    /// Only calls that this rule decided
    #[arg(long)]
    rule: Option<String>,
    /// Only records of this call
    #[arg(long, value_name = "ID")]
    request: Option<String>,
    /// Not before this time (UTC), for example 2026-11-15 or 2026-11-15T10:30
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<String>,
    /// Not after this time (UTC)
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<String>,
}

/// Reads a time, or the beginning of one, as records have it.
pub(in crate::commands) fn time(text: &str) -> Result<String, String> {
    let rest = "0000-01-01T00:00:00Z".get(text.len()..).unwrap_or_default();
    let is_beginning = [4, 7, 10, 13, 16, 19].contains(&text.len());
    if is_beginning && format!("{text}{rest}").parse::<Timestamp>().is_ok() {
        return Ok(text.to_owned());
    }
    // At any offset: records are in UTC.
    text.parse::<Timestamp>().map(|time| time.to_string()).map_err(|_| {
        "not a time; write it as 2026-11-15, 2026-11-15T10:30 or 2026-11-15T10:30:00Z".to_owned()
    })
}

/// Runs `command`.
pub(crate) fn run(
    command: AuditCommand,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    match command {
        AuditCommand::Show(args) => show::run(args, environment, screen),
        AuditCommand::Tail(args) => tail::run(args, environment, screen),
        AuditCommand::Verify(args) => verify::run(&args, environment, screen),
        AuditCommand::Export(args) => export::run(args, environment, screen),
    }
}

fn kinds() -> clap::builder::PossibleValuesParser {
    ic_audit::Kind::ALL.map(ic_audit::Kind::as_str).into()
}

impl From<FilterArgs> for Filter {
    fn from(args: FilterArgs) -> Self {
        let FilterArgs { kind, server, tool, verdict, rule, request, since, until } = args;
        Self { kind, server, tool, verdict, rule, request_id: request, since, until }
    }
}

/// Returns a record as one line for a person.
fn row(record: &Record, paint: Paint) -> String {
    rows::Row::of(record, None, true).line(paint)
}

/// Cuts a long text in the middle, and says how long it is.
fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 100;
    let n_chars = text.chars().count();
    if n_chars <= CHARS_MAX {
        return text.to_owned();
    }
    let head: String = text.chars().take(CHARS_MAX / 2).collect();
    let tail: String = text.chars().skip(n_chars - CHARS_MAX / 4).collect();
    format!("{head}…{tail} ({n_chars} characters)")
}
