//! Which sessions run.

use std::fs;

use ic_escalation::{Registry, SessionEntry};
use ic_home::{Home, Process};
use ic_types::{AbsolutePath, Timestamp};
use tempfile::TempDir;

fn home() -> (TempDir, Home) {
    let root = tempfile::tempdir().unwrap();
    let home = Home::new(AbsolutePath::new(root.path().join("home")).unwrap());
    home.prepare().unwrap();
    (root, home)
}

fn entry(id: &str, started_ms: u64) -> SessionEntry {
    SessionEntry {
        session: id.parse().unwrap(),
        name: "work".parse().unwrap(),
        kind: "proxy".to_owned(),
        label: "claude-code: Fix the login bug".to_owned(),
        escalation_dir: "/h/sessions/x/escalations".into(),
        started_at: Timestamp::from_unix_ms(started_ms),
        process: Process { pid: std::process::id(), ..Process::this().unwrap() },
    }
}

#[test]
fn a_session_is_listed_until_it_ends() {
    let (_root, home) = home();
    let registry = Registry::of(&home);
    let later = registry.register(&entry("a", 2)).unwrap();
    let _earlier = registry.register(&entry("b", 1)).unwrap();
    let live = registry.live().unwrap();
    assert_eq!(live.sessions, [entry("b", 1), entry("a", 2)]);
    let text = fs::read_to_string(home.session_entry(&"a".parse().unwrap())).unwrap();
    let this = Process::this().unwrap();
    let text = text.replace(&this.start_time.to_string(), "START");
    let text = text.replace(&format!(":{},", this.pid), ":PID,");
    insta::assert_snapshot!(text, @r#"{"sessionId":"a","name":"work","kind":"proxy","label":"claude-code: Fix the login bug","escalationDir":"/h/sessions/x/escalations","startedAt":"1970-01-01T00:00:00.002Z","pid":PID,"pidStartTime":START}"#);
    drop(later);
    assert_eq!(registry.live().unwrap().sessions, [entry("b", 1)]);
}

#[test]
fn a_process_that_got_the_number_later_is_not_the_session() {
    let (_root, home) = home();
    let registry = Registry::of(&home);
    let mut stale = entry("a", 1);
    stale.process.start_time -= 1;
    std::mem::forget(registry.register(&stale).unwrap());
    assert!(registry.live().unwrap().sessions.is_empty());
    assert!(!home.session_entry(&stale.session).exists(), "a stale entry is removed");
}

#[test]
fn what_is_no_entry_is_said_and_left() {
    let (_root, home) = home();
    let registry = Registry::of(&home);
    let _good = registry.register(&entry("good", 1)).unwrap();
    let good = fs::read_to_string(home.session_entry(&"good".parse().unwrap())).unwrap();
    let put = |id: &str, text: &str| {
        fs::write(home.registry().join(format!("session-{id}.json")), text).unwrap();
    };
    put("bad", "{");
    put("other", &good);
    put("relative", &good.replace("\"good\"", "\"relative\"").replace("/h/sess", "sess"));
    put("more", &good.replace("\"good\"", "\"more\"").replacen('{', "{\"x\":1,", 1));
    put("a b", "{");
    let live = registry.live().unwrap();
    assert_eq!(live.sessions.len(), 1);
    let said: Vec<String> = live.unreadable.iter().map(ToString::to_string).collect();
    let root = home.registry().display().to_string();
    assert_eq!(
        said.iter().map(|it| it.replace(&root, "")).collect::<Vec<_>>(),
        [
            "`/session-bad.json` is not a valid session entry: it is not valid JSON: unexpected end at line 1, \
             column 2",
            "`/session-more.json` is not a valid session entry: there is no `x`",
            "`/session-other.json` is not a valid session entry: `sessionId` is not that of its file",
            "`/session-relative.json` is not a valid session entry: `escalationDir` is not an absolute \
             path",
        ]
    );
    assert!(home.registry().join("session-bad.json").exists());
}

/// Whoever has looked need not look again as long as nobody comes, goes or dies.
#[test]
fn it_is_known_whether_anybody_came_or_went() {
    let (_root, home) = home();
    let registry = Registry::of(&home);
    let first = registry.register(&entry("a", 1)).unwrap();
    let live = registry.live().unwrap();
    assert!(registry.is_still(&live).unwrap());
    let second = registry.register(&entry("b", 2)).unwrap();
    assert!(!registry.is_still(&live).unwrap(), "somebody came");
    let live = registry.live().unwrap();
    drop(first);
    assert!(!registry.is_still(&live).unwrap(), "somebody went");
    drop(second);
    // One whose process dies leaves its entry.
    let mut child = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn();
    let child = child.as_mut().unwrap();
    let process = Process::find(child.id()).unwrap().unwrap();
    std::mem::forget(registry.register(&SessionEntry { process, ..entry("c", 3) }).unwrap());
    let live = registry.live().unwrap();
    assert!(registry.is_still(&live).unwrap());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!registry.is_still(&live).unwrap(), "somebody died");
    assert!(registry.live().unwrap().sessions.is_empty());
}

/// Whoever sweeps must not take the entry of a session that was begun again meanwhile.
#[test]
fn a_session_that_is_begun_again_stays_listed() {
    let (_root, home) = home();
    let registry = Registry::of(&home);
    crate::world::disturbed(
        2,
        || drop(registry.live().unwrap()),
        || {
            for _ in 0..300 {
                let mut stale = entry("a", 1);
                stale.process.start_time -= 1;
                std::mem::forget(registry.register(&stale).unwrap());
                let again = registry.register(&entry("a", 1)).unwrap();
                assert_eq!(registry.live().unwrap().sessions.len(), 1);
                drop(again);
            }
        },
    );
}

#[test]
fn without_a_registry_nothing_runs() {
    let root = tempfile::tempdir().unwrap();
    let home = Home::new(AbsolutePath::new(root.path().join("home")).unwrap());
    assert!(Registry::of(&home).live().unwrap().sessions.is_empty());
}
