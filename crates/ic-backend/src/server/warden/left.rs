//! What servers of sessions left that were killed: found and told before a session serves anything.
//!
//! How it is compared and put back is in `planted/last_look.rs`.

use std::sync::Arc;

use ic_audit::{Entry, Kind};
use ic_home::{FileError, Lock};
use ic_types::{Json, Object, ServerName};

use super::Warden;
use crate::planted::last_look::{self, Found, NotOpened, Of};
use crate::planted::{Kept, Survey};

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
        let reason = format!("a session was killed before it could look once more: {told}");
        self.witness.violation(&reason);
        self.witness.notice(&reason);
        let mut event = Object::new();
        event.insert("event", "host-executes-put-back");
        event.insert("killed", true);
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
