//! Clients who come, call, and go: politely, or without waiting for their answers.
//!
//! What they were told is kept here; whether it is true is the ledger's business.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use serde_json::{Value, json};

use super::Mischief;
use crate::ground::Ground;
use crate::peer::{Answer, Connection, Refused};

/// How many calls a client has in flight.
const FLYING: usize = 16;
/// How many calls the longest visit has.
const VISIT_MAX: u64 = 3000;
/// After this a proxy does not come back.
const PATIENCE: Duration = Duration::from_mins(1);

/// The calls of a day, each with a number of its own.
#[derive(Debug)]
pub(super) struct Calls<'a> {
    next: &'a AtomicU64,
    first: u64,
    end: u64,
    stranger_may_read: bool,
    file: String,
    scratch: String,
    is_stopped: AtomicBool,
}

/// What is to become of a call on a good day.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Wanted {
    Served,
    Refused,
}

/// What clients were told.
#[derive(Debug, Default)]
pub(super) struct Visits {
    pub(super) n_paid: u64,
    /// The calls that were answered well.
    pub(super) served: Vec<u64>,
    pub(super) n_refused: u64,
}

impl<'a> Calls<'a> {
    pub(super) fn new(
        next: &'a AtomicU64,
        n_calls: u64,
        stranger_may_read: bool,
        ground: &Ground,
    ) -> Self {
        let first = next.load(Ordering::SeqCst);
        let path = |name: &str| ground.path(name).display().to_string();
        let (file, scratch) = (path("sandbox/file.txt"), path("sandbox/scratch.txt"));
        let is_stopped = AtomicBool::new(false);
        Self { next, first, end: first + n_calls, stranger_may_read, file, scratch, is_stopped }
    }

    /// Returns how many were handed out.
    pub(super) fn n_taken(&self) -> u64 {
        self.next.load(Ordering::SeqCst) - self.first
    }

    /// Hands out no more.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
    }

    /// Waits until `part` of `n_parts` were handed out.
    pub(super) fn wait_for(&self, part: u64, n_parts: u64) {
        let n_awaited = (self.end - self.first) * part / n_parts;
        while self.n_taken() < n_awaited && !self.is_stopped.load(Ordering::SeqCst) {
            sleep(Duration::from_millis(2));
        }
    }

    fn take(&self, n_calls: u64) -> Option<Range<u64>> {
        if self.is_stopped.load(Ordering::SeqCst) {
            return None;
        }
        let until = |next: u64| (next < self.end).then(|| self.end.min(next + n_calls));
        let start = self.next.fetch_update(Ordering::SeqCst, Ordering::SeqCst, until).ok()?;
        Some(start..self.end.min(start + n_calls))
    }

    fn call(&self, number: u64) -> (Value, Wanted) {
        let Self { file, scratch, .. } = self;
        let (name, arguments, wanted) = match number % 20 {
            0 => {
                let arguments = json!({"path": scratch, "content": number.to_string()});
                ("filesystem__write_file", arguments, Wanted::Served)
            }
            1..=5 => {
                ("filesystem__read_file", json!({"path": file, "head": number}), Wanted::Served)
            }
            6 => {
                let arguments = json!({"path": "/etc/shadow", "count": number});
                ("s__read", arguments, Wanted::Refused)
            }
            7 => ("s__nothing", json!({"path": file, "count": number}), Wanted::Refused),
            8 => ("s__read", json!({"count": number}), Wanted::Refused),
            _ => {
                let wanted = if self.stranger_may_read { Wanted::Served } else { Wanted::Refused };
                ("s__read", json!({"path": file, "count": number}), wanted)
            }
        };
        (json!({"name": name, "arguments": arguments}), wanted)
    }
}

impl Visits {
    pub(super) fn add(&mut self, other: Self) {
        let Self { n_paid, served, n_refused } = other;
        self.n_paid += n_paid;
        self.served.extend(served);
        self.n_refused += n_refused;
    }
}

/// Visits again and again, until there are no more calls, or nobody is let in any more on a day on which
/// that is right. On some days calls may fail and the proxy may go away; a call that is not to be served
/// must never be.
pub(super) fn visit(
    socket: &Path,
    calls: &Calls<'_>,
    seed: u64,
    mischief: Mischief,
) -> anyhow::Result<Visits> {
    let (mut visits, mut die) = (Visits::default(), Die(seed + 1));
    let is_lenient = mischief.fails_calls();
    while let Some(numbers) = calls.take(1 + die.throw(VISIT_MAX)) {
        visits.n_paid += 1;
        let is_polite = die.throw(4) != 0;
        let client = match connect(socket) {
            Ok(client) => client,
            Err(error) => {
                calls.stop();
                let is_right = mischief == Mischief::DiskFills && error.is::<Refused>();
                return if is_right { Ok(visits) } else { Err(error) };
            }
        };
        let mut visit = Visit { client, calls, told: &mut visits, is_lenient };
        match visit.pay(numbers, is_polite) {
            Ok(()) => {}
            Err(Trouble::Gone(_)) if is_lenient => {}
            Err(Trouble::Gone(error) | Trouble::Wrong(error)) => {
                calls.stop();
                return Err(error);
            }
        }
    }
    Ok(visits)
}

/// Connects to a proxy that may be about to come back.
fn connect(socket: &Path) -> anyhow::Result<Connection> {
    let start = Instant::now();
    loop {
        match Connection::connect(socket) {
            Ok(connection) => return Ok(connection),
            Err(error) if error.is::<Refused>() => return Err(error),
            Err(error) if PATIENCE < start.elapsed() => {
                return Err(error.context("the proxy does not come back"));
            }
            Err(_) => sleep(Duration::from_millis(5)),
        }
    }
}

/// One visit of a client.
struct Visit<'a> {
    client: Connection,
    calls: &'a Calls<'a>,
    told: &'a mut Visits,
    is_lenient: bool,
}

/// Why a visit ended early.
enum Trouble {
    /// The proxy went away.
    Gone(anyhow::Error),
    /// An answer was wrong.
    Wrong(anyhow::Error),
}

impl Visit<'_> {
    /// Makes the calls; whoever is not polite leaves before the last answers.
    fn pay(&mut self, numbers: Range<u64>, is_polite: bool) -> Result<(), Trouble> {
        let mut flying = HashMap::with_capacity(FLYING);
        for number in numbers {
            if flying.len() == FLYING {
                self.hear(&mut flying)?;
            }
            let (call, wanted) = self.calls.call(number);
            let id = self.client.send("tools/call", &call).map_err(Trouble::Gone)?;
            flying.insert(id, (number, wanted));
        }
        while is_polite && !flying.is_empty() {
            self.hear(&mut flying)?;
        }
        Ok(())
    }

    /// Waits for an answer.
    fn hear(&mut self, flying: &mut HashMap<u64, (u64, Wanted)>) -> Result<(), Trouble> {
        let mut line = String::new();
        let Answer { id, is_good } = self.client.read_answer(&mut line).map_err(Trouble::Gone)?;
        let asked = flying.remove(&id).with_context(|| format!("nobody asked: {line}"));
        let (number, wanted) = asked.map_err(Trouble::Wrong)?;
        match (is_good, wanted) {
            (true, Wanted::Served) => self.told.served.push(number),
            (false, Wanted::Refused) => self.told.n_refused += 1,
            (false, Wanted::Served) if self.is_lenient => self.told.n_refused += 1,
            (true, Wanted::Refused) | (false, Wanted::Served) => {
                return Err(Trouble::Wrong(anyhow!("call {number} was to be {wanted:?}: {line}")));
            }
        }
        Ok(())
    }
}

/// Throws the same numbers in each soak.
struct Die(u64);

impl Die {
    /// Returns a number below `n_sides`.
    fn throw(&mut self, n_sides: u64) -> u64 {
        // One step of a linear congruence; its upper bits are good enough for clients.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n_sides
    }
}
