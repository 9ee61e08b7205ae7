//! `registry/session-<id>.json`: which sessions run, and where their questions are.
//!
//! An entry holds the process that made it, with its start time, so that a process that was given
//! the same number later is not taken for the session. No question is looked at here.

use std::ffi::OsString;
use std::path::PathBuf;

use ic_home::{FileError, Home, Lock, Process, file};
use ic_types::{AbsolutePath, Json, JsonLimits, Object, SessionId, SessionName, Timestamp};

use crate::document::{DocumentFault, Fields};

/// The largest entry that is read.
const BYTES_MAX: usize = 64 << 10;
const LIMITS: JsonLimits = JsonLimits { bytes_max: BYTES_MAX, depth_max: 4, values_max: 100 };
/// The longest label, in characters.
const LABEL_CHARS_MAX: usize = 200;

const PREFIX: &str = "session-";
const SUFFIX: &str = ".json";

/// The list of running sessions.
#[derive(Clone, Debug)]
pub struct Registry {
    home: Home,
}

/// A running session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionEntry {
    /// The session.
    pub session: SessionId,
    /// What people call it.
    pub name: SessionName,
    /// What kind of session it is.
    pub kind: String,
    /// What it is about, in words.
    pub label: String,
    /// Where its questions are.
    pub escalation_dir: PathBuf,
    /// When it began.
    pub started_at: Timestamp,
    /// The process that runs it.
    pub process: Process,
}

/// A session that is listed until this is dropped.
#[derive(Debug)]
#[must_use = "a session that is dropped is not listed any more"]
pub struct Registered {
    path: PathBuf,
}

/// The sessions that run.
#[derive(Debug, Default)]
pub struct Live {
    /// Those that run, in the order in which they began.
    pub sessions: Vec<SessionEntry>,
    /// Entries that cannot be read; they are left as they are.
    pub unreadable: Vec<RegistryError>,
    /// The names of all entries, as they stood there.
    names: Vec<OsString>,
}

/// An entry that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is no entry.
    #[error("`{}` is not a valid session entry: {fault}", .path.display())]
    Document {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: DocumentFault,
    },
}

impl Registry {
    /// Names the registry of a home; nothing is looked at.
    pub fn of(home: &Home) -> Self {
        Self { home: home.clone() }
    }

    /// Lists a session, until what is returned is dropped.
    pub fn register(&self, entry: &SessionEntry) -> Result<Registered, FileError> {
        let _lock = Lock::acquire(self.home.registry_lock())?;
        let path = self.home.session_entry(&entry.session);
        file::replace_unsynced(&path, entry.to_json().to_string().as_bytes())?;
        Ok(Registered { path })
    }

    /// Returns the sessions that run; entries of those that do not are removed.
    pub fn live(&self) -> Result<Live, FileError> {
        let mut live = Live { names: self.names()?, ..Live::default() };
        for name in &live.names {
            let id = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
            let Some(id) = id.and_then(|id| id.parse::<SessionId>().ok()) else { continue };
            match self.look(&id) {
                Ok(Some(entry)) => live.sessions.push(entry),
                Ok(None) => {}
                Err(error) => live.unreadable.push(error),
            }
        }
        live.sessions.sort_by(|a, b| (a.started_at, &a.session).cmp(&(b.started_at, &b.session)));
        Ok(live)
    }

    /// Returns whether nobody has come or gone since `live` was found; cheaper than looking anew.
    ///
    /// An entry that was written anew under its name is not noticed here; a watch on the registry is.
    pub fn is_still(&self, live: &Live) -> Result<bool, FileError> {
        if self.names()? != live.names {
            return Ok(false);
        }
        for session in &live.sessions {
            if !session.process.is_running()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn names(&self) -> Result<Vec<OsString>, FileError> {
        Ok(file::names(self.home.registry())?.unwrap_or_default())
    }

    /// Returns the entry of a session, if that runs.
    fn look(&self, id: &SessionId) -> Result<Option<SessionEntry>, RegistryError> {
        let Some(entry) = self.read(id)? else { return Ok(None) };
        if entry.process.is_running()? {
            return Ok(Some(entry));
        }
        // SECURITY: the session may have been begun again since we looked, and whoever lists it
        // holds this lock; without it the entry of a running session would be removed.
        let _lock = Lock::acquire(self.home.registry_lock())?;
        match self.read(id)? {
            Some(entry) if entry.process.is_running()? => Ok(Some(entry)),
            Some(_) => {
                file::remove(self.home.session_entry(id))?;
                Ok(None)
            }
            None => Ok(None),
        }
    }

    fn read(&self, id: &SessionId) -> Result<Option<SessionEntry>, RegistryError> {
        let path = self.home.session_entry(id);
        let Some(bytes) = file::read_own(&path, BYTES_MAX as u64)? else { return Ok(None) };
        match SessionEntry::parse(&bytes, id) {
            Ok(entry) => Ok(Some(entry)),
            Err(fault) => Err(RegistryError::Document { path, fault }),
        }
    }
}

impl SessionEntry {
    fn parse(bytes: &[u8], id: &SessionId) -> Result<Self, DocumentFault> {
        let mut fields = Fields::parse(bytes, LIMITS)?;
        let wrong = |key, expected| DocumentFault::Wrong { key, expected };
        let entry = Self {
            session: fields.parsed("sessionId", "a session's id")?,
            name: fields.parsed("name", "a session's name")?,
            kind: fields.text("kind")?,
            label: fields.text("label")?,
            escalation_dir: AbsolutePath::new(fields.text("escalationDir")?)
                .map_err(|_| wrong("escalationDir", "an absolute path"))?
                .as_path()
                .to_owned(),
            started_at: fields.parsed("startedAt", "a time")?,
            process: Process {
                pid: u32::try_from(fields.whole("pid")?)
                    .map_err(|_| wrong("pid", "a process's number"))?,
                start_time: fields.whole("pidStartTime")?,
            },
        };
        fields.finish()?;
        match entry.session == *id {
            true => Ok(entry),
            false => Err(wrong("sessionId", "that of its file")),
        }
    }

    fn to_json(&self) -> Json {
        let mut object = Object::new();
        object.insert("sessionId", self.session.as_str());
        object.insert("name", self.name.as_str());
        object.insert("kind", self.kind.as_str());
        object.insert("label", self.label.chars().take(LABEL_CHARS_MAX).collect::<String>());
        object.insert("escalationDir", self.escalation_dir.display().to_string());
        object.insert("startedAt", self.started_at.to_string());
        object.insert("pid", u64::from(self.process.pid));
        object.insert("pidStartTime", self.process.start_time);
        Json::Object(object)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // What cannot be removed now is removed by whoever looks next.
        file::remove(&self.path).ok();
    }
}
