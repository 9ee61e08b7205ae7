//! What waits to be written to one client: bounded in lines and in bytes.
//!
//! Where a client reads slowly, its own calls wait; a client that shares the session with others, and
//! lets more wait than it may, is dropped instead. What is written is not known here.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// How many answers may wait for a client that does not read.
const LINES_MAX: usize = 1024;
/// How many bytes of them, for a client that is one of several: two of the largest results.
const BYTES_MAX: usize = 20 << 20;

/// What becomes of a client that does not read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Slow {
    /// It is waited for: nobody else is here.
    IsWaitedFor,
    /// It is dropped: others share the session.
    IsDropped,
}

/// The way to a client.
#[derive(Clone, Debug)]
pub struct Outbox {
    lines: mpsc::Sender<String>,
    n_bytes: Arc<AtomicUsize>,
    slow: Slow,
    /// Cancelled when the client is gone, or to be dropped.
    gone: CancellationToken,
}

/// The other end of it.
#[derive(Debug)]
pub struct Outgoing {
    lines: mpsc::Receiver<String>,
    n_bytes: Arc<AtomicUsize>,
}

impl Outbox {
    /// Makes the way to a client, and its other end; `gone` is cancelled if the client is to be dropped.
    pub fn new(slow: Slow, gone: CancellationToken) -> (Self, Outgoing) {
        let (sender, lines) = mpsc::channel(LINES_MAX);
        let n_bytes = Arc::new(AtomicUsize::new(0));
        let outgoing = Outgoing { lines, n_bytes: Arc::clone(&n_bytes) };
        (Self { lines: sender, n_bytes, slow, gone }, outgoing)
    }

    /// Sends an answer; waits where the client is to be waited for.
    pub async fn send(&self, line: String) {
        self.count(line.len());
        match (self.lines.try_send(line), self.slow) {
            (Ok(()) | Err(mpsc::error::TrySendError::Closed(_)), _) => {}
            (Err(mpsc::error::TrySendError::Full(_)), Slow::IsDropped) => self.gone.cancel(),
            (Err(mpsc::error::TrySendError::Full(line)), Slow::IsWaitedFor) => {
                // A client that is gone is noticed by the writer.
                self.lines.send(line).await.ok();
            }
        }
    }

    /// Sends something that a slow client may miss.
    pub fn send_if_there_is_room(&self, line: String) {
        let length = line.len();
        if self.lines.try_send(line).is_ok() {
            self.count(length);
        }
    }

    fn count(&self, n_bytes: usize) {
        let before = self.n_bytes.fetch_add(n_bytes, Ordering::Relaxed);
        if self.slow == Slow::IsDropped && BYTES_MAX < before.saturating_add(n_bytes) {
            self.gone.cancel();
        }
    }
}

impl Outgoing {
    /// Takes out up to `n_max` lines; none if there will be no more.
    pub async fn take(&mut self, lines: &mut Vec<String>, n_max: usize) {
        self.lines.recv_many(lines, n_max).await;
    }

    /// Notes that so many bytes were written.
    pub fn written(&self, n_bytes: usize) {
        // It may be counted here a moment before it is counted there.
        let less = |before: usize| Some(before.saturating_sub(n_bytes));
        self.n_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_client_that_is_one_of_several_is_dropped_when_too_much_waits() {
        for (n_lines, bytes, is_dropped) in [
            (LINES_MAX, 1, false),
            (LINES_MAX + 1, 1, true),
            (4, BYTES_MAX / 4, false),
            (5, BYTES_MAX / 4, true),
        ] {
            let gone = CancellationToken::new();
            let (outbox, outgoing) = Outbox::new(Slow::IsDropped, gone.clone());
            for _ in 0..n_lines {
                outbox.send("x".repeat(bytes)).await;
            }
            assert_eq!(gone.is_cancelled(), is_dropped, "{n_lines} lines of {bytes}");
            drop(outgoing);
        }
    }

    #[tokio::test]
    async fn what_was_written_makes_room() {
        let gone = CancellationToken::new();
        let (outbox, mut outgoing) = Outbox::new(Slow::IsDropped, gone.clone());
        let mut lines = Vec::new();
        for _ in 0..16 {
            outbox.send("x".repeat(BYTES_MAX / 2)).await;
            outgoing.take(&mut lines, 1).await;
            outgoing.written(BYTES_MAX / 2);
            lines.clear();
        }
        assert!(!gone.is_cancelled());
    }

    #[tokio::test]
    async fn what_may_be_missed_is_missed() {
        let gone = CancellationToken::new();
        let (outbox, outgoing) = Outbox::new(Slow::IsDropped, gone.clone());
        for _ in 0..2 * LINES_MAX {
            outbox.send_if_there_is_room("x".to_owned());
        }
        assert!(!gone.is_cancelled());
        drop(outgoing);
    }
}
