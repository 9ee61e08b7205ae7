//! One connection to a server: requests go out under ids of our own, answers find their way back.
//!
//! Whatever comes in is untrusted. A request of the server's is answered here, from what was laid
//! down before, or refused; nothing it sends reaches a person or a model but the answers to calls,
//! progress of calls that run, and log messages. The one deed that a server may ask for is `deeds`'
//! business, and what it may ask of clients that of `petitions`. How the server was started is not known
//! here.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ic_audit::Redactor;
use ic_mcp::{
    Id, Message, MessageFault, Notification, Outcome, ProtocolVersion, Request, Response, RpcError,
    code, meta, notification_line, request_line,
};
use ic_servers::filesystem::DEED_METHOD;
use ic_servers::git::AID_METHOD;
use ic_types::{Json, JsonLimits, Object, ServerName};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::deeds::Deeds;
use super::petitions::{self, NoClient, NotRaised, Petitions};
use crate::aids::Aids;
use crate::client::{Ear, Outbox};
use crate::locked;
use crate::petition::{Asks, PetitionKind};

/// The longest line that a server may send.
pub(super) const LINE_BYTES_MAX: usize = 32 << 20;
/// What one message of a server may cost.
const LIMITS: JsonLimits =
    JsonLimits { bytes_max: LINE_BYTES_MAX, depth_max: 64, values_max: 200_000 };
/// How many messages of ours may wait for a server that does not read.
pub(super) const OUTBOX_MAX: usize = 256;
/// How many answers that nobody waits for any more are remembered, to tell them from forged ones.
const GIVEN_UP_MAX: usize = 1024;
/// The longest notification that is looked at; a client would have to swallow it whole.
const NOTIFICATION_BYTES_MAX: usize = 256 << 10;
/// How much nonsense a server may send before the connection is ended.
const STRIKES_MAX: u32 = 100;
/// How many bytes of them within a second.
const CHATTER_BYTES_MAX: usize = 4 << 20;
/// How many requests and notifications a server may send beyond what a second gives back.
const CHATTER_MAX: u32 = 1000;

/// A connection that is open, or was.
#[derive(Debug)]
pub(crate) struct Connection {
    server: ServerName,
    /// What the server may ask of clients.
    asks: Asks,
    /// How the server speaks; agreed on before anything is asked but that.
    version: Mutex<ProtocolVersion>,
    outbox: mpsc::Sender<String>,
    table: Mutex<Table>,
    next_id: AtomicU64,
    over: CancellationToken,
}

/// Who waits for which answer.
#[derive(Debug, Default)]
struct Table {
    waiting: HashMap<u64, Waiting>,
    given_up: VecDeque<u64>,
    /// Why the connection is over.
    end: Option<Arc<str>>,
}

#[derive(Debug)]
struct Waiting {
    /// Takes the answer, or why there is none while the others still wait for theirs.
    reply: oneshot::Sender<Result<Outcome, Arc<str>>>,
    progress: Option<Progress>,
    caller: Option<Caller>,
}

/// The client whose call waits.
#[derive(Debug)]
struct Caller {
    ear: Arc<Ear>,
    /// Cancelled when the call is over.
    over: CancellationToken,
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.over.cancel();
    }
}

/// Where the progress of a call goes.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    /// The token that the client gave.
    pub(crate) token: Id,
    /// The client.
    pub(crate) outbox: Outbox,
    /// What hides our keys.
    pub(crate) redactor: Arc<Redactor>,
}

/// How a request is made.
#[derive(Debug)]
pub(crate) struct Asking<'a> {
    /// Where progress goes, if anybody wants it.
    pub(crate) progress: Option<Progress>,
    /// The client whose call it is, if it is one's.
    pub(crate) caller: Option<Arc<Ear>>,
    /// Ends the waiting; the server is told.
    pub(crate) cancel: &'a CancellationToken,
    /// The longest that is waited.
    pub(crate) limit: Duration,
}

/// A request without an answer.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Unanswered {
    /// The connection is over.
    #[error("{0}")]
    Over(Arc<str>),
    /// The server took too long.
    #[error("the server did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// Whoever asked wants no answer any more.
    #[error("cancelled by the client")]
    Cancelled,
}

/// Something a server said of its own accord.
#[derive(Debug)]
pub(crate) enum News {
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

impl Connection {
    /// Makes a connection whose messages are taken out of the returned queue.
    pub(crate) fn new(server: ServerName, asks: Asks) -> (Arc<Self>, mpsc::Receiver<String>) {
        let (outbox, outgoing) = mpsc::channel(OUTBOX_MAX);
        let connection = Self {
            server,
            asks,
            version: Mutex::new(ProtocolVersion::NEWEST_INITIALIZED),
            outbox,
            table: Mutex::new(Table::default()),
            next_id: AtomicU64::new(1),
            over: CancellationToken::new(),
        };
        (Arc::new(connection), outgoing)
    }

    /// Returns what the server may ask of clients.
    pub(super) fn asks(&self) -> Asks {
        self.asks
    }

    /// Returns the revision that the server speaks.
    pub(crate) fn version(&self) -> ProtocolVersion {
        *locked(&self.version)
    }

    pub(super) fn speak(&self, version: ProtocolVersion) {
        *locked(&self.version) = version;
    }

    /// Asks the server and waits for the answer; `write` writes the parameters with the given `_meta`.
    pub(crate) async fn ask(
        &self,
        method: &str,
        write: impl FnOnce(&mut String, Object),
        asking: Asking<'_>,
    ) -> Result<Outcome, Unanswered> {
        let number = self.next_id.fetch_add(1, Ordering::Relaxed);
        let Asking { progress, caller, cancel, limit } = asking;
        let mut envelope = self.envelope();
        if progress.is_some() {
            envelope.insert(meta::PROGRESS_TOKEN, number);
        }
        let line = request_line(&Id::number(number), method, |out| write(out, envelope));
        let reply = self.wait_for(number, progress, caller)?;
        // Whichever way this ends, nobody is left in the table.
        let entry = Entry { connection: self, number };
        let answered = async {
            if self.outbox.send(line).await.is_err() {
                return Err(self.why_over());
            }
            match reply.await {
                Ok(answered) => answered.map_err(Unanswered::Over),
                Err(_) => Err(self.why_over()),
            }
        };
        tokio::select! {
            biased;
            answered = answered => answered,
            () = cancel.cancelled() => {
                entry.give_up("cancelled");
                Err(Unanswered::Cancelled)
            }
            () = tokio::time::sleep(limit) => {
                entry.give_up("timed out");
                Err(Unanswered::TimedOut(limit))
            }
        }
    }

    /// Returns whether somebody waits for the answer to a request.
    pub(super) fn is_waiting(&self, number: u64) -> bool {
        locked(&self.table).waiting.contains_key(&number)
    }

    /// Tells whoever waits for an answer why it will not come; the others go on waiting.
    pub(super) fn fail(&self, number: u64, why: &str) {
        let waiting = locked(&self.table).waiting.remove(&number);
        if let Some(waiting) = waiting {
            let why = format!("the server cannot be used: {why}");
            waiting.reply.send(Err(Arc::from(why))).ok();
        }
    }

    /// Tells the server something.
    pub(super) async fn tell(&self, method: &str, params: &Object) -> Result<(), Unanswered> {
        self.outbox.send(notification_line(method, params)).await.map_err(|_| self.why_over())
    }

    /// Answers a request of the server's.
    pub(crate) async fn reply(&self, response: Response) {
        // A connection that is over needs no answer.
        self.outbox.send(Message::from(response).to_line()).await.ok();
    }

    /// Tells the server something, unless it does not read.
    pub(crate) fn try_tell(&self, method: &str, params: &Object) {
        self.outbox.try_send(notification_line(method, params)).ok();
    }

    /// Ends the connection: nobody waits any longer, and nothing more is sent.
    pub(crate) fn end(&self, why: &str) {
        let mut table = locked(&self.table);
        if table.end.is_none() {
            table.end = Some(Arc::from(why));
        }
        table.waiting.clear();
        drop(table);
        self.over.cancel();
    }

    /// Returns a token that is cancelled when the connection is over.
    pub(crate) fn over(&self) -> &CancellationToken {
        &self.over
    }

    /// Returns what each request says of us where the server wants to hear it.
    fn envelope(&self) -> Object {
        let version = self.version();
        let mut envelope = Object::new();
        if ProtocolVersion::NEWEST_INITIALIZED < version {
            envelope.insert(meta::PROTOCOL_VERSION, version.as_str());
            envelope.insert(meta::CLIENT_INFO, super::handshake::client_info());
            envelope.insert(meta::CLIENT_CAPABILITIES, Object::new());
        }
        envelope
    }

    fn wait_for(
        &self,
        number: u64,
        progress: Option<Progress>,
        caller: Option<Arc<Ear>>,
    ) -> Result<oneshot::Receiver<Result<Outcome, Arc<str>>>, Unanswered> {
        let (reply, answer) = oneshot::channel();
        let mut table = locked(&self.table);
        if let Some(why) = &table.end {
            return Err(Unanswered::Over(Arc::clone(why)));
        }
        let caller = caller.map(|ear| Caller { ear, over: CancellationToken::new() });
        table.waiting.insert(number, Waiting { reply, progress, caller });
        Ok(answer)
    }

    /// Returns the client for which the server works; over a way for one answer, that of its call.
    ///
    /// SECURITY: what the server asks may hold what any of its callers said, so there is one of them.
    fn client(&self, exchange: Exchange) -> Result<petitions::Client, NoClient> {
        let table = locked(&self.table);
        let is_meant = |number: u64| match exchange {
            Exchange::Any | Exchange::None => true,
            Exchange::Of(only) => number == only,
        };
        let meant = table.waiting.iter().filter(|(number, _)| is_meant(**number));
        let mut callers = meant.filter_map(|(_, waiting)| waiting.caller.as_ref());
        let Some(Caller { ear, over }) = callers.next() else { return Err(NoClient::None) };
        let mut client = petitions::Client { ear: Arc::clone(ear), calls: vec![over.clone()] };
        for Caller { ear, over } in callers {
            if !Arc::ptr_eq(ear, &client.ear) {
                return Err(NoClient::Several);
            }
            client.calls.push(over.clone());
        }
        Ok(client)
    }

    /// Returns why the connection is over.
    pub(crate) fn why_over_text(&self) -> Arc<str> {
        let end = locked(&self.table).end.clone();
        end.unwrap_or_else(|| Arc::from("the connection is over"))
    }

    fn why_over(&self) -> Unanswered {
        Unanswered::Over(self.why_over_text())
    }
}

/// A request that waits for its answer.
struct Entry<'a> {
    connection: &'a Connection,
    number: u64,
}

impl Entry<'_> {
    /// Tells the server that nobody waits any more.
    fn give_up(&self, reason: &str) {
        let mut params = Object::new();
        params.insert("requestId", self.number);
        params.insert("reason", reason);
        self.connection.try_tell("notifications/cancelled", &params);
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        let mut table = locked(&self.connection.table);
        if table.waiting.remove(&self.number).is_some() {
            if GIVEN_UP_MAX <= table.given_up.len() {
                table.given_up.pop_front();
            }
            table.given_up.push_back(self.number);
        }
    }
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

/// Returns the id of an answer that cannot be read, if that much of it can be.
///
/// Whoever waits for it is to know at once. No more than that is believed of such a line.
fn answered_id(line: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Head {
        id: u64,
        method: Option<IgnoredAny>,
    }
    let head: Head = serde_json::from_slice(line).ok()?;
    head.method.is_none().then_some(head.id)
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
                self.reply(request.id, outcome);
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
        let mut table = locked(&self.connection.table);
        if let Some(waiting) = table.waiting.remove(&number) {
            drop(table);
            // Whoever waited may be gone by now.
            waiting.reply.send(Ok(response.outcome)).ok();
            return Ok(());
        }
        let late = table.given_up.iter().position(|it| *it == number);
        let late = late.and_then(|at| table.given_up.remove(at));
        drop(table);
        match late {
            Some(_) => Ok(()),
            None => self.strike(),
        }
    }

    /// A line that is no message fails the call that it was meant for, if that can be told.
    fn faulty(&mut self, fault: MessageFault, line: &[u8]) -> Result<(), Misbehaved> {
        let reason = format!("the server's answer cannot be read: {fault}");
        let id = match fault {
            MessageFault::Shape { id, is_response: true, .. } => id,
            MessageFault::Json(_) => answered_id(line).map(Id::number),
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
                let name = format!("{}/{logger}", self.connection.server);
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
        let table = locked(&self.connection.table);
        let progress = table.waiting.get(&number).and_then(|waiting| waiting.progress.clone());
        drop(table);
        if let Some(Progress { token, outbox, redactor }) = progress {
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
                    "elicitation/create" => "servers may not ask the person here",
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
        (self.petitions.is_some() && self.connection.asks.allow(kind)).then_some(kind)
    }

    /// Begins a petition, or refuses it.
    fn petition(
        &mut self,
        (kind, request): (PetitionKind, Request),
        n_bytes: usize,
        exchange: Exchange,
    ) -> Result<(), Misbehaved> {
        let Some(petitions) = &mut self.petitions else { return Ok(()) };
        let (id, client) = (request.id.clone(), self.connection.client(exchange));
        match petitions.begin((kind, request), n_bytes, &self.connection, client) {
            Ok(()) => Ok(()),
            Err(NotRaised::Twin) => self.strike(),
            Err(NotRaised::Refused(error)) => {
                self.refuse(kind.as_str(), &error.message);
                self.reply(id, Err(error));
                Ok(())
            }
        }
    }

    /// Says that the server asked for something that it does not get.
    fn refuse(&self, method: &str, why: &str) {
        let shown: String = method.chars().take(64).collect();
        self.news.try_send(News::Refused(shown, why.to_owned())).ok();
    }

    fn reply(&self, id: Id, outcome: Outcome) {
        let line = Message::from(Response { id: Some(id), outcome }).to_line();
        // A server that asks and does not read gets no answer.
        self.connection.outbox.try_send(line).ok();
    }

    fn strike(&mut self) -> Result<(), Misbehaved> {
        self.strikes += 1;
        match self.strikes < STRIKES_MAX {
            true => Ok(()),
            false => Err(Misbehaved("the server kept sending what is no message of the protocol")),
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
            false => Err(Misbehaved("the server flooded us with messages that nobody asked for")),
        }
    }
}
