//! Failures as a person meets them: what failed, on what, what to do, and the exit code.
//!
//! Every library error becomes one of these kinds here; a denial is no failure.

use std::error::Error;
use std::fmt;
use std::io;
use std::process::ExitCode;

use ic_policy::ArtifactError;
use ic_resolve::BoundsError;

/// Something that kept a command from doing its work.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    message: String,
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
        Self { kind: Kind::Usage, message: message.into(), hint: None, source: None }
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
