//! What commits had under names that count, and what is checked out has not: whichever commit it is, the user may
//! revert it, pick it, or go back to it.
//!
//! ```text
//! X: .exrc ─▶ sample.exrc      here: sample.exrc is changed
//! the user's `git revert X`: .exrc, with the change
//! ```
//!
//! Which names commits ever added is asked once, and then only of commits that are new. Where git cannot say it, in
//! time or at all, any file may be like one that counts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use super::fault::Fault;
use super::rehearsal::{Entry, Rehearsal};
use super::run::Run;
use super::takeover::{Terms, counted};
use super::underway::{self, ids};

/// Where else git keeps numbers of commits that the user may bring.
const HEADS: [&str; 9] = [
    "FETCH_HEAD",
    "MERGE_AUTOSTASH",
    "BISECT_HEAD",
    "AUTO_MERGE",
    "rebase-merge/autostash",
    "rebase-apply/autostash",
    "rebase-apply/orig-head",
    "rebase-apply/onto",
    "rebase-apply/abort-safety",
];

/// What is known of the past of repositories.
#[derive(Debug, Default)]
pub(super) struct Past {
    known: Mutex<BTreeMap<String, Known>>,
}

#[derive(Clone, Debug, Default)]
struct Known {
    /// The commits of which everything before is known.
    tips: BTreeSet<String>,
    /// Every name that one of them added.
    names: BTreeSet<String>,
    /// Whether git could not list them all; not asked again, since it takes long.
    is_unknown: bool,
    /// What there was under names that were asked about.
    asked: BTreeSet<String>,
    files: BTreeSet<Entry>,
}

impl Past {
    /// Returns what commits had under names that count and that the index does not have; `None` if git cannot say
    /// it, so that it may be anything.
    pub(super) fn counting(
        &self,
        run: &Run<'_>,
        terms: &Terms,
    ) -> Result<Option<BTreeSet<Entry>>, Fault> {
        let place = run.repository.common_path().to_string_lossy().into_owned();
        let all = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = all().get(&place).cloned().unwrap_or_default();
        if known.is_unknown {
            return Ok(None);
        }
        let tips = tips(run)?;
        if tips != known.tips {
            let options = ["--name-only", "--diff-filter=A"];
            // SECURITY: what is not known must not pass for nothing.
            let Ok(new) = log(run, (&tips, &known.tips), &options, &[]) else {
                all().insert(place, Known { is_unknown: true, ..Known::default() });
                return Ok(None);
            };
            known.names.extend(new.split('\0').map(|it| it.trim_start_matches('\n').to_owned()));
            known.names.remove("");
            known = Known { tips, names: known.names, ..Known::default() };
        }
        let index = Rehearsal::look(run, &["ls-files", "-z"])?;
        let here: BTreeSet<&str> = index.split('\0').collect();
        let gone = known.names.iter().filter(|it| !here.contains(it.as_str()));
        let gone: Vec<Entry> = gone.map(|it| Entry::file(it, "")).collect();
        let counting = if gone.is_empty() { gone } else { counted(run, terms, gone)? };
        let names: BTreeSet<String> = counting.into_iter().map(|it| it.path).collect();
        if names != known.asked {
            known.files = versions(run, &known.tips, &names)?;
            known.asked = names;
        }
        let files = known.files.clone();
        all().insert(place, known);
        Ok(Some(files))
    }
}

/// Returns all commits that git has a name for, or has written down.
fn tips(run: &Run<'_>) -> Result<BTreeSet<String>, Fault> {
    let refs = Rehearsal::look(run, &["rev-list", "--no-walk", "--all", "--reflog"])?;
    let mut found: BTreeSet<String> = refs.split_whitespace().map(ToOwned::to_owned).collect();
    let mut written = BTreeSet::new();
    for name in HEADS.iter().chain(&underway::FILES) {
        let text = run.repository.read(name)?.unwrap_or_default();
        written.extend(ids(&String::from_utf8_lossy(&text)));
    }
    if !written.is_empty() {
        let asked: String = written.iter().flat_map(|id| [id.as_str(), "\n"]).collect();
        let words = ["cat-file", "--batch-check=%(objecttype) %(objectname)"];
        let said = Rehearsal::look_with(run, &words, asked.as_bytes())?;
        let commits = said.lines().filter_map(|line| line.strip_prefix("commit "));
        found.extend(commits.map(ToOwned::to_owned));
    }
    Ok(found)
}

/// Returns what there was under these names.
fn versions(
    run: &Run<'_>,
    tips: &BTreeSet<String>,
    names: &BTreeSet<String>,
) -> Result<BTreeSet<Entry>, Fault> {
    let names: Vec<&str> =
        names.iter().map(String::as_str).filter(|it| !it.contains('\n')).collect();
    if names.is_empty() {
        return Ok(BTreeSet::new());
    }
    let options = ["--raw", "--no-abbrev", "--diff-filter=AMT"];
    let said = log(run, (tips, &BTreeSet::new()), &options, &names)?;
    let said: String = said.split('\n').collect();
    Ok(Entry::parse(&said)?.into_iter().map(|(_, new)| new).collect())
}

/// Returns what commits changed, but for those before others.
fn log(
    run: &Run<'_>,
    (tips, without): (&BTreeSet<String>, &BTreeSet<String>),
    options: &[&str],
    names: &[&str],
) -> Result<String, Fault> {
    let mut asked: String = tips.iter().flat_map(|it| [it.as_str(), "\n"]).collect();
    asked.extend(without.iter().flat_map(|it| ["^", it, "\n"]));
    if !names.is_empty() {
        asked.push_str("--\n");
        // Git is told to take them literally.
        asked.extend(names.iter().flat_map(|it| [*it, "\n"]));
    }
    // Of a merge: what none of its parents has so.
    let all = ["log", "-c", "-z", "--no-renames", "--format=", "--full-history"];
    let words = [&all[..], options, &["--stdin"]].concat();
    match tips.is_subset(without) {
        true => Ok(String::new()),
        false => Rehearsal::look_with(run, &words, asked.as_bytes()),
    }
}
