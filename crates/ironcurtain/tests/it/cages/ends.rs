//! Nothing in a cage outlives its guard, its server, or the wish that it may end.

use std::time::Duration;

use ic_confine::{Child, ChildSpec};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};

use super::{DEADLINE, Ground, on_every_ground, soon};

/// A server with a child, a grandchild, and a daemon in a session of its own.
const FAMILY: &str = "sleep 600 & echo; sh -c 'sleep 600 & echo; wait' & \
     d='sleep 600 & echo; wait'; ( (setsid sh -c \"$d\" || sh -c \"$d\") & ); \
     trap '' TERM HUP; echo; wait; sleep 600";
/// How many lines say that all of them are there.
const N_LINES: usize = 4;

/// All processes that are below `root`, held so that nobody else is taken for them.
fn family(root: u32) -> Vec<OwnedFd> {
    let mut found = Vec::new();
    let mut queue = vec![root];
    while let Some(pid) = queue.pop() {
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        queue.extend(
            children
                .unwrap_or_default()
                .split_ascii_whitespace()
                .map(|it| it.parse::<u32>().unwrap()),
        );
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        found.extend(rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok());
    }
    found
}

#[track_caller]
fn assert_gone(family: &[OwnedFd]) {
    for process in family {
        let limit = Timespec::try_from(DEADLINE).unwrap();
        let mut events = [PollFd::new(process, PollFlags::IN)];
        assert_eq!(rustix::event::poll(&mut events, Some(&limit)), Ok(1), "it lives on");
    }
}

async fn started(ground: &Ground, spec: &ChildSpec) -> (Child, Vec<OwnedFd>) {
    let mut child = ground.launcher.start(spec).unwrap();
    let mut lines = BufReader::new(&mut child.stdout).lines();
    for _ in 0..N_LINES {
        let line = soon(lines.next_line()).await.unwrap();
        assert_eq!(line.as_deref(), Some(""), "{} as {:?}", ground.rung, ground.who);
    }
    let family = family(child.process.id());
    assert!(7 <= family.len(), "only {} processes", family.len());
    (child, family)
}

fn family_spec(ground: &Ground) -> ChildSpec {
    let spec = ground.spec(ground.cage(), "/bin/sh", &["-c", FAMILY]);
    ChildSpec { grace: Duration::from_millis(100), ..spec }
}

#[test]
fn everything_ends_when_it_is_asked_to() {
    on_every_ground(|ground| async move {
        let (mut child, family) = started(&ground, &family_spec(&ground)).await;
        soon(child.process.stop()).await.unwrap();
        assert_gone(&family);
    });
}

#[test]
fn everything_dies_with_its_guard() {
    on_every_ground(|ground| async move {
        let (mut child, family) = started(&ground, &family_spec(&ground)).await;
        rustix::process::pidfd_send_signal(&family[0], Signal::KILL).unwrap();
        soon(child.process.wait()).await.unwrap();
        assert_gone(&family);
    });
}

#[test]
fn nothing_is_left_of_a_cage_whose_guard_dies_while_it_is_made() {
    on_every_ground(|ground| async move {
        let mark = format!("mark-of-{}", ground.place.path().display());
        for turn in 0..30_u32 {
            let script = format!("sleep 600; true {mark}");
            let spec = ground.spec(ground.cage(), "/bin/sh", &["-c", &script]);
            let mut child = ground.launcher.start(&spec).unwrap();
            let guard = Pid::from_raw(i32::try_from(child.process.id()).unwrap()).unwrap();
            // A little later each time, until the server runs.
            let since = std::time::Instant::now();
            while since.elapsed() < Duration::from_micros(500) * turn {
                std::thread::yield_now();
            }
            rustix::process::kill_process(guard, Signal::KILL).unwrap();
            soon(child.process.wait()).await.unwrap();
            let deadline = std::time::Instant::now() + DEADLINE;
            while is_running(&mark) {
                let turn = format!("turn {turn} on {} as {:?}", ground.rung, ground.who);
                assert!(std::time::Instant::now() < deadline, "it lives on, {turn}");
                std::thread::yield_now();
            }
        }
    });
}

/// Returns whether there is a process with `mark` on its command line.
fn is_running(mark: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok()).any(
        |entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(mark)
        },
    )
}

#[test]
fn everything_ends_with_the_server() {
    on_every_ground(|ground| async move {
        let script = FAMILY.replace("wait; sleep 600", "read x");
        let spec = ground.spec(ground.cage(), "/bin/sh", &["-c", &script]);
        let (mut child, family) = started(&ground, &spec).await;
        drop(child.stdin);
        assert_eq!(soon(child.process.wait()).await.unwrap().code(), Some(1));
        assert_gone(&family);
    });
}

#[test]
fn a_server_may_end_by_itself_when_it_is_asked_to() {
    on_every_ground(|ground| async move {
        let script = "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 1; done";
        let spec = ground.spec(ground.cage(), "/bin/sh", &["-c", script]);
        let mut child = ground.launcher.start(&spec).unwrap();
        let mut stdout = BufReader::new(&mut child.stdout);
        let mut line = String::new();
        soon(stdout.read_line(&mut line)).await.unwrap();
        assert_eq!(soon(child.process.stop()).await.unwrap().code(), Some(7), "{}", ground.rung);
    });
}

#[test]
fn a_signal_that_kills_the_server_is_told() {
    on_every_ground(|ground| async move {
        let (_, _, code) = ground.sh(ground.cage(), "kill -SEGV $$").await;
        assert_eq!(code, Some(139), "{} as {:?}", ground.rung, ground.who);
    });
}

#[test]
fn a_hundred_cages_leave_nothing_behind() {
    on_every_ground(|ground| async move {
        // The first one also makes what is there once for all.
        ground.sh(ground.cage(), "true").await;
        let before = descriptors();
        for _ in 0..10 {
            let children: Vec<_> = (0..10)
                .map(|_| {
                    let script = "echo; exec sleep 600";
                    let spec = ground.spec(ground.cage(), "/bin/sh", &["-c", script]);
                    ground.launcher.start(&spec).unwrap()
                })
                .collect();
            for mut child in children {
                let mut byte = [0];
                soon(child.stdout.read_exact(&mut byte)).await.unwrap();
                soon(child.process.stop()).await.unwrap();
            }
        }
        assert_eq!(descriptors(), before, "{} as {:?}", ground.rung, ground.who);
    });
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/thread-self/fd").map_or(0, Iterator::count)
}
