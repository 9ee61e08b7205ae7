//! Real processes, found and killed both ways.

#![expect(clippy::disallowed_methods, reason = "tests start the processes that they kill")]

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::WaitOptions;

use super::*;

/// A shell with a child, a grandchild, and one in a session of its own.
const FAMILY: &str = "sleep 600 & echo $!; sh -c 'sleep 600 & echo $!; wait' & echo $!; \
                      setsid sleep 600 & echo $!; wait";

/// These tests kill everything below their process, which may be one process for all of them.
static ALONE: Mutex<()> = Mutex::new(());

/// Starts `FAMILY`, and returns it with the four that it told of.
fn family() -> Vec<(Pid, OwnedFd)> {
    let own = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(own)).expect("orphans are ours");
    #[expect(clippy::zombie_processes, reason = "the tests wait for all children at once")]
    let mut root = Command::new("sh")
        .args(["-c", FAMILY])
        .stdout(Stdio::piped())
        .spawn()
        .expect("there is a shell");
    let lines = BufReader::new(root.stdout.take().expect("piped")).lines();
    let pids = lines.take(4).map(|line| read_pid(&line.expect("text")).expect("a number"));
    [Pid::from_child(&root)]
        .into_iter()
        .chain(pids)
        .map(|pid| (pid, rustix::process::pidfd_open(pid, PidfdFlags::empty()).expect("it runs")))
        .collect()
}

#[track_caller]
fn check(kinship: impl Fn() -> Kinship) {
    let _alone = ALONE.lock();
    let family = family();
    let own = rustix::process::getpid();
    loop {
        kill_below(own, &kinship());
        // Each round kills at least the children, so this ends.
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(_) => {}
            Err(errno) => break assert_eq!(errno, Errno::CHILD),
        }
    }
    for (pid, held) in &family {
        let signalled = rustix::process::pidfd_send_signal(held, Signal::CONT);
        assert_eq!(signalled, Err(Errno::SRCH), "{pid} is still there");
    }
}

#[test]
fn a_family_is_found_by_its_lists() {
    check(|| Kinship::Lists);
}

#[test]
fn a_family_is_found_without_lists() {
    check(Kinship::scan);
}

#[test]
fn only_what_is_meant_is_killed() {
    let _alone = ALONE.lock();
    for (pid, _held) in family() {
        assert!(!kill_if(pid, |_| false));
        assert!(Status::of(pid).is_some_and(|status| !status.is_dead), "{pid} was killed");
        assert!(kill_if(pid, |_| true));
    }
    while rustix::process::wait(WaitOptions::empty()).is_ok() {}
}

/// Waits until everything below us sleeps, and has done so since the look before: one that was just made
/// sleeps before it has run.
fn asleep(own: Pid) -> Asleep {
    let mut before = None;
    for _ in 0..10_000 {
        let now = asleep_below(own);
        if let (Some(now), Some(before)) = (&now, &before)
            && now == before
        {
            return now.clone();
        }
        before = now;
        poll(&mut [], Some(&STOP_ROUND)).expect("time passes");
    }
    panic!("nobody sleeps");
}

#[test]
fn whoever_ran_between_two_looks_is_known() {
    let _alone = ALONE.lock();
    let _family = family();
    let own = rustix::process::getpid();
    let slept = asleep(own);
    assert_eq!(asleep_below(own), Some(slept.clone()), "nobody ran");
    assert!(stop_below(own), "all of them stop");
    assert_eq!(asleep_below(own), None, "what is stopped does not sleep");
    continue_below(own);
    assert_ne!(asleep(own), slept, "they went on");
    let busy = ["-c", "while :; do :; done"];
    let mut busy = Command::new("sh").args(busy).spawn().expect("there is a shell");
    for _ in 0..100 {
        assert_eq!(asleep_below(own), None, "somebody runs");
    }
    busy.kill().expect("it runs");
    busy.wait().expect("it ends");
    assert_ne!(asleep(own), slept);
    loop {
        kill_below(own, &Kinship::now());
        if rustix::process::wait(WaitOptions::empty()).is_err() {
            break;
        }
    }
}

#[test]
fn a_name_cannot_forge_a_status() {
    let pid = |number| Pid::from_raw(number).expect("not zero");
    let status = |parent, session: i32, is_dead| {
        Some(Status { parent: pid(parent), session: Pid::from_raw(session), is_dead })
    };
    for (text, expected) in [
        ("12 (sh) S 7 12 9 0 -1", status(7, 9, false)),
        ("12 (a) Z 1 1 1 (b) S 7 12 9 0 -1", status(7, 9, false)),
        ("12 (\n) R 1 1 1)\n) Z 7 12 9 0 -1", status(7, 9, true)),
        ("12 (sh) S 7 12 0 0 -1", status(7, 0, false)),
        ("12 (init) S 0 12 9 0 -1", None),
        ("12 (sh S 7 12 9", None),
        ("12 (sh) S 7", None),
        ("", None),
    ] {
        assert_eq!(Status::read(text.as_bytes()), expected, "{text}");
    }
}
