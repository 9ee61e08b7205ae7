//! What is taken into a repository, and may come to another place from there than where it was judged.
//!
//! Git moves files by itself when somebody merges, rebases, picks a commit or brings back what was put aside:
//! a file that one side adds to a directory comes to where the other side has the directory.
//!
//! ```text
//! here:   vendor/p/a ─▶ pp/a, and no vendor/p any more      elsewhere: vendor/p/.envrc is new
//! merged: pp/.envrc
//! ```
//!
//! Commits can be put together in so many ways that no order of steps is looked for. A name that counts
//! somewhere is told when it comes in (into the index, a stash, a commit that git makes of others), wherever it
//! is; a directory is told when a commit takes it away and another branch has such a name in it; and a file
//! that git may take for another one is told when its change comes in (`alike.rs`). A name that counts only in
//! another directory is told if some branch has its directory there (`moved.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;

use ic_resolve::Kind;
use ic_resolve::executes::counts_somewhere;
use ic_types::CanonicalPath;

use super::alike::{self, Elsewhere};
use super::closed::RAW;
use super::deed::Deed;
use super::fault::Fault;
use super::moved::{self, Moving};
use super::rehearsal::{Entry, Rehearsal};
use super::repository::look_at;
use super::run::Run;
use super::takeover::{Terms, counted, keep_changed, path_of};
use super::underway::ids;

/// How many branches, tags and entries that were put aside are looked at.
const TIPS_MAX: usize = 20_000;
/// What git keeps as long as something is held up.
const UNDER_WAY: [&str; 6] =
    ["CHERRY_PICK_HEAD", "MERGE_HEAD", "REVERT_HEAD", "rebase-apply", "rebase-merge", "sequencer"];
/// How many files are looked into; more are refused anyway.
const HASHED_MAX: usize = 5_000;

/// What a repository takes in: into its index, into commits that are made, or put aside.
#[derive(Debug, Default)]
pub(super) struct TakenIn {
    /// Files as they are then; without a number where git has not read them yet.
    pub(super) files: Vec<Entry>,
    /// The same files as they were before.
    pub(super) before: Vec<Entry>,
    /// The names of files that are no more.
    pub(super) gone: Vec<String>,
    /// Commits that are put together with what is checked out: git may make them anew, as they are.
    pub(super) known: Vec<String>,
    /// All files that there are then, if they are not those of the index: their numbers by name.
    pub(super) left: Option<BTreeMap<String, String>>,
}

impl TakenIn {
    /// Adds changes: each file as it was, and as it is.
    pub(super) fn add(&mut self, changes: Vec<(Vec<Entry>, Entry)>) {
        for (old, new) in changes {
            self.before.extend(old.into_iter().filter(|it| !it.is_removed()));
            match new.is_removed() {
                true => self.gone.push(new.path),
                false => self.files.push(new),
            }
        }
    }

    /// Returns what a commit of the index takes in, seen from each of its parents.
    pub(super) fn by_commit(run: &Run<'_>, is_amended: bool) -> Result<Self, Fault> {
        let mut parents: BTreeSet<String> = BTreeSet::new();
        for name in ["MERGE_HEAD", "CHERRY_PICK_HEAD"] {
            let text = run.repository.read(name)?.unwrap_or_default();
            parents.extend(ids(&String::from_utf8_lossy(&text)));
        }
        parents.extend(ids(&run.ask(&["rev-parse", "--verify", "--quiet", "HEAD"], b"")?.output));
        if is_amended {
            parents.extend(ids(&run.git(&["rev-parse", "HEAD^@"])?.output));
        }
        let mut taken_in = Self::default();
        for parent in parents {
            let words = [&["diff-index", "--cached"], &RAW[..], &[&parent, "--"]].concat();
            taken_in.add(Entry::parse(&Rehearsal::look(run, &words)?)?);
        }
        Ok(taken_in)
    }
}

/// Returns what of it may come to where it counts.
pub(super) fn find(
    run: &Run<'_>,
    terms: &Terms,
    deed: &Deed<'_>,
    mut taken_in: TakenIn,
) -> Result<Vec<Entry>, Fault> {
    // What is only staged is put together with nothing yet, unless the user goes on with what is under way.
    let is_staged = matches!(deed, Deed::Stages(_));
    let is_only_staged = is_staged && !is_under_way(run)?;
    let (alike, gone) = following(run, terms, (&taken_in, is_only_staged))?;
    let top = &run.repository.top;
    // What is committed was looked at when it was staged.
    let is_named = !matches!(deed, Deed::Commits { .. });
    let could = |it: &Entry| path_of(top, &it.path).is_none_or(|it| could_count(top, &it, terms));
    let mut files = std::mem::take(&mut taken_in.files);
    files.retain(|it| alike.contains(&it.path) || (is_named && could(it)));
    files.sort();
    files.dedup();
    hash(run, &mut files)?;
    let is_on_disk = is_staged || matches!(deed, Deed::PutsAside { .. } | Deed::Commits { .. });
    if is_on_disk && !terms.is_shared {
        // Where these are they were judged when they were written.
        let here: BTreeSet<Entry> = counted(run, terms, files.clone())?.into_iter().collect();
        files.retain(|it| !here.contains(it));
    }
    keep_changed(run, terms, &mut files)?;
    files.extend(gone.iter().map(|path| Entry::file(path, "carried")));
    Ok(files)
}

/// Returns the names of what is taken in and may follow other branches to where it counts; and of what may follow
/// what goes here.
fn following(
    run: &Run<'_>,
    terms: &Terms,
    (taken_in, is_only_staged): (&TakenIn, bool),
) -> Result<(BTreeSet<String>, BTreeSet<String>), Fault> {
    let (mut here, mut gone) = (BTreeSet::new(), BTreeSet::new());
    let may_follow = moved::may_follow(run, &taken_in.files);
    // What is only staged is put together with nothing yet; but the user may commit it.
    let is_asked = match is_only_staged {
        true => !may_follow.is_empty(),
        false => !(taken_in.files.is_empty() && taken_in.gone.is_empty()),
    };
    if !is_asked {
        return Ok((here, gone));
    }
    let directories = may_follow.iter().flat_map(|it| above(&it.path)).collect();
    let elsewhere = Elsewhere::look(run, terms, is_only_staged.then_some(&directories))?;
    if let Some(elsewhere) = &elsewhere {
        let moving = Moving { run, terms, taken_in, elsewhere };
        here.extend(moving.by_others(&may_follow)?);
        if !is_only_staged {
            here.extend(alike::find(run, terms, (taken_in, elsewhere))?);
            gone.extend(moving.by_us()?);
        }
    }
    if !is_only_staged {
        gone.extend(carrying(run, terms, taken_in)?);
        gone.extend(taken_in.gone.iter().filter(|it| here.contains(*it)).cloned());
    }
    Ok((here, gone))
}

/// Returns whether a file of the tree at `top` would count if it, or a directory that it is in, were
/// elsewhere.
fn could_count(top: &CanonicalPath, path: &CanonicalPath, terms: &Terms) -> bool {
    let below: Vec<&OsStr> = path.components().skip(top.components().count()).collect();
    counts_somewhere(&below) || below.iter().any(|name| terms.has_file_called(name))
}

/// Returns whether a merge, a rebase or the like is held up, which takes in what is staged when it goes on.
fn is_under_way(run: &Run<'_>) -> Result<bool, Fault> {
    for name in UNDER_WAY {
        if run.repository.look(name)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Gives plain files that lie in the tree the numbers that git would give them.
fn hash(run: &Run<'_>, files: &mut [Entry]) -> Result<(), Fault> {
    let is_plain = |it: &Entry| {
        let kind = look_at(run.repository.handle(), &it.path).ok().flatten();
        kind == Some(Kind::File) && !it.path.contains('\n') && !it.path.starts_with('"')
    };
    let files: Vec<&mut Entry> =
        files.iter_mut().filter(|it| it.id.is_empty() && is_plain(it)).take(HASHED_MAX).collect();
    if files.is_empty() {
        return Ok(());
    }
    let asked: String = files.iter().flat_map(|it| [it.path.as_str(), "\n"]).collect();
    let words = ["hash-object", "--no-filters", "--stdin-paths"];
    let said = Rehearsal::look_with(run, &words, asked.as_bytes())?;
    for (file, id) in files.into_iter().zip(said.lines()) {
        id.clone_into(&mut file.id);
    }
    Ok(())
}

/// Returns the files that would count elsewhere, and that some branch has in a directory which goes here.
fn carrying(run: &Run<'_>, terms: &Terms, taken_in: &TakenIn) -> Result<BTreeSet<String>, Fault> {
    let directories = vanished(run, taken_in)?;
    if directories.is_empty() {
        return Ok(BTreeSet::new());
    }
    let top = &run.repository.top;
    let could = |path: &String| path_of(top, path).is_none_or(|it| could_count(top, &it, terms));
    let here = trees(run, &["HEAD".to_owned()], &directories)?;
    let there = trees(run, &tips(run)?, &directories)?;
    let mut found = BTreeSet::new();
    for directory in &directories {
        let [here, there] = [&here, &there].map(|trees| {
            let trees = trees.get(directory).into_iter().flatten();
            trees.collect::<BTreeSet<_>>()
        });
        let mut known = BTreeSet::new();
        for tree in &here {
            known.extend(files(run, tree)?);
        }
        for tree in there.difference(&here) {
            let new = files(run, tree)?.into_iter().filter(|path| !known.contains(path));
            found.extend(new.map(|path| format!("{directory}/{path}")).filter(could));
        }
    }
    Ok(found)
}

/// Returns the directories that are no more; of one in another, the outer one.
fn vanished(run: &Run<'_>, taken_in: &TakenIn) -> Result<Vec<String>, Fault> {
    let mut vanished: BTreeSet<String> =
        taken_in.gone.iter().flat_map(|path| above(path)).collect();
    if vanished.is_empty() {
        return Ok(Vec::new());
    }
    let index = match &taken_in.left {
        Some(_) => String::new(),
        None => Rehearsal::look(run, &["ls-files", "-z"])?,
    };
    // A file that goes here is not in the index, unless it is put aside.
    let gone: BTreeSet<&str> = taken_in.gone.iter().map(String::as_str).collect();
    let index = index.split('\0').filter(|path| !gone.contains(path));
    let left = taken_in.left.iter().flat_map(BTreeMap::keys).map(String::as_str);
    for directory in left.chain(index).flat_map(above) {
        vanished.remove(&directory);
    }
    let is_outer = |path: &&String| !above(path).any(|it| vanished.contains(&it));
    Ok(vanished.iter().filter(is_outer).cloned().collect())
}

/// Returns the parts of a path.
pub(super) fn parts(path: &str) -> Vec<&OsStr> {
    Path::new(path).iter().collect()
}

/// Returns the directories above a file, but for the top.
pub(super) fn above(path: &str) -> impl Iterator<Item = String> {
    let above = Path::new(path).ancestors().skip(1).filter_map(Path::to_str);
    above.filter(|it| !it.is_empty()).map(ToOwned::to_owned)
}

/// Returns the commits that the user may merge, pick from or bring back, with the newest first.
pub(super) fn tips(run: &Run<'_>) -> Result<Vec<String>, Fault> {
    // What was put aside has commits of its own for what was staged and for what was not tracked.
    let stash = Rehearsal::look(run, &["stash", "list", "--format=%H %P"])?;
    let refs = Rehearsal::look(run, &["rev-list", "--no-walk", "--all"])?;
    let mut seen = BTreeSet::new();
    let all = stash.split_whitespace().chain(refs.split_whitespace()).map(ToOwned::to_owned);
    let tips: Vec<String> = all.filter(|tip| seen.insert(tip.clone())).collect();
    match tips.len() <= TIPS_MAX {
        true => Ok(tips),
        false => Err(Fault::Not(format!(
            "there are more than {TIPS_MAX} branches and tags, so what they have is not known"
        ))),
    }
}

/// Returns the trees that the commits have at each of the directories, one for each commit that has it.
pub(super) fn trees(
    run: &Run<'_>,
    commits: &[String],
    directories: &[String],
) -> Result<BTreeMap<String, Vec<String>>, Fault> {
    let pairs = commits.iter().flat_map(|it| directories.iter().map(move |at| (&**it, &**at)));
    let pairs: Vec<(&str, &str)> = pairs.collect();
    let mut trees: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for ((_, directory), tree) in pairs.iter().zip(trees_at(run, &pairs)?) {
        trees.entry((*directory).to_owned()).or_default().extend(tree);
    }
    Ok(trees)
}

/// Returns the tree of each directory in each commit, if it is there.
pub(super) fn trees_at(
    run: &Run<'_>,
    pairs: &[(&str, &str)],
) -> Result<Vec<Option<String>>, Fault> {
    let objects = objects_at(run, pairs)?.into_iter();
    let tree = |it: String| it.strip_prefix("tree ").map(ToOwned::to_owned);
    Ok(objects.map(|it| it.and_then(tree)).collect())
}

/// Returns what is at each path in each commit, if something is: its kind, and its number.
pub(super) fn objects_at(
    run: &Run<'_>,
    pairs: &[(&str, &str)],
) -> Result<Vec<Option<String>>, Fault> {
    if pairs.is_empty() {
        return Ok(Vec::new());
    }
    let mut asked = String::new();
    for (commit, directory) in pairs {
        // SECURITY: git reads line by line, and the answers are matched by their order.
        if directory.contains('\n') {
            let text =
                "a directory here has a line break in its name, so other branches cannot be asked";
            return Err(Fault::Not(text.to_owned()));
        }
        asked.push_str(&[commit, ":", directory, "\n"].concat());
    }
    let words = ["cat-file", "--batch-check=%(objecttype) %(objectname)"];
    let said = Rehearsal::look_with(run, &words, asked.as_bytes())?;
    let is_there = |line: &str| ["tree ", "blob ", "commit "].iter().any(|it| line.starts_with(it));
    let objects = said.lines().map(|line| is_there(line).then(|| line.to_owned()));
    let objects: Vec<Option<String>> = objects.collect();
    match objects.len() == pairs.len() {
        true => Ok(objects),
        false => Err(Fault::Not("git did not say what other branches have".to_owned())),
    }
}

fn files(run: &Run<'_>, tree: &str) -> Result<BTreeSet<String>, Fault> {
    let said = Rehearsal::look(run, &["ls-tree", "-r", "-z", "--name-only", "--full-tree", tree])?;
    Ok(said.split('\0').filter(|it| !it.is_empty()).map(ToOwned::to_owned).collect())
}
