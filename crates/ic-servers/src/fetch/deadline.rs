//! The end of a call's time, and a connection that keeps to it.
//!
//! However slowly the other side speaks, a call ends: each read waits for what is left of the time, and
//! looks now and then whether anybody still wants the answer.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::tools::Cancel;

/// How long one wait lasts before somebody looks whether the call was cancelled.
const LOOK: Duration = Duration::from_millis(250);

/// When a call ends.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    end: Instant,
}

impl Deadline {
    /// Returns the one that is `time` from now.
    pub fn after(time: Duration) -> Self {
        Self { end: now() + time }
    }

    /// Returns what is left, if anything is.
    pub fn left(&self) -> Option<Duration> {
        let left = self.end.saturating_duration_since(now());
        (!left.is_zero()).then_some(left)
    }
}

#[expect(clippy::disallowed_methods, reason = "how long a host may take is measured here alone")]
fn now() -> Instant {
    Instant::now()
}

/// A connection with an end.
#[derive(Debug)]
pub(super) struct Wire<'a> {
    stream: TcpStream,
    deadline: Deadline,
    cancel: &'a Cancel,
}

impl<'a> Wire<'a> {
    pub(super) fn new(stream: TcpStream, deadline: Deadline, cancel: &'a Cancel) -> Self {
        Self { stream, deadline, cancel }
    }

    /// Returns how long to wait now.
    fn turn(&self) -> io::Result<Duration> {
        if self.cancel.is_cancelled() {
            // No library takes this one for a reason to try again.
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        let left = self.deadline.left().ok_or(io::ErrorKind::TimedOut)?;
        Ok(left.min(LOOK))
    }
}

impl Read for Wire<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            self.stream.set_read_timeout(Some(self.turn()?))?;
            match self.stream.read(bytes) {
                Err(error) if is_wait(&error) => {}
                read => return read,
            }
        }
    }
}

impl Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            self.stream.set_write_timeout(Some(self.turn()?))?;
            match self.stream.write(bytes) {
                Err(error) if is_wait(&error) => {}
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn is_wait(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};

    /// Reads from a host that says nothing.
    fn read(time: Duration, cancel: &Cancel) -> io::ErrorKind {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut wire = Wire::new(stream, Deadline::after(time), cancel);
        wire.read(&mut [0]).unwrap_err().kind()
    }

    #[test]
    fn a_host_that_says_nothing_is_waited_for_until_the_end_of_the_time() {
        let started = now();
        let time = Duration::from_millis(600);
        assert_eq!(read(time, &Cancel::new()), io::ErrorKind::TimedOut);
        let waited = started.elapsed();
        assert!(time <= waited && waited < Duration::from_secs(5), "{waited:?}");
    }

    #[test]
    fn a_call_that_nobody_wants_is_not_waited_for() {
        let (cancel, started) = (Cancel::new(), now());
        std::thread::scope(|scope| {
            let reading = scope.spawn(|| read(Duration::from_secs(20), &cancel));
            cancel.cancel();
            assert_eq!(reading.join().unwrap(), io::ErrorKind::ConnectionAborted);
        });
        assert!(started.elapsed() < Duration::from_secs(15));
    }
}
