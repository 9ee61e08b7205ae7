//! Directories that one branch has elsewhere than another: what is new in them follows.
//!
//! ```text
//! dev: cargo/README.md ─▶ .cargo/README.md, and no cargo any more      here: cargo/config.toml is new
//! merged, picked, rebased, or brought back on dev: .cargo/config.toml
//! ```
//!
//! Git finds that out by what is in the files of the directory. So a new file is judged at each place to which it
//! would come: where a branch that does not have its directory has files like those in it. Whoever moved them, and
//! whichever of the two came first, is the same. Links are judged too: from a higher directory they may lead out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ic_resolve::Kind;
use ic_resolve::executes::{counts_in_any_tree, leads_to_listed, may_count_elsewhere};

use super::alike::{Elsewhere, added};
use super::carried::{TakenIn, above, objects_at, parts, trees_at};
use super::fault::Fault;
use super::forks::left_at;
use super::rehearsal::{Entry, Rehearsal};
use super::replaced::{after, like};
use super::repository::look_at;
use super::run::Run;
use super::strays::{self, LINK};
use super::takeover::{Terms, counted};
use crate::filesystem::beneath;

/// How often it is looked whether a branch has a directory; with more, each file may follow.
pub(super) const LOOKUPS_MAX: usize = 400_000;
/// How many places are judged; with more, each file may follow.
const PLACES_MAX: usize = 400_000;
/// For how many of them files are compared.
const COMPARED_MAX: usize = 64;
/// How many links are read; others may lead anywhere.
const LINKS_MAX: usize = 200;
/// The file without anything in it, which git takes for no other: its number in both kinds of repositories.
const NOTHING: [&str; 2] = [
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];

/// Returns those of the files that may count, or lead out, if their directory comes to be elsewhere.
pub(super) fn may_follow(run: &Run<'_>, files: &[Entry]) -> Vec<Entry> {
    let mut found = Vec::new();
    for file in files {
        let is_unread = file.id.is_empty() && file.mode != LINK;
        // What cannot be looked at may be one.
        let is_other =
            || look_at(run.repository.handle(), &file.path).is_ok_and(|it| it != Some(Kind::Link));
        let is_link = is_unread && !is_other();
        let mut file = file.clone();
        if is_link {
            LINK.clone_into(&mut file.mode);
        }
        found.extend(may(&file).then_some(file));
    }
    found
}

fn may(file: &Entry) -> bool {
    file.mode == LINK || may_count_elsewhere(&parts(&file.path))
}

/// What is taken in, beside what other branches have.
pub(super) struct Moving<'a> {
    pub(super) run: &'a Run<'a>,
    pub(super) terms: &'a Terms,
    pub(super) taken_in: &'a TakenIn,
    pub(super) elsewhere: &'a Elsewhere,
}

/// A directory that one side does not have.
struct Gone<'a> {
    directory: &'a str,
    /// New files in it.
    followers: Vec<&'a Entry>,
    /// The directory as commits have it that both sides may be compared with.
    trees: BTreeSet<String>,
    /// Files of the side that does not have it.
    models: &'a [Entry],
    /// Only such files matter as one of these commits does not have; all if there are none.
    without: Vec<String>,
}

/// A directory within a gone one, and one that may be the same elsewhere: relations of what was compared.
#[derive(Eq, Ord, PartialEq, PartialOrd)]
struct Pair<'a> {
    directory: &'a str,
    /// Where in the directory.
    inner: String,
    /// The directory of the models.
    to: &'a str,
}

/// What a pair brings to where it may count.
#[derive(Default)]
struct Brought<'a> {
    sources: BTreeSet<String>,
    models: BTreeSet<&'a Entry>,
    without: BTreeSet<&'a str>,
    /// The places, and the files that come there.
    places: BTreeMap<String, BTreeSet<&'a Entry>>,
}

type Pairs<'a> = BTreeMap<Pair<'a>, Brought<'a>>;

impl Moving<'_> {
    /// Returns the names of those files that may follow a directory which another branch has elsewhere.
    pub(super) fn by_others(&self, files: &[Entry]) -> Result<BTreeSet<String>, Fault> {
        let all = || files.iter().map(|it| it.path.clone()).collect();
        let Some(tips) = &self.elsewhere.tips else { return Ok(all()) };
        let directories: BTreeSet<String> = files.iter().flat_map(|it| above(&it.path)).collect();
        if LOOKUPS_MAX < tips.len() * directories.len() {
            return Ok(all());
        }
        let pairs = tips.iter().flat_map(|tip| directories.iter().map(move |at| (&*tip.0, &**at)));
        let pairs: Vec<(&str, &str)> = pairs.collect();
        let trees = trees_at(self.run, &pairs)?;
        let lacking = pairs.iter().zip(&trees).filter(|(_, tree)| tree.is_none());
        let lacking: Vec<(&str, &str)> = lacking.map(|(pair, _)| *pair).collect();
        if lacking.is_empty() {
            return Ok(BTreeSet::new());
        }
        let left = left_at(self.run, &self.elsewhere.head, lacking.iter().map(|(tip, _)| *tip))?;
        let bases = |tip: &str| {
            let head = [self.elsewhere.head.as_str()].into_iter();
            let known = self.taken_in.known.iter().map(String::as_str);
            let left = left.get(tip).into_iter().flatten().map(String::as_str);
            head.chain(known).chain(left).collect::<Vec<_>>()
        };
        let asked = lacking.iter().map(|(tip, at)| (bases(tip), *at));
        let versions = self.versions(asked.clone())?;
        let mut models: BTreeMap<&str, Vec<Entry>> = BTreeMap::new();
        let of_bases = lacking.iter().flat_map(|(tip, at)| {
            let bases = left.get(*tip).into_iter().flatten().map(String::as_str);
            let bases = bases.filter(|base| versions.contains_key(&(*base, *at)));
            bases.map(|base| (*tip, base)).collect::<Vec<_>>()
        });
        let of_bases: BTreeSet<(&str, &str)> = of_bases.collect();
        let mut further = added(self.run, &of_bases.into_iter().collect::<Vec<_>>())?;
        for (tip, entries) in tips {
            let further = further.remove(tip).unwrap_or_default();
            models.insert(tip, entries.iter().cloned().chain(further).collect());
        }
        let gone = lacking.iter().zip(asked).map(|((tip, at), (bases, _))| Gone {
            directory: at,
            followers: files.iter().filter(|it| within(&it.path, at).is_some()).collect(),
            trees: bases.iter().filter_map(|it| versions.get(&(*it, *at))).cloned().collect(),
            models: models.get(tip).map(Vec::as_slice).unwrap_or_default(),
            without: Vec::new(),
        });
        self.followed(&gone.collect::<Vec<_>>())
    }

    /// Returns the names of files of other branches that may follow a directory which is elsewhere here.
    pub(super) fn by_us(&self) -> Result<BTreeSet<String>, Fault> {
        let tips = self.elsewhere.tips.iter().flatten();
        let with_files = tips.map(|(tip, added)| {
            (tip.as_str(), added.iter().filter(|it| may(it)).collect::<Vec<_>>())
        });
        let with_files: Vec<_> = with_files.filter(|(_, files)| !files.is_empty()).collect();
        if with_files.is_empty() {
            return Ok(BTreeSet::new());
        }
        let index = match &self.taken_in.left {
            Some(_) => String::new(),
            None => Rehearsal::look(self.run, &["ls-files", "--stage", "-z"])?,
        };
        let after = after(&index, self.taken_in);
        let here: BTreeSet<String> = after.keys().flat_map(|it| above(it)).collect();
        let vanished: BTreeSet<String> = self
            .taken_in
            .gone
            .iter()
            .flat_map(|it| above(it))
            .filter(|it| !here.contains(it))
            .collect();
        let everything: Vec<Entry> = after.iter().map(|(path, id)| Entry::file(path, id)).collect();
        let mut lacking: BTreeMap<(&str, String), Vec<&Entry>> = BTreeMap::new();
        for (tip, files) in with_files {
            for file in files {
                for directory in above(&file.path).filter(|it| !here.contains(it)) {
                    lacking.entry((tip, directory)).or_default().push(file);
                }
            }
        }
        let left = left_at(self.run, &self.elsewhere.head, lacking.keys().map(|(tip, _)| *tip))?;
        let bases = |tip: &str| {
            let left = left.get(tip).into_iter().flatten().cloned();
            [tip.to_owned()].into_iter().chain(left).collect::<Vec<String>>()
        };
        let all: BTreeMap<&str, Vec<String>> =
            lacking.keys().map(|(tip, _)| (*tip, bases(tip))).collect();
        let of = |tip: &str| all.get(tip).into_iter().flatten().map(String::as_str);
        let asked = lacking.keys().map(|(tip, at)| (of(tip).collect::<Vec<_>>(), at.as_str()));
        let versions = self.versions(asked)?;
        let gone = lacking.iter().map(|((tip, at), files)| {
            let with = of(tip).filter(|base| versions.contains_key(&(*base, at.as_str())));
            let with: Vec<&str> = with.collect();
            let trees = with.iter().filter_map(|base| versions.get(&(*base, at.as_str())));
            Gone {
                directory: at,
                followers: files.clone(),
                trees: trees.cloned().collect(),
                models: if vanished.contains(at) { &everything } else { &self.taken_in.files },
                without: with.into_iter().map(ToOwned::to_owned).collect(),
            }
        });
        self.followed(&gone.collect::<Vec<_>>())
    }

    /// Returns the trees of the directories in the commits, where they are there.
    fn versions<'c>(
        &self,
        asked: impl Iterator<Item = (Vec<&'c str>, &'c str)>,
    ) -> Result<BTreeMap<(&'c str, &'c str), String>, Fault> {
        let pairs = asked.flat_map(|(bases, at)| bases.into_iter().map(move |base| (base, at)));
        let pairs: BTreeSet<(&str, &str)> = pairs.collect();
        let pairs: Vec<(&str, &str)> = pairs.into_iter().collect();
        let trees = trees_at(self.run, &pairs)?;
        Ok(pairs.into_iter().zip(trees).filter_map(|(pair, tree)| Some((pair, tree?))).collect())
    }

    /// Returns the names of the followers that come to where they count, or lead out.
    fn followed(&self, gone: &[Gone<'_>]) -> Result<BTreeSet<String>, Fault> {
        let name = |it: &&Entry| it.path.clone();
        let Some(mut pairs) = self.pairs(gone)? else {
            return Ok(gone.iter().flat_map(|it| it.followers.iter().map(name)).collect());
        };
        self.keep_counting(&mut pairs)?;
        let mut found: BTreeSet<String> = BTreeSet::new();
        for (n, brought) in pairs.into_values().enumerate() {
            let names = brought.places.values().flatten().map(name);
            if names.clone().all(|it| found.contains(&it)) {
                continue;
            }
            if COMPARED_MAX <= n || self.are_alike(&brought)? {
                found.extend(names);
            }
        }
        Ok(found)
    }

    /// Returns which directories may be the same, and what comes where then; nothing if that is too much.
    fn pairs<'g>(&self, gone: &'g [Gone<'_>]) -> Result<Option<Pairs<'g>>, Fault> {
        let mut listings: BTreeMap<&str, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        let mut pairs = Pairs::new();
        let mut n_left = PLACES_MAX;
        for it in gone {
            let mut models: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
            for model in it.models {
                models.entry(directory_of(&model.path)).or_default().push(model);
            }
            for tree in &it.trees {
                if !listings.contains_key(tree.as_str()) {
                    listings.insert(tree, self.listing(tree)?);
                }
                let inner = listings.get(tree.as_str()).into_iter().flatten();
                for ((inner, ids), (to, models)) in
                    inner.flat_map(|it| models.iter().map(move |to| (it, to)))
                {
                    let Some(outer) = without_end(to, inner) else { continue };
                    let Some(left) = n_left.checked_sub(it.followers.len()) else {
                        return Ok(None);
                    };
                    n_left = left;
                    let places = it.followers.iter().filter_map(|file| {
                        let place = joined(outer, within(&file.path, it.directory)?);
                        self.may_count_at(&place, file).then_some((place, *file))
                    });
                    for (place, file) in places {
                        let (directory, inner) = (it.directory, inner.clone());
                        let brought = pairs.entry(Pair { directory, inner, to }).or_default();
                        brought.sources.extend(ids.iter().cloned());
                        brought.models.extend(models);
                        brought.without.extend(it.without.iter().map(String::as_str));
                        brought.places.entry(place).or_default().insert(file);
                    }
                }
            }
        }
        Ok(Some(pairs))
    }

    /// Returns whether a file may count at a place, before anybody looks at the disk.
    fn may_count_at(&self, place: &str, file: &Entry) -> bool {
        let is_at_top = directory_of(place).split('/').nth(1).is_none();
        let is_named = || parts(place).iter().any(|it| self.terms.has_file_called(it));
        file.mode == LINK || is_at_top || counts_in_any_tree(place) || is_named()
    }

    /// Leaves what counts at its new place, and not where it is: that was judged when it was written.
    fn keep_counting(&self, pairs: &mut Pairs<'_>) -> Result<(), Fault> {
        let mut asked: BTreeSet<Entry> = BTreeSet::new();
        for (place, files) in pairs.values().flat_map(|it| &it.places) {
            for file in files {
                let moved = Entry { path: place.clone(), ..(*file).clone() };
                asked.extend([moved, (*file).clone()]);
            }
        }
        if asked.is_empty() {
            return Ok(());
        }
        let counting = counted(self.run, self.terms, asked.into_iter().collect())?;
        let counting: BTreeSet<String> = counting.into_iter().map(|it| it.path).collect();
        let mut targets = BTreeMap::new();
        for brought in pairs.values_mut() {
            for (place, files) in &mut brought.places {
                files.retain(|file| {
                    let leads = file.mode == LINK && {
                        let n = targets.len();
                        let target = targets.entry(file.path.clone());
                        let target = target.or_insert_with(|| self.target(file, n));
                        let leaves = |it: &String| strays::leaves(place, it);
                        leads_to_listed(&parts(place)) || target.as_ref().is_none_or(leaves)
                    };
                    leads || (counting.contains(place) && !counting.contains(&file.path))
                });
            }
            brought.places.retain(|_, files| !files.is_empty());
        }
        pairs.retain(|_, brought| !brought.places.is_empty());
        Ok(())
    }

    /// Returns where a link leads, if that is known.
    fn target(&self, link: &Entry, n: usize) -> Option<String> {
        if LINKS_MAX <= n {
            return None;
        }
        if !link.id.is_empty() {
            return strays::target(self.run, link).ok();
        }
        let path = Path::new(&link.path);
        let parent = path.parent().unwrap_or_else(|| Path::new(""));
        let parent = beneath::hold_directory(self.run.repository.handle(), parent).ok()?;
        let target = rustix::fs::readlinkat(parent, path.file_name()?, Vec::new()).ok()?;
        String::from_utf8(target.into_bytes()).ok()
    }

    /// Returns whether git may take some of the files for one of the models.
    fn are_alike(&self, brought: &Brought<'_>) -> Result<bool, Fault> {
        let models: Vec<&Entry> = brought.models.iter().copied().collect();
        let mut is_new = vec![brought.without.is_empty(); models.len()];
        for commit in &brought.without {
            let pairs: Vec<(&str, &str)> = models.iter().map(|it| (*commit, &*it.path)).collect();
            let objects = objects_at(self.run, &pairs)?;
            for (is_new, object) in is_new.iter_mut().zip(objects) {
                *is_new |= object.is_none();
            }
        }
        let models = models.iter().zip(is_new).filter(|(_, is_new)| *is_new);
        let is_something = |id: &&str| !NOTHING.contains(id);
        let models = models.map(|(it, _)| it.id.as_str()).filter(is_something);
        let models: BTreeSet<String> = models.map(ToOwned::to_owned).collect();
        let sources = brought.sources.iter().map(String::as_str).filter(is_something);
        let sources: BTreeSet<String> = sources.map(ToOwned::to_owned).collect();
        if models.is_empty() || sources.is_empty() {
            return Ok(false);
        }
        let is_same = sources.intersection(&models).next().is_some();
        Ok(is_same || !like(self.run, &sources, &models)?.is_empty())
    }

    /// Returns the numbers of the files of a tree, by their directories.
    fn listing(&self, tree: &str) -> Result<BTreeMap<String, BTreeSet<String>>, Fault> {
        let words = ["ls-tree", "-r", "-z", "--full-tree", tree];
        let said = Rehearsal::look(self.run, &words)?;
        let mut files: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (path, (mode, id)) in said.split('\0').filter_map(super::takeover::listed) {
            if mode.starts_with("100") || mode == LINK {
                let ids = files.entry(directory_of(path).to_owned()).or_default();
                ids.insert(id.to_owned());
            }
        }
        Ok(files)
    }
}

/// Returns the directory of a file; nothing for the top.
fn directory_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// Returns what is left of a path within a directory, if it is in it.
fn within<'p>(path: &'p str, directory: &str) -> Option<&'p str> {
    path.strip_prefix(directory)?.strip_prefix('/')
}

/// Returns the directory above the last names of one, if it ends with these.
fn without_end<'p>(path: &'p str, end: &str) -> Option<&'p str> {
    match path.strip_suffix(end)? {
        all if end.is_empty() => Some(all),
        "" => Some(""),
        above => above.strip_suffix('/'),
    }
}

fn joined(directory: &str, rest: &str) -> String {
    match directory {
        "" => rest.to_owned(),
        directory => format!("{directory}/{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_ends_with_whole_names() {
        for (path, end, expected) in [
            ("a/b", "b", Some("a")),
            ("b", "b", Some("")),
            ("a/b", "", Some("a/b")),
            ("", "", Some("")),
            ("ab", "b", None),
            ("", "b", None),
            ("x/a/b", "a/b", Some("x")),
        ] {
            assert_eq!(without_end(path, end), expected, "{path} {end}");
        }
        assert_eq!(within("a/b/c", "a"), Some("b/c"));
        assert_eq!(within("ab/c", "a"), None);
        assert_eq!((joined("", "x"), joined("a", "x/y")), ("x".to_owned(), "a/x/y".to_owned()));
        assert_eq!((directory_of("a/b"), directory_of("a")), ("a", ""));
    }
}
