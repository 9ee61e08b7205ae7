//! Compares two surveys of a ground, and puts back what was changed in between.
//!
//! What appeared is moved to the session's quarantine, and what was moved is moved back: first what may
//! decide what else counts, such as a repository or a configuration; then the ground is looked at again. So
//! nothing of the user's is moved because of something that a server planted beside it. Everything is named
//! beneath a handle on the ground, and no link is followed. What vanished altogether was not taken
//! by a caged server, which cannot remove what is mounted; it is told of and left. A link cannot be mounted,
//! and is made anew.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ic_resolve::{Disk as _, Kind, RealDisk};
use ic_types::CanonicalPath;

use super::Kept;
use super::places::{at_or_in_the_way, away, back, in_the_way, open_up, restore};
use super::survey::{Former, Identity, Rules, Survey};

/// How often a ground is looked at again, since one change can hide another.
const ROUNDS_MAX: usize = 8;
/// How many names an answer or a record lists.
const LISTED_MAX: usize = 20;

/// Something that appeared.
#[derive(Clone, Debug)]
pub struct Away {
    pub(crate) path: CanonicalPath,
    /// Where it is kept now, if it could be.
    pub(crate) place: Option<PathBuf>,
    /// What was there before, and is there again.
    pub(super) before: Option<Former>,
    /// Where the server could write it.
    pub(super) kept: Arc<Kept>,
}

/// What was put back.
#[derive(Clone, Debug, Default)]
pub struct PutBack {
    /// What appeared.
    pub away: Vec<Away>,
    /// What was moved, and is where it was.
    pub(crate) back: Vec<CanonicalPath>,
    /// Links that were removed or moved away, and are there again.
    pub(crate) restored: Vec<CanonicalPath>,
    /// What is not there any more.
    pub(crate) gone: Vec<CanonicalPath>,
    /// What could not be done.
    pub(crate) failed: Vec<String>,
}

impl PutBack {
    /// Returns whether nothing had to be done, or tried.
    pub fn is_nothing(&self) -> bool {
        self.is_empty()
    }

    /// Returns whether nothing had to be done.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { away, back, restored, gone: _, failed } = self;
        away.is_empty() && back.is_empty() && restored.is_empty() && failed.is_empty()
    }

    /// Returns whether nothing failed.
    pub(crate) fn is_whole(&self) -> bool {
        self.failed.is_empty()
    }

    /// Returns whether something was put back elsewhere than at these places.
    pub(crate) fn is_beyond(&self, is_one: impl Fn(&CanonicalPath) -> bool) -> bool {
        let Self { away, back, restored, gone: _, failed } = self;
        let away = away.iter().map(|it| &it.path);
        !away.chain(back).chain(restored).all(is_one) || !failed.is_empty()
    }

    /// Says what was put back.
    pub fn told(&self, server: &str) -> String {
        let mut text = format!(
            "host_executes_put_back: while the server `{server}` ran, files changed that programs on this \
             machine run or take orders from"
        );
        for (what, paths) in [
            ("moved to the quarantine", self.away.iter().map(|it| &it.path).collect::<Vec<_>>()),
            ("moved back", self.back.iter().collect()),
            ("restored", self.restored.iter().collect()),
            ("no longer there", self.gone.iter().collect()),
        ] {
            if !paths.is_empty() {
                text = format!("{text}; {what}: {}", names(&paths));
            }
        }
        if !self.failed.is_empty() {
            text = format!("{text}; NOT put back: {}", self.failed.join("; "));
        }
        format!("{text}. The server was ended")
    }

    /// Says what an agent planted, and where it is kept.
    pub fn told_of_agent(&self, agent: &str) -> String {
        let mut text = format!(
            "files that programs on this machine run or take orders from were created or changed while {agent} \
             could write them"
        );
        let away = |it: &Away| match &it.place {
            Some(place) => format!("`{}` (now `{}`)", it.path, place.display()),
            None => format!("`{}`", it.path),
        };
        let away: Vec<String> = self.away.iter().take(LISTED_MAX).map(away).collect();
        for (what, listed) in [
            ("moved to the quarantine", away.join(", ")),
            ("moved back", names(&self.back.iter().collect::<Vec<_>>())),
            ("restored", names(&self.restored.iter().collect::<Vec<_>>())),
            ("NOT put back", self.failed.join("; ")),
        ] {
            if !listed.is_empty() {
                text = format!("{text}; {what}: {listed}");
            }
        }
        text
    }

    /// Adds what was put back later; of what was planted several times the last counts.
    pub fn add(&mut self, later: Self) {
        let Self { away, back, restored, gone, failed } = later;
        self.away.retain(|it| away.iter().all(|later| later.path != it.path));
        self.away.extend(away);
        self.back.extend(back);
        self.restored.extend(restored);
        self.gone.extend(gone);
        self.failed.extend(failed);
    }

    /// Says where it is kept as well.
    pub fn told_in_full(&self, server: &str) -> String {
        let kept = self.away.iter().filter_map(|it| Some((&it.path, it.place.as_ref()?)));
        let kept = kept.map(|(path, place)| format!("`{path}` is `{}`", place.display()));
        let kept: Vec<String> = kept.take(LISTED_MAX).collect();
        match kept.is_empty() {
            true => self.told(server),
            false => format!("{}; in the quarantine {}", self.told(server), kept.join(", ")),
        }
    }
}

fn names(paths: &[&CanonicalPath]) -> String {
    let shown: Vec<String> = paths.iter().take(LISTED_MAX).map(|it| format!("`{it}`")).collect();
    match paths.len().saturating_sub(LISTED_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Difference {
    Appeared(CanonicalPath),
    Moved {
        from: CanonicalPath,
        to: CanonicalPath,
    },
    Gone(CanonicalPath),
    /// A link that is not there any more.
    Unlinked(CanonicalPath),
    /// A directory that cannot be looked into any more.
    Closed(CanonicalPath),
}

impl Difference {
    /// Returns whether it may decide what else counts.
    fn may_decide(&self, after: &Survey) -> bool {
        match self {
            Self::Appeared(path) => after.may_decide(path),
            Self::Moved { from, to } => after.may_decide(from) || after.may_decide(to),
            Self::Gone(_) => false,
            // What is in it was not looked at.
            Self::Closed(_) | Self::Unlinked(_) => true,
        }
    }
}

/// What is meant to be where it is, though it was not there before.
#[derive(Debug, Default)]
pub struct Settled {
    /// What we put there.
    ours: BTreeMap<CanonicalPath, Identity>,
    /// Where the user put something, and the server cannot have written it since.
    users: BTreeSet<CanonicalPath>,
    /// What was made after this second was made by somebody else, as the server was over.
    over_since: Option<i64>,
}

impl Settled {
    /// Leaves what is at these places as it is.
    pub(crate) fn of_user(users: impl Iterator<Item = CanonicalPath>) -> Self {
        Self { users: users.collect(), ..Self::default() }
    }

    /// Leaves what was made after this second.
    pub(super) fn since(over_since: Option<i64>) -> Self {
        Self { over_since, ..Self::default() }
    }

    /// Takes what is at `path` now as meant.
    pub(super) fn settle(&mut self, path: &CanonicalPath) {
        if let Ok(Some(entry)) = RealDisk.look(path.as_path()) {
            self.ours.insert(path.clone(), Identity::at(path, &entry.state));
        }
    }

    fn holds(&self, path: &CanonicalPath, identity: Identity) -> bool {
        let is_later = self.over_since.is_some_and(|over| identity.is_born_after(over));
        self.ours.get(path) == Some(&identity) || self.users.contains(path) || is_later
    }
}

impl Survey {
    /// Returns whether something has to be put back that is not settled.
    pub(crate) fn differs(&self, after: &Self, settled: &Settled) -> bool {
        let found = differences(self, after.as_before(), settled);
        found.iter().any(|it| !matches!(it, Difference::Gone(_)))
    }
}

/// Puts the ground back to what it was; nobody may be writing there any more.
pub fn put_back(
    kept: &Arc<Kept>,
    before: &Survey,
    (rules, quarantine): (Rules<'_>, &Path),
    settled: &mut Settled,
) -> PutBack {
    let mut done = PutBack::default();
    for _ in 0..ROUNDS_MAX {
        let mut after = match Survey::thorough(&kept.ground, rules, &RealDisk, before) {
            Ok(after) => after,
            Err(fault) => {
                done.failed.push(fault.to_string());
                return done;
            }
        };
        let mut differences = differences(before, &after, settled);
        if differences.iter().all(|it| matches!(it, Difference::Gone(_))) {
            done.failed.append(&mut after.unseen);
            done.gone = differences
                .drain(..)
                .filter_map(|it| match it {
                    Difference::Gone(path) => Some(path),
                    Difference::Appeared(..)
                    | Difference::Moved { .. }
                    | Difference::Unlinked(_)
                    | Difference::Closed(_) => None,
                })
                .collect();
            return done;
        }
        // What appeared may stand where something has to be moved back to.
        differences
            .sort_by_key(|it| (!it.may_decide(&after), matches!(it, Difference::Moved { .. })));
        let mut n_done = 0;
        let mut has_decided = false;
        for difference in differences {
            // SECURITY: the rest may count only because of what is put back by now.
            let may_decide = difference.may_decide(&after);
            if has_decided && !may_decide {
                break;
            }
            match one_back(kept, before, (&difference, quarantine), settled, &mut done) {
                Ok(()) => {
                    n_done += 1;
                    has_decided |= may_decide;
                }
                Err(failed) if done.failed.contains(&failed) => {}
                // SECURITY: what cannot be put back must not keep the rest from it.
                Err(failed) => done.failed.push(failed),
            }
        }
        if n_done == 0 {
            return done;
        }
    }
    done.failed.push("it changes faster than it can be put back".to_owned());
    done
}

/// Puts one thing back.
fn one_back(
    kept: &Arc<Kept>,
    before: &Survey,
    (difference, quarantine): (&Difference, &Path),
    settled: &mut Settled,
    done: &mut PutBack,
) -> Result<(), String> {
    match difference {
        Difference::Appeared(path) => {
            let place = away(&kept.ground, path, (quarantine, done.away.len()))
                .map_err(|error| format!("`{path}` cannot be moved away: {error}"))?;
            let before = before.former(path);
            let kept_there = Arc::clone(kept);
            done.away.push(Away {
                path: path.clone(),
                place,
                before: before.clone(),
                kept: kept_there,
            });
            if let Some(former) = &before {
                restore(&kept.ground, path, former)
                    .map_err(|error| format!("`{path}` cannot be restored: {error}"))?;
                settled.settle(path);
            }
        }
        Difference::Unlinked(path) => {
            let Some(former) = before.former(path) else { return Ok(()) };
            if let Some(path) = at_or_in_the_way(&kept.ground, path) {
                move_aside(kept, (&path, quarantine), done)?;
            }
            restore(&kept.ground, path, &former)
                .map_err(|error| format!("`{path}` cannot be restored: {error}"))?;
            settled.settle(path);
            done.restored.push(path.clone());
        }
        Difference::Moved { from, to } => {
            if let Some(path) = in_the_way(&kept.ground, to) {
                move_aside(kept, (&path, quarantine), done)?;
            }
            back(&kept.ground, from, to)
                .map_err(|error| format!("`{from}` cannot be moved back to `{to}`: {error}"))?;
            done.back.push(to.clone());
        }
        Difference::Closed(path) => open_up(&kept.ground, path)
            .map_err(|error| format!("`{path}` cannot be looked into: {error}"))?,
        Difference::Gone(_) => {}
    }
    Ok(())
}

/// Moves something away that stands where something else was.
fn move_aside(
    kept: &Arc<Kept>,
    (path, quarantine): (&CanonicalPath, &Path),
    done: &mut PutBack,
) -> Result<(), String> {
    let place = away(&kept.ground, path, (quarantine, done.away.len()))
        .map_err(|error| format!("`{path}` cannot be moved away: {error}"))?;
    let (path, before, kept) = (path.clone(), None, Arc::clone(kept));
    done.away.push(Away { path, place, before, kept });
    Ok(())
}

fn differences(before: &Survey, after: &Survey, settled: &Settled) -> Vec<Difference> {
    let mut found = Vec::new();
    let was = |path: &CanonicalPath| before.counted().get(path).map(|it| it.identity);
    let origins: HashMap<Identity, &CanonicalPath> =
        before.counted().iter().map(|(path, it)| (it.identity, path)).collect();
    for (path, now) in after.counted() {
        let is_same =
            was(path) == Some(now.identity) && !after.is_written_by_another_name(path, before);
        let is_meant = is_same || settled.holds(path, now.identity);
        if is_meant || after.is_newly_led(path, before) || after.is_same_link(path, before) {
            continue;
        }
        // Somebody who made a further name for a file did not move it.
        let origin = origins.get(&now.identity).filter(|origin| {
            after.counted().get(**origin).is_none_or(|it| it.identity != now.identity)
        });
        if let Some(to) = origin {
            found.push(Difference::Moved { from: path.clone(), to: (*to).clone() });
            continue;
        }
        // SECURITY: of a directory that became a repository only what makes it one is new; the rest is
        // the user's.
        let parts = after.parts().iter().filter(|(part, _)| part.parent().as_ref() == Some(path));
        let new = parts.filter(|(part, identity)| {
            before.parts().get(part) != Some(identity) && !settled.holds(part, **identity)
        });
        let new: Vec<_> = new.map(|(part, _)| Difference::Appeared(part.clone())).collect();
        match new.is_empty() {
            true => found.push(Difference::Appeared(path.clone())),
            false => found.extend(new),
        }
    }
    // What is in a directory comes before it.
    for path in after.newly_outward(before).into_iter().chain(after.new_options(before)) {
        let entry = RealDisk.look(path.as_path()).ok().flatten();
        let is_meant = entry.is_some_and(|it| settled.holds(path, Identity::at(path, &it.state)));
        if !is_meant && !after.counted().contains_key(path) {
            found.push(Difference::Appeared(path.clone()));
        }
    }
    let there: HashSet<Identity> = after.counted().values().map(|it| it.identity).collect();
    let gone = before.counted().iter().filter(|(path, then)| {
        let is_settled = settled.ours.contains_key(*path) || settled.users.contains(*path);
        !there.contains(&then.identity) && !is_settled
    });
    found.extend(gone.filter(|(path, _)| !after.is_same_link(path, before)).filter_map(
        |(path, then)| match then.kind {
            // What is in its place is moved away, and the link is made anew with that.
            Kind::Link if after.counted().contains_key(path) => None,
            Kind::Link if before.has_link_at(path) => None,
            Kind::Link => Some(Difference::Unlinked(path.clone())),
            Kind::File | Kind::Directory | Kind::Other => Some(Difference::Gone(path.clone())),
        },
    ));
    let closed = after.closed().difference(before.closed());
    found.extend(closed.cloned().map(Difference::Closed));
    found
}
