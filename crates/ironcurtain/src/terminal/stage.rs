//! Where a question is shown: a terminal that is read line by line, or the screen of a REPL.

use std::os::fd::AsFd;

use ic_terminal::{Ink, Line};
use ic_types::visible;
use rustix::termios::tcgetwinsize;

use super::paint::{Paint, Tone};
use super::tty::Tty;
use crate::screen::{self, Screen};

/// Rows of a screen that are for what is typed.
const ROWS_KEPT: usize = 2;
/// The narrowest terminal on which a question is laid out.
const COLUMNS_MIN: usize = 20;
/// How high a terminal is taken to be that does not say so.
const ROWS_USUAL: usize = 24;

/// How much of a question can be seen at once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Room {
    /// How wide its rows may be; `None` where nothing is folded.
    pub(crate) columns: Option<usize>,
    /// How many rows there are for it, and for what is asked below it where that is printed too; 0 if
    /// nothing can be read here.
    pub(crate) rows: usize,
}

/// A row of a question, which fits and is harmless already.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Row {
    pub(crate) ink: Ink,
    pub(crate) text: String,
}

/// Where what is typed stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Echo {
    /// Below the question, which moves up with every line.
    Below,
    /// In a place of its own.
    Apart,
}

/// Where questions are shown and asked.
pub(crate) trait Stage {
    /// Returns how much room a question has now.
    fn room(&self) -> Room;

    /// Returns where what is typed stands.
    fn echo(&self) -> Echo;

    /// Shows rows of a question.
    fn draw(&mut self, rows: &[Row]);

    /// Leaves a question behind that is over, if it would be gone otherwise.
    fn leave(&mut self, rows: &[Row]);

    /// Says something.
    fn say(&mut self, tone: Tone, text: &str);

    /// Makes sure that nothing typed waits to be read; `false` if it has to be read first.
    fn is_read(&mut self) -> bool;

    /// Asks something, now that it can be answered.
    fn ask(&mut self, text: &str);
}

impl Row {
    /// Returns it as it stands on a screen that is drawn.
    pub(crate) fn to_line(&self) -> Line {
        Line::new(self.ink, &self.text)
    }
}

/// A terminal that is read line by line.
pub(super) struct LineStage<'a> {
    pub(super) screen: &'a mut Screen,
    pub(super) paint: Paint,
    /// Where answers are typed, if somebody is there.
    pub(super) terminal: Option<&'a Tty>,
}

impl Stage for LineStage<'_> {
    fn room(&self) -> Room {
        room(std::io::stderr())
    }

    fn echo(&self) -> Echo {
        Echo::Below
    }

    fn draw(&mut self, rows: &[Row]) {
        for row in rows {
            self.screen.row(&row.to_line().to_sent(self.paint == Paint::Colours));
        }
    }

    fn leave(&mut self, _: &[Row]) {
        // It stands there already.
    }

    fn say(&mut self, tone: Tone, text: &str) {
        let paint = self.paint;
        self.screen.progress(&visible(text), |row| paint.text(tone, row));
    }

    fn is_read(&mut self) -> bool {
        if let Some(terminal) = self.terminal {
            // SECURITY: what was typed before the question was read is no answer to it, and of a line
            // that has no end yet nobody could tell.
            terminal.forget_typed();
        }
        true
    }

    fn ask(&mut self, text: &str) {
        self.say(Tone::Question, text);
    }
}

/// Returns how much room a question has at a terminal that is written line by line.
pub(crate) fn room(terminal: impl AsFd) -> Room {
    let size = tcgetwinsize(&terminal);
    let (columns, rows) = size.map_or((0, 0), |size| (size.ws_col.into(), size.ws_row.into()));
    let rows: usize = if rows == 0 { ROWS_USUAL } else { rows };
    let rows = if (1..COLUMNS_MIN).contains(&columns) { 0 } else { rows.saturating_sub(ROWS_KEPT) };
    Room { columns: screen::columns(terminal), rows }
}
