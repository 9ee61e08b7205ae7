//! Ssh in the cage: no settings of the user, no keys, known hosts that were lent, and an agent that is not there.
//!
//! ```text
//! ssh ──agent.sock──▶ a thread of ours ──Aid::Agent──▶ whoever lends ──▶ the user's agent
//! ```
//!
//! Every file is named from the quarantine, in which git and ssh run. What may be signed is not decided
//! here: each message is passed on, and each answer back.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::aid::{self, AGENT_BYTES_MAX, Aid};
use super::fault::Fault;
use super::quarantine::{Quarantine, short_path};
use crate::tools::Caller;

/// What git runs; its words hold nothing of anybody's.
pub(super) const COMMAND: &str = "ssh -F ssh_config";
/// What is run besides git: git starts a command with words by the shell.
pub(super) const PROGRAMS: [&str; 5] =
    ["/bin/sh", "/usr/bin/ssh", "/bin/ssh", "/usr/local/bin/ssh", "/bin/dash"];

const CONFIG: &str = "\
Host *
  UserKnownHostsFile known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  UpdateHostKeys no
  VerifyHostKeyDNS no
  CheckHostIP no
  CanonicalizeHostname no
  IdentityAgent agent.sock
  IdentityFile none
  CertificateFile none
  PreferredAuthentications publickey
  PubkeyAuthentication yes
  PasswordAuthentication no
  KbdInteractiveAuthentication no
  HostbasedAuthentication no
  GSSAPIAuthentication no
  BatchMode yes
  AddKeysToAgent no
  ForwardAgent no
  ForwardX11 no
  ClearAllForwardings yes
  PermitLocalCommand no
  ProxyCommand none
  ProxyJump none
  ControlMaster no
  ControlPath none
  Tunnel no
  RequestTTY no
  EscapeChar none
  ConnectTimeout 30
  ServerAliveInterval 30
  ServerAliveCountMax 4
  LogLevel ERROR
";
const SOCKET: &str = "agent.sock";

/// How often we look whether somebody talks to the agent, or git has ended.
const TICK: Duration = Duration::from_millis(20);
/// How long one message to the agent may take to come.
const MESSAGE_MAX: Duration = Duration::from_secs(30);
/// What an agent says if it does not do what it is asked.
const FAILURE: [u8; 1] = [5];

/// Writes what ssh reads.
pub(super) fn prepare(quarantine: &Quarantine<'_>, known_hosts: &str) -> Result<(), Fault> {
    quarantine.write("ssh_config", CONFIG.as_bytes())?;
    quarantine.write("known_hosts", known_hosts.as_bytes())
}

/// Runs something while ssh can talk to the agent.
pub(super) fn with_agent<T>(
    caller: Caller<'_>,
    quarantine: &Quarantine<'_>,
    run: impl FnOnce() -> T,
) -> Result<T, Fault> {
    let fault = |error: std::io::Error| {
        Fault::Not(format!("cannot make a place for ssh to ask its agent: {error}"))
    };
    let place = short_path(quarantine, SOCKET);
    rustix::fs::unlink(&place).ok();
    let listener = UnixListener::bind(&place).map_err(fault)?;
    listener.set_nonblocking(true).map_err(fault)?;
    let is_over = AtomicBool::new(false);
    Ok(std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((stream, _)) => serve(caller, stream, &is_over),
                    Err(_) => wait(&listener),
                }
            }
        });
        let _ending = Ending(&is_over);
        run()
    }))
}

/// Ends the agent's thread, whatever becomes of what it runs beside.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Waits until somebody comes, and no longer than a tick.
fn wait(listener: &UnixListener) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let tick = Timespec { tv_sec: 0, tv_nsec: i64::from(TICK.subsec_nanos()) };
    poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&tick)).ok();
}

/// Passes messages on until whoever sends them is done.
fn serve(caller: Caller<'_>, mut stream: UnixStream, is_over: &AtomicBool) {
    let prepared = stream
        .set_nonblocking(false)
        .and_then(|()| stream.set_read_timeout(Some(TICK)))
        .and_then(|()| stream.set_write_timeout(Some(MESSAGE_MAX)));
    if prepared.is_err() {
        return;
    }
    while let Some(message) = read(&mut stream, is_over) {
        let answer = match aid::ask(caller, &Aid::Agent { message }) {
            Ok(lent) if !lent.message.is_empty() => lent.message,
            Ok(_) | Err(_) => FAILURE.to_vec(),
        };
        let Ok(length) = u32::try_from(answer.len()) else { return };
        let framed = [length.to_be_bytes().as_slice(), &answer].concat();
        if stream.write_all(&framed).is_err() {
            return;
        }
    }
}

/// Reads one message, without its length.
fn read(stream: &mut UnixStream, is_over: &AtomicBool) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    fill(stream, &mut length, is_over)?;
    let length = usize::try_from(u32::from_be_bytes(length)).ok()?;
    if length == 0 || AGENT_BYTES_MAX < length {
        return None;
    }
    let mut message = vec![0; length];
    fill(stream, &mut message, is_over)?;
    Some(message)
}

fn fill(stream: &mut UnixStream, bytes: &mut [u8], is_over: &AtomicBool) -> Option<()> {
    let mut n_read = 0;
    while n_read < bytes.len() {
        match stream.read(bytes.get_mut(n_read..)?) {
            Ok(0) => return None,
            Ok(n_bytes) => n_read += n_bytes,
            Err(error) => match error.kind() {
                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted
                    if !is_over.load(Ordering::Relaxed) => {}
                _ => return None,
            },
        }
    }
    Some(())
}
