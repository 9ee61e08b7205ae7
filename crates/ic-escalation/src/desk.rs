//! The desk: where a question is put, and where its answer comes back.
//!
//! The port and its types. A [`Desk`] carries; it decides nothing. What it brings back becomes a
//! permit only where the escalation is settled with it.
//!
//! ```text
//! Escalation + Ticket ─Question::of─▶ Question ─Desk::raise─▶ Waiting ─outcome─▶ Outcome ─▶ Escalation::settle
//! ```

use std::fmt;
use std::io;

use ic_home::{FileError, random};
use ic_policy::{Answer, Decision, Escalation, Shown, Ticket};
use ic_types::{Digest, EscalationId, Timestamp};
use tokio::sync::oneshot;

use crate::closed::Closed;
use crate::grant::{Grant, Ground};
use crate::offer::{NoOffer, Offer};
use crate::request::{REQUEST_BYTES_MAX, Request};
use crate::response::{Response, ResponseFault};

/// Carries questions to people.
pub trait Desk: fmt::Debug + Send + Sync {
    /// Puts `question` where people see it.
    ///
    /// It is taken back when what is returned is dropped.
    fn raise(&self, question: Question) -> Result<Waiting, DeskError>;
}

/// A call that waits, as a person is asked about it.
#[derive(Clone, Debug)]
pub struct Question {
    request: Request,
    offer: Result<Offer, NoOffer>,
    ground: Ground,
}

/// A question that was raised; dropping this withdraws it.
#[derive(Debug)]
#[must_use = "a question that nobody waits for is withdrawn"]
pub struct Waiting {
    outcome: oneshot::Receiver<Outcome>,
    _withdrawal: Withdrawal,
}

/// Takes a question back when it is dropped.
pub struct Withdrawal(Option<Box<dyn FnOnce() + Send>>);

/// What became of a question.
#[derive(Debug)]
pub enum Outcome {
    /// Somebody answered.
    Answered(Box<Answered>),
    /// Something stood where an answer should, and was none; the call is denied.
    Malformed(ResponseFault),
    /// Nobody answered in time.
    Expired,
    /// The desk was closed, or the place where people answer is gone.
    Closed,
}

/// An answer.
#[derive(Debug)]
pub struct Answered {
    /// What the escalation is settled with.
    pub answer: Answer,
    /// The time that the escalation is settled at.
    ///
    /// An answer that was first to stand in its place is in time, even if it is noticed a moment
    /// after the deadline.
    pub at: Timestamp,
    /// What was granted besides; in force once the call has its permit, and dropped otherwise.
    pub grant: Option<Grant>,
    /// Why a grant that was asked for is not given, though the call is approved.
    pub no_grant: Option<NoOffer>,
}

/// A question that could not be raised; the call is not forwarded.
#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    /// Too many questions wait.
    #[error("{max} approval requests are pending already")]
    Full {
        /// How many may wait.
        max: usize,
    },
    /// The questions that wait take too much room.
    #[error("the pending approval requests take too much space already")]
    NoRoom,
    /// The question is too large to be looked at.
    #[error("the request is larger than {REQUEST_BYTES_MAX} bytes, too large to review")]
    TooLarge,
    /// It is too late to ask.
    #[error("the deadline passed before the request could be shown")]
    TooLate,
    /// The question could not be written.
    #[error("cannot write the approval request")]
    File(#[from] FileError),
    /// The desk is closed.
    #[error("the desk is closed")]
    Closed,
}

// === impl Question ===

impl Question {
    /// Makes the question of an escalation, asked at `now`; of what is closed no grant is offered.
    pub fn of(escalation: &Escalation, ticket: &Ticket, closed: &Closed, now: Timestamp) -> Self {
        let offer = Offer::of_escalation(escalation, closed);
        let grantable = offer.as_ref().ok().map(|offer| offer.grantable().clone());
        Self {
            request: Request { grantable, ..Request::of(escalation, ticket, now) },
            offer,
            ground: Ground::of(escalation, ticket),
        }
    }

    /// Says that the server is the one of that name that is part of this program.
    #[must_use]
    pub fn of_builtin(mut self, name: &str) -> Self {
        self.request.builtin = Some(name.to_owned());
        self
    }

    /// Says by which number people name it.
    #[must_use]
    pub(crate) fn numbered(mut self, number: Option<u64>) -> Self {
        self.request.number = number;
        self
    }

    /// Says which policy the session was started with, if its command line names one.
    #[must_use]
    pub(crate) fn under_policy(mut self, policy: Option<&str>) -> Self {
        self.request.policy = policy.map(str::to_owned);
        self
    }

    /// Says which commits and files a push would send, line by line.
    #[must_use]
    pub fn sending(mut self, lines: Vec<String>) -> Self {
        self.request.sends = lines;
        self
    }

    /// Says which client the server would ask; its name is its own.
    #[must_use]
    pub fn for_client(mut self, name: &str) -> Self {
        self.request.client = Some(name.to_owned());
        self
    }

    /// Returns the question as people see it.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Returns what an approval has to carry.
    pub fn digest(&self) -> Digest {
        self.request.digest
    }

    /// Returns what a response to this question says; anything but an answer to it is a fault.
    pub(crate) fn read(&self, bytes: &[u8], now: Timestamp) -> Result<Answered, ResponseFault> {
        let response = Response::parse(bytes).map_err(ResponseFault::Document)?;
        let Response { decision, digest, decided_by, decided_at: _, grant } = response;
        let answer = Answer::by_person(Shown::assert_shown(digest), decision, decided_by);
        let at = now.min(self.request.expires_at);
        // SECURITY: without this an approval of one question would do for another.
        if decision == Decision::Approved && digest != self.request.digest {
            return Err(ResponseFault::OtherQuestion);
        }
        let answered = Answered { answer, at, grant: None, no_grant: None };
        let Some(written) = grant else { return Ok(answered) };
        let offer = match &self.offer {
            Ok(offer) => offer,
            Err(no_offer) => return Ok(Answered { no_grant: Some(*no_offer), ..answered }),
        };
        let (choice, terms) = offer.accept(&written, now).map_err(ResponseFault::Grant)?;
        let unnamed = |source: io::Error| {
            let (doing, path) = (ic_home::file::Doing::Read, "/dev/urandom".into());
            ResponseFault::File(FileError::System { doing, path, source })
        };
        let grant = self.ground.grant(choice, terms, now).map_err(unnamed)?;
        Ok(Answered { grant: Some(grant), ..answered })
    }
}

// === impl Waiting ===

impl Waiting {
    /// Makes the waiting end of a question; `withdrawal` is run when nobody waits any more.
    pub fn new(outcome: oneshot::Receiver<Outcome>, withdrawal: Withdrawal) -> Self {
        Self { outcome, _withdrawal: withdrawal }
    }

    /// Waits for what becomes of the question; to stop waiting withdraws it.
    pub async fn outcome(mut self) -> Outcome {
        // A desk that is gone without a word has no answer.
        (&mut self.outcome).await.unwrap_or(Outcome::Closed)
    }
}

// === impl Withdrawal ===

impl Withdrawal {
    /// Does `withdraw` when it is dropped.
    pub fn new(withdraw: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(withdraw)))
    }

    /// Does nothing: there is nothing to take back.
    pub fn none() -> Self {
        Self(None)
    }
}

impl Drop for Withdrawal {
    fn drop(&mut self) {
        if let Some(withdraw) = self.0.take() {
            withdraw();
        }
    }
}

impl fmt::Debug for Withdrawal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Withdrawal(..)")
    }
}

/// Makes an id for a question: a random UUID.
pub fn new_escalation_id() -> io::Result<EscalationId> {
    let id = uuid::Builder::from_random_bytes(random::bytes::<16>()?).into_uuid();
    let text = id.hyphenated().to_string();
    text.parse().map_err(|_| io::Error::other("an id of hexadecimal digits is not a valid id"))
}
