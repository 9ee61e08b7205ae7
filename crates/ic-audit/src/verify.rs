//! Checks a log from its beginning, trusting nothing but the key.
//!
//! Says what is wrong and where; changes nothing. Repair after a crash is done by
//! [`crate::AuditLog::open`], which checks first.

#![expect(
    clippy::disallowed_types,
    reason = "logs are read as streams, since they can be larger than memory"
)]

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use ic_home::file::FileError;
use ic_types::{Digest, Json, JsonLimits, SessionId, counted};
use rustix::fs::{Mode, OFlags};

use crate::chain::{Link, Tip};
use crate::entry::Kind;
use crate::head::{self, Head};
use crate::key::AuditKey;
use crate::log::LogFiles;

/// How many records may follow the last committed one: the writer commits before there are more.
pub const COMMIT_RECORDS_MAX: u64 = 4096;

/// How many records a session writes before its first commit: a repair, and that it has begun.
const OPENING_RECORDS_MAX: u64 = 2;

/// What was found out about a log.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Report {
    /// The session that the log belongs to.
    pub session: SessionId,
    /// How many whole and sound records there are, up to the first fault.
    pub records: u64,
    /// How the log is.
    pub condition: Condition,
    /// Whether the last record says that the session ended, or that its log was put right after a crash.
    pub is_closed: bool,
    /// How many records there were at least before the log was begun anew, of which nothing is left.
    pub(crate) begun_anew_after: Option<u64>,
    /// Where the chain ends.
    pub(crate) tip: Tip,
    /// How many bytes the whole records take.
    pub(crate) bytes: u64,
    /// How many bytes follow them.
    pub(crate) torn_bytes: u64,
}

/// How a log is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Condition {
    /// Every record is there and as it was written.
    Intact,
    /// Every record is sound, but without a head nobody can tell whether there were more.
    NoHead,
    /// The writer ended in the middle of its work; nothing that was committed is missing.
    Crashed {
        /// Records that were written but not yet committed.
        uncommitted: u64,
        /// Bytes of a record that was not finished.
        torn_bytes: u64,
    },
    /// Somebody changed the log.
    Tampered(Tampering),
}

/// What was changed, and where; lines are counted from 1, records from 0.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Tampering {
    /// A record is not as it was written.
    Altered {
        /// The line.
        line: u64,
    },
    /// Records have been taken out.
    Missing {
        /// The first that is missing.
        from: u64,
        /// The last that is missing.
        to: u64,
    },
    /// A record stands in another place.
    Reordered {
        /// The line at which the order breaks.
        line: u64,
    },
    /// A record stands there twice.
    Duplicated {
        /// The line of the second.
        line: u64,
    },
    /// A record has been put in.
    Inserted {
        /// The line at which two records claim the same number.
        line: u64,
    },
    /// The end has been cut off.
    Truncated {
        /// How many records are left.
        at: u64,
        /// How many there were at least.
        of: u64,
    },
    /// An older log was put back, together with its head.
    RolledBack {
        /// How many records are left.
        at: u64,
        /// How many there were at least.
        of: u64,
    },
    /// The records are not those that were committed: the chain was made anew.
    Forged {
        /// The committed record that is another now.
        record: u64,
    },
    /// More records follow the committed ones than a crash could leave.
    ForgedTail {
        /// The first that nobody vouches for.
        from: u64,
    },
    /// The head was not written by us for this session.
    HeadForged,
    /// There are calls but no head, so that any record could have been made anew.
    HeadMissing,
    /// The log does not begin with this session and key.
    Foreign,
}

/// A log that could not be checked.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The log could not be read.
    #[error("cannot read the audit log `{}`", .path.display())]
    Read {
        /// The log.
        path: std::path::PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The head could not be read.
    #[error("cannot read the head of the audit log")]
    Head(#[from] FileError),
    /// The log does not say whose it is.
    #[error("`{}` does not begin with a record that names its session", .0.display())]
    NoSession(std::path::PathBuf),
}

/// Checks the log of `session`; without one, of the session that its first record names.
pub fn verify(
    files: &LogFiles,
    session: Option<&SessionId>,
    key: &AuditKey,
) -> Result<Report, VerifyError> {
    let session = match session {
        Some(session) => session.clone(),
        None => named_session(&files.log)?,
    };
    // Before the head, since a session may be writing: its head is never behind the copy.
    let copy = match files.copy_of_head(&session) {
        Some(path) => Head::read(&path, key, &session)?,
        None => head::Found::Absent,
    };
    let head = Head::read(&files.head, key, &session)?;
    let wanted = match head {
        head::Found::Genuine(head) => Some(head),
        head::Found::Absent | head::Found::Forged => None,
    };
    let walk = Walk::over(&files.log, key.beginning(&session), (wanted, copy.genuine()))?;
    let is_gone = walk.tip.next_seq == 0 && walk.torn_bytes == 0 && head == head::Found::Absent;
    let begun_anew_after =
        copy.genuine().filter(|_| is_gone).map(|copy| copy.seq.saturating_add(1));
    let tampering = match walk.fault {
        Some(fault) => Some(fault.name(&files.log)?),
        None => against_head(&walk, head).or_else(|| against_copy(&walk, head, copy)),
    };
    let condition = match (tampering, head) {
        (Some(tampering), _) => Condition::Tampered(tampering),
        (None, head::Found::Genuine(head)) => {
            let uncommitted = walk.tip.next_seq.saturating_sub(head.seq.saturating_add(1));
            match (uncommitted, walk.torn_bytes) {
                (0, 0) => Condition::Intact,
                (uncommitted, torn_bytes) => Condition::Crashed { uncommitted, torn_bytes },
            }
        }
        (None, head::Found::Absent | head::Found::Forged) => Condition::NoHead,
    };
    let last = session_event(&walk.last);
    // A repair says that the session was killed, and nothing follows it.
    let is_closed = matches!(last.as_deref(), Some("closed" | "repaired"));
    let Walk { tip, bytes, torn_bytes, .. } = walk;
    let records = tip.next_seq;
    Ok(Report { session, records, condition, is_closed, begun_anew_after, tip, bytes, torn_bytes })
}

impl Report {
    /// What is to be said about a log in which nothing has been written yet.
    #[cfg(feature = "testing")]
    pub(crate) fn of_nothing(options: &crate::log::LogOptions) -> Self {
        let tip = Tip { next_seq: 0, hash: options.key.beginning(&options.session) };
        Self {
            session: options.session.clone(),
            records: 0,
            condition: Condition::NoHead,
            is_closed: false,
            begun_anew_after: None,
            tip,
            bytes: 0,
            torn_bytes: 0,
        }
    }
}

/// Compares a log whose chain holds with what was committed.
fn against_head(walk: &Walk, head: head::Found) -> Option<Tampering> {
    let head = match head {
        head::Found::Genuine(head) => head,
        head::Found::Forged => return Some(Tampering::HeadForged),
        // The first head is written before the first call: without one there are no calls.
        head::Found::Absent if 0 < walk.n_calls_unvouched || walk.tail_is_strange => {
            return Some(Tampering::HeadMissing);
        }
        head::Found::Absent => return None,
    };
    let records = walk.tip.next_seq;
    if records <= head.seq {
        return Some(Tampering::Truncated { at: records, of: head.seq.saturating_add(1) });
    }
    if walk.at_head != Some(head.hash) {
        return Some(Tampering::Forged { record: head.seq });
    }
    let uncommitted = records - head.seq - 1;
    let uncommitted_max = match walk.head_is_closing {
        // Whoever opens a closed log commits before anything else happens.
        true => OPENING_RECORDS_MAX,
        false => COMMIT_RECORDS_MAX,
    };
    let is_forged = uncommitted_max < uncommitted
        || walk.tail_is_strange
        || walk.head_is_closing && 0 < walk.n_calls_unvouched;
    is_forged.then_some(Tampering::ForgedTail { from: head.seq + 1 })
}

/// Compares a log that fits its head with the copy of the head that is kept elsewhere.
fn against_copy(walk: &Walk, head: head::Found, copy: head::Found) -> Option<Tampering> {
    let copy = match copy {
        head::Found::Genuine(copy) => copy,
        head::Found::Forged => return Some(Tampering::HeadForged),
        // Written before copies were kept, or somewhere else.
        head::Found::Absent => return None,
    };
    let records = walk.tip.next_seq;
    let is_older = match head {
        // The copy is written after the head, so that it is never the newer one by itself.
        head::Found::Genuine(head) => head.seq < copy.seq,
        head::Found::Absent | head::Found::Forged => true,
    };
    if is_older {
        return Some(Tampering::RolledBack { at: records, of: copy.seq.saturating_add(1) });
    }
    (walk.at_copy != Some(copy.hash)).then_some(Tampering::Forged { record: copy.seq })
}

/// One pass over a log, up to the first record that does not follow the one before it.
struct Walk {
    tip: Tip,
    bytes: u64,
    torn_bytes: u64,
    /// The hash of the record that the head speaks of.
    at_head: Option<Digest>,
    /// The hash of the record that the copy of the head speaks of.
    at_copy: Option<Digest>,
    /// The last record.
    last: Vec<u8>,
    /// Whether that record closes the log.
    head_is_closing: bool,
    /// How many records that no head vouches for say something else than how a session begins or ends.
    n_calls_unvouched: u64,
    /// Whether one of those that no head vouches for is no record that we would write.
    tail_is_strange: bool,
    fault: Option<Fault>,
}

/// A line that does not follow the one before it.
#[derive(Clone, Copy, Debug)]
struct Fault {
    /// Counted from 1.
    line: u64,
    expected_seq: u64,
    link: Option<Link>,
}

impl Walk {
    fn over(
        log: &Path,
        beginning: Digest,
        (head, copy): (Option<Head>, Option<Head>),
    ) -> Result<Self, VerifyError> {
        let tip = Tip { next_seq: 0, hash: beginning };
        let mut walk = Self {
            tip,
            bytes: 0,
            torn_bytes: 0,
            at_head: None,
            at_copy: None,
            last: Vec::new(),
            head_is_closing: false,
            n_calls_unvouched: 0,
            tail_is_strange: false,
            fault: None,
        };
        each_line(log, |line, is_whole| {
            if !is_whole {
                walk.torn_bytes = line.len() as u64;
                return false;
            }
            let content = line.strip_suffix(b"\n").unwrap_or(line);
            match Link::read(content).filter(|link| link.is_sound) {
                Some(link) if link.prev == walk.tip.hash && link.seq == walk.tip.next_seq => {
                    if head.is_some_and(|head| head.seq == link.seq) {
                        walk.at_head = Some(link.hash);
                        walk.head_is_closing = session_event(content).as_deref() == Some("closed");
                    } else if head.is_none_or(|head| head.seq < link.seq) {
                        // Nobody vouches for this one: at least it must be a record of ours.
                        walk.n_calls_unvouched += u64::from(session_event(content).is_none());
                        walk.tail_is_strange |= !is_record(content);
                    }
                    if copy.is_some_and(|copy| copy.seq == link.seq) {
                        walk.at_copy = Some(link.hash);
                    }
                    walk.last.clear();
                    walk.last.extend_from_slice(content);
                    walk.tip = Tip { next_seq: link.seq + 1, hash: link.hash };
                    walk.bytes += line.len() as u64;
                    true
                }
                link => {
                    let expected_seq = walk.tip.next_seq;
                    walk.fault = Some(Fault { line: expected_seq + 1, expected_seq, link });
                    false
                }
            }
        })?;
        Ok(walk)
    }
}

impl Fault {
    /// Finds out what was done, by a second look at the whole log.
    fn name(self, log: &Path) -> Result<Tampering, VerifyError> {
        let Self { line, expected_seq, link } = self;
        let Some(link) = link else { return Ok(Tampering::Altered { line }) };
        let mut is_elsewhere = false;
        let mut is_copy = false;
        let mut at = 0;
        each_line(log, |other, _| {
            at += 1;
            let content = other.strip_suffix(b"\n").unwrap_or(other);
            if let Some(other) = Link::read(content).filter(|other| other.is_sound && at != line) {
                is_elsewhere |= line < at && other.seq == expected_seq;
                is_copy |= at < line && other == link;
            }
            true
        })?;
        Ok(match link.seq.cmp(&expected_seq) {
            std::cmp::Ordering::Less if is_copy => Tampering::Duplicated { line },
            std::cmp::Ordering::Less => Tampering::Inserted { line },
            std::cmp::Ordering::Greater if is_elsewhere => Tampering::Reordered { line },
            std::cmp::Ordering::Greater => {
                Tampering::Missing { from: expected_seq, to: link.seq.saturating_sub(1) }
            }
            std::cmp::Ordering::Equal if expected_seq == 0 => Tampering::Foreign,
            // Sound in itself, but not what this record follows: the one before was replaced.
            std::cmp::Ordering::Equal => Tampering::Altered { line: line - 1 },
        })
    }
}

/// Hands each line to `take`, newline included, and whether it has one, until `take` says stop.
fn each_line(log: &Path, mut take: impl FnMut(&[u8], bool) -> bool) -> Result<(), VerifyError> {
    let failed = |source: io::Error| VerifyError::Read { path: log.to_owned(), source };
    let mut reader = open(log).map_err(failed)?;
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).map_err(failed)? == 0 {
            return Ok(());
        }
        if !take(&line, line.last() == Some(&b'\n')) {
            return Ok(());
        }
    }
}

/// Opens a log to read it; a link in its place is not followed.
pub(crate) fn open(log: &Path) -> io::Result<BufReader<File>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(log, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(BufReader::with_capacity(1 << 20, file)),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// Returns whether a line is one that we could have written.
fn is_record(line: &[u8]) -> bool {
    let Ok(Json::Object(record)) = Json::parse(line, JsonLimits::ARTIFACT) else { return false };
    let kind = record.get("kind").and_then(Json::as_str);
    Kind::ALL.iter().any(|known| Some(known.as_str()) == kind)
        && Json::Object(record).to_canonical().as_bytes() == line
}

/// Returns what a record of kind `session` says has happened.
fn session_event(line: &[u8]) -> Option<String> {
    let Ok(Json::Object(record)) = Json::parse(line, JsonLimits::ARTIFACT) else { return None };
    let is_session = record.get("kind").and_then(Json::as_str) == Some(Kind::Session.as_str());
    match record.get("arguments").filter(|_| is_session) {
        Some(Json::Object(arguments)) => Some(arguments.get("event")?.as_str()?.to_owned()),
        Some(_) | None => None,
    }
}

/// Returns the session that the first record names.
fn named_session(log: &Path) -> Result<SessionId, VerifyError> {
    let mut session = None;
    each_line(log, |line, _| {
        let content = line.strip_suffix(b"\n").unwrap_or(line);
        if let Ok(Json::Object(record)) = Json::parse(content, JsonLimits::ARTIFACT) {
            session = record.get("sessionId").and_then(|id| id.as_str()?.parse().ok());
        }
        false
    })?;
    session.ok_or_else(|| VerifyError::NoSession(log.to_owned()))
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Intact => f.write_str("intact"),
            Self::NoHead => f.write_str(
                "there is no head yet: the writer ended before its first commit, or the end was cut off",
            ),
            Self::Crashed { uncommitted, torn_bytes } => write!(
                f,
                "the writer ended without closing: {} after the last commit, {} of an unfinished one; \
                 nothing that was committed is missing",
                counted(*uncommitted, "record", "records"),
                counted(*torn_bytes, "byte", "bytes")
            ),
            Self::Tampered(tampering) => tampering.fmt(f),
        }
    }
}

impl fmt::Display for Tampering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Altered { line } => write!(f, "line {line} is not as it was written"),
            Self::Missing { from, to } if from == to => write!(f, "record {from} is missing"),
            Self::Missing { from, to } => write!(f, "records {from} to {to} are missing"),
            Self::Reordered { line } => write!(f, "the records are out of order from line {line} on"),
            Self::Duplicated { line } => write!(f, "line {line} is a copy of an earlier record"),
            Self::Inserted { line } => {
                write!(f, "a record was put in: line {line} claims the number of the one before it")
            }
            Self::Truncated { at, of } => {
                write!(f, "truncated at {at}: there were at least {of} records")
            }
            Self::RolledBack { at, of } => write!(
                f,
                "an older log was put back: it has {at} records, and there were at least {of}"
            ),
            Self::Forged { record } => write!(
                f,
                "record {record} is not the one that was committed: the chain was made anew before it"
            ),
            Self::ForgedTail { from } => {
                write!(f, "more records follow record {from} than a crash could leave uncommitted")
            }
            Self::HeadForged => f.write_str("the head was not written by us for this session"),
            Self::HeadMissing => f.write_str(
                "the head is missing: that records were made anew, or the end cut off, cannot be excluded",
            ),
            Self::Foreign => {
                f.write_str("the log does not begin with this session's key: it is another's, or its beginning was replaced")
            }
        }
    }
}
