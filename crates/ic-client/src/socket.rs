//! A Unix socket on which clients of the same user come in, and nobody else.
//!
//! ```text
//! directory by handle, nobody else's to write ─▶ locked ─▶ is somebody there? refused
//!    ─▶ left over? removed ─▶ bound as 0600 ─▶ unlocked ─▶ accept ─▶ same user? ─▶ a client
//! ```
//!
//! What clients say is not known here. When the socket is dropped its name is removed, unless it is
//! somebody else's by then.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use tokio::net::{UnixListener, UnixStream};

use crate::locked;

/// Only the owner connects.
const SOCKET_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
/// What others may never do in the directory of a socket.
const OTHERS_WRITE: Mode = Mode::WGRP.union(Mode::WOTH);
/// How many clients may wait to be let in.
const BACKLOG: i32 = 1024;
/// How many connections one process may have.
pub const PER_PROCESS_MAX: usize = 64;
/// How often others get a turn before a process is turned away.
const SEAT_TRIES_MAX: usize = 64;
/// How long a client may be connected before it begins to speak the protocol.
pub const BEGINS_WITHIN: Duration = Duration::from_secs(10);
/// How long another process may take to make its socket in the same directory.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(10);
/// How long we wait when there is no descriptor left for another client.
const PAUSE: Duration = Duration::from_millis(100);

/// A socket that clients connect to.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    directory: OwnedFd,
    name: OsString,
    /// What the name leads to as long as it is ours.
    inode: (u64, u64),
    /// The connections that each process has.
    connected: Connected,
}

/// The connections of each process; under no process where the system does not say which it is.
type Connected = Arc<Mutex<HashMap<Option<i32>, Vec<Arc<OwnedFd>>>>>;

/// The place of one client among those of its process; free again when it is dropped.
#[derive(Debug)]
pub struct Seat {
    connected: Connected,
    process: Option<i32>,
    socket: Arc<OwnedFd>,
}

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The path names no file.
    #[error("`{}` is not a valid socket path", .0.display())]
    NoName(PathBuf),
    /// The directory cannot be used.
    #[error("cannot use the directory of `{}`", .path.display())]
    Directory {
        /// The path of the socket.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Somebody else could replace the socket.
    #[error("the directory of `{}` belongs to another user, or others may write to it", .0.display())]
    Shared(PathBuf),
    /// Something else has the name.
    #[error("`{}` is there already, and is not a socket of yours", .0.display())]
    Taken(PathBuf),
    /// A process listens there.
    #[error("a process that runs listens on `{}` already", .0.display())]
    InUse(PathBuf),
    /// Another process holds the directory.
    #[error("another process has locked the directory of `{}`", .0.display())]
    Locked(PathBuf),
    /// The system says no.
    #[error("cannot listen on `{}`", .path.display())]
    System {
        /// The path of the socket.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl Socket {
    /// Makes the socket, and its directory if that is missing; what a process that died left is replaced.
    ///
    /// Must be called within the runtime that clients are to be served in.
    pub async fn bind(path: &Path) -> Result<Self, SocketError> {
        let no_name = || SocketError::NoName(path.to_owned());
        let name = path.file_name().ok_or_else(no_name)?.to_owned();
        let directory = open_directory(path)?;
        let lock = lock(&directory, path).await?;
        make_room(&directory, &name, path)?;
        let system =
            |source: Errno| SocketError::System { path: path.to_owned(), source: source.into() };
        let socket = listen(&directory, &name).map_err(system)?;
        let stat =
            rustix::fs::statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(system)?;
        drop(lock);
        let listener = UnixListener::from_std(socket.into())
            .map_err(|source| SocketError::System { path: path.to_owned(), source })?;
        let connected = Connected::default();
        Ok(Self { listener, directory, name, inode: inode(&stat), connected })
    }

    /// Waits for the next client of this user; others are turned away, and so is a process that has as
    /// many connections as one may have.
    pub async fn accept(&self) -> (UnixStream, Seat) {
        let us = rustix::process::geteuid().as_raw();
        loop {
            match self.listener.accept().await {
                // SECURITY: whoever could open the name by some mistake is still not let in.
                Ok((client, _)) => match client.peer_cred() {
                    Ok(peer) if is_let_in(peer.uid(), us) => {
                        let seat = match client.as_fd().try_clone_to_owned() {
                            Ok(socket) => self.seat(peer.pid(), socket).await,
                            Err(_) => None,
                        };
                        if let Some(seat) = seat {
                            return (client, seat);
                        }
                    }
                    Ok(_) | Err(_) => drop(client),
                },
                // It went away again, or there is no descriptor left for it: others are served on.
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }
}

/// Connects to a socket of this user's, however long its path is.
///
/// Must be called within the runtime that is to wait for it.
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    let no_name = || io::Error::from(io::ErrorKind::InvalidInput);
    let (parent, name) = path.parent().zip(path.file_name()).ok_or_else(no_name)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(parent, flags, Mode::empty())?;
    let socket = socket()?;
    rustix::net::connect(&socket, &address(&directory, name)?)?;
    UnixStream::from_std(socket.into())
}

impl Socket {
    /// Finds a seat for a client of `process`, if it has not as many as it may have.
    async fn seat(&self, process: Option<i32>, socket: OwnedFd) -> Option<Seat> {
        let socket = Arc::new(socket);
        for _ in 0..SEAT_TRIES_MAX {
            if let Some(seat) = Seat::take(&self.connected, process, &socket) {
                return Some(seat);
            }
            // Those that have gone already get to notice it.
            tokio::task::yield_now().await;
        }
        None
    }
}

impl Seat {
    fn take(connected: &Connected, process: Option<i32>, socket: &Arc<OwnedFd>) -> Option<Self> {
        let mut all = locked(connected);
        let theirs = all.entry(process).or_default();
        // What still runs for a client that has gone does not keep the next one out.
        if PER_PROCESS_MAX <= theirs.len()
            && PER_PROCESS_MAX <= theirs.iter().filter(|it| !has_hung_up(it)).count()
        {
            return None;
        }
        theirs.push(Arc::clone(socket));
        let (connected, socket) = (Arc::clone(connected), Arc::clone(socket));
        Some(Self { connected, process, socket })
    }

    /// Returns whether the other end is closed for reading and writing.
    ///
    /// One that has only said all that it had to say still reads its answers.
    pub fn has_hung_up(&self) -> bool {
        has_hung_up(&self.socket)
    }
}

fn has_hung_up(socket: &OwnedFd) -> bool {
    let mut events = [PollFd::new(socket, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let looked = rustix::event::poll(&mut events, Some(&now));
    let [looked_at] = events;
    looked.is_ok() && looked_at.revents().intersects(PollFlags::HUP | PollFlags::ERR)
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut all = locked(&self.connected);
        if let Some(theirs) = all.get_mut(&self.process) {
            theirs.retain(|it| !Arc::ptr_eq(it, &self.socket));
            if theirs.is_empty() {
                all.remove(&self.process);
            }
        }
    }
}

/// Returns whether a client that belongs to the user `peer` is served by `us`.
fn is_let_in(peer: u32, us: u32) -> bool {
    peer == us
}

impl Drop for Socket {
    fn drop(&mut self) {
        let stat = rustix::fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        if stat.is_ok_and(|stat| inode(&stat) == self.inode) {
            rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty()).ok();
        }
    }
}

fn inode(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// Opens the directory of the socket, and makes it if it is missing.
fn open_directory(path: &Path) -> Result<OwnedFd, SocketError> {
    let failed = |source: io::Error| SocketError::Directory { path: path.to_owned(), source };
    let parent = path.parent().ok_or_else(|| SocketError::NoName(path.to_owned()))?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = match rustix::fs::open(parent, flags, Mode::empty()) {
        Err(Errno::NOENT) => {
            ic_home::file::create_dir(parent).map_err(|error| failed(io::Error::other(error)))?;
            rustix::fs::open(parent, flags, Mode::empty())
        }
        opened => opened,
    };
    let directory = opened.map_err(|errno| failed(errno.into()))?;
    let stat = rustix::fs::fstat(&directory).map_err(|errno| failed(errno.into()))?;
    let mode = Mode::from_raw_mode(stat.st_mode);
    let (us, root) = (rustix::process::geteuid().as_raw(), 0);
    let is_ours = stat.st_uid == us || stat.st_uid == root;
    // In a sticky directory nobody replaces what is another's.
    let is_safe = !mode.intersects(OTHERS_WRITE) || mode.contains(Mode::SVTX);
    match is_ours && is_safe {
        true => Ok(directory),
        false => Err(SocketError::Shared(path.to_owned())),
    }
}

/// Keeps others from making a socket in the directory at the same time; released when dropped.
async fn lock(directory: &OwnedFd, path: &Path) -> Result<OwnedFd, SocketError> {
    let failed =
        |errno: Errno| SocketError::Directory { path: path.to_owned(), source: errno.into() };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // Opened once more, because a lock belongs to the opening.
    let held = rustix::fs::openat(directory, ".", flags, Mode::empty()).map_err(failed)?;
    let deadline = tokio::time::Instant::now() + LOCK_WAIT_MAX;
    loop {
        match rustix::fs::flock(&held, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(held),
            Err(Errno::WOULDBLOCK) if tokio::time::Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(Errno::WOULDBLOCK) => return Err(SocketError::Locked(path.to_owned())),
            Err(errno) => return Err(failed(errno)),
        }
    }
}

/// Removes a socket that nobody listens on any more; refuses anything else that has the name.
fn make_room(directory: &OwnedFd, name: &OsStr, path: &Path) -> Result<(), SocketError> {
    let system = |errno: Errno| SocketError::System { path: path.to_owned(), source: errno.into() };
    let stat = match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(system(errno)),
    };
    let is_socket = FileType::from_raw_mode(stat.st_mode) == FileType::Socket;
    if !is_socket || stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(SocketError::Taken(path.to_owned()));
    }
    let socket = socket().map_err(system)?;
    let address = address(directory, name).map_err(system)?;
    match rustix::net::connect(&socket, &address) {
        // Only this says that nobody is there; one with a full backlog is there all the same.
        Err(Errno::CONNREFUSED) => {
            rustix::fs::unlinkat(directory, name, AtFlags::empty()).map_err(system)
        }
        Ok(()) | Err(_) => Err(SocketError::InUse(path.to_owned())),
    }
}

fn listen(directory: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let socket = socket()?;
    // The name gets the mode of the socket, so that there is no moment at which it is wider.
    rustix::fs::fchmod(&socket, SOCKET_MODE)?;
    rustix::net::bind(&socket, &address(directory, name)?)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}

fn socket() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

/// Names a socket by the handle of its directory: that cannot be swapped, and is never too long.
fn address(directory: &OwnedFd, name: &OsStr) -> Result<SocketAddrUnix, Errno> {
    let number = directory.as_fd().as_raw_fd().to_string();
    SocketAddrUnix::new(Path::new("/proc/self/fd").join(number).join(name))
}

#[cfg(test)]
mod tests;
