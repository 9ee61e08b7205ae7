//! What a new top of a tree gives a meaning: files that counted for nothing until a repository, or a
//! working tree of one, is made around or beside them.
//!
//! ```text
//! core.fsmonitor = sh tools/x      new/tools/x is any file; once `new` is a repository, git runs it
//! core.fsmonitor = sh ../x.sh      d/x.sh is any file; once `d/wt` is a working tree, git runs it
//! ```
//!
//! So the tree is judged as if it were there: whatever its configuration would name, and whatever counts at
//! a top or in a repository alone, is asked about if it exists and did not count before.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use ic_policy::host_executes::{LISTED_NAMES, ListedName, PIPELINE_NAMES, is_listed, is_same};
use ic_policy::{Executed, Why};
use ic_types::{CanonicalPath, Role};

use super::configured::Named;
use super::names::Names;
use super::new::is_python_at_top;
use super::{Change, Executes};
use crate::disk::Kind;

/// How many entries are looked at; with more, all may count.
const ENTRIES_MAX: usize = 20_000;
/// How many names are told.
const TOLD_MAX: usize = 16;

impl Executes<'_> {
    /// Returns what would be named if the top of a tree were at `top`: of a repository that is there, or
    /// of a new one.
    pub fn meant(&self, top: &CanonicalPath, repository: Option<&CanonicalPath>) -> Names {
        let of = repository.filter(|it| self.is_top(it));
        let git = of.map(|it| self.named(it, &self.directory(it)).git.clone());
        let mut names = Named::read(self.place(), top, git.unwrap_or_default()).names;
        names.extend(&self.shared_names().moved(&CanonicalPath::root(), top));
        names
    }

    /// Returns what would count that did not, once the top of a tree is at `top`.
    pub fn gains(&self, top: &CanonicalPath, repository: Option<&CanonicalPath>) -> Vec<Executed> {
        if self.is_exempt(top) {
            return Vec::new();
        }
        let names = self.meant(top, repository);
        let mut gained = Gained { executes: self, found: Vec::new() };
        for (path, why) in names.paths_and_why() {
            if self.is_there(path) {
                gained.note(path, why.clone());
            }
        }
        for name in &PIPELINE_NAMES {
            let path = name.components.iter().try_fold(top.clone(), |at, it| at.join(it.as_ref()));
            if let Some(path) = path.ok().filter(|it| self.is_there(it)) {
                gained.note(&path, Why::Pipeline);
            }
        }
        // Beneath packages a name counts only in a repository.
        let is_free = self.is_of_packages(top);
        let mut bases: BTreeSet<CanonicalPath> = names.bases().cloned().collect();
        bases.remove(&CanonicalPath::root());
        if is_free {
            bases.insert(top.clone());
        }
        let depth = top.components().count();
        let mut left = ENTRIES_MAX;
        for base in bases {
            let is_whole = self.walk(&base, &mut left, &mut |path| {
                let below: Vec<&OsStr> = path.components().skip(depth).collect();
                if is_free && path.is_within(top) && is_listed(below.iter().copied()) {
                    gained.note(path, Why::Listed);
                } else if let Some(why) = names.why_within(path) {
                    gained.note(path, why.clone());
                }
                gained.found.len() < TOLD_MAX
            });
            if !is_whole {
                let why = Why::Unreadable(base.clone());
                gained.found.push(Executed { role: Role::WritePath, path: base, why });
            }
        }
        gained.found
    }

    fn is_there(&self, path: &CanonicalPath) -> bool {
        // What cannot be looked at may be there.
        !matches!(self.disk.look(path.as_path()), Ok(None))
    }

    /// Visits what lies beneath a directory, until that says no; returns whether there was not too much.
    fn walk(
        &self,
        base: &CanonicalPath,
        left: &mut usize,
        visit: &mut dyn FnMut(&CanonicalPath) -> bool,
    ) -> bool {
        let mut directories = vec![base.clone()];
        while let Some(directory) = directories.pop() {
            let entries = self.disk.list(directory.as_path(), *left).unwrap_or_default();
            if *left <= entries.len() {
                return false;
            }
            *left -= entries.len();
            for (name, kind) in entries {
                let Ok(path) = directory.join(&name) else { continue };
                if !visit(&path) {
                    return true;
                }
                if kind == Kind::Directory {
                    directories.push(path);
                }
            }
        }
        true
    }
}

/// Returns whether a file, given from the top of its tree, counts in every tree of a repository by its name
/// alone.
pub fn counts_in_any_tree(path: &str) -> bool {
    let below: Vec<&OsStr> = Path::new(path).iter().collect();
    is_listed(below.iter().copied()) || PIPELINE_NAMES.iter().any(|name| name.covers(&below))
}

/// Returns whether a file, given from the top of its tree, may count if a directory that it is in comes to be
/// called otherwise: by the end of its path (`config.toml` in `.cargo`), or because it is at the top then.
pub fn may_count_elsewhere(below: &[&OsStr]) -> bool {
    let names = || LISTED_NAMES.iter().chain(&PIPELINE_NAMES);
    let ends = |rest: &[&OsStr]| {
        names().any(|name| {
            let ends = (1..name.components.len()).filter_map(|n| name.components.get(n..));
            ends.into_iter()
                .any(|components| ListedName { components, reach: name.reach }.covers(rest))
        })
    };
    let rests = (1..below.len()).filter_map(|start| below.get(start..));
    rests.into_iter().any(|rest| ends(rest) || is_python_at_top(rest))
}

/// Returns whether a name that counts begins with the end of a path: a link there leads to what has the rest.
pub fn leads_to_listed(below: &[&OsStr]) -> bool {
    let begins = |name: &ListedName, end: &[&OsStr]| {
        end.len() < name.components.len()
            && end.iter().zip(name.components).all(|(a, b)| is_same(a, b))
    };
    let mut ends = (0..below.len()).filter_map(|start| below.get(start..));
    PIPELINE_NAMES.iter().any(|name| !below.is_empty() && begins(name, below))
        || ends.any(|end| LISTED_NAMES.iter().any(|name| begins(name, end)))
}

/// What counts anew.
struct Gained<'a, 'b> {
    executes: &'a Executes<'b>,
    found: Vec<Executed>,
}

impl Gained<'_, '_> {
    fn note(&mut self, path: &CanonicalPath, why: Why) {
        let role = Role::WritePath;
        let change = Change { role, path: path.clone(), is_kept: true };
        let is_known = self.found.iter().any(|it| it.path == *path);
        if !is_known && self.executes.of(&[change]).is_empty() {
            self.found.push(Executed { role, path: path.clone(), why });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(path: &str) -> Vec<&OsStr> {
        Path::new(path).iter().collect()
    }

    #[test]
    fn a_file_may_count_elsewhere_by_the_end_of_its_path() {
        for (path, may) in [
            ("cargo/config.toml", true),
            ("a/b/config", true),
            ("ci/workflows/b.yml", true),
            ("ci/workflows/deep/b.yml", true),
            ("workflows/b.yml", false),
            ("yarn/releases/y.cjs", true),
            ("m/mise/x", true),
            ("src/argparse.py", true),
            ("a/b/json/__init__.py", true),
            ("src/json/decoder.py", false),
            ("src/mine.py", false),
            ("src/argparse.md", false),
            ("argparse.py", false),
            ("src/main.rs", false),
            ("README.md", false),
        ] {
            assert_eq!(may_count_elsewhere(&parts(path)), may, "{path}");
        }
    }

    #[test]
    fn a_link_leads_to_what_has_the_rest_of_a_name() {
        for (path, does) in [
            (".config", true),
            ("a/.yarn", true),
            (".github", true),
            ("a/.github", false),
            ("a", false),
        ] {
            assert_eq!(leads_to_listed(&parts(path)), does, "{path}");
        }
    }
}
