//! A log that cannot be written: calls stop with a clear error, and nothing is corrupted.

use std::error::Error;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use ic_audit::sink::{Durable, Sink};
use ic_audit::{AuditError, AuditLog, Condition, verify};

use crate::ground::{
    SESSION, check, condition, files, key, open, opening, options, permit, tempdir,
};

/// A sink in memory that fails when told to.
#[derive(Clone, Default)]
struct Faulty(Arc<Mutex<Faults>>);

#[derive(Default)]
struct Faults {
    bytes: Vec<u8>,
    /// How many bytes the next append writes before it fails.
    append_fails_after: Option<usize>,
    cut_fails: bool,
    sync_fails: bool,
}

impl Sink for Faulty {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut faults = self.0.lock().unwrap();
        if let Some(n) = faults.append_fails_after.take() {
            faults.bytes.extend(&bytes[..n.min(bytes.len())]);
            return Err(io::ErrorKind::StorageFull.into());
        }
        faults.bytes.extend(bytes);
        Ok(())
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        let mut faults = self.0.lock().unwrap();
        if faults.cut_fails {
            return Err(io::ErrorKind::Other.into());
        }
        faults.bytes.truncate(usize::try_from(length).unwrap());
        Ok(())
    }

    fn durable(&self) -> Arc<dyn Durable> {
        Arc::new(self.clone())
    }
}

impl Durable for Faulty {
    fn sync(&self) -> io::Result<()> {
        match self.0.lock().unwrap().sync_fails {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }

    fn is_at(&self, _: &Path) -> io::Result<bool> {
        Ok(true)
    }
}

fn record(log: &AuditLog) -> Result<(), AuditError> {
    log.record(permit(0), "r".to_owned(), "none").map(drop)
}

/// Looks until `is_done`, giving the committer its time; fails if it never is.
#[track_caller]
fn eventually(mut is_done: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !is_done() {
        assert!(start.elapsed() < std::time::Duration::from_secs(20), "it never happened");
        std::thread::yield_now();
    }
}

#[test]
fn half_a_line_is_taken_back_and_the_log_goes_on() {
    let directory = tempdir();
    let sink = Faulty::default();
    let log =
        AuditLog::with_sink(files(directory.path()), options(SESSION), Box::new(sink.clone()))
            .unwrap();
    for n_written in [0, 1, 50, 100_000] {
        record(&log).unwrap();
        sink.0.lock().unwrap().append_fails_after = Some(n_written);
        let error = record(&log).unwrap_err();
        assert!(error.to_string().starts_with("cannot write the audit log"), "{error}");
    }
    record(&log).unwrap();
    log.close().unwrap();
    fs::write(files(directory.path()).log, &sink.0.lock().unwrap().bytes).unwrap();
    let report = check(directory.path());
    assert_eq!((report.records, report.condition), (7, Condition::Intact));
}

#[test]
fn a_log_that_cannot_be_put_right_records_nothing_more() {
    let directory = tempdir();
    let sink = Faulty::default();
    let log =
        AuditLog::with_sink(files(directory.path()), options(SESSION), Box::new(sink.clone()))
            .unwrap();
    {
        let mut faults = sink.0.lock().unwrap();
        faults.append_fails_after = Some(10);
        faults.cut_fails = true;
    }
    assert!(record(&log).is_err());
    assert!(matches!(record(&log), Err(AuditError::Broken(_))));
}

#[test]
fn a_log_that_could_not_be_made_durable_records_nothing_more() {
    let directory = tempdir();
    let sink = Faulty::default();
    let log =
        AuditLog::with_sink(files(directory.path()), options(SESSION), Box::new(sink.clone()))
            .unwrap();
    sink.0.lock().unwrap().sync_fails = true;
    eventually(|| record(&log).is_err());
    // The system tells of a failed sync once; the next one says nothing about the bytes before it.
    sink.0.lock().unwrap().sync_fails = false;
    assert!(matches!(record(&log), Err(AuditError::Broken(_))));
    assert!(log.close().is_err());
}

#[test]
fn a_log_that_was_moved_away_stops_calls() {
    let place = tempdir();
    let log = open(place.path());
    record(&log).unwrap();
    fs::rename(files(place.path()).log, place.path().join("away")).unwrap();
    eventually(|| record(&log).is_err());
    assert!(log.close().is_err());
}

#[test]
fn a_crash_before_the_first_commit_is_repaired() {
    let place = tempdir();
    fs::write(files(place.path()).log, "{\"torn").unwrap();
    open(place.path()).close().unwrap();
    assert_eq!(condition(place.path()), Condition::Intact);
}

#[test]
fn a_removed_directory_stops_calls() {
    let place = tempdir();
    let directory = place.path().join("session");
    fs::create_dir(&directory).unwrap();
    let log = open(&directory);
    record(&log).unwrap();
    fs::remove_dir_all(&directory).unwrap();
    let error = record(&log).unwrap_err();
    let chain = format!("{error}: {}", error.source().map(ToString::to_string).unwrap_or_default());
    assert!(
        chain.contains("the log has been removed") || chain.contains("cannot commit"),
        "{chain}"
    );
    assert!(record(&log).is_err());
    assert!(log.close().is_err());
}

#[test]
fn a_place_that_does_not_exist_is_named() {
    let place = tempdir();
    let error =
        AuditLog::open(files(&place.path().join("gone")), options(SESSION), opening()).unwrap_err();
    assert_eq!(error.to_string(), "cannot open the audit log");
    assert!(error.source().unwrap().to_string().contains("gone/audit.jsonl"), "{error:?}");
}

#[test]
fn a_link_in_place_of_the_log_is_not_followed() {
    let place = tempdir();
    let target = place.path().join("target");
    fs::write(&target, "").unwrap();
    std::os::unix::fs::symlink(&target, files(place.path()).log).unwrap();
    assert!(AuditLog::open(files(place.path()), options(SESSION), opening()).is_err());
    assert!(verify::verify(&files(place.path()), None, &key()).is_err());
    assert_eq!(fs::read(&target).unwrap(), b"");
}

/// Mounts a small disk at `path`; `None` where that cannot be done.
fn small_disk(path: &Path) -> Option<Mounted<'_>> {
    fs::create_dir_all(path).unwrap();
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(path).output();
    if mounted.is_ok_and(|output| output.status.success()) {
        return Some(Mounted(path));
    }
    eprintln!(
        "SKIPPED: no small disk can be mounted here; run as root to try a full and a read-only disk"
    );
    None
}

struct Mounted<'a>(&'a Path);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(self.0).status().unwrap();
    }
}

#[test]
fn a_full_disk_stops_calls_and_corrupts_nothing() {
    let place = tempdir();
    let disk = place.path().join("disk");
    let Some(_mounted) = small_disk(&disk) else { return };
    let log = open(&disk);
    fs::write(disk.join("ballast"), vec![0; 16 << 10]).unwrap();
    let mut n_recorded = 1;
    let error = loop {
        match record(&log) {
            Ok(()) => n_recorded += 1,
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("so no call is forwarded"), "{error}");
    fs::remove_file(disk.join("ballast")).unwrap();
    eventually(|| record(&log).is_ok());
    log.close().unwrap();
    let report = check(&disk);
    assert_eq!(report.condition, Condition::Intact);
    assert!(n_recorded < report.records, "{n_recorded} {report:?}");
}

#[test]
fn a_read_only_disk_is_a_clear_error() {
    let place = tempdir();
    let disk = place.path().join("disk");
    let Some(_mounted) = small_disk(&disk) else { return };
    open(&disk).close().unwrap();
    assert!(
        Command::new("mount").args(["-o", "remount,ro"]).arg(&disk).status().unwrap().success()
    );
    let error = AuditLog::open(files(&disk), options(SESSION), opening()).unwrap_err();
    let source =
        error.source().and_then(Error::source).map(ToString::to_string).unwrap_or_default();
    assert!(source.contains("Read-only"), "{error:?}");
    assert_eq!(condition(&disk), Condition::Intact);
}
