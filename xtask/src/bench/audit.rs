//! Times appending to, checking and showing an audit log, and the start of the program.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use ic_audit::{AuditKey, AuditLog, Entry, Kind, LogFiles, LogOptions, Redactor, SyncMode};
use ic_home::clock::SystemClock;
use ic_policy::Effect;
use ic_types::{Digest, Json, JsonLimits, Object};

use super::{Samples, build_binary, shown};

const RECORDS: usize = 200_000;
const EACH_RECORDS: usize = 200;
const STARTS: usize = 100;
const SESSION: &str = "2026-11-15-00-00-00-000-test";

/// Runs the benchmark.
pub(super) fn run(out: &mut dyn Write, given: Option<&Path>) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let home = place.path().join("home/.ironcurtain");
    let session = home.join("sessions").join(SESSION);
    std::fs::create_dir_all(&session)?;
    std::fs::create_dir_all(home.join("keys"))?;
    append(out, &home, &session)?;
    verify(out, &home, &session)?;
    let binary = build_binary(given)?;
    show(out, &binary, place.path())?;
    start_up(out, &binary, place.path())
}

fn files(session: &Path) -> LogFiles {
    LogFiles { log: session.join("audit.jsonl"), head: session.join("audit.head"), heads: None }
}

fn open(home: &Path, files: LogFiles, sync: SyncMode) -> anyhow::Result<AuditLog> {
    let options = LogOptions {
        session: SESSION.parse()?,
        key: AuditKey::read_or_create(&home.join("keys/audit.key"))?,
        redactor: Arc::new(Redactor::new([])),
        clock: Arc::new(SystemClock),
        sync,
        bytes_max: u64::MAX,
    };
    Ok(AuditLog::open(files, options, Object::new())?)
}

/// A record as a call to the filesystem server leaves it.
fn entry(at: usize) -> anyhow::Result<Entry> {
    let json = |text: String| Json::parse(text.as_bytes(), JsonLimits::CALL);
    Ok(Entry {
        request_id: Some(format!("request-{at}")),
        server: Some("filesystem".parse()?),
        tool: Some("read_file".parse()?),
        arguments: Some(json(format!(
            r#"{{"path":"/home/user/project/src/file{at}.rs","head":20}}"#
        ))?),
        resolved: Some(json(format!(
            r#"{{"read-path":[{{"path":"/home/user/project/src/file{at}.rs","inode":{at},"device":2049,"bytes":1234}}]}}"#
        ))?),
        verdict: Some(Effect::Allow),
        rule: Some(Arc::from("structural-sandbox-allow")),
        reason: Some(Arc::from("it stays in the sandbox")),
        policy_hash: Some(Digest::of(b"policy")),
        confined: Some("namespaces".to_owned()),
        ..Entry::new(Kind::Intent)
    })
}

fn append(out: &mut dyn Write, home: &Path, session: &Path) -> anyhow::Result<()> {
    let log = open(home, files(session), SyncMode::Group)?;
    let mut samples = Samples::default();
    for at in 0..RECORDS {
        let entry = entry(at)?;
        samples.time(|| log.note(entry))?;
    }
    log.close()?;
    let scratch = tempfile::tempdir()?;
    let log = open(home, files(scratch.path()), SyncMode::Each)?;
    let mut each = Samples::default();
    for at in 0..EACH_RECORDS {
        let permit = super::policy::permit(at)?;
        drop(each.time(|| log.record(permit, format!("r{at}"), "namespaces"))?);
    }
    log.close()?;
    let bytes = std::fs::metadata(files(session).log)?.len() / RECORDS as u64;
    writeln!(out, "| append, {bytes} bytes a record | p50 | p99 |\n|---|---:|---:|")?;
    for (name, samples) in [("`audit.sync` group", &mut samples), ("`audit.sync` each", &mut each)]
    {
        writeln!(
            out,
            "| {name} | {} | {} |",
            shown(samples.percentile(50)),
            shown(samples.percentile(99))
        )?;
    }
    Ok(())
}

fn verify(out: &mut dyn Write, home: &Path, session: &Path) -> anyhow::Result<()> {
    let key = AuditKey::read(&home.join("keys/audit.key"))?;
    let mut samples = Samples::default();
    for _ in 0..5 {
        let report = samples.time(|| ic_audit::verify::verify(&files(session), None, &key))?;
        ensure!(report.records > RECORDS as u64, "{report:?}");
    }
    let per_second = RECORDS as u128 * 1_000_000 / samples.percentile(50).as_micros().max(1);
    writeln!(out, "\nverify: {per_second} records/s ({RECORDS} records, median of 5)")?;
    Ok(())
}

fn command(binary: &Path, place: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(binary);
    command.args(words).env_clear().env("HOME", place.join("home")).stdout(Stdio::null());
    command
}

fn show(out: &mut dyn Write, binary: &Path, place: &Path) -> anyhow::Result<()> {
    for words in [
        &["audit", "show"][..],
        &["audit", "tail"],
        &["audit", "verify"],
        &["audit", "export", "--format", "csv"],
    ] {
        let start = Instant::now();
        let status = command(binary, place, words).status().context("the binary runs")?;
        ensure!(status.success(), "{words:?}: {status}");
        writeln!(out, "`{}`: {} for {RECORDS} records", words.join(" "), shown(start.elapsed()))?;
    }
    Ok(())
}

/// Starts the program and `/bin/true` in turns.
fn start_up(out: &mut dyn Write, binary: &Path, place: &Path) -> anyhow::Result<()> {
    let subjects: [(&str, &Path, &[&str]); 3] = [
        ("/bin/true", Path::new("/bin/true"), &[]),
        ("--version", binary, &["--version"]),
        ("config get confinement", binary, &["config", "get", "confinement"]),
    ];
    let mut samples: [Samples; 3] = Default::default();
    for _ in 0..STARTS {
        for ((_, program, words), samples) in subjects.iter().zip(&mut samples) {
            let status = samples.time(|| command(program, place, words).status())?;
            ensure!(status.success(), "{words:?}: {status}");
        }
    }
    writeln!(out, "\n| start | p50 | p99 |\n|---|---:|---:|")?;
    for ((name, ..), samples) in subjects.iter().zip(&mut samples) {
        let (p50, p99): (Duration, Duration) = (samples.percentile(50), samples.percentile(99));
        writeln!(out, "| `{name}` | {} | {} |", shown(p50), shown(p99))?;
    }
    Ok(())
}
