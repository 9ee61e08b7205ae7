//! Temporary files: how they are called, and which of them were left over.
//!
//! A name holds the process that made the file, and 128 random bits that nobody can guess. Files
//! that are called otherwise are not ours to remove.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io;

use ic_types::Timestamp;
use rustix::process::Pid;

use crate::random;

/// How every name begins.
const PREFIX: &str = ".ironcurtain-tmp.";
/// Random bytes in a name.
const RANDOM_BYTES: usize = 16;
/// A file that nobody holds is left over after this long, whoever made it.
const AGE_MS_MAX: u64 = 60 * 60 * 1000;

/// Makes a name that is not in use.
pub(crate) fn fresh_name() -> io::Result<OsString> {
    let random = random::bytes::<RANDOM_BYTES>()?;
    let mut name = format!("{PREFIX}{}.", rustix::process::getpid());
    for byte in random {
        // Writing to a string cannot fail.
        write!(name, "{byte:02x}").ok();
    }
    Ok(OsString::from(name))
}

/// Returns who made the temporary file called `name`, or `None` if that is no name of ours.
pub(crate) fn maker(name: &OsStr) -> Option<Pid> {
    let (pid, random) = name.to_str()?.strip_prefix(PREFIX)?.split_once('.')?;
    let is_ours = random.len() == 2 * RANDOM_BYTES && random.bytes().all(|b| b.is_ascii_hexdigit());
    // A negative number is no process, and to the library a mistake.
    let pid: i32 = pid.parse().ok().filter(|pid| 0 < *pid)?;
    if is_ours { Pid::from_raw(pid) } else { None }
}

/// Returns whether a temporary file that nobody holds a lock on was left over.
pub(crate) fn is_left_over(maker: Pid, changed: Timestamp, now: Timestamp) -> bool {
    // That we may not signal a process also means that it is there.
    let is_gone = rustix::process::test_kill_process(maker) == Err(rustix::io::Errno::SRCH);
    is_gone || AGE_MS_MAX < now.unix_ms().saturating_sub(changed.unix_ms())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ours_and_never_the_same() {
        let (one, other) = (fresh_name().unwrap(), fresh_name().unwrap());
        assert_ne!(one, other);
        assert_eq!(maker(&one), Some(rustix::process::getpid()));
    }

    #[test]
    fn other_names_are_not_ours() {
        let hex = "0".repeat(32);
        for other in [
            "config.json".to_owned(),
            ".ironcurtain-tmp.1.00".to_owned(),
            format!(".ironcurtain-tmp.x.{hex}"),
            format!(".ironcurtain-tmp.0.{hex}"),
            format!(".ironcurtain-tmp.-1.{hex}"),
            format!(".ironcurtain-tmp.1.{hex}.json"),
            format!("a.ironcurtain-tmp.1.{hex}"),
        ] {
            assert_eq!(maker(OsStr::new(&other)), None, "{other}");
        }
    }

    #[test]
    fn a_living_process_keeps_its_file_for_an_hour() {
        let us = rustix::process::getpid();
        let at = Timestamp::from_unix_ms;
        assert!(!is_left_over(us, at(1_000), at(1_000)));
        assert!(!is_left_over(us, at(1_000), at(1_000 + AGE_MS_MAX)));
        assert!(is_left_over(us, at(1_000), at(1_001 + AGE_MS_MAX)));
        let gone = Pid::from_raw(i32::MAX).unwrap();
        assert!(is_left_over(gone, at(1_000), at(1_000)));
    }
}
