//! A server that was taken over, and asks for what its call is not about; all of it is recorded.

#![expect(clippy::disallowed_methods, reason = "tests read the log")]

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use ic_audit::sink::{Durable, Sink};
use ic_audit::{AuditKey, LogFiles, LogOptions, SyncMode};
use ic_confine::Launcher;
use ic_home::SystemClock;
use ic_resolve::remote::{Remote, parse};

struct Rig {
    place: tempfile::TempDir,
    aids: Aids,
}

/// A log that keeps nothing, and takes nothing more once it is full.
#[derive(Clone, Default)]
struct Full(Arc<AtomicBool>);

impl Sink for Full {
    fn append(&mut self, _: &[u8]) -> io::Result<()> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }

    fn cut(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn durable(&self) -> Arc<dyn Durable> {
        Arc::new(self.clone())
    }
}

impl Durable for Full {
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn is_at(&self, _: &Path) -> io::Result<bool> {
        Ok(true)
    }
}

impl Rig {
    fn new() -> Self {
        Self::with_log(|files, options| AuditLog::open(files, options, Object::new()).unwrap())
    }

    fn with_log(open: impl FnOnce(LogFiles, LogOptions) -> AuditLog) -> Self {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().canonicalize().unwrap().join(name);
        let options = LogOptions {
            session: "2026-01-01-00-00-00-000-abcd".parse().unwrap(),
            key: AuditKey::from_bytes([7; 32]),
            redactor: Arc::new(Redactor::new([])),
            clock: Arc::new(SystemClock),
            sync: SyncMode::Group,
            bytes_max: ic_audit::BYTES_MAX,
        };
        let files = LogFiles { log: at("audit.jsonl"), head: at("audit.head"), heads: None };
        let log = open(files, options);
        // There is no such program: whoever is asked to run one fails.
        let lender = Lender::new(Keyring::default(), Launcher::at("/nowhere"));
        let server = "git".parse().unwrap();
        let aids = Aids::new(server, Arc::new(lender), Arc::new(log), TaskTracker::new());
        Self { place, aids }
    }

    /// Says that a call about `urls` was recorded.
    fn lend(&self, urls: &[&str]) {
        let remotes = urls.iter().map(|url| match parse(url) {
            Ok(Remote::Network(url)) => JudgedRemote::of(&url).unwrap(),
            other => panic!("{url}: {other:?}"),
        });
        let request_id = "r-1".to_owned();
        let call = Call { request_id, remotes: remotes.collect(), push: None };
        locked(&self.aids.state).call = Some(Arc::new(call));
    }

    fn ask(&self, aid: &Aid) -> Result<Lent, String> {
        self.ask_at_length(aid, 100)
    }

    fn ask_at_length(&self, aid: &Aid, n_bytes: usize) -> Result<Lent, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let params = aid.params();
        let asked = self.aids.answer(&params, n_bytes);
        runtime.block_on(asked).map_err(|why| why.to_string())
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.place.path().join("audit.jsonl")).unwrap()
    }
}

fn credential(host: &str, path: &str) -> Aid {
    let (protocol, host) = ("https".to_owned(), host.to_owned());
    Aid::Credential { protocol, host, path: path.to_owned() }
}

#[test]
fn a_password_for_another_host_is_refused_and_recorded() {
    let rig = Rig::new();
    rig.lend(&["https://a.example:8443/o/r", "ssh://git@c.example/o/r"]);
    for (host, path) in [
        ("evil.example", "o/r"),
        ("a.example", "o/r"),
        ("a.example:443", "o/r"),
        ("a.example:8443", "o/other"),
        ("c.example", "o/r"),
    ] {
        let refused = rig.ask(&credential(host, path)).unwrap_err();
        assert!(refused.contains("not what the call was judged about"), "{host}: {refused}");
    }
    let log = rig.log();
    assert_eq!(log.matches("\"not-lent\"").count(), 5, "{log}");
    assert!(log.contains("evil.example") && log.contains("\"r-1\""), "{log}");
    assert!(!log.contains("\"lent\""), "{log}");
    let trust = rig.ask(&Aid::Trust { url: "https://evil.example/o/r".to_owned() });
    assert!(trust.unwrap_err().contains("judged about"));
}

#[test]
fn nothing_is_lent_before_the_call_is_recorded_or_after_it_is_done() {
    let rig = Rig::new();
    assert!(rig.ask(&Aid::Judged).unwrap_err().contains("only a call that is running"));
    rig.lend(&["https://a.example/o/r"]);
    assert_eq!(rig.ask(&Aid::Judged).unwrap().urls, ["https://a.example/o/r"]);
    rig.aids.close();
    assert!(
        rig.ask(&credential("a.example", "o/r"))
            .unwrap_err()
            .contains("only a call that is running")
    );
}

#[test]
fn the_agent_is_not_asked_for_what_is_no_login_as_the_judged_user() {
    let rig = Rig::new();
    rig.lend(&["ssh://git@a.example/o/r"]);
    for message in [vec![13], vec![17], vec![25, 0], Vec::new()] {
        let refused = rig.ask(&Aid::Agent { message }).unwrap_err();
        assert!(refused.contains("the agent"), "{refused}");
    }
    assert_eq!(rig.log().matches("\"not-lent\"").count(), 4);
}

#[test]
fn a_call_does_not_ask_for_ever() {
    let rig = Rig::new();
    rig.lend(&["https://a.example/o/r"]);
    for _ in 0..ASKED_MAX {
        rig.ask(&Aid::Judged).unwrap();
    }
    assert!(rig.ask(&Aid::Judged).unwrap_err().contains("at most"));
}

#[test]
fn a_request_that_is_too_long_is_not_looked_at() {
    let rig = Rig::new();
    rig.lend(&["https://a.example/o/r"]);
    rig.ask_at_length(&Aid::Judged, AID_BYTES_MAX).unwrap();
    let refused = rig.ask_at_length(&Aid::Judged, AID_BYTES_MAX + 1).unwrap_err();
    assert!(refused.contains("cannot ask for this"), "{refused}");
    assert_eq!(rig.log().matches("\"not-lent\"").count(), 1);
}

/// The helper is not asked either: that there is no program to ask would be another complaint.
#[test]
fn what_cannot_be_recorded_is_not_lent() {
    let full = Full::default();
    let sink = Box::new(full.clone());
    let rig = Rig::with_log(|files, options| AuditLog::with_sink(files, options, sink).unwrap());
    rig.lend(&["https://a.example/o/r", "ssh://git@a.example/o/r"]);
    let asked = credential("a.example", "o/r");
    let no_program = rig.ask(&asked).unwrap_err();
    full.0.store(true, Ordering::Relaxed);
    let refused = rig.ask(&asked).unwrap_err();
    assert!(refused != no_program && refused.contains("audit"), "{refused}, {no_program}");
}

#[test]
fn what_came_of_a_password_is_told_once() {
    let rig = Rig::new();
    rig.lend(&["https://a.example/o/r"]);
    let tried = Aid::Tried { is_good: true };
    assert!(rig.ask(&tried).unwrap_err().contains("cannot ask for this"), "none was lent");
    let lent = Credential::of_test("a.example", "o/r");
    locked(&rig.aids.state).credential = Some(Arc::new(lent));
    rig.ask(&tried).unwrap();
    assert!(rig.ask(&tried).unwrap_err().contains("cannot ask for this"), "once more");
}
