//! What happens while the stages run, for a person who waits and for the record.
//!
//! Keys and other secrets are taken out by whoever keeps the record; where it is kept is not known here.

use std::time::Duration;

use ic_model::{ModelError, Usage};
use ic_types::Object;

use crate::stage::Stage;

/// Hears what happens.
pub trait Journal: std::fmt::Debug + Sync {
    /// Hears an event.
    fn heard(&self, event: &Event<'_>);

    /// Keeps one exchange with a model, whole.
    fn exchanged(&self, exchange: Object);
}

/// Something that happens.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A model is asked, for the first time or again.
    Asking {
        /// The stage.
        stage: Stage,
        /// About which servers.
        unit: &'a str,
        /// How often it was asked before.
        n_before: usize,
    },
    /// A model has counted so much so far.
    Counted(Usage),
    /// A model has answered.
    Answered {
        /// The stage.
        stage: Stage,
        /// About which servers.
        unit: &'a str,
        /// What it took.
        usage: Usage,
    },
    /// An answer was there already.
    Known {
        /// The stage.
        stage: Stage,
        /// About which servers.
        unit: &'a str,
    },
    /// A provider is asked again after a while.
    Waiting(&'a ModelError, Duration),
    /// An answer was paid for and cannot be kept.
    NotKept(&'a str),
    /// No statement has to do with these servers.
    Skipped(&'a str),
    /// So many scenarios failed in this round of repair.
    Failed {
        /// About which servers.
        unit: &'a str,
        /// The round, from 1.
        round: usize,
        /// How many scenarios.
        n_failed: usize,
    },
}

/// Hears nothing and keeps nothing.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

impl Journal for Nobody {
    fn heard(&self, _: &Event<'_>) {}

    fn exchanged(&self, _: Object) {}
}
