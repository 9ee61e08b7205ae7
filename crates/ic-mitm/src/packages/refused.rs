//! What the door to package registries refuses, and how a package manager is told.
//!
//! Package managers repeat what is answered with 5xx or 429, so a refusal is a 403 that says why.

use hyper::StatusCode;
use ic_home::config::Registry;
use ic_types::{Json, Object};

/// A request that does not reach a registry.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotPassed {
    /// The host belongs to no registry of this session.
    #[error("this session reaches only {allowed}; `{asked}` is not allowed")]
    Host {
        /// What was asked for.
        asked: String,
        /// What may be.
        allowed: String,
    },
    /// HTTP that is not in TLS.
    #[error("plain HTTP is refused; use https through CONNECT")]
    PlainHttp,
    /// The name in the TLS handshake is not the host that was connected to.
    #[error("the server name of the TLS handshake is not the host of the CONNECT request")]
    Sni,
    /// The request is for another host than the connection.
    #[error("the host of the request is not the host of the connection")]
    Authority,
    /// The client wants another protocol.
    #[error("protocol upgrades are not supported")]
    Upgrade,
    /// Something else than reading.
    #[error("packages can be read here, and nothing else: `{0}` is refused")]
    Method(String),
    /// There is a credential.
    #[error("the request carries a credential in `{0}`; packages are read without any")]
    Credential(String),
    /// There is a body.
    #[error("a request for a package has no body")]
    Body,
    /// The path is not that of a package.
    #[error("`{0}` is not the path of a package or of a file of one, or it has a query")]
    Path(String),
    /// A person does not want it, or nobody was there, or the policy denies it.
    #[error("packages of {registry} from `{host}` were not allowed: {why}")]
    NotAllowed {
        /// The registry.
        registry: Registry,
        /// The host.
        host: &'static str,
        /// Why not.
        why: String,
    },
    /// Too many requests run at once.
    #[error("more than {0} requests at once")]
    TooMany(usize),
    /// The log cannot be written.
    #[error("the audit log cannot be written, so nothing is sent")]
    Unrecorded,
    /// The registry sends the request to a place that may not be read.
    #[error("the registry redirects to another place, which is not followed")]
    Redirected,
}

impl NotPassed {
    /// Returns the status that it is answered with.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Upgrade => StatusCode::UPGRADE_REQUIRED,
            Self::Host { .. }
            | Self::PlainHttp
            | Self::Sni
            | Self::Authority
            | Self::Method(_)
            | Self::Credential(_)
            | Self::Body
            | Self::Path(_)
            | Self::NotAllowed { .. }
            | Self::TooMany(_)
            | Self::Unrecorded
            | Self::Redirected => StatusCode::FORBIDDEN,
        }
    }
}

/// Says `message` so that package managers show it.
pub(super) fn told(message: &str) -> String {
    let mut body = Object::new();
    body.insert("error", format!("IronCurtain: {message}"));
    Json::Object(body).to_string()
}
