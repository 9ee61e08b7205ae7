//! Commits that something under way is about: a merge, rebase or cherry-pick that is held up.

use std::collections::BTreeSet;

use super::carried::TakenIn;
use super::fault::Fault;
use super::rehearsal::{Entry, Rehearsal};

/// Where git writes down which commits they are.
pub(super) const FILES: [&str; 13] = [
    "ORIG_HEAD",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "rebase-merge/orig-head",
    "rebase-merge/onto",
    "rebase-merge/stopped-sha",
    "rebase-merge/git-rebase-todo",
    "rebase-merge/done",
    "sequencer/head",
    "sequencer/abort-safety",
    "sequencer/todo",
];

/// Returns the commits that something under way is about.
pub(super) fn commits(rehearsal: &Rehearsal<'_>) -> Result<Vec<String>, Fault> {
    let mut found = BTreeSet::new();
    for name in FILES {
        let text = rehearsal.run().repository.read(name)?.unwrap_or_default();
        found.extend(ids(&String::from_utf8_lossy(&text)));
    }
    let mut commits = Vec::new();
    for id in found {
        commits.extend(rehearsal.commit(&id)?);
    }
    Ok(commits)
}

/// Returns what could change when it ends: whatever differs in one of the commits.
pub(super) fn differences(rehearsal: &Rehearsal<'_>) -> Result<Vec<Entry>, Fault> {
    let before = rehearsal.head()?;
    let mut entries = rehearsal.index_against(&before)?;
    for commit in commits(rehearsal)? {
        entries.extend(rehearsal.between(&before, &commit)?);
    }
    Ok(entries)
}

/// Notes the files of commits that are held up: where git puts them is not known before it goes on.
pub(super) fn note(
    rehearsal: &Rehearsal<'_>,
    commits: &[String],
    taken_in: &mut TakenIn,
) -> Result<(), Fault> {
    for commit in commits {
        let changes = rehearsal.changes_of(commit)?.into_iter().map(|(_, new)| new);
        taken_in.files.extend(changes.filter(|it| !it.is_removed()));
    }
    Ok(())
}

/// Returns the numbers of objects in a text.
pub(super) fn ids(text: &str) -> impl Iterator<Item = String> {
    text.split_whitespace().filter(|word| is_id(word)).map(ToOwned::to_owned)
}

/// Returns whether a word can be the number of an object, or the beginning of one.
fn is_id(word: &str) -> bool {
    (7..=64).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}
