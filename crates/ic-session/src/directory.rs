//! The directory of a session: made, found again by name, and described.
//!
//! Conversations are not kept here, and no session is run here.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use ic_audit::LogFiles;
use ic_home::{Clock as _, FileError, Home, Lock, SystemClock, file, random};
use ic_store::{Metadata, Places, Sessions, StoreError};
use ic_types::{SessionId, SessionName};

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
    places: Places,
    /// Whether it was made by this very process.
    is_new: bool,
    /// Held as long as anybody uses the directory.
    held: Arc<Lock>,
}

/// What is written down about a session.
#[derive(Debug)]
pub struct Description<'a> {
    /// What kind of session it is.
    pub kind: SessionKind,
    /// Who acts in it.
    pub agent: &'a str,
    /// What it is about, if a person says so.
    pub about: Option<&'a str>,
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
    /// An agent of others, in its cage, asked by a person.
    Agent,
    /// A script of a person's, without a model.
    Script,
    /// An MCP client of somebody else's.
    Proxy,
    /// A program behind the model gate, without tools of ours.
    Gate,
}

/// A session whose directory cannot be made or used.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The session cannot be found, named or held.
    #[error(transparent)]
    Store(#[from] StoreError),
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
    /// Makes a new session, and holds it; its name is `name`, or made of `agent` and the id.
    pub fn create(
        home: &Home,
        name: Option<&SessionName>,
        kind: SessionKind,
        agent: &str,
    ) -> Result<Self, DirectoryError> {
        let sessions = Sessions::of(home);
        // Until it is written down, so that nobody else takes the name meanwhile.
        let _names = sessions.hold_names()?;
        if let Some(name) = name
            && let Some(other) = sessions.named(name)?
        {
            return Err(StoreError::Taken { name: name.clone(), id: other.id }.into());
        }
        for _ in 0..IDS_MAX {
            let chance = random::bytes::<4>().map_err(DirectoryError::NoChance)?;
            let id = SessionId::generate(SystemClock.now(), u32::from_le_bytes(chance));
            let own = match name {
                Some(name) => name.clone(),
                None => by_itself(agent, &id)?,
            };
            if name.is_none() && sessions.named(&own)?.is_some() {
                continue;
            }
            let path = home.session(&id);
            match file::create_new_dir(&path) {
                Ok(()) => {}
                Err(FileError::Exists { .. }) => continue,
                Err(error) => return Err(error.into()),
            }
            let metadata = Metadata {
                kind: kind.as_str().to_owned(),
                agent: agent.to_owned(),
                ..Metadata::new(id, own, SystemClock.now())
            };
            let directory = Self::held(home, &metadata, true)?;
            metadata.write(&directory.places)?;
            for part in directory.parts() {
                file::create_dir(part)?;
            }
            return Ok(directory);
        }
        Err(DirectoryError::NoId)
    }

    /// Takes a session up again that nobody runs, and holds it.
    pub fn take_up(home: &Home, metadata: &Metadata) -> Result<Self, DirectoryError> {
        let directory = Self::held(home, metadata, false)?;
        for part in directory.parts() {
            file::create_dir(part)?;
        }
        Ok(directory)
    }

    fn held(home: &Home, metadata: &Metadata, is_new: bool) -> Result<Self, DirectoryError> {
        let held = Arc::new(Sessions::of(home).hold(metadata)?);
        let places = Places::of(home, &metadata.id);
        let (id, name) = (metadata.id.clone(), metadata.name.clone());
        Ok(Self { id, name, path: home.session(&metadata.id), places, is_new, held })
    }

    /// Writes down what the session is.
    pub fn describe(&self, description: &Description<'_>) -> Result<(), DirectoryError> {
        let now = SystemClock.now();
        let known = Metadata::restore(&self.places)?;
        let mut metadata =
            known.unwrap_or_else(|| Metadata::new(self.id.clone(), self.name.clone(), now));
        description.kind.as_str().clone_into(&mut metadata.kind);
        description.agent.clone_into(&mut metadata.agent);
        if let Some(workspace) = &description.workspace {
            metadata.workspace = Some(workspace.clone());
        }
        if let Some(about) = description.about {
            metadata.description = Some(about.to_owned());
        }
        metadata.begins_with(description.task.unwrap_or_default());
        if !description.kind.is_conversation() {
            // In a conversation that is whenever something is said.
            metadata.touch(now);
        }
        metadata.write(&self.places)?;
        Ok(())
    }

    /// Takes a session back that was never opened; once it has a record, or anything else of value,
    /// it stays.
    pub fn discard(&self) {
        if !self.is_new || !matches!(file::read(self.audit().log, 0), Ok(None)) {
            return;
        }
        // What is in use, or cannot be removed, is removed with the session some day.
        for left in [self.places.meta(), self.log(), self.held.path().to_owned()] {
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

    /// Returns the home of another agent. Only the agent writes there, and no process of ours opens a file in it.
    pub fn agent_state(&self) -> PathBuf {
        self.path.join("agent-state")
    }

    /// Returns the directory of the files that an agent of others is shown.
    pub fn orientation(&self) -> PathBuf {
        self.path.join("orientation")
    }

    /// Returns the directory that the cage of an agent of others may call its own.
    pub fn agent_cage(&self) -> PathBuf {
        self.path.join("agent-cage")
    }

    /// Returns where the sockets are through which an agent in a container reaches us.
    pub fn sockets(&self) -> PathBuf {
        self.path.join("sockets")
    }

    /// Returns where the git directory is that an agent's own git works in.
    pub fn agent_git(&self) -> PathBuf {
        self.path.join("agent-git")
    }

    /// Returns where files are kept that an agent may not have written.
    pub fn quarantine(&self) -> PathBuf {
        self.path.join("quarantine")
    }

    /// Returns the file for whatever is neither a record nor for a person.
    pub fn log(&self) -> PathBuf {
        self.path.join("session.log")
    }

    /// Returns the files of the audit log.
    pub fn audit(&self) -> LogFiles {
        LogFiles {
            log: self.path.join("audit.jsonl"),
            head: self.path.join("audit.head"),
            heads: None,
        }
    }
}

impl SessionKind {
    /// Returns the kind of that name.
    pub fn of(name: &str) -> Option<Self> {
        [Self::BuiltIn, Self::Agent, Self::Script, Self::Proxy, Self::Gate]
            .into_iter()
            .find(|it| it.as_str() == name)
    }

    /// Returns whether a person talks with it.
    pub fn is_conversation(self) -> bool {
        match self {
            Self::BuiltIn | Self::Agent => true,
            Self::Script | Self::Proxy | Self::Gate => false,
        }
    }

    /// Returns its name, as it is written down.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::Agent => "agent",
            Self::Script => "script",
            Self::Proxy => "proxy",
            Self::Gate => "mitm",
        }
    }
}

/// Makes a name of the agent's, told apart by the end of the id.
fn by_itself(agent: &str, id: &SessionId) -> Result<SessionName, DirectoryError> {
    let suffix = id.as_str().rsplit('-').next().unwrap_or_default();
    let short: String = agent.chars().take(40).collect();
    SessionName::of(&format!("{short}-{suffix}"))
        .or_else(|_| SessionName::of(&format!("session-{suffix}")))
        .map_err(|_| DirectoryError::NoName)
}
