//! The part of compiling that may need a model: what stands for free statements, and how it is shown.
//!
//! Nobody is asked here, and nothing is put in force.

use std::path::{Path, PathBuf};

use ic_compiler::{Compiled, CompilerError, Proposal};
use ic_constitution::{Constitution, Sentence, Stated, stated};
use ic_home::{Clock as _, Environment, SystemClock, file};
use ic_opening::files;
use ic_opening::policy::{COMPILED, Loaded};
use ic_types::{Json, JsonLimits};

use super::CompileArgs;
use crate::compiling::{self, Bench, Compiler, CompilingError, Wish};
use crate::error::Failure;
use crate::own_policy::constitution::{Made, Sentences, failed, making};
use crate::own_policy::english;
use crate::screen::{Screen, visible_line};

/// What a person accepted for each free statement.
const ACCEPTED: &str = "sentences.json";
/// What was said to models and by them.
const EXCHANGES: &str = "model-log.jsonl";
const LISTS: &str = "dynamic-lists.json";

/// What is to be compiled, and where it goes.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub(super) args: &'a CompileArgs,
    pub(super) source: &'a Path,
    pub(super) output: &'a Path,
    pub(super) known: &'a Loaded,
    pub(super) environment: &'a Environment,
}

/// What a model proposed, and what it took to get there.
#[derive(Debug)]
pub(super) struct Proposed {
    compiled: Compiled,
    exchanges: String,
}

impl Job<'_> {
    /// Compiles a constitution, with a model where it is not plain.
    pub(super) fn make(
        &self,
        text: &str,
        handwritten: Vec<Json>,
        screen: &mut Screen,
    ) -> Result<(Made, Option<Proposed>), Failure> {
        let file = self.source.display().to_string();
        let stated = stated(text).map_err(|faults| failed(&file, &faults))?;
        let tools = english::tools(self.known);
        if stated.free.is_empty() {
            let made = Made::of(text, &tools, self.output, handwritten);
            return Ok((made.map_err(|error| error.of(&file))?, None));
        }
        let compiler = Compiler::find(self.environment)?;
        let is_there = files::read_if_present(&self.output.join(COMPILED))?.is_some();
        let mut bench = Bench {
            text,
            tools: tools.clone(),
            output: self.output,
            base: if is_there { self.output.to_owned() } else { PathBuf::from("default") },
            handwritten: handwritten.clone(),
            known: self.known,
            environment: self.environment,
        };
        let mut lists = self.lists()?;
        lists.extend(stated.plain.lists.iter().map(|it| it.name.clone()));
        let wish = Wish {
            text,
            stated: &stated,
            only: self.args.server.as_deref(),
            lists: &lists,
            may_repair: !self.args.no_repair,
        };
        let compiled = match compiler.compile(wish, &mut bench, screen) {
            Ok(compiled) => compiled,
            Err(CompilingError::Failure(failure)) => return Err(failure),
            Err(CompilingError::Stages(error)) => {
                return Err(self.failure((error, &stated), &compiler, &tools));
            }
        };
        let sentences = Sentences {
            text,
            constitution: named(&compiled),
            tested: compiled.cases.iter().map(|it| it.scenario.clone()).collect(),
        };
        let made = Made::of_sentences(sentences, &tools, self.output, handwritten);
        let made = made.map_err(|error| error.of(&file))?;
        Ok((made, Some(Proposed { compiled, exchanges: compiler.exchanges() })))
    }

    /// Says why nothing came of it, and leaves what there is for somebody to look at.
    fn failure(
        &self,
        (error, stated): (CompilerError, &Stated),
        compiler: &Compiler,
        tools: &[ic_constitution::Tool],
    ) -> Failure {
        let file = self.source.display().to_string();
        match error {
            CompilerError::Ask(ic_compiler::AskError::NoModel { .. }) if !compiler.has_model() => {
                failed(&file, &compiling::faults(stated)).with_hint(format!(
                    "`ironcurtain policy grammar` shows how plain sentences are written; with a model, free \
                     English works too, but {}",
                    compiling::NO_KEY
                ))
            }
            CompilerError::Ask(error) => compiling::not_answered(&error),
            CompilerError::NotUnderstood(proposals) => {
                let details = proposals.iter().flat_map(not_understood).collect();
                Failure::config(format!(
                    "`{file}` cannot be compiled: the model found no plain sentences for some of it; nothing was \
                     changed"
                ))
                .with_details(details)
                .with_hint("say it in other words, or put `> ` before a line that is only a remark")
            }
            CompilerError::Engine(fault) => {
                let details = fault.to_string().lines().map(visible_line).collect();
                Failure::config("the proposed sentences cannot be compiled; nothing was changed")
                    .with_details(details)
            }
            CompilerError::NotVerified { unit, failures, n_rounds, left } => {
                let left = self.leave(&left, compiler, tools);
                let rounds = ic_types::counted(n_rounds, "round", "rounds");
                let message = format!(
                    "{unit}: the compiled policy does not say what its scenarios say, after {rounds} of repair"
                );
                let hint = match left {
                    Ok(place) => {
                        format!("nothing was replaced; the files are in `{}`", place.display())
                    }
                    Err(failure) => format!("nothing was replaced, and nothing left: {failure}"),
                };
                let details = failures.iter().map(|it| visible_line(it)).collect();
                Failure::config(message).with_details(details).with_hint(hint)
            }
        }
    }

    fn leave(
        &self,
        left: &Compiled,
        compiler: &Compiler,
        tools: &[ic_constitution::Tool],
    ) -> Result<PathBuf, Failure> {
        let making = making(self.environment)?;
        let sentences = Sentences {
            text: "",
            constitution: named(left),
            tested: left.cases.iter().map(|it| it.scenario.clone()).collect(),
        };
        let made = Made::of_sentences(sentences, tools, self.output, Vec::new());
        made.map_err(|error| error.of("the proposed sentences"))?.leave(&making)?;
        let accepted = compiling::accepted(left, &SystemClock.now().to_string());
        file::create_new(making.join(ACCEPTED), accepted.as_bytes())?;
        file::create_new(making.join(EXCHANGES), compiler.exchanges().as_bytes())?;
        Ok(making)
    }

    /// Returns the names of the lists that the policy has.
    fn lists(&self) -> Result<Vec<String>, Failure> {
        let Some(bytes) = files::read_if_present(&self.output.join(LISTS))? else {
            return Ok(Vec::new());
        };
        Ok(match Json::parse(&bytes, JsonLimits::ARTIFACT) {
            Ok(Json::Object(file)) => match file.get("lists") {
                Some(Json::Object(lists)) => lists.keys().map(str::to_owned).collect(),
                _ => Vec::new(),
            },
            // What is wrong with it is said when the policy is loaded.
            Ok(_) | Err(_) => Vec::new(),
        })
    }
}

fn not_understood(proposal: &Proposal) -> Vec<String> {
    let statement = &proposal.statement;
    let line = format!("line {}: `{}`", statement.line, statement.text);
    let notes = proposal.notes.iter().map(|note| format!("  {}", compiling::quoted(note)));
    std::iter::once(visible_line(&line)).chain(notes).collect()
}

/// Returns the sentences, those of a model with the words that they stand for.
fn named(compiled: &Compiled) -> Constitution {
    let named = |sentence: &Sentence| {
        let stands_for = compiled.proposals.iter().find(|it| it.sentences.contains(sentence));
        match stands_for {
            Some(Proposal { statement, .. }) => {
                let text = format!("{} (read as: {})", statement.text, sentence.text);
                Sentence { text, ..sentence.clone() }
            }
            None => sentence.clone(),
        }
    };
    let Constitution { sentences, .. } = &compiled.constitution;
    Constitution {
        sentences: sentences.iter().map(named).collect(),
        ..compiled.constitution.clone()
    }
}

impl Proposed {
    /// Returns what a person has to see before they accept it.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            "What you wrote, and the plain sentences that a model proposes for it:".to_owned(),
        ];
        for Proposal { statement, sentences, notes } in &self.compiled.proposals {
            let wrote = format!("  line {}: {}", statement.line, statement.text);
            lines.push(visible_line(&wrote));
            let plain = sentences.iter().map(|it| visible_line(&format!("      {}", it.text)));
            lines.extend(plain);
            lines.extend(notes.iter().map(|note| format!("      {}", compiling::quoted(note))));
        }
        if !self.compiled.corrections.is_empty() {
            lines.push("Tests that the model wrote and took back:".to_owned());
            let all = self.compiled.corrections.iter();
            lines.extend(all.map(|it| format!("  {}", compiling::quoted(it))));
        }
        for server in &self.compiled.skipped {
            lines.push(visible_line(&format!("Nothing of it is about the server {server}.")));
        }
        lines
    }

    /// Returns whether a person has accepted exactly this for the policy in `output`.
    pub(super) fn is_accepted_in(&self, output: &Path) -> bool {
        let read = files::read_if_present(&output.join(ACCEPTED));
        let Ok(Some(bytes)) = read else { return false };
        let statements = |bytes: &[u8]| match Json::parse(bytes, JsonLimits::ARTIFACT) {
            Ok(Json::Object(mut file)) => file.remove("statements"),
            Ok(_) | Err(_) => None,
        };
        let ours = compiling::accepted(&self.compiled, "");
        let accepted = statements(&bytes);
        accepted.is_some() && accepted == statements(ours.as_bytes())
    }

    /// Writes what was accepted, and the exchanges, beside the policy; where nothing was proposed, none is left.
    pub(super) fn write(proposed: Option<&Self>, output: &Path) -> Result<(), Failure> {
        let accepted = output.join(ACCEPTED);
        let Some(proposed) = proposed else {
            if files::read_if_present(&accepted)?.is_some() {
                file::remove(&accepted)?;
            }
            return Ok(());
        };
        let text = compiling::accepted(&proposed.compiled, &SystemClock.now().to_string());
        file::replace(accepted, text.as_bytes())?;
        if !proposed.exchanges.is_empty() {
            file::replace(output.join(EXCHANGES), proposed.exchanges.as_bytes())?;
        }
        Ok(())
    }
}
