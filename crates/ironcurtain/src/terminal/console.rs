//! The terminal where questions are asked: the one dialog of a conversation, a task and the desk.
//!
//! ```text
//! lines above, which scroll away
//! ──────────────────────────────
//! a question and its keys, or what goes on        the region, drawn anew
//! what is typed, where something can be
//! ```
//!
//! Holds the terminal, the question that stands there and what waits for it to be answered. What the
//! keys besides those of a question do is the business of the console's owner.

use std::time::Duration;

use ic_terminal::gate::Arrival;
use ic_terminal::{Decoder, Editor, Frame, Ink, Key, Line, Piece, Size, Span};
use ic_types::EscalationId;
use rustix::process::{Signal, getpid, kill_process};
use tokio::time::Instant;

use super::banner::{Asking, Banner, Place};
use super::held::Held;
use super::paint::{Paint, Tone};
use super::pen::Pen;
use super::raw::{self, RawMode};
use super::stage::{Room, Row, Stage as _};
use super::tty::Tty;
use crate::error::Failure;
use crate::own_policy::always::Always;
use crate::screen::{Screen, message_lines};

/// What stands before what is typed.
pub(super) const PROMPT: &str = "> ";
/// How long an Escape waits for what may follow it.
pub(super) const ESCAPE_WAIT: Duration = Duration::from_millis(50);
/// Rows that are kept for what is said about a key that did not count.
const ROWS_HINT: usize = 1;
pub(super) const BELL: &str = "\x07";

/// A terminal that is drawn, and read key by key.
pub(crate) struct Console<'a> {
    pub(super) terminal: Tty,
    raw: Option<RawMode>,
    pub(super) pen: Pen<'a>,
    pub(super) banner: Banner,
    decoder: Decoder,
    pub(super) escape_at: Option<Instant>,
    /// What came while a question stands there.
    held: Held<HeldLine>,
    /// The question for which the bell was rung.
    rung: Option<EscalationId>,
    pub(super) paint: Paint,
}

/// A line that waits for a question to be answered.
enum HeldLine {
    Ours(Line),
    Strangers(Line),
}

/// What stands in the region besides a question.
#[derive(Default)]
pub(crate) struct Below<'a> {
    /// What goes on.
    pub(crate) status: Option<String>,
    /// What is typed, where something can be.
    pub(crate) editor: Option<&'a Editor>,
}

impl<'a> Console<'a> {
    /// Takes the terminal.
    pub(crate) fn take(
        terminal: Tty,
        paint: Paint,
        screen: &'a mut Screen,
    ) -> Result<Self, Failure> {
        let unusable = |source| Failure::environment("cannot use the terminal").with_source(source);
        let is_painted = paint == Paint::Colours;
        let pen = Pen::new(terminal.handle().map_err(unusable)?, is_painted, screen);
        let raw = RawMode::enter(&terminal.handle().map_err(unusable)?).map_err(unusable)?;
        Ok(Self {
            terminal,
            raw: Some(raw),
            pen,
            banner: Banner::new(),
            decoder: Decoder::default(),
            escape_at: None,
            held: Held::new(),
            rung: None,
            paint,
        })
    }

    /// Offers *always* at questions too.
    pub(crate) fn offer_always(&mut self, always: Option<Always>) {
        self.banner.offer_always(always);
    }

    /// Takes the region away, and gives the terminal back.
    pub(crate) fn leave(&mut self) {
        self.pen.leave();
        self.raw = None;
    }

    /// Gives the terminal to the program that started us, until it lets us go on.
    pub(crate) fn suspend(&mut self) {
        self.pen.leave();
        raw::restore();
        // Everything is drawn anew when we are continued.
        kill_process(getpid(), Signal::TSTP).ok();
    }

    /// Takes the terminal again, in which somebody else may have written.
    pub(crate) fn on_continued(&mut self, below: &Below<'_>) {
        if let (Ok(handle), Some(_)) = (self.terminal.handle(), &self.raw) {
            // A terminal that cannot be taken again is one that cannot be read either.
            RawMode::again(&handle).ok();
        }
        self.banner.disturbed();
        self.rung = None;
        let (size, _) = self.pen.new_size();
        let region = self.region(size, below);
        self.pen.redraw(region);
    }

    /// Begins with an empty screen.
    pub(crate) fn clear(&mut self) {
        self.banner.disturbed();
        self.pen.clear();
    }

    /// Lets the banner do something.
    pub(crate) fn with(
        &mut self,
        questions: &dyn Asking,
        act: impl FnOnce(&mut Banner, &mut Place<'_>),
    ) {
        act(&mut self.banner, &mut Place { questions, stage: &mut self.pen });
    }

    /// Returns whether a question stands there, or is about to.
    pub(crate) fn is_asking(&self) -> bool {
        self.banner.is_asking()
    }

    /// Returns whether this question stands there.
    pub(crate) fn holds(&self, id: &EscalationId) -> bool {
        self.banner.holds(id)
    }

    /// Waits for the next bytes; none if the terminal has gone.
    pub(crate) async fn bytes(&mut self) -> Vec<u8> {
        self.terminal.bytes().await
    }

    /// Returns when an Escape is taken for a key.
    pub(crate) fn escape_at(&self) -> Option<Instant> {
        self.escape_at
    }

    /// Returns when the banner has something to do, with nothing happening before.
    pub(crate) fn wakes_at(&self) -> Option<Instant> {
        self.banner.wakes_at()
    }

    /// Returns where what is not for this terminal goes.
    pub(crate) fn screen(&mut self) -> &mut Screen {
        self.pen.screen()
    }
}

/// What is told.
impl Console<'_> {
    /// Tells something of ours, unless a question stands there.
    pub(crate) fn tell(&mut self, lines: Vec<Line>) {
        // SECURITY: nothing pushes a question away, or stands between it and its answer.
        match self.banner.is_asking() {
            true => lines.into_iter().for_each(|line| self.held.push(HeldLine::Ours(line))),
            false => self.pen.print(&lines),
        }
    }

    /// Tells lines of a stranger's, unless a question stands there.
    pub(crate) fn tell_strangers(&mut self, lines: Vec<Line>) {
        if lines.is_empty() {
            return;
        }
        // SECURITY: nothing of a stranger's stands between a question and its answer.
        match self.banner.is_asking() {
            true => lines.into_iter().for_each(|line| self.held.push(HeldLine::Strangers(line))),
            false => self.pen.print_strangers(&lines),
        }
    }

    /// Tells the person what is going on.
    pub(crate) fn notice(&mut self, text: &str) {
        let lines = message_lines("ironcurtain: ", text);
        self.tell(lines.iter().map(|line| Line::plain(line)).collect());
    }

    /// Says something at once.
    pub(crate) fn say(&mut self, tone: Tone, text: &str) {
        self.pen.say(tone, text);
    }

    /// Shows what has waited for a question to be answered.
    pub(crate) fn settle(&mut self) {
        if self.banner.is_asking() || self.held.is_empty() {
            return;
        }
        let (held, said) = self.held.take();
        for line in held {
            match line {
                HeldLine::Ours(line) => self.pen.print(&[line]),
                HeldLine::Strangers(line) => self.pen.print_strangers(&[line]),
            }
        }
        if let Some(said) = said {
            self.notice(&said);
        }
    }

    /// Draws the region, and calls for attention if there is a new question in it.
    pub(crate) fn draw(&mut self, questions: &dyn Asking, below: &Below<'_>) {
        if self.pen.take_printed() {
            self.banner.disturbed();
        }
        let (size, fits) = self.pen.new_size();
        self.pen.room = self.room(size, fits, below);
        self.with(questions, Banner::fit);
        self.call_attention();
        let frame = self.region(size, below);
        self.pen.show(size, frame);
        self.banner.drawn();
    }

    fn call_attention(&mut self) {
        let standing = self.banner.standing();
        let id = standing.map(|it| it.request().escalation.clone());
        if id == self.rung {
            return;
        }
        match standing {
            Some(standing) => {
                raw::title(Some(&format!("ironcurtain: #{} waits for you", standing.number())));
                self.pen.signal(BELL);
            }
            None => raw::title(None),
        }
        self.rung = id;
    }

    /// Lays out the region for a screen of that size.
    fn region(&self, size: Size, below: &Below<'_>) -> Frame {
        let mut above = Vec::new();
        match (self.banner.asked(), &below.status) {
            (Some(asked), _) => {
                above.extend(self.banner.rows().iter().map(Row::to_line));
                above.extend(
                    self.banner.hint().map(|hint| Line::new(Ink::Quiet, &format!("({hint})"))),
                );
                // With something typed no letter is an answer, so nothing has to be waited for.
                let is_typing = below.editor.is_some_and(|editor| !editor.is_empty());
                let asked = if is_typing { self.banner.prompt() } else { asked };
                above.extend(asked_rows(&asked, size));
            }
            (None, Some(status)) => above.push(Line::new(Ink::Quiet, status)),
            (None, None) => {}
        }
        if let Some(editor) = below.editor {
            return typed(editor, size).below(above);
        }
        let width = above.last().map_or(0, Line::width).min(size.columns.saturating_sub(1));
        Frame { cursor: (above.len().saturating_sub(1), width), rows: above }
    }

    /// Returns how much room a question has beside the rest of the region.
    ///
    /// SECURITY: the region never grows beyond the screen, so what has room here stands on the screen.
    fn room(&self, size: Size, fits: bool, below: &Below<'_>) -> Room {
        let prompts = self.banner.longest_prompts();
        let n_asked = prompts.iter().map(|asked| asked_rows(asked, size).len());
        let n_typed = below.editor.map_or(0, |editor| typed(editor, size).rows.len());
        let n_others = 1 + ROWS_HINT + n_asked.max().unwrap_or(0) + n_typed;
        let rows = if fits { size.rows.saturating_sub(n_others) } else { 0 };
        Room { columns: Some(size.columns), rows }
    }
}

/// What is typed.
impl Console<'_> {
    /// Takes what was read; `None` if the terminal has gone, and with it the person who sat there.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Option<Piece> {
        if bytes.is_empty() {
            return None;
        }
        if self.pen.new_size().0 != self.pen.size() {
            // SECURITY: it was read before the window was drawn anew.
            self.banner.disturbed();
        }
        let piece = self.decoder.read(bytes);
        self.escape_at = self.decoder.is_waiting().then(|| Instant::now() + ESCAPE_WAIT);
        self.banner.arrives(if piece.is_alone { Arrival::Alone } else { Arrival::Mixed });
        Some(piece)
    }

    /// Takes an Escape for a key that nothing followed.
    pub(crate) fn on_escape_alone(&mut self) -> Option<Key> {
        self.escape_at = None;
        self.banner.arrives(Arrival::Mixed);
        self.decoder.give_up()
    }

    /// Takes a key as an answer, or as an attempt at one; says whether it did.
    pub(crate) fn is_answer(&mut self, key: &Key, is_alone: bool, questions: &dyn Asking) -> bool {
        let Some(word) = self.banner.word_of(key, is_alone) else { return false };
        self.with(questions, |banner, place| banner.typed(&word, place));
        true
    }
}

/// Waits for a moment, if there is one.
pub(crate) async fn moment(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Lays out what is typed.
fn typed(editor: &Editor, size: Size) -> Frame {
    let room = (size.rows / 2).max(1);
    Frame::of(editor, &Span::new(Ink::Strong, PROMPT), size.columns).within(room)
}

fn asked_rows(asked: &str, size: Size) -> Vec<Line> {
    Line::new(Ink::Question, asked).fold(size.columns, &Span::new(Ink::Plain, "  "))
}
