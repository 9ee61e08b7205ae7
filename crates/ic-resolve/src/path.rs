//! Paths: every link followed, a dangling one to where it points, a missing tail kept.
//!
//! Component by component and from the root, as the kernel would, because a library's
//! canonicalising fails on what does not exist yet, which is just what an agent wants to write.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ic_policy::PathValue;
use ic_types::path::PATH_BYTES_MAX;
use ic_types::{AbsolutePath, CanonicalPath, InvalidPath};

use crate::disk::{Disk, Entry, Kind, is_absolute};

/// How many links one path may lead through; the kernel's own limit.
pub const LINKS_MAX: usize = 40;

/// What to do with a link at the end of a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Last {
    /// Follow it: what it leads to is meant.
    Follow,
    /// Leave it: the entry itself is meant.
    Keep,
}

/// Where a path leads.
#[derive(Clone, Debug)]
pub struct Found {
    /// The canonical path.
    pub path: CanonicalPath,
    /// The links that were followed, each by its own canonical name.
    pub links: Vec<CanonicalPath>,
    /// The path as it is spelled beneath each of these links.
    pub spelled: Vec<CanonicalPath>,
    /// The directories that were left again by `..`.
    pub passed: Vec<CanonicalPath>,
    /// What is there, if anything is.
    pub entry: Option<Entry>,
    /// How many components at the end of the path do not exist.
    pub n_missing: usize,
}

/// Why a path cannot be resolved.
#[derive(Debug, thiserror::Error)]
pub enum PathFault {
    /// The text is empty.
    #[error("the path is empty")]
    Empty,
    /// The text holds a control character.
    #[error("the path contains control characters")]
    Control,
    /// The text could be taken for an option.
    #[error("the path begins with `-`, which programs take for an option")]
    Dash,
    /// The text names another user's home.
    #[error("`~` means your own home only: write the path out")]
    OtherHome,
    /// The text is a URL and not a path.
    #[error("it is a URL where a path was expected")]
    Url,
    /// The text is relative, and nothing says to what.
    #[error("the path is relative, and there is no directory to resolve it against")]
    NoBase,
    /// The path is too long, or not usable for another reason.
    #[error("the path cannot be used: {0}")]
    Unusable(InvalidPath),
    /// The path leads through too many links.
    #[error("the path leads through more than 40 links")]
    TooManyLinks,
    /// A directory holds more links than are looked at.
    #[error("the directory holds more links than can be looked at")]
    TooManyEntries,
    /// The path goes by a name that means another place to every program.
    #[error("`/proc/self` is ambiguous here; use `/proc/<pid>`")]
    ProcSelf,
    /// The path leads to a name that JSON cannot carry.
    #[error("the path leads to a name that is not UTF-8")]
    NotUtf8,
    /// The disk would not say.
    #[error("cannot look at `{}`: {source}", .path.display())]
    Disk {
        /// Where we were looking.
        path: std::path::PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Makes `text` absolute: `~` expanded, a relative path put after `base`.
pub fn absolute(
    text: &str,
    home: &AbsolutePath,
    base: Option<&CanonicalPath>,
) -> Result<AbsolutePath, PathFault> {
    match text {
        "" => return Err(PathFault::Empty),
        text if text.chars().any(char::is_control) => return Err(PathFault::Control),
        text if text.starts_with('-') => return Err(PathFault::Dash),
        _ => {}
    }
    let path = match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let mut path = home.as_path().as_os_str().to_owned();
            path.push(rest);
            path
        }
        Some(_) => return Err(PathFault::OtherHome),
        None if text.starts_with('/') => OsString::from(text),
        None if is_url(text) => return Err(PathFault::Url),
        None => {
            let mut path = base.ok_or(PathFault::NoBase)?.as_path().as_os_str().to_owned();
            path.push("/");
            path.push(text);
            path
        }
    };
    // A long text must not become acceptable by being shortened on the way.
    if PATH_BYTES_MAX < text.len() {
        return Err(PathFault::Unusable(InvalidPath::TooLong));
    }
    AbsolutePath::new(path).map_err(PathFault::Unusable)
}

fn is_url(text: &str) -> bool {
    let is_file = text.get(..5).is_some_and(|head| head.eq_ignore_ascii_case("file:"));
    is_file || text.contains("://")
}

/// Returns whether a path names what is behind a link at its end, however it is meant.
pub fn ends_in_directory(text: &str) -> bool {
    let last = text.rsplit('/').next();
    matches!(last, Some("" | "." | "..")) || text == "~"
}

/// Where only the system writes.
const SYSTEM: [&str; 12] = [
    "/bin",
    "/dev/null",
    "/etc",
    "/gnu",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix",
    "/sbin",
    "/snap",
    "/usr",
];

/// Returns whether a path without `..` is where only the system writes: a link there does no harm.
pub fn is_of_system(path: &Path) -> bool {
    SYSTEM.iter().any(|place| path.starts_with(place))
}

/// Follows `path` from the root.
pub fn follow(disk: &dyn Disk, path: &AbsolutePath, last: Last) -> Result<Found, PathFault> {
    if let Some(found) = straight(disk, path, last) {
        return Ok(found);
    }
    walk(disk, CanonicalPath::root(), path.as_path().as_os_str(), last)
}

/// Follows a path that exists and leads through no link, which most do, with one look.
fn straight(disk: &dyn Disk, path: &AbsolutePath, last: Last) -> Option<Found> {
    // What the kernel looks at is to be what the path is called afterwards.
    let canonical = CanonicalPath::new(path.as_path()).ok()?;
    let entry = disk.look_straight(canonical.as_path())?;
    let is_followed = entry.kind == Kind::Link && last == Last::Follow;
    let (links, spelled, passed) = Default::default();
    let found = Found { path: canonical, links, spelled, passed, entry: Some(entry), n_missing: 0 };
    (!is_followed).then_some(found)
}

/// Follows `path` from `base`, which is canonical already.
pub fn walk(
    disk: &dyn Disk,
    base: CanonicalPath,
    path: &OsStr,
    last: Last,
) -> Result<Found, PathFault> {
    let (links, passed) = (Vec::new(), Vec::new());
    let mut walk = Walk { disk, at: base, n_missing: 0, links, passed, entry: None };
    let (mut todo, mut spelled) = (Vec::new(), Vec::new());
    push_components(&mut todo, path);
    while let Some(component) = todo.pop() {
        let keep = last == Last::Keep && todo.is_empty();
        if let Some(target) = walk.step(&component, keep)? {
            spelled.extend(walk.links.last().and_then(|link| beneath(link, &todo)));
            push_components(&mut todo, &target);
        }
    }
    let entry = match (walk.n_missing, walk.entry) {
        (0, None) => walk.look(&walk.at)?,
        (0, entry) => entry,
        (_, _) => None,
    };
    let Walk { at: path, links, passed, n_missing, .. } = walk;
    Ok(Found { path, links, spelled, passed, entry, n_missing })
}

/// Returns the path of what is left on the stack beneath `link`; behind `..` it is none of the link's.
fn beneath(link: &CanonicalPath, todo: &[OsString]) -> Option<CanonicalPath> {
    let is_beneath = !todo.is_empty() && !todo.iter().any(|it| it == "..");
    let names = todo.iter().rev();
    is_beneath.then(|| names.into_iter().try_fold(link.clone(), |at, it| at.join(it).ok()))?
}

/// Puts the components of `path` on the stack, the first on top.
fn push_components(todo: &mut Vec<OsString>, path: &OsStr) {
    let components = path.as_bytes().split(|byte| *byte == b'/').rev();
    todo.extend(
        components
            .filter(|component| !matches!(*component, b"" | b"."))
            .map(|component| OsStr::from_bytes(component).to_owned()),
    );
}

struct Walk<'a> {
    disk: &'a dyn Disk,
    at: CanonicalPath,
    /// How many components at the end of `at` do not exist.
    n_missing: usize,
    links: Vec<CanonicalPath>,
    passed: Vec<CanonicalPath>,
    /// What is at `at`, as far as it was looked at.
    entry: Option<Entry>,
}

impl Walk<'_> {
    /// Takes one step; a link that is to be followed is returned as the path that it stands for.
    fn step(&mut self, component: &OsStr, keep: bool) -> Result<Option<OsString>, PathFault> {
        if component == ".." {
            let above = self.at.parent().unwrap_or_else(CanonicalPath::root);
            self.passed.push(std::mem::replace(&mut self.at, above));
            self.n_missing = self.n_missing.saturating_sub(1);
            self.entry = None;
            return Ok(None);
        }
        let next = self.at.join(component).map_err(PathFault::Unusable)?;
        let entry = if self.n_missing == 0 { self.look(&next)? } else { None };
        match entry {
            Some(Entry { kind: Kind::Link, .. }) if !keep => return self.enter(next).map(Some),
            Some(_) => {}
            None => self.n_missing += 1,
        }
        self.at = next;
        self.entry = entry;
        Ok(None)
    }

    fn enter(&mut self, link: CanonicalPath) -> Result<OsString, PathFault> {
        if self.links.len() == LINKS_MAX {
            return Err(PathFault::TooManyLinks);
        }
        // SECURITY: judged as our process, opened as the server's.
        if matches!(link.to_str(), Some("/proc/self" | "/proc/thread-self")) {
            return Err(PathFault::ProcSelf);
        }
        let target = self
            .disk
            .read_link(link.as_path())
            .map_err(|source| PathFault::Disk { path: link.as_path().to_owned(), source })?;
        if PATH_BYTES_MAX < target.as_os_str().len() {
            return Err(PathFault::Unusable(InvalidPath::TooLong));
        }
        self.links.push(link);
        self.entry = None;
        if is_absolute(&target) {
            self.at = CanonicalPath::root();
        }
        Ok(target.into_os_string())
    }

    fn look(&self, path: &CanonicalPath) -> Result<Option<Entry>, PathFault> {
        self.disk
            .look(path.as_path())
            .map_err(|source| PathFault::Disk { path: path.as_path().to_owned(), source })
    }
}

/// Normalises a text as a path without looking at any disk, whatever it holds.
///
/// For texts that may be no paths at all, and for places that cannot be looked at. Ends at a NUL, as
/// a program in C would, and keeps the beginning of what is too long.
pub fn lexical(
    text: &[u8],
    home: &AbsolutePath,
    base: Option<&CanonicalPath>,
) -> Option<CanonicalPath> {
    let text = text.split(|byte| *byte == 0).next()?;
    let home = home.as_path().as_os_str().as_bytes();
    let full = match text {
        [] => return None,
        [b'/', ..] => text.to_vec(),
        [b'~'] => home.to_vec(),
        [b'~', b'/', ..] => [home, text.get(1..)?].concat(),
        _ => [base?.as_path().as_os_str().as_bytes(), b"/", text].concat(),
    };
    let mut path = CanonicalPath::root();
    for component in full.split(|byte| *byte == b'/') {
        path = match component {
            b"" | b"." => path,
            b".." => path.parent().unwrap_or(path),
            name => match path.join(OsStr::from_bytes(name)) {
                Ok(path) => path,
                Err(_) => return Some(path),
            },
        };
    }
    Some(path)
}

impl Found {
    /// Returns the value that the policy judges.
    pub fn into_value(self) -> PathValue {
        let Self { path, links, entry, .. } = self;
        PathValue { path, also: links, state: entry.map(|entry| entry.state) }
    }
}
