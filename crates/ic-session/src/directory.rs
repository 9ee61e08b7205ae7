//! The directory of a session: made, found again by name, and described.
//!
//! Conversations are not kept here, and no session is run here.

use std::io;
use std::path::PathBuf;

use ic_audit::LogFiles;
use ic_home::{Clock as _, FileError, Home, SystemClock, file, random};
use ic_types::{Json, JsonLimits, Object, SessionId, SessionName};

/// The largest description that is read.
const META_BYTES_MAX: u64 = 1 << 20;
/// How much of the first message is written down.
const FIRST_MESSAGE_CHARS_MAX: usize = 200;
/// How often a new id is tried.
const IDS_MAX: usize = 16;

/// A session's directory.
#[derive(Clone, Debug)]
pub struct SessionDirectory {
    /// The session.
    pub id: SessionId,
    /// What people call it.
    pub name: SessionName,
    path: PathBuf,
}

/// What is written down about a session.
#[derive(Debug)]
pub struct Description<'a> {
    /// What kind of session it is.
    pub kind: SessionKind,
    /// Who acts in it.
    pub agent: &'a str,
    /// What it was started for, if that is known.
    pub task: Option<&'a str>,
    /// The user's own directory, if it is about one.
    pub workspace: Option<String>,
}

/// What kind of session it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SessionKind {
    /// The built-in agent, asked by a person.
    BuiltIn,
    /// A script of a person's, without a model.
    Script,
    /// An MCP client of somebody else's.
    Proxy,
}

/// A session whose directory cannot be made or used.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is nothing to tell ids apart by.
    #[error("cannot make a session id")]
    NoChance(#[source] io::Error),
    /// Ids are taken.
    #[error("cannot make a session: every id that was tried is taken")]
    NoId,
    /// No name can be made.
    #[error("cannot make a name for the session")]
    NoName,
}

impl SessionDirectory {
    /// Makes a new session; its name is `name`, or made of `agent` and the id.
    pub fn create(
        home: &Home,
        name: Option<&SessionName>,
        agent: &str,
    ) -> Result<Self, DirectoryError> {
        for _ in 0..IDS_MAX {
            let chance = random::bytes::<4>().map_err(DirectoryError::NoChance)?;
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
            for part in directory.parts() {
                file::create_dir(part)?;
            }
            return Ok(directory);
        }
        Err(DirectoryError::NoId)
    }

    /// Finds the newest session of that name, and what kind of session it is.
    pub fn find(
        home: &Home,
        name: &SessionName,
    ) -> Result<Option<(Self, SessionKind)>, DirectoryError> {
        let names = file::names(home.sessions())?.unwrap_or_default();
        let ids = names.iter().rev().filter_map(|id| id.to_str()?.parse::<SessionId>().ok());
        for id in ids {
            let path = home.session(&id);
            let Some(bytes) = file::read(path.join(META), META_BYTES_MAX)? else { continue };
            let Ok(Json::Object(meta)) = Json::parse(&bytes, JsonLimits::CALL) else { continue };
            let text = |key| meta.get(key).and_then(Json::as_str);
            if text("name") == Some(name.as_str())
                && let Some(kind) = text("kind").and_then(SessionKind::of)
            {
                return Ok(Some((Self { id, name: name.clone(), path }, kind)));
            }
        }
        Ok(None)
    }

    /// Writes down what the session is.
    pub fn describe(&self, description: &Description<'_>) -> Result<(), DirectoryError> {
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
        meta.insert("kind", description.kind.as_str());
        meta.insert("agent", description.agent);
        if let Some(workspace) = &description.workspace {
            meta.insert("workspace", workspace.as_str());
        }
        if meta.get("createdAt").is_none() {
            meta.insert("createdAt", now.as_str());
        }
        meta.insert("lastActivityAt", now);
        let first_message: String =
            description.task.unwrap_or_default().chars().take(FIRST_MESSAGE_CHARS_MAX).collect();
        let first_message = Json::from(first_message);
        for (key, value) in [("messageCount", Json::from(0_u64)), ("firstMessage", first_message)] {
            if meta.get(key).is_none() {
                meta.insert(key, value);
            }
        }
        file::replace_unsynced(&path, Json::Object(meta).to_string().as_bytes())?;
        Ok(())
    }

    /// Takes a session back that was never opened; once it has a record, or anything else of value,
    /// it stays.
    pub fn discard(&self) {
        if !matches!(file::read(self.audit().log, 0), Ok(None)) {
            return;
        }
        // What is in use, or cannot be removed, is removed with the session some day.
        for left in [self.path.join(META), self.log()] {
            file::remove(left).ok();
        }
        for part in self.parts() {
            file::remove_empty_dir(part).ok();
        }
        file::remove_empty_dir(&self.path).ok();
    }

    /// Returns the directories that every session has.
    fn parts(&self) -> [PathBuf; 3] {
        [self.sandbox(), self.servers(), self.worker()]
    }

    /// Returns the directory in which the agent is free, if the user gave none.
    pub fn sandbox(&self) -> PathBuf {
        self.path.join("sandbox")
    }

    /// Returns the directory in which each server has one of its own.
    pub fn servers(&self) -> PathBuf {
        self.path.join("servers")
    }

    /// Returns the directory that the code sandbox may call its own.
    pub fn worker(&self) -> PathBuf {
        self.path.join("worker")
    }

    /// Returns the file for whatever is neither a record nor for a person.
    pub fn log(&self) -> PathBuf {
        self.path.join("session.log")
    }

    /// Returns the files of the audit log.
    pub fn audit(&self) -> LogFiles {
        LogFiles { log: self.path.join("audit.jsonl"), head: self.path.join("audit.head") }
    }
}

impl SessionKind {
    fn of(name: &str) -> Option<Self> {
        [Self::BuiltIn, Self::Script, Self::Proxy].into_iter().find(|it| it.as_str() == name)
    }

    /// Returns its name, as it is written down.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::Script => "script",
            Self::Proxy => "proxy",
        }
    }
}

const META: &str = "meta.json";

/// Makes a name of the agent's, told apart by the end of the id.
fn by_itself(agent: &str, id: &SessionId) -> Result<SessionName, DirectoryError> {
    let suffix = id.as_str().rsplit('-').next().unwrap_or_default();
    let short: String = agent.chars().take(40).collect();
    SessionName::of(&format!("{short}-{suffix}"))
        .or_else(|_| SessionName::of(&format!("session-{suffix}")))
        .map_err(|_| DirectoryError::NoName)
}
