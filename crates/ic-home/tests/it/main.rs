//! The home, its files and its configuration, through the crate's public door.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests: a failure is a failed test"
)]

mod files;
mod homes;
mod keys;
mod layers;
mod locks;
mod migrations;
mod mistakes;
mod schemas;
mod scratches;
mod watches;

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use ic_home::config::{Config, ConfigError, ConfigFile, Flag, Layers};
use ic_home::{Environment, Home};
use ic_types::AbsolutePath;

/// An environment with a home directory, and with `variables`.
#[track_caller]
fn environment(variables: &[(&str, &str)]) -> Environment {
    let all = [&[("HOME", "/home/ada")], variables].concat();
    let all: Vec<(OsString, OsString)> =
        all.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    Environment::of(&all, None).unwrap()
}

/// Loads a configuration of `text`, which is the file, `variables` and `flags`.
fn load(text: &str, variables: &[(&str, &str)], flags: &[Flag]) -> Result<Config, ConfigError> {
    let file = ConfigFile::parse("/h/config.json".into(), text.as_bytes())?;
    Config::load(&Layers { flags, environment: &environment(variables), file: &file })
}

#[track_caller]
fn home(root: &Path) -> Home {
    Home::new(AbsolutePath::new(root).unwrap())
}

/// Returns the permission bits of `path`.
#[track_caller]
fn mode(path: impl AsRef<Path>) -> u32 {
    std::fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

/// Returns the names in `directory`.
#[track_caller]
fn names(directory: impl AsRef<Path>) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Returns whether we are root, who may read and write everything.
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
