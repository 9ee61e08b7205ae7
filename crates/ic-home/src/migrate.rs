//! Copies what is worth keeping from the other program's home into one of ours.
//!
//! Constitution, policy files and providers' keys are copied; everything else is named and left.
//! The source is only read. What is copied is not checked beyond being JSON: whoever loads it does.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ic_types::{AbsolutePath, Json, JsonError, JsonLimits, Object};
use rustix::fs::{AtFlags, CWD};
use zeroize::Zeroizing;

use crate::config::document::{CONFIG_BYTES_MAX, LIMITS};
use crate::config::update::{self, UpdateError};
use crate::config::{ConfigError, ConfigFile, KeyName, Layers, Settings};
use crate::environment::Environment;
use crate::file::{self, Doing, FileError};
use crate::layout::Home;

/// The largest file that is copied.
const FILE_BYTES_MAX: u64 = JsonLimits::ARTIFACT.bytes_max as u64;
/// The files of a policy.
const POLICY: [&str; 4] =
    ["compiled-policy.json", "tool-annotations.json", "dynamic-lists.json", "test-scenarios.json"];
/// The key of the policy in force, and what is in force without it in a home that has no policy.
const POLICY_KEY: &str = "policy";
const IN_FORCE: &str = "default";
/// The other program's names for keys, and ours; older ones of its homes use ours.
const KEYS: [(&str, &str); 4] = [
    ("apiKey", "apiKey"),
    ("anthropicApiKey", "apiKey"),
    ("openaiApiKey", "openaiApiKey"),
    ("googleApiKey", "googleApiKey"),
];

/// What was copied, and what was not.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Report {
    /// What was copied, in words.
    pub copied: Vec<String>,
    /// What is in the source and was not copied.
    pub left: Vec<String>,
    /// Whether a policy was copied, which the user has to put in force.
    pub has_policy: bool,
}

/// A home that was not migrated.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// The source is no home of the other program.
    #[error("`{}` is not a home of the TypeScript IronCurtain: {reason}", .from.display())]
    NotForeign {
        /// The source.
        from: PathBuf,
        /// What is missing.
        reason: &'static str,
    },
    /// Source and target are the same, or one lies in the other.
    #[error("cannot migrate `{}` into itself", .from.display())]
    Same {
        /// The source.
        from: PathBuf,
    },
    /// The target has something of its own there.
    #[error("`{}` has {what} already", .to.display())]
    Exists {
        /// The target.
        to: PathBuf,
        /// What is there.
        what: String,
    },
    /// A file of the source is not valid JSON.
    #[error("`{}` is not valid JSON", .path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        source: JsonError,
    },
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The target cannot be used, or what is copied cannot be part of it.
    #[error(transparent)]
    Update(#[from] UpdateError),
}

/// What is taken from the source.
struct Loot {
    constitution: Option<Vec<u8>>,
    policy: Vec<(&'static str, Vec<u8>)>,
    keys: Vec<(KeyName, Json)>,
    left: Vec<String>,
}

/// Copies constitution, policy and keys from the home at `from` into `to`.
pub fn migrate(
    from: &AbsolutePath,
    to: &Home,
    environment: &Environment,
) -> Result<Report, MigrateError> {
    let from = from.as_path();
    refuse_same(from, &to.root())?;
    let loot = Loot::take(from)?;
    loot.refuse_overwriting(to, environment)?;
    let report = loot.report(to);
    let mut made = Vec::new();
    loot.put(to, environment, &mut made).inspect_err(|_| {
        for path in &made {
            // What cannot be removed is in the way of the next attempt, which says so.
            file::remove(path).ok();
        }
    })?;
    Ok(report)
}

impl Loot {
    fn take(from: &Path) -> Result<Self, MigrateError> {
        let config = read_config(from)?;
        let base = file::read_following(from.join("constitution.md"), FILE_BYTES_MAX)?;
        let added = file::read_following(from.join("constitution-user.md"), FILE_BYTES_MAX)?;
        let constitution = match (base, added) {
            // The other program reads one after the other.
            (Some(base), Some(added)) => Some([base, b"\n\n".to_vec(), added].concat()),
            (base, added) => base.or(added),
        };
        let mut policy = Vec::new();
        for name in POLICY {
            let path = from.join("generated").join(name);
            if let Some(bytes) = file::read_following(&path, FILE_BYTES_MAX)? {
                Json::parse(&bytes, JsonLimits::ARTIFACT)
                    .map_err(|source| MigrateError::Json { path, source })?;
                policy.push((name, bytes));
            }
        }
        let left = left_over(from, &config)?;
        Ok(Self { constitution, policy, keys: keys(&config), left })
    }

    fn refuse_overwriting(&self, to: &Home, environment: &Environment) -> Result<(), MigrateError> {
        let exists = |what: &str| MigrateError::Exists { to: to.root(), what: what.to_owned() };
        let is_there = |path: &Path| match file::read(path, u64::MAX) {
            Ok(content) => Ok(content.is_some()),
            // Whatever it is, it is in the way.
            Err(FileError::Link { .. } | FileError::NotRegular { .. }) => Ok(true),
            Err(error) => Err(error),
        };
        if self.constitution.is_some() && is_there(&to.constitution())? {
            return Err(exists("a constitution"));
        }
        for (name, _) in &self.policy {
            if is_there(&to.generated().join(name))? {
                return Err(exists(&format!("generated/{name}")));
            }
        }
        let file = ConfigFile::read(to).map_err(UpdateError::from)?;
        let layers = Layers { flags: &[], environment, file: &file };
        let settings = Settings::gather(&layers).map_err(UpdateError::from)?;
        for (name, _) in &self.keys {
            if settings.get(name).is_some_and(|setting| setting.file.is_some()) {
                return Err(exists(&format!("the key {name}")));
            }
        }
        Ok(())
    }

    fn put(
        self,
        to: &Home,
        environment: &Environment,
        made: &mut Vec<PathBuf>,
    ) -> Result<(), MigrateError> {
        to.prepare().map_err(UpdateError::from)?;
        if let Some(bytes) = self.constitution {
            file::create_new(to.constitution(), &bytes)?;
            made.push(to.constitution());
        }
        if !self.policy.is_empty() {
            if file::read(to.config(), u64::MAX)?.is_none() {
                made.push(to.config());
            }
            keep_policy_in_force(to, environment)?;
            file::create_dir(to.generated())?;
        }
        for (name, bytes) in self.policy {
            let path = to.generated().join(name);
            file::create_new(&path, &bytes)?;
            made.push(path);
        }
        // Last, and all at once: a home with keys and without policy would be worse than none.
        update::set(to, environment, self.keys)?;
        Ok(())
    }

    fn report(&self, to: &Home) -> Report {
        let mut copied = Vec::new();
        if self.constitution.is_some() {
            copied.push("constitution.md".to_owned());
        }
        copied.extend(self.policy.iter().map(|(name, _)| format!("generated/{name}")));
        copied.extend(self.keys.iter().map(|(name, _)| format!("{name} (the key, not shown)")));
        let copied = copied.into_iter().map(|it| format!("{it} to {}", to.root().display()));
        let has_policy = !self.policy.is_empty();
        Report { copied: copied.collect(), left: self.left.clone(), has_policy }
    }
}

/// Keeps the policy that is in force while none is named and none is in the home.
///
/// SECURITY: the one that is copied may allow more, and nobody was shown what; the user puts it in force.
fn keep_policy_in_force(to: &Home, environment: &Environment) -> Result<(), MigrateError> {
    let file = ConfigFile::read(to).map_err(UpdateError::from)?;
    match KeyName::parse(POLICY_KEY) {
        Ok(name) if !file.is_set(POLICY_KEY) => {
            Ok(update::set(to, environment, vec![(name, Json::from(IN_FORCE))])?)
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

fn read_config(from: &Path) -> Result<Object, MigrateError> {
    let not_foreign = |reason| MigrateError::NotForeign { from: from.to_owned(), reason };
    let path = from.join("config.json");
    let bytes = file::read_following(&path, CONFIG_BYTES_MAX)?;
    let bytes = Zeroizing::new(bytes.ok_or_else(|| not_foreign("it has no config.json"))?);
    match Json::parse(&bytes, LIMITS) {
        Ok(Json::Object(object)) if object.get("version").is_some() => {
            Err(not_foreign("its config.json has a `version`, so it belongs to this program"))
        }
        Ok(Json::Object(object)) => Ok(object),
        Ok(Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_)) => {
            Err(not_foreign("its config.json is not a JSON object"))
        }
        Err(source) => Err(MigrateError::Json { path, source }),
    }
}

fn keys(config: &Object) -> Vec<(KeyName, Json)> {
    let mut keys: Vec<(KeyName, Json)> = Vec::new();
    for (theirs, ours) in KEYS {
        let value = config.get(theirs).filter(|value| value.as_str() != Some(""));
        let (Some(value), Ok(name)) = (value, KeyName::parse(ours)) else { continue };
        if !keys.iter().any(|(known, _)| known.key().name == name.key().name) {
            keys.push((name, value.clone()));
        }
    }
    keys
}

/// Names what is in the source and is not copied.
fn left_over(from: &Path, config: &Object) -> Result<Vec<String>, FileError> {
    let is_key = |name: &&str| KEYS.iter().any(|(theirs, _)| theirs == name);
    let mut left: Vec<String> = config
        .keys()
        .filter(|name| !is_key(name))
        .map(|name| format!("{name} of config.json"))
        .collect();
    let is_copied = |name: &OsStr| {
        ["config.json", "constitution.md", "constitution-user.md", "generated"]
            .iter()
            .any(|it| name == *it)
    };
    let names = file::names(from)?.unwrap_or_default();
    left.extend(names.iter().filter(|it| !is_copied(it)).map(|it| it.display().to_string()));
    let generated = match file::names(from.join("generated")) {
        Ok(names) => names.unwrap_or_default(),
        Err(FileError::NotDirectory { .. }) => Vec::new(),
        Err(error) => return Err(error),
    };
    let generated = generated.iter().filter(|name| !POLICY.iter().any(|it| *name == it));
    left.extend(generated.map(|name| format!("generated/{}", name.display())));
    Ok(left)
}

/// Refuses a target that is the source, or lies in it.
fn refuse_same(from: &Path, to: &Path) -> Result<(), MigrateError> {
    let identity = |path: &Path| match rustix::fs::statat(CWD, path, AtFlags::empty()) {
        Ok(stat) => Ok(Some((stat.st_dev, stat.st_ino))),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => Ok(None),
        Err(error) => Err(FileError::system(Doing::Read, path, error)),
    };
    let Some(source) = identity(from)? else {
        let reason = "there is no such directory";
        return Err(MigrateError::NotForeign { from: from.to_owned(), reason });
    };
    for above in to.ancestors() {
        if identity(above)? == Some(source) {
            return Err(MigrateError::Same { from: from.to_owned() });
        }
    }
    Ok(())
}

impl From<ConfigError> for MigrateError {
    fn from(error: ConfigError) -> Self {
        Self::Update(error.into())
    }
}
