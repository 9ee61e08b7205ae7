//! What the system can do for us, besides making cages.

use std::io::Write as _;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use ic_home::watch::Watch;
use ic_home::{Clock as _, FileError, SystemClock, file};
use ic_types::Timestamp;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::{Check, Patient};

const OPENAT2: &str = "openat2";
const INOTIFY: &str = "inotify";
const CLOCK: &str = "clock";
/// 2025-01-01: no clock that works is before this program was written.
const EARLIEST: Timestamp = Timestamp::from_unix_ms(1_735_689_600_000);
/// How long news of a changed file may take.
const NEWS_MAX: Duration = Duration::from_secs(5);

pub(super) fn check(patient: &Patient<'_>, checks: &mut Vec<Check>) {
    if let Some(trial) = &patient.trial {
        checks.push(openat2(trial.path()));
        checks.push(inotify(trial.path()));
    } else {
        let why = "there is no directory to try it in";
        checks.extend([OPENAT2, INOTIFY].map(|name| Check::not_tried(name, why)));
    }
    checks.push(clock(SystemClock.now()));
}

/// Opens a file beneath a directory, and is refused one that is not.
fn openat2(directory: &Path) -> Check {
    const NAME: &str = "beneath";
    let remedy = "Linux 5.6 or newer is needed; in a container its seccomp profile must allow it";
    let failed =
        |what: &str, errno: Errno| Check::failed(OPENAT2, format!("{what}: {errno}"), remedy);
    if let Err(error) = file::create_new(directory.join(NAME), b"") {
        return Check::failed(OPENAT2, error.to_string(), remedy);
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let held = match rustix::fs::openat(CWD, directory, flags, Mode::empty()) {
        Ok(held) => held,
        Err(errno) => return failed("the directory cannot be opened", errno),
    };
    let open = |name: &str| {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        rustix::fs::openat2(&held, name, flags, Mode::empty(), resolve)
    };
    match (open(NAME), open("..")) {
        (Ok(_), Err(Errno::XDEV)) => {
            Check::ok(OPENAT2, "opened a file beneath a directory, and was refused one above it")
        }
        (Ok(_), Err(errno)) => {
            failed("a file above the directory is refused, but not as expected", errno)
        }
        (Ok(_), Ok(_)) => Check::failed(OPENAT2, "it opens what is not beneath", remedy),
        (Err(errno), _) => failed("a file beneath a directory cannot be opened", errno),
    }
}

/// Changes a file, and waits to hear of it.
fn inotify(directory: &Path) -> Check {
    let remedy = "raise fs.inotify.max_user_instances and fs.inotify.max_user_watches with sysctl";
    let path = directory.join("watched");
    let watched = || -> Result<Watch, FileError> {
        let mut file = file::open_append(&path)?;
        let watch = Watch::on(&path)?;
        let failed =
            |source| FileError::System { doing: file::Doing::Write, path: path.clone(), source };
        file.write_all(b"changed").map_err(failed)?;
        Ok(watch)
    };
    let mut watch = match watched() {
        Ok(watch) => watch,
        Err(error) => return Check::of_failure(INOTIFY, &error.into(), remedy),
    };
    let (tell, heard) = mpsc::channel();
    // Waiting cannot be given up, but whoever waits can be.
    std::thread::spawn(move || tell.send(watch.wait().is_ok()));
    match heard.recv_timeout(NEWS_MAX) {
        Ok(true) => Check::ok(INOTIFY, "changed a file, and was told of it"),
        Ok(false) | Err(_) => {
            Check::failed(INOTIFY, "changed a file, and was not told of it", remedy)
        }
    }
}

fn clock(now: Timestamp) -> Check {
    match EARLIEST <= now {
        true => Check::ok(CLOCK, format!("it is {now}")),
        false => Check::failed(
            CLOCK,
            format!("it says {now}, which cannot be: grants and records would carry wrong times"),
            "set the clock, for example with `timedatectl set-ntp true`",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::Status;

    #[test]
    fn a_clock_before_our_time_is_wrong() {
        for (unix_ms, status) in [
            (0, Status::Failed),
            (EARLIEST.unix_ms() - 1, Status::Failed),
            (EARLIEST.unix_ms(), Status::Ok),
        ] {
            assert_eq!(clock(Timestamp::from_unix_ms(unix_ms)).status, status, "{unix_ms}");
        }
        assert_eq!(EARLIEST.to_string(), "2025-01-01T00:00:00.000Z");
    }
}
