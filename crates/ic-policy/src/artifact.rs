//! The files of a policy directory, as they stand on disk, and the errors that name a place in them.
//!
//! These are wire types: they mirror the format and nothing else. [`crate::Policy::load`] turns them
//! into what the decision uses. Nothing here opens a file; the caller brings the bytes.

mod additions;
mod annotations;
mod compiled;
mod lists;
mod scenarios;

use std::fmt;

use ic_types::{Json, JsonLimits};
use serde::Deserialize;

pub(crate) use additions::{AdditionFile, AdditionsFile};
pub(crate) use annotations::{
    AnnotationsFile, ArgumentFile, ConditionFile, PresenceFile, ToolFile,
};
pub(crate) use compiled::{
    CompiledFile, DomainsFile, EffectFile, IfFile, ListConditionFile, MatchTypeFile, PathsFile,
    RuleFile,
};
pub(crate) use lists::{ListFile, ListsFile};
pub use scenarios::{ExpectedDecision, Scenario, ScenarioSource, Scenarios};

/// The bytes of one file and the name to use in errors.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The file's path, as a person would recognise it.
    pub file: &'a str,
    /// What is in it.
    pub bytes: &'a [u8],
}

/// A file that cannot be used: which one, where in it, and why.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ArtifactError {
    file: String,
    place: String,
    reason: String,
}

impl ArtifactError {
    /// Says what is wrong, in which file, and where in it (nowhere in particular if `place` is empty).
    pub fn new(file: &str, place: impl Into<String>, reason: impl fmt::Display) -> Self {
        Self { file: file.to_owned(), place: place.into(), reason: reason.to_string() }
    }
}

impl std::error::Error for ArtifactError {}

impl fmt::Display for ArtifactError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, place, reason } = self;
        match place.as_str() {
            "" => write!(f, "{file}: {reason}"),
            place => write!(f, "{file}: {place}: {reason}"),
        }
    }
}

/// Reads one file format out of `source`.
///
/// Strict: our own parser, so duplicate keys are refused, and formats that deny unknown keys.
pub fn read<T: for<'de> Deserialize<'de>>(source: Source<'_>) -> Result<T, ArtifactError> {
    if source.bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(ArtifactError::new(source.file, "", "the file is empty"));
    }
    let json = Json::parse(source.bytes, JsonLimits::ARTIFACT)
        .map_err(|error| ArtifactError::new(source.file, "", error))?;
    serde_path_to_error::deserialize(&json).map_err(|error| {
        let place = match error.path().to_string() {
            path if path == "." => String::new(),
            path => path,
        };
        ArtifactError::new(source.file, place, error.inner())
    })
}
