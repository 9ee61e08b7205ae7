//! How a task ends: what the exit code says, and that nothing is left, however it came.

use std::process::{Command, Stdio};

use ic_testkit::proxy::Process;
use rustix::process::Signal;

use super::started::{DEADLINE, Started};
use super::{Desk, answered};

/// A task that runs a script which does something and then never ends.
const ENDLESS: &str = "run this:\n```ts\nfilesystem.write_file({path: 'begun.txt', content: ''});\n\
    while (true) {}\n```";

impl Desk {
    /// Starts a task that never ends, and waits until it has begun.
    fn endless(&self) -> Started {
        let mut started = Started::new(&self.place, &["start", "--workspace", "work", ENDLESS]);
        started.expect("✓ allowed  filesystem.write_file");
        started
    }

    /// Holds what a task has started: a server and a worker, each with its guard, at least.
    fn processes(started: &Started) -> Vec<Process> {
        let descendants = started.descendants();
        assert!(4 <= descendants.len(), "{descendants:?}");
        descendants.into_iter().map(Process::hold).collect()
    }
}

#[test]
fn an_answer_is_success() {
    let desk = Desk::new();
    assert_eq!(desk.start("list the files").code, 0);
    // A denial is an answer, too.
    let output = desk.start("read ~/.ssh/id_rsa");
    let answer = answered(&output);
    assert!(answer.contains("I could not read `~/.ssh/id_rsa`"), "{answer}");
    assert!(answer.contains("protected"), "{answer}");
    assert!(output.stderr.contains("✗ refused  filesystem.read_text_file"), "{output:?}");
    assert!(output.stderr.contains("0 calls made, 1 refused"), "{output:?}");
    desk.check_log();
    desk.check_nobody_listed();
}

#[test]
fn a_call_that_needed_somebody_who_was_not_there_is_three() {
    let desk = Desk::new();
    let path = desk.place.path("home/Documents/a.txt");
    let output = desk.start(&format!("write \"a\" to {}", path.display()));
    assert_eq!(output.code, 3, "{output:?}");
    assert!(output.stdout.contains("I could not write"), "{output:?}");
    assert!(output.stdout.contains("ESCALATION"), "the answer says why: {output:?}");
    assert!(output.stderr.contains("1 unanswered"), "{output:?}");
    assert!(!path.exists());
    desk.check_log();
}

#[test]
fn a_budget_that_is_used_up_is_five() {
    let desk = Desk::new();
    assert_eq!(desk.place.run(["config", "set", "budget.maxSteps", "1"]).code, 0);
    let output = desk.start("write \"a\" to a.txt");
    assert_eq!((output.code, output.stdout.as_str()), (5, ""), "{output:?}");
    let said = "warning: the budget of this turn is used up (steps: 1 of 1)";
    assert!(output.stderr.contains(said), "{output:?}");
    assert_eq!(desk.read("work/a.txt").unwrap(), "a", "what was done is done");
    desk.check_log();
    desk.check_nobody_listed();
}

#[test]
fn a_task_that_is_interrupted_is_cancelled_and_leaves_nothing() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let desk = Desk::new();
        let started = desk.endless();
        let processes = Desk::processes(&started);
        started.send(signal);
        let output = started.end();
        assert_eq!((output.code, output.stdout.as_str()), (130, ""), "{signal:?}: {output:?}");
        assert!(output.stderr.contains("Cancelled; ending what runs."), "{output:?}");
        for process in &processes {
            assert!(process.is_gone_within(std::time::Duration::ZERO), "{process:?}");
        }
        assert!(desk.read("work/begun.txt").is_some(), "what was done is done");
        desk.check_log();
        desk.check_nobody_listed();
    }
}

#[test]
fn interrupting_again_leaves_at_once_and_nothing_stays() {
    for again in [Signal::INT, Signal::TERM, Signal::HUP] {
        let desk = Desk::new();
        let started = desk.endless();
        let processes = Desk::processes(&started);
        // It may have ended well before the second is sent, or may hear but the first.
        started.send(Signal::INT);
        started.process.send_if_it_runs(again);
        let output = started.end();
        assert_eq!(output.code, 130, "{again:?}: {output:?}");
        // Nobody waited for what it had started; that goes by itself.
        for process in &processes {
            assert!(process.is_gone_within(DEADLINE), "{again:?}: {process:?}");
        }
        desk.check_log();
        answered(&desk.start("list the files"));
    }
}

#[test]
fn a_task_that_is_killed_leaves_no_process_and_a_log_that_can_be_read() {
    let desk = Desk::new();
    let started = desk.endless();
    let processes = Desk::processes(&started);
    started.send(Signal::KILL);
    assert_eq!(started.end().code, 128 + 9);
    for process in &processes {
        assert!(process.is_gone_within(DEADLINE), "{process:?}");
    }
    let log = std::fs::read_to_string(ic_testkit::proxy::audit_log(&desk.place)).unwrap();
    assert!(log.contains("begun.txt"), "what was sent is recorded");
    // Whoever comes next works as ever.
    answered(&desk.start("list the files"));
}

/// Runs the binary by a shell, which arranges its streams.
fn by_shell(desk: &Desk, streams: &str) -> std::process::Output {
    let binary = env!("CARGO_BIN_EXE_ironcurtain");
    let script = format!("exec \"$0\" start --workspace work 'list the files' {streams}");
    let mut command = Command::new("sh");
    command.args(["-c", &script, binary]).env_clear();
    command.env("HOME", desk.place.path("home")).env("PATH", "/usr/bin:/bin");
    command.current_dir(desk.place.root()).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn streams_that_are_closed_or_full_stop_nothing_else() {
    for (streams, code) in [("<&-", 0), ("2>&-", 0), ("2>/dev/full", 0), (">/dev/full", 1)] {
        let desk = Desk::new();
        let output = by_shell(&desk, streams);
        assert_eq!(output.status.code(), Some(code), "{streams}: {output:?}");
        assert_eq!(desk.n_sessions(), 1);
        desk.check_log();
        desk.check_nobody_listed();
        if code == 1 {
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(said.contains("error: cannot write the output: "), "{said}");
        }
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_it_well() {
    let desk = Desk::new();
    let words = ["start", "--workspace", "work", "list the files"];
    let mut child = desk.place.command(words).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(141), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!said.contains("error"), "{said}");
    desk.check_log();
    desk.check_nobody_listed();
}

/// Runs the binary where the home has so much room, in a mount namespace of its own.
fn with_room(desk: &Desk, kib: usize) -> std::process::Output {
    let script = format!(
        "mount -t tmpfs -o size={kib}k none \"$1\" || exit 77; \"$0\" start --workspace work \
         'write \"a\" to a.txt'; code=$?; cat \"$1\"/.ironcurtain/sessions/*/audit.jsonl; exit $code"
    );
    let binary = env!("CARGO_BIN_EXE_ironcurtain");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script, binary]).arg(desk.place.path("home"));
    command.env_clear().env("HOME", desk.place.path("home"));
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
    command.current_dir(desk.place.root()).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn a_full_disk_stops_the_task_before_anything_is_done() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("only root may mount a small disk here; nothing was tried");
        return;
    }
    let mut n_refused = 0;
    for kib in [4, 8, 16, 24, 32, 48] {
        let desk = Desk::new();
        let output = with_room(&desk, kib);
        if output.status.code() == Some(77) {
            eprintln!("this machine mounts nothing; nothing was tried");
            return;
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_done = desk.read("work/a.txt").is_some();
        match output.status.code() {
            Some(0) => assert!(is_done, "{said}"),
            Some(1) => {
                assert!(said.contains("error: "), "{said}");
                // What was done was recorded before; only its outcome found no room.
                let log = String::from_utf8_lossy(&output.stdout);
                let is_recorded = log.lines().any(|line| {
                    line.contains(r#""kind":"intent""#) && line.contains(r#""tool":"write_file""#)
                });
                assert!(!is_done || is_recorded, "{kib}: {said}\n{log}");
                n_refused += 1;
            }
            other => panic!("{other:?}: {said}"),
        }
    }
    assert!(n_refused != 0, "every disk was large enough");
    let output = with_room(&Desk::new(), 16 << 10);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}
