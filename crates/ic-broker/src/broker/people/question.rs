//! One question to a person: raised, waited for, and recorded with what became of it.
//!
//! Whether it is worth asking is known before, and what its answer means for the call after: both are said
//! in `people.rs`.

use std::sync::Arc;

use ic_audit::{Entry, Kind};
use ic_escalation::{Answered, GrantId, Outcome, Question, Waiting};
use ic_inventory::servers_file::BuiltinServer;
use ic_policy::{Answer, Decision, Effect, Escalation, Ticket};
use tokio::time::{Duration, Instant};

use super::{Patience, event, progress};
use crate::broker::{Broker, Flight, Going, Origin, Reply};
use crate::refusal::Refusal;
use crate::{breaker, chain, locked};
use ic_backend::{Ending, EscalationNews};

/// Nobody wants the answer any more.
enum Gone {
    /// The client took the call back.
    Cancelled,
    /// The client has gone.
    Left,
    /// Whoever could answer has gone.
    Alone,
}

/// How often it is looked whether anybody is still there to answer.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How often in a row nobody was there when a question is given up: whoever comes back at once still finds it.
const ABSENCES_MAX: usize = 12;

/// What a question came to.
enum Came {
    Outcome(Outcome),
    /// It was granted with the answer to another question.
    Granted(Answer, GrantId),
}

impl Broker {
    /// Raises the question, and waits for its answer.
    pub(super) async fn wait(
        &self,
        escalation: &Escalation,
        ticket: &Ticket,
        going: &mut Going,
    ) -> Result<Answered, Reply> {
        let question = Question::of(escalation, ticket, &self.judge.closed(), self.clock.now());
        let (server, cancel) = (&going.found.server, &going.flight.cancel);
        let preview = Arc::clone(server).preview(escalation.call(), cancel).await;
        let question = question.sending(preview);
        let question = match server.builtin() {
            Some(builtin @ BuiltinServer::Filesystem) => question.of_builtin(builtin.as_str()),
            _ => question,
        };
        let question = match (going.origin, &going.flight.ear) {
            (Origin::Server, Some(ear)) => question.for_client(&ear.name()),
            _ => question,
        };
        let mut raised = event("raised", ticket);
        raised.insert("digest", question.digest().to_string());
        raised.insert("expiresAt", ticket.deadline.to_string());
        let asked = Entry { verdict: Some(Effect::Escalate), ..Entry::new(Kind::Escalation) };
        // SECURITY: recorded before anybody can answer it.
        self.record_of(raised, asked, going)?;
        let waiting = self.people.desk.raise(question).map_err(|error| {
            let why = format!("approval could not be requested: {}", chain(&error));
            self.witness.escalation(EscalationNews::Unattended);
            self.not_asked(&Refusal::escalation_denied(escalation.rule(), why), going)
        })?;
        let id = &ticket.escalation;
        let (server, tool) = going.found.names();
        let until = ticket.deadline;
        self.witness.escalation(EscalationNews::Raised { id, server, tool, until });
        // Calls behind it need not wait for a person.
        going.flight.turn = None;
        let since = Instant::now();
        let outcome = {
            let _asks = Asks::begin(&going.flight);
            let outcome = self.outcome(waiting, (escalation, ticket), going);
            progress::reported(outcome, going, ticket).await
        };
        let outcome = match outcome {
            Ok(Came::Outcome(outcome)) => Ok(outcome),
            Ok(Came::Granted(answer, grant)) => {
                self.record_use(&grant, going)?;
                let at = self.clock.now();
                let answered = Answered { answer, at, grant: None, no_grant: None };
                Ok(Outcome::Answered(Box::new(answered)))
            }
            Err(gone) => Err(gone),
        };
        self.witness.escalation(EscalationNews::Ended(id, ending(&outcome)));
        let duration_ms = u64::try_from(since.elapsed().as_millis()).ok();
        let entry = Entry { duration_ms, ..Entry::new(Kind::Escalation) };
        self.answered_with(outcome, escalation, (ticket, entry), going)
    }

    /// Waits for the answer as long as somebody wants it; after that the question is withdrawn.
    ///
    /// A grant that is given meanwhile, with the answer to another question, answers this one too.
    async fn outcome(
        &self,
        waiting: Waiting,
        (escalation, ticket): (&Escalation, &Ticket),
        going: &Going,
    ) -> Result<Came, Gone> {
        let mut given = self.people.grants.given();
        let granted = async {
            loop {
                let now = self.clock.now();
                if let Some((answer, grant)) = self.people.grants.answer(escalation, ticket, now) {
                    return Came::Granted(answer, grant);
                }
                if given.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        tokio::select! {
            // What was taken back is not done, even if the answer is there; what a person answers to the
            // question itself counts before a grant.
            biased;
            () = going.flight.cancel.cancelled() => Err(Gone::Cancelled),
            () = going.flight.left.cancelled() => Err(Gone::Left),
            outcome = waiting.outcome() => Ok(Came::Outcome(outcome)),
            granted = granted => Ok(granted),
            () = self.left_alone() => Err(Gone::Alone),
        }
    }

    /// Waits until nobody has been there to answer for a while; for ever where somebody may come at any time.
    async fn left_alone(&self) {
        let Patience::WhileAttended(attendance) = &self.people.patience else {
            return std::future::pending().await;
        };
        let mut n_absences = 0;
        while n_absences < ABSENCES_MAX {
            tokio::time::sleep(LOOK_EVERY).await;
            // Who cannot be seen is not there.
            n_absences = match attendance.is_anybody_there() {
                Ok(true) => 0,
                Ok(false) | Err(_) => n_absences + 1,
            };
        }
    }

    /// Records what became of a question.
    fn answered_with(
        &self,
        outcome: Result<Outcome, Gone>,
        escalation: &Escalation,
        (ticket, entry): (&Ticket, Entry),
        going: &Going,
    ) -> Result<Answered, Reply> {
        let rule = escalation.rule();
        let (name, why, refusal) = match outcome {
            Ok(Outcome::Answered(answered)) => {
                let (verdict, decision) = match answered.answer.decision() {
                    Decision::Approved => (Effect::Allow, "approved"),
                    Decision::Denied => (Effect::Deny, "denied"),
                };
                let mut event = event("answered", ticket);
                event.insert("decision", decision);
                let decided_by = Some(answered.answer.decided_by());
                let entry = Entry { verdict: Some(verdict), decided_by, ..entry };
                self.record_of(event, entry, going)?;
                return Ok(*answered);
            }
            Ok(Outcome::Malformed(fault)) => {
                let why = format!("the response file is not a valid answer: {}", chain(&fault));
                ("malformed", why.clone(), Some(Refusal::escalation_denied(rule, why)))
            }
            Ok(Outcome::Expired) => {
                let why = format!("no answer within {} s", self.people.timeout.as_secs());
                ("expired", why.clone(), Some(Refusal::escalation_expired(rule, why)))
            }
            Ok(Outcome::Closed) => {
                let why = "the session ended before the request was answered";
                ("withdrawn", why.to_owned(), Some(Refusal::escalation_expired(rule, why)))
            }
            Err(Gone::Cancelled) => {
                let why = match going.origin {
                    Origin::Agent | Origin::Host | Origin::Plan => "cancelled by the client",
                    Origin::Server => "taken back by the server, or its call is over",
                };
                ("withdrawn", why.to_owned(), None)
            }
            Err(Gone::Alone) => {
                let why = "the approver left before the request was answered";
                ("expired", why.to_owned(), Some(Refusal::escalation_expired(rule, why)))
            }
            Err(Gone::Left) => {
                let why = "the client disconnected before the request was answered";
                ("withdrawn", why.to_owned(), Some(Refusal::escalation_expired(rule, why)))
            }
        };
        let (verdict, reason) = (Some(Effect::Deny), Some(Arc::from(why)));
        let entry = Entry { verdict, reason, ..entry };
        let recorded = self.record_of(event(name, ticket), entry, going);
        let Some(refusal) = refusal else {
            // Whoever asks and takes back without end would bury the questions that matter.
            let now = self.clock.now();
            locked(&self.breaker).remember(going.repetition, breaker::Came::Denial, now);
            return Err(Reply::Nothing);
        };
        recorded?;
        Err(self.denied(Ok(0), refusal, going.repetition))
    }
}

/// Reports that a person is being asked, until it is dropped.
struct Asks<'a>(&'a Flight);

impl<'a> Asks<'a> {
    fn begin(flight: &'a Flight) -> Self {
        let asks = Self(flight);
        asks.tell(true);
        asks
    }

    fn tell(&self, is_asked: bool) {
        if let Some(asks) = &self.0.asks {
            asks.send_replace(is_asked);
        }
    }
}

impl Drop for Asks<'_> {
    fn drop(&mut self) {
        self.tell(false);
    }
}

fn ending(outcome: &Result<Outcome, Gone>) -> Ending {
    match outcome {
        Ok(Outcome::Answered(answered)) => match answered.answer.decision() {
            Decision::Approved => Ending::Approved,
            Decision::Denied => Ending::Denied,
        },
        Ok(Outcome::Malformed(_)) => Ending::Denied,
        Ok(Outcome::Expired) | Err(Gone::Alone) => Ending::Expired,
        Ok(Outcome::Closed) | Err(Gone::Cancelled | Gone::Left) => Ending::Withdrawn,
    }
}
