//! The gate of one session: what it is made of, and how it is opened and closed.
//!
//! Connections are served in `tunnel`, requests in `exchange`. Nothing is global: a session has its own
//! fake key, and its own account.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ic_egress::Egress;
use ic_home::Clock;
use ic_home::environment::Network;
use ic_types::{InvalidName, Provider, ServerName, locked};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use crate::account::{Account, Budget, Earlier};
use crate::authority::Authority;
use crate::credential::FakeKey;
use crate::headers::Named;
use crate::key::RealKey;
use crate::leaves::Leaves;
use crate::ledger::Ledger;
use crate::limits::{self, Limits};
use crate::login::{Login, Paid};
use crate::mask::Needles;
use crate::packages::Packages;
use crate::provider::{Rules, rules};
use crate::refusal::{Refusal, named_long};
use crate::upstream::{Place, Upstream, UpstreamError};

/// What a gate is opened with.
pub struct GateSpec {
    /// The provider that is behind it.
    pub provider: Provider,
    /// Where that provider is.
    pub place: Place,
    /// What it is paid with.
    pub pay: Pay,
    /// Further top-level keys that requests may have.
    pub allow_keys: Vec<String>,
    /// What the session may use.
    pub budget: Budget,
    /// What the session has used of it in earlier processes.
    pub earlier: Earlier,
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
    /// The package registries that are behind it too, if any are.
    pub packages: Option<Arc<Packages>>,
    /// What has to happen before each request to a model, if anything has to.
    pub before: Option<Arc<dyn Before>>,
}

/// Is told of each request to a model before it is sent, and holds it up until it is done.
pub trait Before: std::fmt::Debug + Send + Sync {
    /// Does what has to happen first.
    fn request(&self) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

impl std::fmt::Debug for GateSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GateSpec").field("provider", &self.provider).finish_non_exhaustive()
    }
}

/// What a provider is paid with.
#[derive(Debug)]
pub enum Pay {
    /// An API key.
    Key(RealKey),
    /// The login of an agent.
    Login(Login),
}

/// The gate of a session.
#[derive(Debug)]
pub struct Gate {
    rules: &'static Rules,
    fake: FakeKey,
    pay: Pay,
    /// What is masked: every key that was used so far.
    needles: Mutex<Arc<Needles>>,
    allow_keys: Vec<String>,
    account: Account,
    limits: Limits,
    requests: Arc<Semaphore>,
    /// The room for bodies, in KiB.
    bodies: Arc<Semaphore>,
    /// The places for checks of long bodies.
    checks: Semaphore,
    leaves: Leaves,
    packages: Option<Arc<Packages>>,
    before: Option<Arc<dyn Before>>,
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
        let rules = match &spec.pay {
            Pay::Key(_) => rules(spec.provider),
            Pay::Login(login) => login.rules().rules,
        };
        let needles = match &spec.pay {
            Pay::Key(key) => Needles::of(key),
            Pay::Login(_) => Needles::none(),
        };
        let server: ServerName = SERVER.parse()?;
        let upstream = Upstream::new(&spec.place, server, spec.egress, &spec.network)?;
        let certificate = spec.authority.certificate().to_owned();
        let port = spec.place.url.port_or_known_default().unwrap_or(443);
        let mut authorities = vec![format!("{}:443", rules.host), format!("{}:{port}", rules.host)];
        authorities.dedup();
        Ok(Arc::new(Self {
            rules,
            fake: FakeKey::generate(rules).map_err(GateError::NoChance)?,
            needles: Mutex::new(Arc::new(needles)),
            pay: spec.pay,
            allow_keys: spec.allow_keys,
            account: Account::new(spec.provider, spec.budget, spec.earlier),
            limits: spec.limits,
            requests: Arc::new(Semaphore::new(spec.limits.requests_max)),
            bodies: Arc::new(Semaphore::new(spec.limits.bodies_kib_max as usize)),
            checks: Semaphore::new(limits::CHECKS_MAX),
            leaves: Leaves::new(spec.authority, vec![rules.host.to_owned()], spec.clock),
            packages: spec.packages,
            before: spec.before,
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

    /// Returns what stands before the paths of endpoints, in the address that agents are told.
    pub(crate) fn base_path(&self) -> &'static str {
        match &self.pay {
            Pay::Key(_) => "/v1",
            Pay::Login(login) => login.rules().base_path,
        }
    }

    /// Returns what the next request is paid with; `refused` is what the provider did not take.
    pub(crate) async fn paid(&self, refused: Option<&RealKey>) -> Result<Paid, Refusal> {
        let login = match &self.pay {
            Pay::Key(key) => {
                return Ok(Paid { key: key.clone(), beside: None, is_new: false });
            }
            Pay::Login(login) => login,
        };
        let agent = login.rules().agent;
        let paid = login.paid(refused).await.map_err(|error| {
            let error = named_long(&ic_types::chain(&error));
            Refusal::Login { agent, error }
        })?;
        // SECURITY: before it is used, so that no answer to it passes unmasked.
        let mut needles = locked(&self.needles);
        if !needles.cover(&paid.key) {
            *needles = Arc::new(needles.with(&paid.key));
        }
        drop(needles);
        if paid.is_new {
            self.ledger.noticed(&format!("took a new token from the login of `{agent}`"));
        }
        Ok(paid)
    }

    /// Returns whether another try with another token is worth it.
    pub(crate) fn is_login(&self) -> bool {
        matches!(self.pay, Pay::Login(_))
    }

    pub(crate) fn needles(&self) -> Arc<Needles> {
        Arc::clone(&locked(&self.needles))
    }

    pub(crate) fn allow_keys(&self) -> &[String] {
        &self.allow_keys
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// Returns the names of the package registries that are behind it.
    pub fn registries(&self) -> Vec<&'static str> {
        self.packages.as_ref().map(|it| it.registries()).unwrap_or_default()
    }

    /// Waits for what has to happen before a model is asked.
    pub(crate) async fn before(&self) {
        if let Some(before) = &self.before {
            before.request().await;
        }
    }

    /// Returns the package registries that are behind it.
    pub(crate) fn packages(&self) -> Option<&Arc<Packages>> {
        self.packages.as_ref()
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

    /// Takes room for `n_bytes` more of a body.
    pub(crate) fn body_permit(&self, n_bytes: usize) -> Result<OwnedSemaphorePermit, Refusal> {
        let n_kib = u32::try_from(n_bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.bodies).try_acquire_many_owned(n_kib);
        permit.map_err(|_| Refusal::TooMuch(self.limits.bodies_kib_max))
    }

    /// Waits for one of the places for checks of long bodies.
    pub(crate) async fn check_permit(&self) -> Option<SemaphorePermit<'_>> {
        self.checks.acquire().await.ok()
    }

    /// Returns the host that `authority` means, if it is the provider's, to the letter.
    pub(crate) fn host_of(&self, authority: &str) -> Option<&'static str> {
        let is_it = |it: &String| it.eq_ignore_ascii_case(authority);
        self.authorities.iter().any(is_it).then_some(self.rules.host)
    }
}
