//! Directories that git takes for renamed when the user merges, rebases, picks a commit or brings back what
//! was put aside: a file that one side adds to such a directory comes to where the other side has it.
//!
//! ```text
//! here:   vendor/p/a ─▶ pp/a, and no vendor/p any more      elsewhere: vendor/p/.envrc is new
//! merged: pp/.envrc
//! ```
//!
//! So a name that would count at another place is told in two cases: it is added to a directory that is gone
//! in another branch, or the directory to which another branch adds it goes here; commits that no branch has
//! count like branches (`lost.rs`). A rename that comes from elsewhere later, or that the user makes, is not
//! foreseen.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;

use ic_resolve::executes::counts_somewhere;
use ic_types::CanonicalPath;

use super::fault::Fault;
use super::lost::{self, Step};
use super::rehearsal::{Entry, Rehearsal};
use super::run::Run;
use super::takeover::{Terms, path_of};

/// How many branches, tags and entries that were put aside are looked at; with more, each may have it.
const TIPS_MAX: usize = 512;
/// How many common ancestors are looked for.
const BASES_MAX: usize = 64;

/// Returns the files that would count elsewhere and may come there, if `added` is taken in and `gone` is
/// taken out.
pub(super) fn carried(
    run: &Run<'_>,
    terms: &Terms,
    (added, gone): (&[String], &[String]),
) -> Result<Vec<Entry>, Fault> {
    let top = &run.repository.top;
    let is_elsewhere =
        |path: &str| path_of(top, path).is_some_and(|it| could_count(top, &it, terms));
    let added: Vec<&String> = added.iter().filter(|path| is_elsewhere(path)).collect();
    let gone = vanished(run, gone)?;
    if added.is_empty() && gone.is_empty() {
        return Ok(Vec::new());
    }
    let tips = tips(run)?;
    let lost = lost::steps(run)?;
    let mut paths = BTreeSet::new();
    for path in added {
        if is_added_to_what_is_gone(run, &tips, path)?
            || is_gone_in_lost(run, lost.as_deref(), path)?
        {
            paths.insert(path.clone());
        }
    }
    for directory in gone {
        let found = added_elsewhere(run, &tips, &directory)?;
        paths.extend(found.into_iter().filter(|path| is_elsewhere(path)));
        match &lost {
            Some(lost) => {
                let beneath = format!("{directory}/");
                let added = lost.iter().filter(|it| it.is_added && it.path.starts_with(&beneath));
                paths.extend(added.map(|it| it.path.clone()).filter(|path| is_elsewhere(path)));
            }
            // Too many to ask: then somebody else is.
            None => drop(paths.insert(directory)),
        }
    }
    let entry = |path: String| Entry { path, mode: "100644".to_owned(), id: "carried".to_owned() };
    Ok(paths.into_iter().map(entry).collect())
}

/// Returns whether a file of the tree at `top` would count if the directory that it is in were elsewhere.
pub(super) fn could_count(top: &CanonicalPath, path: &CanonicalPath, terms: &Terms) -> bool {
    let below: Vec<&OsStr> = path.components().skip(top.components().count()).collect();
    let last = path.as_path().file_name();
    counts_somewhere(&below) || last.is_some_and(|last| terms.has_file_called(last))
}

/// Returns the directories that are in the index no more once these files are taken out of it.
fn vanished(run: &Run<'_>, gone: &[String]) -> Result<BTreeSet<String>, Fault> {
    let mut vanished: BTreeSet<String> = gone.iter().flat_map(|path| above(path)).collect();
    if vanished.is_empty() {
        return Ok(vanished);
    }
    let gone: BTreeSet<&str> = gone.iter().map(String::as_str).collect();
    let index = Rehearsal::look(run, &["ls-files", "-z"])?;
    for kept in index.split('\0').filter(|path| !gone.contains(path)) {
        for directory in above(kept) {
            vanished.remove(&directory);
        }
    }
    Ok(vanished)
}

/// Returns the directories above a file, but for the top.
fn above(path: &str) -> impl Iterator<Item = String> {
    let above = Path::new(path).ancestors().skip(1).filter_map(Path::to_str);
    above.filter(|it| !it.is_empty()).map(ToOwned::to_owned)
}

/// The commits that the user may merge, pick from or bring back; `None` if they are too many.
type Tips = Option<Vec<String>>;

fn tips(run: &Run<'_>) -> Result<Tips, Fault> {
    let refs = Rehearsal::look(run, &["for-each-ref", "--format=%(objectname)"])?;
    let stash = Rehearsal::look(run, &["stash", "list", "--format=%H"])?;
    let mut tips = BTreeSet::new();
    for tip in refs.lines().chain(stash.lines()) {
        tips.insert(tip.to_owned());
        // What was staged when it was put aside is a commit of its own.
        if stash.lines().any(|it| it == tip) {
            tips.insert(format!("{tip}^2"));
        }
    }
    Ok((tips.len() <= TIPS_MAX).then(|| tips.into_iter().collect()))
}

/// Returns whether a directory above `path` is gone in some branch that once had it.
fn is_added_to_what_is_gone(run: &Run<'_>, tips: &Tips, path: &str) -> Result<bool, Fault> {
    let Some(tips) = tips else { return Ok(true) };
    let directories: Vec<String> = above(path).collect();
    let there = trees(run, tips, &directories)?;
    let here = trees(run, &["HEAD".to_owned()], &directories)?;
    let mut n_bases = 0;
    for directory in &directories {
        let has =
            |tip: &str, trees: &Trees| trees.contains_key(&(tip.to_owned(), directory.clone()));
        let without: Vec<&String> = tips.iter().filter(|tip| !has(tip, &there)).collect();
        if without.is_empty() {
            continue;
        }
        if has("HEAD", &here) {
            return Ok(true);
        }
        for tip in without {
            n_bases += 1;
            if BASES_MAX < n_bases {
                return Ok(true);
            }
            let said = run.ask(&["merge-base", "--all", "HEAD", tip], b"")?;
            let bases: Vec<String> = said.output.lines().map(ToOwned::to_owned).collect();
            if !trees(run, &bases, std::slice::from_ref(directory))?.is_empty() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Returns whether a commit that no branch has took away a directory above `path`.
fn is_gone_in_lost(run: &Run<'_>, lost: Option<&[Step]>, path: &str) -> Result<bool, Fault> {
    let Some(lost) = lost else { return Ok(true) };
    for directory in above(path) {
        let beneath = format!("{directory}/");
        let removing = lost.iter().filter(|it| !it.is_added && it.path.starts_with(&beneath));
        let removing: BTreeSet<String> = removing.map(|it| it.commit.clone()).collect();
        let removing: Vec<String> = removing.into_iter().collect();
        let kept = trees(run, &removing, std::slice::from_ref(&directory))?;
        if kept.len() < removing.len() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the files that some branch has in `directory`, and that are not in the commit checked out here.
fn added_elsewhere(run: &Run<'_>, tips: &Tips, directory: &str) -> Result<Vec<String>, Fault> {
    let Some(tips) = tips else {
        let text = format!(
            "`{directory}` would go, and there are more than {TIPS_MAX} branches and tags that may still \
             have it; remove it outside"
        );
        return Err(Fault::Not(text));
    };
    let directories = [directory.to_owned()];
    let here = trees(run, &["HEAD".to_owned()], &directories)?;
    let here: BTreeSet<&String> = here.values().collect();
    let there = trees(run, tips, &directories)?;
    let there: BTreeSet<&String> = there.values().filter(|tree| !here.contains(tree)).collect();
    let mut known = BTreeSet::new();
    for tree in here {
        known.extend(files(run, tree)?);
    }
    let mut found = BTreeSet::new();
    for tree in there {
        found.extend(files(run, tree)?);
    }
    let new = found.difference(&known);
    Ok(new.map(|path| format!("{directory}/{path}")).collect())
}

/// Trees, by commit and directory.
type Trees = BTreeMap<(String, String), String>;

/// Returns the trees of the directories, in those of the commits that have them.
fn trees(run: &Run<'_>, tips: &[String], directories: &[String]) -> Result<Trees, Fault> {
    let pairs = || tips.iter().flat_map(|tip| directories.iter().map(move |it| (tip, it)));
    let mut asked = String::new();
    for (tip, directory) in pairs() {
        // SECURITY: git reads line by line, and the answers are matched by their order.
        if directory.contains('\n') {
            let text =
                "a directory here has a line break in its name, so other branches cannot be asked";
            return Err(Fault::Not(text.to_owned()));
        }
        asked.push_str(&[tip.as_str(), ":", directory, "\n"].concat());
    }
    let words = ["cat-file", "--batch-check=%(objecttype) %(objectname)"];
    let said = Rehearsal::look_with(run, &words, asked.as_bytes())?;
    let found = pairs().zip(said.lines()).filter_map(|((tip, directory), line)| {
        let tree = line.strip_prefix("tree ")?.to_owned();
        Some(((tip.clone(), directory.clone()), tree))
    });
    Ok(found.collect())
}

fn files(run: &Run<'_>, tree: &str) -> Result<BTreeSet<String>, Fault> {
    let said = Rehearsal::look(run, &["ls-tree", "-r", "-z", "--name-only", "--full-tree", tree])?;
    Ok(said.split('\0').filter(|it| !it.is_empty()).map(ToOwned::to_owned).collect())
}
