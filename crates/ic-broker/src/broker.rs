//! One call through the house: find, check, resolve, decide, record, forward, limit, record, reply.
//!
//! The broker decides nothing itself: it asks the policy, and takes the proof of each step by value
//! to the next. It knows no transport; who called, and over what, is the business of `ic-client`.

mod catalog;
mod changing;
mod flight;
mod forward;
mod found;
mod incoming;
mod judged;
mod kept;
mod lists;
mod news;
mod next;
mod of_agent;
mod outcome;
mod people;
mod petitions;
mod planning;
mod registry;
mod reply;
mod setup;
mod shelf;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ic_audit::{AuditError, AuditLog, Entry, Keep, Kind, Redactor};
use ic_backend::backend::Backend;
use ic_backend::levels::Levels;
pub use ic_backend::listing::ListKind;
use ic_backend::server::Turn;
use ic_backend::witness::Witness;
use ic_escalation::Plans;
use ic_home::Clock;
use ic_inventory::servers_file::BuiltinServer;
use ic_judge::{Aside, Judge};
use ic_mcp::{RpcError, code};
use ic_policy::{Denial, Effect, Rule, Verdict};
use ic_types::{Digest, Json, Object, ServerName, ToolCall, ToolName, visible};
use tokio::sync::{RwLock, broadcast, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use crate::breaker::{Breaker, Came};
use crate::questions::Questions;
use crate::refusal::{Refusal, RefusalKind};
use crate::{chain, locked};

use catalog::Catalog;
pub use catalog::{OfferedTool, ToolList};
use changing::Changing;
pub use flight::Flight;
use flight::{CallTag, Going, Origin};
use found::Found;
pub use news::Announcement;
pub use people::{Attendance, FORWARD_GRACE, Patience, People};
pub use planning::REQUEST_APPROVAL;
pub use registry::NotRead;
pub use reply::Reply;
pub use setup::Setup;
use shelf::Shelf;

/// The trusted kernel of one session.
pub struct Broker {
    judge: Arc<Judge>,
    log: Arc<AuditLog>,
    /// Where the long steps of calls are done, if they can be very long.
    aside: Aside,
    clock: Arc<dyn Clock>,
    redactor: Arc<Redactor>,
    servers: BTreeMap<ServerName, Arc<dyn Backend>>,
    catalog: RwLock<Arc<Catalog>>,
    /// The digest of the list of tools that clients were given last.
    last_list: Mutex<Option<Digest>>,
    /// The list of tools as it was made last.
    tool_list: tokio::sync::Mutex<Option<Arc<ToolList>>>,
    /// What servers have besides tools, and whose it is.
    shelf: Shelf,
    breaker: Mutex<Breaker>,
    /// Taken by the one call that changes files, from its judgement to its end.
    changing: Changing,
    questions: Mutex<Questions>,
    people: People,
    /// What was approved before it was asked for.
    plans: Plans,
    announcements: broadcast::Sender<Announcement>,
    /// How much of what servers log clients want to hear.
    levels: Arc<Levels>,
    witness: Arc<dyn Witness>,
    requests: AtomicU64,
    /// Keeps the ids of this run apart from those of earlier runs of the session.
    run: String,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// A call as a client asks for it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The name under which the tool was offered.
    pub name: String,
    /// The arguments.
    pub arguments: Object,
    /// What else the protocol lets travel with a call, to be passed on.
    pub meta: Object,
}

impl Broker {
    /// Serves one call.
    pub async fn call(&self, mut asked: Asked, flight: Flight) -> Reply {
        // SECURITY: only this program itself says what an agent did with its own git.
        asked.meta.remove(ic_servers::git::INCOMING);
        let id = self.request_id();
        let session = &self.people.session;
        let span = tracing::info_span!("call", %session, id, tool = %visible(&asked.name));
        // Wrapping costs a copy of the future, which is large.
        match span.is_disabled() {
            true => self.call_as(asked, flight, id).await,
            false => Box::pin(self.call_as(asked, flight, id)).instrument(span).await,
        }
    }

    async fn call_as(&self, asked: Asked, mut flight: Flight, request_id: String) -> Reply {
        if asked.name == REQUEST_APPROVAL {
            return Box::pin(self.request_approval(asked, flight, &request_id)).await;
        }
        // A call that is taken back before it was judged has left no trace that a record could name.
        let found = async {
            // What is offered may change while the call waits for its turn.
            if let Some(turn) = &mut flight.turn {
                turn.come().await;
            }
            self.find(&asked.name).await
        };
        match flight.cancel.clone().run_until_cancelled(found).await {
            None => Reply::Nothing,
            Some(Ok(found)) => self.serve(asked, found, flight, &request_id, 0).await,
            Some(Err(refusal)) => self.refuse(&asked, &refusal, None, &request_id),
        }
    }

    /// Returns what a call of the tool offered as `name` is bound to, if this process itself makes it.
    ///
    /// To be asked in the order in which the calls are made. `asks` says whether a person is being
    /// asked about it.
    pub fn flight(
        &self,
        name: &str,
        cancel: CancellationToken,
        asks: watch::Sender<bool>,
    ) -> Flight {
        let (left, turn) = (CancellationToken::new(), self.turn(name));
        Flight::new(cancel, left, None, turn).telling(asks)
    }

    /// Returns the place of a call in the order of calls, if its server wants them one by one.
    ///
    /// To be asked in the order in which the calls came in.
    pub fn turn(&self, name: &str) -> Option<Turn> {
        self.server_of(name)?.turn()
    }

    /// Serves a call whose tool was found; so many redirects led to it.
    async fn serve(
        &self,
        mut asked: Asked,
        found: Found,
        mut flight: Flight,
        id: &str,
        n_hops: usize,
    ) -> Reply {
        if let Err(refusal) = self.begin_to_change(&asked, &found, &mut flight).await {
            return self.refuse(&asked, &refusal, Some(found.names()), id);
        }
        let weight = found.server.weight(&asked.arguments);
        let judged = self.judged(&mut asked, &found, flight.brought.as_ref()).await;
        let (verdict, repetition) = match judged {
            Ok(judged) => judged,
            Err(refusal) => return self.refuse(&asked, &refusal, Some(found.names()), id),
        };
        tracing::debug!(verdict = %verdict.effect(), "judged");
        let tag = CallTag { weight, repetition, request_id: id, n_hops };
        match verdict {
            Verdict::Deny(denial) => self.deny(denial, tag).await,
            Verdict::Allow(permit) => {
                let going = Going::new(asked, found, flight, tag);
                self.forward(permit, going).await
            }
            Verdict::Escalate(escalation) => {
                let going = Going::new(asked, found, flight, tag);
                // Rare, and large: a call that is not asked about does not carry it along.
                Box::pin(self.escalated(escalation, going)).await
            }
        }
    }

    /// Records and answers a call that the policy denies.
    async fn deny(&self, denial: Denial, tag: CallTag<'_>) -> Reply {
        let CallTag { weight, repetition, request_id, .. } = tag;
        let (log, id) = (Arc::clone(&self.log), request_id.to_owned());
        let recorded = self
            .aside
            .run(weight, move || (log.record_denial(&denial, &id), Refusal::denied(&denial)));
        let (recorded, refusal) = recorded.await;
        self.denied(recorded, refusal, repetition)
    }

    /// Answers a call that the policy did not allow.
    fn denied(&self, recorded: Result<u64, AuditError>, refusal: Refusal, call: Digest) -> Reply {
        let now = self.clock.now();
        let mut breaker = locked(&self.breaker);
        let refused = breaker.refuses(&call, now);
        breaker.remember(call, Came::Denial, now);
        drop(breaker);
        let refusal = refused.map_or(refusal, repeated);
        self.answered(recorded, &refusal)
    }

    /// Records and answers a call that never came before the policy.
    fn refuse(
        &self,
        asked: &Asked,
        refusal: &Refusal,
        tool: Option<(&ServerName, &ToolName)>,
        request_id: &str,
    ) -> Reply {
        let mut arguments = asked.arguments.clone();
        if tool.is_none() {
            // There is no field for a name that is none.
            let mut with_name = Object::new();
            with_name.insert("name", asked.name.chars().take(256).collect::<String>());
            with_name.insert("arguments", arguments);
            arguments = with_name;
        }
        let entry = refused_entry(refusal, tool, Some(arguments), request_id);
        self.answered(self.log.note(entry), refusal)
    }

    fn answered(&self, recorded: Result<u64, AuditError>, refusal: &Refusal) -> Reply {
        tracing::info!(rule = refusal.rule(), "refused");
        match recorded {
            // A reason can hold the last words of a server.
            Ok(_) => {
                let text = Json::Object(refusal.to_result()).to_string();
                Reply::Refused(refusal.kind(), self.redactor.mask_own_keys(text))
            }
            Err(error) => self.unrecorded(&error),
        }
    }

    /// Records a request that is none of those that are served.
    pub fn record_refused_request(&self, what: &str, reason: &str) {
        let refusal = Refusal::structural(RefusalKind::Denied, "structural-unknown-method", reason);
        let mut arguments = Object::new();
        arguments.insert("request", what.chars().take(256).collect::<String>());
        let request_id = self.request_id();
        let entry = refused_entry(&refusal, None, Some(arguments), &request_id);
        if let Err(error) = self.log.note(entry) {
            self.witness.notice(&chain(&error));
        }
    }

    /// Records something about the session itself.
    pub fn record_event(&self, event: Object) -> Result<(), AuditError> {
        let arguments = Some(Json::Object(event));
        self.log.note(Entry { arguments, ..Entry::new(Kind::Session) }).map(|_| ())
    }

    /// Returns what the session announces from now on.
    pub fn announcements(&self) -> broadcast::Receiver<Announcement> {
        self.announcements.subscribe()
    }

    /// Returns what clients want to hear of servers.
    pub fn levels(&self) -> &Arc<Levels> {
        &self.levels
    }

    /// Returns what hides our keys.
    pub fn redactor(&self) -> Arc<Redactor> {
        Arc::clone(&self.redactor)
    }

    fn unrecorded(&self, error: &AuditError) -> Reply {
        self.broken_off(chain(error))
    }

    /// Answers a call that was forwarded, and whose outcome cannot be recorded.
    fn made_but_unrecorded(&self, error: &AuditError) -> Reply {
        self.broken_off(format!(
            "this call was forwarded, but its outcome cannot be recorded and is not passed on: {}",
            chain(error)
        ))
    }

    fn broken_off(&self, message: String) -> Reply {
        tracing::error!(message, "broken off");
        self.witness.notice(&message);
        Reply::Error(RpcError::new(code::INTERNAL_ERROR, message))
    }

    fn request_id(&self) -> String {
        format!("{}-{}", self.run, self.requests.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns the names of the servers, in order.
    pub fn server_names(&self) -> impl Iterator<Item = &ServerName> {
        self.servers.keys()
    }

    /// Returns the name of our own server for repositories, if it is among them.
    pub fn git_server(&self) -> Option<&ServerName> {
        let is_git = |server: &&Arc<dyn Backend>| server.builtin() == Some(BuiltinServer::Git);
        self.servers.values().find(is_git).map(|server| server.name())
    }

    /// Returns whether the policy lets a call through by itself; nothing is called, asked or recorded.
    pub fn would_allow(&self, call: ToolCall) -> bool {
        match self.judge.judge(call) {
            Verdict::Allow(_) => true,
            Verdict::Deny(_) | Verdict::Escalate(_) => false,
        }
    }

    /// Returns what judges the calls. The cage of an agent follows the same policy.
    pub fn judge(&self) -> &Arc<Judge> {
        &self.judge
    }

    /// Returns what the rules of the policy say, in order.
    pub fn rules(&self) -> impl Iterator<Item = &str> {
        self.judge.policy.rules().iter().map(Rule::description)
    }

    /// Records a request to a model: what there is to say of it, and how long it took.
    pub fn record_completion(&self, told: Object, duration: Duration) -> Result<(), AuditError> {
        let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let (arguments, duration_ms) = (Some(told.into()), Some(duration_ms));
        self.log.note(Entry { arguments, duration_ms, ..Entry::new(Kind::Llm) }).map(|_| ())
    }

    /// Ends the servers; call it once every call is done. The session that opened the log closes it.
    pub async fn close(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Returns what makes two calls the same call.
fn repetition(call: &ToolCall) -> Digest {
    let mut arguments = String::with_capacity(256);
    Json::write_canonical_object(&mut arguments, &call.arguments);
    let parts = [call.server.as_str(), call.tool.as_str(), &arguments];
    Digest::of_parts(parts.into_iter().map(str::as_bytes))
}

fn repeated(count: u32) -> Refusal {
    let reason = format!(
        "this very call was made {count} times within a minute and always ended the same way; it is \
         refused for a minute"
    );
    Refusal::structural(RefusalKind::CircuitBreaker, "circuit-breaker", reason)
}

fn refused_entry(
    refusal: &Refusal,
    tool: Option<(&ServerName, &ToolName)>,
    arguments: Option<Object>,
    request_id: &str,
) -> Entry {
    Entry {
        request_id: Some(request_id.to_owned()),
        server: tool.map(|(server, _)| server.clone()),
        tool: tool.map(|(_, tool)| tool.clone()),
        arguments: arguments.map(Json::Object),
        verdict: Some(Effect::Deny),
        rule: Some(Arc::from(refusal.rule())),
        reason: Some(Arc::from(refusal.reason())),
        keep: Keep::Brief,
        ..Entry::new(Kind::Intent)
    }
}

impl std::fmt::Debug for Broker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Broker").field("servers", &self.servers.keys()).finish_non_exhaustive()
    }
}
