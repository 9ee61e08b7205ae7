//! The decision: invariants, containment and rules, in the order that the specification gives.
//!
//! A total, pure function: no I/O, no clock, no randomness, and no error. Whatever cannot be judged
//! was turned into an invalid value before, and is denied here.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ic_types::{CanonicalPath, Category, Role};

use crate::bounds::{Bounds, Containment};
use crate::call::{PathValue, ResolvedCall, RoleValues, Standing, Value};
use crate::effect::Effect;
use crate::finding::{Authority, DEFAULT_DENY, Finding, RuleRef, Structural};
use crate::index::RuleId;
use crate::petition;
use crate::policy::Policy;
use crate::rule::{Hold, Rule};
use crate::verdict::{Cause, Ruling, Verdict};

/// Decides about `call`.
pub fn evaluate(policy: &Policy, bounds: &Bounds, call: ResolvedCall) -> Verdict {
    let findings = explain(policy, bounds, &call);
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
pub fn explain(policy: &Policy, bounds: &Bounds, call: &ResolvedCall) -> Vec<Finding> {
    let asked = Asked { policy, bounds, call, containment: bounds.containment(call.server()) };
    asked.findings()
}

/// Returns the finding that decides.
pub fn decisive(findings: &[Finding]) -> Option<&Finding> {
    // `max_by_key` keeps the last of equals, so it goes over them from behind.
    findings.iter().rev().max_by_key(|finding| finding.effect)
}

const LIST_ALLOWED_DIRECTORIES: &str = "list_allowed_directories";

/// How many files that the host executes are named; one is enough to ask.
const EXECUTED_MAX: usize = 64;

/// A call and all that surrounds it.
struct Asked<'a> {
    policy: &'a Policy,
    bounds: &'a Bounds,
    call: &'a ResolvedCall,
    containment: Containment,
}

/// A protected path that a value concerns, and where it stands as seen from the value.
enum Protected<'a> {
    /// At the value or above it.
    Above(&'a CanonicalPath),
    /// Beneath the value, which would be removed with it.
    Beneath(&'a CanonicalPath),
}

impl Asked<'_> {
    fn findings(&self) -> Vec<Finding> {
        if self.call.parts().standing == Standing::OfServer {
            // SECURITY: no rule is asked, so no policy lets a server steer a model or ask a person.
            return petition::findings(self.call);
        }
        let mut findings = Vec::new();
        self.check_values(&mut findings);
        self.check_paths(&mut findings);
        if self.call.parts().standing == Standing::Draft {
            let detail = "nobody has confirmed what this tool's arguments mean";
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

    fn check_values(&self, findings: &mut Vec<Finding>) {
        for invalid in &self.call.parts().invalid {
            let detail = format!("`{}`: {}", invalid.place.escape_debug(), invalid.reason);
            findings.push(Finding {
                role: Some(invalid.role),
                ..Finding::structural(Structural::InvalidValue, detail)
            });
        }
        for argument in &self.call.parts().unknown_arguments {
            let detail = format!("the annotation names no argument `{}`", argument.escape_debug());
            findings.push(Finding::structural(Structural::UnknownArgument, detail));
        }
    }

    /// Protected paths first, of all roles; then what the host executes; then paths without a role.
    fn check_paths(&self, findings: &mut Vec<Finding>) {
        for (role, value) in self.values() {
            if let Some(protected) = self.protected_by(role, value) {
                let detail = match protected {
                    Protected::Above(above) => {
                        format!("`{value}` is protected, as is all of `{above}`")
                    }
                    Protected::Beneath(beneath) => {
                        format!("`{value}` contains the protected path `{beneath}`")
                    }
                };
                findings.push(Finding {
                    role: Some(role),
                    ..Finding::structural(Structural::ProtectedPath, detail)
                });
            }
        }
        self.check_executed(findings);
        for unannotated in &self.call.parts().unannotated_paths {
            if names_of(&unannotated.path).any(|name| self.bounds.protects(name).is_some()) {
                let (argument, path) =
                    (unannotated.argument.escape_debug(), &unannotated.path.path);
                let detail = format!("the argument `{argument}` names the protected path `{path}`");
                findings.push(Finding::structural(Structural::UnannotatedPath, detail));
            }
        }
    }

    /// What the host executes as the disk shows it, then by its name; the first few are named.
    fn check_executed(&self, findings: &mut Vec<Finding>) {
        let by_name = self.values().filter_map(|(role, value)| {
            let path = value.path().filter(|_| role.changes_path())?;
            let name = names_of(path).find(|name| self.bounds.host_executes(name))?;
            let detail = match *name == path.path {
                true => format!("`{name}`: programs of this machine run it or take orders from it"),
                false => format!(
                    "`{value}` changes `{name}`, which programs of this machine run or take orders \
                     from"
                ),
            };
            Some((role, detail))
        });
        let by_disk = self.call.parts().executed.iter();
        let by_disk = by_disk.map(|it| (it.role, format!("`{}`: {}", it.path, it.why)));
        for (role, detail) in by_disk.chain(by_name).take(EXECUTED_MAX) {
            findings.push(Finding {
                role: Some(role),
                ..Finding::structural(Structural::HostExecutes, detail)
            });
        }
    }

    fn protected_by(&self, role: Role, value: &Value) -> Option<Protected<'_>> {
        match value {
            Value::Path(path) => {
                let above = names_of(path).find_map(|name| self.bounds.protects(name));
                let beneath = || match role == Role::DeletePath {
                    true => self.bounds.protected_beneath(&path.path),
                    false => None,
                };
                above.map(Protected::Above).or_else(|| beneath().map(Protected::Beneath))
            }
            Value::LocalRemote(path) => self.bounds.protects(path).map(Protected::Above),
            Value::Url(_) | Value::Text(_) => None,
        }
    }

    fn is_introspection(&self) -> bool {
        self.containment == Containment::ContainedFilesystem
            && self.call.tool().as_str() == LIST_ALLOWED_DIRECTORIES
            && self.call.asked().arguments.is_empty()
    }

    fn check_domains(&self, findings: &mut Vec<Finding>) {
        let Some(traits) = self.bounds.servers.get(self.call.server()) else { return };
        for (role, value) in self.values() {
            let Some(destination) = value.destination() else { continue };
            if !traits.allowed_domains.iter().all(|set| set.contains(destination)) {
                let server = self.call.server();
                let detail = format!(
                    "`{destination}` is not among the allowed domains of the server `{server}`"
                );
                findings.push(Finding {
                    role: Some(role),
                    ..Finding::structural(Structural::DomainEscalate, detail)
                });
            }
        }
    }

    /// A remote that nobody can name may be anything. A rule that escalates is named before this.
    fn check_remote_found(&self, findings: &mut Vec<Finding>) {
        let is_bare =
            |entry: &&RoleValues| entry.role == Role::GitRemoteUrl && entry.values.is_empty();
        if self.call.roles().iter().any(|entry| is_bare(&entry)) {
            let detail = "no remote was found, so nobody can tell where this leads";
            findings.push(Finding {
                role: Some(Role::GitRemoteUrl),
                ..Finding::structural(Structural::DomainEscalate, detail)
            });
        }
    }

    fn ask_rules(&self, findings: &mut Vec<Finding>) {
        let resources = || self.call.roles().iter().filter(|entry| entry.role.is_resource());
        if resources().next().is_none() {
            findings.push(self.judge_whole());
        } else if resources().all(|entry| self.is_settled_by_sandbox(entry)) {
            findings.push(Finding::structural(Structural::SandboxAllow, "it stays in the sandbox"));
        } else {
            let open = resources().filter(|entry| !self.is_settled_by_sandbox(entry));
            findings.extend(open.map(|entry| self.judge_role(entry)));
        }
    }

    fn is_settled_by_sandbox(&self, RoleValues { role, values }: &RoleValues) -> bool {
        self.containment != Containment::Loose
            && role.category() == Category::Path
            && !values.is_empty()
            && values.iter().all(|value| self.in_sandbox(*role, value))
    }

    fn in_sandbox(&self, role: Role, value: &Value) -> bool {
        value.path().is_some_and(|value| self.bounds.in_sandbox(role, &value.path))
    }

    fn judge_role(&self, RoleValues { role, values }: &RoleValues) -> Finding {
        let names = (self.call.server(), self.call.tool());
        if values.is_empty() {
            let rule = self.policy.index.without_values(names, *role);
            return match rule.and_then(|id| Some((id, self.policy.rule(id)?))) {
                Some((id, rule)) => Finding::by_rule(rule.effect, id, Some(*role)),
                None => {
                    Finding::default_deny(Some(*role), format!("no rule covers the role `{role}`"))
                }
            };
        }
        let mut ruling = RoleRuling::new(*role);
        for (position, value) in values.iter().enumerate() {
            let authority = self.settle(*role, value, &mut ruling);
            ruling.settled.push((position, authority));
        }
        ruling.finish(values)
    }

    /// Finds who settles `value`; rules that only add their verdict are noted on the way.
    fn settle(&self, role: Role, value: &Value, ruling: &mut RoleRuling) -> Authority {
        if self.containment == Containment::ContainedFilesystem && self.in_sandbox(role, value) {
            let authority = Authority::Structural(Structural::SandboxAllow);
            ruling.note(Effect::Allow, authority);
            return authority;
        }
        let names = (self.call.server(), self.call.tool());
        let mut is_root = false;
        for id in self.policy.index.candidates(names, role, value) {
            let Some(rule) = self.policy.rule(id).filter(|rule| rule.covers(role, value)) else {
                continue;
            };
            let authority = Authority::Rule(RuleRef(id));
            match (ruling.holds_elsewhere(id, rule, self.call), rule.effect) {
                // SECURITY: whoever may put something at the name of a root chooses what it opens.
                (Hold::Fully, Effect::Allow) if is_entry_of_root(rule, role, value) => {
                    is_root = true;
                }
                (Hold::Fully, effect) => {
                    ruling.note(effect, authority);
                    return authority;
                }
                (Hold::Partly, Effect::Escalate | Effect::Deny) => {
                    ruling.note(rule.effect, authority);
                }
                (Hold::Partly, Effect::Allow) | (Hold::No, _) => {}
            }
        }
        let (effect, authority) = match is_root {
            true => (Effect::Escalate, Authority::Structural(Structural::Root)),
            false => (Effect::Deny, Authority::Default),
        };
        ruling.note(effect, authority);
        authority
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
    let Some(path) = value.path().filter(|path| rule.is_rooted_at(&path.path)) else {
        return false;
    };
    role.is_entry() || (role == Role::WritePath && path.state.is_none())
}

/// Returns a path and the other names that lead to it.
fn names_of(value: &PathValue) -> impl Iterator<Item = &CanonicalPath> {
    std::iter::once(&value.path).chain(&value.also)
}

/// The verdict of one role as it comes together.
struct RoleRuling {
    role: Role,
    worst: Option<(Effect, Authority)>,
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

    /// Keeps the most restrictive; of equals the first rule, and a rule before anything else.
    fn note(&mut self, effect: Effect, authority: Authority) {
        let is_worse = self.worst.is_none_or(|(worst, named)| {
            worst < effect || worst == effect && authority.precedes(named)
        });
        if is_worse {
            self.worst = Some((effect, authority));
        }
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
                Finding { role, ..Finding::structural(structural, "it stays in the sandbox") }
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
        if let Some(rule) = finding.authority.rule(policy) {
            noted.insert((&*rule.name, &*rule.reason, finding.role));
        }
        causes.push(Cause {
            rule: finding.authority.name(policy),
            reason: finding.reason(policy),
            role: finding.role,
            structural: match finding.authority {
                Authority::Structural(structural) => Some(structural),
                Authority::Rule(_) | Authority::Default => None,
            },
        });
        // The values of one role may be asked about by different rules, of which a finding names one.
        for (_, authority) in &finding.settled {
            let asks = |rule: &&Rule| rule.effect == Effect::Escalate;
            let Some(rule) = authority.rule(policy).filter(asks) else { continue };
            if !noted.insert((&*rule.name, &*rule.reason, finding.role)) {
                continue;
            }
            let (name, reason) = (Arc::clone(&rule.name), Arc::clone(&rule.reason));
            causes.push(Cause { rule: name, reason, role: finding.role, structural: None });
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
