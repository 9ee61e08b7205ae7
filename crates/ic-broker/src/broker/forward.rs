//! A call that may be made: recorded, sent to its server once, and handed on with what came of it.
//!
//! What may be made was decided before; how a result is held to limits, and recorded, is in `outcome.rs`.

use std::sync::Arc;

use ic_audit::{Entry, Kind};
use ic_backend::backend::{Backend, Forwarded, NoPlan, Plan, Sending, Wanted};
use ic_judge::Judged;
use ic_policy::Permit;
use tokio::time::Instant;

use super::found::withheld;
use super::next::Led;
use super::people::stale;
use super::{Broker, Flight, Going, Reply, refused_entry, repeated};
use crate::locked;
use crate::refusal::{Refusal, RefusalKind};

/// The rule that is named where a server does not see what a call is about.
const UNSEEN: &str = "confinement-view";
/// The rule that is named where a server is not there.
const UNAVAILABLE: &str = "server-unavailable";

/// Why a call that may be made is not made.
enum NotMade {
    /// Nobody serves it.
    NoPlan(NoPlan),
    /// It is too late for what was approved.
    Stale,
}

impl Broker {
    /// Records and forwards a call that may be forwarded.
    pub(super) async fn forward(&self, permit: Permit, going: Going) -> Reply {
        let refused = locked(&self.breaker).refuses(&going.repetition, self.clock.now());
        if let Some(count) = refused {
            return self.not_forwarded(permit, &repeated(count), &going.request_id);
        }
        let weight = going.weight;
        let (permit, judged) = self.aside.run(weight, move || Judged::of_permit(permit)).await;
        let plan = match self.plan(&permit, judged, &going).await {
            Ok(plan) => plan,
            Err(not_made) => return Box::pin(self.not_made(permit, not_made, going)).await,
        };
        let confined = plan.confinement().to_string();
        let Going { name, found, meta, repetition, flight, request_id, n_hops, .. } = going;
        let server = Arc::clone(&found.server);
        let entry = Entry {
            request_id: Some(request_id.clone()),
            server: Some(permit.call().server().clone()),
            tool: Some(permit.call().tool().clone()),
            ..Entry::new(Kind::Outcome)
        };
        let log = Arc::clone(&self.log);
        let recorded = self.aside.run(weight, move || log.record(permit, request_id, &confined));
        let recorded = match recorded.await {
            Ok(recorded) => recorded,
            Err(error) => {
                plan.give_up();
                return self.unrecorded(&error);
            }
        };
        let started = Instant::now();
        let sending = Sending {
            meta: meta.clone(),
            progress: flight.progress.clone(),
            caller: flight.ear.clone(),
            cancel: &flight.cancel,
            agreed: flight.brought.as_ref(),
        };
        // SECURITY: consumes the proof; a second try would be a second call.
        let forwarded = plan.forward(recorded, sending).await;
        let Forwarded { outcome, following, planted, next, is_caged } = forwarded;
        flight.note_following(following, &outcome);
        let duration = started.elapsed();
        let duration_ms = u64::try_from(duration.as_millis()).ok();
        tracing::debug!(server = %server.name(), ?duration, answered = outcome.is_ok(), "forwarded");
        let entry = Entry { duration_ms, ..entry };
        match planted {
            // Nobody waits for the answer of this call, so nobody could be told in it.
            Some(done) if flight.is_taken_back() => server.tell_planted(done),
            Some(done) => {
                let asker = (&server, flight);
                return Box::pin(self.put_back(asker, &done, entry, repetition)).await;
            }
            None => {}
        }
        if let Some(next) = next {
            let led = Led { name, meta, found, flight, repetition, n_hops };
            return Box::pin(self.go_on(next, led, entry)).await;
        }
        self.finish(outcome, entry, repetition, is_caged.then(|| server.name()))
    }

    /// Asks the server how the call is served; what was approved is not done too late.
    async fn plan(
        &self,
        permit: &Permit,
        judged: Vec<Judged>,
        going: &Going,
    ) -> Result<Box<dyn Plan>, NotMade> {
        let wanted = Wanted {
            permit,
            judged,
            offer: &going.found.offer,
            weight: going.weight,
            aside: &self.aside,
            cancel: &going.flight.cancel,
        };
        let planning = Arc::clone(&going.found.server).plan(wanted);
        let plan = self.in_time(going.until, planning).await.ok_or(NotMade::Stale)?;
        let plan = plan.map_err(NotMade::NoPlan)?;
        if self.is_over(going.until) {
            // SECURITY: what was approved is not done at a time for which nobody approved it.
            plan.give_up();
            return Err(NotMade::Stale);
        }
        Ok(plan)
    }

    /// Records and answers a call that may be made, and that nobody serves.
    async fn not_made(&self, permit: Permit, not_made: NotMade, going: Going) -> Reply {
        let Going { found, flight, request_id, .. } = going;
        let refusal = match not_made {
            NotMade::Stale => stale(),
            NotMade::NoPlan(NoPlan::Unseen(why)) => {
                Refusal::structural(RefusalKind::Confinement, UNSEEN, why)
            }
            NotMade::NoPlan(NoPlan::Unavailable(why)) => {
                Refusal::structural(RefusalKind::Denied, UNAVAILABLE, why)
            }
            NotMade::NoPlan(NoPlan::Withheld(why)) => {
                let (server, tool) = found.names();
                withheld(server, tool, &why)
            }
            NotMade::NoPlan(NoPlan::Cancelled) => {
                let reason = "cancelled by the client before it was forwarded";
                let refusal = Refusal::structural(RefusalKind::Denied, "cancelled", reason);
                self.not_forwarded(permit, &refusal, &request_id);
                return Reply::Nothing;
            }
            NotMade::NoPlan(NoPlan::PutBack(done)) => {
                let asker: (&Arc<dyn Backend>, Flight) = (&found.server, flight);
                return self.put_back_before(permit, asker, &done, &request_id).await;
            }
        };
        self.not_forwarded(permit, &refusal, &request_id)
    }

    /// Records and answers a call that may be made, and is not.
    pub(super) fn not_forwarded(
        &self,
        permit: Permit,
        refusal: &Refusal,
        request_id: &str,
    ) -> Reply {
        let (server, tool) = (permit.call().server().clone(), permit.call().tool().clone());
        let arguments = permit.call().asked().arguments.clone();
        // The permit goes no further: it is dropped here, unrecorded.
        drop(permit);
        let entry = refused_entry(refusal, Some((&server, &tool)), Some(arguments), request_id);
        self.answered(self.log.note(entry), refusal)
    }
}
