//! A call that may be made: recorded, sent to its server once, and handed on with what came of it.
//!
//! What may be made was decided before; how a result is held to limits, and recorded, is in `outcome.rs`.

use std::sync::Arc;
use std::time::Duration;

use ic_audit::{Entry, Kind, Recorded};
use ic_backend::planted::PutBack;
use ic_backend::server::{Asking, Connection, Following, Server, Stillness, Unanswered};
use ic_confine::Confinement;
use ic_judge::Judged;
use ic_judge::method::CallMethod;
use ic_mcp::Outcome;
use ic_policy::Permit;
use ic_types::{Json, Object, Timestamp};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::found::Found;
use super::hops::Trail;
use super::outcome::masked;
use super::people::stale;
use super::service::{NoService, Service, Wanted};
use super::takeover::Tree;
use super::{Broker, Flight, Going, Reply, refused_entry, repeated};
use crate::locked;
use crate::refusal::{Refusal, RefusalKind};

/// The longest that a call may take.
const CALL_MAX: Duration = Duration::from_mins(15);

impl Broker {
    /// Records and forwards a call that may be forwarded.
    pub(super) async fn forward(&self, permit: Permit, going: Going) -> Reply {
        let Going {
            name,
            found,
            mut meta,
            weight,
            repetition,
            flight,
            request_id,
            until,
            n_hops,
            ..
        } = going;
        let (server, request_id) = (Arc::clone(&found.server), &request_id);
        let refused = locked(&self.breaker).refuses(&repetition, self.clock.now());
        if let Some(count) = refused {
            return self.not_forwarded(permit, &repeated(count), request_id);
        }
        let (permit, judged) = self.aside.run(weight, move || Judged::of_permit(permit)).await;
        let wanted = Wanted { permit: &permit, judged, weight };
        let engaged = match self.engaged(wanted, &found, (&flight.cancel, until)).await {
            Ok(engaged) => engaged,
            Err(none) => {
                return Box::pin(self.unserved(permit, none, (&server, flight), request_id)).await;
            }
        };
        let (service, still) = engaged;
        let trail = Trail::of(&server, &permit, (&name, &meta), n_hops);
        let tree = Tree::of(self, (&server, &permit), (&name, &mut meta), (&flight, n_hops));
        let confinement = service.confinement();
        let confined = confinement.to_string();
        let (log, id) = (Arc::clone(&self.log), request_id.clone());
        let recorded = self.aside.run(weight, move || log.record(permit, id, &confined));
        let recorded = match recorded.await {
            Ok(recorded) => recorded,
            Err(error) => return self.unrecorded(&error),
        };
        service.warrant(&recorded);
        let started = Instant::now();
        let (progress, caller) = (flight.progress.clone(), flight.ear.clone());
        let following = following(service.connection(), &recorded);
        let asking = Asking { progress, caller, cancel: &flight.cancel, limit: CALL_MAX };
        // SECURITY: consumes the proof; a second try would be a second call.
        let (outcome, entry) = send(service.connection(), recorded, meta, asking).await;
        drop(still);
        flight.note_following(following, &outcome);
        let (outcome, planted) = let_go(service, outcome).await;
        let duration_ms = u64::try_from(started.elapsed().as_millis()).ok();
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
        if let Some(hop) = trail.and_then(|trail| trail.next(&outcome)) {
            return self.follow(hop, entry, repetition, (found, flight)).await;
        }
        if let Some(next) = tree.and_then(|tree| tree.next(&outcome)) {
            return self.take_over(next, entry, repetition, (found, flight)).await;
        }
        let is_caged = matches!(confinement, Confinement::Cage(_)) && !server.is_ours();
        self.finish(outcome, entry, repetition, is_caged.then_some(&server.name))
    }

    /// Returns what serves a call, and what keeps third-party servers still meanwhile if it needs that.
    async fn engaged(
        &self,
        wanted: Wanted<'_>,
        found: &Found,
        (cancel, until): (&CancellationToken, Option<Timestamp>),
    ) -> Result<(Service, Option<Stillness>), NoService> {
        let permit = wanted.permit;
        let service = self.in_time(until, self.service(wanted, found, cancel)).await;
        let service = service.ok_or_else(|| NoService::Refused(stale()))??;
        let still = match self.is_over(until) {
            // SECURITY: what was approved is not done at a time for which nobody approved it.
            true => Err(stale()),
            false => self.still_for(&found.server, permit).await,
        };
        match still {
            Ok(still) => Ok((service, still)),
            Err(refusal) => {
                service.end();
                Err(NoService::Refused(refusal))
            }
        }
    }

    /// Records and answers a call that nobody serves.
    async fn unserved(
        &self,
        permit: Permit,
        none: NoService,
        asker: (&Arc<Server>, Flight),
        request_id: &str,
    ) -> Reply {
        match none {
            NoService::Refused(refusal) => self.not_forwarded(permit, &refusal, request_id),
            NoService::PutBack(done) => {
                self.put_back_before(permit, asker, &done, request_id).await
            }
            NoService::Cancelled => {
                let reason = "cancelled by the client before it was forwarded";
                let refusal = Refusal::structural(RefusalKind::Denied, "cancelled", reason);
                self.not_forwarded(permit, &refusal, request_id);
                Reply::Nothing
            }
        }
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

/// Lets go of the server of a call that is over; returns what it had to put back, if anything.
async fn let_go(
    mut service: Service,
    outcome: Result<Outcome, Unanswered>,
) -> (Result<Outcome, Unanswered>, Option<PutBack>) {
    // SECURITY: a remote can say what it was sent, and so can a server that was taken over.
    let outcome = match service.mask() {
        Some(mask) => masked(outcome, &mask),
        None => outcome,
    };
    let planted = match service.watched() {
        Some(watched) => watched.end().await,
        None => None,
    };
    service.end();
    (outcome, planted)
}

/// Notes that the client follows a resource, if that is what the call is for.
///
/// Before the call is sent, so that the end of another client's subscription is not sent after it.
fn following(connection: &Arc<Connection>, recorded: &Recorded) -> Option<Following> {
    let call = recorded.permit().call();
    let method = CallMethod::of(call.tool().as_str()).filter(|it| *it == CallMethod::Subscribe)?;
    let params = method.params(call.sent());
    params.get("uri").and_then(Json::as_str).map(|uri| connection.follow(uri.to_owned()))
}

/// Sends a recorded call to its server; returns what came of it, and the record of that so far.
async fn send(
    connection: &Connection,
    recorded: Recorded,
    meta: Object,
    asking: Asking<'_>,
) -> (Result<Outcome, Unanswered>, Entry) {
    let call = recorded.permit().call();
    let entry = Entry {
        request_id: Some(recorded.request_id().to_owned()),
        server: Some(call.server().clone()),
        tool: Some(call.tool().clone()),
        ..Entry::new(Kind::Outcome)
    };
    let method = CallMethod::of(call.tool().as_str());
    let written = |out: &mut String, mut envelope: Object| {
        for (key, value) in meta.into_entries() {
            envelope.insert(key, value);
        }
        if let Some(method) = method {
            let mut params = method.params(call.sent());
            if !envelope.is_empty() {
                params.insert("_meta", envelope);
            }
            return Json::write_object(out, &params);
        }
        out.push_str("{\"name\":");
        Json::write_text(out, call.tool().as_str());
        out.push_str(",\"arguments\":");
        Json::write_object(out, call.sent());
        if !envelope.is_empty() {
            out.push_str(",\"_meta\":");
            Json::write_object(out, &envelope);
        }
        out.push('}');
    };
    let asked = method.map_or("tools/call", CallMethod::as_str);
    (connection.ask(asked, written, asking).await, entry)
}
