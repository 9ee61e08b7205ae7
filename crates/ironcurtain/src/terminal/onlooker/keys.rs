//! Looking on at a terminal that gives keys: what goes on in a row that moves, the model's text as it
//! comes, and questions in the one dialog.

use ic_session::{Event, Questions};
use ic_terminal::{Key, Line, Piece};
use ic_types::EscalationId;
use rustix::process::{Signal as Raised, getpid, kill_process};
use tokio::time::Instant;

use super::watch::Front;
use crate::error::Failure;
use crate::own_policy::always::Always;
use crate::screen::Screen;
use crate::terminal::banner::{Banner, Place};
use crate::terminal::console::{Below, Console, moment};
use crate::terminal::paint::{Paint, Tone};
use crate::terminal::telling;
use crate::terminal::tty::Tty;
use crate::terminal::turn::{FRAME, Progress, Text};

/// A terminal that gives keys.
pub(crate) struct KeyFront<'a> {
    console: Console<'a>,
    progress: Progress,
    text: Text,
    has_shown_answer: bool,
    /// Whether somebody sits there still.
    is_attended: bool,
    is_ending: bool,
}

/// What is read at it.
pub(crate) enum Heard {
    Bytes(Vec<u8>),
    EscapeAlone,
    /// It is time to draw what moves.
    Frame,
}

impl<'a> KeyFront<'a> {
    /// Takes the terminal.
    pub(super) fn new(
        terminal: Tty,
        paint: Paint,
        (between, always): (&'static str, Always),
        screen: &'a mut Screen,
    ) -> Result<Self, Failure> {
        let mut console = Console::take(terminal, paint, screen)?;
        console.offer_always(Some(always));
        Ok(Self {
            console,
            progress: Progress::new(between),
            text: Text::default(),
            has_shown_answer: false,
            is_attended: true,
            is_ending: false,
        })
    }

    /// Returns whether the answer was shown.
    pub(super) fn has_shown_answer(&self) -> bool {
        self.has_shown_answer
    }

    fn moves(&self) -> bool {
        self.console.paint == Paint::Colours
    }

    fn below(&self) -> Below<'static> {
        let status = self.progress.status(self.moves(), self.is_ending, 0);
        Below { status: Some(status), editor: None }
    }

    fn on_bytes(&mut self, bytes: &[u8], questions: &Questions) {
        let Some(Piece { keys, is_alone }) = self.console.read(bytes) else {
            self.is_attended = false;
            self.console.terminal.leave_seat();
            let note = "The terminal is gone; requests can still be answered elsewhere.";
            return self.console.say(Tone::Quiet, note);
        };
        for key in &keys {
            match key {
                // As at a terminal that has not been taken.
                Key::Ctrl('c') => {
                    kill_process(getpid(), Raised::INT).ok();
                }
                Key::Ctrl('z') => self.console.suspend(),
                Key::Ctrl('l') => self.console.clear(),
                key => {
                    self.console.is_answer(key, is_alone, questions);
                }
            }
        }
    }
}

impl Front for KeyFront<'_> {
    type Heard = Heard;

    fn refresh(&mut self, questions: &Questions) {
        self.console.settle();
        let below = self.below();
        self.console.draw(questions, &below);
    }

    fn is_asking(&self) -> bool {
        self.console.is_asking()
    }

    fn wakes_at(&self) -> Option<Instant> {
        self.console.wakes_at()
    }

    fn with_banner(
        &mut self,
        questions: &Questions,
        act: impl FnOnce(&mut Banner, &mut Place<'_>),
    ) {
        self.console.with(questions, act);
    }

    fn raised(&mut self, _: EscalationId, questions: &Questions) {
        self.recheck(questions);
    }

    fn recheck(&mut self, questions: &Questions) {
        self.with_banner(questions, Banner::recheck);
    }

    fn tell(&mut self, event: Event) {
        match event {
            Event::Calling(call) => self.progress.call = Some(call),
            Event::Called(call) => {
                self.progress.call = None;
                self.console.tell(telling::call(&call).to_lines());
            }
            Event::Notice(text) => self.console.notice(&text),
            Event::Diagnostic(diagnostic) => {
                if let ic_agent::Diagnostic::ToolCall { .. } = diagnostic {
                    let rest = self.text.end();
                    self.console.tell_strangers(rest);
                }
                if let Some(notice) = telling::diagnostic(&diagnostic) {
                    self.console.notice(&notice);
                }
            }
            Event::Text(delta) => {
                let lines = self.text.take(&delta);
                self.console.tell_strangers(lines);
            }
            Event::Answer(answer) => {
                let lines = self.text.answer(&answer);
                self.console.tell_strangers(lines);
                self.has_shown_answer = true;
            }
            Event::EscalationRaised(_)
            | Event::EscalationResolved(..)
            | Event::EscalationExpired(_)
            | Event::Status(_)
            | Event::Budget(_) => {}
        }
    }

    fn print(&mut self, text: &str) -> Result<(), Failure> {
        self.console.tell_strangers(text.lines().map(Line::plain).collect());
        Ok(())
    }

    fn interrupted(&mut self) {
        self.is_ending = true;
        let note = "Cancelled; ending what runs. Ctrl-C once more leaves it at once.";
        self.console.say(Tone::Quiet, note);
    }

    fn on_continued(&mut self) {
        let below = self.below();
        self.console.on_continued(&below);
    }

    async fn heard(&mut self) -> Heard {
        let frame_at = self.moves().then(|| Instant::now() + FRAME);
        let escape_at = self.console.escape_at();
        tokio::select! {
            biased;
            bytes = self.console.bytes(), if self.is_attended => Heard::Bytes(bytes),
            () = moment(escape_at) => Heard::EscapeAlone,
            () = moment(frame_at) => Heard::Frame,
        }
    }

    fn on_heard(&mut self, heard: Heard, questions: &Questions) {
        match heard {
            Heard::Bytes(bytes) => self.on_bytes(&bytes, questions),
            Heard::EscapeAlone => {
                self.console.on_escape_alone();
            }
            Heard::Frame => self.progress.spin(),
        }
    }

    fn release(&mut self, questions: &Questions) {
        // Nobody waits for an answer any more.
        self.recheck(questions);
    }

    fn leave(&mut self) {
        let rest = self.text.end();
        self.console.tell_strangers(rest);
        self.console.settle();
        self.console.leave();
    }

    fn screen(&mut self) -> &mut Screen {
        self.console.screen()
    }
}
