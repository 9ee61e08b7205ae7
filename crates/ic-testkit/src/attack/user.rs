//! The user, whose own git obeys what it finds: ordinary commands, uncaged, with the user's home.
//!
//! Nothing of `IronCurtain` is involved here; what happens is what happens to people.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "test support: it runs git, and a failure is a failed test"
)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What an ordinary user of git types in the top directory of a project.
pub const ORDINARY: [&[&str]; 12] = [
    &["status", "--short"],
    &["x"],
    &["diff"],
    &["log", "-p", "-2"],
    // What is staged is committed, and only then is the tree restored from it.
    &["commit", "--allow-empty", "-m", "mine"],
    &["restore", "."],
    &["status"],
    &["add", "-A"],
    &["rebase", "--continue"],
    &["commit", "-m", "the rest"],
    &["checkout", "-b", "mine"],
    &["gc", "--auto", "--quiet"],
];

/// What the same user types in a directory below.
pub const BELOW: [&[&str]; 3] = [&["status"], &["diff"], &["restore", "."]];

/// A user with a home, who runs git.
#[derive(Clone, Debug)]
pub struct User {
    home: PathBuf,
    options: &'static [&'static str],
}

/// What git said to the user.
#[derive(Clone, Debug)]
pub struct Said {
    /// Whether it ended with 0.
    pub is_good: bool,
    /// Standard output and standard error.
    pub text: String,
}

impl User {
    /// The user whose home is at `home`.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        Self { home: home.into(), options: &[] }
    }

    /// The same user, who begins every command with these options.
    #[must_use]
    pub fn with_options(&self, options: &'static [&'static str]) -> Self {
        Self { home: self.home.clone(), options }
    }

    /// Runs git in `directory`.
    pub fn git(&self, directory: &Path, words: &[&str]) -> Said {
        self.git_with_input(directory, words, b"")
    }

    /// Runs git in `directory`, and fails the test if git fails.
    #[track_caller]
    pub fn git_well(&self, directory: &Path, words: &[&str]) -> String {
        let said = self.git(directory, words);
        assert!(said.is_good, "git {words:?} in {}: {}", directory.display(), said.text);
        said.text
    }

    /// Runs git in `directory` with `input` on its standard input.
    pub fn git_with_input(&self, directory: &Path, words: &[&str], input: &[u8]) -> Said {
        let mut child = Command::new("git")
            .args(self.options)
            .args(words)
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C.UTF-8")
            // An editor of the configuration goes before this one.
            .env("EDITOR", "true")
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("git starts");
        let mut stdin = child.stdin.take().expect("piped");
        let input = input.to_vec();
        // A thread, so that git can speak before it has read everything; it may also end early.
        let writer = std::thread::spawn(move || stdin.write_all(&input).ok());
        let output = child.wait_with_output().expect("git ends");
        writer.join().expect("the writer ends");
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        Said { is_good: output.status.success(), text }
    }

    /// Runs a program of the home, as a shell would.
    pub fn run(&self, directory: &Path, program: &Path) {
        let mut command = Command::new("/bin/sh");
        command.arg(program).env_clear().env("HOME", &self.home).env("PATH", "/usr/bin:/bin");
        let streams = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        streams.current_dir(directory).status().expect("a shell starts");
    }

    /// Does an ordinary day's work in `top`.
    pub fn work_in(&self, top: &Path) {
        for words in ORDINARY {
            self.git(top, words);
        }
    }

    /// Looks around in a directory below the top.
    pub fn look_in(&self, directory: &Path) {
        for words in BELOW {
            self.git(directory, words);
        }
    }
}
