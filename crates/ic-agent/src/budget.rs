//! What one turn may use, and what it has used: pure arithmetic.
//!
//! Nothing is stopped here, and no clock is read; whoever runs the turn asks, and acts.

use std::fmt;
use std::time::Duration;

use ic_home::config::TurnBudget;
use ic_model::{Cost, Prices, Usage};
use ic_types::Timestamp;
use serde::Serialize;

/// What a turn has used so far, held against what it may use.
#[derive(Clone, Debug)]
pub struct Budget {
    limits: Limits,
    prices: Prices,
    started: Timestamp,
    usage: Usage,
    cost: Cost,
    n_steps: u64,
    warned: Vec<Dimension>,
}

/// What a turn may use; `None` is no limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Tokens, in and out.
    pub tokens_max: Option<u64>,
    /// Messages of the model.
    pub steps_max: Option<u64>,
    /// Time.
    pub duration_max: Option<Duration>,
    /// Money.
    pub cost_max: Option<Cost>,
    /// The share in percent after which there is a warning.
    pub warn_percent: Option<u64>,
}

/// What a budget is made of.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// Tokens, in and out.
    Tokens,
    /// Messages of the model.
    Steps,
    /// Time, in milliseconds.
    Time,
    /// Money, in billionths of a dollar.
    Cost,
}

/// How much of one dimension is used, in the unit of the dimension.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Spent {
    /// The dimension.
    pub dimension: Dimension,
    /// What is used.
    pub used: u64,
    /// What may be used.
    pub max: Option<u64>,
}

/// A budget at one moment, for people.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Snapshot {
    /// Every dimension.
    pub spent: [Spent; 4],
    /// The tokens, by kind.
    pub usage: Usage,
}

impl Budget {
    /// Opens the budget of a turn that starts at `now`.
    pub fn start(limits: Limits, prices: Prices, now: Timestamp) -> Self {
        let (usage, cost, n_steps, warned) = (Usage::default(), Cost::ZERO, 0, Vec::new());
        Self { limits, prices, started: now, usage, cost, n_steps, warned }
    }

    /// Counts what a request took that came to no message.
    pub fn spend_on_nothing(&mut self, usage: Usage) {
        self.usage += usage;
        self.cost = self.cost.plus(self.prices.cost(usage));
    }

    /// Counts one message of the model.
    pub fn spend(&mut self, usage: Usage) {
        self.spend_on_nothing(usage);
        self.n_steps = self.n_steps.saturating_add(1);
    }

    /// Returns the dimensions whose warning is due at `now`, each once in a turn.
    pub fn warnings(&mut self, now: Timestamp) -> Vec<Spent> {
        let Some(percent) = self.limits.warn_percent else { return Vec::new() };
        let is_due = |spent: &Spent| spent.has_reached(percent);
        let due: Vec<Spent> = self
            .all(now)
            .into_iter()
            .filter(|spent| is_due(spent) && !self.warned.contains(&spent.dimension))
            .collect();
        self.warned.extend(due.iter().map(|spent| spent.dimension));
        due
    }

    /// Returns a dimension that is used up at `now`.
    pub fn exhausted(&self, now: Timestamp) -> Option<Spent> {
        self.all(now).into_iter().find(|spent| spent.has_reached(100))
    }

    /// Returns how much time is left at `now`, if there is a limit.
    pub fn time_left(&self, now: Timestamp) -> Option<Duration> {
        let elapsed = Duration::from_millis(self.elapsed_ms(now));
        self.limits.duration_max.map(|max| max.saturating_sub(elapsed))
    }

    /// Returns how many messages of the model were counted.
    pub fn n_steps(&self) -> u64 {
        self.n_steps
    }

    /// Returns how things stand at `now`.
    pub fn snapshot(&self, now: Timestamp) -> Snapshot {
        Snapshot { spent: self.all(now), usage: self.usage }
    }

    fn all(&self, now: Timestamp) -> [Spent; 4] {
        let Limits { tokens_max, steps_max, duration_max, cost_max, warn_percent: _ } = self.limits;
        let spent = |dimension, used, max| Spent { dimension, used, max };
        [
            spent(Dimension::Tokens, self.usage.total(), tokens_max),
            spent(Dimension::Steps, self.n_steps, steps_max),
            spent(Dimension::Time, self.elapsed_ms(now), duration_max.map(in_ms)),
            spent(Dimension::Cost, self.cost.billionths(), cost_max.map(Cost::billionths)),
        ]
    }

    /// Returns the time since the start; a clock that was set back has not moved.
    fn elapsed_ms(&self, now: Timestamp) -> u64 {
        now.unix_ms().saturating_sub(self.started.unix_ms())
    }
}

impl Limits {
    /// Limits nothing.
    pub const OFF: Self = Self {
        tokens_max: None,
        steps_max: None,
        duration_max: None,
        cost_max: None,
        warn_percent: None,
    };
}

impl From<&TurnBudget> for Limits {
    fn from(configured: &TurnBudget) -> Self {
        Self {
            tokens_max: configured.tokens_max,
            steps_max: configured.steps_max,
            duration_max: configured.duration_max,
            cost_max: configured.cost_usd_max.map(Cost::from_dollars),
            warn_percent: configured.warn_percent,
        }
    }
}

impl Spent {
    /// Returns whether at least `percent` of what may be used is used.
    fn has_reached(&self, percent: u64) -> bool {
        self.max
            .is_some_and(|max| u128::from(max) * u128::from(percent) <= u128::from(self.used) * 100)
    }
}

/// Says it for people: `tokens: 812345 of 1000000`.
impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount = |amount: u64| match self.dimension {
            Dimension::Tokens | Dimension::Steps => amount.to_string(),
            Dimension::Time => format!("{} s", amount / 1000),
            Dimension::Cost => Cost::from_billionths(amount).to_string(),
        };
        write!(f, "{}: {}", self.dimension, amount(self.used))?;
        self.max.map_or(Ok(()), |max| write!(f, " of {}", amount(max)))
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tokens => "tokens",
            Self::Steps => "steps",
            Self::Time => "time",
            Self::Cost => "cost",
        })
    }
}

fn in_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
