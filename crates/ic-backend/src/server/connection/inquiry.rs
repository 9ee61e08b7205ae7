//! What a server is asked besides calls.
//!
//! How it is asked, and what comes of it, is not known here.

use ic_servers::git::PREVIEW_METHOD;

use crate::listing::ListKind;

/// What a server is asked without a proof, because answering changes nothing and tells nobody anything.
///
/// SECURITY: closed, and none of the methods that are calls is in it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Inquiry {
    /// Who it is, in the revisions that begin so.
    Initialize,
    /// Who it is, in the newest revision.
    Discover,
    /// Which tools it has.
    ListTools,
    /// What else it has.
    List(ListKind),
    /// What a push would send; our own git server alone knows the method.
    PushPreview,
}

impl Inquiry {
    /// Returns the method.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Discover => "server/discover",
            Self::ListTools => "tools/list",
            Self::List(kind) => kind.method(),
            Self::PushPreview => PREVIEW_METHOD,
        }
    }
}
