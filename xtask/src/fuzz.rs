//! `cargo xtask fuzz`: one target of the test suite, for minutes instead of seconds.
//!
//! A target is a test in the crate of its parser that calls `ic_fuzz::Target::new`; it is found by that
//! call, so there is no list to keep. What inputs are and what counts as a finding, `ic_fuzz` knows.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

/// What to try, and for how long.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// The target; see `--list`
    #[arg(required_unless_present_any = ["list", "all"])]
    target: Option<String>,
    /// Print the targets, each with its crate
    #[arg(long)]
    list: bool,
    /// Try every target, one after the other
    #[arg(long, conflicts_with_all = ["target", "input"])]
    all: bool,
    /// For how many minutes
    #[arg(long, default_value_t = 3)]
    minutes: u64,
    /// What the inputs follow from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Check this one input instead
    #[arg(long)]
    input: Option<PathBuf>,
    /// Save each input before it is checked, to find one that ends the whole process
    #[arg(long)]
    trace: bool,
}

/// Where a target is.
#[derive(Clone, Debug)]
struct Place {
    package: String,
    /// Which of the package's test programs it is in, as cargo wants to be told.
    program: &'static [&'static str],
}

/// Runs a target, and fails if it finds something.
pub fn run(options: &Options, out: &mut dyn Write) -> anyhow::Result<()> {
    let targets = targets(&root()?)?;
    if options.list {
        for (name, Place { package, .. }) in &targets {
            writeln!(out, "{name:<16} {package}")?;
        }
        return Ok(());
    }
    if options.all {
        return targets.iter().try_for_each(|(name, place)| run_one(options, name, place));
    }
    let name = options.target.as_deref().unwrap_or_default();
    let Some(place) = targets.get(name) else {
        bail!("there is no target `{name}`; `cargo xtask fuzz --list` prints them");
    };
    run_one(options, name, place)
}

fn run_one(options: &Options, name: &str, place: &Place) -> anyhow::Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.args(["test", "--quiet", "--locked", "--profile", "fuzz", "--package", &place.package]);
    cargo.args(place.program).args(["fuzz_", "--", "--nocapture"]);
    cargo.env("FUZZ_TARGET", name).env("FUZZ_SEED", options.seed.to_string());
    match &options.input {
        // The test runs in the directory of its crate.
        Some(input) => cargo.env("FUZZ_INPUT", input.canonicalize()?),
        None => cargo.env("FUZZ_SECONDS", (options.minutes * 60).to_string()),
    };
    if options.trace {
        cargo.env("FUZZ_TRACE", "1");
    }
    let status = cargo.status().context("starting cargo")?;
    ensure!(
        status.success(),
        "the target `{name}` found something, see above; if the process itself ended, run it again with \
         `--seed {} --trace` and look at target/fuzz-inputs/{name}.last",
        options.seed
    );
    Ok(())
}

/// The project, seen from this crate.
fn root() -> anyhow::Result<PathBuf> {
    let parent = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    parent.map(Path::to_owned).context("xtask lies in the project")
}

/// Finds the targets: their names, and the crates that they are in.
fn targets(root: &Path) -> anyhow::Result<BTreeMap<String, Place>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(root.join("crates"))? {
        let package = entry?.file_name().to_string_lossy().into_owned();
        if package == "ic-fuzz" {
            continue;
        }
        let directory = root.join("crates").join(&package);
        let is_library = directory.join("src/lib.rs").is_file();
        let unit: &[&str] = if is_library { &["--lib"] } else { &["--bins"] };
        for (name, program) in [("src", unit), ("tests", &["--test", "it"])] {
            for target in targets_beneath(&directory.join(name))? {
                let place = Place { package: package.clone(), program };
                let other = found.insert(target.clone(), place);
                ensure!(other.is_none(), "two targets are called `{target}`");
            }
        }
    }
    Ok(found)
}

fn targets_beneath(directory: &Path) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    if !directory.is_dir() {
        return Ok(found);
    }
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(targets_beneath(&path)?);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.extend(targets_in(&std::fs::read_to_string(&path)?));
        }
    }
    Ok(found)
}

/// Finds the targets that a source makes in functions called `fuzz_…`.
fn targets_in(source: &str) -> Vec<String> {
    let mut rest = source;
    let mut found = Vec::new();
    while let Some((_, after)) = rest.split_once("fn fuzz_") {
        let body = after.split_once("\n}").map_or(after, |(body, _)| body);
        let name = body.split_once("Target::new(\"").and_then(|(_, it)| it.split_once('"'));
        found.extend(name.map(|(name, _)| name.to_owned()));
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_found_by_what_they_call() {
        let source = "#[test]\nfn fuzz_a_b() {\n    Target::new(\"a-b\").run(check);\n}\n\
            fn other() {\n    crate::Target::new(\"x\");\n}\n\
            mod tests {\n    fn fuzz_c() {\n        ic_fuzz::Target::new(\"c\");\n    }\n}\n";
        assert_eq!(targets_in(source), ["a-b", "c"]);
    }

    /// Every parser of hostile bytes has a target; one that is renamed or lost is noticed here.
    #[test]
    fn every_parser_of_hostile_bytes_has_a_target() {
        let found = targets(&root().unwrap()).unwrap();
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "answered-id",
                "chunked",
                "connect-head",
                "constitution",
                "dns",
                "gate-body",
                "gate-connect",
                "gate-frames",
                "gate-head",
                "gate-path",
                "gate-stream",
                "git-config",
                "html",
                "http-head",
                "json",
                "keyboard",
                "mcp-line",
                "npm-lock",
                "policy-files",
                "pypi-report",
                "schema",
                "screen",
                "sse",
                "ssh-agent",
                "terminal",
                "tls-hello",
            ]
        );
    }
}
