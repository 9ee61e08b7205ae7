//! What is shown of a change to a file of another program: what is added and what goes, and nothing else.
//!
//! Such a file holds other servers with their keys, and people show their terminals to others. So no line
//! around a change is shown, and in a line that changes every word that stays is left out; but the key that a
//! line begins with, and `true` and `false`, are shown, so that a person can tell what changes.

use std::collections::HashMap;

use ic_servers::filesystem::diff;

use crate::screen::{visible, visible_line};

/// What stands for something that is left out.
const LEFT_OUT: char = '…';

/// Returns the lines that a person is shown before they confirm the change.
pub(super) fn lines(before: &str, after: &str) -> Vec<String> {
    let (old, new) = (counts(before), counts(after));
    // SECURITY: a word that is there as often as before is neither added nor taken away, wherever a
    // difference of lines puts it.
    let stays = |word: &str| old.contains_key(word) && old.get(word) == new.get(word);
    let mut lines: Vec<String> = Vec::new();
    for line in diff::unified("", before, after).lines().skip(2) {
        let shown = match line.split_at_checked(1) {
            // Behind the mark of a line it is indented as it is in the file.
            Some((mark @ ("+" | "-"), rest)) => {
                format!("{mark}{}", visible_line(&without(rest, stays).replace('\t', "    ")))
            }
            Some((" ", _)) | None => format!(" {LEFT_OUT}"),
            _ => visible(line),
        };
        let is_repeated = shown.starts_with(' ') && lines.last() == Some(&shown);
        if !is_repeated {
            lines.push(shown);
        }
    }
    lines
}

/// Returns a line without what stays: from the first word that does to the last one.
fn without(line: &str, stays: impl Fn(&str) -> bool) -> String {
    let parts: Vec<&str> = parts(line).collect();
    let key = key(&parts);
    let stays = |part: &str| stays(part) && !matches!(part, "true" | "false");
    let mut shown: String = parts.get(..key).unwrap_or_default().concat();
    let mut at = key;
    while let Some(part) = parts.get(at) {
        if !is_word(part) || !stays(part) {
            shown.push_str(part);
            at += 1;
            continue;
        }
        shown.push(LEFT_OUT);
        // Further words that stay belong to it, with what is between them.
        let rest = parts.get(at + 1..).unwrap_or_default();
        let is_new = |part: &&&str| is_word(part) && !stays(part);
        let run = rest.iter().take_while(|part| !is_new(part)).count();
        let run = rest.get(..run).unwrap_or_default();
        let n_more = run.iter().rposition(|part| is_word(part)).map_or(0, |last| last + 1);
        at += 1 + n_more;
    }
    shown
}

/// Returns how many parts at the beginning of a line are its key: `"key":`, `key:` or `key =`.
fn key(parts: &[&str]) -> usize {
    let is_space = |part: &&str| part.chars().all(char::is_whitespace);
    let is_before = |part: &&&str| is_space(part) || matches!(**part, "{" | "[");
    let name = parts.iter().take_while(is_before).count();
    let rest = parts.get(name + 1..).unwrap_or_default();
    let n_spaces = rest.iter().take_while(|part| is_space(part)).count();
    let is_key = parts.get(name).is_some_and(|part| is_word(part))
        && rest.get(n_spaces).is_some_and(|part| matches!(*part, ":" | "="));
    if is_key { name + 1 } else { 0 }
}

fn counts(text: &str) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for line in text.lines() {
        for word in parts(line).filter(|part| is_word(part)) {
            *counts.entry(word).or_default() += 1;
        }
    }
    counts
}

/// Returns whether a part of a line says something, and is not only a sign of the format.
fn is_word(part: &str) -> bool {
    part.contains(|c: char| !c.is_whitespace() && !"{}[](),:=".contains(c))
}

/// Splits a line into quoted texts, words, and signs of the format.
fn parts(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let is_sign = |c: char| c.is_whitespace() || "{}[](),:=\"'".contains(c);
        let end = match first {
            '"' | '\'' => quoted_end(rest, first),
            first if is_sign(first) => first.len_utf8(),
            _ => rest.find(is_sign).unwrap_or(rest.len()),
        };
        let (part, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        rest = after;
        Some(part)
    })
}

/// Returns where a quoted text ends; one without an end goes to the end of the line.
fn quoted_end(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if quote == '"' => is_escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-ant-SECRET";

    #[track_caller]
    fn check(before: &str, after: &str, expected: &[&str]) {
        let shown: Vec<String> =
            lines(before, after).into_iter().filter(|line| !line.starts_with("@@")).collect();
        assert_eq!(shown, expected);
        assert!(!shown.concat().contains("SECRET"), "{shown:?}");
    }

    #[test]
    fn what_stays_is_not_shown() {
        // A line beside the change, and one that only gets a comma.
        check(
            &format!(
                "{{\n  \"a\": \"{KEY}\",\n  \"m\": {{\n    \"x\": {{\"K\": \"{KEY}2\"}}\n  }}\n}}\n"
            ),
            &format!(
                "{{\n  \"a\": \"{KEY}\",\n  \"m\": {{\n    \"x\": {{\"K\": \"{KEY}2\"}},\n    \"ironcurtain\": {{\n      \"command\": \"p\"\n    }}\n  }}\n}}\n"
            ),
            &[
                " …",
                "-    \"x\": {…}",
                "+    \"x\": {…},",
                "+    \"ironcurtain\": {",
                "+      \"command\": \"p\"",
                "+    }",
                " …",
            ],
        );
        // All of it on one line.
        check(
            &format!(r#"{{"n":3,"m":{{"x":{{"K":"{KEY}"}}}},"p":{{}}}}"#),
            &format!(
                r#"{{"n":3,"m":{{"x":{{"K":"{KEY}"}},"ironcurtain":{{"command":"p"}}}},"p":{{}}}}"#
            ),
            &[
                r#"-{"n":…}},"p":{}}"#,
                "\\ No newline at end of file",
                r#"+{"n":…},"ironcurtain":{"command":"p"}},"p":{}}"#,
                "\\ No newline at end of file",
            ],
        );
        // Formats with other quotes, or none.
        check(
            &format!("a = '{KEY}'\n"),
            &format!("a = '{KEY}'\n[mcp.ironcurtain]\ncommand = 'p'\n"),
            &[" …", "+[mcp.ironcurtain]", "+command = 'p'"],
        );
        check(
            &format!("env: {{K: {KEY} and more}}\n"),
            &format!("env: {{K: {KEY} and more, b: 1}}\n"),
            &["-env: {…}", "+env: {…, b: 1}"],
        );
    }

    #[test]
    fn the_key_of_a_line_that_changes_is_shown() {
        check(
            &format!("a = \"{KEY}\"\nmode = \"on\"\n[f]\nshell = true\n"),
            &format!("a = \"{KEY}\"\nmode = \"never\"\n[f]\nshell = false\nweb = true\n"),
            &[
                " …",
                "-mode = \"on\"",
                "+mode = \"never\"",
                " …",
                "-shell = true",
                "+shell = false",
                "+web = true",
            ],
        );
        // A word in the middle of a line is no key, whatever follows it.
        check(
            &format!("- {KEY}: 1\n- x https://u:{KEY}:2\n"),
            &format!("- {KEY}: 1,\n- x https://u:{KEY}:2,\n"),
            &["-…", "-…", "+…,", "+…,"],
        );
    }

    #[test]
    fn what_goes_is_shown() {
        check(
            "{\"ironcurtain\": {\"command\": \"p\"}, \"k\": \"SECRET\"}\n",
            "{\"k\": \"SECRET\"}\n",
            &["-{\"ironcurtain\": {\"command\": \"p\"}, …}", "+{\"k\": …}"],
        );
    }

    /// However much changes, and wherever a difference of lines finds what is the same.
    #[test]
    fn a_difference_that_is_too_long_shows_no_more() {
        let before = (0..2000).map(|n| format!("a{n} {KEY}{n}\n")).collect::<Vec<_>>().concat();
        let after =
            (0..2000).rev().map(|n| format!("b{n} {KEY}{n}\n")).collect::<Vec<_>>().concat();
        let shown = lines(&before, &after).concat();
        assert!(shown.contains("b1") && !shown.contains("SECRET"));
    }
}
