//! The layers put on top of each other: flag, environment, file, default; and who won.
//!
//! A value in a lower layer is checked even where a higher one wins: nothing is silently ignored.

use std::collections::BTreeMap;
use std::sync::Arc;

use ic_types::{Json, Secret};

use crate::config::document::{ConfigFile, LIMITS};
use crate::config::error::{ConfigError, Fault, Place};
use crate::config::key::{KEYS, Key, KeyName};
use crate::config::value::{self, Kind};
use crate::environment::{ApiKey, Environment};

/// Where values come from, strongest first.
#[derive(Clone, Copy, Debug)]
pub struct Layers<'a> {
    /// Flags of the command line that stand for keys.
    pub flags: &'a [Flag],
    /// The environment.
    pub environment: &'a Environment,
    /// The configuration file.
    pub file: &'a ConfigFile,
}

/// A flag of the command line that stands for a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Flag {
    /// The flag, such as `--model`.
    pub name: &'static str,
    /// The key that it stands for.
    pub key: &'static str,
    /// Its value.
    pub value: Json,
}

/// A value as it may be shown.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// The value itself.
    Value(Json),
    /// A secret, of which only that much is told.
    Set,
}

/// Where the value in force comes from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Origin {
    /// A flag.
    Flag(&'static str),
    /// An environment variable.
    Environment(&'static str),
    /// The configuration file.
    File,
    /// Nobody said otherwise.
    Default,
}

/// What each layer says about one key.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The key's whole name; for a map without entries, that of any entry.
    pub name: String,
    /// The key.
    pub key: &'static Key,
    /// The flag that is given for it.
    pub flag: Option<(&'static str, Shown)>,
    /// The variable that is set for it.
    pub environment: Option<(&'static str, Shown)>,
    /// What the file says.
    pub file: Option<Shown>,
    /// What is in force if nobody says anything.
    pub default: Option<Json>,
}

/// All keys, with what each layer says.
#[derive(Debug)]
pub struct Settings {
    all: Vec<Setting>,
    values: BTreeMap<String, Json>,
    secrets: BTreeMap<String, ApiKey>,
}

// === impl Settings ===

impl Settings {
    /// Puts the layers on top of each other; fails with everything that is wrong in any of them.
    pub fn gather(layers: &Layers<'_>) -> Result<Self, ConfigError> {
        let mut faults = layers.file.faults(layers.environment);
        let mut settings = Self::defaults();
        for (name, value) in layers.file.entries(&mut Vec::new()) {
            settings.put(&name, value, Origin::File);
        }
        for key in KEYS {
            settings.put_variable(key, layers.environment, &mut faults);
        }
        for flag in layers.flags {
            settings.put_flag(flag, layers.environment, &mut faults);
        }
        match faults.is_empty() {
            true => Ok(settings),
            false => Err(ConfigError::Faults(faults)),
        }
    }

    fn defaults() -> Self {
        let default = |key: &Key| {
            let json = key.default.map(|text| Json::parse(text.as_bytes(), LIMITS));
            // A test parses them all.
            json.and_then(Result::ok)
        };
        let all: Vec<Setting> = KEYS
            .iter()
            .map(|key| Setting {
                name: key.name.to_owned(),
                key,
                flag: None,
                environment: None,
                file: None,
                default: default(key),
            })
            .collect();
        let values = all.iter().filter_map(|it| Some((it.name.clone(), it.default.clone()?)));
        let values = values.collect();
        Self { all, values, secrets: BTreeMap::new() }
    }

    fn put_variable(
        &mut self,
        key: &'static Key,
        environment: &Environment,
        faults: &mut Vec<Fault>,
    ) {
        let is_set = |name: &&str| environment.is_set(name);
        let Some(variable) = key.variables().find(is_set) else { return };
        let Ok(name) = KeyName::parse(key.name) else { return };
        if let Some(secret) = environment.key(variable) {
            self.secrets.insert(key.name.to_owned(), Arc::clone(secret));
            self.change(&name, |it| it.environment = Some((variable, Shown::Set)));
        }
        let Some(text) = environment.text(variable) else { return };
        let value = Json::from(text.to_string_lossy().into_owned());
        match key.kind.check(&value, environment) {
            Ok(()) => self.put(&name, &value, Origin::Environment(variable)),
            Err(reason) => {
                let place = Place::Variable(variable);
                faults.push(Fault { place, key: key.name.to_owned(), reason });
            }
        }
    }

    fn put_flag(&mut self, flag: &Flag, environment: &Environment, faults: &mut Vec<Fault>) {
        let checked = KeyName::parse(flag.key)
            .map_err(|unknown| unknown.with_guess())
            .and_then(|name| name.key().kind.check(&flag.value, environment).map(|()| name));
        match checked {
            Ok(name) => self.put(&name, &flag.value, Origin::Flag(flag.name)),
            Err(reason) => {
                let place = Place::Flag(flag.name);
                faults.push(Fault { place, key: flag.key.to_owned(), reason });
            }
        }
    }

    /// Notes what a layer says; layers come weakest first, so the last one is in force.
    fn put(&mut self, name: &KeyName, value: &Json, source: Origin) {
        let shown = if name.key().kind == Kind::Secret {
            if let Ok(secret) = value::secret(value) {
                let secret = Arc::new(Secret::new(secret.to_owned()));
                self.secrets.insert(name.to_string(), secret);
            }
            Shown::Set
        } else {
            self.values.insert(name.to_string(), value.clone());
            Shown::Value(value.clone())
        };
        self.change(name, |setting| match source {
            Origin::Flag(flag) => setting.flag = Some((flag, shown)),
            Origin::Environment(variable) => setting.environment = Some((variable, shown)),
            Origin::File => setting.file = Some(shown),
            Origin::Default => {}
        });
    }

    /// Changes the setting of `name`; the first entry of a map takes the place of the map's row.
    fn change(&mut self, name: &KeyName, change: impl FnOnce(&mut Setting)) {
        let (key, whole) = (name.key(), name.to_string());
        let is_row = |it: &&mut Setting| it.name == whole || it.name == key.name;
        if let Some(setting) = self.all.iter_mut().find(is_row) {
            setting.name = whole;
            return change(setting);
        }
        let (flag, environment, file, default) = (None, None, None, None);
        let mut setting = Setting { name: whole, key, flag, environment, file, default };
        change(&mut setting);
        let last = self.all.iter().rposition(|it| it.key.name == key.name);
        self.all.insert(last.map_or(self.all.len(), |last| last + 1), setting);
    }

    /// Returns every key, in the order of the registry.
    pub fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.all.iter()
    }

    /// Returns what the layers say about one key.
    pub fn get(&self, name: &KeyName) -> Option<&Setting> {
        let whole = name.to_string();
        self.all.iter().find(|setting| setting.name == whole)
    }

    pub(crate) fn value(&self, name: &str) -> Option<&Json> {
        self.values.get(name)
    }

    pub(crate) fn secret(&self, name: &str) -> Option<&ApiKey> {
        self.secrets.get(name)
    }

    /// Returns the entries of a map that hold values: what follows `map`, and the value.
    pub(crate) fn entries(&self, map: &str) -> impl Iterator<Item = (&str, &Json)> {
        self.values.iter().filter_map(move |(name, value)| Some((name.strip_prefix(map)?, value)))
    }

    /// Returns the entries of a map that hold secrets.
    pub(crate) fn secret_entries(&self, map: &str) -> impl Iterator<Item = (&str, &ApiKey)> {
        self.secrets.iter().filter_map(move |(name, value)| Some((name.strip_prefix(map)?, value)))
    }
}

// === impl Setting ===

impl Setting {
    /// Returns the value in force, or `None` if there is none.
    pub fn value(&self) -> Option<Shown> {
        let flag = self.flag.as_ref().map(|(_, shown)| shown);
        let environment = self.environment.as_ref().map(|(_, shown)| shown);
        let said = flag.or(environment).or(self.file.as_ref()).cloned();
        said.or_else(|| self.default.clone().map(Shown::Value))
    }

    /// Returns where the value in force comes from.
    pub fn origin(&self) -> Origin {
        match (&self.flag, &self.environment, &self.file) {
            (Some((name, _)), _, _) => Origin::Flag(name),
            (None, Some((name, _)), _) => Origin::Environment(name),
            (None, None, Some(_)) => Origin::File,
            (None, None, None) => Origin::Default,
        }
    }
}
