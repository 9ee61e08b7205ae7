//! What `git add` takes into the index, as far as it matters that somebody brings it back later.
//!
//! ```text
//! parts of a repository by its shape    the disk may have them in parts, and nowhere whole
//! names that count somewhere            git may put them elsewhere when the user merges (carried.rs)
//! ```

use super::deed::Staging;
use super::fault::Fault;
use super::names::File;
use super::rehearsal::{Entry, Rehearsal};
use super::run::Run;

/// What an `add` is about to do.
#[derive(Debug, Default)]
pub(super) struct Staged {
    /// Files that may count where they are.
    pub(super) entries: Vec<Entry>,
    /// The names of all files that are taken in.
    pub(super) added: Vec<String>,
}

/// Returns what `git add` takes in.
pub(super) fn staged(
    run: &Run<'_>,
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
    Ok(Staged { entries: parts(run, &added)?, added })
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
