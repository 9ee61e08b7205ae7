//! Names of a setting as paths and patterns: from the directories in which it may be read, with every link
//! on the way, and every directory that is left again by `..`.
//!
//! What leads to the tree itself, or to what holds it, names no path in it. Then it is the kind of file
//! that counts: hooks, programs, whatever the setting reads there.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use ic_types::{AbsolutePath, CanonicalPath, Json, JsonLimits};

use super::configured::Place;
use super::history;
use super::links;
use super::names::classes::{ORDERS, PROGRAM};
use super::names::{ANYWHERE, Pattern, is_match};
use super::programs::Name;
use super::programs::words::plain_parts;
use super::settings::{Order, Takes};
use crate::disk::Disk;
use crate::git::CONFIG_BYTES_MAX;
use crate::path::{self, Last};

/// Where a package of Node's says which program is its own.
const PACKAGE: &str = "package.json";

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

/// What one setting names.
pub(super) struct Finds<'a> {
    place: Place<'a>,
    /// The top of the tree for which it is read.
    top: &'a CanonicalPath,
    order: &'a Order,
    pub(super) paths: Vec<CanonicalPath>,
    /// Directories that a path leaves again: in place of one, a link leads elsewhere.
    pub(super) entries: Vec<CanonicalPath>,
    pub(super) patterns: Vec<Pattern>,
}

impl<'a> Finds<'a> {
    pub(super) fn new(place: Place<'a>, top: &'a CanonicalPath, order: &'a Order) -> Self {
        let (paths, entries, patterns) = Default::default();
        Self { place, top, order, paths, entries, patterns }
    }

    /// Notes a name from `base`.
    pub(super) fn note(&mut self, name: &Name, base: &CanonicalPath) {
        let loosened = name.loosened();
        let name = loosened.as_ref().unwrap_or(name);
        let is_unknown = loosened.is_some() || matches!(name, Name::Open { .. });
        match name {
            // Which configuration it is cannot be told, so it may name anything.
            _ if is_unknown && self.order.takes == Takes::Configuration => self.everything(),
            Name::Path(word) => self.path(word, base),
            Name::Glob(word) => self.glob(word, base),
            Name::Anywhere(word) => self.anywhere(word),
            Name::Package(word) => self.package(word, base),
            Name::Inside(word, kind) => self.inside(word, kind, base),
            Name::Open { before, after } => self.open(before, after, base),
            Name::Everything => self.everything(),
        }
    }

    fn everything(&mut self) {
        self.paths.push(self.top.clone());
    }

    /// Notes what a word leads to, as it is written and as links lead.
    fn path(&mut self, word: &str, base: &CanonicalPath) {
        for path in self.led(word, base) {
            match self.is_above(&path) {
                false => self.paths.push(path),
                true => self.whole(&path),
            }
        }
    }

    /// Notes what counts if the directory of a setting is the tree itself, or holds it.
    fn whole(&mut self, path: &CanonicalPath) {
        match self.order.takes {
            // Hooks beside everything else: only what is called like one counts.
            Takes::Hooks => {
                for name in HOOKS {
                    if let Ok(hook) = path.join(name.as_ref()) {
                        let led = Led::by(self.place.disk, &hook);
                        self.entries.extend(led.passed);
                        self.paths.extend(led.paths);
                    }
                }
            }
            Takes::Directory if self.top.is_within(path) => self.everything(),
            Takes::Orders => self.kind(path, ORDERS),
            Takes::Configuration | Takes::Directory | Takes::Words => {}
        }
    }

    /// Returns a path, the links that it leads through, and what it leads to.
    fn led(&mut self, word: &str, base: &CanonicalPath) -> Vec<CanonicalPath> {
        let Some(path) = path::lexical(word.as_bytes(), self.place.home, Some(base)) else {
            return Vec::new();
        };
        let mut led = Led::by(self.place.disk, &path);
        // Behind a link `..` is another directory than it looks.
        if word.contains("..") {
            let home = self.place.home.as_path().display();
            let word = match word.strip_prefix('~') {
                Some(rest) => format!("{home}{rest}"),
                None => word.to_owned(),
            };
            let base = if word.starts_with('/') { CanonicalPath::root() } else { base.clone() };
            if let Ok(found) = path::walk(self.place.disk, base, word.as_ref(), Last::Follow) {
                led.passed.extend(found.passed);
                led.paths.extend(found.links.into_iter().chain([found.path]));
            }
        }
        self.entries.extend(led.passed);
        led.paths
    }

    /// Returns whether a path is the tree or holds it, or holds the home.
    fn is_above(&self, path: &CanonicalPath) -> bool {
        self.top.is_within(path) || self.holds_home(path)
    }

    fn holds_home(&self, path: &CanonicalPath) -> bool {
        CanonicalPath::new(self.place.home.as_path()).is_ok_and(|home| home.is_within(path))
    }

    /// Notes what is of a kind in a directory that is the tree or holds it.
    fn kind(&mut self, directory: &CanonicalPath, kind: &str) {
        if !self.top.is_within(directory) {
            return;
        }
        // Programs are looked for in the directory itself, and what is obeyed in the home is listed.
        let is_deep = match kind {
            PROGRAM => false,
            ORDERS => !self.holds_home(directory),
            _ => true,
        };
        let parts = vec![kind.to_owned()];
        self.patterns.push(Pattern { base: directory.clone(), is_anywhere: is_deep, parts });
    }

    fn inside(&mut self, word: &str, kind: &str, base: &CanonicalPath) {
        match word.strip_prefix("**/") {
            None => {
                for directory in self.led(word, base) {
                    self.kind(&directory, kind);
                }
            }
            Some(end) => {
                let pattern = ending(end).map(|parts| self.pattern(parts));
                if pattern.is_some_and(|it| it.covers(self.top)) {
                    self.kind(&self.top.clone(), kind);
                }
            }
        }
    }

    /// Notes a path of which only the beginning and the end are known.
    fn open(&mut self, before: &str, after: &str, base: &CanonicalPath) {
        let begun = if before.is_empty() { Vec::new() } else { self.led(before, base) };
        let is_above = begun.iter().any(|path| self.is_above(path));
        // Everything beneath what is known.
        let is_below = |path: &CanonicalPath| !self.is_above(path);
        let below: Vec<CanonicalPath> = begun.iter().filter(|it| is_below(it)).cloned().collect();
        self.paths.extend(below);
        let end = ending(after);
        if end.is_none() && is_above {
            let parts = vec![PROGRAM.to_owned()];
            self.patterns.push(Pattern { base: self.top.clone(), is_anywhere: true, parts });
        }
        // A part that is not known may lead out again, but to a name that is known.
        let is_named = end.iter().flatten().any(|part| !part.contains('*'));
        if is_above || begun.is_empty() || is_named {
            self.anywhere(after);
        }
    }

    /// Notes what ends so, wherever it is.
    fn anywhere(&mut self, word: &str) {
        let Some(parts) = ending(word) else { return };
        self.through_links(&parts);
        // Above the last two names a link may stand that leads here.
        let last = parts.len().checked_sub(2).filter(|at| 0 < *at).and_then(|at| parts.get(at..));
        if let Some(last) = last.filter(|it| it.iter().all(|part| !part.contains('*'))) {
            let (base, parts) = (self.top.clone(), last.to_vec());
            self.patterns.push(Pattern { base, is_anywhere: true, parts });
        }
        let pattern = self.pattern(parts.clone());
        if !pattern.covers(self.top) {
            self.patterns.push(pattern);
            return;
        }
        // The tree itself or what holds it: not all that is in it.
        let base = self.top.clone();
        self.patterns.push(Pattern { base, is_anywhere: true, parts });
        match self.order.takes {
            Takes::Words => {}
            _ => self.whole(&self.top.clone()),
        }
    }

    /// Notes where what ends so leads by links of the tree.
    fn through_links(&mut self, parts: &[String]) {
        let is_kind = parts.iter().any(|part| part.starts_with("***"));
        if is_kind {
            return;
        }
        let Some(links) = links::all_beneath(self.place, self.top) else {
            // Too many to look at, so what is called so may be behind one, wherever it is.
            let (base, last) = (self.top.clone(), parts.last().cloned());
            let parts = last.into_iter().collect();
            return self.patterns.push(Pattern { base, is_anywhere: true, parts });
        };
        for link in links {
            for rest in rests(&link, parts) {
                let led = Led::by(self.place.disk, &link);
                self.entries.extend(led.passed);
                let Some(target) = led.paths.last().filter(|it| !self.is_above(it)) else {
                    continue;
                };
                match rest.iter().any(|part| part.contains('*')) {
                    true => {
                        let (base, parts) = (target.clone(), rest.to_vec());
                        self.patterns.push(Pattern { base, is_anywhere: false, parts });
                    }
                    false => self.path(&format!("./{}", rest.join("/")), &target.clone()),
                }
                self.paths.push(link.clone());
            }
        }
    }

    /// Returns the pattern of what ends so: of known names anywhere, of others in the tree.
    fn pattern(&self, parts: Vec<String>) -> Pattern {
        let is_known = parts.iter().any(|part| !part.contains('*'));
        let base = if is_known { CanonicalPath::root() } else { self.top.clone() };
        Pattern { base, is_anywhere: true, parts }
    }

    /// Notes the program that the package in a directory names as its own.
    fn package(&mut self, word: &str, base: &CanonicalPath) {
        let directory = path::lexical(word.as_bytes(), self.place.home, Some(base));
        let Some(directory) = directory else { return };
        let Ok(file) = directory.join(PACKAGE.as_ref()) else { return };
        let here = self.place.disk.read_file(file.as_path(), CONFIG_BYTES_MAX).ok().flatten();
        let Some(versions) = history::of_file(self.place, &file, None, CONFIG_BYTES_MAX) else {
            self.paths.push(directory);
            return;
        };
        let versions = versions.iter().flat_map(|it| &it.files).map(|(_, text)| text);
        let main = |text: &Vec<u8>| match Json::parse(text, JsonLimits::CALL).ok()? {
            Json::Object(package) => package.get("main")?.as_str().map(ToOwned::to_owned),
            _ => None,
        };
        let mains: BTreeSet<String> = here.iter().chain(versions).filter_map(main).collect();
        let endings = ["", ".js", ".cjs", ".mjs", ".json", ".node"];
        for (main, ending) in mains.iter().flat_map(|it| endings.map(|ending| (it, ending))) {
            self.path(&format!("{main}{ending}"), &directory);
        }
    }

    /// Notes the patterns of a word with `*`, and what exists and leads through links.
    fn glob(&mut self, word: &str, base: &CanonicalPath) {
        let star = word.find('*').unwrap_or(word.len());
        let known =
            word.get(..star).and_then(|it| it.rsplit_once('/')).map_or("", |(known, _)| known);
        let rest = word.get(known.len()..).unwrap_or_default();
        let known = if known.is_empty() && word.starts_with('/') { "/" } else { known };
        let base = match known {
            "" => Some(base.clone()),
            known => path::lexical(known.as_bytes(), self.place.home, Some(base)),
        };
        let Some(base) = base else { return };
        let parts: Vec<String> =
            plain_parts(rest).take_while(|it| *it != "..").map(Into::into).collect();
        if parts.is_empty() {
            return self.paths.push(base);
        }
        let Led { paths: led, passed } = Led::by(self.place.disk, &base);
        self.entries.extend(passed);
        let is_anywhere = parts.first().is_some_and(|it| it == ANYWHERE);
        let parts: Vec<String> = parts.into_iter().skip(usize::from(is_anywhere)).collect();
        let mut patterns: Vec<Pattern> = Vec::new();
        for base in [led.first(), led.last()].into_iter().flatten() {
            patterns.push(Pattern { base: base.clone(), is_anywhere, parts: parts.clone() });
        }
        patterns.dedup();
        if 1 < led.len() {
            self.paths.extend(led);
        }
        for pattern in patterns {
            let links = links::beneath(self.place, &pattern.base);
            for link in links.into_iter().filter(|it| pattern.covers(it)) {
                let led = Led::by(self.place.disk, &link);
                self.entries.extend(led.passed);
                self.paths.extend(led.paths);
            }
            self.patterns.push(pattern);
        }
    }
}

/// Returns the names at the end of a word that are certain: what is after the last `..`, and before the
/// first place where any number of directories may be.
fn ending(word: &str) -> Option<Vec<String>> {
    let last = word.rsplit("../").next().unwrap_or_default();
    let last = if word.ends_with("..") { "" } else { last };
    let parts = plain_parts(last).take_while(|it| *it != ANYWHERE);
    let parts: Vec<String> = parts.map(ToOwned::to_owned).collect();
    let is_known = parts.iter().any(|part| part.chars().any(|c| c != '*'));
    is_known.then_some(parts)
}

/// Returns what is left of the names beneath a link that has the first of them at its end.
fn rests<'p>(link: &CanonicalPath, parts: &'p [String]) -> Vec<&'p [String]> {
    let names: Vec<&OsStr> = link.components().collect();
    let fits = |n: &usize| {
        let end = names.len().checked_sub(*n).and_then(|at| names.get(at..));
        let mut pairs = end.into_iter().flatten().zip(parts);
        end.is_some() && pairs.all(|(name, part)| is_match(name.as_bytes(), part))
    };
    (1..=parts.len()).filter(fits).filter_map(|n| parts.get(n..)).collect()
}

/// Where a path leads.
pub(super) struct Led {
    /// The path, the links that it leads through, and what it leads to.
    pub(super) paths: Vec<CanonicalPath>,
    /// The directories that it leaves again on the way.
    pub(super) passed: Vec<CanonicalPath>,
}

impl Led {
    pub(super) fn by(disk: &dyn Disk, path: &CanonicalPath) -> Self {
        let found = AbsolutePath::new(path.as_path()).ok();
        let found = found.and_then(|it| path::follow(disk, &it, Last::Follow).ok());
        let mut led = Self { paths: vec![path.clone()], passed: Vec::new() };
        if let Some(found) = found.filter(|it| !it.links.is_empty()) {
            led.paths.extend(found.links.into_iter().chain([found.path]));
            led.passed = found.passed;
        }
        led
    }
}
