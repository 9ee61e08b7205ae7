//! A question of a session at its own terminal: shown, answered with a letter, never by accident.
//!
//! ```text
//! raised ─▶ shown, page by page ─▶ a moment to read ─▶ asked ─▶ y, n, g, d
//! ```
//!
//! One question at a time, in the order in which they came. Nobody can say yes to what did not stand on
//! the screen, or stood there for the blink of an eye. What an answer means is decided elsewhere.

use std::collections::VecDeque;
use std::time::Duration;

use ic_escalation::display::View;
use ic_escalation::offer::LIFETIME;
use ic_escalation::{Offer, Pending, Reply, Terms, Wish};
use ic_home::{Clock as _, SystemClock};
use ic_session::Questions;
use ic_types::{EscalationId, visible};
use tokio::time::Instant;

use super::paint::{Paint, Tone};
use super::tty::Tty;
use crate::commands::approvals::{At, lines};
use crate::error::chain;
use crate::screen::{self, Screen};

/// What can be typed.
const KEYS: &str = "y approve · n deny · g approve and grant · d details";
/// How long something stands there before it can be answered; what is typed meanwhile was meant for
/// something else.
const READING_MIN: Duration = Duration::from_millis(700);
/// Rows of a screen that are not for the question: what was typed, and what is asked.
const ROWS_KEPT: usize = 3;

/// The questions that wait, of which the first is shown.
#[derive(Debug, Default)]
pub(super) struct Banner {
    shown: Option<Pending>,
    /// The grants of which the person is to choose one.
    wishes: Vec<Wish>,
    waiting: VecDeque<EscalationId>,
    /// What is still to be shown before anything is asked.
    rows: VecDeque<String>,
    /// What is asked next, and not before that moment.
    prompt: Option<(String, Instant)>,
}

/// Where a banner is shown, and answered.
pub(super) struct Place<'a> {
    pub(super) questions: &'a Questions,
    pub(super) screen: &'a mut Screen,
    pub(super) paint: Paint,
    /// Where answers are typed, if somebody is there.
    pub(super) terminal: Option<&'a Tty>,
}

impl Banner {
    /// Takes in a question that was raised.
    pub(super) fn raised(&mut self, id: EscalationId, place: &mut Place<'_>) {
        let is_shown = self.shown.as_ref().is_some_and(|it| it.request().escalation == id);
        if !is_shown && !self.waiting.contains(&id) {
            self.waiting.push_back(id);
        }
        self.show_next(place);
    }

    /// Takes note that a question is over, however that came.
    pub(super) fn ended(&mut self, id: &EscalationId, how: &str, place: &mut Place<'_>) {
        self.waiting.retain(|it| it != id);
        if self.shown.take_if(|it| it.request().escalation == *id).is_some() {
            self.forget();
            place.say(Tone::Quiet, how);
        }
        self.show_next(place);
    }

    /// Takes note of which questions wait, after news of them were missed.
    pub(super) fn recheck(&mut self, place: &mut Place<'_>) {
        let pending = place.questions.pending();
        let is_over = |it: &Pending| !pending.iter().any(|other| is_same(it, other));
        if self.shown.take_if(|it| is_over(it)).is_some() {
            self.forget();
            place.say(Tone::Quiet, "The question was answered, or is over.");
        }
        for it in &pending {
            self.raised(it.request().escalation.clone(), place);
        }
    }

    /// Returns whether a question stands there.
    pub(super) fn is_asking(&self) -> bool {
        self.shown.is_some()
    }

    /// Returns when the person is asked, if something stands there that they are to read first.
    pub(super) fn asks_at(&self) -> Option<Instant> {
        self.prompt.as_ref().filter(|_| self.rows.is_empty()).map(|(_, at)| *at)
    }

    /// Asks what is to be asked, now that it could be read.
    pub(super) fn ask(&mut self, place: &mut Place<'_>) {
        if let Some((prompt, _)) = self.prompt.take() {
            place.ask(&prompt);
        }
    }

    /// Takes in a line that was typed.
    pub(super) fn typed(&mut self, line: &str, place: &mut Place<'_>) {
        let Some(pending) = self.shown.clone() else {
            if !line.is_empty() {
                place.say(Tone::Quiet, "No escalation pending. Ctrl-C ends the task.");
            }
            return;
        };
        if !self.rows.is_empty() {
            return match line {
                "" => self.page(place),
                "n" => self.answer(&pending, &Reply::Deny, place),
                _ => place
                    .say(Tone::Question, "Look at all of it first: Enter shows more, n denies."),
            };
        }
        if self.prompt.is_some() {
            // SECURITY: nothing is asked yet, so this is no answer.
            return;
        }
        if !self.wishes.is_empty() {
            return self.chosen(line, &pending, place);
        }
        match line {
            "y" => self.answer(&pending, &Reply::Approve(None), place),
            "n" => self.answer(&pending, &Reply::Deny, place),
            "g" => self.offer(&pending, place),
            "d" => self.present(&question(&pending, View::Full), KEYS, place),
            _ => place.say(Tone::Question, KEYS),
        }
    }

    fn show_next(&mut self, place: &mut Place<'_>) {
        if self.shown.is_some() {
            return;
        }
        let pending = place.questions.pending();
        while let Some(id) = self.waiting.pop_front() {
            // One that somebody else answered meanwhile is not shown any more.
            let Some(next) = pending.iter().find(|it| it.request().escalation == id) else {
                continue;
            };
            self.shown = Some(next.clone());
            place.say(Tone::Question, "A call waits for you:");
            self.present(&question(next, View::Short), KEYS, place);
            return;
        }
    }

    /// Answers what is shown.
    fn answer(&mut self, pending: &Pending, reply: &Reply, place: &mut Place<'_>) {
        self.shown = None;
        self.forget();
        match place.questions.resolve(pending, reply) {
            Ok(told) => place.say(Tone::Quiet, &told.to_string()),
            Err(error) => place.say(Tone::Bad, &chain(&error)),
        }
        self.show_next(place);
    }

    /// Shows what can be granted, and asks for one of it.
    fn offer(&mut self, pending: &Pending, place: &mut Place<'_>) {
        let offer = match Offer::of_request(pending.request()) {
            Ok(offer) => offer,
            Err(none) => {
                place.say(Tone::Quiet, &format!("Nothing can be granted: {none}"));
                return;
            }
        };
        let Ok(terms) = Terms::new(SystemClock.now(), LIFETIME, None) else { return };
        self.wishes = offer.choices().into_iter().map(|it| it.with(terms)).collect();
        let mut lines = vec!["This call is forwarded, and".to_owned()];
        for (at, wish) in self.wishes.iter().enumerate() {
            for (n_line, line) in wish.preview().iter().enumerate() {
                let mark = if n_line == 0 { format!("{})", at + 1) } else { String::new() };
                lines.push(format!("  {mark:3} {line}"));
            }
        }
        let numbers: Vec<String> = (1..=self.wishes.len()).map(|it| it.to_string()).collect();
        let numbers = numbers.join(" or ");
        let which = format!("Which one? Type {numbers}; anything else is none.");
        self.present(&lines, &which, place);
    }

    /// Shows something of which the person is to decide, and then asks.
    fn present(&mut self, lines: &[String], prompt: &str, place: &mut Place<'_>) {
        self.rows = screen::rows(lines).into();
        self.prompt = Some((prompt.to_owned(), Instant::now()));
        self.page(place);
    }

    /// Shows as much as the screen has room for.
    ///
    /// SECURITY: what scrolled away was not seen, and the value that matters may be there.
    fn page(&mut self, place: &mut Place<'_>) {
        let room = screen::height().saturating_sub(ROWS_KEPT).max(1);
        for row in self.rows.drain(..room.min(self.rows.len())) {
            place.screen.row(&row);
        }
        match self.rows.len() {
            0 => {
                if let Some((_, at)) = &mut self.prompt {
                    *at = Instant::now() + READING_MIN;
                }
            }
            left => place.ask(&format!("{left} more rows: Enter shows them, n denies.")),
        }
    }

    fn forget(&mut self) {
        self.wishes.clear();
        self.rows.clear();
        self.prompt = None;
    }

    /// Takes the person's choice among the grants.
    fn chosen(&mut self, line: &str, pending: &Pending, place: &mut Place<'_>) {
        let number: Option<usize> = line.parse().ok();
        let wishes = std::mem::take(&mut self.wishes);
        if let Some(wish) = number.and_then(|it| wishes.into_iter().nth(it.checked_sub(1)?)) {
            return self.answer(pending, &Reply::Approve(Some(wish)), place);
        }
        place.say(Tone::Question, &format!("Nothing was granted, and nothing answered. {KEYS}"));
    }
}

impl Place<'_> {
    fn say(&mut self, tone: Tone, text: &str) {
        let paint = self.paint;
        self.screen.progress(&visible(text), |row| paint.text(tone, row));
    }

    /// Asks something new.
    fn ask(&mut self, text: &str) {
        if let Some(terminal) = self.terminal {
            // SECURITY: what was typed before the question was read is no answer to it.
            terminal.forget_typed();
        }
        self.say(Tone::Question, text);
    }
}

fn question(pending: &Pending, view: View) -> Vec<String> {
    lines(pending, view, At::Banner, SystemClock.now())
}

fn is_same(one: &Pending, other: &Pending) -> bool {
    one.request().escalation == other.request().escalation
}
