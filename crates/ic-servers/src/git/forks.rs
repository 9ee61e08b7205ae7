//! Where branches left the commit that is checked out.

use std::collections::{BTreeMap, BTreeSet};

use super::fault::Fault;
use super::rehearsal::Rehearsal;
use super::run::Run;

/// Returns where each of the commits left `head`, unless that holds it: more than the common ancestors, if the two
/// were put together in between.
pub(super) fn left_at<'c>(
    run: &Run<'_>,
    head: &str,
    commits: impl Iterator<Item = &'c str>,
) -> Result<BTreeMap<String, BTreeSet<String>>, Fault> {
    let commits: BTreeSet<&str> = commits.collect();
    let mut left = BTreeMap::new();
    if commits.is_empty() {
        return Ok(left);
    }
    let mut asked: String = commits.iter().flat_map(|it| [*it, "\n"]).collect();
    asked.push_str(&["^", head, "\n"].concat());
    let words = ["rev-list", "--boundary", "--parents", "--stdin"];
    let said = Rehearsal::look_with(run, &words, asked.as_bytes())?;
    let mut parents: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in said.lines().filter(|line| !line.starts_with('-')) {
        let mut ids = line.split(' ');
        parents.insert(ids.next().unwrap_or_default(), ids.collect());
    }
    for commit in commits.into_iter().filter(|it| parents.contains_key(it)) {
        let (mut seen, mut rest) = (BTreeSet::from([commit]), vec![commit]);
        let mut bases = BTreeSet::new();
        while let Some(at) = rest.pop() {
            match parents.get(at) {
                Some(parents) => rest.extend(parents.iter().filter(|it| seen.insert(**it))),
                None => bases.extend([at.to_owned()]),
            }
        }
        left.insert(commit.to_owned(), bases);
    }
    Ok(left)
}
