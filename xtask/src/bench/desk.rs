//! Times the desk: from a call that needs a person to the question that a person sees, and from the
//! answer to the result of the call, with few and with many questions waiting.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use ic_escalation::{Board, Pending, Registry, Reply};
use ic_home::{Clock as _, Home, SystemClock};
use ic_policy::DecidedBy;
use ic_types::AbsolutePath;
use serde_json::json;

use super::{Samples, build_binary, shown};
use crate::ground::{Ground, reading};
use crate::peer::Peer;

/// How many questions wait at once, and how often that is done.
const WAITING: [(usize, usize); 3] = [(1, 40), (20, 5), (200, 1)];
/// After this, a question does not come any more.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs the benchmark.
pub(super) fn run(out: &mut dyn Write) -> anyhow::Result<()> {
    let binary = build_binary()?;
    writeln!(
        out,
        "\n| waiting | asked to visible p50 | p95 | answered to result p50 | p95 |\n\
         |---:|---:|---:|---:|---:|"
    )?;
    for (n_waiting, n_rounds) in WAITING {
        let (mut visible, mut served) = (Samples::default(), Samples::default());
        for _ in 0..n_rounds {
            round(&binary, n_waiting, &mut visible, &mut served)?;
        }
        let times = [&mut visible, &mut served].map(|samples| {
            format!("{} | {}", shown(samples.percentile(50)), shown(samples.percentile(95)))
        });
        writeln!(out, "| {n_waiting} | {} |", times.join(" | "))?;
    }
    Ok(())
}

/// Asks `n_waiting` questions, and answers them one after another.
fn round(
    binary: &Path,
    n_waiting: usize,
    visible: &mut Samples,
    served: &mut Samples,
) -> anyhow::Result<()> {
    let ground = asking()?;
    let mut proxy = Peer::start(ground.proxy(binary).arg("--wait"))?;
    proxy.ask("tools/list", &json!({}))?;
    let home = AbsolutePath::new(ground.path("home/.ironcurtain"))?;
    let registry = Registry::of(&Home::new(home));
    let mut board = Board::default();
    let mut look = || -> anyhow::Result<Vec<Pending>> {
        let sessions = registry.live()?.sessions;
        Ok(board.look(&sessions, SystemClock.now()).pending)
    };
    let mut calls = Vec::with_capacity(n_waiting);
    for count in 1..=n_waiting {
        let arguments = json!({"path": ground.path("asked/file.txt"), "head": count});
        let call = json!({"name": "filesystem__read_text_file", "arguments": arguments});
        let asked = Instant::now();
        calls.push(proxy.send("tools/call", &call)?);
        while look()?.len() < count {
            ensure!(asked.elapsed() < PATIENCE, "question {count} does not come");
        }
        visible.0.push(asked.elapsed());
    }
    for pending in look()? {
        let answered = Instant::now();
        pending.answer(&Reply::Approve(None), DecidedBy::Cli, SystemClock.now())?;
        let id = proxy.next_answer()?;
        served.0.push(answered.elapsed());
        let at = calls.iter().position(|call| *call == id).context("an answer to our call")?;
        calls.swap_remove(at);
    }
    ensure!(calls.is_empty(), "a call was not answered");
    proxy.close()
}

/// Makes a place whose policy asks about reading one directory, which is there.
fn asking() -> anyhow::Result<Ground> {
    let tools = reading(&[("read_text_file", &["head", "tail"])]);
    let annotations = json!({"servers": {"filesystem": {"tools": tools}}});
    let ground = Ground::new(&json!({"filesystem": {"builtin": "filesystem"}}), &annotations)?;
    let rule = json!({
        "name": "ask", "then": "escalate", "reason": "it is measured",
        "if": {"paths": {"roles": ["read-path"], "within": ground.path("asked")}},
    });
    let policy = json!({"rules": [rule]});
    std::fs::write(ground.path("policy/compiled-policy.json"), policy.to_string())?;
    std::fs::create_dir(ground.path("asked"))?;
    std::fs::write(ground.path("asked/file.txt"), "a small file\n")?;
    Ok(ground)
}
