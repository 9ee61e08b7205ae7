//! `cargo xtask policies`: the built-in policies, compiled from their constitutions.
//!
//! The constitutions are in examples/. Nobody edits what is written here.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, ensure};
use ic_constitution::artifact::{Origin, compiled_policy};
use ic_constitution::{Tool, compile, parse};
use ic_policy::{ArgumentAnnotation, Builtin, Policy};
use ic_types::CanonicalPath;

/// How to write the policies.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Write nothing; fail if a policy in the repository is not what its constitution says
    #[arg(long)]
    check: bool,
}

/// When the policies were first written; a date of today would change their hashes every day.
const GENERATED_AT: &str = "2026-11-15T00:00:00.000Z";

/// Writes every policy, or checks that those in the repository are current.
pub fn run(options: &Options, out: &mut dyn Write) -> anyhow::Result<()> {
    let outdated = files()?.into_iter().filter(|(path, text)| !is_current(path, text));
    let outdated: Vec<(PathBuf, String)> = outdated.collect();
    if options.check {
        let names: Vec<String> = outdated.iter().map(|(it, _)| it.display().to_string()).collect();
        ensure!(names.is_empty(), "not current: {}; run `cargo xtask policies`", names.join(", "));
        return Ok(());
    }
    for (path, text) in outdated {
        std::fs::write(&path, text)?;
        writeln!(out, "wrote {}", path.display())?;
    }
    Ok(())
}

/// Returns the files that are not what the constitutions say.
pub fn outdated() -> anyhow::Result<Vec<PathBuf>> {
    let outdated = files()?.into_iter().filter(|(path, text)| !is_current(path, text));
    Ok(outdated.map(|(path, _)| path).collect())
}

fn is_current(path: &Path, text: &str) -> bool {
    std::fs::read_to_string(path).is_ok_and(|known| known == text)
}

/// Returns every file with what it has to hold.
fn files() -> anyhow::Result<Vec<(PathBuf, String)>> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has a parent")?;
    let tools = tools()?;
    let mut files = Vec::new();
    for builtin in Builtin::ALL {
        let source = top.join("examples").join(format!("{}.md", builtin.name()));
        let text = std::fs::read_to_string(&source)
            .with_context(|| format!("cannot read {}", source.display()))?;
        let of = |faults: ic_constitution::Faults| anyhow!("{}:\n{faults}", source.display());
        let compiled = compile(&parse(&text).map_err(of)?, &tools).map_err(of)?;
        ensure!(compiled.notes.is_empty(), "{}: {:?}", source.display(), compiled.notes);
        let origin = Origin { constitution: &text, generated_at: GENERATED_AT, tools: &tools };
        let rules = compiled_policy(&compiled, origin);
        let directory = top.join("crates/ic-policy/policies").join(builtin.name());
        files.push((directory.join("compiled-policy.json"), rules));
        files.push((directory.join("constitution.md"), text));
    }
    Ok(files)
}

/// Returns the tools of the built-in servers.
fn tools() -> anyhow::Result<Vec<Tool>> {
    let locate = |text: &str| {
        let text = text.replacen('~', "/home", 1).replacen("${SANDBOX}", "/sandbox", 1);
        CanonicalPath::new(text).map_err(|error| error.to_string())
    };
    let policy = Policy::load(&Builtin::Default.sources(), &locate)?;
    let tools = policy.annotations().map(|(server, tool, annotation)| {
        let arguments = annotation.arguments().iter();
        let roles = arguments.flat_map(ArgumentAnnotation::possible_roles).collect();
        Tool { server: server.clone(), tool: tool.clone(), roles }
    });
    Ok(tools.collect())
}
