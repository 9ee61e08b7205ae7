//! What should hold for a policy as a whole, and a call for each property that does not.

mod builtin;
mod file;
mod sentence;

use std::collections::BTreeMap;

use ic_policy::{Destination, DomainSet, Effect, Value};
use ic_types::{CanonicalPath, Object, Role, ServerName, ToolName};

use crate::TooComplex;
use crate::search::{Hit, HitPart, Search, State};
use crate::side::{By, Outcome};
use crate::space::{Asked, Example, Subject};
use crate::tools::{Policies, Tool};

pub use builtin::{NO_SHADOWED_RULE, is_built_in};
pub use file::{InvalidProperties, Properties, read};

/// A property that the user demands.
#[derive(Clone, Debug)]
pub struct Property {
    /// What it is called.
    pub name: String,
    /// What it demands.
    pub demand: Demand,
    /// The servers that it is about; all without it.
    pub servers: Option<Vec<String>>,
    /// The tools that it is about; all without it.
    pub tools: Option<Vec<String>>,
    /// The roles that it is about; all without it.
    pub roles: Option<Vec<Role>>,
    /// Directories in which it holds.
    pub within: Option<Vec<CanonicalPath>>,
    /// Directories outside of which it holds.
    pub outside: Option<Vec<CanonicalPath>>,
    /// Hosts for which it holds.
    pub hosts: Option<DomainSet>,
    /// Why.
    pub because: Option<String>,
}

/// A finding that the user accepts: this property does not hold because of this rule.
#[derive(Clone, Debug)]
pub struct Acceptance {
    /// The property, as findings name it.
    pub property: String,
    /// The rule, as findings name it.
    pub rule: String,
    /// Why.
    pub because: Option<String>,
}

/// What a property demands of the calls that it is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Demand {
    /// They are denied.
    Never,
    /// They are not allowed without approval.
    AlwaysAsk,
    /// The rules allow them; an invariant may still ask or deny.
    Allowed,
}

/// How much a finding says.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Level {
    /// The property does not hold.
    Failed,
    /// It does not hold, and the user has accepted that for the rule behind it.
    Accepted,
    /// An exception that the policy makes on purpose, for a place that it names.
    Granted,
}

/// A property that does not hold, or that holds with an exception.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The property.
    pub property: String,
    /// How much it says.
    pub level: Level,
    /// What is wrong.
    pub problem: String,
    /// The rule or invariant behind it.
    pub rule: String,
    /// The sentence behind that.
    pub sentence: Option<String>,
    /// The tools that show it, as `server.tool`.
    pub tools: Vec<String>,
    /// A call that shows it.
    pub example: ExampleCall,
}

/// A call, and what the decision says of it.
#[derive(Clone, Debug)]
pub struct ExampleCall {
    /// The server.
    pub server: ServerName,
    /// The tool.
    pub tool: ToolName,
    /// The arguments.
    pub arguments: Object,
    /// What the decision says.
    pub effect: Effect,
}

/// Finds the directory that a sentence means by a path that it writes.
pub type PlaceOf<'a> = &'a dyn Fn(&str) -> Option<CanonicalPath>;

/// Checks the built-in properties and `properties`.
pub fn verify(
    subject: Subject<'_>,
    properties: &[Property],
    place_of: PlaceOf<'_>,
) -> Result<Vec<Finding>, TooComplex> {
    let sentences = sentence::named(subject.policy, place_of);
    let mut asked = Asked::default();
    for property in properties {
        let places = property.within.iter().chain(&property.outside).flatten();
        asked.places.extend(places.cloned());
        asked.hosts.extend(property.hosts.iter().flat_map(|it| it.patterns().to_vec()));
    }
    asked.places.extend(sentences.iter().flatten().flat_map(|it| it.places.clone()));
    let policies = Policies::new([subject], &asked);
    let mut verifier = Verifier { policies: &policies, found: BTreeMap::new() };
    for tool in policies.tools() {
        policies.search(tool, &mut |search, hit| {
            let seen = Seen { tool, search, hit };
            verifier.built_in(&seen, &sentences)?;
            properties.iter().try_for_each(|property| verifier.own(property, &seen))
        })?;
        verifier.arguments_like_paths(tool)?;
    }
    verifier.shadowed()?;
    let mut found: Vec<Finding> = verifier.found.into_values().collect();
    found.sort_by(|one, other| (one.level, &one.property).cmp(&(other.level, &other.property)));
    Ok(found)
}

/// Which finding another one belongs to: of one property, by one rule, for one role.
type Key = (String, Level, String, Option<Role>);

pub(crate) struct Verifier<'v, 'a> {
    policies: &'v Policies<'a, 1>,
    found: BTreeMap<Key, Finding>,
}

/// One way in which calls of a tool come out.
pub(crate) struct Seen<'s, 'h, 'a> {
    tool: Tool<'s>,
    search: &'s Search<'s, 'a, 1>,
    hit: &'s Hit<'h, 1>,
}

impl<'s, 'a> Seen<'s, '_, 'a> {
    fn effect(&self) -> Effect {
        let [effect] = self.hit.effects;
        effect
    }

    /// Returns the values that it is about: role, example and value.
    fn values(&self, policies: &Policies<'a, 1>) -> Vec<(Role, usize, &'s Example, Value)> {
        let HitPart::Values { slot, examples } = self.hit.part else { return Vec::new() };
        let Some(of_slot) = self.search.slot(slot) else { return Vec::new() };
        let roles: Vec<Role> = of_slot.roles.iter().flatten().flatten().copied().collect();
        let mut found = Vec::new();
        for position in examples {
            let Some(example) = self.search.example(slot, *position) else { continue };
            for role in &roles {
                let value = policies.space.value(*role, example);
                found.extend(value.map(|value| (*role, *position, example, value)));
            }
        }
        found
    }

    /// Returns what is said of one value.
    fn said_of(&self, role: Role, example: &Example) -> Result<Option<Outcome>, TooComplex> {
        self.search.said_of(0, role, example, self.hit.call)
    }

    fn call_with(&self, position: usize) -> State<1> {
        match self.hit.part {
            HitPart::Values { slot, .. } => self.hit.call.with_example(slot, position),
            HitPart::NoValues(_) | HitPart::Whole => self.hit.call.clone(),
        }
    }
}

impl<'a> Verifier<'_, 'a> {
    fn subject(&self) -> Subject<'a> {
        let [side] = &self.policies.sides;
        side.subject
    }

    /// Notes a finding, with a call that the decision confirms.
    fn note(
        &mut self,
        (property, level): (&str, Level),
        (seen, position): (&Seen<'_, '_, 'a>, usize),
        (role, by): (Option<Role>, By),
        problem: &dyn Fn() -> String,
    ) -> Result<(), TooComplex> {
        let policy = self.subject().policy;
        let rule = by.name(policy);
        let key = (property.to_owned(), level, rule.clone(), role);
        let tool = format!("{}.{}", seen.tool.0, seen.tool.1);
        if let Some(known) = self.found.get_mut(&key) {
            if !known.tools.contains(&tool) {
                known.tools.push(tool);
            }
            return Ok(());
        }
        let call = seen.call_with(position);
        let outcome = seen.search.judge(0, &call, &self.policies.space);
        // SECURITY: what the decision does not confirm is not said, and not left out quietly either.
        let outcome = outcome.filter(|it| it.effect == seen.effect());
        let Outcome { effect, .. } = outcome.ok_or_else(TooComplex::unconfirmed)?;
        let example = ExampleCall {
            server: seen.tool.0.clone(),
            tool: seen.tool.1.clone(),
            arguments: seen.search.arguments(&call),
            effect,
        };
        let finding = Finding {
            property: property.to_owned(),
            level,
            problem: problem(),
            rule,
            sentence: by.sentence(policy).map(str::to_owned),
            tools: vec![tool],
            example,
        };
        self.found.insert(key, finding);
        Ok(())
    }

    /// Checks one of the user's properties.
    fn own(&mut self, property: &Property, seen: &Seen<'_, '_, 'a>) -> Result<(), TooComplex> {
        if !property.is_about_tool(seen.tool) {
            return Ok(());
        }
        let effect = seen.effect();
        let is_enough = match property.demand {
            Demand::Never => effect == Effect::Deny,
            Demand::AlwaysAsk => effect != Effect::Allow,
            Demand::Allowed => false,
        };
        if is_enough {
            return Ok(());
        }
        let because =
            property.because.as_ref().map(|it| format!(" (because {it})")).unwrap_or_default();
        for (role, position, example, value) in seen.values(self.policies) {
            if !property.is_about(role, &value) {
                continue;
            }
            let said = seen.said_of(role, example)?;
            let by = said.map_or(By::Default, |it| it.by);
            let is_allowed = said.is_none_or(|it| it.effect == Effect::Allow);
            if property.demand == Demand::Allowed && (is_allowed || matches!(by, By::Structural(_)))
            {
                continue;
            }
            let problem = || match property.demand {
                Demand::Never => format!("should never be possible, but is not denied{because}"),
                Demand::AlwaysAsk => format!("should need approval, but is allowed{because}"),
                Demand::Allowed => format!("should be allowed, but is not{because}"),
            };
            self.note(
                (&property.name, Level::Failed),
                (seen, position),
                (Some(role), by),
                &problem,
            )?;
        }
        if let (HitPart::Whole, true) = (seen.hit.part, property.is_about_whole_calls()) {
            let outcome = seen.search.judge(0, seen.hit.call, &self.policies.space);
            let by = outcome.map_or(By::Default, |it| it.by);
            if property.demand == Demand::Allowed
                && (effect == Effect::Allow || matches!(by, By::Structural(_)))
            {
                return Ok(());
            }
            let problem = || format!("is {effect}, which the property does not want{because}");
            self.note((&property.name, Level::Failed), (seen, 0), (None, by), &problem)?;
        }
        Ok(())
    }
}

impl Property {
    fn is_about_tool(&self, (server, tool): Tool<'_>) -> bool {
        let names = |names: &Option<Vec<String>>, name: &str| {
            names.as_ref().is_none_or(|names| names.iter().any(|it| it == name))
        };
        names(&self.servers, server.as_str()) && names(&self.tools, tool.as_str())
    }

    /// Returns whether it is about calls whatever their values are.
    fn is_about_whole_calls(&self) -> bool {
        let has_place = self.within.is_some() || self.outside.is_some() || self.hosts.is_some();
        self.roles.is_none() && !has_place
    }

    /// Returns whether it is about `value` of `role`.
    fn is_about(&self, role: Role, value: &Value) -> bool {
        if !self.roles.as_ref().is_none_or(|roles| roles.contains(&role)) {
            return false;
        }
        let path = match value {
            Value::Path(value) => Some(&value.path),
            Value::LocalRemote(path) => Some(path),
            Value::Url(_) | Value::Text(_) => None,
        };
        let lies_in = |places: &Vec<CanonicalPath>| {
            path.is_some_and(|path| places.iter().any(|it| path.is_within(it)))
        };
        let is_within = self.within.as_ref().is_none_or(lies_in);
        let is_outside = self.outside.as_ref().is_none_or(|it| path.is_some() && !lies_in(it));
        let is_at_host = self.hosts.as_ref().is_none_or(|hosts| match value {
            Value::Url(url) => hosts.contains(&url.destination),
            Value::Text(text) => {
                Destination::parse_authority(text).is_some_and(|there| hosts.contains(&there))
            }
            Value::Path(_) | Value::LocalRemote(_) => false,
        });
        is_within && is_outside && is_at_host
    }
}
