//! An approval does not wait: what was approved is forwarded soon, or not at all.
//!
//! A server that takes calls one by one, and one that has to be started, can keep a call for as long as
//! they like; the person who approved it looked at the world of a while ago. How long a question itself
//! waits is not known here.

use std::time::Duration;

use ic_audit::{Entry, Kind};
use ic_policy::{Effect, Ticket};
use ic_types::Timestamp;

use super::{Broker, Going, Reply, event};
use crate::refusal::Refusal;

/// The rule that is named where an approval has become too old.
const RULE: &str = "stale-approval";

impl Broker {
    /// Returns when it is too late to forward a call that was approved under `ticket`.
    pub(super) fn until(&self, ticket: &Ticket) -> Timestamp {
        let grace_ms = u64::try_from(self.people.grace.as_millis()).unwrap_or(u64::MAX);
        Timestamp::from_unix_ms(ticket.deadline.unix_ms().saturating_add(grace_ms))
    }

    /// Returns whether it is too late; a machine that slept has not counted the time.
    pub(in crate::broker) fn is_over(&self, until: Option<Timestamp>) -> bool {
        until.is_some_and(|until| until < self.clock.now())
    }

    /// Does `work`, unless it takes until it is too late.
    pub(in crate::broker) async fn in_time<T>(
        &self,
        until: Option<Timestamp>,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let Some(until) = until else { return Some(work.await) };
        let left_ms = until.unix_ms().saturating_sub(self.clock.now().unix_ms());
        tokio::time::timeout(Duration::from_millis(left_ms), work).await.ok()
    }

    /// Records and answers a call that was approved, and whose turn did not come in time.
    pub(super) fn too_late(&self, ticket: &Ticket, going: &Going) -> Reply {
        let refusal = stale();
        let (verdict, reason) = (Some(Effect::Deny), Some(refusal.reason().into()));
        let entry = Entry { verdict, reason, ..Entry::new(Kind::Escalation) };
        match self.record_of(event("expired", ticket), entry, going) {
            Ok(()) => self.denied(Ok(0), refusal, going.repetition),
            Err(reply) => reply,
        }
    }
}

/// Says that an approval has become too old.
pub(in crate::broker) fn stale() -> Refusal {
    let why = "it was approved, but the server could not take it before the approval expired";
    Refusal::escalation_expired(RULE, why)
}
