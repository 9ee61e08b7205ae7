//! Trees that get their commits from each other: linked working trees of one repository, and local remotes.
//!
//! What is committed in one of them comes to the others by the user's own `git pull`, `merge` or `push`,
//! which nobody judges. So what one of them names counts at the same place in all of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use ic_policy::host_executes::GIT_DIRECTORY;
use ic_types::{AbsolutePath, CanonicalPath};

use super::Executes;
use super::configured::Named;
use super::names::Names;
use super::orders::Listing;
use crate::git::linked::{POINTER_BYTES_MAX, tree_of};
use crate::git::{CONFIG_BYTES_MAX, config};
use crate::path::{self, Last};

/// How many trees are looked at for one repository.
const TREES_MAX: usize = 64;

/// What a configuration says of where commits come from and go to.
#[derive(Debug, Default)]
pub(super) struct Urls {
    remotes: Vec<String>,
    /// What stands for the beginning of a URL.
    instead_of: Vec<(String, String)>,
}

impl Urls {
    fn parse(text: &str) -> Self {
        let mut urls = Self::default();
        for setting in config::parse(text).unwrap_or_default() {
            match (setting.section.as_str(), setting.key.as_str(), setting.subsection) {
                ("remote", "url" | "pushurl", _) | ("branch", "remote" | "pushremote", _) => {
                    urls.remotes.push(setting.value);
                }
                ("url", "insteadof" | "pushinsteadof", Some(base)) => {
                    urls.instead_of.push((setting.value, base.to_string()));
                }
                _ => {}
            }
        }
        urls
    }
}

impl Executes<'_> {
    /// Returns what counts because it is named in a tree that gets its commits from the one at `top`, or
    /// the other way round.
    pub(super) fn exchanged(&self, top: &CanonicalPath, named: &Named) -> Names {
        let mut names = Names::default();
        for other in self.partners(top) {
            names.extend(&named.names.moved(top, &other));
            let of_other = self.named(&other, &self.directory(&other));
            names.extend(&of_other.names.moved(&other, top));
        }
        names
    }

    /// Returns the other trees that exchange commits with the one at `top`.
    fn partners(&self, top: &CanonicalPath) -> BTreeSet<CanonicalPath> {
        let (mut found, mut rest) = (BTreeSet::new(), vec![top.clone()]);
        while let Some(tree) = rest.pop() {
            if found.len() == TREES_MAX || !self.is_top(&tree) || !found.insert(tree.clone()) {
                continue;
            }
            for git in &self.named(&tree, &self.directory(&tree)).git {
                rest.extend(self.trees(git));
                rest.extend(self.remotes(&tree, git));
            }
        }
        found.remove(top);
        found
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

    /// Returns the directories that the configuration in `git` names as remotes.
    fn remotes(&self, top: &CanonicalPath, git: &CanonicalPath) -> Vec<CanonicalPath> {
        let own = git.join("config".as_ref()).map(|file| self.urls(&file)).unwrap_or_default();
        if own.remotes.is_empty() {
            return Vec::new();
        }
        let users = self.orders.iter().flat_map(|orders| orders.user());
        let all: Vec<Arc<Urls>> =
            users.map(|file| self.urls(file)).chain([Arc::clone(&own)]).collect();
        let mut found = Vec::new();
        for url in &own.remotes {
            found.extend(self.local(top, url));
            for (beginning, base) in all.iter().flat_map(|it| &it.instead_of) {
                if let Some(rest) = url.strip_prefix(beginning.as_str()) {
                    found.extend(self.local(top, &format!("{base}{rest}")));
                }
            }
        }
        found
    }

    /// Returns the trees that a URL may mean, if it is the path of a directory.
    fn local(&self, top: &CanonicalPath, url: &str) -> Vec<CanonicalPath> {
        let path = url.strip_prefix("file://").unwrap_or(url);
        let is_far = match (path.find(':'), path.find('/')) {
            (Some(colon), Some(slash)) => colon < slash,
            (colon, _) => colon.is_some(),
        };
        let path = path::lexical(path.as_bytes(), self.home, Some(top)).filter(|_| !is_far);
        let path = path.and_then(|path| AbsolutePath::new(path.as_path()).ok());
        let found = path.and_then(|path| path::follow(self.disk, &path, Last::Follow).ok());
        let Some(path) = found.map(|found| found.path) else { return Vec::new() };
        let is_store = path.as_path().file_name().is_some_and(|name| name == GIT_DIRECTORY);
        let above = path.parent().filter(|_| is_store);
        above.into_iter().chain([path]).collect()
    }

    fn urls(&self, file: &CanonicalPath) -> Arc<Urls> {
        let read = || {
            let text = self.disk.read_file(file.as_path(), CONFIG_BYTES_MAX).ok().flatten();
            let text = text.and_then(|text| String::from_utf8(text).ok());
            Arc::new(Urls::parse(&text.unwrap_or_default()))
        };
        match (self.orders, self.disk.look(file.as_path())) {
            (Some(orders), Ok(Some(entry))) => orders.urls(file, entry.state, read),
            (_, Ok(Some(_))) => read(),
            (_, Ok(None) | Err(_)) => Arc::default(),
        }
    }
}
