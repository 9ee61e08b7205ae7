//! The requests of one client that run: so many at once, each taken back by its id, each answered once.
//!
//! What they do is not known here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use ic_broker::broker::Reply;
use ic_mcp::{Id, error_line, result_line};
use tokio_util::sync::CancellationToken;

use super::era::Era;
use super::{Client, Open, Outbox};
use crate::locked;

/// How many calls of one client run at once.
pub(super) const FLIGHTS_MAX: usize = 256;
/// How many calls of one client are dealt with at once, those included whose answer nobody reads.
const CALLS_MAX: usize = 2 * FLIGHTS_MAX;

/// The calls that run, by the client's ids.
#[derive(Clone, Debug, Default)]
pub(super) struct Flights(Arc<Mutex<HashMap<Id, CancellationToken>>>);

/// A request that runs, and the way of its answer.
pub(super) struct Airborne {
    /// Cancelled when the client takes the request back, or everything ends.
    pub(super) cancel: CancellationToken,
    pub(super) id: Id,
    /// How the client speaks.
    pub(super) era: Era,
    flights: Flights,
    outbox: Outbox,
    end_all: CancellationToken,
}

impl<O: Open> Client<O> {
    /// Notes that a request runs; `None` if there are too many.
    pub(super) fn take_off(&self, id: &Id) -> Option<Airborne> {
        if CALLS_MAX <= self.calls.len() {
            // A client that does not read what it is answered is answered no more.
            return None;
        }
        Some(Airborne {
            cancel: self.flights.take_off(id.clone(), &self.end_all)?,
            id: id.clone(),
            era: self.era,
            flights: self.flights.clone(),
            outbox: self.outbox.clone(),
            end_all: self.end_all.clone(),
        })
    }
}

impl Airborne {
    /// Ends the request with a reply.
    pub(super) async fn land(self, reply: Reply) {
        let line = match reply {
            Reply::Result(text) | Reply::Refused(_, text) => {
                Some(result_line(Some(&self.id), |out| self.era.complete(out, &text)))
            }
            Reply::Error(error) => Some(error_line(Some(&self.id), &error)),
            Reply::Nothing => None,
        };
        self.land_with(line).await;
    }

    /// Ends the request with a line, if there is anything to say.
    ///
    /// If the client does not read, this waits until everything ends.
    pub(super) async fn land_with(self, line: Option<String>) {
        // Before the client hears of it, which may use the id again then.
        self.flights.land(&self.id);
        let Some(line) = line else { return };
        // At the end there may be room for it all the same, and then it is sent at once.
        tokio::select! {
            biased;
            () = self.outbox.send(line) => {}
            () = self.end_all.cancelled() => {}
        }
    }
}

impl Flights {
    pub(super) fn has(&self, id: &Id) -> bool {
        locked(&self.0).contains_key(id)
    }

    /// Notes that a request runs; `None` if there are too many.
    fn take_off(&self, id: Id, end_all: &CancellationToken) -> Option<CancellationToken> {
        let mut flights = locked(&self.0);
        if FLIGHTS_MAX <= flights.len() {
            return None;
        }
        let cancel = end_all.child_token();
        flights.insert(id, cancel.clone());
        Some(cancel)
    }

    fn land(&self, id: &Id) {
        locked(&self.0).remove(id);
    }

    pub(super) fn cancel(&self, id: &Id) {
        if let Some(cancel) = locked(&self.0).get(id) {
            cancel.cancel();
        }
    }

    pub(super) fn cancel_all(&self) {
        for cancel in locked(&self.0).values() {
            cancel.cancel();
        }
    }
}
