//! A place with servers, an agent in a home of its own, and somebody who answers from another terminal.
//!
//! It lets an agent run and tells what came of it; what should have come of it is for the tests to say.

use std::fmt;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ic_testkit::provider::{Reply, Request, Said};
use ic_testkit::proxy::records;
use ic_testkit::{Place, ScriptedProvider};
use serde_json::Value;

use super::super::heard::Heard;
use super::super::person::Person;
use super::super::{Packages, Way, place_with_servers};
use super::setup::{Agent, Server};

/// After this, an agent will not do any more what it is waited for; some take a minute to start on a
/// busy machine.
const AGENT_MAX: Duration = Duration::from_mins(6);

pub(super) struct Stage {
    agent: Agent,
    /// The name of the way by which the agent comes to the proxy.
    way: &'static str,
    program: PathBuf,
    pub(super) place: Place,
}

/// An agent that runs.
pub(super) struct Running<'a> {
    stage: &'a Stage,
    child: Child,
}

impl Stage {
    /// Sets the stage for an agent; `None`, loudly, where there is no such agent.
    pub(super) fn set(agent: Agent, packages: &Packages, way: &'static str) -> Option<Self> {
        let program = packages.0.join("bin").join(agent.program());
        if !program.exists() {
            let is_made_for = std::env::consts::ARCH == "x86_64";
            assert!(!is_made_for, "{} should be there", program.display());
            eprintln!("SKIPPED: {} is not made for this machine", agent.program());
            return None;
        }
        let place = place_with_servers(packages);
        place.dir("agent/work");
        place.dir("agent/tmp");
        Some(Self { agent, way, program, place })
    }

    pub(super) fn path(&self, name: &str) -> String {
        self.place.path(name).display().to_string()
    }

    /// Starts a provider that has tools used one after another.
    pub(super) fn provider<'a>(
        &self,
        steps: impl Iterator<Item = (&'a str, &'a Value)>,
    ) -> ScriptedProvider {
        ScriptedProvider::start_for_stranger(steps.enumerate().map(|(at, (tool, input))| {
            let id = format!("toolu_{at}");
            Reply::Says(Said::tool(&id, &self.agent.tool(tool), input.clone()))
        }))
    }

    /// Starts the agent, which gives up a call after `call_max`.
    pub(super) fn start(
        &self,
        provider: &ScriptedProvider,
        way: &Way,
        call_max: Duration,
    ) -> Running<'_> {
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
        let words = self.heard().command(way);
        let (program, arguments) = words.split_first().unwrap();
        let (person, provider) = (self.place.path("home"), provider.url());
        let server = Server { provider, program, arguments, home: person, call_max };
        self.agent.set_up(&mut command, &home, &server);
        Running { stage: self, child: command.spawn().unwrap() }
    }

    /// Returns somebody who answers from another terminal.
    pub(super) fn person(&self) -> Person<'_> {
        Person::of(&self.place)
    }

    /// Waits until nobody is asked any more and the log says that the last question was taken back.
    pub(super) fn until_withdrawn(&self) {
        self.until("nobody is asked any more", || self.person().questions().is_empty());
        self.until("it is recorded", || {
            let last = self.records("escalation").pop();
            last.is_some_and(|it| it["arguments"]["event"] == "withdrawn")
        });
    }

    /// Returns what the agent and the proxy said to each other.
    pub(super) fn heard(&self) -> Heard {
        Heard::in_place(&self.place)
    }

    pub(super) fn records(&self, kind: &str) -> Vec<Value> {
        records(&self.place).into_iter().filter(|it| it["kind"] == kind).collect()
    }

    /// Returns the calls that were recorded: server, tool, verdict, and who decided.
    pub(super) fn intents(&self) -> Vec<String> {
        let text = |it: &Value, key: &str| it[key].as_str().unwrap_or_default().to_owned();
        let shown = |it: Value| {
            ["server", "tool", "verdict", "decidedBy"].map(|key| text(&it, key)).join(" ")
        };
        self.records("intent").into_iter().map(shown).collect()
    }

    #[track_caller]
    pub(super) fn check_log(&self) {
        let verified = self.place.run(["audit", "verify"]);
        assert_eq!(verified.code, 0, "{self}: {verified:?}");
    }

    /// Checks that the model was asked once more after each step, and then knew what it says.
    #[track_caller]
    pub(super) fn check_heard_by_the_model(
        &self,
        provider: &ScriptedProvider,
        steps: &[(&str, Value, &str)],
    ) {
        let requests = provider.requests().into_iter().filter(Request::offers_tools);
        let bodies: Vec<String> = requests.map(|it| it.body.to_string()).collect();
        assert_eq!(bodies.len(), steps.len() + 1, "{self}: one request after each");
        for ((tool, _, expected), after) in steps.iter().zip(bodies.iter().skip(1)) {
            assert!(after.contains(expected), "{self}: {tool}: {after}");
        }
    }

    /// Checks that the agent offered the proxy's tools, and none that reads, writes or runs anything by
    /// itself.
    #[track_caller]
    pub(super) fn check_has_no_tools_of_its_own(&self, provider: &ScriptedProvider) {
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
        assert_eq!(own, expected, "{self}");
    }

    #[track_caller]
    fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let deadline = Instant::now() + AGENT_MAX;
        while !is_so() {
            assert!(Instant::now() < deadline, "{self}: in vain: {what}: {}", self.words());
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

impl fmt::Display for Stage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?} over {}", self.agent, self.way)
    }
}

impl Running<'_> {
    /// Waits until a person is asked.
    pub(super) fn question(&mut self) -> Value {
        let (stage, mut asked) = (self.stage, None);
        let person = stage.person();
        stage.until("a person is asked", || {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "{stage}: {ended:?}: {}", stage.words());
            asked = person.questions().pop();
            asked.is_some()
        });
        asked.unwrap()
    }

    /// Waits until it has ended by itself, and well.
    pub(super) fn finish(mut self) {
        let (stage, mut ended) = (self.stage, None);
        stage.until("it ends", || {
            ended = self.child.try_wait().unwrap();
            ended.is_some()
        });
        assert!(ended.unwrap().success(), "{stage}: {ended:?}: {}", stage.words());
    }

    pub(super) fn kill(mut self) {
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
