//! A question of a session at its own terminal: shown, answered with a letter, never by accident.
//!
//! One question at a time, in the order in which they came. What an answer means is decided elsewhere.

use std::collections::VecDeque;

use ic_escalation::display::View;
use ic_escalation::offer::LIFETIME;
use ic_escalation::{Offer, Pending, Reply, Terms, Wish};
use ic_home::{Clock as _, SystemClock};
use ic_session::Questions;
use ic_types::{EscalationId, visible};

use super::paint::{Paint, Tone};
use super::tty::Tty;
use crate::commands::approvals::{At, lines};
use crate::error::chain;
use crate::screen::Screen;

/// What can be typed.
const KEYS: &str = "y approve · n deny · g approve and grant · d details";

/// The questions that wait, of which the first is shown.
#[derive(Debug, Default)]
pub(super) struct Banner {
    shown: Option<Pending>,
    /// The grants of which the person is to choose one.
    wishes: Vec<Wish>,
    waiting: VecDeque<EscalationId>,
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
            self.wishes.clear();
            place.say(Tone::Quiet, how);
        }
        self.show_next(place);
    }

    /// Takes in a line that was typed.
    pub(super) fn typed(&mut self, line: &str, place: &mut Place<'_>) {
        let Some(pending) = self.shown.clone() else {
            if !line.is_empty() {
                place.say(Tone::Quiet, "No escalation pending. Ctrl-C ends the task.");
            }
            return;
        };
        if !self.wishes.is_empty() {
            return self.chosen(line, &pending, place);
        }
        match line {
            "y" => self.answer(&pending, &Reply::Approve(None), place),
            "n" => self.answer(&pending, &Reply::Deny, place),
            "g" => self.offer(&pending, place),
            "d" => {
                place.show(&pending, View::Full);
                place.say(Tone::Question, KEYS);
            }
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
            place.say(Tone::Question, "A call waits for you:");
            place.show(next, View::Short);
            place.ask(KEYS);
            self.shown = Some(next.clone());
            return;
        }
    }

    /// Answers what is shown.
    fn answer(&mut self, pending: &Pending, reply: &Reply, place: &mut Place<'_>) {
        self.shown = None;
        self.wishes.clear();
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
        place.say(Tone::Question, "This call is forwarded, and");
        for (at, wish) in self.wishes.iter().enumerate() {
            for (n_line, line) in wish.preview().iter().enumerate() {
                let mark = if n_line == 0 { format!("{})", at + 1) } else { String::new() };
                place.screen.progress(&format!("  {mark:3} {line}"), str::to_owned);
            }
        }
        let numbers: Vec<String> = (1..=self.wishes.len()).map(|it| it.to_string()).collect();
        let numbers = numbers.join(" or ");
        place.ask(&format!("Which one? Type {numbers}; anything else is none."));
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

    fn show(&mut self, pending: &Pending, view: View) {
        for line in lines(pending, view, At::Banner, SystemClock.now()) {
            self.screen.progress(&line, str::to_owned);
        }
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
