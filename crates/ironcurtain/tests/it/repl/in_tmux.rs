//! A conversation in tmux, once through: what people run it in.
//!
//! The other tests of this directory compare what the emulator `vt100` makes of the same bytes. It reads
//! them as tmux does (cursor, wrapping, wide letters, margins), sees the modes of the terminal at any
//! moment, and needs no program that may be missing. This test is here to notice if tmux ever disagrees.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::world::{KEYS, ask_four, check_four, document, rig};
use crate::approvals::world::{BINARY, Rig};

/// The keys of a question that can be granted.
const GRANTABLE: &str = "y approve · n deny · g approve and grant · a always";

/// After this, nothing comes any more.
const DEADLINE: Duration = Duration::from_secs(90);

/// A tmux server of our own with one window.
pub(crate) struct Tmux {
    socket: PathBuf,
    home: PathBuf,
}

impl Tmux {
    /// Starts a conversation in a window, and after it what shows the state of the terminal.
    fn start(rig: &Rig, columns: u16) -> Option<Self> {
        let command = "sh -c 'echo $$ > pid; exec BINARY start --workspace work'";
        let tmux = Self::run_in(rig, (columns, 30), &command.replace("BINARY", BINARY))?;
        tmux.until("the prompt", |rows| rows.last().is_some_and(|row| row == ">"));
        Some(tmux)
    }

    /// Runs a command in a window, and after it what shows the state of the terminal.
    pub(crate) fn run_in(rig: &Rig, (columns, rows): (u16, u16), command: &str) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            assert!(std::env::var_os("CI").is_none(), "there is no tmux on this machine");
            eprintln!("SKIPPED: there is no tmux on this machine");
            return None;
        }
        let script = format!(
            "NO_COLOR=1 {command}\n\
             echo \"ended with $?\"\nstty -a | tr ' ;' '\\n\\n' | grep -xE -- '-?(icanon|echo|isig)'\n\
             sleep 1000\n"
        );
        let script = rig.place.write("in-tmux", script);
        let tmux = Self { socket: rig.place.path("tmux"), home: rig.place.path("home") };
        let root = rig.place.root();
        let (root, script) = (root.to_str().unwrap(), script.to_str().unwrap());
        let size = ["-x", &columns.to_string(), "-y", &rows.to_string()];
        let window = [&["new-session", "-d", "-s", "talk"], &size[..], &["-c", root, "sh", script]];
        tmux.run(&window.concat());
        Some(tmux)
    }

    pub(crate) fn run(&self, words: &[&str]) -> String {
        let output = Command::new("tmux")
            .args(["-u", "-f", "/dev/null", "-S"])
            .arg(&self.socket)
            .args(words)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", &self.home)
            .env("LANG", "C.UTF-8")
            .output()
            .unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns the rows of the screen, without empty ones at the end.
    fn rows(&self) -> Vec<String> {
        let screen = self.run(&["capture-pane", "-p", "-t", "talk"]);
        screen.trim_end().lines().map(|row| row.trim_end().to_owned()).collect()
    }

    #[track_caller]
    fn until(&self, what: &str, is: impl Fn(&[String]) -> bool) -> &Self {
        let began = Instant::now();
        loop {
            let rows = self.rows();
            if is(&rows) {
                return self;
            }
            assert!(began.elapsed() < DEADLINE, "{what}, in vain:\n{}", rows.join("\n"));
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    #[track_caller]
    pub(crate) fn expect(&self, text: &str) -> &Self {
        self.until(text, |rows| rows.iter().any(|row| row.contains(text)))
    }

    /// Waits until the screen ends with these rows.
    #[track_caller]
    pub(crate) fn ends_with(&self, wanted: &[&str]) -> &Self {
        self.until(&format!("{wanted:?}"), |rows| {
            rows.len() >= wanted.len() && rows[rows.len() - wanted.len()..] == *wanted
        })
    }

    pub(crate) fn type_in(&self, text: &str) -> &Self {
        self.run(&["send-keys", "-t", "talk", "-l", text]);
        self
    }

    fn keys(&self, keys: &[&str]) -> &Self {
        self.run(&[&["send-keys", "-t", "talk"], keys].concat());
        self
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

#[test]
fn tmux_shows_what_the_emulator_shows() {
    let rig = rig();
    rig.place.write("work/notes.txt", "日本 plain");
    let Some(tmux) = Tmux::start(&rig, 80) else { return };
    tmux.type_in("reed notes.txt").ends_with(&["> reed notes.txt"]);
    tmux.keys(&["Home", "Right", "Right", "DC"]).ends_with(&["> red notes.txt"]);
    tmux.type_in("a").ends_with(&["> read notes.txt"]).keys(&["Enter"]);
    tmux.ends_with(&[
        "> read notes.txt",
        "  ✓ allowed  filesystem.read_text_file path=notes.txt",
        "│ notes.txt:",
        "│ 日本 plain",
        "│",
        "│ (Answered by the offline model.)",
        ">",
    ]);
    // A question, answered with one key; nothing is typed before it stands there.
    tmux.type_in(&format!("write \"text\" to {}", document(&rig, "a.txt"))).expect("a.txt");
    tmux.keys(&["Enter"]).ends_with(&[GRANTABLE, ">"]);
    tmux.type_in("y").expect("Escalation approved.").expect("I wrote 4 bytes");
    tmux.until("the prompt", |rows| rows.last().is_some_and(|row| row == ">"));
    assert_eq!(std::fs::read_to_string(document(&rig, "a.txt")).unwrap(), "text");
    // A window of another size, with something typed that has to be broken anew.
    let typed = "ß".repeat(100);
    tmux.type_in(&typed);
    for columns in [80, 50, 70] {
        let size = columns.to_string();
        tmux.run(&["resize-window", "-t", "talk", "-x", &size, "-y", "30"]);
        let (first, rest) = (columns - 2, 100 - (columns - 2));
        let rows =
            [format!("> {}", "ß".repeat(first)), format!("  {}", "ß".repeat(rest.min(first)))];
        let more = (first < rest).then(|| format!("  {}", "ß".repeat(rest - first)));
        let rows: Vec<&str> = rows.iter().chain(&more).map(String::as_str).collect();
        tmux.ends_with(&rows);
    }
    tmux.keys(&["C-c"]).ends_with(&[">"]);
    let pasted = rig.place.write("pasted", "y\n".repeat(10_000));
    tmux.run(&["load-buffer", pasted.to_str().unwrap()]);
    tmux.run(&["paste-buffer", "-p", "-t", "talk"]);
    tmux.ends_with(&["> [pasted: 10000 lines, 20000 bytes]"]);
    tmux.keys(&["C-c"]).ends_with(&[">"]).keys(&["C-d"]);
    tmux.ends_with(&["ended with 0", "isig", "icanon", "echo"]);
}

/// Typing on, a command behind a message, and the end of a report that comes late; and then an answer.
#[test]
fn nothing_is_answered_by_accident_in_tmux() {
    let rig = rig();
    let Some(tmux) = Tmux::start(&rig, 200) else { return };
    tmux.type_in(&format!("write \"text\" to {}", document(&rig, "a.txt"))).expect("a.txt");
    tmux.keys(&["Enter"]).ends_with(&[GRANTABLE, ">"]);
    tmux.keys(&["t", "h", "x", "Enter", "y"]).expect("Queued: it is sent when");
    tmux.keys(&["C-u"]).ends_with(&[GRANTABLE, ">"]);
    tmux.keys(&["o", "k", "Enter", "/", "a", "p", "p", "r", "o", "v", "e", "Enter"]);
    tmux.expect("Nothing was answered:").ends_with(&[GRANTABLE, ">"]);
    tmux.type_in("\x1b[?2026;2$").type_in("y").type_in("x").ends_with(&["> x"]);
    tmux.keys(&["C-u"]).ends_with(&[GRANTABLE, ">"]);
    assert_eq!(rig.pending().len(), 1);
    assert!(!std::path::Path::new(&document(&rig, "a.txt")).exists());
    tmux.keys(&["y"])
        .until("the file", |_| std::path::Path::new(&document(&rig, "a.txt")).exists());
    tmux.until("the prompt", |rows| rows.last().is_some_and(|row| row == ">"));
    tmux.keys(&["C-d"]).ends_with(&["ended with 0", "isig", "icanon", "echo"]);
}

/// Counted, grouped, answered together, and the next one read before it is.
#[test]
fn several_questions_in_tmux() {
    let rig = rig();
    let Some(tmux) = Tmux::start(&rig, 80) else { return };
    let session = ask_four(&rig);
    tmux.type_in("/approve").ends_with(&["> /approve"]).keys(&["Enter"]);
    tmux.ends_with(&["y approve all 3 · n deny all 3 · o one by one · s next · 1 more wait", ">"]);
    insta::assert_snapshot!(screen(&rig, &tmux), @r#"
    3 calls need approval; you answer them together:
    #1 NAME: filesystem wants to call create_directory
      if approved, filesystem may create "/d/src/one"
      because: "a person decides"
      rule: "ask"
      write-path (asks):
        "/d/src/one"
      arguments:
        "path": "/d/src/one"
      expires: at TIME
      id: 00000001-0000-4000-8000-000000000000
    and 2 calls like it, 3 files under "/d/":
    #2 NAME
      write-path (asks):
        "/d/src/two"
      "path": "/d/src/two"
      id: 00000002-0000-4000-8000-000000000000
    #3 NAME
      write-path (asks):
        "/d/three"
      "path": "/d/three"
      id: 00000003-0000-4000-8000-000000000000
    y approve all 3 · n deny all 3 · o one by one · s next · 1 more wait
    >
    "#);
    tmux.type_in("y").expect("Escalation approved. (3 calls)").ends_with(&[KEYS, ">"]);
    insta::assert_snapshot!(screen(&rig, &tmux), @r#"
    Approval request:
    #4 NAME: filesystem wants to call delete_file
      if approved, filesystem may create "/d/four"
      because: "a person decides"
      rule: "ask-deleting"
      write-path (asks):
        "/d/four"
      arguments:
        "path": "/d/four"
      expires: at TIME
      id: 00000004-0000-4000-8000-000000000000
    y approve · n deny
    >
    "#);
    tmux.type_in("n").expect("Escalation denied.");
    tmux.until("the prompt", |rows| rows.last().is_some_and(|row| row == ">"));
    insta::assert_snapshot!(screen(&rig, &tmux), @r#"
    Approval request:
    #4 NAME: filesystem wants to call delete_file
      if approved, filesystem may create "/d/four"
      because: "a person decides"
      rule: "ask-deleting"
      write-path (asks):
        "/d/four"
      arguments:
        "path": "/d/four"
      expires: at TIME
      id: 00000004-0000-4000-8000-000000000000
    Escalation denied.
    >
    "#);
    check_four(&session);
    tmux.keys(&["C-d"]).ends_with(&["ended with 0", "isig", "icanon", "echo"]);
}

#[test]
fn a_turn_that_runs_in_tmux() {
    let rig = rig();
    let Some(tmux) = Tmux::start(&rig, 80) else { return };
    tmux.type_in("日本 ß 🦀 x").ends_with(&["> 日本 ß 🦀 x"]);
    tmux.keys(&["BSpace", "BSpace", "BSpace", "Left", "BSpace"]).ends_with(&["> 日本"]);
    tmux.keys(&["C-u"]).ends_with(&[">"]);
    let message = rig.place.write("message", "run this:\n```ts\nfor (;;) {}\n```");
    tmux.run(&["load-buffer", message.to_str().unwrap()]);
    tmux.run(&["paste-buffer", "-p", "-t", "talk"]);
    tmux.ends_with(&["  ```"]).keys(&["Enter"]);
    tmux.ends_with(&["… thinking", ">"]);
    // Commands, a message that waits, and another size, while the turn runs.
    tmux.type_in("/budget").ends_with(&["> /budget"]).keys(&["Enter"]).expect("steps: 1 of 200");
    tmux.type_in("list the files").keys(&["Enter"]).expect("Queued: it is sent when");
    tmux.run(&["resize-window", "-t", "talk", "-x", "60", "-y", "24"]);
    tmux.ends_with(&["… thinking · 1 queued", ">"]);
    tmux.keys(&["C-c"]).ends_with(&[
        "Cancelled. What was done is kept.",
        "The queued message was dropped.",
        ">",
    ]);
    // What was sent before comes back, the last one first.
    tmux.keys(&["Up"]).ends_with(&["> list the files"]);
    tmux.keys(&["Up"]).ends_with(&["> /budget"]).keys(&["Down"]).ends_with(&["> list the files"]);
    tmux.keys(&["Enter"]).expect("✓ allowed  filesystem.list_directory");
    tmux.until("the prompt", |rows| rows.last().is_some_and(|row| row == ">"));
    let pid = std::fs::read_to_string(rig.place.path("pid")).unwrap();
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    tmux.ends_with(&["ended with 130", "isig", "icanon", "echo"]);
}

/// Returns the screen from the question on, without the name of the session and how long it waits.
fn screen(rig: &Rig, tmux: &Tmux) -> String {
    let session = rig.place.sessions().pop().expect("a session");
    let (_, name) = session.to_str().unwrap().rsplit_once('-').unwrap();
    let rows = tmux.rows();
    let from = rows
        .iter()
        .rposition(|row| row.starts_with("Approval request:") || row.contains("need approval;"))
        .unwrap();
    let shown = rows[from..].iter().map(|row| match row.split_once("expires: at") {
        Some((before, _)) => format!("{before}expires: at TIME"),
        None => row.replace(&format!("built-in-{name}"), "NAME"),
    });
    shown.collect::<Vec<_>>().join("\n")
}
