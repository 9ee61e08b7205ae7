//! What the program says about its own work, for people who look for a fault.
//!
//! Crates speak through `tracing`; this is the one listener. It writes lines, as text or as JSON, to standard
//! error or to a file, and never to standard output, which may belong to a protocol. It is no record: the
//! audit log says what was done, and is not touched here. Arguments, results and what a model says are not
//! passed to it; which of them a crate mentions is for that crate to know.
//!
//! Every line passes the redactors of all sessions before it is written: no key of ours is in it. Other people's
//! crates are not listened to: some would print the headers of a request.

#![expect(clippy::disallowed_types, reason = "the trace is an open file")]

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use ic_audit::Redactor;
use ic_home::{FileError, file};
use ic_types::visible;
use tracing_subscriber::filter::{FilterExt as _, Targets, filter_fn};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};
use tracing_subscriber::{Layer as _, fmt};

/// The redactors that know keys of ours; those of sessions that have ended are gone.
///
/// As global as the listener itself: there is one for the whole program.
static REDACTORS: RwLock<Vec<Weak<Redactor>>> = RwLock::new(Vec::new());

/// How a line looks.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Where lines go, and which.
#[derive(Clone, Copy, Debug)]
pub struct TraceSpec<'a> {
    /// Which are written: a level, or levels by crate, such as `info` or `warn,ic_broker=debug`.
    pub filter: &'a str,
    /// The file at whose end they are written; standard error if there is none.
    pub file: Option<&'a Path>,
    /// How they look.
    pub format: Format,
}

/// A trace that cannot be begun.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The filter makes no sense.
    #[error("`{}` says no levels: {reason}", .filter.escape_debug())]
    Filter {
        /// What was given.
        filter: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is a listener already.
    #[error("there is a trace already")]
    Begun(#[source] TryInitError),
}

/// Hides the keys that `redactor` knows in every further line, as long as somebody holds it.
pub fn hide(redactor: &Arc<Redactor>) {
    let mut redactors = REDACTORS.write().unwrap_or_else(PoisonError::into_inner);
    redactors.retain(|it| it.strong_count() != 0);
    redactors.push(Arc::downgrade(redactor));
}

impl TraceSpec<'_> {
    /// Begins to listen, for the rest of the program.
    pub fn begin(self) -> Result<(), TraceError> {
        let filter: Targets = self.filter.parse().map_err(|error| TraceError::Filter {
            filter: self.filter.to_owned(),
            reason: format!("{error}"),
        })?;
        let out = match self.file {
            Some(path) => Out::File(Mutex::new(file::open_append(path)?)),
            None => Out::Stderr,
        };
        let lines = fmt::layer().with_ansi(false).with_writer(Lines { out, format: self.format });
        let lines = match self.format {
            Format::Text => lines.boxed(),
            Format::Json => lines.json().flatten_event(true).boxed(),
        };
        tracing_subscriber::registry()
            .with(lines.with_filter(filter.and(filter_fn(|it| is_ours(it.target())))))
            .try_init()
            .map_err(TraceError::Begun)
    }
}

fn is_ours(target: &str) -> bool {
    target.starts_with("ic_") || target.starts_with("ironcurtain")
}

/// Writes lines, each in one piece.
struct Lines {
    out: Out,
    format: Format,
}

enum Out {
    Stderr,
    File(Mutex<File>),
}

/// Collects what is written of one line.
struct LineWriter<'a> {
    lines: &'a Lines,
    line: Vec<u8>,
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = LineWriter<'a>;

    fn make_writer(&'a self) -> LineWriter<'a> {
        LineWriter { lines: self, line: Vec::with_capacity(256) }
    }
}

impl Lines {
    fn write(&self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let text = masked(text.trim_end_matches('\n').to_owned());
        // In JSON it is escaped already; escaping it once more would change what it says.
        let mut text = match self.format {
            Format::Text => visible(&text),
            Format::Json => text,
        };
        text.push('\n');
        // It is a help, not a record: where it cannot be written, the work goes on.
        match &self.out {
            Out::Stderr => io::stderr().write_all(text.as_bytes()).ok(),
            Out::File(file) => {
                file.lock().unwrap_or_else(PoisonError::into_inner).write_all(text.as_bytes()).ok()
            }
        };
    }
}

fn masked(line: String) -> String {
    let redactors = REDACTORS.read().unwrap_or_else(PoisonError::into_inner);
    let redactors = redactors.iter().filter_map(Weak::upgrade);
    redactors.fold(line, |line, redactor| redactor.mask_own_keys(line))
}

impl Write for LineWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A line is whole when its writer is dropped: a key may come in several pieces.
impl Drop for LineWriter<'_> {
    fn drop(&mut self) {
        if !self.line.is_empty() {
            self.lines.write(&self.line);
        }
    }
}
