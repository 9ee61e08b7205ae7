//! `cargo xtask soak`: very many calls through one proxy, and nothing may grow but the log.
//!
//! Reads and writes go to the built-in filesystem server, others to a trivial one; denied, invalid and
//! unknown calls are mixed in. Fails if memory or descriptors grow, or if the log does not verify.

use std::io::Write;
use std::time::Instant;

use anyhow::ensure;
use serde_json::{Value, json};

use crate::bench::{build_binary, per_second, run_optimised};
use crate::ground::{Ground, reading};
use crate::peer::{Peer, descriptors, memory_kib};

/// How many calls there are in one leg, after which memory and descriptors are looked at.
const LEG: usize = 50_000;
/// How much memory may grow after the first legs.
const GROWTH_KIB_MAX: u64 = 4096;
const FLYING: usize = 16;

/// Runs `n_calls` calls, in legs.
pub fn run(n_calls: usize, out: &mut dyn Write) -> anyhow::Result<()> {
    if cfg!(debug_assertions) {
        return run_optimised();
    }
    let binary = build_binary()?;
    let this = std::env::current_exe()?;
    let file = |tool: &str, args: Value| json!({"toolName": tool, "args": args});
    let annotations = json!({"servers": {
        "s": {"tools": reading(&[("read", &["count"])])},
        "filesystem": {"tools": [
            file("read_file", json!({"path": ["read-path"], "head": ["none"], "tail": ["none"]})),
            file("write_file", json!({"path": ["write-path"], "content": ["none"]})),
        ]},
    }});
    let servers = json!({
        "s": {"command": this, "args": ["echo-server"]},
        "filesystem": {"builtin": "filesystem"},
    });
    let ground = Ground::new(&servers, &annotations)?;
    let mut proxy = Peer::start(&mut ground.proxy(&binary))?;
    proxy.ask("tools/list", &json!({}))?;
    let path = ground.path("sandbox/file.txt").display().to_string();
    let scratch = ground.path("sandbox/scratch.txt").display().to_string();
    let mut count = 0_u64;
    let mut call = || {
        count += 1;
        match count % 10 {
            0 => {
                json!({"name": "filesystem__write_file", "arguments": {"path": scratch, "content": count.to_string()}})
            }
            1..=3 => {
                json!({"name": "filesystem__read_file", "arguments": {"path": path, "head": count}})
            }
            _ => json!({"name": "s__read", "arguments": {"path": path, "count": count}}),
        }
    };
    writeln!(out, "| calls | calls/s | RSS | descriptors |\n|---:|---:|---:|---:|")?;
    let (mut settled, start, mut n_done) = (None, Instant::now(), 0);
    while n_done < n_calls {
        let leg = LEG.min(n_calls - n_done);
        let leg_start = Instant::now();
        proxy.fly(leg, FLYING, &mut call)?;
        n_done += leg;
        let now = (memory_kib(proxy.pid(), "VmRSS")?, descriptors(proxy.pid())?);
        let per_second = per_second(leg, leg_start.elapsed());
        writeln!(out, "| {n_done} | {per_second:.0} | {} KiB | {} |", now.0, now.1)?;
        out.flush()?;
        let (rss, open) = *settled.get_or_insert(now);
        ensure!(now.0 <= rss + GROWTH_KIB_MAX, "memory grew from {rss} to {} KiB", now.0);
        ensure!(now.1 <= open + 2, "descriptors grew from {open} to {}", now.1);
    }
    proxy.close()?;
    writeln!(out, "\n{n_done} calls in {} s.", start.elapsed().as_secs())?;
    let verify = Instant::now();
    let output = ground.command(&binary).args(["audit", "verify"]).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    writeln!(out, "`audit verify` after {} s: {said}", verify.elapsed().as_secs())?;
    ensure!(output.status.success() && said.contains("intact"), "the log does not verify");
    Ok(())
}
