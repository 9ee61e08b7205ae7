//! Whether programs in a cage may read packages of a registry: a person is asked, unless a rule denies it.
//!
//! Nothing is connected here, and what is read is not known. Whoever asks remembers the answer for the session.

use std::sync::{Arc, LazyLock};

use ic_audit::{Entry, Kind};
use ic_backend::server::Offer;
use ic_inventory::servers_file::BuiltinServer;
use ic_inventory::tool::Tool;
use ic_policy::petition::REGISTRY;
use ic_policy::{Authority, Effect, Permit, Verdict};
use ic_types::{Json, Object, ServerName, ToolCall};
use tokio_util::sync::CancellationToken;

use super::people::stale;
use super::{Broker, Flight, Found, Going, Origin, Reply};
use crate::refusal::{Refusal, RefusalKind};

/// The tool as which reading a host is judged by rules.
const FETCH: &str = "http_fetch";
/// The rule that is named where nobody was asked.
const RULE: &str = "structural-server-request";

/// A registry that may not be read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NotRead {
    /// Why.
    pub why: String,
    /// Whether somebody said so, so that it need not be asked again.
    pub is_final: bool,
}

impl Broker {
    /// Asks a person whether programs in the cage of `asker` may read packages of `registry` from `host`.
    pub async fn ask_for_registry(
        &self,
        asker: &ServerName,
        registry: &str,
        host: &str,
    ) -> Result<(), NotRead> {
        let open = |why: &str| NotRead { why: why.to_owned(), is_final: false };
        let (mut arguments, server) = (Object::new(), self.inhabitant(asker));
        arguments.insert("registry", registry);
        arguments.insert("host", host);
        let (Some(tool), Some(server)) = (registry_tool(), server) else {
            return Err(open("it cannot be asked about"));
        };
        if let Some(why) = self.rule_against(host) {
            self.record_refused_request(REGISTRY, &why);
            return Err(NotRead { why, is_final: true });
        }
        let found = Found { server, offer: Offer { tool, withheld: None } };
        let (server, tool) = found.names();
        let call = ToolCall { server: server.clone(), tool: tool.clone(), arguments };
        let flight = Flight::new(self.stop.clone(), CancellationToken::new(), None, None);
        let id = self.request_id();
        let mut going = Going::from(Origin::Server, (REGISTRY, &call), found, flight, id);
        let approved = match self.judge.judge_petition(call) {
            Verdict::Escalate(escalation) => self.approved(escalation, &mut going).await,
            // Nothing but a person's yes opens a registry.
            Verdict::Allow(permit) => {
                let refusal = Refusal::escalation_denied(RULE, "approval was not requested");
                Err(self.not_forwarded(permit, &refusal, &going.request_id))
            }
            Verdict::Deny(denial) => Err(self.deny(denial, going.tag()).await),
        };
        match approved {
            Ok(permit) if self.is_over(going.until) => {
                self.not_forwarded(permit, &stale(), &going.request_id);
                Err(open("the approval came too late"))
            }
            Ok(permit) => self.note_read(permit, &going),
            Err(reply) => Err(not_read(&reply)),
        }
    }

    /// Returns why rules deny reading a host, if they do.
    fn rule_against(&self, host: &str) -> Option<String> {
        let is_fetch = |it: &&Arc<dyn ic_backend::backend::Backend>| {
            it.builtin() == Some(BuiltinServer::Fetch)
        };
        let server = match self.servers.values().find(is_fetch) {
            Some(server) => server.name().clone(),
            None => BuiltinServer::Fetch.as_str().parse().ok()?,
        };
        let mut arguments = Object::new();
        arguments.insert("url", format!("https://{host}/"));
        let call = ToolCall { server, tool: FETCH.parse().ok()?, arguments };
        let findings = self.judge.explain_by_name(call);
        let is_denied = findings
            .iter()
            .any(|it| it.effect == Effect::Deny && matches!(it.authority, Authority::Rule(_)));
        is_denied.then(|| format!("a rule of the policy denies reading `{host}`"))
    }

    /// Records what was approved.
    fn note_read(&self, permit: Permit, going: &Going) -> Result<(), NotRead> {
        let id = going.request_id.clone();
        let recorded = self.log.record(permit, id, "none").and_then(|recorded| {
            let (server, tool) = going.found.names();
            self.log.note(Entry {
                request_id: Some(recorded.request_id().to_owned()),
                server: Some(server.clone()),
                tool: Some(tool.clone()),
                ..Entry::new(Kind::Outcome)
            })
        });
        match recorded {
            Ok(_) => Ok(()),
            Err(error) => {
                self.unrecorded(&error);
                Err(NotRead {
                    why: "the approval could not be recorded".to_owned(),
                    is_final: false,
                })
            }
        }
    }
}

/// Says why a registry may not be read.
fn not_read(reply: &Reply) -> NotRead {
    let (why, is_final) = match reply {
        Reply::Refused(RefusalKind::NoHandler, _) => {
            ("it needs approval, and no approver was connected", false)
        }
        Reply::Refused(RefusalKind::EscalationDenied, _) => ("the user denied it", true),
        Reply::Refused(RefusalKind::EscalationExpired, _) => {
            ("it needs approval, and nobody answered in time", false)
        }
        Reply::Refused(
            RefusalKind::Denied
            | RefusalKind::CircuitBreaker
            | RefusalKind::InvalidArguments
            | RefusalKind::Confinement,
            _,
        ) => ("the policy denies it", true),
        Reply::Nothing => ("the session ends", false),
        Reply::Result(_) | Reply::Error(_) => ("the request could not be recorded", false),
    };
    NotRead { why: why.to_owned(), is_final }
}

/// Returns the tool as which reading a registry is judged.
fn registry_tool() -> Option<Arc<Tool>> {
    static TOOL: LazyLock<Option<Arc<Tool>>> = LazyLock::new(|| {
        let mut schema = Object::new();
        schema.insert("type", "object");
        let mut listed = Object::new();
        listed.insert("name", REGISTRY);
        listed.insert("inputSchema", schema);
        Tool::read(Json::Object(listed)).ok().map(Arc::new)
    });
    TOOL.clone()
}
