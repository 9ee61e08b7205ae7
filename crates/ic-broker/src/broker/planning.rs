//! Plans: an agent asks about several calls at once, before it makes them.
//!
//! ```text
//! calls ─find, check, judge each─▶ one is denied, or cannot be planned: refused
//!                          └─▶ shown together ─▶ a person ─▶ judged again ─▶ recorded ─▶ Plans::add
//! later: the very same call ─▶ Escalation ─Plans::answer─▶ Permit, once
//! ```
//!
//! Nothing is forwarded here, and an agent has no words of its own: what a person sees is the calls. What a
//! planned call covers is decided in `ic_escalation`.

use std::sync::{Arc, LazyLock};

use ic_audit::{Entry, Kind};
use ic_backend::server::Offer;
use ic_escalation::PlannedCall;
use ic_inventory::tool::{Tool, offered_name};
use ic_policy::{Answer, Effect, Escalation, Permit, Ticket, Verdict, plan};
use ic_types::{Json, JsonLimits, Object, ServerName, ToolCall, ToolName};

use super::catalog::OfferedTool;
use super::flight::Origin;
use super::people::stale;
use super::{Asked, Broker, Flight, Found, Going, Reply};
use crate::refusal::{Refusal, RefusalKind};

/// The tool by which an agent asks, as it is offered; no server can have this name.
pub const REQUEST_APPROVAL: &str = "ironcurtain__request_approval";

/// The rule that is named where a plan is refused.
const RULE: &str = "structural-plan";
const DESCRIPTION: &str = "Asks the user once about several calls that need approval, before you make them: \
    each call complete, with the arguments that you will send. What is approved may be made once, exactly as \
    given, within 10 minutes; any difference is asked about again. Calls that are denied cannot be in it, nor \
    can pushes and calls about which the user is always asked one by one.";

/// A plan whose calls were judged.
struct Weighed {
    /// The calls as a person is shown them.
    shown: Object,
    /// Those that need approval.
    planned: Vec<PlannedCall>,
}

impl Broker {
    /// Judges the calls of a plan, asks about them together, and keeps what was approved.
    pub(super) async fn request_approval(
        &self,
        asked: Asked,
        flight: Flight,
        request_id: &str,
    ) -> Reply {
        let Some((found, tool)) = self.planner() else {
            let why = "plans are not available in this session";
            let refusal = Refusal::structural(RefusalKind::Denied, RULE, why);
            return self.refuse(&asked, &refusal, None, request_id);
        };
        let names = (found.server.name().clone(), tool.name.clone());
        let named = Some((&names.0, &names.1));
        if let Err(violation) = tool.schema.check(&asked.arguments) {
            let (kind, rule) = (RefusalKind::InvalidArguments, "structural-invalid-arguments");
            let refusal = Refusal::structural(kind, rule, violation.to_string());
            return self.refuse(&asked, &refusal, named, request_id);
        }
        let weighed = match self.weigh(&asked.arguments).await {
            Ok(weighed) => weighed,
            Err(refusal) => return self.refuse(&asked, &refusal, named, request_id),
        };
        if weighed.planned.is_empty() {
            return self.nothing_to_approve(&asked, &names, request_id);
        }
        let call = ToolCall { server: names.0, tool: names.1, arguments: asked.arguments };
        let (name, id) = (asked.name.as_str(), request_id.to_owned());
        let mut going = Going::from(Origin::Plan, (name, &call), found, flight, id);
        let approved = match self.judge.judge_plan(call, weighed.shown) {
            Verdict::Escalate(escalation) => self.approved(escalation, &mut going).await,
            // Nothing but a person's yes approves a plan.
            Verdict::Allow(permit) => {
                let refusal = Refusal::escalation_denied(RULE, "approval was not requested");
                Err(self.not_forwarded(permit, &refusal, &going.request_id))
            }
            Verdict::Deny(denial) => Err(self.deny(denial, going.tag()).await),
        };
        match approved {
            Ok(permit) if self.is_over(going.until) => {
                self.not_forwarded(permit, &stale(), &going.request_id)
            }
            Ok(permit) => self.keep_plan(permit, &going).await,
            Err(reply) => reply,
        }
    }

    /// Judges the calls of a plan anew, as they are when the answer comes.
    pub(super) async fn judge_plan_again(
        &self,
        escalation: &Escalation,
        going: &Going,
    ) -> Result<Verdict, Reply> {
        let call = escalation.call().asked().clone();
        match self.weigh(&call.arguments).await {
            Ok(weighed) => Ok(self.judge.judge_plan(call, weighed.shown)),
            Err(refusal) => {
                let meta = Object::new();
                let asked = Asked { name: going.name.clone(), arguments: call.arguments, meta };
                Err(self.refuse(&asked, &refusal, Some(going.found.names()), &going.request_id))
            }
        }
    }

    /// Answers a call that was approved beforehand, and records it; `None` if it was not.
    pub(super) fn planned(
        &self,
        escalation: &Escalation,
        ticket: &Ticket,
        going: &Going,
    ) -> Result<Option<Answer>, Reply> {
        if going.origin != Origin::Agent {
            return Ok(None);
        }
        let Some(answer) = self.plans.answer(escalation, ticket, self.clock.now()) else {
            return Ok(None);
        };
        let mut event = Object::new();
        event.insert("event", "planned");
        event.insert("escalationId", ticket.escalation.as_str());
        let (verdict, decided_by) = (Some(Effect::Allow), Some(answer.decided_by()));
        let entry = Entry { verdict, decided_by, ..Entry::new(Kind::Escalation) };
        self.record_of(event, entry, going)?;
        Ok(Some(answer))
    }

    /// Finds, checks and judges each call of a plan.
    async fn weigh(&self, arguments: &Object) -> Result<Weighed, Refusal> {
        let Some(Json::Array(calls)) = arguments.get(plan::CALLS) else {
            return Err(Refusal::structural(RefusalKind::InvalidArguments, RULE, "no calls"));
        };
        let (mut shown, mut planned) = (Vec::new(), Vec::new());
        for (number, call) in (1..).zip(calls) {
            let (call, judged) = self.weigh_one(call).await.map_err(|refusal| {
                let Refused { kind, rule, reason } = refusal;
                Refusal::structural(kind, &rule, format!("call {number} of the plan: {reason}"))
            })?;
            shown.push(Json::Object(call));
            planned.extend(judged);
        }
        let mut object = Object::new();
        object.insert(plan::CALLS, shown);
        Ok(Weighed { shown: object, planned })
    }

    async fn weigh_one(&self, call: &Json) -> Result<(Object, Option<PlannedCall>), Refused> {
        let member = |key: &str| match call {
            Json::Object(call) => call.get(key),
            _ => None,
        };
        let (Some(Json::String(name)), Some(Json::Object(arguments))) =
            (member(TOOL), member(ARGUMENTS))
        else {
            return Err(Refused::of(RefusalKind::InvalidArguments, RULE, "it is not a call"));
        };
        let name = offered(name);
        let found = self.find(&name).await?;
        let mut asked = Asked { name, arguments: arguments.clone(), meta: Object::new() };
        let (verdict, _) = self.judged(&mut asked, &found, None).await?;
        let mut told = Object::new();
        told.insert("server", found.server.name().as_str());
        told.insert(TOOL, found.offer.tool.name.as_str());
        told.insert(ARGUMENTS, verdict.call().sent().clone());
        told.insert("resolved", verdict.call().resolved_json());
        let planned = match &verdict {
            Verdict::Allow(_) => None,
            Verdict::Escalate(escalation) => {
                let (identity, hash) = (found.server.identity(), found.offer.tool.hash());
                let call = PlannedCall::of(escalation, identity, hash).map_err(|why| {
                    Refused::of(RefusalKind::Denied, verdict.rule(), &why.to_string())
                })?;
                told.insert("reason", verdict.reason());
                told.insert("rule", verdict.rule());
                let roles = verdict.escalated_roles().iter();
                told.insert("roles", roles.map(|it| Json::from(it.as_str())).collect::<Vec<_>>());
                Some(call)
            }
            Verdict::Deny(_) => {
                return Err(Refused::of(RefusalKind::Denied, verdict.rule(), verdict.reason()));
            }
        };
        Ok((told, planned))
    }

    /// Records what was approved, and puts it in force.
    async fn keep_plan(&self, permit: Permit, going: &Going) -> Reply {
        // What was approved is known by what was shown; what it is known by later has to be the same.
        let weighed = self.weigh(&permit.call().asked().arguments).await;
        let weighed = match weighed {
            Ok(weighed) if weighed.shown == *permit.call().sent() => weighed,
            Ok(_) | Err(_) => {
                let why = "what the calls are about changed while approval was requested";
                let refusal = Refusal::escalation_denied(RULE, why);
                return self.not_forwarded(permit, &refusal, &going.request_id);
            }
        };
        let n_planned = weighed.planned.len();
        // SECURITY: recorded before it can be used.
        let recorded = match self.log.record(permit, going.request_id.clone(), "none") {
            Ok(recorded) => recorded,
            Err(error) => return self.unrecorded(&error),
        };
        let entry = Entry {
            request_id: Some(recorded.request_id().to_owned()),
            server: Some(going.found.names().0.clone()),
            tool: Some(going.found.names().1.clone()),
            ..Entry::new(Kind::Outcome)
        };
        if let Err(why) = self.plans.add(&weighed.planned, self.clock.now()) {
            let entry = Entry { reason: Some(Arc::from(why.to_string())), ..entry };
            return match self.log.note(entry) {
                Ok(_) => said(&format!("The calls were not approved: {why}."), true),
                Err(error) => self.unrecorded(&error),
            };
        }
        if let Err(error) = self.log.note(entry) {
            return self.unrecorded(&error);
        }
        let calls = ic_types::counted(n_planned as u64, "call that needs", "calls that need");
        said(
            &format!(
                "APPROVED: the {calls} approval may be made now, each once and exactly as given, within 10 \
                 minutes."
            ),
            false,
        )
    }

    fn nothing_to_approve(
        &self,
        asked: &Asked,
        (server, tool): &(ServerName, ToolName),
        request_id: &str,
    ) -> Reply {
        let why = "none of the calls needs approval";
        let entry = Entry {
            request_id: Some(request_id.to_owned()),
            server: Some(server.clone()),
            tool: Some(tool.clone()),
            arguments: Some(Json::Object(asked.arguments.clone())),
            verdict: Some(Effect::Allow),
            rule: Some(Arc::from(RULE)),
            reason: Some(Arc::from(why)),
            ..Entry::new(Kind::Intent)
        };
        match self.log.note(entry) {
            Ok(_) => said("None of these calls needs approval: make them.", false),
            Err(error) => self.unrecorded(&error),
        }
    }

    /// Returns what stands in the place of a server, and its one tool.
    fn planner(&self) -> Option<(Found, Arc<Tool>)> {
        let tool = tool()?;
        let server = self.inhabitant(&plan::SERVER.parse().ok()?)?;
        let offer = Offer { tool: Arc::clone(&tool), withheld: None };
        Some((Found { server, offer }, tool))
    }
}

/// Returns the tool as it is offered beside those of servers.
pub(super) fn offered_tool() -> Option<OfferedTool> {
    let mut listed = listed();
    listed.insert("name", REQUEST_APPROVAL);
    Some(OfferedTool {
        server: plan::SERVER.parse().ok()?,
        tool: plan::TOOL.parse().ok()?,
        name: REQUEST_APPROVAL.to_owned(),
        listed,
    })
}

const TOOL: &str = "tool";
const ARGUMENTS: &str = "arguments";

/// Why a call cannot stand in a plan.
struct Refused {
    kind: RefusalKind,
    rule: String,
    reason: String,
}

impl Refused {
    fn of(kind: RefusalKind, rule: &str, reason: &str) -> Self {
        Self { kind, rule: rule.to_owned(), reason: reason.to_owned() }
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self::of(refusal.kind(), refusal.rule(), refusal.reason())
    }
}

/// Takes a tool's name as scripts write it (`server.tool`) or as it is offered.
fn offered(name: &str) -> String {
    let parsed = name.split_once('.').and_then(|(server, tool)| {
        let (server, tool): (ServerName, ToolName) = (server.parse().ok()?, tool.parse().ok()?);
        Some(offered_name(&server, &tool))
    });
    parsed.unwrap_or_else(|| name.to_owned())
}

fn said(text: &str, is_error: bool) -> Reply {
    let mut content = Object::new();
    content.insert("type", "text");
    content.insert("text", text);
    let mut result = Object::new();
    result.insert("content", vec![Json::Object(content)]);
    result.insert("isError", is_error);
    Reply::Result(Json::Object(result).to_string())
}

fn tool() -> Option<Arc<Tool>> {
    static PLAN: LazyLock<Option<Arc<Tool>>> =
        LazyLock::new(|| Tool::read(Json::Object(listed())).ok().map(Arc::new));
    PLAN.clone()
}

/// Returns the tool as it is listed, by its own name.
fn listed() -> Object {
    let schema = format!(
        r#"{{"type":"object","properties":{{"{calls}":{{"type":"array","minItems":1,"maxItems":{max},"items":
        {{"type":"object","properties":{{"{TOOL}":{{"type":"string","description":"The name of the tool, as it is listed."}},
        "{ARGUMENTS}":{{"type":"object","description":"All of its arguments."}}}},
        "required":["{TOOL}","{ARGUMENTS}"],"additionalProperties":false}}}}}},
        "required":["{calls}"],"additionalProperties":false}}"#,
        calls = plan::CALLS,
        max = plan::CALLS_MAX,
    );
    let mut listed = Object::new();
    listed.insert("name", plan::TOOL);
    listed.insert("description", DESCRIPTION);
    let schema = Json::parse(schema.as_bytes(), JsonLimits::CALL);
    listed.insert("inputSchema", schema.unwrap_or(Json::Null));
    listed
}
