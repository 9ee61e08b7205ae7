//! `ironcurtain usage`: what models took, over all sessions.

use std::collections::BTreeMap;

use ic_audit::read::{Record, Records};
use ic_home::{Clock as _, Environment, Home, SystemClock};
use ic_types::{Json, Timestamp};
use serde::Serialize;

use crate::commands::Exit;
use crate::commands::audit::{find, time};
use crate::commands::cleanup::age;
use crate::error::Failure;
use crate::screen::{Screen, visible};
use crate::spent::Spent;

/// Show the requests, tokens and cost of models, over all sessions
///
/// Adds up what the logs of all sessions say, those of cleaned-up sessions included: requests of the
/// built-in agent and of programs behind the model gate. What a provider gave no figures for was charged by
/// its size. Exits with 1 if a log cannot be read to its end; its figures are then incomplete.
#[derive(Debug, clap::Args)]
pub(crate) struct UsageArgs {
    /// Only requests since then: an age (`7d`, `12h`, `30m`) or a time (2026-11-15, 2026-11-15T10:30; UTC)
    #[arg(long, value_name = "AGE|TIME", value_parser = since)]
    since: Option<String>,
    /// What to add up
    #[arg(long, value_enum, default_value_t)]
    by: By,
    /// Print the sums as a JSON array
    #[arg(long)]
    json: bool,
}

/// What is added up.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
enum By {
    /// By session
    Session,
    /// By the agent that acted
    Agent,
    /// By model
    #[default]
    Model,
    /// By day (UTC)
    Day,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    #[serde(flatten)]
    of: BTreeMap<&'static str, &'a str>,
    requests: u64,
    failed: u64,
    estimated: u64,
    prompt_tokens: u64,
    completion_tokens: u64,
    cached_tokens: u64,
    cache_written_tokens: u64,
    cost_usd: f64,
    cost_billionths: u64,
}

/// What something is called, and what it took.
#[derive(Debug, Default)]
struct Sum {
    /// The name of a session beside its id.
    name: Option<String>,
    spent: Spent,
}

/// Runs the command.
pub(crate) fn run(
    args: &UsageArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = Home::new(environment.ironcurtain_home()?);
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    let mut is_complete = true;
    for found in find::all(&home)? {
        let id = found.session.as_ref().map(ToString::to_string).unwrap_or_default();
        if let Err(error) = count(&found, &id, args, &mut sums) {
            is_complete = false;
            let log = found.files.log.display();
            screen.warning(&format!(
                "`{}` is not counted to its end: {error}",
                visible(&log.to_string())
            ));
        }
    }
    match args.json {
        true => {
            let shown: Vec<Shown<'_>> =
                sums.iter().map(|(of, sum)| Shown::of(args.by, of, sum)).collect();
            screen.json(&serde_json::to_string(&shown).unwrap_or_default())?;
        }
        false => print(args.by, &sums, screen)?,
    }
    Ok(if is_complete { Exit::Success } else { Exit::Failed })
}

/// Adds up one log.
fn count(
    found: &find::Found,
    id: &str,
    args: &UsageArgs,
    sums: &mut BTreeMap<String, Sum>,
) -> Result<(), ic_audit::read::ReadError> {
    let (mut agent, mut name) = ("unknown".to_owned(), None);
    for record in Records::open(&found.files.log)? {
        let record = record?;
        if let Some((by, called)) = opened(&record) {
            (agent, name) = (by, Some(called));
        }
        let at = record.text("timestamp").unwrap_or_default();
        let Some((model, spent)) = Spent::of(&record) else { continue };
        if args.since.as_deref().is_some_and(|since| at < since) {
            continue;
        }
        let key = match args.by {
            By::Session => id.to_owned(),
            By::Agent => agent.clone(),
            By::Model => model,
            By::Day => at.chars().take("2026-11-18".len()).collect(),
        };
        let sum = sums.entry(key).or_default();
        sum.spent.add(spent);
        if args.by == By::Session {
            sum.name.clone_from(&name);
        }
    }
    Ok(())
}

/// Returns who acts in a session and what it is called, if the record says that it was opened.
fn opened(record: &Record) -> Option<(String, String)> {
    let Some(Json::Object(event)) = record.fields.get("arguments") else { return None };
    let text = |key: &str| event.get(key).and_then(Json::as_str).map(str::to_owned);
    let is_opening =
        record.text("kind") == Some("session") && text("event").as_deref() == Some("opened");
    is_opening.then(|| (text("agent").unwrap_or_default(), text("name").unwrap_or_default()))
}

/// Prints a table, the dearest first; days in their order.
fn print(by: By, sums: &BTreeMap<String, Sum>, screen: &mut Screen) -> Result<(), Failure> {
    if sums.is_empty() {
        return screen.line("No model was asked.");
    }
    let mut rows: Vec<(String, Spent)> = sums
        .iter()
        .map(|(of, sum)| match &sum.name {
            Some(name) => (visible(&format!("{name} ({of})")), sum.spent),
            None => (visible(of), sum.spent),
        })
        .collect();
    if by != By::Day {
        rows.sort_by_key(|(_, spent)| std::cmp::Reverse(spent.cost()));
    }
    let total = rows.iter().fold(Spent::default(), |mut sum, (_, spent)| {
        sum.add(*spent);
        sum
    });
    rows.push(("total".to_owned(), total));
    let width = rows.iter().map(|(of, _)| of.chars().count()).max().unwrap_or_default();
    let heading = by.heading();
    screen.line(&format!(
        "{heading:<width$}  {:>8}  {:>12}  {:>12}  {:>12}  {:>10}",
        "requests", "tokens in", "cached", "tokens out", "cost"
    ))?;
    for (of, spent) in &rows {
        let Spent { n_requests, usage, .. } = spent;
        screen.line(&format!(
            "{of:<width$}  {n_requests:>8}  {:>12}  {:>12}  {:>12}  {:>10}",
            usage.prompt,
            usage.cached,
            usage.completion,
            spent.cost().to_string()
        ))?;
    }
    match (total.n_failed, total.n_estimated) {
        (0, 0) => Ok(()),
        (failed, estimated) => {
            screen.line(&format!("failed: {failed}; charged by their size: {estimated}"))
        }
    }
}

impl By {
    fn heading(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Agent => "agent",
            Self::Model => "model",
            Self::Day => "day",
        }
    }
}

impl<'a> Shown<'a> {
    fn of(by: By, of: &'a str, sum: &'a Sum) -> Self {
        let Sum { name, spent } = sum;
        let name = name.as_deref().map(|name| ("name", name));
        Self {
            of: std::iter::once((by.heading(), of)).chain(name).collect(),
            requests: spent.n_requests,
            failed: spent.n_failed,
            estimated: spent.n_estimated,
            prompt_tokens: spent.usage.prompt,
            completion_tokens: spent.usage.completion,
            cached_tokens: spent.usage.cached,
            cache_written_tokens: spent.usage.cache_written,
            cost_usd: spent.cost().dollars(),
            cost_billionths: spent.cost().billionths(),
        }
    }
}

/// Reads an age or a time, as the timestamp of the first record that counts.
fn since(text: &str) -> Result<String, String> {
    let Ok(age) = age(text) else {
        return time(text).map_err(|error| format!("not an age such as `7d`, and {error}"));
    };
    let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
    let then = SystemClock.now().unix_ms().saturating_sub(age_ms);
    Ok(Timestamp::from_unix_ms(then).to_string())
}
