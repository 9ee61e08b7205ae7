//! The screen: finished lines scroll away as anywhere, and a region below them is drawn anew.
//!
//! Returns what is to be sent, and sends nothing. There is no alternate screen: what was shown stays in
//! the terminal's own history.

use std::collections::VecDeque;
use std::fmt::Write as _;

use crate::layout::Frame;
use crate::line::{Line, Span};

/// How many lines are kept to be drawn again when the size changes.
const LINES_KEPT: usize = 500;
/// No row is broken by the terminal, however wide it takes a character to be; the cursor is not seen
/// on its way.
const BEGIN: &str = "\x1b[?25l\x1b[?7l";
const END: &str = "\x1b[?7h\x1b[?25h";

/// How large a terminal is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Size {
    /// How wide.
    pub columns: usize,
    /// How high.
    pub rows: usize,
}

/// What stands on the screen.
#[derive(Debug)]
pub struct Canvas {
    size: Size,
    is_painted: bool,
    /// The last lines that were printed, and what stands before the rest of each.
    printed: VecDeque<(Line, Span)>,
    /// What is drawn below them.
    region: Frame,
    /// Whether the region stands there.
    is_drawn: bool,
}

impl Canvas {
    /// Begins at the left edge of a row that is empty.
    pub fn new(size: Size, is_painted: bool) -> Self {
        let (printed, region) = (VecDeque::new(), Frame::default());
        Self { size, is_painted, printed, region, is_drawn: false }
    }

    /// Returns how large it is.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Prints lines in the place of the region; the rest of one that is too wide stands behind `mark`.
    ///
    /// The region is gone until it is shown: what it said may not be true any more below these lines.
    pub fn print(&mut self, lines: &[Line], mark: &Span) -> String {
        let mut sent = BEGIN.to_owned();
        self.erase(&mut sent);
        for line in lines {
            for row in line.fold(self.size.columns, mark) {
                sent.push_str(&row.to_sent(self.is_painted));
                sent.push_str("\r\n");
            }
            if LINES_KEPT <= self.printed.len() {
                self.printed.pop_front();
            }
            self.printed.push_back((line.clone(), mark.clone()));
        }
        sent.push_str(END);
        sent
    }

    /// Puts another region in the place of the one that stands there; nothing is sent if it is the same.
    pub fn show(&mut self, region: Frame) -> String {
        let region = region.within(self.size.rows.saturating_sub(1));
        if self.is_drawn && region == self.region {
            return String::new();
        }
        let mut sent = BEGIN.to_owned();
        self.erase(&mut sent);
        self.region = region;
        self.draw(&mut sent);
        sent.push_str(END);
        sent
    }

    /// Draws everything anew, for a terminal that is now of another size.
    ///
    /// What a terminal makes of rows that no longer fit is anybody's guess, so nothing that stands there
    /// is counted on.
    pub fn resize(&mut self, size: Size, region: Frame) -> String {
        self.size = size;
        self.region = region.within(size.rows.saturating_sub(1));
        let rows: Vec<String> = self
            .printed
            .iter()
            .flat_map(|(line, mark)| line.fold(size.columns, mark))
            .map(|row| row.to_sent(self.is_painted))
            .collect();
        let room = size.rows.saturating_sub(self.region.rows.len());
        let mut sent = BEGIN.to_owned();
        if rows.len() < room {
            // Not all of the screen is ours: what others wrote goes where it can be found again.
            self.scroll_away(&mut sent);
        }
        for row in 1..=size.rows {
            write!(sent, "\x1b[{row};1H\x1b[2K").ok();
        }
        sent.push_str("\x1b[1;1H");
        for row in rows.iter().skip(rows.len().saturating_sub(room)) {
            sent.push_str(row);
            sent.push_str("\r\n");
        }
        self.draw(&mut sent);
        sent.push_str(END);
        sent
    }

    /// Begins with an empty screen; what stood there is found in the terminal's history.
    pub fn clear(&mut self) -> String {
        let mut sent = BEGIN.to_owned();
        self.erase(&mut sent);
        self.scroll_away(&mut sent);
        sent.push_str("\x1b[1;1H");
        self.printed.clear();
        self.draw(&mut sent);
        sent.push_str(END);
        sent
    }

    /// Takes the region away, and leaves the terminal as it was.
    pub fn leave(&mut self) -> String {
        let mut sent = BEGIN.to_owned();
        self.erase(&mut sent);
        sent.push_str(END);
        sent
    }

    fn scroll_away(&self, sent: &mut String) {
        write!(sent, "\x1b[{};1H", self.size.rows).ok();
        sent.extend(std::iter::repeat_n('\n', self.size.rows));
    }

    /// Goes to where the region begins, and takes it away.
    ///
    /// Row by row: what is cleared from the top of a screen at once, tmux keeps in its history, and the same
    /// request would be found there two or three times.
    fn erase(&mut self, sent: &mut String) {
        if !std::mem::take(&mut self.is_drawn) {
            return;
        }
        up(self.region.cursor.0, sent);
        sent.push('\r');
        let n_rows = self.region.rows.len();
        for at in 0..n_rows {
            sent.push_str(if at == 0 { "\x1b[2K" } else { "\x1b[B\x1b[2K" });
        }
        up(n_rows.saturating_sub(1), sent);
    }

    fn draw(&mut self, sent: &mut String) {
        let (row, column) = self.region.cursor;
        for (at, line) in self.region.rows.iter().enumerate() {
            if 0 < at {
                sent.push_str("\r\n");
            }
            sent.push_str(&line.cut(self.size.columns).to_sent(self.is_painted));
        }
        up(self.region.rows.len().saturating_sub(row + 1), sent);
        sent.push('\r');
        if 0 < column {
            write!(sent, "\x1b[{column}C").ok();
        }
        self.is_drawn = true;
    }
}

fn up(n_rows: usize, sent: &mut String) {
    if 0 < n_rows {
        write!(sent, "\x1b[{n_rows}A").ok();
    }
}

#[cfg(test)]
mod tests;
