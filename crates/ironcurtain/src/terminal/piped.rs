//! A conversation without a terminal: each line of standard input is a message or a command.
//!
//! The next line is read when the last one is done with, so that a file of messages is worked through
//! in order. Nobody sits there: what needs a person is asked elsewhere, and a line of a pipe never answers.

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Stdin};

/// The longest line that is read.
const LINE_BYTES_MAX: u64 = 8 << 20;

/// The lines of standard input.
#[derive(Debug)]
pub(crate) struct Lines(BufReader<Stdin>);

/// The next line.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Next {
    /// A line, or several that end with a backslash each but for the last.
    Message(String),
    /// One that is too long.
    TooLong,
    /// There is none.
    End,
}

impl Lines {
    /// Reads standard input from now on.
    pub(crate) fn of_stdin() -> Self {
        Self(BufReader::new(tokio::io::stdin()))
    }

    /// Waits for the next line.
    pub(crate) async fn next(&mut self) -> Next {
        let mut message = Vec::new();
        loop {
            let left = LINE_BYTES_MAX.saturating_sub(message.len() as u64);
            let read = (&mut self.0).take(left).read_until(b'\n', &mut message).await;
            match read {
                Ok(0) | Err(_) if message.is_empty() => return Next::End,
                Ok(n_bytes) if n_bytes as u64 == left && !message.ends_with(b"\n") => {
                    return Next::TooLong;
                }
                Ok(_) | Err(_) => {}
            }
            if message.ends_with(b"\\\n") {
                message.truncate(message.len() - 2);
                message.push(b'\n');
                continue;
            }
            return Next::Message(
                String::from_utf8_lossy(&message).trim_end_matches(['\r', '\n']).to_owned(),
            );
        }
    }
}
