//! What `kill -9` leaves, of the host and of the guard; and guards that nobody asked for.

use ic_confine::{Child, LAUNCH};
use rustix::process::Signal;

use super::host::Host;
use super::{
    Lines, N_FAMILY, PATH, Process, assert_all_go, assert_all_gone, assert_all_run, family, script,
    soon, start,
};
use crate::place;

#[test]
fn nothing_is_left_when_the_host_is_killed() {
    let mut host = Host::start(&[], "hold", &family("wait"));
    let processes: Vec<_> = (0..=N_FAMILY).map(|_| host.process()).collect();
    assert_all_run(&processes);
    host.kill();
    assert_all_go(&processes);
}

/// It has closed its pipes and listens to no signal, so only its guard can end it.
#[test]
fn a_server_that_listens_to_nothing_is_left_by_nobody() {
    let deaf = "trap '' TERM INT HUP PIPE; exec <&- >&- 2>&-; while :; do sleep 600; done";
    let mut host = Host::start(&[], "hold", &family(deaf));
    let processes: Vec<_> = (0..=N_FAMILY).map(|_| host.process()).collect();
    host.kill();
    assert_all_go(&processes);
}

/// Nothing of ours is left that could do anything but the system itself.
#[test]
fn a_server_dies_with_its_guard_even_when_the_host_is_gone() {
    let mut host = Host::start(&[], "hold", "trap '' TERM HUP; echo $$; exec sleep 600");
    let (guard, server) = (host.process(), host.process());
    guard.send(Signal::STOP);
    host.kill();
    assert!(server.is_running(), "it was ended by something else");
    guard.send(Signal::KILL);
    assert_all_go(&[guard, server]);
}

#[tokio::test]
async fn what_a_killed_guard_leaves_is_killed() {
    // The daemon is in a session of its own: with its guard killed, nobody can tell whose it was.
    let text = "echo $$; sleep 600 & echo $!; sh -c 'sleep 600 & echo $!; wait' & wait";
    let Child { stdin, stdout, mut process, .. } = start(&script(text));
    let processes = Lines::of(stdout).processes(3).await;
    assert_all_run(&processes);
    Process::hold(&process.id().to_string()).send(Signal::KILL);
    let status = soon(process.wait()).await.expect("ours");
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    assert_all_go(&processes);
    drop(stdin);
}

#[tokio::test]
async fn signals_for_ending_end_the_server_with_its_guard() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let Child { stdin, stdout, mut process, .. } = start(&script(&family("wait")));
        let processes = Lines::of(stdout).processes(N_FAMILY).await;
        Process::hold(&process.id().to_string()).send(signal);
        assert_eq!(soon(process.wait()).await.expect("ours").code(), Some(128 + 15));
        assert_all_gone(&processes);
        drop(stdin);
    }
}

/// Whoever started us may have told the system to forget how our children end.
#[test]
fn an_ignored_signal_does_not_hide_how_a_server_ended() {
    let ignoring = ["env", "--ignore-signal=CHLD,TERM,HUP,INT"];
    let mut host = Host::start(&ignoring, "code", "(exit 1 &); exit 7");
    assert_eq!(host.line(), "7");
    host.passes();
    // And those that end are heard, too.
    let mut host = Host::start(&ignoring, "hold", "echo $$; while :; do sleep 600; done");
    let (guard, server) = (host.process(), host.process());
    guard.send(Signal::TERM);
    assert_all_go(&[guard, server]);
    host.kill();
}

/// Whoever runs as the same user can read the environment that a process was started with.
#[test]
fn the_keys_of_a_host_reach_neither_server_nor_guard() {
    let mut host = Host::start(&[], "hold", "echo $$; read line");
    let (guard, server) = (host.process(), host.process());
    let environment = |process: &Process| {
        let text = std::fs::read_to_string(format!("/proc/{}/environ", process.pid));
        text.expect("it runs")
    };
    assert_eq!(environment(&server), format!("PATH={PATH}\0"));
    assert_eq!(environment(&guard), format!("+PATH={PATH}\0"));
    host.kill();
    assert_all_go(&[guard, server]);
}

#[test]
fn a_hundred_servers_leave_nothing_open() {
    Host::start(&[], "many", "read line").passes();
}

#[test]
fn guards_obey_nobody_but_their_parent() {
    let place = place();
    let own = std::process::id().to_string();
    for (words, told) in [
        (vec![], "this command is for IronCurtain's own use"),
        (vec!["--help"], "this command is for IronCurtain's own use"),
        (vec!["guard", "1", "0", "-", "-", "free", "touch", "/usr/bin/touch", "owned"], "is gone"),
        (vec!["become", "1", "free", "touch", "/usr/bin/touch", "owned"], "is gone"),
        (
            vec!["guard", "2147483647", "0", "-", "-", "free", "touch", "/usr/bin/touch", "owned"],
            "cannot watch",
        ),
        (
            vec!["guard", own.as_str(), "0", "-", "-", "free", "touch"],
            "this command is for IronCurtain's own use",
        ),
    ] {
        let output = place.run([&[LAUNCH][..], &words].concat());
        assert_eq!((output.code, output.stdout.as_str()), (125, ""), "{words:?}");
        assert!(output.stderr.starts_with("ironcurtain: "), "{}", output.stderr);
        assert!(output.stderr.contains(told), "{words:?}: {}", output.stderr);
    }
    assert!(!place.path("owned").exists(), "it was run");
}
