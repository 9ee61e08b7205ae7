//! A journal that ends anywhere: everything before is there, and nothing is made up.

use ic_store::Saving;

use crate::rig::{Rig, written};

#[test]
fn a_journal_that_is_cut_anywhere_keeps_every_whole_line() {
    let rig = Rig::new();
    rig.make("a", "a");
    let mut running = rig.run("a", Saving::Always);
    running.turn("one");
    running.turn("two");
    let journal = std::fs::read(running.journal()).unwrap();
    drop(running);
    // The whole is gone, so that the journal alone has it.
    std::fs::remove_file(rig.places("a").conversation()).unwrap();
    let mut n_before = 0;
    let mut whole = Vec::new();
    // At every line's end and beside it, and at many places between.
    let is_tried = |end: &usize| {
        let near = journal.get(end.saturating_sub(2)..(*end + 2).min(journal.len()));
        end.is_multiple_of(17)
            || *end == journal.len()
            || near.is_some_and(|it| it.contains(&b'\n'))
    };
    for end in (0..=journal.len()).filter(is_tried) {
        std::fs::write(rig.places("a").journal(), &journal[..end]).unwrap();
        let stored = rig.stored("a");
        assert_eq!(stored.damage, None, "cut at {end}");
        assert!(n_before <= stored.messages.len(), "cut at {end}");
        n_before = stored.messages.len();
        whole.push(written(&stored.messages));
    }
    // Whatever is there at one cut is the beginning of what is there in the end.
    let last = whole.last().unwrap();
    assert!(whole.iter().all(|it| last.starts_with(it)));
    assert_eq!(last.len(), 12);
}

#[test]
fn whoever_goes_on_after_a_torn_line_loses_nothing_that_was_whole() {
    let rig = Rig::new();
    rig.make("a", "a");
    let mut running = rig.run("a", Saving::Always);
    running.turn("one");
    let messages = running.messages.clone();
    let path = running.journal();
    drop(running);
    let mut journal = std::fs::read(&path).unwrap();
    journal.extend_from_slice(br#"{"seq":7,"from":6,"messages":[{"role":"us"#);
    std::fs::write(&path, &journal).unwrap();
    let mut running = rig.run("a", Saving::Always);
    assert_eq!(written(&running.messages), written(&messages));
    running.turn("two");
    drop(running);
    assert_eq!(rig.stored("a").messages.len(), messages.len() * 2);
    assert_eq!(rig.stored("a").damage, None);
}

/// A process that is killed between the whole and the end of its journal leaves both.
#[test]
fn a_journal_that_the_whole_has_is_not_taken_in_twice() {
    let rig = Rig::new();
    rig.make("a", "a");
    let mut running = rig.run("a", Saving::Always);
    running.turn("one");
    let before = running.messages.clone();
    running.say("taken back");
    running.conversation.save(&before, ic_store::Moment::TurnEnds).unwrap();
    running.turn("two");
    let (path, messages) = (running.journal(), running.messages.clone());
    let journal = std::fs::read(&path).unwrap();
    running.close();
    std::fs::write(&path, journal).unwrap();
    let stored = rig.stored("a");
    assert_eq!(written(&stored.messages), written(&messages));
    assert_eq!((stored.turns.len(), stored.damage), (2, None));
}
