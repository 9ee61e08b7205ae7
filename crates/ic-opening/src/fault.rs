//! What kept something from being opened, as a person meets it: what failed, on what, and what to do.
//!
//! Errors of the libraries below become one of three kinds here. A denial is no fault. Exit codes, and what
//! is printed where, are not known here.

use std::error::Error;
use std::fmt;
use std::io;

use ic_home::config::ConfigError;
use ic_home::environment::EnvironmentError;
use ic_home::{FileError, HomeError};
use ic_policy::ArtifactError;
use ic_resolve::BoundsError;
use ic_types::chain;

/// Something that kept us from doing what was wanted.
#[derive(Debug)]
pub struct Fault {
    /// Whose business it is.
    pub kind: FaultKind,
    /// What failed, and on what.
    pub message: String,
    /// What is wrong in particular, a line each.
    pub details: Vec<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// The cause.
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

/// Whose business a fault is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FaultKind {
    /// What was asked for makes no sense.
    Request,
    /// A file of ours or of the user's is wrong.
    Config,
    /// The machine does not let us.
    Machine,
}

impl Fault {
    /// What was asked for makes no sense.
    pub fn request(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Request, message.into())
    }

    /// A file is wrong.
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Config, message.into())
    }

    /// The machine does not let us.
    pub fn machine(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Machine, message.into())
    }

    fn new(kind: FaultKind, message: String) -> Self {
        Self { kind, message, details: Vec::new(), hint: None, source: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: Some(source.into()), ..self }
    }

    /// Adds what is wrong in particular, a line each.
    #[must_use]
    pub fn with_details(self, details: Vec<String>) -> Self {
        Self { details, ..self }
    }
}

impl Error for Fault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<ArtifactError> for Fault {
    fn from(error: ArtifactError) -> Self {
        Self::config(error.to_string())
    }
}

impl From<BoundsError> for Fault {
    fn from(error: BoundsError) -> Self {
        let message = error.to_string();
        let failure = Self::machine(message);
        match error.source() {
            Some(cause) => failure.with_source(cause.to_string()),
            None => failure,
        }
    }
}

impl From<EnvironmentError> for Fault {
    fn from(error: EnvironmentError) -> Self {
        let message = chain(&error);
        match error {
            EnvironmentError::NoHome => Self::machine(message)
                .with_hint("set it to your home directory: `~` and protected paths need it"),
            EnvironmentError::Path { .. } => Self::machine(message),
            EnvironmentError::Argument { .. } => Self::request(message),
            EnvironmentError::Key { .. } => {
                Self::machine(message).with_hint("correct the variable, or unset it")
            }
            EnvironmentError::HandOver(_) => Self::machine(message).with_hint(
                "unset the variables with keys and use `ironcurtain config set apiKey -`",
            ),
        }
    }
}

impl From<FileError> for Fault {
    fn from(error: FileError) -> Self {
        let failure = Self::machine(chain(&error));
        match error {
            FileError::NotOurs { .. } => failure.with_hint(
                "make it yours with chown, or set IRONCURTAIN_HOME to a directory of your own",
            ),
            FileError::Link { .. } => failure.with_hint("put the file itself there"),
            FileError::System { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => failure.with_hint(
                    "the disk is full: free some space, or set IRONCURTAIN_HOME to a directory on \
                     another disk",
                ),
                io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => failure
                    .with_hint(
                        "make it writable for you, or set IRONCURTAIN_HOME to another directory",
                    ),
                _ => failure,
            },
            FileError::NotRegular { .. }
            | FileError::NotDirectory { .. }
            | FileError::Exists { .. }
            | FileError::TooLong { .. } => failure,
        }
    }
}

/// What to do about a home of the other program.
const FOREIGN: &str = "set IRONCURTAIN_HOME to another directory; `ironcurtain migrate` then copies \
                       constitution, policies and keys there. If you wrote this config.json yourself \
                       for this program, add `\"version\": 1` to it";

impl From<HomeError> for Fault {
    fn from(error: HomeError) -> Self {
        let message = chain(&error);
        match error {
            HomeError::Foreign { .. } => Self::config(message).with_hint(FOREIGN),
            HomeError::LinkNotOurs { .. } => {
                Self::machine(message).with_hint("set IRONCURTAIN_HOME to a directory of your own")
            }
            HomeError::Dangling { .. } => {
                Self::machine(message).with_hint("make the directory, or remove the link")
            }
            HomeError::NoParent { .. } => Self::machine(message)
                .with_hint("make that directory, or set IRONCURTAIN_HOME to another one"),
            HomeError::File(error) => error.into(),
        }
    }
}

impl From<ConfigError> for Fault {
    fn from(error: ConfigError) -> Self {
        let message = chain(&error);
        match error {
            ConfigError::File(error) => error.into(),
            ConfigError::Foreign { .. } => Self::config(message).with_hint(FOREIGN),
            ConfigError::Json { .. }
            | ConfigError::NoConfig { .. }
            | ConfigError::NoObject { .. } => Self::config(message)
                .with_hint("correct the file; IronCurtain never guesses what it means"),
            ConfigError::Version { .. } => Self::config(message)
                .with_hint("use the program that wrote it, or another IRONCURTAIN_HOME"),
            ConfigError::Faults(faults) => Self::config(message)
                .with_details(faults.iter().map(ToString::to_string).collect())
                .with_hint("`ironcurtain config explain KEY` says what a key may hold"),
        }
    }
}

impl From<ic_audit::AuditError> for Fault {
    fn from(error: ic_audit::AuditError) -> Self {
        Self::machine(chain(&error))
    }
}

impl From<ic_session::OpenError> for Fault {
    fn from(error: ic_session::OpenError) -> Self {
        use ic_backend::NotOpened;
        use ic_session::{DirectoryError, OpenError};
        let message = chain(&error);
        match error {
            OpenError::File(error)
            | OpenError::Directory(DirectoryError::File(error))
            | OpenError::Servers(NotOpened::File(error)) => error.into(),
            OpenError::Key(error) => error.into(),
            OpenError::Audit(error) => error.into(),
            OpenError::InUse(_) => {
                Self::machine(message).with_hint("end it first, or take another one")
            }
            OpenError::Directory(DirectoryError::Store(error)) => error.into(),
            OpenError::Directory(_)
            | OpenError::Grants(_)
            | OpenError::Servers(NotOpened::Damaged(_))
            | OpenError::NoChance(_) => Self::machine(message),
        }
    }
}

impl From<ic_store::StoreError> for Fault {
    fn from(error: ic_store::StoreError) -> Self {
        use ic_store::StoreError;
        let message = chain(&error);
        match error {
            StoreError::File(error) => error.into(),
            StoreError::Damaged { .. } => Self::config(message)
                .with_hint("put the file from a copy back, or start a new session"),
            StoreError::Unknown(_) => {
                Self::config(message).with_hint("`ironcurtain sessions list` shows all sessions")
            }
            StoreError::Ambiguous { .. } => Self::config(message).with_hint("write more of it"),
            StoreError::Taken { .. } => {
                Self::request(message).with_hint("give this one another name, or none")
            }
            StoreError::Running(_) => {
                Self::machine(message).with_hint("end it first, or take another one")
            }
            StoreError::NoConversation(_)
            | StoreError::Purged(_)
            | StoreError::NothingToContinue => {
                Self::config(message).with_hint("`ironcurtain start` begins a new session")
            }
        }
    }
}

impl From<ic_audit::key::KeyError> for Fault {
    fn from(error: ic_audit::key::KeyError) -> Self {
        Self::config(chain(&error))
    }
}
