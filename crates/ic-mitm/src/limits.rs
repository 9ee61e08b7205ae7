//! Every limit of the gate; beyond one the answer is no.

use std::time::Duration;

/// How much one session may do at once.
///
/// There is no `Default`: the caller knows them.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections of agents.
    pub connections_max: usize,
    /// Requests that are under way.
    pub requests_max: usize,
    /// How many KiB the bodies of requests may take at once.
    pub bodies_kib_max: u32,
    /// How long open requests have when the session ends.
    pub grace: Duration,
}

impl Limits {
    /// What suits one agent with its helpers.
    pub const SESSION: Self = Self {
        connections_max: 512,
        requests_max: 256,
        bodies_kib_max: 256 << 10,
        grace: Duration::from_secs(2),
    };
}

/// Until a client has said what it wants.
pub(crate) const HEAD: Duration = Duration::from_secs(15);
/// Until TLS is agreed on.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(15);
/// Until a body that is not wanted is read.
pub(crate) const DRAIN: Duration = Duration::from_mins(1);
/// Until a body has come.
pub(crate) const BODY: Duration = Duration::from_mins(10);
/// Until there is a connection to the provider.
pub(crate) const CONNECT: Duration = Duration::from_secs(30);
/// Until the next bytes of an answer come; models think for a long time.
pub(crate) const IDLE: Duration = Duration::from_hours(1);
/// How much of a body that is not wanted is read.
pub(crate) const DRAIN_BYTES_MAX: usize = 512 << 20;
/// How long an answer may be.
pub(crate) const ANSWER_BYTES_MAX: u64 = 512 << 20;
/// How many headers a request or an answer may have.
pub(crate) const HEADERS_MAX: usize = 100;
/// How long all of them may be together.
pub(crate) const HEAD_BYTES_MAX: usize = 64 << 10;
/// How many requests one connection of HTTP/2 carries at once.
pub(crate) const STREAMS_MAX: u32 = 128;
/// How many requests share one connection to the provider; providers allow at least a hundred.
pub(crate) const SHARED_MAX: usize = 96;
/// How many connections to the provider are kept for later.
pub(crate) const IDLE_CONNECTIONS_MAX: usize = 32;
/// A body from which on it is checked on another thread.
pub(crate) const ASIDE_BYTES: usize = 256 << 10;
/// How many long bodies are checked at once; read, a body takes many times its size.
pub(crate) const CHECKS_MAX: usize = 2;
/// How many values of a header, and models, are remembered.
pub(crate) const REMEMBERED_MAX: usize = 256;
