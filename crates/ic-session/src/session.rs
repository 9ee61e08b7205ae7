//! The session as others see it: one trait for every kind, and one for those that one talks with.
//!
//! A terminal, a socket or a page that runs a session knows these traits and nothing behind them, and a
//! session does not know what runs it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use ic_agent::TurnError;
pub use ic_agent::{Diagnostic, Dimension, Snapshot, Spent};
use ic_audit::AuditError;
use ic_backend::Witness as _;
use ic_escalation::{AnswerError, Message, Pending, Reply, Told, UserContext};
use ic_store::StoreError;
pub use ic_store::{Turn, TurnUsage};
use ic_types::{EscalationId, SessionId, SessionName, Timestamp, chain};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::directory::SessionKind;
use crate::news::{Event, News};
use crate::questions::Questions;

/// A session of any kind that runs: the built-in agent's, a script's, a client's.
pub trait SessionHandle: Send + Sync {
    /// Returns what it is, and how it stands.
    fn info(&self) -> Info;

    /// Returns what happens from now on.
    fn events(&self) -> broadcast::Receiver<Event>;

    /// Returns the questions that wait for a person, in order.
    fn pending_escalations(&self) -> Vec<Pending>;

    /// Answers a question that was shown to a person.
    fn resolve_escalation(&self, shown: &Pending, reply: &Reply) -> Result<Told, ResolveError>;

    /// Ends the session and all that it owns; the second time there is nothing left to do.
    fn close(&self) -> Closing<'_>;
}

/// A session that one talks with.
pub trait Conversation: SessionHandle {
    /// Notes what the person said with their own keys, before it is sent.
    ///
    /// A message that is sent without this is nobody's own: no call is approved because of it.
    fn note_typed(&self, message: &Message);

    /// Sends a message, and waits for the answer.
    ///
    /// Only a session that is ready takes one. When `cancel` is cancelled, or what is returned is
    /// dropped, the turn is cut: what has happened is kept, and the session is ready again.
    fn send_message(&self, message: &str, cancel: CancellationToken) -> Answering<'_>;

    /// Returns the turns that were answered.
    fn history(&self) -> Vec<Turn>;

    /// Returns what happened in all turns so far; the oldest are forgotten when there are many.
    fn diagnostics(&self) -> Vec<Diagnostic>;

    /// Returns how the budget of the current turn, or else of the last one, stands.
    fn budget(&self) -> Snapshot;

    /// Saves the conversation as far as it has come, also where that is not done with every step.
    fn save(&self) -> Result<(), SessionError>;
}

/// A conversation whose events and questions a terminal shows.
pub trait Attended: Conversation {
    /// Returns what happens, and what was counted.
    fn news(&self) -> &News;

    /// Returns what waits for a person.
    fn questions(&self) -> &Questions;
}

/// Notes a message of the person, in memory and in its file.
pub(crate) fn note(context: &UserContext, news: &News, message: Message) {
    if let Err(error) = context.say(message) {
        news.notice(&format!("your message cannot be noted: {}", chain(&error)));
    }
}

/// An answer that is under way.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Result<String, SessionError>> + Send + 'a>>;

/// An end that is under way.
pub type Closing<'a> = Pin<Box<dyn Future<Output = Result<(), SessionError>> + Send + 'a>>;

/// A session at one moment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Info {
    /// Which session it is.
    pub id: SessionId,
    /// What people call it.
    pub name: SessionName,
    /// What kind of session it is.
    pub kind: SessionKind,
    /// How it stands.
    pub status: Status,
    /// How many turns were answered.
    pub turn_count: u64,
    /// When it was made.
    pub created_at: Timestamp,
}

/// How a session stands: initializing → ready ⇄ processing → closed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Status {
    /// It is being opened.
    Initializing,
    /// It takes a message.
    Ready,
    /// A message is being answered.
    Processing,
    /// It has ended.
    Closed,
}

/// Something that a session did not do.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// It cannot take a message now.
    #[error("Session is not ready to accept messages (current status: {0})")]
    NotReady(Status),
    /// It has ended.
    #[error("Session has been closed")]
    Closed,
    /// It could not be opened.
    #[error("{what}")]
    InitFailed {
        /// What could not be done.
        what: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// It has ended, and nothing of it runs, but its record has no end.
    #[error("the record of the session could not be ended")]
    CloseFailed(#[source] AuditError),
    /// The conversation could not be saved.
    #[error("the conversation could not be saved")]
    NotSaved(#[source] StoreError),
    /// The turn was cut before there was an answer.
    #[error("{}", TurnError::Cancelled)]
    Cancelled,
    /// The message has no answer.
    #[error(transparent)]
    MessageFailed(Unanswered),
    /// The turn has used what it may use.
    #[error("{}", TurnError::BudgetExhausted(*.0))]
    BudgetExhausted(Spent),
    /// The session of an agent of others has used up what it may use, over all of its turns.
    #[error("the budget of this session is used up ({0})")]
    SessionBudgetExhausted(Spent),
}

/// Why a message has no answer: the error of whatever agent it was for.
#[derive(Debug)]
pub struct Unanswered {
    /// What failed.
    pub error: Box<dyn std::error::Error + Send + Sync>,
    /// What a person can do about it, if there is something.
    pub hint: Option<String>,
}

/// A question that was not answered.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// It does not wait any more.
    #[error("No pending escalation with ID: {0}")]
    NotPending(EscalationId),
    /// The answer could not be written.
    #[error(transparent)]
    Answer(#[from] AnswerError),
}

impl SessionError {
    /// Returns the name by which programs know it.
    ///
    /// There is none of its own for a session whose record has no end. What programs do about it is what they do
    /// about any session that is closed; people are told the difference.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotReady(_) => "SESSION_NOT_READY",
            Self::Closed | Self::CloseFailed(_) => "SESSION_CLOSED",
            Self::InitFailed { .. } => "SESSION_INIT_FAILED",
            Self::MessageFailed(_) | Self::Cancelled | Self::NotSaved(_) => "MESSAGE_FAILED",
            Self::BudgetExhausted(_) | Self::SessionBudgetExhausted(_) => "BUDGET_EXHAUSTED",
        }
    }

    /// Says what a person can do about it, if there is something.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::MessageFailed(unanswered) => unanswered.hint.clone(),
            Self::BudgetExhausted(_) => Some(
                "what was done is done; `ironcurtain config list` shows the keys of `budget`, \
                 which set the limits"
                    .to_owned(),
            ),
            Self::SessionBudgetExhausted(_) => Some(
                "what was done is done; `agent.budget` sets the limits of a session, and a new session \
                 has a new budget"
                    .to_owned(),
            ),
            Self::NotReady(_)
            | Self::Closed
            | Self::InitFailed { .. }
            | Self::CloseFailed(_)
            | Self::NotSaved(_)
            | Self::Cancelled => None,
        }
    }
}

impl From<TurnError> for SessionError {
    fn from(error: TurnError) -> Self {
        match error {
            TurnError::BudgetExhausted(spent) => Self::BudgetExhausted(spent),
            TurnError::Cancelled => Self::Cancelled,
            error => {
                let hint = match &error {
                    TurnError::Model(error) => error.hint(),
                    _ => None,
                };
                Self::MessageFailed(Unanswered { error: Box::new(error), hint })
            }
        }
    }
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Unanswered {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Initializing => "initializing",
            Self::Ready => "ready",
            Self::Processing => "processing",
            Self::Closed => "closed",
        })
    }
}
