//! What calls do, whichever of their roles decides.

use ic_types::Role;

use super::{Hit, HitPart, Search};
use crate::describe;
use crate::model::Shape;

impl<const N: usize> Search<'_, '_, N> {
    /// Returns what a call does to the part that a hit is about: each role that it has there, the worst first.
    pub(crate) fn does(&self, hit: &Hit<'_, N>) -> Vec<Role> {
        let of_call = || self.variant.roles.iter().flatten().copied();
        let has_values = |role: &Role| hit.call.key.roles.iter().any(|it| it.contains_key(role));
        match hit.part {
            HitPart::Values { slot, .. } => {
                let slot = self.variant.slots.get(slot).into_iter();
                sorted(slot.flat_map(|it| it.roles.iter().flatten().flatten().copied()).collect())
            }
            HitPart::NoValues(_) => {
                sorted(of_call().filter(|role| role.is_resource() && !has_values(role)).collect())
            }
            HitPart::Whole => self.does_at_all(),
        }
    }

    /// Returns what a call does as a whole, the worst first.
    pub(crate) fn does_at_all(&self) -> Vec<Role> {
        sorted(self.variant.roles.iter().flatten().copied().collect())
    }

    /// Returns the arguments that a call has only in this variant; `None` if it needs none for it.
    pub(crate) fn condition(&self) -> Option<&str> {
        self.variant.condition.as_deref()
    }

    /// Returns how the values of a slot are written.
    pub(super) fn shape(&self, slot: usize) -> Shape {
        self.variant.slots.get(slot).map_or(Shape::One, |it| it.shape)
    }
}

fn sorted(mut roles: Vec<Role>) -> Vec<Role> {
    roles.retain(|role| *role != Role::None);
    roles.sort_unstable_by_key(|role| (describe::danger(*role), *role));
    roles.dedup();
    roles
}
