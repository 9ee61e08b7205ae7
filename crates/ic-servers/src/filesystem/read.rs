//! Reading files: text, the first or last lines of it, several at once, bytes in base64.
//!
//! Regular files only: a pipe that nobody writes to would make us wait forever, and a device may do
//! something when it is opened.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ic_resolve::Kind;
use ic_types::CanonicalPath;
use rustix::fd::OwnedFd;
use rustix::fs::{OFlags, Stat};
use rustix::io::Errno;

use super::arguments::Arguments;
use super::beneath;
use super::fault::Fault;
use super::reach::{Reach, Reached};
use super::show;
use super::view::Rights;
use crate::tools::{Cancel, Content, ToolResult};

/// The most text that one call returns; even if each of its bytes is escaped, a client can take the line.
const TEXT_BYTES_MAX: usize = 5 << 20;
/// The most bytes of a file whose base64 is shorter than 8 MiB.
const MEDIA_BYTES_MAX: usize = (8 << 20) / 4 * 3 - 3;
/// How much is read at once.
const CHUNK_BYTES: usize = 64 << 10;

/// Reads the text of a file, or some lines of it.
pub(super) fn text(
    reach: &Reach,
    arguments: Arguments<'_>,
    cancel: &Cancel,
) -> Result<ToolResult, Fault> {
    let path = arguments.text("path")?;
    let part = match (arguments.whole("head")?, arguments.whole("tail")?) {
        (Some(_), Some(_)) => {
            return Err(Fault::argument("head", "and the argument `tail` exclude each other"));
        }
        (Some(n_lines), None) => Part::Head(n_lines),
        (None, Some(n_lines)) => Part::Tail(n_lines),
        (None, None) => Part::All,
    };
    let file = File::open(&reach.reach(path, Rights::READ)?)?;
    Ok(ToolResult::text(file.text(part, cancel)?))
}

/// Reads the texts of several files; one that cannot be read does not keep the others back.
pub(super) fn texts(
    reach: &Reach,
    arguments: Arguments<'_>,
    cancel: &Cancel,
) -> Result<ToolResult, Fault> {
    let paths = arguments.texts("paths")?;
    if paths.is_empty() {
        return Err(Fault::argument("paths", "names no file"));
    }
    let mut all = String::new();
    let mut n_read = 0;
    for (n_before, path) in paths.iter().enumerate() {
        if 0 < n_before {
            all.push_str("\n---\n");
        }
        all.push_str(&show::text(path));
        let left = TEXT_BYTES_MAX.saturating_sub(all.len());
        let read = reach.reach(path, Rights::READ).and_then(|reached| {
            let file = File::open(&reached)?;
            file.check_length(left, "there is too much text for one call: read fewer files")?;
            file.text(Part::All, cancel)
        });
        match read {
            Ok(text) => {
                all.push_str(":\n");
                all.push_str(&text);
                all.push('\n');
                n_read += 1;
            }
            Err(Fault::Cancelled) => return Err(Fault::Cancelled),
            // Writing to a string cannot fail.
            Err(fault) => write!(all, ": Error - {fault}").unwrap_or_default(),
        }
    }
    match n_read {
        0 => Ok(ToolResult::failed(all)),
        _ => Ok(ToolResult::text(all)),
    }
}

/// Reads the bytes of a file.
pub(super) fn media(
    reach: &Reach,
    arguments: Arguments<'_>,
    cancel: &Cancel,
) -> Result<ToolResult, Fault> {
    let file = File::open(&reach.reach(arguments.text("path")?, Rights::READ)?)?;
    let bytes = file.bytes(MEDIA_BYTES_MAX, "that is too much for one call", cancel)?;
    let data = STANDARD.encode(bytes);
    let content = match media_type(&file.path) {
        Media::Image(mime_type) => Content::Image { data, mime_type },
        Media::Audio(mime_type) => Content::Audio { data, mime_type },
        Media::Other => {
            let mime_type = "application/octet-stream";
            Content::Blob { uri: uri(&file.path), data, mime_type }
        }
    };
    Ok(ToolResult::done(vec![content]))
}

enum Media {
    Image(&'static str),
    Audio(&'static str),
    Other,
}

fn media_type(path: &CanonicalPath) -> Media {
    let extension = path.as_path().extension().and_then(|extension| extension.to_str());
    match extension.unwrap_or_default().to_ascii_lowercase().as_str() {
        "png" => Media::Image("image/png"),
        "jpg" | "jpeg" => Media::Image("image/jpeg"),
        "gif" => Media::Image("image/gif"),
        "webp" => Media::Image("image/webp"),
        "bmp" => Media::Image("image/bmp"),
        "svg" => Media::Image("image/svg+xml"),
        "mp3" => Media::Audio("audio/mpeg"),
        "wav" => Media::Audio("audio/wav"),
        "ogg" => Media::Audio("audio/ogg"),
        "flac" => Media::Audio("audio/flac"),
        _ => Media::Other,
    }
}

fn uri(path: &CanonicalPath) -> String {
    use std::os::unix::ffi::OsStrExt as _;

    let mut uri = String::from("file://");
    for byte in path.as_path().as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(*byte));
            }
            // Writing to a string cannot fail.
            byte => write!(uri, "%{byte:02X}").unwrap_or_default(),
        }
    }
    uri
}

/// What of a text is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    All,
    Head(u64),
    Tail(u64),
}

/// A regular file, opened to be read.
#[derive(Debug)]
pub(super) struct File {
    fd: OwnedFd,
    /// How it was when it was opened.
    pub(super) stat: Stat,
    path: CanonicalPath,
}

impl File {
    pub(super) fn open(reached: &Reached<'_>) -> Result<Self, Fault> {
        // Looked at before it is opened, and again: what was opened is what counts.
        check_kind(reached, &reached.look()?)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW;
        let fd = reached.open("read", flags)?;
        let stat = rustix::fs::fstat(&fd).map_err(|error| reached.fault("read", error))?;
        check_kind(reached, &stat)?;
        Ok(Self { fd, stat, path: reached.path.clone() })
    }

    /// Reads text.
    pub(super) fn text(&self, part: Part, cancel: &Cancel) -> Result<String, Fault> {
        let bytes = match part {
            Part::All => {
                let instead = "read a part of it with `head` or `tail`";
                self.bytes(TEXT_BYTES_MAX, instead, cancel)?
            }
            Part::Head(n_lines) => self.head(n_lines, cancel)?,
            Part::Tail(n_lines) => self.tail(n_lines, cancel)?,
        };
        String::from_utf8(bytes).map_err(|_| Fault::NotText { path: self.path.clone() })
    }

    /// Refuses a file that is known to be too long before any of it is read.
    pub(super) fn check_length(
        &self,
        bytes_max: usize,
        instead: &'static str,
    ) -> Result<(), Fault> {
        match usize::try_from(beneath::size(&self.stat)) {
            Ok(length) if length <= bytes_max => Ok(()),
            Ok(_) | Err(_) => Err(self.too_long(bytes_max, instead)),
        }
    }

    fn bytes(
        &self,
        bytes_max: usize,
        instead: &'static str,
        cancel: &Cancel,
    ) -> Result<Vec<u8>, Fault> {
        self.check_length(bytes_max, instead)?;
        let mut bytes = Vec::new();
        while self.chunk(&mut bytes, cancel)? {
            if bytes_max < bytes.len() {
                return Err(self.too_long(bytes_max, instead));
            }
        }
        Ok(bytes)
    }

    /// Reads the first lines, and not much more.
    fn head(&self, n_lines: u64, cancel: &Cancel) -> Result<Vec<u8>, Fault> {
        let mut bytes = Vec::new();
        let (mut n_found, mut searched) = (0, 0);
        while n_found < n_lines && self.chunk(&mut bytes, cancel)? {
            for (at, byte) in bytes.iter().enumerate().skip(searched) {
                if *byte == b'\n' {
                    n_found += 1;
                    if n_found == n_lines {
                        bytes.truncate(at);
                        return Ok(without_carriage_return(bytes));
                    }
                }
            }
            searched = bytes.len();
            if TEXT_BYTES_MAX < bytes.len() {
                return Err(self.too_long(TEXT_BYTES_MAX, "ask for fewer lines"));
            }
        }
        Ok(without_line_break(bytes))
    }

    /// Reads the last lines, from the end backwards.
    fn tail(&self, n_lines: u64, cancel: &Cancel) -> Result<Vec<u8>, Fault> {
        let mut start = beneath::size(&self.stat);
        let (mut parts, mut n_bytes, mut n_left) = (Vec::new(), 0, n_lines);
        while 0 < n_left && 0 < start {
            let mut part = self.bytes_before(&mut start, cancel)?;
            // The line break at the very end begins no line.
            let is_last = parts.is_empty() && part.ends_with(b"\n");
            let body = part.get(..part.len() - usize::from(is_last)).unwrap_or_default();
            let begin = body.iter().rposition(|byte| {
                n_left -= u64::from(*byte == b'\n');
                n_left == 0
            });
            if let Some(line_break) = begin {
                part.drain(..=line_break);
            }
            n_bytes += part.len();
            if TEXT_BYTES_MAX < n_bytes {
                return Err(self.too_long(TEXT_BYTES_MAX, "ask for fewer lines"));
            }
            parts.push(part);
        }
        parts.reverse();
        Ok(without_line_break(parts.concat()))
    }

    /// Returns the bytes before `end`, and moves it to where they begin.
    fn bytes_before(&self, end: &mut u64, cancel: &Cancel) -> Result<Vec<u8>, Fault> {
        let n_bytes = usize::try_from(*end).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        let start = *end - u64::try_from(n_bytes).unwrap_or(*end);
        let mut bytes = Vec::new();
        while bytes.len() < n_bytes {
            let at = start + u64::try_from(bytes.len()).unwrap_or(0);
            let read = |room: &mut [u8]| rustix::io::pread(&self.fd, room, at);
            let room = n_bytes - bytes.len();
            if !self.append(&mut bytes, room, read, cancel)? {
                break;
            }
        }
        *end = start;
        Ok(bytes)
    }

    /// Appends the bytes that follow; returns whether there were any.
    fn chunk(&self, bytes: &mut Vec<u8>, cancel: &Cancel) -> Result<bool, Fault> {
        self.append(bytes, CHUNK_BYTES, |room| rustix::io::read(&self.fd, room), cancel)
    }

    fn append(
        &self,
        bytes: &mut Vec<u8>,
        room: usize,
        read: impl Fn(&mut [u8]) -> Result<usize, Errno>,
        cancel: &Cancel,
    ) -> Result<bool, Fault> {
        if cancel.is_cancelled() {
            return Err(Fault::Cancelled);
        }
        let length = bytes.len();
        bytes.resize(length + room, 0);
        let room = bytes.get_mut(length..).unwrap_or_default();
        let n_bytes = loop {
            match read(&mut *room) {
                Err(Errno::INTR) => {}
                n_bytes => break n_bytes,
            }
        };
        bytes.truncate(length + n_bytes.unwrap_or(0));
        let failed = |error: Errno| Fault::System {
            doing: "read",
            path: self.path.clone(),
            source: error.into(),
        };
        n_bytes.map(|n_bytes| 0 < n_bytes).map_err(failed)
    }

    fn too_long(&self, bytes_max: usize, instead: &'static str) -> Fault {
        Fault::TooLong { path: self.path.clone(), bytes_max, instead }
    }
}

fn check_kind(reached: &Reached<'_>, stat: &Stat) -> Result<(), Fault> {
    let wanted = "only files are read";
    match beneath::kind(stat) {
        Kind::File => Ok(()),
        is @ (Kind::Directory | Kind::Link | Kind::Other) => {
            Err(Fault::WrongKind { path: reached.path.clone(), is, wanted })
        }
    }
}

fn without_line_break(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.ends_with(b"\n") {
        bytes.pop();
        return without_carriage_return(bytes);
    }
    bytes
}

fn without_carriage_return(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.ends_with(b"\r") {
        bytes.pop();
    }
    bytes
}
