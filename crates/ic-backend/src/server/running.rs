//! What there is of a server while it is talked to: a process of ours, or a session on another machine.

use std::sync::Arc;

use ic_confine::{Confinement, Sleep};

use super::process::{self, Ending};
use super::remote::Remote;

/// A server that can be ended.
#[derive(Debug)]
pub(crate) enum Running {
    /// It runs here.
    Process(Box<process::Running>),
    /// It runs elsewhere.
    Remote(Arc<Remote>),
}

impl Running {
    /// Returns what keeps it from doing harm here; nothing of ours holds what runs elsewhere.
    pub(crate) fn confinement(&self) -> Confinement {
        match self {
            Self::Process(running) => running.confinement(),
            Self::Remote(_) => Confinement::None,
        }
    }

    /// Returns a look at whether anything of it runs; of what runs elsewhere nobody knows.
    pub(crate) fn sleep(&self) -> Option<Sleep> {
        match self {
            Self::Process(running) => running.sleep(),
            Self::Remote(_) => None,
        }
    }

    /// Ends it and returns how it ended.
    pub(crate) async fn stop(self) -> Ending {
        match self {
            Self::Process(running) => running.stop().await,
            Self::Remote(remote) => {
                remote.stop().await;
                Ending::default()
            }
        }
    }
}
