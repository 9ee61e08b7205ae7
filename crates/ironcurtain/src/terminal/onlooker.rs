//! Whoever looks on while a session works: told what happens, asked what needs a person, and able to
//! stop it.

use std::future::Future;
use std::pin::pin;

use ic_agent::Diagnostic;
use ic_broker::Ending;
use ic_session::{CallFate, CallNews, Event, News, Questions};
use ic_types::{EscalationId, visible};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::banner::{Banner, Place};
use super::paint::{Paint, Tone};
use super::tty::{Tty, Typed};
use crate::error::Failure;
use crate::screen::Screen;
use crate::signals::Signals;

/// How much of somebody else's reason stands on a line.
const REASON_CHARS_MAX: usize = 300;

/// What stands before a reason, so that it stands below what it is about.
const BELOW_MARK: &str = "             ";

/// Whoever looks on.
pub(crate) struct Onlooker<'a> {
    questions: &'a Questions,
    events: broadcast::Receiver<Event>,
    screen: &'a mut Screen,
    paint: Paint,
    /// Where answers are typed, if somebody is there.
    terminal: Option<Tty>,
    banner: Banner,
    /// What goes to standard output as it comes.
    prints: Option<mpsc::Receiver<String>>,
    /// Why standard output cannot be written to any more.
    deaf: Option<Failure>,
}

impl<'a> Onlooker<'a> {
    /// Looks at what happens from now on.
    pub(crate) fn new(
        (news, questions): (&News, &'a Questions),
        terminal: Option<Tty>,
        paint: Paint,
        screen: &'a mut Screen,
    ) -> Self {
        let events = news.subscribe();
        let banner = Banner::default();
        Self { questions, events, screen, paint, terminal, banner, prints: None, deaf: None }
    }

    /// Lets it print what comes out of `prints`.
    pub(crate) fn printing(self, prints: mpsc::Receiver<String>) -> Self {
        Self { prints: Some(prints), ..self }
    }

    /// Returns why standard output could not be written to, if that is so.
    pub(crate) fn deaf(self) -> Option<Failure> {
        self.deaf
    }

    /// Looks on until `work` is done; being interrupted cancels it.
    pub(crate) async fn watch<T>(
        &mut self,
        work: impl Future<Output = T>,
        signals: &mut Signals,
        cancel: &CancellationToken,
    ) -> T {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                // What has happened is told before the answer to it.
                biased;
                event = self.events.recv() => match event {
                    Ok(event) => {
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
                () = moment(self.banner.asks_at()) => {
                    self.with_banner(Banner::ask);
                }
                done = &mut work => {
                    self.catch_up(cancel);
                    return done;
                }
                () = signals.any() => {
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
            self.on_event(event);
        }
        self.print_waiting(cancel);
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

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Called(call) => self.on_call(&call),
            Event::Notice(text) => self.screen.notice(&text),
            Event::EscalationRaised(id) => self.on_raised(id),
            Event::EscalationResolved(id, ending) => {
                let how = match ending {
                    Ending::Approved => "Approved elsewhere.",
                    Ending::Denied => "Denied elsewhere.",
                    Ending::Expired => "Nobody answered in time.",
                    Ending::Withdrawn => "The question was withdrawn.",
                };
                self.with_banner(|banner, place| banner.ended(&id, how, place));
            }
            Event::EscalationExpired(id) => {
                let how = "Nobody answered in time, so the call is denied.";
                self.with_banner(|banner, place| banner.ended(&id, how, place));
            }
            Event::Diagnostic(diagnostic) => self.on_diagnostic(&diagnostic),
            Event::Status(_) | Event::Text(_) | Event::Answer(_) | Event::Budget(_) => {}
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
        let what = visible(&format!("{} {}", call.call, call.arguments));
        let (tone, mark, why) = match &call.fate {
            CallFate::Done => (Tone::Good, "✓ allowed ", None),
            CallFate::Approved => (Tone::Good, "✓ approved", None),
            CallFate::Failed(why) => (Tone::Bad, "✗ failed  ", Some(why)),
            CallFate::Refused(why) => (Tone::Bad, "✗ refused ", Some(why)),
        };
        let (paint, begin) = (self.paint, format!("  {mark}"));
        self.screen.progress(&format!("{begin} {what}"), |row| match row.strip_prefix(&begin) {
            Some(rest) => format!("{}{rest}", paint.text(tone, &begin)),
            None => row.to_owned(),
        });
        if let Some(why) = why {
            let why: String = why.chars().take(REASON_CHARS_MAX).collect();
            let line = format!("{BELOW_MARK}{}", visible(&why));
            self.screen.progress(&line, |row| paint.text(Tone::Quiet, row));
        }
    }

    fn on_diagnostic(&mut self, diagnostic: &Diagnostic) {
        match diagnostic {
            Diagnostic::BudgetWarning { spent } => {
                self.screen.notice(&format!("most of the budget is used: {spent}"));
            }
            Diagnostic::LoopDetection { tool, repeats, .. } => {
                self.screen.notice(&format!(
                    "the model used `{tool}` {repeats} times with the same result"
                ));
            }
            Diagnostic::ConfinementViolation { detail } => {
                self.screen.notice(&format!("confinement_violation: {detail}"));
            }
            // What calls a script makes is told one by one, and what the model says is the answer.
            Diagnostic::ToolCall { .. }
            | Diagnostic::AgentText { .. }
            | Diagnostic::StepFinish { .. }
            | Diagnostic::BudgetExhausted { .. }
            | Diagnostic::ResultTruncation { .. } => {}
        }
    }

    fn on_missed(&mut self, n_events: u64) {
        self.screen.notice(&format!("{n_events} events came too fast to be shown"));
        // A question among them must not be lost, nor one stay that is over.
        if self.terminal.is_some() {
            self.with_banner(Banner::recheck);
        }
    }

    fn on_typed(&mut self, typed: &Typed) {
        match typed {
            Typed::Line(line) => self.with_banner(|banner, place| banner.typed(line, place)),
            Typed::Noise => {}
            Typed::End => {
                self.terminal = None;
                self.say(Tone::Quiet, "Nothing can be typed any more; others can still answer.");
            }
        }
    }

    fn with_banner(&mut self, act: impl FnOnce(&mut Banner, &mut Place<'_>)) {
        let mut place = Place {
            questions: self.questions,
            screen: &mut *self.screen,
            paint: self.paint,
            terminal: self.terminal.as_ref(),
        };
        act(&mut self.banner, &mut place);
    }

    fn say(&mut self, tone: Tone, text: &str) {
        let paint = self.paint;
        self.screen.progress(&visible(text), |row| paint.text(tone, row));
    }
}

/// Waits for a moment, if there is one.
async fn moment(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Waits for the next piece to be printed; `None` if there will be none.
async fn printed(prints: &mut Option<mpsc::Receiver<String>>) -> Option<String> {
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
