//! Schemas about the same value: all of them, one of them, none of them.
//!
//! Cannot go in a circle: a schema that leads back to itself was refused when it was read.

use super::{Checker, Stop};
use crate::rules::{Condition, Logic, NodeId, View};
use crate::text::Cut;
use crate::violation::Place;

/// Of how many alternatives a sentence says why they do not fit.
const N_EXPLAINED_MAX: usize = 4;

impl Checker<'_> {
    pub(super) fn logic(
        &mut self,
        logic: &Logic,
        value: View<'_>,
        place: &Place<'_>,
    ) -> Result<(), Stop> {
        for id in &logic.all {
            self.node(*id, value, place)?;
        }
        if !logic.any.is_empty() {
            self.any(&logic.any, value, place)?;
        }
        if !logic.one.is_empty() {
            self.one(&logic.one, value, place)?;
        }
        if let Some(id) = logic.not {
            let is_forbidden = self.fits(id, value, place)?;
            self.expect(!is_forbidden, || format!("{place} has a form that is not allowed"))?;
        }
        match &logic.condition {
            Some(condition) => self.condition(condition, value, place),
            None => Ok(()),
        }
    }

    fn any(&mut self, ids: &[NodeId], value: View<'_>, place: &Place<'_>) -> Result<(), Stop> {
        for id in ids {
            if self.fits(*id, value, place)? {
                return Ok(());
            }
        }
        self.none_fits(ids, value, place)
    }

    fn one(&mut self, ids: &[NodeId], value: View<'_>, place: &Place<'_>) -> Result<(), Stop> {
        let mut n_fit = 0;
        for id in ids {
            n_fit += u32::from(self.fits(*id, value, place)?);
            if n_fit == 2 {
                return self.unfit(|| {
                    format!("{place} fits several of the forms of which it has to fit exactly one")
                });
            }
        }
        if n_fit == 1 { Ok(()) } else { self.none_fits(ids, value, place) }
    }

    /// Says why none of the alternatives fits, by asking the first ones again.
    fn none_fits(
        &mut self,
        ids: &[NodeId],
        value: View<'_>,
        place: &Place<'_>,
    ) -> Result<(), Stop> {
        if self.n_quiet != 0 {
            return Err(Stop::Unfit(None));
        }
        let mut reasons: Vec<String> = Vec::new();
        for id in ids.iter().take(N_EXPLAINED_MAX) {
            match self.node(*id, value, place) {
                Err(Stop::Unfit(Some(reason))) if !reasons.contains(&reason) => {
                    reasons.push(reason);
                }
                Ok(()) | Err(Stop::Unfit(_)) => {}
                Err(Stop::Exhausted) => return Err(Stop::Exhausted),
            }
        }
        let mut sentence = format!("{place} fits none of its forms: {}", reasons.join("; "));
        if N_EXPLAINED_MAX < ids.len() {
            sentence.push_str("; and so on");
        }
        Err(Stop::Unfit(Some(Cut::SENTENCE.ours(sentence))))
    }

    fn condition(
        &mut self,
        Condition { test, then, otherwise }: &Condition,
        value: View<'_>,
        place: &Place<'_>,
    ) -> Result<(), Stop> {
        let consequence = if self.fits(*test, value, place)? { then } else { otherwise };
        match consequence {
            Some(id) => self.node(*id, value, place),
            None => Ok(()),
        }
    }
}
