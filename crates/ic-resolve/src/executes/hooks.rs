//! What hooks that are there run by the name of a module: `python3 -mpre_commit`.
//!
//! Git runs a hook at the top of the tree, and Python takes modules from there first. What else a hook runs is what
//! a named program runs in turn, and is not looked for.

use ic_types::{AbsolutePath, CanonicalPath};

use super::configured::Place;
use super::history::{self, Tree};
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
    hooks.filter_map(|hook| order(hook, &text(place, directory, hook)?)).collect()
}

/// Returns what the hooks in a directory name as git has them, in any commit; `None` if that cannot be known.
pub(super) fn of_commits(
    place: Place<'_>,
    directory: &CanonicalPath,
    tree: Tree<'_>,
) -> Option<Vec<Order>> {
    let found = history::of_directory(place, directory, Some(tree), BYTES_MAX)?;
    let mut read: Vec<(String, Vec<String>)> = Vec::new();
    for (name, text) in found.iter().flat_map(|it| &it.files) {
        let text = String::from_utf8_lossy(text);
        let modules = modules(&text).into_iter().map(ToOwned::to_owned).collect();
        read.push((String::from_utf8_lossy(name).into_owned(), modules));
    }
    read.sort_unstable();
    read.dedup();
    let order = |(hook, modules): &(String, Vec<String>)| {
        let modules: Vec<&str> = modules.iter().map(String::as_str).collect();
        order_of(&format!("{hook} of another commit"), &modules)
    };
    Some(read.iter().filter_map(order).collect())
}

fn order(hook: &str, text: &str) -> Option<Order> {
    order_of(hook, &modules(text))
}

fn order_of(hook: &str, modules: &[&str]) -> Option<Order> {
    let names = programs::python_modules(modules);
    let key = format!("core.hooksPath ({hook})");
    let order = Order { key, names, origin: Origin::Setting, takes: Takes::Words };
    (!modules.is_empty()).then_some(order)
}

fn text(place: Place<'_>, directory: &CanonicalPath, hook: &str) -> Option<String> {
    let file = directory.join(hook.as_ref()).ok()?;
    let file = AbsolutePath::new(file.as_path()).ok()?;
    let found = path::follow(place.disk, &file, Last::Follow).ok()?;
    let bytes = place.disk.read_file(found.path.as_path(), BYTES_MAX).ok()??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the modules that a text has Python run, wherever in it Python and the option are.
fn modules(text: &str) -> Vec<&str> {
    let lower = text.to_ascii_lowercase();
    if !PYTHON.iter().any(|it| lower.contains(it)) {
        return Vec::new();
    }
    let is_in_python =
        lower.lines().next().is_some_and(|it| PYTHON.iter().any(|py| it.contains(py)));
    let is_in_python = is_in_python && lower.starts_with("#!");
    let code = || text.lines().filter(|it| !it.trim_start().starts_with('#'));
    let is_of_word = |c: char| c.is_alphanumeric() || "_.-".contains(c);
    let words = code().flat_map(|it| it.split(move |c| !is_of_word(c))).filter(|it| !it.is_empty());
    // An option that a variable holds may stand before any word.
    let is_held = |line: &str| {
        line.contains('=') && line.trim_end_matches(['"', '\'', ';', ' ']).ends_with("-m")
    };
    let mut found: Vec<&str> = Vec::new();
    if code().any(is_held) {
        found.extend(words.clone());
    }
    let mut words = words.peekable();
    while let Some(word) = words.next() {
        let is_short = word.starts_with('-') && !word.starts_with("--");
        // A script in Python imports what lies beside it, and code that a shell hands over what lies at the top.
        let is_import = matches!(word, "import" | "from") && !is_in_python;
        let module = match word.split_once('m').filter(|_| is_short) {
            Some((_, "")) => words.peek().copied(),
            Some((_, module)) => Some(module),
            None if is_import || word.ends_with("run_module") => words.peek().copied(),
            None => None,
        };
        found.extend(module);
    }
    found.retain(|it| !it.starts_with(['-', '.']));
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
            ("PY=/usr/bin/python3\nexec \"$PY\" -m checks", vec!["checks"]),
            ("exec python3 \\\n  -m checks", vec!["checks"]),
            (
                "#!/usr/bin/python3\nimport sys\n[sys.executable, \"-m\",\n \"checks\"]",
                vec!["checks"],
            ),
            ("#!/usr/bin/python3\nrunpy.run_module(\"checks\")", vec!["checks"]),
            ("A=\"-m checks\"\nexec python3 $A", vec!["checks"]),
            ("P=-m\nexec python3 $P checks", vec!["P", "checks", "exec", "python3"]),
            ("python3 -c \"import checks\"", vec!["checks"]),
            ("python3 - <<E\nfrom a.b import c\nE", vec!["a.b", "c"]),
        ] {
            assert_eq!(modules(text), expected, "{text}");
        }
    }
}
