//! Who thinks in a session: the model that was asked for, the configured one, or the offline model.
//!
//! Nothing is sent here. Without any key the offline model serves, and says so; where the default model's
//! provider has no key and exactly one other has, that one's default model serves, and says so.

use std::sync::Arc;

use ic_home::config::{ApiKeys, BaseUrls, Config, ConfigFile, Layers, Origin, Setting};
use ic_home::environment::ApiKey;
use ic_home::{Environment, Home};
use ic_model::{
    Client, ClientError, ClientSpec, Credential, Model, OfflineModel, Prices, Timeouts,
};
use ic_model::{ModelError, catalogue};
use ic_types::{ModelId, Provider, chain};
use url::Url;

use crate::fault::Fault;

/// The word for the model that needs no key.
pub const OFFLINE: &str = "offline";

/// Who thinks, and what it costs.
#[derive(Debug)]
pub struct Thinker {
    /// The model itself.
    pub model: Arc<dyn Model>,
    /// What it costs.
    pub prices: Prices,
    /// What the person is told about it.
    pub said: String,
    /// Whether the offline model serves because there is no key.
    pub is_without_key: bool,
}

impl Thinker {
    /// Finds who is to think; `wanted` is what stands on the command line.
    pub fn choose(wanted: Option<&str>, environment: &Environment) -> Result<Self, Fault> {
        if wanted == Some(OFFLINE) {
            return Ok(Self::offline(
                "model offline: needs no key, understands plain requests only".to_owned(),
            ));
        }
        let wanted: Option<ModelId> = match wanted {
            Some(text) => Some(text.parse().map_err(|error| {
                Fault::request(format!("`--model {text}`: {error}"))
                    .with_hint("name `provider:model`, such as `openai:gpt-5`, or `offline`")
            })?),
            None => None,
        };
        let home = Home::new(environment.ironcurtain_home()?);
        let file = ConfigFile::read(&home)?;
        let config = Config::load(&Layers { flags: &[], environment, file: &file })?;
        if wanted.is_none() && !is_reachable(&config) {
            let said = "model offline: no key is set, so the built-in offline model is used; it \
                        understands plain requests only";
            return Ok(Self { is_without_key: true, ..Self::offline(said.to_owned()) });
        }
        if wanted.is_none()
            && let Some(other) = only_other(&config)
        {
            let mut thinker = Self::provided(&other, &config, &home, environment)?;
            let (provider, default) = (other.provider(), &config.agent_model);
            thinker.said = format!(
                "{}; `{provider}` is the only provider with a key, so it serves instead of {default}",
                thinker.said
            );
            return Ok(thinker);
        }
        let model = wanted.unwrap_or_else(|| config.agent_model.clone());
        Self::provided(&model, &config, &home, environment)
    }

    fn offline(said: String) -> Self {
        Self { model: Arc::new(OfflineModel), prices: Prices::FREE, said, is_without_key: false }
    }

    fn provided(
        model: &ModelId,
        config: &Config,
        home: &Home,
        environment: &Environment,
    ) -> Result<Self, Fault> {
        let client = client(model.clone(), config, home, environment)?;
        let known = catalogue::find(model);
        let mut said = format!("model {model}");
        if let Some(url) = base_url(&config.base_urls, model.provider()) {
            said.extend([" at ", url.as_str()]);
        }
        if !known.is_priced && model.provider() != Provider::OpenAiCompatible {
            said.push_str(
                "; its price is unknown, so the highest price of its provider is \
                           assumed",
            );
        }
        Ok(Self { model: Arc::new(client), prices: known.prices, said, is_without_key: false })
    }
}

/// The models that the compiler asks; without a key, none.
#[derive(Debug)]
pub struct PolicyThinkers {
    /// Who proposes and judges.
    pub policy: PolicyThinker,
    /// Who does what is easy.
    pub fast: PolicyThinker,
}

/// A model that the compiler asks.
#[derive(Debug)]
pub struct PolicyThinker {
    /// Which one it is, or would be.
    pub id: ModelId,
    /// The model, if it can be asked.
    pub client: Option<Client>,
    /// What it costs.
    pub prices: Prices,
}

impl PolicyThinkers {
    /// Finds them; where the configured provider has no key and exactly one other has, that one's default
    /// model serves.
    pub fn choose(config: &Config, home: &Home, environment: &Environment) -> Result<Self, Fault> {
        let has_key = |model: &ModelId| match model.provider() {
            Provider::OpenAiCompatible => config.base_urls.openai_compatible.is_some(),
            provider => key(&config.api_keys, provider).is_some(),
        };
        let mut with_key =
            Provider::ALL.into_iter().filter(|it| key(&config.api_keys, *it).is_some());
        let other = match (with_key.next(), with_key.next()) {
            (Some(only), None) => default_model(only).and_then(|it| it.parse::<ModelId>().ok()),
            _ => None,
        };
        let chosen = |wanted: &ModelId, instead: Option<&ModelId>| match has_key(wanted) {
            true => wanted.clone(),
            false => instead.unwrap_or(wanted).clone(),
        };
        let thinker = |id: ModelId| -> Result<PolicyThinker, Fault> {
            let client = match has_key(&id) {
                true => Some(client(id.clone(), config, home, environment)?),
                false => None,
            };
            let prices = catalogue::find(&id).prices;
            Ok(PolicyThinker { id, client, prices })
        };
        let policy = chosen(&config.policy_model, other.as_ref());
        // What is easy can be done by the other one, too.
        let fast = chosen(&config.fast_model, Some(&policy));
        Ok(Self { policy: thinker(policy)?, fast: thinker(fast)? })
    }
}

/// Makes the client of a model.
pub fn client(
    model: ModelId,
    config: &Config,
    home: &Home,
    environment: &Environment,
) -> Result<Client, Fault> {
    let provider = model.provider();
    let credential = key(&config.api_keys, provider)
        .map(|key| Credential::new(Arc::clone(key), origin(config, provider, home)));
    let spec = ClientSpec {
        model,
        credential,
        base_url: base_url(&config.base_urls, provider).cloned(),
        network: environment.network(),
        timeouts: Timeouts::USUAL,
    };
    Client::new(spec).map_err(|error| no_client(&error, &config.api_keys))
}

fn no_client(error: &ClientError, keys: &ApiKeys) -> Fault {
    let failure = Fault::machine(chain(error));
    match error {
        ClientError::NoKey(provider) => {
            let mut hint = ModelError::NoKey(*provider).hint().unwrap_or_default();
            for other in Provider::ALL {
                if key(keys, other).is_some() {
                    let other = other.as_str();
                    hint.extend(["; there is one for `", other, "`, so `--model ", other]);
                    hint.push_str(":NAME` works, too");
                }
            }
            failure.with_hint(hint)
        }
        ClientError::NoBaseUrl => failure.with_hint(
            "set `OPENAI_COMPATIBLE_BASE_URL`, or use `ironcurtain config set \
             baseUrls.openaiCompatible http://127.0.0.1:8080/v1`",
        ),
        ClientError::Http(_) => failure,
    }
}

/// Returns the default model of the only provider with a key, if that is not the default model's and nobody
/// chose a model.
fn only_other(config: &Config) -> Option<ModelId> {
    let chosen = config.settings().iter().find(|it| it.name == "agentModelId")?;
    let default = config.agent_model.provider();
    if chosen.origin() != Origin::Default || key(&config.api_keys, default).is_some() {
        return None;
    }
    let mut others = Provider::ALL.into_iter().filter_map(|provider| {
        key(&config.api_keys, provider)?;
        default_model(provider)
    });
    match (others.next(), others.next()) {
        (Some(only), None) => only.parse().ok(),
        _ => None,
    }
}

/// Returns the model of a provider that serves where nobody names one; a server of one's own has none.
fn default_model(provider: Provider) -> Option<&'static str> {
    match provider {
        Provider::Anthropic => Some("anthropic:claude-sonnet-4-6"),
        Provider::OpenAi => Some("openai:gpt-5"),
        Provider::Google => Some("google:gemini-2.5-pro"),
        Provider::OpenAiCompatible => None,
    }
}

/// Returns whether anybody could be asked: there is a key, or a server that needs none is configured.
fn is_reachable(config: &Config) -> bool {
    Provider::ALL.into_iter().any(|provider| key(&config.api_keys, provider).is_some())
        || config.agent_model.provider() == Provider::OpenAiCompatible
            && config.base_urls.openai_compatible.is_some()
}

/// Returns the key of a provider.
pub fn key(keys: &ApiKeys, provider: Provider) -> Option<&ApiKey> {
    match provider {
        Provider::Anthropic => keys.anthropic.as_ref(),
        Provider::OpenAi => keys.openai.as_ref(),
        Provider::Google => keys.google.as_ref(),
        Provider::OpenAiCompatible => keys.openai_compatible.as_ref(),
    }
}

/// Returns where a provider is asked, if that is configured.
pub fn base_url(urls: &BaseUrls, provider: Provider) -> Option<&Url> {
    match provider {
        Provider::Anthropic => urls.anthropic.as_ref(),
        Provider::OpenAi => urls.openai.as_ref(),
        Provider::Google => urls.google.as_ref(),
        Provider::OpenAiCompatible => urls.openai_compatible.as_ref(),
    }
}

/// Says where the key of a provider comes from.
fn origin(config: &Config, provider: Provider, home: &Home) -> String {
    let name = match provider {
        Provider::Anthropic => "apiKey",
        Provider::OpenAi => "openaiApiKey",
        Provider::Google => "googleApiKey",
        Provider::OpenAiCompatible => "openaiCompatibleApiKey",
    };
    let setting = config.settings().iter().find(|it| it.name == name);
    match setting.map(Setting::origin) {
        Some(Origin::Environment(variable)) => format!("the variable `{variable}`"),
        Some(Origin::File | Origin::Flag(_) | Origin::Default) | None => {
            format!("`{name}` of {}", home.config().display())
        }
    }
}
