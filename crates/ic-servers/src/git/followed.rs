//! Files that git follows when it puts trees together: what one side changed in a file may come to where
//! the other side has the file, or something that git takes for it.
//!
//! ```text
//! theirs: a/secret.txt is changed     ours: no a/secret.txt, but c.txt, which is much like it
//! merged: c.txt, with what was changed in a/secret.txt
//! ```
//!
//! What comes whole is known by its number (`closed.rs`). What is put together has a new one, so it is
//! looked for by its place: a closed file that is changed and does not come to be where it belongs has
//! gone elsewhere.

use std::collections::BTreeSet;

use super::deed::{Deed, Way};
use super::fault::Fault;
use super::rehearsal::{Entry, Rehearsal};
use super::ruled;
use super::takeover::Terms;

/// Closed files that are changed by what git brings.
#[derive(Debug, Default)]
pub(super) struct Followed {
    before: String,
    commits: Vec<String>,
    changed: Vec<Entry>,
}

impl Followed {
    /// Notes the closed files that the deed brings changes of, before it is rehearsed.
    pub(super) fn note(
        rehearsal: &Rehearsal<'_>,
        terms: &Terms,
        deed: &Deed<'_>,
        before: &str,
    ) -> Result<Self, Fault> {
        let (names, way) = match deed {
            Deed::Brings(bringing) => (deed.tips(), bringing.way),
            Deed::BringsBack(_) => (deed.tips(), Way::Pick),
            _ => return Ok(Self::default()),
        };
        if way == Way::Switch || !terms.ruled.closes() {
            return Ok(Self::default());
        }
        let tops = ruled::tops(rehearsal.run())?;
        let mut followed = Self { before: before.to_owned(), ..Self::default() };
        for name in names {
            let Some(commit) = rehearsal.commit(name)? else { continue };
            let base = match way {
                Way::Pick => rehearsal.commit(&format!("{commit}^1"))?,
                Way::Merge | Way::Switch => rehearsal.ancestor(before, &commit)?,
            };
            let base = base.map_or_else(|| rehearsal.nothing(), Ok)?;
            let changed = rehearsal.between(&base, &commit)?.into_iter();
            let changed = changed.filter(|it| !it.is_removed());
            let closed = changed.filter(|it| terms.ruled.is_unread(&tops, &it.path));
            followed.changed.extend(closed);
            followed.commits.push(commit);
        }
        Ok(followed)
    }

    /// Returns those that are not where they belong once it is rehearsed, in the index or on the way.
    pub(super) fn strayed(self, rehearsal: &Rehearsal<'_>) -> Result<Vec<Entry>, Fault> {
        let Self { before, commits, mut changed } = self;
        if changed.is_empty() {
            return Ok(changed);
        }
        let had = rehearsal.tree(&before)?;
        let had: BTreeSet<(&str, &str)> =
            had.iter().map(|it| (it.path.as_str(), it.id.as_str())).collect();
        let index = rehearsal.index()?;
        let mut here: BTreeSet<&str> = index.iter().map(|it| it.path.as_str()).collect();
        let made = rehearsal.made_since(&before, &commits)?;
        for (_, entry) in made.iter().filter(|(_, it)| it.is_removed()) {
            here.remove(entry.path.as_str());
        }
        changed.retain(|it| {
            let is_new = !had.contains(&(it.path.as_str(), it.id.as_str()));
            is_new && !here.contains(it.path.as_str())
        });
        Ok(changed)
    }
}
