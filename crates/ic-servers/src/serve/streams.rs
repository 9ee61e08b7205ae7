//! The two streams as descriptors: waiting for either, reading some, writing a whole line.
//!
//! By descriptor and not through the standard library's locked streams, because workers write while
//! the main thread may hold that lock, and because only a descriptor tells that its reader is gone.

use std::io;
use std::sync::{Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::BorrowedFd;
use rustix::io::Errno;

/// How much is read at once.
const CHUNK_BYTES: usize = 64 << 10;

/// What can be done next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ready {
    /// The input has something, or has ended.
    Input,
    /// Nobody reads the output.
    OutputClosed,
}

/// Where lines are written, by one thread at a time.
#[derive(Debug)]
pub(super) struct Output<'a> {
    stream: BorrowedFd<'a>,
    failure: Mutex<Option<io::Error>>,
}

/// A line could not be written; [`Output::into_failure`] says why.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Closed;

/// Waits until there is something to read, or nobody to write for.
pub(super) fn wait(input: BorrowedFd<'_>, output: &Output<'_>) -> io::Result<Ready> {
    loop {
        // Without any event asked for, only errors and hang-ups are told.
        let mut streams = [
            PollFd::from_borrowed_fd(input, PollFlags::IN),
            PollFd::from_borrowed_fd(output.stream, PollFlags::empty()),
        ];
        match poll(&mut streams, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let [input, output] = &streams;
        let gone = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
        if output.revents().intersects(gone) {
            return Ok(Ready::OutputClosed);
        }
        if !input.revents().is_empty() {
            return Ok(Ready::Input);
        }
    }
}

/// Reads some bytes to the end of `buffer`; returns whether the input has ended.
pub(super) fn read(input: BorrowedFd<'_>, buffer: &mut Vec<u8>) -> io::Result<bool> {
    let length = buffer.len();
    buffer.resize(length + CHUNK_BYTES, 0);
    let room = buffer.get_mut(length..).unwrap_or_default();
    let read = rustix::io::read(input, room);
    let n_bytes = read.unwrap_or(0).min(CHUNK_BYTES);
    buffer.truncate(length + n_bytes);
    match read {
        Ok(0) => Ok(true),
        // Whoever gave us the stream may have made it one that does not block.
        Ok(_) | Err(Errno::INTR | Errno::AGAIN) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

impl<'a> Output<'a> {
    pub(super) fn new(stream: BorrowedFd<'a>) -> Self {
        Self { stream, failure: Mutex::new(None) }
    }

    /// Writes `line`, all of it, before anybody else writes; nothing after a failure.
    pub(super) fn write(&self, line: &str) -> Result<(), Closed> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if failure.is_some() {
            return Err(Closed);
        }
        write_all(self.stream, line.as_bytes()).map_err(|error| {
            *failure = Some(error.into());
            Closed
        })
    }

    /// Returns why a line could not be written.
    pub(super) fn into_failure(self) -> Option<io::Error> {
        self.failure.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write_all(stream: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(stream, bytes) {
            Ok(n_bytes) => bytes = bytes.get(n_bytes..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let mut streams = [PollFd::from_borrowed_fd(stream, PollFlags::OUT)];
                match poll(&mut streams, None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error),
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
