//! What hooks that are there run by the name of a module: `python3 -mpre_commit`.
//!
//! Git runs a hook at the top of the tree, and Python takes modules from there first. What else a hook runs is what
//! a named program runs in turn, and is not looked for.

use ic_types::{AbsolutePath, CanonicalPath};

use super::configured::Place;
use super::programs;
use super::settings::{Order, Origin, Takes};
use crate::path::{self, Last};

/// How many entries of a directory of hooks are looked at.
const ENTRIES_MAX: usize = 256;
/// The longest hook that is read; a longer one is no text that somebody wrote.
const BYTES_MAX: usize = 256 << 10;
/// What is in a name for Python: of the program, or of a variable that holds it.
const PYTHON: [&str; 2] = ["python", "pypy"];

/// Returns what the hooks in a directory name, as if settings did.
pub(super) fn orders(place: Place<'_>, directory: &CanonicalPath) -> Vec<Order> {
    let entries = place.disk.list(directory.as_path(), ENTRIES_MAX).unwrap_or_default();
    // No hook has an ending, and examples do.
    let hooks = entries.iter().filter_map(|(name, _)| name.to_str()).filter(|it| !it.contains('.'));
    let mut orders = Vec::new();
    for hook in hooks {
        let text = text(place, directory, hook).unwrap_or_default();
        let modules = modules(&text);
        if !modules.is_empty() {
            let names = programs::python_modules(&modules);
            let key = format!("core.hooksPath ({hook})");
            orders.push(Order { key, names, origin: Origin::Setting, takes: Takes::Words });
        }
    }
    orders
}

fn text(place: Place<'_>, directory: &CanonicalPath, hook: &str) -> Option<String> {
    let file = directory.join(hook.as_ref()).ok()?;
    let file = AbsolutePath::new(file.as_path()).ok()?;
    let found = path::follow(place.disk, &file, Last::Follow).ok()?;
    let bytes = place.disk.read_file(found.path.as_path(), BYTES_MAX).ok()??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the modules that a text has Python run.
fn modules(text: &str) -> Vec<&str> {
    let is_of_python = |line: &&str| {
        let line = line.to_ascii_lowercase();
        PYTHON.iter().any(|it| line.contains(it))
    };
    let mut found = Vec::new();
    for line in text.lines().filter(is_of_python).filter(|it| !it.trim_start().starts_with('#')) {
        let is_of_word = |c: char| c.is_alphanumeric() || "_.-".contains(c);
        let mut words = line.split(|c| !is_of_word(c)).filter(|it| !it.is_empty()).peekable();
        while let Some(word) = words.next() {
            let is_short = word.starts_with('-') && !word.starts_with("--");
            let Some((_, module)) = word.split_once('m').filter(|_| is_short) else { continue };
            let module = if module.is_empty() { words.peek().copied() } else { Some(module) };
            let is_module = |it: &&str| !it.starts_with(['-', '.']);
            found.extend(module.filter(is_module));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_read_in_all_spellings() {
        for (text, expected) in [
            ("#!/bin/sh\nexec python3 -mpre_commit hook-impl\n", vec!["pre_commit"]),
            ("exec \"$INSTALL_PYTHON\" -mpre_commit \"${ARGS[@]}\"", vec!["pre_commit"]),
            ("python -m  black . && /usr/bin/python3.11 -Im 'a.b'", vec!["a.b", "black"]),
            ("#python -m black", vec![]),
            ("git commit -m python --message -m", vec!["python"]),
            ("git commit -m x", vec![]),
            ("python tools/x.py", vec![]),
        ] {
            assert_eq!(modules(text), expected, "{text}");
        }
    }
}
