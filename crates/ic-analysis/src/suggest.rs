//! What a person approved again and again, made into sentences that would have saved the requests.
//!
//! An agent that provokes approvals must not be rewarded with more than was approved. So a sentence is about one
//! server, the roles that were asked about, and one directory, host or repository: the one that holds what was
//! approved, and nothing above it. What an invariant asks about is never proposed, nor what removes anything,
//! nor what the user refused or told the policy to ask about.

use std::collections::{BTreeMap, BTreeSet};

use ic_policy::{
    Authority, Bounds, Destination, Effect, FileKind, Finding, Sandbox, Scheme, Value, explain,
};
use ic_types::{CanonicalPath, Role, ServerName, ToolName};

use crate::replay::{Answer, Intent};
use crate::space::Subject;

/// How often something has to be approved.
pub const APPROVALS_MIN: usize = 3;
/// How many different files of a directory have to be among them.
pub const FILES_MIN: usize = 2;

/// A recorded call that someone was asked about, and what they said.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The call.
    pub intent: Intent,
    /// Whether it was approved.
    pub is_approved: bool,
    /// Where the agent was free in that session.
    pub sandbox: Option<Sandbox>,
}

impl Answered {
    /// Asks a policy about the call, in its session's own sandbox.
    pub fn judge(&self, subject: Subject<'_>) -> Answer {
        self.intent.judge(Subject { bounds: &self.bounds(subject), ..subject }, None)
    }

    fn bounds(&self, subject: Subject<'_>) -> Bounds {
        Bounds { sandbox: self.sandbox.clone(), ..subject.bounds.clone() }
    }
}

/// Where a sentence would hold.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Place {
    /// In a directory.
    Directory(CanonicalPath),
    /// At a host, or in a repository of one, as a pattern.
    Host(String),
}

/// A sentence that could be added.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The server.
    pub server: ServerName,
    /// The tool, if only one was approved.
    pub tool: Option<ToolName>,
    /// What would be allowed.
    pub roles: Vec<Role>,
    /// Where.
    pub place: Place,
    /// The approved calls that lead to it, by their position.
    pub approved: Vec<usize>,
    /// Why it is not proposed all the same.
    pub against: Option<Against>,
}

/// Why something that was approved often is not proposed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Against {
    /// A call of the same kind was refused there.
    Refused,
    /// Only one file was approved, however often.
    OneFile,
    /// It removes something.
    Removes,
    /// The user told the policy to ask.
    AskedFor,
}

impl Against {
    /// Returns the reason.
    pub fn text(self) -> &'static str {
        match self {
            Self::Refused => "you refused such a call there",
            Self::OneFile => "it was always the same file, and a rule would open its directory",
            Self::Removes => "it deletes files or rewrites history",
            Self::AskedFor => "you told the policy to ask",
        }
    }
}

/// What came of all answers.
#[derive(Debug, Default)]
pub struct Candidates {
    /// Sentences, those with most approvals first.
    pub all: Vec<Candidate>,
    /// How many approved calls something asks about that no policy changes.
    pub n_structural: usize,
    /// How many approved calls no single sentence is about: they name several places, or none.
    pub n_other: usize,
}

/// What of a call rules ask about.
#[derive(Debug)]
struct AskedParts {
    roles: Vec<Role>,
    place: Place,
    values: Vec<String>,
    is_asked_for: bool,
}

type Key = (ServerName, Place, Vec<Role>);

#[derive(Debug, Default)]
struct Noted {
    approved: Vec<usize>,
    tools: BTreeSet<ToolName>,
    values: BTreeSet<String>,
    is_asked_for: bool,
}

/// Finds sentences for what was approved, for the policy `subject`, whose first `n_added` rules the user added.
pub fn candidates(answered: &[Answered], subject: Subject<'_>, n_added: usize) -> Candidates {
    let mut found = Candidates::default();
    let mut noted: BTreeMap<Key, Noted> = BTreeMap::new();
    let mut refused: Vec<(&ServerName, AskedParts)> = Vec::new();
    for (position, answer) in answered.iter().enumerate() {
        let Answered { intent, is_approved, .. } = answer;
        let there = Subject { bounds: &answer.bounds(subject), ..subject };
        let parts = match asked_parts(intent, there, n_added) {
            Asked::Parts(parts) => parts,
            Asked::Structural => {
                found.n_structural += usize::from(*is_approved);
                continue;
            }
            Asked::Other => {
                found.n_other += usize::from(*is_approved);
                continue;
            }
            // Nobody would be asked today.
            Asked::Nothing => continue,
        };
        if !is_approved {
            refused.push((&intent.server, parts));
            continue;
        }
        let entry = noted.entry((intent.server.clone(), parts.place, parts.roles)).or_default();
        entry.approved.push(position);
        entry.tools.insert(intent.tool.clone());
        entry.values.extend(parts.values);
        entry.is_asked_for |= parts.is_asked_for;
    }
    let often = noted.into_iter().filter(|(_, it)| APPROVALS_MIN <= it.approved.len());
    found.all = often
        .map(|((server, place, roles), noted)| {
            let is_refused = refused.iter().any(|(of, parts)| {
                **of == server
                    && parts.roles.iter().any(|role| roles.contains(role))
                    && concerns(&parts.place, &place)
            });
            let is_one = matches!(place, Place::Directory(_)) && noted.values.len() < FILES_MIN;
            let removes = |role: &Role| matches!(role, Role::DeletePath | Role::DeleteHistory);
            let against = [
                (is_refused, Against::Refused),
                (noted.is_asked_for, Against::AskedFor),
                (roles.iter().any(removes), Against::Removes),
                (is_one, Against::OneFile),
            ];
            let mut tools = noted.tools.into_iter();
            let tool = tools.next().filter(|_| tools.next().is_none());
            Candidate {
                server,
                tool,
                roles,
                place,
                approved: noted.approved,
                against: against.into_iter().find(|(holds, _)| *holds).map(|(_, why)| why),
            }
        })
        .collect();
    found.all.sort_by_key(|it| std::cmp::Reverse(it.approved.len()));
    found
}

/// Returns whether a refusal at `one` speaks against a sentence about `other`.
fn concerns(one: &Place, other: &Place) -> bool {
    match (one, other) {
        (Place::Directory(one), Place::Directory(other)) => {
            one.is_within(other) || other.is_within(one)
        }
        (one, other) => one == other,
    }
}

enum Asked {
    Parts(AskedParts),
    Structural,
    Other,
    Nothing,
}

/// Works out what rules ask about in a call; one place, and nothing that an invariant asks about.
fn asked_parts(intent: &Intent, subject: Subject<'_>, n_added: usize) -> Asked {
    let Ok(call) = intent.resolved_for(subject) else { return Asked::Other };
    let findings = explain(subject.policy, subject.bounds, &call);
    if findings.iter().any(|it| it.effect == Effect::Deny) {
        return Asked::Nothing;
    }
    let asking: Vec<&Finding> =
        findings.iter().filter(|it| it.effect == Effect::Escalate).collect();
    if asking.is_empty() {
        return Asked::Nothing;
    }
    let is_structural = |it: &&Finding| matches!(it.authority, Authority::Structural(_));
    if asking.iter().any(is_structural) {
        return Asked::Structural;
    }
    let (mut roles, mut places) = (Vec::new(), BTreeSet::new());
    let (mut values, mut is_asked_for) = (Vec::new(), false);
    for finding in asking {
        let Some(role) = finding.role else { return Asked::Other };
        let of_role = call.values(role);
        if of_role.is_empty() {
            return Asked::Other;
        }
        roles.push(role);
        for (position, authority) in &finding.settled {
            let Authority::Rule(rule) = authority else { continue };
            let rule = rule.position();
            let asks = |it: &ic_policy::Rule| it.effect() == Effect::Escalate;
            if !subject.policy.rules().get(rule).is_some_and(asks) {
                continue;
            }
            is_asked_for |= rule < n_added;
            let Some(value) = of_role.get(*position) else { return Asked::Other };
            let Some(place) = place_of(value) else { return Asked::Other };
            places.insert(place);
            values.push(value.to_string());
        }
    }
    roles.sort_unstable();
    roles.dedup();
    let mut places = places.into_iter();
    match (places.next(), places.next()) {
        (Some(place), None) => Asked::Parts(AskedParts { roles, place, values, is_asked_for }),
        (_, _) => Asked::Other,
    }
}

/// Returns the directory, host or repository that holds a value, and nothing above it.
fn place_of(value: &Value) -> Option<Place> {
    match value {
        Value::Path(value) => {
            let is_directory = value.state.is_some_and(|it| it.kind == FileKind::Directory);
            let directory = if is_directory { value.path.clone() } else { value.path.parent()? };
            Some(Place::Directory(directory))
        }
        Value::Url(url) => {
            let Destination { scheme, host, port, repository } = &url.destination;
            let usual = scheme.map(Scheme::port);
            let port = port.filter(|port| Some(*port) != usual);
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            Some(Place::Host(match (repository, scheme) {
                (Some(repository), _) => format!("{host}{port}/{repository}"),
                (None, Some(Scheme::Https)) => format!("https://{host}{port}"),
                // What anybody on the way can read and change is not opened for good.
                (None, _) => return None,
            }))
        }
        Value::LocalRemote(_) | Value::Text(_) => None,
    }
}
