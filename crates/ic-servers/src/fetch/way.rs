//! The way out: how the fetch server gets a connection to the host of a call.
//!
//! In a cage there is one: the proxy that the host listens on, which makes the connection to a checked
//! address or says why not. Outside of a cage whoever starts the server hands another way in. Nothing is
//! looked up or judged here.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

pub use super::deadline::Deadline;

/// The longest answer of the proxy that is read.
const HEAD_BYTES_MAX: usize = 4 << 10;
/// The longest refusal of the proxy that is passed on.
const WHY_BYTES_MAX: u64 = 4 << 10;

/// A way to other machines.
pub trait Connect: fmt::Debug + Send + Sync {
    /// Connects to `target`; or says why that cannot be.
    fn connect(&self, target: &Target, deadline: &Deadline) -> Result<TcpStream, String>;
}

/// A host and a port, as a URL has them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Target {
    /// The host; an IPv6 address stands in brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// No way at all, for a server that only says what it can do.
#[derive(Clone, Copy, Debug)]
pub struct Nowhere;

impl Connect for Nowhere {
    fn connect(&self, target: &Target, _: &Deadline) -> Result<TcpStream, String> {
        Err(format!("`{target}` cannot be reached: this server was started without network"))
    }
}

/// The HTTP proxy at a port of this cage.
#[derive(Clone, Copy, Debug)]
pub struct Proxy {
    /// The port.
    pub port: u16,
}

impl Connect for Proxy {
    fn connect(&self, target: &Target, deadline: &Deadline) -> Result<TcpStream, String> {
        let failed =
            |error: io::Error| format!("the way to `{target}` is closed: {error}; try again");
        let late = || format!("there was no connection to `{target}` in time");
        let left = || deadline.left().ok_or_else(late);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let mut stream = TcpStream::connect_timeout(&address, left()?).map_err(failed)?;
        // What is written goes out at once; a socket that refuses that is only slower.
        stream.set_nodelay(true).ok();
        stream.set_write_timeout(Some(left()?)).map_err(failed)?;
        let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
        stream.write_all(request.as_bytes()).map_err(failed)?;
        let head = read_head(&mut stream, &left).map_err(|error| match error {
            Some(error) if error.kind() != io::ErrorKind::WouldBlock => failed(error),
            Some(_) | None => late(),
        })?;
        match status(&head) {
            Some(200) => Ok(stream),
            _ => Err(why(stream, left().unwrap_or(Duration::from_secs(1)), target)),
        }
    }
}

/// Reads to the end of the proxy's head, and not a byte further: what follows is the host's.
fn read_head(
    stream: &mut TcpStream,
    left: &dyn Fn() -> Result<Duration, String>,
) -> Result<Vec<u8>, Option<io::Error>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < HEAD_BYTES_MAX {
        stream.set_read_timeout(Some(left().map_err(|_| None)?))?;
        let mut byte = [0];
        match stream.read(&mut byte)? {
            0 => return Err(Some(io::ErrorKind::UnexpectedEof.into())),
            _ => head.extend(byte),
        }
    }
    Ok(head)
}

fn status(head: &[u8]) -> Option<u16> {
    let mut headers = [httparse::EMPTY_HEADER; 16];
    let mut response = httparse::Response::new(&mut headers);
    response.parse(head).ok()?;
    response.code
}

/// Returns the proxy's words: they are the host's, who knows why there is no connection.
fn why(stream: TcpStream, left: Duration, target: &Target) -> String {
    stream.set_read_timeout(Some(left)).ok();
    let mut text = String::new();
    match stream.take(WHY_BYTES_MAX).read_to_string(&mut text) {
        Ok(1..) => text.trim().to_owned(),
        Ok(0) | Err(_) => format!("there is no connection to `{target}`"),
    }
}
