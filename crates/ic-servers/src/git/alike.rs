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
//! a directory of it was like that, and the branch does not have the directory. What was renamed and changed at
//! once is found by the file that was removed (`replaced.rs`). A link is followed only as long as it leads to the
//! same, so links are alike if they are the same object.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ic_resolve::executes::leads_to_listed;

use super::carried::{TakenIn, above, parts, tips, trees, trees_at};
use super::closed::RAW;
use super::fault::Fault;
use super::moved::LOOKUPS_MAX;
use super::rehearsal::{Entry, Rehearsal};
use super::replaced;
use super::run::Run;
use super::strays::LINK;
use super::takeover::{Terms, counted, listed};

/// How many branches are looked at, with the newest first: of those that were there when the session began.
const TIPS_MAX: usize = 256;
/// How many are looked at that were made since; with more, each file may be alike.
///
/// SECURITY: an agent can make as many as it likes, so they take no place from the others.
const NEW_TIPS_MAX: usize = 1024;
/// For how many of them it is found out where they left the commit that is checked out.
const BASES_MAX: usize = 32;
/// How much of two files git finds in both if it takes one for the other; it asks for a half itself.
const ALIKE: &str = "--find-copies=40%";
/// How many pairs of files are compared; with more, each may be alike.
pub(super) const PAIRS_MAX: usize = 1_000_000;

/// What other branches have.
#[derive(Debug)]
pub(super) struct Elsewhere {
    /// The commit that is checked out.
    pub(super) head: String,
    /// The commits that are looked at, each with what it has and the one that is checked out has not; nothing if
    /// too many were made since the session began.
    pub(super) tips: Option<Vec<(String, Vec<Entry>)>>,
}

impl Elsewhere {
    /// Looks at the other branches, or at those that do not have one of the directories if some are named; nothing
    /// if no commit is checked out.
    pub(super) fn look(
        run: &Run<'_>,
        terms: &Terms,
        directories: Option<&BTreeSet<String>>,
    ) -> Result<Option<Self>, Fault> {
        let head = run.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], b"")?;
        let head = head.output.trim_end().to_owned();
        if head.is_empty() {
            return Ok(None);
        }
        let tips = looked_at(run, terms, &head)?;
        let tips = match directories {
            Some(directories) => lacking(run, tips, directories)?,
            None => tips,
        };
        let Some(tips) = tips else { return Ok(Some(Self { head, tips: None })) };
        let pairs: Vec<(&str, &str)> = tips.iter().map(|tip| (&**tip, &*head)).collect();
        let mut added = added(run, &pairs)?;
        let tips = tips.into_iter().map(|tip| {
            let added = added.remove(&tip).unwrap_or_default();
            (tip, added)
        });
        let tips = Some(tips.collect());
        Ok(Some(Self { head, tips }))
    }
}

/// Returns the names of the files that git may take for ones that count elsewhere.
pub(super) fn find(
    run: &Run<'_>,
    terms: &Terms,
    (taken_in, elsewhere): (&TakenIn, &Elsewhere),
) -> Result<BTreeSet<String>, Fault> {
    let head = elsewhere.head.as_str();
    let targets = match &elsewhere.tips {
        Some(tips) => targets(run, terms, tips)?,
        None => None,
    };
    let Some((Targets { files: targets, links }, with_targets)) = targets else {
        let names = taken_in.files.iter().map(|it| &it.path);
        return Ok(names.chain(&taken_in.gone).cloned().collect());
    };
    if targets.is_empty() && links.is_empty() {
        return Ok(BTreeSet::new());
    }
    let names: BTreeSet<&str> = taken_in.files.iter().map(|it| it.path.as_str()).collect();
    let gone = gone(run, &names, &with_targets)?;
    let mut sources = Sources::new();
    let mut found = BTreeSet::new();
    let followed = RefCell::new(BTreeSet::new());
    let note = |sources: &mut Sources, path: &str, (mode, id): (&str, &str)| {
        let beside = above(path).filter_map(|it| gone.get(&it)).flatten();
        let own = names.contains(path).then(|| path.to_owned());
        let paths: BTreeSet<String> = beside.cloned().chain(own).collect();
        if mode == LINK && links.contains(id) {
            followed.borrow_mut().extend(paths);
        } else if mode.starts_with("100") && !paths.is_empty() {
            sources.entry(id.to_owned()).or_default().extend(paths);
        }
    };
    for old in &taken_in.before {
        note(&mut sources, &old.path, (&old.mode, &old.id));
    }
    // What was between two steps may be known to the rehearsal alone.
    let unknown = unknown(run, sources.keys().map(String::as_str))?;
    found.extend(unknown.iter().filter_map(|id| sources.remove(id)).flatten());
    // Of several steps that are taken at once, one may be alike for the next.
    if taken_in.left.is_some() {
        let mut steps = Sources::new();
        for new in &taken_in.files {
            note(&mut steps, &new.path, (&new.mode, &new.id));
        }
        for id in self::unknown(run, steps.keys().map(String::as_str))? {
            steps.remove(&id);
        }
        for (id, paths) in steps {
            sources.entry(id).or_default().extend(paths);
        }
    }
    let bases = bases(run, head, &with_targets)?;
    let listings = listings(run, bases.iter().chain(&taken_in.known))?;
    let trees: Vec<BTreeMap<&str, (&str, &str)>> =
        listings.iter().map(|said| said.split('\0').filter_map(listed).collect()).collect();
    for (path, about) in trees.iter().flatten() {
        note(&mut sources, path, *about);
    }
    found.extend(followed.take());
    // A new file may stand where some commit had the one that it renamed. What is in no file of ours is new.
    let had: BTreeSet<&str> = trees.iter().flat_map(|it| it.values()).map(|(_, id)| *id).collect();
    let is_new = |id: &str| !(id.is_empty() || had.contains(id) || targets.contains(id));
    for new in taken_in.files.iter().filter(|it| it.mode != LINK && is_new(&it.id)) {
        note(&mut sources, &new.path, (&new.mode, &new.id));
    }
    // What a rehearsal made is not known here.
    for id in self::unknown(run, sources.keys().map(String::as_str))? {
        sources.remove(&id);
    }
    found.extend(replaced::find(run, taken_in, (&trees, &targets))?);
    if PAIRS_MAX < sources.len() * targets.len() {
        found.extend(sources.into_values().flatten());
        return Ok(found);
    }
    let ids: Vec<&str> = sources.keys().map(String::as_str).collect();
    let alike = alike(run, &ids, &targets)?;
    found.extend(alike.iter().filter_map(|id| sources.get(*id)).flatten().cloned());
    Ok(found)
}

/// Returns what is in each of these trees, as git lists it.
fn listings<'a>(
    run: &Run<'_>,
    trees: impl Iterator<Item = &'a String>,
) -> Result<Vec<String>, Fault> {
    trees.map(|it| Rehearsal::look(run, &["ls-tree", "-r", "-z", "--full-tree", it])).collect()
}

/// Files by the numbers of objects: what follows if git takes the object for a file that counts.
type Sources = BTreeMap<String, BTreeSet<String>>;

/// Returns the numbers that the repository does not have.
pub(super) fn unknown<'a>(
    run: &Run<'_>,
    ids: impl Iterator<Item = &'a str> + Clone,
) -> Result<Vec<String>, Fault> {
    let asked: String = ids.clone().flat_map(|id| [id, "\n"]).collect();
    let words = ["cat-file", "--batch-check=%(objecttype)"];
    let said = Rehearsal::look_with(run, &words, asked.as_bytes())?;
    let all = ids.zip(said.lines());
    Ok(all.filter(|(_, kind)| *kind != "blob").map(|(id, _)| id.to_owned()).collect())
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

/// Returns those of the commits that do not have one of the directories; nothing if they are too many.
fn lacking(
    run: &Run<'_>,
    tips: Option<Vec<String>>,
    directories: &BTreeSet<String>,
) -> Result<Option<Vec<String>>, Fault> {
    let is_few = |tips: &Vec<String>| tips.len() * directories.len() <= LOOKUPS_MAX;
    let Some(mut tips) = tips.filter(is_few) else { return Ok(None) };
    let pairs = tips.iter().flat_map(|tip| directories.iter().map(move |at| (&**tip, &**at)));
    let pairs: Vec<(&str, &str)> = pairs.collect();
    let trees = trees_at(run, &pairs)?;
    let without = pairs.iter().zip(trees).filter(|(_, tree)| tree.is_none());
    let without: BTreeSet<String> = without.map(|((tip, _), _)| (*tip).to_owned()).collect();
    tips.retain(|tip| without.contains(tip));
    Ok(Some(tips))
}

/// Returns the commits that are looked at; nothing if too many were made since the session began.
fn looked_at(run: &Run<'_>, terms: &Terms, head: &str) -> Result<Option<Vec<String>>, Fault> {
    let new = since_the_beginning(run, terms)?;
    let tips = tips(run)?.into_iter().filter(|tip| tip != head);
    let (new, mut looked_at): (Vec<_>, Vec<_>) = tips.partition(|tip| new.contains(tip));
    looked_at.truncate(TIPS_MAX);
    let is_few = new.len() <= NEW_TIPS_MAX && terms.new_tips.len() <= NEW_TIPS_MAX;
    looked_at.extend(new);
    Ok(is_few.then_some(looked_at))
}

/// Returns the commits that only branches, tags and entries put aside have that were made since the session
/// began.
fn since_the_beginning(run: &Run<'_>, terms: &Terms) -> Result<BTreeSet<String>, Fault> {
    if terms.new_tips.is_empty() {
        return Ok(BTreeSet::new());
    }
    let refs = Rehearsal::look(run, &["for-each-ref", "--format=%(objectname) %(*objectname)"])?;
    let stash = Rehearsal::look(run, &["stash", "list", "--format=%H %P"])?;
    let (mut new, mut old) = (BTreeSet::new(), BTreeSet::new());
    for line in refs.lines().chain(stash.lines()) {
        let ids: Vec<&str> = line.split_whitespace().collect();
        let is_new = ids.first().is_some_and(|id| terms.new_tips.contains(*id));
        let all = if is_new { &mut new } else { &mut old };
        all.extend(ids.into_iter().map(ToOwned::to_owned));
    }
    new.retain(|id| !old.contains(id));
    Ok(new)
}

/// What branches have under names that count, by the numbers of objects.
struct Targets {
    files: BTreeSet<String>,
    links: BTreeSet<String>,
}

/// Returns what branches and older commits have under names that count and that are not here, and these branches;
/// nothing if that cannot be known.
fn targets(
    run: &Run<'_>,
    terms: &Terms,
    tips: &[(String, Vec<Entry>)],
) -> Result<Option<(Targets, Vec<String>)>, Fault> {
    let all: Vec<Entry> = tips.iter().flat_map(|(_, entries)| entries).cloned().collect();
    let leads = |it: &&Entry| it.mode == LINK && leads_to_listed(&parts(&it.path));
    let mut counting: BTreeSet<Entry> = all.iter().filter(leads).cloned().collect();
    if !all.is_empty() {
        counting.extend(counted(run, terms, all)?);
    }
    let has = |(_, entries): &&(String, Vec<Entry>)| entries.iter().any(|it| counting.contains(it));
    let tips = tips.iter().filter(has).map(|(tip, _)| tip.clone()).collect();
    let ids = |is_meant: &dyn Fn(&str) -> bool| {
        let meant = counting.iter().filter(|it| is_meant(&it.mode));
        meant.map(|it| it.id.clone()).collect()
    };
    let mut targets =
        Targets { files: ids(&|mode| mode.starts_with("100")), links: ids(&|mode| mode == LINK) };
    // Any commit may be reverted, picked or gone back to, whether or not it is the newest of a branch.
    let Some(past) = run.past.counting(run, terms)? else { return Ok(None) };
    for Entry { mode, id, .. } in past {
        let all = if mode == LINK { &mut targets.links } else { &mut targets.files };
        all.insert(id);
    }
    Ok(Some((targets, tips)))
}

/// Returns what commits have that others have not: of each pair, what the first has, by its number.
pub(super) fn added(
    run: &Run<'_>,
    pairs: &[(&str, &str)],
) -> Result<BTreeMap<String, Vec<Entry>>, Fault> {
    let mut asked = String::new();
    for (commit, without) in pairs {
        // The second is taken for the parent of the first.
        let _ = writeln!(asked, "{commit} {without}");
    }
    let mut added: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    if asked.is_empty() {
        return Ok(added);
    }
    let words = [&["diff-tree", "--stdin", "-r", "--diff-filter=A"], &RAW[..]].concat();
    let said = Rehearsal::look_with(run, &words, asked.as_bytes())?;
    let mut of = None;
    let mut parts = said.split('\0').map(|it| it.trim_start_matches('\n'));
    while let Some(part) = parts.next() {
        match (part.starts_with(':'), of) {
            (true, Some(commit)) => {
                let text = format!("{part}\0{}", parts.next().unwrap_or_default());
                let new = Entry::parse(&text)?.into_iter().map(|(_, new)| new);
                added.entry(str::to_owned(commit)).or_default().extend(new);
            }
            (true, None) => return Err(Fault::Not("git named no commit".to_owned())),
            (false, _) if part.is_empty() => {}
            (false, _) => of = Some(part),
        }
    }
    Ok(added)
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

/// Returns those of the files that are much like one of the models.
///
/// SECURITY: each by itself. If each model were given to the file that is most like it, as git does for
/// renames, a file that is made more alike would hide another one. So they are looked at as copies, of which one
/// model may have many.
pub(super) fn alike<'a>(
    run: &Run<'_>,
    files: &[&'a str],
    models: &BTreeSet<String>,
) -> Result<BTreeSet<&'a str>, Fault> {
    let rehearsal = Rehearsal::make(run)?;
    let tree = |files: &[&str]| {
        let models = models.iter().map(|id| (id.as_str(), 'm'));
        let files = files.iter().map(|id| (*id, 'f'));
        let mut text = String::new();
        for (n, (id, mark)) in models.chain(files).enumerate() {
            let _ = writeln!(text, "100644 blob {id}\t{mark}{n}");
        }
        rehearsal.done(&["mktree"], text.as_bytes()).map(|id| id.trim_end().to_owned())
    };
    let (old, new) = (tree(&[])?, tree(files)?);
    let options = ["diff-tree", "-r", "-z", "--name-status", ALIKE, "--find-copies-harder"];
    let words = [&options[..], &["-l0", "--no-rename-empty", &old, &new, "--"]].concat();
    let said = rehearsal.done(&words, b"")?;
    let odd = || Fault::Not("git named an unknown file".to_owned());
    let mut parts = said.split('\0');
    let mut found = BTreeSet::new();
    while let Some(letter) = parts.next() {
        let _ = parts.next();
        if letter.starts_with(['C', 'R']) {
            let file = parts.next().ok_or_else(odd)?;
            let place = file.strip_prefix('f').and_then(|it| it.parse::<usize>().ok());
            let place = place.and_then(|it| it.checked_sub(models.len()));
            found.insert(*place.and_then(|it| files.get(it)).ok_or_else(odd)?);
        }
    }
    Ok(found)
}
