//! The door of a session to package registries: made before the session's servers, opened once its log and its
//! broker are there.
//!
//! What passes it is judged in `ic_mitm::packages`; here a person is asked, through the broker.

use std::net::TcpListener;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use ic_audit::AuditLog;
use ic_backend::backend::Pending;
use ic_backend::{LogLedger, PackageDoor};
use ic_broker::Broker;
use ic_broker::broker::NotRead;
use ic_egress::{Egress, SystemResolver};
use ic_home::SystemClock;
use ic_home::config::Registry;
use ic_home::environment::Network;
use ic_mitm::packages::{Answer, Asking, AuditPackages, Permission, RegistryHost};
use ic_mitm::{Authority, Listener, Packages, PackagesError, PackagesSpec, Place, Surroundings};
use ic_types::{AbsolutePath, ServerName};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The door of a session, which is closed until it is opened.
#[derive(Debug)]
pub struct SessionPackages {
    certificate: AbsolutePath,
    door: OnceLock<Arc<Packages>>,
}

/// What the door is opened with.
#[derive(Debug)]
pub struct PackagesWanted<'a> {
    /// The hosts that it leads to, and where each is.
    pub places: Vec<(&'static RegistryHost, Place)>,
    /// Who vouches for it.
    pub authority: Authority,
    /// How the network is reached.
    pub network: Network,
    /// How long package managers are told to wait.
    pub patience: Duration,
    /// The session's log.
    pub log: &'a Arc<AuditLog>,
    /// What a person is asked through.
    pub broker: &'a Arc<Broker>,
    /// In whose name.
    pub asker: ServerName,
}

/// Asks a person through the session's broker.
#[derive(Debug)]
struct ThroughBroker {
    broker: Weak<Broker>,
    asker: ServerName,
}

impl SessionPackages {
    /// Makes the door, which is closed; `certificate` is the file that cages will show.
    pub fn closed(certificate: AbsolutePath) -> Arc<Self> {
        Arc::new(Self { certificate, door: OnceLock::new() })
    }

    /// Opens the door, for the rest of the session.
    pub fn open(&self, wanted: PackagesWanted<'_>) -> Result<Arc<Packages>, PackagesError> {
        let PackagesWanted { places, authority, network, patience, log, broker, asker } = wanted;
        let ledger = Arc::new(LogLedger::new(Arc::clone(log)));
        let permission = ThroughBroker { broker: Arc::downgrade(broker), asker };
        let packages = Packages::open(PackagesSpec {
            places,
            authority,
            egress: Egress::new(Arc::new(SystemResolver::new()), ledger, TaskTracker::new()),
            network,
            ledger: Arc::new(AuditPackages::new(Arc::clone(log))),
            permission: Arc::new(permission),
            clock: Arc::new(SystemClock),
            patience,
        })?;
        Ok(Arc::clone(self.door.get_or_init(|| packages)))
    }
}

impl PackageDoor for SessionPackages {
    fn certificate(&self) -> &AbsolutePath {
        &self.certificate
    }

    fn environment(&self, port: u16) -> Vec<(String, String)> {
        let Some(packages) = self.door.get() else { return Vec::new() };
        let certificate = self.certificate.as_path().display().to_string();
        let proxy = format!("http://127.0.0.1:{port}");
        packages.environment(&Surroundings { proxy: Some(&proxy), certificate: &certificate })
    }

    fn serve(&self, listener: TcpListener, over: CancellationToken) -> Pending<'static, ()> {
        let packages = self.door.get().cloned();
        Box::pin(async move {
            let Some(packages) = packages else { return };
            let listener = listener
                .set_nonblocking(true)
                .and_then(|()| tokio::net::TcpListener::from_std(listener));
            if let Ok(listener) = listener {
                // Package managers say themselves that nobody answers.
                packages.serve(Listener::Tcp(listener), &over).await.ok();
            }
        })
    }
}

impl Permission for ThroughBroker {
    fn ask(&self, registry: Registry, host: &'static str) -> Asking {
        let (broker, asker) = (self.broker.upgrade(), self.asker.clone());
        Box::pin(async move {
            let Some(broker) = broker else {
                return Answer::Unanswered("the session ends".to_owned());
            };
            match broker.ask_for_registry(&asker, registry.as_str(), host).await {
                Ok(()) => Answer::Yes,
                Err(NotRead { why, is_final: true }) => Answer::No(why),
                Err(NotRead { why, is_final: false }) => Answer::Unanswered(why),
            }
        })
    }
}
