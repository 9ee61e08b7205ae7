//! As much of HTTP/1.1 as a client of models needs: a request with a length, an answer, a stream in chunks.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use serde_json::Value;

/// The sizes of the chunks in which a stream is written, again and again: some split a character, most
/// split a line.
const SIZES: [usize; 8] = [1, 7, 2, 33, 3, 150, 5, 64];
const BODY_BYTES_MAX: usize = 64 << 20;

/// One end of a connection.
pub(super) struct Wire {
    reader: BufReader<TcpStream>,
    stream: TcpStream,
}

/// The beginning of a request.
pub(super) struct Head {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
}

impl Head {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }
}

impl Wire {
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self { reader: BufReader::new(stream.try_clone()?), stream })
    }

    /// Reads a request; `None` when the client has gone.
    pub(super) fn request(&mut self) -> io::Result<Option<(Head, Vec<u8>)>> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace().map(ToOwned::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':') {
                headers.push((name.to_lowercase(), value.trim().to_owned()));
            }
        }
        let head = Head { method, path, headers };
        let length = head.header("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
        let mut body = vec![0; BODY_BYTES_MAX.min(length)];
        self.reader.read_exact(&mut body)?;
        Ok(Some((head, body)))
    }

    /// Answers with JSON.
    pub(super) fn answer(
        &mut self,
        status: u16,
        headers: &[(&str, String)],
        body: &Value,
    ) -> io::Result<()> {
        let body = body.to_string();
        let mut head = format!(
            "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        self.raw(format!("{head}\r\n{body}").as_bytes())
    }

    /// Writes the head of a stream and these events, in pieces.
    pub(super) fn stream(&mut self, frames: &[String]) -> io::Result<()> {
        self.raw(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        )?;
        let text = frames.concat();
        let (mut rest, mut sizes) = (text.as_bytes(), SIZES.into_iter().cycle());
        while !rest.is_empty() {
            let size = sizes.next().unwrap_or(1).min(rest.len());
            let (piece, after) = rest.split_at(size);
            let mut chunk = format!("{size:x}\r\n").into_bytes();
            chunk.extend_from_slice(piece);
            chunk.extend_from_slice(b"\r\n");
            self.raw(&chunk)?;
            rest = after;
        }
        Ok(())
    }

    /// Ends a stream.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.raw(b"0\r\n\r\n")
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }

    /// Waits until the client has closed the connection.
    pub(super) fn until_closed(&mut self) {
        let mut byte = [0];
        while let Ok(1) = self.reader.read(&mut byte) {}
    }
}
