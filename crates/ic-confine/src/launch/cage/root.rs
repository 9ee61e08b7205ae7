//! The root of a cage: an empty directory into which what is seen is put, and nothing else.
//!
//! ```text
//! open    each tree that is to be seen, as a mount that is nowhere yet
//! build   an empty root, a place for what is written and goes with the cage, /proc, /dev, /etc
//! put     each tree to its place, those above before those below, and covers over what is hidden
//! move    in, and let go of the old root
//! ```
//!
//! Trees are copied only from mounts that are somewhere: kernels before 6.15 refuse the rest.
//!
//! SECURITY: the root of the host is never a part of it, so what nobody thought of is not there. It
//! knows nothing of policy: what is to be seen was decided before.

use std::path::{Path, PathBuf};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen,
    mount_change, move_mount, open_tree, unmount,
};
use rustix::process::{Gid, Uid};

use super::super::LaunchError;
use super::kernel::{can_cut_links, has_own_pid_max};
use super::lending::Lent;
use super::{below_root, hold_seen, is_in_view, not_in_view, path_of, system};
use crate::cage::{Access, CageSpec, CageUser, Limits, Placed, Relaxation};
use crate::start::OURSELVES;
use crate::sys;

/// Where the new root is put for a moment. It hides what is there, and nobody looks at that any more.
const SCAFFOLD: &str = "/usr";
/// What lies over what is hidden; the names are gone before anybody is there to see them.
const EMPTY_DIRECTORY: &str = ".nothing";
const EMPTY_FILE: &str = ".empty";
/// Where the places that share one size are while the root is made. It goes away with the old root, of
/// which nothing is looked for any more.
const TOGETHER: &str = "/dev";
const DIRECTORY: Mode = Mode::from_raw_mode(0o755);
/// The mode of a hidden directory: it is empty, and whoever looks sees that.
const HIDDEN_DIRECTORY: Mode = Mode::from_raw_mode(0o555);
/// More files and directories than any server has in its home.
const SCRATCH_FILES_MAX: u64 = 1 << 16;
/// What is made for the root itself: a few directories, links and files.
const ROOT_FILES_MAX: u64 = 1 << 14;

/// No devices, and no program that gains rights.
const HARMLESS: MountAttrFlags =
    MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV);

/// Makes the root of the cage, and moves this process into it.
pub(super) fn assemble(spec: &CageSpec, lent: &Lent) -> Result<(), LaunchError> {
    // Whatever is mounted from here on is for this process and those that it starts.
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(at("part from the mounts of", "/"))?;

    let trees = trees(spec, lent)?;
    let proc = make_proc(&spec.limits)?;
    let devices = devices()?;
    let root = Root::new()?;
    root.make_system()?;
    root.make_places(spec)?;
    root.put(&proc, Path::new("proc"), FileType::Directory)?;
    root.cover_proc()?;
    root.make_etc(spec)?;
    for tree in trees.iter().chain(&devices) {
        root.put(&tree.mount, below_root(&tree.at), tree.kind)?;
    }
    // SECURITY: what lies in a tree of the host would be made there.
    for link in spec.links.iter().filter(|link| !is_in_view(spec, &link.at)) {
        root.link(&link.at, &link.to)?;
    }
    for path in spec.hidden.iter().filter(|path| is_in_view(spec, path)) {
        // SECURITY: what is not there could be made, and then it would not be hidden.
        if !root.cover(below_root(path))? {
            return Err(not_in_view(path)(Errno::NOENT));
        }
    }
    root.enter()
}

/// A part of the host's files, on its way into the cage.
struct Tree {
    mount: OwnedFd,
    at: PathBuf,
    kind: FileType,
}

impl Tree {
    /// Takes the part at `path`, to which no link may lead.
    fn open(path: &Path, attributes: MountAttrFlags) -> Result<Self, LaunchError> {
        let (held, kind) = hold_seen(path)?;
        Self::of(&held, "", path, attributes, kind)
    }

    /// Takes what the guard has made ready for the place `at_path`.
    fn lent(mount: &OwnedFd, at_path: &Path) -> Result<Self, LaunchError> {
        let mount = mount.try_clone().map_err(at("show", at_path))?;
        let stat = rustix::fs::fstat(&mount).map_err(at("show", at_path))?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        Ok(Self { mount, at: at_path.to_owned(), kind })
    }

    fn of(
        directory: impl AsFd,
        name: &str,
        at_path: &Path,
        attributes: MountAttrFlags,
        kind: FileType,
    ) -> Result<Self, LaunchError> {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE
            | OpenTreeFlags::AT_EMPTY_PATH;
        let mount = open_tree(directory, name, flags).map_err(at("show", at_path))?;
        sys::set_mount_attributes(&mount, attributes).map_err(at("hold", at_path))?;
        Ok(Self { mount, at: at_path.to_owned(), kind })
    }
}

/// Holds this program, so that it can be run and not changed: no name in the cage leads to it, but a
/// process knows what it runs.
pub(super) fn hold_ourselves() -> Result<OwnedFd, LaunchError> {
    let failed = || at("find", OURSELVES);
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let held = rustix::fs::openat(CWD, OURSELVES, flags, Mode::empty()).map_err(failed())?;
    // What is held lies in the mounts of the host, of which nothing can be taken any more; so it is
    // looked for by its name in ours.
    let name = rustix::fs::readlinkat(CWD, OURSELVES, Vec::new()).map_err(failed())?;
    let path = path_of(&name);
    let Ok(named) = rustix::fs::openat(CWD, &path, flags | OFlags::NOFOLLOW, Mode::empty()) else {
        return Ok(held);
    };
    let identity = |it: &OwnedFd| rustix::fs::fstat(it).map(|stat| (stat.st_dev, stat.st_ino));
    if identity(&held).map_err(failed())? != identity(&named).map_err(failed())? {
        // The file was replaced since we were started; this is still the one that we run.
        return Ok(held);
    }
    let attributes = HARMLESS | MountAttrFlags::MOUNT_ATTR_RDONLY;
    Tree::of(&named, "", &path, attributes, FileType::RegularFile).map(|tree| tree.mount)
}

/// Takes all that is seen, those above before those below.
fn trees(spec: &CageSpec, lent: &Lent) -> Result<Vec<Tree>, LaunchError> {
    let read_only = HARMLESS | MountAttrFlags::MOUNT_ATTR_RDONLY;
    let mut trees = Vec::new();
    for path in system::DIRECTORIES.into_iter().chain(system::OPTIONAL_DIRECTORIES).map(Path::new) {
        // A link is made anew; what is missing is missing.
        if file_type(path) == Some(FileType::Directory) {
            trees.push(Tree::open(path, read_only)?);
        }
    }
    for path in system::ETC.into_iter().map(|name| Path::new("/etc").join(name)) {
        if matches!(file_type(&path), Some(FileType::Directory | FileType::RegularFile)) {
            trees.push(Tree::open(&path, read_only | MountAttrFlags::MOUNT_ATTR_NOEXEC)?);
        }
    }
    let mut seen: Vec<_> = spec.seen.iter().collect();
    seen.sort_by_key(|seen| seen.path.components().count());
    for seen in seen {
        trees.push(match lent.get(&seen.path) {
            Some(mount) => Tree::lent(mount, &seen.path)?,
            None => Tree::open(&seen.path, shown_as(spec, &seen.path, seen.access))?,
        });
    }
    for Placed { from, at, access } in &spec.placed {
        let attributes = match access {
            Access::Read => read_only,
            Access::Write => written(spec),
        };
        trees.push(match lent.get(at) {
            Some(mount) => Tree::lent(mount, at)?,
            None => Tree { at: at.clone(), ..Tree::open(from, attributes)? },
        });
    }
    Ok(trees)
}

/// Returns how a part of the host's files is mounted.
pub(super) fn shown_as(spec: &CageSpec, path: &Path, access: Access) -> MountAttrFlags {
    let follows_links = spec.follows_links || !can_cut_links();
    let links = match follows_links || system::is_touched(path) {
        true => MountAttrFlags::empty(),
        false => MountAttrFlags::MOUNT_ATTR_NOSYMFOLLOW,
    };
    let attributes = match access {
        Access::Read => HARMLESS | MountAttrFlags::MOUNT_ATTR_RDONLY,
        Access::Write => written(spec),
    };
    attributes | links
}

/// Returns how what can be written is mounted.
fn written(spec: &CageSpec) -> MountAttrFlags {
    match spec.is_relaxed(Relaxation::RunsWritten) {
        true => HARMLESS,
        // SECURITY: what can be written is not run.
        false => HARMLESS | MountAttrFlags::MOUNT_ATTR_NOEXEC,
    }
}

/// Takes the devices that every cage has.
fn devices() -> Result<Vec<Tree>, LaunchError> {
    // SECURITY: what is written to a device is written all the same; but root would be the owner of
    // the host's own, and could change their modes.
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NOEXEC
        | MountAttrFlags::MOUNT_ATTR_RDONLY;
    let device = |name| {
        let path = Path::new("/dev").join(name);
        let held = rustix::fs::openat(CWD, &path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
            .map_err(at("show", &path))?;
        Tree::of(&held, "", &path, attributes, FileType::CharacterDevice)
    };
    system::DEVICES.into_iter().map(device).collect()
}

/// Makes the `/proc` of the cage; much of it will be covered.
fn make_proc(limits: &Limits) -> Result<OwnedFd, LaunchError> {
    let failed = || at("make", "/proc");
    let context = fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC).map_err(failed())?;
    fsconfig_create(context.as_fd()).map_err(failed())?;
    let attributes = HARMLESS | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let proc =
        fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes).map_err(failed())?;
    if rustix::process::geteuid().is_root() && has_own_pid_max() {
        limit_tasks(&proc, limits).map_err(at("limit the processes of", "the cage"))?;
    }
    // SECURITY: root would find the settings of the host there, and could write them.
    let attributes = attributes | MountAttrFlags::MOUNT_ATTR_RDONLY;
    sys::set_mount_attributes(&proc, attributes).map_err(at("hold", "/proc"))?;
    Ok(proc)
}

/// Limits the number of processes where the limit of the user does not count, which is for root.
fn limit_tasks(proc: &OwnedFd, limits: &Limits) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(proc, "sys/kernel/pid_max", flags, Mode::empty())?;
    let pid_max = limits.tasks_max.max(PID_MAX_MIN);
    rustix::io::write(&file, pid_max.to_string().as_bytes()).map(drop)
}

/// The smallest value that the kernel takes: it keeps 300 numbers for itself. The guard counts below it, too.
const PID_MAX_MIN: u32 = 301;

/// The root while it is being made.
struct Root {
    mount: OwnedFd,
}

impl Root {
    /// Puts an empty root to where it can be built.
    fn new() -> Result<Self, LaunchError> {
        let root = memory(1 << 20, ROOT_FILES_MAX, HARMLESS)?;
        move_mount(&root, "", CWD, SCAFFOLD, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
            .map_err(at("put the root at", SCAFFOLD))?;
        // Programs look for optional files in places such as /usr/local/etc: that none is there is no
        // trouble to them, and that they may not look is.
        rustix::fs::mkdirat(&root, EMPTY_DIRECTORY, HIDDEN_DIRECTORY)
            .map_err(at("make", EMPTY_DIRECTORY))?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        rustix::fs::openat(&root, EMPTY_FILE, flags, Mode::empty())
            .map_err(at("make", EMPTY_FILE))?;
        Ok(Self { mount: root })
    }

    /// Makes the links that stand for directories of the system, and the files of `/etc` that are
    /// links.
    fn make_system(&self) -> Result<(), LaunchError> {
        let etc = system::ETC.into_iter().map(|name| Path::new("/etc").join(name));
        for path in system::DIRECTORIES.into_iter().map(PathBuf::from).chain(etc) {
            if file_type(&path) == Some(FileType::Symlink) {
                let target = rustix::fs::readlinkat(CWD, &path, Vec::new())
                    .map_err(at("read the link", &path))?;
                self.link(&path, &path_of(&target))?;
            }
        }
        Ok(())
    }

    /// Makes the home, `/tmp` and the rest that is the cage's own, which share one size.
    fn make_places(&self, spec: &CageSpec) -> Result<(), LaunchError> {
        let attributes = written(spec);
        let all = memory(spec.limits.scratch_bytes_max, SCRATCH_FILES_MAX, attributes)?;
        move_mount(&all, "", CWD, TOGETHER, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
            .map_err(at("put memory at", TOGETHER))?;
        let places = [
            ("tmp", Path::new("/tmp")),
            ("shm", Path::new("/dev/shm")),
            ("home", spec.home.as_path()),
        ];
        for (name, path) in places {
            rustix::fs::mkdirat(&all, name, Mode::RWXU).map_err(at("make", path))?;
            if let Some(CageUser { user, group, .. }) = &spec.user {
                let owner = (Some(Uid::from_raw(*user)), Some(Gid::from_raw(*group)));
                rustix::fs::chownat(&all, name, owner.0, owner.1, AtFlags::SYMLINK_NOFOLLOW)
                    .map_err(at("make", path))?;
            }
            let tree = Tree::of(&all, name, path, attributes, FileType::Directory)?;
            self.put(&tree.mount, below_root(path), FileType::Directory)?;
        }
        for (name, target) in system::DEVICE_LINKS {
            self.link(&Path::new("/dev").join(name), Path::new(target))?;
        }
        Ok(())
    }

    /// Covers what `/proc` tells of the machine, but for a few harmless things.
    fn cover_proc(&self) -> Result<(), LaunchError> {
        let failed = || at("look at", "/proc");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let proc = rustix::fs::openat(&self.mount, "proc", flags, Mode::empty());
        for entry in Dir::new(proc.map_err(failed())?).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            let name = path_of(entry.file_name());
            let is_known = name.to_str().is_some_and(|name| {
                name.starts_with(|first: char| first.is_ascii_digit())
                    || [".", ".."].contains(&name)
                    || system::PROC.contains(&name)
            });
            // What the links lead to is told of the processes of the cage.
            if !is_known && entry.file_type() != FileType::Symlink {
                self.cover(&Path::new("proc").join(name))?;
            }
        }
        Ok(())
    }

    /// Writes the files of `/etc` that are made for a cage.
    fn make_etc(&self, spec: &CageSpec) -> Result<(), LaunchError> {
        for name in system::MADE_ETC {
            let path = Path::new("/etc").join(name);
            let directory = self.directory(Path::new("etc"))?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let file = rustix::fs::openat(&directory, name, flags, Mode::from_raw_mode(0o644))
                .map_err(at("make", &path))?;
            rustix::io::write(&file, system::made_etc(name, spec).as_bytes())
                .map_err(at("write", &path))?;
        }
        Ok(())
    }

    /// Puts a mount to its place.
    fn put(&self, mount: impl AsFd, place: &Path, kind: FileType) -> Result<(), LaunchError> {
        let place = self.place(place, kind)?;
        move_to(mount, &place.0).map_err(at("show", &place.1))
    }

    /// Covers what is at `place` with an empty directory, or with a file that cannot be read; returns
    /// whether anything is there.
    fn cover(&self, place: &Path) -> Result<bool, LaunchError> {
        let found = match self.find(place) {
            Ok(found) => found,
            // What hides behind a link is hidden where it is.
            Err(Errno::LOOP) => return Ok(true),
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(false),
            Err(errno) => return Err(at("hide", place)(errno)),
        };
        let stat = rustix::fs::fstat(&found).map_err(at("hide", place))?;
        let (nothing, kind) = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => (EMPTY_DIRECTORY, FileType::Directory),
            _ => (EMPTY_FILE, FileType::RegularFile),
        };
        let attributes = HARMLESS | MountAttrFlags::MOUNT_ATTR_RDONLY;
        let nothing = Tree::of(&self.mount, nothing, place, attributes, kind)?;
        move_to(&nothing.mount, &found).map_err(at("hide", place))?;
        Ok(true)
    }

    /// Makes a link, unless something is there.
    fn link(&self, path: &Path, target: &Path) -> Result<(), LaunchError> {
        let place = below_root(path);
        let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else { return Ok(()) };
        match self.find(place) {
            Err(Errno::NOENT) => {}
            Ok(_) | Err(_) => return Ok(()),
        }
        let parent = self.directory(parent)?;
        rustix::fs::symlinkat(target, &parent, name).map_err(at("make the link", path))
    }

    /// Finds or makes the place for a mount.
    fn place(&self, place: &Path, kind: FileType) -> Result<(OwnedFd, PathBuf), LaunchError> {
        if kind == FileType::Directory {
            return Ok((self.directory(place)?, place.to_owned()));
        }
        if let Some(parent) = place.parent() {
            let (parent, name) = (self.directory(parent)?, place.file_name().unwrap_or_default());
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            match rustix::fs::openat(&parent, name, flags, Mode::RUSR) {
                // It is there, in a tree that was put there before.
                Ok(_) | Err(Errno::EXIST | Errno::ROFS) => {}
                Err(errno) => return Err(at("make a place for", place)(errno)),
            }
        }
        let found = self.find(place).map_err(at("make a place for", place))?;
        Ok((found, place.to_owned()))
    }

    /// Finds or makes a directory and all above it.
    fn directory(&self, place: &Path) -> Result<OwnedFd, LaunchError> {
        let mut directory = self.find(Path::new(".")).map_err(at("find", place))?;
        for name in place {
            directory = match step(&directory, Path::new(name)) {
                Err(Errno::NOENT) => {
                    rustix::fs::mkdirat(&directory, name, DIRECTORY).map_err(at("make", place))?;
                    step(&directory, Path::new(name)).map_err(at("make", place))?
                }
                found => found.map_err(at("find", place))?,
            };
        }
        Ok(directory)
    }

    fn find(&self, place: &Path) -> Result<OwnedFd, Errno> {
        step(&self.mount, place)
    }

    /// Makes this the root of our process, and lets go of the old one.
    fn enter(self) -> Result<(), LaunchError> {
        let failed = || at("move into", "the cage");
        // What was made from them does not need their names.
        rustix::fs::unlinkat(&self.mount, EMPTY_DIRECTORY, AtFlags::REMOVEDIR).map_err(failed())?;
        rustix::fs::unlinkat(&self.mount, EMPTY_FILE, AtFlags::empty()).map_err(failed())?;
        rustix::process::fchdir(&self.mount).map_err(failed())?;
        rustix::process::pivot_root(".", ".").map_err(failed())?;
        // The old root lies over the new one now.
        unmount(".", UnmountFlags::DETACH).map_err(failed())?;
        rustix::process::chdir("/").map_err(failed())?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, "/", flags, Mode::empty()).map_err(failed())?;
        lock(root.as_fd()).map_err(at("lock", "the root of the cage"))
    }
}

/// Lets nothing be made in the root itself any more; what is mounted there stays as it is.
fn lock(root: BorrowedFd<'_>) -> std::io::Result<()> {
    sys::set_one_mount_attributes(root, HARMLESS | MountAttrFlags::MOUNT_ATTR_RDONLY)
}

/// Makes an empty directory in memory.
fn memory(size: u64, n_files: u64, attributes: MountAttrFlags) -> Result<OwnedFd, LaunchError> {
    let failed = || at("make", "an empty directory");
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC).map_err(failed())?;
    for (key, value) in [("size", size), ("nr_inodes", n_files)] {
        fsconfig_set_string(context.as_fd(), key, value.to_string()).map_err(failed())?;
    }
    fsconfig_set_string(context.as_fd(), "mode", "0755").map_err(failed())?;
    fsconfig_create(context.as_fd()).map_err(failed())?;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes).map_err(failed())
}

pub(super) fn move_to(mount: impl AsFd, place: impl AsFd) -> Result<(), Errno> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(mount, "", place, "", flags)
}

/// Goes from a directory to what is below it, through no link.
pub(super) fn step(directory: impl AsFd, name: &Path) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::openat2(directory, name, flags, Mode::empty(), resolve)
}

/// Returns what is at `path`, a link being a link.
fn file_type(path: &Path) -> Option<FileType> {
    let stat = rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(stat.st_mode))
}

/// Names what was being done, and with what, when the system said no.
pub(super) fn at<E: Into<std::io::Error>>(
    doing: &'static str,
    path: impl AsRef<Path>,
) -> impl FnOnce(E) -> LaunchError {
    let path = path.as_ref().to_owned();
    move |error| LaunchError::Cage { doing, path, source: error.into() }
}
