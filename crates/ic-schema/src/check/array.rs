//! Arrays: their size, their items, and what they have to contain.
//!
//! No two items are compared with each other: their forms are put into a set.

use std::collections::HashSet;

use ic_types::Json;

use super::{Checker, Stop};
use crate::form;
use crate::rules::{ArrayRules, Contains, View};
use crate::violation::Place;

impl Checker<'_> {
    pub(super) fn array(
        &mut self,
        rules: &ArrayRules,
        items: &[Json],
        place: &Place<'_>,
    ) -> Result<(), Stop> {
        self.span(rules.size, items.len() as u64, |much, limit| match limit {
            1 => format!("{place} has {much} than 1 item"),
            limit => format!("{place} has {much} than {limit} items"),
        })?;
        if !rules.prefix.is_empty() || rules.rest.is_some() {
            let nodes = rules.prefix.iter().copied().map(Some).chain(std::iter::repeat(rules.rest));
            for ((index, item), node) in items.iter().enumerate().zip(nodes) {
                // Behind the prefix, either every item has a node or none has.
                let Some(node) = node else { break };
                self.node(node, View::of(item), &place.item(index))?;
            }
        }
        if rules.is_unique {
            self.unique(items, place)?;
        }
        match &rules.contains {
            Some(contains) => self.contains(contains, items, place),
            None => Ok(()),
        }
    }

    fn unique(&mut self, items: &[Json], place: &Place<'_>) -> Result<(), Stop> {
        let mut seen = HashSet::new();
        for (index, item) in items.iter().enumerate() {
            let is_new = seen.insert(form::of(View::of(item), &mut self.fuel)?);
            self.expect(is_new, || format!("{} repeats an earlier item", place.item(index)))?;
        }
        Ok(())
    }

    fn contains(
        &mut self,
        Contains { node, times }: &Contains,
        items: &[Json],
        place: &Place<'_>,
    ) -> Result<(), Stop> {
        let mut n_fit = 0;
        for (index, item) in items.iter().enumerate() {
            if self.fits(*node, View::of(item), &place.item(index))? {
                n_fit += 1;
            }
        }
        self.span(*times, n_fit, |much, limit| match limit {
            1 => format!("{place} has {much} than 1 item of the kind that it has to contain"),
            limit => {
                format!("{place} has {much} than {limit} items of the kind that it has to contain")
            }
        })
    }
}
