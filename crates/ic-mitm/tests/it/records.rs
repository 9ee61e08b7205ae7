//! The session's own log: what is written into it, and that the key is not.

use std::sync::Arc;

use ic_audit::{AuditKey, AuditLog, LogFiles, LogOptions, Redactor, SyncMode};
use ic_home::SystemClock;
use ic_mitm::{Asked, AuditLedger, Ended, Ledger as _, Refusal, Refused};
use ic_model::{Cost, Usage};
use ic_types::{Digest, Object};

#[test]
fn requests_are_written_into_the_log_of_the_session() {
    let directory = tempfile::tempdir().unwrap();
    let files = LogFiles {
        log: directory.path().join("audit.jsonl"),
        head: directory.path().join("audit.head"),
        heads: None,
    };
    let options = LogOptions {
        session: "2026-11-15-00-00-00-123-aaaa".parse().unwrap(),
        key: AuditKey::from_bytes([7; 32]),
        redactor: Arc::new(Redactor::new([])),
        clock: Arc::new(SystemClock),
        sync: SyncMode::Group,
        bytes_max: ic_audit::log::BYTES_MAX,
    };
    let log = Arc::new(AuditLog::open(files.clone(), options, Object::new()).unwrap());
    let ledger = AuditLedger::new(Arc::clone(&log));
    let asked = Asked {
        id: 3,
        method: "POST".to_owned(),
        host: "api.anthropic.com".to_owned(),
        path: "/v1/messages".to_owned(),
        model: Some("anthropic:claude-sonnet-4-6".to_owned()),
        n_bytes: 9,
        digest: Digest::of(b"x"),
        removed: vec!["mcp_servers".to_owned()],
    };
    ledger.asked(&asked).unwrap();
    let usage = Usage { prompt: 10, completion: 2, cached: 1, cache_written: 0 };
    ledger.ended(
        &asked,
        &Ended {
            status: Some(200),
            usage: Some(usage),
            is_estimated: false,
            cost: Cost::from_billionths(5),
            n_bytes: 70,
            duration: std::time::Duration::from_millis(4),
            failed: None,
        },
    );
    let why = Refusal::WrongKey;
    ledger.refused(&Refused {
        method: "POST",
        host: "api.anthropic.com",
        path: "/v1/messages",
        why: &why,
    });
    ledger.noticed("removed `x` from `anthropic-beta`");
    log.close().unwrap();
    let text = std::fs::read_to_string(files.log).unwrap();
    let records: Vec<serde_json::Value> =
        text.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let llm: Vec<_> = records.iter().filter(|it| it["kind"] == "llm").collect();
    assert_eq!(llm.len(), 4);
    assert_eq!(llm[0]["arguments"]["removed"][0], "mcp_servers");
    assert_eq!(llm[0]["verdict"], "allow");
    let told = &llm[1]["arguments"];
    assert_eq!(
        (&told["status"], &told["promptTokens"], &told["costBillionths"]),
        (&200.into(), &10.into(), &5.into())
    );
    assert_eq!((&llm[1]["durationMs"], &llm[1]["resultBytes"]), (&4.into(), &70.into()));
    assert_eq!((&llm[2]["verdict"], &llm[2]["arguments"]["status"]), (&"deny".into(), &403.into()));
    assert_eq!(llm[3]["arguments"]["event"], "noticed");
}
