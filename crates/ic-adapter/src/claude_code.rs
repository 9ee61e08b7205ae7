//! Claude Code, tried with the pinned version.
//!
//! Its settings of the workspace are not read (`--setting-sources user`, `--strict-mcp-config`), and its
//! tools that reach the network are off. MCP servers are taken from `--mcp-config` alone.

use ic_types::{Json, JsonLimits, Object, Provider};

use crate::fault::Fault;
use crate::{
    Adapter, InterfaceCommand, MCP_SERVER, Package, Reported, Said, SetupFile, Stage, TurnCommand,
    TurnEnd,
};

/// The name of the file with our MCP server.
const MCP_FILE: &str = "mcp.json";
/// The name of the file with the orientation.
const ORIENTATION_FILE: &str = "orientation.md";
/// How many characters at the end of a key it remembers as approved.
const KEY_TAIL: usize = 20;

/// Claude Code.
#[derive(Debug)]
pub struct ClaudeCode;

impl Adapter for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn title(&self) -> &'static str {
        "Claude Code"
    }

    fn package(&self) -> Package {
        Package {
            name: "@anthropic-ai/claude-code-linux-x64",
            version: "2.1.325",
            program: "claude",
        }
    }

    fn providers(&self) -> &'static [Provider] {
        &[Provider::Anthropic]
    }

    fn setup(&self, stage: &Stage<'_>) -> Vec<SetupFile> {
        vec![
            SetupFile::shown(MCP_FILE, mcp_config(stage.bridge)),
            SetupFile::shown(ORIENTATION_FILE, stage.orientation.to_owned()),
            SetupFile::in_new_home(".claude.json", answered(stage)),
            SetupFile::in_new_home(".claude/settings.json", settings()),
        ]
    }

    fn turn(&self, stage: &Stage<'_>, message: &str) -> TurnCommand {
        let mut arguments =
            // In a new home it begins a conversation.
            ["--continue", "--output-format", "stream-json", "--verbose"].map(str::to_owned).to_vec();
        arguments.extend(usual_arguments(stage));
        arguments.push("-p".to_owned());
        TurnCommand { arguments, environment: environment(stage), input: message.to_owned() }
    }

    fn has_interface(&self) -> bool {
        true
    }

    fn interface(&self, stage: &Stage<'_>, task: Option<&str>) -> Option<InterfaceCommand> {
        let mut arguments = Vec::new();
        if stage.goes_on {
            // Its interface ends at once where there is nothing to go on with.
            arguments.push("--continue".to_owned());
        }
        arguments.extend(usual_arguments(stage));
        if let Some(task) = task {
            // Some of its options take all words that follow, and a task may begin like an option.
            arguments.extend(["--".to_owned(), task.to_owned()]);
        }
        Some(InterfaceCommand { arguments, environment: environment(stage) })
    }

    fn read(&self, line: &str) -> Vec<Said> {
        let Ok(Json::Object(event)) = Json::parse(line.trim().as_bytes(), JsonLimits::CALL) else {
            return Vec::new();
        };
        match text(&event, "type") {
            // A fault is told in the words of a model as well; it is the end of the turn that counts.
            Some("assistant") if text(&event, "error").is_some() => Vec::new(),
            Some("assistant") => said(&event),
            Some("result") => vec![Said::Ended(ended(&event))],
            _ => Vec::new(),
        }
    }
}

/// Returns the arguments that a turn and the interface have in common.
fn usual_arguments(stage: &Stage<'_>) -> Vec<String> {
    let (mcp, orientation) = (stage.shown_file(MCP_FILE), stage.shown_file(ORIENTATION_FILE));
    let mut arguments = [
        "--dangerously-skip-permissions",
        "--setting-sources",
        "user",
        "--mcp-config",
        &mcp,
        "--strict-mcp-config",
        "--disallowedTools",
        "WebSearch,WebFetch",
        "--append-system-prompt-file",
        &orientation,
    ]
    .map(str::to_owned)
    .to_vec();
    if let Some(model) = stage.model {
        arguments.extend(["--model".to_owned(), model.to_owned()]);
    }
    arguments
}

fn environment(stage: &Stage<'_>) -> Vec<(&'static str, String)> {
    vec![
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
        // Else the model has to look for our tools before it can use them.
        ("ENABLE_TOOL_SEARCH", "false".to_owned()),
        // It refuses to skip its own questions as root; in the cage ours are the ones that count.
        ("IS_SANDBOX", "1".to_owned()),
        ("MCP_TOOL_TIMEOUT", stage.call_max.as_millis().to_string()),
    ]
}

fn mcp_config(bridge: &[String]) -> String {
    let mut server = Object::new();
    server.insert("type", "stdio");
    server.insert("command", bridge.first().map_or("", String::as_str));
    let arguments = bridge.iter().skip(1).map(|it| Json::from(it.as_str()));
    server.insert("args", arguments.collect::<Vec<_>>());
    let mut servers = Object::new();
    servers.insert(MCP_SERVER, server);
    let mut config = Object::new();
    config.insert("mcpServers", servers);
    Json::Object(config).to_string()
}

/// Answers what it would ask at its first start.
fn answered(stage: &Stage<'_>) -> String {
    let mut project = Object::new();
    project.insert("hasTrustDialogAccepted", true);
    let mut projects = Object::new();
    projects.insert(stage.workspace, project);
    let n_chars = stage.fake_key.chars().count();
    let tail: String = stage.fake_key.chars().skip(n_chars.saturating_sub(KEY_TAIL)).collect();
    let mut keys = Object::new();
    keys.insert("approved", vec![Json::from(tail.as_str())]);
    let mut config = Object::new();
    config.insert("hasCompletedOnboarding", true);
    config.insert("projects", projects);
    config.insert("customApiKeyResponses", keys);
    Json::Object(config).to_string()
}

fn settings() -> String {
    let mut settings = Object::new();
    settings.insert("skipDangerousModePermissionPrompt", true);
    Json::Object(settings).to_string()
}

/// Reads what the model said in one step.
fn said(event: &Object) -> Vec<Said> {
    let Some(Json::Object(message)) = event.get("message") else { return Vec::new() };
    let Some(Json::Array(blocks)) = message.get("content") else { return Vec::new() };
    let block = |block: &Json| {
        let Json::Object(block) = block else { return None };
        match text(block, "type")? {
            "text" => text(block, "text").map(|it| Said::Text(it.to_owned())),
            "tool_use" => {
                let name = text(block, "name")?;
                // Ours are seen where they are judged.
                let is_ours = name.starts_with("mcp__");
                (!is_ours).then(|| Said::UsesTool(name.to_owned()))
            }
            _ => None,
        }
    };
    blocks.iter().filter_map(block).collect()
}

/// Reads how the turn ended.
fn ended(event: &Object) -> TurnEnd {
    let result = text(event, "result").unwrap_or_default();
    let is_error = matches!(event.get("is_error"), Some(Json::Bool(true)));
    let outcome = match (is_error, text(event, "subtype")) {
        (false, Some("success")) => Ok(Some(result.to_owned())),
        (_, subtype) if result.is_empty() => {
            Err(Fault::of_message(subtype.unwrap_or("the agent gave no reason")))
        }
        (_, _) => {
            let status = number(event.get("api_error_status"));
            let status = status.and_then(|it| u16::try_from(it).ok());
            Err(Fault::of_status(status, result))
        }
    };
    TurnEnd { outcome, usage: usage(event) }
}

fn usage(event: &Object) -> Option<Reported> {
    let Some(Json::Object(usage)) = event.get("usage") else { return None };
    let count = |key: &str| number(usage.get(key)).unwrap_or(0);
    let prompt = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
    let cost_usd = match event.get("total_cost_usd") {
        Some(Json::Number(number)) => number.as_str().parse().ok(),
        _ => None,
    };
    Some(Reported {
        prompt: prompt.iter().map(|key| count(key)).sum(),
        completion: count("output_tokens"),
        cost_usd,
    })
}

fn number(json: Option<&Json>) -> Option<u64> {
    match json? {
        Json::Number(number) => number.as_str().parse().ok(),
        _ => None,
    }
}

fn text<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Json::as_str)
}

#[cfg(test)]
mod tests;
