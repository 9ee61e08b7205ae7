//! The way to the provider: where it is, who vouches for it, and connections that are used again.
//!
//! What is sent was checked elsewhere. A request is sent at most once: it is tried on another connection
//! only if not a byte of it was sent on the first.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::header::{HOST, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, Uri, Version};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use ic_egress::{Allowed, Egress, Target};
use ic_home::environment::Network;
use ic_home::{FileError, file};
use ic_model::provider::{RootsError, roots};
use ic_policy::DomainSet;
use ic_types::{Host, ServerName, locked};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName as TlsName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_util::task::AbortOnDropHandle;
use url::Url;

use crate::detour::{Detour, UnusableProxy};
use crate::limits;

/// The longest file with certificates.
const ROOTS_BYTES_MAX: u64 = 16 << 20;

/// Where a provider is.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its address; a path stands before that of each request.
    pub url: Url,
    /// Whether that path ends in the version, which then replaces that of each request.
    pub has_version: bool,
    /// The authority that it is checked against, if not the system's.
    pub ca_file: Option<PathBuf>,
    /// Whether the user named this address, so that it may be one that is not public.
    pub is_named: bool,
}

/// The way to one provider.
#[derive(Debug)]
pub struct Upstream {
    target: Target,
    allowed: Allowed,
    authority: String,
    base: String,
    has_version: bool,
    tls: Option<(Arc<ClientConfig>, TlsName<'static>)>,
    detour: Option<Detour>,
    egress: Egress,
    server: ServerName,
    idle: Mutex<Vec<Single>>,
    shared: Mutex<Vec<Shared>>,
}

/// What is sent.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The method.
    pub method: Method,
    /// The path, with the query.
    pub path: String,
    /// The headers, without `Host`.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// An answer of which the head has come, and the connection that the rest comes on.
#[derive(Debug)]
pub struct Answer {
    /// The answer.
    pub response: Response<Incoming>,
    /// The connection.
    pub lease: Lease,
}

/// The hold on a connection while an answer comes; without it the connection ends.
#[derive(Debug)]
pub struct Lease {
    upstream: Arc<Upstream>,
    held: Held,
}

#[derive(Debug)]
enum Held {
    Single(Option<Single>),
    Shared { _connection: Arc<AbortOnDropHandle<()>>, _count: Arc<()> },
}

/// A connection that carries one request at a time.
#[derive(Debug)]
struct Single {
    sender: http1::SendRequest<Full<Bytes>>,
    _connection: AbortOnDropHandle<()>,
}

/// A connection that carries many requests at once.
#[derive(Clone, Debug)]
struct Shared {
    sender: http2::SendRequest<Full<Bytes>>,
    connection: Arc<AbortOnDropHandle<()>>,
    /// One more than there are requests on it.
    count: Arc<()>,
}

enum Made {
    Single(Single),
    Shared(Shared),
}

/// A way that cannot be gone.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The address cannot be used.
    #[error("`{0}` cannot be the address of a provider: {1}")]
    Address(Url, &'static str),
    /// There are no certificates to trust.
    #[error(transparent)]
    Roots(#[from] RootsError),
    /// The file of an authority cannot be read.
    #[error("cannot read the certificates of the provider")]
    File(#[from] FileError),
    /// The file of an authority holds no certificate.
    #[error("`{}` contains no certificate", .0.display())]
    NoCertificate(PathBuf),
    /// TLS cannot be spoken.
    #[error("cannot speak TLS")]
    Tls(#[from] rustls::Error),
    /// The proxy cannot be used.
    #[error(transparent)]
    Proxy(#[from] UnusableProxy),
}

impl Upstream {
    /// Finds out how the provider is reached; nothing is connected yet.
    pub fn new(
        place: &Place,
        server: ServerName,
        egress: Egress,
        network: &Network,
    ) -> Result<Arc<Self>, UpstreamError> {
        let wrong = |why| UpstreamError::Address(place.url.clone(), why);
        let host = place.url.host().and_then(|it| Host::from_url_host(&it).ok());
        let host = host.ok_or_else(|| wrong("it names no host"))?;
        let port = place.url.port_or_known_default().ok_or_else(|| wrong("it names no port"))?;
        let tls = match place.url.scheme() {
            "https" => Some((
                Arc::new(tls(place, network)?),
                tls_name(&host).ok_or_else(|| wrong("no certificate can name it"))?,
            )),
            // SECURITY: the key would be there for everyone to read.
            "http" if !is_loopback(&host) => {
                return Err(wrong("only a server on this machine may be spoken to without TLS"));
            }
            "http" => None,
            _ => return Err(wrong("it is neither https nor http")),
        };
        let detour = if is_loopback(&host) { None } else { Detour::to(&host, network)? };
        let target = Target::new(host.clone(), port).ok_or_else(|| wrong("its port is 0"))?;
        let target = match &detour {
            Some(it) => Target::new(it.host.clone(), it.port)
                .ok_or_else(|| wrong("the proxy's port is 0"))?,
            None => target,
        };
        let pattern = format!("{}:{}", target.host(), target.port());
        let list = DomainSet::parse([pattern.as_str()]).map_err(|_| wrong("it is not a host"))?;
        let allowed = Allowed::new(vec![list], DomainSet::new(Vec::new()))
            .map_err(|_| wrong("it names too many ports"))?;
        let allowed = match place.is_named || detour.is_some() {
            true => allowed,
            false => allowed.public_only(),
        };
        let is_usual = place.url.port().is_none();
        let authority = if is_usual { host.to_string() } else { format!("{host}:{port}") };
        let base = place.url.path().trim_end_matches('/').to_owned();
        let (idle, shared) = (Mutex::default(), Mutex::default());
        Ok(Arc::new(Self {
            target,
            allowed,
            authority,
            base,
            has_version: place.has_version,
            tls,
            detour,
            egress,
            server,
            idle,
            shared,
        }))
    }

    /// Sends a request, and returns the answer as soon as its head is there; or says why there is none.
    pub async fn send(self: &Arc<Self>, draft: &Draft) -> Result<Answer, String> {
        if let Some(shared) = self.shared() {
            return self.send_shared(shared, draft).await;
        }
        while let Some(single) = self.idle() {
            // A connection that the provider has closed meanwhile takes nothing.
            if let Some(answered) = self.send_single(single, draft).await {
                return answered;
            }
        }
        let connecting = tokio::time::timeout(limits::CONNECT, self.connect());
        match connecting.await.map_err(|_| "no connection within 30 seconds".to_owned())?? {
            Made::Shared(shared) => {
                locked(&self.shared).push(shared.clone());
                self.send_shared(shared, draft).await
            }
            Made::Single(single) => match self.send_single(single, draft).await {
                Some(answered) => answered,
                None => Err("the connection closed at once".to_owned()),
            },
        }
    }

    /// Returns a connection that many requests share, if there is room on one.
    fn shared(&self) -> Option<Shared> {
        let mut all = locked(&self.shared);
        all.retain(|it| !it.sender.is_closed());
        let has_room = |it: &&Shared| Arc::strong_count(&it.count) <= limits::SHARED_MAX;
        all.iter().find(has_room).cloned()
    }

    fn idle(&self) -> Option<Single> {
        let mut idle = locked(&self.idle);
        idle.retain(|it| !it.sender.is_closed());
        idle.pop()
    }

    async fn send_shared(
        self: &Arc<Self>,
        shared: Shared,
        draft: &Draft,
    ) -> Result<Answer, String> {
        let Shared { mut sender, connection, count } = shared;
        let request = self.request(draft, Version::HTTP_2)?;
        let response = sender.send_request(request).await.map_err(|it| told(&it))?;
        let held = Held::Shared { _connection: connection, _count: count };
        Ok(Answer { response, lease: Lease { upstream: Arc::clone(self), held } })
    }

    /// Returns nothing if the connection took nothing, so that another may be tried.
    async fn send_single(
        self: &Arc<Self>,
        mut single: Single,
        draft: &Draft,
    ) -> Option<Result<Answer, String>> {
        let request = match self.request(draft, Version::HTTP_11) {
            Ok(request) => request,
            Err(why) => return Some(Err(why)),
        };
        single.sender.ready().await.ok()?;
        match single.sender.try_send_request(request).await {
            Ok(response) => {
                let held = Held::Single(Some(single));
                Some(Ok(Answer { response, lease: Lease { upstream: Arc::clone(self), held } }))
            }
            Err(mut error) => match error.take_message() {
                Some(_) => None,
                None => Some(Err(told(&error.into_error()))),
            },
        }
    }

    fn request(&self, draft: &Draft, version: Version) -> Result<Request<Full<Bytes>>, String> {
        let wrong = || "the request cannot be written".to_owned();
        let mut request = Request::new(Full::new(draft.body.clone()));
        *request.method_mut() = draft.method.clone();
        *request.headers_mut() = draft.headers.clone();
        *request.version_mut() = version;
        let path = match self.has_version {
            false => draft.path.as_str(),
            // `/v1/chat/completions` without its first segment.
            true => draft.path.find('/').and_then(|_| draft.path.get(1..)).map_or("", |rest| {
                rest.find('/').and_then(|at| rest.get(at..)).unwrap_or_default()
            }),
        };
        let path = format!("{}{path}", self.base);
        let uri = match version {
            Version::HTTP_2 => format!("https://{}{path}", self.authority),
            _ => path,
        };
        *request.uri_mut() = uri.parse::<Uri>().map_err(|_| wrong())?;
        if version != Version::HTTP_2 {
            let host = HeaderValue::from_str(&self.authority).map_err(|_| wrong())?;
            request.headers_mut().insert(HOST, host);
        }
        Ok(request)
    }

    async fn connect(&self) -> Result<Made, String> {
        let connecting =
            self.egress.connect(self.server.clone(), self.allowed.clone(), &self.target);
        let mut stream = connecting.await?;
        if let Some(detour) = &self.detour {
            let port = if self.authority.contains(':') { "" } else { ":443" };
            detour.pass(&mut stream, &format!("{}{port}", self.authority)).await?;
        }
        let Some((config, name)) = &self.tls else {
            return single(TokioIo::new(stream)).await.map(Made::Single);
        };
        let connector = TlsConnector::from(Arc::clone(config));
        let stream: tokio_rustls::client::TlsStream<TcpStream> = connector
            .connect(name.clone(), stream)
            .await
            .map_err(|error| format!("TLS fails: {error}"))?;
        match stream.get_ref().1.alpn_protocol() {
            Some(b"h2") => shared(TokioIo::new(stream)).await.map(Made::Shared),
            Some(_) | None => single(TokioIo::new(stream)).await.map(Made::Single),
        }
    }
}

impl Lease {
    /// Gives the connection back, once the whole answer has come.
    pub fn finish(&mut self) {
        if let Held::Single(held) = &mut self.held
            && let Some(single) = held.take()
            && !single.sender.is_closed()
        {
            let mut idle = locked(&self.upstream.idle);
            if idle.len() < limits::IDLE_CONNECTIONS_MAX {
                idle.push(single);
            }
        }
    }
}

async fn single<I>(io: I) -> Result<Single, String>
where
    I: hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
{
    let (sender, connection) = http1::Builder::new()
        .max_headers(limits::HEADERS_MAX)
        .max_buf_size(limits::HEAD_BYTES_MAX.max(64 << 10))
        .handshake(io)
        .await
        .map_err(|it| told(&it))?;
    let connection = AbortOnDropHandle::new(tokio::spawn(async move {
        // The request that it carries hears of it.
        connection.await.ok();
    }));
    Ok(Single { sender, _connection: connection })
}

async fn shared<I>(io: I) -> Result<Shared, String>
where
    I: hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
{
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(limits::HEAD_BYTES_MAX).unwrap_or(u32::MAX))
        .keep_alive_interval(std::time::Duration::from_mins(1))
        .handshake(io)
        .await
        .map_err(|it| told(&it))?;
    let connection = AbortOnDropHandle::new(tokio::spawn(async move {
        connection.await.ok();
    }));
    Ok(Shared { sender, connection: Arc::new(connection), count: Arc::default() })
}

fn tls(place: &Place, network: &Network) -> Result<ClientConfig, UpstreamError> {
    let store = match &place.ca_file {
        None => roots::load(network.extra_roots.as_deref())?,
        Some(path) => {
            let none = || UpstreamError::NoCertificate(path.clone());
            let pem = file::read_following(path, ROOTS_BYTES_MAX)?.ok_or_else(none)?;
            let mut store = RootCertStore::empty();
            let found = CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok);
            match store.add_parsable_certificates(found) {
                (0, _) => return Err(none()),
                _ => store,
            }
        }
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(store)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn tls_name(host: &Host) -> Option<TlsName<'static>> {
    match host {
        Host::Name(name) => TlsName::try_from(name.as_str().to_owned()).ok(),
        Host::V4(address) => Some(TlsName::from(std::net::IpAddr::from(*address))),
        Host::V6(address) => Some(TlsName::from(std::net::IpAddr::from(*address))),
    }
}

fn is_loopback(host: &Host) -> bool {
    match host {
        Host::Name(name) => name.as_str() == "localhost",
        Host::V4(address) => address.is_loopback(),
        Host::V6(address) => address.is_loopback(),
    }
}

/// Says what went wrong, without a word of the other side's.
fn told(error: &hyper::Error) -> String {
    format!("the exchange with the provider fails: {}", ic_types::chain(error))
}

#[cfg(test)]
mod tests {
    use ic_egress::SystemResolver;
    use tokio_util::task::TaskTracker;

    use super::*;

    #[derive(Debug)]
    struct Unkept;

    impl ic_egress::Ledger for Unkept {
        fn opened(&self, _: &ic_egress::Connection) -> Result<(), ic_egress::LedgerError> {
            Ok(())
        }
        fn refused(&self, _: &ic_egress::Refused) {}
        fn closed(&self, _: &ic_egress::Connection, _: &ic_egress::Closed) {}
    }

    #[tokio::test]
    async fn the_key_is_never_sent_in_the_clear_to_another_machine() {
        for (url, is_right) in [
            ("http://127.0.0.1:8080", true),
            ("http://localhost:8080/v1", true),
            ("http://provider.example", false),
            ("http://10.0.0.1:8080", false),
            ("http://localhost.provider.example", false),
            ("ftp://provider.example", false),
            ("data:,x", false),
        ] {
            let place = Place {
                url: url.parse().unwrap(),
                has_version: false,
                ca_file: None,
                is_named: true,
            };
            let resolver = Arc::new(SystemResolver::new());
            let egress = Egress::new(resolver, Arc::new(Unkept), TaskTracker::new());
            let server = "model-gate".parse().unwrap();
            let made = Upstream::new(&place, server, egress, &Network::default());
            assert_eq!(made.is_ok(), is_right, "{url}");
        }
    }
}
