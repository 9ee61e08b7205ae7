//! Frames: how many bytes come, in four bytes, and then as many.
//!
//! Both sides of the pipes are here, the one that waits for the system and the one that does not. What
//! is in a frame is not known here.

use std::io::{self, Read, Write};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Why there is no frame.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    /// Nothing comes any more.
    #[error("the pipe has ended")]
    End,
    /// It ends within a frame.
    #[error("the pipe has ended within a frame")]
    Cut,
    /// The frame is longer than it may be.
    #[error("a frame takes {0} bytes")]
    TooLong(usize),
    /// The system does not let us.
    #[error("cannot read or write")]
    System(#[source] io::Error),
}

/// Writes a frame, and waits for it.
pub(crate) fn write(stream: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    stream.write_all(&framed(frame)?)?;
    stream.flush()
}

/// Reads a frame of at most `bytes_max`, and waits for it.
pub(crate) fn read(stream: &mut impl Read, bytes_max: usize) -> Result<Vec<u8>, FrameError> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(FrameError::End),
        Err(error) => return Err(FrameError::System(error)),
    }
    let length = checked(length, bytes_max)?;
    let mut frame = Vec::new();
    stream.take(u64::from(length)).read_to_end(&mut frame).map_err(FrameError::System)?;
    whole(frame, length)
}

/// Writes a frame.
pub(crate) async fn send(stream: &mut (impl AsyncWrite + Unpin), frame: &[u8]) -> io::Result<()> {
    // In one piece, so that the other side wakes up once.
    stream.write_all(&framed(frame)?).await?;
    stream.flush().await
}

/// Reads a frame of at most `bytes_max`. What was read is lost if this is dropped.
pub(crate) async fn receive(
    stream: &mut (impl AsyncRead + Unpin),
    bytes_max: usize,
) -> Result<Vec<u8>, FrameError> {
    let mut length = [0; 4];
    let n_read = stream.read(&mut length[..1]).await.map_err(FrameError::System)?;
    if n_read == 0 {
        return Err(FrameError::End);
    }
    stream.read_exact(&mut length[1..]).await.map_err(cut)?;
    let length = checked(length, bytes_max)?;
    // It grows with what comes, not with what is announced.
    let mut frame = Vec::new();
    stream.take(u64::from(length)).read_to_end(&mut frame).await.map_err(FrameError::System)?;
    whole(frame, length)
}

fn framed(frame: &[u8]) -> io::Result<Vec<u8>> {
    let length = u32::try_from(frame.len()).map_err(io::Error::other)?;
    let mut bytes = Vec::with_capacity(frame.len() + 4);
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(frame);
    Ok(bytes)
}

fn checked(length: [u8; 4], bytes_max: usize) -> Result<u32, FrameError> {
    let length = u32::from_be_bytes(length);
    match usize::try_from(length) {
        Ok(n_bytes) if n_bytes <= bytes_max => Ok(length),
        Ok(n_bytes) => Err(FrameError::TooLong(n_bytes)),
        Err(_) => Err(FrameError::TooLong(usize::MAX)),
    }
}

fn whole(frame: Vec<u8>, length: u32) -> Result<Vec<u8>, FrameError> {
    if u32::try_from(frame.len()) == Ok(length) { Ok(frame) } else { Err(FrameError::Cut) }
}

fn cut(error: io::Error) -> FrameError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => FrameError::Cut,
        _ => FrameError::System(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: Result<&[u8], &str>) {
        let expected = expected.map(<[u8]>::to_vec).map_err(ToOwned::to_owned);
        let told = |read: Result<Vec<u8>, FrameError>| read.map_err(|error| error.to_string());
        assert_eq!(told(read(&mut &*bytes, 5)), expected, "{bytes:?}");
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        assert_eq!(told(runtime.block_on(receive(&mut &*bytes, 5))), expected, "{bytes:?}");
    }

    #[test]
    fn frames_are_whole_or_refused() {
        check(&[0, 0, 0, 2, 7, 8, 9], Ok(&[7, 8]));
        check(&[0, 0, 0, 0], Ok(&[]));
        check(&[], Err("the pipe has ended"));
        check(&[0, 0, 0, 3, 1, 2], Err("the pipe has ended within a frame"));
        check(&[0, 0, 0, 6, 1, 2, 3, 4, 5, 6], Err("a frame takes 6 bytes"));
        check(&[255, 255, 255, 255], Err("a frame takes 4294967295 bytes"));
    }

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = Vec::new();
        write(&mut bytes, b"abc").expect("room");
        write(&mut bytes, b"").expect("room");
        let mut bytes = bytes.as_slice();
        assert_eq!(read(&mut bytes, 3).expect("a frame"), b"abc");
        assert_eq!(read(&mut bytes, 3).expect("a frame"), b"");
    }
}
