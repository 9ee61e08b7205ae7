//! `config.json` as a document: read strictly, changed in one place, written whole.
//!
//! Knows which keys there are, through the registry; what values mean is not known here.

use std::path::{Path, PathBuf};

use ic_types::{Json, JsonLimits, Object};
use zeroize::{Zeroize as _, Zeroizing};

use crate::config::error::{ConfigError, Fault, Place};
use crate::config::key::{KEYS, KeyName};
use crate::config::value;
use crate::environment::Environment;
use crate::file::{self, FileError};
use crate::layout::Home;
use crate::prepare::is_foreign_config;

/// The largest configuration file.
pub const CONFIG_BYTES_MAX: u64 = 1 << 20;
/// The same, and how deep it may nest.
pub(crate) const LIMITS: JsonLimits =
    JsonLimits { bytes_max: 1 << 20, depth_max: 16, values_max: 1 << 16 };
/// The version of the format that this program reads and writes.
const VERSION: &str = "1";

/// The configuration file, or that there is none.
pub struct ConfigFile {
    path: PathBuf,
    document: Option<Object>,
}

impl ConfigFile {
    /// Reads the configuration file of `home`; that there is none is fine.
    pub fn read(home: &Home) -> Result<Self, ConfigError> {
        let path = home.config();
        let Some(bytes) = file::read(&path, CONFIG_BYTES_MAX)? else {
            return Ok(Self { path, document: None });
        };
        let bytes = Zeroizing::new(bytes);
        if is_foreign_config(&bytes) {
            return Err(ConfigError::Foreign { root: home.root() });
        }
        Self::parse(path, &bytes)
    }

    /// Reads a configuration out of `bytes`, which were found at `path`.
    pub fn parse(path: PathBuf, bytes: &[u8]) -> Result<Self, ConfigError> {
        // An empty file is no other file, but what is left of one of ours.
        if !bytes.contains(&b'{') && !bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(ConfigError::NoConfig { path });
        }
        match Json::parse(bytes, LIMITS) {
            Ok(Json::Object(document)) => {
                let file = Self { path, document: Some(document) };
                file.check_version()?;
                Ok(file)
            }
            Ok(Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_)) => {
                Err(ConfigError::NoObject { path })
            }
            Err(source) => Err(ConfigError::Json { path, source }),
        }
    }

    fn check_version(&self) -> Result<(), ConfigError> {
        let version = self.document.as_ref().and_then(|document| document.get("version"));
        match version {
            Some(Json::Number(number)) if number.as_str() == VERSION => Ok(()),
            other => {
                let found = other.map_or_else(|| "missing".to_owned(), ToString::to_string);
                Err(ConfigError::Version { path: self.path.clone(), found })
            }
        }
    }

    /// Returns where the file is, or would be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether there is no file.
    pub fn is_absent(&self) -> bool {
        self.document.is_none()
    }

    /// Returns the keys that are set, with their values; what is no key becomes a fault.
    /// Returns whether the file sets this key.
    pub fn is_set(&self, name: &str) -> bool {
        self.entries(&mut Vec::new()).iter().any(|(key, _)| key.key().name == name)
    }

    pub(crate) fn entries(&self, faults: &mut Vec<Fault>) -> Vec<(KeyName, &Json)> {
        let mut entries = Vec::new();
        for (name, value) in self.document.iter().flat_map(Object::iter) {
            if name != "version" {
                self.collect(&[], name, value, &mut entries, faults);
            }
        }
        entries
    }

    fn collect<'a>(
        &'a self,
        above: &[&str],
        name: &'a str,
        value: &'a Json,
        entries: &mut Vec<(KeyName, &'a Json)>,
        faults: &mut Vec<Fault>,
    ) {
        let parts = [above, &[name]].concat();
        let whole = parts.join(".");
        let map = format!("{whole}.");
        let is_map = KEYS.iter().any(|key| key.map() == Some(map.as_str()));
        let is_in_map = KEYS.iter().any(|key| key.map() == Some(&format!("{}.", above.join("."))));
        let is_group = KEYS.iter().any(|key| key.name.starts_with(&map));
        let mut fault = |reason: String| {
            faults.push(Fault {
                place: Place::File(self.path.clone()),
                key: whole.clone(),
                reason,
            });
        };
        // A name with a dot in it would be taken for a key of a group that it does not stand in.
        if name.contains('.') && !is_in_map {
            return fault("there is no such key; write it as objects within objects".to_owned());
        }
        match (KeyName::parse(&whole), value) {
            (Ok(key), value) => entries.push((key, value)),
            (Err(_), Json::Object(object)) if is_map || is_group => {
                for (name, value) in object.iter() {
                    self.collect(&parts, name, value, entries, faults);
                }
            }
            (Err(_), _) if is_map || is_group => {
                fault("it holds other keys, so it has to be an object".to_owned());
            }
            (Err(unknown), _) => fault(unknown.with_guess()),
        }
    }

    /// Returns everything that is wrong with the file.
    pub fn faults(&self, environment: &Environment) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (name, value) in self.entries(&mut faults) {
            if let Err(reason) = name.key().kind.check(value, environment) {
                let place = Place::File(self.path.clone());
                faults.push(Fault { place, key: name.to_string(), reason });
            }
        }
        faults
    }

    /// Puts `value` under `name`.
    pub(crate) fn set(&mut self, name: &KeyName, value: Json) {
        let document = self.document.get_or_insert_with(empty);
        let parts = name.parts();
        let Some((last, above)) = parts.split_last() else { return };
        let mut object = document;
        for part in above {
            if !matches!(object.get(part), Some(Json::Object(_))) {
                object.insert(*part, Object::new());
            }
            match object.get_mut(part) {
                Some(Json::Object(inner)) => object = inner,
                // It was made a line above.
                Some(_) | None => return,
            }
        }
        object.insert(*last, value);
    }

    /// Takes away what is under `parts`, and the objects that are empty then; whether it was there.
    pub(crate) fn unset(&mut self, parts: &[&str]) -> bool {
        self.document.as_mut().is_some_and(|document| remove(document, parts))
    }

    /// Writes the file, whole.
    pub(crate) fn write(&self) -> Result<(), FileError> {
        let document = Json::Object(self.document.clone().unwrap_or_else(empty));
        let text = Zeroizing::new(value::pretty(&document));
        wipe(document);
        file::replace(&self.path, text.as_bytes())
    }
}

fn empty() -> Object {
    value::object([("version", Json::from(1_u64))])
}

fn remove(object: &mut Object, parts: &[&str]) -> bool {
    match parts {
        [] => false,
        [last] => *last != "version" && object.remove(last).is_some(),
        [first, rest @ ..] => {
            let Some(Json::Object(inner)) = object.get_mut(first) else { return false };
            let is_removed = remove(inner, rest);
            if is_removed && inner.is_empty() {
                object.remove(first);
            }
            is_removed
        }
    }
}

/// Overwrites every text, because some may be keys.
fn wipe(json: Json) {
    match json {
        Json::String(mut text) => text.zeroize(),
        Json::Array(items) => items.into_iter().for_each(wipe),
        Json::Object(mut object) => {
            let keys: Vec<String> = object.keys().map(ToOwned::to_owned).collect();
            keys.iter().filter_map(|key| object.remove(key)).for_each(wipe);
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

impl Drop for ConfigFile {
    fn drop(&mut self) {
        if let Some(document) = self.document.take() {
            wipe(Json::Object(document));
        }
    }
}

/// Shows the path only: the document may hold keys.
impl std::fmt::Debug for ConfigFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConfigFile").field("path", &self.path).finish_non_exhaustive()
    }
}
