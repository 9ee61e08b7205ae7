//! `ironcurtain servers test`: do the servers start, and what do they offer?
//!
//! Each is really started, in a place that is made for the moment. Nothing is trusted by that.

use std::path::PathBuf;
use std::sync::Arc;

use ic_backend::launch::Recipe;
use ic_backend::probe::{ProbeError, Probed};
use ic_home::{Clock as _, Environment, SystemClock};
use ic_inventory::pins::{Pins, PinsFile};
use ic_inventory::servers_file::{ServerConfig, ServersFile, Start};
use ic_inventory::tool::Tool;
use ic_opening::policy::{As, NoSandbox, Wanted};
use ic_policy::{Policy, SandboxKind};
use ic_types::ServerName;
use serde::Serialize;

use super::{find, list, load};
use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::Failure;
use crate::judge;
use crate::screen::{Screen, visible};
use crate::trial::Trial;

/// Start servers, list their tools, and end them again
///
/// Says for each how long it took, which tools are withheld because you have not trusted them in this
/// form, which cannot be used, and which the policy does not know. This trusts nothing and calls no
/// tool. Exits with 0 if all servers work and with 1 if not.
#[derive(Debug, clap::Args)]
pub(crate) struct TestArgs {
    /// Servers to test; all if left out
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Policy that is to know the tools: `default`, `coding`, `readonly`, one of your own by name, or a
    /// directory
    ///
    /// Without it, the one that `ironcurtain policy use` chose, or the built-in `default`.
    #[arg(long, value_name = "NAME|DIR")]
    policy: Option<PathBuf>,
    /// Servers file; without it that of the IronCurtain home, or the built-in servers
    #[arg(long, value_name = "FILE")]
    servers: Option<PathBuf>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// How one server came out.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    name: String,
    result: Ended,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<ShownServer>,
    tools: Vec<ShownTool>,
    unusable: Vec<String>,
}

/// Whether a server works.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Ended {
    Works,
    Failed,
}

/// What a server says of itself.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownServer {
    name: String,
    version: String,
    protocol: &'static str,
    start_ms: u64,
    /// What held it.
    confinement: String,
}

/// One tool.
#[derive(Debug, Serialize)]
struct ShownTool {
    name: String,
    /// Why it is withheld, if it is.
    withheld: Option<String>,
    policy: Known,
    notes: Vec<String>,
}

/// What the policy knows of a tool.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Known {
    Annotated,
    Draft,
    Unknown,
}

/// Runs the command.
pub(crate) fn run(
    args: &TestArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = home(environment)?;
    let servers = load(args.servers.as_deref(), environment)?;
    let chosen = chosen(&args.names, &servers)?;
    let file = PinsFile::of(&home);
    let pins = file.read()?;
    home.prepare()?;
    let trial = Trial::new_in(&home.root())?;
    let sandbox = environment.absolute(&trial.sandbox())?;
    let wanted = Wanted {
        policy: args.policy.clone(),
        sandbox: Some((sandbox, SandboxKind::Session)),
        protected: Vec::new(),
        servers: args.servers.clone(),
    };
    let holding = trial.holding(&home, environment)?.or_refuse()?;
    let how = As { held: holding.confinement, ..As::IS };
    let loaded = judge::load_as(&wanted, NoSandbox::None, how, environment, screen)?;
    let judge = Arc::new(loaded.judge);
    let mut outcomes = Vec::new();
    for (name, config) in chosen {
        let recipe = trial.recipe((name, config), &judge, &holding, environment)?;
        let probed = match why_not_started(&recipe, (&file, &pins)) {
            Some(why) => Err(ProbeError::Server(why)),
            None => trial.probe(&recipe, screen),
        };
        let outcome = match probed {
            Ok(probed) => {
                let is_ours = matches!(config.start, Start::Builtin(_));
                let pins = (!is_ours).then_some(&pins);
                let held = match super::runs_here(&config.start) {
                    true => probed.confinement.to_string(),
                    false => "on another machine".to_owned(),
                };
                Outcome::of((name, held), &probed, pins, &judge.policy)
            }
            Err(error) => Outcome::failed(name, &error),
        };
        if !args.json {
            print(&outcome, screen)?;
        }
        outcomes.push(outcome);
    }
    if args.json {
        screen.json(&serde_json::to_string(&outcomes).unwrap_or_default())?;
    }
    let has_failed = outcomes.iter().any(|outcome| outcome.result == Ended::Failed);
    Ok(if has_failed { Exit::Failed } else { Exit::Success })
}

/// Returns the named servers, or all.
fn chosen<'a>(
    names: &[String],
    servers: &'a ServersFile,
) -> Result<Vec<(&'a ServerName, &'a ServerConfig)>, Failure> {
    match names.is_empty() {
        true => Ok(servers.iter().collect()),
        false => names.iter().map(|name| find(name, servers)).collect(),
    }
}

/// SECURITY: what a session would not start is not started here either.
fn why_not_started(recipe: &Recipe, (file, pins): (&PinsFile, &Pins)) -> Option<String> {
    let Recipe { name, config, .. } = recipe;
    if matches!(config.start, Start::Builtin(_)) {
        return None;
    }
    match file.identity(config, SystemClock.now()) {
        Ok((identity, _)) => pins.why_not_started(name, &identity, recipe.is_held()),
        Err(error) => Some(error.to_string()),
    }
}

fn print(outcome: &Outcome, screen: &mut Screen) -> Result<(), Failure> {
    let name = &outcome.name;
    if let Some(problem) = &outcome.problem {
        return screen.line(&format!("{name}: failed: {}", visible(problem)));
    }
    if let Some(ShownServer { name: own, version, protocol, start_ms, confinement }) =
        &outcome.server
    {
        screen.line(&format!(
            "{name}: works: `{}` {}, protocol {protocol}, {} in {start_ms} ms, confined: {confinement}",
            visible(own),
            visible(version),
            list::tools(outcome.tools.len())
        ))?;
    }
    for (known, meaning) in [
        (Known::Unknown, "policy: unknown, every call will be denied"),
        (Known::Draft, "policy: draft, every call needs approval"),
    ] {
        let tools = outcome.tools.iter().filter(|tool| tool.policy == known);
        let names: Vec<&str> = tools.map(|tool| tool.name.as_str()).collect();
        if !names.is_empty() {
            screen.line(&format!("  {meaning}: {}", names.join(", ")))?;
        }
    }
    for tool in &outcome.tools {
        if let Some(why) = &tool.withheld {
            screen.line(&format!("  {}: withheld: {}", tool.name, visible(why)))?;
        }
        for note in &tool.notes {
            screen.line(&format!("  {}: schema: {}", tool.name, visible(note)))?;
        }
    }
    for unusable in &outcome.unusable {
        screen.line(&format!("  {}", visible(unusable)))?;
    }
    Ok(())
}

impl Outcome {
    fn of(
        (name, held): (&ServerName, String),
        probed: &Probed,
        pins: Option<&Pins>,
        policy: &Policy,
    ) -> Self {
        let introduction = &probed.introduction;
        let tool = |tool: &Tool| ShownTool {
            name: tool.name.to_string(),
            withheld: pins.and_then(|pins| why_withheld(name, tool, pins)),
            policy: Known::of(name, tool, policy),
            notes: tool.schema_notes().to_vec(),
        };
        Self {
            name: name.to_string(),
            result: Ended::Works,
            problem: None,
            server: Some(ShownServer {
                name: introduction.name.clone(),
                version: introduction.version.clone(),
                protocol: introduction.protocol.as_str(),
                start_ms: probed.start_ms,
                confinement: held,
            }),
            tools: probed.tools.iter().map(tool).collect(),
            unusable: probed.unusable.iter().map(ToString::to_string).collect(),
        }
    }

    fn failed(name: &ServerName, error: &ProbeError) -> Self {
        Self {
            name: name.to_string(),
            result: Ended::Failed,
            problem: Some(error.to_string()),
            server: None,
            tools: Vec::new(),
            unusable: Vec::new(),
        }
    }
}

/// Returns why a session would withhold the tool.
fn why_withheld(server: &ServerName, tool: &Tool, pins: &Pins) -> Option<String> {
    match pins.get(server) {
        Some(_) => pins.why_withheld(server, tool),
        // The first session would record the server, but not what nobody can see.
        None => tool.hidden_text(),
    }
}

impl Known {
    fn of(server: &ServerName, tool: &Tool, policy: &Policy) -> Self {
        match policy.annotation(server, &tool.name) {
            Some(annotation) if annotation.is_draft() => Self::Draft,
            Some(_) => Self::Annotated,
            None => Self::Unknown,
        }
    }
}
