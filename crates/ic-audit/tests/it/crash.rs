//! A writer that is killed: nothing is lost that was recorded, and nothing is called tampering.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ic_audit::{AuditError, AuditLog, Condition};

use crate::ground::{SESSION, check, condition, files, open, opening, options, permit, tempdir};

/// Tells a run of this test program that it is the one to be killed, and where to write.
const DIRECTORY: &str = "IC_AUDIT_TEST_DIRECTORY";

/// A pseudo-random sequence, so that a failing run can be repeated.
fn numbers() -> impl Iterator<Item = u64> {
    std::iter::successors(Some(88_172_645_463_325_252_u64), |n| {
        let n = n ^ (n << 13);
        let n = n ^ (n >> 7);
        Some(n ^ (n << 17))
    })
}

/// Runs one test of this program as another process.
fn this_program(test: &str, directory: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture"]).env(DIRECTORY, directory).stdout(Stdio::piped());
    command
}

fn told_directory() -> Option<PathBuf> {
    std::env::var_os(DIRECTORY).map(PathBuf::from)
}

/// Appends as fast as it can and says what was recorded; does nothing unless told where.
#[test]
fn appends_until_killed() {
    let Some(directory) = told_directory() else { return };
    let log = open(&directory);
    let mut out = std::io::stdout().lock();
    for at in 0..1_000_000 {
        let recorded = log.record(permit(at), format!("r{at}"), "none").unwrap();
        if writeln!(out, "ack {}", recorded.seq()).is_err() {
            return;
        }
    }
}

#[test]
fn two_hundred_kills_lose_nothing_that_was_recorded() {
    let directory = tempdir();
    for n in numbers().take(200) {
        let mut child =
            this_program("crash::appends_until_killed", directory.path()).spawn().unwrap();
        let mut acks = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let n_acks = usize::try_from(n % 60).unwrap();
        let mut last = None;
        for ack in acks.by_ref().filter(|line| line.starts_with("ack ")).take(n_acks + 1) {
            last = Some(ack);
        }
        child.kill().unwrap();
        // What it had said before it died counts too.
        last = acks.filter(|line| line.starts_with("ack ")).last().or(last);
        child.wait().unwrap();
        let last = last.unwrap();
        let last: u64 = last.strip_prefix("ack ").unwrap().parse().unwrap_or(0);
        let report = check(directory.path());
        assert!(last < report.records, "record {last} is lost: {report:?}");
        assert!(
            matches!(report.condition, Condition::Intact | Condition::Crashed { .. }),
            "{report:?}"
        );
    }
    drop(open(directory.path()));
    assert_eq!(condition(directory.path()), Condition::Intact);
}

/// Takes a log as it is after some records, before they are committed.
fn uncommitted() -> (tempfile::TempDir, Vec<u8>, Vec<u8>) {
    let directory = tempdir();
    let log = open(directory.path());
    log.close().unwrap();
    let log = open(directory.path());
    let head = fs::read(files(directory.path()).head).unwrap();
    for at in 0..3 {
        drop(log.record(permit(at), format!("r{at}"), "none").unwrap());
    }
    let bytes = fs::read(files(directory.path()).log).unwrap();
    drop(log);
    (directory, bytes, head)
}

#[test]
fn a_crash_at_every_byte_of_the_last_writes_is_repaired_and_recorded() {
    let (directory, bytes, head) = uncommitted();
    let log_path = files(directory.path()).log;
    let committed =
        bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(2).unwrap().0 + 1;
    for length in committed..=bytes.len() {
        fs::write(&log_path, &bytes[..length]).unwrap();
        fs::write(files(directory.path()).head, &head).unwrap();
        let whole = bytes[..length].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        let torn_bytes = (length - whole) as u64;
        let uncommitted =
            bytes[committed..whole].iter().filter(|byte| **byte == b'\n').count() as u64;
        let expected = match (uncommitted, torn_bytes) {
            (0, 0) => Condition::Intact,
            _ => Condition::Crashed { uncommitted, torn_bytes },
        };
        assert_eq!(condition(directory.path()), expected, "{length}");
        let found = AuditLog::repair(files(directory.path()), options(SESSION)).unwrap();
        assert_eq!(found.condition, expected, "{length}");
        assert_eq!(condition(directory.path()), Condition::Intact, "{length}");
        let text = fs::read_to_string(&log_path).unwrap();
        let says_so = text.contains(r#""event":"repaired""#)
            && text.contains(&format!(r#""tornBytes":{torn_bytes},"uncommitted":{uncommitted}}}"#))
            && (uncommitted == 0 || text.contains(r#""from":3,"#));
        assert_eq!(says_so, expected != Condition::Intact, "{length}");
    }
}

/// The rest of a committed record is no crash: it was whole once.
#[test]
fn a_committed_record_that_is_torn_is_truncation() {
    let (directory, bytes, _) = uncommitted();
    // The head that was written when the log was dropped speaks of all records.
    fs::write(files(directory.path()).log, &bytes[..bytes.len() - 10]).unwrap();
    assert!(matches!(condition(directory.path()), Condition::Tampered(_)));
}

/// Opens its log, then has no descriptor left to replace the head with.
#[test]
fn writes_without_descriptors() {
    let Some(directory) = told_directory() else { return };
    let log = open(&directory);
    let limit = rustix::process::Rlimit { current: Some(3), maximum: Some(3) };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
    let mut out = std::io::stdout().lock();
    for at in 0..2_000_000 {
        match log.record(permit(at), format!("r{at}"), "none") {
            Ok(recorded) => drop(recorded),
            Err(error) => {
                writeln!(out, "refused {}", matches!(error, AuditError::Commit { .. })).unwrap();
                return;
            }
        }
    }
}

#[test]
fn exhausted_descriptors_stop_calls() {
    let directory = tempdir();
    let output =
        this_program("crash::writes_without_descriptors", directory.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("refused true"), "{text}");
    assert!(matches!(condition(directory.path()), Condition::Intact | Condition::Crashed { .. }));
    drop(AuditLog::open(files(directory.path()), options(SESSION), opening()).unwrap());
    assert_eq!(condition(directory.path()), Condition::Intact);
}
