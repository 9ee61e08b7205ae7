//! What stands in the log: the fields, their canonical form, and a chain that others can recompute.

use ic_audit::read::{Filter, Records};
use ic_audit::{
    AuditError, AuditLog, Condition, Entry, Keep, Kind, LogOptions, Redactor, SyncMode,
};
use ic_types::{Json, JsonLimits};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use crate::ground::{
    SESSION, check, condition, denial, files, open, opening, options, permit, tempdir,
};

fn lines(directory: &std::path::Path) -> Vec<String> {
    std::fs::read_to_string(files(directory).log).unwrap().lines().map(ToOwned::to_owned).collect()
}

fn record(line: &str) -> ic_types::Object {
    match Json::parse(line.as_bytes(), JsonLimits::CALL).unwrap() {
        Json::Object(object) => object,
        other => panic!("{other}"),
    }
}

#[test]
fn a_call_is_recorded_with_its_whole_decision() {
    let directory = tempdir();
    let log = open(directory.path());
    let recorded = log.record(permit(5), "r5".to_owned(), "namespaces").unwrap();
    assert_eq!((recorded.seq(), recorded.request_id()), (1, "r5"));
    log.record_denial(&denial(6), "r6").unwrap();
    log.close().unwrap();
    let lines = lines(directory.path());
    let allowed = record(&lines[1]);
    for (key, expected) in [
        ("kind", "intent"),
        ("requestId", "r5"),
        ("server", "s"),
        ("tool", "t"),
        ("verdict", "allow"),
        ("rule", "the-rule"),
        ("reason", "the reason"),
        ("decidedBy", "policy"),
        ("confined", "namespaces"),
        ("sessionId", SESSION),
        ("timestamp", "2026-11-15T00:00:00.123Z"),
    ] {
        assert_eq!(allowed.get(key).and_then(Json::as_str), Some(expected), "{key}");
    }
    assert_eq!(allowed.get("replayable"), Some(&Json::Bool(true)));
    let resolved = allowed.get("resolved").unwrap().to_string();
    assert_eq!(resolved, r#"{"read-path":[{"path":"/s/f5"}]}"#);
    let denied = record(&lines[2]);
    assert_eq!(denied.get("verdict").and_then(Json::as_str), Some("deny"));
    // Every line is canonical as it stands, so that it is one line whatever an agent wrote.
    for line in &lines {
        assert_eq!(&Json::Object(record(line)).to_canonical(), line);
    }
    let last = record(lines.last().unwrap());
    assert_eq!(last.get("arguments").unwrap().to_string(), r#"{"event":"closed","records":3}"#);
}

#[test]
fn the_chain_is_what_the_specification_says() {
    let directory = tempdir();
    let log = open(directory.path());
    drop(log.record(permit(1), "r1".to_owned(), "none").unwrap());
    log.close().unwrap();
    let mut prev: Option<String> = None;
    for (at, line) in lines(directory.path()).iter().enumerate() {
        let mut record = record(line);
        assert_eq!(record.get("seq"), Some(&Json::from(at as u64)));
        let hash = record.remove("hash").unwrap().as_str().unwrap().to_owned();
        let prev_hash = record.get("prevHash").unwrap().as_str().unwrap().to_owned();
        if let Some(prev) = prev {
            assert_eq!(prev_hash, prev);
        }
        let canonical = Json::Object(record).to_canonical();
        let computed = ic_types::Digest::of(format!("{prev_hash}{canonical}").as_bytes());
        assert_eq!(computed.to_string(), hash);
        prev = Some(hash);
    }
}

#[test]
fn files_are_private_and_the_head_is_there_from_the_start() {
    let directory = tempdir();
    let log = open(directory.path());
    for path in [files(directory.path()).log, files(directory.path()).head] {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
    drop(log);
    assert_eq!(condition(directory.path()), Condition::Intact);
}

#[test]
fn a_log_has_one_writer() {
    let directory = tempdir();
    let log = open(directory.path());
    let second = AuditLog::open(files(directory.path()), options(SESSION), opening());
    assert!(matches!(second, Err(AuditError::InUse(_))), "{second:?}");
    log.close().unwrap();
    drop(open(directory.path()));
}

#[test]
fn a_closed_log_can_be_continued() {
    let directory = tempdir();
    for _ in 0..3 {
        let log = open(directory.path());
        drop(log.record(permit(0), "r".to_owned(), "none").unwrap());
        log.close().unwrap();
    }
    let report = check(directory.path());
    assert_eq!((report.records, report.condition), (9, Condition::Intact));
}

#[test]
fn many_threads_make_one_chain() {
    let directory = tempdir();
    let log = open(directory.path());
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let log = &log;
            scope.spawn(move || {
                for at in 0..1000 {
                    let request = format!("{thread}-{at}");
                    log.note(Entry { request_id: Some(request), ..Entry::new(Kind::Outcome) })
                        .unwrap();
                }
            });
        }
    });
    log.close().unwrap();
    let report = check(directory.path());
    assert_eq!((report.records, report.condition), (8002, Condition::Intact));
}

#[test]
fn each_record_can_be_made_durable_before_it_counts() {
    let directory = tempdir();
    let options = LogOptions { sync: SyncMode::Each, ..options(SESSION) };
    let log = AuditLog::open(files(directory.path()), options, opening()).unwrap();
    drop(log.record(permit(0), "r".to_owned(), "none").unwrap());
    log.close().unwrap();
    assert_eq!(condition(directory.path()), Condition::Intact);
}

#[test]
fn secrets_do_not_reach_the_log_and_mark_the_record() {
    let directory = tempdir();
    let secret = ["sk-ant-", "api03-", &"Ab3".repeat(28)].concat();
    let own = ic_types::Secret::new("our-own-key-0123456789".to_owned());
    let options =
        LogOptions { redactor: Arc::new(Redactor::new([Arc::new(own)])), ..options(SESSION) };
    let log = AuditLog::open(files(directory.path()), options, opening()).unwrap();
    let json = |text: &str| Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap();
    let escaped = secret.replace('-', "\\u002d");
    log.note(Entry {
        arguments: Some(json(&format!(
            r#"{{"a":"{escaped}","deep":[{{"{secret}":"our-own-key-0123456789"}}]}}"#
        ))),
        resolved: Some(json(&format!(r#"{{"fetch-url":["https://u:{secret}@x.example"]}}"#))),
        reason: Some(Arc::from(format!("because {secret}"))),
        rule: Some(Arc::from(secret.as_str())),
        request_id: Some(secret.clone()),
        ..Entry::new(Kind::Intent)
    })
    .unwrap();
    log.note(Entry { resolved: Some(json("{}")), ..Entry::new(Kind::Intent) }).unwrap();
    log.close().unwrap();
    let text = std::fs::read_to_string(files(directory.path()).log).unwrap();
    assert!(!text.contains(&secret) && !text.contains(&"Ab3".repeat(6)), "{text}");
    assert!(!text.contains("our-own-key"), "{text}");
    let lines = lines(directory.path());
    assert_eq!(record(&lines[1]).get("replayable"), Some(&Json::Bool(false)));
    assert_eq!(record(&lines[2]).get("replayable"), Some(&Json::Bool(true)));
    assert_eq!(condition(directory.path()), Condition::Intact);
}

/// Whoever is refused must not fill the disk; what is forwarded is kept whole.
#[test]
fn of_calls_that_go_nowhere_little_is_kept() {
    let directory = tempdir();
    let log = open(directory.path());
    let secret = ["sk-ant-", "api03-", &"Ab3".repeat(28)].concat();
    // The secret lies where the text is cut.
    let long = format!("{} {secret} {}", "x".repeat(1000), "y".repeat(1 << 20));
    let entry = |keep: Keep, resolved: Option<&str>| {
        let mut arguments = ic_types::Object::new();
        arguments.insert("path", long.as_str());
        let resolved = resolved.map(|text| Json::Array(vec![Json::from(text)]));
        let arguments = Some(Json::Object(arguments));
        Entry { arguments, resolved, keep, ..Entry::new(Kind::Intent) }
    };
    log.note(entry(Keep::Brief, None)).unwrap();
    log.note(entry(Keep::Brief, Some("/s/f"))).unwrap();
    log.note(entry(Keep::Brief, Some(&"z".repeat(1 << 20)))).unwrap();
    log.note(entry(Keep::All, Some("/s/f"))).unwrap();
    log.record_denial(&crate::ground::long_denial(1 << 20), "r").unwrap();
    log.close().unwrap();
    let lines = lines(directory.path());
    for at in [1, 2, 3, 5] {
        let record = record(&lines[at]);
        assert!(lines[at].len() < 8 << 10, "{at}: {}", lines[at].len());
        assert_eq!(record.get("replayable"), Some(&Json::Bool(false)), "{at}");
        assert!(lines[at].contains(r#""shortened":{"beginning":""#), "{at}");
    }
    assert!((1 << 20) < lines[4].len());
    assert_eq!(record(&lines[4]).get("replayable"), Some(&Json::Bool(true)));
    for line in &lines {
        assert!(!line.contains("sk-ant"), "half a secret");
    }
    assert_eq!(condition(directory.path()), Condition::Intact);
}

#[test]
fn records_are_found_by_filter() {
    let directory = tempdir();
    let log = open(directory.path());
    drop(log.record(permit(1), "r1".to_owned(), "none").unwrap());
    log.record_denial(&denial(2), "r2").unwrap();
    log.note(Entry { request_id: Some("r1".to_owned()), ..Entry::new(Kind::Outcome) }).unwrap();
    log.close().unwrap();
    let count = |filter: Filter| {
        let records = Records::open(&files(directory.path()).log).unwrap();
        records.map(Result::unwrap).filter(|record| filter.wants(record)).count()
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(count(Filter::default()), 5);
    assert_eq!(count(Filter { kind: some("intent"), ..Filter::default() }), 2);
    assert_eq!(count(Filter { verdict: some("deny"), ..Filter::default() }), 1);
    assert_eq!(count(Filter { request_id: some("r1"), ..Filter::default() }), 2);
    assert_eq!(count(Filter { server: some("s"), tool: some("x"), ..Filter::default() }), 0);
    assert_eq!(
        count(Filter { since: some("2026-11-15"), until: some("2026-11-15"), ..Filter::default() }),
        5
    );
    assert_eq!(count(Filter { since: some("2026-11-16"), ..Filter::default() }), 0);
    assert_eq!(count(Filter { until: some("2026-11-14"), ..Filter::default() }), 0);
}

/// Whoever is refused cannot fill the disk, and whoever is allowed is not forwarded unrecorded.
#[test]
fn a_log_that_is_full_counts_what_is_refused_and_stops_what_is_allowed() {
    let directory = tempdir();
    let options = LogOptions { bytes_max: 4096, ..options(SESSION) };
    let log = AuditLog::open(files(directory.path()), options, opening()).unwrap();
    let length = || std::fs::metadata(directory.path().join("audit.jsonl")).unwrap().len();
    while length() + 1000 < 4096 {
        log.record_denial(&denial(1), "r").unwrap();
    }
    for _ in 0..1000 {
        log.record_denial(&denial(1), "r").unwrap();
    }
    assert!(length() < 4096 + 10 * 500, "{} bytes", length());
    let error = log.record(permit(0), "r".to_owned(), "namespaces").unwrap_err();
    assert!(matches!(error, AuditError::Full { .. }), "{error}");
    assert!(error.to_string().contains("audit.maxMiB"), "{error}");
    // What belongs to something that has happened is written all the same.
    log.note(Entry::new(Kind::Outcome)).unwrap();
    log.close().unwrap();
    assert_eq!(condition(directory.path()), Condition::Intact);
    let text = std::fs::read_to_string(directory.path().join("audit.jsonl")).unwrap();
    let counts = text.lines().filter(|line| line.contains("refusedNotWritten")).count();
    assert!((8..=12).contains(&counts), "{counts} records of the count");
}
