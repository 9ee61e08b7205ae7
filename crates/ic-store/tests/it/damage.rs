//! Damaged files: said so, set aside or left as they are, and never written over.

use ic_store::{Places, Saving, StoreError, Stored};

use crate::rig::{Rig, written};

fn names(places: &Places) -> Vec<String> {
    let entries = std::fs::read_dir(places.directory()).unwrap();
    let mut names: Vec<String> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_damaged_conversation_is_refused_and_left_as_it_is() {
    let rig = Rig::new();
    rig.make_with_turn("a", "a");
    let places = rig.places("a");
    let whole = std::fs::read_to_string(places.conversation()).unwrap();
    let half = &whole[..whole.len() / 2];
    let wrong = whole.replace("\"assistant\"", "\"wizard\"");
    let twice = whole.replacen("{\"metadata\"", "{\"turns\":[],\"metadata\"", 1);
    for damaged in ["", "{", "null", "[]", half, wrong.as_str(), twice.as_str()] {
        std::fs::write(places.conversation(), damaged).unwrap();
        let error = Stored::read(&places).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{damaged:?}: {error}");
        let said = error.to_string();
        assert!(said.contains("conversation.json` is damaged, and is left as it is"), "{said}");
        assert_eq!(std::fs::read_to_string(places.conversation()).unwrap(), damaged);
    }
}

#[test]
fn a_journal_that_is_damaged_is_set_aside_and_what_is_before_it_kept() {
    for (at, n_kept) in [(0, 0), (1, 0), (3, 3), (6, 6)] {
        let rig = Rig::new();
        rig.make("a", "a");
        let mut running = rig.run("a", Saving::Always);
        running.turn("one");
        let (path, messages) = (running.journal(), running.messages.clone());
        drop(running);
        std::fs::remove_file(rig.places("a").conversation()).unwrap();
        let mut lines: Vec<String> =
            std::fs::read_to_string(&path).unwrap().lines().map(|it| format!("{it}\n")).collect();
        lines[at] = "\0\0\0\0\n".to_owned();
        let damaged = lines.concat();
        std::fs::write(&path, &damaged).unwrap();
        let stored = rig.stored("a");
        assert!(stored.damage.is_some(), "line {at}");
        assert!(stored.messages.len() <= n_kept, "line {at}: {:?}", stored.messages);
        assert!(written(&messages).starts_with(&written(&stored.messages)));
        let mut running = rig.run("a", Saving::Always);
        running.turn("two");
        drop(running);
        let kept = rig.places("a").directory().join("conversation.journal.damaged-1");
        assert_eq!(std::fs::read_to_string(kept).unwrap(), damaged, "it is kept");
        assert_eq!(rig.stored("a").damage, None);
    }
}

#[test]
fn a_line_out_of_order_or_twice_is_damage() {
    let rig = Rig::new();
    rig.make("a", "a");
    let mut running = rig.run("a", Saving::Always);
    running.turn("one");
    let path = running.journal();
    drop(running);
    std::fs::remove_file(rig.places("a").conversation()).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for order in [&[0, 1, 1, 2][..], &[0, 2, 1], &[1, 2, 3], &[0, 1, 3]] {
        let changed: String = order.iter().map(|at| lines[*at]).collect();
        std::fs::write(&path, changed).unwrap();
        assert!(rig.stored("a").damage.is_some(), "{order:?}");
    }
}

#[test]
fn a_damaged_description_is_set_aside_and_made_again() {
    let rig = Rig::new();
    let a = rig.make_with_turn("a", "a");
    let places = rig.places("a");
    std::fs::write(places.meta(), "{\"id\":").unwrap();
    // The conversation has it, too.
    assert_eq!(rig.sessions().find("a").unwrap(), a);
    assert_eq!(
        std::fs::read_to_string(places.meta()).unwrap(),
        "{\"id\":",
        "looking changes nothing"
    );
    assert_eq!(ic_store::Metadata::restore(&places).unwrap(), Some(a.clone()));
    assert!(names(&places).contains(&"meta.json.damaged-1".to_owned()));
    // One that is gone is made again.
    std::fs::remove_file(places.meta()).ok();
    assert_eq!(rig.sessions().find("a").unwrap(), a);
    assert_eq!(ic_store::Metadata::read(&places).unwrap(), Some(a));
}

#[test]
fn a_description_of_another_session_is_none() {
    let rig = Rig::new();
    rig.make_with_turn("a", "a");
    rig.make_with_turn("b", "b");
    std::fs::copy(rig.places("a").meta(), rig.places("b").meta()).unwrap();
    let ((), unreadable) = ic_store::index::with(&rig.home, |_| ()).unwrap();
    assert_eq!(unreadable.len(), 1);
    assert_eq!(unreadable[0].reason, "its meta.json is that of a");
    assert_eq!(rig.names(), ["a"]);
}

#[test]
fn links_are_not_followed() {
    let rig = Rig::new();
    rig.make_with_turn("a", "a");
    let places = rig.places("a");
    let outside = rig.home.root().join("outside");
    std::fs::rename(places.conversation(), &outside).unwrap();
    std::os::unix::fs::symlink(&outside, places.conversation()).unwrap();
    assert!(Stored::read(&places).is_err());
    let victim = rig.home.root().join("victim");
    std::fs::write(&victim, "mine").unwrap();
    std::fs::remove_file(places.conversation()).unwrap();
    std::os::unix::fs::symlink(&victim, places.journal()).unwrap();
    assert!(Stored::read(&places).is_err());
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "mine");
}
