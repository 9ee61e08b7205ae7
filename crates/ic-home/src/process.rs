//! Which process is which: a number is given again, a number with its start time is not.
//!
//! Starts nothing and ends nothing.

use std::io;

use crate::file::{self, Doing, FileError};

/// The longest description of a process that is read.
const STAT_BYTES_MAX: u64 = 4096;

/// A process of this machine, as it is now or as it was written down.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it was started, in ticks of the system since that started.
    pub start_time: u64,
}

impl Process {
    /// Returns this process.
    pub fn this() -> Result<Self, FileError> {
        let pid = std::process::id();
        Self::find(pid)?.ok_or_else(|| {
            let path = stat_path(pid);
            FileError::System {
                doing: Doing::Read,
                path: path.into(),
                source: io::Error::other("the system does not know this process"),
            }
        })
    }

    /// Returns the process that has the number `pid` now; `None` if there is none, or it has ended.
    pub fn find(pid: u32) -> Result<Option<Self>, FileError> {
        let path = stat_path(pid);
        let bytes = match file::read(&path, STAT_BYTES_MAX) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(None),
            // It ended between opening and reading.
            Err(FileError::System { source, .. })
                if source.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let unreadable = || FileError::System {
            doing: Doing::Read,
            path: path.clone().into(),
            source: io::Error::other("it is not what the system writes about a process"),
        };
        let Stat { state, start_time } = parse(&bytes).ok_or_else(unreadable)?;
        // One that waits only to be asked how it ended runs no more.
        Ok((!matches!(state, b'Z' | b'X' | b'x')).then_some(Self { pid, start_time }))
    }

    /// Returns whether this very process still runs.
    pub fn is_running(self) -> Result<bool, FileError> {
        Ok(Self::find(self.pid)? == Some(self))
    }
}

/// What is of interest in `/proc/PID/stat`.
struct Stat {
    state: u8,
    start_time: u64,
}

/// Reads `PID (NAME) STATE ...`; the name may hold anything, parentheses too.
fn parse(bytes: &[u8]) -> Option<Stat> {
    let end = bytes.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(bytes.get(end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    // The state is the third field of all, and the start time the twenty-second.
    let start_time = fields.nth(18)?.parse().ok()?;
    Some(Stat { state, start_time })
}

fn stat_path(pid: u32) -> String {
    format!("/proc/{pid}/stat")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_itself_and_no_other() {
        let this = Process::this().unwrap();
        assert_eq!(this.pid, std::process::id());
        assert!(this.is_running().unwrap());
        let later = Process { start_time: this.start_time + 1, ..this };
        assert!(!later.is_running().unwrap(), "the number was given again");
        let nobody = Process { pid: u32::MAX, start_time: 0 };
        assert!(!nobody.is_running().unwrap());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test starts a child to see it end")]
    fn one_that_ended_runs_no_more() {
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let process = Process::find(child.id()).unwrap().unwrap();
        assert!(process.is_running().unwrap());
        drop(child.stdin.take());
        // The end of its output is the end of the program; it is not waited for yet.
        io::Read::read_to_end(&mut child.stdout.take().unwrap(), &mut Vec::new()).unwrap();
        child.wait().unwrap();
        assert!(!process.is_running().unwrap());
    }

    #[test]
    fn names_do_not_confuse() {
        let fields = "0 ".repeat(18);
        for (name, state) in [("cat", "S"), ("a) Z 1 (b", "R"), ("(", "Z")] {
            let text = format!("17 ({name}) {state} {fields}4711 0 0");
            let stat = parse(text.as_bytes()).unwrap();
            assert_eq!((stat.state, stat.start_time), (state.as_bytes()[0], 4711));
        }
        for bad in ["", "17", "17 (cat", "17 (cat)", "17 (cat) S 1 2 3", "17 (cat) \u{e9}"] {
            assert!(parse(bad.as_bytes()).is_none(), "{bad}");
        }
    }
}
