//! The one door for output: data to standard output, everything else to standard error.
//!
//! Text from outside (paths, arguments, reasons, file contents) passes [`visible`] on its way to a
//! person, so that it can neither drive the terminal nor hide what it says.

use std::fmt::Write as _;
use std::io::Write;
use std::process::ExitCode;

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
        let (stream, code) = match error.use_stderr() {
            true => (&mut self.err, 2),
            false => (&mut self.out, 0),
        };
        for line in text.lines() {
            writeln!(stream, "{}", visible(line)).ok();
        }
        stream.flush().ok();
        ExitCode::from(code)
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

/// Makes control characters, bidirectional marks and invisible characters visible.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_harmless(c) {
            shown.push(c);
        } else {
            // Writing to a string cannot fail.
            write!(shown, "{}", c.escape_unicode()).ok();
        }
    }
    shown
}

fn is_harmless(c: char) -> bool {
    let is_hidden = matches!(
        c,
        // Soft hyphen, grapheme joiner, Arabic letter mark, Hangul and Mongolian fillers.
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        // Zero width, bidirectional marks and overrides, line and paragraph separators.
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}'
        // Fillers, variation selectors, byte order mark, interlinear annotation.
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        // Tags and further variation selectors.
        | '\u{e0000}'..='\u{e0fff}'
    );
    !c.is_control() && !is_hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_hide_or_drive_is_shown() {
        for (text, expected) in [
            ("plain – ünï 日本", "plain – ünï 日本"),
            ("a\x1b[31mb", "a\\u{1b}[31mb"),
            ("a\nb\tc\0", "a\\u{a}b\\u{9}c\\u{0}"),
            ("x\u{202e}txt.exe", "x\\u{202e}txt.exe"),
            ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            ("\u{e0041}", "\\u{e0041}"),
            ("\u{9b}31m", "\\u{9b}31m"),
        ] {
            assert_eq!(visible(text), expected);
        }
    }
}
