//! A conversation in tmux, once through: what people run it in.
//!
//! The other tests of this directory compare what the emulator `vt100` makes of the same bytes. It reads
//! them as tmux does (cursor, wrapping, wide letters, margins), sees the modes of the terminal at any
//! moment, and needs no program that may be missing. This test is here to notice if tmux ever disagrees.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use super::world::{KEYS, document, rig};
use crate::approvals::world::{BINARY, Rig};

/// After this, nothing comes any more.
const DEADLINE: Duration = Duration::from_secs(90);

/// A tmux server of our own with one window.
struct Tmux {
    socket: PathBuf,
    home: PathBuf,
}

impl Tmux {
    /// Starts a conversation in a window, and after it what shows the state of the terminal.
    fn start(rig: &Rig) -> Self {
        let script = format!(
            "NO_COLOR=1 '{BINARY}' start --workspace work\n\
             echo \"ended with $?\"\nstty -a | tr ' ;' '\\n\\n' | grep -xE -- '-?(icanon|echo|isig)'\n\
             sleep 1000\n"
        );
        let script = rig.place.write("in-tmux", script);
        let tmux = Self { socket: rig.place.path("tmux"), home: rig.place.path("home") };
        let root = rig.place.root();
        let (root, script) = (root.to_str().unwrap(), script.to_str().unwrap());
        tmux.run(&[
            "new-session",
            "-d",
            "-s",
            "talk",
            "-x",
            "80",
            "-y",
            "30",
            "-c",
            root,
            "sh",
            script,
        ]);
        tmux
    }

    fn run(&self, words: &[&str]) -> String {
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
    fn expect(&self, text: &str) -> &Self {
        self.until(text, |rows| rows.iter().any(|row| row.contains(text)))
    }

    /// Waits until the screen ends with these rows.
    #[track_caller]
    fn ends_with(&self, wanted: &[&str]) -> &Self {
        self.until(&format!("{wanted:?}"), |rows| {
            rows.len() >= wanted.len() && rows[rows.len() - wanted.len()..] == *wanted
        })
    }

    fn type_in(&self, text: &str) -> &Self {
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
    if Command::new("tmux").arg("-V").output().is_err() {
        eprintln!("SKIPPED: there is no tmux on this machine");
        return;
    }
    let rig = rig();
    rig.place.write("work/notes.txt", "日本 plain");
    let tmux = Tmux::start(&rig);
    tmux.until("the prompt", |rows| rows.last().is_some_and(|row| row == ">"));
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
    tmux.keys(&["Enter"]).ends_with(&[KEYS, ">"]);
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
