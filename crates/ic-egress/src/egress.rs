//! The service: listens on the doors of cages until each is over.
//!
//! Knows sockets and tasks; what happens behind a door is in `dns`, `door` and `cage`.

use std::fmt;
use std::future::Future;
use std::io;
use std::net;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use ic_types::ServerName;
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::Semaphore;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::allowed::Allowed;
use crate::cage::{Cage, Upstream};
use crate::ledger::{Door, Ledger};
use crate::names::Names;
use crate::pace::Pace;
use crate::resolve::Resolve;
use crate::tally::Tally;
use crate::target::Target;
use crate::{answer, dns, door, limits};

/// The sockets of one cage on which the host listens.
///
/// They were made in the cage's network, by whoever made the cage.
#[derive(Debug)]
pub struct Doors {
    /// Where the cage asks for names.
    pub dns_udp: net::UdpSocket,
    /// Where it asks for names if it likes connections better.
    pub dns_tcp: net::TcpListener,
    /// An HTTP proxy, for programs that know of one.
    pub proxy: net::TcpListener,
    /// Every port of [`Allowed::ports`], on every address of the cage.
    pub ports: Vec<net::TcpListener>,
}

/// Makes the connections that leave the cages of one session.
#[derive(Clone)]
pub struct Egress {
    resolver: Arc<dyn Resolve>,
    ledger: Arc<dyn Ledger>,
    /// Numbers the connections of all cages.
    ids: Arc<AtomicU64>,
    /// Carries every task, so that whoever ends the session can wait for the last record.
    tasks: TaskTracker,
}

/// The sockets, as the tasks wait for them.
struct Listeners {
    dns_udp: UdpSocket,
    dns_tcp: TcpListener,
    proxy: TcpListener,
    ports: Vec<TcpListener>,
}

impl Egress {
    /// Makes the egress of a session; its tasks run on `tasks`.
    pub fn new(resolver: Arc<dyn Resolve>, ledger: Arc<dyn Ledger>, tasks: TaskTracker) -> Self {
        Self { resolver, ledger, ids: Arc::default(), tasks }
    }

    /// Serves the cage of `server` until `over` is cancelled.
    ///
    /// Must be called within a runtime. Returns at once; the last record is written before the last
    /// task ends.
    pub fn serve(
        &self,
        server: ServerName,
        allowed: Allowed,
        doors: Doors,
        over: CancellationToken,
    ) -> io::Result<()> {
        let listeners = Listeners::new(doors)?;
        let cage = Arc::new(self.cage(server, allowed, over));
        self.tasks.spawn(run(cage, listeners));
        Ok(())
    }

    /// Makes one connection for a process of ours that is in no cage, checked like any other; or says
    /// why there is none.
    ///
    /// What is said on it is the caller's business: there is no gate.
    pub async fn connect(
        &self,
        server: ServerName,
        allowed: Allowed,
        target: &Target,
    ) -> Result<TcpStream, String> {
        let cage = self.cage(server, allowed, CancellationToken::new());
        let opened = cage.open(Door::Direct, target).await;
        opened.map(Upstream::into_stream).map_err(|unmade| {
            let (_, text) = answer::words(&cage.server, Some(target), &unmade);
            text.trim_end().to_owned()
        })
    }

    fn cage(&self, server: ServerName, allowed: Allowed, over: CancellationToken) -> Cage {
        Cage {
            server,
            allowed,
            resolver: Arc::clone(&self.resolver),
            ledger: Arc::clone(&self.ledger),
            ids: Arc::clone(&self.ids),
            names: Mutex::new(Names::default()),
            tally: Mutex::new(Tally::default()),
            pace: Pace::new(),
            over,
        }
    }
}

impl fmt::Debug for Egress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Egress").field("tasks", &self.tasks).finish_non_exhaustive()
    }
}

impl Listeners {
    fn new(doors: Doors) -> io::Result<Self> {
        let listener = |listener: net::TcpListener| {
            listener.set_nonblocking(true)?;
            TcpListener::from_std(listener)
        };
        doors.dns_udp.set_nonblocking(true)?;
        Ok(Self {
            dns_udp: UdpSocket::from_std(doors.dns_udp)?,
            dns_tcp: listener(doors.dns_tcp)?,
            proxy: listener(doors.proxy)?,
            ports: doors.ports.into_iter().map(listener).collect::<io::Result<_>>()?,
        })
    }
}

/// Serves one cage to its end.
async fn run(cage: Arc<Cage>, listeners: Listeners) {
    let tasks = TaskTracker::new();
    let slots = Arc::new(Semaphore::new(limits::CONNECTIONS_MAX));
    let dns_slots = Arc::new(Semaphore::new(limits::DNS_CONNECTIONS_MAX));
    tasks.spawn(dns::serve_datagrams(Arc::clone(&cage), listeners.dns_udp));
    let accept = Accept { cage: &cage, tasks: &tasks };
    accept.all(listeners.dns_tcp, dns_slots, dns::serve_connection);
    accept.all(listeners.proxy, Arc::clone(&slots), door::serve_proxy);
    for listener in listeners.ports {
        accept.all(listener, Arc::clone(&slots), door::serve_port);
    }
    cage.report().await;
    tasks.close();
    tasks.wait().await;
    // What the last connections were refused is known only now.
    cage.flush();
}

/// Starts the tasks of one cage.
struct Accept<'a> {
    cage: &'a Arc<Cage>,
    tasks: &'a TaskTracker,
}

impl Accept<'_> {
    /// Starts to serve every connection to `listener`, as many at once as there are `slots`.
    fn all<S, F>(&self, listener: TcpListener, slots: Arc<Semaphore>, serve: S)
    where
        S: Fn(Arc<Cage>, TcpStream) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let (cage, tasks) = (Arc::clone(self.cage), self.tasks.clone());
        let accepting = async move {
            loop {
                // It fails if the client has left already, or if this process has no descriptors
                // left; in either case the next one may do better.
                let Ok((stream, _)) = listener.accept().await else {
                    sleep(limits::PAUSE).await;
                    continue;
                };
                // One connection waits here, and others in the kernel's queue.
                let slot = Arc::clone(&slots).acquire_owned().await;
                stream.set_nodelay(true).ok();
                let serving = serve(Arc::clone(&cage), stream);
                tasks.spawn(async move {
                    let _slot = slot;
                    serving.await;
                });
            }
        };
        let over = self.cage.over.clone();
        self.tasks.spawn(async move { over.run_until_cancelled(accepting).await.unwrap_or(()) });
    }
}
