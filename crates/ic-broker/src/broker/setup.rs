//! How a broker is put together.
//!
//! Everything it needs is handed in; no file is looked for here, and no server is started.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use ic_audit::{AuditLog, Redactor};
use ic_backend::aids::{Keyring, Lender};
use ic_backend::launch::{Lent, Recipe};
use ic_backend::ledger::LogLedger;
use ic_backend::levels::Levels;
use ic_backend::server::{Server, Warden, Yard};
use ic_backend::{Witness, roots};
use ic_confine::{Confinement, Launcher};
use ic_egress::{Egress, Resolve};
use ic_home::{Clock, FileError, file};
use ic_inventory::pins::{PinsFile, RememberedPins};
use ic_inventory::servers_file::ServersFile;
use ic_judge::Judge;
use ic_judge::method;
use ic_policy::SandboxKind;
use ic_types::{
    AbsolutePath, CanonicalPath, EscalationId, Json, Object, ServerName, Timestamp, ToolName,
};
use tokio::sync::{RwLock, Semaphore, broadcast, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::aside::Aside;
use super::catalog::Catalog;
use super::changing::Changing;
use super::lists::House;
use super::shelf::Shelf;
use super::{Broker, People, news, petitions};
use crate::breaker::Breaker;
use crate::questions::Questions;

/// What servers planted is kept in this directory of the session.
const QUARANTINE: &str = "quarantine";
/// How many news of servers wait to be dealt with.
const NEWS_MAX: usize = 1024;
/// How much of what servers ask of clients waits to be taken in.
const PETITIONS_MAX: usize = 64;
/// How many announcements a slow client may miss none of.
const ANNOUNCEMENTS_MAX: usize = 256;
/// How many servers run at once that were started for one call; further calls wait.
const ERRANDS_MAX: usize = 8;

/// What a broker is made of.
pub struct Setup {
    /// Who decides.
    pub judge: Judge,
    /// The servers.
    pub servers: ServersFile,
    /// The record.
    pub log: AuditLog,
    /// What hides our keys.
    pub redactor: Arc<Redactor>,
    /// What tells the time.
    pub clock: Arc<dyn Clock>,
    /// What finds the addresses of names, for connections that leave cages.
    pub resolver: Arc<dyn Resolve>,
    /// What starts processes.
    pub launcher: Launcher,
    /// What holds servers, unless their entries say otherwise.
    pub confinement: Confinement,
    /// Where trusted identities are kept.
    pub pins: PinsFile,
    /// The directory in which each server gets one of its own; it must exist.
    pub private: PathBuf,
    /// The directory in which each server that we installed has one of its own.
    pub installed: PathBuf,
    /// The directory of the locks that all sessions have in common.
    pub locks: PathBuf,
    /// What the `${ENV:NAME}` of the servers file stand for.
    pub variables: Vec<(String, String)>,
    /// Where the user's own credentials are, to be lent to calls that need them.
    pub keyring: Keyring,
    /// The file with the certificates that are trusted besides the system's.
    pub certificates: Option<AbsolutePath>,
    /// Keeps the requests of this run apart from those of earlier ones.
    pub run: String,
    /// How people are asked.
    pub people: People,
    /// Whoever is to know what happens.
    pub witness: Arc<dyn Witness>,
}

impl Setup {
    /// Makes the broker; must be called within the runtime that its servers are to live in.
    pub fn build(self) -> Result<Arc<Broker>, FileError> {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let (news, heard) = mpsc::channel(NEWS_MAX);
        let (words, written) = mpsc::channel(NEWS_MAX);
        let (petitioning, raised) = mpsc::channel(PETITIONS_MAX);
        let judge = Arc::new(self.judge);
        let roots = roots::of_session(&judge, &self.servers);
        let log = Arc::new(self.log);
        let ledger = Arc::new(LogLedger::new(Arc::clone(&log)));
        let levels = Levels::new(tasks.clone());
        let yard = Arc::new(Yard {
            warden: warden(&judge, &log, &self.witness, (&self.private, &self.locks)),
            egress: Egress::new(self.resolver, ledger, tasks.clone()),
            lender: Arc::new(Lender::new(self.keyring, self.launcher.clone())),
            log: Arc::clone(&log),
            launcher: self.launcher,
            pins: RememberedPins::new(self.pins),
            clock: Arc::clone(&self.clock),
            roots,
            news,
            words,
            petitions: petitioning,
            levels: Arc::clone(&levels),
            tasks: tasks.clone(),
            errands: Arc::new(Semaphore::new(ERRANDS_MAX)),
            stop: stop.clone(),
        });
        let mut servers = std::collections::BTreeMap::new();
        for (name, config) in self.servers.iter() {
            let private = self.private.join(name.as_str());
            file::create_dir(&private)?;
            let installed = self.installed.join(name.as_str());
            let lent = lent(&judge, (private, installed), &self.variables);
            let recipe = Recipe {
                name: name.clone(),
                config: config.clone(),
                lent: Lent { certificates: self.certificates.clone(), ..lent },
                judge: Arc::clone(&judge),
                confinement: self.confinement,
            };
            servers.insert(name.clone(), Server::new(recipe, Arc::clone(&yard)));
        }
        let changing = Changing::new(&judge, &self.locks)?;
        let (announcements, _) = broadcast::channel(ANNOUNCEMENTS_MAX);
        let house = House::new(&announcements, &self.witness, (&tasks, &stop));
        let broker = Arc::new(Broker {
            judge,
            log,
            aside: Aside::new(),
            clock: self.clock,
            redactor: self.redactor,
            shelf: Shelf::new(&servers, &house),
            servers,
            catalog: RwLock::new(Arc::new(Catalog::default())),
            last_list: Mutex::new(None),
            changing,
            breaker: Mutex::new(Breaker::default()),
            questions: Mutex::new(Questions::default()),
            people: self.people,
            announcements,
            levels,
            witness: self.witness,
            requests: AtomicU64::new(1),
            run: self.run,
            tasks: tasks.clone(),
            stop: stop.clone(),
        });
        tasks.spawn(news::deal(Arc::downgrade(&broker), heard, written, stop.clone()));
        tasks.spawn(petitions::take_in(Arc::downgrade(&broker), raised, stop));
        Ok(broker)
    }
}

/// Makes what looks after servers that may write where the host looks for what it executes.
fn warden(
    judge: &Arc<Judge>,
    log: &Arc<AuditLog>,
    witness: &Arc<dyn Witness>,
    (private, locks): (&Path, &Path),
) -> Warden {
    let places = (private.with_file_name(QUARANTINE), locks.to_owned());
    Warden::new((Arc::clone(judge), Arc::clone(log)), Arc::clone(witness), places)
}

fn lent(
    judge: &Judge,
    (private, installed): (PathBuf, PathBuf),
    variables: &[(String, String)],
) -> Lent {
    let sandbox = judge.bounds.sandbox.as_ref();
    let absolute = |path: &CanonicalPath| AbsolutePath::new(path.as_path()).ok();
    let directory = sandbox.and_then(|sandbox| absolute(&sandbox.path));
    let is_workspace = sandbox.is_some_and(|sandbox| sandbox.kind == SandboxKind::Workspace);
    Lent {
        workspace: directory.clone().filter(|_| is_workspace),
        // A session always has one; without it the server's own directory is the least it can have.
        sandbox: directory
            .or_else(|| AbsolutePath::new(&private).ok())
            .unwrap_or_else(|| judge.home.clone()),
        home: judge.home.clone(),
        private,
        installed,
        variables: variables.to_vec(),
        certificates: None,
    }
}

impl std::fmt::Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup").finish_non_exhaustive()
    }
}
