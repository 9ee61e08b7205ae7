//! What should be allowed: for each value some call has to be.

use std::collections::BTreeMap;

use ic_policy::Effect;
use ic_types::{Object, Role};

use super::{ExampleCall, Finding, Level, Property, Seen, Verifier};
use crate::TooComplex;
use crate::side::By;
use crate::space::Example;
use crate::tools::{Policies, Tool};

/// The values of one tool that should be allowed, each with the best call that was heard of.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// By property, role and the number of the example.
    best: BTreeMap<(String, Role, usize), Best>,
}

#[derive(Debug)]
struct Best {
    problem: String,
    effect: Effect,
    by: By,
    arguments: Object,
}

impl Best {
    /// Returns whether the rules have nothing against it.
    fn is_fine(&self) -> bool {
        self.effect == Effect::Allow || matches!(self.by, By::Structural(_))
    }
}

impl Wanted {
    /// Notes a call with a value that `property` is about, if it is better than those before it.
    pub(super) fn hear<'a>(
        &mut self,
        property: &Property,
        seen: &Seen<'_, '_, 'a>,
        (role, position, example): (Role, usize, &Example),
        policies: &Policies<'a, 1>,
    ) -> Result<(), TooComplex> {
        let key = (property.name.clone(), role, example.number);
        let known = self.best.get(&key).map(|it| (it.effect, it.is_fine()));
        // Of two calls that come out alike, one that a rule decides about says more than an invariant.
        let is_better = |(effect, is_fine): (Effect, bool)| {
            seen.effect() < effect || seen.effect() == effect && is_fine && effect != Effect::Allow
        };
        if known.is_some_and(|it| !is_better(it)) {
            return Ok(());
        }
        let by = match seen.said_of(role, example)? {
            Some(said) if said.effect != Effect::Allow => said.by,
            Some(_) | None => seen.decider_of_call(policies, position),
        };
        self.best.insert(
            key,
            Best {
                problem: property.problem(),
                effect: seen.effect(),
                by,
                arguments: seen.search.arguments(&seen.call_with(position)),
            },
        );
        Ok(())
    }
}

impl Verifier<'_, '_> {
    /// Notes the values of `tool` of which no call is allowed.
    pub(super) fn note_wanted(&mut self, tool: Tool<'_>, wanted: Wanted) {
        let policy = self.subject().policy;
        for ((property, role, _), best) in wanted.best {
            if best.is_fine() {
                continue;
            }
            let rule = best.by.name(policy);
            let name = format!("{}.{}", tool.0, tool.1);
            let key = (property.clone(), Level::Failed, rule.clone(), Some(role));
            let finding = self.found.entry(key).or_insert_with(|| Finding {
                property,
                level: Level::Failed,
                problem: best.problem,
                rule,
                sentence: best.by.sentence(policy).map(str::to_owned),
                tools: Vec::new(),
                example: ExampleCall {
                    server: tool.0.clone(),
                    tool: tool.1.clone(),
                    arguments: best.arguments,
                    effect: best.effect,
                },
            });
            if !finding.tools.contains(&name) {
                finding.tools.push(name);
            }
        }
    }
}
