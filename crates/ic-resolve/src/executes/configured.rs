//! What a git configuration names to be run or obeyed: hooks, programs, further configuration.
//!
//! Which files a setting names is found in `settings.rs`; here configurations are read, and names become
//! paths from the top of the tree and from the directory of the configuration, with every link on the
//! way. So more is found than git would run, and never less. Which of it an agent could change is not
//! asked here.

use std::path::Path;
use std::sync::Arc;

use ic_policy::Why;
use ic_policy::host_executes::GIT_DIRECTORY;
use ic_types::{AbsolutePath, CanonicalPath, Json, JsonLimits};

use super::links;
use super::names::{ANYWHERE, Names, Pattern};
use super::orders::{Listing, Orders};
use super::programs::Name;
use super::settings::{self, Order, Orders as Settings};
use crate::disk::Disk;
use crate::git::linked::{POINTER_BYTES_MAX, tree_of};
use crate::git::{CONFIG_BYTES_MAX, config};
use crate::path::{self, Last};

/// How many configurations are read for one repository, those that are included counted.
const FILES_MAX: usize = 64;
/// How many names one repository may have; with more it may name anything.
const NAMES_MAX: usize = 4096;
/// Where a package of Node's says which program is its own.
const PACKAGE: &str = "package.json";
/// Where links among git's own files are looked for, besides the directory itself.
const LINKED: [&str; 2] = ["hooks", "info"];

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
    pub(super) names: Names,
    /// A configuration that cannot be understood, so that it may name anything.
    pub(super) unreadable: Option<CanonicalPath>,
    /// Whether attributes of a file can make git run a program.
    pub(super) has_drivers: bool,
}

/// Where names are looked up.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) disk: &'a dyn Disk,
    pub(super) home: &'a AbsolutePath,
    pub(super) orders: Option<&'a Orders>,
}

/// A configuration, and the top of the tree for which it is read.
type Source = (CanonicalPath, CanonicalPath);

impl Named {
    /// Reads what the repository whose top is `top`, and which is kept in `git`, names.
    pub(super) fn read(place: Place<'_>, top: &CanonicalPath, git: Vec<CanonicalPath>) -> Self {
        let mut named = Self { git, ..Self::default() };
        named.note_links(place);
        let own = ["config", "config.worktree"];
        let mut files: Vec<Source> = Vec::new();
        for directory in &named.git {
            let names = own.iter().filter_map(|name| directory.join(name.as_ref()).ok());
            files.extend(names.map(|file| (file, top.clone())));
            files.extend(parts(place, directory));
        }
        if let Some(orders) = place.orders {
            files.extend(orders.user().map(|file| (file.clone(), top.clone())));
            let here = (top.clone(), top.clone());
            named.note_all(place, &here, orders.given(), &mut Vec::new());
        }
        named.read_all(place, files);
        named
    }

    fn read_all(&mut self, place: Place<'_>, mut files: Vec<Source>) {
        let mut n_read = 0;
        while let Some(source) = files.pop() {
            n_read += 1;
            let parsed = match FILES_MAX < n_read || NAMES_MAX < self.names.len() {
                true => Arc::new(None),
                false => read(place, &source.0),
            };
            let Some(settings) = &*parsed else {
                self.unreadable = Some(source.0);
                break;
            };
            self.note_all(place, &source, settings, &mut files);
        }
    }

    fn note_all(
        &mut self,
        place: Place<'_>,
        source: &Source,
        settings: &Settings,
        files: &mut Vec<Source>,
    ) {
        self.has_drivers |= settings.has_drivers;
        for order in &settings.orders {
            let found = self.note(place, source, order);
            if order.is_include {
                files.extend(found.into_iter().map(|file| (file, source.1.clone())));
            }
        }
    }

    /// Notes what variables name that are obeyed in `top` and everywhere else.
    pub(super) fn note_variables(&mut self, place: Place<'_>, top: &CanonicalPath) {
        let Some(orders) = place.orders else { return };
        // As if they stood in a file at the top: the directory of a configuration is none of theirs.
        if let Ok(file) = top.join(GIT_DIRECTORY.as_ref()) {
            self.note_all(place, &(file, top.clone()), orders.variables(), &mut Vec::new());
        }
    }

    /// Says why anything may be named here, if it may.
    pub(super) fn why_unread(&self) -> Option<Why> {
        self.unreadable.clone().map(Why::Unreadable)
    }

    /// Notes where links among git's own files lead, and every link on the way.
    fn note_links(&mut self, place: Place<'_>) {
        for directory in &self.git {
            for link in &Listing::of(place, directory).links {
                for path in led_by(place.disk, link).into_iter().filter(|it| it != link) {
                    self.names.add(path, Why::Linked(link.clone()));
                }
            }
            for inner in LINKED.iter().filter_map(|name| directory.join(name.as_ref()).ok()) {
                links::note_beneath(place, &inner, &mut self.names);
            }
        }
    }

    /// Notes the paths that a setting names, and returns them.
    fn note(
        &mut self,
        place: Place<'_>,
        (file, top): &Source,
        order: &Order,
    ) -> Vec<CanonicalPath> {
        let directory = file.parent().unwrap_or_else(CanonicalPath::root);
        let why = order.why();
        let bases = std::iter::once(top).chain((directory != *top).then_some(&directory));
        let (mut found, mut patterns) = (Vec::new(), Vec::new());
        for (name, base) in order.names.iter().flat_map(|it| bases.clone().map(move |at| (it, at)))
        {
            let loosened = name.loosened().map(|loosened| match order.is_include {
                // Which configuration it is cannot be told, so it may name anything.
                true => Name::Everything,
                false => loosened,
            });
            match loosened.as_ref().unwrap_or(name) {
                Name::Path(word) => found.extend(paths(place, (top, base), word, order.is_hooks)),
                Name::Glob(word) => patterns.extend(glob(place, base, word, &mut found)),
                Name::Anywhere(word) => patterns.extend(anywhere(top, word)),
                Name::Package(word) => found.extend(package(place, (top, base), word)),
                Name::Inside(word, kind) => {
                    let path = path::lexical(word.as_bytes(), place.home, Some(base));
                    let path = path.filter(|path| top.is_within(path));
                    let parts = vec![(*kind).to_owned()];
                    patterns.extend(path.map(|base| Pattern { base, is_anywhere: false, parts }));
                }
                Name::Everything => found.push(top.clone()),
            }
        }
        for path in &found {
            self.names.add(path.clone(), why.clone());
        }
        for pattern in patterns {
            self.names.add_pattern(pattern, why.clone());
        }
        // What is in a named directory may be a link, as hooks often are.
        for path in &found {
            links::note_beneath(place, path, &mut self.names);
        }
        found
    }
}

/// Returns the configurations of linked working trees and submodules that are kept in a git directory.
fn parts(place: Place<'_>, git: &CanonicalPath) -> Vec<Source> {
    let within = |name: &str| git.join(name.as_ref()).ok();
    let entries = |name: &str| within(name).map(|at| Listing::of(place, &at));
    let mut files = Vec::new();
    for tree in entries("worktrees").iter().flat_map(|it| &it.directories) {
        let read = |name: &str| {
            let file = tree.join(name.as_ref()).ok()?;
            place.disk.read_file(file.as_path(), POINTER_BYTES_MAX).ok().flatten()
        };
        if let (Some(top), Ok(file)) =
            (read("gitdir").and_then(|it| tree_of(&it)), tree.join("config.worktree".as_ref()))
        {
            files.push((file, top));
        }
    }
    for module in entries("modules").iter().flat_map(|it| &it.directories) {
        let above = git.parent().unwrap_or_else(CanonicalPath::root);
        let top = module.as_path().file_name().and_then(|name| above.join(name).ok());
        if let (Some(top), Ok(file)) = (top, module.join("config".as_ref())) {
            files.push((file, top));
        }
    }
    files
}

/// Returns what a word leads to from `base`, as it is written and as links lead.
fn paths(
    place: Place<'_>,
    (top, base): (&CanonicalPath, &CanonicalPath),
    word: &str,
    is_hooks: bool,
) -> Vec<CanonicalPath> {
    let Some(path) = path::lexical(word.as_bytes(), place.home, Some(base)) else {
        return Vec::new();
    };
    let is_above = top.is_within(&path) || home_is_within(place.home, &path);
    match (is_above, is_hooks) {
        (false, _) => {
            let mut found = led_by(place.disk, &path);
            // Behind a link `..` is another directory than it looks.
            if word.contains("..")
                && let Ok(walked) =
                    path::walk(place.disk, base.clone(), word.as_ref(), Last::Follow)
            {
                found.extend(walked.links);
                found.push(walked.path);
            }
            found
        }
        // Hooks beside everything else: only what is called like one counts.
        (true, true) => {
            let hooks = HOOKS.iter().filter_map(|name| path.join(name.as_ref()).ok());
            hooks.flat_map(|hook| led_by(place.disk, &hook)).collect()
        }
        (true, false) => Vec::new(),
    }
}

/// Returns the program that the package in a directory names as its own.
fn package(
    place: Place<'_>,
    (top, base): (&CanonicalPath, &CanonicalPath),
    word: &str,
) -> Vec<CanonicalPath> {
    let Some(directory) = path::lexical(word.as_bytes(), place.home, Some(base)) else {
        return Vec::new();
    };
    let main = || {
        let file = directory.join(PACKAGE.as_ref()).ok()?;
        let bytes = place.disk.read_file(file.as_path(), CONFIG_BYTES_MAX).ok()??;
        match Json::parse(&bytes, JsonLimits::CALL).ok()? {
            Json::Object(package) => package.get("main")?.as_str().map(ToOwned::to_owned),
            _ => None,
        }
    };
    let Some(main) = main() else { return Vec::new() };
    let endings = ["", ".js", ".cjs", ".mjs", ".json", ".node"];
    let words = endings.iter().map(|ending| format!("{main}{ending}"));
    words.flat_map(|word| paths(place, (top, &directory), &word, false)).collect()
}

/// Returns the patterns of a word with `*`; what exists and leads through links is added to `found`.
fn glob(
    place: Place<'_>,
    base: &CanonicalPath,
    word: &str,
    found: &mut Vec<CanonicalPath>,
) -> Vec<Pattern> {
    let star = word.find('*').unwrap_or(word.len());
    let known = word.get(..star).and_then(|it| it.rsplit_once('/')).map_or("", |(known, _)| known);
    let rest = word.get(known.len()..).unwrap_or_default();
    let known = if known.is_empty() && word.starts_with('/') { "/" } else { known };
    let base = match known {
        "" => Some(base.clone()),
        known => path::lexical(known.as_bytes(), place.home, Some(base)),
    };
    let Some(base) = base else { return Vec::new() };
    let parts: Vec<String> =
        plain_parts(rest).take_while(|it| *it != "..").map(Into::into).collect();
    if parts.is_empty() {
        found.push(base);
        return Vec::new();
    }
    let led = led_by(place.disk, &base);
    let mut patterns: Vec<Pattern> = Vec::new();
    let is_anywhere = parts.first().is_some_and(|it| it == ANYWHERE);
    let parts: Vec<String> = parts.into_iter().skip(usize::from(is_anywhere)).collect();
    for base in [led.first(), led.last()].into_iter().flatten() {
        patterns.push(Pattern { base: base.clone(), is_anywhere, parts: parts.clone() });
    }
    patterns.dedup();
    if 1 < led.len() {
        found.extend(led);
    }
    for pattern in &patterns {
        for link in links::beneath(place, &pattern.base).into_iter().filter(|it| pattern.covers(it))
        {
            found.extend(led_by(place.disk, &link));
        }
    }
    patterns
}

fn anywhere(top: &CanonicalPath, word: &str) -> Option<Pattern> {
    let parts: Vec<String> =
        plain_parts(word).skip_while(|it| *it == "..").map(ToOwned::to_owned).collect();
    let is_usable = !parts.is_empty() && !parts.iter().any(|it| it == "..");
    is_usable.then(|| Pattern { base: top.clone(), is_anywhere: true, parts })
}

fn plain_parts(word: &str) -> impl Iterator<Item = &str> {
    word.split('/').filter(|it| !matches!(*it, "" | "."))
}

/// Returns a path, the links that it leads through, and what it leads to.
pub(super) fn led_by(disk: &dyn Disk, path: &CanonicalPath) -> Vec<CanonicalPath> {
    let found = AbsolutePath::new(path.as_path()).ok();
    let found = found.and_then(|it| path::follow(disk, &it, Last::Follow).ok());
    let led = found.filter(|it| !it.links.is_empty()).map(|it| (it.links, it.path));
    let led = led.into_iter().flat_map(|(links, last)| links.into_iter().chain([last]));
    std::iter::once(path.clone()).chain(led).collect()
}

/// A word that stands for the home, or for all that holds it, names nothing in it.
fn home_is_within(home: &AbsolutePath, path: &CanonicalPath) -> bool {
    CanonicalPath::new(home.as_path()).is_ok_and(|home| home.is_within(path))
}

/// Reads the settings of a file that can name programs; a file that is not there has none.
fn read(place: Place<'_>, file: &CanonicalPath) -> Arc<Option<Settings>> {
    // Git follows links to a configuration, and people keep theirs behind one.
    let found = AbsolutePath::new(file.as_path()).ok();
    let found = found.and_then(|file| path::follow(place.disk, &file, Last::Follow).ok());
    let Some(found) = found else { return Arc::new(None) };
    let is_nothing = found.path.as_path() == Path::new("/dev/null");
    let (Some(entry), false) = (found.entry, is_nothing) else {
        return Arc::new(Some(Settings::default()));
    };
    let parse = || Arc::new(parse(place.disk, found.path.as_path()));
    match place.orders {
        Some(orders) => orders.config(&found.path, entry.state, parse),
        None => parse(),
    }
}

fn parse(disk: &dyn Disk, file: &Path) -> Option<Settings> {
    let bytes = disk.read_file(file, CONFIG_BYTES_MAX).ok()?.unwrap_or_default();
    let settings = config::parse(str::from_utf8(&bytes).ok()?).ok()?;
    Some(settings::orders(&settings))
}
