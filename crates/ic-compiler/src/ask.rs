//! One structured question: from the cache or from a model, checked, and asked again twice at most.
//!
//! What a stage makes of the answer is not known here.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ic_model::{
    AssistantBlock, Completion, Cost, Listener, Message, Model, ModelError, Prices, Prompt,
    StopReason, ToolSpec, ToolUseId, Usage, UserBlock,
};
use ic_schema::Schema;
use ic_types::{Digest, Json, JsonLimits, Object};
use tokio_util::sync::CancellationToken;

use crate::cache::Cache;
use crate::journal::{Event, Journal};
use crate::stage::Stage;

/// How often a model may mend its answer.
pub const REPAIRS_MAX: usize = 2;
/// The tool by which a model answers.
const ANSWER: &str = "answer";
/// Counted up when the same question may be put in other words.
const VERSION: &[u8] = b"ask-1";

/// A model, if it can be asked, and what it costs.
#[derive(Clone, Copy, Debug)]
pub struct Mind<'a> {
    /// What it is called; answers are kept by it.
    pub name: &'a str,
    /// The model; without one, only answers that are there already serve.
    pub model: Option<&'a dyn Model>,
    /// What it costs.
    pub prices: Prices,
}

/// Asks questions of the stages.
#[derive(Debug)]
pub struct Asker<'a> {
    /// Who proposes and judges.
    pub mind: Mind<'a>,
    /// Who pre-filters.
    pub fast: Mind<'a>,
    /// What was answered already.
    pub cache: &'a dyn Cache,
    /// Who hears of it.
    pub journal: &'a dyn Journal,
    /// Ends what is under way.
    pub cancel: &'a CancellationToken,
    /// The unit that may be asked about; without one, all of them.
    pub only: Option<&'a str>,
    /// The most that all questions may cost.
    pub cost_max: Option<Cost>,
    /// What was spent.
    pub spent: Mutex<Spent>,
}

/// What questions have taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Spent {
    /// How often a model was asked.
    pub n_asked: usize,
    /// How many answers were there already.
    pub n_known: usize,
    /// The tokens.
    pub usage: Usage,
    /// The money.
    pub cost: Cost,
}

impl Default for Spent {
    fn default() -> Self {
        Self { n_asked: 0, n_known: 0, usage: Usage::default(), cost: Cost::ZERO }
    }
}

/// A question.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The stage.
    pub stage: Stage,
    /// About which servers.
    pub unit: &'a str,
    /// What the model is given.
    pub input: Object,
}

/// Why there is no answer.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum AskError {
    /// No model can be asked.
    #[error("the stage `{stage}` for {unit} needs a model, and there is no key for one")]
    NoModel {
        /// The stage.
        stage: Stage,
        /// About which servers.
        unit: String,
    },
    /// Other servers were to be left alone.
    #[error(
        "the stage `{stage}` for {unit} has no earlier answer, and only {only} was to be compiled"
    )]
    NotWanted {
        /// The stage.
        stage: Stage,
        /// About which servers.
        unit: String,
        /// The server that was wanted.
        only: String,
    },
    /// The limit of costs is reached.
    #[error("the limit of ${:.2} is reached", .0.dollars())]
    TooDear(Cost),
    /// The model failed.
    #[error("the stage `{stage}` for {unit}: {error}")]
    Model {
        /// The stage.
        stage: Stage,
        /// About which servers.
        unit: String,
        /// Why.
        error: ModelError,
    },
    /// The answer was wrong each time.
    #[error("the stage `{stage}` for {unit}: the model's answer was not usable {} times: {fault}", REPAIRS_MAX + 1)]
    Unusable {
        /// The stage.
        stage: Stage,
        /// About which servers.
        unit: String,
        /// What was wrong with the last one.
        fault: String,
    },
}

impl Asker<'_> {
    /// Asks a question; `check` makes the answer usable, or says in words for a model what is wrong.
    pub async fn ask<T>(
        &self,
        question: &Question<'_>,
        check: impl Fn(&Object) -> Result<T, String>,
    ) -> Result<T, AskError> {
        let Question { stage, unit, .. } = *question;
        let mind = if stage.is_fast() { self.fast } else { self.mind };
        let text = format!("The input:\n\n{}", Json::Object(question.input.clone()));
        let key = Digest::of_parts([
            VERSION,
            stage.name().as_bytes(),
            mind.name.as_bytes(),
            stage.prompt().as_bytes(),
            stage.schema_text().as_bytes(),
            text.as_bytes(),
        ]);
        let schema = stage.schema();
        let checked = |answer: &Object| checked(&schema, answer).and_then(|()| check(answer));
        if let Some(known) = self.cache.get(&key)
            && let Ok(answer) = checked(&known)
        {
            self.spent().n_known += 1;
            self.journal.heard(&Event::Known { stage, unit });
            return Ok(answer);
        }
        let owned = unit.to_owned();
        if let Some(only) = self.only.filter(|only| *only != unit) {
            return Err(AskError::NotWanted { stage, unit: owned, only: only.to_owned() });
        }
        let model = mind.model.ok_or(AskError::NoModel { stage, unit: owned.clone() })?;
        let mut messages = vec![Message::User(vec![UserBlock::Text(text)])];
        let mut fault = String::new();
        for n_before in 0..=REPAIRS_MAX {
            let completion = self.complete((question, mind, model), &messages, n_before).await?;
            let said = answer_of(&completion);
            let checked = match &said {
                Ok(answer) => checked(answer).map(|usable| (answer, usable)),
                Err(fault) => Err(fault.clone()),
            };
            match checked {
                Ok((answer, usable)) => {
                    if let Err(why) = self.cache.put(&key, answer) {
                        self.journal.heard(&Event::NotKept(&why));
                    }
                    return Ok(usable);
                }
                Err(why) => fault = why,
            }
            let replies = replies(&completion.blocks, &fault);
            messages.push(Message::Assistant(completion.blocks));
            messages.push(Message::User(replies));
        }
        Err(AskError::Unusable { stage, unit: owned, fault })
    }

    /// Asks a model once, and keeps the exchange.
    async fn complete(
        &self,
        (question, mind, model): (&Question<'_>, Mind<'_>, &dyn Model),
        messages: &[Message],
        n_before: usize,
    ) -> Result<Completion, AskError> {
        let Question { stage, unit, .. } = *question;
        let spent = *self.spent();
        if let Some(most) = self.cost_max.filter(|most| *most <= spent.cost) {
            return Err(AskError::TooDear(most));
        }
        self.journal.heard(&Event::Asking { stage, unit, n_before });
        let answer = ToolSpec {
            name: ANSWER.to_owned(),
            description: "Takes your answer.".to_owned(),
            input_schema: stage.schema(),
        };
        let tools = [answer];
        let prompt = Prompt { system: stage.prompt(), messages, tools: &tools };
        let ear = Ear(self.journal);
        let completed = model.complete(prompt, &ear, self.cancel).await;
        let mut exchange = Object::new();
        exchange.insert("stage", stage.name());
        exchange.insert("about", unit);
        exchange.insert("model", mind.name);
        exchange.insert("prompt", Digest::of(stage.prompt().as_bytes()).to_string());
        let asked = messages.last().map(Message::to_json);
        exchange.insert("asked", asked.unwrap_or(Json::Null));
        match &completed {
            Ok(completion) => {
                let said = Message::Assistant(completion.blocks.clone());
                exchange.insert("said", said.to_json());
                exchange.insert("tokensIn", completion.usage.prompt);
                exchange.insert("tokensOut", completion.usage.completion);
            }
            Err(error) => exchange.insert("failed", error.to_string()),
        }
        self.journal.exchanged(exchange);
        let completion =
            completed.map_err(|error| AskError::Model { stage, unit: unit.to_owned(), error })?;
        let mut spent = self.spent();
        spent.n_asked += 1;
        spent.usage += completion.usage;
        spent.cost = spent.cost.plus(mind.prices.cost(completion.usage));
        drop(spent);
        self.journal.heard(&Event::Answered { stage, unit, usage: completion.usage });
        Ok(completion)
    }

    fn spent(&self) -> std::sync::MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what was spent so far.
    pub fn spent_so_far(&self) -> Spent {
        *self.spent()
    }
}

/// Holds an answer against its schema.
fn checked(schema: &Object, answer: &Object) -> Result<(), String> {
    let schema = Schema::compile(&Json::Object(schema.clone())).map_err(|it| it.to_string())?;
    schema.check(answer).map_err(|violation| violation.to_string())
}

/// Returns what a model answered: the input of the tool, or JSON in its text.
fn answer_of(completion: &Completion) -> Result<Object, String> {
    let used = completion.blocks.iter().find_map(|block| match block {
        AssistantBlock::ToolUse { input, .. } => Some(input.clone()),
        AssistantBlock::Text(_) | AssistantBlock::Verbatim { .. } => None,
    });
    if completion.stop == StopReason::MaxTokens {
        return Err("the answer was cut off because it is too long; answer with less".to_owned());
    }
    let text = || {
        let texts = completion.blocks.iter().filter_map(|block| match block {
            AssistantBlock::Text(text) => Some(text.as_str()),
            AssistantBlock::ToolUse { .. } | AssistantBlock::Verbatim { .. } => None,
        });
        let text: String = texts.collect();
        let (from, to) = (text.find('{')?, text.rfind('}')?);
        Json::parse(text.get(from..=to)?.as_bytes(), JsonLimits::CALL).ok()
    };
    match used.or_else(text) {
        Some(Json::Object(answer)) => Ok(answer),
        Some(_) | None => Err("call the tool `answer` with a JSON object".to_owned()),
    }
}

/// Says to a model what is wrong with its message.
fn replies(blocks: &[AssistantBlock], fault: &str) -> Vec<UserBlock> {
    let said =
        format!("This cannot be used: {fault}\nAnswer again, whole, with the tool `answer`.");
    let uses: Vec<ToolUseId> = blocks
        .iter()
        .filter_map(|block| match block {
            AssistantBlock::ToolUse { id, .. } => Some(id.clone()),
            AssistantBlock::Text(_) | AssistantBlock::Verbatim { .. } => None,
        })
        .collect();
    if uses.is_empty() {
        return vec![UserBlock::Text(said)];
    }
    let reply = |id| UserBlock::ToolResult { id, content: said.clone(), is_error: true };
    uses.into_iter().map(reply).collect()
}

/// Hears a model while it answers.
struct Ear<'a>(&'a dyn Journal);

impl Listener for Ear<'_> {
    fn text(&self, _: &str) {}

    fn usage(&self, usage: Usage) {
        self.0.heard(&Event::Counted(usage));
    }

    fn waiting(&self, error: &ModelError, delay: Duration) {
        self.0.heard(&Event::Waiting(error, delay));
    }
}
