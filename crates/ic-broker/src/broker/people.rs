//! A call that needs a person: typed or granted by one before, or asked about, or refused because
//! nobody is there.
//!
//! ```text
//! Escalation ─typed? granted?─▶ denied lately? nobody there? ─▶ Desk::raise ─▶ waits ─▶ approved
//!   ▲   └──────────────────────▶ Permit ◀── settle ◀── found and judged again ◀─────┘
//!   └────────────── it is not what was asked about any more ───┘
//! ```
//!
//! Nothing is decided here: the policy asks, a person answers, and settling the one with the other
//! makes the permit. A call that waits holds up no other: to a server that takes calls one by one it
//! gives its place back, and takes the next one once it was approved.

mod deadline;
mod granting;
mod intent;
mod progress;
mod question;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ic_audit::{Entry, Kind};
use ic_escalation::{Answered, Approver, Desk, Grants, new_escalation_id};
use ic_home::FileError;
use ic_policy::{
    Answer, Decision, Effect, Escalation, Permit, RefusalCause, Settled, Ticket, Verdict,
};
use ic_types::{Json, Object, Role, SessionId, Timestamp, ToolCall};
use tokio::time::Instant;

use super::{Asked, Broker, Going, Origin, Reply};
use crate::questions::{self, NotAsked, RAISED_MAX};
use crate::refusal::Refusal;
use crate::{chain, locked};
use ic_backend::EscalationNews;

pub(super) use deadline::stale;

/// How often a person is asked about one call, because what it is about changed meanwhile.
const QUESTIONS_MAX: usize = 3;
/// How long after the end of its time an approval that came in time may still forward its call.
pub const FORWARD_GRACE: Duration = Duration::from_secs(10);

/// How people are asked.
#[derive(Debug)]
pub struct People {
    /// The session that asks.
    pub session: SessionId,
    /// Where questions are put.
    pub desk: Arc<dyn Desk>,
    /// What was granted in this session.
    pub grants: Grants,
    /// What compares calls with the person's own last message, if that is switched on.
    pub approver: Option<Approver>,
    /// When a question is worth asking.
    pub patience: Patience,
    /// How long a question waits for its answer.
    pub timeout: Duration,
    /// How long after that an approval may still forward its call; [`FORWARD_GRACE`] outside of tests.
    pub grace: Duration,
}

/// When a question is worth asking.
#[derive(Debug)]
pub enum Patience {
    /// While somebody is there.
    WhileAttended(Arc<dyn Attendance>),
    /// Always: somebody may come.
    ForAnybody,
}

/// Knows whether somebody is there to answer.
pub trait Attendance: fmt::Debug + Send + Sync {
    /// Returns whether anybody is there.
    fn is_anybody_there(&self) -> Result<bool, FileError>;
}

/// What came of asking once; a call that is not to be forwarded has its reply instead.
enum Came {
    Permit(Permit),
    AskAgain(Escalation),
}

impl Broker {
    /// Serves a call that needs a person.
    pub(super) async fn escalated(&self, escalation: Escalation, mut going: Going) -> Reply {
        match self.approved(escalation, &mut going).await {
            Ok(permit) => self.forward(permit, going).await,
            Err(reply) => reply,
        }
    }

    /// Asks until a person has approved what the call is about now; otherwise there is a reply.
    pub(super) async fn approved(
        &self,
        mut escalation: Escalation,
        going: &mut Going,
    ) -> Result<Permit, Reply> {
        for _ in 0..QUESTIONS_MAX {
            // Nobody waits for a person but this call; it is judged again when the answer comes.
            going.flight.changing = None;
            match self.ask(escalation, going).await? {
                Came::Permit(permit) => return Ok(permit),
                Came::AskAgain(changed) => escalation = changed,
            }
        }
        let why = "the target of the call kept changing while approval was requested";
        Err(self.not_asked(&Refusal::escalation_denied(escalation.rule(), why), going))
    }

    /// Asks once.
    async fn ask(&self, escalation: Escalation, going: &mut Going) -> Result<Came, Reply> {
        let (log, id) = (Arc::clone(&self.log), going.request_id.clone());
        let recorded = self.aside.run(going.weight, move || {
            let recorded = log.record_escalation(&escalation, &id);
            (recorded, escalation)
        });
        let (recorded, escalation) = recorded.await;
        recorded.map_err(|error| self.unrecorded(&error))?;
        let now = self.clock.now();
        let ticket = self.ticket(&escalation, going, now)?;
        tracing::info!(escalation = %ticket.escalation, rule = escalation.rule(), "asking");
        going.until = Some(self.until(&ticket));
        if going.flight.typed.take() == Some(going.repetition) {
            let answer = self.typed(&escalation, &ticket, going)?;
            return self.settle(escalation, (&ticket, &answer, now), going);
        }
        if let Some((answer, grant)) = self.people.grants.answer(&escalation, &ticket, now) {
            self.record_use(&grant, going)?;
            return self.settle(escalation, (&ticket, &answer, now), going);
        }
        if let Some(answer) = self.planned(&escalation, &ticket, going)? {
            return self.settle(escalation, (&ticket, &answer, now), going);
        }
        self.refuse_to_repeat(&escalation, going)?;
        let answered = if let Some(answered) = self.by_message(&escalation, &ticket, going).await? {
            answered
        } else {
            self.refuse_to_ask(&escalation, going)?;
            self.wait(&escalation, &ticket, going).await?
        };
        let Answered { answer, at, grant, no_grant } = answered;
        if answer.decision() == Decision::Denied {
            // A no is a no, whatever the call has become.
            return self.settle(escalation, (&ticket, &answer, at), going);
        }
        // SECURITY: the world may have changed while the call waited, so what is settled is what
        // it is about now; an approval of something else is none.
        match self.judge_again(&escalation, &ticket, going).await? {
            // What has changed leaves nothing to ask.
            Verdict::Allow(permit) => {
                going.until = None;
                Ok(Came::Permit(permit))
            }
            Verdict::Deny(denial) => Err(self.deny(denial, going.tag()).await),
            Verdict::Escalate(now_asked) => {
                let ticket = Ticket {
                    server_identity: going.found.server.identity(),
                    schema_hash: going.found.offer.tool.hash(),
                    ..ticket
                };
                let came = self.settle(now_asked, (&ticket, &answer, at), going)?;
                match &came {
                    Came::Permit(_) => self.put_in_force(grant, no_grant.as_ref(), going)?,
                    Came::AskAgain(_) => {
                        let entry = Entry::new(Kind::Escalation);
                        self.record_of(event("changed", &ticket), entry, going)?;
                    }
                }
                Ok(came)
            }
        }
    }

    /// Answers for the person who typed the call, and records it.
    fn typed(
        &self,
        escalation: &Escalation,
        ticket: &Ticket,
        going: &Going,
    ) -> Result<Answer, Reply> {
        let answer = Answer::dangerously_typed(escalation, ticket);
        let mut answered = event("answered", ticket);
        answered.insert("decision", "approved");
        let (verdict, by) = (Some(Effect::Allow), Some(answer.decided_by()));
        let entry = Entry { verdict, decided_by: by, ..Entry::new(Kind::Escalation) };
        self.record_of(answered, entry, going)?;
        Ok(answer)
    }

    /// Settles an escalation with its answer.
    fn settle(
        &self,
        escalation: Escalation,
        (ticket, answer, at): (&Ticket, &Answer, Timestamp),
        going: &Going,
    ) -> Result<Came, Reply> {
        let (rule, reason) = (escalation.rule().to_owned(), escalation.reason().to_owned());
        let subject = questions::subject(escalation.call());
        match escalation.settle(ticket, answer, at) {
            Settled::Permit(permit) => Ok(Came::Permit(permit)),
            Settled::AskAgain(escalation) => Ok(Came::AskAgain(escalation)),
            Settled::Refused(refused) => {
                match refused.cause() {
                    RefusalCause::Denied(_) => {
                        locked(&self.questions).remember_no(subject, Instant::now());
                    }
                    RefusalCause::Expired => {}
                }
                let refusal = Refusal::settled(&rule, &reason, refused.cause());
                // What the person said is recorded already.
                Err(self.denied(Ok(0), refusal, going.repetition))
            }
        }
    }

    fn ticket(
        &self,
        escalation: &Escalation,
        going: &Going,
        now: Timestamp,
    ) -> Result<Ticket, Reply> {
        let id = new_escalation_id().map_err(|error| {
            let why = format!("approval cannot be requested: {error}");
            self.not_asked(&Refusal::escalation_denied(escalation.rule(), why), going)
        })?;
        let timeout_ms = u64::try_from(self.people.timeout.as_millis()).unwrap_or(u64::MAX);
        Ok(Ticket {
            session: self.people.session.clone(),
            escalation: id,
            server_identity: going.found.server.identity(),
            schema_hash: going.found.offer.tool.hash(),
            deadline: Timestamp::from_unix_ms(now.unix_ms().saturating_add(timeout_ms)),
        })
    }

    /// Refuses a call that was made, or denied, too often of late.
    fn refuse_to_repeat(&self, escalation: &Escalation, going: &Going) -> Result<(), Reply> {
        let rule = escalation.rule();
        if locked(&self.breaker).refuses(&going.repetition, self.clock.now()).is_some() {
            let refusal = Refusal::escalation_denied(rule, "it was made too often");
            return Err(self.denied(Ok(0), refusal, going.repetition));
        }
        let subject = questions::subject(escalation.call());
        let refused = locked(&self.questions).refuses(&subject, Instant::now());
        if let Some(not_asked) = refused {
            let why = match not_asked {
                NotAsked::SaidNo => {
                    "the user denied this call less than a minute ago, and is not asked again"
                }
                NotAsked::SaidNoOften => {
                    "very many calls were denied within the last minute, so no further approval is requested"
                }
            };
            return Err(self.not_asked(&Refusal::escalation_denied(rule, why), going));
        }
        Ok(())
    }

    /// Refuses a call without asking, if nobody is there, or too much was asked already.
    fn refuse_to_ask(&self, escalation: &Escalation, going: &Going) -> Result<(), Reply> {
        let attendance = match &self.people.patience {
            Patience::WhileAttended(attendance) => attendance.is_anybody_there(),
            Patience::ForAnybody => Ok(true),
        };
        match attendance {
            Ok(true) => self.count_question(escalation, going),
            Ok(false) => {
                self.witness.escalation(EscalationNews::Unattended);
                Err(self.not_asked(&Refusal::no_handler(escalation), going))
            }
            Err(error) => {
                // Who cannot be seen is not there.
                self.witness.notice(&chain(&error));
                self.witness.escalation(EscalationNews::Unattended);
                Err(self.not_asked(&Refusal::no_handler(escalation), going))
            }
        }
    }

    /// Counts one more question: a person who is asked without end stops reading.
    fn count_question(&self, escalation: &Escalation, going: &Going) -> Result<(), Reply> {
        if locked(&self.questions).raise(Instant::now()) {
            return Ok(());
        }
        let why = format!(
            "this session made {RAISED_MAX} approval requests within a minute, and may make no \
             more"
        );
        Err(self.not_asked(&Refusal::escalation_denied(escalation.rule(), why), going))
    }

    /// Finds the tool and judges the call again, as if it had come just now.
    async fn judge_again(
        &self,
        escalation: &Escalation,
        ticket: &Ticket,
        going: &mut Going,
    ) -> Result<Verdict, Reply> {
        let arguments = escalation.call().asked().arguments.clone();
        if going.origin == Origin::Server {
            let (server, tool) = going.found.names();
            let call = ToolCall { server: server.clone(), tool: tool.clone(), arguments };
            return Ok(self.judge.judge_petition(call));
        }
        if going.origin == Origin::Plan {
            return self.judge_plan_again(escalation, going).await;
        }
        if going.origin == Origin::Host {
            let paths: Vec<_> = escalation.call().paths(Role::WritePath).cloned().collect();
            return Ok(self.judge.judge_kept(escalation.call().asked().clone(), &paths));
        }
        let mut asked = Asked { name: going.name.clone(), arguments, meta: Object::new() };
        going.flight.turn = self.turn(&going.name);
        let turn = &mut going.flight.turn;
        let found = async {
            if let Some(turn) = turn {
                turn.come().await;
            }
            self.find(&asked.name).await
        };
        let cancel = going.flight.cancel.clone();
        let found = cancel.run_until_cancelled(found);
        let Some(found) = self.in_time(going.until, found).await else {
            return Err(self.too_late(ticket, going));
        };
        match found {
            None => {
                let reason = Some(Arc::from("cancelled by the client before it was forwarded"));
                let entry = Entry { reason, ..Entry::new(Kind::Escalation) };
                self.record_of(event("withdrawn", ticket), entry, going)?;
                return Err(Reply::Nothing);
            }
            Some(Err(refusal)) => {
                return Err(self.refuse(&asked, &refusal, None, &going.request_id));
            }
            Some(Ok(found)) => going.found = found,
        }
        if self.is_over(going.until) {
            return Err(self.too_late(ticket, going));
        }
        let Going { found, flight, .. } = &mut *going;
        if let Err(refusal) = self.begin_to_change(&asked, found, flight).await {
            let tool = going.found.names();
            return Err(self.refuse(&asked, &refusal, Some(tool), &going.request_id));
        }
        let brought = going.flight.brought.as_ref();
        let judged = self.judged(&mut asked, &going.found, brought).await;
        judged.map(|(verdict, _)| verdict).map_err(|refusal| {
            let tool = going.found.names();
            self.refuse(&asked, &refusal, Some(tool), &going.request_id)
        })
    }

    /// Records and answers a call that nobody is asked about.
    fn not_asked(&self, refusal: &Refusal, going: &Going) -> Reply {
        let mut event = Object::new();
        event.insert("event", "notAsked");
        let (verdict, reason) = (Some(Effect::Deny), Some(Arc::from(refusal.reason())));
        let entry = Entry { verdict, reason, ..Entry::new(Kind::Escalation) };
        match self.record_of(event, entry, going) {
            Ok(()) => self.denied(Ok(0), refusal.clone(), going.repetition),
            Err(reply) => reply,
        }
    }

    pub(super) fn record_of(
        &self,
        event: Object,
        entry: Entry,
        going: &Going,
    ) -> Result<(), Reply> {
        let (server, tool) = going.found.names();
        let entry = Entry {
            request_id: Some(going.request_id.clone()),
            server: Some(server.clone()),
            tool: Some(tool.clone()),
            arguments: Some(Json::Object(event)),
            ..entry
        };
        self.log.note(entry).map(drop).map_err(|error| self.unrecorded(&error))
    }
}

fn event(name: &str, ticket: &Ticket) -> Object {
    let mut event = Object::new();
    event.insert("event", name);
    event.insert("escalationId", ticket.escalation.as_str());
    event
}
