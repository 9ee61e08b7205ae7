//! Goose, tried with the pinned version.
//!
//! Its settings are in a directory that it cannot write, and hold its own tools for files and commands and
//! our MCP server only. It tells text in pieces as it comes. Faults come as messages like those of the
//! model, but for the model's name, and most such turns end as if nothing had happened.

use ic_types::{Json, JsonLimits, Object, Provider};

use crate::fault::Fault;
use crate::{Adapter, MCP_SERVER, Package, Reported, Said, SetupFile, Stage, TurnCommand, TurnEnd};

/// The name of its conversation, in a home that holds no other.
const CONVERSATION: &str = "ironcurtain";
/// Extensions of its own that are on unless they are switched off: they make web pages, load further
/// extensions, and start helpers.
const SWITCHED_OFF: [&str; 3] = ["apps", "extensionmanager", "summon"];

/// Goose.
#[derive(Debug)]
pub struct Goose;

impl Adapter for Goose {
    fn name(&self) -> &'static str {
        "goose"
    }

    fn title(&self) -> &'static str {
        "Goose"
    }

    fn package(&self) -> Package {
        Package { name: "@aaif/goose-binary-linux-x64", version: "1.52.0", program: "bin/goose" }
    }

    fn providers(&self) -> &'static [Provider] {
        &[Provider::Anthropic, Provider::OpenAi, Provider::Google]
    }

    fn setup(&self, stage: &Stage<'_>) -> Vec<SetupFile> {
        // JSON is YAML, too.
        vec![SetupFile::shown("goose/config.yaml", config(stage))]
    }

    fn turn(&self, stage: &Stage<'_>, message: &str) -> TurnCommand {
        let words = ["run", "--output-format", "stream-json", "--name", CONVERSATION, "--system"];
        let mut arguments = words.map(str::to_owned).to_vec();
        arguments.push(stage.orientation.to_owned());
        if stage.goes_on {
            arguments.push("--resume".to_owned());
        }
        arguments.extend(["--instructions".to_owned(), "-".to_owned()]);
        TurnCommand {
            arguments,
            environment: vec![
                ("GOOSE_DISABLE_KEYRING", "1".to_owned()),
                ("GOOSE_MODE", "auto".to_owned()),
                ("GOOSE_MODEL", stage.model.unwrap_or(usual_model(stage.provider)).to_owned()),
                ("GOOSE_PROVIDER", stage.provider.to_string()),
                ("GOOSE_TELEMETRY_OFF", "1".to_owned()),
                ("XDG_CONFIG_HOME", stage.shown.to_owned()),
            ],
            input: message.to_owned(),
        }
    }

    fn read(&self, line: &str) -> Vec<Said> {
        let Ok(Json::Object(event)) = Json::parse(line.trim().as_bytes(), JsonLimits::CALL) else {
            return Vec::new();
        };
        match text(&event, "type") {
            Some("message") => said(&event),
            Some("complete") => {
                vec![Said::Ended(TurnEnd { outcome: Ok(None), usage: usage(&event) })]
            }
            Some("error") => vec![Said::Failed(fault(text(&event, "error").unwrap_or_default()))],
            _ => Vec::new(),
        }
    }

    fn has_no_conversation(&self, complaint: &str) -> bool {
        complaint.contains("No session found")
    }
}

/// Returns the model that is used where nobody chose one: it has no choice of its own.
fn usual_model(provider: Provider) -> &'static str {
    match provider {
        Provider::Anthropic => "claude-sonnet-4-6",
        Provider::OpenAi | Provider::OpenAiCompatible => "gpt-5",
        Provider::Google => "gemini-2.5-pro",
    }
}

/// Returns its settings.
fn config(stage: &Stage<'_>) -> String {
    let mut ours = extension("stdio", MCP_SERVER, true);
    ours.insert("cmd", stage.bridge.first().map_or("", String::as_str));
    let arguments = stage.bridge.iter().skip(1).map(|it| Json::from(it.as_str()));
    ours.insert("args", arguments.collect::<Vec<_>>());
    ours.insert("timeout", stage.call_max.as_secs());
    let mut extensions = Object::new();
    extensions.insert("developer", extension("platform", "developer", true));
    for name in SWITCHED_OFF {
        extensions.insert(name, extension("platform", name, false));
    }
    extensions.insert(MCP_SERVER, ours);
    let mut config = Object::new();
    config.insert("extensions", extensions);
    Json::Object(config).to_string()
}

fn extension(kind: &str, name: &str, is_on: bool) -> Object {
    let mut extension = Object::new();
    extension.insert("enabled", is_on);
    extension.insert("type", kind);
    extension.insert("name", name);
    extension.insert("description", name);
    extension
}

/// Reads a piece of what the model said, or a tool that it wants.
fn said(event: &Object) -> Vec<Said> {
    let Some(Json::Object(message)) = event.get("message") else { return Vec::new() };
    if text(message, "role") != Some("assistant") {
        return Vec::new();
    }
    let of = text(message, "id").unwrap_or_default();
    let is_of_model = match message.get("metadata") {
        Some(Json::Object(metadata)) => metadata.get("inference").is_some(),
        _ => false,
    };
    let Some(Json::Array(parts)) = message.get("content") else { return Vec::new() };
    let part = |part: &Json| {
        let Json::Object(part) = part else { return None };
        match text(part, "type")? {
            "text" if !is_of_model => text(part, "text").map(|it| Said::Failed(fault(it))),
            "text" => {
                let text = text(part, "text")?.to_owned();
                Some(Said::Piece { of: of.to_owned(), text })
            }
            "toolRequest" => own_tool(part).map(Said::UsesTool),
            _ => None,
        }
    };
    parts.iter().filter_map(part).collect()
}

/// Reads why there is no answer; what it advises afterwards is left out.
fn fault(message: &str) -> Fault {
    let message = message.strip_prefix("Ran into this error: ").unwrap_or(message);
    let message = message.split("\n\n").next().unwrap_or(message);
    Fault::of_message(if message.is_empty() { "the agent gave no reason" } else { message })
}

/// Returns the name of a tool of its own; what ours do is seen where they are judged.
fn own_tool(request: &Object) -> Option<String> {
    let Some(Json::Object(call)) = request.get("toolCall") else { return None };
    let Some(Json::Object(value)) = call.get("value") else { return None };
    let name = text(value, "name")?;
    let is_ours = name.starts_with(&format!("{MCP_SERVER}__"));
    (!is_ours).then(|| name.to_owned())
}

fn usage(event: &Object) -> Option<Reported> {
    let number = |key: &str| match event.get(key) {
        Some(Json::Number(number)) => Some(number.as_str()),
        _ => None,
    };
    Some(Reported {
        prompt: number("input_tokens")?.parse().ok()?,
        completion: number("output_tokens")?.parse().ok()?,
        cost_usd: number("cost_usd").and_then(|it| it.parse().ok()),
    })
}

fn text<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Json::as_str)
}

#[cfg(test)]
mod tests;
