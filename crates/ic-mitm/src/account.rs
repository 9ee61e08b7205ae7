//! What a session has used, and what it may use.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use ic_model::{Cost, Known, Usage, catalogue};
use ic_types::{ModelId, Provider, locked};
use tokio::time::Instant;

use crate::limits::REMEMBERED_MAX;
use crate::refusal::Refusal;

/// What a session may use; `None` is no limit.
///
/// There is no `Default`: the caller knows it.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Money.
    pub cost_max: Option<Cost>,
    /// Tokens.
    pub tokens_max: Option<u64>,
    /// Time for which the gate is open.
    pub duration_max: Option<Duration>,
}

/// What a session has used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Spent {
    /// Requests for completions.
    pub n_requests: u64,
    /// Tokens.
    pub usage: Usage,
    /// Money.
    pub cost: Cost,
}

/// What a session has used in earlier processes, which counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Earlier {
    /// What its requests took.
    pub spent: Spent,
    /// For how long its gate was open.
    pub open: Duration,
}

impl Earlier {
    /// Returns what a new session has used.
    pub fn nothing() -> Self {
        let spent = Spent { n_requests: 0, usage: Usage::default(), cost: Cost::ZERO };
        Self { spent, open: Duration::ZERO }
    }
}

/// The account of a session.
#[derive(Debug)]
pub struct Account {
    provider: Provider,
    budget: Budget,
    opened: Instant,
    open_earlier: Duration,
    spent: Mutex<Spent>,
    known: Mutex<HashMap<String, Known>>,
}

impl Account {
    /// Opens an account, which goes on with what was used earlier.
    pub fn new(provider: Provider, budget: Budget, earlier: Earlier) -> Self {
        let (opened, spent) = (Instant::now(), Mutex::new(earlier.spent));
        let open_earlier = earlier.open;
        Self { provider, budget, opened, open_earlier, spent, known: Mutex::default() }
    }

    /// Refuses the next request if the budget is used up.
    pub fn check(&self) -> Result<(), Refusal> {
        let spent = self.spent();
        if let Some(max) = self.budget.cost_max.filter(|max| *max <= spent.cost) {
            return Err(Refusal::Budget(format!("{} of {max}", spent.cost)));
        }
        let open = self.open_earlier + self.opened.elapsed();
        if let Some(max) = self.budget.duration_max.filter(|max| *max <= open) {
            let (open, max) = (open.as_secs(), max.as_secs());
            return Err(Refusal::Budget(format!("{open} of {max} seconds")));
        }
        match self.budget.tokens_max.filter(|max| *max <= spent.usage.total()) {
            Some(max) => Err(Refusal::Budget(format!("{} of {max} tokens", spent.usage.total()))),
            None => Ok(()),
        }
    }

    /// Charges a request, and returns what it costs.
    pub fn charge(&self, model: &str, usage: Usage) -> Cost {
        let cost = self.known(model).prices.cost(usage);
        let mut spent = locked(&self.spent);
        spent.n_requests += 1;
        spent.usage += usage;
        spent.cost = spent.cost.plus(cost);
        cost
    }

    /// Returns what was used so far.
    pub fn spent(&self) -> Spent {
        *locked(&self.spent)
    }

    fn known(&self, model: &str) -> Known {
        let mut all = locked(&self.known);
        if let Some(known) = all.get(model) {
            return *known;
        }
        let id: Result<ModelId, _> = format!("{}:{model}", self.provider).parse();
        // A name that is none is as dear as the dearest.
        let unknown = || format!("{}:unknown", self.provider).parse();
        let known = match id.or_else(|_| unknown()) {
            Ok(id) => catalogue::find(&id),
            Err(_) => return NOTHING_KNOWN,
        };
        if all.len() < REMEMBERED_MAX {
            all.insert(model.to_owned(), known);
        }
        known
    }
}

const NOTHING_KNOWN: Known =
    Known { prices: ic_model::Prices::FREE, is_priced: false, max_output: 0, is_thinking: false };

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(prompt: u64, completion: u64) -> Usage {
        Usage { prompt, completion, cached: 0, cache_written: 0 }
    }

    #[test]
    fn a_budget_that_is_used_up_refuses_the_next_request() {
        let budget = Budget {
            cost_max: Some(Cost::from_billionths(18_000)),
            tokens_max: None,
            duration_max: None,
        };
        let account = Account::new(Provider::Anthropic, budget, Earlier::nothing());
        assert!(account.check().is_ok());
        assert_eq!(account.charge("claude-sonnet-4-6", usage(1, 0)).billionths(), 3_000);
        assert!(account.check().is_ok());
        account.charge("claude-sonnet-4-6", usage(0, 1));
        let refused = account.check().unwrap_err();
        assert!(matches!(refused, Refusal::Budget(_)), "{refused}");
        assert_eq!(account.spent().n_requests, 2);
        let budget = Budget { cost_max: None, tokens_max: Some(10), duration_max: None };
        let account = Account::new(Provider::OpenAiCompatible, budget, Earlier::nothing());
        account.charge("local", usage(9, 0));
        assert!(account.check().is_ok());
        account.charge("local", usage(0, 1));
        assert!(account.check().is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_that_is_too_long_is_refused_the_next_request() {
        let max = Duration::from_secs(90);
        let budget = Budget { cost_max: None, tokens_max: None, duration_max: Some(max) };
        let account = Account::new(Provider::Anthropic, budget, Earlier::nothing());
        tokio::time::advance(Duration::from_secs(89)).await;
        assert!(account.check().is_ok());
        tokio::time::advance(Duration::from_secs(1)).await;
        let refused = account.check().unwrap_err().to_string();
        assert!(refused.contains("90 of 90 seconds"), "{refused}");
    }

    #[test]
    fn a_model_that_nobody_knows_costs_as_much_as_the_dearest() {
        let account = Account::new(
            Provider::Anthropic,
            Budget { cost_max: None, tokens_max: None, duration_max: None },
            Earlier::nothing(),
        );
        let dearest = account.charge("claude-nobody", usage(0, 1));
        for odd in ["", "a b", "\n"] {
            assert_eq!(account.charge(odd, usage(0, 1)), dearest, "{odd:?}");
        }
        assert!(Cost::ZERO < dearest);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_used_earlier_counts() {
        let spent = Spent { n_requests: 3, usage: usage(6, 3), cost: Cost::from_billionths(500) };
        let earlier = Earlier { spent, open: Duration::from_mins(1) };
        for (cost, tokens, seconds, is_left) in [
            (Some(501), Some(10), Some(61), true),
            (Some(500), None, None, false),
            (None, Some(9), None, false),
            (None, None, Some(60), false),
        ] {
            let budget = Budget {
                cost_max: cost.map(Cost::from_billionths),
                tokens_max: tokens,
                duration_max: seconds.map(Duration::from_secs),
            };
            let account = Account::new(Provider::Anthropic, budget, earlier);
            assert_eq!(account.check().is_ok(), is_left, "{budget:?}");
            assert_eq!(account.spent(), spent);
        }
    }
}
