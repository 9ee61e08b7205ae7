//! The moment of an answer: which keys and commands answer the question that stands on a screen.
//!
//! ```text
//! stands ─▶ shown to its end, and 700 ms without input ─▶ open ─▶ one key, or one command ─▶ the question
//!    ▲            │ any input, another page, anything printed: begins anew
//!    └────────────┘
//! ```
//!
//! An answer is handed out as the question that it answers, so nothing but what stood there can be
//! answered. Nothing is drawn or read here, and time is handed in: how long it is since some moment that
//! the caller chose, and it never goes back. What an answer means is not known here, and neither is who
//! asks: a conversation, a task, a desk.
//!
//! The caller tells everything that happens, in order: what was read ([`Gate::arrives`], before the keys
//! of it are looked at), what was drawn ([`Gate::stands`], [`Gate::paged`], [`Gate::drawn_again`], after
//! it was sent), and what spoilt the screen ([`Gate::disturbed`]). At [`Gate::opens_at`] it makes sure
//! that nothing waits to be read, and calls [`Gate::open`].

use std::time::Duration;

/// How long a question has to stand, and nothing to be typed, before an answer.
pub const QUIET: Duration = Duration::from_millis(700);

/// Which rows of a question stand on the screen.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Page {
    /// The first of them, from 0.
    pub from: usize,
    /// The one after the last of them.
    pub to: usize,
    /// How many rows there are.
    pub of: usize,
}

/// How much has to have been shown for a key to count.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reach {
    /// What stands there: for keys that say no, or show more.
    Page,
    /// Everything, with nothing left out: for keys that say yes.
    Whole,
}

/// How what was read at once is made up.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Arrival {
    /// One key, or one line of a terminal that is read by lines, and nothing else.
    Alone,
    /// Anything else: several keys, a report of the terminal, a part of either.
    Mixed,
}

/// Why something is no answer.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum NotYet {
    /// No question stands there.
    NoQuestion,
    /// The question had not stood there long enough to be read.
    JustShown,
    /// Something was typed, or came from the terminal, right before.
    TypedBefore,
    /// It came in one piece with something else.
    NotAlone,
    /// Not all of the question was shown.
    NotShownWhole,
    /// What was shown leaves something of the question out.
    Shortened,
    /// When the command was begun, something else stood there.
    BegunBefore,
}

/// Decides what answers the question that stands there.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Gate<Q> {
    standing: Option<Standing<Q>>,
    /// How often something was drawn: every drawing is another one to answer.
    n_drawings: u64,
    last_input: Option<Duration>,
    /// What was read last.
    read: Read,
    /// The line that is being typed.
    line: Line,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Standing<Q> {
    question: Q,
    page: Page,
    /// Up to which row it was shown without a gap.
    shown_to: usize,
    since: Duration,
    drawing: u64,
    is_shortened: bool,
    is_spoilt: bool,
    is_open: bool,
}

/// One reading of the terminal.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Read {
    arrival: Arrival,
    /// The drawing that could be answered when it came.
    open: Result<u64, NotYet>,
}

/// The drawing for which a line was begun.
type Line = Result<u64, NotYet>;

impl<Q> Gate<Q> {
    /// Begins shut, with no question.
    pub fn shut() -> Self {
        let none = Err(NotYet::NoQuestion);
        let read = Read { arrival: Arrival::Mixed, open: none };
        Self { standing: None, n_drawings: 0, last_input: None, read, line: none }
    }

    /// Takes note that a question was drawn which did not stand there, or not like this.
    pub fn stands(&mut self, question: Q, page: Page, now: Duration) {
        self.stands_as(question, page, false, now);
    }

    /// Like [`stands`](Self::stands), of rows that leave something of the question out.
    ///
    /// SECURITY: what is left out may be what matters, so nothing says yes to these rows.
    pub fn stands_shortened(&mut self, question: Q, page: Page, now: Duration) {
        self.stands_as(question, page, true, now);
    }

    fn stands_as(&mut self, question: Q, page: Page, is_shortened: bool, now: Duration) {
        let shown_to = if page.from == 0 { page.to } else { 0 };
        let drawing = self.next_drawing();
        self.standing = Some(Standing {
            question,
            page,
            shown_to,
            since: now,
            drawing,
            is_shortened,
            is_spoilt: false,
            is_open: false,
        });
    }

    /// Takes note that another page of the same question was drawn, in rows of the same width.
    pub fn paged(&mut self, page: Page, now: Duration) {
        let drawing = self.next_drawing();
        let Some(standing) = &mut self.standing else { return };
        // SECURITY: rows that were skipped were not shown.
        if page.from <= standing.shown_to && page.of == standing.page.of {
            standing.shown_to = standing.shown_to.max(page.to);
        }
        standing.page = page;
        standing.drawn(drawing, now);
    }

    /// Takes note that what stood there was drawn again as it was.
    pub fn drawn_again(&mut self, now: Duration) {
        let drawing = self.next_drawing();
        if let Some(standing) = &mut self.standing {
            standing.drawn(drawing, now);
        }
    }

    /// Takes note that something else was printed, or that the screen may not show the question any more.
    ///
    /// Nothing answers it before it is drawn again.
    pub fn disturbed(&mut self) {
        if let Some(standing) = &mut self.standing {
            standing.is_spoilt = true;
            standing.is_open = false;
        }
    }

    /// Takes the question away: it was answered, is over, or another one is to be shown.
    pub fn withdrawn(&mut self) -> Option<Q> {
        self.standing.take().map(|standing| standing.question)
    }

    /// Returns the question that stands there.
    pub fn question(&self) -> Option<&Q> {
        self.standing.as_ref().map(|standing| &standing.question)
    }

    /// Returns whether an answer would count now.
    pub fn is_open(&self) -> bool {
        self.standing.as_ref().is_some_and(|standing| standing.is_open)
    }

    /// Returns whether all of what stands there was shown, and its end is on the screen.
    pub fn is_shown_whole(&self) -> bool {
        self.standing.as_ref().is_some_and(Standing::is_whole)
    }

    /// Returns whether the question has to be drawn again.
    pub fn is_disturbed(&self) -> bool {
        self.standing.as_ref().is_some_and(|standing| standing.is_spoilt)
    }

    /// Returns when [`open`](Self::open) is to be called.
    pub fn opens_at(&self) -> Option<Duration> {
        let standing = self.standing.as_ref().filter(|it| !it.is_open && !it.is_spoilt)?;
        let quiet_since = self.last_input.map_or(standing.since, |last| last.max(standing.since));
        Some(quiet_since + QUIET)
    }

    /// Lets answers count from now on, if it is time.
    ///
    /// SECURITY: the caller has made sure that nothing waits to be read. What was typed while the program
    /// was busy would seem to come later than it did.
    pub fn open(&mut self, now: Duration) -> bool {
        let is_time = self.opens_at().is_some_and(|at| at <= now);
        if let Some(standing) = self.standing.as_mut().filter(|_| is_time) {
            standing.is_open = true;
        }
        self.is_open()
    }

    /// Takes note that something was read; of the keys in it is told afterwards.
    pub fn arrives(&mut self, arrival: Arrival, now: Duration) {
        let open = match &self.standing {
            None => Err(NotYet::NoQuestion),
            Some(standing) if standing.is_open => Ok(standing.drawing),
            Some(standing) if self.last_input.is_some_and(|last| standing.since < last) => {
                Err(NotYet::TypedBefore)
            }
            Some(_) => Err(NotYet::JustShown),
        };
        self.read = Read { arrival, open };
        self.last_input = Some(now);
        if let Some(standing) = &mut self.standing {
            standing.is_open = false;
        }
    }

    /// Returns the question that a key answers which was just read, with nothing typed before it.
    pub fn key(&mut self, reach: Reach) -> Result<&Q, NotYet> {
        let read = self.read;
        // One reading answers once.
        self.read.open = Err(NotYet::TypedBefore);
        let drawing = read.open?;
        if read.arrival == Arrival::Mixed {
            return Err(NotYet::NotAlone);
        }
        self.drawn_as(drawing, reach)
    }

    /// Takes note that a key which was just read begins a line, after `n_keys` others of the same reading.
    ///
    /// SECURITY: behind the end of a line, or anything else, a command was not typed for what stood there.
    pub fn line_begins(&mut self, n_keys: usize) {
        self.line = match n_keys {
            0 => self.read.open,
            _ => Err(NotYet::NotAlone),
        };
    }

    /// Returns the question that the line answers which ends with the key that was just read, if it is a
    /// command that answers.
    pub fn line_ends(&mut self, reach: Reach) -> Result<&Q, NotYet> {
        let line = std::mem::replace(&mut self.line, Err(NotYet::TypedBefore));
        self.drawn_as(line?, reach)
    }

    /// Returns the question if it stands there as it did in that drawing.
    fn drawn_as(&self, drawing: u64, reach: Reach) -> Result<&Q, NotYet> {
        let standing = self.standing.as_ref().ok_or(NotYet::NoQuestion)?;
        if standing.drawing != drawing || standing.is_spoilt {
            return Err(NotYet::BegunBefore);
        }
        if reach == Reach::Whole && !standing.is_whole() {
            return Err(NotYet::NotShownWhole);
        }
        if reach == Reach::Whole && standing.is_shortened {
            return Err(NotYet::Shortened);
        }
        Ok(&standing.question)
    }

    fn next_drawing(&mut self) -> u64 {
        self.n_drawings += 1;
        self.n_drawings
    }
}

impl<Q> Standing<Q> {
    fn drawn(&mut self, drawing: u64, now: Duration) {
        (self.drawing, self.since) = (drawing, now);
        (self.is_spoilt, self.is_open) = (false, false);
    }

    fn is_whole(&self) -> bool {
        self.shown_to == self.page.of && self.page.to == self.page.of
    }
}

impl NotYet {
    /// Says to a person why `what` they typed did not count, and what to do.
    pub fn to_hint(self, what: &str) -> String {
        match self {
            Self::NoQuestion => format!("{what} was not taken: there was no request"),
            Self::JustShown => format!("press {what} again: it had only just appeared"),
            Self::TypedBefore => format!("press {what} again: something was typed right before it"),
            Self::NotAlone => format!("{what} was not taken: it came together with other keys"),
            Self::NotShownWhole => {
                format!(
                    "{what} was not taken: the rest of the request was not shown yet; Enter shows it"
                )
            }
            Self::Shortened => {
                format!("press d first, then {what}: parts of the request were left out")
            }
            Self::BegunBefore => format!(
                "{what} was not taken: the request was not there, or was drawn again, while you typed"
            ),
        }
    }
}

#[cfg(test)]
mod tests;
