//! Values that come to the same, calls that come to the same, and how one more value changes a call.

use std::collections::{BTreeMap, HashMap};

use ic_policy::Effect;
use ic_types::Role;

use crate::context::{Context, merged};

/// Values of one argument that come to the same.
#[derive(Clone, Debug)]
pub(super) struct Choice<const N: usize> {
    pub(super) adds: Adds<N>,
    pub(super) examples: Vec<usize>,
}

/// The values of one argument, put together as they come to the same.
#[derive(Debug)]
pub(super) struct Choices<const N: usize> {
    all: Vec<Choice<N>>,
    known: HashMap<Adds<N>, usize>,
    /// The one that a value was put into last: neighbours are often alike.
    last: usize,
}

impl<const N: usize> Default for Choices<N> {
    fn default() -> Self {
        Self { all: Vec::new(), known: HashMap::new(), last: 0 }
    }
}

impl<const N: usize> Choices<N> {
    /// Puts the example at `position`, which adds this, to those that add the same.
    pub(super) fn put(&mut self, adds: &Adds<N>, position: usize) {
        if self.all.get(self.last).is_none_or(|it| it.adds != *adds) {
            let known = self.known.get(adds).copied();
            self.last = known.unwrap_or(self.all.len());
            if known.is_none() {
                self.known.insert(adds.clone(), self.last);
                self.all.push(Choice { adds: adds.clone(), examples: Vec::new() });
            }
        }
        if let Some(choice) = self.all.get_mut(self.last) {
            choice.examples.push(position);
        }
    }

    /// Returns them in an order that does not depend on the examples.
    pub(super) fn sorted(mut self) -> Vec<Choice<N>> {
        self.all.sort_by(|one, other| one.adds.cmp(&other.adds));
        self.all
    }
}

/// What a value adds to a call.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct Adds<const N: usize> {
    pub(super) contexts: [Context; N],
    /// For each policy, role and what is said of the value in it.
    pub(super) roles: [Vec<(Role, Said)>; N],
    pub(super) floor: [Effect; N],
}

impl<const N: usize> Adds<N> {
    pub(super) fn nothing() -> Self {
        Self {
            contexts: std::array::from_fn(|_| Vec::new()),
            roles: std::array::from_fn(|_| Vec::new()),
            floor: [Effect::Allow; N],
        }
    }
}

/// What is said of a value of a role, or of several.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct Said {
    pub(super) alone: Effect,
    pub(super) company: Effect,
    pub(super) all_free: bool,
}

/// Calls that come to the same.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Key<const N: usize> {
    pub(super) contexts: [Context; N],
    pub(super) roles: [BTreeMap<Role, Said>; N],
    pub(super) floor: [Effect; N],
    pub(super) is_bare: bool,
}

/// Calls that come to the same, and the values of one of them.
#[derive(Clone, Debug)]
pub(crate) struct State<const N: usize> {
    pub(super) key: Key<N>,
    /// Slots, and positions among their examples.
    pub(super) values: Vec<(usize, usize)>,
}

impl<const N: usize> State<N> {
    pub(super) fn of(key: &Key<N>, values: &[(usize, usize)]) -> Self {
        Self { key: key.clone(), values: values.to_vec() }
    }

    /// Returns the call that has another example in the place of the last value of `slot`.
    pub(crate) fn with_example(&self, slot: usize, example: usize) -> Self {
        let mut call = self.clone();
        if let Some(last) = call.values.iter_mut().rev().find(|(at, _)| *at == slot) {
            last.1 = example;
        }
        call
    }

    /// Returns the state of a call that has one more value.
    pub(super) fn with(&self, slot: usize, choice: &Choice<N>) -> Self {
        let mut state = self.clone();
        state.key.is_bare = false;
        for (context, adds) in state.key.contexts.iter_mut().zip(&choice.adds.contexts) {
            *context = merged(context, adds);
        }
        for (floor, adds) in state.key.floor.iter_mut().zip(&choice.adds.floor) {
            *floor = (*floor).max(*adds);
        }
        for (roles, adds) in state.key.roles.iter_mut().zip(&choice.adds.roles) {
            for (role, said) in adds {
                let both = roles.get(role).map_or(*said, |known| Said {
                    alone: known.alone.max(said.alone),
                    company: known.company.max(said.company),
                    all_free: known.all_free && said.all_free,
                });
                roles.insert(*role, both);
            }
        }
        state.values.extend(choice.examples.first().map(|example| (slot, *example)));
        state
    }
}
