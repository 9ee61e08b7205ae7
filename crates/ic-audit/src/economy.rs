//! What questions cost: how many calls needed one, who answered, how, and how long it took.
//!
//! Counts records in their order; nothing is checked and nothing is judged. A question that was never put to
//! anybody is counted apart: it cost the agent a call, and nobody any time.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;

use ic_types::{Json, Object};

use crate::read::Record;

/// From how many answers on it is worth saying that they were all the same.
const SAME_MIN: u64 = 3;

/// What was counted of one log or of several.
#[derive(Clone, Debug, Default)]
pub struct Economy {
    /// Everything together.
    pub all: Tally,
    /// By the rule or invariant that asked.
    pub by_rule: BTreeMap<String, Tally>,
    /// By server.
    pub by_server: BTreeMap<String, Tally>,
    /// By session.
    pub by_session: BTreeMap<String, Tally>,
}

/// What was counted of one kind.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Calls that were judged; none by rule, where only questions count.
    pub calls: u64,
    /// Questions that were put to a person.
    pub questions: u64,
    /// Approved by a person.
    pub approved: u64,
    /// Denied by a person.
    pub denied: u64,
    /// Nobody answered in time.
    pub expired: u64,
    /// Nobody wanted the answer any more.
    pub withdrawn: u64,
    /// Calls that needed an approval and about which nobody was asked.
    pub not_asked: u64,
    /// Answered by an earlier grant.
    pub by_grant: u64,
    /// Answered by the person's own message.
    pub by_message: u64,
    /// How long people took, in milliseconds.
    times_ms: Vec<u64>,
}

/// Reads one log.
#[derive(Debug)]
pub struct Reader<'a> {
    economy: &'a mut Economy,
    session: String,
    /// The calls that were seen.
    seen: HashSet<String>,
    /// The rule that asked about a call, and its server.
    asked: HashMap<String, (String, String)>,
}

/// What happened to a question.
#[derive(Clone, Copy)]
enum Happened {
    Call,
    Raised,
    Answered { is_approved: bool, by: By, took_ms: Option<u64> },
    Expired,
    Withdrawn,
    NotAsked,
    Granted,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum By {
    Person,
    Grant,
    Message,
    /// The person who typed the call.
    Typed,
}

impl Economy {
    /// Reads the records of one log next; `session` is what people call it until it says so itself.
    pub fn reader(&mut self, session: &str) -> Reader<'_> {
        let (seen, asked) = (HashSet::new(), HashMap::new());
        Reader { economy: self, session: session.to_owned(), seen, asked }
    }

    /// Returns the rules whose questions were all answered the same way, with that way.
    pub fn always_the_same(&self) -> impl Iterator<Item = (&str, &'static str, u64)> {
        self.by_rule.iter().filter_map(|(rule, tally)| match (tally.approved, tally.denied) {
            (n, 0) if SAME_MIN <= n => Some((rule.as_str(), "approved", n)),
            (0, n) if SAME_MIN <= n => Some((rule.as_str(), "denied", n)),
            (_, _) => None,
        })
    }

    /// Says it in one line.
    pub fn line(&self) -> String {
        let all = &self.all;
        if all.calls == 0 {
            return "no calls yet".to_owned();
        }
        let mut line = format!(
            "{} approval requests per 100 calls ({} of {})",
            all.per_hundred(),
            all.questions,
            all.calls
        );
        if let Some(ms) = all.median_ms() {
            // Writing to a string cannot fail.
            write!(line, ", half of them answered within {} s", ms.div_ceil(1000)).ok();
        }
        if all.expired != 0 {
            write!(line, ", {} expired", all.expired).ok();
        }
        line
    }
}

impl Tally {
    /// Returns questions per 100 calls, with one decimal.
    pub fn per_hundred(&self) -> String {
        if self.calls == 0 {
            return "0.0".to_owned();
        }
        let tenths =
            self.questions.saturating_mul(1000).saturating_add(self.calls / 2) / self.calls;
        format!("{}.{}", tenths / 10, tenths % 10)
    }

    /// Returns how long it took at the middle, if anybody answered.
    pub fn median_ms(&self) -> Option<u64> {
        self.quantile_ms(50)
    }

    /// Returns how long it took for so many of a hundred answers, if there are any.
    pub fn quantile_ms(&self, percent: usize) -> Option<u64> {
        let mut times = self.times_ms.clone();
        times.sort_unstable();
        let at = times.len().checked_mul(percent)?.div_ceil(100).checked_sub(1)?;
        times.get(at).copied()
    }

    fn count(&mut self, happened: Happened) {
        let counter = match happened {
            Happened::Call => &mut self.calls,
            Happened::Raised => &mut self.questions,
            Happened::Expired => &mut self.expired,
            Happened::Withdrawn => &mut self.withdrawn,
            Happened::NotAsked => &mut self.not_asked,
            Happened::Granted => &mut self.by_grant,
            Happened::Answered { by: By::Message, .. } => &mut self.by_message,
            // Counted where the grant was used, and what a person typed was no question.
            Happened::Answered { by: By::Grant | By::Typed, .. } => return,
            Happened::Answered { is_approved, by: By::Person, took_ms } => {
                self.times_ms.extend(took_ms);
                if is_approved { &mut self.approved } else { &mut self.denied }
            }
        };
        *counter = counter.saturating_add(1);
    }
}

impl Reader<'_> {
    /// Counts a record; those before `since`, an RFC 3339 time, only say what later ones are about.
    pub fn read(&mut self, record: &Record, since: Option<&str>) {
        let fields = &record.fields;
        let text = |key: &str| fields.get(key).and_then(Json::as_str);
        let event = match fields.get("arguments") {
            Some(Json::Object(event)) => Some(event),
            Some(
                Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_),
            )
            | None => None,
        };
        let is_counted = since.is_none_or(|since| since <= text("timestamp").unwrap_or_default());
        let kind = text("kind").unwrap_or_default();
        if kind == "session" {
            let name = event.filter(|it| said(it, "event") == Some("opened"));
            if let Some(name) = name.and_then(|it| said(it, "name")) {
                name.clone_into(&mut self.session);
            }
            return;
        }
        let Some(request) = text("requestId") else { return };
        let server = text("server").unwrap_or_default();
        if kind == "intent" {
            if text("verdict") == Some("escalate") {
                let rule = text("rule").unwrap_or_default().to_owned();
                self.asked.insert(request.to_owned(), (rule, server.to_owned()));
            }
            if self.seen.insert(request.to_owned()) && is_counted {
                self.count(request, server, Happened::Call);
            }
            return;
        }
        if let Some(happened) = event.and_then(|event| happened(kind, event, fields))
            && is_counted
        {
            self.count(request, server, happened);
        }
    }

    fn count(&mut self, request: &str, server: &str, happened: Happened) {
        let economy = &mut *self.economy;
        economy.all.count(happened);
        economy.by_session.entry(self.session.clone()).or_default().count(happened);
        economy.by_server.entry(server.to_owned()).or_default().count(happened);
        if let Some((rule, _)) = self.asked.get(request)
            && !matches!(happened, Happened::Call)
        {
            economy.by_rule.entry(rule.clone()).or_default().count(happened);
        }
    }
}

fn happened(kind: &str, event: &Object, fields: &Object) -> Option<Happened> {
    let took_ms = fields.get("durationMs").and_then(|it| it.to_string().parse().ok());
    Some(match (kind, said(event, "event")?) {
        ("escalation", "raised") => Happened::Raised,
        ("escalation", "expired") => Happened::Expired,
        ("escalation", "withdrawn") => Happened::Withdrawn,
        ("escalation", "notAsked") => Happened::NotAsked,
        ("grant", "used") => Happened::Granted,
        ("escalation", "answered") => {
            let by = match fields.get("decidedBy").and_then(Json::as_str)? {
                "auto" => By::Message,
                "grant" => By::Grant,
                "user" => By::Typed,
                _ => By::Person,
            };
            let is_approved = said(event, "decision") == Some("approved");
            Happened::Answered { is_approved, by, took_ms }
        }
        (_, _) => return None,
    })
}

fn said<'a>(event: &'a Object, key: &str) -> Option<&'a str> {
    event.get(key).and_then(Json::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ic_types::JsonLimits;

    fn read(economy: &mut Economy, lines: &[&str], since: Option<&str>) {
        let mut reader = economy.reader("s");
        for line in lines {
            let Ok(Json::Object(fields)) = Json::parse(line.as_bytes(), JsonLimits::CALL) else {
                panic!("{line}")
            };
            reader.read(&Record { line: (*line).to_owned(), fields }, since);
        }
    }

    const OPENED: &str = r#"{"kind":"session","timestamp":"2026-11-18T09:00:00Z","arguments":{"event":"opened","name":"work"}}"#;

    fn asked(id: u64, at: &str, rule: &str) -> [String; 2] {
        [
            format!(
                r#"{{"kind":"intent","timestamp":"{at}","requestId":"{id}","server":"git","verdict":"escalate","rule":"{rule}"}}"#
            ),
            format!(
                r#"{{"kind":"escalation","timestamp":"{at}","requestId":"{id}","server":"git","arguments":{{"event":"raised"}}}}"#
            ),
        ]
    }

    fn answered(id: u64, at: &str, (decision, by): (&str, &str), ms: u64) -> String {
        format!(
            r#"{{"kind":"escalation","timestamp":"{at}","requestId":"{id}","server":"git","decidedBy":"{by}","durationMs":{ms},"arguments":{{"event":"answered","decision":"{decision}"}}}}"#
        )
    }

    fn day() -> Vec<String> {
        let at = "2026-11-18T10:00:00Z";
        let mut lines = vec![OPENED.to_owned()];
        for id in 0..36 {
            lines.push(format!(
                r#"{{"kind":"intent","timestamp":"{at}","requestId":"f{id}","server":"filesystem","verdict":"allow"}}"#
            ));
        }
        for (id, ms) in [(1, 1000), (2, 3000), (3, 9000)] {
            lines.extend(asked(id, at, "ask-push"));
            lines.push(answered(id, at, ("approved", "repl"), ms));
            // The same call, recorded again before it is forwarded.
            lines.push(format!(
                r#"{{"kind":"intent","timestamp":"{at}","requestId":"{id}","server":"git","verdict":"allow"}}"#
            ));
        }
        lines.extend(asked(4, at, "ask-other"));
        lines.push(
            r#"{"kind":"escalation","timestamp":"2026-11-18T10:05:00Z","requestId":"4","server":"git","arguments":{"event":"expired"}}"#
                .to_owned(),
        );
        lines
    }

    #[test]
    fn questions_are_counted_with_their_answers() {
        let (mut economy, day) = (Economy::default(), day());
        read(&mut economy, &day.iter().map(String::as_str).collect::<Vec<_>>(), None);
        let all = &economy.all;
        assert_eq!((all.calls, all.questions, all.approved, all.expired), (40, 4, 3, 1));
        assert_eq!((all.per_hundred().as_str(), all.median_ms()), ("10.0", Some(3000)));
        assert_eq!(
            economy.line(),
            "10.0 approval requests per 100 calls (4 of 40), half of them answered within 3 s, 1 expired"
        );
        assert_eq!(economy.by_session.keys().collect::<Vec<_>>(), ["work"]);
        assert_eq!(economy.by_server["git"].calls, 4);
        assert_eq!(economy.by_rule["ask-push"].questions, 3);
        assert_eq!(economy.always_the_same().collect::<Vec<_>>(), [("ask-push", "approved", 3)]);
    }

    #[test]
    fn grants_and_messages_are_no_questions() {
        let at = "2026-11-18T10:00:00Z";
        let (mut economy, [asked, _]) = (Economy::default(), asked(1, at, "r"));
        let used = format!(
            r#"{{"kind":"grant","timestamp":"{at}","requestId":"1","server":"git","arguments":{{"event":"used"}}}}"#
        );
        let said = answered(1, at, ("approved", "auto"), 0);
        let typed = answered(1, at, ("approved", "user"), 0);
        read(&mut economy, &[&asked, &used, &said, &typed], None);
        let all = &economy.all;
        assert_eq!((all.questions, all.by_grant, all.by_message, all.approved), (0, 1, 1, 0));
        assert_eq!(economy.line(), "0.0 approval requests per 100 calls (0 of 1)");
    }

    #[test]
    fn what_is_older_is_not_counted() {
        let (mut economy, day) = (Economy::default(), day());
        let day: Vec<&str> = day.iter().map(String::as_str).collect();
        read(&mut economy, &day, Some("2026-11-18T10:01"));
        assert_eq!((economy.all.calls, economy.all.expired), (0, 1));
        assert_eq!(economy.by_rule.keys().collect::<Vec<_>>(), ["ask-other"]);
        assert_eq!(Economy::default().line(), "no calls yet");
    }
}
