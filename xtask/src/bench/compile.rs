//! Compiles the worked examples from free wordings, with a scripted provider in the place of a model.
//!
//! The provider answers at once, so what is timed is everything but the model. What it is asked is counted in
//! bytes, since tokens are counted by each model in its own way; about four bytes of English make one.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::ensure;
use ic_testkit::free::{EXAMPLES, Example};
use ic_testkit::provider::{KEY, Reply, Said};
use ic_testkit::{Place, ScriptedProvider};

use super::{Samples, build_binary, shown};

const ROUNDS: usize = 5;
/// How many bytes of English are a token, about.
const TOKEN_BYTES: usize = 4;

/// What was counted and timed for one example.
#[derive(Default)]
struct Taken {
    n_requests: usize,
    asked_bytes: usize,
    answered_bytes: usize,
    first: Samples,
    again: Samples,
}

/// Runs the benchmark.
pub(super) fn run(out: &mut dyn Write, given: Option<&Path>) -> anyhow::Result<()> {
    let binary = build_binary(given)?;
    let mut taken: Vec<Taken> = EXAMPLES.iter().map(|_| Taken::default()).collect();
    for _ in 0..ROUNDS {
        for (example, taken) in EXAMPLES.iter().zip(&mut taken) {
            compile(&binary, example, taken)?;
        }
    }
    writeln!(
        out,
        "| example | statements | requests | tokens asked | tokens answered | compile p50 | unchanged: requests | p50 |"
    )?;
    writeln!(out, "|---|---:|---:|---:|---:|---:|---:|---:|")?;
    for (example, taken) in EXAMPLES.iter().zip(&mut taken) {
        let tokens = |bytes: usize| bytes.div_ceil(TOKEN_BYTES);
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | 0 | {} |",
            example.name,
            example.free.len(),
            taken.n_requests,
            tokens(taken.asked_bytes),
            tokens(taken.answered_bytes),
            shown(taken.first.percentile(50)),
            shown(taken.again.percentile(50)),
        )?;
    }
    Ok(())
}

/// Compiles an example on a fresh home, and then once more.
fn compile(binary: &Path, example: &Example, taken: &mut Taken) -> anyhow::Result<()> {
    let answers = example.answers();
    let replies = answers.iter().map(|it| Reply::Says(Said::tool("use_1", "answer", it.clone())));
    let provider = ScriptedProvider::start(replies);
    let place = Place::new(binary)
        .with_variable("ANTHROPIC_BASE_URL", &provider.url())
        .with_variable("ANTHROPIC_API_KEY", KEY);
    place.let_scripts_answer();
    fs::write(place.path("mine.md"), example.constitution())?;
    let words = ["compile-policy", "--constitution", "mine.md", "--output", "made", "--yes"];
    for samples in [&mut taken.first, &mut taken.again] {
        let began = Instant::now();
        let made = place.run(words);
        samples.0.push(began.elapsed());
        ensure!(made.code == 0, "{}: {made:?}", example.name);
    }
    // The second time nothing had changed.
    ensure!(provider.n_requests() == answers.len(), "{}: asked again", example.name);
    taken.n_requests = provider.n_requests();
    taken.asked_bytes = provider.requests().iter().map(|it| it.body.to_string().len()).sum();
    taken.answered_bytes = answers.iter().map(|it| it.to_string().len()).sum();
    Ok(())
}
