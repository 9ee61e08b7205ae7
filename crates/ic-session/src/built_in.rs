//! The session of the built-in agent: a model, a workbench, and turns one after the other.
//!
//! ```text
//! send_message ─▶ task: Agent::turn ─▶ Discreet(Model), CodeTool ─▶ Workbench ─▶ Broker
//!       ▲                  │
//!       └──── answer ◀─────┘        events: News ─▶ listeners
//! ```
//!
//! A turn runs in a task of its own, so that it comes to a clean end even if nobody waits for it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ic_agent::{
    Agent, Answer, Asked, Diagnostic, History, Limits, Meter, Note, Observer, Parts, SavePoint,
    Snapshot, Surroundings, system_prompt,
};
use ic_backend::Witness as _;
use ic_escalation::{Message as Said, Pending, Reply, Told};
use ic_home::{Clock, SystemClock};
use ic_model::{AssistantBlock, Message, Model, ModelError, ModelName, Prices, Usage};
use ic_store::{Conversation, Found, Moment, StoreError};
use ic_types::{Object, Timestamp, chain, locked};
use tokio::sync::{broadcast, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::code::CodeTool;
use crate::discretion::Discreet;
use crate::news::{Event, News};
use crate::questions::Questions;
use crate::session::{
    self, Answering, Closing, Info, ResolveError, SessionError, SessionHandle, Status, Turn,
    TurnUsage,
};
use crate::workbench::Workbench;

/// How many diagnostics are kept; the oldest are forgotten.
const DIAGNOSTICS_MAX: usize = 10_000;

/// A session of the built-in agent.
#[derive(Debug)]
pub struct BuiltIn {
    shared: Arc<Shared>,
    tasks: TaskTracker,
    /// Cancelled when the session ends.
    stop: CancellationToken,
}

/// What a session of the built-in agent is made of, besides its workbench.
#[derive(Debug)]
pub struct Mind {
    /// Who thinks.
    pub model: Arc<dyn Model>,
    /// What it costs.
    pub prices: Prices,
    /// What one turn may use.
    pub limits: Limits,
    /// The directory in which the agent is free, as it is told.
    pub sandbox: String,
    /// What the project there says about itself.
    pub notes: Vec<Note>,
}

/// A turn that runs; if it does not come to its end, its agent is gone, and the session with it.
struct Underway<'a>(Option<&'a Shared>);

/// What the turns of a session share with its observers.
#[derive(Debug)]
struct Shared {
    workbench: Arc<Workbench>,
    created_at: Timestamp,
    meter: Meter,
    /// Where the conversation is kept.
    conversation: Conversation,
    /// Taken by the turn that runs, and gone once the session is closed.
    agent: Mutex<Option<Agent>>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    status: Status,
    turns: Vec<Turn>,
    diagnostics: VecDeque<Diagnostic>,
    /// Why the conversation could not be saved last, as the person was told.
    unsaved: Option<String>,
}

impl BuiltIn {
    /// Makes the session at `workbench`, which is closed again if that does not work out; it goes on
    /// with the conversation that was found.
    pub async fn open(
        workbench: Workbench,
        mind: Mind,
        found: Found,
    ) -> Result<Self, SessionError> {
        let workbench = Arc::new(workbench);
        let (servers, rules) = workbench.surroundings();
        let (sandbox, servers, rules) = (&mind.sandbox, &servers, &rules);
        let parts = Parts {
            model: Arc::new(Discreet::new(Arc::clone(&mind.model), workbench.redactor())),
            toolbox: Arc::new(CodeTool(Arc::clone(&workbench))),
            clock: workbench.clock(),
            system: system_prompt(Surroundings { sandbox, servers, rules, notes: &mind.notes }),
            limits: mind.limits,
            prices: mind.prices,
        };
        let turns = found.stored.turns.clone();
        let created_at = found.stored.metadata.created_at;
        let (agent, conversation) = match take_up(parts, found) {
            Ok(taken_up) => taken_up,
            Err(source) => {
                // What went wrong first is what the person is told.
                workbench.close().await.ok();
                let what = "the session cannot be started".to_owned();
                return Err(SessionError::InitFailed { what, source });
            }
        };
        match mind.model.name() {
            ModelName::Offline => conversation.thinks("offline", "offline"),
            ModelName::Provided(id) => conversation.thinks(id.provider().as_str(), id.model()),
        }
        let diagnostics = VecDeque::new();
        let state = State { status: Status::Initializing, turns, diagnostics, unsaved: None };
        let shared = Arc::new(Shared {
            created_at,
            conversation,
            meter: agent.meter(),
            agent: Mutex::new(Some(agent)),
            state: Mutex::new(state),
            workbench,
        });
        shared.stand(Status::Ready);
        Ok(Self { shared, tasks: TaskTracker::new(), stop: CancellationToken::new() })
    }

    /// Returns what happens, and what was counted.
    pub fn news(&self) -> &News {
        &self.shared.workbench.news
    }

    /// Returns what waits for a person.
    pub fn questions(&self) -> &Questions {
        &self.shared.workbench.questions
    }

    /// Takes the agent for one turn, if the session is ready.
    fn begin(&self) -> Result<Agent, SessionError> {
        let mut state = locked(&self.shared.state);
        match state.status {
            Status::Ready => {}
            Status::Closed => return Err(SessionError::Closed),
            status @ (Status::Initializing | Status::Processing) => {
                return Err(SessionError::NotReady(status));
            }
        }
        let agent = locked(&self.shared.agent).take().ok_or(SessionError::Closed)?;
        state.status = Status::Processing;
        drop(state);
        self.shared.workbench.news.tell(Event::Status(Status::Processing));
        Ok(agent)
    }
}

impl SessionHandle for BuiltIn {
    fn info(&self) -> Info {
        let state = locked(&self.shared.state);
        Info {
            status: state.status,
            turn_count: state.turns.len() as u64,
            created_at: self.shared.created_at,
            ..self.shared.workbench.info()
        }
    }

    fn events(&self) -> broadcast::Receiver<Event> {
        self.shared.workbench.news.subscribe()
    }

    fn pending_escalations(&self) -> Vec<Pending> {
        self.shared.workbench.questions.pending()
    }

    fn resolve_escalation(&self, shown: &Pending, reply: &Reply) -> Result<Told, ResolveError> {
        self.shared.workbench.questions.resolve(shown, reply)
    }

    fn close(&self) -> Closing<'_> {
        Box::pin(async move {
            self.shared.stand(Status::Closed);
            self.stop.cancel();
            self.tasks.close();
            self.tasks.wait().await;
            // With the agent goes its hold on the workbench.
            let agent = locked(&self.shared.agent).take();
            let messages = agent.as_ref().map(|agent| agent.history().messages());
            let saved = self.shared.conversation.close(messages);
            drop(agent);
            self.shared.workbench.close().await.map_err(SessionError::CloseFailed)?;
            saved.map_err(SessionError::NotSaved)
        })
    }
}

impl session::Attended for BuiltIn {
    fn news(&self) -> &News {
        Self::news(self)
    }

    fn questions(&self) -> &Questions {
        Self::questions(self)
    }
}

impl session::Conversation for BuiltIn {
    fn note_typed(&self, message: &Said) {
        let workbench = &self.shared.workbench;
        session::note(&workbench.context, &workbench.news, message.clone());
    }

    fn send_message(&self, message: &str, cancel: CancellationToken) -> Answering<'_> {
        let message = message.to_owned();
        Box::pin(async move {
            let mut agent = self.begin()?;
            self.shared.workbench.context.begin_turn(&message);
            let (answering, mut answered) = oneshot::channel();
            let cut = self.stop.child_token();
            // A caller that does not wait any more wants no answer.
            let _guard = cut.clone().drop_guard();
            let shared = Arc::clone(&self.shared);
            self.tasks.spawn({
                let cut = cut.clone();
                async move {
                    let underway = Underway(Some(&shared));
                    let ended = shared.turn(&mut agent, &message, &cut).await;
                    underway.give_back(agent);
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
        self.shared.meter.snapshot()
    }

    fn save(&self) -> Result<(), SessionError> {
        self.shared.conversation.save_now().map_err(SessionError::NotSaved)
    }
}

impl Shared {
    /// Runs one turn, and keeps what came of it.
    async fn turn(
        &self,
        agent: &mut Agent,
        message: &str,
        cut: &CancellationToken,
    ) -> Result<String, SessionError> {
        let timestamp = SystemClock.now();
        // The conversation is kept on disk, so a key that a person pasted is left out.
        let message = self.workbench.redactor().mask_own_keys(message.to_owned());
        let ended = agent.turn(&message, self, cut).await;
        let news = &self.workbench.news;
        news.tell(Event::Budget(Box::new(self.meter.snapshot())));
        let Answer { text, usage, .. } = match ended {
            Ok(answer) => answer,
            Err(error) => {
                let messages = agent.history().messages();
                self.tell_unsaved(self.conversation.save(messages, Moment::TurnEnds));
                return Err(error.into());
            }
        };
        let (prompt, completion) = (usage.prompt, usage.completion);
        let mut state = locked(&self.state);
        let turn = Turn {
            turn_number: state.turns.len() as u64 + 1,
            user_message: message,
            assistant_response: text.clone(),
            usage: TurnUsage { prompt, completion, total: usage.total() },
            timestamp,
        };
        state.turns.push(turn.clone());
        drop(state);
        // Before anybody is told of the answer.
        self.tell_unsaved(self.conversation.answered(turn, agent.history().messages()));
        news.tell(Event::Answer(text.clone()));
        Ok(text)
    }

    /// Tells the person once that the conversation is not saved, and why; the next step tries again.
    fn tell_unsaved(&self, saved: Result<(), StoreError>) {
        let reason = saved.err().map(|error| chain(&error));
        let mut state = locked(&self.state);
        let is_news = reason.is_some() && state.unsaved != reason;
        state.unsaved.clone_from(&reason);
        drop(state);
        if let Some(reason) = reason.filter(|_| is_news) {
            self.workbench.news.notice(&format!(
                "the conversation could not be saved: {reason}; it is tried again with every step"
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
        self.workbench.news.tell(Event::Status(status));
    }
}

impl Underway<'_> {
    /// Takes the agent back after the turn.
    fn give_back(mut self, agent: Agent) {
        if let Some(shared) = self.0.take() {
            *locked(&shared.agent) = Some(agent);
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

impl Observer for Shared {
    fn text(&self, delta: &str) {
        self.workbench.context.hear(delta);
        self.workbench.news.tell(Event::Text(delta.to_owned()));
    }

    fn waiting(&self, error: &ModelError, delay: Duration) {
        let seconds = delay.as_millis().div_ceil(1000);
        self.workbench.news.notice(&format!("{error}; trying again in {seconds} s"));
    }

    /// What left this machine is recorded; the offline model asks nobody.
    fn asked(&self, asked: &Asked) {
        if asked.model == ModelName::Offline {
            return;
        }
        self.workbench.record_completion(of_completion(asked), asked.duration);
    }

    fn diagnostic(&self, diagnostic: Diagnostic) {
        if let Some(line) = log_line(&diagnostic) {
            self.workbench.news.log(&line);
        }
        let mut state = locked(&self.state);
        if DIAGNOSTICS_MAX <= state.diagnostics.len() {
            state.diagnostics.pop_front();
        }
        state.diagnostics.push_back(diagnostic.clone());
        drop(state);
        self.workbench.news.tell(Event::Diagnostic(diagnostic));
    }

    fn tools_begin(&self, said: &[AssistantBlock]) {
        let message = Message::Assistant(said.to_vec());
        self.tell_unsaved(self.conversation.begin_tools(message));
    }

    fn save_point(&self, at: SavePoint, messages: &[Message]) {
        let moment = match at {
            SavePoint::UserMessage => Moment::TurnBegins,
            // What a turn came to is saved with its end.
            SavePoint::ToolStep | SavePoint::Answer | SavePoint::Cut => Moment::Within,
        };
        self.tell_unsaved(self.conversation.save(messages, moment));
    }
}

/// Says for the session's log what the model does; what it says is in the conversation.
fn log_line(diagnostic: &Diagnostic) -> Option<String> {
    Some(match diagnostic {
        Diagnostic::AgentText { .. } => return None,
        Diagnostic::ToolCall { tool, .. } => format!("model: uses {tool}"),
        Diagnostic::StepFinish { step, prompt, completion } => {
            format!("model: step {step} has ended, {prompt} tokens in, {completion} out")
        }
        Diagnostic::BudgetWarning { spent } => format!("budget: nearly used up, {spent}"),
        Diagnostic::BudgetExhausted { spent } => format!("budget: used up, {spent}"),
        Diagnostic::LoopDetection { tool, repeats, .. } => {
            format!("model: uses {tool} for the {repeats}th time with the same result")
        }
        Diagnostic::ResultTruncation { tool, bytes, kept_bytes } => {
            format!("model: gets {kept_bytes} of {bytes} bytes of the result of {tool}")
        }
        Diagnostic::ConfinementViolation { detail } => format!("cage: {detail}"),
    })
}

/// Makes an agent that goes on where the conversation was left.
fn take_up(
    parts: Parts,
    found: Found,
) -> Result<(Agent, Conversation), Box<dyn std::error::Error + Send + Sync>> {
    let (messages, pending) = (found.stored.messages.clone(), found.stored.pending.clone());
    let history = History::taken_up(messages, pending)?;
    let conversation = found.restore(history.messages())?;
    Ok((Agent::new(parts, history)?, conversation))
}

/// Says what a request to a model came to; what was said in it is not repeated.
fn of_completion(asked: &Asked) -> Object {
    let Asked { model, usage, failed, cost, duration: _ } = asked;
    let mut told = Object::new();
    told.insert("model", model.to_string());
    if failed.is_none() || *usage != Usage::default() {
        told.insert("promptTokens", usage.prompt);
        told.insert("completionTokens", usage.completion);
        told.insert("cachedTokens", usage.cached);
        told.insert("cacheWrittenTokens", usage.cache_written);
        told.insert("costBillionths", cost.billionths());
    }
    if let Some(error) = failed {
        told.insert("error", error.as_str());
    }
    told
}
