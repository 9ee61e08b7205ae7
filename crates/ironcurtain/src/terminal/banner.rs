//! A question at the terminal where it is answered: shown, answered with a letter, never by accident.
//!
//! ```text
//! raised ─▶ shown, page by page ─▶ a moment to read ─▶ asked ─▶ y, n, g, d
//! ```
//!
//! One question at a time, in the order in which they came; questions that differ in little are shown
//! as one [`Group`]. Which key is an answer is for the [`Gate`]; where a question is shown is a [`Stage`]'s
//! business, and what an answer does that of whoever [asks](Asking).

mod answer;

use std::collections::VecDeque;
use std::time::Duration;

use ic_escalation::display::View;
use ic_escalation::{Pending, Reply, Wish};
use ic_session::Questions;
use ic_terminal::Gate;
use ic_terminal::gate::{Arrival, NotYet, Page, QUIET, Reach};
use ic_types::EscalationId;
use tokio::time::Instant;

use super::group::Group;
use super::paint::Tone;
use super::stage::{Echo, Room, Stage};
use crate::error::chain;
use crate::own_policy::always::{Always, AlwaysOffer};
use crate::screen::fold;

/// What can be typed.
const KEYS: &str = "y approve · n deny · g approve and grant · d details";
/// What stands there while a question is read.
const READING: &str = "(read it; then y, n, g and d are taken)";
const READING_ON: &str = "(read it; then Enter shows more)";
const NO_ROOM: &str = "Make the window larger: there is no room to show what is asked.";

/// The questions that wait, of which the first is shown.
#[derive(Debug)]
pub(crate) struct Banner {
    gate: Gate<Group>,
    /// When the time of the gate began.
    start: Instant,
    shown: Option<Shown>,
    waiting: VecDeque<EscalationId>,
    /// What was laid out and is not on the screen yet.
    undrawn: Option<Undrawn>,
    /// When what was spoilt is drawn again.
    redraw_at: Option<Instant>,
    /// Why what was typed did not count.
    hint: Option<String>,
    /// What adds to the policy, where that is offered.
    always: Option<Always>,
}

/// What is to stand on the screen.
#[derive(Debug)]
struct Shown {
    group: Group,
    /// The grants of which the person is to choose one.
    wishes: Vec<Wish>,
    /// What is to be added to the policy if the person says so.
    always: Option<AlwaysOffer>,
    lines: Vec<String>,
    n_headings: usize,
    /// What can be typed.
    keys: String,
    laid: Option<Laid>,
}

/// Rows, and which of them stand on the screen.
#[derive(Debug)]
struct Laid {
    room: Room,
    rows: Vec<String>,
    page: Page,
}

/// How what is drawn next differs from what stood there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Undrawn {
    Anew,
    NextPage,
    Again,
}

/// Whoever asks, and takes the answers.
pub(crate) trait Asking {
    /// Returns what waits now.
    fn pending(&self) -> Vec<Pending>;

    /// Returns what is shown together with `first`.
    fn group(&self, first: &Pending, pending: &[Pending]) -> Group;

    /// Says what can be typed.
    fn keys(&self, group: &Group) -> String;

    /// Answers one question, and returns what is said about it.
    fn settle(&self, pending: &Pending, reply: &Reply) -> (Tone, String);
}

impl Asking for Questions {
    fn pending(&self) -> Vec<Pending> {
        self.pending()
    }

    fn group(&self, first: &Pending, pending: &[Pending]) -> Group {
        Group::of(first.clone(), pending)
    }

    fn keys(&self, _: &Group) -> String {
        KEYS.to_owned()
    }

    fn settle(&self, pending: &Pending, reply: &Reply) -> (Tone, String) {
        match self.resolve(pending, reply) {
            Ok(told) => (Tone::Quiet, told.to_string()),
            Err(error) => (Tone::Bad, chain(&error)),
        }
    }
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
            undrawn: None,
            redraw_at: None,
            hint: None,
            always: None,
        }
    }

    /// Offers *always* too.
    pub(crate) fn offering(self, always: Option<Always>) -> Self {
        Self { always, ..self }
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
        let is_pending = |it: &Pending| pending.iter().any(|other| it.request() == other.request());
        if self.shown.as_ref().is_some_and(|it| !it.group.all().all(is_pending)) {
            self.close(place);
            place.stage.say(Tone::Quiet, "The question was answered, has changed, or is over.");
        }
        for it in &pending {
            self.raised(it.request().escalation.clone(), place);
        }
    }

    /// Returns whether a question stands there, or is about to.
    pub(crate) fn is_asking(&self) -> bool {
        self.shown.is_some()
    }

    /// Returns whether the question with this number stands there.
    pub(crate) fn shows(&self, number: u64) -> bool {
        self.shown.as_ref().is_some_and(|it| it.group.all().any(|it| it.number() == number))
    }

    /// Returns whether this question stands there.
    pub(crate) fn holds(&self, id: &EscalationId) -> bool {
        self.shown.as_ref().is_some_and(|it| it.group.holds(id))
    }

    /// Returns whether one of several grants is to be chosen.
    pub(crate) fn is_choosing(&self) -> bool {
        self.shown.as_ref().is_some_and(|it| !it.wishes.is_empty())
    }

    /// Shows the question with this number, in place of the one that stands there; `false` if there is none.
    pub(crate) fn bring(&mut self, number: u64, place: &mut Place<'_>) -> bool {
        let pending = place.questions.pending();
        let Some(wanted) = pending.iter().find(|it| it.number() == number) else { return false };
        if self.shown.as_ref().is_some_and(|it| it.group.holds(&wanted.request().escalation)) {
            return true;
        }
        if let Some(group) = self.withdraw() {
            self.wait_again(&group, &wanted.request().escalation);
        }
        self.waiting.retain(|it| *it != wanted.request().escalation);
        self.waiting.push_front(wanted.request().escalation.clone());
        self.show_next(place);
        true
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
        let (tone, said) = place.questions.settle(&wanted, &Reply::Deny);
        place.stage.say(tone, &said);
        self.show_next(place);
        true
    }

    fn show_next(&mut self, place: &mut Place<'_>) {
        if self.shown.is_some() || self.waiting.is_empty() {
            return;
        }
        let pending = place.questions.pending();
        while let Some(id) = self.waiting.pop_front() {
            // One that somebody else answered meanwhile is not shown any more.
            let Some(next) = pending.iter().find(|it| it.request().escalation == id) else {
                continue;
            };
            let group = place.questions.group(next, &pending);
            self.waiting.retain(|it| !group.holds(it));
            let heading = match group.len() {
                1 => "A call waits for you:".to_owned(),
                n_calls => format!("{n_calls} calls wait for you, to be answered together:"),
            };
            let mut lines = vec![heading];
            lines.extend(group.lines(View::Short));
            let keys = self.keys(&group, place);
            self.present(Shown {
                group,
                wishes: Vec::new(),
                always: None,
                lines,
                n_headings: 1,
                keys,
                laid: None,
            });
            return;
        }
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
        if let Some(Shown { laid: Some(laid), n_headings, .. }) = &self.shown {
            place.stage.leave(&laid.rows, *n_headings);
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
    /// Lays out what is to be shown for the room that there is now; whoever has sent it says so.
    ///
    /// SECURITY: what is not on the screen was not seen, and the value that matters may be there.
    pub(crate) fn fit(&mut self, place: &mut Place<'_>) {
        let is_time = self.redraw_at.is_some_and(|at| at <= Instant::now());
        let Some(shown) = &mut self.shown else { return };
        let room = shown.room(place.stage);
        let undrawn = match &shown.laid {
            Some(laid) if laid.room == room => match (self.undrawn, self.gate.is_disturbed()) {
                (Some(undrawn), _) => undrawn,
                (None, true) if is_time => Undrawn::Again,
                (None, _) => return,
            },
            _ => {
                let rows = fold(&shown.lines, room.columns);
                let page = Page { from: 0, to: room.rows.min(rows.len()), of: rows.len() };
                shown.laid = Some(Laid { room, rows, page });
                Undrawn::Anew
            }
        };
        if let Some(hint) = self.hint.as_ref().filter(|_| place.stage.echo() == Echo::Below) {
            place.stage.say(Tone::Quiet, &format!("({hint})"));
        }
        let n_headings = shown.n_headings.saturating_sub(shown.page().from);
        place.stage.draw(shown.rows(), n_headings);
        (self.undrawn, self.redraw_at) = (Some(undrawn), None);
        // Nothing answers what stood there before.
        self.gate.disturbed();
    }

    /// Takes note that what was laid out is on the screen now.
    pub(crate) fn drawn(&mut self) {
        let now = self.now();
        let (Some(undrawn), Some(shown)) = (self.undrawn.take(), &self.shown) else { return };
        match undrawn {
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

    /// Returns the rows of the question that stand on the screen, and how many of them are headings.
    pub(crate) fn rows(&self) -> (&[String], usize) {
        let Some(shown) = &self.shown else { return (&[], 0) };
        (shown.rows(), shown.n_headings.saturating_sub(shown.page().from))
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
        let prompt = match page.of - page.to {
            0 => shown.keys.clone(),
            left => format!("{left} more rows: Enter shows them, n denies."),
        };
        match self.waiting.len() {
            0 => prompt,
            left => format!("{prompt} · {left} more wait"),
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

/// What is typed.
impl Banner {
    /// Takes note that something was read; of the keys in it is told afterwards.
    pub(crate) fn arrives(&mut self, arrival: Arrival) {
        self.hint = None;
        self.gate.arrives(arrival, self.now());
    }

    /// Takes note that something was typed below the question that is no line.
    pub(crate) fn arrives_below(&mut self) {
        self.arrives(Arrival::Mixed);
        self.spoil(QUIET);
    }

    /// Takes note that a line is begun, after `n_keys` others that were read with its first key.
    pub(crate) fn line_begins(&mut self, n_keys: usize) {
        self.gate.line_begins(n_keys);
    }

    /// Returns what a command answers whose line ends now.
    pub(crate) fn line_ends(&mut self, reach: Reach) -> Result<Group, NotYet> {
        self.gate.line_ends(reach).cloned()
    }

    /// Takes in a key, or a line, that was just read alone.
    pub(crate) fn typed(&mut self, word: &str, place: &mut Place<'_>) {
        if self.shown.is_none() {
            if !word.is_empty() {
                place.stage.say(Tone::Quiet, "No escalation pending. Ctrl-C ends the task.");
            }
            return;
        }
        // SECURITY: the window may be smaller than it was when the question was drawn.
        let is_as_drawn =
            |it: &Shown| it.laid.as_ref().is_some_and(|laid| laid.room == it.room(place.stage));
        if !self.shown.as_ref().is_some_and(is_as_drawn) {
            self.gate.disturbed();
        }
        let reach = if matches!(word, "" | "n") { Reach::Page } else { Reach::Whole };
        match self.gate.key(reach).cloned() {
            Ok(group) => self.act(word, &group, place),
            Err(why) => {
                let word = if word.is_empty() { "Enter" } else { word };
                self.refuse(why.to_hint(word), place);
                if matches!(why, NotYet::JustShown | NotYet::TypedBefore)
                    && self.redraw_at.is_some()
                {
                    // Whoever is still typing sees it again when they have done.
                    self.redraw_at = Some(Instant::now() + QUIET);
                }
            }
        }
    }

    /// Says why something did not count.
    fn refuse(&mut self, hint: String, place: &mut Place<'_>) {
        self.hint = Some(hint);
        if place.stage.echo() == Echo::Below {
            self.spoil(Duration::ZERO);
        }
    }

    /// Draws what stands there again, after a while.
    fn spoil(&mut self, after: Duration) {
        if self.shown.is_some() {
            self.gate.disturbed();
            self.redraw_at = Some(Instant::now() + after);
        }
    }
}

impl Shown {
    /// Returns how much of it can be seen at once; what is asked below it takes rows too.
    fn room(&self, stage: &dyn Stage) -> Room {
        let room = stage.room();
        let n_kept = match stage.echo() {
            Echo::Below => fold(&[format!("{} · 999 more wait", self.keys)], room.columns).len(),
            Echo::Apart => 0,
        };
        Room { rows: room.rows.saturating_sub(n_kept), ..room }
    }

    fn page(&self) -> Page {
        self.laid.as_ref().map_or(Page { from: 0, to: 0, of: self.lines.len() }, |it| it.page)
    }

    fn rows(&self) -> &[String] {
        let rows = self.laid.as_ref().and_then(|it| it.rows.get(it.page.from..it.page.to));
        rows.unwrap_or_default()
    }

    fn has_more(&self) -> bool {
        self.page().to < self.page().of
    }

    fn has_no_room(&self) -> bool {
        self.laid.as_ref().is_some_and(|it| it.room.rows == 0)
    }

    /// Goes on to the next page.
    fn turn(&mut self) {
        if let Some(Laid { room, page, .. }) = &mut self.laid {
            page.from = page.to;
            page.to = (page.from + room.rows).min(page.of);
        }
    }
}

#[cfg(test)]
mod tests;
