//! A question of a session at its own terminal: shown, answered with a letter, never by accident.
//!
//! ```text
//! raised ─▶ shown, page by page ─▶ a moment to read ─▶ asked ─▶ y, n, g, d
//! ```
//!
//! One question at a time, in the order in which they came; questions that differ in little are shown
//! as one [`Group`]. Nobody can say yes to what did not stand on the screen, or stood there for the blink
//! of an eye. What an answer means is decided elsewhere, and where it is shown is a [`Stage`]'s business.

use std::collections::VecDeque;
use std::time::Duration;

use ic_escalation::display::View;
use ic_escalation::offer::LIFETIME;
use ic_escalation::{Offer, Pending, Reply, Terms, Wish};
use ic_home::{Clock as _, SystemClock};
use ic_session::Questions;
use ic_types::EscalationId;
use tokio::time::Instant;

use super::group::Group;
use super::paint::Tone;
use super::stage::Stage;
use crate::error::chain;

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
    shown: Option<Group>,
    /// The grants of which the person is to choose one.
    wishes: Vec<Wish>,
    waiting: VecDeque<EscalationId>,
    /// What is still to be shown before anything is asked.
    rows: VecDeque<String>,
    /// What is asked next, and not before that moment.
    prompt: Option<(String, Instant)>,
    /// What is asked now.
    asked: Option<String>,
}

/// Where a banner is shown, and answered.
pub(super) struct Place<'a> {
    pub(super) questions: &'a Questions,
    pub(super) stage: &'a mut dyn Stage,
}

impl Banner {
    /// Takes in a question that was raised.
    pub(super) fn raised(&mut self, id: EscalationId, place: &mut Place<'_>) {
        let is_shown = self.shown.as_ref().is_some_and(|it| it.holds(&id));
        if !is_shown && !self.waiting.contains(&id) {
            self.waiting.push_back(id);
        }
        self.show_next(place);
    }

    /// Takes note that a question is over, however that came.
    pub(super) fn ended(&mut self, id: &EscalationId, how: &str, place: &mut Place<'_>) {
        self.waiting.retain(|it| it != id);
        if let Some(group) = self.shown.take_if(|it| it.holds(id)) {
            self.forget();
            place.stage.say(Tone::Quiet, how);
            // What is left of them is shown anew, so that what stands there is what is asked about.
            self.wait_again(&group, id);
        }
        self.show_next(place);
    }

    /// Takes note of which questions wait, after news of them were missed.
    pub(super) fn recheck(&mut self, place: &mut Place<'_>) {
        let pending = place.questions.pending();
        let is_pending = |it: &Pending| pending.iter().any(|other| is_same(it, other));
        if self.shown.take_if(|group| !group.all().all(is_pending)).is_some() {
            self.forget();
            place.stage.say(Tone::Quiet, "The question was answered, or is over.");
        }
        for it in &pending {
            self.raised(it.request().escalation.clone(), place);
        }
    }

    /// Returns whether a question stands there.
    pub(super) fn is_asking(&self) -> bool {
        self.shown.is_some()
    }

    /// Returns what is asked now.
    pub(super) fn asked(&self) -> Option<&str> {
        self.asked.as_deref()
    }

    /// Returns whether a key can be an answer now.
    pub(super) fn takes_keys(&self) -> bool {
        self.shown.is_some() && (self.prompt.is_none() || !self.rows.is_empty())
    }

    /// Returns when the person is asked, if something stands there that they are to read first.
    pub(super) fn asks_at(&self) -> Option<Instant> {
        self.prompt.as_ref().filter(|_| self.rows.is_empty()).map(|(_, at)| *at)
    }

    /// Asks what is to be asked, now that it could be read.
    pub(super) fn ask(&mut self, place: &mut Place<'_>) {
        if let Some((prompt, _)) = self.prompt.take() {
            let prompt = match self.waiting.len() {
                0 => prompt,
                left => format!("{prompt} · {left} more wait"),
            };
            place.stage.ask(&prompt);
            self.asked = Some(prompt);
        }
    }

    /// Takes note that somebody types while they should read: the moment to read begins anew.
    ///
    /// SECURITY: whoever is typing something else never answers with the next letter of it.
    pub(super) fn hurried(&mut self) {
        if self.rows.is_empty()
            && let Some((_, at)) = &mut self.prompt
        {
            *at = Instant::now() + READING_MIN;
        }
    }

    /// Takes in a line that was typed.
    pub(super) fn typed(&mut self, line: &str, place: &mut Place<'_>) {
        let Some(group) = self.shown.clone() else {
            if !line.is_empty() {
                place.stage.say(Tone::Quiet, "No escalation pending. Ctrl-C ends the task.");
            }
            return;
        };
        if !self.rows.is_empty() {
            return match line {
                "" => self.page(place),
                "n" => self.answer(&group, &Reply::Deny, place),
                _ => place
                    .stage
                    .say(Tone::Question, "Look at all of it first: Enter shows more, n denies."),
            };
        }
        if self.prompt.is_some() {
            // SECURITY: nothing is asked yet, so this is no answer.
            return;
        }
        if !self.wishes.is_empty() {
            return self.chosen(line, &group, place);
        }
        match line {
            "y" => self.answer(&group, &Reply::Approve(None), place),
            "n" => self.answer(&group, &Reply::Deny, place),
            "g" => self.offer(&group, place),
            "d" => self.present(&group.lines(View::Full), KEYS, place),
            _ => place.stage.say(Tone::Question, KEYS),
        }
    }

    /// Returns whether the question with this number stands there.
    pub(super) fn shows(&self, number: u64) -> bool {
        self.shown.as_ref().is_some_and(|it| it.all().any(|it| it.number() == number))
    }

    /// Shows the question with this number, in place of the one that stands there; `false` if there is none.
    pub(super) fn bring(&mut self, number: u64, place: &mut Place<'_>) -> bool {
        let pending = place.questions.pending();
        let Some(wanted) = pending.iter().find(|it| it.number() == number) else { return false };
        if self.shown.as_ref().is_some_and(|it| it.holds(&wanted.request().escalation)) {
            return true;
        }
        if let Some(group) = self.shown.take() {
            self.forget();
            self.wait_again(&group, &wanted.request().escalation);
        }
        self.waiting.retain(|it| *it != wanted.request().escalation);
        self.waiting.push_front(wanted.request().escalation.clone());
        self.show_next(place);
        true
    }

    /// Denies the question with this number, which need not stand there; `false` if there is none.
    pub(super) fn deny(&mut self, number: u64, place: &mut Place<'_>) -> bool {
        let pending = place.questions.pending();
        let Some(wanted) = pending.into_iter().find(|it| it.number() == number) else {
            return false;
        };
        let id = wanted.request().escalation.clone();
        let said = settle(&wanted, &Reply::Deny, place);
        place.stage.say(said.0, &said.1);
        self.waiting.retain(|it| *it != id);
        if let Some(group) = self.shown.take_if(|it| it.holds(&id)) {
            self.forget();
            self.wait_again(&group, &id);
        }
        self.show_next(place);
        true
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
            let group = Group::of(next.clone(), &pending);
            self.waiting.retain(|it| !group.holds(it));
            place.stage.say(
                Tone::Question,
                &match group.len() {
                    1 => "A call waits for you:".to_owned(),
                    n_calls => format!("{n_calls} calls wait for you, to be answered together:"),
                },
            );
            let lines = group.lines(View::Short);
            self.shown = Some(group);
            self.present(&lines, KEYS, place);
            return;
        }
    }

    /// Answers what is shown.
    fn answer(&mut self, group: &Group, reply: &Reply, place: &mut Place<'_>) {
        self.shown = None;
        self.forget();
        let mut told: Vec<(Tone, String, usize)> = Vec::new();
        for pending in group.all() {
            let (tone, said) = settle(pending, reply, place);
            match told.iter_mut().find(|(_, other, _)| *other == said) {
                Some((_, _, count)) => *count += 1,
                None => told.push((tone, said, 1)),
            }
        }
        for (tone, said, count) in told {
            let count = if 1 < count { format!(" ({count} calls)") } else { String::new() };
            place.stage.say(tone, &format!("{said}{count}"));
        }
        self.show_next(place);
    }

    /// Shows what can be granted, and asks for one of it.
    fn offer(&mut self, group: &Group, place: &mut Place<'_>) {
        let offer = match Offer::of_request(group.first().request()) {
            Ok(offer) => offer,
            Err(none) => {
                place.stage.say(Tone::Quiet, &format!("Nothing can be granted: {none}"));
                return;
            }
        };
        let Ok(terms) = Terms::new(SystemClock.now(), LIFETIME, None) else { return };
        self.wishes = offer.choices().into_iter().map(|it| it.with(terms)).collect();
        let mut lines = match group.len() {
            1 => vec!["This call is forwarded, and".to_owned()],
            _ => vec![format!("Call #{} alone is forwarded, and", group.first().number())],
        };
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
        self.asked = None;
        self.rows = place.stage.rows(lines).into();
        self.prompt = Some((prompt.to_owned(), Instant::now()));
        self.page(place);
    }

    /// Shows as much as the screen has room for.
    ///
    /// SECURITY: what scrolled away was not seen, and the value that matters may be there.
    fn page(&mut self, place: &mut Place<'_>) {
        let room = place.stage.height().saturating_sub(ROWS_KEPT).max(1);
        for row in self.rows.drain(..room.min(self.rows.len())) {
            place.stage.row(&row);
        }
        self.asked = None;
        match self.rows.len() {
            0 => {
                if let Some((_, at)) = &mut self.prompt {
                    *at = Instant::now() + READING_MIN;
                }
            }
            left => {
                let more = format!("{left} more rows: Enter shows them, n denies.");
                place.stage.ask(&more);
                self.asked = Some(more);
            }
        }
    }

    fn forget(&mut self) {
        self.wishes.clear();
        self.rows.clear();
        self.prompt = None;
        self.asked = None;
    }

    /// Puts what was shown together back to what waits, but for one.
    fn wait_again(&mut self, group: &Group, but: &EscalationId) {
        let ids = group.all().map(|it| it.request().escalation.clone());
        for id in ids.filter(|id| id != but).collect::<Vec<_>>().into_iter().rev() {
            self.waiting.push_front(id);
        }
    }

    /// Takes the person's choice among the grants.
    fn chosen(&mut self, line: &str, group: &Group, place: &mut Place<'_>) {
        let number: Option<usize> = line.parse().ok();
        let wishes = std::mem::take(&mut self.wishes);
        let Some(wish) = number.and_then(|it| wishes.into_iter().nth(it.checked_sub(1)?)) else {
            let none = format!("Nothing was granted, and nothing answered. {KEYS}");
            place.stage.say(Tone::Question, &none);
            self.asked = Some(KEYS.to_owned());
            return;
        };
        let first = group.first();
        self.shown = None;
        self.forget();
        let (tone, said) = settle(first, &Reply::Approve(Some(wish)), place);
        place.stage.say(tone, &said);
        self.wait_again(group, &first.request().escalation);
        self.show_next(place);
    }
}

/// Answers one question, and returns what is said about it.
fn settle(pending: &Pending, reply: &Reply, place: &Place<'_>) -> (Tone, String) {
    match place.questions.resolve(pending, reply) {
        Ok(told) => (Tone::Quiet, told.to_string()),
        Err(error) => (Tone::Bad, chain(&error)),
    }
}

fn is_same(one: &Pending, other: &Pending) -> bool {
    one.request().escalation == other.request().escalation
}

#[cfg(test)]
mod tests;
