//! What is known of work while it runs, and the model's text as it comes.

use std::time::Duration;

use ic_terminal::{Line, Markdown};
use tokio::time::Instant;

/// How long a picture of the spinner stands.
pub(super) const FRAME: Duration = Duration::from_millis(120);

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// What goes on, for the row that says so.
#[derive(Debug)]
pub(super) struct Progress {
    began: Instant,
    /// The call that is under way.
    pub(super) call: Option<String>,
    /// What is done between calls.
    between: &'static str,
    n_frames: usize,
}

/// The model's text, line by line as it comes.
#[derive(Debug, Default)]
pub(super) struct Text {
    markdown: Markdown,
    /// What came of the current message.
    message: String,
    /// How much of it was shown.
    n_shown: usize,
}

impl Progress {
    pub(super) fn new(between: &'static str) -> Self {
        Self { began: Instant::now(), call: None, between, n_frames: 0 }
    }

    /// Takes the next picture of the spinner.
    pub(super) fn spin(&mut self) {
        self.n_frames += 1;
    }

    /// Says what goes on; what moves is for those who want it.
    pub(super) fn status(&self, moves: bool, is_ending: bool, n_queued: usize) -> String {
        let what = match (&self.call, is_ending) {
            (_, true) => "ending",
            (Some(call), _) => call,
            (None, _) => self.between,
        };
        let queued = if 0 < n_queued { format!(" · {n_queued} queued") } else { String::new() };
        if !moves {
            return format!("… {what}{queued}");
        }
        let frame = FRAMES.get(self.n_frames % FRAMES.len()).unwrap_or(&"");
        format!("{frame} {what} · {} s{queued}", self.began.elapsed().as_secs())
    }
}

impl Text {
    /// Takes a piece, and returns the lines that it completes.
    pub(super) fn take(&mut self, delta: &str) -> Vec<Line> {
        self.message.push_str(delta);
        let unseen = self.message.get(self.n_shown..).unwrap_or_default();
        let Some((whole, _)) = unseen.rsplit_once('\n') else { return Vec::new() };
        let lines = whole.split('\n').map(|line| self.markdown.line(line)).collect();
        self.n_shown += whole.len() + 1;
        lines
    }

    /// Ends a message that was not the answer, and returns the rest of it.
    pub(super) fn end(&mut self) -> Vec<Line> {
        let unseen = self.message.get(self.n_shown..).unwrap_or_default().to_owned();
        let rest = unseen.lines().map(|line| self.markdown.line(line)).collect();
        *self = Self::default();
        rest
    }

    /// Ends the last message with the answer, and returns what was not shown of it.
    pub(super) fn answer(&mut self, answer: &str) -> Vec<Line> {
        if self.message != answer {
            // It did not come in pieces, or not all of it did.
            *self = Self { message: answer.to_owned(), ..Self::default() };
        }
        self.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(lines: &[Line]) -> Vec<String> {
        lines.iter().map(Line::text).collect()
    }

    #[test]
    fn text_comes_line_by_line() {
        let mut text = Text::default();
        assert_eq!(texts(&text.take("one\ntw")), ["one"]);
        assert_eq!(texts(&text.take("o")), [""; 0]);
        assert_eq!(texts(&text.take("\n\nthree")), ["two", ""]);
        assert_eq!(texts(&text.answer("one\ntwo\n\nthree")), ["three"]);
        // Nothing of it is left for the next.
        assert_eq!(texts(&text.take("four\n")), ["four"]);
    }

    #[test]
    fn an_answer_that_did_not_come_in_pieces_is_shown_whole() {
        let mut text = Text::default();
        assert_eq!(texts(&text.answer("one\ntwo")), ["one", "two"]);
        assert_eq!(texts(&text.take("lost\n")), ["lost"]);
        assert_eq!(texts(&text.answer("found")), ["found"]);
        assert_eq!(texts(&text.take("and this")), [""; 0]);
        assert_eq!(texts(&text.end()), ["and this"]);
    }
}
