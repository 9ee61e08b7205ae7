//! Mutated inputs for parsers of hostile bytes.
//!
//! A target is a parser, inputs to begin with, words that its format is made of, and a check that says
//! more than "it did not panic". It lives in the crate of its parser as an ordinary test, which tries a
//! few thousand inputs; `cargo xtask fuzz NAME --minutes N` runs the same test for longer.
//!
//! ```text
//! seeds, words ─▶ mutate ─▶ check ─▶ Outcome: of a new kind? then it is mutated further
//!                             └────▶ a panic: made smaller, saved, reported
//! ```
//!
//! Everything follows from the seed, so the same seed finds the same input again. Coverage is not
//! measured; what stands in for it is the kind of outcome that a check reports.
//!
//! Never part of the product: other crates use it as a dev-dependency only.

mod dice;
mod mutate;
mod report;
mod settings;
pub mod shared;
mod shrink;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use dice::Dice;
use mutate::Mutator;
use settings::{Settings, Until};

/// The longest input, unless a target says otherwise.
const INPUT_BYTES_MAX: usize = 4 << 10;
/// How many inputs are kept because their outcome was new.
const KEPT_MAX: usize = 512;
/// No input of this size may take longer, even on a busy machine.
const INPUT_TIME_MAX: Duration = Duration::from_secs(20);

/// A parser to be tried.
#[derive(Debug)]
pub struct Target {
    name: &'static str,
    seeds: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
    bytes_max: usize,
    runs: u64,
}

/// What a check saw of an input that it found nothing wrong with.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Outcome {
    is_accepted: bool,
    kind: u64,
}

/// What a run amounted to.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    n_inputs: u64,
    n_accepted: u64,
    n_kinds: usize,
    slowest: Duration,
}

// === impl Outcome ===

impl Outcome {
    /// The parser took the input; `kind` tells coarsely what it read.
    pub fn accepted(kind: impl Hash) -> Self {
        Self { is_accepted: true, kind: hash(kind) }
    }

    /// The parser refused the input; `kind` tells coarsely why.
    pub fn refused(kind: impl Hash) -> Self {
        Self { is_accepted: false, kind: hash(kind) }
    }
}

/// The same on every run, unlike a hasher with keys of its own.
fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

// === impl Target ===

impl Target {
    /// Makes a target; `name` is what `cargo xtask fuzz` calls it.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            seeds: Vec::new(),
            words: Vec::new(),
            bytes_max: INPUT_BYTES_MAX,
            runs: settings::RUNS,
        }
    }

    /// Adds inputs to begin with.
    #[must_use]
    pub fn seeds<T: AsRef<[u8]>>(mut self, seeds: impl IntoIterator<Item = T>) -> Self {
        self.seeds.extend(seeds.into_iter().map(|it| it.as_ref().to_vec()));
        self
    }

    /// Adds the hostile inputs of a corpus beside the project, where it is present.
    #[must_use]
    pub fn corpus(self, name: &str) -> Self {
        self.seeds(shared::inputs(name))
    }

    /// Adds words that the format is made of.
    #[must_use]
    pub fn words<T: AsRef<[u8]>>(mut self, words: impl IntoIterator<Item = T>) -> Self {
        self.words.extend(words.into_iter().map(|it| it.as_ref().to_vec()));
        self
    }

    /// Sets the length of the longest input.
    #[must_use]
    pub fn bytes_max(mut self, bytes_max: usize) -> Self {
        self.bytes_max = bytes_max;
        self
    }

    /// Sets how many inputs the test suite tries, for a check that is slow.
    #[must_use]
    pub fn runs(mut self, runs: u64) -> Self {
        self.runs = runs;
        self
    }

    /// Tries inputs until the run is over, and panics with the smallest input that was found if `check`
    /// panics or takes too long.
    pub fn run(self, check: impl Fn(&[u8]) -> Outcome) {
        let settings = Settings::read();
        if !settings.is_for(self.name) {
            return;
        }
        match settings.until(self.runs) {
            Until::Input(input) => {
                let outcome = check(&input);
                report::say(&format!("{}: {outcome:?}", self.name));
            }
            until @ (Until::Runs(_) | Until::Time(_)) => {
                let counts = self.search(&settings, &until, &check);
                report::summary(self.name, settings.seed, &counts);
            }
        }
    }

    fn search(
        &self,
        settings: &Settings,
        until: &Until,
        check: &dyn Fn(&[u8]) -> Outcome,
    ) -> Counts {
        let start = report::now();
        let mut dice = Dice::new(settings.seed ^ hash(self.name));
        let (mut corpus, mut good) = (self.seeds.clone(), Vec::new());
        if corpus.is_empty() {
            corpus.push(Vec::new());
        }
        let n_seeds = corpus.len() as u64;
        let (mut kinds, mut counts) = (HashSet::new(), Counts::default());
        while !until.is_over(counts.n_inputs.saturating_sub(n_seeds), start) {
            let seed = usize::try_from(counts.n_inputs).ok().and_then(|n| self.seeds.get(n));
            let input = seed.cloned().unwrap_or_else(|| {
                // Half of the time from what was accepted: most changes of other inputs are refused at once.
                let of = if !good.is_empty() && dice.is_one_in(2) { &good } else { &corpus };
                Mutator::new(&self.words, of, self.bytes_max, &mut dice).mutate(&mut dice)
            });
            settings.trace(self.name, &input);
            counts.n_inputs += 1;
            let (tried, took) = guarded(check, &input);
            counts.slowest = counts.slowest.max(took);
            let outcome = match tried {
                Ok(outcome) if took < INPUT_TIME_MAX => outcome,
                Ok(_) => report::fail(self.name, settings.seed, &input, "it takes too long"),
                Err(message) => {
                    let smaller = shrink::shrink(check, &input);
                    report::fail(self.name, settings.seed, &smaller, &message)
                }
            };
            counts.n_accepted += u64::from(outcome.is_accepted);
            if kinds.insert(outcome) && good.len() + corpus.len() < self.seeds.len() + KEPT_MAX {
                let kept = if outcome.is_accepted { &mut good } else { &mut corpus };
                kept.push(input);
            }
        }
        counts.n_kinds = kinds.len();
        counts
    }
}

/// Checks one input; a panic comes back as its message.
fn guarded(check: &dyn Fn(&[u8]) -> Outcome, input: &[u8]) -> (Result<Outcome, String>, Duration) {
    let start: Instant = report::now();
    let tried = catch_unwind(AssertUnwindSafe(|| check(input))).map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        text.unwrap_or("it panics").to_owned()
    });
    (tried, start.elapsed())
}

/// Ways to cut `bytes` into pieces: byte by byte, and in two at every place, or at sixty of many.
pub fn splits(bytes: &[u8]) -> impl Iterator<Item = Vec<&[u8]>> {
    const PLACES: usize = 60;
    let step = bytes.len() / PLACES + 1;
    let halves = (0..=bytes.len()).step_by(step).map(|at| {
        let (before, after) = bytes.split_at(at);
        vec![before, after]
    });
    std::iter::once(bytes.chunks(1).collect()).chain(halves)
}

#[cfg(test)]
mod tests;
