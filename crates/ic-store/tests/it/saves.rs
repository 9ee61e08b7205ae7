//! What was said is there again, as it was said, whenever the process ends.

use ic_model::Message;
use ic_store::{Moment, Saving};

use crate::rig::{Rig, answer, user, uses, written};

#[test]
fn what_was_said_is_read_back_as_it_was_said() {
    let rig = Rig::new();
    rig.make("a", "a");
    let mut running = rig.run("a", Saving::Always);
    for n in 0..3 {
        running.turn(&format!("question {n}"));
        // At every moment, with the journal and without.
        assert_eq!(written(&rig.stored("a").messages), written(&running.messages));
    }
    let messages = running.messages.clone();
    running.close();
    let stored = rig.stored("a");
    assert_eq!(written(&stored.messages), written(&messages));
    assert_eq!(stored.turns.len(), 3);
    assert_eq!(stored.metadata.message_count, messages.len() as u64);
    assert_eq!(stored.metadata.first_message, "question 0");
    assert!(!rig.places("a").journal().exists(), "what ended has no journal");
}

#[test]
fn what_a_process_that_ends_has_saved_is_there() {
    let rig = Rig::new();
    rig.make("a", "a");
    let mut running = rig.run("a", Saving::Always);
    running.turn("one");
    running.say("two");
    running.step("x");
    let messages = running.messages.clone();
    // As after a kill: nothing is closed.
    drop(running);
    assert_eq!(written(&rig.stored("a").messages), written(&messages));
    assert_eq!(rig.stored("a").turns.len(), 1);
    // Whoever goes on goes on from there, also if that one is killed at once.
    drop(rig.run("a", Saving::Always));
    assert_eq!(written(&rig.stored("a").messages), written(&messages));
    let mut running = rig.run("a", Saving::Always);
    running.answer("two", "done");
    running.close();
    let stored = rig.stored("a");
    assert_eq!((stored.messages.len(), stored.turns.len()), (messages.len() + 1, 2));
}

#[test]
fn tools_that_were_being_used_are_known() {
    let rig = Rig::new();
    rig.make("a", "a");
    let mut running = rig.run("a", Saving::Always);
    running.say("go");
    running.conversation.begin_tools(uses("x")).unwrap();
    drop(running);
    let stored = rig.stored("a");
    assert_eq!(stored.pending, Some(uses("x")));
    // It stays known until it is settled.
    let found = rig.found("a", Saving::Always);
    drop(found);
    assert_eq!(rig.stored("a").pending, Some(uses("x")));
    let mut running = rig.run("a", Saving::Always);
    running.step("x");
    assert_eq!(rig.stored("a").pending, None);
    running.close();
}

#[test]
fn a_turn_that_is_taken_back_leaves_what_was_before_it() {
    let rig = Rig::new();
    rig.make("a", "a");
    let mut running = rig.run("a", Saving::Always);
    running.turn("one");
    let before = running.messages.clone();
    running.say("never mind");
    running.conversation.begin_tools(uses("y")).unwrap();
    running.conversation.save(&before, Moment::TurnEnds).unwrap();
    let stored = rig.stored("a");
    assert_eq!((written(&stored.messages), stored.pending), (written(&before), None));
    // A message that grows, and shrinks again.
    let mut grown = before.clone();
    grown.push(user("a"));
    running.conversation.save(&grown, Moment::TurnBegins).unwrap();
    if let Some(Message::User(blocks)) = grown.last_mut() {
        blocks.push(ic_model::UserBlock::Note("b".into()));
    }
    running.conversation.save(&grown, Moment::Within).unwrap();
    assert_eq!(written(&rig.stored("a").messages), written(&grown));
    running.conversation.save(&before, Moment::TurnEnds).unwrap();
    drop(running);
    assert_eq!(written(&rig.stored("a").messages), written(&before));
}

#[test]
fn a_conversation_that_is_saved_on_demand_waits_for_it() {
    let rig = Rig::new();
    rig.make("a", "a");
    let mut running = rig.run("a", Saving::OnDemand);
    running.turn("one");
    assert!(!rig.stored("a").is_there, "nobody wanted it saved");
    running.conversation.save_now().unwrap();
    assert_eq!(written(&rig.stored("a").messages), written(&running.messages));
    running.turn("two");
    let n = running.messages.len();
    assert!(rig.stored("a").messages.len() < n);
    running.close();
    assert_eq!(rig.stored("a").messages.len(), n);
}

#[test]
fn a_step_costs_what_it_costs_however_long_the_conversation_is() {
    let rig = Rig::new();
    rig.make("a", "a");
    let mut running = rig.run("a", Saving::Always);
    let length =
        |running: &crate::rig::Running| std::fs::metadata(running.journal()).unwrap().len();
    running.turn("first");
    let first = length(&running);
    running.turn(&"long ".repeat(60_000));
    for n in 0..100 {
        running.turn(&format!("{n:5}"));
    }
    let before = length(&running);
    running.turn("first");
    // The same turn takes the same room, but for some more digits.
    assert!(length(&running) - before < first + 100, "{first} {}", length(&running) - before);
    let whole = std::fs::read(rig.places("a").conversation()).unwrap();
    running.say("more");
    running.step("q");
    running.messages.push(answer("ok"));
    running.conversation.save(&running.messages, Moment::TurnEnds).unwrap();
    let after = std::fs::read(rig.places("a").conversation()).unwrap();
    assert!(whole == after, "the whole is not written while it is large");
    running.close();
    assert_eq!(rig.stored("a").turns.len(), 103);
}

#[test]
fn whoever_said_something_last_is_continued() {
    let rig = Rig::new();
    for id in ["a", "b"] {
        rig.make_with_turn(id, id);
    }
    assert_eq!(rig.sessions().last().unwrap().name.as_str(), "b");
    let mut running = rig.run("a", Saving::Always);
    // The clock goes back, and that changes nothing.
    rig.clock.set(1_000);
    running.say("again");
    drop(running);
    assert_eq!(rig.sessions().last().unwrap().name.as_str(), "a");
    let a = rig.sessions().find("a").unwrap();
    assert!(a.created_at <= a.last_activity_at, "activity does not go back");
    for damaged in ["", "../../etc", "nobody", "\u{0}"] {
        std::fs::write(rig.home.last_session(), damaged).unwrap();
        assert!(rig.sessions().last().is_ok(), "the most recently active one will do");
    }
    std::fs::write(rig.home.last_session(), b"\xff\xfe").unwrap();
    assert!(rig.sessions().last().is_ok());
    assert!(Rig::new().sessions().last().is_err());
}
