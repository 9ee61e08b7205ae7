//! Reads what repositories in and around a workspace name and hold, before a call needs it.
//!
//! In a repository of many commits that takes seconds, and a client that says hello must not wait for them. A call
//! that needs it waits, aside, until it is read; none is judged without it. What is read is kept by `Orders`.

use std::sync::Arc;

use ic_resolve::{Executes, RealDisk};
use ic_types::CanonicalPath;

use crate::judge::Judge;

/// Says that everything is being read, until it is dropped.
#[derive(Debug)]
pub struct Ahead {
    judge: Arc<Judge>,
}

impl Ahead {
    /// From now on, calls are judged beside the thread that serves everybody.
    pub fn begin(judge: &Arc<Judge>) -> Self {
        judge.orders.set_being_read(true);
        Self { judge: Arc::clone(judge) }
    }

    /// Reads; returns the directories in which every change asks, because not everything there can be read.
    pub fn read(self) -> Vec<CanonicalPath> {
        let Judge { home, orders, .. } = &*self.judge;
        let executes = Executes::new(&RealDisk, home, Some(orders), None);
        executes.around();
        executes.unread()
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.judge.orders.set_being_read(false);
    }
}
