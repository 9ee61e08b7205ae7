//! A server that was taken over, and asks for what its call is not about; all of it is recorded.

#![expect(clippy::disallowed_methods, reason = "tests read the log")]

use super::*;
use ic_audit::{AuditKey, LogFiles, LogOptions, SyncMode};
use ic_confine::Launcher;
use ic_home::SystemClock;
use ic_resolve::remote::{Remote, parse};

struct Rig {
    place: tempfile::TempDir,
    aids: Aids,
}

impl Rig {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().canonicalize().unwrap().join(name);
        let options = LogOptions {
            session: "2026-01-01-00-00-00-000-abcd".parse().unwrap(),
            key: AuditKey::from_bytes([7; 32]),
            redactor: Arc::new(Redactor::new([])),
            clock: Arc::new(SystemClock),
            sync: SyncMode::Group,
        };
        let files = LogFiles { log: at("audit.jsonl"), head: at("audit.head") };
        let log = AuditLog::open(files, options, Object::new()).unwrap();
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
        let call = Call { request_id: "r-1".to_owned(), remotes: remotes.collect() };
        locked(&self.aids.state).call = Some(Arc::new(call));
    }

    fn ask(&self, aid: &Aid) -> Result<Lent, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let params = aid.params();
        let asked = self.aids.answer(&params, 100);
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
    assert!(rig.ask(&Aid::Judged).unwrap_err().contains("not under way"));
    rig.lend(&["https://a.example/o/r"]);
    assert_eq!(rig.ask(&Aid::Judged).unwrap().urls, ["https://a.example/o/r"]);
    rig.aids.close();
    assert!(rig.ask(&credential("a.example", "o/r")).unwrap_err().contains("not under way"));
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
