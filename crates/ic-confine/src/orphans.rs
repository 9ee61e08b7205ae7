//! For one of our programs that starts others in its own cage: what they leave behind becomes its own, and ends.
//!
//! It holds for this whole process, so nothing else that it started may run meanwhile.

use std::io;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, poll};
use rustix::io::Errno;
use rustix::process::WaitOptions;

use crate::table::{self, Kinship};

/// How long it may take until nothing is left.
const END_MAX: Duration = Duration::from_secs(5);
/// How long to wait between two rounds.
const ROUND: Timespec = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };

/// Makes this process the parent of whatever loses its own below it.
pub fn adopt_orphans() -> io::Result<()> {
    let own = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(own)).map_err(Into::into)
}

/// Kills everything below this process, and waits for it; returns whether nothing is left.
pub fn end_children() -> bool {
    let own = rustix::process::getpid();
    let deadline = now() + END_MAX;
    loop {
        table::kill_below(own, &Kinship::now());
        match collect() {
            Children::None => return true,
            Children::Some if deadline <= now() => return false,
            // There is nothing to wait for but time.
            Children::Some => drop(poll(&mut [], Some(&ROUND))),
        }
    }
}

enum Children {
    None,
    Some,
}

/// Waits for every child that has ended.
fn collect() -> Children {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Err(Errno::CHILD) => return Children::None,
            Ok(None) | Err(_) => return Children::Some,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a limit of time is measured where it is held")]
fn now() -> Instant {
    Instant::now()
}
