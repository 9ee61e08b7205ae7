//! One turn: model, tools, model, … until there is an answer or a reason to stop.
//!
//! It changes the history only by whole steps, so that wherever it ends every tool use has its result.

use std::future::pending;
use std::sync::Mutex;
use std::time::Duration;

use ic_model::{
    AssistantBlock, Completion, Listener, ModelError, Prompt, StopReason, ToolUseId, Usage,
    UserBlock,
};
use ic_types::{Json, Timestamp, locked};
use tokio::time;
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, Answer, TurnError};
use crate::budget::{Dimension, Spent};
use crate::diagnostic::{Asked, Diagnostic, Observer, SavePoint, preview};
use crate::excerpt::shorten;
use crate::history::{are_distinct, use_id};
use crate::repetition::{ROUNDS_MAX, Repetition};
use crate::toolbox::{Interrupted, ToolOutcome};

/// Tool uses in one message of the model; those beyond are not run.
const USES_MAX: usize = 32;
/// Rounds of the same after which the model is told.
const ROUNDS_NOTED: usize = 3;
/// How long a tool that was told to end may take, before nobody waits for it any more.
const CUT_GRACE: Duration = Duration::from_secs(5);
/// Denials of one tool use that are explained.
const DENIALS_SHOWN_MAX: usize = 5;

const NOT_RUN: &str = "Not run: the turn was cut before it.";
pub(crate) const CUT_SHORT: &str =
    "Cut before it finished; what it had done until then is done. Check before you go on.";
const EMPTY: &str = "Your last message was empty. Answer the user, or use a tool.";
const DO_NOT_RETRY: &str = "Do not retry what was denied, and do not look for another way to the \
                            same effect; tell the user what could not be done, and why.";

/// A turn that is under way.
pub(crate) struct Turn<'a> {
    agent: &'a mut Agent,
    observer: &'a dyn Observer,
    cancel: &'a CancellationToken,
    repetition: Repetition,
    n_uses_finished: usize,
    has_been_empty: bool,
}

/// A message of the model, taken apart.
struct Said {
    blocks: Vec<AssistantBlock>,
    text: String,
    uses: Vec<ToolUse>,
}

#[derive(Clone)]
struct ToolUse {
    id: ToolUseId,
    name: String,
    input: Json,
}

/// What using the tools of one message came to.
struct Used {
    results: Vec<UserBlock>,
    notes: Vec<UserBlock>,
    cut: Option<TurnError>,
}

/// What running one tool came to, and whether the turn was cut meanwhile.
struct Ran {
    outcome: Result<ToolOutcome, Interrupted>,
    cut: Option<TurnError>,
}

/// Hands the model's text to the observer, and remembers what the provider has counted.
struct Ear<'a> {
    observer: &'a dyn Observer,
    counted: Mutex<Counted>,
}

/// What a provider has counted of one request.
#[derive(Clone, Copy, Default)]
struct Counted {
    /// In attempts that failed.
    before: Usage,
    /// In the attempt that is under way.
    now: Usage,
}

impl Ear<'_> {
    /// Returns what was counted in all attempts.
    fn counted(&self) -> Usage {
        let Counted { before: mut usage, now } = *locked(&self.counted);
        usage += now;
        usage
    }
}

impl Listener for Ear<'_> {
    fn text(&self, delta: &str) {
        self.observer.text(delta);
    }

    fn usage(&self, usage: Usage) {
        locked(&self.counted).now = usage;
    }

    fn waiting(&self, error: &ModelError, delay: Duration) {
        let mut counted = locked(&self.counted);
        let now = std::mem::take(&mut counted.now);
        counted.before += now;
        drop(counted);
        self.observer.waiting(error, delay);
    }
}

impl<'a> Turn<'a> {
    pub(crate) fn new(
        agent: &'a mut Agent,
        observer: &'a dyn Observer,
        cancel: &'a CancellationToken,
    ) -> Self {
        let repetition = Repetition::default();
        Self { agent, observer, cancel, repetition, n_uses_finished: 0, has_been_empty: false }
    }

    /// Returns whether something has happened that the model and the person should remember.
    pub(crate) fn has_finished_a_step(&self) -> bool {
        self.n_uses_finished != 0
    }

    /// Goes on until there is an answer; the budget bounds the rounds.
    pub(crate) async fn run(&mut self) -> Result<Answer, TurnError> {
        loop {
            self.check_budget()?;
            let Completion { blocks, stop, usage } = self.complete().await?;
            self.agent.meter.with(|budget| budget.spend(usage));
            let said = Said::of(blocks).map_err(TurnError::Model)?;
            if !said.text.is_empty() {
                self.observer.diagnostic(Diagnostic::AgentText { preview: preview(&said.text) });
            }
            if said.uses.is_empty() {
                self.finish_step(usage, None);
                match self.take_answer(said, stop) {
                    Some(ended) => return ended,
                    None => continue,
                }
            }
            self.observer.tools_begin(&said.blocks);
            let used = self.use_tools(&said.uses).await;
            let told = used.results.into_iter().chain(used.notes).collect();
            self.agent.history.step(said.blocks, told);
            self.observer.save_point(SavePoint::ToolStep, self.agent.history.messages());
            self.finish_step(usage, used.cut.as_ref());
            if let Some(cut) = used.cut {
                return Err(cut);
            }
        }
    }

    /// Takes a message without tool uses for the answer; an empty one is asked for once more.
    fn take_answer(&mut self, said: Said, stop: StopReason) -> Option<Result<Answer, TurnError>> {
        if !said.text.is_empty() {
            self.agent.history.answer(said.blocks);
            let usage = self.agent.meter.snapshot().usage;
            return Some(Ok(Answer { text: said.text, stop, usage }));
        }
        if self.has_been_empty {
            return Some(Err(TurnError::EmptyAnswer));
        }
        self.has_been_empty = true;
        self.agent.history.note(EMPTY);
        None
    }

    /// Asks the model, until it answers or there is a reason not to wait for it.
    async fn complete(&self) -> Result<Completion, TurnError> {
        let prompt = Prompt {
            system: &self.agent.parts.system,
            messages: self.agent.history.messages(),
            tools: &self.agent.tools.specs,
        };
        let ear = Ear { observer: self.observer, counted: Mutex::default() };
        let token = self.cancel.child_token();
        // Whoever is dropped in the middle is told as well.
        let _guard = token.clone().drop_guard();
        let started = self.agent.parts.clock.now();
        let completed = tokio::select! {
            biased;
            cut = self.cut() => Err(cut),
            completed = self.agent.parts.model.complete(prompt, &ear, &token) => {
                completed.map_err(|error| match error {
                    ModelError::Cancelled => TurnError::Cancelled,
                    error => TurnError::Model(error),
                })
            }
        };
        let counted = ear.counted();
        if completed.is_err() && counted != Usage::default() {
            // A caller that stops early still pays for what came before.
            self.agent.meter.with(|budget| budget.spend_on_nothing(counted));
        }
        self.observer.asked(&self.asked(&completed, counted, started));
        completed
    }

    /// Says what a request came to, for the record.
    fn asked(
        &self,
        completed: &Result<Completion, TurnError>,
        counted: Usage,
        started: Timestamp,
    ) -> Asked {
        let parts = &self.agent.parts;
        let taken = parts.clock.now().unix_ms().saturating_sub(started.unix_ms());
        let (usage, failed) = match completed {
            Ok(completion) => (completion.usage, None),
            Err(error) => (counted, Some(error.to_string())),
        };
        let (model, cost) = (parts.model.name(), parts.prices.cost(usage));
        Asked { model, usage, failed, cost, duration: Duration::from_millis(taken) }
    }

    async fn use_tools(&mut self, uses: &[ToolUse]) -> Used {
        let mut used = Used { results: Vec::new(), notes: Vec::new(), cut: None };
        for (at, tool_use) in uses.iter().enumerate() {
            let result = if used.cut.is_some() {
                Err(NOT_RUN.to_owned())
            } else if USES_MAX <= at {
                Err(format!("Not run: one message has at most {USES_MAX} tool uses."))
            } else {
                self.use_tool(tool_use, &mut used).await
            };
            let (content, is_error) = match result {
                Ok(outcome) => (outcome.content, outcome.is_error),
                Err(reason) => (reason, true),
            };
            used.results.push(UserBlock::ToolResult { id: tool_use.id.clone(), content, is_error });
        }
        used
    }

    /// Uses one tool; what was not run, or not to its end, is an error that says so.
    async fn use_tool(
        &mut self,
        tool_use: &ToolUse,
        used: &mut Used,
    ) -> Result<ToolOutcome, String> {
        let ToolUse { id: _, name, input } = tool_use;
        if self.cancel.is_cancelled() {
            used.cut = Some(TurnError::Cancelled);
            return Err(NOT_RUN.to_owned());
        }
        let tool = preview(name);
        self.observer.diagnostic(Diagnostic::ToolCall { tool, preview: preview_of_input(input) });
        let Ran { outcome, cut } = match self.agent.tools.fault(name, input) {
            Some(fault) => Ran { outcome: Ok(ToolOutcome::failed(fault)), cut: None },
            None => self.run_tool(name, input).await,
        };
        used.cut = cut;
        let Ok(outcome) = outcome else {
            used.cut.get_or_insert(TurnError::Cancelled);
            return Err(CUT_SHORT.to_owned());
        };
        self.n_uses_finished += 1;
        let outcome = self.prepare(name, outcome);
        used.notes.extend(explained(&outcome.denials).map(UserBlock::Note));
        let rounds = self.repetition.observe(name, input, &outcome);
        self.notice_repetition(name, rounds, used);
        Ok(outcome)
    }

    /// Runs a tool; when the turn is cut, it has a moment to end by itself.
    async fn run_tool(&self, name: &str, input: &Json) -> Ran {
        let token = self.cancel.child_token();
        let _guard = token.clone().drop_guard();
        let mut running = self.agent.parts.toolbox.run(name, input, &token);
        let cut = tokio::select! {
            biased;
            outcome = &mut running => return Ran { outcome, cut: None },
            cut = self.cut() => cut,
        };
        token.cancel();
        let outcome = time::timeout(CUT_GRACE, running).await.unwrap_or(Err(Interrupted));
        Ran { outcome, cut: Some(cut) }
    }

    /// Makes of an outcome what the model reads.
    fn prepare(&self, name: &str, outcome: ToolOutcome) -> ToolOutcome {
        let ToolOutcome { mut content, is_error, denials, violations } = outcome;
        for detail in &violations {
            let detail = preview(detail);
            self.observer.diagnostic(Diagnostic::ConfinementViolation { detail });
        }
        let bytes_max = self.agent.parts.model.result_bytes_max();
        if let Some(shortened) = shorten(&content, bytes_max) {
            let (bytes, kept_bytes) = (content.len(), bytes_max);
            let tool = preview(name);
            self.observer.diagnostic(Diagnostic::ResultTruncation { tool, bytes, kept_bytes });
            content = shortened;
        }
        if content.is_empty() {
            "(no output)".clone_into(&mut content);
        }
        ToolOutcome { content, is_error, denials, violations }
    }

    fn notice_repetition(&self, name: &str, repeats: usize, used: &mut Used) {
        let is_stopped = ROUNDS_MAX <= repeats;
        if repeats != ROUNDS_NOTED && !is_stopped {
            return;
        }
        let tool = preview(name);
        if is_stopped {
            used.cut.get_or_insert(TurnError::Loop { tool: tool.clone(), repeats });
        } else {
            used.notes.push(UserBlock::Note(format!(
                "You have done the same {repeats} times, with the same result. Do something \
                 else, or tell the user what is in the way."
            )));
        }
        self.observer.diagnostic(Diagnostic::LoopDetection { tool, repeats, is_stopped });
    }

    fn finish_step(&self, usage: Usage, cut: Option<&TurnError>) {
        let step = self.agent.meter.with(|budget| budget.n_steps());
        let Usage { prompt, completion, cached: _, cache_written: _ } = usage;
        self.observer.diagnostic(Diagnostic::StepFinish { step, prompt, completion });
        if let Some(TurnError::BudgetExhausted(_)) = cut {
            // That has been told, and is more than a warning.
            return;
        }
        let now = self.agent.parts.clock.now();
        for spent in self.agent.meter.with(|budget| budget.warnings(now)) {
            self.observer.diagnostic(Diagnostic::BudgetWarning { spent });
        }
    }

    fn check_budget(&self) -> Result<(), TurnError> {
        if self.cancel.is_cancelled() {
            return Err(TurnError::Cancelled);
        }
        let now = self.agent.parts.clock.now();
        match self.agent.meter.with(|budget| budget.exhausted(now)) {
            Some(spent) => Err(self.exhausted(spent)),
            None => Ok(()),
        }
    }

    fn exhausted(&self, spent: Spent) -> TurnError {
        self.observer.diagnostic(Diagnostic::BudgetExhausted { spent });
        TurnError::BudgetExhausted(spent)
    }

    /// Waits until there is a reason to stop in the middle of something.
    async fn cut(&self) -> TurnError {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => TurnError::Cancelled,
            spent = self.time_is_over() => self.exhausted(spent),
        }
    }

    /// Waits until the time of the turn is over; it sleeps no more often than the clock disagrees or
    /// a person was asked.
    async fn time_is_over(&self) -> Spent {
        loop {
            self.agent.parts.clock.goes_on().await;
            let now = self.agent.parts.clock.now();
            match self.agent.meter.with(|budget| budget.time_left(now)) {
                None => pending::<()>().await,
                Some(Duration::ZERO) => break,
                Some(left) => time::sleep(left).await,
            }
        }
        let spent = self.agent.meter.snapshot().spent;
        let time = spent.into_iter().find(|spent| spent.dimension == Dimension::Time);
        time.unwrap_or(Spent { dimension: Dimension::Time, used: 0, max: None })
    }
}

/// Tells the model what was denied, and what that means.
fn explained(denials: &[String]) -> Option<String> {
    let shown = denials.iter().take(DENIALS_SHOWN_MAX);
    let mut lines: Vec<_> = shown.map(|denial| format!("Denied: {}", preview(denial))).collect();
    lines.push(DO_NOT_RETRY.to_owned());
    (!denials.is_empty()).then(|| lines.join("\n"))
}

impl Said {
    /// Takes a message apart; what a provider would not take back is left out.
    fn of(blocks: Vec<AssistantBlock>) -> Result<Self, ModelError> {
        let is_blank = |block: &AssistantBlock| matches!(block, AssistantBlock::Text(text) if text.trim().is_empty());
        let blocks: Vec<_> = blocks.into_iter().filter(|block| !is_blank(block)).collect();
        let ids: Vec<_> = blocks.iter().filter_map(use_id).collect();
        if !are_distinct(&ids) {
            return Err(ModelError::Protocol("two tool uses have the same id".to_owned()));
        }
        let (mut texts, mut uses) = (Vec::new(), Vec::new());
        for block in &blocks {
            match block {
                AssistantBlock::Text(text) => texts.push(text.as_str()),
                AssistantBlock::ToolUse { id, name, input } => {
                    let (id, name, input) = (id.clone(), name.clone(), input.clone());
                    uses.push(ToolUse { id, name, input });
                }
                AssistantBlock::Verbatim { .. } => {}
            }
        }
        let text = texts.join("\n");
        Ok(Self { blocks, text, uses })
    }
}

impl crate::agent::Tools {
    /// Returns why a tool cannot be used like this, in words for the model.
    fn fault(&self, name: &str, input: &Json) -> Option<String> {
        let known = self.specs.iter().zip(&self.schemas).find(|(spec, _)| spec.name == name);
        let Some((_, schema)) = known else {
            let names: Vec<&str> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
            let name = preview(name);
            return Some(format!("There is no tool `{name}`; there is: {}.", names.join(", ")));
        };
        match input {
            Json::Object(arguments) => {
                let violation = schema.check(arguments).err()?;
                Some(format!("The input of `{name}` does not fit: {violation}."))
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                Some(format!("The input of `{name}` does not fit: it is not an object."))
            }
        }
    }
}

/// Shows the beginning of an input; of code, the code itself.
fn preview_of_input(input: &Json) -> String {
    if let Json::Object(object) = input
        && object.len() == 1
        && let Some((_, Json::String(only))) = object.iter().next()
    {
        return preview(only);
    }
    preview(&input.to_string())
}
