//! Questions that differ in little, shown and answered together: each is named, with all that is its own.
//!
//! One answer for several questions is several answers, each to what was shown of its question.

use ic_escalation::display::{View, is_petition, role_lines, value};
use ic_escalation::{Pending, Request};
use ic_policy::Push;
use ic_types::{EscalationId, Json, Timestamp};

use crate::commands::approvals::{At, lines};

/// The most questions that are shown as one; nobody reads more.
const MEMBERS_MAX: usize = 50;

/// Questions that are shown together; the first one in full.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    first: Pending,
    others: Vec<Pending>,
    likeness: Likeness,
}

/// What the questions of a group have in common.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Likeness {
    /// They differ in their values only, so of the others that is shown.
    Alike,
    /// Nothing: each is shown in full.
    Listed,
}

impl Group {
    /// Puts those of `pending` beside the first that are like it.
    pub(crate) fn of(first: Pending, pending: &[Pending]) -> Self {
        let is_other = |it: &&Pending| it.request().escalation != first.request().escalation;
        let alike = pending.iter().filter(is_other).filter(|it| is_alike(&first, it));
        let others = alike.take(MEMBERS_MAX - 1).cloned().collect();
        Self { first, others, likeness: Likeness::Alike }
    }

    /// Takes one alone.
    pub(crate) fn alone(first: Pending) -> Self {
        Self { first, others: Vec::new(), likeness: Likeness::Alike }
    }

    /// Puts questions together that need not be alike; `None` without any.
    pub(crate) fn listed(pending: Vec<Pending>) -> Option<Self> {
        let mut pending = pending.into_iter().take(MEMBERS_MAX);
        let first = pending.next()?;
        Some(Self { first, others: pending.collect(), likeness: Likeness::Listed })
    }

    /// Returns the one that is shown in full.
    pub(crate) fn first(&self) -> &Pending {
        &self.first
    }

    /// Returns all of them, in order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Pending> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Returns how many there are.
    pub(crate) fn len(&self) -> usize {
        1 + self.others.len()
    }

    /// Returns whether `id` is one of them.
    pub(crate) fn holds(&self, id: &EscalationId) -> bool {
        self.all().any(|it| it.request().escalation == *id)
    }

    /// Returns what a person reads.
    pub(crate) fn lines(&self, view: View, now: Timestamp) -> Vec<String> {
        let mut shown = lines(&self.first, view, At::Dialog, now);
        if self.others.is_empty() {
            return shown;
        }
        if self.likeness == Likeness::Listed {
            shown.extend(self.others.iter().flat_map(|it| lines(it, view, At::Dialog, now)));
            return shown;
        }
        let n_others = self.others.len();
        let calls = if n_others == 1 { "call" } else { "calls" };
        shown.push(format!("and {n_others} {calls} like it{}:", self.where_to()));
        for other in &self.others {
            shown.push(format!("#{} {}", other.number(), other.session()));
            shown.extend(difference(self.first.request(), other.request(), view));
            shown.push(format!("  id: {}", other.request().escalation));
        }
        shown
    }

    /// Says what they have in common: `, 14 files under "src"`.
    fn where_to(&self) -> String {
        let mut common: Option<Vec<&str>> = None;
        for it in self.all() {
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
        format!(", {} files under {directory}", self.len())
    }
}

/// Returns whether two questions are asked for the same reason about calls of the same shape.
///
/// What a server itself asks is like nothing else: every word of it matters, and each yes is its own.
/// So is a push, with its commits and files.
fn is_alike(one: &Pending, other: &Pending) -> bool {
    let (a, b) = (one.request(), other.request());
    let keys =
        |it: &Request| it.arguments.iter().map(|(key, _)| key.to_owned()).collect::<Vec<_>>();
    let is_push = |it: &Request| it.resolved.get(Push::KEY).is_some();
    !is_petition(a)
        && !is_push(a)
        && !is_push(b)
        && a.session == b.session
        && a.server == b.server
        && a.builtin == b.builtin
        && a.tool == b.tool
        && a.rule == b.rule
        && a.reason == b.reason
        && a.causes == b.causes
        && a.escalated_roles == b.escalated_roles
        && keys(a) == keys(b)
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
