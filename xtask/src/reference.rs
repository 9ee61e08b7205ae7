//! `cargo xtask reference`: the pages of docs/reference that are written by the program itself.
//!
//! Commands come from `--help` of the real binary, configuration keys from `config schema`, environment
//! variables and structural rules from the tables in the code that the program itself uses. The pages
//! beside them (files, exit codes) are written by hand.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use ic_home::environment::VARIABLES;
use ic_policy::Structural;
use serde_json::Value;

use crate::bench::build_debug_binary;

/// Where the pages are kept, from the top of the repository.
const DIRECTORY: &str = "docs/reference";
/// What every generated page says of itself.
const NOTE: &str = "<!-- Written by `cargo xtask reference`; do not edit. -->\n\n";

/// How to write the pages.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Write nothing; fail if a page in the repository is not what the program says today
    #[arg(long)]
    check: bool,
    /// Use this program instead of building one
    #[arg(long)]
    binary: Option<PathBuf>,
}

/// Writes every page, or checks that those in the repository are current.
pub fn run(options: &Options, out: &mut dyn Write) -> anyhow::Result<()> {
    let binary = match &options.binary {
        Some(binary) => binary.canonicalize()?,
        None => build_debug_binary()?,
    };
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("xtask lies in the repository")?
        .join(DIRECTORY);
    let pages = [
        ("commands.md", commands(&binary)?),
        ("configuration.md", configuration(&binary)?),
        ("environment.md", environment()),
        ("structural-rules.md", structural_rules()),
    ];
    let mut outdated = Vec::new();
    for (name, page) in pages {
        let path = directory.join(name);
        if options.check {
            if std::fs::read_to_string(&path).ok().as_deref() != Some(page.as_str()) {
                outdated.push(name);
            }
        } else {
            std::fs::create_dir_all(&directory)?;
            std::fs::write(&path, page)?;
            writeln!(out, "wrote {}", path.display())?;
        }
    }
    ensure!(
        outdated.is_empty(),
        "these pages are not current: {}; run `cargo xtask reference` and commit them",
        outdated.join(", ")
    );
    Ok(())
}

/// Every command with its help, in the order in which `--help` lists them.
fn commands(binary: &Path) -> anyhow::Result<String> {
    let mut page = format!("{NOTE}# Commands\n\nWhat `--help` prints, for every command.\n");
    let mut waiting = vec![Vec::<String>::new()];
    while let Some(words) = waiting.pop() {
        let help = output(binary, &words, &["--help"])?;
        let name = ["ironcurtain".to_owned()].into_iter().chain(words.clone()).collect::<Vec<_>>();
        let _ = write!(page, "\n## {}\n\n```text\n{}\n```\n", name.join(" "), help.trim_end());
        let deeper = subcommands(&help).into_iter().map(|it| {
            let mut deeper = words.clone();
            deeper.push(it);
            deeper
        });
        let mut deeper: Vec<_> = deeper.collect();
        deeper.reverse();
        waiting.extend(deeper);
    }
    Ok(page)
}

/// The names that a help text lists below `Commands:`.
fn subcommands(help: &str) -> Vec<String> {
    help.lines()
        .skip_while(|line| line.trim_end() != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty() || line.starts_with(' '))
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// Every key of `config.json`, from the schema that the program prints.
fn configuration(binary: &Path) -> anyhow::Result<String> {
    let schema = output(binary, &[], &["config", "schema"])?;
    let schema: Value = serde_json::from_str(&schema).context("the schema of config.json")?;
    let mut page = format!(
        "{NOTE}# Configuration\n\nThe keys of `config.json` in the IronCurtain home. Set them with \
         `ironcurtain config set KEY VALUE`; `ironcurtain config explain KEY` says which value is in force \
         and where it came from. A flag comes before the environment, the environment before the file.\n\n\
         | key | values | default | meaning |\n|---|---|---|---|\n"
    );
    keys(&schema, "", &mut page);
    Ok(page)
}

fn keys(schema: &Value, prefix: &str, page: &mut String) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, of) in properties {
        let name = format!("{prefix}{name}");
        if of.get("properties").is_some() {
            keys(of, &format!("{name}."), page);
            continue;
        }
        let text = |key| of.get(key).and_then(Value::as_str).unwrap_or_default();
        let default = of.get("default").map(|it| format!("`{it}`")).unwrap_or_default();
        let about = text("description").replace('|', "\\|");
        let _ = writeln!(page, "| `{name}` | {} | {default} | {about} |", values(of));
    }
}

/// Says which values a key takes.
fn values(of: &Value) -> String {
    let list = |key: &str| {
        let values = of.get(key)?.as_array()?;
        Some(values.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", "))
    };
    if let Some(values) = list("enum") {
        return values;
    }
    if let Some(value) = of.get("const") {
        return format!("`{value}`");
    }
    let kind = match of.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
        }
        _ => String::new(),
    };
    match (of.get("minimum"), of.get("maximum")) {
        (Some(least), Some(most)) => format!("{kind}, {least} to {most}"),
        (Some(least), None) => format!("{kind}, at least {least}"),
        _ => kind,
    }
}

/// Every variable that the program reads.
fn environment() -> String {
    let mut page = format!(
        "{NOTE}# Environment\n\nNo other variable is read, and no `.env` file. Keys are read once and then \
         removed from the program's own environment.\n\n| variable | meaning |\n|---|---|\n"
    );
    for variable in &VARIABLES {
        let _ = writeln!(page, "| `{}` | {} |", variable.name, variable.about);
    }
    page
}

/// Every decision that no rule can override.
fn structural_rules() -> String {
    let mut page = format!(
        "{NOTE}# Structural rules\n\nThese hold under every policy; no rule overrides them. Their names \
         appear as `rule` in decisions, questions and the log.\n\n| rule | decision | when |\n|---|---|---|\n"
    );
    for structural in Structural::ALL {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} |",
            structural.as_str(),
            structural.effect(),
            structural.about()
        );
    }
    page
}

fn output(binary: &Path, words: &[String], more: &[&str]) -> anyhow::Result<String> {
    let home = tempfile::tempdir()?;
    let output = Command::new(binary)
        .args(words)
        .args(more)
        .env_clear()
        .env("HOME", home.path())
        .env("NO_COLOR", "1")
        .output()?;
    let words = words.join(" ");
    ensure!(output.status.success(), "`{words} {}` ended with {}", more.join(" "), output.status);
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subcommands_are_read_from_a_help_text() {
        let help = "About\n\nUsage: x <COMMAND>\n\nCommands:\n  list   List them\n         and more\n  help   Print help\n\nOptions:\n  -h\n";
        assert_eq!(subcommands(help), ["list"]);
        assert!(subcommands("Usage: x\n\nOptions:\n  -h\n").is_empty());
    }

    #[test]
    fn nested_keys_get_their_whole_name() {
        let schema = serde_json::json!({"properties": {
            "a": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3, "description": "one"},
            "b": {"properties": {"c": {"enum": ["x", "y"], "description": "two"}}},
        }});
        let mut page = String::new();
        keys(&schema, "", &mut page);
        assert_eq!(
            page,
            "| `a` | integer, 1 to 9 | `3` | one |\n| `b.c` | `\"x\"`, `\"y\"` |  | two |\n"
        );
    }
}
