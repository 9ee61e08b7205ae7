//! How long and how much: every bound of this crate that is not one parser's own.

use std::time::Duration;

/// How many connections of one cage are served at once; others wait.
pub(crate) const CONNECTIONS_MAX: usize = 64;
/// How many DNS connections of one cage are served at once; others wait.
pub(crate) const DNS_CONNECTIONS_MAX: usize = 16;
/// How many questions are answered on one DNS connection.
pub(crate) const DNS_QUESTIONS_MAX: usize = 64;
/// The longest DNS message that is read.
pub(crate) const DNS_MESSAGE_MAX: usize = 4096;
/// How long one DNS message may take to come in.
pub(crate) const DNS_MESSAGE: Duration = Duration::from_secs(10);
/// How long the head of a request to the proxy may take to come in.
pub(crate) const HEAD: Duration = Duration::from_secs(10);
/// How long a client may take, from its first byte, to show what it speaks.
pub(crate) const GATE: Duration = Duration::from_secs(10);
/// How long finding the addresses of a host may take.
pub(crate) const RESOLVE: Duration = Duration::from_secs(5);
/// How long connecting may take, over all addresses.
pub(crate) const CONNECT: Duration = Duration::from_secs(10);
/// How long a connection may be silent in both directions.
pub(crate) const IDLE: Duration = Duration::from_mins(10);
/// How long a refused client may take to read why.
pub(crate) const FAREWELL: Duration = Duration::from_secs(2);
/// How much of what a refused client still sends is thrown away before it is cut off.
pub(crate) const FAREWELL_BYTES_MAX: u64 = 256 * 1024;
/// How long refusals are counted before repeated ones are recorded.
pub(crate) const TALLY: Duration = Duration::from_mins(1);
/// How long to wait after a socket failed, before it is asked again.
pub(crate) const PAUSE: Duration = Duration::from_millis(100);
/// How much is read at once.
pub(crate) const BUFFER: usize = 16 * 1024;
