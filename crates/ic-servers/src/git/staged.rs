//! What `git add` takes into the index, as far as it matters that somebody brings it back later.
//!
//! ```text
//! parts of a repository by its shape    the disk may have them in parts, and nowhere whole
//! names that count                      where somebody else may write here, so that nobody judged them
//! names that would count elsewhere      git takes a directory for renamed when the user merges (renames.rs)
//! ```

use ic_types::CanonicalPath;

use super::deed::Staging;
use super::fault::Fault;
use super::names::File;
use super::rehearsal::{Entry, Rehearsal};
use super::renames;
use super::run::Run;
use super::takeover::{Terms, path_of};

/// How many files are looked into.
const HASHED_MAX: usize = 500;

/// What an `add` is about to do.
#[derive(Debug, Default)]
pub(super) struct Staged {
    /// Files that may count where they are.
    pub(super) entries: Vec<Entry>,
    /// Files that would count elsewhere, and may come there.
    pub(super) carried: Vec<Entry>,
    /// The names of all files that are taken in.
    pub(super) added: Vec<String>,
}

/// Returns what `git add` takes in.
pub(super) fn staged(
    run: &Run<'_>,
    terms: &Terms,
    &Staging { files, is_update, is_forced }: &Staging<'_>,
) -> Result<Staged, Fault> {
    let mut listed = vec!["ls-files", "-t", "--modified", "--deleted", "-z"];
    listed.extend((!is_update).then_some("--others"));
    listed.extend((!is_forced).then_some("--exclude-standard"));
    listed.push("--");
    listed.extend(files.iter().map(File::as_str));
    let said = Rehearsal::look(run, &listed)?;
    let tagged = said.split('\0').filter_map(|line| line.split_once(' '));
    let (gone, added): (Vec<_>, Vec<_>) = tagged.partition(|(tag, _)| *tag == "R");
    let names = |tagged: Vec<(&str, &str)>| -> Vec<String> {
        tagged.into_iter().map(|(_, path)| path.to_owned()).collect()
    };
    let (gone, mut added) = (names(gone), names(added));
    // What is gone is told as changed, too.
    added.retain(|path| !gone.contains(path));
    let carried = renames::carried(run, terms, (&added, &gone))?;
    let mut entries = parts(run, &added)?;
    if terms.is_shared {
        entries.extend(hashed(run, terms, &added)?);
    }
    Ok(Staged { entries, carried, added })
}

/// Returns what of a repository by its shape lies in the index once files are staged: on the disk it may
/// be there in parts, and nowhere else whole, until somebody brings it back.
fn parts(run: &Run<'_>, added: &[String]) -> Result<Vec<Entry>, Fault> {
    let is_of_shape = |path: &str| path.split('/').any(is_part);
    if !added.iter().any(|path| is_of_shape(path)) {
        return Ok(Vec::new());
    }
    let known = Rehearsal::look(run, &["ls-files", "-z"])?;
    let known = known.split('\0').filter(|path| is_of_shape(path)).map(ToOwned::to_owned);
    let entry = |path: String| Entry { path, mode: "100644".to_owned(), id: "staged".to_owned() };
    Ok(added.iter().cloned().chain(known).map(entry).collect())
}

/// Returns whether a name is one of those that make a directory a repository.
fn is_part(name: &str) -> bool {
    matches!(name, "HEAD" | "objects" | "refs" | "commondir")
}

/// Returns the files that may count, with the numbers that git would give them.
fn hashed(run: &Run<'_>, terms: &Terms, added: &[String]) -> Result<Vec<Entry>, Fault> {
    let top = &run.repository.top;
    let may_count = |path: &&String| {
        let at = |it: &CanonicalPath| renames::could_count(top, it, terms);
        path_of(top, path.as_str()).is_none_or(|it| at(&it))
    };
    let paths: Vec<&String> = added.iter().filter(may_count).collect();
    let mut entries = Vec::new();
    for path in paths {
        let id = match entries.len() < HASHED_MAX {
            true => Rehearsal::look(run, &["hash-object", "--no-filters", "--", path])?,
            // So many are refused anyway.
            false => String::new(),
        };
        let (path, id) = (path.clone(), id.trim_end().to_owned());
        entries.push(Entry { path, mode: "100644".to_owned(), id });
    }
    Ok(entries)
}
