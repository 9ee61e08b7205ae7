//! Resources, prompts and completions: which server is meant, and the call that is judged.
//!
//! Lists are put together; everything else is a call like that of a tool, and answered with an error
//! where a tool would be answered with a result that says so.

use ic_mcp::{Id, RpcError, code, error_line, result_line};
use ic_types::{Json, Object};

use super::{Client, Open, deliver, era};
use crate::broker::{Asked, Flight, ListKind, Reply};
use crate::locked;
use crate::method::CallMethod;
use crate::server::Progress;

/// How many resources a client may follow.
const SUBSCRIBED_MAX: usize = 256;

impl<O: Open> Client<O> {
    /// Lists resources, templates or prompts.
    pub(super) async fn list(
        &mut self,
        kind: ListKind,
        id: Id,
        params: &Object,
    ) -> Result<(), O::Error> {
        if params.get("cursor").is_some() {
            let reason = "there is no such page";
            return self.refuse(Some(&id), code::INVALID_PARAMS, kind.method(), reason).await;
        }
        let broker = self.session(None).await?;
        let (outbox, era) = (self.outbox.clone(), self.era);
        let Some(cancel) = self.fly(&id) else { return self.too_many(&id, kind.method()).await };
        let (flights, end_all) = (self.flights.clone(), self.end_all.clone());
        self.calls.spawn(async move {
            let listed = cancel.run_until_cancelled(broker.list_of(kind)).await;
            flights.land(&id);
            if let Some(listed) = listed {
                let mut result = Object::new();
                result.insert(kind.member(), listed);
                era.complete_list(&mut result);
                let line = result_line(Some(&id), |out| Json::write_object(out, &result));
                deliver(&outbox, broker.redactor().mask_own_keys(line), &end_all).await;
            }
        });
        Ok(())
    }

    /// Serves a call that is not one of a tool.
    pub(super) async fn call_method(
        &mut self,
        method: CallMethod,
        id: Id,
        params: Object,
    ) -> Result<(), O::Error> {
        let broker = self.session(None).await?;
        let name = method.as_str();
        if !broker.offers(method) {
            let reason = format!("no server is known for `{name}`");
            return self.refuse(Some(&id), code::METHOD_NOT_FOUND, name, &reason).await;
        }
        let (mut arguments, meta, token) = match era::taken_apart(params) {
            Ok(taken) => taken,
            Err(reason) => {
                return self.refuse(Some(&id), code::INVALID_PARAMS, name, &reason).await;
            }
        };
        // What a URI names is ours to say.
        arguments.remove("scheme");
        let Some(cancel) = self.fly(&id) else { return self.too_many(&id, name).await };
        let progress = token.map(|token| {
            let (outbox, redactor) = (self.outbox.clone(), broker.redactor());
            Progress { token, outbox, redactor }
        });
        let (left, outbox, flights) =
            (self.left.clone(), self.outbox.clone(), self.flights.clone());
        let (era, end_all) = (self.era, self.end_all.clone());
        let ear = std::sync::Arc::clone(&self.ear);
        let subscribed = std::sync::Arc::clone(&self.subscribed);
        self.calls.spawn(async move {
            let uri = arguments.get("uri").and_then(Json::as_str).map(str::to_owned);
            let meant = cancel.run_until_cancelled(meant(&broker, method, &mut arguments)).await;
            let reply = match meant {
                None => Reply::Nothing,
                Some(None) => {
                    broker.record_refused_request(name, "no server, or more than one, has this");
                    let reason = "no server, or more than one, has what is asked for";
                    Reply::Error(RpcError::new(code::INVALID_PARAMS, reason))
                }
                Some(Some(server)) => {
                    let offered = method.name_for(&server);
                    let turn = broker.turn(&offered);
                    let flight = Flight::new(cancel, left, progress, turn).of_client(ear);
                    broker.call(Asked { name: offered, arguments, meta }, flight).await
                }
            };
            flights.land(&id);
            let line = match reply.into_error() {
                Reply::Result(text) | Reply::Refused(_, text) => {
                    if let (CallMethod::Subscribe, Some(uri)) = (method, uri) {
                        let mut subscribed = locked(&subscribed);
                        if subscribed.len() < SUBSCRIBED_MAX {
                            subscribed.insert(uri);
                        }
                    }
                    result_line(Some(&id), |out| era.complete(out, &text))
                }
                Reply::Error(error) => error_line(Some(&id), &error),
                Reply::Nothing => return,
            };
            deliver(&outbox, line, &end_all).await;
        });
        Ok(())
    }
}

/// Finds the server that is meant, and takes its prefix out of the arguments.
async fn meant(
    broker: &crate::Broker,
    method: CallMethod,
    arguments: &mut Object,
) -> Option<ic_types::ServerName> {
    match method {
        CallMethod::ReadResource | CallMethod::Subscribe => {
            let uri = arguments.get("uri").and_then(Json::as_str)?.to_owned();
            broker.owner_of(&uri, method).await
        }
        CallMethod::GetPrompt => {
            let (server, name) =
                broker.unprefixed(arguments.get("name").and_then(Json::as_str)?)?;
            arguments.insert("name", name);
            Some(server)
        }
        CallMethod::Complete => {
            let Some(Json::Object(reference)) = arguments.get_mut("ref") else { return None };
            if let Some(name) = reference.get("name").and_then(Json::as_str) {
                let (server, name) = broker.unprefixed(name)?;
                reference.insert("name", name);
                return Some(server);
            }
            let uri = reference.get("uri").and_then(Json::as_str)?.to_owned();
            broker.owner_of(&uri, CallMethod::ReadResource).await
        }
    }
}
