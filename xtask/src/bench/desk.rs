//! Times the desk: from a call that needs a person to the question that a person sees, and from the
//! answer to the call's result, with few and with many questions waiting.
//!
//! The call is served by a trivial server that runs already, so that from the answer to the result is
//! from the answer to the forwarded call and one hop; and, apart from that, by a process of its own.
//! A session asks only so many questions a minute, so that many are those of many sessions.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use ic_escalation::{Board, Pending, Registry, Reply};
use ic_home::{Clock as _, Home, SystemClock};
use ic_policy::DecidedBy;
use ic_types::AbsolutePath;
use serde_json::{Value, json};

use super::{Samples, build_binary, shown};
use crate::ground::{Ground, reading};
use crate::peer::Peer;

/// How many questions wait at once, and how often that is done.
const WAITING: [(usize, usize); 4] = [(1, 90), (20, 10), (200, 2), (1000, 1)];
/// The same with a process for each call.
const WAITING_ONE_SHOT: [(usize, usize); 2] = [(1, 20), (20, 2)];
/// How many questions one session asks, which may ask 30 a minute, and the same one 20 times.
const QUESTIONS_MAX: usize = 15;
/// After this, a question does not come any more.
const PATIENCE: Duration = Duration::from_secs(30);

/// Who serves the calls.
#[derive(Clone, Copy)]
enum Served {
    /// A trivial server that runs already.
    Standing,
    /// The filesystem server, started for each call.
    OneShot,
}

/// What was measured.
#[derive(Default)]
struct Times {
    visible: Samples,
    served: Samples,
}

/// Runs the benchmark.
pub(super) fn run(out: &mut dyn Write, given: Option<&Path>) -> anyhow::Result<()> {
    let binary = build_binary(given)?;
    let tables = [
        (Served::Standing, "served by a server that runs", &WAITING[..]),
        (Served::OneShot, "served by a process of its own", &WAITING_ONE_SHOT[..]),
    ];
    for (served, title, sizes) in tables {
        writeln!(
            out,
            "\n| waiting, {title} | asked to visible p50 | p95 | p99 | answered to result p50 | p95 \
             | p99 |\n|---:|---:|---:|---:|---:|---:|---:|"
        )?;
        for (n_waiting, n_rounds) in sizes {
            let mut times = Times::default();
            rounds(&binary, served, (*n_waiting, *n_rounds), &mut times)?;
            let row = [&mut times.visible, &mut times.served].map(|samples| {
                [50, 95, 99].map(|percent| shown(samples.percentile(percent))).join(" | ")
            });
            writeln!(out, "| {n_waiting} | {} |", row.join(" | "))?;
        }
    }
    Ok(())
}

/// Asks so many questions at once, so often; sessions are begun anew when they have asked enough.
fn rounds(
    binary: &Path,
    served: Served,
    (n_waiting, n_rounds): (usize, usize),
    times: &mut Times,
) -> anyhow::Result<()> {
    let n_rounds_each = (QUESTIONS_MAX / n_waiting).max(1);
    let mut left = n_rounds;
    while 0 < left {
        let ground = asking(served)?;
        let n_sessions = n_waiting.div_ceil(QUESTIONS_MAX);
        let mut sessions = Vec::with_capacity(n_sessions);
        for n in 0..n_sessions {
            let mut command = ground.proxy(binary);
            command.arg("--wait").arg("--session").arg(format!("bench{n}"));
            let mut proxy = Peer::start(&mut command)?;
            proxy.ask("tools/list", &json!({}))?;
            sessions.push(proxy);
        }
        for _ in 0..n_rounds_each.min(left) {
            round(&ground, &mut sessions, (served, n_waiting), times)?;
            left -= 1;
        }
        for proxy in sessions {
            proxy.close()?;
        }
    }
    Ok(())
}

/// Asks `n_waiting` questions, and answers them one after another.
fn round(
    ground: &Ground,
    sessions: &mut [Peer],
    (served, n_waiting): (Served, usize),
    times: &mut Times,
) -> anyhow::Result<()> {
    let home = AbsolutePath::new(ground.path("home/.ironcurtain"))?;
    let registry = Registry::of(&Home::new(home));
    let mut board = Board::default();
    let mut look = || -> anyhow::Result<Vec<Pending>> {
        let sessions = registry.live()?.sessions;
        Ok(board.look(&sessions, SystemClock.now()).pending)
    };
    let n_sessions = sessions.len();
    // Who asked is told by an argument that says nothing else.
    let mut asked_by = HashMap::with_capacity(n_waiting);
    for count in 1..=n_waiting {
        let session = (count - 1) % n_sessions;
        let proxy = sessions.get_mut(session).context("a session")?;
        let asked = Instant::now();
        proxy.send("tools/call", &served.call(ground, count))?;
        while look()?.len() < count {
            ensure!(asked.elapsed() < PATIENCE, "question {count} does not come");
        }
        times.visible.0.push(asked.elapsed());
        asked_by.insert(count.to_string(), session);
    }
    for pending in look()? {
        let count = pending.request().arguments.get(served.counter()).context("a number")?;
        let session = asked_by.remove(&count.to_string()).context("a question of ours")?;
        let answered = Instant::now();
        pending.answer(&Reply::Approve(None), DecidedBy::Cli, SystemClock.now())?;
        sessions.get_mut(session).context("a session")?.next_answer()?;
        times.served.0.push(answered.elapsed());
    }
    ensure!(asked_by.is_empty(), "a call was not answered");
    Ok(())
}

impl Served {
    /// Returns the argument that tells one call from another.
    fn counter(self) -> &'static str {
        match self {
            Self::Standing => "count",
            Self::OneShot => "head",
        }
    }

    fn call(self, ground: &Ground, count: usize) -> Value {
        let name = match self {
            Self::Standing => "echo__read",
            Self::OneShot => "filesystem__read_text_file",
        };
        let arguments = json!({"path": ground.path("asked/file.txt"), self.counter(): count});
        json!({"name": name, "arguments": arguments})
    }
}

/// Makes a place whose policy asks about reading one directory, which is there.
fn asking(served: Served) -> anyhow::Result<Ground> {
    let tools =
        [reading(&[("read", &["count"])]), reading(&[("read_text_file", &["head", "tail"])])];
    let [echo, filesystem] = tools;
    let annotations = json!({"servers":
        {"echo": {"tools": echo}, "filesystem": {"tools": filesystem}}});
    let this = std::env::current_exe()?;
    let ground = Ground::new(&json!({}), &annotations)?;
    let asked = ground.path("asked");
    let servers = match served {
        // What it is asked about has to be in its view, or the call is refused.
        Served::Standing => json!({"echo": {"command": this, "args": ["echo-server"],
            "sandbox": {"filesystem": {"allowRead": [asked]}}}}),
        Served::OneShot => json!({"filesystem": {"builtin": "filesystem"}}),
    };
    std::fs::write(ground.path("servers.json"), servers.to_string())?;
    let rule = json!({
        "name": "ask", "then": "escalate", "reason": "it is measured",
        "if": {"paths": {"roles": ["read-path"], "within": asked}},
    });
    let policy = json!({"rules": [rule]});
    std::fs::write(ground.path("policy/compiled-policy.json"), policy.to_string())?;
    std::fs::create_dir(&asked)?;
    std::fs::write(asked.join("file.txt"), "a small file\n")?;
    Ok(ground)
}
