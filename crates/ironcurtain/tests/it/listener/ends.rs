//! One listener at a time, present while it runs, and the terminal given back on every way out.

use std::os::unix::fs::PermissionsExt as _;

use ic_escalation::is_anybody_there;
use rustix::process::Signal;

use super::listener;
use crate::approvals::world::{BINARY, Rig};
use crate::proxy::until;
use crate::repl::world::Stage;

/// A way to end the listener.
type Leave = fn(&Stage);

fn is_there(rig: &Rig) -> bool {
    is_anybody_there(&rig.home).unwrap()
}

#[test]
fn every_way_out_gives_the_terminal_back() {
    let rig = Rig::new();
    let work = rig.session("work");
    let _asked = work.ask("/d/a.txt", "hello");
    let ways: [(&str, Leave); 6] = [
        ("q", |stage| {
            stage.type_in("q");
        }),
        ("Ctrl-C", |stage| {
            stage.type_in("\x03");
        }),
        ("/quit", |stage| super::command(stage, "/quit")),
        ("SIGTERM", |stage| stage.signal(Signal::TERM)),
        ("SIGINT", |stage| stage.signal(Signal::INT)),
        ("SIGHUP", |stage| stage.signal(Signal::HUP)),
    ];
    for (way, leave) in ways {
        let mut stage = listener(&rig);
        stage.asked_alone(1);
        assert!(is_there(&rig), "{way}");
        leave(&stage);
        assert_eq!(stage.end(), 0, "{way}");
        let sent = stage.sent();
        assert!(sent.rfind("\x1b[?1049h") < sent.rfind("\x1b[?1049l"), "{way}: its screen stays");
        assert!(sent.contains("\x1b[23;2t"), "{way}: the title stays");
        assert!(!is_there(&rig), "{way}");
    }
}

#[test]
fn the_second_one_names_the_first_and_a_killed_one_leaves_nothing() {
    let rig = Rig::new();
    let first = listener(&rig);
    let mode = std::fs::metadata(rig.home.listener_lock()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for words in [&["listen"][..], &["escalation-listener", "--plain"]] {
        let words = [&[BINARY], words].concat();
        let mut second = Stage::run(&rig, (100, 30), &rig.place.root(), &[], &words);
        second.expect("error: a listener is running already: process ");
        assert_eq!(second.end(), 1);
    }
    assert!(is_there(&rig), "the first one still is");
    first.signal(Signal::KILL);
    until("nobody", || !is_there(&rig));
    // What the file says is of a process that runs no more, and holds nobody off.
    let noted = std::fs::read_to_string(rig.home.listener_lock()).unwrap();
    assert!(noted.contains("\"pid\":"), "{noted}");
    let mut third = listener(&rig);
    third.type_in("q");
    assert_eq!(third.end(), 0);
}

#[test]
fn without_a_terminal_nobody_listens() {
    let rig = Rig::new();
    let output = rig.run(&["listen"]);
    assert_eq!((output.code, output.stdout.as_str()), (1, ""));
    assert!(output.stderr.contains("there is no terminal to answer at"), "{}", output.stderr);
    assert!(!is_there(&rig));
}

/// Nobody waits for a listener that is suspended and continued: it draws everything anew.
#[test]
fn it_goes_on_after_a_pause_and_a_clear() {
    let rig = Rig::new();
    let work = rig.session("work");
    let stage = listener(&rig);
    let asked = work.ask("/d/a.txt", "hello");
    stage.asked_alone(1).type_in("\x0c").asked_alone(1);
    for (columns, rows) in [(120, 40), (60, 14), (20, 6), (100, 30)] {
        stage.resize(columns, rows);
    }
    stage.asked_alone(1).type_in("y").expect("#1 was accepted");
    assert_eq!(rig.summary(asked), "Approved by listener");
}
