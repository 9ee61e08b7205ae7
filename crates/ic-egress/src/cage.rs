//! One cage as its doors see it: what it may reach, what it asked for, and who is told.
//!
//! Every connection goes through [`Cage::open`] and [`Cage::carry`]; the doors only find out what is
//! wanted, and answer in their own manner.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ic_types::{Host, ServerName, locked};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::select;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::allowed::{Admitted, Allowed};
use crate::answer::answer;
use crate::connect::{Recorded, record};
use crate::gate::{Gate, Manner};
use crate::ledger::{Closed, Door, Ending, Ledger, Refused};
use crate::limits;
use crate::names::Names;
use crate::pace::Pace;
use crate::refusal::{Failure, Refusal, Unmade};
use crate::relay::{Start, Stopped, Traffic, relay};
use crate::resolve::Resolve;
use crate::tally::{Kind, Tally};
use crate::target::Target;

/// How often a ledger hears of a connection that goes on.
const TELL_EVERY: Duration = Duration::from_millis(500);

/// One cage.
pub(crate) struct Cage {
    pub(crate) server: ServerName,
    pub(crate) allowed: Allowed,
    pub(crate) resolver: Arc<dyn Resolve>,
    pub(crate) ledger: Arc<dyn Ledger>,
    /// Numbers connections, over all cages of a session.
    pub(crate) ids: Arc<AtomicU64>,
    pub(crate) names: Mutex<Names>,
    pub(crate) tally: Mutex<Tally>,
    pub(crate) pace: Pace,
    pub(crate) over: CancellationToken,
}

/// A connection to a server outside.
#[derive(Debug)]
pub(crate) struct Upstream {
    recorded: Recorded,
    stream: TcpStream,
    address: SocketAddr,
    since: Instant,
}

impl Upstream {
    /// Gives up the record for the connection.
    pub(crate) fn into_stream(self) -> TcpStream {
        self.stream
    }
}

impl Cage {
    /// Judges `target`, finds and checks its addresses, records the connection, and makes it.
    pub(crate) async fn open(&self, door: Door, target: &Target) -> Result<Upstream, Unmade> {
        let opened = self.try_open(door, target).await;
        let why = match &opened {
            Err(Unmade::Refused(why)) => Some(why.clone()),
            Err(Unmade::Failed(failure)) => failure.is_unresolved().then_some(Refusal::Unresolved),
            Ok(_) => None,
        };
        if let Some(why) = why {
            self.refuse(door, Some(target.host().clone()), Some(target.port()), why);
        }
        opened
    }

    async fn try_open(&self, door: Door, target: &Target) -> Result<Upstream, Unmade> {
        let admitted = self.allowed.admit(target.clone())?;
        self.over.run_until_cancelled(self.pace.turn()).await.ok_or(Failure::Over)?;
        let addresses = self.resolve(&admitted).await?;
        let checked = self.allowed.check(admitted, &addresses)?;
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let recorded = record(checked, id, &self.server, door, &*self.ledger)?;
        let since = Instant::now();
        match self.make(&recorded).await {
            Ok((stream, address)) => Ok(Upstream { recorded, stream, address, since }),
            Err(unmade) => {
                let ending = match &unmade {
                    Unmade::Refused(_) => Ending::Refused,
                    Unmade::Failed(Failure::Over) => Ending::Over,
                    Unmade::Failed(_) => Ending::Unreachable,
                };
                let (sent, received, duration) = (0, 0, since.elapsed());
                let closed = Closed { address: None, sent, received, duration, ending };
                self.ledger.closed(recorded.connection(), &closed);
                Err(unmade)
            }
        }
    }

    /// Makes a connection that was recorded, and looks where it came out.
    async fn make(&self, recorded: &Recorded) -> Result<(TcpStream, SocketAddr), Unmade> {
        let made = select! {
            () = self.over.cancelled() => Err(Failure::Over),
            made = recorded.connect() => made,
        };
        let (stream, address) = made?;
        let local = stream.local_addr().map_err(Failure::Connect)?;
        self.allowed.check_made(&recorded.connection().target, local.ip(), address.ip())?;
        Ok((stream, address))
    }

    /// Finds the addresses of what was admitted; an address is its own.
    async fn resolve(&self, admitted: &Admitted) -> Result<Vec<IpAddr>, Failure> {
        let target = admitted.target();
        let name = match target.host() {
            Host::V4(address) => return Ok(vec![(*address).into()]),
            Host::V6(address) => return Ok(vec![(*address).into()]),
            Host::Name(name) => name.clone(),
        };
        let resolving = timeout(limits::RESOLVE, self.resolver.resolve(name, target.port()));
        select! {
            () = self.over.cancelled() => Err(Failure::Over),
            resolved = resolving => match resolved {
                Ok(resolved) => resolved.map_err(Failure::Resolve),
                Err(_) => Err(Failure::ResolveTimeout),
            },
        }
    }

    /// Carries bytes between `client`, after a `greeting`, and `upstream`, and records the end.
    pub(crate) async fn carry(
        &self,
        mut client: TcpStream,
        greeting: &[u8],
        mut upstream: Upstream,
        start: Start,
    ) {
        let connection = upstream.recorded.connection().clone();
        let traffic = Traffic::new();
        let gate = Gate { allowed: &self.allowed, target: &connection.target };
        let carrying = async {
            client.write_all(greeting).await?;
            relay(gate, &mut client, &mut upstream.stream, start, &traffic).await
        };
        let telling = async {
            loop {
                tokio::time::sleep(TELL_EVERY).await;
                self.ledger.carried(&connection, traffic.received.load(Ordering::Relaxed));
            }
        };
        let ending = select! {
            () = self.over.cancelled() => Err(None),
            () = telling => Err(None),
            carried = carrying => carried.map_err(Some),
        };
        let (ending, turned) = match ending {
            Ok(()) => (Ending::Finished, None),
            Err(None) => (Ending::Over, None),
            Err(Some(Stopped::Idle)) => (Ending::Idle, None),
            Err(Some(Stopped::Broken(error))) => (Ending::Broken(error.kind()), None),
            Err(Some(Stopped::Turned(turned))) => (Ending::Refused, Some(turned)),
        };
        drop(upstream.stream);
        let (sent, received) =
            (traffic.sent.load(Ordering::Relaxed), traffic.received.load(Ordering::Relaxed));
        if let Some(turned) = &turned {
            let (host, port) = (connection.target.host().clone(), connection.target.port());
            self.refuse(connection.door, Some(host), Some(port), turned.why.clone());
        }
        let duration = upstream.since.elapsed();
        let closed = Closed { address: Some(upstream.address), sent, received, duration, ending };
        self.ledger.closed(&connection, &closed);
        if let (Some(turned), 0) = (turned, received) {
            self.dismiss(client, turned.manner, Some(&connection.target), turned.why.into()).await;
        }
    }

    /// Says to `client` why there is no connection, and lets it read that.
    pub(crate) async fn dismiss(
        &self,
        mut client: TcpStream,
        manner: Manner,
        target: Option<&Target>,
        unmade: Unmade,
    ) {
        let text = answer(manner, &self.server, target, &unmade);
        if text.is_empty() {
            return;
        }
        let farewell = async {
            client.write_all(&text).await?;
            client.shutdown().await?;
            // Closing while bytes are unread would take back what was just said.
            let mut rest = client.take(limits::FAREWELL_BYTES_MAX);
            tokio::io::copy(&mut rest, &mut tokio::io::sink()).await
        };
        let farewell = timeout(limits::FAREWELL, farewell);
        // Whether it was heard is the client's affair.
        self.over.run_until_cancelled(farewell).await;
    }

    /// Records a refusal, or counts it if it is one of many.
    pub(crate) fn refuse(&self, door: Door, host: Option<Host>, port: Option<u16>, why: Refusal) {
        let kind = Kind { door, host, port, why };
        let noted = locked(&self.tally).note(kind);
        if let Some(kind) = noted {
            self.record_refused(kind, 1);
        }
    }

    /// Records what was only counted, whenever a window ends and when the cage is over.
    pub(crate) async fn report(&self) {
        let wait = |window: Duration| self.over.run_until_cancelled(tokio::time::sleep(window));
        while wait(limits::TALLY).await.is_some() {
            self.flush();
        }
    }

    /// Records what was only counted.
    pub(crate) fn flush(&self) {
        let counted = locked(&self.tally).drain();
        for (kind, times) in counted {
            self.record_refused(kind, times);
        }
    }

    fn record_refused(&self, kind: Kind, times: u64) {
        let Kind { door, host, port, why } = kind;
        let server = self.server.clone();
        self.ledger.refused(&Refused { server, door, host, port, why, times });
    }
}
