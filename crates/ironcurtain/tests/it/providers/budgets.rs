//! Budgets stop where they should, with the provider's own figures.

use ic_testkit::provider::{Format, Reply, Said};
use ic_types::ModelId;

use super::{World, for_all, model};

/// Two tool steps and an answer, each of which takes 1000 tokens in, 400 of them cached, and 100 out.
fn script() -> [Reply; 3] {
    let code = |n: u32| Said::code(&[&format!("console.log({n})")]).taking(1000, 400, 100);
    [code(1), code(2), Said::text("done").taking(1000, 400, 100)].map(Reply::Says)
}

#[track_caller]
fn check(format: Format, key: &str, value: &str, stopped: Option<(usize, &str)>) {
    let world = World::new(format, script());
    world.set("budget.warnPercent", "50");
    world.set(key, value);
    let output = world.start("count");
    match stopped {
        None => assert_eq!((output.code, output.stdout.as_str()), (0, "done\n"), "{output:?}"),
        Some((n_asked, spent)) => {
            assert_eq!((output.code, output.stdout.as_str()), (5, ""), "{output:?}");
            let said = format!("warning: the budget of this turn is used up ({spent})");
            assert!(output.stderr.contains(&said), "{format} {key}={value}: {output:?}");
            assert_eq!(world.provider.requests().len(), n_asked, "{format} {key}={value}");
        }
    }
    let n_warnings = output.stderr.matches("most of the budget is used: ").count();
    assert!(n_warnings <= 1, "once: {output:?}");
    let records = world.completions();
    for record in &records {
        let told = &record["arguments"];
        let figures = ["promptTokens", "completionTokens", "cachedTokens"].map(|it| &told[it]);
        assert_eq!(figures, [1000, 100, 400], "{format}: {told}");
        assert_eq!(told["costBillionths"], cost(format), "{format}: {told}");
    }
    assert_eq!(records.len(), world.provider.requests().len());
}

/// What one of the messages costs, in billionths of a dollar.
fn cost(format: Format) -> u64 {
    let model: ModelId = model(format).parse().unwrap();
    let prices = ic_model::catalogue::find(&model).prices;
    600 * prices.prompt.billionths()
        + 400 * prices.cached.billionths()
        + 100 * prices.completion.billionths()
}

#[test]
fn tokens_stop_a_turn_where_the_providers_figures_say_so() {
    for_all(|format| {
        check(format, "budget.maxTotalTokens", "1100", Some((1, "tokens: 1100 of 1100")));
        check(format, "budget.maxTotalTokens", "1101", Some((2, "tokens: 2200 of 1101")));
        check(format, "budget.maxTotalTokens", "2201", None);
    });
}

#[test]
fn steps_stop_a_turn() {
    for_all(|format| {
        check(format, "budget.maxSteps", "2", Some((2, "steps: 2 of 2")));
        check(format, "budget.maxSteps", "3", None);
    });
}

#[test]
fn money_stops_a_turn_at_the_models_price() {
    for format in [Format::Anthropic, Format::Responses, Format::Gemini] {
        let dollars = |billionths: u64| {
            format!("{}.{:09}", billionths / 1_000_000_000, billionths % 1_000_000_000)
        };
        let one = cost(format);
        assert_ne!(one, 0);
        let shown = |n: u64| ic_model::Cost::from_billionths(n).to_string();
        let spent = format!("cost: {} of {}", shown(one), shown(one));
        check(format, "budget.maxEstimatedCostUsd", &dollars(one), Some((1, &spent)));
        let spent = format!("cost: {} of {}", shown(2 * one), shown(one + 1));
        check(format, "budget.maxEstimatedCostUsd", &dollars(one + 1), Some((2, &spent)));
        check(format, "budget.maxEstimatedCostUsd", &dollars(2 * one + 1), None);
    }
}
