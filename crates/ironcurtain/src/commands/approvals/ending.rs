//! How a question ended, as the file that stands in the place of its answer says.
//!
//! For telling people; what the session does with the answer is its own business.

use std::fmt;
use std::path::Path;

use ic_escalation::SessionEntry;
use ic_escalation::response::RESPONSE_BYTES_MAX;
use ic_home::file;
use ic_types::{EscalationId, Json, JsonLimits};

const LIMITS: JsonLimits =
    JsonLimits { bytes_max: RESPONSE_BYTES_MAX, depth_max: 8, values_max: 10_000 };
/// Who may have answered.
const ANSWERERS: [&str; 5] = ["repl", "listener", "cli", "grant", "auto"];

/// How a question ended; printed so that it fits behind "it was".
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ending {
    /// Somebody approved.
    Approved(&'static str),
    /// Somebody denied.
    Denied(&'static str),
    /// Nobody answered in time.
    Expired,
    /// The session took it back.
    Withdrawn,
    /// What stands there is no answer, and counts as a denial.
    Malformed,
    /// Nothing is left of it.
    Gone,
}

impl Ending {
    /// Looks how the question `id`, which was asked in `directory`, ended.
    pub(super) fn of(directory: &Path, id: &EscalationId) -> Self {
        let path = directory.join(format!("response-{id}.json"));
        match file::read_own(path, RESPONSE_BYTES_MAX as u64) {
            Ok(None) => Self::Gone,
            Ok(Some(bytes)) => Self::read(&bytes),
            Err(_) => Self::Malformed,
        }
    }

    fn read(bytes: &[u8]) -> Self {
        let Ok(Json::Object(object)) = Json::parse(bytes, LIMITS) else { return Self::Malformed };
        let text = |key| object.get(key).and_then(Json::as_str);
        let by = ANSWERERS.into_iter().find(|by| text("decidedBy") == Some(by));
        match (text("decision"), by) {
            (Some("approved"), Some(by)) => Self::Approved(by),
            (Some("denied"), Some(by)) => Self::Denied(by),
            (Some("expired"), None) => Self::Expired,
            (Some("withdrawn"), None) => Self::Withdrawn,
            _ => Self::Malformed,
        }
    }

    /// Returns the word for it, and whoever answered.
    pub(super) fn word(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Approved(by) => ("approved", Some(by)),
            Self::Denied(by) => ("denied", Some(by)),
            Self::Expired => ("expired", None),
            Self::Withdrawn => ("withdrawn", None),
            Self::Malformed => ("malformed", None),
            Self::Gone => ("gone", None),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Approved(by) => write!(f, "approved ({by})"),
            Self::Denied(by) => write!(f, "denied ({by})"),
            Self::Expired => f.write_str("expired: nobody answered in time"),
            Self::Withdrawn => f.write_str("withdrawn by the session"),
            Self::Malformed => f.write_str("denied: what was answered is no answer"),
            Self::Gone => f.write_str("withdrawn, or its session ended"),
        }
    }
}

/// Finds how the question `id` of one of `sessions` ended, as long as something is left of it.
pub(super) fn find(sessions: &[SessionEntry], id: &EscalationId) -> Option<Ending> {
    let endings = sessions.iter().map(|session| Ending::of(&session.escalation_dir, id));
    endings.into_iter().find(|ending| *ending != Ending::Gone)
}
