//! The session of a gate: its directory, its log, and what makes its connections.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ic_audit::{AuditKey, AuditLog, LogFiles, LogOptions, Redactor, SyncMode};
use ic_backend::LogLedger;
use ic_egress::{Egress, SystemResolver};
use ic_home::config::{AuditSync, Config};
use ic_home::{Home, SystemClock, file};
use ic_mitm::RealKey;
use ic_session::{Description, OpenError, SessionDirectory, SessionKind};
use ic_types::{Object, Provider};
use tokio_util::task::TaskTracker;

use crate::error::Failure;

/// A session that is open.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) directory: SessionDirectory,
    pub(super) log: Arc<AuditLog>,
    shown: PathBuf,
    tasks: TaskTracker,
}

impl Session {
    /// Makes a new session, and opens its log.
    pub(super) fn open(
        home: &Home,
        config: &Config,
        provider: Provider,
        command: &[OsString],
    ) -> Result<Self, Failure> {
        let agent = command.first().map(|it| Path::new(it).file_name().unwrap_or(it));
        let agent = agent.map_or_else(|| "gate".to_owned(), |it| it.to_string_lossy().into_owned());
        let directory = SessionDirectory::create(home, None, SessionKind::Gate, &agent)
            .map_err(OpenError::from)?;
        let opened = Self::open_in(&directory, home, config, provider, &agent);
        if opened.is_err() {
            directory.discard();
        }
        opened
    }

    fn open_in(
        directory: &SessionDirectory,
        home: &Home,
        config: &Config,
        provider: Provider,
        agent: &str,
    ) -> Result<Self, Failure> {
        let keys = &config.api_keys;
        let keys = [&keys.anthropic, &keys.openai, &keys.google, &keys.openai_compatible];
        let logins = config.agent.logins.values();
        let tokens = logins.filter(|it| RealKey::new(Arc::clone(it)).as_path().is_none());
        let keys = keys.into_iter().flatten().chain(tokens).cloned();
        let redactor = Arc::new(Redactor::new(keys));
        let description = Description {
            kind: SessionKind::Gate,
            agent,
            about: None,
            task: None,
            workspace: None,
        };
        directory.describe(&description).map_err(OpenError::from)?;
        let options = LogOptions {
            session: directory.id.clone(),
            key: AuditKey::read_or_create(&home.audit_key()).map_err(OpenError::from)?,
            redactor,
            clock: Arc::new(SystemClock),
            sync: match config.audit_sync {
                AuditSync::Group => SyncMode::Group,
                AuditSync::Each => SyncMode::Each,
            },
            bytes_max: config.audit_mib_max << 20,
        };
        let files = LogFiles { heads: Some(home.audit_heads()), ..directory.audit() };
        let mut event = Object::new();
        event.insert("event", "opened");
        event.insert("kind", SessionKind::Gate.as_str());
        event.insert("name", directory.name.as_str());
        event.insert("agent", agent);
        event.insert("version", env!("CARGO_PKG_VERSION"));
        event.insert("provider", provider.as_str());
        let log = AuditLog::open(files, options, event).map_err(OpenError::Audit)?;
        let shown = home.session(&directory.id).join("orientation");
        file::create_dir(&shown)?;
        Ok(Self {
            directory: directory.clone(),
            log: Arc::new(log),
            shown,
            tasks: TaskTracker::new(),
        })
    }

    /// Returns what makes connections, each of which is recorded.
    pub(super) fn egress(&self) -> Egress {
        let ledger = Arc::new(LogLedger::new(Arc::clone(&self.log)));
        Egress::new(Arc::new(SystemResolver::new()), ledger, self.tasks.clone())
    }

    /// Returns the file with the certificate that the program has to trust.
    pub(super) fn certificate(&self) -> PathBuf {
        self.shown.join("ca-cert.pem")
    }

    /// Writes that file.
    pub(super) fn write_certificate(&self, certificate: &str) -> Result<(), Failure> {
        Ok(file::replace(self.certificate(), certificate.as_bytes())?)
    }

    /// Ends the session: what is under way has ended by then, and the log is closed last.
    pub(super) async fn close(&self) -> Result<(), Failure> {
        self.tasks.close();
        self.tasks.wait().await;
        Ok(self.log.close()?)
    }
}
