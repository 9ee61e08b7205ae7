//! The difference between two texts, line by line, in the unified form.
//!
//! Looks for a shortest difference for a while; what is not found by then counts as replaced, which is
//! longer to read and no less true.

use std::fmt::Write as _;
use std::iter::repeat_n;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp};

/// Lines shown around a change.
const CONTEXT: usize = 3;
/// How long a shortest difference is looked for.
const SEARCH_MAX: Duration = Duration::from_millis(500);
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

#[expect(clippy::disallowed_methods, reason = "a limit of time is measured where it is held")]
fn now() -> Instant {
    Instant::now()
}

fn changes(old: &[&str], new: &[&str]) -> Vec<Change> {
    let deadline = now().checked_add(SEARCH_MAX);
    let found = similar::capture_diff_slices_deadline(Algorithm::Myers, old, new, deadline);
    let mut changes = Vec::with_capacity(old.len().max(new.len()));
    for part in found {
        match part {
            DiffOp::Equal { len, .. } => changes.extend(repeat_n(Change::Keep, len)),
            DiffOp::Delete { old_len, .. } => changes.extend(repeat_n(Change::Remove, old_len)),
            DiffOp::Insert { new_len, .. } => changes.extend(repeat_n(Change::Add, new_len)),
            DiffOp::Replace { old_len, new_len, .. } => {
                changes.extend(repeat_n(Change::Remove, old_len));
                changes.extend(repeat_n(Change::Add, new_len));
            }
        }
    }
    changes
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
