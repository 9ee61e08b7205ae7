//! An agent's own interface on the terminals that come and go, with a row of ours below it.
//!
//! ```text
//! agent ─Link─▶ Screen (a model) ─Frame─▶ Viewer, with its Painter ─▶ a terminal
//! keyboard ─Input─▶ keys, pastes, mouse ─Link─▶ agent
//!                ├▶ Control-] ─▶ the question, over the whole screen, with the one dialog of the product
//!                └▶ Control-\, then d ─▶ the terminal is let go, and the agent goes on
//! ```
//!
//! No byte of the agent's reaches a terminal as such (decision 50). While a question stands there nothing
//! that is typed reaches the agent, and nothing of the agent is drawn. Without a terminal the model goes on,
//! so that the next one shows what stands there (decision 62).

mod deciding;
mod drawing;
mod recording;
mod seats;
mod typing;
mod viewer;

use std::time::Duration;

use ic_escalation::{Pending, Sent};
use ic_screen::{Dropped, Input, Ring, Screen as Model, Size};
use ic_session::{Event, Link, News, Questions, Seat, SessionError, Shown, TerminalSize, ToAgent};
use ic_terminal::Decoder;
use ic_types::EscalationId;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::deciding::Over;
use self::drawing::Drawing;
pub(crate) use self::recording::{Recording, create as create_recording};
use self::seats::{Seated, Seats};
use super::banner::{Banner, Place};
use super::console::{BELL, moment};
use super::paint::Tone;
use crate::attached::{Door, Line, Visitor};
use crate::error::Failure;
use crate::own_policy::always::Always;
use crate::signals::Signals;

/// How long what is said stands in the row.
const SAID_FOR: Duration = Duration::from_secs(6);
/// How much of the agent is taken in before the keyboard is looked at again.
const FEED_BYTES_MAX: usize = 4 << 10;
/// How many notices are kept for the end.
const NOTICES_MAX: usize = 100;
/// The rows that are ours.
const ROWS_KEPT: usize = 1;

/// The terminals on which an agent's interface is drawn.
pub(crate) struct AgentScreen<'a> {
    seats: Seats,
    questions: &'a Questions,
    events: broadcast::Receiver<Event>,
    link: Link,
    model: Model,
    input: Input,
    ring: Ring,
    /// Who is told what the person sent.
    sent: Box<dyn Fn(Sent) + 'a>,
    /// What the agent wrote that is not in the model yet.
    unfed: Vec<u8>,
    banner: Banner,
    decoder: Decoder,
    escape_at: Option<Instant>,
    /// How large the whole terminal is, or was while there was one.
    size: Size,
    start: Instant,
    drawing: Drawing,
    /// What waits, as it was when something was heard of last.
    waiting: Vec<Pending>,
    rung: Option<EscalationId>,
    is_deciding: bool,
    /// Whether the question was drawn and the terminal has not taken all of it yet.
    is_question_on_its_way: bool,
    /// What stands in the row if nothing waits and nothing is said.
    usual: String,
    said: Option<(String, Instant)>,
    notices: Vec<String>,
    recording: Option<Recording<'a>>,
    cut: CancellationToken,
    was_signalled: bool,
}

/// What an agent's interface is shown with.
pub(crate) struct Framing<'a> {
    pub(crate) news: &'a News,
    pub(crate) questions: &'a Questions,
    pub(crate) always: Always,
    /// What stands in the row below if nothing waits.
    pub(crate) usual: String,
    /// What the agent's screen is recorded in, if it is.
    pub(crate) recording: Option<Recording<'a>>,
    /// Who is told what the person sent.
    pub(crate) sent: Box<dyn Fn(Sent) + 'a>,
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
    /// What the person is told more through, if a terminal was there at the end.
    pub(crate) line: Option<Line>,
}

/// Something that happened.
enum Happening {
    Signalled,
    Seated(Seated),
    InputWaited,
    EscapeAlone,
    Event(Result<Event, RecvError>),
    Output(Option<Vec<u8>>),
    Fed,
    Wake,
    Draw,
    Ended(Result<Shown, SessionError>),
}

impl<'a> AgentScreen<'a> {
    /// Shows the interface at the first terminal, and at those that come through the door.
    pub(crate) fn open(
        (first, door, seat): (Visitor, Door, Seat),
        framing: Framing<'a>,
        link: Link,
    ) -> Result<Self, Failure> {
        let mut seats = Seats::new(door, seat);
        seats.take_in(first);
        let first = seats.attached.as_ref();
        let gone = || Failure::environment("the terminal has gone");
        let size = first.map(viewer::Viewer::size).ok_or_else(gone)?;
        let mut banner = Banner::new();
        let Framing { news, questions, always, usual, recording, sent } = framing;
        banner.offer_always(Some(always));
        Ok(Self {
            seats,
            questions,
            events: news.subscribe(),
            link,
            model: Model::new(inner(size)),
            input: Input::default(),
            ring: Ring::default(),
            sent,
            unfed: Vec::new(),
            banner,
            decoder: Decoder::default(),
            escape_at: None,
            size,
            start: Instant::now(),
            drawing: Drawing::default(),
            waiting: Vec::new(),
            rung: None,
            is_deciding: false,
            is_question_on_its_way: false,
            usual,
            said: None,
            notices: Vec::new(),
            recording,
            cut: CancellationToken::new(),
            was_signalled: false,
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
    ) -> (Result<Shown, SessionError>, Seen) {
        self.cut = cut;
        let mut work = std::pin::pin!(work);
        let ended = loop {
            self.draw_in_time();
            let happening = self.next(work.as_mut(), signals).await;
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
        let Self { model, mut notices, was_signalled, mut seats, recording, .. } = self;
        if let Some(mut recording) = recording {
            recording.draw(&model);
            notices.extend(recording.fault());
        }
        if let Some(viewer) = &mut seats.attached {
            viewer.title(0);
        }
        let line = seats.end();
        let rows = (0..model.size().rows).map(|row| model.text(row));
        let last = rows.filter(|row| !row.trim().is_empty()).collect();
        (ended, Seen { dropped: model.dropped(), last, notices, was_signalled, line })
    }

    async fn next(
        &mut self,
        work: std::pin::Pin<&mut impl Future<Output = Result<Shown, SessionError>>>,
        signals: &mut Signals,
    ) -> Happening {
        let input_at = self.input.waits_until().map(|at| self.start + at);
        let wakes_at = self.banner.wakes_at().filter(|_| self.is_deciding);
        let draw_at = self.draw_at();
        let is_fed = self.unfed.is_empty();
        tokio::select! {
            biased;
            () = signals.any() => Happening::Signalled,
            seated = self.seats.next() => Happening::Seated(seated),
            () = moment(input_at) => Happening::InputWaited,
            () = moment(self.escape_at) => Happening::EscapeAlone,
            event = self.events.recv() => Happening::Event(event),
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
            Happening::Seated(seated) => self.on_seated(seated),
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
            self.send_to_person(BELL);
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
        if let Some(viewer) = &mut self.seats.attached {
            viewer.title(self.waiting.len());
        }
        let last = self.waiting.last().map(|it| it.request().escalation.clone());
        if last.is_some() && last != self.rung {
            self.send_to_person(BELL);
            self.rung = last;
        }
        self.with_banner(Banner::recheck);
        self.leave_question_if_answered();
        self.drawing.is_due = true;
    }

    fn send_to_person(&mut self, text: &str) {
        if let Some(viewer) = &mut self.seats.attached {
            viewer.send(text);
        }
    }

    /// Says something in the row for a while.
    fn say(&mut self, text: &str) {
        self.said = Some((text.to_owned(), Instant::now() + SAID_FOR));
        self.drawing.is_due = true;
    }

    fn with_banner(&mut self, act: impl FnOnce(&mut Banner, &mut Place<'_>)) {
        let mut stage = Over::of(self.seats.attached.as_ref(), self.size, &self.banner);
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

/// Returns how large the agent's part of a terminal is.
fn inner(size: Size) -> Size {
    Size::new(size.rows.saturating_sub(ROWS_KEPT), size.columns)
}

fn to_system(size: Size) -> TerminalSize {
    let side = |side: usize| u16::try_from(side).unwrap_or(u16::MAX);
    TerminalSize { rows: side(size.rows), columns: side(size.columns) }
}
