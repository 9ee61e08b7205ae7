//! Covers of a cage that runs, made anew: a mount goes when somebody outside replaces what it lies on.
//!
//! ```text
//! guard ─▶ a copy of it ─▶ into the namespaces of the cage ─▶ each place: hold ─▶ mount it over itself ─▶ look
//! ```
//!
//! What lies in the cage is mounted over itself, so nothing of the host that is not there already comes into it.
//! When this is done, and for which places, is the guard's to say.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, StatxFlags};
use rustix::io::Errno;
use rustix::mount::{MountAttrFlags, OpenTreeFlags, open_tree};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use super::super::signals::HEARD;
use super::super::{LaunchError, cannot, report};
use super::below_root;
use super::root::{at, move_to, shown_as, step};
use crate::cage::{Access, CageSpec};
use crate::orders::Identity;
use crate::sys::{self, Awaited, Launching};

/// How often a place is tried that changes meanwhile.
const TRIES_MAX: usize = 16;
/// How long all of it may take.
const RENEWAL_MAX: Duration = Duration::from_secs(2);
/// How often the copy is told to go on: whoever stops the cage stops it as well.
const ROUND: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
/// A place in the answer of the copy: whether something is there, and what.
const ANSWER_BYTES: usize = 17;

/// The namespaces of a cage, held from outside.
pub(in super::super) struct Inside {
    /// None if the cage has the users of the host.
    users: Option<OwnedFd>,
    mounts: OwnedFd,
}

impl Inside {
    /// Holds the namespaces of the first process of a cage, before it hides.
    pub(super) fn hold(first: Pid) -> Result<Self, Errno> {
        let open = |process: &str, name: &str| {
            let path = PathBuf::from(format!("/proc/{process}/ns/{name}"));
            rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        };
        let process = first.as_raw_nonzero().to_string();
        let (users, ours) = (open(&process, "user")?, open("self", "user")?);
        let number = |it: &OwnedFd| rustix::fs::fstat(it).map(|stat| stat.st_ino);
        let is_other = number(&users)? != number(&ours)?;
        Ok(Self { users: is_other.then_some(users), mounts: open(&process, "mnt")? })
    }

    /// Moves this process into them; returns the root of the cage.
    fn enter(&self) -> Result<OwnedFd, Errno> {
        if let Some(users) = &self.users {
            move_into_link_name_space(users.as_fd(), Some(LinkNameSpaceType::User))?;
        }
        move_into_link_name_space(self.mounts.as_fd(), Some(LinkNameSpaceType::Mount))?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(CWD, "/", flags, Mode::empty())
    }
}

/// Covers each of `places` anew, in this order; returns what is covered at each, if anything is there that can be.
pub(in super::super) fn renew(
    launching: &Launching,
    (inside, spec): (&Inside, &CageSpec),
    places: &[(PathBuf, Access)],
) -> Result<Vec<Option<Identity>>, LaunchError> {
    let (answer, say) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)
        .map_err(cannot("make a pipe for covers"))?;
    // Held back, so that none comes to a copy that has our handlers.
    let awaited = Awaited::hold_back(&HEARD).map_err(cannot("wait for signals"))?;
    let none = UnshareFlags::empty();
    let Some(copy) = launching.fork_into(none).map_err(cannot("renew a cover"))? else {
        let done = cover_all(inside, spec, places, &say);
        sys::leave(done.map_or_else(|error| report(&error), |()| 0));
    };
    awaited.release().map_err(cannot("wait for signals"))?;
    drop(say);
    let said = hear(&answer, copy).map_err(cannot("renew a cover"))?;
    if said.len() != places.len() * ANSWER_BYTES {
        return Err(cannot("renew a cover")(Errno::IO));
    }
    Ok(said.chunks_exact(ANSWER_BYTES).map(read).collect())
}

/// Hears what the copy says until it has ended.
fn hear(answer: &OwnedFd, copy: Pid) -> Result<Vec<u8>, Errno> {
    #[expect(clippy::disallowed_methods, reason = "a guard only measures its waits")]
    let now = Instant::now;
    let (began, mut said, mut buffer) = (now(), Vec::new(), [0; 4096]);
    loop {
        // Nobody has waited for it, so the number is its own.
        rustix::process::kill_process(copy, Signal::CONT).ok();
        poll(&mut [PollFd::new(answer, PollFlags::IN)], Some(&ROUND)).ok();
        match rustix::io::read(answer, &mut buffer) {
            Ok(0) => return Ok(said),
            Ok(n_bytes) => said.extend_from_slice(buffer.get(..n_bytes).unwrap_or_default()),
            Err(Errno::AGAIN | Errno::INTR) if now() < began + RENEWAL_MAX => {}
            Err(errno) => {
                rustix::process::kill_process(copy, Signal::KILL).ok();
                return Err(errno);
            }
        }
    }
}

fn cover_all(
    inside: &Inside,
    spec: &CageSpec,
    places: &[(PathBuf, Access)],
    say: &OwnedFd,
) -> Result<(), LaunchError> {
    let root = inside.enter().map_err(cannot("go into the cage"))?;
    for (path, access) in places {
        let covered = cover(&root, path, shown_as(spec, path, *access))?;
        rustix::io::write(say, &written(covered)).map_err(cannot("say what is covered"))?;
    }
    Ok(())
}

/// Covers what is at `path` now; returns what that is.
fn cover(
    root: &OwnedFd,
    path: &Path,
    attributes: MountAttrFlags,
) -> Result<Option<Identity>, LaunchError> {
    let mut failed = Errno::AGAIN;
    for _ in 0..TRIES_MAX {
        match cover_once(root, path, attributes) {
            Ok(Some(identity)) => return Ok(Some(identity)),
            Ok(None) => {}
            // Nothing is there, or a link, which no mount can lie on: the host looks at those itself.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
                if step(root, below_root(path)).is_err() =>
            {
                return Ok(None);
            }
            Err(Errno::NOTSUP) => return Ok(None),
            Err(errno) => failed = errno,
        }
    }
    Err(at("cover", path)(failed))
}

/// Returns nothing if something else was there by the time that the cover was.
fn cover_once(
    root: &OwnedFd,
    path: &Path,
    attributes: MountAttrFlags,
) -> Result<Option<Identity>, Errno> {
    let place = below_root(path);
    let held = step(root, place)?;
    let stat = rustix::fs::fstat(&held)?;
    if !matches!(FileType::from_raw_mode(stat.st_mode), FileType::RegularFile | FileType::Directory)
    {
        return Err(Errno::NOTSUP);
    }
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    let tree = open_tree(&held, "", flags)?;
    let set = sys::set_mount_attributes(&tree, attributes);
    set.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    move_to(&tree, &held)?;
    // SECURITY: the agent may have moved away what was held before the cover lay on it.
    let is_there = step(root, place).and_then(|it| mount_of(&it)).ok() == Some(mount_of(&tree)?);
    Ok(is_there.then_some(Identity { device: stat.st_dev, file: stat.st_ino }))
}

/// Returns the number of the mount that something lies in.
fn mount_of(held: &OwnedFd) -> Result<u64, Errno> {
    let stat = rustix::fs::statx(held, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)?;
    match stat.stx_mask & StatxFlags::MNT_ID.bits() {
        0 => Err(Errno::NOSYS),
        _ => Ok(stat.stx_mnt_id),
    }
}

fn written(covered: Option<Identity>) -> Vec<u8> {
    let Identity { device, file } = covered.unwrap_or(Identity { device: 0, file: 0 });
    let mut bytes = vec![u8::from(covered.is_some())];
    bytes.extend(device.to_ne_bytes());
    bytes.extend(file.to_ne_bytes());
    bytes
}

fn read(bytes: &[u8]) -> Option<Identity> {
    let (is_there, rest) = bytes.split_first()?;
    let (device, file) = rest.split_at_checked(8)?;
    let number = |bytes: &[u8]| Some(u64::from_ne_bytes(bytes.try_into().ok()?));
    let identity = Identity { device: number(device)?, file: number(file)? };
    (*is_there == 1).then_some(identity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_as_it_was_given() {
        for covered in [None, Some(Identity { device: 3, file: u64::MAX })] {
            let bytes = written(covered);
            assert_eq!(bytes.len(), ANSWER_BYTES);
            assert_eq!(read(&bytes), covered);
        }
        assert_eq!(read(&[]), None);
    }
}
