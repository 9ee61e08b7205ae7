//! Values that come to the same, calls that come to the same, and how one more value changes a call.

use std::collections::BTreeMap;

use ic_policy::Effect;
use ic_types::Role;

use crate::context::{Context, merged};

/// Values of one argument that come to the same.
#[derive(Clone, Debug)]
pub(super) struct Choice<const N: usize> {
    pub(super) adds: Adds<N>,
    pub(super) examples: Vec<usize>,
}

/// What a value adds to a call.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Adds<const N: usize> {
    pub(super) contexts: [Context; N],
    /// For each policy, role and what is said of the value in it.
    pub(super) roles: [Vec<(Role, Said)>; N],
    pub(super) floor: [Effect; N],
}

/// What is said of a value of a role, or of several.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
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
