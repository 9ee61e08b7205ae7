//! Where the provider is, and what it is paid with, as the configuration says.

use std::sync::Arc;

use ic_egress::Egress;
use ic_home::config::Config;
use ic_home::{Environment, SystemClock};
use ic_mitm::provider::login::{self, LoginRules};
use ic_mitm::{Before, Earlier, Login, LoginSource, Packages, Pay, Place, RealKey, Upstream};
use ic_model::ModelError;
use ic_opening::thinker::{base_url, key};
use ic_types::{Host, InvalidName, Provider, Secret, ServerName};
use url::Url;

use crate::error::{Failure, chain};
use crate::installer::real_path;

/// What is asked for.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) provider: Provider,
    /// The agent that may have a key of its own.
    pub(crate) agent: Option<&'a str>,
    /// The agent whose login is used instead of an API key.
    pub(crate) login: Option<&'a str>,
    /// What the session has used in earlier processes.
    pub(crate) earlier: Earlier,
    /// The package registries that are behind the gate too.
    pub(crate) packages: Option<Arc<Packages>>,
    /// What has to happen before each request to a model.
    pub(crate) before: Option<Arc<dyn Before>>,
    pub(crate) config: &'a Config,
    pub(crate) environment: &'a Environment,
}

impl Wanted<'_> {
    /// Finds the way to the provider.
    pub(crate) fn find(&self, egress: Egress) -> Result<(Place, Pay), Failure> {
        match self.login {
            None => {
                let own = self.agent.and_then(|it| self.config.agent.api_keys.get(it));
                let key = match own {
                    Some(own) => RealKey::new(Arc::clone(own)),
                    None => real_key(self.provider, self.config)?,
                };
                Ok((place(self.provider, self.config)?, Pay::Key(key)))
            }
            Some(agent) => self.logged_in(agent, egress),
        }
    }

    fn logged_in(&self, agent: &str, egress: Egress) -> Result<(Place, Pay), Failure> {
        let rules = login::of(agent).ok_or_else(|| unknown(agent))?;
        if rules.rules.provider != self.provider {
            return Err(Failure::usage(format!(
                "`{agent}` logs in to `{}`, not to `{}`",
                rules.rules.provider, self.provider
            )));
        }
        let source = self.source(rules)?;
        let to = |host: &str| match overridden(host, self.config) {
            Some(place) => Ok(place),
            None => usual(host),
        };
        let network = self.environment.network();
        let name: ServerName = "login"
            .parse()
            .map_err(|error: InvalidName| Failure::environment(error.to_string()))?;
        let upstream = Upstream::new(&to(rules.token_host)?, name, egress, &network)
            .map_err(|error| Failure::environment(chain(&error)))?;
        let login = Login::new(rules, source, upstream, Arc::new(SystemClock));
        Ok((to(rules.rules.host)?, Pay::Login(login)))
    }

    /// Returns what `agent.login.<agent>` names.
    fn source(&self, rules: &LoginRules) -> Result<LoginSource, Failure> {
        let agent = rules.agent;
        let Some(named) = self.config.agent.logins.get(agent) else {
            return Err(Failure::config(format!("there is no login of `{agent}`")).with_hint(
                format!("set `agent.login.{agent}` to a long-lived token, or to the path of the file in which `{agent}` keeps its login"),
            ));
        };
        let key = RealKey::new(Arc::clone(named));
        match key.as_path() {
            None => Ok(LoginSource::Token(key)),
            Some(path) => {
                let path = self.environment.absolute(&path)?;
                Ok(LoginSource::File(real_path(path.as_path())?))
            }
        }
    }
}

fn unknown(agent: &str) -> Failure {
    let known: Vec<&str> = login::ALL.iter().map(|it| it.agent).collect();
    Failure::usage(format!("`{agent}` has no login that can be used here"))
        .with_hint(format!("logins work for {}; use an API key otherwise", known.join(", ")))
}

fn overridden(host: &str, config: &Config) -> Option<Place> {
    let upstream = host.parse::<Host>().ok().and_then(|it| config.mitm.upstreams.get(&it))?;
    let ca_file = upstream.ca_file.as_ref().map(|it| it.as_path().to_owned());
    Some(Place { url: upstream.url.clone(), has_version: false, ca_file, is_named: true })
}

fn usual(host: &str) -> Result<Place, Failure> {
    let url = Url::parse(&format!("https://{host}"));
    let url = url.map_err(|error| Failure::environment("cannot start").with_source(error))?;
    Ok(Place { url, has_version: false, ca_file: None, is_named: false })
}

fn place(provider: Provider, config: &Config) -> Result<Place, Failure> {
    let host = ic_mitm::provider::rules(provider).host;
    if let Some(place) = overridden(host, config) {
        return Ok(place);
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
    usual(host)
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
