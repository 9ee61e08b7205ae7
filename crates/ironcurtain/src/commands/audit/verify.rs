//! `ironcurtain audit verify`: is the log what was written?

use std::sync::Arc;

use ic_audit::{AuditError, AuditKey, AuditLog, Condition, LogOptions, Redactor, Report, SyncMode};
use ic_home::clock::SystemClock;
use ic_home::{Environment, Home};
use serde::Serialize;

use crate::commands::Exit;
use crate::commands::audit::find::{self, Found};
use crate::error::Failure;
use crate::screen::{Screen, visible};

/// Check that nobody changed a log
///
/// Names the first record that was altered, removed, moved, copied or put in, and finds an end that
/// was cut off. A session's log that a crash left unfinished is repaired, and the repair recorded; a
/// file is only read. Exits with 0 if every record is there, and with 1 if not or if that is unknown.
#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// Session by id or a beginning of it, or a file; all logs if left out
    #[arg(value_name = "SESSION|FILE")]
    log: Option<String>,
    /// Print the result as a JSON array
    #[arg(long)]
    json: bool,
}

/// What is said about one log.
#[derive(Debug, Serialize)]
struct Outcome {
    session: String,
    log: String,
    records: u64,
    condition: &'static str,
    detail: String,
}

/// Runs the command.
pub(crate) fn run(
    args: &VerifyArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = Home::new(environment.ironcurtain_home()?);
    let logs = match &args.log {
        Some(name) => vec![find::one(Some(name), environment)?],
        None => find::all(&home)?,
    };
    let key_path = home.audit_key();
    let outcomes = logs
        .iter()
        .map(|found| {
            let outcome = Outcome::of(found, || Ok(AuditKey::read(&key_path)?));
            // One log that cannot be read must not hide what is to be said about the others.
            outcome.unwrap_or_else(|failure| Outcome::unreadable(found, &failure))
        })
        .collect::<Vec<_>>();
    if args.json {
        screen.json(&serde_json::to_string(&outcomes).unwrap_or_default())?;
    } else {
        for Outcome { session, records, detail, .. } in &outcomes {
            screen.line(&format!(
                "{}: {}: {}",
                visible(session),
                ic_types::counted(*records, "record", "records"),
                visible(detail)
            ))?;
        }
        if outcomes.is_empty() {
            screen.line("there is no audit log yet")?;
        }
    }
    let is_good =
        |outcome: &Outcome| matches!(outcome.condition, "intact" | "crashed" | "open" | "unclosed");
    Ok(if outcomes.iter().all(is_good) { Exit::Success } else { Exit::Failed })
}

impl Outcome {
    fn unreadable(found: &Found, failure: &Failure) -> Self {
        let session = found.session.as_ref().map_or_else(String::new, ToString::to_string);
        let log = found.files.log.display().to_string();
        Self { session, log, records: 0, condition: "unreadable", detail: failure.to_string() }
    }

    fn of(found: &Found, key: impl Fn() -> Result<AuditKey, Failure>) -> Result<Self, Failure> {
        let report = ic_audit::verify::verify(&found.files, found.session.as_ref(), &key()?)?;
        let (condition, detail) = match (&report.condition, &found.session) {
            (Condition::Crashed { .. }, Some(session)) => {
                let options = LogOptions {
                    session: session.clone(),
                    key: key()?,
                    redactor: Arc::new(Redactor::new([])),
                    clock: Arc::new(SystemClock),
                    sync: SyncMode::Group,
                    bytes_max: ic_audit::BYTES_MAX,
                };
                match AuditLog::repair(found.files.clone(), options) {
                    Ok(Report { condition: Condition::Tampered(tampering), .. }) => {
                        ("tampered", tampering.to_string())
                    }
                    Ok(report) => {
                        ("crashed", format!("{}; repaired and recorded", report.condition))
                    }
                    Err(AuditError::InUse(_)) => {
                        ("open", "intact so far; a session is still writing it".to_owned())
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            (Condition::Intact, _) if !report.is_closed => unclosed(found),
            (condition, _) => (word(condition), condition.to_string()),
        };
        Ok(Self {
            session: report.session.to_string(),
            log: found.files.log.display().to_string(),
            records: report.records,
            condition,
            detail,
        })
    }
}

/// Says what is to be said of a log that fits its head and has no last record.
fn unclosed(found: &Found) -> (&'static str, String) {
    // A file that we may not open to write is nobody's who runs here.
    match AuditLog::is_written(&found.files).unwrap_or(false) {
        true => ("open", "intact so far; a session is still writing it".to_owned()),
        false => (
            "unclosed",
            "every record is as it was written, but the last one is missing: the session was killed, or \
             the end of its log was cut off"
                .to_owned(),
        ),
    }
}

fn word(condition: &Condition) -> &'static str {
    match condition {
        Condition::Intact => "intact",
        Condition::NoHead => "no-head",
        Condition::Crashed { .. } => "crashed",
        Condition::Tampered(_) => "tampered",
    }
}
