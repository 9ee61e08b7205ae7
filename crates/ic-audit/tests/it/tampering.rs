//! Everything that somebody with the log, but without the key, can do to it; each is found and named.

use std::fs;
use std::path::Path;

use ic_audit::{AuditError, AuditKey, AuditLog, Condition, LogFiles, Tampering, verify};
use ic_types::{Digest, Json, JsonLimits};
use proptest::prelude::*;

use crate::ground::{
    SESSION, check, closed_log, condition, files, key, opening, options, permit, tempdir,
};

fn lines(log: &Path) -> Vec<String> {
    fs::read_to_string(log).unwrap().lines().map(ToOwned::to_owned).collect()
}

fn write(log: &Path, lines: &[String]) {
    let text: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(log, text.concat()).unwrap();
}

/// Changes a closed log of 10,000 calls and checks what is said about it.
#[track_caller]
fn check_change(change: impl FnOnce(&mut Vec<String>), expected: &Tampering) {
    let (directory, log) = long_log();
    let mut all = lines(&log);
    assert_eq!(all.len(), 10_002);
    change(&mut all);
    write(&log, &all);
    assert_eq!(condition(directory.path()), Condition::Tampered(expected.clone()));
    // And nobody writes on as if nothing had happened.
    let opened = AuditLog::open(files(directory.path()), options(SESSION), opening());
    assert!(matches!(opened, Err(AuditError::Tampered { .. })), "{opened:?}");
}

#[test]
fn removed_records_are_missed() {
    check_change(|all| drop(all.remove(5000)), &Tampering::Missing { from: 5000, to: 5000 });
    check_change(|all| drop(all.drain(10..20)), &Tampering::Missing { from: 10, to: 19 });
    check_change(|all| drop(all.remove(0)), &Tampering::Missing { from: 0, to: 0 });
}

#[test]
fn swapped_copied_and_inserted_records_are_named() {
    check_change(|all| all.swap(700, 701), &Tampering::Reordered { line: 701 });
    check_change(|all| all.swap(3, 9000), &Tampering::Reordered { line: 4 });
    check_change(|all| all.insert(801, all[800].clone()), &Tampering::Duplicated { line: 802 });
    check_change(|all| all.insert(9000, all[5].clone()), &Tampering::Duplicated { line: 9001 });
    check_change(|all| all.insert(400, "{}".to_owned()), &Tampering::Altered { line: 401 });
    check_change(
        |all| all.insert(400, rechained(&all[400].replace("f399", "f0"), None)),
        &Tampering::Inserted { line: 402 },
    );
}

#[test]
fn a_cut_off_end_is_missed() {
    for left in [0, 1, 5000, 10_001] {
        check_change(
            |all| all.truncate(left),
            &Tampering::Truncated { at: left as u64, of: 10_002 },
        );
    }
}

#[test]
fn a_changed_record_is_named_even_if_its_own_hash_was_made_anew() {
    let change = |line: &String| line.replace("f6000", "f6666");
    check_change(|all| all[6001] = change(&all[6001]), &Tampering::Altered { line: 6002 });
    check_change(
        |all| all[6001] = rechained(&change(&all[6001]), None),
        &Tampering::Altered { line: 6002 },
    );
}

#[test]
fn a_chain_made_anew_to_the_end_is_a_forgery() {
    check_change(
        |all| {
            all[6001] = all[6001].replace("f6000", "f6666");
            let mut prev = None;
            for line in &mut all[6001..] {
                *line = rechained(line, prev);
                prev = Some(hash_of(line));
            }
        },
        &Tampering::Forged { record: 10_001 },
    );
}

#[test]
fn a_long_tail_that_nobody_committed_is_a_forgery() {
    check_change(
        |all| {
            for _ in 0..5000 {
                let last = all.last().unwrap();
                let mut next = record(last);
                next.insert("seq", all.len() as u64);
                all.push(rechained(&Json::Object(next).to_canonical(), Some(hash_of(last))));
            }
        },
        &Tampering::ForgedTail { from: 10_002 },
    );
}

/// A closed log goes on only with the beginning of a session; no crash leaves anything else.
#[test]
fn even_one_record_after_the_end_of_a_closed_log_is_a_forgery() {
    for n_forged in [1, 3] {
        check_change(
            |all| {
                for _ in 0..n_forged {
                    let last = all.last().unwrap().clone();
                    let mut next = record(&all[5000]);
                    next.insert("seq", all.len() as u64);
                    all.push(rechained(&Json::Object(next).to_canonical(), Some(hash_of(&last))));
                }
            },
            &Tampering::ForgedTail { from: 10_002 },
        );
    }
}

#[test]
fn a_head_that_we_did_not_write_is_found() {
    let (directory, _) = closed_log(10);
    let head = files(directory.path()).head;
    let genuine = fs::read(&head).unwrap();
    for at in 0..genuine.len() - 1 {
        let mut changed = genuine.clone();
        changed[at] ^= 1;
        fs::write(&head, &changed).unwrap();
        assert_eq!(
            condition(directory.path()),
            Condition::Tampered(Tampering::HeadForged),
            "byte {at}"
        );
    }
    for forged in ["", "{}", "null", r#"{"seq":11,"hash":"00","mac":"00"}"#] {
        fs::write(&head, forged).unwrap();
        assert_eq!(
            condition(directory.path()),
            Condition::Tampered(Tampering::HeadForged),
            "{forged}"
        );
    }
    fs::remove_file(&head).unwrap();
    assert_eq!(condition(directory.path()), Condition::Tampered(Tampering::HeadMissing));
    let opened = AuditLog::open(files(directory.path()), options(SESSION), opening());
    assert!(matches!(opened, Err(AuditError::Tampered { .. })), "{opened:?}");
}

#[test]
fn another_sessions_log_and_another_homes_key_are_found() {
    let (directory, log) = closed_log(10);
    let other = "2026-11-15-00-00-00-000-else".parse().unwrap();
    let report = verify::verify(&files(directory.path()), Some(&other), &key()).unwrap();
    assert_eq!(report.condition, Condition::Tampered(Tampering::Foreign));
    let other_key = AuditKey::from_bytes([8; 32]);
    let report =
        verify::verify(&files(directory.path()), Some(&SESSION.parse().unwrap()), &other_key)
            .unwrap();
    assert_eq!(report.condition, Condition::Tampered(Tampering::Foreign));
    // Relabelled throughout, with a chain to match: the beginning still stands on the key.
    let mut all = lines(&log);
    let mut prev = None;
    for line in &mut all {
        *line = rechained(&line.replace("-test", "-else"), prev);
        prev = Some(hash_of(line));
    }
    write(&log, &all);
    fs::remove_file(files(directory.path()).head).unwrap();
    let report = verify::verify(&files(directory.path()), None, &key()).unwrap();
    assert_eq!(report.session, other);
    assert_eq!(report.condition, Condition::Tampered(Tampering::Foreign));
}

/// Every byte of a small log, changed in three ways.
#[test]
fn every_changed_byte_is_found_and_its_line_named() {
    let (directory, log) = closed_log(12);
    let genuine = fs::read(&log).unwrap();
    let mut line = 1;
    for at in 0..genuine.len() {
        for change in [genuine[at] ^ 1, b'\n', b'"', b'}', b',', b']'] {
            if change == genuine[at] {
                continue;
            }
            let mut changed = genuine.clone();
            changed[at] = change;
            fs::write(&log, &changed).unwrap();
            match condition(directory.path()) {
                Condition::Tampered(Tampering::Altered { line: found }) => {
                    assert_eq!(found, line, "byte {at}");
                }
                // The last newline: without it the last record is not whole.
                Condition::Tampered(Tampering::Truncated { at: 13, of: 14 }) => {
                    assert_eq!(at, genuine.len() - 1);
                }
                other => panic!("byte {at} to {change}: {other:?}"),
            }
        }
        line += u64::from(genuine[at] == b'\n');
    }
}

/// Cutting a closed log anywhere is truncation, never a crash.
#[test]
fn a_cut_at_every_byte_is_truncation() {
    let (directory, log) = closed_log(6);
    let genuine = fs::read(&log).unwrap();
    for length in 0..genuine.len() {
        fs::write(&log, &genuine[..length]).unwrap();
        let n_whole = genuine[..length].iter().filter(|byte| **byte == b'\n').count() as u64;
        let expected = Condition::Tampered(Tampering::Truncated { at: n_whole, of: 8 });
        assert_eq!(condition(directory.path()), expected, "{length}");
    }
    fs::write(&log, &genuine).unwrap();
    assert_eq!(check(directory.path()).condition, Condition::Intact);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_changed_byte_of_a_long_log_is_found(at in any::<prop::sample::Index>(), change in 1..=255_u8) {
        let (directory, log) = long_log();
        let genuine = fs::read(&log).unwrap();
        let at = at.index(genuine.len());
        let line = genuine[..at].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        let mut changed = genuine.clone();
        changed[at] ^= change;
        fs::write(&log, &changed).unwrap();
        let found = condition(directory.path());
        let is_last = at + 1 == genuine.len();
        prop_assert!(
            found == Condition::Tampered(Tampering::Altered { line })
                || is_last && matches!(found, Condition::Tampered(Tampering::Truncated { .. })),
            "{:?} at line {}", found, line
        );
    }
}

thread_local! {
    /// The bytes of a closed log of 10,000 calls, and of its head.
    static LONG: (Vec<u8>, Vec<u8>) = {
        let (directory, log) = closed_log(10_000);
        (fs::read(log).unwrap(), fs::read(files(directory.path()).head).unwrap())
    };
}

/// Lays out a copy of the long log.
fn long_log() -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempdir();
    let LogFiles { log, head, .. } = files(directory.path());
    LONG.with(|(bytes, head_bytes)| {
        fs::write(&log, bytes).unwrap();
        fs::write(head, head_bytes).unwrap();
    });
    (directory, log)
}

fn record(line: &str) -> ic_types::Object {
    match Json::parse(line.as_bytes(), JsonLimits::CALL).unwrap() {
        Json::Object(object) => object,
        other => panic!("{other}"),
    }
}

fn hash_of(line: &str) -> String {
    record(line).get("hash").unwrap().as_str().unwrap().to_owned()
}

/// Gives a line a hash that fits it, and a `prevHash` if one is given: what a forger can do.
fn rechained(line: &str, prev: Option<String>) -> String {
    let mut record = record(line);
    record.remove("hash");
    if let Some(prev) = prev {
        record.insert("prevHash", prev);
    }
    let prev = record.get("prevHash").unwrap().as_str().unwrap().to_owned();
    let canonical = Json::Object(record.clone()).to_canonical();
    record.insert("hash", Digest::of(format!("{prev}{canonical}").as_bytes()).to_string());
    Json::Object(record).to_canonical()
}

/// A log with copies of its heads elsewhere.
fn files_with_copies(directory: &Path) -> LogFiles {
    let heads = directory.join("heads");
    fs::create_dir_all(&heads).unwrap();
    fs::set_permissions(&heads, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    LogFiles { heads: Some(heads), ..files(directory) }
}

/// Writes `n_calls` calls, and closes the log.
fn write_on(files: &LogFiles, n_calls: usize) {
    let log = AuditLog::open(files.clone(), options(SESSION), opening()).unwrap();
    for at in 0..n_calls {
        drop(log.record(permit(at), format!("r{at}"), "namespaces").unwrap());
    }
    log.close().unwrap();
}

#[test]
fn an_older_log_that_is_put_back_with_its_head_is_found_out() {
    let directory = tempdir();
    let files = files_with_copies(directory.path());
    let check = || verify::verify(&files, Some(&SESSION.parse().unwrap()), &key()).unwrap();
    write_on(&files, 3);
    let older = (fs::read(&files.log).unwrap(), fs::read(&files.head).unwrap());
    assert_eq!((check().condition, check().is_closed), (Condition::Intact, true));
    write_on(&files, 3);
    assert_eq!(check().condition, Condition::Intact);
    fs::write(&files.log, &older.0).unwrap();
    fs::write(&files.head, &older.1).unwrap();
    let rolled_back = Tampering::RolledBack { at: 5, of: 10 };
    assert_eq!(check().condition, Condition::Tampered(rolled_back));
    let opened = AuditLog::open(files.clone(), options(SESSION), opening());
    assert!(matches!(opened, Err(AuditError::Tampered { .. })), "{opened:?}");
    // Whoever moves it away goes on, and that is written down.
    fs::remove_file(&files.log).unwrap();
    fs::remove_file(&files.head).unwrap();
    write_on(&files, 1);
    assert_eq!(check().condition, Condition::Intact);
    let first = lines(&files.log).remove(0);
    assert!(first.contains(r#""event":"begunAnew","recordsBefore":10"#), "{first}");
}

#[test]
fn a_copy_of_the_head_that_we_did_not_write_is_named() {
    let directory = tempdir();
    let files = files_with_copies(directory.path());
    write_on(&files, 3);
    let copy = files.heads.as_ref().unwrap().join(format!("{SESSION}.head"));
    let text = fs::read_to_string(&copy).unwrap().replace("\"seq\":4", "\"seq\":3");
    fs::write(&copy, text).unwrap();
    let report = verify::verify(&files, Some(&SESSION.parse().unwrap()), &key()).unwrap();
    assert_eq!(report.condition, Condition::Tampered(Tampering::HeadForged));
    // A log from before there were copies is what it was.
    fs::remove_file(&copy).unwrap();
    let report = verify::verify(&files, Some(&SESSION.parse().unwrap()), &key()).unwrap();
    assert_eq!(report.condition, Condition::Intact);
}

#[test]
fn a_log_without_its_last_record_is_not_closed() {
    let directory = tempdir();
    let log = AuditLog::open(files(directory.path()), options(SESSION), opening()).unwrap();
    assert!(AuditLog::is_written(&files(directory.path())).unwrap());
    drop(log);
    assert!(!check(directory.path()).is_closed);
    assert!(!AuditLog::is_written(&files(directory.path())).unwrap());
}
