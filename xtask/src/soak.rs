//! `cargo xtask soak`: days in the life of a proxy, compressed into minutes.
//!
//! Each day is a session with many clients who come and go, some of them without a word, and one kind
//! of mischief. Whatever happens, every call that was answered is in the log with its outcome, nothing
//! that the policy refuses is answered well, the log verifies, and neither memory nor descriptors grow.

mod client;
mod house;
mod ledger;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use self::client::{Calls, Visits, visit};
use self::house::House;
use self::ledger::Ledger;
use crate::bench::{build_binary, per_second, run_optimised};
use crate::ground::{Ground, reading};
use crate::peer::{Connection, Refused};

/// How many calls a day has.
const DAY: u64 = 250_000;
/// How many clients are there at a time.
const N_CLIENTS: u64 = 4;
/// How often a day's mischief is done.
const N_MISCHIEFS: u64 = 8;
/// How much room the home has on the day on which its disk fills.
const SMALL_DISK: &str = "size=24m";
const LARGE_DISK: &str = "remount,size=4g";
/// Says to this program that it has mounts of its own.
const OWN_MOUNTS: &str = "IRONCURTAIN_SOAK_OWN_MOUNTS";

/// What a day has in store.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mischief {
    /// Nothing but clients who come and go.
    None,
    /// The servers are killed in the middle of their calls.
    ServersCrash,
    /// The proxy is killed likewise, and started again in the same session.
    ProxyKilled,
    /// The policy is replaced; it counts from the next start on.
    PolicyReplaced,
    /// The clock jumps forwards and backwards by days.
    ClockJumps,
    /// The log fills its disk, which ends the day early; then there is room again.
    DiskFills,
}

const MISCHIEFS: [Mischief; 6] = [
    Mischief::None,
    Mischief::ServersCrash,
    Mischief::ProxyKilled,
    Mischief::PolicyReplaced,
    Mischief::ClockJumps,
    Mischief::DiskFills,
];

/// Lives through as many days as `n_calls` take.
pub fn run(n_calls: u64, out: &mut dyn Write) -> anyhow::Result<()> {
    if cfg!(debug_assertions) {
        return run_optimised();
    }
    if std::env::var_os(OWN_MOUNTS).is_none() && rustix::process::geteuid().is_root() {
        return run_with_own_mounts();
    }
    let soak = Soak { binary: build_binary()?, ground: ground()?, next: AtomicU64::new(1) };
    writeln!(
        out,
        "| day | calls | clients | calls/s | served | refused | unanswered | records | RSS | descriptors |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    )?;
    let (start, mut n_done, mut n_records) = (Instant::now(), 0, 0);
    for (number, mischief) in (1..).zip(MISCHIEFS.into_iter().cycle()) {
        if n_calls <= n_done {
            break;
        }
        if let Some(why) = mischief.is_impossible() {
            writeln!(out, "| {number}, no {mischief:?}: {why} |")?;
            continue;
        }
        let day = soak.live(number, mischief, DAY.min(n_calls - n_done))?;
        writeln!(out, "{day}")?;
        out.flush()?;
        n_done += day.n_calls;
        n_records += day.n_records;
    }
    writeln!(out, "\n{n_done} calls and {n_records} records in {} s.", start.elapsed().as_secs())?;
    Ok(())
}

/// Everything that lasts longer than a day.
#[derive(Debug)]
struct Soak {
    binary: PathBuf,
    ground: Ground,
    /// The number of the next call; no two calls have the same.
    next: AtomicU64,
}

/// What there is to say of a day.
#[derive(Debug)]
struct Day {
    number: usize,
    mischief: Mischief,
    n_calls: u64,
    took: Duration,
    visits: Visits,
    n_records: u64,
    memory_kib: u64,
    n_descriptors: usize,
}

impl Soak {
    /// Lives through one day, and looks at everything in the evening.
    fn live(&self, number: usize, mischief: Mischief, n_calls: u64) -> anyhow::Result<Day> {
        let (start, first) = (Instant::now(), self.next.load(Ordering::SeqCst));
        if mischief == Mischief::DiskFills {
            mount(&["-t", "tmpfs", "-o", SMALL_DISK, "none"], &self.ground.path("home"))?;
        }
        // What the built-in server does in the sandbox needs no rule; the other one's reads do.
        let may_read = mischief != Mischief::PolicyReplaced;
        self.ground.allow(if may_read { &["read-path", "write-path"] } else { &["write-path"] })?;
        let has_clock = mischief == Mischief::ClockJumps;
        let mut house = House::open(&self.ground, &self.binary, number, has_clock)?;
        let calls = Calls::new(&self.next, n_calls, may_read, &self.ground);
        let visits = self
            .spend(&mut house, mischief, &calls)
            .with_context(|| format!("day {number}, {mischief:?}; the proxy: {}", house.said()))?;
        let (memory_kib, n_descriptors) = house.check_size()?;
        house.close()?;
        let ledger = Ledger::read(&house.log()?, first)?;
        ledger.check(&visits.served).with_context(|| format!("day {number}, {mischief:?}"))?;
        house.verify_and_forget()?;
        if mischief == Mischief::DiskFills {
            let status = Command::new("umount").arg(self.ground.path("home")).status()?;
            ensure!(status.success(), "the small disk cannot be taken away");
        }
        let (n_calls, n_records, took) = (calls.n_taken(), ledger.n_records, start.elapsed());
        Ok(Day { number, mischief, n_calls, took, visits, n_records, memory_kib, n_descriptors })
    }

    /// Lets clients come and go, and does the day's mischief to them.
    fn spend(
        &self,
        house: &mut House<'_>,
        mischief: Mischief,
        calls: &Calls<'_>,
    ) -> anyhow::Result<Visits> {
        let socket = house.socket();
        let visits = std::thread::scope(|scope| {
            let client = |seed| {
                let socket = &socket;
                move || visit(socket, calls, seed, mischief)
            };
            let clients: Vec<_> = (0..N_CLIENTS).map(|seed| scope.spawn(client(seed))).collect();
            let disturbed = self.disturb(house, mischief, calls);
            // Nobody is to wait for a proxy that does not come back.
            if disturbed.is_err() {
                calls.stop();
            }
            let mut visits = Visits::default();
            for client in clients {
                visits.add(client.join().map_err(|_| anyhow::anyhow!("a client panicked"))??);
            }
            disturbed.map(|()| visits)
        })?;
        if mischief == Mischief::DiskFills {
            self.make_room(house)?;
        }
        Ok(visits)
    }

    /// Does the day's mischief, some times over the day.
    fn disturb(
        &self,
        house: &mut House<'_>,
        mischief: Mischief,
        calls: &Calls<'_>,
    ) -> anyhow::Result<()> {
        let mut n_killed = 0;
        for part in 1..=N_MISCHIEFS {
            calls.wait_for(part, N_MISCHIEFS + 1);
            match mischief {
                Mischief::None | Mischief::DiskFills => {}
                Mischief::ServersCrash => n_killed += house.kill_servers()?,
                Mischief::ProxyKilled => house.kill_and_open_again()?,
                // What lies there now counts for the next session, and for none that runs.
                Mischief::PolicyReplaced => self.ground.allow(&["read-path"])?,
                Mischief::ClockJumps => {
                    house.set_clock(if part % 2 == 0 { "-40d" } else { "+3d" })?;
                }
            }
            if part == 2 {
                house.settle()?;
            }
        }
        let is_idle = mischief == Mischief::ServersCrash && n_killed == 0;
        ensure!(!is_idle, "no server was there to be killed");
        Ok(())
    }

    /// On a full disk nothing is served; with room again, a new start of the session serves.
    fn make_room(&self, house: &mut House<'_>) -> anyhow::Result<()> {
        let path = self.ground.path("sandbox/file.txt");
        let call = json!({"name": "s__read", "arguments": {"path": path, "count": 0}});
        let is_served = |house: &House<'_>| match Connection::connect(&house.socket()) {
            Err(error) if error.is::<Refused>() => Ok(false),
            connected => connected?.is_served(&call),
        };
        ensure!(!is_served(house)?, "the disk is full, and a call was served");
        mount(&["-o", LARGE_DISK], &self.ground.path("home"))?;
        house.kill_and_open_again()?;
        ensure!(is_served(house)?, "there is room again, and a call was refused");
        Ok(())
    }
}

impl Mischief {
    /// Says why it cannot be done here.
    fn is_impossible(self) -> Option<&'static str> {
        match self {
            Self::DiskFills if std::env::var_os(OWN_MOUNTS).is_none() => {
                Some("only root may mount a small disk")
            }
            Self::ClockJumps if house::clock_library().is_none() => {
                Some("there is no libfaketime; the package faketime has it")
            }
            _ => None,
        }
    }

    /// Whether calls may fail that would be served on a better day.
    fn fails_calls(self) -> bool {
        matches!(self, Self::ServersCrash | Self::ProxyKilled | Self::DiskFills)
    }
}

impl std::fmt::Display for Day {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { number, mischief, n_calls, n_records, memory_kib, n_descriptors, .. } = self;
        let Visits { served, n_refused, n_paid } = &self.visits;
        let n_served = served.len() as u64;
        // Their client, or their proxy, went away before the answer came.
        let n_lost = n_calls - n_served - n_refused;
        let per_second = per_second(*n_calls, self.took);
        write!(
            f,
            "| {number}, {mischief:?} | {n_calls} | {n_paid} | {per_second:.0} | {n_served} \
             | {n_refused} | {n_lost} | {n_records} | {memory_kib} KiB | {n_descriptors} |"
        )
    }
}

/// Makes a place whose servers are a trivial one and the built-in one for files.
fn ground() -> anyhow::Result<Ground> {
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
    Ground::new(&servers, &annotations)
}

fn mount(words: &[&str], at: &Path) -> anyhow::Result<()> {
    let status = Command::new("mount").args(words).arg(at).status()?;
    ensure!(status.success(), "`mount {}` failed", words.join(" "));
    Ok(())
}

/// Starts this program again where its mounts are nobody else's.
fn run_with_own_mounts() -> anyhow::Result<()> {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "--"]).arg(std::env::current_exe()?);
    let status = command.args(std::env::args_os().skip(1)).env(OWN_MOUNTS, "").status()?;
    ensure!(status.success(), "the days did not go well");
    Ok(())
}
