//! `ironcurtain approvals stats`: what approval requests cost, and what would have saved some.
//!
//! Reads the logs of sessions; changes nothing, and checks no log.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use ic_audit::economy::{Economy, Tally};
use ic_audit::read::Records;
use ic_home::{Clock as _, Environment, Home, SystemClock, file};
use ic_types::{Json, Object, Timestamp};

use crate::commands::Exit;
use crate::commands::audit::find::{self, Found};
use crate::commands::policy::suggest;
use crate::error::Failure;
use crate::screen::{Screen, visible};

const LOG: &str = "audit.jsonl";
/// How many rows of one kind are shown.
const ROWS_MAX: usize = 10;
/// What the one line is about.
const DAY: Duration = Duration::from_hours(24);

/// Show how many approval requests there were, and what would have saved some
///
/// Reads the logs of all sessions: requests per 100 calls, by rule, server and session; how long you took; what
/// expired; the rules whose requests you always answered the same way; and how many requests each proposal of
/// `ironcurtain policy suggest` would have saved.
#[derive(Debug, clap::Args)]
pub(crate) struct StatsArgs {
    /// Count what is younger than this only, such as `7d` or `12h`
    #[arg(long, value_name = "AGE", value_parser = crate::commands::cleanup::age)]
    since: Option<Duration>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(
    args: &StatsArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = Home::new(environment.ironcurtain_home()?);
    let since = args.since.map(before_now);
    let (economy, complaints) = read(&home, since)?;
    for why in &complaints {
        screen.warning(why);
    }
    let savings = suggest::savings(environment, screen)?;
    match args.json {
        true => screen.json(&to_json(&economy, &savings).to_string())?,
        false => lines(&economy, &savings).iter().try_for_each(|line| screen.folded(line))?,
    }
    Ok(Exit::Success)
}

/// What approval requests cost within the last day.
pub(crate) struct LastDay {
    /// In one line.
    pub(crate) line: String,
    /// What could not be counted.
    pub(crate) complaints: Vec<String>,
}

/// Counts the approval requests of the last day; logs that were not written to since then are left out.
pub(crate) fn of_last_day(home: &Home) -> Result<LastDay, Failure> {
    let (economy, complaints) = read(home, Some(before_now(DAY)))?;
    Ok(LastDay { line: format!("last 24 hours: {}", economy.line()), complaints })
}

/// Counts the approval requests in the logs of all sessions since a moment; says what could not be counted.
fn read(home: &Home, since: Option<Timestamp>) -> Result<(Economy, Vec<String>), Failure> {
    let (mut economy, mut complaints) = (Economy::default(), Vec::new());
    let (since_at, since) = (since, since.map(|it| it.to_string()));
    let old = since_at.map_or_else(|| Ok(HashSet::new()), |since| unwritten(home, since))?;
    for found in find::all(home)? {
        let directory = found.files.log.parent().and_then(Path::file_name);
        if directory.is_some_and(|it| old.contains(it)) {
            continue;
        }
        if let Err(why) = read_one(&found, since.as_deref(), &mut economy) {
            complaints.push(why);
        }
    }
    Ok((economy, complaints))
}

/// Returns the directories of sessions whose logs were not written to since then.
fn unwritten(home: &Home, since: Timestamp) -> Result<HashSet<OsString>, Failure> {
    let stamps = file::stamps(home.sessions(), LOG)?;
    let is_old = |ns: u64| ns / 1_000_000 < since.unix_ms();
    let old = stamps.into_iter().filter(|(_, stamp)| stamp.is_some_and(|it| is_old(it.changed_ns)));
    Ok(old.map(|(name, _)| name).collect())
}

fn read_one(found: &Found, since: Option<&str>, economy: &mut Economy) -> Result<(), String> {
    let unreadable = |error: &dyn std::fmt::Display| {
        format!("cannot count the approvals in `{}`: {error}", found.files.log.display())
    };
    let session = found.session.as_ref().map_or("", |it| it.as_str());
    let mut reader = economy.reader(session);
    for record in Records::open(&found.files.log).map_err(|error| unreadable(&error))? {
        reader.read(&record.map_err(|error| unreadable(&error))?, since);
    }
    Ok(())
}

/// Returns the moment that lies so far back.
fn before_now(age: Duration) -> Timestamp {
    let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
    Timestamp::from_unix_ms(SystemClock.now().unix_ms().saturating_sub(age_ms))
}

fn lines(economy: &Economy, savings: &[(String, usize)]) -> Vec<String> {
    let all = &economy.all;
    let mut lines = vec![sentence(&economy.line())];
    if all.calls == 0 {
        return lines;
    }
    lines.push(format!(
        "You approved {} and denied {}; {} expired, {} were withdrawn, and for {} nobody was available.",
        all.approved, all.denied, all.expired, all.withdrawn, all.not_asked
    ));
    lines.push(format!(
        "Without asking: {} by a grant, {} because your own message asked for it.",
        all.by_grant, all.by_message
    ));
    if let (Some(half), Some(most)) = (all.median_ms(), all.quantile_ms(95)) {
        lines.push(format!(
            "You took {} (half of them) to {} (95 %).",
            lasting(half),
            lasting(most)
        ));
    }
    for (title, rows) in [
        ("By rule:", &economy.by_rule),
        ("By server:", &economy.by_server),
        ("By session:", &economy.by_session),
    ] {
        lines.extend(table(title, rows));
    }
    let same = economy
        .always_the_same()
        .map(|(rule, how, n)| format!("  {}: {how} every time ({n} times)", visible(rule)));
    lines.extend(headed("Answered the same way every time:", same.collect()));
    let saved = savings.iter().map(|(command, n)| format!("  {n} requests: {}", visible(command)));
    lines.extend(headed("These rules would have saved requests:", saved.collect()));
    lines
}

fn headed(title: &str, rows: Vec<String>) -> Vec<String> {
    match rows.is_empty() {
        true => rows,
        false => std::iter::once(title.to_owned()).chain(rows).collect(),
    }
}

fn table(title: &str, rows: &BTreeMap<String, Tally>) -> Vec<String> {
    let mut rows: Vec<_> = rows.iter().filter(|(_, it)| it.questions != 0).collect();
    rows.sort_by(|(a, left), (b, right)| right.questions.cmp(&left.questions).then(a.cmp(b)));
    let n_more = rows.len().saturating_sub(ROWS_MAX);
    let shown = rows.iter().take(ROWS_MAX).map(|(name, it)| {
        let calls = if it.calls == 0 { String::new() } else { format!(" of {} calls", it.calls) };
        format!(
            "  {}: {} requests{calls}; {} approved, {} denied, {} expired",
            visible(name),
            it.questions,
            it.approved,
            it.denied,
            it.expired
        )
    });
    let mut lines = headed(title, shown.collect());
    if n_more != 0 {
        lines.push(format!("  and {n_more} more"));
    }
    lines
}

fn to_json(economy: &Economy, savings: &[(String, usize)]) -> Json {
    let tally = |it: &Tally| {
        let mut object = Object::new();
        object.insert("calls", it.calls);
        object.insert("requests", it.questions);
        object.insert("requestsPer100Calls", it.per_hundred());
        object.insert("approved", it.approved);
        object.insert("denied", it.denied);
        object.insert("expired", it.expired);
        object.insert("withdrawn", it.withdrawn);
        object.insert("notAsked", it.not_asked);
        object.insert("byGrant", it.by_grant);
        object.insert("byMessage", it.by_message);
        object.insert("medianMs", it.median_ms().map_or(Json::Null, Json::from));
        object.insert("p95Ms", it.quantile_ms(95).map_or(Json::Null, Json::from));
        object
    };
    let by = |rows: &BTreeMap<String, Tally>| {
        let mut object = Object::new();
        for (name, it) in rows {
            object.insert(name.as_str(), Json::Object(tally(it)));
        }
        Json::Object(object)
    };
    let same = economy.always_the_same().map(|(rule, how, n)| {
        let mut object = Object::new();
        object.insert("rule", rule);
        object.insert("answer", how);
        object.insert("times", n);
        Json::Object(object)
    });
    let saved = savings.iter().map(|(command, n)| {
        let mut object = Object::new();
        object.insert("command", command.as_str());
        object.insert("requestsSaved", *n as u64);
        Json::Object(object)
    });
    let mut object = tally(&economy.all);
    object.insert("byRule", by(&economy.by_rule));
    object.insert("byServer", by(&economy.by_server));
    object.insert("bySession", by(&economy.by_session));
    object.insert("alwaysTheSame", same.collect::<Vec<_>>());
    object.insert("suggestions", saved.collect::<Vec<_>>());
    Json::Object(object)
}

/// Says how long something took.
fn lasting(ms: u64) -> String {
    format!("{}.{} s", ms / 1000, ms % 1000 / 100)
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(chars).chain(['.']).collect()
}
