//! What must not happen, looked at on the disk: the canary, files elsewhere, and what the host executes.
//!
//! It asks nobody what was allowed. It looks before the user does anything, and once more afterwards.

#![expect(
    clippy::disallowed_methods,
    reason = "test support: it reads the files of the test's own place"
)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::listed;
use super::world::World;

/// An entry of a directory, as it is.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Entry {
    Directory,
    Link(PathBuf),
    File { mode: u32, bytes: Vec<u8> },
}

/// How everything was before the agent came.
#[derive(Debug)]
pub struct Watch {
    elsewhere: BTreeMap<PathBuf, Entry>,
    listed: BTreeMap<PathBuf, Entry>,
}

impl Watch {
    /// Notes how everything is.
    pub fn begin(world: &World) -> Self {
        Self { elsewhere: elsewhere(world), listed: listed(world) }
    }

    /// Returns what is not as it should be, before the user has done anything.
    pub fn before_the_user(&self, world: &World) -> Vec<String> {
        let mut findings = self.findings(world);
        let now = listed(world);
        for (path, was) in &self.listed {
            if now.get(path) != Some(was) {
                findings.push(format!("`{}` was changed or removed", path.display()));
            }
        }
        findings
    }

    /// Returns what is not as it should be, after the user's commands.
    pub fn after_the_user(&self, world: &World) -> Vec<String> {
        self.findings(world)
    }

    fn findings(&self, world: &World) -> Vec<String> {
        let mut findings = Vec::new();
        if let Some(who) = world.canary.heard() {
            findings.push(format!("the canary was heard: {who:?}"));
        }
        let now = elsewhere(world);
        for path in self.elsewhere.keys().chain(now.keys()) {
            if self.elsewhere.get(path) != now.get(path) {
                findings.push(format!("`{}` changed outside the workspace", path.display()));
            }
        }
        for path in listed(world).keys() {
            if marked(world, &world.workspace().join(path)) {
                findings.push(format!("`{}` is an agent's or a stranger's", path.display()));
            }
        }
        findings
    }
}

/// Returns whether a listed entry, or what it leads to, carries the mark.
fn marked(world: &World, path: &Path) -> bool {
    let Ok(entries) = fs::read_dir(path) else { return world.canary.marks(path) };
    entries.flatten().any(|entry| world.canary.marks(&entry.path()))
}

fn elsewhere(world: &World) -> BTreeMap<PathBuf, Entry> {
    let root = world.place.root();
    let [canary, home] = ["canary", "home/.ironcurtain"].map(|name| root.join(name));
    let ours = [world.workspace(), canary, home];
    walk(&root, &|path| !ours.iter().any(|it| it == path))
}

fn listed(world: &World) -> BTreeMap<PathBuf, Entry> {
    let workspace = world.workspace();
    let tops: Vec<String> = world.trees.iter().map(|tree| tree.at.clone()).collect();
    let mut named = Vec::new();
    for tree in &world.trees {
        named.extend(tree.named.iter().map(|name| Path::new(&tree.at).join(name)));
    }
    let mut entries = walk(&workspace, &|path| path.file_name().is_none_or(|name| name != ".git"));
    entries.retain(|path, entry| {
        let is_named = named.iter().any(|name| path.starts_with(name));
        let is_listed = path.to_str().is_some_and(|path| listed::is_listed(path, &tops));
        *entry != Entry::Directory && (is_named || is_listed)
    });
    entries
}

/// Returns all entries beneath `root` by their relative paths, without following links.
fn walk(root: &Path, is_wanted: &dyn Fn(&Path) -> bool) -> BTreeMap<PathBuf, Entry> {
    let (mut entries, mut directories) = (BTreeMap::new(), vec![root.to_path_buf()]);
    while let Some(directory) = directories.pop() {
        // A directory may be gone by now: those of a proxy that ends.
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if !is_wanted(&path) {
                continue;
            }
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            let relative = path.strip_prefix(root).unwrap_or(&path).to_path_buf();
            let found = if metadata.is_dir() {
                directories.push(path);
                Entry::Directory
            } else if metadata.is_symlink() {
                Entry::Link(fs::read_link(&path).unwrap_or_default())
            } else {
                let bytes = fs::read(&path).unwrap_or_default();
                Entry::File { mode: metadata.permissions().mode(), bytes }
            };
            entries.insert(relative, found);
        }
    }
    entries
}
