//! The loop of looking on: what happens is told, what needs approval is asked, until the work is done.
//!
//! The same at a terminal that gives keys and line by line; how either is shown and read is its [`Front`].

use std::future::Future;
use std::pin::pin;

use ic_session::{Event, News, Questions};
use ic_types::EscalationId;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Script;
use crate::error::Failure;
use crate::screen::Screen;
use crate::signals::Signals;
use crate::terminal::banner::{Banner, Place};
use crate::terminal::console::moment;
use crate::terminal::telling;

/// Where it is told and asked.
pub(crate) trait Front {
    /// What is read there.
    type Heard;

    /// Shows what has waited, and draws what stands there.
    fn refresh(&mut self, questions: &Questions);

    /// Returns whether a question stands there, or is about to.
    fn is_asking(&self) -> bool;

    /// Returns when the banner has something to do, with nothing happening before.
    fn wakes_at(&self) -> Option<Instant>;

    /// Lets the banner do something.
    fn with_banner(&mut self, questions: &Questions, act: impl FnOnce(&mut Banner, &mut Place<'_>));

    /// Takes in a question that was raised.
    fn raised(&mut self, id: EscalationId, questions: &Questions);

    /// Looks at which questions there are, if any are asked here.
    fn recheck(&mut self, questions: &Questions);

    /// Tells what happened besides questions, once no question stands there.
    fn tell(&mut self, event: Event);

    /// Prints what a script prints.
    fn print(&mut self, text: &str) -> Result<(), Failure>;

    /// Says that the work is being cancelled.
    fn interrupted(&mut self);

    /// Takes the terminal again, in which somebody else may have written.
    fn on_continued(&mut self);

    /// Waits for what is read here.
    async fn heard(&mut self) -> Self::Heard;

    /// Does what was read.
    fn on_heard(&mut self, heard: Self::Heard, questions: &Questions);

    /// Gives up the question that stands there, and tells what has waited for it.
    fn release(&mut self, questions: &Questions);

    /// Gives the terminal back.
    fn leave(&mut self);

    /// Returns where standard output is.
    fn screen(&mut self) -> &mut Screen;
}

/// Looks on while a session works.
pub(crate) struct Watch<'a, F> {
    pub(super) front: F,
    questions: &'a Questions,
    events: broadcast::Receiver<Event>,
    /// What a script prints, as it comes.
    prints: Option<mpsc::Receiver<String>>,
    /// What becomes of events for a script that reads them.
    script: Option<Script>,
    /// Why standard output cannot be written to any more.
    deaf: Option<Failure>,
}

impl<'a, F: Front> Watch<'a, F> {
    /// Looks at what happens from now on.
    pub(super) fn new((news, questions): (&News, &'a Questions), front: F) -> Self {
        let (prints, script, deaf) = (None, None, None);
        Self { front, questions, events: news.subscribe(), prints, script, deaf }
    }

    /// Lets it print every event as a line of JSON.
    pub(super) fn scripted(self, script: Script) -> Self {
        Self { script: Some(script), ..self }
    }

    /// Lets it print what comes out of `prints`.
    pub(super) fn printing(self, prints: mpsc::Receiver<String>) -> Self {
        Self { prints: Some(prints), ..self }
    }

    /// Returns why standard output could not be written to, if that is so.
    pub(super) fn into_deaf(self) -> Option<Failure> {
        self.deaf
    }

    /// Looks on until `work` is done, and gives the terminal back; being interrupted cancels it.
    pub(super) async fn watch<T>(
        &mut self,
        work: impl Future<Output = T>,
        signals: &mut Signals,
        cancel: &CancellationToken,
    ) -> T {
        let mut work = pin!(work);
        // Without it a smaller window is noticed when something is typed.
        let mut resized = signal(SignalKind::window_change()).ok();
        let mut continued = signal(SignalKind::from_raw(signal_hook::consts::SIGCONT)).ok();
        loop {
            self.front.refresh(self.questions);
            tokio::select! {
                // What has happened is told before the answer to it.
                biased;
                event = self.events.recv() => match event {
                    Ok(event) => {
                        self.on_scripted(&event, cancel);
                        // What a script printed before its call stands above what is asked about it.
                        self.print_waiting(cancel);
                        self.on_event(event);
                    }
                    Err(RecvError::Lagged(n_events)) => self.on_missed(n_events),
                    // The work holds the sender; without it there is nothing to tell.
                    Err(RecvError::Closed) => break,
                },
                // SECURITY: nothing of the script's stands between a question and its answer.
                Some(text) = printed(&mut self.prints), if !self.front.is_asking() => {
                    self.on_printed(&text, cancel);
                }
                () = moment(self.front.wakes_at()) => {
                    self.front.with_banner(self.questions, Banner::wake);
                }
                () = changed(&mut resized) => {}
                () = changed(&mut continued) => self.front.on_continued(),
                done = &mut work => {
                    self.catch_up(cancel);
                    return done;
                }
                () = signals.any() => {
                    self.front.interrupted();
                    cancel.cancel();
                }
                heard = self.front.heard() => self.front.on_heard(heard, self.questions),
            }
        }
        self.front.leave();
        work.await
    }

    /// Tells what has happened and was not told yet, and gives the terminal back.
    fn catch_up(&mut self, cancel: &CancellationToken) {
        while let Ok(event) = self.events.try_recv() {
            self.on_scripted(&event, cancel);
            self.on_event(event);
        }
        self.front.release(self.questions);
        self.print_waiting(cancel);
        self.front.leave();
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::EscalationRaised(id) => self.front.raised(id, self.questions),
            Event::EscalationResolved(id, ending) => self.on_ended(&id, telling::ending(ending)),
            Event::EscalationExpired(id) => self.on_ended(&id, telling::EXPIRED),
            event => self.front.tell(event),
        }
    }

    fn on_ended(&mut self, id: &EscalationId, how: &str) {
        self.front.with_banner(self.questions, |banner, place| banner.ended(id, how, place));
    }

    fn on_missed(&mut self, n_events: u64) {
        let said = format!("{n_events} events came too fast to be shown");
        self.front.tell(Event::Notice(said));
        // A question among them must not be lost, nor one stay that is over.
        self.front.recheck(self.questions);
    }

    /// Prints what was printed by now, unless a question stands there.
    fn print_waiting(&mut self, cancel: &CancellationToken) {
        while !self.front.is_asking()
            && let Some(text) = self.prints.as_mut().and_then(|it| it.try_recv().ok())
        {
            self.on_printed(&text, cancel);
        }
    }

    /// Prints; where nobody reads it any more, the work is of no use.
    fn on_printed(&mut self, text: &str, cancel: &CancellationToken) {
        if self.deaf.is_some() {
            return;
        }
        if let Err(failure) = self.front.print(text) {
            self.deaf = Some(failure);
            cancel.cancel();
        }
    }

    /// Prints an event for a script; where it reads no more, the work is of no use.
    fn on_scripted(&mut self, event: &Event, cancel: &CancellationToken) {
        let line = self.script.as_ref().and_then(|it| it.line(event, self.questions));
        let Some(line) = line.filter(|_| self.deaf.is_none()) else { return };
        let screen = self.front.screen();
        let printed = screen.json(&line.to_string());
        let printed = printed.and_then(|()| screen.out().flush().map_err(Failure::output));
        if let Err(failure) = printed {
            self.deaf = Some(failure);
            cancel.cancel();
        }
    }
}

/// Waits until a signal comes, if that is told.
async fn changed(resized: &mut Option<Signal>) {
    let told = match resized {
        Some(resized) => resized.recv().await,
        None => None,
    };
    if told.is_none() {
        std::future::pending::<()>().await;
    }
}

/// Waits for the next piece to be printed; `None` if there will be none.
async fn printed(prints: &mut Option<mpsc::Receiver<String>>) -> Option<String> {
    match prints {
        Some(prints) => prints.recv().await,
        None => None,
    }
}
