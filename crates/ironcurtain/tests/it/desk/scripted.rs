//! A broker whose desk says whatever a test wants: what it brings back is not taken on trust.
//!
//! The broker is driven over its own protocol, without the binary around it; the binary only starts
//! the filesystem server.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ic_audit::{AuditKey, AuditLog, LogFiles, LogOptions, Redactor, SyncMode};
use ic_broker::client::{ClientInfo, Ended, Open, serve};
use ic_broker::pins::PinsFile;
use ic_broker::servers_file::ServersFile;
use ic_broker::{Broker, Judge, Keyring, Patience, People, Setup, Witness};
use ic_confine::{Confinement, Launcher};
use ic_escalation::{Answered, Desk, DeskError, Grants, Outcome, Question, Waiting, Withdrawal};
use ic_home::{Clock, Home, SystemClock};
use ic_policy::artifact::Source;
use ic_policy::{Answer, Bounds, DecidedBy, Decision, Policy, PolicySources};
use ic_types::{AbsolutePath, CanonicalPath, Digest, ServerName, Timestamp};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex};
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

const SESSION: &str = "2026-11-15-00-00-00-000-aaaa";

/// What a desk does with a question.
type Script = Box<dyn Fn(&Question) -> Result<Option<Outcome>, DeskError> + Send + Sync>;

/// What a rig is made of.
pub(super) struct Spec {
    script: Script,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) timeout: Duration,
    pub(super) grace: Duration,
    pub(super) servers: Value,
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

/// A client, its broker, and the directory that both are about.
pub(super) struct Rig {
    pub(super) root: TempDir,
    pub(super) desk: Arc<Scripted>,
    to: DuplexStream,
    from: BufReader<DuplexStream>,
    served: tokio::task::JoinHandle<()>,
    /// The id of the last request.
    id: u64,
}

struct Given(Option<Arc<Broker>>);

impl Open for Given {
    type Error = String;

    async fn open(&mut self, _: &ClientInfo) -> Result<Arc<Broker>, String> {
        self.0.take().ok_or_else(|| "it is open".to_owned())
    }
}

struct Nobody;

impl Witness for Nobody {
    fn notice(&self, _: &str) {}
    fn server_wrote(&self, _: &ServerName, _: &str) {}
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
        let Spec { script, clock, timeout, grace, servers } = spec;
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().canonicalize().unwrap().join(name);
        for name in ["work", "private", "installed"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        let home = Home::new(AbsolutePath::new(at("home")).unwrap());
        home.prepare().unwrap();
        let desk = Arc::new(Scripted::new(script));
        let redactor = Arc::new(Redactor::new([]));
        let options = LogOptions {
            session: SESSION.parse().unwrap(),
            key: AuditKey::from_bytes([7; 32]),
            redactor: Arc::clone(&redactor),
            clock: Arc::new(SystemClock),
            sync: SyncMode::Group,
        };
        let files = LogFiles { log: at("audit.jsonl"), head: at("audit.head") };
        let servers = servers.to_string();
        let people = People {
            session: SESSION.parse().unwrap(),
            desk: Arc::clone(&desk) as Arc<dyn Desk>,
            grants: Grants::open(at("grants.json"), SESSION.parse().unwrap()).unwrap(),
            patience: Patience::ForAnybody,
            timeout,
            grace,
        };
        let setup = Setup {
            judge: judge(AbsolutePath::new(at("home")).unwrap()),
            servers: ServersFile::read(Source { file: "servers.json", bytes: servers.as_bytes() })
                .unwrap(),
            log: AuditLog::open(files, options, ic_types::Object::new()).unwrap(),
            redactor,
            clock,
            launcher: Launcher::at(env!("CARGO_BIN_EXE_ironcurtain")),
            confinement: Confinement::None,
            pins: PinsFile::of(&home),
            private: at("private"),
            installed: at("installed"),
            variables: Vec::new(),
            keyring: Keyring::default(),
            certificates: None,
            run: "run".to_owned(),
            people,
            witness: Arc::new(Nobody),
        };
        let broker = setup.build().unwrap();
        let ((to, theirs), (ours, from)) = (duplex(1 << 16), duplex(1 << 16));
        let served = tokio::spawn(async move {
            let stop = CancellationToken::new();
            match serve(theirs, ours, Given(Some(broker)), &stop).await {
                Ended::Done(Some(broker)) => broker.close().await.unwrap(),
                Ended::Done(None) => {}
                Ended::NotOpened(why) => panic!("{why}"),
            }
        });
        let mut rig = Self { root, desk, to, from: BufReader::new(from), served, id: 0 };
        let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
            {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t"}}});
        rig.send(&initialize).await;
        rig.hear().await;
        rig
    }

    pub(super) async fn send(&mut self, message: &Value) {
        self.to.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// Waits for the next message.
    pub(super) async fn hear_any(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Waits for the next answer.
    pub(super) async fn hear(&mut self) -> Value {
        loop {
            let message = self.hear_any().await;
            if message.get("id").is_some() {
                return message;
            }
        }
    }

    /// Calls a tool, and returns the id of the call.
    pub(super) async fn call(&mut self, tool: &str, arguments: &Value) -> u64 {
        self.id += 1;
        let call = json!({"jsonrpc": "2.0", "id": self.id, "method": "tools/call", "params":
            {"name": tool, "arguments": arguments, "_meta": {"progressToken": self.id}}});
        self.send(&call).await;
        self.id
    }

    pub(super) async fn cancel(&mut self, id: u64) {
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": id}}))
            .await;
    }

    pub(super) async fn ask(&mut self, name: &str) -> u64 {
        let path = self.root.path().canonicalize().unwrap().join("work");
        let path = format!("{}/{name}", path.display());
        self.call("filesystem__write_file", &json!({"path": path, "content": "x"})).await
    }

    /// Asks for a file to be written, and returns the text of the answer.
    pub(super) async fn write(&mut self, name: &str) -> String {
        self.ask(name).await;
        let answer = self.hear().await;
        answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    }

    pub(super) fn is_written(&self, name: &str) -> bool {
        self.root.path().join("work").join(name).exists()
    }

    pub(super) fn n_asked(&self) -> usize {
        self.desk.asked.lock().unwrap().len()
    }

    /// Ends everything, and returns what is recorded about questions.
    pub(super) async fn end(self) -> Vec<String> {
        drop(self.to);
        self.served.await.unwrap();
        let log = std::fs::read_to_string(self.root.path().join("audit.jsonl")).unwrap();
        let records = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let questions = records.filter(|it| it["kind"] == "escalation");
        questions.map(|it| it["arguments"]["event"].as_str().unwrap().to_owned()).collect()
    }
}

/// A judge who asks a person about everything but `slow`.
fn judge(home: AbsolutePath) -> Judge {
    let compiled = json!({"rules": [
        {"name": "free", "if": {"tool": ["slow"]}, "then": "allow", "reason": "it is slow"},
        {"name": "ask", "if": {}, "then": "escalate", "reason": "a person decides"}]});
    let annotations = json!({"servers": {
        "filesystem": {"tools": [{"toolName": "write_file",
            "args": {"path": ["write-path"], "content": ["none"]}}]},
        "rec": {"tools": [{"toolName": "slow", "args": {"name": ["none"]}},
            {"toolName": "fail", "args": {}}]}}});
    let (compiled, annotations) = (compiled.to_string(), annotations.to_string());
    let sources = PolicySources {
        compiled: Source { file: "compiled-policy.json", bytes: compiled.as_bytes() },
        annotations: Source { file: "tool-annotations.json", bytes: annotations.as_bytes() },
        lists: None,
    };
    let locate = |text: &str| CanonicalPath::new(text).map_err(|error| error.to_string());
    let policy = Policy::load(&sources, &locate).unwrap();
    let bounds = Bounds {
        sandbox: None,
        protected: Vec::new(),
        home_executes: Vec::new(),
        servers: std::collections::HashMap::new(),
    };
    Judge { policy, bounds, home }
}

pub(super) fn answered(decision: Decision, digest: Digest, at: Timestamp) -> Outcome {
    let answer = Answer { decision, digest, decided_by: DecidedBy::Listener };
    Outcome::Answered(Box::new(Answered { answer, at, grant: None, no_grant: None }))
}

/// Approves what was asked about, in time.
pub(super) fn approve(question: &Question) -> Outcome {
    answered(Decision::Approved, question.digest(), question.request().created_at)
}

#[tokio::test]
async fn an_approval_of_the_very_question_forwards_the_call_once() {
    let mut rig = Rig::new(|question| Ok(Some(approve(question)))).await;
    let text = rig.write("a").await;
    assert!(rig.is_written("a"), "{text}");
    assert_eq!(rig.n_asked(), 1);
    assert_eq!(rig.end().await, ["raised", "answered"]);
}

/// A desk that approves anything has approved nothing: the digest is compared, and the asking ends.
#[tokio::test]
async fn an_approval_of_something_else_is_asked_again_three_times_at_most() {
    let mut rig = Rig::new(|question| {
        let at = question.request().created_at;
        Ok(Some(answered(Decision::Approved, Digest::of(b"anything"), at)))
    })
    .await;
    let text = rig.write("a").await;
    assert!(text.starts_with("ESCALATION DENIED: what the call is about changed"), "{text}");
    assert!(!rig.is_written("a"));
    assert_eq!(rig.n_asked(), 3);
    let asked = ["raised", "answered", "changed"];
    assert_eq!(rig.end().await, [&asked[..], &asked, &asked, &["notAsked"]].concat());
}

#[tokio::test]
async fn an_approval_after_the_deadline_is_none() {
    let mut rig = Rig::new(|question| {
        let late = Timestamp::from_unix_ms(question.request().expires_at.unix_ms() + 1);
        Ok(Some(answered(Decision::Approved, question.digest(), late)))
    })
    .await;
    let text = rig.write("a").await;
    assert!(text.starts_with("ESCALATION EXPIRED: "), "{text}");
    assert!(!rig.is_written("a"));
    rig.end().await;
}

#[tokio::test]
async fn a_no_needs_no_digest() {
    let mut rig = Rig::new(|question| {
        let at = question.request().created_at;
        Ok(Some(answered(Decision::Denied, Digest::of(b"anything"), at)))
    })
    .await;
    let text = rig.write("a").await;
    assert!(text.starts_with("ESCALATION DENIED: a person said no"), "{text}");
    let text = rig.write("a").await;
    assert!(text.starts_with("ESCALATION DENIED: a person denied this very call"), "{text}");
    assert_eq!(rig.n_asked(), 1);
    assert!(!rig.is_written("a"));
    rig.end().await;
}

#[tokio::test]
async fn a_desk_that_cannot_ask_or_closes_forwards_nothing() {
    type Said = fn(&Question) -> Result<Option<Outcome>, DeskError>;
    let scripts: [(Said, &str); 3] = [
        (
            |_| Err(DeskError::Full { max: 3 }),
            "ESCALATION DENIED: nobody could be asked: 3 questions",
        ),
        (
            |_| Err(DeskError::Closed),
            "ESCALATION DENIED: nobody could be asked: the desk is closed",
        ),
        (|_| Ok(Some(Outcome::Closed)), "ESCALATION EXPIRED: the desk was closed"),
    ];
    for (script, expected) in scripts {
        let mut rig = Rig::new(script).await;
        let text = rig.write("a").await;
        assert!(text.starts_with(expected), "{text}");
        assert!(!rig.is_written("a"));
        rig.end().await;
    }
}

#[tokio::test]
async fn a_call_that_is_taken_back_withdraws_its_question_at_once() {
    let mut rig = Rig::new(|_| Ok(None)).await;
    let id = rig.ask("a").await;
    rig.desk.raised.notified().await;
    assert_eq!(rig.desk.withdrawn.load(Ordering::Relaxed), 0);
    rig.cancel(id).await;
    rig.desk.withdrawal.notified().await;
    assert_eq!(rig.desk.withdrawn.load(Ordering::Relaxed), 1);
    assert!(!rig.is_written("a"));
    assert_eq!(rig.end().await, ["raised", "withdrawn"]);
}

#[tokio::test]
async fn a_client_that_says_no_more_is_not_asked_for() {
    let mut rig = Rig::new(|_| Ok(None)).await;
    rig.ask("a").await;
    rig.desk.raised.notified().await;
    let withdrawn = Arc::clone(&rig.desk.withdrawn);
    // What it had asked is answered, since it may still listen.
    rig.to.shutdown().await.unwrap();
    let answer = rig.hear().await;
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("ESCALATION EXPIRED: the client went away"), "{text}");
    assert_eq!(withdrawn.load(Ordering::Relaxed), 1);
    assert_eq!(rig.end().await, ["raised", "withdrawn"]);
}
