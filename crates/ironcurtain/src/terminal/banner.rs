//! A question at the terminal where it is answered: shown, answered with a letter, never by accident.
//!
//! ```text
//! raised ─▶ shown, page by page ─▶ a moment to read ─▶ asked ─▶ y, n, g, a, d, o, s
//! ```
//!
//! One question at a time, in the order in which they came; questions that differ in little are shown
//! as one [`Group`]. Which key is an answer is for the [`Gate`]; where a question is shown is a [`Stage`]'s
//! business, and what an answer does is the business of what [asks](Asking).

mod answer;
mod asking;
mod keys;
mod shown;
mod typed;

use std::collections::VecDeque;
use std::time::Duration;

use ic_escalation::display::View;
use ic_escalation::{Earlier, Pending, Reply};
use ic_home::{Clock as _, SystemClock};
use ic_terminal::gate::Page;
use ic_terminal::{self as terminal, Gate, Ink};
use ic_types::EscalationId;
use tokio::time::Instant;

pub(crate) use self::asking::Asking;
use self::keys::{Action, KEYS, Key};
use self::shown::{Keys, Laid, Shown, folded, painted};
use super::group::Group;
use super::paint::Tone;
use super::stage::{Echo, Row, Stage};
use crate::own_policy::always::Always;

/// What stands there while a question is read.
const READING: &str = "(read it first; then the keys work)";
const READING_ON: &str = "(read it; then Enter shows more)";
/// What is said where a line is typed instead of a key.
const THEN_ENTER: &str = " (then Enter)";
const NO_ROOM: &str = "Make the window larger: there is no room to show what is asked.";

/// The questions that wait, of which the first is shown.
#[derive(Debug)]
pub(crate) struct Banner {
    gate: Gate<Group>,
    /// When the time of the gate began.
    start: Instant,
    shown: Option<Shown>,
    waiting: VecDeque<EscalationId>,
    /// Those that the person wants to answer one by one.
    apart: Vec<EscalationId>,
    /// What was laid out and is not on the screen yet.
    undrawn: Option<Undrawn>,
    /// When what was spoilt is drawn again.
    redraw_at: Option<Instant>,
    /// Why what was typed did not count.
    hint: Option<String>,
    /// What adds to the policy, where that is offered.
    always: Option<Always>,
    /// How it is asked where this banner stands.
    manner: Manner,
    /// What was asked before.
    earlier: Earlier,
}

/// How it is asked.
#[derive(Clone, Copy, Debug)]
struct Manner {
    echo: Echo,
    /// What can be typed besides the keys of a question.
    further: &'static str,
}

/// How what is drawn next differs from what stood there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Undrawn {
    Anew,
    NextPage,
    Again,
}

/// Where a banner is shown, and answered.
pub(crate) struct Place<'a> {
    pub(crate) questions: &'a dyn Asking,
    pub(crate) stage: &'a mut dyn Stage,
}

/// Which questions there are.
impl Banner {
    pub(crate) fn new() -> Self {
        Self {
            gate: Gate::shut(),
            start: Instant::now(),
            shown: None,
            waiting: VecDeque::new(),
            apart: Vec::new(),
            undrawn: None,
            redraw_at: None,
            hint: None,
            always: None,
            manner: Manner { echo: Echo::Apart, further: "" },
            earlier: Earlier::default(),
        }
    }

    /// Offers *always* too, from the next question on.
    pub(crate) fn offer_always(&mut self, always: Option<Always>) {
        self.always = always;
    }

    /// Takes in a question that was raised.
    pub(crate) fn raised(&mut self, id: EscalationId, place: &mut Place<'_>) {
        if !self.holds(&id) && !self.waiting.contains(&id) {
            self.waiting.push_back(id);
        }
        self.show_next(place);
    }

    /// Takes note that a question is over, however that came.
    pub(crate) fn ended(&mut self, id: &EscalationId, how: &str, place: &mut Place<'_>) {
        self.waiting.retain(|it| it != id);
        if self.holds(id)
            && let Some(group) = self.close(place)
        {
            place.stage.say(Tone::Quiet, how);
            // What is left of them is shown anew, so that what stands there is what is asked about.
            self.wait_again(&group, id);
        }
        self.show_next(place);
    }

    /// Takes note of which questions wait, after news of them were missed.
    pub(crate) fn recheck(&mut self, place: &mut Place<'_>) {
        let pending = place.questions.pending();
        let is_pending = |it: &Pending| pending.iter().any(|other| it.asks_the_same_as(other));
        if self.shown.as_ref().is_some_and(|it| !it.group.all().all(is_pending)) {
            self.close(place);
            place.stage.say(Tone::Quiet, "The request was answered, has changed, or is over.");
        }
        self.waiting.retain(|id| pending.iter().any(|it| it.request().escalation == *id));
        for it in &pending {
            self.earlier.note(it.number(), it.request());
            self.raised(it.request().escalation.clone(), place);
        }
    }

    /// Returns whether a question stands there, or is about to.
    pub(crate) fn is_asking(&self) -> bool {
        self.shown.is_some()
    }

    /// Returns the question that stands there; the first one of several.
    pub(crate) fn standing(&self) -> Option<&Pending> {
        self.shown.as_ref().map(|shown| shown.group.first())
    }

    /// Returns whether a letter or a digit means something to what stands there.
    pub(crate) fn takes(&self, c: char) -> bool {
        match self.shown.as_ref().map(|shown| &shown.keys) {
            Some(&Keys::Table { has_always, .. }) => match Key::of(c.encode_utf8(&mut [0; 4])) {
                // A key that means nothing to this question begins a message.
                Some(key) => match key.action {
                    Action::Skip => !self.waiting.is_empty(),
                    Action::Apart => 1 < self.n_calls(),
                    Action::Always => has_always,
                    Action::Approve | Action::Deny | Action::Grant | Action::Details => true,
                },
                None => false,
            },
            Some(Keys::Choice(_)) => {
                c.is_ascii_digit() || KEYS.iter().any(|key| key.letter.starts_with(c))
            }
            None => false,
        }
    }

    /// Returns what a key is typed as, if it may be an answer to what stands there.
    pub(crate) fn word_of(&self, key: &terminal::Key, is_alone: bool) -> Option<String> {
        if !self.is_asking() {
            return None;
        }
        match key {
            // In one piece with others it is the beginning of a message, or of nothing.
            terminal::Key::Char(_) | terminal::Key::Enter if !is_alone => None,
            terminal::Key::Char(c) if self.takes(*c) => Some(c.to_string()),
            terminal::Key::Enter => Some(String::new()),
            // A paste is no answer, but may be a message.
            _ => None,
        }
    }

    /// Returns the numbers of the questions that stand there.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        let shown = self.shown.iter();
        shown.flat_map(|it| it.group.all().map(Pending::number)).collect()
    }

    /// Returns how many calls are asked about at once.
    fn n_calls(&self) -> usize {
        self.shown.as_ref().map_or(0, |shown| shown.group.len())
    }

    /// Returns whether the question with this number stands there.
    pub(crate) fn shows(&self, number: u64) -> bool {
        self.shown.as_ref().is_some_and(|it| it.group.all().any(|it| it.number() == number))
    }

    /// Returns whether this question stands there.
    pub(crate) fn holds(&self, id: &EscalationId) -> bool {
        self.shown.as_ref().is_some_and(|it| it.group.holds(id))
    }

    /// Returns whether what stands there is not the question but what a grant or an addition would do.
    pub(crate) fn is_choosing(&self) -> bool {
        self.shown.as_ref().is_some_and(|it| !it.wishes.is_empty() || it.always.is_some())
    }

    /// Shows the question with this number, in place of the one that stands there; `false` if there is none.
    pub(crate) fn bring(&mut self, number: u64, place: &mut Place<'_>) -> bool {
        self.shows(number) || self.bring_anew(number, place)
    }

    /// Likewise, also if it stands there already: with others beside it that may not be those of before.
    pub(crate) fn bring_anew(&mut self, number: u64, place: &mut Place<'_>) -> bool {
        let pending = place.questions.pending();
        let Some(wanted) = pending.iter().find(|it| it.number() == number) else { return false };
        if let Some(group) = self.withdraw() {
            self.wait_again(&group, &wanted.request().escalation);
        }
        self.waiting.retain(|it| *it != wanted.request().escalation);
        self.waiting.push_front(wanted.request().escalation.clone());
        self.show_next(place);
        true
    }

    /// Shows the questions with these numbers as one, each in full, in place of what stands there; says how
    /// many of them still wait.
    pub(crate) fn bring_all(&mut self, numbers: &[u64], place: &mut Place<'_>) -> usize {
        let pending = place.questions.pending().into_iter();
        let wanted = pending.filter(|it| numbers.contains(&it.number())).collect();
        let Some(group) = Group::listed(wanted) else { return 0 };
        if let Some(before) = self.withdraw() {
            self.wait_again(&before, &group.first().request().escalation);
        }
        self.waiting.retain(|it| !group.holds(it));
        let n_calls = group.len();
        self.show(group);
        n_calls
    }

    /// Denies the question with this number, which need not stand there; `false` if there is none.
    pub(crate) fn deny(&mut self, number: u64, place: &mut Place<'_>) -> bool {
        let pending = place.questions.pending();
        let Some(wanted) = pending.into_iter().find(|it| it.number() == number) else {
            return false;
        };
        let id = wanted.request().escalation.clone();
        self.waiting.retain(|it| *it != id);
        if self.shows(number)
            && let Some(group) = self.close(place)
        {
            self.wait_again(&group, &id);
        }
        let (tone, said) = self.settle(&wanted, &Reply::Deny, place);
        place.stage.say(tone, &said);
        self.show_next(place);
        true
    }

    fn show_next(&mut self, place: &mut Place<'_>) {
        if self.shown.is_some() || self.waiting.is_empty() {
            return;
        }
        self.manner = Manner { echo: place.stage.echo(), further: place.questions.further_keys() };
        let pending = place.questions.pending();
        for it in &pending {
            self.earlier.note(it.number(), it.request());
        }
        let names = |it: &Pending, id: &EscalationId| it.request().escalation == *id;
        self.apart.retain(|id| pending.iter().any(|it| names(it, id)));
        let is_apart = |it: &Pending| self.apart.iter().any(|id| names(it, id));
        let groupable: Vec<Pending> = pending.iter().filter(|it| !is_apart(it)).cloned().collect();
        while let Some(id) = self.waiting.pop_front() {
            // One that somebody else answered meanwhile is not shown any more.
            let Some(next) = pending.iter().find(|it| it.request().escalation == id) else {
                continue;
            };
            let group = match self.apart.contains(&id) {
                true => Group::alone(next.clone()),
                false => place.questions.group(next, &groupable),
            };
            self.waiting.retain(|it| !group.holds(it));
            return self.show(group);
        }
    }

    /// Puts questions on the screen that are answered together.
    fn show(&mut self, group: Group) {
        let heading = match group.len() {
            1 => "Approval request:".to_owned(),
            n_calls => format!("{n_calls} calls need approval; you answer them together:"),
        };
        let now = SystemClock.now();
        let short = group.lines(View::Short, now);
        let has_details = group.lines(View::Full, now) != short;
        let mut lines = vec![Row { ink: Ink::Question, text: heading }];
        lines.extend(painted(short));
        lines.extend(self.since(&group));
        let keys = Keys::Table { has_details, has_always: self.has_always(&group) };
        let wishes = Vec::new();
        self.present(Shown { group, wishes, always: None, lines, keys, laid: None });
    }

    /// Returns whether an addition to the policy is offered for what is asked.
    fn has_always(&self, group: &Group) -> bool {
        self.always.is_some() && Always::is_possible(group.first().request())
    }

    /// Puts something on the screen of which the person is to decide.
    fn present(&mut self, shown: Shown) {
        self.withdraw();
        self.shown = Some(shown);
    }

    /// Takes what stands there away.
    fn withdraw(&mut self) -> Option<Group> {
        self.gate.withdrawn();
        (self.undrawn, self.redraw_at, self.hint) = (None, None, None);
        self.shown.take().map(|shown| shown.group)
    }

    /// Takes what stands there away, and leaves it behind to be looked up.
    fn close(&mut self, place: &mut Place<'_>) -> Option<Group> {
        if let Some(Shown { laid: Some(laid), .. }) = &self.shown {
            place.stage.leave(&laid.rows);
        }
        self.withdraw()
    }

    /// Puts what was shown together back to what waits, but for one.
    fn wait_again(&mut self, group: &Group, but: &EscalationId) {
        let ids = group.all().map(|it| it.request().escalation.clone());
        for id in ids.filter(|id| id != but).collect::<Vec<_>>().into_iter().rev() {
            self.waiting.push_front(id);
        }
    }
}

/// What stands on the screen, and since when.
impl Banner {
    /// Lays out what is to be shown for the room that there is now; the caller says when it was sent.
    ///
    /// SECURITY: what is not on the screen was not seen, and the value that matters may be there.
    pub(crate) fn fit(&mut self, place: &mut Place<'_>) {
        let is_time = self.redraw_at.is_some_and(|at| at <= Instant::now());
        let Some(shown) = &mut self.shown else { return };
        let room = shown.room(place);
        let undrawn = match &shown.laid {
            Some(laid) if laid.room == room => match (self.undrawn, self.gate.is_disturbed()) {
                (Some(undrawn), _) => undrawn,
                (None, true) if is_time => Undrawn::Again,
                (None, _) => return,
            },
            _ => {
                let rows = folded(&shown.lines, room.columns);
                let page = Page { from: 0, to: room.rows.min(rows.len()), of: rows.len() };
                shown.laid = Some(Laid { room, rows, page });
                Undrawn::Anew
            }
        };
        if let Some(hint) = self.hint.as_ref().filter(|_| place.stage.echo() == Echo::Below) {
            place.stage.say(Tone::Quiet, &format!("({hint})"));
        }
        place.stage.draw(shown.rows());
        (self.undrawn, self.redraw_at) = (Some(undrawn), None);
        // Nothing answers what stood there before.
        self.gate.disturbed();
    }

    /// Takes note that what was laid out is on the screen now.
    pub(crate) fn drawn(&mut self) {
        let now = self.now();
        let (Some(undrawn), Some(shown)) = (self.undrawn.take(), &self.shown) else { return };
        match undrawn {
            Undrawn::Anew if shown.is_shortened() => {
                self.gate.stands_shortened(shown.group.clone(), shown.page(), now);
            }
            Undrawn::Anew => self.gate.stands(shown.group.clone(), shown.page(), now),
            Undrawn::NextPage => self.gate.paged(shown.page(), now),
            Undrawn::Again => self.gate.drawn_again(now),
        }
    }

    /// Takes note that something else was printed: what stands there is drawn again.
    pub(crate) fn disturbed(&mut self) {
        self.spoil(Duration::ZERO);
    }

    /// Returns when there is something to do, with nothing happening before.
    pub(crate) fn wakes_at(&self) -> Option<Instant> {
        let opens_at = self.gate.opens_at().map(|at| self.start + at);
        self.redraw_at.or(opens_at)
    }

    /// Asks what is to be asked, now that it could be read.
    pub(crate) fn wake(&mut self, place: &mut Place<'_>) {
        let is_time = self.gate.opens_at().is_some_and(|at| at <= self.now());
        if is_time && place.stage.is_read() && self.gate.open(self.now()) {
            place.stage.ask(&self.prompt());
        }
    }

    /// Returns the rows of the question that stand on the screen.
    pub(crate) fn rows(&self) -> &[Row] {
        self.shown.as_ref().map(Shown::rows).unwrap_or_default()
    }

    /// Returns what stands below the question: what can be typed, or that it is to be read first.
    pub(crate) fn asked(&self) -> Option<String> {
        let shown = self.shown.as_ref()?;
        Some(match (self.gate.is_open(), shown.has_more()) {
            (true, _) => self.prompt(),
            (false, _) if shown.has_no_room() => NO_ROOM.to_owned(),
            (false, false) => READING.to_owned(),
            (false, true) => READING_ON.to_owned(),
        })
    }

    /// Returns what can be typed once the question was read.
    pub(crate) fn prompt(&self) -> String {
        let Some(shown) = &self.shown else { return String::new() };
        if shown.has_no_room() {
            return NO_ROOM.to_owned();
        }
        let page = shown.page();
        let prompt = match (page.of - page.to, self.manner.echo) {
            (0, Echo::Apart) => self.keys(shown),
            (0, Echo::Below) => format!("{}{THEN_ENTER}", self.keys(shown)),
            (1, Echo::Apart) => "1 more row: Enter shows it, n denies.".to_owned(),
            (1, Echo::Below) => "1 more row: Enter shows it, n and Enter denies.".to_owned(),
            (left, Echo::Apart) => format!("{left} more rows: Enter shows them, n denies."),
            (left, Echo::Below) => {
                format!("{left} more rows: Enter shows them, n and Enter denies.")
            }
        };
        match self.waiting.len() {
            0 => prompt,
            left => format!("{prompt} · {left} more wait"),
        }
    }

    /// Returns everything that may stand below the question while it stands there, as long as it can be.
    ///
    /// What has room for the longest of them has room for the others, so that another page, or another
    /// question that waits, does not make the question smaller and its reading begin anew.
    pub(crate) fn longest_prompts(&self) -> Vec<String> {
        let Some(shown) = &self.shown else { return Vec::new() };
        let keys = format!("{}{} · 999 more wait", shown.keys(999), self.manner.further);
        let more = "9999 more rows: Enter shows them, n denies. · 999 more wait".to_owned();
        vec![keys, more, READING.to_owned(), READING_ON.to_owned(), NO_ROOM.to_owned()]
    }

    /// Says what can be typed for what stands there.
    fn keys(&self, shown: &Shown) -> String {
        let keys = shown.keys(self.waiting.len());
        match shown.keys {
            Keys::Table { .. } => format!("{keys}{}", self.manner.further),
            Keys::Choice(_) => keys,
        }
    }

    /// Returns why what was typed did not count.
    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

#[cfg(test)]
mod tests;
