//! The agent's own interface at a terminal: one process in the cage, from the first drawing to its end.
//!
//! ```text
//! the agent ─▶ terminal of the cage ─▶ pump ─▶ Link ─▶ whoever draws it
//!           ◀─                      ◀─      ◀─ what is typed, sizes
//! ```
//!
//! What is drawn and typed is not looked at here: the screen between the agent and a person's terminal is
//! `ic_screen`'s business. Another backend has another pump, and the same [`Link`].

use std::ffi::OsString;
use std::process::ExitStatus;
use std::sync::Arc;

use ic_backend::agent_terminal::AgentTerminal;
use ic_backend::{AgentCage, CagedAtTerminal, CagedProgram};
use ic_confine::{
    EXIT_EXCESS, EXIT_FULL, EXIT_SHIFTED, EXIT_SHIFTED_ASLEEP, EXIT_TOO_MANY, TerminalSize,
};
use ic_escalation::{Message as Said, Sent};
use ic_model::{AssistantBlock, Message, UserBlock};
use ic_store::Moment;
use ic_types::{Object, Timestamp, chain, locked};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::doors::Doors;
use super::planted::Planted;
use super::turn::{GRACE, NoAnswer, since, snapshot, unanswered};
use super::{AgentSession, Shared, Underway};
use crate::news::Event;
use crate::session::{SessionError, note};

/// How much is read of the agent at once.
const OUTPUT_BYTES_MAX: usize = 64 << 10;
/// How much of it waits to be drawn.
const OUTPUTS_MAX: usize = 4;
/// How many readings of the keyboard wait for an agent that reads nothing; what is more is dropped.
const INPUTS_MAX: usize = 256;
/// How the record calls what an agent sent its terminal that was not passed on.
pub const TERMINAL_EVENT: &str = "terminal";
/// What a conversation says of what was said at the interface, which only the agent itself keeps.
const AT_INTERFACE: &str = "(at the agent's own interface)";

/// Something for the agent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ToAgent {
    /// What was typed.
    Typed(Vec<u8>),
    /// The terminal has another size.
    Resized(TerminalSize),
}

/// The end of an interface that draws and is typed at.
#[derive(Debug)]
pub struct Link {
    /// What the agent writes.
    pub output: mpsc::Receiver<Vec<u8>>,
    /// What it reads; full while it reads nothing.
    pub input: mpsc::Sender<ToAgent>,
}

/// The end of an interface at which the agent is.
#[derive(Debug)]
pub struct AgentEnd {
    output: mpsc::Sender<Vec<u8>>,
    input: mpsc::Receiver<ToAgent>,
}

/// How an agent is shown at a terminal.
#[derive(Clone, Copy, Debug)]
pub struct Showing<'a> {
    /// What it begins with, if a person said so.
    pub task: Option<&'a str>,
    /// How large the terminal is at first.
    pub size: TerminalSize,
    /// What the terminal can do, as variables that say so.
    pub terminal: &'a [(&'static str, String)],
}

/// How an interface ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Shown {
    /// The agent's exit code; 128 and the number of the signal if one ended it.
    pub code: u8,
    /// Why it was ended, if not by itself.
    pub reason: Option<String>,
    /// Whether it never connected to our tools.
    pub is_without_tools: bool,
}

/// Makes both ends of an interface.
pub fn link() -> (Link, AgentEnd) {
    let (output, from_agent) = mpsc::channel(OUTPUTS_MAX);
    let (to_agent, input) = mpsc::channel(INPUTS_MAX);
    (Link { output: from_agent, input: to_agent }, AgentEnd { output, input })
}

impl AgentSession {
    /// Records what the agent sent its terminal that was not passed on, by kind.
    pub fn record_dropped(&self, dropped: &str) {
        let mut event = Object::new();
        event.insert("event", TERMINAL_EVENT);
        event.insert("dropped", dropped);
        // A log that cannot be written to lets no further call through.
        self.shared.broker.record_event(event).ok();
    }

    /// Notes what the person sent at the agent's interface.
    pub fn note_sent(&self, sent: Sent, at: Timestamp) {
        let shared = &self.shared;
        match sent {
            Sent::Line(text) => note(&shared.context, &shared.news, Said::typed(text, at)),
            Sent::Unclear(keys) => shared.context.press(keys, at),
            Sent::Nothing => shared.context.forget(),
        }
    }

    /// Returns a text as the log would keep it: without secrets.
    pub fn redacted(&self, text: &str) -> String {
        self.shared.redactor.text(text).into_owned()
    }

    /// Runs the agent's own interface to its end, or until it is cut.
    pub async fn show(
        &self,
        showing: Showing<'_>,
        end: AgentEnd,
        cut: &CancellationToken,
    ) -> Result<Shown, SessionError> {
        self.begin()?;
        let underway = Underway(Some(&self.shared));
        let shown = self.shared.show(showing, end, cut).await;
        underway.ready();
        shown
    }
}

/// What the process of an interface came to.
struct Ran {
    status: std::io::Result<ExitStatus>,
    has_opened: bool,
    has_planted: bool,
}

impl Shared {
    async fn show(
        &self,
        showing: Showing<'_>,
        end: AgentEnd,
        cut: &CancellationToken,
    ) -> Result<Shown, SessionError> {
        let began = Instant::now();
        let before = self.parts.gate.account().spent();
        let mut cage = self.plan().await.map_err(unanswered)?;
        let git = self.ready_git(&mut cage, cut).await;
        let cage = Arc::new(cage);
        let mut planted = Planted::default();
        let ran = self.show_in(&cage, showing, end, cut, &mut planted).await.map_err(unanswered);
        // As after a turn: before what it planted is looked for.
        let collected = match &git {
            Some(git) => self.collect_git(git, &cage).await,
            None => None,
        };
        let code = ran.as_ref().ok().and_then(|ran| ran.status.as_ref().ok()?.code());
        self.settle(&cage, code, &mut planted).await;
        self.ask_about(&planted, cut).await;
        if let (Some(git), Some(collected)) = (&git, collected) {
            self.take_over_git(git, &collected, cut).await;
        }
        let used = since(&before, &self.parts.gate.account().spent());
        let budget = snapshot(Some(&used), began.elapsed());
        locked(&self.state).budget = budget;
        self.news.tell(Event::Budget(Box::new(budget)));
        if 0 < used.n_requests {
            self.keep_note(showing.task);
        }
        let ran = ran?;
        let status = ran.status.map_err(|error| unanswered(NoAnswer::Io(error)))?;
        let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
        let memory_bytes_max = self.parts.backend.memory_bytes_max();
        let reason = match (ran.has_planted, no_answer_of(code, memory_bytes_max)) {
            (true, _) => {
                let told = planted.done.told_of_agent(self.parts.adapter.title());
                Some(NoAnswer::Planted(told))
            }
            (false, reason) => reason,
        };
        let reason = reason.map(|reason| chain(&reason));
        Ok(Shown { code, reason, is_without_tools: !ran.has_opened })
    }

    /// Keeps that there is something to go on with.
    fn keep_note(&self, task: Option<&str>) {
        let task = task.map(|task| self.redactor.mask_own_keys(task.to_owned()));
        let said = task.unwrap_or_else(|| AT_INTERFACE.to_owned());
        self.keep(Message::User(vec![UserBlock::Text(said)]));
        let answer = vec![AssistantBlock::Text(AT_INTERFACE.to_owned())];
        let messages = self.keep(Message::Assistant(answer));
        self.tell_unsaved(self.conversation.save(&messages, Moment::TurnEnds));
    }

    /// Runs the interface in its cage to its end, or until it is cut.
    async fn show_in(
        &self,
        cage: &Arc<AgentCage>,
        showing: Showing<'_>,
        end: AgentEnd,
        cut: &CancellationToken,
        planted: &mut Planted,
    ) -> Result<Ran, NoAnswer> {
        let program = self.interface(showing)?;
        let look = self.announce(cage);
        let backend = &self.parts.backend;
        let caged = backend.start_at_terminal(cage, program, look, showing.size).await;
        let CagedAtTerminal { terminal, mut process, doors, renewals } =
            caged.map_err(NoAnswer::Cage)?;
        planted.look_after(self.looks(cage, (&process, renewals)));
        let doors =
            Doors::open(doors, (&self.broker, self.scripts.as_ref()), &self.parts.gate, &self.news)
                .map_err(NoAnswer::Io)?;
        let AgentEnd { output, input } = end;
        let over = CancellationToken::new();
        let ending = async {
            let ended = self.end_of(&mut process, cut, planted).await;
            // Nothing of the agent runs any more, so nothing reads.
            over.cancel();
            ended
        };
        let ((status, has_planted), (), _) = tokio::join!(
            ending,
            draw(&terminal, output),
            over.run_until_cancelled(type_at(&terminal, input)),
        );
        let has_opened = doors.has_opened();
        doors.close().await;
        Ok(Ran { status, has_opened, has_planted })
    }

    /// Returns the program of the interface.
    fn interface(&self, showing: Showing<'_>) -> Result<CagedProgram, NoAnswer> {
        // The agent's own conversation is in its home, and only there.
        let goes_on = !locked(&self.state).messages.is_empty();
        let adapter = self.parts.adapter;
        let command = self.on_stage(goes_on, |stage| adapter.interface(stage, showing.task));
        let command = command.ok_or(NoAnswer::NoInterface(adapter.title()))?;
        let mut environment = self.environment_of_cage();
        let terminal = showing.terminal.iter().map(|(name, value)| (*name, value.clone()));
        environment.extend(
            terminal
                .chain(command.environment)
                .map(|(name, value)| (OsString::from(name), OsString::from(value))),
        );
        Ok(CagedProgram {
            program: self.parts.program.as_path().to_owned(),
            arguments: command.arguments.into_iter().map(OsString::from).collect(),
            environment,
            directory: self.parts.sandbox.clone().into(),
            grace: GRACE,
        })
    }
}

/// Passes on what the agent writes until nobody has its terminal any more.
///
/// Where nobody draws any more it is read all the same, so that the agent can end.
async fn draw(terminal: &AgentTerminal, output: mpsc::Sender<Vec<u8>>) {
    let mut buffer = vec![0; OUTPUT_BYTES_MAX];
    while let Ok(n_bytes @ 1..) = terminal.read(&mut buffer).await {
        let bytes = buffer.get(..n_bytes).unwrap_or_default().to_vec();
        output.send(bytes).await.ok();
    }
}

/// Passes on what is typed, in order, and sizes.
async fn type_at(terminal: &AgentTerminal, mut input: mpsc::Receiver<ToAgent>) {
    while let Some(to_agent) = input.recv().await {
        match to_agent {
            ToAgent::Resized(size) => drop(terminal.resize(size).await),
            ToAgent::Typed(bytes) => {
                let mut rest = bytes.as_slice();
                while !rest.is_empty() {
                    let Ok(n_bytes @ 1..) = terminal.write(rest).await else { return };
                    rest = rest.get(n_bytes..).unwrap_or_default();
                }
            }
        }
    }
    // Nobody types any more; the agent goes on until it is ended.
    std::future::pending::<()>().await;
}

/// Returns why we ended an agent that may use so much memory, from the code of its guard.
pub(super) fn no_answer_of(code: u8, memory_bytes_max: u64) -> Option<NoAnswer> {
    match code {
        EXIT_SHIFTED | EXIT_SHIFTED_ASLEEP => Some(NoAnswer::Shifted),
        EXIT_EXCESS => Some(NoAnswer::Memory(memory_bytes_max)),
        EXIT_FULL => Some(NoAnswer::Disk),
        EXIT_TOO_MANY => Some(NoAnswer::Processes),
        _ => None,
    }
}
