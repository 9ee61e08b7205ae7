//! What a person can be asked to keep of what was put back, and how it is installed once they say yes.
//!
//! The bytes are read once, when nobody writes any more: they are what is shown, what the question is
//! bound to by their digests, and what is installed. Whether something is kept is not decided here.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ic_home::scratch;
use ic_resolve::{Disk as _, Kind, RealDisk};
use ic_servers::filesystem::diff::unified;
use ic_types::{CanonicalPath, Digest, Json, Object};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Mode, RenameFlags};
use rustix::io::Errno;

use super::Kept;
use super::places::{DIRECTORY, held_path, hold, write_new};
use super::put_back::{Away, PutBack};
use super::survey::{Former, Text};

/// How many files and directories a person is asked to keep, and how many bytes are in them.
const NODES_MAX: usize = 200;
const BYTES_MAX: usize = 512 << 10;
/// What a file is called until it is where it belongs.
const UNFINISHED: &str = ".ironcurtain-keep";

/// What a person can be asked to keep.
#[derive(Clone, Debug, Default)]
pub struct Keepable {
    items: Vec<Item>,
    /// What they cannot be asked to keep, and why.
    pub others: Vec<(CanonicalPath, &'static str)>,
}

/// Something that appeared, whole.
#[derive(Clone, Debug)]
struct Item {
    away: Away,
    /// Itself first, then what is in it.
    nodes: Vec<Node>,
}

#[derive(Clone, Debug)]
struct Node {
    /// Where in the item.
    below: PathBuf,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Directory,
    File { bytes: Vec<u8>, is_executable: bool },
}

impl Keepable {
    /// Reads what was put back, as far as a person can look at it.
    pub fn of(done: &PutBack) -> Self {
        let mut keepable = Self::default();
        let (mut n_nodes, mut n_bytes) = (NODES_MAX, BYTES_MAX);
        for away in &done.away {
            match read(away, (&mut n_nodes, &mut n_bytes)) {
                Ok(nodes) => keepable.items.push(Item { away: away.clone(), nodes }),
                Err(why) => keepable.others.push((away.path.clone(), why)),
            }
        }
        keepable
    }

    /// Returns whether there is nothing to ask.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns the places.
    pub fn paths(&self) -> impl Iterator<Item = &CanonicalPath> {
        self.items.iter().map(|item| &item.away.path)
    }

    /// Returns where it was found.
    pub(crate) fn grounds(&self) -> Vec<Arc<Kept>> {
        let mut grounds: Vec<Arc<Kept>> = Vec::new();
        for kept in self.items.iter().map(|item| &item.away.kept) {
            if !grounds.iter().any(|it| Arc::ptr_eq(it, kept)) {
                grounds.push(Arc::clone(kept));
            }
        }
        grounds
    }

    /// Returns what a person is shown, and what the question is bound to.
    pub fn arguments(&self) -> Object {
        let mut files = Vec::new();
        for Item { away, nodes } in &self.items {
            files.extend(nodes.iter().map(|node| Json::Object(node.told(away))));
        }
        let mut arguments = Object::new();
        arguments.insert("files", files);
        arguments
    }

    /// Puts everything where it was found; nobody else may write there meanwhile.
    pub(crate) fn install(&self) -> (Vec<CanonicalPath>, Vec<String>) {
        let (mut installed, mut failed) = (Vec::new(), Vec::new());
        for item in &self.items {
            match item.install() {
                Ok(()) => installed.push(item.away.path.clone()),
                Err(why) => failed.push(format!("`{}`: {why}", item.away.path)),
            }
        }
        (installed, failed)
    }
}

/// Reads one thing from the quarantine.
fn read(
    away: &Away,
    (n_nodes, n_bytes): (&mut usize, &mut usize),
) -> Result<Vec<Node>, &'static str> {
    const TOO_MUCH: &str = "it is too much to be looked at";
    let Some(place) = &away.place else { return Err("it could not be kept") };
    let mut nodes = Vec::new();
    let mut rest = VecDeque::from([PathBuf::new()]);
    while let Some(below) = rest.pop_front() {
        *n_nodes = n_nodes.checked_sub(1).ok_or(TOO_MUCH)?;
        let path = if below.as_os_str().is_empty() { place.clone() } else { place.join(&below) };
        let entry = RealDisk.look(&path).ok().flatten().ok_or("it cannot be read")?;
        let what = match entry.kind {
            Kind::Directory => {
                let entries = RealDisk.list(&path, NODES_MAX.saturating_add(1));
                let mut names: Vec<OsString> =
                    entries.map_err(|_| "it cannot be read")?.into_iter().map(|it| it.0).collect();
                names.sort();
                rest.extend(names.into_iter().map(|name| below.join(name)));
                What::Directory
            }
            Kind::File => {
                let bytes = RealDisk.read_file(&path, *n_bytes).ok().flatten().ok_or(TOO_MUCH)?;
                *n_bytes = n_bytes.saturating_sub(bytes.len());
                let mode = rustix::fs::lstat(&path).map(|stat| Mode::from_raw_mode(stat.st_mode));
                let is_executable = mode.is_ok_and(|mode| mode.contains(Mode::XUSR));
                What::File { bytes, is_executable }
            }
            Kind::Link | Kind::Other => {
                return Err("it is, or holds, something else than plain files");
            }
        };
        nodes.push(Node { below, what });
    }
    Ok(nodes)
}

impl Node {
    fn told(&self, away: &Away) -> Object {
        let is_itself = self.below.as_os_str().is_empty();
        let path = match is_itself {
            true => away.path.as_path().to_owned(),
            false => away.path.as_path().join(&self.below),
        };
        let shown = path.to_string_lossy();
        let mut told = Object::new();
        told.insert("path", shown.as_ref());
        match &self.what {
            What::Directory => {
                told.insert("kind", "directory");
            }
            What::File { bytes, is_executable } => {
                let before = away.before.as_ref().filter(|_| is_itself);
                told.insert("kind", "file");
                told.insert("change", if before.is_some() { "changed" } else { "new" });
                told.insert("bytes", bytes.len() as u64);
                told.insert("executable", *is_executable);
                told.insert("sha256", Digest::of(bytes).to_string());
                let text = before.and_then(Former::text);
                if let Some(diff) = difference(&shown, text, bytes) {
                    told.insert("diff", diff);
                }
            }
        }
        told
    }
}

/// Returns how a text differs from what was there, if both are texts.
fn difference(name: &str, before: Option<&Arc<Text>>, bytes: &[u8]) -> Option<String> {
    let before = before.map_or(Ok(""), |text| std::str::from_utf8(&text.bytes)).ok()?;
    let after = std::str::from_utf8(bytes).ok()?;
    let is_text = !before.contains('\0') && !after.contains('\0');
    is_text.then(|| unified(name, before, after))
}

impl Item {
    fn install(&self) -> Result<(), String> {
        let (parent, name) = hold(&self.away.kept.ground, &self.away.path)?;
        self.check_place(&parent, name.as_ref())?;
        let unfinished = OsString::from(UNFINISHED);
        let made = self.make(&parent, &unfinished).and_then(|()| {
            let flags = match self.away.before {
                // It is the very file or link that was put back.
                Some(_) => RenameFlags::empty(),
                None => RenameFlags::NOREPLACE,
            };
            rustix::fs::renameat_with(&parent, unfinished.as_os_str(), &parent, name, flags)
        });
        made.map_err(|errno| {
            // What is left of it is not what was asked about.
            scratch::remove_tree(held_path(&parent).join(UNFINISHED)).ok();
            rustix::fs::unlinkat(&parent, UNFINISHED, AtFlags::empty()).ok();
            errno.to_string()
        })
    }

    /// Fails unless the place is what it was when things were put back.
    fn check_place(&self, parent: &OwnedFd, name: &Path) -> Result<(), String> {
        let changed = || "something else is there by now".to_owned();
        let stat = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
        match (&self.away.before, stat) {
            (None, Err(Errno::NOENT)) => Ok(()),
            (Some(Former::File(text)), Ok(stat))
                if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile =>
            {
                let path = held_path(parent).join(name);
                let now = RealDisk.read_file(&path, text.bytes.len()).ok().flatten();
                if now.as_ref() == Some(&text.bytes) { Ok(()) } else { Err(changed()) }
            }
            (Some(Former::Link(target)), Ok(_)) => {
                let now = rustix::fs::readlinkat(parent, name, Vec::new());
                let is_same = now.is_ok_and(|now| now.as_bytes() == target.as_encoded_bytes());
                if is_same { Ok(()) } else { Err(changed()) }
            }
            (None | Some(_), _) => Err(changed()),
        }
    }

    /// Makes a copy of everything under another name.
    fn make(&self, parent: &OwnedFd, unfinished: &OsString) -> Result<(), Errno> {
        for Node { below, what } in &self.nodes {
            let path = match below.as_os_str().is_empty() {
                true => PathBuf::from(unfinished),
                false => Path::new(unfinished).join(below),
            };
            let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
                return Err(Errno::INVAL);
            };
            let above = match above.as_os_str().is_empty() {
                true => rustix::io::fcntl_dupfd_cloexec(parent, 0)?,
                // Nobody but us writes there, and we made no link.
                false => rustix::fs::openat(parent, above, DIRECTORY, Mode::empty())?,
            };
            match what {
                What::Directory => {
                    rustix::fs::mkdirat(&above, name, Mode::from_raw_mode(0o755))?;
                }
                What::File { bytes, is_executable } => {
                    write_new(&above, name, (bytes, *is_executable))?;
                }
            }
        }
        Ok(())
    }
}
