//! What a rule or an invariant says: allow, escalate or deny, in order of restriction.

use std::fmt;

/// What is to happen to a call; the greater is the more restrictive.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Effect {
    /// Forward the call.
    Allow,
    /// Ask a person.
    Escalate,
    /// Refuse the call.
    Deny,
}

impl Effect {
    /// Returns the word used in files and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Escalate => "escalate",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
