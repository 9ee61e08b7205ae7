//! Purging takes a conversation, deleting a session; what runs stays, and so does every record.

use ic_store::{Doing, Metadata, StoreError};
use ic_types::Timestamp;

use crate::rig::Rig;

/// Five sessions with a turn each, an hour apart; each has a sandbox and a record.
fn five() -> Rig {
    let rig = Rig::new();
    for (hour, id) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
        rig.clock.set(1_800_000_000_000 + hour as u64 * 3_600_000);
        rig.make_with_turn(id, id);
        let directory = rig.places(id).directory().to_owned();
        std::fs::create_dir(directory.join("sandbox")).unwrap();
        std::fs::write(directory.join("sandbox/mine.txt"), "mine").unwrap();
        std::fs::write(directory.join("audit.jsonl"), format!("record of {id}\n")).unwrap();
        std::fs::write(directory.join("audit.head"), "head").unwrap();
    }
    rig
}

fn names(sessions: &[Metadata]) -> Vec<&str> {
    sessions.iter().map(|it| it.name.as_str()).collect()
}

#[test]
fn purging_takes_the_conversations_that_were_active_least_recently() {
    let rig = five();
    let planned = rig.sessions().purge(2, Doing::OnPaper).unwrap();
    assert_eq!(names(&planned.removed), ["c", "b", "a"]);
    assert!(rig.places("a").conversation().exists(), "nothing was done");
    let b = rig.sessions().find("b").unwrap();
    let held = rig.sessions().hold(&b).unwrap();
    let purged = rig.sessions().purge(2, Doing::ForGood).unwrap();
    assert_eq!((names(&purged.removed), names(&purged.running)), (vec!["c", "a"], vec!["b"]));
    drop(held);
    for (id, is_kept) in [("a", false), ("b", true), ("c", false), ("d", true), ("e", true)] {
        let places = rig.places(id);
        assert_eq!(places.conversation().exists(), is_kept, "{id}");
        assert!(places.directory().join("sandbox/mine.txt").exists(), "{id}");
        assert!(places.directory().join("audit.jsonl").exists(), "{id}");
    }
    assert!(rig.sessions().find("a").unwrap().purged);
    // What was purged is not counted again.
    assert_eq!(
        names(&rig.sessions().purge(3, Doing::ForGood).unwrap().removed),
        Vec::<&str>::new()
    );
}

#[test]
fn deleting_takes_all_but_the_record() {
    let rig = five();
    let a = rig.sessions().find("a").unwrap();
    let held = rig.sessions().hold(&a).unwrap();
    assert!(matches!(rig.sessions().delete(&a), Err(StoreError::Running(_))));
    assert!(rig.places("a").conversation().exists());
    drop(held);
    // A link in the sandbox is removed, and not what it leads to.
    let outside = rig.home.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("keep.txt"), "keep").unwrap();
    let link = rig.places("a").directory().join("sandbox/link");
    std::os::unix::fs::symlink(&outside, link).unwrap();
    rig.sessions().delete(&a).unwrap();
    assert!(!rig.places("a").directory().exists());
    assert!(outside.join("keep.txt").exists());
    let record = rig.home.audit().join("a/audit.jsonl");
    assert_eq!(std::fs::read_to_string(record).unwrap(), "record of a\n");
    assert!(rig.home.audit().join("a/audit.head").exists());
    assert_eq!(rig.names(), ["e", "d", "c", "b"]);
    let left = std::fs::read_dir(rig.home.sessions()).unwrap();
    let left = left.filter(|it| it.as_ref().unwrap().file_name().as_encoded_bytes()[0] == b'.');
    assert_eq!(left.count(), 0, "nothing is left half-removed");
}

#[test]
fn cleaning_up_takes_what_is_old_enough() {
    let rig = five();
    let before = Timestamp::from_unix_ms(1_800_000_000_000 + 2 * 3_600_000);
    let removed = rig.sessions().clean_up(before, Doing::OnPaper).unwrap();
    assert_eq!(names(&removed.removed), ["b", "a"]);
    assert_eq!(rig.names().len(), 5);
    let b = rig.sessions().find("b").unwrap();
    let held = rig.sessions().hold(&b).unwrap();
    let removed = rig.sessions().clean_up(before, Doing::ForGood).unwrap();
    assert_eq!((names(&removed.removed), names(&removed.running)), (vec!["a"], vec!["b"]));
    drop(held);
    assert_eq!(rig.names(), ["e", "d", "c", "b"]);
    assert!(rig.home.audit().join("a/audit.jsonl").exists());
}
