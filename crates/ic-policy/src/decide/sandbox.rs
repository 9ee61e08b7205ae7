//! Containment: what the sandbox settles, and where the user's own rules are stronger than it.
//!
//! Knows nothing of invariants, and walks no rules: what they say of a value is handed in.

use ic_types::{Category, Role};

use super::{Asked, RoleRuling, STAYS_IN_SANDBOX, Walk};
use crate::bounds::{Bounds, Containment, SandboxKind, ServerTraits};
use crate::call::{ResolvedCall, RoleValues, Value};
use crate::effect::Effect;
use crate::finding::{Authority, Finding, RuleRef, Structural};
use crate::policy::Policy;
use crate::rule::{Hold, Rule};

/// The tool that acts on everything beneath the directories that it names.
const RUN_COMMAND: &str = "run_command";
/// The tool that removes what git does not track in the directory that it names.
const CLEAN: &str = "git_clean";
/// The server that runs commands in a cage of ours.
const SHELL: &str = "shell";
/// The server whose rules the view of a command's cage follows.
const FILESYSTEM: &str = "filesystem";
/// How many notes are made on one finding; there may be one for each of very many values.
const NOTES_MAX: usize = 8;

/// Says where containment bears on `finding`: what it leaves to the rules, and why.
pub fn containment_notes(
    policy: &Policy,
    bounds: &Bounds,
    call: &ResolvedCall,
    finding: &Finding,
) -> Vec<String> {
    let asked = Asked::new(policy, bounds, call);
    let Some(role) = finding.role else { return Vec::new() };
    let values = call.values(role);
    let mut notes: Vec<String> = Vec::new();
    for (position, authority) in &finding.settled {
        let note = values.get(*position).and_then(|value| asked.note_on(role, value, *authority));
        let Some(note) = note.filter(|note| !notes.contains(note)) else { continue };
        if notes.len() == NOTES_MAX {
            notes.push("the same is true of further values".to_owned());
            break;
        }
        notes.push(note);
    }
    notes
}

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
        match role {
            // What a command finds in the directory is free; the place of its cage's mount stays.
            Role::DeletePath if self.is_cleaned() || self.keeps_view() => Role::WritePath,
            role => role,
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
        if !is_tree || self.is_cleaned() {
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
                if self.keeps_view() && is_kept_by_view(rule) {
                    continue;
                }
                if ruling.holds_elsewhere(id, rule, self.call) != Hold::No {
                    let authority = Authority::Rule(RuleRef(id));
                    ruling.note((rule.effect, authority));
                    ruling.settled.push((position, authority));
                }
            }
        }
    }

    /// Says why `authority` speaks about `value` although containment could have settled it, or although
    /// the value is not its place.
    fn note_on(&self, role: Role, value: &Value, authority: Authority) -> Option<String> {
        let path = &value.path()?.path;
        let rule = match authority {
            Authority::Rule(RuleRef(id)) => Some(self.policy.rule(id)?),
            Authority::Default => None,
            Authority::Structural(_) => return None,
        };
        if let Some((rule, place)) = rule.and_then(|rule| Some((rule, rule.place()?)))
            && place.is_within(path)
            && place != path
        {
            let name = rule.name();
            return Some(format!(
                "the call acts on everything in `{path}`, and `{name}` is about `{place}` in it"
            ));
        }
        let sandbox = self.bounds.sandbox.as_ref()?;
        if !self.bounds.in_sandbox(role, path) {
            return None;
        }
        let what = match sandbox.kind {
            SandboxKind::Workspace | SandboxKind::Filled => "workspace",
            SandboxKind::Session => "sandbox",
        };
        let server = self.call.server();
        Some(match rule {
            _ if self.containment == Containment::Loose => format!(
                "`{path}` lies in the {what}, which is free only for contained servers, and \
                 `{server}` is not contained"
            ),
            Some(rule) if rule.outranks(sandbox) => format!(
                "`{path}` lies in the {what}, which is free otherwise: `{}` is stronger there",
                rule.name()
            ),
            Some(_) | None => format!(
                "`{path}` lies in the {what}, but other values of this role do not, and for \
                 `{server}` they are judged together"
            ),
        })
    }

    /// Returns whether the call runs a command in a cage whose view follows the policy.
    pub(super) fn keeps_view(&self) -> bool {
        let names_files = |traits: &ServerTraits| traits.names_files;
        self.call.server().as_str() == SHELL
            && self.call.tool().as_str() == RUN_COMMAND
            && self.bounds.servers.get(self.call.server()).is_some_and(names_files)
    }

    /// Returns whether the call removes some files of a directory, and its server says which.
    fn is_cleaned(&self) -> bool {
        let names_files = |traits: &ServerTraits| traits.names_files;
        self.call.tool().as_str() == CLEAN
            && self.bounds.servers.get(self.call.server()).is_some_and(names_files)
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

/// Returns whether the view of a command's cage keeps to `rule` by itself: it asks what the filesystem server
/// may do at a place, whatever the tool.
fn is_kept_by_view(rule: &Rule) -> bool {
    rule.is_about(FILESYSTEM) && rule.asks_only_for_place()
}

/// Returns whether the conditions of `rule`, whose place lies beneath `value`, hold for it.
fn holds_beneath(rule: &Rule, role: Role, value: &Value) -> bool {
    let (Some(place), Some(value_path)) = (rule.place(), value.path()) else { return false };
    let is_beneath = place.is_within(&value_path.path) && *place != value_path.path;
    let restricts = rule.effect != Effect::Allow && rule.is_relevant_to(role);
    is_beneath && restricts && rule.holds_besides_path(role, value)
}
