//! The head: how far a log goes, vouched for with the key, in a file beside it.
//!
//! Without it nobody could tell a log from the beginning of a longer one.

use std::path::{Path, PathBuf};

use ic_home::file::{self, FileError};
use ic_types::{Digest, Json, JsonLimits, Object, SessionId};

use crate::key::AuditKey;
use crate::log::LogFiles;

/// The last record that was committed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Head {
    /// Its number.
    pub seq: u64,
    /// Its hash.
    pub hash: Digest,
}

/// What is found where a head should be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Found {
    Absent,
    /// It is not one that we wrote for this session.
    Forged,
    Genuine(Head),
}

impl Found {
    /// Returns the head, if we wrote it for this session.
    pub(crate) fn genuine(self) -> Option<Head> {
        match self {
            Self::Genuine(head) => Some(head),
            Self::Absent | Self::Forged => None,
        }
    }
}

impl LogFiles {
    /// Returns where the copy of a session's head is, if copies are kept.
    pub(crate) fn copy_of_head(&self, session: &SessionId) -> Option<PathBuf> {
        Some(self.heads.as_ref()?.join(format!("{session}.head")))
    }
}

/// The longest head file that is looked at.
const HEAD_BYTES_MAX: u64 = 4096;

impl Head {
    /// Puts the head at `path`, durably.
    pub(crate) fn write(
        &self,
        path: &Path,
        key: &AuditKey,
        session: &SessionId,
    ) -> Result<(), FileError> {
        let mut object = self.vouched(session);
        object.insert("mac", key.mac(canonical(object.clone()).as_bytes()).to_string());
        object.remove("sessionId");
        file::replace(path, format!("{}\n", canonical(object)).as_bytes())
    }

    /// Reads the head at `path`.
    pub(crate) fn read(
        path: &Path,
        key: &AuditKey,
        session: &SessionId,
    ) -> Result<Found, FileError> {
        let Some(bytes) = file::read(path, HEAD_BYTES_MAX)? else { return Ok(Found::Absent) };
        let head = Self::parse(&bytes)
            .filter(|(head, mac)| key.mac(canonical(head.vouched(session)).as_bytes()) == *mac);
        Ok(head.map_or(Found::Forged, |(head, _)| Found::Genuine(head)))
    }

    fn parse(bytes: &[u8]) -> Option<(Self, Digest)> {
        let Ok(Json::Object(object)) = Json::parse(bytes, JsonLimits::CALL) else { return None };
        let digest = |key: &str| object.get(key)?.as_str()?.parse::<Digest>().ok();
        let seq = match object.get("seq")? {
            Json::Number(number) => number.as_str().parse().ok()?,
            _ => return None,
        };
        let is_exact = object.len() == 3;
        Some((Self { seq, hash: digest("hash")? }, digest("mac")?)).filter(|_| is_exact)
    }

    /// Returns what the code vouches for.
    fn vouched(&self, session: &SessionId) -> Object {
        let mut object = Object::new();
        object.insert("hash", self.hash.to_string());
        object.insert("seq", self.seq);
        object.insert("sessionId", session.as_str());
        object
    }
}

fn canonical(object: Object) -> String {
    Json::Object(object).to_canonical()
}
