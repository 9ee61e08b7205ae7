//! All sessions of a home: found, named, purged, removed.
//!
//! What runs is left alone: whoever runs a session holds its lock, and so does whoever removes it.

use ic_home::{Home, Lock, file};
use ic_types::{SessionId, SessionName, Timestamp};

use crate::error::StoreError;
use crate::index::{self, Row};
use crate::metadata::Metadata;
use crate::places::Places;

/// The longest name of the last session.
const LAST_BYTES_MAX: u64 = 4096;
/// What a record consists of.
const RECORD: [&str; 2] = ["audit.jsonl", "audit.head"];

/// All sessions of a home.
#[derive(Clone, Copy, Debug)]
pub struct Sessions<'a> {
    home: &'a Home,
}

/// What became of sessions that were to be removed, or purged.
#[derive(Debug, Default)]
pub struct Removed {
    /// Those that are gone.
    pub removed: Vec<Metadata>,
    /// Those that run, and stay.
    pub running: Vec<Metadata>,
    /// Those that could not be removed, and why.
    pub failed: Vec<(Metadata, StoreError)>,
}

/// Whether something is done, or only looked at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Doing {
    /// It is done.
    ForGood,
    /// It is only said what would be done.
    OnPaper,
}

impl<'a> Sessions<'a> {
    /// Names the sessions of `home`; nothing is looked at.
    pub fn of(home: &'a Home) -> Self {
        Self { home }
    }

    /// Returns all of them, the most recently active first.
    pub fn all(self) -> Result<Vec<Metadata>, StoreError> {
        let mut all: Vec<Metadata> = index::with(self.home, |entries| {
            entries.iter().filter_map(index::Entry::metadata).collect()
        })?
        .0;
        all.sort_by(|a, b| (b.last_activity_at, &b.id).cmp(&(a.last_activity_at, &a.id)));
        Ok(all)
    }

    /// Finds the session that `text` means: by id, by name, or by the beginning of one of them.
    pub fn find(self, text: &str) -> Result<Metadata, StoreError> {
        let (found, _) = index::with(self.home, |entries| {
            if let Some(entry) = entries.iter().find(|entry| entry.id == text) {
                return entry.metadata().ok_or_else(|| StoreError::Unknown(text.to_owned()));
            }
            let rows = || entries.iter().filter_map(|entry| Some((entry, entry.row()?)));
            let matching: Vec<(_, Row<'_>)> = match rows().find(|(_, row)| row.name == text) {
                Some(named) => vec![named],
                None if text.is_empty() => Vec::new(),
                None => rows()
                    .filter(|(_, row)| row.id.starts_with(text) || row.name.starts_with(text))
                    .collect(),
            };
            match matching.as_slice() {
                [] => Err(StoreError::Unknown(text.to_owned())),
                [(entry, _)] => {
                    entry.metadata().ok_or_else(|| StoreError::Unknown(text.to_owned()))
                }
                several => Err(StoreError::Ambiguous {
                    text: text.to_owned(),
                    found: several.iter().map(|(_, row)| row.id.clone().into_owned()).collect(),
                }),
            }
        })?;
        found
    }

    /// Finds the session of exactly that name.
    pub fn named(self, name: &SessionName) -> Result<Option<Metadata>, StoreError> {
        let (named, _) = index::with(self.home, |entries| {
            let is_it = |entry: &&index::Entry<'_>| {
                entry.row().is_some_and(|row| row.name == name.as_str())
            };
            entries.iter().find(is_it).and_then(index::Entry::metadata)
        })?;
        Ok(named)
    }

    /// Finds the session in which something was said last.
    pub fn last(self) -> Result<Metadata, StoreError> {
        // What it names may be gone, and a file that is damaged names nothing.
        let named = file::read(self.home.last_session(), LAST_BYTES_MAX).ok().flatten();
        let named = named.and_then(|bytes| String::from_utf8(bytes).ok());
        let id = named.and_then(|text| text.trim().parse::<SessionId>().ok());
        let all = self.all()?;
        let mut with_conversation = all.iter().filter(|it| it.is_conversation());
        let last = id.and_then(|id| with_conversation.clone().find(|it| it.id == id));
        last.or_else(|| with_conversation.next()).cloned().ok_or(StoreError::NothingToContinue)
    }

    /// Keeps the names of sessions as they are until what is returned is dropped.
    pub fn hold_names(self) -> Result<Lock, StoreError> {
        Ok(Lock::acquire(self.home.index_lock())?)
    }

    /// Holds a session, so that nobody else runs, changes or removes it.
    pub fn hold(self, session: &Metadata) -> Result<Lock, StoreError> {
        match Lock::try_acquire(self.home.session_lock(&session.id))? {
            Some(lock) => Ok(lock),
            None => Err(StoreError::Running(session.name.clone())),
        }
    }

    /// Returns whether somebody runs a session.
    pub fn is_running(self, id: &SessionId) -> Result<bool, StoreError> {
        Ok(Lock::is_held(self.home.session_lock(id))?)
    }

    /// Gives a session another name, which no other has.
    pub fn rename(self, session: &Metadata, name: &SessionName) -> Result<(), StoreError> {
        let _held = self.hold(session)?;
        let _names = self.hold_names()?;
        if let Some(other) = self.named(name)?.filter(|other| other.id != session.id) {
            return Err(StoreError::Taken { name: name.clone(), id: other.id });
        }
        let places = self.places(session);
        let now = Metadata::restore(&places)?.unwrap_or_else(|| session.clone());
        Metadata { name: name.clone(), ..now }.write(&places)?;
        Ok(())
    }

    /// Removes a session with all that is in its directory; its record is kept beside the others.
    pub fn delete(self, session: &Metadata) -> Result<(), StoreError> {
        let _held = self.hold(session)?;
        let places = self.places(session);
        let kept = self.home.audit().join(session.id.as_str());
        file::create_dir(&kept)?;
        for name in RECORD {
            file::move_to(places.directory().join(name), kept.join(name))?;
        }
        // A session that made no record leaves no directory for one.
        file::remove_empty_dir(&kept).ok();
        file::remove_tree(places.directory())?;
        Ok(())
    }

    /// Removes the conversations of all sessions but the `keep` that were active last, and nothing
    /// else of them.
    pub fn purge(self, keep: usize, doing: Doing) -> Result<Removed, StoreError> {
        let all = self.all()?;
        let conversations = all.into_iter().filter(Metadata::is_conversation).skip(keep);
        Ok(self.each(conversations, doing, |session| self.purge_one(session)))
    }

    /// Removes all sessions in which nothing was said since `before`.
    pub fn clean_up(self, before: Timestamp, doing: Doing) -> Result<Removed, StoreError> {
        let old = self.all()?.into_iter().filter(|it| it.last_activity_at < before);
        Ok(self.each(old, doing, |session| match Metadata::read(&self.places(session)) {
            // Somebody has gone on with it since it was looked at.
            Ok(Some(now)) if before <= now.last_activity_at => {
                Err(StoreError::Running(session.name.clone()))
            }
            _ => self.delete(session),
        }))
    }

    fn each(
        self,
        sessions: impl Iterator<Item = Metadata>,
        doing: Doing,
        act: impl Fn(&Metadata) -> Result<(), StoreError>,
    ) -> Removed {
        let mut removed = Removed::default();
        for session in sessions {
            let done = match (self.is_running(&session.id), doing) {
                (Ok(true), _) => Err(StoreError::Running(session.name.clone())),
                (Ok(false), Doing::OnPaper) => Ok(()),
                (Ok(false), Doing::ForGood) => act(&session),
                (Err(error), _) => Err(error),
            };
            match done {
                Ok(()) => removed.removed.push(session),
                Err(StoreError::Running(_)) => removed.running.push(session),
                Err(error) => removed.failed.push((session, error)),
            }
        }
        removed
    }

    fn purge_one(self, session: &Metadata) -> Result<(), StoreError> {
        let _held = self.hold(session)?;
        let places = self.places(session);
        let now = Metadata::restore(&places)?.unwrap_or_else(|| session.clone());
        if now.last_activity_at != session.last_activity_at {
            // Somebody has gone on with it since it was looked at.
            return Err(StoreError::Running(session.name.clone()));
        }
        // Said first: whoever is killed after it leaves files that nobody misses.
        Metadata { purged: true, ..now }.write(&places)?;
        for path in [places.journal(), places.conversation()] {
            file::remove(path)?;
        }
        Ok(())
    }

    fn places(self, session: &Metadata) -> Places {
        Places::of(self.home, &session.id)
    }
}
