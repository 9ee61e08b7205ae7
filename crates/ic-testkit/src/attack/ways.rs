//! The ways by which an agent's calls go: the proxy alone, with a server that is not ours, or a script.
//!
//! All under the policy `coding`, in the user's workspace, and nobody approves anything.

#![expect(clippy::expect_used, reason = "test support: a failure is a failed test")]

use serde_json::{Value, json};

use super::calls::{Agent, Call};
use super::dice::Dice;
use super::tally::SERVED;
use super::world::World;
use crate::Proxy;

/// How much of an answer is kept.
const ANSWER_CHARS: usize = 160;
/// How a script prints an answer.
const SAID: &str = "said:";

/// By which way calls go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Way {
    /// To the built-in servers.
    Proxy,
    /// Half of the calls of files to another server that may write in the workspace.
    Helper,
    /// From a script in the code sandbox.
    Script,
}

impl Way {
    /// Draws the way of `seed`.
    pub fn of(seed: u64) -> Self {
        match Dice::new(seed.rotate_left(17)).below(100) {
            0..12 => Self::Helper,
            12..24 => Self::Script,
            _ => Self::Proxy,
        }
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Proxy => "built-in servers",
            Self::Helper => "with a third-party server",
            Self::Script => "from a script",
        }
    }

    /// Writes what has to be there before anything is watched.
    pub fn prepare(self, world: &World) {
        match self {
            Self::Proxy => {}
            Self::Helper => write_helper(world),
            Self::Script => {
                world.place.write("script.js", "");
            }
        }
    }

    /// Makes the calls of `agent`, or those that are given; returns them and how each was answered.
    pub fn play(self, world: &World, calls: Calls<'_>) -> Vec<(Call, String)> {
        let workspace = world.workspace().to_string_lossy().into_owned();
        let [policy, servers] = ["policy", "servers.json"].map(|name| world.place.path(name));
        let flags: &[&str] = match self {
            Self::Script => return from_a_script(world, &workspace, calls),
            Self::Proxy => &["--policy", "coding", "--workspace", &workspace],
            Self::Helper => &[
                "--policy",
                policy.to_str().expect("text"),
                "--servers",
                servers.to_str().expect("text"),
                "--workspace",
                &workspace,
            ],
        };
        let mut proxy = Proxy::start(&world.place, flags);
        proxy.initialize();
        let answers = calls.each(world, |call| ask(&mut proxy, call));
        proxy.finish();
        answers
    }
}

/// Where calls come from.
#[derive(Debug)]
pub enum Calls<'a> {
    /// Drawn one after the other.
    Drawn(Agent),
    /// Given beforehand.
    Given(&'a [Call]),
}

impl Calls<'_> {
    /// Makes each call with `make`; returns them and the answers.
    pub fn each(self, world: &World, mut make: impl FnMut(&Call) -> String) -> Vec<(Call, String)> {
        let mut answered = Vec::new();
        match self {
            Self::Drawn(mut agent) => {
                while let Some(call) = agent.next(world) {
                    let answer = make(&call);
                    agent.learn(&call, &answer);
                    answered.push((call, answer));
                }
            }
            Self::Given(calls) => {
                answered.extend(calls.iter().map(|call| (call.clone(), make(call))));
            }
        }
        answered
    }
}

/// Makes calls to a proxy that was started with `flags`; returns [`SERVED`], or how each was refused.
pub fn through_the_proxy(world: &World, flags: &[&str], calls: &[Call]) -> Vec<String> {
    let mut proxy = Proxy::start(&world.place, flags);
    proxy.initialize();
    let answers = calls.iter().map(|call| ask(&mut proxy, call)).collect();
    proxy.finish();
    answers
}

fn ask(proxy: &mut Proxy, call: &Call) -> String {
    let answer = proxy.call(call.tool, &call.arguments).json();
    let is_bad = answer.pointer("/result/isError").unwrap_or(&Value::Null) == &json!(true);
    let text = answer.pointer("/result/content/0/text").or(answer.pointer("/error/message"));
    let text = text.and_then(Value::as_str).unwrap_or_default();
    match answer.get("result").is_some() && !is_bad {
        true => SERVED.to_owned(),
        false => text.lines().next().unwrap_or_default().chars().take(ANSWER_CHARS).collect(),
    }
}

/// Makes the calls in one script; what it does next depends on nothing that it saw.
fn from_a_script(world: &World, workspace: &str, calls: Calls<'_>) -> Vec<(Call, String)> {
    let calls: Vec<Call> =
        calls.each(world, |_| String::new()).into_iter().map(|(call, _)| call).collect();
    let mut script = format!(
        "function said(f) {{ try {{ f(); return '{SERVED}'; }} catch (e) {{ return String(e.message); }} }}\n"
    );
    for call in &calls {
        let tool = call.tool.replace("__", ".");
        let line = format!(
            "console.log('{SAID}' + JSON.stringify(said(() => {tool}({}))));\n",
            call.arguments
        );
        script.push_str(&line);
    }
    world.place.write("script.js", script);
    let words = ["run", "--policy", "coding", "--workspace", workspace, "script.js"];
    let output = world.place.run(words);
    world.place.write("script.js", "");
    let said: Vec<String> = output
        .stdout
        .lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix(SAID)?).ok())
        .map(|said: String| said.lines().next().unwrap_or_default().to_owned())
        .map(|said| said.chars().take(ANSWER_CHARS).collect())
        .collect();
    assert_eq!(said.len(), calls.len(), "{} {}", output.stdout, output.stderr);
    calls.into_iter().zip(said).collect()
}

/// Writes a policy like `coding` that allows every call of `helper`, and the servers with it.
fn write_helper(world: &World) {
    let policy = include_str!("../../../ic-policy/policies/coding/compiled-policy.json");
    let annotations = include_str!("../../../ic-policy/policies/tool-annotations.json");
    let mut policy: Value = serde_json::from_str(policy).expect("a policy");
    let mut annotations: Value = serde_json::from_str(annotations).expect("annotations");
    let rule = json!({"name": "allow-the-helper", "if": {"server": ["helper"]}, "then": "allow",
        "reason": "a test"});
    let rules = policy.get_mut("rules").and_then(Value::as_array_mut).expect("rules");
    rules.insert(0, rule);
    let tool = |name: &str, arguments: &[&str]| {
        let roles = arguments.iter().map(|name| ((*name).to_owned(), json!(["none"])));
        json!({"toolName": name, "args": Value::Object(roles.collect())})
    };
    let tools = json!({"tools": [
        tool("write_file", &["path", "content"]),
        tool("edit_file", &["path", "edits"]),
        tool("create_directory", &["path"]),
        tool("move_file", &["source", "destination"]),
        tool("delete_file", &["path"]),
        tool("make_link", &["path", "target"]),
    ]});
    let servers = annotations.get_mut("servers").and_then(Value::as_object_mut).expect("servers");
    servers.insert("helper".to_owned(), tools);
    let script = world.place.write("helper.py", include_str!("helper.py"));
    let servers = json!({
        "filesystem": {"builtin": "filesystem"},
        "git": {"builtin": "git"},
        "helper": {
            "command": "python3",
            "args": ["-S", "-B", script],
            "contained": true,
            "sandbox": {"filesystem": {"allowRead": [script]}},
        },
    });
    world.place.write("policy/compiled-policy.json", policy.to_string());
    world.place.write("policy/tool-annotations.json", annotations.to_string());
    world.place.write("servers.json", servers.to_string());
}
