//! What one policy says of one value of one role, or of a call as a whole.
//!
//! The policy's own decision is asked, by [`ic_policy::explain`]; nothing is decided here.

use ic_policy::{
    Authority, Bounds, Containment, Effect, Finding, Policy, RoleValues, Standing, Structural,
    Value, decisive, explain,
};
use ic_types::{Object, Role};

use crate::imagined::{self, Imagined, Names};
use crate::space::Subject;

/// What is said, and by whom.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Outcome {
    /// What is said.
    pub effect: Effect,
    /// Who says it.
    pub by: By,
}

/// Who says something.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum By {
    /// An invariant.
    Structural(Structural),
    /// The rule at this position.
    Rule(usize),
    /// No rule.
    Default,
}

/// What a policy says of one value of one role.
#[derive(Clone, Debug)]
pub struct Row {
    /// If it is the role's only value, or all of them are free in the sandbox.
    pub alone: Outcome,
    /// If another value of the role is not free in the sandbox, which makes rules judge all of them.
    pub company: Outcome,
    /// Whether the sandbox settles it.
    pub is_free: bool,
    /// The rules that have a say in it.
    pub heard: Vec<usize>,
}

/// A policy that is asked.
#[derive(Debug)]
pub(crate) struct Side<'a> {
    pub(crate) subject: Subject<'a>,
    /// The same surroundings, with no server contained.
    loose: Bounds,
}

impl<'a> Side<'a> {
    pub(crate) fn new(subject: Subject<'a>) -> Self {
        Self { subject, loose: loosened(subject.bounds) }
    }

    pub(crate) fn policy(&self) -> &'a Policy {
        self.subject.policy
    }

    /// Returns what the policy knows of a tool.
    pub(crate) fn standing(&self, (server, tool): Names<'_>) -> Standing {
        match self.policy().annotation(server, tool) {
            None => Standing::Unknown,
            Some(annotation) if annotation.is_draft() => Standing::Draft,
            Some(_) => Standing::Annotated,
        }
    }

    /// Judges `value` of `role`, or the role without values, beside values of other roles.
    pub(crate) fn row(
        &self,
        names: Names<'_>,
        role: Role,
        value: Option<&Value>,
        others: &[RoleValues],
    ) -> Row {
        let judged = RoleValues { role, values: value.into_iter().cloned().collect() };
        let roles: Vec<RoleValues> =
            std::iter::once(judged).chain(others.iter().cloned()).collect();
        // A call without any argument can be one that only asks for the list of directories.
        let mut arguments = Object::new();
        arguments.insert("example", true);
        let call = imagined::call(names, roles, arguments);
        let heard_in = |bounds: &Bounds| {
            let of_role = |it: &Finding| it.role == Some(role);
            let found: Vec<Finding> =
                explain(self.policy(), bounds, &call).into_iter().filter(of_role).collect();
            (outcome(&found), found)
        };
        let (alone, found) = heard_in(self.subject.bounds);
        let by_rule = found.iter().find(|it| !it.settled.is_empty());
        let in_sandbox = Authority::Structural(Structural::SandboxAllow);
        let is_contained = self.subject.bounds.containment(names.0) == Containment::Contained;
        let is_free = is_contained
            && by_rule.is_none_or(|it| it.settled.first().is_some_and(|(_, by)| *by == in_sandbox));
        let mut heard = rules_in(&found);
        let company = match is_free && value.is_some() {
            true => {
                let (company, found) = heard_in(&self.loose);
                heard.extend(rules_in(&found));
                company
            }
            false => alone,
        };
        Row { alone, company, is_free: is_free || !is_contained, heard }
    }

    /// Judges a call as it is.
    pub(crate) fn judge(&self, imagined: Imagined<'_>) -> Outcome {
        outcome(&explain(self.policy(), self.subject.bounds, &imagined.into_call()))
    }

    /// Judges a call without resource roles.
    pub(crate) fn whole(
        &self,
        names: Names<'_>,
        roles: Vec<RoleValues>,
        arguments: Object,
    ) -> (Outcome, Vec<usize>) {
        let call = imagined::call(names, roles, arguments);
        let found = explain(self.policy(), self.subject.bounds, &call);
        (outcome(&found), rules_in(&found))
    }
}

impl Side<'_> {
    /// Judges what a call says beside its resources.
    pub(crate) fn beside(
        &self,
        names: Names<'_>,
        roles: Vec<RoleValues>,
        mut arguments: Object,
    ) -> (Effect, Vec<usize>) {
        // A call without any argument can be one that only asks for the list of directories.
        arguments.insert("example", true);
        let call = imagined::call(names, roles, arguments);
        let is_beside =
            |it: &Finding| it.role.is_none() && matches!(it.authority, Authority::Rule(_));
        let found: Vec<Finding> = explain(self.policy(), self.subject.bounds, &call)
            .into_iter()
            .filter(is_beside)
            .collect();
        let effect = found.iter().map(|it| it.effect).max().unwrap_or(Effect::Allow);
        (effect, rules_in(&found))
    }
}

/// Returns the finding that decides; the sandbox settles what nothing is found about.
fn outcome(found: &[Finding]) -> Outcome {
    match decisive(found) {
        Some(finding) => Outcome { effect: finding.effect, by: By::from(finding.authority) },
        None => Outcome { effect: Effect::Allow, by: By::Structural(Structural::SandboxAllow) },
    }
}

fn rules_in(found: &[Finding]) -> Vec<usize> {
    let all = found.iter().flat_map(|it| {
        std::iter::once(it.authority).chain(it.settled.iter().map(|(_, authority)| *authority))
    });
    let rule = |authority: Authority| match authority {
        Authority::Rule(rule) => Some(rule.position()),
        Authority::Structural(_) | Authority::Default => None,
    };
    all.filter_map(rule).collect()
}

impl From<Authority> for By {
    fn from(authority: Authority) -> Self {
        match authority {
            Authority::Structural(structural) => Self::Structural(structural),
            Authority::Rule(rule) => Self::Rule(rule.position()),
            Authority::Default => Self::Default,
        }
    }
}

impl By {
    /// Returns the name that people script against.
    pub fn name(self, policy: &Policy) -> String {
        match self {
            Self::Structural(structural) => structural.as_str().to_owned(),
            Self::Rule(position) => {
                policy.rules().get(position).map_or_else(String::new, |it| it.name().to_owned())
            }
            Self::Default => "default-deny".to_owned(),
        }
    }

    /// Returns the sentence of the constitution behind it.
    pub fn sentence(self, policy: &Policy) -> Option<&str> {
        match self {
            Self::Rule(position) => {
                let sentence = policy.rules().get(position)?.principle();
                Some(sentence).filter(|it| !it.is_empty())
            }
            Self::Structural(_) | Self::Default => None,
        }
    }
}

/// Returns the same surroundings, in which no server is contained.
fn loosened(bounds: &Bounds) -> Bounds {
    let mut loose = bounds.clone();
    for traits in loose.servers.values_mut() {
        traits.containment = Containment::Loose;
    }
    loose
}
