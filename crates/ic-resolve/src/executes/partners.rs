//! Trees that get their commits from each other: linked working trees of one repository, and local remotes.
//!
//! What is committed in one of them comes to the others by the user's own `git pull`, `merge` or `push`,
//! which nobody judges. So what one of them names counts at the same place in all of them.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use ic_policy::Why;
use ic_policy::host_executes::GIT_DIRECTORY;
use ic_types::{AbsolutePath, CanonicalPath};

use super::Executes;
use super::configured::Named;
use super::names::Names;
use super::orders::Listing;
use crate::disk::{Disk, Kind};
use crate::git::CONFIG_BYTES_MAX;
use crate::git::config::Setting;
use crate::git::linked::{POINTER_BYTES_MAX, tree_of};
use crate::path::{self, Last};

/// How many trees are looked at for one repository.
const TREES_MAX: usize = 1024;
/// Where git of old keeps remotes, and how many are looked at.
const OLD: [&str; 2] = ["remotes", "branches"];
const OLD_MAX: usize = 256;

/// What a configuration says of where commits come from and go to.
#[derive(Clone, Debug, Default)]
pub(super) struct Urls {
    remotes: Vec<String>,
    /// What stands for the beginning of a URL.
    instead_of: Vec<(String, String)>,
}

impl Urls {
    /// Notes a setting, if it says where commits come from or go to.
    pub(super) fn note(&mut self, setting: &Setting) {
        match (setting.section.as_str(), setting.key.as_str(), &setting.subsection) {
            ("remote", "url" | "pushurl" | "pushdefault", _)
            | ("branch", "remote" | "pushremote", _)
            | ("submodule", "url", _) => self.remotes.push(setting.value.clone()),
            ("url", "insteadof" | "pushinsteadof", Some(base)) => {
                self.instead_of.push((setting.value.clone(), base.to_string()));
            }
            _ => {}
        }
    }

    /// Reads the files in which git of old keeps remotes, one in each.
    pub(super) fn of_old(disk: &dyn Disk, git: &CanonicalPath) -> Self {
        let mut urls = Self::default();
        for directory in OLD.iter().filter_map(|name| git.join(name.as_ref()).ok()) {
            if !disk.look(directory.as_path()).is_ok_and(|it| it.is_some()) {
                continue;
            }
            for (name, _) in disk.list(directory.as_path(), OLD_MAX).unwrap_or_default() {
                let file = directory.join(&name).ok();
                let read =
                    |it: CanonicalPath| disk.read_file(it.as_path(), CONFIG_BYTES_MAX).ok()?;
                let text = file.and_then(read).unwrap_or_default();
                for line in String::from_utf8_lossy(&text).lines() {
                    let url = line.split_once(": ").map_or(line, |(_, url)| url).trim();
                    urls.remotes.push(url.to_owned());
                    urls.remotes.extend(url.rsplit_once('#').map(|(url, _)| url.to_owned()));
                }
            }
        }
        urls
    }
}

/// Returns what the own configurations of these trees name, as paths from the root: any of them may
/// get its commits from any other, and where from is not always written down.
pub(super) fn shared(tops: &[(CanonicalPath, Rc<Named>)]) -> Names {
    let mut shared = Names::default();
    for (top, named) in tops {
        shared.extend(&named.own.moved(top, &CanonicalPath::root()));
    }
    shared
}

/// Returns every URL that remotes may stand for.
fn meant(all: &[Arc<Urls>]) -> BTreeSet<String> {
    let mut instead: HashMap<&str, Vec<&str>> = HashMap::new();
    for (beginning, base) in all.iter().flat_map(|it| &it.instead_of) {
        instead.entry(beginning).or_default().push(base);
    }
    let mut meant = BTreeSet::new();
    for url in all.iter().flat_map(|it| &it.remotes) {
        meant.insert(url.clone());
        let ends = url.char_indices().map(|(at, _)| at).chain([url.len()]);
        for (beginning, rest) in ends.filter_map(|at| url.split_at_checked(at)) {
            let bases = instead.get(beginning).into_iter().flatten();
            meant.extend(bases.map(|base| format!("{base}{rest}")));
        }
    }
    meant
}

/// Returns the paths that a URL may mean, however it is written.
fn paths_of(url: &str) -> Vec<String> {
    let path = match url.split_once("://") {
        None => url,
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") => {
            rest.find('/').and_then(|at| rest.get(at..)).unwrap_or_default()
        }
        Some(_) => return Vec::new(),
    };
    let is_far = match (path.find(':'), path.find('/')) {
        (Some(colon), Some(slash)) => colon < slash,
        (colon, _) => colon.is_some(),
    };
    if is_far || path.is_empty() {
        return Vec::new();
    }
    let decoded = decoded(path);
    let mut paths = vec![path.to_owned()];
    paths.extend((decoded != path).then_some(decoded));
    // Git takes one for the other.
    let git: Vec<String> =
        paths.iter().map(|it| format!("{}.git", it.trim_end_matches('/'))).collect();
    paths.extend(git);
    paths
}

/// Returns a text with its `%` escapes decoded.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|it| str::from_utf8(it).ok());
        let decoded = digits.and_then(|it| u8::from_str_radix(it, 16).ok());
        let decoded = decoded.filter(|_| *byte == b'%');
        bytes.push(decoded.unwrap_or(*byte));
        rest = match decoded {
            Some(_) => after.get(2..).unwrap_or_default(),
            None => after,
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Executes<'_> {
    /// Returns what counts because it is named in a tree that gets its commits from the one at `top`, or
    /// the other way round, and what brings commits there without being a tree.
    pub(super) fn exchanged(&self, top: &CanonicalPath, named: &Named) -> Names {
        let mut names = Names::default();
        let (partners, files) = self.partners(top);
        for other in partners {
            names.extend(&named.names.moved(top, &other));
            let of_other = self.named(&other, &self.directory(&other));
            names.extend(&of_other.names.moved(&other, top));
            // Links there may lead here, and its configuration may name what is here.
            names.extend(&of_other.names.within(top));
        }
        for file in files {
            names.add(file, Why::Configured("remote.url".to_owned()));
        }
        names
    }

    /// Returns the other trees that exchange commits with the one at `top`, and the remotes that are
    /// files, or nothing yet.
    fn partners(&self, top: &CanonicalPath) -> (BTreeSet<CanonicalPath>, Vec<CanonicalPath>) {
        let (mut found, mut rest, mut files) = (BTreeSet::new(), vec![top.clone()], Vec::new());
        while let Some(tree) = rest.pop() {
            if found.len() == TREES_MAX || !self.is_top(&tree) || !found.insert(tree.clone()) {
                continue;
            }
            let named = self.named(&tree, &self.directory(&tree));
            for git in &named.git {
                rest.extend(self.trees(git));
            }
            for url in meant(&named.urls) {
                self.note_local((&tree, &url), &mut rest, &mut files);
            }
        }
        found.remove(top);
        (found, files)
    }

    /// Returns the working trees of the repository that is kept in `git`.
    fn trees(&self, git: &CanonicalPath) -> Vec<CanonicalPath> {
        let is_usual = git.as_path().file_name().is_some_and(|name| name == GIT_DIRECTORY);
        let mut trees: Vec<_> = git.parent().filter(|_| is_usual).into_iter().collect();
        let Ok(linked) = git.join("worktrees".as_ref()) else { return trees };
        for part in &Listing::of(self.place(), &linked).directories {
            let file = part.join("gitdir".as_ref()).ok();
            let read = |file: CanonicalPath| self.disk.read_file(file.as_path(), POINTER_BYTES_MAX);
            let text = file.and_then(|file| read(file).ok().flatten());
            trees.extend(text.and_then(|text| tree_of(&text)));
        }
        trees
    }

    /// Notes the trees that a URL may mean, if it is a path, or the file that it is.
    fn note_local(
        &self,
        (top, url): (&CanonicalPath, &str),
        trees: &mut Vec<CanonicalPath>,
        files: &mut Vec<CanonicalPath>,
    ) {
        for (nth, text) in paths_of(url).into_iter().enumerate() {
            let path = path::lexical(text.as_bytes(), self.home, Some(top));
            let path = path.and_then(|path| AbsolutePath::new(path.as_path()).ok());
            let found = path.and_then(|path| path::follow(self.disk, &path, Last::Follow).ok());
            let Some(found) = found else { continue };
            let is_store = found.path.as_path().file_name().is_some_and(|it| it == GIT_DIRECTORY);
            // A name alone is more often that of a remote than of a file.
            let is_path = text.contains('/');
            match found.entry.map(|it| it.kind) {
                Some(Kind::Directory) => {
                    trees.extend(found.path.parent().filter(|_| is_store));
                    trees.push(found.path);
                }
                Some(_) => files.extend(found.links.into_iter().chain([found.path])),
                None if nth == 0 && is_path => files.push(found.path),
                None => {}
            }
        }
    }
}
