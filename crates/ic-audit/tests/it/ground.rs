//! What the tests of the log share: a directory, a key, a clock, and calls to record.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ic_audit::{
    AuditKey, AuditLog, Condition, LogFiles, LogOptions, Redactor, Report, SyncMode, verify,
};
use ic_home::clock::Clock;
use ic_policy::artifact::Source;
use ic_policy::{
    Bounds, Denial, PathValue, Permit, Policy, PolicySources, ResolvedCall, ResolvedParts,
    RoleValues, Standing, Value, Verdict, evaluate,
};
use ic_types::{CanonicalPath, Json, JsonLimits, Object, Role, Timestamp, ToolCall};

/// A clock that stands still.
pub(crate) struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_ms(1_794_700_800_123)
    }
}

/// Makes a temporary directory, in memory where there is such a place: these tests write much.
pub(crate) fn tempdir() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

pub(crate) const SESSION: &str = "2026-11-15-00-00-00-000-test";

pub(crate) fn files(directory: &Path) -> LogFiles {
    LogFiles { log: directory.join("audit.jsonl"), head: directory.join("audit.head"), heads: None }
}

pub(crate) fn key() -> AuditKey {
    AuditKey::from_bytes([7; 32])
}

pub(crate) fn options(session: &str) -> LogOptions {
    LogOptions {
        session: session.parse().unwrap(),
        key: key(),
        redactor: Arc::new(Redactor::new([])),
        clock: Arc::new(StoppedClock),
        sync: SyncMode::Group,
        bytes_max: ic_audit::BYTES_MAX,
    }
}

pub(crate) fn opening() -> Object {
    let mut opening = Object::new();
    opening.insert("event", "opened");
    opening
}

#[track_caller]
pub(crate) fn open(directory: &Path) -> AuditLog {
    AuditLog::open(files(directory), options(SESSION), opening()).unwrap()
}

#[track_caller]
pub(crate) fn check(directory: &Path) -> Report {
    verify::verify(&files(directory), Some(&SESSION.parse().unwrap()), &key()).unwrap()
}

#[track_caller]
pub(crate) fn condition(directory: &Path) -> Condition {
    check(directory).condition
}

/// Makes a closed log with `n_calls` calls in it; returns the directory and the log's path.
pub(crate) fn closed_log(n_calls: usize) -> (tempfile::TempDir, PathBuf) {
    let directory = tempdir();
    let log = open(directory.path());
    for at in 0..n_calls {
        drop(log.record(permit(at), format!("r{at}"), "namespaces").unwrap());
    }
    log.close().unwrap();
    let path = files(directory.path()).log;
    (directory, path)
}

fn resolved(at: usize, note: &str) -> ResolvedCall {
    let arguments =
        format!(r#"{{"path":"f{at}","note":"{note}","n":{at},"hash":"{at}","seq":[{{"seq":1}}]}}"#);
    let Ok(Json::Object(arguments)) = Json::parse(arguments.as_bytes(), JsonLimits::CALL) else {
        panic!()
    };
    let path = CanonicalPath::new(format!("/s/f{at}")).unwrap();
    let value = Value::Path(PathValue { path, also: Vec::new(), state: None });
    ResolvedCall::assert_resolved(ResolvedParts {
        sent: arguments.clone(),
        asked: ToolCall { server: "s".parse().unwrap(), tool: "t".parse().unwrap(), arguments },
        standing: Standing::Annotated,
        roles: vec![RoleValues { role: Role::ReadPath, values: vec![value] }],
        invalid: Vec::new(),
        unknown_arguments: Vec::new(),
        unannotated_paths: Vec::new(),
        executed: Vec::new(),
        places: Vec::new(),
        push: None,
    })
}

fn verdict(then: &str, at: usize, note: &str) -> Verdict {
    let rules = format!(
        r#"{{"rules":[{{"name":"the-rule","if":{{}},"then":"{then}","reason":"the reason"}}]}}"#
    );
    let sources = PolicySources {
        compiled: Source { file: "compiled-policy.json", bytes: rules.as_bytes() },
        annotations: Source { file: "tool-annotations.json", bytes: br#"{"servers":{}}"# },
        lists: None,
    };
    let policy = Policy::load(&sources, &|_| Err(String::new())).unwrap();
    let bounds = Bounds {
        sandbox: None,
        protected: Vec::new(),
        home_executes: Vec::new(),
        servers: HashMap::new(),
    };
    evaluate(&policy, &bounds, resolved(at, note))
}

/// Two lines, as JSON writes them.
const NOTE: &str = r"line\nbreak";

pub(crate) fn permit(at: usize) -> Permit {
    match verdict("allow", at, NOTE) {
        Verdict::Allow(permit) => permit,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn denial(at: usize) -> Denial {
    noted_denial(at, NOTE)
}

/// Makes a denial of a call that says much.
pub(crate) fn long_denial(n_bytes: usize) -> Denial {
    noted_denial(0, &"n".repeat(n_bytes))
}

fn noted_denial(at: usize, note: &str) -> Denial {
    match verdict("deny", at, note) {
        Verdict::Deny(denial) => denial,
        other => panic!("{other:?}"),
    }
}
