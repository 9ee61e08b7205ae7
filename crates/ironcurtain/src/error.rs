//! Failures as a person meets them: what failed, on what, what to do, and the exit code.
//!
//! Every library error becomes one of these kinds here; a denial is no failure. What opens policies and
//! sessions has done so already, with a [`Fault`].

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
use ic_opening::{Fault, FaultKind};
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
    /// The user wanted it to end.
    Cancelled,
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

    /// The user wanted it to end.
    pub(crate) fn cancelled(message: impl Into<String>) -> Self {
        Self { kind: Kind::Cancelled, ..Self::usage(message) }
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

    /// Returns the exit code: 2 for usage, 130 for what was cancelled, 1 for the rest.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self.kind {
            Kind::Usage => 2,
            Kind::Cancelled => 130,
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

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        let Fault { kind, message, details, hint, source } = fault;
        let kind = match kind {
            FaultKind::Request => Kind::Usage,
            FaultKind::Config => Kind::Config,
            FaultKind::Machine => Kind::Environment,
        };
        Self { kind, message, details, hint, source }
    }
}

/// What is the same where a session is opened and where a command fails.
macro_rules! by_fault {
    ($($error:ty),+ $(,)?) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Fault::from(error).into()
            }
        }
    )+};
}

by_fault!(
    ArtifactError,
    BoundsError,
    ConfigError,
    EnvironmentError,
    FileError,
    HomeError,
    ic_audit::AuditError,
    ic_audit::key::KeyError,
    ic_session::OpenError,
    ic_store::StoreError,
);

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

impl From<ic_audit::verify::VerifyError> for Failure {
    fn from(error: ic_audit::verify::VerifyError) -> Self {
        Self::environment(chain(&error))
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
