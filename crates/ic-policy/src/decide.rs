//! The decision: invariants, containment and rules, in the order that the specification gives.
//!
//! A total, pure function: no I/O, no clock, no randomness, and no error. Whatever cannot be judged
//! was turned into an invalid value before, and is denied here.

mod invariants;
mod sandbox;

pub use sandbox::containment_notes;

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ic_types::{Category, Role};

use crate::bounds::{Bounds, Containment};
use crate::call::{ResolvedCall, RoleValues, Standing, Value};
use crate::effect::Effect;
use crate::finding::{Authority, DEFAULT_DENY, Finding, RuleRef, Structural};
use crate::index::RuleId;
use crate::petition;
use crate::plan;
use crate::policy::Policy;
use crate::rule::{Hold, Rule};
use crate::verdict::{Cause, Ruling, Verdict};

/// Decides about `call`.
pub fn evaluate(policy: &Policy, bounds: &Bounds, call: ResolvedCall) -> Verdict {
    let findings = Asked::new(policy, bounds, &call).findings();
    let Some(decisive) = decisive(&findings) else {
        // INVARIANT: `explain` always finds something; an empty list would be a bug, so it denies.
        return deny_by_default(policy, call);
    };
    let (roles, causes) = match decisive.effect {
        Effect::Escalate => (escalated_roles(&findings, &call), causes(&findings, policy)),
        Effect::Allow | Effect::Deny => (Vec::new(), Vec::new()),
    };
    let ruling = Ruling {
        rule: decisive.authority.name(policy),
        reason: with_containment(decisive, policy, (bounds, &call)),
        roles,
        causes,
        policy_hash: policy.hash(),
    };
    Verdict::new(decisive.effect, call, ruling)
}

/// Returns everything that speaks for or against `call`; the first of the most restrictive decides.
///
/// Names the roles that the sandbox settles too, although they decide nothing beside other roles.
pub fn explain(policy: &Policy, bounds: &Bounds, call: &ResolvedCall) -> Vec<Finding> {
    let asked = Asked::new(policy, bounds, call);
    let mut findings = asked.findings();
    asked.name_settled_roles(&mut findings);
    findings
}

/// Returns the finding that decides.
pub fn decisive(findings: &[Finding]) -> Option<&Finding> {
    // `max_by_key` keeps the last of equals, so it goes over them from behind.
    findings.iter().rev().max_by_key(|finding| finding.effect)
}

const STAYS_IN_SANDBOX: &str = "it stays in the sandbox";

/// A call and all that surrounds it.
struct Asked<'a> {
    policy: &'a Policy,
    bounds: &'a Bounds,
    call: &'a ResolvedCall,
    containment: Containment,
}

impl<'a> Asked<'a> {
    fn new(policy: &'a Policy, bounds: &'a Bounds, call: &'a ResolvedCall) -> Self {
        Self { policy, bounds, call, containment: bounds.containment(call.server()) }
    }
}

impl Asked<'_> {
    fn findings(&self) -> Vec<Finding> {
        if self.call.parts().standing == Standing::OfServer {
            // SECURITY: no rule is asked, so no policy lets a server steer a model or ask a person.
            return petition::findings(self.call);
        }
        if self.call.parts().standing == Standing::Plan {
            // SECURITY: no rule is asked, so no policy approves calls before they are made.
            return plan::findings(self.call);
        }
        let mut findings = Vec::new();
        self.check_values(&mut findings);
        self.check_paths(&mut findings);
        if self.call.parts().standing == Standing::Draft {
            let detail = "the meaning of this tool's arguments is not confirmed yet";
            findings.push(Finding::structural(Structural::Draft, detail));
        }
        let is_introspection = self.is_introspection();
        if is_introspection {
            let detail = "the list of allowed directories says nothing new";
            findings.push(Finding::structural(Structural::IntrospectionAllow, detail));
        }
        self.check_domains(&mut findings);
        if self.call.parts().standing == Standing::Unknown && !is_introspection {
            let detail = format!("no annotation says what `{}` does", self.call.tool());
            findings.push(Finding::structural(Structural::UnknownTool, detail));
        }
        // A denial stands; no rule could change it.
        let is_denied = findings.iter().any(|finding| finding.effect == Effect::Deny);
        if !is_denied && !is_introspection {
            self.ask_rules(&mut findings);
        }
        self.check_remote_found(&mut findings);
        findings
    }

    fn ask_rules(&self, findings: &mut Vec<Finding>) {
        let mut resources = self.resources().peekable();
        if resources.peek().is_none() {
            findings.push(self.judge_whole());
            return;
        }
        let n_before = findings.len();
        findings.extend(resources.filter_map(|entry| self.judge_role(entry)));
        if findings.len() == n_before {
            findings.push(Finding::structural(Structural::SandboxAllow, STAYS_IN_SANDBOX));
        }
        findings.extend(self.judge_beside());
    }

    /// Judges one role; nothing is said of a role that the sandbox settles.
    fn judge_role(&self, RoleValues { role, values }: &RoleValues) -> Option<Finding> {
        let names = (self.call.server(), self.call.tool());
        if values.is_empty() {
            let rule = self.policy.index.without_values(names, *role);
            return Some(match rule.and_then(|id| Some((id, self.policy.rule(id)?))) {
                Some((id, rule)) => Finding::by_rule(rule.effect, id, Some(*role)),
                None => {
                    Finding::default_deny(Some(*role), format!("no rule covers the role `{role}`"))
                }
            });
        }
        let mut ruling = RoleRuling::new(*role);
        let walks: Vec<Walk> =
            values.iter().map(|value| self.walk(*role, value, &mut ruling)).collect();
        let free: Vec<bool> = values
            .iter()
            .zip(&walks)
            .map(|(value, walk)| self.is_free(*role, value, walk))
            .collect();
        let is_settled = free.iter().all(|is_free| *is_free);
        // Only the paths of the filesystem server stand each by itself.
        let is_each = is_settled || self.containment == Containment::ContainedFilesystem;
        for (position, (walk, is_free)) in walks.iter().zip(&free).enumerate() {
            ruling.settle(position, if *is_free && is_each { &Walk::IN_SANDBOX } else { walk });
        }
        let n_settled = ruling.settled.len();
        self.add_beneath(values, &mut ruling);
        let is_free = is_settled && ruling.settled.len() == n_settled;
        (!is_free).then(|| ruling.finish(values))
    }

    /// Walks the rules until one settles `value`.
    fn walk(&self, role: Role, value: &Value, ruling: &mut RoleRuling) -> Walk {
        let names = (self.call.server(), self.call.tool());
        let (mut is_root, mut added) = (false, None);
        for id in self.policy.index.candidates(names, role, value) {
            let Some(rule) = self.policy.rule(id).filter(|rule| rule.covers(role, value)) else {
                continue;
            };
            let said = (rule.effect, Authority::Rule(RuleRef(id)));
            match (ruling.holds_elsewhere(id, rule, self.call), rule.effect) {
                // SECURITY: an agent that may put something at the name of a root chooses what it opens.
                (Hold::Fully, Effect::Allow) if is_entry_of_root(rule, role, value) => {
                    is_root = true;
                }
                (Hold::Fully, _) => return Walk { settled: said, added },
                (Hold::Partly, Effect::Escalate | Effect::Deny) => {
                    added = Some(added.map_or(said, |worst| worse(worst, said)));
                }
                (Hold::Partly, Effect::Allow) | (Hold::No, _) => {}
            }
        }
        let settled = match is_root {
            true => (Effect::Escalate, Authority::Structural(Structural::Root)),
            false => (Effect::Deny, Authority::Default),
        };
        Walk { settled, added }
    }

    /// Judges a call without resource roles by the first rule that holds for it.
    fn judge_whole(&self) -> Finding {
        let mut added: Option<(Effect, RuleId)> = None;
        for id in self.policy.index.whole(self.call.server(), self.call.tool()) {
            let Some(rule) = self.policy.rule(id) else { continue };
            match (rule.holds_for_whole(self.call), rule.effect) {
                (Hold::Fully, effect) => {
                    let (effect, id) = match added {
                        Some(earlier) if effect <= earlier.0 => earlier,
                        Some(_) | None => (effect, id),
                    };
                    return Finding::by_rule(effect, id, None);
                }
                (Hold::Partly, effect @ (Effect::Escalate | Effect::Deny)) => {
                    if added.is_none_or(|(worst, _)| worst < effect) {
                        added = Some((effect, id));
                    }
                }
                (Hold::Partly, Effect::Allow) | (Hold::No, _) => {}
            }
        }
        match added {
            Some((Effect::Deny, id)) => Finding::by_rule(Effect::Deny, id, None),
            Some(_) | None => {
                Finding::default_deny(None, format!("no rule covers `{}`", self.call.tool()))
            }
        }
    }

    /// Judges what a call says beside its resources, such as whom a mail goes to.
    ///
    /// SECURITY: a rule that allows the file of a mail says nothing of its recipient. So what a rule restricts
    /// that names such roles is added here; nothing is allowed or denied for want of a rule.
    fn judge_beside(&self) -> Option<Finding> {
        if !self.policy.index.has_restriction_beside() {
            return None;
        }
        let mut added: Option<(Effect, RuleId)> = None;
        for id in self.policy.index.whole(self.call.server(), self.call.tool()) {
            let Some(rule) = self.policy.rule(id).filter(|it| it.may_speak_beside(self.call))
            else {
                continue;
            };
            let hold = rule.holds_for_whole(self.call);
            let restricts = rule.effect != Effect::Allow && rule.names_roles();
            if hold != Hold::No && restricts && added.is_none_or(|(worst, _)| worst < rule.effect) {
                added = Some((rule.effect, id));
            }
            if hold == Hold::Fully {
                break;
            }
        }
        added.map(|(effect, id)| Finding::by_rule(effect, id, None))
    }

    /// Returns the roles that a rule or the sandbox has to settle.
    fn resources(&self) -> impl Iterator<Item = &RoleValues> {
        self.call.roles().iter().filter(|entry| entry.role.is_resource())
    }

    /// Returns all values with their roles, in annotation order.
    fn values(&self) -> impl Iterator<Item = (Role, &Value)> {
        self.call
            .roles()
            .iter()
            .flat_map(|entry| entry.values.iter().map(move |value| (entry.role, value)))
    }
}

/// Returns whether a call makes, moves or removes the entry of the directory that `rule` opens.
fn is_entry_of_root(rule: &Rule, role: Role, value: &Value) -> bool {
    value.path().is_some_and(|path| rule.is_rooted_at(&path.path) && path.is_about_entry(role))
}

/// A verdict and who gives it.
type Said = (Effect, Authority);

/// Returns the more restrictive of two; of equals the first rule, and a rule before anything else.
fn worse(one: Said, other: Said) -> Said {
    match one.0.cmp(&other.0) {
        Ordering::Less => other,
        Ordering::Equal if other.1.precedes(one.1) => other,
        Ordering::Equal | Ordering::Greater => one,
    }
}

/// What the rules say of one value.
struct Walk {
    /// Who settles it.
    settled: Said,
    /// The worst of the rules that add their verdict without settling it.
    added: Option<Said>,
}

impl Walk {
    /// Of a value that the sandbox settles instead.
    const IN_SANDBOX: Self = Self {
        settled: (Effect::Allow, Authority::Structural(Structural::SandboxAllow)),
        added: None,
    };
}

/// The verdict of one role as it comes together.
struct RoleRuling {
    role: Role,
    worst: Option<Said>,
    settled: Vec<(usize, Authority)>,
    /// How far rules hold on the call's other roles, which is the same for all values of this one.
    elsewhere: HashMap<RuleId, Hold>,
}

impl RoleRuling {
    fn new(role: Role) -> Self {
        Self { role, worst: None, settled: Vec::new(), elsewhere: HashMap::new() }
    }

    /// Asks `rule` about the other roles once, however many values this role has.
    fn holds_elsewhere(&mut self, id: RuleId, rule: &Rule, call: &ResolvedCall) -> Hold {
        // Without lists nothing is asked of other roles, and nothing needs remembering.
        if rule.lists.is_empty() {
            return Hold::Fully;
        }
        let role = Some(self.role);
        *self.elsewhere.entry(id).or_insert_with(|| rule.holds_elsewhere(role, call))
    }

    /// Notes who settles the value at `position`, and who only adds a verdict.
    fn settle(&mut self, position: usize, walk: &Walk) {
        for said in walk.added.into_iter().chain([walk.settled]) {
            self.note(said);
        }
        self.settled.push((position, walk.settled.1));
    }

    fn note(&mut self, said: Said) {
        self.worst = Some(self.worst.map_or(said, |worst| worse(worst, said)));
    }

    fn finish(self, values: &[Value]) -> Finding {
        let role = Some(self.role);
        let (effect, authority) = self.worst.unwrap_or((Effect::Deny, Authority::Default));
        let finding = match authority {
            Authority::Rule(RuleRef(id)) => Finding::by_rule(effect, id, role),
            Authority::Structural(Structural::Root) => {
                let detail = "a rule opens what is in this directory, not the directory itself";
                Finding { role, ..Finding::structural(Structural::Root, detail) }
            }
            Authority::Structural(structural) => {
                Finding { role, ..Finding::structural(structural, STAYS_IN_SANDBOX) }
            }
            Authority::Default => {
                let left = self.settled.iter().find(|(_, by)| *by == Authority::Default);
                let value = left.and_then(|(position, _)| values.get(*position));
                let value = value.map_or_else(String::new, |value| format!(" for `{value}`"));
                let role_name = self.role;
                Finding::default_deny(role, format!("no rule covers the role `{role_name}`{value}"))
            }
        };
        Finding { settled: self.settled, ..finding }
    }
}

/// Returns every role that something escalated, in annotation order.
fn escalated_roles(findings: &[Finding], call: &ResolvedCall) -> Vec<Role> {
    let escalated =
        |role: Role| findings.iter().any(|f| f.effect == Effect::Escalate && f.role == Some(role));
    call.roles().iter().map(|entry| entry.role).filter(|role| escalated(*role)).collect()
}

/// Returns everything that escalates, each with the role that it is about.
fn causes(findings: &[Finding], policy: &Policy) -> Vec<Cause> {
    let mut causes = Vec::new();
    // A rule and a role are one cause, however many values they are about.
    let mut noted = HashSet::new();
    for finding in findings.iter().filter(|finding| finding.effect == Effect::Escalate) {
        let by = match finding.authority {
            Authority::Rule(rule) => Some(rule),
            Authority::Structural(_) | Authority::Default => None,
        };
        noted.extend(by.map(|by| (by, finding.role)));
        causes.push(Cause {
            rule: finding.authority.name(policy),
            reason: finding.reason(policy),
            role: finding.role,
            structural: match finding.authority {
                Authority::Structural(structural) => Some(structural),
                Authority::Rule(_) | Authority::Default => None,
            },
            by,
        });
        // The values of one role may be asked about by different rules, of which a finding names one.
        for (_, authority) in &finding.settled {
            let Authority::Rule(by) = *authority else { continue };
            let asks = |rule: &&Rule| rule.effect == Effect::Escalate;
            let Some(rule) = authority.rule(policy).filter(asks) else { continue };
            if !noted.insert((by, finding.role)) {
                continue;
            }
            let (rule, reason) = (Arc::clone(&rule.name), Arc::clone(&rule.reason));
            let (role, by) = (finding.role, Some(by));
            causes.push(Cause { rule, reason, role, structural: None, by });
        }
    }
    causes
}

/// Returns why a call is decided as it is; of one that asks only because its server is not contained, that
/// too.
fn with_containment(
    decisive: &Finding,
    policy: &Policy,
    (bounds, call): (&Bounds, &ResolvedCall),
) -> Arc<str> {
    let reason = decisive.reason(policy);
    let is_loose = bounds.containment(call.server()) == Containment::Loose;
    let by_rule = matches!(decisive.authority, Authority::Rule(_));
    let is_inside = |entry: &RoleValues| {
        let mut values = entry.values.iter().filter_map(Value::path);
        let all_paths = entry.values.iter().all(|value| value.path().is_some());
        entry.role.category() == Category::Path
            && all_paths
            && !entry.values.is_empty()
            && values.all(|value| bounds.in_sandbox(entry.role, &value.path))
    };
    let mut resources = call.roles().iter().filter(|entry| entry.role.is_resource()).peekable();
    let stays = resources.peek().is_some() && resources.all(is_inside);
    match decisive.effect == Effect::Escalate && by_rule && is_loose && stays {
        true => Arc::from(format!(
            "{reason} (the server `{}` is not contained, so the sandbox is not free for it)",
            call.server()
        )),
        false => reason,
    }
}

fn deny_by_default(policy: &Policy, call: ResolvedCall) -> Verdict {
    let ruling = Ruling {
        rule: Arc::from(DEFAULT_DENY),
        reason: Arc::from("nothing speaks for the call"),
        roles: Vec::new(),
        causes: Vec::new(),
        policy_hash: policy.hash(),
    };
    Verdict::new(Effect::Deny, call, ruling)
}
