//! The compiler's stages that need a model, with the models, the cache, the log and the engine of this home.
//!
//! What comes of them is shown and confirmed by the commands; nothing of a policy is replaced here.

mod bench;
mod telling;
mod units;

use std::sync::{Arc, Mutex};

use ic_audit::Redactor;
use ic_compiler::cache::Files;
use ic_compiler::{AskError, Asker, Case, Compiled, CompilerError, Input, Mind, Spent};
use ic_constitution::{Faults, Stated};
use ic_home::config::{ApiKeys, Config, ConfigFile, Layers};
use ic_home::{Environment, Home};
use ic_model::{Cost, Model, ModelError};
use ic_opening::thinker::{PolicyThinker, PolicyThinkers};
use ic_types::{Json, Secret};
use tokio_util::sync::CancellationToken;

use crate::error::Failure;
use crate::screen::{Screen, visible_line};
use crate::signals::Signals;

pub(crate) use bench::{Bench, cases};
pub(crate) use telling::Log;
pub(crate) use units::units;

use telling::Telling;

/// How to get a model, for those who have none.
pub(crate) const NO_KEY: &str = "no key for a model is set: set `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` or \
                                 `GOOGLE_GENERATIVE_AI_API_KEY`";

/// The models of this home, and what is needed to ask them.
#[derive(Debug)]
pub(crate) struct Compiler {
    thinkers: PolicyThinkers,
    answers: Files,
    log: Log,
    cost_max: Option<Cost>,
}

/// What is compiled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish<'a> {
    /// The constitution as written.
    pub(crate) text: &'a str,
    /// The same, as far as the grammar understands it.
    pub(crate) stated: &'a Stated,
    /// The server that alone may be asked about.
    pub(crate) only: Option<&'a str>,
    /// The lists that sentences may name.
    pub(crate) lists: &'a [String],
    /// Whether failures may be repaired.
    pub(crate) may_repair: bool,
}

impl Compiler {
    /// Finds the models; nothing is sent.
    pub(crate) fn find(environment: &Environment) -> Result<Self, Failure> {
        let home = Home::new(environment.ironcurtain_home()?);
        let file = ConfigFile::read(&home)?;
        let config = Config::load(&Layers { flags: &[], environment, file: &file })?;
        let thinkers = PolicyThinkers::choose(&config, &home, environment)?;
        let redactor = Redactor::new(keys(&config.api_keys));
        Ok(Self {
            thinkers,
            answers: Files::new(home.compiler_answers()),
            log: Log::open(&home, redactor)?,
            cost_max: config.budget.cost_usd_max.map(Cost::from_dollars),
        })
    }

    /// Returns whether there is a model that can be asked.
    pub(crate) fn has_model(&self) -> bool {
        self.thinkers.policy.client.is_some()
    }

    /// Returns what was said to models and by them, as lines of JSON.
    pub(crate) fn exchanges(&self) -> String {
        self.log.lines()
    }

    /// Runs the stages for a constitution.
    pub(crate) fn compile(
        &self,
        wish: Wish<'_>,
        bench: &mut Bench<'_>,
        screen: &mut Screen,
    ) -> Result<Compiled, CompilingError> {
        let units = units(bench.known, bench.environment)?;
        if let Some(only) = wish.only
            && !units.iter().any(|it| it.name == only)
        {
            let names: Vec<&str> = units.iter().map(|it| it.name.as_str()).collect();
            return Err(Failure::usage(format!("`--server {only}`: there is no such server"))
                .with_hint(format!("there are: {}", names.join(", ")))
                .into());
        }
        for server in units::drafted(bench.known) {
            screen.notice(&format!(
                "{server}: not all of its tools are reviewed, and their calls need approval whatever the policy \
                 says; `ironcurtain annotate-tools --server {server}`"
            ));
        }
        let handwritten: Vec<Case> = cases(&bench.handwritten);
        let input = Input {
            text: wish.text,
            stated: wish.stated,
            units: &units,
            lists: wish.lists,
            handwritten: &handwritten,
            may_repair: wish.may_repair,
        };
        let made =
            self.ask(wish.only, screen, async |asker| ic_compiler::run(input, asker, bench).await);
        Ok(made??)
    }

    /// Does something with models, and tells of it while it goes on.
    pub(crate) fn ask<T>(
        &self,
        only: Option<&str>,
        screen: &mut Screen,
        work: impl AsyncFnOnce(&Asker<'_>) -> T,
    ) -> Result<T, Failure> {
        let runtime = crate::commands::runtime()?;
        let done = runtime.block_on(async {
            let mut signals = Signals::listen()?;
            let cancel = CancellationToken::new();
            let names = (self.thinkers.policy.id.to_string(), self.thinkers.fast.id.to_string());
            let (telling, mut told) = Telling::new(&self.log, self.thinkers.policy.prices);
            let asker = Asker {
                mind: mind(&self.thinkers.policy, &names.0),
                fast: mind(&self.thinkers.fast, &names.1),
                cache: &self.answers,
                journal: &telling,
                cancel: &cancel,
                only,
                cost_max: self.cost_max,
                spent: Mutex::default(),
            };
            let mut work = std::pin::pin!(work(&asker));
            let mut shown = telling::Shown::new();
            let done = loop {
                tokio::select! {
                    biased;
                    Some(news) = told.recv() => shown.tell(&news, screen),
                    done = &mut work => break done,
                    () = signals.any() => cancel.cancel(),
                }
            };
            while let Ok(news) = told.try_recv() {
                shown.tell(&news, screen);
            }
            shown.end(screen);
            let spent = asker.spent_so_far();
            if 0 < spent.n_asked {
                screen.notice(&spent_line(spent, &self.thinkers.policy));
            }
            Ok(done)
        });
        runtime.shutdown_background();
        done
    }
}

fn spent_line(spent: Spent, thinker: &PolicyThinker) -> String {
    format!(
        "{}: {}, {} tokens, ${:.4}; {} already known",
        thinker.id,
        ic_types::counted(spent.n_asked, "request", "requests"),
        spent.usage.total(),
        spent.cost.dollars(),
        ic_types::counted(spent.n_known, "answer", "answers")
    )
}

fn mind<'a>(thinker: &'a PolicyThinker, name: &'a str) -> Mind<'a> {
    Mind { name, model: thinker.client.as_ref().map(|it| it as &dyn Model), prices: thinker.prices }
}

fn keys(keys: &ApiKeys) -> Vec<Arc<Secret<String>>> {
    let ApiKeys { anthropic, openai, google, openai_compatible } = keys;
    [anthropic, openai, google, openai_compatible].into_iter().flatten().cloned().collect()
}

/// Why nothing was compiled.
#[derive(Debug)]
pub(crate) enum CompilingError {
    /// The stages.
    Stages(CompilerError),
    /// A file, or the command line.
    Failure(Failure),
}

impl From<CompilerError> for CompilingError {
    fn from(error: CompilerError) -> Self {
        Self::Stages(error)
    }
}

impl From<Failure> for CompilingError {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// Says why a question was not answered.
pub(crate) fn not_answered(error: &AskError) -> Failure {
    if let AskError::Model { stage, unit, error: ModelError::Cancelled } = error {
        let stage = format!("interrupted at the stage `{stage}` for {unit}; nothing was changed");
        return Failure::cancelled(visible_line(&stage)).with_hint(
            "answers that were paid for are kept, so running it again goes on from here",
        );
    }
    let failure = Failure::config(visible_line(&error.to_string()));
    match error {
        AskError::NoModel { .. } => failure.with_hint(NO_KEY),
        AskError::NotWanted { .. } => {
            failure.with_hint("leave `--server` out once, so that every server is compiled")
        }
        AskError::TooDear(_) => failure.with_hint(
            "answers that were paid for are kept; raise `budget.maxEstimatedCostUsd` and run it again",
        ),
        AskError::Model { error, .. } => match error.hint() {
            Some(hint) => failure.with_hint(format!(
                "{hint}; answers that were paid for are kept, so running it again goes on from here"
            )),
            None => failure,
        },
        AskError::Unusable { .. } => failure.with_hint(
            "run it again, say it in simpler words, or name another model with `ironcurtain config set \
             policyModelId`",
        ),
    }
}

/// Returns the mistakes of the statements that are not plain, for those who have no model.
pub(crate) fn faults(stated: &Stated) -> Faults {
    Faults(stated.free.iter().map(|it| it.fault.clone()).collect())
}

/// Says what a model said, so that it is never taken for words of ours.
pub(crate) fn quoted(text: &str) -> String {
    format!("│ {}", visible_line(text))
}

/// Writes what a person accepted for each statement.
pub(crate) fn accepted(compiled: &Compiled, at: &str) -> String {
    let statement = |it: &ic_compiler::Proposal| {
        let mut object = ic_types::Object::new();
        object.insert("line", it.statement.line as u64);
        object.insert("text", it.statement.text.as_str());
        let sentences = it.sentences.iter().map(|it| Json::from(it.text.as_str()));
        object.insert("sentences", sentences.collect::<Vec<_>>());
        Json::Object(object)
    };
    let mut file = ic_types::Object::new();
    file.insert("generatedAt", at);
    file.insert("statements", compiled.proposals.iter().map(statement).collect::<Vec<_>>());
    format!("{}\n", Json::Object(file))
}
