//! The proxy of a day: one process after the other in one session, on one socket.
//!
//! Does what it is told; what is told to it when is the day's business.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::ground::Ground;
use crate::peer::{Connection, descriptors, memory_kib};

/// How much memory may grow once a proxy has settled.
const GROWTH_KIB_MAX: u64 = 4096;
const PATIENCE: Duration = Duration::from_mins(1);

/// A proxy that runs.
#[derive(Debug)]
pub(super) struct House<'a> {
    ground: &'a Ground,
    binary: &'a Path,
    session: String,
    has_clock: bool,
    child: Child,
    /// Its memory in KiB and its descriptors, early in its life.
    settled: Option<(u64, usize)>,
}

impl<'a> House<'a> {
    /// Starts the proxy of a day; if `has_clock`, its clock can be set.
    pub(super) fn open(
        ground: &'a Ground,
        binary: &'a Path,
        day: usize,
        has_clock: bool,
    ) -> anyhow::Result<Self> {
        let session = format!("day-{day}");
        let child = start(ground, binary, &session, has_clock)?;
        let mut house = Self { ground, binary, session, has_clock, child, settled: None };
        house.wait_until_open()?;
        Ok(house)
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.ground.path("proxy.sock")
    }

    /// Returns what it said on standard error.
    pub(super) fn said(&self) -> String {
        fs::read_to_string(self.ground.path("stderr")).unwrap_or_default()
    }

    /// Remembers how large it is.
    pub(super) fn settle(&mut self) -> anyhow::Result<()> {
        self.settled = Some(self.size()?);
        Ok(())
    }

    /// Checks that it has not grown since it had settled; returns memory and descriptors.
    ///
    /// Clients who are gone are noticed one after the other.
    pub(super) fn check_size(&self) -> anyhow::Result<(u64, usize)> {
        let start = Instant::now();
        loop {
            let (kib, n_open) = self.size()?;
            let (kib_before, n_open_before) = self.settled.unwrap_or((kib, n_open));
            ensure!(kib <= kib_before + GROWTH_KIB_MAX, "memory: {kib_before}, then {kib} KiB");
            if n_open <= n_open_before {
                return Ok((kib, n_open));
            }
            ensure!(start.elapsed() < PATIENCE, "descriptors: {n_open_before}, then {n_open}");
            sleep(Duration::from_millis(5));
        }
    }

    fn size(&self) -> anyhow::Result<(u64, usize)> {
        Ok((memory_kib(self.child.id(), "VmRSS")?, descriptors(self.child.id())?))
    }

    /// Sets its clock forwards or backwards, such as `-40d`.
    pub(super) fn set_clock(&self, by: &str) -> anyhow::Result<()> {
        // At once, so that no half of it is read.
        fs::write(self.ground.path("clock.new"), by)?;
        Ok(fs::rename(self.ground.path("clock.new"), self.ground.path("clock"))?)
    }

    /// Kills the servers that it has started, and returns how many these were: one that crashes again
    /// and again is not started at once.
    pub(super) fn kill_servers(&self) -> anyhow::Result<usize> {
        let mut n_killed = 0;
        for pid in descendants(self.child.id())? {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            if words
                .split(|it| *it == 0)
                .any(|word| word == b"echo-server" || word == b"mcp-server")
            {
                // It may have ended with another one.
                n_killed += usize::from(kill(pid, Signal::KILL).is_ok());
            }
        }
        Ok(n_killed)
    }

    /// Kills it, and starts another one in the same session.
    pub(super) fn kill_and_open_again(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        self.child = start(self.ground, self.binary, &self.session, self.has_clock)?;
        self.settled = None;
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
        kill(self.child.id(), Signal::TERM)?;
        let start = Instant::now();
        while self.child.try_wait()?.is_none() {
            ensure!(start.elapsed() < PATIENCE, "the proxy does not end: {}", self.said());
            sleep(Duration::from_millis(5));
        }
        Ok(())
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
    command.arg("--socket").arg(ground.path("proxy.sock")).args(["--session", session]);
    if has_clock {
        fs::write(ground.path("clock"), "+0d")?;
        command.env("LD_PRELOAD", clock_library().context("libfaketime")?);
        command.env("FAKETIME_TIMESTAMP_FILE", ground.path("clock"));
        command.env("FAKETIME_CACHE_DURATION", "1").env("DONT_FAKE_MONOTONIC", "1");
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
