//! Files that git may take for one that another branch has under a name that counts.
//!
//! ```text
//! dev: sample.envrc ─▶ .envrc      here: sample.envrc is changed
//! merged, picked, rebased, or brought back on dev: .envrc, with the change
//! ```
//!
//! Git finds that out by what is in the files. So a change is told if the file was, before it, much like a file
//! that counts, that some branch has and that is not here; whoever called it so, and in however many steps.
//! Whole directories follow in the same way, with what is new in them: so it is told, too, if another file in
//! a directory of it was like that, and the branch does not have the directory.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::carried::{TakenIn, above, tips, trees};
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
const ALIKE: &str = "--find-copies=40%";
/// Every file may be what another one is a copy of.
const HARDER: &str = "--find-copies-harder";
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
    // One that goes in the same step may have been renamed to any of those that come.
    let moved: BTreeSet<&str> = taken_in.gone.iter().map(String::as_str).collect();
    let old: BTreeSet<&str> = taken_in.before.iter().map(|it| it.path.as_str()).collect();
    let new: BTreeSet<&str> = names.difference(&old).copied().collect();
    let gone = gone(run, &names, &with_targets)?;
    let mut sources = Sources::new();
    let mut found = BTreeSet::new();
    let note = |sources: &mut Sources, path: &str, (mode, id): (&str, &str)| {
        let beside = above(path).filter_map(|it| gone.get(&it)).flatten();
        let own = names.contains(path).then(|| path.to_owned());
        let renamed = new.iter().filter(|_| moved.contains(path)).map(|it| (*it).to_owned());
        let paths: BTreeSet<String> = beside.cloned().chain(own).chain(renamed).collect();
        if mode.starts_with("100") && !paths.is_empty() {
            sources.entry(id.to_owned()).or_default().extend(paths);
        }
    };
    for old in &taken_in.before {
        note(&mut sources, &old.path, (&old.mode, &old.id));
    }
    // What was between two steps may be known to the rehearsal alone.
    let unknown = unknown(run, &sources)?;
    found.extend(unknown.iter().filter_map(|id| sources.remove(id)).flatten());
    // Of several steps that are taken at once, one may be alike for the next.
    if taken_in.left.is_some() {
        let mut steps = Sources::new();
        for new in &taken_in.files {
            note(&mut steps, &new.path, (&new.mode, &new.id));
        }
        for id in self::unknown(run, &steps)? {
            steps.remove(&id);
        }
        for (id, paths) in steps {
            sources.entry(id).or_default().extend(paths);
        }
    }
    let mut bases = bases(run, head, &with_targets)?;
    bases.extend(taken_in.known.iter().cloned());
    for base in bases {
        let said = Rehearsal::look(run, &["ls-tree", "-r", "-z", "--full-tree", &base])?;
        for (path, about) in said.split('\0').filter_map(listed) {
            note(&mut sources, path, about);
        }
    }
    if PAIRS_MAX < sources.len() * targets.len() {
        found.extend(sources.into_values().flatten());
        return Ok(found);
    }
    let ids: Vec<&String> = sources.keys().collect();
    let alike = pairs(run, &ids, &targets)?;
    let of = |n: usize| ids.get(n).and_then(|id| sources.get(*id)).into_iter().flatten().cloned();
    found.extend(alike.into_iter().flat_map(of));
    Ok(found)
}

/// Files by the numbers of objects: what follows if git takes the object for a file that counts.
type Sources = BTreeMap<String, BTreeSet<String>>;

/// Returns the numbers that the repository does not have.
fn unknown(run: &Run<'_>, sources: &Sources) -> Result<Vec<String>, Fault> {
    let asked: String = sources.keys().flat_map(|id| [id.as_str(), "\n"]).collect();
    let words = ["cat-file", "--batch-check=%(objecttype)"];
    let said = Rehearsal::look_with(run, &words, asked.as_bytes())?;
    let all = sources.keys().zip(said.lines());
    Ok(all.filter(|(_, kind)| *kind != "blob").map(|(id, _)| id.clone()).collect())
}

/// Returns the directories above the names that some of the branches do not have, with the names in them.
fn gone(
    run: &Run<'_>,
    names: &BTreeSet<&str>,
    tips: &[String],
) -> Result<BTreeMap<String, BTreeSet<String>>, Fault> {
    let mut beneath: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for name in names {
        for directory in above(name) {
            beneath.entry(directory).or_default().insert((*name).to_owned());
        }
    }
    let directories: Vec<String> = beneath.keys().cloned().collect();
    let there = trees(run, tips, &directories)?;
    beneath.retain(|it, _| there.get(it).map_or(0, Vec::len) < tips.len());
    Ok(beneath)
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
        return Ok((BTreeSet::new(), Vec::new()));
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

/// Returns the places of those among `old` that git may take for one of `new`.
///
/// SECURITY: each is compared with all of `new`. Looked for as renames, each of `new` would have one partner
/// alone, and a file that is more alike would hide the others; so they are looked for as copies of `new`.
fn pairs(run: &Run<'_>, old: &[&String], new: &BTreeSet<String>) -> Result<Vec<usize>, Fault> {
    let rehearsal = Rehearsal::make(run)?;
    let mut text = String::new();
    for (n, id) in new.iter().enumerate() {
        let _ = writeln!(text, "100644 blob {id}\tn{n}");
    }
    let tree = |text: &str| {
        rehearsal.done(&["mktree"], text.as_bytes()).map(|id| id.trim_end().to_owned())
    };
    let without = tree(&text)?;
    for (n, id) in old.iter().enumerate() {
        let _ = writeln!(text, "100644 blob {id}\to{n}");
    }
    let with = tree(&text)?;
    let options = ["diff-tree", "-r", "-z", "--name-status", ALIKE, HARDER, "-l0"];
    let rest = ["--no-rename-empty", &without, &with, "--"];
    let said = rehearsal.done(&[&options[..], &rest].concat(), b"")?;
    let mut parts = said.split('\0');
    let mut found = Vec::new();
    while let Some(letter) = parts.next() {
        let _ = parts.next();
        if letter.starts_with('C') {
            let place = parts.next().and_then(|it| it.strip_prefix('o'));
            let place = place.and_then(|it| it.parse().ok());
            found.push(place.ok_or_else(|| Fault::Not("git named an unknown file".to_owned()))?);
        }
    }
    Ok(found)
}
