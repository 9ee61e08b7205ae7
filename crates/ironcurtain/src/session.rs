//! The directory of a session: made, found again by name, and described.
//!
//! Conversations are not kept here, and no session is run here.

use std::path::PathBuf;

use ic_audit::LogFiles;
use ic_home::{Clock as _, FileError, Home, SystemClock, file, random};
use ic_types::{Json, JsonLimits, Object, SessionId, SessionName};

use crate::error::Failure;

/// The largest description that is read.
const META_BYTES_MAX: u64 = 1 << 20;
/// How often a new id is tried.
const IDS_MAX: usize = 16;

/// A session's directory.
#[derive(Clone, Debug)]
pub(crate) struct SessionDirectory {
    /// The session.
    pub(crate) id: SessionId,
    /// What people call it.
    pub(crate) name: SessionName,
    path: PathBuf,
}

/// What is written down about a session.
#[derive(Debug)]
pub(crate) struct Description<'a> {
    /// What kind of session it is.
    pub(crate) kind: &'static str,
    /// Who acts in it.
    pub(crate) agent: &'a str,
    /// The user's own directory, if it is about one.
    pub(crate) workspace: Option<String>,
}

impl SessionDirectory {
    /// Makes a new session; its name is `name`, or made of `agent` and the id.
    pub(crate) fn create(
        home: &Home,
        name: Option<&SessionName>,
        agent: &str,
    ) -> Result<Self, Failure> {
        for _ in 0..IDS_MAX {
            let chance = random::bytes::<4>().map_err(|source| {
                Failure::environment("cannot make a session id").with_source(source)
            })?;
            let id = SessionId::generate(SystemClock.now(), u32::from_le_bytes(chance));
            let path = home.session(&id);
            match file::create_new_dir(&path) {
                Ok(()) => {}
                Err(FileError::Exists { .. }) => continue,
                Err(error) => return Err(error.into()),
            }
            let name = match name {
                Some(name) => name.clone(),
                None => by_itself(agent, &id)?,
            };
            let directory = Self { id, name, path };
            file::create_dir(directory.sandbox())?;
            file::create_dir(directory.servers())?;
            return Ok(directory);
        }
        Err(Failure::environment("cannot make a session: every id that was tried is taken"))
    }

    /// Finds the newest session of that name and kind.
    pub(crate) fn find(
        home: &Home,
        name: &SessionName,
        kind: &str,
    ) -> Result<Option<Self>, Failure> {
        let names = file::names(home.sessions())?.unwrap_or_default();
        let ids = names.iter().rev().filter_map(|id| id.to_str()?.parse::<SessionId>().ok());
        for id in ids {
            let path = home.session(&id);
            let Some(bytes) = file::read(path.join(META), META_BYTES_MAX)? else { continue };
            let Ok(Json::Object(meta)) = Json::parse(&bytes, JsonLimits::CALL) else { continue };
            let is = |key, value| meta.get(key).and_then(Json::as_str) == Some(value);
            if is("name", name.as_str()) && is("kind", kind) {
                return Ok(Some(Self { id, name: name.clone(), path }));
            }
        }
        Ok(None)
    }

    /// Writes down what the session is.
    pub(crate) fn describe(&self, description: &Description<'_>) -> Result<(), Failure> {
        let path = self.path.join(META);
        let now = SystemClock.now().to_string();
        let mut meta = match file::read(&path, META_BYTES_MAX)? {
            Some(bytes) => match Json::parse(&bytes, JsonLimits::CALL) {
                Ok(Json::Object(meta)) => meta,
                _ => Object::new(),
            },
            None => Object::new(),
        };
        meta.insert("id", self.id.as_str());
        meta.insert("name", self.name.as_str());
        meta.insert("kind", description.kind);
        meta.insert("agent", description.agent);
        if let Some(workspace) = &description.workspace {
            meta.insert("workspace", workspace.as_str());
        }
        if meta.get("createdAt").is_none() {
            meta.insert("createdAt", now.as_str());
        }
        meta.insert("lastActivityAt", now);
        for (key, value) in [("messageCount", Json::from(0_u64)), ("firstMessage", Json::from(""))]
        {
            if meta.get(key).is_none() {
                meta.insert(key, value);
            }
        }
        file::replace_unsynced(&path, Json::Object(meta).to_string().as_bytes())?;
        Ok(())
    }

    /// Returns the directory in which the agent is free, if the user gave none.
    pub(crate) fn sandbox(&self) -> PathBuf {
        self.path.join("sandbox")
    }

    /// Returns the directory in which each server has one of its own.
    pub(crate) fn servers(&self) -> PathBuf {
        self.path.join("servers")
    }

    /// Returns the file for whatever is neither a record nor for a person.
    pub(crate) fn log(&self) -> PathBuf {
        self.path.join("session.log")
    }

    /// Returns the files of the audit log.
    pub(crate) fn audit(&self) -> LogFiles {
        LogFiles { log: self.path.join("audit.jsonl"), head: self.path.join("audit.head") }
    }
}

const META: &str = "meta.json";

/// Makes a name of the agent's, told apart by the end of the id.
fn by_itself(agent: &str, id: &SessionId) -> Result<SessionName, Failure> {
    let suffix = id.as_str().rsplit('-').next().unwrap_or_default();
    let short: String = agent.chars().take(40).collect();
    SessionName::of(&format!("{short}-{suffix}"))
        .or_else(|_| SessionName::of(&format!("session-{suffix}")))
        .map_err(|error| Failure::environment(error.to_string()))
}
