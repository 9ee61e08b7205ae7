//! A broker in this process, driven over its own protocol: whatever the binary would put around it is
//! the test's to choose, down to the program that starts servers and to who finds addresses.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ic_audit::{AuditKey, AuditLog, LogFiles, LogOptions, Redactor, SyncMode};
use ic_backend::{Keyring, Premises, Witness};
use ic_broker::{Broker, Patience, People, Setup};
use ic_client::client::{ClientInfo, Ended, Open, serve};
use ic_confine::{Confinement, Launcher};
use ic_egress::{Resolve, SystemResolver};
use ic_escalation::{Desk, DeskError, Grants, Question, Waiting};
use ic_home::{Clock, Home, SystemClock};
use ic_inventory::pins::{Identity, PinsFile};
use ic_inventory::servers_file::ServersFile;
use ic_inventory::tool::Tool;
use ic_judge::Judge;
use ic_policy::artifact::Source;
use ic_policy::{Bounds, PolicySources};
use ic_types::{AbsolutePath, CanonicalPath, Json, JsonLimits, ServerName};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex};
use tokio_util::sync::CancellationToken;

const SESSION: &str = "2026-11-15-00-00-00-000-aaaa";

/// What a broker is made of.
pub(crate) struct Parts {
    pub(crate) policy: Policy,
    pub(crate) servers: Value,
    pub(crate) desk: Arc<dyn Desk>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) timeout: Duration,
    pub(crate) grace: Duration,
    pub(crate) launcher: Launcher,
    pub(crate) confinement: Confinement,
    pub(crate) keyring: Keyring,
    pub(crate) resolver: Arc<dyn Resolve>,
    pub(crate) witness: Arc<dyn Witness>,
    /// Servers of other people's that somebody trusts, with the tools that they list.
    pub(crate) trusted: Vec<(&'static str, Value)>,
}

/// A policy, as it stands in its files.
pub(crate) struct Policy {
    pub(crate) rules: Value,
    pub(crate) annotations: String,
}

/// A client and its broker, and the directory in which everything of theirs is.
pub(crate) struct Link {
    root: TempDir,
    to: DuplexStream,
    from: BufReader<DuplexStream>,
    served: tokio::task::JoinHandle<()>,
    /// The id of the last request.
    id: u64,
}

/// A desk at which nobody can be asked.
#[derive(Debug)]
struct NoDesk;

struct Given(Option<Arc<Broker>>);

struct Nobody;

impl Desk for NoDesk {
    fn raise(&self, _: Question) -> Result<Waiting, DeskError> {
        Err(DeskError::Closed)
    }
}

impl Open for Given {
    type Error = String;

    async fn open(&mut self, _: &ClientInfo) -> Result<Arc<Broker>, String> {
        self.0.take().ok_or_else(|| "it is open".to_owned())
    }
}

impl Witness for Nobody {
    fn notice(&self, _: &str) {}
    fn server_wrote(&self, _: &ServerName, _: &str) {}
}

impl Parts {
    /// Real servers without cages, nobody to ask, and nothing that is the user's.
    pub(crate) fn new(policy: Policy, servers: Value) -> Self {
        Self {
            policy,
            servers,
            desk: Arc::new(NoDesk),
            clock: Arc::new(SystemClock),
            timeout: Duration::from_mins(5),
            grace: ic_broker::FORWARD_GRACE,
            launcher: Launcher::at(env!("CARGO_BIN_EXE_ironcurtain")),
            confinement: Confinement::None,
            keyring: Keyring::default(),
            resolver: Arc::new(SystemResolver::new()),
            witness: Arc::new(Nobody),
            trusted: Vec::new(),
        }
    }
}

impl Policy {
    /// A policy of these rules with the annotations that are built in.
    pub(crate) fn of_rules(rules: Value) -> Self {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../ic-policy/policies/tool-annotations.json");
        Self { rules, annotations: std::fs::read_to_string(file).unwrap() }
    }
}

/// Records servers as somebody would who trusts them.
fn trust(home: &Home, servers: &ServersFile, trusted: &[(&str, Value)]) {
    let tool = |listed: &Value| {
        let listed = Json::parse(listed.to_string().as_bytes(), JsonLimits::ARTIFACT).unwrap();
        Tool::read(listed).unwrap()
    };
    for (name, tools) in trusted {
        let (name, config) = servers.get(name).unwrap();
        let tools: Vec<Tool> = tools.as_array().unwrap().iter().map(tool).collect();
        let identity = Identity::of(config);
        PinsFile::of(home).trust(name, &identity, &tools, SystemClock.now()).unwrap();
    }
}

impl Link {
    pub(crate) async fn open(parts: Parts) -> Self {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().canonicalize().unwrap().join(name);
        for name in ["work", "private", "installed"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        let home = Home::new(AbsolutePath::new(at("home")).unwrap());
        home.prepare().unwrap();
        let redactor = Arc::new(Redactor::new([]));
        let options = LogOptions {
            session: SESSION.parse().unwrap(),
            key: AuditKey::from_bytes([7; 32]),
            redactor: Arc::clone(&redactor),
            clock: Arc::new(SystemClock),
            sync: SyncMode::Group,
            bytes_max: ic_audit::BYTES_MAX,
        };
        let files = LogFiles { log: at("audit.jsonl"), head: at("audit.head"), heads: None };
        let servers = parts.servers.to_string();
        let file = Source { file: "servers.json", bytes: servers.as_bytes() };
        let servers = ServersFile::read(file).unwrap();
        trust(&home, &servers, &parts.trusted);
        let people = People {
            session: SESSION.parse().unwrap(),
            desk: parts.desk,
            grants: Grants::open(at("grants.json"), SESSION.parse().unwrap()).unwrap(),
            approver: None,
            patience: Patience::ForAnybody,
            timeout: parts.timeout,
            grace: parts.grace,
        };
        let judge = Arc::new(judge(&parts.policy, AbsolutePath::new(at("home")).unwrap()));
        let log = Arc::new(AuditLog::open(files, options, ic_types::Object::new()).unwrap());
        let premises = Premises {
            servers,
            judge: Arc::clone(&judge),
            log: Arc::clone(&log),
            clock: Arc::clone(&parts.clock),
            resolver: parts.resolver,
            launcher: parts.launcher,
            confinement: parts.confinement,
            pins: PinsFile::of(&home),
            private: at("private"),
            installed: at("installed"),
            locks: at("locks"),
            variables: Vec::new(),
            keyring: parts.keyring,
            certificates: None,
            shown: Vec::new(),
            packages: None,
            witness: Arc::clone(&parts.witness),
        };
        let setup = Setup {
            judge,
            backends: premises.open().unwrap(),
            log: Arc::clone(&log),
            redactor,
            clock: parts.clock,
            locks: at("locks"),
            run: "run".to_owned(),
            people,
            witness: parts.witness,
        };
        let broker = setup.build().unwrap();
        let link = Self::serve(root, broker, log);
        link.begun().await
    }

    /// Serves the client over a pair of pipes.
    fn serve(root: TempDir, broker: Arc<Broker>, log: Arc<AuditLog>) -> Self {
        let ((to, theirs), (ours, from)) = (duplex(1 << 16), duplex(1 << 16));
        let served = tokio::spawn(async move {
            let stop = CancellationToken::new();
            match serve(theirs, ours, Given(Some(broker)), &stop).await {
                Ended::Done(Some(broker)) => {
                    broker.close().await;
                    log.close().unwrap();
                }
                Ended::Done(None) => {}
                Ended::NotOpened(why) => panic!("{why}"),
            }
        });
        Self { root, to, from: BufReader::new(from), served, id: 0 }
    }

    /// Begins to speak the protocol.
    async fn begun(mut self) -> Self {
        let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
            {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t"}}});
        self.send(&initialize).await;
        self.hear().await;
        self
    }

    /// Returns a path in the directory.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.to.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// Says that nothing more will be asked.
    pub(crate) async fn say_no_more(&mut self) {
        self.to.shutdown().await.unwrap();
    }

    /// Waits for the next message.
    pub(crate) async fn hear_any(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Waits for the next answer.
    pub(crate) async fn hear(&mut self) -> Value {
        loop {
            let message = self.hear_any().await;
            if message.get("id").is_some() {
                return message;
            }
        }
    }

    /// Calls a tool, and returns the id of the call.
    pub(crate) async fn call(&mut self, tool: &str, arguments: &Value) -> u64 {
        self.id += 1;
        let call = json!({"jsonrpc": "2.0", "id": self.id, "method": "tools/call", "params":
            {"name": tool, "arguments": arguments, "_meta": {"progressToken": self.id}}});
        self.send(&call).await;
        self.id
    }

    /// Calls a tool, and returns whether it did well and what it said.
    pub(crate) async fn ask(&mut self, tool: &str, arguments: &Value) -> Result<String, String> {
        self.call(tool, arguments).await;
        let answer = self.hear().await;
        let text = answer["result"]["content"][0]["text"].as_str();
        let text = text.map_or_else(|| answer.to_string(), str::to_owned);
        match answer["result"]["isError"] == json!(false) || answer["result"]["isError"].is_null() {
            true => Ok(text),
            false => Err(text),
        }
    }

    /// Ends everything, and returns the records.
    pub(crate) async fn end(self) -> Vec<Value> {
        drop(self.to);
        self.served.await.unwrap();
        let log = std::fs::read_to_string(self.root.path().join("audit.jsonl")).unwrap();
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn judge(policy: &Policy, home: AbsolutePath) -> Judge {
    let compiled = json!({ "rules": policy.rules }).to_string();
    let sources = PolicySources {
        compiled: Source { file: "compiled-policy.json", bytes: compiled.as_bytes() },
        annotations: Source { file: "tool-annotations.json", bytes: policy.annotations.as_bytes() },
        lists: None,
    };
    let locate = |text: &str| CanonicalPath::new(text).map_err(|error| error.to_string());
    let policy = ic_policy::Policy::load(&sources, &locate).unwrap();
    let bounds = Bounds {
        sandbox: None,
        protected: Vec::new(),
        home_executes: Vec::new(),
        servers: std::collections::HashMap::new(),
    };
    Judge {
        policy,
        bounds,
        orders: ic_resolve::Orders::of_user(&home),
        heads: ic_judge::heads::Heads::default(),
        earlier: Vec::new(),
        seen_as: None,
        home,
    }
}
