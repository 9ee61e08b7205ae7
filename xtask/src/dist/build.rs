//! The program of a release: linked with everything it needs, and without a trace of where it was built.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

/// The one platform that is claimed.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// How the program is to be built.
#[derive(Debug)]
pub(crate) struct Plan {
    top: PathBuf,
    profile: String,
    cargo_home: PathBuf,
    /// When the last commit was made: the time of every file of the release.
    time: u64,
}

/// A program that was built.
#[derive(Debug)]
pub(crate) struct Build {
    /// The top of the repository.
    pub(crate) top: PathBuf,
    /// The program.
    pub(crate) program: PathBuf,
    /// What it was built of, besides our own crates.
    pub(crate) version: String,
    /// The time of every file, in seconds since the epoch.
    pub(crate) time: u64,
}

impl Plan {
    /// Looks at the repository, whose last commit is what is released.
    pub(crate) fn new(top: &Path, profile: &str) -> anyhow::Result<Self> {
        let time = said(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(top))?;
        let cargo_home = std::env::home_dir().map(|it| it.join(".cargo"));
        let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from).or(cargo_home);
        Ok(Self {
            top: top.to_owned(),
            profile: profile.to_owned(),
            cargo_home: cargo_home.context("there is no home directory")?,
            time: time.trim().parse().context("git names no time of the last commit")?,
        })
    }

    /// Builds the program with everything that it needs in it.
    pub(crate) fn build(&self, target: &Path) -> anyhow::Result<Build> {
        let version = version(&self.top)?;
        // What a path would tell is where it was built, so all of them begin the same.
        let maps = [
            (&self.top, "/ironcurtain"),
            (&self.cargo_home, "/cargo"),
            (&target.to_owned(), "/target"),
        ];
        let rust = maps.map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
        let c = maps.map(|(from, to)| format!("-ffile-prefix-map={}={to}", from.display()));
        let flags =
            [&["-C".to_owned(), "target-feature=+crt-static".to_owned()][..], &rust].concat();
        let status = Command::new("cargo")
            .args(["build", "--locked", "-p", "ironcurtain", "--target", TARGET])
            .args(["--profile", &self.profile, "--target-dir"])
            .arg(target)
            .current_dir(&self.top)
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
            .env("CFLAGS", c.join(" "))
            .env("SOURCE_DATE_EPOCH", self.time.to_string())
            .env("CARGO_INCREMENTAL", "0")
            .env_remove("RUSTFLAGS")
            .status()?;
        ensure!(status.success(), "the program cannot be built");
        let profile = if self.profile == "dev" { "debug" } else { &self.profile };
        let program = target.join(TARGET).join(profile).join("ironcurtain");
        ensure_static(&program)?;
        Ok(Build { top: self.top.clone(), program, version, time: self.time })
    }
}

impl Build {
    /// Returns what the release is called.
    pub(crate) fn name(&self) -> String {
        format!("ironcurtain-{}-x86_64-linux", self.version)
    }

    /// Runs the program, which has to succeed, and returns what it printed.
    pub(crate) fn ask(&self, words: &[&str]) -> anyhow::Result<String> {
        said(Command::new(&self.program).args(words))
    }
}

/// Runs a command that has to succeed, and returns what it printed.
pub(super) fn said(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed: {}", complaint.trim());
    String::from_utf8(output.stdout).context("what a command printed is not text")
}

/// The version is that of the workspace.
fn version(top: &Path) -> anyhow::Result<String> {
    let manifest = std::fs::read_to_string(top.join("Cargo.toml"))?;
    let line = manifest.lines().find_map(|it| it.strip_prefix("version = \""));
    Ok(line.and_then(|it| it.strip_suffix('"')).context("no version in Cargo.toml")?.to_owned())
}

/// A program that asks for another one to load it does not run in an empty root.
fn ensure_static(program: &Path) -> anyhow::Result<()> {
    let headers = said(Command::new("readelf").arg("-lW").arg(program))?;
    let wants_loader = headers.contains("INTERP");
    ensure!(!wants_loader, "{} is not static: it names a loader", program.display());
    let dynamic = said(Command::new("readelf").arg("-dW").arg(program))?;
    ensure!(
        !dynamic.contains("(NEEDED)"),
        "{} is not static: it needs libraries",
        program.display()
    );
    Ok(())
}
