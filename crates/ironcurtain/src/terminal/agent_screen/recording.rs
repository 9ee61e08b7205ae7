//! What an agent's screen showed, as an asciicast that can be played again: drawn anew from the model, and
//! without secrets.
//!
//! What was typed is not in it, nor are questions and the row of ours. A file that is as large as it may be is
//! not written to any more.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use ic_home::{Clock as _, SystemClock};
use ic_screen::{Frame, Painter, Screen as Model, Size};
use rustix::fs::{Mode, OFlags};
use serde_json::json;
use tokio::time::Instant;

/// How large a recording gets.
const BYTES_MAX: usize = 256 << 20;

/// A recording that is being made.
pub(crate) struct Recording<'a> {
    file: OwnedFd,
    redact: Box<dyn Fn(&str) -> String + 'a>,
    painter: Painter,
    size: Option<Size>,
    began: Instant,
    n_bytes: usize,
    fault: Option<String>,
}

impl fmt::Debug for Recording<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").field("n_bytes", &self.n_bytes).finish_non_exhaustive()
    }
}

/// Makes the file of a recording; one that is there already stays as it is.
pub(crate) fn create(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?)
}

impl<'a> Recording<'a> {
    /// Records into `file` what `redact` leaves of each line.
    pub(crate) fn new(file: OwnedFd, redact: impl Fn(&str) -> String + 'a) -> Self {
        Self {
            file,
            redact: Box::new(redact),
            painter: Painter::default(),
            size: None,
            began: Instant::now(),
            n_bytes: 0,
            fault: None,
        }
    }

    /// Records what the screen shows now.
    pub(super) fn draw(&mut self, model: &Model) {
        let size = model.size();
        if self.size != Some(size) {
            let (rows, columns) = (size.rows, size.columns);
            match self.size {
                None => {
                    let timestamp = SystemClock.now().unix_ms() / 1000;
                    let env = json!({"TERM": "xterm-256color"});
                    self.write(&json!({"version": 2, "width": columns, "height": rows, "timestamp": timestamp, "env": env}));
                }
                Some(_) => self.event("r", &format!("{columns}x{rows}")),
            }
            self.size = Some(size);
            self.painter.forget();
        }
        let mut frame = Frame::of(model, size).only_seen();
        frame.redact(&self.redact);
        let sent = self.painter.paint(frame);
        if !sent.is_empty() {
            self.event("o", &sent);
        }
    }

    /// Returns what went wrong, if anything did.
    pub(super) fn fault(self) -> Option<String> {
        self.fault
    }

    fn event(&mut self, kind: &str, data: &str) {
        self.write(&json!([self.began.elapsed().as_secs_f64(), kind, data]));
    }

    fn write(&mut self, value: &serde_json::Value) {
        if self.fault.is_some() {
            return;
        }
        let line = format!("{value}\n");
        self.n_bytes += line.len();
        if BYTES_MAX < self.n_bytes {
            self.fault = Some("the recording ends early: it is as large as it may be".to_owned());
            return;
        }
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            match rustix::io::write(&self.file, rest) {
                Ok(n_bytes) => rest = rest.get(n_bytes..).unwrap_or_default(),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    self.fault = Some(format!("the recording ends early: {error}"));
                    return;
                }
            }
        }
    }
}
