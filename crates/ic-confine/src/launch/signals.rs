//! The signals that a guard listens to, as descriptors that it can wait for.
//!
//! What the signals mean is not known here.

use std::io;
use std::os::unix::net::UnixStream;

use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use rustix::process::Signal;

/// The signals that a guard listens to.
pub(super) const HEARD: [Signal; 4] = [Signal::TERM, Signal::INT, Signal::HUP, Signal::CHILD];

/// Two descriptors that can be read when a signal has come.
#[derive(Debug)]
pub(super) struct Signals {
    /// Somebody wants us to end.
    end: UnixStream,
    /// A child has ended.
    child: UnixStream,
}

impl Signals {
    /// Takes the signals from here on.
    pub(super) fn catch() -> io::Result<Self> {
        // A signal for ending that was ignored when we were started is heard all the same, and so
        // is the one for children: where that is ignored, nobody learns how they ended.
        let [term, int, hup, child] = HEARD;
        Ok(Self { end: catch(&[term, int, hup])?, child: catch(&[child])? })
    }

    pub(super) fn end(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }

    pub(super) fn child(&self) -> BorrowedFd<'_> {
        self.child.as_fd()
    }

    /// Forgets the signals of children that came until now; the caller looks at them next.
    pub(super) fn take_child(&self) {
        drain(&self.child);
    }

    /// Forgets the signals for ending that came until now.
    pub(super) fn take_end(&self) {
        drain(&self.end);
    }
}

fn catch(signals: &[Signal]) -> io::Result<UnixStream> {
    let (reader, writer) = UnixStream::pair()?;
    reader.set_nonblocking(true)?;
    for signal in signals {
        signal_hook::low_level::pipe::register(signal.as_raw(), writer.try_clone()?)?;
    }
    Ok(reader)
}

fn drain(stream: &UnixStream) {
    let mut bytes = [0; 64];
    loop {
        match rustix::io::read(stream, &mut bytes) {
            Err(Errno::INTR) => {}
            Ok(n_bytes) if n_bytes == bytes.len() => {}
            Ok(_) | Err(_) => return,
        }
    }
}
