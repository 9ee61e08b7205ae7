//! What a terminal is sent so that it shows a frame: only what differs from what stands there.
//!
//! Everything that is sent is made here, of numbers and of characters that a cell can hold.

use std::fmt::Write as _;

use crate::cell::{Cell, Clusters, Colour, Style};
use crate::frame::Frame;
use crate::screen::{Modes, Mouse};

/// What a terminal shows, as far as we sent it.
#[derive(Debug, Default)]
pub struct Painter {
    shown: Option<Frame>,
    /// The modes that are set there; none that we did not set.
    modes: Option<Modes>,
    /// Whether the terminal has the keyboard protocol of kitty.
    has_keyboard: bool,
}

/// Takes the terminal: its other screen, pastes between marks, a state of the keyboard of our own; and asks
/// what it is. The answers are [reports](crate::input::Piece::Report).
pub const ENTER: &str =
    "\x1b[?1049h\x1b[0m\x1b[2J\x1b[H\x1b[?2004h\x1b[>0u\x1b[?u\x1b]10;?\x1b\\\x1b]11;?\x1b\\\x1b[c";
/// Gives it back, whatever was set.
pub const LEAVE: &str = "\x1b[?2026l\x1b[<u\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?1006l\x1b[?1004l\
    \x1b[?2004l\x1b[?1l\x1b>\x1b[0 q\x1b[?7h\x1b[0m\x1b[?25h\x1b[?1049l";

/// The cursor is not seen on its way, no row is left to the terminal to break, and all is seen at once.
const BEGIN: &str = "\x1b[?2026h\x1b[?25l\x1b[?7l";
const END: &str = "\x1b[?7h\x1b[?2026l";

impl Painter {
    /// Forgets what the terminal shows, so that everything is sent anew.
    pub fn forget(&mut self) {
        (self.shown, self.modes) = (None, None);
    }

    /// Takes note that the terminal has the keyboard protocol of kitty.
    pub fn has_keyboard(&mut self, has_keyboard: bool) {
        self.has_keyboard = has_keyboard;
    }

    /// Returns what makes the terminal show a frame; nothing if it does.
    pub fn paint(&mut self, frame: Frame) -> String {
        let modes = self.sent_modes(&frame.modes);
        let before = self.shown.as_ref().filter(|it| {
            it.size == frame.size && it.clusters.generation == frame.clusters.generation
        });
        let differs = |at: usize, row: &[Cell]| {
            before.is_none_or(|it| it.rows.get(at).is_none_or(|before| before != row))
        };
        let has_moved = before.is_none_or(|it| it.cursor != frame.cursor);
        let changed: Vec<usize> = (0..)
            .zip(&frame.rows)
            .filter(|(at, row)| differs(*at, row))
            .map(|(at, _)| at)
            .collect();
        if changed.is_empty() && !has_moved && modes.is_empty() {
            return String::new();
        }
        let mut sent = BEGIN.to_owned();
        if before.is_none() {
            sent.push_str("\x1b[0m\x1b[2J");
        }
        let mut pen = Pen { sent, style: Style::default(), at: None };
        for row in changed {
            let old = before.and_then(|it| it.rows.get(row)).map(Vec::as_slice);
            if let Some(cells) = frame.rows.get(row) {
                pen.row(row, cells, old, &frame.clusters);
            }
        }
        pen.become_style(Style::default());
        let mut sent = pen.sent;
        sent.push_str(&modes);
        sent.push_str(END);
        if let Some((row, column)) = frame.cursor {
            write!(sent, "\x1b[{};{}H\x1b[?25h", row + 1, column + 1).ok();
        }
        self.modes = Some(frame.modes);
        self.shown = Some(frame);
        sent
    }

    /// Returns what sets the modes that differ.
    fn sent_modes(&self, wanted: &Modes) -> String {
        let mut sent = String::new();
        let before = self.modes;
        let mut switch = |is: fn(&Modes) -> bool, on: &str, off: &str| {
            if before.as_ref().map(is) != Some(is(wanted)) {
                sent.push_str(if is(wanted) { on } else { off });
            }
        };
        switch(|it| it.has_application_arrows, "\x1b[?1h", "\x1b[?1l");
        switch(|it| it.has_application_pad, "\x1b=", "\x1b>");
        switch(|it| it.tells_focus, "\x1b[?1004h", "\x1b[?1004l");
        if before.map(|it| it.mouse_told()) != Some(wanted.mouse_told()) {
            sent.push_str("\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?1006l");
            sent.push_str(match wanted.mouse_told() {
                Mouse::Off => "",
                Mouse::Buttons => "\x1b[?1000h\x1b[?1006h",
                Mouse::Drags => "\x1b[?1002h\x1b[?1006h",
                Mouse::Moves => "\x1b[?1003h\x1b[?1006h",
            });
        }
        if before.map(|it| it.cursor_shape) != Some(wanted.cursor_shape) {
            write!(sent, "\x1b[{} q", wanted.cursor_shape).ok();
        }
        if self.has_keyboard && before.map(|it| it.keyboard) != Some(wanted.keyboard) {
            write!(sent, "\x1b[={};1u", wanted.keyboard).ok();
        }
        sent
    }
}

/// Writes cells.
struct Pen {
    sent: String,
    style: Style,
    /// Where the terminal surely is.
    at: Option<(usize, usize)>,
}

impl Pen {
    /// Writes what differs in a row.
    fn row(&mut self, row: usize, cells: &[Cell], old: Option<&[Cell]>, clusters: &Clusters) {
        // What half of a wide character becomes when the other half is written over differs between
        // terminals, so rows with such characters are written as a whole.
        let is_plain = |cells: &[Cell]| cells.iter().all(|it| it.width() == 1 && it.cluster() == 0);
        let old = old.filter(|old| is_plain(old) && is_plain(cells) && old.len() == cells.len());
        for (column, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.width() != 0) {
            if old.is_some_and(|old| old.get(column) == Some(cell)) {
                continue;
            }
            if self.at != Some((row, column)) {
                write!(self.sent, "\x1b[{};{}H", row + 1, column + 1).ok();
            }
            self.become_style(cell.style());
            self.sent.push(cell.symbol());
            self.sent.push_str(clusters.text(cell));
            // How wide a terminal takes anything else to be is not sure.
            let is_sure =
                cell.symbol().is_ascii() && cell.cluster() == 0 && column + 1 < cells.len();
            self.at = is_sure.then_some((row, column + 1));
        }
        self.at = None;
    }

    fn become_style(&mut self, style: Style) {
        if style == self.style {
            return;
        }
        self.style = style;
        self.sent.push_str("\x1b[0");
        let flags = [
            (Style::BOLD, ";1"),
            (Style::DIM, ";2"),
            (Style::ITALIC, ";3"),
            (Style::BLINK, ";5"),
            (Style::REVERSE, ";7"),
            (Style::HIDDEN, ";8"),
            (Style::STRUCK, ";9"),
            (Style::OVERLINE, ";53"),
        ];
        for (flag, number) in flags {
            if style.flags & flag != 0 {
                self.sent.push_str(number);
            }
        }
        match style.underline {
            0 => {}
            1 => self.sent.push_str(";4"),
            kind => {
                write!(self.sent, ";4:{kind}").ok();
            }
        }
        self.colour(style.ink, 30, 38);
        self.colour(style.ground, 40, 48);
        match style.line {
            Colour::Usual => {}
            Colour::Indexed(index) => {
                write!(self.sent, ";58:5:{index}").ok();
            }
            Colour::Rgb(r, g, b) => {
                write!(self.sent, ";58:2::{r}:{g}:{b}").ok();
            }
        }
        self.sent.push('m');
    }

    fn colour(&mut self, colour: Colour, base: u16, extended: u16) {
        match colour {
            Colour::Usual => {}
            Colour::Indexed(index @ 0..=7) => {
                write!(self.sent, ";{}", base + u16::from(index)).ok();
            }
            Colour::Indexed(index @ 8..=15) => {
                write!(self.sent, ";{}", base + 60 + u16::from(index) - 8).ok();
            }
            Colour::Indexed(index) => {
                write!(self.sent, ";{extended};5;{index}").ok();
            }
            Colour::Rgb(r, g, b) => {
                write!(self.sent, ";{extended};2;{r};{g};{b}").ok();
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
