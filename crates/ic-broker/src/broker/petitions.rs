//! What a server asks of a client, from the question to the answer.
//!
//! ```text
//! Raised ─▶ judged: a person is asked ─▶ recorded ─▶ sent to its client ─▶ answer checked ─▶ recorded ─▶ server
//!    └── its server, its client or its call ends ─▶ the question is withdrawn, the client is told
//! ```
//!
//! A petition is a call of its own, with its own records. Who may ask, how often and whom was settled
//! before it came here.

use std::sync::{Arc, Weak};
use std::time::Duration;

use ic_audit::{Entry, Kind};
use ic_backend::petition::Petition;
use ic_backend::server::{Offer, REFUSED, Raised};
use ic_inventory::PetitionKind;
use ic_mcp::{Outcome, RpcError, code};
use ic_policy::{Permit, Verdict};
use ic_types::{Digest, Json, JsonLimits, ServerName, ToolCall};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::people::stale;
use super::{Broker, Flight, Found, Going, Origin, Reply};
use crate::refusal::{Refusal, RefusalKind};
use ic_backend::caller::Ear;

/// How long a client may take to answer.
const ANSWER_MAX: Duration = Duration::from_mins(10);

/// Takes in what servers ask, each in a task of its own, until the session ends.
pub(super) async fn take_in(
    broker: Weak<Broker>,
    mut raised: mpsc::Receiver<Raised>,
    stop: CancellationToken,
) {
    while let Some(Some(raised)) = stop.run_until_cancelled(raised.recv()).await {
        let Some(broker) = broker.upgrade() else { return };
        let tasks = broker.tasks.clone();
        tasks.spawn(answer(broker, raised));
    }
}

/// Deals with one petition, and answers it unless the server took it back.
async fn answer(broker: Arc<Broker>, raised: Raised) {
    let Raised { petition, client, asker } = raised;
    let cancel = CancellationToken::new();
    let ended = async {
        let calls_are_over = async {
            for call in &client.calls {
                call.cancelled().await;
            }
        };
        tokio::select! {
            () = asker.taken_back.cancelled() => {}
            () = asker.over().cancelled() => {}
            () = calls_are_over => {}
        }
    };
    let came = {
        let asked = broker.petitioned(petition, asker.server(), (&client.ear, &cancel));
        tokio::pin!(asked);
        tokio::select! {
            biased;
            () = ended => {
                cancel.cancel();
                // It ends soon, and what became of it is recorded first.
                asked.await
            }
            came = &mut asked => came,
        }
    };
    // Before the server hears of it, which may have the next one ready.
    if let Came::Denied(_) = came {
        asker.denied(&client.calls);
    }
    // What is waited for from here on keeps nobody else waiting.
    drop((broker, client));
    if asker.taken_back.is_cancelled() {
        return;
    }
    // SECURITY: whatever came of it, an answer is not told to whoever does not wait for it.
    let outcome = match cancel.is_cancelled() {
        true => Err(refused("the call that this was for is over")),
        false => match came {
            Came::Answer(outcome) => outcome,
            Came::Denied(error) => Err(error),
        },
    };
    asker.reply(outcome).await;
}

/// What came of a petition.
enum Came {
    /// A person does not want it.
    Denied(RpcError),
    /// Anything else.
    Answer(Outcome),
}

impl Broker {
    /// Asks a person whether the client may be asked, and then the client.
    async fn petitioned(
        &self,
        mut petition: Petition,
        server: &ServerName,
        (ear, cancel): (&Arc<Ear>, &CancellationToken),
    ) -> Came {
        let method = petition.kind.as_str();
        if cancel.is_cancelled() || ear.left().is_cancelled() {
            // Nobody is asked for the sake of a call that ended while this waited for its turn.
            return self.not_raised(method, "the call that this was for is over");
        }
        let Some(found) = self.petitioner(server, petition.kind) else {
            return self.not_raised(method, "its server is not trusted: none of its tools is");
        };
        let arguments = std::mem::take(&mut petition.arguments);
        let (Json::Object(arguments), _) = self.masked(Json::Object(arguments)) else {
            return self.not_raised(method, "what is asked cannot be passed on");
        };
        let (server, tool) = found.names();
        let call = ToolCall { server: server.clone(), tool: tool.clone(), arguments };
        let flight = Flight::new(cancel.clone(), ear.left().clone(), None, None);
        let (flight, id) = (flight.of_client(Arc::clone(ear)), self.request_id());
        let mut going = Going::from(Origin::Server, (method, &call), found, flight, id);
        let approved = match self.judge.judge_petition(call) {
            Verdict::Escalate(escalation) => self.approved(escalation, &mut going).await,
            // Nothing but a person's yes lets a petition through.
            Verdict::Allow(permit) => Err(self.not_approved(permit, &going)),
            Verdict::Deny(denial) => Err(self.deny(denial, going.tag()).await),
        };
        Came::Answer(match approved {
            Ok(permit) if self.is_over(going.until) => {
                Err(as_refused(self.not_forwarded(permit, &stale(), &going.request_id)))
            }
            Ok(permit) => self.ask_client(permit, &petition, &going, ear).await,
            Err(reply @ Reply::Refused(RefusalKind::EscalationDenied, _)) => {
                return Came::Denied(as_refused(reply));
            }
            Err(reply) => Err(as_refused(reply)),
        })
    }

    /// Records and refuses what nobody is asked about.
    fn not_raised(&self, method: &str, why: &str) -> Came {
        self.record_refused_request(method, why);
        Came::Answer(Err(refused(why)))
    }

    fn not_approved(&self, permit: Permit, going: &Going) -> Reply {
        let rule = "structural-server-request";
        let refusal = Refusal::escalation_denied(rule, "approval was not requested");
        self.not_forwarded(permit, &refusal, &going.request_id)
    }

    /// Finds the server that asks, if something of it is trusted.
    fn petitioner(&self, server: &ServerName, kind: PetitionKind) -> Option<Found> {
        let server = self.servers.get(server)?;
        // SECURITY: a server of which nothing is trusted has no other way to speak either.
        if !server.tools()?.has_trusted() {
            return None;
        }
        let offer = Offer { tool: kind.tool()?, withheld: None };
        Some(Found { server: Arc::clone(server), offer })
    }

    /// Records what was approved, asks the client, and records what came of it.
    async fn ask_client(
        &self,
        permit: Permit,
        petition: &Petition,
        going: &Going,
        ear: &Ear,
    ) -> Outcome {
        let confined = going.found.server.confinement();
        let confined = confined.map_or_else(String::new, |it| it.to_string());
        let recorded = match self.log.record(permit, going.request_id.clone(), &confined) {
            Ok(recorded) => recorded,
            Err(error) => return Err(as_refused(self.unrecorded(&error))),
        };
        let started = Instant::now();
        let said = ear.ask(recorded, &going.flight.cancel, ANSWER_MAX).await;
        let (server, tool) = going.found.names();
        let entry = Entry {
            request_id: Some(going.request_id.clone()),
            server: Some(server.clone()),
            tool: Some(tool.clone()),
            duration_ms: u64::try_from(started.elapsed().as_millis()).ok(),
            ..Entry::new(Kind::Outcome)
        };
        let outcome = match said {
            Ok(Ok(result)) => petition.answer(result).map_err(|why| {
                RpcError::new(
                    code::INTERNAL_ERROR,
                    format!("the client's response is not a valid answer: {why}"),
                )
            }),
            // SECURITY: what the client says of it may hold what a person typed, or anything else of
            // theirs; the server and the record get the number alone.
            Ok(Err(error)) => Err(RpcError::new(error.code, "the client answered with an error")),
            Err(silent) => Err(refused(&silent.to_string())),
        };
        let (outcome, entry) = match outcome {
            Ok(answer) => {
                let (answer, text) = self.masked(answer);
                // What a person types is short, and could be found out by trying.
                let result_digest = match petition.kind {
                    PetitionKind::Sampling => Some(Digest::of(text.as_bytes())),
                    PetitionKind::Elicitation => None,
                };
                let result_bytes = Some(text.len() as u64);
                (Ok(answer), Entry { result_digest, result_bytes, ..entry })
            }
            Err(error) => {
                let reason = Some(Arc::from(error.to_string()));
                (Err(error), Entry { reason, ..entry })
            }
        };
        match self.log.note(entry) {
            Ok(_) => outcome,
            // What cannot be written down is not passed on either.
            Err(error) => Err(as_refused(self.unrecorded(&error))),
        }
    }

    /// Hides our keys in what a server asks, and in what it is told.
    fn masked(&self, said: Json) -> (Json, String) {
        let text = said.to_string();
        let masked = self.redactor.mask_own_keys(text.clone());
        if masked == text {
            return (said, text);
        }
        let said = Json::parse(masked.as_bytes(), JsonLimits::CALL);
        (said.unwrap_or(Json::Null), masked)
    }
}

fn refused(why: &str) -> RpcError {
    RpcError::new(REFUSED, why)
}

/// Makes what a server is told of what would be said to a model.
fn as_refused(reply: Reply) -> RpcError {
    match reply.into_error() {
        Reply::Error(RpcError { code, message, .. }) => RpcError::new(code, message),
        Reply::Nothing => refused("the call that this was for is over"),
        Reply::Result(_) | Reply::Refused(..) => refused("this was not passed on"),
    }
}
