//! Opens the session behind a proxy: its directory, its log, its broker.

use std::sync::Arc;
use std::time::Duration;

use ic_audit::{AuditKey, AuditLog, LogOptions, Redactor, SyncMode};
use ic_broker::client::{ClientInfo, Open};
use ic_broker::pins::PinsFile;
use ic_broker::{Broker, FORWARD_GRACE, People, Setup, launch};
use ic_confine::Launcher;
use ic_escalation::Grants;
use ic_home::config::{AuditSync, Config, ConfigFile, Layers};
use ic_home::{Environment, Home, SystemClock};
use ic_policy::SandboxKind;
use ic_resolve::path::Last;
use ic_resolve::{Kind, RealDisk};
use ic_types::{AbsolutePath, Json, Object, SessionName};

use super::desk::{OpenDesk, Wait};
use super::witness::StderrWitness;
use crate::error::Failure;
use crate::holding::Holding;
use crate::judge::{Loaded, NoSandbox, Wanted};
use crate::screen::Screen;
use crate::session::{Description, SessionDirectory};
use crate::trial::installed;

const KIND: &str = "proxy";

/// What is needed to open the session, once there is a client.
pub(super) struct Opener<'a> {
    pub(super) wanted: Wanted,
    pub(super) name: Option<SessionName>,
    pub(super) wait: Wait,
    /// Where the desk is left, to be closed at the end.
    pub(super) desk: &'a mut Option<OpenDesk>,
    pub(super) environment: &'a Environment,
    pub(super) screen: &'a mut Screen,
}

impl Open for Opener<'_> {
    type Error = Failure;

    async fn open(&mut self, client: &ClientInfo) -> Result<Arc<Broker>, Failure> {
        let environment = self.environment;
        let home = Home::new(environment.ironcurtain_home()?);
        home.prepare()?;
        let config_file = ConfigFile::read(&home)?;
        let config = Config::load(&Layers { flags: &[], environment, file: &config_file })?;
        let launcher = Launcher::this_program().map_err(|source| {
            Failure::environment("cannot find this program to start servers with")
                .with_source(source)
        })?;
        let holding =
            Holding::try_rungs(config.confinement, &launcher, &home).await?.or_refuse()?;
        let agent = client.name.as_deref().unwrap_or("mcp-client");
        let directory = self.directory(&home, agent)?;
        if self.wanted.sandbox.is_none() {
            let sandbox = environment.absolute(&directory.sandbox())?;
            self.wanted.sandbox = Some((sandbox, SandboxKind::Session));
        }
        let mut loaded = Loaded::load(&self.wanted, NoSandbox::None, environment, self.screen)?;
        holding.hold_loosely(&loaded.servers, &mut loaded.judge.bounds);
        directory.describe(&Description {
            kind: KIND,
            agent,
            workspace: workspace(&self.wanted),
        })?;

        let keys = config.api_keys;
        let keys = [keys.anthropic, keys.openai, keys.google].into_iter().flatten();
        let redactor = Arc::new(Redactor::new(keys));
        let opening = opening(&directory, &loaded, &holding, agent);
        let options = LogOptions {
            session: directory.id.clone(),
            key: AuditKey::read_or_create(&home.audit_key())?,
            redactor: Arc::clone(&redactor),
            clock: Arc::new(SystemClock),
            sync: match config.audit_sync {
                AuditSync::Group => SyncMode::Group,
                AuditSync::Each => SyncMode::Each,
            },
        };
        let log =
            AuditLog::open(directory.audit(), options, opening).map_err(in_use(&directory))?;
        self.say_hello(&directory, &loaded, &holding);
        self.screen.notice(&self.wait.header(&home)?);
        let people = self.people(&home, &directory, agent, config.escalation_timeout)?;
        let asked =
            loaded.servers.iter().flat_map(|(_, server)| launch::variables_asked_for(server));
        let setup = Setup {
            variables: environment.server_variables(asked),
            judge: loaded.judge,
            servers: loaded.servers,
            log,
            redactor,
            clock: Arc::new(SystemClock),
            launcher,
            confinement: holding.confinement,
            pins: PinsFile::of(&home),
            private: directory.servers(),
            installed: installed(&home),
            run: run_id()?,
            people,
            witness: Arc::new(StderrWitness::new(&directory.log())?),
        };
        Ok(setup.build()?)
    }
}

impl Opener<'_> {
    /// Finds the session that is to be continued, or makes a new one.
    fn directory(&self, home: &Home, agent: &str) -> Result<SessionDirectory, Failure> {
        if let Some(name) = &self.name
            && let Some(found) = SessionDirectory::find(home, name, KIND)?
        {
            return Ok(found);
        }
        SessionDirectory::create(home, self.name.as_ref(), agent)
    }

    /// Opens the desk, and says how people are asked at it.
    ///
    /// Only once the log is open: then no other process has the session, and a question that is
    /// found there is nobody's.
    fn people(
        &mut self,
        home: &Home,
        directory: &SessionDirectory,
        agent: &str,
        timeout: Duration,
    ) -> Result<People, Failure> {
        let grants = Grants::open(home.grants(&directory.id), directory.id.clone());
        let grants = grants.map_err(|source| {
            Failure::environment("cannot keep the grants of the session").with_source(source)
        })?;
        let desk = self.desk.insert(OpenDesk::open(home, directory, (KIND, agent))?);
        Ok(People {
            session: directory.id.clone(),
            desk: desk.desk(),
            grants,
            patience: self.wait.patience(home),
            timeout,
            grace: FORWARD_GRACE,
        })
    }

    /// Tells the person which session this is, and what it does not protect against.
    fn say_hello(&mut self, directory: &SessionDirectory, loaded: &Loaded, holding: &Holding) {
        let sandbox = loaded.judge.bounds.sandbox.as_ref();
        let sandbox = sandbox.map_or_else(String::new, |sandbox| sandbox.path.to_string());
        self.screen.notice(&format!("session {} ({})", directory.id, directory.name));
        self.screen.notice(&format!("policy {}, sandbox {sandbox}", loaded.origin));
        self.screen.notice(&holding.header());
        for name in holding.exceptions(&loaded.servers) {
            self.screen.notice(&format!(
                "server `{name}` is not confined, as its entry says: it runs with all of your rights"
            ));
        }
    }
}

/// Refuses a directory in which no agent should be free.
pub(super) fn check_directory(
    what: &str,
    path: &AbsolutePath,
    environment: &Environment,
) -> Result<(), Failure> {
    let follow = |path: &AbsolutePath| {
        ic_resolve::path::follow(&RealDisk, path, Last::Follow).map_err(|fault| {
            Failure::environment(format!("cannot resolve `{}`", path.as_path().display()))
                .with_source(fault)
        })
    };
    let refuse = |reason: &str| {
        Err(Failure::usage(format!(
            "`{}` cannot be the {what}: {reason}",
            path.as_path().display()
        ))
        .with_hint("name a directory that holds what the agent is to work on, and nothing else"))
    };
    let found = follow(path)?;
    match &found.entry {
        Some(entry) if entry.kind == Kind::Directory => {}
        Some(_) => return refuse("it is no directory"),
        None => return refuse("it does not exist"),
    }
    let (user, ours) = (environment.home()?, environment.ironcurtain_home()?);
    let (user, ours) = (follow(&user)?.path, follow(&ours)?.path);
    let is_top = found.path.as_path().parent().is_none();
    // Homes of others lie beside the user's own.
    let is_home = user.is_within(&found.path)
        || user.as_path().parent() == found.path.as_path().parent()
            && user != found.path
            && is_home_like(&user);
    match () {
        () if is_top => refuse("it is everything"),
        () if is_home => refuse("it is a home directory, or holds one"),
        () if ours.is_within(&found.path) => refuse("it holds the IronCurtain home"),
        () if found.path.is_within(&ours) => refuse("it lies in the IronCurtain home"),
        () => Ok(()),
    }
}

/// Returns whether directories beside `home` are homes too.
fn is_home_like(home: &ic_types::CanonicalPath) -> bool {
    home.as_path().parent() == Some(std::path::Path::new("/home"))
}

fn workspace(wanted: &Wanted) -> Option<String> {
    match &wanted.sandbox {
        Some((path, SandboxKind::Workspace)) => Some(path.as_path().display().to_string()),
        Some((_, SandboxKind::Session)) | None => None,
    }
}

/// Returns what the log says first about this run of the session.
fn opening(
    directory: &SessionDirectory,
    loaded: &Loaded,
    holding: &Holding,
    agent: &str,
) -> Object {
    let mut event = Object::new();
    event.insert("event", "opened");
    event.insert("kind", KIND);
    event.insert("name", directory.name.as_str());
    event.insert("agent", agent);
    event.insert("version", env!("CARGO_PKG_VERSION"));
    event.insert("policy", loaded.origin.as_str());
    event.insert("policyHash", loaded.judge.policy.hash().to_string());
    if let Some(sandbox) = &loaded.judge.bounds.sandbox {
        event.insert("sandbox", sandbox.path.to_string());
    }
    event.insert("confinement", holding.confinement.to_string());
    event.insert("confinementMode", holding.mode_name());
    let unconfined = holding.exceptions(&loaded.servers).into_iter().map(Json::from);
    event.insert("unconfined", unconfined.collect::<Vec<_>>());
    let servers = loaded.servers.iter().map(|(name, _)| Json::from(name.as_str()));
    event.insert("servers", servers.collect::<Vec<_>>());
    event
}

fn in_use(directory: &SessionDirectory) -> impl Fn(ic_audit::AuditError) -> Failure {
    let name = directory.name.clone();
    move |error| match error {
        ic_audit::AuditError::InUse(_) => {
            Failure::environment(format!("the session `{name}` is running already"))
                .with_hint("give this one another name with `--session NAME`")
        }
        other => other.into(),
    }
}

/// Returns what tells the requests of this run from those of earlier ones.
fn run_id() -> Result<String, Failure> {
    let chance = ic_home::random::bytes::<4>()
        .map_err(|source| Failure::environment("cannot start").with_source(source))?;
    Ok(format!("{:08x}", u32::from_be_bytes(chance)))
}
