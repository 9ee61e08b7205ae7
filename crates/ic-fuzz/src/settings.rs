//! What `cargo xtask fuzz` tells a target; without it, a target runs as part of the test suite.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "test support: a setting that cannot be read is a failed test"
)]

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use crate::report;

/// How many inputs a target of the test suite tries beside its seeds.
pub(crate) const RUNS: u64 = 10_000;
/// After this long a target of the test suite ends, however few inputs a busy machine has tried.
const SUITE_TIME_MAX: Duration = Duration::from_secs(4);

/// The settings of a run.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) seed: u64,
    target: Option<String>,
    seconds: Option<u64>,
    input: Option<PathBuf>,
    is_traced: bool,
}

/// When a run is over.
#[derive(Debug)]
pub(crate) enum Until {
    /// This one input was checked.
    Input(Vec<u8>),
    /// So many inputs were.
    Runs(u64),
    /// So much time has passed.
    Time(Duration),
}

impl Settings {
    /// Reads them from the environment.
    pub(crate) fn read() -> Self {
        Self {
            seed: value("FUZZ_SEED").unwrap_or(1),
            target: value("FUZZ_TARGET"),
            seconds: value("FUZZ_SECONDS"),
            input: value("FUZZ_INPUT"),
            is_traced: value::<String>("FUZZ_TRACE").is_some(),
        }
    }

    /// Whether this run is for the target called `name`.
    pub(crate) fn is_for(&self, name: &str) -> bool {
        self.target.as_ref().is_none_or(|it| it == name)
    }

    pub(crate) fn until(&self, runs: u64) -> Until {
        match (&self.input, self.seconds) {
            (Some(path), _) => Until::Input(bytes(path)),
            (None, Some(seconds)) => Until::Time(Duration::from_secs(seconds)),
            (None, None) => Until::Runs(runs),
        }
    }

    /// Saves an input before it is checked, for parsers that end the whole process.
    pub(crate) fn trace(&self, name: &str, input: &[u8]) {
        if self.is_traced {
            report::save(&format!("{name}.last"), input);
        }
    }
}

impl Until {
    pub(crate) fn is_over(&self, n_mutated: u64, start: Instant) -> bool {
        match self {
            Self::Input(_) => true,
            Self::Runs(runs) => *runs <= n_mutated || SUITE_TIME_MAX <= start.elapsed(),
            Self::Time(time) => *time <= start.elapsed(),
        }
    }
}

fn value<T: FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().ok().expect("a setting of the right form"))
}

/// Reads a saved input.
pub(crate) fn bytes(path: impl AsRef<Path>) -> Vec<u8> {
    std::fs::read(path).expect("a readable input")
}
