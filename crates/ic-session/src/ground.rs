//! What every session stands on: its directory, its log, its desk, its broker.
//!
//! Everything is handed in, found and checked by others; no policy is looked for here, and no server
//! is started. What fails half-way leaves nothing that runs.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ic_audit::key::KeyError;
use ic_audit::{AuditError, AuditKey, AuditLog, LogFiles, LogOptions, Redactor, SyncMode};
use ic_backend::{Keyring, NotOpened, PackageDoor, Premises, Witness};
use ic_broker::{Broker, FORWARD_GRACE, People, Setup};
use ic_confine::{ChildSpec, Confinement, Launcher};
use ic_egress::SystemResolver;
use ic_escalation::{Approver, Grants, GrantsError, IntentJudge, UserContext};
use ic_home::{Clock as _, FileError, Home, SystemClock, random};
use ic_inventory::pins::PinsFile;
use ic_inventory::servers_file::ServersFile;
use ic_judge::{Ahead, Judge};
use ic_types::{AbsolutePath, Json, Object, SessionId, SessionName, Timestamp};
use tokio_util::task::TaskTracker;

use crate::desk::{AtTerminal, OpenDesk, Wait};
use crate::directory::{Description, DirectoryError, SessionDirectory, SessionKind};
use crate::end::Owned;
use crate::notify::Notifier;
use crate::session::{Info, Status};

/// What a session is opened with.
pub struct Opening<'a> {
    /// The home that it is kept in.
    pub home: &'a Home,
    /// Its directory.
    pub directory: SessionDirectory,
    /// What is written down about it.
    pub description: Description<'a>,
    /// Who decides.
    pub judge: Judge,
    /// Where the policy comes from, as a person would say it.
    pub policy: &'a str,
    /// The policy that the command line names, by name or as an absolute directory, if it names one.
    pub named_policy: Option<String>,
    /// The servers.
    pub servers: ServersFile,
    /// What holds servers.
    pub held: Held,
    /// What hides our keys.
    pub redactor: Arc<Redactor>,
    /// When records are committed.
    pub sync: SyncMode,
    /// How long the record may become.
    pub record_bytes_max: u64,
    /// What starts processes.
    pub launcher: Launcher,
    /// What the `${ENV:NAME}` of the servers file stand for.
    pub variables: Vec<(String, String)>,
    /// Where the user's own credentials are.
    pub keyring: Keyring,
    /// The file with the certificates that are trusted besides the system's.
    pub certificates: Option<AbsolutePath>,
    /// What the settings show to agents and their commands, read-only.
    pub shown: Vec<AbsolutePath>,
    /// The door to package registries, if the settings open one for commands.
    pub packages: Option<Arc<dyn PackageDoor>>,
    /// What may approve in the person's name, if anything may.
    pub discretion: Discretion,
    /// Whether calls wait for a person who is not there.
    pub wait: Wait,
    /// The person who is asked at the terminal of this session, if it has one.
    pub at_terminal: AtTerminal,
    /// How long a question waits for its answer.
    pub timeout: Duration,
    /// The program that is run when a call waits, if the user wants to be called.
    pub notify: Option<ChildSpec>,
    /// The observer that is to know what happens.
    pub witness: Arc<dyn Witness>,
}

/// What may approve a call because the person's own last message asks for it; by default nothing.
#[derive(Clone, Debug, Default)]
pub struct Discretion {
    /// Whether a message that is one plain request is enough.
    pub is_literal: bool,
    /// The model that judges, if one may.
    pub judge: Option<Arc<dyn IntentJudge>>,
    /// What `~` stands for in a message.
    pub home: Option<String>,
}

/// What holds the servers of a session, and what was wanted.
#[derive(Clone, Debug)]
pub struct Held {
    /// What is in force.
    pub confinement: Confinement,
    /// The name of what is wanted, as it is configured.
    pub mode: &'static str,
    /// The servers that are not held because their entries say so.
    pub exceptions: Vec<String>,
}

/// Which session it is.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Its id.
    pub id: SessionId,
    /// What people call it.
    pub name: SessionName,
    /// What kind of session it is.
    pub kind: SessionKind,
    /// When it was opened.
    pub opened_at: Timestamp,
}

/// What a session stands on.
#[derive(Debug)]
pub struct Ground {
    /// Which session it is.
    pub identity: Identity,
    /// The session's directory.
    pub directory: SessionDirectory,
    /// What its calls go through.
    pub broker: Arc<Broker>,
    /// Its log: the session's own, closed once its calls have come to their end.
    pub log: Arc<AuditLog>,
    /// Where its questions are put.
    pub desk: OpenDesk,
    /// What knows our keys.
    pub redactor: Arc<Redactor>,
    /// What the person said last.
    pub context: Arc<UserContext>,
}

/// A session that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its directory cannot be made or used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The key of its log cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Its log cannot be used.
    #[error(transparent)]
    Audit(AuditError),
    /// Another process has it.
    #[error("the session `{0}` is running already")]
    InUse(SessionName),
    /// Its grants cannot be kept.
    #[error("cannot keep the grants of the session")]
    Grants(#[source] GrantsError),
    /// Its servers cannot be put together, or what an earlier one left cannot be settled.
    #[error(transparent)]
    Servers(#[from] NotOpened),
    /// There is nothing to tell its requests apart by.
    #[error("cannot start")]
    NoChance(#[source] io::Error),
}

impl OpenError {
    fn of_log(error: AuditError, session: &SessionName) -> Self {
        match error {
            AuditError::InUse(_) => Self::InUse(session.clone()),
            other => Self::Audit(other),
        }
    }
}

impl Identity {
    fn of(directory: &SessionDirectory, kind: SessionKind) -> Self {
        let (id, name) = (directory.id.clone(), directory.name.clone());
        Self { id, name, kind, opened_at: SystemClock.now() }
    }

    /// Returns what the session is, as it stands now; nobody has talked in it.
    pub fn info(&self, status: Status) -> Info {
        Info {
            id: self.id.clone(),
            name: self.name.clone(),
            kind: self.kind,
            status,
            turn_count: 0,
            created_at: self.opened_at,
        }
    }
}

impl Opening<'_> {
    /// Opens the session; must be called within the runtime that it is to live in.
    pub fn open(self) -> Result<Ground, OpenError> {
        let (event, notifier) = (self.event(), self.notifier());
        let Self { home, directory, description, .. } = self;
        // A key that a person pasted is nobody else's business.
        let masked = |text: Option<&str>| text.map(|it| self.redactor.mask_own_keys(it.to_owned()));
        let (task, about) = (masked(description.task), masked(description.about));
        let description =
            Description { task: task.as_deref(), about: about.as_deref(), ..description };
        directory.describe(&description)?;
        let options = LogOptions {
            session: directory.id.clone(),
            key: AuditKey::read_or_create(&home.audit_key())?,
            redactor: Arc::clone(&self.redactor),
            clock: Arc::new(SystemClock),
            sync: self.sync,
            bytes_max: self.record_bytes_max,
        };
        let files = LogFiles { heads: Some(home.audit_heads()), ..directory.audit() };
        let log = AuditLog::open(files, options, event)
            .map_err(|error| OpenError::of_log(error, &directory.name))?;
        let grants = Grants::open(home.grants(&directory.id), directory.id.clone())
            .map_err(OpenError::Grants)?;
        // Only once the log is open: then no other process has the session, and a question that is
        // found there is nobody's.
        let policy = self.named_policy.as_deref();
        let desk = OpenDesk::open(home, &directory, &description, policy, notifier)?;
        let context = nothing_said(home.user_context(&directory.id), &self.redactor)?;
        let people = People {
            approver: self.discretion.approver(&context),
            session: directory.id.clone(),
            desk: desk.desk(),
            grants,
            patience: self.wait.patience(home, self.at_terminal),
            timeout: self.timeout,
            grace: FORWARD_GRACE,
        };
        let mut judge = self.judge;
        // SECURITY: computed from what holds them here, whatever the opener thought of.
        judge.bounds.servers = self.servers.traits(self.held.confinement);
        let (judge, log) = (Arc::new(judge), Arc::new(log));
        read_ahead(&judge, &self.witness);
        let premises = Premises {
            servers: self.servers,
            judge: Arc::clone(&judge),
            log: Arc::clone(&log),
            clock: Arc::new(SystemClock),
            resolver: Arc::new(SystemResolver::new()),
            launcher: self.launcher,
            confinement: self.held.confinement,
            pins: PinsFile::of(home),
            private: directory.servers(),
            installed: home.installed_servers(),
            locks: home.locks(),
            variables: self.variables,
            keyring: self.keyring,
            certificates: self.certificates,
            shown: self.shown,
            packages: self.packages,
            witness: Arc::clone(&self.witness),
        };
        let setup = Setup {
            judge,
            backends: premises.open()?,
            log: Arc::clone(&log),
            redactor: Arc::clone(&self.redactor),
            clock: Arc::new(SystemClock),
            locks: home.locks(),
            run: run_id()?,
            people,
            witness: self.witness,
        };
        let broker = setup.build()?;
        let identity = Identity::of(&directory, description.kind);
        tracing::info!(session = %identity.id, kind = identity.kind.as_str(), "opened");
        Ok(Ground { identity, directory, broker, log, desk, redactor: self.redactor, context })
    }

    /// Returns what calls the user, if they want to be called.
    fn notifier(&self) -> Option<Notifier> {
        let program = self.notify.clone()?;
        Some(Notifier {
            program,
            launcher: self.launcher.clone(),
            redactor: Arc::clone(&self.redactor),
            witness: Arc::clone(&self.witness),
            directory: self.home.escalations(&self.directory.id),
            session: self.directory.id.clone(),
            name: self.directory.name.clone(),
        })
    }

    /// Returns what the log says first about this run of the session.
    fn event(&self) -> Object {
        let mut event = Object::new();
        event.insert("event", "opened");
        event.insert("kind", self.description.kind.as_str());
        event.insert("name", self.directory.name.as_str());
        event.insert("agent", self.description.agent);
        event.insert("version", env!("CARGO_PKG_VERSION"));
        event.insert("policy", self.policy);
        event.insert("policyHash", self.judge.policy.hash().to_string());
        if let Some(sandbox) = &self.judge.bounds.sandbox {
            event.insert("sandbox", sandbox.path.to_string());
            event.insert("sandboxKind", sandbox.kind.as_str());
        }
        event.insert("confinement", self.held.confinement.to_string());
        event.insert("confinementMode", self.held.mode);
        let unconfined = self.held.exceptions.iter().map(|it| Json::from(it.as_str()));
        event.insert("unconfined", unconfined.collect::<Vec<_>>());
        let servers = self.servers.iter().map(|(name, _)| Json::from(name.as_str()));
        event.insert("servers", servers.collect::<Vec<_>>());
        event
    }
}

/// Starts without a message; the file at `path` never shows a key of ours.
fn nothing_said(path: PathBuf, redactor: &Arc<Redactor>) -> Result<Arc<UserContext>, FileError> {
    let redactor = Arc::clone(redactor);
    Ok(Arc::new(UserContext::open(path, move |text| redactor.mask_own_keys(text))?))
}

impl Discretion {
    fn approver(self, context: &Arc<UserContext>) -> Option<Approver> {
        let Self { is_literal, judge, home } = self;
        let context = Arc::clone(context);
        (is_literal || judge.is_some()).then_some(Approver { context, is_literal, judge, home })
    }
}

impl Ground {
    /// Ends a session that was opened and that nothing was made of.
    pub async fn close(self) -> Result<(), AuditError> {
        let Self { broker, log, desk, .. } = self;
        Owned { desk, broker, log, tasks: TaskTracker::new() }.end().await
    }
}

impl std::fmt::Debug for Opening<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opening").field("directory", &self.directory).finish_non_exhaustive()
    }
}

/// Begins to read what repositories in and around the workspace name and hold, while a client says hello.
fn read_ahead(judge: &Arc<Judge>, witness: &Arc<dyn Witness>) {
    let (ahead, witness) = (Ahead::begin(judge), Arc::clone(witness));
    let reading = std::thread::Builder::new().name("ahead".to_owned()).spawn(move || {
        for directory in ahead.read() {
            witness.notice(&format!(
                "there is more in `{directory}`, or in the history of its repository, than IronCurtain reads to find \
                 out what your programs run: every change there needs approval"
            ));
        }
    });
    // Without a thread the first call that needs it reads it.
    if let Err(error) = reading {
        tracing::warn!(%error, "cannot read repositories ahead");
    }
}

/// Returns what tells the requests of this run from those of earlier ones.
fn run_id() -> Result<String, OpenError> {
    let chance = random::bytes::<4>().map_err(OpenError::NoChance)?;
    Ok(format!("{:08x}", u32::from_be_bytes(chance)))
}
