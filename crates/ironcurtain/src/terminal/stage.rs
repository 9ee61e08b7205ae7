//! Where a question is shown: a terminal that is read line by line, or the screen of a REPL.

use ic_types::visible;

use super::paint::{Paint, Tone};
use super::tty::Tty;
use crate::screen::{self, Screen};

/// Where questions are shown and asked.
pub(super) trait Stage {
    /// Returns `lines` as the rows that they take here.
    fn rows(&self, lines: &[String]) -> Vec<String>;

    /// Returns how many rows a person sees at once.
    fn height(&self) -> usize;

    /// Shows a row, which fits and is harmless already.
    fn row(&mut self, row: &str);

    /// Says something.
    fn say(&mut self, tone: Tone, text: &str);

    /// Asks something, now that it can be answered.
    fn ask(&mut self, text: &str);
}

/// A terminal that is read line by line.
pub(super) struct LineStage<'a> {
    pub(super) screen: &'a mut Screen,
    pub(super) paint: Paint,
    /// Where answers are typed, if somebody is there.
    pub(super) terminal: Option<&'a Tty>,
}

impl Stage for LineStage<'_> {
    fn rows(&self, lines: &[String]) -> Vec<String> {
        screen::rows(lines)
    }

    fn height(&self) -> usize {
        screen::height()
    }

    fn row(&mut self, row: &str) {
        self.screen.row(row);
    }

    fn say(&mut self, tone: Tone, text: &str) {
        let paint = self.paint;
        self.screen.progress(&visible(text), |row| paint.text(tone, row));
    }

    fn ask(&mut self, text: &str) {
        if let Some(terminal) = self.terminal {
            // SECURITY: what was typed before the question was read is no answer to it.
            terminal.forget_typed();
        }
        self.say(Tone::Question, text);
    }
}
