//! Absolute and canonical paths, compared by components and never as strings.
//!
//! Nothing here touches a disk: what a path leads to is found out by `ic-resolve`, which is the
//! only place that may call a path canonical.

use std::ffi::OsStr;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A path that starts at the root, so that no working directory leaks into its meaning.
///
/// Invariant: begins with `/`, holds no NUL, at most 4096 bytes.
#[derive(Clone, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct AbsolutePath(PathBuf);

/// A path without `.`, `..`, empty components or a trailing slash.
///
/// Whether it also is free of links is a fact about a disk at a moment; `ic-resolve` makes these
/// from what it saw.
///
/// Invariant: an absolute path in that normal form; `/` is the root itself.
#[derive(Clone, Eq, Ord, PartialOrd)]
pub struct CanonicalPath(PathBuf);

/// A path that cannot be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum InvalidPath {
    /// The path does not start at the root.
    #[error("it is not absolute")]
    NotAbsolute,
    /// The path holds a NUL byte.
    #[error("it contains a NUL byte")]
    Nul,
    /// The path is longer than the system takes.
    #[error("it is longer than 4096 bytes")]
    TooLong,
    /// The path has `.`, `..`, empty components or a trailing slash.
    #[error("it is not in canonical form")]
    NotCanonical,
}

/// The longest path that is looked at.
pub const PATH_BYTES_MAX: usize = 4096;

// === impl AbsolutePath ===

impl AbsolutePath {
    /// Checks `path`.
    pub fn new(path: impl Into<PathBuf>) -> Result<Self, InvalidPath> {
        let path = path.into();
        let bytes = path.as_os_str().as_bytes();
        match bytes {
            _ if PATH_BYTES_MAX < bytes.len() => Err(InvalidPath::TooLong),
            _ if bytes.contains(&0) => Err(InvalidPath::Nul),
            [b'/', ..] => Ok(Self(path)),
            _ => Err(InvalidPath::NotAbsolute),
        }
    }

    /// Returns the path.
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

impl fmt::Debug for AbsolutePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// === impl CanonicalPath ===

// INVARIANT: in normal form two paths have the same components exactly if they have the same bytes, which
// are compared and hashed in a fraction of the time.
impl PartialEq for CanonicalPath {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_os_str() == other.0.as_os_str()
    }
}

impl Hash for CanonicalPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_os_str().hash(state);
    }
}

impl CanonicalPath {
    /// Returns the root directory.
    pub fn root() -> Self {
        Self(PathBuf::from("/"))
    }

    /// Checks that `path` is absolute and in normal form.
    pub fn new(path: impl Into<PathBuf>) -> Result<Self, InvalidPath> {
        let AbsolutePath(path) = AbsolutePath::new(path)?;
        let is_normal = match path.as_os_str().as_bytes() {
            b"/" => true,
            bytes => bytes
                .split(|byte| *byte == b'/')
                .skip(1)
                .all(|component| !matches!(component, b"" | b"." | b"..")),
        };
        if is_normal { Ok(Self(path)) } else { Err(InvalidPath::NotCanonical) }
    }

    /// Returns the path.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// Returns the path as text, if it is UTF-8 and so can be sent in JSON.
    pub fn to_str(&self) -> Option<&str> {
        self.0.to_str()
    }

    /// Returns the components below the root.
    pub fn components(&self) -> impl Iterator<Item = &OsStr> {
        self.0
            .as_os_str()
            .as_bytes()
            .split(|byte| *byte == b'/')
            .filter(|component| !component.is_empty())
            .map(OsStr::from_bytes)
    }

    /// Returns whether this path is `ancestor` or lies beneath it.
    pub fn is_within(&self, ancestor: &Self) -> bool {
        let (this, ancestor) = (self.0.as_os_str().as_bytes(), ancestor.0.as_os_str().as_bytes());
        match this.strip_prefix(ancestor) {
            // INVARIANT: both are in normal form, so a component boundary is the end or a slash.
            Some(rest) => ancestor == b"/" || rest.is_empty() || rest.first() == Some(&b'/'),
            None => false,
        }
    }

    /// Returns the path one level up, or `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        self.0.parent().map(|parent| Self(parent.to_owned()))
    }

    /// Returns this path and everything above it, deepest first.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> {
        self.0.ancestors().map(|ancestor| Self(ancestor.to_owned()))
    }

    /// Returns the entry `name` in this directory.
    ///
    /// Fails if `name` is no single component, or the result is too long.
    pub fn join(&self, name: &OsStr) -> Result<Self, InvalidPath> {
        match name.as_bytes() {
            b"" | b"." | b".." => Err(InvalidPath::NotCanonical),
            bytes if bytes.contains(&b'/') => Err(InvalidPath::NotCanonical),
            bytes if bytes.contains(&0) => Err(InvalidPath::Nul),
            bytes if PATH_BYTES_MAX < self.0.as_os_str().len() + 1 + bytes.len() => {
                Err(InvalidPath::TooLong)
            }
            _ => Ok(Self(self.0.join(name))),
        }
    }
}

impl fmt::Display for CanonicalPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

impl fmt::Debug for CanonicalPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn canonical(path: &str) -> CanonicalPath {
        CanonicalPath::new(path).unwrap()
    }

    #[test]
    fn only_normal_forms_are_canonical() {
        for bad in ["", "a", "/a/", "//a", "/a//b", "/a/./b", "/a/../b", "/..", "/a\0", "/."] {
            assert!(CanonicalPath::new(bad).is_err(), "accepted {bad:?}");
        }
        assert_eq!(CanonicalPath::new(format!("/{}", "a".repeat(4096))), Err(InvalidPath::TooLong));
        for good in ["/", "/a", "/a/b c", "/...", "/a/..b", "/ünï"] {
            assert!(CanonicalPath::new(good).is_ok(), "refused {good:?}");
        }
    }

    #[test]
    fn containment_is_by_components() {
        for (path, ancestor, expected) in [
            ("/a/b", "/a", true),
            ("/a", "/a", true),
            ("/a-evil", "/a", false),
            ("/a", "/a/b", false),
            ("/", "/", true),
            ("/x", "/", true),
            ("/", "/x", false),
        ] {
            assert_eq!(
                canonical(path).is_within(&canonical(ancestor)),
                expected,
                "{path} in {ancestor}"
            );
        }
    }

    #[test]
    fn joining_takes_single_components() {
        let root = CanonicalPath::root();
        assert_eq!(root.join(OsStr::new("a")), Ok(canonical("/a")));
        for bad in ["", ".", "..", "a/b", "a\0"] {
            assert!(root.join(OsStr::new(bad)).is_err(), "accepted {bad:?}");
        }
    }
}
