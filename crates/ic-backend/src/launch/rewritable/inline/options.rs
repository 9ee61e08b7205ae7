//! Which programs run a text that they are handed, and after which of their options it stands.

use std::ffi::OsStr;
use std::path::Path;

use super::is_text;

const SHELLS: [&str; 12] =
    ["ash", "bash", "busybox", "dash", "elvish", "fish", "ksh", "mksh", "nu", "sh", "yash", "zsh"];
/// Other programs that run a text which they are handed.
const OTHERS: [&str; 28] = [
    "Rscript",
    "awk",
    "bun",
    "deno",
    "elixir",
    "erl",
    "expect",
    "gawk",
    "ghc",
    "groovy",
    "guile",
    "java",
    "julia",
    "lua",
    "luajit",
    "mawk",
    "nawk",
    "node",
    "nodejs",
    "osascript",
    "perl",
    "php",
    "pwsh",
    "pypy",
    "python",
    "ruby",
    "tclsh",
    "tsx",
];

/// What a text is written in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Language {
    Shell,
    Other,
    /// Nobody knows whether it is run at all: a message, or the command line of a program that we do not know.
    Unknown,
}

pub(super) fn language_of(word: &OsStr) -> Language {
    let name = Path::new(word).file_name().and_then(OsStr::to_str).unwrap_or_default();
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    match () {
        () if SHELLS.contains(&name) => Language::Shell,
        () if OTHERS.contains(&name) => Language::Other,
        () => Language::Unknown,
    }
}

/// Returns whether a program takes the word after this option for a text to run.
pub(in super::super) fn is_before_text(program: &str, option: &OsStr) -> bool {
    let option = option.to_str().unwrap_or_default();
    option.starts_with('-') && inline_option(language_of(program.as_ref()), option).0
}

/// Returns whether the word after an option is a text, and the text that is attached to the option itself.
pub(super) fn inline_option(language: Language, option: &str) -> (bool, Option<&str>) {
    let long =
        ["--command", "--eval", "--init-command", "--print", "--run", "-Command", "-eval", "-exec"];
    if let Some((name, attached)) = option.split_once('=').filter(|_| option.starts_with("--")) {
        return (false, Some(attached).filter(|it| long.contains(&name) || is_text(it)));
    }
    if long.contains(&option) {
        return (true, None);
    }
    let letters = option.trim_start_matches('-');
    match language {
        _ if option.starts_with("--") => (false, None),
        Language::Shell => (letters.contains(['c', 'C']), None),
        // `-c`, `-Bc`, `-ne`; `-cCODE`.
        Language::Other => {
            let is_group = letters.chars().all(|c| c.is_ascii_alphanumeric());
            (
                is_group && letters.ends_with(['c', 'e', 'E', 'r', 'p']),
                letters.get(1..).filter(|it| !it.is_empty()),
            )
        }
        Language::Unknown => (false, None),
    }
}
