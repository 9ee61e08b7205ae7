//! The second rung: bubblewrap makes the namespaces and the root, and runs this program inside.
//!
//! It is for machines where `bwrap` may do what we may not. What it cannot do is done inside by this
//! program again: doors, limits, Landlock, seccomp. It follows links on the way to what is shown, so
//! inside we look whether it has shown what was meant.

use std::ffi::OsString;
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, FileType, MemfdFlags, Mode, OFlags, SeekFrom};
use rustix::mount::MountAttrFlags;
use rustix::process::{Pid, Signal};

use super::super::{LaunchError, cannot, hold_ourselves};
use super::{hold_seen, is_in_view, not_in_view, system};
use crate::cage::{Access, CageSpec, Placed, Relaxation, Seen};
use crate::orders::{BecomeOrder, CageOrder, HoldOrder, Identity, Invocation};
use crate::program;
use crate::start::OURSELVES;
use crate::sys;

/// Where bubblewrap is; no place where anybody but root installs.
const PROGRAMS: [&str; 3] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];
/// This program, as it is called in the cage.
const LAUNCHER: &str = "/.launcher";

/// Returns whether there is such a program.
pub(crate) fn is_installed() -> bool {
    find().is_some()
}

fn find() -> Option<&'static str> {
    PROGRAMS.into_iter().find(|path| program::check(Path::new(path)).is_ok())
}

/// Starts the server in a cage of bubblewrap; returns the process outside.
pub(in super::super) fn start(
    order: &CageOrder,
    invocation: &Invocation,
) -> Result<Pid, LaunchError> {
    let bubblewrap = find().ok_or(LaunchError::NoBubblewrap)?;
    let identities = order.spec.seen.iter().map(|seen| identity(&seen.path));
    let guard = hold_ourselves()?;
    let order = CageOrder {
        identities: identities.collect::<Result<_, _>>()?,
        guard: Some(guard.as_raw_fd()),
        ..order.clone()
    };
    let mut words = Words::default();
    words.cage(&order)?;
    let (hold, invocation) = (HoldOrder::Caged(Box::new(order.clone())), invocation.clone());
    let inside = BecomeOrder { guard: None, hold, invocation }.words();

    #[expect(clippy::disallowed_methods, reason = "this is where servers come from")]
    let mut command = std::process::Command::new(bubblewrap);
    command.args(&words.words).arg("--").arg(LAUNCHER).args(inside);
    // Its own, so that what is sent to the group does not come back to us.
    command.process_group(0);
    // The wish that the server may end is for the server alone: bubblewrap would die of it, and
    // everything with it.
    sys::let_child_ignore(&mut command, Signal::TERM);
    for file in &words.files {
        sys::let_child_inherit(&mut command, file);
    }
    sys::let_child_inherit(&mut command, &guard);
    if let Some(doors) = order.doors {
        sys::let_child_inherit_number(&mut command, doors);
    }
    let started = command.spawn().map_err(cannot("start bubblewrap"))?;
    Ok(Pid::from_child(&started))
}

/// Checks that what is shown is what was meant.
pub(super) fn check_shown(order: &CageOrder) -> Result<(), LaunchError> {
    for (seen, meant) in order.spec.seen.iter().zip(&order.identities) {
        if identity(&seen.path)? != *meant {
            return Err(not_in_view(&seen.path)(rustix::io::Errno::LOOP));
        }
    }
    Ok(())
}

/// Keeps what can be written from being run (by name, by a loader, or as a library), unless the cage lets it.
///
/// Bubblewrap has no words for this, so it is done from inside, while we still may.
pub(super) fn forbid_running(order: &CageOrder) -> Result<(), LaunchError> {
    let spec = &order.spec;
    let harmless = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let attributes = match spec.is_relaxed(Relaxation::RunsWritten) {
        true => harmless,
        false => harmless | MountAttrFlags::MOUNT_ATTR_NOEXEC,
    };
    let written = spec.seen.iter().filter(|seen| seen.access == Access::Write);
    let places = [Path::new("/tmp"), Path::new("/dev/shm"), &spec.home];
    for path in places.into_iter().chain(written.map(|seen| seen.path.as_path())) {
        let (held, _) = hold_seen(path)?;
        let is_read = |seen: &Seen| seen.access == Access::Read && seen.path.starts_with(path);
        // What lies in it and is only read may be run, and is a mount of its own.
        let set = match spec.seen.iter().any(is_read) {
            true => sys::set_one_mount_attributes(&held, attributes),
            false => sys::set_mount_attributes(&held, attributes),
        };
        set.map_err(|source| LaunchError::NotInView { path: path.to_owned(), source })?;
    }
    Ok(())
}

/// Looks at what is at `path`, to which no link may lead.
fn identity(path: &Path) -> Result<Identity, LaunchError> {
    let (held, _) = hold_seen(path)?;
    let stat = rustix::fs::fstat(held).map_err(not_in_view(path))?;
    Ok(Identity { device: stat.st_dev, file: stat.st_ino })
}

/// The words for bubblewrap, and the files that they speak of by number.
#[derive(Default)]
struct Words {
    words: Vec<OsString>,
    files: Vec<OwnedFd>,
}

impl Words {
    fn cage(&mut self, order: &CageOrder) -> Result<(), LaunchError> {
        let spec = &order.spec;
        for namespace in ["user", "ipc", "pid", "net", "uts", "cgroup"] {
            self.say([format!("--unshare-{namespace}")]);
        }
        self.say(["--die-with-parent", "--hostname", system::HOST_NAME]);
        // What the doors and the mounts take, and what it takes to give it up again.
        self.say(["--cap-drop", "ALL"]);
        for capability in ["CAP_SETPCAP", "CAP_NET_ADMIN", "CAP_NET_BIND_SERVICE", "CAP_SYS_ADMIN"]
        {
            self.say(["--cap-add", capability]);
        }
        self.system()?;
        self.places(spec);
        self.made_etc(spec)?;
        let mut seen: Vec<_> = spec.seen.iter().collect();
        seen.sort_by_key(|seen| seen.path.components().count());
        for seen in seen {
            let how = match seen.access {
                Access::Read => "--ro-bind",
                Access::Write => "--bind",
            };
            self.say([how.as_ref(), seen.path.as_os_str(), seen.path.as_os_str()]);
        }
        for Placed { from, at, access } in &spec.placed {
            let how = match access {
                Access::Read => "--ro-bind",
                Access::Write => "--bind",
            };
            self.say([how.as_ref(), from.as_os_str(), at.as_os_str()]);
        }
        for link in spec.links.iter().filter(|link| !is_in_view(spec, &link.at)) {
            self.say(["--symlink".as_ref(), link.to.as_os_str(), link.at.as_os_str()]);
        }
        // What is not in the cage needs no cover, and must not get a place by one.
        for path in spec.hidden.iter().filter(|path| is_in_view(spec, path)) {
            self.hide(path)?;
        }
        self.say(["--remount-ro", "/"]);
        Ok(())
    }

    fn system(&mut self) -> Result<(), LaunchError> {
        let etc = system::ETC.into_iter().map(|name| Path::new("/etc").join(name));
        let directories = system::DIRECTORIES.into_iter().chain(system::OPTIONAL_DIRECTORIES);
        for path in directories.map(Path::new).map(Path::to_owned).chain(etc) {
            let Ok(stat) = rustix::fs::statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => {
                    let target = rustix::fs::readlinkat(CWD, &path, Vec::new())
                        .map_err(cannot("read a link of the system"))?;
                    let target = super::path_of(&target);
                    self.say(["--symlink".as_ref(), target.as_os_str(), path.as_os_str()]);
                }
                FileType::Directory => {
                    self.say(["--ro-bind".as_ref(), path.as_os_str(), path.as_os_str()]);
                }
                // Each mount costs bubblewrap a look at all of them, so small files are copied.
                FileType::RegularFile => self.copy(&path),
                _ => {}
            }
        }
        let ourselves = rustix::fs::readlinkat(CWD, OURSELVES, Vec::new())
            .map_err(cannot("find this program"))?;
        self.say(["--ro-bind".as_ref(), super::path_of(&ourselves).as_os_str(), LAUNCHER.as_ref()]);
        self.say(["--proc", "/proc", "--remount-ro", "/proc"]);
        for name in system::DEVICES {
            let path = format!("/dev/{name}");
            self.say(["--dev-bind", &path, &path]);
        }
        for (name, target) in system::DEVICE_LINKS {
            self.say(["--symlink".to_owned(), target.to_owned(), format!("/dev/{name}")]);
        }
        Ok(())
    }

    fn places(&mut self, spec: &CageSpec) {
        // There is no way to let them share one size.
        let size = (spec.limits.scratch_bytes_max / 3).to_string();
        for path in [Path::new("/tmp"), Path::new("/dev/shm"), &spec.home] {
            self.say(["--perms", "0700", "--size", &size]);
            self.say(["--tmpfs".as_ref(), path.as_os_str()]);
        }
    }

    fn made_etc(&mut self, spec: &CageSpec) -> Result<(), LaunchError> {
        for name in system::MADE_ETC {
            let number = self.file(system::made_etc(name, spec).as_bytes())?;
            let path = format!("/etc/{name}");
            self.say(["--perms".into(), "0644".into(), "--file".into(), number, path]);
        }
        Ok(())
    }

    /// Shows a copy of the file at `path`, in the root that nobody writes; one that we may not read is
    /// of no use to the server either.
    fn copy(&mut self, path: &Path) {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(file) = rustix::fs::openat(CWD, path, flags, Mode::empty()) else { return };
        let number = OsString::from(file.as_raw_fd().to_string());
        self.files.push(file);
        self.say(["--perms", "0644"]);
        self.say(["--file".as_ref(), number.as_os_str(), path.as_os_str()]);
    }

    /// Covers what is at `path`.
    fn hide(&mut self, path: &Path) -> Result<(), LaunchError> {
        // SECURITY: what is not there could be made, and then it would not be hidden.
        let stat =
            rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).map_err(not_in_view(path))?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            self.say(["--perms", "0555"]);
            self.say(["--tmpfs".as_ref(), path.as_os_str()]);
            self.say(["--remount-ro".as_ref(), path.as_os_str()]);
        } else {
            let number = OsString::from(self.file(b"")?);
            self.say(["--perms", "0000"]);
            self.say(["--ro-bind-data".as_ref(), number.as_os_str(), path.as_os_str()]);
        }
        Ok(())
    }

    /// Makes a file with `text`, and returns the number under which bubblewrap will have it.
    fn file(&mut self, text: &[u8]) -> Result<String, LaunchError> {
        let failed = "make a file for the cage";
        let file =
            rustix::fs::memfd_create(c"cage", MemfdFlags::CLOEXEC).map_err(cannot(failed))?;
        rustix::io::write(&file, text).map_err(cannot(failed))?;
        rustix::fs::seek(&file, SeekFrom::Start(0)).map_err(cannot(failed))?;
        let number = file.as_raw_fd().to_string();
        self.files.push(file);
        Ok(number)
    }

    fn say<W: Into<OsString>, const N: usize>(&mut self, words: [W; N]) {
        self.words.extend(words.map(Into::into));
    }
}
