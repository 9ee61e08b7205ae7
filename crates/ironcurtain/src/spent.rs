//! What models took, by the records of sessions: requests, tokens and cost.
//!
//! The built-in agent and the model gate write the same figures, so one reading serves both.

use std::collections::BTreeMap;
use std::fmt;

use ic_audit::read::Record;
use ic_model::{Cost, Usage};
use ic_types::{Json, Object};

/// What requests to models took.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Spent {
    /// How many there were.
    pub(crate) n_requests: u64,
    /// How many of them came to nothing.
    pub(crate) n_failed: u64,
    /// How many of them the provider gave no figures for, so that they were charged by size.
    pub(crate) n_estimated: u64,
    /// Tokens.
    pub(crate) usage: Usage,
    cost_billionths: u64,
}

impl Spent {
    /// Reads a record: the model that was asked, and what that took. `None` if it is about no model.
    pub(crate) fn of(record: &Record) -> Option<(String, Self)> {
        if record.text("kind") != Some("llm") {
            return None;
        }
        let Some(Json::Object(told)) = record.fields.get("arguments") else { return None };
        // The gate writes a request down when it begins, too.
        if told.get("event").and_then(Json::as_str).is_some_and(|event| event != "ended") {
            return None;
        }
        let model = told.get("model").and_then(Json::as_str)?;
        let is_failed = told.get("error").is_some()
            || number(told, "status").is_some_and(|status| !(200..300).contains(&status));
        let is_estimated = told.get("estimated") == Some(&Json::Bool(true));
        let tokens = |key: &str| number(told, key).unwrap_or(0);
        let spent = Self {
            n_requests: 1,
            n_failed: u64::from(is_failed),
            n_estimated: u64::from(is_estimated),
            usage: Usage {
                prompt: tokens("promptTokens"),
                completion: tokens("completionTokens"),
                cached: tokens("cachedTokens"),
                cache_written: tokens("cacheWrittenTokens"),
            },
            cost_billionths: tokens("costBillionths"),
        };
        Some((model.to_owned(), spent))
    }

    /// Adds what others took.
    pub(crate) fn add(&mut self, other: Self) {
        self.n_requests += other.n_requests;
        self.n_failed += other.n_failed;
        self.n_estimated += other.n_estimated;
        self.usage += other.usage;
        self.cost_billionths = self.cost_billionths.saturating_add(other.cost_billionths);
    }

    /// Returns what it costs.
    pub(crate) fn cost(&self) -> Cost {
        Cost::from_billionths(self.cost_billionths)
    }
}

/// Says it for people: `2 requests, 1200 tokens in (1000 cached), 80 out, $0.0123`.
impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n_requests, n_failed, n_estimated, usage, .. } = self;
        let requests = if *n_requests == 1 { "request" } else { "requests" };
        write!(f, "{n_requests} {requests}, {} tokens in", usage.prompt)?;
        if usage.cached != 0 {
            write!(f, " ({} cached)", usage.cached)?;
        }
        write!(f, ", {} out, {}", usage.completion, self.cost())?;
        if *n_failed != 0 {
            write!(f, ", {n_failed} failed")?;
        }
        match n_estimated {
            0 => Ok(()),
            n => write!(f, ", {n} estimated by size"),
        }
    }
}

/// What each model took.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByModel(BTreeMap<String, Spent>);

impl ByModel {
    /// Takes a record in.
    pub(crate) fn take(&mut self, record: &Record) {
        if let Some((model, spent)) = Spent::of(record) {
            self.0.entry(model).or_default().add(spent);
        }
    }

    /// Returns what all of them cost.
    pub(crate) fn cost(&self) -> Cost {
        self.0.values().fold(Cost::ZERO, |sum, it| sum.plus(it.cost()))
    }

    /// Returns a line for each model.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(model, spent)| format!("{model}: {spent}"))
    }
}

fn number(told: &Object, key: &str) -> Option<u64> {
    match told.get(key) {
        Some(Json::Number(number)) => number.as_str().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(arguments: &str) -> Record {
        let line = format!(r#"{{"kind":"llm","arguments":{arguments}}}"#);
        let fields = Record::fields(line.as_bytes()).unwrap();
        Record { line, fields }
    }

    #[test]
    fn both_kinds_of_records_are_read_and_a_request_counts_once() {
        let mut all = ByModel::default();
        for arguments in [
            // The built-in agent's.
            r#"{"model":"anthropic:m","promptTokens":100,"completionTokens":10,"cachedTokens":60,"cacheWrittenTokens":5,"costBillionths":1500000}"#,
            r#"{"model":"anthropic:m","error":"refused"}"#,
            // The gate's.
            r#"{"event":"asked","request":1,"model":"openai:o","bytes":12}"#,
            r#"{"event":"ended","request":1,"model":"openai:o","status":200,"promptTokens":7,"completionTokens":3,"costBillionths":100000,"estimated":true}"#,
            r#"{"event":"ended","request":2,"model":"openai:o","status":529}"#,
            r#"{"event":"ended","request":3,"status":200}"#,
            r#"{"event":"refused","model":"openai:o","status":403}"#,
        ] {
            all.take(&record(arguments));
        }
        let lines: Vec<String> = all.lines().collect();
        assert_eq!(
            lines,
            [
                "anthropic:m: 2 requests, 100 tokens in (60 cached), 10 out, $0.0015, 1 failed",
                "openai:o: 2 requests, 7 tokens in, 3 out, $0.0001, 1 failed, 1 estimated by size",
            ]
        );
        assert_eq!(all.cost().billionths(), 1_600_000);
    }

    #[test]
    fn figures_that_are_no_numbers_count_as_none() {
        let (_, spent) =
            Spent::of(&record(r#"{"model":"m","promptTokens":"9","costBillionths":-1}"#)).unwrap();
        assert_eq!((spent.usage.prompt, spent.cost()), (0, Cost::ZERO));
    }
}
