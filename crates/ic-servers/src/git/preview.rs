//! What a push would send, told before anybody is asked about it: commits, and the files they change.
//!
//! Asked by the host over its own connection, in a cage that shows the repository to be read; the tool is
//! not offered to anybody. By object ids only, so that what is told is about what is judged. All of it
//! is text of strangers.

use std::fmt::Write as _;

use ic_types::{Json, Object};

use super::deed::Deed;
use super::fault::Fault;
use super::names::ObjectId;
use super::refs::is_number;
use super::run::Run;
use super::{Git, Place, Told};
use crate::filesystem::Rights;
use crate::tools::Caller;

/// The method by which the host asks for it.
pub const PREVIEW_METHOD: &str = "ironcurtain/push_preview";
/// How many commits, and how many files, of one ref are told.
const SHOWN_MAX: usize = 50;
/// SECURITY: what stands in for another object here is not what is sent.
const PLAIN: &str = "--no-replace-objects";
/// The tree with nothing in it, which git knows without having it.
const EMPTY: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";
/// How many refs are told about.
const REFS_MAX: usize = 20;

/// Tells what the refs in `arguments` would send: `path`, and `refs` with `ref`, `old` and `new`.
pub(super) fn preview(git: &Git, arguments: &Object, caller: Caller<'_>) -> Told {
    let bad = || Fault::Not("a preview names a path and refs".to_owned());
    let path = arguments.get("path").and_then(Json::as_str).ok_or_else(bad)?;
    let Some(Json::Array(refs)) = arguments.get("refs") else { return Err(bad()) };
    let place = Place { path: git.reach.find(path, Rights::NONE)?, bound: None };
    git.work(&place, Rights::READ, caller, |run| {
        let mut told = String::new();
        for it in refs.iter().take(REFS_MAX) {
            let Json::Object(it) = it else { return Err(bad()) };
            let get = |key: &str| it.get(key).and_then(Json::as_str);
            let (Some(name), Some(new)) = (get("ref"), get("new")) else { continue };
            if !is_number(new) {
                return Err(bad());
            }
            let old = get("old").filter(|old| is_number(old));
            tell(run, name, (old, new), &mut told)?;
        }
        if REFS_MAX < refs.len() {
            let _ = writeln!(told, "and {} more refs", refs.len() - REFS_MAX);
        }
        Ok(told)
    })
}

fn tell(
    run: &Run<'_>,
    name: &str,
    (old, new): (Option<&str>, &str),
    told: &mut String,
) -> Result<(), Fault> {
    let new = ObjectId::commit(run, new)?;
    // What was fetched may be gone here; then it is as if it were not known.
    let old = old.and_then(|old| ObjectId::commit(run, old).ok());
    let without = match &old {
        Some(old) => format!("^{}", old.as_str()),
        None => "--not".to_owned(),
    };
    let remotes = if old.is_none() { &["--remotes"][..] } else { &[] };
    let range = |words: &[&str]| {
        let words = [&[PLAIN], words, &[new.as_str(), &without], remotes].concat();
        run.git_for(&Deed::Leaves, &words).map(|said| said.output)
    };
    let count = range(&["rev-list", "--count"])?;
    let since = if old.is_some() { "since it was last fetched" } else { "that no remote had" };
    let commits = if count.trim() == "1" { "commit" } else { "commits" };
    let _ = writeln!(told, "{name}: {} {commits} {since}", count.trim());
    let max = format!("--max-count={SHOWN_MAX}");
    let log =
        range(&["log", "--no-decorate", "--no-show-signature", &max, "--format=%h %s (%an)"])?;
    for line in log.lines().take(SHOWN_MAX) {
        let _ = writeln!(told, "commit {line}");
    }
    if let Some(old) = &old {
        let not = format!("^{}", new.as_str());
        let lost =
            run.git_for(&Deed::Leaves, &[PLAIN, "rev-list", "--count", old.as_str(), &not])?.output;
        if lost.trim() != "0" {
            let commits = if lost.trim() == "1" { "commit" } else { "commits" };
            let _ = writeln!(told, "takes {} {commits} away from the remote", lost.trim());
        }
    }
    let base = match &old {
        Some(old) => old.as_str(),
        None if new.as_str().len() == EMPTY.len() => EMPTY,
        None => EMPTY_SHA256,
    };
    let words = [PLAIN, "diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--name-status"];
    let files =
        run.git_for(&Deed::Leaves, &[&words[..], &[base, new.as_str(), "--"]].concat())?.output;
    for line in files.lines().take(SHOWN_MAX) {
        let _ = writeln!(told, "file {line}");
    }
    let n_files = files.lines().count();
    if SHOWN_MAX < n_files {
        let _ = writeln!(told, "and {} more files", n_files - SHOWN_MAX);
    }
    Ok(())
}
