//! Budgets are sums and comparisons, at their edges too.

use proptest::prelude::*;

use super::*;

fn at(ms: u64) -> Timestamp {
    Timestamp::from_unix_ms(1_700_000_000_000 + ms)
}

fn usage(total: u64) -> Usage {
    Usage { prompt: total, ..Usage::default() }
}

const EACH: Limits = Limits {
    tokens_max: Some(100),
    steps_max: Some(10),
    duration_max: Some(Duration::from_secs(10)),
    cost_max: Some(Cost::from_billionths(1000)),
    warn_percent: Some(80),
};

const PRICES: Prices = Prices { prompt: Cost::from_billionths(7), ..Prices::FREE };

/// After one step of `tokens` tokens that ended at `ms`, this is warned of and this is used up.
#[track_caller]
fn check(limits: Limits, tokens: u64, ms: u64, warned: &[Dimension], exhausted: Option<Dimension>) {
    let mut budget = Budget::start(limits, PRICES, at(0));
    budget.spend(usage(tokens));
    let due: Vec<Dimension> = budget.warnings(at(ms)).iter().map(|it| it.dimension).collect();
    assert_eq!(due, warned);
    assert!(budget.warnings(at(ms)).is_empty(), "once");
    assert_eq!(budget.exhausted(at(ms)).map(|it| it.dimension), exhausted);
}

#[test]
fn each_dimension_warns_and_ends_at_its_edge() {
    let off = Limits { warn_percent: Some(80), ..Limits::OFF };
    let tokens = Limits { tokens_max: Some(100), ..off };
    check(tokens, 79, 0, &[], None);
    check(tokens, 80, 0, &[Dimension::Tokens], None);
    check(tokens, 99, 0, &[Dimension::Tokens], None);
    check(tokens, 100, 0, &[Dimension::Tokens], Some(Dimension::Tokens));
    check(tokens, u64::MAX, 0, &[Dimension::Tokens], Some(Dimension::Tokens));
    let steps = |max| Limits { steps_max: Some(max), ..off };
    check(steps(2), 0, 0, &[], None);
    check(steps(1), 0, 0, &[Dimension::Steps], Some(Dimension::Steps));
    let time = Limits { duration_max: Some(Duration::from_secs(10)), ..off };
    check(time, 0, 7_999, &[], None);
    check(time, 0, 8_000, &[Dimension::Time], None);
    check(time, 0, 10_000, &[Dimension::Time], Some(Dimension::Time));
    let cost = Limits { cost_max: Some(Cost::from_billionths(700)), ..off };
    check(cost, 79, 0, &[], None);
    check(cost, 80, 0, &[Dimension::Cost], None);
    check(cost, 100, 0, &[Dimension::Cost], Some(Dimension::Cost));
    check(Limits { warn_percent: None, ..tokens }, 100, 0, &[], Some(Dimension::Tokens));
    check(Limits::OFF, u64::MAX, u64::MAX / 2, &[], None);
}

#[test]
fn a_budget_of_nothing_is_used_up_at_once() {
    for limits in [
        Limits { tokens_max: Some(0), ..Limits::OFF },
        Limits { steps_max: Some(0), ..Limits::OFF },
        Limits { duration_max: Some(Duration::ZERO), ..Limits::OFF },
        Limits { cost_max: Some(Cost::ZERO), ..Limits::OFF },
    ] {
        assert!(
            Budget::start(limits, Prices::FREE, at(0)).exhausted(at(0)).is_some(),
            "{limits:?}"
        );
    }
}

#[test]
fn time_left_counts_down_and_not_below_zero() {
    let budget = Budget::start(EACH, Prices::FREE, at(1_000));
    for (ms, left) in [(1_000, 10_000), (4_000, 7_000), (11_000, 0), (99_000, 0), (0, 10_000)] {
        assert_eq!(budget.time_left(at(ms)), Some(Duration::from_millis(left)), "{ms}");
    }
    assert_eq!(Budget::start(Limits::OFF, Prices::FREE, at(0)).time_left(at(9)), None);
}

#[test]
fn people_see_where_they_stand() {
    let mut budget = Budget::start(EACH, PRICES, at(0));
    budget.spend(usage(80));
    let shown: Vec<String> =
        budget.snapshot(at(1_500)).spent.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        ["tokens: 80 of 100", "steps: 1 of 10", "time: 1 s of 10 s", "cost: $0.0000 of $0.0000"]
    );
    let off = Budget::start(Limits::OFF, PRICES, at(0)).snapshot(at(0));
    assert_eq!(off.spent.map(|spent| spent.to_string())[0], "tokens: 0");
}

#[test]
fn limits_come_from_the_configuration() {
    let configured = TurnBudget {
        tokens_max: Some(5),
        steps_max: None,
        duration_max: Some(Duration::from_secs(3)),
        cost_usd_max: Some(0.5),
        warn_percent: Some(80),
    };
    let limits = Limits::from(&configured);
    assert_eq!(limits.tokens_max, Some(5));
    assert_eq!(limits.steps_max, None);
    assert_eq!(limits.duration_max, Some(Duration::from_secs(3)));
    assert_eq!(limits.cost_max, Some(Cost::from_dollars(0.5)));
    assert_eq!(limits.warn_percent, Some(80));
}

proptest! {
    #[test]
    fn each_warning_comes_once_and_not_after_the_end(steps in prop::collection::vec(0_u64..60, 1..20)) {
        let mut budget = Budget::start(EACH, PRICES, at(0));
        let mut warned = Vec::new();
        for tokens in steps {
            budget.spend(usage(tokens));
            warned.extend(budget.warnings(at(0)).iter().map(|it| it.dimension));
            if let Some(spent) = budget.exhausted(at(0)) {
                prop_assert!(warned.contains(&spent.dimension), "a warning comes first");
            }
        }
        for dimension in [Dimension::Tokens, Dimension::Steps, Dimension::Time, Dimension::Cost] {
            prop_assert!(warned.iter().filter(|it| **it == dimension).count() <= 1);
        }
    }
}
