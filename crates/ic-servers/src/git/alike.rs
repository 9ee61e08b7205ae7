//! Files that git may take for one that another branch has under a name that counts.
//!
//! ```text
//! dev: sample.envrc ─▶ .envrc      here: sample.envrc is changed
//! merged, picked, rebased, or brought back on dev: .envrc, with the change
//! ```
//!
//! Git finds that out by what is in the files. So a change is told if the file was, before it, much like a file
//! that counts, that some branch has and that is not here; whoever called it so, and in however many steps.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::carried::{TakenIn, tips};
use super::closed::RAW;
use super::fault::Fault;
use super::rehearsal::{Entry, Rehearsal};
use super::run::Run;
use super::takeover::{Terms, counted, listed};

/// How many branches are looked at, with the newest first.
const TIPS_MAX: usize = 256;
/// For how many of them it is found out where they left the commit that is checked out.
const BASES_MAX: usize = 32;
/// How much of two files git finds in both if it takes one for the other; it asks for a half itself.
const ALIKE: &str = "--find-renames=40%";
/// How many pairs of files are compared; with more, each may be alike.
const PAIRS_MAX: usize = 1_000_000;

/// Returns the names of the files that git may take for ones that count elsewhere.
pub(super) fn find(
    run: &Run<'_>,
    terms: &Terms,
    taken_in: &TakenIn,
) -> Result<BTreeSet<String>, Fault> {
    let none = BTreeSet::new();
    let head = run.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], b"")?;
    let head = head.output.trim_end();
    if taken_in.files.is_empty() || head.is_empty() {
        return Ok(none);
    }
    let (targets, with_targets) = targets(run, terms, head)?;
    if targets.is_empty() {
        return Ok(none);
    }
    let names: BTreeSet<&str> = taken_in.files.iter().map(|it| it.path.as_str()).collect();
    let mut sources: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut note = |id: &str, path: &str| {
        sources.entry(id.to_owned()).or_default().insert(path.to_owned());
    };
    for old in taken_in.before.iter().filter(|it| names.contains(it.path.as_str())) {
        note(&old.id, &old.path);
    }
    for base in bases(run, head, &with_targets)? {
        let said = Rehearsal::look(run, &["ls-tree", "-r", "-z", "--full-tree", &base])?;
        for (path, (_, id)) in said.split('\0').filter_map(listed) {
            if names.contains(path) {
                note(id, path);
            }
        }
    }
    if PAIRS_MAX < sources.len() * targets.len() {
        return Ok(sources.into_values().flatten().collect());
    }
    let ids: Vec<&String> = sources.keys().collect();
    let alike = pairs(run, &ids, &targets)?;
    let of = |n: usize| ids.get(n).and_then(|id| sources.get(*id)).into_iter().flatten().cloned();
    Ok(alike.into_iter().flat_map(of).collect())
}

/// Returns what branches have under names that count and that are not here, and these branches.
fn targets(
    run: &Run<'_>,
    terms: &Terms,
    head: &str,
) -> Result<(BTreeSet<String>, Vec<String>), Fault> {
    let mut asked = String::new();
    for tip in tips(run)?.iter().filter(|tip| *tip != head).take(TIPS_MAX) {
        // The second is taken for the parent of the first.
        let _ = writeln!(asked, "{tip} {head}");
    }
    if asked.is_empty() {
        return Ok(Default::default());
    }
    let words = [&["diff-tree", "--stdin", "-r", "--diff-filter=A"], &RAW[..]].concat();
    let said = Rehearsal::look_with(run, &words, asked.as_bytes())?;
    let mut added: Vec<(&str, Vec<Entry>)> = Vec::new();
    let mut parts = said.split('\0').map(|it| it.trim_start_matches('\n'));
    while let Some(part) = parts.next() {
        match (part.starts_with(':'), added.last_mut()) {
            (true, Some((_, entries))) => {
                let text = format!("{part}\0{}", parts.next().unwrap_or_default());
                entries.extend(Entry::parse(&text)?.into_iter().map(|(_, new)| new));
            }
            (true, None) => return Err(Fault::Not("git named no commit".to_owned())),
            (false, _) if part.is_empty() => {}
            (false, _) => added.push((part, Vec::new())),
        }
    }
    let all: Vec<Entry> = added.iter().flat_map(|(_, entries)| entries).cloned().collect();
    let counted: BTreeSet<Entry> = match all.is_empty() {
        true => BTreeSet::new(),
        false => counted(run, terms, all)?.into_iter().collect(),
    };
    let has = |(_, entries): &&(&str, Vec<Entry>)| entries.iter().any(|it| counted.contains(it));
    let tips = added.iter().filter(has).map(|(tip, _)| (*tip).to_owned()).collect();
    let is_file = |it: &Entry| it.mode.starts_with("100");
    Ok((counted.into_iter().filter(is_file).map(|it| it.id).collect(), tips))
}

/// Returns the commits from which git may see a change: what is checked out, and where branches left it.
fn bases(run: &Run<'_>, head: &str, tips: &[String]) -> Result<BTreeSet<String>, Fault> {
    let mut bases = BTreeSet::from([head.to_owned()]);
    let (some, rest) = tips.split_at(tips.len().min(BASES_MAX));
    let mut all: Vec<&[String]> = some.iter().map(std::slice::from_ref).collect();
    all.extend((!rest.is_empty()).then_some(rest));
    for tips in all {
        let mut words = vec!["merge-base", "--all", head];
        words.extend(tips.iter().map(String::as_str));
        bases.extend(run.ask(&words, b"")?.output.lines().map(ToOwned::to_owned));
    }
    Ok(bases)
}

/// Returns the places of those among `old` that git takes for one of `new`.
fn pairs(run: &Run<'_>, old: &[&String], new: &BTreeSet<String>) -> Result<Vec<usize>, Fault> {
    let rehearsal = Rehearsal::make(run)?;
    let tree = |ids: &mut dyn Iterator<Item = &String>, mark: char| {
        let mut text = String::new();
        for (n, id) in ids.enumerate() {
            let _ = writeln!(text, "100644 blob {id}\t{mark}{n}");
        }
        rehearsal.done(&["mktree"], text.as_bytes()).map(|id| id.trim_end().to_owned())
    };
    let (old, new) = (tree(&mut old.iter().copied(), 'o')?, tree(&mut new.iter(), 'n')?);
    let options = ["diff-tree", "-r", "-z", "--name-status", ALIKE, "-l0", "--no-rename-empty"];
    let said = rehearsal.done(&[&options[..], &[&old, &new, "--"]].concat(), b"")?;
    let mut parts = said.split('\0');
    let mut found = Vec::new();
    while let Some(letter) = parts.next() {
        let path = parts.next();
        if letter.starts_with('R') {
            let _ = parts.next();
            let place = path.and_then(|it| it.strip_prefix('o')).and_then(|it| it.parse().ok());
            found.push(place.ok_or_else(|| Fault::Not("git named an unknown file".to_owned()))?);
        }
    }
    Ok(found)
}
