//! A provider in TLS that answers at once, or with events that say when they were sent.
//!
//! What it is to answer stands in the message of the request: nothing, or [`Events`].

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use ic_testkit::web::Identity;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;

/// An answer to a request that wants no stream.
const ANSWER: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-6","content":[{"type":"text","text":"Yes."}],"stop_reason":"end_turn","usage":{"input_tokens":12,"output_tokens":3}}"#;
const STARTS: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-sonnet-4-6\",\"content\":[],\"usage\":{\"input_tokens\":12,\"output_tokens\":1}}}\n\n";
const ENDS: &str = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":3}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

/// The events that an answer consists of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Events {
    /// How many there are.
    pub(super) n: usize,
    /// How long after the first bytes the first of them comes.
    pub(super) first_ms: u64,
    /// How long after one the next one comes.
    pub(super) every_ms: u64,
}

impl Events {
    /// Writes what is wanted, as the message of a request.
    pub(super) fn wanted(self) -> String {
        format!("events {} {} {}", self.n, self.first_ms, self.every_ms)
    }

    fn read(body: &str) -> Option<Self> {
        let (_, rest) = body.split_once("events ")?;
        let mut numbers = rest.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u64>);
        let mut next = || numbers.next()?.ok();
        let n = usize::try_from(next()?).ok()?;
        Some(Self { n, first_ms: next()?, every_ms: next()? })
    }
}

/// A provider that runs.
#[derive(Debug)]
pub(super) struct Provider {
    /// Where it listens.
    pub(super) address: SocketAddr,
    /// What has to be believed, in PEM.
    pub(super) authority: String,
    /// The moment that events are counted from.
    pub(super) start: Instant,
}

impl Provider {
    /// Starts a provider.
    pub(super) async fn start() -> anyhow::Result<Self> {
        let identity = Identity::new();
        let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes())?;
        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?;
        let ring = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(ring)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (address, start) = (listener.local_addr()?, Instant::now());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    // Small writes are what is measured.
                    stream.set_nodelay(true).ok();
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let service = service_fn(move |request| answer(request, start));
                    let builder = hyper::server::conn::http1::Builder::new();
                    builder.serve_connection(TokioIo::new(stream), service).await.ok();
                });
            }
        });
        Ok(Self { address, authority: identity.authority, start })
    }
}

async fn answer(
    request: Request<Incoming>,
    start: Instant,
) -> Result<Response<Pieces>, Infallible> {
    let body = request.into_body().collect().await;
    let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let events = body.get(..body.len().min(512)).and_then(|it| std::str::from_utf8(it).ok());
    let (sender, pieces) = mpsc::unbounded_channel();
    let kind = if let Some(events) = events.and_then(Events::read) {
        tokio::spawn(play(events, start, sender));
        "text/event-stream"
    } else {
        sender.send(Bytes::from_static(ANSWER.as_bytes())).ok();
        "application/json"
    };
    let mut response = Response::new(Pieces(pieces));
    response
        .headers_mut()
        .insert(hyper::header::CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    Ok(response)
}

/// Sends events, each with the moment of its sending, until the client has gone.
async fn play(events: Events, start: Instant, sender: mpsc::UnboundedSender<Bytes>) {
    sender.send(Bytes::from_static(STARTS.as_bytes())).ok();
    tokio::time::sleep(Duration::from_millis(events.first_ms)).await;
    for at in 0..events.n {
        if at != 0 {
            tokio::time::sleep(Duration::from_millis(events.every_ms)).await;
        }
        let sent = start.elapsed().as_nanos();
        let event = format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"at {sent};\"}}}}\n\n"
        );
        if sender.send(Bytes::from(event)).is_err() {
            return;
        }
    }
    sender.send(Bytes::from_static(ENDS.as_bytes())).ok();
}

/// A body whose pieces come one by one.
#[derive(Debug)]
struct Pieces(mpsc::UnboundedReceiver<Bytes>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }
}
