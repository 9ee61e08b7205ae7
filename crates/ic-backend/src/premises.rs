//! The servers of a session, put together from its entries: none of them is started.
//!
//! Everything that they need is handed in; no file is looked for here.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use ic_audit::AuditLog;
use ic_confine::{Confinement, Launcher};
use ic_egress::{Egress, Resolve};
use ic_home::{Clock, file};
use ic_inventory::pins::{PinsFile, RememberedPins};
use ic_inventory::servers_file::ServersFile;
use ic_judge::Judge;
use ic_policy::SandboxKind;
use ic_types::{AbsolutePath, CanonicalPath, ServerName};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::aids::{Keyring, Lender};
use crate::backend::Backend;
use crate::launch::{Lent, Recipe};
use crate::ledger::LogLedger;
use crate::levels::Levels;
use crate::package_door::PackageDoor;
use crate::planted::last_look::NotOpened;
use crate::roots;
use crate::server::{Raised, Server, ServerNews, Warden, Yard};
use crate::witness::Witness;

/// What servers planted is kept in this directory of the session.
const QUARANTINE: &str = "quarantine";
/// How many news of servers wait to be dealt with.
const NEWS_MAX: usize = 1024;
/// How much of what servers ask of clients waits to be taken in.
const PETITIONS_MAX: usize = 64;
/// How many servers run at once that were started for one call; further calls wait.
const ERRANDS_MAX: usize = 8;

/// What the servers of a session are made of.
pub struct Premises {
    /// The servers.
    pub servers: ServersFile,
    /// Who decides.
    pub judge: Arc<Judge>,
    /// The record.
    pub log: Arc<AuditLog>,
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
    /// What the settings show to agents and their commands, read-only.
    pub shown: Vec<AbsolutePath>,
    /// The door to package registries, if the settings open one for commands.
    pub packages: Option<Arc<dyn PackageDoor>>,
    /// The observer that is to know what happens.
    pub witness: Arc<dyn Witness>,
}

/// The servers of a session, and what is heard of them.
#[derive(Debug)]
pub struct Backends {
    /// The servers, by name.
    pub servers: BTreeMap<ServerName, Arc<dyn Backend>>,
    /// How much of what servers log clients want to hear.
    pub levels: Arc<Levels>,
    /// What happens to them besides calls.
    pub news: mpsc::Receiver<(ServerName, ServerNews)>,
    /// Their own words: apart, so that one that talks too much drowns nobody's news.
    pub words: mpsc::Receiver<(ServerName, ServerNews)>,
    /// What they ask of clients.
    pub raised: mpsc::Receiver<Raised>,
    /// What runs for them.
    pub tasks: TaskTracker,
    /// Ends them.
    pub stop: CancellationToken,
}

impl Backends {
    /// Takes servers of which nothing is heard besides calls.
    pub fn silent(servers: impl IntoIterator<Item = Arc<dyn Backend>>) -> Self {
        let servers = servers.into_iter().map(|server| (server.name().clone(), server)).collect();
        let ((_, news), (_, words), (_, raised)) =
            (mpsc::channel(1), mpsc::channel(1), mpsc::channel(1));
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        Self { servers, levels: Levels::new(tasks.clone()), news, words, raised, tasks, stop }
    }
}

impl Premises {
    /// Puts the servers together; must be called within the runtime that they are to live in.
    pub fn open(self) -> Result<Backends, NotOpened> {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let (tell, news) = mpsc::channel(NEWS_MAX);
        let (speak, words) = mpsc::channel(NEWS_MAX);
        let (petition, raised) = mpsc::channel(PETITIONS_MAX);
        let levels = Levels::new(tasks.clone());
        let ledger = Arc::new(LogLedger::new(Arc::clone(&self.log)));
        let quarantine = self.private.with_file_name(QUARANTINE);
        let of_session = (Arc::clone(&self.judge), Arc::clone(&self.log));
        let warden = Warden::new(of_session, Arc::clone(&self.witness), (quarantine, self.locks));
        warden.take_left()?;
        let yard = Arc::new(Yard {
            warden,
            egress: Egress::new(self.resolver, ledger, tasks.clone()),
            lender: Arc::new(Lender::new(self.keyring, self.launcher.clone())),
            log: self.log,
            launcher: self.launcher,
            pins: RememberedPins::new(self.pins),
            clock: self.clock,
            roots: roots::of_session(&self.judge, &self.servers),
            news: tell,
            words: speak,
            petitions: petition,
            levels: Arc::clone(&levels),
            tasks: tasks.clone(),
            errands: Arc::new(Semaphore::new(ERRANDS_MAX)),
            stop: stop.clone(),
        });
        let mut servers: BTreeMap<ServerName, Arc<dyn Backend>> = BTreeMap::new();
        for (name, config) in self.servers.iter() {
            let private = self.private.join(name.as_str());
            file::create_dir(&private)?;
            let installed = self.installed.join(name.as_str());
            let lent = lent(&self.judge, (private, installed), &self.variables);
            let recipe = Recipe {
                name: name.clone(),
                config: config.clone(),
                lent: Lent {
                    certificates: self.certificates.clone(),
                    shown: self.shown.clone(),
                    packages: self.packages.clone(),
                    ..lent
                },
                judge: Arc::clone(&self.judge),
                confinement: self.confinement,
            };
            servers.insert(name.clone(), Server::new(recipe, Arc::clone(&yard)));
        }
        Ok(Backends { servers, levels, news, words, raised, tasks, stop })
    }
}

impl std::fmt::Debug for Premises {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Premises").finish_non_exhaustive()
    }
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
        shown: Vec::new(),
        packages: None,
    }
}
