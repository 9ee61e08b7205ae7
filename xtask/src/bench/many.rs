//! Times calls that are about very many things, and what a client waits for a `ping` meanwhile.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::{Samples, build_binary, shown};
use crate::ground::Ground;
use crate::peer::{Connection, Peer};

const ROUNDS: usize = 40;
/// As many as one call may name, but for one.
const PATHS: usize = 9_999;
/// As many as the server reads at once.
const FEW: usize = 1_000;
const REWRITES: usize = 9_000;
const URLS: usize = 2_000;
const START_MAX: Duration = Duration::from_secs(30);
const CALL_MAX: Duration = Duration::from_millis(100);
const PING_MAX: Duration = Duration::from_millis(20);

/// A call, and what is to come of it.
struct Subject {
    name: &'static str,
    tool: &'static str,
    arguments: fn(&Ground, usize) -> Value,
    /// What the answer has to hold.
    answer: &'static str,
    took: Samples,
    /// The longest wait for a `ping` during each call.
    ping: Samples,
}

/// Runs the benchmark.
pub(super) fn run(out: &mut dyn Write, given: Option<&Path>) -> anyhow::Result<()> {
    let ground = ground()?;
    let binary = build_binary(given)?;
    let _proxy = Proxy::start(&ground, &binary)?;
    let socket = ground.path("proxy.sock");
    let (mut busy, mut other) = (Connection::connect(&socket)?, Connection::connect(&socket)?);
    let mut direct = Peer::start(
        ground.command(&binary).args(["mcp-server", "filesystem"]).arg(ground.path("sandbox")),
    )?;
    let mut alone = Samples::default();
    let mut subjects = subjects();
    // The first of each starts what has to be started.
    for round in 0..=ROUNDS {
        for subject in &mut subjects {
            subject.measure(&ground, (&mut busy, &mut other), round)?;
        }
        let call = json!({"name": "read_multiple_files", "arguments": few(&ground, round)});
        ensure!(alone.time(|| direct.is_served(&call))?, "the server alone refused");
        if round == 0 {
            subjects.iter_mut().for_each(Subject::forget);
            alone = Samples::default();
        }
    }
    direct.close()?;
    writeln!(
        out,
        "| call | p50 | p99 | longest `ping` meanwhile, p50 | p99 |\n|---|---:|---:|---:|---:|"
    )?;
    for Subject { name, took, ping, .. } in &mut subjects {
        let [took_p50, took_p99] = [50, 99].map(|at| shown(took.percentile(at)));
        let [ping_p50, ping_p99] = [50, 99].map(|at| shown(ping.percentile(at)));
        writeln!(out, "| {name} | {took_p50} | {took_p99} | {ping_p50} | {ping_p99} |")?;
    }
    let [p50, p99] = [50, 99].map(|at| shown(alone.percentile(at)));
    writeln!(out, "| the same 1,000 files, asked of the server directly | {p50} | {p99} | | |")?;
    writeln!(
        out,
        "\nGoals: a call within {}, a `ping` meanwhile within {}.",
        shown(CALL_MAX),
        shown(PING_MAX)
    )?;
    Ok(())
}

fn subjects() -> Vec<Subject> {
    let subject = |name, tool, arguments, answer| {
        let (took, ping) = Default::default();
        Subject { name, tool, arguments, answer, took, ping }
    };
    let read = "filesystem__read_multiple_files";
    vec![
        subject("9,999 paths, denied (protected)", read, denied, "structural-protected-path"),
        subject("9,999 paths, approval needed", read, asked, "ESCALATION REQUIRED"),
        // The server takes 1,000 at most, and says so.
        subject("9,999 paths, answered by the server", read, allowed, "more than 1000 items"),
        subject("1,000 paths, read by the server", read, few, "f998"),
        subject(
            "a push to 2,000 URLs under 9,000 `insteadOf`",
            "git__git_push",
            pushed,
            "ESCALATION REQUIRED",
        ),
    ]
}

impl Subject {
    /// Makes the call once, while another client pings.
    fn measure(
        &mut self,
        ground: &Ground,
        (busy, other): (&mut Connection, &mut Connection),
        round: usize,
    ) -> anyhow::Result<()> {
        let call = json!({"name": self.tool, "arguments": (self.arguments)(ground, round)});
        let is_done = AtomicBool::new(false);
        let (answer, took, ping) = std::thread::scope(|scope| {
            let calling = scope.spawn(|| {
                let start = Instant::now();
                let answer = busy.ask("tools/call", &call);
                is_done.store(true, Ordering::Release);
                (answer, start.elapsed())
            });
            let mut longest = Duration::ZERO;
            let mut pinged = Ok(json!({}));
            while !is_done.load(Ordering::Acquire) && pinged.is_ok() {
                let start = Instant::now();
                pinged = other.ask("ping", &json!({}));
                longest = longest.max(start.elapsed());
                sleep(Duration::from_micros(200));
            }
            let (answer, took) = calling.join().map_err(|_| anyhow::anyhow!("it panicked"))?;
            pinged?;
            anyhow::Ok((answer?, took, longest))
        })?;
        let text = answer.to_string();
        ensure!(text.contains(self.answer), "{}: {text:.400}", self.name);
        self.took.0.push(took);
        self.ping.0.push(ping);
        Ok(())
    }

    fn forget(&mut self) {
        (self.took, self.ping) = Default::default();
    }
}

/// Returns the paths of a call; each round has another one, or the circuit breaker would speak up.
fn paths(directory: &Path, n_paths: usize, round: usize) -> Value {
    let mut paths: Vec<String> =
        (0..n_paths - 1).map(|at| format!("{}/f{at}", directory.display())).collect();
    paths.push(format!("{}{}/f{}", directory.display(), "/.".repeat(round + 1), n_paths - 1));
    json!({ "paths": paths })
}

fn denied(ground: &Ground, round: usize) -> Value {
    paths(&ground.path("home/.ssh"), PATHS, round)
}

fn asked(ground: &Ground, round: usize) -> Value {
    paths(&ground.path("elsewhere"), PATHS, round)
}

fn allowed(ground: &Ground, round: usize) -> Value {
    paths(&ground.path("sandbox/a/b/c"), PATHS, round)
}

fn few(ground: &Ground, round: usize) -> Value {
    paths(&ground.path("sandbox/a/b/c"), FEW, round)
}

fn pushed(ground: &Ground, round: usize) -> Value {
    let repository = ground.path("sandbox/repo").display().to_string() + &"/.".repeat(round + 1);
    json!({"path": repository, "remote": "origin", "branch": "main"})
}

/// Makes a workspace with very many small files, and a repository with a very long config.
fn ground() -> anyhow::Result<Ground> {
    let annotations = include_str!("../../../crates/ic-policy/policies/tool-annotations.json");
    let servers = json!({"filesystem": {"builtin": "filesystem"}, "git": {"builtin": "git"}});
    let ground = Ground::new(&servers, &serde_json::from_str(annotations)?)?;
    let ask = json!({"rules": [{"name": "ask", "if": {}, "then": "escalate", "reason": "r"}]});
    std::fs::write(ground.path("policy/compiled-policy.json"), ask.to_string())?;
    for name in ["sandbox/a/b/c", "elsewhere", "home/.ssh", "sandbox/repo"] {
        std::fs::create_dir_all(ground.path(name))?;
    }
    for at in 0..PATHS {
        std::fs::write(ground.path(&format!("sandbox/a/b/c/f{at}")), format!("{at}\n"))?;
    }
    let repository = ground.path("sandbox/repo");
    git(&repository, &["init", "-q", "-b", "main", "."])?;
    let config = repository.join(".git/config");
    let mut text = std::fs::read_to_string(&config)?;
    text.push_str("[remote \"origin\"]\n");
    for at in 0..URLS {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\turl = https://h{at}.example/o/r");
    }
    for at in 0..REWRITES {
        let _ = writeln!(
            text,
            "[url \"https://g{at}.example/\"]\n\tinsteadOf = https://h{at}.example/"
        );
    }
    std::fs::write(config, text)?;
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
    git(&repository, &[&identity[..], &["commit", "-qm", "first", "--allow-empty"]].concat())?;
    Ok(ground)
}

fn git(directory: &Path, words: &[&str]) -> anyhow::Result<()> {
    let status = Command::new("git").args(words).current_dir(directory).status()?;
    ensure!(status.success(), "git {words:?} failed");
    Ok(())
}

/// A proxy on a socket, which ends with us.
struct Proxy(Child);

impl Proxy {
    fn start(ground: &Ground, binary: &Path) -> anyhow::Result<Self> {
        let socket = ground.path("proxy.sock");
        let mut command = ground.proxy(binary);
        command.arg("--socket").arg(&socket).stdin(Stdio::null()).stderr(Stdio::null());
        let proxy = Self(command.spawn().context("the proxy does not start")?);
        let start = Instant::now();
        while Connection::connect(&socket).is_err() {
            ensure!(start.elapsed() < START_MAX, "the proxy does not open its socket");
            sleep(Duration::from_millis(5));
        }
        Ok(proxy)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // It may have ended.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
