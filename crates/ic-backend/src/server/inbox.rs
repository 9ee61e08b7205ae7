//! What a server sends over one connection: answers, news, and what it asks for.
//!
//! Whatever comes in is untrusted. A request of the server's is answered here, from what was laid
//! down before, or refused; nothing it sends reaches a person or a model but the answers to calls,
//! progress of calls that run, and log messages. The one deed that a server may ask for is `deeds`'
//! business, and what it may ask of clients that of `petitions`. Who waits for an answer is known to the
//! [`Connection`].

use std::sync::Arc;
use std::time::Duration;

use ic_inventory::PetitionKind;
use ic_mcp::{
    Id, Message, MessageFault, Notification, Outcome, Request, Response, RpcError, answered_id,
    code, meta, notification_line,
};
use ic_servers::filesystem::DEED_METHOD;
use ic_servers::git::AID_METHOD;
use ic_types::{Json, JsonLimits, Object};
use tokio::sync::mpsc;

use super::connection::{Connection, Progress};
use super::deeds::Deeds;
use super::petitions::{NotRaised, Petitions};
use crate::aids::Aids;

/// The longest line that a server may send.
pub(super) const LINE_BYTES_MAX: usize = 32 << 20;
/// What one message of a server may cost.
const LIMITS: JsonLimits =
    JsonLimits { bytes_max: LINE_BYTES_MAX, depth_max: 64, values_max: 200_000 };
/// The longest notification that is looked at; a client would have to swallow it whole.
const NOTIFICATION_BYTES_MAX: usize = 256 << 10;
/// How much nonsense a server may send before the connection is ended.
const STRIKES_MAX: u32 = 100;
/// How many bytes of them within a second.
const CHATTER_BYTES_MAX: usize = 4 << 20;
/// How many requests and notifications a server may send beyond what a second gives back.
const CHATTER_MAX: u32 = 1000;

/// Something a server said of its own accord.
#[derive(Debug)]
pub enum News {
    /// Its tools are not what they were.
    ToolsChanged,
    /// A message for the client's log.
    Log(Object),
    /// A list of something else than tools is not what it was; with the notification that says so.
    ListChanged(&'static str),
    /// A resource is not what it was.
    ResourceUpdated(String),
    /// It asked for something that it may not have: what, and why not.
    Refused(String, String),
}

/// Which answers may come over one way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Exchange {
    /// Every one: there is one way for all.
    Any,
    /// That to this request.
    Of(u64),
    /// None.
    None,
}

/// Takes in what a server sends.
#[derive(Debug)]
pub(crate) struct Inbox {
    connection: Arc<Connection>,
    /// The answer to `roots/list`.
    roots: Json,
    /// What must not be missed.
    news: mpsc::Sender<News>,
    /// What may be.
    logs: mpsc::Sender<News>,
    /// What the server may have carried out.
    deeds: Option<Arc<Deeds>>,
    /// What is lent to it.
    aids: Option<Arc<Aids>>,
    /// What it asks of clients, if there may be any.
    petitions: Option<Petitions>,
    strikes: u32,
    chatter: u32,
    chatter_bytes: usize,
    chatter_since: tokio::time::Instant,
}

/// A server that does not keep to the protocol, so that the connection has to end.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Misbehaved(pub(super) &'static str);

impl Inbox {
    pub(super) fn new(
        connection: Arc<Connection>,
        roots: Json,
        news: mpsc::Sender<News>,
        logs: mpsc::Sender<News>,
    ) -> Self {
        let chatter_since = tokio::time::Instant::now();
        Self {
            connection,
            roots,
            news,
            logs,
            deeds: None,
            aids: None,
            petitions: None,
            strikes: 0,
            chatter: 0,
            chatter_bytes: 0,
            chatter_since,
        }
    }

    /// Lets the server ask for what it may have carried out.
    pub(super) fn with_deeds(self, deeds: Option<Arc<Deeds>>) -> Self {
        Self { deeds, ..self }
    }

    /// Lets the server ask for what is lent to it.
    pub(super) fn with_aids(self, aids: Option<Arc<Aids>>) -> Self {
        Self { aids, ..self }
    }

    /// Lets the server ask clients for what its entry allows.
    pub(super) fn with_petitions(self, petitions: Option<Petitions>) -> Self {
        Self { petitions, ..self }
    }

    /// Takes in one line.
    pub(super) fn take(&mut self, line: &[u8]) -> Result<(), Misbehaved> {
        self.take_of(line, Exchange::Any)
    }

    /// Takes in one message that came over a way for some answers only.
    pub(super) fn take_of(&mut self, line: &[u8], exchange: Exchange) -> Result<(), Misbehaved> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        match Message::parse(line, LIMITS) {
            Ok(Message::Response(response)) => {
                let number = response.id.as_ref().and_then(Id::as_number);
                let is_expected = match exchange {
                    Exchange::Any => true,
                    Exchange::Of(expected) => number == Some(expected),
                    Exchange::None => false,
                };
                if is_expected { self.answer(response) } else { self.strike() }
            }
            Ok(Message::Notification(notification)) => {
                self.count_chatter(line.len())?;
                match line.len() <= NOTIFICATION_BYTES_MAX {
                    true => self.hear(notification),
                    false => self.strike(),
                }
            }
            Ok(Message::Request(request)) => {
                if let (Some(deeds), DEED_METHOD) = (&self.deeds, request.method.as_str()) {
                    return deeds.begin(request, line.len(), &self.connection);
                }
                self.count_chatter(line.len())?;
                if let (Some(aids), AID_METHOD) = (&self.aids, request.method.as_str()) {
                    aids.begin(request, line.len(), &self.connection);
                    return Ok(());
                }
                if let Some(kind) = self.allowed(&request.method) {
                    return self.petition((kind, request), line.len(), exchange);
                }
                let outcome = self.asked(&request.method);
                self.connection.try_reply(request.id, outcome);
                Ok(())
            }
            // What cannot be read came over this way, and is the answer that was waited for here.
            Err(fault) => match exchange {
                Exchange::Any => self.faulty(fault, line),
                Exchange::Of(_) | Exchange::None => self.strike(),
            },
        }
    }

    fn answer(&mut self, response: Response) -> Result<(), Misbehaved> {
        let Some(number) = response.id.as_ref().and_then(Id::as_number) else {
            return self.strike();
        };
        match self.connection.answered(number, response.outcome) {
            true => Ok(()),
            false => self.strike(),
        }
    }

    /// A line that is no message fails the call that it was meant for, if that can be told.
    fn faulty(&mut self, fault: MessageFault, line: &[u8]) -> Result<(), Misbehaved> {
        let reason = format!("the server's answer cannot be read: {fault}");
        let id = match fault {
            MessageFault::Shape { id, is_response: true, .. } => id,
            MessageFault::Json(_) => answered_id(line),
            MessageFault::Shape { .. } | MessageFault::Batch => None,
        };
        if let Some(id) = id {
            let outcome = Err(RpcError::new(code::INTERNAL_ERROR, reason));
            self.answer(Response { id: Some(id), outcome })?;
        }
        self.strike()
    }

    fn hear(&mut self, notification: Notification) -> Result<(), Misbehaved> {
        let Notification { method, mut params } = notification;
        let news = match method.as_str() {
            "notifications/progress" => return self.progress(params),
            "notifications/cancelled" => {
                let id = params.remove("requestId").map(Id::of_json).and_then(Result::ok);
                if let (Some(petitions), Some(id)) = (&self.petitions, id) {
                    petitions.take_back(&id);
                }
                return Ok(());
            }
            "notifications/tools/list_changed" => News::ToolsChanged,
            "notifications/message" => {
                let logger = params.get("logger").and_then(Json::as_str).unwrap_or_default();
                let name = format!("{}/{logger}", self.connection.server());
                let mut log = Object::new();
                log.insert("logger", name.trim_end_matches('/'));
                for key in ["level", "data"] {
                    if let Some(value) = params.remove(key) {
                        log.insert(key, value);
                    }
                }
                // A log that nobody has time for is dropped.
                self.logs.try_send(News::Log(log)).ok();
                return Ok(());
            }
            "notifications/resources/list_changed" => {
                News::ListChanged("notifications/resources/list_changed")
            }
            "notifications/prompts/list_changed" => {
                News::ListChanged("notifications/prompts/list_changed")
            }
            "notifications/resources/updated" => match params.remove("uri") {
                Some(Json::String(uri)) => News::ResourceUpdated(uri),
                _ => return self.strike(),
            },
            // Whatever else a server may say is about things that we do not offer.
            _ => return Ok(()),
        };
        // There is room for all that a server may say in a second.
        self.news.try_send(news).ok();
        Ok(())
    }

    fn progress(&mut self, mut params: Object) -> Result<(), Misbehaved> {
        let token = params.remove(meta::PROGRESS_TOKEN).map(Id::of_json);
        let Some(number) = token.and_then(Result::ok).and_then(|token| token.as_number()) else {
            return self.strike();
        };
        if let Some(Progress { token, outbox, redactor }) = self.connection.progress_of(number) {
            let mut mapped = Object::new();
            mapped.insert(meta::PROGRESS_TOKEN, token.to_json());
            for (key, value) in params.into_entries() {
                mapped.insert(key, value);
            }
            let line = notification_line("notifications/progress", &mapped);
            // SECURITY: what was lent to a call is not told while it runs either.
            let line = match &self.aids {
                Some(aids) => aids.hide(line),
                None => line,
            };
            outbox.send_if_there_is_room(redactor.mask_own_keys(line));
        }
        Ok(())
    }

    /// Answers a request of the server's.
    fn asked(&mut self, method: &str) -> Outcome {
        match method {
            "ping" => Ok(Json::Object(Object::new())),
            "roots/list" => Ok(self.roots.clone()),
            // SECURITY: a server that could ask the model or the person would steer both.
            _ => {
                let why = match method {
                    "sampling/createMessage" => "servers may not use the client's model here",
                    "elicitation/create" => "servers may not send requests to the user here",
                    _ => "servers may not ask for this here",
                };
                self.refuse(method, "it asked for something it may not have");
                Err(RpcError::new(code::METHOD_NOT_FOUND, why))
            }
        }
    }

    /// Returns what a method asks of clients, if the server may ask that.
    fn allowed(&self, method: &str) -> Option<PetitionKind> {
        let kind = PetitionKind::of(method)?;
        (self.petitions.is_some() && self.connection.asks().allow(kind)).then_some(kind)
    }

    /// Begins a petition, or refuses it.
    fn petition(
        &mut self,
        (kind, request): (PetitionKind, Request),
        n_bytes: usize,
        exchange: Exchange,
    ) -> Result<(), Misbehaved> {
        let Some(petitions) = &self.petitions else { return Ok(()) };
        let (id, client) = (request.id.clone(), self.connection.client(exchange));
        match petitions.begin((kind, request), n_bytes, &self.connection, client) {
            Ok(()) => Ok(()),
            Err(NotRaised::Twin) => self.strike(),
            Err(NotRaised::Refused(error)) => {
                self.refuse(kind.as_str(), &error.message);
                self.connection.try_reply(id, Err(error));
                Ok(())
            }
        }
    }

    /// Says that the server asked for something that it does not get.
    fn refuse(&self, method: &str, why: &str) {
        let shown: String = method.chars().take(64).collect();
        self.news.try_send(News::Refused(shown, why.to_owned())).ok();
    }

    fn strike(&mut self) -> Result<(), Misbehaved> {
        self.strikes += 1;
        match self.strikes < STRIKES_MAX {
            true => Ok(()),
            false => Err(Misbehaved("the server kept sending text that is not a protocol message")),
        }
    }

    fn count_chatter(&mut self, n_bytes: usize) -> Result<(), Misbehaved> {
        let now = tokio::time::Instant::now();
        if Duration::from_secs(1) <= now - self.chatter_since {
            (self.chatter, self.chatter_bytes, self.chatter_since) = (0, 0, now);
        }
        self.chatter += 1;
        self.chatter_bytes = self.chatter_bytes.saturating_add(n_bytes);
        match self.chatter <= CHATTER_MAX && self.chatter_bytes <= CHATTER_BYTES_MAX {
            true => Ok(()),
            false => Err(Misbehaved("the server sent a flood of unrequested messages")),
        }
    }
}

#[cfg(test)]
mod tests;
