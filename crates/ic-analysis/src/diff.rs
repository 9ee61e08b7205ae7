//! What changes if one policy takes the place of another: every region whose verdict differs.
//!
//! A call comes out differently only if some part of it does, in the role that decides. So each part is
//! looked at in all calls that have it, and reported if it makes one of them come out differently. Each
//! report has a call that the decisions of both policies were asked about.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use ic_policy::{ArgumentAnnotation, Effect, Rule};
use ic_types::{CanonicalPath, Object, Role, ServerName, ToolName};

use crate::TooComplex;
use crate::search::{Hit, HitPart, Search, State};
use crate::side::{Outcome, Side};
use crate::space::{Asked, Class, Example, Space, Subject};
use crate::tools::{Policies, Tool};

/// Two policies, to be compared.
#[derive(Debug)]
pub struct Comparison<'a> {
    policies: Policies<'a, 2>,
    /// The rules of each policy, written out; rules that are written alike are alike.
    rules: [Vec<String>; 2],
    /// Whether both are in the same surroundings.
    is_same_ground: bool,
    /// By the number of the example: many tools are asked about each of them.
    classes: RefCell<HashMap<usize, Class>>,
}

/// Calls of one tool that come out differently.
#[derive(Clone, Debug)]
pub struct Change {
    /// The server.
    pub server: ServerName,
    /// The tool.
    pub tool: ToolName,
    /// What makes the difference.
    pub part: Part,
    /// What such calls do to these values, the worst first: every role that they have, decisive or not.
    pub does: Vec<Role>,
    /// The arguments that a call must have for it to be one of them, each as `name=value`; none if a plain
    /// call is.
    pub only_with: BTreeSet<String>,
    /// What the first policy says.
    pub before: Effect,
    /// What the second policy says.
    pub after: Effect,
    /// The values that make it, each with a call.
    pub regions: Vec<Region>,
}

/// A part of a call.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Part {
    /// Values of an argument.
    Values {
        /// The argument, or the place in it.
        argument: String,
        /// The role that decides; `None` if one policy does not take such a value at all.
        role: Option<Role>,
        /// Whether the values are free in the sandbox but for another value outside of it beside them.
        beside: bool,
    },
    /// A role without values.
    NoValues(Role),
    /// The call as a whole.
    Call,
}

impl Part {
    /// Returns the role that decides, if it is one.
    pub fn role(&self) -> Option<Role> {
        match self {
            Self::Values { role, .. } => *role,
            Self::NoValues(role) => Some(*role),
            Self::Call => None,
        }
    }
}

/// Values that are judged alike, and a call with one of them.
#[derive(Clone, Debug)]
pub struct Region {
    /// The values; `None` where there are none.
    pub class: Option<Class>,
    /// The arguments of such a call.
    pub example: Object,
    /// What the first policy's decision says of that call.
    pub before: Outcome,
    /// What the second policy's decision says of it.
    pub after: Outcome,
}

impl Change {
    /// Returns whether the second policy lets more through.
    pub fn is_widening(&self) -> bool {
        self.after < self.before
    }
}

/// What changes of one tool have in common that are told as one.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Key {
    part: Part,
    does: Vec<Role>,
    before: Effect,
    after: Effect,
}

/// What was found of one tool so far.
#[derive(Debug, Default)]
struct Noted<'p> {
    /// The place that values have to lie in, if only these count.
    only_in: Option<&'p CanonicalPath>,
    regions: BTreeMap<Key, Vec<Region>>,
    /// The numbers of the examples that are known.
    examples: BTreeMap<Key, HashSet<usize>>,
    /// The arguments without which there is no such call; nothing for a plain call.
    conditions: BTreeMap<Key, BTreeSet<Option<String>>>,
}

/// Leaves out what a greater change of the same values implies.
///
/// A value that is now denied and was allowed is also denied beside one that needed approval.
fn drop_implied(found: &mut BTreeMap<Key, Vec<Region>>) {
    let implies = |key: &Key, greater: &Key| {
        let is_greater = match key.before < key.after {
            true => greater.before < key.before && greater.after == key.after,
            false => greater.before == key.before && greater.after < key.after,
        };
        key.part == greater.part && key.does == greater.does && is_greater
    };
    let known: Vec<(Key, HashSet<Option<Class>>)> = found
        .iter()
        .map(|(key, regions)| (key.clone(), regions.iter().map(|it| it.class.clone()).collect()))
        .collect();
    for (key, regions) in &mut *found {
        regions.retain(|region| {
            let mut greater = known.iter().filter(|(other, _)| implies(key, other));
            !greater.any(|(_, classes)| classes.contains(&region.class))
        });
    }
    found.retain(|_, regions| !regions.is_empty());
}

impl<'a> Comparison<'a> {
    /// Takes two policies, each in its surroundings.
    pub fn new(before: Subject<'a>, after: Subject<'a>) -> Self {
        let written =
            |it: Subject<'_>| it.policy.rules().iter().map(|rule| format!("{rule:?}")).collect();
        Self {
            rules: [before, after].map(written),
            is_same_ground: std::ptr::eq(before.bounds, after.bounds),
            policies: Policies::new([before, after], &Asked::default()),
            classes: RefCell::default(),
        }
    }

    /// Returns whether the rules about a tool and its annotation are the same, so that nothing can differ.
    fn is_same<'s>(&'s self, (server, tool): Tool<'_>) -> bool {
        if !self.is_same_ground {
            return false;
        }
        let annotations =
            self.policies.sides.each_ref().map(|it| it.policy().annotation(server, tool));
        let [before, after] = annotations.map(|it| it.map(|it| format!("{it:?}")));
        let arguments = annotations.iter().flatten().flat_map(|it| it.arguments());
        let mut roles: Vec<Role> = arguments.flat_map(ArgumentAnnotation::possible_roles).collect();
        roles.sort_unstable();
        roles.dedup();
        let has_resources = roles.iter().any(|role| role.is_resource());
        let can_judge = |rule: &Rule| {
            let is_about = rule.is_about(server.as_str()) && rule.is_about_tool(tool.as_str());
            // A tool without resources is judged as a whole, by any rule.
            let is_relevant = !has_resources
                || roles.iter().any(|role| role.is_resource() && rule.is_relevant_to(*role))
                || rule.may_speak_beside_roles(roles.iter().copied());
            is_about && is_relevant
        };
        let [of_before, of_after] =
            [0, 1].map(|at| self.policies.sides.get(at).into_iter().zip(self.rules.get(at)));
        let written = |(side, written): (&'s Side<'a>, &'s Vec<String>)| {
            let rules = side.policy().rules().iter().zip(written);
            rules.filter(|(rule, _)| can_judge(rule)).map(|(_, written)| written)
        };
        before == after && of_before.flat_map(written).eq(of_after.flat_map(written))
    }

    /// Returns the classes that one of the policies tells apart.
    pub fn space(&self) -> &Space<'a> {
        &self.policies.space
    }

    /// Returns every change.
    pub fn changes(&self) -> Result<Vec<Change>, TooComplex> {
        let mut changes = Vec::new();
        for tool in self.policies.tools() {
            changes.extend(self.changes_of(tool, None)?);
        }
        Ok(changes)
    }

    /// Returns every change of values that lie in `place`, and of nothing else.
    pub fn changes_in(&self, place: &CanonicalPath) -> Result<Vec<Change>, TooComplex> {
        let mut changes = Vec::new();
        for tool in self.policies.tools() {
            changes.extend(self.changes_of(tool, Some(place))?);
        }
        Ok(changes)
    }

    /// Returns whether any call comes out differently.
    pub fn first_change(&self) -> Result<Option<Change>, TooComplex> {
        for tool in self.policies.tools() {
            if let Some(change) = self.changes_of(tool, None)?.into_iter().next() {
                return Ok(Some(change));
            }
        }
        Ok(None)
    }

    fn class(&self, example: &Example) -> Class {
        let mut classes = self.classes.borrow_mut();
        let class = || self.policies.space.class(&example.value);
        classes.entry(example.number).or_insert_with(class).clone()
    }

    /// Returns the changes of one tool; with a place, those of values in it alone.
    fn changes_of(
        &self,
        tool: Tool<'_>,
        only_in: Option<&CanonicalPath>,
    ) -> Result<Vec<Change>, TooComplex> {
        if self.is_same(tool) {
            return Ok(Vec::new());
        }
        let mut noted = Noted { only_in, ..Noted::default() };
        self.policies.search(tool, &mut |search, hit| self.note(search, hit, &mut noted))?;
        let Noted { regions: mut found, mut conditions, .. } = noted;
        drop_implied(&mut found);
        let change = |(key, regions): (Key, Vec<Region>)| {
            let only_with = conditions.remove(&key).unwrap_or_default();
            let Key { part, does, before, after } = key;
            Change {
                server: tool.0.clone(),
                tool: tool.1.clone(),
                part,
                does,
                // A call that needs no argument for it makes the others say nothing.
                only_with: only_with.into_iter().collect::<Option<_>>().unwrap_or_default(),
                before,
                after,
                regions,
            }
        };
        Ok(found.into_iter().map(change).collect())
    }

    /// Notes what makes a call come out differently.
    fn note(
        &self,
        search: &Search<'_, 'a, 2>,
        hit: &Hit<'_, 2>,
        noted: &mut Noted<'_>,
    ) -> Result<(), TooComplex> {
        let [before, after] = hit.effects;
        let ([own_before, own_after], [role_before, role_after]) = (hit.own, hit.roles);
        // The stricter verdict has to be this part's own.
        let [beside_before, beside_after] = hit.beside;
        let (is_own, role, beside) = match before < after {
            true => (own_after == after, role_after, beside_after),
            false => (own_before == before, role_before, beside_before),
        };
        if before == after || !is_own {
            return Ok(());
        }
        let (part, examples) = match hit.part {
            HitPart::Values { slot, examples } => {
                let argument =
                    search.slot(slot).map_or_else(String::new, |it| it.place.as_str().to_owned());
                (Part::Values { argument, role, beside }, Some((slot, examples)))
            }
            HitPart::NoValues(role) => (Part::NoValues(role), None),
            HitPart::Whole => (Part::Call, None),
        };
        let does = search.does(hit);
        let key = Key { part, does, before, after };
        noted
            .conditions
            .entry(key.clone())
            .or_default()
            .insert(search.condition().map(str::to_owned));
        let known = noted.examples.entry(key.clone()).or_default();
        let regions = noted.regions.entry(key).or_default();
        let Some((slot, examples)) = examples else {
            if regions.is_empty() && noted.only_in.is_none() {
                regions.push(self.region(search, hit.call, (before, after), None)?);
            }
            return Ok(());
        };
        for example in examples {
            let Some(value) = search.example(slot, *example) else { continue };
            if known.insert(value.number) {
                let class = self.class(value);
                if noted.only_in.is_some_and(|place| !class.is_in(place)) {
                    continue;
                }
                let class = Some(class);
                let call = hit.call.with_example(slot, *example);
                regions.push(self.region(search, &call, (before, after), class)?);
            }
        }
        Ok(())
    }

    /// Asks both decisions about an example.
    fn region(
        &self,
        search: &Search<'_, 'a, 2>,
        call: &State<2>,
        (before, after): (Effect, Effect),
        class: Option<Class>,
    ) -> Result<Region, TooComplex> {
        let judged = |side: usize, expected: Effect| {
            let outcome = search.judge(side, call, &self.policies.space);
            // SECURITY: what the decision does not confirm is not said, and not left out quietly either.
            outcome.filter(|it| it.effect == expected).ok_or_else(TooComplex::unconfirmed)
        };
        Ok(Region {
            class,
            example: search.arguments(call),
            before: judged(0, before)?,
            after: judged(1, after)?,
        })
    }
}
