//! Contents that rules close to readers, known again by their numbers.
//!
//! ```text
//! a/secret.txt is closed ─▶ what every commit has at a/secret.txt, and the index, and the disk
//!                             ─▶ these numbers are closed under every name: c/secret.txt, a tree's id…
//! ```
//!
//! What the user had at an open place before the session began is open, although it is at a closed
//! place too; so is the file with nothing in it. Only looked for where rules close something in the
//! repository.

use std::collections::{BTreeMap, BTreeSet};

use ic_resolve::Kind;
use ic_types::{CanonicalPath, Role};

use super::fault::Fault;
use super::rehearsal::{Entry, Rehearsal};
use super::repository::look_at;
use super::ruled::{Named, Ruled};
use super::run::Run;
use super::takeover::{Terms, listed, path_of};

/// How many files on the disk are looked into.
const HASHED_MAX: usize = 200;
/// The number of a file with nothing in it, in both ways of counting.
const NOTHING: [&str; 2] = [
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];
/// How git tells what a file was and is, by number.
pub(super) const RAW: [&str; 4] = ["--raw", "-z", "--no-renames", "--abbrev=64"];

/// What is closed in a repository.
pub(super) struct Closed<'a> {
    run: &'a Run<'a>,
    terms: &'a Terms,
    tops: &'a [CanonicalPath],
    /// What is closed, by its number.
    names: BTreeMap<String, BTreeSet<Named>>,
}

impl<'a> Closed<'a> {
    /// Finds what commits have at closed places: those of all branches and tags, and what leads to `tips`.
    pub(super) fn find(
        run: &'a Run<'a>,
        terms: &'a Terms,
        tops: &'a [CanonicalPath],
        tips: &[&str],
    ) -> Result<Self, Fault> {
        let mut closed = Self { run, terms, tops, names: BTreeMap::new() };
        let places = places(&terms.ruled, tops);
        let places: Vec<&str> = places.iter().map(String::as_str).collect();
        if places.is_empty() {
            return Ok(closed);
        }
        let mut words = vec!["log", "--format=", "--full-history", "-m", "--root", "--all"];
        words.extend(RAW);
        words.extend(tips);
        words.push("--");
        words.extend(&places);
        for (old, new) in Entry::parse(&Rehearsal::look(run, &words)?)? {
            old.iter().chain([&new]).for_each(|it| closed.note(it));
        }
        let index = [&["ls-files", "--stage", "-z", "--"], &places[..]].concat();
        for entry in Entry::parse_index(&Rehearsal::look(run, &index)?) {
            closed.note(&entry);
        }
        closed.note_disk(&places)?;
        Ok(closed)
    }

    fn note(&mut self, Entry { path, id, .. }: &Entry) {
        let id = id.split(' ').next().unwrap_or_default();
        if id.is_empty() || id.bytes().all(|it| it == b'0') || NOTHING.contains(&id) {
            return;
        }
        let paths = self.tops.iter().filter_map(|top| path_of(top, path));
        let closed = paths.filter(|it| self.terms.ruled.has(Role::ReadPath, it)).map(Named::read);
        self.names.entry(id.to_owned()).or_default().extend(closed);
    }

    /// Notes what lies at closed places and is in no commit as it is.
    fn note_disk(&mut self, places: &[&str]) -> Result<(), Fault> {
        let words = [&["ls-files", "-z", "--others", "--modified", "--"], places].concat();
        let said = Rehearsal::look(self.run, &words)?;
        let mut paths = Vec::new();
        for path in said.split('\0').filter(|it| !it.is_empty() && !it.contains('\n')) {
            let is_file = look_at(self.run.repository.handle(), path)? == Some(Kind::File);
            if is_file && paths.len() < HASHED_MAX {
                paths.push(path);
            }
        }
        if paths.is_empty() {
            return Ok(());
        }
        let input = format!("{}\n", paths.join("\n"));
        let words = ["hash-object", "--stdin-paths"];
        let said = Rehearsal::look_with(self.run, &words, input.as_bytes())?;
        for (path, id) in paths.into_iter().zip(said.lines()) {
            self.note(&Entry::file(path, id));
        }
        Ok(())
    }

    /// Returns where those of the contents are closed that are.
    pub(super) fn among<'i>(
        &self,
        ids: impl Iterator<Item = &'i str>,
    ) -> Result<BTreeSet<Named>, Fault> {
        let ids: BTreeSet<&str> = ids.filter_map(|id| id.split(' ').next()).collect();
        let mut found: Vec<&str> =
            ids.into_iter().filter(|id| self.names.contains_key(*id)).collect();
        if !found.is_empty() {
            let open = self.open_at_first()?;
            found.retain(|id| !open.contains(*id));
        }
        let named = found.into_iter().filter_map(|id| self.names.get(id)).flatten();
        Ok(named.cloned().collect())
    }

    /// Returns what was at open places in the commit that was checked out when the session began.
    fn open_at_first(&self) -> Result<BTreeSet<String>, Fault> {
        let Some((base, _)) = self.terms.base(self.run.repository) else {
            return Ok(BTreeSet::new());
        };
        let words = ["ls-tree", "-r", "-z", "--full-tree", base];
        let said = Rehearsal::look(self.run, &words)?;
        let files = said.split('\0').filter_map(listed);
        let open = files.filter(|(path, _)| !self.terms.ruled.is_unread(self.tops, path));
        Ok(open.map(|(_, (_, id))| id.to_owned()).collect())
    }
}

/// Returns the closed places of a repository, from the top.
fn places(ruled: &Ruled, tops: &[CanonicalPath]) -> BTreeSet<String> {
    let below = |place: &CanonicalPath, top: &CanonicalPath| {
        let below = place.as_path().strip_prefix(top.as_path()).ok()?;
        below.to_str().filter(|it| !it.is_empty()).map(ToOwned::to_owned)
    };
    let closed = ruled.places(Role::ReadPath);
    closed.flat_map(|place| tops.iter().filter_map(move |top| below(place, top))).collect()
}
