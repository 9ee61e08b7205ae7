//! Plays a day of coding twice under the policy `coding`, and counts the questions for every 100 calls:
//! answered one by one, and with grants and grouping.
//!
//! ```text
//! script ─▶ play ─▶ proxy, built-in or real agent ─▶ question ─▶ the desk, at a terminal ─▶ person
//!             └───▶ count: questions seen, beside the log and what is in the repository
//! ```
//!
//! No time is measured. The day takes minutes, so no grant ends in the middle of it, as some would in eight
//! hours; and the documentation is on loopback, where every port is a host of its own.

mod count;
mod person;
mod play;
mod script;
mod world;

use std::io::Write;
use std::path::Path;

use anyhow::ensure;

use self::count::{Count, table};
use self::person::Habit;
use super::{build_binary, build_debug_binary};

/// How many questions there may be for every hundred calls.
const QUESTIONS_MAX: usize = 5;

/// Plays both days, and fails if there are too many questions with grants and grouping.
pub(super) fn run(out: &mut dyn Write, given: Option<&Path>) -> anyhow::Result<()> {
    let binary = match given {
        None if cfg!(debug_assertions) => build_debug_binary()?,
        given => build_binary(given)?,
    };
    let count = |habit| Count::of(&play::play(&binary, habit)?, habit);
    let (without, with) = (count(Habit::OneByOne)?, count(Habit::GroupsAndGrants)?);
    table(out, &without, &with)?;
    ensure!(
        with.n_questions() * 100 <= with.n_calls() * QUESTIONS_MAX,
        "{} questions per 100 calls; {QUESTIONS_MAX} is the most",
        with.per_hundred()
    );
    Ok(())
}
