//! One HTTP request to a server on another machine: a connection that egress makes, TLS, and the answer.
//!
//! Each request has a connection of its own, which is recorded like any other that leaves. Nothing is
//! sent twice, and no redirect leaves the place that was judged. What is said is not understood here.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use ic_egress::{Allowed, Egress, Target};
use ic_types::{Host, ServerName};
use rustls::ClientConfig;
use rustls::pki_types::ServerName as TlsName;
use tokio_rustls::TlsConnector;
use tokio_util::task::AbortOnDropHandle;
use url::Url;

use super::before_head::BeforeHead;
use super::headers::Headers;

/// How long the handshake of TLS may take.
const TLS_MAX: Duration = Duration::from_secs(15);
/// How often the same server may send us to another path.
const REDIRECTS_MAX: usize = 3;
/// How much of what the connection says is held at once; the head of an answer has to fit.
const BUFFER_BYTES_MAX: usize = 64 << 10;

/// The way to one server.
#[derive(Debug)]
pub(super) struct Http {
    pub(super) server: ServerName,
    pub(super) url: Url,
    pub(super) target: Target,
    pub(super) allowed: Allowed,
    pub(super) headers: Headers,
    pub(super) egress: Egress,
    pub(super) tls: Arc<ClientConfig>,
}

/// An answer, of which the head has come.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    body: Incoming,
    /// Carries the bytes; the connection ends with it.
    _connection: AbortOnDropHandle<()>,
}

/// What is asked.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) method: Method,
    /// What is sent, besides what is sent each time.
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: Bytes,
}

/// No answer, or none that can be used; never with words of the server's, or a header of ours.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub(super) struct NoAnswer(pub(super) String);

impl Http {
    /// Asks, and returns the answer as soon as its head is there.
    ///
    /// Waits for that as long as the caller does: a server may think before it says a word.
    pub(super) async fn ask(&self, ask: &Ask) -> Result<Answer, NoAnswer> {
        let mut url = self.url.clone();
        for _ in 0..=REDIRECTS_MAX {
            let answer = self.ask_once(&url, ask).await?;
            if !answer.status.is_redirection() {
                return Ok(answer);
            }
            url = redirected(&url, &answer)?;
        }
        Err(NoAnswer(format!("it redirects more than {REDIRECTS_MAX} times")))
    }

    async fn ask_once(&self, url: &Url, ask: &Ask) -> Result<Answer, NoAnswer> {
        let (server, allowed) = (self.server.clone(), self.allowed.clone());
        let stream = self.egress.connect(server, allowed, &self.target).await.map_err(NoAnswer)?;
        let connector = TlsConnector::from(Arc::clone(&self.tls));
        let handshake = connector.connect(tls_name(self.target.host())?, stream);
        let stream = match tokio::time::timeout(TLS_MAX, handshake).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(NoAnswer(format!("TLS fails: {error}"))),
            Err(_) => return Err(NoAnswer("TLS takes too long".to_owned())),
        };
        let (stream, limit) = BeforeHead::new(stream);
        let broken =
            |error: hyper::Error| NoAnswer(format!("the exchange fails: {}", crate::chain(&error)));
        let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
            .max_buf_size(BUFFER_BYTES_MAX)
            .handshake::<_, Full<Bytes>>(TokioIo::new(stream))
            .await
            .map_err(broken)?;
        let connection = AbortOnDropHandle::new(tokio::spawn(async move {
            // Whoever reads the answer hears of it.
            connection.await.ok();
        }));
        let response = sender.send_request(self.request(url, ask)?).await.map_err(broken)?;
        limit.lift();
        let (parts, body) = response.into_parts();
        Ok(Answer { status: parts.status, headers: parts.headers, body, _connection: connection })
    }

    fn request(&self, url: &Url, ask: &Ask) -> Result<Request<Full<Bytes>>, NoAnswer> {
        let path = url
            .query()
            .map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
        let authority = match url.port() {
            Some(port) => format!("{}:{port}", url.host_str().unwrap_or_default()),
            None => url.host_str().unwrap_or_default().to_owned(),
        };
        let mut request = Request::new(Full::new(ask.body.clone()));
        *request.method_mut() = ask.method.clone();
        let wrong = || NoAnswer("its URL cannot be asked for".to_owned());
        *request.uri_mut() = path.parse().map_err(|_| wrong())?;
        let headers = request.headers_mut();
        // The user's own first: what the protocol needs is not theirs to change.
        self.headers.write(headers)?;
        let user_agent = concat!("ironcurtain/", env!("CARGO_PKG_VERSION"));
        headers.insert(header::USER_AGENT, HeaderValue::from_static(user_agent));
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        headers.insert(header::HOST, HeaderValue::from_str(&authority).map_err(|_| wrong())?);
        for (name, value) in &ask.headers {
            headers.insert(name.clone(), value.clone());
        }
        Ok(request)
    }
}

/// Returns where a redirect leads, if it keeps the method and stays where we are.
///
/// SECURITY: the headers of the entry go along, and only this host was judged.
fn redirected(from: &Url, answer: &Answer) -> Result<Url, NoAnswer> {
    let status = answer.status.as_u16();
    let location = answer.headers.get(header::LOCATION).and_then(|it| it.to_str().ok());
    let to = location.and_then(|it| from.join(it).ok());
    match to {
        Some(to) if matches!(status, 307 | 308) && to.origin() == from.origin() => Ok(to),
        Some(to) => {
            let origin = to.origin().ascii_serialization();
            let origin: String = origin.chars().take(100).collect();
            Err(NoAnswer(format!(
                "it redirects (HTTP {status}) to `{}`, which is not followed; if that is where the \
                 server is now, write it into its entry",
                origin.escape_debug()
            )))
        }
        None => Err(NoAnswer(format!("it redirects (HTTP {status}) to nowhere"))),
    }
}

fn tls_name(host: &Host) -> Result<TlsName<'static>, NoAnswer> {
    let name = match host {
        Host::Name(name) => TlsName::try_from(name.as_str().to_owned()).ok(),
        Host::V4(address) => Some(TlsName::from(std::net::IpAddr::from(*address))),
        Host::V6(address) => Some(TlsName::from(std::net::IpAddr::from(*address))),
    };
    name.ok_or_else(|| NoAnswer("the host's name fits no certificate".to_owned()))
}

impl Answer {
    /// Returns what kind of thing the body is, in lower case and without parameters.
    pub(super) fn media_type(&self) -> String {
        let value = self.headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let value = value.unwrap_or_default().split(';').next().unwrap_or_default();
        value.trim().to_ascii_lowercase().chars().take(64).collect()
    }

    /// Returns whether the body is packed in a way that nobody asked for.
    pub(super) fn is_packed(&self) -> bool {
        self.headers.get(header::CONTENT_ENCODING).is_some_and(|it| it.as_bytes() != b"identity")
    }

    /// Returns the next bytes of the body; `None` at its end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, NoAnswer> {
        loop {
            match self.body.frame().await {
                None => return Ok(None),
                // Nobody reads what comes behind a body.
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
                Some(Err(error)) => {
                    return Err(NoAnswer(format!(
                        "its answer breaks off: {}",
                        crate::chain(&error)
                    )));
                }
            }
        }
    }

    /// Reads the whole body, if it is no longer than `bytes_max`.
    pub(super) async fn whole(&mut self, bytes_max: usize) -> Result<Vec<u8>, NoAnswer> {
        let mut whole = Vec::new();
        while let Some(bytes) = self.next().await? {
            if bytes_max < whole.len() + bytes.len() {
                return Err(NoAnswer(format!("its answer has more than {bytes_max} bytes")));
            }
            whole.extend_from_slice(&bytes);
        }
        Ok(whole)
    }
}
