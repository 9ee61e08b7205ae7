//! Changes of a repository's config: made by git in a copy, checked by us, put in place as a whole.
//!
//! Git changes no config of a repository by itself, since the one that it sees is ours. Which settings
//! are changed is decided elsewhere.

use std::fmt::Write as _;

use ic_resolve::git::CONFIG_BYTES_MAX;
use ic_resolve::git::config::{Setting, parse};
use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::fault::Fault;
use super::private::write_new;
use super::repository::Repository;
use super::run::{Run, failure};
use super::settings;

/// Sets one value.
pub(super) fn set(run: &Run<'_>, key: &str, value: &str) -> Result<(), Fault> {
    let Some(name) = Name::of(key) else { return edit(run, &["--replace-all", key, value]) };
    let settings = current(run)?.1;
    let mut there = settings.iter().filter(|it| name.is_of(it));
    match (there.next(), there.next()) {
        (None, _) => append(run, &name, value),
        (Some(only), None) if only.value == value => Ok(()),
        (Some(_), _) => edit(run, &["--replace-all", key, value]),
    }
}

/// Adds a value beside those that are there.
pub(super) fn add(run: &Run<'_>, key: &str, value: &str) -> Result<(), Fault> {
    match Name::of(key) {
        Some(name) => append(run, &name, value),
        None => edit(run, &["--add", key, value]),
    }
}

/// The name of a setting: `section.subsection.key`.
struct Name<'a> {
    section: &'a str,
    subsection: &'a str,
    key: &'a str,
}

impl<'a> Name<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let (section, rest) = text.split_once('.')?;
        let (subsection, key) = rest.rsplit_once('.')?;
        Some(Self { section, subsection, key })
    }

    fn is_of(&self, setting: &Setting) -> bool {
        setting.section == self.section
            && setting.subsection.as_deref() == Some(self.subsection)
            && setting.key == self.key
    }
}

/// Writes a setting at the end, which is all that it takes: git reads sections wherever they are.
fn append(run: &Run<'_>, name: &Name<'_>, value: &str) -> Result<(), Fault> {
    let refused = |reason| Fault::Refused { path: run.repository.top.clone(), reason };
    let lock = Lock::take(run.repository)?;
    let (mut text, before) = current(run)?;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let Name { section, subsection, key } = name;
    let (subsection, value) = (settings::escaped(subsection), settings::escaped(value));
    let _ = writeln!(text, "[{section} \"{subsection}\"]\n\t{key} = \"{value}\"");
    // SECURITY: a value that came out as a section of its own would be obeyed by the user's own git.
    let after = checked(&text).map_err(refused)?;
    match after.len() == before.len() + 1 && after.last().is_some_and(|it| name.is_of(it)) {
        true => lock.write(&text),
        false => Err(refused("the setting cannot be written down".to_owned())),
    }
}

/// Removes a section, if there is one.
pub(super) fn remove_section(run: &Run<'_>, name: &str) -> Result<(), Fault> {
    match has_section(&current(run)?.1, name) {
        true => edit(run, &["--remove-section", name]),
        false => Ok(()),
    }
}

/// Renames a section, if there is one.
pub(super) fn rename_section(run: &Run<'_>, name: &str, new: &str) -> Result<(), Fault> {
    match has_section(&current(run)?.1, name) {
        true => edit(run, &["--rename-section", name, new]),
        false => Ok(()),
    }
}

fn has_section(settings: &[Setting], name: &str) -> bool {
    let Some((section, subsection)) = name.split_once('.') else { return false };
    settings.iter().any(|it| it.section == section && it.subsection.as_deref() == Some(subsection))
}

/// Returns the config as it is now, checked.
fn current(run: &Run<'_>) -> Result<(String, Vec<Setting>), Fault> {
    let refused = |reason| Fault::Refused { path: run.repository.top.clone(), reason };
    let bytes = run.repository.read_common("config")?.unwrap_or_default();
    let text = String::from_utf8(bytes)
        .map_err(|_| refused("its configuration is not UTF-8".to_owned()))?;
    let settings = checked(&text).map_err(refused)?;
    Ok((text, settings))
}

fn checked(text: &str) -> Result<Vec<Setting>, String> {
    let settings = parse(text)?;
    match settings::refusal(&settings) {
        Some(reason) => Err(reason),
        None => Ok(settings),
    }
}

fn edit(run: &Run<'_>, words: &[&str]) -> Result<(), Fault> {
    let refused = |reason| Fault::Refused { path: run.repository.top.clone(), reason };
    let lock = Lock::take(run.repository)?;
    let (text, _) = current(run)?;
    let private = run.scratch.private(run.repository)?;
    private.write("edited", text.as_bytes())?;
    let file = private.path.join("edited").to_string_lossy().into_owned();
    let mut all = vec!["config", "--file", &file];
    all.extend(words);
    let said = run.ask_in(&private, &[], &all, b"")?;
    if said.code != Some(0) {
        return Err(failure(&all, &said));
    }
    let edited = private.read("edited", CONFIG_BYTES_MAX)?;
    let edited =
        String::from_utf8(edited).map_err(|_| refused("what git wrote is not UTF-8".to_owned()))?;
    // SECURITY: a value that came out as a section of its own would be obeyed by the user's own git.
    checked(&edited).map_err(refused)?;
    lock.write(&edited)
}

/// The lock on a repository's config, as git itself takes it; let go when it is dropped.
struct Lock<'a> {
    repository: &'a Repository,
    is_held: bool,
}

const LOCK: &str = "config.lock";
const NEW: &str = "config.new";

impl<'a> Lock<'a> {
    fn take(repository: &'a Repository) -> Result<Self, Fault> {
        match write_new(repository.common(), LOCK, b"") {
            Ok(()) => Ok(Self { repository, is_held: true }),
            Err(Errno::EXIST) => Err(Fault::Not(
                "another program is changing the configuration (`.git/config.lock`); try again"
                    .to_owned(),
            )),
            Err(errno) => Err(Fault::system("change the configuration")(errno)),
        }
    }

    /// Puts a new config in place.
    fn write(mut self, text: &str) -> Result<(), Fault> {
        let (git, fault) = (self.repository.common(), Fault::system("change the configuration"));
        // The lock stays; the new text has a name of its own until it is in place.
        rustix::fs::unlinkat(git, NEW, AtFlags::empty()).ok();
        write_new(git, NEW, text.as_bytes()).map_err(&fault)?;
        rustix::fs::renameat(git, NEW, git, "config").map_err(&fault)?;
        self.release();
        Ok(())
    }

    fn release(&mut self) {
        if std::mem::take(&mut self.is_held) {
            rustix::fs::unlinkat(self.repository.common(), LOCK, AtFlags::empty()).ok();
        }
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        self.release();
    }
}
