//! A conversation at a terminal: the real binary, a pseudo-terminal, and what an emulator shows of it.
//!
//! Everything waits for what the screen shows, for as long as a busy machine may need; nothing is typed
//! before the screen shows that it is wanted.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use serde_json::json;

use crate::approvals::world::{BINARY, Rig};

/// After this, nothing comes any more.
const DEADLINE: Duration = Duration::from_secs(90);
pub(crate) const KEYS: &str = "y approve · n deny";

/// A conversation at a terminal.
pub(crate) struct Stage {
    child: Child,
    /// The terminal's own side.
    terminal: File,
    /// The side of the program, to look at its modes.
    slave: OwnedFd,
    emulator: Arc<Mutex<vt100::Parser>>,
    sent: Arc<Mutex<Vec<u8>>>,
    /// The modes of the terminal before the program had it.
    modes_before: String,
}

/// A place with a directory to work in, and one that needs a person.
pub(crate) fn rig() -> Rig {
    let rig = Rig::new();
    rig.place.dir("work");
    rig.place.dir("home/Documents");
    rig
}

/// Returns the path of a document, which needs a person.
pub(crate) fn document(rig: &Rig, name: &str) -> String {
    rig.place.path("home/Documents").join(name).to_str().unwrap().to_owned()
}

/// Puts four questions into the conversation's session, as calls of others in it would; three differ in
/// their path alone.
pub(crate) fn ask_four(rig: &Rig) -> PathBuf {
    let session = rig.place.sessions().pop().expect("a session");
    let id = session.file_name().unwrap().to_str().unwrap();
    for (number, tool, path, rule) in [
        (1, "create_directory", "/d/src/one", "ask"),
        (2, "create_directory", "/d/src/two", "ask"),
        (3, "create_directory", "/d/three", "ask"),
        // What waits for another reason is asked about by itself.
        (4, "delete_file", "/d/four", "ask-deleting"),
    ] {
        let escalation = format!("0000000{number}-0000-4000-8000-000000000000");
        let request = json!({
            "escalationId": escalation, "sessionId": id,
            "serverName": "filesystem", "toolName": tool, "arguments": {"path": path},
            "reason": "a person decides", "rule": rule, "escalatedRoles": ["write-path"],
            "causes": [{"rule": rule, "reason": "a person decides", "roles": ["write-path"]}],
            "resolved": {"write-path": [{"path": path}]},
            "digest": ic_types::Digest::of(path.as_bytes()).to_string(),
            "createdAt": format!("2026-01-01T00:00:0{number}Z"),
            "expiresAt": "2999-01-01T00:00:00Z",
        });
        let file = session.join(format!("escalations/request-{escalation}.json"));
        std::fs::write(file, request.to_string()).unwrap();
    }
    session
}

/// Checks that the first three were approved and the last one was not.
#[track_caller]
pub(crate) fn check_four(session: &Path) {
    for (number, decision) in [(1, "approved"), (2, "approved"), (3, "approved"), (4, "denied")] {
        let name = format!("escalations/response-0000000{number}-0000-4000-8000-000000000000.json");
        let answer = std::fs::read_to_string(session.join(name)).unwrap();
        assert!(answer.contains(decision) && answer.contains("repl"), "{answer}");
    }
}

impl Stage {
    /// Begins a conversation without colours, and waits for the prompt.
    pub(crate) fn new(rig: &Rig) -> Self {
        let stage = Self::start(rig, 80, 30, &["NO_COLOR=1"], &["--workspace", "work"]);
        stage.prompt("");
        stage
    }

    /// Begins a conversation.
    pub(crate) fn start(
        rig: &Rig,
        columns: u16,
        rows: u16,
        variables: &[&str],
        arguments: &[&str],
    ) -> Self {
        let words = [&[BINARY, "start"], arguments].concat();
        Self::run(rig, (columns, rows), &rig.place.root(), variables, &words)
    }

    /// Runs a command at a terminal of that size.
    pub(crate) fn run(
        rig: &Rig,
        size: (u16, u16),
        directory: &Path,
        variables: &[&str],
        words: &[&str],
    ) -> Self {
        Self::run_at(&rig.place.path("home"), size, directory, variables, words)
    }

    /// Likewise with that home.
    pub(crate) fn run_at(
        home: &Path,
        (columns, rows): (u16, u16),
        directory: &Path,
        variables: &[&str],
        words: &[&str],
    ) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let terminal = openpt(flags).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        tcsetwinsize(&terminal, size(columns, rows)).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = rustix::fs::open(ptsname(&terminal, Vec::new()).unwrap(), flags, Mode::empty())
            .unwrap();
        let modes_before = format!("{:?}", tcgetattr(&slave).unwrap());
        let stream = || Stdio::from(slave.try_clone().unwrap());
        let child = Command::new("setsid")
            .args(["--ctty", "env"])
            .args(variables)
            .args(words)
            .env_clear()
            .env("HOME", home)
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .current_dir(directory)
            .stdin(stream())
            .stdout(stream())
            .stderr(stream())
            .spawn()
            .unwrap();
        let terminal = File::from(terminal);
        let emulator = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 2000)));
        let sent = Arc::new(Mutex::new(Vec::new()));
        let (mut reading, shown, kept) =
            (terminal.try_clone().unwrap(), Arc::clone(&emulator), Arc::clone(&sent));
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n_bytes @ 1..) = reading.read(&mut buffer) {
                shown.lock().unwrap().process(&buffer[..n_bytes]);
                kept.lock().unwrap().extend_from_slice(&buffer[..n_bytes]);
            }
        });
        Self { child, terminal, slave, emulator, sent, modes_before }
    }

    /// Returns the rows of the screen, without empty ones at the end.
    pub(crate) fn rows(&self) -> Vec<String> {
        let emulator = self.emulator.lock().unwrap();
        let (_, columns) = emulator.screen().size();
        let mut rows: Vec<String> =
            emulator.screen().rows(0, columns).map(|it| it.trim_end().to_owned()).collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    /// Returns everything that was sent to the terminal.
    pub(crate) fn sent(&self) -> String {
        String::from_utf8_lossy(&self.sent.lock().unwrap()).into_owned()
    }

    /// Returns whether `text` was sent, at any moment.
    pub(crate) fn has_sent(&self, text: &str) -> bool {
        let sent = self.sent.lock().unwrap();
        sent.windows(text.len()).any(|it| it == text.as_bytes())
    }

    /// Returns for how long the program has used a processor.
    pub(crate) fn busy(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        let ticks: u64 = [11, 12].iter().map(|at| fields[*at].parse::<u64>().unwrap()).sum();
        // A tick of this file is a hundredth of a second on every Linux that we run on.
        Duration::from_millis(10 * ticks)
    }

    /// Returns where the cursor stands: row and column.
    pub(crate) fn cursor(&self) -> (u16, u16) {
        self.emulator.lock().unwrap().screen().cursor_position()
    }

    /// Waits until the screen is as it should be.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, is: impl Fn(&[String]) -> bool) -> &Self {
        let began = Instant::now();
        while !is(&self.rows()) {
            assert!(began.elapsed() < DEADLINE, "{what}, in vain:\n{}", self.rows().join("\n"));
            std::thread::sleep(Duration::from_millis(20));
        }
        self
    }

    /// Waits until `text` stands somewhere on the screen.
    #[track_caller]
    pub(crate) fn expect(&self, text: &str) -> &Self {
        self.until(text, |rows| rows.iter().any(|row| row.contains(text)))
    }

    /// Waits until nothing goes on, and `typed` stands behind the prompt.
    #[track_caller]
    pub(crate) fn prompt(&self, typed: &str) -> &Self {
        let wanted = format!("> {typed}");
        let is_idle = |rows: &[String]| {
            let last = rows.last().is_some_and(|row| row == wanted.trim_end());
            let above = rows.iter().rev().nth(1);
            let is_busy = |row: &String| {
                ["… ", "(read it", "y approve", "Which one?"].iter().any(|it| row.starts_with(it))
            };
            last && !above.is_some_and(is_busy)
        };
        self.until(&format!("the prompt with `{typed}`"), is_idle)
    }

    /// Looks at every moment of what was shown: once `upper` had come, `lower` did not stand there before
    /// `between` did.
    #[track_caller]
    pub(crate) fn never_below(&self, upper: &str, lower: &str, between: &str) {
        let (rows, columns) = self.emulator.lock().unwrap().screen().size();
        let mut emulator = vt100::Parser::new(rows, columns, 0);
        let mut is_upper = false;
        for byte in self.sent.lock().unwrap().iter() {
            emulator.process(std::slice::from_ref(byte));
            if !matches!(byte, b'\n' | b'h') {
                // Nothing is looked at in the middle of a row.
                continue;
            }
            let shown = emulator.screen().contents();
            is_upper |= shown.contains(upper);
            if is_upper {
                if shown.contains(between) {
                    return;
                }
                assert!(!shown.contains(lower), "{lower} stands below {upper}:\n{shown}");
            }
        }
        panic!("{between} never came after {upper}");
    }

    /// Waits until a question can be answered: it is asked, and nothing is typed.
    ///
    /// What was typed before must have been read, or it comes in one piece with the answer.
    #[track_caller]
    pub(crate) fn asked(&self) -> &Self {
        self.asked_with("")
    }

    /// Waits until a question can be answered where nothing else is typed.
    #[track_caller]
    pub(crate) fn asked_alone(&self, number: u64) -> &Self {
        self.until(&format!("the question #{number}, and its keys"), |rows| {
            let stands = rows.iter().any(|row| row.starts_with(&format!("#{number} ")));
            stands && rows.iter().any(|row| row.starts_with("y approve"))
        })
    }

    /// Types something that is no answer, and waits until the question can be answered again.
    #[track_caller]
    pub(crate) fn noise(&self, noise: &str, number: u64) -> &Self {
        let n_read = || self.sent().matches("(read it").count();
        let before = n_read();
        self.type_in(noise).until("it is read", |_| before < n_read()).asked_alone(number)
    }

    /// Waits until a question stands there, with `typed` behind the prompt.
    #[track_caller]
    pub(crate) fn asked_with(&self, typed: &str) -> &Self {
        let wanted = format!("> {typed}");
        self.until(&format!("the question, and `{typed}`"), |rows| {
            let last = rows.last().is_some_and(|row| row == wanted.trim_end());
            last && rows.iter().rev().nth(1).is_some_and(|row| row.starts_with("y approve"))
        })
    }

    /// Waits until the terminal is as a shell wants it.
    #[track_caller]
    pub(crate) fn until_sane(&self) {
        self.until("a terminal for a shell", |_| self.is_sane());
    }

    /// Waits until the program has the terminal again.
    #[track_caller]
    pub(crate) fn until_raw(&self) {
        self.until("a terminal for the program", |_| !self.is_sane());
    }

    /// Waits until the program has ended, or has the terminal again; says whether it goes on.
    pub(crate) fn goes_on(&mut self) -> bool {
        let began = Instant::now();
        loop {
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            if !self.is_sane() {
                return true;
            }
            assert!(began.elapsed() < DEADLINE, "neither:\n{}", self.rows().join("\n"));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn type_in(&self, text: &str) -> &Self {
        (&self.terminal).write_all(text.as_bytes()).unwrap();
        self
    }

    /// Types a message and sends it.
    pub(crate) fn send(&self, message: &str) -> &Self {
        self.type_in(&format!("{message}\r"))
    }

    /// Makes the window larger or smaller.
    pub(crate) fn resize(&self, columns: u16, rows: u16) -> &Self {
        self.emulator.lock().unwrap().screen_mut().set_size(rows, columns);
        tcsetwinsize(&self.terminal, size(columns, rows)).unwrap();
        self
    }

    /// Ends the servers that the program has started, at once.
    pub(crate) fn kill_servers(&self) {
        let mut parents = vec![self.child.id()];
        let mut children = Vec::new();
        while let Some(parent) = parents.pop() {
            let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten();
            for task in tasks.flatten() {
                let of_task = std::fs::read_to_string(task.path().join("children"));
                let of_task = of_task.unwrap_or_default();
                parents.extend(of_task.split_whitespace().filter_map(|it| it.parse::<u32>().ok()));
                children.extend(of_task.split_whitespace().filter_map(|it| it.parse::<i32>().ok()));
            }
        }
        children.retain(|child| {
            let words = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).contains("mcp-server")
        });
        assert!(!children.is_empty(), "no server was started");
        for child in children {
            kill_process(Pid::from_raw(child).unwrap(), Signal::KILL).ok();
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Closes the window, as the end of a connection does.
    pub(crate) fn close(self) {
        self.signal(Signal::HUP);
        drop(self);
    }

    /// Checks that all modes of the terminal, as `stty -a` shows them, are as they were.
    #[track_caller]
    pub(crate) fn check_modes(&self) {
        assert_eq!(format!("{:?}", tcgetattr(&self.slave).unwrap()), self.modes_before);
    }

    /// Returns whether the terminal is as a shell wants it.
    pub(crate) fn is_sane(&self) -> bool {
        let wanted = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        tcgetattr(&self.slave).unwrap().local_modes.contains(wanted)
    }

    /// Waits for the end, and returns how it ended; the terminal has to be sane then.
    #[track_caller]
    pub(crate) fn end(&mut self) -> i32 {
        let began = Instant::now();
        let code = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.code().expect("an exit code");
            }
            assert!(began.elapsed() < DEADLINE, "no end:\n{}", self.rows().join("\n"));
            std::thread::sleep(Duration::from_millis(20));
        };
        assert!(self.is_sane(), "{}", self.rows().join("\n"));
        for (on, off) in
            [("\x1b[?2004h", "\x1b[?2004l"), ("\x1b[?25l", "\x1b[?25h"), ("\x1b[?7l", "\x1b[?7h")]
        {
            // What it sent last may still be on its way to us.
            while self.sent().rfind(off) < self.sent().rfind(on) {
                assert!(began.elapsed() < DEADLINE, "{on:?} stays");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        code
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 }
}
