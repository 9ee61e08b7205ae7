//! A provider in TLS that follows a script, a gate before it, and a client behind the gate.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use ic_egress::{Closed, Connection, Egress, LedgerError as EgressFault, SystemResolver};
use ic_home::environment::Network;
use ic_home::{Home, SystemClock};
use ic_mitm::provider::Place as KeyPlace;
use ic_mitm::{Authority, Budget, Earlier, Gate, GateSpec, Limits, Listener, Pay, Place, RealKey};
use ic_testkit::web::Identity;
use ic_types::{AbsolutePath, Provider, Secret};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::client::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::book::Book;

/// The key that nobody but the provider may see.
pub(crate) const KEY: &str = "sk-ant-real-0123456789abcdefghij";
/// After this, what is waited for does not come.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

/// A request, as the provider got it.
#[derive(Clone, Debug)]
pub(crate) struct Got {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
    pub(crate) version: hyper::Version,
}

/// What the provider says.
pub(crate) enum Says {
    /// An answer.
    Answer(u16, Vec<(&'static str, String)>, Vec<Bytes>),
    /// An answer whose pieces come when the test sends them.
    Piecewise(mpsc::UnboundedReceiver<Bytes>, Arc<CancellationToken>),
    /// An answer that breaks off behind this.
    Breaks(Bytes),
    /// Nothing, until the client has had enough; then the token is cancelled.
    Silence(Arc<CancellationToken>),
}

pub(crate) type Script = Arc<dyn Fn(&Got) -> Says + Send + Sync>;

/// Everything.
pub(crate) struct Stage {
    pub(crate) gate: Arc<Gate>,
    pub(crate) address: SocketAddr,
    pub(crate) got: Arc<Mutex<Vec<Got>>>,
    pub(crate) book: Arc<Book>,
    pub(crate) stop: CancellationToken,
    pub(crate) serving: tokio::task::JoinHandle<std::io::Result<ic_mitm::Closed>>,
    /// The provider itself: its port, and who vouches for it.
    provider: (u16, String),
    spec: Box<dyn Fn(Pay) -> GateSpec + Send + Sync>,
    _home: tempfile::TempDir,
}

pub(crate) struct Unwritten;

impl ic_egress::Ledger for Unwritten {
    fn opened(&self, _: &Connection) -> Result<(), EgressFault> {
        Ok(())
    }
    fn refused(&self, _: &ic_egress::Refused) {}
    fn closed(&self, _: &Connection, _: &Closed) {}
}

/// How the stage is set.
pub(crate) struct Setting {
    pub(crate) provider: Provider,
    pub(crate) protocols: &'static [&'static str],
    pub(crate) budget: Budget,
    pub(crate) limits: Limits,
    pub(crate) network: Network,
    /// Whether the gate trusts the provider's certificate.
    pub(crate) is_trusted: bool,
    /// What the provider is paid with, if not [`KEY`].
    pub(crate) pay: Option<Pay>,
    /// Where the provider is, if not on this stage.
    pub(crate) url: Option<String>,
}

pub(crate) const UNLIMITED: Budget =
    Budget { cost_max: None, tokens_max: None, duration_max: None };

/// Makes a key.
pub(crate) fn real(text: &str) -> RealKey {
    RealKey::new(Arc::new(Secret::new(text.to_owned())))
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            provider: Provider::Anthropic,
            protocols: &["h2", "http/1.1"],
            budget: UNLIMITED,
            limits: Limits::SESSION,
            network: Network::default(),
            is_trusted: true,
            pay: None,
            url: None,
        }
    }
}

impl Stage {
    pub(crate) async fn set(
        setting: Setting,
        script: impl Fn(&Got) -> Says + Send + Sync + 'static,
    ) -> Self {
        let identity = Identity::new();
        let got = Arc::new(Mutex::new(Vec::new()));
        let port = provide(&identity, setting.protocols, Arc::new(script), Arc::clone(&got)).await;
        let directory = tempfile::tempdir().unwrap();
        let provided = (port, identity.authority.clone());
        let trusted = if setting.is_trusted { identity } else { Identity::new() };
        let ca_file = directory.path().join("provider.pem");
        std::fs::write(&ca_file, trusted.authority).unwrap();
        let book = Arc::new(Book::default());
        let url = setting.url.unwrap_or_else(|| format!("https://localhost:{port}"));
        let (root, kept) = (directory.path().to_owned(), Arc::clone(&book));
        let Setting { provider, budget, limits, network, .. } = setting;
        let spec = move |pay: Pay| {
            let home = Home::new(AbsolutePath::new(&root).unwrap());
            let ledger: Arc<dyn ic_egress::Ledger> = Arc::new(Unwritten);
            GateSpec {
                provider,
                place: Place {
                    url: url.parse().unwrap(),
                    has_version: false,
                    ca_file: Some(ca_file.clone()),
                    is_named: true,
                },
                pay,
                allow_keys: Vec::new(),
                budget,
                earlier: Earlier::nothing(),
                limits,
                authority: Authority::open(&home, ic_home::Clock::now(&SystemClock)).unwrap(),
                egress: Egress::new(Arc::new(SystemResolver::new()), ledger, TaskTracker::new()),
                network: network.clone(),
                ledger: Arc::clone(&kept) as _,
                clock: Arc::new(SystemClock),
                packages: None,
                before: None,
            }
        };
        let gate = Gate::open(spec(setting.pay.unwrap_or_else(|| Pay::Key(real(KEY))))).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let (serving_gate, serving_stop) = (Arc::clone(&gate), stop.clone());
        let serving = tokio::spawn(async move {
            serving_gate.serve(Listener::Tcp(listener), &serving_stop).await
        });
        let spec = Box::new(spec);
        Self { gate, address, got, book, stop, serving, provider: provided, spec, _home: directory }
    }

    pub(crate) fn host(&self) -> &'static str {
        self.gate.rules().host
    }

    pub(crate) fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    /// Says `bytes` to the gate itself, and returns all that it answers.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        read_all(&mut stream).await
    }

    /// Opens another gate to the same provider; nobody serves it yet.
    pub(crate) fn another(&self) -> (Arc<Gate>, CancellationToken) {
        (Gate::open((self.spec)(Pay::Key(real(KEY)))).unwrap(), CancellationToken::new())
    }

    /// Sends an ordinary request through another gate.
    pub(crate) async fn complete_at(
        &self,
        gate: &Arc<Gate>,
        address: SocketAddr,
        body: &str,
    ) -> (StatusCode, String) {
        let stream = tls_at(gate, address, &["http/1.1"], self.host()).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let mut request = self.request("http/1.1", "/v1/messages", body);
        request.headers_mut().insert("x-api-key", gate.fake().as_str().parse().unwrap());
        whole(sender.send_request(request).await.unwrap()).await
    }

    /// Speaks TLS through the gate, in the name of `sni`, and trusts the gate's authority alone.
    pub(crate) async fn tls(
        &self,
        protocols: &[&str],
        sni: &str,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        tls_at(&self.gate, self.address, protocols, sni).await
    }

    /// Says `bytes` inside of TLS, as HTTP/1.1, and returns all that is answered.
    pub(crate) async fn say(&self, bytes: &[u8]) -> String {
        let mut stream = self.tls(&["http/1.1"], self.host()).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        read_all(&mut stream).await
    }

    /// Says `bytes` in TLS in the name of `sni`, if any, to whoever answers.
    pub(crate) async fn say_to_anybody(&self, sni: Option<&str>, bytes: &[u8]) -> String {
        let mut config = trusting(self.gate.certificate(), &["http/1.1"]);
        config.enable_sni = sni.is_some();
        config.dangerous().set_certificate_verifier(Arc::new(Anybody));
        let name = ServerName::try_from(sni.unwrap_or("nobody.example").to_owned()).unwrap();
        let stream = tunnel_at(self.address, self.host()).await;
        let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        read_all(&mut stream).await
    }

    /// Sends a request over HTTP/2 or HTTP/1.1, and returns the answer.
    pub(crate) async fn send(
        &self,
        protocol: &str,
        request: Request<Full<Bytes>>,
    ) -> Response<Incoming> {
        let stream = self.tls(&[protocol], self.host()).await.unwrap();
        ask(protocol, stream, request).await
    }

    /// Sends a request to the provider itself, as it would be without the gate.
    pub(crate) async fn send_without_gate(
        &self,
        protocol: &str,
        request: Request<Full<Bytes>>,
    ) -> Response<Incoming> {
        let (port, authority) = &self.provider;
        let stream = TcpStream::connect(("127.0.0.1", *port)).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let connector = TlsConnector::from(Arc::new(trusting(authority, &[protocol])));
        ask(protocol, connector.connect(name, stream).await.unwrap(), request).await
    }

    /// Sends the same request to the provider itself, which gets it, and through the gate; returns what
    /// the gate answers.
    pub(crate) async fn attempt(
        &self,
        what: &str,
        protocol: &str,
        request: Request<Full<Bytes>>,
    ) -> (StatusCode, String) {
        self.got.lock().unwrap().clear();
        let (status, _) = whole(self.send_without_gate(protocol, request.clone()).await).await;
        assert_eq!(status, 200, "{what} fails without the gate, and counts for nothing");
        assert_eq!(self.got.lock().unwrap().drain(..).count(), 1, "{what} without the gate");
        let (status, answer) = whole(self.send(protocol, request).await).await;
        assert!(self.got().is_empty(), "{what} reached the provider: {:?}", self.got());
        (status, answer)
    }

    /// Makes a request for a completion with the session's key.
    pub(crate) fn request(&self, protocol: &str, path: &str, body: &str) -> Request<Full<Bytes>> {
        let host = self.host();
        let (uri, host_header) = match protocol {
            "h2" => (format!("https://{host}{path}"), None),
            _ => (path.to_owned(), Some(host)),
        };
        let fake = self.gate.fake().as_str();
        let mut request = Request::post(uri).header("content-type", "application/json");
        request = match self.gate.rules().places[0] {
            KeyPlace::Header(name) => request.header(name, fake),
            KeyPlace::Bearer => request.header("authorization", format!("Bearer {fake}")),
        };
        if let Some(host) = host_header {
            request = request.header("host", host);
        }
        request.body(Full::new(Bytes::from(body.to_owned()))).unwrap()
    }

    /// Sends an ordinary request, and returns status and body.
    pub(crate) async fn complete(&self, protocol: &str, body: &str) -> (StatusCode, String) {
        let request = self.request(protocol, "/v1/messages", body);
        whole(self.send(protocol, request).await).await
    }
}

async fn tunnel_at(address: SocketAddr, host: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await.unwrap());
    }
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    stream
}

async fn tls_at(
    gate: &Gate,
    address: SocketAddr,
    protocols: &[&str],
    sni: &str,
) -> std::io::Result<TlsStream<TcpStream>> {
    let config = trusting(gate.certificate(), protocols);
    let name = ServerName::try_from(sni.to_owned()).unwrap();
    let stream = tunnel_at(address, gate.rules().host).await;
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

/// Trusts whomever `authority` vouches for, and nobody else.
fn trusting(authority: &str, protocols: &[&str]) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap()).unwrap();
    let mut config =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|it| it.as_bytes().to_vec()).collect();
    config
}

/// Sends one request over a connection of its own.
async fn ask(
    protocol: &str,
    stream: TlsStream<TcpStream>,
    request: Request<Full<Bytes>>,
) -> Response<Incoming> {
    let stream = TokioIo::new(stream);
    if protocol == "h2" {
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
        tokio::spawn(connection);
        return sender.send_request(request).await.unwrap();
    }
    let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    sender.send_request(request).await.unwrap()
}

/// Reads an answer to its end.
pub(crate) async fn whole(response: Response<Incoming>) -> (StatusCode, String) {
    let status = response.status();
    let reading = response.into_body().collect();
    let body = tokio::time::timeout(DEADLINE, reading).await.expect("an end").unwrap().to_bytes();
    (status, String::from_utf8_lossy(&body).into_owned())
}

async fn read_all(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> String {
    let mut answer = Vec::new();
    let reading = stream.read_to_end(&mut answer);
    // Whoever is cut off has heard what there was to hear.
    tokio::time::timeout(DEADLINE, reading).await.expect("an end").ok();
    String::from_utf8_lossy(&answer).into_owned()
}

/// Starts the provider, and returns its port.
pub(crate) async fn provide(
    identity: &Identity,
    protocols: &[&str],
    script: Script,
    got: Arc<Mutex<Vec<Got>>>,
) -> u16 {
    let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
    let mut config =
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
    config.alpn_protocols = protocols.iter().map(|it| it.as_bytes().to_vec()).collect();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, script, got) = (acceptor.clone(), Arc::clone(&script), Arc::clone(&got));
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                let service = service_fn(move |request| {
                    answer(Arc::clone(&script), Arc::clone(&got), request)
                });
                let io = TokioIo::new(stream);
                if is_http2 {
                    let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    builder.serve_connection(io, service).await.ok();
                } else {
                    let builder = hyper::server::conn::http1::Builder::new();
                    builder.serve_connection(io, service).await.ok();
                }
            });
        }
    });
    port
}

/// A body whose pieces come from the test.
struct Played {
    pieces: mpsc::UnboundedReceiver<Bytes>,
    breaks: bool,
    gone: Option<Gone>,
}

/// Says that the client has gone, or has heard everything.
struct Gone(Arc<CancellationToken>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Body for Played {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<std::io::Result<Frame<Bytes>>>> {
        match self.pieces.poll_recv(cx) {
            Poll::Ready(Some(bytes)) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
            Poll::Ready(None) if std::mem::take(&mut self.breaks) => {
                Poll::Ready(Some(Err(std::io::Error::other("it breaks"))))
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }
}

async fn answer(
    script: Script,
    got: Arc<Mutex<Vec<Got>>>,
    request: Request<Incoming>,
) -> Result<Response<Played>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let came = Got {
        method: parts.method,
        path: parts.uri.path_and_query().unwrap().to_string(),
        headers: parts.headers,
        body: String::from_utf8_lossy(&body).into_owned(),
        version: parts.version,
    };
    got.lock().unwrap().push(came.clone());
    let (sender, receiver) = mpsc::unbounded_channel();
    let mut played = Played { pieces: receiver, breaks: false, gone: None };
    let mut response = Response::builder();
    match script(&came) {
        Says::Answer(status, headers, pieces) => {
            response = response.status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            for piece in pieces {
                sender.send(piece).unwrap();
            }
        }
        Says::Piecewise(pieces, gone) => {
            response = response.header("content-type", "text/event-stream");
            (played.pieces, played.gone) = (pieces, Some(Gone(gone)));
        }
        Says::Breaks(bytes) => {
            sender.send(bytes).unwrap();
            played.breaks = true;
        }
        Says::Silence(gone) => {
            let _gone = Gone(gone);
            std::future::pending::<()>().await;
        }
    }
    Ok(response.body(played).unwrap())
}

/// Believes every certificate.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        rustls::crypto::ring::default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}
