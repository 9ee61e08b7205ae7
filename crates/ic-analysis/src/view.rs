//! What the cage of an agent shows of the user's files: one value, computed from policy, sandbox and settings.
//!
//! The view follows the policy: a place where the policy denies or asks before writing or deleting is
//! read-only, and one where it denies or asks before reading is empty. The policy's own decision is asked
//! about one example of each place that it can tell apart; nothing is decided a second time.
//!
//! Not in here: what every cage shows of the system (`ic-confine`), the names that the host executes, which
//! take a look at the disk (`ic-backend`), and whether a place exists.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;

use ic_policy::{
    Bounds, Containment, Effect, Policy, RoleValues, Rule, Sandbox, SandboxKind, ServerTraits,
    Value, decisive, explain,
};
use ic_types::{CanonicalPath, Object, Role, ServerName, ToolName};

use crate::imagined;
use crate::space::path_value;

const FILESYSTEM: (&str, Containment) = ("filesystem", Containment::ContainedFilesystem);
const SHELL: (&str, Containment) = ("shell", Containment::Contained);
/// A tool that does not exist: rules about single tools have no place in a view.
const NO_TOOL: &str = "any";
/// The roles that a view knows.
const ROLES: [Role; 3] = [Role::ReadPath, Role::WritePath, Role::DeletePath];

/// Who lives in the cage.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Inhabitant {
    /// A program that runs for a whole session, and whose own commands nobody judges.
    Agent,
    /// One command of the shell server, which was judged before.
    Command,
}

impl Inhabitant {
    /// Returns the servers whose rules count: what one of them may not do at a place, a program in the cage
    /// may not do there either.
    fn asked(self) -> &'static [(&'static str, Containment)] {
        match self {
            Self::Agent => &[FILESYSTEM, SHELL],
            // The rules about the shell have judged the command itself.
            Self::Command => &[FILESYSTEM],
        }
    }
}

/// How a place is shown.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Shown {
    /// As something empty that cannot be read or written.
    Empty,
    /// It can be read, and programs in it can be run.
    ReadOnly,
    /// It can be read, written and run.
    Writable,
}

/// What the cage of an agent shows of the user's files.
///
/// Of the places at or above a path the deepest one decides; a path without such a place is not shown.
/// Invariant: every place lies at or in the sandbox or something that the settings show, and no place lies in
/// an empty one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AgentView {
    sandbox: CanonicalPath,
    places: BTreeMap<CanonicalPath, Shown>,
}

/// A policy that no view can follow.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NoView {
    /// There is no directory to work in.
    #[error("there is no sandbox or workspace for the agent to work in")]
    NoSandbox,
    /// The sandbox is protected.
    #[error("`{sandbox}` is protected, so the agent cannot work in it")]
    Protected {
        /// The directory.
        sandbox: CanonicalPath,
    },
    /// The whole sandbox is closed.
    #[error(
        "the rule `{}` does not let the agent read `{sandbox}` without approval", .rule.escape_debug()
    )]
    Closed {
        /// The rule.
        rule: String,
        /// The directory.
        sandbox: CanonicalPath,
    },
    /// A rule depends on more than the place.
    #[error(
        "the rule `{}` depends on {what}, and the agent's own programs are not held to that in `{sandbox}`; \
         write the rule for a place without it", .rule.escape_debug()
    )]
    Rule {
        /// The rule.
        rule: String,
        /// What it depends on.
        what: &'static str,
        /// The directory.
        sandbox: CanonicalPath,
    },
}

impl AgentView {
    /// Computes the view of an agent that works in the sandbox of `bounds`; `shown` is what the settings show
    /// it besides.
    pub fn of(
        inhabitant: Inhabitant,
        policy: &Policy,
        bounds: &Bounds,
        shown: &[CanonicalPath],
    ) -> Result<Self, NoView> {
        let sandbox = bounds.sandbox.as_ref().ok_or(NoView::NoSandbox)?;
        let path = sandbox.path.clone();
        let servers = inhabitant.asked();
        let unplaced = |rule| unplaced(rule, servers, policy, sandbox).map(|what| (rule, what));
        if let Some((rule, what)) = policy.rules().iter().find_map(unplaced) {
            return Err(NoView::Rule { rule: rule.name().to_owned(), what, sandbox: path });
        }
        if bounds.protects(&path).is_some() {
            return Err(NoView::Protected { sandbox: path });
        }
        let mut view = Self { sandbox: path.clone(), places: BTreeMap::new() };
        let asked = Asked::new(servers, policy, bounds, sandbox.clone());
        for place in asked.places(&path) {
            view.places.insert(place.clone(), asked.shown(&place));
        }
        if let Some(rule) = asked.objection(Role::ReadPath, &path) {
            return Err(NoView::Closed { rule, sandbox: path });
        }
        // SECURITY: the sandbox below is exempt from what is protected around it, and a directory that the
        // settings name is not.
        for top in shown.iter().filter(|top| bounds.protects(top).is_none()) {
            let own = Sandbox { path: top.clone(), kind: SandboxKind::Session };
            view.show(&Asked::new(servers, policy, bounds, own), top);
        }
        view.tidy(policy);
        Ok(view)
    }

    /// Shows a directory of the settings, read-only: the person who named it is asked by no general rule, but
    /// rules about places in it count, and what is protected stays so.
    fn show(&mut self, asked: &Asked<'_>, top: &CanonicalPath) {
        for place in asked.places(top) {
            let shown = asked.shown(&place).min(Shown::ReadOnly);
            // SECURITY: what the sandbox has there stays; the settings can open nothing in it.
            if !place.is_within(&self.sandbox) {
                let known = self.places.entry(place).or_insert(shown);
                *known = shown.min(*known);
            }
        }
    }

    /// Leaves out places that say what the one above them says, and what lies in empty ones.
    ///
    /// SECURITY: a place in the sandbox for which some rule denies or asks stays, even if another rule opens
    /// it: as a place of its own it can be neither moved nor removed, nor can what holds it.
    fn tidy(&mut self, policy: &Policy) {
        let restricting = policy.rules().iter().filter(|rule| rule.effect() != Effect::Allow);
        let pinned: BTreeSet<&CanonicalPath> = restricting.filter_map(Rule::place).collect();
        let all = self.places.clone();
        let above = |path: &CanonicalPath| {
            path.ancestors().skip(1).find_map(|above| all.get(&above).copied())
        };
        let in_empty = |path: &CanonicalPath| {
            path.ancestors().skip(1).any(|above| all.get(&above) == Some(&Shown::Empty))
        };
        self.places.retain(|path, shown| {
            let is_said = above(path) == Some(*shown);
            !in_empty(path) && (!is_said || *shown == Shown::Writable && pinned.contains(path))
        });
    }

    /// Returns the directory that the agent works in.
    pub fn sandbox(&self) -> &CanonicalPath {
        &self.sandbox
    }

    /// Returns the places, those above before those in them.
    pub fn places(&self) -> impl Iterator<Item = (&CanonicalPath, Shown)> {
        self.places.iter().map(|(path, shown)| (path, *shown))
    }

    /// Returns how what is at `path` is shown; `None` if it is not in the cage.
    pub fn at(&self, path: &CanonicalPath) -> Option<Shown> {
        path.ancestors().find_map(|above| self.places.get(&above).copied())
    }

    /// Returns whether a program in the cage can do what `role` stands for with what is at `path`.
    ///
    /// The place of a mount, and what lies above one, cannot be removed or renamed.
    pub fn lets(&self, role: Role, path: &CanonicalPath) -> bool {
        let shown = self.at(path);
        let is_read = shown.is_some_and(|shown| shown != Shown::Empty);
        let is_written = shown == Some(Shown::Writable);
        let is_fixed = || self.places.keys().any(|place| place.is_within(path));
        role == Role::ReadPath && is_read
            || role == Role::WritePath && is_written
            || role == Role::DeletePath && is_written && !is_fixed()
    }
}

/// A policy that is asked about places in one directory.
struct Asked<'a> {
    servers: &'static [(&'static str, Containment)],
    policy: &'a Policy,
    bounds: Bounds,
}

impl<'a> Asked<'a> {
    /// Asks about `sandbox`, in which the servers are contained, whatever the user's servers are called.
    fn new(
        servers: &'static [(&'static str, Containment)],
        policy: &'a Policy,
        bounds: &Bounds,
        sandbox: Sandbox,
    ) -> Self {
        let traits = |containment| ServerTraits {
            containment,
            names_files: false,
            allowed_domains: Vec::new(),
        };
        let named = |(name, containment): &(&str, Containment)| {
            Some((name.parse().ok()?, traits(*containment)))
        };
        let bounds = Bounds {
            sandbox: Some(sandbox),
            protected: bounds.protected.clone(),
            home_executes: Vec::new(),
            servers: servers.iter().filter_map(named).collect(),
        };
        Self { servers, policy, bounds }
    }

    /// Returns `top` and every place in it that a rule or an invariant names.
    fn places(&self, top: &CanonicalPath) -> Vec<CanonicalPath> {
        let rules = self.policy.rules().iter().filter_map(Rule::place);
        let named = rules.chain(&self.bounds.protected).filter(|place| place.is_within(top));
        let mut places: Vec<CanonicalPath> = std::iter::once(top).chain(named).cloned().collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    fn shown(&self, place: &CanonicalPath) -> Shown {
        match () {
            () if self.bounds.protects(place).is_some() => Shown::Empty,
            () if !self.allows(Role::ReadPath, place) => Shown::Empty,
            () if !self.allows(Role::WritePath, place) => Shown::ReadOnly,
            () if !self.allows(Role::DeletePath, place) => Shown::ReadOnly,
            () => Shown::Writable,
        }
    }

    fn allows(&self, role: Role, place: &CanonicalPath) -> bool {
        self.objection(role, place).is_none()
    }

    /// Returns the rule that keeps a server from doing what `role` stands for with what is in `place`, or, but
    /// for removing it, with the place itself.
    fn objection(&self, role: Role, place: &CanonicalPath) -> Option<String> {
        let inside = self.fresh_in(place).map(|path| (path, false));
        let itself = (role != Role::DeletePath).then(|| (place.clone(), true));
        let mut examples = self.servers.iter().flat_map(|(server, _)| {
            inside.iter().chain(&itself).map(move |example| (server, example))
        });
        if inside.is_none() && itself.is_none() {
            // Nothing can be in a place with so long a name, and nothing was asked.
            return Some(String::new());
        }
        examples.find_map(|(server, (path, exists))| {
            self.objects(server, role, Value::Path(path_value(path.clone(), *exists)))
        })
    }

    fn objects(&self, server: &str, role: Role, value: Value) -> Option<String> {
        let names = (server.parse::<ServerName>(), NO_TOOL.parse::<ToolName>());
        let (Ok(server), Ok(tool)) = names else { return Some(String::new()) };
        let mut arguments = Object::new();
        arguments.insert("example", true);
        let roles = vec![RoleValues { role, values: vec![value] }];
        let call = imagined::call((&server, &tool), roles, arguments);
        let findings = explain(self.policy, &self.bounds, &call);
        match decisive(&findings) {
            Some(finding) if finding.effect == Effect::Allow => None,
            Some(finding) => Some(finding.authority.name(self.policy).to_string()),
            None => Some(String::new()),
        }
    }

    /// Returns an entry of `place` that nothing names.
    fn fresh_in(&self, place: &CanonicalPath) -> Option<CanonicalPath> {
        let is_named = |path: &CanonicalPath| {
            self.policy.rules().iter().filter_map(Rule::place).any(|it| it == path)
                || self.bounds.protected.contains(path)
        };
        let names = (1_usize..).map(|n| format!("example-{n}.txt"));
        // Not more names than there are rules and paths can be taken.
        let n_max = self.policy.rules().len() + self.bounds.protected.len() + 1;
        let mut paths = names.take(n_max).map_while(|name| place.join(OsStr::new(&name)).ok());
        paths.find(|path| !is_named(path))
    }
}

/// Returns what besides the place a rule depends on, if it is stronger than the sandbox in some of it.
fn unplaced(
    rule: &Rule,
    servers: &[(&str, Containment)],
    policy: &Policy,
    sandbox: &Sandbox,
) -> Option<&'static str> {
    let is_asked = |name: &str| servers.iter().any(|(server, _)| *server == name);
    let meets =
        |place: &CanonicalPath| place.is_within(&sandbox.path) || sandbox.path.is_within(place);
    let counts = rule.outranks(sandbox)
        && servers.iter().any(|(server, _)| rule.is_about(server))
        && ROLES.iter().any(|role| rule.is_relevant_to(*role))
        && rule.place().is_none_or(meets);
    if !counts {
        return None;
    }
    if rule.has_lists() {
        return Some("a list");
    }
    let mut tools = policy.annotations().filter(|(server, ..)| is_asked(server.as_str()));
    let names = |(server, tool, _): (&ServerName, &ToolName, _)| {
        rule.is_about(server.as_str()) && rule.names_tool(tool.as_str())
    };
    tools.any(names).then_some("a tool")
}
