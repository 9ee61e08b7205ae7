//! Calls of servers that may write where the host looks for what it executes: looked after on both sides,
//! and what had to be put back is asked about.
//!
//! ```text
//! look ─▶ call ─▶ look ─▶ as it was: the result is passed on
//!                   └──▶ put back ─▶ judged, as writing just that ─▶ a person ─▶ installed, or it stays away
//! ```
//!
//! What counts, and how it is put back, is in `planted`; when it is looked at is in `server/warden.rs`.

use std::sync::{Arc, LazyLock};

use ic_audit::{Entry, Kind};
use ic_backend::backend::Backend;
use ic_backend::planted::{Keepable, PutBack};
use ic_backend::server::Offer;
use ic_inventory::tool::Tool;
use ic_policy::host_executes::KEEP;
use ic_policy::{Permit, Verdict};
use ic_types::{CanonicalPath, Digest, Json, Object, ToolCall};
use tokio_util::sync::CancellationToken;

use super::people::stale;
use super::{Broker, Flight, Found, Going, Origin, Reply};
use crate::refusal::{Refusal, RefusalKind};

/// Asks about what no call can tell of.
pub(super) async fn ask_apart(broker: Arc<Broker>, server: Arc<dyn Backend>, done: PutBack) {
    let (cancel, left) = (broker.stop.clone(), CancellationToken::new());
    let flight = Flight::new(cancel, left, None, None);
    let said = broker.ask_to_keep(&server, &done, flight).await;
    broker.witness.notice(&format!("server `{}`: {said}", server.name()));
}

impl Broker {
    /// Records and answers a call after which something was put back.
    pub(super) async fn put_back(
        &self,
        (server, flight): (&Arc<dyn Backend>, Flight),
        done: &PutBack,
        entry: Entry,
        call: Digest,
    ) -> Reply {
        let said = self.ask_to_keep(server, done, flight).await;
        let name = server.name().as_str();
        let (why, reason) = (done.told(name), done.told_in_full(name));
        let reason = format!("{reason}; {said}");
        self.failed_with(
            &format!("{why}. {said}"),
            Entry { reason: Some(Arc::from(reason)), ..entry },
            call,
        )
    }

    /// Records and answers a call that is not made, because something had to be put back before.
    pub(super) async fn put_back_before(
        &self,
        permit: Permit,
        (server, flight): (&Arc<dyn Backend>, Flight),
        done: &PutBack,
        request_id: &str,
    ) -> Reply {
        let said = self.ask_to_keep(server, done, flight).await;
        let reason = format!(
            "{}. {said} The call was not made, because this was found before it; try again",
            done.told(server.name().as_str())
        );
        let refusal = Refusal::structural(RefusalKind::Denied, "server-unavailable", reason);
        self.not_forwarded(permit, &refusal, request_id)
    }

    /// Asks a person whether to keep what was put back, and keeps it if they say so; says what came of it.
    pub(super) async fn ask_to_keep(
        &self,
        server: &Arc<dyn Backend>,
        done: &PutBack,
        flight: Flight,
    ) -> String {
        if done.away.is_empty() {
            return "There is nothing that could be kept.".to_owned();
        }
        let done = done.clone();
        let reading = tokio::task::spawn_blocking(move || Keepable::of(&done));
        let keepable = reading.await.unwrap_or_default();
        let others = keepable.others.iter().take(OTHERS_MAX);
        let others = others.fold(String::new(), |told, (path, why)| {
            format!("{told} `{path}` cannot be kept: {why}.")
        });
        let Some(tool) = keep_tool().filter(|_| !keepable.is_empty()) else {
            return format!("It stays put back.{others}");
        };
        let found = Found { server: Arc::clone(server), offer: Offer { tool, withheld: None } };
        let (name, tool) = found.names();
        let call =
            ToolCall { server: name.clone(), tool: tool.clone(), arguments: keepable.arguments() };
        let id = self.request_id();
        let mut going = Going::from(Origin::Host, (KEEP, &call), found, flight, id);
        let paths: Vec<CanonicalPath> = keepable.paths().cloned().collect();
        let approved = match self.judge.judge_kept(call, &paths) {
            Verdict::Escalate(escalation) => self.approved(escalation, &mut going).await,
            // Nothing but a person's yes, or a grant of just these bytes, keeps anything.
            Verdict::Allow(permit) => {
                let refusal = Refusal::escalation_denied(RULE, "approval was not requested");
                Err(self.not_forwarded(permit, &refusal, &going.request_id))
            }
            Verdict::Deny(denial) => Err(self.deny(denial, going.tag()).await),
        };
        let said = match approved {
            Ok(permit) if self.is_over(going.until) => {
                self.not_forwarded(permit, &stale(), &going.request_id);
                "It stays put back: the approval came too late.".to_owned()
            }
            Ok(permit) => self.keep_approved(permit, keepable, &going).await,
            Err(reply) => format!("It stays put back: {}.", why_not(&reply)),
        };
        format!("{said}{others}")
    }

    /// Records what was approved, installs it, and records what came of it.
    async fn keep_approved(&self, permit: Permit, keepable: Keepable, going: &Going) -> String {
        let id = going.request_id.clone();
        let recorded = match self.log.record(permit, id, "none") {
            Ok(recorded) => recorded,
            Err(error) => {
                self.unrecorded(&error);
                return "It stays put back: the approval could not be recorded.".to_owned();
            }
        };
        let request_id = recorded.request_id().to_owned();
        let installing = Arc::clone(&going.found.server).install(recorded, keepable);
        let (installed, failed) = installing.await;
        let names = |paths: &[CanonicalPath]| {
            let names: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
            names.join(", ")
        };
        let mut said = match installed.is_empty() {
            true => "Nothing was kept, though it was approved.".to_owned(),
            false => format!("Kept, because it was approved: {}.", names(&installed)),
        };
        if !failed.is_empty() {
            said = format!("{said} Not kept: {}.", failed.join("; "));
        }
        let (server, tool) = going.found.names();
        let entry = Entry {
            request_id: Some(request_id),
            server: Some(server.clone()),
            tool: Some(tool.clone()),
            reason: Some(Arc::from(said.as_str())),
            ..Entry::new(Kind::Outcome)
        };
        if let Err(error) = self.log.note(entry) {
            self.unrecorded(&error);
        }
        said
    }
}

/// The rule that is named where nothing is kept whatever the policy says.
const RULE: &str = "structural-host-executes";
/// How much of what cannot be kept is told.
const OTHERS_MAX: usize = 10;

/// Says why nothing is kept.
fn why_not(reply: &Reply) -> &'static str {
    match reply {
        Reply::Refused(RefusalKind::NoHandler, _) => "no approver was connected",
        Reply::Refused(RefusalKind::EscalationDenied, _) => "keeping it was denied",
        Reply::Refused(RefusalKind::EscalationExpired, _) => "no answer in time",
        Reply::Refused(
            RefusalKind::Denied
            | RefusalKind::CircuitBreaker
            | RefusalKind::InvalidArguments
            | RefusalKind::Confinement,
            _,
        ) => "the policy denies it",
        Reply::Nothing => "the call was taken back",
        Reply::Result(_) | Reply::Error(_) => "the request could not be recorded",
    }
}

/// Returns the tool as which keeping something is judged.
fn keep_tool() -> Option<Arc<Tool>> {
    static TOOL: LazyLock<Option<Arc<Tool>>> = LazyLock::new(|| {
        let mut schema = Object::new();
        schema.insert("type", "object");
        let mut listed = Object::new();
        listed.insert("name", KEEP);
        listed.insert("inputSchema", schema);
        Tool::read(Json::Object(listed)).ok().map(Arc::new)
    });
    TOOL.clone()
}
