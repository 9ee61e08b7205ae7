//! A client's file on this disk: found, read, and written anew with the old one kept.
//!
//! A link on the way is never followed silently: the target says where it really is. What is in the file
//! is not known here.

use std::path::{Path, PathBuf};

use ic_home::{Clock as _, Environment, SystemClock, file};
use ic_resolve::path::{Last, follow};
use ic_resolve::{Disk as _, RealDisk};
use ic_types::{AbsolutePath, CanonicalPath};

use super::known::ConfigFile;
use crate::error::Failure;
use crate::screen::visible;

/// The largest file that is changed.
const BYTES_MAX: u64 = 16 << 20;
/// What stands behind the name of a file in those of its older ones, with the time behind it.
const BACKUP: &str = ".ironcurtain-";

/// A client's file, whether it is there or not.
#[derive(Debug)]
pub(super) struct Target {
    /// Where the client looks for it.
    pub(super) expected: PathBuf,
    /// Where it is; another place if a link leads there.
    pub(super) real: PathBuf,
    /// What is in it; `None` if it is not there.
    pub(super) text: Option<String>,
}

impl Target {
    /// Finds a file of a client, and reads it.
    pub(super) fn find(config: &ConfigFile, environment: &Environment) -> Result<Self, Failure> {
        let user = environment.home()?;
        let named = config.variable.and_then(|it| environment.client_path(it));
        let directory = named.unwrap_or_else(|| user.as_path().join(config.directory));
        let paths = || config.names.iter().map(|name| directory.join(name));
        // What cannot be looked at is looked at again below, and named there.
        let is_there = |path: &PathBuf| RealDisk.look(path).is_ok_and(|it| it.is_some());
        let expected = paths().find(is_there).or_else(|| paths().next()).unwrap_or(directory);
        let real = followed(&environment.absolute(&expected)?)?;
        // The home itself may be reached through a link: that is where everything of the user's is.
        let is_linked = match expected.strip_prefix(user.as_path()) {
            Ok(below) => real.as_path() != followed(&user)?.as_path().join(below),
            Err(_) => real.as_path() != expected,
        };
        let real = real.as_path().to_owned();
        let text =
            match file::read(&real, BYTES_MAX)? {
                None => None,
                Some(bytes) => Some(String::from_utf8(bytes).map_err(|_| {
                    Failure::config(format!("`{}` is not UTF-8 text", real.display()))
                })?),
            };
        let expected = if is_linked { expected } else { real.clone() };
        Ok(Self { expected, real, text })
    }

    /// Returns whether a link leads from where the file is expected to where it is.
    pub(super) fn is_linked(&self) -> bool {
        self.expected != self.real
    }

    /// Returns the file's name for a person.
    pub(super) fn shown(&self) -> String {
        let expected = visible(&self.expected.display().to_string());
        match self.is_linked() {
            true => format!("{expected} (a link to {})", visible(&self.real.display().to_string())),
            false => expected,
        }
    }

    /// Returns whether an older file is kept beside this one.
    pub(super) fn has_backup(&self) -> Result<bool, Failure> {
        let mut beginning = self.real.file_name().unwrap_or_default().to_owned();
        beginning.push(BACKUP);
        let directory = self.real.parent().unwrap_or(Path::new("/"));
        let names = file::names(directory)?.unwrap_or_default();
        let beginning = beginning.as_encoded_bytes();
        Ok(names.iter().any(|it| it.as_encoded_bytes().starts_with(beginning)))
    }

    /// Writes the file anew, or removes it for `None`; returns where the old one is kept.
    pub(super) fn write(&self, text: Option<&str>) -> Result<Option<PathBuf>, Failure> {
        // The client may have written it while the person was asked.
        let now = file::read(&self.real, BYTES_MAX)?;
        if now.as_deref() != self.text.as_ref().map(String::as_bytes) {
            return Err(Failure::config(format!("`{}` has just changed", self.real.display()))
                .with_hint("close the client, then run this command again"));
        }
        let kept = match &self.text {
            None => None,
            Some(old) => {
                let backup = backup(&self.real);
                file::create_new(&backup, old.as_bytes())?;
                Some(backup)
            }
        };
        match text {
            None => file::remove(&self.real)?,
            Some(text) => {
                make_parents(&self.real)?;
                file::replace_keeping_mode(&self.real, text.as_bytes())?;
            }
        }
        Ok(kept)
    }
}

fn followed(path: &AbsolutePath) -> Result<CanonicalPath, Failure> {
    let found = follow(&RealDisk, path, Last::Follow).map_err(|fault| {
        Failure::environment(format!("cannot use `{}`: {fault}", path.as_path().display()))
    })?;
    Ok(found.path)
}

/// Returns a name for the old file that no other one has.
fn backup(path: &Path) -> PathBuf {
    let at = SystemClock.now().to_string().replace(':', "-");
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!("{BACKUP}{at}.bak"));
    path.with_file_name(name)
}

/// Makes the directories above a file that are not there.
fn make_parents(path: &Path) -> Result<(), Failure> {
    let is_missing = |path: &&Path| RealDisk.look(path).is_ok_and(|it| it.is_none());
    let missing: Vec<&Path> = path.ancestors().skip(1).take_while(is_missing).collect();
    for directory in missing.into_iter().rev() {
        file::create_new_dir(directory)?;
    }
    Ok(())
}
