//! What the log of a day says, beside what the clients were told.
//!
//! Whether the log is whole is what `audit verify` says.

use std::collections::HashMap;
use std::io::BufRead;

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::calls::{OWN, Wanted};
use super::client::{FLYING, N_CLIENTS, Visits};
use super::house::End;

/// The rule of a call whose server was not there.
const NOT_THERE: &str = "server-unavailable";
/// The rule of a call whose client left before it was forwarded.
const CANCELLED: &str = "cancelled";
/// The rules that refuse before the policy is asked.
const UNJUDGED: [&str; 4] =
    ["structural-unknown-tool", "structural-invalid-arguments", NOT_THERE, CANCELLED];

/// A policy, and the first call that it is in force for.
#[derive(Debug)]
pub(super) struct InForce {
    pub(super) first: u64,
    pub(super) hash: String,
    /// Whether it lets the stranger read.
    pub(super) may_read: bool,
}

/// The calls that the log has.
#[derive(Debug)]
pub(super) struct Ledger<'a> {
    pub(super) n_records: u64,
    policies: &'a [InForce],
    first: u64,
    /// For each call from `first` on.
    fates: Vec<Fate>,
    /// The calls that were begun in this run and have no outcome, by their ids.
    open: HashMap<String, u64>,
    /// The policy of this run.
    hash: Option<String>,
    /// For each run, how many calls it left without an outcome.
    n_unfinished: Vec<u64>,
}

/// What the log has of a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Fate {
    Unknown,
    Denied,
    Begun,
    Done,
}

#[derive(Deserialize)]
struct Record<'a> {
    kind: &'a str,
    #[serde(rename = "requestId")]
    request_id: Option<&'a str>,
    verdict: Option<&'a str>,
    rule: Option<&'a str>,
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
    /// Those of a call that could not be understood.
    arguments: Option<Box<Numbered>>,
}

impl<'a> Ledger<'a> {
    /// Reads a log whose calls were to be judged by `policies`, in this order.
    pub(super) fn read(mut log: impl BufRead, policies: &'a [InForce]) -> anyhow::Result<Self> {
        let first = policies.first().context("a day has a policy")?.first;
        let (fates, open, n_unfinished) = (Vec::new(), HashMap::new(), Vec::new());
        let mut ledger =
            Self { n_records: 0, policies, first, fates, open, hash: None, n_unfinished };
        let mut line = String::new();
        while log.read_line(&mut line)? != 0 {
            ledger.n_records += 1;
            let record: Record<'_> = serde_json::from_str(&line)?;
            ledger.add(&record).with_context(|| format!("the log says: {line}"))?;
            line.clear();
        }
        ledger.end_run();
        Ok(ledger)
    }

    fn add(&mut self, record: &Record<'_>) -> anyhow::Result<()> {
        match (record.kind, record.request_id) {
            ("session", _) => {
                if let Some(hash) = opened_with(record)? {
                    self.end_run();
                    self.hash = Some(hash);
                }
            }
            ("intent", Some(id)) => self.begin(id, record)?,
            ("outcome", Some(id)) => {
                let number = self.open.remove(id).context("it has no intent")?;
                if number < OWN {
                    *self.fate(number)? = Fate::Done;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A run ends where the next one begins, or with the log.
    fn end_run(&mut self) {
        if self.hash.take().is_some() {
            self.n_unfinished.push(self.open.len() as u64);
            self.open.clear();
        }
    }

    fn begin(&mut self, id: &str, record: &Record<'_>) -> anyhow::Result<()> {
        let number = number(record)?;
        let Record { verdict, rule, policy_hash, .. } = *record;
        let rule = rule.context("an intent names a rule")?;
        match policy_hash {
            Some(hash) => ensure!(
                self.hash.as_deref() == Some(hash),
                "it was judged by a policy that this run did not load"
            ),
            None => ensure!(UNJUDGED.contains(&rule), "no policy is named"),
        }
        if verdict == Some("allow") {
            self.open.insert(id.to_owned(), number);
        }
        if OWN <= number {
            return Ok(());
        }
        let in_force = self.policies.iter().rev().find(|it| it.first <= number);
        let in_force = in_force.context("a call of another day")?;
        ensure!(
            policy_hash.is_none_or(|hash| hash == in_force.hash),
            "the policy in force was {}",
            in_force.hash
        );
        let fate = match (verdict, Wanted::of(number, in_force.may_read)) {
            (Some("allow"), Wanted::Served) => Fate::Begun,
            (Some("deny"), Wanted::Denied) => Fate::Denied,
            (Some("deny"), Wanted::Served) if [NOT_THERE, CANCELLED].contains(&rule) => {
                Fate::Denied
            }
            (_, wanted) => bail!("the call was to be {wanted:?}"),
        };
        let known = self.fate(number)?;
        ensure!(*known == Fate::Unknown, "call {number} was made twice");
        *known = fate;
        Ok(())
    }

    fn fate(&mut self, number: u64) -> anyhow::Result<&mut Fate> {
        let place = usize::try_from(number.checked_sub(self.first).context("a call of today")?)?;
        if self.fates.len() <= place {
            self.fates.resize(place + 1, Fate::Unknown);
        }
        self.fates.get_mut(place).context("there is room for it")
    }

    /// Checks that what every client was told is there, and that runs left nothing unfinished but what
    /// was in flight when they were killed.
    pub(super) fn check(&self, visits: &Visits, ends: &[End]) -> anyhow::Result<()> {
        for (numbers, told, fates) in [
            (&visits.served, "served", [Fate::Done].as_slice()),
            (&visits.denied, "refused", &[Fate::Denied]),
            (&visits.failed, "failed", &[Fate::Denied, Fate::Done]),
        ] {
            for number in numbers {
                let place = number.checked_sub(self.first).context("a call of today")?;
                let fate = self.fates.get(usize::try_from(place)?);
                let fate = fate.copied().unwrap_or(Fate::Unknown);
                ensure!(
                    fates.contains(&fate),
                    "call {number} was {told}; in the log it is {fate:?}"
                );
            }
        }
        let n_runs = self.n_unfinished.len();
        ensure!(n_runs == ends.len(), "the log has {n_runs} runs of {}", ends.len());
        for (n_unfinished, end) in self.n_unfinished.iter().zip(ends) {
            let n_allowed = match end {
                End::Asked => 0,
                // What clients waited for, and what those had called who had just left.
                End::Killed => 2 * N_CLIENTS * FLYING,
            };
            ensure!(
                *n_unfinished <= n_allowed,
                "{n_unfinished} calls have no outcome in a run whose end was {end:?}"
            );
        }
        Ok(())
    }

    /// Returns how many calls have no outcome, since their run was killed.
    pub(super) fn n_unfinished(&self) -> u64 {
        self.n_unfinished.iter().sum()
    }
}

/// Returns the policy that a run began with, if the record says that one began.
fn opened_with(record: &Record<'_>) -> anyhow::Result<Option<String>> {
    let Some(arguments) = record.arguments else { return Ok(None) };
    let arguments: Value = serde_json::from_str(arguments.get())?;
    Ok(arguments.get("policyHash").and_then(Value::as_str).map(str::to_owned))
}

fn number(record: &Record<'_>) -> anyhow::Result<u64> {
    let arguments = record.arguments.context("a call has arguments")?;
    let numbered: Numbered = serde_json::from_str(arguments.get())?;
    numbered.number().context("a call without its number")
}

impl Numbered {
    fn number(self) -> Option<u64> {
        let Self { count, head, content, arguments } = self;
        let parsed = || content.and_then(|it| it.parse().ok());
        count.or(head).or_else(parsed).or_else(|| arguments.and_then(|it| it.number()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPENED: &str = r#"{"kind":"session","arguments":{"event":"opened","policyHash":"p"}}"#;

    fn intent(number: u64, verdict: &str, rule: &str, hash: &str) -> String {
        format!(
            r#"{{"kind":"intent","requestId":"r-{number}","verdict":"{verdict}","rule":"{rule}","policyHash":"{hash}","arguments":{{"count":{number}}}}}"#
        )
    }

    fn outcome(number: u64) -> String {
        format!(r#"{{"kind":"outcome","requestId":"r-{number}"}}"#)
    }

    /// A day with the calls 40 (served), 46 (refused) and 49 (served).
    fn log() -> Vec<String> {
        vec![
            OPENED.to_owned(),
            intent(40, "allow", "yes", "p"),
            intent(46, "deny", "no", "p"),
            outcome(40),
            intent(49, "allow", "yes", "p"),
            outcome(49),
        ]
    }

    fn check(log: &[String], may_read: bool, end: End) -> Result<(), String> {
        let policies = [InForce { first: 40, hash: "p".to_owned(), may_read }];
        let visits = Visits { served: vec![40, 49], denied: vec![46], ..Visits::default() };
        let ledger = Ledger::read(log.join("\n").as_bytes(), &policies);
        let checked = ledger.and_then(|it| it.check(&visits, &[end]));
        checked.map_err(|error| format!("{error:#}"))
    }

    #[track_caller]
    fn check_complains(log: &[String], about: &str) {
        let complaint = check(log, true, End::Asked).unwrap_err();
        assert!(complaint.contains(about), "{complaint}");
    }

    #[test]
    fn a_log_that_has_everything_is_good() {
        check(&log(), true, End::Asked).unwrap();
    }

    #[test]
    fn a_record_that_is_missing_is_found() {
        for (at, about) in [
            (0, "a policy that this run did not load"),
            (1, "it has no intent"),
            (2, "call 46 was refused; in the log it is Unknown"),
            (3, "call 40 was served; in the log it is Begun"),
            (4, "it has no intent"),
            (5, "call 49 was served; in the log it is Begun"),
        ] {
            let mut log = log();
            log.remove(at);
            check_complains(&log, about);
        }
    }

    #[test]
    fn a_call_that_nobody_was_told_about_has_an_outcome_unless_its_run_was_killed() {
        let mut log = log();
        log.push(intent(50, "allow", "yes", "p"));
        check_complains(&log, "1 calls have no outcome in a run whose end was Asked");
        check(&log, true, End::Killed).unwrap();
        // More than could be in flight.
        log.extend(
            (60..220)
                .filter(|it| Wanted::of(*it, true) == Wanted::Served)
                .map(|it| intent(it, "allow", "yes", "p")),
        );
        assert!(check(&log, true, End::Killed).is_err());
    }

    #[test]
    fn verdicts_follow_the_policy_in_force() {
        assert!(check(&log(), false, End::Asked).unwrap_err().contains("was to be Denied"));
        let mut other = log();
        other[4] = intent(49, "allow", "yes", "q");
        check_complains(&other, "a policy that this run did not load");
        other[0] = OPENED.replace(r#""p""#, r#""q""#);
        other[1] = intent(40, "allow", "yes", "q");
        check_complains(&other, "the policy in force was p");
        let mut denied = log();
        denied[4] = intent(49, "deny", "no", "p");
        check_complains(&denied, "was to be Served");
    }

    #[test]
    fn a_call_is_made_once_and_every_run_is_there() {
        let mut twice = log();
        twice.push(intent(40, "allow", "yes", "p"));
        check_complains(&twice, "made twice");
        let mut again = log();
        again.push(OPENED.to_owned());
        check_complains(&again, "the log has 2 runs of 1");
    }
}
