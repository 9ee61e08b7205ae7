//! A call that led to another one: each is found, judged and recorded by itself.
//!
//! A page that redirects and a merge that would change more than it names are such calls. What the next one
//! is, the server's own backend says; nothing that was decided about the first counts for it.

use std::sync::Arc;

use ic_audit::Entry;
use ic_backend::backend::Next;
use ic_types::{Digest, Object};

use super::{Asked, Broker, Flight, Found, Reply};
use crate::breaker::Came;
use crate::locked;
use crate::refusal::{Refusal, RefusalKind};

/// How many calls one call leads to.
const NEXT_MAX: usize = 5;

/// A call that led to another one.
pub(super) struct Led {
    pub(super) name: String,
    pub(super) meta: Object,
    pub(super) found: Found,
    pub(super) flight: Flight,
    pub(super) repetition: Digest,
    /// How many calls led to this one.
    pub(super) n_hops: usize,
}

impl Broker {
    /// Records that a call led to another one, and makes that.
    pub(super) async fn go_on(&self, next: Next, led: Led, entry: Entry) -> Reply {
        let Next { arguments, brought, because, rule, refusal, too_many } = next;
        let Led { name, meta, found, mut flight, repetition, n_hops } = led;
        let id = self.request_id();
        let reason = format!("{because}, which is the request {id}");
        if let Err(error) = self.log.note(Entry { reason: Some(Arc::from(reason)), ..entry }) {
            return self.unrecorded(&error);
        }
        let refusal = match NEXT_MAX <= n_hops {
            true => Some(too_many(n_hops)),
            false => refusal,
        };
        let asked = Asked { name, arguments, meta };
        let reply = if let Some(reason) = refusal {
            let refusal = Refusal::structural(RefusalKind::Denied, rule, reason);
            self.refuse(&asked, &refusal, Some(found.names()), &id)
        } else {
            // It is our own tool, which is neither withheld nor gone meanwhile.
            flight.brought = brought;
            Box::pin(self.serve(asked, found, flight, &id, n_hops + 1)).await
        };
        // The whole way is what the call came to: a page that changes behind a redirect is progress.
        if let Some(came) = came_of(&reply) {
            locked(&self.breaker).remember(repetition, came, self.clock.now());
        }
        reply
    }
}

/// Returns what a call came to, if it came to something that another one could come to as well.
fn came_of(reply: &Reply) -> Option<Came> {
    match reply {
        Reply::Result(text) => Some(Came::Result(Digest::of(text.as_bytes()))),
        Reply::Refused(..) => Some(Came::Denial),
        Reply::Error(error) => Some(Came::Result(Digest::of(error.message.as_bytes()))),
        Reply::Nothing => None,
    }
}
