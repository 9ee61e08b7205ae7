//! A shell at a terminal, in a place like that of a new user, and somebody there who says yes.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::approvals::world::{BINARY, Rig};
use crate::repl::world::Stage;

/// A command that takes longer than this does not end any more.
const DEADLINE: Duration = Duration::from_secs(150);
/// How long an answer may take to be read before it is given again.
const AGAIN: Duration = Duration::from_millis(1500);
/// Commands that end when they are told to, and by which key.
const ENDLESS: [(&str, &str); 4] = [
    ("ironcurtain approvals watch", "q"),
    ("ironcurtain audit tail --follow", "\x03"),
    ("ironcurtain proxy", "\x04"),
    ("ironcurtain mitm --provider anthropic --listen", "\x03"),
];
/// What the screen shows at its end when something is asked, and what is answered.
const ANSWERS: [(&str, &str); 5] = [
    ("[y/N]", "y\r"),
    ("y approve · n deny", "y"),
    ("c continue · Ctrl-C cancel", "c"),
    ("h here · s sandbox", "s"),
    ("[a] confirm all", "a\r"),
];

/// What stands for building and installing the program, which is there already.
const CARGO: &str = r#"#!/bin/sh
case "$*" in
  "run --release -q -p ironcurtain -- "*) shift 6; exec ironcurtain "$@" ;;
  "install --locked --path crates/ironcurtain") exit 0 ;;
  *) echo "cargo $*: not known to the tests of the documents" >&2; exit 99 ;;
esac
"#;

pub(super) struct Shell {
    rig: Rig,
    stage: Stage,
    n_done: usize,
}

impl Shell {
    /// Makes the place, and opens the shell in its directory `project`.
    pub(super) fn open(repository: &Path) -> Self {
        let rig = Rig::new();
        let place = &rig.place;
        std::fs::remove_dir_all(place.path("home/.ironcurtain")).unwrap();
        for (path, text) in [
            ("home/src/site/src/app.js", "// TODO: greet\n"),
            ("home/Documents/plan.md", "# Plan\n"),
            ("home/Downloads/b.txt", "b\n"),
            ("home/.ssh/id_ed25519", "not a key\n"),
        ] {
            place.write(path, text);
        }
        let mut git = Command::new("git");
        git.args(["init", "-q"]).current_dir(place.path("home/src/site"));
        assert!(git.env_clear().env("PATH", "/usr/bin:/bin").status().unwrap().success());
        let server = "docs/guide/examples/clock/clock_server.py";
        let text = std::fs::read_to_string(repository.join(server)).unwrap();
        place.write(Path::new("project").join(server), text);
        let cargo = place.write("bin/cargo", CARGO);
        std::fs::set_permissions(cargo, std::fs::Permissions::from_mode(0o755)).unwrap();
        let beside = Path::new(BINARY).parent().unwrap().display().to_string();
        let path =
            format!("PATH={}:{beside}:/usr/local/bin:/usr/bin:/bin", place.path("bin").display());
        let variables =
            [path.as_str(), "NO_COLOR=1", "TERM=xterm", "PS1=[exit $?, \\#]", "PS2=more "];
        let words = ["bash", "--norc", "--noprofile", "--noediting", "-i"];
        let stage = Stage::run(&rig, (160, 60), &place.path("project"), &variables, &words);
        let mut shell = Self { rig, stage, n_done: 0 };
        shell.prompted("the shell");
        shell
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        self.rig.place.write(Path::new("project").join(name), text);
    }

    /// Types a command, answers what it asks, and waits for its end.
    #[track_caller]
    pub(super) fn run(&mut self, command: &str) {
        self.stage.type_in(&format!("{command}\n"));
        let code = self.prompted(command);
        let is_fine = match code {
            0 => true,
            3 | 4 => command.contains("policy check") || command.contains("policy explain"),
            130 => ENDLESS.iter().any(|(begin, _)| command.starts_with(begin)),
            _ => false,
        };
        assert!(is_fine, "`{command}` ended with {code}:\n{}", self.stage.rows().join("\n"));
    }

    /// Waits for the next prompt, and returns the exit code that it shows.
    #[track_caller]
    fn prompted(&mut self, command: &str) -> u32 {
        let endless = ENDLESS.iter().find(|(begin, _)| command.starts_with(begin));
        let (began, mut answered) = (Instant::now(), Instant::now());
        loop {
            let sent = self.stage.sent();
            let prompts: Vec<&str> = sent.split("[exit ").skip(1).collect();
            if self.n_done < prompts.len() {
                self.n_done = prompts.len();
                let code = prompts.last().and_then(|it| it.split(',').next());
                return code.and_then(|it| it.parse().ok()).expect("an exit code");
            }
            let rows = self.stage.rows();
            assert!(began.elapsed() < DEADLINE, "`{command}` does not end:\n{}", rows.join("\n"));
            std::thread::sleep(Duration::from_millis(20));
            if answered.elapsed() < AGAIN {
                continue;
            }
            let last = rows.last().map_or("", String::as_str);
            let above = rows.iter().rev().nth(1).map_or("", String::as_str);
            let asks = |text: &str| last.contains(text) || (last == ">" && above.contains(text));
            let answer = match ANSWERS.iter().find(|(asked, _)| asks(asked)) {
                Some((_, answer)) => Some(*answer),
                // A conversation that waits for a message.
                None if last == ">" => Some("\x04"),
                None => endless.map(|(_, key)| *key),
            };
            if let Some(answer) = answer {
                self.stage.type_in(answer);
                answered = Instant::now();
            }
        }
    }
}
