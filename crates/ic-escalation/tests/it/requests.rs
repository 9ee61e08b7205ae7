//! Questions as files: what is in them, who may read them, and what is none.

use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use ic_escalation::{DeskError, Request};
use ic_types::{Json, Object, Role};

use crate::world::{Ask, Place, file};

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test(start_paused = true)]
async fn a_question_is_written_as_the_specification_says() {
    let place = Place::open();
    let (ask, _waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    let path = place.request_path(&ask);
    let metadata = std::fs::metadata(&path).unwrap();
    assert_eq!(metadata.mode() & 0o7777, 0o600);
    assert_eq!(std::fs::metadata(place.directory()).unwrap().mode() & 0o7777, 0o700);
    let text = std::fs::read_to_string(&path).unwrap();
    let text = text.replace(ask.ticket.escalation.as_str(), "ID");
    let text = text.replace(&ask.escalation().digest(&ask.ticket).to_string(), "DIGEST");
    insta::assert_snapshot!(text, @r#"{"escalationId":"ID","sessionId":"2026-11-15-00-00-00-000-aaaa","serverName":"filesystem","toolName":"write_file","arguments":{"path":"/d/a","content":"hello"},"reason":"a person decides","rule":"ask","causes":[{"rule":"ask","reason":"a person decides","roles":["write-path"]}],"escalatedRoles":["write-path"],"resolved":{"write-path":[{"path":"/d/a","kind":"file","device":1,"inode":2,"bytes":4096,"modified":"1794700800.000000000"}]},"digest":"DIGEST","createdAt":"2026-11-15T00:00:00.000Z","expiresAt":"2026-11-15T00:01:00.000Z","grantable":{"only":[],"exact":[]}}"#);
}

#[test]
fn ids_are_random_uuids() {
    let ids: std::collections::HashSet<_> =
        (0..1000).map(|_| ic_escalation::new_escalation_id().unwrap()).collect();
    assert_eq!(ids.len(), 1000);
    for id in ids {
        let parts: Vec<&str> = id.as_str().split('-').collect();
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert!(parts[2].starts_with('4') && "89ab".contains(&parts[3][..1]), "{id}");
    }
}

#[test]
fn a_question_is_complete_and_its_own() {
    let ask = Ask::write("/d/a");
    let (id, session) = (&ask.ticket.escalation, &ask.ticket.session);
    let request = Request::of(&ask.escalation(), &ask.ticket, ic_types::Timestamp::from_unix_ms(0));
    let Json::Object(json) = request.to_json() else { panic!() };
    let parse = |json: &Object| {
        let bytes = Json::Object(json.clone()).to_string();
        Request::parse(bytes.as_bytes(), id, session).map_err(|fault| fault.to_string())
    };
    assert_eq!(parse(&json), Ok(request));
    for key in json.keys().map(str::to_owned).collect::<Vec<_>>() {
        let mut less = json.clone();
        less.remove(&key);
        assert_eq!(parse(&less), Err(format!("`{key}` is missing")));
        let mut wrong = json.clone();
        wrong.insert(key.as_str(), Json::Bool(true));
        assert!(parse(&wrong).unwrap_err().starts_with(&format!("`{key}` is not ")), "{key}");
    }
    for (key, value, expected) in [
        ("extra", "x", "there is no `extra`"),
        ("escalationId", "other", "`escalationId` is not that of its file"),
        ("sessionId", "other", "`sessionId` is not that of its session"),
        ("serverName", "a/b", "`serverName` is not a server's name"),
        ("toolName", "a\u{1b}", "`toolName` is not a tool's name"),
        ("digest", "", "`digest` is not a digest"),
        ("expiresAt", "later", "`expiresAt` is not a time"),
    ] {
        let mut changed = json.clone();
        changed.insert(key, value);
        assert_eq!(parse(&changed), Err(expected.to_owned()));
    }
    let mut roles = json.clone();
    roles.insert("escalatedRoles", Json::Array(vec![Json::from("all")]));
    assert_eq!(parse(&roles), Err("`escalatedRoles` is not a list of roles".to_owned()));
    for (cause, expected) in [
        (r#""ask""#, "`causes` is not a list of causes"),
        (r#"{"rule":"ask","roles":[]}"#, "`reason` is missing"),
        (r#"{"rule":"ask","reason":"","roles":["all"]}"#, "`roles` is not a list of roles"),
        (r#"{"rule":"ask","reason":"","roles":[],"x":1}"#, "there is no `x`"),
    ] {
        let cause = Json::parse(cause.as_bytes(), ic_types::JsonLimits::CALL).unwrap();
        let mut causes = json.clone();
        causes.insert("causes", Json::Array(vec![cause]));
        assert_eq!(parse(&causes), Err(expected.to_owned()));
    }
    let mut builtin = json.clone();
    builtin.insert("builtin", "filesystem");
    assert_eq!(parse(&builtin).unwrap().builtin.as_deref(), Some("filesystem"));
    builtin.insert("builtin", Json::Null);
    assert_eq!(parse(&builtin), Err("`builtin` is not a text".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn what_is_too_large_to_look_at_is_not_asked() {
    let place = Place::open();
    let large = |bytes: usize| {
        Ask::of("write_file", &[(Role::WritePath, &[file("/d/a")])])
            .with(|ask| ask.parts.sent.insert("content", "x".repeat(bytes)))
    };
    let refused = place.try_raise(&large(33 << 20), MINUTE);
    assert!(matches!(refused, Err(DeskError::TooLarge)), "{refused:?}");
    let held: Vec<_> = (0..3).map(|_| place.raise(&large(20 << 20), MINUTE)).collect();
    let refused = place.try_raise(&large(20 << 20), MINUTE);
    assert!(matches!(refused, Err(DeskError::NoRoom)), "{refused:?}");
    let _small = place.raise(&large(1 << 10), MINUTE);
    drop(held);
    crate::world::settle_down().await;
    let _large = place.raise(&large(20 << 20), MINUTE);
    let now = place.now();
    let late = Ask::write("/d/a").with(|ask| {
        ask.ticket.deadline = ic_types::Timestamp::from_unix_ms(now.unix_ms() - 1);
    });
    let refused = ic_escalation::Desk::raise(&place.desk, late.question(now));
    assert!(matches!(refused, Err(DeskError::TooLate)), "{refused:?}");
}
