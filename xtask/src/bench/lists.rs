//! Times a proxy from its start to its list of tools: with the servers that a home has, and without.
//!
//! The servers are those that `ironcurtain servers add` put there; installing them is not done here.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::{Samples, build_binary, shown};
use crate::peer::Peer;

const ROUNDS: usize = 60;

/// One of the two variants.
#[derive(Default)]
struct Variant {
    name: &'static str,
    flags: Vec<String>,
    n_tools: usize,
    ready: Samples,
    first: Samples,
    second: Samples,
    whole: Samples,
}

/// Runs the benchmark with the servers of `home`.
pub(super) fn run(
    out: &mut dyn Write,
    given: Option<&Path>,
    home: Option<&Path>,
) -> anyhow::Result<()> {
    let home = home.context("`--home DIR` names a home with servers")?.canonicalize()?;
    let binary = build_binary(given)?;
    let place = tempfile::tempdir()?;
    let none = place.path().join("none.json");
    std::fs::write(&none, "{}")?;
    let workspace = place.path().join("workspace");
    std::fs::create_dir(&workspace)?;
    let start = |flags: &[String]| {
        let mut command = Command::new(&binary);
        command.env_clear().env("HOME", &home).env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.args(["proxy", "--policy", "coding", "--workspace"]).arg(&workspace).args(flags);
        Peer::start(&mut command)
    };
    let without = vec!["--servers".to_owned(), none.display().to_string()];
    let mut variants = [
        Variant { name: "with them", ..Variant::default() },
        Variant { name: "without them", flags: without, ..Variant::default() },
    ];
    for round in 0..=ROUNDS {
        for variant in &mut variants {
            let began = Instant::now();
            let mut peer = start(&variant.flags)?;
            let ready = peer.ready_after;
            let before = began.elapsed();
            let (first, listed) = peer.ask_timed("tools/list", &json!({}))?;
            let whole = before + first;
            let (second, _) = peer.ask_timed("tools/list", &json!({}))?;
            peer.close()?;
            let tools = listed.get("tools").and_then(Value::as_array).context("a list of tools")?;
            variant.n_tools = tools.len();
            // What is read for the first time is not measured.
            if round != 0 {
                let Variant {
                    ready: readies, first: firsts, second: seconds, whole: wholes, ..
                } = variant;
                for (samples, sample) in
                    [(readies, ready), (firsts, first), (seconds, second), (wholes, whole)]
                {
                    samples.0.push(sample);
                }
            }
        }
    }
    writeln!(
        out,
        "| servers of the home | tools | start to `initialize` min | p50 | first `tools/list` min | p50 | \
         the next one p50 | all of it min | p50 |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    )?;
    for variant in &mut variants {
        let Variant { name, n_tools, ready, first, second, whole, .. } = variant;
        let at = |samples: &mut Samples, percent| shown(samples.percentile(percent));
        writeln!(
            out,
            "| {name} | {n_tools} | {} | {} | {} | {} | {} | {} | {} |",
            at(ready, 0),
            at(ready, 50),
            at(first, 0),
            at(first, 50),
            at(second, 50),
            at(whole, 0),
            at(whole, 50)
        )?;
    }
    let [with, without] = &variants;
    ensure!(without.n_tools < with.n_tools, "the home has no servers of its own");
    Ok(())
}
