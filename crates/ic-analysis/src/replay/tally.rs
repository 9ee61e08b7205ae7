//! What another policy would have changed, added up.

use std::collections::{BTreeMap, HashSet};

use ic_policy::{Effect, Policy};
use ic_types::{Object, ServerName, ToolName};

use super::{Answer, Intent, Unknown};

/// What became of all recorded calls.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How many calls were looked at.
    pub n_calls: usize,
    /// How many of them needed approval then.
    pub n_asked_before: usize,
    /// How many would not need approval any more, since they would be allowed.
    pub n_saved: usize,
    /// How many would not need approval any more, since they would be denied.
    pub n_refused: usize,
    /// How many would need approval that did not.
    pub n_added: usize,
    /// How many would be denied that were not.
    pub n_denied: usize,
    /// How many cannot be said anything about, by reason.
    pub unknown: BTreeMap<Unknown, usize>,
    changed: BTreeMap<Key, Group>,
    /// Requests that were asked about: the record of the approved call is no further call.
    asked: HashSet<String>,
}

type Key = (ServerName, ToolName, u8, u8, String, String);

/// Calls of one tool that come out differently by the same rules.
#[derive(Clone, Debug)]
pub struct Group {
    /// The server.
    pub server: ServerName,
    /// The tool.
    pub tool: ToolName,
    /// What was decided.
    pub before: Effect,
    /// What would be decided.
    pub after: Effect,
    /// The rule that decided.
    pub rule_before: String,
    /// The rule that would decide.
    pub rule_after: String,
    /// How many calls.
    pub count: usize,
    /// The arguments of the first of them.
    pub example: Object,
}

impl Group {
    /// Returns whether the other policy lets more through.
    pub fn is_widening(&self) -> bool {
        self.after < self.before
    }
}

impl Tally {
    /// Adds a record that was judged by `policy`; records of one log come in their order.
    pub fn add(&mut self, intent: Intent, answer: Answer, policy: Option<&Policy>) {
        match (intent.verdict, intent.is_by_policy) {
            (Effect::Escalate, true) => _ = self.asked.insert(intent.request.clone()),
            (_, false) if self.asked.contains(&intent.request) => return,
            (Effect::Allow | Effect::Deny | Effect::Escalate, _) => {}
        }
        self.n_calls += 1;
        let before = intent.verdict;
        self.n_asked_before += usize::from(before == Effect::Escalate);
        let outcome = match answer {
            Answer::Decided(outcome) => outcome,
            Answer::Unknown(why) => {
                *self.unknown.entry(why).or_default() += 1;
                return;
            }
        };
        let after = outcome.effect;
        if before == after {
            return;
        }
        match (before, after) {
            (Effect::Escalate, Effect::Allow) => self.n_saved += 1,
            (_, Effect::Escalate) => self.n_added += 1,
            (Effect::Escalate, Effect::Deny) => {
                self.n_refused += 1;
                self.n_denied += 1;
            }
            (_, Effect::Deny) => self.n_denied += 1,
            (_, Effect::Allow) => {}
        }
        let rule_after = policy.map(|it| outcome.by.name(it)).unwrap_or_default();
        let Intent { server, tool, rule, arguments, .. } = intent;
        let rank = |effect: Effect| match effect {
            Effect::Allow => 0,
            Effect::Escalate => 1,
            Effect::Deny => 2,
        };
        let key = (
            server.clone(),
            tool.clone(),
            rank(before),
            rank(after),
            rule.clone(),
            rule_after.clone(),
        );
        let group = self.changed.entry(key).or_insert_with(|| Group {
            server,
            tool,
            before,
            after,
            rule_before: rule,
            rule_after,
            count: 0,
            example: arguments,
        });
        group.count += 1;
    }

    /// Begins another log, whose requests are numbered anew.
    pub fn begin_log(&mut self) {
        self.asked.clear();
    }

    /// Returns what changes, what is let through first, the most frequent first.
    pub fn groups(&self) -> Vec<&Group> {
        let mut groups: Vec<&Group> = self.changed.values().collect();
        groups.sort_by_key(|it| (!it.is_widening(), it.after, std::cmp::Reverse(it.count)));
        groups
    }

    /// Returns how many calls would come out differently.
    pub fn n_changed(&self) -> usize {
        self.changed.values().map(|it| it.count).sum()
    }

    /// Returns how many calls cannot be said anything about.
    pub fn n_unknown(&self) -> usize {
        self.unknown.values().sum()
    }

    /// Returns how many of 100 calls `n` are.
    pub fn per_hundred(&self, n: usize) -> f64 {
        let number = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
        if self.n_calls == 0 { 0.0 } else { 100.0 * number(n) / number(self.n_calls) }
    }
}
