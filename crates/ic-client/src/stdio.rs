//! Standard input and output as streams of a client.
//!
//! Pipes and sockets, which is what clients give us, are used without a thread in between. A terminal
//! or a file is read and written by threads: making it non-blocking would change it for others who
//! share it.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;

use rustix::fs::FileType;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// Something to read from.
pub type Reader = Box<dyn AsyncRead + Send + Unpin>;
/// Something to write to.
pub type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Returns standard input.
pub fn reader() -> io::Result<Reader> {
    let stdin = io::stdin().as_fd().try_clone_to_owned()?;
    Ok(match kind(&stdin)? {
        FileType::Fifo => Box::new(pipe::Receiver::from_owned_fd(stdin)?),
        FileType::Socket => Box::new(socket(stdin)?),
        _ => Box::new(with_threads(stdin)),
    })
}

/// Returns standard output; nothing else may write to it while a client is served.
pub fn writer() -> io::Result<Writer> {
    let stdout = io::stdout().as_fd().try_clone_to_owned()?;
    Ok(match kind(&stdout)? {
        FileType::Fifo => Box::new(pipe::Sender::from_owned_fd(stdout)?),
        FileType::Socket => Box::new(socket(stdout)?),
        _ => Box::new(with_threads(stdout)),
    })
}

fn kind(fd: &OwnedFd) -> io::Result<FileType> {
    let stat = rustix::fs::fstat(fd)?;
    Ok(FileType::from_raw_mode(stat.st_mode))
}

#[expect(clippy::disallowed_types, reason = "the descriptor is open already; nothing is opened")]
fn with_threads(fd: OwnedFd) -> tokio::fs::File {
    tokio::fs::File::from_std(std::fs::File::from(fd))
}

fn socket(fd: OwnedFd) -> io::Result<UnixStream> {
    let stream = StdUnixStream::from(fd);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}
