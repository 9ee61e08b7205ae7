//! A small world to ask questions in: escalations of any call, a desk in a directory, a clock.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ic_escalation::{
    Clerk, Ended, FileDesk, Outcome, Pending, Question, SessionEntry, Waiting, new_escalation_id,
};
use ic_home::{Clock, Process, SystemClock};
use ic_policy::artifact::Source;
use ic_policy::{
    Bounds, Destination, Escalation, FileKind, FileState, HomeExecutes, PathValue, Policy,
    PolicySources, Reach, ResolvedCall, ResolvedParts, RoleValues, Scheme, Standing, Ticket,
    UrlValue, Value, Verdict, evaluate,
};
use ic_types::{CanonicalPath, Digest, Json, Object, Role, Timestamp, ToolCall};
use tempfile::TempDir;
use tokio::task::JoinHandle;

pub(crate) const SESSION: &str = "2026-11-15-00-00-00-000-aaaa";
/// Asks about everything.
pub(crate) const ASK: &str =
    r#"[{"name":"ask","if":{},"then":"escalate","reason":"a person decides"}]"#;
/// Asks about everything but reading.
pub(crate) const ASK_BUT_READ: &str = r#"[
    {"name":"read","if":{"roles":["read-path"]},"then":"allow","reason":"reading is free"},
    {"name":"ask","if":{},"then":"escalate","reason":"a person decides"}]"#;
/// Asks only about the server's domains, and about what the host runs.
pub(crate) const ALLOW: &str = r#"[{"name":"free","if":{},"then":"allow","reason":"it is free"}]"#;

/// A call that is to escalate.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) rules: &'static str,
    pub(crate) parts: ResolvedParts,
    pub(crate) ticket: Ticket,
}

impl Ask {
    pub(crate) fn of(tool: &str, roles: &[(Role, &[Value])]) -> Self {
        let roles = roles.iter();
        let roles = roles.map(|(role, values)| RoleValues { role: *role, values: values.to_vec() });
        let parts = ResolvedParts {
            asked: ToolCall {
                server: "filesystem".parse().unwrap(),
                tool: tool.parse().unwrap(),
                arguments: Object::new(),
            },
            sent: Object::new(),
            standing: Standing::Annotated,
            roles: roles.collect(),
            invalid: Vec::new(),
            unknown_arguments: Vec::new(),
            unannotated_paths: Vec::new(),
            executed: Vec::new(),
            places: Vec::new(),
            push: None,
        };
        Self { rules: ASK, parts, ticket: ticket(Timestamp::from_unix_ms(4_107_542_400_000)) }
    }

    /// The call of one file that is to be written.
    pub(crate) fn write(path: &str) -> Self {
        let mut ask = Self::of("write_file", &[(Role::WritePath, &[file(path)])]);
        ask.parts.sent.insert("path", path);
        ask.parts.sent.insert("content", "hello");
        ask.parts.places = vec![role_place("path", Role::WritePath)];
        ask
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let call = ResolvedCall::assert_resolved(self.parts.clone());
        evaluate(&policy(self.rules), &bounds(), call)
    }

    #[track_caller]
    pub(crate) fn escalation(&self) -> Escalation {
        match self.verdict() {
            Verdict::Escalate(escalation) => escalation,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn question(&self, now: Timestamp) -> Question {
        Question::of(&self.escalation(), &self.ticket, &closed(), now)
    }
}

/// Says that the argument `name` has the role.
pub(crate) fn role_place(name: &str, role: Role) -> ic_policy::RolePlace {
    let place = ic_policy::Pointer::parse(name).unwrap();
    ic_policy::RolePlace { place, roles: vec![role] }
}

pub(crate) fn ticket(deadline: Timestamp) -> Ticket {
    Ticket {
        session: SESSION.parse().unwrap(),
        escalation: new_escalation_id().unwrap(),
        server_identity: Digest::of(b"server"),
        schema_hash: Digest::of(b"schema"),
        deadline,
    }
}

pub(crate) fn policy(rules: &str) -> Policy {
    let compiled = format!(r#"{{"rules": {rules}}}"#);
    let sources = PolicySources {
        compiled: Source { file: "compiled-policy.json", bytes: compiled.as_bytes() },
        annotations: Source { file: "tool-annotations.json", bytes: br#"{"servers":{}}"# },
        lists: None,
    };
    Policy::load(&sources, &|text| CanonicalPath::new(text).map_err(|error| error.to_string()))
        .unwrap()
}

/// What no grant opens: what `bounds` protects and runs, and a home directory.
pub(crate) fn closed() -> ic_escalation::Closed {
    ic_escalation::Closed::new(&bounds(), [canonical("/h"), canonical("/u/ada")])
}

fn bounds() -> Bounds {
    let domains = ic_policy::DomainSet::parse(["good.example"]).unwrap();
    let gated = ic_policy::ServerTraits {
        containment: ic_policy::Containment::Loose,
        names_files: false,
        allowed_domains: vec![domains],
    };
    Bounds {
        sandbox: None,
        protected: vec![canonical("/p")],
        home_executes: vec![HomeExecutes { path: canonical("/h/.bashrc"), reach: Reach::Itself }],
        servers: HashMap::from([("gated".parse().unwrap(), gated)]),
    }
}

#[track_caller]
pub(crate) fn canonical(path: &str) -> CanonicalPath {
    CanonicalPath::new(path).unwrap()
}

fn path_value(path: &str, kind: Option<FileKind>) -> Value {
    let state = kind.map(|kind| FileState {
        kind,
        device: 1,
        inode: 2,
        bytes: 4096,
        modified_s: 1_794_700_800,
        modified_ns: 0,
    });
    Value::Path(PathValue { path: canonical(path), also: Vec::new(), state })
}

/// A file that is there.
pub(crate) fn file(path: &str) -> Value {
    path_value(path, Some(FileKind::File))
}

/// A directory that is there.
pub(crate) fn directory(path: &str) -> Value {
    path_value(path, Some(FileKind::Directory))
}

/// A path at which nothing is.
pub(crate) fn absent(path: &str) -> Value {
    path_value(path, None)
}

/// A file that links with these names lead to.
pub(crate) fn linked(path: &str, also: &[&str]) -> Value {
    match file(path) {
        Value::Path(value) => {
            let also = also.iter().map(|name| canonical(name)).collect();
            Value::Path(PathValue { also, ..value })
        }
        other => panic!("{other:?}"),
    }
}

/// A URL or remote: `scheme://host[:port][/owner/repo]`.
#[track_caller]
pub(crate) fn url(text: &str) -> Value {
    let (scheme, rest) = text.split_once("://").unwrap();
    let scheme = match scheme {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        "ssh" => Scheme::Ssh,
        other => panic!("{other}"),
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let is_repository = path.split('/').count() == 2;
    let there = Destination::parse_authority(authority).unwrap();
    let repository = is_repository.then(|| path.to_owned());
    let destination = Destination { scheme: Some(scheme), repository, ..there };
    Value::Url(UrlValue { text: text.to_owned(), destination })
}

pub(crate) fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

// === the desk ===

/// A clock that stops with the runtime's.
#[derive(Debug)]
pub(crate) struct RuntimeClock {
    start: tokio::time::Instant,
    start_ms: u64,
}

impl RuntimeClock {
    pub(crate) fn new() -> Self {
        Self { start: tokio::time::Instant::now(), start_ms: 1_794_700_800_000 }
    }
}

impl Clock for RuntimeClock {
    fn now(&self) -> Timestamp {
        let ms = u64::try_from(self.start.elapsed().as_millis()).unwrap();
        Timestamp::from_unix_ms(self.start_ms + ms)
    }
}

/// A desk in a directory of its own, with its clerk at work.
pub(crate) struct Place {
    pub(crate) root: TempDir,
    pub(crate) desk: FileDesk,
    pub(crate) clock: Arc<dyn ic_escalation::Ticks>,
    pub(crate) clerk: JoinHandle<Ended>,
}

impl Place {
    /// Opens a desk whose clock is the runtime's.
    pub(crate) fn open() -> Self {
        let (mut place, clerk) = Self::open_without_clerk(Arc::new(RuntimeClock::new()));
        place.clerk = tokio::spawn(clerk.run());
        place
    }

    /// Opens a desk on this machine's own time.
    pub(crate) fn open_live() -> Self {
        let (mut place, clerk) = Self::open_without_clerk(Arc::new(SystemClock));
        place.clerk = tokio::spawn(clerk.run());
        place
    }

    pub(crate) fn open_without_clerk(clock: Arc<dyn ic_escalation::Ticks>) -> (Self, Clerk) {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("escalations");
        let (desk, clerk) = FileDesk::open(&directory, Arc::clone(&clock)).unwrap();
        (Self { root, desk, clock, clerk: tokio::spawn(async { Ended::Closed }) }, clerk)
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.root.path().join("escalations")
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Raises the question of `ask`, to be answered within `timeout`.
    #[track_caller]
    pub(crate) fn raise(&self, ask: &Ask, timeout: Duration) -> (Ask, Waiting) {
        self.try_raise(ask, timeout).map_err(|error| error.to_string()).unwrap()
    }

    pub(crate) fn try_raise(
        &self,
        ask: &Ask,
        timeout: Duration,
    ) -> Result<(Ask, Waiting), ic_escalation::DeskError> {
        let ms = u64::try_from(timeout.as_millis()).unwrap();
        let deadline = Timestamp::from_unix_ms(self.now().unix_ms() + ms);
        let ask = ask.clone().with(|ask| ask.ticket = ticket(deadline));
        let waiting = ic_escalation::Desk::raise(&self.desk, ask.question(self.now()))?;
        Ok((ask, waiting))
    }

    pub(crate) fn entry(&self) -> SessionEntry {
        SessionEntry {
            session: SESSION.parse().unwrap(),
            name: "work".parse().unwrap(),
            kind: "proxy".to_owned(),
            label: "claude-code: interactive".to_owned(),
            escalation_dir: self.directory(),
            started_at: self.now(),
            process: Process::this().unwrap(),
        }
    }

    /// Returns the questions that wait.
    pub(crate) fn pending(&self) -> Vec<Pending> {
        let waiters = ic_escalation::Board::default().look(&[self.entry()], self.now());
        assert!(waiters.unreadable.is_empty(), "{:?}", waiters.unreadable);
        waiters.pending
    }

    pub(crate) fn request_path(&self, ask: &Ask) -> PathBuf {
        self.directory().join(format!("request-{}.json", ask.ticket.escalation))
    }

    pub(crate) fn response_path(&self, ask: &Ask) -> PathBuf {
        self.directory().join(format!("response-{}.json", ask.ticket.escalation))
    }

    /// Writes `bytes` where the answer to `ask` belongs, as another program would.
    #[track_caller]
    pub(crate) fn respond(&self, ask: &Ask, bytes: &[u8]) {
        let temporary = self.root.path().join("response");
        std::fs::write(&temporary, bytes).unwrap();
        std::fs::rename(temporary, self.response_path(ask)).unwrap();
    }
}

/// An answer as another program would write it.
pub(crate) fn response(decision: &str, ask: &Ask) -> Json {
    let mut object = Object::new();
    object.insert("decision", decision);
    object.insert("digest", ask.escalation().digest(&ask.ticket).to_string());
    object.insert("decidedBy", "cli");
    object.insert("decidedAt", "2026-11-15T00:00:00Z");
    Json::Object(object)
}

pub(crate) fn approval(ask: &Ask) -> Vec<u8> {
    response("approved", ask).to_string().into_bytes()
}

/// Prints what became of a question.
pub(crate) fn summary(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Answered(it) => {
            let grant = match (&it.grant, &it.no_grant) {
                (Some(_), _) => ", granted",
                (None, Some(_)) => ", not granted",
                (None, None) => "",
            };
            format!("{:?} by {}{grant}", it.answer.decision(), it.answer.decided_by())
        }
        Outcome::Malformed(fault) => match std::error::Error::source(fault) {
            Some(source) => format!("malformed: {fault}: {}", last_part(&source.to_string())),
            None => format!("malformed: {fault}"),
        },
        Outcome::Expired => "expired".to_owned(),
        Outcome::Closed => "closed".to_owned(),
    }
}

/// Leaves out the path that a message begins with.
fn last_part(message: &str) -> String {
    message.rsplit_once('`').map_or(message, |(_, rest)| rest).trim().to_owned()
}

/// Returns the names in a directory that have nothing temporary about them.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Lets every task run until it has nothing to do.
pub(crate) async fn settle_down() {
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}

/// Waits for `future`, but not for ever.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(1), future).await.expect("it came in time")
}

/// Runs `body` while `n_others` threads do `other` over and over.
pub(crate) fn disturbed(n_others: usize, other: impl Fn() + Sync, body: impl FnOnce()) {
    struct Done<'a>(&'a AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..n_others {
            scope.spawn(|| {
                while !is_done.load(Ordering::SeqCst) {
                    other();
                }
            });
        }
        let _done = Done(&is_done);
        body();
    });
}
