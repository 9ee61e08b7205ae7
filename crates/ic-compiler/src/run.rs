//! All stages, unit by unit: proposals that pass the scenarios by the real engine, or a failure that says why.
//!
//! Nothing is written here, and nothing takes force: that is for a person to decide who has seen the sentences.

use ic_constitution::{Constitution, Free, Sentence, Stated};
use ic_types::{Json, Object};

use crate::ask::{AskError, Asker};
use crate::cases::{self, Case};
use crate::engine::{Engine, EngineFault, Finding};
use crate::journal::Event;
use crate::judge::{self, Failure, Ruling};
use crate::sentences::{self, Context, Proposed};
use crate::unit::{Unit, opens};

/// How often sentences or scenarios may be repaired.
pub const ROUNDS_MAX: usize = 3;

/// What is to be compiled.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The constitution as written.
    pub text: &'a str,
    /// The same, as far as the grammar understands it.
    pub stated: &'a Stated,
    /// The servers.
    pub units: &'a [Unit],
    /// The lists that sentences may name.
    pub lists: &'a [String],
    /// What a person wrote to test it.
    pub handwritten: &'a [Case],
    /// Whether failures may be repaired.
    pub may_repair: bool,
}

/// A free statement, with the number by which a model names it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Statement {
    /// The number, from 1.
    pub id: usize,
    /// The line on which it begins.
    pub line: usize,
    /// Its words.
    pub text: String,
}

/// The sentences that stand for a statement.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Proposal {
    /// The statement.
    pub statement: Statement,
    /// The sentences, in our words.
    pub sentences: Vec<Sentence>,
    /// What the model says of it, which is not to be shown as words of ours.
    pub notes: Vec<String>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// All sentences, in the order of their lines.
    pub constitution: Constitution,
    /// What stands for the free statements.
    pub proposals: Vec<Proposal>,
    /// The scenarios of the model, corrected where they were wrong.
    pub cases: Vec<Case>,
    /// What was corrected about scenarios, for people.
    pub corrections: Vec<String>,
    /// The servers that no free statement has to do with.
    pub skipped: Vec<String>,
}

/// Why nothing came of it.
#[derive(Debug, thiserror::Error)]
pub enum CompilerError {
    /// A question was not answered.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// A statement has no plain sentences.
    #[error("a statement could not be turned into plain sentences")]
    NotUnderstood(Vec<Proposal>),
    /// The engine could not judge.
    #[error("{0}")]
    Engine(EngineFault),
    /// Scenarios still fail.
    #[error("{unit}: the policy does not say what its scenarios say")]
    NotVerified {
        /// The servers.
        unit: String,
        /// The failures, for people.
        failures: Vec<String>,
        /// How many rounds of repair there were.
        n_rounds: usize,
        /// What there is, for somebody to look at.
        left: Box<Compiled>,
    },
}

impl Statement {
    pub(crate) fn to_object(&self) -> Object {
        let mut object = Object::new();
        object.insert("id", self.id as u64);
        object.insert("line", self.line as u64);
        object.insert("text", self.text.as_str());
        object
    }

    pub(crate) fn all_to_json(all: &[Self]) -> Json {
        Json::Array(all.iter().map(|it| Json::Object(it.to_object())).collect())
    }
}

impl Proposal {
    /// Returns whether a sentence opens something.
    pub fn opens(&self) -> bool {
        self.sentences.iter().any(opens)
    }
}

/// Runs all stages.
pub async fn run(
    input: Input<'_>,
    asker: &Asker<'_>,
    engine: &mut dyn Engine,
) -> Result<Compiled, CompilerError> {
    let number = |(at, free): (usize, &Free)| Statement {
        id: at + 1,
        line: free.line,
        text: free.text.clone(),
    };
    let statements: Vec<Statement> = input.stated.free.iter().enumerate().map(number).collect();
    let proposal = |it: &Statement| Proposal {
        statement: it.clone(),
        sentences: Vec::new(),
        notes: Vec::new(),
    };
    let mut made = Compiled {
        constitution: input.stated.plain.clone(),
        proposals: statements.iter().map(proposal).collect(),
        cases: Vec::new(),
        corrections: Vec::new(),
        skipped: Vec::new(),
    };
    if statements.is_empty() {
        return Ok(made);
    }
    for unit in input.units.iter().filter(|it| !it.tools.is_empty()) {
        let relevant = sentences::relevant(asker, unit, &statements).await?;
        if relevant.is_empty() {
            asker.journal.heard(&Event::Skipped(&unit.name));
            made.skipped.push(unit.name.clone());
            continue;
        }
        made = UnitRun { input, asker, unit, relevant }.run(made, engine).await?;
    }
    // SECURITY: a statement that nobody understood may be a restriction, and is never dropped.
    if made.proposals.iter().any(|it| it.sentences.is_empty()) {
        let is_empty = |it: &Proposal| it.sentences.is_empty();
        return Err(CompilerError::NotUnderstood(
            made.proposals.into_iter().filter(is_empty).collect(),
        ));
    }
    // What each unit passed alone has to hold together.
    let all = merged(&input.stated.plain, &made.proposals, &[]);
    let cases = all_cases(input, &made, &[]);
    let findings = engine.judge(&all, &cases).map_err(CompilerError::Engine)?;
    let failures = failing(&cases, findings);
    made.constitution = all;
    if failures.is_empty() {
        Ok(made)
    } else {
        Err(not_verified("all servers", &failures, 0, made))
    }
}

/// One unit on its way through the stages.
struct UnitRun<'a> {
    input: Input<'a>,
    asker: &'a Asker<'a>,
    unit: &'a Unit,
    relevant: Vec<Statement>,
}

impl UnitRun<'_> {
    async fn run(
        &self,
        made: Compiled,
        engine: &mut dyn Engine,
    ) -> Result<Compiled, CompilerError> {
        let Input { text, .. } = self.input;
        let mut made = made;
        let mut proposed = self.propose(&self.relevant, &[]).await?;
        let mut cases = cases::ask(self.asker, self.unit, text, &self.relevant).await?;
        for round in 0..=ROUNDS_MAX {
            let constitution = merged(&self.input.stated.plain, &made.proposals, &proposed);
            let all = all_cases(self.input, &made, &cases);
            let is_over = round == ROUNDS_MAX || !self.input.may_repair;
            let failures = match engine.judge(&constitution, &all) {
                Ok(findings) => failing(&all, findings),
                Err(EngineFault::Sentences(faults)) if !is_over => {
                    // Sentences that contradict each other are the proposals', since the others stood before.
                    let feedback = [format!("together they cannot be compiled: {faults}")];
                    proposed = self.propose(&self.relevant, &feedback).await?;
                    continue;
                }
                Err(fault) => return Err(CompilerError::Engine(fault)),
            };
            if failures.is_empty() {
                add(&mut made, proposed);
                made.constitution = constitution;
                made.cases.extend(cases);
                return Ok(made);
            }
            let (unit, n_failed) = (self.unit.name.as_str(), failures.len());
            self.asker.journal.heard(&Event::Failed { unit, round: round + 1, n_failed });
            if is_over {
                add(&mut made, proposed);
                made.constitution = constitution;
                made.cases.extend(cases);
                return Err(not_verified(unit, &failures, round, made));
            }
            let candidates = self.candidates(&proposed);
            let rulings = judge::ask(self.asker, (unit, text), &candidates, &failures).await?;
            // Those of this unit come last.
            let first_own = all.len() - cases.len();
            correct(&rulings, (&mut cases, first_own), &mut made.corrections);
            let feedback: Vec<String> = feedback(&rulings, &failures);
            let again: Vec<Statement> = self
                .relevant
                .iter()
                .filter(|it| rulings.iter().any(|ruling| ruling.statements.contains(&it.id)))
                .cloned()
                .collect();
            if !again.is_empty() {
                let fresh = self.propose(&again, &feedback).await?;
                proposed.retain(|it| !fresh.iter().any(|fresh| fresh.id == it.id));
                proposed.extend(fresh);
                proposed.sort_by_key(|it| it.id);
            }
        }
        // INVARIANT: the last round returns.
        Err(not_verified(&self.unit.name, &[], ROUNDS_MAX, made))
    }

    async fn propose(
        &self,
        statements: &[Statement],
        feedback: &[String],
    ) -> Result<Vec<Proposed>, AskError> {
        let context = Context { text: self.input.text, lists: self.input.lists, feedback };
        sentences::ask(self.asker, self.unit, context, statements).await
    }

    /// Returns the statements of the unit with what is proposed for them now.
    fn candidates(&self, proposed: &[Proposed]) -> Vec<Proposal> {
        let candidate = |statement: &Statement| {
            let of = proposed.iter().filter(|it| it.id == statement.id);
            let sentences = of.flat_map(|it| it.sentences.clone()).collect();
            Proposal { statement: statement.clone(), sentences, notes: Vec::new() }
        };
        self.relevant.iter().map(candidate).collect()
    }
}

/// Adds what was proposed for one unit.
fn add(made: &mut Compiled, proposed: Vec<Proposed>) {
    for Proposed { id, sentences, note } in proposed {
        let Some(proposal) = made.proposals.iter_mut().find(|it| it.statement.id == id) else {
            continue;
        };
        for sentence in sentences {
            if !proposal.sentences.contains(&sentence) {
                proposal.sentences.push(sentence);
            }
        }
        if !note.trim().is_empty() {
            proposal.notes.push(note);
        }
    }
}

/// Returns all sentences in the order of their lines.
fn merged(plain: &Constitution, proposals: &[Proposal], proposed: &[Proposed]) -> Constitution {
    let mut sentences = plain.sentences.clone();
    let fresh = proposed.iter().flat_map(|it| &it.sentences);
    for sentence in proposals.iter().flat_map(|it| &it.sentences).chain(fresh) {
        if !sentences.contains(sentence) {
            sentences.push(sentence.clone());
        }
    }
    sentences.sort_by_key(|it| it.line);
    Constitution { sentences, kept: plain.kept.clone(), lists: plain.lists.clone() }
}

/// Returns what a person wrote, what earlier units passed, and what this one has to.
fn all_cases(input: Input<'_>, made: &Compiled, own: &[Case]) -> Vec<Case> {
    input.handwritten.iter().chain(&made.cases).chain(own).cloned().collect()
}

fn failing(cases: &[Case], findings: Vec<Finding>) -> Vec<Failure> {
    let pairs = cases.iter().zip(findings).enumerate();
    let failed = pairs.filter(|(_, (case, finding))| {
        // What holds for every policy may be stricter than a sentence; a person's scenario says otherwise.
        let is_excused =
            finding.is_structural && finding.decision != "allow" && !case.is_handwritten;
        !finding.passed && !is_excused
    });
    failed.map(|(at, (case, finding))| Failure { at, case: case.clone(), finding }).collect()
}

/// Changes what scenarios of this unit expect, where they are to blame.
fn correct(
    rulings: &[Ruling],
    (cases, first_own): (&mut [Case], usize),
    corrections: &mut Vec<String>,
) {
    for ruling in rulings {
        let Some(expected) = &ruling.expected else { continue };
        let own = ruling.at.checked_sub(first_own).and_then(|at| cases.get_mut(at));
        // SECURITY: checked again here, so that no answer of the judge reaches what a person wrote.
        let Some(case) = own.filter(|it| !it.is_handwritten) else { continue };
        corrections.push(format!(
            "{}: expects {expected} instead of {}: {}",
            case.scenario.description, case.scenario.expected, ruling.why
        ));
        case.scenario.expected.clone_from(expected);
    }
}

fn feedback(rulings: &[Ruling], failures: &[Failure]) -> Vec<String> {
    let said = |ruling: &Ruling| {
        let failure = failures.iter().find(|it| it.at == ruling.at)?;
        let scenario = &failure.case.scenario;
        let expected = ruling.expected.as_ref().unwrap_or(&scenario.expected);
        Some(format!(
            "{} {}: expected {expected}, got {}: {}",
            scenario.tool,
            Json::Object(scenario.arguments.clone()),
            failure.finding.decision,
            ruling.why
        ))
    };
    rulings.iter().filter(|it| !it.statements.is_empty()).filter_map(said).collect()
}

fn not_verified(
    unit: &str,
    failures: &[Failure],
    n_rounds: usize,
    left: Compiled,
) -> CompilerError {
    let said = |Failure { case, finding, .. }: &Failure| {
        let (scenario, by) = (&case.scenario, if case.is_handwritten { " (yours)" } else { "" });
        format!(
            "{}{by}: expected {}, got {} by {}",
            scenario.description, scenario.expected, finding.decision, finding.by
        )
    };
    let failures = failures.iter().map(said).collect();
    CompilerError::NotVerified { unit: unit.to_owned(), failures, n_rounds, left: Box::new(left) }
}
