//! Links that lead out of what a server may write.
//!
//! ```text
//! build -> ../docs      the user's own `make clean` removes what is in ../docs
//! log -> ../.bashrc     the user's own `git log > log` writes there
//! ```
//!
//! Such a link is the user's if it was there when the server began; a new one, or one that leads elsewhere, is put
//! back. That one is gone is nothing to be put back.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use ic_resolve::Kind;
use ic_resolve::path::{Found, is_of_system};
use ic_types::CanonicalPath;
use rustix::fs::{AtFlags, CWD, Mode};

use super::Survey;
use crate::planted::Ground;

/// The names of interpreters to which environments of Python lead, without a version.
const INTERPRETERS: [&[u8]; 2] = [b"python", b"pypy"];

/// Returns whether a link leads out of the ground, to where the user's own programs may write.
pub(super) fn leads_out(ground: &Ground, link: &CanonicalPath, found: &Found) -> bool {
    let is_on_ground = ground.roots.iter().any(|root| found.path.is_within(root));
    !is_on_ground && !is_of_system(found.path.as_path()) && !is_interpreter(link, found)
}

/// Returns whether it is `bin/python` of an environment, which leads to the interpreter that it was made with.
fn is_interpreter(link: &CanonicalPath, found: &Found) -> bool {
    let is_called_so = |path: &CanonicalPath| path.as_path().file_name().is_some_and(is_python);
    let bin = link.parent();
    let is_in_bin = bin.is_some_and(|it| it.as_path().file_name().is_some_and(|it| it == "bin"));
    let is_file = found.entry.is_some_and(|entry| entry.kind == Kind::File);
    let is_meant = is_in_bin && is_file && is_called_so(link) && is_called_so(&found.path);
    is_meant && is_executable(&found.path)
}

/// Returns whether an interpreter is called so: `python`, `python3.13t`.
fn is_python(name: &OsStr) -> bool {
    INTERPRETERS.iter().filter_map(|it| name.as_bytes().strip_prefix(*it)).any(|version| {
        let version = version.strip_suffix(b"t").unwrap_or(version);
        version.iter().all(|it| it.is_ascii_digit() || *it == b'.')
    })
}

fn is_executable(path: &CanonicalPath) -> bool {
    let stat = rustix::fs::statat(CWD, path.as_path(), AtFlags::SYMLINK_NOFOLLOW);
    stat.is_ok_and(|stat| Mode::from_raw_mode(stat.st_mode).contains(Mode::XUSR))
}

impl Survey {
    /// Returns the links that lead out and did not lead there before.
    pub(in crate::planted) fn newly_outward(&self, before: &Self) -> Vec<&CanonicalPath> {
        let is_new = |path: &CanonicalPath| {
            self.outward.contains_key(path) && !self.is_same_link(path, before)
        };
        // One that leads out by another new one leads where it did once that is put back.
        let own = self.outward.iter().filter(|(path, by)| is_new(path) && !by.iter().any(is_new));
        own.map(|(path, _)| path).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_is_called_like_one() {
        for name in ["python", "python3", "python3.12", "python3.13t", "pypy3.10"] {
            assert!(is_python(OsStr::new(name)), "{name}");
        }
        for name in ["pythonrc.py", "python-out", "python3-config", "pip", "pythontt", "mypython"] {
            assert!(!is_python(OsStr::new(name)), "{name}");
        }
    }
}
