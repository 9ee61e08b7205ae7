//! A client: lines come in, each is answered, and what is not on a closed list goes nowhere.
//!
//! ```text
//! reader ──▶ Lines ──▶ Message ──▶ Method ──▶ a task per call ──▶ outbox ──▶ writer
//! ```
//!
//! What takes its time runs side by side with the rest, in `client/calls.rs`. An id is given back exactly
//! as it came. The session behind it is opened by the first request that needs one, because some clients
//! start a server only to ask who it is.

mod calls;
mod era;
mod flights;
mod listener;
mod scripts;
mod writer;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ic_backend::caller::{Ear, Outbox};
use ic_backend::levels::{Level, Wish};
use ic_broker::broker::{Asked, Broker, ListKind, Reply};
use ic_judge::method::CallMethod;
use ic_mcp::{
    Id, Line, Lines, Message, MessageFault, Notification, ProtocolVersion, Request, RpcError,
    answered_id, code, error_line, result_line,
};
use ic_types::{Json, JsonLimits, Object};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::locked;

use calls::{Subscribed, UNSUBSCRIBE};
use era::Era;
use flights::Flights;
pub use ic_backend::caller::Slow;
use listener::Listener;
pub use scripts::{RUN_SCRIPT, Running, ScriptTool};

/// The longest message that is read on the thread that serves everybody.
const PARSED_HERE_BYTES_MAX: usize = 64 << 10;
/// How long the last answers may take once somebody asked us to stop.
const FLUSH_MAX: Duration = Duration::from_secs(1);
/// How long calls that run may take to end once the client has said all it had to say.
const DRAIN_MAX: Duration = Duration::from_secs(30);

/// Who a client says it is.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ClientInfo {
    /// Its name.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The revision of the protocol that it speaks.
    pub protocol: Option<ProtocolVersion>,
}

/// Opens the session that a client talks to.
pub trait Open {
    /// Why a session cannot be opened.
    type Error: std::fmt::Display;

    /// Returns whether any server may be asked for `method`, as far as that is known before there is a
    /// session.
    fn offers(&self, _method: CallMethod) -> bool {
        false
    }

    /// Returns who is told of each call of a tool, if somebody is.
    fn watcher(&self) -> Option<Arc<dyn CallWatcher>> {
        None
    }

    /// Returns the one tool that is offered instead of all others, if it is; asked once there is a session.
    fn script_tool(&self) -> Option<Arc<dyn ScriptTool>> {
        None
    }

    /// Opens it.
    fn open(
        &mut self,
        client: &ClientInfo,
    ) -> impl Future<Output = Result<Arc<Broker>, Self::Error>>;
}

/// Somebody who is told of a client's calls; nothing waits for them, and they decide nothing.
pub trait CallWatcher: Send + Sync {
    /// A call came.
    fn calling(&self, asked: &Asked);

    /// It was answered; `was_question` says whether a person was asked about it meanwhile.
    fn called(&self, asked: &Asked, reply: &Reply, was_question: bool);
}

/// How serving a client ended.
#[derive(Debug)]
pub enum Ended<E> {
    /// The client went away, or we were asked to stop; with the session, if one was opened.
    Done(Option<Arc<Broker>>),
    /// The session could not be opened.
    NotOpened(E),
}

/// How one client of possibly several is served.
#[derive(Clone, Copy, Debug)]
pub struct Manner<'a> {
    /// Ends it.
    pub stop: &'a CancellationToken,
    /// What becomes of it if it does not read.
    pub slow: Slow,
    /// How long it may be connected without having begun to speak the protocol, if not for ever.
    pub begins_within: Option<Duration>,
}

/// Serves one client until it goes away, or `stop` is cancelled.
pub async fn serve<O: Open>(
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin + Send + 'static,
    open: O,
    stop: &CancellationToken,
) -> Ended<O::Error> {
    let manner = Manner { stop, slow: Slow::IsWaitedFor, begins_within: None };
    serve_one(reader, writer, open, manner).await
}

/// Serves one client of possibly several.
pub async fn serve_one<O: Open>(
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin + Send + 'static,
    open: O,
    Manner { stop, slow, begins_within }: Manner<'_>,
) -> Ended<O::Error> {
    let (gone, begun) = (CancellationToken::new(), CancellationToken::new());
    let (outbox, outgoing) = Outbox::new(slow, gone.clone());
    let mut writing = tokio::spawn(writer::write(writer, outgoing, gone.clone(), slow));
    let calls = TaskTracker::new();
    let flights = Flights::default();
    let (end_all, left) = (stop.child_token(), CancellationToken::new());
    let mut client = Client {
        open,
        broker: None,
        era: Era::Undecided,
        ear: Ear::new(outbox.clone(), left.clone()),
        outbox,
        flights: flights.clone(),
        calls: calls.clone(),
        log_level: Arc::new(Mutex::new(Level::default())),
        wish: None,
        subscribed: Arc::default(),
        is_enveloped: Arc::new(AtomicBool::new(false)),
        end_all: end_all.clone(),
        left: left.clone(),
        begun: begun.clone(),
    };
    let listened = tokio::select! {
        listened = client.listen(reader) => listened,
        () = stop.cancelled() => Ok(()),
        () = gone.cancelled() => Ok(()),
        () = silent(&begun, begins_within) => Ok(()),
    };
    // A person is not asked on behalf of somebody who has gone.
    left.cancel();
    // What was asked is answered, unless nobody would read it.
    calls.close();
    tokio::select! {
        () = calls.wait() => {}
        () = stop.cancelled() => {}
        () = gone.cancelled() => {}
        () = tokio::time::sleep(DRAIN_MAX) => {}
    }
    flights.cancel_all();
    end_all.cancel();
    calls.wait().await;
    let broker = client.broker.take();
    drop(client);
    // The last sender is gone, so the writer ends once everything is written; or nobody reads it.
    let stopped = async {
        stop.cancelled().await;
        tokio::time::sleep(FLUSH_MAX).await;
    };
    tokio::select! {
        _ = &mut writing => {}
        () = stopped => {}
        () = gone.cancelled() => {}
        () = tokio::time::sleep(DRAIN_MAX) => {}
    }
    // Whatever it still holds, a connection among it, is let go of.
    writing.abort();
    match listened {
        Ok(()) => Ended::Done(broker),
        Err(error) => Ended::NotOpened(error),
    }
}

struct Client<O: Open> {
    open: O,
    broker: Option<Arc<Broker>>,
    era: Era,
    /// What it can be asked, and was.
    ear: Arc<Ear>,
    outbox: Outbox,
    flights: Flights,
    calls: TaskTracker,
    log_level: Arc<Mutex<Level>>,
    /// What servers are told of it.
    wish: Option<Wish>,
    /// The resources of which the client wants to hear.
    subscribed: Arc<Mutex<Subscribed>>,
    /// Whether each request has an envelope, for those who cannot see `era`.
    is_enveloped: Arc<AtomicBool>,
    end_all: CancellationToken,
    /// Cancelled when the client has said all it had to say.
    left: CancellationToken,
    /// Cancelled when the client has begun to speak the protocol.
    begun: CancellationToken,
}

/// What a method is to us.
enum Method {
    Initialize,
    Discover,
    Ping,
    ListTools,
    CallTool,
    SetLevel,
    List(ListKind),
    Call(CallMethod),
    Unsubscribe,
    Other,
}

impl Method {
    fn of(name: &str) -> Self {
        match name {
            "initialize" => Self::Initialize,
            "server/discover" => Self::Discover,
            "ping" => Self::Ping,
            "tools/list" => Self::ListTools,
            "tools/call" => Self::CallTool,
            "logging/setLevel" => Self::SetLevel,
            "resources/list" => Self::List(ListKind::Resources),
            "resources/templates/list" => Self::List(ListKind::Templates),
            "prompts/list" => Self::List(ListKind::Prompts),
            UNSUBSCRIBE => Self::Unsubscribe,
            _ => CallMethod::of(name).map_or(Self::Other, Self::Call),
        }
    }
}

impl<O: Open> Client<O> {
    /// Takes in lines until there are no more.
    async fn listen(&mut self, mut reader: impl AsyncRead + Unpin) -> Result<(), O::Error> {
        let mut lines = Lines::new(JsonLimits::CALL.bytes_max);
        loop {
            match reader.read_buf(lines.room()).await {
                Ok(0) | Err(_) => return Ok(()),
                Ok(_) => {}
            }
            while let Some(line) = lines.next() {
                match line {
                    Line::Whole(line) if line.iter().all(u8::is_ascii_whitespace) => {}
                    Line::Whole(line) => self.take(line).await?,
                    Line::TooLong => {
                        let reason = "the message is longer than 16 MiB";
                        self.ear.answer_nothing(reason);
                        self.refuse(None, code::INVALID_REQUEST, "a message", reason).await?;
                    }
                }
            }
        }
    }

    async fn take(&mut self, line: &[u8]) -> Result<(), O::Error> {
        match parsed(line).await {
            Ok(Message::Request(request)) => self.request(request).await,
            Ok(Message::Notification(notification)) => self.notification(notification).await,
            Ok(Message::Response(response)) => match self.ear.answer(response) {
                true => Ok(()),
                false => self.record("a response", "nothing was asked").await,
            },
            Err(MessageFault::Json(error)) => {
                let reason = error.to_string();
                // Whoever waits for it is to know at once.
                match answered_id(line) {
                    Some(id) => self.ear.answer_badly(Some(&id), &reason),
                    None => self.ear.answer_nothing(&reason),
                }
                self.refuse(None, code::PARSE_ERROR, "a message", &reason).await
            }
            Err(MessageFault::Batch) => {
                let reason = "batches are not accepted";
                self.ear.answer_nothing(reason);
                self.refuse(None, code::INVALID_REQUEST, "a batch", reason).await
            }
            Err(MessageFault::Shape { id, is_response, reason }) => {
                if is_response {
                    self.ear.answer_badly(id.as_ref(), reason);
                }
                let id = id.filter(|_| !is_response);
                self.refuse(id.as_ref(), code::INVALID_REQUEST, "a message", reason).await
            }
        }
    }

    async fn request(&mut self, request: Request) -> Result<(), O::Error> {
        let Request { id, method, params } = request;
        if self.flights.has(&id) {
            // An answer under this id would be taken for that of the call that runs.
            let reason = format!("the id {id} belongs to a request that still runs");
            return self.refuse(None, code::INVALID_REQUEST, &method, &reason).await;
        }
        let kind = Method::of(&method);
        if let Err(error) = self.era.admit(&kind, &params) {
            self.record(&method, &error.message).await?;
            self.send(error_line(Some(&id), &error)).await;
            return Ok(());
        }
        // Whoever only asks whether we are there has not begun.
        if !matches!(kind, Method::Ping | Method::Other) {
            self.begun.cancel();
        }
        self.is_enveloped.store(self.era == Era::Enveloped, Ordering::Relaxed);
        match kind {
            Method::Initialize => self.initialize(&id, &params).await,
            Method::Discover => {
                // Whoever only asks who we are opens no session.
                let discovered = match &self.broker {
                    Some(broker) => era::discovered(|method| broker.offers(method)),
                    None => era::discovered(|method| self.open.offers(method)),
                };
                self.answer(&id, &discovered).await;
                Ok(())
            }
            Method::Ping => {
                self.answer(&id, &Object::new()).await;
                Ok(())
            }
            Method::ListTools => self.list_tools(id, &params).await,
            Method::CallTool => self.call_tool(id, params).await,
            Method::SetLevel => self.set_level(&id, &params).await,
            Method::List(kind) => self.list_of(kind, id, &params).await,
            Method::Call(method) => self.call_method(method, id, params).await,
            Method::Unsubscribe => self.unsubscribe(&id, params).await,
            Method::Other => {
                let reason = format!("the method `{}` is not offered", shortened(&method));
                self.refuse(Some(&id), code::METHOD_NOT_FOUND, &method, &reason).await
            }
        }
    }

    async fn initialize(&mut self, id: &Id, params: &Object) -> Result<(), O::Error> {
        let requested = params.get("protocolVersion").and_then(Json::as_str).unwrap_or_default();
        let version = ProtocolVersion::answer_to(requested);
        self.era = Era::Initialized(version);
        let info = era::client_info(params.get("clientInfo"), version);
        self.ear.learn(info.name.as_deref(), params.get("capabilities"));
        let broker = match self.session(Some(&info)).await {
            Ok(broker) => broker,
            Err(error) => {
                let failure = RpcError::new(code::INTERNAL_ERROR, error.to_string());
                self.send(error_line(Some(id), &failure)).await;
                return Err(error);
            }
        };
        let event = era::event(&info);
        if let Err(error) = broker.record_event(event) {
            let failure = RpcError::new(code::INTERNAL_ERROR, crate::chain(&error));
            self.send(error_line(Some(id), &failure)).await;
            return Ok(());
        }
        self.wish = Some(broker.levels().join());
        let offers = |method| broker.offers(method);
        self.answer(id, &era::initialized(version, offers)).await;
        Ok(())
    }

    async fn set_level(&mut self, id: &Id, params: &Object) -> Result<(), O::Error> {
        let Some(level) = params.get("level").and_then(Json::as_str).and_then(Level::of) else {
            let reason = "`level` is not one of those that the protocol knows";
            return self.refuse(Some(id), code::INVALID_PARAMS, "logging/setLevel", reason).await;
        };
        *locked(&self.log_level) = level;
        if let Some(wish) = &self.wish {
            wish.set(level);
        }
        self.answer(id, &Object::new()).await;
        Ok(())
    }

    async fn notification(&mut self, notification: Notification) -> Result<(), O::Error> {
        let Notification { method, mut params } = notification;
        match method.as_str() {
            "notifications/cancelled" => {
                let id = params.remove("requestId").map(Id::of_json).and_then(Result::ok);
                if let Some(id) = id {
                    // What has been answered already cannot be taken back, and need not be.
                    self.flights.cancel(&id);
                }
                Ok(())
            }
            // Roots come from the policy, and how far a client has come with what it was asked is not
            // passed on.
            "notifications/initialized"
            | "notifications/progress"
            | "notifications/roots/list_changed" => Ok(()),
            _ => self.record(&method, "this notification is not expected").await,
        }
    }

    /// Returns the session, and opens it if need be.
    async fn session(&mut self, info: Option<&ClientInfo>) -> Result<Arc<Broker>, O::Error> {
        if let Some(broker) = &self.broker {
            return Ok(Arc::clone(broker));
        }
        let nobody = ClientInfo::default();
        let broker = self.open.open(info.unwrap_or(&nobody)).await?;
        self.broker = Some(Arc::clone(&broker));
        let listener = Listener {
            announcements: broker.announcements(),
            outbox: self.outbox.clone(),
            level: Arc::clone(&self.log_level),
            subscribed: Arc::clone(&self.subscribed),
            is_enveloped: Arc::clone(&self.is_enveloped),
        };
        let end_all = self.end_all.clone();
        // No call: nobody waits for it to end by itself.
        tokio::spawn(async move {
            end_all.run_until_cancelled(listener.pass_on()).await;
        });
        Ok(broker)
    }

    /// Records and answers something that is not served.
    async fn refuse(
        &mut self,
        id: Option<&Id>,
        code: i64,
        what: &str,
        reason: &str,
    ) -> Result<(), O::Error> {
        self.record(what, reason).await?;
        self.send(error_line(id, &RpcError::new(code, reason))).await;
        Ok(())
    }

    async fn record(&mut self, what: &str, reason: &str) -> Result<(), O::Error> {
        self.session(None).await?.record_refused_request(what, reason);
        Ok(())
    }

    async fn answer(&self, id: &Id, result: &Object) {
        self.send(result_line(Some(id), |out| self.era.complete_object(out, result))).await;
    }

    async fn send(&self, line: String) {
        self.outbox.send(line).await;
    }
}

/// Waits until a client has been silent for too long; for ever, if it has begun.
async fn silent(begun: &CancellationToken, within: Option<Duration>) {
    let Some(within) = within else { return std::future::pending().await };
    if tokio::time::timeout(within, begun.cancelled()).await.is_ok() {
        std::future::pending::<()>().await;
    }
}

/// Reads a message; a long one beside the thread that serves everybody.
async fn parsed(line: &[u8]) -> Result<Message, MessageFault> {
    if line.len() <= PARSED_HERE_BYTES_MAX {
        return Message::parse(line, JsonLimits::CALL);
    }
    let line = line.to_vec();
    let parsing = tokio::task::spawn_blocking(move || Message::parse(&line, JsonLimits::CALL));
    match parsing.await.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(parsed) => parsed,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        // We are ending, and nobody waits for an answer.
        Err(Err(_)) => std::future::pending().await,
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(64).collect()
}

#[cfg(test)]
mod tests;
