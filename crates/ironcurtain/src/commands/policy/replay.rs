//! `ironcurtain policy replay`: what would another policy have decided?

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ic_analysis::replay::{Answer, Group, Intent, Tally, Unknown};
use ic_audit::read::Record;
use ic_home::{Clock as _, Environment, SystemClock};
use ic_types::{Json, Timestamp};
use serde::Serialize;
use serde_json::value::RawValue;

use super::recorded::{Reading, Stretch, logs, policy_meant};
use super::verify::subject;
use crate::commands::Exit;
use crate::commands::cleanup::age;
use crate::error::Failure;
use crate::screen::{Screen, visible};

/// Show what another policy would have decided about recorded calls
///
/// Reads the logs of sessions and judges each call again, from what was recorded: nothing is called, and the
/// files of today do not matter. A call that cannot be judged from its record counts as unknown, never as
/// allowed. Without sessions, all of them.
#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// Policy to ask: a name, a directory or `session:NAME`; without it the one in force
    #[arg(long, value_name = "NAME|DIR")]
    policy: Option<PathBuf>,
    /// Sessions, by name or id, or log files
    #[arg(value_name = "SESSION")]
    sessions: Vec<String>,
    /// Only calls of the last days, hours or minutes: `7d`, `12h` or `30m`
    #[arg(long, value_name = "AGE", value_parser = age)]
    since: Option<Duration>,
    /// Print the result as a JSON object
    #[arg(long)]
    json: bool,
}

/// How many threads judge.
const THREADS: usize = 2;
/// How much of a call is shown.
const CHARS_MAX: usize = 100;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    calls: usize,
    changed: usize,
    unknown: usize,
    unknown_because: Vec<ShownUnknown>,
    requests_before: usize,
    requests_saved: usize,
    requests_refused: usize,
    requests_added: usize,
    saved_per_hundred: f64,
    refused_per_hundred: f64,
    added_per_hundred: f64,
    changes: Vec<ShownGroup<'a>>,
}

#[derive(Debug, Serialize)]
struct ShownUnknown {
    reason: &'static str,
    calls: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownGroup<'a> {
    server: &'a str,
    tool: &'a str,
    before: &'static str,
    after: &'static str,
    rule_before: &'a str,
    rule_after: &'a str,
    calls: usize,
    example: Box<RawValue>,
}

/// Runs the command.
pub(crate) fn run(
    args: &ReplayArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let meant = args.policy.as_ref().map(|it| policy_meant(it, environment)).transpose()?;
    let policy = meant.as_ref().map(|it| it.policy.as_path());
    let since = args.since.map(|age| before_now(age).to_string());
    let reading = Reading { policy, environment };
    let mut tally = Tally::default();
    let unreadable = AtomicUsize::new(0);
    for found in logs(&args.sessions, environment)? {
        tally.begin_log();
        reading.each(&found, &mut |stretch, lines| {
            for (intent, answer) in judged(stretch, lines, (since.as_deref(), &unreadable)) {
                let policy = stretch.asked.as_ref().map(|it| &it.judge.policy);
                tally.add(intent, answer, policy);
            }
            Ok(())
        })?;
    }
    match args.json {
        true => screen.json(&serde_json::to_string(&shown(&tally)).unwrap_or_default())?,
        false => print(&tally, screen)?,
    }
    let n_unreadable = unreadable.into_inner();
    if 0 < n_unreadable {
        let lines = ic_types::counted(n_unreadable, "line", "lines");
        screen.warning(&format!(
            "{lines} of the logs cannot be read, and calls in them are not counted; `ironcurtain audit verify` says where"
        ));
    }
    Ok(Exit::Success)
}

/// Returns the moment that was `age` ago.
fn before_now(age: Duration) -> Timestamp {
    let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
    Timestamp::from_unix_ms(SystemClock.now().unix_ms().saturating_sub(age_ms))
}

/// Judges lines of a log, on all threads; what is no call is left out, and what is no record is counted.
fn judged(
    stretch: &Stretch,
    lines: &[Vec<u8>],
    (since, unreadable): (Option<&str>, &AtomicUsize),
) -> Vec<(Intent, Answer)> {
    let [asked, own] = [&stretch.asked, &stretch.own].map(|it| it.as_ref().map(subject));
    let one = |line: &Vec<u8>| {
        let fields = Record::fields(line);
        let kind = fields.as_ref().and_then(|it| it.get("kind")).and_then(Json::as_str);
        let is_call = kind.map(|kind| kind == "intent");
        let intent = fields.filter(|_| is_call == Some(true)).and_then(Intent::read);
        if is_call.is_none() || is_call == Some(true) && intent.is_none() {
            unreadable.fetch_add(1, Ordering::Relaxed);
        }
        let intent = intent?;
        if since.is_some_and(|since| intent.timestamp.as_str() < since) {
            return None;
        }
        let answer = match asked {
            Some(asked) => intent.judge(asked, own),
            None => Answer::Unknown(Unknown::Surroundings),
        };
        Some((intent, answer))
    };
    let part = lines.len().div_ceil(THREADS).max(1);
    std::thread::scope(|scope| {
        let parts = lines.chunks(part).map(|lines| {
            scope.spawn(move || lines.iter().filter_map(one).collect::<Vec<(Intent, Answer)>>())
        });
        let parts: Vec<_> = parts.collect();
        // A thread that panicked would panic here as well.
        parts.into_iter().flat_map(|it| it.join().unwrap_or_default()).collect()
    })
}

fn shown(tally: &Tally) -> Shown<'_> {
    let unknown = tally.unknown.iter();
    let groups = tally.groups();
    Shown {
        calls: tally.n_calls,
        changed: tally.n_changed(),
        unknown: tally.n_unknown(),
        unknown_because: unknown
            .map(|(why, calls)| ShownUnknown { reason: why.text(), calls: *calls })
            .collect(),
        requests_before: tally.n_asked_before,
        requests_saved: tally.n_saved,
        requests_refused: tally.n_refused,
        requests_added: tally.n_added,
        saved_per_hundred: tally.per_hundred(tally.n_saved),
        refused_per_hundred: tally.per_hundred(tally.n_refused),
        added_per_hundred: tally.per_hundred(tally.n_added),
        changes: groups.into_iter().map(shown_group).collect(),
    }
}

fn shown_group(group: &Group) -> ShownGroup<'_> {
    let example = Json::Object(group.example.clone()).to_string();
    ShownGroup {
        server: group.server.as_str(),
        tool: group.tool.as_str(),
        before: group.before.as_str(),
        after: group.after.as_str(),
        rule_before: &group.rule_before,
        rule_after: &group.rule_after,
        calls: group.count,
        example: RawValue::from_string(example).unwrap_or_else(|_| RawValue::NULL.to_owned()),
    }
}

fn print(tally: &Tally, screen: &mut Screen) -> Result<(), Failure> {
    let groups = tally.groups();
    for (heading, is_widening) in
        [("More would be let through:", true), ("Less would be let through:", false)]
    {
        let of_kind: Vec<&&Group> =
            groups.iter().filter(|it| it.is_widening() == is_widening).collect();
        if !of_kind.is_empty() {
            screen.line(heading)?;
        }
        for group in of_kind {
            let calls = if group.count == 1 { "call" } else { "calls" };
            let (before, after) = (word(group.before), word(group.after));
            let line = format!(
                "{} {calls} of {}.{}: {before} ({}) -> {after} ({})",
                group.count, group.server, group.tool, group.rule_before, group.rule_after
            );
            screen.folded(&format!("  {}", visible(&line)))?;
            let example = Json::Object(group.example.clone()).to_string();
            let mut short: String = example.chars().take(CHARS_MAX).collect();
            if short.len() < example.len() {
                short.push('…');
            }
            screen.folded(&format!("    example: {}", visible(&short)))?;
        }
    }
    let n_known = tally.n_calls - tally.n_unknown();
    screen.line(&format!(
        "{} of {n_known} recorded calls would be judged differently.",
        tally.n_changed()
    ))?;
    for (why, calls) in &tally.unknown {
        screen.folded(&format!("{calls} more cannot be judged: {}.", why.text()))?;
    }
    let per_hundred = |n: usize| format!("{:.1}", tally.per_hundred(n));
    screen.folded(&format!(
        "Approval requests per 100 calls: {} before; {} fewer because allowed, {} fewer because denied, {} more.",
        per_hundred(tally.n_asked_before),
        per_hundred(tally.n_saved),
        per_hundred(tally.n_refused),
        per_hundred(tally.n_added)
    ))
}

fn word(effect: ic_policy::Effect) -> &'static str {
    ic_analysis::describe::word(effect)
}
