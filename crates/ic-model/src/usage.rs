//! What a completion took, and what that costs.
//!
//! Tokens are whole numbers and costs are whole billionths of a dollar, so that sums are exact. Which
//! model has which price is said elsewhere.

use std::fmt;
use std::ops::AddAssign;

/// Tokens of one or more completions.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Usage {
    /// All tokens that went in, whether a cache had them or not.
    pub prompt: u64,
    /// All tokens that came out.
    pub completion: u64,
    /// Those of `prompt` that a cache had.
    pub cached: u64,
    /// Those of `prompt` that were put into a cache.
    pub cache_written: u64,
}

/// What tokens of a model cost.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Prices {
    /// A token that goes in.
    pub prompt: Cost,
    /// A token that comes out.
    pub completion: Cost,
    /// A token that goes in and that a cache had.
    pub cached: Cost,
    /// A token that goes in and is put into a cache.
    pub cache_written: Cost,
}

/// An amount of money in billionths of a dollar.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Cost(u64);

impl Usage {
    /// Returns all tokens, in and out.
    pub fn total(self) -> u64 {
        self.prompt.saturating_add(self.completion)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        let Self { prompt, completion, cached, cache_written } = other;
        self.prompt = self.prompt.saturating_add(prompt);
        self.completion = self.completion.saturating_add(completion);
        self.cached = self.cached.saturating_add(cached);
        self.cache_written = self.cache_written.saturating_add(cache_written);
    }
}

impl Prices {
    /// Nothing costs anything, as with the offline model.
    pub const FREE: Self = Self {
        prompt: Cost::ZERO,
        completion: Cost::ZERO,
        cached: Cost::ZERO,
        cache_written: Cost::ZERO,
    };

    /// Returns what `usage` costs.
    ///
    /// A provider that counts more cached tokens than there were tokens is believed where it costs
    /// more: the uncached part is never below zero.
    pub fn cost(&self, usage: Usage) -> Cost {
        let Usage { prompt, completion, cached, cache_written } = usage;
        let plain = prompt.saturating_sub(cached).saturating_sub(cache_written);
        let parts = [
            (plain, self.prompt),
            (cached, self.cached),
            (cache_written, self.cache_written),
            (completion, self.completion),
        ];
        parts.into_iter().fold(Cost::ZERO, |sum, (n_tokens, each)| {
            Cost(sum.0.saturating_add(each.0.saturating_mul(n_tokens)))
        })
    }
}

impl Cost {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    const BILLIONTHS: f64 = 1e9;

    /// Makes an amount of billionths of a dollar; per token, a thousandth of the price of a million
    /// tokens.
    pub const fn from_billionths(billionths: u64) -> Self {
        Self(billionths)
    }

    /// Makes an amount of dollars; what is negative or no number counts as nothing.
    pub fn from_dollars(dollars: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the cast saturates, and takes what is not a number for zero"
        )]
        let billionths = (dollars * Self::BILLIONTHS).round() as u64;
        Self(billionths)
    }

    /// Returns the amount in billionths of a dollar.
    pub fn billionths(self) -> u64 {
        self.0
    }

    /// Returns the amount in dollars, as near as a double comes.
    pub fn dollars(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "for people, who read a few digits")]
        let billionths = self.0 as f64;
        billionths / Self::BILLIONTHS
    }

    /// Returns both amounts together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${:.4}", self.dollars())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICES: Prices = Prices {
        prompt: Cost::from_billionths(3_000),
        completion: Cost::from_billionths(15_000),
        cached: Cost::from_billionths(300),
        cache_written: Cost::from_billionths(3_750),
    };

    #[track_caller]
    fn check(usage: Usage, billionths: u64) {
        assert_eq!(PRICES.cost(usage).billionths(), billionths, "{usage:?}");
        assert_eq!(Prices::FREE.cost(usage), Cost::ZERO);
    }

    #[test]
    fn tokens_cost_what_their_kind_costs() {
        let usage = |prompt, completion, cached, cache_written| Usage {
            prompt,
            completion,
            cached,
            cache_written,
        };
        check(Usage::default(), 0);
        check(usage(1_000_000, 0, 0, 0), 3_000_000_000);
        check(usage(0, 1_000_000, 0, 0), 15_000_000_000);
        check(usage(100, 0, 90, 0), 10 * 3_000 + 90 * 300);
        check(usage(100, 7, 50, 40), 10 * 3_000 + 50 * 300 + 40 * 3_750 + 7 * 15_000);
        check(usage(10, 0, 100, 0), 100 * 300);
        check(usage(u64::MAX, u64::MAX, 0, 0), u64::MAX);
    }

    #[test]
    fn sums_stay_at_the_largest_number() {
        let mut usage = Usage { prompt: u64::MAX, completion: 5, cached: 1, cache_written: 2 };
        usage += usage;
        assert_eq!(usage.prompt, u64::MAX);
        assert_eq!((usage.completion, usage.cached, usage.cache_written), (10, 2, 4));
        assert_eq!(usage.total(), u64::MAX);
    }

    #[test]
    fn dollars_become_billionths() {
        for (dollars, billionths) in
            [(5.0, 5_000_000_000), (0.1, 100_000_000), (-1.0, 0), (f64::NAN, 0), (1e300, u64::MAX)]
        {
            assert_eq!(Cost::from_dollars(dollars).billionths(), billionths, "{dollars}");
        }
        assert_eq!(Cost::from_dollars(1.234_56).to_string(), "$1.2346");
    }
}
