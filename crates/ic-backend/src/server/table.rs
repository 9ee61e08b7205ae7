//! The tools of one server, and which of them are withheld because nobody trusts them as they are.
//!
//! Says nothing about what the policy thinks of a tool.

use std::collections::BTreeMap;
use std::sync::Arc;

use ic_inventory::pins::Pins;
use ic_inventory::tool::{Tool, UnusableTool};
use ic_types::{ServerName, ToolName};

/// The tools that a server lists.
#[derive(Clone, Debug)]
pub struct ToolTable {
    offers: BTreeMap<ToolName, Offer>,
    /// What cannot be used of what it listed.
    pub unusable: Vec<UnusableTool>,
}

/// A tool, and whether it can be used.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The tool.
    pub tool: Arc<Tool>,
    /// Why the tool is withheld, if it is.
    pub withheld: Option<String>,
}

impl ToolTable {
    pub(crate) fn new(tools: Vec<Tool>, unusable: Vec<UnusableTool>) -> Self {
        let offers = tools.into_iter().map(|tool| {
            let offer = Offer { tool: Arc::new(tool), withheld: None };
            (offer.tool.name.clone(), offer)
        });
        Self { offers: offers.collect(), unusable }
    }

    /// Returns the tools compared with what is trusted.
    pub(crate) fn compared(&self, server: &ServerName, pins: &Pins, is_ours: bool) -> Self {
        let mut compared = self.clone();
        for offer in compared.offers.values_mut() {
            // Ours come with this program, and change with it.
            offer.withheld = match is_ours {
                true => None,
                false => pins.why_withheld(server, &offer.tool),
            };
        }
        compared
    }

    /// Returns one tool.
    pub fn get(&self, tool: &ToolName) -> Option<&Offer> {
        self.offers.get(tool)
    }

    /// Returns whether any tool is trusted as it is.
    pub fn has_trusted(&self) -> bool {
        self.iter().any(|offer| offer.withheld.is_none())
    }

    /// Returns all tools, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Offer> {
        self.offers.values()
    }
}
