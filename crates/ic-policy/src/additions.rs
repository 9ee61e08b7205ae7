//! What the user adds to a policy: one sentence each, with `policy allow|ask|never` or at a question.
//!
//! Additions count like sentences: their order means nothing, a more specific one makes a less specific
//! one fall away, and of those left the strictest counts. `merge` turns them into rules that stand in
//! front of the others. Nothing here reads or writes a file.

mod merge;
mod region;

use std::fmt;

use ic_types::{Category, Json, Object, Role, ServerName, ToolName};

use crate::artifact::{self, AdditionFile, AdditionsFile, ArtifactError, EffectFile, Source};
use crate::domain::DomainPattern;
use crate::effect::Effect;
pub(crate) use merge::{Placed, merge};

/// The most additions of one policy.
pub const ADDITIONS_MAX: usize = 1000;
/// The version of the file that is written and read.
const VERSION: u32 = 1;

/// One thing that the user has said.
///
/// Invariant: the roles fit the place: path roles with a directory, roles that lead to hosts with a host;
/// if roles are named, there is at least one. Without a server it restricts, names no tool, and has a place or
/// roles.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Addition {
    effect: Effect,
    server: Option<ServerName>,
    tool: Option<ToolName>,
    roles: Option<Vec<Role>>,
    place: Option<Place>,
    added_at: Option<String>,
    added_by: Option<String>,
}

/// Where an addition holds, as written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Place {
    /// In a directory, at any depth.
    Directory(String),
    /// At a host, or at the hosts of a pattern.
    Host(DomainPattern),
}

/// Why something cannot be an addition.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum InvalidAddition {
    /// It names roles, and none of them.
    #[error("it names no role")]
    NoRole,
    /// A role has no values of the kind that the place is about.
    #[error("the role `{0}` is not about {1}")]
    RoleOfOtherKind(Role, &'static str),
    /// What is allowed is allowed to one server.
    #[error("an `allow` needs a server: an agent could use any other one for the same")]
    NoServer,
    /// A tool belongs to a server.
    #[error("it names a tool without its server")]
    ToolWithoutServer,
    /// Without a server, a place and roles it would be about everything.
    #[error("it names no server, no place and no role")]
    Everything,
    /// A repository limits only what goes to git remotes.
    #[error("only the role `git-remote-url` can be limited to a repository; name the host")]
    Repository,
}

impl Addition {
    /// Makes an addition.
    pub fn new(
        effect: Effect,
        (server, tool): (Option<ServerName>, Option<ToolName>),
        roles: Option<Vec<Role>>,
        place: Option<Place>,
    ) -> Result<Self, InvalidAddition> {
        let named = roles.as_deref();
        if named.is_some_and(<[Role]>::is_empty) {
            return Err(InvalidAddition::NoRole);
        }
        if server.is_none() {
            match (effect, &tool) {
                (Effect::Allow, _) => return Err(InvalidAddition::NoServer),
                (Effect::Escalate | Effect::Deny, Some(_)) => {
                    return Err(InvalidAddition::ToolWithoutServer);
                }
                (Effect::Escalate | Effect::Deny, None) if named.is_none() && place.is_none() => {
                    return Err(InvalidAddition::Everything);
                }
                (Effect::Escalate | Effect::Deny, None) => {}
            }
        }
        let fits = |what: &'static str, is_one: fn(Role) -> bool| match named
            .into_iter()
            .flatten()
            .find(|role| !is_one(**role))
        {
            Some(role) => Err(InvalidAddition::RoleOfOtherKind(*role, what)),
            None => Ok(()),
        };
        match &place {
            Some(Place::Directory(_)) => fits("files", is_path)?,
            Some(Place::Host(pattern)) => {
                fits("hosts", leads_to_host)?;
                // Without roles it would be about pages of a host too, which have no repository.
                let is_remote = named == Some(&[Role::GitRemoteUrl]);
                if pattern.names_repository() && !is_remote {
                    return Err(InvalidAddition::Repository);
                }
            }
            None => {}
        }
        Ok(Self { effect, server, tool, roles, place, added_at: None, added_by: None })
    }

    /// Notes when it was added, and by what.
    #[must_use]
    pub fn added(self, at: impl Into<String>, by: impl Into<String>) -> Self {
        Self { added_at: Some(at.into()), added_by: Some(by.into()), ..self }
    }

    /// Returns what it says.
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Returns the server that it is about, or `None` for every one.
    pub fn server(&self) -> Option<&ServerName> {
        self.server.as_ref()
    }

    /// Returns whether it is about calls of `server`.
    pub fn is_about_server(&self, server: &ServerName) -> bool {
        self.server.as_ref().is_none_or(|it| it == server)
    }

    /// Returns the tool that it is about, or `None` for all tools of the server.
    pub fn tool(&self) -> Option<&ToolName> {
        self.tool.as_ref()
    }

    /// Returns the roles that it is about, or `None` for all that its place allows.
    pub fn roles(&self) -> Option<&[Role]> {
        self.roles.as_deref()
    }

    /// Returns where it holds, or `None` for everywhere.
    pub fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// Returns whether it is about values of `role`.
    pub fn is_about(&self, role: Role) -> bool {
        let is_named = self.roles.as_ref().is_none_or(|roles| roles.contains(&role));
        is_named
            && match &self.place {
                Some(Place::Directory(_)) => is_path(role),
                Some(Place::Host(_)) => leads_to_host(role),
                None => true,
            }
    }

    /// Returns whether this is the same sentence as `other`, whenever that was said.
    pub fn says_the_same(&self, other: &Self) -> bool {
        let plain = |it: &Self| Self { added_at: None, added_by: None, ..it.clone() };
        plain(self) == plain(other)
    }

    /// Returns the entry as it is written in the file.
    fn to_json(&self) -> Json {
        let mut entry = Object::new();
        entry.insert("then", self.effect.as_str());
        if let Some(server) = &self.server {
            entry.insert("server", server.as_str());
        }
        if let Some(tool) = &self.tool {
            entry.insert("tool", tool.as_str());
        }
        if let Some(roles) = &self.roles {
            entry.insert(
                "roles",
                roles.iter().map(|it| Json::from(it.as_str())).collect::<Vec<_>>(),
            );
        }
        match &self.place {
            Some(Place::Directory(within)) => entry.insert("within", within.as_str()),
            Some(Place::Host(pattern)) => entry.insert("host", pattern.to_string()),
            None => {}
        }
        for (key, value) in [("addedAt", &self.added_at), ("addedBy", &self.added_by)] {
            if let Some(value) = value {
                entry.insert(key, value.as_str());
            }
        }
        Json::Object(entry)
    }

    fn of_file(file: AdditionFile) -> Result<Self, (&'static str, String)> {
        let AdditionFile { then, server, tool, roles, within, host, added_at, added_by } = file;
        let effect = match then {
            EffectFile::Allow => Effect::Allow,
            EffectFile::Escalate => Effect::Escalate,
            EffectFile::Deny => Effect::Deny,
        };
        let place = match (within, host) {
            (Some(_), Some(_)) => {
                return Err((".host", "an addition has `within` or `host`, not both".to_owned()));
            }
            (Some(within), None) => Some(Place::Directory(within)),
            (None, Some(host)) => {
                let pattern =
                    DomainPattern::parse(&host).map_err(|error| (".host", error.to_string()))?;
                Some(Place::Host(pattern))
            }
            (None, None) => None,
        };
        let addition = Self::new(effect, (server, tool), roles, place).map_err(|error| {
            let place = match error {
                InvalidAddition::NoServer
                | InvalidAddition::ToolWithoutServer
                | InvalidAddition::Everything => "",
                InvalidAddition::NoRole
                | InvalidAddition::RoleOfOtherKind(..)
                | InvalidAddition::Repository => ".roles",
            };
            (place, error.to_string())
        })?;
        Ok(Self { added_at, added_by, ..addition })
    }
}

/// Prints the addition as a command would say it: `allow filesystem.read_file in ~/notes`.
impl fmt::Display for Addition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", verb(self.effect))?;
        match &self.server {
            Some(server) => write!(f, "{server}")?,
            None => f.write_str("any server")?,
        }
        if let Some(tool) = &self.tool {
            write!(f, ".{tool}")?;
        }
        if let Some(roles) = &self.roles {
            let names: Vec<&str> = roles.iter().map(|role| role.as_str()).collect();
            write!(f, " for {}", names.join(" and "))?;
        }
        match &self.place {
            Some(Place::Directory(within)) => write!(f, " in {within}"),
            Some(Place::Host(pattern)) => write!(f, " at {pattern}"),
            None => Ok(()),
        }
    }
}

/// Returns the command that adds something with this effect.
pub fn verb(effect: Effect) -> &'static str {
    match effect {
        Effect::Allow => "allow",
        Effect::Escalate => "ask",
        Effect::Deny => "never",
    }
}

/// Reads `additions.json`.
pub fn read(source: Source<'_>) -> Result<Vec<Addition>, ArtifactError> {
    let file: AdditionsFile = artifact::read(source)?;
    if file.version != VERSION {
        let reason = format!("this program reads version {VERSION}, and found {}", file.version);
        return Err(ArtifactError::new(source.file, "version", reason));
    }
    if ADDITIONS_MAX < file.additions.len() {
        let reason = format!("there may be at most {ADDITIONS_MAX} additions");
        return Err(ArtifactError::new(source.file, "additions", reason));
    }
    let addition = |(position, file): (usize, AdditionFile)| {
        Addition::of_file(file).map_err(|(place, reason)| {
            ArtifactError::new(source.file, format!("additions[{position}]{place}"), reason)
        })
    };
    file.additions.into_iter().enumerate().map(addition).collect()
}

/// Writes `additions.json`, one addition a line.
pub fn write(additions: &[Addition]) -> String {
    let lines: Vec<String> = additions.iter().map(|it| format!("    {}", it.to_json())).collect();
    let lines = match lines.is_empty() {
        true => String::new(),
        false => format!("\n{}\n  ", lines.join(",\n")),
    };
    format!("{{\n  \"version\": {VERSION},\n  \"additions\": [{lines}]\n}}\n")
}

/// Returns whether values of `role` are paths.
fn is_path(role: Role) -> bool {
    role.category() == Category::Path
}

/// Returns whether values of `role` lead to a host.
fn leads_to_host(role: Role) -> bool {
    role.category() == Category::Url || role == Role::ProxyDomain
}

/// Returns whether values of `role` name a place that an addition can be limited to.
pub fn names_a_place(role: Role) -> bool {
    is_path(role) || leads_to_host(role)
}
