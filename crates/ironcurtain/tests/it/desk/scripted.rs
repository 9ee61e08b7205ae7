//! A broker whose desk says whatever a test wants: what it brings back is not taken on trust.
//!
//! The broker is driven over its own protocol, without the binary around it; the binary only starts
//! the filesystem server. What the kernel makes of answers is tested in its own crate, without either.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ic_confine::Confinement;
use ic_escalation::{Answered, Desk, DeskError, Outcome, Question, Waiting, Withdrawal};
use ic_home::{Clock, SystemClock};
use ic_policy::{Answer, DecidedBy, Decision, Shown};
use ic_types::{Digest, Timestamp};
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};

use crate::in_process::{Link, Parts, Policy};

/// What a desk does with a question.
type Script = Box<dyn Fn(&Question) -> Result<Option<Outcome>, DeskError> + Send + Sync>;

/// What a rig is made of.
pub(super) struct Spec {
    script: Script,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) timeout: Duration,
    pub(super) grace: Duration,
    pub(super) servers: Value,
    pub(super) confinement: Confinement,
}

impl Spec {
    pub(super) fn new(
        script: impl Fn(&Question) -> Result<Option<Outcome>, DeskError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            script: Box::new(script),
            clock: Arc::new(SystemClock),
            timeout: Duration::from_mins(5),
            grace: ic_broker::FORWARD_GRACE,
            servers: json!({"filesystem": {"builtin": "filesystem"}}),
            confinement: Confinement::None,
        }
    }
}

/// A desk that follows a script.
pub(super) struct Scripted {
    script: Script,
    asked: Mutex<Vec<Digest>>,
    pub(super) raised: Notify,
    /// Questions that stay without answer, and how many of them were withdrawn.
    open: Mutex<Vec<oneshot::Sender<Outcome>>>,
    withdrawn: Arc<AtomicUsize>,
    withdrawal: Arc<Notify>,
}

impl Desk for Scripted {
    fn raise(&self, question: Question) -> Result<Waiting, DeskError> {
        self.asked.lock().unwrap().push(question.digest());
        let outcome = (self.script)(&question)?;
        let (answerer, waiting) = oneshot::channel();
        match outcome {
            Some(outcome) => answerer.send(outcome).unwrap(),
            None => self.open.lock().unwrap().push(answerer),
        }
        let (withdrawn, told) = (Arc::clone(&self.withdrawn), Arc::clone(&self.withdrawal));
        let withdrawal = Withdrawal::new(move || {
            withdrawn.fetch_add(1, Ordering::Relaxed);
            told.notify_one();
        });
        self.raised.notify_one();
        Ok(Waiting::new(waiting, withdrawal))
    }
}

impl Scripted {
    /// Approves the question that was asked last, which is still open.
    pub(super) fn approve_late(&self) {
        let digest = *self.asked.lock().unwrap().last().unwrap();
        let answerer = self.open.lock().unwrap().pop().unwrap();
        answerer.send(answered(Decision::Approved, digest, Timestamp::from_unix_ms(0))).unwrap();
    }
}

impl std::fmt::Debug for Scripted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scripted")
    }
}

/// A client, its broker, and the desk at which it asks.
pub(super) struct Rig {
    pub(super) desk: Arc<Scripted>,
    pub(super) link: Link,
}

impl Scripted {
    fn new(script: Script) -> Self {
        Self {
            script,
            asked: Mutex::default(),
            raised: Notify::new(),
            open: Mutex::default(),
            withdrawn: Arc::default(),
            withdrawal: Arc::default(),
        }
    }
}

impl Rig {
    async fn new(
        script: impl Fn(&Question) -> Result<Option<Outcome>, DeskError> + Send + Sync + 'static,
    ) -> Self {
        Self::of(Spec::new(script)).await
    }

    pub(super) async fn of(spec: Spec) -> Self {
        let Spec { script, clock, timeout, grace, servers, confinement } = spec;
        let desk = Arc::new(Scripted::new(script));
        let parts = Parts { clock, timeout, grace, confinement, ..Parts::new(policy(), servers) };
        let parts = Parts { desk: Arc::clone(&desk) as Arc<dyn Desk>, ..parts };
        Self { desk, link: Link::open(parts).await }
    }

    pub(super) async fn cancel(&mut self, id: u64) {
        let params = json!({"requestId": id});
        let cancelled = "notifications/cancelled";
        self.link.send(&json!({"jsonrpc": "2.0", "method": cancelled, "params": params})).await;
    }

    pub(super) async fn ask(&mut self, name: &str) -> u64 {
        let path = format!("{}/{name}", self.link.at("work").display());
        self.link.call("filesystem__write_file", &json!({"path": path, "content": "x"})).await
    }

    /// Asks for a file to be written, and returns the text of the answer.
    pub(super) async fn write(&mut self, name: &str) -> String {
        self.ask(name).await;
        let answer = self.link.hear().await;
        answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    }

    pub(super) fn n_asked(&self) -> usize {
        self.desk.asked.lock().unwrap().len()
    }

    /// Ends everything, and returns what is recorded about questions.
    pub(super) async fn end(self) -> Vec<String> {
        let records = self.link.end().await.into_iter();
        let questions = records.filter(|it| it["kind"] == "escalation");
        questions.map(|it| it["arguments"]["event"].as_str().unwrap().to_owned()).collect()
    }
}

/// A policy by which a person is asked about everything but `slow`.
fn policy() -> Policy {
    let rules = json!([
        {"name": "free", "if": {"tool": ["slow"]}, "then": "allow", "reason": "it is slow"},
        {"name": "ask", "if": {}, "then": "escalate", "reason": "a person decides"}]);
    let annotations = json!({"servers": {
        "filesystem": {"tools": [{"toolName": "write_file",
            "args": {"path": ["write-path"], "content": ["none"]}}]},
        "rec": {"tools": [{"toolName": "slow", "args": {"name": ["none"]}},
            {"toolName": "fail", "args": {}}]}}});
    Policy { rules, annotations: annotations.to_string() }
}

pub(super) fn answered(decision: Decision, digest: Digest, at: Timestamp) -> Outcome {
    let answer = Answer::by_person(Shown::assert_shown(digest), decision, DecidedBy::Listener);
    Outcome::Answered(Box::new(Answered { answer, at, grant: None, no_grant: None }))
}

#[tokio::test]
async fn a_client_that_says_no_more_is_not_asked_for() {
    let mut rig = Rig::new(|_| Ok(None)).await;
    rig.ask("a").await;
    rig.desk.raised.notified().await;
    let withdrawn = Arc::clone(&rig.desk.withdrawn);
    // What it had asked is answered, since it may still listen.
    rig.link.say_no_more().await;
    let answer = rig.link.hear().await;
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("ESCALATION EXPIRED: the client disconnected"), "{text}");
    assert_eq!(withdrawn.load(Ordering::Relaxed), 1);
    assert_eq!(rig.end().await, ["raised", "withdrawn"]);
}
