//! Editing: passages of a text replaced, in order, each found exactly once; the answer is a diff.
//!
//! The line breaks of a file stay what they are: in a file that ends its lines in the way of DOS, a
//! passage may be written with either.

use std::borrow::Cow;

use super::arguments::Arguments;
use super::deed::{Deed, EDITING, Hands, Known};
use super::diff;
use super::fault::Fault;
use super::lanes::Lanes;
use super::reach::Reach;
use super::read::{File, Part};
use super::show;
use super::view::Rights;
use crate::tools::{Caller, Cancel, ToolResult};

/// The longest file that is edited; a difference of longer ones would cost too much.
pub(super) const BYTES_MAX: usize = 8 << 20;

/// A passage and what takes its place.
struct Edit<'a> {
    old: &'a str,
    new: &'a str,
}

/// Replaces passages of a file, or only says what would be replaced.
pub(super) fn edit(
    reach: &Reach,
    (hands, lanes): (Hands, &Lanes),
    arguments: Arguments<'_>,
    caller: Caller<'_>,
) -> Result<ToolResult, Fault> {
    let cancel = caller.cancel();
    let path = arguments.text("path")?;
    let edits = edits(arguments)?;
    let is_dry_run = arguments.flag("dryRun")?;
    let needed = if is_dry_run { Rights::READ } else { EDITING };
    let reached = reach.reach(path, needed)?;
    // From here on until the file is replaced, so that no edit of ours is lost.
    let _lane = lanes.enter(&reached.path);
    let file = File::open(&reached)?;
    file.check_length(BYTES_MAX, "replace it as a whole with `write_file`")?;
    let before = file.text(Part::All, cancel)?;
    let after = apply(&before, &edits, cancel)?;
    let difference = diff::unified(&show::path(reached.path.as_path()), &before, &after);
    if difference.is_empty() {
        return Ok(ToolResult::text("Nothing changes"));
    }
    if !is_dry_run {
        let (path, known) = (reached.path.clone(), Known::of(&file.stat));
        let deed = Deed::Edit { path, content: Cow::Owned(after), known };
        hands.carry_out(&deed, reach, caller)?;
    }
    Ok(ToolResult::text(difference))
}

fn edits<'a>(arguments: Arguments<'a>) -> Result<Vec<Edit<'a>>, Fault> {
    if !arguments.has("edits") {
        return Err(Fault::argument("edits", "is missing"));
    }
    let edits = arguments.objects("edits", &["oldText", "newText"])?;
    let of =
        |edit: Arguments<'a>| Ok(Edit { old: edit.text("oldText")?, new: edit.text("newText")? });
    edits.into_iter().map(of).collect()
}

/// Makes the edits, one after the other.
fn apply(text: &str, edits: &[Edit<'_>], cancel: &Cancel) -> Result<String, Fault> {
    let is_dos = is_dos(text);
    let adapted = |text: &str| match is_dos {
        true => text.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => text.to_owned(),
    };
    let mut text = text.to_owned();
    for (number, edit) in (1..).zip(edits) {
        if cancel.is_cancelled() {
            return Err(Fault::Cancelled);
        }
        let failed = |reason: String| Fault::Edit { number, reason };
        let (old, new) = (adapted(edit.old), adapted(edit.new));
        if old.is_empty() {
            return Err(failed("`oldText` is empty".to_owned()));
        }
        let Some(at) = text.find(&old) else {
            let reason = "`oldText` does not occur; it has to match exactly, with all spaces";
            return Err(failed(reason.to_owned()));
        };
        // From the next character on, so that one that overlaps the first is found too.
        let behind = text.get(at..).and_then(|rest| {
            let mut characters = rest.chars();
            characters.next();
            characters.as_str().find(&old)
        });
        if behind.is_some() {
            let n_times = text.matches(&old).count().max(2);
            let reason =
                format!("`oldText` occurs {n_times} times; give more of what is around it");
            return Err(failed(reason));
        }
        text.replace_range(at..at + old.len(), &new);
        if BYTES_MAX < text.len() {
            return Err(failed("the file would become too long".to_owned()));
        }
    }
    Ok(text)
}

/// Returns whether every line ends in the way of DOS.
fn is_dos(text: &str) -> bool {
    let mut previous = None;
    let mut has_breaks = false;
    for byte in text.bytes() {
        if byte == b'\n' {
            if previous != Some(b'\r') {
                return false;
            }
            has_breaks = true;
        }
        previous = Some(byte);
    }
    has_breaks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, edits: &[(&str, &str)], expected: Result<&str, &str>) {
        let edits: Vec<Edit<'_>> = edits.iter().map(|(old, new)| Edit { old, new }).collect();
        let applied = apply(text, &edits, &Cancel::new()).map_err(|fault| fault.to_string());
        match (&applied, expected) {
            (Ok(text), Ok(expected)) => assert_eq!(text, expected),
            (Err(fault), Err(part)) => assert!(fault.contains(part), "{fault}"),
            (applied, expected) => panic!("{applied:?} is not {expected:?}"),
        }
    }

    #[test]
    fn a_passage_is_replaced_if_it_is_there_once() {
        check("a b c", &[("b", "x")], Ok("a x c"));
        check("a b c", &[("b", "x"), ("x c", "y")], Ok("a y"));
        check("a b c", &[], Ok("a b c"));
        check("a b c", &[("b ", "")], Ok("a c"));
        check("ünï", &[("n", "ñ")], Ok("üñï"));
        check("a b c", &[("z", "x")], Err("edit 1: `oldText` does not occur"));
        check("a b c", &[("b", "x"), ("b", "y")], Err("edit 2: `oldText` does not occur"));
        check("a b a b a", &[("a", "x")], Err("occurs 3 times"));
        check("aaa", &[("aa", "x")], Err("occurs 2 times"));
        check("ééé", &[("éé", "x")], Err("occurs 2 times"));
        check("abc", &[("", "x")], Err("`oldText` is empty"));
    }

    #[test]
    fn line_breaks_stay_what_they_are() {
        check("a\r\nb\r\n", &[("a\nb", "x\ny\nz")], Ok("x\r\ny\r\nz\r\n"));
        check("a\r\nb\r\n", &[("a\r\nb", "x\r\ny")], Ok("x\r\ny\r\n"));
        check("a\nb\n", &[("a\nb", "x\r\ny")], Ok("x\r\ny\n"));
        check("a\r\nb\nc", &[("a\nb", "x")], Err("does not occur"));
        check("a\r\nb\nc", &[("a\r\nb", "x\ny")], Ok("x\ny\nc"));
        check("one line", &[("one", "a\nb")], Ok("a\nb line"));
    }
}
