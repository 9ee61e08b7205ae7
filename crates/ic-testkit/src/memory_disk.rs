//! A disk in memory, so that the laws of resolving can be tried on thousands of trees.
//!
//! Models what the [`Disk`] trait asks for and nothing more: no permissions, no times that pass.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use ic_policy::{FileKind, FileState};
use ic_resolve::{Disk, Entry, Kind};

/// A disk in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    nodes: BTreeMap<PathBuf, Node>,
}

#[derive(Clone, Debug)]
enum Node {
    Directory,
    File(Vec<u8>),
    Link(PathBuf),
    /// Nobody may look.
    Forbidden,
}

impl MemoryDisk {
    /// Makes an empty disk.
    pub fn new() -> Self {
        Self { nodes: BTreeMap::from([(PathBuf::from("/"), Node::Directory)]) }
    }

    /// Adds a directory and all above it.
    #[must_use]
    pub fn dir(mut self, path: &str) -> Self {
        self.add_dirs(Path::new(path));
        self
    }

    /// Adds a file.
    #[must_use]
    pub fn file(mut self, path: &str, text: &str) -> Self {
        self.add(path, Node::File(text.as_bytes().to_vec()));
        self
    }

    /// Adds a link.
    #[must_use]
    pub fn link(mut self, path: &str, target: &str) -> Self {
        self.add(path, Node::Link(PathBuf::from(target)));
        self
    }

    /// Adds an entry that cannot be looked at.
    #[must_use]
    pub fn forbidden(mut self, path: &str) -> Self {
        self.add(path, Node::Forbidden);
        self
    }

    fn add(&mut self, path: &str, node: Node) {
        let path = Path::new(path);
        if let Some(parent) = path.parent() {
            self.add_dirs(parent);
        }
        self.nodes.insert(path.to_owned(), node);
    }

    fn add_dirs(&mut self, path: &Path) {
        for ancestor in path.ancestors() {
            self.nodes.entry(ancestor.to_owned()).or_insert(Node::Directory);
        }
    }

    /// Finds the node at `path`, following links on the way but not at the end, as the kernel does.
    fn find(&self, path: &Path, links_left: usize) -> io::Result<Option<(PathBuf, &Node)>> {
        let Some(name) = path.file_name() else {
            return Ok(self.nodes.get(path).map(|node| (path.to_owned(), node)));
        };
        let parent = path.parent().unwrap_or(Path::new("/"));
        let Some(parent) = self.directory(parent, links_left)? else { return Ok(None) };
        let path = parent.join(name);
        Ok(self.nodes.get(&path).map(|node| (path, node)))
    }

    fn directory(&self, path: &Path, links_left: usize) -> io::Result<Option<PathBuf>> {
        match self.find(path, links_left)? {
            Some((path, Node::Directory)) => Ok(Some(path)),
            Some((path, Node::Link(target))) => {
                let links_left =
                    links_left.checked_sub(1).ok_or_else(|| io::Error::other("too many links"))?;
                let base = path.parent().unwrap_or(Path::new("/"));
                self.directory(&base.join(target), links_left)
            }
            Some((_, Node::File(_))) | None => Ok(None),
            Some((_, Node::Forbidden)) => Err(io::ErrorKind::PermissionDenied.into()),
        }
    }
}

impl Disk for MemoryDisk {
    fn look(&self, path: &Path) -> io::Result<Option<Entry>> {
        let Some((path, node)) = self.find(path, 40)? else { return Ok(None) };
        let (kind, state_kind, bytes) = match node {
            Node::Directory => (Kind::Directory, FileKind::Directory, 0),
            Node::File(bytes) => (Kind::File, FileKind::File, bytes.len() as u64),
            Node::Link(target) => (Kind::Link, FileKind::Other, target.as_os_str().len() as u64),
            Node::Forbidden => return Err(io::ErrorKind::PermissionDenied.into()),
        };
        let inode = self.nodes.keys().position(|other| *other == path).unwrap_or(0) as u64;
        let state =
            FileState { kind: state_kind, device: 1, inode, bytes, modified_s: 0, modified_ns: 0 };
        Ok(Some(Entry { kind, state }))
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        match self.find(path, 40)? {
            Some((_, Node::Link(target))) => Ok(target.clone()),
            Some(_) | None => Err(io::Error::from(io::ErrorKind::InvalidInput)),
        }
    }

    fn read_file(&self, path: &Path, bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
        match self.find(path, 40)? {
            Some((_, Node::File(bytes))) if bytes.len() <= bytes_max => Ok(Some(bytes.clone())),
            Some(_) => Err(io::Error::from(io::ErrorKind::InvalidInput)),
            None => Ok(None),
        }
    }

    fn list(&self, path: &Path, n_max: usize) -> io::Result<Vec<(OsString, Kind)>> {
        let inside = self.nodes.iter().filter(|(node, _)| node.parent() == Some(path));
        let named = inside.filter_map(|(path, node)| {
            let kind = match node {
                Node::Directory => Kind::Directory,
                Node::File(_) => Kind::File,
                Node::Link(_) => Kind::Link,
                Node::Forbidden => Kind::Other,
            };
            Some((path.file_name()?.to_owned(), kind))
        });
        Ok(named.take(n_max).collect())
    }
}
