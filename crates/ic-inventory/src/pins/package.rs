//! The files that an installed server runs from, as part of what it is.
//!
//! `servers add` puts a package in `servers/NAME/pkg-DIGEST/`, and the entry names files in there. Their digest
//! stands in `servers.lock.json`, and is compared each time before the server is started; what is in the
//! package is written down beside it, so that a file that was not touched is not read again, and a difference
//! can be shown. Nothing is started here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ic_home::tree::manifest::{Difference, Manifest};
use ic_home::tree::{TreeError, TreeLimits};
use ic_home::{FileError, file};
use ic_resolve::RealDisk;
use ic_resolve::path::{self, Last};
use ic_types::{AbsolutePath, Digest, Json, JsonLimits, Timestamp};

use super::{Identity, PinsFile};
use crate::servers_file::ServerConfig;

/// What a package may cost.
pub const PACKAGE_LIMITS: TreeLimits =
    TreeLimits { entries_max: 200_000, bytes_max: 4 << 30, file_bytes_max: 1 << 30, depth_max: 64 };
/// What the list of its files may cost.
const LIST_LIMITS: JsonLimits =
    JsonLimits { bytes_max: 128 << 20, depth_max: 4, values_max: 2 << 20 };
/// How the names of installed packages begin.
const PREFIX: &str = "pkg-";

/// The packages that a server is run from.
#[derive(Debug)]
pub struct Package {
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    directory: PathBuf,
    /// Where the list of its files is.
    list: PathBuf,
    known: Manifest,
    found: Manifest,
}

/// A package that cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// Its files cannot be read.
    #[error("cannot look at the installed package `{}`", .path.display())]
    Tree {
        /// The package.
        path: PathBuf,
        /// Why not.
        source: TreeError,
    },
    /// The list of them cannot be read or written.
    #[error("cannot use the list of a package's files")]
    File(#[from] FileError),
}

impl PinsFile {
    /// Returns what a server is now, with the files of its package, and the package itself.
    pub fn identity(
        &self,
        config: &ServerConfig,
        now: Timestamp,
    ) -> Result<(Identity, Option<Package>), PackageError> {
        let package = self.package(config, now)?;
        Ok((Identity::of(config).with_package(package.as_ref()), package))
    }

    /// Looks at the package that a server is run from; `None` if it is not installed by us.
    pub fn package(
        &self,
        config: &ServerConfig,
        now: Timestamp,
    ) -> Result<Option<Package>, PackageError> {
        let parts = self
            .directories(config)
            .into_iter()
            .map(|directory| Part::look(directory, now))
            .collect::<Result<Vec<_>, _>>()?;
        Ok((!parts.is_empty()).then_some(Package { parts }))
    }

    /// Finds the installed packages that an entry names, wherever in it.
    fn directories(&self, config: &ServerConfig) -> BTreeSet<PathBuf> {
        // The home may be behind a link, and an entry names where that leads.
        let real = AbsolutePath::new(&self.installed).ok().and_then(|path| {
            path::follow(&RealDisk, &path, Last::Follow).ok().map(|found| found.path)
        });
        let roots = [Some(self.installed.clone()), real.map(|it| it.as_path().to_owned())];
        let roots: Vec<PathBuf> = roots.into_iter().flatten().collect();
        let mut found = BTreeSet::new();
        let mut left: Vec<&Json> = config.written().iter().map(|(_, value)| value).collect();
        while let Some(value) = left.pop() {
            match value {
                Json::String(text) => found.extend(roots.iter().flat_map(|it| named(text, it))),
                Json::Array(values) => left.extend(values),
                Json::Object(object) => left.extend(object.iter().map(|(_, value)| value)),
                Json::Null | Json::Bool(_) | Json::Number(_) => {}
            }
        }
        found
    }
}

/// Finds the packages beneath `root` that a text names: `--path=ROOT/NAME/pkg-…/x:ROOT/…`.
fn named(text: &str, root: &Path) -> Vec<PathBuf> {
    let Some(prefix) = root.to_str() else { return Vec::new() };
    let mut found = Vec::new();
    for (at, _) in text.match_indices(prefix) {
        let rest = text.get(at + prefix.len()..).unwrap_or_default();
        let mut parts = rest.split(['/', ':', ';', ',']);
        let (Some(""), Some(name), Some(package)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if package.starts_with(PREFIX) {
            found.push(root.join(name).join(package));
        }
    }
    found
}

impl Part {
    fn look(directory: PathBuf, now: Timestamp) -> Result<Self, PackageError> {
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let list = directory.with_file_name(format!("files-{name}.json"));
        let known = match file::read_own(&list, LIST_LIMITS.bytes_max as u64)? {
            // A list that is not ours vouches for nothing, so every file is read.
            Some(bytes) => Json::parse(&bytes, LIST_LIMITS).ok().and_then(Manifest::of_json),
            None => None,
        };
        let known = known.unwrap_or_default();
        let found = Manifest::of(&directory, &known, PACKAGE_LIMITS, now)
            .map_err(|source| PackageError::Tree { path: directory.clone(), source })?;
        Ok(Self { directory, list, known, found })
    }
}

impl Package {
    /// Returns the digest of all of it.
    pub fn digest(&self) -> Digest {
        match self.parts.as_slice() {
            [part] => part.found.digest(),
            parts => {
                let digests: Vec<Digest> = parts.iter().map(|part| part.found.digest()).collect();
                Digest::of_parts(digests.iter().map(|digest| digest.as_bytes().as_slice()))
            }
        }
    }

    /// Writes down what is in it; for a package that is trusted as it is.
    pub fn keep(&self) -> Result<(), PackageError> {
        for Part { list, known, found, .. } in &self.parts {
            if !found.is_as_useful_as(known) || !found.differences(known).is_empty() {
                file::replace(list, found.to_json().to_string().as_bytes())?;
            }
        }
        Ok(())
    }

    /// Returns what differs from what was written down, by directory and path in it.
    pub fn differences(&self) -> Vec<(&Path, Vec<(&str, Difference)>)> {
        let parts = self.parts.iter();
        parts.map(|it| (it.directory.as_path(), it.found.differences(&it.known))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_found_wherever_an_entry_names_them() {
        let root = Path::new("/h/servers");
        for (text, expected) in [
            ("/h/servers/a/pkg-1/x.py", &["/h/servers/a/pkg-1"][..]),
            ("--path=/h/servers/a/pkg-1", &["/h/servers/a/pkg-1"]),
            (
                "/h/servers/a/pkg-1:/h/servers/b/pkg-2/y",
                &["/h/servers/a/pkg-1", "/h/servers/b/pkg-2"],
            ),
            ("/h/servers/a/data", &[]),
            ("/h/serversx/a/pkg-1", &[]),
            ("/h/servers", &[]),
            ("pkg-1", &[]),
        ] {
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(named(text, root), expected, "{text}");
        }
    }
}
