//! One connection to a server: requests go out under ids of our own, answers find their way back.
//!
//! Knows who waits for what, and for whose call. What comes in is read by the `inbox`; how the server was
//! started is not known here.

mod following;
mod inquiry;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use ic_audit::{Recorded, Redactor};
use ic_inventory::Asks;
use ic_judge::method::CallMethod;
use ic_mcp::{
    Id, Message, Outcome, ProtocolVersion, Response, meta, notification_line, request_line,
};
use ic_types::{Json, Object, ServerName};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::inbox::Exchange;
use super::petitions::{Client, NoClient};
use crate::caller::{Ear, Outbox};
use crate::levels::Wanted;
use crate::locked;

pub use following::Following;
pub(crate) use inquiry::Inquiry;

/// How many messages of ours may wait for a server that does not read.
pub(super) const OUTBOX_MAX: usize = 256;
/// How many answers that nobody waits for any more are remembered: to tell them from forged ones, and
/// because the server may still work on what they answer.
const GIVEN_UP_MAX: usize = 1024;

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
    /// How much of the server's log anybody wants to hear.
    log: Mutex<Wanted>,
    /// Somebody waits until the server reads, to tell it that.
    is_level_waiting: AtomicBool,
    /// The resources that clients follow, as the server was told, and how many clients follow each.
    followed: Mutex<HashMap<String, usize>>,
    over: CancellationToken,
}

/// Who waits for which answer.
#[derive(Debug, Default)]
struct Table {
    waiting: HashMap<u64, Waiting>,
    given_up: VecDeque<GivenUp>,
    /// Whether the call of a client was forgotten before it was answered.
    has_forgotten: bool,
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

/// A request that the server was not seen to be done with, and for which nobody waits any more.
#[derive(Debug)]
struct GivenUp {
    number: u64,
    /// The client whose call it was. It may have gone; what it said is known to the server all the same.
    caller: Option<Weak<Ear>>,
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
pub struct Progress {
    /// The token that the client gave.
    pub token: Id,
    /// The client.
    pub outbox: Outbox,
    /// What hides our keys.
    pub redactor: Arc<Redactor>,
}

/// How a request is made.
#[derive(Debug)]
pub(crate) struct Asking<'a> {
    /// Where progress goes, if anybody wants it.
    pub progress: Option<Progress>,
    /// The client whose call it is, if it is one's.
    pub caller: Option<Arc<Ear>>,
    /// Ends the waiting; the server is told.
    pub cancel: &'a CancellationToken,
    /// The longest that is waited.
    pub limit: Duration,
}

/// A request without an answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Unanswered {
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
            log: Mutex::default(),
            is_level_waiting: AtomicBool::new(false),
            followed: Mutex::default(),
            over: CancellationToken::new(),
        };
        (Arc::new(connection), outgoing)
    }

    /// Returns the server's name.
    pub(super) fn server(&self) -> &ServerName {
        &self.server
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

    /// Asks the server something that needs no proof; `write` writes the parameters with the given `_meta`.
    pub(crate) async fn inquire(
        &self,
        inquiry: Inquiry,
        write: impl FnOnce(&mut String, Object),
        asking: Asking<'_>,
    ) -> Result<Outcome, Unanswered> {
        self.ask(inquiry.as_str(), write, asking).await
    }

    /// Makes a recorded call, once.
    ///
    /// SECURITY: the one way to send a call, and it consumes the proof; a second try would be a second call.
    pub(crate) async fn call(
        &self,
        recorded: Recorded,
        meta: Object,
        asking: Asking<'_>,
    ) -> Result<Outcome, Unanswered> {
        let call = recorded.permit().call();
        let method = CallMethod::of(call.tool().as_str());
        let written = |out: &mut String, mut envelope: Object| {
            for (key, value) in meta.into_entries() {
                envelope.insert(key, value);
            }
            if let Some(method) = method {
                let mut params = method.params(call.sent());
                if !envelope.is_empty() {
                    params.insert(meta::META, envelope);
                }
                return Json::write_object(out, &params);
            }
            out.push_str("{\"name\":");
            Json::write_text(out, call.tool().as_str());
            out.push_str(",\"arguments\":");
            Json::write_object(out, call.sent());
            if !envelope.is_empty() {
                out.push_str(",\"_meta\":");
                Json::write_object(out, &envelope);
            }
            out.push('}');
        };
        self.ask(method.map_or("tools/call", CallMethod::as_str), written, asking).await
    }

    /// Asks the server and waits for the answer; open to the two functions above alone.
    async fn ask(
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

    /// Gives an answer to whoever waits for it; `false` if nobody does, and nobody did.
    pub(super) fn answered(&self, number: u64, outcome: Outcome) -> bool {
        let mut table = locked(&self.table);
        if let Some(waiting) = table.waiting.remove(&number) {
            drop(table);
            // Whoever waited may be gone by now.
            waiting.reply.send(Ok(outcome)).ok();
            return true;
        }
        let late = table.given_up.iter().position(|it| it.number == number);
        late.and_then(|at| table.given_up.remove(at)).is_some()
    }

    /// Returns where the progress of a request goes, if anybody wants it.
    pub(super) fn progress_of(&self, number: u64) -> Option<Progress> {
        locked(&self.table).waiting.get(&number).and_then(|waiting| waiting.progress.clone())
    }

    /// Returns whether somebody waits for the answer to a request.
    pub(super) fn is_waiting(&self, number: u64) -> bool {
        locked(&self.table).waiting.contains_key(&number)
    }

    /// Tells whoever waits for an answer why it will not come; the others go on waiting.
    pub(super) fn fail(&self, number: u64, why: &str) {
        let mut table = locked(&self.table);
        if let Some(waiting) = table.give_up(number) {
            drop(table);
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

    /// Answers a request of the server's, unless it does not read.
    pub(super) fn try_reply(&self, id: Id, outcome: Outcome) {
        let line = Message::from(Response { id: Some(id), outcome }).to_line();
        self.outbox.try_send(line).ok();
    }

    /// Tells the server something, unless it does not read.
    pub(crate) fn try_tell(&self, method: &str, params: &Object) {
        self.outbox.try_send(notification_line(method, params)).ok();
    }

    /// Tells the server how much of its log anybody wants: now, or with each request where there is no
    /// other way.
    pub(crate) fn want_log(self: &Arc<Self>, wanted: Wanted, tasks: &TaskTracker) {
        let before = std::mem::replace(&mut *locked(&self.log), wanted);
        let has_envelopes = ProtocolVersion::NEWEST_INITIALIZED < self.version();
        if has_envelopes || before.set == wanted.set {
            return;
        }
        if let Ok(place) = self.outbox.try_reserve() {
            return self.send_level(place);
        }
        // It takes its time to read; what is wanted by then is what it hears, and one waits for that.
        if self.is_level_waiting.swap(true, Ordering::AcqRel) {
            return;
        }
        let connection = Arc::clone(self);
        tasks.spawn(async move {
            let over = connection.over.clone();
            let place = over.run_until_cancelled(connection.outbox.reserve()).await;
            connection.is_level_waiting.store(false, Ordering::Release);
            if let Some(Ok(place)) = place {
                connection.send_level(place);
            }
        });
    }

    /// Whether the server heeds it is the server's affair, so nobody waits for the answer.
    fn send_level(&self, place: mpsc::Permit<'_, String>) {
        let Some(level) = locked(&self.log).set else { return };
        let number = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut params = Object::new();
        params.insert("level", level.as_str());
        locked(&self.table).expect_for_nobody(number);
        let written = |out: &mut String| Json::write_object(out, &params);
        place.send(request_line(&Id::number(number), "logging/setLevel", written));
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
            if let Some(level) = locked(&self.log).each {
                envelope.insert(meta::LOG_LEVEL, level.as_str());
            }
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
    pub(super) fn client(&self, exchange: Exchange) -> Result<Client, NoClient> {
        let table = locked(&self.table);
        let is_meant = |number: u64| match exchange {
            Exchange::Any | Exchange::None => true,
            Exchange::Of(only) => number == only,
        };
        let meant = table.waiting.iter().filter(|(number, _)| is_meant(**number));
        // Where any call may be meant, so may one that its client has taken back: the server is told of
        // that, and need not heed it.
        let may_be_old = match exchange {
            Exchange::Any | Exchange::None => true,
            Exchange::Of(_) => false,
        };
        let mut callers = meant.filter_map(|(_, waiting)| waiting.caller.as_ref());
        let Some(Caller { ear, over }) = callers.next() else { return Err(NoClient::None) };
        let mut client = Client { ear: Arc::clone(ear), calls: vec![over.clone()] };
        for Caller { ear, over } in callers {
            if !Arc::ptr_eq(ear, &client.ear) {
                return Err(NoClient::Several);
            }
            client.calls.push(over.clone());
        }
        match may_be_old && table.has_given_up_another(&client.ear) {
            true => Err(NoClient::GivenUp),
            false => Ok(client),
        }
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

impl Table {
    /// Notes that nobody waits any more for an answer; returns who did.
    fn give_up(&mut self, number: u64) -> Option<Waiting> {
        let waiting = self.waiting.remove(&number)?;
        let caller = waiting.caller.as_ref().map(|caller| Arc::downgrade(&caller.ear));
        self.keep(GivenUp { number, caller });
        Some(waiting)
    }

    /// Notes that there will be an answer for which nobody waits.
    fn expect_for_nobody(&mut self, number: u64) {
        self.keep(GivenUp { number, caller: None });
    }

    fn keep(&mut self, given_up: GivenUp) {
        if GIVEN_UP_MAX <= self.given_up.len() {
            let forgotten = self.given_up.pop_front();
            self.has_forgotten |= forgotten.is_some_and(|it| it.caller.is_some());
        }
        self.given_up.push_back(given_up);
    }

    /// Returns whether the server may still work on what another client than this one has given up.
    fn has_given_up_another(&self, ear: &Arc<Ear>) -> bool {
        let mut callers = self.given_up.iter().filter_map(|it| it.caller.as_ref());
        self.has_forgotten || callers.any(|it| !std::ptr::eq(it.as_ptr(), Arc::as_ptr(ear)))
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
        let given_up = locked(&self.connection.table).give_up(self.number);
        // Whoever is asked about it hears of its end once the table is free.
        drop(given_up);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The server may still work on it, however much came after it.
    #[test]
    fn what_another_client_gave_up_is_never_forgotten() {
        let (ada, bob) = (Ear::of_nobody(), Ear::of_nobody());
        let (connection, _outgoing) = Connection::new("s".parse().unwrap(), Asks::default());
        let waits = |number: u64, ear: &Arc<Ear>| {
            connection.wait_for(number, None, Some(Arc::clone(ear))).unwrap()
        };
        let give_up = |number: u64, ear: &Arc<Ear>| {
            let _answer = waits(number, ear);
            drop(Entry { connection: &connection, number });
        };
        let _of_ada = waits(1, &ada);
        let client = |exchange| connection.client(exchange).map(|client| client.calls.len());
        give_up(2, &ada);
        assert_eq!(client(Exchange::Any), Ok(1), "it is her own");
        give_up(3, &bob);
        for exchange in [Exchange::Any, Exchange::None] {
            assert_eq!(client(exchange), Err(NoClient::GivenUp));
        }
        assert_eq!(client(Exchange::Of(1)), Ok(1));
        // Once it is answered, the server is done with it.
        assert!(connection.answered(3, Ok(Json::Null)));
        assert_eq!(client(Exchange::Any), Ok(1));
        give_up(4, &bob);
        for number in 10..2_000 {
            give_up(number, &ada);
        }
        assert_eq!(client(Exchange::Any), Err(NoClient::GivenUp));
        let _of_bob = waits(5, &bob);
        assert_eq!(client(Exchange::Any), Err(NoClient::Several), "that is plainer");
    }
}
