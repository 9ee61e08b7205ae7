//! A hermetic place: a temporary directory with a home in it, and the real binary run there.
//!
//! The environment is written out, so nothing of the developer's machine leaks into a test.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "test support: it makes files, runs the binary, and a failure is a failed test"
)]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A temporary directory with `home/` in it.
#[derive(Debug)]
pub struct Place {
    directory: tempfile::TempDir,
    binary: PathBuf,
    variables: Vec<(String, OsString)>,
}

/// What the binary printed, and how it ended.
#[derive(Clone, Debug)]
#[must_use = "look at the output or at the exit code"]
pub struct Output {
    /// The exit code.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Place {
    /// Makes a place for `binary`, usually `env!("CARGO_BIN_EXE_ironcurtain")`.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(directory.path().join("home")).expect("a home");
        Self { directory, binary: binary.into(), variables: Vec::new() }
    }

    /// Returns the root of the place, free of links.
    pub fn root(&self) -> PathBuf {
        self.directory.path().canonicalize().expect("the place exists")
    }

    /// Returns a path in the place.
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root().join(relative)
    }

    /// Returns the directories of all sessions, oldest first.
    pub fn sessions(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.path("home/.ironcurtain/sessions")) else {
            return Vec::new();
        };
        let paths = entries.map(|it| it.expect("an entry").path());
        let mut sessions: Vec<PathBuf> = paths.filter(|it| it.is_dir()).collect();
        // An id begins with the time.
        sessions.sort();
        sessions
    }

    /// Returns every file beneath `relative` and what is in it, as far as that is text.
    #[track_caller]
    pub fn files(&self, relative: impl AsRef<Path>) -> Vec<(PathBuf, String)> {
        let (mut directories, mut files) = (vec![self.path(relative)], Vec::new());
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).expect("a directory") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    directories.push(path);
                } else if path.is_file() {
                    let bytes = fs::read(&path).expect("a file");
                    files.push((path, String::from_utf8_lossy(&bytes).into_owned()));
                }
            }
        }
        files
    }

    /// Sets an environment variable for the binary.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// Sets an environment variable for the binary that is started next.
    pub fn set_variable(&mut self, name: &str, value: impl AsRef<OsStr>) {
        self.variables.push((name.to_owned(), value.as_ref().to_owned()));
    }

    /// Writes a file and the directories above it.
    pub fn write(&self, relative: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(&path, bytes).expect("a written file");
        path
    }

    /// Sets a key in the configuration file, as a person does with an editor: nobody is asked.
    pub fn configure(&self, key: &str, value: impl Into<serde_json::Value>) {
        use std::os::unix::fs::PermissionsExt as _;
        let file = self.path("home/.ironcurtain/config.json");
        let mut config: serde_json::Value = match fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes).expect("a configuration"),
            Err(_) => serde_json::json!({"version": 1}),
        };
        let mut at = &mut config;
        for part in key.split('.') {
            let object = at.as_object_mut().expect("an object");
            at = object.entry(part).or_insert_with(|| serde_json::json!({}));
        }
        *at = value.into();
        self.write("home/.ironcurtain/config.json", config.to_string());
        for (path, mode) in [(file.parent().expect("a home"), 0o700), (file.as_path(), 0o600)] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
        }
    }

    /// Lets scripts answer in place of a person.
    pub fn let_scripts_answer(&self) {
        self.configure("approvals.scripted", true);
    }

    /// Makes a directory and those above it.
    pub fn dir(&self, relative: impl AsRef<Path>) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(&path).expect("directories");
        path
    }

    /// Makes a link.
    pub fn link(&self, relative: impl AsRef<Path>, target: impl AsRef<Path>) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        std::os::unix::fs::symlink(target, path).expect("a link");
    }

    /// Returns the binary in the place, ready to be started with its streams piped.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the binary in the place.
    pub fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Output {
        self.run_with_input(arguments, b"")
    }

    /// Runs the binary in a directory of the place.
    pub fn run_in<S: AsRef<OsStr>>(
        &self,
        directory: impl AsRef<Path>,
        arguments: impl IntoIterator<Item = S>,
    ) -> Output {
        self.run_at(&self.path(directory), arguments, b"")
    }

    /// Runs the binary in the place, with `input` on its standard input.
    pub fn run_with_input<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Output {
        self.run_at(&self.root(), arguments, input)
    }

    fn run_at<S: AsRef<OsStr>>(
        &self,
        directory: &Path,
        arguments: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Output {
        let mut child =
            self.command(arguments).current_dir(directory).spawn().expect("the binary starts");
        let mut stdin = child.stdin.take().expect("piped");
        let input = input.to_vec();
        // A thread, so that a child that prints before it has read all does not wait for us.
        let writer = std::thread::spawn(move || {
            // A child that ends early closes its end; that is its business.
            stdin.write_all(&input).ok();
        });
        let output = child.wait_with_output().expect("the binary ends");
        writer.join().expect("the writer ends");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
        Output {
            code: output.status.code().unwrap_or_else(|| panic!("killed: {}", output.status)),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}
