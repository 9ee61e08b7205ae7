//! What git is about to change in a working tree that the host executes later: found out beforehand.
//!
//! ```text
//! words ─▶ rehearsal: the same words in a repository of ours ─▶ names that would change
//!            │ none counts, or just these were agreed to ─▶ git runs
//!            └ others ─▶ Fault::Takeover: nothing was done; the caller judges the names and calls again
//! ```
//!
//! Only for a caller that gives [`Terms`]: whoever runs this server without a judge has none. Whether
//! the names may change is not decided here.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;

use ic_resolve::executes::counts_in_any_tree;
use ic_resolve::{Change, Executes, Names, RealDisk, is_attributes};
use ic_types::{AbsolutePath, CanonicalPath, Digest, Json, Object, Role};

use super::aside;
use super::carried::{self, TakenIn};
use super::closed::RAW;
use super::deed::Deed;
use super::fault::Fault;
use super::followed::Followed;
use super::names::File;
use super::rehearsal::{Entry, Rehearsal};
use super::repository::Repository;
use super::ruled::{Named, RULED, Ruled};
use super::run::{Does, Run};
use super::staged::{Staged, staged};
use super::strays;
use super::underway;
use crate::tools::Caller;

/// The member of a call's `_meta` in which its caller says what may be taken over.
pub const TAKEOVER: &str = "ironcurtain/takeover";
/// How many names are asked about at once.
const NAMES_MAX: usize = 500;

/// What a caller says about trees that git takes over.
#[derive(Debug)]
pub(super) struct Terms {
    /// The commit that was checked out when the session began, by the top of the repository.
    bases: BTreeMap<String, String>,
    /// What configurations name which are not seen here.
    named: Names,
    /// Whether attributes of a file can make the user's git run a program.
    has_drivers: bool,
    /// What branches, tags and entries put aside name that were made since the session began.
    pub(super) new_tips: BTreeSet<String>,
    /// Places that rules of the caller are about.
    pub(super) ruled: Ruled,
    /// Whether others than we may write in the tree meanwhile.
    pub(super) is_shared: bool,
    /// The change that was agreed to.
    agreed: Option<String>,
}

/// Where what was checked out at first lay.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Since {
    Here,
    Elsewhere,
}

/// A change that somebody has to agree to.
#[derive(Debug)]
pub(super) struct Takeover {
    /// What the host would execute.
    paths: Vec<CanonicalPath>,
    /// What rules of the caller are about.
    ruled: Vec<Named>,
    digest: String,
}

impl Terms {
    /// Returns the terms of a call, if its caller gives any.
    pub(super) fn of(caller: Caller<'_>) -> Option<Self> {
        let Json::Object(terms) = caller.meta()?.get(TAKEOVER)? else { return None };
        let text = |value: &Json| value.as_str().map(ToOwned::to_owned);
        let bases = match terms.get("bases") {
            Some(Json::Object(bases)) => {
                bases.iter().filter_map(|(top, id)| Some((top.to_owned(), text(id)?))).collect()
            }
            Some(_) | None => BTreeMap::new(),
        };
        let named = match terms.get("named") {
            Some(Json::Array(named)) => Names::of_texts(named.iter().filter_map(Json::as_str)),
            Some(_) | None => Names::default(),
        };
        let new_tips = match terms.get("newTips") {
            Some(Json::Array(ids)) => ids.iter().filter_map(text).collect(),
            Some(_) | None => BTreeSet::new(),
        };
        let has_drivers = matches!(terms.get("drivers"), Some(Json::Bool(true)));
        let is_shared = matches!(terms.get("shared"), Some(Json::Bool(true)));
        let ruled = Ruled::of(terms);
        let agreed = terms.get("agreed").and_then(text);
        Some(Self { bases, named, has_drivers, new_tips, ruled, is_shared, agreed })
    }

    /// Returns whether a configuration names a file that is called so, or like it, wherever it is.
    pub(super) fn has_file_called(&self, name: &OsStr) -> bool {
        self.named.has_last_part(name)
    }

    /// Returns the commit that was checked out in a repository when the session began: in this very tree,
    /// or else in the one that it belongs to.
    pub(super) fn base(&self, repository: &Repository) -> Option<(&str, Since)> {
        let at = |top: &CanonicalPath| self.bases.get(&top.to_string()).map(String::as_str);
        let own = at(&repository.top).map(|base| (base, Since::Here));
        own.or_else(|| at(repository.main()).map(|base| (base, Since::Elsewhere)))
    }

    /// Returns whether just this was agreed to.
    pub(super) fn is_agreed(&self, takeover: &Takeover) -> bool {
        self.agreed.as_ref() == Some(&takeover.digest)
    }
}

impl Takeover {
    /// Makes a change of the entries that count, of which the paths are told, and of what rules are
    /// about.
    pub(super) fn new(
        counted: &[Entry],
        paths: Vec<CanonicalPath>,
        ruled: Vec<Named>,
    ) -> Result<Self, Fault> {
        let n_names = counted.len() + ruled.len();
        if NAMES_MAX < n_names {
            return Err(Fault::Not(format!(
                "this concerns {n_names} files that programs of the host run or take orders from, or \
                 that rules are about; take them over in smaller steps"
            )));
        }
        let digest = digest(counted, &ruled);
        Ok(Self { paths, ruled, digest })
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.paths.is_empty() && self.ruled.is_empty()
    }

    /// Returns the change as the caller reads it.
    pub(super) fn to_json(&self) -> Object {
        let paths: Vec<Json> = self.paths.iter().map(|it| Json::from(it.to_string())).collect();
        let ruled = self.ruled.iter().map(|it| {
            let mut object = Object::new();
            object.insert("role", it.role.as_str());
            object.insert("path", it.path.to_string());
            Json::Object(object)
        });
        let mut takeover = Object::new();
        takeover.insert("paths", paths);
        takeover.insert(RULED, ruled.collect::<Vec<_>>());
        takeover.insert("digest", self.digest.as_str());
        let mut structured = Object::new();
        structured.insert(TAKEOVER, takeover);
        structured
    }
}

/// Lets git go on only if nothing that counts would change, or just that was agreed to.
///
/// The words are run in a rehearsal; what they mean is known by the deed alone.
pub(super) fn check(run: &Run<'_>, deed: &Deed<'_>, words: &[&str]) -> Result<(), Fault> {
    let is_checked = run.does == Does::Change && deed.changes_tree();
    let Some(terms) = run.terms.filter(|_| is_checked) else { return Ok(()) };
    let reading = Run { does: Does::Read, terms: None, ..*run };
    let mut staged_names = Vec::new();
    let mut outcome = match deed {
        Deed::Leaves | Deed::Tells(_) => Outcome::default(),
        Deed::Stages(staging) => {
            let Staged { entries, added } = staged(&reading, staging)?;
            let files = added.iter().map(|path| Entry::file(path, "")).collect();
            staged_names = added;
            Outcome { taken_in: TakenIn { files, ..TakenIn::default() }, ..Outcome::of(entries) }
        }
        Deed::Commits { is_amended } => {
            let taken_in = TakenIn::by_commit(&reading, *is_amended)?;
            Outcome { taken_in, ..Outcome::default() }
        }
        Deed::Cleans { with_ignored, with_directories } => {
            Outcome::of(aside::removed(&reading, (*with_ignored, *with_directories))?)
        }
        Deed::PutsAside { with_untracked } => {
            let (entries, taken_in) = aside::put_aside(&reading, *with_untracked)?;
            Outcome { taken_in, ..Outcome::of(entries) }
        }
        Deed::GivesUp => {
            let entries = underway::differences(&Rehearsal::make(&reading)?)?;
            Outcome { strayed: entries.clone(), ..Outcome::of(entries) }
        }
        Deed::BringsFiles { commit, files } => {
            Outcome::of(brought(&reading, commit.as_str(), files)?)
        }
        Deed::Unstages | Deed::Brings(_) | Deed::BringsBack(_) | Deed::GoesOn => {
            rehearsed(&reading, terms, deed, words)?
        }
    };
    let mut ruled = terms.ruled.changed(&reading, terms, (deed, &outcome))?;
    // SECURITY: what is in the index is in the repository, to be committed, pushed and read from there.
    ruled.extend(terms.ruled.taken_in(&run.repository.top, &staged_names));
    let mut carried = strays::leading_out(&reading, terms, &outcome.entries)?;
    carried.extend(carried::find(&reading, terms, deed, std::mem::take(&mut outcome.taken_in))?);
    let mut counted = counted(&reading, terms, outcome.entries)?;
    keep_changed(&reading, terms, &mut counted)?;
    counted.extend(carried);
    counted.sort();
    counted.dedup();
    let names: BTreeSet<&str> = counted.iter().map(|entry| entry.path.as_str()).collect();
    let top = &run.repository.top;
    let paths = names.into_iter().filter_map(|name| path_of(top, name)).collect();
    let takeover = Takeover::new(&counted, paths, ruled)?;
    match takeover.is_nothing() || terms.is_agreed(&takeover) {
        true => Ok(()),
        false => Err(Fault::Takeover(takeover)),
    }
}

/// What git is about to change.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The files that come, change or go, where they do.
    pub(super) entries: Vec<Entry>,
    /// Files of commits of which git may put what is in them elsewhere.
    pub(super) strayed: Vec<Entry>,
    /// What the repository takes in, whether or not it is in the working tree.
    pub(super) taken_in: TakenIn,
}

impl Outcome {
    fn of(entries: Vec<Entry>) -> Self {
        Self { entries, ..Self::default() }
    }
}

/// Returns what the same words change in a repository of ours.
fn rehearsed(
    run: &Run<'_>,
    terms: &Terms,
    deed: &Deed<'_>,
    words: &[&str],
) -> Result<Outcome, Fault> {
    let rehearsal = Rehearsal::make(run)?;
    let before = rehearsal.head()?;
    // What is brought back from aside is in no index, and is forgotten once it is brought back.
    let aside = match deed {
        Deed::BringsBack(entry) => rehearsal.commit(entry)?,
        _ => None,
    };
    let followed = Followed::note(&rehearsal, terms, deed, &before)?;
    let (mut entries, mut strayed, mut taken_in) = (Vec::new(), Vec::new(), TakenIn::default());
    // Commits that there are already; branches among these names may lead elsewhere afterwards.
    let mut known = Vec::new();
    for tip in deed.tips() {
        known.extend(rehearsal.commit(tip)?);
    }
    if matches!(deed, Deed::GoesOn) {
        rehearsal.copy_under_way()?;
        let commits = underway::commits(&rehearsal)?;
        entries = underway::differences(&rehearsal)?;
        strayed.clone_from(&entries);
        underway::note(&rehearsal, &commits, &mut taken_in)?;
        known.extend(commits);
    }
    let said = rehearsal.ask(words, b"")?;
    // A conflict is an outcome. Anything else that goes wrong here may go well in the repository itself,
    // where there are files, so nothing is known of what would change.
    let is_conflict = said.code == Some(1) && rehearsal.has_conflict()?;
    if said.code != Some(0) && !is_conflict {
        return Err(super::run::failure(words, &said));
    }
    // In a new working tree there are no files yet, whatever HEAD says.
    let there = if rehearsal.is_new() { rehearsal.nothing()? } else { before.clone() };
    entries.extend(rehearsal.index_against(&there)?);
    // Where the index had other files than HEAD, as on a branch that just got its first commit.
    entries.extend(rehearsal.index_changes(&before)?);
    // What is not on the disk as the index has it may be brought back.
    let here = Rehearsal::look(run, &["diff-files", "--raw", "-z", "--no-renames", "--abbrev=64"])?;
    entries.extend(Entry::parse(&here)?.into_iter().flat_map(|(old, _)| old));
    if let Some(after) = rehearsal.commit("HEAD")? {
        entries.extend(rehearsal.between(&before, &after)?);
        taken_in.add(rehearsal.made_since(&before, &known)?);
        taken_in.known = known;
        let left = rehearsal.index()?.into_iter().map(|it| (it.path, it.id));
        taken_in.left = Some(left.collect());
    }
    strayed.extend(followed.strayed(&rehearsal)?);
    // What a conflict holds up comes when somebody goes on, who may be the user.
    for step in rehearsal.steps_left()? {
        if let Some(commit) = rehearsal.commit(&step)? {
            let held_up = rehearsal.between(&before, &commit)?;
            strayed.extend(held_up.iter().filter(|it| !it.is_removed()).cloned());
            entries.extend(held_up);
            underway::note(&rehearsal, &[commit], &mut taken_in)?;
        }
    }
    if let Some(aside) = aside {
        let (from, untracked) = (format!("{aside}^1"), format!("{aside}^3"));
        entries.extend(rehearsal.between(&from, &aside)?);
        if rehearsal.commit(&untracked)?.is_some() {
            entries.extend(rehearsal.tree(&untracked)?);
        }
    }
    Ok(Outcome { entries, strayed, taken_in })
}

/// Returns what changes when just these files of a commit are brought: it is not rehearsed, because in a
/// tree without files git takes a file that stays as it is for one that it does not know.
fn brought(run: &Run<'_>, commit: &str, files: &[File]) -> Result<Vec<Entry>, Fault> {
    let limited = |words: &[&'static str], tree: Option<&str>| {
        let mut words: Vec<&str> = words.to_vec();
        words.extend(RAW);
        words.extend(tree);
        words.push("--");
        words.extend(files.iter().map(File::as_str));
        Entry::parse(&Rehearsal::look(run, &words)?)
    };
    let staged = limited(&["diff-index", "--cached", "-R"], Some(commit))?;
    let mut entries: Vec<Entry> = staged.into_iter().map(|(_, new)| new).collect();
    if entries.iter().any(Entry::is_unmerged) {
        // Of a file in conflict git does not say here what the commit has.
        let mut words = vec!["ls-tree", "-r", "-z", "--full-tree", commit, "--"];
        words.extend(files.iter().map(File::as_str).filter(|file| *file != "."));
        let said = Rehearsal::look(run, &words)?;
        let listed = said.split('\0').filter_map(listed);
        entries.extend(listed.map(|(path, (mode, id))| Entry {
            path: path.to_owned(),
            mode: mode.to_owned(),
            id: id.to_owned(),
        }));
    }
    // What the commit does not have stays.
    entries.retain(|entry| !entry.is_removed());
    let here = limited(&["diff-files"], None)?;
    entries.extend(here.into_iter().flat_map(|(old, _)| old).filter(|it| !it.is_removed()));
    Ok(entries)
}

/// Returns those of the entries that the host would execute, or be led by.
pub(super) fn counted(
    run: &Run<'_>,
    terms: &Terms,
    entries: Vec<Entry>,
) -> Result<Vec<Entry>, Fault> {
    let home = AbsolutePath::new("/").map_err(|fault| Fault::Not(fault.to_string()))?;
    let executes = Executes::new(&RealDisk, &home, None, None).in_tree(&run.repository.top);
    let changes: Vec<(Entry, Change)> = entries
        .into_iter()
        .filter_map(|entry| {
            let role = if entry.is_removed() { Role::DeletePath } else { Role::WritePath };
            let path = path_of(&run.repository.top, &entry.path)?;
            // A plain file brings nothing along, so it does not count for lying above a name.
            let is_kept = entry.mode.starts_with("100");
            Some((entry, Change { role, path, is_kept }))
        })
        .collect();
    // A link may lead to a package of Python's, whose files are then found beneath its name.
    let behind = |(entry, change): &(Entry, Change)| {
        let path =
            (entry.mode == strays::LINK).then(|| change.path.join("__init__.py".as_ref()).ok());
        path.flatten().map(|path| Change { path, ..change.clone() })
    };
    let asked = changes.iter().flat_map(|it| std::iter::once(it.1.clone()).chain(behind(it)));
    let asked: Vec<Change> = asked.collect();
    let counting = executes.counting(&run.repository.top, &asked);
    let is_counting = |it: &(Entry, Change)| {
        counting.contains(&it.1.path) || behind(it).is_some_and(|it| counting.contains(&it.path))
    };
    let is_named = |change: &Change| {
        let is_attributes = terms.has_drivers && is_attributes(&change.path);
        change.why(&terms.named).is_some() || is_attributes
    };
    let mut counted: Vec<Entry> = changes
        .into_iter()
        .filter(|it| is_counting(it) || is_named(&it.1))
        .map(|(entry, _)| entry)
        .collect();
    counted.sort();
    counted.dedup();
    Ok(counted)
}

/// Leaves out what equals the commit that was checked out when the session began.
///
/// SECURITY: a file that goes is kept if that commit does not have it: it may have lain there untracked,
/// and have been committed since by the agent, so that a checkout takes it away.
pub(super) fn keep_changed(
    run: &Run<'_>,
    terms: &Terms,
    entries: &mut Vec<Entry>,
) -> Result<(), Fault> {
    let base = terms.base(run.repository);
    let (Some((base, since)), 1..) = (base, entries.len()) else { return Ok(()) };
    let mut words = vec!["ls-tree", "-z", "--full-tree", base, "--"];
    match entries.len() <= NAMES_MAX {
        true => words.extend(entries.iter().map(|entry| entry.path.as_str())),
        false => words.insert(1, "-r"),
    }
    let said = Rehearsal::look(run, &words)?;
    let then: BTreeMap<&str, (&str, &str)> = said.split('\0').filter_map(listed).collect();
    entries.retain(|entry| match then.get(entry.path.as_str()) {
        None => true,
        // SECURITY: what a configuration names here it may not name there, where nobody was asked.
        Some(_) if since == Since::Elsewhere && !counts_in_any_tree(&entry.path) => true,
        Some((mode, id)) => entry.mode != *mode || entry.id != *id,
    });
    Ok(())
}

/// Reads a line of `git ls-tree`: the path, and its mode and number.
pub(super) fn listed(line: &str) -> Option<(&str, (&str, &str))> {
    let (about, path) = line.split_once('\t')?;
    let mut about = about.split(' ');
    let (mode, _, id) = (about.next()?, about.next()?, about.next()?);
    Some((path, (mode, id)))
}

/// Returns where a file of the working tree at `top` is.
pub(super) fn path_of(top: &CanonicalPath, name: &str) -> Option<CanonicalPath> {
    let mut path = top.clone();
    for component in Path::new(name).components() {
        path = path.join(component.as_os_str()).ok()?;
    }
    Some(path)
}

fn digest(entries: &[Entry], ruled: &[Named]) -> String {
    let entries = entries.iter().map(|Entry { path, mode, id }| format!("{path}\0{mode}\0{id}"));
    let ruled = ruled.iter().map(|Named { role, path }| format!("{role}\0{path}"));
    let lines: Vec<String> = entries.chain(ruled).collect();
    Digest::of_parts(lines.iter().map(String::as_bytes)).to_string()
}
