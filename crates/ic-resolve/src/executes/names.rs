//! Paths that something names, and patterns of paths: is a path among them, beneath or above one?
//!
//! A pattern is written as `/base/**/name/*.sh`: `*` stands for any characters of one name, and `**`, once,
//! for any number of directories; `***` begins the name of a kind of names. As texts they go to our git
//! server, which cannot see who names them.

pub(super) mod classes;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use ic_policy::Why;
use ic_types::CanonicalPath;

/// Any number of directories.
pub(super) const ANYWHERE: &str = "**";

/// Names, and why each counts.
#[derive(Clone, Debug, Default)]
pub struct Names {
    paths: HashMap<CanonicalPath, Why>,
    /// Everything above one of the paths: what is put in its place brings along what is in it.
    above: HashMap<CanonicalPath, Why>,
    patterns: Vec<(Pattern, Why)>,
}

/// A pattern of paths.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Pattern {
    /// What is named lies beneath it.
    pub(super) base: CanonicalPath,
    /// Whether in any directory beneath it.
    pub(super) is_anywhere: bool,
    /// The names from there, with `*`.
    pub(super) parts: Vec<String>,
}

impl Names {
    /// Makes names of texts, as [`Names::texts`] returns them, for whoever does not know why.
    pub fn of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names = Self::default();
        for text in texts {
            match (Pattern::parse(text), CanonicalPath::new(text)) {
                (Some(pattern), _) => names.add_pattern(pattern, Why::Brought),
                (None, Ok(path)) => names.add(path, Why::Brought),
                (None, Err(_)) => {}
            }
        }
        names
    }

    /// Returns the paths and patterns as texts.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        let paths = self.paths.keys().map(ToString::to_string);
        paths.chain(self.patterns.iter().map(|(pattern, _)| pattern.text()))
    }

    /// Returns the paths that are named one by one.
    pub fn paths(&self) -> impl Iterator<Item = &CanonicalPath> {
        self.paths.keys()
    }

    /// Returns the same, and why each counts.
    pub(super) fn paths_and_why(&self) -> impl Iterator<Item = (&CanonicalPath, &Why)> {
        self.paths.iter()
    }

    /// Returns the directories in which patterns name something.
    pub(super) fn bases(&self) -> impl Iterator<Item = &CanonicalPath> {
        let named = self.patterns.iter().map(|(pattern, _)| pattern);
        named.filter(|it| it.parts.last().is_none_or(|it| it != classes::ENTRY)).map(|it| &it.base)
    }

    /// Returns whether `path` is one of these.
    pub fn has_path(&self, path: &CanonicalPath) -> bool {
        self.paths.contains_key(path)
    }

    /// Returns whether a pattern names `path`, or something above it.
    pub fn has_pattern_for(&self, path: &CanonicalPath) -> bool {
        self.patterns.iter().any(|(pattern, _)| pattern.is_hit(path, Hit::Within))
    }

    /// Returns whether one of them ends with this name, or with a pattern that it fits.
    pub fn has_last_part(&self, name: &OsStr) -> bool {
        let is_last = |part: &&String| is_match(name.as_bytes(), part);
        self.paths.keys().any(|path| path.as_path().file_name() == Some(name))
            || self.patterns.iter().any(|(it, _)| it.parts.last().as_ref().is_some_and(is_last))
    }

    /// Adds the patterns that `other` holds; returns whether there were others before.
    pub fn extend_patterns(&mut self, other: &Self) -> bool {
        let n = self.patterns.len();
        for (pattern, why) in &other.patterns {
            self.add_pattern(pattern.clone(), why.clone());
        }
        self.patterns.len() != n
    }

    /// Returns whether both hold the same paths and patterns, whoever names them.
    pub fn is_same(&self, other: &Self) -> bool {
        let has =
            |(pattern, _): &(Pattern, Why)| other.patterns.iter().any(|(it, _)| it == pattern);
        self.paths.len() == other.paths.len()
            && self.patterns.len() == other.patterns.len()
            && self.paths.keys().all(|path| other.paths.contains_key(path))
            && self.patterns.iter().all(has)
    }

    /// Returns the patterns among them.
    pub(super) fn only_patterns(self) -> Self {
        Self { patterns: self.patterns, ..Self::default() }
    }

    /// Returns what would be named in `to` if all that is named in `from` were named there too.
    pub(super) fn moved(&self, from: &CanonicalPath, to: &CanonicalPath) -> Self {
        let moved = |path: &CanonicalPath| {
            let below =
                path.is_within(from).then(|| path.components().skip(from.components().count()));
            below?.try_fold(to.clone(), |at, name| at.join(name).ok())
        };
        let mut names = Self::default();
        for (path, why) in &self.paths {
            if let Some(path) = moved(path) {
                names.add(path, why.clone());
            }
        }
        for (pattern, why) in &self.patterns {
            if let Some(base) = moved(&pattern.base) {
                names.add_pattern(Pattern { base, ..pattern.clone() }, why.clone());
            }
        }
        names
    }

    /// Returns those that lie in a directory.
    pub(super) fn within(&self, directory: &CanonicalPath) -> Self {
        let mut names = Self::default();
        for (path, why) in self.paths.iter().filter(|(path, _)| path.is_within(directory)) {
            names.add(path.clone(), why.clone());
        }
        for (pattern, why) in self.patterns.iter().filter(|(it, _)| it.base.is_within(directory)) {
            names.add_pattern(pattern.clone(), why.clone());
        }
        names
    }

    /// Returns the same names, for another reason.
    pub(super) fn with_why(mut self, why: &Why) -> Self {
        let own = self.paths.values_mut().chain(self.above.values_mut());
        own.chain(self.patterns.iter_mut().map(|(_, why)| why)).for_each(|it| *it = why.clone());
        self
    }

    /// Returns whether something is named at a path or beneath it, but for what is named anywhere.
    pub(super) fn is_at_or_above(&self, path: &CanonicalPath) -> bool {
        let is_above = |(it, _): &(Pattern, Why)| it.base.is_within(path);
        self.paths.contains_key(path)
            || self.above.contains_key(path)
            || self.patterns.iter().any(is_above)
    }

    /// Returns the same for names from the root, in any directory beneath `base`.
    pub(super) fn anywhere_in(&self, base: &CanonicalPath) -> Self {
        let text = |name: &OsStr| name.to_string_lossy().replace(char::REPLACEMENT_CHARACTER, "*");
        let parts = |path: &CanonicalPath| path.components().map(text).collect::<Vec<_>>();
        let of_paths = self.paths.iter().map(|(path, why)| (parts(path), why));
        let of_patterns = self.patterns.iter().map(|(pattern, why)| {
            (parts(&pattern.base).into_iter().chain(pattern.parts.clone()).collect(), why)
        });
        let mut names = Self::default();
        for (parts, why) in of_paths.chain(of_patterns) {
            let base = base.clone();
            names.add_pattern(Pattern { base, is_anywhere: true, parts }, why.clone());
        }
        names
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.paths.len() + self.patterns.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a path.
    pub(super) fn add(&mut self, path: CanonicalPath, why: Why) {
        if self.paths.contains_key(&path) {
            return;
        }
        for above in path.ancestors().skip(1) {
            if self.above.contains_key(&above) {
                // Everything above that one was added with it.
                break;
            }
            self.above.insert(above, why.clone());
        }
        self.paths.insert(path, why);
    }

    /// Adds the entry of a directory, and not what is in it.
    pub(super) fn add_entry(&mut self, base: CanonicalPath, why: Why) {
        let parts = vec![classes::ENTRY.to_owned()];
        self.add_pattern(Pattern { base, is_anywhere: false, parts }, why);
    }

    /// Adds what is called `name` in any directory beneath `base`.
    pub(super) fn add_anywhere(&mut self, base: CanonicalPath, name: &str) {
        let pattern = Pattern { base, is_anywhere: true, parts: vec![name.to_owned()] };
        self.add_pattern(pattern, Why::Listed);
    }

    pub(super) fn add_pattern(&mut self, pattern: Pattern, why: Why) {
        if !self.patterns.iter().any(|(it, _)| *it == pattern) {
            self.patterns.push((pattern, why));
        }
    }

    /// Adds everything that `other` holds.
    pub fn extend(&mut self, other: &Self) {
        for (path, why) in &other.paths {
            self.add(path.clone(), why.clone());
        }
        for (pattern, why) in &other.patterns {
            self.add_pattern(pattern.clone(), why.clone());
        }
    }

    /// Says why a change of what is at `path` counts: it is named, or lies beneath or above a name.
    pub fn why(&self, path: &CanonicalPath) -> Option<&Why> {
        let is_hit = |(pattern, _): &&(Pattern, Why)| pattern.is_hit(path, Hit::WithinOrAbove);
        let of_pattern = || self.patterns.iter().find(is_hit).map(|(_, why)| why);
        self.above.get(path).or_else(|| self.why_within(path)).or_else(of_pattern)
    }

    /// Says why a change in a directory at `path` counts, which itself stays as it is.
    pub(super) fn why_within(&self, path: &CanonicalPath) -> Option<&Why> {
        if !self.paths.is_empty()
            && let Some(why) = path.ancestors().find_map(|at| self.paths.get(&at))
        {
            return Some(why);
        }
        let is_within = |(pattern, _): &&(Pattern, Why)| pattern.is_hit(path, Hit::Within);
        self.patterns.iter().find(is_within).map(|(_, why)| why)
    }
}

/// How a path has to do with a pattern.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Hit {
    /// It is named, or lies beneath what is.
    Within,
    /// The same, or it lies above.
    WithinOrAbove,
}

impl Pattern {
    fn text(&self) -> String {
        let mut text = self.base.to_string().trim_end_matches('/').to_owned();
        for part in self.is_anywhere.then_some(ANYWHERE).into_iter().chain(self.parts()) {
            text.push('/');
            text.push_str(part);
        }
        text
    }

    fn parts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(String::as_str)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut base = CanonicalPath::root();
        let mut components = text.strip_prefix('/')?.split('/').peekable();
        while let Some(name) = components.next_if(|it| !it.contains('*')) {
            base = base.join(name.as_ref()).ok()?;
        }
        let is_anywhere = components.next_if_eq(&ANYWHERE).is_some();
        let parts: Vec<String> = components.map(ToOwned::to_owned).collect();
        (!parts.is_empty()).then_some(Self { base, is_anywhere, parts })
    }

    fn is_hit(&self, path: &CanonicalPath, hit: Hit) -> bool {
        let with_above = hit == Hit::WithinOrAbove;
        if !path.is_within(&self.base) {
            return with_above && !self.is_anywhere && self.base.is_within(path);
        }
        let depth = self.base.components().count();
        let names: Vec<&OsStr> = path.components().skip(depth).collect();
        let n_starts = if self.is_anywhere { names.len() } else { 1 };
        (0..n_starts).any(|start| {
            let names = names.get(start..).unwrap_or_default();
            if self.parts().last().is_some_and(classes::is_last_alone)
                && self.parts.len() < names.len()
            {
                return false;
            }
            // What is left of the one lies beneath the other.
            (with_above || self.parts.len() <= names.len())
                && names
                    .iter()
                    .zip(self.parts())
                    .all(|(name, part)| is_match(name.as_bytes(), part))
        })
    }

    /// Returns whether a path is named, or lies beneath what is.
    pub(super) fn covers(&self, path: &CanonicalPath) -> bool {
        self.is_hit(path, Hit::Within)
    }
}

/// Returns whether a name fits a part of a pattern.
pub(super) fn is_match(name: &[u8], part: &str) -> bool {
    if let Some(is_of) = classes::is_of(name, part) {
        return is_of;
    }
    let mut pieces = part.split('*').map(str::as_bytes);
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let pieces: Vec<&[u8]> = pieces.collect();
    let Some((last, middle)) = pieces.split_last() else { return rest.is_empty() };
    for piece in middle.iter().filter(|piece| !piece.is_empty()) {
        let Some(at) = rest.windows(piece.len()).position(|it| it == *piece) else { return false };
        rest = rest.get(at + piece.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> CanonicalPath {
        CanonicalPath::new(text).unwrap()
    }

    #[track_caller]
    fn check(name: &str, hits: &[&str], misses: &[&str]) {
        let names = Names::of_texts([name]);
        for hit in hits {
            assert!(names.why(&path(hit)).is_some(), "{name} and {hit}");
        }
        for miss in misses {
            assert!(names.why(&path(miss)).is_none(), "{name} and {miss}");
        }
        let texts: Vec<String> = names.texts().collect();
        let again = Names::of_texts(texts.iter().map(String::as_str));
        assert_eq!(again.texts().collect::<Vec<_>>(), texts, "{name}");
    }

    #[test]
    fn names_are_the_same_in_any_order_and_not_with_one_more_or_less() {
        let of = |texts: &[&str]| Names::of_texts(texts.iter().copied());
        let names = of(&["/w/a", "/w/b", "/w/*.sh", "/w/**/x"]);
        assert!(names.is_same(&of(&["/w/**/x", "/w/b", "/w/*.sh", "/w/a"])));
        for other in [
            &["/w/a", "/w/b", "/w/*.sh"][..],
            &["/w/a", "/w/*.sh", "/w/**/x"],
            &["/w/a", "/w/c", "/w/*.sh", "/w/**/x"],
            &["/w/a", "/w/b", "/w/*.py", "/w/**/x"],
        ] {
            assert!(!names.is_same(&of(other)) && !of(other).is_same(&names), "{other:?}");
        }
    }

    #[test]
    fn a_path_counts_with_all_beneath_and_above() {
        check("/w/a/b", &["/w/a/b", "/w/a/b/c", "/w/a", "/w"], &["/w/a/bc", "/w/a/c", "/x"]);
    }

    #[test]
    fn a_pattern_counts_with_all_beneath_and_above() {
        check(
            "/w/t/*.sh",
            &["/w/t/a.sh", "/w/t/.sh", "/w/t/a.sh/x", "/w/t", "/w"],
            &["/w/t/a.py", "/w/t/a.sh.txt", "/w/u/a.sh", "/w/u"],
        );
        check("/w/a*b*c", &["/w/abc", "/w/axbxc", "/w/abbc"], &["/w/ac", "/w/acb", "/w/abcx"]);
    }

    #[test]
    fn a_pattern_anywhere_counts_in_every_directory() {
        check(
            "/w/**/t/x",
            &["/w/t/x", "/w/a/t/x", "/w/a/b/t/x/y", "/w/t", "/w/a/t"],
            &["/w/a", "/w/x", "/w/a/x", "/w/t2/x", "/w/t/y", "/v/t/x"],
        );
        check("/w/**/x", &["/w/x", "/w/a/b/x"], &["/w", "/w/a", "/w/xy"]);
    }

    #[test]
    fn a_kind_of_names_counts_for_the_last_name_alone() {
        check(
            "/w/**/***program",
            &["/w/x.sh", "/w/a/b/run", "/w/src"],
            &["/w/src/x.c", "/w/README.md", "/w", "/v/x.sh"],
        );
        check("/w/***program", &["/w/x.sh", "/w"], &["/w/a/x.sh", "/w/a.txt"]);
        check("/w/lib/***python", &["/w/lib/json.py", "/w/lib", "/w"], &["/w/lib/x.py"]);
        check("/w/a/***entry", &["/w/a", "/w"], &["/w/a/x", "/w/b"]);
        check(
            "/w/***package/__init__.*",
            &["/w/json/__init__.py", "/w/json"],
            &["/w/json/x.py", "/w/src/__init__.py", "/w/src"],
        );
    }
}
