//! A terminal that a child has: the host's side of it, and how the child comes to have it.
//!
//! What is written and read there is not looked at. Who draws it and what is typed is somebody else's.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{
    InputModes, OptionalActions, Winsize, isatty, tcgetattr, tcsetattr, tcsetwinsize,
};
use tokio::io::unix::AsyncFd;

/// How large a terminal is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TerminalSize {
    /// How high.
    pub rows: u16,
    /// How wide.
    pub columns: u16,
}

/// The host's side of a terminal that a child has.
#[derive(Debug)]
pub struct HostTerminal(AsyncFd<OwnedFd>);

impl TerminalSize {
    fn to_system(self) -> Winsize {
        Winsize { ws_row: self.rows, ws_col: self.columns, ws_xpixel: 0, ws_ypixel: 0 }
    }
}

impl HostTerminal {
    /// Makes a terminal of that size; returns the child's side too.
    pub(crate) fn open(size: TerminalSize) -> io::Result<(Self, OwnedFd)> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let host = openpt(flags)?;
        grantpt(&host)?;
        unlockpt(&host)?;
        // Not by name: whatever is at `/dev/pts` here need not be its child's side.
        let child = ioctl_tiocgptpeer(&host, flags)?;
        // Before anything runs there, so that the first thing that is drawn has the size.
        tcsetwinsize(&host, size.to_system())?;
        let mut modes = tcgetattr(&child)?;
        // Backspace takes a character away, and not a byte of it.
        modes.input_modes |= InputModes::IUTF8;
        tcsetattr(&child, OptionalActions::Now, &modes)?;
        rustix::io::ioctl_fionbio(&host, true)?;
        #[expect(
            deprecated,
            reason = "only a handle that is closed behind its back is a danger here, and this one is \
                      owned; what replaces this is unsafe"
        )]
        let host = AsyncFd::new(host)?;
        Ok((Self(host), child))
    }

    /// Reads what the child wrote; 0 once nobody has the terminal any more.
    pub async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.0.readable().await?;
            let read = ready.try_io(|host| Ok(rustix::io::read(host, &mut *buffer)?));
            match read {
                Ok(Err(error)) if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => {
                    return Ok(0);
                }
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(read) => return read,
                // Nothing was there after all.
                Err(_) => {}
            }
        }
    }

    /// Writes some of what is typed to the child; waits while the child reads nothing.
    pub async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.0.writable().await?;
            match ready.try_io(|host| Ok(rustix::io::write(host, bytes)?)) {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(written) => return written,
                Err(_) => {}
            }
        }
    }

    /// Makes it another size, of which the child is told.
    pub fn resize(&self, size: TerminalSize) -> io::Result<()> {
        Ok(tcsetwinsize(self.0.get_ref(), size.to_system())?)
    }
}

/// Makes the terminal that a server was given its own, if it was given one; it leads a session by now.
///
/// Only [`HostTerminal::open`] makes one for a server, whose other streams are pipes.
pub(crate) fn take_as_own() -> Result<(), Errno> {
    let stdin = rustix::stdio::stdin();
    match isatty(stdin) {
        true => rustix::process::ioctl_tiocsctty(stdin),
        false => Ok(()),
    }
}

/// Returns whether the server was given a terminal.
pub(crate) fn is_given() -> bool {
    isatty(rustix::stdio::stdin())
}
