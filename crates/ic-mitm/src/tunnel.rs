//! Connections of agents: `CONNECT`, TLS, and the requests in it. Nothing is passed on unread.
//!
//! ```text
//! agent ─▶ Listener ─▶ CONNECT host:443 ─▶ TLS with our certificate ─▶ HTTP/1.1 or HTTP/2 ─▶ exchange
//!                      others: 403          not TLS: closed
//! ```

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::upgrade::Upgraded;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::LazyConfigAcceptor;
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::authority::AuthorityError;
use crate::exchange::{self, Line, drain};
use crate::gate::Gate;
use crate::limits::{self, Limits};
use crate::refusal::{Refusal, named};
use crate::relay::Reply;

/// A connection of an agent.
pub type Stream = Either<TcpStream, UnixStream>;

/// What takes connections of agents.
pub trait Accept: Send {
    /// Waits for the next one.
    fn accept(&mut self) -> impl Future<Output = io::Result<Stream>> + Send;
}

/// Where agents connect.
#[derive(Debug)]
pub enum Listener {
    /// A port on loopback.
    Tcp(TcpListener),
    /// A socket in the file system.
    Unix(UnixListener),
}

/// What became of the connections that were open when the gate was closed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Closed {
    /// All had come to their end.
    Drained,
    /// Some were cut off.
    CutOff,
}

/// What the tasks of a gate share.
#[derive(Clone, Debug)]
struct Tasks {
    tracker: TaskTracker,
    /// No more requests are taken.
    stop: CancellationToken,
    /// Everything ends.
    cut: CancellationToken,
}

impl Accept for Listener {
    async fn accept(&mut self) -> io::Result<Stream> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                // Slower without it, and no worse.
                stream.set_nodelay(true).ok();
                Ok(Either::Left(stream))
            }
            Self::Unix(listener) => listener.accept().await.map(|(it, _)| Either::Right(it)),
        }
    }
}

/// What stands behind a listener: in whose name it speaks, and what it answers.
pub(crate) trait Behind: Send + Sync + Sized + 'static {
    /// Returns how much it may do at once.
    fn limits(&self) -> Limits;

    /// Returns the host that `authority` means, if it speaks in its name.
    fn host_of(&self, authority: &str) -> Option<&'static str>;

    /// Returns what TLS is spoken with in the name of `host`.
    fn leaf(&self, host: &str) -> Result<Arc<ServerConfig>, AuthorityError>;

    /// Refuses a request that is made to it, and not to a host of its own.
    fn turn_away(&self, method: &Method, asked: &str, path: &str) -> Response<Reply>;

    /// Answers a request to a host of its own.
    fn answer(
        self: Arc<Self>,
        line: Line,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<Response<Reply>, Infallible>> + Send;
}

impl Gate {
    /// Serves agents until `stop` is cancelled, then waits for what is under way.
    pub async fn serve(
        self: Arc<Self>,
        listener: impl Accept,
        stop: &CancellationToken,
    ) -> io::Result<Closed> {
        serve(self, listener, stop).await
    }
}

impl Behind for Gate {
    fn limits(&self) -> Limits {
        self.limits()
    }

    fn host_of(&self, authority: &str) -> Option<&'static str> {
        let of_packages = || self.packages()?.host_of(authority);
        self.host_of(authority).or_else(of_packages)
    }

    fn leaf(&self, host: &str) -> Result<Arc<ServerConfig>, AuthorityError> {
        match self.packages().filter(|_| host != self.rules().host) {
            Some(packages) => packages.leaf(host),
            None => self.leaves().of(host),
        }
    }

    fn turn_away(&self, method: &Method, asked: &str, path: &str) -> Response<Reply> {
        let allowed = || match self.packages() {
            Some(packages) => format!("{}, {}", self.rules().host, packages.hosts().join(", ")),
            None => self.rules().host.to_owned(),
        };
        let why = match *method == Method::CONNECT {
            true => Refusal::Host { asked: named(asked), allowed: allowed() },
            false => Refusal::PlainHttp,
        };
        self.refuse(method, &named(asked), path, &why)
    }

    async fn answer(
        self: Arc<Self>,
        line: Line,
        request: Request<Incoming>,
    ) -> Result<Response<Reply>, Infallible> {
        match self.packages().filter(|_| *line.host != *self.rules().host) {
            Some(packages) => Arc::clone(packages).answer(line, request).await,
            None => exchange::serve(self, line, request).await,
        }
    }
}

/// Serves clients of what is behind until `stop` is cancelled, then waits for what is under way.
pub(crate) async fn serve<B: Behind>(
    behind: Arc<B>,
    mut listener: impl Accept,
    stop: &CancellationToken,
) -> io::Result<Closed> {
    let limits = behind.limits();
    let slots = Arc::new(Semaphore::new(limits.connections_max));
    let tasks = Tasks {
        tracker: TaskTracker::new(),
        stop: stop.child_token(),
        cut: CancellationToken::new(),
    };
    let ended = loop {
        // A slot first, so that agents wait in the backlog of a gate that is full.
        let next = async {
            let slot = Arc::clone(&slots).acquire_owned().await;
            listener.accept().await.map(|stream| (slot, stream))
        };
        let (slot, stream) = tokio::select! {
            () = tasks.stop.cancelled() => break Ok(()),
            next = next => match next {
                Ok(next) => next,
                Err(error) if is_passing(&error) => continue,
                Err(error) => break Err(error),
            },
        };
        let (behind, inner) = (Arc::clone(&behind), tasks.clone());
        tasks.tracker.spawn(async move {
            welcome(behind, stream, Arc::new(slot), inner).await;
        });
    };
    // Nobody has told the connections of a listener that fails.
    tasks.stop.cancel();
    tasks.tracker.close();
    let is_drained = timeout(limits.grace, tasks.tracker.wait()).await.is_ok();
    if !is_drained {
        tasks.cut.cancel();
        tasks.tracker.wait().await;
    }
    let closed = if is_drained { Closed::Drained } else { Closed::CutOff };
    ended.map(|()| closed)
}

/// Serves a connection until it wants to be one with the provider.
async fn welcome<B: Behind>(
    behind: Arc<B>,
    stream: Stream,
    slot: Arc<impl Send + Sync + 'static>,
    tasks: Tasks,
) {
    let service = service_fn(|request: Request<Incoming>| {
        let (behind, slot, tasks) = (Arc::clone(&behind), Arc::clone(&slot), tasks.clone());
        async move { Ok::<_, Infallible>(connect(behind, request, slot, tasks).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits::HEAD)
        .max_headers(limits::HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    tokio::select! {
        // What cannot be read is answered by the connection itself.
        _ = connection.as_mut() => {}
        () = tasks.cut.cancelled() => {}
        () = tasks.stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            tokio::select! { _ = connection => {}, () = tasks.cut.cancelled() => {} }
        }
    }
}

/// Answers a request that is made to the gate itself.
async fn connect<B: Behind>(
    behind: Arc<B>,
    mut request: Request<Incoming>,
    slot: Arc<impl Send + Sync + 'static>,
    tasks: Tasks,
) -> Response<Reply> {
    let asked = request.uri().authority().map(|it| it.as_str().to_owned()).unwrap_or_default();
    let path = request.uri().path().to_owned();
    let method = request.method().clone();
    let host = match method == Method::CONNECT {
        true => behind.host_of(&asked),
        false => None,
    };
    let Some(host) = host else {
        drain(request.into_body()).await;
        return behind.turn_away(&method, &asked, &path);
    };
    let upgrade = hyper::upgrade::on(&mut request);
    let tracker = tasks.tracker.clone();
    tracker.spawn(async move {
        let _slot = slot;
        if let Ok(stream) = upgrade.await {
            let cut = tasks.cut.clone();
            cut.run_until_cancelled(Box::pin(tunnel(behind, stream, host, &tasks.stop))).await;
        }
    });
    Response::new(Reply::Own(Full::default()))
}

/// Speaks TLS in the name of `host`, and serves the requests in it.
async fn tunnel<B: Behind>(
    behind: Arc<B>,
    stream: Upgraded,
    host: &'static str,
    stop: &CancellationToken,
) {
    let handshake = async {
        let acceptor =
            LazyConfigAcceptor::new(rustls::server::Acceptor::default(), TokioIo::new(stream));
        // Whatever is not TLS ends here.
        let start = acceptor.await.ok()?;
        let is_same_host = start.client_hello().server_name() == Some(host);
        let config = behind.leaf(host).ok()?;
        start.into_stream(config).await.ok().map(|stream| (stream, is_same_host))
    };
    let Ok(Some((stream, is_same_host))) = timeout(limits::HANDSHAKE, handshake).await else {
        return;
    };
    let line = Line { host: host.into(), is_same_host };
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let service = service_fn(move |request| Arc::clone(&behind).answer(line.clone(), request));
    let io = TokioIo::new(stream);
    if is_http2 {
        let connection = http2_builder().serve_connection(io, service);
        let mut connection = pin!(connection);
        tokio::select! {
            _ = connection.as_mut() => {}
            () = stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await.ok();
            }
        }
    } else {
        let connection = http1_builder().serve_connection(io, service);
        let mut connection = pin!(connection);
        tokio::select! {
            _ = connection.as_mut() => {}
            () = stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await.ok();
            }
        }
    }
}

/// How HTTP/1.1 is spoken inside of TLS.
fn http1_builder() -> http1::Builder {
    let mut builder = http1::Builder::new();
    let builder = builder.timer(TokioTimer::new()).header_read_timeout(None);
    builder.max_headers(limits::HEADERS_MAX).clone()
}

/// How HTTP/2 is spoken inside of TLS.
fn http2_builder() -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    let bytes_max = u32::try_from(limits::HEAD_BYTES_MAX).unwrap_or(u32::MAX);
    let builder = builder.timer(TokioTimer::new()).max_concurrent_streams(limits::STREAMS_MAX);
    builder.max_header_list_size(bytes_max).clone()
}

/// Returns whether a listener that fails so may be asked again.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod fuzz;
