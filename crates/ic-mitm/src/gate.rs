//! The gate of one session: what it is made of, and how it is opened and closed.
//!
//! Connections are served in `tunnel`, requests in `exchange`. Nothing is global: a session has its own
//! fake key, and its own account.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ic_egress::Egress;
use ic_home::Clock;
use ic_home::environment::Network;
use ic_types::{InvalidName, Provider, ServerName};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::account::{Account, Budget};
use crate::authority::Authority;
use crate::credential::FakeKey;
use crate::headers::Named;
use crate::key::RealKey;
use crate::leaves::Leaves;
use crate::ledger::Ledger;
use crate::limits::Limits;
use crate::mask::Needles;
use crate::provider::{Rules, rules};
use crate::refusal::Refusal;
use crate::upstream::{Place, Upstream, UpstreamError};

/// What a gate is opened with.
pub struct GateSpec {
    /// The provider that is behind it.
    pub provider: Provider,
    /// Where that provider is.
    pub place: Place,
    /// The key that it is paid with.
    pub key: RealKey,
    /// Further top-level keys that requests may have.
    pub allow_keys: Vec<String>,
    /// What the session may use.
    pub budget: Budget,
    /// How much it may do at once.
    pub limits: Limits,
    /// Who vouches for the gate.
    pub authority: Authority,
    /// What makes connections.
    pub egress: Egress,
    /// How the network is reached.
    pub network: Network,
    /// What is written down.
    pub ledger: Arc<dyn Ledger>,
    /// What tells the time.
    pub clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for GateSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GateSpec").field("provider", &self.provider).finish_non_exhaustive()
    }
}

/// The gate of a session.
#[derive(Debug)]
pub struct Gate {
    rules: &'static Rules,
    fake: FakeKey,
    key: RealKey,
    needles: Arc<Needles>,
    allow_keys: Vec<String>,
    account: Account,
    limits: Limits,
    requests: Arc<Semaphore>,
    leaves: Leaves,
    upstream: Arc<Upstream>,
    ledger: Arc<dyn Ledger>,
    named: Named,
    ids: AtomicU64,
    certificate: String,
    /// What may be connected to: `host:port`.
    authorities: Vec<String>,
}

/// A gate that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The provider cannot be reached in the way that is configured.
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    /// There is no chance to make a key of.
    #[error("cannot make a key for the session")]
    NoChance(#[source] io::Error),
    /// Connections cannot be named in the log.
    #[error(transparent)]
    Name(#[from] InvalidName),
}

/// What connections are called in the log.
const SERVER: &str = "model-gate";

impl Gate {
    /// Opens a gate; nothing is connected and nothing is listened to yet.
    pub fn open(spec: GateSpec) -> Result<Arc<Self>, GateError> {
        let rules = rules(spec.provider);
        let server: ServerName = SERVER.parse()?;
        let upstream = Upstream::new(&spec.place, server, spec.egress, &spec.network)?;
        let certificate = spec.authority.certificate().to_owned();
        let port = spec.place.url.port_or_known_default().unwrap_or(443);
        let mut authorities = vec![format!("{}:443", rules.host), format!("{}:{port}", rules.host)];
        authorities.dedup();
        Ok(Arc::new(Self {
            rules,
            fake: FakeKey::generate(rules).map_err(GateError::NoChance)?,
            needles: Arc::new(Needles::of(&spec.key)),
            key: spec.key,
            allow_keys: spec.allow_keys,
            account: Account::new(spec.provider, spec.budget),
            limits: spec.limits,
            requests: Arc::new(Semaphore::new(spec.limits.requests_max)),
            leaves: Leaves::new(spec.authority, vec![rules.host.to_owned()], spec.clock),
            upstream,
            ledger: spec.ledger,
            named: Named::default(),
            ids: AtomicU64::new(1),
            certificate,
            authorities,
        }))
    }

    /// Returns the key that the agent is given.
    pub fn fake(&self) -> &FakeKey {
        &self.fake
    }

    /// Returns what is known of the provider.
    pub fn rules(&self) -> &'static Rules {
        self.rules
    }

    /// Returns the certificate that the agent has to trust, in PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Returns what was used so far.
    pub fn account(&self) -> &Account {
        &self.account
    }

    pub(crate) fn key(&self) -> &RealKey {
        &self.key
    }

    pub(crate) fn needles(&self) -> &Arc<Needles> {
        &self.needles
    }

    pub(crate) fn allow_keys(&self) -> &[String] {
        &self.allow_keys
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    pub(crate) fn leaves(&self) -> &Leaves {
        &self.leaves
    }

    pub(crate) fn upstream(&self) -> &Arc<Upstream> {
        &self.upstream
    }

    pub(crate) fn ledger(&self) -> &dyn Ledger {
        &*self.ledger
    }

    pub(crate) fn named(&self) -> &Named {
        &self.named
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes one of the places for requests.
    pub(crate) fn request_permit(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let permit = Arc::clone(&self.requests).try_acquire_owned();
        permit.map_err(|_| Refusal::TooMany(self.limits.requests_max))
    }

    /// Returns the host that `authority` means, if it is the provider's, to the letter.
    pub(crate) fn host_of(&self, authority: &str) -> Option<&'static str> {
        let is_it = |it: &String| it.eq_ignore_ascii_case(authority);
        self.authorities.iter().any(is_it).then_some(self.rules.host)
    }
}
