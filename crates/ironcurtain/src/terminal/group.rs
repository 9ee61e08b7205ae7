//! Questions that wait for the same reason, shown and answered together: each is named, with all that is its own.
//!
//! One answer for several questions is several answers, each to what was shown of its question.

use ic_escalation::display::{View, is_petition, role_lines, value};
use ic_escalation::{AskedCause, Pending, Request};
use ic_policy::{Push, Structural};
use ic_types::{EscalationId, Json, Role, ServerName, SessionId, Timestamp};

use crate::commands::approvals::{At, lines};

/// The most questions that are shown as one; nobody reads more.
const MEMBERS_MAX: usize = 50;

/// The most questions of another shape beside the first: each of them takes a dozen lines.
const OF_ANOTHER_SHAPE_MAX: usize = 9;

/// Questions that are shown together; the first one in full.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    first: Pending,
    /// Those that differ from the first in their values only, so of them that is shown; none of them writes over
    /// a file.
    alike: Vec<Pending>,
    /// All others; each is shown in full.
    listed: Vec<Pending>,
}

impl Group {
    /// Puts those of `pending` beside the first that wait for the same reason.
    pub(crate) fn of(first: Pending, pending: &[Pending]) -> Self {
        let Some(reason) = Reason::of(first.request()) else { return Self::alone(first) };
        let is_other = |it: &&Pending| it.request().escalation != first.request().escalation;
        let (mut alike, mut listed): (Vec<Pending>, Vec<Pending>) = pending
            .iter()
            .filter(is_other)
            .filter(|it| Reason::of(it.request()) == Some(reason))
            .cloned()
            .partition(|it| is_of_same_shape(&first, it));
        listed.truncate(OF_ANOTHER_SHAPE_MAX);
        alike.truncate(MEMBERS_MAX - 1 - listed.len());
        Self { first, alike, listed }
    }

    /// Takes one alone.
    pub(crate) fn alone(first: Pending) -> Self {
        Self { first, alike: Vec::new(), listed: Vec::new() }
    }

    /// Puts questions together that need have nothing in common; `None` without any.
    pub(crate) fn listed(pending: Vec<Pending>) -> Option<Self> {
        let mut pending = pending.into_iter().take(MEMBERS_MAX);
        let first = pending.next()?;
        Some(Self { first, alike: Vec::new(), listed: pending.collect() })
    }

    /// Returns the one that is shown in full.
    pub(crate) fn first(&self) -> &Pending {
        &self.first
    }

    /// Returns all of them, in order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Pending> {
        std::iter::once(&self.first).chain(&self.alike).chain(&self.listed)
    }

    /// Returns how many there are.
    pub(crate) fn len(&self) -> usize {
        1 + self.alike.len() + self.listed.len()
    }

    /// Returns whether `id` is one of them.
    pub(crate) fn holds(&self, id: &EscalationId) -> bool {
        self.all().any(|it| it.request().escalation == *id)
    }

    /// Returns what a person reads.
    pub(crate) fn lines(&self, view: View, now: Timestamp) -> Vec<String> {
        let mut shown = lines(&self.first, view, At::Dialog, now);
        shown.extend(self.alike_lines(view));
        shown.extend(self.listed.iter().flat_map(|it| lines(it, view, At::Dialog, now)));
        shown
    }

    fn alike_lines(&self, view: View) -> Vec<String> {
        let n_others = self.alike.len();
        if n_others == 0 {
            return Vec::new();
        }
        let calls = if n_others == 1 { "call" } else { "calls" };
        let mut shown = vec![format!("and {n_others} {calls} like it{}:", self.where_to())];
        for other in &self.alike {
            shown.push(format!("#{} {}", other.number(), other.session()));
            shown.extend(difference(self.first.request(), other.request(), view));
            shown.push(format!("  id: {}", other.request().escalation));
        }
        shown
    }

    /// Says what those that are alike have in common: `, 14 files under "src"`.
    fn where_to(&self) -> String {
        let mut common: Option<Vec<&str>> = None;
        for it in std::iter::once(&self.first).chain(&self.alike) {
            let Some(path) = only_path(it.request()) else { return String::new() };
            let Some((directory, _)) = path.rsplit_once('/') else { return String::new() };
            let parts: Vec<&str> = directory.split('/').collect();
            common = Some(match common {
                None => parts,
                Some(common) => {
                    let same = common.into_iter().zip(parts).take_while(|(a, b)| a == b);
                    same.map(|(a, _)| a).collect()
                }
            });
        }
        let directory = format!("{}/", common.unwrap_or_default().join("/"));
        let directory = value(&Json::from(directory), View::Full);
        format!(", {} files under {directory}", 1 + self.alike.len())
    }
}

/// Why a call of a session waits; those with the same one are asked about together, whichever tools they are of.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Reason<'a> {
    session: &'a SessionId,
    server: &'a ServerName,
    builtin: Option<&'a str>,
    rule: &'a str,
    words: &'a str,
    causes: &'a [AskedCause],
    roles: &'a [Role],
}

impl<'a> Reason<'a> {
    /// Returns the reason of a request; none if it stands alone.
    ///
    /// What a server itself asks is like nothing else: every word of it matters, and each yes is its own.
    /// So are a push, with its commits and files, and a plan, with its calls.
    pub(crate) fn of(request: &'a Request) -> Option<Self> {
        let stands_alone = is_petition(request)
            || request.rule == Structural::Plan.as_str()
            || request.resolved.get(Push::KEY).is_some();
        (!stands_alone).then(|| Self {
            session: &request.session,
            server: &request.server,
            builtin: request.builtin.as_deref(),
            rule: &request.rule,
            words: &request.reason,
            causes: &request.causes,
            roles: &request.escalated_roles,
        })
    }
}

/// Returns whether two questions are about calls that can differ in values only.
fn is_of_same_shape(one: &Pending, other: &Pending) -> bool {
    let keys =
        |it: &Request| it.arguments.iter().map(|(key, _)| key.to_owned()).collect::<Vec<_>>();
    let (a, b) = (one.request(), other.request());
    a.tool == b.tool && keys(a) == keys(b) && !overwrites(b)
}

/// Returns whether a call writes over a file that is there: what that loses stands only where a call is shown in
/// full.
fn overwrites(request: &Request) -> bool {
    let Some(Json::Array(values)) = request.resolved.get(Role::WritePath.as_str()) else {
        return false;
    };
    let is_there = |it: &Json| match it {
        Json::Object(object) => object.get("kind").and_then(Json::as_str) == Some("file"),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => false,
    };
    values.iter().any(is_there)
}

/// Shows everything in which a call is not like the first.
fn difference(first: &Request, other: &Request, view: View) -> Vec<String> {
    let touched = other.resolved.iter().filter(|(role, it)| first.resolved.get(role) != Some(it));
    let mut shown: Vec<String> =
        touched.flat_map(|touched| role_lines(other, touched, View::Full)).collect();
    for (key, argument) in
        other.arguments.iter().filter(|(key, it)| first.arguments.get(key) != Some(it))
    {
        shown.push(format!("  {}: {}", value(&Json::from(key), view), value(argument, view)));
    }
    shown
}

/// Returns the one path that the question is about, if it is about one path.
fn only_path(request: &Request) -> Option<&str> {
    let mut path = None;
    for role in &request.escalated_roles {
        let Some(Json::Array(values)) = request.resolved.get(role.as_str()) else { return None };
        let [Json::Object(only)] = values.as_slice() else { return None };
        let it = only.get("path").and_then(Json::as_str)?;
        if path.is_some_and(|path| path != it) {
            return None;
        }
        path = Some(it);
    }
    path
}
