//! An agent's own interface on the person's terminal, with a row of ours below it.
//!
//! ```text
//! agent ─Link─▶ Screen (a model) ─Frame─▶ Painter ─▶ the terminal
//! keyboard ─Input─▶ keys, pastes, mouse ─Link─▶ agent
//!                └▶ Control-] ─▶ the question, over the whole screen, with the one dialog of the product
//! ```
//!
//! No byte of the agent's reaches the terminal as such (decision 50). While a question stands there nothing
//! that is typed reaches the agent, and nothing of the agent is drawn.

mod deciding;
mod typing;

use std::os::fd::OwnedFd;
use std::time::Duration;

use ic_escalation::{Pending, display};
use ic_screen::screen::Known;
use ic_screen::{Bar, Dropped, Frame, Input, Painter, Ring, Screen as Model, Size};
use ic_session::{Event, Link, News, Questions, SessionError, Shown, TerminalSize, ToAgent};
use ic_terminal::Decoder;
use ic_types::EscalationId;
use rustix::termios::tcgetwinsize;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::deciding::Over;
use super::banner::{Banner, Place};
use super::console::{BELL, moment};
use super::full::title;
use super::paint::Tone;
use super::raw::{self, RawMode};
use super::tty::Tty;
use crate::error::Failure;
use crate::own_policy::always::Always;
use crate::screen::Screen;
use crate::signals::Signals;

/// How long what is said stands in the row.
const SAID_FOR: Duration = Duration::from_secs(6);
/// How soon after a drawing the next one comes, while the agent goes on writing.
const DRAW_EVERY: Duration = Duration::from_millis(8);
/// How long an agent may ask not to be drawn.
const HELD_MAX: Duration = Duration::from_millis(150);
/// How much of the agent is taken in before the keyboard is looked at again.
const FEED_BYTES_MAX: usize = 4 << 10;
/// How many notices are kept for the end.
const NOTICES_MAX: usize = 100;
/// How large a terminal is taken to be that does not say so.
const SIZE_USUAL: Size = Size { rows: 24, columns: 80 };
/// The rows that are ours.
const ROWS_KEPT: usize = 1;

/// A terminal on which an agent's interface is drawn.
pub(crate) struct AgentScreen<'a> {
    terminal: Tty,
    handle: OwnedFd,
    raw: Option<RawMode>,
    screen: &'a mut Screen,
    questions: &'a Questions,
    events: broadcast::Receiver<Event>,
    link: Link,
    model: Model,
    painter: Painter,
    input: Input,
    ring: Ring,
    /// What the agent wrote that is not in the model yet.
    unfed: Vec<u8>,
    banner: Banner,
    decoder: Decoder,
    escape_at: Option<Instant>,
    /// How large the whole terminal is.
    size: Size,
    start: Instant,
    drawing: Drawing,
    /// What waits, as it was when something was heard of last.
    waiting: Vec<Pending>,
    rung: Option<EscalationId>,
    is_deciding: bool,
    /// What stands in the row if nothing waits and nothing is said.
    usual: String,
    said: Option<(String, Instant)>,
    notices: Vec<String>,
    cut: CancellationToken,
    was_signalled: bool,
    /// Whether the terminal has gone.
    is_gone: bool,
}

/// When it is drawn.
#[derive(Debug, Default)]
struct Drawing {
    is_due: bool,
    last: Option<Instant>,
    /// Since when the agent asks not to be drawn.
    held_since: Option<Instant>,
}

/// What an agent's interface is shown with.
pub(crate) struct Framing<'a> {
    pub(crate) news: &'a News,
    pub(crate) questions: &'a Questions,
    pub(crate) always: Always,
    /// What stands in the row below if nothing waits.
    pub(crate) usual: String,
}

/// What was seen of an agent's interface.
#[derive(Debug)]
pub(crate) struct Seen {
    /// What the agent tried that its screen does not understand.
    pub(crate) dropped: Dropped,
    /// What stood on its screen last.
    pub(crate) last: Vec<String>,
    /// What was told meanwhile.
    pub(crate) notices: Vec<String>,
    /// Whether somebody asked this program to end.
    pub(crate) was_signalled: bool,
}

/// Something that happened.
enum Happening {
    Signalled,
    Bytes(Vec<u8>),
    InputWaited,
    EscapeAlone,
    Event(Result<Event, RecvError>),
    Output(Option<Vec<u8>>),
    Fed,
    Wake,
    Resized,
    Continued,
    Draw,
    Ended(Result<Shown, SessionError>),
}

impl<'a> AgentScreen<'a> {
    /// Takes the terminal.
    pub(crate) fn take(
        terminal: Tty,
        framing: Framing<'a>,
        link: Link,
        screen: &'a mut Screen,
    ) -> Result<Self, Failure> {
        let unusable = |source| Failure::environment("cannot use the terminal").with_source(source);
        let handle = terminal.handle().map_err(unusable)?;
        let raw = RawMode::enter(&handle).map_err(unusable)?;
        raw::agents_screen();
        let size = size_of(&handle);
        let mut banner = Banner::new();
        let Framing { news, questions, always, usual } = framing;
        banner.offer_always(Some(always));
        Ok(Self {
            terminal,
            handle,
            raw: Some(raw),
            screen,
            questions,
            events: news.subscribe(),
            link,
            model: Model::new(inner(size)),
            painter: Painter::default(),
            input: Input::default(),
            ring: Ring::default(),
            unfed: Vec::new(),
            banner,
            decoder: Decoder::default(),
            escape_at: None,
            size,
            start: Instant::now(),
            drawing: Drawing { is_due: true, ..Drawing::default() },
            waiting: Vec::new(),
            rung: None,
            is_deciding: false,
            usual,
            said: None,
            notices: Vec::new(),
            cut: CancellationToken::new(),
            was_signalled: false,
            is_gone: false,
        })
    }

    /// Returns how large the agent's terminal is.
    pub(crate) fn agent_size(&self) -> TerminalSize {
        to_system(inner(self.size))
    }

    /// Draws the interface until `work`, which runs the agent, is done; whoever leaves cancels `cut`.
    pub(crate) async fn watch(
        mut self,
        work: impl Future<Output = Result<Shown, SessionError>>,
        signals: &mut Signals,
        cut: CancellationToken,
    ) -> Result<(Result<Shown, SessionError>, Seen), Failure> {
        self.cut = cut;
        let listen = |kind| {
            signal(kind).map_err(|source| {
                Failure::environment("cannot wait for signals").with_source(source)
            })
        };
        let mut resized = listen(SignalKind::window_change())?;
        let mut continued = listen(SignalKind::from_raw(signal_hook::consts::SIGCONT))?;
        let mut work = std::pin::pin!(work);
        let ended = loop {
            self.draw_in_time();
            let happening = self.next(work.as_mut(), signals, (&mut resized, &mut continued)).await;
            match happening {
                Happening::Ended(ended) => break ended,
                other => self.on(other),
            }
        };
        while let Ok(event) = self.events.try_recv() {
            self.on_event(event);
        }
        // What it said last may say why it ended.
        self.model.feed(&std::mem::take(&mut self.unfed));
        while let Ok(bytes) = self.link.output.try_recv() {
            self.model.feed(&bytes);
        }
        title(0);
        self.raw = None;
        let Self { model, notices, was_signalled, .. } = self;
        let rows = (0..model.size().rows).map(|row| model.text(row));
        let last = rows.filter(|row| !row.trim().is_empty()).collect();
        Ok((ended, Seen { dropped: model.dropped(), last, notices, was_signalled }))
    }

    async fn next(
        &mut self,
        work: std::pin::Pin<&mut impl Future<Output = Result<Shown, SessionError>>>,
        signals: &mut Signals,
        (resized, continued): (&mut Signal, &mut Signal),
    ) -> Happening {
        let input_at = self.input.waits_until().map(|at| self.start + at);
        let wakes_at = self.banner.wakes_at().filter(|_| self.is_deciding);
        let draw_at = self.draw_at();
        let is_fed = self.unfed.is_empty();
        tokio::select! {
            biased;
            () = signals.any() => Happening::Signalled,
            bytes = self.terminal.bytes(), if !self.is_gone => Happening::Bytes(bytes),
            () = moment(input_at) => Happening::InputWaited,
            () = moment(self.escape_at) => Happening::EscapeAlone,
            event = self.events.recv() => Happening::Event(event),
            _ = resized.recv() => Happening::Resized,
            _ = continued.recv() => Happening::Continued,
            () = moment(wakes_at) => Happening::Wake,
            () = moment(draw_at) => Happening::Draw,
            // Whoever serves the agent gets its turn in between.
            () = tokio::task::yield_now(), if !is_fed => Happening::Fed,
            output = self.link.output.recv(), if is_fed && !self.link.output.is_closed() => Happening::Output(output),
            ended = work => Happening::Ended(ended),
        }
    }

    fn on(&mut self, happening: Happening) {
        match happening {
            Happening::Signalled => {
                self.was_signalled = true;
                self.cut.cancel();
            }
            Happening::Bytes(bytes) if bytes.is_empty() => {
                // The terminal has gone, and with it the person. Its end can be read for ever, so it is not any more.
                self.is_gone = true;
                self.terminal.leave_seat();
                self.was_signalled = true;
                self.cut.cancel();
            }
            Happening::Bytes(bytes) if self.is_deciding => self.on_answer(&bytes),
            Happening::Bytes(bytes) => self.on_typed(&bytes),
            Happening::InputWaited => {
                let pieces = self.input.wait(self.start.elapsed());
                self.on_pieces(pieces);
            }
            Happening::EscapeAlone => self.on_escape_alone(),
            Happening::Event(Ok(event)) => self.on_event(event),
            Happening::Event(Err(RecvError::Lagged(_))) => self.look(),
            Happening::Output(Some(bytes)) => self.unfed = bytes,
            // Its end is heard of by itself.
            Happening::Output(None) => self.link.output.close(),
            Happening::Fed => self.feed(),
            Happening::Wake => self.with_banner(Banner::wake),
            Happening::Resized => self.drawing.is_due = true,
            Happening::Continued => {
                if self.raw.is_some() {
                    // A terminal that cannot be taken again is one that cannot be read either.
                    RawMode::again(&self.handle).ok();
                    raw::agents_screen();
                }
                self.painter.forget();
                self.banner.disturbed();
                self.drawing.is_due = true;
            }
            Happening::Draw => {
                self.model.release();
                self.drawing.held_since = None;
                self.draw();
            }
            // Its end is heard of by itself, and whoever tells is held by the session.
            Happening::Ended(_) | Happening::Event(Err(RecvError::Closed)) => {}
        }
    }

    /// Takes in some of what the agent wrote.
    fn feed(&mut self) {
        let rest = self.unfed.split_off(self.unfed.len().min(FEED_BYTES_MAX));
        self.model.feed(&self.unfed);
        self.unfed = rest;
        let answers = self.model.take_answers();
        if !answers.is_empty() {
            self.send(answers);
        }
        if self.model.take_bell() && !self.is_deciding {
            self.screen.send(BELL);
        }
        self.drawing.held_since = match (self.model.is_held(), self.drawing.held_since) {
            (true, before) => before.or_else(|| Some(Instant::now())),
            (false, _) => None,
        };
        // Nothing of it is drawn while a question stands there.
        self.drawing.is_due |= !self.is_deciding;
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::EscalationRaised(_) => self.look(),
            Event::EscalationResolved(id, ending) => {
                let how = super::telling::ending(ending);
                self.with_banner(|banner, place| banner.ended(&id, how, place));
                self.look();
            }
            Event::EscalationExpired(id) => {
                let how = super::telling::EXPIRED;
                self.with_banner(|banner, place| banner.ended(&id, how, place));
                self.look();
            }
            Event::Notice(text) => {
                self.say(&text);
                if self.notices.len() < NOTICES_MAX {
                    self.notices.push(text);
                }
            }
            // What the agent does is seen on its own screen.
            Event::Status(_)
            | Event::Text(_)
            | Event::Diagnostic(_)
            | Event::Calling(_)
            | Event::Called(_)
            | Event::Answer(_)
            | Event::Budget(_) => {}
        }
    }

    /// Looks at what waits, and calls the person if there is something new.
    fn look(&mut self) {
        self.waiting = self.questions.pending();
        title(self.waiting.len());
        let last = self.waiting.last().map(|it| it.request().escalation.clone());
        if last.is_some() && last != self.rung {
            self.screen.send(BELL);
            self.rung = last;
        }
        self.with_banner(Banner::recheck);
        self.leave_question_if_answered();
        self.drawing.is_due = true;
    }

    /// Says something in the row for a while.
    fn say(&mut self, text: &str) {
        self.said = Some((text.to_owned(), Instant::now() + SAID_FOR));
        self.drawing.is_due = true;
    }

    fn with_banner(&mut self, act: impl FnOnce(&mut Banner, &mut Place<'_>)) {
        let mut stage = Over::of(&self.handle, self.size, &self.banner);
        act(&mut self.banner, &mut Place { questions: self.questions, stage: &mut stage });
        let said = stage.said;
        let worst = said.iter().find(|(tone, _)| *tone == Tone::Bad).or(said.last());
        if let Some((_, text)) = worst {
            self.say(text);
        }
        self.drawing.is_due = true;
    }

    /// Sends something to the agent; what it does not read is dropped.
    fn send(&mut self, bytes: Vec<u8>) {
        if self.link.input.try_send(ToAgent::Typed(bytes)).is_err() {
            self.say("The agent does not read what you type; it was dropped.");
        }
    }
}

/// What is drawn, and when.
impl AgentScreen<'_> {
    /// Returns when something is drawn with nothing happening before.
    fn draw_at(&self) -> Option<Instant> {
        let said_until = self.said.as_ref().map(|(_, until)| *until);
        if !self.drawing.is_due {
            return said_until;
        }
        let next = self.drawing.last.map_or(self.start, |last| last + DRAW_EVERY);
        Some(self.drawing.held_since.map_or(next, |since| next.max(since + HELD_MAX)))
    }

    /// Draws if it is time; a question is drawn at once, whatever happened.
    fn draw_in_time(&mut self) {
        let is_held = self.model.is_held() && !self.is_deciding;
        let is_early =
            self.drawing.last.is_some_and(|last| last.elapsed() < DRAW_EVERY) && !self.is_deciding;
        if self.drawing.is_due && !is_held && !is_early {
            self.draw();
        }
    }

    fn draw(&mut self) {
        self.fit();
        if self.said.as_ref().is_some_and(|(_, until)| *until <= Instant::now()) {
            self.said = None;
        }
        let frame = if self.is_deciding {
            self.question()
        } else {
            // SECURITY: what is not on the screen is not answered; it is drawn again when it is seen again.
            self.banner.disturbed();
            self.interface()
        };
        let sent = self.painter.paint(frame);
        if !sent.is_empty() {
            self.screen.send(&sent);
        }
        if self.is_deciding {
            self.banner.drawn();
        }
        (self.drawing.is_due, self.drawing.last) = (false, Some(Instant::now()));
    }

    /// Takes note of the size of the terminal.
    fn fit(&mut self) {
        let size = size_of(&self.handle);
        if size == self.size {
            return;
        }
        self.size = size;
        self.model.resize(inner(size));
        // What a terminal makes of rows that no longer fit is anybody's guess.
        self.painter.forget();
        let resized = ToAgent::Resized(self.agent_size());
        if self.link.input.try_send(resized).is_err() {
            self.say("The agent does not read, so it does not know the new size of the window.");
        }
    }

    /// Draws the agent's screen, and the row below it.
    fn interface(&self) -> Frame {
        let mut frame = Frame::of(&self.model, self.size);
        let first = self.waiting.first().map(|it| display::summary(it.request()));
        let said = self.said.as_ref().map(|(text, _)| text.as_str());
        let n_waiting = self.waiting.len();
        let about = first.as_deref().or(said).unwrap_or(&self.usual);
        Bar { n_waiting, about }.put(&mut frame, self.size.rows - ROWS_KEPT);
        frame
    }

    /// Takes note of what the terminal says of itself.
    fn know(&mut self, known: Known) {
        self.painter.has_keyboard(known.has_keyboard);
        self.model.know(known);
    }
}

/// Returns how large a terminal is.
fn size_of(terminal: &OwnedFd) -> Size {
    match tcgetwinsize(terminal) {
        Ok(size) if 0 < size.ws_row && 0 < size.ws_col => {
            Size::new(size.ws_row.into(), size.ws_col.into())
        }
        Ok(_) | Err(_) => SIZE_USUAL,
    }
}

/// Returns how large the agent's part of a terminal is.
fn inner(size: Size) -> Size {
    Size::new(size.rows.saturating_sub(ROWS_KEPT), size.columns)
}

fn to_system(size: Size) -> TerminalSize {
    let side = |side: usize| u16::try_from(side).unwrap_or(u16::MAX);
    TerminalSize { rows: side(size.rows), columns: side(size.columns) }
}
