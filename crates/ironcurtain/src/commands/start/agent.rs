//! `start --agent A`: an agent of others in its cage or container, with the model gate and our tools.
//!
//! How the agent is run is known in `ic_adapter`, and how its session goes in `ic_session`.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ic_adapter::Adapter;
use ic_agent::Limits;
use ic_backend::{AgentCage, LogLedger};
use ic_confine::{Confinement, Rung};
use ic_egress::{Egress, SystemResolver};
use ic_home::config::{AgentBudget, BackendChoice, Config, ConfigFile, Layers};
use ic_home::{Environment, Home, Lock, file};
use ic_mitm::{AuditLedger, Earlier};
use ic_model::Cost;
use ic_opening::thinker::key;
use ic_opening::{Opened, SessionWanted};
use ic_session::{
    AgentParts, AgentSession, Attended as _, GateNews, LookFirst, News, Seat, SessionHandle as _,
    SessionKind,
};
use ic_store::Metadata;
use ic_types::{AbsolutePath, ModelId, Provider};
use std::io::{self, IsTerminal as _};
use tokio::runtime::Runtime;
use tokio_util::task::TaskTracker;

use super::conversation::Surroundings;
use super::held::{Held, Programs};
use super::interface::Interface;
use super::repository::{self, Came};
use super::{Attendance, Errand, attend, failed, interface, offer, open, resume, summarise};
use crate::agents::{self, InstalledAgent};
use crate::attached::holding::leave_terminal;
use crate::commands::Exit;
use crate::commands::config::home;
use crate::commands::mitm::{open_gate, way};
use crate::error::Failure;
use crate::ledger;
use crate::screen::{Screen, visible};
use crate::signals::Signals;
use crate::terminal::{Paint, Tty, create_recording, restore};

/// How much longer than a person's answer an agent waits for a call.
const CALL_MARGIN: Duration = Duration::from_mins(1);

/// For how many approvals, one after another, an agent waits for a script.
const SCRIPT_APPROVALS: u32 = 10;

/// The agent that is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) adapter: &'static dyn Adapter,
    pub(super) model: Option<&'a str>,
    /// Whether it is offered one tool that runs scripts, instead of all others.
    pub(super) is_code_mode: bool,
    /// Whether a script reads what is printed, so that nobody is asked.
    pub(super) is_scripted: bool,
    /// Whether the person is to be told of what may be wrong with the program.
    pub(super) is_told: bool,
    /// What is to hold it, if a person says so.
    pub(super) backend: Option<BackendChoice>,
}

/// The agent that is to run, found before anything is made.
#[derive(Debug)]
pub(super) struct Chosen {
    adapter: &'static dyn Adapter,
    installed: InstalledAgent,
    provider: Provider,
    model: Option<String>,
    is_code_mode: bool,
    backend: BackendChoice,
}

/// Returns the agent of others that is wanted, if one is: the one of a session that goes on stays.
pub(super) fn chosen(
    named: Option<&str>,
    resumed: Option<&Metadata>,
) -> Result<Option<&'static dyn Adapter>, Failure> {
    let named = named.filter(|name| *name != super::AGENT).map(agents::adapter).transpose()?;
    let Some(resumed) = resumed else { return Ok(named) };
    let kept = match SessionKind::of(&resumed.kind) {
        Some(SessionKind::Agent) => Some(agents::adapter(&resumed.agent)?),
        _ => None,
    };
    match (named, kept) {
        (Some(named), kept) if kept.is_none_or(|it| it.name() != named.name()) => {
            let (name, agent) = (&resumed.name, &resumed.agent);
            Err(Failure::usage(format!("the session `{name}` is one of the agent `{agent}`"))
                .with_hint("leave `--agent` out, or start a new session"))
        }
        (_, kept) => Ok(kept),
    }
}

impl Chosen {
    /// Returns the name of the agent.
    pub(super) fn name(&self) -> &'static str {
        self.adapter.name()
    }

    /// Finds the program of the agent, its model and the key for that; `None` if the person does not want to
    /// install a program that is missing.
    pub(super) fn find(
        wanted: &Wanted<'_>,
        environment: &Environment,
        runtime: &Runtime,
        screen: &mut Screen,
    ) -> Result<Option<Self>, Failure> {
        let Wanted { adapter, model, is_code_mode, .. } = *wanted;
        let home = home(environment)?;
        let found = offer::installed(wanted, (&home, environment), runtime, screen)?;
        let Some(installed) = found else { return Ok(None) };
        if let Some(caution) = installed.caution(adapter).filter(|_| wanted.is_told) {
            screen.warning(&caution);
        }
        let providers = adapter.providers();
        let model = model.map(str::parse::<ModelId>).transpose();
        let model = model.map_err(|error| Failure::usage(format!("`--model`: {error}")))?;
        let config = config(&home, environment)?;
        let has_key = |it: &&Provider| key(&config.api_keys, **it).is_some();
        let provider = match &model {
            Some(model) => model.provider(),
            None => match providers.iter().find(has_key).or(providers.first()) {
                Some(provider) => *provider,
                None => return Err(Failure::environment("the agent has no provider")),
            },
        };
        if !providers.contains(&provider) {
            let usable: Vec<&str> = providers.iter().map(|it| it.as_str()).collect();
            return Err(Failure::usage(format!(
                "{} does not use models of `{provider}`",
                adapter.title()
            ))
            .with_hint(format!("it uses models of {}", usable.join(", "))));
        }
        let model = model.map(|it| it.model().to_owned());
        let backend = wanted.backend.unwrap_or(config.agent.backend);
        Ok(Some(Self { adapter, installed, provider, model, is_code_mode, backend }))
    }
}

pub(super) fn config(home: &Home, environment: &Environment) -> Result<Config, Failure> {
    let file = ConfigFile::read(home)?;
    Ok(Config::load(&Layers { flags: &[], environment, file: &file })?)
}

/// Runs the session.
pub(super) async fn run_session(
    errand: Errand<'_>,
    chosen: Chosen,
    mut session: SessionWanted<'_>,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let mut signals = Signals::listen()?.end_at_the_second_after(restore)?;
    // Where a script reads what stands at the terminal, nothing else is written between it.
    let terminal = Tty::find().filter(|_| !errand.json || !io::stdout().is_terminal());
    let line = if errand.is_pty { Some(leave_terminal()?) } else { None };
    // Before anything is made that could stand in its place.
    let recording = errand.record.map(record).transpose()?;
    // Whoever started us sits at a terminal, which is handed over once there is something to show.
    let line = line.map(|line| (line, Seat::default()));
    session.at_terminal = match &line {
        Some((_, seat)) => seat.at_terminal(),
        None => terminal.as_ref().map(Tty::at_terminal).unwrap_or_default(),
    };
    let is_resumed = session.resumed.is_some();
    let home = home(environment)?;
    home.prepare()?;
    let config = config(&home, environment)?;
    let _place = place(&home, config.agent.concurrent_sessions_max)?;
    let held = Held::find(chosen.backend, &config, (&home, environment), screen).await?;
    let place = held.place();
    session.seen_as = held.seen_as();
    let (news, opened) = open(session, environment, screen).await?;
    let surroundings = Surroundings::of(&opened, environment)?;
    let record = opened.ground.directory.audit().log;
    let sessions_max = opened.config.session.sessions_max;
    let adapter = chosen.adapter;
    let made =
        make((chosen, held), opened, (&config, environment), news, (is_resumed, screen)).await?;
    if let Some(url) = errand.repo {
        let paint = Paint::of_stderr(environment);
        let brought = repository::bring(url, &made, paint, &mut signals, screen).await;
        if !matches!(brought, Ok(Came::Cloned)) {
            let closed = made.close().await;
            summarise((made.news(), &made.info().id), &record, screen);
            brought?;
            closed.map_err(failed)?;
            return Ok(Exit::Cancelled);
        }
    }
    let attendance = Attendance { terminal, surroundings, home, sessions_max, record };
    if let Some((line, seat)) = line {
        let shown = Interface { adapter, place, task: errand.task, recording };
        let attended = (line, seat, attendance);
        return Box::pin(interface::attend(&made, shown, attended, signals, screen)).await;
    }
    Box::pin(attend(&made, errand, attendance, (environment, signals), screen)).await
}

/// Makes the file of a recording.
fn record(path: &Path) -> Result<OwnedFd, Failure> {
    create_recording(path).map_err(|source| {
        Failure::environment(format!("cannot record into `{}`", visible(&path.to_string_lossy())))
            .with_source(source)
            .with_hint("name a file that is not there yet")
    })
}

/// Takes one of the places for sessions of agents, which are counted across processes.
fn place(home: &Home, sessions_max: u64) -> Result<Lock, Failure> {
    file::create_dir(home.locks())?;
    for number in 0..sessions_max {
        if let Some(place) = Lock::try_acquire(home.agent_place(number))? {
            return Ok(place);
        }
    }
    Err(Failure::config(format!(
        "{sessions_max} sessions of agents are running already, which is as many as may run at a time"
    ))
    .with_hint("end one of them, or raise `agent.maxConcurrentSessions`"))
}

/// Makes the session of what was opened; what was opened is closed again if that does not work out.
async fn make(
    (chosen, held): (Chosen, Held),
    opened: Opened,
    (config, environment): (&Config, &Environment),
    news: Arc<News>,
    (is_resumed, screen): (bool, &mut Screen),
) -> Result<AgentSession, Failure> {
    let parts = parts((&chosen, held), &opened, is_resumed, (config, environment), &news);
    let (parts, told) = match parts {
        Ok(made) => made,
        Err(failure) => {
            // What went wrong first is what the person is told.
            opened.ground.close().await.ok();
            return Err(failure);
        }
    };
    let model = chosen.model.as_deref().unwrap_or("the agent's default model");
    screen.notice(&format!(
        "agent {} {}, {model} from {} through the model gate",
        chosen.adapter.title(),
        chosen.installed.version,
        chosen.provider
    ));
    for told in told {
        screen.notice(&told);
    }
    let found = resume::find(&opened, is_resumed, screen)?;
    AgentSession::open(opened.ground, news, parts, found).await.map_err(failed)
}

/// Puts together what the session needs besides its ground.
fn parts(
    (chosen, held): (&Chosen, Held),
    opened: &Opened,
    is_resumed: bool,
    (config, environment): (&Config, &Environment),
    news: &Arc<News>,
) -> Result<(AgentParts, Vec<String>), Failure> {
    let ground = &opened.ground;
    let connections = TaskTracker::new();
    let log = &ground.log;
    let ledger = Arc::new(LogLedger::new(Arc::clone(log)));
    let egress = Egress::new(Arc::new(SystemResolver::new()), ledger, connections.clone());
    let audited = Arc::new(AuditLedger::new(Arc::clone(log)));
    let gate_news = Arc::new(GateNews::new(audited, Arc::clone(news)));
    let look_first = Arc::new(LookFirst::default());
    let agent = chosen.adapter.name();
    let wanted = way::Wanted {
        provider: chosen.provider,
        agent: Some(agent),
        login: config.agent.logins.contains_key(agent).then_some(agent),
        earlier: earlier(opened, is_resumed, config)?,
        packages: opened.packages.clone(),
        before: Some(Arc::clone(&look_first) as _),
        config,
        environment,
    };
    let gate = open_gate(&wanted, &opened.home, &egress, Arc::clone(&gate_news) as _)?;
    let shown = ground.directory.orientation();
    file::create_dir(&shown)?;
    let certificate = shown.join("ca-cert.pem");
    file::replace(&certificate, gate.certificate().as_bytes())?;
    let budget = &config.agent.budget;
    let n_asked = if chosen.is_code_mode { SCRIPT_APPROVALS } else { 1 };
    let (program, bridge) = (chosen.installed.path()?, own_program()?);
    let workers = held.workers(opened, chosen.is_code_mode)?;
    let programs = Programs { name: agent, agent: &program, bridge: &bridge };
    let (backend, told) = held.make(opened, config, programs)?;
    let parts = AgentParts {
        adapter: chosen.adapter,
        program,
        bridge,
        backend,
        workers: (opened.launcher.clone(), workers),
        gate,
        gate_news,
        look_first,
        certificate,
        connections,
        model: chosen.model.clone(),
        shown: config.agent_shown.clone(),
        sandbox: opened.sandbox.clone(),
        limits: Limits {
            tokens_max: budget.tokens_max,
            duration_max: budget.duration_max,
            cost_max: budget.cost_usd_max.map(Cost::from_dollars),
            ..Limits::OFF
        },
        call_max: (config.escalation_timeout + CALL_MARGIN) * n_asked,
        is_code_mode: chosen.is_code_mode,
        locks: opened.home.locks(),
    };
    Ok((parts, told))
}

/// Returns what the session has used of its budget already.
fn earlier(opened: &Opened, is_resumed: bool, config: &Config) -> Result<Earlier, Failure> {
    let AgentBudget { tokens_max, duration_max, cost_usd_max } = &config.agent.budget;
    let is_limited = tokens_max.is_some() || duration_max.is_some() || cost_usd_max.is_some();
    if !is_resumed || !is_limited {
        return Ok(Earlier::nothing());
    }
    let record = opened.ground.directory.audit().log;
    ledger::earlier(&record).ok_or_else(|| {
        let shown = record.display();
        Failure::environment(format!("cannot read what the session has used from `{shown}`"))
            .with_hint("start a new session, or remove the limits in `agent.budget`")
    })
}

/// Returns what holds the agent; an agent is never run without a cage, whatever the settings say.
pub(super) fn rung(opened: &Opened) -> Result<Rung, Failure> {
    match opened.holding.confinement {
        Confinement::Cage(rung) if AgentCage::works_on(rung) => Ok(rung),
        Confinement::Cage(_) | Confinement::None => Err(Failure::environment(
            "an agent needs a cage with namespaces, and this machine or its settings allow none",
        )
        .with_hint(
            "`ironcurtain doctor` says how to allow them; `confinement` must not be `off`; or use `--backend docker`",
        )),
    }
}

/// Returns where this program is, which the agent's cage shows.
fn own_program() -> Result<AbsolutePath, Failure> {
    let unknown = |why: String| {
        Failure::environment(format!("cannot find this program to show it to the agent: {why}"))
    };
    let path = rustix::fs::readlink("/proc/self/exe", Vec::new());
    let path = path.map_err(|errno| unknown(errno.to_string()))?;
    let path = path.into_string().map_err(|error| unknown(error.to_string()))?;
    AbsolutePath::new(PathBuf::from(path)).map_err(|error| unknown(error.to_string()))
}
