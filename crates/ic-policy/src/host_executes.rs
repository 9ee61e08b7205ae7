//! Names of files that the host runs later, or takes orders from: hooks, editor tasks, CI, profiles.
//!
//! Writing one is not denied, since people ask agents to do just that; but a person decides.
//! Names alone are looked at here. What the disk adds (the shape of a repository, names in a git
//! configuration, where a repository's top is, links) is found out by `ic-resolve`, as [`Executed`].
//!
//! [`Executed`]: crate::call::Executed

mod listed;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use ic_types::CanonicalPath;

use crate::bounds::{Bounds, Reach};

pub use listed::{HOME_NAMES, LISTED_NAMES, PIPELINE_NAMES};

/// A name that counts in whatever directory it stands.
#[derive(Clone, Copy, Debug)]
pub struct ListedName {
    /// The components, from the directory that holds the first.
    pub components: &'static [&'static str],
    /// How far the name reaches.
    pub reach: Reach,
}

const fn itself(components: &'static [&'static str]) -> ListedName {
    ListedName { components, reach: Reach::Itself }
}

const fn beneath(components: &'static [&'static str]) -> ListedName {
    ListedName { components, reach: Reach::Beneath }
}

/// The name under which it is judged whether to keep what a server changed without asking.
pub const KEEP: &str = "ironcurtain/keep";

/// The directory in which git keeps its own files.
pub const GIT_DIRECTORY: &str = ".git";

/// Files without which no directory is a repository for git; spelled exactly so.
///
/// One of them is harmless by itself. But what is staged, stashed or on another branch comes to stand beside
/// it as soon as the user's own git brings it back, and nobody judges that.
pub const REPOSITORY_NAMES: [&str; 2] = ["HEAD", "commondir"];

/// The file that says which programs of the configuration git runs on which files.
///
/// Beneath directories of packages it counts only where there are such programs.
pub const ATTRIBUTES: &str = ".gitattributes";

/// Endings of files that a debugger runs beside the program of that name.
const BESIDE_PROGRAMS: [&str; 3] = ["-gdb.gdb", "-gdb.py", "-gdb.scm"];

/// Directories of packages and builds, beneath which only git's own files count.
const PACKAGES: [&str; 5] = ["node_modules", "site-packages", ".venv", "vendor", "target"];

/// Where the names of a path begin to count.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Beginning {
    /// How many components lead to the workspace, if the path lies in one: how the directories above
    /// are called is the user's business.
    n_skipped: usize,
    /// How many of the others lead to the home: these hold no packages, however they are called.
    n_outer: usize,
}

impl Beginning {
    /// Returns whether `path`, which begins so, counts by its name.
    pub fn is_listed(self, path: &CanonicalPath) -> bool {
        is_listed_beyond(path.components().skip(self.n_skipped), self.n_outer)
    }
}

/// Returns whether a path counts by its name, given from the directory that is looked at.
pub fn is_listed<'a>(components: impl IntoIterator<Item = &'a OsStr>) -> bool {
    is_listed_beyond(components, 0)
}

/// The same; the first `n_outer` components are no directories of packages.
fn is_listed_beyond<'a>(components: impl IntoIterator<Item = &'a OsStr>, n_outer: usize) -> bool {
    let components: Vec<&OsStr> = components.into_iter().collect();
    let mut is_package = false;
    (0..components.len()).any(|start| {
        let below = components.get(start..).unwrap_or_default();
        let is_found = match is_package {
            true => below.first().is_some_and(|first| is_same(first, GIT_DIRECTORY)),
            false => is_named(below) || is_beside(below),
        };
        is_package |= n_outer <= start && below.first().is_some_and(|it| is_packages(it));
        is_found || is_of_repository(below)
    })
}

/// By length, the first letters of the first components of all listed names, a bit for each, in small letters.
///
/// Every name of every path is looked at, and next to none is listed.
#[expect(
    clippy::indexing_slicing,
    reason = "it is worked out when the program is built, and a name that does not fit is an error then"
)]
const FIRST_LETTERS: [u128; FIRST_BYTES_MAX] = {
    let mut letters = [0; FIRST_BYTES_MAX];
    let mut at = 0;
    while at < LISTED_NAMES.len() {
        let first = LISTED_NAMES[at].components[0].as_bytes();
        letters[first.len()] |= 1 << first[0].to_ascii_lowercase();
        at += 1;
    }
    letters
};
/// No listed name is as long.
const FIRST_BYTES_MAX: usize = 48;

/// Returns whether what is left of a path is one of the listed names, or as far beneath one as it reaches.
fn is_named(below: &[&OsStr]) -> bool {
    let may_begin = |name: &&OsStr| {
        let name = name.as_encoded_bytes();
        let letters = FIRST_LETTERS.get(name.len()).copied().unwrap_or(0);
        name.first().is_some_and(|it| it.is_ascii() && letters >> it.to_ascii_lowercase() & 1 == 1)
    };
    below.first().is_some_and(may_begin) && LISTED_NAMES.iter().any(|name| name.covers(below))
}

/// Returns whether a directory of this name holds packages or builds.
pub fn is_packages(name: &OsStr) -> bool {
    PACKAGES.iter().any(|it| name == *it)
}

/// Returns whether what is left of a path is one of the files that make a repository.
fn is_of_repository(below: &[&OsStr]) -> bool {
    matches!(below, [name] if REPOSITORY_NAMES.iter().any(|it| *name == *it))
}

/// Returns whether what is left of a path is a file that a debugger runs.
fn is_beside(below: &[&OsStr]) -> bool {
    let ends = |name: &OsStr| {
        let name = name.as_encoded_bytes().to_ascii_lowercase();
        BESIDE_PROGRAMS.iter().any(|it| name.ends_with(it.as_bytes()))
    };
    matches!(below, [name] if ends(name))
}

/// Returns whether programs take a name for an option when a shell hands them all names of a directory
/// (`tar cf x.tar *`).
///
/// The names that a framework for web pages gives its files (`+page.svelte`) are no commands of an editor.
pub fn is_option(name: &OsStr) -> bool {
    const ROUTES: [&str; 4] = ["+error", "+layout", "+page", "+server"];
    let is_plain = |name: &[u8]| {
        name.iter().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'@' | b'-' | b'_'))
    };
    let name = name.as_encoded_bytes();
    let is_route = ROUTES.iter().any(|route| {
        let rest = name.strip_prefix(route.as_bytes());
        rest.is_some_and(|rest| rest.starts_with(b".") || rest.starts_with(b"@"))
    });
    match name.first() {
        Some(b'-') => true,
        Some(b'+') => !(is_route && name.get(1..).is_some_and(is_plain)),
        _ => false,
    }
}

impl ListedName {
    /// Returns whether the path with these components is this name, or lies as far beneath as it
    /// reaches.
    pub fn covers(&self, path: &[&OsStr]) -> bool {
        let n = self.components.len();
        let is_prefix = path
            .get(..n)
            .is_some_and(|head| head.iter().zip(self.components).all(|(a, b)| is_same(a, b)));
        is_prefix && (self.reach == Reach::Beneath || path.len() == n)
    }
}

/// Compares names as a file system that ignores case would, since some do.
pub fn is_same(name: &OsStr, listed: &str) -> bool {
    // Asked for every name of every path, and most begin with another letter.
    let first = |it: &[u8]| it.first().map(u8::to_ascii_lowercase);
    first(name.as_bytes()) == first(listed.as_bytes()) && name.eq_ignore_ascii_case(listed)
}

impl Bounds {
    /// Returns whether the host would later run what is at `path`, or be led by it, by its name.
    pub fn host_executes(&self, path: &CanonicalPath) -> bool {
        if self.is_in_session_sandbox(path) {
            return false;
        }
        let at_home = self.home_executes.iter().any(|listed| match listed.reach {
            Reach::Itself => *path == listed.path,
            Reach::Beneath => path.is_within(&listed.path),
        });
        // Where the home begins matters for directories of packages alone, and takes long to find out.
        let n_outer = match path.components().any(is_packages) {
            true => self.n_outer(path),
            false => 0,
        };
        at_home || Beginning { n_skipped: self.n_skipped(path), n_outer }.is_listed(path)
    }

    /// Returns whether `path` lies in a sandbox that was made for the session, in which the host runs
    /// nothing.
    fn is_in_session_sandbox(&self, path: &CanonicalPath) -> bool {
        self.sandbox
            .as_ref()
            .is_some_and(|it| !it.kind.is_used_by_host() && path.is_within(&it.path))
    }

    /// Returns where the names of a path begin to count.
    pub fn beginning_of(&self, path: &CanonicalPath) -> Beginning {
        Beginning { n_skipped: self.n_skipped(path), n_outer: self.n_outer(path) }
    }

    /// Returns how many components lead to the workspace that a path lies in.
    fn n_skipped(&self, path: &CanonicalPath) -> usize {
        self.workspace_of(path).map_or(0, |it| it.components().count())
    }

    /// Returns how many components lead to the home, outside of a workspace.
    fn n_outer(&self, path: &CanonicalPath) -> usize {
        if self.workspace_of(path).is_some() {
            return 0;
        }
        let shared = self.home_executes.iter().map(|it| n_shared(path, &it.path));
        shared.max().unwrap_or(0)
    }

    /// Returns the workspace, if a path lies in it.
    fn workspace_of(&self, path: &CanonicalPath) -> Option<&CanonicalPath> {
        let sandbox = self.sandbox.as_ref().filter(|it| it.kind.is_used_by_host())?;
        path.is_within(&sandbox.path).then_some(&sandbox.path)
    }
}

/// Returns how many directories lie above both paths.
fn n_shared(path: &CanonicalPath, other: &CanonicalPath) -> usize {
    let [path, other] = [path, other].map(|it| it.as_path().as_os_str().as_bytes());
    // INVARIANT: both are in normal form, so each slash that they share but the first ends a directory that
    // something lies beneath. Asked for every value and every name of the home, so nothing is split.
    let shared = path.iter().zip(other).take_while(|(a, b)| a == b);
    shared.filter(|(byte, _)| **byte == b'/').count().saturating_sub(1)
}

#[cfg(test)]
mod tests;
