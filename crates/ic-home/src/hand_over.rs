//! Takes the providers' keys out of our environment, for good.
//!
//! Everything that runs as the same user can read `/proc/PID/environ`, which shows the environment
//! that a process was started with, whatever it removes later; and whatever is in our environment
//! is one mistake away from that of a child. So a process that finds keys starts itself again:
//!
//! ```text
//! image 1: keys in the environment ─▶ pipe ─▶ exec /proc/self/exe, same arguments, no keys,
//!                                              IRONCURTAIN_KEYS_FD=n
//! image 2: reads the pipe until it is empty ─▶ Secret
//! ```
//!
//! This cannot go round in circles: image 2 never starts itself again. If anything fails, the
//! program ends; it never goes on with the keys in its environment.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::sync::Arc;

use ic_types::Secret;
use rustix::fd::{AsRawFd as _, OwnedFd};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::FdFlags;
use rustix::pipe::PipeFlags;
use zeroize::Zeroizing;

use crate::environment::{
    ApiKey, EnvironmentError, KEY_BYTES_MAX, KEYS_FD, check_key, find_keys, key_variable,
};

/// This program, whatever became of the file that it was started from.
const OURSELVES: &str = "/proc/self/exe";
/// More than all keys and their names take.
const BYTES_MAX: usize = 8 * (KEY_BYTES_MAX + 64);

/// Returns the keys that image 1 left; starts image 2 if they are still in the environment.
pub(crate) fn take_keys(
    variables: &[(OsString, OsString)],
) -> Result<BTreeMap<&'static str, ApiKey>, EnvironmentError> {
    let found = find_keys(variables)?;
    let descriptor = variables.iter().find(|(name, _)| name == KEYS_FD).map(|(_, value)| value);
    let descriptor = descriptor.filter(|value| !value.is_empty());
    match (descriptor, found.is_empty()) {
        (None, true) => Ok(BTreeMap::new()),
        (None, false) => Err(EnvironmentError::HandOver(start_again(variables, &found))),
        (Some(descriptor), true) => receive(descriptor).map_err(EnvironmentError::HandOver),
        // Image 2 has no keys in its environment: this is somebody else's doing.
        (Some(_), false) => Err(EnvironmentError::HandOver(io::Error::other(format!(
            "{KEYS_FD} is set, and is for the program itself"
        )))),
    }
}

/// Starts the program again without the keys in its environment; returns only if that failed.
fn start_again(variables: &[(OsString, OsString)], found: &[(&str, &str)]) -> io::Error {
    let pipe = match fill_pipe(found) {
        Ok(pipe) => pipe,
        Err(error) => return error,
    };
    let mut arguments = std::env::args_os();
    #[expect(clippy::disallowed_methods, reason = "no child: this program takes its own place")]
    let mut ourselves = std::process::Command::new(OURSELVES);
    if let Some(name) = arguments.next() {
        ourselves.arg0(name);
    }
    let rest = variables.iter().filter(|(name, _)| key_variable(name).is_none());
    ourselves
        .args(arguments)
        .env_clear()
        .envs(rest.map(|(name, value)| (name, value)))
        .env(KEYS_FD, pipe.as_raw_fd().to_string())
        .exec()
}

/// Keys that are on their way to another process of this program.
#[derive(Debug)]
pub struct HandedOver(Option<OwnedFd>);

impl HandedOver {
    /// Returns whether there were any.
    pub fn has_keys(&self) -> bool {
        self.0.is_some()
    }
}

/// Lets the process that `command` starts, which is this program, have the keys.
pub(crate) fn hand_to(
    command: &mut std::process::Command,
    keys: &BTreeMap<&'static str, ApiKey>,
) -> io::Result<HandedOver> {
    if keys.is_empty() {
        // What we were handed over ourselves is read, and nobody else's.
        command.env_remove(KEYS_FD);
        return Ok(HandedOver(None));
    }
    let keys: Vec<(&str, &str)> =
        keys.iter().map(|(name, key)| (*name, key.expose().as_str())).collect();
    let pipe = fill_pipe(&keys)?;
    command.env(KEYS_FD, pipe.as_raw_fd().to_string());
    Ok(HandedOver(Some(pipe)))
}

/// Makes a pipe that holds the keys, survives exec, and ends where they end.
fn fill_pipe(found: &[(&str, &str)]) -> io::Result<OwnedFd> {
    let mut message = Zeroizing::new(Vec::with_capacity(BYTES_MAX));
    for (name, value) in found {
        message.extend_from_slice(name.as_bytes());
        message.push(b'=');
        message.extend_from_slice(value.as_bytes());
        message.push(b'\n');
    }
    // Not blocking: nobody reads yet, so a pipe that is too small must be an error, not a wait.
    let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    // Where the user has many pipes the system gives small ones; this asks for enough.
    rustix::pipe::fcntl_setpipe_size(&writer, BYTES_MAX).ok();
    io::Write::write_all(&mut Pipe(&writer), &message)?;
    // The one descriptor that is meant to survive.
    rustix::io::fcntl_setfd(&reader, FdFlags::empty())?;
    Ok(reader)
}

struct Pipe<'a>(&'a OwnedFd);

impl io::Write for Pipe<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(self.0, bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads the keys from the pipe that image 1 left us, until it is empty.
///
/// The pipe's own descriptor stays open, and harmless: it is empty, and nobody can write to it.
/// Closing a descriptor that is known by its number alone takes `unsafe`.
fn receive(descriptor: &OsStr) -> io::Result<BTreeMap<&'static str, ApiKey>> {
    let number: u32 = descriptor
        .to_str()
        .and_then(|text| text.parse().ok())
        // SECURITY: what comes in at the standard streams is somebody else's, and no key of ours.
        .filter(|number| 2 < *number)
        .ok_or_else(|| {
            io::Error::other(format!(
                "{KEYS_FD} is not a descriptor that IronCurtain made; unset it"
            ))
        })?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let pipe = rustix::fs::openat(CWD, format!("/proc/self/fd/{number}"), flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&pipe)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Fifo {
        return Err(io::Error::other(format!("{KEYS_FD} names no pipe")));
    }
    // The name that exec gave us is that of the link.
    rustix::thread::set_name(c"ironcurtain").ok();
    parse(&read_to_end(&pipe)?)
}

fn read_to_end(pipe: &OwnedFd) -> io::Result<Zeroizing<Vec<u8>>> {
    // As large as it can get, so that it never moves and leaves a copy behind.
    let mut message = Zeroizing::new(vec![0; BYTES_MAX]);
    let mut n_bytes = 0;
    while let Some(free) = message.get_mut(n_bytes..).filter(|free| !free.is_empty()) {
        match rustix::io::read(pipe, free)? {
            0 => {
                message.truncate(n_bytes);
                return Ok(message);
            }
            n_read => n_bytes += n_read,
        }
    }
    Err(io::Error::other("there are more keys than there are variables"))
}

fn parse(message: &[u8]) -> io::Result<BTreeMap<&'static str, ApiKey>> {
    let mut keys = BTreeMap::new();
    for line in message.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let at = line.iter().position(|byte| *byte == b'=');
        let (name, key) = at.and_then(|at| line.split_at_checked(at)).unwrap_or((line, b""));
        let name = key_variable(OsStr::from_bytes(name));
        let key = key.strip_prefix(b"=").and_then(|key| check_key(key).ok());
        let (Some(name), Some(key)) = (name, key) else {
            return Err(io::Error::other("the pipe holds something else than keys"));
        };
        keys.insert(name, Arc::new(Secret::new(key.to_owned())));
    }
    Ok(keys)
}
