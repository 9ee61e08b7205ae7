//! Copies a directory with all that is in it, name by name beneath a handle, and follows no link.
//!
//! For what somebody else has written: an installer in its cage, a directory that a user names. A copy has
//! files and directories of ours alone, and links only if they stay in it. What the files mean is not known here.

#![expect(
    clippy::disallowed_types,
    reason = "every file is opened beneath a handle, through no link"
)]

pub mod manifest;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use ic_types::Digest;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};

/// What a copy may cost.
#[derive(Clone, Copy, Debug)]
pub struct TreeLimits {
    /// Files, directories and links.
    pub entries_max: usize,
    /// Bytes of all files together.
    pub bytes_max: u64,
    /// Bytes of one file.
    pub file_bytes_max: u64,
    /// Directories in directories.
    pub depth_max: usize,
}

impl TreeLimits {
    /// Reads the file that is at `path`, and adds its length to `n_bytes`.
    fn read(&self, file: OwnedFd, path: &Path, n_bytes: &mut u64) -> Result<Vec<u8>, TreeError> {
        let most = self.file_bytes_max.min(self.bytes_max.saturating_sub(*n_bytes));
        let mut content = Vec::new();
        let mut reader = File::from(file).take(most.saturating_add(1));
        reader.read_to_end(&mut content).map_err(|source| system(path, source))?;
        let n_read = u64::try_from(content.len()).unwrap_or(u64::MAX);
        if most < n_read {
            let what = format!("more than {most} bytes, at `{}`", path.display());
            return Err(TreeError::TooMuch { what });
        }
        *n_bytes = n_bytes.saturating_add(n_read);
        Ok(content)
    }
}

/// Opens the regular file `name` in a directory, for reading, through no link.
fn open_file(
    parent: BorrowedFd<'_>,
    name: &OsStr,
    path: &Path,
) -> Result<(OwnedFd, Stat), TreeError> {
    let failed = |error: rustix::io::Errno| system(path, error.into());
    // Not blocking: it may be a pipe by now.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(parent, name, flags, Mode::empty()).map_err(failed)?;
    let stat = rustix::fs::fstat(&file).map_err(failed)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok((file, stat)),
        _ => Err(TreeError::Special { path: path.to_owned() }),
    }
}

/// What becomes of symbolic links.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TreeLinks {
    /// None may be there.
    Refuse,
    /// One that leads to something in the same tree is copied as a link; any other is refused.
    KeepInside,
}

/// A tree that was copied.
#[derive(Clone, Copy, Debug)]
pub struct CopiedTree {
    /// Files, directories and links.
    pub n_entries: usize,
    /// Bytes of all files.
    pub n_bytes: u64,
    /// Of all names, contents, links, and of which files can be run.
    pub digest: Digest,
}

/// A tree that is not copied.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The system refused.
    #[error("cannot copy `{}`", .path.display())]
    System {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A link that leads elsewhere, or any link if none may be there.
    #[error("`{}` is a link{}", .path.display(), if *.leads_out { " that leads out of the directory" } else { "" })]
    Link {
        /// The link.
        path: PathBuf,
        /// Whether that is what is wrong with it.
        leads_out: bool,
    },
    /// A socket, pipe or device.
    #[error("`{}` is neither a file nor a directory", .path.display())]
    Special {
        /// What was found.
        path: PathBuf,
    },
    /// There is too much of it.
    #[error("there is too much to copy: {what}")]
    TooMuch {
        /// Of what.
        what: String,
    },
}

/// Copies the directory `from`, to which no link may lead, to `to`, which is made and must not be there; what
/// was copied when an error came stays there.
///
/// Entries directly in `from` that `leaves_out` names are left out.
pub fn copy_tree(
    from: &Path,
    to: &Path,
    (limits, links): (TreeLimits, TreeLinks),
    leaves_out: &dyn Fn(&OsStr) -> bool,
) -> Result<CopiedTree, TreeError> {
    let mut copy = Copy { limits, links, n_entries: 0, n_bytes: 0, lines: Vec::new() };
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error: rustix::io::Errno| TreeError::System { path, source: error.into() }
    };
    // SECURITY: whoever wrote the tree may have put a link in the place of a directory above it.
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let source = rustix::fs::openat2(CWD, from, DIRECTORY, Mode::empty(), resolve);
    let source = source.map_err(failed(from))?;
    rustix::fs::mkdirat(CWD, to, Mode::RWXU).map_err(failed(to))?;
    let target = rustix::fs::openat(CWD, to, DIRECTORY, Mode::empty()).map_err(failed(to))?;
    copy.directory((&source, &target), Path::new(""), leaves_out)?;
    copy.lines.sort();
    let digest = Digest::of_parts(copy.lines.iter().map(Vec::as_slice));
    Ok(CopiedTree { n_entries: copy.n_entries, n_bytes: copy.n_bytes, digest })
}

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A copy that is being made.
struct Copy {
    limits: TreeLimits,
    links: TreeLinks,
    n_entries: usize,
    n_bytes: u64,
    /// One for each entry, for the digest.
    lines: Vec<Vec<u8>>,
}

impl Copy {
    fn directory(
        &mut self,
        (source, target): (&OwnedFd, &OwnedFd),
        at: &Path,
        leaves_out: &dyn Fn(&OsStr) -> bool,
    ) -> Result<(), TreeError> {
        if self.limits.depth_max < at.components().count() {
            return Err(TreeError::TooMuch { what: format!("`{}` is too deep", at.display()) });
        }
        for name in names(source).map_err(|source| system(at, source))? {
            if leaves_out(&name) {
                continue;
            }
            let path = at.join(&name);
            self.count()?;
            self.entry((source.as_fd(), target.as_fd()), &name, &path)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        (source, target): (BorrowedFd<'_>, BorrowedFd<'_>),
        name: &OsStr,
        path: &Path,
    ) -> Result<(), TreeError> {
        let failed = |error: rustix::io::Errno| system(path, error.into());
        let stat = rustix::fs::statat(source, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                let inner = rustix::fs::openat(source, name, DIRECTORY, Mode::empty());
                let inner = inner.map_err(failed)?;
                rustix::fs::mkdirat(target, name, Mode::RWXU).map_err(failed)?;
                let made = rustix::fs::openat(target, name, DIRECTORY, Mode::empty());
                self.note(path, b'd', b"");
                self.directory((&inner, &made.map_err(failed)?), path, &|_| false)
            }
            FileType::RegularFile => self.file((source, target), name, path),
            FileType::Symlink => {
                let leads = rustix::fs::readlinkat(source, name, Vec::new()).map_err(failed)?;
                let leads = OsStr::from_bytes(leads.to_bytes());
                let stays = self.links == TreeLinks::KeepInside && stays_inside(path, leads);
                if !stays {
                    let leads_out = self.links == TreeLinks::KeepInside;
                    return Err(TreeError::Link { path: path.to_owned(), leads_out });
                }
                self.note(path, b'l', leads.as_bytes());
                rustix::fs::symlinkat(leads, target, name).map_err(failed)
            }
            _ => Err(TreeError::Special { path: path.to_owned() }),
        }
    }

    fn file(
        &mut self,
        (source, target): (BorrowedFd<'_>, BorrowedFd<'_>),
        name: &OsStr,
        path: &Path,
    ) -> Result<(), TreeError> {
        let failed = |error: rustix::io::Errno| system(path, error.into());
        let (file, stat) = open_file(source, name, path)?;
        let content = self.limits.read(file, path, &mut self.n_bytes)?;
        // Of all rights only one is kept: whether the owner may run it.
        let is_program = Mode::from_raw_mode(stat.st_mode).contains(Mode::XUSR);
        let mode = if is_program { Mode::RWXU } else { Mode::RUSR | Mode::WUSR };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let made = rustix::fs::openat(target, name, flags | OFlags::CLOEXEC, mode);
        let mut made = File::from(made.map_err(failed)?);
        made.write_all(&content).map_err(|source| system(path, source))?;
        let digest = Digest::of(&content);
        self.note(path, if is_program { b'x' } else { b'f' }, digest.as_bytes());
        Ok(())
    }

    fn count(&mut self) -> Result<(), TreeError> {
        self.n_entries += 1;
        match self.limits.entries_max < self.n_entries {
            true => {
                let what = format!("more than {} files", self.limits.entries_max);
                Err(TreeError::TooMuch { what })
            }
            false => Ok(()),
        }
    }

    fn note(&mut self, path: &Path, kind: u8, what: &[u8]) {
        let path = path.as_os_str().as_bytes();
        self.lines.push([path, &[0, kind], what].concat());
    }
}

/// Returns whether a link at `path` leads to something in the same tree, whatever other links there are.
///
/// A `..` is taken back from where the link is; after a name it could be taken back from anywhere.
fn stays_inside(path: &Path, leads: &OsStr) -> bool {
    let depth = path.components().count().saturating_sub(1);
    let mut parts = Path::new(leads).components().peekable();
    let mut n_up = 0;
    while let Some(part) =
        parts.next_if(|part| matches!(part, Component::ParentDir | Component::CurDir))
    {
        n_up += usize::from(part == Component::ParentDir);
    }
    n_up <= depth && parts.all(|part| matches!(part, Component::Normal(_)))
}

fn names(directory: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn system(path: &Path, source: io::Error) -> TreeError {
    TreeError::System { path: path.to_owned(), source }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make and look at files as they like")]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    const LIMITS: TreeLimits =
        TreeLimits { entries_max: 8, bytes_max: 64, file_bytes_max: 32, depth_max: 3 };

    fn copied(
        fill: impl FnOnce(&Path),
        links: TreeLinks,
    ) -> (tempfile::TempDir, Result<CopiedTree, TreeError>) {
        let place = tempfile::tempdir().unwrap();
        let from = place.path().join("from");
        fs::create_dir(&from).unwrap();
        fill(&from);
        let copied =
            copy_tree(&from, &place.path().join("to"), (LIMITS, links), &|name| name == ".git");
        (place, copied)
    }

    #[test]
    fn files_are_copied_with_nothing_but_the_right_to_be_run() {
        let fill = |from: &Path| {
            fs::create_dir_all(from.join("a/b")).unwrap();
            fs::create_dir(from.join(".git")).unwrap();
            fs::write(from.join("a/b/run"), "x").unwrap();
            fs::set_permissions(from.join("a/b/run"), fs::Permissions::from_mode(0o6755)).unwrap();
            fs::write(from.join("a/text"), "y").unwrap();
            symlink("b/run", from.join("a/inside")).unwrap();
            symlink("../text", from.join("a/b/up")).unwrap();
        };
        let (place, first) = copied(fill, TreeLinks::KeepInside);
        let first = first.unwrap();
        let to = place.path().join("to");
        let mode = |name: &str| fs::metadata(to.join(name)).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode("a/b/run"), mode("a/text"), mode("a")), (0o700, 0o600, 0o700));
        assert_eq!(fs::read_to_string(to.join("a/inside")).unwrap(), "x");
        assert!(!to.join(".git").exists());
        assert_eq!((first.n_entries, first.n_bytes), (6, 2));
        let (_place, again) = copied(fill, TreeLinks::KeepInside);
        assert_eq!(again.unwrap().digest, first.digest);
        let (_place, other) =
            copied(|from| fs::write(from.join("a"), "z").unwrap(), TreeLinks::Refuse);
        assert_ne!(other.unwrap().digest, first.digest);
    }

    #[test]
    fn links_that_lead_out_pipes_and_floods_are_refused() {
        for (target, links) in [
            ("/etc/passwd", TreeLinks::KeepInside),
            ("../../x", TreeLinks::KeepInside),
            // Whatever `b` is by then.
            ("b/../../x", TreeLinks::KeepInside),
            ("b/..", TreeLinks::KeepInside),
            ("text", TreeLinks::Refuse),
        ] {
            let fill = |from: &Path| {
                fs::create_dir(from.join("a")).unwrap();
                symlink(target, from.join("a/link")).unwrap();
            };
            let (_place, copied) = copied(fill, links);
            assert!(matches!(copied, Err(TreeError::Link { .. })), "{target}: {copied:?}");
        }
        let pipe = |from: &Path| {
            let kind = FileType::Fifo;
            rustix::fs::mknodat(CWD, from.join("pipe"), kind, Mode::RUSR, 0).unwrap();
        };
        assert!(matches!(copied(pipe, TreeLinks::Refuse).1, Err(TreeError::Special { .. })));
        let long = |from: &Path| fs::write(from.join("x"), "x".repeat(33)).unwrap();
        let many =
            |from: &Path| (0..9).for_each(|n| fs::write(from.join(n.to_string()), "").unwrap());
        let deep = |from: &Path| fs::create_dir_all(from.join("1/2/3/4")).unwrap();
        let all = |from: &Path| {
            (0..3).for_each(|n| fs::write(from.join(n.to_string()), "x".repeat(30)).unwrap());
        };
        for fill in [&long as &dyn Fn(&Path), &many, &deep, &all] {
            let (_place, copied) = copied(|from| fill(from), TreeLinks::Refuse);
            assert!(matches!(copied, Err(TreeError::TooMuch { .. })), "{copied:?}");
        }
    }
}
