//! Times requests to a provider straight and through the model gate, in turns.
//!
//! The gate is the real program in a process of its own, with its log; the provider and the clients are
//! tasks of this one. All of them share the machine, so ratios say more than times.

mod provider;
mod road;

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use http_body_util::BodyExt as _;
use ic_testkit::Place;
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::task::JoinSet;

use super::{Samples, build_binary, per_second, shown};
use provider::{Events, Provider};
use road::{Gate, Road};

const ROUNDS: usize = 20;
/// How often each thing is done in a round.
const WARM: usize = 50;
const NEW: usize = 10;
const LARGE: usize = 10;
const LARGE_BYTES: usize = 100_000;
const CONNECTIONS: [usize; 3] = [1, 16, 64];
/// How long requests are counted, in each of a few rounds.
const COUNTED: Duration = Duration::from_secs(1);
const COUNTS: usize = 5;
const STREAMS: [usize; 2] = [1_000, 4_000];
/// A session takes at most 256 requests at once.
const STREAMS_EACH: usize = 250;
/// How many events each of many streams gets, and how far apart.
const EVENTS: usize = 8;
const EVENT_MS: u64 = 1_000;

/// Runs the benchmark.
pub(super) fn run(out: &mut dyn Write, given: Option<&Path>) -> anyhow::Result<()> {
    let binary = build_binary(given)?;
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let provider = Provider::start().await?;
        let place = road::home(&binary, &provider)?;
        let gate = Gate::start(&place)?;
        let roads = [Road::direct(&provider)?, gate.road.clone()];
        latencies(out, &roads, provider.start).await?;
        throughput(out, &roads).await?;
        writeln!(out, "\nThe gate takes {} after that.", mib(gate.memory_kib()?))?;
        gate.end()?;
        writeln!(out, "\n| open streams | lag p50 | lag p99 | memory of the gates |")?;
        writeln!(out, "|---|---:|---:|---:|")?;
        for n_streams in STREAMS {
            open_streams(out, n_streams, &place, &provider).await?;
        }
        Ok(())
    })
}

/// Times single requests, on connections that are open and on new ones, and events.
async fn latencies(out: &mut dyn Write, roads: &[Road; 2], start: Instant) -> anyhow::Result<()> {
    let large = "x".repeat(LARGE_BYTES);
    let events = Events { n: 20, first_ms: 2, every_ms: 2 };
    let mut samples: [[Samples; 5]; 2] = Default::default();
    for round in 0..=ROUNDS {
        for (road, samples) in roads.iter().zip(&mut samples) {
            let [warm, new, long, first, lag] = samples;
            let mut taken = Samples::default();
            let mut connection = road.connect().await?;
            connection.ask("x").await?;
            for _ in 0..WARM {
                taken.0.push(connection.ask("x").await?);
            }
            let mut large_taken = Samples::default();
            for _ in 0..LARGE {
                large_taken.0.push(connection.ask(&large).await?);
            }
            let mut new_taken = Samples::default();
            for _ in 0..NEW {
                let start = Instant::now();
                road.connect().await?.ask("x").await?;
                new_taken.0.push(start.elapsed());
            }
            let asked = Instant::now();
            let body = connection.send(&events.wanted(), true).await?;
            let (began, lags) = heard(body, start).await?;
            // The first round warms everything up.
            if round != 0 {
                warm.0.append(&mut taken.0);
                long.0.append(&mut large_taken.0);
                new.0.append(&mut new_taken.0);
                first.0.push(began - asked);
                lag.0.extend(lags);
            }
        }
    }
    writeln!(out, "| | direct p50 | p99 | gate p50 | p99 | added p50 |")?;
    writeln!(out, "|---|---:|---:|---:|---:|---:|")?;
    let [direct, gate] = &mut samples;
    let titles = [
        "request, warm",
        "request, new connection",
        "100 kB request",
        "SSE, first bytes",
        "SSE, an event",
    ];
    for ((direct, gate), title) in direct.iter_mut().zip(gate).zip(titles) {
        let [one, other] = [direct.percentile(50), gate.percentile(50)];
        writeln!(
            out,
            "| {title} | {} | {} | {} | {} | {} |",
            shown(one),
            shown(direct.percentile(99)),
            shown(other),
            shown(gate.percentile(99)),
            shown(other.saturating_sub(one))
        )?;
    }
    Ok(())
}

/// Reads a stream to its end: when its first bytes came, and how late each event was.
async fn heard(
    mut body: hyper::body::Incoming,
    start: Instant,
) -> anyhow::Result<(Instant, Vec<Duration>)> {
    let (mut began, mut lags) = (None, Vec::new());
    // An event can come in pieces.
    let mut text = String::new();
    while let Some(frame) = body.frame().await {
        let now = Instant::now();
        began.get_or_insert(now);
        let frame = frame?;
        text.push_str(&String::from_utf8_lossy(frame.data_ref().map_or(&[], |it| it)));
        while let Some((before, rest)) = text.split_once(';') {
            let sent = before.rsplit("at ").next().and_then(|it| it.parse::<u64>().ok());
            if let Some(sent) = sent {
                lags.push((now - start).saturating_sub(Duration::from_nanos(sent)));
            }
            text = rest.to_owned();
        }
    }
    Ok((began.context("the stream was empty")?, lags))
}

/// Counts requests on several connections at once.
async fn throughput(out: &mut dyn Write, roads: &[Road; 2]) -> anyhow::Result<()> {
    writeln!(out, "\n| connections | direct requests/s | gate requests/s | ratio |")?;
    writeln!(out, "|---|---:|---:|---:|")?;
    for n_connections in CONNECTIONS {
        let mut rates: [Vec<f64>; 2] = Default::default();
        for _ in 0..COUNTS {
            for (road, rates) in roads.iter().zip(&mut rates) {
                rates.push(rate(road, n_connections).await?);
            }
        }
        let [direct, gate] = rates.map(median);
        writeln!(
            out,
            "| {n_connections} | {direct:.0} | {gate:.0} | {:.2} |",
            gate / direct.max(1.0)
        )?;
    }
    Ok(())
}

async fn rate(road: &Road, n_connections: usize) -> anyhow::Result<f64> {
    let mut connections = Vec::new();
    for _ in 0..n_connections {
        let mut connection = road.connect().await?;
        connection.ask("x").await?;
        connections.push(connection);
    }
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for mut connection in connections {
        tasks.spawn(async move {
            let mut n_requests = 0_u64;
            while start.elapsed() < COUNTED {
                connection.ask("x").await?;
                n_requests += 1;
            }
            anyhow::Ok(n_requests)
        });
    }
    let mut n_requests = 0;
    while let Some(task) = tasks.join_next().await {
        n_requests += task??;
    }
    Ok(per_second(n_requests, start.elapsed()))
}

/// Opens many streams at once, through as many sessions as that takes, and times their events.
async fn open_streams(
    out: &mut dyn Write,
    n_streams: usize,
    place: &Place,
    provider: &Provider,
) -> anyhow::Result<()> {
    let gates = (0..n_streams / STREAMS_EACH).map(|_| Gate::start(place));
    let gates = gates.collect::<anyhow::Result<Vec<Gate>>>()?;
    let mut tasks = JoinSet::new();
    for at in 0..n_streams {
        let gate = gates.get(at % gates.len()).context("a gate")?;
        let mut connection = gate.road.connect().await?;
        // All of them are open before the first event comes, and events are spread over a second.
        let spread = u64::try_from(at)? * EVENT_MS / u64::try_from(n_streams)?;
        let opening = u64::try_from(n_streams - at)? * 4;
        let events = Events { n: EVENTS, first_ms: opening + spread, every_ms: EVENT_MS };
        let start = provider.start;
        tasks.spawn(async move {
            let body = connection.send(&events.wanted(), true).await?;
            let (_, lags) = heard(body, start).await?;
            ensure!(lags.len() == EVENTS, "{} of {EVENTS} events came", lags.len());
            anyhow::Ok(lags)
        });
    }
    let mut memory = 0;
    for gate in &gates {
        memory += gate.memory_kib()?;
    }
    let mut lag = Samples::default();
    while let Some(task) = tasks.join_next().await {
        lag.0.extend(task??);
    }
    writeln!(
        out,
        "| {n_streams} in {} sessions | {} | {} | {} |",
        gates.len(),
        shown(lag.percentile(50)),
        shown(lag.percentile(99)),
        mib(memory)
    )?;
    gates.into_iter().try_for_each(Gate::end)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn mib(kib: u64) -> String {
    format!("{} MiB", kib / 1024)
}
