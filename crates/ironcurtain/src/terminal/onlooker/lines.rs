//! Whoever looks on in a pipe, or at a terminal that is read line by line.

use std::future::Future;
use std::pin::pin;

use ic_agent::Diagnostic;
use ic_session::{CallNews, Event, News, Questions};
use ic_terminal::gate::Arrival;
use ic_types::{EscalationId, visible};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Script;
use crate::error::Failure;
use crate::own_policy::always::Always;
use crate::screen::Screen;
use crate::signals::Signals;
use crate::terminal::banner::{Banner, Place};
use crate::terminal::console::moment;
use crate::terminal::held::Held;
use crate::terminal::paint::{Paint, Tone};
use crate::terminal::stage::LineStage;
use crate::terminal::telling;
use crate::terminal::tty::{Tty, Typed};

/// Whoever looks on.
pub(crate) struct LineOnlooker<'a> {
    questions: &'a Questions,
    events: broadcast::Receiver<Event>,
    screen: &'a mut Screen,
    paint: Paint,
    /// Where answers are typed, if somebody is there.
    terminal: Option<Tty>,
    banner: Banner,
    /// What came while a question stands there.
    held: Held<Event>,
    /// What goes to standard output as it comes.
    prints: Option<mpsc::Receiver<String>>,
    /// Why standard output cannot be written to any more.
    deaf: Option<Failure>,
    /// What becomes of events for a script that reads them.
    script: Option<Script>,
}

impl<'a> LineOnlooker<'a> {
    /// Looks at what happens from now on.
    pub(super) fn new(
        (news, questions): (&News, &'a Questions),
        terminal: Option<Tty>,
        paint: Paint,
        screen: &'a mut Screen,
    ) -> Self {
        let events = news.subscribe();
        let (banner, held) = (Banner::new(), Held::new());
        let (prints, deaf, script) = (None, None, None);
        Self { questions, events, screen, paint, terminal, banner, held, prints, deaf, script }
    }

    /// Offers *always* at questions too.
    pub(super) fn offer_always(&mut self, always: Always) {
        self.banner.offer_always(Some(always));
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

    /// Looks on until `work` is done; being interrupted cancels it.
    pub(super) async fn watch<T>(
        &mut self,
        work: impl Future<Output = T>,
        signals: &mut Signals,
        cancel: &CancellationToken,
    ) -> T {
        let mut work = pin!(work);
        // Without it a smaller window is noticed when something is typed.
        let mut resized = signal(SignalKind::window_change()).ok();
        loop {
            self.tell_held();
            self.with_banner(Banner::fit);
            self.banner.drawn();
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
                    // Whoever tells is held by the work; without it there is nothing to tell.
                    Err(RecvError::Closed) => return work.await,
                },
                // SECURITY: nothing of the script's stands between a question and its answer.
                Some(text) = printed(&mut self.prints), if !self.banner.is_asking() => {
                    self.on_printed(&text, cancel);
                }
                () = moment(self.banner.wakes_at()) => self.with_banner(Banner::wake),
                () = changed(&mut resized) => {}
                done = &mut work => {
                    self.catch_up(cancel);
                    return done;
                }
                () = signals.any() => {
                    self.banner.disturbed();
                    self.say(Tone::Quiet, "Cancelled; ending what runs. Once more leaves it at once.");
                    cancel.cancel();
                }
                typed = typed(&mut self.terminal) => self.on_typed(&typed),
            }
        }
    }

    /// Tells what has happened and was not told yet.
    fn catch_up(&mut self, cancel: &CancellationToken) {
        while let Ok(event) = self.events.try_recv() {
            self.on_scripted(&event, cancel);
            self.on_event(event);
        }
        let (held, _) = self.held.take();
        for event in held {
            self.tell(event);
        }
        self.print_waiting(cancel);
    }

    /// Tells what has waited for a question to be answered.
    fn tell_held(&mut self) {
        if self.banner.is_asking() || self.held.is_empty() {
            return;
        }
        let (held, said) = self.held.take();
        for event in held {
            self.tell(event);
        }
        if let Some(said) = said {
            self.screen.notice(&said);
        }
    }

    /// Prints what was printed by now, unless a question stands there.
    fn print_waiting(&mut self, cancel: &CancellationToken) {
        while !self.banner.is_asking()
            && let Some(text) = self.prints.as_mut().and_then(|it| it.try_recv().ok())
        {
            self.on_printed(&text, cancel);
        }
    }

    /// Prints; whoever cannot be told what the work comes to has no use for it.
    fn on_printed(&mut self, text: &str, cancel: &CancellationToken) {
        if self.deaf.is_some() {
            return;
        }
        if let Err(failure) = self.screen.script_text(text) {
            self.deaf = Some(failure);
            cancel.cancel();
        }
    }

    /// Prints an event for a script; one that reads no more has no use for the work.
    fn on_scripted(&mut self, event: &Event, cancel: &CancellationToken) {
        let line = self.script.as_ref().and_then(|it| it.line(event, self.questions));
        let Some(line) = line.filter(|_| self.deaf.is_none()) else { return };
        let printed = self.screen.json(&line.to_string());
        let printed = printed.and_then(|()| self.screen.out().flush().map_err(Failure::output));
        if let Err(failure) = printed {
            self.deaf = Some(failure);
            cancel.cancel();
        }
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::EscalationRaised(id) => self.on_raised(id),
            Event::EscalationResolved(id, ending) => {
                let how = telling::ending(ending);
                self.with_banner(|banner, place| banner.ended(&id, how, place));
            }
            Event::EscalationExpired(id) => {
                let how = telling::EXPIRED;
                self.with_banner(|banner, place| banner.ended(&id, how, place));
            }
            // SECURITY: nothing pushes a question away, or stands between it and its answer.
            event @ (Event::Called(_) | Event::Notice(_) | Event::Diagnostic(_)) => {
                match self.banner.is_asking() {
                    true => self.held.push(event),
                    false => self.tell(event),
                }
            }
            Event::Status(_)
            | Event::Text(_)
            | Event::Calling(_)
            | Event::Answer(_)
            | Event::Budget(_) => {}
        }
    }

    /// Tells what happened, if it is told at all.
    fn tell(&mut self, event: Event) {
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

    fn on_raised(&mut self, id: EscalationId) {
        if self.terminal.is_none() {
            let show = format!("`ironcurtain approvals show {id}` shows it");
            self.say(Tone::Question, &format!("A call waits for a person; {show}."));
            return;
        }
        self.with_banner(|banner, place| banner.raised(id, place));
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

    fn on_missed(&mut self, n_events: u64) {
        self.on_event(Event::Notice(format!("{n_events} events came too fast to be shown")));
        // A question among them must not be lost, nor one stay that is over.
        if self.terminal.is_some() {
            self.with_banner(Banner::recheck);
        }
    }

    fn on_typed(&mut self, typed: &Typed) {
        match typed {
            Typed::Line(line) => {
                self.banner.arrives(Arrival::Alone);
                self.with_banner(|banner, place| banner.typed(line, place));
            }
            Typed::Noise => self.banner.arrives_below(),
            Typed::End => {
                self.terminal = None;
                self.say(Tone::Quiet, "Nothing can be typed any more; others can still answer.");
            }
        }
    }

    fn with_banner(&mut self, act: impl FnOnce(&mut Banner, &mut Place<'_>)) {
        let mut stage = LineStage {
            screen: &mut *self.screen,
            paint: self.paint,
            terminal: self.terminal.as_ref(),
        };
        act(&mut self.banner, &mut Place { questions: self.questions, stage: &mut stage });
    }

    fn say(&mut self, tone: Tone, text: &str) {
        let paint = self.paint;
        self.screen.progress(&visible(text), |row| paint.text(tone, row));
    }
}

/// Waits until a signal comes, if that is told.
pub(super) async fn changed(resized: &mut Option<Signal>) {
    let told = match resized {
        Some(resized) => resized.recv().await,
        None => None,
    };
    if told.is_none() {
        std::future::pending::<()>().await;
    }
}

/// Waits for the next piece to be printed; `None` if there will be none.
pub(super) async fn printed(prints: &mut Option<mpsc::Receiver<String>>) -> Option<String> {
    match prints {
        Some(prints) => prints.recv().await,
        None => None,
    }
}

/// Waits for the next line; without a terminal there is none.
async fn typed(terminal: &mut Option<Tty>) -> Typed {
    match terminal {
        Some(terminal) => terminal.typed().await,
        None => std::future::pending().await,
    }
}
