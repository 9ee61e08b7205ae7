//! The difference between two texts, line by line, in the unified form.
//!
//! Finds a shortest difference as long as it is small (Myers' greedy search); beyond that the whole
//! middle counts as replaced, which is longer to read and no less true.

use std::fmt::Write as _;

/// Lines shown around a change.
const CONTEXT: usize = 3;
/// The most changed lines for which a shortest difference is looked for.
const CHANGES_MAX: usize = 800;
/// The longest text that is returned.
const BYTES_MAX: usize = 1 << 20;

/// What becomes of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Change {
    Keep,
    Remove,
    Add,
}

/// Returns the difference, or nothing if there is none.
pub fn unified(name: &str, before: &str, after: &str) -> String {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let changes = changes(&old, &new);
    let mut out = String::new();
    for hunk in hunks(&changes) {
        if out.is_empty() {
            // Writing to a string cannot fail.
            writeln!(out, "--- {name}\n+++ {name}").ok();
        }
        write_hunk(&mut out, &hunk, &old, &new);
        if BYTES_MAX < out.len() {
            out.truncate(out.floor_char_boundary(BYTES_MAX));
            out.push_str("\n(cut: the difference is longer)\n");
            break;
        }
    }
    out
}

/// Some changes with what is around them.
struct Hunk<'a> {
    old_start: usize,
    new_start: usize,
    changes: &'a [Change],
}

fn hunks(changes: &[Change]) -> Vec<Hunk<'_>> {
    let mut hunks = Vec::new();
    let (mut old_at, mut new_at, mut done) = (0, 0, 0);
    while let Some(first) = next_change(changes, done) {
        let start = first.saturating_sub(CONTEXT).max(done);
        // Up to the last change that the context of the one before reaches.
        let mut last = first;
        while let Some(next) = next_change(changes, last + 1)
            && next - last <= 2 * CONTEXT
        {
            last = next;
        }
        let end = (last + 1 + CONTEXT).min(changes.len());
        let skipped = start - done;
        (old_at, new_at) = (old_at + skipped, new_at + skipped);
        let inside = changes.get(start..end).unwrap_or_default();
        hunks.push(Hunk { old_start: old_at, new_start: new_at, changes: inside });
        old_at += inside.iter().filter(|change| **change != Change::Add).count();
        new_at += inside.iter().filter(|change| **change != Change::Remove).count();
        done = end;
    }
    hunks
}

fn next_change(changes: &[Change], from: usize) -> Option<usize> {
    let rest = changes.get(from..)?;
    rest.iter().position(|change| *change != Change::Keep).map(|at| from + at)
}

fn write_hunk(out: &mut String, hunk: &Hunk<'_>, old: &[&str], new: &[&str]) {
    let n_old = hunk.changes.iter().filter(|change| **change != Change::Add).count();
    let n_new = hunk.changes.iter().filter(|change| **change != Change::Remove).count();
    // By custom an empty range is named by the line before it.
    let line = |start: usize, n_lines: usize| if n_lines == 0 { start } else { start + 1 };
    let (old_line, new_line) = (line(hunk.old_start, n_old), line(hunk.new_start, n_new));
    // Writing to a string cannot fail.
    writeln!(out, "@@ -{old_line},{n_old} +{new_line},{n_new} @@").ok();
    let (mut old_lines, mut new_lines) = (
        old.get(hunk.old_start..).unwrap_or_default().iter(),
        new.get(hunk.new_start..).unwrap_or_default().iter(),
    );
    for change in hunk.changes {
        let (mark, line) = match change {
            Change::Keep => {
                new_lines.next();
                (' ', old_lines.next())
            }
            Change::Remove => ('-', old_lines.next()),
            Change::Add => ('+', new_lines.next()),
        };
        let line = line.copied().unwrap_or_default();
        out.push(mark);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

fn changes(old: &[&str], new: &[&str]) -> Vec<Change> {
    let is_same = |(one, other): &(&&str, &&str)| one == other;
    let n_head = old.iter().zip(new).take_while(is_same).count();
    let (old, new) = (old.get(n_head..).unwrap_or_default(), new.get(n_head..).unwrap_or_default());
    let n_tail = old.iter().rev().zip(new.iter().rev()).take_while(is_same).count();
    let old = old.get(..old.len() - n_tail).unwrap_or_default();
    let new = new.get(..new.len() - n_tail).unwrap_or_default();
    let middle = shortest(old, new).unwrap_or_else(|| {
        [vec![Change::Remove; old.len()], vec![Change::Add; new.len()]].concat()
    });
    [vec![Change::Keep; n_head], middle, vec![Change::Keep; n_tail]].concat()
}

/// Finds a shortest list of changes, if it is short.
///
/// In the grid of old and new lines, round `d` reaches as far as `d` changes lead on each diagonal;
/// `rounds` keeps how far, to find the way back. Diagonal `k` (old minus new lines) of round `d` is
/// at `(k + d) / 2`, since rounds reach every second one.
fn shortest(old: &[&str], new: &[&str]) -> Option<Vec<Change>> {
    let mut rounds: Vec<Vec<usize>> = Vec::new();
    for d in 0..=CHANGES_MAX.min(old.len() + new.len()) {
        let mut reached = Vec::with_capacity(d + 1);
        for i in 0..=d {
            let (at, _) = step(rounds.last().map(Vec::as_slice), i);
            let x = slide(old, new, at, d, i);
            reached.push(x);
            // On this diagonal the new lines are `x - (2 i - d)`.
            if old.len() <= x && new.len() + 2 * i <= x + d {
                rounds.push(reached);
                return Some(way_back(&rounds, old.len(), new.len()));
            }
        }
        rounds.push(reached);
    }
    None
}

/// Returns how many old lines are behind us on diagonal `i` of a round after one change, and
/// which it was.
fn step(before: Option<&[usize]>, i: usize) -> (usize, Change) {
    let Some(before) = before else { return (0, Change::Keep) };
    // An added line comes from the diagonal above, a removed one from the diagonal below.
    let added = before.get(i).copied();
    let removed = i.checked_sub(1).and_then(|i| before.get(i)).map(|x| x + 1);
    match (added, removed) {
        (Some(added), Some(removed)) if removed <= added => (added, Change::Add),
        (_, Some(removed)) => (removed, Change::Remove),
        (Some(added), None) => (added, Change::Add),
        (None, None) => (0, Change::Keep),
    }
}

/// Follows lines that are the same.
fn slide(old: &[&str], new: &[&str], mut x: usize, d: usize, i: usize) -> usize {
    while let Some(y) = (x + d).checked_sub(2 * i)
        && let (Some(one), Some(other)) = (old.get(x), new.get(y))
        && one == other
    {
        x += 1;
    }
    x
}

fn way_back(rounds: &[Vec<usize>], n_old: usize, n_new: usize) -> Vec<Change> {
    let mut back = Vec::new();
    let mut x = n_old;
    // Where the end lies in the last round.
    let last = rounds.len().saturating_sub(1);
    let mut i = (n_old + last).saturating_sub(n_new) / 2;
    for d in (0..rounds.len()).rev() {
        let before = d.checked_sub(1).and_then(|d| rounds.get(d)).map(Vec::as_slice);
        let (at, change) = step(before, i);
        back.extend(std::iter::repeat_n(Change::Keep, x.saturating_sub(at)));
        match change {
            Change::Keep => {}
            Change::Add => {
                back.push(Change::Add);
                x = at;
            }
            Change::Remove => {
                back.push(Change::Remove);
                x = at.saturating_sub(1);
                i = i.saturating_sub(1);
            }
        }
    }
    back.reverse();
    back
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_difference_shows_what_changed_with_what_is_around_it() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let after = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
        assert_eq!(
            unified("/a", before, after),
            "--- /a\n+++ /a\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
        );
        assert_eq!(unified("/a", before, before), "");
        assert_eq!(
            unified("/a", "", "x"),
            "--- /a\n+++ /a\n@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n"
        );
        assert_eq!(unified("/a", "x\n", ""), "--- /a\n+++ /a\n@@ -1,1 +0,0 @@\n-x\n");
    }

    #[test]
    fn changes_far_apart_are_separate_hunks() {
        let before = lines(0..100, "");
        let after = before.replace("\n10\n", "\nten\n").replace("\n80\n", "\n");
        let diff = unified("/a", &before, &after);
        let heads: Vec<&str> = diff.lines().filter(|line| line.starts_with("@@")).collect();
        assert_eq!(heads, ["@@ -8,7 +8,7 @@", "@@ -78,7 +78,6 @@"]);
        assert_eq!(diff.lines().filter(|line| line.starts_with(['-', '+'])).count(), 2 + 3);
    }

    #[test]
    fn a_large_difference_is_still_a_difference() {
        let (before, after) = (lines(0..3000, ""), lines(0..3000, "x"));
        let diff = unified("/a", &before, &after);
        assert_eq!(diff.lines().count(), 2 + 1 + 6000);
    }

    fn lines(numbers: std::ops::Range<usize>, mark: &str) -> String {
        numbers.map(|n| format!("{mark}{n}\n")).collect::<Vec<_>>().concat()
    }

    proptest! {
        /// What a difference removes and adds turns the old text into the new one, and no shorter
        /// list of changes than the longest common subsequence allows is missed.
        #[test]
        fn a_difference_leads_from_one_text_to_the_other(
            old in proptest::collection::vec("[abc]", 0..12),
            new in proptest::collection::vec("[abc]", 0..12),
        ) {
            let old: Vec<&str> = old.iter().map(String::as_str).collect();
            let new: Vec<&str> = new.iter().map(String::as_str).collect();
            let changes = changes(&old, &new);
            let (mut from, mut to) = (old.iter(), new.iter());
            for change in &changes {
                match change {
                    Change::Keep => prop_assert_eq!(from.next(), to.next()),
                    Change::Remove => prop_assert!(from.next().is_some()),
                    Change::Add => prop_assert!(to.next().is_some()),
                }
            }
            prop_assert_eq!((from.next(), to.next()), (None, None));
            let n_kept = changes.iter().filter(|change| **change == Change::Keep).count();
            prop_assert_eq!(n_kept, common(&old, &new));
        }
    }

    /// The length of a longest common subsequence, found the slow way.
    fn common(old: &[&str], new: &[&str]) -> usize {
        match (old, new) {
            ([], _) | (_, []) => 0,
            _ => {
                let mut row = vec![0; new.len() + 1];
                for one in old {
                    let mut diagonal = 0;
                    for (at, other) in new.iter().enumerate() {
                        let up = row[at + 1];
                        row[at + 1] = if one == other { diagonal + 1 } else { up.max(row[at]) };
                        diagonal = up;
                    }
                }
                row[new.len()]
            }
        }
    }
}
