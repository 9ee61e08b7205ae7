//! Files of a repository that rules of the caller's policy are about: named before git touches them.
//!
//! A call is judged by the directory of its repository. What git would change beneath it, or tell the
//! contents of, may lie in a place that a rule denies or asks about; then nothing is done and the names
//! are said, as for trees that are taken over (`takeover.rs`). Contents are known again by their number
//! too, whatever they are called elsewhere (`closed.rs`). What rules say is not known here.

use std::collections::{BTreeMap, BTreeSet};

use ic_types::{CanonicalPath, Json, Object, Role};

use super::closed::Closed;
use super::deed::{Deed, Told};
use super::fault::Fault;
use super::rehearsal::{Entry, Rehearsal};
use super::run::{Run, Said, failure};
use super::takeover::{Outcome, Takeover, Terms, path_of};
use super::trees;

/// The member of the terms that names places, and of the answer that names files.
pub(super) const RULED: &str = "ruled";

/// The places that rules are about, by role.
#[derive(Debug, Default)]
pub(super) struct Ruled(BTreeMap<Role, BTreeSet<CanonicalPath>>);

/// Something that is read, changed or removed.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Named {
    pub(super) role: Role,
    pub(super) path: CanonicalPath,
}

impl Named {
    pub(super) fn read(path: CanonicalPath) -> Self {
        Self { role: Role::ReadPath, path }
    }
}

impl Ruled {
    /// Reads the places from what the caller says.
    pub(super) fn of(terms: &Object) -> Self {
        let mut places: BTreeMap<Role, BTreeSet<CanonicalPath>> = BTreeMap::new();
        let Some(Json::Array(all)) = terms.get(RULED) else { return Self::default() };
        for it in all {
            let Json::Object(it) = it else { continue };
            let text = |name: &str| it.get(name).and_then(Json::as_str);
            let role = text("role").and_then(|it| it.parse().ok());
            let path = text("path").and_then(|it| CanonicalPath::new(it).ok());
            if let Some((role, path)) = role.zip(path) {
                places.entry(role).or_default().insert(path);
            }
        }
        Self(places)
    }

    /// Returns whether rules are about reading something.
    pub(super) fn closes(&self) -> bool {
        self.0.contains_key(&Role::ReadPath)
    }

    /// Returns the places of a role.
    pub(super) fn places(&self, role: Role) -> impl Iterator<Item = &CanonicalPath> {
        self.0.get(&role).into_iter().flatten()
    }

    pub(super) fn has(&self, role: Role, path: &CanonicalPath) -> bool {
        let places = self.0.get(&role);
        places.is_some_and(|places| path.ancestors().any(|above| places.contains(&above)))
    }

    /// Returns the places of a role that lie beneath `path`.
    fn beneath<'a>(
        &'a self,
        role: Role,
        path: &'a CanonicalPath,
    ) -> impl Iterator<Item = &'a CanonicalPath> {
        let after = self.0.get(&role).into_iter().flat_map(move |places| places.range(path..));
        after.take_while(move |it| it.is_within(path)).filter(move |it| *it != path)
    }

    /// Returns what git would change or bring, and rules are about.
    pub(super) fn changed(
        &self,
        run: &Run<'_>,
        terms: &Terms,
        (deed, outcome): (&Deed<'_>, &Outcome),
    ) -> Result<Vec<Named>, Fault> {
        if self.0.is_empty() || deed.is_of_index() {
            return Ok(Vec::new());
        }
        let mut named = Vec::new();
        for entry in &outcome.entries {
            if let Some(path) = path_of(&run.repository.top, &entry.path) {
                named.extend(self.touched(entry, path));
            }
        }
        if self.closes() {
            let tops = tops(run)?;
            let brought: Vec<&Entry> =
                outcome.entries.iter().filter(|it| !it.is_removed()).collect();
            // A linked working tree gets a copy of what is in the repository under this name.
            if run.repository.link().is_some() {
                named.extend(brought.iter().flat_map(|entry| self.unread(&tops, &entry.path)));
            }
            // Of these nobody can tell where git puts what is in them.
            named.extend(outcome.strayed.iter().flat_map(|it| self.unread(&tops, &it.path)));
            let closed = Closed::find(run, terms, &tops, &deed.tips())?;
            let elsewhere = brought.into_iter().filter(|entry| {
                let path = path_of(&run.repository.top, &entry.path);
                path.is_none_or(|path| !self.has(Role::ReadPath, &path))
            });
            named.extend(closed.among(elsewhere.map(|entry| entry.id.as_str()))?);
        }
        Ok(sorted(named))
    }

    /// Returns what rules are about if this entry comes or goes at `path`.
    ///
    /// Git makes room for a file: a directory that is there goes with all that is in it.
    fn touched(&self, entry: &Entry, path: CanonicalPath) -> Vec<Named> {
        let own = if entry.is_removed() { Role::DeletePath } else { Role::WritePath };
        let mut named = Vec::new();
        for role in [Role::WritePath, Role::DeletePath] {
            let beneath = self.beneath(role, &path);
            named.extend(beneath.map(|place| Named { role, path: place.clone() }));
        }
        if self.has(own, &path) {
            named.push(Named { role: own, path });
        }
        named
    }

    /// Returns what a file of the repository is called where rules are about reading it.
    fn unread(&self, tops: &[CanonicalPath], name: &str) -> Vec<Named> {
        let paths = tops.iter().filter_map(|top| path_of(top, name));
        paths.filter(|it| self.has(Role::ReadPath, it)).map(Named::read).collect()
    }

    /// Returns the files among those that are taken into the index that rules are about reading.
    pub(super) fn taken_in(&self, top: &CanonicalPath, names: &[String]) -> Vec<Named> {
        let tops = std::slice::from_ref(top);
        sorted(names.iter().flat_map(|name| self.unread(tops, name)).collect())
    }

    /// Returns whether rules are about reading a file of the repository, in any of its working trees.
    pub(super) fn is_unread(&self, tops: &[CanonicalPath], name: &str) -> bool {
        !self.unread(tops, name).is_empty()
    }
}

/// Returns the tops of all working trees of a repository: each has the same files.
pub(super) fn tops(run: &Run<'_>) -> Result<Vec<CanonicalPath>, Fault> {
    let mut tops = vec![run.repository.top.clone(), run.repository.main().clone()];
    tops.extend(trees::all(run.repository)?.into_iter().filter_map(|tree| tree.place));
    tops.sort();
    tops.dedup();
    Ok(tops)
}

/// Lets git tell contents only if no rule is about reading them, or just these were agreed to.
pub(super) fn check(run: &Run<'_>, deed: &Deed<'_>) -> Result<(), Fault> {
    let ask = |words: &[&str]| Rehearsal::look(run, words);
    check_with(run, deed, &ask)
}

/// Does the same for differences to an index of ours, which `ask` is asked about.
pub(super) fn check_with(
    run: &Run<'_>,
    deed: &Deed<'_>,
    ask: &dyn Fn(&[&str]) -> Result<String, Fault>,
) -> Result<(), Fault> {
    let (Some(terms), Deed::Tells(told)) = (run.terms, deed) else { return Ok(()) };
    if !terms.ruled.closes() {
        return Ok(());
    }
    let reading = Run { terms: None, ..*run };
    let tops = tops(run)?;
    let closed = |tips: &[&str]| Closed::find(&reading, terms, &tops, tips);
    let mut named = Vec::new();
    match told {
        Told::Here(file) => named.extend(terms.ruled.unread(&tops, file.as_str())),
        Told::File { commit, file, id } => {
            named.extend(terms.ruled.unread(&tops, file.as_str()));
            named.extend(closed(&[commit.as_str()])?.among([id.as_str()].into_iter())?);
        }
        Told::Differences { names, tips } => {
            let said = Entry::parse(&ask(names)?)?;
            let sides = || said.iter().flat_map(|(old, new)| old.iter().chain([new]));
            named.extend(sides().flat_map(|it| terms.ruled.unread(&tops, &it.path)));
            named.extend(closed(tips)?.among(sides().map(|it| it.id.as_str()))?);
        }
        Told::Object => {
            let is_in = |place: &&CanonicalPath| tops.iter().any(|top| place.is_within(top));
            let here = terms.ruled.places(Role::ReadPath).filter(is_in);
            named.extend(here.cloned().map(Named::read));
        }
    }
    terms.agree(sorted(named))
}

/// Returns all that git said, or says that it failed.
pub(super) fn whole(words: &[&str], said: Said) -> Result<String, Fault> {
    match said.code == Some(0) && !said.is_cut {
        true => Ok(said.output),
        false => Err(failure(words, &said)),
    }
}

impl Terms {
    /// Lets git go on if nothing is named, or just that was agreed to.
    fn agree(&self, ruled: Vec<Named>) -> Result<(), Fault> {
        let takeover = Takeover::new(&[], Vec::new(), ruled)?;
        match takeover.is_nothing() || self.is_agreed(&takeover) {
            true => Ok(()),
            false => Err(Fault::Takeover(takeover)),
        }
    }
}

fn sorted(mut named: Vec<Named>) -> Vec<Named> {
    named.sort();
    named.dedup();
    named
}
