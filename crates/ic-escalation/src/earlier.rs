//! What was asked before in the same session: what a new request changes since, and what a grant would
//! have covered.
//!
//! Only tells; nothing here decides, and nothing is kept longer than whoever shows requests runs.

use std::collections::{HashMap, VecDeque};

use ic_policy::Decision;
use ic_types::{Digest, EscalationId, Json, Object, SessionId};

use crate::display::{View, brief, text};
use crate::offer::Wish;
use crate::request::Request;

/// How many requests of a session are kept.
const REQUESTS_MAX: usize = 20;
/// Of how many sessions.
const SESSIONS_MAX: usize = 100;
/// The longest argument, as JSON, that is kept as it was; of a longer one it is known only whether it changed.
const ARGUMENT_BYTES_MAX: usize = 4_096;
/// How many differences are shown.
const LINES_MAX: usize = 8;

/// Requests of some sessions, the newest last.
#[derive(Clone, Debug, Default)]
pub struct Earlier {
    sessions: HashMap<SessionId, VecDeque<Entry>>,
    /// The sessions in the order in which they asked first.
    order: VecDeque<SessionId>,
}

#[derive(Clone, Debug)]
struct Entry {
    number: u64,
    /// Without its arguments.
    request: Request,
    arguments: Vec<(String, Kept)>,
    decision: Option<Decision>,
}

/// An argument as it was.
#[derive(Clone, Debug, PartialEq)]
enum Kept {
    Whole(Json),
    Long(Digest),
}

/// How many requests a grant would have approved.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Covered {
    /// So many of them.
    pub covered: usize,
    /// Of so many that the session made before, or beside the one that is asked about.
    pub of: usize,
}

impl Earlier {
    /// Takes note of a request; of one that is known already nothing changes.
    pub fn note(&mut self, number: u64, request: &Request) {
        let entries = self.sessions.entry(request.session.clone()).or_insert_with(|| {
            self.order.push_back(request.session.clone());
            VecDeque::new()
        });
        let is_known = entries.iter().any(|it| it.request.escalation == request.escalation);
        let is_full = entries.len() == REQUESTS_MAX;
        // One that had to make room before does not come back.
        if is_known || (is_full && entries.front().is_some_and(|it| number < it.number)) {
            return;
        }
        let arguments = request.arguments.iter();
        let arguments = arguments.map(|(name, it)| (name.to_owned(), Kept::of(it))).collect();
        let mut request = request.clone();
        request.arguments = Object::new();
        request.sends = Vec::new();
        entries.push_back(Entry { number, request, arguments, decision: None });
        if REQUESTS_MAX < entries.len() {
            entries.pop_front();
        }
        if SESSIONS_MAX < self.order.len()
            && let Some(oldest) = self.order.pop_front()
        {
            self.sessions.remove(&oldest);
        }
    }

    /// Takes note of how a request was answered here.
    pub fn answered(&mut self, request: &Request, decision: Decision) {
        let entries = self.sessions.get_mut(&request.session).into_iter().flatten();
        for entry in entries.filter(|it| it.request.escalation == request.escalation) {
            entry.decision = Some(decision);
        }
    }

    /// Says what a request changes since the last one like it that was answered here; empty if there is none.
    pub fn changed(&self, request: &Request) -> Vec<String> {
        let is_like = |it: &&Entry| {
            it.request.escalation != request.escalation
                && it.request.server == request.server
                && it.request.tool == request.tool
        };
        let mut entries = self.entries(&request.session).rev().filter(is_like);
        let Some((entry, decision)) =
            entries.find_map(|it| it.decision.map(|decision| (it, decision)))
        else {
            return Vec::new();
        };
        let how = match decision {
            Decision::Approved => "approved",
            Decision::Denied => "denied",
        };
        let mut lines = entry.differences(request);
        let heading = match lines.is_empty() {
            true if entry.request.resolved == request.resolved => {
                format!("  the same call as #{}, which you {how}", entry.number)
            }
            true => format!(
                "  the same arguments as #{}, which you {how}; what they are about has changed since",
                entry.number
            ),
            false => format!("  since #{}, which you {how}:", entry.number),
        };
        if LINES_MAX < lines.len() {
            let n_more = lines.len() - LINES_MAX;
            lines.truncate(LINES_MAX);
            lines.push(format!("    and {n_more} more arguments differ"));
        }
        lines.insert(0, heading);
        lines
    }

    /// Says how many of the session's last requests a grant would have approved, but for the one that is
    /// asked about; `None` if there are none.
    pub fn covered(
        &self,
        wish: &Wish,
        asked: &EscalationId,
        session: &SessionId,
    ) -> Option<Covered> {
        let others = self.entries(session).filter(|it| it.request.escalation != *asked);
        let covers: Vec<bool> = others.map(|it| wish.would_cover(&it.request)).collect();
        let covered = covers.iter().filter(|it| **it).count();
        (!covers.is_empty()).then_some(Covered { covered, of: covers.len() })
    }

    fn entries(&self, session: &SessionId) -> impl DoubleEndedIterator<Item = &Entry> {
        self.sessions.get(session).into_iter().flatten()
    }
}

impl Entry {
    /// Says which arguments differ, with what they were.
    fn differences(&self, request: &Request) -> Vec<String> {
        let now = request.arguments.iter().map(|(name, it)| (name, Some(it)));
        let gone = self.arguments.iter().map(|(name, _)| name.as_str());
        let gone = gone.filter(|name| request.arguments.get(name).is_none());
        let differs = |(name, it): (&str, Option<&Json>)| {
            let before = self.arguments.iter().find(|(other, _)| other == name);
            let before = before.map(|(_, kept)| kept);
            if before == it.map(Kept::of).as_ref() {
                return None;
            }
            let name = text(name, View::Short);
            Some(match (before, it) {
                (None, _) => format!("    {name} was not there"),
                (Some(kept), None) => format!("    {name} is left out; it was {}", kept.shown()),
                (Some(kept), Some(_)) => format!("    {name} was {}", kept.shown()),
            })
        };
        now.chain(gone.map(|name| (name, None))).filter_map(differs).collect()
    }
}

impl Kept {
    fn of(json: &Json) -> Self {
        let written = json.to_string();
        match written.len() <= ARGUMENT_BYTES_MAX {
            true => Self::Whole(json.clone()),
            false => Self::Long(Digest::of(written.as_bytes())),
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Whole(json) => brief(json),
            Self::Long(_) => "another long text".to_owned(),
        }
    }
}
