//! What was put back, recorded and told to a person; and what servers of sessions left that were killed, which
//! is found before a session serves anything.
//!
//! How it is compared and put back is in `planted`.

use std::sync::Arc;

use ic_audit::{Entry, Kind};
use ic_home::{FileError, Lock};
use ic_types::{CanonicalPath, Json, Object, ServerName};

use super::Warden;
use crate::planted::last_look::{self, Found, NotOpened, Of};
use crate::planted::{Kept, PutBack, Survey};

/// What the record calls it.
const PUT_BACK: &str = "host-executes-put-back";

impl Warden {
    /// Keeps on disk what was seen.
    pub(super) fn keep_look(
        &self,
        server: &ServerName,
        kept: &Kept,
        survey: &Survey,
    ) -> Result<(), FileError> {
        let (bounds, home) = (&self.judge.bounds, &self.judge.home);
        last_look::keep(kept, survey, &Of { server, bounds, home, quarantine: &self.quarantine })
    }

    /// Puts back what servers of killed sessions left, and tells of it.
    ///
    /// SECURITY: nothing may be served before; a guard that still sees to it is waited for.
    pub(crate) fn take_left(&self) -> Result<(), NotOpened> {
        for look in self.announced.looks_left()? {
            if !last_look::was_started(&look)? {
                last_look::drop_unused(&look);
                continue;
            }
            let _lock = Lock::acquire(last_look::guard_of(&look))?;
            if let Some(found) = last_look::take(&look)? {
                self.tell_left(&found);
            }
        }
        Ok(())
    }

    fn tell_left(&self, Found { server, told }: &Found) {
        let mut event = Object::new();
        event.insert("event", PUT_BACK);
        event.insert("killed", true);
        let reason = format!("a session was killed before it could look once more: {told}");
        self.tell(server, reason, event);
    }

    /// Records what was put back, and tells a person.
    pub(super) fn record(&self, server: &ServerName, done: &PutBack) {
        let paths = |paths: &mut dyn Iterator<Item = &CanonicalPath>| {
            paths.map(|path| Json::from(path.to_string())).collect::<Vec<_>>()
        };
        let mut event = Object::new();
        event.insert("event", PUT_BACK);
        event.insert("away", paths(&mut done.away.iter().map(|it| &it.path)));
        event.insert("back", paths(&mut done.back.iter()));
        event.insert("restored", paths(&mut done.restored.iter()));
        self.tell(server, done.told_in_full(server.as_str()), event);
    }

    fn tell(&self, server: &ServerName, reason: String, event: Object) {
        self.witness.violation(&reason);
        self.witness.notice(&reason);
        let entry = Entry {
            server: Some(server.clone()),
            reason: Some(Arc::from(reason)),
            arguments: Some(Json::Object(event)),
            ..Entry::new(Kind::Session)
        };
        if let Err(error) = self.log.note(entry) {
            self.witness.notice(&crate::chain(&error));
        }
    }
}
