//! The way to a provider: one HTTP client, with its time-outs, proxy and certificates.
//!
//! It follows no redirect, since a key would go with it, and reads no environment. What is sent and
//! what comes back is not understood here.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use ic_home::environment::Network;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{NoProxy, Proxy, Response};
use rustls::{ClientConfig, RootCertStore};
use url::Url;

use super::key::Credential;
use super::roots::{self, RootsError};
use crate::error::ModelError;

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// Until there is a connection.
    pub connect: Duration,
    /// Until the next byte comes.
    pub idle: Duration,
}

impl Timeouts {
    /// What suits models that think for minutes before they say a word.
    pub const USUAL: Self = Self { connect: Duration::from_secs(30), idle: Duration::from_mins(5) };
}

/// Where in a request a provider wants its key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Placed {
    /// As the whole of this header.
    Plain(&'static str),
    /// As a bearer token.
    Bearer,
}

/// One request.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) url: Url,
    /// What is sent; without it, something is only asked for.
    pub(crate) body: Option<String>,
    pub(crate) headers: &'static [(&'static str, &'static str)],
    pub(crate) placed: Placed,
}

/// A client that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// There are no certificates to trust.
    #[error(transparent)]
    Roots(#[from] RootsError),
    /// The proxy cannot be used; what it is said to be may hold a password, and is not repeated.
    #[error("`HTTPS_PROXY` is not a valid proxy address")]
    Proxy,
    /// The client could not be made for another reason.
    #[error("cannot make an HTTP client: {0}")]
    Client(String),
}

/// The client.
#[derive(Clone, Debug)]
pub(crate) struct Http(reqwest::Client);

impl Http {
    /// Makes a client that talks to `base`.
    pub(crate) fn new(
        base: &Url,
        network: &Network,
        timeouts: Timeouts,
    ) -> Result<Self, HttpError> {
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            .connect_timeout(timeouts.connect)
            .read_timeout(timeouts.idle)
            .tcp_nodelay(true)
            // The proxy is the one that we were told of, and no other.
            .no_proxy()
            .user_agent(concat!("ironcurtain/", env!("CARGO_PKG_VERSION")));
        // A local server needs no certificates, which take a while to read.
        let store = match base.scheme() {
            "https" => roots::load(network.extra_roots.as_deref())?,
            _ => RootCertStore::empty(),
        };
        builder = builder.tls_backend_preconfigured(tls(store)?);
        if let Some(address) = &network.https_proxy {
            let proxy = Proxy::https(address.as_str()).map_err(|_| HttpError::Proxy)?;
            let exceptions = network.no_proxy.as_deref().and_then(NoProxy::from_string);
            builder = builder.proxy(proxy.no_proxy(exceptions));
        }
        let client = builder.build().map_err(|error| HttpError::Client(told(&error)))?;
        Ok(Self(client))
    }

    /// Sends a request, and returns what came back, whatever its status.
    pub(crate) async fn send(
        &self,
        ask: Ask,
        credential: Option<&Credential>,
    ) -> Result<Response, ModelError> {
        let Ask { url, body, headers: extra, placed } = ask;
        let mut headers = HeaderMap::new();
        for (name, value) in extra {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        if let Some(value) = credential.and_then(|it| it.header(placed)) {
            let name = match placed {
                Placed::Plain(name) => HeaderName::from_static(name),
                Placed::Bearer => reqwest::header::AUTHORIZATION,
            };
            headers.insert(name, value);
        }
        let request = match body {
            Some(body) => {
                headers.insert("content-type", HeaderValue::from_static("application/json"));
                self.0.post(url).body(body)
            }
            None => self.0.get(url),
        };
        request.headers(headers).send().await.map_err(|error| unreachable_because(&error))
    }
}

/// Makes the rules for secure connections; nothing is installed for the whole process.
fn tls(store: RootCertStore) -> Result<ClientConfig, HttpError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| HttpError::Client(error.to_string()))?;
    Ok(config.with_root_certificates(store).with_no_client_auth())
}

/// Tells the classes apart in which no answer came.
fn unreachable_because(error: &reqwest::Error) -> ModelError {
    let mut cause = error.source();
    while let Some(it) = cause {
        if let Some(tls) = tls_fault(it) {
            return ModelError::Tls(tls.to_string());
        }
        cause = it.source();
    }
    if error.is_timeout() {
        return ModelError::Network("nothing came for too long".to_owned());
    }
    let why = told(error);
    // Whoever hangs up on the first word of a secure connection speaks no other language.
    match why.contains("tls handshake") {
        true => ModelError::Tls("it does not speak TLS, or hung up".to_owned()),
        false => ModelError::Network(why),
    }
}

/// Finds a failure of TLS, which travels inside of failures of the system, one in the other.
fn tls_fault<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a rustls::Error> {
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return Some(tls);
    }
    let inner = error.downcast_ref::<std::io::Error>()?.get_ref()?;
    tls_fault(inner)
}

/// Tells why an answer that had begun did not come to its end.
pub(crate) fn cut_because(error: &reqwest::Error) -> ModelError {
    match error.is_timeout() {
        true => ModelError::Cut("nothing more came for too long".to_owned()),
        false => ModelError::Cut(told(error)),
    }
}

/// Returns the last cause, which says most, and never an address.
fn told(error: &reqwest::Error) -> String {
    let mut last: &dyn std::error::Error = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    match last.downcast_ref::<reqwest::Error>() {
        Some(_) => "the request could not be sent".to_owned(),
        None => last.to_string(),
    }
}
