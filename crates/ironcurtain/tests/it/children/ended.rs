//! How servers end: by themselves, when they are asked to, and when nobody holds them any more.

use std::fs;
use std::time::Duration;

use ic_confine::Child;
use rustix::process::Signal;

use super::{
    Lines, N_FAMILY, Process, assert_all_go, assert_all_gone, assert_all_run, family, run, script,
    soon, spec, start, text,
};

#[tokio::test]
async fn exit_codes_and_signals_are_reported() {
    for (text, expected) in [
        ("exit 0", 0),
        ("exit 1", 1),
        ("exit 7", 7),
        ("exit 255", 255),
        ("kill -KILL $$", 128 + 9),
        ("kill -SEGV $$", 128 + 11),
        ("kill -TERM $$", 128 + 15),
    ] {
        assert_eq!(run(&script(text)).await.2, Some(expected), "{text}");
    }
}

#[tokio::test]
async fn how_it_ended_can_be_asked_again() {
    let Child { mut process, .. } = start(&script("exit 7"));
    // A wait that is given up loses nothing.
    drop(tokio::time::timeout(Duration::ZERO, process.wait()).await);
    for _ in 0..3 {
        assert_eq!(soon(process.wait()).await.expect("ours").code(), Some(7));
        assert_eq!(soon(process.stop()).await.expect("ours").code(), Some(7));
    }
}

#[tokio::test]
async fn the_end_of_output_is_seen_while_the_server_runs() {
    let Child { stdin, stdout, stderr, mut process, .. } =
        start(&script("echo last; exec >&- 2>&-; read line; exit 3"));
    assert_eq!(text(stdout).await, "last\n");
    assert_eq!(text(stderr).await, "");
    assert!(tokio::time::timeout(Duration::ZERO, process.wait()).await.is_err(), "it runs");
    drop(stdin);
    assert_eq!(soon(process.wait()).await.expect("ours").code(), Some(3));
}

#[tokio::test]
async fn the_end_of_input_reaches_the_server() {
    assert_eq!(run(&spec("cat", &[])).await, (String::new(), String::new(), Some(0)));
}

#[tokio::test]
async fn a_server_that_is_asked_to_end_may_tidy_up() {
    let text = "trap 'echo tidy; exit 5' TERM; echo ready; sleep 600 & wait; exit 6";
    let Child { stdout, mut process, stdin, .. } = start(&script(text));
    let mut lines = Lines::of(stdout);
    assert_eq!(lines.next().await.as_deref(), Some("ready"));
    assert_eq!(soon(process.stop()).await.expect("ours").code(), Some(5));
    assert_eq!(lines.next().await.as_deref(), Some("tidy"));
    assert_eq!(lines.next().await, None);
    drop(stdin);
}

#[tokio::test]
async fn a_server_that_will_not_end_is_killed() {
    let mut child = script("trap '' TERM INT HUP; echo $$; while :; do sleep 600; done");
    child.grace = Duration::from_millis(50);
    let Child { stdin, stdout, mut process, .. } = start(&child);
    let server = Lines::of(stdout).processes(1).await;
    drop(stdin);
    assert_eq!(soon(process.stop()).await.expect("ours").code(), Some(128 + 9));
    assert_all_gone(&server);
}

#[tokio::test]
async fn a_server_is_not_killed_before_its_grace_is_over() {
    // The whole grace would be a minute; the server takes as long as its input stays open.
    let text = "trap 'read line; exit 5' TERM; echo ready; sleep 600 & wait; exit 6";
    let mut child = script(text);
    child.grace = Duration::from_hours(1);
    let Child { stdin, stdout, mut process, .. } = start(&child);
    assert_eq!(Lines::of(stdout).next().await.as_deref(), Some("ready"));
    let limit = Duration::from_millis(100);
    assert!(tokio::time::timeout(limit, process.stop()).await.is_err(), "it was killed");
    drop(stdin);
    assert_eq!(soon(process.wait()).await.expect("ours").code(), Some(5));
}

#[tokio::test]
async fn nothing_is_left_when_a_server_was_stopped() {
    let Child { stdin, stdout, mut process, .. } = start(&script(&family("wait")));
    let processes = Lines::of(stdout).processes(N_FAMILY).await;
    assert_all_run(&processes);
    soon(process.stop()).await.expect("ours");
    assert_all_gone(&processes);
    drop(stdin);
}

#[tokio::test]
async fn nothing_is_left_when_a_server_has_ended() {
    let Child { stdin, stdout, mut process, .. } = start(&script(&family("read line; exit 4")));
    let processes = Lines::of(stdout).processes(N_FAMILY).await;
    assert_all_run(&processes);
    drop(stdin);
    assert_eq!(soon(process.wait()).await.expect("ours").code(), Some(4));
    assert_all_gone(&processes);
}

#[tokio::test]
async fn nothing_is_left_when_nobody_holds_a_server() {
    let Child { stdin, stdout, process, .. } = start(&script(&family("wait")));
    let processes = Lines::of(stdout).processes(N_FAMILY).await;
    assert_all_run(&processes);
    drop(process);
    assert_all_go(&processes);
    drop(stdin);
}

/// Nothing of a guard's session is left; it is in the same session as nobody else.
#[track_caller]
fn assert_no_session(guard: u32) {
    let leader = guard.to_string();
    let is_member = |pid: &str| {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let words = text.rsplit_once(')').map(|(_, rest)| rest.split_ascii_whitespace());
        words.and_then(|mut words| words.nth(3).map(|session| session == leader)) == Some(true)
    };
    let entries = fs::read_dir("/proc").expect("a list");
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let left: Vec<_> = names.filter(|name| is_member(name)).collect();
    assert_eq!(left, Vec::<String>::new());
}

#[tokio::test]
async fn a_crowd_is_ended() {
    let text = "i=0; while [ $i -lt 200 ]; do sleep 600 & i=$((i + 1)); done; echo ready; wait";
    let Child { stdin, stdout, mut process, .. } = start(&script(text));
    assert_eq!(Lines::of(stdout).next().await.as_deref(), Some("ready"));
    soon(process.stop()).await.expect("ours");
    assert_no_session(process.id());
    drop(stdin);
}

/// It does not listen, and forks on and on while it is being killed.
#[tokio::test]
async fn a_crowd_that_keeps_growing_is_ended() {
    let text = "trap '' TERM; i=0; while :; do (sleep 600 &); i=$((i + 1)); \
                [ $i -eq 200 ] && echo ready; done";
    let mut child = script(text);
    child.grace = Duration::ZERO;
    let Child { stdin, stdout, mut process, .. } = start(&child);
    assert_eq!(Lines::of(stdout).next().await.as_deref(), Some("ready"));
    assert_eq!(soon(process.stop()).await.expect("ours").code(), Some(128 + 9));
    assert_no_session(process.id());
    drop(stdin);
}

/// A server that runs for days must not fill the table of processes with the dead.
#[tokio::test]
async fn orphans_are_waited_for_while_the_server_runs() {
    let text = "for i in 1 2 3 4 5 6 7 8 9; do (sh -c 'exit 3' &); done; echo $$; read line";
    let Child { stdin, stdout, process, .. } = start(&script(text));
    let server = Lines::of(stdout).processes(1).await.remove(0);
    let guard = process.id();
    let list = format!("/proc/{guard}/task/{guard}/children");
    let alone = format!("{} ", server.pid);
    let waited = soon(async {
        while fs::read_to_string(&list).expect("the guard runs") != alone {
            tokio::task::yield_now().await;
        }
    });
    waited.await;
    drop((stdin, process));
}

#[tokio::test]
async fn a_guard_that_was_stopped_does_not_keep_a_server_alive() {
    let text = "echo $$; sleep 600 & echo $!; sh -c 'sleep 600 & echo $!; wait' & wait";
    let mut child = script(text);
    child.grace = Duration::ZERO;
    let Child { stdin, stdout, mut process, .. } = start(&child);
    let mut processes = Lines::of(stdout).processes(3).await;
    let guard = Process::hold(&process.id().to_string());
    guard.send(Signal::STOP);
    soon(process.stop()).await.expect("ours");
    processes.push(guard);
    assert_all_go(&processes);
    drop(stdin);
}
