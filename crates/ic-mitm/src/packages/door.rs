//! The door of a session: which registries it leads to, who is asked, and one request from head to answer.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use ic_egress::Egress;
use ic_home::Clock;
use ic_home::config::Registry;
use ic_home::environment::Network;
use ic_types::{InvalidName, ServerName, locked};
use rustls::ServerConfig;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use super::passing::{Open, Passing};
use super::refused::told;
use super::{AskedPackage, Form, NotPassed, PackageLedger, REGISTRY_HOSTS, RegistryHost, Wanted};
use crate::authority::{Authority, AuthorityError};
use crate::exchange::{Line, check_authority, drain};
use crate::headers::incoming;
use crate::leaves::Leaves;
use crate::limits::Limits;
use crate::mask::Needles;
use crate::refusal::{named, named_long};
use crate::relay::Reply;
use crate::tunnel::{self, Accept, Behind, Closed};
use crate::upstream::{Draft, Place, Upstream, UpstreamError};

/// What connections are called in the log.
pub(super) const SERVER: &str = "packages";
/// How we introduce ourselves: registries want a name, and a client could say anything in it.
const USER_AGENT: &str = concat!("ironcurtain/", env!("CARGO_PKG_VERSION"));
/// What carries a credential; everything else that a client says is left out silently.
const CREDENTIALS: [&str; 8] = [
    "authorization",
    "cookie",
    "npm-otp",
    "private-token",
    "proxy-authorization",
    "x-api-key",
    "x-auth-token",
    "x-jfrog-art-api",
];

/// What the door is opened with.
pub struct PackagesSpec {
    /// The hosts that it leads to, and where each is.
    pub places: Vec<(&'static RegistryHost, Place)>,
    /// Who vouches for it.
    pub authority: Authority,
    /// What makes connections.
    pub egress: Egress,
    /// How the network is reached.
    pub network: Network,
    /// What is written down.
    pub ledger: Arc<dyn PackageLedger>,
    /// Who is asked whether a host may be asked.
    pub permission: Arc<dyn Permission>,
    /// What tells the time.
    pub clock: Arc<dyn Clock>,
    /// How long package managers are told to wait, so that a person has the time to answer.
    pub patience: Duration,
}

impl fmt::Debug for PackagesSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackagesSpec").field("places", &self.places).finish_non_exhaustive()
    }
}

/// What a person says of a host.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Answer {
    /// It may be asked, for the rest of the session.
    Yes,
    /// It may not, for the rest of the session.
    No(String),
    /// Nobody said anything; the next request asks again.
    Unanswered(String),
}

/// A question that is under way.
pub type Asking = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// Knows whether a host of a registry may be asked for packages.
pub trait Permission: fmt::Debug + Send + Sync {
    /// Asks about a host; called once for each, unless nobody answers.
    fn ask(&self, registry: Registry, host: &'static str) -> Asking;
}

/// The door to the package registries of one session.
pub struct Packages {
    ways: Vec<(&'static RegistryHost, Arc<Upstream>)>,
    leaves: Leaves,
    certificate: String,
    ledger: Arc<dyn PackageLedger>,
    permission: Arc<dyn Permission>,
    answers: Mutex<HashMap<&'static str, watch::Receiver<Option<Answer>>>>,
    requests: Arc<Semaphore>,
    ids: AtomicU64,
    patience: Duration,
}

/// A door that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum PackagesError {
    /// A registry cannot be reached in the way that is configured.
    #[error("the registry at `{host}` cannot be reached")]
    Upstream {
        /// Its host.
        host: &'static str,
        /// Why not.
        source: UpstreamError,
    },
    /// Connections cannot be named in the log.
    #[error(transparent)]
    Name(#[from] InvalidName),
}

impl Packages {
    /// Opens the door; nothing is connected and nobody is asked yet.
    pub fn open(spec: PackagesSpec) -> Result<Arc<Self>, PackagesError> {
        let server: ServerName = SERVER.parse()?;
        let way = |(host, place): &(&'static RegistryHost, Place)| {
            let made = Upstream::new(place, server.clone(), spec.egress.clone(), &spec.network);
            let name = host.name;
            made.map(|it| (*host, it))
                .map_err(|source| PackagesError::Upstream { host: name, source })
        };
        let ways = spec.places.iter().map(way).collect::<Result<Vec<_>, _>>()?;
        let hosts = ways.iter().map(|(host, _)| host.name.to_owned()).collect();
        Ok(Arc::new(Self {
            ways,
            certificate: spec.authority.certificate().to_owned(),
            leaves: Leaves::new(spec.authority, hosts, spec.clock),
            ledger: spec.ledger,
            permission: spec.permission,
            answers: Mutex::default(),
            requests: Arc::new(Semaphore::new(Limits::SESSION.requests_max)),
            ids: AtomicU64::new(1),
            patience: spec.patience,
        }))
    }

    /// Returns the hosts of some registries.
    pub fn hosts_of(registries: &[Registry]) -> impl Iterator<Item = &'static RegistryHost> {
        REGISTRY_HOSTS.iter().filter(|it| registries.contains(&it.registry))
    }

    /// Returns the names of the hosts that it leads to.
    pub fn hosts(&self) -> Vec<&'static str> {
        self.ways.iter().map(|(host, _)| host.name).collect()
    }

    /// Returns the names of the registries that it leads to.
    pub fn registries(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> =
            self.ways.iter().map(|(host, _)| host.registry.as_str()).collect();
        names.dedup();
        names
    }

    /// Returns how long package managers are told to wait.
    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// Returns the certificate that package managers have to trust, in PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Serves package managers until `stop` is cancelled, then waits for what is under way.
    pub async fn serve(
        self: Arc<Self>,
        listener: impl Accept,
        stop: &CancellationToken,
    ) -> io::Result<Closed> {
        tunnel::serve(self, listener, stop).await
    }

    fn way(&self, host: &str) -> Option<&(&'static RegistryHost, Arc<Upstream>)> {
        self.ways.iter().find(|(it, _)| it.name == host)
    }

    /// Judges the head of a request.
    fn judge(
        &self,
        line: &Line,
        request: &Request<Incoming>,
    ) -> Result<(&'static RegistryHost, Arc<Upstream>, Wanted), NotPassed> {
        if !line.is_same_host {
            return Err(NotPassed::Sni);
        }
        let headers = request.headers();
        check_authority(line, request.uri(), headers).map_err(|_| NotPassed::Authority)?;
        if headers.contains_key(header::UPGRADE) {
            return Err(NotPassed::Upgrade);
        }
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            return Err(NotPassed::Method(named(request.method().as_str())));
        }
        if let Some(name) = CREDENTIALS.iter().find(|it| headers.contains_key(**it)) {
            return Err(NotPassed::Credential((*name).to_owned()));
        }
        if !request.body().is_end_stream() {
            return Err(NotPassed::Body);
        }
        let path = request.uri().path();
        let not_there = || NotPassed::Path(named(path));
        let (host, upstream) = self.way(&line.host).ok_or_else(not_there)?;
        let wanted = host.wanted(path, request.uri().query()).ok_or_else(not_there)?;
        Ok((host, Arc::clone(upstream), wanted))
    }

    /// Waits until it is known whether a host may be asked; a person is asked once.
    async fn permitted(self: &Arc<Self>, host: &'static RegistryHost) -> Result<(), NotPassed> {
        let mut answer =
            locked(&self.answers).entry(host.name).or_insert_with(|| self.ask(host)).clone();
        let answer = match answer.wait_for(Option::is_some).await {
            Ok(answer) => answer.clone(),
            Err(_) => None,
        };
        let why = match answer {
            Some(Answer::Yes) => return Ok(()),
            Some(Answer::No(why) | Answer::Unanswered(why)) => why,
            None => "the session ends".to_owned(),
        };
        Err(NotPassed::NotAllowed { registry: host.registry, host: host.name, why })
    }

    /// Asks, in a task of its own: whoever wanted to know may leave, and come back once there is an answer.
    fn ask(self: &Arc<Self>, host: &'static RegistryHost) -> watch::Receiver<Option<Answer>> {
        let (tell, told) = watch::channel(None);
        let door = Arc::clone(self);
        let asking = self.permission.ask(host.registry, host.name);
        tokio::spawn(async move {
            let answer = asking.await;
            if let Answer::Unanswered(_) = answer {
                locked(&door.answers).remove(host.name);
            }
            tell.send(Some(answer)).ok();
        });
        told
    }

    /// Serves one request whose head was read.
    async fn pass(
        self: &Arc<Self>,
        line: &Line,
        request: Request<Incoming>,
    ) -> Result<Response<Reply>, NotPassed> {
        let judged = self.judge(line, &request);
        let (parts, body) = request.into_parts();
        drain(body).await;
        let (host, upstream, wanted) = judged?;
        self.permitted(host).await?;
        let n_max = Limits::SESSION.requests_max;
        let permit = Arc::clone(&self.requests).try_acquire_owned();
        let permit = permit.map_err(|_| NotPassed::TooMany(n_max))?;
        let asked = AskedPackage {
            id: self.ids.fetch_add(1, Ordering::Relaxed),
            registry: host.registry,
            host: host.name,
            path: wanted.path.clone(),
            package: wanted.package.clone(),
            version: wanted.version.clone(),
        };
        self.ledger.asked(&asked).map_err(|_| NotPassed::Unrecorded)?;
        let mut open = Open::new(&self.ledger, asked, permit);
        let headers = outgoing(&parts.headers, wanted.form);
        let draft = Draft { method: parts.method, path: wanted.path, headers, body: Bytes::new() };
        let answer = match upstream.send(&draft).await {
            Ok(answer) => answer,
            Err(why) => {
                open.fail(why.as_str());
                let message = format!("the registry cannot be reached: {}", named_long(&why));
                return Ok(own(StatusCode::BAD_GATEWAY, &message));
            }
        };
        let (parts, body) = answer.response.into_parts();
        open.answered(parts.status.as_u16());
        let mut headers = incoming(&parts.headers, &Arc::new(Needles::none()));
        if parts.status.is_redirection() && parts.status != StatusCode::NOT_MODIFIED {
            let Some(location) = self.elsewhere(host, &parts.headers) else {
                open.fail("the registry redirects to another place");
                return Err(NotPassed::Redirected);
            };
            headers.insert(header::LOCATION, location);
        }
        let mut reply =
            Response::new(Reply::Package(Box::new(Passing::new(body, open, answer.lease))));
        *reply.status_mut() = parts.status;
        *reply.headers_mut() = headers;
        Ok(reply)
    }

    /// Returns where a redirect leads, written by us, if a request to that place would be judged as this one was.
    fn elsewhere(&self, host: &'static RegistryHost, headers: &HeaderMap) -> Option<HeaderValue> {
        let mut all = headers.get_all(header::LOCATION).iter();
        let (Some(location), None) = (all.next(), all.next()) else { return None };
        let location = location.to_str().ok()?;
        let (host, path) = match location.strip_prefix("https://") {
            Some(rest) => {
                let at = rest.find('/')?;
                let (name, path) = rest.split_at_checked(at)?;
                (self.way(&name.to_ascii_lowercase())?.0, path)
            }
            None if location.starts_with('/') => (host, location),
            None => return None,
        };
        let wanted = host.wanted(path, None)?;
        HeaderValue::from_str(&format!("https://{}{}", host.name, wanted.path)).ok()
    }

    /// Writes down a refusal, and answers it.
    fn refuse(&self, method: &Method, host: &str, path: &str, why: &NotPassed) -> Response<Reply> {
        self.ledger.refused(&named(method.as_str()), &named(host), &named(path), why);
        let mut response = own(why.status(), &why.to_string());
        if method == Method::HEAD {
            // Such an answer has no body.
            *response.body_mut() = Reply::Own(Full::default());
        }
        response
    }
}

impl fmt::Debug for Packages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packages").field("hosts", &self.hosts()).finish_non_exhaustive()
    }
}

impl Behind for Packages {
    fn limits(&self) -> Limits {
        Limits::SESSION
    }

    fn host_of(&self, authority: &str) -> Option<&'static str> {
        let host = authority.strip_suffix(":443")?;
        self.ways.iter().map(|(it, _)| it.name).find(|it| it.eq_ignore_ascii_case(host))
    }

    fn leaf(&self, host: &str) -> Result<Arc<ServerConfig>, AuthorityError> {
        self.leaves.of(host)
    }

    fn turn_away(&self, method: &Method, asked: &str, path: &str) -> Response<Reply> {
        let why = match *method == Method::CONNECT {
            true => NotPassed::Host { asked: named(asked), allowed: self.hosts().join(", ") },
            false => NotPassed::PlainHttp,
        };
        self.refuse(method, asked, path, &why)
    }

    async fn answer(
        self: Arc<Self>,
        line: Line,
        request: Request<Incoming>,
    ) -> Result<Response<Reply>, Infallible> {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let passed = self.pass(&line, request).await;
        Ok(passed.unwrap_or_else(|why| self.refuse(&method, &line.host, &path, &why)))
    }
}

/// Returns what is said to a registry: of what the client says, only which of the known forms it takes.
fn outgoing(headers: &HeaderMap, form: Form) -> HeaderMap {
    let says = |name: header::HeaderName, text: &str| {
        let mut all = headers.get_all(name).iter().filter_map(|it| it.to_str().ok());
        all.any(|it| it.contains(text))
    };
    let npm = "application/vnd.npm.install-v1+json";
    let python = "application/vnd.pypi.simple.v1+json";
    let accept = match form {
        Form::Npm if says(header::ACCEPT, npm) => npm,
        Form::Npm => "application/json",
        Form::Python if says(header::ACCEPT, python) => python,
        Form::Python => "text/html",
        Form::Plain => "*/*",
    };
    let encoding = if says(header::ACCEPT_ENCODING, "gzip") { "gzip" } else { "identity" };
    let mut out = HeaderMap::new();
    out.insert(header::ACCEPT, HeaderValue::from_static(accept));
    out.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(encoding));
    out.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
    out
}

fn own(status: StatusCode, message: &str) -> Response<Reply> {
    let mut response = Response::new(Reply::Own(Full::new(told(message).into())));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
