//! What goes from the working tree when it is cleaned or put aside, and what is kept of it.

use super::carried::TakenIn;
use super::closed::RAW;
use super::fault::Fault;
use super::rehearsal::{Entry, Rehearsal};
use super::run::Run;

/// Returns what `git clean` may remove.
pub(super) fn removed(
    run: &Run<'_>,
    (with_ignored, with_directories): (bool, bool),
) -> Result<Vec<Entry>, Fault> {
    let mut words = vec!["ls-files", "--others", "-z"];
    words.extend((!with_ignored).then_some("--exclude-standard"));
    // A directory of which nothing is tracked is told as one.
    words.extend((!with_directories).then_some("--directory"));
    let said = Rehearsal::look(run, &words)?;
    let goes = |path: &&str| !path.is_empty() && (with_directories || !path.ends_with('/'));
    Ok(said.split('\0').filter(goes).map(Entry::untracked).collect())
}

/// Returns what `git stash push` brings back or removes, and what it keeps.
pub(super) fn put_aside(
    run: &Run<'_>,
    with_untracked: bool,
) -> Result<(Vec<Entry>, TakenIn), Fault> {
    let look = |words: &[&str]| {
        Entry::parse(&Rehearsal::look(run, &[words, &RAW, &["HEAD", "--"]].concat())?)
    };
    let changed = look(&["diff-index"])?;
    let mut taken_in = TakenIn::default();
    taken_in.add(changed.clone());
    // These may lie in the tree as the commit has them.
    taken_in.add(look(&["diff-index", "--cached"])?);
    // What is in a file now is not known to git yet.
    taken_in.files.iter_mut().for_each(Entry::forget);
    // What was staged and is in no commit goes as if it were not tracked.
    let goes = |old: Entry| match old.is_removed() {
        true => Entry::untracked(&old.path),
        false => old,
    };
    let mut entries: Vec<Entry> = changed.into_iter().flat_map(|(old, _)| old).map(goes).collect();
    if with_untracked {
        let untracked = removed(run, (false, true))?;
        taken_in.files.extend(untracked.iter().map(|it| Entry::file(&it.path, "")));
        entries.extend(untracked);
    }
    Ok((entries, taken_in))
}
