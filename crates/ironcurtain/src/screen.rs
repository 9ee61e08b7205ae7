//! The one door for output: data to standard output, everything else to standard error.
//!
//! Text from outside (paths, arguments, reasons, file contents) passes [`visible`](fn@visible) on its way to a
//! person, so that it can neither drive the terminal nor hide what it says.

use std::borrow::Cow;
use std::io::{IsTerminal as _, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

use ic_terminal::line::{breaks, harmless};
pub(crate) use ic_types::{visible, visible_line};
use rustix::termios::tcgetwinsize;

use crate::cli::UsageError;
use crate::error::Failure;

/// What stands before the rest of a line that was folded; a word that was broken goes on right behind it.
const FOLDED: &str = "  |";
/// What stands before the further lines of a message that has several.
const FURTHER: &str = "  | ";
/// The narrowest terminal for which lines are folded.
const COLUMNS_MIN: usize = 20;
/// How wide a terminal is taken to be that does not say so.
const COLUMNS_USUAL: usize = 80;
/// What stands before each line that a script prints.
const SCRIPT_MARK: &str = "| ";

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

    /// Makes a screen that shows nothing, for what is done behind another one.
    pub(crate) fn silent() -> Self {
        Self::new(Box::new(std::io::sink()), Box::new(std::io::sink()))
    }

    /// Returns where data goes.
    pub(crate) fn out(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    /// Writes one line of data.
    pub(crate) fn line(&mut self, line: &str) -> Result<(), Failure> {
        writeln!(self.out, "{line}").map_err(Failure::output)
    }

    /// Writes JSON, which is data and is looked at too: what is not seen in it is written as an escape.
    ///
    /// All that `--json` prints goes through here.
    pub(crate) fn json(&mut self, json: &str) -> Result<(), Failure> {
        self.line(&escaped(json))
    }

    /// Writes lines that a person decides by; on a terminal none is left to the terminal to break.
    pub(crate) fn lines(&mut self, lines: &[String]) -> Result<(), Failure> {
        for line in fold(lines, columns(std::io::stdout())) {
            self.line(&line)?;
        }
        Ok(())
    }

    /// Writes one line of a table; on a terminal that is too narrow for it, it goes on in the next row.
    pub(crate) fn folded(&mut self, line: &str) -> Result<(), Failure> {
        self.lines(&[line.to_owned()])
    }

    /// Prints text of a stranger at once: as it is into a pipe, and harmless on a terminal.
    pub(crate) fn strangers_text(&mut self, text: &str) -> Result<(), Failure> {
        self.out.write_all(of_stranger(text).as_bytes()).map_err(Failure::output)?;
        self.out.flush().map_err(Failure::output)
    }

    /// Writes one line of a stranger's data: as it is into a pipe, and harmless on a terminal.
    pub(crate) fn strangers_line(&mut self, line: &str) -> Result<(), Failure> {
        self.line(&of_stranger(line))
    }

    /// Tells the person what is going on.
    pub(crate) fn notice(&mut self, message: &str) {
        self.message("ironcurtain: ", message);
    }

    /// Shows a message; what comes of others, such as git, may have several lines.
    fn message(&mut self, begin: &str, message: &str) {
        for line in message_lines(begin, message) {
            self.progress(&line, str::to_owned);
        }
    }

    /// Shows the person a line of what goes on, which is harmless already; `paint` colours each row.
    ///
    /// No line is left to the terminal to break.
    pub(crate) fn progress(&mut self, line: &str, paint: impl Fn(&str) -> String) {
        for row in rows(&[line.to_owned()]) {
            self.row(&paint(&row));
        }
    }

    /// Shows the person a row, which fits and is harmless already.
    pub(crate) fn row(&mut self, row: &str) {
        // Without standard error there is nobody to tell.
        writeln!(self.err, "{row}").ok();
    }

    /// Sends what a terminal is told, which is ours or harmless already, at once.
    pub(crate) fn send(&mut self, sent: &str) {
        // Without standard error there is nobody to tell.
        self.err.write_all(sent.as_bytes()).and_then(|()| self.err.flush()).ok();
    }

    /// Prints what a script prints, at once: as it is into a pipe; on a terminal harmless, and marked,
    /// so that none of it looks like ours.
    pub(crate) fn script_text(&mut self, text: &str) -> Result<(), Failure> {
        let columns = columns(std::io::stdout());
        if columns.is_none() {
            return self.strangers_text(text);
        }
        let lines: Vec<String> =
            text.lines().map(|line| format!("{SCRIPT_MARK}{}", on_terminal(line))).collect();
        for row in fold(&lines, columns) {
            self.line(&row)?;
        }
        self.out.flush().map_err(Failure::output)
    }

    /// Tells the person something that does not stop us.
    pub(crate) fn warning(&mut self, message: &str) {
        self.message("warning: ", message);
    }

    /// Shows the help or version that was asked for, or what is wrong with the command line.
    pub(crate) fn usage(&mut self, error: &UsageError) -> ExitCode {
        match error {
            UsageError::Bare(help) => {
                // All of it is our own.
                self.err.write_all(help.render().to_string().as_bytes()).ok();
                self.err.flush().ok();
                ExitCode::from(2)
            }
            UsageError::Other(error) if error.use_stderr() => {
                // It repeats what was typed; what is set in columns stays in columns.
                for line in error.render().to_string().lines() {
                    writeln!(self.err, "{}", harmless(line)).ok();
                }
                self.err.flush().ok();
                ExitCode::from(2)
            }
            UsageError::Other(asked) => {
                // All of it is our own.
                let text = asked.render().to_string();
                self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).ok();
                ExitCode::SUCCESS
            }
        }
    }

    /// Tells the person what failed and what to do.
    pub(crate) fn failure(&mut self, failure: &Failure) {
        // What explains it was said before it.
        self.out.flush().ok();
        self.message("error: ", &failure.to_string());
        for detail in failure.details() {
            self.message("  ", detail);
        }
        if let Some(hint) = failure.hint() {
            self.row("");
            self.message("hint: ", hint);
        }
    }
}

/// Returns `lines` as the rows that they take where progress is shown.
pub(crate) fn rows(lines: &[String]) -> Vec<String> {
    fold(lines, columns(std::io::stderr()))
}

/// Returns how wide the terminal is, if `fd` is one that says so.
pub(crate) fn columns(fd: impl AsFd) -> Option<usize> {
    // What is no terminal has no size.
    let size = tcgetwinsize(fd).ok()?;
    Some(match usize::from(size.ws_col) {
        0 => COLUMNS_USUAL,
        columns => columns.max(COLUMNS_MIN),
    })
}

/// Returns a message as lines that are harmless; all but the first stand behind a mark.
///
/// SECURITY: a line of a stranger never begins where one of ours does.
pub(crate) fn message_lines(begin: &str, message: &str) -> Vec<String> {
    let mut lines = message.trim_end().split('\n').map(|it| it.trim_end_matches('\r'));
    let first = format!("{begin}{}", visible(lines.next().unwrap_or_default()));
    let further = lines.map(|line| format!("{FURTHER}{}", visible_line(line)));
    std::iter::once(first).chain(further).collect()
}

/// Breaks lines that are wider than the terminal, between words where it can, and marks what is the rest
/// of one.
///
/// SECURITY: a terminal begins the rest of a long line at its left edge, where it can look like a line
/// of ours.
pub(crate) fn fold(lines: &[String], columns: Option<usize>) -> Vec<String> {
    let Some(columns) = columns else { return lines.to_vec() };
    let mut folded = Vec::with_capacity(lines.len());
    for line in lines {
        let chars: Vec<char> = line.chars().collect();
        // What is not plain may be two columns wide, and nobody knows on which terminal.
        let cell = |c: &char| (if c.is_ascii() { 1 } else { 2 }, *c == ' ');
        let cells: Vec<(usize, bool)> = chars.iter().map(cell).collect();
        for (at, row) in breaks(&cells, columns, FOLDED.len(), false).into_iter().enumerate() {
            let mark = if at == 0 { "" } else { FOLDED };
            let row = chars.get(row).unwrap_or_default().iter();
            folded.push(mark.chars().chain(row.copied()).collect());
        }
    }
    folded
}

/// Returns text of a stranger as it is for a pipe, and harmless for a terminal.
fn of_stranger(text: &str) -> Cow<'_, str> {
    match std::io::stdout().is_terminal() {
        true => Cow::Owned(on_terminal(text)),
        false => Cow::Borrowed(text),
    }
}

/// Escapes what is not seen in JSON; it means the same, and does nothing at a terminal.
fn escaped(json: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n');
    if json.bytes().all(is_plain) {
        return Cow::Borrowed(json);
    }
    let (mut line, mut units) = (String::with_capacity(json.len()), [0; 2]);
    for c in json.chars() {
        // INVARIANT: outside of its texts JSON has nothing but plain characters and ends of lines, and
        // inside of them an escape means the same.
        if u8::try_from(c).is_ok_and(is_plain)
            || !visible(c.encode_utf8(&mut [0; 4])).starts_with('\\')
        {
            line.push(c);
        } else {
            line.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    Cow::Owned(line)
}

/// Makes text of several lines harmless for a terminal; its lines and columns stay, since nothing of
/// ours stands beside it.
fn on_terminal(text: &str) -> String {
    let is_kept = |c: char| matches!(c, ' ' | '\t' | '\n');
    let words = text.split_inclusive(is_kept).map(|part| {
        let word = part.trim_end_matches(is_kept);
        format!("{}{}", visible(word), part.get(word.len()..).unwrap_or_default())
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(line: &str, columns: usize) -> Vec<String> {
        fold(&[line.to_owned()], Some(columns))
    }

    #[test]
    fn text_of_strangers_keeps_its_lines_and_drives_nothing() {
        for (text, expected) in [
            ("", ""),
            ("a\n\n  b\tc      d\n", "a\n\n  b\tc      d\n"),
            ("\x1b[2J\rx\n", "\\u{1b}[2J\\u{d}x\n"),
            ("a\u{202e}b c", "a\\u{202e}b c"),
        ] {
            assert_eq!(on_terminal(text), expected, "{text:?}");
        }
    }

    #[test]
    fn json_means_what_it_meant_and_hides_nothing() {
        for (json, expected) in [
            ("[\"plain \\\\ \\n\",\n1]", "[\"plain \\\\ \\n\",\n1]"),
            ("\"ünï 日本 e\u{301}\"", "\"ünï 日本 e\u{301}\""),
            ("\"a\u{202e}b\u{9b}2J\u{7f}\"", "\"a\\u202eb\\u009b2J\\u007f\""),
            ("\"\u{e0041}\u{a0}\"", "\"\\udb40\\udc41\\u00a0\""),
        ] {
            assert_eq!(escaped(json), expected);
            let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
            assert_eq!(read(&escaped(json)), read(json));
        }
    }

    #[test]
    fn the_rest_of_a_long_line_does_not_begin_at_the_edge() {
        let forged = format!("  because: {}#7 work: harmless", "x".repeat(29));
        let id = "  id: 00000000-0000-4000-8000-000000000000";
        assert_eq!(
            folded(&forged, 40),
            [
                "  because:".to_owned(),
                format!("  | {}#7", "x".repeat(29)),
                "  | work: harmless".to_owned()
            ]
        );
        assert_eq!(folded(id, 40), ["  id:", "  | 00000000-0000-4000-8000-000000000000"]);
        assert_eq!(folded(&"x".repeat(40), 40), ["x".repeat(40)]);
        assert_eq!(folded("", 40), [""]);
        assert_eq!(fold(&["x".repeat(400)], None), ["x".repeat(400)]);
    }

    #[test]
    fn messages_of_others_keep_their_lines_and_begin_none_of_ours() {
        let message = "cannot push: remote said\r\nerror: no\n\n        hint: pull\x1b[2J\n";
        assert_eq!(
            message_lines("error: ", message),
            [
                "error: cannot push: remote said",
                "  | error: no",
                "  | ",
                "  |         hint: pull\\u{1b}[2J",
            ]
        );
        assert_eq!(message_lines("ironcurtain: ", ""), ["ironcurtain: "]);
    }

    #[test]
    fn no_row_is_too_wide_and_nothing_is_lost() {
        let line: String = "ab日c€d efghijk lm".chars().cycle().take(300).collect();
        for (length, columns) in (0..300).flat_map(|length| [(length, 40), (length, 57)]) {
            let line: String = line.chars().take(length).collect();
            let rows = folded(&line, columns);
            let width = |row: &String| row.chars().map(|c| 2 - usize::from(c.is_ascii())).sum();
            assert!(rows.iter().all(|row| {
                let width: usize = width(row);
                width <= columns
            }));
            let rest = rows.iter().skip(1).map(|row| row.strip_prefix(FOLDED).unwrap());
            let joined: String = rows.iter().take(1).map(String::as_str).chain(rest).collect();
            assert_eq!(joined, line);
        }
    }
}
