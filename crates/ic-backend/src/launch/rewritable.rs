//! Refuses to start a server whose code the agent could rewrite.
//!
//! A server is trusted by its command line. If the program, the directory it runs in, or a file that it is
//! handed lies where the agent may write, the same line runs whatever the agent wrote there.
//!
//! Refused, if it lies where the agent may write or a link there leads to it:
//!
//! - the program, and the working directory;
//! - what an interpreter takes for its script, also a directory, and what a package runner takes for its project;
//! - a regular file in an argument or a variable, also after `=`, in a list, or as a `file:` URL, unless it
//!   ends like data; one that is not there yet, if it ends like code;
//! - a directory in a variable that programs load code from;
//! - what the text of `sh -c` or `python3 -c` runs, the directory to which it goes, and a text of which that cannot be
//!   told (`inline.rs`).
//!
//! Any other directory is data: `server-filesystem ${SANDBOX}` works. What a program does with the data that
//! it reads is its own affair, and its cage's. Nothing is started here.

mod inline;
mod suffix;
mod words;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ic_confine::{ChildSpec, find_program};
use ic_resolve::path::{Found, Last, follow, lexical};
use ic_resolve::{Disk, Kind};
use ic_types::{AbsolutePath, CanonicalPath, ServerName};

use self::words::{Use, paths_in, used_as};
use super::LaunchFault;
use crate::agent_places::AgentPlaces;

/// More directories on the way to a file than anybody has.
const PARTS_MAX: usize = 256;

/// Variables from which programs load code, or learn where code is.
const LOADING: [&str; 36] = [
    "BASH_ENV",
    "BUN_INSTALL",
    "CLASSPATH",
    "DENO_DIR",
    "ENV",
    "GEM_HOME",
    "GEM_PATH",
    "GOPATH",
    "GUILE_LOAD_PATH",
    "HOME",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "LUA_CPATH",
    "LUA_PATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NPM_CONFIG_PREFIX",
    "PATH",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONPLATLIBDIR",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "RUBYLIB",
    "RUBYOPT",
    "VIRTUAL_ENV",
    "XDG_CONFIG_HOME",
    "ZDOTDIR",
];

/// Why a command line is not to be run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Offence {
    /// What it does with something that the agent can write.
    Rewritable(&'static str, CanonicalPath),
    /// What a text of it runs is only known to the shell; how the text begins.
    Untold(String),
}

/// Refuses a server that would run what the agent can write; `home` and `own` are the user's home and the
/// server's own private directory.
pub(super) fn check(
    server: &ServerName,
    spec: &ChildSpec,
    (home, own): (&AbsolutePath, &Path),
    places: &AgentPlaces<'_>,
    disk: &dyn Disk,
) -> Result<(), LaunchFault> {
    match find(spec, (home, own), places, disk) {
        Some(Offence::Rewritable(what, path)) => {
            Err(LaunchFault::Rewritable { server: server.clone(), what, path })
        }
        Some(Offence::Untold(text)) => Err(LaunchFault::Untold { text }),
        None => Ok(()),
    }
}

/// Returns what a child would run that the agent can write, or that cannot be told.
pub(super) fn find(
    spec: &ChildSpec,
    (home, own): (&AbsolutePath, &Path),
    places: &AgentPlaces<'_>,
    disk: &dyn Disk,
) -> Option<Offence> {
    let base = spec.directory.clone().unwrap_or_else(|| home.as_path().to_owned());
    let look = Look { base: &base, home, places, disk };
    // What nobody wrote in the entry is given to the server by us, and no agent is there.
    if let Some(directory) = spec.directory.as_ref().filter(|it| *it != own)
        && let Some(path) = look.offends(directory.as_os_str(), Use::Code)
    {
        return Some(Offence::Rewritable("runs in", path));
    }
    // What cannot be found is not started either, and whoever starts it says so.
    let program = find_program(&spec.program, &base, &spec.environment);
    let program = program.unwrap_or_else(|_| spec.program.clone());
    if let Some(path) = look.offends(program.as_os_str(), Use::Code) {
        return Some(Offence::Rewritable("runs the program", path));
    }
    for (word, used) in used_as(&spec.program, &spec.arguments, &|word| look.kind(word)) {
        if let Some(path) = look.offends_in(word, used) {
            return Some(Offence::Rewritable("is handed the file", path));
        }
    }
    for (name, value) in spec.environment.iter().filter(|(_, value)| value != own) {
        let used = match name.to_str().is_some_and(is_loading) {
            true => Use::Code,
            false => Use::Any,
        };
        if let Some(path) = look.offends_in(value, used) {
            return Some(Offence::Rewritable("has in its environment", path));
        }
    }
    inline::find(&spec.program, &spec.arguments, &spec.environment, &look)
}

/// Returns whether programs load code from where a variable says.
fn is_loading(name: &str) -> bool {
    LOADING.contains(&name)
}

/// Looks at paths as the server would.
#[derive(Clone, Copy)]
struct Look<'a> {
    /// Where relative ones begin.
    base: &'a Path,
    home: &'a AbsolutePath,
    places: &'a AgentPlaces<'a>,
    disk: &'a dyn Disk,
}

impl Look<'_> {
    /// Looks from another directory.
    fn from<'b>(&'b self, base: &'b Path) -> Look<'b> {
        Look { base, ..*self }
    }

    /// Returns whether a place of the agent's lies beneath `path`.
    fn is_above(&self, path: &OsStr) -> bool {
        let found = self.absolute(path).and_then(|it| follow(self.disk, &it, Last::Follow).ok());
        found.is_none_or(|found| self.places.are_beneath(&found.path))
    }

    /// Returns what in `word` the agent could rewrite, if the server uses it as `used`.
    fn offends_in(&self, word: &OsStr, used: Use) -> Option<CanonicalPath> {
        paths_in(word).into_iter().find_map(|path| self.offends(&path, used))
    }

    /// Returns where the agent could rewrite what is at `path`.
    fn offends(&self, path: &OsStr, used: Use) -> Option<CanonicalPath> {
        let written = self.absolute(path)?;
        let Ok(found) = follow(self.disk, &written, Last::Follow) else {
            // SECURITY: what cannot be looked at is taken for what it says that it is.
            let path = lexical(written.as_path().as_os_str().as_bytes(), self.home, None)?;
            return self.places.holding(&path).is_some().then_some(path);
        };
        let touched = self.places.touched(&found).cloned();
        let touched = touched.or_else(|| self.on_a_way_back(&written))?;
        is_code(&found, path, used).then_some(touched)
    }

    /// Returns a place of the agent's that the path only passes: `SANDBOX/x/../../opt/server.js`.
    fn on_a_way_back(&self, written: &AbsolutePath) -> Option<CanonicalPath> {
        let parts = written.as_path().as_os_str().as_bytes().split(|byte| *byte == b'/');
        let parts: Vec<&[u8]> = parts.filter(|part| !part.is_empty()).take(PARTS_MAX).collect();
        let mut before = PathBuf::from("/");
        for part in parts {
            if part == b".." {
                let absolute = AbsolutePath::new(before.clone()).ok()?;
                let found = follow(self.disk, &absolute, Last::Follow).ok()?;
                if let Some(path) = self.places.touched(&found) {
                    return Some(path.clone());
                }
            }
            before.push(OsStr::from_bytes(part));
        }
        None
    }

    fn absolute(&self, path: &OsStr) -> Option<AbsolutePath> {
        let bytes = path.as_bytes();
        let whole: OsString = match bytes {
            [] => return None,
            [b'~'] => self.home.as_path().into(),
            [b'~', b'/', rest @ ..] => self.home.as_path().join(OsStr::from_bytes(rest)).into(),
            _ => self.base.join(path).into(),
        };
        AbsolutePath::new(whole).ok()
    }

    fn kind(&self, word: &OsStr) -> Option<Kind> {
        let found = follow(self.disk, &self.absolute(word)?, Last::Follow).ok()?;
        found.entry.map(|entry| entry.kind)
    }
}

/// Returns whether what was found would be run, or could say what is run.
fn is_code(found: &Found, written: &OsStr, used: Use) -> bool {
    match (used, found.entry.map(|entry| entry.kind)) {
        (Use::Code, _) | (Use::Mention, Some(Kind::Directory)) => true,
        (Use::Any | Use::Mention, Some(Kind::File)) => !suffix::is_of_data(written),
        (Use::Any | Use::Mention, None) => suffix::is_of_code(written),
        (Use::Any | Use::Mention, Some(Kind::Directory | Kind::Link | Kind::Other)) => false,
    }
}

#[cfg(test)]
mod tests;
