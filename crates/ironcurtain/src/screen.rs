//! The one door for output: data to standard output, everything else to standard error.
//!
//! Text from outside (paths, arguments, reasons, file contents) passes [`visible`] on its way to a
//! person, so that it can neither drive the terminal nor hide what it says.

use std::io::Write;
use std::process::ExitCode;

pub(crate) use ic_types::{visible, visible_line};

use crate::error::Failure;

/// Where a command writes to.
pub(crate) struct Screen {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
}

impl Screen {
    /// Makes a screen of two streams.
    pub(crate) fn new(out: Box<dyn Write>, err: Box<dyn Write>) -> Self {
        Self { out, err }
    }

    /// Returns where data goes.
    pub(crate) fn out(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    /// Writes one line of data.
    pub(crate) fn line(&mut self, line: &str) -> Result<(), Failure> {
        writeln!(self.out, "{line}").map_err(Failure::output)
    }

    /// Tells the person what is going on.
    pub(crate) fn notice(&mut self, message: &str) {
        // Without standard error there is nobody to tell.
        writeln!(self.err, "ironcurtain: {}", visible(message)).ok();
    }

    /// Shows the person a line of what goes on, which is harmless already.
    pub(crate) fn progress(&mut self, line: &str) {
        // Without standard error there is nobody to tell.
        writeln!(self.err, "{line}").ok();
    }

    /// Tells the person something that does not stop us.
    pub(crate) fn warning(&mut self, message: &str) {
        // Without standard error there is nobody to tell.
        writeln!(self.err, "warning: {}", visible(message)).ok();
    }

    /// Shows the help or version that was asked for, or what is wrong with the command line.
    pub(crate) fn usage(&mut self, error: &clap::Error) -> ExitCode {
        let text = error.render().to_string();
        if error.use_stderr() {
            // It repeats what was typed.
            for line in text.lines() {
                writeln!(self.err, "{}", visible(line)).ok();
            }
            self.err.flush().ok();
            return ExitCode::from(2);
        }
        // All of it is our own.
        self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).ok();
        ExitCode::SUCCESS
    }

    /// Tells the person what failed and what to do.
    pub(crate) fn failure(&mut self, failure: &Failure) {
        writeln!(self.err, "error: {}", visible(&failure.to_string())).ok();
        for detail in failure.details() {
            writeln!(self.err, "  {}", visible(detail)).ok();
        }
        if let Some(hint) = failure.hint() {
            writeln!(self.err, "\nhint: {}", visible(hint)).ok();
        }
    }
}
