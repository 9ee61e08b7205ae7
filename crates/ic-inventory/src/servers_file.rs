//! `mcp-servers.json`: which servers there are, and how each is started, held and spoken to.
//!
//! The whole file is checked, so that a mistake shows at once. Nothing is started here, and no
//! variable is looked up: a `${...}` stays as it was written until a session fills it in.

mod cage;
mod reading;

use std::collections::BTreeMap;
use std::fmt;

use ic_confine::Confinement;
use ic_policy::artifact::ArtifactError;
use ic_policy::{Containment, DomainSet, ServerTraits};
use ic_resolve::bounds::Servers;
use ic_types::{Object, ServerName};
use serde::Deserialize;
use url::Url;

use cage::SandboxEntry;
pub use cage::{CageConfig, PathKey, WrittenPath};
pub use reading::WRAPPER;

use crate::asks::Asks;
use crate::header;

/// The configured servers.
#[derive(Clone, Debug)]
pub struct ServersFile(BTreeMap<ServerName, ServerConfig>);

/// One configured server.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    written: Written,
    /// What is started or connected to.
    pub start: Start,
    /// What it is for, in the user's words.
    pub description: Option<String>,
    /// How the decision sees it.
    pub containment: Containment,
    /// The hosts that it may be asked to reach; every list must hold.
    pub allowed_domains: Vec<DomainSet>,
    /// Whether one of these lists names nobody.
    has_empty_list: bool,
    /// Whether the user wants it confined.
    pub is_to_be_confined: bool,
    /// What its cage lets through besides.
    pub cage: CageConfig,
    /// Whether its calls run one after another.
    pub is_serial: bool,
    /// What it may ask of clients.
    pub asks: Asks,
}

/// An entry as it was written, secrets included.
#[derive(Clone)]
struct Written(Object);

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl ServerConfig {
    /// Returns the entry as it was written, secrets included: what the server's identity is made of.
    pub(crate) fn written(&self) -> &Object {
        &self.written.0
    }

    /// Returns whether the server may connect to any host at all.
    pub fn reaches_hosts(&self) -> bool {
        // Every list must hold, so one without hosts leaves none.
        !self.allowed_domains.is_empty() && !self.is_cut_off()
    }

    /// Returns whether the entry says that the server reaches nobody, whatever a call is about.
    pub fn is_cut_off(&self) -> bool {
        self.has_empty_list
    }
}

/// What a server is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Start {
    /// One of ours.
    Builtin(BuiltinServer),
    /// A program.
    Command(CommandLine),
    /// A server on another machine.
    Url(RemoteServer),
}

/// Where a server on another machine is, as written.
#[derive(Clone, Eq, PartialEq)]
pub struct RemoteServer {
    /// Its address.
    pub url: Url,
    /// What is sent with each request; the values may be secret.
    pub headers: BTreeMap<String, String>,
}

/// A program with its arguments, as written: words, and never a line for a shell.
#[derive(Clone, Eq, PartialEq)]
pub struct CommandLine {
    /// The program: a path, or a name to be found in the `PATH` that servers get.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// What is written for it in its environment; the values may be secret.
    pub environment: BTreeMap<String, String>,
    /// Where it runs; a directory of its own if that is not said.
    pub directory: Option<String>,
}

/// The name that no server can have: what is offered under it is ours.
pub const RESERVED: &str = "ironcurtain";

// === impl ServersFile ===

impl ServersFile {
    /// Refuses the name that is ours, and names under which tools of two servers could be offered alike:
    /// `x` and `x_`.
    fn with_own_names(self, file: &str) -> Result<Self, ArtifactError> {
        if self.0.contains_key(RESERVED) {
            let reason = "this name is reserved for IronCurtain itself; choose another one";
            return Err(ArtifactError::new(file, RESERVED, reason));
        }
        let twin = self.0.keys().find(|name| {
            name.as_str().strip_suffix('_').is_some_and(|other| self.0.contains_key(other))
        });
        match twin {
            Some(name) => {
                let reason = "another server has this name without the `_` at its end";
                Err(ArtifactError::new(file, name.as_str(), reason))
            }
            None => Ok(self),
        }
    }

    /// Returns the built-in servers, which are there where no file says otherwise.
    pub fn builtin() -> Self {
        let servers = BuiltinServer::ALL.into_iter().filter_map(|server| {
            let mut written = Object::new();
            written.insert("builtin", server.as_str());
            let config = ServerConfig {
                written: Written(written),
                start: Start::Builtin(server),
                description: None,
                containment: server.containment(),
                allowed_domains: Vec::new(),
                has_empty_list: false,
                is_to_be_confined: true,
                cage: CageConfig::NOTHING_SAID,
                is_serial: false,
                asks: Asks::default(),
            };
            Some((server.as_str().parse().ok()?, config))
        });
        Self(servers.collect())
    }

    /// Returns the servers, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&ServerName, &ServerConfig)> {
        self.0.iter()
    }

    /// Returns one server.
    pub fn get(&self, name: &str) -> Option<(&ServerName, &ServerConfig)> {
        self.0.get_key_value(name)
    }

    /// Returns the servers that have the name of a built-in one and are something else.
    ///
    /// SECURITY: sentences that name no server, and rules for the built-in ones, hold for them by their name.
    pub fn stand_ins(&self) -> impl Iterator<Item = &ServerName> {
        let is_other = |(name, config): &(&ServerName, &ServerConfig)| {
            let named = BuiltinServer::named(name.as_str());
            named.is_some_and(|named| config.start != Start::Builtin(named))
        };
        self.0.iter().filter(is_other).map(|(name, _)| name)
    }

    /// Returns what the decision needs to know of the servers, where `confinement` is what holds them.
    ///
    /// SECURITY: what a contained server is asked in the sandbox needs no rule. Only a cage keeps a
    /// stranger to that, so nobody's word is taken for it; our own servers keep to what they are asked.
    pub fn traits(&self, confinement: Confinement) -> Servers {
        let is_kept = |config: &ServerConfig| match config.start {
            // A command does whatever it likes; only its cage keeps it.
            Start::Builtin(BuiltinServer::Shell) | Start::Command(_) => {
                config.is_to_be_confined && confinement != Confinement::None
            }
            Start::Builtin(_) => true,
            Start::Url(_) => false,
        };
        let traits = |config: &ServerConfig| ServerTraits {
            containment: match is_kept(config) {
                true => config.containment,
                false => Containment::Loose,
            },
            names_files: matches!(
                config.start,
                Start::Builtin(BuiltinServer::Git | BuiltinServer::Shell)
            ),
            allowed_domains: config.allowed_domains.clone(),
        };
        self.0.iter().map(|(name, config)| (name.clone(), traits(config))).collect()
    }
}

/// One server as it stands in the file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ServerEntry {
    builtin: Option<BuiltinServer>,
    #[serde(rename = "type")]
    transport: Option<Transport>,
    command: Option<String>,
    args: Option<Vec<String>>,
    env: Option<BTreeMap<String, String>>,
    cwd: Option<String>,
    url: Option<String>,
    headers: Option<BTreeMap<String, String>>,
    description: Option<String>,
    sandbox: Option<SandboxEntry>,
    contained: Option<bool>,
    allowed_domains: Option<Vec<String>>,
    serial: Option<bool>,
    unix_sockets: Option<bool>,
    allow_sampling: Option<bool>,
    allow_elicitation: Option<bool>,
}

/// How a server is spoken to, where a client wrote it down; it has to fit the rest of the entry.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Transport {
    Stdio,
    #[serde(alias = "streamable-http", alias = "streamableHttp")]
    Http,
}

/// A server that is part of this program.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum BuiltinServer {
    /// Files and directories.
    Filesystem,
    /// Repositories.
    Git,
    /// Web pages.
    Fetch,
    /// Command lines.
    Shell,
}

impl BuiltinServer {
    /// Every built-in server; each is there without being asked for.
    pub const ALL: [Self; 4] = [Self::Filesystem, Self::Git, Self::Fetch, Self::Shell];

    /// Returns the built-in server of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|server| server.as_str() == name)
    }

    /// Returns the name under which it is configured and started.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Filesystem => "filesystem",
            Self::Git => "git",
            Self::Fetch => "fetch",
            Self::Shell => "shell",
        }
    }

    fn containment(self) -> Containment {
        match self {
            Self::Filesystem => Containment::ContainedFilesystem,
            Self::Git | Self::Shell => Containment::Contained,
            Self::Fetch => Containment::Loose,
        }
    }
}

impl fmt::Debug for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.environment.keys().collect();
        f.debug_struct("CommandLine")
            .field("program", &self.program)
            .field("arguments", &self.arguments)
            .field("environment", &names)
            .field("directory", &self.directory)
            .finish()
    }
}

impl fmt::Debug for RemoteServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.headers.keys().collect();
        f.debug_struct("RemoteServer")
            .field("url", &self.url.as_str())
            .field("headers", &names)
            .finish()
    }
}

/// Reads the address of a server on another machine.
fn remote_url(text: &str) -> Result<Url, Fault> {
    let fault = |reason: &str| (".url", reason.to_owned());
    let url = Url::parse(text).map_err(|error| (".url", format!("this is not a URL: {error}")))?;
    if url.scheme() != "https" {
        return Err(fault("only `https://` servers are used"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fault("a user or a password does not belong here; use `headers`"));
    }
    if url.fragment().is_some() {
        return Err(fault("a part of a page (`#`) cannot be a server"));
    }
    Ok(url)
}

/// The key below a server's entry, and what is wrong with it.
type Fault = (&'static str, String);

impl ServerEntry {
    fn into_config(self, name: &ServerName, written: Written) -> Result<ServerConfig, Fault> {
        self.check_kind()?;
        let containment = self.containment(name)?;
        let is_to_be_confined = !matches!(self.sandbox, Some(SandboxEntry::Off));
        let (of_cage, cage) = match self.sandbox {
            Some(SandboxEntry::Cage(cage)) => {
                (cage.allowed_domains(), cage.into_config(self.unix_sockets == Some(true))?)
            }
            Some(SandboxEntry::Off) | None => {
                let unix_sockets = self.unix_sockets == Some(true);
                (None, CageConfig { unix_sockets, ..CageConfig::NOTHING_SAID })
            }
        };
        let asks = Asks {
            sampling: self.allow_sampling == Some(true),
            elicitation: self.allow_elicitation == Some(true),
        };
        if self.builtin.is_some() && asks != Asks::default() {
            let key = if asks.sampling { ".allowSampling" } else { ".allowElicitation" };
            return Err((key, "a built-in server asks nothing of clients".to_owned()));
        }
        let (mut allowed_domains, mut has_empty_list) = (Vec::new(), false);
        for (key, texts) in [
            (".allowedDomains", self.allowed_domains),
            (".sandbox.network.allowedDomains", of_cage),
        ] {
            if let Some(texts) = texts {
                let set = DomainSet::parse(texts.iter().map(String::as_str))
                    .map_err(|error| (key, error.to_string()))?;
                allowed_domains.push(set);
                has_empty_list |= texts.is_empty();
            }
        }
        if self.builtin.is_some() && !cage.paths.is_empty() {
            let reason = "what a built-in server sees follows from the policy";
            return Err((".sandbox.filesystem", reason.to_owned()));
        }
        let start = match (self.builtin, self.command, self.url) {
            (Some(builtin), _, _) => Start::Builtin(builtin),
            (None, Some(program), _) => Start::Command(CommandLine {
                program,
                arguments: self.args.unwrap_or_default(),
                environment: self.env.unwrap_or_default(),
                directory: self.cwd,
            }),
            (None, None, url) => Start::Url(RemoteServer {
                url: remote_url(&url.unwrap_or_default())?,
                headers: self.headers.unwrap_or_default(),
            }),
        };
        Ok(ServerConfig {
            written,
            start,
            description: self.description,
            containment,
            allowed_domains,
            has_empty_list,
            is_to_be_confined,
            cage,
            is_serial: self.serial == Some(true),
            asks,
        })
    }

    /// A server is built in, or a command, or a URL.
    fn check_kind(&self) -> Result<(), Fault> {
        let of_command = self.args.is_some() || self.env.is_some() || self.cwd.is_some();
        let spoken = match (&self.command, &self.url) {
            (Some(_), _) => Some(Transport::Stdio),
            (None, Some(_)) => Some(Transport::Http),
            (None, None) => None,
        };
        if self.transport.is_some() && self.transport != spoken {
            let reason = "`stdio` goes with a `command`, `http` with a `url`";
            return Err((".type", reason.to_owned()));
        }
        match (self.builtin, &self.command, &self.url) {
            (Some(_), None, None) if !of_command && self.headers.is_none() => Ok(()),
            (None, Some(command), None) if self.headers.is_none() => match command.as_str() {
                "" => Err((".command", "the command is empty".to_owned())),
                _ => Ok(()),
            },
            (None, None, Some(url)) if !of_command => {
                remote_url(url)?;
                let names = self.headers.iter().flat_map(BTreeMap::keys);
                let mut faults = names.filter_map(|it| header::name_fault(it));
                faults.next().map_or(Ok(()), |fault| Err((".headers", fault)))
            }
            _ => {
                let reason = "expected either `builtin`, or `command` (with `args`, `env`, `cwd`), \
                              or `url` (with `headers`)";
                Err(("", reason.to_owned()))
            }
        }
    }

    fn containment(&self, name: &ServerName) -> Result<Containment, Fault> {
        // What runs on another machine is in no cage of ours.
        let is_confined = self.url.is_none() && !matches!(self.sandbox, Some(SandboxEntry::Off));
        let by_default =
            self.builtin.is_some_and(|server| server.containment() != Containment::Loose);
        if self.url.is_some() && self.sandbox.is_some() {
            return Err((".sandbox", "a server on another machine cannot be confined".to_owned()));
        }
        if self.contained == Some(true) && !is_confined {
            let reason = "a server that is not confined cannot be contained";
            return Err((".contained", reason.to_owned()));
        }
        let is_filesystem =
            self.builtin == Some(BuiltinServer::Filesystem) || name.as_str() == "filesystem";
        Ok(match (self.contained.unwrap_or(by_default) && is_confined, is_filesystem) {
            (false, _) => Containment::Loose,
            (true, true) => Containment::ContainedFilesystem,
            (true, false) => Containment::Contained,
        })
    }
}
