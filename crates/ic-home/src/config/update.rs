//! Changes `config.json`: under a lock, checked before it is written, and whole or not at all.

use ic_types::Json;

use crate::config::document::ConfigFile;
use crate::config::error::{ConfigError, Fault, Place};
use crate::config::key::KeyName;
use crate::environment::Environment;
use crate::layout::{Home, HomeError};
use crate::lock::Lock;

/// A change that was not made.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// The home cannot be used.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The configuration is wrong, as it is or as it would be.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// Whether a key was in the file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unset {
    /// It was, and is no longer.
    Removed,
    /// It was not.
    Absent,
}

/// Sets `values` in the configuration file of `home`, all of them or none; makes home and file if
/// they are not there.
///
/// Everything else in the file stays as it is, and has to be right.
pub fn set(
    home: &Home,
    environment: &Environment,
    values: Vec<(KeyName, Json)>,
) -> Result<(), UpdateError> {
    // Before anything is made: a wrong value leaves no trace.
    let faults: Vec<Fault> = values
        .iter()
        .filter_map(|(name, value)| {
            let reason = name.key().kind.check(value, environment).err()?;
            Some(Fault { place: Place::File(home.config()), key: name.to_string(), reason })
        })
        .collect();
    refuse(faults)?;
    home.prepare()?;
    let _lock = Lock::acquire(home.config_lock()).map_err(ConfigError::from)?;
    let mut file = ConfigFile::read(home)?;
    for (name, value) in values {
        file.set(&name, value);
    }
    refuse(file.faults(environment))?;
    file.write().map_err(ConfigError::from)?;
    Ok(())
}

/// Takes `name` out of the configuration file of `home`; it need not be a key that we know.
pub fn unset(home: &Home, name: &str) -> Result<Unset, UpdateError> {
    // Without a file there is nothing to make a home for.
    if ConfigFile::read(home)?.is_absent() {
        return Ok(Unset::Absent);
    }
    home.prepare()?;
    let _lock = Lock::acquire(home.config_lock()).map_err(ConfigError::from)?;
    let mut file = ConfigFile::read(home)?;
    let known = KeyName::parse(name);
    let is_removed = match &known {
        Ok(known) => file.unset(&known.parts()),
        // What is no key may be in the file all the same, and has to go.
        Err(_) => file.unset(&name.split('.').collect::<Vec<_>>()) || file.unset(&[name]),
    };
    if !is_removed {
        return Ok(Unset::Absent);
    }
    file.write().map_err(ConfigError::from)?;
    Ok(Unset::Removed)
}

fn refuse(faults: Vec<Fault>) -> Result<(), ConfigError> {
    match faults.is_empty() {
        true => Ok(()),
        false => Err(ConfigError::Faults(faults)),
    }
}
