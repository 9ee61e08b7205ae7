//! The properties that every policy is checked for.

use ic_policy::{Annotation, ArgumentAnnotation, Effect, HostPattern, Rule, Value};
use ic_types::{CanonicalPath, Category, Json, Role};

use super::sentence::Named;
use super::{ExampleCall, Finding, Level, Seen, Verifier};
use crate::TooComplex;
use crate::model;
use crate::side::By;
use crate::tools::Tool;

/// Nothing is written, deleted or sent outside the sandbox without approval.
pub(super) const CHANGES_NEED_APPROVAL: &str = "changes-need-approval";
/// No call reaches a protected path.
pub(super) const PROTECTED_PATHS: &str = "protected-paths";
/// Every rule decides about something.
pub const NO_SHADOWED_RULE: &str = "no-shadowed-rule";
/// No rule allows more than the directory or host that its sentence names.
pub(super) const WITHIN_ITS_SENTENCE: &str = "within-its-sentence";
/// Nothing is allowed that reaches the network and carries free text, except to recipients that a rule names.
pub(super) const NO_TEXT_TO_THE_NETWORK: &str = "no-text-to-the-network";
/// The names of all of them.
pub(super) const NAMES: [&str; 5] = [
    CHANGES_NEED_APPROVAL,
    PROTECTED_PATHS,
    NO_SHADOWED_RULE,
    WITHIN_ITS_SENTENCE,
    NO_TEXT_TO_THE_NETWORK,
];

/// Parts of the names of arguments that are paths.
const LIKE_PATHS: [&str; 5] = ["path", "file", "directory", "folder", "filename"];

/// Returns whether a finding with this name is about a built-in property.
pub fn is_built_in(property: &str) -> bool {
    // A shadowed rule is named behind it.
    NAMES.contains(&property.split(' ').next().unwrap_or_default())
}

impl<'a> Verifier<'_, 'a> {
    /// Checks what one way in which calls come out says of the built-in properties.
    pub(super) fn built_in(
        &mut self,
        seen: &Seen<'_, '_, 'a>,
        sentences: &[Option<Named>],
    ) -> Result<(), TooComplex> {
        let bounds = self.subject().bounds;
        if seen.effect() == Effect::Deny {
            return Ok(());
        }
        let has_text = || self.carries_text(seen.tool);
        let is_allowed = seen.effect() == Effect::Allow;
        let has_text = is_allowed && has_text();
        // What only rides along, such as a commit message, is no place, and there are many such texts.
        let is_wanted = |role: Role| role.is_resource() || names_recipient(role);
        for (role, position, example, value) in seen.values(self.policies, &is_wanted) {
            let at = (seen, position);
            if path_of(&value).is_some_and(|path| bounds.protects(path).is_some()) {
                let by = seen.decider_of_call(self.policies, position);
                let problem = || format!("reaches the protected path `{value}`");
                self.note((PROTECTED_PATHS, Level::Failed), at, (Some(role), by), &problem)?;
            }
            if !is_allowed {
                continue;
            }
            let is_outside = |path: &CanonicalPath| !bounds.in_sandbox(role, path);
            let changes = role.changes_path() && path_of(&value).is_some_and(is_outside);
            let sends = reaches_network(role, &value);
            if !changes && !sends && !has_place(&value) {
                continue;
            }
            let by = seen.decider(self.policies, (role, position, example))?;
            if changes || sends {
                let level = match self.rule(by).is_some_and(is_limited) {
                    true => Level::Granted,
                    false => Level::Failed,
                };
                let problem = || match changes {
                    true => "changes files outside the sandbox without approval".to_owned(),
                    false => "sends something away without approval".to_owned(),
                };
                self.note((CHANGES_NEED_APPROVAL, level), at, (Some(role), by), &problem)?;
            }
            if sends && has_text {
                // A named recipient gets text in any case: the address of a page carries it too.
                let level = match self.rule(by).is_some_and(names_each_recipient) {
                    true => Level::Granted,
                    false => Level::Failed,
                };
                let problem = || {
                    match level {
                    Level::Granted => {
                        "can send any text to the hosts or addresses that the rule names".to_owned()
                    }
                    Level::Failed | Level::Accepted => {
                        "can send any text, and so all that an agent has read, to hosts or addresses \
                         that the rule does not name one by one"
                            .to_owned()
                    }
                }
                };
                self.note((NO_TEXT_TO_THE_NETWORK, level), at, (Some(role), by), &problem)?;
            }
            self.check_sentence(at, (role, by), &value, sentences)?;
        }
        Ok(())
    }

    fn check_sentence(
        &mut self,
        at: (&Seen<'_, '_, 'a>, usize),
        (role, by): (Role, By),
        value: &Value,
        sentences: &[Option<Named>],
    ) -> Result<(), TooComplex> {
        let By::Rule(position) = by else { return Ok(()) };
        let Some(Some(named)) = sentences.get(position) else { return Ok(()) };
        // As `has_place` says, nothing else is compared.
        let is_named = match value {
            Value::Path(path) => named.speaks_of_path(&path.path),
            Value::Url(url) => named.speaks_of_host(&url.destination.host),
            Value::LocalRemote(_) | Value::Text(_) => true,
        };
        if is_named {
            return Ok(());
        }
        let problem = || format!("is allowed for `{value}`, which the sentence does not name");
        self.note((WITHIN_ITS_SENTENCE, Level::Failed), at, (Some(role), by), &problem)
    }

    fn rule(&self, by: By) -> Option<&'a Rule> {
        match by {
            By::Rule(position) => self.subject().policy.rules().get(position),
            By::Structural(_) | By::Default => None,
        }
    }

    /// Returns whether calls of a tool can carry any text.
    fn carries_text(&self, (server, tool): Tool<'_>) -> bool {
        let Some(annotation) = self.subject().policy.annotation(server, tool) else { return false };
        annotation.arguments().iter().any(|it| {
            let is_opaque = it.possible_roles().all(|role| role.category() == Category::Opaque);
            is_opaque && model::may_hold_text(annotation, it)
        })
    }

    /// Finds arguments that are called like paths and are not judged as paths.
    pub(super) fn arguments_like_paths(&mut self, tool: Tool<'_>) -> Result<(), TooComplex> {
        let subject = self.subject();
        let Some(annotation) = subject.policy.annotation(tool.0, tool.1) else { return Ok(()) };
        let Some(protected) = subject.bounds.protected.first().and_then(|it| it.to_str()) else {
            return Ok(());
        };
        for argument in annotation.arguments() {
            if !is_like_path(annotation, argument) {
                continue;
            }
            let mut least: Option<(Effect, ic_types::Object)> = None;
            self.policies.search(tool, &mut |search, hit| {
                let [effect] = hit.effects;
                if least.as_ref().is_none_or(|(known, _)| effect < *known) {
                    least = Some((effect, search.arguments(hit.call)));
                }
                Ok(())
            })?;
            let Some((effect, mut arguments)) = least.filter(|(it, _)| *it != Effect::Deny) else {
                continue;
            };
            arguments.insert(argument.place().argument(), Json::from(protected));
            let name = argument.place().as_str();
            let finding = Finding {
                property: PROTECTED_PATHS.to_owned(),
                level: Level::Failed,
                problem: format!(
                    "the argument `{name}` is called like a path and has no role of a path, so a \
                     protected path in it is only asked about"
                ),
                rule: "structural-unannotated-path".to_owned(),
                sentence: None,
                tools: vec![format!("{}.{}", tool.0, tool.1)],
                example: ExampleCall {
                    server: tool.0.clone(),
                    tool: tool.1.clone(),
                    arguments,
                    // A string that names a protected path is asked about at least.
                    effect: effect.max(Effect::Escalate),
                },
            };
            let key = (finding.property.clone(), finding.level, format!("{}.{name}", tool.1), None);
            self.found.entry(key).or_insert(finding);
        }
        Ok(())
    }

    /// Finds rules that decide about nothing, and a call that each of them seems to be about.
    pub(super) fn shadowed(&mut self) -> Result<(), TooComplex> {
        let policy = self.subject().policy;
        let heard = self.policies.heard(0);
        for (position, rule) in policy.rules().iter().enumerate() {
            if heard.contains(&position) {
                continue;
            }
            let policies = self.policies;
            for tool in policies.tools() {
                if !rule.is_about(tool.0.as_str()) || !rule.is_about_tool(tool.1.as_str()) {
                    continue;
                }
                let mut is_noted = false;
                policies.search(tool, &mut |search, hit| {
                    let seen = Seen { tool, search, hit };
                    let is_wanted = |role: Role| role.is_resource() && rule.is_relevant_to(role);
                    let values = seen.values(policies, &is_wanted);
                    let covered =
                        values.into_iter().find(|(role, _, _, value)| rule.covers(*role, value));
                    let Some((role, at, example, _)) = covered.filter(|_| !is_noted) else {
                        return Ok(());
                    };
                    is_noted = true;
                    let by = seen.said_of(role, example)?.map_or(By::Default, |it| it.by);
                    let (name, first) = (rule.name(), by.name(policy));
                    let problem =
                        || format!("the rule `{name}` decides nothing: `{first}` comes first");
                    // One finding for each such rule, whichever rule comes before it.
                    let property = format!("{NO_SHADOWED_RULE} ({name})");
                    self.note((&property, Level::Failed), (&seen, at), (None, by), &problem)
                })?;
                if is_noted {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Returns whether a rule allows something in a place, at hosts or for names that it names.
fn is_limited(rule: &Rule) -> bool {
    let is_named = |host: &HostPattern| match host {
        HostPattern::AnyPublic => false,
        HostPattern::Under(_) | HostPattern::Exact(_) => true,
    };
    let in_place = rule.place().is_some_and(|place| place.parent().is_some());
    let mut hosts = rule.patterns().map(|it| is_named(it.host())).peekable();
    let at_hosts = hosts.peek().is_some() && hosts.all(|it| it);
    in_place || at_hosts || rule.texts().next().is_some()
}

/// Returns whether a rule names everyone it lets text be sent to, none of them by a pattern.
fn names_each_recipient(rule: &Rule) -> bool {
    let is_exact = |host: &HostPattern| match host {
        HostPattern::Exact(_) => true,
        // Others may own names under it, as with hosting services.
        HostPattern::AnyPublic | HostPattern::Under(_) => false,
    };
    let mut hosts = rule.patterns().map(|it| is_exact(it.host())).peekable();
    match hosts.peek() {
        Some(_) => hosts.all(|it| it),
        None => rule.texts().next().is_some(),
    }
}

/// Returns whether text of a role says where something goes.
fn names_recipient(role: Role) -> bool {
    matches!(role, Role::ProxyDomain | Role::EmailAddress)
}

fn reaches_network(role: Role, value: &Value) -> bool {
    match value {
        Value::Url(_) => true,
        Value::Text(_) => names_recipient(role),
        Value::Path(_) | Value::LocalRemote(_) => false,
    }
}

/// Returns whether a value has a place that a sentence can name.
fn has_place(value: &Value) -> bool {
    matches!(value, Value::Path(_) | Value::Url(_))
}

fn path_of(value: &Value) -> Option<&CanonicalPath> {
    match value {
        Value::Path(path) => Some(&path.path),
        Value::LocalRemote(path) => Some(path),
        Value::Url(_) | Value::Text(_) => None,
    }
}

/// Returns whether an argument is called like a path and is none to the policy.
fn is_like_path(annotation: &Annotation, argument: &ArgumentAnnotation) -> bool {
    let is_opaque = argument.possible_roles().all(|role| role.category() == Category::Opaque);
    let name = argument.place().as_str().to_ascii_lowercase();
    let last = name.rsplit(['/', '_', '-', '.']).next().unwrap_or_default();
    is_opaque && LIKE_PATHS.contains(&last) && model::may_hold_text(annotation, argument)
}
