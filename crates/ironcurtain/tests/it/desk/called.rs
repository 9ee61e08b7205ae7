//! The user is called: `notify.command` is told what waits, and can answer nothing.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use super::{Desk, approve, deny};
use crate::proxy::until;

/// Tells what it was told, one at a time, and does its best to answer.
const TELL: &str = r#"#!/bin/sh
mkdir "$HOME/busy" || echo overlap >> "$HOME/told.jsonl"
cat >> "$HOME/told.jsonl"
rmdir "$HOME/busy"
echo '{"decision":"approved","digest":"0","decidedBy":"cli","decidedAt":"2026-01-01T00:00:00.000Z"}'
echo y
"#;

impl Desk {
    /// Lets the program that `script` says call the user.
    fn calling(self, script: &str) -> Self {
        let program = self.place.write("home/bin/tell", script);
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        self.place.let_scripts_answer();
        let set = self.place.run(["config", "set", "notify.command", "~/bin/tell", "--yes"]);
        assert_eq!(set.code, 0, "{set:?}");
        self
    }

    /// Waits until so many requests were told.
    #[track_caller]
    fn told(&self, n_requests: usize) -> Vec<Value> {
        let read = || std::fs::read_to_string(self.place.path("home/told.jsonl"));
        let mut told = Vec::new();
        until(&format!("{n_requests} told"), || {
            let text = read().unwrap_or_default();
            told = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            assert!(!text.contains("overlap"), "two ran at once: {text}");
            told.len() == n_requests
        });
        told
    }
}

#[test]
fn the_program_is_told_what_waits_and_its_words_are_no_answer() {
    let mut desk = Desk::new().calling(TELL);
    let mut proxy = desk.start();
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let id = desk.ask_write(&mut proxy, "a.txt", &format!("token {secret}"));
    let told = desk.told(1).remove(0);
    let question = desk.question();
    assert_eq!(told["event"], "approval-requested");
    assert_eq!(told["number"], question.number());
    assert_eq!(told["escalationId"], question.request().escalation.as_str());
    assert_eq!(told["toolName"], "write_file");
    assert_eq!(told["arguments"]["path"], desk.path("a.txt"));
    let summary = format!(
        "#{} filesystem wants to call write_file: write-path \"{}\"",
        question.number(),
        desk.path("a.txt")
    );
    assert_eq!(told["summary"], summary);
    // What may leave the machine carries no password, and nothing that an approval needs.
    assert!(!told.to_string().contains(&secret), "{told}");
    assert_eq!(told.get("digest"), None);
    // It has answered in every way that it could think of, and the call still waits.
    assert_eq!(desk.read("a.txt"), None);
    deny(&question);
    assert!(proxy.answer(&id).bad().contains("denied"));
    proxy.finish();
    assert_eq!(desk.events("escalation"), ["raised", "answered by cli"]);
}

#[test]
fn one_program_runs_at_a_time() {
    let mut desk = Desk::new().calling(TELL);
    let mut proxy = desk.start();
    let ids: Vec<String> =
        (0..6).map(|at| desk.ask_write(&mut proxy, &format!("{at}.txt"), "x")).collect();
    let mut numbers: Vec<u64> =
        desk.told(6).iter().map(|it| it["number"].as_u64().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    for question in desk.questions(6) {
        approve(&question);
    }
    for id in ids {
        proxy.answer(&id).good();
    }
    proxy.finish();
}

#[test]
fn a_program_that_hangs_holds_nobody_up_and_is_ended() {
    let mut desk =
        Desk::new().calling("#!/bin/sh\necho $$ > \"$HOME/pid\"\nexec tail -f /dev/null\n");
    let mut proxy = desk.start();
    let id = desk.ask_write(&mut proxy, "a.txt", "a");
    let pid = || std::fs::read_to_string(desk.place.path("home/pid")).unwrap_or_default();
    until("the program runs", || pid().ends_with('\n'));
    let process = std::path::PathBuf::from(format!("/proc/{}", pid().trim()));
    let question = desk.question();
    approve(&question);
    proxy.answer(&id).good();
    assert!(process.exists(), "the answer waited for the program");
    until("it is ended", || !process.exists());
    until("it is said", || proxy.stderr().contains("it took longer than 10 seconds"));
    proxy.finish();
}

#[test]
fn a_program_that_fails_is_named_once_and_fails_no_call() {
    let mut desk =
        Desk::new().calling("#!/bin/sh\necho told >> \"$HOME/n\"\necho no bus >&2\nexit 7\n");
    let mut proxy = desk.start();
    for name in ["a.txt", "b.txt"] {
        let id = desk.ask_write(&mut proxy, name, "x");
        approve(&desk.question());
        proxy.answer(&id).good();
    }
    let id = desk.ask_write(&mut proxy, "c.txt", "x");
    let n_told =
        || std::fs::read_to_string(desk.place.path("home/n")).unwrap_or_default().lines().count();
    until("the last one was told", || 1 < n_told());
    approve(&desk.question());
    proxy.answer(&id).good();
    proxy.finish();
    let words = "`notify.command` failed: it ended with code 7 and said: no bus";
    assert_eq!(proxy.all_stderr().matches(words).count(), 1, "{}", proxy.all_stderr());
}

#[test]
fn a_program_that_the_agent_can_write_is_not_run() {
    let mut desk = Desk::new().calling(TELL);
    let workspace = desk.place.path("home/bin");
    let mut proxy = desk.start_with(&["--workspace", workspace.to_str().unwrap()]);
    let id = desk.ask_write(&mut proxy, "a.txt", "a");
    approve(&desk.question());
    proxy.answer(&id).good();
    proxy.finish();
    let stderr = proxy.all_stderr();
    assert!(
        stderr.contains("lies where the agent of this session, or of an earlier one"),
        "{stderr}"
    );
    // Nor in a session that works elsewhere: the agent of this one may have changed it.
    let mut proxy = desk.start();
    let id = desk.ask_write(&mut proxy, "b.txt", "b");
    approve(&desk.question());
    proxy.answer(&id).good();
    proxy.finish();
    let stderr = proxy.all_stderr();
    assert!(
        stderr.contains("lies where the agent of this session, or of an earlier one"),
        "{stderr}"
    );
    assert!(!desk.place.path("home/told.jsonl").exists());
}

/// A text that a shell or another interpreter is handed leads to a directory in which an agent writes.
#[test]
fn a_text_that_runs_what_the_agent_can_write_is_not_run() {
    for line in [
        &["sh", "-c", "cd PLACE && ./tell"][..],
        &["bash", "-ec", "D=PLACE; cd $D; exec ./tell"],
        &["sh", "-c", "cd ~/../tools; sh tell"],
        &["python3", "-c", "import os; os.execv('PLACE/tell', ['x'])"],
        &["env", "A=1", "sh", "-c", "\"$0\"", "PLACE/tell"],
    ] {
        let mut desk = Desk::new();
        let program = desk.place.write("tools/tell", TELL);
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let tools = desk.place.path("tools");
        let line: Vec<String> =
            line.iter().map(|it| it.replace("PLACE", tools.to_str().unwrap())).collect();
        desk.place.configure("notify.command", line.clone());
        // The control: where no agent writes, it is run.
        let mut proxy = desk.start();
        let id = desk.ask_write(&mut proxy, "a.txt", "a");
        desk.told(1);
        approve(&desk.question());
        proxy.answer(&id).good();
        proxy.finish();
        let mut proxy = desk.start_with(&["--workspace", tools.to_str().unwrap()]);
        let id = desk.ask_write(&mut proxy, "b.txt", "b");
        approve(&desk.question());
        proxy.answer(&id).good();
        proxy.finish();
        let stderr = proxy.all_stderr();
        assert!(stderr.contains("`notify.command` is not run: "), "{line:?}: {stderr}");
        assert_eq!(desk.told(1).len(), 1, "{line:?}");
    }
}

#[test]
fn a_text_that_only_a_shell_understands_is_not_run() {
    let desk = Desk::new();
    desk.place.configure("notify.command", vec!["sh", "-c", "exec \"$(cat /etc/hostname)\""]);
    let mut proxy = desk.start();
    proxy.finish();
    let stderr = proxy.all_stderr();
    let words = "`notify.command` is not run: only a shell knows what its text";
    assert!(stderr.contains(words) && stderr.contains("write the path"), "{stderr}");
}

#[test]
fn a_program_that_is_not_there_is_said_and_doctor_says_it_too() {
    let desk = Desk::new();
    desk.place.configure("notify.command", "/nowhere/tell");
    let mut proxy = desk.start();
    proxy.finish();
    let words = "`notify.command` is not run: ";
    assert!(proxy.all_stderr().contains(words), "{}", proxy.all_stderr());
    let doctor = desk.place.run(["doctor"]);
    let row = doctor.stdout.lines().find(|it| it.contains("notify.command")).unwrap();
    assert!(row.starts_with("warning") && row.contains("/nowhere/tell"), "{row}");
}

#[test]
fn in_a_pipe_no_program_can_be_set() {
    let desk = Desk::new();
    let set = desk.place.run(["config", "set", "notify.command", "[\"sh\", \"-c\", \"x\"]"]);
    assert_ne!(set.code, 0);
    assert_eq!(desk.place.run(["config", "get", "notify.command"]).stdout, "null\n");
    // To be called by nobody takes nothing away.
    assert_eq!(desk.place.run(["config", "set", "notify.command", "null"]).code, 0);
}
