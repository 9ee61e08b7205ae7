//! A policy, loaded: rules, annotations and lists, checked in full and ready to be asked.
//!
//! Loading gets bytes and a function that makes a path canonical; it opens nothing itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use ic_types::{CanonicalPath, Digest, ServerName, ToolName};

use crate::annotation::{Annotation, Annotations};
use crate::artifact::{
    self, AnnotationsFile, ArtifactError, CompiledFile, EffectFile, IfFile, ListsFile,
    MatchTypeFile, RuleFile, Source,
};
use crate::domain::{DomainPattern, DomainSet};
use crate::effect::Effect;
use crate::index::{Index, RuleId};
use crate::rule::{
    DomainCondition, Identifiers, ListCondition, Members, PathCondition, RoleSet, Rule,
};

/// A policy in force.
#[derive(Debug)]
pub struct Policy {
    rules: Vec<Rule>,
    pub(crate) index: Index,
    pub(crate) annotations: Annotations,
    hash: Digest,
    constitution_hash: Option<String>,
    warnings: Vec<String>,
}

/// The files of a policy directory.
#[derive(Clone, Copy, Debug)]
pub struct PolicySources<'a> {
    /// `compiled-policy.json`.
    pub compiled: Source<'a>,
    /// `tool-annotations.json`.
    pub annotations: Source<'a>,
    /// `dynamic-lists.json`, if there is one.
    pub lists: Option<Source<'a>>,
}

/// Makes a path of a rule canonical: `~` expanded, links followed; or says why it cannot.
pub type Locate<'a> = &'a dyn Fn(&str) -> Result<CanonicalPath, String>;

// === impl Policy ===

impl Policy {
    /// Loads a policy and checks all of it.
    pub fn load(sources: &PolicySources<'_>, locate: Locate<'_>) -> Result<Self, ArtifactError> {
        let compiled: CompiledFile = artifact::read(sources.compiled)?;
        let annotations: AnnotationsFile = artifact::read(sources.annotations)?;
        let lists = sources.lists.map(artifact::read).transpose()?;
        let mut loader = Loader {
            file: sources.compiled.file,
            lists: lists.map_or_else(BTreeMap::new, in_force),
            locate,
            warnings: Vec::new(),
        };
        let rules = compiled
            .rules
            .into_iter()
            .enumerate()
            .map(|(position, rule)| loader.rule(position, rule))
            .collect::<Result<Vec<_>, _>>()?;
        loader.warn_of_repeated_names(&rules);
        for definition in compiled.list_definitions.into_iter().flatten() {
            loader.warn_if_absent(&definition.name, "listDefinitions");
        }
        let bytes = [Some(sources.compiled), Some(sources.annotations), sources.lists];
        Ok(Self {
            index: Index::new(&rules),
            rules,
            annotations: Annotations::compile(annotations, sources.annotations.file)?,
            hash: Digest::of_parts(bytes.iter().flatten().map(|source| source.bytes)),
            constitution_hash: compiled.constitution_hash,
            warnings: loader.warnings,
        })
    }

    /// Returns the rules, in order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns the annotation of a tool.
    pub fn annotation(&self, server: &ServerName, tool: &ToolName) -> Option<&Annotation> {
        self.annotations.get(server, tool)
    }

    /// Returns all annotated tools, sorted by server and tool.
    pub fn annotations(&self) -> impl Iterator<Item = (&ServerName, &ToolName, &Annotation)> {
        self.annotations.iter()
    }

    /// Returns the hash over the policy's files.
    pub fn hash(&self) -> Digest {
        self.hash
    }

    /// Returns the hash of the constitution that the policy was compiled from.
    pub fn constitution_hash(&self) -> Option<&str> {
        self.constitution_hash.as_deref()
    }

    /// Returns what is odd about the policy, though it can be used.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub(crate) fn rule(&self, id: RuleId) -> Option<&Rule> {
        self.rules.get(id.position())
    }
}

/// The values of each list: values plus additions, less removals.
fn in_force(file: ListsFile) -> BTreeMap<String, Vec<String>> {
    let without_removed = |list: artifact::ListFile| {
        let artifact::ListFile { values, manual_additions, manual_removals, .. } = list;
        let is_removed =
            |value: &String| manual_removals.iter().any(|gone| gone.eq_ignore_ascii_case(value));
        values.into_iter().chain(manual_additions).filter(|value| !is_removed(value)).collect()
    };
    file.lists.into_iter().map(|(name, list)| (name, without_removed(list))).collect()
}

/// Turns rules as written into rules that can be asked.
struct Loader<'a> {
    file: &'a str,
    lists: BTreeMap<String, Vec<String>>,
    locate: Locate<'a>,
    warnings: Vec<String>,
}

impl Loader<'_> {
    fn rule(&mut self, position: usize, file: RuleFile) -> Result<Rule, ArtifactError> {
        let place = format!("rules[{position}]");
        if file.name.is_empty() {
            return Err(self.error(format!("{place}.name"), "a rule needs a name"));
        }
        let RuleFile { name, description, principle, condition, then, reason } = file;
        let effect = match then {
            EffectFile::Allow => Effect::Allow,
            EffectFile::Escalate => Effect::Escalate,
            EffectFile::Deny => Effect::Deny,
        };
        let place = format!("{place}.if");
        let IfFile { roles, server, tool, paths, domains, lists } = condition;
        let paths = match paths {
            Some(paths) => Some(PathCondition {
                roles: RoleSet::of(&paths.roles),
                within: (self.locate)(&paths.within)
                    .map_err(|reason| self.error(format!("{place}.paths.within"), reason))?,
            }),
            None => None,
        };
        let domains = match domains {
            Some(domains) => Some(DomainCondition {
                roles: RoleSet::of(&domains.roles),
                allowed: self.domains(&format!("{place}.domains.allowed"), &domains.allowed)?,
            }),
            None => None,
        };
        let lists = lists
            .into_iter()
            .flatten()
            .enumerate()
            .map(|(index, list)| {
                let place = format!("{place}.lists[{index}].allowed");
                let allowed = self.members(&place, list.match_type, &list.allowed)?;
                Ok(ListCondition { roles: RoleSet::of(&list.roles), allowed })
            })
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

    fn members(
        &mut self,
        place: &str,
        match_type: MatchTypeFile,
        allowed: &[String],
    ) -> Result<Members, ArtifactError> {
        Ok(match match_type {
            MatchTypeFile::Domains => Members::Domains(self.domains(place, allowed)?),
            MatchTypeFile::Emails => Members::Emails(
                self.expand(place, allowed)
                    .into_iter()
                    .map(|(_, text)| text.to_ascii_lowercase())
                    .collect(),
            ),
            MatchTypeFile::Identifiers => Members::Identifiers(Identifiers::new(
                self.expand(place, allowed).into_iter().map(|(_, text)| text).collect(),
            )),
        })
    }

    fn domains(&mut self, place: &str, allowed: &[String]) -> Result<DomainSet, ArtifactError> {
        self.expand(place, allowed)
            .into_iter()
            .map(|(at, text)| DomainPattern::parse(&text).map_err(|error| self.error(at, error)))
            .collect::<Result<_, _>>()
            .map(DomainSet::new)
    }

    /// Replaces each `@name` by the list's values; says where each value stands.
    fn expand(&mut self, place: &str, allowed: &[String]) -> Vec<(String, String)> {
        let mut values = Vec::new();
        for (index, text) in allowed.iter().enumerate() {
            match text.strip_prefix('@') {
                Some(name) => {
                    self.warn_if_absent(name, place);
                    let list = self.lists.get(name).into_iter().flatten();
                    values.extend(list.map(|value| (format!("{place}[{index}]"), value.clone())));
                }
                None => values.push((format!("{place}[{index}]"), text.clone())),
            }
        }
        values
    }

    fn warn_if_absent(&mut self, list: &str, place: &str) {
        let warning =
            format!("{}: {place}: the list `{list}` is absent and counts as empty", self.file);
        if !self.lists.contains_key(list) && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn warn_of_repeated_names(&mut self, rules: &[Rule]) {
        let mut seen = std::collections::HashSet::new();
        for (position, rule) in rules.iter().enumerate() {
            if !seen.insert(rule.name()) {
                let name = rule.name();
                self.warnings.push(format!(
                    "{}: rules[{position}].name: another rule is called `{name}` too",
                    self.file
                ));
            }
        }
    }

    fn error(&self, place: String, reason: impl std::fmt::Display) -> ArtifactError {
        ArtifactError::new(self.file, place, reason)
    }
}
