//! `grants.json`: the grants of a session, where others can see them and take them back.
//!
//! What is in force is in the memory of the session; the file can take a grant away or make its count
//! smaller, and cannot add one. So grants end with the process, and a file that was written by
//! somebody else grants nothing. It is read again at each use, so a grant that is revoked is gone.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ic_home::{FileError, Lock, file};
use ic_policy::{Answer, Escalation, Ticket};
use ic_types::{
    Json, JsonLimits, Object, Role, ServerName, SessionId, Timestamp, ToolName, locked,
};
use tokio::sync::watch;

use crate::document::{DocumentFault, Fields};
use crate::grant::{Grant, GrantId};
use crate::scope::ScopeKind;

/// The largest file that is read.
const BYTES_MAX: usize = 16 << 20;
const LIMITS: JsonLimits = JsonLimits { bytes_max: BYTES_MAX, depth_max: 8, values_max: 500_000 };
/// The most grants of one session at once.
pub const GRANTS_MAX: usize = 256;
/// How often the lock is tried; a process that is being started may hold it for a moment.
const ATTEMPTS_MAX: usize = 1000;
/// The version of the file's format.
const VERSION: u64 = 1;

/// The grants of this session.
#[derive(Debug)]
pub struct Grants {
    file: GrantsFile,
    session: SessionId,
    /// Whole at every moment: each change is one step.
    in_force: Mutex<Vec<Grant>>,
    /// How many were given so far, for those who wait for one.
    n_given: watch::Sender<u64>,
}

/// Where the grants of a session are written down.
#[derive(Clone, Debug)]
pub struct GrantsFile {
    path: PathBuf,
}

/// A grant as it is written down.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantRecord {
    /// Its name.
    pub id: GrantId,
    /// The server that it is for.
    pub server: ServerName,
    /// The tool that it is for.
    pub tool: ToolName,
    /// The scope of each role: its kind, and its values.
    pub scopes: Vec<(Role, ScopeKind, Vec<String>)>,
    /// What has to stay as it was in the call that it was given with, in words.
    pub only: Vec<String>,
    /// When it was given.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
    /// How many calls are left, if they are counted.
    pub left: Option<u64>,
    /// How many calls it has answered.
    pub used: u64,
    /// What asks about such calls whatever the policy says.
    pub structural: Vec<String>,
    /// The record as it stands.
    json: Json,
}

/// What became of a grant that was to be revoked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Revoked {
    /// It holds no more.
    Gone,
    /// There is no such grant.
    Unknown,
}

/// Grants that cannot be read or written; then none is in force.
#[derive(Debug, thiserror::Error)]
pub enum GrantsError {
    /// The file cannot be used.
    #[error("cannot use the grants of a session")]
    File(#[from] FileError),
    /// The file is not what we wrote.
    #[error("`{}` was not written by IronCurtain, or is damaged: {fault}", .path.display())]
    Document {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: DocumentFault,
    },
    /// Somebody else changes them, and does not come to an end.
    #[error("another process holds the grants of the session")]
    Busy,
    /// There are too many.
    #[error("a session has at most {GRANTS_MAX} grants at once")]
    TooMany,
}

// === impl Grants ===

impl Grants {
    /// Begins without any grant; those of an earlier process are dropped.
    pub fn open(path: impl Into<PathBuf>, session: SessionId) -> Result<Self, GrantsError> {
        let file = GrantsFile::at(path);
        let _lock = file.lock()?;
        let grants = Self {
            file,
            session,
            in_force: Mutex::new(Vec::new()),
            n_given: watch::Sender::new(0),
        };
        grants.write(&[])?;
        Ok(grants)
    }

    /// Puts a grant in force; waits for nobody.
    pub fn add(&self, grant: Grant, now: Timestamp) -> Result<(), GrantsError> {
        let mut in_force = locked(&self.in_force);
        let _lock = self.file.try_lock().ok_or(GrantsError::Busy)?;
        self.refresh(&mut in_force, now);
        if GRANTS_MAX <= in_force.len() {
            return Err(GrantsError::TooMany);
        }
        in_force.push(grant);
        // If this fails the grant is in no file, and at its first use it is dropped for that.
        self.write(&in_force)?;
        self.n_given.send_modify(|n_given| *n_given += 1);
        Ok(())
    }

    /// Returns what changes whenever a grant is put in force.
    pub fn given(&self) -> watch::Receiver<u64> {
        self.n_given.subscribe()
    }

    /// Answers `escalation` if it was granted, and by which grant; a count is one less then, whatever becomes of the call.
    pub fn answer(
        &self,
        escalation: &Escalation,
        ticket: &Ticket,
        now: Timestamp,
    ) -> Option<(Answer, GrantId)> {
        // Calls of this session take turns here, so that only others are met at the lock.
        let mut in_force = locked(&self.in_force);
        if in_force.is_empty() {
            return None;
        }
        // Somebody is revoking, and does not come to an end: then a person is asked.
        let _lock = self.file.try_lock()?;
        self.refresh(&mut in_force, now);
        let covers = |grant: &&mut Grant| grant.covers(escalation, ticket);
        let grant = in_force.iter_mut().find(covers)?;
        let id = grant.id().clone();
        grant.spend();
        let is_counted = grant.is_counted();
        let written = self.write(&in_force);
        if is_counted {
            // SECURITY: a count that is not written down could be spent again.
            written.ok()?;
        }
        Some((Answer::by_grant(escalation, ticket), id))
    }

    /// Returns the grants that are in force.
    pub fn in_force(&self, now: Timestamp) -> Vec<Grant> {
        let mut in_force = locked(&self.in_force);
        self.refresh(&mut in_force, now);
        in_force.clone()
    }

    /// Drops what has ended and what the file no longer has; without a file, everything.
    fn refresh(&self, in_force: &mut Vec<Grant>, now: Timestamp) {
        let records = self.file.read().unwrap_or_default();
        in_force.retain_mut(|grant| {
            let Some(record) = records.iter().find(|record| record.id == *grant.id()) else {
                return false;
            };
            grant.lower(record.left);
            grant.is_in_force(now)
        });
    }

    fn write(&self, grants: &[Grant]) -> Result<(), GrantsError> {
        self.file.write(&self.session, grants.iter().map(Grant::to_json).collect())
    }
}

// === impl GrantsFile ===

impl GrantsFile {
    /// Names the file; nothing is looked at.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the grants; none if there is no file.
    pub fn read(&self) -> Result<Vec<GrantRecord>, GrantsError> {
        Ok(self.read_all()?.map(|(_, records)| records).unwrap_or_default())
    }

    /// Takes a grant back; the session that has it does not use it from now on.
    pub fn revoke(&self, id: &GrantId) -> Result<Revoked, GrantsError> {
        let _lock = self.lock()?;
        let Some((session, mut records)) = self.read_all()? else { return Ok(Revoked::Unknown) };
        let n_before = records.len();
        records.retain(|record| record.id != *id);
        if records.len() == n_before {
            return Ok(Revoked::Unknown);
        }
        self.write(&session, records.into_iter().map(|record| record.json).collect())?;
        Ok(Revoked::Gone)
    }

    fn read_all(&self) -> Result<Option<(SessionId, Vec<GrantRecord>)>, GrantsError> {
        let Some(bytes) = file::read_own(&self.path, BYTES_MAX as u64)? else { return Ok(None) };
        parse(&bytes)
            .map(Some)
            .map_err(|fault| GrantsError::Document { path: self.path.clone(), fault })
    }

    fn write(&self, session: &SessionId, grants: Vec<Json>) -> Result<(), GrantsError> {
        let mut object = Object::new();
        object.insert("version", VERSION);
        object.insert("sessionId", session.as_str());
        object.insert("grants", grants);
        // Not synced: it is of no use after a crash of the machine.
        file::replace_unsynced(&self.path, Json::Object(object).to_string().as_bytes())?;
        Ok(())
    }

    fn lock(&self) -> Result<Lock, FileError> {
        Lock::acquire(self.lock_path())
    }

    /// Takes the lock, unless somebody holds it for longer than it takes to revoke a grant.
    fn try_lock(&self) -> Option<Lock> {
        for _ in 0..ATTEMPTS_MAX {
            if let Some(lock) = Lock::try_acquire(self.lock_path()).ok()? {
                return Some(lock);
            }
            std::thread::yield_now();
        }
        None
    }

    fn lock_path(&self) -> PathBuf {
        self.path.with_extension("lock")
    }
}

fn parse(bytes: &[u8]) -> Result<(SessionId, Vec<GrantRecord>), DocumentFault> {
    let mut fields = Fields::parse(bytes, LIMITS)?;
    if fields.whole("version")? != VERSION {
        return Err(DocumentFault::Wrong { key: "version", expected: "one that we know" });
    }
    let session = fields.parsed("sessionId", "a session's id")?;
    let wrong = || DocumentFault::Wrong { key: "grants", expected: "a list of grants" };
    let Json::Array(grants) = fields.take("grants")? else { return Err(wrong()) };
    fields.finish()?;
    let records = grants.into_iter().map(parse_record).collect::<Result<_, _>>()?;
    Ok((session, records))
}

fn parse_record(json: Json) -> Result<GrantRecord, DocumentFault> {
    let wrong = |key, expected| DocumentFault::Wrong { key, expected };
    let mut fields = Fields::of(json.clone()).ok_or(wrong("grants", "a list of grants"))?;
    let mut scopes = Vec::new();
    for (role, scope) in fields.object("roles")?.into_entries() {
        let role = role.parse().map_err(|_| wrong("roles", "scopes by role"))?;
        let mut scope = Fields::of(scope).ok_or(wrong("roles", "scopes by role"))?;
        scopes.push((role, scope.parsed("kind", "a kind of scope")?, scope.texts("values")?));
        scope.finish()?;
    }
    let record = GrantRecord {
        id: fields.parsed("id", "a grant's name")?,
        server: fields.parsed("serverName", "a server's name")?,
        tool: fields.parsed("toolName", "a tool's name")?,
        scopes,
        only: fields.texts("only")?,
        created_at: fields.parsed("createdAt", "a time")?,
        expires_at: fields.parsed("expiresAt", "a time")?,
        left: match fields.take_optional("count") {
            None => None,
            Some(count) => {
                let left = crate::document::whole(&count);
                Some(left.ok_or(wrong("count", "a whole number"))?)
            }
        },
        used: match fields.take_optional("used") {
            None => 0,
            Some(used) => {
                let used = crate::document::whole(&used);
                used.ok_or(wrong("used", "a whole number"))?
            }
        },
        structural: fields.texts_optional("structural")?,
        json,
    };
    fields.parsed::<ic_types::Digest>("policyHash", "a digest")?;
    fields.finish()?;
    Ok(record)
}
