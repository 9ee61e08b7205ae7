//! Objects: their entries in the order of the call, and then what is missing.
//!
//! Does not know whether a root is closed; that was decided when the schema was read.

use std::collections::HashSet;

use ic_types::{Json, Object};

use super::{Checker, Stop};
use crate::rules::{Additional, Dependency, NodeId, ObjectRules, View};
use crate::text::{Cut, list};
use crate::violation::Place;

/// How many keys of an object are looked at in one step.
const STEP_KEYS: usize = 16;
/// How much of each key is looked at in that.
const STEP_BYTES: usize = 64;

impl Checker<'_> {
    pub(super) fn object(
        &mut self,
        rules: &ObjectRules,
        object: &Object,
        place: &Place<'_>,
    ) -> Result<(), Stop> {
        let mut n_required = 0;
        for (key, value) in object.iter() {
            self.fuel.spend(1)?;
            self.fuel.spend_on(key)?;
            let known = rules.keys.get(key);
            n_required += usize::from(known.is_some_and(|key| key.is_required));
            self.entry(rules, known.and_then(|key| key.node), (key, value), place)?;
        }
        self.span(rules.size, object.len() as u64, |much, limit| match limit {
            1 => format!("{place} has {much} than 1 key"),
            limit => format!("{place} has {much} than {limit} keys"),
        })?;
        if n_required < rules.required.len() {
            return self.unfit(|| missing(rules, object, place));
        }
        for dependency in &rules.dependencies {
            self.dependency(dependency, object, place)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        rules: &ObjectRules,
        node: Option<NodeId>,
        (key, value): (&str, &Json),
        object: &Place<'_>,
    ) -> Result<(), Stop> {
        let place = object.key(key);
        let value = View::of(value);
        if let Some(names) = rules.names {
            let is_allowed = self.fits(names, View::Text(key), &place)?;
            self.expect(is_allowed, || format!("{place} has a name that is not allowed"))?;
        }
        let mut is_known = false;
        if let Some(node) = node {
            is_known = true;
            self.node(node, value, &place)?;
        }
        for rule in &rules.patterns {
            self.fuel.spend(1)?;
            match &rule.pattern {
                Some(pattern) if pattern.is_in(key, &mut self.fuel)? => {
                    is_known = true;
                    self.node(rule.node, value, &place)?;
                }
                Some(_) => {}
                // Whether the key is meant is not known, so it cannot be said to be unknown.
                None => is_known = true,
            }
        }
        match rules.additional {
            Additional::Free => Ok(()),
            Additional::Refused => self.expect(is_known, || unknown(rules, object, &place)),
            Additional::Held(_) if is_known => Ok(()),
            Additional::Held(node) => self.node(node, value, &place),
        }
    }

    fn dependency(
        &mut self,
        Dependency { key, required, node }: &Dependency,
        object: &Object,
        place: &Place<'_>,
    ) -> Result<(), Stop> {
        if !self.has(object, key)? {
            return Ok(());
        }
        for name in required {
            let is_there = self.has(object, name)?;
            self.expect(is_there, || {
                format!("{} is missing, and goes with {}", place.key(name), place.key(key))
            })?;
        }
        match node {
            Some(node) => self.node(*node, View::Object(object), place),
            None => Ok(()),
        }
    }

    /// Looks for a key, which takes the longer the more keys there are and the longer they are.
    fn has(&mut self, object: &Object, key: &str) -> Result<bool, Stop> {
        let n_looks = object.len().saturating_mul(1 + key.len() / STEP_BYTES);
        self.fuel.spend(1 + (n_looks / STEP_KEYS) as u64)?;
        Ok(object.get(key).is_some())
    }
}

fn missing(rules: &ObjectRules, object: &Object, place: &Place<'_>) -> String {
    let keys: HashSet<&str> = object.keys().collect();
    match rules.required.iter().find(|name| !keys.contains(name.as_ref())) {
        Some(name) => format!("{} is missing", place.key(name)),
        None => format!("something is missing in {place}"),
    }
}

fn unknown(rules: &ObjectRules, object: &Place<'_>, key: &Place<'_>) -> String {
    let known = list(rules.known.iter().map(|name| Cut::KEY.of(name)));
    match (object.is_root(), known.is_empty()) {
        (true, true) => format!("{key} is not an argument of this tool, which has none"),
        (true, false) => format!("{key} is not an argument of this tool; known: {known}"),
        (false, true) => format!("{key} is not a known key"),
        (false, false) => format!("{key} is not a known key; known: {known}"),
    }
}
