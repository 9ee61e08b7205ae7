//! What can be wrong with a configuration, and how it is said: the place, the key, what is allowed.

use std::fmt;
use std::path::PathBuf;

use ic_types::JsonError;

use crate::config::key::UnknownKey;
use crate::file::FileError;

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another program made the home.
    #[error(
        "`{}` was made by another IronCurtain program (its config.json has no `version`), \
         and is left as it is", .root.display()
    )]
    Foreign {
        /// The home.
        root: PathBuf,
    },
    /// The file is not valid JSON.
    #[error("`{}` is not valid JSON", .path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        source: JsonError,
    },
    /// The file is something else altogether: there is no `{` in it, so it can configure nothing.
    #[error("`{}` is not a configuration file", .path.display())]
    NoConfig {
        /// The file.
        path: PathBuf,
    },
    /// The file holds something else than an object.
    #[error("`{}` is not a JSON object", .path.display())]
    NoObject {
        /// The file.
        path: PathBuf,
    },
    /// The file is of another version of the format.
    #[error("`{}` has the version {found}, and this program reads version 1", .path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// What stands there.
        found: String,
    },
    /// Keys or values are wrong.
    #[error("the configuration is wrong in {} {}", .0.len(), if .0.len() == 1 { "place" } else { "places" })]
    Faults(Vec<Fault>),
}

/// A key or a value that is wrong.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Fault {
    /// Where it stands.
    pub place: Place,
    /// The key.
    pub key: String,
    /// What is wrong, and what is allowed.
    pub reason: String,
}

/// Where a value stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Place {
    /// A flag of the command line.
    Flag(&'static str),
    /// An environment variable.
    Variable(&'static str),
    /// The configuration file.
    File(PathBuf),
    /// The defaults of the registry.
    Registry,
}

impl UnknownKey {
    /// Says what is wrong, with the key that may have been meant.
    pub(crate) fn with_guess(&self) -> String {
        match self {
            Self::Unknown { similar: Some(similar), .. } => {
                format!("there is no such key; did you mean `{similar}`?")
            }
            Self::Unknown { similar: None, .. } => {
                "there is no such key; `ironcurtain config list` shows all".to_owned()
            }
            Self::Group { .. } | Self::Entry { .. } => self.to_string(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: `{}`: {}", self.place, self.key, self.reason)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => write!(f, "{name}"),
            Self::Variable(name) => write!(f, "the variable {name}"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Registry => f.write_str("the default"),
        }
    }
}
