//! Reads a log for people: record by record, filtered. Checks nothing; that is [`crate::verify`].

#![expect(
    clippy::disallowed_types,
    reason = "logs are read as streams, since they can be larger than memory"
)]

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use ic_types::{Json, JsonLimits, Object};

use crate::verify;

/// Which records are wanted; what is `None` does not matter.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The record's kind.
    pub kind: Option<String>,
    /// The server.
    pub server: Option<String>,
    /// The tool.
    pub tool: Option<String>,
    /// What was decided.
    pub verdict: Option<String>,
    /// The rule that decided.
    pub rule: Option<String>,
    /// The call.
    pub request_id: Option<String>,
    /// Not before this time (RFC 3339, or a beginning of it).
    pub since: Option<String>,
    /// Not after this time (RFC 3339, or a beginning of it).
    pub until: Option<String>,
}

/// One record as it stands in the log.
#[derive(Clone, Debug)]
pub struct Record {
    /// The line, without its newline.
    pub line: String,
    /// What it says.
    pub fields: Object,
}

/// The longest line that is read; no record is longer, and memory has an end.
const LINE_BYTES_MAX: u64 = JsonLimits::ARTIFACT.bytes_max as u64 + 1;

/// The records of a log.
#[derive(Debug)]
pub struct Records {
    reader: BufReader<File>,
    n_lines: u64,
    /// What comes after a line without end cannot be told from the line.
    is_over: bool,
}

/// A log that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system would not.
    #[error("cannot read the log: {0}")]
    Io(#[from] io::Error),
    /// A line is no record; `verify` says more.
    #[error("line {0} of the log is not a record")]
    NoRecord(u64),
}

impl Records {
    /// Opens the log at `path`.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { reader: verify::open(path)?, n_lines: 0, is_over: false })
    }

    /// Returns the next whole line as it stands, for callers that parse many of them at once.
    pub fn next_line(&mut self) -> Result<Option<Vec<u8>>, ReadError> {
        Ok(self.read_line()?)
    }

    /// Reads the next whole line; a line that is still being written is left for later.
    fn read_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        if self.is_over {
            return Ok(None);
        }
        let mut line = Vec::new();
        let n = (&mut self.reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
        if LINE_BYTES_MAX <= n as u64 && line.last() != Some(&b'\n') {
            self.is_over = true;
            let why = format!("a line of the log is longer than {LINE_BYTES_MAX} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        match line.pop() {
            Some(b'\n') => Ok(Some(line)),
            Some(_) => {
                // Seen too early: go back to its beginning.
                self.reader.seek_relative(-i64::try_from(n).unwrap_or(0))?;
                Ok(None)
            }
            None => Ok(None),
        }
    }
}

impl Iterator for Records {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = match self.read_line() {
            Ok(line) => line?,
            Err(error) => return Some(Err(error.into())),
        };
        self.n_lines += 1;
        Some(Record::parse(&line).ok_or(ReadError::NoRecord(self.n_lines)))
    }
}

impl Record {
    /// Reads a line; `None` if it is not a record.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let fields = Self::fields(line)?;
        Some(Self { line: String::from_utf8_lossy(line).into_owned(), fields })
    }

    /// Reads what a line says.
    pub fn fields(line: &[u8]) -> Option<Object> {
        match Json::parse(line, JsonLimits::ARTIFACT) {
            Ok(Json::Object(fields)) => Some(fields),
            Ok(_) | Err(_) => None,
        }
    }

    /// Returns the text of a field.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.fields.get(name).and_then(Json::as_str)
    }

    /// Returns a field as it would stand in a table: text plainly, anything else as JSON.
    pub fn cell(&self, name: &str) -> String {
        match self.fields.get(name) {
            None => String::new(),
            Some(Json::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        }
    }
}

impl Filter {
    /// Returns whether `record` is wanted.
    pub fn wants(&self, record: &Record) -> bool {
        let is = |wanted: &Option<String>, name: &str| {
            wanted.as_deref().is_none_or(|wanted| record.text(name) == Some(wanted))
        };
        let time = record.text("timestamp").unwrap_or_default();
        let until = |until: &String| time <= until.as_str() || time.starts_with(until.as_str());
        is(&self.kind, "kind")
            && is(&self.server, "server")
            && is(&self.tool, "tool")
            && is(&self.verdict, "verdict")
            && is(&self.rule, "rule")
            && is(&self.request_id, "requestId")
            && self.since.as_deref().is_none_or(|since| since <= time)
            && self.until.as_ref().is_none_or(until)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// It takes no room on the disk, and would take all of the memory.
    #[test]
    fn a_line_without_end_ends_the_log() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        let mut log = File::options().create_new(true).write(true).open(&path).unwrap();
        log.write_all(b"{\"seq\":0}\n").unwrap();
        log.set_len(200 << 30).unwrap();
        let mut records = Records::open(&path).unwrap();
        assert!(records.next().is_some_and(|it| it.is_ok()));
        let why = records.next().unwrap().unwrap_err().to_string();
        assert_eq!(
            why,
            format!("cannot read the log: a line of the log is longer than {LINE_BYTES_MAX} bytes")
        );
        assert!(records.next().is_none(), "what follows cannot be told from it");
    }
}
