//! Agents that were connected by `ironcurtain clients install`, as a user does it, and then change files:
//! each call arrives, is judged, approved at a desk, and done.
//!
//! The agent and the proxy have the same home here, as on a user's machine, and the built-in policy
//! `default` is in force.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use ic_testkit::provider::{Reply, Request, Said};
use ic_testkit::proxy::records;
use ic_testkit::{Place, ScriptedProvider};
use serde_json::{Value, json};

use super::super::Packages;
use super::super::person::Person;
use super::setup::{self, Agent, write};

/// After this, an agent will not do any more what it is waited for.
const AGENT_MAX: Duration = Duration::from_mins(6);

#[test]
fn claude_code_changes_files_after_it_was_installed() {
    changes(Agent::ClaudeCode, "claude-code");
}

#[test]
fn codex_changes_files_after_it_was_installed() {
    changes(Agent::Codex, "codex");
}

#[test]
fn opencode_changes_files_after_it_was_installed() {
    changes(Agent::OpenCode, "opencode");
}

/// Somebody at a desk: present as long as this lives.
struct Desk {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Desk {
    fn open(place: &Place) -> Self {
        let words = ["approvals", "watch", "--desk", "--json"];
        let mut child = place.command(words).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// Waits for the next request that is shown.
    fn asked(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.lines.read_line(&mut line).unwrap(), 0, "the desk closed");
            let event: Value = serde_json::from_str(&line).unwrap();
            if event["event"] == "asked" {
                return event;
            }
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn git(place: &Place, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(words).current_dir(place.path("repository")).env("HOME", place.path("home"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A user's repository, with something that is staged.
fn place_with_repository() -> Place {
    let place = crate::place();
    place.dir("repository");
    git(&place, &["init", "--quiet", "--initial-branch=main"]);
    for (key, value) in [("user.name", "Ada"), ("user.email", "ada@example.com")] {
        git(&place, &["config", key, value]);
    }
    place.write("repository/staged.txt", "staged\n");
    place.write("repository/edited.txt", "one\n");
    place.write("repository/deleted.txt", "gone soon\n");
    git(&place, &["add", "staged.txt"]);
    place
}

fn changes(agent: Agent, name: &str) {
    let Some(packages) = Packages::find() else { return };
    let program = packages.0.join("bin").join(agent.program());
    if !program.exists() {
        assert_ne!(std::env::consts::ARCH, "x86_64", "{} should be there", program.display());
        eprintln!("SKIPPED: {name} is not made for this machine");
        return;
    }
    let place = place_with_repository();
    let path = |file: &str| place.path("repository").join(file).display().to_string();
    let steps = [
        ("filesystem__write_file", json!({"path": path("new.txt"), "content": "written\n"})),
        (
            "filesystem__edit_file",
            json!({"path": path("edited.txt"), "edits": [{"oldText": "one", "newText": "two"}]}),
        ),
        ("git__git_commit", json!({"path": place.path("repository"), "message": "By an agent"})),
        ("filesystem__delete_file", json!({"path": path("deleted.txt")})),
    ];
    let provider = ScriptedProvider::start_for_stranger(steps.iter().enumerate().map(
        |(at, (tool, input))| {
            Reply::Says(Said::tool(&format!("toolu_{at}"), &agent.tool(tool), input.clone()))
        },
    ));
    prepare(agent, &place, &provider.url());
    let off = (!matches!(agent, Agent::ClaudeCode)).then_some("--own-tools-off");
    let words: Vec<&str> = ["clients", "install", name, "--yes"].into_iter().chain(off).collect();
    let installed = place.run(&words);
    assert_eq!(installed.code, 0, "{name}: {installed:?}");
    let again = place.run(&words);
    assert!(again.stdout.contains("nothing was changed"), "{name}: {again:?}");

    // Allowed beforehand: whoever is at the desk answers with a command.
    let person = Person::of(&place);
    let mut desk = Desk::open(&place);
    until_present(&place);
    let mut running = start(agent, &program, &place, &provider.url());
    for (tool, _) in &steps {
        let asked = desk.asked();
        let (_, tool) = tool.split_once("__").unwrap();
        assert_eq!(asked["tool"], tool, "{name}: {asked}");
        person.answer("approve", &asked);
    }
    running.finish(name);

    let read = |file: &str| std::fs::read_to_string(path(file)).unwrap();
    assert_eq!(read("new.txt"), "written\n", "{name}");
    assert_eq!(read("edited.txt"), "two\n", "{name}");
    assert_eq!(git(&place, &["log", "--format=%s"]), "By an agent\n", "{name}");
    assert_eq!(git(&place, &["show", "--format=", "--name-only"]), "staged.txt\n", "{name}");
    assert!(!place.path("repository/deleted.txt").exists(), "{name}");
    let of = |it: &Value, key: &str| it[key].as_str().unwrap_or_default().to_owned();
    let intents = records(&place).into_iter().filter(|it| it["kind"] == "intent");
    let intents: Vec<String> =
        intents.map(|it| format!("{} {}", of(&it, "tool"), of(&it, "verdict"))).collect();
    let expected: Vec<String> = ["write_file", "edit_file", "git_commit", "delete_file"]
        .iter()
        .flat_map(|tool| [format!("{tool} escalate"), format!("{tool} allow")])
        .collect();
    assert_eq!(intents, expected, "{name}: judged, then approved, each once");
    let verified = place.run(["audit", "verify"]);
    assert_eq!(verified.code, 0, "{name}: {verified:?}");
    let n_asked = provider.requests().iter().filter(|it| Request::offers_tools(it)).count();
    assert_eq!(n_asked, steps.len() + 1, "{name}: the model hears of each");
}

/// Writes what the agent needs besides: its model, and settings of the user's.
fn prepare(agent: Agent, place: &Place, provider: &str) {
    let home = place.path("home");
    place.dir("work");
    place.dir("tmp");
    match agent {
        Agent::ClaudeCode => {}
        Agent::Codex => {
            let rest = setup::codex_provider(provider);
            let text = format!("# mine\n{}{rest}", setup::CODEX_MODEL);
            write(&home, ".codex/config.toml", &text);
        }
        Agent::OpenCode => {
            let mut config = setup::opencode_model(provider);
            config["permission"] = json!({"*": "ask", "bash": "allow"});
            let text = format!("// mine\n{config:#}\n");
            write(&home, ".config/opencode/opencode.jsonc", &text);
        }
    }
}

fn until_present(place: &Place) {
    let registry = place.path("home/.ironcurtain/registry");
    let deadline = Instant::now() + AGENT_MAX;
    let is_there = || {
        let names = std::fs::read_dir(&registry).ok()?;
        names.flatten().find(|it| it.file_name().to_string_lossy().starts_with("desk-"))
    };
    while is_there().is_none() {
        assert!(Instant::now() < deadline, "nobody is at the desk");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

struct Running {
    child: Child,
    output: PathBuf,
}

fn start(agent: Agent, program: &PathBuf, place: &Place, provider: &str) -> Running {
    let output = place.path("output");
    let input = place.write("input", "Go ahead.\n");
    let mut command = Command::new(program);
    let written = File::create(&output).unwrap();
    command
        .env_clear()
        .env("HOME", place.path("home"))
        .env("TMPDIR", place.path("tmp"))
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .envs(["HTTPS_PROXY", "HTTP_PROXY"].map(|name| (name, provider)))
        .env("NO_PROXY", "127.0.0.1,localhost")
        .current_dir(place.path("work"))
        .stdin(File::open(input).unwrap())
        .stderr(Stdio::from(written.try_clone().unwrap()))
        .stdout(Stdio::from(written));
    match agent {
        Agent::ClaudeCode => {
            setup::claude_code_started(&mut command, &place.path("home"), provider);
        }
        Agent::Codex => setup::codex_started(&mut command),
        Agent::OpenCode => setup::opencode_started(&mut command),
    }
    Running { child: command.spawn().unwrap(), output }
}

impl Running {
    fn finish(&mut self, name: &str) {
        let deadline = Instant::now() + AGENT_MAX;
        let ended = loop {
            if let Some(ended) = self.child.try_wait().unwrap() {
                break ended;
            }
            assert!(Instant::now() < deadline, "{name} does not end: {}", self.words());
            std::thread::park_timeout(Duration::from_millis(50));
        };
        assert!(ended.success(), "{name}: {ended:?}: {}", self.words());
    }

    fn words(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.output).unwrap_or_default()).into_owned()
    }
}

/// No test leaves an agent behind, also if it fails.
impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
