//! Why something that a cage wanted was not done, in words for records and for the cage.
//!
//! Decides nothing.

use std::io;
use std::net::IpAddr;

use ic_types::Host;

use crate::address::{Naming, Special};
use crate::ledger::LedgerError;
use crate::target::Target;

/// Why a connection, a name or a byte was refused.
#[derive(Clone, Debug, Eq, Hash, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// It cannot be read, or could be read in two ways.
    #[error("the request cannot be read: {0}")]
    Malformed(&'static str),
    /// No pattern admits the host at that port, in one list at least.
    #[error("it is not among the allowed domains")]
    NotAllowed,
    /// A pattern of the denied domains holds.
    #[error("it is among the denied domains")]
    Denied,
    /// It leads to an address that is not public, and that no pattern opens.
    #[error("it leads to {0}, a {1} address")]
    Special(IpAddr, Special),
    /// It leads to an address that a pattern of the denied domains names.
    #[error("it leads to {0}, which is among the denied domains")]
    DeniedAddress(IpAddr),
    /// It has no address, or none was found in time.
    ///
    /// Nobody refused it; but it was looked for outside, so it is recorded.
    #[error("its address was not found")]
    Unresolved,
    /// A connection to an address that stands for no name.
    #[error("no name was looked up for the address")]
    Nobody,
    /// The cage has asked for more names than one cage needs.
    #[error("this cage has asked for too many names")]
    TooManyNames,
    /// Something other than TLS on a connection that must be TLS.
    #[error("only TLS may be spoken on port 443")]
    NotTls,
    /// Something other than HTTP or TLS on a connection for the web.
    #[error("only HTTP and TLS may be spoken on port 80")]
    NotWeb,
    /// No pattern admits what is spoken.
    #[error("the allowed domains require another protocol there")]
    Speech,
    /// What is spoken could be HTTP, and did not show in time.
    #[error("its protocol was not recognised in time")]
    Undecided,
    /// A TLS handshake that does not say whom it is for.
    #[error("the TLS handshake names no server (SNI)")]
    NoServerName,
    /// A TLS handshake with a server of another name.
    #[error("the TLS handshake is for `{0}`")]
    OtherServerName(Box<str>),
    /// A TLS handshake that hides whom it is for.
    #[error("the TLS handshake hides the server's name (encrypted client hello)")]
    HiddenServerName,
    /// A TLS handshake that cannot be read.
    #[error("the TLS handshake cannot be read: {0}")]
    Hello(&'static str),
    /// An HTTP request for another host.
    #[error("the request is for `{0}`")]
    OtherHost(Box<str>),
    /// HTTP/2 in the clear, in which the hosts of later requests cannot be seen.
    #[error("HTTP/2 is passed on only in TLS")]
    Http2,
    /// More different things were refused than are recorded one by one.
    #[error("there were too many refusals to record each one")]
    Flood,
}

/// Why a connection that nothing forbids could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("cannot find the address of the host")]
    Resolve(#[source] io::Error),
    #[error("the address of the host was not found in time")]
    ResolveTimeout,
    #[error("the host has no address")]
    NoAddress,
    #[error("cannot connect")]
    Connect(#[source] io::Error),
    #[error("the host did not answer in time")]
    ConnectTimeout,
    #[error("the connection could not be recorded, so it was not made")]
    Ledger(#[source] LedgerError),
    #[error("the session is over")]
    Over,
}

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum Unmade {
    Refused(Refusal),
    Failed(Failure),
}

/// The longest text of a cage that is kept in a refusal.
const TEXT_MAX: usize = 255;

impl From<Refusal> for Unmade {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Failure> for Unmade {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Failure {
    /// Returns whether no address was found.
    pub(crate) fn is_unresolved(&self) -> bool {
        match self {
            Self::Resolve(_) | Self::ResolveTimeout | Self::NoAddress => true,
            Self::Connect(_) | Self::ConnectTimeout | Self::Ledger(_) | Self::Over => false,
        }
    }
}

impl Refusal {
    /// Makes the refusal of a handshake with another server.
    pub(crate) fn other_server_name(name: &[u8]) -> Self {
        Self::OtherServerName(shown(name))
    }

    /// Makes the refusal of a request for another host.
    pub(crate) fn other_host(host: &[u8]) -> Self {
        Self::OtherHost(shown(host))
    }

    /// Returns the entry of `allowedDomains` that would admit `target`, if one would.
    pub fn remedy(&self, target: &Target) -> Option<String> {
        let port = target.port();
        match self {
            Self::NotAllowed if matches!(port, 80 | 443) => Some(target.host().to_string()),
            Self::NotAllowed => Some(target.to_string()),
            Self::Special(address, special) => match special.naming() {
                Naming::HostOrAddress => Some(target.to_string()),
                Naming::Address => Some(match address {
                    IpAddr::V4(address) => format!("{}:{port}", Host::V4(*address)),
                    IpAddr::V6(address) => format!("{}:{port}", Host::V6(*address)),
                }),
                Naming::Never => None,
            },
            Self::Malformed(_)
            | Self::Denied
            | Self::DeniedAddress(_)
            | Self::Unresolved
            | Self::Nobody
            | Self::TooManyNames
            | Self::NotTls
            | Self::NotWeb
            | Self::Speech
            | Self::Undecided
            | Self::NoServerName
            | Self::OtherServerName(_)
            | Self::HiddenServerName
            | Self::Hello(_)
            | Self::OtherHost(_)
            | Self::Http2
            | Self::Flood => None,
        }
    }
}

/// Returns bytes of a cage as text that no terminal and no log can misread.
fn shown(bytes: &[u8]) -> Box<str> {
    let cut = bytes.get(..TEXT_MAX).unwrap_or(bytes);
    cut.escape_ascii().to_string().into()
}
