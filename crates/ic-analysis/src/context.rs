//! How far lists hold for the other values of a call, which is all that one role asks of another.
//!
//! A rule may ask that an address be on a list before it lets a file be read. So what is said of one role
//! can depend on values of others, but only through such lists, and of each list only whether it held for
//! some, for all or for none of its values.

use std::collections::HashMap;

use ic_policy::{Policy, RoleValues, Value};
use ic_types::Role;

use crate::TooComplex;
use crate::imagined::Names;
use crate::space::Space;

/// How far the lists hold: for each of them, whether a value matched (1) and whether one did not (2).
pub(crate) type Context = Vec<u8>;

/// How many contexts of one tool are looked at.
const CONTEXTS_MAX: usize = 1024;

/// The lists that rules compare with other roles than the one they judge.
#[derive(Debug)]
pub(crate) struct Lists<'a> {
    policy: &'a Policy,
    /// Rule and list, by position.
    entries: Vec<(usize, usize)>,
    /// The roles of which something is said that depends on values of others.
    dependent: Vec<Role>,
}

impl<'a> Lists<'a> {
    /// Finds the lists that can matter to a tool with these roles.
    pub(crate) fn of(policy: &'a Policy, (server, tool): Names<'_>, roles: &[Role]) -> Self {
        let mut entries = Vec::new();
        let resources: Vec<Role> =
            roles.iter().copied().filter(|role| role.is_resource()).collect();
        for (position, rule) in policy.rules().iter().enumerate() {
            let about = rule.is_about(server.as_str()) && rule.is_about_tool(tool.as_str());
            if rule.n_lists() == 0 || !about {
                continue;
            }
            for list in 0..rule.n_lists() {
                let names = |role: &Role| rule.list_names(list, *role);
                let is_elsewhere =
                    |role: &Role| rule.is_relevant_to(*role) && !rule.list_names(list, *role);
                let can_hold = roles.iter().any(names);
                // What a call says beside its resources is judged by rules that are about none of them, too.
                let is_beside = rule.may_speak_beside_roles(roles.iter().copied());
                let is_asked =
                    resources.is_empty() || is_beside || resources.iter().any(is_elsewhere);
                if can_hold && is_asked {
                    entries.push((position, list));
                }
            }
        }
        let mut lists = Self { policy, entries, dependent: Vec::new() };
        let depends = |role: &Role| lists.entries.iter().any(|it| lists.is_asked(*role, *it));
        lists.dependent = Role::all().filter(depends).collect();
        lists
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the context of no values.
    pub(crate) fn nothing(&self) -> Context {
        vec![0; self.entries.len()]
    }

    /// Says how far the lists hold in a context.
    pub(crate) fn text(&self, context: &[u8]) -> String {
        let said = self.entries.iter().zip(context).filter_map(|((rule, _), state)| {
            let name = self.policy.rules().get(*rule)?.name();
            let word = match state {
                0 => return None,
                1 => "all",
                2 => "none",
                _ => "some",
            };
            Some(format!("{word} on the list of {name}"))
        });
        said.collect::<Vec<_>>().join(", ")
    }

    /// Returns what `value` of `role` adds to a context.
    pub(crate) fn adds(&self, role: Role, value: &Value) -> Context {
        let adds = |&(rule, list): &(usize, usize)| match self.policy.rules().get(rule) {
            Some(rule) if rule.list_names(list, role) => {
                if rule.list_holds(list, role, value) {
                    1
                } else {
                    2
                }
            }
            Some(_) | None => 0,
        };
        self.entries.iter().map(adds).collect()
    }

    /// Returns what of a context matters where `judged` is judged: the lists that it is asked about and that do
    /// not name it.
    pub(crate) fn elsewhere(&self, judged: Option<Role>, context: &[u8]) -> Context {
        let matters = |entry| judged.is_none_or(|role| self.is_asked(role, entry));
        let kept = self.entries.iter().zip(context);
        kept.map(|(entry, state)| if matters(*entry) { *state } else { 0 }).collect()
    }

    /// Returns whether what is said of values of any role can depend on values of others.
    pub(crate) fn matter(&self) -> bool {
        !self.dependent.is_empty()
    }

    /// Returns whether what is said of values of `judged` can depend on values of other roles.
    pub(crate) fn matter_to(&self, judged: Role) -> bool {
        self.dependent.contains(&judged)
    }

    /// Returns whether the rule of a list asks, for values of `judged`, how far the list holds for others.
    fn is_asked(&self, judged: Role, (rule, list): (usize, usize)) -> bool {
        // A rule that is not relevant to a role says nothing of its values, whatever else the call has.
        let rule = self.policy.rules().get(rule);
        rule.is_some_and(|rule| rule.is_relevant_to(judged) && !rule.list_names(list, judged))
    }

    /// Returns values of `roles` for each context in which `judged` can be judged.
    ///
    /// A protected path is taken only where nothing else will do: beside it no rule is asked, since the
    /// call is denied.
    pub(crate) fn witnesses(
        &self,
        judged: Option<Role>,
        roles: &[Role],
        space: &Space<'_>,
    ) -> Result<HashMap<Context, Vec<RoleValues>>, TooComplex> {
        let mut steps: Vec<Step> = Vec::new();
        let others = roles.iter().copied().filter(|role| Some(*role) != judged);
        for role in others.filter(|_| !self.is_empty()) {
            for example in space.examples(role) {
                let adds = self.elsewhere(judged, &self.adds(role, &example.value));
                let is_protected = space.is_protected(&example.value);
                let is_known = steps.iter().any(|it| {
                    it.role == role && it.adds == adds && it.is_protected == is_protected
                });
                if adds.iter().any(|it| *it != 0) && !is_known {
                    steps.push(Step { role, value: example.value.clone(), adds, is_protected });
                }
            }
        }
        // Every role is there, with or without values.
        let bare = roles.iter().filter(|role| Some(**role) != judged);
        let bare = bare.map(|role| RoleValues { role: *role, values: Vec::new() }).collect();
        let mut found = HashMap::from([(self.nothing(), bare)]);
        steps.sort_by_key(|it| it.is_protected);
        let n_plain = steps.iter().filter(|it| !it.is_protected).count();
        for steps in [steps.get(..n_plain).unwrap_or_default(), steps.as_slice()] {
            extend(&mut found, steps)?;
        }
        Ok(found)
    }
}

/// A value that changes how far lists hold.
#[derive(Debug)]
struct Step {
    role: Role,
    value: Value,
    adds: Context,
    /// Whether a call with it can be denied before any rule is asked.
    is_protected: bool,
}

/// Adds every context that `steps` lead to from those that are known.
fn extend(found: &mut HashMap<Context, Vec<RoleValues>>, steps: &[Step]) -> Result<(), TooComplex> {
    let mut fresh: Vec<Context> = found.keys().cloned().collect();
    while let Some(context) = fresh.pop() {
        for step in steps {
            let next = merged(&context, &step.adds);
            if found.contains_key(&next) {
                continue;
            }
            let mut values: Vec<RoleValues> = found.get(&context).cloned().unwrap_or_default();
            if let Some(entry) = values.iter_mut().find(|it| it.role == step.role) {
                entry.values.push(step.value.clone());
            }
            found.insert(next.clone(), values);
            fresh.push(next);
        }
        if CONTEXTS_MAX < found.len() {
            return Err(TooComplex::lists());
        }
    }
    Ok(())
}

/// Returns the context of all values of two.
pub(crate) fn merged(one: &[u8], other: &[u8]) -> Context {
    one.iter().zip(other).map(|(one, other)| one | other).collect()
}
