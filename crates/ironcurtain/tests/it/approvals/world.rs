//! A home with sessions that ask: real desks in this process, and the binary that answers.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ic_escalation::{
    Board, Desk as _, FileDesk, Grants, Outcome, Pending, Question, Registered, Registry, Reply,
    SessionEntry, Told, Waiting, new_escalation_id,
};
use ic_home::{Clock as _, Home, Process, SystemClock};
use ic_policy::artifact::Source;
use ic_policy::{
    Bounds, DecidedBy, Escalation, FileKind, FileState, PathValue, Pointer, Policy, PolicySources,
    ResolvedCall, ResolvedParts, RolePlace, RoleValues, Standing, Ticket, Value, Verdict, evaluate,
};
use ic_testkit::{Output, Place};
use ic_types::{
    AbsolutePath, CanonicalPath, Digest, EscalationId, Json, JsonLimits, Role, SessionId,
    Timestamp, ToolCall,
};
use serde_json::{Value as JsonValue, json};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::place;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_ironcurtain");
/// How long nobody ever waits.
const MINUTES: Duration = Duration::from_mins(10);
/// The built-in server whose tools are asked about.
const OURS: &str = "filesystem";
/// Directories are asked about for a reason of their own: what waits for one reason is asked about together.
const RULES: &str = r#"{"rules": [
    {"name":"ask-directories","if":{"tool":["create_directory"]},"then":"escalate","reason":"a person decides"},
    {"name":"ask","if":{},"then":"escalate","reason":"a person decides"}]}"#;

/// A place whose home has sessions.
pub(crate) struct Rig {
    pub(crate) place: Place,
    pub(crate) home: Home,
    runtime: Runtime,
}

/// A session that runs in this process.
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) grants: Grants,
    directory: PathBuf,
    desk: FileDesk,
    clerk: JoinHandle<ic_escalation::Ended>,
    _registered: Registered,
}

/// A question of a session.
pub(crate) struct Asked {
    pub(crate) id: EscalationId,
    pub(crate) request: PathBuf,
    pub(crate) response: PathBuf,
    pub(crate) escalation: Escalation,
    pub(crate) ticket: Ticket,
    waiting: Waiting,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::at(place())
    }

    /// Makes one of a place that is there.
    pub(crate) fn at(place: Place) -> Self {
        let root = place.path("home/.ironcurtain");
        let home = Home::new(AbsolutePath::new(root.to_str().unwrap()).unwrap());
        home.prepare().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        Self { place, home, runtime }
    }

    /// Lets scripts answer.
    pub(crate) fn scripted(self) -> Self {
        self.place.let_scripts_answer();
        self
    }

    /// Begins a session.
    pub(crate) fn session(&self, name: &str) -> Session {
        let id: SessionId = format!("2026-11-15-00-00-00-000-{name}").parse().unwrap();
        std::fs::create_dir(self.home.session(&id)).unwrap();
        let directory = self.home.escalations(&id);
        let (desk, clerk) = FileDesk::open(&directory, Arc::new(SystemClock)).unwrap();
        let entry = SessionEntry {
            session: id.clone(),
            name: name.parse().unwrap(),
            kind: "proxy".to_owned(),
            label: "claude-code: interactive".to_owned(),
            escalation_dir: directory.clone(),
            started_at: SystemClock.now(),
            process: Process::this().unwrap(),
        };
        let registered = Registry::of(&self.home).register(&entry).unwrap();
        let grants = Grants::open(self.home.grants(&id), id.clone()).unwrap();
        let clerk = self.runtime.spawn(clerk.run());
        Session { id, grants, directory, desk, clerk, _registered: registered }
    }

    /// Waits for what becomes of a question.
    pub(crate) fn outcome(&self, asked: Asked) -> Outcome {
        let outcome = async { tokio::time::timeout(MINUTES, asked.waiting.outcome()).await };
        self.runtime.block_on(outcome).expect("it ends")
    }

    /// Says what becomes of a question.
    pub(crate) fn summary(&self, asked: Asked) -> String {
        match self.outcome(asked) {
            Outcome::Answered(it) => {
                let granted = if it.grant.is_some() { ", granted" } else { "" };
                format!("{:?} by {}{granted}", it.answer.decision(), it.answer.decided_by())
            }
            Outcome::Malformed(fault) => format!("malformed: {fault}"),
            Outcome::Expired => "expired".to_owned(),
            Outcome::Closed => "closed".to_owned(),
        }
    }

    /// Ends a session, and everything that it asked.
    pub(crate) fn close(&self, session: Session) {
        session.desk.close();
        self.runtime.block_on(session.clerk).unwrap();
    }

    /// Answers as somebody else does who is quicker.
    pub(crate) fn answer_elsewhere(&self, asked: &Asked, reply: &Reply) -> Told {
        let pending = self.pending().into_iter().find(|it| it.request().escalation == asked.id);
        pending.unwrap().answer(reply, DecidedBy::Listener, SystemClock.now()).unwrap()
    }

    pub(crate) fn pending(&self) -> Vec<Pending> {
        let sessions = Registry::of(&self.home).live().unwrap().sessions;
        Board::default().look(&sessions, SystemClock.now()).pending
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.place.run(words)
    }

    /// Runs the binary at a terminal.
    pub(crate) fn at_terminal(&self, words: &[&str]) -> Terminal {
        self.in_terminal(&[&[BINARY], words].concat())
    }

    pub(crate) fn in_terminal(&self, command: &[&str]) -> Terminal {
        let mut driver = Command::new("python3")
            .arg(format!("{}/tests/terminal/steps.py", env!("CARGO_MANIFEST_DIR")))
            .args(command)
            .env_clear()
            .env("HOME", self.place.path("home"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            // Nothing is drawn anew, so that what is seen is what was written; keys are tried elsewhere.
            .env("TERM", "dumb")
            .current_dir(self.place.root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = driver.stdin.take().unwrap();
        let mut stdout = BufReader::new(driver.stdout.take().unwrap());
        let mut pid = String::new();
        stdout.read_line(&mut pid).unwrap();
        Terminal { driver, stdin, stdout, pid: pid.trim().parse().unwrap(), seen: String::new() }
    }

    /// Prints an output and how it ended, with paths, ids and times made neutral.
    pub(crate) fn seen(&self, output: &Output) -> String {
        let stderr = match self.neutral(&output.stderr) {
            text if text.is_empty() => text,
            text => format!("--- stderr\n{text}"),
        };
        format!("{}{stderr}--- exit {}", self.neutral(&output.stdout), output.code)
    }

    pub(crate) fn neutral(&self, text: &str) -> String {
        let text = text.replace(self.place.root().to_str().unwrap(), "[ROOT]");
        let words = text.split_inclusive([' ', '\n', '`']);
        let neutral = |before: &str, word: &str| {
            let bare = word.trim_end_matches([' ', '\n', '`']);
            let shape: String =
                bare.chars().map(|c| if c.is_ascii_hexdigit() { '0' } else { c }).collect();
            let name = match shape.as_str() {
                "00000000-0000-0000-0000-000000000000" => Some("[ID]"),
                "0000-00-00T00:00:00.000Z" | "0000-00-00T00:00:00Z" => Some("[TIME]"),
                "00000000" => Some("[GRANT]"),
                "00:00:00" => Some("[CLOCK]"),
                "(0000-00-00)" => Some("([DAY])"),
                _ if ["in ", "(in ", "min ", "h "].contains(&before)
                    && bare.parse::<u64>().is_ok() =>
                {
                    Some("[N]")
                }
                _ => None,
            };
            name.map_or_else(|| word.to_owned(), |name| word.replace(bare, name))
        };
        let (mut shown, mut before) = (String::new(), "");
        for word in words {
            shown.push_str(&neutral(before, word));
            before = word;
        }
        shown
    }
}

impl Session {
    /// Asks whether `content` may be written to `path`.
    pub(crate) fn ask(&self, path: &str, content: &str) -> Asked {
        self.ask_within(path, content, MINUTES)
    }

    pub(crate) fn ask_within(&self, path: &str, content: &str, limit: Duration) -> Asked {
        let escalation =
            escalation((OURS, "write_file"), &json!({"path": path, "content": content}));
        self.raise(escalation, limit, |question| question.of_builtin(OURS))
    }

    /// Asks whether a tool of our own filesystem server may be called.
    pub(crate) fn ask_tool(&self, tool: &str, arguments: &JsonValue) -> Asked {
        let escalation = escalation((OURS, tool), arguments);
        self.raise(escalation, MINUTES, |question| question.of_builtin(OURS))
    }

    /// Asks whether a tool of a server may be called that only has the name of ours.
    pub(crate) fn ask_stranger(&self, tool: &str, arguments: &JsonValue) -> Asked {
        self.ask_server(OURS, tool, arguments)
    }

    /// Asks whether a tool of a server that is not ours may be called.
    pub(crate) fn ask_server(&self, server: &str, tool: &str, arguments: &JsonValue) -> Asked {
        self.raise(escalation((server, tool), arguments), MINUTES, |question| question)
    }

    fn raise(
        &self,
        escalation: Escalation,
        limit: Duration,
        change: impl FnOnce(Question) -> Question,
    ) -> Asked {
        let (now, limit_ms) = (next_moment(), u64::try_from(limit.as_millis()).unwrap());
        let ticket = Ticket {
            session: self.id.clone(),
            escalation: new_escalation_id().unwrap(),
            server_identity: Digest::of(b"server"),
            schema_hash: Digest::of(b"schema"),
            deadline: Timestamp::from_unix_ms(now.unix_ms() + limit_ms),
        };
        let waiting =
            self.desk.raise(change(Question::of(&escalation, &ticket, &closed(), now))).unwrap();
        let id = ticket.escalation.clone();
        Asked {
            request: self.directory.join(format!("request-{id}.json")),
            response: self.directory.join(format!("response-{id}.json")),
            id,
            escalation,
            ticket,
            waiting,
        }
    }

    /// Puts a question there that no program of ours would write.
    pub(crate) fn forge(&self, change: impl FnOnce(&mut JsonValue)) -> EscalationId {
        let id = new_escalation_id().unwrap();
        let now = next_moment();
        let later = Timestamp::from_unix_ms(now.unix_ms() + 600_000);
        let mut request = json!({
            "escalationId": id.as_str(), "sessionId": self.id.as_str(),
            "serverName": "filesystem", "toolName": "write_file", "arguments": {},
            "reason": "a person decides", "rule": "ask", "escalatedRoles": ["write-path"],
            "causes": [{"rule": "ask", "reason": "a person decides", "roles": ["write-path"]}],
            "resolved": {"write-path": [{"path": "/d/a.txt"}]},
            "digest": Digest::of(b"it").to_string(),
            "createdAt": now.to_string(), "expiresAt": later.to_string(),
        });
        change(&mut request);
        let path = self.directory.join(format!("request-{id}.json"));
        std::fs::write(path, request.to_string()).unwrap();
        id
    }
}

impl Asked {
    /// Puts another question in the place of this one.
    pub(crate) fn replace(&self, change: impl FnOnce(&mut JsonValue)) {
        let mut request = serde_json::from_slice(&std::fs::read(&self.request).unwrap()).unwrap();
        change(&mut request);
        let temporary = self.request.with_extension("other");
        std::fs::write(&temporary, request.to_string()).unwrap();
        std::fs::rename(temporary, &self.request).unwrap();
    }
}

/// Returns a time at which nothing else was asked: questions of one millisecond have no order.
fn next_moment() -> Timestamp {
    let before = SystemClock.now();
    loop {
        let now = SystemClock.now();
        if now != before {
            return now;
        }
        std::thread::yield_now();
    }
}

/// Escalates a call whose argument `path` is to be written.
fn escalation((server, tool): (&str, &str), arguments: &JsonValue) -> Escalation {
    let path = arguments["path"].as_str().unwrap();
    let kind = |it: &std::fs::Metadata| match it.is_file() {
        true => FileKind::File,
        false => FileKind::Other,
    };
    let state = std::fs::metadata(path).ok().map(|it| FileState {
        kind: kind(&it),
        device: 1,
        inode: 2,
        bytes: it.len(),
        modified_s: 1_794_700_800,
        modified_ns: 0,
    });
    let path = CanonicalPath::new(path).unwrap();
    let sent = Json::parse(arguments.to_string().as_bytes(), JsonLimits::CALL).unwrap();
    let Json::Object(sent) = sent else { panic!("{arguments}") };
    let value = Value::Path(PathValue { path, also: Vec::new(), state });
    let parts = ResolvedParts {
        asked: ToolCall {
            server: server.parse().unwrap(),
            tool: tool.parse().unwrap(),
            arguments: sent.clone(),
        },
        sent,
        standing: Standing::Annotated,
        roles: vec![RoleValues { role: Role::WritePath, values: vec![value] }],
        invalid: Vec::new(),
        unknown_arguments: Vec::new(),
        unannotated_paths: Vec::new(),
        executed: Vec::new(),
        places: vec![RolePlace {
            place: Pointer::parse("path").unwrap(),
            roles: vec![Role::WritePath],
        }],
        push: None,
    };
    let sources = PolicySources {
        compiled: Source { file: "compiled-policy.json", bytes: RULES.as_bytes() },
        annotations: Source { file: "tool-annotations.json", bytes: br#"{"servers":{}}"# },
        lists: None,
    };
    let locate = |text: &str| CanonicalPath::new(text).map_err(|error| error.to_string());
    let policy = Policy::load(&sources, &locate).unwrap();
    match evaluate(&policy, &bounds(), ResolvedCall::assert_resolved(parts)) {
        Verdict::Escalate(escalation) => escalation,
        other => panic!("{other:?}"),
    }
}

fn bounds() -> Bounds {
    Bounds {
        sandbox: None,
        protected: Vec::new(),
        home_executes: Vec::new(),
        servers: std::collections::HashMap::new(),
    }
}

fn closed() -> ic_escalation::Closed {
    ic_escalation::Closed::new(&bounds(), [])
}

/// The binary at a terminal of its own.
pub(crate) struct Terminal {
    driver: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    /// The process that runs there.
    pub(crate) pid: u32,
    /// Everything that was seen.
    pub(crate) seen: String,
}

impl Terminal {
    fn step(&mut self, step: &JsonValue) -> JsonValue {
        writeln!(self.stdin, "{step}").unwrap();
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        let answer: JsonValue = serde_json::from_str(&line).unwrap();
        self.seen.push_str(answer["seen"].as_str().unwrap_or_default());
        answer
    }

    /// Waits until `text` is shown.
    #[track_caller]
    pub(crate) fn expect(&mut self, text: &str) -> &mut Self {
        let answer = self.step(&json!({"expect": text}));
        assert_eq!(answer["missing"], false, "{text:?} is not in {}", self.seen);
        self
    }

    pub(crate) fn type_in(&mut self, text: &str) -> &mut Self {
        self.step(&json!({"type": text}));
        self
    }

    /// Waits for the end.
    pub(crate) fn end(mut self) -> Output {
        let code = self.step(&json!({"end": true}))["code"].as_i64().unwrap();
        drop(self.stdin);
        assert!(self.driver.wait().unwrap().success());
        let code = i32::try_from(code).unwrap();
        Output { code, stdout: self.seen, stderr: String::new() }
    }
}
