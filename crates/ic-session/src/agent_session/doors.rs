//! The two doors of an agent's cage: MCP, and the model gate.
//!
//! The listeners are the host's; nothing inside can take them. A call that comes through is judged like any
//! other.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ic_backend::DoorListener;
use ic_backend::caller::Slow;
use ic_broker::Broker;
use ic_broker::broker::{Asked, Reply};
use ic_client::client::{CallWatcher, ClientInfo, Manner, Open, ScriptTool, serve_one};
use ic_mitm::{Gate, Listener};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::calls::{call_fate, summary};
use crate::news::{CallNews, Event, News};
use crate::script_tool::RunScript;

/// The port at which the agent finds our MCP server.
pub(super) const MCP_PORT: u16 = 8701;
/// The port at which it finds the model gate.
pub(super) const MODEL_PORT: u16 = 8702;
/// How many connections to our MCP server an agent may have at a time.
const CONNECTIONS_MAX: usize = 16;
/// How long a connection may take to begin with the protocol.
const BEGINS_WITHIN: Duration = Duration::from_secs(10);

/// The doors of one turn.
#[derive(Debug)]
pub(super) struct Doors {
    tasks: TaskTracker,
    over: CancellationToken,
    has_opened: Arc<AtomicBool>,
}

/// Gives every client the session's broker, and notes that one came.
struct Given {
    broker: Arc<Broker>,
    news: Arc<News>,
    has_opened: Arc<AtomicBool>,
    scripts: Option<Arc<RunScript>>,
}

/// Tells what becomes of the agent's calls.
struct Teller(Arc<News>);

impl Doors {
    /// Serves what comes through the doors of a cage until [`Doors::close`].
    pub(super) fn open(
        listeners: Vec<(u16, DoorListener)>,
        (broker, scripts): (&Arc<Broker>, Option<&Arc<RunScript>>),
        gate: &Arc<Gate>,
        news: &Arc<News>,
    ) -> std::io::Result<Self> {
        let (tasks, over) = (TaskTracker::new(), CancellationToken::new());
        let doors = Self { tasks, over, has_opened: Arc::default() };
        for (port, listener) in listeners {
            let listener = match listener {
                DoorListener::Tcp(listener) => {
                    listener.set_nonblocking(true)?;
                    Listener::Tcp(TcpListener::from_std(listener)?)
                }
                DoorListener::Unix(listener) => {
                    listener.set_nonblocking(true)?;
                    Listener::Unix(UnixListener::from_std(listener)?)
                }
            };
            let over = doors.over.clone();
            if port == MODEL_PORT {
                let gate = Arc::clone(gate);
                doors.tasks.spawn(async move {
                    // An agent without its model says so itself.
                    gate.serve(listener, &over).await.ok();
                });
            } else {
                let given = || Given {
                    broker: Arc::clone(broker),
                    news: Arc::clone(news),
                    has_opened: Arc::clone(&doors.has_opened),
                    scripts: scripts.cloned(),
                };
                doors.tasks.spawn(accept(listener, given(), over));
            }
        }
        Ok(doors)
    }

    /// Returns whether the agent has begun to speak MCP with us.
    pub(super) fn has_opened(&self) -> bool {
        self.has_opened.load(Ordering::Relaxed)
    }

    /// Ends what came through, and waits for it.
    pub(super) async fn close(&self) {
        self.over.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for Doors {
    fn drop(&mut self) {
        self.over.cancel();
    }
}

/// Serves each connection to our MCP server.
async fn accept(listener: Listener, given: Given, over: CancellationToken) {
    let (places, serving) = (Arc::new(Semaphore::new(CONNECTIONS_MAX)), TaskTracker::new());
    loop {
        let come = async {
            let place = Arc::clone(&places).acquire_owned().await.ok()?;
            Some((next(&listener).await, place))
        };
        let stream = match over.run_until_cancelled(come).await {
            Some(Some((Ok(stream), place))) => (stream, place),
            // The next one may work; without a pause this could spin.
            Some(Some((Err(_), _))) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
            Some(None) | None => break,
        };
        let (given, over) = (given.again(), over.clone());
        serving.spawn(async move {
            let (stream, _place) = stream;
            serve(stream, given, &over).await;
        });
    }
    serving.close();
    serving.wait().await;
}

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Waits for the next connection.
async fn next(listener: &Listener) -> std::io::Result<(Reader, Writer)> {
    Ok(match listener {
        Listener::Tcp(listener) => {
            let (reader, writer) = listener.accept().await?.0.into_split();
            (Box::new(reader), Box::new(writer))
        }
        Listener::Unix(listener) => {
            let (reader, writer) = listener.accept().await?.0.into_split();
            (Box::new(reader), Box::new(writer))
        }
    })
}

async fn serve((reader, writer): (Reader, Writer), given: Given, over: &CancellationToken) {
    let manner = Manner { stop: over, slow: Slow::IsDropped, begins_within: Some(BEGINS_WITHIN) };
    drop(serve_one(reader, writer, given, manner).await);
}

impl Given {
    fn again(&self) -> Self {
        Self {
            broker: Arc::clone(&self.broker),
            news: Arc::clone(&self.news),
            has_opened: Arc::clone(&self.has_opened),
            scripts: self.scripts.clone(),
        }
    }
}

impl Open for Given {
    type Error = Infallible;

    fn watcher(&self) -> Option<Arc<dyn CallWatcher>> {
        Some(Arc::new(Teller(Arc::clone(&self.news))))
    }

    fn script_tool(&self) -> Option<Arc<dyn ScriptTool>> {
        self.scripts.clone().map(|it| it as _)
    }

    async fn open(&mut self, _client: &ClientInfo) -> Result<Arc<Broker>, Infallible> {
        self.has_opened.store(true, Ordering::Relaxed);
        Ok(Arc::clone(&self.broker))
    }
}

impl CallWatcher for Teller {
    fn calling(&self, asked: &Asked) {
        self.0.tell(Event::Calling(dotted(&asked.name)));
    }

    fn called(&self, asked: &Asked, reply: &Reply, was_question: bool) {
        let (call, arguments) = (dotted(&asked.name), summary(&asked.arguments));
        self.0.called(CallNews { call, arguments, fate: call_fate(reply, was_question) });
    }
}

/// Returns the name of a tool as people are told it: `server.tool`.
fn dotted(offered: &str) -> String {
    offered.replacen("__", ".", 1)
}
