//! Carries bytes between a client in a cage and a server outside.
//!
//! What the server says flows from the beginning; what the client says is held at the gate until it
//! has shown what it is. It records nothing.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use ic_types::locked;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::select;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::body::Body;
use crate::gate::{Gate, HELD_MAX, Manner, Passed, Turned};
use crate::limits;
use crate::refusal::Refusal;
use crate::request::Request;

/// What has come from the client before the relay begins.
#[derive(Debug)]
pub(crate) enum Start {
    /// The first of its bytes, which nobody has looked at.
    Held(Vec<u8>),
    /// A request that was judged, and what came after its head.
    Http(Request, Vec<u8>),
}

/// Why the relay ended before both sides had said everything.
#[derive(Debug)]
pub(crate) enum Stopped {
    Turned(Turned),
    Idle,
    Broken(io::Error),
}

/// How much was carried, and when for the last time.
#[derive(Debug)]
pub(crate) struct Traffic {
    pub(crate) sent: AtomicU64,
    pub(crate) received: AtomicU64,
    last: Mutex<Instant>,
}

/// Carries bytes in both directions until both ends are through.
pub(crate) async fn relay(
    gate: Gate<'_>,
    client: &mut TcpStream,
    server: &mut TcpStream,
    start: Start,
    traffic: &Traffic,
) -> Result<(), Stopped> {
    let (client_reader, client_writer) = client.split();
    let (server_reader, server_writer) = server.split();
    let up = up(gate, client_reader, server_writer, start, traffic);
    let down = down(server_reader, client_writer, traffic);
    select! {
        both = async { tokio::try_join!(up, down) } => both.map(drop),
        () = traffic.idle() => Err(Stopped::Idle),
    }
}

/// Carries what the server says.
async fn down(
    mut server: impl AsyncRead + Unpin,
    mut client: impl AsyncWrite + Unpin,
    traffic: &Traffic,
) -> Result<(), Stopped> {
    let mut buffer = vec![0; limits::BUFFER];
    loop {
        let n = server.read(&mut buffer).await?;
        let Some(bytes @ [_, ..]) = buffer.get(..n) else { break };
        traffic.carry(bytes, &mut client, &traffic.received).await?;
    }
    // The client learns that the server is through, and may go on talking to it.
    Ok(client.shutdown().await?)
}

/// Carries what the client says, once it has passed the gate.
async fn up(
    gate: Gate<'_>,
    mut client: impl AsyncRead + Unpin,
    server: impl AsyncWrite + Unpin,
    start: Start,
    traffic: &Traffic,
) -> Result<(), Stopped> {
    let mut server = Listener { server, traffic, is_gone: false };
    let (request, held) = match start {
        Start::Http(request, held) => (Some(request), held),
        Start::Held(mut held) => match pass(gate, &mut client, &mut held).await? {
            Some(Passed::Http(request, n)) => {
                let rest = held.split_off(n.min(held.len()));
                (Some(request), rest)
            }
            Some(Passed::Raw) | None => (None, held),
        },
    };
    match request {
        Some(request) => send_request(request, &held, &mut client, &mut server).await,
        None => send_all(&held, &mut client, &mut server).await,
    }
}

/// Holds the client's bytes until the gate has decided; `None` if it never said anything.
async fn pass(
    gate: Gate<'_>,
    client: &mut (impl AsyncRead + Unpin),
    held: &mut Vec<u8>,
) -> Result<Option<Passed>, Stopped> {
    let undecided = || Stopped::Turned(Turned { why: Refusal::Undecided, manner: Manner::Unknown });
    // A client that waits for the server to speak first may wait as long as it likes.
    let mut deadline = None;
    loop {
        if let Some(passed) = gate.inspect(held).map_err(Stopped::Turned)? {
            return Ok(Some(passed));
        }
        let room = HELD_MAX.saturating_sub(held.len()) as u64;
        let mut limited = (&mut *client).take(room);
        let read = limited.read_buf(held);
        let n = match deadline {
            Some(deadline) => timeout_at(deadline, read).await.map_err(|_| undecided())?,
            None => read.await,
        }?;
        match (n, held.is_empty()) {
            (0, true) => return Ok(None),
            (0, false) => return Err(undecided()),
            _ => {}
        }
        deadline.get_or_insert_with(|| Instant::now() + limits::GATE);
    }
}

/// Sends everything, and that it was everything.
async fn send_all(
    held: &[u8],
    client: &mut (impl AsyncRead + Unpin),
    server: &mut Listener<'_, impl AsyncWrite + Unpin>,
) -> Result<(), Stopped> {
    server.hear(held).await;
    let mut buffer = vec![0; limits::BUFFER];
    while !server.is_gone {
        let n = client.read(&mut buffer).await?;
        let Some(bytes @ [_, ..]) = buffer.get(..n) else { break };
        server.hear(bytes).await;
    }
    // If it is gone, there is nobody to tell.
    server.server.shutdown().await.ok();
    Ok(())
}

/// Sends one request with its body, and nothing of what follows.
///
/// SECURITY: what follows would be a second request, perhaps for another host that the same server
/// answers for. The client is told to close, and nothing more of it is read.
async fn send_request(
    request: Request,
    held: &[u8],
    client: &mut (impl AsyncRead + Unpin),
    server: &mut Listener<'_, impl AsyncWrite + Unpin>,
) -> Result<(), Stopped> {
    let malformed =
        |why| Stopped::Turned(Turned { why: Refusal::Malformed(why), manner: Manner::Http });
    let mut body = Body::new(request.framing);
    let mut out = request.head;
    body.take(held, &mut out).map_err(malformed)?;
    server.hear(&out).await;
    let mut buffer = vec![0; limits::BUFFER];
    while !body.is_done() && !server.is_gone {
        let n = client.read(&mut buffer).await?;
        let Some(bytes @ [_, ..]) = buffer.get(..n) else {
            return Err(Stopped::Broken(io::ErrorKind::UnexpectedEof.into()));
        };
        out.clear();
        body.take(bytes, &mut out).map_err(malformed)?;
        server.hear(&out).await;
    }
    Ok(())
}

/// The server's ear.
struct Listener<'a, W> {
    server: W,
    traffic: &'a Traffic,
    is_gone: bool,
}

impl<W: AsyncWrite + Unpin> Listener<'_, W> {
    /// Sends `bytes`, unless the server stopped listening; what it says is worth hearing even then.
    async fn hear(&mut self, bytes: &[u8]) {
        if self.is_gone || bytes.is_empty() {
            return;
        }
        let traffic = self.traffic;
        self.is_gone = traffic.carry(bytes, &mut self.server, &traffic.sent).await.is_err();
    }
}

// === impl Traffic ===

impl Traffic {
    pub(crate) fn new() -> Self {
        let last = Mutex::new(Instant::now());
        Self { sent: AtomicU64::new(0), received: AtomicU64::new(0), last }
    }

    /// Writes `bytes` to `to`, and counts them as they go: half of them may be all that ever does.
    async fn carry(
        &self,
        mut bytes: &[u8],
        to: &mut (impl AsyncWrite + Unpin),
        counter: &AtomicU64,
    ) -> io::Result<()> {
        while !bytes.is_empty() {
            let n = to.write(bytes).await?;
            if n == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            bytes = bytes.get(n..).unwrap_or_default();
            counter.fetch_add(n as u64, Ordering::Relaxed);
            *locked(&self.last) = Instant::now();
        }
        Ok(())
    }

    /// Returns once nothing was carried for too long.
    async fn idle(&self) {
        loop {
            let end = *locked(&self.last) + limits::IDLE;
            if end <= Instant::now() {
                return;
            }
            sleep_until(end).await;
        }
    }
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}
