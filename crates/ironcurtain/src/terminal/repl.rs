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

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use ic_audit::Redactor;
use ic_escalation::Message;
use ic_session::{
    Answering, Conversation, Dimension, Event, News, Questions, SessionError, Snapshot,
};
use ic_terminal::{Editor, Line};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::commands::Happened;
use self::memory::Memory;
use super::banner::{Banner, Place};
use super::console::{Below, Console, moment};
use super::paint::{Paint, Tone};
use super::telling;
use super::tty::Tty;
use super::turn::{FRAME, Progress, Text};
use crate::error::{Failure, chain};
use crate::own_policy::always::Always;
use crate::screen::{Screen, message_lines};
use crate::signals::Signals;

/// The session that a conversation is held with.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) session: &'a dyn Conversation,
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
    console: Console<'a>,
    editor: Editor,
    memory: Memory,
    turn: Option<Turn<'a>>,
    queue: VecDeque<Message>,
    /// What happened last, for `/logs`.
    happened: VecDeque<Happened>,
    /// Whether Control-C was the last key, with nothing to be stopped.
    is_leaving: bool,
    /// Whether standard output is this terminal.
    shows_answers: bool,
    left: Option<Left>,
    total: Total,
    failure: Option<Failure>,
}

/// A turn that runs.
struct Turn<'a> {
    answering: Answering<'a>,
    cancel: CancellationToken,
    progress: Progress,
    text: Text,
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
        let mut console = Console::take(terminal, setting.paint, screen)?;
        console.offer_always(setting.always.take());
        let memory = Memory::read(setting.history.clone(), Arc::clone(&setting.redactor));
        Ok(Self {
            scene,
            setting,
            events: scene.news.subscribe(),
            console,
            editor: Editor::default(),
            memory,
            turn: None,
            queue: VecDeque::new(),
            happened: VecDeque::new(),
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
        let hello = "Type a message; /help lists the commands.";
        self.console.say(Tone::Quiet, hello);
        while self.left.is_none() {
            self.settle();
            self.draw();
            let happening = self.next(signals, &mut resized, &mut continued).await;
            self.on(happening);
        }
        self.drop_queue();
        self.console.leave();
        // A turn that still runs is cut: nobody waits for its answer.
        self.turn = None;
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
            bytes = self.console.terminal.bytes() => Happening::Bytes(bytes),
            () = moment(self.console.escape_at) => Happening::EscapeAlone,
            event = self.events.recv() => Happening::Event(event),
            _ = resized.recv() => Happening::Resized,
            _ = continued.recv() => Happening::Continued,
            () = moment(self.console.banner.wakes_at()) => Happening::Wake,
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
                    turn.progress.spin();
                }
            }
            Happening::Answered(ended) => self.on_answered(ended),
        }
    }

    /// Begins the next turn, and shows what waited for a question to be answered.
    fn settle(&mut self) {
        self.console.settle();
        if self.turn.is_none()
            && let Some(message) = self.queue.pop_front()
        {
            let cancel = CancellationToken::new();
            self.scene.session.note_typed(&message);
            let answering = self.scene.session.send_message(&message.text, cancel.clone());
            let (progress, text) = (Progress::new("thinking"), Text::default());
            self.turn = Some(Turn { answering, cancel, progress, text });
        }
    }

    fn draw(&mut self) {
        let below = Below { status: self.status(), editor: Some(&self.editor) };
        self.console.draw(self.scene.questions, &below);
    }

    /// Says what goes on.
    fn status(&self) -> Option<String> {
        let moves = self.setting.paint == Paint::Colours;
        let turn = self.turn.as_ref()?;
        Some(turn.progress.status(moves, turn.cancel.is_cancelled(), self.queue.len()))
    }

    /// Tells the person what is going on.
    fn notice(&mut self, text: &str) {
        self.console.notice(text);
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Calling(call) => {
                if let Some(turn) = &mut self.turn {
                    turn.progress.call = Some(call);
                }
            }
            Event::Called(call) => {
                if let Some(turn) = &mut self.turn {
                    turn.progress.call = None;
                }
                self.console.tell(telling::call(&call).to_lines());
                Happened::Called(call).keep(&mut self.happened);
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
                Happened::Diagnostic(diagnostic).keep(&mut self.happened);
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
        if self.shows_answers {
            self.console.tell_strangers(lines);
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
                    && let Err(failure) =
                        self.console.screen().strangers_text(&format!("{answer}\n"))
                {
                    self.fail(failure);
                }
            }
            Err(SessionError::Cancelled) => {
                self.console.say(Tone::Quiet, "Cancelled. What was done is kept.");
                self.drop_queue();
            }
            Err(SessionError::Closed) => self.fail(ended_by_a_fault()),
            Err(error) => {
                for line in message_lines("", &chain(&error)) {
                    self.console.say(Tone::Bad, &line);
                }
                if let Some(hint) = error.hint() {
                    self.console.say(Tone::Quiet, &format!("hint: {hint}"));
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
        let below = Below { status: self.status(), editor: Some(&self.editor) };
        self.console.on_continued(&below);
    }

    fn drop_queue(&mut self) {
        let n_messages = self.queue.len();
        self.queue.clear();
        match n_messages {
            0 => {}
            1 => self.console.say(Tone::Quiet, "The queued message was dropped."),
            _ => self
                .console
                .say(Tone::Quiet, &format!("{n_messages} queued messages were dropped.")),
        }
    }

    fn with_banner(&mut self, act: impl FnOnce(&mut Banner, &mut Place<'_>)) {
        self.console.with(self.scene.questions, act);
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
            "what was done is kept, and `ironcurtain start --continue` continues from there; \
             please report the error above",
        )
}

/// Waits for the answer, if a turn runs.
async fn answered(turn: &mut Option<Turn<'_>>) -> Result<String, SessionError> {
    match turn {
        Some(turn) => (&mut turn.answering).await,
        None => std::future::pending().await,
    }
}
