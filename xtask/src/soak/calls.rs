//! The calls of a shift, each with a number of its own, and what is to become of them.
//!
//! Says what is right; who makes the calls and what comes of them is known elsewhere.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::ground::Ground;

/// From here on are the numbers of calls that no client of a shift makes.
pub(super) const OWN: u64 = 1 << 40;
/// How many calls the longest visit has.
const VISIT_MAX: u64 = 3000;
/// How many visits a shift has at least.
const VISITS_MIN: u64 = 16;

/// Calls that are handed out in parts.
#[derive(Debug)]
pub(super) struct Calls<'a> {
    next: &'a AtomicU64,
    first: u64,
    end: u64,
    file: String,
    scratch: String,
    is_stopped: AtomicBool,
}

/// Who serves a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Server {
    /// A trivial one, which the program did not bring along.
    Stranger,
    /// The built-in one for files.
    Builtin,
}

/// What is to become of a call if nothing fails.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Wanted {
    Served,
    Denied,
}

impl<'a> Calls<'a> {
    /// Takes the next `n_calls` numbers for a shift.
    pub(super) fn new(next: &'a AtomicU64, n_calls: u64, ground: &Ground) -> Self {
        let first = next.load(Ordering::SeqCst);
        let path = |name: &str| ground.path(name).display().to_string();
        let (file, scratch) = (path("sandbox/file.txt"), path("sandbox/scratch.txt"));
        Self { next, first, end: first + n_calls, file, scratch, is_stopped: false.into() }
    }

    /// Returns how many calls the longest visit has.
    pub(super) fn visit_max(&self) -> u64 {
        ((self.end - self.first) / VISITS_MIN).clamp(1, VISIT_MAX)
    }

    /// Returns how many were handed out.
    pub(super) fn n_taken(&self) -> u64 {
        self.next.load(Ordering::SeqCst) - self.first
    }

    /// Hands out no more.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
    }

    /// Waits until half of them were handed out.
    pub(super) fn wait_for_half(&self) {
        let n_awaited = (self.end - self.first) / 2;
        while self.n_taken() < n_awaited && !self.is_stopped.load(Ordering::SeqCst) {
            sleep(Duration::from_millis(1));
        }
    }

    /// Hands out the next ones, up to `n_calls`.
    pub(super) fn take(&self, n_calls: u64) -> Option<Range<u64>> {
        if self.is_stopped.load(Ordering::SeqCst) {
            return None;
        }
        let until = |next: u64| (next < self.end).then(|| self.end.min(next + n_calls));
        let start = self.next.fetch_update(Ordering::SeqCst, Ordering::SeqCst, until).ok()?;
        Some(start..self.end.min(start + n_calls))
    }

    /// Returns what is sent.
    pub(super) fn call(&self, number: u64) -> Value {
        let Self { file, scratch, .. } = self;
        let content = number.to_string();
        let (name, arguments) = match number % 20 {
            0 => ("filesystem__write_file", json!({"path": scratch, "content": content})),
            1..=5 => ("filesystem__read_file", json!({"path": file, "head": number})),
            6 => ("s__read", json!({"path": "/etc/shadow", "count": number})),
            7 => ("s__nothing", json!({"path": file, "count": number})),
            8 => ("s__read", json!({"count": number})),
            _ => ("s__read", json!({"path": file, "count": number})),
        };
        json!({"name": name, "arguments": arguments})
    }
}

impl Server {
    /// Returns who serves the call with this number.
    pub(super) fn of(number: u64) -> Self {
        if number % 20 < 6 { Self::Builtin } else { Self::Stranger }
    }

    /// Returns a call of our own that it serves.
    pub(super) fn probe(self, ground: &Ground, number: u64) -> Value {
        let path = ground.path("sandbox/file.txt");
        match self {
            Self::Stranger => {
                json!({"name": "s__read", "arguments": {"path": path, "count": number}})
            }
            Self::Builtin => {
                json!({"name": "filesystem__read_file", "arguments": {"path": path, "head": number}})
            }
        }
    }

    /// Returns what is among the words of its command.
    pub(super) fn word(self) -> &'static [u8] {
        match self {
            Self::Stranger => b"echo-server",
            Self::Builtin => b"mcp-server",
        }
    }
}

impl Wanted {
    /// Returns what is to become of a call; the rules let the stranger read, or not.
    pub(super) fn of(number: u64, may_read: bool) -> Self {
        match number % 20 {
            // What the built-in server does in the sandbox needs no rule.
            0..=5 => Self::Served,
            6..=8 => Self::Denied,
            _ => {
                if may_read {
                    Self::Served
                } else {
                    Self::Denied
                }
            }
        }
    }
}
