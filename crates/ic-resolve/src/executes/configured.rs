//! What a git configuration names to be run or obeyed: hooks, programs, further configuration.
//!
//! Which files a setting names is found in `settings.rs`; here configurations are read, and names become
//! paths from the top of the tree and from the directory of the configuration, with every link on the
//! way. So more is found than git would run, and never less. Which of it an agent could change is not
//! asked here.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use ic_policy::Why;
use ic_policy::host_executes::GIT_DIRECTORY;
use ic_types::{AbsolutePath, CanonicalPath};

use super::committed;
use super::finds::{Finds, Led};
use super::history::{self, Haste, Texts};
use super::hooks;
use super::links;
use super::names::Names;
use super::orders::{Listing, Orders};
use super::partners::Urls;
use super::settings::{self, Order, Orders as Settings, Takes};
use crate::disk::Disk;
use crate::git::linked::{POINTER_BYTES_MAX, tree_of};
use crate::git::{CONFIG_BYTES_MAX, config};
use crate::path::{self, Last};

/// How many configurations are read for one repository, those that are included counted.
const FILES_MAX: usize = 64;
/// How many names one repository may have; with more it may name anything.
const NAMES_MAX: usize = 4096;
/// How many directories of objects that git takes as its own are looked for.
const ALTERNATES_MAX: usize = 64;
/// How many directories are looked at for submodules; with more, anything may be named.
const MODULES_MAX: usize = 1024;
/// What a repository has in its directory, and a submodule of it does not lie beneath.
const OF_REPOSITORY: [&str; 5] = ["hooks", "info", "logs", "objects", "refs"];
/// Where links among git's own files are looked for, besides the directory itself.
const LINKED: [&str; 2] = ["hooks", "info"];

/// What the configuration of one repository names.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// The directories in which git keeps the repository.
    pub(super) git: Vec<CanonicalPath>,
    pub(super) names: Names,
    /// Those of them that its own configuration names, and not that of the user.
    pub(super) own: Names,
    /// The configurations of submodules, with where these are or would be checked out.
    modules: Vec<Source>,
    /// Where commits come from and go to.
    pub(super) urls: Vec<Arc<Urls>>,
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
        named.note_hooks(place, top);
        let mut files: Vec<Source> = Vec::new();
        let mut tops = vec![top.clone()];
        for directory in named.git.clone() {
            let own = ["config", "config.worktree"];
            let own = own.iter().filter_map(|name| directory.join(name.as_ref()).ok());
            for file in own {
                note_trees(place, (&directory, &file), &mut tops);
                files.push((file, top.clone()));
            }
            named.note_alternates(place, &directory);
            named.urls.push(Arc::new(Urls::of_old(place.disk, &directory)));
            files.extend(of_trees(place, &directory));
            let modules = directory.join("modules".as_ref()).ok();
            match modules.as_ref().map(|it| of_modules(place, &directory, it)) {
                Some(Some(more)) => {
                    named.modules.extend_from_slice(&more);
                    files.extend(more);
                }
                Some(None) => named.unreadable = modules,
                None => {}
            }
        }
        // Where the working tree is elsewhere, names are meant from there.
        for at in tops.iter().skip(1) {
            let here = files.iter().filter(|(_, of)| of == top);
            let there: Vec<Source> = here.map(|(file, _)| (file.clone(), at.clone())).collect();
            files.extend(there);
        }
        named.read_all(place, files);
        named.note_committed(place, top);
        named.own = named.names.clone();
        if let Some(orders) = place.orders {
            for top in &tops {
                let here = (top.clone(), top.clone());
                named.note_all(place, &here, orders.given(), &mut Vec::new());
                let files = orders.user().map(|file| (file.clone(), top.clone()));
                named.read_all(place, files.collect());
            }
            named.note_committed(place, top);
        }
        named
    }

    /// Notes what links lead to that git has and that may not be on the disk.
    fn note_committed(&mut self, place: Place<'_>, top: &CanonicalPath) {
        let Some(history) = place.orders.and_then(Orders::history) else { return };
        committed::note(place, (top, &committed::at_top(place, top)), &mut self.names);
        for git in &self.git {
            match history.links(git, Haste::of(place)).known(place) {
                Some(table) => committed::note(place, (top, &table), &mut self.names),
                None => self.unreadable = Some(git.clone()),
            }
        }
        for (file, top) in &self.modules {
            let Some(git) = file.parent() else { continue };
            match history.links(&git, Haste::of(place)).known(place) {
                Some(table) => committed::note(place, (top, &table), &mut self.names),
                None => self.unreadable = Some(git),
            }
        }
    }

    /// Notes the directories from which git takes objects as if they were its own.
    fn note_alternates(&mut self, place: Place<'_>, git: &CanonicalPath) {
        let Ok(objects) = git.join("objects".as_ref()) else { return };
        let (mut rest, mut n_left) = (vec![objects], ALTERNATES_MAX);
        while let Some(objects) = rest.pop() {
            let file = path::lexical(b"info/alternates", place.home, Some(&objects));
            let read = |it: CanonicalPath| {
                place.disk.read_file(it.as_path(), CONFIG_BYTES_MAX).ok().flatten()
            };
            let text = file.and_then(read).unwrap_or_default();
            for line in text.split(|byte| *byte == b'\n').filter(|it| !it.starts_with(b"#")) {
                // Git may write a path in quotes.
                let line = line.strip_prefix(b"\"").unwrap_or(line);
                let line = line.strip_suffix(b"\"").unwrap_or(line);
                let Some(path) = path::lexical(line, place.home, Some(&objects)) else { continue };
                if n_left == 0 {
                    self.unreadable = Some(objects);
                    return;
                }
                n_left -= 1;
                for it in Led::by(place.disk, &path).paths {
                    self.names.add(it.clone(), Why::Repository(git.clone()));
                    rest.push(it);
                }
            }
        }
    }

    fn read_all(&mut self, place: Place<'_>, mut files: Vec<Source>) {
        let (mut n_read, mut done) = (0, BTreeSet::new());
        while let Some(source) = files.pop() {
            if !done.insert(source.clone()) {
                continue;
            }
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
            let versions = versions(place, &source, &self.git);
            let Some(settings) = &*versions else {
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
        self.urls.push(Arc::clone(&settings.urls));
        for order in &settings.given {
            let found = self.note(place, source, order);
            if order.takes == Takes::Configuration {
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
                let Led { paths, passed } = Led::by(place.disk, link);
                for path in paths.into_iter().filter(|it| it != link) {
                    self.names.add(path, Why::Linked(link.clone()));
                }
                for entry in passed {
                    self.names.add_entry(entry, Why::Linked(link.clone()));
                }
            }
            for inner in LINKED.iter().filter_map(|name| directory.join(name.as_ref()).ok()) {
                links::note_beneath(place, &inner, &mut self.names);
            }
        }
    }

    /// Notes what hooks among git's own files run by name.
    fn note_hooks(&mut self, place: Place<'_>, top: &CanonicalPath) {
        for directory in self.git.clone() {
            let hooks = directory.join("hooks".as_ref()).ok();
            for order in hooks.iter().flat_map(|it| hooks::orders(place, it)) {
                self.note(place, &(directory.clone(), top.clone()), &order);
            }
        }
    }

    /// Notes what hooks in a directory of a setting run by name, here and in any commit.
    fn note_hooks_in(&mut self, place: Place<'_>, path: &CanonicalPath, source: &Source) {
        let mut orders = hooks::orders(place, path);
        match hooks::of_commits(place, path, (&source.1, &self.git)) {
            Some(more) => orders.extend(more),
            None => self.unreadable = Some(path.clone()),
        }
        for order in orders {
            self.note(place, source, &order);
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
        let mut finds = Finds::new(place, top, order);
        for (name, base) in order.names.iter().flat_map(|it| bases.clone().map(move |at| (it, at)))
        {
            finds.note(name, base);
        }
        let Finds { paths, entries, patterns, .. } = finds;
        for path in &paths {
            self.names.add(path.clone(), why.clone());
        }
        for entry in entries {
            self.names.add_entry(entry, why.clone());
        }
        for pattern in patterns {
            self.names.add_pattern(pattern, why.clone());
        }
        // What is in a named directory may be a link, as hooks often are.
        for path in &paths {
            links::note_beneath(place, path, &mut self.names);
            if order.takes == Takes::Hooks {
                self.note_hooks_in(place, path, &(file.clone(), top.clone()));
            }
        }
        paths
    }
}

/// Notes where a configuration says that the working tree is.
fn note_trees(
    place: Place<'_>,
    (directory, file): (&CanonicalPath, &CanonicalPath),
    tops: &mut Vec<CanonicalPath>,
) {
    let Some(settings) = &*read(place, file) else { return };
    for tree in &settings.trees {
        let tree = path::lexical(tree.as_bytes(), place.home, Some(directory));
        for at in tree.iter().flat_map(|tree| Led::by(place.disk, tree).paths) {
            if !tops.contains(&at) {
                tops.push(at);
            }
        }
    }
}

/// Returns the configurations of linked working trees that are kept in a git directory.
fn of_trees(place: Place<'_>, git: &CanonicalPath) -> Vec<Source> {
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
    files
}

/// Returns the configurations of submodules, whose names may have slashes in them and say where they are
/// checked out, unless that is written down; nothing if there are too many directories.
fn of_modules(
    place: Place<'_>,
    git: &CanonicalPath,
    modules: &CanonicalPath,
) -> Option<Vec<Source>> {
    if matches!(place.disk.look(modules.as_path()), Ok(None)) {
        return Some(Vec::new());
    }
    let above = git.parent().unwrap_or_else(CanonicalPath::root);
    let paths = paths_of_submodules(place, &above)?;
    let (mut files, mut rest) = (Vec::new(), vec![modules.clone()]);
    for n_read in 0.. {
        let Some(module) = rest.pop() else { break };
        if MODULES_MAX < n_read {
            return None;
        }
        let Ok(file) = module.join("config".as_ref()) else { continue };
        let is_one = !matches!(place.disk.look(file.as_path()), Ok(None));
        if is_one {
            let name = module.as_path().strip_prefix(modules.as_path()).unwrap_or(Path::new(""));
            let guess = name.iter().try_fold(above.clone(), |at, it| at.join(it)).ok();
            let written = paths.iter().filter(|(of, _)| Path::new(&**of) == name);
            let written =
                written.map(|(_, top)| top.clone()).filter(|it| guess.as_ref() != Some(it));
            let mut tops: Vec<CanonicalPath> = written.chain(guess.clone()).collect();
            note_trees(place, (&module, &file), &mut tops);
            files.extend(tops.into_iter().map(|top| (file.clone(), top)));
        }
        let inner = Listing::of(place, &module);
        let is_gits = |it: &CanonicalPath| {
            is_one
                && OF_REPOSITORY.iter().any(|name| it.as_path().file_name() == Some(name.as_ref()))
        };
        rest.extend(inner.directories.iter().filter(|it| !is_gits(it)).cloned());
    }
    Some(files)
}

/// Returns where a `.gitmodules` says that submodules are checked out, by their names, here or in any commit.
fn paths_of_submodules(
    place: Place<'_>,
    top: &CanonicalPath,
) -> Option<Vec<(Arc<str>, CanonicalPath)>> {
    let file = top.join(".gitmodules".as_ref()).ok()?;
    let here = place.disk.read_file(file.as_path(), CONFIG_BYTES_MAX).ok().flatten();
    let versions = history::of_file(place, &file, None, CONFIG_BYTES_MAX)?;
    let versions = versions.iter().flat_map(|it| &it.files).map(|(_, text)| text);
    let mut found = Vec::new();
    for text in here.iter().chain(versions) {
        let settings = str::from_utf8(text).ok().and_then(|it| config::parse(it).ok());
        for setting in settings.into_iter().flatten().filter(|it| it.key == "path") {
            let at = path::lexical(setting.value.as_bytes(), place.home, Some(top));
            let named = setting.subsection.zip(at).filter(|it| !found.contains(it));
            found.extend(named);
        }
    }
    Some(found)
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

/// Reads what a configuration in a tree says as git has it, in all versions together.
fn versions(
    place: Place<'_>,
    (file, top): &Source,
    git: &[CanonicalPath],
) -> Arc<Option<Settings>> {
    let texts = history::of_file(place, file, Some((top, git)), CONFIG_BYTES_MAX);
    match (texts, place.orders) {
        (None, _) => Arc::new(None),
        (Some(texts), Some(orders)) if !texts.is_empty() => {
            orders.versions(file, texts, |texts| Arc::new(parse_all(texts)))
        }
        _ => Arc::new(Some(Settings::default())),
    }
}

fn parse_all(texts: &[Arc<Texts>]) -> Option<Settings> {
    let (mut all, mut seen) = (Vec::new(), HashSet::new());
    for (_, text) in texts.iter().flat_map(|it| &it.files) {
        let settings = config::parse(str::from_utf8(text).ok()?).ok()?;
        all.extend(settings.into_iter().filter(|it| seen.insert(it.clone())));
    }
    let mut settings = settings::orders(&all);
    for order in &mut settings.given {
        order.key.push_str(" of another commit");
    }
    texts.iter().all(|it| it.is_whole).then_some(settings)
}

fn parse(disk: &dyn Disk, file: &Path) -> Option<Settings> {
    let bytes = disk.read_file(file, CONFIG_BYTES_MAX).ok()?.unwrap_or_default();
    let settings = config::parse(str::from_utf8(&bytes).ok()?).ok()?;
    Some(settings::orders(&settings))
}
