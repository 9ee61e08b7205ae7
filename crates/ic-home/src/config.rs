//! The configuration: typed, checked in full, with the origin of every value.
//!
//! ```text
//! flag > environment > config.json > default     each value checked ─▶ Settings ─▶ Config
//! ```
//!
//! Reading order: [`key`] is the registry, [`value`] the kinds of values, [`document`] the file,
//! [`settings`] the layers, [`update`] changes the file, [`schema`] describes it to other programs.
//! What a key does is the business of the crate that owns it.

pub mod document;
pub mod error;
pub mod key;
pub mod schema;
pub mod settings;
pub mod update;
pub mod value;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use ic_types::{AbsolutePath, Host, Json, ModelId, Provider};
use url::Url;

pub use document::ConfigFile;
pub use error::{ConfigError, Fault, Place};
pub use key::{KEYS, Key, KeyName, UnknownKey};
pub use settings::{Flag, Layers, Origin, Setting, Settings, Shown};
pub use value::{Kind, Upstream, UserCommand};

use crate::environment::{ApiKey, Environment};
use crate::policy_name::PolicyChoice;

/// The configuration in force.
#[derive(Debug)]
pub struct Config {
    /// `agentModelId`.
    pub agent_model: ModelId,
    /// `policyModelId`.
    pub policy_model: ModelId,
    /// `fastModelId`.
    pub fast_model: ModelId,
    /// `apiKey`, `openaiApiKey`, `googleApiKey`, `openaiCompatibleApiKey`.
    pub api_keys: ApiKeys,
    /// `baseUrls`.
    pub base_urls: BaseUrls,
    /// `escalationTimeoutSeconds`.
    pub escalation_timeout: Duration,
    /// `approvals.scripted`.
    pub approvals_scripted: bool,
    /// `notify.command`.
    pub notify_command: Option<UserCommand>,
    /// `policy`, if it is set; without it the compiled policy of the home serves, or `default`.
    pub policy: Option<PolicyChoice>,
    /// `protectedPaths`, with `~` expanded.
    pub protected_paths: Vec<AbsolutePath>,
    /// `agent.show`, with `~` expanded.
    pub agent_shown: Vec<AbsolutePath>,
    /// `agent.registries`: the package registries that agents can read.
    pub agent_registries: Vec<Registry>,
    /// `session`.
    pub session: SessionConfig,
    /// `budget`, for one turn of the built-in agent.
    pub budget: TurnBudget,
    /// `audit.sync`.
    pub audit_sync: AuditSync,
    /// `audit.maxMiB`.
    pub audit_mib_max: u64,
    /// `autoApprove.enabled`.
    pub auto_approve: bool,
    /// `autoApprove.literal`.
    pub auto_approve_literal: bool,
    /// `confinement`.
    pub confinement: Confinement,
    /// `agent`, for agents of others.
    pub agent: AgentConfig,
    /// `docker`.
    pub docker: DockerConfig,
    /// `mitm`.
    pub mitm: MitmConfig,
    settings: Settings,
}

/// The providers' keys.
#[derive(Clone, Debug)]
pub struct ApiKeys {
    /// Anthropic's.
    pub anthropic: Option<ApiKey>,
    /// `OpenAI`'s.
    pub openai: Option<ApiKey>,
    /// Google's.
    pub google: Option<ApiKey>,
    /// That of the server of `openai-compatible:` models.
    pub openai_compatible: Option<ApiKey>,
}

/// Where providers are, if not at their own addresses.
#[derive(Clone, Debug)]
pub struct BaseUrls {
    /// Anthropic.
    pub anthropic: Option<Url>,
    /// `OpenAI`.
    pub openai: Option<Url>,
    /// Google.
    pub google: Option<Url>,
    /// The server of `openai-compatible:` models.
    pub openai_compatible: Option<Url>,
}

/// How conversations are kept.
#[derive(Debug)]
pub struct SessionConfig {
    /// Whether they are saved as they go; otherwise when they end, or when asked to.
    pub auto_save: bool,
    /// How many are kept.
    pub sessions_max: u64,
}

/// What one turn of the built-in agent may use; `None` is no limit.
#[derive(Debug)]
pub struct TurnBudget {
    /// Tokens.
    pub tokens_max: Option<u64>,
    /// Steps.
    pub steps_max: Option<u64>,
    /// Time.
    pub duration_max: Option<Duration>,
    /// Dollars.
    pub cost_usd_max: Option<f64>,
    /// Share after which there is a warning.
    pub warn_percent: Option<u64>,
}

/// Agents of others.
#[derive(Debug)]
pub struct AgentConfig {
    /// What a session may use.
    pub budget: AgentBudget,
    /// Sessions of agents of others at the same time.
    pub concurrent_sessions_max: u64,
    /// What holds it.
    pub backend: BackendChoice,
    /// The agent that shows its own interface, if none is named.
    pub default: String,
    /// Memory of it and all that it starts, in MiB.
    pub memory_mib: u64,
    /// Processors, where something keeps it to them.
    pub cpus: f64,
    /// Processes and threads of it and all that it starts.
    pub pids_max: u64,
    /// Keys of their own for some agents.
    pub api_keys: BTreeMap<String, ApiKey>,
    /// Logins: tokens, or paths of the agents' own files.
    pub logins: BTreeMap<String, ApiKey>,
}

/// What holds an agent of others.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BackendChoice {
    /// The cage of this machine.
    Cage,
    /// A container.
    Docker,
}

/// A registry that packages come from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Registry {
    /// npm's, for Node.
    Npm,
    /// The Python Package Index.
    Pypi,
    /// crates.io, for Rust.
    Crates,
}

impl Registry {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Npm, Self::Pypi, Self::Crates];

    /// Finds the one of that name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == name)
    }

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pypi => "pypi",
            Self::Crates => "crates",
        }
    }
}

impl fmt::Display for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl BackendChoice {
    /// Finds the one of that name.
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "cage" => Some(Self::Cage),
            "docker" => Some(Self::Docker),
            _ => None,
        }
    }

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cage => "cage",
            Self::Docker => "docker",
        }
    }
}

/// What a session of another agent may use; `None` means unlimited.
#[derive(Debug)]
pub struct AgentBudget {
    /// Tokens.
    pub tokens_max: Option<u64>,
    /// Time.
    pub duration_max: Option<Duration>,
    /// Dollars.
    pub cost_usd_max: Option<f64>,
}

/// When records are safe on the disk.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AuditSync {
    /// Within 50 ms.
    Group,
    /// Each before its call is forwarded.
    Each,
}

/// What happens where child processes cannot be confined.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Confinement {
    /// They are not started.
    Enforce,
    /// They are started, and everyone is told.
    Warn,
    /// Nobody tries, and everyone is told.
    Off,
}

/// Containers.
#[derive(Debug)]
pub struct DockerConfig {
    /// The image that ours are built on.
    pub base_image: String,
    /// Debian packages in our base image.
    pub packages: Vec<String>,
}

/// The TLS proxy.
#[derive(Debug)]
pub struct MitmConfig {
    /// Where requests for a provider's host are sent.
    pub upstreams: BTreeMap<Host, Upstream>,
    /// Further top-level keys that requests may have.
    pub allow_keys: BTreeMap<Provider, Vec<String>>,
}

impl Config {
    /// Loads the configuration; fails with everything that is wrong in any layer.
    pub fn load(layers: &Layers<'_>) -> Result<Self, ConfigError> {
        let settings = Settings::gather(layers)?;
        Self::read(settings, layers.environment).map_err(|fault| ConfigError::Faults(vec![fault]))
    }

    /// Returns every key with what each layer says about it.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    fn read(settings: Settings, environment: &Environment) -> Result<Self, Fault> {
        let read = Reader { settings: &settings, environment };
        Ok(Self {
            agent_model: read.value("agentModelId", value::model)?,
            policy_model: read.value("policyModelId", value::model)?,
            fast_model: read.value("fastModelId", value::model)?,
            api_keys: ApiKeys {
                anthropic: settings.secret("apiKey").cloned(),
                openai: settings.secret("openaiApiKey").cloned(),
                google: settings.secret("googleApiKey").cloned(),
                openai_compatible: settings.secret("openaiCompatibleApiKey").cloned(),
            },
            base_urls: BaseUrls {
                anthropic: read.url("baseUrls.anthropic")?,
                openai: read.url("baseUrls.openai")?,
                google: read.url("baseUrls.google")?,
                openai_compatible: read.url("baseUrls.openaiCompatible")?,
            },
            escalation_timeout: Duration::from_secs(read.whole("escalationTimeoutSeconds")?),
            approvals_scripted: read.value("approvals.scripted", value::switch)?,
            notify_command: read.value("notify.command", |json| {
                value::or_off(json, |it| value::command(it, environment))
            })?,
            policy: read.policy()?,
            protected_paths: read.value("protectedPaths", |it| value::paths(it, environment))?,
            agent_shown: read.value("agent.show", |it| value::paths(it, environment))?,
            agent_registries: read.value("agent.registries", value::registries)?,
            session: SessionConfig {
                auto_save: read.value("session.autoSave", value::switch)?,
                sessions_max: read.whole("session.maxSessions")?,
            },
            budget: TurnBudget {
                tokens_max: read.whole_or_off("budget.maxTotalTokens")?,
                steps_max: read.whole_or_off("budget.maxSteps")?,
                duration_max: read.seconds_or_off("budget.maxSessionSeconds")?,
                cost_usd_max: read.decimal_or_off("budget.maxEstimatedCostUsd")?,
                warn_percent: read.whole_or_off("budget.warnPercent")?,
            },
            audit_sync: read.value("audit.sync", AuditSync::of)?,
            audit_mib_max: read.whole("audit.maxMiB")?,
            auto_approve: read.value("autoApprove.enabled", value::switch)?,
            auto_approve_literal: read.value("autoApprove.literal", value::switch)?,
            confinement: read.value("confinement", Confinement::of)?,
            agent: read.agent()?,
            docker: read.docker()?,
            mitm: read.mitm()?,
            settings,
        })
    }
}

/// Reads typed values out of settings, which were checked before.
struct Reader<'a> {
    settings: &'a Settings,
    environment: &'a Environment,
}

impl Reader<'_> {
    fn agent(&self) -> Result<AgentConfig, Fault> {
        let logins = self.settings.secret_entries("agent.login.");
        let keys = self.settings.secret_entries("agent.apiKeys.");
        Ok(AgentConfig {
            budget: AgentBudget {
                tokens_max: self.whole_or_off("agent.budget.maxTotalTokens")?,
                duration_max: self.seconds_or_off("agent.budget.maxSessionSeconds")?,
                cost_usd_max: self.decimal_or_off("agent.budget.maxEstimatedCostUsd")?,
            },
            concurrent_sessions_max: self.whole("agent.maxConcurrentSessions")?,
            backend: self.value("agent.backend", |it| {
                let found = it.as_str().and_then(BackendChoice::of);
                found.ok_or_else(|| "it is no backend".to_owned())
            })?,
            default: self.text("agent.default")?,
            memory_mib: self.whole("agent.memoryMb")?,
            cpus: self.value("agent.cpus", |it| value::decimal(it, 0.0, f64::MAX))?,
            pids_max: self.whole("agent.pidsLimit")?,
            api_keys: keys.map(|(agent, key)| (agent.to_owned(), key.clone())).collect(),
            logins: logins.map(|(agent, login)| (agent.to_owned(), login.clone())).collect(),
        })
    }

    fn docker(&self) -> Result<DockerConfig, Fault> {
        Ok(DockerConfig {
            base_image: self.text("docker.baseImage")?,
            packages: self.value("docker.packages", value::packages)?,
        })
    }

    fn mitm(&self) -> Result<MitmConfig, Fault> {
        let mut upstreams = BTreeMap::new();
        for (entry, json) in self.settings.entries("mitm.upstreams.") {
            let read = || {
                let host: Host = entry.parse().map_err(|_| "it is not a valid host".to_owned())?;
                Ok((host, value::upstream(json, self.environment)?))
            };
            let (host, upstream) =
                read().map_err(|reason| wrong(&format!("mitm.upstreams.{entry}"), reason))?;
            upstreams.insert(host, upstream);
        }
        let mut allow_keys = BTreeMap::new();
        for (entry, json) in self.settings.entries("mitm.allowKeys.") {
            let read = || {
                let provider: Provider =
                    entry.parse().map_err(|_| "it is not a provider".to_owned())?;
                Ok((provider, value::request_keys(json)?))
            };
            let (provider, keys) =
                read().map_err(|reason| wrong(&format!("mitm.allowKeys.{entry}"), reason))?;
            allow_keys.insert(provider, keys);
        }
        Ok(MitmConfig { upstreams, allow_keys })
    }

    /// Reads the policy if somebody names one: what is in force by default is more than one name.
    fn policy(&self) -> Result<Option<PolicyChoice>, Fault> {
        let setting = self.settings.iter().find(|it| it.name == "policy");
        match setting.map(Setting::origin) {
            Some(Origin::Flag(_) | Origin::Environment(_) | Origin::File) => {
                self.value("policy", |it| value::policy(it, self.environment)).map(Some)
            }
            Some(Origin::Default) | None => Ok(None),
        }
    }

    fn value<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Json) -> Result<T, String>,
    ) -> Result<T, Fault> {
        let json = self.settings.value(name).unwrap_or(&Json::Null);
        read(json).map_err(|reason| wrong(name, reason))
    }

    fn text(&self, name: &str) -> Result<String, Fault> {
        let text = |json: &Json| json.as_str().map(ToOwned::to_owned);
        self.value(name, |json| text(json).ok_or_else(|| "it is not text".to_owned()))
    }

    fn url(&self, name: &str) -> Result<Option<Url>, Fault> {
        self.value(name, |json| value::or_off(json, value::url))
    }

    fn whole(&self, name: &str) -> Result<u64, Fault> {
        self.value(name, |json| value::whole(json, 0, u64::MAX))
    }

    fn whole_or_off(&self, name: &str) -> Result<Option<u64>, Fault> {
        self.value(name, |json| value::or_off(json, |it| value::whole(it, 0, u64::MAX)))
    }

    fn seconds_or_off(&self, name: &str) -> Result<Option<Duration>, Fault> {
        Ok(self.whole_or_off(name)?.map(Duration::from_secs))
    }

    fn decimal_or_off(&self, name: &str) -> Result<Option<f64>, Fault> {
        self.value(name, |json| value::or_off(json, |it| value::decimal(it, 0.0, f64::MAX)))
    }
}

impl AuditSync {
    fn of(json: &Json) -> Result<Self, String> {
        match json.as_str() {
            Some("group") => Ok(Self::Group),
            Some("each") => Ok(Self::Each),
            Some(_) | None => Err("it is neither `group` nor `each`".to_owned()),
        }
    }
}

impl Confinement {
    fn of(json: &Json) -> Result<Self, String> {
        match json.as_str() {
            Some("enforce") => Ok(Self::Enforce),
            Some("warn") => Ok(Self::Warn),
            Some("off") => Ok(Self::Off),
            Some(_) | None => Err("it must be `enforce`, `warn` or `off`".to_owned()),
        }
    }
}

/// Says that a value that passed its check is none; the registry and this file disagree then.
fn wrong(key: &str, reason: String) -> Fault {
    Fault { place: Place::Registry, key: key.to_owned(), reason }
}
