//! Why a call of the git server failed, in words for the model that made it.
//!
//! A fault is a result of the call, never an error of the protocol, and shows nothing of the host but
//! paths that the caller named.

use ic_confine::InnerError;
use ic_types::CanonicalPath;
use rustix::io::Errno;

use super::takeover::Takeover;
use crate::filesystem::{fault, show};

/// The rule that is named where a repository is not believed.
const RULE: &str = "structural-git-config";

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("{0}")]
    Arguments(String),
    #[error("{0}")]
    Reach(String),
    #[error(
        "`{}` is outside of the directories that this server can reach",
        show::text(.0)
    )]
    Outside(String),
    #[error(
        "there is no repository at `{}`: `path` is the directory with `.git` in it, and nothing above it is searched; `git_init` makes one",
        show::path(.0.as_path())
    )]
    NoRepository(CanonicalPath),
    #[error("the repository at `{}` is refused ({RULE}): {reason}", show::path(path.as_path()))]
    Refused { path: CanonicalPath, reason: String },
    #[error("`{}` {reason}", show::text(text))]
    File { text: String, reason: &'static str },
    #[error("`{}` {reason}", show::text(text))]
    Revision { text: String, reason: &'static str },
    #[error("git {words}: {said}")]
    Git { words: String, said: String },
    #[error("git {words}: {}", chain(source))]
    Run { words: String, source: InnerError },
    #[error("cannot {doing}: {}", std::io::Error::from(*source))]
    System { doing: &'static str, source: Errno },
    #[error("{0}")]
    Not(String),
    #[error("{}", Self::TAKEOVER)]
    Takeover(Takeover),
}

impl Fault {
    /// What is said where somebody has to agree first.
    pub(super) const TAKEOVER: &str = "nothing was done: this concerns files that programs of the host run or take orders from, or that rules of the policy are about";

    pub(super) fn system(doing: &'static str) -> impl Fn(Errno) -> Self {
        move |source| Self::System { doing, source }
    }
}

/// The filesystem's words, without the tools that only it has.
impl From<fault::Fault> for Fault {
    fn from(fault: fault::Fault) -> Self {
        match fault {
            fault::Fault::Outside { text } => Self::Outside(text),
            fault::Fault::NoRight { path, lacking } => Self::Reach(format!(
                "`{}` is in a directory without the right to {lacking}",
                show::path(path.as_path())
            )),
            other => Self::Reach(other.to_string()),
        }
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
