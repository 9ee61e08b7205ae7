//! `cargo xtask budget`: fails if the build, the program or its start has grown past what docs/benchmarks.md says.
//!
//! Times are compared with something else that was done in the same run, so that a slower machine changes
//! little. How fast calls are is not looked at: that is what `bench` is for.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

/// The heading above the table of what is allowed.
const HEADING: &str = "## What it may take\n";
/// How often each program is started.
const STARTS: usize = 101;

const PACKAGES: &str = "locked packages";
const SIZE: &str = "size of the program, in MB";
const START: &str = "start (`--version`), as a multiple of `/bin/true`";
const BUILD: &str = "build from nothing, as a multiple of `regex`";

/// What to measure.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Use this optimised program instead of building one; how long the build takes is not measured then
    #[arg(long, conflicts_with = "packages_only")]
    binary: Option<PathBuf>,
    /// Build nothing: only count packages
    #[arg(long)]
    packages_only: bool,
}

/// Measures, prints a row for each thing, and fails if one is over its limit.
pub fn run(options: &Options, out: &mut dyn Write) -> anyhow::Result<()> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has a parent")?;
    let limits = limits(&std::fs::read_to_string(top.join("docs/benchmarks.md"))?)?;
    let lock = std::fs::read_to_string(top.join("Cargo.lock"))?;
    let mut measured = vec![(PACKAGES, n_packages(&lock))];
    if !options.packages_only {
        let program = if let Some(binary) = &options.binary {
            binary.canonicalize()?
        } else {
            let (program, ratio) = timed_build(top, &lock)?;
            measured.push((BUILD, ratio));
            program
        };
        measured.push((SIZE, megabytes(&program)?));
        measured.push((START, start(&program)?));
    }
    let (table, over) = compared(&measured, &limits)?;
    write!(out, "{table}")?;
    ensure!(
        over.is_empty(),
        "over budget: {}; make it smaller, or say in docs/benchmarks.md why it may be more",
        over.join(", ")
    );
    Ok(())
}

/// Reads the most of each thing from the table of the document.
fn limits(document: &str) -> anyhow::Result<Vec<(String, f64)>> {
    let (_, below) = document
        .split_once(HEADING)
        .with_context(|| format!("docs/benchmarks.md has no heading `{}`", HEADING.trim_end()))?;
    let rows = below.lines().take_while(|line| !line.starts_with("## "));
    let cells = rows.filter_map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, _, most] = *cells.as_slice() else { return None };
        Some((name.to_owned(), most.parse().ok()?))
    });
    Ok(cells.collect())
}

/// Puts what was measured beside its limit; returns the table, and what is over.
fn compared(
    measured: &[(&str, f64)],
    limits: &[(String, f64)],
) -> anyhow::Result<(String, Vec<String>)> {
    let (mut table, mut over) = ("| what | now | most |\n|---|---:|---:|\n".to_owned(), Vec::new());
    for (name, now) in measured {
        let most = limits.iter().find(|(it, _)| it == name).map(|(_, most)| *most);
        let most = most.with_context(|| format!("docs/benchmarks.md has no limit for {name}"))?;
        writeln!(table, "| {name} | {now:.1} | {most:.1} |")?;
        if most < *now {
            over.push(format!("{name} ({now:.1} instead of {most:.1})"));
        }
    }
    Ok((table, over))
}

#[expect(clippy::cast_precision_loss, reason = "a few hundred packages")]
fn n_packages(lock: &str) -> f64 {
    lock.lines().filter(|line| *line == "[[package]]").count() as f64
}

#[expect(clippy::cast_precision_loss, reason = "a few million bytes")]
fn megabytes(program: &Path) -> anyhow::Result<f64> {
    let size = std::fs::metadata(program).with_context(|| format!("{}", program.display()))?.len();
    Ok(size as f64 / 1e6)
}

/// Compares the program's start with that of the smallest one; they take turns.
fn start(program: &Path) -> anyhow::Result<f64> {
    let (mut ours, mut least) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        ours.push(once(Command::new(program).arg("--version"))?);
        least.push(once(&mut Command::new("/bin/true"))?);
    }
    let median = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times.get(STARTS / 2).copied().unwrap_or_default().as_secs_f64()
    };
    Ok(median(ours) / median(least))
}

/// Builds a small crate and the program, each from nothing; returns the program, and how much longer it took.
fn timed_build(top: &Path, lock: &str) -> anyhow::Result<(PathBuf, f64)> {
    let scratch = tempfile::tempdir()?;
    let reference = scratch.path().join("reference");
    let version = version_of("regex", lock).context("regex is not in Cargo.lock")?;
    std::fs::create_dir_all(reference.join("src"))?;
    let manifest = format!(
        "[package]\nname = \"reference\"\nedition = \"2024\"\n\n[dependencies]\nregex = \"={version}\"\n"
    );
    std::fs::write(reference.join("Cargo.toml"), manifest)?;
    std::fs::write(reference.join("src/lib.rs"), "")?;
    // With the versions that the program is built with, so that both change together.
    std::fs::write(reference.join("Cargo.lock"), lock)?;
    let fetched = once(Command::new("cargo").args(["fetch", "--locked"]).current_dir(top));
    fetched.context("the packages cannot be fetched")?;
    let build = |directory: &Path, words: &[&str], target: &Path| {
        let mut command = Command::new("cargo");
        command.args(["build", "--release", "-q", "--offline"]).args(words);
        command.env("CARGO_INCREMENTAL", "0").env("CARGO_TARGET_DIR", target);
        once(command.current_dir(directory))
    };
    let least = build(&reference, &[], &scratch.path().join("least"))?;
    let target = top.join("target/budget");
    if target.exists() {
        std::fs::remove_dir_all(&target)?;
    }
    let ours = build(top, &["--locked", "-p", "ironcurtain"], &target)?;
    Ok((target.join("release/ironcurtain"), ours.as_secs_f64() / least.as_secs_f64()))
}

/// Runs a command that has to succeed, and returns how long it took.
fn once(command: &mut Command) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let status = command.stdout(Stdio::null()).status()?;
    ensure!(status.success(), "{command:?} did not succeed");
    Ok(begun.elapsed())
}

fn version_of<'a>(package: &str, lock: &'a str) -> Option<&'a str> {
    let (_, entry) = lock.split_once(&format!("name = \"{package}\"\nversion = \""))?;
    entry.split_once('"').map(|(version, _)| version)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "# B\n\n## What it may take\n\nWords.\n\n| what | here | most |\n|---|---:|---:|\n\
        | locked packages | 3 | 4 |\n| size of the program, in MB | 24.1 | 25 |\n\n## Else\n\n| start | 1 | 2 |\n";

    #[test]
    fn limits_are_those_of_the_one_table() {
        let limits = limits(DOCUMENT).unwrap();
        assert_eq!(limits, [(PACKAGES.to_owned(), 4.0), (SIZE.to_owned(), 25.0)]);
        assert!(super::limits("# B\n").is_err());
    }

    #[test]
    fn what_is_over_its_limit_is_named_and_what_has_none_is_an_error() {
        let limits = limits(DOCUMENT).unwrap();
        let (table, over) = compared(&[(PACKAGES, 4.0), (SIZE, 25.1)], &limits).unwrap();
        assert!(table.ends_with("| size of the program, in MB | 25.1 | 25.0 |\n"), "{table}");
        assert_eq!(over, ["size of the program, in MB (25.1 instead of 25.0)"]);
        assert!(compared(&[(START, 1.0)], &limits).is_err());
    }

    /// The real document has a limit for everything that is measured.
    #[test]
    fn the_document_limits_everything() {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let document = std::fs::read_to_string(top.join("docs/benchmarks.md")).unwrap();
        let limits = limits(&document).unwrap();
        let names: Vec<&str> = limits.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, [PACKAGES, SIZE, START, BUILD]);
    }

    #[test]
    fn packages_and_versions_are_read_from_the_lock_file() {
        let lock = "[[package]]\nname = \"regex\"\nversion = \"1.2.3\"\n\n[[package]]\nname = \"x\"\nversion = \"1\"\n";
        assert_eq!((n_packages(lock), version_of("regex", lock)), (2.0, Some("1.2.3")));
        assert_eq!(version_of("rege", lock), None);
    }
}
