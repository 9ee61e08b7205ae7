//! Clients who come, call, and go: politely, or without waiting for their answers.
//!
//! What they were told is kept here; whether it is true is the ledger's business.

use std::collections::HashMap;
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use serde_json::json;

use super::calls::{Calls, Server, Wanted};
use crate::peer::{Answer, Connection, Refused};

/// How many calls a client has in flight.
pub(super) const FLYING: u64 = 16;
/// After this a proxy does not come back.
const PATIENCE: Duration = Duration::from_mins(1);
/// What a refusal says if the log cannot be written.
const UNWRITABLE: &str = "no call is forwarded";

/// How a client behaves; the clients of a shift begin with one of these each, and take turns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Manners {
    /// Waits for every answer.
    Polite,
    /// Leaves while calls are in flight.
    Rude,
    /// Asks which tools there are, before anything else.
    Curious,
    /// Comes once without a word, before the visit.
    Shy,
}

const MANNERS: [Manners; 4] = [Manners::Polite, Manners::Rude, Manners::Curious, Manners::Shy];
/// How many clients are there at a time; one of each kind.
pub(super) const N_CLIENTS: u64 = MANNERS.len() as u64;

/// What may happen to the calls of a shift.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// Whether the rules let the stranger read.
    pub(super) may_read: bool,
    /// Whose calls may fail.
    pub(super) failing: Option<Server>,
    /// Whether the proxy may go away, and come back.
    pub(super) goes_away: bool,
    /// Whether the log may become unwritable, which ends the shift.
    pub(super) fills: bool,
}

/// What clients were told.
#[derive(Debug, Default)]
pub(super) struct Visits {
    pub(super) n_paid: u64,
    pub(super) n_rude: u64,
    /// The calls that were answered well.
    pub(super) served: Vec<u64>,
    /// Those that were refused, as they had to be.
    pub(super) denied: Vec<u64>,
    /// Those that were refused because a server was not there.
    pub(super) failed: Vec<u64>,
    /// How many were refused because the log could not be written.
    pub(super) n_unwritable: u64,
    /// How many were in flight when their client left.
    pub(super) n_left: u64,
    /// How many were in flight when the proxy went away.
    pub(super) n_cut: u64,
    /// How many were not sent, since nobody was let in any more.
    pub(super) n_unsent: u64,
}

impl Visits {
    pub(super) fn add(&mut self, other: Self) {
        let Self { served, denied, failed, .. } = other;
        self.served.extend(served);
        self.denied.extend(denied);
        self.failed.extend(failed);
        self.n_paid += other.n_paid;
        self.n_rude += other.n_rude;
        self.n_unwritable += other.n_unwritable;
        self.n_left += other.n_left;
        self.n_cut += other.n_cut;
        self.n_unsent += other.n_unsent;
    }

    /// Returns how many calls were made.
    pub(super) fn n_sent(&self) -> u64 {
        let n_told = self.served.len() + self.denied.len() + self.failed.len();
        n_told as u64 + self.n_unwritable + self.n_left + self.n_cut
    }
}

/// The client number `seat` of a shift.
#[derive(Debug)]
pub(super) struct Client<'a> {
    pub(super) socket: &'a Path,
    pub(super) calls: &'a Calls<'a>,
    pub(super) terms: Terms,
    pub(super) seat: u64,
}

impl Client<'_> {
    /// Visits again and again, at first with the calls `numbers`, until there are no more.
    pub(super) fn visit(&self, numbers: Option<Range<u64>>) -> anyhow::Result<Visits> {
        let visits = self.visit_until_done(numbers);
        // Nobody is to wait for the others' sake.
        if visits.is_err() {
            self.calls.stop();
        }
        visits
    }

    fn visit_until_done(&self, mut numbers: Option<Range<u64>>) -> anyhow::Result<Visits> {
        let mut visits = Visits::default();
        let mut die = Die(numbers.as_ref().map_or(self.seat, |it| it.start));
        let mut manners = MANNERS.into_iter().cycle().skip(usize::try_from(self.seat)?);
        while let Some(taken) = numbers {
            let manners = manners.next().context("they take turns for ever")?;
            visits.n_paid += 1;
            visits.n_rude += u64::from(manners == Manners::Rude);
            self.visit_once(taken, manners, &mut visits)?;
            // Half of the visits are short ones.
            let longest = if die.throw(2) == 0 { FLYING } else { u64::MAX };
            numbers = self.calls.take(1 + die.throw(longest.min(self.calls.visit_max())));
        }
        Ok(visits)
    }

    /// Pays a visit, which goes on if the proxy went away and came back.
    fn visit_once(
        &self,
        mut numbers: Range<u64>,
        manners: Manners,
        told: &mut Visits,
    ) -> anyhow::Result<()> {
        if manners == Manners::Shy {
            // It may be away just now.
            drop(UnixStream::connect(self.socket));
        }
        while !numbers.is_empty() {
            let client = match connect(self.socket) {
                Err(error) if self.terms.fills && error.is::<Refused>() => {
                    self.calls.stop();
                    told.n_unsent += numbers.end - numbers.start;
                    return Ok(());
                }
                connected => connected?,
            };
            let flying = HashMap::new();
            let mut visit = Visit { client, by: self, told, flying };
            match visit.pay(&mut numbers, manners) {
                Ok(()) => {}
                Err(Trouble::Gone(_)) if self.terms.goes_away => {
                    visit.told.n_cut += visit.flying.len() as u64;
                }
                Err(Trouble::Gone(error) | Trouble::Wrong(error)) => return Err(error),
            }
        }
        Ok(())
    }
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

/// One visit of a client, or what is left of it.
struct Visit<'a> {
    client: Connection,
    by: &'a Client<'a>,
    told: &'a mut Visits,
    /// The calls whose answers are awaited, by the ids of their requests.
    flying: HashMap<u64, u64>,
}

/// Why a visit ended early.
enum Trouble {
    /// The proxy went away.
    Gone(anyhow::Error),
    /// An answer was wrong.
    Wrong(anyhow::Error),
}

impl Visit<'_> {
    /// Makes the calls, and takes them out of `numbers`.
    fn pay(&mut self, numbers: &mut Range<u64>, manners: Manners) -> Result<(), Trouble> {
        if manners == Manners::Curious {
            self.client.ask("tools/list", &json!({})).map_err(Trouble::Gone)?;
        }
        while !numbers.is_empty() {
            if self.flying.len() as u64 == FLYING {
                self.hear(numbers)?;
                continue;
            }
            let Some(number) = numbers.next() else { break };
            let id = self.client.next_id();
            // Half of it may have gone out.
            self.flying.insert(id, number);
            let call = self.by.calls.call(number);
            self.client.send("tools/call", &call).map_err(Trouble::Gone)?;
        }
        if manners == Manners::Rude {
            self.told.n_left += self.flying.len() as u64;
            return Ok(());
        }
        while !self.flying.is_empty() {
            self.hear(numbers)?;
        }
        Ok(())
    }

    /// Waits for an answer; if it says that the log is full, no more calls are made.
    fn hear(&mut self, numbers: &mut Range<u64>) -> Result<(), Trouble> {
        let mut line = String::new();
        let Answer { id, is_good } = self.client.read_answer(&mut line).map_err(Trouble::Gone)?;
        let asked = self.flying.remove(&id).with_context(|| format!("nobody asked: {line}"));
        let number = asked.map_err(Trouble::Wrong)?;
        let Terms { may_read, failing, fills, .. } = self.by.terms;
        match (is_good, Wanted::of(number, may_read)) {
            (true, Wanted::Served) => self.told.served.push(number),
            (false, _) if fills && line.contains(UNWRITABLE) => {
                self.by.calls.stop();
                self.told.n_unwritable += 1;
                self.told.n_unsent += numbers.end - numbers.start;
                numbers.start = numbers.end;
            }
            (false, Wanted::Denied) => self.told.denied.push(number),
            (false, Wanted::Served) if failing == Some(Server::of(number)) => {
                self.told.failed.push(number);
            }
            (true, Wanted::Denied) | (false, Wanted::Served) => {
                let wanted = Wanted::of(number, may_read);
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
