//! The door of a session through which terminals come: its own socket, for the same user only.
//!
//! Who may sit down is decided by whoever draws. A visitor that says nothing sensible in time is turned away
//! before anybody hears of it.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use ic_client::socket::{BEGINS_WITHIN, Seat, Socket, SocketError};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

use super::wire::{Told, Wish, Word, hear_hello};

/// How many may stand at the door at a time.
const AT_THE_DOOR_MAX: usize = 8;

/// A terminal that wants to come in.
#[derive(Debug)]
pub(crate) struct Visitor {
    pub(crate) wish: Wish,
    pub(crate) terminal: OwnedFd,
    pub(crate) line: Line,
    pub(crate) words: Words,
}

/// What a visitor is told through.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    writing: Arc<OwnedWriteHalf>,
    /// Its place among the connections of its process.
    _seat: Option<Arc<Seat>>,
}

/// What a visitor says.
#[derive(Debug)]
pub(crate) struct Words(OwnedReadHalf);

/// The door.
#[derive(Debug)]
pub(crate) struct Door {
    visitors: mpsc::Receiver<Visitor>,
    accepting: JoinHandle<()>,
}

impl Visitor {
    /// Hears what somebody at `stream` wants.
    pub(crate) async fn hear(stream: UnixStream, seat: Option<Seat>) -> io::Result<Self> {
        let hello = tokio::time::timeout(BEGINS_WITHIN, hear_hello(&stream));
        let late = || io::Error::from(io::ErrorKind::TimedOut);
        let (wish, terminal) = hello.await.map_err(|_| late())??;
        let (reading, writing) = stream.into_split();
        let line = Line { writing: Arc::new(writing), _seat: seat.map(Arc::new) };
        Ok(Self { wish, terminal, line, words: Words(reading) })
    }
}

impl Line {
    /// Tells something; whoever does not listen does not hear it.
    pub(crate) fn tell(&self, told: &Told) {
        let bytes = told.to_bytes();
        // It is short, and a line holds a lot; one that is full is one that nobody reads.
        if !self.writing.try_write(&bytes).is_ok_and(|n_bytes| n_bytes == bytes.len()) {
            rustix::net::shutdown(self.writing.as_ref().as_ref(), rustix::net::Shutdown::Both).ok();
        }
    }
}

impl Words {
    /// Waits for the next one; `None` if nothing sensible comes any more.
    pub(crate) async fn next(&mut self) -> Option<Word> {
        let mut byte = [0];
        loop {
            self.0.readable().await.ok()?;
            match self.0.try_read(&mut byte) {
                Ok(1) => {
                    let [byte] = byte;
                    return Word::of(byte);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(_) | Err(_) => return None,
            }
        }
    }
}

impl Door {
    /// Opens the door; it is closed when it is dropped.
    pub(crate) async fn open(path: &Path) -> Result<Self, SocketError> {
        let socket = Socket::bind(path).await?;
        let (sender, visitors) = mpsc::channel(1);
        let accepting = tokio::spawn(accept(socket, sender));
        Ok(Self { visitors, accepting })
    }

    /// Waits for a visitor.
    pub(crate) async fn visitor(&mut self) -> Visitor {
        match self.visitors.recv().await {
            Some(visitor) => visitor,
            // The door is closed.
            None => std::future::pending().await,
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(socket: Socket, visitors: mpsc::Sender<Visitor>) {
    let places = Arc::new(Semaphore::new(AT_THE_DOOR_MAX));
    loop {
        let (stream, seat) = socket.accept().await;
        // Whoever comes while the door is full is turned away.
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let visitors = visitors.clone();
        tokio::spawn(async move {
            if let Ok(visitor) = Visitor::hear(stream, Some(seat)).await {
                visitors.send(visitor).await.ok();
            }
            drop(place);
        });
    }
}
