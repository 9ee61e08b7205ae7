//! What a running server asks of clients: how much of it, for whose call, and how it is taken back.
//!
//! ```text
//! Inbox ─▶ begin ─┬─ too much, too often, for nobody, in another shape ─▶ refused at once
//!                 └─ Raised ─▶ Broker: recorded, asked about, sent to the client, answered
//! ```
//!
//! Nothing is judged here, and nothing is answered but what is refused at once.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ic_inventory::PetitionKind;
use ic_mcp::{Id, Outcome, Request, Response, RpcError, code};
use ic_types::ServerName;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use crate::caller::Ear;
use crate::locked;
use crate::petition::{PETITION_BYTES_MAX, Petition};

/// How many petitions of one server are under way at once.
const UNDER_WAY_MAX: usize = 4;
/// How many of one server are begun within a window; people would stop reading.
const BEGUN_MAX: usize = 10;
/// How long one counts.
const WINDOW: Duration = Duration::from_mins(1);
/// The error of a petition that is refused.
pub const REFUSED: i64 = -32_000;

/// The petitions that come over one connection.
#[derive(Debug)]
pub(crate) struct Petitions {
    server: ServerName,
    way: Way,
    under_way: UnderWay,
}

/// Where what one server asks goes, over whichever connection, and how much it was.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    raised: mpsc::Sender<Raised>,
    tally: Arc<Mutex<Tally>>,
}

#[derive(Debug, Default)]
struct Tally {
    /// When petitions were begun, the oldest first.
    begun: VecDeque<Instant>,
    /// The calls for which a person was asked, and said no.
    denied: Vec<CancellationToken>,
}

type UnderWay = Arc<Mutex<HashMap<Id, CancellationToken>>>;

/// A petition that somebody has to be asked about.
#[derive(Debug)]
pub struct Raised {
    /// What is asked.
    pub petition: Petition,
    /// Whom it is for.
    pub client: Client,
    /// Where the answer goes.
    pub asker: Asker,
}

/// The server that asks, as far as it waits for an answer.
#[derive(Debug)]
pub struct Asker {
    id: Id,
    connection: Arc<Connection>,
    /// Cancelled when the server takes it back.
    pub taken_back: CancellationToken,
    /// Its place among those that are under way.
    place: Place,
}

impl Asker {
    /// Returns the server's name.
    pub fn server(&self) -> &ServerName {
        self.connection.server()
    }

    /// Returns a token that is cancelled when the connection is over.
    pub fn over(&self) -> &CancellationToken {
        self.connection.over()
    }

    /// Notes that a person said no, while these calls run.
    pub fn denied(&self, calls: &[CancellationToken]) {
        locked(&self.place.tally).denied.extend_from_slice(calls);
    }

    /// Answers the server, unless it is gone; its place is free from then on.
    pub async fn reply(self, outcome: Outcome) {
        let response = Response { id: Some(self.id.clone()), outcome };
        self.over().run_until_cancelled(self.connection.reply(response)).await;
    }
}

/// The client for which a server works.
#[derive(Debug)]
pub struct Client {
    /// The client.
    pub ear: Arc<Ear>,
    /// Each is cancelled when one of the client's calls is over.
    pub calls: Vec<CancellationToken>,
}

/// The place of a petition that is under way; given back when it is dropped.
#[derive(Debug)]
struct Place {
    under_way: UnderWay,
    id: Id,
    tally: Arc<Mutex<Tally>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        locked(&self.under_way).remove(&self.id);
    }
}

/// What becomes of a petition that is not raised.
#[derive(Debug)]
pub(super) enum NotRaised {
    /// It is refused.
    Refused(RpcError),
    /// Its id is that of another one, whose answer would be taken for both.
    Twin,
}

impl Petitions {
    pub(crate) fn new(server: ServerName, way: Way) -> Self {
        Self { server, way, under_way: UnderWay::default() }
    }

    /// Begins a petition that came over `connection`, for `client`.
    pub(super) fn begin(
        &self,
        (kind, request): (PetitionKind, Request),
        n_bytes: usize,
        connection: &Arc<Connection>,
        client: Result<Client, NoClient>,
    ) -> Result<(), NotRaised> {
        let refused = |why: String| NotRaised::Refused(RpcError::new(REFUSED, why));
        let Request { id, params, .. } = request;
        if locked(&self.under_way).contains_key(&id) {
            return Err(NotRaised::Twin);
        }
        // What is refused counts too: reading it is work, and a record.
        self.count().map_err(refused)?;
        if PETITION_BYTES_MAX < n_bytes {
            let why = format!("what is asked takes more than {PETITION_BYTES_MAX} bytes");
            return Err(refused(why));
        }
        let client = client.map_err(|no_client| refused(no_client.to_string()))?;
        if !client.ear.can(kind) {
            return Err(refused(NoClient::Deaf(kind.capability()).to_string()));
        }
        let petition = Petition::read(kind, params, &self.server)
            .map_err(|why| NotRaised::Refused(RpcError::new(code::INVALID_PARAMS, why)))?;
        let taken_back = CancellationToken::new();
        locked(&self.under_way).insert(id.clone(), taken_back.clone());
        let (under_way, tally) = (Arc::clone(&self.under_way), Arc::clone(&self.way.tally));
        let place = Place { under_way, id: id.clone(), tally };
        let connection = Arc::clone(connection);
        let asker = Asker { id, connection, taken_back, place };
        let raised = Raised { petition, client, asker };
        // What does not fit is dropped, and gives its place back.
        self.way.raised.try_send(raised).map_err(|_| refused(too_many()))
    }

    /// Takes a petition back, if it is under way.
    pub(super) fn take_back(&self, id: &Id) {
        if let Some(taken_back) = locked(&self.under_way).get(id) {
            taken_back.cancel();
        }
    }

    /// Counts one more, unless there are too many.
    fn count(&self) -> Result<(), String> {
        let (now, n_under_way) = (Instant::now(), locked(&self.under_way).len());
        let mut tally = locked(&self.way.tally);
        while tally.begun.front().is_some_and(|it| WINDOW <= now.saturating_duration_since(*it)) {
            tally.begun.pop_front();
        }
        if UNDER_WAY_MAX <= n_under_way || BEGUN_MAX <= tally.begun.len() {
            return Err(too_many());
        }
        tally.begun.push_back(now);
        tally.denied.retain(|call| !call.is_cancelled());
        match tally.denied.is_empty() {
            true => Ok(()),
            false => {
                Err("the user denied a request of this server, which may send no more while that \
                     call runs"
                    .to_owned())
            }
        }
    }
}

impl Way {
    pub(crate) fn new(raised: mpsc::Sender<Raised>) -> Self {
        Self { raised, tally: Arc::default() }
    }
}

fn too_many() -> String {
    format!(
        "a server may have {UNDER_WAY_MAX} questions of its own under way, and ask {BEGUN_MAX} within \
         a minute"
    )
}

/// Nobody can be asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum NoClient {
    /// No call of a client runs that could have led to it.
    #[error("no client waits for a call of this server, so its request has no recipient")]
    None,
    /// Calls of several clients run.
    #[error(
        "calls of several clients run at this server, so the recipient of its request is not known"
    )]
    Several,
    /// Another client gave up a call that the server has not answered.
    #[error(
        "another client took back a call of this server, or waited for it too long, and the server has \
         not answered that call; it may still work on it, so the recipient of its request is not known. It can ask \
         again once it has answered, or was started anew with the proxy; clients that start a proxy \
         each, without a shared socket, do not get in each other's way"
    )]
    GivenUp,
    /// The client has not said that it can be asked.
    #[error("the client whose call this is has not said that it supports `{0}`")]
    Deaf(&'static str),
}
