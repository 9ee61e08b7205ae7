//! Do the providers accept the keys, and have they the models?
//!
//! Each is asked which models it has, which costs nothing. Nothing is completed.

use std::time::Duration;

use ic_home::config::{Config, ConfigFile, Layers};
use ic_model::{Client, ModelError};
use ic_opening::thinker;
use ic_types::{ModelId, Provider};

use super::{Check, Patient};

const MODELS: &str = "models";

/// How long a provider may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Asks every provider that could be asked.
pub(super) fn check(patient: &Patient<'_>, checks: &mut Vec<Check>) {
    let environment = patient.environment;
    let config = ConfigFile::read(&patient.home)
        .and_then(|file| Config::load(&Layers { flags: &[], environment, file: &file }));
    // What is wrong with it was said already.
    let Ok(config) = config else { return };
    let wanted = wanted(&config);
    if wanted.is_empty() {
        let detail = "no key of a provider is set, so the offline model serves";
        checks.push(Check::info(MODELS, detail));
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else {
        checks.push(Check::not_tried(MODELS, "the machine does not let us"));
        return;
    };
    for model in wanted {
        let name = format!("model {}", model.provider());
        let client = thinker::client(model.clone(), &config, &patient.home, environment);
        checks.push(match client {
            Ok(client) => runtime.block_on(ask(name, &model, &client)),
            Err(fault) => Check::of_failure(name, &fault.into(), "see `ironcurtain config list`"),
        });
    }
    // A thread that waits for a name to be looked up must not keep us.
    runtime.shutdown_background();
}

/// Returns a model of every provider that there is a key for; the configured one, if it is its.
fn wanted(config: &Config) -> Vec<ModelId> {
    let is_reachable = |provider: &Provider| match provider {
        Provider::OpenAiCompatible => config.base_urls.openai_compatible.is_some(),
        Provider::Anthropic | Provider::OpenAi | Provider::Google => {
            thinker::key(&config.api_keys, *provider).is_some()
        }
    };
    let model = |provider: Provider| {
        let configured = [&config.agent_model, &config.policy_model, &config.fast_model];
        let configured = configured.into_iter().find(|it| it.provider() == provider).cloned();
        configured.or_else(|| format!("{provider}:any").parse().ok())
    };
    Provider::ALL.into_iter().filter(is_reachable).filter_map(model).collect()
}

async fn ask(name: String, model: &ModelId, client: &Client) -> Check {
    let provider = model.provider();
    let listed = match tokio::time::timeout(PATIENCE, client.models()).await {
        Ok(listed) => listed,
        Err(_) => Err(ModelError::Network(format!("nothing came within {} s", PATIENCE.as_secs()))),
    };
    match listed {
        Ok(models) => {
            let detail = format!("`{provider}` takes the key, and has {} models", models.len());
            let name_of_model = model.model();
            let is_listed = models.iter().any(|it| it.starts_with(name_of_model));
            if name_of_model == "any" || is_listed {
                return Check::ok(name, detail);
            }
            let detail = format!("{detail}; `{name_of_model}` is not among them");
            Check::warning(
                name,
                detail,
                "name another one with `ironcurtain config set agentModelId`",
            )
        }
        // Whoever is not connected has no wrong key for it.
        Err(error @ ModelError::Network(_)) => {
            let remedy = error.hint().unwrap_or_default();
            Check::warning(name, format!("not tried: {error}"), remedy)
        }
        Err(error) => {
            let remedy = error.hint().unwrap_or_default();
            Check::failed(name, error.to_string(), remedy)
        }
    }
}
