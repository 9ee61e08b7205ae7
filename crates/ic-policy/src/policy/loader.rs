//! Turns rules as written into rules that can be asked, and says what is wrong or odd about them.
//!
//! Errors name the file and the place where the mistake is written, also if that is in a list.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use ic_types::{Category, Role};

use crate::artifact::{
    ArtifactError, DomainsFile, EffectFile, IfFile, ListConditionFile, MatchTypeFile, PathsFile,
    RuleFile,
};
use crate::domain::{DomainPattern, DomainSet};
use crate::effect::Effect;
use crate::finding;
use crate::policy::Locate;
use crate::policy::lists::{Compared, Lists, Written};
use crate::rule::{
    DomainCondition, Emails, Identifiers, ListCondition, Members, PathCondition, RoleSet, Rule,
};

/// Reads the rules of one policy.
pub(super) struct Loader<'a> {
    file: &'a str,
    lists: Lists<'a>,
    locate: Locate<'a>,
    warnings: Vec<String>,
    /// The same warnings, to be found quickly.
    warned: HashSet<String>,
}

impl<'a> Loader<'a> {
    pub(super) fn new(file: &'a str, lists: Lists<'a>, locate: Locate<'a>) -> Self {
        Self { file, lists, locate, warnings: Vec::new(), warned: HashSet::new() }
    }

    /// Returns what is odd about the rules read so far.
    pub(super) fn into_warnings(self) -> Vec<String> {
        self.warnings
    }

    pub(super) fn rule(&mut self, position: usize, file: RuleFile) -> Result<Rule, ArtifactError> {
        let place = format!("rules[{position}]");
        let RuleFile { name, description, principle, condition, then, reason } = file;
        if name.is_empty() {
            return Err(self.error(format!("{place}.name"), "a rule needs a name"));
        }
        // SECURITY: people and programs tell by the name whether a rule could be changed.
        if finding::is_reserved(&name) {
            let reason = format!("`{}` is a name of decisions without a rule", name.escape_debug());
            return Err(self.error(format!("{place}.name"), reason));
        }
        let effect = match then {
            EffectFile::Allow => Effect::Allow,
            EffectFile::Escalate => Effect::Escalate,
            EffectFile::Deny => Effect::Deny,
        };
        let place = format!("{place}.if");
        self.warn_if_idle(&place, &condition);
        let IfFile { roles, server, tool, paths, domains, lists } = condition;
        let paths = paths.map(|paths| self.paths(&place, &paths)).transpose()?;
        let domains = match domains {
            Some(DomainsFile { roles, allowed }) => {
                let roles = RoleSet::of(&roles);
                let place = format!("{place}.domains.allowed");
                let allowed = self.domains(&place, effect, roles, &allowed)?;
                Some(DomainCondition { roles, allowed })
            }
            None => None,
        };
        let lists = lists
            .into_iter()
            .flatten()
            .enumerate()
            .map(|(index, list)| self.list(&format!("{place}.lists[{index}]"), effect, &list))
            .collect::<Result<_, ArtifactError>>()?;
        Ok(Rule {
            name: name.into(),
            description,
            principle,
            reason: Arc::from(reason),
            effect,
            servers: server,
            tools: tool,
            roles: roles.as_deref().map(RoleSet::of),
            paths,
            domains,
            lists,
        })
    }

    fn paths(&self, place: &str, file: &PathsFile) -> Result<PathCondition, ArtifactError> {
        let within = (self.locate)(&file.within)
            .map_err(|reason| self.error(format!("{place}.paths.within"), reason))?;
        let leaves_sandbox = file.leaves_sandbox;
        Ok(PathCondition { roles: RoleSet::of(&file.roles), within, leaves_sandbox })
    }

    fn list(
        &mut self,
        place: &str,
        effect: Effect,
        file: &ListConditionFile,
    ) -> Result<ListCondition, ArtifactError> {
        let ListConditionFile { roles, allowed, match_type } = file;
        let (place, roles) = (format!("{place}.allowed"), RoleSet::of(roles));
        let mut texts = |compared| {
            self.expand(&place, allowed, compared).into_iter().map(|written| written.text)
        };
        let allowed = match match_type {
            MatchTypeFile::Domains => {
                Members::Domains(self.domains(&place, effect, roles, allowed)?)
            }
            MatchTypeFile::Emails => {
                Members::Emails(Emails::new(effect, texts(Compared::WithoutCase)))
            }
            MatchTypeFile::Identifiers => Members::Identifiers(Identifiers::new(
                effect,
                texts(Compared::AsWritten),
                texts(Compared::WithoutCase),
            )),
        };
        Ok(ListCondition { roles, allowed })
    }

    fn domains(
        &mut self,
        place: &str,
        effect: Effect,
        roles: RoleSet,
        allowed: &[String],
    ) -> Result<DomainSet, ArtifactError> {
        let mut written = Vec::new();
        for (index, text) in allowed.iter().enumerate() {
            // As of one pattern: what stands behind a `=` means the same in every rule.
            let exact = text.strip_prefix('=').filter(|it| it.starts_with('@'));
            let found =
                self.expand_one(place, (index, exact.unwrap_or(text)), Compared::WithoutCase);
            let exactly = |it: Written<'a>| Written {
                text: format!("={}", it.text.trim_start_matches('=')),
                ..it
            };
            match exact {
                Some(_) => written.extend(found.into_iter().map(exactly)),
                None => written.extend(found),
            }
        }
        written
            .into_iter()
            .map(|Written { file, place, text }| {
                let pattern = DomainPattern::parse(&text)
                    .map_err(|error| ArtifactError::new(file, place.as_str(), error))?;
                if pattern.names_repository() && !roles.contains(Role::GitRemoteUrl) {
                    let reason = format!(
                        "`{}` has a path, which only a condition on `{}` can compare",
                        text.escape_debug(),
                        Role::GitRemoteUrl
                    );
                    return Err(ArtifactError::new(file, place, reason));
                }
                Ok(pattern)
            })
            .collect::<Result<_, _>>()
            .map(|patterns| DomainSet::of_rule(effect, patterns))
    }

    /// Replaces each `@name` by the list's values; says where each value is written.
    fn expand(&mut self, place: &str, allowed: &[String], compared: Compared) -> Vec<Written<'a>> {
        let texts = allowed.iter().enumerate();
        texts.flat_map(|(index, text)| self.expand_one(place, (index, text), compared)).collect()
    }

    fn expand_one(
        &mut self,
        place: &str,
        (index, text): (usize, &str),
        compared: Compared,
    ) -> Vec<Written<'a>> {
        match text.strip_prefix('@') {
            Some(name) => {
                self.warn_if_absent(name, place);
                self.lists.in_force(name, compared).collect()
            }
            None => vec![Written {
                file: self.file,
                place: format!("{place}[{index}]"),
                text: text.to_owned(),
            }],
        }
    }

    /// Warns of conditions that no call can meet.
    fn warn_if_idle(&mut self, place: &str, condition: &IfFile) {
        let IfFile { roles, server, tool, paths, domains, lists: _ } = condition;
        let is_path = |role: &Role| role.category() == Category::Path;
        let is_empty = |names: &Option<Vec<String>>| names.as_ref().is_some_and(Vec::is_empty);
        let nothing = "it is empty";
        let idle = [
            ("roles", nothing, roles.as_ref().is_some_and(Vec::is_empty)),
            ("server", nothing, is_empty(server)),
            ("tool", nothing, is_empty(tool)),
            (
                "paths.roles",
                "none of these roles is about paths",
                paths.as_ref().is_some_and(|paths| !paths.roles.iter().any(is_path)),
            ),
            (
                "domains.roles",
                "none of these roles is about anything but paths",
                domains.as_ref().is_some_and(|domains| domains.roles.iter().all(is_path)),
            ),
        ];
        for (key, why, _) in idle.into_iter().filter(|(.., is_idle)| *is_idle) {
            self.warn(&format!("{place}.{key}"), format!("{why}, so the rule never holds"));
        }
    }

    pub(super) fn warn_if_absent(&mut self, list: &str, place: &str) {
        if !self.lists.contains(list) {
            self.warn(place, format!("the list `{list}` is absent and counts as empty"));
        }
    }

    pub(super) fn warn_of_repeated_names(&mut self, rules: &[Rule]) {
        let mut seen = HashSet::new();
        for (position, rule) in rules.iter().enumerate() {
            if !seen.insert(rule.name()) {
                let reason = format!("another rule is called `{}` too", rule.name());
                self.warn(&format!("rules[{position}].name"), reason);
            }
        }
    }

    /// Notes a warning, once.
    fn warn(&mut self, place: &str, reason: impl fmt::Display) {
        let warning = format!("{}: {place}: {reason}", self.file);
        if self.warned.insert(warning.clone()) {
            self.warnings.push(warning);
        }
    }

    fn error(&self, place: String, reason: impl fmt::Display) -> ArtifactError {
        ArtifactError::new(self.file, place, reason)
    }
}
