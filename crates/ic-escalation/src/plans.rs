//! Plans: calls that a person approved together, before the agent made them.
//!
//! ```text
//! Escalation ─PlannedCall::of─▶ shown, approved ─Plans::add─▶ open ─▶ Plans::answer: that very call, once
//! ```
//!
//! A planned call covers nothing but itself: server, tool, arguments as they are sent, and all that they were
//! resolved to. Nothing of it is written down, so plans end with the process. Nobody is asked here.

use std::sync::Mutex;
use std::time::Duration;

use ic_policy::{Answer, Escalation, Ticket};
use ic_types::{Digest, Timestamp, locked};

use crate::fixed;

/// How long a call that was approved beforehand may be made.
pub const LIFETIME: Duration = Duration::from_mins(10);
/// The most planned calls of one session that are open at once.
pub const OPEN_MAX: usize = 200;

/// The planned calls of this session that were approved and not made yet.
#[derive(Debug, Default)]
pub struct Plans {
    open: Mutex<Vec<Open>>,
}

/// A call that may stand in a plan, and by what it is known again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PlannedCall {
    likeness: Digest,
}

#[derive(Debug)]
struct Open {
    call: PlannedCall,
    until: Timestamp,
}

/// Why a call is not approved beforehand.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotPlanned {
    /// What asks is no rule of the policy.
    #[error("`{0}` asks about each such call when it is made")]
    Structural(String),
    /// What it sends is not known before it is made.
    #[error("what a push sends is asked about when it is made")]
    Push,
    /// The session has too many already.
    #[error("a session has at most {OPEN_MAX} approved calls that were not made yet")]
    TooMany,
}

impl PlannedCall {
    /// Takes a call that needs approval into a plan.
    pub fn of(
        escalation: &Escalation,
        server_identity: Digest,
        schema_hash: Digest,
    ) -> Result<Self, NotPlanned> {
        if let Some(cause) = escalation.causes().iter().find(|it| it.structural.is_some()) {
            return Err(NotPlanned::Structural(cause.rule.to_string()));
        }
        if fixed::is_push(escalation.call()) {
            return Err(NotPlanned::Push);
        }
        Ok(Self { likeness: escalation.likeness(server_identity, schema_hash) })
    }
}

impl Plans {
    /// Takes in what a person approved at `now`: all of it, or nothing.
    pub fn add(&self, calls: &[PlannedCall], now: Timestamp) -> Result<(), NotPlanned> {
        let mut open = locked(&self.open);
        open.retain(|it| now <= it.until);
        if OPEN_MAX < open.len().saturating_add(calls.len()) {
            return Err(NotPlanned::TooMany);
        }
        let lifetime_ms = u64::try_from(LIFETIME.as_millis()).unwrap_or(u64::MAX);
        let until = Timestamp::from_unix_ms(now.unix_ms().saturating_add(lifetime_ms));
        open.extend(calls.iter().map(|call| Open { call: *call, until }));
        Ok(())
    }

    /// Answers `escalation` if it is about a call that was approved beforehand; that one is spent then, whatever
    /// becomes of it.
    pub fn answer(
        &self,
        escalation: &Escalation,
        ticket: &Ticket,
        now: Timestamp,
    ) -> Option<Answer> {
        let mut open = locked(&self.open);
        if open.is_empty() {
            return None;
        }
        open.retain(|it| now <= it.until);
        let made = PlannedCall::of(escalation, ticket.server_identity, ticket.schema_hash).ok()?;
        let at = open.iter().position(|it| it.call == made)?;
        open.swap_remove(at);
        Some(Answer::by_plan(escalation, ticket))
    }
}
