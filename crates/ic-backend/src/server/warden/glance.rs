//! One look at what a server may write, while it sleeps or stands still.
//!
//! What comes of it is decided elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ic_confine::{Asleep, Sleep, StandingStill};
use ic_judge::Judge;
use ic_resolve::RealDisk;

use super::Moment;
use crate::planted::{Kept, Survey, SurveyFault};

/// How often, and how long, a server that has just answered may take to fall asleep.
const DOZE_MAX: usize = 3;
const DOZE: Duration = Duration::from_millis(1);
/// How many looks come without warning once a server woke up during one.
const UNANNOUNCED: usize = 5;

/// Somebody who looks.
pub(super) struct Glance {
    pub(super) judge: Arc<Judge>,
    pub(super) kept: Arc<Kept>,
    pub(super) sleep: Option<Sleep>,
    /// How many looks have to come without warning.
    pub(super) n_unannounced: Arc<AtomicUsize>,
    /// How it was the last time, and how the server slept before that.
    pub(super) before: Arc<Survey>,
    pub(super) slept: Option<Asleep>,
}

/// What was seen.
pub(super) struct Glanced {
    /// How the server slept before, if it did and was not stopped.
    pub(super) asleep: Option<Asleep>,
    pub(super) survey: Result<Survey, SurveyFault>,
    /// How it slept afterwards.
    pub(super) after: Option<Asleep>,
    /// It stands still until this is dropped.
    pub(super) still: Option<StandingStill>,
}

impl Glance {
    /// Looks; `None` if there is nothing to look for, because the server slept since the last time.
    pub(super) fn look(&self, moment: Moment) -> Option<Glanced> {
        let is_unannounced = self
            .n_unannounced
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| n.checked_sub(1))
            .is_ok();
        let asleep = self.asleep().filter(|_| !is_unannounced);
        if moment == Moment::Meanwhile && asleep.is_some() && asleep == self.slept {
            return None;
        }
        let seen = asleep.is_some().then(|| self.survey());
        let after = self.asleep();
        let (survey, after, still) = match (seen, &self.sleep) {
            (Some(seen), _) if asleep == after => (seen, after, None),
            // SECURITY: what runs meanwhile can see us look, and move something from where we have not been
            // to where we have, or hide it while we look: so the next times it is stopped before it can
            // see anything.
            (seen, Some(sleep)) => {
                if seen.is_some() {
                    self.n_unannounced.store(UNANNOUNCED, Ordering::Release);
                }
                let still = sleep.hold();
                let survey = match still {
                    Some(_) => self.survey(),
                    None => Err(SurveyFault::Restless),
                };
                // How it sleeps now says nothing about how it did while it was not stopped yet.
                (survey, None, still)
            }
            (_, None) => (self.survey(), None, None),
        };
        Some(Glanced { asleep, survey, after, still })
    }

    /// Gives a server that has just answered a moment to fall asleep.
    pub(super) async fn doze(&self) {
        for _ in 0..DOZE_MAX {
            let Some(sleep) = self.sleep.clone() else { return };
            let asleep = tokio::task::spawn_blocking(move || sleep.look()).await;
            if matches!(asleep, Ok(Some(_))) {
                return;
            }
            tokio::time::sleep(DOZE).await;
        }
    }

    fn asleep(&self) -> Option<Asleep> {
        self.sleep.as_ref().and_then(Sleep::look)
    }

    fn survey(&self) -> Result<Survey, SurveyFault> {
        Survey::of(&self.kept.ground, &self.judge, &RealDisk, Some(&self.before))
    }
}
