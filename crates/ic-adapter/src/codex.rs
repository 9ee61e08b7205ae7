//! Codex, tried with the pinned version.
//!
//! All settings are arguments, so that nothing the agent leaves in its home changes them. A provider of its
//! own keeps it from looking elsewhere first, and `required` makes it wait for our MCP server. Its own
//! sandbox is off: it does not work inside a cage, and the cage holds more.

use ic_types::{Json, JsonLimits, Object, Provider};

use crate::fault::Fault;
use crate::{
    Adapter, InterfaceCommand, MCP_SERVER, Package, Reported, Said, SetupFile, Stage, TurnCommand,
    TurnEnd,
};

/// Codex.
#[derive(Debug)]
pub struct Codex;

impl Adapter for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn title(&self) -> &'static str {
        "Codex"
    }

    fn package(&self) -> Package {
        Package {
            name: "@openai/codex",
            version: "0.166.0-linux-x64",
            program: "vendor/x86_64-unknown-linux-musl/bin/codex",
        }
    }

    fn providers(&self) -> &'static [Provider] {
        &[Provider::OpenAi]
    }

    fn setup(&self, _stage: &Stage<'_>) -> Vec<SetupFile> {
        Vec::new()
    }

    fn turn(&self, stage: &Stage<'_>, message: &str) -> TurnCommand {
        let mut arguments = [
            "exec",
            "--json",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
        ]
        .map(str::to_owned)
        .to_vec();
        for (key, value) in settings(stage) {
            arguments.extend(["-c".to_owned(), format!("{key}={value}")]);
        }
        // In a new home it begins a conversation; the message comes from standard input.
        arguments.extend(["resume", "--last", "-"].map(str::to_owned));
        TurnCommand { arguments, environment: Vec::new(), input: message.to_owned() }
    }

    fn has_interface(&self) -> bool {
        true
    }

    fn interface(&self, stage: &Stage<'_>, task: Option<&str>) -> Option<InterfaceCommand> {
        let goes_on: &[&str] = if stage.goes_on { &["resume", "--last"] } else { &[] };
        // What serves several interfaces is another program, which is not there.
        let usual = ["--no-daemon", "--dangerously-bypass-approvals-and-sandbox"];
        let mut arguments: Vec<String> =
            goes_on.iter().chain(&usual).map(|it| (*it).to_owned()).collect();
        for (key, value) in settings(stage) {
            arguments.extend(["-c".to_owned(), format!("{key}={value}")]);
        }
        if let Some(task) = task {
            // A task may begin like an option.
            arguments.extend(["--".to_owned(), task.to_owned()]);
        }
        Some(InterfaceCommand { arguments, environment: Vec::new() })
    }

    fn read(&self, line: &str) -> Vec<Said> {
        let Ok(Json::Object(event)) = Json::parse(line.trim().as_bytes(), JsonLimits::CALL) else {
            return Vec::new();
        };
        match text(&event, "type") {
            Some("item.started" | "item.completed") => item(&event).into_iter().collect(),
            Some("turn.completed") => {
                vec![Said::Ended(TurnEnd { outcome: Ok(None), usage: usage(&event) })]
            }
            Some("turn.failed") => {
                let message = match event.get("error") {
                    Some(Json::Object(error)) => text(error, "message"),
                    _ => None,
                };
                let fault = Fault::of_message(message.unwrap_or("the agent gave no reason"));
                vec![Said::Ended(TurnEnd { outcome: Err(fault), usage: None })]
            }
            _ => Vec::new(),
        }
    }
}

/// Returns its settings, each with a value of TOML.
fn settings(stage: &Stage<'_>) -> Vec<(String, String)> {
    let server = |key: &str| format!("mcp_servers.{MCP_SERVER}.{key}");
    let gate = |key: &str| format!("model_providers.gate.{key}");
    let arguments: Vec<String> = stage.bridge.iter().skip(1).map(|it| quoted(it)).collect();
    let seconds = stage.call_max.as_secs();
    let mut settings = vec![
        ("model_provider".to_owned(), quoted("gate")),
        (gate("name"), quoted("gate")),
        (gate("base_url"), quoted("https://api.openai.com/v1")),
        (gate("env_key"), quoted("OPENAI_API_KEY")),
        (gate("wire_api"), quoted("responses")),
        (gate("supports_websockets"), "false".to_owned()),
        ("web_search".to_owned(), quoted("disabled")),
        // What the project would have it run and connect to is not obeyed.
        (
            "projects".to_owned(),
            format!("{{{}={{trust_level=\"untrusted\"}}}}", quoted(stage.workspace)),
        ),
        ("analytics.enabled".to_owned(), "false".to_owned()),
        ("check_for_update_on_startup".to_owned(), "false".to_owned()),
        ("developer_instructions".to_owned(), quoted(stage.orientation)),
        (server("command"), quoted(stage.bridge.first().map_or("", String::as_str))),
        (server("args"), format!("[{}]", arguments.join(","))),
        // Else the first request may lack our tools.
        (server("required"), "true".to_owned()),
        (server("tool_timeout_sec"), seconds.to_string()),
    ];
    if let Some(model) = stage.model {
        settings.push(("model".to_owned(), quoted(model)));
    }
    settings
}

/// Writes a text as TOML, which takes every escape that JSON makes of it.
fn quoted(value: &str) -> String {
    let mut written = String::new();
    Json::write_text(&mut written, value);
    written
}

/// Reads something that it did, or said.
fn item(event: &Object) -> Option<Said> {
    let Some(Json::Object(item)) = event.get("item") else { return None };
    let is_over = text(event, "type") == Some("item.completed");
    match text(item, "type")? {
        "agent_message" if is_over => text(item, "text").map(|it| Said::Text(it.to_owned())),
        // What ours do is seen where they are judged.
        "command_execution" | "file_change" if !is_over => {
            text(item, "type").map(|it| Said::UsesTool(it.to_owned()))
        }
        _ => None,
    }
}

fn usage(event: &Object) -> Option<Reported> {
    let Some(Json::Object(usage)) = event.get("usage") else { return None };
    let count = |key: &str| match usage.get(key) {
        Some(Json::Number(number)) => number.as_str().parse().unwrap_or(0),
        _ => 0,
    };
    Some(Reported {
        prompt: count("input_tokens"),
        completion: count("output_tokens"),
        cost_usd: None,
    })
}

fn text<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Json::as_str)
}

#[cfg(test)]
mod tests;
