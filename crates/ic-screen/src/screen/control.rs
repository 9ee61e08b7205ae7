//! The controls and sequences that are understood; this file and `modes.rs` are the table of decision 50.

use std::fmt::Write as _;

use super::{ANSWER_BYTES_MAX, Model, Screen};
use crate::dropped::Kind;
use crate::parser::Sequence;

impl Model {
    pub(super) fn on_control(&mut self, byte: u8) {
        self.last_at = None;
        match byte {
            0x07 => self.has_rung = true,
            0x08 => self.left(1),
            b'\t' => self.tab(1),
            0x0a..=0x0c => self.line_feed(),
            b'\r' => self.cursor.column = 0,
            0x0e => self.is_second_set = true,
            0x0f => self.is_second_set = false,
            // Fillers.
            0x00 | 0x7f => {}
            // Answerback (0x05) among them.
            _ => self.dropped.count(Kind::Control),
        }
        if matches!(byte, b'\r') {
            self.cursor.is_wrapping = false;
        }
    }

    pub(super) fn on_escape(&mut self, between: u8, end: u8) {
        self.last_at = None;
        match (between, end) {
            (0, b'7') => self.save(),
            (0, b'8') => self.restore(),
            (0, b'=') => self.modes.has_application_pad = true,
            (0, b'>') => self.modes.has_application_pad = false,
            (0, b'D') => self.line_feed(),
            (0, b'E') => {
                self.cursor.column = 0;
                self.line_feed();
            }
            (0, b'H') => self.set_tab(true),
            (0, b'M') => self.reverse_line_feed(),
            (0, b'c') => self.reset(),
            (b'(', set) => self.draws_lines = [set == b'0', self.draws_lines[1]],
            (b')', set) => self.draws_lines = [self.draws_lines[0], set == b'0'],
            (0, b'Z') => self.dropped.count(Kind::Report),
            _ => self.dropped.count(Kind::Sequence),
        }
    }

    pub(super) fn on_sequence(&mut self, it: &Sequence, end: u8) {
        match (it.prefix, it.between, end) {
            (0, 0, b'b') => return self.repeat(it.or(0, 1).into()),
            (0, 0, b'm') => return self.on_style(it),
            (0, 0, _) => self.plain_sequence(it, end),
            (b'?', 0, b'h' | b'l') => {
                for at in 0..it.len() {
                    self.set_mode(it.get(at), end == b'h');
                }
            }
            (b'?', 0, b'J') => self.erase_screen(it.get(0)),
            (b'?', 0, b'K') => self.erase_row(it.get(0)),
            (b'?', b'$', b'p') => {
                let (mode, state) = (it.get(0), self.mode(it.get(0)));
                match state {
                    0 => self.dropped.count(Kind::Report),
                    state => self.answer(format_args!("\x1b[?{mode};{state}$y")),
                }
            }
            (b'?', 0, b'n') if it.get(0) == 6 => self.say_cursor("?"),
            (b'?' | b'>' | b'<' | b'=', 0, b'u') => self.on_keyboard(it),
            (0, b' ', b'q') => {
                self.modes.cursor_shape = u8::try_from(it.get(0).min(6)).unwrap_or(0);
            }
            (0, b'!', b'p') => self.soft_reset(),
            (b'?', 0, b'i') => self.dropped.count(Kind::MediaCopy),
            (b'?', 0, b'n' | b'S') | (b'>' | b'=', 0, b'c' | b'q') => {
                self.dropped.count(Kind::Report);
            }
            _ => self.dropped.count(Kind::Sequence),
        }
        self.last_at = None;
    }

    /// Does a sequence without anything before or between its parameters.
    fn plain_sequence(&mut self, it: &Sequence, end: u8) {
        let n = usize::from(it.or(0, 1));
        let (row, column) = (self.cursor.row, self.cursor.column);
        let style = self.cursor.style.erased();
        // Of a region, rows are taken where the cursor is in it.
        let is_within = (self.region.0..self.region.1).contains(&row);
        match end {
            b'A' => self.up(n),
            b'B' | b'e' => self.down(n),
            b'C' | b'a' => self.right(n),
            b'D' => self.left(n),
            b'E' => {
                self.down(n);
                self.cursor.column = 0;
            }
            b'F' => {
                self.up(n);
                self.cursor.column = 0;
            }
            b'G' | b'`' => self.at_column(n - 1),
            b'H' | b'f' => self.go(n - 1, usize::from(it.or(1, 1)) - 1),
            b'd' => self.go_keeping_column(n - 1),
            b'I' => self.tab(n),
            b'Z' => self.back_tab(n),
            b'J' => self.erase_screen(it.get(0)),
            b'K' => self.erase_row(it.get(0)),
            b'L' if is_within => self.grid.scroll_down(row, self.region.1, n, style),
            b'M' if is_within => self.grid.scroll_up(row, self.region.1, n, style),
            b'L' | b'M' => {}
            b'@' => self.grid.insert(row, column, n, style),
            b'P' => self.grid.delete(row, column, n, style),
            b'X' => self.grid.erase(row, column, column + n.min(self.size.columns), style),
            b'S' => self.grid.scroll_up(self.region.0, self.region.1, n, style),
            b'T' if it.len() <= 1 => self.grid.scroll_down(self.region.0, self.region.1, n, style),
            b'r' => self.set_region(it),
            b's' if it.is_empty() => self.save(),
            b'u' if it.is_empty() => self.restore(),
            b'g' => match it.get(0) {
                0 => self.set_tab(false),
                3 => self.tabs.fill(false),
                _ => self.dropped.count(Kind::Sequence),
            },
            b'h' | b'l' if it.get(0) == 4 => self.inserts = end == b'h',
            b'h' | b'l' => self.dropped.count(Kind::Mode),
            b'n' if it.get(0) == 5 => self.answer(format_args!("\x1b[0n")),
            b'n' if it.get(0) == 6 => self.say_cursor(""),
            // A terminal with colours.
            b'c' if it.get(0) == 0 => self.answer(format_args!("\x1b[?62;22c")),
            b'n' | b'c' | b'x' => self.dropped.count(Kind::Report),
            b'i' => self.dropped.count(Kind::MediaCopy),
            b't' => self.dropped.count(Kind::Title),
            _ => self.dropped.count(Kind::Sequence),
        }
        if !matches!(end, b'S' | b'T' | b'g' | b'h' | b'l' | b'n' | b'c' | b'm' | b't' | b'i') {
            self.cursor.is_wrapping = false;
        }
    }

    pub(super) fn on_command(&mut self, text: &[u8]) {
        self.last_at = None;
        let number = text.split(|byte| *byte == b';').next().unwrap_or_default();
        match number {
            // A link: understood, and its target not kept. A target that is shown is found by the terminal.
            b"8" => {}
            b"10" | b"11" if text.get(2..) == Some(b";?") => {
                let at = usize::from(number == b"11");
                match self.known.colours.and_then(|it| it.get(at).copied()) {
                    Some((r, g, b)) => self.answer(format_args!(
                        "\x1b]1{at};rgb:{r:02x}{r:02x}/{g:02x}{g:02x}/{b:02x}{b:02x}\x1b\\"
                    )),
                    None => self.dropped.count(Kind::Report),
                }
            }
            b"52" => self.dropped.count(Kind::Clipboard),
            b"0" | b"1" | b"2" => self.dropped.count(Kind::Title),
            _ => self.dropped.count(Kind::Command),
        }
    }

    /// Answers a question of the program; what is too much is dropped.
    pub(super) fn answer(&mut self, text: std::fmt::Arguments<'_>) {
        let mut answer = String::new();
        write!(answer, "{text}").ok();
        match self.answers.len() + answer.len() <= ANSWER_BYTES_MAX {
            true => self.answers.extend_from_slice(answer.as_bytes()),
            false => self.dropped.count(Kind::Report),
        }
    }

    fn say_cursor(&mut self, mark: &str) {
        let row =
            self.cursor.row - if self.is_origin { self.region.0.min(self.cursor.row) } else { 0 };
        let column = self.cursor.column;
        self.answer(format_args!("\x1b[{mark}{};{}R", row + 1, column + 1));
    }

    fn repeat(&mut self, n_times: usize) {
        let Some(last) = self.last else { return };
        // A row is as much as programs use this for; more would be work for little.
        for _ in 0..n_times.min(self.size.columns) {
            self.print(last);
        }
    }

    /// Goes to a place, which in some modes is one of the region.
    pub(super) fn go(&mut self, row: usize, column: usize) {
        self.go_keeping_column(row);
        self.at_column(column);
    }

    fn go_keeping_column(&mut self, row: usize) {
        self.cursor.row = match self.is_origin {
            true => (self.region.0 + row).min(self.region.1 - 1),
            false => row.min(self.size.rows - 1),
        };
        self.cursor.is_wrapping = false;
    }

    fn at_column(&mut self, column: usize) {
        self.cursor.column = column.min(self.size.columns - 1);
        self.cursor.is_wrapping = false;
    }

    fn up(&mut self, n_rows: usize) {
        let least = if self.region.0 <= self.cursor.row { self.region.0 } else { 0 };
        self.cursor.row = self.cursor.row.saturating_sub(n_rows).max(least);
    }

    fn down(&mut self, n_rows: usize) {
        let end = if self.cursor.row < self.region.1 { self.region.1 } else { self.size.rows };
        self.cursor.row = (self.cursor.row + n_rows).min(end - 1);
    }

    fn right(&mut self, n_places: usize) {
        self.at_column(self.cursor.column + n_places);
    }

    fn left(&mut self, n_places: usize) {
        self.at_column(self.cursor.column.saturating_sub(n_places));
    }

    fn tab(&mut self, n_tabs: usize) {
        for _ in 0..n_tabs.min(self.size.columns) {
            let next = self.tabs.iter().skip(self.cursor.column + 1).position(|it| *it);
            let last = self.size.columns - 1;
            self.cursor.column = next.map_or(last, |n| self.cursor.column + 1 + n);
        }
        self.cursor.is_wrapping = false;
    }

    fn back_tab(&mut self, n_tabs: usize) {
        for _ in 0..n_tabs.min(self.size.columns) {
            let before = self.tabs.iter().take(self.cursor.column);
            self.cursor.column = before
                .enumerate()
                .filter(|(_, it)| **it)
                .map(|(at, _)| at)
                .next_back()
                .unwrap_or(0);
        }
    }

    fn set_tab(&mut self, is_set: bool) {
        if let Some(tab) = self.tabs.get_mut(self.cursor.column) {
            *tab = is_set;
        }
    }

    fn reverse_line_feed(&mut self) {
        if self.cursor.row == self.region.0 {
            let style = self.cursor.style.erased();
            self.grid.scroll_down(self.region.0, self.region.1, 1, style);
        } else {
            self.cursor.row = self.cursor.row.saturating_sub(1);
        }
        self.cursor.is_wrapping = false;
    }

    fn set_region(&mut self, it: &Sequence) {
        let rows = self.size.rows;
        let bottom = usize::from(it.get(1));
        let bottom = if bottom == 0 { rows } else { bottom.min(rows) };
        let top = usize::from(it.or(0, 1)) - 1;
        if top + 1 < bottom {
            self.region = (top, bottom);
            self.go(0, 0);
        }
    }

    fn erase_screen(&mut self, what: u16) {
        let (row, column, style) =
            (self.cursor.row, self.cursor.column, self.cursor.style.erased());
        let columns = self.size.columns;
        let rows = match what {
            0 => {
                self.grid.erase(row, column, columns, style);
                row + 1..self.size.rows
            }
            1 => {
                self.grid.erase(row, 0, column + 1, style);
                0..row
            }
            2 => 0..self.size.rows,
            // What has scrolled away is not kept.
            3 => return,
            _ => return self.dropped.count(Kind::Sequence),
        };
        for row in rows {
            self.grid.erase(row, 0, columns, style);
        }
    }

    fn erase_row(&mut self, what: u16) {
        let (row, column, style) =
            (self.cursor.row, self.cursor.column, self.cursor.style.erased());
        match what {
            0 => self.grid.erase(row, column, self.size.columns, style),
            1 => self.grid.erase(row, 0, column + 1, style),
            2 => self.grid.erase(row, 0, self.size.columns, style),
            _ => self.dropped.count(Kind::Sequence),
        }
    }

    /// Begins anew; what was counted, is known and waits to be answered stays.
    fn reset(&mut self) {
        let fresh = Screen::new(self.size).model;
        let before = std::mem::replace(self, fresh);
        (self.known, self.dropped, self.answers) = (before.known, before.dropped, before.answers);
        // What was drawn of it is not what these numbers mean now.
        self.clusters.generation = before.clusters.generation + 1;
    }

    fn soft_reset(&mut self) {
        (self.is_origin, self.wraps, self.inserts) = (false, true, false);
        self.modes.is_cursor_seen = true;
        self.modes.has_application_arrows = false;
        self.modes.has_application_pad = false;
        self.region = (0, self.size.rows);
        self.cursor.style = crate::cell::Style::default();
        self.draws_lines = [false; 2];
        self.is_second_set = false;
    }
}
