//! How much a server may say before the head of its answer: a limit on the connection itself.
//!
//! An answer may come after any number of interim ones, such as `103 Early Hints`, which are read and
//! forgotten; so without a limit one that sends nothing else is listened to for ever. What is said is not
//! understood here.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How many bytes may come until the head of the answer is there, with all interim answers before it.
const BYTES_MAX: usize = 256 << 10;

/// A connection on which only so much is read until the limit is lifted.
#[derive(Debug)]
pub(super) struct BeforeHead<S> {
    stream: S,
    left: Limit,
}

/// The limit of a connection.
#[derive(Clone, Debug)]
pub(super) struct Limit(Arc<AtomicUsize>);

impl Limit {
    /// Lets the connection say as much as it likes: others count from here on.
    pub(super) fn lift(&self) {
        self.0.store(usize::MAX, Ordering::Relaxed);
    }
}

impl<S> BeforeHead<S> {
    pub(super) fn new(stream: S) -> (Self, Limit) {
        let left = Limit(Arc::new(AtomicUsize::new(BYTES_MAX)));
        (Self { stream, left: left.clone() }, left)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for BeforeHead<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let left = self.left.0.load(Ordering::Relaxed);
        if left == 0 {
            let reason = format!("it sends more than {BYTES_MAX} bytes before its answer begins");
            return Poll::Ready(Err(io::Error::other(reason)));
        }
        let n_before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let n_read = buffer.filled().len().saturating_sub(n_before);
        let rest = left.saturating_sub(n_read);
        // Unless it was lifted meanwhile.
        let kept = Ordering::Relaxed;
        if left != usize::MAX {
            self.left.0.compare_exchange(left, rest, kept, kept).ok();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for BeforeHead<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn so_much_is_read_until_the_limit_is_lifted() {
        let endless = tokio::io::repeat(b'x');
        let (mut stream, limit) = BeforeHead::new(endless);
        let mut read = vec![0; BYTES_MAX];
        stream.read_exact(&mut read).await.unwrap();
        assert!(stream.read_exact(&mut [0]).await.is_err());
        limit.lift();
        stream.read_exact(&mut read).await.unwrap();
        stream.read_exact(&mut read).await.unwrap();
    }
}
