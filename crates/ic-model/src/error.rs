//! Why a model gave no answer, in the classes that people and programs tell apart.
//!
//! Retries are the business of a provider's client; what arrives here is final for this completion.

use std::time::Duration;

use ic_types::Provider;

/// A completion that did not come about.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// There is no key for the provider.
    #[error("there is no key for `{0}`")]
    NoKey(Provider),
    /// The provider does not accept the key.
    #[error("`{0}` does not accept the key")]
    BadKey(Provider),
    /// The conversation is longer than the model can take in.
    // The sentence is one that people were promised, so it is written as they see it.
    #[error("Context window exceeded. Please start a new session.")]
    ContextExceeded,
    /// The provider has no capacity at the moment.
    #[error("the provider is overloaded")]
    Overloaded,
    /// Too much was asked in too short a time.
    #[error("the provider limits the rate of requests{}", after(*.retry_after))]
    RateLimited {
        /// When to try again, if the provider said so.
        retry_after: Option<Duration>,
    },
    /// The provider or the model refused this request, in its own words.
    #[error("the request was refused: {0}")]
    Refused(String),
    /// The provider could not be reached, or the connection broke.
    #[error("the connection to the provider failed: {0}")]
    Network(String),
    /// What came back makes no sense.
    #[error("the provider's answer makes no sense: {0}")]
    Protocol(String),
    /// Whoever asked does not want the answer any more.
    #[error("the request was cancelled")]
    Cancelled,
}

fn after(retry_after: Option<Duration>) -> String {
    retry_after.map_or_else(String::new, |after| format!(", try again in {} s", after.as_secs()))
}
