//! A repository that may be used: its parts where they should be, its config read by us.
//!
//! ```text
//! top/.git, a directory            own part and common part are the same
//! top/.git, a file (`linked`)      own part: <main>/.git/worktrees/<name>; common part: <main>/.git
//! ```
//!
//! Everything is looked at beneath a handle, through no link. What git reads later it reads by name,
//! which is why the config that it reads is another one (`private`), and why a server is caged.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ic_resolve::Kind;
use ic_resolve::git::CONFIG_BYTES_MAX;
use ic_resolve::git::config::{self, Setting};
use ic_types::CanonicalPath;
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, Stat};
use rustix::io::Errno;

use super::fault::Fault;
use super::kept::{self, Orders};
use super::linked::{self, Link};
use super::private::write_new;
use super::settings;
use crate::filesystem::beneath;
use crate::filesystem::reach::Reach;
use crate::filesystem::view::Rights;

/// The longest file besides the config that is read from a `.git`.
pub(super) const PART_BYTES_MAX: usize = 8 << 20;

/// A repository that may be used.
#[derive(Debug)]
pub(super) struct Repository {
    /// The directory that holds `.git`.
    pub(super) top: CanonicalPath,
    handle: OwnedFd,
    /// HEAD, the index, and what is under way.
    own: OwnedFd,
    /// What makes it a linked working tree, if it is one; then all else is elsewhere.
    link: Option<Link>,
    /// The config as it was when it was checked.
    pub(super) settings: Vec<Setting>,
}

/// What a part of `.git` has to be.
#[derive(Clone, Copy)]
pub(super) enum Part {
    /// It has to be there, and be this.
    Needed(Kind),
    /// If it is there, it is this.
    Perhaps(Kind),
    /// It leads elsewhere.
    Never(&'static str),
}

/// What git needs, and what leads elsewhere without being a link; links are looked for everywhere (`kept`).
const PARTS: [(&str, Part); 23] = [
    ("commondir", Part::Never("says that its parts are elsewhere")),
    ("objects/info/alternates", Part::Never("says that its objects are elsewhere")),
    ("objects/info/http-alternates", Part::Never("says that its objects are elsewhere")),
    ("HEAD", Part::Needed(Kind::File)),
    ("objects", Part::Needed(Kind::Directory)),
    ("refs", Part::Needed(Kind::Directory)),
    ("config", Part::Perhaps(Kind::File)),
    ("index", Part::Perhaps(Kind::File)),
    ("packed-refs", Part::Perhaps(Kind::File)),
    ("shallow", Part::Perhaps(Kind::File)),
    ("objects/info", Part::Perhaps(Kind::Directory)),
    ("objects/pack", Part::Perhaps(Kind::Directory)),
    ("refs/heads", Part::Perhaps(Kind::Directory)),
    ("refs/tags", Part::Perhaps(Kind::Directory)),
    ("refs/remotes", Part::Perhaps(Kind::Directory)),
    ("logs", Part::Perhaps(Kind::Directory)),
    ("logs/HEAD", Part::Perhaps(Kind::File)),
    ("logs/refs", Part::Perhaps(Kind::Directory)),
    ("logs/refs/heads", Part::Perhaps(Kind::Directory)),
    ("info", Part::Perhaps(Kind::Directory)),
    ("worktrees", Part::Perhaps(Kind::Directory)),
    ("rebase-merge", Part::Perhaps(Kind::Directory)),
    ("sequencer", Part::Perhaps(Kind::Directory)),
];

impl Repository {
    /// Opens the repository at `path`; nothing above it is searched, and no bare one is used.
    ///
    /// Where `path` is a linked working tree, its repository has to be within reach as well, with the
    /// same rights.
    pub(super) fn open(reach: &Reach, path: &CanonicalPath, needed: Rights) -> Result<Self, Fault> {
        let (handle, top) = hold(reach, path, needed)?;
        let refused = |reason: String| Fault::Refused { path: top.clone(), reason };
        let link = match look_at(handle.as_fd(), ".git")? {
            None => return Err(Fault::NoRepository(top)),
            Some(Kind::Directory) => None,
            Some(Kind::File) => Some(Link::open(reach, handle.as_fd(), &top, needed)?),
            Some(Kind::Link | Kind::Other) => {
                let reason = "its `.git` is not a directory but leads elsewhere";
                return Err(refused(reason.to_owned()));
            }
        };
        let own = match &link {
            None => beneath::hold_directory(&handle, Path::new(".git"))
                .map_err(Fault::system("open `.git`"))?,
            Some(link) => link.hold_own().map_err(|_| {
                refused("its `.git` leads to no working tree of a repository".to_owned())
            })?,
        };
        let mut repository = Self { top: top.clone(), handle, own, link, settings: Vec::new() };
        repository.check_parts().map_err(refused)?;
        let config = read(repository.common(), "config", CONFIG_BYTES_MAX).map_err(refused)?;
        let config = String::from_utf8(config.unwrap_or_default())
            .map_err(|_| refused("its configuration is not UTF-8".to_owned()))?;
        repository.settings = config::parse(&config)
            .map_err(|reason| refused(format!("its configuration cannot be read: {reason}")))?;
        match settings::refusal(&repository.settings) {
            Some(reason) => Err(refused(reason)),
            None => Ok(repository),
        }
    }

    fn check_parts(&self) -> Result<(), String> {
        kept::check_kinds(self.common())?;
        for (name, part) in PARTS {
            check_part(self.common(), name, part)?;
        }
        if let Some(link) = &self.link {
            for (name, part) in linked::PARTS {
                check_part(self.own(), name, part)?;
            }
            link.check(self.handle(), self.own(), &self.top)?;
        }
        linked::check_all(self.common())
    }

    pub(super) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Returns where HEAD, the index and what is under way are.
    fn own(&self) -> BorrowedFd<'_> {
        self.own.as_fd()
    }

    /// Returns where everything else is: the config, the objects, branches and tags.
    pub(super) fn common(&self) -> BorrowedFd<'_> {
        self.link.as_ref().map_or(self.own(), Link::common)
    }

    /// Returns the directory that holds the common part, as its `.git`.
    pub(super) fn main(&self) -> &CanonicalPath {
        self.link.as_ref().map_or(&self.top, |link| &link.pointer.repository)
    }

    /// Returns what makes it a linked working tree, if it is one.
    pub(super) fn link(&self) -> Option<&Link> {
        self.link.as_ref()
    }

    /// Returns the path of the common part.
    pub(super) fn common_path(&self) -> PathBuf {
        self.main().as_path().join(".git")
    }

    /// Reads a file of the own part; `None` if there is none.
    pub(super) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Fault> {
        self.read_in(self.own(), name)
    }

    /// Reads the index, if it is not longer than this; `None` if there is none.
    pub(super) fn read_index(&self, bytes_max: usize) -> Result<Option<Vec<u8>>, Fault> {
        read(self.own(), "index", bytes_max)
            .map_err(|reason| Fault::Refused { path: self.top.clone(), reason })
    }

    /// Puts another index in the place of the one that is there, under git's own lock.
    pub(super) fn replace_index(&self, bytes: &[u8]) -> Result<(), Fault> {
        let fault = Fault::system("write the index; another git may be at work");
        write_new(self.own(), "index.lock", bytes).map_err(&fault)?;
        rustix::fs::renameat(self.own(), "index.lock", self.own(), "index").map_err(&fault)
    }

    /// Reads a file of the common part; `None` if there is none.
    pub(super) fn read_common(&self, name: &str) -> Result<Option<Vec<u8>>, Fault> {
        self.read_in(self.common(), name)
    }

    fn read_in(&self, part: BorrowedFd<'_>, name: &str) -> Result<Option<Vec<u8>>, Fault> {
        read(part, name, PART_BYTES_MAX)
            .map_err(|reason| Fault::Refused { path: self.top.clone(), reason })
    }

    /// Returns what is at `name` in the own part.
    pub(super) fn look(&self, name: &str) -> Result<Option<Kind>, Fault> {
        look_at(self.own(), name)
    }

    /// Returns what is at `name` in the common part.
    pub(super) fn look_common(&self, name: &str) -> Result<Option<Kind>, Fault> {
        look_at(self.common(), name)
    }

    /// Notes what the host takes orders from in it, and git is not to write.
    pub(super) fn orders(&self) -> Result<Orders, Fault> {
        Orders::note(self.common())
            .map_err(|reason| Fault::Refused { path: self.top.clone(), reason })
    }

    /// Checks that git wrote none of it.
    pub(super) fn check_orders(&self, orders: &Orders) -> Result<(), Fault> {
        let path = || self.top.clone();
        orders.check(self.common()).map_err(|reason| Fault::Refused { path: path(), reason })
    }

    /// Checks that the names still lead to what was checked.
    pub(super) fn check_again(&self) -> Result<(), Fault> {
        let own = match &self.link {
            None => beneath::hold_directory(&self.handle, Path::new(".git")),
            Some(link) => link.hold_own(),
        };
        let is_linked_so = self.link.as_ref().is_none_or(|link| {
            is_same(link.common(), beneath::hold_root(&self.common_path()))
                && link.check(self.handle(), self.own(), &self.top).is_ok()
        });
        let is_unchanged = is_same(self.handle(), beneath::hold_root(self.top.as_path()))
            && is_same(self.own(), own)
            && is_linked_so
            && PARTS.iter().all(|(name, part)| match part {
                Part::Never(_) => check_part(self.common(), name, *part).is_ok(),
                Part::Needed(_) | Part::Perhaps(_) => true,
            });
        if is_unchanged {
            return Ok(());
        }
        let reason = "it was changed while git was at work, so what came of that is not told";
        Err(Fault::Refused { path: self.top.clone(), reason: reason.to_owned() })
    }
}

fn is_same(held: BorrowedFd<'_>, named: Result<OwnedFd, Errno>) -> bool {
    let is = |stat: &Stat| (stat.st_dev, stat.st_ino);
    let named = named.and_then(rustix::fs::fstat).ok();
    named.as_ref().map(is) == rustix::fs::fstat(held).ok().as_ref().map(is)
}

/// Holds on to the directory at `path`, in which nothing may be that is left out.
pub(super) fn hold(
    reach: &Reach,
    path: &CanonicalPath,
    needed: Rights,
) -> Result<(OwnedFd, CanonicalPath), Fault> {
    let reached = reach.at(path, needed)?;
    let handle = reached.hold_directory()?;
    // SECURITY: git walks the whole directory, and cannot be told to leave something out.
    // The directory itself may be one that is only written, as when a repository is made in it.
    if reach.left_out_beneath(path).iter().any(|left_out| left_out != path) {
        let reason = "something protected lies in it, and git would read that too".to_owned();
        return Err(Fault::Refused { path: path.clone(), reason });
    }
    Ok((handle, path.clone()))
}

/// Returns what is at `name`.
pub(super) fn look_at(directory: BorrowedFd<'_>, name: &str) -> Result<Option<Kind>, Fault> {
    kind_at(directory, name).map_err(Fault::system("look at the repository"))
}

fn kind_at(directory: BorrowedFd<'_>, name: &str) -> Result<Option<Kind>, Errno> {
    let path = Path::new(name);
    let parent = path.parent().unwrap_or_else(|| Path::new(""));
    let parent = match beneath::hold_directory(directory, parent) {
        Ok(parent) => parent,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    let stat = beneath::look_at(parent, path.file_name().unwrap_or(OsStr::new(".")))?;
    Ok(stat.map(|stat| beneath::kind(&stat)))
}

pub(super) fn check_part(git: BorrowedFd<'_>, name: &str, part: Part) -> Result<(), String> {
    let found = kind_at(git, name)
        .map_err(|errno| format!("`.git/{name}`: {}", std::io::Error::from(errno)))?;
    match (found, part) {
        (None, Part::Needed(_)) => Err(format!("`.git/{name}` is missing")),
        (None, Part::Perhaps(_) | Part::Never(_)) => Ok(()),
        (Some(_), Part::Never(why)) => Err(format!("`.git/{name}` {why}")),
        (Some(found), Part::Needed(kind) | Part::Perhaps(kind)) if found == kind => Ok(()),
        (Some(_), Part::Needed(_) | Part::Perhaps(_)) => {
            Err(format!("`.git/{name}` is not what git makes there, and could lead elsewhere"))
        }
    }
}

/// Reads a file; `None` if there is none.
pub(super) fn read(
    git: BorrowedFd<'_>,
    name: &str,
    bytes_max: usize,
) -> Result<Option<Vec<u8>>, String> {
    let fault = |errno: Errno| format!("`.git/{name}`: {}", std::io::Error::from(errno));
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    let file = match beneath::open(git, Path::new(name), flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(fault(errno)),
    };
    if beneath::kind(&rustix::fs::fstat(&file).map_err(fault)?) != Kind::File {
        return Err(format!("`.git/{name}` is not a file"));
    }
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 64 << 10];
    loop {
        match rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut chunk)) {
            Ok(0) => return Ok(Some(bytes)),
            Ok(n_bytes) => bytes.extend(chunk.iter().take(n_bytes)),
            Err(errno) => return Err(fault(errno)),
        }
        if bytes_max < bytes.len() {
            return Err(format!("`.git/{name}` is longer than {bytes_max} bytes"));
        }
    }
}

/// The most entries of a directory in `.git` that are listed.
const NAMES_MAX: usize = 256;

/// Returns the names in a directory of the own part, if there is one.
pub(super) fn names(repository: &Repository, name: &str) -> Result<Vec<String>, Fault> {
    match beneath::list(repository.own(), Path::new(name), NAMES_MAX) {
        Ok((_, entries, _)) => {
            Ok(entries.into_iter().filter_map(|entry| entry.name.into_string().ok()).collect())
        }
        Err(Errno::NOENT) => Ok(Vec::new()),
        Err(errno) => Err(Fault::system("list the repository")(errno)),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make files")]

    use super::*;
    use crate::filesystem::view::{Links, View, ViewDirectory};
    use std::fs;

    /// A repository `r` and its linked working tree `t`, in a directory that is reached.
    struct Ground {
        place: tempfile::TempDir,
        reach: Reach,
    }

    impl Ground {
        fn new() -> Self {
            let place = tempfile::tempdir().unwrap();
            let root = place.path().canonicalize().unwrap();
            let directory =
                ViewDirectory { path: CanonicalPath::new(&root).unwrap(), rights: Rights::ALL };
            let view = View {
                directories: vec![directory],
                leave_out: Vec::new(),
                only: None,
                links: Links::Refuse,
            };
            for directory in ["r/.git/objects/info", "r/.git/refs", "r/.git/worktrees/t", "t"] {
                fs::create_dir_all(root.join(directory)).unwrap();
            }
            let entry = root.join("r/.git/worktrees/t");
            for (file, text) in [
                ("r/.git/HEAD", "ref: refs/heads/main\n".to_owned()),
                ("r/.git/worktrees/t/HEAD", "ref: refs/heads/t\n".to_owned()),
                ("r/.git/worktrees/t/commondir", "../..\n".to_owned()),
                ("r/.git/worktrees/t/gitdir", format!("{}\n", root.join("t/.git").display())),
                ("t/.git", format!("gitdir: {}\n", entry.display())),
            ] {
                fs::write(root.join(file), text).unwrap();
            }
            Self { place, reach: Reach::open(&view) }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.place.path().canonicalize().unwrap().join(name)
        }

        fn open(&self, name: &str) -> Repository {
            let path = CanonicalPath::new(self.path(name)).unwrap();
            Repository::open(&self.reach, &path, Rights::READ).unwrap()
        }

        fn replace(&self, name: &str) {
            fs::rename(self.path(name), self.path("old")).unwrap();
            fs::create_dir_all(self.path(name)).unwrap();
        }
    }

    /// What leads elsewhere by now, and how.
    type Turn = (&'static str, fn(&Ground));

    /// What git read by name may have been something else by then; so nothing of it is told.
    #[test]
    fn what_leads_elsewhere_after_a_run_is_noticed() {
        let turned: [Turn; 8] = [
            ("the pointer", |ground| {
                fs::write(ground.path("t/.git"), "gitdir: /o/.git/worktrees/t\n").unwrap();
            }),
            ("the way back", |ground| {
                fs::write(ground.path("r/.git/worktrees/t/gitdir"), "/o/.git\n").unwrap();
            }),
            ("the common part", |ground| {
                fs::write(ground.path("r/.git/worktrees/t/commondir"), "/o/.git\n").unwrap();
            }),
            ("the entry", |ground| ground.replace("r/.git/worktrees/t")),
            ("the repository", |ground| ground.replace("r/.git")),
            ("the directory above", |ground| ground.replace("r")),
            ("the tree", |ground| ground.replace("t")),
            ("the objects", |ground| {
                fs::write(ground.path("r/.git/objects/info/alternates"), "/o\n").unwrap();
            }),
        ];
        for (what, turn) in turned {
            let ground = Ground::new();
            let tree = ground.open("t");
            let main = ground.open("r");
            assert!(tree.check_again().is_ok() && main.check_again().is_ok(), "{what}");
            turn(&ground);
            assert!(tree.check_again().is_err(), "{what}");
            let is_of_both =
                ["the repository", "the directory above", "the objects"].contains(&what);
            assert_eq!(main.check_again().is_err(), is_of_both, "{what}");
        }
    }
}
