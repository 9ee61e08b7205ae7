//! The first process of ours in a container: it opens the doors, gives up what the agent is not to have, and
//! becomes the agent.
//!
//! ```text
//! room ─starts─▶ relay: 127.0.0.1:PORT ─▶ DIRECTORY/PORT.sock      and the leash: when the host is gone, so is all
//!   └─ no Unix sockets, no calls that lead out ─▶ becomes the program
//! ```
//!
//! What holds the container is the engine's business; this keeps an agent in it from what the cage keeps it from,
//! such as sockets that programs of the user serve in the workspace.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::{DumpableBehavior, Pid, Signal};
use rustix::termios::tcgetwinsize;

use crate::cage::{CageSpec, Limits, Network, Relaxation};
use crate::launch::{EXIT_CANNOT_RUN, EXIT_NO_PROGRAM, restrict_alone};
use crate::start::OURSELVES;

/// The word with which this program becomes an agent in a container.
pub const ROOM: &str = "agent-room";
/// The socket that the host holds as long as the container may live.
pub const LEASH: &str = "leash.sock";
/// The word with which it relays instead.
const RELAY: &str = "--relay";
/// What parts the doors from the program.
const PROGRAM: &str = "--";
const READY: u8 = b'+';
/// How many connections an agent may have open at a time.
const CONNECTIONS_MAX: usize = 256;
const CHUNK_BYTES: usize = 64 << 10;
const EXIT_USAGE: u8 = 2;
/// How often it is looked how large the terminal is, and after how long again: 5 s in all.
const SIZE_LOOKS_MAX: usize = 500;
const SIZE_LOOK: Duration = Duration::from_millis(10);

/// Returns the name of the socket behind a door.
pub fn door_socket(port: u16) -> String {
    format!("{port}.sock")
}

/// The doors of a container.
struct Room {
    directory: PathBuf,
    ports: Vec<u16>,
}

/// Runs a program behind doors: `DIRECTORY PORT… -- PROGRAM ARGUMENT…`; returns only if that failed.
pub fn run_room(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(mut first) = words.next() else { return ExitCode::from(EXIT_USAGE) };
    let is_relay = first == RELAY;
    if is_relay {
        let Some(directory) = words.next() else { return ExitCode::from(EXIT_USAGE) };
        first = directory;
    }
    let mut ports = Vec::new();
    for word in words.by_ref().take_while(|word| word != PROGRAM) {
        match word.to_str().and_then(|word| word.parse().ok()) {
            Some(port) => ports.push(port),
            None => return ExitCode::from(EXIT_USAGE),
        }
    }
    let room = Room { directory: first.into(), ports };
    let (error, code) = match is_relay {
        true => (room.relay(), EXIT_CANNOT_RUN),
        false => match words.next() {
            Some(program) => room.become_program(&program, words),
            None => return ExitCode::from(EXIT_USAGE),
        },
    };
    writeln!(io::stderr(), "ironcurtain: the program cannot be run in its container: {error}").ok();
    ExitCode::from(code)
}

/// Waits until the host has said how large our terminal is, if we have one; engines make it 0×0 at first.
///
/// A host that does not say so gets a program that takes its terminal to be as it likes.
fn wait_for_size() {
    let stdin = rustix::stdio::stdin();
    for _ in 0..SIZE_LOOKS_MAX {
        match tcgetwinsize(stdin) {
            #[expect(
                clippy::disallowed_methods,
                reason = "of a new size only a signal tells, and its handler would stay in the program"
            )]
            Ok(size) if size.ws_row == 0 || size.ws_col == 0 => std::thread::sleep(SIZE_LOOK),
            Ok(_) | Err(_) => return,
        }
    }
}

impl Room {
    fn become_program(
        &self,
        program: &OsString,
        arguments: impl Iterator<Item = OsString>,
    ) -> (io::Error, u8) {
        if let Err(error) = self.start_relay().and_then(|()| restrict()) {
            return (error, EXIT_CANNOT_RUN);
        }
        wait_for_size();
        #[expect(clippy::disallowed_methods, reason = "this process becomes it")]
        let error = std::process::Command::new(program).args(arguments).exec();
        let is_missing = error.kind() == io::ErrorKind::NotFound;
        (error, if is_missing { EXIT_NO_PROGRAM } else { EXIT_CANNOT_RUN })
    }

    /// Starts what carries connections to the host, and waits until it listens.
    fn start_relay(&self) -> io::Result<()> {
        #[expect(clippy::disallowed_methods, reason = "it is this program")]
        let mut relay = std::process::Command::new(OURSELVES);
        relay.arg(ROOM).arg(RELAY).arg(&self.directory);
        relay.args(self.ports.iter().map(ToString::to_string));
        relay.env_clear().current_dir("/");
        relay.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        // The agent becomes its parent. It ends with the container.
        let relay = relay.spawn()?;
        let mut ready = [0];
        let mut stdout = relay.stdout.ok_or_else(|| io::Error::other("the relay has no pipe"))?;
        stdout.read_exact(&mut ready)?;
        match ready {
            [READY] => Ok(()),
            _ => Err(io::Error::other("the relay did not come up")),
        }
    }

    /// Carries connections until the host is gone; returns only if that failed.
    fn relay(&self) -> io::Error {
        match self.listen() {
            Ok(leash) => {
                hold(leash);
                // SECURITY: all that this user may end in a container is the agent's, and the container ends with it.
                if is_contained() {
                    rustix::process::kill_process_group(Pid::INIT, Signal::KILL).ok();
                }
                io::Error::other("the host is gone")
            }
            Err(error) => error,
        }
    }

    fn listen(&self) -> io::Result<UnixStream> {
        // SECURITY: the agent runs as the same user, and must not make this process connect for it.
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        let leash = UnixStream::connect(self.directory.join(LEASH))?;
        let n_open = Arc::new(AtomicUsize::new(0));
        for port in &self.ports {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, *port))?;
            let (socket, n_open) = (self.directory.join(door_socket(*port)), Arc::clone(&n_open));
            std::thread::spawn(move || accept(&listener, &socket, &n_open));
        }
        let mut stdout = io::stdout();
        stdout.write_all(&[READY])?;
        stdout.flush()?;
        Ok(leash)
    }
}

/// Returns whether the first process here is this user's: on a machine it is root's.
fn is_contained() -> bool {
    let us = rustix::process::geteuid();
    !us.is_root() && rustix::fs::stat("/proc/1").is_ok_and(|it| it.st_uid == us.as_raw())
}

/// Returns when the host has let go of the leash.
fn hold(mut leash: UnixStream) {
    let mut nothing = [0; 16];
    while matches!(leash.read(&mut nothing), Ok(1..)) {}
}

fn accept(listener: &TcpListener, socket: &Path, n_open: &Arc<AtomicUsize>) {
    for inward in listener.incoming() {
        let Ok(inward) = inward else { continue };
        if CONNECTIONS_MAX <= n_open.fetch_add(1, Ordering::Relaxed) {
            n_open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (socket, n_open) = (socket.to_owned(), Arc::clone(n_open));
        std::thread::spawn(move || {
            // An agent that is not connected says so itself.
            carry(&inward, &socket).ok();
            n_open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Carries both ways until both have ended.
fn carry(inward: &TcpStream, socket: &Path) -> io::Result<()> {
    let outward = UnixStream::connect(socket)?;
    inward.set_nodelay(true)?;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            copy(inward, &outward).ok();
            outward.shutdown(Shutdown::Write).ok();
        });
        copy(&outward, inward).ok();
        inward.shutdown(Shutdown::Write).ok();
    });
    Ok(())
}

/// Carries what comes, at once.
fn copy(mut from: impl io::Read, mut to: impl io::Write) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(n_bytes) => to.write_all(chunk.get(..n_bytes).unwrap_or_default())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Gives up the system calls that the cage of an agent does not have.
fn restrict() -> io::Result<()> {
    let spec = CageSpec {
        seen: Vec::new(),
        hidden: Vec::new(),
        absent: Vec::new(),
        placed: Vec::new(),
        links: Vec::new(),
        follows_links: true,
        home: PathBuf::new(),
        scratch: None,
        network: Network::Doors { ports: Vec::new(), addresses: Vec::new() },
        unix_sockets: false,
        opens_beneath: false,
        relaxed: Relaxation::AGENT.to_vec(),
        limits: Limits::AGENT,
        user: None,
    };
    restrict_alone(&spec)
}
