//! A call under way: what it is bound to, and what it takes along on its way to a server.
//!
//! What becomes of it is not known here.

use std::sync::{Arc, Mutex};

use ic_backend::caller::Ear;
use ic_backend::server::{Following, Progress, Turn};
use ic_types::{Digest, Object, Timestamp, ToolCall};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::changing::Turnstile;
use super::{Asked, Found, repetition};
use crate::locked;
use ic_backend::backend::Brought;
use ic_judge::Weight;

/// What a call is bound to while it runs.
#[derive(Debug)]
pub struct Flight {
    /// Ends the call; nobody wants its answer any more.
    pub(super) cancel: CancellationToken,
    /// Cancelled when the client has gone; what runs may end, and nobody is asked any more.
    pub(super) left: CancellationToken,
    /// Where progress goes, if anybody wants it.
    pub(super) progress: Option<Progress>,
    /// The client whose call it is, if it can be asked anything.
    pub(super) ear: Option<Arc<Ear>>,
    /// The call's place in the order of calls.
    pub(super) turn: Option<Turn>,
    /// Says whether a person is being asked about the call, if anybody wants to know.
    pub(super) asks: Option<watch::Sender<bool>>,
    /// The call that a person typed, if they did; spent with the first question about that very call.
    pub(super) typed: Option<Digest>,
    /// Held from the judgement to the end of a call that changes files of the user's.
    pub(super) changing: Option<Turnstile>,
    /// What its server says that it would change as well, once it did.
    pub(super) brought: Option<Brought>,
    /// Where it is noted what the server will tell of from now on, if anybody wants to know.
    pub(super) following: Option<Arc<Mutex<Option<Following>>>>,
}

/// What a call that may be forwarded, or may come to be, takes along.
pub(super) struct Going {
    /// The name that the client called.
    pub(super) name: String,
    pub(super) found: Found,
    pub(super) meta: Object,
    /// How much work it makes.
    pub(super) weight: Weight,
    /// What makes two calls the same call.
    pub(super) repetition: Digest,
    pub(super) flight: Flight,
    pub(super) request_id: String,
    /// When it is too late to forward it, if somebody approved it.
    pub(super) until: Option<Timestamp>,
    /// How many redirects led to it.
    pub(super) n_hops: usize,
    pub(super) origin: Origin,
}

/// What is known of a call once it is judged, besides what it is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallTag<'a> {
    /// How much work it makes.
    pub(super) weight: Weight,
    /// What makes two calls the same call.
    pub(super) repetition: Digest,
    pub(super) request_id: &'a str,
    /// How many redirects led to it.
    pub(super) n_hops: usize,
}

/// Who wants a call to be made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Origin {
    /// A client's agent.
    Agent,
    /// The server itself.
    Server,
    /// This program: a person may keep what was put back.
    Host,
    /// A client's agent, which asks about calls that it has not made.
    Plan,
}

impl Flight {
    /// Binds a call to what can end it, and to its place among others.
    pub fn new(
        cancel: CancellationToken,
        left: CancellationToken,
        progress: Option<Progress>,
        turn: Option<Turn>,
    ) -> Self {
        let (ear, asks, typed, changing, brought) = (None, None, None, None, None);
        let following = None;
        Self { cancel, left, progress, ear, turn, asks, typed, changing, brought, following }
    }

    /// Says whom to tell whether a person is being asked about the call.
    #[must_use]
    pub fn telling(self, asks: watch::Sender<bool>) -> Self {
        Self { asks: Some(asks), ..self }
    }

    /// Says where to note what the server will tell of from now on.
    #[must_use]
    pub fn noting(self, following: Arc<Mutex<Option<Following>>>) -> Self {
        Self { following: Some(following), ..self }
    }

    /// Says whose call it is: whom its server may ask for something while it runs.
    #[must_use]
    pub fn of_client(self, ear: Arc<Ear>) -> Self {
        Self { ear: Some(ear), ..self }
    }

    /// Returns whether nobody waits for the answer any more.
    pub(super) fn is_taken_back(&self) -> bool {
        self.cancel.is_cancelled() || self.left.is_cancelled()
    }

    /// Keeps the subscription if the call succeeded and the caller wants it; otherwise it ends here.
    pub(super) fn note_following<T, E, F>(
        &self,
        following: Option<Following>,
        outcome: &Result<Result<T, E>, F>,
    ) {
        if let (Ok(Ok(_)), Some(slot)) = (outcome, &self.following) {
            *locked(slot) = following;
        }
    }

    /// Says that a person typed `call`, and so has answered what the policy would ask them about it.
    ///
    /// SECURITY: only for a call whose every argument is a person's or ours; never for an agent's. It answers
    /// for that very call, and not for one that it leads to.
    #[must_use]
    pub fn dangerously_typed(self, call: &ToolCall) -> Self {
        Self { typed: Some(repetition(call)), ..self }
    }
}

impl Going {
    pub(super) fn new(asked: Asked, found: Found, flight: Flight, tag: CallTag<'_>) -> Self {
        let Asked { name, meta, .. } = asked;
        let CallTag { weight, repetition, request_id, n_hops } = tag;
        let request_id = request_id.to_owned();
        let (until, origin) = (None, Origin::Agent);
        Self { name, found, meta, weight, repetition, flight, request_id, until, n_hops, origin }
    }

    /// Makes what goes along with `call`, which no client called by this name: it comes from elsewhere.
    pub(super) fn from(
        origin: Origin,
        (name, call): (&str, &ToolCall),
        found: Found,
        flight: Flight,
        request_id: String,
    ) -> Self {
        Self {
            name: name.to_owned(),
            weight: Weight::of(&call.arguments),
            repetition: repetition(call),
            found,
            meta: Object::new(),
            flight,
            request_id,
            until: None,
            n_hops: 0,
            origin,
        }
    }

    pub(super) fn tag(&self) -> CallTag<'_> {
        let Self { weight, repetition, request_id, n_hops, .. } = self;
        CallTag { weight: *weight, repetition: *repetition, request_id, n_hops: *n_hops }
    }
}
