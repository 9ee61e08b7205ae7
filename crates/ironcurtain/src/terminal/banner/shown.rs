//! What a banner shows: lines with their ink, laid out in rows, page by page.

use ic_escalation::Wish;
use ic_escalation::display::CHANGE;
use ic_terminal::Ink;
use ic_terminal::gate::Page;

use super::keys::{self, Situation};
use super::{Place, THEN_ENTER};
use crate::own_policy::always::AlwaysOffer;
use crate::screen::fold;
use crate::terminal::group::Group;
use crate::terminal::stage::{Echo, Room, Row};

/// What is to stand on the screen.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) group: Group,
    /// The grants of which the person is to choose one.
    pub(super) wishes: Vec<Wish>,
    /// What is added to the policy if the person says so.
    pub(super) always: Option<AlwaysOffer>,
    pub(super) lines: Vec<Row>,
    pub(super) keys: Keys,
    pub(super) laid: Option<Laid>,
}

/// What can be typed.
#[derive(Debug)]
pub(super) enum Keys {
    /// Those of a question.
    Table {
        /// Whether there is more to show of it.
        has_details: bool,
        /// Whether an addition to the policy is offered for it.
        has_always: bool,
    },
    /// One of several numbers, or yes or no.
    Choice(String),
}

/// Rows, and which of them stand on the screen.
#[derive(Debug)]
pub(super) struct Laid {
    pub(super) room: Room,
    pub(super) rows: Vec<Row>,
    pub(super) page: Page,
}

impl Shown {
    /// Returns how much of it can be seen at once; what is asked below it takes rows too.
    pub(super) fn room(&self, place: &Place<'_>) -> Room {
        let room = place.stage.room();
        let further = place.questions.further_keys();
        let n_kept = match place.stage.echo() {
            Echo::Below => {
                let keys = format!("{}{further}{THEN_ENTER} · 999 more wait", self.keys(999));
                fold(&[keys], room.columns).len()
            }
            Echo::Apart => 0,
        };
        Room { rows: room.rows.saturating_sub(n_kept), ..room }
    }

    /// Says what can be typed, with that many others that wait.
    pub(super) fn keys(&self, n_waiting: usize) -> String {
        match &self.keys {
            Keys::Table { has_details, has_always } => {
                let (has_details, has_always) = (*has_details, *has_always);
                keys::line(&self.group, Situation { has_details, has_always, n_waiting })
            }
            Keys::Choice(keys) => keys.clone(),
        }
    }

    pub(super) fn page(&self) -> Page {
        self.laid.as_ref().map_or(Page { from: 0, to: 0, of: self.lines.len() }, |it| it.page)
    }

    pub(super) fn rows(&self) -> &[Row] {
        let rows = self.laid.as_ref().and_then(|it| it.rows.get(it.page.from..it.page.to));
        rows.unwrap_or_default()
    }

    /// Returns whether something of the question was left out of the lines.
    pub(super) fn is_shortened(&self) -> bool {
        matches!(self.keys, Keys::Table { has_details: true, .. })
    }

    pub(super) fn has_more(&self) -> bool {
        self.page().to < self.page().of
    }

    pub(super) fn has_no_room(&self) -> bool {
        self.laid.as_ref().is_some_and(|it| it.room.rows == 0)
    }

    /// Goes on to the next page. Where pages stand in one place, the last one is as full as the others, so
    /// that what is answered stands together as far as there is room.
    pub(super) fn turn(&mut self, echo: Echo) {
        if let Some(Laid { room, page, .. }) = &mut self.laid {
            page.from = page.to;
            page.to = (page.from + room.rows).min(page.of);
            if echo == Echo::Apart {
                page.from = page.from.min(page.to.saturating_sub(room.rows));
            }
        }
    }
}

/// Breaks lines into rows that fit; each has the ink of its line.
pub(super) fn folded(lines: &[Row], columns: Option<usize>) -> Vec<Row> {
    let rows = lines.iter().flat_map(|line| {
        let texts = fold(std::slice::from_ref(&line.text), columns);
        texts.into_iter().map(|text| Row { ink: line.ink, text })
    });
    rows.collect()
}

/// Gives the lines of a question their ink: what a change adds and what it takes away.
pub(super) fn painted(lines: Vec<String>) -> Vec<Row> {
    let mut is_change = false;
    let row = |text: String| {
        let changed = text.strip_prefix("    ").filter(|_| is_change);
        let ink = match changed.and_then(|line| line.chars().next()) {
            Some('+') => Ink::Good,
            Some('-') => Ink::Bad,
            Some('@') => Ink::Quiet,
            _ => Ink::Plain,
        };
        is_change = text == CHANGE || changed.is_some();
        Row { ink, text }
    };
    lines.into_iter().map(row).collect()
}
