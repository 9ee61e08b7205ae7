//! Opens a session of any kind: configuration, cage and policy, then its ground.
//!
//! What the session then does is not known here, and nothing is printed: what a person should be told first
//! is in its [`Header`].

use std::path::Path;
use std::sync::Arc;

use ic_audit::{Redactor, SyncMode};
use ic_backend::{Keyring, Witness, launch};
use ic_confine::{ChildSpec, Launcher};
use ic_home::config::{ApiKeys, AuditSync, Config, ConfigFile, Layers};
use ic_home::{Environment, Home};
use ic_inventory::servers_file::{PathKey, ServersFile};
use ic_mitm::{Packages, RealKey};
use ic_policy::SandboxKind;
use ic_resolve::RealDisk;
use ic_resolve::path::{self, Last};
use ic_session::{
    AtTerminal, Description, Discretion, FastJudge, Ground, Held, OpenError, Opening,
    SessionDirectory, SessionKind, Wait,
};
use ic_store::{Metadata, Sessions};
use ic_types::{AbsolutePath, CanonicalPath, Secret, SessionName};

use crate::fault::Fault;
use crate::holding::Holding;
use crate::notify;
use crate::thinker;
use ic_escalation::IntentJudge;

use crate::packages;
use crate::policy::{As, Loaded, NoSandbox, Wanted};
use crate::workspace::Grounds;

/// In whose name it is asked where there is no agent of others.
const SHELL: &str = "shell";

/// What session is wanted.
#[derive(Debug)]
pub struct SessionWanted<'a> {
    /// The policy and its surroundings.
    pub wanted: Wanted,
    /// What people are to call it.
    pub name: Option<SessionName>,
    /// What the session's own sandbox is, if it works in that.
    pub own_sandbox: SandboxKind,
    /// What it is about, if a person says so.
    pub about: Option<&'a str>,
    /// The session that is to go on, if it is no new one.
    pub resumed: Option<Metadata>,
    /// What kind of session it is.
    pub kind: SessionKind,
    /// Who acts in it.
    pub agent: &'a str,
    /// What the agent calls the sandbox, if it is in a container.
    pub seen_as: Option<&'static str>,
    /// What it is started for.
    pub task: Option<&'a str>,
    /// Whether calls wait for a person who is not there.
    pub wait: Wait,
    /// The person who is asked at the terminal of this session, if it has one.
    pub at_terminal: AtTerminal,
}

/// A session that is open, and what it was opened with.
#[derive(Debug)]
pub struct Opened {
    /// The home that it is kept in.
    pub home: Home,
    /// What a person is told about it first.
    pub header: Header,
    /// What it stands on.
    pub ground: Ground,
    /// What starts processes.
    pub launcher: Launcher,
    /// What holds them.
    pub holding: Holding,
    /// The configuration in force, without its keys.
    pub config: Config,
    /// The directory in which the agent is free.
    pub sandbox: String,
    /// What keeps keys out of what is written down.
    pub redactor: Arc<Redactor>,
    /// The directory of a project, whose notes the model is told; a session's own sandbox has none.
    pub project: Option<AbsolutePath>,
    /// The door to package registries, if the settings want one.
    pub packages: Option<Arc<Packages>>,
}

/// What a person is told about a session first; parts of it are words of strangers.
#[derive(Clone, Debug)]
pub struct Header {
    /// What is odd about its policy.
    pub warnings: Vec<String>,
    /// Which session this is, what is free in it, and what it does not protect against.
    pub lines: Vec<String>,
}

/// What this machine and its configuration give to a session.
struct Surroundings {
    home: Home,
    config: Config,
    launcher: Launcher,
    holding: Holding,
}

impl SessionWanted<'_> {
    /// Opens the session; `launcher` starts its processes, and `witness` is made once it has a directory.
    pub async fn open<W>(
        self,
        launcher: Launcher,
        witness: W,
        environment: &Environment,
    ) -> Result<Opened, Fault>
    where
        W: FnOnce(&SessionDirectory) -> Result<Arc<dyn Witness>, Fault>,
    {
        let surroundings = Surroundings::find(launcher, environment).await?;
        let directory = self.directory(&surroundings.home)?;
        let opened = self.open_at(&directory, surroundings, witness, environment);
        if opened.is_err() {
            directory.discard();
        }
        opened
    }

    fn open_at<W>(
        mut self,
        directory: &SessionDirectory,
        surroundings: Surroundings,
        witness: W,
        environment: &Environment,
    ) -> Result<Opened, Fault>
    where
        W: FnOnce(&SessionDirectory) -> Result<Arc<dyn Witness>, Fault>,
    {
        let Surroundings { home, mut config, launcher, holding } = surroundings;
        if self.wanted.sandbox.is_none() {
            let sandbox = environment.absolute(&directory.sandbox())?;
            self.wanted.sandbox = Some((sandbox, self.own_sandbox));
        }
        let how = As { held: holding.confinement, ..As::IS };
        let mut loaded = Loaded::load_as(&self.wanted, NoSandbox::None, how, environment)?;
        self.refuse_orders_of_agents(&loaded, &home, environment)?;
        loaded.judge.earlier = Grounds::directories(&home)?;
        loaded.judge.seen_as = self.seen_as;
        loaded.roots.remember(&loaded.origin, &home)?;
        self.check_and_remember_ground(&loaded, &home, environment)?;
        loaded.keep(&home)?;
        let lines = header_lines(directory, &loaded, &holding, &home);
        let mut header = Header { warnings: loaded.warnings.clone(), lines };
        let project = project(&self.wanted);
        let asked =
            loaded.servers.iter().flat_map(|(_, server)| launch::variables_asked_for(server));
        let discretion = discretion(&config, &home, environment, &mut header);
        let sandbox = loaded.sandbox();
        let variables = environment.server_variables(asked);
        let redactor = redactor(&mut config, &loaded, &variables);
        let notify = notifier(&config, &loaded, environment, &mut header.warnings);
        let door = packages::Door::find(&config, directory, &home, &mut header);
        let opening = Opening {
            home: &home,
            witness: witness(directory)?,
            description: self.description(),
            directory: directory.clone(),
            policy: &loaded.origin,
            named_policy: self.wanted.policy.as_ref().map(|_| loaded.found.to_word()),
            held: held(&holding, &loaded),
            redactor: Arc::clone(&redactor),
            sync: sync_mode(config.audit_sync),
            record_bytes_max: config.audit_mib_max << 20,
            launcher: launcher.clone(),
            variables,
            keyring: Keyring {
                environment: environment.user_variables(),
                home: environment.home().ok(),
                agent: environment.ssh_agent(),
            },
            certificates: environment.certificates(),
            shown: config.agent_shown.clone(),
            packages: door.as_ref().map(|it| Arc::clone(&it.closed) as _),
            judge: loaded.judge,
            discretion,
            servers: loaded.servers,
            wait: self.wait,
            at_terminal: self.at_terminal.clone(),
            timeout: config.escalation_timeout,
            notify,
        };
        let ground = opening.open()?;
        let asker = if self.kind == SessionKind::Agent { self.agent } else { SHELL };
        let packages =
            door.and_then(|it| it.open((&config, environment), &ground, asker, &mut header));
        header.lines.push(self.wait.header(&home, &self.at_terminal)?.to_owned());
        Ok(Opened {
            home,
            header,
            ground,
            launcher,
            holding,
            config,
            sandbox,
            redactor,
            project,
            packages,
        })
    }

    fn description(&self) -> Description<'_> {
        Description {
            kind: self.kind,
            agent: self.agent,
            about: self.about,
            task: self.task,
            workspace: workspace(&self.wanted),
        }
    }

    /// Refuses a policy or servers that are named now, and that an agent of an earlier session could change.
    ///
    /// The policy that the configuration names is protected in every session.
    fn refuse_orders_of_agents(
        &self,
        loaded: &Loaded,
        home: &Home,
        environment: &Environment,
    ) -> Result<(), Fault> {
        if let Some(directory) = loaded.found.directory().filter(|_| self.wanted.policy.is_some()) {
            Grounds::refuse("policy", directory, home)?;
        }
        match &self.wanted.servers {
            Some(file) => Grounds::refuse("servers file", &environment.absolute(file)?, home),
            None => Ok(()),
        }
    }

    /// Refuses a sandbox that an agent's link chose, whether it is named now or was when the session began.
    fn check_and_remember_ground(
        &self,
        loaded: &Loaded,
        home: &Home,
        environment: &Environment,
    ) -> Result<(), Fault> {
        let sandbox = loaded.judge.bounds.sandbox.as_ref().map(|it| &it.path);
        if let Some((named, SandboxKind::Workspace)) = &self.wanted.sandbox
            && sandbox != Some(&Grounds::lead(named, home)?)
        {
            let named = named.as_path().display();
            return Err(Fault::request(format!("`{named}` became another directory just now"))
                .with_hint("try again; if it happens again, something moves it"));
        }
        let mut written = loaded.judge.policy.written_directories(&[]);
        written.extend(lent_directories(&loaded.servers, environment));
        Grounds::remember(sandbox.into_iter().chain(&written), home)
    }

    /// Finds the session that is to be continued, or makes a new one.
    fn directory(&self, home: &Home) -> Result<SessionDirectory, Fault> {
        if let Some(resumed) = &self.resumed {
            return Ok(SessionDirectory::take_up(home, resumed).map_err(OpenError::from)?);
        }
        // A proxy goes on with the session of its name.
        if let (Some(name), SessionKind::Proxy) = (&self.name, self.kind) {
            let named = Sessions::of(home).named(name)?;
            let is_proxy = |it: &Metadata| SessionKind::of(&it.kind) == Some(SessionKind::Proxy);
            if let Some(named) = named.filter(is_proxy) {
                return Ok(SessionDirectory::take_up(home, &named).map_err(OpenError::from)?);
            }
        }
        Ok(SessionDirectory::create(home, self.name.as_ref(), self.kind, self.agent)
            .map_err(OpenError::from)?)
    }
}

/// Returns the directories that servers may write by their entries, beside the session's own.
fn lent_directories(servers: &ServersFile, environment: &Environment) -> Vec<CanonicalPath> {
    let paths = servers.iter().flat_map(|(_, server)| &server.cage.paths);
    let written = paths.filter(|it| it.key == PathKey::AllowWrite);
    // A name with a variable in it is the session's own, or an error when the server starts.
    let named = written.filter(|it| it.text.starts_with(['/', '~']));
    let named = named.filter_map(|it| environment.absolute(Path::new(&it.text)).ok());
    named.filter_map(|it| Some(path::follow(&RealDisk, &it, Last::Follow).ok()?.path)).collect()
}

/// Returns what hides every key of the session in what is written down; takes them out of the configuration.
fn redactor(config: &mut Config, loaded: &Loaded, variables: &[(String, String)]) -> Arc<Redactor> {
    let keys = taken(&mut config.api_keys).into_iter().flatten();
    let keys = keys.chain(login_tokens(config));
    let keys = keys.chain(config.agent.api_keys.values().cloned());
    let headers = loaded.servers.iter();
    let headers = headers.flat_map(|(_, server)| launch::secrets_of(server, variables));
    let redactor = Arc::new(Redactor::new(keys.chain(headers)));
    ic_trace::hide(&redactor);
    redactor
}

fn held(holding: &Holding, loaded: &Loaded) -> Held {
    Held {
        confinement: holding.confinement,
        mode: holding.mode_name(),
        exceptions: exceptions(holding, loaded),
    }
}

/// Takes the keys out of the configuration: nobody but the redactor needs them here.
fn taken(keys: &mut ApiKeys) -> [Option<Arc<Secret<String>>>; 4] {
    let ApiKeys { anthropic, openai, google, openai_compatible } = keys;
    [anthropic.take(), openai.take(), google.take(), openai_compatible.take()]
}

/// Returns the logins of agents that are tokens, and not paths of files that hold one.
fn login_tokens(config: &Config) -> Vec<Arc<Secret<String>>> {
    let logins = config.agent.logins.values();
    let tokens = logins.filter(|it| RealKey::new(Arc::clone(it)).as_path().is_none());
    tokens.cloned().collect()
}

/// Returns the program that calls the user, if there is one; why it is not run is a warning.
fn notifier(
    config: &Config,
    loaded: &Loaded,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Option<ChildSpec> {
    let command = config.notify_command.as_ref()?;
    let program = notify::program(command, &loaded.judge, environment);
    program.map_err(|warning| warnings.push(warning)).ok()
}

/// Returns what may approve because the person's own message asks for it, and says so.
fn discretion(
    config: &Config,
    home: &Home,
    environment: &Environment,
    header: &mut Header,
) -> Discretion {
    let is_literal = config.auto_approve_literal;
    let client = config
        .auto_approve
        .then(|| thinker::client(config.fast_model.clone(), config, home, environment));
    let judge: Option<Arc<dyn IntentJudge>> = match client {
        None => None,
        Some(Ok(client)) => Some(Arc::new(FastJudge::new(Arc::new(client)))),
        Some(Err(fault)) => {
            header.warnings.push(format!(
                "the auto-approver cannot ask {}, so it approves nothing by itself: {fault}",
                config.fast_model
            ));
            None
        }
    };
    let by = match (&judge, is_literal) {
        (Some(_), _) => Some(config.fast_model.to_string()),
        (None, true) => Some("literal requests only".to_owned()),
        (None, false) => None,
    };
    header.lines.extend(by.map(|by| {
        format!("auto-approver: on ({by}); calls that your own message asks for may go ahead without asking")
    }));
    let home = environment.home().ok().map(|it| it.as_path().display().to_string());
    Discretion { is_literal, judge, home }
}

fn exceptions(holding: &Holding, loaded: &Loaded) -> Vec<String> {
    holding.exceptions(&loaded.servers).into_iter().map(str::to_owned).collect()
}

impl Surroundings {
    /// Finds out what there is; refuses where servers have to be held and cannot be.
    async fn find(launcher: Launcher, environment: &Environment) -> Result<Self, Fault> {
        let home = Home::new(environment.ironcurtain_home()?);
        home.prepare()?;
        let config_file = ConfigFile::read(&home)?;
        let config = Config::load(&Layers { flags: &[], environment, file: &config_file })?;
        let holding =
            Holding::try_rungs(config.confinement, &launcher, &home).await?.or_refuse()?;
        Ok(Self { home, config, launcher, holding })
    }
}

/// Says which session this is, and what it does not protect against.
fn header_lines(
    directory: &SessionDirectory,
    loaded: &Loaded,
    holding: &Holding,
    home: &Home,
) -> Vec<String> {
    let sandbox = loaded.sandbox();
    let what = match loaded.judge.bounds.sandbox.as_ref().map(|it| it.kind) {
        Some(SandboxKind::Workspace) => "workspace",
        Some(SandboxKind::Session | SandboxKind::Filled) | None => "sandbox",
    };
    let session = format!("session {} ({})", directory.id, directory.name);
    let policy = format!("policy {}, {what} {sandbox}", loaded.origin);
    // What is as it should be needs no line of its own.
    let mut lines = match holding.is_enforced() {
        true => {
            vec![format!("{session}, {}", holding.header()), policy, loaded.outline()]
        }
        false => vec![session, policy, loaded.outline(), holding.header()],
    };
    lines.extend(others_home(home));
    lines.extend(exceptions(holding, loaded).into_iter().map(|name| {
        format!(
            "server `{name}` is not confined, as its entry says: it runs with all of your rights"
        )
    }));
    lines
}

/// Warns if our own files are made among those of another user, as `sudo` does with a kept `HOME`.
fn others_home(home: &Home) -> Option<String> {
    let root = home.root();
    let above = root.parent()?;
    let owner = rustix::fs::stat(above).ok()?.st_uid;
    let us = rustix::process::geteuid().as_raw();
    (us == 0 && owner != us).then(|| {
        format!(
            "`{}` belongs to another user (uid {owner}), and this runs as root: files in `{}` will be \
             root's; set HOME or IRONCURTAIN_HOME, or run it as that user",
            above.display(),
            root.display()
        )
    })
}

fn workspace(wanted: &Wanted) -> Option<String> {
    project(wanted).map(|path| path.as_path().display().to_string())
}

/// Returns the directory in which the user works too, if there is one.
fn project(wanted: &Wanted) -> Option<AbsolutePath> {
    match &wanted.sandbox {
        // A filled one by its own directory: a session that goes on is filled still.
        Some((path, SandboxKind::Workspace | SandboxKind::Filled)) => Some(path.clone()),
        Some((_, SandboxKind::Session)) | None => None,
    }
}

fn sync_mode(wanted: AuditSync) -> SyncMode {
    match wanted {
        AuditSync::Group => SyncMode::Group,
        AuditSync::Each => SyncMode::Each,
    }
}
