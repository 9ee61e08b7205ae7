//! The session of an agent of others: its program runs in a cage or a container, one process a turn.
//!
//! ```text
//! send_message ─▶ AgentBackend::start ─▶ the agent ─┬─ door ─▶ Broker (MCP: judged, recorded, forwarded)
//!       ▲                                        └─ door ─▶ Gate (its model, without the key)
//!       └── answer ◀── Adapter::read ◀── its output
//! ```
//!
//! The agent's own conversation is in its home, which stays; its processes end with the turn. What it says
//! decides nothing here but what a person is shown.

mod doors;
mod gate_news;
mod interface;
mod listening;
mod look_first;
mod own_git;
mod planted;
mod turn;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ic_adapter::Adapter;
use ic_agent::{Diagnostic, Limits, Snapshot};
use ic_audit::Redactor;
use ic_backend::{AgentBackend, AgentWatch, Witness as _};
use ic_broker::Broker;
use ic_confine::{Confinement, Launcher};
use ic_escalation::{Message as Said, Pending, Reply, Told, UserContext};
use ic_mitm::Gate;
use ic_model::Message;
use ic_store::{Conversation, Found, StoreError};
use ic_types::{AbsolutePath, ServerName, Timestamp, chain, locked};
use tokio::sync::{broadcast, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use self::gate_news::GateNews;
pub use self::interface::{AgentEnd, Link, Showing, Shown, TERMINAL_EVENT, ToAgent, link};
pub use self::look_first::LookFirst;
pub use self::turn::BRIDGE;
use crate::calls::BrokerCalls;
use crate::directory::SessionDirectory;
use crate::end::{End, Owned};
use crate::ground::{Ground, Identity};
use crate::news::{Event, News};
use crate::questions::Questions;
use crate::repository::{self, NotCloned};
use crate::script_tool::RunScript;
use crate::session::{
    self, Answering, Closing, Info, ResolveError, SessionError, SessionHandle, Status, Turn,
};

/// How many diagnostics are kept; the oldest are forgotten.
const DIAGNOSTICS_MAX: usize = 10_000;

/// A session of an agent of others.
#[derive(Debug)]
pub struct AgentSession {
    shared: Arc<Shared>,
    tasks: TaskTracker,
    /// Cancelled when the session ends.
    stop: CancellationToken,
}

/// What a session of an agent of others is made of, besides its ground.
#[derive(Debug)]
pub struct AgentParts {
    /// Which agent it is.
    pub adapter: &'static dyn Adapter,
    /// Its program.
    pub program: AbsolutePath,
    /// Our own program, which speaks MCP for it.
    pub bridge: AbsolutePath,
    /// What holds it.
    pub backend: Arc<dyn AgentBackend>,
    /// What starts the workers that run its scripts, and what holds them.
    pub workers: (Launcher, Confinement),
    /// The way to its model.
    pub gate: Arc<Gate>,
    /// What the gate tells.
    pub gate_news: Arc<GateNews>,
    /// What holds up requests to the model until the workspace was looked at.
    pub look_first: Arc<LookFirst>,
    /// The file with the certificate that it has to trust.
    pub certificate: PathBuf,
    /// Connections that the gate makes.
    pub connections: TaskTracker,
    /// The model, if a person chose one.
    pub model: Option<String>,
    /// What the settings show to agents, read-only.
    pub shown: Vec<AbsolutePath>,
    /// The directory in which it is free.
    pub sandbox: String,
    /// What the session may use, as it is shown.
    pub limits: Limits,
    /// How long one call may take.
    pub call_max: Duration,
    /// The directory of the locks that all sessions have in common.
    pub locks: PathBuf,
    /// Whether it is offered one tool that runs scripts, instead of all others.
    pub is_code_mode: bool,
}

/// What the turns of a session share with its observers.
#[derive(Debug)]
struct Shared {
    parts: AgentParts,
    identity: Identity,
    directory: SessionDirectory,
    broker: Arc<Broker>,
    /// What runs scripts, in code mode.
    scripts: Option<Arc<RunScript>>,
    news: Arc<News>,
    questions: Questions,
    redactor: Arc<Redactor>,
    /// What the person said last.
    context: Arc<UserContext>,
    created_at: Timestamp,
    conversation: Conversation,
    end: End,
    state: Mutex<State>,
    own_git: Mutex<own_git::OwnGit>,
    watch: AgentWatch,
}

#[derive(Debug)]
struct State {
    status: Status,
    turns: Vec<Turn>,
    messages: Vec<Message>,
    diagnostics: VecDeque<Diagnostic>,
    /// What the turn that runs, or else the last one, has used.
    budget: Snapshot,
    /// Why the conversation could not be saved last, as the person was told.
    unsaved: Option<String>,
    /// What of the workspace the agent cannot change, as it is told.
    read_only: Vec<String>,
}

/// A turn that runs; if it does not come to its end, the session has ended.
struct Underway<'a>(Option<&'a Shared>);

impl AgentSession {
    /// Makes the session on its ground; it goes on with the conversation that was found.
    ///
    /// `news` must be told what its witness is told.
    pub async fn open(
        ground: Ground,
        news: Arc<News>,
        parts: AgentParts,
        found: Found,
    ) -> Result<Self, SessionError> {
        let Ground { identity, directory, broker, log, desk, redactor, context } = ground;
        let questions = Questions::of(desk.entry().clone());
        let tasks = parts.connections.clone();
        let scripts = parts.is_code_mode.then(|| {
            RunScript::new((&broker, &redactor), &news, parts.workers.clone(), &directory)
        });
        let end = End::of(Owned { desk, broker: Arc::clone(&broker), log, tasks });
        let (turns, created_at) = (found.stored.turns.clone(), found.stored.metadata.created_at);
        let messages = found.stored.messages.clone();
        let conversation = match found.restore(&messages) {
            Ok(conversation) => conversation,
            Err(source) => {
                // What went wrong first is what the person is told.
                end.reach(async {}).await.ok();
                let what = "the session cannot be started".to_owned();
                return Err(SessionError::InitFailed { what, source: Box::new(source) });
            }
        };
        let provider = parts.gate.rules().provider.as_str();
        conversation.thinks(provider, parts.model.as_deref().unwrap_or("the agent's own choice"));
        let budget = turn::snapshot(None, Duration::ZERO);
        let state = State {
            status: Status::Initializing,
            turns,
            messages,
            diagnostics: VecDeque::new(),
            budget,
            unsaved: None,
            read_only: Vec::new(),
        };
        let name = parts.adapter.name().parse::<ServerName>().map_err(|error| {
            let what = "the agent has an odd name".to_owned();
            SessionError::InitFailed { what, source: Box::new(error) }
        })?;
        let watch = AgentWatch::new(name, parts.locks.clone(), directory.quarantine());
        let shared = Arc::new(Shared {
            parts,
            identity,
            directory,
            broker,
            scripts,
            news,
            questions,
            redactor,
            context,
            created_at,
            conversation,
            end,
            state: Mutex::new(state),
            own_git: Mutex::default(),
            watch,
        });
        if let Err(error) = shared.prepare() {
            shared.end.reach(async {}).await.ok();
            return Err(error);
        }
        shared.stand(Status::Ready);
        Ok(Self { shared, tasks: TaskTracker::new(), stop: CancellationToken::new() })
    }

    /// Clones a repository that the person named into the sandbox, before anything was said.
    pub async fn clone_typed(
        &self,
        url: &str,
        cancel: &CancellationToken,
    ) -> Result<String, NotCloned> {
        let calls =
            BrokerCalls::new(Arc::clone(&self.shared.broker), Arc::clone(&self.shared.news));
        let cloned = repository::clone(&calls, url, cancel).await;
        // A call that was taken back is recorded to its end.
        calls.tasks().close();
        calls.tasks().wait().await;
        cloned
    }

    /// Begins a turn, if the session is ready.
    fn begin(&self) -> Result<(), SessionError> {
        let mut state = locked(&self.shared.state);
        match state.status {
            Status::Ready => state.status = Status::Processing,
            Status::Closed => return Err(SessionError::Closed),
            status @ (Status::Initializing | Status::Processing) => {
                return Err(SessionError::NotReady(status));
            }
        }
        drop(state);
        self.shared.news.tell(Event::Status(Status::Processing));
        Ok(())
    }
}

impl SessionHandle for AgentSession {
    fn info(&self) -> Info {
        let state = locked(&self.shared.state);
        Info {
            turn_count: state.turns.len() as u64,
            created_at: self.shared.created_at,
            ..self.shared.identity.info(state.status)
        }
    }

    fn events(&self) -> broadcast::Receiver<Event> {
        self.shared.news.subscribe()
    }

    fn pending_escalations(&self) -> Vec<Pending> {
        self.shared.questions.pending()
    }

    fn resolve_escalation(&self, shown: &Pending, reply: &Reply) -> Result<Told, ResolveError> {
        self.shared.questions.resolve(shown, reply)
    }

    fn close(&self) -> Closing<'_> {
        Box::pin(async move {
            self.shared.stand(Status::Closed);
            self.stop.cancel();
            self.tasks.close();
            self.tasks.wait().await;
            let messages = locked(&self.shared.state).messages.clone();
            let saved = self.shared.conversation.close(Some(&messages));
            let before = async {
                if let Some(scripts) = &self.shared.scripts {
                    // Its calls end with it, and so do their records.
                    scripts.close().await;
                    scripts.tasks().close();
                    scripts.tasks().wait().await;
                }
            };
            self.shared.end.reach(before).await.map_err(SessionError::CloseFailed)?;
            saved.map_err(SessionError::NotSaved)
        })
    }
}

impl session::Attended for AgentSession {
    fn news(&self) -> &News {
        &self.shared.news
    }

    fn questions(&self) -> &Questions {
        &self.shared.questions
    }
}

impl session::Conversation for AgentSession {
    fn note_typed(&self, message: &Said) {
        let shared = &self.shared;
        session::note(&shared.context, &shared.news, message.clone());
    }

    fn send_message(&self, message: &str, cancel: CancellationToken) -> Answering<'_> {
        let message = message.to_owned();
        Box::pin(async move {
            self.begin()?;
            self.shared.context.begin_turn(&message);
            let (answering, mut answered) = oneshot::channel();
            let cut = self.stop.child_token();
            // A caller that does not wait any more wants no answer.
            let _guard = cut.clone().drop_guard();
            let shared = Arc::clone(&self.shared);
            self.tasks.spawn({
                let cut = cut.clone();
                async move {
                    let underway = Underway(Some(&shared));
                    let ended = shared.turn(&message, &cut).await;
                    underway.ready();
                    answering.send(ended).ok();
                }
            });
            let answered = tokio::select! {
                answered = &mut answered => answered,
                () = cancel.cancelled() => {
                    cut.cancel();
                    // It ends soon, and then the session is ready again.
                    answered.await
                }
            };
            // A turn that panicked has no answer, and has closed the session.
            answered.unwrap_or(Err(SessionError::Closed))
        })
    }

    fn history(&self) -> Vec<Turn> {
        locked(&self.shared.state).turns.clone()
    }

    fn diagnostics(&self) -> Vec<Diagnostic> {
        locked(&self.shared.state).diagnostics.iter().cloned().collect()
    }

    fn budget(&self) -> Snapshot {
        locked(&self.shared.state).budget
    }

    fn save(&self) -> Result<(), SessionError> {
        self.shared.conversation.save_now().map_err(SessionError::NotSaved)
    }
}

impl Shared {
    /// Tells the person once that the conversation is not saved, and why; the next step tries again.
    fn tell_unsaved(&self, saved: Result<(), StoreError>) {
        let reason = saved.err().map(|error| chain(&error));
        let mut state = locked(&self.state);
        let is_news = reason.is_some() && state.unsaved != reason;
        state.unsaved.clone_from(&reason);
        drop(state);
        if let Some(reason) = reason.filter(|_| is_news) {
            self.news.notice(&format!(
                "the conversation could not be saved: {reason}; it is tried again with every turn"
            ));
        }
    }

    /// Notes how the session stands, unless it has ended.
    fn stand(&self, status: Status) {
        let mut state = locked(&self.state);
        if state.status == Status::Closed {
            return;
        }
        state.status = status;
        drop(state);
        self.news.tell(Event::Status(status));
    }

    fn diagnostic(&self, diagnostic: Diagnostic) {
        let mut state = locked(&self.state);
        if DIAGNOSTICS_MAX <= state.diagnostics.len() {
            state.diagnostics.pop_front();
        }
        state.diagnostics.push_back(diagnostic.clone());
        drop(state);
        self.news.tell(Event::Diagnostic(diagnostic));
    }
}

impl Underway<'_> {
    fn ready(mut self) {
        if let Some(shared) = self.0.take() {
            shared.stand(Status::Ready);
        }
    }
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        if let Some(shared) = self.0 {
            shared.stand(Status::Closed);
        }
    }
}
