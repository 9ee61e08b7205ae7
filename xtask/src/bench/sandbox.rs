//! Times the code sandbox: scripts in workers that were ready and that were not, calls, and what
//! sandboxes take while nobody uses them. The tools are in this process, and do nothing.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use ic_confine::{Hold, Launcher};
use ic_sandbox::{
    BoxFuture, Called, Calls, Catalogue, Ended, Limits, Pause, Sandbox, SandboxSpec, Script,
    ServerEntry, ToolEntry,
};
use ic_types::{Object, ToolCall};
use tokio_util::sync::CancellationToken;

use super::{Samples, shown};

const RUNS: usize = 300;
const COLD_RUNS: usize = 200;
const MANY: usize = 200;
/// By which the processes of this benchmark are known: how many bytes of memory a script may have.
const MARKER: usize = (128 << 20) + 77;

/// A script as agents write them.
const TYPICAL: &str = "
interface Entry { name: string; size: number }
const entries: Entry[] = Array.from({ length: 100 }, (_, n): Entry => ({ name: `file-${n}.txt`, size: n * 17 }));
const total = entries.filter((it) => it.size % 2 === 0).reduce((sum: number, it) => sum + it.size, 0);
console.log(`${entries.length} files, ${total} bytes`);
({ total, largest: entries.at(-1)!.name })
";
const ONE_CALL: &str = "tools.nothing({ path: 'a/b.txt' })";
const HUNDRED_CALLS: &str = "for (let n = 0; n < 100; n++) tools.nothing({ path: 'a/b.txt' })";

/// Runs the benchmark.
pub(super) fn run(out: &mut dyn Write) -> anyhow::Result<()> {
    let binary = build_worker()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(times(out, &binary))?;
    runtime.block_on(many(out, &binary))
}

fn build_worker() -> anyhow::Result<PathBuf> {
    let words = ["build", "--release", "-q", "-p", "ic-sandbox", "--bin", "ic-sandbox-worker"];
    ensure!(Command::new("cargo").args(words).status()?.success(), "the worker does not build");
    let here = std::env::current_exe()?;
    let target = here.parent().and_then(Path::parent).context("a target directory")?;
    Ok(target.join("release/ic-sandbox-worker"))
}

async fn times(out: &mut dyn Write, binary: &Path) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let hold = hold(out, binary, place.path()).await?;
    let warm = sandbox(binary, &hold);
    let ways: [(&str, &str); 4] = [
        ("empty script", ""),
        ("1 kB of TypeScript", TYPICAL),
        ("1 call", ONE_CALL),
        ("100 calls", HUNDRED_CALLS),
    ];
    let mut samples = ways.map(|_| Samples::default());
    for _ in 0..RUNS {
        for ((_, source), samples) in ways.iter().zip(&mut samples) {
            warm.prepare();
            ready(&warm).await;
            samples.0.push(timed(&warm, source).await?);
        }
    }
    warm.close().await;
    let mut cold = Samples::default();
    for _ in 0..COLD_RUNS {
        let sandbox = sandbox(binary, &hold);
        cold.0.push(timed(&sandbox, "").await?);
        sandbox.close().await;
    }
    writeln!(out, "\n| a run | min | p50 | p99 |\n|---|---:|---:|---:|")?;
    for ((what, _), samples) in ways.iter().zip(&mut samples) {
        row(out, &format!("{what}, from the spare"), samples)?;
    }
    row(out, "empty script, without a spare", &mut cold)
}

async fn many(out: &mut dyn Write, binary: &Path) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let hold = hold(out, binary, place.path()).await?;
    let before = memory(std::process::id())?;
    let start = Instant::now();
    let sandboxes: Vec<_> = (0..MANY).map(|_| sandbox(binary, &hold)).collect();
    for sandbox in &sandboxes {
        sandbox.prepare();
    }
    for sandbox in &sandboxes {
        ready(sandbox).await;
    }
    let prepared = start.elapsed();
    let after = memory(std::process::id())?;
    let pids = processes()?;
    let mut all = Memory::default();
    for pid in &pids {
        // One may end while we look.
        let Ok(one) = memory(*pid) else { continue };
        all.resident += one.resident;
        all.proportional += one.proportional;
    }
    let each = |kilobytes: u64| kilobytes / (MANY as u64);
    writeln!(
        out,
        "\n{MANY} idle sandboxes in one process: ready within {}; each takes {} kB of its own in {} \
         processes (resident: {} kB, most of it shared), and {} kB of the host.",
        shown(prepared),
        each(all.proportional),
        pids.len() / MANY,
        each(all.resident),
        each(after.resident.saturating_sub(before.resident)),
    )?;
    let start = Instant::now();
    let mut samples = Samples::default();
    let runs = sandboxes.iter().map(|sandbox| timed(sandbox, HUNDRED_CALLS));
    for run in join_all(runs.map(|run| Box::pin(run) as BoxFuture<'_, _>).collect()).await {
        samples.0.push(run?);
    }
    writeln!(
        out,
        "A script with 100 calls in each of them at once: all done within {}, p50 {}.",
        shown(start.elapsed()),
        shown(samples.percentile(50)),
    )?;
    for sandbox in sandboxes {
        sandbox.close().await;
    }
    ensure!(processes()?.is_empty(), "processes are left");
    Ok(())
}

/// Waits for all of `futures` at once.
async fn join_all<T>(mut futures: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut results = Vec::new();
    std::future::poll_fn(|context| {
        futures.retain_mut(|future| match future.as_mut().poll(context) {
            std::task::Poll::Ready(result) => {
                results.push(result);
                false
            }
            std::task::Poll::Pending => true,
        });
        if futures.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    results
}

async fn hold(out: &mut dyn Write, binary: &Path, place: &Path) -> anyhow::Result<Hold> {
    match Launcher::at(binary).strongest(place).await {
        Ok(rung) => {
            writeln!(out, "\nCages of the rung `{rung}`.")?;
            Ok(Hold::Caged(rung, ic_sandbox::cage(place.to_owned())))
        }
        Err(faults) => anyhow::bail!("no rung works here: {faults:?}"),
    }
}

fn sandbox(binary: &Path, hold: &Hold) -> Sandbox {
    Sandbox::new(SandboxSpec {
        launcher: Launcher::at(binary),
        arguments: vec!["code-worker".into()],
        hold: hold.clone(),
        limits: Limits { heap_bytes_max: MARKER, ..Limits::DEFAULT },
    })
}

/// Waits until the spare is ready.
async fn ready(sandbox: &Sandbox) {
    while sandbox.spare().is_none() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn timed(sandbox: &Sandbox, source: &str) -> anyhow::Result<Duration> {
    let script = Script { source: source.to_owned(), arguments: Vec::new() };
    let cancel = CancellationToken::new();
    let start = Instant::now();
    let run = sandbox.run(&script, &Nothing, &cancel).await;
    let elapsed = start.elapsed();
    ensure!(run.ended == Ended::Done, "a run ends with {:?}", run.ended);
    Ok(elapsed)
}

/// A tool that does nothing.
struct Nothing;

impl Calls for Nothing {
    fn catalogue(&self) -> BoxFuture<'_, Arc<Catalogue>> {
        Box::pin(async { Arc::new(catalogue().unwrap_or_default()) })
    }

    fn call<'a>(
        &'a self,
        _: ToolCall,
        _: &'a Pause,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Called> {
        Box::pin(async { Called::Done { text: "done".to_owned(), structured: None } })
    }
}

fn catalogue() -> Option<Catalogue> {
    let tool = ToolEntry {
        name: "nothing".parse().ok()?,
        description: Some("Does nothing".to_owned()),
        input_schema: Object::new(),
        output_schema: None,
    };
    let name = "tools".parse().ok()?;
    Some(Catalogue { servers: vec![ServerEntry { name, description: None, tools: vec![tool] }] })
}

/// What a process holds, in kilobytes.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) resident: u64,
    /// Its share of what it holds together with others.
    pub(super) proportional: u64,
}

pub(super) fn memory(pid: u32) -> anyhow::Result<Memory> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        number.context("a field")
    };
    Ok(Memory { resident: field("Rss:")?, proportional: field("Pss:")? })
}

/// Returns the processes of this benchmark's workers, with their guards.
fn processes() -> anyhow::Result<Vec<u32>> {
    let marker = MARKER.to_string();
    let entries = std::fs::read_dir("/proc")?;
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_ours = |pid: &u32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|word| word == marker.as_bytes())
    };
    Ok(pids.filter(is_ours).collect())
}

fn row(out: &mut dyn Write, what: &str, samples: &mut Samples) -> anyhow::Result<()> {
    let (min, p50, p99) = (samples.percentile(0), samples.percentile(50), samples.percentile(99));
    writeln!(out, "| {what} | {} | {} | {} |", shown(min), shown(p50), shown(p99))?;
    Ok(())
}
