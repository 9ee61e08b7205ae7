//! The one stream of an attached container, taken apart: what its program reads, writes and complains about.
//!
//! Each frame has a head of eight bytes: which stream, three zeros, and how long. What is not such a frame ends
//! both streams; nothing of it is guessed.

use tokio::io::{
    AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream, split,
};

use crate::engine::Streams;

/// How much of a stream waits for its reader.
const WAITING_BYTES_MAX: usize = 64 << 10;
const HEAD_BYTES: usize = 8;

/// Takes the stream of an attached container apart.
pub(crate) fn of<S>(stream: S) -> Streams
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (reader, writer) = split(stream);
    let (stdout, to_stdout) = tokio::io::duplex(WAITING_BYTES_MAX);
    let (stderr, to_stderr) = tokio::io::duplex(WAITING_BYTES_MAX);
    tokio::spawn(take_apart(reader, to_stdout, to_stderr));
    Streams { stdin: Box::new(writer), stdout: Box::new(stdout), stderr: Box::new(stderr) }
}

/// Returns the stream of a container at a terminal, which is all that its program writes.
pub(crate) fn of_terminal<S>(stream: S) -> Streams
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (reader, writer) = split(stream);
    let stderr = Box::new(tokio::io::empty());
    Streams { stdin: Box::new(writer), stdout: Box::new(reader), stderr }
}

/// Carries frames to their streams until there are no more.
async fn take_apart(
    mut reader: impl AsyncRead + Unpin,
    mut to_stdout: DuplexStream,
    mut to_stderr: DuplexStream,
) {
    let mut chunk = vec![0; WAITING_BYTES_MAX];
    loop {
        let mut head = [0; HEAD_BYTES];
        if reader.read_exact(&mut head).await.is_err() {
            return;
        }
        let [stream, 0, 0, 0, a, b, c, d] = head else { return };
        let to = match stream {
            1 => &mut to_stdout,
            2 => &mut to_stderr,
            _ => return,
        };
        let mut n_left = u32::from_be_bytes([a, b, c, d]) as usize;
        while 0 < n_left {
            let n_wanted = n_left.min(chunk.len());
            let Some(part) = chunk.get_mut(..n_wanted) else { return };
            let Ok(n_bytes @ 1..) = reader.read(part).await else { return };
            // Whoever reads no more does not keep the other stream from coming.
            to.write_all(part.get(..n_bytes).unwrap_or_default()).await.ok();
            n_left -= n_bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what comes out of both streams for what the engine sends.
    async fn taken_apart(sent: &[u8]) -> (String, String) {
        let (mut engine, ours) = tokio::io::duplex(1 << 20);
        engine.write_all(sent).await.unwrap();
        drop(engine);
        let Streams { stdin, mut stdout, mut stderr } = of(ours);
        let (mut out, mut complaint) = (String::new(), String::new());
        let (read, complained) =
            tokio::join!(stdout.read_to_string(&mut out), stderr.read_to_string(&mut complaint));
        read.unwrap();
        complained.unwrap();
        drop(stdin);
        (out, complaint)
    }

    fn frame(stream: u8, text: &str) -> Vec<u8> {
        let length = u32::try_from(text.len()).unwrap().to_be_bytes();
        [&[stream, 0, 0, 0], &length[..], text.as_bytes()].concat()
    }

    #[tokio::test]
    async fn frames_go_to_their_streams() {
        let sent = [frame(1, "a"), frame(2, "b"), frame(1, ""), frame(1, "cd")].concat();
        assert_eq!(taken_apart(&sent).await, ("acd".to_owned(), "b".to_owned()));
        let long = "x".repeat(3 * WAITING_BYTES_MAX + 5);
        assert_eq!(taken_apart(&frame(1, &long)).await.0, long);
    }

    #[tokio::test]
    async fn what_is_no_frame_ends_both() {
        let odd: [&[u8]; 4] = [
            b"plain text of a terminal",
            &[1, 0, 0],
            &[3, 0, 0, 0, 0, 0, 0, 1, 65],
            &[1, 0, 9, 0, 0, 0, 0, 1, 65],
        ];
        for odd in odd {
            let sent = [frame(1, "a"), odd.to_vec()].concat();
            assert_eq!(taken_apart(&sent).await, ("a".to_owned(), String::new()), "{odd:?}");
        }
        // Cut in the middle.
        let mut cut = frame(1, "abc");
        cut.pop();
        assert_eq!(taken_apart(&cut).await.0, "ab");
    }
}
