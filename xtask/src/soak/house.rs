//! The proxy of a day: one process after the other in one session, on one socket.
//!
//! Does what it is told; what is told to it when is the day's business.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use ic_home::{Clock as _, SystemClock};
use ic_types::Timestamp;
use rustix::process::{Pid, Signal, kill_process};

use super::calls::Server;
use super::life::{Growth, Life, Size};
use crate::ground::Ground;
use crate::peer::{Connection, descriptors, memory_kib, threads};

/// How many threads more there may be: servers that may write are looked after every second, at rest too.
const LOOKING_MAX: usize = 4;
const PATIENCE: Duration = Duration::from_mins(1);
/// How often in a row a process has the same descriptors and threads, if nothing is under way any more.
const N_SAME: usize = 10;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A proxy that runs.
#[derive(Debug)]
pub(super) struct House<'a> {
    ground: &'a Ground,
    binary: &'a Path,
    session: String,
    has_clock: bool,
    clock_days: i64,
    child: Child,
    life: Life,
    /// At which rest of its life a process has settled.
    settles_at: u64,
    growth: Growth,
    /// How the processes ended, one after the other.
    pub(super) ends: Vec<End>,
}

/// How a process ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum End {
    /// It was asked to, and had the time to finish.
    Asked,
    /// It was killed.
    Killed,
}

impl<'a> House<'a> {
    /// Starts the proxy of a day; if `has_clock`, its clock can be set.
    pub(super) fn open(
        ground: &'a Ground,
        binary: &'a Path,
        day: usize,
        has_clock: bool,
        settles_at: u64,
    ) -> anyhow::Result<Self> {
        let session = format!("day-{day}");
        let child = start(ground, binary, &session, has_clock)?;
        let (life, growth, ends) = (Life::default(), Growth::default(), Vec::new());
        let clock_days = 0;
        let mut house = Self {
            ground,
            binary,
            session,
            has_clock,
            clock_days,
            child,
            life,
            settles_at,
            growth,
            ends,
        };
        house.wait_until_open()?;
        Ok(house)
    }

    pub(super) fn ground(&self) -> &'a Ground {
        self.ground
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.ground.path("proxy.sock")
    }

    /// Returns the last of what it said on standard error.
    pub(super) fn said(&self) -> String {
        let said = fs::read_to_string(self.ground.path("stderr")).unwrap_or_default();
        let lines: Vec<&str> = said.lines().collect();
        lines.iter().skip(lines.len().saturating_sub(20)).flat_map(|it| [*it, "\n"]).collect()
    }

    /// Measures it when no client is there, after `n_calls` calls.
    ///
    /// Clients who are gone are noticed one after the other, and idle threads end after a while; so what
    /// it had when it had settled is waited for, and an error if it does not come.
    pub(super) fn rest(&mut self, n_calls: u64) -> anyhow::Result<Size> {
        let (start, settled) = (Instant::now(), self.life.settled());
        let (mut last, mut n_same) = (None, 0);
        let size = loop {
            let size = self.size()?;
            let now = Some((size.n_descriptors, size.n_threads));
            n_same = if now == last { n_same + 1 } else { 0 };
            last = now;
            let is_at_rest = settled.map_or(N_SAME <= n_same, |settled| {
                size.n_descriptors <= settled.n_descriptors
                    && size.n_threads <= settled.n_threads + LOOKING_MAX
            });
            if is_at_rest {
                break size;
            }
            ensure!(start.elapsed() < PATIENCE, "it is not at rest: {settled:?}, then {size:?}");
            sleep(Duration::from_millis(5));
        };
        self.life.rest(n_calls, size, self.settles_at);
        Ok(size)
    }

    fn size(&self) -> anyhow::Result<Size> {
        let pid = self.child.id();
        let memory_kib = memory_kib(pid, "VmRSS")?;
        Ok(Size { memory_kib, n_descriptors: descriptors(pid)?, n_threads: threads(pid)? })
    }

    /// Sets its clock so many days forwards or backwards from the right time.
    pub(super) fn set_clock(&mut self, days: i64) -> anyhow::Result<()> {
        // At once, so that no half of it is read.
        fs::write(self.ground.path("clock.new"), format!("{days:+}d"))?;
        fs::rename(self.ground.path("clock.new"), self.ground.path("clock"))?;
        self.clock_days = days;
        Ok(())
    }

    /// Returns the time as it sees it.
    pub(super) fn now(&self) -> Timestamp {
        let now_ms = SystemClock.now().unix_ms();
        Timestamp::from_unix_ms(now_ms.saturating_add_signed(self.clock_days * DAY_MS))
    }

    /// Kills the processes of a server, and returns how many these were.
    pub(super) fn kill_server(&self, server: Server) -> anyhow::Result<usize> {
        let mut n_killed = 0;
        for pid in descendants(self.child.id())? {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            if words.split(|it| *it == 0).any(|word| word == server.word()) {
                // It may have ended with another one.
                n_killed += usize::from(kill(pid, Signal::KILL).is_ok());
            }
        }
        Ok(n_killed)
    }

    /// Waits until a call to a server is served; a server that crashes again and again is not started
    /// at once. `number` is the first of numbers that nobody else uses.
    pub(super) fn wait_for(&self, server: Server, number: &mut u64) -> anyhow::Result<()> {
        let start = Instant::now();
        while !self.is_served(server, number)? {
            ensure!(start.elapsed() < PATIENCE, "the {server:?} does not come back");
            sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Makes one call; nobody who is not let in is served.
    pub(super) fn is_served(&self, server: Server, number: &mut u64) -> anyhow::Result<bool> {
        *number += 1;
        match Connection::connect(&self.socket()) {
            Err(error) if error.is::<crate::peer::Refused>() => Ok(false),
            connected => connected?.is_served(&server.probe(self.ground, *number)),
        }
    }

    /// Ends it, and starts another one in the same session.
    pub(super) fn open_again(&mut self, end: End) -> anyhow::Result<()> {
        match end {
            End::Asked => self.close()?,
            End::Killed => {
                self.look_back(end)?;
                self.child.kill()?;
                self.child.wait()?;
            }
        }
        self.child = start(self.ground, self.binary, &self.session, self.has_clock)?;
        self.wait_until_open()
    }

    fn wait_until_open(&mut self) -> anyhow::Result<()> {
        let start = Instant::now();
        while Connection::connect(&self.socket()).is_err() {
            if let Some(status) = self.child.try_wait()? {
                bail!("the proxy ended ({status}): {}", self.said());
            }
            ensure!(start.elapsed() < PATIENCE, "the proxy does not open: {}", self.said());
            sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Asks it to end, and waits for that.
    pub(super) fn close(&mut self) -> anyhow::Result<()> {
        self.look_back(End::Asked)?;
        kill(self.child.id(), Signal::TERM)?;
        let start = Instant::now();
        while self.child.try_wait()?.is_none() {
            ensure!(start.elapsed() < PATIENCE, "the proxy does not end: {}", self.said());
            sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Looks back on the life of the process that ends now.
    fn look_back(&mut self, end: End) -> anyhow::Result<()> {
        let growth = std::mem::take(&mut self.life).check()?;
        self.growth = self.growth.steeper(growth);
        self.ends.push(end);
        Ok(())
    }

    /// Returns how the process grew that grew most.
    pub(super) fn growth(&self) -> Growth {
        self.growth
    }

    /// Returns the hash of the policy that lies there now.
    pub(super) fn policy_hash(&self) -> anyhow::Result<String> {
        let policy = self.ground.path("policy");
        let mut command = self.ground.command(self.binary);
        let output = command.args(["policy", "show", "--json", "--policy"]).arg(policy).output()?;
        let shown: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let hash = shown.get("policyHash").and_then(serde_json::Value::as_str);
        Ok(hash.context("a policy has a hash")?.to_owned())
    }

    /// Returns where its log is.
    pub(super) fn log(&self) -> anyhow::Result<PathBuf> {
        let sessions = fs::read_dir(self.ground.path("home/.ironcurtain/sessions"))?;
        let logs = sessions
            .map(|it| Ok(it?.path().join("audit.jsonl")))
            .filter(|it: &std::io::Result<PathBuf>| it.as_ref().is_ok_and(|path| path.exists()));
        let logs = logs.collect::<Result<Vec<_>, _>>()?;
        let [log] = logs.as_slice() else { bail!("there are {} logs", logs.len()) };
        Ok(log.clone())
    }

    /// Checks the log as its reader would, and removes the session.
    pub(super) fn verify_and_forget(&self) -> anyhow::Result<()> {
        for words in [
            ["audit", "verify", &self.session].as_slice(),
            &["sessions", "delete", "--yes", &self.session],
        ] {
            let output = self.ground.command(self.binary).args(words).output()?;
            let said = String::from_utf8_lossy(&output.stdout);
            let complaint = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "`{}`: {said}{complaint}", words.join(" "));
        }
        // Logs are kept by the program; not by us, whose disk is no larger than others.
        Ok(fs::remove_dir_all(self.ground.path("home/.ironcurtain/audit"))?)
    }
}

/// No proxy is left behind.
impl Drop for House<'_> {
    fn drop(&mut self) {
        // It may have ended.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Returns the library that lets a program see another time.
pub(super) fn clock_library() -> Option<PathBuf> {
    let directories =
        ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];
    let libraries = directories.map(|it| Path::new(it).join("faketime/libfaketime.so.1"));
    libraries.into_iter().find(|it| it.exists())
}

fn start(ground: &Ground, binary: &Path, session: &str, has_clock: bool) -> anyhow::Result<Child> {
    let mut command: Command = ground.proxy(binary);
    command.arg("--socket").arg(ground.path("proxy.sock")).args(["--wait", "--session", session]);
    if has_clock {
        fs::write(ground.path("clock"), "+0d")?;
        command.env("LD_PRELOAD", clock_library().context("libfaketime")?);
        command.env("FAKETIME_TIMESTAMP_FILE", ground.path("clock"));
        // The time that passes is the kernel's own, which no jump changes.
        command.env("FAKETIME_NO_CACHE", "1").env("DONT_FAKE_MONOTONIC", "1");
    }
    let stderr = fs::OpenOptions::new().create(true).append(true).open(ground.path("stderr"))?;
    Ok(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr).spawn()?)
}

fn kill(pid: u32, signal: Signal) -> anyhow::Result<()> {
    let pid = Pid::from_raw(i32::try_from(pid)?).context("a process")?;
    Ok(kill_process(pid, signal)?)
}

/// Returns the processes below `pid`.
fn descendants(pid: u32) -> anyhow::Result<Vec<u32>> {
    let mut found = vec![pid];
    let mut n_looked_at = 0;
    while let Some(pid) = found.get(n_looked_at).copied() {
        n_looked_at += 1;
        let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { continue };
        for task in tasks {
            let children = fs::read_to_string(task?.path().join("children")).unwrap_or_default();
            found.extend(children.split_whitespace().filter_map(|it| it.parse::<u32>().ok()));
        }
    }
    Ok(found.split_off(1))
}
