//! The question over an agent's interface: the dialog of every other place, on the whole screen.

use ic_screen::cell::Style;
use ic_screen::{Frame, Question, Size};
use ic_terminal::gate::Arrival;
use ic_terminal::{Decoder, Ink, Key, Line, Span};
use tokio::time::Instant;

use super::AgentScreen;
use super::viewer::Viewer;
use crate::terminal::banner::{Banner, Place};
use crate::terminal::console::ESCAPE_WAIT;
use crate::terminal::paint::Tone;
use crate::terminal::pen::is_read;
use crate::terminal::stage::{Echo, Room, Row, Stage};

/// Says how to leave a question, behind what is asked.
const BACK: &str = "Escape goes back to the agent and leaves it open";
/// The smallest terminal on which a question can be read.
const SIZE_MIN: Size = Size { rows: 4, columns: 20 };

/// The screen on which a question stands.
pub(super) struct Over<'a> {
    viewer: Option<&'a Viewer>,
    room: Room,
    pub(super) said: Vec<(Tone, String)>,
}

impl<'a> Over<'a> {
    pub(super) fn of(viewer: Option<&'a Viewer>, size: Size, banner: &Banner) -> Self {
        let is_readable = SIZE_MIN.rows <= size.rows && SIZE_MIN.columns <= size.columns;
        let rows = if is_readable { size.rows.saturating_sub(rows_below(size, banner)) } else { 0 };
        Self { viewer, room: Room { columns: Some(size.columns), rows }, said: Vec::new() }
    }
}

/// Returns how many rows stand below a question: what can be typed, how to go back, and a hint.
fn rows_below(size: Size, banner: &Banner) -> usize {
    let prompts = banner.longest_prompts();
    let rows = prompts.iter().map(|it| folded(it, size.columns).len()).max();
    rows.unwrap_or(1) + folded(BACK, size.columns).len() + 1
}

fn folded(text: &str, columns: usize) -> Vec<String> {
    let rows = Line::new(Ink::Plain, text).fold(columns, &Span::new(Ink::Plain, ""));
    rows.iter().map(Line::text).collect()
}

impl Stage for Over<'_> {
    fn room(&self) -> Room {
        self.room
    }

    fn echo(&self) -> Echo {
        Echo::Apart
    }

    /// A question is drawn with the rest of the screen.
    fn draw(&mut self, _: &[Row]) {}

    /// How it ended is in the record.
    fn leave(&mut self, _: &[Row]) {}

    fn say(&mut self, tone: Tone, text: &str) {
        self.said.push((tone, text.to_owned()));
    }

    fn is_read(&mut self) -> bool {
        // SECURITY: nobody has read what has not all gone to their terminal.
        self.viewer.is_some_and(|it| it.has_taken() && is_read(it.handle()))
    }

    fn ask(&mut self, _: &str) {}
}

impl AgentScreen<'_> {
    /// Shows the question that waits, if one does.
    pub(super) fn decide(&mut self) {
        self.look();
        if !self.banner.is_asking() {
            self.say("Nothing waits for your approval.");
            return;
        }
        self.is_deciding = true;
        self.decoder = Decoder::default();
        self.escape_at = None;
        self.banner.disturbed();
        self.drawing.is_due = true;
    }

    /// Goes back to the agent; what was not answered waits on.
    pub(super) fn go_back(&mut self) {
        self.is_deciding = false;
        self.escape_at = None;
        self.banner.disturbed();
        self.drawing.is_due = true;
    }

    pub(super) fn leave_question_if_answered(&mut self) {
        if self.is_deciding && !self.banner.is_asking() {
            self.go_back();
        }
    }

    /// Takes in what was typed at a question.
    pub(super) fn on_answer(&mut self, bytes: &[u8]) {
        if self.size_now() != self.size {
            // SECURITY: it was read before the window was drawn anew.
            self.banner.disturbed();
        }
        let piece = self.decoder.read(bytes);
        self.escape_at = self.decoder.is_waiting().then(|| Instant::now() + ESCAPE_WAIT);
        self.banner.arrives(if piece.is_alone { Arrival::Alone } else { Arrival::Mixed });
        for key in &piece.keys {
            self.on_key(key, piece.is_alone);
            if !self.is_deciding {
                return;
            }
        }
        self.drawing.is_due = true;
    }

    pub(super) fn on_escape_alone(&mut self) {
        self.escape_at = None;
        self.banner.arrives(Arrival::Mixed);
        if let Some(key) = self.decoder.give_up() {
            self.on_key(&key, false);
        }
    }

    fn on_key(&mut self, key: &Key, is_alone: bool) {
        if matches!(key, Key::Escape | Key::Ctrl(']' | '\\' | 'c')) {
            return self.go_back();
        }
        if let Some(word) = self.banner.word_of(key, is_alone) {
            self.with_banner(|banner, place| banner.typed(&word, place));
            self.waiting = self.questions.pending();
            self.leave_question_if_answered();
        }
    }

    /// Draws the question.
    pub(super) fn question(&mut self) -> Frame {
        let mut stage = Over::of(self.seats.attached.as_ref(), self.size, &self.banner);
        self.banner.fit(&mut Place { questions: self.questions, stage: &mut stage });
        let rows: Vec<(Style, &str)> =
            self.banner.rows().iter().map(|row| (style_of(row.ink), row.text.as_str())).collect();
        let asked = self.banner.asked().unwrap_or_default();
        let mut below = folded(&asked, self.size.columns);
        below.extend(folded(BACK, self.size.columns));
        let question = Question { rows: &rows, asked: &below, hint: self.banner.hint() };
        question.to_frame(self.size)
    }
}

fn style_of(ink: Ink) -> Style {
    match ink {
        Ink::Plain | Ink::Code => Style::default(),
        Ink::Strong => Style { flags: Style::BOLD, ..Style::default() },
        Ink::Emphasis => Style { flags: Style::ITALIC, ..Style::default() },
        Ink::Quiet => Style { flags: Style::DIM, ..Style::default() },
        Ink::Good => Style::coloured(2, 0),
        Ink::Bad => Style::coloured(1, 0),
        Ink::Question => Style::coloured(3, Style::BOLD),
    }
}
