//! Files that came in the place of others: renamed and changed at once, or in steps.
//!
//! ```text
//! dev: sample.envrc ─▶ .envrc      here: sample.envrc ─▶ other, with a change
//! merged: git takes all three for one file, and writes the change into .envrc
//! ```
//!
//! Whatever was first, the file that came or the one that went: what is told is the one of this step.

use std::collections::{BTreeMap, BTreeSet};

use super::alike::{alike, unknown};
use super::carried::TakenIn;
use super::fault::Fault;
use super::rehearsal::Rehearsal;
use super::run::Run;

/// Files of a tree: mode and number by path.
type Tree<'a> = BTreeMap<&'a str, (&'a str, &'a str)>;

/// Returns the names of files that come in the place of one that is like a target, or that make room for it.
pub(super) fn find(
    run: &Run<'_>,
    taken_in: &TakenIn,
    (trees, targets): (&[Tree<'_>], &BTreeSet<String>),
) -> Result<BTreeSet<String>, Fault> {
    let index = match &taken_in.left {
        Some(_) => String::new(),
        None => Rehearsal::look(run, &["ls-files", "--stage", "-z"])?,
    };
    let after = after(&index, taken_in);
    let names: BTreeSet<&str> = taken_in.files.iter().map(|it| it.path.as_str()).collect();
    let is_taken_in = |path: &str| names.contains(path);
    let before: Tree<'_> =
        taken_in.before.iter().map(|it| (&*it.path, (&*it.mode, &*it.id))).collect();
    let mut lost = Vec::new();
    // What was between two steps is known to the steps alone, and so is what came instead.
    let steps = [(&before, true)].into_iter();
    for (tree, is_of_steps) in trees.iter().map(|tree| (tree, false)).chain(steps) {
        let gone: Tree<'_> = tree
            .iter()
            .filter(|(path, (mode, _))| mode.starts_with("100") && !after.contains_key(**path))
            .map(|(path, about)| (*path, *about))
            .collect();
        if !gone.is_empty() {
            lost.push((tree, gone, is_of_steps));
        }
    }
    let ids = |tree: &Tree<'_>| tree.values().map(|(_, id)| (*id).to_owned()).collect::<Vec<_>>();
    let all: BTreeSet<String> = lost.iter().flat_map(|(_, gone, _)| ids(gone)).collect();
    let like_target = like(run, &all, targets)?;
    let mut found = BTreeSet::new();
    for (tree, gone, is_of_steps) in lost {
        let models: BTreeSet<String> =
            ids(&gone).into_iter().filter(|id| like_target.contains(id)).collect();
        let is_new = |path: &str, id: &str| {
            let is_here = !is_of_steps || is_taken_in(path);
            // What is only called otherwise is told when it changes.
            is_here && !tree.contains_key(path) && !models.contains(id)
        };
        let new: Vec<(&str, &str)> =
            after.iter().map(|(path, id)| (*path, *id)).filter(|it| is_new(it.0, it.1)).collect();
        let like_gone = match models.is_empty() {
            true => BTreeSet::new(),
            false => like(run, &new.iter().map(|(_, id)| (*id).to_owned()).collect(), &models)?,
        };
        let new = new.into_iter().filter(|(_, id)| like_gone.contains(*id));
        for (path, _) in new {
            match is_taken_in(path) {
                true => found.extend([path.to_owned()]),
                // It was there, and the other one makes room for it.
                false => found
                    .extend(taken_in.gone.iter().filter(|it| gone.contains_key(&***it)).cloned()),
            }
        }
    }
    Ok(found)
}

/// Returns the numbers of all files that there are then, by path; none of what git has not read yet.
pub(super) fn after<'a>(index: &'a str, taken_in: &'a TakenIn) -> BTreeMap<&'a str, &'a str> {
    let index = index.split('\0').filter_map(|line| {
        let (about, path) = line.split_once('\t')?;
        Some((path, about.split(' ').nth(1)?))
    });
    let left = taken_in.left.iter().flatten().map(|(path, id)| (path.as_str(), id.as_str()));
    let mut after: BTreeMap<&str, &str> = index.chain(left).collect();
    for path in &taken_in.gone {
        after.remove(path.as_str());
    }
    after.extend(taken_in.files.iter().map(|it| (it.path.as_str(), it.id.as_str())));
    after
}

/// Returns the numbers of those files that are like one of the models; what is not known may be.
pub(super) fn like(
    run: &Run<'_>,
    files: &BTreeSet<String>,
    models: &BTreeSet<String>,
) -> Result<BTreeSet<String>, Fault> {
    let (none, files): (BTreeSet<&str>, BTreeSet<&str>) =
        files.iter().map(String::as_str).partition(|id| id.is_empty());
    if files.is_empty() || models.is_empty() {
        return Ok(none.into_iter().map(ToOwned::to_owned).collect());
    }
    if !unknown(run, models.iter().map(String::as_str))?.is_empty() {
        return Ok(files.into_iter().chain(none).map(ToOwned::to_owned).collect());
    }
    let mut found: BTreeSet<String> = unknown(run, files.iter().copied())?.into_iter().collect();
    let known: Vec<&str> = files.into_iter().filter(|id| !found.contains(*id)).collect();
    let is_much = super::alike::PAIRS_MAX < known.len() * models.len();
    let like = if is_much { known.iter().copied().collect() } else { alike(run, &known, models)? };
    found.extend(like.into_iter().chain(none).map(ToOwned::to_owned));
    Ok(found)
}
