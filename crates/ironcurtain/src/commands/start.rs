//! `ironcurtain start`: the built-in agent, or one of others, does a task under policy.
//!
//! With a task, one message, and the answer on standard output; without, a conversation. What the agent
//! does is shown on standard error as it happens; a call that needs a person is asked about there.

mod agent;
mod conversation;
mod greeting;
mod held;
mod here;
mod interface;
mod notes;
mod offer;
mod repository;
mod resume;

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ic_adapter::Adapter;
use ic_agent::Limits;
use ic_escalation::Message;
use ic_home::config::BackendChoice;
use ic_home::{Clock as _, Environment, Home, SystemClock};
use ic_model::ModelName;
use ic_opening::Thinker;
use ic_opening::policy::Wanted;
use ic_opening::workspace::workspace_at;
use ic_opening::{Fault, Opened, SessionWanted};
use ic_policy::SandboxKind;
use ic_session::{
    AtTerminal, Attended, BuiltIn, Journal, Mind, News, SessionDirectory, SessionError,
    SessionKind, Wait, Workbench,
};
use ic_store::Metadata;
use ic_types::{SessionId, SessionName};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::attached::Held;
use crate::commands::config::home;
use crate::commands::{Exit, agents};
use crate::error::Failure;
use crate::ledger::{Ledger, Since};
use crate::opening;
use crate::screen::Screen;
use crate::signals::Signals;
use crate::terminal::{Onlooker, Paint, Script, Seat, Tty, restore};

use self::conversation::Surroundings;
use self::repository::Came;

/// Who acts in such a session.
const AGENT: &str = "built-in";

/// Let an agent do a task under the policy, or talk with it
///
/// With TASK it prints the answer and ends; without it you talk with the agent, and `/help` lists the
/// commands. In a pipe each line is a message. Exits with 0 if it answered, with 3 if it answered but
/// a call needed approval and nobody was available, with 5 if the budget was used up, with 130 if it
/// was cancelled, and with 1 if it failed. Without a key the offline model is used, which understands
/// a few plain requests; ask it for `help`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct StartArgs {
    /// What the agent should do; without it, a conversation
    #[arg(value_name = "TASK")]
    task: Vec<String>,
    /// Agent to run instead of the built-in one, such as `claude-code`, in a cage
    ///
    /// It uses its own tools in the workspace, without network; what it does elsewhere goes through the
    /// policy. `--list-agents` shows which there are.
    #[arg(long, value_name = "A")]
    agent: Option<String>,
    /// What holds that agent: `cage`, or `docker` for a container of Docker or Podman
    ///
    /// Without it, `agent.backend` of the configuration, which is `cage`. In a container the agent has a root
    /// directory of its own (`docker.baseImage`), and its workspace is `/workspace`.
    #[arg(long, value_name = "B", value_parser = backend)]
    backend: Option<BackendChoice>,
    /// Offer the agent one tool that runs TypeScript, in which all tools are functions, instead of each tool
    ///
    /// Every call is judged as ever, and the list of tools takes far less of the model's context. The
    /// built-in agent always works like that.
    #[arg(long, requires = "agent")]
    code_mode: bool,
    /// List the agents and which are installed, then exit
    #[arg(long)]
    list_agents: bool,
    /// Directory of your own to work in; changing files that your tools run needs approval
    ///
    /// Without it the agent works in a new directory that is made for the session. At a terminal in a
    /// git working tree, IronCurtain asks which of the two you want.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Repository to clone into the new session's directory before the agent begins
    ///
    /// By https or ssh, with your own credentials, without submodules, LFS or hooks. Naming it approves
    /// this one clone, and nothing that the agent asks for later; what the policy denies stays denied.
    #[arg(long, value_name = "URL", conflicts_with_all = ["workspace", "is_continued", "resume"])]
    repo: Option<String>,
    /// Policy in force: `default`, `coding`, `readonly`, one of your own by name, or a directory
    ///
    /// Without it, the one that `ironcurtain policy use` chose, or the built-in `default`.
    #[arg(long, value_name = "NAME|DIR")]
    policy: Option<PathBuf>,
    /// Model to use: `provider:model`, a model of Anthropic, or `offline`
    ///
    /// Providers are `anthropic`, `openai`, `google` and `openai-compatible`. Without it, `agentModelId`
    /// of the configuration, or the offline model if there is no key at all.
    #[arg(long, value_name = "M")]
    model: Option<String>,
    /// Continue the last session
    #[arg(long = "continue", conflicts_with = "resume")]
    is_continued: bool,
    /// Continue this session, by id, name or the beginning of either
    #[arg(long, value_name = "S")]
    resume: Option<String>,
    /// Name of the session
    #[arg(long, value_name = "N", conflicts_with_all = ["is_continued", "resume"])]
    name: Option<String>,
    /// What the session is about, for `sessions list` and for you when you resume it
    #[arg(long, value_name = "D")]
    description: Option<String>,
    /// Show the agent's own full-screen interface at this terminal
    ///
    /// Everything that it does is judged as ever. The row at the bottom is IronCurtain's: it says when a call
    /// waits for approval, and Ctrl-] shows the question, whatever the agent draws. Ctrl-\ and then d leaves
    /// the session running, as does a terminal that is closed, and `ironcurtain attach` comes back to it.
    /// Ctrl-\ twice within a second ends the session. Without `--agent` it is the agent of `agent.default`. The exit code is
    /// the agent's. After `kill -9` the terminal may stay as it was; `reset` or `stty sane` help.
    #[arg(long, conflicts_with_all = ["json", "repo"])]
    pty: bool,
    /// Record what the agent's interface shows in a new file, as an asciicast, without secrets
    ///
    /// What you type is recorded as far as the agent shows it; questions are not in it.
    #[arg(long, value_name = "FILE", requires = "pty")]
    record: Option<PathBuf>,
    /// Let calls that need approval wait for an answer even if no approver is connected
    #[arg(long)]
    wait: bool,
    /// Print events and the answer for a script: one JSON object a line on standard output
    ///
    /// Each has `event`: `status` (`session`, `status`), `diagnostic` (`kind` and what belongs to it),
    /// `call` (`server`, `tool`, `outcome`, `reason`), `escalation_raised` (as in `approvals list
    /// --json`), `escalation_resolved` (`escalationId`, `ending`), `escalation_expired`
    /// (`escalationId`), `answer` (`text`), `budget` (`spent`). Errors go to standard error, and the exit code is the same as without it.
    #[arg(long, requires = "task")]
    json: bool,
    /// Whether this process is to hold the session while terminals come and go.
    #[arg(skip)]
    pub(crate) held: Option<Held>,
}

/// Runs the command.
pub(crate) fn run(
    args: &StartArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    if args.list_agents {
        agents::list(&home(environment)?, false, screen)?;
        return Ok(Exit::Success);
    }
    let task = args.task()?;
    if let Some(url) = &args.repo {
        repository::check(url)?;
    }
    let resumed = args.resumed(environment)?;
    let adapter = args.adapter(resumed.as_ref(), environment)?;
    let is_filled = resume::is_filled(resumed.as_ref(), environment)?;
    let workspace = match is_filled {
        true => args.workspace.clone(),
        false => resume::workspace(args.workspace.as_deref(), resumed.as_ref(), environment)?,
    };
    let runtime = runtime()?;
    let Some(actor) = Actor::choose(adapter, args, environment, &runtime, screen)? else {
        return Ok(Exit::Cancelled);
    };
    if task.is_none() && resumed.is_none() && actor.is_without_key() && args.held.is_none() {
        greeting::greet_once(environment, &runtime, screen)?;
    }
    let is_open = args.is_place_open(resumed.as_ref());
    let chosen = match is_open {
        false => here::Chosen::Sandbox,
        true => args.choose_place(environment, &runtime, screen)?,
    };
    let chosen = match chosen {
        here::Chosen::Here(directory) => Some(directory),
        here::Chosen::Sandbox => None,
        here::Chosen::Cancelled => return Ok(Exit::Cancelled),
    };
    if args.pty && args.held.is_none() {
        let held = if chosen.is_some() { Held::Here } else { Held::AsSaid };
        return interface::begin(held, environment, &runtime, screen);
    }
    let workspace = if is_open { chosen } else { workspace };
    let session = SessionWanted {
        wanted: Wanted {
            policy: args.policy.clone(),
            sandbox: workspace_at(workspace.as_deref(), environment)?,
            protected: Vec::new(),
            servers: None,
        },
        name: session_name(args.name.as_deref())?,
        own_sandbox: match args.repo.is_some() || is_filled {
            true => SandboxKind::Filled,
            false => SandboxKind::Session,
        },
        about: args.description.as_deref(),
        resumed,
        kind: actor.kind(),
        agent: actor.name(),
        seen_as: None,
        task: task.as_deref(),
        wait: if args.wait { Wait::ForAnybody } else { Wait::WhileAttended },
        at_terminal: AtTerminal::default(),
    };
    session.wanted.check(environment)?;
    let errand = args.errand(task.as_deref());
    let ended = match actor {
        Actor::BuiltIn(thinker) => {
            runtime.block_on(run_session(errand, thinker, session, environment, screen))
        }
        Actor::Other(chosen) => {
            runtime.block_on(agent::run_session(errand, *chosen, session, environment, screen))
        }
    };
    // A thread that waits for a name to be looked up must not keep us.
    runtime.shutdown_background();
    ended
}

/// Reads what is to hold an agent.
fn backend(text: &str) -> Result<BackendChoice, String> {
    BackendChoice::of(text).ok_or_else(|| "it is `cage` or `docker`".to_owned())
}

/// Who acts in the session.
#[derive(Debug)]
enum Actor {
    BuiltIn(Thinker),
    Other(Box<agent::Chosen>),
}

impl Actor {
    /// Finds what the agent needs, before anything is made; `None` if the person does not want to go on.
    fn choose(
        adapter: Option<&'static dyn Adapter>,
        args: &StartArgs,
        environment: &Environment,
        runtime: &Runtime,
        screen: &mut Screen,
    ) -> Result<Option<Self>, Failure> {
        let model = args.model.as_deref();
        let Some(adapter) = adapter else {
            if args.backend.is_some() {
                return Err(Failure::usage("`--backend` is for agents of others")
                    .with_hint("name one with `--agent`, such as `--agent claude-code`"));
            }
            return Ok(Some(Self::BuiltIn(Thinker::choose(model, environment)?)));
        };
        let wanted = agent::Wanted {
            adapter,
            model,
            is_code_mode: args.code_mode,
            is_scripted: args.json,
            is_told: args.held.is_none(),
            backend: args.backend,
        };
        let chosen = agent::Chosen::find(&wanted, environment, runtime, screen)?;
        Ok(chosen.map(|chosen| Self::Other(Box::new(chosen))))
    }

    fn is_without_key(&self) -> bool {
        matches!(self, Self::BuiltIn(thinker) if thinker.is_without_key)
    }

    fn kind(&self) -> SessionKind {
        match self {
            Self::BuiltIn(_) => SessionKind::BuiltIn,
            Self::Other(_) => SessionKind::Agent,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::BuiltIn(_) => AGENT,
            Self::Other(chosen) => chosen.name(),
        }
    }
}

/// What the session is for.
#[derive(Clone, Copy, Debug)]
struct Errand<'a> {
    /// The one message, if it is no conversation.
    task: Option<&'a str>,
    /// The repository to clone first.
    repo: Option<&'a str>,
    /// Whether a script reads what is printed.
    json: bool,
    /// Whether the agent's own interface is shown.
    is_pty: bool,
    /// The file in which that is recorded.
    record: Option<&'a Path>,
}

async fn run_session(
    errand: Errand<'_>,
    thinker: Thinker,
    mut session: SessionWanted<'_>,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let mut signals = Signals::listen()?.end_at_the_second_after(restore)?;
    // Where a script reads what stands at the terminal, nothing else is written between it.
    let terminal = Tty::find().filter(|_| !errand.json || !io::stdout().is_terminal());
    session.at_terminal = terminal.as_ref().map(Tty::at_terminal).unwrap_or_default();
    let is_resumed = session.resumed.is_some();
    let (news, opened) = open(session, environment, screen).await?;
    screen.notice(&thinker.said);
    let found = resume::find(&opened, is_resumed, screen)?;
    let (home, sessions_max) = (opened.home.clone(), opened.config.session.sessions_max);
    let limits = Limits::from(&opened.config.budget);
    let sandbox = opened.sandbox.clone();
    let record = opened.ground.directory.audit().log;
    let surroundings = Surroundings::of(&opened, environment)?;
    let workbench =
        Workbench::new(opened.ground, news, opened.launcher, opened.holding.confinement);
    if let Some(url) = errand.repo {
        let paint = Paint::of_stderr(environment);
        let brought = repository::bring(url, &workbench, paint, &mut signals, screen).await;
        if !matches!(brought, Ok(Came::Cloned)) {
            let closed = workbench.close().await;
            summarise((&workbench.news, &workbench.directory.id), &record, screen);
            brought?;
            closed.map_err(|source| failed(SessionError::CloseFailed(source)))?;
            return Ok(Exit::Cancelled);
        }
    }
    let Thinker { model, prices, .. } = thinker;
    let notes = match (model.name(), &opened.project) {
        // The offline model understands no notes.
        (ModelName::Offline, _) | (_, None) => Vec::new(),
        (ModelName::Provided(_), Some(project)) => notes::told(project, &workbench, screen),
    };
    let mind = Mind { model, prices, limits, sandbox, notes };
    let session = BuiltIn::open(workbench, mind, found).await.map_err(failed)?;
    let attendance = Attendance { terminal, surroundings, home, sessions_max, record };
    Box::pin(attend(&session, errand, attendance, (environment, signals), screen)).await
}

/// What a session is attended with.
struct Attendance {
    terminal: Option<Tty>,
    surroundings: Surroundings,
    home: Home,
    sessions_max: u64,
    record: PathBuf,
}

/// Sends the task or holds a conversation, ends the session, and says what it did.
async fn attend(
    session: &dyn Attended,
    errand: Errand<'_>,
    attendance: Attendance,
    (environment, mut signals): (&Environment, Signals),
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let Attendance { terminal, surroundings, home, sessions_max, record } = attendance;
    let Some(task) = errand.task else {
        let held = conversation::hold(session, surroundings, terminal, signals, screen).await;
        resume::make_room(&home, sessions_max, screen);
        return held;
    };
    let always = surroundings.always;
    let seat = Seat { terminal, environment, between: "thinking", always };
    let performed = perform(session, (task, errand.json), seat, &mut signals, screen).await;
    let closed = session.close().await;
    let (ended, showing) = performed?;
    let exit = report(ended, session.news().tally().unanswered, showing, screen);
    if errand.json {
        let closed = Script::of(session.info().id).status(session.info().status);
        screen.json(&closed.to_string())?;
    }
    summarise((session.news(), &session.info().id), &record, screen);
    name_continuing(session, screen);
    resume::make_room(&home, sessions_max, screen);
    closed.map_err(failed)?;
    exit
}

/// Sends the task, and lets the person look on.
async fn perform(
    session: &dyn Attended,
    (task, is_scripted): (&str, bool),
    seat: Seat<'_>,
    signals: &mut Signals,
    screen: &mut Screen,
) -> Result<(Result<String, SessionError>, Showing), Failure> {
    let cancel = CancellationToken::new();
    // The task is an argument of the command line, which is the person's own.
    session.note_typed(&Message::typed(task, SystemClock.now()));
    let sending = session.send_message(task, cancel.clone());
    let scene = (session.news(), session.questions());
    let mut onlooker = match is_scripted {
        true => Onlooker::scripted(scene, seat, Script::of(session.info().id), screen),
        false => Onlooker::new(scene, seat, screen)?,
    };
    let ended = onlooker.watch(sending, signals, &cancel).await;
    let showing = match is_scripted || onlooker.has_shown_answer() {
        true => Showing::Shown,
        false => Showing::ToBePrinted,
    };
    onlooker.deaf().map_or(Ok((ended, showing)), Err)
}

/// Whether an answer stands where it belongs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Showing {
    Shown,
    ToBePrinted,
}

impl StartArgs {
    /// Returns the task, whose words a shell may have taken apart.
    fn task(&self) -> Result<Option<String>, Failure> {
        let task = (!self.task.is_empty()).then(|| self.task.join(" "));
        if task.as_deref().is_some_and(|task| task.trim().is_empty()) {
            return Err(Failure::usage("the task is empty").with_hint("say what to do"));
        }
        Ok(task)
    }

    /// Returns what the session is for.
    fn errand<'a>(&'a self, task: Option<&'a str>) -> Errand<'a> {
        Errand {
            task,
            repo: self.repo.as_deref(),
            json: self.json,
            is_pty: self.pty,
            record: self.record.as_deref(),
        }
    }

    /// Finds out where the agent is to work if nothing says so; whoever holds a session asks nobody.
    fn choose_place(
        &self,
        environment: &Environment,
        runtime: &Runtime,
        screen: &mut Screen,
    ) -> Result<here::Chosen, Failure> {
        match self.held {
            Some(Held::AsSaid) => Ok(here::Chosen::Sandbox),
            Some(Held::Here) => here::directory(environment).map(here::Chosen::Here),
            None => here::choose(self.json, environment, runtime, screen),
        }
    }

    /// Returns whether nothing says where the agent is to work.
    fn is_place_open(&self, resumed: Option<&Metadata>) -> bool {
        self.workspace.is_none() && self.repo.is_none() && resumed.is_none()
    }

    /// Finds the agent of others that is wanted, if one is.
    fn adapter(
        &self,
        resumed: Option<&Metadata>,
        environment: &Environment,
    ) -> Result<Option<&'static dyn Adapter>, Failure> {
        let adapter = agent::chosen(self.agent.as_deref(), resumed)?;
        if !self.pty {
            return Ok(adapter);
        }
        let is_named = self.agent.is_some() || resumed.is_some();
        let config = agent::config(&home(environment)?, environment)?;
        interface::adapter(adapter, is_named, &config.agent.default).map(Some)
    }

    /// Finds the session that is to go on, if one is.
    fn resumed(&self, environment: &Environment) -> Result<Option<Metadata>, Failure> {
        let wanted = match (&self.resume, self.is_continued) {
            (Some(name), _) => resume::Wanted::Named(name),
            (None, true) => resume::Wanted::Last,
            (None, false) => return Ok(None),
        };
        wanted.find(environment).map(Some)
    }
}

/// Opens the session, and the news of what happens in it.
pub(super) async fn open(
    session: SessionWanted<'_>,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<(Arc<News>, Opened), Failure> {
    let mut news = None;
    let witness = |directory: &SessionDirectory| -> Result<Arc<dyn ic_backend::Witness>, Fault> {
        let made = Arc::new(News::new(Journal::open(&directory.log())?));
        news = Some(Arc::clone(&made));
        Ok(made)
    };
    let opened = opening::open(session, witness, environment, screen).await?;
    match news {
        Some(news) => Ok((news, opened)),
        None => Err(Failure::environment("the session was opened without a journal")),
    }
}

/// Makes the runtime that a session lives in.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| Failure::environment("cannot start").with_source(source))
}

/// Makes the name of a session of what was typed.
pub(super) fn session_name(name: Option<&str>) -> Result<Option<SessionName>, Failure> {
    let name = name.map(SessionName::of).transpose();
    name.map_err(|error| Failure::usage(error.to_string()))
}

/// Prints the answer, or says why there is none.
fn report(
    ended: Result<String, SessionError>,
    n_unanswered: u64,
    showing: Showing,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    match ended {
        Ok(answer) => {
            if showing == Showing::ToBePrinted {
                screen.strangers_text(&format!("{answer}\n"))?;
            }
            Ok(match n_unanswered {
                0 => Exit::Success,
                _ => Exit::NeedsApproval,
            })
        }
        Err(SessionError::Cancelled) => Ok(Exit::Cancelled),
        Err(
            error @ (SessionError::BudgetExhausted(_) | SessionError::SessionBudgetExhausted(_)),
        ) => {
            screen.warning(&error.to_string());
            if let Some(hint) = error.hint() {
                screen.notice(&hint);
            }
            Ok(Exit::BudgetExhausted)
        }
        Err(error) => Err(failed(error)),
    }
}

/// Says what the session did.
fn summarise((news, id): (&News, &SessionId), record: &Path, screen: &mut Screen) {
    let tally = news.tally();
    let ledger = Ledger::read(record, Since::TheLastOpening).unwrap_or_default();
    let (files, cost) = (ledger.files(), ledger.cost());
    screen.notice(&format!(
        "{tally}, {files}, {cost}; `ironcurtain audit show {id}` shows the record"
    ));
}

/// Says how to go on, if something was said.
fn name_continuing(session: &dyn Attended, screen: &mut Screen) {
    if 0 < session.info().turn_count {
        screen.notice("to continue this session: ironcurtain start --continue");
    }
}

fn failed(error: SessionError) -> Failure {
    match error {
        SessionError::InitFailed { what, source } => Failure::environment(what).with_source(source),
        SessionError::NotSaved(source) => {
            Failure::environment("the conversation could not be saved").with_source(source)
        }
        SessionError::CloseFailed(source) => {
            Failure::environment("the record of the session could not be ended").with_source(source)
        }
        error @ (SessionError::NotReady(_)
        | SessionError::Closed
        | SessionError::Cancelled
        | SessionError::MessageFailed(_)
        | SessionError::BudgetExhausted(_)
        | SessionError::SessionBudgetExhausted(_)) => {
            let failure = Failure::environment(error.to_string());
            match error.hint() {
                Some(hint) => failure.with_hint(hint),
                None => failure,
            }
        }
    }
}
