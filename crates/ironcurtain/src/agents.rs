//! The programs of agents of others, as they are kept under the home: `agents/<agent>/installed.json`.
//!
//! What an agent is and how it is run is known in `ic_adapter`.

use std::path::{Path, PathBuf};

use ic_adapter::Adapter;
use ic_home::{Home, file};
use ic_types::AbsolutePath;
use serde::{Deserialize, Serialize};

use crate::error::Failure;

/// The file that says what is installed.
const RECORD: &str = "installed.json";
/// How long that file may be.
const RECORD_BYTES_MAX: u64 = 64 << 10;

/// An agent's program that is installed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InstalledAgent {
    /// Its version, as its package or the user says.
    pub(crate) version: String,
    /// Where it came from, in words.
    pub(crate) source: String,
    /// What it is checked by: npm's integrity, or the digest of the file.
    pub(crate) integrity: String,
    /// The program.
    pub(crate) program: PathBuf,
}

impl InstalledAgent {
    /// Returns what is installed of an agent, if it is.
    pub(crate) fn find(home: &Home, adapter: &dyn Adapter) -> Result<Option<Self>, Failure> {
        let path = directory(home, adapter).join(RECORD);
        let Some(bytes) = file::read_own(&path, RECORD_BYTES_MAX)? else { return Ok(None) };
        let read: Self = serde_json::from_slice(&bytes).map_err(|error| {
            Failure::config(format!("`{}` cannot be read", path.display()))
                .with_source(error)
                .with_hint(format!(
                    "install it again: ironcurtain agents install {}",
                    adapter.name()
                ))
        })?;
        Ok(Some(read))
    }

    /// Returns what is installed of an agent; if it is not, says how to install it.
    pub(crate) fn require(home: &Home, adapter: &dyn Adapter) -> Result<Self, Failure> {
        let install = format!("install it with: ironcurtain agents install {}", adapter.name());
        let missing = |what: String| Failure::config(what).with_hint(install.clone());
        let found = Self::find(home, adapter)?
            .ok_or_else(|| missing(format!("{} is not installed", adapter.title())))?;
        match found.is_there() {
            true => Ok(found),
            false => Err(missing(format!(
                "the program of {} is gone: `{}`",
                adapter.title(),
                found.program.display()
            ))),
        }
    }

    /// Returns whether the program is where it was put.
    pub(crate) fn is_there(&self) -> bool {
        rustix::fs::access(&self.program, rustix::fs::Access::EXEC_OK).is_ok()
    }

    /// Returns the path of the program.
    pub(crate) fn path(&self) -> Result<AbsolutePath, Failure> {
        AbsolutePath::new(&self.program)
            .map_err(|error| Failure::config(format!("`{}`: {error}", self.program.display())))
    }

    /// Writes down that this is installed.
    pub(crate) fn write(&self, home: &Home, adapter: &dyn Adapter) -> Result<(), Failure> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| {
            Failure::environment("cannot write down what is installed").with_source(error)
        })?;
        Ok(file::replace(directory(home, adapter).join(RECORD), &text)?)
    }

    /// Says what should be known of a version that the adapter was not tried with.
    pub(crate) fn caution(&self, adapter: &dyn Adapter) -> Option<String> {
        let tried = adapter.package().version;
        (self.version != tried).then(|| {
            format!(
                "{} {} is installed; IronCurtain was tested with {tried}",
                adapter.title(),
                self.version
            )
        })
    }
}

/// Finds the agent of that name.
pub(crate) fn adapter(name: &str) -> Result<&'static dyn Adapter, Failure> {
    ic_adapter::find(name).ok_or_else(|| {
        Failure::usage(format!(
            "Unknown agent: {name}. Available: {}",
            ic_adapter::names().join(", ")
        ))
    })
}

/// Returns where an agent is kept.
pub(crate) fn directory(home: &Home, adapter: &dyn Adapter) -> PathBuf {
    home.installed_agents().join(adapter.name())
}

/// Returns the program of a package that was installed into `target`.
pub(crate) fn program_in(target: &Path, adapter: &dyn Adapter) -> PathBuf {
    let package = adapter.package();
    target.join(crate::installer::npm::MODULES).join(package.name).join(package.program)
}
