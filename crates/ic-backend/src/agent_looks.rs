//! The looks at what an agent may write, while it runs.
//!
//! ```text
//! look ─▶ as it was ─▶ go on
//!   └──▶ not ─▶ stop the cage ─▶ whose is it? ┬─▶ the user's own: it stays ──┐
//!                                             └─▶ the cage's, perhaps: back ─┴─▶ covered again? ─▶ go on
//! ```
//!
//! What is read-only in the cage is replaced only from outside, as an editor does that saves a file, and then the
//! guard covers what is there by then. Until it does the agent could write there. So what was saved is the user's
//! for certain only if nothing in the cage ran meanwhile, or if it holds what it held before.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ic_confine::{Asleep, Renewals};
use ic_judge::Judge;
use ic_resolve::{Disk as _, RealDisk};
use ic_types::CanonicalPath;

use crate::agent_backend::{AgentProcess, AgentSleep, AgentStill};
use crate::agent_cage::AgentCage;
use crate::locked;
use crate::planted::{Kept, PutBack, Rules, Settled, Survey, put_back};

/// How long the guard may take to cover what was replaced.
const COVERED_MAX: Duration = Duration::from_secs(2);
const COVERED_ROUND: Duration = Duration::from_millis(2);

/// Looks after what one agent may write.
#[derive(Debug)]
pub struct AgentLooks {
    cage: Arc<AgentCage>,
    judge: Arc<Judge>,
    quarantine: PathBuf,
    sleep: Option<AgentSleep>,
    renewals: Option<Renewals>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// How it was the last time; none if the agent may not write where the host looks.
    before: Option<Arc<Survey>>,
    /// How the cage slept before that.
    asleep: Option<Asleep>,
}

/// What was put back while an agent ran.
#[derive(Debug)]
pub struct Mended {
    /// What it was.
    pub done: PutBack,
    /// Whether the agent must have made some of it: nobody replaces what is not read-only for it.
    pub is_planted: bool,
    /// What was replaced outside, and may have been written in the cage since.
    pub unsure: Vec<CanonicalPath>,
}

impl AgentLooks {
    /// Begins with what was there when the cage was worked out.
    pub fn new(
        cage: &Arc<AgentCage>,
        (judge, quarantine): (&Arc<Judge>, PathBuf),
        (process, renewals): (&AgentProcess, Option<Renewals>),
    ) -> Self {
        let before = cage.kept().map(|kept| Arc::clone(&kept.at_start));
        let state = Mutex::new(State { before, asleep: None });
        let (cage, judge) = (Arc::clone(cage), Arc::clone(judge));
        Self { cage, judge, quarantine, sleep: process.sleep().ok(), renewals, state }
    }

    /// Waits until the guard has covered something again.
    pub async fn news(&self) {
        match &self.renewals {
            Some(renewals) => renewals.news().await,
            None => std::future::pending().await,
        }
    }

    /// Returns whether something that the host executes is not as it was; what cannot be looked at may not be.
    pub fn differs(&self) -> bool {
        let (Some(kept), Some(before)) = (self.cage.kept(), self.before()) else { return false };
        let asleep = self.asleep();
        let after = Survey::of(&kept.ground, &self.judge, &RealDisk, Some(&before));
        let differs = after.map_or(true, |after| before.differs(&after, &Settled::default()));
        if !differs {
            locked(&self.state).asleep = asleep;
        }
        differs
    }

    /// The same while everything in the cage stands still, so that nothing is made behind the look.
    ///
    /// What does not stand still is looked at all the same.
    pub fn differs_while_still(&self) -> bool {
        let (Some(kept), Some(before)) = (self.cage.kept(), self.before()) else { return false };
        let _still = self.sleep.as_ref().and_then(AgentSleep::hold);
        let after = Survey::of(&kept.ground, &self.judge, &RealDisk, Some(&before));
        after.map_or(true, |after| before.differs(&after, &Settled::default()))
    }

    /// Puts back what the agent may have written, while everything in its cage stands still; none if it does not,
    /// or if something could be written by it from then on. Then the agent has to be ended.
    pub fn mend(&self) -> Option<Mended> {
        let (kept, before) = (Arc::new(self.cage.kept()?.clone()), self.before()?);
        // SECURITY: in this order. What is covered now is not written any more, and what sleeps now has slept
        // until that.
        let covered: Vec<_> = kept.covered().filter(|path| self.is_renewed(path)).collect();
        let has_slept = self.asleep().is_some_and(|now| locked(&self.state).asleep == Some(now));
        let still = self.sleep.as_ref()?.hold()?;
        let users = covered.into_iter().filter(|path| {
            let is_users = has_slept || before.has_same_text(path);
            is_users && self.is_renewed(path) && !is_held(&still, path)
        });
        let mut settled = Settled::of_user(users);
        let how = (Rules::of(&self.judge), self.quarantine.as_path());
        let done = put_back(&kept, &before, how, &mut settled);
        if done.is_whole() {
            let after = Survey::of(&kept.ground, &self.judge, &RealDisk, Some(&before)).ok()?;
            *locked(&self.state) = State { before: Some(Arc::new(after)), asleep: None };
        }
        if !self.becomes_covered(&kept) {
            still.kill();
            return None;
        }
        drop(still);
        let is_planted = done.is_beyond(|path| kept.is_covered(path));
        let unsure = done.away.iter().map(|away| &away.path);
        let unsure = unsure.filter(|path| kept.is_covered(path)).cloned().collect();
        Some(Mended { done, is_planted, unsure })
    }

    /// Puts back what the agent left, now that nothing of it runs; `is_users` says that somebody outside replaced
    /// what is read-only, and that everything slept since.
    pub fn settle(&self, is_users: bool) -> Option<PutBack> {
        let (kept, before) = (Arc::new(self.cage.kept()?.clone()), self.before()?);
        let is_users = |path: &CanonicalPath| is_users || before.has_same_text(path);
        let mut settled = Settled::of_user(kept.covered().filter(is_users));
        let how = (Rules::of(&self.judge), self.quarantine.as_path());
        let done = put_back(&kept, &before, how, &mut settled);
        (!done.is_empty()).then_some(done)
    }

    pub(crate) fn cage(&self) -> &AgentCage {
        &self.cage
    }

    pub(crate) fn before(&self) -> Option<Arc<Survey>> {
        locked(&self.state).before.clone()
    }

    fn asleep(&self) -> Option<Asleep> {
        self.sleep.as_ref().and_then(AgentSleep::look)
    }

    /// Returns whether the guard has covered what is at `path` now.
    fn is_renewed(&self, path: &CanonicalPath) -> bool {
        let renewed = |identity| Some(self.renewals.as_ref()?.has(path.as_path(), identity));
        identity(path).and_then(renewed).unwrap_or(false)
    }

    /// Waits until everything that is to be read-only in the cage is.
    fn becomes_covered(&self, kept: &Kept) -> bool {
        #[expect(clippy::disallowed_methods, reason = "it only measures a wait")]
        let now = Instant::now;
        let until = now() + COVERED_MAX;
        let is_covered =
            |path: CanonicalPath| kept.covers_what_is_at(&path) || self.is_renewed(&path);
        while !kept.covered().all(is_covered) {
            match &self.renewals {
                Some(renewals) if now() < until => renewals.wait(COVERED_ROUND),
                Some(_) | None => return false,
            }
        }
        true
    }
}

/// Returns whether somebody in the cage could write what is at `path`, though it is covered.
fn is_held(still: &AgentStill, path: &CanonicalPath) -> bool {
    identity(path).is_none_or(|identity| still.holds(path.as_path(), identity))
}

fn identity(path: &CanonicalPath) -> Option<(u64, u64)> {
    let entry = RealDisk.look(path.as_path()).ok().flatten()?;
    Some((entry.state.device, entry.state.inode))
}
