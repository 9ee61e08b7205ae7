//! The last look at what an agent may write, kept on disk while it runs.
//!
//! A host that is killed cannot look any more. The guard of the agent's cage outlives it and puts back what was
//! planted; if that was killed too, the next session that is opened does so before anything is served
//! (`planted/last_look.rs`).

use std::path::PathBuf;

use ic_home::FileError;
use ic_judge::Judge;
use ic_types::ServerName;

use crate::agent_cage::AgentCage;
use crate::agent_looks::AgentLooks;
use crate::planted::last_look::{self, Of};
use crate::server::Announced;

/// What is kept on disk for the agent of one session.
#[derive(Debug)]
pub struct AgentWatch {
    announced: Announced,
    quarantine: PathBuf,
    name: ServerName,
}

impl AgentWatch {
    /// Makes the watch of a session; `locks` is the directory of the locks that all sessions have in common.
    pub fn new(name: ServerName, locks: PathBuf, quarantine: PathBuf) -> Self {
        Self { announced: Announced::new(locks), quarantine, name }
    }

    /// Returns what the agent is called.
    pub fn name(&self) -> &ServerName {
        &self.name
    }

    /// Tells other sessions where the agent may write, and keeps what was seen there; returns where that is, for
    /// the guard of the cage.
    pub fn announce(&self, cage: &AgentCage, judge: &Judge) -> Result<Option<PathBuf>, FileError> {
        let Some(kept) = cage.kept() else { return Ok(None) };
        self.announced.tell(kept.ground.roots())?;
        let look = kept.look.get_or_init(|| self.announced.new_look()).clone();
        last_look::keep(kept, &kept.at_start, &self.of(judge))?;
        Ok(Some(look))
    }

    /// Keeps what was seen in a later look.
    pub fn keep(&self, looks: &AgentLooks, judge: &Judge) -> Result<(), FileError> {
        let (Some(kept), Some(survey)) = (looks.cage().kept(), looks.before()) else {
            return Ok(());
        };
        last_look::keep(kept, &survey, &self.of(judge))
    }

    fn of<'a>(&'a self, judge: &'a Judge) -> Of<'a> {
        let (bounds, home) = (&judge.bounds, &judge.home);
        Of { server: &self.name, bounds, home, quarantine: &self.quarantine }
    }

    /// Forgets what was seen, once nothing of the agent is left and all is as it was.
    pub fn forget(cage: &AgentCage) {
        if let Some(kept) = cage.kept() {
            last_look::forget(kept);
        }
    }
}
