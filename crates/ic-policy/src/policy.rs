//! A policy, loaded: rules, annotations and lists, checked in full and ready to be asked.
//!
//! Loading gets bytes and a function that makes a path canonical; it opens nothing itself.

mod lists;
mod loader;
mod restricted;

use std::collections::HashMap;
use std::sync::Arc;

use ic_types::{CanonicalPath, Digest, Host, Role, ServerName, ToolName};

use crate::additions::{self, Addition, Place, Placed};
use crate::annotation::{Annotation, Annotations, ArgumentAnnotation};
use crate::artifact::{self, AnnotationsFile, ArtifactError, CompiledFile, Source};
use crate::bounds::Sandbox;
use crate::effect::Effect;
use crate::index::{Index, RuleId};
use crate::policy::lists::Lists;
use crate::policy::loader::Loader;
use crate::rule::Rule;

pub use restricted::Restricted;

/// A policy in force.
#[derive(Debug)]
pub struct Policy {
    rules: Vec<Rule>,
    /// How many of them, from the first on, come from additions.
    n_added: usize,
    pub(crate) index: Index,
    pub(crate) annotations: Annotations,
    /// Of each annotated server, for the roles that views are made of.
    restricted: HashMap<ServerName, HashMap<Role, Arc<Restricted>>>,
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
        Self::load_with(sources, None, locate)
    }

    /// Loads a policy with what the user has added to it, and checks all of it.
    pub fn load_with(
        sources: &PolicySources<'_>,
        additions: Option<Source<'_>>,
        locate: Locate<'_>,
    ) -> Result<Self, ArtifactError> {
        let compiled: CompiledFile = artifact::read(sources.compiled)?;
        let annotations: AnnotationsFile = artifact::read(sources.annotations)?;
        let lists = match sources.lists {
            Some(source) => Lists::new(source.file, artifact::read(source)?),
            None => Lists::none(),
        };
        let mut loader = Loader::new(sources.compiled.file, lists, locate);
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
        let annotations = Annotations::compile(annotations, sources.annotations.file)?;
        let mut all = match additions {
            Some(source) => added(source, &rules, &annotations, locate)?,
            None => Vec::new(),
        };
        let n_added = all.len();
        all.extend(rules);
        let bytes = [Some(sources.compiled), Some(sources.annotations), sources.lists, additions];
        Ok(Self {
            index: Index::new(&all),
            restricted: Restricted::of_all(&all, annotations.iter().map(|(server, ..)| server)),
            rules: all,
            n_added,
            annotations,
            hash: Digest::of_parts(bytes.iter().flatten().map(|source| source.bytes)),
            constitution_hash: compiled.constitution_hash,
            warnings: loader.into_warnings(),
        })
    }

    /// Lets rules that deny or escalate for a place hold under its other names too.
    ///
    /// A rule names a link, and is about what it leads to. A program that replaces the link must not get what
    /// has its name then.
    #[must_use]
    pub fn with_names(self, names: &HashMap<CanonicalPath, Vec<CanonicalPath>>) -> Self {
        if names.is_empty() {
            return self;
        }
        let (mut rules, mut n_added) = (Vec::new(), 0);
        for (position, rule) in self.rules.into_iter().enumerate() {
            let others = rule.place().and_then(|place| names.get(place)).into_iter().flatten();
            let others: Vec<Rule> = others.filter_map(|name| rule.restricting_at(name)).collect();
            n_added += if position < self.n_added { 1 + others.len() } else { 0 };
            rules.push(rule);
            rules.extend(others);
        }
        let servers = self.annotations.iter().map(|(server, ..)| server);
        Self {
            index: Index::new(&rules),
            restricted: Restricted::of_all(&rules, servers),
            rules,
            n_added,
            ..self
        }
    }

    /// Returns whether rules deny or ask about `role` for all of the directory `top`, with this tool.
    ///
    /// A rule about no place, or about every one, counts if it denies; in a sandbox a rule counts if it
    /// is stronger than containment.
    pub fn restricts_all_of(
        &self,
        (server, tool): (&ServerName, &ToolName),
        role: Role,
        (top, sandbox): (&CanonicalPath, Option<&Sandbox>),
    ) -> bool {
        let sandbox = sandbox.filter(|it| top.is_within(&it.path));
        let is_about = |rule: &&Rule| {
            rule.is_relevant_to(role)
                && rule.is_about(server.as_str())
                && rule.is_about_tool(tool.as_str())
                && rule.place().is_none_or(|place| top.is_within(place))
        };
        for rule in self.rules.iter().filter(is_about) {
            let is_general = rule.place().is_none_or(|place| place.parent().is_none());
            let counts = match (rule.effect, sandbox) {
                (Effect::Allow, _) => false,
                (_, Some(sandbox)) => rule.outranks(sandbox),
                (Effect::Deny, None) => true,
                (Effect::Escalate, None) => !is_general,
            };
            // The first rule that holds whatever else is asked settles it.
            if counts || rule.domains.is_none() && rule.lists.is_empty() {
                return counts;
            }
        }
        false
    }

    /// Returns the rules, in order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns the rules as they are in the policy's file, without what the user has added to it.
    pub fn own_rules(&self) -> &[Rule] {
        self.rules.get(self.n_added..).unwrap_or_default()
    }

    /// Returns the annotation of a tool.
    pub fn annotation(&self, server: &ServerName, tool: &ToolName) -> Option<&Annotation> {
        self.annotations.get(server, tool)
    }

    /// Returns all annotated tools, sorted by server and tool.
    pub fn annotations(&self) -> impl Iterator<Item = (&ServerName, &ToolName, &Annotation)> {
        self.annotations.iter()
    }

    /// Returns the directories that allow rules name for calls of `server`, and with which roles.
    ///
    /// More may stand between such a rule and a call: other conditions, and what is protected. So
    /// this says what a server may have to see, not what it may be asked to do.
    pub fn opened_directories(&self, server: &ServerName) -> Vec<(CanonicalPath, Vec<Role>)> {
        let mut opened: Vec<(CanonicalPath, Vec<Role>)> = Vec::new();
        for (path, roles) in self.rules.iter().filter_map(|rule| rule.opens(server.as_str())) {
            let roles = Role::all().filter(|role| roles.contains(*role));
            match opened.iter_mut().find(|(known, _)| known == path) {
                Some((_, known)) => known.extend(roles),
                None => opened.push((path.clone(), roles.collect())),
            }
        }
        opened
    }

    /// Returns the places for which rules deny or escalate `role` with tools of `server`.
    pub fn restricted(&self, server: &ServerName, role: Role) -> Arc<Restricted> {
        match self.restricted.get(server).and_then(|roles| roles.get(&role)) {
            Some(restricted) => Arc::clone(restricted),
            None => Arc::new(Restricted::of(&self.rules, server, role)),
        }
    }

    /// Returns whether rules deny or escalate `role` for a place beneath `path` with this tool.
    pub fn restricts_beneath(
        &self,
        names: (&ServerName, &ToolName),
        role: Role,
        path: &CanonicalPath,
    ) -> bool {
        !self.index.restricting_beneath(names, role, path).is_empty()
    }

    /// Returns the directories in which allow rules let an agent write, delete or rewrite history.
    ///
    /// Every rule counts, whatever else it asks for and whatever stands before it, so this may be too
    /// much and is never too little. A rule that names no directory counts as the root if it covers a
    /// tool of `anywhere`, servers that are not held to directories of their own.
    pub fn written_directories(&self, anywhere: &[&str]) -> Vec<CanonicalPath> {
        let mut written: Vec<CanonicalPath> = Vec::new();
        for rule in self.rules.iter().filter(|rule| rule.effect == Effect::Allow) {
            let writes = |role: Role| role.changes_path() && rule.is_relevant_to(role);
            let place = match &rule.paths {
                Some(paths) => Role::all().any(writes).then(|| paths.within.clone()),
                None => self.has_tool(rule, anywhere, &writes).then(CanonicalPath::root),
            };
            written.extend(place.filter(|it| !written.contains(it)));
        }
        written
    }

    /// Returns whether `rule` can be about a tool of `servers` that may have one of the roles.
    fn has_tool(&self, rule: &Rule, servers: &[&str], is_one: &dyn Fn(Role) -> bool) -> bool {
        let mut tools = self.annotations.iter().filter(|(server, tool, _)| {
            servers.contains(&server.as_str())
                && rule.is_about(server.as_str())
                && rule.is_about_tool(tool.as_str())
        });
        tools.any(|(_, _, annotation)| {
            let arguments = annotation.arguments().iter();
            arguments.flat_map(ArgumentAnnotation::possible_roles).any(is_one)
        })
    }

    /// Returns whether a rule or a list that lets calls of `server` through, or lets them be asked
    /// about, names `host` literally, with `port`.
    pub fn names_host(&self, server: &ServerName, host: &Host, port: u16) -> bool {
        let of_server = self.rules.iter().filter(|rule| rule.is_about(server.as_str()));
        of_server.filter(|rule| rule.effect != Effect::Deny).any(|rule| rule.names_host(host, port))
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

/// Returns the rules that the user's additions become.
fn added(
    source: Source<'_>,
    rules: &[Rule],
    annotations: &Annotations,
    locate: Locate<'_>,
) -> Result<Vec<Rule>, ArtifactError> {
    let located = |(position, addition): (usize, Addition)| {
        let error = |reason: String| {
            ArtifactError::new(source.file, format!("additions[{position}].within"), reason)
        };
        let within = match addition.place() {
            Some(Place::Directory(within)) => Some(locate(within).map_err(error)?),
            Some(Place::Host(_)) | None => None,
        };
        // SECURITY: one line must not open the whole machine.
        let is_root = within.as_ref().is_some_and(|within| within.parent().is_none());
        if is_root && addition.effect() == Effect::Allow {
            return Err(error("an addition cannot allow everything; name a directory".to_owned()));
        }
        Ok((addition, within))
    };
    let additions = additions::read(source)?.into_iter().enumerate().map(located);
    let additions = additions.collect::<Result<Vec<_>, ArtifactError>>()?;
    let without_places = |server: &ServerName| {
        let tools = annotations.iter().filter(|(of, _, _)| *of == server);
        let names_none = |annotation: &Annotation| {
            let roles = annotation.arguments().iter().flat_map(ArgumentAnnotation::possible_roles);
            !roles.into_iter().any(additions::names_a_place)
        };
        let open = tools.filter(|(_, _, annotation)| names_none(annotation));
        open.map(|(_, tool, _)| tool.to_string()).collect()
    };
    let placed = additions.iter().enumerate().flat_map(|(position, (addition, within))| {
        let servers = match addition.server() {
            Some(server) => vec![server],
            None => annotations.servers_with(|role| addition.is_about(role)),
        };
        let within = within.clone();
        let number = position + 1;
        servers.into_iter().map(move |server| Placed {
            addition,
            number,
            server,
            within: within.clone(),
        })
    });
    additions::merge(&placed.collect::<Vec<_>>(), rules, &without_places)
        .map_err(|error| ArtifactError::new(source.file, "additions", error))
}
