//! What came of calls and sequences: one outcome for each call, and counts of many.

use std::collections::BTreeMap;
use std::fmt;

use super::calls::Call;

/// The answer to a call that was served.
pub const SERVED: &str = "served";
/// How many reasons [`Tally::reasons`] gives.
const REASONS_MAX: usize = 40;
/// How much of a reason is kept.
const REASON_CHARS: usize = 90;

/// What came of a call.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Outcome {
    /// It was allowed, and done.
    Served,
    /// It needs approval, and nobody was available.
    Asked,
    /// It was refused before it reached a server.
    Denied,
    /// It was allowed, and its server could not do it.
    Failed,
}

impl Outcome {
    /// Reads the outcome off an answer: [`SERVED`], or the first line of what the agent was told.
    pub fn of(answer: &str) -> Self {
        let answer = answer.trim_start_matches("Denied: ");
        let begins = |words: &[&str]| words.iter().any(|word| answer.starts_with(word));
        if answer == SERVED {
            Self::Served
        } else if begins(&["ESCALATION"]) {
            Self::Asked
        } else if begins(&["DENIED", "CIRCUIT BREAKER", "INVALID ARGUMENTS", "CONFINEMENT"]) {
            Self::Denied
        } else {
            Self::Failed
        }
    }
}

/// A sequence, played.
#[derive(Clone, Debug)]
pub struct Played {
    /// Its seed.
    pub seed: u64,
    /// By which way the calls went.
    pub way: &'static str,
    /// Where its world was; the calls name it.
    pub root: String,
    /// The calls, and what was answered.
    pub calls: Vec<(Call, String)>,
    /// What is not as it should be.
    pub findings: Vec<String>,
}

/// What many sequences came to.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How many sequences were played.
    pub n_sequences: u64,
    /// By which ways their calls went.
    ways: BTreeMap<&'static str, u64>,
    /// For each tool, how many calls had each outcome.
    calls: BTreeMap<&'static str, [u64; 4]>,
    reasons: BTreeMap<String, u64>,
}

impl Tally {
    pub(super) fn add(&mut self, played: &Played) {
        self.n_sequences += 1;
        *self.ways.entry(played.way).or_default() += 1;
        for (call, answer) in &played.calls {
            let outcome = Outcome::of(answer);
            let counts = self.calls.entry(call.tool).or_default();
            if let Some(count) = counts.get_mut(outcome as usize) {
                *count += 1;
            }
            if outcome != Outcome::Served {
                let reason = format!("{} {outcome:?}: {}", call.tool, shortened(answer));
                *self.reasons.entry(reason).or_default() += 1;
            }
        }
    }

    /// Adds what other sequences came to.
    pub fn extend(&mut self, other: Self) {
        self.n_sequences += other.n_sequences;
        for (way, n) in other.ways {
            *self.ways.entry(way).or_default() += n;
        }
        for (tool, more) in other.calls {
            let counts = self.calls.entry(tool).or_default();
            counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
        }
        for (reason, n) in other.reasons {
            *self.reasons.entry(reason).or_default() += n;
        }
    }

    /// Returns how many calls were served, and how many were made.
    pub fn n_calls(&self) -> (u64, u64) {
        let [served, asked, denied, failed] = self.n_outcomes();
        (served, served + asked + denied + failed)
    }

    /// Returns how many calls had each outcome, in the order of [`Outcome`].
    pub fn n_outcomes(&self) -> [u64; 4] {
        let mut sums = [0; 4];
        for counts in self.calls.values() {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        sums
    }

    /// Returns the most frequent reasons why calls were not served, one on each line.
    pub fn reasons(&self) -> String {
        let mut reasons: Vec<(&String, &u64)> = self.reasons.iter().collect();
        reasons.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
        let shown = reasons.iter().take(REASONS_MAX);
        let lines: Vec<String> = shown.map(|(reason, n)| format!("  {n:6}  {reason}\n")).collect();
        lines.concat()
    }
}

/// Leaves out what is quoted, so that equal reasons look alike.
fn shortened(answer: &str) -> String {
    let parts = answer.split('`').enumerate();
    let kept: Vec<&str> = parts.map(|(at, part)| if at % 2 == 0 { part } else { "…" }).collect();
    kept.join("`").chars().take(REASON_CHARS).collect()
}

impl fmt::Display for Played {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {} ({}, in {}):", self.seed, self.way, self.root)?;
        for (call, answer) in &self.calls {
            writeln!(f, "  {call}\n    -> {answer}")?;
        }
        for finding in &self.findings {
            writeln!(f, "  FOUND: {finding}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n_served, n_calls) = self.n_calls();
        let [_, asked, denied, failed] = self.n_outcomes();
        writeln!(
            f,
            "{} sequences, {n_calls} calls: {n_served} served, {asked} need approval, {denied} \
             denied, {failed} failed",
            self.n_sequences
        )?;
        for (way, n) in &self.ways {
            writeln!(f, "  {way}: {n} sequences")?;
        }
        writeln!(f, "\n| tool | served | need approval | denied | failed |")?;
        writeln!(f, "|---|---:|---:|---:|---:|")?;
        for (tool, [served, asked, denied, failed]) in &self.calls {
            writeln!(f, "| {tool} | {served} | {asked} | {denied} | {failed} |")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_tells_what_came_of_a_call() {
        for (answer, outcome) in [
            ("served", Outcome::Served),
            ("ESCALATION REQUIRED: it writes", Outcome::Asked),
            ("Denied: ESCALATION REQUIRED: in a script", Outcome::Asked),
            ("DENIED: no", Outcome::Denied),
            ("CIRCUIT BREAKER: again", Outcome::Denied),
            ("there is no `a`", Outcome::Failed),
            ("", Outcome::Failed),
        ] {
            assert_eq!(Outcome::of(answer), outcome, "{answer}");
        }
        assert_eq!(shortened("no `a` in `b c`."), "no `…` in `…`.");
    }
}
