//! OpenCode, tried with the pinned version.
//!
//! Its settings come in a variable that counts more than any file, so that nothing the agent leaves in its
//! home changes them; `opencode.json` of the workspace is not read. It has no switch for plugins in the
//! workspace's `.opencode`: they run, in the cage, as everything else that the agent starts.

use ic_types::{Json, JsonLimits, Object, Provider};

use crate::fault::Fault;
use crate::{
    Adapter, InterfaceCommand, MCP_SERVER, Package, Said, SetupFile, Stage, TurnCommand, TurnEnd,
};

/// The name of the file with the orientation.
const ORIENTATION_FILE: &str = "orientation.md";
/// What it may do by itself, and what it may not: nobody could answer its own questions.
const PERMISSIONS: [(&str, &str); 7] = [
    ("edit", "allow"),
    ("bash", "allow"),
    ("external_directory", "allow"),
    ("doom_loop", "allow"),
    ("webfetch", "deny"),
    ("websearch", "deny"),
    ("question", "deny"),
];

/// OpenCode.
#[derive(Debug)]
pub struct OpenCode;

impl Adapter for OpenCode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn title(&self) -> &'static str {
        "OpenCode"
    }

    fn package(&self) -> Package {
        Package { name: "opencode-linux-x64", version: "1.18.33", program: "bin/opencode" }
    }

    fn providers(&self) -> &'static [Provider] {
        &[Provider::Anthropic, Provider::OpenAi, Provider::Google]
    }

    fn setup(&self, stage: &Stage<'_>) -> Vec<SetupFile> {
        vec![SetupFile::shown(ORIENTATION_FILE, stage.orientation.to_owned())]
    }

    fn turn(&self, stage: &Stage<'_>, message: &str) -> TurnCommand {
        // In a new home it begins a conversation. A message among the arguments would be quoted once more.
        let words = ["run", "--pure", "--continue", "--format", "json"];
        let mut arguments = words.map(str::to_owned).to_vec();
        if let Some(model) = stage.model {
            arguments.extend(["--model".to_owned(), format!("{}/{model}", stage.provider)]);
        }
        TurnCommand { arguments, environment: environment(stage), input: message.to_owned() }
    }

    fn has_interface(&self) -> bool {
        true
    }

    fn interface(&self, stage: &Stage<'_>, task: Option<&str>) -> Option<InterfaceCommand> {
        let mut arguments = vec!["--pure".to_owned()];
        if stage.goes_on {
            arguments.push("--continue".to_owned());
        }
        if let Some(model) = stage.model {
            arguments.push(format!("--model={}/{model}", stage.provider));
        }
        if let Some(task) = task {
            // One word, which may begin like an option.
            arguments.push(format!("--prompt={task}"));
        }
        Some(InterfaceCommand { arguments, environment: environment(stage) })
    }

    fn read(&self, line: &str) -> Vec<Said> {
        let Ok(Json::Object(event)) = Json::parse(line.trim().as_bytes(), JsonLimits::CALL) else {
            return Vec::new();
        };
        let part = object(&event, "part");
        let of_part = |key: &str| part.and_then(|it| text(it, key));
        match text(&event, "type") {
            Some("text") => {
                of_part("text").map(|it| Said::Text(it.to_owned())).into_iter().collect()
            }
            Some("tool_use") => {
                // What ours do is seen where they are judged.
                let own = of_part("tool").filter(|it| !it.starts_with(&format!("{MCP_SERVER}_")));
                own.map(|it| Said::UsesTool(it.to_owned())).into_iter().collect()
            }
            // The turn goes on after a step that wants tools. It tells what each step took, but not the turn.
            Some("step_finish") if of_part("reason") != Some("tool-calls") => {
                vec![Said::Ended(TurnEnd { outcome: Ok(None), usage: None })]
            }
            Some("error") => vec![Said::Failed(fault(&event))],
            _ => Vec::new(),
        }
    }
}

fn environment(stage: &Stage<'_>) -> Vec<(&'static str, String)> {
    vec![
        ("OPENCODE_CONFIG_CONTENT", config(stage)),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1".to_owned()),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
        ("OPENCODE_DISABLE_PROJECT_CONFIG", "1".to_owned()),
    ]
}

/// Returns its settings.
fn config(stage: &Stage<'_>) -> String {
    let mut server = Object::new();
    server.insert("type", "local");
    let command = stage.bridge.iter().map(|it| Json::from(it.as_str()));
    server.insert("command", command.collect::<Vec<_>>());
    server.insert("enabled", true);
    server.insert("timeout", u64::try_from(stage.call_max.as_millis()).unwrap_or(u64::MAX));
    let mut servers = Object::new();
    servers.insert(MCP_SERVER, server);
    let mut permissions = Object::new();
    for (what, effect) in PERMISSIONS {
        permissions.insert(what, effect);
    }
    let mut config = Object::new();
    config.insert("autoupdate", false);
    config.insert("share", "disabled");
    let orientation = stage.shown_file(ORIENTATION_FILE);
    config.insert("instructions", vec![Json::from(orientation.as_str())]);
    config.insert("mcp", servers);
    config.insert("permission", permissions);
    Json::Object(config).to_string()
}

/// Reads why there is no answer.
fn fault(event: &Object) -> Fault {
    let error = object(event, "error");
    let data = error.and_then(|it| object(it, "data"));
    let status = match data.and_then(|it| it.get("statusCode")) {
        Some(Json::Number(number)) => number.as_str().parse().ok(),
        _ => None,
    };
    let message = data.and_then(|it| text(it, "message"));
    let name = || error.and_then(|it| text(it, "name"));
    let message = message.or_else(name).unwrap_or("the agent gave no reason");
    match status {
        Some(status) => Fault::of_status(Some(status), message),
        None => Fault::of_message(message),
    }
}

fn object<'a>(object: &'a Object, key: &str) -> Option<&'a Object> {
    match object.get(key) {
        Some(Json::Object(inner)) => Some(inner),
        _ => None,
    }
}

fn text<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Json::as_str)
}

#[cfg(test)]
mod tests;
