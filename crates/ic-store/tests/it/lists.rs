//! The index is a cache: whatever happens to it, the list is right.

use ic_store::{Saving, index};

use crate::rig::Rig;

#[test]
fn the_index_is_made_again_whatever_happened_to_it() {
    let rig = Rig::new();
    for id in ["a", "b", "c"] {
        rig.make_with_turn(id, id);
    }
    let all = rig.sessions().all().unwrap();
    let whole = std::fs::read_to_string(rig.home.index()).unwrap();
    assert!(whole.contains(r#"{"version":"1.0","updatedAt":""#), "{whole}");
    let half = &whole[..whole.len() / 2];
    let lying = whole.replace("\"name\":\"b\"", "\"name\":\"x\"");
    let older = whole.replace("\"1.0\"", "\"0.9\"");
    assert_ne!(lying, whole);
    let less = whole.replace("b\":", "");
    for damaged in ["", "{}", "null", half, &older, &lying, &less] {
        std::fs::write(rig.home.index(), damaged).unwrap();
        assert_eq!(rig.sessions().all().unwrap(), all, "{damaged}");
        let made = std::fs::read_to_string(rig.home.index()).unwrap();
        assert_eq!(made.len(), whole.len(), "it is written again");
    }
    std::fs::remove_file(rig.home.index()).unwrap();
    assert_eq!(rig.sessions().all().unwrap(), all);
    // A directory, or a link, in its place.
    std::fs::remove_file(rig.home.index()).unwrap();
    std::fs::create_dir(rig.home.index()).unwrap();
    assert_eq!(rig.sessions().all().unwrap(), all);
}

#[test]
fn what_is_older_than_a_session_is_noticed_whatever_the_clock_says() {
    let rig = Rig::new();
    rig.make_with_turn("a", "a");
    rig.make_with_turn("b", "b");
    assert_eq!(rig.names().len(), 2);
    let before = std::fs::read(rig.home.index()).unwrap();
    let mut running = rig.run("a", Saving::Always);
    running.turn("more");
    assert!(std::fs::read(rig.home.index()).unwrap() == before, "no session writes the index");
    drop(running);
    // A file that claims to be older than the index is another one all the same.
    let meta = std::fs::File::options().write(true).open(rig.places("a").meta()).unwrap();
    meta.set_modified(std::time::UNIX_EPOCH).unwrap();
    let a = rig.sessions().find("a").unwrap();
    assert_eq!(a.message_count, 12);
    assert!(std::fs::read(rig.home.index()).unwrap() != before);
    // Sessions that come and go without us.
    std::fs::rename(rig.home.sessions().join("b"), rig.home.root().join("elsewhere")).unwrap();
    assert_eq!(rig.names(), ["a"]);
    std::fs::rename(rig.home.root().join("elsewhere"), rig.home.sessions().join("b")).unwrap();
    assert_eq!(rig.names().len(), 2);
}

#[test]
fn what_is_no_session_is_not_listed() {
    let rig = Rig::new();
    rig.make_with_turn("a", "a");
    let sessions = rig.home.sessions();
    std::fs::write(sessions.join("a-file"), "x").unwrap();
    std::fs::create_dir(sessions.join("empty")).unwrap();
    std::fs::create_dir(sessions.join(".ironcurtain-tmp.1.x")).unwrap();
    std::fs::copy(rig.places("a").meta(), sessions.join(".ironcurtain-tmp.1.x/meta.json")).unwrap();
    std::fs::create_dir(sessions.join("no id")).unwrap();
    std::os::unix::fs::symlink(sessions.join("a"), sessions.join("link")).unwrap();
    assert_eq!(rig.names(), ["a"]);
    let ((), unreadable) = index::with(&rig.home, |_| ()).unwrap();
    // The link leads to a session of another id.
    assert_eq!(unreadable.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["link"]);
}

#[test]
fn an_index_that_is_right_is_not_written() {
    let rig = Rig::new();
    rig.make_with_turn("a", "a");
    std::fs::create_dir(rig.home.sessions().join("empty")).unwrap();
    std::fs::create_dir(rig.home.sessions().join("broken")).unwrap();
    std::fs::write(rig.home.sessions().join("broken/meta.json"), "?").unwrap();
    rig.names();
    let inode =
        || std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(rig.home.index()).unwrap());
    let before = inode();
    rig.names();
    assert_eq!(inode(), before);
}
