//! One day: shifts of clients with a rest after each, the day's mischief, and the accounts in the evening.
//!
//! How a call is judged right or wrong is not known here.

use std::fs::{self, OpenOptions};
use std::io::BufReader;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::Soak;
use super::calls::{Calls, OWN, Server};
use super::client::{Client, FLYING, N_CLIENTS, Terms, Visits};
use super::clock;
use super::house::{End, House};
use super::ledger::{InForce, Ledger};
use super::life::{Growth, Size};
use super::mischief::Mischief;
use crate::bench::per_second;
use crate::ground::Ground;

/// How many shifts a day has, and one with fewer calls than `LONG`.
const N_SHIFTS: [u64; 2] = [16, 8];
const LONG: u64 = 100_000;
/// How much room the log has on the day on which its disk fills: less than half of what it needs, and
/// more than it needs for two shifts, so that there are rests before and after.
const ROOM_PER_CALL: u64 = 500;
const ROOM_MAX: u64 = 32 << 20;
const LARGE_DISK: &str = "size=4g";

/// What a day is to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) number: usize,
    pub(super) mischief: Mischief,
    pub(super) n_calls: u64,
}

/// A day that is under way.
struct Day<'a> {
    soak: &'a Soak,
    plan: Plan,
    n_shifts: u64,
    house: House<'a>,
    policies: Vec<InForce>,
    /// The last number of a call that no client made.
    own: u64,
    visits: Visits,
    done: Done,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    /// How often a server was killed, and came back.
    pub(super) crashes: u64,
    pub(super) kills: u64,
    pub(super) policies: u64,
    pub(super) jumps: u64,
    pub(super) fills: u64,
}

/// What there is to say of a day.
#[derive(Debug)]
pub(super) struct Report {
    plan: Plan,
    took: Duration,
    visits: Visits,
    n_unfinished: u64,
    pub(super) n_records: u64,
    pub(super) done: Done,
    growth: Growth,
    size: Size,
}

impl Soak {
    /// Lives through one day, and looks at everything in the evening.
    pub(super) fn live(&self, plan: Plan) -> anyhow::Result<Report> {
        let (start, Plan { number, mischief, n_calls }) = (Instant::now(), plan);
        let home = self.ground.path("home");
        if mischief == Mischief::DiskFills {
            mount(&["-t", "tmpfs", "-o", LARGE_DISK, "none"], &home)?;
        }
        write_policy(&self.ground, true)?;
        let [n_shifts, n_shifts_short] = N_SHIFTS;
        let n_shifts = if n_calls < LONG { n_shifts_short } else { n_shifts };
        let has_clock = mischief == Mischief::ClockJumps;
        let settles_at = mischief.settles_at(n_shifts);
        let house = House::open(&self.ground, &self.binary, number, has_clock, settles_at)?;
        if mischief == Mischief::DiskFills {
            // What a home holds before the first call is no part of the room for the log.
            let room = ROOM_MAX.min(n_calls * ROOM_PER_CALL);
            resize(&home, &format!("size={}", used(&home)? + room))?;
        }
        let (policies, visits, done) = (Vec::new(), Visits::default(), Done::default());
        let mut day = Day { soak: self, plan, n_shifts, house, policies, own: OWN, visits, done };
        let spent = day.spend();
        let (size, n_records, n_unfinished) = spent.with_context(|| {
            format!(
                "day {number}, {mischief:?}; the last that the proxy said:\n{}",
                day.house.said()
            )
        })?;
        let Day { house, visits, done, .. } = day;
        house.verify_and_forget()?;
        if mischief == Mischief::DiskFills {
            let status = Command::new("umount").arg(home).status()?;
            ensure!(status.success(), "the small disk cannot be taken away");
        }
        let (took, growth) = (start.elapsed(), house.growth());
        Ok(Report { plan, took, visits, n_unfinished, n_records, done, growth, size })
    }
}

impl Day<'_> {
    /// Lives through the shifts; returns what the proxy took up at the last rest, how many records there
    /// are, and how many calls without an outcome.
    fn spend(&mut self) -> anyhow::Result<(Size, u64, u64)> {
        let first = self.soak.next.load(Ordering::SeqCst);
        self.note_policy(true)?;
        let mut size = None;
        for shift in 0..self.n_shifts {
            let n_left = self.plan.n_calls.saturating_sub(self.visits.n_sent());
            let n_calls = n_left / (self.n_shifts - shift);
            let visits = self.shift(shift, n_calls).with_context(|| format!("shift {shift}"))?;
            let is_full = 0 < visits.n_unwritable + visits.n_unsent;
            self.visits.add(visits);
            if let Some(server) = self.plan.mischief.victim(shift) {
                self.house.wait_for(server, &mut self.own)?;
                self.done.crashes += 1;
            }
            let n_made = self.soak.next.load(Ordering::SeqCst) - first;
            let rested = self.house.rest(n_made).with_context(|| format!("after shift {shift}"));
            size = Some(rested?);
            if is_full {
                self.make_room()?;
            }
            if self.plan.mischief.replaces_policy(shift, self.n_shifts) {
                self.house.open_again(End::Asked)?;
                self.note_policy(!self.may_read())?;
                self.done.policies += 1;
            }
        }
        self.house.close()?;
        let n_calls = self.soak.next.load(Ordering::SeqCst) - first;
        let log = OpenOptions::new().read(true).open(self.house.log()?)?;
        let log = BufReader::with_capacity(1 << 20, log);
        let ledger = Ledger::read(log, &self.policies)?;
        ledger.check(&self.visits, &self.house.ends)?;
        self.check_counts(n_calls)?;
        Ok((size.context("a day has shifts")?, ledger.n_records, ledger.n_unfinished()))
    }

    /// Lets clients come and go until the calls of the shift are made, with the day's mischief amid.
    fn shift(&mut self, shift: u64, n_calls: u64) -> anyhow::Result<Visits> {
        let mischief = self.plan.mischief;
        let calls = Calls::new(&self.soak.next, n_calls, &self.soak.ground);
        let terms = Terms {
            may_read: self.may_read(),
            failing: mischief.victim(shift),
            goes_away: mischief.kills_proxy(shift),
            // It fills once.
            fills: mischief == Mischief::DiskFills && self.done.fills == 0,
        };
        let socket = self.house.socket();
        let (socket, calls) = (&socket, &calls);
        std::thread::scope(|scope| {
            let clients = (0..N_CLIENTS).map(|seat| {
                // Each has at least one visit, so that all kinds of them were there.
                let numbers = calls.take(calls.visit_max());
                let client = Client { socket, calls, terms, seat };
                scope.spawn(move || client.visit(numbers))
            });
            let clients: Vec<_> = clients.collect();
            calls.wait_for_half();
            let disturbed = self.disturb(shift);
            // Nobody is to wait for a proxy that does not come back.
            if disturbed.is_err() {
                calls.stop();
            }
            let mut visits = Visits::default();
            for client in clients {
                visits.add(client.join().map_err(|_| anyhow::anyhow!("a client panicked"))??);
            }
            disturbed.map(|()| visits)
        })
    }

    /// Does the day's mischief while clients are there.
    fn disturb(&mut self, shift: u64) -> anyhow::Result<()> {
        let mischief = self.plan.mischief;
        if let Some(server) = mischief.victim(shift) {
            let n_killed = self.house.kill_server(server)?;
            ensure!(n_killed != 0, "no process of the {server:?} is there to be killed");
        }
        if mischief.kills_proxy(shift) {
            self.house.open_again(End::Killed)?;
            self.done.kills += 1;
        }
        if mischief.replaces_policy(shift, self.n_shifts) {
            // What lies there now is in force after the next start, and in no run before.
            write_policy(&self.soak.ground, !self.may_read())?;
        }
        if mischief.sets_clock(shift, self.n_shifts) {
            clock::jump(&mut self.house, &mut self.own)?;
            self.done.jumps += 1;
        }
        Ok(())
    }

    /// On a full disk nothing is served; with room again, a new start of the session serves.
    fn make_room(&mut self) -> anyhow::Result<()> {
        let is_served = self.house.is_served(Server::Stranger, &mut self.own)?;
        ensure!(!is_served, "the disk is full, and a call was served");
        resize(&self.soak.ground.path("home"), LARGE_DISK)?;
        self.house.open_again(End::Killed)?;
        let is_served = self.house.is_served(Server::Stranger, &mut self.own)?;
        ensure!(is_served, "there is room again, and a call was refused");
        self.done.fills += 1;
        Ok(())
    }

    /// Notes that from now on calls are judged by the policy that lies there.
    fn note_policy(&mut self, may_read: bool) -> anyhow::Result<()> {
        let (first, hash) = (self.soak.next.load(Ordering::SeqCst), self.house.policy_hash()?);
        let is_other = self.policies.last().is_none_or(|last| last.hash != hash);
        ensure!(is_other, "the policy was replaced by the same one");
        self.policies.push(InForce { first, hash, may_read });
        Ok(())
    }

    fn may_read(&self) -> bool {
        self.policies.last().is_none_or(|it| it.may_read)
    }

    /// Checks that every call has become something, and that no more of them were cut off than can have
    /// been in flight; and that the mischief was done.
    fn check_counts(&self, n_calls: u64) -> anyhow::Result<()> {
        let (visits, done) = (&self.visits, &self.done);
        let n_known = visits.n_sent() + visits.n_unsent;
        ensure!(n_known == n_calls, "of {n_calls} calls, {n_known} became something");
        for (n_found, n_allowed, what) in [
            (visits.n_left, visits.n_rude * FLYING, "were left by their clients"),
            (visits.n_cut, done.kills * N_CLIENTS * FLYING, "were cut off"),
            (visits.n_unwritable, done.fills * N_CLIENTS * FLYING, "could not be recorded"),
        ] {
            ensure!(n_found <= n_allowed, "{n_found} calls {what}; {n_allowed} can have been");
        }
        ensure!(visits.n_unsent == 0 || done.fills != 0, "{} were not sent", visits.n_unsent);
        let (n_done, n_wanted) = match self.plan.mischief {
            Mischief::None => (0, 0),
            Mischief::ServersCrash => (done.crashes, self.n_shifts / 2),
            Mischief::ProxyKilled => (done.kills, self.n_shifts / 2 - 1),
            Mischief::PolicyReplaced => (done.policies, self.n_shifts / 2 - 1),
            Mischief::ClockJumps => (done.jumps, 4),
            Mischief::DiskFills => (done.fills, 1),
        };
        ensure!(n_done == n_wanted, "the mischief was done {n_done} times of {n_wanted}");
        Ok(())
    }
}

impl Report {
    /// Returns how many calls were made.
    pub(super) fn n_calls(&self) -> u64 {
        self.visits.n_sent()
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Plan { number, mischief, .. }, visits) = (self.plan, &self.visits);
        let per_second = per_second(self.n_calls(), self.took);
        write!(
            f,
            "| {number}, {mischief:?} | {} | {} | {per_second:.0} | {} | {} | {} | {} | {} | {} | {} | {} \
             | {} KiB | {} | {} | {} |",
            self.n_calls(),
            visits.n_paid,
            visits.served.len(),
            visits.denied.len(),
            visits.failed.len(),
            visits.n_left,
            visits.n_cut,
            visits.n_unwritable,
            self.n_unfinished,
            self.n_records,
            self.size.memory_kib,
            self.growth,
            self.size.n_descriptors,
            self.size.n_threads,
        )
    }
}

/// The head of the table whose rows reports are.
pub(super) const HEAD: &str = "\
| day | calls | clients | calls/s | served | denied | failed | left | cut off | log full | no outcome | records \
| RSS | growth | descriptors | threads |\n\
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|";

/// Replaces the policy: the stranger may read in the sandbox, or may not; elsewhere a person is asked.
fn write_policy(ground: &Ground, may_read: bool) -> std::io::Result<()> {
    let rule = |name: &str, then: &str, roles: &[&str], within: &str| {
        json!({
            "name": name, "then": then, "reason": "so it is on this day",
            "if": {"paths": {"roles": roles, "within": ground.path(within)}},
        })
    };
    let roles: &[&str] = if may_read { &["read-path", "write-path"] } else { &["write-path"] };
    let rules = [
        rule("allow-in-the-sandbox", "allow", roles, "sandbox"),
        rule("ask", "escalate", &["read-path"], "asked"),
    ];
    // At once, so that no half of it is read.
    let (new, policy) = (ground.path("policy.new"), ground.path("policy/compiled-policy.json"));
    fs::write(&new, json!({"rules": rules}).to_string())?;
    fs::rename(new, policy)
}

/// Gives the disk that is mounted at `at` another size.
fn resize(at: &Path, size: &str) -> anyhow::Result<()> {
    mount(&["-o", &format!("remount,{size}")], at)
}

/// Returns how many bytes are used of the disk that is mounted at `at`.
fn used(at: &Path) -> anyhow::Result<u64> {
    let disk = rustix::fs::statvfs(at)?;
    Ok((disk.f_blocks - disk.f_bfree) * disk.f_frsize)
}

fn mount(words: &[&str], at: &Path) -> anyhow::Result<()> {
    let status = Command::new("mount").args(words).arg(at).status()?;
    ensure!(status.success(), "`mount {}` failed", words.join(" "));
    Ok(())
}
