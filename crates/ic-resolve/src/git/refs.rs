//! The refs of a repository: object ids by name, read by us, git not run.
//!
//! Only what git itself would write there counts: a ref that leads to another one, or holds anything but
//! an object id, is a fault. An agent may be able to write all of it, so nothing here says whether the
//! object is there, or whether a remote ever had it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use ic_types::CanonicalPath;

use super::{GIT_SPACE, REF_BYTES_MAX, Repository, is_branch, is_object_id, look, read};
use crate::disk::{Disk, Kind};

/// The longest list of packed refs that is read.
const PACKED_BYTES_MAX: usize = 16 << 20;
/// The most tags that are pushed at once; nobody would read more.
pub const TAGS_MAX: usize = 200;
/// How many entries of a directory of tags are listed.
const ENTRIES_MAX: usize = 1000;

const TAGS: &str = "refs/tags";

/// How many entries are looked at to find out which refs there are.
const TIPS_MAX: usize = 20_000;
/// The longest list of what was put aside that is read.
const ASIDE_BYTES_MAX: usize = 4 << 20;

/// Returns the objects that the refs of the repository at `top`, and what was put aside there, name, as far as
/// git's own files say so plainly.
pub fn tips(disk: &dyn Disk, top: &CanonicalPath) -> BTreeSet<String> {
    let read = |name: &str, bytes_max| read(disk, top, name, bytes_max).ok().flatten();
    let packed = read(".git/packed-refs", PACKED_BYTES_MAX).unwrap_or_default();
    let aside = read(".git/logs/refs/stash", ASIDE_BYTES_MAX).unwrap_or_default();
    let packed = packed.lines().filter_map(|line| line.split(' ').next());
    let aside = aside.lines().filter_map(|line| line.split(' ').nth(1));
    let mut tips: BTreeSet<String> =
        packed.chain(aside).filter(|id| is_object_id(id)).map(ToOwned::to_owned).collect();
    let mut n_left = TIPS_MAX;
    let mut directories = vec![".git/refs".to_owned()];
    while let Some(directory) = directories.pop() {
        let entries = disk.list(&top.as_path().join(&directory), n_left).unwrap_or_default();
        n_left = n_left.saturating_sub(entries.len());
        for (name, kind) in entries {
            let Some(name) = name.to_str().map(|name| format!("{directory}/{name}")) else {
                continue;
            };
            match kind {
                Kind::Directory => directories.push(name),
                Kind::File | Kind::Link | Kind::Other => {
                    let text = read(&name, REF_BYTES_MAX).unwrap_or_default();
                    let id = text.trim_end_matches(GIT_SPACE);
                    tips.extend(is_object_id(id).then(|| id.to_owned()));
                }
            }
        }
    }
    tips
}

impl Repository {
    /// Returns the branch that is checked out, if one is.
    pub fn branch(&self) -> Option<&str> {
        self.branch.as_deref()
    }

    /// Returns the object that the ref `name` names; `None` if there is no such ref.
    pub fn object(&self, disk: &dyn Disk, name: &str) -> Result<Option<String>, String> {
        if !name.strip_prefix("refs/").is_some_and(is_branch) {
            return Err(format!("`{}` is not the name of a ref", name.escape_debug()));
        }
        let file = format!(".git/{name}");
        let is_file = look(disk, &self.common, &file)?.map(|entry| entry.kind);
        match is_file {
            Some(Kind::File) => {
                let text = read(disk, &self.common, &file, REF_BYTES_MAX)?.unwrap_or_default();
                id_of(name, &text).map(Some)
            }
            // A directory holds refs whose names begin with this one.
            None | Some(Kind::Directory) => {
                Ok(self.packed(disk)?.into_iter().find(|(it, _)| it == name).map(|(_, id)| id))
            }
            Some(Kind::Link | Kind::Other) => Err(format!("`{name}` is not a regular file")),
        }
    }

    /// Returns every tag, by its full name, with the object that it names.
    pub fn tags(&self, disk: &dyn Disk) -> Result<BTreeMap<String, String>, String> {
        let packed = self.packed(disk)?.into_iter();
        let packed = packed.filter(|(name, _)| name.strip_prefix(TAGS).is_some_and(is_beneath));
        let mut tags: BTreeMap<String, String> = packed.collect();
        let mut directories = vec![TAGS.to_owned()];
        while let Some(directory) = directories.pop() {
            let path: PathBuf = self.common.as_path().join(".git").join(&directory);
            let entries = disk.list(&path, ENTRIES_MAX);
            let entries = entries.map_err(|error| format!("`{directory}`: {error}"))?;
            for (name, kind) in entries {
                let name = name.to_str().ok_or("the name of a tag is not UTF-8")?;
                let name = format!("{directory}/{name}");
                match kind {
                    Kind::Directory => directories.push(name),
                    Kind::File => {
                        if let Some(id) = self.object(disk, &name)? {
                            tags.insert(name, id);
                        }
                    }
                    Kind::Link | Kind::Other => {
                        return Err(format!("`{name}` is not a regular file"));
                    }
                }
            }
            if TAGS_MAX < tags.len() + directories.len() {
                return Err(format!("it has more than {TAGS_MAX} tags, too many to show"));
            }
        }
        Ok(tags)
    }

    /// Returns every ref that names an object, by its full name; refs that lead to others are left out.
    pub fn refs(&self, disk: &dyn Disk) -> Result<BTreeMap<String, String>, String> {
        let mut refs: BTreeMap<String, String> = self.packed(disk)?.into_iter().collect();
        let mut directories = vec!["refs".to_owned()];
        let mut n_left = TIPS_MAX;
        while let Some(directory) = directories.pop() {
            let path = self.common.as_path().join(".git").join(&directory);
            let entries = disk.list(&path, n_left);
            let entries = entries.map_err(|error| format!("`{directory}`: {error}"))?;
            n_left = n_left.checked_sub(entries.len() + 1).ok_or("it has too many refs")?;
            for (name, kind) in entries {
                let name = name.to_str().ok_or("the name of a ref is not UTF-8")?;
                let name = format!("{directory}/{name}");
                match kind {
                    Kind::Directory => directories.push(name),
                    Kind::File => {
                        let file = format!(".git/{name}");
                        let text = read(disk, &self.common, &file, REF_BYTES_MAX)?;
                        // It may be gone by now; git renames a lock when it is done.
                        let text = text
                            .filter(|_| name.strip_suffix(".lock").is_none())
                            .unwrap_or_default();
                        if let Ok(id) = id_of(&name, &text) {
                            refs.insert(name, id);
                        }
                    }
                    Kind::Link | Kind::Other => {
                        return Err(format!("`{name}` is not a regular file"));
                    }
                }
            }
        }
        Ok(refs)
    }

    /// Reads the refs that are packed into one file.
    fn packed(&self, disk: &dyn Disk) -> Result<Vec<(String, String)>, String> {
        let text = read(disk, &self.common, ".git/packed-refs", PACKED_BYTES_MAX)?;
        let text = text.unwrap_or_default();
        // What stands after `^` is what the tag before it leads to.
        let lines = text.lines().filter(|line| !line.starts_with(['#', '^']));
        let refs = lines.map(|line| {
            let odd = || "`packed-refs` is not what git writes".to_owned();
            let (id, name) = line.split_once(' ').ok_or_else(odd)?;
            match is_object_id(id) {
                true => Ok((name.to_owned(), id.to_ascii_lowercase())),
                false => Err(odd()),
            }
        });
        refs.collect()
    }
}

fn is_beneath(rest: &str) -> bool {
    rest.starts_with('/')
}

fn id_of(name: &str, text: &str) -> Result<String, String> {
    let id = text.trim_end_matches(GIT_SPACE);
    match is_object_id(id) {
        true => Ok(id.to_ascii_lowercase()),
        false => Err(format!("`{}` contains no object name", name.escape_debug())),
    }
}
