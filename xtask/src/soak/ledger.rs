//! What the log of a day says, beside what the clients were told.
//!
//! Whether the log is whole is what `audit verify` says.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context as _, ensure};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The calls that the log has.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) n_records: u64,
    first: u64,
    /// For each call from `first` on: whether it was allowed, and has an outcome.
    settled: Vec<bool>,
}

#[derive(Deserialize)]
struct Record<'a> {
    kind: &'a str,
    #[serde(rename = "requestId")]
    request_id: Option<&'a str>,
    verdict: Option<&'a str>,
    #[serde(rename = "policyHash")]
    policy_hash: Option<&'a str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// In whichever argument the number of a call is.
#[derive(Deserialize)]
struct Numbered {
    count: Option<u64>,
    head: Option<u64>,
    content: Option<String>,
}

impl Ledger {
    /// Reads a log whose calls are numbered from `first` on.
    pub(super) fn read(log: &Path, first: u64) -> anyhow::Result<Self> {
        let mut ledger = Self { n_records: 0, first, settled: Vec::new() };
        let mut flying: HashMap<String, u64> = HashMap::new();
        let mut policy = String::new();
        for line in std::fs::read_to_string(log)?.lines() {
            ledger.n_records += 1;
            let record: Record<'_> = serde_json::from_str(line)?;
            match (record.kind, record.request_id) {
                ("session", _) => {
                    if let Some(opened) = policy_of(&record)? {
                        policy = opened;
                    }
                }
                ("intent", Some(id)) => {
                    let judged_by = record.policy_hash.unwrap_or(&policy);
                    ensure!(judged_by == policy, "judged by a policy that nobody loaded: {line}");
                    if record.verdict == Some("allow") {
                        flying.insert(id.to_owned(), number(&record)?);
                    }
                }
                ("outcome", Some(id)) => {
                    let number = flying.remove(id).with_context(|| format!("no intent: {line}"))?;
                    ledger.settle(number)?;
                }
                _ => {}
            }
        }
        Ok(ledger)
    }

    fn settle(&mut self, number: u64) -> anyhow::Result<()> {
        // Calls of our own, beside those of the clients.
        let Some(place) = number.checked_sub(self.first) else { return Ok(()) };
        let place = usize::try_from(place)?;
        if self.settled.len() <= place {
            self.settled.resize(place + 1, false);
        }
        let settled = self.settled.get_mut(place).context("there is room for it")?;
        ensure!(!std::mem::replace(settled, true), "call {number} was made twice");
        Ok(())
    }

    /// Checks that every call that was answered well is there.
    pub(super) fn check(&self, served: &[u64]) -> anyhow::Result<()> {
        for number in served {
            let place = usize::try_from(number - self.first)?;
            let is_settled = self.settled.get(place).copied().unwrap_or_default();
            ensure!(is_settled, "call {number} was served, and is not in the log");
        }
        Ok(())
    }
}

/// Returns the policy that a session was opened with.
fn policy_of(record: &Record<'_>) -> anyhow::Result<Option<String>> {
    let Some(arguments) = record.arguments else { return Ok(None) };
    let arguments: Value = serde_json::from_str(arguments.get())?;
    Ok(arguments.get("policyHash").and_then(Value::as_str).map(str::to_owned))
}

fn number(record: &Record<'_>) -> anyhow::Result<u64> {
    let arguments = record.arguments.context("a call has arguments")?;
    let Numbered { count, head, content } = serde_json::from_str(arguments.get())?;
    let number = count.or(head).or(content.and_then(|it| it.parse().ok()));
    number.with_context(|| format!("a call without its number: {arguments}"))
}
