//! What a guard does once nothing of its server is left and the host is gone: it becomes this program again,
//! which settles what the server left.
//!
//! A lock tells others that somebody sees to it, from before the server is started until it is settled. What
//! there is to settle is not known here.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, Timespec, Timestamps, UTIME_NOW};
use rustix::io::FdFlags;
use rustix::process::Pid;

use super::{LaunchError, cannot};
use crate::orders::SETTLE;
use crate::proc;
use crate::start::OURSELVES;

/// The file that is locked is called like the one that says what to settle, and this.
pub const GUARD_SUFFIX: &str = ".guard";
/// More than `/proc/PID/stat` takes.
const STAT_BYTES_MAX: usize = 4096;

/// Something to be settled.
pub(super) struct Afterwards {
    file: PathBuf,
    lock: OwnedFd,
}

impl Afterwards {
    /// Takes the lock.
    pub(super) fn hold(file: &Path) -> Result<Self, LaunchError> {
        let mut path = OsString::from(file);
        path.push(GUARD_SUFFIX);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lock = rustix::fs::openat(CWD, path, flags, Mode::RUSR | Mode::WUSR);
        let lock = lock.map_err(cannot("note that a server is guarded"))?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(cannot("guard a server that somebody sees to"))?;
        // Whoever finds no lock takes it that there is no server, and removes the file.
        rustix::fs::lstat(file).map_err(cannot("find what is to be settled"))?;
        Ok(Self { file: file.to_owned(), lock })
    }

    /// Notes that the server was there until now.
    pub(super) fn note(&self) {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let times = Timestamps { last_access: now, last_modification: now };
        // Without it what came later is taken for the server's.
        rustix::fs::futimens(&self.lock, &times).ok();
    }

    /// Becomes this program, which settles it, with the lock; returns only if that failed.
    pub(super) fn run(self) -> LaunchError {
        let Self { file, lock } = self;
        if let Err(errno) = rustix::io::fcntl_setfd(&lock, FdFlags::empty()) {
            return cannot("hand on a lock")(errno);
        }
        #[expect(clippy::disallowed_methods, reason = "the guard becomes who settles")]
        let mut program = std::process::Command::new(OURSELVES);
        let source = program.arg0("ironcurtain").arg(SETTLE).arg(file).env_clear().exec();
        LaunchError::Run { program: OURSELVES.into(), source }
    }
}

/// Returns whether a process is ending or gone.
///
/// Its descriptors are closed before anybody who waits for it hears of its end, and a server whose streams
/// end may be over sooner than that.
pub(super) fn is_ending(process: Pid) -> bool {
    /// Where the flags stand, counted from the state, and the one of a process that ends.
    const FLAGS_AT: usize = 6;
    const EXITING: u64 = 4;
    let path = PathBuf::from(format!("/proc/{}/stat", process.as_raw_nonzero()));
    let flags = || {
        let stat = proc::read(&path, STAT_BYTES_MAX).ok()?;
        let at = stat.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(stat.get(at + 1..)?).ok()?;
        rest.split_ascii_whitespace().nth(FLAGS_AT)?.parse::<u64>().ok()
    };
    flags().is_none_or(|flags| flags & EXITING != 0)
}
