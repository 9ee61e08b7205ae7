//! Requests that take their time: lists and calls, each in a task of its own.
//!
//! Lists are put together. For resources, prompts and completions it is found out which server is meant;
//! then they are calls like those of a tool, and answered with an error where a tool would be answered with
//! a result that says so. Whether a call may be made is not decided here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use ic_backend::server::{Following, Progress};
use ic_broker::broker::{Asked, Broker, Flight, ListKind, Reply, ToolList};
use ic_judge::method::{CallMethod, SCHEME, URI};
use ic_mcp::{Id, RpcError, code, error_line, result_line};
use ic_types::{Json, Object, ServerName};
use tokio::sync::watch;

use super::flights::FLIGHTS_MAX;
use super::{Client, Open, era};
use crate::locked;

/// The method that ends a subscription.
pub(super) const UNSUBSCRIBE: &str = "resources/unsubscribe";

/// The resources that a client follows, by what it calls them.
pub(super) type Subscribed = HashMap<String, Option<Following>>;

/// How many resources a client may follow.
const SUBSCRIBED_MAX: usize = 256;
/// The code of the answer to a client that follows that many.
const FOLLOWS_TOO_MUCH: i64 = -32_000;

/// What a client asked to be listed.
enum Listed {
    /// The tools, written once for everybody.
    Tools(Arc<ToolList>),
    /// Resources, templates or prompts.
    Others(Vec<Json>),
}

impl Listed {
    /// Writes the result: the list in its `member`, and the `rest`.
    fn write(
        self,
        out: &mut String,
        (member, rest): (&str, &Object),
        mask: impl FnOnce(String) -> String,
    ) {
        out.push('{');
        Json::write_text(out, member);
        out.push(':');
        match self {
            Self::Tools(list) => out.push_str(list.text()),
            // What servers say of what they have is text of strangers, like any result.
            Self::Others(listed) => {
                out.push_str(&mask(Json::Array(listed).to_string()));
            }
        }
        for (key, value) in rest.iter() {
            out.push(',');
            Json::write_text(out, key);
            out.push(':');
            value.write(out);
        }
        out.push('}');
    }
}

impl<O: Open> Client<O> {
    /// Lists tools.
    pub(super) async fn list_tools(&mut self, id: Id, params: &Object) -> Result<(), O::Error> {
        // It says only then whether there is one.
        self.session(None).await?;
        let scripts = self.open.script_tool();
        let listed = |broker: Arc<Broker>| async move {
            match scripts {
                Some(tool) => Listed::Others(vec![tool.listed()]),
                None => Listed::Tools(broker.list_tools().await),
            }
        };
        self.list(("tools/list", "tools"), (id, params), listed).await
    }

    /// Lists resources, templates or prompts.
    pub(super) async fn list_of(
        &mut self,
        kind: ListKind,
        id: Id,
        params: &Object,
    ) -> Result<(), O::Error> {
        let listed =
            move |broker: Arc<Broker>| async move { Listed::Others(broker.list_of(kind).await) };
        self.list((kind.method(), kind.member()), (id, params), listed).await
    }

    /// Answers with a list, in the member of the result that the method has for it.
    async fn list<L: Future<Output = Listed> + Send + 'static>(
        &mut self,
        (method, member): (&'static str, &'static str),
        (id, params): (Id, &Object),
        listed: impl FnOnce(Arc<Broker>) -> L,
    ) -> Result<(), O::Error> {
        if params.get("cursor").is_some() {
            // There is one page, so no cursor of ours can be known.
            let reason = "there is no such page";
            return self.refuse(Some(&id), code::INVALID_PARAMS, method, reason).await;
        }
        let broker = self.session(None).await?;
        let Some(airborne) = self.take_off(&id) else { return self.too_many(&id, method).await };
        let (redactor, listed) = (broker.redactor(), listed(broker));
        self.calls.spawn(async move {
            let listed = airborne.cancel.run_until_cancelled(listed).await;
            let line = listed.map(|listed| {
                let mut rest = Object::new();
                airborne.era.complete_list(&mut rest);
                let mask = |text| redactor.mask_own_keys(text);
                result_line(Some(&airborne.id), |out| listed.write(out, (member, &rest), mask))
            });
            airborne.land_with(line).await;
        });
        Ok(())
    }

    /// Serves a call of a tool.
    pub(super) async fn call_tool(&mut self, id: Id, params: Object) -> Result<(), O::Error> {
        let broker = self.session(None).await?;
        let (asked, token) = match era::asked(params) {
            Ok(asked) => asked,
            Err(reason) => {
                return self.refuse(Some(&id), code::INVALID_PARAMS, "tools/call", &reason).await;
            }
        };
        if let Some(tool) = self.open.script_tool() {
            return self.call_script(tool, id, asked).await;
        }
        let Some(airborne) = self.take_off(&id) else {
            return self.too_many(&id, "tools/call").await;
        };
        let (progress, turn) = (self.progress(token, &broker), broker.turn(&asked.name));
        let flight = Flight::new(airborne.cancel.clone(), self.left.clone(), progress, turn)
            .of_client(Arc::clone(&self.ear));
        let (asks, is_asked) = watch::channel(false);
        let flight = flight.telling(asks.clone());
        let watched = self.open.watcher().map(|watcher| (watcher, asked.clone()));
        if let Some((watcher, asked)) = &watched {
            watcher.calling(asked);
        }
        self.calls.spawn(async move {
            let reply = broker.call(asked, flight).await;
            if let Some((watcher, asked)) = &watched {
                // Whoever asks says so twice: when it begins and when it is over.
                watcher.called(asked, &reply, is_asked.has_changed().unwrap_or(false));
            }
            drop(asks);
            airborne.land(reply).await;
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
        arguments.remove(SCHEME);
        if method == CallMethod::Complete {
            arguments.remove(URI);
        }
        let uri = arguments.get("uri").and_then(Json::as_str).map(str::to_owned);
        if let (CallMethod::Subscribe, Some(uri)) = (method, &uri)
            && !has_room(&locked(&self.subscribed), uri)
        {
            return self.refuse(Some(&id), FOLLOWS_TOO_MUCH, name, &follows_too_much()).await;
        }
        let Some(airborne) = self.take_off(&id) else { return self.too_many(&id, name).await };
        let (progress, left) = (self.progress(token, &broker), self.left.clone());
        let (ear, subscribed) = (Arc::clone(&self.ear), Arc::clone(&self.subscribed));
        let following = Arc::new(Mutex::new(None));
        self.calls.spawn(async move {
            let cancel = airborne.cancel.clone();
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
                    let flight = Flight::new(cancel, left, progress, turn)
                        .of_client(ear)
                        .noting(Arc::clone(&following));
                    broker.call(Asked { name: offered, arguments, meta }, flight).await
                }
            };
            let mut reply = reply.into_error();
            if let (Reply::Result(_) | Reply::Refused(..), CallMethod::Subscribe, Some(uri)) =
                (&reply, method, uri)
                && !follow(&mut locked(&subscribed), uri, locked(&following).take())
            {
                // Others came in between.
                reply = Reply::Error(RpcError::new(FOLLOWS_TOO_MUCH, follows_too_much()));
            }
            airborne.land(reply).await;
        });
        Ok(())
    }

    /// Ends a subscription of this client's; the server is told when nobody follows the resource any more.
    ///
    /// What the client does not follow is nothing to end, and no server hears of it.
    pub(super) async fn unsubscribe(&mut self, id: &Id, params: Object) -> Result<(), O::Error> {
        let broker = self.session(None).await?;
        if !broker.offers(CallMethod::Subscribe) {
            let reason = format!("no server is known for `{UNSUBSCRIBE}`");
            return self.refuse(Some(id), code::METHOD_NOT_FOUND, UNSUBSCRIBE, &reason).await;
        }
        let uri = params.get("uri").and_then(Json::as_str).map(str::to_owned);
        let Some(uri) = uri else {
            let reason = "`uri` is missing";
            return self.refuse(Some(id), code::INVALID_PARAMS, UNSUBSCRIBE, reason).await;
        };
        let ended = locked(&self.subscribed).remove(&uri);
        if ended.is_some() {
            let mut event = Object::new();
            event.insert("event", "unsubscribed");
            event.insert("uri", uri);
            if let Err(error) = broker.record_event(event) {
                let failure = RpcError::new(code::INTERNAL_ERROR, crate::chain(&error));
                self.send(error_line(Some(id), &failure)).await;
                return Ok(());
            }
        }
        drop(ended);
        self.answer(id, &Object::new()).await;
        Ok(())
    }

    fn progress(&self, token: Option<Id>, broker: &Broker) -> Option<Progress> {
        let (outbox, redactor) = (self.outbox.clone(), broker.redactor());
        token.map(|token| Progress { token, outbox, redactor })
    }

    pub(super) async fn too_many(&mut self, id: &Id, what: &str) -> Result<(), O::Error> {
        let reason = format!("more than {FLIGHTS_MAX} requests run at once");
        self.refuse(Some(id), code::INVALID_REQUEST, what, &reason).await
    }
}

fn has_room(subscribed: &Subscribed, uri: &str) -> bool {
    subscribed.len() < SUBSCRIBED_MAX || subscribed.contains_key(uri)
}

/// Notes that the client follows a resource; `false` if it follows too many.
fn follow(subscribed: &mut Subscribed, uri: String, following: Option<Following>) -> bool {
    let has_room = has_room(subscribed, &uri);
    if has_room {
        subscribed.insert(uri, following);
    }
    has_room
}

fn follows_too_much() -> String {
    format!("a client can follow {SUBSCRIBED_MAX} resources, and no more")
}

/// Finds the server that is meant, and takes its prefix out of the arguments.
async fn meant(broker: &Broker, method: CallMethod, arguments: &mut Object) -> Option<ServerName> {
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
