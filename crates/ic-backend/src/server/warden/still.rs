//! Nobody but us writes while git takes files into its index: servers that could are stopped, and what they
//! may write is as it was.
//!
//! SECURITY: a file that stands there for a moment only would otherwise be in a commit for good, and the
//! user's own git would bring it back.
//!
//! Locks are taken in this order: `looking` of each server, `starts`, `quiet`. A start of a server takes
//! `starts` before `quiet`, and putting something back takes `quiet` last.

use std::sync::{Arc, Weak};
use std::time::Duration;

use ic_confine::StandingStill;
use ic_resolve::RealDisk;
use ic_types::{CanonicalPath, ServerName};
use tokio::sync::{OwnedMutexGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard};

use super::{Live, Looked, Moment, Warden};
use crate::locked;
use crate::planted::{PutBack, Settled, Survey};

/// How often servers are tried to be found as they were, and how long it is waited in between.
const TRIES_MAX: usize = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// While this is held, no server that may write at certain places runs or is started.
#[must_use = "servers go on when this is dropped"]
pub(crate) struct Stillness {
    // In this order: a server goes on before somebody looks after it again.
    _still: Vec<StandingStill>,
    _looking: Vec<OwnedMutexGuard<()>>,
    _starts: OwnedRwLockWriteGuard<()>,
    _quiet: OwnedRwLockReadGuard<()>,
}

impl Warden {
    /// Stops every server that may write at `paths`, once all is as it was; nothing if it does not stay so.
    ///
    /// What had to be put back is told at once, with whose it was.
    pub(crate) async fn still(
        &self,
        paths: &[CanonicalPath],
        tell: impl Fn(ServerName, PutBack),
    ) -> Option<Stillness> {
        for _ in 0..TRIES_MAX {
            match self.try_still(paths).await {
                Ok(stillness) => return Some(stillness),
                Err(None) => {}
                Err(Some(changed)) => {
                    if let Looked::PutBack(done) = self.look(&changed, Moment::Aside).await {
                        tell(changed.connection.server().clone(), done);
                    }
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
        None
    }

    /// Returns the server whose place is not as it was, if there is one.
    async fn try_still(&self, paths: &[CanonicalPath]) -> Result<Stillness, Option<Arc<Live>>> {
        let lives = self.writing_at(paths);
        let mut looking = Vec::new();
        for guarded in lives.iter().filter_map(|live| live.guarded.as_ref()) {
            looking.push(Arc::clone(&guarded.looking).lock_owned().await);
        }
        let starts = Arc::clone(&self.starts).write_owned().await;
        let quiet = Arc::clone(&self.quiet).read_owned().await;
        let is_known = |live: &Arc<Live>| lives.iter().any(|it| Arc::ptr_eq(it, live));
        if !self.writing_at(paths).iter().all(is_known) {
            return Err(None);
        }
        let mut still = Vec::new();
        for live in lives {
            still.extend(self.stop_as_it_was(&live).await.map_err(|()| Some(live))?);
        }
        Ok(Stillness { _still: still, _looking: looking, _starts: starts, _quiet: quiet })
    }

    /// Stops a server; fails unless all that it may write is as it was.
    async fn stop_as_it_was(&self, live: &Arc<Live>) -> Result<Option<StandingStill>, ()> {
        let Some(guarded) = &live.guarded else { return Ok(None) };
        let (before, is_settled) = {
            let state = locked(&guarded.state);
            (Arc::clone(&state.survey), state.is_settled)
        };
        if is_settled {
            return Ok(None);
        }
        let (judge, kept) = (Arc::clone(&self.judge), Arc::clone(&guarded.kept));
        let (sleep, stopped) = (guarded.sleep.clone(), guarded.stopped.clone());
        let stopping = tokio::task::spawn_blocking(move || {
            let still = sleep.and_then(|sleep| sleep.hold());
            if still.is_none() && !stopped.is_cancelled() {
                return Err(());
            }
            let after = Survey::of(&kept.ground, &judge, &RealDisk, Some(&before));
            match after.is_ok_and(|after| !before.differs(&after, &Settled::default())) {
                true => Ok(still),
                false => Err(()),
            }
        });
        stopping.await.unwrap_or(Err(()))
    }

    fn writing_at(&self, paths: &[CanonicalPath]) -> Vec<Arc<Live>> {
        let is_near = |live: &Arc<Live>| {
            live.guarded.as_ref().is_some_and(|it| it.kept.ground.is_near(paths))
        };
        locked(&self.running).iter().filter_map(Weak::upgrade).filter(is_near).collect()
    }
}
