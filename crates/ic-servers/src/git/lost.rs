//! Commits that no branch or tag has any more, or yet: their numbers still name them.
//!
//! An agent that knows such a number makes a branch of it whenever it likes, and git itself offers them to
//! the user in its logs. So what they add and remove is asked for before it is on a branch.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use rustix::fd::BorrowedFd;
use rustix::io::Errno;

use super::fault::Fault;
use super::rehearsal::Rehearsal;
use super::repository::read;
use super::run::Run;
use super::takeover::ids;
use crate::filesystem::beneath;

/// How many of them are looked at; with more, each may have anything.
const LOST_MAX: usize = 2000;
/// How many objects are looked at that are not in a pack.
const LOOSE_MAX: usize = 50_000;
/// The longest log that is read.
const LOG_BYTES_MAX: usize = 8 << 20;

/// A file that a lost commit adds or removes.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) commit: String,
    pub(super) is_added: bool,
    pub(super) path: String,
}

/// Returns what lost commits add and remove; `None` if they are too many.
pub(super) fn steps(run: &Run<'_>) -> Result<Option<Vec<Step>>, Fault> {
    let Some(known) = known(run)? else { return Ok(None) };
    let mut asked = String::new();
    for id in known {
        let _ = writeln!(asked, "{id}");
    }
    let words = ["cat-file", "--batch-check=%(objecttype) %(objectname)"];
    let said = Rehearsal::look_with(run, &words, asked.as_bytes())?;
    let commits: String = said
        .lines()
        .filter_map(|line| line.strip_prefix("commit "))
        .flat_map(|id| [id, "\n"])
        .collect();
    if commits.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let words = ["rev-list", "--ignore-missing", "--stdin", "--not", "--all"];
    let lost = Rehearsal::look_with(run, &words, commits.as_bytes())?;
    if LOST_MAX < lost.lines().count() {
        return Ok(None);
    }
    let words =
        ["diff-tree", "--stdin", "-r", "-m", "--root", "--no-renames", "--name-status", "-z"];
    let said = Rehearsal::look_with(run, &words, lost.as_bytes())?;
    Ok(Some(parse(&said)))
}

/// Reads the answer: the number of a commit, then a letter and a path for each file.
fn parse(said: &str) -> Vec<Step> {
    let mut parts = said.split('\0');
    let (mut commit, mut steps) = (String::new(), Vec::new());
    while let Some(part) = parts.next() {
        match part.trim_start_matches('\n') {
            "" => {}
            letter if letter.len() == 1 => {
                let path = parts.next().unwrap_or_default().to_owned();
                if let "A" | "D" = letter {
                    steps.push(Step { commit: commit.clone(), is_added: letter == "A", path });
                }
            }
            id => id.split_whitespace().next().unwrap_or_default().clone_into(&mut commit),
        }
    }
    steps
}

/// Returns the numbers that the logs know, and those of objects that are in no pack or were packed because
/// nothing leads to them.
fn known(run: &Run<'_>) -> Result<Option<BTreeSet<String>>, Fault> {
    let repository = run.repository;
    let mut known = BTreeSet::new();
    let refs = Rehearsal::look(run, &["for-each-ref", "--format=logs/%(refname)"])?;
    for name in refs.lines().chain(["logs/HEAD", "logs/refs/stash"]) {
        let Ok(text) = read(repository.common(), name, LOG_BYTES_MAX) else { return Ok(None) };
        known.extend(ids(&String::from_utf8_lossy(&text.unwrap_or_default())));
    }
    if let Ok(Some(text)) = repository.read("logs/HEAD") {
        known.extend(ids(&String::from_utf8_lossy(&text)));
    }
    let packs = list(repository.common(), "objects/pack")?;
    // A pack of what nothing leads to.
    for pack in packs.iter().filter_map(|name| name.strip_suffix(".mtimes")) {
        let name = format!("objects/pack/{pack}.idx");
        let index = read(repository.common(), &name, LOG_BYTES_MAX);
        let Ok(Some(index)) = index else { return Ok(None) };
        let said = Rehearsal::look_with(run, &["show-index"], &index)?;
        known.extend(said.lines().filter_map(|it| it.split(' ').nth(1)).map(ToOwned::to_owned));
    }
    for first in 0..=u8::MAX {
        let directory = format!("{first:02x}");
        let rest = list(repository.common(), &format!("objects/{directory}"))?;
        known.extend(rest.into_iter().map(|rest| format!("{directory}{rest}")));
        if LOOSE_MAX < known.len() {
            return Ok(None);
        }
    }
    known.retain(|id| matches!(id.len(), 40 | 64) && id.bytes().any(|byte| byte != b'0'));
    Ok(Some(known))
}

fn list(git: BorrowedFd<'_>, name: &str) -> Result<Vec<String>, Fault> {
    match beneath::list(git, Path::new(name), LOOSE_MAX) {
        Ok((_, entries, _)) => {
            Ok(entries.into_iter().filter_map(|entry| entry.name.into_string().ok()).collect())
        }
        Err(Errno::NOENT) => Ok(Vec::new()),
        Err(errno) => Err(Fault::system("list the objects")(errno)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_commit_adds_and_removes_is_told_apart() {
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let said = format!("{one}\0A\0a/x\0M\0b\0D\0c d\0{two}\0D\0e\0");
        let found: Vec<_> =
            parse(&said).into_iter().map(|it| (it.commit, it.is_added, it.path)).collect();
        let expected = [
            (one.clone(), true, "a/x".to_owned()),
            (one, false, "c d".to_owned()),
            (two, false, "e".to_owned()),
        ];
        assert_eq!(found, expected);
    }
}
