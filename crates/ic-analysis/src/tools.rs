//! All tools that policies annotate, and all their calls.

use std::collections::BTreeSet;

use ic_policy::{Containment, Effect, Standing};
use ic_types::{ServerName, ToolName};

use crate::TooComplex;
use crate::model;
use crate::rows::{Shared, ToolRows};
use crate::search::{Hit, Search};
use crate::side::Side;
use crate::space::{Asked, Space, Subject};

/// `N` policies that are looked through together.
#[derive(Debug)]
pub(crate) struct Policies<'a, const N: usize> {
    pub(crate) space: Space<'a>,
    pub(crate) sides: [Side<'a>; N],
    shared: [Shared; N],
}

/// Returns the tools of which a policy denies every call.
pub fn unusable(subject: Subject<'_>) -> Result<Vec<(ServerName, ToolName)>, TooComplex> {
    let policies = Policies::new([subject], &Asked::default());
    let mut found = Vec::new();
    for tool in policies.tools() {
        let mut is_usable = false;
        policies.search(tool, &mut |_, hit| {
            is_usable |= hit.effects != [Effect::Deny];
            Ok(())
        })?;
        if !is_usable {
            found.push((tool.0.clone(), tool.1.clone()));
        }
    }
    Ok(found)
}

/// A tool that is looked at.
pub(crate) type Tool<'t> = (&'t ServerName, &'t ToolName);

impl<'a, const N: usize> Policies<'a, N> {
    pub(crate) fn new(subjects: [Subject<'a>; N], asked: &Asked) -> Self {
        Self {
            space: Space::new(&subjects, asked),
            sides: subjects.map(Side::new),
            shared: std::array::from_fn(|_| Shared::default()),
        }
    }

    /// Returns every tool that one of the policies annotates, sorted.
    pub(crate) fn tools(&self) -> Vec<Tool<'a>> {
        let all = self.sides.iter().flat_map(|it| it.policy().annotations());
        let mut tools: Vec<Tool<'a>> = all.map(|(server, tool, _)| (server, tool)).collect();
        tools.sort_unstable();
        tools.dedup();
        tools
    }

    /// Returns the rules that had a say in any call that was looked at.
    pub(crate) fn heard(&self, side: usize) -> BTreeSet<usize> {
        self.shared.get(side).map(|it| it.heard.borrow().clone()).unwrap_or_default()
    }

    /// Returns the tables of a tool.
    pub(crate) fn rows<'s>(&'s self, tool: Tool<'_>) -> [ToolRows<'s, 'a>; N]
    where
        'a: 's,
    {
        std::array::from_fn(|at| {
            #[expect(clippy::indexing_slicing, reason = "both arrays have N entries")]
            let (side, shared) = (&self.sides[at], &self.shared[at]);
            ToolRows::new(side, &self.space, tool, shared)
        })
    }

    /// Tells `hear` of every way in which calls of `tool` can come out.
    pub(crate) fn search(
        &self,
        tool: Tool<'_>,
        hear: &mut dyn FnMut(&Search<'_, 'a, N>, &Hit<'_, N>) -> Result<(), TooComplex>,
    ) -> Result<(), TooComplex> {
        let rows = self.rows(tool);
        let annotations: Vec<_> =
            self.sides.iter().map(|it| it.policy().annotation(tool.0, tool.1)).collect();
        let standings: [Standing; N] = rows.each_ref().map(|it| it.side().standing(tool));
        let is_introspection = rows.each_ref().map(|it| {
            it.side().subject.bounds.containment(tool.0) == Containment::ContainedFilesystem
        });
        let variants = model::variants(&annotations).map_err(|it| it.of(tool.0, tool.1))?;
        for variant in &variants {
            let search =
                Search::new(rows.each_ref(), standings, variant, &self.space, is_introspection);
            let mut failed = Ok(());
            search.run(&self.space, &mut |hit| {
                if failed.is_ok() {
                    failed = hear(&search, hit);
                }
            })?;
            failed?;
        }
        Ok(())
    }
}
