//! Can calls be recorded, and is what was recorded still there?

use std::path::Path;
use std::sync::Arc;

use ic_audit::key::KeyError;
use ic_audit::{AuditKey, AuditLog, Condition, LogFiles, LogOptions, Redactor, SyncMode, verify};
use ic_home::{Clock as _, SystemClock, random};
use ic_types::{Object, SessionId};

use super::{Check, HomeState, Patient};
use crate::commands::audit::find;
use crate::error::{Failure, chain};

const KEY: &str = "audit key";
const LAST: &str = "last audit log";
const APPEND: &str = "audit log";
const RESTORE: &str = "restore keys/audit.key: without the right key no log can be checked";

pub(super) fn check(patient: &Patient<'_>, checks: &mut Vec<Check>) {
    match patient.state {
        HomeState::Unusable => {
            for name in [KEY, LAST, APPEND] {
                checks.push(Check::not_tried(name, "the home cannot be used"));
            }
            return;
        }
        HomeState::Absent | HomeState::Usable => {}
    }
    match find::all(&patient.home) {
        Ok(logs) => {
            let key = AuditKey::read(&patient.home.audit_key());
            checks.push(of_key(&key, logs.len()));
            checks.push(match (logs.last(), &key) {
                (None, _) => Check::ok(LAST, "not there yet"),
                (Some(found), Ok(key)) => last(found, key),
                (Some(_), Err(_)) => Check::not_tried(LAST, "there is no key to check it with"),
            });
        }
        Err(failure) => checks.push(Check::of_failure(LAST, &failure, "make it readable")),
    }
    checks.push(match &patient.trial {
        None => Check::not_tried(APPEND, "there is no place to write one"),
        Some(trial) => match append(trial.path()) {
            Ok(n_records) => Check::ok(
                APPEND,
                format!("wrote one of {n_records} records, found it intact, and removed it"),
            ),
            Err(failure) => Check::of_failure(
                APPEND,
                &failure,
                "no call is forwarded that cannot be recorded: make room where the home is",
            ),
        },
    });
}

fn of_key(key: &Result<AuditKey, KeyError>, n_logs: usize) -> Check {
    match (key, n_logs) {
        (Ok(_), _) => Check::ok(KEY, "it is there, and 32 bytes long"),
        (Err(KeyError::Absent(_)), 0) => {
            Check::ok(KEY, "not there yet; the first session makes it")
        }
        (Err(error), n) => {
            let detail = chain(error);
            let logs = match n {
                1 => "1 log depends on it".to_owned(),
                n => format!("{n} logs depend on it"),
            };
            Check::failed(KEY, format!("{detail}; {logs}"), RESTORE)
        }
    }
}

/// Checks a log without changing it: one that a session is writing is no business of ours.
fn last(found: &find::Found, key: &AuditKey) -> Check {
    let report = match verify::verify(&found.files, found.session.as_ref(), key) {
        Ok(report) => report,
        Err(error) => return Check::of_failure(LAST, &Failure::from(error), "make it readable"),
    };
    let records = ic_types::counted(report.records, "record", "records");
    let detail = format!("{}: {records}: {}", report.session, report.condition);
    match report.condition {
        Condition::Intact => Check::ok(LAST, detail),
        Condition::Crashed { .. } => Check::warning(
            LAST,
            format!("{detail}, or a session is writing it now"),
            "`ironcurtain audit verify` repairs it, unless a session is writing it",
        ),
        Condition::NoHead | Condition::Tampered(_) => Check::failed(
            LAST,
            detail,
            format!(
                "find out who changed it (`ironcurtain audit verify {}`), and keep a copy",
                report.session
            ),
        ),
    }
}

/// Writes a log in `directory`, under a key of its own, and checks it.
fn append(directory: &Path) -> Result<u64, Failure> {
    let random =
        |source| Failure::environment("the system gives no random bytes").with_source(source);
    let key = random::bytes::<32>().map_err(random)?;
    let chance = random::bytes::<4>().map_err(random)?;
    let session = SessionId::generate(SystemClock.now(), u32::from_le_bytes(chance));
    let files = LogFiles {
        log: directory.join("audit.jsonl"),
        head: directory.join("audit.head"),
        heads: None,
    };
    let options = LogOptions {
        session: session.clone(),
        key: AuditKey::from_bytes(key),
        redactor: Arc::new(Redactor::new([])),
        clock: Arc::new(SystemClock),
        sync: SyncMode::Each,
        bytes_max: ic_audit::BYTES_MAX,
    };
    let mut opening = Object::new();
    opening.insert("event", "opened");
    opening.insert("kind", "doctor");
    AuditLog::open(files.clone(), options, opening)?.close()?;
    let report = verify::verify(&files, Some(&session), &AuditKey::from_bytes(key))?;
    match report.condition {
        Condition::Intact => Ok(report.records),
        condition => Err(Failure::environment(format!(
            "a log that was just written is not what was written: {condition}"
        ))),
    }
}
