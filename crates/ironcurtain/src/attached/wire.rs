//! What is said between a terminal's client and the process that holds a session: a closed list, of bounded size.
//!
//! ```text
//! client: hello (4 bytes, and the terminal) ─▶     ◀─ welcome, or refused
//!         go ─▶  resized, continued, leave, end ─▶ ◀─ titled ◀─ goodbye ◀─ said … ◀─ ended
//! ```
//!
//! Whoever says anything else is not heard any more. Nothing that is typed or drawn goes this way.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::termios::isatty;
use tokio::io::{AsyncRead, AsyncReadExt as _, Interest};
use tokio::net::UnixStream;

/// What a hello begins with; the last byte is the version.
const HELLO: [u8; 3] = *b"ic\x01";
/// The most that one text takes.
const TEXT_BYTES_MAX: usize = 4096;
/// One more than may come, so that more is noticed.
const DESCRIPTORS_MAX: usize = 2;

/// What a terminal wants.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Wish {
    /// To be the one at which the person sits.
    Attach,
    /// Likewise, in place of another one.
    Take,
    /// To look on.
    Watch,
}

/// What a client says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Word {
    /// The terminal gives every key at once now.
    Go,
    /// It has another size.
    Resized,
    /// Somebody else may have written to it.
    Continued,
    /// It wants to leave.
    Leave,
    /// The session is to end.
    End,
}

/// What a client is told.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Told {
    /// It may come.
    Welcome,
    /// It may not.
    Refused(String),
    /// Whether the title of the window is ours from now on.
    Titled(bool),
    /// Nothing is drawn or read any more.
    Goodbye(Why),
    /// A line for the person.
    Said(String),
    /// How the session ended.
    Ended(u8),
}

/// Why a terminal is let go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Why {
    /// It wanted to leave.
    Left,
    /// Another one took its place.
    Taken,
    /// The interface has ended.
    Over,
}

impl Wish {
    const ALL: [(u8, Self); 3] = [(b'a', Self::Attach), (b't', Self::Take), (b'w', Self::Watch)];
}

impl Word {
    const ALL: [(u8, Self); 5] = [
        (b'g', Self::Go),
        (b'r', Self::Resized),
        (b'c', Self::Continued),
        (b'l', Self::Leave),
        (b'e', Self::End),
    ];

    /// Returns the byte that says it.
    pub(crate) fn byte(self) -> u8 {
        byte_of(&Self::ALL, self)
    }

    /// Returns what a byte says, if it says anything.
    pub(crate) fn of(byte: u8) -> Option<Self> {
        of_byte(&Self::ALL, byte)
    }
}

impl Why {
    const ALL: [(u8, Self); 3] = [(b'l', Self::Left), (b't', Self::Taken), (b'o', Self::Over)];
}

impl Told {
    /// Returns the bytes that say it; of a text, as much as there is room for.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let one;
        let (kind, content): (u8, &[u8]) = match self {
            Self::Welcome => (b'W', &[]),
            Self::Refused(text) => (b'N', beginning(text)),
            Self::Said(text) => (b'S', beginning(text)),
            Self::Titled(is_ours) => {
                one = [u8::from(*is_ours)];
                (b'T', &one)
            }
            Self::Goodbye(why) => {
                one = [byte_of(&Why::ALL, *why)];
                (b'G', &one)
            }
            Self::Ended(code) => {
                one = [*code];
                (b'E', &one)
            }
        };
        let length = u16::try_from(content.len()).unwrap_or(0).to_be_bytes();
        [&[kind], length.as_slice(), content].concat()
    }

    /// Reads the next one; `None` at the end.
    pub(crate) async fn read(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Self>> {
        let mut kind = [0];
        if from.read(&mut kind).await? == 0 {
            return Ok(None);
        }
        let length = usize::from(from.read_u16().await?);
        if TEXT_BYTES_MAX < length {
            return Err(senseless());
        }
        let mut content = vec![0; length];
        from.read_exact(&mut content).await?;
        let [kind] = kind;
        let told = match (kind, content.as_slice()) {
            (b'W', []) => Self::Welcome,
            (b'T', [is_ours @ 0..=1]) => Self::Titled(*is_ours == 1),
            (b'G', [why]) => Self::Goodbye(of_byte(&Why::ALL, *why).ok_or_else(senseless)?),
            (b'E', [code]) => Self::Ended(*code),
            (b'N' | b'S', _) => {
                let text = String::from_utf8(content).map_err(|_| senseless())?;
                if kind == b'N' { Self::Refused(text) } else { Self::Said(text) }
            }
            _ => return Err(senseless()),
        };
        Ok(Some(told))
    }
}

/// Says hello, and hands the terminal over.
pub(crate) async fn say_hello(
    line: &UnixStream,
    wish: Wish,
    terminal: BorrowedFd<'_>,
) -> io::Result<()> {
    let mut hello = HELLO.to_vec();
    hello.push(byte_of(&Wish::ALL, wish));
    let send = || {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let terminals = [terminal];
        ancillary.push(SendAncillaryMessage::ScmRights(&terminals));
        let sent = sendmsg(line, &[IoSlice::new(&hello)], &mut ancillary, SendFlags::NOSIGNAL)?;
        if sent == hello.len() { Ok(()) } else { Err(senseless()) }
    };
    line.async_io(Interest::WRITABLE, send).await
}

/// Hears a hello, with the terminal; anything but exactly that is an error.
pub(crate) async fn hear_hello(line: &UnixStream) -> io::Result<(Wish, OwnedFd)> {
    let (hello, terminal) = line.async_io(Interest::READABLE, || receive(line)).await?;
    let wish = match hello {
        [a, b, c, wish] if [a, b, c] == HELLO => of_byte(&Wish::ALL, wish),
        _ => None,
    };
    let wish = wish.ok_or_else(senseless)?;
    // SECURITY: nothing else is written to, whatever it was opened for.
    let flags = fcntl_getfl(&terminal)?;
    if !isatty(&terminal) || flags & OFlags::ACCMODE != OFlags::RDWR {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "this is no terminal"));
    }
    // Nobody who does not read may hold up whoever draws.
    fcntl_setfl(&terminal, flags | OFlags::NONBLOCK)?;
    Ok((wish, terminal))
}

fn receive(line: &UnixStream) -> io::Result<([u8; 4], OwnedFd)> {
    let mut hello = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = [IoSliceMut::new(&mut hello)];
    let received = recvmsg(line.as_fd(), &mut bytes, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut descriptors = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    let is_whole = received.bytes == hello.len() && !received.flags.contains(ReturnFlags::CTRUNC);
    match (descriptors.pop(), descriptors.is_empty()) {
        (Some(terminal), true) if is_whole => Ok((hello, terminal)),
        _ => Err(senseless()),
    }
}

fn byte_of<T: Copy + PartialEq>(all: &[(u8, T)], wanted: T) -> u8 {
    all.iter().find(|(_, it)| *it == wanted).map_or(0, |(byte, _)| *byte)
}

fn of_byte<T: Copy>(all: &[(u8, T)], wanted: u8) -> Option<T> {
    all.iter().find(|(byte, _)| *byte == wanted).map(|(_, it)| *it)
}

fn beginning(text: &str) -> &[u8] {
    text.get(..text.floor_char_boundary(TEXT_BYTES_MAX)).unwrap_or_default().as_bytes()
}

fn senseless() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "this is not what is said here")
}

#[cfg(test)]
mod tests;
