//! What a remote's name stands for in a repository: its config and HEAD read by us, git not run.
//!
//! An agent can write both. So both the push and the fetch URL count, rewriting included; where git
//! could take one of several, all count; and a repository that says "see also elsewhere", or that
//! git might not take for one, is not believed at all.

pub mod config;
pub mod linked;
pub mod refs;
mod rewrites;

use std::path::PathBuf;

use ic_types::CanonicalPath;

use crate::disk::{Disk, Entry, Kind};
use config::Setting;
use rewrites::Rewrites;

/// The longest config that is read.
pub const CONFIG_BYTES_MAX: usize = 1 << 20;

/// The longest HEAD or branch that is read; git looks at no more to tell whether it is a HEAD.
const REF_BYTES_MAX: usize = 255;

/// The extensions of a repository that change neither where its config nor where its branch is.
const HARMLESS_EXTENSIONS: [&str; 3] = ["noop", "objectformat", "preciousobjects"];

/// The settings by which git goes elsewhere than a remote's URL says, in any subsection.
const REDIRECTING: [(&str, &str); 10] = [
    ("core", "gitproxy"),
    ("core", "sshcommand"),
    ("core", "worktree"),
    ("fetch", "bundleuri"),
    ("http", "curloptresolve"),
    ("http", "proxy"),
    ("remote", "proxy"),
    ("remote", "receivepack"),
    ("remote", "uploadpack"),
    ("remote", "vcs"),
];

/// The settings that make git go to the remotes of submodules too, unless they say no.
const RECURSING: [(&str, &str); 3] =
    [("fetch", "recursesubmodules"), ("push", "recursesubmodules"), ("submodule", "recurse")];

/// A repository's config, and the branch that is checked out.
#[derive(Debug)]
pub struct Repository {
    /// The directory that holds `.git`.
    top: CanonicalPath,
    /// The directory that holds the common part: the same one, unless this is a linked working tree.
    common: CanonicalPath,
    config: Vec<Setting>,
    /// `url.<base>.insteadOf`.
    instead_of: Rewrites,
    /// `url.<base>.pushInsteadOf`.
    push_instead_of: Rewrites,
    branch: Option<String>,
}

/// A remote that git takes where none is named.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum DefaultRemote {
    /// The config names it; if there is none of that name, git takes the name for a URL.
    Configured(String),
    /// Nothing names it; if there is none, there is no remote.
    Implied(String),
}

/// The longest file of packed refs that is read.
const PACKED_BYTES_MAX: usize = 16 << 20;

/// Returns the commit that is checked out at `top`, as far as git's own files say so plainly.
pub fn head_commit(disk: &dyn Disk, top: &CanonicalPath) -> Option<String> {
    let (common, own) = match linked::find(disk, top).ok()? {
        Some(found) => {
            let own = format!(".git/worktrees/{}/HEAD", found.name);
            (found.repository, own)
        }
        None => (top.clone(), ".git/HEAD".to_owned()),
    };
    let read = |name: &str, bytes_max: usize| read(disk, &common, name, bytes_max).ok().flatten();
    let head = read(&own, REF_BYTES_MAX)?;
    let head = head.trim_end_matches(GIT_SPACE);
    let Some(name) = head.strip_prefix("ref: ") else {
        return is_object_id(head).then(|| head.to_owned());
    };
    if let Some(tip) = read(&format!(".git/{name}"), REF_BYTES_MAX) {
        let tip = tip.trim_end_matches(GIT_SPACE);
        return is_object_id(tip).then(|| tip.to_owned());
    }
    let packed = read(".git/packed-refs", PACKED_BYTES_MAX)?;
    let line = packed.lines().find_map(|line| line.split_once(' ').filter(|(_, it)| *it == name));
    line.filter(|(id, _)| is_object_id(id)).map(|(id, _)| id.to_owned())
}

/// Why a repository cannot be used to look up a remote.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum GitFault {
    /// There is no repository.
    #[error("there is no git repository at `{0}`")]
    Absent(CanonicalPath),
    /// `.git` is a link, or is gone by now; a file that leads elsewhere is a config that is not believed.
    #[error("the `.git` of `{0}` is not a directory, so its configuration is elsewhere")]
    Elsewhere(CanonicalPath),
    /// The config could not be read or understood.
    #[error("cannot read the git configuration of `{path}`: {reason}")]
    Config {
        /// The repository.
        path: CanonicalPath,
        /// What is wrong.
        reason: String,
    },
}

impl Repository {
    /// Opens the repository that git would use in `directory`: the nearest one, searching upwards.
    ///
    /// `None` if there is none.
    pub fn find(disk: &dyn Disk, directory: &CanonicalPath) -> Result<Option<Self>, GitFault> {
        for directory in directory.ancestors() {
            match Self::open(disk, &directory) {
                Ok(repository) => return Ok(Some(repository)),
                Err(GitFault::Absent(_)) => {}
                Err(fault @ (GitFault::Elsewhere(_) | GitFault::Config { .. })) => {
                    return Err(fault);
                }
            }
        }
        Ok(None)
    }

    /// Opens the repository at `path`; does not search further up.
    ///
    /// In a linked working tree HEAD is its own, and all else is the repository's.
    pub fn open(disk: &dyn Disk, path: &CanonicalPath) -> Result<Self, GitFault> {
        let fault = |reason: String| GitFault::Config { path: path.clone(), reason };
        let look = |name: &str| look(disk, path, name).map_err(fault);
        let (common, own) = match look(".git")?.map(|entry| entry.kind) {
            None if is_bare(look)? => {
                return Err(fault("bare repositories are not used".to_owned()));
            }
            None => return Err(GitFault::Absent(path.clone())),
            Some(Kind::Directory) => (path.clone(), ".git".to_owned()),
            Some(Kind::File) => {
                let found = linked::find(disk, path)
                    .map_err(fault)?
                    .ok_or_else(|| GitFault::Elsewhere(path.clone()))?;
                (found.repository, format!(".git/worktrees/{}", found.name))
            }
            Some(Kind::Link | Kind::Other) => return Err(GitFault::Elsewhere(path.clone())),
        };
        check_common(disk, &common).map_err(fault)?;
        let read =
            |name: &str, bytes_max: usize| read(disk, &common, name, bytes_max).map_err(fault);
        let config = read(".git/config", CONFIG_BYTES_MAX)?
            .map_or(Ok(Vec::new()), |config| config::parse(&config).map_err(fault))?;
        check_settings(&config).map_err(fault)?;
        let head = read(&format!("{own}/HEAD"), REF_BYTES_MAX)?
            .ok_or_else(|| fault("it has no `HEAD`".to_owned()))?;
        let branch = branch_of(&head).map_err(fault)?;
        if let Some(branch) = &branch {
            let tip = read(&format!(".git/refs/heads/{branch}"), REF_BYTES_MAX)?;
            if tip.is_some_and(|tip| !is_object_id(tip.trim_end_matches(GIT_SPACE))) {
                return Err(fault(format!("its branch `{branch}` has no object name in its file")));
            }
        }
        let instead_of = Rewrites::of(&config, "insteadof").map_err(fault)?;
        let push_instead_of = Rewrites::of(&config, "pushinsteadof").map_err(fault)?;
        Ok(Self { top: path.clone(), common, config, instead_of, push_instead_of, branch })
    }

    /// Returns the directory that holds `.git`, against which git takes relative URLs.
    pub fn top(&self) -> &CanonicalPath {
        &self.top
    }

    /// Returns the settings of the repository.
    pub fn config(&self) -> &[Setting] {
        &self.config
    }

    /// Refuses a remote that git may read from a file of its own, as it did before it had configs.
    pub fn check_name(&self, disk: &dyn Disk, name: &str) -> Result<(), GitFault> {
        if name.is_empty() || matches!(name, "." | "..") || name.contains('/') {
            return Ok(());
        }
        let fault = |reason: String| GitFault::Config { path: self.top.clone(), reason };
        for directory in [".git/remotes", ".git/branches"] {
            let file = format!("{directory}/{name}");
            if look(disk, &self.common, &file).map_err(fault)?.is_some() {
                return Err(fault(format!("`{}` describes a remote", file.escape_debug())));
            }
        }
        Ok(())
    }

    /// Returns every URL behind the remote `name`: fetch and push, rewritten as git would.
    ///
    /// `None` if there is no such remote.
    pub fn remote_urls(&self, name: &str) -> Result<Option<Vec<String>>, GitFault> {
        let urls: Vec<_> = self.all("remote", Some(name), "url").collect();
        let push_urls: Vec<_> = self.all("remote", Some(name), "pushurl").collect();
        if urls.is_empty() && push_urls.is_empty() {
            return Ok(None);
        }
        if urls.is_empty() {
            let reason =
                format!("the remote `{}` has a `pushurl` and no `url`", name.escape_debug());
            return Err(GitFault::Config { path: self.top.clone(), reason });
        }
        let mut found: Vec<String> = Vec::new();
        for url in urls {
            found.extend(self.rewritten_or_kept(url));
            if push_urls.is_empty() {
                found.extend(self.push_instead_of.apply(url));
            }
        }
        for url in push_urls {
            found.extend(self.rewritten_or_kept(url));
        }
        Ok(Some(deduplicated(found)))
    }

    /// Returns what git would make of a URL that it is handed.
    pub fn rewrites(&self, url: &str) -> Vec<String> {
        let kinds = [&self.instead_of, &self.push_instead_of];
        deduplicated(kinds.iter().flat_map(|rewrites| rewrites.apply(url)).collect())
    }

    /// Returns the remotes that git takes where none is named: to fetch from, and to push to.
    pub fn default_remotes(&self) -> Vec<DefaultRemote> {
        let of_branch = |key| {
            let branch = self.branch.as_deref()?;
            self.all("branch", Some(branch), key).last()
        };
        let fetch = match of_branch("remote") {
            Some(name) => DefaultRemote::Configured(name.to_owned()),
            None => DefaultRemote::Implied(self.only_remote()),
        };
        let push =
            of_branch("pushremote").or_else(|| self.all("remote", None, "pushdefault").last());
        let push = push.map(|name| DefaultRemote::Configured(name.to_owned()));
        let push = push.filter(|push| *push != fetch);
        std::iter::once(fetch).chain(push).collect()
    }

    /// Returns the remotes that git asks for objects whenever some are missing.
    pub fn promisors(&self) -> Vec<String> {
        let promisors = self.settings("remote", "promisor").filter(|setting| !is_false(setting));
        let names =
            promisors.filter_map(|setting| setting.subsection.as_deref().map(str::to_owned));
        deduplicated(names.collect())
    }

    fn only_remote(&self) -> String {
        let of_remotes = self.config.iter().filter(|setting| setting.section == "remote");
        let mut names: Vec<&str> =
            of_remotes.filter_map(|setting| setting.subsection.as_deref()).collect();
        names.sort_unstable();
        names.dedup();
        match names.as_slice() {
            [only] => (*only).to_owned(),
            _ => "origin".to_owned(),
        }
    }

    fn rewritten_or_kept(&self, url: &str) -> Vec<String> {
        let rewritten = self.instead_of.apply(url);
        if rewritten.is_empty() { vec![url.to_owned()] } else { rewritten }
    }

    fn settings(&self, section: &str, key: &str) -> impl Iterator<Item = &Setting> {
        self.config.iter().filter(move |setting| setting.section == section && setting.key == key)
    }

    fn all(
        &self,
        section: &'static str,
        subsection: Option<&str>,
        key: &'static str,
    ) -> impl Iterator<Item = &str> {
        self.settings(section, key)
            .filter(move |setting| setting.subsection.as_deref() == subsection)
            .map(|setting| setting.value.as_str())
    }
}

/// Checks that git takes the `.git` in `path` for a repository, and for the whole of one.
fn check_common(disk: &dyn Disk, path: &CanonicalPath) -> Result<(), String> {
    let look = |name: &str| look(disk, path, name);
    if look(".git")?.is_none_or(|entry| entry.kind != Kind::Directory) {
        return Err("`.git` is not a directory".to_owned());
    }
    if look(".git/commondir")?.is_some() {
        return Err("`commondir` says that it is elsewhere".to_owned());
    }
    // SECURITY: without these, or if it may not enter them, git takes a repository further up.
    for (name, within) in [(".git/objects", ".git/objects/x"), (".git/refs", ".git/refs/x")] {
        if look(name)?.is_none_or(|entry| entry.kind != Kind::Directory) {
            return Err(format!("`{name}` is not a directory"));
        }
        look(within)?;
    }
    Ok(())
}

fn look(disk: &dyn Disk, path: &CanonicalPath, name: &str) -> Result<Option<Entry>, String> {
    let path: PathBuf = path.as_path().join(name);
    disk.look(&path).map_err(|error| format!("`{name}`: {error}"))
}

fn read(
    disk: &dyn Disk,
    path: &CanonicalPath,
    name: &str,
    bytes_max: usize,
) -> Result<Option<String>, String> {
    let path: PathBuf = path.as_path().join(name);
    match disk.read_file(&path, bytes_max).map_err(|error| format!("`{name}`: {error}"))? {
        Some(bytes) => {
            String::from_utf8(bytes).map(Some).map_err(|_| format!("`{name}` is not UTF-8"))
        }
        None => Ok(None),
    }
}

/// Returns whether git would take the directory itself for what `.git` usually is.
fn is_bare(look: impl Fn(&str) -> Result<Option<Entry>, GitFault>) -> Result<bool, GitFault> {
    let is_there = |name: &str| look(name).map(|entry| entry.is_some());
    let has_store = || Ok(is_there("objects")? && is_there("refs")?);
    Ok(is_there("HEAD")? && (is_there("commondir")? || has_store()?))
}

/// Refuses a config by which git reads other files, or goes elsewhere than a remote's URL says.
fn check_settings(config: &[Setting]) -> Result<(), String> {
    for setting in config {
        let Setting { section, subsection, key, .. } = setting;
        let is_in = |list: &[(&str, &str)]| list.contains(&(section.as_str(), key.as_str()));
        match section.as_str() {
            include if include.starts_with("include") => {
                return Err("it includes other files".to_owned());
            }
            // Git takes such a group before a remote of the same name.
            "remotes" => return Err("it groups remotes".to_owned()),
            "extensions" if !HARMLESS_EXTENSIONS.contains(&key.as_str()) => {
                return Err(format!("it uses the extension `{key}`"));
            }
            // Git passes over it, so it must not count as a remote.
            "remote" if subsection.as_deref().is_some_and(|name| name.starts_with('/')) => {
                return Err("the name of a remote begins with `/`".to_owned());
            }
            _ if is_in(&REDIRECTING) || (is_in(&RECURSING) && !is_false(setting)) => {
                return Err(format!("it sets `{section}.{key}`"));
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_false(setting: &Setting) -> bool {
    matches!(setting.value.to_ascii_lowercase().as_str(), "false" | "no" | "off" | "0")
}

/// What git takes for white space.
const GIT_SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// Reads a HEAD: the branch that it names, or none if it names an object.
fn branch_of(head: &str) -> Result<Option<String>, String> {
    let head = head.trim_end_matches(GIT_SPACE);
    match head.strip_prefix("ref:").map(|target| target.trim_start_matches(GIT_SPACE)) {
        Some(target) => match target.strip_prefix("refs/heads/") {
            Some(branch) if is_branch(branch) => Ok(Some(branch.to_owned())),
            Some(_) | None => Err("its `HEAD` names no branch".to_owned()),
        },
        None if is_object_id(head) => Ok(None),
        None => Err("its `HEAD` names no branch and no object".to_owned()),
    }
}

fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether git takes `name` for the name of a branch.
fn is_branch(name: &str) -> bool {
    let is_component = |component: &str| {
        !component.is_empty()
            && !component.starts_with('.')
            && component.strip_suffix(".lock").is_none()
    };
    let is_odd =
        |c: char| c.is_control() || matches!(c, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\');
    name.split('/').all(is_component)
        && !name.contains(is_odd)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.ends_with('.')
}

fn deduplicated(mut texts: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    texts.retain(|text| seen.insert(text.clone()));
    texts
}

#[cfg(test)]
mod tests;
