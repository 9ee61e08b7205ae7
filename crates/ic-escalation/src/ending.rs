//! How a question ended, as the file that stands in the place of its answer says.
//!
//! For telling people; what the session does with the answer is its own business.

use std::fmt;
use std::path::Path;

use ic_home::file;
use ic_policy::{DecidedBy, Decision};
use ic_types::{EscalationId, Timestamp};

use crate::request;
use crate::response::{self, RESPONSE_BYTES_MAX, Seal, Written};

/// How a question ended; printed so that it fits behind "it was".
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ending {
    /// Somebody answered.
    Answered(Decision, DecidedBy),
    /// Nobody answered in time.
    Expired,
    /// The session took it back.
    Withdrawn,
    /// What stands or stood there is no answer to what was asked, and counts as a denial.
    Malformed,
    /// Nothing is left of it.
    Gone,
}

impl Ending {
    /// Looks how the question `id`, whose time was over at `expires_at`, ended by `now`.
    ///
    /// For a moment after that time there may be no file that says so: the session has not noticed yet.
    pub(crate) fn of_shown(
        directory: &Path,
        id: &EscalationId,
        (expires_at, now): (Timestamp, Timestamp),
    ) -> Self {
        let found = Self::of(directory, id);
        if found != Self::Gone {
            return found;
        }
        match request::bytes_digest(directory, id) {
            Ok(Some(_)) if expires_at < now => Self::Expired,
            Ok(Some(_)) | Err(_) => Self::Gone,
            // The session ended it between the two looks: what says how is there before the question goes.
            Ok(None) => Self::of(directory, id),
        }
    }

    /// Looks how the question `id`, which was asked in `directory`, ended.
    pub(crate) fn of(directory: &Path, id: &EscalationId) -> Self {
        let bytes = file::read_own(directory.join(response::name(id)), RESPONSE_BYTES_MAX as u64);
        let written = match bytes {
            Ok(None) => return Self::Gone,
            Ok(Some(bytes)) => Written::parse(&bytes),
            Err(_) => return Self::Malformed,
        };
        match written {
            Ok(Written::Response(it)) => Self::Answered(it.decision, it.decided_by),
            Ok(Written::Seal(Seal::Expired)) => Self::Expired,
            Ok(Written::Seal(Seal::Withdrawn)) => Self::Withdrawn,
            Ok(Written::Seal(Seal::Refused)) | Err(_) => Self::Malformed,
        }
    }

    /// Returns the word for it, and who answered.
    pub fn word(self) -> (&'static str, Option<DecidedBy>) {
        match self {
            Self::Answered(Decision::Approved, by) => ("approved", Some(by)),
            Self::Answered(Decision::Denied, by) => ("denied", Some(by)),
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
            Self::Answered(Decision::Approved, by) => write!(f, "approved ({by})"),
            Self::Answered(Decision::Denied, by) => write!(f, "denied ({by})"),
            Self::Expired => f.write_str("expired: no answer in time"),
            Self::Withdrawn => f.write_str("withdrawn by the session"),
            Self::Malformed => f.write_str(
                "denied: the session did not accept the response; `audit show` says why",
            ),
            Self::Gone => f.write_str("withdrawn, or its session ended"),
        }
    }
}
