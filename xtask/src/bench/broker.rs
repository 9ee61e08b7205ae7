//! Times the same calls made directly and through the proxy, in turns.
//!
//! The audit log is on, and the policy resolves one path of each call.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::{Value, json};

use super::{Samples, build_binary, shown};
use crate::ground::{Ground, reading};
use crate::peer::{Peer, memory_kib};

const ROUNDS: usize = 10;
const FLYING: [usize; 3] = [1, 16, 64];
const STARTS: usize = 30;

/// A server to measure, and the call to make.
struct Backend {
    title: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
    /// What it has to see besides the sandbox.
    installation: Vec<PathBuf>,
    tool: &'static str,
    others: &'static [&'static str],
    n_calls: usize,
}

/// Runs the benchmark.
pub(super) fn run(out: &mut dyn Write, given: Option<&Path>) -> anyhow::Result<()> {
    let binary = build_binary(given)?;
    let this = std::env::current_exe()?;
    let script = tempfile::NamedTempFile::new()?;
    std::fs::write(script.path(), include_str!("trivial.py"))?;
    compare(out, &binary, &|_| Backend {
        title: "trivial backend in Python",
        program: PathBuf::from("/usr/bin/python3"),
        arguments: vec![script.path().display().to_string()],
        installation: vec![script.path().to_owned()],
        tool: "read",
        others: &["count"],
        n_calls: 1000,
    })?;
    compare(out, &binary, &|_| Backend {
        title: "bare echo in Rust",
        program: this.clone(),
        arguments: vec!["echo-server".to_owned()],
        installation: Vec::new(),
        tool: "read",
        others: &["count"],
        n_calls: 2000,
    })?;
    match packages()? {
        Some(packages) => compare(out, &binary, &|sandbox| {
            let script = "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";
            Backend {
                title: "public npm filesystem server",
                program: packages.join("bin/node"),
                arguments: vec![packages.join(script).display().to_string(), sandbox.to_owned()],
                installation: vec![packages.clone()],
                tool: "read_text_file",
                others: &["head", "tail"],
                n_calls: 300,
            }
        })?,
        None => writeln!(out, "\nNOTE: no npm packages here; run scripts/test-packages first")?,
    }
    start_up(out, &binary)
}

/// Returns where the packages for tests are, if they are installed.
fn packages() -> anyhow::Result<Option<PathBuf>> {
    let output = Command::new("scripts/test-packages").arg("--path").output()?;
    let path = PathBuf::from(String::from_utf8(output.stdout)?.trim());
    Ok(path.join("bin/node").exists().then_some(path))
}

fn compare(
    out: &mut dyn Write,
    binary: &Path,
    backend: &dyn Fn(&str) -> Backend,
) -> anyhow::Result<()> {
    // The sandbox is an argument of some servers, so the place comes first.
    let ground = Ground::new(&json!({}), &json!({"servers": {}}))?;
    let sandbox = ground.path("sandbox").display().to_string();
    let Backend { title, program, arguments, installation, tool, others, n_calls } =
        backend(&sandbox);
    std::fs::write(
        ground.path("servers.json"),
        json!({"s": {
            "command": program, "args": arguments,
            "sandbox": {"filesystem": {"allowRead": installation}},
        }})
        .to_string(),
    )?;
    let annotations = json!({"servers": {"s": {"tools": reading(&[(tool, others)])}}});
    std::fs::write(ground.path("policy/tool-annotations.json"), annotations.to_string())?;

    let mut direct = Peer::start(Command::new(&program).args(&arguments))?;
    let mut proxied = Peer::start(&mut ground.proxy(binary))?;
    proxied.ask("tools/list", &json!({}))?;
    let file = ground.path("sandbox/file.txt").display().to_string();
    // Each call differs from the last, or the circuit breaker would speak up.
    let mut count = 0_u64;
    let mut call = |name: &str| -> Value {
        count += 1;
        let other = others.first().copied().unwrap_or("count");
        json!({"name": name, "arguments": {"path": file, other: count}})
    };
    let offered = format!("s__{tool}");
    writeln!(out, "\n| {title} | in flight | p50 | p99 | calls/s |\n|---|---:|---:|---:|---:|")?;
    for n_flying in FLYING {
        let (mut alone, mut through) = (Timed::default(), Timed::default());
        for _ in 0..ROUNDS {
            alone.add(|| direct.fly(n_calls, n_flying, &mut || call(tool)))?;
            through.add(|| proxied.fly(n_calls, n_flying, &mut || call(&offered)))?;
        }
        alone.row(out, "direct", n_flying)?;
        through.row(out, "through the proxy", n_flying)?;
        let (before, after) = (alone.samples.percentile(50), through.samples.percentile(50));
        writeln!(
            out,
            "| *added p50, ratio of p50, ratio of calls/s* | {n_flying} | {} | {:.2} | {:.2} |",
            shown(after.saturating_sub(before)),
            after.as_secs_f64() / before.as_secs_f64(),
            through.per_second() / alone.per_second(),
        )?;
    }
    let (rss, peak) = (memory_kib(proxied.pid(), "VmRSS")?, memory_kib(proxied.pid(), "VmHWM")?);
    writeln!(out, "\nThe proxy holds {} MB, at most {} MB.", rss / 1024, peak / 1024)?;
    direct.close()?;
    proxied.close()
}

/// Times of calls, and of all of them together.
#[derive(Default)]
struct Timed {
    samples: Samples,
    elapsed: Duration,
}

impl Timed {
    fn add(&mut self, fly: impl FnOnce() -> anyhow::Result<Vec<Duration>>) -> anyhow::Result<()> {
        let start = Instant::now();
        let times = fly()?;
        self.elapsed += start.elapsed();
        self.samples.0.extend(times);
        Ok(())
    }

    fn per_second(&self) -> f64 {
        super::per_second(self.samples.0.len() as u64, self.elapsed)
    }

    fn row(&mut self, out: &mut dyn Write, what: &str, n_flying: usize) -> anyhow::Result<()> {
        let (p50, p99) = (self.samples.percentile(50), self.samples.percentile(99));
        let (p50, p99) = (shown(p50), shown(p99));
        writeln!(out, "| {what} | {n_flying} | {p50} | {p99} | {:.0} |", self.per_second())?;
        Ok(())
    }
}

/// Times the start of a proxy until it has answered `initialize`.
fn start_up(out: &mut dyn Write, binary: &Path) -> anyhow::Result<()> {
    let ground =
        Ground::new(&json!({"filesystem": {"builtin": "filesystem"}}), &json!({"servers": {}}))?;
    let mut starts = Samples::default();
    for _ in 0..STARTS {
        let peer = Peer::start(&mut ground.proxy(binary))?;
        starts.0.push(peer.ready_after);
        peer.close()?;
    }
    let slowest = starts.0.iter().max().context("there were starts")?;
    let slowest = shown(*slowest);
    writeln!(
        out,
        "\nFrom the start to the answer to `initialize`: p50 {}, slowest {slowest} of {STARTS}.",
        shown(starts.percentile(50))
    )?;
    Ok(())
}
