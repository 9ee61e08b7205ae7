//! Looking on in a pipe, or at a terminal that is read line by line.

use ic_agent::Diagnostic;
use ic_session::{CallNews, Event, Questions};
use ic_terminal::gate::Arrival;
use ic_types::{EscalationId, visible};
use tokio::time::Instant;

use super::watch::Front;
use crate::error::Failure;
use crate::own_policy::always::Always;
use crate::screen::Screen;
use crate::terminal::banner::{Banner, Place};
use crate::terminal::held::Held;
use crate::terminal::paint::{Paint, Tone};
use crate::terminal::stage::LineStage;
use crate::terminal::telling;
use crate::terminal::tty::{Tty, Typed};

/// Standard error, and a terminal if somebody is there.
pub(crate) struct LineFront<'a> {
    screen: &'a mut Screen,
    paint: Paint,
    /// Where answers are typed, if somebody is there.
    terminal: Option<Tty>,
    banner: Banner,
    /// What came while a question stands there.
    held: Held<Event>,
}

impl<'a> LineFront<'a> {
    /// Reads answers at `terminal`, if there is one.
    pub(super) fn new(terminal: Option<Tty>, paint: Paint, screen: &'a mut Screen) -> Self {
        Self { screen, paint, terminal, banner: Banner::new(), held: Held::new() }
    }

    /// Offers *always* at questions too.
    #[must_use]
    pub(super) fn offering(mut self, always: Always) -> Self {
        self.banner.offer_always(Some(always));
        self
    }

    /// Tells what has waited for a question to be answered.
    fn tell_held(&mut self) {
        let (held, said) = self.held.take();
        for event in held {
            self.tell_now(event);
        }
        if let Some(said) = said {
            self.screen.notice(&said);
        }
    }

    fn tell_now(&mut self, event: Event) {
        match event {
            Event::Called(call) => self.on_call(&call),
            Event::Notice(text) => self.screen.notice(&text),
            Event::Diagnostic(diagnostic) => self.on_diagnostic(&diagnostic),
            Event::EscalationRaised(_)
            | Event::EscalationResolved(..)
            | Event::EscalationExpired(_)
            | Event::Status(_)
            | Event::Text(_)
            | Event::Calling(_)
            | Event::Answer(_)
            | Event::Budget(_) => {}
        }
    }

    fn on_call(&mut self, call: &CallNews) {
        let telling::Told { tone, begin, what, why } = telling::call(call);
        let paint = self.paint;
        self.screen.progress(&format!("{begin} {what}"), |row| match row.strip_prefix(begin) {
            Some(rest) => format!("{}{rest}", paint.text(tone, begin)),
            None => row.to_owned(),
        });
        for why in why {
            self.screen.progress(&why, |row| paint.text(Tone::Quiet, row));
        }
    }

    fn on_diagnostic(&mut self, diagnostic: &Diagnostic) {
        if let Some(notice) = telling::diagnostic(diagnostic) {
            self.screen.notice(&notice);
        }
    }

    fn say(&mut self, tone: Tone, text: &str) {
        let paint = self.paint;
        self.screen.progress(&visible(text), |row| paint.text(tone, row));
    }
}

impl Front for LineFront<'_> {
    type Heard = Typed;

    fn refresh(&mut self, questions: &Questions) {
        if !self.banner.is_asking() && !self.held.is_empty() {
            self.tell_held();
        }
        self.with_banner(questions, Banner::fit);
        self.banner.drawn();
    }

    fn is_asking(&self) -> bool {
        self.banner.is_asking()
    }

    fn wakes_at(&self) -> Option<Instant> {
        self.banner.wakes_at()
    }

    fn with_banner(
        &mut self,
        questions: &Questions,
        act: impl FnOnce(&mut Banner, &mut Place<'_>),
    ) {
        let mut stage = LineStage {
            screen: &mut *self.screen,
            paint: self.paint,
            terminal: self.terminal.as_ref(),
        };
        act(&mut self.banner, &mut Place { questions, stage: &mut stage });
    }

    fn raised(&mut self, id: EscalationId, questions: &Questions) {
        if self.terminal.is_none() {
            let show = format!("`ironcurtain approvals show {id}` shows it");
            self.say(Tone::Question, &format!("A call is waiting for approval; {show}."));
            return;
        }
        self.with_banner(questions, |banner, place| banner.raised(id, place));
    }

    fn recheck(&mut self, questions: &Questions) {
        if self.terminal.is_some() {
            self.with_banner(questions, Banner::recheck);
        }
    }

    fn tell(&mut self, event: Event) {
        let is_told = matches!(event, Event::Called(_) | Event::Notice(_) | Event::Diagnostic(_));
        // SECURITY: nothing pushes a question away, or stands between it and its answer.
        match self.banner.is_asking() {
            true if is_told => self.held.push(event),
            true => {}
            false => self.tell_now(event),
        }
    }

    fn print(&mut self, text: &str) -> Result<(), Failure> {
        self.screen.script_text(text)
    }

    fn interrupted(&mut self) {
        self.banner.disturbed();
        self.say(Tone::Quiet, "Cancelled; ending what runs. Once more leaves it at once.");
    }

    fn on_continued(&mut self) {
        self.banner.disturbed();
    }

    async fn heard(&mut self) -> Typed {
        match &mut self.terminal {
            Some(terminal) => terminal.typed().await,
            // Without a terminal nothing is typed.
            None => std::future::pending().await,
        }
    }

    fn on_heard(&mut self, heard: Typed, questions: &Questions) {
        match heard {
            Typed::Line(line) => {
                self.banner.arrives(Arrival::Alone);
                self.with_banner(questions, |banner, place| banner.typed(&line, place));
            }
            Typed::Noise => self.banner.arrives_below(),
            Typed::End => {
                self.terminal = None;
                let note = "The terminal is gone; requests can still be answered elsewhere.";
                self.say(Tone::Quiet, note);
            }
        }
    }

    fn release(&mut self, _: &Questions) {
        self.tell_held();
    }

    fn leave(&mut self) {}

    fn screen(&mut self) -> &mut Screen {
        self.screen
    }
}
