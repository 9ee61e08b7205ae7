//! Containment: what the sandbox settles, and where the user's own rules are stronger than it.
//!
//! Knows nothing of invariants, and walks no rules: what they say of a value is handed in.

use ic_types::{Category, Role};

use super::{Asked, RoleRuling, STAYS_IN_SANDBOX, Walk};
use crate::bounds::Containment;
use crate::call::{RoleValues, Value};
use crate::effect::Effect;
use crate::finding::{Authority, Finding, RuleRef, Structural};
use crate::rule::{Hold, Rule};

/// The tool that acts on everything beneath the directories that it names.
const RUN_COMMAND: &str = "run_command";
/// The tool that deletes in the directory that it names, and never the directory.
const GIT_CLEAN: &str = "git_clean";

impl Asked<'_> {
    /// Returns whether the sandbox settles `value`, of which the rules would say `walk`.
    pub(super) fn is_free(&self, role: Role, value: &Value, walk: &Walk) -> bool {
        self.containment != Containment::Loose
            && role.category() == Category::Path
            && value
                .path()
                .is_some_and(|value| self.bounds.in_sandbox(self.touching(role), &value.path))
            && !self.is_stronger_than_sandbox(walk)
    }

    /// Returns the role that says whether a call is about the entry that it names, or only about what is
    /// in it.
    fn touching(&self, role: Role) -> Role {
        match self.call.tool().as_str() {
            GIT_CLEAN if role == Role::DeletePath => Role::WritePath,
            _ => role,
        }
    }

    /// Returns whether the rule that would settle a value in the sandbox is the user's word about it.
    fn is_stronger_than_sandbox(&self, walk: &Walk) -> bool {
        let (_, Authority::Rule(RuleRef(id))) = walk.settled else { return false };
        let rule = self.policy.rule(id).zip(self.bounds.sandbox.as_ref());
        rule.is_some_and(|(rule, sandbox)| rule.outranks(sandbox))
    }

    /// Adds the verdicts of rules about places beneath values of which all that is beneath them counts.
    pub(super) fn add_beneath(&self, values: &[Value], ruling: &mut RoleRuling) {
        let role = ruling.role;
        let is_tree = role == Role::DeletePath
            || role.category() == Category::Path && self.call.tool().as_str() == RUN_COMMAND;
        if !is_tree {
            return;
        }
        let names = (self.call.server(), self.call.tool());
        for (position, value) in values.iter().enumerate() {
            let Some(path) = value.path() else { continue };
            for id in self.policy.index.restricting_beneath(names, role, &path.path) {
                let Some(rule) = self.policy.rule(id).filter(|it| holds_beneath(it, role, value))
                else {
                    continue;
                };
                if ruling.holds_elsewhere(id, rule, self.call) != Hold::No {
                    let authority = Authority::Rule(RuleRef(id));
                    ruling.note((rule.effect, authority));
                    ruling.settled.push((position, authority));
                }
            }
        }
    }

    /// Adds a finding for each role that the sandbox settles while others are judged.
    pub(super) fn name_settled_roles(&self, findings: &mut Vec<Finding>) {
        let is_judged = |role: Role| findings.iter().any(|it| it.role == Some(role));
        let is_asked = findings.iter().any(|it| matches!(it.authority, Authority::Rule(_)));
        let is_settled = |entry: &&RoleValues| {
            !entry.values.is_empty() && !is_judged(entry.role) && self.judge_role(entry).is_none()
        };
        let settled: Vec<Role> = match is_asked {
            true => self.resources().filter(is_settled).map(|entry| entry.role).collect(),
            false => Vec::new(),
        };
        findings.extend(settled.into_iter().map(|role| Finding {
            role: Some(role),
            ..Finding::structural(Structural::SandboxAllow, STAYS_IN_SANDBOX)
        }));
    }
}

/// Returns whether the conditions of `rule`, whose place lies beneath `value`, hold for it.
fn holds_beneath(rule: &Rule, role: Role, value: &Value) -> bool {
    let (Some(place), Some(value_path)) = (rule.place(), value.path()) else { return false };
    let is_beneath = place.is_within(&value_path.path) && *place != value_path.path;
    let restricts = rule.effect != Effect::Allow && rule.is_relevant_to(role);
    is_beneath && restricts && rule.holds_besides_path(role, value)
}
