//! Where the provider is, and the key that it is paid with, as the configuration says.

use std::sync::Arc;

use ic_home::config::Config;
use ic_mitm::{Place, RealKey};
use ic_model::ModelError;
use ic_opening::thinker::{base_url, key};
use ic_types::{Host, Provider, Secret};
use url::Url;

use crate::error::Failure;

/// Finds the way to `provider`.
pub(super) fn find(provider: Provider, config: &Config) -> Result<(Place, RealKey), Failure> {
    Ok((place(provider, config)?, real_key(provider, config)?))
}

fn place(provider: Provider, config: &Config) -> Result<Place, Failure> {
    let host = ic_mitm::provider::rules(provider).host;
    let upstream = host.parse::<Host>().ok().and_then(|it| config.mitm.upstreams.get(&it));
    if let Some(upstream) = upstream {
        let ca_file = upstream.ca_file.as_ref().map(|it| it.as_path().to_owned());
        let url = upstream.url.clone();
        return Ok(Place { url, has_version: false, ca_file, is_named: true });
    }
    if let Some(url) = base_url(&config.base_urls, provider) {
        let has_version = has_version(provider, url);
        return Ok(Place { url: url.clone(), has_version, ca_file: None, is_named: true });
    }
    if provider == Provider::OpenAiCompatible {
        return Err(Failure::config("there is no address of an OpenAI-compatible server")
            .with_hint(
                "use `ironcurtain config set baseUrls.openaiCompatible http://127.0.0.1:8080/v1`",
            ));
    }
    let url = Url::parse(&format!("https://{host}"));
    let url = url.map_err(|error| Failure::environment("cannot start").with_source(error))?;
    Ok(Place { url, has_version: false, ca_file: None, is_named: false })
}

/// Returns whether the path of an address ends in the version: people write it with and without.
fn has_version(provider: Provider, url: &Url) -> bool {
    let last = url.path_segments().and_then(|mut it| it.rfind(|part| !part.is_empty()));
    match provider {
        Provider::Anthropic => last == Some("v1"),
        Provider::Google => matches!(last, Some("v1" | "v1beta" | "v1alpha")),
        Provider::OpenAi | Provider::OpenAiCompatible => last.is_some(),
    }
}

fn real_key(provider: Provider, config: &Config) -> Result<RealKey, Failure> {
    match (key(&config.api_keys, provider), provider) {
        (Some(key), _) => Ok(RealKey::new(Arc::clone(key))),
        // A server of one's own often needs none, and takes whatever comes.
        (None, Provider::OpenAiCompatible) => {
            Ok(RealKey::new(Arc::new(Secret::new("none".to_owned()))))
        }
        (None, _) => {
            let hint = ModelError::NoKey(provider).hint().unwrap_or_default();
            Err(Failure::config(format!("there is no key for `{provider}`")).with_hint(hint))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_told_from_a_path() {
        for (provider, url, expected) in [
            (Provider::Anthropic, "https://g.example", false),
            (Provider::Anthropic, "https://g.example/anthropic", false),
            (Provider::Anthropic, "https://g.example/v1/", true),
            (Provider::OpenAi, "https://g.example", false),
            (Provider::OpenAi, "https://g.example/openai", true),
            (Provider::OpenAiCompatible, "http://127.0.0.1:8080/api/v3", true),
            (Provider::OpenAiCompatible, "http://127.0.0.1:8080", false),
            (Provider::Google, "https://g.example/v1beta", true),
        ] {
            assert_eq!(has_version(provider, &url.parse().unwrap()), expected, "{url}");
        }
    }
}
