//! What stands below the lines of a conversation: what goes on, what is asked, what is typed.

use ic_terminal::{Frame, Ink, Line, Size, Span};

use super::pen::question_lines;
use super::{PROMPT, Repl};
use crate::terminal::paint::Paint;
use crate::terminal::stage::Room;

/// Rows that are kept for what is said about a key that did not count.
const ROWS_HINT: usize = 1;

impl Repl<'_> {
    /// Lays out the region for a screen of that size.
    pub(super) fn region(&self, size: Size) -> Frame {
        let mut above = Vec::new();
        match (self.banner.asked(), &self.turn) {
            (Some(asked), _) => {
                let (rows, n_headings) = self.banner.rows();
                above.extend(question_lines(rows, n_headings));
                above.extend(
                    self.banner.hint().map(|hint| Line::new(Ink::Quiet, &format!("({hint})"))),
                );
                // With something typed no letter is an answer, so nothing has to be waited for.
                let asked = if self.editor.is_empty() { asked } else { self.banner.prompt() };
                above.extend(asked_rows(&asked, size));
            }
            (None, Some(turn)) => {
                let status = turn.status(self.setting.paint == Paint::Colours, self.queue.len());
                above.push(Line::new(Ink::Quiet, &status));
            }
            (None, None) => {}
        }
        self.typed(size).below(above)
    }

    /// Returns how much room a question has beside the rest of the region.
    ///
    /// SECURITY: the region never grows beyond the screen, so what has room here stands on the screen.
    pub(super) fn room(&self, size: Size, fits: bool) -> Room {
        let n_asked = [self.banner.prompt(), self.banner.asked().unwrap_or_default()]
            .map(|asked| asked_rows(&asked, size).len());
        let n_others =
            1 + ROWS_HINT + n_asked.into_iter().max().unwrap_or(0) + self.typed(size).rows.len();
        let rows = if fits { size.rows.saturating_sub(n_others) } else { 0 };
        Room { columns: Some(size.columns), rows }
    }

    /// Lays out what is typed.
    fn typed(&self, size: Size) -> Frame {
        let room = (size.rows / 2).max(1);
        Frame::of(&self.editor, &Span::new(Ink::Strong, PROMPT), size.columns).within(room)
    }
}

fn asked_rows(asked: &str, size: Size) -> Vec<Line> {
    Line::new(Ink::Question, asked).fold(size.columns, &Span::new(Ink::Plain, "  "))
}
