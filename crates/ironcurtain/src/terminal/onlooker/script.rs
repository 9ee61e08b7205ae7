//! Events as lines of JSON, for scripts that start a task with `--json`.
//!
//! The names are those of the events of a session. Text in them is of strangers.

use ic_backend::Ending;
use ic_session::{CallFate, CallNews, Event, Questions, Status};
use ic_types::{EscalationId, Json, JsonLimits, Object, SessionId};

/// What is printed of a session.
#[derive(Debug)]
pub(crate) struct Script {
    session: SessionId,
}

impl Script {
    /// Prints the events of that session.
    pub(crate) fn of(session: SessionId) -> Self {
        Self { session }
    }

    /// Says how the session stands.
    pub(crate) fn status(&self, status: Status) -> Json {
        let mut line = named("status");
        line.insert("session", self.session.as_str());
        line.insert("status", status.to_string());
        Json::Object(line)
    }

    /// Returns the line of an event, if scripts are told of it.
    pub(crate) fn line(&self, event: &Event, questions: &Questions) -> Option<Json> {
        let line = match event {
            Event::Status(status) => return Some(self.status(*status)),
            Event::Diagnostic(diagnostic) => with(named("diagnostic"), &to_json(diagnostic)?),
            Event::EscalationRaised(id) => {
                let pending = questions.pending();
                match pending.iter().find(|it| it.request().escalation == *id) {
                    Some(pending) => with(named("escalation_raised"), &pending.to_json()),
                    // It was answered already.
                    None => about("escalation_raised", id),
                }
            }
            Event::EscalationResolved(id, ending) => {
                let mut line = about("escalation_resolved", id);
                line.insert("ending", word(*ending));
                line
            }
            Event::EscalationExpired(id) => about("escalation_expired", id),
            Event::Answer(text) => {
                let mut line = named("answer");
                line.insert("text", text.as_str());
                line
            }
            Event::Budget(snapshot) => {
                let mut line = named("budget");
                line.insert("spent", to_json(&snapshot.spent)?);
                line
            }
            Event::Called(news) => called(news),
            Event::Text(_) | Event::Calling(_) | Event::Notice(_) => return None,
        };
        Some(Json::Object(line))
    }
}

fn named(event: &str) -> Object {
    let mut line = Object::new();
    line.insert("event", event);
    line
}

/// Says what became of a call.
fn called(news: &CallNews) -> Object {
    let (server, tool) = news.call.split_once('.').unwrap_or((&news.call, ""));
    let (outcome, reason) = match &news.fate {
        CallFate::Done => ("allowed", None),
        CallFate::Approved => ("approved", None),
        CallFate::Failed(reason) => ("failed", Some(reason)),
        CallFate::Refused(reason) => ("refused", Some(reason)),
        CallFate::Cancelled => ("cancelled", None),
    };
    let mut line = named("call");
    line.insert("server", server);
    line.insert("tool", tool);
    line.insert("outcome", outcome);
    if let Some(reason) = reason {
        line.insert("reason", reason.as_str());
    }
    line
}

fn about(event: &str, id: &EscalationId) -> Object {
    let mut line = named(event);
    line.insert("escalationId", id.as_str());
    line
}

fn with(mut line: Object, more: &Json) -> Object {
    if let Json::Object(more) = more {
        for (key, value) in more.iter() {
            line.insert(key, value.clone());
        }
    }
    line
}

fn word(ending: Ending) -> &'static str {
    match ending {
        Ending::Approved => "approved",
        Ending::Denied => "denied",
        Ending::Expired => "expired",
        Ending::Withdrawn => "withdrawn",
    }
}

/// Returns a value of ours as JSON.
fn to_json(value: &impl serde::Serialize) -> Option<Json> {
    let text = serde_json::to_vec(value).ok()?;
    Json::parse(&text, JsonLimits::CALL).ok()
}

#[cfg(test)]
mod tests {
    use ic_agent::{Diagnostic, Dimension, Spent};
    use ic_escalation::SessionEntry;
    use ic_home::{Clock as _, Process, SystemClock};

    use super::*;

    #[test]
    fn each_event_is_one_object_with_its_name() {
        let root = tempfile::tempdir().unwrap();
        let session: SessionId = "s".parse().unwrap();
        let questions = Questions::of(SessionEntry {
            session: session.clone(),
            name: "work".parse().unwrap(),
            kind: "built-in".to_owned(),
            label: "built-in: interactive".to_owned(),
            escalation_dir: root.path().to_owned(),
            started_at: SystemClock.now(),
            process: Process::this().unwrap(),
        });
        let script = Script::of(session);
        let id: EscalationId = "e".parse().unwrap();
        let spent = Spent { dimension: Dimension::Steps, used: 8, max: Some(10) };
        for (event, expected) in [
            (
                Event::Status(Status::Processing),
                r#"{"event":"status","session":"s","status":"processing"}"#,
            ),
            (
                Event::Diagnostic(Diagnostic::BudgetWarning { spent }),
                r#"{"event":"diagnostic","kind":"budget_warning","dimension":"steps","used":8,"max":10}"#,
            ),
            (
                Event::EscalationRaised(id.clone()),
                r#"{"event":"escalation_raised","escalationId":"e"}"#,
            ),
            (
                Event::EscalationResolved(id.clone(), Ending::Denied),
                r#"{"event":"escalation_resolved","escalationId":"e","ending":"denied"}"#,
            ),
            (
                Event::Called(CallNews {
                    call: "files.read".to_owned(),
                    arguments: "path=a".to_owned(),
                    fate: CallFate::Refused("DENIED: no".to_owned()),
                }),
                r#"{"event":"call","server":"files","tool":"read","outcome":"refused","reason":"DENIED: no"}"#,
            ),
            (Event::EscalationExpired(id), r#"{"event":"escalation_expired","escalationId":"e"}"#),
            (Event::Answer("a\n\"b\"".to_owned()), r#"{"event":"answer","text":"a\n\"b\""}"#),
        ] {
            assert_eq!(script.line(&event, &questions).unwrap().to_string(), expected);
        }
        assert!(script.line(&Event::Text("x".to_owned()), &questions).is_none());
        assert!(script.line(&Event::Notice("x".to_owned()), &questions).is_none());
    }
}
