//! The stdio bridge: in the cage of an agent, it carries MCP from the agent's pipes to a door of the cage.
//!
//! Bytes go through as they are. It is started by the agent, inside, and has no more rights than that; what
//! is judged is judged at the other end.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::process::ExitCode;

/// How much is carried at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// Runs the bridge to the port that the first argument names, until the host ends it.
pub fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let port = arguments.next().and_then(|it| it.to_str()?.parse::<u16>().ok());
    let Some(port) = port else { return ExitCode::from(2) };
    match carry(port) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // For the agent's own log; there is nobody else here.
            writeln!(io::stderr(), "ironcurtain: cannot reach the host: {error}").ok();
            ExitCode::FAILURE
        }
    }
}

fn carry(port: u16) -> io::Result<()> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    let outward = stream.try_clone()?;
    std::thread::spawn(move || {
        copy(io::stdin().lock(), &outward).ok();
        // Answers to what was asked may still come.
        outward.shutdown(Shutdown::Write).ok();
    });
    copy(&stream, io::stdout().lock())
}

/// Carries what comes, at once.
fn copy(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let n_bytes = match from.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(n_bytes) => n_bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        to.write_all(chunk.get(..n_bytes).unwrap_or_default())?;
        to.flush()?;
    }
}
