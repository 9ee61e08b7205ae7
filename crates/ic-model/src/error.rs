//! Why a model gave no answer, in the classes that people and programs tell apart.
//!
//! Retries are the business of a provider's client; what arrives here is final for this completion.
//! Words of a provider were shortened before they came here, and do not hold the key that it was sent.

use std::time::Duration;

use ic_types::Provider;

/// A completion that did not come about.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// There is no key for the provider.
    #[error("there is no key for `{0}`")]
    NoKey(Provider),
    /// The provider does not accept the key.
    #[error("`{provider}` does not accept the key")]
    BadKey {
        /// The provider.
        provider: Provider,
        /// Where the key comes from, as a person would say it.
        origin: String,
    },
    /// The account has nothing left to pay with.
    #[error("`{0}` says that the account has no credit left: {1}")]
    NoCredit(Provider, String),
    /// The provider has no such model.
    #[error("`{provider}` has no model `{model}`")]
    UnknownModel {
        /// The provider.
        provider: Provider,
        /// The name that it does not know.
        model: String,
        /// Where it was asked.
        at: String,
    },
    /// The conversation is longer than the model can take in.
    // The sentence is one that people were promised, so it is written as they see it.
    #[error("Context window exceeded. Please start a new session.")]
    ContextExceeded,
    /// The provider has no capacity at the moment.
    #[error("the provider is overloaded")]
    Overloaded,
    /// The provider failed by itself.
    #[error("the provider failed (status {0})")]
    Failing(u16),
    /// Too much was asked in too short a time.
    #[error("the provider limits the rate of requests{}", after(*.retry_after))]
    RateLimited {
        /// When to try again, if the provider said so.
        retry_after: Option<Duration>,
    },
    /// The model declined to answer, or its answer was withheld.
    #[error("the model declined to answer: {0}")]
    Refused(String),
    /// The provider does not take the request, in its own words.
    #[error("the provider rejected the request: {0}")]
    Rejected(String),
    /// The provider could not be reached, or the connection broke before there was an answer.
    #[error("the connection to the provider failed: {0}")]
    Network(String),
    /// Nobody could be sure to talk to the provider.
    #[error("no secure connection to the provider: {0}")]
    Tls(String),
    /// The answer ended in the middle.
    #[error("the provider's answer broke off: {0}")]
    Cut(String),
    /// What came back makes no sense.
    #[error("the provider's answer is not valid: {0}")]
    Protocol(String),
    /// The answer repeats a key where it can be neither masked nor kept.
    #[error("the provider's answer holds one of your keys {0}; nothing of it was kept")]
    HoldsKey(&'static str),
    /// Whoever asked does not want the answer any more.
    #[error("the request was cancelled")]
    Cancelled,
}

impl ModelError {
    /// Changes the words that are not ours.
    #[must_use]
    pub fn map_words(self, change: impl Fn(String) -> String) -> Self {
        match self {
            Self::NoCredit(provider, words) => Self::NoCredit(provider, change(words)),
            Self::Refused(words) => Self::Refused(change(words)),
            Self::Rejected(words) => Self::Rejected(change(words)),
            Self::Network(words) => Self::Network(change(words)),
            Self::Tls(words) => Self::Tls(change(words)),
            Self::Cut(words) => Self::Cut(change(words)),
            Self::Protocol(words) => Self::Protocol(change(words)),
            Self::BadKey { provider, origin } => Self::BadKey { provider, origin: change(origin) },
            Self::UnknownModel { provider, model, at } => {
                Self::UnknownModel { provider, model: change(model), at: change(at) }
            }
            Self::NoKey(_)
            | Self::ContextExceeded
            | Self::Overloaded
            | Self::Failing(_)
            | Self::RateLimited { .. }
            | Self::HoldsKey(_)
            | Self::Cancelled => self,
        }
    }

    /// Says what a person can do about it, if there is something.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoKey(provider) => return Some(how_to_set_a_key(*provider)),
            Self::BadKey { provider, origin } => {
                return Some(format!(
                    "the key came from {origin}; correct it there, or {}",
                    how_to_set_a_key(*provider)
                ));
            }
            Self::UnknownModel { provider, at, .. } => {
                return Some(format!(
                    "name another one with `--model {provider}:NAME` or `ironcurtain config set \
                     agentModelId`; if the name is right, look at `{}`: it was asked at {at}",
                    base_url_key(*provider)
                ));
            }
            Self::NoCredit(..) => {
                "look at the billing page of the provider, or use another model with `--model`"
            }
            Self::ContextExceeded => "what was done is done; nothing of it is lost",
            Self::Overloaded | Self::Failing(_) => {
                "it was tried several times; try again later, or use another model with `--model`"
            }
            Self::RateLimited { .. } => {
                "it was tried several times; try again later, or ask the provider for a higher limit"
            }
            Self::Refused(_) => "say it in other words, or use another model with `--model`",
            Self::Rejected(_) => {
                "this may be a model without tools, or a server that speaks another dialect; \
                 `ironcurtain doctor` asks for its models"
            }
            Self::Network(_) => {
                "`ironcurtain doctor` tries the connection; behind a proxy set `HTTPS_PROXY`"
            }
            Self::Tls(_) => {
                "if a proxy of yours opens connections, name its certificate with `SSL_CERT_FILE`"
            }
            Self::Cut(_) => "say it again; the finished steps are kept",
            Self::Protocol(_) => "look at `baseUrls`: something else may answer there",
            Self::HoldsKey(_) => {
                "the server at that address discloses what it is sent: look at `baseUrls`, and \
                 change the key at the provider"
            }
            Self::Cancelled => return None,
        };
        Some(hint.to_owned())
    }
}

/// Says how a key of `provider` is set.
fn how_to_set_a_key(provider: Provider) -> String {
    let (variable, key) = match provider {
        Provider::Anthropic => ("ANTHROPIC_API_KEY", "apiKey"),
        Provider::OpenAi => ("OPENAI_API_KEY", "openaiApiKey"),
        Provider::Google => ("GOOGLE_GENERATIVE_AI_API_KEY", "googleApiKey"),
        Provider::OpenAiCompatible => ("OPENAI_COMPATIBLE_API_KEY", "openaiCompatibleApiKey"),
    };
    format!("set `{variable}`, or use `ironcurtain config set {key} -`")
}

/// Returns the key of the configuration that says where `provider` is.
fn base_url_key(provider: Provider) -> &'static str {
    match provider {
        Provider::Anthropic => "baseUrls.anthropic",
        Provider::OpenAi => "baseUrls.openai",
        Provider::Google => "baseUrls.google",
        Provider::OpenAiCompatible => "baseUrls.openaiCompatible",
    }
}

fn after(retry_after: Option<Duration>) -> String {
    retry_after.map_or_else(String::new, |after| format!(", try again in {} s", after.as_secs()))
}
