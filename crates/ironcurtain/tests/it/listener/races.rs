//! Answers that come at the same time, too late, or while more is asked.

use std::time::Duration;

use ic_escalation::Reply;
use serde_json::json;

use super::{command, listener};
use crate::approvals::world::{Rig, Session};

fn make(session: &Session, path: &str) -> crate::approvals::world::Asked {
    session.ask_tool("create_directory", &json!({"path": path}))
}

#[test]
fn approve_all_means_what_was_on_the_screen() {
    let rig = Rig::new();
    let (work, play) = (rig.session("work"), rig.session("play"));
    let stage = listener(&rig);
    let first = work.ask("/d/a.txt", "hello");
    stage.asked_alone(1);
    let second = make(&play, "/d/b");
    stage.expect("2 requests wait").type_in("/approve a").expect("> /approve a");
    // One more comes before the command is sent, and one after.
    let third = make(&work, "/d/c");
    stage.expect("3 requests wait").type_in("ll").expect("> /approve all").type_in("\r");
    stage.expect("2 calls need approval; you answer them together:");
    stage.expect("then y approves these 2, and no other.");
    let fourth = make(&play, "/d/d");
    stage.expect("4 requests wait").expect("more rows: Enter shows them").type_in("\r");
    stage.expect("y approve both · n deny both").type_in("y");
    stage.expect("Escalation approved.").expect("2 requests wait");
    assert_eq!(rig.summary(first), "Approved by listener");
    assert_eq!(rig.summary(second), "Approved by listener");
    assert!(!third.response.exists() && !fourth.response.exists());
    // The same for denying.
    stage.asked_alone(3).type_in("/deny al").expect("> /deny al");
    let fifth = make(&work, "/d/e");
    stage.expect("3 requests wait").type_in("l").expect("> /deny all").type_in("\r");
    stage.expect("1 request waits").asked_alone(5);
    assert_eq!(rig.summary(third), "Denied by listener");
    assert_eq!(rig.summary(fourth), "Denied by listener");
    assert!(!fifth.response.exists());
}

/// One of those that are answered together ends: the others are read anew.
#[test]
fn what_is_answered_elsewhere_takes_a_group_apart() {
    let rig = Rig::new();
    let (work, play) = (rig.session("work"), rig.session("play"));
    let stage = listener(&rig);
    let first = work.ask("/d/a.txt", "hello");
    stage.asked_alone(1);
    let second = make(&play, "/d/b");
    stage.expect("2 requests wait");
    command(&stage, "/approve all");
    stage.expect("2 calls need approval");
    rig.answer_elsewhere(&second, &Reply::Deny);
    stage.expect("1 request waits").asked_alone(1).expect("#2 play: denied (listener)");
    assert_eq!(rig.summary(second), "Denied by listener");
    stage.type_in("y").expect("#1 was accepted by `work`.");
    assert_eq!(rig.summary(first), "Approved by listener");
}

#[test]
fn the_first_answer_counts() {
    let rig = Rig::new();
    let work = rig.session("work");
    let stage = listener(&rig);
    for number in 1..6 {
        let asked = work.ask(&format!("/d/{number}.txt"), "hello");
        stage.asked_alone(number);
        // Ours may be read before the other one is noticed; it is not the first all the same.
        rig.answer_elsewhere(&asked, &Reply::Deny);
        stage.type_in("y");
        assert_eq!(rig.summary(asked), "Denied by listener");
        stage.expect("nothing waits");
    }
}

#[test]
fn what_is_over_is_not_answered() {
    let rig = Rig::new();
    let work = rig.session("work");
    let stage = listener(&rig);
    let asked = work.ask_within("/d/a.txt", "hello", Duration::from_secs(2));
    stage.expect("▸ #1 work 0:0").expect("nothing waits").expect("expired: no answer in time");
    command(&stage, "/approve 1");
    stage.expect("No pending escalation with ID: 1");
    assert_eq!(rig.summary(asked), "expired");
}
