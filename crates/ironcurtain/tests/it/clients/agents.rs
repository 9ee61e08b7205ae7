//! Real agents, as people install them, with the proxy as their only source of tools; a scripted
//! provider is the model behind them.
//!
//! Each is set up as `docs/clients.md` says, in a home of its own, and reaches nothing but the
//! provider. What it is told to do goes over both ways in: a proxy that it starts, and a socket.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ic_testkit::provider::{KEY, Reply, Request, Said};
use ic_testkit::proxy::{Reads, records};
use ic_testkit::{Caller, Place, Proxy, ScriptedProvider};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Packages, place_with_servers, proxy_arguments, script};
use crate::proxy::python;

/// After this, an agent will not do any more what it is waited for; some take a minute to start on a
/// busy machine.
const AGENT_MAX: Duration = Duration::from_mins(6);

#[test]
fn claude_code_works_through_the_proxy() {
    check(Agent::ClaudeCode);
}

#[test]
fn codex_works_through_the_proxy() {
    check(Agent::Codex);
}

#[test]
fn opencode_works_through_the_proxy() {
    check(Agent::OpenCode);
}

#[derive(Clone, Copy, Debug)]
enum Agent {
    ClaudeCode,
    Codex,
    OpenCode,
}

/// A place with servers, an agent and somebody who answers from another terminal.
struct Stage {
    agent: Agent,
    program: PathBuf,
    place: Place,
}

/// An agent that runs.
struct Running<'a> {
    stage: &'a Stage,
    child: Child,
}

/// Lets an agent make calls of each kind, once over each way in.
fn check(agent: Agent) {
    let Some(packages) = Packages::find() else { return };
    let Some(stage) = Stage::set(agent, &packages) else { return };
    stage.starts_a_proxy_and_gets_each_answer();
    stage.takes_its_question_along_when_it_vanishes_from_a_socket();
    let verified = stage.place.run(["audit", "verify"]);
    assert_eq!(verified.code, 0, "{agent:?}: {verified:?}");
}

impl Stage {
    fn set(agent: Agent, packages: &Packages) -> Option<Self> {
        let program = packages.0.join("bin").join(agent.program());
        if !program.exists() {
            let is_made_for = std::env::consts::ARCH == "x86_64";
            assert!(!is_made_for, "{} should be there", program.display());
            eprintln!("SKIPPED: {} is not made for this machine", agent.program());
            return None;
        }
        let place = place_with_servers(packages);
        place.write("elsewhere/found.txt", "");
        place.dir("agent/work");
        place.dir("agent/tmp");
        assert_eq!(place.run(["config", "set", "approvals.scripted", "true"]).code, 0);
        Some(Self { agent, program, place })
    }

    /// Our server and a public one are called; a call is denied, and another one asked about.
    fn starts_a_proxy_and_gets_each_answer(&self) {
        let (note, key) = (self.path("sandbox/note.txt"), self.path("home/.ssh/id_ed25519"));
        let steps = [
            ("filesystem__read_text_file", json!({"path": note}), "a note"),
            ("everything__get-sum", json!({"a": 2, "b": 3}), "The sum of 2 and 3 is 5."),
            ("public__read_text_file", json!({"path": key}), "is protected"),
            ("filesystem__list_directory", json!({"path": self.path("elsewhere")}), "found.txt"),
        ];
        let provider = self.provider(steps.iter().map(|(tool, input, _)| (*tool, input)));
        let mut command = vec![env!("CARGO_BIN_EXE_ironcurtain").to_owned()];
        command.extend(proxy_arguments(&self.place));
        command.push("--wait".to_owned());
        let mut running = self.start(&provider, &command);
        let asked = running.question();
        assert_eq!(asked["tool"], "list_directory", "{asked}");
        self.answer("approve", &asked);
        running.finish();

        let requests = provider.requests().into_iter().filter(Request::offers_tools);
        let bodies: Vec<String> = requests.map(|it| it.body.to_string()).collect();
        assert_eq!(bodies.len(), steps.len() + 1, "{:?}: one request after each", self.agent);
        for ((tool, _, expected), after) in steps.iter().zip(bodies.iter().skip(1)) {
            assert!(after.contains(expected), "{:?}: {tool}: {after}", self.agent);
        }
        self.has_no_tools_of_its_own(&provider);
        let expected = [
            "filesystem read_text_file allow policy",
            "everything get-sum allow policy",
            "public read_text_file deny policy",
            "filesystem list_directory escalate policy",
            "filesystem list_directory allow cli",
        ];
        assert_eq!(self.intents(), expected, "{:?}", self.agent);
    }

    /// Through a socket, an agent that is killed while a person is asked takes the question along.
    fn takes_its_question_along_when_it_vanishes_from_a_socket(&self) {
        let socket = self.place.path("sockets/proxy.sock");
        let mut arguments = proxy_arguments(&self.place);
        arguments.extend(["--wait", "--socket", socket.to_str().unwrap()].map(str::to_owned));
        let words: Vec<&str> = arguments.iter().skip(1).map(String::as_str).collect();
        let mut proxy = Proxy::start_reading(&self.place, &words, Reads::Everything);
        // Connecting waits until somebody listens.
        let mut other = Caller::begin(&socket, "other");

        let steps = [
            ("everything__echo", json!({"message": "over a socket"})),
            ("public__list_directory", json!({"path": self.path("elsewhere")})),
        ];
        let provider = self.provider(steps.iter().map(|(tool, input)| (*tool, input)));
        let words = [
            python().display().to_string(),
            script("connect.py").display().to_string(),
            socket.display().to_string(),
        ];
        let mut running = self.start(&provider, &words);
        running.question();
        let last = provider.requests().pop().unwrap().body.to_string();
        assert!(last.contains("Echo: over a socket"), "{:?}: {last}", self.agent);
        running.kill();
        self.until("nobody is asked any more", || self.questions().is_empty());
        self.until("it is recorded", || {
            let mut events = records(&self.place).into_iter();
            let last = events.rfind(|it| it["kind"] == "escalation");
            last.is_some_and(|it| it["arguments"]["event"] == "withdrawn")
        });
        let note = other
            .call("public__read_text_file", &json!({"path": self.path("sandbox/note.txt")}))
            .good();
        assert_eq!(note, "a note\n", "{:?}: others are served", self.agent);
        proxy.signal(Signal::TERM);
        assert_eq!(proxy.end(), 0, "{}", proxy.stderr());
    }

    /// Checks that the agent offered the proxy's tools, and none that reads, writes or runs anything by
    /// itself.
    fn has_no_tools_of_its_own(&self, provider: &ScriptedProvider) {
        let request = provider.requests().into_iter().find(Request::offers_tools).unwrap();
        let tools = request.body["tools"].as_array().unwrap().clone();
        let name = |tool: &Value| tool["name"].as_str().unwrap_or("unnamed").to_owned();
        let own: Vec<String> =
            tools.iter().map(name).filter(|it| !it.contains("ironcurtain")).collect();
        // What is listed here asks the person, or servers through MCP.
        let expected: &[&str] = match self.agent {
            Agent::ClaudeCode | Agent::OpenCode => &[],
            Agent::Codex => &[
                "list_mcp_resources",
                "list_mcp_resource_templates",
                "read_mcp_resource",
                "request_user_input",
            ],
        };
        assert_eq!(own, expected, "{:?}", self.agent);
    }

    fn path(&self, name: &str) -> String {
        self.place.path(name).display().to_string()
    }

    /// A provider that has tools used one after another.
    fn provider<'a>(&self, steps: impl Iterator<Item = (&'a str, &'a Value)>) -> ScriptedProvider {
        ScriptedProvider::start_for_stranger(steps.enumerate().map(|(at, (tool, input))| {
            let id = format!("toolu_{at}");
            Reply::Says(Said::tool(&id, &self.agent.tool(tool), input.clone()))
        }))
    }

    fn start(&self, provider: &ScriptedProvider, server: &[String]) -> Running<'_> {
        let home = self.place.path("agent");
        let input = self.place.write("agent/input", "Go ahead.\n");
        let output = |name: &str| File::create(home.join(name)).unwrap();
        let mut command = Command::new(&self.program);
        let path = |name: &str| home.join(name);
        command
            .env_clear()
            .env("HOME", &home)
            .env("TMPDIR", path("tmp"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            // Whoever wants to leave this machine meets the provider, which knows no such thing.
            .envs(["HTTPS_PROXY", "HTTP_PROXY"].map(|name| (name, provider.url())))
            .env("NO_PROXY", "127.0.0.1,localhost")
            .current_dir(path("work"))
            .stdin(File::open(input).unwrap())
            .stdout(Stdio::from(output("stdout")))
            .stderr(Stdio::from(output("stderr")));
        let (program, arguments) = server.split_first().unwrap();
        let servers = Server { program, arguments, home: self.place.path("home") };
        self.agent.set_up(&mut command, &home, &provider.url(), &servers);
        Running { stage: self, child: command.spawn().unwrap() }
    }

    fn questions(&self) -> Vec<Value> {
        let listed = self.place.run(["approvals", "list", "--json"]);
        assert_eq!(listed.code, 0, "{listed:?}");
        serde_json::from_str(&listed.stdout).unwrap()
    }

    fn answer(&self, word: &str, question: &Value) {
        let id = question["escalationId"].as_str().unwrap();
        let answered = self.place.run(["approvals", word, id]);
        assert_eq!(answered.code, 0, "{answered:?}");
    }

    /// Returns the calls that were recorded: server, tool, verdict, and who decided.
    fn intents(&self) -> Vec<String> {
        let of_kind = records(&self.place).into_iter().filter(|it| it["kind"] == "intent");
        let text = |it: &Value, key: &str| it[key].as_str().unwrap_or_default().to_owned();
        let shown = |it: Value| {
            ["server", "tool", "verdict", "decidedBy"].map(|key| text(&it, key)).join(" ")
        };
        of_kind.map(shown).collect()
    }

    #[track_caller]
    fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let deadline = Instant::now() + AGENT_MAX;
        while !is_so() {
            let words = || self.words();
            assert!(Instant::now() < deadline, "{:?}: in vain: {what}: {}", self.agent, words());
            std::thread::park_timeout(Duration::from_millis(50));
        }
    }

    /// Returns what the agent wrote.
    fn words(&self) -> String {
        let read = |name: &str| {
            let bytes = std::fs::read(self.place.path("agent").join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        format!("stdout: {}\nstderr: {}", read("stdout"), read("stderr"))
    }
}

impl Running<'_> {
    /// Waits until a person is asked.
    fn question(&mut self) -> Value {
        let (stage, mut asked) = (self.stage, None);
        stage.until("a person is asked", || {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "{:?}: {ended:?}: {}", stage.agent, stage.words());
            asked = stage.questions().pop();
            asked.is_some()
        });
        asked.unwrap()
    }

    fn finish(mut self) {
        let (stage, mut ended) = (self.stage, None);
        stage.until("it ends", || {
            ended = self.child.try_wait().unwrap();
            ended.is_some()
        });
        assert!(ended.unwrap().success(), "{:?}: {ended:?}: {}", stage.agent, stage.words());
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// No test leaves an agent behind, also if it fails.
impl Drop for Running<'_> {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// What an agent starts as its MCP server.
struct Server<'a> {
    program: &'a str,
    arguments: &'a [String],
    home: PathBuf,
}

impl Server<'_> {
    fn environment(&self) -> Value {
        json!({"HOME": self.home, "PATH": "/usr/bin:/bin"})
    }
}

impl Agent {
    fn program(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
        }
    }

    /// Returns the name under which a model knows a tool of the proxy's.
    fn tool(self, name: &str) -> String {
        match self {
            Self::ClaudeCode => format!("mcp__ironcurtain__{name}"),
            // It shows models no hyphen.
            Self::Codex => format!("mcp__ironcurtain::{}", name.replace('-', "_")),
            Self::OpenCode => format!("ironcurtain_{name}"),
        }
    }

    /// Writes what the agent reads, and says how it is started for one message.
    fn set_up(self, command: &mut Command, home: &Path, provider: &str, server: &Server<'_>) {
        let Server { program, arguments, .. } = server;
        let write = |name: &str, text: &str| {
            let path = home.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path
        };
        match self {
            Self::ClaudeCode => {
                let servers = json!({"mcpServers": {"ironcurtain": {
                    "command": program, "args": arguments, "env": server.environment()}}});
                let servers = write("servers.json", &servers.to_string());
                command
                    .args(["--strict-mcp-config", "--tools=", "--allowedTools", "mcp__ironcurtain"])
                    .arg("--mcp-config")
                    .arg(servers)
                    .args(["-p", "--", "Go ahead."])
                    .env("ANTHROPIC_BASE_URL", provider)
                    .env("ANTHROPIC_API_KEY", KEY)
                    .env("MCP_TOOL_TIMEOUT", "600000")
                    .env("MCP_TIMEOUT", "300000")
                    .env("ENABLE_TOOL_SEARCH", "false")
                    .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
            }
            Self::Codex => {
                let text = CODEX_CONFIG
                    .replace("PROVIDER", &json!(format!("{provider}/v1")).to_string())
                    .replace("PROGRAM", &json!(program).to_string())
                    .replace("ARGUMENTS", &json!(arguments).to_string())
                    .replace("PERSON", &json!(server.home).to_string());
                write(".codex/config.toml", &text);
                command
                    .args(["exec", "--skip-git-repo-check", "Go ahead."])
                    .env("OPENAI_API_KEY", KEY)
                    .stdin(Stdio::null());
            }
            Self::OpenCode => {
                let mut words = vec![(*program).to_owned()];
                words.extend_from_slice(arguments);
                let config = json!({
                    "model": "anthropic/claude-sonnet-4-6",
                    "autoupdate": false,
                    "provider": {"anthropic": {"options": {
                        "baseURL": format!("{provider}/v1"), "apiKey": KEY}}},
                    "mcp": {"ironcurtain": {"type": "local", "command": words,
                        "environment": server.environment(), "timeout": 600_000}},
                    "permission": {"*": "deny", "ironcurtain_*": "allow"},
                });
                let config = write("opencode.json", &config.to_string());
                command
                    .args(["run", "--pure"])
                    .env("OPENCODE_CONFIG", config)
                    .env("OPENCODE_DISABLE_MODELS_FETCH", "1");
            }
        }
    }
}

const CODEX_CONFIG: &str = r#"
model = "gpt-5"
model_provider = "scripted"
web_search = "disabled"
sandbox_mode = "read-only"
approval_policy = "never"

[features]
shell_tool = false
view_image = false
multi_agent = false
goals = false
apps = false
plugins = false

[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = PROVIDER
env_key = "OPENAI_API_KEY"
wire_api = "responses"
supports_websockets = false

[mcp_servers.ironcurtain]
command = PROGRAM
args = ARGUMENTS
env = {HOME = PERSON, PATH = "/usr/bin:/bin"}
required = true
startup_timeout_sec = 300
tool_timeout_sec = 600
"#;
