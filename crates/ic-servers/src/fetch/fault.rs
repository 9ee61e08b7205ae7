//! Why a page was not fetched, in words for a model to read.

use std::io;

/// A page that was not fetched.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    /// The arguments cannot be used.
    #[error("{0}")]
    Asked(String),
    /// There is no connection.
    #[error("{0}")]
    Unreached(String),
    /// Nobody can be believed, since it is not known whom to believe.
    #[error("no certificate can be checked: {0}")]
    Trust(String),
    /// The host could not prove who it is, or TLS failed otherwise.
    #[error("TLS with the host failed: {0}")]
    Tls(String),
    /// The time is up.
    #[error(
        "the host did not finish its answer in time; a larger `timeout` (at most 60 s) may help"
    )]
    TooSlow,
    /// Nobody waits any more.
    #[error("the call was cancelled")]
    Cancelled,
    /// The connection failed.
    #[error("the connection failed: {0}")]
    Broken(io::Error),
    /// What was answered is no HTTP.
    #[error("the host's answer cannot be read: {0}")]
    Answer(&'static str),
}

impl Fault {
    /// Says what a connection's error means.
    pub(super) fn of_io(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Self::TooSlow,
            io::ErrorKind::ConnectionAborted => Self::Cancelled,
            io::ErrorKind::InvalidData => Self::Tls(error.to_string()),
            _ => Self::Broken(error),
        }
    }
}
