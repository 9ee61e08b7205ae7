//! What a git configuration names to be run or obeyed: hooks, programs, further configuration.
//!
//! Every word of a setting that can name a program counts as a path, from the top of the tree and from
//! the directory of the configuration; so more is found than git would run, and never less. Which of
//! it an agent could change is not asked here.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ic_policy::{FileState, Why};
use ic_types::{AbsolutePath, CanonicalPath};

use crate::disk::{Disk, Entry, Kind};
use crate::git::CONFIG_BYTES_MAX;
use crate::git::config::{self, Setting};
use crate::path::{self, Last};

/// How many configurations are read for one repository, those that are included counted.
const FILES_MAX: usize = 32;
/// How many configurations are remembered.
const REMEMBERED_MAX: usize = 1024;
/// How many words of one setting are looked at.
const WORDS_MAX: usize = 256;

/// How many entries of a directory of git's are looked at.
const ENTRIES_MAX: usize = 4096;
/// Where links among git's own files are looked for, besides the directory itself.
const LINKED: [&str; 2] = ["hooks", "info"];

/// Sections of which every setting can name a program, or a file that can.
const SECTIONS: [&str; 19] = [
    "alias",
    "browser",
    "credential",
    "difftool",
    "filter",
    "gpg",
    "guitool",
    "hook",
    "include",
    "includeif",
    "instaweb",
    "lfs",
    "man",
    "mergetool",
    "pager",
    "sendemail",
    "sequence",
    "tar",
    "trailer",
];

/// Further settings that name a program or a file that git obeys.
const SETTINGS: [(&str, &str); 23] = [
    ("core", "alternaterefscommand"),
    ("core", "askpass"),
    ("core", "attributesfile"),
    ("core", "editor"),
    ("core", "fsmonitor"),
    ("core", "gitproxy"),
    ("core", "hookspath"),
    ("core", "pager"),
    ("core", "sshcommand"),
    ("core", "worktree"),
    ("diff", "command"),
    ("diff", "external"),
    ("diff", "textconv"),
    ("gc", "recentobjectshook"),
    ("imap", "tunnel"),
    ("init", "templatedir"),
    ("interactive", "difffilter"),
    ("merge", "driver"),
    ("remote", "proxy"),
    ("remote", "receivepack"),
    ("remote", "uploadpack"),
    ("submodule", "update"),
    ("uploadpack", "packobjectshook"),
];

/// What lets a command of git's own run something.
const RUNNING: [&str; 8] =
    ["-c", "-x", "exec", "bisect", "difftool", "mergetool", "-pack", "filter-branch"];

/// The names of hooks, for a directory of hooks in which much else may lie.
const HOOKS: [&str; 28] = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "p4-prepare-changelist",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// What the configuration of one repository names.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// The directories in which git keeps the repository.
    pub(super) git: Vec<CanonicalPath>,
    paths: Vec<(CanonicalPath, Why)>,
    unreadable: Option<CanonicalPath>,
}

/// The user's own git configuration, and configurations that were read before.
#[derive(Debug, Default)]
pub struct Orders {
    /// Read in every repository, as if they stood in its own configuration.
    user: Vec<CanonicalPath>,
    remembered: Mutex<HashMap<CanonicalPath, (FileState, Remembered)>>,
}

/// What was read of a file or a directory.
#[derive(Clone, Debug)]
enum Remembered {
    Config(Arc<Parsed>),
    Links(Arc<Vec<CanonicalPath>>),
}

/// The settings of one file that can name a program; `None` if it cannot be understood.
type Parsed = Option<Vec<Setting>>;

impl Orders {
    /// Counts the configuration of the user whose home this is.
    pub fn of_user(home: &AbsolutePath) -> Self {
        let files = [".gitconfig", ".config/git/config"];
        let files = files.iter().filter_map(|name| {
            path::lexical(name.as_bytes(), home, CanonicalPath::new(home.as_path()).ok().as_ref())
        });
        Self { user: files.collect(), remembered: Mutex::default() }
    }

    /// Returns what was read from a file that is still the same.
    fn recall(&self, file: &CanonicalPath, state: FileState) -> Option<Remembered> {
        let remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let (then, it) = remembered.get(file)?;
        (*then == state).then(|| it.clone())
    }

    fn remember(&self, file: &CanonicalPath, state: FileState, it: Remembered) {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if REMEMBERED_MAX <= remembered.len() {
            remembered.clear();
        }
        remembered.insert(file.clone(), (state, it));
    }
}

impl Named {
    /// Reads what the repository whose top is `top`, and which is kept in `git`, names.
    pub(super) fn read(
        disk: &dyn Disk,
        home: &AbsolutePath,
        (top, git): (&CanonicalPath, Vec<CanonicalPath>),
        orders: Option<&Orders>,
    ) -> Self {
        let mut named = Self { git, ..Self::default() };
        named.note_links(disk, orders);
        let own = ["config", "config.worktree"];
        let mut files: Vec<CanonicalPath> = Vec::new();
        for directory in &named.git {
            files.extend(own.iter().filter_map(|name| directory.join(name.as_ref()).ok()));
        }
        files.extend(orders.into_iter().flat_map(|it| &it.user).cloned());
        let mut n_read = 0;
        while let Some(file) = files.pop() {
            n_read += 1;
            let parsed = match FILES_MAX < n_read {
                true => Arc::new(None),
                false => read(disk, &file, orders),
            };
            let Some(settings) = &*parsed else {
                named.unreadable = Some(file);
                break;
            };
            for setting in settings {
                let found = named.note((disk, home), top, &file, setting);
                if matches!(setting.section.as_str(), "include" | "includeif") {
                    files.extend(found);
                }
            }
        }
        named
    }

    /// Says why the host would execute what is at `path`, or is led by it.
    ///
    /// What is put in the place of a directory above counts too: it brings along what is in it.
    pub(super) fn why(&self, path: &CanonicalPath) -> Option<Why> {
        let is_hit = |named: &CanonicalPath| path.is_within(named) || named.is_within(path);
        let hit = self.paths.iter().find(|(named, _)| is_hit(named));
        match (hit, &self.unreadable) {
            (Some((_, why)), _) => Some(why.clone()),
            (None, Some(file)) => Some(Why::Unreadable(file.clone())),
            (None, None) => None,
        }
    }

    /// Returns every path that is named, and every directory that git keeps its own files in.
    pub(super) fn all(&self) -> impl Iterator<Item = &CanonicalPath> {
        self.git.iter().chain(self.paths.iter().map(|(path, _)| path))
    }

    /// Notes where links among git's own files lead.
    fn note_links(&mut self, disk: &dyn Disk, orders: Option<&Orders>) {
        for directory in &self.git {
            let inner = LINKED.iter().filter_map(|name| directory.join(name.as_ref()).ok());
            for at in std::iter::once(directory.clone()).chain(inner) {
                for link in links_in(disk, &at, orders).iter() {
                    let found = AbsolutePath::new(link.as_path()).ok();
                    let found = found.and_then(|it| path::follow(disk, &it, Last::Follow).ok());
                    if let Some(found) = found {
                        self.paths.push((found.path, Why::Linked(link.clone())));
                    }
                }
            }
        }
    }

    /// Notes the paths that a setting names, and returns them.
    fn note(
        &mut self,
        (disk, home): (&dyn Disk, &AbsolutePath),
        top: &CanonicalPath,
        file: &CanonicalPath,
        setting: &Setting,
    ) -> Vec<CanonicalPath> {
        let key = format!("{}.{}", setting.section, setting.key);
        let directory = file.parent().unwrap_or_else(CanonicalPath::root);
        let is_hooks = key == "core.hookspath";
        let mut found = Vec::new();
        for word in words(setting) {
            for base in [top, &directory] {
                let Some(path) = path::lexical(word.as_bytes(), home, Some(base)) else { continue };
                let is_above = top.is_within(&path) || home_is_within(home, &path);
                match (is_above, is_hooks) {
                    (false, _) => found.extend(led_by(disk, path)),
                    // Hooks beside everything else: only what is called like one counts.
                    (true, true) => {
                        found.extend(HOOKS.iter().filter_map(|name| path.join(name.as_ref()).ok()));
                    }
                    (true, false) => {}
                }
            }
        }
        let why = Why::Configured(key);
        self.paths.extend(found.iter().map(|path| (path.clone(), why.clone())));
        found
    }
}

/// Returns a path, the links that it leads through, and what it leads to.
fn led_by(disk: &dyn Disk, path: CanonicalPath) -> Vec<CanonicalPath> {
    let found = AbsolutePath::new(path.as_path()).ok();
    let found = found.and_then(|it| path::follow(disk, &it, Last::Follow).ok());
    let led = found.filter(|it| !it.links.is_empty()).map(|it| (it.links, it.path));
    let led = led.into_iter().flat_map(|(links, last)| links.into_iter().chain([last]));
    std::iter::once(path).chain(led).collect()
}

/// A word that stands for the home, or for all that holds it, names nothing in it.
fn home_is_within(home: &AbsolutePath, path: &CanonicalPath) -> bool {
    CanonicalPath::new(home.as_path()).is_ok_and(|home| home.is_within(path))
}

/// Reads the settings of a file that can name programs; a file that is not there has none.
fn read(disk: &dyn Disk, file: &CanonicalPath, orders: Option<&Orders>) -> Arc<Parsed> {
    // Git follows links to a configuration, and people keep theirs behind one.
    let found = AbsolutePath::new(file.as_path()).ok();
    let found = found.and_then(|file| path::follow(disk, &file, Last::Follow).ok());
    let Some(found) = found else { return Arc::new(None) };
    let (Some(entry), file) = (found.entry, &found.path) else {
        return Arc::new(Some(Vec::new()));
    };
    let recalled = orders.and_then(|orders| orders.recall(file, entry.state));
    if let Some(Remembered::Config(parsed)) = recalled {
        return parsed;
    }
    let parsed = Arc::new(parse(disk, file.as_path()));
    if let Some(orders) = orders {
        orders.remember(file, entry.state, Remembered::Config(Arc::clone(&parsed)));
    }
    parsed
}

/// Returns the links that lie directly in a directory.
fn links_in(
    disk: &dyn Disk,
    directory: &CanonicalPath,
    orders: Option<&Orders>,
) -> Arc<Vec<CanonicalPath>> {
    let Ok(Some(Entry { kind: Kind::Directory, state })) = disk.look(directory.as_path()) else {
        return Arc::default();
    };
    let recalled = orders.and_then(|orders| orders.recall(directory, state));
    if let Some(Remembered::Links(links)) = recalled {
        return links;
    }
    let entries = disk.list(directory.as_path(), ENTRIES_MAX).unwrap_or_default();
    let links = entries.into_iter().filter(|(_, kind)| *kind == Kind::Link);
    let links: Vec<_> = links.filter_map(|(name, _)| directory.join(&name).ok()).collect();
    let links = Arc::new(links);
    if let Some(orders) = orders {
        orders.remember(directory, state, Remembered::Links(Arc::clone(&links)));
    }
    links
}

fn parse(disk: &dyn Disk, file: &Path) -> Parsed {
    let bytes = match disk.read_file(file, CONFIG_BYTES_MAX) {
        Ok(bytes) => bytes.unwrap_or_default(),
        Err(_) => return None,
    };
    let settings = config::parse(str::from_utf8(&bytes).ok()?).ok()?;
    Some(settings.into_iter().filter(names_programs).collect())
}

fn names_programs(setting: &Setting) -> bool {
    let (section, key) = (setting.section.as_str(), setting.key.as_str());
    match section {
        // Other aliases are git's own commands, some of which run programs.
        "alias" => {
            let value = setting.value.as_str();
            value.trim_start().starts_with('!') || RUNNING.iter().any(|it| value.contains(it))
        }
        section => SECTIONS.contains(&section) || SETTINGS.contains(&(section, key)),
    }
}

/// Returns the words of a setting that may be paths: the whole of it, and what a shell would make of it.
fn words(setting: &Setting) -> Vec<String> {
    let value = setting.value.as_str();
    let is_path = matches!(
        (setting.section.as_str(), setting.key.as_str()),
        ("include" | "includeif", "path")
            | ("core", "hookspath" | "attributesfile" | "worktree")
            | ("init", "templatedir")
    );
    // As a shell would put quoted and escaped parts together.
    let plain: String = value.chars().filter(|c| !"'\"\\".contains(*c)).collect();
    let mut words = Vec::new();
    if is_path || value.contains('/') {
        words.extend([value.to_owned(), plain.clone()]);
    }
    if !is_path {
        let is_end = |c: char| c.is_whitespace() || "'\"`$(){}[]<>|&;=,!\\:".contains(c);
        let is_blank = |c: char| c.is_whitespace() || "$(){};|&=!".contains(c);
        words.extend(plain.split(is_blank).filter(|it| it.contains('/')).map(ToOwned::to_owned));
        let mut parts =
            value.split(is_end).filter(|word| !word.is_empty() && !word.starts_with('-'));
        // The program itself is looked for where programs are, unless it is written as a path.
        let first = parts.next().filter(|word| word.contains('/'));
        let parts = first.into_iter().chain(parts).take(WORDS_MAX);
        words.extend(parts.map(ToOwned::to_owned));
    }
    // `$PWD/tools/x` and `$(…)/tools/x` are `tools/x` for all we know.
    let is_variable = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let tails: Vec<String> = words
        .iter()
        .filter_map(|word| {
            let (first, tail) = word.split_once('/')?;
            first.chars().all(is_variable).then(|| tail.trim_start_matches('/').to_owned())
        })
        .filter(|tail| !tail.is_empty())
        .collect();
    words.extend(tails);
    words.truncate(WORDS_MAX);
    words
}
