//! Every way in which the calls of one variant can come out, each with a call that does.
//!
//! The rows of a tool are put together as step 5 of the decision says. Values that come to the same are
//! put into one choice first, and calls that come to the same into one state, so that what is left is
//! small, and nothing is left out.

mod acts;
mod effects;
mod state;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use ic_policy::{Effect, RoleValues, Standing};
use ic_types::{Object, Role};

use crate::TooComplex;
use crate::context::{Context, merged};
use crate::imagined::Imagined;
use crate::model::{self, Presence, Shape, Slot, Variant};
use crate::rows::ToolRows;
use crate::side::Outcome;
use crate::space::{self, Example, Space};
use state::{Adds, Choice, Choices, Key, Said};

pub(crate) use state::State;

/// How many states of one variant are looked at.
const STATES_MAX: usize = 50_000;

/// The calls of one variant, as `N` policies judge them.
#[derive(Debug)]
pub(crate) struct Search<'s, 'a, const N: usize> {
    rows: [&'s ToolRows<'s, 'a>; N],
    standings: [Standing; N],
    variant: &'s Variant,
    /// The examples of each slot.
    examples: Vec<Vec<&'s Example>>,
    /// Whether a call without arguments is always allowed.
    is_introspection: [bool; N],
    /// What is said apart from roles, by policy, by whether there are no arguments, and by context.
    own: RefCell<HashMap<(usize, bool, Context), Effect>>,
}

/// One way in which a call comes out, and what makes it so.
#[derive(Debug)]
pub(crate) struct Hit<'h, const N: usize> {
    /// What each policy says of the call.
    pub(crate) effects: [Effect; N],
    /// What each policy says of this part of it.
    pub(crate) own: [Effect; N],
    /// The role in which each policy says that.
    pub(crate) roles: [Option<Role>; N],
    /// Whether each says it of values that are free in the sandbox but for others beside them.
    pub(crate) beside: [bool; N],
    /// The part.
    pub(crate) part: HitPart<'h>,
    /// Such a call.
    pub(crate) call: &'h State<N>,
}

/// A part of a call that something is said of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HitPart<'h> {
    /// Values of one argument, any of these examples.
    Values {
        /// The position of the argument's slot.
        slot: usize,
        /// Positions among the slot's examples.
        examples: &'h [usize],
    },
    /// A role without values.
    NoValues(Role),
    /// The call as a whole.
    Whole,
}

impl<'s, 'a, const N: usize> Search<'s, 'a, N> {
    pub(crate) fn new(
        rows: [&'s ToolRows<'s, 'a>; N],
        standings: [Standing; N],
        variant: &'s Variant,
        space: &'s Space<'a>,
        is_introspection: [bool; N],
    ) -> Self {
        let examples = variant.slots.iter().map(|slot| examples(slot, space)).collect();
        let own = RefCell::default();
        Self { rows, standings, variant, examples, is_introspection, own }
    }

    /// Tells `hear` of every way in which a part of a call, and the call, can come out.
    pub(crate) fn run(
        &self,
        space: &Space<'_>,
        hear: &mut dyn FnMut(&Hit<'_, N>),
    ) -> Result<(), TooComplex> {
        let slots: Vec<usize> = (0..self.variant.slots.len()).collect();
        let adds = self.context_adds(space);
        for only in self.contexts(&adds)? {
            let choices = self.choices(only.as_ref(), &adds)?;
            let is_of_context = |state: &State<N>| {
                only.as_ref().is_none_or(|contexts| *contexts == state.key.contexts)
            };
            for state in self.states(&slots, &choices)?.iter().filter(|it| is_of_context(it)) {
                self.hear_call(state, hear)?;
            }
            for slot in &slots {
                let has_more = self.shape(*slot) != Shape::One;
                let others: Vec<usize> =
                    slots.iter().copied().filter(|it| it != slot || has_more).collect();
                let rest = self.states_with(&others, Some(*slot), &choices)?;
                for choice in choices.get(*slot).into_iter().flatten() {
                    // Many calls say the same of these values; one of them is enough.
                    let mut told = HashSet::new();
                    let mut hear_once = |hit: &Hit<'_, N>| {
                        let contexts = hit.call.key.contexts.clone();
                        if told.insert((contexts, hit.effects, hit.own, hit.roles, hit.beside)) {
                            hear(hit);
                        }
                    };
                    let states = rest.iter().map(|state| state.with(*slot, choice));
                    for state in states.filter(is_of_context) {
                        self.hear_values(*slot, (choice, &state), &mut hear_once)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the arguments of a call.
    pub(crate) fn arguments(&self, call: &State<N>) -> Object {
        let mut arguments = self.variant.arguments.clone();
        for (position, slot) in self.variant.slots.iter().enumerate() {
            let mut texts: Vec<&str> = Vec::new();
            for (at, example) in &call.values {
                if *at == position {
                    texts.extend(self.example(position, *example).map(|it| it.text.as_str()));
                }
            }
            if !texts.is_empty() {
                model::write(&mut arguments, &slot.place, &texts, slot.shape);
            }
        }
        arguments
    }

    /// Asks the decision itself about a call.
    pub(crate) fn judge(&self, side: usize, call: &State<N>, space: &Space<'_>) -> Option<Outcome> {
        let rows = self.rows.get(side)?;
        let arguments = self.arguments(call);
        let known = self.variant.roles.get(side)?;
        let mut roles: Vec<RoleValues> =
            known.iter().map(|role| RoleValues { role: *role, values: Vec::new() }).collect();
        let mut unknown: Vec<String> = Vec::new();
        for (slot, example) in &call.values {
            let example = self.example(*slot, *example)?;
            let slot = self.variant.slots.get(*slot)?;
            for role in slot.roles.get(side)?.iter().flatten() {
                let entry = roles.iter_mut().find(|it| it.role == *role)?;
                match space.value(*role, example) {
                    Some(value) => entry.values.push(value),
                    // It is refused either way.
                    None => unknown.push(slot.place.argument().to_owned()),
                }
            }
        }
        let annotation = rows.side().policy().annotation(rows.names().0, rows.names().1);
        let is_unknown = |name: &&str| annotation.is_some_and(|it| !it.names(name));
        unknown.extend(arguments.keys().filter(is_unknown).map(str::to_owned));
        let standing = *self.standings.get(side)?;
        let imagined = Imagined { names: rows.names(), standing, roles, unknown, arguments };
        Some(rows.side().judge(imagined))
    }

    /// Returns what is said of an example as the only value of `role`, beside the rest of a call.
    pub(crate) fn said_of(
        &self,
        side: usize,
        role: Role,
        example: &Example,
        call: &State<N>,
    ) -> Result<Option<Outcome>, TooComplex> {
        match (self.rows.get(side), call.key.contexts.get(side)) {
            (Some(rows), Some(context)) if role.is_resource() => {
                Ok(rows.row_of_example(role, example, context)?.map(|row| row.alone))
            }
            _ => Ok(None),
        }
    }

    /// Returns the slot at this position.
    pub(crate) fn slot(&self, slot: usize) -> Option<&'s Slot> {
        self.variant.slots.get(slot)
    }

    pub(crate) fn example(&self, slot: usize, example: usize) -> Option<&'s Example> {
        self.examples.get(slot)?.get(example).copied()
    }

    /// Returns every context that calls can have, for all policies together, if something is said of values
    /// that depends on it; one for all calls if not.
    fn contexts(
        &self,
        adds: &[Vec<[Context; N]>],
    ) -> Result<BTreeSet<Option<[Context; N]>>, TooComplex> {
        if !self.rows.iter().any(|rows| rows.lists.matter()) {
            return Ok(BTreeSet::from([None]));
        }
        let nothing = self.rows.map(|rows| rows.lists.nothing());
        let mut found = BTreeSet::from([Some(nothing.clone())]);
        let steps: BTreeSet<&[Context; N]> = adds.iter().flatten().collect();
        let mut fresh = vec![nothing];
        while let Some(contexts) = fresh.pop() {
            for step in &steps {
                let next = std::array::from_fn(|at| match (contexts.get(at), step.get(at)) {
                    (Some(one), Some(other)) => merged(one, other),
                    _ => Vec::new(),
                });
                if found.insert(Some(next.clone())) {
                    fresh.push(next);
                }
            }
            if STATES_MAX < found.len() {
                return Err(self.too_complex());
            }
        }
        Ok(found)
    }

    /// Returns what each example of each slot adds to the context of each policy; nothing without lists.
    fn context_adds(&self, space: &Space<'_>) -> Vec<Vec<[Context; N]>> {
        if self.rows.iter().all(|rows| rows.lists.is_empty()) {
            return Vec::new();
        }
        let slots = self.variant.slots.iter().zip(&self.examples);
        slots
            .map(|(slot, examples)| {
                examples.iter().map(|example| self.context(slot, example, space)).collect()
            })
            .collect()
    }

    /// Returns what an example adds to the context of each policy.
    fn context(&self, slot: &Slot, example: &Example, space: &Space<'_>) -> [Context; N] {
        std::array::from_fn(|at| {
            let Some(rows) = self.rows.get(at) else { return Vec::new() };
            let roles = slot.roles.get(at).and_then(Option::as_deref).unwrap_or_default();
            roles.iter().fold(rows.lists.nothing(), |context, role| {
                match space.value(*role, example) {
                    Some(value) => merged(&context, &rows.lists.adds(*role, &value)),
                    None => context,
                }
            })
        })
    }

    /// Puts the examples of each slot together that come to the same.
    fn choices(
        &self,
        contexts: Option<&[Context; N]>,
        context_adds: &[Vec<[Context; N]>],
    ) -> Result<Vec<Vec<Choice<N>>>, TooComplex> {
        let nothing = self.rows.map(|rows| rows.lists.nothing());
        let contexts = contexts.unwrap_or(&nothing);
        let mut all = Vec::new();
        for (at, (slot, examples)) in self.variant.slots.iter().zip(&self.examples).enumerate() {
            let mut choices = Choices::default();
            if slot.presence != Presence::Never {
                // There are many examples and few choices, so what an example adds is written into one place.
                let mut adds = Adds::nothing();
                for (position, example) in examples.iter().enumerate() {
                    if let Some(own) = context_adds.get(at).and_then(|it| it.get(position)) {
                        adds.contexts.clone_from(own);
                    }
                    self.add(slot, example, contexts, &mut adds)?;
                    choices.put(&adds, position);
                }
            }
            all.push(choices.sorted());
        }
        Ok(all)
    }

    /// Works out what an example adds to a call, apart from its contexts.
    fn add(
        &self,
        slot: &Slot,
        example: &Example,
        contexts: &[Context; N],
        Adds { roles, floor, .. }: &mut Adds<N>,
    ) -> Result<(), TooComplex> {
        *floor = [Effect::Allow; N];
        let sides = self.rows.iter().zip(contexts).zip(roles).zip(floor);
        for ((((rows, context), roles), floor), known) in sides.zip(&slot.roles) {
            roles.clear();
            // An argument that a policy does not know is refused.
            let Some(known) = known else {
                *floor = Effect::Deny;
                continue;
            };
            for role in known {
                if !role.is_resource() {
                    continue;
                }
                // What cannot be a value of the role is refused.
                let Some(row) = rows.row_of_example(*role, example, context)? else {
                    *floor = Effect::Deny;
                    continue;
                };
                let (alone, company) = (row.alone.effect, row.company.effect);
                roles.push((*role, Said { alone, company, all_free: row.is_free }));
            }
        }
        Ok(())
    }

    /// Returns all states of values of `slots`.
    fn states(
        &self,
        slots: &[usize],
        choices: &[Vec<Choice<N>>],
    ) -> Result<Vec<State<N>>, TooComplex> {
        self.states_with(slots, None, choices)
    }

    /// Returns all states of values of `slots`, of which `filled` has a value besides.
    fn states_with(
        &self,
        slots: &[usize],
        filled: Option<usize>,
        choices: &[Vec<Choice<N>>],
    ) -> Result<Vec<State<N>>, TooComplex> {
        let mut states: BTreeMap<Key<N>, Vec<(usize, usize)>> =
            BTreeMap::from([(self.nothing(), Vec::new())]);
        for slot in slots {
            let of_slot = choices.get(*slot).map(Vec::as_slice).unwrap_or_default();
            let must =
                self.variant.slots.get(*slot).is_some_and(|it| it.presence == Presence::Must);
            let mut next = BTreeMap::new();
            let mut fresh: Vec<State<N>> =
                states.iter().map(|(key, values)| State::of(key, values)).collect();
            if !must || filled == Some(*slot) {
                next = states;
            }
            let mut is_first = true;
            // Several values of one argument add up until nothing new comes of it.
            while !fresh.is_empty() && (is_first || self.shape(*slot) != Shape::One) {
                let mut found = Vec::new();
                for (state, choice) in
                    fresh.iter().flat_map(|it| of_slot.iter().map(move |c| (it, c)))
                {
                    let state = state.with(*slot, choice);
                    if !next.contains_key(&state.key) {
                        next.insert(state.key.clone(), state.values.clone());
                        found.push(state);
                    }
                }
                if STATES_MAX < next.len() {
                    return Err(self.too_complex());
                }
                (fresh, is_first) = (found, false);
            }
            states = next;
        }
        Ok(states.into_iter().map(|(key, values)| State { key, values }).collect())
    }

    fn nothing(&self) -> Key<N> {
        Key {
            contexts: self.rows.map(|rows| rows.lists.nothing()),
            roles: std::array::from_fn(|_| BTreeMap::new()),
            floor: [Effect::Allow; N],
            is_bare: true,
        }
    }

    /// Tells of what is said of a call apart from its values.
    fn hear_call(
        &self,
        state: &State<N>,
        hear: &mut dyn FnMut(&Hit<'_, N>),
    ) -> Result<(), TooComplex> {
        let effects = self.effects(state)?;
        let own = self.own_of_call(state)?;
        let (roles, beside) = ([None; N], [false; N]);
        hear(&Hit { effects, own, roles, beside, part: HitPart::Whole, call: state });
        for (side, roles) in self.variant.roles.iter().enumerate() {
            for role in roles.iter().copied().filter(|role| role.is_resource()) {
                let has_values = state.key.roles.get(side).is_some_and(|it| it.contains_key(&role));
                if has_values || self.is_listing(side, state) {
                    continue;
                }
                let mut own = [Effect::Allow; N];
                for (at, own) in own.iter_mut().enumerate() {
                    *own = self.without_values(at, role, state)?.unwrap_or(Effect::Allow);
                }
                let (part, roles) = (HitPart::NoValues(role), [Some(role); N]);
                hear(&Hit { effects, own, roles, beside, part, call: state });
            }
        }
        Ok(())
    }

    /// Tells of what is said of values of one argument.
    fn hear_values(
        &self,
        slot: usize,
        (choice, state): (&Choice<N>, &State<N>),
        hear: &mut dyn FnMut(&Hit<'_, N>),
    ) -> Result<(), TooComplex> {
        let (mut own, mut roles, mut beside) = (choice.adds.floor, [None; N], [false; N]);
        let sides = own.iter_mut().zip(&mut roles).zip(&mut beside).zip(&choice.adds.roles);
        for ((((own, named), beside), said), all) in sides.zip(&state.key.roles) {
            for (role, said) in said {
                let all_free = all.get(role).is_none_or(|it| it.all_free);
                let effect = if all_free { said.alone } else { said.company };
                if named.is_none() || *own < effect {
                    *named = Some(*role);
                    *beside = said.all_free && !all_free;
                }
                *own = (*own).max(effect);
            }
        }
        let part = HitPart::Values { slot, examples: &choice.examples };
        hear(&Hit { effects: self.effects(state)?, own, roles, beside, part, call: state });
        Ok(())
    }

    fn too_complex(&self) -> TooComplex {
        let error = TooComplex::states();
        match self.rows.first() {
            Some(rows) => error.of(rows.names().0, rows.names().1),
            None => error,
        }
    }
}

/// Returns an example of each class that values of `slot` can be in, for any policy.
fn examples<'s>(slot: &Slot, space: &'s Space<'_>) -> Vec<&'s Example> {
    let mut found: Vec<&Example> = Vec::new();
    let roles: Vec<Role> = slot.roles.iter().flatten().flatten().copied().collect();
    let mut known = vec![false; space.n_examples()];
    // Only values of different kinds can be written alike.
    let is_mixed = !space::have_same_examples(&roles);
    let mut texts: HashSet<(&str, bool)> = HashSet::new();
    for role in &roles {
        for example in space.examples(*role) {
            let is_known =
                known.get_mut(example.number).is_none_or(|it| std::mem::replace(it, true));
            let exists = example.value.path().is_some_and(|it| it.state.is_some());
            if !is_known && (!is_mixed || texts.insert((example.text.as_str(), exists))) {
                found.push(example);
            }
        }
    }
    if found.is_empty() && slot.roles.iter().any(Option::is_none) {
        // Only that it is there matters, since some policy does not know it.
        found.extend(space.examples(Role::CommitMessage).next());
    }
    found
}
