//! What the system says about processes, and the end of those that are below one of them.
//!
//! ```text
//! kill_below(us): for each child: hold it ─▶ is it still ours? ─▶ SIGKILL ─▶ the same for its children
//! ```
//!
//! A process that was killed forks no more, so whoever lists its children afterwards sees them all.
//! One that ends by itself meanwhile leaves its children to its subreaper, where the next round finds
//! them: this module makes one round, and others decide how many. It waits for nobody.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};

use rustix::event::{Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::proc;

mod holders;
#[cfg(test)]
mod tests;

pub(crate) use holders::{Wanted, is_held_below};

/// The most processes that one round looks at.
const PROCESSES_MAX: usize = 1 << 16;
/// How often, and after how long, it is looked whether everything stands still: for a second at least, since a
/// thread on a busy machine stops only when it is its turn.
const STOP_ROUNDS_MAX: usize = 1000;
const STOP_ROUND: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
/// More than `/proc/PID/stat` takes.
const STAT_BYTES_MAX: usize = 4096;
/// Eight bytes for each of the processes.
const CHILDREN_BYTES_MAX: usize = 8 * PROCESSES_MAX;

/// How the children of a process are found.
#[derive(Debug)]
pub(crate) enum Kinship {
    /// Each process has a list of its children, where the kernel was built to keep one.
    Lists,
    /// All processes by their parents, as they were a moment ago.
    Scan(HashMap<Pid, Vec<Pid>>),
}

impl Kinship {
    /// Takes the list if there is one, which costs less.
    pub(crate) fn now() -> Self {
        let own = rustix::process::getpid();
        let list = task_directory(own).join(own.to_string()).join("children");
        match rustix::fs::stat(&list) {
            Ok(_) => Self::Lists,
            Err(_) => Self::scan(),
        }
    }

    fn scan() -> Self {
        let mut children: HashMap<_, Vec<_>> = HashMap::new();
        for pid in processes() {
            if let Some(status) = Status::of(pid) {
                children.entry(status.parent).or_default().push(pid);
            }
        }
        Self::Scan(children)
    }

    fn children(&self, parent: Pid) -> Vec<Pid> {
        match self {
            Self::Lists => listed_children(parent),
            Self::Scan(children) => children.get(&parent).cloned().unwrap_or_default(),
        }
    }
}

/// Kills everything below `root`, once.
pub(crate) fn kill_below(root: Pid, kinship: &Kinship) {
    signal_below(root, kinship, Signal::KILL);
}

/// Sends `signal` to everything below `root`, once.
fn signal_below(root: Pid, kinship: &Kinship, signal: Signal) {
    let mut family = HashSet::from([root]);
    let mut queue = VecDeque::from(kinship.children(root));
    while let Some(pid) = queue.pop_front() {
        if PROCESSES_MAX < family.len() || family.contains(&pid) {
            continue;
        }
        if signal_if(pid, signal, |status| family.contains(&status.parent)) {
            family.insert(pid);
            queue.extend(kinship.children(pid));
        }
    }
}

/// Returns what is below `root`, as it was a moment ago.
pub(crate) fn below(root: Pid, kinship: &Kinship) -> Vec<Pid> {
    let mut family = HashSet::from([root]);
    let mut queue = VecDeque::from(kinship.children(root));
    let mut found = Vec::new();
    while let Some(pid) = queue.pop_front() {
        if found.len() < PROCESSES_MAX && family.insert(pid) {
            found.push(pid);
            queue.extend(kinship.children(pid));
        }
    }
    found
}

/// Returns how much of the machine `pid` uses; nothing if it has ended.
pub(crate) fn usage(pid: Pid) -> Usage {
    let read = |name: &str, bytes_max| {
        let text = proc::read(&process_directory(pid).join(name), bytes_max).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    };
    Usage::read(&read("status", STATUS_BYTES_MAX), &read("maps", MAPS_BYTES_MAX))
}

/// Every thread below a process, all of them asleep, and how often each was taken off the processor.
///
/// A thread that sleeps twice with the same numbers did not run in between: it could not fall asleep
/// again without being taken off once more.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Asleep(Vec<(i32, u64, u64)>);

/// Returns what is below `root` if all of it sleeps; `None` if anything runs, or cannot be looked at.
pub(crate) fn asleep_below(root: Pid) -> Option<Asleep> {
    let mut threads = Vec::new();
    for process in below(root, &Kinship::now()) {
        for thread in numbers_in(&task_directory(process)) {
            threads.push(asleep(&task_directory(process).join(thread.to_string()), thread)?);
        }
    }
    threads.sort_unstable();
    (!threads.is_empty()).then_some(Asleep(threads))
}

/// Returns when a thread began and how often it was taken off the processor, if it sleeps.
fn asleep(directory: &Path, thread: Pid) -> Option<(i32, u64, u64)> {
    /// Where the time of a thread's start stands, counted from its state.
    const STARTED_AT: usize = 19;
    let status = proc::read(&directory.join("status"), STATUS_BYTES_MAX).ok()?;
    let status = String::from_utf8_lossy(&status).into_owned();
    let number = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().parse::<u64>().ok()
    };
    let n_switches = number("voluntary_ctxt_switches:")?;
    let n_forced = number("nonvoluntary_ctxt_switches:")?;
    // After the numbers: what runs now and sleeps by then has other numbers later.
    let stat = proc::read(&directory.join("stat"), STAT_BYTES_MAX).ok()?;
    let at = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(at + 1..)?).ok()?;
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    let sleeps = matches!(words.first(), Some(&"S" | &"Z"));
    let started = words.get(STARTED_AT)?.parse().ok()?;
    let id = thread.as_raw_nonzero().get();
    sleeps.then(|| (id, started, n_switches.saturating_add(n_forced)))
}

/// How much of the machine a process uses.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Usage {
    /// Its threads.
    pub(crate) n_tasks: u64,
    /// Its memory: what it has at hand, what keeps track of that, and what it shares with others,
    /// whether or not it has that at hand.
    pub(crate) n_bytes: u64,
}

impl Usage {
    fn read(status: &str, maps: &str) -> Self {
        let number = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            let word = line.and_then(|line| line.split_ascii_whitespace().next());
            word.and_then(|word| word.parse::<u64>().ok()).unwrap_or(0)
        };
        let kib = number("VmRSS:").saturating_add(number("VmPTE:"));
        let shared = maps.lines().filter(|line| line.ends_with(SHARED)).filter_map(length);
        let n_bytes = shared.fold(kib.saturating_mul(1024), u64::saturating_add);
        Self { n_tasks: number("Threads:"), n_bytes }
    }
}

/// Returns how many bytes the files in memory have that `processes` hold open, each file counted once.
pub(crate) fn memory_files(processes: &[Pid]) -> u64 {
    /// The unit of `st_blocks`.
    const BLOCK: u64 = 512;
    let mut known = HashSet::new();
    let mut n_bytes = 0_u64;
    for descriptors in processes.iter().map(|pid| process_directory(*pid).join("fd")) {
        for number in proc::numbers_in(&descriptors, DESCRIPTORS_MAX).unwrap_or_default() {
            let path = descriptors.join(number.to_string());
            let name = rustix::fs::readlink(&path, Vec::new());
            if !name.is_ok_and(|name| name.to_bytes().starts_with(MEMORY_FILE)) {
                continue;
            }
            // The link leads to the open file itself, whatever it is called.
            let Ok(stat) = rustix::fs::stat(&path) else { continue };
            if known.insert((stat.st_dev, stat.st_ino)) {
                let n_blocks = u64::try_from(stat.st_blocks).unwrap_or(0);
                n_bytes = n_bytes.saturating_add(n_blocks.saturating_mul(BLOCK));
            }
        }
    }
    n_bytes
}

/// How the system calls a file in memory.
const MEMORY_FILE: &[u8] = b"/memfd:";
/// More descriptors than a process in a cage may have.
const DESCRIPTORS_MAX: usize = 1 << 16;

/// What the system calls memory that has no file and is shared.
const SHARED: &str = "/dev/zero (deleted)";
/// More than `/proc/PID/status` takes.
const STATUS_BYTES_MAX: usize = 1 << 14;
/// More than the maps of the programs that we know take.
const MAPS_BYTES_MAX: usize = 1 << 22;

/// Returns how long the part of memory is that a line `BEGIN-END …` tells of.
fn length(line: &str) -> Option<u64> {
    let (begin, rest) = line.split_once('-')?;
    let (end, _) = rest.split_once(' ')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    number(end)?.checked_sub(number(begin)?)
}

/// Kills everything in the session that `leader` began, once; returns how many it killed.
///
/// `leader` has ended. As long as its session has members, the system gives its number to nobody
/// else; so if there is a process with that number, nothing of the session is left.
pub(crate) fn kill_session(leader: Pid) -> usize {
    if Status::of(leader).is_some() {
        return 0;
    }
    let is_member = |status: Status| status.session == Some(leader) && !status.is_dead;
    processes().filter(|pid| kill_if(*pid, is_member)).count()
}

/// Stops everything below `root`; returns whether it stands still now.
///
/// What is stopped forks no more, so each round finds less; the last one finds nothing that runs.
pub(crate) fn stop_below(root: Pid) -> bool {
    for _ in 0..STOP_ROUNDS_MAX {
        signal_below(root, &Kinship::now(), Signal::STOP);
        let mut processes = below(root, &Kinship::now()).into_iter();
        if processes.all(|process| numbers_in(&task_directory(process)).all(stands_still)) {
            return true;
        }
        // There is nothing to wait for but time.
        poll(&mut [], Some(&STOP_ROUND)).ok();
    }
    false
}

/// Lets everything below `root` go on.
pub(crate) fn continue_below(root: Pid) {
    signal_below(root, &Kinship::now(), Signal::CONT);
}

/// Returns whether a thread is stopped, or has ended.
fn stands_still(thread: Pid) -> bool {
    let stat = proc::read(&process_directory(thread).join("stat"), STAT_BYTES_MAX);
    let Ok(stat) = stat else { return true };
    let state = stat.iter().rposition(|byte| *byte == b')').and_then(|at| stat.get(at + 2));
    matches!(state, Some(b'T' | b't' | b'Z' | b'X'))
}

/// Kills `pid` if it is still the process that we mean.
fn kill_if(pid: Pid, is_meant: impl FnOnce(Status) -> bool) -> bool {
    signal_if(pid, Signal::KILL, is_meant)
}

fn signal_if(pid: Pid, signal: Signal, is_meant: impl FnOnce(Status) -> bool) -> bool {
    // SECURITY: numbers are used again. So the process is held first and looked at then: what we
    // look at is what we hold, or what we hold is dead and the signal goes nowhere.
    let Ok(held) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else { return false };
    Status::of(pid).is_some_and(is_meant)
        && rustix::process::pidfd_send_signal(&held, signal).is_ok()
}

/// What `/proc/PID/stat` says, as far as we care.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Status {
    parent: Pid,
    session: Option<Pid>,
    /// Ended, and not yet waited for.
    is_dead: bool,
}

impl Status {
    /// Returns `None` if there is no such process, or if nobody within our sight is its parent.
    fn of(pid: Pid) -> Option<Self> {
        let path = process_directory(pid).join("stat");
        Self::read(&proc::read(&path, STAT_BYTES_MAX).ok()?)
    }

    /// Reads `PID (NAME) STATE PPID PGRP SESSION …`, where the name may be anything at all.
    fn read(text: &[u8]) -> Option<Self> {
        let at = text.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(text.get(at + 1..)?).ok()?;
        let mut words = rest.split_ascii_whitespace();
        let is_dead = matches!(words.next()?, "Z" | "X");
        let parent = read_pid(words.next()?)?;
        let session = read_pid(words.nth(1)?);
        Some(Self { parent, session, is_dead })
    }
}

/// Returns the children that all threads of `parent` have.
fn listed_children(parent: Pid) -> Vec<Pid> {
    let tasks = task_directory(parent);
    let lists = numbers_in(&tasks).filter_map(|thread| {
        let list = tasks.join(thread.to_string()).join("children");
        String::from_utf8(proc::read(&list, CHILDREN_BYTES_MAX).ok()?).ok()
    });
    lists.flat_map(|list| list.split(' ').filter_map(read_pid).collect::<Vec<_>>()).collect()
}

fn process_directory(pid: Pid) -> PathBuf {
    Path::new("/proc").join(pid.to_string())
}

fn task_directory(pid: Pid) -> PathBuf {
    process_directory(pid).join("task")
}

/// Returns all processes that we can see; none if the system does not tell.
fn processes() -> impl Iterator<Item = Pid> {
    numbers_in(Path::new("/proc"))
}

fn numbers_in(directory: &Path) -> impl Iterator<Item = Pid> {
    let numbers = proc::numbers_in(directory, PROCESSES_MAX).unwrap_or_default();
    numbers.into_iter().filter_map(Pid::from_raw)
}

fn read_pid(word: &str) -> Option<Pid> {
    word.trim_ascii().parse().ok().and_then(Pid::from_raw)
}
