//! One turn of an agent: a process in a cage of its own, from the message to the answer.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use ic_adapter::orientation::{Surroundings, orientation};
use ic_adapter::{Fault, SetupPlace, Stage};
use ic_agent::{Dimension, Snapshot, Spent};
use ic_analysis::Inhabitant;
use ic_backend::{AgentCage, AgentCageFault, AgentCageParts, Caged, CagedProgram};
use ic_confine::{Access, Limits};
use ic_home::{Clock as _, FileError, SystemClock, file};
use ic_mitm::Spent as GateSpent;
use ic_model::{AssistantBlock, Message, Usage, UserBlock};
use ic_resolve::RealDisk;
use ic_store::Moment;
use ic_types::{AbsolutePath, chain, locked, visible};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Shared;
use super::doors::{Doors, MCP_PORT, MODEL_PORT};
use super::interface::no_answer_of;
use super::listening::Heard;
use super::planted::Planted;
use crate::news::Event;
use crate::session::{SessionError, Turn, TurnUsage, Unanswered};

/// The word with which our program speaks MCP for an agent, at a door of its cage.
pub const BRIDGE: &str = "agent-bridge";
/// How long an agent may take to end when it is asked to.
pub(super) const GRACE: Duration = Duration::from_secs(2);
/// How much of what it complains about is kept.
const COMPLAINT_BYTES_MAX: usize = 4 << 10;

/// A turn without an answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAnswer {
    // Whoever shows it shows one line, so the reason is in it.
    #[error("the agent cannot be started: {}", chain(.0))]
    Cage(AgentCageFault),
    #[error("the agent cannot be started: {}", chain(.0))]
    Io(std::io::Error),
    #[error(
        "the agent never connected to IronCurtain's MCP server, so it worked without the tools that reach \
         outside its workspace"
    )]
    NoMcp,
    #[error("Agent {0} does not support PTY mode.")]
    NoInterface(&'static str),
    #[error(transparent)]
    Agent(Fault),
    #[error("Agent exited with code {code}.{said}")]
    Exit { code: i32, said: String },
    #[error("the agent was ended: {0}")]
    Planted(String),
    #[error(
        "the agent was ended, because a file or directory that is hidden from it, or replaced for it, was changed \
         outside of its cage"
    )]
    Shifted,
    #[error(
        "the agent was ended, because its processes used more than {} MiB of memory together",
        .0 >> 20
    )]
    Memory(u64),
    #[error(
        "the agent was ended, because it had more processes and threads than the setting `agent.pidsLimit` allows"
    )]
    Processes,
    #[error(
        "the agent was ended, because less than {} MiB were left on a disk that it may write",
        Limits::AGENT.disk_bytes_left_min >> 20
    )]
    Disk,
}

/// What the process of a turn came to.
struct Ran {
    status: std::io::Result<ExitStatus>,
    heard: Heard,
    complaint: String,
    has_opened: bool,
    has_planted: bool,
}

impl Shared {
    /// Writes the files that the agent needs.
    pub(super) fn prepare(&self) -> Result<(), SessionError> {
        let failed = |source: FileError| SessionError::InitFailed {
            what: "the agent's files cannot be written".to_owned(),
            source: Box::new(source),
        };
        let (shown, home) = (self.directory.orientation(), self.directory.agent_state());
        for path in [&shown, &self.directory.agent_cage(), &self.directory.quarantine()] {
            file::create_dir(path).map_err(failed)?;
        }
        // SECURITY: a home that was there before is the agent's: nothing in it is opened by us again.
        let is_new_home = match file::create_new_dir(&home) {
            Ok(()) => true,
            Err(FileError::Exists { .. }) => false,
            Err(error) => return Err(failed(error)),
        };
        self.write_setup(is_new_home).map_err(failed)
    }

    /// Writes what the agent's program reads about where it is; its home is written to when it is new alone.
    fn write_setup(&self, is_new_home: bool) -> Result<(), FileError> {
        let (shown, home) = (self.directory.orientation(), self.directory.agent_state());
        let mut made = vec![shown.clone(), self.parts.certificate.clone()];
        made.extend(is_new_home.then(|| home.clone()));
        for setup in self.on_stage(false, |stage| self.parts.adapter.setup(stage)) {
            let root = match setup.place {
                SetupPlace::Shown => &shown,
                SetupPlace::NewHome if is_new_home => &home,
                SetupPlace::NewHome => continue,
            };
            let path = root.join(setup.path);
            let above = Path::new(setup.path).parent().filter(|it| !it.as_os_str().is_empty());
            if let Some(above) = above {
                file::create_dir(root.join(above))?;
                let above = above.ancestors().filter(|it| !it.as_os_str().is_empty());
                made.extend(above.map(|above| root.join(above)));
            }
            file::replace(&path, setup.text.as_bytes())?;
            made.push(path);
        }
        self.hand_over(&shown, &made)
    }

    /// Lets the agent use what we made for it, where it is somebody else and its room does not show it as its own.
    fn hand_over(&self, shown: &Path, made: &[PathBuf]) -> Result<(), FileError> {
        let Some(owner) = self.parts.backend.owner() else { return Ok(()) };
        for path in made {
            match path.starts_with(shown) {
                // It stays ours, and lies in a directory that nobody else can look into.
                true => file::show_others(path)?,
                false => file::give(path, owner)?,
            }
        }
        Ok(())
    }

    /// Runs one turn, and keeps what came of it.
    pub(super) async fn turn(
        &self,
        message: &str,
        cut: &CancellationToken,
    ) -> Result<String, SessionError> {
        let (timestamp, began) = (SystemClock.now(), Instant::now());
        let before = self.parts.gate.account().spent();
        // The conversation is kept on disk, so a key that a person pasted is left out.
        let message = self.redactor.mask_own_keys(message.to_owned());
        let messages = self.keep(Message::User(vec![UserBlock::Text(message.clone())]));
        self.tell_unsaved(self.conversation.save(&messages, Moment::TurnBegins));
        let ended = self.run(&message, cut).await;
        let used = since(&before, &self.parts.gate.account().spent());
        let budget = snapshot(Some(&used), began.elapsed());
        locked(&self.state).budget = budget;
        self.news.tell(Event::Budget(Box::new(budget)));
        let text = match ended {
            Ok(text) => self.redactor.mask_own_keys(text),
            Err(error) => {
                let note = format!("(no answer: {error})");
                let messages = self.keep(Message::Assistant(vec![AssistantBlock::Text(note)]));
                self.tell_unsaved(self.conversation.save(&messages, Moment::TurnEnds));
                return Err(error);
            }
        };
        let messages = self.keep(Message::Assistant(vec![AssistantBlock::Text(text.clone())]));
        let Usage { prompt, completion, .. } = used.usage;
        let mut state = locked(&self.state);
        let turn = Turn {
            turn_number: state.turns.len() as u64 + 1,
            user_message: message,
            assistant_response: text.clone(),
            usage: TurnUsage { prompt, completion, total: used.usage.total() },
            timestamp,
        };
        state.turns.push(turn.clone());
        drop(state);
        // Before anybody is told of the answer.
        self.tell_unsaved(self.conversation.answered(turn, &messages));
        self.context.hear(&text);
        self.news.tell(Event::Answer(text.clone()));
        Ok(text)
    }

    pub(super) fn keep(&self, message: Message) -> Vec<Message> {
        let mut state = locked(&self.state);
        state.messages.push(message);
        state.messages.clone()
    }

    /// Runs the agent, and finds out what came of it.
    async fn run(&self, message: &str, cut: &CancellationToken) -> Result<String, SessionError> {
        let mut cage = self.plan().await.map_err(unanswered)?;
        let git = self.ready_git(&mut cage, cut).await;
        let read_only = self.read_only(&cage);
        let has_changed =
            std::mem::replace(&mut locked(&self.state).read_only, read_only.clone()) != read_only;
        if has_changed {
            let failed = |error| unanswered(NoAnswer::Io(std::io::Error::other(error)));
            self.write_setup(false).map_err(failed)?;
        }
        let cage = Arc::new(cage);
        let mut planted = Planted::default();
        // The message of this turn is kept already.
        let goes_on = 1 < locked(&self.state).messages.len();
        let mut ran = self.run_in(&cage, (message, goes_on), cut, &mut planted).await;
        let is_lost = |ran: &Ran| {
            ran.heard.outcome.is_none() && self.parts.adapter.has_no_conversation(&ran.complaint)
        };
        // The first turn may have been cut before the agent kept anything.
        if goes_on && !cut.is_cancelled() && ran.as_ref().is_ok_and(is_lost) {
            ran = self.run_in(&cage, (message, false), cut, &mut planted).await;
        }
        let ran = ran.map_err(unanswered);
        // Before what it planted is looked for: the agent decides what its git does in the cage.
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
        let ran = ran?;
        if cut.is_cancelled() {
            return Err(SessionError::Cancelled);
        }
        if ran.has_planted {
            let told = planted.done.told_of_agent(self.parts.adapter.title());
            return Err(unanswered(NoAnswer::Planted(told)));
        }
        self.outcome(ran)
    }

    /// Works out the cage, on what is on the disk now.
    pub(super) async fn plan(&self) -> Result<AgentCage, NoAnswer> {
        let (judge, backend) = (Arc::clone(self.broker.judge()), Arc::clone(&self.parts.backend));
        let path = |path: &Path| {
            AbsolutePath::new(path)
                .map_err(|error| NoAnswer::Io(std::io::Error::other(error.to_string())))
        };
        let programs = [
            self.parts.program.clone(),
            self.parts.bridge.clone(),
            path(&self.directory.orientation())?,
        ];
        let state = path(&self.directory.agent_state())?;
        let (shown, private) = (self.parts.shown.clone(), self.directory.agent_cage());
        let planning = tokio::task::spawn_blocking(move || {
            let parts = AgentCageParts {
                inhabitant: Inhabitant::Agent,
                judge: &judge,
                shown: &shown,
                programs: &programs,
                state: Some(&state),
                private: &private,
                doors: &[MCP_PORT, MODEL_PORT],
                unix_sockets: false,
                limits: Limits::AGENT,
            };
            backend.plan(&parts, &RealDisk)
        });
        let planned = planning.await.map_err(|error| NoAnswer::Io(error.into()))?;
        planned.map_err(NoAnswer::Cage)
    }

    /// Runs the agent in its cage to its end, or to that of the turn.
    async fn run_in(
        &self,
        cage: &Arc<AgentCage>,
        (message, goes_on): (&str, bool),
        cut: &CancellationToken,
        planted: &mut Planted,
    ) -> Result<Ran, NoAnswer> {
        let (program, input) = self.program(message, goes_on);
        let look = self.announce(cage);
        let caged = self.parts.backend.start(cage, program, look).await;
        let caged = caged.map_err(NoAnswer::Cage)?;
        let Caged { mut stdin, stdout, stderr, mut process, doors, renewals } = caged;
        planted.look_after(self.looks(cage, (&process, renewals)));
        let doors =
            Doors::open(doors, (&self.broker, self.scripts.as_ref()), &self.parts.gate, &self.news)
                .map_err(NoAnswer::Io)?;
        let feeding = async {
            // An agent that reads nothing, or ends first, says so itself.
            stdin.write_all(input.as_bytes()).await.ok();
            stdin.shutdown().await.ok();
            drop(stdin);
        };
        let ending = self.end_of(&mut process, cut, planted);
        let (heard, complaint, (), (status, has_planted)) =
            tokio::join!(self.listen(stdout), complaint(stderr), feeding, ending);
        let has_opened = doors.has_opened();
        doors.close().await;
        Ok(Ran { status, heard, complaint, has_opened, has_planted })
    }

    /// Returns the program of a turn, and what it reads.
    fn program(&self, message: &str, goes_on: bool) -> (CagedProgram, String) {
        let turn = self.on_stage(goes_on, |stage| self.parts.adapter.turn(stage, message));
        let mut environment = self.environment_of_cage();
        environment.extend(
            turn.environment
                .into_iter()
                .map(|(name, value)| (OsString::from(name), OsString::from(value))),
        );
        let program = CagedProgram {
            program: self.parts.program.as_path().to_owned(),
            arguments: turn.arguments.into_iter().map(OsString::from).collect(),
            environment,
            directory: self.parts.sandbox.clone().into(),
            grace: GRACE,
        };
        (program, turn.input)
    }

    /// Returns what of the workspace the agent cannot change, as it is told.
    fn read_only(&self, cage: &AgentCage) -> Vec<String> {
        let sandbox = Path::new(&self.parts.sandbox);
        let paths = cage.spec().seen.iter().filter(|seen| seen.access == Access::Read);
        let inside = paths.filter_map(|seen| seen.path.strip_prefix(sandbox).ok());
        inside.map(|path| path.display().to_string()).filter(|it| !it.is_empty()).collect()
    }

    /// Returns what every program of the agent finds in its environment.
    pub(super) fn environment_of_cage(&self) -> Vec<(OsString, OsString)> {
        let proxy = format!("http://127.0.0.1:{MODEL_PORT}");
        let certificate = self.parts.backend.seen(&self.parts.certificate).display().to_string();
        let to_gate = self
            .parts
            .gate
            .environment(&ic_mitm::Surroundings { proxy: Some(&proxy), certificate: &certificate });
        let mut environment: Vec<(OsString, OsString)> =
            to_gate.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        // Settings of the machine are not in the cage, and git would complain that it may not read them.
        // What is hidden is nowhere to be had.
        for name in ["GIT_CONFIG_NOSYSTEM", "GIT_ATTR_NOSYSTEM", "GIT_NO_LAZY_FETCH"] {
            environment.push((name.into(), "1".into()));
        }
        environment
    }

    /// Describes the stage to the adapter.
    pub(super) fn on_stage<T>(&self, goes_on: bool, with: impl FnOnce(&Stage<'_>) -> T) -> T {
        let seen = |path: &Path| self.parts.backend.seen(path).display().to_string();
        let (home, shown) =
            (seen(&self.directory.agent_state()), seen(&self.directory.orientation()));
        let workspace = seen(Path::new(&self.parts.sandbox));
        let bridge = [seen(self.parts.bridge.as_path()), BRIDGE.to_owned(), MCP_PORT.to_string()];
        let servers: Vec<String> = self.broker.server_names().map(ToString::to_string).collect();
        let read_only = locked(&self.state).read_only.clone();
        let orientation = orientation(&Surroundings {
            workspace: &workspace,
            servers: &servers,
            read_only: &read_only,
            registries: &self.parts.gate.registries(),
            is_code_mode: self.scripts.is_some(),
        });
        with(&Stage {
            workspace: &workspace,
            home: &home,
            shown: &shown,
            bridge: &bridge,
            provider: self.parts.gate.rules().provider,
            model: self.parts.model.as_deref(),
            fake_key: self.parts.gate.fake().as_str(),
            call_max: self.parts.call_max,
            orientation: &orientation,
            goes_on,
        })
    }

    /// Says what came of a turn that nobody cut.
    fn outcome(&self, ran: Ran) -> Result<String, SessionError> {
        let outcome = ran.heard.outcome;
        if !matches!(outcome, Some(Ok(_))) && self.parts.gate_news.is_exhausted() {
            return Err(SessionError::SessionBudgetExhausted(self.exhausted()));
        }
        match outcome {
            Some(Ok(_)) if !ran.has_opened => Err(unanswered(NoAnswer::NoMcp)),
            Some(Ok(text)) => Ok(text),
            Some(Err(fault)) => Err(unanswered(NoAnswer::Agent(fault))),
            None => {
                let status = ran.status.map_err(|error| unanswered(NoAnswer::Io(error)))?;
                let code = status.code().and_then(|code| u8::try_from(code).ok());
                let max = self.parts.backend.memory_bytes_max();
                if let Some(why) = code.and_then(|code| no_answer_of(code, max)) {
                    return Err(unanswered(why));
                }
                let said = ran.complaint.trim();
                let said =
                    if said.is_empty() { String::new() } else { format!(" {}", visible(said)) };
                Err(unanswered(NoAnswer::Exit { code: status.code().unwrap_or(-1), said }))
            }
        }
    }

    /// Says which part of the session's budget is used up.
    fn exhausted(&self) -> Spent {
        let (spent, limits) = (self.parts.gate.account().spent(), self.parts.limits);
        let cost = limits.cost_max.map(ic_model::Cost::billionths);
        let tokens = (spent.usage.total(), limits.tokens_max);
        let (used, max) = (spent.cost.billionths(), cost);
        let is_reached = |(used, max): (u64, Option<u64>)| max.is_some_and(|max| max <= used);
        if is_reached((used, max)) {
            return Spent { dimension: Dimension::Cost, used, max };
        }
        if is_reached(tokens) {
            return Spent { dimension: Dimension::Tokens, used: tokens.0, max: tokens.1 };
        }
        let max = limits.duration_max.map(millis);
        Spent { dimension: Dimension::Time, used: max.unwrap_or(0), max }
    }
}

/// Returns what was used between two looks at the account.
pub(super) fn since(before: &GateSpent, after: &GateSpent) -> GateSpent {
    let less = |after: u64, before: u64| after.saturating_sub(before);
    GateSpent {
        n_requests: less(after.n_requests, before.n_requests),
        usage: Usage {
            prompt: less(after.usage.prompt, before.usage.prompt),
            completion: less(after.usage.completion, before.usage.completion),
            cached: less(after.usage.cached, before.usage.cached),
            cache_written: less(after.usage.cache_written, before.usage.cache_written),
        },
        cost: ic_model::Cost::from_billionths(less(
            after.cost.billionths(),
            before.cost.billionths(),
        )),
    }
}

/// Returns what a turn has used; its limits are those of the session, and not of the turn.
pub(super) fn snapshot(used: Option<&GateSpent>, elapsed: Duration) -> Snapshot {
    let usage = used.map(|it| it.usage).unwrap_or_default();
    let spent = |dimension, used| Spent { dimension, used, max: None };
    Snapshot {
        spent: [
            spent(Dimension::Tokens, usage.total()),
            spent(Dimension::Steps, used.map_or(0, |it| it.n_requests)),
            spent(Dimension::Time, millis(elapsed)),
            spent(Dimension::Cost, used.map_or(0, |it| it.cost.billionths())),
        ],
        usage,
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the end of what the agent complains about.
async fn complaint(mut stderr: impl AsyncRead + Unpin) -> String {
    let (mut kept, mut buffer) = (Vec::new(), vec![0; 16 << 10]);
    while let Ok(n_bytes @ 1..) = stderr.read(&mut buffer).await {
        kept.extend_from_slice(buffer.get(..n_bytes).unwrap_or_default());
        let surplus = kept.len().saturating_sub(COMPLAINT_BYTES_MAX);
        kept.drain(..surplus);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

pub(super) fn unanswered(error: NoAnswer) -> SessionError {
    let hint = match &error {
        NoAnswer::Agent(fault) => fault.hint().map(str::to_owned),
        NoAnswer::Planted(_) => Some(
            "the agent's own tools may not write such files; the tools of IronCurtain's filesystem server \
             ask you first"
                .to_owned(),
        ),
        NoAnswer::Shifted | NoAnswer::Memory(_) | NoAnswer::Processes | NoAnswer::Disk => Some("`ironcurtain start --continue` goes on with the session".to_owned()),
        _ => None,
    };
    SessionError::MessageFailed(Unanswered { error: Box::new(error), hint })
}
