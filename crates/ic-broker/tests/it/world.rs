//! A broker with servers that follow scripts, a desk that does too, and a clock that stands still.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ic_audit::{AuditKey, AuditLog, LogFiles, LogOptions, Redactor, SyncMode};
use ic_backend::testing::{FakeBackend, Reaction};
use ic_backend::{Backend, Backends, Witness};
use ic_broker::broker::{Asked, Flight, Reply};
use ic_broker::{Attendance, Broker, FORWARD_GRACE, Patience, People, Setup};
use ic_escalation::{Answered, Desk, DeskError, Grants, Outcome, Question, Waiting, Withdrawal};
use ic_home::{Clock, FileError};
use ic_judge::Judge;
use ic_policy::artifact::Source;
use ic_policy::{Answer, Bounds, DecidedBy, Decision, Policy, PolicySources, Shown};
use ic_types::{
    AbsolutePath, CanonicalPath, Digest, Json, JsonLimits, Object, Secret, ServerName, Timestamp,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::{Notify, oneshot, watch};
use tokio_util::sync::CancellationToken;

const SESSION: &str = "2026-11-15-00-00-00-000-aaaa";
/// When everything happens, unless a test says otherwise.
const NOW: u64 = 1_800_000_000_000;
/// A key of ours, which is shown to nobody.
pub(crate) const KEY: &str = "sk-ant-REDACTED";

/// What a desk does with a question; nothing leaves it open.
type Script = Box<dyn Fn(&Question) -> Result<Option<Outcome>, DeskError> + Send + Sync>;

pub(crate) struct World {
    root: TempDir,
    pub(crate) broker: Arc<Broker>,
    pub(crate) log: Arc<AuditLog>,
    pub(crate) server: Arc<FakeBackend>,
    pub(crate) desk: Arc<Scripted>,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) told: Arc<Told>,
}

/// A clock that a test sets.
#[derive(Debug)]
pub(crate) struct TestClock(AtomicU64);

impl TestClock {
    pub(crate) fn pass(&self, time: Duration) {
        self.0.fetch_add(u64::try_from(time.as_millis()).unwrap(), Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_ms(self.0.load(Ordering::Relaxed))
    }
}

/// What a person was told.
#[derive(Debug, Default)]
pub(crate) struct Told(Mutex<Vec<String>>);

impl Told {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Witness for Told {
    fn notice(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }

    fn server_wrote(&self, _: &ServerName, _: &str) {}
}

/// A desk that follows a script.
pub(crate) struct Scripted {
    script: Script,
    asked: AtomicUsize,
    pub(crate) raised: Notify,
    open: Mutex<Vec<(Digest, oneshot::Sender<Outcome>)>>,
    withdrawn: Arc<AtomicUsize>,
}

impl std::fmt::Debug for Scripted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scripted")
    }
}

impl Desk for Scripted {
    fn raise(&self, question: Question) -> Result<Waiting, DeskError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let outcome = (self.script)(&question)?;
        let (answerer, waiting) = oneshot::channel();
        match outcome {
            Some(outcome) => answerer.send(outcome).unwrap(),
            None => self.open.lock().unwrap().push((question.digest(), answerer)),
        }
        let withdrawn = Arc::clone(&self.withdrawn);
        let withdrawal = Withdrawal::new(move || {
            withdrawn.fetch_add(1, Ordering::Relaxed);
        });
        self.raised.notify_one();
        Ok(Waiting::new(waiting, withdrawal))
    }
}

impl Scripted {
    pub(crate) fn n_asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    pub(crate) fn n_withdrawn(&self) -> usize {
        self.withdrawn.load(Ordering::Relaxed)
    }

    /// Answers the question that was left open last.
    pub(crate) fn answer(&self, decision: Decision) {
        let (digest, answerer) = self.open.lock().unwrap().pop().unwrap();
        answerer.send(said(decision, digest, Timestamp::from_unix_ms(NOW))).unwrap();
    }
}

/// Somebody who is there, or not, each time when it is looked; at the end it stays as it was last.
#[derive(Debug)]
struct Present(&'static [bool], AtomicUsize);

impl Attendance for Present {
    fn is_anybody_there(&self) -> Result<bool, FileError> {
        let at = self.1.fetch_add(1, Ordering::Relaxed);
        Ok(self.0[at.min(self.0.len() - 1)])
    }
}

/// What a world is made of.
pub(crate) struct Parts {
    pub(crate) script: Script,
    pub(crate) attended: Option<&'static [bool]>,
}

impl Parts {
    pub(crate) fn new(
        script: impl Fn(&Question) -> Result<Option<Outcome>, DeskError> + Send + Sync + 'static,
    ) -> Self {
        Self { script: Box::new(script), attended: None }
    }
}

/// What a desk brings back.
pub(crate) fn said(decision: Decision, digest: Digest, at: Timestamp) -> Outcome {
    let answer = Answer::by_person(Shown::assert_shown(digest), decision, DecidedBy::Cli);
    Outcome::Answered(Box::new(Answered { answer, at, grant: None, no_grant: None }))
}

/// Approves what was asked about, in time.
pub(crate) fn approve(question: &Question) -> Outcome {
    said(Decision::Approved, question.digest(), question.request().created_at)
}

/// The tools of the fake: one is free, about one a person is asked, and one is denied.
pub(crate) const TOOLS: [&str; 4] = [
    r#"{"name":"free","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}}"#,
    r#"{"name":"ask","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}"#,
    r#"{"name":"never","inputSchema":{"type":"object"}}"#,
    r#"{"name":"strange","inputSchema":{"type":"object"}}"#,
];

fn policy() -> Policy {
    let rules = json!({"rules": [
        {"name": "free", "if": {"tool": ["free"]}, "then": "allow", "reason": "it is free"},
        {"name": "never", "if": {"tool": ["never"]}, "then": "deny", "reason": "it is forbidden"},
        {"name": "ask", "if": {}, "then": "escalate", "reason": "a person decides"}]});
    let tool = |name: &str, args: Value| json!({"toolName": name, "args": args});
    let annotations = json!({"servers": {"s": {"tools": [
        tool("free", json!({"n": ["none"]})), tool("ask", json!({"n": ["none"]})),
        tool("never", json!({})),
    ]}}});
    let (rules, annotations) = (rules.to_string(), annotations.to_string());
    let sources = PolicySources {
        compiled: Source { file: "compiled-policy.json", bytes: rules.as_bytes() },
        annotations: Source { file: "tool-annotations.json", bytes: annotations.as_bytes() },
        lists: None,
    };
    let locate = |text: &str| CanonicalPath::new(text).map_err(|error| error.to_string());
    Policy::load(&sources, &locate).unwrap()
}

impl World {
    /// A world in which nobody is asked.
    pub(crate) fn new() -> Self {
        Self::of(Parts::new(|_| Err(DeskError::Closed)))
    }

    /// A world in which everything that is asked is approved.
    pub(crate) fn approving() -> Self {
        Self::of(Parts::new(|question| Ok(Some(approve(question)))))
    }

    pub(crate) fn of(parts: Parts) -> Self {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().canonicalize().unwrap().join(name);
        let clock = Arc::new(TestClock(AtomicU64::new(NOW)));
        let redactor = Arc::new(Redactor::new([Arc::new(Secret::new(KEY.to_owned()))]));
        let options = LogOptions {
            session: SESSION.parse().unwrap(),
            key: AuditKey::from_bytes([7; 32]),
            redactor: Arc::clone(&redactor),
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            sync: SyncMode::Group,
            bytes_max: ic_audit::BYTES_MAX,
        };
        let files = LogFiles { log: at("audit.jsonl"), head: at("audit.head"), heads: None };
        let log = Arc::new(AuditLog::open(files, options, Object::new()).unwrap());
        let home = AbsolutePath::new(at("home")).unwrap();
        let judge = Arc::new(Judge {
            policy: policy(),
            bounds: Bounds {
                sandbox: None,
                protected: Vec::new(),
                home_executes: Vec::new(),
                servers: std::collections::HashMap::new(),
            },
            orders: ic_resolve::Orders::of_user(&home),
            heads: ic_judge::heads::Heads::default(),
            earlier: Vec::new(),
            seen_as: None,
            home,
        });
        let desk = Arc::new(Scripted {
            script: parts.script,
            asked: AtomicUsize::new(0),
            raised: Notify::new(),
            open: Mutex::default(),
            withdrawn: Arc::default(),
        });
        let people = People {
            session: SESSION.parse().unwrap(),
            desk: Arc::clone(&desk) as Arc<dyn Desk>,
            grants: Grants::open(at("grants.json"), SESSION.parse().unwrap()).unwrap(),
            approver: None,
            patience: match parts.attended {
                None => Patience::ForAnybody,
                Some(is_there) => {
                    Patience::WhileAttended(Arc::new(Present(is_there, AtomicUsize::new(0))))
                }
            },
            timeout: Duration::from_mins(5),
            grace: FORWARD_GRACE,
        };
        let server = FakeBackend::new("s", &TOOLS).unwrap();
        let told = Arc::new(Told::default());
        std::fs::create_dir(at("locks")).unwrap();
        let setup = Setup {
            judge,
            backends: Backends::silent([Arc::clone(&server) as Arc<dyn Backend>]),
            log: Arc::clone(&log),
            redactor,
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            locks: at("locks"),
            run: "run".to_owned(),
            people,
            witness: Arc::clone(&told) as Arc<dyn Witness>,
        };
        let broker = setup.build().unwrap();
        Self { root, broker, log, server, desk, clock, told }
    }

    /// Makes a call that nobody takes back.
    pub(crate) async fn call(&self, tool: &str, arguments: &str) -> Reply {
        self.broker.call(asked(tool, arguments), self.flight(tool)).await
    }

    /// Makes a call, and returns what a model would read.
    pub(crate) async fn text(&self, tool: &str, arguments: &str) -> String {
        text(&self.call(tool, arguments).await)
    }

    pub(crate) fn flight(&self, tool: &str) -> Flight {
        self.flight_until(tool, &CancellationToken::new())
    }

    pub(crate) fn flight_until(&self, tool: &str, cancel: &CancellationToken) -> Flight {
        let (asks, _) = watch::channel(false);
        self.broker.flight(&format!("s__{tool}"), cancel.clone(), asks)
    }

    /// Lets the server answer the next call with a text.
    pub(crate) fn says(&self, text: &str) {
        self.server.then(Reaction::Answers(Ok(result(text))));
    }

    /// Returns the records so far, without the one that opens the session.
    pub(crate) fn records(&self) -> Vec<Value> {
        let log = std::fs::read_to_string(self.root.path().join("audit.jsonl")).unwrap();
        log.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns each record's kind, with its verdict or its event.
    pub(crate) fn story(&self) -> Vec<String> {
        let told = |record: &Value| {
            let kind = record["kind"].as_str().unwrap();
            let event = record["arguments"]["event"].as_str();
            match event.or(record["verdict"].as_str()) {
                Some(more) => format!("{kind} {more}"),
                None => kind.to_owned(),
            }
        };
        self.records().iter().map(told).collect()
    }
}

pub(crate) fn asked(tool: &str, arguments: &str) -> Asked {
    Asked { name: format!("s__{tool}"), arguments: object(arguments), meta: Object::new() }
}

pub(crate) fn object(text: &str) -> Object {
    match json_of(text) {
        Json::Object(object) => object,
        other => panic!("no object: {other}"),
    }
}

pub(crate) fn json_of(text: &str) -> Json {
    Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap()
}

/// A result that says `text`.
pub(crate) fn result(text: &str) -> Json {
    let text = Value::from(text);
    json_of(&format!(r#"{{"content":[{{"type":"text","text":{text}}}]}}"#))
}

/// Returns what a model would read of a reply.
pub(crate) fn text(reply: &Reply) -> String {
    match reply {
        Reply::Result(text) | Reply::Refused(_, text) => {
            let value: Value = serde_json::from_str(text).unwrap();
            value["content"][0]["text"].as_str().unwrap_or_default().to_owned()
        }
        Reply::Error(error) => format!("error {}: {}", error.code, error.message),
        Reply::Nothing => "nothing".to_owned(),
    }
}
