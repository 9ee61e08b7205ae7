//! What each policy says of a call: step 5 of the decision, over what is said of its parts.

use ic_policy::{Effect, Standing};
use ic_types::Role;

use super::{Search, State};
use crate::TooComplex;
use crate::context::Context;
use crate::rows::{LIST_ALLOWED_DIRECTORIES, ToolRows};

impl<const N: usize> Search<'_, '_, N> {
    /// Returns what each policy says of the call.
    pub(super) fn effects(&self, state: &State<N>) -> Result<[Effect; N], TooComplex> {
        let mut effects = self.own_of_call(state)?;
        for (side, effect) in effects.iter_mut().enumerate() {
            if self.is_listing(side, state) {
                continue;
            }
            *effect = (*effect).max(state.key.floor.get(side).copied().unwrap_or(Effect::Deny));
            let roles = self.variant.roles.get(side).map(Vec::as_slice).unwrap_or_default();
            for role in roles.iter().copied().filter(|role| role.is_resource()) {
                let said = state.key.roles.get(side).and_then(|it| it.get(&role));
                *effect = (*effect).max(match said {
                    Some(said) if said.all_free => said.alone,
                    Some(said) => said.company,
                    None => self.without_values(side, role, state)?.unwrap_or(Effect::Allow),
                });
            }
        }
        Ok(effects)
    }

    /// Returns what each policy says of the call apart from its roles.
    pub(super) fn own_of_call(&self, state: &State<N>) -> Result<[Effect; N], TooComplex> {
        let mut effects = [Effect::Allow; N];
        for (side, effect) in effects.iter_mut().enumerate() {
            if self.is_listing(side, state) {
                continue;
            }
            let (Some(rows), Some(context)) = (self.rows.get(side), state.key.contexts.get(side))
            else {
                *effect = Effect::Deny;
                continue;
            };
            // Of all that the states of one variant differ in, nothing else matters here.
            let key = (side, state.key.is_bare, context.clone());
            if let Some(known) = self.own.borrow().get(&key) {
                *effect = *known;
                continue;
            }
            *effect = self.own_of_side(side, rows, &key)?;
            self.own.borrow_mut().insert(key, *effect);
        }
        Ok(effects)
    }

    /// Returns what one policy says of calls with or without arguments, in a context, apart from their roles.
    fn own_of_side(
        &self,
        side: usize,
        rows: &ToolRows<'_, '_>,
        (_, is_bare, context): &(usize, bool, Context),
    ) -> Result<Effect, TooComplex> {
        let standing = match self.standings.get(side) {
            Some(Standing::Annotated) => Effect::Allow,
            Some(Standing::Draft) => Effect::Escalate,
            Some(Standing::Unknown | Standing::OfServer | Standing::Plan) | None => Effect::Deny,
        };
        let knows_arguments = self.variant.knows_arguments.get(side) == Some(&true);
        if standing == Effect::Deny || !knows_arguments {
            return Ok(Effect::Deny);
        }
        let roles = self.variant.roles.get(side).map(Vec::as_slice).unwrap_or_default();
        let has_resources = roles.iter().any(|role| role.is_resource());
        let mut arguments = self.variant.arguments.clone();
        if !has_resources && !is_bare {
            arguments.insert("example", true);
        }
        let said = match has_resources {
            true => rows.beside(roles, &arguments, context)?,
            false => rows.whole(roles, &arguments, context)?.effect,
        };
        Ok(standing.max(said))
    }

    /// Returns what is said of a role that the call has and that has no values.
    pub(super) fn without_values(
        &self,
        side: usize,
        role: Role,
        state: &State<N>,
    ) -> Result<Option<Effect>, TooComplex> {
        let has_role = self.variant.roles.get(side).is_some_and(|roles| roles.contains(&role));
        let has_values = state.key.roles.get(side).is_some_and(|it| it.contains_key(&role));
        match (self.rows.get(side), state.key.contexts.get(side)) {
            (Some(rows), Some(context)) if has_role && !has_values => {
                Ok(Some(rows.row(role, None, context)?.alone.effect))
            }
            _ => Ok(None),
        }
    }

    /// Returns whether the call only asks for the list of allowed directories.
    pub(super) fn is_listing(&self, side: usize, state: &State<N>) -> bool {
        self.is_introspection.get(side) == Some(&true)
            && state.key.is_bare
            && self.variant.arguments.is_empty()
            && self.rows.iter().any(|it| it.names().1.as_str() == LIST_ALLOWED_DIRECTORIES)
    }
}
