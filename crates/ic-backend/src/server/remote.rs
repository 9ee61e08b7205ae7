//! A server on another machine: streamable HTTP in the place of a process and its pipes.
//!
//! ```text
//! Connection ──line──▶ post ──▶ JSON, or events ──┐
//!                      listen ──▶ events ─────────┴──▶ Inbox
//! ```
//!
//! A request is answered in its own exchange and nowhere else. A stream that breaks off is resumed where
//! it was, if the server said where that is; what may have acted is never sent again. A session that the
//! server has forgotten ends the connection, and the next use begins another one, with its tools listed
//! and compared anew. What the messages mean is not known here, and nothing is judged.

mod before_head;
pub(crate) mod headers;
mod http;
mod outgoing;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::body::Bytes;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use ic_egress::{Allowed, Egress, Target};
use ic_mcp::ProtocolVersion;
use ic_servers::fetch::tls::{self, Trust};
use ic_types::sse::{Event, Events, TooLong};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use url::Url;

use super::ServerNews;
use super::connection::Connection;
use super::inbox::{Exchange, Inbox, LINE_BYTES_MAX};
use super::side::{Ends, Side};
use crate::locked;
use headers::Headers;
use http::{Answer, Ask, Http, NoAnswer};
use outgoing::Outgoing;

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
/// How many exchanges there are at once; further ones wait.
const EXCHANGES_MAX: usize = 32;
/// The longest body of an answer that is an error.
const ERROR_BYTES_MAX: usize = 64 << 10;
/// How much one stream may say in all.
const STREAM_BYTES_MAX: u64 = 1 << 30;
/// How long a notification may take to be taken.
const NOTIFY_MAX: Duration = Duration::from_secs(30);
/// How long the end of a session may take to be said.
const FAREWELL_MAX: Duration = Duration::from_secs(2);
/// How long we wait before a stream is resumed: at least, unless the server says otherwise, and at most.
const RETRY: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_secs(1), Duration::from_secs(30)];
/// How often a stream is resumed that says nothing new, and how often in all.
const RESUMES_MAX: [u32; 2] = [5, 100];

/// All that says how a server is connected to.
#[derive(Debug)]
pub(crate) struct RemoteSpec {
    pub(crate) url: Url,
    pub(crate) target: Target,
    pub(crate) allowed: Allowed,
    pub(crate) headers: Headers,
    pub(crate) trust: Trust,
}

/// A server that is talked to.
#[derive(Debug)]
pub(crate) struct Remote {
    http: Http,
    connection: Arc<Connection>,
    inbox: Mutex<Inbox>,
    session: Mutex<Option<HeaderValue>>,
    /// The requests that are under way, to be broken off when nobody waits any more.
    under_way: Mutex<HashMap<u64, CancellationToken>>,
    exchanges: Semaphore,
    tasks: TaskTracker,
}

/// What becomes of a stream.
enum Streamed {
    /// All that was waited for has come, or nobody waits any more.
    Done,
    /// It ended, or broke off.
    Ended(String),
}

/// Makes all that carries messages from and to the server; nothing is sent yet.
pub(crate) fn start(
    side: &Side<'_>,
    egress: &Egress,
    spec: RemoteSpec,
    tell: impl Fn(ServerNews) + Clone + Send + 'static,
) -> Result<(Arc<Remote>, Arc<Connection>), String> {
    let RemoteSpec { url, target, allowed, headers, trust } = spec;
    let tls = tls::config(&trust)?;
    let (server, egress) = (side.name.clone(), egress.clone());
    let http = Http { server, url, target, allowed, headers, egress, tls };
    let Ends { connection, outgoing, inbox } = side.open(tell);
    let remote = Arc::new(Remote {
        http,
        connection: Arc::clone(&connection),
        inbox: Mutex::new(inbox),
        session: Mutex::default(),
        under_way: Mutex::default(),
        exchanges: Semaphore::new(EXCHANGES_MAX),
        tasks: side.tasks.clone(),
    });
    side.tasks.spawn(send(Arc::clone(&remote), outgoing));
    Ok((remote, connection))
}

/// Sends messages until the connection is over.
async fn send(remote: Arc<Remote>, mut outgoing: mpsc::Receiver<String>) {
    let over = remote.connection.over().clone();
    while let Some(Some(line)) = over.run_until_cancelled(outgoing.recv()).await {
        let message = Outgoing::read(&line);
        let body = Bytes::from(line);
        if message.is_initialized() {
            // What comes next may be refused until this was heard.
            over.run_until_cancelled(remote.notify(&message, body)).await;
            let remote = Arc::clone(&remote);
            remote.tasks.clone().spawn(async move {
                let over = remote.connection.over().clone();
                over.run_until_cancelled(remote.listen()).await;
            });
            continue;
        }
        let remote = Arc::clone(&remote);
        remote.tasks.clone().spawn(async move {
            let over = remote.connection.over().clone();
            over.run_until_cancelled(remote.carry(&message, body)).await;
        });
    }
}

impl Remote {
    /// Says that the session is over.
    pub(crate) async fn stop(&self) {
        let Some(session) = locked(&self.session).take() else { return };
        let headers = self.usual(Some(session), None);
        let ask = Ask { method: Method::DELETE, headers, body: Bytes::new() };
        // Whether it was heard is the server's affair.
        tokio::time::timeout(FAREWELL_MAX, self.http.ask(&ask)).await.ok();
    }

    /// Carries one message to the server, and what it answers back.
    async fn carry(&self, message: &Outgoing, body: Bytes) {
        let Some(id) = message.request() else {
            self.notify(message, body).await;
            if let Some(abandoned) = message.cancelled() {
                let token = locked(&self.under_way).remove(&abandoned);
                if let Some(token) = token {
                    token.cancel();
                }
            }
            return;
        };
        let token = CancellationToken::new();
        locked(&self.under_way).insert(id, token.clone());
        let asked = token.run_until_cancelled(self.ask(id, message, body)).await;
        locked(&self.under_way).remove(&id);
        if let Some(Err(NoAnswer(why))) = asked {
            self.connection.fail(id, &why);
        }
    }

    /// Sends what needs no answer.
    async fn notify(&self, message: &Outgoing, body: Bytes) {
        let ask = self.post(message, body);
        let sent = tokio::time::timeout(NOTIFY_MAX, self.http.ask(&ask)).await;
        if let Ok(Ok(answer)) = sent {
            self.look_for_the_end(&answer);
        }
    }

    /// Sends a request, and takes in what is answered until nobody waits any more.
    async fn ask(&self, id: u64, message: &Outgoing, body: Bytes) -> Result<(), NoAnswer> {
        // It is never closed.
        let _permit = self.exchanges.acquire().await;
        let mut answer = self.http.ask(&self.post(message, body)).await?;
        if self.look_for_the_end(&answer) {
            return Err(NoAnswer(
                "it has forgotten the session; the next call begins another".to_owned(),
            ));
        }
        if answer.is_packed() {
            return Err(NoAnswer("it answers in an encoding that was not requested".to_owned()));
        }
        let (status, kind) = (answer.status, answer.media_type());
        if !status.is_success() {
            return self.refused(id, &mut answer, &kind).await;
        }
        if message.is_initialize() {
            *locked(&self.session) = answer.headers.get(SESSION_ID).cloned().map(|mut it| {
                it.set_sensitive(true);
                it
            });
        }
        match kind.as_str() {
            JSON => {
                let body = answer.whole(LINE_BYTES_MAX).await?;
                self.take(&body, Exchange::Of(id));
                match self.connection.is_waiting(id) {
                    true => Err(NoAnswer("what it answers is not the answer".to_owned())),
                    false => Ok(()),
                }
            }
            EVENTS => self.follow(id, answer).await,
            "" => Err(NoAnswer(format!(
                "it answers a request with HTTP {} and nothing else",
                status.as_u16()
            ))),
            other => Err(NoAnswer(format!(
                "it answers with `{}`, which is neither `{JSON}` nor `{EVENTS}`",
                other.escape_debug()
            ))),
        }
    }

    /// Takes in an answer that is an error of HTTP; it may hold one of the protocol.
    async fn refused(&self, id: u64, answer: &mut Answer, kind: &str) -> Result<(), NoAnswer> {
        let status = answer.status;
        if kind == JSON
            && let Ok(body) = answer.whole(ERROR_BYTES_MAX).await
        {
            self.take(&body, Exchange::Of(id));
            if !self.connection.is_waiting(id) {
                return Ok(());
            }
        }
        let hint = match status {
            StatusCode::UNAUTHORIZED
                if answer.headers.contains_key(header::WWW_AUTHENTICATE)
                    && !self.http.headers.has(&header::AUTHORIZATION) =>
            {
                "; it wants a login by OAuth, which is not offered here. If it takes a token or a key as \
                 well, name it in `headers` of its entry: `Authorization: Bearer ${ENV:NAME}`"
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                "; look at `headers` in its entry, and at the variables that they name"
            }
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {
                "; look at `url` in its entry"
            }
            _ => "",
        };
        Err(NoAnswer(format!("it answers with HTTP {}{hint}", status.as_u16())))
    }

    /// Reads events until the request is answered, and goes on where a stream broke off.
    async fn follow(&self, id: u64, first: Answer) -> Result<(), NoAnswer> {
        let mut events = Events::new(LINE_BYTES_MAX);
        let (mut answer, mut n_in_vain, mut n_resumed) = (first, 0, 0);
        loop {
            let before = events.last_id().map(str::to_owned);
            let why = match self.stream(&mut events, &mut answer, Exchange::Of(id)).await? {
                Streamed::Done => return Ok(()),
                Streamed::Ended(why) => why,
            };
            let Some(last) = events.last_id().map(str::to_owned) else { return Err(NoAnswer(why)) };
            n_resumed += 1;
            n_in_vain = if before.as_deref() == Some(&last) { n_in_vain + 1 } else { 1 };
            let [in_vain_max, in_all_max] = RESUMES_MAX;
            if in_vain_max < n_in_vain || in_all_max < n_resumed {
                return Err(NoAnswer(why));
            }
            tokio::time::sleep(wait(&events)).await;
            answer = self.open_stream(Some(&last)).await?;
            if self.look_for_the_end(&answer) || !is_stream(&answer) {
                return Err(NoAnswer(format!("{why}, and cannot be resumed")));
            }
            events.begin_again();
        }
    }

    /// Listens to what the server says of its own accord, if it wants to say anything.
    async fn listen(&self) {
        let mut events = Events::new(LINE_BYTES_MAX);
        let [_, usual, longest] = RETRY;
        // Each try is a connection and a record, so whoever has nothing to say is asked less and less.
        let mut pause = usual;
        loop {
            let last = events.last_id().map(str::to_owned);
            let mut has_news = false;
            match self.open_stream(last.as_deref()).await {
                Ok(answer) if self.look_for_the_end(&answer) => return,
                Ok(mut answer) if is_stream(&answer) => {
                    events.begin_again();
                    if self.stream(&mut events, &mut answer, Exchange::None).await.is_err() {
                        return;
                    }
                    has_news = events.last_id() != last.as_deref();
                }
                // It has nothing to say: most servers that only answer say so here.
                Ok(answer) if answer.status.is_client_error() => return,
                Ok(_) | Err(_) => {}
            }
            pause = if has_news { usual } else { pause.saturating_mul(2).min(longest) };
            tokio::time::sleep(pause.max(wait(&events))).await;
        }
    }

    /// Reads one stream to its end, or until its request is answered.
    async fn stream(
        &self,
        events: &mut Events,
        answer: &mut Answer,
        exchange: Exchange,
    ) -> Result<Streamed, NoAnswer> {
        let mut n_bytes = 0_u64;
        loop {
            let bytes = match answer.next().await {
                Ok(Some(bytes)) => bytes,
                Ok(None) => {
                    return Ok(Streamed::Ended("its answer ends before it is whole".to_owned()));
                }
                Err(NoAnswer(why)) => return Ok(Streamed::Ended(why)),
            };
            n_bytes = n_bytes.saturating_add(bytes.len() as u64);
            if STREAM_BYTES_MAX < n_bytes {
                return Err(NoAnswer("it sends too much in one stream".to_owned()));
            }
            let is_waited_for = |it: &Self| match exchange {
                Exchange::Of(id) => it.connection.is_waiting(id),
                Exchange::None | Exchange::Any => !it.connection.over().is_cancelled(),
            };
            let fed = events.feed(&bytes, |Event { data, .. }| {
                if !data.is_empty() {
                    self.take(data, exchange);
                }
                is_waited_for(self)
            });
            match fed {
                Ok(true) => {}
                Ok(false) => return Ok(Streamed::Done),
                Err(TooLong) => {
                    self.connection.end("the server sent a message that is too long");
                    return Err(NoAnswer("it sent a message that is too long".to_owned()));
                }
            }
        }
    }

    fn take(&self, bytes: &[u8], exchange: Exchange) {
        let taken = locked(&self.inbox).take_of(bytes, exchange);
        if let Err(misbehaved) = taken {
            self.connection.end(&misbehaved.to_string());
        }
    }

    /// Ends the connection if the server has forgotten the session; returns whether it has.
    fn look_for_the_end(&self, answer: &Answer) -> bool {
        let is_over = answer.status == StatusCode::NOT_FOUND && locked(&self.session).is_some();
        if is_over {
            *locked(&self.session) = None;
            self.connection.end("the server has forgotten the session");
        }
        is_over
    }

    async fn open_stream(&self, last: Option<&str>) -> Result<Answer, NoAnswer> {
        let session = locked(&self.session).clone();
        let mut headers = self.usual(session, None);
        headers.push((header::ACCEPT, HeaderValue::from_static(EVENTS)));
        if let Some(last) = last.and_then(|it| HeaderValue::from_str(it).ok()) {
            headers.push((LAST_EVENT_ID, last));
        }
        let ask = Ask { method: Method::GET, headers, body: Bytes::new() };
        match tokio::time::timeout(NOTIFY_MAX, self.http.ask(&ask)).await {
            Ok(asked) => asked,
            Err(_) => Err(NoAnswer("nothing came for too long".to_owned())),
        }
    }

    fn post(&self, message: &Outgoing, body: Bytes) -> Ask {
        let session = locked(&self.session).clone();
        let mut headers = self.usual(session, Some(message));
        headers.push((
            header::ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        ));
        headers.push((header::CONTENT_TYPE, HeaderValue::from_static(JSON)));
        Ask { method: Method::POST, headers, body }
    }

    /// Returns what the protocol wants to hear in headers.
    fn usual(
        &self,
        session: Option<HeaderValue>,
        message: Option<&Outgoing>,
    ) -> Vec<(HeaderName, HeaderValue)> {
        let mut headers = Vec::new();
        let version = self.connection.version();
        let is_first = message.is_some_and(Outgoing::is_initialize);
        if !is_first && ProtocolVersion::V2025_06_18 <= version {
            headers.push((PROTOCOL_VERSION, HeaderValue::from_static(version.as_str())));
        }
        if ProtocolVersion::NEWEST_INITIALIZED < version {
            headers.extend(message.into_iter().flat_map(Outgoing::headers));
        }
        if let (Some(session), false) = (session, is_first) {
            headers.push((SESSION_ID, session));
        }
        headers
    }
}

fn is_stream(answer: &Answer) -> bool {
    answer.status == StatusCode::OK && answer.media_type() == EVENTS && !answer.is_packed()
}

fn wait(events: &Events) -> Duration {
    let [least, usual, longest] = RETRY;
    events.retry().unwrap_or(usual).clamp(least, longest)
}
