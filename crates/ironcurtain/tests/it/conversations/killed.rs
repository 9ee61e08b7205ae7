//! The real binary, killed at random moments, and its sessions resumed.
//!
//! `crates/ic-store/tests/it/killed.rs` kills far more often, where a process starts quickly.

use std::time::Duration;

use super::Shelf;
use crate::start::started::Started;

/// How often it is killed, in each of the sessions at a time.
const N_KILLS: u64 = 20;
const N_SESSIONS: u64 = 2;
/// A whole turn takes about that long, on a machine with little to do.
const MS_MAX: u64 = 600;

#[test]
fn a_session_that_is_killed_again_and_again_goes_on() {
    let shelf = Shelf::new();
    std::thread::scope(|scope| {
        for n in 0..N_SESSIONS {
            let shelf = &shelf;
            scope.spawn(move || kill_one(shelf, n));
        }
    });
    assert_eq!(shelf.names().len(), usize::try_from(N_SESSIONS).unwrap());
}

fn kill_one(shelf: &Shelf, session: u64) {
    let name = format!("session-{session}");
    shelf.ok(&["start", "--name", &name, "write \"\" to log.txt"]);
    let mut before = shelf.messages(&name);
    let mut seed = 88_172_645_463_325_252_u64 + session;
    for n in 0..N_KILLS {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        let task = format!("append \"<{n}>\" to log.txt");
        let started = Started::new(&shelf.place, &["start", "--resume", &name, &task]);
        // At any moment is what is wanted; nothing is waited for.
        std::thread::sleep(Duration::from_millis(seed % MS_MAX));
        started.send(rustix::process::Signal::KILL);
        let output = started.end();
        let now = shelf.messages(&name);
        // Only the last message may have grown: by the note that the turn before it was cut.
        let n_settled = before.len() - usize::from(is_open(&before));
        assert_eq!(now[..n_settled], before[..n_settled], "what was said stays: {output:?}");
        if output.stdout.contains("I appended") {
            let last = now.last().unwrap();
            assert!(last.contains("I appended"), "the answer was told: {last}");
        }
        assert!(shelf.names().contains(&name), "{output:?}");
        before = now;
    }
    // No lock stays, and nothing was done twice.
    let answer = shelf.ok(&["start", "--resume", &name, "read log.txt"]);
    for n in 0..N_KILLS {
        assert!(answer.matches(&format!("<{n}>")).count() <= 1, "{answer}");
    }
    assert_eq!(shelf.run(&["audit", "verify"]).code, 0);
}

/// Returns whether the last message is the person's.
fn is_open(messages: &[String]) -> bool {
    messages.last().is_some_and(|it| it.contains("\"role\":\"user\""))
}
