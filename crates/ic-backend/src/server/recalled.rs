//! The tools of a server that does not run: as it listed them last, or as they were recorded when it was
//! trusted.
//!
//! Recorded is what a semi-trusted server once said, so it is read within the limits of a live list. Nothing
//! is started here; what the server says once it runs counts before all of this.

use std::sync::{Arc, Mutex};

use ic_inventory::pins::{Pin, Pins};
use ic_types::{Json, Object};

use super::handshake::Listing;
use super::table::ToolTable;
use super::{Server, Unavailable};
use crate::locked;

/// What is known of the tools of a server without asking it.
#[derive(Debug, Default)]
pub(super) struct Recalled(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// What was trusted when the tools were compared with it last.
    pins: Option<Arc<Pins>>,
    /// The tools, if they are known.
    table: Option<Arc<ToolTable>>,
    /// Whether the server itself listed them in this session.
    is_of_session: bool,
}

impl Recalled {
    pub(super) fn table(&self) -> Option<Arc<ToolTable>> {
        locked(&self.0).table.clone()
    }

    /// Keeps what a server listed that does not run any more.
    pub(super) fn keep(&self, table: Arc<ToolTable>) {
        *locked(&self.0) = State { pins: None, table: Some(table), is_of_session: true };
    }
}

impl Server {
    /// Returns what is trusted by now; nothing if that cannot be known.
    pub(crate) fn trusted(&self) -> Option<Arc<Pins>> {
        self.yard.pins.read().ok()
    }

    /// Looks again at what is [trusted](Self::trusted), and at the tools that follow from it.
    ///
    /// A server that would not be started has none, and neither has one of which nothing is recorded: only
    /// starting it says more.
    pub(crate) fn recall(&self, trusted: Option<Arc<Pins>>) {
        if self.known.is_some() {
            return;
        }
        let mut state = locked(&self.recalled.0);
        let Some(pins) = trusted else {
            // SECURITY: nothing vouches for the tools any more.
            *state = State::default();
            return;
        };
        if state.pins.as_ref().is_some_and(|known| Arc::ptr_eq(known, &pins)) {
            return;
        }
        let pin = match self.why_withheld(&pins) {
            Some(_) => None,
            None => pins.get(&self.name),
        };
        let table = match (pin, state.table.take()) {
            (Some(_), Some(table)) if state.is_of_session => {
                Some(table.compared(&self.name, &pins, false))
            }
            (Some(pin), _) => {
                state.is_of_session = false;
                recorded(pin)
            }
            (None, _) => None,
        };
        state.table = table.map(Arc::new);
        state.pins = Some(pins);
    }

    /// Returns whether only the server itself can say what it offers.
    pub(crate) fn has_to_be_asked(&self) -> bool {
        self.tools().is_none()
    }

    /// Returns why the server cannot be started now, if it died a moment ago.
    pub(super) fn resting(&self) -> Option<Unavailable> {
        match &*locked(&self.phase) {
            super::Phase::Down(down) => down.rests().map(|why| self.unavailable(&why)),
            super::Phase::Idle | super::Phase::Starting(_) | super::Phase::Up(_) => None,
        }
    }
}

/// Reads the tools that were recorded; nothing if they go beyond what a server may list.
fn recorded(pin: &Pin) -> Option<ToolTable> {
    // They need not be compared with the record that they are read from, if each has its own name there.
    let is_itself = |(name, listed): &(&String, &Object)| {
        listed.get("name").and_then(Json::as_str) == Some(name.as_str())
    };
    let tools = pin.tools.iter().filter(is_itself).map(|(_, listed)| Json::Object(listed.clone()));
    let mut listing = Listing::default();
    listing.take(tools.collect()).ok()?;
    let (tools, unusable) = listing.into_parts();
    Some(ToolTable::new(tools, unusable))
}
