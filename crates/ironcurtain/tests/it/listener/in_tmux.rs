//! The listener in tmux, once through: what people run it in.

use ic_escalation::is_anybody_there;

use crate::approvals::world::{BINARY, Rig};
use crate::repl::in_tmux::Tmux;

#[test]
fn tmux_shows_the_dashboard_and_gets_its_screen_back() {
    let rig = Rig::new();
    let work = rig.session("work");
    let Some(tmux) = Tmux::run_in(&rig, (80, 24), &format!("{BINARY} listen")) else { return };
    tmux.expect("nothing waits · 1 session runs");
    let first = work.ask("/d/a.txt", "hello");
    tmux.expect("▸ #1 work").expect("y approve · n deny").type_in("y");
    tmux.expect("Escalation approved. #1 was accepted by `work`.").expect("nothing waits");
    assert_eq!(rig.summary(first), "Approved by listener");
    let second = work.ask("/d/b.txt", "hello");
    tmux.expect("▸ #2 work").run(&["resize-window", "-t", "talk", "-x", "140", "-y", "40"]);
    tmux.expect("── History").expect("y approve · n deny").type_in("n");
    tmux.expect("Your denial of #2 was accepted");
    assert_eq!(rig.summary(second), "Denied by listener");
    assert!(is_anybody_there(&rig.home).unwrap());
    tmux.type_in("q").ends_with(&["ended with 0", "isig", "icanon", "echo"]);
    assert!(!is_anybody_there(&rig.home).unwrap());
}
