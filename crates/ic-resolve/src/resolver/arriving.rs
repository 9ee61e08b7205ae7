//! Places that rules close to writing, and that a moved directory brings something to or takes along.
//!
//! ```text
//! p/secret is closed     move q to p, and q/secret is there ─▶ p/secret is written
//!                        move p away, and p/secret is there ─▶ p/secret is written
//! ```
//!
//! A directory is judged by its own name, before and after; such a place is judged besides. Nothing is
//! decided here.

use std::collections::HashSet;

use ic_policy::{PathValue, Policy, ResolvedParts, Value};
use ic_types::{CanonicalPath, Role};

use super::Resolving;
use super::carried::{moved, paths_of};
use super::trees::is_of_git;
use crate::disk::Kind;

/// How often the disk is asked; beyond it, everything may be there.
const LOOKS_MAX: usize = 2000;

impl Resolving<'_> {
    /// Notes the closed places that a move changes, as values of the call.
    pub(super) fn note_arriving(&self, policy: &Policy, parts: &mut ResolvedParts) {
        let tool = &parts.asked.tool;
        let closed = policy.restricted(&parts.asked.server, Role::WritePath);
        // Git tells by itself what it changes in a tree; only a working tree goes as a whole.
        if closed.places().is_empty() || is_of_git(tool) && tool.as_str() != "git_worktree" {
            return;
        }
        let leaving = paths_of(&parts.roles, Role::DeletePath);
        let places = paths_of(&parts.roles, Role::WritePath);
        let mut copied = match is_of_git(tool) {
            true => Vec::new(),
            false => paths_of(&parts.roles, Role::ReadPath),
        };
        copied.extend(leaving.iter().cloned());
        copied.sort();
        copied.dedup();
        if places.is_empty() || copied.is_empty() {
            return;
        }
        copied.retain(|from| self.kind(from).is_none_or(|kind| kind == Kind::Directory));
        let (leaving, targets): (HashSet<_>, HashSet<_>) =
            (leaving.iter().collect(), places.iter().collect());
        let mut n_left = LOOKS_MAX;
        let mut found = Vec::new();
        for place in closed.places() {
            for above in place.ancestors().skip(1) {
                let comes = targets.contains(&above)
                    && copied.iter().filter(|from| **from != above).any(|from| {
                        let then = moved(&above, from, place);
                        then.is_none_or(|then| self.may_be_there(from, &then, &mut n_left))
                    });
                let goes =
                    leaving.contains(&above) && self.may_be_there(&above, place, &mut n_left);
                if comes || goes {
                    found.push(place.clone());
                    break;
                }
            }
        }
        if let Some(entry) = parts.roles.iter_mut().find(|it| it.role == Role::WritePath) {
            let value = |path| Value::Path(PathValue { path, also: Vec::new(), state: None });
            entry.values.extend(found.into_iter().map(value));
        }
    }

    /// Returns whether something is at `path` in the directory `top`, or may be there by a link.
    fn may_be_there(&self, top: &CanonicalPath, path: &CanonicalPath, n_left: &mut usize) -> bool {
        let mut at = top.clone();
        for name in path.components().skip(top.components().count()) {
            let Ok(next) = at.join(name) else { return true };
            if *n_left == 0 {
                return true;
            }
            *n_left -= 1;
            match self.disk.look(next.as_path()) {
                Ok(None) => return false,
                Ok(Some(entry)) if entry.kind == Kind::Directory => at = next,
                Ok(Some(_)) | Err(_) => return true,
            }
        }
        true
    }

    fn kind(&self, path: &CanonicalPath) -> Option<Kind> {
        self.disk.look(path.as_path()).ok().flatten().map(|entry| entry.kind)
    }
}
