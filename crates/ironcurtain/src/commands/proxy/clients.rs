//! Several clients on one socket, all in one session.
//!
//! ```text
//! Socket ─▶ a task per client ─asks for the session─▶ this loop, which opens it once
//! ```
//!
//! Clients share the session's policy, record, desk and servers, and nothing else: how each speaks,
//! its ids, what it may take back and what waits for it are its own.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use ic_broker::Broker;
use ic_client::client::{ClientInfo, Ended, Manner, Open, ScriptTool, Slow, serve_one};
use ic_client::socket::{BEGINS_WITHIN, Seat, Socket};
use ic_judge::method::CallMethod;
use tokio::net::UnixStream;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::open::{CodeMode, Opener};
use crate::error::Failure;

/// How many clients are served at once; further ones wait to be let in.
const CLIENTS_MAX: usize = 256;
/// How often it is looked whether a client has gone altogether.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A client that needs the session, and where it is told.
type Request = (ClientInfo, oneshot::Sender<Result<Arc<Broker>, NoSession>>);

/// Why a client gets no session.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
struct NoSession(String);

/// Asks for the session that all clients share.
struct Ask {
    session: mpsc::Sender<Request>,
    /// The methods besides calls of tools for which a server may be asked.
    offered: Arc<[CallMethod]>,
    code_mode: CodeMode,
}

impl Open for Ask {
    type Error = NoSession;

    fn offers(&self, method: CallMethod) -> bool {
        self.offered.contains(&method)
    }

    fn script_tool(&self) -> Option<Arc<dyn ScriptTool>> {
        self.code_mode.tool()
    }

    async fn open(&mut self, client: &ClientInfo) -> Result<Arc<Broker>, NoSession> {
        let over = |()| NoSession("the session ends".to_owned());
        let (tell, told) = oneshot::channel();
        self.session.send((client.clone(), tell)).await.map_err(|_| over(()))?;
        told.await.map_err(|_| over(()))?
    }
}

/// Serves clients until `stop` is cancelled, or the session cannot be opened.
pub(super) async fn serve_all(
    socket: Socket,
    mut opener: Opener<'_>,
    stop: &CancellationToken,
) -> Ended<Failure> {
    let (asking, mut asked) = mpsc::channel::<Request>(CLIENTS_MAX);
    let (slots, clients) = (Arc::new(Semaphore::new(CLIENTS_MAX)), TaskTracker::new());
    let end_all = stop.child_token();
    let mut session: Option<Arc<Broker>> = None;
    let failed = loop {
        let next = async {
            // A slot first, so that nobody is let in whom nobody serves.
            let slot = Arc::clone(&slots).acquire_owned().await;
            (slot, socket.accept().await)
        };
        tokio::select! {
            () = stop.cancelled() => break None,
            Some((client, tell)) = asked.recv() => {
                let broker = match &session {
                    Some(broker) => Ok(Arc::clone(broker)),
                    None => opener.open(&client).await,
                };
                match broker {
                    Ok(broker) => {
                        session = Some(Arc::clone(&broker));
                        // The client may have gone meanwhile.
                        tell.send(Ok(broker)).ok();
                    }
                    Err(failure) => {
                        tell.send(Err(NoSession(failure.to_string()))).ok();
                        break Some(failure);
                    }
                }
            }
            (slot, (client, seat)) = next => {
                let (session, offered) = (asking.clone(), Arc::clone(&opener.offered));
                let code_mode = opener.code_mode.clone();
                let (ask, stop) = (Ask { session, offered, code_mode }, end_all.child_token());
                clients.spawn(async move {
                    serve_client((client, &seat), ask, stop).await;
                    drop((seat, slot));
                });
            }
        }
    };
    // No new ones, and nobody should take it for a session that lives.
    drop((socket, asked));
    clients.close();
    if failed.is_none() {
        end_all.cancel();
    }
    clients.wait().await;
    match failed {
        None => Ended::Done(session),
        Some(failure) => Ended::NotOpened(failure),
    }
}

/// Serves one client until it goes away, or is too slow.
async fn serve_client((client, seat): (UnixStream, &Seat), ask: Ask, stop: CancellationToken) {
    let (reader, writer) = client.into_split();
    let manner = Manner { stop: &stop, slow: Slow::IsDropped, begins_within: Some(BEGINS_WITHIN) };
    let serving = serve_one(reader, writer, ask, manner);
    let watching = async {
        hung_up(seat).await;
        // Nobody reads an answer any more, so what still runs for it is taken back.
        stop.cancel();
        pending::<()>().await;
    };
    tokio::select! {
        _ = serving => {}
        () = watching => {}
    }
}

/// Waits until the other end is closed for reading and writing.
async fn hung_up(seat: &Seat) {
    while !seat.has_hung_up() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
