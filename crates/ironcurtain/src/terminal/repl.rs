//! A conversation at a terminal: messages are typed and answered, questions asked, commands done.
//!
//! ```text
//! keys ─▶ Editor ─┬ message ─▶ queue ─▶ turn ─▶ answer ─┐
//!                 ├ command                              ├─▶ Pen (lines above, region below)
//!                 └ answer to a question ─▶ Banner       │
//! events of the session ─────────────────────────────────┘
//! ```
//!
//! One loop over one closed list of things that can happen; nothing in it waits for anything else, so
//! commands and questions work while a turn runs.

mod commands;
mod keys;
mod memory;
mod names;
mod pen;
mod region;
mod turn;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ic_agent::{Dimension, Snapshot, TurnError};
use ic_audit::Redactor;
use ic_session::{Event, News, Questions, Session, SessionError};
use ic_terminal::{Decoder, Editor, Ink, Line};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::memory::Memory;
use self::pen::Pen;
use self::turn::Turn;
use super::banner::{Banner, Place};
use super::held::Held;
use super::paint::{Paint, Tone};
use super::raw::RawMode;
use super::stage::Stage as _;
use super::telling;
use super::tty::Tty;
use crate::error::{Failure, chain};
use crate::own_policy::always::Always;
use crate::screen::Screen;
use crate::signals::Signals;

/// What stands before what is typed.
const PROMPT: &str = "> ";
/// How long an Escape waits for what may follow it.
const ESCAPE_WAIT: Duration = Duration::from_millis(50);
/// How long a picture of the spinner stands.
const FRAME: Duration = Duration::from_millis(120);

/// The session that a conversation is held with.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) session: &'a dyn Session,
    pub(crate) news: &'a News,
    pub(crate) questions: &'a Questions,
}

/// What a conversation at a terminal is given.
pub(crate) struct Setting {
    /// Where messages are kept.
    pub(crate) history: PathBuf,
    /// What keeps keys out of it.
    pub(crate) redactor: Arc<Redactor>,
    /// The directory that file names are completed in.
    pub(crate) sandbox: PathBuf,
    /// The person's own directory.
    pub(crate) home: Option<PathBuf>,
    /// The session's log, to be named.
    pub(crate) log: PathBuf,
    pub(crate) paint: Paint,
    /// What adds to the policy at a question.
    pub(crate) always: Option<Always>,
}

/// How a conversation ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Left {
    /// Whoever had it wants no more.
    Quit,
    /// Somebody asked this program to end.
    Signalled,
}

/// What was used in all turns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Total {
    pub(crate) tokens: u64,
    pub(crate) cost_billionths: u64,
}

/// A conversation at a terminal.
pub(crate) struct Repl<'a> {
    scene: Scene<'a>,
    setting: Setting,
    events: broadcast::Receiver<Event>,
    terminal: Tty,
    raw: Option<RawMode>,
    pen: Pen<'a>,
    decoder: Decoder,
    escape_at: Option<Instant>,
    editor: Editor,
    memory: Memory,
    banner: Banner,
    turn: Option<Turn<'a>>,
    queue: VecDeque<String>,
    /// What came while a question stands there.
    held: Held<HeldLine>,
    /// Whether Control-C was the last key, with nothing to be stopped.
    is_leaving: bool,
    /// Whether standard output is this terminal.
    shows_answers: bool,
    left: Option<Left>,
    total: Total,
    failure: Option<Failure>,
}

/// A line that waits for a question to be answered.
enum HeldLine {
    Ours(Line),
    Strangers(Line),
}

/// Something that happened.
enum Happening {
    Signalled,
    Bytes(Vec<u8>),
    EscapeAlone,
    Event(Result<Event, RecvError>),
    Wake,
    Resized,
    Continued,
    Frame,
    Answered(Result<String, SessionError>),
}

impl<'a> Repl<'a> {
    /// Takes the terminal.
    pub(crate) fn new(
        scene: Scene<'a>,
        mut setting: Setting,
        terminal: Tty,
        screen: &'a mut Screen,
    ) -> Result<Self, Failure> {
        let unusable = |source| Failure::environment("cannot use the terminal").with_source(source);
        let pen =
            Pen::new(terminal.handle().map_err(unusable)?, setting.paint == Paint::Colours, screen);
        let raw = RawMode::enter(&terminal.handle().map_err(unusable)?).map_err(unusable)?;
        let memory = Memory::read(setting.history.clone(), Arc::clone(&setting.redactor));
        let banner = Banner::new().offering(setting.always.take());
        Ok(Self {
            scene,
            setting,
            events: scene.news.subscribe(),
            terminal,
            raw: Some(raw),
            pen,
            decoder: Decoder::default(),
            escape_at: None,
            editor: Editor::default(),
            memory,
            banner,
            turn: None,
            queue: VecDeque::new(),
            held: Held::new(),
            is_leaving: false,
            shows_answers: super::tty::is_ours(std::io::stdout()),
            left: None,
            total: Total::default(),
            failure: None,
        })
    }

    /// Holds the conversation to its end, and gives the terminal back.
    pub(crate) async fn run(mut self, signals: &mut Signals) -> Result<(Left, Total), Failure> {
        let listen = |kind| {
            signal(kind).map_err(|source| {
                Failure::environment("cannot wait for signals").with_source(source)
            })
        };
        let mut resized = listen(SignalKind::window_change())?;
        let mut continued = listen(SignalKind::from_raw(signal_hook::consts::SIGCONT))?;
        self.pen.print(&[Line::new(Ink::Quiet, "Type a message; /help lists the commands.")]);
        while self.left.is_none() {
            self.settle();
            self.draw();
            let happening = self.next(signals, &mut resized, &mut continued).await;
            self.on(happening);
        }
        self.drop_queue();
        self.pen.leave();
        // A turn that still runs is cut: nobody waits for its answer.
        self.turn = None;
        self.raw = None;
        let left = self.left.unwrap_or(Left::Quit);
        self.failure.map_or(Ok((left, self.total)), Err)
    }

    async fn next(
        &mut self,
        signals: &mut Signals,
        resized: &mut Signal,
        continued: &mut Signal,
    ) -> Happening {
        let moves = self.setting.paint == Paint::Colours;
        let frame_at = self.turn.as_ref().filter(|_| moves).map(|_| Instant::now() + FRAME);
        tokio::select! {
            // What has happened is told before the answer to it.
            biased;
            () = signals.any() => Happening::Signalled,
            bytes = self.terminal.bytes() => Happening::Bytes(bytes),
            () = moment(self.escape_at) => Happening::EscapeAlone,
            event = self.events.recv() => Happening::Event(event),
            _ = resized.recv() => Happening::Resized,
            _ = continued.recv() => Happening::Continued,
            () = moment(self.banner.wakes_at()) => Happening::Wake,
            answered = answered(&mut self.turn) => Happening::Answered(answered),
            () = moment(frame_at) => Happening::Frame,
        }
    }

    fn on(&mut self, happening: Happening) {
        match happening {
            Happening::Signalled => self.left = Some(Left::Signalled),
            Happening::Bytes(bytes) => self.on_bytes(&bytes),
            Happening::EscapeAlone => self.on_escape_alone(),
            Happening::Event(Ok(event)) => self.on_event(event),
            Happening::Event(Err(RecvError::Lagged(n_events))) => {
                self.notice(&format!("{n_events} events came too fast to be shown"));
                self.with_banner(Banner::recheck);
            }
            // Whoever tells is held by the session.
            Happening::Event(Err(RecvError::Closed)) => self.left = Some(Left::Quit),
            Happening::Wake => self.with_banner(Banner::wake),
            // The next drawing sees the size.
            Happening::Resized => {}
            Happening::Continued => self.on_continued(),
            Happening::Frame => {
                if let Some(turn) = &mut self.turn {
                    turn.spin();
                }
            }
            Happening::Answered(ended) => self.on_answered(ended),
        }
    }

    /// Begins the next turn, and shows what waited for a question to be answered.
    fn settle(&mut self) {
        if !self.banner.is_asking() && !self.held.is_empty() {
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
        if self.turn.is_none()
            && let Some(message) = self.queue.pop_front()
        {
            let cancel = CancellationToken::new();
            let answering = self.scene.session.send_message(&message, cancel.clone());
            self.turn = Some(Turn::new(answering, cancel));
        }
    }

    fn draw(&mut self) {
        if self.pen.take_printed() {
            self.banner.disturbed();
        }
        let (size, fits) = self.pen.new_size();
        self.pen.room = self.room(size, fits);
        self.with_banner(Banner::fit);
        let frame = self.region(size);
        self.pen.show(size, frame);
        self.banner.drawn();
    }

    /// Tells something of ours, unless a question stands there.
    fn tell(&mut self, lines: Vec<Line>) {
        // SECURITY: nothing pushes a question away, or stands between it and its answer.
        match self.banner.is_asking() {
            true => lines.into_iter().for_each(|line| self.held.push(HeldLine::Ours(line))),
            false => self.pen.print(&lines),
        }
    }

    /// Tells the person what is going on.
    fn notice(&mut self, text: &str) {
        self.tell(vec![Line::plain(&format!("ironcurtain: {text}"))]);
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Calling(call) => {
                if let Some(turn) = &mut self.turn {
                    turn.call = Some(call);
                }
            }
            Event::Called(call) => {
                if let Some(turn) = &mut self.turn {
                    turn.call = None;
                }
                let telling::Told { tone, begin, what, why } = telling::call(&call);
                let mut lines =
                    vec![Line::new(tone.ink(), begin).and(Ink::Plain, &format!(" {what}"))];
                lines.extend(why.map(|why| Line::new(Ink::Quiet, &why)));
                self.tell(lines);
            }
            Event::Notice(text) => self.notice(&text),
            Event::EscalationRaised(_) => self.with_banner(Banner::recheck),
            Event::EscalationResolved(id, ending) => {
                let how = telling::ending(ending);
                self.with_banner(|banner, place| banner.ended(&id, how, place));
            }
            Event::EscalationExpired(id) => {
                self.with_banner(|banner, place| banner.ended(&id, telling::EXPIRED, place));
            }
            Event::Diagnostic(diagnostic) => {
                let lines = match (&diagnostic, &mut self.turn) {
                    (ic_agent::Diagnostic::ToolCall { .. }, Some(turn)) => turn.text.end(),
                    _ => Vec::new(),
                };
                self.tell_text(lines);
                if let Some(notice) = telling::diagnostic(&diagnostic) {
                    self.notice(&notice);
                }
            }
            Event::Text(delta) => {
                let lines = self.turn.as_mut().map(|turn| turn.text.take(&delta));
                self.tell_text(lines.unwrap_or_default());
            }
            Event::Budget(snapshot) => self.total.add(&snapshot),
            Event::Status(_) | Event::Answer(_) => {}
        }
    }

    /// Shows lines of the model's, unless a question stands there.
    fn tell_text(&mut self, lines: Vec<Line>) {
        if !self.shows_answers || lines.is_empty() {
            return;
        }
        // SECURITY: nothing of a stranger's stands between a question and its answer.
        match self.banner.is_asking() {
            true => lines.into_iter().for_each(|line| self.held.push(HeldLine::Strangers(line))),
            false => self.pen.print_strangers(&lines),
        }
    }

    fn on_answered(&mut self, ended: Result<String, SessionError>) {
        // What happened before it is told before it.
        while let Ok(event) = self.events.try_recv() {
            self.on_event(event);
        }
        let Some(mut turn) = self.turn.take() else { return };
        let lines = match &ended {
            Ok(answer) => turn.text.answer(answer),
            Err(_) => turn.text.end(),
        };
        self.tell_text(lines);
        match ended {
            Ok(answer) => {
                if !self.shows_answers
                    && let Err(failure) = self.pen.screen().strangers_text(&format!("{answer}\n"))
                {
                    self.fail(failure);
                }
            }
            Err(SessionError::MessageFailed(TurnError::Cancelled)) => {
                self.pen.say(Tone::Quiet, "Cancelled. What was done is kept.");
                self.drop_queue();
            }
            Err(SessionError::Closed) => self.fail(ended_by_a_fault()),
            Err(error) => {
                self.pen.say(Tone::Bad, &chain(&error));
                if let Some(hint) = error.hint() {
                    self.pen.say(Tone::Quiet, &format!("hint: {hint}"));
                }
            }
        }
    }

    /// Ends the conversation for a reason that is none of the person's.
    fn fail(&mut self, failure: Failure) {
        self.failure = Some(failure);
        self.left = Some(Left::Quit);
    }

    fn on_continued(&mut self) {
        if let (Ok(handle), Some(_)) = (self.terminal.handle(), &self.raw) {
            // A terminal that cannot be taken again is one that cannot be read either.
            RawMode::again(&handle).ok();
        }
        self.banner.disturbed();
        let (size, _) = self.pen.new_size();
        let region = self.region(size);
        self.pen.redraw(region);
    }

    fn drop_queue(&mut self) {
        let n_messages = self.queue.len();
        self.queue.clear();
        match n_messages {
            0 => {}
            1 => self.pen.say(Tone::Quiet, "The queued message was dropped."),
            _ => self.pen.say(Tone::Quiet, &format!("{n_messages} queued messages were dropped.")),
        }
    }

    fn with_banner(&mut self, act: impl FnOnce(&mut Banner, &mut Place<'_>)) {
        let mut place = Place { questions: self.scene.questions, stage: &mut self.pen };
        act(&mut self.banner, &mut place);
    }
}

impl Total {
    /// Adds what one turn used.
    pub(crate) fn add(&mut self, snapshot: &Snapshot) {
        for spent in snapshot.spent {
            match spent.dimension {
                Dimension::Tokens => self.tokens = self.tokens.saturating_add(spent.used),
                Dimension::Cost => {
                    self.cost_billionths = self.cost_billionths.saturating_add(spent.used);
                }
                Dimension::Steps | Dimension::Time => {}
            }
        }
    }
}

/// Says that a turn panicked, which closes its session.
fn ended_by_a_fault() -> Failure {
    Failure::environment("a fault of this program ended the session in the middle of a turn")
        .with_hint(
            "what was done is kept, and `ironcurtain start --continue` goes on from there; \
             please report what stands above",
        )
}

/// Waits for a moment, if there is one.
async fn moment(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Waits for the answer, if a turn runs.
async fn answered(turn: &mut Option<Turn<'_>>) -> Result<String, SessionError> {
    match turn {
        Some(turn) => (&mut turn.answering).await,
        None => std::future::pending().await,
    }
}
