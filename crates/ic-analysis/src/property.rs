//! What should hold for a policy as a whole, and a call for each property that does not.

mod about;
mod allowed;
mod builtin;
mod file;
mod sentence;

use std::collections::BTreeMap;

use ic_policy::{DomainSet, Effect, Value};
use ic_types::{CanonicalPath, Object, Role, ServerName, ToolName};

use crate::TooComplex;
use crate::search::{Hit, HitPart, Search, State};
use crate::side::{By, Outcome};
use crate::space::{Asked, Example, Subject};
use crate::tools::{Policies, Tool};
use allowed::Wanted;

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
    /// For each value there is a call that does nothing worse and is allowed; an invariant may still ask or
    /// deny.
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

/// Why nothing can be said of a policy's properties.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotVerified {
    /// It is too much.
    #[error(transparent)]
    TooComplex(#[from] TooComplex),
    /// A property of the user's own is about nothing.
    #[error(transparent)]
    Property(#[from] InvalidProperties),
}

/// Checks the built-in properties and `properties`.
///
/// A property that names an unknown server or tool, or that is about no call, is an error: it would always
/// hold, whatever the policy says.
pub fn verify(
    subject: Subject<'_>,
    properties: &[Property],
    place_of: PlaceOf<'_>,
) -> Result<Vec<Finding>, NotVerified> {
    properties.iter().try_for_each(|it| it.check_names(subject.policy))?;
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
    let mut meant = vec![false; properties.len()];
    for tool in policies.tools() {
        let mut wanted = Wanted::default();
        policies.search(tool, &mut |search, hit| {
            let seen = Seen { tool, search, hit };
            verifier.built_in(&seen, &sentences)?;
            for (property, is_meant) in properties.iter().zip(&mut meant) {
                *is_meant |= verifier.own(property, &seen, &mut wanted)?;
            }
            Ok(())
        })?;
        verifier.note_wanted(tool, wanted);
        verifier.arguments_like_paths(tool)?;
    }
    verifier.shadowed()?;
    let unused = properties.iter().zip(meant).find(|(_, is_meant)| !is_meant);
    if let Some((property, _)) = unused {
        return Err(property.about_nothing().into());
    }
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

    /// Returns the values that it is about, of the roles that are wanted: role, example and value.
    fn values(
        &self,
        policies: &Policies<'a, 1>,
        is_wanted: &dyn Fn(Role) -> bool,
    ) -> Vec<(Role, usize, &'s Example, Value)> {
        let HitPart::Values { slot, examples } = self.hit.part else { return Vec::new() };
        let Some(of_slot) = self.search.slot(slot) else { return Vec::new() };
        let roles = of_slot.roles.iter().flatten().flatten().copied();
        let roles: Vec<Role> = roles.filter(|it| is_wanted(*it)).collect();
        if roles.is_empty() {
            return Vec::new();
        }
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

    /// Returns who decides about one value, or about the call if nobody decides about the value alone.
    fn decider(
        &self,
        policies: &Policies<'a, 1>,
        (role, position, example): (Role, usize, &Example),
    ) -> Result<By, TooComplex> {
        Ok(match self.said_of(role, example)? {
            Some(said) => said.by,
            None => self.decider_of_call(policies, position),
        })
    }

    /// Returns who decides about the call with the example at `position`.
    fn decider_of_call(&self, policies: &Policies<'a, 1>, position: usize) -> By {
        let outcome = self.search.judge(0, &self.call_with(position), &policies.space);
        outcome.map_or(By::Default, |it| it.by)
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

    /// Checks one of the user's properties, and returns whether it is about such a call.
    fn own(
        &mut self,
        property: &Property,
        seen: &Seen<'_, '_, 'a>,
        wanted: &mut Wanted,
    ) -> Result<bool, TooComplex> {
        if !property.is_about_tool(seen.tool) || !property.is_about_such(seen.search) {
            return Ok(false);
        }
        let effect = seen.effect();
        let is_enough = match property.demand {
            Demand::Never => effect == Effect::Deny,
            Demand::AlwaysAsk => effect != Effect::Allow,
            Demand::Allowed => false,
        };
        let mut is_meant = false;
        for (role, position, example, value) in seen.values(self.policies, &|_| true) {
            if !property.is_about(role, &value) {
                continue;
            }
            is_meant = true;
            if property.demand == Demand::Allowed {
                wanted.hear(property, seen, (role, position, example), self.policies)?;
                continue;
            }
            if is_enough {
                break;
            }
            let by = seen.decider(self.policies, (role, position, example))?;
            let problem = || property.problem();
            let at = (seen, position);
            self.note((&property.name, Level::Failed), at, (Some(role), by), &problem)?;
        }
        if let (HitPart::Whole, true) = (seen.hit.part, property.is_about_whole_calls()) {
            is_meant = true;
            let by = seen.decider_of_call(self.policies, 0);
            let is_fine = property.demand == Demand::Allowed
                && (effect == Effect::Allow || matches!(by, By::Structural(_)));
            if !is_enough && !is_fine {
                let problem = || property.problem();
                self.note((&property.name, Level::Failed), (seen, 0), (None, by), &problem)?;
            }
        }
        Ok(is_meant)
    }
}
