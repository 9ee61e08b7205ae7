//! Failures as a person meets them: what failed, on what, what to do, and the exit code.
//!
//! Every library error becomes one of these kinds here; a denial is no failure.

use std::error::Error;
use std::fmt;
use std::io;
use std::process::ExitCode;

use ic_home::config::update::UpdateError;
use ic_home::config::{ConfigError, UnknownKey};
use ic_home::environment::EnvironmentError;
use ic_home::migrate::MigrateError;
use ic_home::{FileError, HomeError};
use ic_inventory::pins::{PackageError, PinsError};
use ic_policy::ArtifactError;
use ic_resolve::BoundsError;
pub(crate) use ic_types::chain;

/// Something that kept a command from doing its work.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    message: String,
    details: Vec<String>,
    hint: Option<String>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// Whose business a failure is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    /// The command line is wrong.
    Usage,
    /// A file of ours or of the user's is wrong.
    Config,
    /// The machine does not let us.
    Environment,
    /// Our output could not be written.
    Output,
}

impl Failure {
    /// The command line is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind: Kind::Usage, message, details: Vec::new(), hint: None, source: None }
    }

    /// A file is wrong.
    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self { kind: Kind::Config, ..Self::usage(message) }
    }

    /// The machine does not let us.
    pub(crate) fn environment(message: impl Into<String>) -> Self {
        Self { kind: Kind::Environment, ..Self::usage(message) }
    }

    /// Our output could not be written.
    pub(crate) fn output(source: io::Error) -> Self {
        Self { kind: Kind::Output, ..Self::usage("cannot write the output") }.with_source(source)
    }

    /// Adds what to do about it.
    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Adds the cause.
    pub(crate) fn with_source(self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: Some(source.into()), ..self }
    }

    /// Adds what is wrong in particular, a line each.
    pub(crate) fn with_details(self, details: Vec<String>) -> Self {
        Self { details, ..self }
    }

    /// Returns what is wrong in particular.
    pub(crate) fn details(&self) -> &[String] {
        &self.details
    }

    /// Returns what to do about it.
    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Returns whether the reader of our output went away.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        let source = self.source.as_deref().and_then(|source| source.downcast_ref::<io::Error>());
        self.kind == Kind::Output
            && source.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Returns the exit code: 2 for usage, 1 for the rest.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self.kind {
            Kind::Usage => 2,
            Kind::Config | Kind::Environment | Kind::Output => 1,
        })
    }
}

/// Prints the message and its causes, joined by colons.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let mut source = self.source.as_deref().map(|source| source as &dyn Error);
        while let Some(cause) = source {
            write!(f, ": {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}

impl From<ArtifactError> for Failure {
    fn from(error: ArtifactError) -> Self {
        Self::config(error.to_string())
    }
}

impl From<BoundsError> for Failure {
    fn from(error: BoundsError) -> Self {
        let message = error.to_string();
        let failure = Self::environment(message);
        match error.source() {
            Some(cause) => failure.with_source(cause.to_string()),
            None => failure,
        }
    }
}

impl From<EnvironmentError> for Failure {
    fn from(error: EnvironmentError) -> Self {
        let message = chain(&error);
        match error {
            EnvironmentError::NoHome => Self::environment(message)
                .with_hint("set it to your home directory: `~` and protected paths need it"),
            EnvironmentError::Path { .. } => Self::environment(message),
            EnvironmentError::Argument { .. } => Self::usage(message),
            EnvironmentError::Key { .. } => {
                Self::environment(message).with_hint("correct the variable, or unset it")
            }
            EnvironmentError::HandOver(_) => Self::environment(message).with_hint(
                "unset the variables with keys and use `ironcurtain config set apiKey -`",
            ),
        }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        let failure = Self::environment(chain(&error));
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

impl From<HomeError> for Failure {
    fn from(error: HomeError) -> Self {
        let message = chain(&error);
        match error {
            HomeError::Foreign { .. } => Self::config(message).with_hint(FOREIGN),
            HomeError::LinkNotOurs { .. } => Self::environment(message)
                .with_hint("set IRONCURTAIN_HOME to a directory of your own"),
            HomeError::Dangling { .. } => {
                Self::environment(message).with_hint("make the directory, or remove the link")
            }
            HomeError::NoParent { .. } => Self::environment(message)
                .with_hint("make that directory, or set IRONCURTAIN_HOME to another one"),
            HomeError::File(error) => error.into(),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let message = chain(&error);
        match error {
            ConfigError::File(error) => error.into(),
            ConfigError::Foreign { .. } => Self::config(message).with_hint(FOREIGN),
            ConfigError::Json { .. }
            | ConfigError::NoConfig { .. }
            | ConfigError::NoObject { .. } => {
                Self::config(message).with_hint("correct the file; it is never changed by a guess")
            }
            ConfigError::Version { .. } => Self::config(message)
                .with_hint("use the program that wrote it, or another IRONCURTAIN_HOME"),
            ConfigError::Faults(faults) => Self::config(message)
                .with_details(faults.iter().map(ToString::to_string).collect())
                .with_hint("`ironcurtain config explain KEY` says what a key may hold"),
        }
    }
}

impl From<UpdateError> for Failure {
    fn from(error: UpdateError) -> Self {
        match error {
            UpdateError::Home(error) => error.into(),
            UpdateError::Config(error) => error.into(),
        }
    }
}

impl From<UnknownKey> for Failure {
    fn from(error: UnknownKey) -> Self {
        let failure = Self::usage(error.to_string());
        match error {
            UnknownKey::Unknown { similar: Some(similar), .. } => {
                failure.with_hint(format!("did you mean `{similar}`?"))
            }
            UnknownKey::Unknown { similar: None, .. } => {
                failure.with_hint("`ironcurtain config list` shows all keys")
            }
            UnknownKey::Group { .. } | UnknownKey::Entry { .. } => failure,
        }
    }
}

impl From<MigrateError> for Failure {
    fn from(error: MigrateError) -> Self {
        let message = chain(&error);
        match error {
            MigrateError::NotForeign { .. } => {
                Self::config(message).with_hint("name the other program's home with `--from DIR`")
            }
            MigrateError::Same { .. } => {
                Self::config(message).with_hint("set IRONCURTAIN_HOME to the directory to copy to")
            }
            MigrateError::Exists { .. } => Self::config(message)
                .with_hint("nothing is overwritten; remove it first, or migrate into another home"),
            MigrateError::Json { .. } => Self::config(message)
                .with_hint("correct the file, or take it away; nothing was copied"),
            MigrateError::File(error) => error.into(),
            MigrateError::Update(error) => error.into(),
        }
    }
}

impl From<PinsError> for Failure {
    fn from(error: PinsError) -> Self {
        Self::config(chain(&error)).with_hint(
            "no server is started while it is unknown what was trusted: restore \
             servers.lock.json, or move it away, and each server counts as new",
        )
    }
}

impl From<PackageError> for Failure {
    fn from(error: PackageError) -> Self {
        Self::environment(chain(&error))
            .with_hint("`ironcurtain servers remove NAME`, and add it again, installs it anew")
    }
}

impl From<ic_audit::AuditError> for Failure {
    fn from(error: ic_audit::AuditError) -> Self {
        Self::environment(chain(&error))
    }
}

impl From<ic_session::OpenError> for Failure {
    fn from(error: ic_session::OpenError) -> Self {
        use ic_session::{DirectoryError, OpenError};
        let message = chain(&error);
        match error {
            OpenError::File(error) | OpenError::Directory(DirectoryError::File(error)) => {
                error.into()
            }
            OpenError::Key(error) => error.into(),
            OpenError::Audit(error) => error.into(),
            OpenError::InUse(_) => {
                Self::environment(message).with_hint("end it first, or take another one")
            }
            OpenError::Directory(DirectoryError::Store(error)) => error.into(),
            OpenError::Directory(_) | OpenError::Grants(_) | OpenError::NoChance(_) => {
                Self::environment(message)
            }
        }
    }
}

impl From<ic_store::StoreError> for Failure {
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
                Self::usage(message).with_hint("give this one another name, or none")
            }
            StoreError::Running(_) => {
                Self::environment(message).with_hint("end it first, or take another one")
            }
            StoreError::NoConversation(_)
            | StoreError::Purged(_)
            | StoreError::NothingToContinue => {
                Self::config(message).with_hint("`ironcurtain start` begins a new session")
            }
        }
    }
}

impl From<ic_audit::verify::VerifyError> for Failure {
    fn from(error: ic_audit::verify::VerifyError) -> Self {
        Self::environment(chain(&error))
    }
}

impl From<ic_audit::key::KeyError> for Failure {
    fn from(error: ic_audit::key::KeyError) -> Self {
        Self::config(chain(&error))
    }
}

impl From<ic_servers::filesystem::ViewError> for Failure {
    fn from(error: ic_servers::filesystem::ViewError) -> Self {
        Self::usage(chain(&error))
            .with_hint("`ironcurtain mcp-server filesystem --help` shows what a view looks like")
    }
}

impl From<ic_servers::git::OpenGitError> for Failure {
    fn from(error: ic_servers::git::OpenGitError) -> Self {
        use ic_servers::git::OpenGitError;
        let hint = match &error {
            OpenGitError::NoGit(_) => "install git 2.38 or newer in `/usr/bin` or `/usr/local/bin`",
            OpenGitError::Scratch(_) => "set `TMPDIR` to a directory that can be written",
            OpenGitError::Unsupported(_) => {
                "Linux 5.6 or newer is needed, and a container must not filter out `openat2`"
            }
            OpenGitError::Schema(_) => "this is a bug in IronCurtain; please report it",
        };
        Self::environment(chain(&error)).with_hint(hint)
    }
}

impl From<ic_servers::filesystem::OpenError> for Failure {
    fn from(error: ic_servers::filesystem::OpenError) -> Self {
        Self::environment(chain(&error)).with_hint(
            "Linux 5.6 or newer is needed, and a container must not filter out `openat2`",
        )
    }
}

impl From<ic_servers::ServeError> for Failure {
    fn from(error: ic_servers::ServeError) -> Self {
        Self::environment(chain(&error))
    }
}
