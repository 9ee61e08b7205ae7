//! Whoever looks on at a terminal that gives keys: what goes on in a row that moves, the model's text as
//! it comes, and questions in the one dialog.

use std::future::Future;
use std::pin::pin;

use ic_session::{Event, News, Questions};
use ic_terminal::{Key, Line, Piece};
use rustix::process::{Signal as Raised, getpid, kill_process};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::lines::{changed, printed};
use crate::error::Failure;
use crate::own_policy::always::Always;
use crate::screen::Screen;
use crate::signals::Signals;
use crate::terminal::banner::{Banner, Place};
use crate::terminal::console::{Below, Console, moment};
use crate::terminal::paint::{Paint, Tone};
use crate::terminal::telling;
use crate::terminal::tty::Tty;
use crate::terminal::turn::{FRAME, Progress, Text};

/// Whoever looks on.
pub(crate) struct KeyOnlooker<'a> {
    questions: &'a Questions,
    events: broadcast::Receiver<Event>,
    console: Console<'a>,
    progress: Progress,
    text: Text,
    has_shown_answer: bool,
    /// What a script prints, as it comes.
    prints: Option<mpsc::Receiver<String>>,
    /// Whether somebody sits there still.
    is_attended: bool,
    is_ending: bool,
}

impl<'a> KeyOnlooker<'a> {
    /// Looks at what happens from now on.
    pub(super) fn new(
        (news, questions): (&News, &'a Questions),
        terminal: Tty,
        paint: Paint,
        between: &'static str,
        screen: &'a mut Screen,
    ) -> Result<Self, Failure> {
        Ok(Self {
            questions,
            events: news.subscribe(),
            console: Console::take(terminal, paint, screen)?,
            progress: Progress::new(between),
            text: Text::default(),
            has_shown_answer: false,
            prints: None,
            is_attended: true,
            is_ending: false,
        })
    }

    /// Offers *always* at questions too.
    pub(super) fn offer_always(&mut self, always: Always) {
        self.console.offer_always(Some(always));
    }

    /// Lets it print what comes out of `prints`.
    pub(super) fn printing(self, prints: mpsc::Receiver<String>) -> Self {
        Self { prints: Some(prints), ..self }
    }

    /// Returns whether the answer was shown.
    pub(super) fn has_shown_answer(&self) -> bool {
        self.has_shown_answer
    }

    /// Looks on until `work` is done, and gives the terminal back; being interrupted cancels it.
    pub(super) async fn watch<T>(
        &mut self,
        work: impl Future<Output = T>,
        signals: &mut Signals,
        cancel: &CancellationToken,
    ) -> T {
        let mut work = pin!(work);
        let mut resized = signal(SignalKind::window_change()).ok();
        let mut continued = signal(SignalKind::from_raw(signal_hook::consts::SIGCONT)).ok();
        loop {
            self.console.settle();
            self.draw();
            let moves = self.console.paint == Paint::Colours;
            let frame_at = moves.then(|| Instant::now() + FRAME);
            tokio::select! {
                // What has happened is told before the answer to it.
                biased;
                event = self.events.recv() => match event {
                    Ok(event) => {
                        // What a script printed before its call stands above what is asked about it.
                        self.print_waiting();
                        self.on_event(event);
                    }
                    Err(RecvError::Lagged(n_events)) => self.on_missed(n_events),
                    // Whoever tells is held by the work; without it there is nothing to tell.
                    Err(RecvError::Closed) => break,
                },
                // SECURITY: nothing of the script's stands between a question and its answer.
                Some(text) = printed(&mut self.prints), if !self.console.is_asking() => {
                    self.on_printed(&text);
                }
                () = moment(self.console.banner.wakes_at()) => self.with_banner(Banner::wake),
                () = changed(&mut resized) => {}
                () = changed(&mut continued) => {
                    let below = self.below();
                    self.console.on_continued(&below);
                }
                done = &mut work => {
                    self.catch_up();
                    return done;
                }
                () = signals.any() => {
                    self.is_ending = true;
                    let note = "Cancelled; ending what runs. Ctrl-C once more leaves it at once.";
                    self.console.say(Tone::Quiet, note);
                    cancel.cancel();
                }
                bytes = self.console.terminal.bytes(), if self.is_attended => self.on_bytes(&bytes),
                () = moment(self.console.escape_at) => {
                    self.console.on_escape_alone();
                }
                () = moment(frame_at) => self.progress.spin(),
            }
        }
        self.console.leave();
        work.await
    }

    fn below(&self) -> Below<'static> {
        let moves = self.console.paint == Paint::Colours;
        Below { status: Some(self.progress.status(moves, self.is_ending, 0)), editor: None }
    }

    fn draw(&mut self) {
        let below = self.below();
        self.console.draw(self.questions, &below);
    }

    /// Tells what has happened and was not told yet, and gives the terminal back.
    fn catch_up(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            self.on_event(event);
        }
        // Nobody waits for an answer any more.
        self.with_banner(Banner::recheck);
        self.print_waiting();
        let rest = self.text.end();
        self.console.tell_strangers(rest);
        self.console.settle();
        self.console.leave();
    }

    /// Prints what was printed by now, unless a question stands there.
    fn print_waiting(&mut self) {
        while !self.console.is_asking()
            && let Some(text) = self.prints.as_mut().and_then(|it| it.try_recv().ok())
        {
            self.on_printed(&text);
        }
    }

    fn on_printed(&mut self, text: &str) {
        self.console.tell_strangers(text.lines().map(Line::plain).collect());
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Calling(call) => self.progress.call = Some(call),
            Event::Called(call) => {
                self.progress.call = None;
                self.console.tell(telling::call(&call).to_lines());
            }
            Event::Notice(text) => self.console.notice(&text),
            Event::EscalationRaised(_) => self.with_banner(Banner::recheck),
            Event::EscalationResolved(id, ending) => {
                let how = telling::ending(ending);
                self.with_banner(|banner, place| banner.ended(&id, how, place));
            }
            Event::EscalationExpired(id) => {
                self.with_banner(|banner, place| banner.ended(&id, telling::EXPIRED, place));
            }
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
            Event::Status(_) | Event::Budget(_) => {}
        }
    }

    fn on_missed(&mut self, n_events: u64) {
        self.console.notice(&format!("{n_events} events came too fast to be shown"));
        // A question among them must not be lost, nor one stay that is over.
        self.with_banner(Banner::recheck);
    }

    fn on_bytes(&mut self, bytes: &[u8]) {
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
                    self.console.is_answer(key, is_alone, self.questions);
                }
            }
        }
    }

    fn with_banner(&mut self, act: impl FnOnce(&mut Banner, &mut Place<'_>)) {
        self.console.with(self.questions, act);
    }
}
