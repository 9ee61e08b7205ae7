//! `approvals watch`: what comes and goes, who is there, and what is typed at the desk.

use std::io::{BufRead as _, BufReader};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use ic_escalation::{Reply, is_anybody_there};
use insta::assert_snapshot;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::world::{BINARY, Rig, Terminal};

/// The binary as it watches, with its output in a pipe.
struct Watch {
    child: Child,
    /// What it prints; without a terminal, and with nothing left out.
    lines: Receiver<String>,
}

/// How long nothing takes.
const MINUTE: Duration = Duration::from_mins(1);

impl Watch {
    fn start(rig: &Rig, words: &[&str]) -> Self {
        let words = [&["approvals", "watch"], words].concat();
        let mut child = rig.place.command(words).spawn().unwrap();
        let printed = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in printed.lines().map_while(Result::ok) {
                if sender.send(format!("{line}\n")).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    /// Returns the next line, or nothing if there is none.
    fn line(&mut self) -> String {
        self.lines.recv_timeout(MINUTE).unwrap_or_default()
    }

    /// Reads up to the line that begins with `start`.
    fn until(&mut self, start: &str) -> String {
        let mut seen = String::new();
        loop {
            let line = self.line();
            assert!(!line.is_empty(), "no {start:?} in {seen}");
            seen.push_str(&line);
            if line.starts_with(start) {
                return seen;
            }
        }
    }

    fn event(&mut self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    /// Interrupts it, and returns how it ended.
    fn interrupt(mut self, signal: Signal) -> Option<i32> {
        kill(self.child.id(), signal);
        self.child.wait().unwrap().code()
    }
}

fn kill(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

fn is_there(rig: &Rig) -> bool {
    is_anybody_there(&rig.home).unwrap()
}

fn seats(rig: &Rig) -> Vec<String> {
    let names = std::fs::read_dir(rig.home.registry()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("desk-")).collect()
}

#[test]
fn questions_come_and_go_line_by_line() {
    let rig = Rig::new();
    let work = rig.session("work");
    let first = work.ask("/d/a.txt", "hello");
    let mut watch = Watch::start(&rig, &[]);
    let mut seen = watch.until("  id: ");
    assert!(!is_there(&rig), "who only watches does not answer");
    rig.answer_elsewhere(&first, &Reply::Approve(None));
    seen += &watch.until("#1 work: approved");
    // A session that begins while somebody watches.
    let play = rig.session("play");
    let second = play.ask_within("/d/b.txt", "there", Duration::from_secs(3));
    seen += &watch.until("  id: ");
    seen += &watch.until("#2 play: expired");
    let third = work.ask("/d/c.txt", "more");
    seen += &watch.until("  id: ");
    drop(third);
    seen += &watch.until("#3 work: withdrawn");
    assert_snapshot!(rig.neutral(&seen), @r#"
    #1 work: filesystem wants to call write_file
      if approved, filesystem may create "/d/a.txt"
      because: "a person decides"
      rule: "ask"
      write-path (asks):
        "/d/a.txt"
      arguments:
        "path": "/d/a.txt"
        "content": "hello"
      expires: at [CLOCK] UTC (in [N] min [N] s when shown)
      id: [ID]
    #1 work: approved (listener)
    #2 play: filesystem wants to call write_file
      if approved, filesystem may create "/d/b.txt"
      because: "a person decides"
      rule: "ask"
      write-path (asks):
        "/d/b.txt"
      arguments:
        "path": "/d/b.txt"
        "content": "there"
      expires: at [CLOCK] UTC (in [N] s when shown)
      id: [ID]
    #2 play: expired: no answer in time
    #3 work: filesystem wants to call write_file
      if approved, filesystem may create "/d/c.txt"
      because: "a person decides"
      rule: "ask"
      write-path (asks):
        "/d/c.txt"
      arguments:
        "path": "/d/c.txt"
        "content": "more"
      expires: at [CLOCK] UTC (in [N] min [N] s when shown)
      id: [ID]
    #3 work: withdrawn by the session
    "#);
    assert_eq!(rig.summary(first), "Approved by listener");
    assert_eq!(rig.summary(second), "expired");
    assert_eq!(watch.interrupt(Signal::INT), Some(0));
}

#[test]
fn scripts_read_events_and_are_present() {
    let rig = Rig::new().scripted();
    let work = rig.session("work");
    let asked = work.ask("/d/a.txt", "hello");
    let mut watch = Watch::start(&rig, &["--desk", "--json"]);
    let event = watch.event();
    assert_eq!((&event["event"], &event["number"]), (&"asked".into(), &1.into()));
    assert!(is_there(&rig));
    let id = event["escalationId"].as_str().unwrap();
    assert_eq!(rig.run(&["approvals", "deny", id]).code, 0);
    let event = watch.event();
    assert_eq!(event["event"], "ended");
    assert_eq!(event["escalationId"], asked.id.as_str());
    assert_eq!((&event["ending"], &event["decidedBy"]), (&"denied".into(), &"cli".into()));
    assert_eq!(watch.interrupt(Signal::TERM), Some(0));
    assert!(!is_there(&rig) && seats(&rig).is_empty());
}

/// A desk at which nobody can answer would let calls wait in vain.
#[test]
fn without_a_terminal_nobody_is_an_approver_unless_scripts_may_be() {
    let rig = Rig::new();
    for words in
        [&["approvals", "watch", "--desk"][..], &["approvals", "watch", "--desk", "--json"]]
    {
        let refused = rig.run(words);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains("there is no terminal to answer at"), "{refused:?}");
        assert!(!is_there(&rig) && seats(&rig).is_empty());
    }
}

#[test]
fn a_desk_that_is_killed_is_not_there_any_more() {
    let rig = Rig::new().scripted();
    let work = rig.session("work");
    let _asked = work.ask("/d/a.txt", "hello");
    let mut watch = Watch::start(&rig, &["--desk"]);
    watch.until("  id: ");
    assert!(is_there(&rig));
    assert_eq!(watch.interrupt(Signal::KILL), None);
    assert!(!is_there(&rig));
    assert!(seats(&rig).is_empty(), "looking cleans up");
}

/// What the line ends with that says what can be typed.
const READY: &str = "q quit (then Enter)\n";

/// Sits down at the desk, where one question waits.
fn desk(rig: &Rig) -> Terminal {
    let mut terminal = rig.at_terminal(&["approvals", "watch", "--desk"]);
    terminal.expect("You are an approver").expect("#1 work: ").expect("  id: ").expect(READY);
    terminal
}

#[test]
fn at_the_desk_answers_are_typed() {
    let rig = Rig::new();
    let work = rig.session("work");
    let first = work.ask("/d/a.txt", "hello");
    let mut terminal = desk(&rig);
    assert!(is_there(&rig));
    terminal.type_in("x\n").expect("(that is not an answer; y approve").expect(READY);
    terminal.type_in("y 7\n").expect("No pending escalation with ID: #7\n").expect(READY);
    terminal.type_in("y 1\n").expect("Escalation approved. #1 was accepted by `work`.\n");
    assert_eq!(rig.summary(first), "Approved by cli");
    terminal.type_in("y 1\n").expect("No escalation pending.\n");
    let second = work.ask("/d/b.txt", &"x".repeat(500));
    terminal.expect("#2 work: ").expect("340 of 500 characters").expect("`d` shows all of it\n");
    terminal.expect(READY).type_in("d 2\n").expect(&"x".repeat(500)).expect(READY);
    terminal
        .type_in("n #2\n")
        .expect("Escalation denied. Your denial of #2 was accepted by `work`.\n");
    assert_eq!(rig.summary(second), "Denied by cli");
    terminal.type_in("q\n");
    assert_eq!(terminal.end().code, 0);
    assert!(!is_there(&rig) && seats(&rig).is_empty());
}

#[test]
fn at_the_desk_a_grant_is_shown_before_it_is_chosen() {
    let rig = Rig::new();
    let work = rig.session("work");
    let asked = work.ask("/d/a.txt", "hello");
    let mut terminal = desk(&rig);
    let before = terminal.seen.len();
    terminal.type_in("g 1\n").expect("n goes back (then Enter)\n");
    assert_snapshot!(rig.neutral(terminal.seen.get(before..).unwrap()), @"
    g 1
    Choose a grant; this call is approved with it:
      1)  `filesystem` may call `write_file` without asking again, for
            write-path: exactly `/d/a.txt`
          until [CLOCK] UTC ([DAY]) or the end of the session
      2)  `filesystem` may call `write_file` without asking again, for
            write-path: everything in `/d/`, at any depth
          until [CLOCK] UTC ([DAY]) or the end of the session
    Which one? 1 or 2; n goes back (then Enter)
    ");
    // Not an answer to this question, and none to another.
    terminal.type_in("y 1\n").expect("Nothing was granted, and nothing answered.\n").expect(READY);
    // What was typed before it was shown is no choice.
    terminal.type_in("g 1\n1\n").expect("n goes back (then Enter)\n");
    terminal.type_in("x\n").expect("Nothing was granted, and nothing answered.\n").expect(READY);
    assert!(!asked.response.exists());
    terminal.type_in("g 1\n").expect("n goes back (then Enter)\n");
    terminal.type_in("1\n").expect("Escalation approved. #1 was accepted");
    assert_eq!(rig.summary(asked), "Approved by cli, granted");
    // The terminal's own way to say that nobody is there any more.
    terminal.type_in("\x04");
    assert_eq!(terminal.end().code, 0);
    assert!(seats(&rig).is_empty());
}

/// What is added is shown before it is confirmed, and only a `y` alone confirms it.
#[test]
fn at_the_desk_always_is_shown_before_it_is_confirmed() {
    let rig = Rig::new();
    rig.place.dir("home/Documents");
    let path = rig.place.path("home/Documents/a.txt");
    let work = rig.session("work");
    let asked = work.ask(path.to_str().unwrap(), "hello");
    let added = || rig.place.path("home/.ironcurtain/policies/my-default/constitution.md").exists();
    let mut terminal = desk(&rig);
    let before = terminal.seen.len();
    terminal.type_in("a 1\n").expect("n does neither (then Enter)\n");
    assert_snapshot!(rig.neutral(terminal.seen.get(before..).unwrap()), @r#"
    a 1
    With `y` this call is approved, and this is added to the policy for new sessions:
      The agent may write files in ~/Documents with write_file of filesystem.
      policy: `my-default`, a copy of the built-in `default` made now
      `my-default` becomes the policy in force
      example calls, with the arguments that are judged:
        asks -> allowed    filesystem.write_file {"path":"~/Documents/example.txt"}
        asks as before     filesystem.write_file {"path":"~/example.txt"}
      Lets more through:
        create or change in ~/Documents, with filesystem.write_file: needs approval -> allowed
    To take it back: ironcurtain policy allow filesystem.write_file --to write --in ~/Documents --remove
    Running sessions keep asking.
    y adds it and approves the call; n does neither (then Enter)
    "#);
    // Neither an answer to the question nor one to another.
    terminal.type_in("y 1\n").expect("Nothing was added, and nothing answered.\n").expect(READY);
    // What was typed before it was shown confirms nothing.
    terminal.type_in("a\ny\n").expect("n does neither (then Enter)\n");
    terminal.type_in("n\n").expect("Nothing was added, and nothing answered.\n").expect(READY);
    assert!(!asked.response.exists() && !added());
    terminal.type_in("a 1\n").expect("n does neither (then Enter)\n").type_in("y\n");
    terminal.expect("Added to the policy `my-default`, for new sessions.\n");
    terminal.expect("Escalation approved. #1 was accepted by `work`.\n");
    assert_eq!(rig.summary(asked), "Approved by cli");
    assert!(added());
    // Once more is not necessary.
    let again = work.ask(path.to_str().unwrap(), "more");
    terminal.expect(READY).type_in("a 2\n");
    terminal.expect("(always is not possible: the policy `my-default` has it for new sessions)\n");
    assert!(!again.response.exists());
    terminal.expect(READY).type_in("q\n");
    assert_eq!(terminal.end().code, 0);
}

#[test]
fn an_interrupted_desk_leaves_no_seat() {
    let rig = Rig::new();
    let work = rig.session("work");
    let asked = work.ask("/d/a.txt", "hello");
    let mut terminal = desk(&rig);
    // Also in the middle of a question.
    terminal.type_in("g 1\n").expect("n goes back (then Enter)\n").type_in("\x03");
    assert_eq!(terminal.end().code, 0);
    assert!(!is_there(&rig) && seats(&rig).is_empty());
    assert!(!asked.response.exists());
    let terminal = desk(&rig);
    kill(terminal.pid, Signal::HUP);
    assert_eq!(terminal.end().code, 0);
    assert!(!is_there(&rig) && seats(&rig).is_empty());
}

#[test]
fn at_the_desk_what_was_replaced_is_not_approved_but_shown_again() {
    let rig = Rig::new();
    let work = rig.session("work");
    let asked = work.ask("/d/a.txt", "hello");
    let mut terminal = desk(&rig);
    asked.replace(|it| it["arguments"]["path"] = "/etc/passwd".into());
    terminal.expect("The request was answered, has changed, or is over.\n").expect("/etc/passwd");
    terminal.expect(READY);
    // What was shown the second time was not what the session had asked.
    terminal.type_in("y 1\n");
    let said = rig.summary(asked);
    assert_eq!(said, "malformed: the request was changed after it was made");
    terminal.type_in("q\n");
    assert_eq!(terminal.end().code, 0);
}

#[test]
fn a_long_line_is_no_answer_wherever_it_is_cut() {
    let rig = Rig::new();
    let work = rig.session("work");
    let asked = work.ask("/d/a.txt", "hello");
    let mut terminal = desk(&rig);
    // What is read first is exactly as long as what is looked at.
    terminal.type_in(&format!("{}y 1\n", " ".repeat(256)));
    terminal.expect("  id: ").expect(READY).type_in("d 1\n").expect("d 1\n").expect("  id: ");
    assert!(!asked.response.exists());
    terminal.type_in("q\n");
    assert_eq!(terminal.end().code, 0);
}

#[test]
fn in_a_pipe_nothing_is_typed() {
    let rig = Rig::new().scripted();
    let work = rig.session("work");
    let asked = work.ask("/d/a.txt", "hello");
    let command = format!("{BINARY} approvals watch --desk | cat");
    let mut terminal = rig.in_terminal(&["sh", "-c", &command]);
    terminal.expect("#1 work: ").expect("  id: ").type_in("y 1\n");
    assert!(!terminal.seen.contains("You are an approver"), "{}", terminal.seen);
    assert!(is_there(&rig));
    rig.answer_elsewhere(&asked, &Reply::Deny);
    terminal.expect("#1 work: denied (listener)").type_in("\x03");
    assert_eq!(terminal.end().code, 130);
    assert!(!is_there(&rig));
    assert_eq!(rig.summary(asked), "Denied by listener");
}

/// What has scrolled away, has just come, or stands below another one is read first.
#[test]
fn at_the_desk_nothing_is_approved_that_is_not_wholly_in_sight() {
    let rig = Rig::new();
    let work = rig.session("work");
    let first = work.ask("/d/a.txt", "hello");
    let command = format!("stty cols 120 rows 10; exec {BINARY} approvals watch --desk");
    let mut terminal = rig.in_terminal(&["sh", "-c", &command]);
    let more = "more rows: Enter shows them, n and Enter denies.";
    terminal.expect("#1 work: ").type_in("y 1\n").expect("(press y again: ").expect(more);
    terminal.type_in("y 1\n").expect("(y was not taken: the rest of the request").expect(more);
    assert!(!first.response.exists());
    terminal.type_in("\n").expect("  id: ").expect(READY);
    // Another one comes, and does not push it away.
    let second = work.ask("/d/b.txt", "there");
    terminal.type_in("y 2\n").expect("#2 work: ").expect(more).type_in("y 1\n").expect("#1 work: ");
    terminal.expect(more).type_in("\n").expect("q quit (then Enter)");
    assert!(!first.response.exists() && !second.response.exists());
    terminal.type_in("y 1\n").expect("Escalation approved. #1 was accepted").expect("#2 work: ");
    terminal.expect(more).type_in("q\n");
    assert_eq!(terminal.end().code, 0);
    assert_eq!(rig.summary(first), "Approved by cli");
    assert!(!second.response.exists());
}
