//! Every dimension of a budget: warned of once, then the end, with what happened kept.

use std::time::Duration;

use ic_agent::{Diagnostic, Dimension, Limits, Spent, TurnError};
use ic_model::{Cost, Prices};
use ic_testkit::{Line, ScriptedModel};

use crate::rig::Rig;

fn echo(n: u64) -> Line {
    Line::uses(&[(&n.to_string(), "echo", &format!(r#"{{"text":"{n}"}}"#))])
}

fn slow(n: u64) -> Line {
    Line::uses(&[(&n.to_string(), "slow", &format!(r#"{{"text":"{n}"}}"#))])
}

/// The turn ends after `n_steps` messages, for `dimension`, after one warning.
#[track_caller]
fn check_end(
    rig: &Rig,
    ended: &Result<ic_agent::Answer, TurnError>,
    dimension: Dimension,
    n_steps: usize,
) {
    let Err(TurnError::BudgetExhausted(spent)) = ended else { panic!("{ended:?}") };
    assert_eq!(spent.dimension, dimension);
    assert_eq!(rig.model.asked().len(), n_steps);
    let seen = rig.seen.diagnostics.lock().unwrap();
    let warned = |it: &&Diagnostic| matches!(it, Diagnostic::BudgetWarning { spent } if spent.dimension == dimension);
    assert_eq!(seen.iter().filter(warned).count(), 1, "{seen:?}");
    let over = |it: &&Diagnostic| matches!(it, Diagnostic::BudgetExhausted { .. });
    assert_eq!(seen.iter().filter(over).count(), 1, "{seen:?}");
    assert_eq!(seen.last(), Some(&Diagnostic::BudgetExhausted { spent: *spent }));
    assert_eq!(rig.agent.history().messages().len(), 1 + 2 * n_steps, "the steps are kept");
}

const WARNED: Limits = Limits { warn_percent: Some(80), ..Limits::OFF };

#[tokio::test(start_paused = true)]
async fn tokens_run_out() {
    let limits = Limits { tokens_max: Some(100), ..WARNED };
    let model = ScriptedModel::new((0..20).map(|n| echo(n).taking(20, 5)));
    let mut rig = Rig::with(limits, Prices::FREE, model);
    let ended = rig.turn("go").await;
    check_end(&rig, &ended, Dimension::Tokens, 4);
    assert_eq!(
        ended.unwrap_err().to_string(),
        "the budget of this turn is used up (tokens: 100 of 100)"
    );
}

#[tokio::test(start_paused = true)]
async fn steps_run_out() {
    let limits = Limits { steps_max: Some(5), ..WARNED };
    let mut rig = Rig::with(limits, Prices::FREE, ScriptedModel::new((0..20).map(echo)));
    let ended = rig.turn("go").await;
    check_end(&rig, &ended, Dimension::Steps, 5);
}

#[tokio::test(start_paused = true)]
async fn money_runs_out() {
    let limits = Limits { cost_max: Some(Cost::from_dollars(0.01)), ..WARNED };
    let prices = Prices { completion: Cost::from_billionths(15_000), ..Prices::FREE };
    let model = ScriptedModel::new((0..20).map(|n| echo(n).taking(1000, 100)));
    let mut rig = Rig::with(limits, prices, model);
    let ended = rig.turn("go").await;
    check_end(&rig, &ended, Dimension::Cost, 7);
}

#[tokio::test(start_paused = true)]
async fn time_runs_out_between_steps() {
    let limits = Limits { duration_max: Some(Duration::from_mins(5)), ..WARNED };
    let mut rig = Rig::with(limits, Prices::FREE, ScriptedModel::new((0..20).map(slow)));
    let ended = rig.turn("go").await;
    check_end(&rig, &ended, Dimension::Time, 5);
}

#[tokio::test(start_paused = true)]
async fn time_within_a_tool() {
    let limits = Limits { duration_max: Some(Duration::from_secs(90)), ..Limits::OFF };
    let model = ScriptedModel::new([echo(0), Line::uses(&[("h", "hang", "{}")])]);
    let mut rig = Rig::with(limits, Prices::FREE, model);
    let began = tokio::time::Instant::now();
    let ended = rig.turn("go").await;
    assert_eq!(began.elapsed().as_secs(), 90);
    let time = Spent { dimension: Dimension::Time, used: 90_000, max: Some(90_000) };
    assert_eq!(ended, Err(TurnError::BudgetExhausted(time)));
    assert!(rig.history()[4].starts_with("U: h=Cut before it finished"));
}

#[tokio::test(start_paused = true)]
async fn time_within_a_tool_that_still_finishes() {
    let limits = Limits { duration_max: Some(Duration::from_secs(90)), ..Limits::OFF };
    let model = ScriptedModel::new([Line::uses(&[("l", "late", "{}"), ("e", "echo", "{}")])]);
    let mut rig = Rig::with(limits, Prices::FREE, model);
    let ended = rig.turn("go").await;
    assert!(matches!(ended, Err(TurnError::BudgetExhausted(_))));
    let results = "U: l=late | e=Not run: the turn was cut before it. | (note)";
    assert_eq!(rig.history(), ["U: go", "A: use l | use e", results]);
    assert_eq!(rig.kinds(), ["tool_call", "budget_exhausted", "step_finish"]);
    assert_eq!(rig.ran(), ["late"]);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_person_is_no_time_of_the_turn() {
    let limits = Limits { duration_max: Some(Duration::from_secs(90)), ..Limits::OFF };
    let model = ScriptedModel::new([Line::uses(&[("a", "ask", "{}")]), Line::says("ok")]);
    let mut rig = Rig::with(limits, Prices::FREE, model);
    let began = tokio::time::Instant::now();
    assert_eq!(rig.turn("go").await.unwrap().text, "ok");
    assert_eq!(began.elapsed(), Duration::from_mins(61));
    let spent = rig.agent.meter().snapshot().spent;
    let time = Spent { dimension: Dimension::Time, used: 60_000, max: Some(90_000) };
    assert!(spent.contains(&time), "{spent:?}");
}

#[tokio::test(start_paused = true)]
async fn time_goes_on_after_a_person_was_asked() {
    let limits = Limits { duration_max: Some(Duration::from_secs(50)), ..WARNED };
    let model = ScriptedModel::new([Line::uses(&[("a", "ask", "{}")])]);
    let mut rig = Rig::with(limits, Prices::FREE, model);
    let began = tokio::time::Instant::now();
    let ended = rig.turn("go").await;
    let time = Spent { dimension: Dimension::Time, used: 50_000, max: Some(50_000) };
    assert_eq!(ended, Err(TurnError::BudgetExhausted(time)));
    // The tool has five seconds to end by itself.
    assert_eq!(began.elapsed(), Duration::from_secs(30 + 3600 + 20 + 5));
    assert_eq!(
        rig.kinds(),
        ["tool_call", "budget_exhausted", "step_finish"],
        "nobody is warned of what is over"
    );
}

#[tokio::test(start_paused = true)]
async fn time_while_the_model_thinks() {
    let limits = Limits { duration_max: Some(Duration::from_secs(90)), ..Limits::OFF };
    let model = ScriptedModel::new([Line::Hangs("hm".into())]);
    let mut rig = Rig::with(limits, Prices::FREE, model);
    let ended = rig.turn("go").await;
    assert!(matches!(ended, Err(TurnError::BudgetExhausted(_))));
    assert!(rig.history().is_empty(), "no step had finished");
    assert_eq!(rig.kinds(), ["budget_exhausted"]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_uses_up_the_budget_is_an_answer() {
    let limits = Limits { tokens_max: Some(10), steps_max: Some(1), ..WARNED };
    let model = ScriptedModel::new([Line::says("ok").taking(100, 100)]);
    let mut rig = Rig::with(limits, Prices::FREE, model);
    assert_eq!(rig.turn("go").await.unwrap().text, "ok");
    assert_eq!(rig.kinds(), ["agent_text", "step_finish", "budget_warning", "budget_warning"]);
}

#[tokio::test(start_paused = true)]
async fn every_turn_has_a_budget_of_its_own() {
    let limits = Limits { steps_max: Some(2), ..WARNED };
    let lines = (0..3).flat_map(|n| [echo(n), Line::says("ok")]);
    let mut rig = Rig::with(limits, Prices::FREE, ScriptedModel::new(lines));
    for _ in 0..3 {
        assert!(rig.turn("go").await.is_ok());
    }
    assert_eq!(rig.kinds().iter().filter(|kind| *kind == "budget_warning").count(), 3);
}

#[tokio::test(start_paused = true)]
async fn without_limits_nothing_ends() {
    let model = ScriptedModel::new(
        (0..500).map(|n| echo(n).taking(u64::MAX / 4, 0)).chain([Line::says("ok")]),
    );
    let mut rig = Rig::with(Limits::OFF, Prices::FREE, model);
    assert!(rig.turn("go").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_meter_tells_while_a_turn_runs_and_afterwards() {
    let limits = Limits { steps_max: Some(9), ..Limits::OFF };
    let model = ScriptedModel::new([slow(0).taking(7, 1), Line::says("ok").taking(3, 1)]);
    let mut rig = Rig::with(limits, Prices::FREE, model);
    let meter = rig.agent.meter();
    let during = async {
        tokio::time::sleep(Duration::from_secs(30)).await;
        meter.snapshot()
    };
    let (_, snapshot) = tokio::join!(rig.agent.turn("go", &rig.seen, &rig.cancel), during);
    let spent = |snapshot: ic_agent::Snapshot| snapshot.spent.map(|it| it.used);
    assert_eq!(spent(snapshot), [8, 1, 30_000, 0]);
    assert_eq!(spent(meter.snapshot()), [12, 2, 60_000, 0]);
    assert_eq!(meter.snapshot().usage.prompt, 10);
}
